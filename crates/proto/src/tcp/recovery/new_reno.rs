//! NewReno: fast recovery goes on until all that was outstanding at its start is acknowledged.
//!
//! RFC 6582 §3.2; the variant points are [`NewRenoRules`]. During recovery an ACK releases at most two segments, as
//! ns-2's `Agent/TCP/Newreno` does (RFC 6582 §3.2 step 3 recommends a bound).

use super::super::profile::{NewRenoRules, Profile};
use super::super::send::{LastCut, Sender};
use super::reno::{enter_fast_recovery, inflate};
use super::{Any, DUP_THRESH, NewAck, Recovery, Spec};

/// Segments that an ACK may release during recovery.
const RECOVERY_BURST: u32 = 2;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "new-reno",
    summary: "fast recovery with partial ACKs (RFC 6582)",
    build: |profile: &Profile| Any::NewReno(NewReno { rules: profile.new_reno, partial_seen: false }),
};

/// NewReno's own state.
#[derive(Clone, Debug)]
pub struct NewReno {
    rules: NewRenoRules,
    /// A partial ACK has come in this recovery.
    partial_seen: bool,
}

impl Recovery for NewReno {
    fn may_enter(&self, sender: &Sender) -> bool {
        sender.snd_una > sender.recover
    }

    fn enter(&mut self, sender: &mut Sender, halved: f64, keep: bool) {
        self.partial_seen = false;
        enter_fast_recovery(sender, halved, keep);
    }

    fn on_further_dup_ack(&mut self, sender: &mut Sender, entered: bool) {
        inflate(sender, entered);
    }

    fn on_new_ack(&mut self, sender: &mut Sender, ack: u64) -> NewAck {
        let mss = sender.mss;
        if ack >= sender.recover || !sender.in_fast_recovery() {
            let kept = sender.end_kept();
            let mut grow = !kept;
            if sender.inflation > 0 {
                sender.inflation = 0;
                if sender.last_cut == LastCut::DupAcks {
                    sender.last_cut = LastCut::Recovered;
                }
                if self.rules.full_ack_by_flight && !kept {
                    let flight = sender.snd_max.saturating_sub(ack) as f64 / mss as f64;
                    sender.window.cwnd = sender.window.ssthresh.min(flight.max(1.0) + 1.0);
                    grow = false;
                }
            }
            self.partial_seen = false;
            return NewAck::Full { grow };
        }
        let acked_segments = (ack - sender.snd_una).div_ceil(mss);
        if self.rules.deflate {
            let beyond = acked_segments.saturating_sub(sender.inflation);
            sender.window.cwnd = (sender.window.cwnd - beyond as f64).max(1.0);
            sender.inflation = sender.inflation.saturating_sub(acked_segments) + 1;
        } else {
            sender.inflation = 0;
        }
        let restart_timer = !self.rules.impatient || !self.partial_seen;
        self.partial_seen = true;
        NewAck::Partial { restart_timer }
    }

    fn on_timeout(&mut self, sender: &mut Sender) {
        sender.inflation = 0;
        sender.dupacks = 0;
        sender.end_kept();
        self.partial_seen = false;
    }

    fn burst_limit(&self, sender: &Sender) -> u32 {
        match sender.dupacks {
            0 => u32::MAX,
            n if n < DUP_THRESH => 0,
            _ => RECOVERY_BURST,
        }
    }
}
