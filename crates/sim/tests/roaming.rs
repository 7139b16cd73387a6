//! Hosts that roam: association at layer 2, Mobile IP above it, and what TCP makes of both.

use std::collections::BTreeMap;

use segue_proto::time::{Duration, Instant};
use segue_proto::trace::{DropCause, Event};
use segue_sim::results::{Observer, Place, Results};
use segue_sim::scenario::{Setting, load_text};
use segue_sim::{Scenario, run_observed};

/// Two access points 150 m apart that reach 100 m, and a laptop that walks from one to the other at 10 m/s: it leaves the
/// first at 10 s, and hears the second from 5 s on.
const CORRIDOR: &str = r#"
duration = "30 s"
[hosts.laptop]
mobile = true
mobility = { model = "line", from = [0, 0], velocity = [10, 0], stop = "15 s" }
[hosts.server]
[routers.west]
position = [0, 0]
[routers.east]
position = [150, 0]
[routers.core]
[[cells]]
access_points = ["west", "east"]
members = ["laptop"]
rate = "11 Mb/s"
range_m = 100
queue = 200
[[links]]
between = ["west", "core"]
rate = "10 Mb/s"
delay = "5 ms"
[[links]]
between = ["east", "core"]
rate = "10 Mb/s"
delay = "5 ms"
[[links]]
between = ["core", "server"]
rate = "10 Mb/s"
delay = "5 ms"
[[flows]]
from = "laptop"
to = "server"
start = "1 s"
"#;

/// The same with Mobile IP: the home agent is behind the core, both access points are foreign agents.
const MOBILE_IP: &str = r#"
[routers.home]
[[links]]
between = ["home", "core"]
rate = "10 Mb/s"
delay = "20 ms"
[mobile_ip]
profile = "rfc-5944"
foreign_agents = ["west", "east"]
registration_delay = "100 ms"
"#;

#[test]
fn a_host_moves_over_to_the_stronger_access_point_and_its_upload_goes_on() {
    let (results, seen) = corridor(&[]);
    let attached = seen.attachments("laptop");
    assert_eq!(attached.iter().map(|(_, to)| to.as_str()).collect::<Vec<_>>(), ["west", "east"]);
    // 4 dB more than the other: past the middle, and long before the first is out of reach.
    let moved = attached[1].0;
    assert!((7.5..9.9).contains(&moved), "{moved}");
    assert!(results.flows[0].longest_idle < Duration::from_millis(500), "{:?}", results.flows[0]);
    assert_eq!(results.flows[0].stats.timeouts, 0, "{:?}", results.flows[0].stats);
}

#[test]
fn a_download_finds_the_host_at_its_new_access_point() {
    let (results, _) = corridor(&[("flows[0].from", "server"), ("flows[0].to", "laptop")]);
    let flow = &results.flows[0];
    assert!(flow.delivered > 8_000_000, "{flow:?}");
}

#[test]
fn a_gap_between_cells_cuts_the_host_off_from_the_last_beacon_heard_to_the_first() {
    let settings = [("routers.east.position", "[250, 0]"), ("hosts.laptop.mobility.stop", "25 s")];
    let (results, seen) = corridor(&settings);
    let attached = seen.attachments("laptop");
    assert_eq!(attached.iter().map(|(_, to)| to.as_str()).collect::<Vec<_>>(), ["west", "nobody", "east"]);
    // Out of range at 10 s, missed eight beacons of 100 ms; in range again at 15 s.
    assert!((10.7..10.9).contains(&attached[1].0), "{attached:?}");
    assert!((15.0..15.11).contains(&attached[2].0), "{attached:?}");
    assert!(results.flows[0].stats.timeouts >= 2);
}

#[test]
fn ilc_tcp_resumes_with_the_first_beacon_after_the_gap() {
    let settings = [
        ("routers.east.position", "[250, 0]"),
        ("hosts.laptop.mobility.stop", "25 s"),
        ("scheme.name", "ilc-tcp"),
    ];
    let (results, seen) = corridor(&settings);
    let flow = &results.flows[0];
    assert_eq!(flow.stats.freezes, 1, "{:?}", flow.stats);
    assert!(flow.idle < Duration::from_millis(5), "{flow:?}");
    let heard: Vec<&str> = seen.signals("laptop");
    assert_eq!(heard.last(), Some(&"link-ok"), "{heard:?}");
}

#[test]
fn weak_frames_are_bad_news_before_the_link_is_gone() {
    // With ns-2's card -62 dBm is the power at 217 m.
    let settings = [
        ("cells[0].range_m", "250"),
        ("routers.east.position", "[2000, 0]"),
        ("hosts.laptop.mobility.stop", "29 s"),
        ("hosts.laptop.link_quality", "{ threshold_dbm = -62 }"),
        ("scheme.name", "ilc-tcp"),
    ];
    let (_, seen) = corridor(&settings);
    let first = seen.first_signal("laptop", "link-not-ok");
    assert!((21.6..21.9).contains(&first), "{first}");
}

#[test]
fn news_of_a_layer_comes_as_late_as_the_scenario_says() {
    let settings = [
        ("routers.east.position", "[250, 0]"),
        ("hosts.laptop.mobility.stop", "25 s"),
        ("signals.link_delay", "300 ms"),
        ("scheme.name", "ilc-tcp"),
    ];
    let (results, _) = corridor(&settings);
    let idle = results.flows[0].idle;
    assert!(idle >= Duration::from_millis(300) && idle < Duration::from_millis(310), "{idle}");
}

#[test]
fn each_layer_has_a_lateness_of_its_own() {
    let settings = [
        ("routers.east.position", "[250, 0]"),
        ("hosts.laptop.mobility.stop", "25 s"),
        ("signals.link_delay", "300 ms"),
        ("signals.ip_delay", "70 ms"),
        ("scheme.name", "ilc-tcp"),
    ];
    let (_, seen) = mobile(&settings);
    let late_by = |name: &str| -> Vec<Duration> {
        let delay = |(_, event): (f64, Event)| match event {
            Event::SignalHeard(signal) if signal.kind.name() == name => Some(signal.delay()),
            _ => None,
        };
        let mut delays: Vec<Duration> = seen.at("laptop").filter_map(delay).collect();
        delays.dedup();
        delays
    };
    for (name, millis) in [("link-ok", 300), ("link-not-ok", 300), ("ip-ok", 70), ("ip-not-ok", 70)] {
        assert_eq!(late_by(name), [Duration::from_millis(millis)], "{name}");
    }
}

#[test]
fn with_mobile_ip_a_host_registers_at_each_agent_and_keeps_its_connection() {
    let (results, seen) = mobile(&[]);
    let attached: Vec<String> = seen.attachments("laptop").into_iter().map(|(_, to)| to).collect();
    assert_eq!(attached.first().map(String::as_str), Some("west"));
    assert_eq!(attached.last().map(String::as_str), Some("east"));
    let bindings = seen.bindings("home");
    assert_eq!(bindings, ["laptop at west", "laptop at east"]);
    let flow = &results.flows[0];
    assert!(flow.acknowledged > 3_000_000, "{flow:?}");
}

#[test]
fn packets_for_a_visiting_host_come_through_the_tunnel_and_are_twenty_bytes_longer_there() {
    let settings = [
        ("flows[0].from", "server"),
        ("flows[0].to", "laptop"),
        ("flows[0].start", "3 s"),
        ("flows[0].bytes", "100 kB"),
        ("hosts.laptop.mobility.velocity", "[0.001, 0]"),
    ];
    let (results, seen) = mobile(&settings);
    assert_eq!(results.flows[0].delivered, 100_000);
    let home = summary(&results, &seen, "home");
    assert!(home.tunnelled >= 70, "{home:?}");
    // Links are numbered as in the file: west-core, east-core, core-server, home-core.
    let [from_core, to_core] = [7, 6].map(|direction| results.links[direction].counts);
    let registrations = 60 * results.mobility.len() as u64;
    let extra = to_core.arrived_bytes - from_core.arrived_bytes;
    assert!(extra.abs_diff(20 * home.tunnelled) < 60 * registrations, "{from_core:?} {to_core:?}");
    assert_eq!(to_core.arrived.min(from_core.arrived), from_core.arrived.min(to_core.arrived));
}

#[test]
fn with_route_optimisation_packets_go_past_the_home_agent() {
    let base = [
        ("flows[0].from", "server"),
        ("flows[0].to", "laptop"),
        ("flows[0].start", "3 s"),
        ("flows[0].bytes", "1 MB"),
        ("hosts.laptop.mobility.velocity", "[0.001, 0]"),
    ];
    let (plain, seen) = mobile(&base);
    let (optimised, _) = mobile(&[&base[..], &[("mobile_ip.route_optimisation", "true")]].concat());
    let by_home = |results: &Results| summary(results, &seen, "home").tunnelled;
    assert!(by_home(&plain) > 600);
    assert!(by_home(&optimised) < 50, "{}", by_home(&optimised));
    assert_eq!(optimised.flows[0].delivered, 1_000_000);
    assert!(optimised.flows[0].finished < plain.flows[0].finished);
}

#[test]
fn a_host_that_returns_home_deregisters_and_is_served_there() {
    let settings = [
        ("hosts.laptop.home_agent", "west"),
        (
            "hosts.laptop.mobility",
            "{ model = \"route\", places = [[0, 0], [150, 0]], speed = 10, pause = \"8 s\", repeat = \"shuttle\" }",
        ),
        ("mobile_ip.foreign_agents", "[\"east\"]"),
        ("duration", "60 s"),
    ];
    let (results, seen) = mobile(&settings);
    let bindings = seen.bindings("west");
    assert_eq!(bindings[..2], ["laptop at east", "laptop by routing"]);
    assert!(results.flows[0].acknowledged > 5_000_000, "{:?}", results.flows[0]);
}

#[test]
fn an_agent_that_buffers_loses_nothing_of_a_short_absence() {
    let base = [
        ("flows[0].from", "server"),
        ("flows[0].to", "laptop"),
        ("hosts.laptop.mobility.velocity", "[0.001, 0]"),
        ("absences", "[{ node = \"laptop\", start = \"10 s\", duration = \"400 ms\" }]"),
        ("tcp.window", "30"),
    ];
    let (without, _) = mobile(&base);
    let (with, seen) = mobile(&[&base[..], &[("mobile_ip.buffer", "100")]].concat());
    let kept = |results: &Results| results.flows[0].stats.retransmissions;
    assert!(kept(&with) <= kept(&without), "{} {}", kept(&with), kept(&without));
    assert_eq!(seen.drops_by_agents(), 0);
}

#[test]
fn an_agent_that_buffers_finds_a_host_again_that_only_receives() {
    let base = [
        ("flows", "[]"),
        ("datagrams", "[{ from = \"server\", to = \"laptop\", rate = \"400 kb/s\", start = \"2 s\" }]"),
        ("hosts.laptop.mobility.velocity", "[0.001, 0]"),
        ("absences", "[{ node = \"laptop\", start = \"10 s\", duration = \"500 ms\" }]"),
    ];
    let lost = |results: &Results| results.datagrams[0].sent - results.datagrams[0].received;
    let (without, _) = mobile(&base);
    let (with, _) = mobile(&[&base[..], &[("mobile_ip.buffer", "100")]].concat());
    // What the MAC had when the host left is lost, and so is a probe each 100 ms; the rest waits.
    assert!(lost(&with) + 6 <= lost(&without), "{} {}", lost(&with), lost(&without));
}

#[test]
fn link_only_ilc_tcp_resumes_too_early_where_registration_takes_long() {
    // The cells do not overlap and registration takes 3 s after the link is back.
    let base = [
        ("routers.east.position", "[230, 0]"),
        ("hosts.laptop.mobility.stop", "23 s"),
        ("mobile_ip.registration_delay", "3 s"),
        ("mobile_ip.registration_lifetime", "30 s"),
        ("scheme.name", "ilc-tcp"),
    ];
    let (both, _) = mobile(&base);
    let (link_only, _) = mobile(&[&base[..], &[("scheme.layers", "link")]].concat());
    let timeouts = |results: &Results| results.flows[0].stats.timeouts - results.flows[0].stats.freezes;
    assert!(timeouts(&link_only) > timeouts(&both), "{} {}", timeouts(&link_only), timeouts(&both));
    assert!(both.flows[0].acknowledged >= link_only.flows[0].acknowledged);
}

#[test]
fn two_hosts_at_one_agent_do_not_take_each_others_packets() {
    let settings = [
        ("hosts.phone", "{ home_agent = \"home\", position = [10, 0] }"),
        ("cells[0].members", "[\"laptop\", \"phone\"]"),
        (
            "flows",
            "[{ from = \"server\", to = \"laptop\", bytes = \"300 kB\" }, { from = \"server\", to = \"phone\", bytes = \"400 kB\" }]",
        ),
    ];
    let (results, _) = mobile(&settings);
    assert_eq!(results.flows[0].delivered, 300_000);
    assert_eq!(results.flows[1].delivered, 400_000);
}

#[test]
fn a_host_out_of_everybodys_range_goes_on_searching_and_its_packets_die_at_it() {
    let settings = [("hosts.laptop.mobility.from", "[5000, 0]")];
    let (results, seen) = mobile(&settings);
    assert_eq!(results.flows[0].acknowledged, 0);
    assert!(seen.drops.contains_key("no-attachment"), "{:?}", seen.drops);
    let laptop = summary(&results, &seen, "laptop");
    assert_eq!(laptop.attachments, 0);
    assert_eq!(laptop.cut_off, Duration::from_secs(30));
    assert!(laptop.messages >= 5, "it solicits: {laptop:?}");
}

#[test]
fn the_same_seed_gives_the_same_walk() {
    let [first, second] = [mobile(&[]), mobile(&[])];
    assert_eq!(first.1.lines, second.1.lines);
    assert_eq!(first.0.events, second.0.events);
}

#[test]
fn roaming_that_makes_no_sense_is_refused_with_its_line_and_key() {
    let refusals: [(&[(&str, &str)], &str); 9] = [
        (&[("cells[0].members", "[]")], "members"),
        (&[("cells[0].members", "[\"laptop\", \"core\"]")], "members"),
        (&[("cells[0].members", "[\"laptop\", \"server\"]")], "members"),
        (&[("cells[0].beacon_interval", "off")], "beacon_interval"),
        (&[("cells[0].missed_beacons", "0")], "missed_beacons"),
        (&[("cells[0].carrier_sense_m", "50")], "carrier_sense_m"),
        (&[("hosts.laptop.home_agent", "west")], "home_agent"),
        (&[("mobile_ip.foreign_agents", "[\"west\"]")], "mobile_ip"),
        (&[("hosts.server.link_quality", "{ threshold_dbm = -60 }")], "link_quality"),
    ];
    for (settings, key) in refusals {
        let refused = load_text("corridor.toml", CORRIDOR, &own(settings)).err().map(|e| e.to_string());
        assert!(refused.as_ref().is_some_and(|text| text.contains(key)), "{settings:?}: {refused:?}");
    }
}

/// What an observer noted.
#[derive(Default)]
struct Seen {
    names: Vec<String>,
    lines: Vec<(Instant, String, Event)>,
    drops: BTreeMap<&'static str, u64>,
}

impl Observer for Seen {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if let Event::PacketDropped { cause, .. } = event {
            *self.drops.entry(cause.name()).or_default() += 1;
        }
        if let Place::Node(node) = place {
            self.lines.push((at, self.names[node].clone(), *event));
        }
    }
}

impl Seen {
    fn name(&self, address: segue_proto::mobile_ip::Address) -> String {
        let node = segue_sim::scenario::mobile_ip::node_of(address);
        node.and_then(|node| self.names.get(node).cloned()).unwrap_or_else(|| address.to_string())
    }

    fn at(&self, node: &str) -> impl Iterator<Item = (f64, Event)> {
        self.lines
            .iter()
            .filter(move |(_, name, _)| name == node)
            .map(|(at, _, event)| (at.as_secs_f64(), *event))
    }

    fn attachments(&self, node: &str) -> Vec<(f64, String)> {
        let attachment = |(at, event): (f64, Event)| match event {
            Event::AttachmentChanged { to } => Some((at, to.map_or("nobody".to_owned(), |to| self.name(to)))),
            _ => None,
        };
        self.at(node).filter_map(attachment).collect()
    }

    fn bindings(&self, node: &str) -> Vec<String> {
        let binding = |(_, event): (f64, Event)| match event {
            Event::BindingChanged { host, care_of } => {
                let way = care_of.map_or("by routing".to_owned(), |at| format!("at {}", self.name(at)));
                Some(format!("{} {way}", self.name(host)))
            }
            _ => None,
        };
        self.at(node).filter_map(binding).collect()
    }

    fn signals(&self, node: &str) -> Vec<&'static str> {
        self.at(node)
            .filter_map(
                |(_, event)| {
                    if let Event::SignalHeard(signal) = event { Some(signal.kind.name()) } else { None }
                },
            )
            .collect()
    }

    fn first_signal(&self, node: &str, name: &str) -> f64 {
        let is_it = |event: &Event| matches!(event, Event::SignalHeard(signal) if signal.kind.name() == name);
        self.at(node).find(|(_, event)| is_it(event)).expect("the signal is heard").0
    }

    fn drops_by_agents(&self) -> usize {
        let by_agent =
            |event: &Event| matches!(event, Event::PacketDropped { cause: DropCause::Agent(_), .. });
        self.lines.iter().filter(|(_, _, event)| by_agent(event)).count()
    }
}

fn summary(results: &Results, seen: &Seen, node: &str) -> segue_sim::results::MobilitySummary {
    let number = seen.names.iter().position(|name| name == node).expect("a node of the scenario");
    results.mobility.iter().find(|(n, _)| *n == number).expect("it takes part").1
}

fn own(settings: &[(&str, &str)]) -> Vec<Setting> {
    settings.iter().map(|(path, value)| Setting { path: (*path).into(), value: (*value).into() }).collect()
}

fn corridor(settings: &[(&str, &str)]) -> (Results, Seen) {
    run(&load_text("corridor.toml", CORRIDOR, &own(settings)).unwrap_or_else(|e| panic!("{e}")))
}

fn mobile(settings: &[(&str, &str)]) -> (Results, Seen) {
    let text = format!("{CORRIDOR}{MOBILE_IP}");
    let own_settings = own(settings);
    let base = own(&[("hosts.laptop.home_agent", "home")]);
    run(&load_text("mobile.toml", &text, &[base, own_settings].concat()).unwrap_or_else(|e| panic!("{e}")))
}

fn run(scenario: &Scenario) -> (Results, Seen) {
    let names = scenario.nodes.iter().map(|node| node.name.clone()).collect();
    let mut seen = Seen { names, ..Seen::default() };
    let results = run_observed(scenario, 1, &mut seen);
    (results, seen)
}
