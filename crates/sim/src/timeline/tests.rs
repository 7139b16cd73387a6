use super::*;
use crate::results::{FanOut, Results};
use crate::scenario::{Setting, load_text};
use crate::{World, run_observed};

/// An upload whose first link is down from 2 s to 5 s.
const UPLOAD: &str = r#"
    duration = "60 s"
    tcp = { profile = "rfc" }
    hosts = { phone = { mobile = true }, server = {}, other = {} }
    routers = { r = {} }
    links = [
        { between = ["phone", "r"], rate = "2 Mb/s", delay = "10 ms" },
        { between = ["r", "server"], rate = "10 Mb/s", delay = "20 ms" },
        { between = ["r", "other"], rate = "10 Mb/s", delay = "20 ms" },
    ]
    flows = [{ from = "phone", to = "server", bytes = "1 MB" }]
    outages = [{ link = ["phone", "r"], start = "2 s", duration = "3 s" }]
"#;

/// An upload over the access point of a cell that the host leaves for a while.
const CELL: &str = r#"
    duration = "20 s"
    hosts = { phone = { mobile = true }, server = {} }
    routers = { west = {}, core = {} }
    cells = [{ name = "hall", access_points = ["west"], members = ["phone"], rate = "11 Mb/s" }]
    links = [
        { between = ["west", "core"], rate = "20 Mb/s", delay = "3 ms" },
        { between = ["core", "server"], rate = "20 Mb/s", delay = "3 ms" },
    ]
    flows = [{ from = "phone", to = "server", start = "1 s" }]
    absences = [{ node = "phone", start = "4 s", duration = "5 s" }]
"#;

#[test]
fn an_outage_is_a_span_and_the_next_data_ends_its_silence() {
    let (timeline, results) = record(UPLOAD, &[]);
    let [outage] = timeline.outages.as_slice() else { panic!("{:?}", timeline.outages) };
    assert_eq!((outage.span.from, outage.span.until), (seconds(2), seconds(5)));
    assert_eq!(outage.idle(), Some(results.flows[0].idle));
}

#[test]
fn an_outage_of_a_link_that_the_flow_does_not_use_is_none_of_its() {
    let (timeline, _) = record(UPLOAD, &["outages[0].link=[\"r\", \"other\"]"]);
    assert_eq!(timeline.outages, []);
}

#[test]
fn outages_that_overlap_are_one() {
    let twice = r#"outages=[{ link = ["phone", "r"], start = "2 s", duration = "3 s" },
        { link = ["r", "server"], start = "4 s", duration = "2 s" }]"#;
    let (timeline, _) = record(UPLOAD, &[twice]);
    let spans: Vec<Span> = timeline.outages.iter().map(|outage| outage.span).collect();
    assert_eq!(spans, [Span { from: seconds(2), until: seconds(6) }]);
}

#[test]
fn without_a_scheme_timeouts_back_off_and_nobody_hears_or_freezes() {
    let (timeline, results) = record(UPLOAD, &[]);
    let expiries: u32 = timeline.timeouts.iter().map(|tick| tick.count).sum();
    assert_eq!(u64::from(expiries), results.flows[0].stats.timeouts);
    assert!(expiries > 1 && timeline.signals.is_empty() && timeline.freezes.is_empty());
    let during: Vec<&Point> = timeline.rto.iter().filter(|p| span(2, 5).contains(&p.at)).collect();
    assert!(during.windows(2).all(|pair| pair[1].value >= pair[0].value), "{during:?}");
    let first = timeline.timeouts[0].at;
    assert!(timeline.cwnd.iter().any(|p| p.at == first && (p.value - 1.0).abs() < 1e-9));
}

#[test]
fn with_ilc_tcp_the_sender_is_frozen_from_a_timeout_until_the_link_is_back() {
    let (timeline, results) = record(UPLOAD, &["scheme.name=ilc-tcp"]);
    assert_eq!(results.flows[0].stats.freezes, 1);
    let [freeze] = timeline.freezes.as_slice() else { panic!("{:?}", timeline.freezes) };
    assert_eq!(freeze.from, timeline.timeouts[0].at);
    assert!(freeze.until >= seconds(5) && freeze.until < seconds(6), "{freeze:?}");
    let kinds: Vec<&str> = timeline.signals.iter().map(|heard| heard.kind).collect();
    assert_eq!(kinds, ["link-not-ok", "link-ok"]);
    assert_eq!(timeline.outages[0].idle(), Some(Duration::ZERO));
}

#[test]
fn bytes_sent_again_are_bytes_that_were_sent() {
    let (timeline, _) = record(UPLOAD, &[]);
    let highest = timeline.sent.iter().map(|burst| burst.high).max();
    assert_eq!(highest, Some(1_000_000));
    assert!(!timeline.resent.is_empty());
    assert!(timeline.resent.iter().all(|burst| Some(burst.high) <= highest));
}

#[test]
fn attachments_fill_the_run_of_a_host_that_roams_and_only_of_one() {
    let (timeline, _) = record(CELL, &[]);
    assert_eq!(timeline.host.as_deref(), Some("phone"));
    let names: Vec<Option<&str>> = timeline.attachments.iter().map(|a| a.to.as_deref()).collect();
    assert_eq!(names, [Some("west"), None, Some("west")]);
    let mut at = Instant::ZERO;
    for attachment in &timeline.attachments {
        assert_eq!(attachment.span.from, at);
        at = attachment.span.until;
    }
    assert_eq!(at, timeline.ended);
    assert_eq!(record(UPLOAD, &[]).0.attachments, []);
}

#[test]
fn a_host_out_of_range_is_cut_off_until_its_access_point_hears_it_again() {
    let (timeline, results) = record(CELL, &[]);
    let [outage] = timeline.outages.as_slice() else { panic!("{:?}", timeline.outages) };
    assert_eq!(outage.span.from, seconds(4));
    assert!(outage.span.until > seconds(9), "{outage:?}");
    assert_eq!(outage.idle(), Some(results.flows[0].idle));
}

#[test]
fn a_host_whose_first_word_is_that_it_is_no_longer_cut_off_has_been_so_since_the_beginning() {
    let scenario = load(CELL, &[]);
    let until = |at: Instant| {
        let mut recorder = Recorder::new(&scenario, 0);
        recorder.observe(at, Place::Node(scenario.flows[0].from), &Event::OutageEnded);
        recorder.finish(seconds(20)).outages
    };
    let whole = Outage { span: Span { from: Instant::ZERO, until: seconds(1) }, resumed: None };
    assert_eq!(until(seconds(1)), [whole]);
    assert_eq!(until(Instant::ZERO), []);
}

#[test]
fn ten_minutes_with_a_million_segments_fit_a_picture_and_no_retransmission_is_lost() {
    let scenario = load(UPLOAD, &[]);
    let mut recorder = Recorder::new(&scenario, 0);
    let place = Place::End(0);
    let mut again = Vec::new();
    for n in 0..1_000_000u64 {
        let at = Instant::from_nanos(n * 600_000);
        let start = 1 + 1_000 * n;
        recorder.observe(at, place, &Event::SegmentSent { start, len: 1_000, retransmission: false });
        // Steps that never repeat, so that each column gets all it can hold.
        let wave = (n * 7_919 % 1_013) as f64;
        let rto = Duration::from_micros(200_000 + n * 104_729 % 10_007);
        recorder.observe(
            at,
            place,
            &Event::AckReceived { ack: start, cwnd: wave, ssthresh: wave / 2.0, rto },
        );
        if n % 11 == 0 {
            let start = start - start.min(1_000 * (n * 31 % 997));
            recorder.observe(at, place, &Event::SegmentSent { start, len: 1_000, retransmission: true });
            again.push((at, start.saturating_sub(1)));
        }
    }
    let timeline = recorder.finish(seconds(600));
    assert!(timeline.marks() < 20_000, "{}", timeline.marks());
    for (at, low) in again {
        let covers = |b: &Burst| b.from <= at && at <= b.until && b.low <= low && low + 1_000 <= b.high;
        let near = timeline.resent.partition_point(|b| b.until < at).saturating_sub(3);
        assert!(timeline.resent[near..].iter().take(9).any(covers), "{at} {low}");
    }
    let highest = timeline.cwnd.iter().map(|point| point.value).fold(0.0, f64::max);
    assert!((highest - 1_012.0).abs() < 1e-9, "{highest}");
}

#[test]
fn several_observers_hear_the_same() {
    let scenario = load(UPLOAD, &[]);
    let [mut one, mut two] = [Recorder::new(&scenario, 0), Recorder::new(&scenario, 0)];
    let mut both = FanOut::default();
    both.add(&mut one);
    both.add(&mut two);
    let ended = World::new(&scenario, 1).observed(&mut both).run().ended;
    let [one, two] = [one.finish(ended), two.finish(ended)];
    assert!(one.marks() > 100);
    assert_eq!(one, two);
}

// ---- Helpers ----------------------------------------------------------------------------------------------------

fn load(text: &str, settings: &[&str]) -> Scenario {
    let settings: Vec<Setting> = settings.iter().map(|setting| setting.parse().unwrap()).collect();
    load_text("test.toml", text, &settings).unwrap()
}

fn record(text: &str, settings: &[&str]) -> (Timeline, Results) {
    let scenario = load(text, settings);
    let mut recorder = Recorder::new(&scenario, 0);
    let results = run_observed(&scenario, 1, &mut recorder);
    (recorder.finish(results.ended), results)
}

fn seconds(s: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(s)
}

fn span(from: u64, until: u64) -> std::ops::Range<Instant> {
    seconds(from)..seconds(until)
}
