//! The base station's part of Segue: its MAC persists while a mobile host does not answer.

use crate::base_station::{BaseStation, Fate, Flow, Output, StationEvent, Towards};
use crate::params::Params;
use crate::schemes::link_loss::LinkLoss;
use crate::schemes::{Action, Scheme};
use crate::signal::{Scope, Signal, SignalKind, Source};
use crate::tcp::Segment;
use crate::time::Instant;

/// Link-loss, approach A, for downloads.
#[derive(Debug)]
pub(super) struct Persistent {
    mac: Option<LinkLoss>,
}

impl Persistent {
    pub(super) fn new(params: &Params) -> Self {
        Persistent { mac: params.bool("station_persists").then(|| super::persistent_mac("a")) }
    }
}

impl BaseStation for Persistent {
    fn handle_segment(&mut self, _: Flow, _: Towards, _: &mut Segment, _now: Instant) -> Fate {
        Fate::Forward
    }

    fn handle_event(&mut self, event: &StationEvent, now: Instant) {
        let delivered = match event {
            StationEvent::Delivered { .. } => true,
            StationEvent::Undelivered { .. } => false,
            StationEvent::Arrived { .. } | StationEvent::Departed { .. } => return,
        };
        if let Some(mac) = &mut self.mac {
            let kind = SignalKind::FrameSent { delivered, tries: 1 };
            let (scope, source) = (Scope::Interface, Source::Mac);
            mac.handle_signal(&Signal { kind, scope, source, origin: now, delivered: now }, now);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        match self.mac.as_mut()?.poll_action()? {
            Action::Mac(command) => Some(Output::Mac(command)),
            // It has no connection and nobody to write to.
            Action::Tcp { .. } | Action::Send { .. } => None,
        }
    }
}
