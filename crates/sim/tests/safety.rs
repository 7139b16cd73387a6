//! Whatever happens to a network, every transfer ends, exactly or with a reason, and no packet is lost count of.
//!
//! The scenarios are drawn: trees, rings and grids of routers, hosts with one or two links, losses, queues, outages of
//! all kinds, every scheme with every parameter, every profile and variant. A failure prints the scenario as TOML.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use segue_proto::params::{Kind, Param};
use segue_proto::queue;
use segue_proto::schemes::{self, BuildHost, Spec};
use segue_proto::signal::SignalKind;
use segue_proto::tcp::{EndReason, Stats, profile, variant};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::{DropCause, Event};
use segue_sim::Scenario;
use segue_sim::link::LinkCounts;
use segue_sim::results::{CsvTrace, Observer, Place};
use segue_sim::scenario::{Node, NodeKind, load_text};

/// Far longer than any flow can take: a run that gets there hangs.
const DURATION: &str = "1_000_000 s";
/// Leaves room for a flow that begins when all the others have ended.
const LONGER: &str = "10_000_000 s";

/// Schemes whose stations acknowledge for the peer. If one gives up and its reset is lost, an end that has had all
/// acknowledgements waits for nothing, for ever; and data goes on arriving when the sender is done.
const ACKNOWLEDGES_EARLY: &[&str] = &["i-tcp"];

proptest! {
    #![proptest_config(config(4_000))]
    #[test]
    fn every_flow_ends_exactly_or_with_a_reason(case in any_case()) {
        let (scenario, mut watcher) = (case.scenario(), Watcher::default());
        let results = segue_sim::run_observed(&scenario, case.seed, &mut watcher);
        let early = ACKNOWLEDGES_EARLY.contains(&scenario.scheme.spec.name);
        prop_assert!(early || results.ended < Instant::ZERO + scenario.duration, "a silent hang");
        for (i, flow) in results.flows.iter().enumerate() {
            let bytes = scenario.flows[i].bytes.unwrap();
            prop_assert!(flow.acknowledged <= flow.delivered && flow.delivered <= bytes, "{flow:?}");
            if flow.finished.is_some() {
                prop_assert_eq!((flow.acknowledged, flow.delivered), (bytes, bytes));
            } else if !early {
                let peer_gave_up = flow.end == Some(EndReason::Reset) && watcher.gave_up.contains(&(2 * i + 1));
                prop_assert!(flow.end == Some(EndReason::UserTimeout) || peer_gave_up, "{flow:?}");
            }
        }
        prop_assert_eq!(watcher.complaint, None);
    }

}

proptest! {
    #![proptest_config(config(1_500))]
    #[test]
    fn every_packet_arrives_or_is_dropped_for_a_counted_cause(case in any_case()) {
        let mut watcher = Watcher::default();
        let scenario = case.scenario();
        let first = segue_sim::run_observed(&scenario, case.seed, &mut watcher);
        for (direction, link) in first.links.iter().enumerate() {
            let counts = link.counts;
            prop_assert!(counts.offered >= counts.arrived + dropped(&counts), "{counts:?}");
            prop_assert_eq!(watcher.drops_at(direction), by_cause(&counts));
        }
        // A flow elsewhere that begins when all has become quiet keeps the run going until nothing is under way.
        let late = Late { start: first.ended + Duration::from_secs(1000) };
        let second = segue_sim::run(&case.scenario_with(&late), case.seed);
        prop_assert!(second.ended > late.start);
        // A mobile receiver that tells its peer of the end of an outage does so as long as there are outages.
        let scheme = scenario.scheme.spec;
        let most_under_way = if scheme.mobile.is_some() && scheme.helps.downloads { 100 } else { 0 };
        for (direction, link) in second.links.iter().enumerate().take(first.links.len()) {
            let counts = link.counts;
            let under_way = counts.offered - counts.arrived - dropped(&counts);
            prop_assert!(under_way <= most_under_way, "direction {}: {}", direction, under_way);
        }
        // It has changed nothing for the others.
        let early = ACKNOWLEDGES_EARLY.contains(&scenario.scheme.spec.name);
        for (a, b) in first.flows.iter().zip(&second.flows) {
            prop_assert_eq!(a.finished, b.finished);
            prop_assert!(early || a.acknowledged == b.acknowledged);
        }
    }
}

proptest! {
    #![proptest_config(config(2_000))]
    #[test]
    fn the_same_seed_gives_the_same_trace_and_tables(case in any_case()) {
        prop_assert!(output(&case.scenario(), case.seed) == output(&case.scenario(), case.seed));
    }

    #[test]
    fn with_plain_tcp_it_makes_no_difference_whether_hosts_are_mobile(case in any_case()) {
        let (mobile, fixed) = (case.plain(true), case.plain(false));
        let is_mobile = |node: &Node| matches!(node.kind, NodeKind::Host { mobile: true, .. });
        prop_assert!(mobile.nodes.iter().any(is_mobile) && !fixed.nodes.iter().any(is_mobile));
        prop_assert!(output(&mobile, case.seed) == output(&fixed, case.seed));
    }

    #[test]
    fn a_scheme_on_hosts_that_hears_of_nothing_leaves_tcp_alone(case in any_case()) {
        let with = case.without_outages(true);
        let spec = with.scheme.spec;
        let hears_queues = |build: BuildHost| build(&with.scheme.params).hears(&SignalKind::DropProbability(1.0));
        if spec.base_station.is_some() || spec.host_parts().any(hears_queues) {
            // It acts on what it sees, or reports it.
            return Ok(());
        }
        prop_assert!(tcp_trace(&with, case.seed) == tcp_trace(&case.without_outages(false), case.seed));
    }
}

/// The properties above would hold of scenarios in which nothing goes wrong: these are not such.
#[test]
fn the_drawn_scenarios_meet_every_kind_of_trouble() {
    let mut runner = TestRunner::deterministic();
    let mut met: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..8000 {
        let case = any_case().new_tree(&mut runner).unwrap().current();
        let results = segue_sim::run(&case.scenario(), case.seed);
        let mut count = |what, happened: bool| *met.entry(what).or_default() += u32::from(happened);
        let stats = |of: fn(&Stats) -> u64| results.flows.iter().any(|flow| of(&flow.stats) > 0);
        let drops = |of: fn(&LinkCounts) -> u64| results.links.iter().any(|link| of(&link.counts) > 0);
        count("freeze", stats(|s| s.freezes));
        count("timeout", stats(|s| s.timeouts));
        count("fast retransmit", stats(|s| s.fast_retransmits));
        count("queue full", drops(|c| c.dropped_queue));
        count("queue not full", drops(|c| c.dropped_early));
        count("loss", drops(|c| c.dropped_loss));
        count("outage", drops(|c| c.dropped_outage));
        count("all finished", results.flows.iter().all(|flow| flow.finished.is_some()));
        count("user timeout", results.flows.iter().any(|flow| flow.end == Some(EndReason::UserTimeout)));
        count("idle after an outage", results.flows.iter().any(|flow| flow.idle > Duration::ZERO));
    }
    for (what, times) in &met {
        assert!(*times >= 30, "{what} in {times} of 8000 scenarios only: {met:?}");
    }
}

fn config(cases: u32) -> ProptestConfig {
    let failure_persistence =
        Some(Box::new(FileFailurePersistence::Direct("tests/safety.proptest-regressions")) as _);
    ProptestConfig { cases, failure_persistence, max_shrink_iters: 2000, ..ProptestConfig::default() }
}

fn by_cause(counts: &LinkCounts) -> [u64; 4] {
    [counts.dropped_queue, counts.dropped_early, counts.dropped_loss, counts.dropped_outage]
}

fn dropped(counts: &LinkCounts) -> u64 {
    by_cause(counts).iter().sum()
}

fn trace(scenario: &Scenario, seed: u64) -> Vec<u8> {
    let mut trace = CsvTrace::new(scenario, Vec::new());
    segue_sim::run_observed(scenario, seed, &mut trace);
    trace.finish().unwrap()
}

/// The trace but for what schemes hear and order: where they are attached is no trouble.
fn tcp_trace(scenario: &Scenario, seed: u64) -> Vec<Vec<u8>> {
    // What a scheme hears, and what it orders its MAC, is told of the node.
    let of_connection = |line: &&[u8]| {
        let place = line.split(|byte| *byte == b',').nth(1).unwrap_or_default();
        place.contains(&b'/') || place.contains(&b'>')
    };
    trace(scenario, seed).split(|byte| *byte == b'\n').filter(of_connection).map(<[u8]>::to_vec).collect()
}

/// The trace and both tables.
fn output(scenario: &Scenario, seed: u64) -> (Vec<u8>, String, String) {
    let results = segue_sim::run(scenario, seed);
    (trace(scenario, seed), results.flow_table().csv(), results.link_table(scenario).csv())
}

/// Counts drops, and complains about anything that no event may do.
#[derive(Default)]
struct Watcher {
    drops: Vec<[u64; 4]>,
    gave_up: Vec<usize>,
    /// Highest position acknowledged to, and received by, each end.
    acked: Vec<u64>,
    received: Vec<u64>,
    last: Instant,
    complaint: Option<String>,
}

impl Watcher {
    fn drops_at(&self, direction: usize) -> [u64; 4] {
        self.drops.get(direction).copied().unwrap_or_default()
    }

    fn complain(&mut self, at: Instant, what: &str) {
        self.complaint.get_or_insert_with(|| format!("{what} at {at}"));
    }
}

fn slot<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

impl Observer for Watcher {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if at < self.last {
            self.complain(at, "time goes back");
        }
        self.last = at;
        match (place, *event) {
            (Place::Link(direction), Event::PacketDropped { cause, .. }) => {
                let kind = match cause {
                    DropCause::QueueFull => 0,
                    DropCause::QueueEarly => 1,
                    DropCause::Loss => 2,
                    DropCause::Outage => 3,
                    DropCause::RetryLimit
                    | DropCause::NoAttachment
                    | DropCause::Agent(_)
                    | DropCause::NoSocket => {
                        panic!("not on a wire")
                    }
                };
                slot(&mut self.drops, direction)[kind] += 1;
            }
            (Place::End(end), Event::Ended { reason: EndReason::UserTimeout }) => self.gave_up.push(end),
            (Place::End(end), Event::AckReceived { ack, cwnd, .. }) => {
                let before = std::mem::replace(slot(&mut self.acked, end), ack);
                if before >= ack {
                    self.complain(at, "an acknowledgement goes back");
                }
                if cwnd < 1.0 {
                    self.complain(at, "a window below one segment");
                }
            }
            (Place::End(end), Event::DataReceived { rcv_nxt, .. }) => {
                let before = std::mem::replace(slot(&mut self.received, end), rcv_nxt);
                if before > rcv_nxt {
                    self.complain(at, "what was received is forgotten");
                }
            }
            _ => {}
        }
    }
}

/// A drawn scenario, as text.
#[derive(Clone)]
struct Case {
    hosts: Vec<Host>,
    /// All but hosts, scheme and outages.
    body: String,
    outages: String,
    scheme: String,
    seed: u64,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}\n{}", self.seed, self.text(&self.scheme, &self.outages, None))
    }
}

#[derive(Clone, Debug)]
struct Host {
    mobile: bool,
    beacons: Option<String>,
    /// What it hangs on.
    routers: [usize; 2],
    both: bool,
}

/// A flow between two hosts of their own.
struct Late {
    start: Instant,
}

impl Case {
    fn text(&self, scheme: &str, outages: &str, late: Option<&Late>) -> String {
        self.text_of(scheme, outages, late, None)
    }

    fn text_of(&self, scheme: &str, outages: &str, late: Option<&Late>, mobile: Option<bool>) -> String {
        let mut text = format!("duration = \"{DURATION}\"\n{scheme}\n{}\n{outages}\n", self.body);
        for (i, host) in self.hosts.iter().enumerate() {
            let is_mobile = mobile.unwrap_or(host.mobile);
            writeln!(text, "[hosts.h{i}]\nmobile = {is_mobile}").unwrap();
            if let Some(beacons) = host.beacons.as_ref().filter(|_| is_mobile) {
                writeln!(text, "beacons = {beacons}").unwrap();
            }
        }
        if let Some(late) = late {
            writeln!(text, "[hosts.y]\n[hosts.z]\n[[links]]\nbetween = [\"y\", \"z\"]\nrate = \"1 Mb/s\"")
                .unwrap();
            writeln!(text, "delay = \"1 ms\"\n[[flows]]\nfrom = \"y\"\nto = \"z\"\nbytes = \"1 B\"").unwrap();
            writeln!(text, "start = \"{} ns\"", late.start.as_nanos()).unwrap();
        }
        text
    }

    fn scenario(&self) -> Scenario {
        parse(&self.text(&self.scheme, &self.outages, None))
    }

    fn scenario_with(&self, late: &Late) -> Scenario {
        parse(&self.text(&self.scheme, &self.outages, Some(late)).replacen(DURATION, LONGER, 1))
    }

    fn plain(&self, mobile: bool) -> Scenario {
        parse(&self.text_of("", &self.outages, None, Some(mobile)))
    }

    fn without_outages(&self, with_scheme: bool) -> Scenario {
        // The parts of some schemes write to each other even when all is well.
        let writes = self.scheme.contains("\"wi-tcp\"");
        parse(&self.text(if with_scheme && !writes { &self.scheme } else { "" }, "", None))
    }
}

fn parse(text: &str) -> Scenario {
    load_text("case.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn any_case() -> impl Strategy<Value = Case> {
    let parts = (
        any_shape(),
        prop::collection::vec(any_host(), 2..=6),
        prop::collection::vec(any_link(), 8),
        prop::collection::vec(any_flow(), 1..=4),
        prop::collection::vec(any_outage(), 0..=4),
        any_tcp(),
        select(schemes::ALL.to_vec()).prop_flat_map(any_scheme),
        any::<u64>(),
    );
    parts.prop_map(|(shape, mut hosts, links, flows, outages, tcp, scheme, seed)| {
        // A scheme wants a mobile host.
        hosts[0].mobile = true;
        let between = edges(&shape, &hosts);
        let mut body = format!("{tcp}\n");
        for router in 0..shape.routers() {
            writeln!(body, "[routers.r{router}]").unwrap();
        }
        for (i, (a, b)) in between.iter().enumerate() {
            writeln!(body, "[[links]]\nbetween = [\"{a}\", \"{b}\"]\n{}", links[i % links.len()]).unwrap();
        }
        for (i, flow) in flows.iter().enumerate() {
            let from = flow.from % hosts.len();
            let to = (from + 1 + flow.to % (hosts.len() - 1)) % hosts.len();
            let (bytes, start) = (flow.bytes, flow.start_millis);
            writeln!(body, "[[flows]]\nname = \"f{i}\"\nfrom = \"h{from}\"\nto = \"h{to}\"").unwrap();
            writeln!(body, "bytes = \"{bytes} B\"\nstart = \"{start} ms\"").unwrap();
        }
        let mut outage_text = String::new();
        for outage in &outages {
            let (a, b) = &between[outage.link % between.len()];
            writeln!(outage_text, "[[outages]]\nlink = [\"{a}\", \"{b}\"]\n{}", outage.rest).unwrap();
            match outage.from {
                1 => writeln!(outage_text, "from = \"{a}\"").unwrap(),
                2 => writeln!(outage_text, "from = \"{b}\"").unwrap(),
                _ => {}
            }
        }
        Case { hosts, body, outages: outage_text, scheme, seed }
    })
}

#[derive(Clone, Debug)]
enum Shape {
    /// Router i hangs on router `parents[i] % i`.
    Tree {
        parents: Vec<usize>,
    },
    Ring {
        routers: usize,
    },
    Grid {
        width: usize,
        height: usize,
    },
}

impl Shape {
    fn routers(&self) -> usize {
        match self {
            Shape::Tree { parents } => parents.len(),
            Shape::Ring { routers } => *routers,
            Shape::Grid { width, height } => width * height,
        }
    }
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        prop::collection::vec(0usize..100, 1..=6).prop_map(|parents| Shape::Tree { parents }),
        (3usize..=6).prop_map(|routers| Shape::Ring { routers }),
        (2usize..=3, 2usize..=3).prop_map(|(width, height)| Shape::Grid { width, height }),
    ]
}

/// Who is linked to whom: routers among one another, then each host to its routers.
fn edges(shape: &Shape, hosts: &[Host]) -> Vec<(String, String)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    match shape {
        Shape::Tree { parents } => {
            pairs.extend(parents.iter().enumerate().skip(1).map(|(i, parent)| (i, parent % i)));
        }
        Shape::Ring { routers } => pairs.extend((0..*routers).map(|i| (i, (i + 1) % routers))),
        Shape::Grid { width, height } => {
            let at = |x: usize, y: usize| y * width + x;
            for (x, y) in (0..*height).flat_map(|y| (0..*width).map(move |x| (x, y))) {
                if x + 1 < *width {
                    pairs.push((at(x, y), at(x + 1, y)));
                }
                if y + 1 < *height {
                    pairs.push((at(x, y), at(x, y + 1)));
                }
            }
        }
    }
    let mut edges: Vec<(String, String)> =
        pairs.into_iter().map(|(a, b)| (format!("r{a}"), format!("r{b}"))).collect();
    for (i, host) in hosts.iter().enumerate() {
        let [first, second] = host.routers.map(|router| router % shape.routers());
        edges.push((format!("h{i}"), format!("r{first}")));
        if host.both && first != second {
            edges.push((format!("r{second}"), format!("h{i}")));
        }
    }
    edges
}

fn any_host() -> impl Strategy<Value = Host> {
    let beacons = prop_oneof![
        3 => Just(None),
        1 => (select(vec!["100 ms", "1 s"]), 1u32..=4, select(vec!["0 s", "70 ms"]))
            .prop_map(|(period, missed, phase)| {
                Some(format!("{{ period = \"{period}\", missed = {missed}, phase = \"{phase}\" }}"))
            }),
    ];
    (any::<bool>(), beacons, any::<[u8; 2]>(), prop::bool::weighted(0.3)).prop_map(
        |(mobile, beacons, picks, both)| Host { mobile, beacons, routers: picks.map(usize::from), both },
    )
}

fn any_loss() -> impl Strategy<Value = String> {
    let place = select(vec!["wire", "entrance"]);
    let model = prop_oneof![
        4 => Just("model = \"none\"".to_owned()),
        2 => (0u32..=300).prop_map(|p| format!("model = \"bernoulli\", p = {}", f64::from(p) / 1000.0)),
        1 => (1u32..=100, 100u32..=1000, 0u32..=1000).prop_map(|(to_bad, to_good, bad)| format!(
            "model = \"gilbert-elliott\", p_good_to_bad = {}, p_bad_to_good = {}, loss_bad = {}",
            f64::from(to_bad) / 1000.0,
            f64::from(to_good) / 1000.0,
            f64::from(bad) / 1000.0
        )),
        1 => prop::collection::btree_set(0u64..60, 0..20)
            .prop_map(|packets| format!("model = \"list\", packets = {:?}", packets.into_iter().collect::<Vec<_>>())),
    ];
    (model, place).prop_map(|(model, place)| format!("{{ {model}, place = \"{place}\" }}"))
}

fn any_queue() -> impl Strategy<Value = String> {
    let limit = || prop_oneof![1 => 0u32..=3, 3 => 4u32..=50];
    let weight = select(vec!["0.002", "0.1", "1", "0"]);
    let spacing = select(vec!["uniform", "uniform-wait", "geometric"]);
    let early = (limit(), select(queue::ALL.to_vec()), weight, spacing).prop_map(|(limit, spec, weight, spacing)| {
        let own = match spec.name {
            "drop-tail" => "shadow_red = true, min_threshold = 2",
            "red" => "min_threshold = 2, max_threshold = 6, max_p = 0.3",
            "dsred" => "low_threshold = 1, high_threshold = 8",
            other => panic!("no values for {other}"),
        };
        format!("{{ discipline = \"{}\", limit = {limit}, weight = {weight}, spacing = \"{spacing}\", {own} }}", spec.name)
    });
    prop_oneof![2 => limit().prop_map(|limit| limit.to_string()), 1 => early]
}

fn any_link() -> impl Strategy<Value = String> {
    let rate = || select(vec!["50 kb/s", "200 kb/s", "1 Mb/s", "10 Mb/s", "1 Gb/s"]);
    let delay = select(vec!["0 s", "1 us", "1 ms", "10 ms", "200 ms"]);
    (rate(), delay, any_queue(), any_loss(), any_loss(), rate(), 1u32..=4).prop_map(
        |(rate, delay, queue, loss, loss_back, rate_back, cost)| {
            format!(
                "rate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = {queue}\nloss = {loss}\ncost = {cost}\n\
                 reverse = {{ rate = \"{rate_back}\", loss = {loss_back} }}"
            )
        },
    )
}

#[derive(Clone, Debug)]
struct FlowDraw {
    from: usize,
    to: usize,
    bytes: u64,
    start_millis: u64,
}

fn any_flow() -> impl Strategy<Value = FlowDraw> {
    let bytes = prop_oneof![1 => Just(0u64), 3 => 1u64..=3_000, 4 => 1u64..=40_000, 1 => 1u64..=200_000];
    (0usize..100, 0usize..100, bytes, 0u64..=5_000).prop_map(|(from, to, bytes, start_millis)| FlowDraw {
        from,
        to,
        bytes,
        start_millis,
    })
}

#[derive(Clone, Debug)]
struct OutageDraw {
    link: usize,
    from: u8,
    rest: String,
}

fn any_outage() -> impl Strategy<Value = OutageDraw> {
    let schedule = prop_oneof![
        3 => (0u64..=20_000, 0u64..=10_000)
            .prop_map(|(start, duration)| format!("start = \"{start} ms\"\nduration = \"{duration} ms\"")),
        1 => (0u64..=20_000).prop_map(|start| format!("start = \"{start} ms\"\nduration = \"for ever\"")),
        2 => (0u64..=20_000, 0u64..=5_000, 10u64..=5_000, prop::option::of(1u64..=20)).prop_map(
            |(start, duration, pause, count)| {
                let count = count.map_or(String::new(), |count| format!("\ncount = {count}"));
                let every = duration + pause;
                format!("start = \"{start} ms\"\nduration = \"{duration} ms\"\nevery = \"{every} ms\"{count}")
            }
        ),
        2 => (50u64..=20_000, 10u64..=5_000)
            .prop_map(|(up, down)| format!("mean_up = \"{up} ms\"\nmean_down = \"{down} ms\"")),
    ];
    let (layer, effect) = (select(vec!["link", "ip"]), select(vec!["black-hole", "flush"]));
    (0usize..100, 0u8..=3, schedule, layer, effect).prop_map(|(link, from, schedule, layer, effect)| {
        OutageDraw { link, from, rest: format!("{schedule}\nlayer = \"{layer}\"\neffect = \"{effect}\"") }
    })
}

fn any_tcp() -> impl Strategy<Value = String> {
    let words = (
        select(profile::ALL.iter().map(|p| p.name).collect::<Vec<_>>()),
        select(variant::ALL.iter().map(|v| v.name).collect::<Vec<_>>()),
        select(vec!["off", "1 ms", "200 ms", "500 ms"]),
        select(vec!["0 s", "10 ms", "200 ms", "1 s"]),
    );
    let numbers = (select(vec![100u32, 536, 1000, 1460]), 1u32..=64, 1u32..=12, 2u64..=60);
    let flags = any::<[bool; 4]>();
    (words, numbers, flags).prop_map(|((profile, variant, ack, min_rto), (mss, window, first, patience), flags)| {
        let [limited, timestamps, nagle, close] = flags;
        format!(
            "[tcp]\nprofile = \"{profile}\"\nvariant = \"{variant}\"\ndelayed_ack = \"{ack}\"\nmin_rto = \"{min_rto}\"\n\
             mss = {mss}\nwindow = {window}\ninitial_window = {first}\nuser_timeout = \"{patience} s\"\n\
             limited_transmit = {limited}\ntimestamps = {timestamps}\nnagle = {nagle}\nclose = {close}"
        )
    })
}

/// A scheme with some of its parameters, each within what it declares.
fn any_scheme(spec: &'static Spec) -> impl Strategy<Value = String> {
    let params: Vec<_> = spec.params.iter().map(|param| prop::option::of(any_value(param))).collect();
    params.prop_map(|values| {
        let mut text = format!("[scheme]\nname = \"{}\"", spec.name);
        for (param, value) in spec.params.iter().zip(values) {
            if let Some(value) = value {
                write!(text, "\n{} = {value}", param.name).unwrap();
            }
        }
        text
    })
}

fn any_value(param: &Param) -> BoxedStrategy<String> {
    let times = [0, 1, 30, 500, 5_000].map(Duration::from_millis);
    let quoted = |least: Duration, most: Duration| {
        let texts: Vec<String> = times
            .into_iter()
            .filter(|time| (least..=most).contains(time))
            .chain([least, most])
            .map(|time| {
                format!(
                    "\"{}\"",
                    if time == Duration::MAX { "for ever".into() } else { format!("{} ns", time.as_nanos()) }
                )
            })
            .collect();
        select(texts).boxed()
    };
    match param.kind {
        Kind::Duration(low, high) => quoted(low, high),
        Kind::Integer(low, high) => {
            prop_oneof![low..=high.min(low.saturating_add(20)), Just(high.min(1 << 40))]
                .prop_map(|n| n.to_string())
                .boxed()
        }
        Kind::Number(low, high) => {
            (0u32..=100).prop_map(move |k| format!("{:?}", low + (high - low) * f64::from(k) / 100.0)).boxed()
        }
        Kind::Bool => any::<bool>().prop_map(|b| b.to_string()).boxed(),
        Kind::Choice(words) => select(words).prop_map(|word| format!("\"{word}\"")).boxed(),
    }
}
