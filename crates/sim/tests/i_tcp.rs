//! I-TCP in the world: what each end of a connection sees of moves, of lost messages, and of routers that give up.

use segue_proto::tcp::{EndReason, State};
use segue_proto::time::Instant;
use segue_proto::trace::Event;
use segue_sim::results::{Observer, Place, Results};
use segue_sim::run_observed;
use segue_sim::scenario::{Setting, load_text};

const PATH: &str = include_str!("../../../papers/i-tcp/path.toml");

/// What the two ends of the only flow, and the routers, do.
#[derive(Default)]
struct Capture {
    /// Changes of state of each end.
    states: [Vec<(State, State)>; 2],
    /// Ends of each end's connection.
    ended: [Vec<EndReason>; 2],
    /// Positions that each end has acknowledged and received.
    ack: [u64; 2],
    went_back: bool,
    handoffs: usize,
    greetings: usize,
    resets: usize,
    lost_messages: usize,
}

impl Observer for Capture {
    fn observe(&mut self, _at: Instant, place: Place, event: &Event) {
        match (place, event) {
            (Place::End(end), Event::StateChanged { from, to }) => self.states[end].push((*from, *to)),
            (Place::End(end), Event::Ended { reason }) => {
                self.ended[end].push(*reason);
                self.resets += usize::from(*reason == EndReason::Reset);
            }
            (Place::End(end), Event::AckSent { ack }) => {
                self.went_back |= *ack < self.ack[end];
                self.ack[end] = *ack;
            }
            (Place::Node(_), Event::MessageSent { message: "handoff-complete", .. }) => self.handoffs += 1,
            (Place::Node(_), Event::MessageSent { message: "greeting", .. }) => self.greetings += 1,
            (Place::Link(_), Event::PacketDropped { .. }) => self.lost_messages += 1,
            _ => {}
        }
    }
}

/// The paper's path with I-TCP and these settings.
fn capture(settings: &[(&str, &str)], seed: u64) -> (Results, Capture) {
    let mut all = vec![
        ("scheme.name", "i-tcp"),
        ("scheme.profile", "bsd-net2"),
        ("scheme.mss", "512"),
        ("scheme.processing", "100 ms"),
    ];
    all.extend_from_slice(settings);
    let setting = |(path, value): (&str, &str)| Setting { path: path.to_owned(), value: value.to_owned() };
    let settings: Vec<Setting> = all.into_iter().map(setting).collect();
    let scenario = load_text("path.toml", PATH, &settings).expect("a valid scenario");
    let mut capture = Capture::default();
    let results = run_observed(&scenario, seed, &mut capture);
    (results, capture)
}

const UPLOAD: [(&str, &str); 2] = [("flows[0].from", "mobile"), ("flows[0].to", "fixed")];
const ONE_SECOND: [(&str, &str); 2] =
    [("hosts.mobile.mobility.speed", "810"), ("hosts.mobile.mobility.pause", "6765432 us")];
const OVERLAPPED: [(&str, &str); 4] = [
    ("routers.msr-2.position", "[100, 0]"),
    ("hosts.mobile.mobility.places", "[[0, 0], [100, 0]]"),
    ("hosts.mobile.mobility.speed", "83.3333"),
    ("hosts.mobile.mobility.pause", "6.8 s"),
];
/// A tenth of all that the routers say to each other and to the gateway is lost, control messages and segments.
const LOSSY_WIRES: [(&str, &str); 2] = [
    ("links[1].loss", "{ model = \"bernoulli\", p = 0.1, place = \"wire\" }"),
    ("links[2].loss", "{ model = \"bernoulli\", p = 0.1, place = \"wire\" }"),
];

fn with<'a>(parts: &[&[(&'a str, &'a str)]]) -> Vec<(&'a str, &'a str)> {
    parts.concat()
}

/// One life of a connection: opened once, closed once, never reset.
fn assert_transparent(capture: &Capture, end: usize) {
    let opened = capture.states[end].iter().filter(|(_, to)| *to == State::Established).count();
    assert_eq!(opened, 1, "{:?}", capture.states[end]);
    assert!(!capture.went_back, "an acknowledgement goes back");
    assert!(capture.ended[end].iter().all(|reason| *reason == EndReason::Closed), "{:?}", capture.ended[end]);
}

#[test]
fn neither_end_notices_twenty_handoffs_with_lost_messages() {
    for direction in [&[] as &[(&str, &str)], &UPLOAD] {
        for gap in [&[] as &[(&str, &str)], &ONE_SECOND, &OVERLAPPED] {
            let size = [("flows[0].bytes", "12 MB"), ("duration", "9000 s")];
            let (results, capture) = capture(&with(&[direction, gap, &LOSSY_WIRES, &size]), 1);
            let flow = &results.flows[0];
            assert!(capture.handoffs >= 20 && capture.lost_messages > 100, "{} handoffs", capture.handoffs);
            assert!(flow.finished.is_some(), "{flow:?}");
            assert_eq!((flow.acknowledged, flow.delivered), (12_000_000, 12_000_000));
            assert_eq!(capture.resets, 0);
            assert_transparent(&capture, 0);
            assert_transparent(&capture, 1);
        }
    }
}

#[test]
fn a_host_that_moves_on_before_the_handoff_is_done_and_comes_back_loses_nothing() {
    // A handoff takes 4 s here. The host is at the second router for 2.9 s, back for 2.9 s, there again, and back to stay.
    let hurry = [
        ("scheme.processing", "4 s"),
        ("mobile_ip.agent_timeout", "300 ms"),
        ("mobile_ip.advertisement_interval", "100 ms"),
        ("flows[0].bytes", "1 MB"),
        (
            "hosts.mobile.mobility",
            "{ model = \"waypoints\", points = [[\"12 s\", 0, 0], [\"12.1 s\", 1000, 0], [\"15 s\", 1000, 0], \
             [\"15.1 s\", 0, 0], [\"18 s\", 0, 0], [\"18.1 s\", 1000, 0], [\"21 s\", 1000, 0], [\"21.1 s\", 0, 0]] }",
        ),
    ];
    for direction in [&[] as &[(&str, &str)], &UPLOAD] {
        let (results, capture) = capture(&with(&[direction, &hurry]), 3);
        let flow = &results.flows[0];
        assert_eq!(capture.greetings, 5, "one at the start, one for each move");
        assert!(flow.finished.is_some(), "{flow:?}");
        assert_eq!((flow.acknowledged, flow.delivered), (1_000_000, 1_000_000));
        assert_eq!(capture.resets, 0);
        assert_transparent(&capture, 0);
        assert_transparent(&capture, 1);
    }
}

#[test]
fn a_new_router_that_waits_in_vain_tells_its_host_by_a_reset() {
    // The wire of the first router is cut for good before the host leaves it: the connections cannot come.
    let cut =
        [("outages", "[{ link = [\"gateway\", \"msr-1\"], start = \"17 s\", duration = \"for ever\" }]")];
    let (results, capture) = capture(&with(&[&UPLOAD, &cut]), 1);
    assert_eq!(results.flows[0].finished, None);
    assert_eq!(capture.ended[0], [EndReason::Reset]);
}

#[test]
fn a_host_whose_router_does_not_answer_speaks_plain_tcp() {
    // What the mobile host says is heard by nobody for 3 s: greetings are given up after 1.5 s.
    let text = r#"
        duration = "100 s"
        scheme.name = "i-tcp"
        hosts.server = {}
        hosts.phone = { mobile = true }
        routers.station = {}
        links = [
            { between = ["server", "station"], rate = "10 Mb/s", delay = "10 ms" },
            { between = ["station", "phone"], rate = "2 Mb/s", delay = "5 ms" },
        ]
        outages = [{ link = ["phone", "station"], start = "0 s", duration = "3 s" }]
        flows = [{ from = "phone", to = "server", bytes = "100 kB", start = "0.5 s" }]
    "#;
    let scenario = load_text("plain.toml", text, &[]).expect("a valid scenario");
    let mut capture = Capture::default();
    let results = run_observed(&scenario, 1, &mut capture);
    assert_eq!(results.flows[0].delivered, 100_000);
    assert_eq!(results.node_interventions[2], 0, "the station had nothing to do");
}

#[test]
fn data_counts_when_it_has_arrived_and_not_when_a_router_has_it() {
    // The radio is far slower than the wire, and the router's buffers hold half of the flow.
    let text = r#"
        duration = "100 s"
        scheme = { name = "i-tcp", buffer = 65536 }
        hosts.server = {}
        hosts.phone = { mobile = true }
        routers.station = {}
        links = [
            { between = ["server", "station"], rate = "10 Mb/s", delay = "10 ms" },
            { between = ["station", "phone"], rate = "50 kb/s", delay = "5 ms" },
        ]
        flows = [{ from = "server", to = "phone", bytes = "100 kB", start = "1 s" }]
    "#;
    let scenario = load_text("slow.toml", text, &[]).expect("a valid scenario");
    let results = segue_sim::run(&scenario, 1);
    let flow = &results.flows[0];
    // 100 kB over 50 kb/s take 16 s without any header.
    assert!(flow.finished.is_some_and(|at| at.as_secs_f64() > 17.0), "{flow:?}");
    assert!(flow.goodput_bps < 50_000.0);
}
