//! The typed events of a run. Tests, tools and results read only these; a driver adds time and place.
//!
//! Positions count sequence space from the SYN: the SYN is 0, the first byte of the stream 1. Windows are in segments.

use crate::mobile_ip::{Address, DropReason};
use crate::signal::Signal;
use crate::tcp::{EndReason, State, Verdict};
use crate::time::Duration;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A connection changed state.
    StateChanged {
        /// Before.
        from: State,
        /// After.
        to: State,
    },
    /// A segment with data, SYN or FIN left TCP.
    SegmentSent {
        /// First position.
        start: u64,
        /// Payload bytes.
        len: u32,
        /// Whether it was sent before.
        retransmission: bool,
    },
    /// A segment without data left TCP.
    AckSent {
        /// Next position expected.
        ack: u64,
    },
    /// A probe of a closed window left TCP.
    WindowProbed,
    /// An ACK of new data arrived; the values are those after it.
    AckReceived {
        /// Next position that the peer expects.
        ack: u64,
        /// Congestion window.
        cwnd: f64,
        /// Slow-start threshold.
        ssthresh: f64,
        /// Retransmission timeout.
        rto: Duration,
    },
    /// Data arrived.
    DataReceived {
        /// First position.
        start: u64,
        /// Payload bytes.
        len: u32,
        /// Next position expected, after it.
        rcv_nxt: u64,
    },
    /// A round-trip sample was taken.
    RttMeasured {
        /// The sample.
        rtt: Duration,
        /// Retransmission timeout after it.
        rto: Duration,
    },
    /// The retransmission timer expired; the values are those before any change.
    TimeoutExpired {
        /// Oldest unacknowledged position.
        snd_una: u64,
        /// The timeout that expired.
        rto: Duration,
        /// How often it had been doubled.
        backoff: u32,
        /// What the policy said.
        verdict: Verdict,
    },
    /// Duplicate ACKs showed a loss.
    LossDetected {
        /// The missing position.
        snd_una: u64,
        /// What the policy said.
        verdict: Verdict,
    },
    /// An ACK of new data ended a freeze.
    Thawed,
    /// A policy's command was carried out.
    CommandExecuted {
        /// Its name.
        command: &'static str,
    },
    /// A connection is over.
    Ended {
        /// Why.
        reason: EndReason,
    },
    /// A policy heard a signal.
    SignalHeard(
        /// The signal.
        Signal,
    ),
    /// A packet was lost.
    PacketDropped {
        /// How.
        cause: DropCause,
        /// Its size on the wire, in bytes.
        bytes: u32,
    },
    /// A station put a frame for one station on air: an RTS, or data. Only observers that ask hear of it.
    FrameOnAir {
        /// Attempts at its packet, this one included.
        tries: u16,
        /// Size of the packet, in bytes.
        bytes: u32,
        /// Whether it is the data, or the RTS before it.
        is_data: bool,
    },
    /// An outage began.
    OutageBegan,
    /// An outage ended.
    OutageEnded,
    /// A host speaks through another access point or agent, or through none.
    AttachmentChanged {
        /// The access point or agent.
        to: Option<Address>,
    },
    /// A host is registered, or at home.
    Registered {
        /// The agent.
        with: Address,
    },
    /// A home agent or correspondent sends the packets for a host elsewhere from now on.
    BindingChanged {
        /// The host.
        host: Address,
        /// Its care-of address; `None`: by ordinary routing.
        care_of: Option<Address>,
    },
    /// A control message left its sender: of Mobile IP, of a scheme, or ICMP.
    MessageSent {
        /// Its name.
        message: &'static str,
        /// Its destination.
        to: Address,
    },
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The queue was full.
    QueueFull,
    /// The queue's discipline dropped it although there was room.
    QueueEarly,
    /// The loss model said so.
    Loss,
    /// The link was down.
    Outage,
    /// The MAC gave up after its last attempt.
    RetryLimit,
    /// The host that is to send or to receive it speaks through nobody at present.
    NoAttachment,
    /// An agent discarded it.
    Agent(DropReason),
    /// No socket of the host, or no part of the scheme at the router, takes segments from its sender.
    NoSocket,
}

impl DropCause {
    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::QueueFull => "queue-full",
            DropCause::QueueEarly => "queue-early",
            DropCause::Loss => "loss",
            DropCause::Outage => "outage",
            DropCause::RetryLimit => "retry-limit",
            DropCause::NoAttachment => "no-attachment",
            DropCause::Agent(reason) => reason.name(),
            DropCause::NoSocket => "no-socket",
        }
    }
}

impl Event {
    /// The name in traces.
    pub fn name(&self) -> &'static str {
        match self {
            Event::StateChanged { .. } => "state-changed",
            Event::SegmentSent { .. } => "segment-sent",
            Event::AckSent { .. } => "ack-sent",
            Event::WindowProbed => "window-probed",
            Event::AckReceived { .. } => "ack-received",
            Event::DataReceived { .. } => "data-received",
            Event::RttMeasured { .. } => "rtt-measured",
            Event::TimeoutExpired { .. } => "timeout-expired",
            Event::LossDetected { .. } => "loss-detected",
            Event::Thawed => "thawed",
            Event::CommandExecuted { .. } => "command-executed",
            Event::Ended { .. } => "ended",
            Event::SignalHeard(_) => "signal-heard",
            Event::PacketDropped { .. } => "packet-dropped",
            Event::FrameOnAir { .. } => "frame-on-air",
            Event::OutageBegan => "outage-began",
            Event::OutageEnded => "outage-ended",
            Event::AttachmentChanged { .. } => "attachment-changed",
            Event::Registered { .. } => "registered",
            Event::BindingChanged { .. } => "binding-changed",
            Event::MessageSent { .. } => "message-sent",
        }
    }
}
