//! Power in watts, decibels and dBm, by functions that give the same bits on every machine.

use crate::rng::Stream;

/// A factor from decibels.
pub fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// A factor as decibels.
pub fn to_db(factor: f64) -> f64 {
    10.0 * libm::log10(factor)
}

/// Watts as dBm.
pub fn dbm(watts: f64) -> f64 {
    to_db(watts * 1e3)
}

/// A number of decibels with mean 0 and this standard deviation, drawn from a normal distribution (Box and Muller)
/// that is cut off at `reach` deviations.
pub fn shadowing_db(deviation_db: f64, reach: f64, stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.uniform()));
    let normal = radius * libm::cos(2.0 * core::f64::consts::PI * stream.uniform());
    normal.clamp(-reach, reach) * deviation_db
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn decibels_and_factors_are_inverse() {
        assert!((from_db(10.0) - 10.0).abs() < 1e-12);
        assert!((to_db(from_db(-37.5)) + 37.5).abs() < 1e-12);
        assert!((dbm(0.001)).abs() < 1e-12);
    }

    #[test]
    fn shadowing_has_its_mean_deviation_and_reach() {
        let mut stream = Streams::new(1).stream("shadowing");
        let drawn: Vec<f64> = (0..20_000).map(|_| shadowing_db(6.0, 2.0, &mut stream)).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.15, "{mean}");
        assert!(drawn.iter().all(|db| db.abs() <= 12.0));
        let within_one = drawn.iter().filter(|db| db.abs() < 6.0).count();
        assert!((13_450..13_850).contains(&within_one), "{within_one}");
    }
}
