//! The per-packet path does not allocate: a run twice as long allocates not once more.

use std::alloc::System;

use segue_sim::Scenario;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_longer_run_allocates_nothing_more() {
    // One test: allocations of another that runs beside it would be counted.
    for (text, least) in [(WIRED, 5_000), (CELL, 1_000)] {
        compare(text, least);
    }
}

/// Runs the scenario for 20 s and for 40 s, in which at least `least` packets more arrive.
fn compare(text: &str, least: u64) {
    let allocations = |seconds: u32| {
        let text = text.replace("DURATION", &seconds.to_string());
        let scenario = Scenario::from_toml("allocations", &text).expect("a valid scenario");
        let region = Region::new(ALLOCATOR);
        let results = segue_sim::run(&scenario, 1);
        let counted = region.change();
        let segments: u64 = results.flows.iter().map(|flow| flow.stats.data_segments).sum();
        let datagrams: u64 = results.datagrams.iter().map(|source| source.received).sum();
        (counted.allocations + counted.reallocations, segments + datagrams)
    };
    // The first run pays for what the test harness allocates lazily.
    allocations(20);
    let ((short, few), (long, many)) = (allocations(20), allocations(40));
    assert!(many > few + least, "{few} and {many} packets");
    assert_eq!(short, long, "allocations in 20 s and in 40 s");
}

const WIRED: &str = r#"
duration = "DURATION s"
tcp = { profile = "ns-2.35", window = 64 }
hosts = { a = {}, b = {} }
routers = { r = {} }
links = [
    { between = ["a", "r"], rate = "100 Mb/s", delay = "1 ms" },
    { between = ["r", "b"], rate = "10 Mb/s", delay = "20 ms", queue = 20, loss = { model = "bernoulli", p = 0.001 } },
]
flows = [{ from = "a", to = "b" }, { from = "b", to = "a" }]
"#;

const CELL: &str = r#"
duration = "DURATION s"
tcp = { profile = "ns-2.35" }
hosts = { a = {}, b = {}, c = {} }
cells = [{ members = ["a", "b", "c"], rate = "2 Mb/s" }]
flows = [{ from = "a", to = "b" }]
datagrams = [{ from = "c", to = "b", rate = "2 Mb/s" }]
"#;
