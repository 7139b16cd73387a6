//! The congestion window, round trip by round trip, in two stories small enough to check by hand.
//!
//! Each row is one variant: `cwnd` in whole segments in the middle of each round trip of 20 ms.

use segue_proto::tcp::profile::InitialSsthresh;
use segue_proto::tcp::{Profile, variant};
use segue_proto::testing::{End, Pair};
use segue_proto::time::{Duration, Instant};

/// Segment 20 is lost: it is one of the sixteen of round 3, and round 4 brings ten duplicate ACKs for it.
#[test]
fn slow_start_one_loss_recovery() {
    let curves = curves(|number, again, _| number == 20 && !again, &(0..14).collect::<Vec<_>>());
    #[rustfmt::skip]
    assert_eq!(curves, [
        //         slow start    | halved, or from one  | one segment per round
        row("tahoe",    &[2, 4, 8, 16, 1, 2, 4, 8, 8, 9, 10, 11, 12, 13]),
        row("reno",     &[2, 4, 8, 16, 8, 8, 9, 10, 11, 12, 13, 14, 14, 15]),
        row("new-reno", &[2, 4, 8, 16, 8, 8, 9, 10, 11, 12, 12, 13, 14, 15]),
    ]);
}

/// Rounds 4 and 5 are lost whole: nothing but the timer can help. It expires a second after the last ACK, in round 54,
/// when sixteen segments are in flight.
#[test]
fn slow_start_silence_timeout() {
    let rounds: Vec<u64> = (0..6).chain(52..64).collect();
    let curves = curves(|_, _, round| (4..6).contains(&round), &rounds);
    #[rustfmt::skip]
    assert_eq!(curves, [
        //         slow start     | silence     | slow start to eight  | one segment per round
        row("tahoe",    &[2, 4, 8, 16, 16, 16, 16, 16, 1, 2, 4, 8, 8, 9, 10, 11, 12, 13]),
        row("reno",     &[2, 4, 8, 16, 16, 16, 16, 16, 1, 2, 4, 8, 8, 9, 10, 11, 12, 13]),
        row("new-reno", &[2, 4, 8, 16, 16, 16, 16, 16, 1, 2, 4, 8, 8, 9, 10, 11, 12, 13]),
    ]);
}

/// Segments 16, 20 and 24 are lost. Tahoe sends all again; Reno repairs the first and waits for the timer; NewReno
/// repairs one per round trip.
#[test]
fn slow_start_three_losses_of_one_window() {
    let rounds: Vec<u64> = (0..10).chain(54..60).collect();
    let curves = curves(|number, again, _| [16, 20, 24].contains(&number) && !again, &rounds);
    #[rustfmt::skip]
    assert_eq!(curves, [
        //         rounds 0 to 9                       | rounds 54 to 59
        row("tahoe",    &[2, 4, 8, 16, 1, 2, 3, 4, 8, 8,   52, 53, 54, 55, 56, 57]),
        row("reno",     &[2, 4, 8, 16, 8, 8, 8, 8, 8, 8,    8,  1,  2,  3,  6,  9]),
        row("new-reno", &[2, 4, 8, 16, 8, 8, 8, 8, 9, 10,  54, 55, 56, 57, 58, 59]),
    ]);
}

const ROUND: Duration = Duration::from_millis(20);
/// The handshake takes one round trip before round 0.
const OPEN: Instant = Instant::from_nanos(20_000_000);

fn row(name: &'static str, rounds: &[u32]) -> (&'static str, Vec<u32>) {
    (name, rounds.to_vec())
}

/// `cwnd` of each variant in these rounds. `lost` gets a data segment's number, whether it was sent before, and the
/// round.
fn curves(lost: fn(u64, bool, u64) -> bool, rounds: &[u64]) -> Vec<(&'static str, Vec<u32>)> {
    let curve = |name| {
        let mut pair = Pair::with_profile(&profile(), name);
        pair.client.write(10_000_000);
        let mut highest = 0;
        pair.set_fate(move |by, _, now, segment| {
            if by == End::Server || segment.len == 0 {
                return Some(Duration::ZERO);
            }
            // Below the wrap of the sequence numbers and above it alike.
            let number = u64::from(segment.seq.0.wrapping_sub(u32::MAX - 5_000)) / 1_000 + 1;
            let again = number <= highest;
            highest = highest.max(number);
            let round = now.since(OPEN).as_nanos() / ROUND.as_nanos();
            (!lost(number, again, round)).then_some(Duration::ZERO)
        });
        let in_round = |round: &u64| {
            pair.run_until(OPEN + ROUND * *round + ROUND / 2);
            pair.client.sender().window.cwnd as u32
        };
        (name, rounds.iter().map(in_round).collect())
    };
    variant::ALL.iter().map(|variant| curve(variant.name)).collect()
}

fn profile() -> Profile {
    Profile {
        mss: 1000,
        window: 60,
        initial_window: 2,
        initial_ssthresh: InitialSsthresh::Segments(16),
        limited_transmit: false,
        delayed_ack: None,
        nagle: false,
        ..Profile::named("rfc").expect("a profile of the table").clone()
    }
}
