//! Hosts that roam through small cities, whatever their agents are told to do: nothing is lost count of, nothing goes
//! round in circles, and whoever stands within reach of an agent is found.
//!
//! The cities are drawn: two to four agents in a street, one to five hosts that walk, drive or stand, losses of frames,
//! and all settings of Mobile IP. A failure prints the scenario as TOML.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::fmt::Write;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::FileFailurePersistence;
use segue_proto::schemes;
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;
use segue_sim::Scenario;
use segue_sim::results::{CsvTrace, Observer, Place, Results};

/// Reach of every radio in metres.
const RANGE_M: f64 = 100.0;
const DURATION_S: u64 = 60;
/// Whoever has stood within reach for so long has been registered: advertisements, requests and replies are lost one
/// time in five at most.
const LONG_ENOUGH_S: u64 = 20;

proptest! {
    #![proptest_config(config(120))]
    #[test]
    fn what_is_acknowledged_was_delivered_and_what_was_delivered_was_sent(city in any_city()) {
        let (scenario, results, watcher) = city.run();
        prop_assert_eq!(watcher.complaint, None);
        for (i, flow) in results.flows.iter().enumerate() {
            prop_assert!(flow.acknowledged <= flow.delivered, "{flow:?}");
            prop_assert!(flow.delivered <= watcher.sent[2 * i], "{flow:?}, sent {}", watcher.sent[2 * i]);
            prop_assert!(scenario.flows[i].bytes.is_none_or(|bytes| flow.delivered <= bytes), "{flow:?}");
        }
        let tunnelled: u64 = results.mobility.iter().map(|(_, counts)| counts.tunnelled).sum();
        let messages: u64 = results.mobility.iter().map(|(_, counts)| counts.messages).sum();
        let packets = watcher.packets + messages;
        // By the home agent or the correspondent, and on from each agent that the host has left.
        prop_assert!(tunnelled <= packets * (1 + city.agents as u64), "{tunnelled} tunnels for {packets} packets");
    }

    #[test]
    fn a_host_that_stands_is_registered_within_reach_and_cut_off_beyond(city in any_city()) {
        let (scenario, results, watcher) = city.run();
        if results.ended < Instant::ZERO + Duration::from_secs(DURATION_S) {
            return Ok(());
        }
        for (h, host) in city.hosts.iter().enumerate() {
            let Some((since, x)) = host.stands_at(city.spacing_m) else { continue };
            let node = scenario.nodes.iter().position(|node| node.name == format!("host{h}")).unwrap();
            if since + LONG_ENOUGH_S > DURATION_S {
                continue;
            }
            let nearest = city.places().map(|place| (place - x).abs()).fold(f64::INFINITY, f64::min);
            let cut_off_since = watcher.cut_off_since[node];
            if nearest < 0.9 * RANGE_M {
                let latest = Instant::ZERO + Duration::from_secs(since.max(DURATION_S - LONG_ENOUGH_S));
                prop_assert!(cut_off_since.is_none_or(|at| at > latest), "host{h}: {cut_off_since:?}");
            } else if nearest > 1.1 * RANGE_M {
                prop_assert!(cut_off_since.is_some(), "host{h} is registered {nearest} m away from every agent");
            }
        }
    }
}

proptest! {
    #![proptest_config(config(24))]
    #[test]
    fn the_same_seed_gives_the_same_trace(city in any_city()) {
        let trace = || {
            let scenario = city.scenario();
            let mut csv = CsvTrace::new(&scenario, Vec::new());
            segue_sim::run_observed(&scenario, city.seed, &mut csv);
            csv.finish().unwrap()
        };
        prop_assert!(trace() == trace());
    }
}

fn config(cases: u32) -> ProptestConfig {
    let failure_persistence =
        Some(Box::new(FileFailurePersistence::Direct("tests/cities.proptest-regressions")) as _);
    ProptestConfig { cases, failure_persistence, max_shrink_iters: 500, ..ProptestConfig::default() }
}

/// What is drawn.
#[derive(Clone)]
struct City {
    seed: u64,
    agents: usize,
    /// From agent to agent.
    spacing_m: f64,
    /// The first agent is also the home agent, or a router without a radio is.
    home_has_radio: bool,
    associates: bool,
    frame_error: f64,
    mobile_ip: Vec<String>,
    scheme: &'static str,
    wires: &'static str,
    hosts: Vec<Host>,
}

#[derive(Clone, Debug)]
struct Host {
    movement: Movement,
    downloads: bool,
    bytes: Option<u32>,
    start_ms: u64,
}

#[derive(Clone, Debug)]
enum Movement {
    /// Times in seconds, ascending, and places along the street in agent spacings.
    Waypoints(Vec<(u64, f64)>),
    /// Along the street, to and fro, or round and round.
    Route { places: Vec<f64>, speed: u64, repeat: &'static str },
    /// Anywhere along the street.
    Random { speed: u64 },
}

fn any_city() -> impl Strategy<Value = City> {
    let world = (any::<u16>(), 2..=4_usize, 60..=220_u64, any::<bool>(), any::<bool>(), 0..=20_u64);
    let schemes: Vec<&'static str> = schemes::ALL.iter().map(|spec| spec.name).collect();
    let rest =
        (select(schemes), select(vec!["200 kb/s", "1 Mb/s"]), prop::collection::vec(any_host(), 1..=5));
    (world, any_mobile_ip(), rest).prop_map(|(world, mobile_ip, (scheme, wires, hosts))| {
        let (seed, agents, spacing, home_has_radio, associates, error) = world;
        City {
            seed: seed.into(),
            agents,
            spacing_m: spacing as f64,
            home_has_radio,
            associates,
            frame_error: error as f64 / 100.0,
            mobile_ip,
            scheme,
            wires,
            hosts,
        }
    })
}

fn any_host() -> impl Strategy<Value = Host> {
    let place = || (-10..=40_i32).prop_map(|tenths| f64::from(tenths) / 10.0);
    let waypoints = prop::collection::vec((1..=15_u64, place()), 1..=4).prop_map(|legs| {
        let mut at = 0;
        let points = legs.into_iter().map(|(seconds, place)| {
            at += seconds;
            (at - 1, place)
        });
        Movement::Waypoints(points.collect())
    });
    let route = (prop::collection::vec(place(), 2..=4), 1..=40_u64, select(vec!["loop", "shuttle"]))
        .prop_map(|(places, speed, repeat)| Movement::Route { places, speed, repeat });
    let random = (1..=40_u64).prop_map(|speed| Movement::Random { speed });
    let movement = prop_oneof![3 => waypoints, 1 => route, 1 => random];
    let bytes = prop::option::weighted(0.6, 1..=300_000_u32);
    (movement, any::<bool>(), bytes, 0..=20_000_u64).prop_map(|(movement, downloads, bytes, start_ms)| Host {
        movement,
        downloads,
        bytes,
        start_ms,
    })
}

/// Lines of `[mobile_ip]`, each there or not. Not the phase: advertisements sent at the same moment collide for ever.
fn any_mobile_ip() -> impl Strategy<Value = Vec<String>> {
    fn word(key: &'static str, words: &[&'static str]) -> BoxedStrategy<Option<String>> {
        let words = select(words.to_vec());
        prop::option::of(words.prop_map(move |word| format!("{key} = \"{word}\""))).boxed()
    }
    fn time(
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
        unit: &'static str,
    ) -> BoxedStrategy<Option<String>> {
        prop::option::of(range.prop_map(move |value| format!("{key} = \"{value} {unit}\""))).boxed()
    }
    let lines = vec![
        word("profile", &["ns-2", "rfc-5944"]),
        word("detection", &["eager", "lazy"]),
        word("registration_delay_model", &["constant", "uniform", "exponential"]),
        word("while_asking", &["keep-using", "via-home-agent"]),
        word("warn", &["nobody", "correspondent", "home-agent"]),
        time("advertisement_interval", 100..=1_500, "ms"),
        time("advertisement_lifetime", 2..=6, "s"),
        time("agent_timeout", 1_600..=5_000, "ms"),
        time("registration_lifetime", 3..=30, "s"),
        time("registration_retry", 300..=2_000, "ms"),
        time("registration_delay", 0..=400, "ms"),
        time("smooth_handoff", 1..=20, "s"),
        time("buffer_patience", 100..=5_000, "ms"),
        prop::option::of((0..=20_u32).prop_map(|packets| format!("buffer = {packets}"))).boxed(),
        prop::option::of(any::<bool>().prop_map(|on| format!("route_optimisation = {on}"))).boxed(),
    ];
    lines.prop_map(|lines| sensible(lines.into_iter().flatten().collect()))
}

/// Without the keys that do nothing beside the others: they are refused.
fn sensible(mut lines: Vec<String>) -> Vec<String> {
    let optimises = lines.iter().any(|line| line == "route_optimisation = true");
    let buffers = lines.iter().any(|line| line.starts_with("buffer = ") && line != "buffer = 0");
    lines.retain(|line| {
        let of_optimisation = line.starts_with("while_asking") || line.starts_with("warn");
        (optimises || !of_optimisation) && (buffers || !line.starts_with("buffer_patience"))
    });
    lines
}

impl Host {
    /// Since which second it stands, and where, in metres.
    fn stands_at(&self, spacing_m: f64) -> Option<(u64, f64)> {
        match &self.movement {
            Movement::Waypoints(points) => points.last().map(|(at, place)| (*at, place * spacing_m)),
            Movement::Route { .. } | Movement::Random { .. } => None,
        }
    }
}

impl City {
    /// Where the agents stand, in metres along the street.
    fn places(&self) -> impl Iterator<Item = f64> {
        let spacing = self.spacing_m;
        (0..self.agents).map(move |agent| agent as f64 * spacing)
    }

    fn scenario(&self) -> Scenario {
        let text = self.toml();
        Scenario::from_toml("city", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn run(&self) -> (Scenario, Results, Watcher) {
        let scenario = self.scenario();
        let ends = 2 * scenario.flows.len();
        let mut watcher = Watcher {
            sent: vec![0; ends],
            // Hosts begin at home if it is a place that they can be at.
            cut_off_since: vec![(!self.home_has_radio).then_some(Instant::ZERO); scenario.nodes.len()],
            ..Watcher::default()
        };
        let results = segue_sim::run_observed(&scenario, self.seed, &mut watcher);
        (scenario, results, watcher)
    }

    fn toml(&self) -> String {
        let mut text = String::new();
        let agents: Vec<String> = (0..self.agents).map(|agent| format!("\"agent{agent}\"")).collect();
        let hosts: Vec<String> = (0..self.hosts.len()).map(|host| format!("\"host{host}\"")).collect();
        let home = if self.home_has_radio { "agent0" } else { "home" };
        writeln!(text, "duration = \"{DURATION_S} s\"\n[scheme]\nname = \"{}\"", self.scheme).unwrap();
        writeln!(text, "[routers.core]\n[routers.home]\n[hosts.server]").unwrap();
        for (agent, place) in self.places().enumerate() {
            writeln!(text, "[routers.agent{agent}]\nposition = [{place}, 0]").unwrap();
        }
        for (h, host) in self.hosts.iter().enumerate() {
            let mobility = host.movement.toml(self.spacing_m, self.agents);
            writeln!(text, "[hosts.host{h}]\nmobile = true\nhome_agent = \"{home}\"\n{mobility}").unwrap();
        }
        let (agents, hosts) = (agents.join(", "), hosts.join(", "));
        writeln!(text, "[[cells]]\nrate = \"11 Mb/s\"\nrts_threshold = \"off\"\nrange_m = {RANGE_M}")
            .unwrap();
        writeln!(text, "access_points = [{agents}]\nmembers = [{hosts}]").unwrap();
        writeln!(text, "frame_error = {}", self.frame_error).unwrap();
        if !self.associates {
            writeln!(text, "beacon_interval = \"off\"").unwrap();
        }
        writeln!(text, "[mobile_ip]\nforeign_agents = [{agents}]\n{}", self.mobile_ip.join("\n")).unwrap();
        let ends = (0..self.agents).map(|agent| format!("agent{agent}"));
        for end in ends.chain(["home".to_owned(), "server".to_owned()]) {
            writeln!(
                text,
                "[[links]]\nbetween = [\"{end}\", \"core\"]\nrate = \"{}\"\ndelay = \"5 ms\"",
                self.wires
            )
            .unwrap();
        }
        for (h, host) in self.hosts.iter().enumerate() {
            let host_name = format!("host{h}");
            let [from, to] = if host.downloads { ["server", &host_name] } else { [&host_name, "server"] };
            writeln!(text, "[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{} ms\"", host.start_ms)
                .unwrap();
            if let Some(bytes) = host.bytes {
                writeln!(text, "bytes = \"{bytes} B\"").unwrap();
            }
        }
        text
    }
}

impl std::fmt::Debug for City {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seed {}\n{}", self.seed, self.toml())
    }
}

impl Movement {
    fn toml(&self, spacing_m: f64, agents: usize) -> String {
        match self {
            Movement::Waypoints(points) => {
                let point = |(at, place): &(u64, f64)| format!("[\"{at} s\", {}, 3]", place * spacing_m);
                let points: Vec<String> = points.iter().map(point).collect();
                format!("mobility = {{ model = \"waypoints\", points = [{}] }}", points.join(", "))
            }
            Movement::Route { places, speed, repeat } => {
                let place = |(i, place): (usize, &f64)| format!("[{}, {i}]", place * spacing_m);
                let places: Vec<String> = places.iter().enumerate().map(place).collect();
                let places = places.join(", ");
                format!(
                    "mobility = {{ model = \"route\", places = [{places}], speed = {speed}, repeat = \"{repeat}\" }}"
                )
            }
            Movement::Random { speed } => {
                let east = agents as f64 * spacing_m;
                format!(
                    "mobility = {{ model = \"random-waypoint\", area = [-50, -20, {east}, 20], speed = [{speed}, {speed}] }}"
                )
            }
        }
    }
}

/// Follows every event.
#[derive(Default)]
struct Watcher {
    /// Data, SYN, FIN and ACK segments.
    packets: u64,
    /// Highest position sent by each end.
    sent: Vec<u64>,
    /// By node.
    cut_off_since: Vec<Option<Instant>>,
    last: Instant,
    complaint: Option<String>,
}

impl Watcher {
    fn observe_end(&mut self, end: usize, event: &Event) {
        match *event {
            Event::SegmentSent { start, len, .. } => {
                self.packets += 1;
                self.sent[end] = self.sent[end].max(start + u64::from(len));
            }
            Event::AckSent { .. } | Event::WindowProbed => self.packets += 1,
            Event::DataReceived { start, len, .. } if start + u64::from(len) > self.sent[end ^ 1] => {
                self.complaint = Some(format!("end {end} got what was never sent: {event:?}"));
            }
            _ => {}
        }
    }
}

impl Observer for Watcher {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if at < self.last {
            self.complaint = Some(format!("time went back to {at}"));
        }
        self.last = at;
        match (place, event) {
            (Place::End(end), event) => self.observe_end(end, event),
            (Place::Node(node), Event::OutageBegan) => self.cut_off_since[node] = Some(at),
            (Place::Node(node), Event::OutageEnded) => self.cut_off_since[node] = None,
            _ => {}
        }
    }
}
