//! Segue, the combined scheme: what it does at a timeout, at a loss, when the path comes back, and what stops it.

use segue_proto::params::Params;
use segue_proto::schemes::{Action, Scheme, segue};
use segue_proto::signal::{LostData, Scope, Signal, SignalKind, Source};
use segue_proto::tcp::{
    Command, Experimental, Handover, Loss, Options, PathReport, Probability, Segment, Verdict,
};
use segue_proto::testing::{End, Pair};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;

#[test]
fn a_sender_whose_link_is_away_freezes_and_goes_on_with_its_window() {
    let mut pair = upload();
    outage(&mut pair, 2_000..8_000);
    pair.signal_at(at(2_000), SignalKind::LinkNotOk);
    pair.signal_at(at(8_000), SignalKind::LinkOk);
    pair.run_until(at(1_990));
    let before = pair.client.sender().window;
    pair.run_until(at(8_001));
    assert_eq!(pair.client.stats().freezes, 1);
    assert!(pair.client.sender().window.cwnd >= before.cwnd, "{:?}", pair.client.sender().window);
    assert_eq!(first_data_after(&pair, at(8_000)), at(8_000));
}

#[test]
fn what_late_news_could_not_prevent_is_undone() {
    let mut pair = upload();
    outage(&mut pair, 2_000..8_000);
    // The link is gone for four seconds before anybody says so: timeouts have cut the window.
    pair.signal_at(at(6_000), SignalKind::LinkNotOk);
    pair.signal_at(at(8_000), SignalKind::LinkOk);
    pair.run_until(at(1_990));
    let before = pair.client.sender().window;
    pair.run_until(at(5_990));
    assert!(pair.client.sender().window.cwnd < 2.0);
    pair.run_until(at(8_001));
    let after = pair.client.sender().window;
    assert!(after.cwnd >= before.cwnd && after.ssthresh >= before.ssthresh, "{before:?} {after:?}");
    assert_eq!(first_data_after(&pair, at(8_000)), at(8_000));
}

#[test]
fn an_outage_shorter_than_the_timeout_ends_when_the_link_does() {
    let mut pair = upload();
    outage(&mut pair, 2_000..2_150);
    pair.signal_at(at(2_000), SignalKind::LinkNotOk);
    pair.signal_at(at(2_150), SignalKind::LinkOk);
    pair.run_until(at(2_400));
    assert_eq!(pair.client.stats().timeouts, 0);
    assert_eq!(first_data_after(&pair, at(2_150)), at(2_150));
}

#[test]
fn with_the_link_back_and_registration_to_come_nothing_is_sent() {
    let mut pair = upload();
    outage(&mut pair, 2_000..9_000);
    pair.signal_at(at(2_000), SignalKind::LinkNotOk);
    pair.signal_at(at(2_000), SignalKind::IpNotOk);
    pair.signal_at(at(8_000), SignalKind::LinkOk);
    pair.signal_at(at(9_000), SignalKind::IpOk);
    pair.run_until(at(9_500));
    assert_eq!(first_data_after(&pair, at(8_000)), at(9_000));
}

#[test]
fn a_frozen_sender_that_hears_nothing_looks_for_itself() {
    let mut pair = upload();
    outage(&mut pair, 2_000..20_000);
    pair.signal_at(at(2_000), SignalKind::LinkNotOk);
    pair.run_until(at(40_000));
    let frozen = pair.trace.iter().find_map(|(when, event)| match event {
        Event::TimeoutExpired { verdict: Verdict::Freeze, .. } => Some(*when),
        _ => None,
    });
    let frozen = frozen.expect("it froze");
    let first = first_data_after(&pair, at(20_000));
    let seconds = first.since(frozen).as_secs_f64();
    // One probe each ten seconds; the second finds the link there.
    assert!((19.9..20.1).contains(&seconds), "{seconds}");
}

#[test]
fn a_timeout_for_what_the_mac_dropped_keeps_the_window_and_backs_off() {
    let (pair, mut scheme) = in_full_flight();
    let lost = first_outstanding(&pair);
    scheme.handle_signal(&signal(SignalKind::LinkLoss { lost: Some(lost) }, Scope::Interface), pair.now);
    assert_eq!(scheme.on_timeout(&pair.client, pair.now), Verdict::RetransmitKeep { backoff: true });
    // The flag is used up.
    assert_eq!(scheme.on_timeout(&pair.client, pair.now), Verdict::Proceed);
}

#[test]
fn reported_congestion_forbids_to_excuse_a_loss() {
    for (p_max, expected) in [(0.7, Verdict::RetransmitKeep { backoff: false }), (0.8, Verdict::Proceed)] {
        let (pair, mut scheme) = in_full_flight();
        report(&mut *scheme, &pair, PathReport { p_max: Some(Probability::nearest(p_max)), ..NOTHING });
        let sender = pair.client.sender();
        let lost = first_outstanding(&pair);
        scheme.handle_signal(&signal(SignalKind::LinkLoss { lost: Some(lost) }, Scope::Interface), pair.now);
        let loss = Loss { start: sender.snd_una, end: sender.snd_una + 1000 };
        assert_eq!(scheme.on_loss_detected(&pair.client, loss, pair.now), expected, "{p_max}");
    }
}

#[test]
fn a_sender_that_hears_of_the_return_undoes_its_cut_and_starts_again() {
    let (pair, mut scheme) = in_full_flight();
    let window = pair.client.sender().window;
    assert_eq!(scheme.on_timeout(&pair.client, pair.now), Verdict::Proceed);
    report(&mut *scheme, &pair, PathReport { handover: Some(Handover::Completed), ..NOTHING });
    scheme.on_ack(&pair.client, 0, pair.now);
    let orders: Vec<Command> = std::iter::from_fn(|| scheme.poll_action())
        .filter_map(|action| match action {
            Action::Tcp { command, .. } => Some(command),
            _ => None,
        })
        .collect();
    assert_eq!(orders, [Command::Suspend, Command::SetWindow(window), Command::Resume]);
}

#[test]
fn news_of_a_return_means_nothing_to_a_sender_that_misses_nothing() {
    let (pair, mut scheme) = in_full_flight();
    report(&mut *scheme, &pair, PathReport { handover: Some(Handover::Completed), ..NOTHING });
    scheme.on_ack(&pair.client, 0, pair.now);
    assert_eq!(scheme.poll_action(), None);
}

#[test]
fn a_receiver_that_is_back_says_so_three_times_unless_data_comes() {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.scheme = segue::SPEC.mobile.map(|build| build(&defaults()));
    pair.server.write(2_000_000);
    outage(&mut pair, 1_000..4_000);
    pair.signal_at(at(1_000), SignalKind::LinkNotOk);
    pair.signal_at(at(4_000), SignalKind::LinkOk);
    pair.run_until(at(6_000));
    let told = |sent: &&segue_proto::testing::Sent| {
        let report = sent.segment.options.experimental;
        matches!(
            report,
            Some(Experimental::PathReport(PathReport { handover: Some(Handover::Completed), .. }))
        )
    };
    let times: Vec<Instant> = pair.wire.iter().filter(told).map(|sent| sent.at).collect();
    assert_eq!(times, [at(4_000); 3]);
}

#[test]
fn a_receiver_that_was_not_missed_keeps_silent() {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.scheme = segue::SPEC.mobile.map(|build| build(&defaults()));
    pair.server.write(20_000_000);
    // A false alarm: data comes all the time.
    pair.signal_at(at(1_000), SignalKind::LinkNotOk);
    pair.signal_at(at(1_500), SignalKind::LinkOk);
    pair.run_until(at(2_000));
    let options = pair.wire.iter().filter(|sent| sent.segment.options.experimental.is_some());
    assert_eq!((pair.client.receiver().delivered() > 100_000, options.count()), (true, 0));
}

#[test]
fn only_an_alarming_drop_probability_is_reported() {
    for (p, reported) in [(0.5, false), (0.9, true)] {
        let (pair, mut scheme) = in_full_flight();
        let scope = Scope::Flow(pair.client.id().0);
        scheme.handle_signal(&signal(SignalKind::DropProbability(p), scope), pair.now);
        let mut ack = Segment::default();
        assert!(scheme.on_send(&pair.client, &mut ack, pair.now));
        assert_eq!(ack.options.experimental.is_some(), reported, "{p}");
    }
}

const NOTHING: PathReport = PathReport { p_max: None, power_dbm: None, handover: None };

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn defaults() -> Params {
    Params::defaults(segue::SPEC.params)
}

fn signal(kind: SignalKind, scope: Scope) -> Signal {
    let now = Instant::ZERO;
    Signal { kind, scope, source: Source::Mac, origin: now, delivered: now }
}

/// A mobile client that has much to send.
fn upload() -> Pair {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.scheme = segue::SPEC.mobile.map(|build| build(&defaults()));
    pair.client.write(200_000_000);
    pair
}

fn outage(pair: &mut Pair, millis: std::ops::Range<u64>) {
    let out = at(millis.start)..at(millis.end);
    pair.set_fate(move |_, _, now, _| (!out.contains(&now)).then_some(Duration::ZERO));
}

fn first_data_after(pair: &Pair, from: Instant) -> Instant {
    let mut data = pair.wire.iter().filter(|sent| sent.by == End::Client && sent.segment.len > 0);
    data.find(|sent| sent.at >= from).expect("something is sent").at
}

/// A connection with data outstanding, and the scheme that has seen it, to be asked directly.
fn in_full_flight() -> (Pair, Box<dyn Scheme>) {
    let mut pair = upload();
    pair.run_until(at(1_005));
    let scheme = pair.scheme.take().expect("a part on mobile hosts");
    assert!(pair.client.sender().outstanding() > 2_000);
    (pair, scheme)
}

/// The first segment that is not acknowledged.
fn first_outstanding(pair: &Pair) -> LostData {
    let una = pair.client.sender().snd_una;
    let is_first = |sent: &&segue_proto::testing::Sent| {
        let own = sent.by == End::Client && sent.segment.len > 0;
        own && pair.client.sent_offset(sent.segment.seq).is_some_and(|offset| offset + 1 == una)
    };
    let sent = pair.wire.iter().rev().find(is_first).expect("it was sent");
    LostData { connection: pair.client.id(), seq: sent.segment.seq, len: sent.segment.len }
}

fn report(scheme: &mut dyn Scheme, pair: &Pair, report: PathReport) {
    let options = Options { experimental: Some(Experimental::PathReport(report)), ..Options::default() };
    scheme.on_ack_options(&pair.client, &options, true, pair.now);
}
