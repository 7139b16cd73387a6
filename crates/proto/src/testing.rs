//! Two connections over a scripted wire, for tests.
//!
//! The client carries a scheme; both ends carry real bytes beside the connection, as a real stack would, so that
//! every run checks that each byte is delivered once and in order.

use std::collections::BTreeMap;

use crate::schemes::{Action, Scheme};
use crate::signal::{Scope, Signal, SignalKind, Source};
use crate::tcp::{Config, Connection, ConnectionId, Hooks, NoHooks, Profile, Segment, SeqNumber, Variant};
use crate::time::{Duration, Instant};
use crate::trace::Event;

/// Which end of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The active opener, which carries the scheme.
    Client,
    /// The passive one.
    Server,
}

/// A segment that was put on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// When.
    pub at: Instant,
    /// By whom.
    pub by: End,
    /// What.
    pub segment: Segment,
    /// Whether the wire lost it.
    pub lost: bool,
}

type Fate = Box<dyn FnMut(End, u64, Instant, &Segment) -> Option<Duration>>;

/// Two connections and a wire.
pub struct Pair {
    /// The active opener.
    pub client: Connection,
    /// The passive one.
    pub server: Connection,
    /// The client's policy; `None` runs the core without hooks.
    pub scheme: Option<Box<dyn Scheme>>,
    /// The present.
    pub now: Instant,
    /// Everything put on the wire, in order.
    pub wire: Vec<Sent>,
    /// The client's trace.
    pub trace: Vec<(Instant, Event)>,
    /// One-way delay.
    pub delay: Duration,
    fate: Fate,
    counts: [u64; 2],
    in_flight: BTreeMap<(Instant, u64), (End, Segment)>,
    signals: BTreeMap<(Instant, u64), Signal>,
    next_id: u64,
    stores: [Store; 2],
}

/// The bytes that one end has received, in order and beyond holes.
#[derive(Default)]
struct Store {
    bytes: Vec<Option<u8>>,
    delivered: u64,
}

/// The byte at `offset` of the stream that `end` sends.
fn stream_byte(end: End, offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ end as u8
}

impl Pair {
    /// A pair with a perfect wire of 10 ms each way; the client opens at once.
    ///
    /// # Panics
    /// If there is no such variant or profile.
    pub fn new(profile: &str, variant: &str) -> Self {
        Pair::with_profile(Profile::named(profile).expect("a known profile"), variant)
    }

    /// As [`Pair::new`], with constants of one's own.
    ///
    /// # Panics
    /// If there is no such variant.
    pub fn with_profile(profile: &Profile, variant: &str) -> Self {
        let variant = Variant::named(variant).expect("a known variant");
        let config = |id, iss| Config {
            id: ConnectionId(id),
            profile: profile.clone(),
            variant,
            iss: SeqNumber(iss),
            auto_read: true,
        };
        // Initial numbers just below the wrap, so that every longer test crosses it.
        let mut client = Connection::connect(config(1, u32::MAX - 5_000));
        client.enable_trace();
        Pair {
            client,
            server: Connection::listen(config(2, u32::MAX - 100)),
            scheme: None,
            now: Instant::ZERO,
            wire: Vec::new(),
            trace: Vec::new(),
            delay: Duration::from_millis(10),
            fate: Box::new(|_, _, _, _| Some(Duration::ZERO)),
            counts: [0, 0],
            in_flight: BTreeMap::new(),
            signals: BTreeMap::new(),
            next_id: 0,
            stores: [Store::default(), Store::default()],
        }
    }

    /// Lets the wire decide each segment's fate: `None` loses it, `Some(extra)` delays it by `extra` more. The closure
    /// gets the sender, the count of that sender's segments so far, the time and the segment.
    pub fn set_fate(&mut self, fate: impl FnMut(End, u64, Instant, &Segment) -> Option<Duration> + 'static) {
        self.fate = Box::new(fate);
    }

    /// The client's scheme hears `kind` at `at`; of an unreachable packet the connection is told, as by a network.
    pub fn signal_at(&mut self, at: Instant, kind: SignalKind) {
        let signal =
            Signal { kind, scope: Scope::Interface, source: Source::Link, origin: at, delivered: at };
        self.next_id += 1;
        self.signals.insert((at, self.next_id), signal);
    }

    /// Runs until nothing is left to happen or `until` is reached; the present is `until` then, if anything is left.
    pub fn run_until(&mut self, until: Instant) {
        self.pump();
        while let Some(next) = self.next_time().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.step();
            self.pump();
        }
        self.now = self.now.max(until);
    }

    /// Whether neither end has anything left to do.
    pub fn is_idle(&self) -> bool {
        self.next_time().is_none()
    }

    fn next_time(&self) -> Option<Instant> {
        let packet = self.in_flight.keys().next().map(|(at, _)| *at);
        let signal = self.signals.keys().next().map(|(at, _)| *at);
        let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
        let scheme = self.scheme.as_ref().and_then(|s| s.poll_timeout()).map(|(at, _)| at);
        let timers = timers.into_iter().flatten().map(|(at, _)| at);
        packet.into_iter().chain(signal).chain(scheme).chain(timers).min()
    }

    fn step(&mut self) {
        let now = self.now;
        if let Some((&key, _)) = self.signals.first_key_value().filter(|((at, _), _)| *at <= now) {
            let signal = self.signals.remove(&key);
            if let (Some(scheme), Some(signal)) = (&mut self.scheme, signal) {
                match signal.kind {
                    SignalKind::Unreachable { quoted_seq } => {
                        self.client.handle_unreachable(SeqNumber(quoted_seq), now, &mut **scheme);
                    }
                    _ => scheme.handle_signal(&signal, now),
                }
            }
            return;
        }
        if let Some((&key, _)) = self.in_flight.first_key_value().filter(|((at, _), _)| *at <= now) {
            if let Some((to, segment)) = self.in_flight.remove(&key) {
                self.receive(to, &segment);
            }
            return;
        }
        if let Some(scheme) = &mut self.scheme {
            scheme.handle_timeout(now);
        }
        match &mut self.scheme {
            Some(scheme) => self.client.handle_timeout(now, &mut **scheme),
            None => self.client.handle_timeout(now, &mut NoHooks),
        }
        self.server.handle_timeout(now, &mut NoHooks);
    }

    fn receive(&mut self, to: End, segment: &Segment) {
        let now = self.now;
        let from = if to == End::Client { End::Server } else { End::Client };
        let connection = if to == End::Client { &mut self.client } else { &mut self.server };
        let store = &mut self.stores[to as usize];
        if connection.state().is_synchronised() || segment.len > 0 {
            let offset = connection.payload_offset(segment.seq).unwrap_or(0);
            let end = (offset + u64::from(segment.len)).min(offset + (1 << 20)) as usize;
            if store.bytes.len() < end {
                store.bytes.resize(end, None);
            }
            for at in offset as usize..end {
                store.bytes[at] = Some(stream_byte(from, at as u64));
            }
        }
        match (to, &mut self.scheme) {
            (End::Client, Some(scheme)) => connection.handle_segment(segment, now, &mut **scheme),
            _ => connection.handle_segment(segment, now, &mut NoHooks),
        }
        let delivered = connection.receiver().delivered();
        assert!(delivered >= store.delivered, "delivered data was taken back");
        for at in store.delivered..delivered {
            assert_eq!(
                store.bytes[at as usize],
                Some(stream_byte(from, at)),
                "byte {at} delivered without arriving"
            );
        }
        store.delivered = delivered;
    }

    /// Carries out what the scheme orders, and puts on the wire all that may leave.
    fn pump(&mut self) {
        while let Some(action) = self.scheme.as_mut().and_then(|scheme| scheme.poll_action()) {
            // The pair has no radio: an order to one has no effect.
            let Action::Tcp { connection, command } = action else { continue };
            assert_eq!(connection, self.client.id());
            self.client.execute(command, self.now);
        }
        for end in [End::Client, End::Server] {
            loop {
                let segment = match (end, &mut self.scheme) {
                    (End::Client, Some(scheme)) => self.client.poll_transmit(self.now, &mut **scheme),
                    (End::Client, None) => self.client.poll_transmit(self.now, &mut NoHooks),
                    (End::Server, _) => self.server.poll_transmit(self.now, &mut NoHooks),
                };
                let Some(segment) = segment else { break };
                self.put_on_wire(end, segment);
            }
        }
        let now = self.now;
        self.trace.extend(self.client.drain_trace().map(|event| (now, event)));
    }

    fn put_on_wire(&mut self, by: End, segment: Segment) {
        let count = self.counts[by as usize];
        self.counts[by as usize] += 1;
        let fate = (self.fate)(by, count, self.now, &segment);
        self.wire.push(Sent { at: self.now, by, segment, lost: fate.is_none() });
        if let Some(extra) = fate {
            let to = if by == End::Client { End::Server } else { End::Client };
            self.next_id += 1;
            self.in_flight.insert((self.now + self.delay + extra, self.next_id), (to, segment));
        }
    }

    /// Feeds the client a segment from nowhere.
    pub fn inject_to_client(&mut self, segment: &Segment, hooks: &mut impl Hooks) {
        self.client.handle_segment(segment, self.now, hooks);
        self.pump();
    }

    /// Payload bytes that the server has delivered.
    pub fn delivered(&self) -> u64 {
        self.stores[End::Server as usize].delivered
    }
}
