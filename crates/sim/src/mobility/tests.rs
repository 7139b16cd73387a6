use std::fmt::Write as _;

use proptest::prelude::*;
use segue_proto::rng::Streams;
use segue_proto::time::Duration;

use super::crossing::first_instant;
use super::*;

fn seconds(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

fn at(x: f64, y: f64) -> Position {
    Position { x, y }
}

fn moving(since: f64, from: Position, x: f64, y: f64) -> Motion {
    Motion { since: seconds(since), from, velocity: Velocity { x, y } }
}

fn stream() -> Stream {
    Streams::new(5).stream("node/mobility")
}

/// The legs in force one after the other, until `end`.
fn legs_until(mobility: &Mobility, stream: Stream, end: Instant) -> Vec<Motion> {
    let mut trajectory = mobility.build(stream);
    let mut legs = vec![trajectory.motion()];
    while let Some(next) = trajectory.next_change().filter(|next| *next <= end) {
        trajectory.advance(next);
        assert!(trajectory.next_change().is_none_or(|later| later > next), "no leg is without length");
        legs.push(trajectory.motion());
    }
    legs
}

fn assert_continuous(legs: &[Motion]) {
    for pair in legs.windows(2) {
        let gap = pair[0].position(pair[1].since).distance(pair[1].from);
        assert!(gap < 1e-4, "{gap} m from {:?} to {:?}", pair[0], pair[1]);
    }
}

fn crossings_of(a: Motion, b: Motion, range_m: f64, until: f64) -> Vec<Crossing> {
    crossings(a, b, range_m, Instant::ZERO, seconds(until)).collect()
}

#[test]
fn two_cars_that_pass_each_other_are_in_range_between_the_crossings() {
    let (a, b) = (moving(0.0, at(0.0, 0.0), 10.0, 0.0), moving(0.0, at(1_000.0, 30.0), -10.0, 0.0));
    let [entrance, exit] = crossings_of(a, b, 50.0, 100.0)[..] else { panic!("two crossings") };
    assert_eq!((entrance.at, entrance.change), (seconds(48.0), Change::Enters));
    assert_eq!((exit.at, exit.change), (seconds(52.0) + Duration::from_nanos(1), Change::Leaves));
}

#[test]
fn nodes_that_move_alike_or_stand_pass_no_range() {
    let a = moving(0.0, at(0.0, 0.0), 3.0, 4.0);
    assert_eq!(crossings_of(a, moving(0.0, at(9.0, 0.0), 3.0, 4.0), 9.5, 1e6), []);
    let (here, there) = (Motion::fixed(at(0.0, 0.0)), Motion::fixed(at(7.0, 0.0)));
    assert_eq!(crossings_of(here, there, 7.0, 1e6), []);
}

#[test]
fn a_crossing_after_the_end_or_before_the_beginning_of_the_interval_is_left_out() {
    let (a, b) = (Motion::fixed(at(0.0, 0.0)), moving(0.0, at(-100.0, 0.0), 10.0, 0.0));
    let within = |from, until| crossings(a, b, 20.0, seconds(from), seconds(until)).collect::<Vec<_>>();
    assert_eq!(within(0.0, 7.9), []);
    assert_eq!(within(0.0, 9.0).len(), 1);
    assert_eq!(within(8.5, 20.0).len(), 1);
    assert_eq!(within(13.0, 20.0), []);
}

proptest! {
    #[test]
    fn crossings_are_the_changes_that_sampling_finds_and_the_same_from_both_sides(
        (ax, ay, bx, by) in (-300.0..300.0, -300.0..300.0, -300.0..300.0, -300.0..300.0f64),
        (avx, avy, bvx, bvy) in (-20.0..20.0, -20.0..20.0, -20.0..20.0, -20.0..20.0f64),
        (since, range_m) in (0.0..5.0, 1.0..400.0f64),
    ) {
        let (a, b) = (moving(since, at(ax, ay), avx, avy), moving(0.5, at(bx, by), bvx, bvy));
        let (from, until) = (seconds(5.0), seconds(60.0));
        let found: Vec<Crossing> = crossings(a, b, range_m, from, until).collect();
        prop_assert_eq!(&found, &crossings(b, a, range_m, from, until).collect::<Vec<_>>());
        for crossing in &found {
            let before = Instant::from_nanos(crossing.at.as_nanos() - 1);
            let is_in = crossing.change == Change::Enters;
            prop_assert_eq!(in_range(&a, &b, range_m, crossing.at), is_in);
            prop_assert_eq!(in_range(&a, &b, range_m, before), !is_in);
            prop_assert!(crossing.at > from && crossing.at <= until);
        }
        let mut known = in_range(&a, &b, range_m, from);
        let mut rest = found.iter().peekable();
        for step in 1..=5_500u64 {
            let now = from + Duration::from_millis(10 * step);
            while let Some(crossing) = rest.next_if(|crossing| crossing.at <= now) {
                known = crossing.change == Change::Enters;
            }
            prop_assert_eq!(in_range(&a, &b, range_m, now), known, "at {}", now);
        }
    }

    #[test]
    fn the_first_instant_is_found_wherever_one_begins_to_look(
        (low, length, share, guess) in (0u64..1 << 40, 1u64..1 << 50, 0.0..1.0f64, 0u64..1 << 51),
    ) {
        let first = low + 1 + ((length - 1) as f64 * share) as u64;
        let at = Instant::from_nanos;
        let found = first_instant(at(low), at(low + length), at(guess), |now| now >= at(first));
        prop_assert_eq!(found, Some(at(first)));
        prop_assert_eq!(first_instant(at(low), at(first - 1), at(guess), |now| now >= at(first)), None);
    }

    #[test]
    fn waypoints_reach_each_place_at_its_time_without_a_jump(
        steps in prop::collection::vec((50u64..5_000, -500.0..500.0f64, -500.0..500.0f64), 1..12),
    ) {
        let mut now = Instant::ZERO;
        let points: Vec<_> = steps.iter().map(|(millis, x, y)| {
            now += Duration::from_millis(*millis);
            (now, at(*x, *y))
        }).collect();
        let mobility = Mobility::Waypoints(Waypoints::new(&points).unwrap());
        let legs = legs_until(&mobility, stream(), Instant::MAX);
        assert_continuous(&legs);
        let mut trajectory = mobility.build(stream());
        prop_assert_eq!(trajectory.motion().position(Instant::ZERO), points[0].1);
        for (when, place) in &points {
            trajectory.advance(*when);
            prop_assert_eq!(trajectory.motion().position(*when), *place);
        }
        prop_assert_eq!(trajectory.next_change(), None);
        prop_assert!(!trajectory.motion().is_moving());
    }

    #[test]
    fn a_random_walk_stays_in_its_area_without_a_jump(
        (seed, min, factor, warm_up) in (0u64..1_000, 0.1..5.0f64, 1.0..20.0f64, any::<bool>()),
        pause in prop_oneof![Just(0u64), 1u64..20_000],
    ) {
        let corners = [at(-50.0, 100.0), at(250.0, 400.0)];
        let pause = Duration::from_millis(pause);
        let model = RandomWaypoint::new(corners, [min, min * factor], pause).unwrap();
        let model = if warm_up { model.warm_up().unwrap() } else { model };
        let stream = Streams::new(seed).stream("node/mobility");
        let legs = legs_until(&Mobility::RandomWaypoint(model), stream, seconds(2_000.0));
        assert_continuous(&legs);
        for leg in &legs {
            let Position { x, y } = leg.from;
            prop_assert!((-50.0..=250.0).contains(&x) && (100.0..=400.0).contains(&y), "{:?}", leg);
            let speed = leg.velocity.speed();
            prop_assert!(!leg.is_moving() || (speed > min - 1e-6 && speed < min * factor + 1e-6), "{speed}");
        }
    }

    #[test]
    fn a_movement_file_says_again_what_it_was_written_from(
        steps in prop::collection::vec((1u64..9_000, -500.0..500.0f64, -500.0..500.0f64, 0.0..30.0f64), 1..12),
    ) {
        let mut text = "$node_(4) set X_ 10.5\n$node_(4) set Y_ -3\n$node_(4) set Z_ 0\n".to_owned();
        let mut expected = vec![Motion::fixed(at(10.5, -3.0))];
        let (mut now, mut goal) = (Instant::ZERO, at(10.5, -3.0));
        for (millis, x, y, speed) in steps {
            now += Duration::from_millis(millis);
            writeln!(text, "$ns_ at {} \"$node_(4) setdest {x} {y} {speed}\"", now.as_secs_f64()).unwrap();
            // Where it is by then: at its goal if it went past it.
            let last = *expected.last().unwrap();
            let here = last.position(now);
            let is_past = last.from.distance(here) >= last.from.distance(goal);
            let here = if is_past { goal } else { here };
            let way = here.distance(at(x, y));
            let velocity = Velocity { x: (x - here.x) / way * speed, y: (y - here.y) / way * speed };
            expected.push(Motion { since: now, from: here, velocity });
            goal = at(x, y);
        }
        let read = setdest::parse(&text, &[4]).unwrap();
        let legs = legs_until(&Mobility::Setdest(read[0].clone()), stream(), Instant::MAX);
        assert_continuous(&legs);
        for leg in &expected {
            let found = legs.iter().find(|found| found.since == leg.since);
            let found = found.map(|found| (found.from.distance(leg.from), (found.velocity, leg.velocity)));
            let Some((gap, (found, wanted))) = found else {
                prop_assert!(leg.velocity.speed() <= 0.0, "no leg at {}", leg.since);
                continue;
            };
            prop_assert!(gap < 1e-4, "{gap} m at {}", leg.since);
            prop_assert!((found.x - wanted.x).abs() + (found.y - wanted.y).abs() < 1e-4, "at {}", leg.since);
        }
    }
}

/// The mean speed of walkers of 1 to 20 m/s that are under way at `now`.
fn mean_speed(warm_up: bool, now: Instant) -> f64 {
    let corners = [at(0.0, 0.0), at(1_000.0, 500.0)];
    let model = RandomWaypoint::new(corners, [1.0, 20.0], Duration::ZERO).unwrap();
    let model = if warm_up { model.warm_up().unwrap() } else { model };
    let speed = |seed: u64| {
        let mut walk = Mobility::RandomWaypoint(model).build(Streams::new(seed).stream("walker"));
        walk.advance(now);
        walk.motion().velocity.speed()
    };
    (0..10_000).map(speed).sum::<f64>() / 10_000.0
}

#[test]
fn warm_walkers_have_the_mean_speed_of_the_theory_at_any_time() {
    // (max - min) / ln(max / min), and ln 20 = 2.995732.
    let theory = 19.0 / 2.995_732;
    for now in [0.0, 7.0, 500.0] {
        let mean = mean_speed(true, seconds(now));
        assert!((mean / theory - 1.0).abs() < 0.03, "{mean} m/s at {now} s, theory {theory}");
    }
}

#[test]
fn cold_walkers_begin_at_the_mean_of_the_range_and_slow_down_to_the_theory() {
    assert!((mean_speed(false, Instant::ZERO) - 10.5).abs() < 0.2);
    let late = mean_speed(false, seconds(3_000.0));
    assert!((late / (19.0 / 2.995_732) - 1.0).abs() < 0.03, "{late}");
}

#[test]
fn warm_walkers_pause_for_the_share_of_time_that_the_theory_gives() {
    let corners = [at(0.0, 0.0), at(100.0, 100.0)];
    let model = RandomWaypoint::new(corners, [2.0, 2.0], Duration::from_secs(20)).unwrap().warm_up().unwrap();
    let rests = |seed: &u64| {
        let walk = Mobility::RandomWaypoint(model).build(Streams::new(*seed).stream("walker"));
        !walk.motion().is_moving()
    };
    let share = (0..10_000).filter(rests).count() as f64 / 10_000.0;
    // The mean distance in a unit square is 0.521405.
    let theory = 20.0 / (20.0 + 52.1405 / 2.0);
    assert!((share - theory).abs() < 0.02, "{share}, theory {theory}");
}

#[test]
fn a_line_stands_before_its_start_and_after_its_stop() {
    let velocity = Velocity { x: 1.5, y: 0.0 };
    let line = Line::new(at(1.0, 2.0), velocity, seconds(2.0), seconds(4.0)).unwrap();
    let legs = legs_until(&Mobility::Line(line), stream(), Instant::MAX);
    assert_continuous(&legs);
    let place = |now: f64| legs.iter().rfind(|leg| leg.since <= seconds(now)).unwrap().position(seconds(now));
    assert_eq!([place(0.0), place(2.0), place(3.0)], [at(1.0, 2.0), at(1.0, 2.0), at(2.5, 2.0)]);
    assert_eq!([place(4.0), place(400.0)], [at(4.0, 2.0); 2]);
}

#[test]
fn a_trajectory_may_pass_over_legs_and_is_not_hurried_by_an_early_call() {
    let points =
        [(0.0, 0.0), (10.0, 100.0), (20.0, 50.0), (30.0, 60.0)].map(|(t, x)| (seconds(t), at(x, 0.0)));
    let mut trajectory = Mobility::Waypoints(Waypoints::new(&points).unwrap()).build(stream());
    trajectory.advance(seconds(9.999));
    assert_eq!((trajectory.motion().velocity.x, trajectory.next_change()), (10.0, Some(seconds(10.0))));
    trajectory.advance(seconds(25.0));
    assert_eq!(trajectory.motion().position(seconds(25.0)), at(55.0, 0.0));
    trajectory.advance(seconds(30.0));
    assert_eq!(trajectory.next_change(), None);
}

#[test]
fn a_command_on_the_way_redirects_from_the_present_place() {
    let text = "\
# two nodes
$node_(0) set X_ 0.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 0.0
$god_ set-dist 0 1 2

$ns_ at 1.0 \"$node_(0) setdest 100.0 0.0 10.0\"
$ns_ at 6.0 \"$node_(0) setdest 50.0 30.0 10.0\"
$ns_ at 3.0 \"$god_ set-dist 0 1 1\"
$ns_ at 8.0 \"$node_(0) setdest 0.0 0.0 0.0\"
$node_(1) set X_ 7\r
";
    let legs = setdest::parse(text, &[1, 0]).unwrap();
    assert!(legs[0].is_fixed() && legs[0].as_slice()[0].from == at(7.0, 0.0));
    let starts: Vec<_> = legs[1].as_slice().iter().map(|leg| (leg.since, leg.from)).collect();
    let expected = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (6.0, 50.0, 0.0), (8.0, 50.0, 20.0)];
    assert_eq!(starts, expected.map(|(t, x, y)| (seconds(t), at(x, y))));
    assert!(!legs[1].as_slice()[3].is_moving());
}

#[test]
fn a_node_is_where_ns2_has_it() {
    let text = "\
$node_(0) set X_ 0.0
$node_(0) set Y_ 0.0
$ns_ at 1.0 \"$node_(0) setdest 100.0 50.0 10.0\"
$ns_ at 6.0 \"$node_(0) setdest 50.0 30.0 10.0\"
$ns_ at 8.0 \"$node_(0) setdest 10.0 10.0 0.0\"
$ns_ at 12.0 \"$node_(0) setdest 300.0 10.0 50.0\"
";
    let mut node = Mobility::Setdest(setdest::parse(text, &[0]).unwrap()[0].clone()).build(stream());
    // What ns-2.35 prints for X_ and Y_ with this file, to 12 places.
    let printed = [
        (0.5, 0.0, 0.0),
        (3.0, 17.888543819998, 8.944271909999),
        (5.9, 43.826932358995, 21.913466179497),
        (7.0, 50.0, 30.0),
        (9.0, 50.0, 30.0),
        (12.5, 74.920381963403, 28.006369442927),
        (13.5, 124.761145890209, 24.019108328783),
        (20.0, 300.0, 10.0),
    ];
    for (now, x, y) in printed {
        node.advance(seconds(now));
        let place = node.motion().position(seconds(now));
        assert!(place.distance(at(x, y)) < 1e-6, "{place:?} at {now} s");
    }
}

#[test]
fn a_node_that_arrives_stands_at_its_destination_exactly() {
    let text = "$ns_ at 0.5 \"$node_(2) setdest 0.3 0.4 0.1\"\n";
    let legs = setdest::parse(text, &[2]).unwrap();
    assert_eq!(
        legs[0].as_slice().last(),
        Some(&Motion { since: seconds(5.5), ..Motion::fixed(at(0.3, 0.4)) })
    );
}

#[test]
fn a_movement_file_is_refused_with_its_line() {
    let cases = [
        ("set opt(x) 500", "1: found set opt(x) 500; allowed: $node_(i) set X_ v"),
        ("\n$node_(0) set X_ wide", "2: found the coordinate wide; allowed: -10^8 to 10^8 m"),
        ("$node_(0) set X_ nan", "1: found the coordinate nan;"),
        ("$node_(0) set W_ 3", "1: found $node_(0) set W_ 3; allowed:"),
        ("$node_(a) set X_ 3", "1: found $node_(a) set X_ 3; allowed:"),
        ("$ns_ at -1 \"$node_(0) setdest 1 2 3\"", "1: found the time -1; allowed: seconds from 0 to 3e9"),
        ("$ns_ at 1 \"$node_(0) setdest 1 2 -3\"", "1: found the speed -3; allowed: 0 to 100000 m/s"),
        ("$ns_ at 1 \"$node_(0) setdest 1 2\"", "1: found $ns_ at 1"),
        ("$ns_ at 1 $node_(0) setdest 1 2 3", "1: found $ns_ at 1"),
        ("$node_(3) set X_ 1", "there is no node 0; allowed: 0 to 3"),
    ];
    for (text, message) in cases {
        let error = setdest::parse(text, &[0]).unwrap_err().to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

const FCD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- generated -->
<fcd-export xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
    <timestep time="0.00"/>
    <timestep time="1.00">
        <vehicle id="veh0" x="4.50" y="-1.60" angle="90.00" speed="0.00"/>
        <person id="p&amp;0" x="1.0" y="2.0"><param key="a" value="b"/></person>
    </timestep>
    <timestep time="2.00">
        <vehicle id="veh1" x="0.00" y="0.00"/>
        <vehicle id="veh0" x="14.50" y="-1.60"/>
    </timestep>
    <timestep time="4.00">
        <vehicle id="veh0" x="14.50" y="8.40"/>
    </timestep>
</fcd-export>
"#;

#[test]
fn floating_car_data_are_linear_between_samples_and_stand_before_and_after() {
    let found = sumo_fcd::parse(FCD, &["p&0", "veh0"]).unwrap();
    assert!(found[0].legs().is_fixed());
    let mut car = Mobility::SumoFcd(found[1].clone()).build(stream());
    assert_continuous(found[1].legs().as_slice());
    for (now, place) in [
        (0.0, at(4.5, -1.6)),
        (1.5, at(9.5, -1.6)),
        (2.0, at(14.5, -1.6)),
        (3.0, at(14.5, 3.4)),
        (99.0, at(14.5, 8.4)),
    ] {
        car.advance(seconds(now));
        assert!(car.motion().position(seconds(now)).distance(place) < 1e-12, "at {now} s");
    }
}

#[test]
fn floating_car_data_are_refused_with_their_line() {
    let refused = |from: &str, to: &str, id: &str| {
        assert!(FCD.contains(from), "{from}");
        sumo_fcd::parse(&FCD.replacen(from, to, 1), &[id]).unwrap_err().to_string()
    };
    let cases = [
        (("<timestep time=\"2.00\">", "<timestep>"), "9: a timestep without a time; allowed: time="),
        (("2.00\">", "0:02\">"), "9: found the time \"0:02\"; allowed: seconds from 0 to 3e9"),
        (("time=\"2.00\"", "time=\"1.00\""), "11: found 1 s after 1 s; allowed: ascending times"),
        (("x=\"14.50\"", ""), "11: found x=\"\"; allowed: a number of metres"),
        (("14.50", "1e20"), "11: found (100000000000000000000, -1.6); allowed: coordinates from -10^8"),
        (("14.50", "2e6"), "11: found a way that takes 1999996 m/s; allowed: up to 100000 m/s"),
        (("</fcd-export>", ""), "17: found the end of the file within an element; allowed: a whole file"),
        (("id=\"veh1\"", ""), "10: found no id; allowed: id="),
        (("fcd-export", "netstate"), "3: found <netstate>; allowed: one <fcd-export>"),
        (("</timestep>", "</timestop>"), "8: not XML: "),
    ];
    for ((from, to), message) in cases {
        let error = refused(from, to, "veh0");
        assert!(error.starts_with(message), "{error}");
    }
    let error = refused("veh1", "veh2", "veh1");
    assert_eq!(error, "there is no vehicle or person \"veh1\"; allowed: p&0, veh0, veh2");
    assert!(sumo_fcd::parse("", &["a"]).unwrap_err().to_string().starts_with("1: found no element"));
}

#[test]
fn descriptions_that_make_no_sense_are_refused_by_key() {
    let rect = [at(0.0, 0.0), at(10.0, 10.0)];
    let pause = Duration::ZERO;
    let velocity = Velocity { x: f64::NAN, y: 0.0 };
    let refused = [
        Waypoints::new(&[]).unwrap_err(),
        Waypoints::new(&[(seconds(1.0), at(0.0, 0.0)), (seconds(1.0), at(1.0, 0.0))]).unwrap_err(),
        Waypoints::new(&[(seconds(1.0), at(f64::NAN, 0.0))]).unwrap_err(),
        Line::new(at(0.0, 0.0), velocity, Instant::ZERO, Instant::MAX).unwrap_err(),
        Line::new(at(0.0, 0.0), Velocity::ZERO, seconds(2.0), seconds(1.0)).unwrap_err(),
        RandomWaypoint::new([rect[1], rect[0]], [1.0, 2.0], pause).unwrap_err(),
        RandomWaypoint::new(rect, [0.0, 2.0], pause).unwrap_err(),
        RandomWaypoint::new(rect, [3.0, 2.0], pause).unwrap_err(),
        RandomWaypoint::new(rect, [1.0, 2.0], pause).unwrap().starting_at(at(11.0, 0.0)).unwrap_err(),
    ];
    let text: Vec<String> = refused.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "points: found none; allowed: one or more",
            "points[1]: found 1 s after 1 s; allowed: ascending times",
            "points[0]: found [NaN, 0]; allowed: coordinates from -10^8 to 10^8 m",
            "velocity: found NaN m/s; allowed: up to 100000 m/s",
            "stop: found 1 s; allowed: from the start at 2 s on",
            "area: found -10 m by -10 m; allowed: [west, south, east, north], at least 1 m on one side",
            "speed: found [0, 2]; allowed: [min, max] from 0.001 to 100000 m/s",
            "speed: found [3, 2]; allowed: [min, max] from 0.001 to 100000 m/s",
            "from: found [11, 0]; allowed: a place within the area",
        ]
    );
}
