//! Sends binding updates and repeats those that want an acknowledgement until it comes.
//!
//! Used by the home agent (updates to correspondents) and by foreign agents (updates to the previous agent).
//! An update to the same node about the same host replaces the one before.

use std::collections::{BTreeMap, VecDeque};

use super::message::{BindingAcknowledgement, BindingUpdate};
use super::{Address, Outgoing};
use crate::time::{Duration, Instant};

/// First wait for an acknowledgement; doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Transmissions in all. A receiver that stays silent is gone, or does not know route optimisation.
const MAX_TRANSMISSIONS: u32 = 5;

/// The updates on their way.
#[derive(Clone, Debug, Default)]
pub(super) struct UpdateSender {
    /// By receiver and host.
    waiting: BTreeMap<(Address, Address), Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    update: BindingUpdate,
    transmissions: u32,
    wait: Duration,
    resend_at: Instant,
}

impl UpdateSender {
    /// Sends `update` to `to`.
    pub fn send(
        &mut self,
        to: Address,
        update: BindingUpdate,
        outbox: &mut VecDeque<Outgoing>,
        now: Instant,
    ) {
        let key = (to, update.home_address);
        self.waiting.remove(&key);
        if update.acknowledge {
            let waiting = Waiting { update, transmissions: 1, wait: FIRST_WAIT, resend_at: now + FIRST_WAIT };
            self.waiting.insert(key, waiting);
        }
        outbox.push_back(Outgoing::routed(to, update));
    }

    /// Stops repeating the update that `from` has acknowledged.
    pub fn handle_acknowledgement(&mut self, from: Address, acknowledgement: BindingAcknowledgement) {
        let key = (from, acknowledgement.home_address);
        if self
            .waiting
            .get(&key)
            .is_some_and(|w| w.update.identification == Some(acknowledgement.identification))
        {
            self.waiting.remove(&key);
        }
    }

    /// Repeats what is due, and gives up after the last try.
    pub fn handle_timeout(&mut self, outbox: &mut VecDeque<Outgoing>, now: Instant) {
        self.waiting.retain(|(to, _), waiting| {
            if now < waiting.resend_at {
                return true;
            }
            if waiting.transmissions == MAX_TRANSMISSIONS {
                return false;
            }
            waiting.transmissions += 1;
            waiting.wait = waiting.wait * 2;
            waiting.resend_at = now + waiting.wait;
            outbox.push_back(Outgoing::routed(*to, waiting.update));
            true
        });
    }

    /// When the next repetition is due.
    pub fn deadline(&self) -> (Instant, &'static str) {
        let at = self.waiting.values().map(|w| w.resend_at).min().unwrap_or(Instant::MAX);
        (at, "binding update unacknowledged")
    }
}
