//! Profiles: named sets of constants, one table.
//!
//! The `ns-` profiles are the defaults of three dates of ns-2, with which most of the papers were measured (observed on
//! the real program; `validation/ns2/README.md` lists the observations). `bsd-net2` is what hosts ran when split
//! connections were first measured. `rfc` is today's standards track.

use crate::time::Duration;

/// The constants of a TCP. All windows are in segments of `mss` bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name in scenarios.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,

    /// Largest payload of a segment, in bytes.
    pub mss: u32,
    /// Bytes on the wire of a data segment beyond its payload.
    pub data_header_bytes: u32,
    /// Bytes on the wire of a segment without payload.
    pub control_bytes: u32,
    /// Receive buffer, in segments.
    pub window: u32,
    /// `cwnd` after the handshake, in segments.
    pub initial_window: u32,
    /// The same if the SYN had to be sent again (RFC 5681 §3.1: 1).
    pub initial_window_after_lost_syn: u32,
    /// First `ssthresh`.
    pub initial_ssthresh: InitialSsthresh,
    /// A timeout of the SYN cuts the window like any other (ns-2's one-way agents); otherwise only the initial window.
    pub syn_timeout_cuts: bool,

    /// Granularity of the round-trip clock.
    pub tick: Duration,
    /// Where the round-trip clock stands at time zero, `0..tick`.
    pub clock_phase: Duration,
    /// Smallest RTO.
    pub min_rto: Duration,
    /// Largest RTO, backoff included.
    pub max_rto: Duration,
    /// RTO before the first sample.
    pub initial_rto: Duration,
    /// Whether `min_rto` applies to the RTO before it is multiplied by the backoff, or to the product.
    pub min_rto_before_backoff: bool,
    /// Above this backoff multiplier `srtt` is moved into `rttvar` and measured anew; `None`: never.
    pub forget_srtt_above: Option<u64>,

    /// Send a new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// What a loss halves.
    pub cut: Cut,
    /// Whether Reno inflates the window by duplicate ACKs also where `recover` keeps it from starting a recovery (ns-2 of
    /// 2001, `exitFastRetrans_` off).
    pub reno_inflates_when_blocked: bool,
    /// What NewReno does with partial and full acknowledgements.
    pub new_reno: NewRenoRules,

    /// Longest time an ACK of in-order data is held back; `None`: every segment is acknowledged at once.
    pub delayed_ack: Option<Duration>,
    /// Whether the ACK of a repetition of the last in-order segment is delayed like that of new data, as by ns-2's sink
    /// (RFC 9293 §3.10.7.4 acknowledges repetitions at once).
    pub delay_ack_of_repeat: bool,

    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Hold small segments back while data is outstanding (RFC 896).
    pub nagle: bool,
    /// Whether a finished flow closes its connection (ns-2's one-way agents never do).
    pub close: bool,
    /// Give up when data stays unacknowledged for so long (RFC 9293 §3.8.3).
    pub user_timeout: Duration,
}

/// The first `ssthresh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialSsthresh {
    /// The own receive window, in segments, as ns-2 does.
    Window,
    /// "Arbitrarily high" (RFC 5681 §3.1).
    Unbounded,
    /// So many segments.
    Segments(u32),
}

/// What a loss halves, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Half of min(`cwnd`, peer's window), also on each repeated timeout; rounded down to whole segments.
    WindowWhole,
    /// As `WindowWhole`, but only `ssthresh` is rounded; `cwnd` keeps its fraction.
    Window,
    /// Half of the data in flight, once per timed-out segment (RFC 5681 §3.1 eq. 4).
    FlightSize,
}

/// NewReno's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRenoRules {
    /// A partial ACK restarts the retransmission timer only if it is the first of its recovery ("impatient",
    /// RFC 6582 §3.2 step 3); otherwise each one does.
    pub impatient: bool,
    /// A partial ACK deflates the window by the data it acknowledges less one segment; otherwise to `ssthresh`.
    pub deflate: bool,
    /// A full ACK sets `cwnd` to min(`ssthresh`, flight + 1) (RFC 6582 §3.2 step 3); otherwise to `ssthresh`.
    pub full_ack_by_flight: bool,
}

const NS_235: Profile = Profile {
    name: "ns-2.35",
    summary: "ns-2.35 defaults: tick 0.01 s, min RTO 0.2 s, 40 B headers, limited transmit",
    mss: 1000,
    data_header_bytes: 40,
    control_bytes: 40,
    window: 20,
    initial_window: 2,
    initial_window_after_lost_syn: 1,
    initial_ssthresh: InitialSsthresh::Window,
    syn_timeout_cuts: true,
    tick: Duration::from_millis(10),
    clock_phase: Duration::ZERO,
    min_rto: Duration::from_millis(200),
    max_rto: Duration::from_secs(60),
    initial_rto: Duration::from_secs(3),
    min_rto_before_backoff: true,
    forget_srtt_above: Some(8),
    limited_transmit: true,
    cut: Cut::Window,
    reno_inflates_when_blocked: false,
    new_reno: NewRenoRules { impatient: true, deflate: true, full_ack_by_flight: false },
    delayed_ack: None,
    delay_ack_of_repeat: true,
    timestamps: false,
    nagle: false,
    close: false,
    user_timeout: Duration::MAX,
};

const NS_21B9: Profile = Profile {
    name: "ns-2.1b9",
    summary: "ns-2 of 2002-2004: tick 0.01 s, min RTO 1 s, limited transmit",
    min_rto: Duration::from_secs(1),
    max_rto: Duration::from_secs(64),
    initial_rto: Duration::from_secs(6),
    ..NS_235
};

const NS_21B8: Profile = Profile {
    name: "ns-2.1b8",
    summary: "ns-2 of 2001: tick 0.1 s, min RTO 1 s after backoff, no headers, no limited transmit",
    tick: Duration::from_millis(100),
    min_rto_before_backoff: false,
    limited_transmit: false,
    data_header_bytes: 0,
    ..NS_21B9
};

const RFC: Profile = Profile {
    name: "rfc",
    summary: "standards track: RFC 9293, 5681, 6298, 6582, 6928, 7323",
    mss: 1460,
    data_header_bytes: 40,
    control_bytes: 40,
    window: 64,
    initial_window: 10,
    initial_window_after_lost_syn: 1,
    initial_ssthresh: InitialSsthresh::Unbounded,
    syn_timeout_cuts: false,
    tick: Duration::from_millis(1),
    clock_phase: Duration::ZERO,
    min_rto: Duration::from_secs(1),
    max_rto: Duration::from_secs(60),
    initial_rto: Duration::from_secs(1),
    min_rto_before_backoff: true,
    forget_srtt_above: None,
    limited_transmit: true,
    cut: Cut::FlightSize,
    reno_inflates_when_blocked: false,
    new_reno: NewRenoRules { impatient: true, deflate: true, full_ack_by_flight: true },
    delayed_ack: Some(Duration::from_millis(200)),
    delay_ack_of_repeat: false,
    timestamps: false,
    nagle: true,
    close: true,
    user_timeout: Duration::from_secs(300),
};

/// 4.3BSD's second networking release, by Wright, Stevens: TCP/IP Illustrated, Volume 2, chapters 24 to 29.
const BSD_NET2: Profile = Profile {
    name: "bsd-net2",
    summary: "4.3BSD Net/2 of 1991: tick 0.5 s, min RTO 1 s, delayed ACK 0.2 s, 16 KB buffers",
    window: 11,
    initial_window: 1,
    syn_timeout_cuts: true,
    tick: Duration::from_millis(500),
    max_rto: Duration::from_secs(64),
    initial_rto: Duration::from_secs(6),
    forget_srtt_above: Some(8),
    limited_transmit: false,
    cut: Cut::WindowWhole,
    new_reno: NewRenoRules { impatient: false, ..RFC.new_reno },
    // Twelve timeouts in a row: 1.5, 3, 6 … 64 s.
    user_timeout: Duration::from_secs(542),
    ..RFC
};

/// All profiles.
pub const ALL: &[Profile] = &[NS_21B8, NS_21B9, NS_235, BSD_NET2, RFC];

impl Profile {
    /// The profile called `name`.
    pub fn named(name: &str) -> Option<&'static Profile> {
        ALL.iter().find(|p| p.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_found_by_its_name() {
        for profile in ALL {
            assert_eq!(Profile::named(profile.name), Some(profile));
        }
        assert_eq!(Profile::named("ns-3"), None);
    }

    #[test]
    fn no_profile_has_an_rto_range_upside_down() {
        for p in ALL {
            assert!(p.min_rto < p.max_rto && p.initial_rto <= p.max_rto, "{}", p.name);
            assert!(p.clock_phase < p.tick, "{}", p.name);
        }
    }
}
