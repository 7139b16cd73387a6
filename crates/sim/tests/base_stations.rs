//! The seat of a scheme at base stations: what its part there sees, and what becomes of what it does.

use std::collections::VecDeque;

use segue_proto::base_station::{BaseStation, Body, Fate, Flow, Message, Output, StationEvent, Towards};
use segue_proto::mobile_ip::Address;
use segue_proto::params::Params;
use segue_proto::schemes::{Action, Helps, Scheme, Spec};
use segue_proto::signal::{Signal, SignalKind};
use segue_proto::tcp::{ConnectionId, Hooks, Segment};
use segue_proto::time::Instant;
use segue_proto::trace::Event;
use segue_sim::results::{Observer, Place};
use segue_sim::scenario::{Scenario, SchemeChoice};
use segue_sim::{run, run_observed};

/// Takes the first ACK of data that passes, tells each host that arrives, and answers each greeting.
static SPY: Spec = Spec {
    name: "spy",
    summary: "shows what a base station sees",
    params: &[],
    helps: Helps::NOTHING,
    mobile: Some(|_| Box::new(Guest::default())),
    fixed: None,
    base_station: Some(|_| Box::new(Station::default())),
};

#[derive(Debug)]
struct Note(&'static str);

impl Body for Note {
    fn name(&self) -> &'static str {
        self.0
    }

    fn packet_bytes(&self) -> u32 {
        40
    }
}

#[derive(Debug, Default)]
struct Station {
    repeated: bool,
    outputs: VecDeque<Output>,
}

impl BaseStation for Station {
    /// The first segment with data for the mobile host is taken, and sent on by the station itself.
    fn handle_segment(&mut self, flow: Flow, towards: Towards, segment: &mut Segment, _now: Instant) -> Fate {
        if towards == Towards::Mobile && segment.len > 0 && !self.repeated {
            self.repeated = true;
            self.outputs.push_back(Output::Segment { flow, towards, segment: *segment });
            return Fate::Take;
        }
        Fate::Forward
    }

    fn handle_event(&mut self, event: &StationEvent, _now: Instant) {
        if let StationEvent::Arrived { mobile, .. } = event {
            self.outputs.push_back(Output::Send { to: *mobile, message: Message::new(Note("welcome")) });
        }
    }

    fn handle_message(&mut self, from: Address, message: &Message, _now: Instant) {
        if message.body::<Note>().is_some_and(|note| note.0 == "hello") {
            self.outputs.push_back(Output::Send { to: from, message: Message::new(Note("answer")) });
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}

#[derive(Debug, Default)]
struct Guest {
    flows: Vec<Flow>,
    actions: VecDeque<Action>,
}

impl Hooks for Guest {}

impl Scheme for Guest {
    fn handle_signal(&mut self, signal: &Signal, _now: Instant) {
        if let SignalKind::Attached { station } = signal.kind {
            assert!(!self.flows.is_empty(), "flows are made known before anything happens");
            self.actions.push_back(Action::Send { to: station, message: Message::new(Note("hello")) });
        }
    }

    fn handle_flow(&mut self, _connection: ConnectionId, flow: Flow, _now: Instant) {
        self.flows.push(flow);
    }

    fn handle_message(&mut self, from: Address, message: &Message, _now: Instant) {
        if message.body::<Note>().is_some_and(|note| note.0 == "answer") {
            self.actions.push_back(Action::Send { to: from, message: Message::new(Note("thanks")) });
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

#[derive(Default)]
struct Messages(Vec<(usize, &'static str)>);

impl Observer for Messages {
    fn observe(&mut self, _at: Instant, place: Place, event: &Event) {
        if let (Place::Node(node), Event::MessageSent { message, .. }) = (place, event) {
            self.0.push((node, message));
        }
    }
}

fn with_spy(text: &str) -> Scenario {
    let mut scenario = Scenario::from_toml("spy.toml", text).expect("a valid scenario");
    scenario.scheme = SchemeChoice { spec: &SPY, params: Params::defaults(SPY.params) };
    scenario
}

const LINK: &str = r#"
    duration = "30 s"
    hosts.server = {}
    hosts.phone = { mobile = true }
    routers.station = {}
    links = [
        { between = ["server", "station"], rate = "10 Mb/s", delay = "10 ms" },
        { between = ["station", "phone"], rate = "2 Mb/s", delay = "5 ms" },
    ]
    flows = [{ from = "server", to = "phone", bytes = "100 kB" }]
"#;

const CELL: &str = r#"
    duration = "30 s"
    hosts.server = {}
    hosts.phone = { mobile = true }
    routers.station = {}
    links = [{ between = ["server", "station"], rate = "10 Mb/s", delay = "10 ms" }]
    cells = [{ members = ["station", "phone"], rate = "2 Mb/s" }]
    flows = [{ from = "server", to = "phone", bytes = "100 kB" }]
"#;

#[test]
fn what_a_station_takes_and_sends_again_reaches_the_host_once() {
    for text in [LINK, CELL] {
        let results = run(&with_spy(text), 1);
        assert!(results.flows[0].finished.is_some());
        assert_eq!(results.flows[0].delivered, 100_000);
        assert_eq!(results.flows[0].stats.timeouts, 0, "the segment was not missed");
    }
}

#[test]
fn host_and_station_greet_each_other_at_the_start() {
    for text in [LINK, CELL] {
        let mut messages = Messages::default();
        let scenario = with_spy(text);
        run_observed(&scenario, 1, &mut messages);
        let node = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap();
        let (phone, station) = (node("phone"), node("station"));
        let expected = [(station, "welcome"), (phone, "hello"), (station, "answer"), (phone, "thanks")];
        assert_eq!(messages.0, expected);
    }
}

#[test]
fn a_roaming_host_greets_each_station_that_it_comes_to() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/walk.toml"))
        .expect("the walk");
    let mut messages = Messages::default();
    run_observed(&with_spy(&text), 1, &mut messages);
    let count = |name: &str| messages.0.iter().filter(|(_, message)| *message == name).count();
    assert!(count("hello") >= 2, "{:?}", messages.0);
    // A message sent while nobody hears it is lost.
    assert!((2..=count("hello")).contains(&count("answer")), "{:?}", messages.0);
}
