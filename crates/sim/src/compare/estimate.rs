//! Means and their 95 % confidence intervals after Student.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The probability that an interval covers the truth, if the runs are independent and about normal.
pub const CONFIDENCE: f64 = 0.95;

/// A mean over runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its interval; `None` with fewer than two runs.
    pub half: Option<f64>,
    /// How many runs it is of.
    pub count: usize,
}

impl Estimate {
    /// Of values from independent runs; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let n = count as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let half = (count > 1).then(|| student_t(count - 1) * (squares / (n - 1.0) / n).sqrt());
        Some(Estimate { mean, half, count })
    }

    /// The same in another unit.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Estimate {
        Estimate { mean: self.mean * factor, half: self.half.map(|half| half * factor.abs()), ..self }
    }

    /// The ends of the interval.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.half.map(|half| (self.mean - half, self.mean + half))
    }
}

/// The two-sided quantile of Student's t with so many degrees of freedom.
fn student_t(freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::NAN, |t| t.inverse_cdf(0.5 + CONFIDENCE / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_are_those_of_the_printed_tables() {
        // Student's t, two-sided 95 %, as in any textbook.
        for (freedom, printed) in [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (19, 2.093), (99, 1.984)]
        {
            assert!((student_t(freedom) - printed).abs() < 6e-4, "{freedom}: {}", student_t(freedom));
        }
    }

    #[test]
    fn an_interval_is_the_quantile_times_the_standard_error() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]).unwrap();
        // Standard deviation 1, error 1/√3.
        let half = 4.302_653 / 3f64.sqrt();
        assert!((estimate.mean - 2.0).abs() < 1e-12);
        assert!((estimate.half.unwrap() - half).abs() < 1e-4);
    }

    #[test]
    fn one_run_has_a_mean_and_no_interval_and_none_has_nothing() {
        assert_eq!(Estimate::of(&[5.0]).unwrap().interval(), None);
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        assert_eq!(Estimate::of(&[3.0; 10]).unwrap().half, Some(0.0));
    }
}
