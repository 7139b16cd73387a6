//! What a scheme hears of single frames, and what it may order a MAC to do.

use std::collections::BTreeMap;

use segue_proto::params::Params;
use segue_proto::schemes::{Action, Helps, MacCommand, Scheme, Spec};
use segue_proto::signal::{LostData, Signal, SignalKind, Source};
use segue_proto::tcp::Hooks;
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;
use segue_proto::wifi::Limits;
use segue_sim::results::{Observer, Place, Results};
use segue_sim::scenario::SchemeChoice;
use segue_sim::{Scenario, run_observed};

/// Hears everything, and orders a single attempt for each frame after the first that was given up.
static LISTENER: Spec = Spec {
    name: "listener",
    summary: "hears everything",
    params: &[],
    helps: Helps::NOTHING,
    mobile: Some(|_| Box::new(Listener::default())),
    fixed: None,
    base_station: None,
};

#[derive(Debug, Default)]
struct Listener {
    orders: Vec<Action>,
    has_ordered: bool,
}

impl Hooks for Listener {}

impl Scheme for Listener {
    fn handle_signal(&mut self, signal: &Signal, _now: Instant) {
        if matches!(signal.kind, SignalKind::FrameSent { delivered: false, .. }) && !self.has_ordered {
            self.has_ordered = true;
            let limits = Limits { short: 1, long: 1 };
            self.orders.push(Action::Mac(MacCommand::SetRetryLimits(limits)));
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.orders.pop()
    }

    fn hears(&self, _kind: &SignalKind) -> bool {
        true
    }
}

const TEXT: &str = r#"
duration = "20 s"
[hosts.mobile]
mobile = true
[hosts.peer]
[[cells]]
members = ["mobile", "peer"]
rate = "2 Mb/s"
[[flows]]
from = "mobile"
to = "peer"
[[absences]]
node = "peer"
start = "5 s"
duration = "10 s"
"#;

#[test]
fn the_fate_of_every_frame_is_heard_with_its_tries() {
    let (results, heard) = run(&LISTENER);
    let station = results.stations[0][0];
    let of = |delivered: bool| heard.fates.iter().filter(|fate| fate.0 == delivered).count() as u64;
    // What the end of the run cuts off is not heard of any more.
    assert!(station.delivered.abs_diff(of(true)) <= 1, "{} {}", station.delivered, of(true));
    assert_eq!(of(false), station.dropped);
    assert!(heard.fates.iter().all(|(_, tries)| *tries >= 1));
}

#[test]
fn the_retry_limit_that_a_scheme_orders_is_kept() {
    let (_, heard) = run(&LISTENER);
    let tries: Vec<u8> = heard.fates.iter().filter(|fate| !fate.0).map(|fate| fate.1).collect();
    assert!(tries[0] >= 7, "{tries:?}");
    assert!(tries.len() > 2 && tries[1..].iter().all(|tries| *tries == 1), "{tries:?}");
    assert_eq!(heard.commands, ["set-retry-limits"]);
}

#[test]
fn the_power_of_frames_is_heard_only_by_who_asks() {
    let (_, heard) = run(&LISTENER);
    // A metre apart, from 0.2818 W at 914 MHz.
    let near = |power: &&f64| (-10.0..0.0).contains(*power);
    assert!(
        heard.powers.len() > 1000 && heard.powers.iter().all(|power| near(&power)),
        "{:?}",
        heard.powers.first()
    );
    let (_, plain) = run(segue_proto::schemes::ALL[1]);
    assert!(plain.powers.is_empty() && plain.fates.is_empty());
}

#[test]
fn news_of_the_mac_comes_as_late_as_the_scenario_says() {
    let (_, heard) = run_with(&LISTENER, &format!("{TEXT}\n[signals]\nmac_delay = \"20 ms\""));
    assert!(!heard.mac_delays.is_empty());
    assert!(heard.mac_delays.iter().all(|delay| *delay == Duration::from_millis(20)));
}

#[test]
fn a_drop_names_the_data_that_was_lost_and_a_pure_ack_names_none() {
    let (_, sender) = run(&LISTENER);
    assert!(!sender.lost.is_empty() && sender.lost.iter().all(Option::is_some), "{:?}", sender.lost);
    // The mobile host receives: what its MAC drops are ACKs.
    let download = TEXT.replace("from = \"mobile\"\nto = \"peer\"", "from = \"peer\"\nto = \"mobile\"");
    let upwards = download.replace("node = \"peer\"", "node = \"mobile\"\ndirection = \"up\"");
    let (_, receiver) = run_with(&LISTENER, &upwards);
    assert!(!receiver.lost.is_empty() && receiver.lost.iter().all(Option::is_none), "{:?}", receiver.lost);
}

#[test]
fn an_absence_upwards_takes_what_a_station_sends_and_one_downwards_what_it_should_hear() {
    let received = |direction: &str| {
        let download = TEXT.replace("from = \"mobile\"\nto = \"peer\"", "from = \"peer\"\nto = \"mobile\"");
        let absence = format!("node = \"mobile\"\ndirection = \"{direction}\"");
        let (results, heard) = run_with(&LISTENER, &download.replace("node = \"peer\"", &absence));
        (heard.received_in_absence, results.stations[0][0].dropped, results.stations[0][1].dropped)
    };
    let (up, acks_dropped, data_dropped) = received("up");
    assert!(up > 0 && acks_dropped > 0 && data_dropped > 0, "{up} {acks_dropped} {data_dropped}");
    for direction in ["down", "both"] {
        let (arrived, _, data_dropped) = received(direction);
        // What was on air when the absence began arrives, if anything.
        assert!(arrived <= 1 && data_dropped > 0, "{direction}: {arrived} {data_dropped}");
    }
}

#[derive(Default)]
struct Heard {
    lost: Vec<Option<LostData>>,
    received_in_absence: u64,
    fates: Vec<(bool, u8)>,
    powers: Vec<f64>,
    commands: Vec<&'static str>,
    mac_delays: Vec<Duration>,
    others: BTreeMap<&'static str, u64>,
}

impl Observer for Heard {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if let Event::SignalHeard(signal) = event
            && signal.source == Source::Mac
        {
            self.mac_delays.push(signal.delay());
        }
        match (place, event) {
            (_, Event::SignalHeard(signal)) => match signal.kind {
                SignalKind::FrameSent { delivered, tries } => self.fates.push((delivered, tries)),
                SignalKind::LinkLoss { lost } => self.lost.push(lost),
                SignalKind::ReceivedPower(power) => self.powers.push(power),
                other => *self.others.entry(other.name()).or_default() += 1,
            },
            (Place::End(1), Event::DataReceived { .. }) => {
                let seconds = at.as_secs_f64();
                self.received_in_absence += u64::from((5.0..15.0).contains(&seconds));
            }
            (Place::Node(_), Event::CommandExecuted { command }) => self.commands.push(command),
            _ => {}
        }
    }
}

fn run(spec: &'static Spec) -> (Results, Heard) {
    run_with(spec, TEXT)
}

fn run_with(spec: &'static Spec, text: &str) -> (Results, Heard) {
    let mut scenario = Scenario::from_toml("frames.toml", text).expect("a valid scenario");
    scenario.scheme = SchemeChoice { spec, params: Params::defaults(spec.params) };
    let mut heard = Heard::default();
    let results = run_observed(&scenario, 1, &mut heard);
    (results, heard)
}
