use super::*;
use segue_proto::time::Duration;
use segue_sim::timeline::{Attachment, Heard, Outage, Tick};

#[test]
fn an_outage_is_shaded_through_all_panels_and_is_a_band() {
    let svg = element(&sample(), "a walk");
    assert_eq!(svg.matches("class=\"cut\"").count(), 1);
    assert!(svg.contains(">4.0 s</text>"), "{svg}");
    assert!(svg.contains("cut off from 2.000 s to 6.000 s: 4.000 s"));
}

#[test]
fn outages_that_no_eye_tells_apart_share_a_mark() {
    let mut timeline = sample();
    let short = |n: u64| Outage { span: span(2_000 + 2 * n, 2_001 + 2 * n), resumed: None };
    timeline.outages = (0..1_000).map(short).collect();
    assert_eq!(element(&timeline, "").matches("class=\"cut\"").count(), 1);
}

#[test]
fn strips_that_have_nothing_to_show_are_left_out() {
    let mut timeline = sample();
    let labels = ["Attached to", "Cut off", "Frozen", "Link signals", "Mobile host"];
    let full = element(&timeline, "");
    assert!(labels.iter().all(|label| full.contains(label)), "{full}");
    assert!(!full.contains("IP signals"));
    timeline.attachments.clear();
    timeline.outages.clear();
    timeline.freezes.clear();
    timeline.signals.clear();
    let bare = element(&timeline, "");
    assert!(!labels.iter().any(|label| bare.contains(label)), "{bare}");
}

#[test]
fn names_of_the_scenario_are_escaped() {
    let svg = file(&sample(), "to & fro");
    assert!(svg.contains(">to &amp; fro</text>") && svg.contains("&lt;west&gt;"));
    assert!(!svg.contains("<west>"));
}

#[test]
fn only_a_window_that_dwarfs_the_rest_is_drawn_logarithmically() {
    let mut timeline = sample();
    assert!(element(&timeline, "").contains(">Window (segments)<"));
    timeline.cwnd.push(point(9_500, 5_000.0));
    assert!(element(&timeline, "").contains(">Window (segments, logarithmic)<"));
}

#[test]
fn a_threshold_far_above_the_window_is_not_drawn() {
    let mut timeline = sample();
    let drawn = |timeline: &Timeline| element(timeline, "").matches("stroke=\"var(--c3)\"").count();
    timeline.ssthresh = vec![point(100, 1_000.0), point(3_000, 10.0), point(4_000, 900.0)];
    assert_eq!(drawn(&timeline), 1);
    // From 3 s, the first value within the scale, until 4 s.
    let line = "stroke=\"var(--c3)\" stroke-width=\"1.2\" d=\"M376.6 449.9H462.8\"";
    assert!(element(&timeline, "").contains(line), "{}", element(&timeline, ""));
    timeline.ssthresh = vec![point(100, 1_000.0)];
    assert_eq!(drawn(&timeline), 0);
}

#[test]
fn a_single_segment_is_a_mark_that_can_be_seen() {
    let mut timeline = sample();
    timeline.sent = vec![Burst { from: at(0), until: at(0), low: 0, high: 50_000_000 }];
    timeline.resent = vec![Burst { from: at(3_000), until: at(3_000), low: 0, high: 1_000 }];
    let svg = element(&timeline, "");
    assert!(svg.contains("stroke-width=\"3.5\" d=\"M376.6 334.0h0\""), "{svg}");
}

#[test]
fn a_run_in_which_nothing_was_sent_has_a_picture_too() {
    let nothing = Timeline {
        host: None,
        sent: Vec::new(),
        resent: Vec::new(),
        acknowledged: Vec::new(),
        cwnd: Vec::new(),
        ssthresh: Vec::new(),
        rto: Vec::new(),
        timeouts: Vec::new(),
        signals: Vec::new(),
        freezes: Vec::new(),
        attachments: Vec::new(),
        outages: Vec::new(),
        ..sample()
    };
    let svg = element(&nothing, "");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

// ---- Helpers ----------------------------------------------------------------------------------------------------

/// Ten seconds with an outage from 2 s to 6 s, to which a scheme answers with a freeze.
fn sample() -> Timeline {
    Timeline {
        ended: at(10_000),
        flow: 0,
        host: Some("phone".to_owned()),
        sent: vec![Burst { from: at(0), until: at(1_900), low: 0, high: 50_000 }],
        resent: vec![Burst { from: at(6_000), until: at(6_000), low: 40_000, high: 50_000 }],
        acknowledged: vec![point(100, 10_000.0), point(6_100, 50_000.0)],
        cwnd: vec![point(100, 2.0), point(1_000, 20.0)],
        ssthresh: vec![point(100, 30.0)],
        rto: vec![point(100, 1.0)],
        timeouts: vec![Tick { at: at(2_900), count: 1 }],
        signals: vec![Heard { kind: "link-ok", at: vec![Tick { at: at(6_000), count: 1 }] }],
        freezes: vec![span(2_900, 6_000)],
        attachments: vec![
            Attachment { span: span(0, 2_000), to: Some("<west>".to_owned()) },
            Attachment { span: span(2_000, 6_000), to: None },
            Attachment { span: span(6_000, 10_000), to: Some("<west>".to_owned()) },
        ],
        registrations: Vec::new(),
        outages: vec![Outage { span: span(2_000, 6_000), resumed: Some(at(6_000)) }],
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn point(ms: u64, value: f64) -> Point {
    Point { at: at(ms), value }
}

fn span(from: u64, until: u64) -> Span {
    Span { from: at(from), until: at(until) }
}
