//! Segments that no honest peer sends, and those that come too late.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
use proptest::test_runner::{Config as Cases, TestCaseError};
use segue_proto::tcp::{Flags, NoHooks, Options, Profile, Segment, SeqNumber, State, Timestamps, variant};

use crate::{Solo, plain, rfc};

#[test]
fn an_ack_of_data_never_sent_is_answered_and_changes_nothing() {
    let mut solo = Solo::sending(&plain(), "reno", 4);
    let mut segment = solo.segment(1, 500, 4_002, Flags::ACK);
    segment.window = 1;
    let answer = solo.receive(&segment);
    assert_eq!((answer.len(), answer[0].len), (1, 0));
    assert_eq!(solo.connection.sender().snd_una, 1);
    assert_eq!(solo.connection.sender().snd_wnd, 60_000);
    assert_eq!(solo.connection.receiver().delivered(), 0, "its data does not count either");
}

#[test]
fn an_old_ack_changes_nothing_but_its_data_counts() {
    let mut solo = Solo::sending(&plain(), "reno", 20);
    solo.ack(3);
    let window = solo.window();
    let old = solo.segment(1, 500, 1_001, Flags::ACK);
    solo.receive(&old);
    assert_eq!(solo.connection.acknowledged(), 3_000);
    assert_eq!(solo.window(), window);
    assert_eq!(solo.connection.stats().dup_acks, 0);
    assert_eq!(solo.connection.receiver().delivered(), 500);
}

#[test]
fn old_data_is_acknowledged_and_dropped() {
    let mut solo = Solo::open(&rfc(), "reno");
    for _ in 0..2 {
        let data = solo.segment(1, 1_000, 1, Flags::ACK);
        solo.receive(&data);
    }
    assert_eq!(solo.connection.receiver().delivered(), 1_000);
    assert_eq!(solo.connection.stats().refused, 1);
}

#[test]
fn a_segment_without_an_acknowledgement_is_dropped() {
    let mut solo = Solo::open(&rfc(), "reno");
    for flags in [Flags::NONE, Flags::FIN] {
        let data = solo.segment(1, 1_000, 1, flags);
        solo.receive(&data);
    }
    assert_eq!(solo.connection.receiver().delivered(), 0);
    assert_eq!(solo.connection.state(), State::Established);
}

#[test]
fn a_segment_of_every_number_and_length_at_once_is_cut_to_the_window() {
    let mut solo = Solo::open(&plain(), "reno");
    let huge = solo.segment(1, u32::MAX, 1, Flags::ACK | Flags::FIN);
    solo.receive(&huge);
    assert_eq!(solo.connection.receiver().delivered(), 100_000, "the whole buffer and no more");
    assert_eq!(solo.connection.state(), State::Established, "the FIN lies outside");
}

#[test]
fn a_segment_size_of_zero_is_taken_as_one() {
    let mut solo = Solo::connecting(&plain(), "reno");
    solo.transmit();
    let mut answer = solo.segment(0, 0, 1, Flags::SYN | Flags::ACK);
    answer.options.mss = Some(0);
    answer.options.window_scale = Some(255);
    solo.connection.write(3);
    assert_eq!(solo.receive(&answer).iter().map(|s| s.len).collect::<Vec<_>>(), [1, 1, 1]);
}

proptest! {
    #![proptest_config(Cases { cases: 1_500, ..Cases::default() })]

    #[test]
    fn no_segment_does_more_than_it_may_in_any_state(
        variant in 0..variant::ALL.len(),
        timestamps: bool,
        stage in 0usize..STAGES,
        steps in vec(step(), 1..60),
    ) {
        let profile = Profile { timestamps, initial_window: 10, ..rfc() };
        let mut solo = reach(stage, &profile, variant::ALL[variant].name);
        for step in steps {
            play(&mut solo, &step)?;
        }
    }
}

const STAGES: usize = 12;

/// A connection in the state number `stage`, as an ordinary run reaches it.
fn reach(stage: usize, profile: &Profile, variant: &str) -> Solo {
    if stage == 0 {
        let mut solo = Solo::connecting(profile, variant);
        solo.transmit();
        return solo;
    }
    if stage >= 10 {
        let mut solo = Solo::listening(profile, variant);
        if stage == 11 {
            let syn = solo.segment(0, 0, 0, Flags::SYN);
            solo.receive(&syn);
        }
        assert_eq!(solo.connection.state(), [State::Listen, State::SynReceived][stage - 10]);
        return solo;
    }
    let mut solo = Solo::open(profile, variant);
    let ours = Flags::ACK;
    let fin = Flags::ACK | Flags::FIN;
    match stage {
        1 => {}
        2 => {
            solo.connection.write(200_000);
        }
        3 => {
            solo.connection.write(200_000);
            solo.transmit();
            (0..3).for_each(|_| drop(solo.ack(0)));
        }
        4 => solo.connection.close(),
        5 => {
            solo.connection.close();
            solo.transmit();
            let ack = solo.segment(1, 0, 2, ours);
            solo.receive(&ack);
        }
        6 => {
            let end = solo.segment(1, 0, 1, fin);
            solo.receive(&end);
        }
        7 => {
            solo.connection.close();
            solo.transmit();
            let end = solo.segment(1, 0, 1, fin);
            solo.receive(&end);
        }
        8 => {
            let end = solo.segment(1, 0, 1, fin);
            solo.receive(&end);
            solo.connection.close();
        }
        _ => {
            solo.connection.close();
            solo.transmit();
            let end = solo.segment(1, 0, 2, fin);
            solo.receive(&end);
        }
    }
    solo.transmit();
    let expected = [
        State::SynSent,
        State::Established,
        State::Established,
        State::Established,
        State::FinWait1,
        State::FinWait2,
        State::CloseWait,
        State::Closing,
        State::LastAck,
        State::TimeWait,
    ];
    assert_eq!(solo.connection.state(), expected[stage]);
    solo
}

#[derive(Clone, Debug)]
enum Step {
    /// A segment with numbers near those expected, or anywhere.
    Receive {
        seq: Number,
        ack: Number,
        len: u32,
        window: u16,
        flags: Flags,
        options: Options,
    },
    /// The next deadline passes.
    Timeout,
    Write(u64),
    Wait(u64),
}

#[derive(Clone, Debug)]
enum Number {
    Near(i64),
    Any(u32),
}

impl Number {
    fn resolve(&self, origin: SeqNumber, near: u64) -> SeqNumber {
        match self {
            Number::Near(offset) => origin.add(near.wrapping_add_signed(*offset)),
            Number::Any(number) => SeqNumber(*number),
        }
    }
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        3 => (-3i64..4).prop_map(Number::Near),
        2 => (0i64..12).prop_map(|n| Number::Near(n * 1460)),
        2 => (-70_000i64..140_000).prop_map(Number::Near),
        1 => any::<u32>().prop_map(Number::Any),
    ]
}

fn flags() -> impl Strategy<Value = Flags> {
    let all = [Flags::FIN, Flags::SYN, Flags::RST, Flags::ACK];
    prop_oneof![
        6 => Just(Flags::ACK),
        2 => Just(Flags::ACK | Flags::FIN),
        1 => any::<[bool; 4]>().prop_map(move |on| {
            all.iter().zip(on).filter(|(_, on)| *on).fold(Flags::NONE, |flags, (flag, _)| flags | *flag)
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![3 => Just(0u32), 3 => 1u32..3_000, 1 => any::<u32>()];
    let window = prop_oneof![2 => Just(0u16), 1 => 1u16..2_000, 3 => any::<u16>()];
    let stamps = (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    let options =
        (any::<Option<u16>>(), any::<Option<u8>>(), proptest::option::weighted(0.3, stamps)).prop_map(
            |(mss, window_scale, timestamps)| Options { mss, window_scale, timestamps, experimental: None },
        );
    prop_oneof![
        12 => (number(), number(), len, window, flags(), options).prop_map(
            |(seq, ack, len, window, flags, options)| Step::Receive { seq, ack, len, window, flags, options },
        ),
        2 => Just(Step::Timeout),
        1 => (0u64..20_000).prop_map(Step::Write),
        1 => (0u64..3_000).prop_map(Step::Wait),
    ]
}

fn play(solo: &mut Solo, step: &Step) -> Result<(), TestCaseError> {
    let before = solo.connection.clone();
    let mut acked = None;
    match step {
        Step::Receive { seq, ack, len, window, flags, options } => {
            let segment = Segment {
                seq: seq.resolve(solo.peer_iss, before.receiver().rcv_nxt),
                ack: ack.resolve(SeqNumber(u32::MAX - 2_500), before.sender().snd_una),
                len: *len,
                window: *window,
                flags: *flags,
                options: *options,
            };
            acked = before.sent_offset(segment.ack).map(|offset| offset + 1);
            solo.connection.handle_segment(&segment, solo.now, &mut NoHooks);
        }
        Step::Timeout => {
            if let Some((deadline, _)) = solo.connection.poll_timeout() {
                solo.now = solo.now.max(deadline);
                solo.connection.handle_timeout(solo.now, &mut NoHooks);
            }
        }
        Step::Write(bytes) => solo.connection.write(*bytes),
        Step::Wait(millis) => solo.wait(*millis),
    }
    // A bound: whatever comes in, what goes out is finite.
    let mut sent = 0u32;
    while let Some(segment) = solo.connection.poll_transmit(solo.now, &mut NoHooks) {
        sent += 1;
        prop_assert!(sent <= 70_000, "more than a window of the smallest segments");
        prop_assert!(u64::from(segment.len) <= solo.connection.sender().mss);
    }
    check(&before, &solo.connection, acked)
}

/// What may have changed, and what may not.
fn check(
    before: &segue_proto::tcp::Connection,
    after: &segue_proto::tcp::Connection,
    acked: Option<u64>,
) -> Result<(), TestCaseError> {
    let (old, new) = (before.sender(), after.sender());
    prop_assert!(new.snd_una >= old.snd_una && new.snd_max >= old.snd_max);
    prop_assert!(new.snd_una <= new.snd_nxt && new.snd_nxt <= new.snd_max && new.snd_max <= new.end());
    if new.snd_una > old.snd_una {
        prop_assert!(Some(new.snd_una) == acked, "moved to {}, acknowledged {acked:?}", new.snd_una);
        prop_assert!(new.snd_una <= old.snd_max, "never sent");
    }
    prop_assert!(new.window.cwnd >= 1.0 && new.window.ssthresh >= 2.0);
    let (old, new) = (before.receiver(), after.receiver());
    prop_assert!(new.rcv_nxt >= old.rcv_nxt && new.delivered() >= old.delivered());
    prop_assert!(new.rcv_nxt <= old.rcv_nxt + 64 * 1460 + 1, "beyond the window");
    prop_assert!(!old.at_end() || new.rcv_nxt == old.rcv_nxt, "moved behind the FIN");
    let mut at = new.rcv_nxt;
    for (start, end) in new.beyond() {
        prop_assert!(*start > at && end > start, "ranges {:?}", new.beyond());
        at = *end;
    }
    if let Some((_, reason)) = after.poll_timeout() {
        prop_assert!(!reason.is_empty());
    }
    let waits = after.sender().outstanding() > 0 && after.state() != State::Closed;
    prop_assert!(!waits || after.poll_timeout().is_some(), "data in flight without a deadline");
    Ok(())
}
