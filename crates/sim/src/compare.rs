//! Schemes head to head: scenarios × schemes × seeds, each scheme against plain TCP on the same seeds.
//!
//! Runs are paired. A seed fixes the outages, frame errors and delays of a scenario whatever the scheme does, as each
//! component draws from a stream of its own, so the difference of two runs of one seed is the scheme's doing and the
//! course of events that it sets off. What is compared are the flows of mobile hosts that may use the scheme, by
//! direction; flows with `scheme = "none"` stand beside them and tell whether the scheme is fair.
//!
//! * [`estimate`]: means and confidence intervals.
//! * [`measure`]: what is taken from a run.
//! * [`tables`]: the matrix, the table of one scenario, and all of it as CSV.
//!
//! The table of schemes is [`segue_proto::schemes::ALL`]; nothing here names a scheme but plain TCP.

pub mod estimate;
pub mod measure;
pub mod tables;

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use segue_proto::schemes::none;

use self::estimate::Estimate;
use self::measure::{Direction, Facts, Quantity, Speed};
use crate::run;
use crate::scenario::check::check;
use crate::scenario::{CheckError, Scenario, SchemeChoice};

/// A gain whose interval lies below zero is harm if its mean is below this, in percent: less than that nobody feels.
pub const HARM_PCT: f64 = -0.5;

/// A scenario to compare in.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is called in tables.
    pub situation: String,
    /// Its own scheme, with its parameters, is used as it is; the others have their defaults.
    pub scenario: Scenario,
}

/// What the runs of one scenario gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// See [`Case::situation`].
    pub situation: String,
    /// Of the scenario.
    pub title: String,
    /// Of every run; one after the other from the scenario's own.
    pub seeds: Vec<u64>,
    /// By direction, then by scheme; plain TCP is the first of each direction.
    pub rows: Vec<Row>,
}

/// A scheme in one direction of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The scheme.
    pub scheme: &'static str,
    /// Which flows.
    pub direction: Direction,
    /// What is to be said of it.
    pub mark: Option<Mark>,
    /// The quantities that there are, in the order of [`Quantity::ALL`].
    pub values: Vec<(Quantity, Estimate)>,
}

impl Row {
    /// The estimate of a quantity, if the runs give one.
    pub fn value(&self, quantity: Quantity) -> Option<Estimate> {
        self.values.iter().find(|(of, _)| *of == quantity).map(|(_, estimate)| *estimate)
    }
}

/// What stands out about a scheme in a situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It did nothing in any run: no answer but [`Verdict::Proceed`](segue_proto::tcp::Verdict::Proceed), no command, no
    /// option, no order to a MAC.
    CannotAct,
    /// The interval of its gain lies wholly below zero, and the gain below [`HARM_PCT`].
    Harms,
}

impl Mark {
    /// As it stands in tables.
    pub fn name(self) -> &'static str {
        match self {
            Mark::CannotAct => "cannot act",
            Mark::Harms => "harms",
        }
    }
}

/// Scenarios with one scheme each, ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    case: Case,
    /// Plain TCP first.
    scenarios: Vec<Scenario>,
}

impl Prepared {
    /// `case` with plain TCP and each of `schemes`.
    ///
    /// # Errors
    /// If no flow may use a scheme, or the scenario is refused with a scheme: then which one, and why.
    pub fn new(case: Case, schemes: &[&'static str]) -> Result<Self, (&'static str, CheckError)> {
        let none = none::SPEC.name;
        if case.scenario.flows.iter().all(|flow| flow.plain) {
            let message = "no flow may use a scheme; allowed: at least one without scheme = \"none\"";
            return Err((none, CheckError::new("flows", message)));
        }
        let others = schemes.iter().filter(|name| **name != none);
        let with = |name: &&'static str| with_scheme(&case.scenario, name).map_err(|error| (*name, error));
        let scenarios = [none].iter().chain(others).map(with).collect::<Result<_, _>>()?;
        Ok(Prepared { case, scenarios })
    }
}

/// `scenario` with the scheme called `name`, if they fit.
fn with_scheme(scenario: &Scenario, name: &str) -> Result<Scenario, CheckError> {
    let mut scenario = scenario.clone();
    if scenario.scheme.spec.name != name {
        scenario.scheme = SchemeChoice::named(name)
            .ok_or_else(|| CheckError::new("scheme.name", format!("there is no scheme \"{name}\"")))?;
    }
    check(&scenario)?;
    Ok(scenario)
}

/// Runs everything with `seeds` seeds each, on all cores. `progress` hears how many runs are done, of how many; it may
/// be called from any thread.
pub fn compare(cases: &[Prepared], seeds: u64, progress: &(dyn Fn(usize, usize) + Sync)) -> Vec<Comparison> {
    let jobs: Vec<(&Scenario, u64)> = cases
        .iter()
        .flat_map(|case| &case.scenarios)
        .flat_map(|scenario| (0..seeds).map(move |n| (scenario, scenario.seed.wrapping_add(n))))
        .collect();
    let done = AtomicUsize::new(0);
    progress(0, jobs.len());
    let facts: Vec<Facts> = jobs
        .par_iter()
        .map(|(scenario, seed)| {
            let facts = Facts::of(scenario, &run(scenario, *seed));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len());
            facts
        })
        .collect();
    let mut by_scheme = facts.chunks_exact((seeds as usize).max(1));
    cases
        .iter()
        .map(|case| {
            let runs: Vec<&[Facts]> = by_scheme.by_ref().take(case.scenarios.len()).collect();
            judge(case, &runs, seeds)
        })
        .collect()
}

/// Puts the runs of one scenario beside those of plain TCP, the first of `runs`.
fn judge(case: &Prepared, runs: &[&[Facts]], seeds: u64) -> Comparison {
    let Some(plain) = runs.first() else { unreachable!("plain TCP is always there") };
    let mut rows = Vec::new();
    for direction in Direction::ALL {
        if plain.iter().all(|facts| facts.of_direction(direction).is_none()) {
            continue;
        }
        let speed = Speed::for_all(runs, direction);
        for (scenario, schemed) in case.scenarios.iter().zip(runs) {
            let scheme = scenario.scheme.spec.name;
            let is_plain = scheme == none::SPEC.name;
            let values = measure::quantities(direction, speed, plain, schemed, is_plain);
            let mark = if is_plain { None } else { mark(direction, schemed, &values) };
            rows.push(Row { scheme, direction, mark, values });
        }
    }
    let first = case.case.scenario.seed;
    Comparison {
        situation: case.case.situation.clone(),
        title: case.case.scenario.title.clone(),
        seeds: (0..seeds).map(|n| first.wrapping_add(n)).collect(),
        rows,
    }
}

fn mark(direction: Direction, schemed: &[Facts], values: &[(Quantity, Estimate)]) -> Option<Mark> {
    if schemed.iter().all(|facts| facts.interventions(direction) == 0) {
        return Some(Mark::CannotAct);
    }
    let (_, gain) = values.iter().find(|(quantity, _)| *quantity == Quantity::GainPct)?;
    let (_, high) = gain.interval()?;
    (high < 0.0 && gain.mean < HARM_PCT).then_some(Mark::Harms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_harm_only_if_it_is_surely_below_zero_and_felt() {
        let facts = [Facts::with_interventions(Direction::Upload, 1)];
        let mark_of = |mean: f64, half: Option<f64>| {
            let estimate = Estimate { mean, half, count: 10 };
            mark(Direction::Upload, &facts, &[(Quantity::GainPct, estimate)])
        };
        assert_eq!(mark_of(-5.0, Some(4.9)), Some(Mark::Harms));
        assert_eq!(mark_of(-5.0, Some(5.1)), None);
        assert_eq!(mark_of(-0.4, Some(0.1)), None);
        assert_eq!(mark_of(-5.0, None), None);
        assert_eq!(mark_of(5.0, Some(1.0)), None);
    }

    #[test]
    fn who_did_nothing_in_any_run_cannot_act() {
        let idle = Facts::with_interventions(Direction::Upload, 0);
        let once = Facts::with_interventions(Direction::Upload, 1);
        assert_eq!(mark(Direction::Upload, &[idle.clone(), idle.clone()], &[]), Some(Mark::CannotAct));
        assert_eq!(mark(Direction::Upload, &[idle, once], &[]), None);
    }
}
