//! What must hold for every scheme × variant × profile of the tables, whatever the network and the signals do.
//!
//! [`Pair`] itself asserts that each byte is delivered once and in order.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::{Config, TestCaseError};
use segue_proto::mobile_ip::Address;
use segue_proto::params::{Kind, Params};
use segue_proto::rng::Streams;
use segue_proto::schemes::{self, BuildHost, Scheme, Spec};
use segue_proto::signal::{LostData, SignalKind};
use segue_proto::tcp::{
    Connection, ConnectionId, EndReason, Flags, NoHooks, Profile, SeqNumber, Variant, profile, variant,
};
use segue_proto::testing::{End, Pair};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;

proptest! {
    #![proptest_config(Config { cases: 200, ..Config::default() })]

    #[test]
    fn every_run_ends_with_all_data_or_with_a_reason(story in story()) {
        for (spec, build, variant, profile) in combinations() {
            let mut pair = story.pair(Some(story.build(spec, build)), variant, profile);
            story.run(&mut pair)?;
            check_end(&pair, &story).map_err(|e| named(&e, spec, variant, profile))?;
            check_trace(&pair).map_err(|e| named(&e, spec, variant, profile))?;
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_run(story in story()) {
        for (spec, build, variant, profile) in combinations() {
            let [first, second] = [(), ()].map(|()| {
                let mut pair = story.pair(Some(story.build(spec, build)), variant, profile);
                pair.run_until(THE_END);
                pair
            });
            prop_assert_eq!(first.wire, second.wire, "{}", spec.name);
            prop_assert_eq!(first.trace, second.trace, "{}", spec.name);
        }
    }

    #[test]
    fn the_empty_scheme_is_the_core_without_hooks(story in story()) {
        let spec = Spec::named("none").expect("plain TCP is in the table");
        for variant in variant::ALL {
            for profile in profile::ALL {
                let mut without = story.pair(None, variant, profile);
                let mut with = story.pair(spec.mobile.map(|build| story.build(spec, build)), variant, profile);
                without.run_until(THE_END);
                with.run_until(THE_END);
                prop_assert_eq!(without.wire, with.wire, "{} {}", variant.name, profile.name);
                prop_assert_eq!(without.trace, with.trace, "{} {}", variant.name, profile.name);
            }
        }
    }
}

#[test]
fn a_connection_whose_good_news_never_comes_ends_by_ack_progress_or_the_user_timeout() {
    for (spec, build, variant, profile) in combinations() {
        for path_returns in [true, false] {
            let profile = Profile { user_timeout: PATIENCE, ..profile.clone() };
            let mut pair = Pair::with_profile(&profile, variant.name);
            pair.scheme = Some(build(&Params::defaults(spec.params)));
            pair.client.write(10_000_000);
            pair.set_fate(move |_, _, now, _| {
                let lost = now >= at(2_000) && (now < at(9_000) || !path_returns);
                (!lost).then_some(Duration::ZERO)
            });
            for (millis, bad, _) in LEVELS {
                pair.signal_at(at(2_000 + millis), bad);
            }
            pair.run_until(THE_END);
            let done = pair.delivered() == 10_000_000 && pair.client.all_acknowledged();
            let gave_up = pair.client.end_reason() == Some(EndReason::UserTimeout);
            assert!(done || gave_up, "{} {} {}", spec.name, variant.name, pair.client.profile().name);
            assert!(pair.is_idle() || done);
        }
    }
}

#[test]
fn every_scheme_is_idle_after_a_link_flap() {
    for (spec, build, variant, profile) in combinations() {
        let mut pair = Pair::new(profile.name, variant.name);
        pair.scheme = Some(build(&Params::defaults(spec.params)));
        pair.client.write(300_000);
        pair.set_fate(|_, _, now, _| (!(at(100)..at(3_000)).contains(&now)).then_some(Duration::ZERO));
        for (millis, bad, good) in LEVELS {
            pair.signal_at(at(100 + millis), bad);
            pair.signal_at(at(3_000 + millis), good);
        }
        pair.run_until(THE_END);
        assert_eq!(pair.delivered(), 300_000, "{} {} {}", spec.name, variant.name, profile.name);
        assert!(pair.is_idle(), "{} {} {}", spec.name, variant.name, profile.name);
        assert_eq!(pair.scheme.as_ref().and_then(|s| s.poll_timeout()), None);
    }
}

/// Late enough for every exit to have been taken.
const THE_END: Instant = Instant::from_nanos(4_000_000_000_000);
const PATIENCE: Duration = Duration::from_secs(60);

/// The levels that a layer may report: bad, good.
const LEVELS: [(u64, SignalKind, SignalKind); 2] =
    [(0, SignalKind::LinkNotOk, SignalKind::LinkOk), (5, SignalKind::IpNotOk, SignalKind::IpOk)];

type Combination = (&'static Spec, BuildHost, &'static Variant, &'static Profile);

fn combinations() -> impl Iterator<Item = Combination> {
    let parts = schemes::ALL.iter().flat_map(|spec| spec.host_parts().map(move |build| (*spec, build)));
    parts.flat_map(|(spec, build)| {
        variant::ALL
            .iter()
            .flat_map(move |variant| profile::ALL.iter().map(move |profile| (spec, build, variant, profile)))
    })
}

fn named(error: &TestCaseError, spec: &Spec, variant: &Variant, profile: &Profile) -> TestCaseError {
    TestCaseError::fail(format!("{} × {} × {}: {error}", spec.name, variant.name, profile.name))
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// An outage and what is said about it; `None`: the message is lost.
#[derive(Clone, Debug)]
struct Outage {
    from: u64,
    len: u64,
    level: usize,
    bad_news_after: Option<u64>,
    good_news_after: Option<u64>,
}

/// Everything that may differ between runs.
#[derive(Clone, Debug)]
struct Story {
    up: u64,
    down: u64,
    close: bool,
    timestamps: bool,
    loss: f64,
    jitter_millis: u64,
    seed: u64,
    outages: Vec<Outage>,
    /// Signals without any truth.
    alarms: Vec<(u64, SignalKind)>,
    /// Picks the value of each parameter.
    knobs: Vec<usize>,
}

fn story() -> impl Strategy<Value = Story> {
    let delay = || proptest::option::weighted(0.8, prop_oneof![Just(0u64), 0u64..4_000]);
    let outage = (0u64..20_000, 1u64..12_000, 0..LEVELS.len(), delay(), delay()).prop_map(
        |(from, len, level, bad_news_after, good_news_after)| Outage {
            from,
            len,
            level,
            bad_news_after,
            good_news_after,
        },
    );
    let kind = prop_oneof![
        Just(SignalKind::LinkOk),
        Just(SignalKind::LinkNotOk),
        Just(SignalKind::IpOk),
        Just(SignalKind::IpNotOk),
        Just(SignalKind::Attached { station: Address::new(10, 0, 0, 7) }),
        Just(SignalKind::HandoverStarted),
        Just(SignalKind::HandoverCompleted),
        Just(SignalKind::LinkLoss { lost: None }),
        (0u32..200_000, 1u32..1500).prop_map(|(offset, len)| {
            // Numbers of the client and far from them.
            let seq = SeqNumber(u32::MAX - 5_000).add(u64::from(offset));
            SignalKind::LinkLoss { lost: Some(LostData { connection: ConnectionId(1), seq, len }) }
        }),
        (1u8..30).prop_map(|tries| SignalKind::AttemptFailed { tries }),
        (any::<bool>(), 1u8..9).prop_map(|(delivered, tries)| SignalKind::FrameSent { delivered, tries }),
        (0.0..=1.0).prop_map(SignalKind::DropProbability),
        (-100.0..-20.0).prop_map(SignalKind::ReceivedPower),
        any::<u32>().prop_map(|quoted_seq| SignalKind::Unreachable { quoted_seq }),
    ];
    let sizes = (0u64..150_000, prop_oneof![Just(0u64), 0u64..40_000], any::<bool>(), any::<bool>());
    let wire = (prop_oneof![Just(0.0), 0.0..0.25], prop_oneof![Just(0u64), 0u64..300], any::<u64>());
    (sizes, wire, vec(outage, 0..4), vec((0u64..40_000, kind), 0..6), vec(any::<usize>(), 16)).prop_map(
        |((up, down, close, timestamps), (loss, jitter_millis, seed), outages, alarms, knobs)| Story {
            up,
            down,
            close,
            timestamps,
            loss,
            jitter_millis,
            seed,
            outages,
            alarms,
            knobs,
        },
    )
}

impl Story {
    /// The scheme with parameters of the kinds it declares.
    fn build(&self, spec: &Spec, build: BuildHost) -> Box<dyn Scheme> {
        let mut params = Params::defaults(spec.params);
        for (param, pick) in spec.params.iter().zip(self.knobs.iter().cycle()) {
            let text = match param.kind {
                Kind::Duration(least, most) => {
                    [least, (least + Duration::from_millis(60)).min(most), most][pick % 3].to_string()
                }
                Kind::Integer(low, high) => (low + *pick as u64 % 9).min(high).to_string(),
                Kind::Number(low, high) => (low + (high - low) * (pick % 5) as f64 / 4.0).to_string(),
                Kind::Bool => (pick % 2 == 0).to_string(),
                Kind::Choice(words) => words[pick % words.len()].to_owned(),
            };
            params.set(param.name, &text).expect("made from its own kind");
        }
        build(&params)
    }

    fn pair(&self, scheme: Option<Box<dyn Scheme>>, variant: &Variant, profile: &Profile) -> Pair {
        let profile = Profile { user_timeout: PATIENCE, timestamps: self.timestamps, ..profile.clone() };
        let mut pair = Pair::with_profile(&profile, variant.name);
        pair.scheme = scheme;
        pair.client.write(self.up);
        pair.server.write(self.down);
        if self.close {
            pair.client.close();
        }
        let mut stream = Streams::new(self.seed).stream("wire");
        let (loss, jitter) = (self.loss, self.jitter_millis);
        let outages: Vec<_> = self.outages.iter().map(|o| at(o.from)..at(o.from + o.len)).collect();
        pair.set_fate(move |_, _, now, _| {
            let lost = stream.chance(loss);
            let extra = Duration::from_millis(stream.below(jitter + 1));
            let out = outages.iter().any(|outage| outage.contains(&now));
            (!lost && !out).then_some(extra)
        });
        for outage in &self.outages {
            let (_, bad, good) = LEVELS[outage.level];
            if let Some(late) = outage.bad_news_after {
                pair.signal_at(at(outage.from + late), bad);
            }
            if let Some(late) = outage.good_news_after {
                pair.signal_at(at(outage.from + outage.len + late), good);
            }
        }
        for (millis, kind) in &self.alarms {
            pair.signal_at(at(*millis), *kind);
        }
        pair
    }

    /// Runs to the end, with stops on the way.
    fn run(&self, pair: &mut Pair) -> Result<(), TestCaseError> {
        let mut before = (positions(&pair.client), positions(&pair.server));
        for stop in 1..40 {
            pair.run_until(at(stop * 733));
            for connection in [&pair.client, &pair.server] {
                check_stop(connection, pair.now)?;
            }
            if let Some(scheme) = &mut pair.scheme {
                check_scheme(&mut **scheme, pair.now)?;
            }
            let after = (positions(&pair.client), positions(&pair.server));
            let forward = |a: [u64; 3], b: [u64; 3]| a.iter().zip(b).all(|(a, b)| *a <= b);
            prop_assert!(forward(before.0, after.0) && forward(before.1, after.1), "went back");
            before = after;
        }
        pair.run_until(THE_END);
        Ok(())
    }
}

/// What never goes back.
fn positions(connection: &Connection) -> [u64; 3] {
    [connection.sender().snd_una, connection.sender().snd_max, connection.receiver().rcv_nxt]
}

/// A deadline has a reason, and a machine that is called before it does nothing.
fn check_stop(connection: &Connection, now: Instant) -> Result<(), TestCaseError> {
    let window = connection.sender().window;
    prop_assert!(window.cwnd >= 1.0 && window.ssthresh >= 2.0, "{window:?}");
    let deadline = connection.poll_timeout();
    prop_assert!(deadline.is_none_or(|(when, reason)| when > now && !reason.is_empty()), "{deadline:?}");
    let mut early = connection.clone();
    early.handle_timeout(now, &mut NoHooks);
    prop_assert_eq!(early.poll_transmit(now, &mut NoHooks), None);
    prop_assert_eq!(format!("{connection:?}"), format!("{early:?}"));
    Ok(())
}

fn check_scheme(scheme: &mut dyn Scheme, now: Instant) -> Result<(), TestCaseError> {
    let deadline = scheme.poll_timeout();
    prop_assert!(deadline.is_none_or(|(when, reason)| when > now && !reason.is_empty()), "{deadline:?}");
    let before = format!("{scheme:?}");
    scheme.handle_timeout(now);
    prop_assert_eq!(scheme.poll_action(), None);
    prop_assert_eq!(before, format!("{scheme:?}"));
    Ok(())
}

/// All data is there, or somebody has said why not; nothing waits for ever.
fn check_end(pair: &Pair, story: &Story) -> Result<(), TestCaseError> {
    prop_assert!(
        pair.is_idle(),
        "still busy: {:?} {:?}",
        pair.client.poll_timeout(),
        pair.server.poll_timeout()
    );
    let arrived = pair.delivered() == story.up && pair.client.receiver().delivered() == story.down;
    let known = pair.client.all_acknowledged() && pair.server.all_acknowledged();
    // The other end may never hear of it: its reset can be lost like any segment.
    let over = pair.client.end_reason().or(pair.server.end_reason()).is_some();
    prop_assert!(
        (arrived && known) || over,
        "{} of {} bytes, {:?}, {:?}",
        pair.delivered(),
        story.up,
        pair.client.state(),
        pair.client.control()
    );
    Ok(())
}

/// What each event and each segment must satisfy.
fn check_trace(pair: &Pair) -> Result<(), TestCaseError> {
    let (mut acked, mut received) = (0, 0);
    for (when, event) in &pair.trace {
        match *event {
            Event::AckReceived { ack, cwnd, ssthresh, rto } => {
                prop_assert!(ack >= acked, "{when}: ACK of {ack} after {acked}");
                prop_assert!(cwnd >= 1.0 && ssthresh >= 2.0 && rto > Duration::ZERO, "{when}: {event:?}");
                acked = ack;
            }
            Event::DataReceived { rcv_nxt, .. } => {
                prop_assert!(rcv_nxt >= received, "{when}: {event:?}");
                received = rcv_nxt;
            }
            _ => {}
        }
    }
    for end in [End::Client, End::Server] {
        let with_ack = pair.wire.iter().filter(|s| s.by == end && s.segment.flags.contains(Flags::ACK));
        let mut acks = with_ack.map(|s| s.segment.ack);
        let mut last = acks.next();
        for ack in acks {
            prop_assert!(last.is_none_or(|last| ack.distance_from(last) >= 0), "{end:?} takes an ACK back");
            last = Some(ack);
        }
    }
    Ok(())
}
