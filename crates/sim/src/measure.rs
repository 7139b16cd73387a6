//! Named quantities of one run, measured by its results and its events, never by a scheme's own word.
//!
//! One file each, or one for a few that belong together; [`ALL`] is the table. A [`Probe`] watches one run; papers name
//! measures in the columns of their tables.

mod absence;
mod between;
mod flow;
mod instant;
mod link;
mod state;
mod timeout;

use segue_proto::params::{Param, Params};
use segue_proto::time::Instant;
use segue_proto::trace::Event;

use crate::results::{FanOut, Observer, Place, Results};
use crate::scenario::Scenario;
use crate::{run, run_observed};

/// All measures.
pub const ALL: &[&Measure] = &[
    &flow::FINISH,
    &flow::GOODPUT,
    &flow::RETRANSMISSIONS,
    &flow::TIMEOUTS,
    &flow::IDLE,
    &timeout::INSTANT,
    &absence::MAC_DROPS,
    &absence::RETRY_DURATION,
    &absence::PAUSE,
    &absence::RESUMPTION,
    &absence::RESPONSE_TIME,
    &absence::WINDOW_BEFORE,
    &absence::WINDOW_LEAST,
    &absence::WINDOW_AFTER,
    &link::DROPS,
    &instant::INSTANT,
    &between::ACKNOWLEDGED,
    &between::RETRANSMISSIONS,
    &between::ROUND_TRIP,
    &between::SENT_WHILE_SUSPENDED,
    &state::UNHEARD,
    &state::FIRST_MISSING,
    &state::WINDOW,
];

/// An entry of the table.
#[derive(Debug)]
pub struct Measure {
    /// The name in tables of papers.
    pub name: &'static str,
    /// One line: meaning and unit.
    pub doc: &'static str,
    /// What may be said about it.
    pub params: &'static [Param],
    /// Whether it needs the events of the run, or the results are enough.
    pub watches: bool,
    /// A new probe for one run.
    pub probe: fn(&Subject<'_>) -> Box<dyn Probe>,
}

impl Measure {
    /// The entry called `name`.
    pub fn named(name: &str) -> Option<&'static Measure> {
        ALL.iter().find(|measure| measure.name == name).copied()
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The scenario of the run.
    pub scenario: &'a Scenario,
    /// Index of the flow in it.
    pub flow: usize,
    /// What the table of the paper says about the measure.
    pub params: &'a Params,
}

impl Subject<'_> {
    /// Where the events of the flow's sender come from.
    pub fn sender(&self) -> Place {
        Place::End(2 * self.flow)
    }

    /// Where the events of its receiver come from.
    pub fn receiver(&self) -> Place {
        Place::End(2 * self.flow + 1)
    }
}

/// Watches one run.
pub trait Probe {
    /// An event of the run; only if the measure watches.
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        let _ = (at, place, event);
    }

    /// Whether it has a use for frames on air; see [`Observer::wants_frames`].
    fn wants_frames(&self) -> bool {
        false
    }

    /// The value when the run is over; `None`: there is none, such as the finish of what did not finish.
    fn value(&self, results: &Results) -> Option<f64>;
}

/// A measure that is to be taken of a run.
#[derive(Clone, Debug)]
pub struct Order {
    /// Which.
    pub measure: &'static Measure,
    /// Index of the flow.
    pub flow: usize,
    /// What is said about it.
    pub params: Params,
}

/// A boxed probe as an observer.
struct Watching(Box<dyn Probe>);

impl Observer for Watching {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        self.0.observe(at, place, event);
    }

    fn wants_frames(&self) -> bool {
        self.0.wants_frames()
    }
}

/// Runs `scenario` once and takes all `orders` of it.
pub fn take(scenario: &Scenario, seed: u64, orders: &[Order]) -> Vec<Option<f64>> {
    let probe = |order: &Order| {
        let subject = Subject { scenario, flow: order.flow, params: &order.params };
        Watching((order.measure.probe)(&subject))
    };
    let mut probes: Vec<Watching> = orders.iter().map(probe).collect();
    let mut fan_out = FanOut::default();
    let mut watched = false;
    for (probe, order) in probes.iter_mut().zip(orders).filter(|(_, order)| order.measure.watches) {
        let _ = order;
        fan_out.add(probe);
        watched = true;
    }
    let results = if watched { run_observed(scenario, seed, &mut fan_out) } else { run(scenario, seed) };
    probes.iter().map(|probe| probe.0.value(&results)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_defaults_are_valid() {
        for (i, measure) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|other| other.name != measure.name), "{} twice", measure.name);
            assert_eq!(Measure::named(measure.name).map(|found| found.doc), Some(measure.doc));
            let _valid = Params::defaults(measure.params);
            assert!(measure.params.iter().all(|param| param.name != "name" && param.name != "flow"));
        }
    }
}
