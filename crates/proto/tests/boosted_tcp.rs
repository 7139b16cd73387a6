//! Boosted TCP: what the sending half decides and the receiving half reports, and the resolutions B1–B14 of
//! `papers/boosted-tcp/README.md` that concern the scheme.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use segue_proto::params::Params;
use segue_proto::schemes::{Action, Scheme, Spec};
use segue_proto::signal::{Scope, Signal, SignalKind, Source};
use segue_proto::tcp::{
    Config, Connection, ConnectionId, Control, Experimental, Flags, Handover, Options, PathReport,
    Probability, Profile, Segment, SeqNumber, Variant, Verdict,
};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;

const MSS: u32 = 1000;

// ---- The decision --------------------------------------------------------------------------------------------------

#[test]
fn bst_p7_a_loss_at_0_749_keeps_the_window_and_one_at_0_751_does_not() {
    for (p, expected, cwnd) in [(0.749, KEPT, 10.0), (0.751, Verdict::Proceed, 1.0)] {
        let mut host = Host::sender(&[]);
        host.dup_acks(3, Some(p));
        assert_eq!(host.verdicts(), [expected], "{p}");
        assert!((host.cwnd() - cwnd).abs() < 1e-9, "{p}: {}", host.cwnd());
    }
}

#[test]
fn b2_a_probability_that_equals_the_threshold_does_not_slow_down() {
    // 0.2 is 51 of 255 steps, and survives the wire exactly.
    let mut host = Host::sender(&[("threshold", "0.2")]);
    host.dup_acks(3, Some(0.2));
    assert_eq!(host.verdicts(), [KEPT]);
}

#[test]
fn b1_an_excused_loss_may_be_repaired_at_the_first_duplicate_ack() {
    let mut host = Host::sender(&[("dup_acks", "1")]);
    assert_eq!(host.dup_acks(1, Some(0.0)).first().map(|s| s.seq), Some(SeqNumber(1)));
    host.dup_acks(2, Some(0.0));
    assert_eq!(host.verdicts(), [Verdict::Suppress], "not a second time");
    let mut congested = Host::sender(&[("dup_acks", "1")]);
    assert!(congested.dup_acks(1, Some(0.9)).iter().all(|s| s.seq != SeqNumber(1)));
    congested.dup_acks(2, Some(0.9));
    assert_eq!(congested.verdicts(), [Verdict::Proceed]);
}

#[test]
fn b3_the_highest_probability_of_the_loss_event_decides_or_the_newest_alone() {
    for (evidence, expected) in [("recent-max", Verdict::Proceed), ("last-ack", KEPT)] {
        let mut host = Host::sender(&[("evidence", evidence)]);
        host.dup_acks(1, Some(0.9));
        host.dup_acks(2, Some(0.1));
        assert_eq!(host.verdicts(), [expected], "{evidence}");
    }
}

#[test]
fn b6_the_variants_differ_at_a_timeout() {
    let cases = [
        ("d", Verdict::Proceed, 1.0, 1),
        ("k", Verdict::RetransmitKeep { backoff: true }, 10.0, 1),
        ("f", Verdict::RetransmitKeep { backoff: false }, 10.0, 0),
    ];
    for (variant, verdict, cwnd, backoff) in cases {
        let mut host = Host::sender(&[("variant", variant)]);
        host.dup_acks(1, Some(0.5));
        host.expire();
        assert_eq!(host.verdicts(), [verdict], "{variant}");
        assert!((host.cwnd() - cwnd).abs() < 1e-9, "{variant}");
        assert_eq!(host.connection.rtt().backoff(), backoff, "{variant}");
        let mut congested = Host::sender(&[("variant", variant)]);
        congested.dup_acks(1, Some(0.8));
        congested.expire();
        assert_eq!(congested.verdicts(), [Verdict::Proceed], "{variant}");
    }
}

#[test]
fn b8_a_probability_that_has_grown_too_old_counts_as_congestion() {
    for (ttl, expected) in
        [("for ever", Verdict::RetransmitKeep { backoff: true }), ("1 ms", Verdict::Proceed)]
    {
        let mut host = Host::sender(&[("p_max_ttl", ttl)]);
        host.dup_acks(1, Some(0.0));
        host.expire();
        assert_eq!(host.verdicts(), [expected], "{ttl}");
    }
}

#[test]
fn b9_before_the_first_report_the_probability_is_0() {
    let mut host = Host::sender(&[]);
    host.expire();
    assert_eq!(host.verdicts(), [Verdict::RetransmitKeep { backoff: true }]);
}

#[test]
fn b11_without_a_probability_a_weak_signal_may_excuse_a_loss() {
    let cases = [("false", -80, Verdict::Proceed), ("true", -50, Verdict::Proceed), ("true", -80, KEPT)];
    for (evidence, power_dbm, expected) in cases {
        let mut host = Host::sender(&[("power_evidence", evidence)]);
        for _ in 0..3 {
            host.report(0, PathReport { power_dbm: Some(power_dbm), ..PathReport::default() });
        }
        assert_eq!(host.verdicts(), [expected], "{evidence} {power_dbm}");
    }
}

// ---- Handovers at the sender ---------------------------------------------------------------------------------------

#[test]
fn a_sender_that_is_told_of_a_handover_holds_still_and_goes_back_n_with_its_window_when_it_is_over() {
    let mut host = Host::sender(&[]);
    assert_eq!(host.report(0, told(Handover::Started)), []);
    assert!(matches!(host.connection.control(), Control::Suspended { .. }));
    assert_eq!(host.report(0, told(Handover::Started)), []);
    let sent = host.report(0, told(Handover::Completed));
    assert_eq!(sent.len(), 10);
    assert_eq!(sent[0].seq, SeqNumber(1));
    assert!((host.cwnd() - 10.0).abs() < 1e-9);
}

#[test]
fn b14_an_ack_of_new_data_ends_the_hold_unless_it_is_marked() {
    let mut host = Host::sender(&[]);
    host.report(0, told(Handover::Started));
    host.report(2, told(Handover::Started));
    assert!(matches!(host.connection.control(), Control::Suspended { .. }));
    host.report(3, PathReport::default());
    assert_eq!(host.connection.control(), Control::Running);
}

#[test]
fn b14_copies_of_the_end_of_a_handover_show_no_hole() {
    let mut host = Host::sender(&[]);
    host.report(0, told(Handover::Started));
    for _ in 0..6 {
        host.report(0, told(Handover::Completed));
    }
    assert_eq!(host.verdicts(), []);
    assert_eq!(host.connection.sender().dupacks, 0);
}

#[test]
fn the_watchdog_probes_with_one_segment_and_its_acknowledgement_ends_the_hold() {
    let mut host = Host::sender(&[]);
    host.report(0, told(Handover::Started));
    let (at, why) = host.scheme.poll_timeout().expect("a watchdog");
    assert_eq!((at, why), (host.now + Duration::from_secs(60), "handover watchdog"));
    host.now = at;
    host.scheme.handle_timeout(at);
    let sent = host.settle();
    assert_eq!(sent.iter().map(|s| s.seq).collect::<Vec<_>>(), [SeqNumber(1)]);
    host.acked(1, None);
    assert_eq!(host.connection.control(), Control::Running);
    assert_eq!(host.scheme.poll_timeout(), None);
}

#[test]
fn a_mobile_sender_holds_still_by_itself_while_its_link_is_bad() {
    let mut host = Host::mobile_sender(&[]);
    host.hear(SignalKind::LinkNotOk);
    assert!(matches!(host.connection.control(), Control::Suspended { .. }));
    host.acked(2, None);
    assert!(matches!(host.connection.control(), Control::Suspended { .. }), "it was under way");
    assert_eq!(host.hear(SignalKind::LinkOk).len(), 10);
}

// ---- The receiver --------------------------------------------------------------------------------------------------

#[test]
fn an_ack_reports_the_probability_of_the_data_that_caused_it_and_the_power_of_the_last_frame() {
    let mut host = Host::receiver(&[]);
    host.hear(SignalKind::ReceivedPower(-63.6));
    for p in [0.2, 0.8, 0.0] {
        let report = host.data(p).pop().and_then(report_of).expect("a report");
        assert_eq!(report.p_max, Some(Probability::nearest(p)));
        assert_eq!((report.power_dbm, report.handover), (Some(-64), None));
    }
}

#[test]
fn a_delayed_ack_reports_the_highest_probability_of_the_data_that_it_acknowledges() {
    let mut host = Host::receiver_with(&[], |profile| profile.delayed_ack = Some(Duration::from_millis(100)));
    assert_eq!(host.data(0.8), []);
    let report = host.data(0.2).pop().and_then(report_of).expect("a report");
    assert_eq!(report.p_max, Some(Probability::nearest(0.8)));
}

#[test]
fn what_is_not_to_be_reported_is_not() {
    let mut host = Host::receiver(&[("report_p_max", "false"), ("report_power", "false")]);
    host.scheme.handle_signal(&signal(SignalKind::ReceivedPower(-60.0)), Instant::ZERO);
    assert_eq!(host.data(0.5).pop().and_then(report_of), Some(PathReport::default()));
    assert!(!host.scheme.hears(&SignalKind::ReceivedPower(0.0)));
}

#[test]
fn a_mobile_receiver_tells_the_beginning_at_once_and_with_each_ack_and_the_end_three_times() {
    let mut host = Host::receiver(&[]);
    host.data(0.0);
    let moments =
        |sent: Vec<Segment>| sent.into_iter().map(|s| report_of(s).unwrap().handover).collect::<Vec<_>>();
    assert_eq!(moments(host.hear(SignalKind::LinkNotOk)), [Some(Handover::Started)]);
    assert_eq!(moments(host.data(0.0)), [Some(Handover::Started)]);
    assert_eq!(host.hear(SignalKind::IpNotOk), [], "the same handover");
    assert_eq!(host.hear(SignalKind::LinkOk), [], "not registered yet");
    assert_eq!(moments(host.hear(SignalKind::IpOk)), [Some(Handover::Completed); 3]);
    assert_eq!(moments(host.data(0.0)), [None]);
}

#[test]
fn with_explicit_handovers_only_the_levels_do_not_count() {
    let mut host = Host::receiver(&[("handover", "explicit")]);
    host.data(0.0);
    assert_eq!(host.hear(SignalKind::LinkNotOk), []);
    assert_eq!(host.hear(SignalKind::HandoverStarted).len(), 1);
    assert_eq!(host.hear(SignalKind::HandoverCompleted).len(), 3);
}

// ---- Helpers -------------------------------------------------------------------------------------------------------

/// The answer to duplicate ACKs that are excused.
const KEPT: Verdict = Verdict::RetransmitKeep { backoff: true };

fn told(handover: Handover) -> PathReport {
    PathReport { p_max: Some(Probability(0)), power_dbm: None, handover: Some(handover) }
}

fn report_of(segment: Segment) -> Option<PathReport> {
    match segment.options.experimental {
        Some(Experimental::PathReport(report)) => Some(report),
        _ => None,
    }
}

fn signal(kind: SignalKind) -> Signal {
    let now = Instant::ZERO;
    Signal { kind, scope: Scope::Interface, source: Source::Link, origin: now, delivered: now }
}

/// One host with one connection; the test is the rest of the world. Positions on the wire start at 1 for both.
struct Host {
    connection: Connection,
    scheme: Box<dyn Scheme>,
    now: Instant,
    /// Segments of the peer's data taken.
    received: u32,
}

impl Host {
    /// A fixed host with ten segments in flight.
    fn sender(settings: &[(&str, &str)]) -> Self {
        Host::sending(settings, false)
    }

    /// The same on a mobile host.
    fn mobile_sender(settings: &[(&str, &str)]) -> Self {
        Host::sending(settings, true)
    }

    fn sending(settings: &[(&str, &str)], is_mobile: bool) -> Self {
        let mut host = Host::new(settings, is_mobile, |profile| profile.initial_window = 10);
        host.connection.write(100_000);
        assert_eq!(host.settle().len(), 10);
        host
    }

    /// A mobile host that has sent nothing.
    fn receiver(settings: &[(&str, &str)]) -> Self {
        Host::receiver_with(settings, |_| {})
    }

    fn receiver_with(settings: &[(&str, &str)], change: impl FnOnce(&mut Profile)) -> Self {
        Host::new(settings, true, change)
    }

    fn new(settings: &[(&str, &str)], is_mobile: bool, change: impl FnOnce(&mut Profile)) -> Self {
        let spec = Spec::named("boosted-tcp").unwrap();
        let mut params = Params::defaults(spec.params);
        settings.iter().for_each(|(name, text)| params.set(name, text).unwrap());
        let build = if is_mobile { spec.mobile } else { spec.fixed }.unwrap();
        let mut profile =
            Profile { mss: MSS, limited_transmit: false, ..Profile::named("ns-2.35").unwrap().clone() };
        change(&mut profile);
        let config = Config {
            id: ConnectionId(7),
            profile,
            variant: Variant::named("tahoe").unwrap(),
            iss: SeqNumber(0),
            auto_read: true,
        };
        let mut connection = Connection::connect(config);
        connection.enable_trace();
        let mut host = Host { connection, scheme: build(&params), now: Instant::ZERO, received: 0 };
        assert!(host.settle()[0].flags.contains(Flags::SYN));
        host.now = Instant::from_nanos(20_000_000);
        let flags = Flags::SYN | Flags::ACK;
        let options = Options { mss: Some(MSS as u16), ..Options::default() };
        host.take(Segment { flags, ack: SeqNumber(1), window: u16::MAX, options, ..Segment::default() });
        host
    }

    /// What follows every input: orders, segments.
    fn settle(&mut self) -> Vec<Segment> {
        let mut sent = Vec::new();
        loop {
            while let Some(segment) = self.connection.poll_transmit(self.now, self.scheme.as_mut()) {
                sent.push(segment);
            }
            match self.scheme.poll_action() {
                Some(Action::Tcp { command, .. }) => self.connection.execute(command, self.now),
                Some(other) => panic!("{other:?}"),
                None => return sent,
            }
        }
    }

    fn take(&mut self, segment: Segment) -> Vec<Segment> {
        self.connection.handle_segment(&segment, self.now, self.scheme.as_mut());
        self.settle()
    }

    /// An ACK of the first `segments` with a report comes.
    fn report(&mut self, segments: u32, report: PathReport) -> Vec<Segment> {
        self.ack_with(segments, Some(Experimental::PathReport(report)))
    }

    fn ack_with(&mut self, segments: u32, experimental: Option<Experimental>) -> Vec<Segment> {
        self.now += Duration::from_millis(1);
        self.take(Segment {
            seq: SeqNumber(1),
            ack: SeqNumber(1 + segments * MSS),
            flags: Flags::ACK,
            window: u16::MAX,
            options: Options { experimental, ..Options::default() },
            ..Segment::default()
        })
    }

    fn acked(&mut self, segments: u32, p: Option<f64>) -> Vec<Segment> {
        let report = |p| Experimental::PathReport(PathReport { p_max: Some(p), ..PathReport::default() });
        self.ack_with(segments, p.map(Probability::nearest).map(report))
    }

    fn dup_acks(&mut self, count: u32, p: Option<f64>) -> Vec<Segment> {
        (0..count).flat_map(|_| self.acked(0, p)).collect()
    }

    /// Data of the peer comes that met this probability.
    fn data(&mut self, p: f64) -> Vec<Segment> {
        let signal = Signal { scope: Scope::Flow(7), ..signal(SignalKind::DropProbability(p)) };
        self.scheme.handle_signal(&signal, self.now);
        self.received += 1;
        self.take(Segment {
            seq: SeqNumber(1 + (self.received - 1) * MSS),
            ack: SeqNumber(1),
            len: MSS,
            flags: Flags::ACK,
            window: u16::MAX,
            ..Segment::default()
        })
    }

    fn hear(&mut self, kind: SignalKind) -> Vec<Segment> {
        self.scheme.handle_signal(&signal(kind), self.now);
        self.settle()
    }

    /// The retransmission timer expires.
    fn expire(&mut self) {
        self.now = self.connection.poll_timeout().expect("a timer").0;
        self.connection.handle_timeout(self.now, self.scheme.as_mut());
        self.settle();
    }

    fn cwnd(&self) -> f64 {
        self.connection.sender().window.cwnd
    }

    /// What the scheme said to losses and timeouts so far.
    fn verdicts(&mut self) -> Vec<Verdict> {
        let verdict = |event| match event {
            Event::LossDetected { verdict, .. } | Event::TimeoutExpired { verdict, .. } => Some(verdict),
            _ => None,
        };
        self.connection.drain_trace().filter_map(verdict).collect()
    }
}
