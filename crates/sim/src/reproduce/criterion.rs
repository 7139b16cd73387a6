//! Criteria: what a paper's measured tables must show, declared in `criteria.toml`.

use serde::Deserialize;

use super::Criterion;
use super::experiment::Measured;

/// Whether a criterion is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Pass,
    /// It is not.
    Fail,
    /// The printed numbers contradict the paper's own parameters; the arithmetic is given, and ours obey it.
    Negative,
}

impl Verdict {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Negative => "negative",
        }
    }
}

/// `[[criteria]]`: all its checks must hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    id: String,
    text: String,
    checks: Vec<Check>,
}

/// A column of a table, restricted to rows from `from` to `to`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    table: String,
    column: String,
    from: Option<f64>,
    to: Option<f64>,
}

/// One check.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Check {
    /// Measured and printed values differ by at most `seconds`, `percent` of the printed value, or percentage `points`, in
    /// at least `at_least` rows (default all).
    NearPrinted {
        series: Vec<Series>,
        seconds: Option<f64>,
        percent: Option<f64>,
        points: Option<f64>,
        at_least: Option<usize>,
    },
    /// The root of the mean square of the differences between measured and printed values is at most `max`.
    Rms { series: Series, max: f64 },
    /// A least-squares line through the series has this slope and, at row 0, a value in `at_zero`; no point is further from
    /// it than `residual`.
    Line { series: Series, slope: [f64; 2], at_zero: Option<[f64; 2]>, residual: Option<f64> },
    /// At least `at_least` values (default all) lie in the range.
    Range { series: Series, min: Option<f64>, max: Option<f64>, at_least: Option<usize> },
    /// The logarithms to base 10 of measured and printed values, each over the first of its column, differ by at most
    /// `within`.
    NearPrintedDecades { series: Series, within: f64 },
    /// Every value is at most `max`. If one is more, that is a harm which the paper's own rule does; it is recorded with its
    /// reason, and gives the verdict "negative".
    Harm { series: Series, max: f64, reason: String },
    /// The mean of all values lies in the range.
    Mean { series: Vec<Series>, min: Option<f64>, max: Option<f64> },
    /// The value at row `at` lies in the range.
    Value { series: Series, at: f64, min: Option<f64>, max: Option<f64> },
    /// The value at row `num` is at least `min` times that at row `den`.
    Ratio { series: Series, num: f64, den: f64, min: f64 },
    /// Spearman's rank correlation of the rows and the values lies in the range.
    Spearman { series: Series, min: Option<f64>, max: Option<f64> },
    /// The values at these rows differ by at most `within`.
    Plateau { series: Series, rows: Vec<f64>, within: f64 },
    /// The steps between the values at these rows double, within `tolerance` (0.1 is 10 %).
    Doubling { series: Series, rows: Vec<f64>, tolerance: f64 },
    /// No value is greater than the one before, but for `tolerance`.
    NotRising { series: Series, tolerance: f64 },
    /// `series` exceeds `than` by at most `seconds` or `percent`, in every row.
    NotWorse { series: Series, than: String, seconds: Option<f64>, percent: Option<f64> },
    /// Every value is at least `base + per_row · row`.
    AtLeast { series: Series, base: f64, per_row: f64 },
    /// The *printed* column breaks that bound, so it cannot be reproduced; ours must obey it. Gives the verdict "negative".
    PrintedImpossible { series: Series, base: f64, per_row: f64, arithmetic: String },
    /// Every *printed* value is above a bound that no run can exceed; ours must obey it. Gives the verdict "negative".
    PrintedBeyond { series: Series, max: f64, arithmetic: String },
    /// What the paper says in words contradicts its own parameters; every value of ours lies in the range that they give.
    /// Gives the verdict "negative".
    ClaimImpossible { series: Series, min: f64, max: f64, arithmetic: String },
}

/// The mean; no number if one of them is none.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What a check found.
struct Finding {
    holds: bool,
    negative: bool,
    expected: String,
    measured: String,
}

/// Judges `rule` by the measured tables.
pub(super) fn judge(rule: Rule, tables: &[Measured]) -> Result<Criterion, String> {
    let findings = rule
        .checks
        .iter()
        .map(|check| check.find(tables).map_err(|e| format!("{}: {e}", rule.id)))
        .collect::<Result<Vec<Finding>, String>>()?;
    let verdict = if findings.iter().any(|f| !f.holds) {
        Verdict::Fail
    } else if findings.iter().any(|f| f.negative) {
        Verdict::Negative
    } else {
        Verdict::Pass
    };
    let join = |part: fn(&Finding) -> &str| findings.iter().map(part).collect::<Vec<_>>().join("; ");
    Ok(Criterion {
        expected: join(|f| &f.expected),
        measured: join(|f| &f.measured),
        id: rule.id,
        text: rule.text,
        verdict,
    })
}

/// Rows and values of a series; a run without a value (not finished) is an error of the criterion, not of the program.
struct Points {
    rows: Vec<f64>,
    values: Vec<f64>,
}

fn table<'a>(tables: &'a [Measured], id: &str) -> Result<&'a Measured, String> {
    tables.iter().find(|t| t.id() == id).ok_or_else(|| format!("there is no table \"{id}\""))
}

fn pick(table: &Measured, series: &Series, column: Option<&[Option<f64>]>) -> Result<Points, String> {
    let column =
        column.ok_or_else(|| format!("table \"{}\" has no column \"{}\"", series.table, series.column))?;
    let chosen = table
        .rows()
        .iter()
        .zip(column)
        .filter(|(row, _)| series.from.is_none_or(|from| **row >= from))
        .filter(|(row, _)| series.to.is_none_or(|to| **row <= to))
        .map(|(row, value)| (*row, value.unwrap_or(f64::NAN)));
    let (rows, values) = chosen.unzip();
    Ok(Points { rows, values })
}

fn measured(tables: &[Measured], series: &Series) -> Result<Points, String> {
    let table = table(tables, &series.table)?;
    pick(table, series, table.measured(&series.column))
}

fn printed(tables: &[Measured], series: &Series) -> Result<Points, String> {
    let table = table(tables, &series.table)?;
    pick(table, series, table.printed(&series.column))
}

fn bounds(min: Option<f64>, max: Option<f64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any".to_owned(),
    }
}

fn inside(value: f64, min: Option<f64>, max: Option<f64>) -> bool {
    min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max) && value.is_finite()
}

fn list(values: &[f64], decimals: usize) -> String {
    values.iter().map(|v| format!("{v:.decimals$}")).collect::<Vec<_>>().join(" ")
}

impl Check {
    fn find(&self, tables: &[Measured]) -> Result<Finding, String> {
        let finding = |holds, expected, measured| Finding { holds, negative: false, expected, measured };
        Ok(match self {
            Check::NearPrinted { series, seconds, percent, points, at_least } => {
                let limits = Limits { seconds: *seconds, percent: *percent, points: *points };
                near_printed(tables, series, limits, *at_least)?
            }
            Check::Rms { series, max } => {
                let (ours, theirs) = (measured(tables, series)?, printed(tables, series)?);
                let squares = ours.values.iter().zip(&theirs.values).map(|(a, b)| (a - b) * (a - b));
                let rms = mean(&squares.collect::<Vec<_>>()).sqrt();
                let expected = format!("{} within {max} of print, root mean square", series.name());
                finding(inside(rms, None, Some(*max)), expected, format!("{rms:.1}"))
            }
            Check::NearPrintedDecades { series, within } => near_printed_decades(tables, series, *within)?,
            Check::Harm { series, max, reason } => {
                let points = measured(tables, series)?;
                let harms = points.values.iter().any(|value| value > max);
                Finding {
                    holds: points.values.iter().all(|value| value.is_finite()),
                    negative: harms,
                    expected: format!("{} at most {max}; else known harm: {reason}", series.name()),
                    measured: list(&points.values, 2),
                }
            }
            Check::Line { series, slope, at_zero, residual } => {
                let points = measured(tables, series)?;
                let line = fit_line(&points);
                let begins = at_zero.is_none_or(|[low, high]| inside(line.at_zero, Some(low), Some(high)));
                let fits = residual.is_none_or(|limit| line.worst <= limit);
                let holds = inside(line.slope, Some(slope[0]), Some(slope[1])) && begins && fits;
                let begin = at_zero.map_or_else(String::new, |[low, high]| format!(", at 0 {low} to {high}"));
                let limit = residual.map_or_else(String::new, |r| format!(", residual at most {r}"));
                finding(
                    holds,
                    format!("{} slope {} to {}{begin}{limit}", series.name(), slope[0], slope[1]),
                    format!("slope {:.3}, at 0 {:.3}, residual {:.3}", line.slope, line.at_zero, line.worst),
                )
            }
            Check::Range { series, min, max, at_least } => {
                let points = measured(tables, series)?;
                let good = points.values.iter().filter(|v| inside(**v, *min, *max)).count();
                let need = at_least.unwrap_or(points.values.len());
                let rows =
                    at_least.map_or_else(String::new, |n| format!(" in {n} of {} rows", points.rows.len()));
                let expected = format!("{} {}{rows}", series.name(), bounds(*min, *max));
                finding(good >= need, expected, list(&points.values, 2))
            }
            Check::Mean { series, min, max } => {
                let mut values = Vec::new();
                for one in series {
                    values.extend(measured(tables, one)?.values);
                }
                let mean = mean(&values);
                let names: Vec<String> = series.iter().map(Series::name).collect();
                let expected = format!("mean of {} {}", names.join(", "), bounds(*min, *max));
                finding(inside(mean, *min, *max), expected, format!("{mean:.2}"))
            }
            Check::Value { series, at, min, max } => {
                let value = measured(tables, series)?.at(*at)?;
                let expected = format!("{} at {at}: {}", series.name(), bounds(*min, *max));
                finding(inside(value, *min, *max), expected, format!("{value:.2}"))
            }
            Check::Ratio { series, num, den, min } => {
                let points = measured(tables, series)?;
                let (num_value, den_value) = (points.at(*num)?, points.at(*den)?);
                let expected = format!("{} at {num} at least {min} times that at {den}", series.name());
                finding(num_value >= min * den_value, expected, format!("{num_value:.2} and {den_value:.2}"))
            }
            Check::Spearman { series, min, max } => {
                let points = measured(tables, series)?;
                let rho = pearson(&ranks(&points.rows), &ranks(&points.values));
                let expected = format!("{} rank correlation {}", series.name(), bounds(*min, *max));
                finding(inside(rho, *min, *max), expected, format!("{rho:.2}"))
            }
            Check::Plateau { series, rows, within } => {
                let values = measured(tables, series)?.pick(rows)?;
                let spread = values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
                    - values.iter().copied().fold(f64::INFINITY, f64::min);
                let expected = format!("{} equal within {within} at {}", series.name(), list(rows, 0));
                finding(inside(spread, None, Some(*within)), expected, format!("spread {spread:.3}"))
            }
            Check::Doubling { series, rows, tolerance } => {
                let values = measured(tables, series)?.pick(rows)?;
                let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
                let ratios: Vec<f64> = steps.windows(2).map(|pair| pair[1] / pair[0]).collect();
                let range = (Some(2.0 * (1.0 - tolerance)), Some(2.0 * (1.0 + tolerance)));
                let holds = ratios.iter().all(|ratio| inside(*ratio, range.0, range.1));
                let expected = format!("{} steps double at {}", series.name(), list(rows, 0));
                finding(holds, expected, format!("steps {}", list(&steps, 2)))
            }
            Check::NotRising { series, tolerance } => {
                let points = measured(tables, series)?;
                let holds = points.values.windows(2).all(|pair| pair[1] <= pair[0] + tolerance);
                finding(holds, format!("{} never rising", series.name()), list(&points.values, 2))
            }
            Check::NotWorse { series, than, seconds, percent } => {
                let limits = Limits { seconds: *seconds, percent: *percent, points: None };
                not_worse(tables, series, than, limits)?
            }
            Check::AtLeast { series, base, per_row } => {
                let points = measured(tables, series)?;
                let margin = points.margin_over(*base, *per_row);
                let expected = format!("{} at least {base} + {per_row} per row", series.name());
                finding(margin >= 0.0, expected, format!("smallest margin {margin:.2}"))
            }
            Check::ClaimImpossible { series, min, max, arithmetic } => {
                let points = measured(tables, series)?;
                Finding {
                    holds: points.values.iter().all(|value| inside(*value, Some(*min), Some(*max))),
                    negative: true,
                    expected: format!("{} from {min} to {max}: {arithmetic}", series.name()),
                    measured: list(&points.values, 3),
                }
            }
            Check::PrintedImpossible { series, base, per_row, arithmetic } => {
                let paper = printed(tables, series)?.margin_over(*base, *per_row);
                let ours = measured(tables, series)?.margin_over(*base, *per_row);
                Finding {
                    holds: paper < 0.0 && ours >= 0.0,
                    negative: true,
                    expected: format!("{} at least {base} + {per_row} per row: {arithmetic}", series.name()),
                    measured: format!("margin of the printed values {paper:.2}, of ours {ours:.2}"),
                }
            }
            Check::PrintedBeyond { series, max, arithmetic } => {
                let (paper, ours) = (printed(tables, series)?, measured(tables, series)?);
                // What is not printed claims nothing.
                let claims: Vec<f64> = paper.values.into_iter().filter(|value| value.is_finite()).collect();
                let claimed = !claims.is_empty() && claims.iter().all(|value| value > max);
                let obeyed = ours.values.iter().all(|value| inside(*value, None, Some(*max)));
                Finding {
                    holds: claimed && obeyed,
                    negative: true,
                    expected: format!("{} at most {max}: {arithmetic}", series.name()),
                    measured: format!("printed {}, ours {}", list(&claims, 2), list(&ours.values, 2)),
                }
            }
        })
    }
}

fn near_printed(
    tables: &[Measured],
    all: &[Series],
    limits: Limits,
    at_least: Option<usize>,
) -> Result<Finding, String> {
    let (mut good, mut count) = (0, 0);
    let mut differences = Vec::new();
    for series in all {
        let (ours, theirs) = (measured(tables, series)?, printed(tables, series)?);
        for (our, their) in ours.values.iter().zip(&theirs.values) {
            let off = our - their;
            good += usize::from(off.abs() <= limits.at(*their));
            count += 1;
            differences.push(off);
        }
    }
    let need = at_least.unwrap_or(count);
    let limit = limits.name();
    if limit.is_empty() {
        return Err("near-printed needs seconds, percent or points".to_owned());
    }
    let names = all.iter().map(Series::name).collect::<Vec<_>>().join(", ");
    Ok(Finding {
        holds: good >= need,
        negative: false,
        expected: format!("{names} within {limit} of print in {need} of {count} rows"),
        measured: format!("{good} of {count}; differences {}", list(&differences, 2)),
    })
}

fn near_printed_decades(tables: &[Measured], series: &Series, within: f64) -> Result<Finding, String> {
    let (ours, theirs) = (measured(tables, series)?, printed(tables, series)?);
    let whole = Series { from: None, to: None, ..series.clone() };
    let first = |points: Points| points.values.first().copied().unwrap_or(f64::NAN);
    let (our_first, their_first) = (first(measured(tables, &whole)?), first(printed(tables, &whole)?));
    let pairs = ours.values.iter().zip(&theirs.values);
    let apart: Vec<f64> =
        pairs.map(|(our, their)| libm::log10((our / our_first) / (their / their_first))).collect();
    Ok(Finding {
        holds: apart.iter().all(|apart| apart.abs() <= within),
        negative: false,
        expected: format!("{} over its first value within {within} decades of print", series.name()),
        measured: format!("decades {}", list(&apart, 3)),
    })
}

fn not_worse(tables: &[Measured], series: &Series, than: &str, limits: Limits) -> Result<Finding, String> {
    let ours = measured(tables, series)?;
    let other = measured(tables, &Series { column: than.to_owned(), ..series.clone() })?;
    let excess: Vec<f64> = ours.values.iter().zip(&other.values).map(|(a, b)| a - b).collect();
    let holds = excess.iter().zip(&other.values).all(|(excess, base)| *excess <= limits.at(*base));
    Ok(Finding {
        holds,
        negative: false,
        expected: format!("{} above {than} by at most {}", series.name(), limits.name()),
        measured: format!("excess {}", list(&excess, 2)),
    })
}

/// How far a value may be from another; all that are given must hold.
#[derive(Clone, Copy, Debug)]
struct Limits {
    seconds: Option<f64>,
    /// Of the other value.
    percent: Option<f64>,
    /// Where both are percentages.
    points: Option<f64>,
}

impl Limits {
    fn at(self, base: f64) -> f64 {
        let percent = self.percent.map(|p| base.abs() * p / 100.0);
        [self.seconds, percent, self.points].into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    /// Empty if nothing is given.
    fn name(self) -> String {
        let with = |value: Option<f64>, unit: &str| value.map(|v| format!("{v} {unit}"));
        let all = [with(self.seconds, "s"), with(self.percent, "%"), with(self.points, "points")];
        all.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}

impl Series {
    fn name(&self) -> String {
        format!("{}.{}", self.table, self.column)
    }
}

impl Points {
    fn at(&self, row: f64) -> Result<f64, String> {
        let position = self.rows.iter().position(|r| (r - row).abs() < 1e-9);
        position.map(|i| self.values[i]).ok_or_else(|| format!("there is no row {row}"))
    }

    fn pick(&self, rows: &[f64]) -> Result<Vec<f64>, String> {
        rows.iter().map(|row| self.at(*row)).collect()
    }

    /// Smallest value − (base + per_row · row); NaN counts as a broken bound.
    fn margin_over(&self, base: f64, per_row: f64) -> f64 {
        let margins = self.rows.iter().zip(&self.values).map(|(row, value)| value - (base + per_row * row));
        margins.fold(
            f64::INFINITY,
            |least, margin| if margin.is_nan() { f64::NEG_INFINITY } else { least.min(margin) },
        )
    }
}

/// A least-squares line.
struct Line {
    slope: f64,
    at_zero: f64,
    /// Largest distance of a point from it.
    worst: f64,
}

fn fit_line(points: &Points) -> Line {
    let n = points.rows.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let (mx, my) = (mean(&points.rows), mean(&points.values));
    let sxy: f64 = points.rows.iter().zip(&points.values).map(|(x, y)| (x - mx) * (y - my)).sum();
    let sxx: f64 = points.rows.iter().map(|x| (x - mx) * (x - mx)).sum();
    let slope = sxy / sxx;
    let off = points.rows.iter().zip(&points.values).map(|(x, y)| (y - my - slope * (x - mx)).abs());
    Line { slope, at_zero: my - slope * mx, worst: off.fold(0.0, f64::max) }
}

/// Ranks from 1, ties sharing their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|v| *v < value).count() as f64;
        let equal = values.iter().filter(|v| v.total_cmp(value).is_eq()).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let sum = |f: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(a, b)| f(a - mx, b - my)).sum::<f64>();
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_fitted_exactly_and_its_worst_point_found() {
        let exact = Points { rows: vec![1.0, 2.0, 4.0], values: vec![5.0, 7.0, 11.0] };
        let Line { slope, at_zero, worst } = fit_line(&exact);
        assert!((slope - 2.0).abs() < 1e-12 && (at_zero - 3.0).abs() < 1e-12 && worst < 1e-12);
        let bent = Points { rows: vec![0.0, 1.0, 2.0], values: vec![0.0, 3.0, 0.0] };
        let Line { slope, worst, .. } = fit_line(&bent);
        assert!(slope.abs() < 1e-12 && (worst - 2.0).abs() < 1e-12);
    }

    #[test]
    fn rank_correlation_sees_order_only() {
        let rho = pearson(&ranks(&[1.0, 2.0, 3.0]), &ranks(&[10.0, 1000.0, 1001.0]));
        assert!((rho - 1.0).abs() < 1e-12);
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [2.5, 1.0, 2.5]);
    }

    #[test]
    fn the_strictest_limit_counts() {
        let both = Limits { seconds: Some(0.3), percent: Some(1.0), points: None };
        assert_eq!((both.at(10.0), both.at(100.0)), (0.1, 0.3));
        assert_eq!(both.name(), "0.3 s and 1 %");
        let points = Limits { seconds: None, percent: None, points: Some(5.0) };
        assert_eq!((points.at(-2.6), points.name().as_str()), (5.0, "5 points"));
    }

    #[test]
    fn a_mean_is_over_all_rows_and_needs_them_all() {
        let points = Points { rows: vec![2.0, 3.0, 5.0], values: vec![5.0, 17.0, 5.0] };
        assert!((mean(&points.values) - 9.0).abs() < 1e-12);
        let unfinished = Points { rows: vec![2.0, 3.0], values: vec![5.0, f64::NAN] };
        assert!(!inside(mean(&unfinished.values), None, Some(20.0)));
    }

    #[test]
    fn a_run_that_did_not_finish_breaks_every_bound() {
        let points = Points { rows: vec![1.0], values: vec![f64::NAN] };
        assert!(points.margin_over(0.0, 0.0) < 0.0);
        assert!(!inside(f64::NAN, None, None));
    }
}
