//! Received power by distance. One table entry each.
//!
//! Formulas after Rappaport, "Wireless Communications", 2nd ed.: Friis §4.2, two-ray ground §4.6, log-distance with
//! shadowing §4.9. All antennas are isotropic (gain 1, no system loss).
//!
//! ## Differences
//! * Shadowing is drawn once per pair of stations, is the same in both directions and does not change while they
//!   move; in ns-2 it is drawn anew for every frame.
//! * Below the crossover distance two-ray ground is Friis, as in ns-2.
//!
//! ## Not modelled
//! Fading within a frame, terrain, antenna patterns. Who studies rate control under fast fading would notice.

use std::io::Write;

use segue_proto::rng::{Stream, Streams};
use segue_proto::wifi::power::{from_db, shadowing_db, to_db};

/// A place, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// To the east.
    pub x: f64,
    /// To the north.
    pub y: f64,
}

impl Position {
    /// The distance to `other` in metres.
    pub fn distance(self, other: Position) -> f64 {
        let (dx, dy) = (self.x - other.x, self.y - other.y);
        // `sqrt` is exact everywhere, `hypot` is not.
        (dx * dx + dy * dy).sqrt()
    }
}

/// A propagation model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Propagation {
    /// Free space: power falls with the square of the distance.
    Friis,
    /// Free space up to the crossover distance, then a reflection on the ground: power falls with the fourth power.
    TwoRayGround {
        /// Height of all antennas in metres.
        antenna_height_m: f64,
    },
    /// Free space up to `reference_m`, then falling with `exponent`, with log-normal shadowing.
    LogDistance {
        /// Distance up to which free space holds, in metres.
        reference_m: f64,
        /// Path loss exponent; 2 is free space.
        exponent: f64,
        /// Standard deviation of the shadowing in dB; 0 for none.
        shadowing_db: f64,
    },
    /// Full power up to this distance, nothing beyond.
    FixedRange {
        /// In metres.
        range_m: f64,
    },
}

/// The names of the models, with one line each.
pub const ALL: &[(&str, &str)] = &[
    ("friis", "free space: power falls with the square of the distance"),
    ("two-ray-ground", "free space near by, fourth power of the distance beyond the crossover"),
    ("log-distance", "a path loss exponent of one's own, with log-normal shadowing"),
    ("fixed-range", "full power up to a distance, nothing beyond"),
];

/// Speed of light as ns-2 has it, in metres per second.
pub const SPEED_OF_LIGHT: f64 = 3e8;

/// How much stronger than its mean a shadowed signal may be and still be looked for: 4 standard deviations.
const SHADOWING_REACH: f64 = 4.0;

/// The transmitter side of a propagation model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmitter {
    /// In watts.
    pub power_w: f64,
    /// In hertz.
    pub frequency_hz: f64,
}

impl Default for Transmitter {
    /// The 914 MHz WaveLAN card of ns-2.
    fn default() -> Self {
        Transmitter { power_w: 0.281_838_15, frequency_hz: 914e6 }
    }
}

impl Transmitter {
    fn wavelength(self) -> f64 {
        SPEED_OF_LIGHT / self.frequency_hz
    }

    fn friis(self, distance_m: f64) -> f64 {
        // The far field begins somewhere below a metre; nearer, the formula would give more than was sent.
        let ratio = self.wavelength() / (4.0 * core::f64::consts::PI * distance_m);
        self.power_w * (ratio * ratio).min(1.0)
    }
}

impl Propagation {
    /// Mean received power in watts at `distance_m`, without shadowing.
    pub fn received_w(&self, transmitter: Transmitter, distance_m: f64) -> f64 {
        match *self {
            Propagation::Friis => transmitter.friis(distance_m),
            Propagation::TwoRayGround { antenna_height_m: height } => {
                let crossover = 4.0 * core::f64::consts::PI * height * height / transmitter.wavelength();
                if distance_m < crossover {
                    transmitter.friis(distance_m)
                } else {
                    let squared = height * height / (distance_m * distance_m);
                    transmitter.power_w * squared * squared
                }
            }
            Propagation::LogDistance { reference_m, exponent, .. } => {
                let reference = transmitter.friis(reference_m);
                if distance_m <= reference_m {
                    transmitter.friis(distance_m)
                } else {
                    reference * from_db(-exponent * to_db(distance_m / reference_m))
                }
            }
            Propagation::FixedRange { range_m } => {
                if distance_m <= range_m {
                    transmitter.power_w
                } else {
                    0.0
                }
            }
        }
    }

    /// The shadowing between two stations as a factor of the power; the same whichever is named first.
    pub fn shadowing(&self, streams: Streams, a: u32, b: u32) -> f64 {
        match *self {
            Propagation::LogDistance { shadowing_db: deviation, .. } if deviation > 0.0 => {
                let mut stream = pair_stream(streams, a.min(b), a.max(b));
                from_db(shadowing_db(deviation, SHADOWING_REACH, &mut stream))
            }
            _ => 1.0,
        }
    }

    /// The distance beyond which no signal reaches `threshold_w`.
    pub fn reach_m(&self, transmitter: Transmitter, threshold_w: f64) -> f64 {
        let boost = match *self {
            Propagation::LogDistance { shadowing_db: deviation, .. } => from_db(SHADOWING_REACH * deviation),
            _ => 1.0,
        };
        // Power never grows with distance: bisection between a place that hears and one that does not.
        let (mut near, mut far) = (0.0, 1e7);
        for _ in 0..64 {
            let middle = 0.5 * (near + far);
            if self.received_w(transmitter, middle) * boost >= threshold_w {
                near = middle;
            } else {
                far = middle;
            }
        }
        far
    }
}

/// The stream `radio/shadowing LOW-HIGH`. Its name is put together on the stack: pairs with a moving end are drawn
/// again for each frame.
fn pair_stream(streams: Streams, low: u32, high: u32) -> Stream {
    let mut name = [0; 40];
    let mut rest = &mut name[..];
    write!(rest, "radio/shadowing {low}-{high}").expect("16 bytes and two numbers of up to 10 digits fit");
    let unused = rest.len();
    let name = std::str::from_utf8(&name[..name.len() - unused]).expect("it was written as text");
    streams.stream(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS2: Propagation = Propagation::TwoRayGround { antenna_height_m: 1.5 };

    #[test]
    fn the_thresholds_of_ns2_are_250_and_550_metres() {
        let card = Transmitter::default();
        assert!((NS2.reach_m(card, 3.652e-10) - 250.0).abs() < 0.05, "{}", NS2.reach_m(card, 3.652e-10));
        assert!((NS2.reach_m(card, 1.559e-11) - 550.0).abs() < 0.05, "{}", NS2.reach_m(card, 1.559e-11));
    }

    #[test]
    fn two_ray_ground_is_continuous_at_the_crossover() {
        let card = Transmitter::default();
        let crossover = 4.0 * core::f64::consts::PI * 2.25 / card.wavelength();
        let (before, after) =
            (NS2.received_w(card, crossover - 1e-6), NS2.received_w(card, crossover + 1e-6));
        assert!((before / after - 1.0).abs() < 1e-6);
    }

    #[test]
    fn log_distance_with_exponent_two_is_free_space() {
        let card = Transmitter::default();
        let model = Propagation::LogDistance { reference_m: 1.0, exponent: 2.0, shadowing_db: 0.0 };
        let ratio = model.received_w(card, 137.0) / Propagation::Friis.received_w(card, 137.0);
        assert!((ratio - 1.0).abs() < 1e-12);
    }

    #[test]
    fn shadowing_is_symmetric_and_has_its_standard_deviation() {
        let model = Propagation::LogDistance { reference_m: 1.0, exponent: 3.0, shadowing_db: 6.0 };
        let streams = Streams::new(1);
        let db = |a, b| to_db(model.shadowing(streams, a, b));
        assert!((db(3, 9) - db(9, 3)).abs() < 1e-12);
        let squares: f64 = (0..2_000).map(|b| db(5_000, b) * db(5_000, b)).sum();
        let deviation = (squares / 2_000.0).sqrt();
        assert!((deviation - 6.0).abs() < 0.3, "{deviation}");
    }

    #[test]
    fn the_stream_of_a_pair_is_the_one_of_that_name() {
        let streams = Streams::new(1);
        for (low, high) in [(0, 1), (7, 4_294_967_295), (4_294_967_294, 4_294_967_295)] {
            let mut named = streams.stream(&format!("radio/shadowing {low}-{high}"));
            assert_eq!(pair_stream(streams, low, high).below(u64::MAX), named.below(u64::MAX));
        }
    }

    #[test]
    fn a_fixed_range_ends_where_it_says() {
        let card = Transmitter::default();
        let model = Propagation::FixedRange { range_m: 100.0 };
        assert!(model.received_w(card, 100.0) > 0.0);
        assert!(model.received_w(card, 100.1) <= 0.0);
        assert!((model.reach_m(card, 1e-9) - 100.0).abs() < 1e-6);
    }
}
