//! Movement that is known beforehand: motions one after the other.

use std::sync::Arc;

use segue_proto::time::Instant;

use super::Motion;
use crate::radio::Position;

/// Motions one after the other, the first from time zero on. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Legs(Arc<[Motion]>);

impl Legs {
    /// The motions; at least one.
    pub fn as_slice(&self) -> &[Motion] {
        &self.0
    }

    /// Whether none of them goes anywhere.
    pub fn is_fixed(&self) -> bool {
        self.0.iter().all(|leg| !leg.is_moving())
    }
}

/// Puts legs together.
#[derive(Debug)]
pub(super) struct Builder {
    legs: Vec<Motion>,
}

impl Builder {
    /// Begins at `start`, standing still.
    pub(super) fn new(start: Position) -> Self {
        Builder { legs: vec![Motion::fixed(start)] }
    }

    /// Adds a motion. One that begins when the last one does replaces it; one that only goes on standing adds nothing.
    pub(super) fn push(&mut self, leg: Motion) {
        let last = self.last();
        debug_assert!(last.since <= leg.since, "legs are added in order");
        if last.since == leg.since {
            self.legs.pop();
        } else if !last.is_moving() && !leg.is_moving() && last.from == leg.from {
            return;
        }
        self.legs.push(leg);
    }

    /// Stands still at `place` from `since` on.
    pub(super) fn stop(&mut self, since: Instant, place: Position) {
        self.push(Motion { since, ..Motion::fixed(place) });
    }

    /// The motion added last.
    pub(super) fn last(&self) -> Motion {
        *self.legs.last().expect("there is one from the beginning, and only the last is ever replaced")
    }

    pub(super) fn build(self) -> Legs {
        Legs(self.legs.into())
    }
}
