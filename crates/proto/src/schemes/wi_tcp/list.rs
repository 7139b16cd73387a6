//! The list of connections that a mobile host gives its agent (wi-tcp W1).

use std::collections::BTreeMap;

use crate::base_station::{Body, Flow, Message};
use crate::mobile_ip::Address;
use crate::tcp::{ConnectionId, Flags, Segment, SeqNumber, Timestamps};
use crate::time::{Duration, Instant};

/// The list is sent again after so long without a confirmation, and so often.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
const REPEATS: u32 = 3;
/// A host that has said nothing for so long has nobody who waits for it.
const ACTIVE_FOR: Duration = Duration::from_secs(300);

/// What the last segment of a mobile host said: from it agents make ACKs in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// The position after it.
    pub(super) seq: SeqNumber,
    pub(super) ack: SeqNumber,
    pub(super) window: u16,
    pub(super) timestamps: Option<Timestamps>,
}

impl Said {
    /// `None` for a segment that acknowledges nothing, or opens or resets the connection.
    pub(super) fn by(segment: &Segment) -> Option<Said> {
        let ordinary = segment.flags.contains(Flags::ACK)
            && !segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::RST);
        ordinary.then(|| Said {
            seq: segment.seq.add(segment.sequence_length()),
            ack: segment.ack,
            window: segment.window,
            timestamps: segment.options.timestamps,
        })
    }
}

/// One connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) flow: Flow,
    pub(super) said: Said,
    /// Of the other end.
    pub(super) nonce: u32,
}

/// From a mobile host to its agent.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) serial: u32,
    pub(super) entries: Vec<Entry>,
}

impl Body for List {
    fn name(&self) -> &'static str {
        "connection-list"
    }

    /// UDP/IP headers and the serial; for each connection two ports, the peer, two sequence numbers, window, flags,
    /// timestamps and nonce.
    fn packet_bytes(&self) -> u32 {
        28 + 4 + 32 * self.entries.len() as u32
    }
}

/// The answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Confirmation {
    pub(super) serial: u32,
}

impl Body for Confirmation {
    fn name(&self) -> &'static str {
        "connection-list-confirmation"
    }

    fn packet_bytes(&self) -> u32 {
        28 + 4
    }
}

/// What a mobile host knows of one of its connections.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    flow: Option<Flow>,
    said: Option<Said>,
    nonce: Option<u32>,
}

/// Lists the connections of one mobile host.
#[derive(Debug, Default)]
pub(super) struct Lister {
    connections: BTreeMap<ConnectionId, Known>,
    station: Option<Address>,
    /// When something was last sent by one of them.
    active_at: Instant,
    serial: u32,
    /// When the list is sent again, and how often still.
    again: Option<(Instant, u32)>,
    message: Option<(Address, Message)>,
}

impl Lister {
    pub(super) fn handle_flow(&mut self, connection: ConnectionId, flow: Flow) {
        self.connections.entry(connection).or_default().flow = Some(flow);
    }

    /// The peer has told its nonce.
    pub(super) fn handle_nonce(&mut self, connection: ConnectionId, nonce: u32) {
        self.connections.entry(connection).or_default().nonce = Some(nonce);
    }

    pub(super) fn handle_sent(&mut self, connection: ConnectionId, segment: &Segment, now: Instant) {
        self.active_at = now;
        if let (Some(known), Some(said)) = (self.connections.get_mut(&connection), Said::by(segment)) {
            known.said = Some(said);
        }
    }

    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
    }

    /// The host speaks through `station` from now on.
    pub(super) fn handle_attached(&mut self, station: Address, now: Instant) {
        self.station = Some(station);
        self.announce(now);
    }

    /// The way to the agent works again: it may think that the host is away.
    pub(super) fn handle_return(&mut self, now: Instant) {
        if now.since(self.active_at) < ACTIVE_FOR {
            self.announce(now);
        }
    }

    /// Tells the agent anew what connections there are.
    fn announce(&mut self, now: Instant) {
        self.serial = self.serial.wrapping_add(1);
        self.again = self.send().then(|| (now + AGAIN_AFTER, REPEATS));
    }

    pub(super) fn handle_message(&mut self, from: Address, message: &Message) {
        let confirmed = message.body::<Confirmation>().is_some_and(|body| body.serial == self.serial);
        if confirmed && Some(from) == self.station {
            self.again = None;
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if let Some((at, left)) = self.again.filter(|(at, _)| *at <= now) {
            let more = self.send() && left > 1;
            self.again = more.then(|| (at.max(now) + AGAIN_AFTER, left - 1));
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.again.map(|(at, _)| (at, "connection list not confirmed"))
    }

    pub(super) fn poll_message(&mut self) -> Option<(Address, Message)> {
        self.message.take()
    }

    /// Whether there was anything to say.
    fn send(&mut self) -> bool {
        let Some(station) = self.station else { return false };
        let entry = |known: &Known| Some(Entry { flow: known.flow?, said: known.said?, nonce: known.nonce? });
        let entries: Vec<Entry> = self.connections.values().filter_map(entry).collect();
        if entries.is_empty() {
            return false;
        }
        self.message = Some((station, Message::new(List { serial: self.serial, entries })));
        true
    }
}
