//! A mobile support router over our own TCP: the daemon with its sockets, its guests and its handoffs.
//!
//! One object eats packets, control messages and deadlines, and gives packets and messages to send. The driver decides
//! what reaches it: [`Msr::handle_packet`] says whether a packet belongs to a split connection; all others are forwarded
//! as ever. Late or early segments of a moving connection are tunnelled or kept, never answered.

use std::collections::{BTreeMap, VecDeque};

use super::guest::{Guest, Match, Split, find_flow, view};
use super::handoff::{self, Action, Disposition, Handoff, Holding};
use super::message::{Call, Captured, Granted, Message, Outgoing, Refusal, Reply, Request};
use super::relay::{self, Relay, RelayState};
use super::{Endpoint, Endpoints, Flow, Side};
use crate::mobile_ip::Address;
use crate::tcp::{
    self, Command, Connection, ConnectionId, ConnectionState, EndReason, Flags, NoHooks, Profile, Restart,
    Segment, SeqNumber, State, Variant,
};
use crate::time::{Duration, Instant};

/// The constants.
#[derive(Clone, Debug)]
pub struct Config {
    /// Of the handoff.
    pub handoff: handoff::Config,
    /// TCP toward fixed hosts; its receive buffer is the one of the paper's 16 KB window.
    pub fixed: Profile,
    /// TCP over the radio.
    pub wireless: Profile,
    /// Recovery and congestion control of both.
    pub variant: &'static Variant,
    /// Send buffer of each socket, in bytes (i-tcp I9: 16 KB).
    pub send_buffer: u64,
    /// What the daemon itself holds in each direction, in bytes.
    pub copy_buffer: u64,
    /// Segments kept for each host during a handoff; further ones are dropped.
    pub kept_segments: usize,
    /// How the wireless side starts again after a handoff (i-tcp I6).
    pub restart: Restart,
    /// Whether the new router sends three duplicate ACKs, so that a mobile host that sends retransmits (i-tcp I7).
    pub kick_mobile: bool,
    /// Time that the daemon takes to establish one connection.
    pub processing: Duration,
}

impl Config {
    /// The values of the criteria, with these constants of TCP.
    pub fn new(address: Address, profile: &Profile, variant: &'static Variant) -> Self {
        let window = (16_384 / profile.mss).max(1);
        let profile = Profile { window, ..profile.clone() };
        Config {
            handoff: handoff::Config::new(address),
            fixed: profile.clone(),
            wireless: profile,
            variant,
            send_buffer: 16_384,
            copy_buffer: 4_096,
            kept_segments: 256,
            restart: Restart::SlowStart,
            kick_mobile: false,
            processing: Duration::ZERO,
        }
    }
}

/// A segment with its four-tuple.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// The segment.
    pub segment: Segment,
}

/// Where a packet is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To a fixed host, by ordinary routing.
    Fixed,
    /// To a mobile host in the cell.
    Radio,
    /// In a tunnel to this router.
    Tunnel(Address),
}

/// All of one split connection.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitState {
    /// The socket toward the fixed host.
    pub fixed: ConnectionState,
    /// The socket toward the mobile host.
    pub wireless: ConnectionState,
    /// The daemon's buffers between them.
    pub relay: RelayState,
    /// The request that opened it, if it has not been answered or may be asked again.
    pub request: Option<u32>,
    /// Whether the fixed host opened it.
    pub passive: bool,
}

impl Captured for SplitState {
    fn wire_bytes(&self) -> u64 {
        self.fixed.wire_bytes() + self.wireless.wire_bytes() + self.relay.held.iter().sum::<u64>() + 24
    }
}

/// How long the segments of a connection that is over are recognised (2·MSL as hosts use it).
const LATE_SEGMENTS: Duration = Duration::from_secs(60);

/// Requests whose refusal is remembered, for each host.
const MAX_REFUSALS: usize = 64;

/// The connections of one host on their way.
type Entries = Vec<(Flow, SplitState)>;

/// One mobile support router.
#[derive(Clone, Debug)]
pub struct Msr {
    config: Config,
    handoff: Handoff<SplitState>,
    guests: BTreeMap<Address, Guest>,
    /// Connections being established: when they are done.
    imports: Vec<(Instant, Address, Entries)>,
    packets: VecDeque<(Way, Packet)>,
    messages: VecDeque<Outgoing<SplitState>>,
    next_port: u16,
    next_iss: u32,
}

impl Msr {
    /// A router without guests.
    pub fn new(config: Config) -> Self {
        Msr {
            handoff: Handoff::new(config.handoff),
            config,
            guests: BTreeMap::new(),
            imports: Vec::new(),
            packets: VecDeque::new(),
            messages: VecDeque::new(),
            next_port: 40_000,
            next_iss: 0,
        }
    }

    /// Takes a packet from a fixed host, from the radio or out of a tunnel; `false`: it is none of ours.
    pub fn handle_packet(&mut self, packet: &Packet, now: Instant) -> bool {
        let Some((mobile, found)) = self.find(packet) else { return false };
        match self.handoff.disposition(mobile) {
            Disposition::Tunnel(to) => self.packets.push_back((Way::Tunnel(to), *packet)),
            Disposition::Keep => {
                if let Some(guest) =
                    self.guests.get_mut(&mobile).filter(|g| g.kept.len() < self.config.kept_segments)
                {
                    guest.kept.push_back(*packet);
                }
            }
            Disposition::NotHere => return false,
            Disposition::Process => match found {
                Match::Running(flow, side) => self.receive(mobile, flow, side, &packet.segment, now),
                Match::Dead(flow, Side::Wireless) => self.reset(flow, &packet.segment),
                Match::Dead(..) => {}
                // Over, or lost on the way: nobody answers.
                Match::Elsewhere if !self.is_listener(packet) => {}
                Match::Elsewhere => return self.open_passive(packet, now),
                Match::Listener => return self.open_passive(packet, now),
            },
        }
        true
    }

    /// The network cannot reach the fixed host of this connection (i-tcp I11).
    pub fn handle_unreachable(&mut self, flow: Flow, now: Instant) {
        let Some(guest) = self.guests.get_mut(&flow.mobile.address) else { return };
        let opening = |split: &mut Split| split.fixed.state() == State::SynSent;
        if let Some(mut split) =
            guest.splits.get_mut(&flow).is_some_and(opening).then(|| guest.splits.remove(&flow)).flatten()
        {
            split.fixed.abort(now, &mut NoHooks);
            self.refuse(flow, split.request, Refusal::Unreachable);
        }
    }

    /// Takes a control message.
    pub fn handle_message(&mut self, from: Address, message: Message<SplitState>, now: Instant) {
        if let Message::Request(request) = message {
            self.handle_request(request, now);
        } else {
            self.handoff.handle_message(from, message, now);
        }
        self.carry_out(now);
    }

    /// Serves the deadlines that have passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.handoff.handle_timeout(now);
        self.carry_out(now);
        for (mobile, flow) in self.running() {
            let split = self.guests.get_mut(&mobile).and_then(|guest| guest.splits.get_mut(&flow));
            let Some(split) = split.filter(|s| s.next_deadline().is_some_and(|(at, _)| at <= now)) else {
                continue;
            };
            split.fixed.handle_timeout(now, &mut NoHooks);
            split.wireless.handle_timeout(now, &mut NoHooks);
            let offer = split.take_offer(self.config.handoff.resend, now);
            if let Some(id) = offer {
                self.reply(Reply { mobile, id, result: Ok(Granted::Opened(flow)) });
            }
            self.pump(mobile, flow, now);
        }
        while let Some(done) = self.imports.iter().position(|(at, ..)| *at <= now) {
            let (_, mobile, entries) = self.imports.remove(done);
            self.import(mobile, entries, now);
        }
        self.carry_out(now);
    }

    /// The next packet to send, and where to.
    pub fn poll_packet(&mut self) -> Option<(Way, Packet)> {
        self.packets.pop_front()
    }

    /// The next control message.
    pub fn poll_message(&mut self) -> Option<Outgoing<SplitState>> {
        self.messages.pop_front().or_else(|| self.handoff.poll_message())
    }

    /// When to call [`Self::handle_timeout`], and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let splits = self.guests.values().flat_map(|guest| guest.splits.values());
        let imports = self.imports.iter().map(|(at, ..)| (*at, "connections established"));
        let all = splits.filter_map(Split::next_deadline).chain(imports).chain(self.handoff.poll_timeout());
        all.min_by_key(|(at, _)| *at)
    }

    /// Its handoffs, to look at.
    pub fn handoff(&self) -> &Handoff<SplitState> {
        &self.handoff
    }

    /// The two sockets of a connection and the bytes between them by the side they came from, to look at.
    pub fn split(&self, flow: Flow) -> Option<(&Connection, &Connection, [u64; 2])> {
        let split = self.guests.get(&flow.mobile.address)?.splits.get(&flow)?;
        Some((&split.fixed, &split.wireless, split.relay.export().held))
    }

    /// All connections here, frozen ones included.
    pub fn flows(&self) -> Vec<Flow> {
        self.guests.values().flat_map(|guest| guest.splits.keys().copied()).collect()
    }

    /// The connection of `mobile` that is `meant`, also if it runs elsewhere or is over.
    pub fn lookup(&self, mobile: Address, meant: impl Fn(&Flow) -> bool) -> Option<Flow> {
        let guest = self.guests.get(&mobile)?;
        let all = guest.splits.keys().chain(guest.known.keys()).chain(&guest.dead);
        all.copied().find(meant)
    }

    fn running(&self) -> Vec<(Address, Flow)> {
        let of = |(mobile, guest): (&Address, &Guest)| {
            guest.splits.keys().map(|f| (*mobile, *f)).collect::<Vec<_>>()
        };
        self.guests.iter().flat_map(of).collect()
    }

    /// Whose packet it is, and what of his.
    fn find(&self, packet: &Packet) -> Option<(Address, Match)> {
        if let Some(guest) = self.guests.get(&packet.dst.address) {
            let meant = |flow: &Flow| flow.mobile == packet.dst && flow.fixed == packet.src;
            let found = find_flow(guest, meant, Side::Fixed)
                .or_else(|| guest.listeners.contains(&packet.dst.port).then_some(Match::Listener));
            return found.map(|found| (packet.dst.address, found));
        }
        let guest = self.guests.get(&packet.src.address)?;
        let meant = |flow: &Flow| flow.mobile == packet.src && flow.wireless == packet.dst;
        find_flow(guest, meant, Side::Wireless).map(|found| (packet.src.address, found))
    }

    fn handle_request(&mut self, request: Request, now: Instant) {
        let Request { mobile, id, call } = request;
        if self.handoff.holding(mobile) != Holding::Active {
            return;
        }
        let guest = self.guests.entry(mobile).or_default();
        let answered = guest.splits.iter().find(|(_, split)| split.request == Some(id));
        let result = match call {
            _ if guest.refusals.contains_key(&id) => guest.refusals.get(&id).copied().map(Err),
            Call::Connect { .. } | Call::Accept { .. } if answered.is_some() => answered
                .filter(|(_, split)| split.fixed.state().is_synchronised())
                .map(|(flow, _)| Ok(Granted::Opened(*flow))),
            Call::Connect { port, fixed } => {
                self.open_active(Endpoint { address: mobile, port }, fixed, id, now);
                None
            }
            Call::Listen { port } => {
                guest.listeners.insert(port);
                Some(Ok(Granted::Done))
            }
            Call::Unlisten { port } => {
                guest.listeners.remove(&port);
                guest.accepts.retain(|(waiting, _)| *waiting != port);
                Some(Ok(Granted::Done))
            }
            Call::Accept { port } if guest.listeners.contains(&port) => {
                if !guest.accepts.contains(&(port, id)) {
                    guest.accepts.push((port, id));
                }
                // So that it need not be asked again.
                self.reply(Reply { mobile, id, result: Ok(Granted::Waits) });
                self.serve_accepts(mobile, now);
                None
            }
            Call::Accept { .. } => Some(Err(Refusal::BadPort)),
            Call::Close { flow } => {
                // The FIN says the rest; without a wireless connection there will be none.
                if let Some(split) =
                    guest.splits.get_mut(&flow).filter(|s| s.wireless.state() == State::Listen)
                {
                    split.fixed.abort(now, &mut NoHooks);
                    self.pump(mobile, flow, now);
                }
                Some(Ok(Granted::Done))
            }
        };
        if let Some(result) = result {
            self.reply(Reply { mobile, id, result });
        }
    }

    fn reply(&mut self, reply: Reply) {
        self.messages.push_back(Outgoing { to: reply.mobile, message: Message::Reply(reply) });
    }

    /// A connection that is not to be: `refusal` is remembered for repeated requests.
    fn refuse(&mut self, flow: Flow, request: Option<u32>, refusal: Refusal) {
        let mobile = flow.mobile.address;
        let (Some(id), Some(guest)) = (request, self.guests.get_mut(&mobile)) else { return };
        guest.refusals.insert(id, refusal);
        if guest.refusals.len() > MAX_REFUSALS {
            guest.refusals.pop_first();
        }
        self.reply(Reply { mobile, id, result: Err(refusal) });
    }

    /// Gives connections that fixed hosts have opened to the accept calls that wait.
    fn serve_accepts(&mut self, mobile: Address, now: Instant) {
        let resend_at = now + self.config.handoff.resend;
        let Some(guest) = self.guests.get_mut(&mobile) else { return };
        let mut replies = Vec::new();
        guest.accepts.retain(|(port, id)| {
            let open = |flow: &Flow, split: &Split| {
                let free = split.passive && split.request.is_none() && flow.mobile.port == *port;
                free && split.fixed.state().is_synchronised()
            };
            let Some((flow, split)) = guest.splits.iter_mut().find(|(flow, split)| open(flow, split)) else {
                return true;
            };
            (split.request, split.answered, split.offer_at) = (Some(*id), true, resend_at);
            replies.push(Reply { mobile, id: *id, result: Ok(Granted::Opened(*flow)) });
            false
        });
        replies.into_iter().for_each(|reply| self.reply(reply));
    }

    fn tcp(&mut self, side: Side) -> tcp::Config {
        let profile = if side == Side::Fixed { &self.config.fixed } else { &self.config.wireless };
        self.next_iss = self.next_iss.wrapping_add(64_000);
        tcp::Config {
            id: ConnectionId(self.next_iss / 64_000),
            profile: profile.clone(),
            variant: self.config.variant,
            iss: SeqNumber(self.next_iss),
            auto_read: false,
        }
    }

    fn new_split(&mut self, mobile: Endpoint, fixed: Endpoint, request: Option<u32>) -> Flow {
        let wireless = Endpoint { address: self.config.handoff.address, port: self.next_port };
        self.next_port = self.next_port.checked_add(1).unwrap_or(40_000);
        let passive = request.is_none();
        let tcp = self.tcp(Side::Fixed);
        let connection = if passive { Connection::listen(tcp) } else { Connection::connect(tcp) };
        let split = Split {
            fixed: connection,
            wireless: Connection::listen(self.tcp(Side::Wireless)),
            relay: Relay::new(self.config.copy_buffer),
            request,
            passive,
            answered: false,
            offer_at: Instant::MAX,
        };
        let flow = Flow { mobile, fixed, wireless };
        self.guests.entry(mobile.address).or_default().splits.insert(flow, split);
        flow
    }

    fn open_active(&mut self, mobile: Endpoint, fixed: Endpoint, id: u32, now: Instant) {
        let taken = |flow: &Flow| flow.mobile == mobile && flow.fixed == fixed;
        let guest = self.guests.entry(mobile.address).or_default();
        if guest.splits.keys().any(taken) {
            self.reply(Reply { mobile: mobile.address, id, result: Err(Refusal::BadPort) });
            return;
        }
        let flow = self.new_split(mobile, fixed, Some(id));
        self.pump(mobile.address, flow, now);
    }

    fn is_listener(&self, packet: &Packet) -> bool {
        let guest = self.guests.get(&packet.dst.address);
        packet.segment.flags == Flags::SYN && guest.is_some_and(|g| g.listeners.contains(&packet.dst.port))
    }

    /// A segment for a port on which a host listens: only a SYN opens.
    fn open_passive(&mut self, packet: &Packet, now: Instant) -> bool {
        if packet.segment.flags != Flags::SYN {
            return false;
        }
        let flow = self.new_split(packet.dst, packet.src, None);
        self.receive(packet.dst.address, flow, Side::Fixed, &packet.segment, now);
        true
    }

    fn receive(&mut self, mobile: Address, flow: Flow, side: Side, segment: &Segment, now: Instant) {
        let split = self.guests.get_mut(&mobile).and_then(|guest| guest.splits.get_mut(&flow));
        if let Some(split) = split {
            split.side(side).handle_segment(segment, now, &mut NoHooks);
        }
        self.pump(mobile, flow, now);
    }

    /// Answers the mobile host that its connection is lost.
    fn reset(&mut self, flow: Flow, segment: &Segment) {
        if !segment.flags.contains(Flags::RST) {
            let segment = Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() };
            self.packets.push_back((Way::Radio, Packet { src: flow.wireless, dst: flow.mobile, segment }));
        }
    }

    /// Copies what can be copied, sends what may leave, tells who waits.
    fn pump(&mut self, mobile: Address, flow: Flow, now: Instant) {
        let buffer = self.config.send_buffer;
        let Some(guest) = self.guests.get_mut(&mobile) else { return };
        let Some(split) = guest.splits.get_mut(&flow) else { return };
        let mut fixed = view(&split.fixed, buffer);
        // A socket that its peer has not connected to cannot be told of an end.
        fixed.at_end &= split.wireless.state() != State::Listen;
        split.relay.handle_socket(Side::Fixed, fixed);
        split.relay.handle_socket(Side::Wireless, view(&split.wireless, buffer));
        while let Some(action) = split.relay.poll_action() {
            match action {
                relay::Action::Read { from, bytes } => split.side(from).read(bytes),
                relay::Action::Write { to, bytes } => split.side(to).write(bytes),
                relay::Action::Finish { side } => split.side(side).close(),
                relay::Action::Abort { side } => split.side(side).abort(now, &mut NoHooks),
            }
        }
        while let Some(segment) = split.fixed.poll_transmit(now, &mut NoHooks) {
            self.packets.push_back((Way::Fixed, Packet { src: flow.mobile, dst: flow.fixed, segment }));
        }
        while let Some(segment) = split.wireless.poll_transmit(now, &mut NoHooks) {
            self.packets.push_back((Way::Radio, Packet { src: flow.wireless, dst: flow.mobile, segment }));
        }
        let (request, end) =
            (split.request.filter(|_| !split.answered && !split.passive), split.fixed.end_reason());
        let opened = split.fixed.state() == State::Established;
        split.answered |= opened && request.is_some();
        if split.is_over() {
            guest.finish(flow, LATE_SEGMENTS, now);
        }
        match (request, end) {
            (Some(_), Some(EndReason::Reset)) => self.refuse(flow, request, Refusal::ConnectionRefused),
            (Some(_), Some(EndReason::UserTimeout)) => self.refuse(flow, request, Refusal::TimedOut),
            (Some(id), _) if opened => self.reply(Reply { mobile, id, result: Ok(Granted::Opened(flow)) }),
            _ => self.serve_accepts(mobile, now),
        }
    }

    /// Carries out what the handoff orders.
    fn carry_out(&mut self, now: Instant) {
        while let Some(action) = self.handoff.poll_action() {
            match action {
                Action::Prepare { mobile, endpoints } => {
                    let guest = self.guests.entry(mobile).or_default();
                    guest.known.extend(endpoints.flows.into_iter().map(|flow| (flow, Instant::MAX)));
                    guest.listeners.extend(endpoints.listeners);
                    self.handoff.handle_prepared(mobile, now);
                }
                Action::Freeze { mobile } => {
                    let entries = self.export(mobile, now);
                    self.handoff.handle_frozen(mobile, entries, now);
                }
                Action::Thaw { mobile } => {
                    let restart = self.config.restart;
                    for split in self.guests.get_mut(&mobile).into_iter().flat_map(|g| g.splits.values_mut())
                    {
                        split.fixed.thaw(Restart::AsItWas, now);
                        split.wireless.thaw(restart, now);
                    }
                    self.go_on(mobile, now);
                }
                Action::Import { mobile, entries } => {
                    let done = now + self.config.processing.saturating_mul(entries.len() as u64);
                    if done > now {
                        self.imports.push((done, mobile, entries));
                    } else {
                        self.import(mobile, entries, now);
                    }
                }
                Action::Delete { mobile } => {
                    if let Some(guest) = self.guests.get_mut(&mobile) {
                        let moved = std::mem::take(&mut guest.splits).into_keys();
                        guest.known.extend(moved.map(|flow| (flow, Instant::MAX)));
                    }
                }
                Action::Abandon { mobile, endpoints } => self.abandon(mobile, endpoints, now),
                Action::Redirect { mobile, to } => {
                    let kept = self.guests.get_mut(&mobile).map(|g| std::mem::take(&mut g.kept));
                    self.packets.extend(kept.into_iter().flatten().map(|packet| (Way::Tunnel(to), packet)));
                }
            }
        }
    }

    fn export(&mut self, mobile: Address, now: Instant) -> Entries {
        let Some(guest) = self.guests.get_mut(&mobile) else { return Vec::new() };
        guest.accepts.clear();
        let capture = |(flow, split): (&Flow, &mut Split)| {
            let state = SplitState {
                fixed: split.fixed.export(now),
                wireless: split.wireless.export(now),
                relay: split.relay.export(),
                request: split.request,
                passive: split.passive,
            };
            (*flow, state)
        };
        guest.splits.iter_mut().map(capture).collect()
    }

    fn import(&mut self, mobile: Address, entries: Entries, now: Instant) {
        for (flow, state) in entries {
            let (fixed, wireless) = (self.tcp(Side::Fixed), self.tcp(Side::Wireless));
            let mut split = Split {
                fixed: Connection::import(fixed, &state.fixed, Restart::AsItWas, now),
                wireless: Connection::import(wireless, &state.wireless, self.config.restart, now),
                relay: Relay::import(self.config.copy_buffer, state.relay),
                request: state.request,
                passive: state.passive,
                answered: false,
                offer_at: if state.passive && state.request.is_some() { now } else { Instant::MAX },
            };
            if self.config.kick_mobile {
                split.wireless.execute(Command::SendDupAcks { copies: 3 }, now);
            }
            let guest = self.guests.entry(mobile).or_default();
            guest.known.remove(&flow);
            guest.splits.insert(flow, split);
        }
        self.handoff.handle_imported(mobile, now);
        self.go_on(mobile, now);
        self.carry_out(now);
    }

    /// The connections of `mobile` run (again): what was kept is processed.
    fn go_on(&mut self, mobile: Address, now: Instant) {
        let kept = self.guests.get_mut(&mobile).map(|guest| std::mem::take(&mut guest.kept));
        for packet in kept.into_iter().flatten() {
            self.handle_packet(&packet, now);
        }
        let flows: Vec<Flow> =
            self.guests.get(&mobile).into_iter().flat_map(|g| g.splits.keys().copied()).collect();
        flows.into_iter().for_each(|flow| self.pump(mobile, flow, now));
    }

    fn abandon(&mut self, mobile: Address, endpoints: Endpoints, now: Instant) {
        let guest = self.guests.entry(mobile).or_default();
        guest.known.clear();
        guest.dead.extend(endpoints.flows.into_iter().filter(|flow| !guest.splits.contains_key(flow)));
        self.go_on(mobile, now);
    }
}
