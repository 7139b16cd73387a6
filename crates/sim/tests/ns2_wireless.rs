//! Our 802.11 against the real ns-2.35, case by case (`validation/ns2`), and the frame-error curve of Boosted TCP.
//!
//! Random backoffs differ, so means over seeds are compared. They may differ by three standard errors of the
//! difference, and by a share of the mean for what is known to differ (`validation/ns2/README.md`).

mod ns2;

use std::sync::OnceLock;

use rayon::prelude::*;
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::dcf::{AfterCts, Config as StationConfig};
use segue_proto::wifi::retry::CountsOf;
use segue_proto::wifi::{DropCause, Event, Limits, Phy, Preamble, Rate, StationId};
use segue_sim::radio::Position;
use segue_sim::radio::cell::{Cell, Seen, Source};
use segue_sim::radio::medium::Config as MediumConfig;
use segue_sim::scenario::load_text;

use ns2::{Row, read_csv};

/// Share of the mean by which ours may differ beside the noise.
const SYSTEMATIC: f64 = 0.01;

/// In standard errors of the difference.
const NOISE: f64 = 3.0;

#[test]
fn every_wireless_case_agrees_with_ns2() {
    let expected = read_csv("wireless-expected.csv");
    let mut differences = Vec::new();
    for (case, ours) in measured() {
        let rows: Vec<&Row> = expected.iter().filter(|row| row["name"] == case["name"]).collect();
        assert_eq!(rows.len(), ours.len(), "{}", case["name"]);
        for (row, (quantity, ours)) in rows.into_iter().zip(ours) {
            assert_eq!(row["quantity"], *quantity);
            let theirs = Estimate { mean: number(row, "mean"), error: number(row, "standard_error") };
            let (agrees, line) = compare(*ours, theirs);
            let line = format!("{:16} {quantity:20} {line}", row["name"]);
            println!("{line}");
            if !agrees {
                differences.push(line);
            }
        }
    }
    assert!(measured().len() >= 25, "only {} cases", measured().len());
    let count = differences.len();
    assert!(differences.is_empty(), "{count} quantities differ from ns-2:\n{}", differences.join("\n"));
}

#[test]
fn tahoe_over_lost_frames_follows_the_printed_curve() {
    let points: Vec<(f64, f64)> = measured()
        .iter()
        .filter(|(case, _)| !case["printed"].is_empty())
        .map(|(case, ours)| (ours[0].1.mean, number(case, "printed")))
        .collect();
    assert_eq!(points.len(), 13);
    // A segment carries 1000 bytes, so segments per second are kB/s.
    let squares = points.iter().map(|(ours, printed)| {
        let apart = libm::log10(ours / printed);
        apart * apart
    });
    let rms = (squares.sum::<f64>() / points.len() as f64).sqrt();
    println!("log10 RMS error {rms:.4}: {points:?}");
    assert!(rms <= 0.06, "log10 RMS error {rms}: {points:?}");
    let (without_errors, printed) = points[0];
    assert!((without_errors / printed - 1.0).abs() <= 0.03, "{without_errors} against {printed}");
}

fn compare(ours: Estimate, theirs: Estimate) -> (bool, String) {
    let noise = (ours.error * ours.error + theirs.error * theirs.error).sqrt();
    let apart = ours.mean - theirs.mean;
    let share = |part: f64| 100.0 * part / theirs.mean;
    let line = format!(
        "ours {:10.5} ± {:.2} %, ns-2 {:10.5} ± {:.2} %: {:+.2} % (tolerance {:.2} %)",
        ours.mean,
        share(ours.error),
        theirs.mean,
        share(theirs.error),
        share(apart),
        share(NOISE * noise) + 100.0 * SYSTEMATIC,
    );
    (apart.abs() <= NOISE * noise + SYSTEMATIC * theirs.mean, line)
}

/// A case with the quantities that we measured.
type Measured = (Row, Vec<(&'static str, Estimate)>);

/// All cases, run once for all tests.
fn measured() -> &'static [Measured] {
    static MEASURED: OnceLock<Vec<Measured>> = OnceLock::new();
    MEASURED.get_or_init(|| {
        let cases = read_csv("wireless-cases.csv").into_par_iter();
        cases.map(|case| (case.clone(), measure(&case))).collect()
    })
}

/// A mean and its standard error.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    mean: f64,
    error: f64,
}

impl Estimate {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Estimate { mean, error: (squares / (count - 1.0) / count).sqrt() }
    }
}

/// The quantities of a case, over as many seeds as ns-2 ran.
fn measure(case: &Row) -> Vec<(&'static str, Estimate)> {
    let names: &[&'static str] = match case["kind"].as_str() {
        "tcp" => &["segments_per_s"],
        "dead" => &["attempts_per_packet", "ms_per_packet"],
        "cell" => &["kilobits_per_s", "attempts_per_packet"],
        other => panic!("kind {other}"),
    };
    let runs: Vec<Vec<f64>> = (1..=number(case, "runs") as u64)
        .map(|seed| match case["kind"].as_str() {
            "tcp" => vec![tcp(case, seed)],
            "dead" => dead(case, seed),
            _ => cell(case, seed),
        })
        .collect();
    let estimate = |i: usize| Estimate::of(&runs.iter().map(|run| run[i]).collect::<Vec<_>>());
    names.iter().enumerate().map(|(i, name)| (*name, estimate(i))).collect()
}

/// Segments acknowledged a second.
fn tcp(case: &Row, seed: u64) -> f64 {
    let threshold = if case["rts"] == "on" { "\"0 B\"" } else { "\"off\"" };
    let text = format!(
        r#"
duration = "{} s"
tcp = {{ profile = "ns-2.35", variant = "{}", window = {}, max_rto = "{} s" }}
hosts = {{ sender = {{ position = [10.0, 0.0] }}, receiver = {{ position = [0.0, 0.0] }} }}
flows = [{{ from = "sender", to = "receiver" }}]
[[cells]]
members = ["sender", "receiver"]
rate = "{} Mb/s"
basic_rate = "{} Mb/s"
rts_threshold = {threshold}
after_cts = "wait"
difs_after_eifs = true
retry_counts_of = "station"
frame_error = {:?}
"#,
        case["seconds"],
        case["tcp"],
        case["window_segments"],
        if case["max_rto_s"].is_empty() { "60" } else { &case["max_rto_s"] },
        number(case, "rate_bps") / 1e6,
        number(case, "basic_rate_bps") / 1e6,
        number(case, "frame_error"),
    );
    let scenario = load_text(&case["name"], &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let results = segue_sim::run(&scenario, seed);
    results.flows[0].acknowledged as f64 / 1000.0 / number(case, "seconds")
}

/// Attempts, and milliseconds, for each packet that a station gives up which nobody answers.
fn dead(case: &Row, seed: u64) -> Vec<f64> {
    let mut air = Cell::new(MediumConfig::default(), seed);
    let source = Source { to: StationId(1), bytes: number(case, "bytes") as u32 };
    air.add(station(case, 0), Position::default(), Some(source));
    air.watch();
    air.run_until(seconds(case));
    let drops: Vec<(Instant, u16)> = air
        .log()
        .iter()
        .filter_map(|(when, _, seen)| match seen {
            Seen::Event(Event::Dropped { tries, cause: DropCause::RetryLimit, .. }) => Some((*when, *tries)),
            _ => None,
        })
        .collect();
    let span = drops[drops.len() - 1].0.since(drops[0].0);
    let tries: u64 = drops[1..].iter().map(|(_, tries)| u64::from(*tries)).sum();
    let packets = (drops.len() - 1) as f64;
    vec![tries as f64 / packets, span.as_secs_f64() * 1e3 / packets]
}

/// Kilobits a second received by station 0 from all others, and attempts for each packet.
fn cell(case: &Row, seed: u64) -> Vec<f64> {
    let mut air = Cell::new(MediumConfig::default(), seed);
    let stations = number(case, "stations") as u32;
    air.add(station(case, 0), Position::default(), None);
    let source = Source { to: StationId(0), bytes: number(case, "bytes") as u32 };
    for number in 1..=stations {
        let angle = std::f64::consts::TAU * f64::from(number) / f64::from(stations);
        let position = Position { x: 10.0 * libm::cos(angle), y: 10.0 * libm::sin(angle) };
        air.add(station(case, number), position, Some(source));
    }
    air.run_until(seconds(case));
    let stats = || (1..=stations).map(|number| air.station(number).stats());
    let attempts: u64 = stats().map(|s| s.attempts).sum();
    let delivered: u64 = stats().map(|s| s.delivered).sum();
    let bits = air.counts(0).received_bytes as f64 * 8.0;
    vec![bits / 1e3 / number(case, "seconds"), attempts as f64 / delivered as f64]
}

fn seconds(case: &Row) -> Instant {
    Instant::ZERO + Duration::from_secs(number(case, "seconds") as u64)
}

fn station(case: &Row, index: u32) -> StationConfig {
    let rate = |column: &str| match case[column].as_str() {
        "1000000" => Rate::Dsss1,
        "2000000" => Rate::Dsss2,
        "11000000" => Rate::Dsss11,
        other => panic!("{column} {other}"),
    };
    let limit = |column: &str, default: u16| case[column].parse().unwrap_or(default);
    let usual = Limits::default();
    StationConfig {
        basic_rate: rate("basic_rate_bps"),
        rts_threshold: if case["rts"] == "on" { 0 } else { u32::MAX },
        retry_limits: Limits {
            short: limit("short_limit", usual.short),
            long: limit("long_limit", usual.long),
        },
        after_cts: AfterCts::Wait,
        difs_after_eifs: true,
        retry_counts_of: CountsOf::Station,
        ..StationConfig::new(StationId(index), Phy::Dsss(Preamble::Long), rate("rate_bps"))
    }
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{}: {column} is \"{}\"", row["name"], row[column]))
}
