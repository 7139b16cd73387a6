//! The handoff by itself: one token stands for all connections of the host.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, proptest};
use segue_proto::mobile_ip::Address;
use segue_proto::rng::{Stream, Streams};
use segue_proto::split::handoff::{
    Action, Config, Disposition, Handoff, Holding, MobileHost, MobileState, Taking,
};
use segue_proto::split::{Endpoint, Endpoints, Flow, Message, Outgoing};
use segue_proto::time::{Duration, Instant};

const HOST: Address = Address::new(10, 0, 0, 9);
const FIXED: Address = Address::new(10, 9, 0, 1);
const ROUTERS: [Address; 3] =
    [Address::new(10, 1, 0, 1), Address::new(10, 2, 0, 1), Address::new(10, 3, 0, 1)];

const FLOW: Flow = Flow {
    mobile: Endpoint { address: HOST, port: 5_000 },
    fixed: Endpoint { address: FIXED, port: 80 },
    wireless: Endpoint { address: ROUTERS[0], port: 40_000 },
};

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A router with its sockets: the token says how far the connection has come.
struct Router {
    handoff: Handoff<u64>,
    token: Option<u64>,
    frozen: bool,
    resets: u32,
    redirected: Vec<Address>,
}

type Fate = Box<dyn FnMut(Instant, &Message<u64>) -> Vec<Duration>>;

struct Network {
    now: Instant,
    host: MobileHost,
    routers: BTreeMap<Address, Router>,
    /// The highest value that the running token has had.
    progress: u64,
    wire: BTreeMap<(Instant, u64), (Address, Outgoing<u64>)>,
    sent: u64,
    names: Vec<(Address, Address, &'static str)>,
    /// Says for each message how late each of its copies is; none: it is lost.
    fate: Fate,
}

impl Network {
    fn new(config: impl Fn(Address) -> Config) -> Self {
        let router = |address| Router {
            handoff: Handoff::new(config(address)),
            token: None,
            frozen: false,
            resets: 0,
            redirected: Vec::new(),
        };
        let mut net = Network {
            now: Instant::ZERO,
            host: MobileHost::new(HOST, Duration::from_millis(500)),
            routers: ROUTERS.map(|address| (address, router(address))).into(),
            progress: 0,
            wire: BTreeMap::new(),
            sent: 0,
            names: Vec::new(),
            fate: Box::new(|_, _| vec![Duration::ZERO]),
        };
        net.host.handle_beacon(ROUTERS[0], net.now);
        net.host.set_endpoints(Endpoints { flows: vec![FLOW], listeners: Vec::new() });
        net.run_until(at(100));
        assert_eq!(net.router(0).handoff.holding(HOST), Holding::Active);
        net.routers.get_mut(&ROUTERS[0]).expect("a router").token = Some(0);
        net
    }

    fn router(&self, index: usize) -> &Router {
        &self.routers[&ROUTERS[index]]
    }

    fn move_to(&mut self, index: usize, millis: u64) {
        self.run_until(at(millis));
        self.host.handle_beacon(ROUTERS[index], self.now);
        self.run_until(at(millis));
    }

    fn run_until(&mut self, end: Instant) {
        self.pump();
        while let Some(next) = self.next_time().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            let now = self.now;
            self.host.handle_timeout(now);
            self.routers.values_mut().for_each(|router| router.handoff.handle_timeout(now));
            self.pump();
            while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
                let (from, Outgoing { to, message }) = entry.remove();
                match self.routers.get_mut(&to) {
                    Some(router) => router.handoff.handle_message(from, message, now),
                    None => self.host.handle_message(from, &message, now),
                }
                self.pump();
            }
        }
        self.now = self.now.max(end);
    }

    fn next_time(&self) -> Option<Instant> {
        let routers = self.routers.values().filter_map(|router| router.handoff.poll_timeout());
        let timers = routers.chain(self.host.poll_timeout()).map(|(at, _)| at);
        timers.chain(self.wire.keys().next().map(|(at, _)| *at)).min()
    }

    fn pump(&mut self) {
        while let Some(outgoing) = self.host.poll_message() {
            self.put_on_wire(HOST, &outgoing);
        }
        for address in ROUTERS {
            self.carry_out(address);
            while let Some(outgoing) =
                self.routers.get_mut(&address).expect("a router").handoff.poll_message()
            {
                self.put_on_wire(address, &outgoing);
            }
        }
        self.advance();
    }

    fn carry_out(&mut self, address: Address) {
        let now = self.now;
        let router = self.routers.get_mut(&address).expect("a router");
        while let Some(action) = router.handoff.poll_action() {
            match action {
                Action::Prepare { mobile, .. } => router.handoff.handle_prepared(mobile, now),
                Action::Freeze { mobile } => {
                    router.frozen = true;
                    let entries = router.token.map(|token| (FLOW, token)).into_iter().collect();
                    router.handoff.handle_frozen(mobile, entries, now);
                }
                Action::Thaw { .. } => {
                    assert!(std::mem::take(&mut router.frozen), "only what is frozen thaws");
                }
                Action::Import { mobile, entries } => {
                    assert_eq!(router.token, None, "an old copy is deleted before a new one comes");
                    router.token = entries.first().map(|(_, token)| *token);
                    router.handoff.handle_imported(mobile, now);
                }
                Action::Delete { .. } => {
                    assert!(std::mem::take(&mut router.frozen), "only what is frozen is deleted");
                    router.token = None;
                }
                Action::Abandon { .. } => router.resets += 1,
                Action::Redirect { to, .. } => router.redirected.push(to),
            }
        }
    }

    /// The running copy makes progress; there is at most one, and it is the newest.
    fn advance(&mut self) {
        let running = self.routers.values_mut().filter(|router| !router.frozen);
        let mut tokens: Vec<&mut u64> = running.filter_map(|router| router.token.as_mut()).collect();
        assert!(tokens.len() <= 1, "two copies run at {}", self.now);
        if let Some(token) = tokens.first_mut() {
            assert_eq!(**token, self.progress, "a stale copy runs at {}", self.now);
            **token += 1;
            self.progress += 1;
        }
    }

    fn put_on_wire(&mut self, from: Address, outgoing: &Outgoing<u64>) {
        self.names.push((from, outgoing.to, outgoing.message.name()));
        for late in (self.fate)(self.now, &outgoing.message) {
            self.sent += 1;
            let arrival = self.now + Duration::from_millis(10) + late;
            self.wire.insert((arrival, self.sent), (from, outgoing.clone()));
        }
    }

    fn lose(&mut self, lose: impl Fn(Instant, &str) -> bool + 'static) {
        self.fate = Box::new(
            move |now, message| {
                if lose(now, message.name()) { Vec::new() } else { vec![Duration::ZERO] }
            },
        );
    }

    /// Where a segment that comes in at router `index` ends up.
    fn end_of_tunnels(&self, index: usize) -> (Address, Disposition) {
        let mut address = ROUTERS[index];
        for _ in 0..10 {
            match self.routers[&address].handoff.disposition(HOST) {
                Disposition::Tunnel(to) => address = to,
                other => return (address, other),
            }
        }
        panic!("tunnels in a circle");
    }

    fn holdings(&self) -> [Holding; 3] {
        [0, 1, 2].map(|index| self.router(index).handoff.holding(HOST))
    }
}

#[test]
fn the_ten_steps_are_those_of_the_paper() {
    let mut net = Network::new(Config::new);
    net.names.clear();
    net.move_to(1, 1_000);
    net.run_until(at(2_000));
    let [a, b, _] = ROUTERS;
    let expected = [
        (HOST, b, "greeting"),
        (b, HOST, "greeting-ack"),
        (b, a, "forwarding-pointer"),
        (a, b, "forwarding-ack"),
        (a, b, "handoff-request"),
        (b, a, "handoff-ready"),
        (a, b, "connection-state"),
        (b, a, "handoff-complete"),
    ];
    assert_eq!(net.names, expected);
    assert_eq!(net.holdings(), [Holding::Gone, Holding::Active, Holding::Nothing]);
    assert_eq!(net.host.state(), MobileState::InCell(b));
    assert_eq!(net.end_of_tunnels(0), (b, Disposition::Process));
}

#[test]
fn segments_are_tunnelled_at_the_old_router_and_kept_at_the_new_one_until_the_state_is_there() {
    let mut net = Network::new(Config::new);
    net.lose(|now, name| name == "connection-state" && now < at(3_000));
    net.move_to(1, 1_000);
    net.run_until(at(2_000));
    assert_eq!(net.holdings(), [Holding::Transfer, Holding::Nothing, Holding::Nothing]);
    assert_eq!(net.router(1).handoff.taking(HOST), Taking::WaitState);
    assert_eq!(net.end_of_tunnels(0), (ROUTERS[1], Disposition::Keep));
    assert_eq!(net.end_of_tunnels(2).1, Disposition::NotHere);
    net.run_until(at(4_000));
    assert_eq!(net.end_of_tunnels(0), (ROUTERS[1], Disposition::Process));
}

#[test]
fn a_host_that_comes_back_before_the_state_was_sent_finds_its_connections_where_they_were() {
    let mut net = Network::new(Config::new);
    net.lose(|now, name| name == "handoff-ready" && now < at(3_000));
    net.move_to(1, 1_000);
    net.run_until(at(1_900));
    assert_eq!(net.holdings(), [Holding::Frozen, Holding::Nothing, Holding::Nothing]);
    net.move_to(0, 2_000);
    net.run_until(at(2_020));
    assert_eq!(net.holdings(), [Holding::Active, Holding::Nothing, Holding::Nothing]);
    net.run_until(at(40_000));
    assert_eq!(net.holdings()[0], Holding::Active);
    assert_eq!(net.router(1).handoff.taking(HOST), Taking::Nothing);
    assert_eq!(net.end_of_tunnels(1), (ROUTERS[0], Disposition::Process));
    assert_eq!(net.router(1).resets, 0, "a host that went home is not reset");
}

#[test]
fn a_host_that_comes_back_after_the_state_was_sent_gets_it_back_by_a_second_handoff() {
    let mut net = Network::new(Config::new);
    net.lose(|now, name| name == "handoff-complete" && now < at(3_000));
    net.move_to(1, 1_000);
    net.run_until(at(1_900));
    assert_eq!(net.holdings(), [Holding::Transfer, Holding::Active, Holding::Nothing]);
    net.move_to(0, 2_000);
    net.run_until(at(6_000));
    assert_eq!(net.holdings(), [Holding::Active, Holding::Gone, Holding::Nothing]);
}

#[test]
fn a_router_that_still_waits_passes_the_connections_on_when_they_arrive() {
    let mut net = Network::new(Config::new);
    net.lose(|now, name| name == "connection-state" && now < at(3_000));
    net.move_to(1, 1_000);
    net.move_to(2, 2_000);
    net.run_until(at(2_500));
    assert_eq!(net.router(1).redirected, [ROUTERS[2]], "what was kept goes on to the third router");
    assert_eq!(net.end_of_tunnels(0), (ROUTERS[2], Disposition::Keep));
    net.run_until(at(6_000));
    assert_eq!(net.holdings(), [Holding::Gone, Holding::Gone, Holding::Active]);
}

#[test]
fn a_router_that_never_heard_the_greeting_is_skipped() {
    let mut net = Network::new(Config::new);
    net.lose(|now, name| name == "greeting" && now < at(1_500));
    net.move_to(1, 1_000);
    net.move_to(2, 1_490);
    net.run_until(at(4_000));
    assert_eq!(net.holdings(), [Holding::Gone, Holding::Nothing, Holding::Active]);
}

#[test]
fn a_router_that_gets_no_state_gives_up_and_the_old_one_deletes_its_copy() {
    let mut net = Network::new(Config::new);
    net.lose(|now, name| name == "connection-state" && now < at(40_000));
    // Only requests tell that the old router lives; they are not repeated once it is in TRANSFER.
    net.move_to(1, 1_000);
    net.run_until(at(39_000));
    assert_eq!(net.router(1).resets, 1, "the mobile host is told once");
    assert_eq!(net.holdings(), [Holding::Transfer, Holding::Active, Holding::Nothing]);
    net.run_until(at(42_000));
    assert_eq!(net.holdings(), [Holding::Gone, Holding::Active, Holding::Nothing]);
    assert_eq!((net.router(0).token, net.router(1).token), (None, None));
}

#[test]
fn a_crashed_router_costs_the_connections_and_nothing_else() {
    let mut net = Network::new(Config::new);
    let crashed = Router {
        handoff: Handoff::new(Config::new(ROUTERS[0])),
        token: None,
        frozen: false,
        resets: 0,
        redirected: Vec::new(),
    };
    net.routers.insert(ROUTERS[0], crashed);
    net.move_to(1, 1_000);
    net.run_until(at(40_000));
    assert_eq!(net.holdings(), [Holding::Nothing, Holding::Active, Holding::Nothing]);
    assert_eq!(net.router(1).resets, 1);
}

/// A random journey over a bad network.
#[derive(Clone, Debug)]
struct Story {
    /// Pause in milliseconds, router.
    moves: Vec<(u64, usize)>,
    loss: f64,
    repeat: f64,
    late: u64,
    seed: u64,
}

fn story() -> impl Strategy<Value = Story> {
    let moves = vec((0u64..1_500, 0usize..3), 0..30);
    (moves, 0.0..0.6, 0.0..0.5, 0u64..1_500, any::<u64>())
        .prop_map(|(moves, loss, repeat, late, seed)| Story { moves, loss, repeat, late, seed })
}

impl Story {
    fn run(&self) -> Network {
        // More patient than any journey is long: giving up costs connections.
        let patient = |address| Config {
            pointer_attempts: 200,
            state_timeout: Duration::from_secs(1),
            state_attempts: 100,
            handoff_attempts: 1_000,
            ..Config::new(address)
        };
        let mut net = Network::new(patient);
        let mut stream = Streams::new(self.seed).stream("control");
        let end: u64 = 100 + self.moves.iter().map(|(pause, _)| pause).sum::<u64>();
        let story = self.clone();
        net.fate =
            Box::new(
                move |now, _| {
                    if now > at(end + 2_000) { vec![Duration::ZERO] } else { story.copies(&mut stream) }
                },
            );
        let mut now = 100;
        for (pause, index) in &self.moves {
            now += pause;
            net.move_to(*index, now);
        }
        net.run_until(at(now + 300_000));
        net
    }

    fn copies(&self, stream: &mut Stream) -> Vec<Duration> {
        let mut copies = Vec::new();
        while copies.len() < 4 {
            if !stream.chance(self.loss) {
                copies.push(Duration::from_millis(stream.below(self.late + 1)));
            }
            if !stream.chance(self.repeat) {
                break;
            }
        }
        copies
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    // The network itself asserts at every step that at most one copy runs and that it is the newest.
    #[test]
    fn after_any_journey_one_copy_runs_where_the_host_is(story in story()) {
        let net = story.run();
        let last = story.moves.last().map_or(0, |(_, index)| *index);
        prop_assert_eq!(net.host.state(), MobileState::InCell(ROUTERS[last]));
        for (index, address) in ROUTERS.iter().enumerate() {
            let router = net.router(index);
            prop_assert_eq!(router.token.is_some(), index == last, "{}", address);
            prop_assert_eq!(router.handoff.holding(HOST) == Holding::Active, index == last);
            prop_assert_eq!(router.handoff.taking(HOST), Taking::Nothing);
            prop_assert_eq!((router.resets, router.frozen), (0, false));
            if router.handoff.disposition(HOST) != Disposition::NotHere {
                prop_assert_eq!(net.end_of_tunnels(index), (ROUTERS[last], Disposition::Process));
            }
        }
    }
}
