//! All that one layer may tell another: the cross-layer vocabulary.
//!
//! A late signal is the main way in which the published schemes fail, so every signal carries two times: when the
//! fact became true ([`Signal::origin`]) and when the receiver heard of it ([`Signal::delivered`]).
//!
//! Each kind belongs to one [`Class`], which says how it may be kept: a LEVEL holds until the opposite is heard
//! ([`Level`]), an EDGE is acted on when heard, a ONE_SHOT is used up by reading ([`OneShot`]), a SAMPLE grows old
//! ([`Sample`]).

use crate::mobile_ip::Address;
use crate::tcp::{ConnectionId, SeqNumber};
use crate::time::{Duration, Instant};

/// One message from one layer to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// What is said.
    pub kind: SignalKind,
    /// Who it is about.
    pub scope: Scope,
    /// Who says so.
    pub source: Source,
    /// When the fact became true.
    pub origin: Instant,
    /// When the receiver hears of it; never before `origin`.
    pub delivered: Instant,
}

impl Signal {
    /// How long the news took.
    pub fn delay(&self) -> Duration {
        self.delivered.since(self.origin)
    }
}

/// What a signal says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SignalKind {
    /// `LINK_OK` \[Chinta §3.3.2\]: the link is good after it was not.
    LinkOk,
    /// `LINK_NOT_OK` \[Chinta §3.3.2\]: the link is deteriorating or gone.
    LinkNotOk,
    /// `IP_OK` \[Chinta §3.3.3\]: registered with an agent, or at home.
    IpOk,
    /// `IP_NOT_OK` \[Chinta §3.3.3\]: neither at home nor registered.
    IpNotOk,
    /// The host speaks through another access point or agent from now on; it may still have to register.
    Attached {
        /// The access point, agent or router.
        station: Address,
    },
    /// A handover has begun or is about to.
    HandoverStarted,
    /// The handover is over; traffic flows by the new way.
    HandoverCompleted,
    /// The MAC gave up on a frame after its last retry (`link_loss`, \[Dalal §4.2\]).
    LinkLoss {
        /// The data it carried, if it was data of a connection of this host: not a pure ACK, not somebody else's packet.
        lost: Option<LostData>,
    },
    /// One attempt of the MAC to send a frame has failed; whether there is another one is not decided yet.
    AttemptFailed {
        /// Attempts so far, at least 1.
        tries: u8,
    },
    /// One frame's fate at the MAC.
    FrameSent {
        /// Whether it was acknowledged.
        delivered: bool,
        /// Transmissions it took, at least 1.
        tries: u8,
    },
    /// The highest drop probability of any queue on the path, `0..=1` (Boosted TCP's `p_max`).
    DropProbability(f64),
    /// Received power of a frame in dBm.
    ReceivedPower(f64),
    /// The network says that a packet could not be delivered (ICMP destination unreachable).
    Unreachable {
        /// The TCP sequence number quoted in the report.
        quoted_seq: u32,
    },
}

/// Data of a connection that a layer below TCP has thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostData {
    /// Whose.
    pub connection: ConnectionId,
    /// Sequence number of the first byte.
    pub seq: SeqNumber,
    /// Bytes.
    pub len: u32,
}

/// How a signal may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// True until the opposite is heard.
    Level,
    /// A moment; nothing to keep.
    Edge,
    /// Kept until read once.
    OneShot,
    /// A measurement with an age.
    Sample,
}

/// Who a signal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All that uses this interface.
    Interface,
    /// All connections of this host.
    Host,
    /// One connection.
    Flow(u32),
    /// All that goes to the same destination.
    Path,
}

/// The layer or node that speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Link layer or physical layer.
    Link,
    /// Medium access control.
    Mac,
    /// IP or the mobility client.
    Ip,
    /// A queue on the path.
    Queue,
    /// A router or agent.
    Network,
}

impl SignalKind {
    /// The class of this kind.
    pub fn class(&self) -> Class {
        match self {
            SignalKind::LinkOk | SignalKind::LinkNotOk | SignalKind::IpOk | SignalKind::IpNotOk => {
                Class::Level
            }
            SignalKind::Attached { .. }
            | SignalKind::HandoverStarted
            | SignalKind::HandoverCompleted
            | SignalKind::Unreachable { .. } => Class::Edge,
            SignalKind::LinkLoss { .. } => Class::OneShot,
            SignalKind::AttemptFailed { .. }
            | SignalKind::FrameSent { .. }
            | SignalKind::DropProbability(_)
            | SignalKind::ReceivedPower(_) => Class::Sample,
        }
    }

    /// The name in traces and documents.
    pub fn name(&self) -> &'static str {
        match self {
            SignalKind::LinkOk => "link-ok",
            SignalKind::LinkNotOk => "link-not-ok",
            SignalKind::IpOk => "ip-ok",
            SignalKind::IpNotOk => "ip-not-ok",
            SignalKind::Attached { .. } => "attached",
            SignalKind::HandoverStarted => "handover-started",
            SignalKind::HandoverCompleted => "handover-completed",
            SignalKind::LinkLoss { .. } => "link-loss",
            SignalKind::AttemptFailed { .. } => "attempt-failed",
            SignalKind::FrameSent { .. } => "frame-sent",
            SignalKind::DropProbability(_) => "drop-probability",
            SignalKind::ReceivedPower(_) => "received-power",
            SignalKind::Unreachable { .. } => "unreachable",
        }
    }
}

/// A LEVEL as its hearer knows it: the last thing heard, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    good: bool,
    since: Instant,
}

impl Level {
    /// A level that is good until told otherwise.
    pub const fn good() -> Self {
        Level { good: true, since: Instant::ZERO }
    }

    /// Hears `good` at `now`; says whether that changes anything. Hearing the same again is harmless.
    pub fn set(&mut self, good: bool, now: Instant) -> bool {
        let changed = self.good != good;
        if changed {
            *self = Level { good, since: now };
        }
        changed
    }

    /// What was heard last.
    pub const fn is_good(self) -> bool {
        self.good
    }

    /// When it last changed.
    pub const fn since(self) -> Instant {
        self.since
    }
}

/// A flag that reading uses up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneShot {
    raised: Option<Instant>,
}

impl OneShot {
    /// Raises the flag.
    pub fn raise(&mut self, now: Instant) {
        self.raised = Some(now);
    }

    /// Reads and clears the flag; when it was raised, if it was.
    pub fn take(&mut self) -> Option<Instant> {
        self.raised.take()
    }
}

/// A measurement that grows old.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<T> {
    value: Option<(T, Instant)>,
    time_to_live: Duration,
}

impl<T: Copy> Sample<T> {
    /// Nothing measured yet; a value counts for `time_to_live` after it was measured.
    pub const fn new(time_to_live: Duration) -> Self {
        Sample { value: None, time_to_live }
    }

    /// Takes a value measured at `origin`.
    pub fn set(&mut self, value: T, origin: Instant) {
        self.value = Some((value, origin));
    }

    /// The last value, unless it is older than its time to live.
    pub fn fresh(&self, now: Instant) -> Option<T> {
        self.value.filter(|(_, origin)| now.since(*origin) <= self.time_to_live).map(|(value, _)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_heard_twice_changes_once() {
        let mut link = Level::good();
        assert!(link.set(false, Instant::from_nanos(5)));
        assert!(!link.set(false, Instant::from_nanos(9)));
        assert_eq!(link.since(), Instant::from_nanos(5));
    }

    #[test]
    fn a_one_shot_is_used_up_by_reading() {
        let mut flag = OneShot::default();
        flag.raise(Instant::from_nanos(3));
        assert_eq!(flag.take(), Some(Instant::from_nanos(3)));
        assert_eq!(flag.take(), None);
    }

    #[test]
    fn a_sample_is_forgotten_when_it_is_old() {
        let mut p_max = Sample::new(Duration::from_secs(1));
        assert_eq!(p_max.fresh(Instant::ZERO), None);
        p_max.set(0.2, Instant::ZERO);
        assert_eq!(p_max.fresh(Instant::ZERO + Duration::from_secs(1)), Some(0.2));
        assert_eq!(p_max.fresh(Instant::ZERO + Duration::from_millis(1001)), None);
    }

    #[test]
    fn each_class_has_a_kind() {
        assert_eq!(SignalKind::LinkOk.class(), Class::Level);
        assert_eq!(SignalKind::HandoverStarted.class(), Class::Edge);
        assert_eq!(SignalKind::LinkLoss { lost: None }.class(), Class::OneShot);
        assert_eq!(SignalKind::ReceivedPower(-80.0).class(), Class::Sample);
    }
}
