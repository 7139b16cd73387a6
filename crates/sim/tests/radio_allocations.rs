//! Frames between stations that move allocate nothing.

use std::alloc::System;

use segue_proto::rng::Streams;
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::{Body, Frame, Rate, StationId, Transmission};
use segue_sim::mobility::{Motion, Velocity};
use segue_sim::radio::medium::{Config, Medium};
use segue_sim::radio::{Position, Propagation};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn frames_between_movers_allocate_nothing_within_the_cells_of_the_grid() {
    let propagation = Propagation::LogDistance { reference_m: 1.0, exponent: 3.0, shadowing_db: 4.0 };
    let mut medium = Medium::new(Config { propagation, ..Config::default() }, Streams::new(1));
    for number in 0..40 {
        let from = Position { x: 5.0 + f64::from(number) * 4.0, y: 8.0 };
        let station = medium.add_station(from);
        let velocity = Velocity { x: 0.05, y: 0.02 * f64::from(number % 3) };
        // One in two moves; none gets as far as the border of the grid in these seconds.
        if number % 2 == 0 {
            medium.set_motion(station, Motion { since: Instant::ZERO, from, velocity }, Instant::ZERO);
        }
    }
    let mut now = Instant::ZERO;
    let mut reports = Vec::new();
    let mut run = |frames: u32| {
        let region = Region::new(ALLOCATOR);
        let mut heard = 0;
        for number in 0..frames {
            let from = number % 40;
            let frame = Frame {
                from: StationId(from),
                to: StationId((from + 1) % 40),
                body: Body::Ack,
                rate: Rate::Dsss1,
                duration: Duration::ZERO,
            };
            let airtime = Duration::from_millis(1);
            let (id, mut next) = medium.transmit(from, &Transmission { frame, airtime }, &mut reports, now);
            loop {
                now = next;
                let Some(later) = medium.advance(id, &mut reports, now) else { break };
                next = later;
            }
            heard += reports.len();
            reports.clear();
        }
        let counted = region.change();
        (counted.allocations + counted.reallocations, heard)
    };
    run(400);
    let (allocations, heard) = run(2_000);
    assert!(heard > 100_000, "{heard} reports");
    assert_eq!(allocations, 0);
}
