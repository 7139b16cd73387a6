//! Tahoe: on the third duplicate ACK, slow start and go back N.
//!
//! \[Jacobson88\]; behaviour as ns-2's `Agent/TCP` shows it. Fast retransmit is blocked until the highest ACK passes
//! `recover`, the highest segment sent when the last loss was handled.

use super::super::send::{LastCut, Sender};
use super::{Any, NewAck, Recovery, Spec};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "tahoe",
    summary: "fast retransmit, then slow start and go back N",
    build: |_| Any::Tahoe(Tahoe),
};

/// Tahoe has no state of its own.
#[derive(Clone, Debug, Default)]
pub struct Tahoe;

impl Recovery for Tahoe {
    fn may_enter(&self, sender: &Sender) -> bool {
        sender.snd_una > sender.recover
    }

    fn enter(&mut self, sender: &mut Sender, _halved: f64, keep: bool) {
        sender.recover = sender.snd_max;
        sender.snd_nxt = sender.snd_una;
        if !keep {
            sender.window.cwnd = 1.0;
            sender.last_cut = LastCut::DupAcks;
        }
    }

    fn on_further_dup_ack(&mut self, _sender: &mut Sender, _entered: bool) {}

    fn on_new_ack(&mut self, _sender: &mut Sender, _ack: u64) -> NewAck {
        NewAck::Full { grow: true }
    }

    fn on_timeout(&mut self, _sender: &mut Sender) {}

    fn burst_limit(&self, _sender: &Sender) -> u32 {
        u32::MAX
    }
}
