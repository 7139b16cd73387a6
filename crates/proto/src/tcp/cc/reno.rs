//! Additive increase, multiplicative decrease (RFC 5681 §3.1; ns-2 `windowOption_ 1`).
//!
//! Slow start adds one segment per ACK (byte counting with L = 1, RFC 3465 §2.2); congestion avoidance adds
//! 1/`cwnd` per ACK (RFC 5681 eq. 3); a loss halves.

use super::{Any, CongestionControl, Spec, Window};
use crate::time::Instant;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "reno",
    summary: "slow start, +1 segment per round trip, half on loss",
    build: || Any::Reno(Reno),
};

/// Reno has no state beyond the window.
#[derive(Clone, Debug, Default)]
pub struct Reno;

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut Window, acked: f64, _now: Instant) {
        if window.cwnd < window.ssthresh {
            window.cwnd += acked.min(1.0);
        } else {
            window.cwnd += 1.0 / window.cwnd;
        }
    }

    fn on_loss(&mut self, base: f64, _now: Instant) -> f64 {
        base / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_doubles_per_round_and_then_one_segment_per_round() {
        let mut window = Window { cwnd: 2.0, ssthresh: 8.0 };
        let mut rounds = Vec::new();
        for _ in 0..6 {
            for _ in 0..window.cwnd as u32 {
                Reno.on_ack(&mut window, 1.0, Instant::ZERO);
            }
            rounds.push(window.cwnd as u32);
        }
        assert_eq!(rounds, [4, 8, 8, 9, 10, 11]);
    }

    #[test]
    fn an_ack_of_two_segments_counts_once_in_slow_start() {
        let mut window = Window { cwnd: 2.0, ssthresh: 8.0 };
        Reno.on_ack(&mut window, 2.0, Instant::ZERO);
        assert!((window.cwnd - 3.0).abs() < 1e-12);
    }
}
