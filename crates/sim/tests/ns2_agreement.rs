//! Our TCP against the real ns-2.35 on wired paths, case by case (`validation/ns2`).
//!
//! Equal numbers of data segments, retransmissions and timeouts, and the same finish time within 1 ms.

mod ns2;

use std::collections::BTreeMap;

use segue_proto::tcp::profile::{Cut, NewRenoRules};
use segue_proto::tcp::{Profile, Variant};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;
use segue_proto::units::BitRate;
use segue_sim::link::LossPlace;
use segue_sim::loss::Loss;
use segue_sim::outage::{Effect, Layer, Schedule};
use segue_sim::results::{Observer, Place};
use segue_sim::scenario::{
    Direction, Flow, Link, LinkNews, Node, NodeKind, Outage, QueueChoice, SchemeChoice, SignalDelays,
};
use segue_sim::{Scenario, run_observed};

use ns2::{Row, read_csv};

/// Largest difference of finish times.
const TOLERANCE: Duration = Duration::from_millis(1);

#[test]
fn every_case_agrees_with_ns2() {
    let cases = read_csv("cases.csv");
    let expected: BTreeMap<String, Row> =
        read_csv("expected.csv").into_iter().map(|row| (row["name"].clone(), row)).collect();
    assert!(cases.len() >= 60, "only {} cases", cases.len());
    let differences: Vec<String> =
        cases.iter().filter_map(|case| difference(case, &expected[&case["name"]])).collect();
    assert!(
        differences.is_empty(),
        "{} of {} cases differ from ns-2:\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n")
    );
}

fn integer(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{}: {column} is \"{}\"", row["name"], row[column]))
}

fn list(row: &Row, column: &str) -> Vec<u64> {
    let mut numbers: Vec<u64> = row[column].split(';').filter_map(|n| n.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// What differs between our run of `case` and what ns-2 gave, if anything.
fn difference(case: &Row, expected: &Row) -> Option<String> {
    let scenario = scenario(case, expected);
    let mut timeouts = Timeouts::default();
    let results = run_observed(&scenario, 1, &mut timeouts);
    let flow = &results.flows[0];
    // ns-2 counts its one SYN per try as a data packet.
    let syns = 1 + timeouts.repeated_syns;
    let ours = [flow.stats.data_segments + syns, flow.stats.retransmissions, flow.stats.timeouts];
    let theirs = ["data_packets", "retransmissions", "timeouts"].map(|column| integer(expected, column));
    let finish = flow.finished.map_or(0, Instant::as_nanos);
    let apart = finish.abs_diff(integer(expected, "finish_ns"));
    let instants: Vec<u64> = list(expected, "timeout_instants_ns");
    let same_instants = instants.len() == timeouts.at.len()
        && instants.iter().zip(&timeouts.at).all(|(a, b)| a.abs_diff(*b) <= TOLERANCE.as_nanos());
    (ours != theirs || apart > TOLERANCE.as_nanos() || !same_instants).then(|| {
        format!(
            "{:45} segments, retransmissions, timeouts: ours {ours:?}, ns-2 {theirs:?}; finish: ours {finish}, ns-2 {}; timeouts at: ours {:?}, ns-2 {instants:?}",
            case["name"], expected["finish_ns"], timeouts.at
        )
    })
}

#[derive(Default)]
struct Timeouts {
    at: Vec<u64>,
    repeated_syns: u64,
}

impl Observer for Timeouts {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if place != Place::End(0) {
            return;
        }
        match event {
            Event::TimeoutExpired { .. } => self.at.push(at.as_nanos()),
            Event::SegmentSent { start: 0, retransmission: true, .. } => {
                self.repeated_syns += 1;
                self.at.push(at.as_nanos());
            }
            _ => {}
        }
    }
}

fn scenario(case: &Row, expected: &Row) -> Scenario {
    let mut profile = era(&case["era"]);
    profile.window = integer(case, "window_segments") as u32;
    profile.clock_phase = Duration::from_nanos(integer(expected, "clock_phase_ns"));
    profile.delayed_ack = case["delayed_ack_ns"].parse().ok().map(Duration::from_nanos);
    let start = integer(case, "start_ns");
    Scenario {
        title: case["name"].clone(),
        duration: Duration::from_nanos(integer(case, "stop_ns")),
        seed: 1,
        nodes: nodes(),
        links: vec![
            Link {
                ends: [0, 1],
                directions: [
                    direction(case, "access", 1 << 20, &[]),
                    direction(case, "access", 1 << 20, &[]),
                ],
                cost: 1,
            },
            Link {
                ends: [1, 2],
                directions: [
                    direction(
                        case,
                        "bottleneck",
                        integer(case, "queue_limit") as usize,
                        &list(case, "drop_data"),
                    ),
                    direction(case, "bottleneck", 1 << 20, &list(case, "drop_ack")),
                ],
                cost: 1,
            },
        ],
        cells: Vec::new(),
        mobile_ip: None,
        datagrams: Vec::new(),
        signal_delays: SignalDelays::default(),
        absences: Vec::new(),
        flows: vec![Flow {
            name: "flow".into(),
            from: 0,
            to: 2,
            start: Instant::from_nanos(start),
            bytes: Some(integer(case, "packets") * u64::from(profile.mss)),
            profile,
            variant: Variant::named(&case["tcp"]).expect("a known variant"),
            plain: false,
        }],
        outages: case["outages"].split(';').filter(|o| !o.is_empty()).map(outage).collect(),
        scheme: SchemeChoice::default(),
    }
}

fn era(name: &str) -> Profile {
    if let Some(profile) = Profile::named(name) {
        return profile.clone();
    }
    assert_eq!(name, "ns-2.1b8-as-released");
    let mut profile = Profile::named("ns-2.1b8").expect("a profile").clone();
    profile.cut = Cut::WindowWhole;
    profile.reno_inflates_when_blocked = true;
    profile.initial_window_after_lost_syn = 2;
    profile.new_reno = NewRenoRules { impatient: false, deflate: false, full_ack_by_flight: false };
    profile
}

fn nodes() -> Vec<Node> {
    let host = || NodeKind::Host { mobile: false, link_news: LinkNews::AtOnce };
    [("sender", host()), ("router", NodeKind::Router), ("receiver", host())]
        .map(|(name, kind)| Node { name: name.into(), kind, mobility: None })
        .into()
}

fn direction(case: &Row, link: &str, queue_limit: usize, lost: &[u64]) -> Direction {
    Direction {
        rate: BitRate::from_bps(integer(case, &format!("{link}_rate_bps"))).expect("a rate"),
        delay: Duration::from_nanos(integer(case, &format!("{link}_delay_ns"))),
        queue: QueueChoice::drop_tail(queue_limit as u32),
        loss: if lost.is_empty() { Loss::None } else { Loss::List { packets: lost.to_vec() } },
        loss_place: LossPlace::Entrance,
    }
}

fn outage(text: &str) -> Outage {
    let (start, duration) = text.split_once(':').expect("start:duration");
    let number = |text: &str| text.parse::<u64>().expect("nanoseconds");
    Outage {
        link: 1,
        directions: [true, true],
        layer: Layer::Link,
        effect: Effect::Flush,
        schedule: Schedule::Periodic {
            start: Instant::from_nanos(number(start)),
            duration: Duration::from_nanos(number(duration)),
            every: Duration::MAX,
            count: 1,
        },
    }
}
