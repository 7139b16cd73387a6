//! A network of a fixed host, three routers and a mobile host, with every packet and every message.

use std::collections::BTreeMap;

use segue_proto::mobile_ip::Address;
use segue_proto::split::handoff::{self, Holding, MobileHost, MobileState};
use segue_proto::split::library::{CallId, Event, Library};
use segue_proto::split::msr::{Config, Msr, Packet, SplitState, Way};
use segue_proto::split::{Endpoint, Flow, Outgoing};
use segue_proto::tcp::{
    self, Connection, ConnectionId, Flags, NoHooks, Profile, Segment, SeqNumber, State, Variant,
};
use segue_proto::time::{Duration, Instant};

pub const HOST: Address = Address::new(10, 0, 0, 9);
pub const SERVER: Endpoint = Endpoint { address: Address::new(10, 9, 0, 1), port: 80 };
pub const ROUTERS: [Address; 3] =
    [Address::new(10, 1, 0, 1), Address::new(10, 2, 0, 1), Address::new(10, 3, 0, 1)];

pub fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A TCP that does not give up within a story, and whose timeouts are shorter than TIME-WAIT.
pub fn profile() -> Profile {
    let rfc = Profile::named("rfc").expect("a profile of the table");
    let (user_timeout, max_rto) = (Duration::MAX, Duration::from_secs(20));
    Profile { mss: 1_000, window: 16, user_timeout, max_rto, ..rfc.clone() }
}

pub fn patient(address: Address) -> Config {
    let mut config =
        Config::new(address, &profile(), Variant::named("reno").expect("a variant of the table"));
    config.handoff = handoff::Config {
        pointer_attempts: 200,
        state_timeout: Duration::from_secs(1),
        state_attempts: 100,
        handoff_attempts: 1_000,
        ..config.handoff
    };
    config
}

fn endpoint(auto_read: bool, number: u32) -> tcp::Config {
    tcp::Config {
        id: ConnectionId(number),
        profile: profile(),
        variant: Variant::named("reno").expect("a variant of the table"),
        iss: SeqNumber(number.wrapping_mul(0x1234_5678)),
        auto_read,
    }
}

/// What travels: a segment or a control message.
enum Item {
    ToRouter(usize, Packet),
    ToServer(Packet),
    ToHost(usize, Packet),
    Control(Address, Box<Outgoing<SplitState>>),
    Enter(usize, u64),
}

/// How late each copy of a control message is; none: it is lost.
pub type ControlFate = Box<dyn FnMut(Instant) -> Vec<Duration>>;
/// Whether a segment on the radio is lost.
pub type RadioLoss = Box<dyn FnMut(Instant) -> bool>;

pub struct Network {
    pub now: Instant,
    pub routers: Vec<Msr>,
    pub host: MobileHost,
    pub library: Library,
    /// The mobile host's sockets.
    pub sockets: BTreeMap<Flow, Connection>,
    /// The fixed host's sockets, by the mobile end.
    pub peers: BTreeMap<Endpoint, Connection>,
    pub events: Vec<Event>,
    /// Whether the fixed host takes connections to its port.
    pub refuses: bool,
    /// The cell in which the host is.
    pub cell: Option<usize>,
    moves: u64,
    /// The router to which the network sends packets for the host.
    route: usize,
    pub resets_to_server: u32,
    pub resets_to_host: u32,
    pub tunnelled: u32,
    pub control: ControlFate,
    pub radio: RadioLoss,
    queue: BTreeMap<(Instant, u64), Item>,
    inserted: u64,
}

impl Network {
    pub fn new(config: impl Fn(Address) -> Config) -> Self {
        let mut net = Network {
            now: Instant::ZERO,
            routers: ROUTERS.map(|address| Msr::new(config(address))).into(),
            host: MobileHost::new(HOST, Duration::from_millis(500)),
            library: Library::new(HOST, Duration::from_millis(500)),
            sockets: BTreeMap::new(),
            peers: BTreeMap::new(),
            events: Vec::new(),
            refuses: false,
            cell: None,
            moves: 0,
            route: 0,
            resets_to_server: 0,
            resets_to_host: 0,
            tunnelled: 0,
            control: Box::new(|_| vec![Duration::ZERO]),
            radio: Box::new(|_| false),
            queue: BTreeMap::new(),
            inserted: 0,
        };
        net.enter(0, Duration::ZERO);
        net.run_until(at(100));
        net
    }

    /// The host leaves its cell now and is in cell `index` after `gap`.
    pub fn enter(&mut self, index: usize, gap: Duration) {
        self.cell = None;
        // A later move overtakes an earlier one that is still between cells.
        self.moves += 1;
        self.push(self.now + gap, Item::Enter(index, self.moves));
    }

    /// Opens a connection to the server and gives the mobile host's socket.
    pub fn connect(&mut self, port: u16) -> CallId {
        let call = self.library.connect(port, SERVER, self.now);
        self.pump();
        call
    }

    /// The fixed host connects to the mobile host's `port`.
    pub fn server_connects(&mut self, port: u16) {
        let number = self.inserted as u32 + 50;
        let connection = Connection::connect(endpoint(true, number));
        self.peers.insert(Endpoint { address: HOST, port }, connection);
        self.pump();
    }

    pub fn opened(&self, call: CallId) -> Option<Flow> {
        self.events.iter().find_map(|event| match event {
            Event::Opened { call: opened, flow } if *opened == call => Some(*flow),
            _ => None,
        })
    }

    pub fn run_until(&mut self, end: Instant) {
        self.pump();
        while let Some(next) = self.next_time().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.handle_timeouts();
            self.pump();
            while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let item = entry.remove();
                self.handle_item(item);
                self.pump();
            }
        }
        self.now = self.now.max(end);
    }

    pub fn holdings(&self) -> Vec<Holding> {
        self.routers.iter().map(|router| router.handoff().holding(HOST)).collect()
    }

    fn push(&mut self, when: Instant, item: Item) {
        self.inserted += 1;
        self.queue.insert((when, self.inserted), item);
    }

    fn next_time(&self) -> Option<Instant> {
        let routers = self.routers.iter().filter_map(Msr::poll_timeout);
        let ends = self.sockets.values().chain(self.peers.values()).filter_map(Connection::poll_timeout);
        let timers = routers.chain(ends).chain(self.host.poll_timeout()).chain(self.library.poll_timeout());
        timers.map(|(at, _)| at).chain(self.queue.keys().next().map(|(at, _)| *at)).min()
    }

    fn handle_timeouts(&mut self) {
        let now = self.now;
        self.host.handle_timeout(now);
        self.library.handle_timeout(now);
        self.routers.iter_mut().for_each(|router| router.handle_timeout(now));
        let ends = self.sockets.values_mut().chain(self.peers.values_mut());
        ends.for_each(|connection| connection.handle_timeout(now, &mut NoHooks));
    }

    fn handle_item(&mut self, item: Item) {
        let now = self.now;
        match item {
            Item::Enter(_, number) if number < self.moves => {}
            Item::Enter(index, _) => {
                self.cell = Some(index);
                self.host.set_endpoints(self.library.endpoints());
                self.host.handle_beacon(ROUTERS[index], now);
            }
            Item::Control(from, outgoing) => self.handle_control(from, *outgoing),
            Item::ToRouter(index, packet) => {
                if self.routers[index].handle_packet(&packet, now) {
                    return;
                }
                if packet.dst.address == HOST {
                    self.push(now, Item::ToHost(index, packet));
                } else if packet.dst.address == ROUTERS[index] {
                    // The router itself has no such socket.
                    self.resets_to_host += 1;
                } else if let Some(to) = ROUTERS.iter().position(|router| *router == packet.dst.address) {
                    // Ordinary routing: the wireless end bears the address of another router.
                    self.push(now + Duration::from_millis(10), Item::ToRouter(to, packet));
                }
            }
            Item::ToHost(index, packet) if self.cell == Some(index) => self.receive_at_host(&packet),
            Item::ToHost(..) => {}
            Item::ToServer(packet) => self.receive_at_server(&packet),
        }
    }

    fn handle_control(&mut self, from: Address, outgoing: Outgoing<SplitState>) {
        let Outgoing { to, message } = outgoing;
        let router = |address| ROUTERS.iter().position(|router| *router == address);
        match (router(from), router(to)) {
            (_, Some(index)) if from != HOST || self.cell == Some(index) => {
                self.routers[index].handle_message(from, message, self.now);
            }
            (Some(index), None) if self.cell == Some(index) => {
                self.host.handle_message(from, &message, self.now);
                self.library.handle_message(&message, self.now);
                if self.host.state() == MobileState::InCell(from) {
                    self.route = index;
                    self.library.handle_router(from, self.now);
                }
            }
            _ => {}
        }
    }

    fn receive_at_host(&mut self, packet: &Packet) {
        let meant = |flow: &&Flow| flow.mobile == packet.dst && flow.wireless == packet.src;
        let flow = self.sockets.keys().find(meant).copied();
        match flow.and_then(|flow| self.sockets.get_mut(&flow)) {
            Some(connection) => connection.handle_segment(&packet.segment, self.now, &mut NoHooks),
            None if !packet.segment.flags.contains(Flags::RST) => {
                // A host without such a socket resets.
                let reset = Segment { seq: packet.segment.ack, flags: Flags::RST, ..Segment::default() };
                self.receive_at_server(&Packet { src: packet.dst, dst: packet.src, segment: reset });
            }
            None => {}
        }
        self.resets_to_host += u32::from(packet.segment.flags.contains(Flags::RST));
    }

    fn receive_at_server(&mut self, packet: &Packet) {
        self.resets_to_server += u32::from(packet.segment.flags.contains(Flags::RST));
        if self.refuses {
            let reset = Segment {
                ack: packet.segment.seq.add(packet.segment.sequence_length()),
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            };
            let answer = Packet { src: packet.dst, dst: packet.src, segment: reset };
            self.push(self.now + Duration::from_millis(20), Item::ToRouter(self.route, answer));
            return;
        }
        let number = self.inserted as u32;
        let listen = || Connection::listen(endpoint(true, number));
        let connection = match packet.segment.flags == Flags::SYN {
            true => self.peers.entry(packet.src).or_insert_with(listen),
            false => match self.peers.get_mut(&packet.src) {
                Some(connection) => connection,
                None => return,
            },
        };
        connection.handle_segment(&packet.segment, self.now, &mut NoHooks);
    }

    /// Carries away all that anybody has to say.
    fn pump(&mut self) {
        let now = self.now;
        while let Some(event) = self.library.poll_event() {
            if let Event::Opened { flow, .. } = event {
                let connection = Connection::connect(endpoint(true, self.inserted as u32 + 7));
                self.sockets.insert(flow, connection);
            }
            self.events.push(event);
        }
        while let Some(outgoing) = self.host.poll_message().or_else(|| self.library.poll_message()) {
            self.send_control(HOST, &outgoing);
        }
        for (index, address) in ROUTERS.into_iter().enumerate() {
            while let Some(outgoing) = self.routers[index].poll_message() {
                self.send_control(address, &outgoing);
            }
            while let Some((way, packet)) = self.routers[index].poll_packet() {
                self.send_packet(index, way, packet);
            }
        }
        let mut sent = Vec::new();
        for (flow, connection) in &mut self.sockets {
            while let Some(segment) = connection.poll_transmit(now, &mut NoHooks) {
                sent.push(Packet { src: flow.mobile, dst: flow.wireless, segment });
            }
        }
        for packet in sent {
            if let Some(cell) = self.cell.filter(|_| !(self.radio)(now)) {
                self.push(now + Duration::from_millis(5), Item::ToRouter(cell, packet));
            }
        }
        let mut sent = Vec::new();
        for (mobile, connection) in &mut self.peers {
            while let Some(segment) = connection.poll_transmit(now, &mut NoHooks) {
                sent.push(Packet { src: SERVER, dst: *mobile, segment });
            }
        }
        for packet in sent {
            self.push(now + Duration::from_millis(20), Item::ToRouter(self.route, packet));
        }
        self.check();
    }

    fn send_packet(&mut self, index: usize, way: Way, packet: Packet) {
        let now = self.now;
        match way {
            Way::Fixed => self.push(now + Duration::from_millis(20), Item::ToServer(packet)),
            Way::Radio if (self.radio)(now) => {}
            Way::Radio => self.push(now + Duration::from_millis(5), Item::ToHost(index, packet)),
            Way::Tunnel(to) => {
                let to = ROUTERS.iter().position(|router| *router == to).expect("a router");
                assert_ne!(to, index, "a tunnel to oneself");
                self.tunnelled += 1;
                self.push(now + Duration::from_millis(10), Item::ToRouter(to, packet));
            }
        }
    }

    fn send_control(&mut self, from: Address, outgoing: &Outgoing<SplitState>) {
        for late in (self.control)(self.now) {
            let arrival = self.now + Duration::from_millis(10) + late;
            self.push(arrival, Item::Control(from, Box::new(outgoing.clone())));
        }
    }

    /// What must hold at every instant: one running copy of each connection, and no byte lost or doubled inside.
    fn check(&self) {
        let mut running: BTreeMap<Flow, usize> = BTreeMap::new();
        for router in &self.routers {
            for flow in router.flows() {
                let (fixed, wireless, held) = router.split(flow).expect("it is listed");
                assert_eq!(fixed.is_exported(), wireless.is_exported());
                *running.entry(flow).or_default() += usize::from(!fixed.is_exported());
                if fixed.end_reason().is_some() || wireless.end_reason().is_some() {
                    continue;
                }
                for (from, to, held) in [(fixed, wireless, held[0]), (wireless, fixed, held[1])] {
                    let written = to.sender().stream_end - 1;
                    let taken = from.receiver().delivered() - from.receiver().unread();
                    assert_eq!(taken, held + written, "at {}: {flow:?}", self.now);
                    assert!(from.receiver().unread() <= 16_384 && held <= 4_096);
                }
            }
        }
        assert!(running.values().all(|copies| *copies <= 1), "two copies run at {}", self.now);
    }

    /// The state of the mobile host's socket.
    pub fn socket_state(&self, flow: Flow) -> Option<State> {
        self.sockets.get(&flow).map(Connection::state)
    }
}
