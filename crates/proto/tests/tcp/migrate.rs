//! One end of a connection moves to another host while the peer notices nothing.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::{Config as Cases, TestCaseError};
use segue_proto::rng::Streams;
use segue_proto::tcp::{
    Config, Connection, ConnectionId, ConnectionState, EndReason, Flags, Hooks, Loss, NoHooks, Profile,
    Restart, SeqNumber, State, Variant, Verdict,
};
use segue_proto::testing::{End, Pair};
use segue_proto::time::{Duration, Instant};

use crate::{Solo, at, pair_with_slow_reader, plain, rfc, sent_since};

const VARIANTS: [&str; 3] = ["tahoe", "reno", "new-reno"];

#[test]
fn an_exported_connection_is_silent_whatever_arrives_and_however_long_it_waits() {
    let mut solo = Solo::sending(&plain(), "reno", 10);
    let before = solo.connection.export(solo.now);
    assert!(solo.connection.is_exported());
    assert_eq!(solo.connection.poll_timeout(), None);
    for flags in [Flags::ACK, Flags::ACK | Flags::FIN, Flags::RST | Flags::ACK, Flags::SYN] {
        let segment = solo.segment(1, 100, 2_001, flags);
        assert_eq!(solo.receive(&segment), []);
    }
    solo.connection.write(1_000);
    solo.connection.close();
    solo.connection.abort(solo.now, &mut NoHooks);
    solo.wait(100_000);
    solo.connection.handle_timeout(solo.now, &mut NoHooks);
    assert_eq!(solo.transmit(), []);
    assert_eq!(solo.connection.export(solo.now), before);
}

#[test]
fn a_restart_as_it_was_tells_the_window_and_sends_no_data_again() {
    let mut solo = moved(Restart::AsItWas);
    assert_eq!(solo.window().cwnd.to_bits(), 4f64.to_bits());
    let sent = solo.transmit();
    assert_eq!((sent.len(), sent[0].is_pure_ack()), (1, true));
    assert_eq!(solo.expire("retransmission"), [1]);
}

#[test]
fn a_slow_start_sends_the_first_segment_again_at_once_without_backoff() {
    let mut solo = moved(Restart::SlowStart);
    assert_eq!(solo.connection.rtt().backoff(), 0);
    let sent = solo.transmit();
    assert_eq!(solo.numbers(&sent), [1]);
    assert_eq!(sent.len(), 1, "the segment carries the acknowledgement");
    assert_eq!(solo.ack(1), [2, 3]);
}

/// A connection with four segments in flight, moved to another host.
fn moved(restart: Restart) -> Solo {
    let mut solo = Solo::sending(&plain(), "reno", 10);
    let state = solo.connection.export(solo.now);
    solo.wait(300);
    solo.connection = import(&plain(), "reno", &state, restart, &solo);
    assert_eq!(solo.connection.state(), State::Established);
    solo
}

fn import(
    profile: &Profile,
    variant: &str,
    state: &ConnectionState,
    restart: Restart,
    solo: &Solo,
) -> Connection {
    Connection::import(config(profile, variant, true), state, restart, solo.now)
}

fn config(profile: &Profile, variant: &str, auto_read: bool) -> Config {
    Config {
        id: ConnectionId(9),
        profile: profile.clone(),
        variant: Variant::named(variant).expect("a variant of the table"),
        iss: SeqNumber(0),
        auto_read,
    }
}

#[test]
fn a_slow_start_after_long_backoff_has_the_first_timeout_again() {
    let mut solo = Solo::sending(&plain(), "reno", 10);
    (0..5).for_each(|_| drop(solo.expire("retransmission")));
    let state = solo.connection.export(solo.now);
    assert_eq!(state.rtt.backoff, 5);
    for (restart, backoff) in [(Restart::AsItWas, 5), (Restart::SlowStart, 0)] {
        let connection = import(&plain(), "reno", &state, restart, &solo);
        assert_eq!(connection.rtt().backoff(), backoff);
        assert_eq!(connection.rtt().srtt(), solo.connection.rtt().srtt());
    }
}

#[test]
fn a_window_that_a_policy_spares_travels_whole() {
    struct Spare;
    impl Hooks for Spare {
        fn on_loss_detected(&mut self, _: &Connection, _: Loss, _: Instant) -> Verdict {
            Verdict::RetransmitKeep { backoff: false }
        }
    }
    let mut solo = Solo::sending(&plain(), "reno", 20);
    solo.ack_each_up_to(6);
    let before = solo.window();
    let dup_ack = solo.segment(1, 0, 6_001, Flags::ACK);
    (0..4).for_each(|_| drop(solo.receive_with(&dup_ack, &mut Spare)));
    assert!(solo.connection.stats().fast_retransmits == 1, "the recovery is on");
    let state = solo.connection.export(solo.now);
    assert_eq!((state.send.window, state.send.inflation), (before, 0));
}

#[test]
fn a_deleted_connection_sends_nothing_and_is_over() {
    let mut solo = Solo::sending(&plain(), "reno", 10);
    solo.connection.delete_silent();
    assert_eq!(solo.transmit(), []);
    let segment = solo.segment(1, 100, 1, Flags::ACK);
    assert_eq!(solo.receive(&segment), []);
    assert_eq!(solo.connection.end_reason(), Some(EndReason::Moved));
    assert!(solo.connection.is_over());
}

#[test]
fn a_peer_that_waits_for_a_window_hears_of_it_from_the_new_host() {
    let mut pair = pair_with_slow_reader(&plain());
    pair.client.write(300_000);
    pair.run_until(at(2_000));
    let unread = pair.server.receiver().unread();
    assert_eq!(unread, 100_000, "the buffer is full");
    let mut state = pair.server.export(pair.now);
    // The application of the new host has taken all that travelled.
    state.receive.unread = 0;
    let imported = Connection::import(config(&plain(), "reno", true), &state, Restart::AsItWas, pair.now);
    pair.server = imported;
    let moved_at = pair.now;
    pair.run_until(moved_at + Duration::from_millis(15));
    let announced = sent_since(&pair, End::Server, moved_at);
    assert_eq!(announced[0].segment.window, 50_000, "100 000 bytes, shifted by one");
    pair.run_until(moved_at + Duration::from_millis(500));
    assert_eq!(pair.delivered(), 300_000);
}

#[test]
fn the_timestamp_clock_of_a_moved_connection_never_runs_backwards() {
    let mut solo = Solo::sending(&Profile { timestamps: true, ..plain() }, "reno", 10);
    solo.wait(5_000);
    let state = solo.connection.export(solo.now);
    let last = state.timestamps.expect("agreed on").clock;
    // The other host's clock began later.
    solo.now = at(17);
    solo.connection =
        import(&Profile { timestamps: true, ..plain() }, "reno", &state, Restart::SlowStart, &solo);
    let first = solo.transmit()[0].options.timestamps.expect("agreed on").value;
    solo.wait(40);
    assert_eq!(first, last);
    let segment = solo.segment(1, 100, 1, Flags::ACK);
    let mut segment = segment;
    segment.options.timestamps = Some(segue_proto::tcp::Timestamps { value: 2, echo: last });
    let later = solo.receive(&segment)[0].options.timestamps.expect("agreed on").value;
    assert_eq!(later, last + 40);
}

/// A transfer in both directions of which one end moves again and again.
#[derive(Clone, Debug)]
struct Story {
    profile: Profile,
    variant: &'static str,
    mover: End,
    sizes: [u64; 2],
    /// Time held, time on the way (both in milliseconds), whether what arrives meanwhile is kept, how it restarts.
    moves: Vec<(u64, u64, bool, Restart)>,
    loss: f64,
    jitter: u64,
    seed: u64,
}

fn story() -> impl Strategy<Value = Story> {
    let profile = prop_oneof![
        Just(plain()),
        Just(rfc()),
        Just(Profile { timestamps: true, ..rfc() }),
        Just(Profile { mss: 1460, window: 11, ..rfc() }),
    ];
    // A timeout longer than TIME-WAIT, or the end of patience, lets any TCP reset.
    let patient = |p| Profile { user_timeout: Duration::MAX, max_rto: Duration::from_secs(20), ..p };
    let profile = profile.prop_map(patient);
    let restart = prop_oneof![Just(Restart::AsItWas), Just(Restart::SlowStart)];
    let moves = vec((1u64..800, 0u64..900, any::<bool>(), restart), 0..12);
    let setting = (profile, 0usize..3, any::<bool>(), [0u64..200_000, 0u64..200_000]);
    (setting, moves, 0.0..0.25, 0u64..60, any::<u64>()).prop_map(|(setting, moves, loss, jitter, seed)| {
        let (profile, variant, client, sizes) = setting;
        let mover = if client { End::Client } else { End::Server };
        Story { profile, variant: VARIANTS[variant], mover, sizes, moves, loss, jitter, seed }
    })
}

impl Story {
    fn pair(&self) -> Pair {
        let mut pair = Pair::with_profile(&self.profile, self.variant);
        let mut stream = Streams::new(self.seed).stream("wire");
        let (mover, loss, jitter, delay) = (self.mover, self.loss, self.jitter, pair.delay);
        let mut absences = Vec::new();
        let mut now = START;
        for (held, away, kept, _) in &self.moves {
            absences.push((at(now + held), at(now + held + away), *kept));
            now += held + away;
        }
        let calm = at(now + 5_000);
        pair.set_fate(move |from, _, sent, _| {
            if sent > at(START) && sent < calm && stream.chance(loss) {
                return None;
            }
            let arrival = sent + delay + Duration::from_millis(stream.below(jitter + 1));
            let absence = absences.iter().find(|(from, to, _)| *from <= arrival && arrival < *to);
            match absence {
                Some((_, _, false)) if from != mover => None,
                // A little later than the import itself.
                Some((_, back, true)) if from != mover => {
                    Some(back.since(sent + delay) + Duration::from_millis(1))
                }
                _ => Some(arrival.since(sent + delay)),
            }
        });
        pair
    }

    fn run(&self) -> Result<Pair, TestCaseError> {
        let mut pair = self.pair();
        pair.run_until(at(START));
        pair.client.write(self.sizes[0]);
        pair.server.write(self.sizes[1]);
        pair.client.close();
        pair.server.close();
        let mut now = START;
        for (held, away, _, restart) in &self.moves {
            now += held;
            pair.run_until(at(now));
            let state = mover(&mut pair, self.mover).export(at(now));
            let sent = sent_since(&pair, self.mover, at(0)).len();
            now += away;
            pair.run_until(at(now).max(pair.now));
            prop_assert_eq!(sent_since(&pair, self.mover, at(0)).len(), sent, "silent while it moves");
            let config = config(&self.profile, self.variant, true);
            let connection = mover(&mut pair, self.mover);
            let (una, nxt) = (connection.sender().snd_una, connection.receiver().rcv_nxt);
            *connection = Connection::import(config, &state, *restart, at(now));
            prop_assert_eq!(connection.sender().snd_una, una);
            prop_assert_eq!(connection.receiver().rcv_nxt, nxt);
        }
        pair.run_until(at(now + 40_000_000));
        Ok(pair)
    }
}

/// When the handshake is over.
const START: u64 = 100;

fn mover(pair: &mut Pair, end: End) -> &mut Connection {
    match end {
        End::Client => &mut pair.client,
        End::Server => &mut pair.server,
    }
}

proptest! {
    #![proptest_config(Cases { cases: 400, ..Cases::default() })]

    // The pair itself asserts that each byte is delivered once, in order, and never taken back.
    #[test]
    fn a_transfer_whose_end_moves_delivers_the_same_bytes_and_never_resets(story in story()) {
        let pair = story.run()?;
        prop_assert!(pair.wire.iter().all(|sent| !sent.segment.flags.contains(Flags::RST)));
        prop_assert_eq!(pair.server.receiver().delivered(), story.sizes[0]);
        prop_assert_eq!(pair.client.receiver().delivered(), story.sizes[1]);
        prop_assert_eq!(pair.client.acknowledged(), story.sizes[0]);
        prop_assert_eq!(pair.server.acknowledged(), story.sizes[1]);
        for connection in [&pair.client, &pair.server] {
            prop_assert_eq!(connection.end_reason(), Some(EndReason::Closed));
        }
        for end in [End::Client, End::Server] {
            let acks: Vec<u32> = pair.wire.iter().filter(|sent| sent.by == end && sent.at > at(START))
                .map(|sent| sent.segment.ack.0).collect();
            prop_assert!(acks.windows(2).all(|w| (w[1].wrapping_sub(w[0]) as i32) >= 0));
        }
    }
}
