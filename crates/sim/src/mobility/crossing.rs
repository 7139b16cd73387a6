//! When two nodes come into range of each other, or leave it.
//!
//! The square of the distance of two straight motions is a quadratic function of time. It falls until the closest
//! approach and rises from then on, so that the range is passed at most once on either side. The roots of the
//! equation say where to look; what counts is the predicate [`in_range`] at whole nanoseconds, so the instant given
//! is the first one at which [`Motion::position`] really has the other answer.

use segue_proto::time::{Duration, Instant};

use super::Motion;

/// Which way a range is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// From out of range into range.
    Enters,
    /// From range out of it.
    Leaves,
}

/// Two nodes pass the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The first nanosecond at which [`in_range`] has the new answer.
    pub at: Instant,
    /// Which way.
    pub change: Change,
}

/// Whether the distance is `range_m` or less at `now`.
pub fn in_range(a: &Motion, b: &Motion, range_m: f64, now: Instant) -> bool {
    a.position(now).distance(b.position(now)) <= range_m
}

/// The instants after `from` and up to `until` at which the distance of `a` and `b` passes `range_m`, in order.
///
/// The motions must be in force all that time: `until` is at most the next change of either trajectory, and what
/// lies before the `since` of either is not looked at. A driver asks anew at each change and compares [`in_range`]
/// at that instant with what it knew: two legs agree about the place where they meet only up to rounding, so a
/// crossing may fall just between them.
pub fn crossings(
    a: Motion,
    b: Motion,
    range_m: f64,
    from: Instant,
    until: Instant,
) -> impl Iterator<Item = Crossing> {
    let (entrance, exit) = find(&a, &b, range_m, from.max(a.since).max(b.since), until);
    let crossing = |change| move |at| Crossing { at, change };
    entrance.map(crossing(Change::Enters)).into_iter().chain(exit.map(crossing(Change::Leaves)))
}

fn find(
    a: &Motion,
    b: &Motion,
    range_m: f64,
    start: Instant,
    until: Instant,
) -> (Option<Instant>, Option<Instant>) {
    let (wx, wy) = (b.velocity.x - a.velocity.x, b.velocity.y - a.velocity.y);
    let square = wx * wx + wy * wy;
    if square <= 0.0 || until <= start {
        return (None, None);
    }
    let (here, there) = (a.position(start), b.position(start));
    let (dx, dy) = (there.x - here.x, there.y - here.y);
    // |d + w s|² = range² is square s² + 2 half s + rest = 0.
    let half = dx * wx + dy * wy;
    let rest = dx * dx + dy * dy - range_m * range_m;
    let instant = |seconds: f64| start + Duration::from_secs_f64(seconds);

    let is_in = |at: Instant| in_range(a, b, range_m, at);
    let closest = closest(a, b, instant(-half / square).min(until), start, until);
    if !is_in(closest) {
        return (None, None);
    }
    let (first, second) = roots(square, half, rest);
    let entrance = if is_in(start) { None } else { first_instant(start, closest, instant(first), is_in) };
    let exit = first_instant(closest, until, instant(second), |at| !is_in(at));
    (entrance, exit)
}

/// The nanosecond of closest approach near `guess`.
fn closest(a: &Motion, b: &Motion, guess: Instant, start: Instant, until: Instant) -> Instant {
    let distance = |at: Instant| a.position(at).distance(b.position(at));
    let nanosecond = Duration::from_nanos(1);
    let before = Instant::from_nanos(guess.as_nanos().saturating_sub(1));
    let mut best = guess;
    for candidate in [before.max(start), (guess + nanosecond).min(until)] {
        if distance(candidate) < distance(best) {
            best = candidate;
        }
    }
    best
}

/// The roots of `square s² + 2 half s + rest`, ascending, without the cancellation of the usual formula.
fn roots(square: f64, half: f64, rest: f64) -> (f64, f64) {
    // Rounding may make it negative where the paths only touch.
    let root = (half * half - square * rest).max(0.0).sqrt();
    let sum = if half < 0.0 { -half + root } else { -half - root };
    let pair = (sum / square, if sum.abs() > 0.0 { rest / sum } else { 0.0 });
    (pair.0.min(pair.1), pair.0.max(pair.1))
}

/// The first instant after `after` and up to `until` at which `holds`, which does not hold at `after` and holds
/// for good once it does; found in few steps if `guess` is near. `None` if it does not hold at `until`.
pub(crate) fn first_instant(
    after: Instant,
    until: Instant,
    guess: Instant,
    holds: impl Fn(Instant) -> bool,
) -> Option<Instant> {
    if until <= after || !holds(until) {
        return None;
    }
    // It does not hold at `low` and holds at `high`.
    let (mut low, mut high) = (after.as_nanos(), until.as_nanos());
    let (mut probe, mut step) = (guess.as_nanos(), 1u64);
    while high - low > 1 {
        probe = probe.clamp(low + 1, high - 1);
        if holds(Instant::from_nanos(probe)) {
            high = probe;
            probe = probe.saturating_sub(step);
        } else {
            low = probe;
            probe = probe.saturating_add(step);
        }
        // Away from the guess in growing steps, and by halves once they would lead out of what is left.
        step = step.saturating_mul(4);
        if probe <= low || probe >= high {
            probe = low + (high - low) / 2;
        }
    }
    Some(Instant::from_nanos(high))
}
