//! TCP-LCD: when the network says that a retransmission could not be delivered, its backoff is taken back.
//!
//! ## What it does
//! During a long outage TCP doubles its retransmission timer again and again, and finds out late that the path works
//! again. A router that has no way to the destination says so by ICMP. If such a message quotes the segment that was just
//! sent again, the timeout was no sign of congestion: one doubling is undone, so that the path is tried at the
//! un-backed-off pace as long as the messages come.
//!
//! ## Signals it reads
//! ICMP destination unreachable (net or host), by the hook `on_unreachable`.
//!
//! ## What it changes in TCP
//! The backoff of the retransmission timer during recovery from timeouts in synchronised states. `cwnd`, `ssthresh` and
//! what is sent again stay as they are: no message sends anything by itself (RFC 6069 §5.4).
//!
//! ## The algorithm (RFC 6069 §4.2)
//! | step | here |
//! |---|---|
//! | 1: `BACKOFF_CNT := 0`, `RTO_BASE := RTO`, at the first timeout of a recovery | `on_timeout` of a connection that is not in recovery |
//! | R: the timeout as in RFC 6298 §5.4–5.6 | [`Verdict::Proceed`] |
//! | 2: `BACKOFF_CNT` + 1 | `on_timeout` |
//! | 3: wait for a timeout, an ACK of new data (then it is over), or a message | the three hooks |
//! | 4–6: go on only if `BACKOFF_CNT` > 0 and the quoted number is `SND.UNA` | `on_unreachable` |
//! | 7: `BACKOFF_CNT` − 1, `RTO := RTO_BASE · 2^BACKOFF_CNT` | [`Command::UndoBackoff`] |
//! | 8: if the timer has expired by that, R | the same command sets the timer to what is left, or to now |
//!
//! ## Where it runs
//! On any host, as sender. It needs routers that report what they cannot deliver. The one that loses sight of a mobile
//! host is its base station, which reports to the sender of data *for* that host; a mobile sender that is cut off hears
//! nothing, for a message to it cannot get through either.
//!
//! ## Parameters
//! None.
//!
//! ## Differences from RFC 6069
//! * `RTO_BASE · 2^BACKOFF_CNT` is kept as a number of doublings beyond those at step 1, so that the limits of the timer
//!   hold (§4.2 has them in "RTO"): where it stood at its limit, undoing one doubling of many shortens nothing yet.
//! * Messages for IPv6, and the wrapping of quoted numbers beyond the window (§5.2), do not arise.
//!
//! ## References
//! A. Zimmermann, A. Hannemann: Making TCP More Robust to Long Connectivity Disruptions (TCP-LCD), RFC 6069, 2010.

use std::collections::{BTreeMap, VecDeque};

use super::{Action, Helps, Scheme, Spec};
use crate::signal::{Signal, SignalKind};
use crate::tcp::{Command, Connection, ConnectionId, Hooks, SeqNumber, State, Verdict};
use crate::time::Instant;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "tcp-lcd",
    summary: "takes the backoff of a timeout back when ICMP says that the path was gone (RFC 6069)",
    params: &[],
    helps: Helps::DOWNLOADS,
    mobile: Some(|_| Box::new(TcpLcd::default())),
    fixed: Some(|_| Box::new(TcpLcd::default())),
    base_station: None,
};

/// The policy of one host.
#[derive(Debug, Default)]
pub struct TcpLcd {
    /// Connections that recover from timeouts.
    recovering: BTreeMap<ConnectionId, Recovery>,
    actions: VecDeque<Action>,
}

/// One recovery from timeouts.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// Doublings when it began: those in `RTO_BASE`.
    base: u32,
    /// `BACKOFF_CNT`.
    backoff_count: u32,
}

impl Hooks for TcpLcd {
    fn on_timeout(&mut self, connection: &Connection, _now: Instant) -> Verdict {
        let begun = Recovery { base: connection.rtt().backoff(), backoff_count: 0 };
        self.recovering.entry(connection.id()).or_insert(begun).backoff_count += 1;
        Verdict::Proceed
    }

    fn on_ack(&mut self, connection: &Connection, acked: u64, _now: Instant) {
        if acked > 0 && !self.recovering.is_empty() {
            self.recovering.remove(&connection.id());
        }
    }

    fn on_unreachable(&mut self, connection: &Connection, quoted: SeqNumber, _now: Instant) {
        let id = connection.id();
        let Some(recovery) = self.recovering.get_mut(&id).filter(|recovery| recovery.backoff_count > 0)
        else {
            return;
        };
        // Both count from the byte after the SYN.
        if connection.sent_offset(quoted) != connection.sender().snd_una.checked_sub(1) {
            return;
        }
        recovery.backoff_count -= 1;
        let doublings = recovery.base + recovery.backoff_count;
        let times = connection.rtt().backoff().saturating_sub(doublings);
        if times > 0 {
            let command = Command::UndoBackoff { times };
            self.actions.push_back(Action::Tcp { connection: id, command });
        }
    }

    fn on_state_change(&mut self, connection: &Connection, _from: State, _now: Instant) {
        if connection.state() == State::Closed {
            self.recovering.remove(&connection.id());
        }
    }
}

impl Scheme for TcpLcd {
    fn handle_signal(&mut self, _signal: &Signal, _now: Instant) {}

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn hears(&self, kind: &SignalKind) -> bool {
        matches!(kind, SignalKind::Unreachable { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::testing::{End, Pair};
    use crate::time::Duration;

    /// An outage from 100 ms on; `quote` says which number the router quotes of each segment it cannot deliver.
    fn during_outage(quote: impl Fn(SeqNumber) -> Option<SeqNumber>) -> Pair {
        let mut pair = Pair::new("rfc", "new-reno");
        pair.scheme = SPEC.fixed.map(|build| build(&Params::defaults(SPEC.params)));
        pair.client.write(10_000_000);
        pair.set_fate(|_, _, now, _| (now < at(100)).then_some(Duration::ZERO));
        let mut seen = 0;
        for millis in 0..30_000 {
            pair.run_until(at(millis));
            for sent in &pair.wire[seen..] {
                let quoted = (sent.lost && sent.by == End::Client).then(|| quote(sent.segment.seq)).flatten();
                if let (Some(quoted), Some(scheme)) = (quoted, &mut pair.scheme) {
                    pair.client.handle_unreachable(quoted, pair.now, &mut **scheme);
                }
            }
            seen = pair.wire.len();
        }
        pair
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// The times between timeouts, in milliseconds.
    fn gaps(pair: &Pair) -> Vec<u64> {
        use crate::trace::Event::TimeoutExpired;
        let is_timeout = |(_, event): &&(Instant, _)| matches!(event, TimeoutExpired { .. });
        let times: Vec<Instant> = pair.trace.iter().filter(is_timeout).map(|(at, _)| *at).collect();
        times.windows(2).map(|pair| pair[1].since(pair[0]).as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn the_path_is_tried_at_the_pace_of_the_first_timeout_as_long_as_messages_come() {
        let pair = during_outage(Some);
        let gaps = gaps(&pair);
        assert!(gaps.len() > 20, "{gaps:?}");
        assert!(gaps.iter().all(|gap| *gap == gaps[0]), "{gaps:?}");
        assert!(pair.client.sender().window.cwnd < 1.5, "the window is cut as ever");
    }

    #[test]
    fn without_messages_the_timer_backs_off_as_ever() {
        let gaps = gaps(&during_outage(|_| None));
        assert!(gaps.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{gaps:?}");
    }

    #[test]
    fn a_message_that_quotes_another_segment_undoes_nothing() {
        let gaps = gaps(&during_outage(|seq| Some(seq.add(1))));
        assert!(gaps.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{gaps:?}");
    }

    #[test]
    fn each_message_undoes_one_doubling_and_no_more_than_there_were() {
        // Only the third retransmission is reported, and a thousand times.
        let mut pair = during_outage(|_| None);
        let backoff = pair.client.rtt().backoff();
        assert!(backoff >= 3, "{backoff}");
        let first = pair.client.sender().snd_una;
        let quoted = pair.wire.iter().filter(|sent| sent.by == End::Client).rfind(|sent| {
            pair.client.sent_offset(sent.segment.seq) == first.checked_sub(1) && sent.segment.len > 0
        });
        let quoted = quoted.map(|sent| sent.segment.seq).expect("it was sent");
        for undone in 1..=1000 {
            if let Some(scheme) = &mut pair.scheme {
                pair.client.handle_unreachable(quoted, pair.now, &mut **scheme);
                while let Some(Action::Tcp { command, .. }) = scheme.poll_action() {
                    pair.client.execute(command, pair.now);
                }
            }
            assert_eq!(pair.client.rtt().backoff(), backoff.saturating_sub(undone), "{undone}");
        }
    }
}
