//! Reno: fast retransmit and fast recovery, ended by the first ACK of new data.
//!
//! RFC 5681 §3.2 without the NewReno modification; behaviour as ns-2's `Agent/TCP/Reno` shows it. The window is
//! inflated by one segment per duplicate ACK, never above the peer's window. Like NewReno it is blocked until `recover` is
//! passed (RFC 6582 §3.2 step 1).

use super::super::profile::Profile;
use super::super::send::{LastCut, Sender};
use super::{Any, DUP_THRESH, NewAck, Recovery, Spec};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "reno",
    summary: "fast retransmit and fast recovery, ended by the first new ACK",
    build: |profile: &Profile| Any::Reno(Reno { inflates_when_blocked: profile.reno_inflates_when_blocked }),
};

/// Reno's only choice.
#[derive(Clone, Debug)]
pub struct Reno {
    /// See [`Profile::reno_inflates_when_blocked`].
    inflates_when_blocked: bool,
}

impl Recovery for Reno {
    fn may_enter(&self, sender: &Sender) -> bool {
        sender.snd_una > sender.recover
    }

    fn enter(&mut self, sender: &mut Sender, halved: f64, keep: bool) {
        enter_fast_recovery(sender, halved, keep);
    }

    fn on_further_dup_ack(&mut self, sender: &mut Sender, entered: bool) {
        if self.inflates_when_blocked {
            sender.inflation = u64::from(sender.dupacks);
        } else {
            inflate(sender, entered);
        }
    }

    fn on_new_ack(&mut self, sender: &mut Sender, _ack: u64) -> NewAck {
        if sender.inflation > 0 && sender.last_cut == LastCut::DupAcks {
            sender.last_cut = LastCut::Recovered;
        }
        sender.inflation = 0;
        NewAck::Full { grow: !sender.end_kept() }
    }

    fn on_timeout(&mut self, sender: &mut Sender) {
        sender.inflation = 0;
        sender.dupacks = 0;
        sender.end_kept();
    }

    fn burst_limit(&self, sender: &Sender) -> u32 {
        if (1..DUP_THRESH).contains(&sender.dupacks) { 0 } else { u32::MAX }
    }
}

/// RFC 5681 §3.2 steps 2 and 3: resend the first segment, halve, inflate by three. With `keep` it is not halved, and the
/// end of recovery gives back what partial ACKs have deflated.
pub(super) fn enter_fast_recovery(sender: &mut Sender, halved: f64, keep: bool) {
    sender.recover = sender.snd_max;
    sender.resend(1);
    if keep {
        sender.kept = Some(sender.window);
    } else {
        sender.window.cwnd = halved.max(1.0);
        sender.last_cut = LastCut::DupAcks;
    }
}

/// RFC 5681 §3.2 step 4: one segment of inflation per further duplicate ACK.
pub(super) fn inflate(sender: &mut Sender, entered: bool) {
    if entered {
        sender.inflation = u64::from(DUP_THRESH);
    } else if sender.dupacks > DUP_THRESH && sender.in_fast_recovery() {
        sender.inflation += 1;
    }
}
