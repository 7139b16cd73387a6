//! The simulator: what nature, the network and users do around the protocols of `segue-proto`.
//!
//! A [`Scenario`] (read from TOML or built in code) and a seed become a [`World`]; running it gives [`Results`], and,
//! if somebody listens, every typed event. Same scenario, seed and version: the same bytes, on any machine.
//!
//! * [`scenario`]: topology, flows, outages, schemes; strict reading of TOML.
//! * [`world`]: the run. [`event_queue`], [`link`], [`loss`], [`routing`], [`outage`] are its parts.
//! * [`mobility`]: how nodes move, and when they pass a range.
//! * [`radio`]: who hears what; 802.11 stations on one medium.
//! * [`results`]: summaries and traces as tables and CSV.
//! * [`timeline`]: one flow and its mobile host over time, thinned out for a picture.
//! * [`compare`]: schemes against plain TCP on the same seeds.
//! * [`reproduce`]: the papers' experiments, their printed tables and criteria.

pub mod compare;
pub mod event_queue;
pub mod link;
pub mod loss;
pub mod measure;
pub mod mobility;
pub mod outage;
pub mod radio;
pub mod reproduce;
pub mod results;
pub mod routing;
pub mod scenario;
pub mod table;
pub mod timeline;
pub mod world;

pub use results::Results;
pub use scenario::Scenario;
pub use world::World;

use results::Observer;

/// Runs `scenario` with `seed` to its end.
pub fn run(scenario: &Scenario, seed: u64) -> Results {
    World::new(scenario, seed).run()
}

/// As [`run`], handing every typed event to `observer`.
pub fn run_observed(scenario: &Scenario, seed: u64, observer: &mut dyn Observer) -> Results {
    World::new(scenario, seed).observed(observer).run()
}
