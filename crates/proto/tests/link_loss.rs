//! Link-loss: approaches A and B, and the resolutions D1–D12 of `papers/link-loss/README.md` that concern the scheme.

use segue_proto::params::Params;
use segue_proto::schemes::{Action, MacCommand, Scheme, Spec};
use segue_proto::signal::{LostData, Scope, Signal, SignalKind, Source};
use segue_proto::tcp::{Profile, Verdict};
use segue_proto::testing::{End, Pair};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;
use segue_proto::wifi::Limits;

const GIVEN_UP: SignalKind = SignalKind::FrameSent { delivered: false, tries: 7 };

// ---- Approach A ----------------------------------------------------------------------------------------------------

#[test]
fn each_frame_given_up_raises_the_limit_by_six_retries_up_to_24_and_lowers_the_rate() {
    let mut mac = Mac::new(&[]);
    let orders: Vec<Vec<String>> = (0..4).map(|_| mac.hear(GIVEN_UP)).collect();
    assert_eq!(
        orders,
        [vec!["limit 13", "rate 89"], vec!["limit 19", "rate 78"], vec!["limit 25", "rate 67"], vec![]]
    );
}

#[test]
fn d2_a_limit_of_12_retries_is_13_attempts_of_an_rts_as_of_data() {
    let mut mac = Mac::new(&[]);
    mac.scheme.handle_signal(&signal(GIVEN_UP), Instant::ZERO);
    let order = mac.scheme.poll_action();
    assert_eq!(order, Some(Action::Mac(MacCommand::SetRetryLimits(Limits { short: 13, long: 13 }))));
}

#[test]
fn d12_any_frame_delivered_restores_what_was_configured_and_only_after_a_step() {
    for tries in [1, 9] {
        let mut mac = Mac::new(&[]);
        let delivered = SignalKind::FrameSent { delivered: true, tries };
        assert_eq!(mac.hear(delivered), [""; 0]);
        mac.hear(GIVEN_UP);
        assert_eq!(mac.hear(delivered), ["defaults"]);
        assert_eq!(mac.hear(delivered), [""; 0]);
        assert_eq!(mac.hear(GIVEN_UP), ["limit 13", "rate 89"], "the first step again");
    }
}

#[test]
fn d5_with_fixed12_the_limit_is_12_from_the_start_and_after_every_restoration() {
    let mut mac = Mac::new(&[("rl_mode", "fixed12")]);
    assert_eq!(mac.orders(), ["limit 13"]);
    assert_eq!(mac.hear(GIVEN_UP), ["rate 89"]);
    assert_eq!(mac.hear(SignalKind::FrameSent { delivered: true, tries: 2 }), ["defaults", "limit 13"]);
}

#[test]
fn d5_within_a_packet_the_limit_is_raised_before_the_last_attempt_that_it_allows() {
    let mut mac = Mac::new(&[("rl_mode", "within-packet")]);
    let raised: Vec<(u8, Vec<String>)> = (1..=24)
        .map(|tries| (tries, mac.hear(SignalKind::AttemptFailed { tries })))
        .filter(|(_, orders)| !orders.is_empty())
        .collect();
    let tries: Vec<u8> = raised.iter().map(|(tries, _)| *tries).collect();
    assert_eq!(tries, [6, 12, 18]);
    assert_eq!(raised[2].1, ["limit 25", "rate 67"]);
    assert_eq!(mac.hear(GIVEN_UP), [""; 0]);
}

#[test]
fn d6_the_rate_stays_if_it_is_not_to_be_reduced() {
    let mut mac = Mac::new(&[("reduce_rate", "false")]);
    assert_eq!(mac.hear(GIVEN_UP), ["limit 13"]);
}

// ---- Approach B ----------------------------------------------------------------------------------------------------

#[test]
fn a_loss_that_the_mac_announced_is_repaired_without_a_cut() {
    let pair = lose_segments(&[], &[20], |pair| pair.signal_at(at(45), lost_segment(20)));
    assert_eq!(verdicts(&pair), [Verdict::RetransmitKeep { backoff: false }]);
    assert_eq!(least_cwnd_after(&pair, at(50)), 10);
    assert_eq!(pair.client.stats().timeouts, 0);
}

#[test]
fn several_losses_of_one_window_are_repaired_without_a_cut_by_partial_acks() {
    let pair = lose_segments(&[], &[20, 22, 23], |pair| pair.signal_at(at(45), lost_segment(20)));
    assert_eq!(verdicts(&pair), [Verdict::RetransmitKeep { backoff: false }]);
    assert_eq!(least_cwnd_after(&pair, at(50)), 10);
    assert_eq!(pair.client.stats().timeouts, 0);
}

#[test]
fn approach_a_leaves_tcp_alone() {
    let pair = lose_segments(&[("approach", "a")], &[20], |pair| pair.signal_at(at(45), lost_segment(20)));
    assert_eq!(verdicts(&pair), [Verdict::Proceed]);
    assert!(least_cwnd_after(&pair, at(50)) < 7);
}

#[test]
fn d1_the_flag_is_used_up_by_the_first_repair() {
    let pair = lose_segments(&[], &[20, 60], |pair| pair.signal_at(at(45), lost_segment(20)));
    assert_eq!(verdicts(&pair), [Verdict::RetransmitKeep { backoff: false }, Verdict::Proceed]);
}

#[test]
fn d1_a_flag_older_than_its_timeouts_does_not_count() {
    // The timeout is a second, and the loss more than that after the drop.
    let stale = |knobs| lose_segments(knobs, &[3_000], |pair| pair.signal_at(at(45), lost_segment(1)));
    assert_eq!(verdicts(&stale(&[("flag_ttl", "1")])), [Verdict::Proceed]);
    let kept = verdicts(&stale(&[("flag_ttl", "1000")]));
    assert_eq!(kept, [Verdict::RetransmitKeep { backoff: false }]);
}

#[test]
fn d1_d4_a_timeout_is_conventional_and_clears_the_flag() {
    for exact in ["false", "true"] {
        let mut pair = pair(&[("exact", exact), ("flag_ttl", "1000")]);
        pair.set_fate(|_, _, now, _| (!(at(100)..at(300)).contains(&now)).then_some(Duration::ZERO));
        pair.signal_at(at(115), lost_segment(20));
        pair.run_until(at(5_000));
        let timeouts = pair.trace.iter().filter_map(|(_, event)| match event {
            Event::TimeoutExpired { verdict, .. } => Some(*verdict),
            _ => None,
        });
        assert_eq!(timeouts.collect::<Vec<_>>(), [Verdict::Proceed]);
        let scheme = format!("{:?}", pair.scheme);
        assert!(scheme.contains("raised: None") && scheme.contains("dropped: {}"), "{scheme}");
    }
}

#[test]
fn d3_the_flag_excuses_any_loss_and_the_exact_set_only_what_was_dropped() {
    for (knobs, verdict) in
        [(EXACT_OFF, Verdict::RetransmitKeep { backoff: false }), (EXACT_ON, Verdict::Proceed)]
    {
        // The MAC dropped segment 500, which is never sent here: the loss of 20 is somebody else's doing.
        let pair = lose_segments(knobs, &[20], |pair| pair.signal_at(at(45), lost_segment(500)));
        assert_eq!(verdicts(&pair), [verdict]);
    }
}

#[test]
fn d3_the_exact_set_excuses_what_was_dropped_and_forgets_what_is_acknowledged() {
    let pair = lose_segments(EXACT_ON, &[20, 60], |pair| {
        pair.signal_at(at(45), lost_segment(20));
        // Dropped once, and delivered when it was sent again: nothing is missing.
        pair.signal_at(at(45), lost_segment(21));
    });
    assert_eq!(verdicts(&pair), [Verdict::RetransmitKeep { backoff: false }, Verdict::Proceed]);
    assert!(format!("{:?}", pair.scheme).contains("dropped: {ConnectionId(1): []}"));
}

#[test]
fn d10_the_drop_of_an_ack_or_of_a_stranger_s_packet_raises_no_flag() {
    let pair = lose_segments(&[], &[20], |pair| pair.signal_at(at(45), SignalKind::LinkLoss { lost: None }));
    assert_eq!(verdicts(&pair), [Verdict::Proceed]);
}

#[test]
fn p8_losses_that_no_mac_announced_give_the_trace_of_plain_tcp() {
    let lossy = |with: Option<&[(&str, &str)]>| {
        let mut pair = Pair::new("ns-2.35", "new-reno");
        pair.scheme = with.map(build);
        pair.client.write(3_000_000);
        pair.set_fate(|by, count, _, _| {
            (by != End::Client || !count.is_multiple_of(37)).then_some(Duration::ZERO)
        });
        (0..500).for_each(|n| {
            pair.signal_at(at(10 * n), SignalKind::FrameSent { delivered: true, tries: 1 });
        });
        pair.run_until(at(600_000));
        (pair.wire, pair.trace)
    };
    let plain = lossy(None);
    assert!(plain.1.iter().any(|(_, event)| matches!(event, Event::LossDetected { .. })));
    for knobs in [EXACT_OFF, EXACT_ON] {
        assert_eq!(plain, lossy(Some(knobs)));
    }
}

// ---- Helpers -------------------------------------------------------------------------------------------------------

const EXACT_OFF: &[(&str, &str)] = &[];
const EXACT_ON: &[(&str, &str)] = &[("exact", "true")];

/// A scheme, and the orders it gives to the MAC, in words.
struct Mac {
    scheme: Box<dyn Scheme>,
}

impl Mac {
    fn new(knobs: &[(&str, &str)]) -> Self {
        Mac { scheme: build(knobs) }
    }

    fn hear(&mut self, kind: SignalKind) -> Vec<String> {
        self.scheme.handle_signal(&signal(kind), Instant::ZERO);
        self.orders()
    }

    fn orders(&mut self) -> Vec<String> {
        let word = |action| match action {
            Action::Mac(MacCommand::SetRetryLimits(limits)) => format!("limit {}", limits.short),
            Action::Mac(MacCommand::ReduceRate { to_percent, floor_percent: 67 }) => {
                format!("rate {to_percent}")
            }
            Action::Mac(MacCommand::RestoreDefaults) => "defaults".to_owned(),
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| self.scheme.poll_action()).map(word).collect()
    }
}

fn signal(kind: SignalKind) -> Signal {
    Signal {
        kind,
        scope: Scope::Interface,
        source: Source::Mac,
        origin: Instant::ZERO,
        delivered: Instant::ZERO,
    }
}

fn build(knobs: &[(&str, &str)]) -> Box<dyn Scheme> {
    let spec = Spec::named("link-loss").expect("an entry of the table");
    let mut params = Params::defaults(spec.params);
    for (name, value) in knobs {
        params.set(name, value).expect("a value of the right kind");
    }
    spec.mobile.expect("a part on mobile hosts")(&params)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// NewReno with a window of ten and a round trip of 20 ms.
fn pair(knobs: &[(&str, &str)]) -> Pair {
    let profile =
        Profile { window: 40, initial_window: 10, ..Profile::named("rfc").expect("a profile").clone() };
    let profile = Profile {
        initial_ssthresh: segue_proto::tcp::profile::InitialSsthresh::Segments(10),
        mss: MSS,
        ..profile
    };
    let mut pair = Pair::with_profile(&profile, "new-reno");
    pair.scheme = Some(build(knobs));
    pair.client.write(4_000_000);
    pair
}

const MSS: u32 = 1000;
/// The client's initial sequence number in [`Pair`].
const ISS: u32 = u32::MAX - 5_000;

/// A run in which the first copies of these segments, counted from 1, are lost.
fn lose_segments(knobs: &[(&str, &str)], numbers: &'static [u32], news: impl FnOnce(&mut Pair)) -> Pair {
    let mut pair = pair(knobs);
    let mut left = numbers.to_vec();
    pair.set_fate(move |by, _, _, segment| {
        let start = |number: &u32| ISS.wrapping_add(1 + (number - 1) * MSS) == segment.seq.0;
        let hit = left.iter().position(start).filter(|_| by == End::Client && segment.len > 0);
        hit.map(|hit| left.swap_remove(hit)).is_none().then_some(Duration::ZERO)
    });
    news(&mut pair);
    pair.run_until(at(20_000));
    assert_eq!(pair.delivered(), 4_000_000);
    pair
}

fn lost_segment(number: u32) -> SignalKind {
    let seq = segue_proto::tcp::SeqNumber(ISS.wrapping_add(1 + (number - 1) * MSS));
    let connection = segue_proto::tcp::ConnectionId(1);
    SignalKind::LinkLoss { lost: Some(LostData { connection, seq, len: MSS }) }
}

fn verdicts(pair: &Pair) -> Vec<Verdict> {
    let of = |event: &Event| match event {
        Event::LossDetected { verdict, .. } => Some(*verdict),
        _ => None,
    };
    pair.trace.iter().filter_map(|(_, event)| of(event)).collect()
}

fn least_cwnd_after(pair: &Pair, from: Instant) -> u64 {
    let of = |event: &Event| match event {
        Event::AckReceived { cwnd, .. } => Some(*cwnd),
        _ => None,
    };
    let windows = pair.trace.iter().filter(|(at, _)| *at >= from).filter_map(|(_, event)| of(event));
    windows.fold(f64::INFINITY, f64::min) as u64
}
