use super::*;
use crate::mobility::{Change, Mobility, RandomWaypoint, Trajectory, Velocity, crossings};

fn line(positions: &[f64]) -> Neighbours {
    let range = Propagation::FixedRange { range_m: 100.0 };
    let mut all = Neighbours::new(range, Transmitter::default(), 1e-12, true, Streams::new(1));
    positions.iter().for_each(|x| {
        all.add(Position { x: *x, y: 0.0 });
    });
    all
}

fn heard_by(all: &Neighbours, station: u32) -> Vec<u32> {
    all.of(station).iter().map(|neighbour| neighbour.station).collect()
}

#[test]
fn neighbours_are_those_in_reach_nearest_first() {
    let all = line(&[0.0, 90.0, 30.0, 150.0, -250.0]);
    assert_eq!(heard_by(&all, 0), [2, 1]);
    assert_eq!(heard_by(&all, 1), [2, 3, 0]);
    assert_eq!(heard_by(&all, 4), [0u32; 0]);
}

#[test]
fn a_move_changes_the_lists_of_both_sides() {
    let mut all = line(&[0.0, 90.0, 400.0]);
    all.set_position(2, Position { x: 50.0, y: 10.0 });
    assert_eq!(heard_by(&all, 2), [1, 0]);
    assert_eq!(heard_by(&all, 0), [2, 1]);
    all.set_position(2, Position { x: -1_000.0, y: 0.0 });
    assert_eq!(heard_by(&all, 0), [1]);
    assert_eq!(heard_by(&all, 2), [0u32; 0]);
}

#[test]
fn lists_after_many_moves_are_those_of_a_fresh_start() {
    let mut stream = Streams::new(3).stream("places");
    let mut place = || Position { x: stream.uniform() * 500.0, y: stream.uniform() * 500.0 };
    let mut moved = line(&[0.0; 40]);
    let mut last = vec![Position::default(); 40];
    for step in 0..400 {
        let station = step % 40;
        last[station] = place();
        moved.set_position(station as u32, last[station]);
    }
    let mut fresh = line(&[]);
    for position in &last {
        fresh.add(*position);
    }
    (0..40).for_each(|station| assert_eq!(moved.of(station), fresh.of(station)));
}

fn moving(since: Instant, x: f64, y: f64, vx: f64, vy: f64) -> Motion {
    Motion { since, from: Position { x, y }, velocity: Velocity { x: vx, y: vy } }
}

fn hearers(all: &mut Neighbours, station: u32, now: Instant) -> Vec<Neighbour> {
    let mut found = Vec::new();
    all.hearers(station, now, &mut found);
    found
}

/// What [`hearers`] should be, found by looking at everybody.
fn brute_force(all: &Neighbours, motions: &[Motion], station: u32, now: Instant) -> Vec<Neighbour> {
    let place = |station: u32| motions[station as usize].position(now);
    let hears = |other: u32| {
        let distance = place(station).distance(place(other));
        let mean = all.propagation.received_w(all.transmitter, distance);
        let power_w = mean * all.propagation.shadowing(all.streams, station, other);
        let delay = Duration::from_secs_f64(distance / SPEED_OF_LIGHT);
        (power_w >= all.threshold_w).then_some(Neighbour { station: other, power_w, delay })
    };
    let others = (0..motions.len() as u32).filter(|other| *other != station);
    let mut found: Vec<Neighbour> = others.filter_map(hears).collect();
    found.sort_by_key(key);
    found
}

/// Half of 60 stations walk about a square at random, with pauses; each instant one of all sends. Gives how often one
/// was heard.
fn wander(propagation: Propagation, threshold_w: f64, side_m: f64, speed: f64, mean_step_s: f64) -> usize {
    let mut all = Neighbours::new(propagation, Transmitter::default(), threshold_w, true, Streams::new(1));
    let mut stream = Streams::new(9).stream("wander");
    let square = [Position { x: -0.5 * side_m, y: 0.0 }, Position { x: 0.5 * side_m, y: side_m }];
    let model = RandomWaypoint::new(square, [0.5 * speed, speed], Duration::from_secs(2)).unwrap();
    let walker = |n: u32| Mobility::RandomWaypoint(model).build(Streams::new(n.into()).stream("walker"));
    let mut walkers: Vec<Trajectory> = (0..60).map(walker).collect();
    let mut motions: Vec<Motion> = walkers.iter().map(Trajectory::motion).collect();
    motions.iter().for_each(|motion| {
        all.add(motion.from);
    });
    let (mut now, mut heard) = (Instant::ZERO, 0);
    for _ in 0..6_000 {
        now += Duration::from_secs_f64(stream.exponential(mean_step_s));
        for (station, walker) in walkers.iter_mut().enumerate().step_by(2) {
            while let Some(next) = walker.next_change().filter(|next| *next <= now) {
                walker.advance(next);
                motions[station] = walker.motion();
                all.set_motion(station as u32, motions[station], next);
            }
        }
        let sender = stream.below(60) as u32;
        let found = hearers(&mut all, sender, now);
        assert_eq!(found, brute_force(&all, &motions, sender, now), "station {sender} at {now}");
        heard += found.len();
    }
    heard
}

#[test]
fn hearers_of_random_movers_are_those_that_looking_at_everybody_finds() {
    let range = Propagation::FixedRange { range_m: 100.0 };
    // Slow ones that mostly stay in their cells of the grid, and fast ones that cross many from frame to frame.
    assert!(wander(range, 1e-12, 600.0, 3.0, 0.1) > 10_000);
    assert!(wander(range, 1e-12, 600.0, 3.0, 5.0) > 10_000);
    assert!(wander(range, 1e-12, 900.0, 2_000.0, 1.0) > 10_000);
}

#[test]
fn hearers_of_random_movers_are_right_with_shadowing_and_two_rays() {
    let shadowed = Propagation::LogDistance { reference_m: 1.0, exponent: 3.0, shadowing_db: 6.0 };
    assert!(wander(shadowed, 1e-9, 600.0, 20.0, 0.5) > 10_000);
    assert!(
        wander(Propagation::TwoRayGround { antenna_height_m: 1.5 }, 1.559e-11, 2_000.0, 30.0, 1.0) > 10_000
    );
}

#[test]
fn two_cars_hear_each_other_exactly_between_the_crossings() {
    let range = Propagation::FixedRange { range_m: 100.0 };
    let (a, b) = (moving(Instant::ZERO, 0.3, 0.1, 13.7, 0.2), moving(Instant::ZERO, 917.0, 31.0, -21.1, 0.4));
    let until = Instant::ZERO + Duration::from_secs(100);
    let crossings: Vec<_> = crossings(a, b, 100.0, Instant::ZERO, until).collect();
    assert_eq!(crossings.len(), 2);
    let mut all = line(&[0.0, 0.0]);
    assert_eq!(all.propagation, range);
    all.set_motion(0, a, Instant::ZERO);
    all.set_motion(1, b, Instant::ZERO);
    for crossing in crossings {
        let before = Instant::from_nanos(crossing.at.as_nanos() - 1);
        for (now, is_in) in
            [(before, crossing.change == Change::Leaves), (crossing.at, crossing.change == Change::Enters)]
        {
            for car in 0..2 {
                assert_eq!(hearers(&mut all, car, now).len(), usize::from(is_in), "{car} at {now}");
            }
        }
    }
}

#[test]
fn a_frame_sent_at_the_instant_of_a_border_finds_everybody() {
    // The border between the cells of the grid is at 100 m; a station at 199 m is two cells from the first one.
    let mut all = line(&[0.0, 199.0]);
    all.set_motion(0, moving(Instant::ZERO, 90.0, 0.0, 10.0, 0.0), Instant::ZERO);
    let border = all.places[0].border.unwrap();
    let before = Instant::from_nanos(border.as_nanos() - 1);
    assert_ne!(all.cell(all.position(0, before)), all.cell(all.position(0, border)));
    let now = border + Duration::from_millis(1);
    assert_eq!(hearers(&mut all, 0, now).len(), 1);
    assert_eq!(hearers(&mut all, 1, now).len(), 1);
}

#[test]
fn a_motion_handed_over_late_counts_from_where_it_has_led() {
    let mut all = line(&[0.0, 5_050.0]);
    all.set_motion(0, moving(Instant::ZERO, 0.0, 0.0, 10.0, 0.0), Instant::ZERO + Duration::from_secs(500));
    assert_eq!(hearers(&mut all, 1, Instant::ZERO + Duration::from_secs(500)).len(), 1);
}

#[test]
fn those_who_stand_hear_the_same_whether_others_move_or_not() {
    let places = [0.0, 90.0, 30.0, 150.0, -250.0, 170.0];
    let still = line(&places);
    let mut all = line(&places);
    for station in 6..9 {
        all.add(Position { x: 60.0, y: 10.0 });
        all.set_motion(station, moving(Instant::ZERO, 60.0, 10.0, 7.0, 0.1), Instant::ZERO);
    }
    for second in 0..60 {
        for station in 0..6 {
            let mut found = hearers(&mut all, station, Instant::ZERO + Duration::from_secs(second));
            found.retain(|neighbour| neighbour.station < 6);
            assert_eq!((found.as_slice(), all.of(station)), (still.of(station), still.of(station)));
        }
    }
}

#[test]
fn the_grid_keeps_nothing_of_cells_that_a_mover_has_left() {
    let mut all = line(&[0.0]);
    all.set_motion(0, moving(Instant::ZERO, 0.0, 0.0, 50.0, 31.0), Instant::ZERO);
    for second in 0..1_000 {
        hearers(&mut all, 0, Instant::ZERO + Duration::from_secs(second));
        assert_eq!((all.grid.len(), all.borders.len()), (9, 1));
    }
    all.set_position(0, Position::default());
    assert_eq!((all.grid.len(), all.borders.len()), (1, 0));
}
