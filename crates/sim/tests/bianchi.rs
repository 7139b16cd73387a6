//! The DCF in saturation against theory: see `validation/bianchi/README.md`.

use rayon::prelude::*;
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::dcf::Config as StationConfig;
use segue_proto::wifi::frame::DATA_HEADER_BYTES;
use segue_proto::wifi::{Limits, Phy, Preamble, Rate, StationId};
use segue_sim::radio::cell::{Cell, Source};
use segue_sim::radio::medium::Config as MediumConfig;
use segue_sim::radio::{Position, Propagation};

const PAYLOAD_BYTES: u32 = 1000;
const COUNTS: [u32; 6] = [1, 2, 5, 10, 20, 50];

#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    phy: Phy,
    data: Rate,
    basic: Rate,
    rts: bool,
    use_eifs: bool,
}

const DSSS: Case = Case {
    name: "DSSS 11/1",
    phy: Phy::Dsss(Preamble::Long),
    data: Rate::Dsss11,
    basic: Rate::Dsss1,
    rts: false,
    use_eifs: true,
};
const OFDM: Case = Case {
    name: "OFDM 6/6",
    phy: Phy::Ofdm,
    data: Rate::Ofdm6,
    basic: Rate::Ofdm6,
    rts: false,
    use_eifs: true,
};
const CASES: [Case; 4] = [DSSS, Case { rts: true, ..DSSS }, OFDM, Case { rts: true, ..OFDM }];

#[derive(Clone, Copy, Debug)]
struct Point {
    throughput_mbps: f64,
    collision_probability: f64,
}

#[test]
fn throughput_and_collisions_are_those_of_the_model() {
    let points: Vec<(Case, u32)> = CASES.iter().flat_map(|case| COUNTS.map(|n| (*case, n))).collect();
    let rows: Vec<_> = points
        .into_par_iter()
        .map(|(case, n)| (case, n, expected(case, n), bianchi_2000(case, n), simulate(case, n, 1)))
        .collect();
    println!(
        "| case | access | n | model Mb/s | measured | diff % | Bianchi 2000 | model p | measured | diff % | Bianchi 2000 |"
    );
    for (case, n, model, original, measured) in &rows {
        println!(
            "| {} | {} | {n} | {:.4} | {:.4} | {:+.2} | {:.4} | {:.4} | {:.4} | {:+.2} | {:.4} |",
            case.name,
            if case.rts { "RTS" } else { "basic" },
            model.throughput_mbps,
            measured.throughput_mbps,
            100.0 * (measured.throughput_mbps / model.throughput_mbps - 1.0),
            original.throughput_mbps,
            model.collision_probability,
            measured.collision_probability,
            if *n == 1 {
                0.0
            } else {
                100.0 * (measured.collision_probability / model.collision_probability - 1.0)
            },
            original.collision_probability,
        );
    }
    for (case, n, model, _, measured) in rows {
        let limit = if n == 1 { 0.01 } else { 0.03 };
        let throughput = measured.throughput_mbps / model.throughput_mbps - 1.0;
        assert!(throughput.abs() < limit, "{case:?} n={n}: throughput {throughput:+.4}");
        if n == 1 {
            assert!(measured.collision_probability <= 0.0, "{case:?}: a lone station collides");
        } else {
            let collisions = measured.collision_probability / model.collision_probability - 1.0;
            assert!(collisions.abs() < 0.05, "{case:?} n={n}: collision probability {collisions:+.4}");
        }
    }
}

/// Two stations are too few for the assumption that each meets the others in their mean state. This shows how much
/// of the difference between the models it makes: all that there is between the mean-field model and the MAC at n =
/// 2.
#[test]
fn at_two_stations_the_mean_field_errs_and_the_exact_chain_does_not() {
    for case in [DSSS, OFDM] {
        let mean_field = exact_slots(case, 2).collision_probability;
        let chain = two_stations(case).collision_probability;
        let measured = simulate(case, 2, 2).collision_probability;
        println!("{}: mean field {mean_field:.5}, chain {chain:.5}, measured {measured:.5}", case.name);
        assert!((measured / chain - 1.0).abs() < 0.02, "{case:?}");
        assert!((0.02..0.07).contains(&(chain / mean_field - 1.0)), "{case:?}");
    }
}

/// Without EIFS those who heard a collision go on DIFS after it, and those who collided when the ACK timeout and
/// DIFS are over. Theory: a collision then costs the others its frame and DIFS only. The model with this cost gives
/// the gain if those who collided lost nothing either; in truth they are missing for the ACK timeout, which spares
/// collisions where they are a large part of the stations and leaves the medium idle where nobody else is there.
#[test]
fn without_eifs_the_others_gain_the_time_of_the_ack_timeout() {
    for (case, n) in [(DSSS, 5), (DSSS, 20), (DSSS, 50), (OFDM, 5), (OFDM, 20), (OFDM, 50)] {
        let without = Case { use_eifs: false, ..case };
        let gain = |with: Point, without: Point| without.throughput_mbps / with.throughput_mbps - 1.0;
        let (before, after) = (simulate(case, n, 1), simulate(without, n, 1));
        let predicted = gain(exact_slots(case, n), exact_slots(without, n));
        let measured = gain(before, after);
        let collisions = after.collision_probability / before.collision_probability - 1.0;
        println!(
            "{} n={n}: throughput {:+.2} %, model {:+.2} %; collision probability {:+.2} %",
            case.name,
            100.0 * measured,
            100.0 * predicted,
            100.0 * collisions
        );
        assert!(measured > 0.0, "{case:?} n={n}: {measured}");
        assert!((measured - predicted).abs() < 0.01, "{case:?} n={n}: {measured}, predicted {predicted}");
        // Two of five are missing, or two of fifty: the effect on collisions fades with n.
        let most = if n == 5 { -0.02 } else { 0.01 };
        assert!((-0.06..most).contains(&collisions), "{case:?} n={n}: {collisions}");
    }
}

#[test]
fn the_same_seed_gives_the_same_counts_and_another_one_does_not() {
    let run = |seed| saturated(DSSS, 10, seed, 2).events();
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

/// The exact chain where two stations make it small enough, the mean field elsewhere.
fn expected(case: Case, n: u32) -> Point {
    if n == 2 { two_stations(case) } else { exact_slots(case, n) }
}

fn saturated(case: Case, n: u32, seed: u64, seconds: u64) -> Cell {
    // Bianchi's assumptions: everybody hears everybody, at once and equally well.
    let medium = MediumConfig {
        propagation: Propagation::FixedRange { range_m: 100.0 },
        capture_db: None,
        propagation_delay: false,
        ..MediumConfig::default()
    };
    let mut cell = Cell::new(medium, seed);
    for number in 0..=n {
        let config = StationConfig {
            basic_rate: case.basic,
            rts_threshold: if case.rts { 0 } else { u32::MAX },
            retry_limits: Limits { short: 7, long: 4 },
            use_eifs: case.use_eifs,
            ..StationConfig::new(StationId(number), case.phy, case.data)
        };
        let source = (number > 0).then_some(Source { to: StationId(0), bytes: PAYLOAD_BYTES });
        cell.add(config, Position::default(), source);
    }
    cell.run_until(Instant::ZERO + Duration::from_secs(seconds));
    cell
}

fn simulate(case: Case, n: u32, seed: u64) -> Point {
    // Few stations collide rarely: they need more time for the same confidence.
    let seconds = if n <= 2 { 300 } else { 120 };
    let cell = saturated(case, n, seed, seconds);
    let stats = (1..=n).map(|station| cell.station(station).stats());
    let (attempts, failures) = stats.fold((0, 0), |(a, f), s| (a + s.attempts, f + s.failures));
    Point {
        throughput_mbps: cell.counts(0).received_bytes as f64 * 8.0 / seconds as f64 / 1e6,
        collision_probability: failures as f64 / attempts as f64,
    }
}

/// Durations in microseconds.
struct Times {
    slot: f64,
    /// A successful exchange and the DIFS after it.
    success: f64,
    /// A collision and the interframe space after it.
    collision: f64,
}

impl Times {
    fn of(case: Case) -> Times {
        let Case { phy, data, basic, .. } = case;
        let data = phy.airtime(DATA_HEADER_BYTES + PAYLOAD_BYTES, data);
        let (sifs, ack) = (phy.sifs(), phy.ack(basic));
        let exchange = data + sifs + ack + phy.difs();
        let (success, first) = if case.rts {
            (phy.rts(basic) + sifs + phy.cts(basic) + sifs + exchange, phy.rts(basic))
        } else {
            (exchange, data)
        };
        // Those who heard it wait for EIFS; those who collided, for the response and DIFS: the same.
        let after = if case.use_eifs { phy.eifs() } else { phy.difs() };
        let micros = |span: Duration| span.as_secs_f64() * 1e6;
        Times { slot: micros(phy.slot()), success: micros(success), collision: micros(first + after) }
    }
}

/// Contention windows (numbers to draw from) of the attempts of one packet.
fn windows(phy: Phy) -> [f64; 7] {
    let mut window = f64::from(phy.cw_min() + 1);
    [0; 7].map(|_| {
        let this = window;
        window = (2.0 * window).min(f64::from(phy.cw_max() + 1));
        this
    })
}

/// Finds the `tau` at which `rate(p)` and p = 1 − (1 − tau)^(n−1) agree.
fn fixed_point(n: u32, rate: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let tau = 0.5 * (low + high);
        let p = 1.0 - power(1.0 - tau, n - 1);
        if rate(p) > tau { low = tau } else { high = tau }
    }
    (low, 1.0 - power(1.0 - low, n - 1))
}

fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

/// The model of Bianchi (JSAC 18(3), 2000) with the retry limit of Wu et al. (INFOCOM 2002): every slot takes one
/// off every counter, the slot of a busy medium too.
fn bianchi_2000(case: Case, n: u32) -> Point {
    let times = Times::of(case);
    let (tau, p) = fixed_point(n, |p| {
        let visits = (0..7).map(|stage| power(p, stage));
        let slots: f64 =
            visits.clone().zip(windows(case.phy)).map(|(v, w)| v * ((w - 1.0) / 2.0 + 1.0)).sum();
        visits.sum::<f64>() / slots
    });
    let idle = power(1.0 - tau, n);
    let success = f64::from(n) * tau * power(1.0 - tau, n - 1);
    let mean_slot = idle * times.slot + success * times.success + (1.0 - idle - success) * times.collision;
    Point { throughput_mbps: success * f64::from(PAYLOAD_BYTES) * 8.0 / mean_slot, collision_probability: p }
}

/// The same with the rules of the standard (Tinnirello, Bianchi, Xiao, IEEE Trans. Veh. Technol. 59(3), 2010): a busy
/// medium takes nothing off a counter, so that only those who have just sent can send in the slot that follows DIFS.
///
/// One step of the model is what lies between two idle slots' ends: an idle slot, or a busy period, the further
/// exchanges of those of its stations that drew zero, and the idle slot after it. A counter of b > 0 is spent in b
/// steps; a counter of 0, drawn with probability 1/W, sends within the same step, and alone (that two who collided
/// both draw zero has a probability below 1/1000 and is left out).
fn exact_slots(case: Case, n: u32) -> Point {
    let times = Times::of(case);
    let windows = windows(case.phy);
    // Visits to each stage per packet; at each, 1 − 1/W of the attempts are made against the others.
    let visits = |p: f64| {
        let mut visit = 1.0;
        windows.map(|window| {
            let this = visit;
            visit *= p * (1.0 - 1.0 / window);
            this
        })
    };
    let against_others = |p| visits(p).iter().zip(windows).map(|(v, w)| v * (1.0 - 1.0 / w)).sum::<f64>();
    let alone = |p| visits(p).iter().zip(windows).map(|(v, w)| v / w).sum::<f64>();
    let (tau, p) = fixed_point(n, |p| {
        let steps: f64 = visits(p).iter().zip(windows).map(|(v, w)| v * (w - 1.0) / 2.0).sum();
        against_others(p) / steps
    });
    let idle = power(1.0 - tau, n);
    let first_success = f64::from(n) * tau * power(1.0 - tau, n - 1);
    let further = f64::from(n) * tau * alone(p) / against_others(p);
    let successes = first_success + further;
    let collisions = 1.0 - idle - first_success;
    let mean_step = times.slot + successes * times.success + collisions * times.collision;
    let attempts: f64 = visits(p).iter().sum();
    Point {
        throughput_mbps: successes * f64::from(PAYLOAD_BYTES) * 8.0 / mean_step,
        collision_probability: against_others(p) * p / attempts,
    }
}

/// The chain of two stations, without any approximation.
///
/// After a success the winner draws from the smallest window, and the loser, at stage s, has r > 0 slots left: a
/// state (s, r). After a collision, or a drop, both draw at their stages: a state (s1, s2). Probability flows from
/// all states to their successors until nothing changes.
fn two_stations(case: Case) -> Point {
    let windows = windows(case.phy).map(|window| window as usize);
    let longest = windows[6];
    let mut residual = vec![[0.0; 7]; longest];
    let mut fresh = [[0.0; 7]; 7];
    fresh[0][0] = 1.0;
    // After the last stage the packet is dropped and the next one begins.
    let after = |stage: usize| (stage + 1) % 7;
    let (mut successes, mut collisions, mut slots) = (0.0, 0.0, 0.0);
    for _ in 0..2_000 {
        let mut next_residual = vec![[0.0; 7]; longest];
        let mut next_fresh = [[0.0; 7]; 7];
        (successes, collisions, slots) = (0.0, 0.0, 0.0);
        for (left, stages) in residual.iter().enumerate().skip(1) {
            for (stage, mass) in stages.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                let share = mass / windows[0] as f64;
                for drawn in 0..windows[0] {
                    slots += share * drawn.min(left) as f64;
                    if drawn == left {
                        collisions += share;
                        next_fresh[after(0)][after(stage)] += share;
                    } else {
                        successes += share;
                        let loser = if drawn < left { stage } else { 0 };
                        next_residual[drawn.abs_diff(left)][loser] += share;
                    }
                }
            }
        }
        for (one, row) in fresh.iter().enumerate() {
            for (two, mass) in row.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                let share = mass / (windows[one] * windows[two]) as f64;
                let shorter = windows[one].min(windows[two]);
                collisions += share * shorter as f64;
                next_fresh[after(one)][after(two)] += share * shorter as f64;
                // Pairs of draws whose smaller one is at least k, summed over k, are the slots that pass.
                slots += (1..shorter)
                    .map(|k| share * ((windows[one] - k) * (windows[two] - k)) as f64)
                    .sum::<f64>();
                for (winner, loser) in [(one, two), (two, one)] {
                    let states = next_residual.iter_mut().enumerate().take(windows[loser]).skip(1);
                    for (left, stages) in states {
                        let pairs = windows[winner].min(windows[loser] - left);
                        successes += share * pairs as f64;
                        stages[loser] += share * pairs as f64;
                    }
                }
            }
        }
        (residual, fresh) = (next_residual, next_fresh);
    }
    let times = Times::of(case);
    let duration = slots * times.slot + successes * times.success + collisions * times.collision;
    Point {
        throughput_mbps: successes * f64::from(PAYLOAD_BYTES) * 8.0 / duration,
        collision_probability: 2.0 * collisions / (2.0 * collisions + successes),
    }
}
