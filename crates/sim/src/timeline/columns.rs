//! Marks thinned out to what a picture can show: time is cut into columns of equal width, and each column keeps its
//! extremes. The columns grow with the run, so neither its length nor its rate need be known.

use segue_proto::time::Instant;

/// Columns that a run has at most; a run that outgrows them gets columns of twice the width.
pub const COLUMNS: usize = 1_000;
/// Separate ranges of retransmissions in one column; more are joined where the gap is smallest.
const RANGES: usize = 3;
/// Width of the first columns: 2^16 ns.
const FIRST_SHIFT: u32 = 16;

/// A value at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When.
    pub at: Instant,
    /// The value from then on.
    pub value: f64,
}

/// Bytes of the stream that were sent one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// When the first of them was sent.
    pub from: Instant,
    /// When the last of them was sent.
    pub until: Instant,
    /// The lowest byte.
    pub low: u64,
    /// The byte after the highest.
    pub high: u64,
}

impl Burst {
    fn join(&mut self, other: Burst) {
        self.from = self.from.min(other.from);
        self.until = self.until.max(other.until);
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }
}

/// What one column keeps.
pub(super) trait Column: Default {
    /// Takes in what happened no earlier than all that is here.
    fn absorb(&mut self, later: Self);
}

/// A column of segments: all of them in one range.
#[derive(Debug, Default)]
pub(super) struct Range(pub(super) Option<Burst>);

impl Column for Range {
    fn absorb(&mut self, later: Self) {
        match (&mut self.0, later.0) {
            (Some(mine), Some(other)) => mine.join(other),
            (None, other) => self.0 = other,
            (Some(_), None) => {}
        }
    }
}

/// A column of retransmissions: ranges in ascending order that do not touch.
#[derive(Debug, Default)]
pub(super) struct Ranges(pub(super) Vec<Burst>);

impl Ranges {
    fn join_where_gap_is_at_most(&mut self, gap: u64) {
        let mut joined: Vec<Burst> = Vec::with_capacity(self.0.len());
        for burst in self.0.drain(..) {
            match joined.last_mut() {
                Some(last) if burst.low <= last.high.saturating_add(gap) => last.join(burst),
                _ => joined.push(burst),
            }
        }
        self.0 = joined;
    }
}

impl Column for Ranges {
    fn absorb(&mut self, later: Self) {
        self.0.extend(later.0);
        self.0.sort_by_key(|burst| burst.low);
        self.join_where_gap_is_at_most(0);
        while self.0.len() > RANGES {
            let gaps = self.0.windows(2).map(|pair| pair[1].low - pair[0].high);
            let smallest = gaps.min().unwrap_or_default();
            self.join_where_gap_is_at_most(smallest);
        }
    }
}

/// A column of a curve: its lowest, highest and last value.
#[derive(Debug, Default)]
pub(super) struct Curve(Option<Extremes>);

#[derive(Clone, Copy, Debug)]
struct Extremes {
    low: Point,
    high: Point,
    last: Point,
}

impl Curve {
    pub(super) fn of(at: Instant, value: f64) -> Self {
        let point = Point { at, value };
        Curve(Some(Extremes { low: point, high: point, last: point }))
    }

    /// In order of time.
    fn points(&self) -> Vec<Point> {
        let Some(Extremes { low, high, last }) = self.0 else { return Vec::new() };
        let mut points = vec![low, high, last];
        points.sort_by_key(|point| point.at);
        points.dedup();
        points
    }
}

impl Column for Curve {
    fn absorb(&mut self, later: Self) {
        match (&mut self.0, later.0) {
            (Some(mine), Some(other)) => {
                if other.low.value < mine.low.value {
                    mine.low = other.low;
                }
                if other.high.value > mine.high.value {
                    mine.high = other.high;
                }
                mine.last = other.last;
            }
            (None, other) => self.0 = other,
            (Some(_), None) => {}
        }
    }
}

/// Things that happened at about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// When the first of them happened.
    pub at: Instant,
    /// How many they are, at least 1.
    pub count: u32,
}

/// A column of events: the first, and how many.
#[derive(Debug, Default)]
pub(super) struct Ticks(pub(super) Option<Tick>);

impl Column for Ticks {
    fn absorb(&mut self, later: Self) {
        match (&mut self.0, later.0) {
            (Some(mine), Some(other)) => mine.count += other.count,
            (None, other) => self.0 = other,
            (Some(_), None) => {}
        }
    }
}

/// A row of columns.
#[derive(Debug)]
pub(super) struct Columns<C> {
    /// A column is 2^shift ns wide.
    shift: u32,
    columns: Vec<C>,
}

impl<C> Default for Columns<C> {
    fn default() -> Self {
        Columns { shift: FIRST_SHIFT, columns: Vec::new() }
    }
}

impl<C: Column> Columns<C> {
    pub(super) fn add(&mut self, at: Instant, mark: C) {
        while (at.as_nanos() >> self.shift) >= COLUMNS as u64 {
            self.widen();
        }
        let index = (at.as_nanos() >> self.shift) as usize;
        if self.columns.len() <= index {
            self.columns.resize_with(index + 1, C::default);
        }
        self.columns[index].absorb(mark);
    }

    fn widen(&mut self) {
        self.shift += 1;
        let mut joined = Vec::with_capacity(self.columns.len().div_ceil(2));
        let mut narrow = std::mem::take(&mut self.columns).into_iter();
        while let Some(mut first) = narrow.next() {
            if let Some(second) = narrow.next() {
                first.absorb(second);
            }
            joined.push(first);
        }
        self.columns = joined;
    }
}

impl Columns<Range> {
    pub(super) fn bursts(&self) -> Vec<Burst> {
        self.columns.iter().filter_map(|column| column.0).collect()
    }
}

impl Columns<Ranges> {
    pub(super) fn bursts(&self) -> Vec<Burst> {
        self.columns.iter().flat_map(|column| column.0.iter().copied()).collect()
    }
}

impl Columns<Curve> {
    pub(super) fn points(&self) -> Vec<Point> {
        self.columns.iter().flat_map(Curve::points).collect()
    }
}

impl Columns<Ticks> {
    pub(super) fn ticks(&self) -> Vec<Tick> {
        self.columns.iter().filter_map(|column| column.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use segue_proto::time::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_column_keeps_the_lowest_the_highest_and_the_last_value() {
        let mut columns = Columns::<Curve>::default();
        for (ms, value) in [(0, 5.0), (1, 9.0), (2, 1.0), (3, 4.0), (1_000_000, 7.0)] {
            columns.add(at(ms), Curve::of(at(ms), value));
        }
        let values: Vec<f64> = columns.points().iter().map(|point| point.value).collect();
        assert_eq!(values, [9.0, 1.0, 4.0, 7.0]);
    }

    #[test]
    fn a_long_run_has_no_more_columns_than_a_short_one() {
        let mut columns = Columns::<Ticks>::default();
        for ms in 0..100_000 {
            columns.add(at(ms), Ticks(Some(Tick { at: at(ms), count: 1 })));
        }
        let ticks = columns.ticks();
        assert!((COLUMNS / 2..=COLUMNS).contains(&ticks.len()), "{}", ticks.len());
        assert_eq!(ticks.iter().map(|tick| tick.count).sum::<u32>(), 100_000);
    }

    #[test]
    fn ranges_that_are_too_many_are_joined_where_they_are_closest() {
        let mut ranges = Ranges::default();
        for low in [0, 100, 1_000, 5_000, 9_000] {
            let burst = Burst { from: at(low), until: at(low), low, high: low + 10 };
            ranges.absorb(Ranges(vec![burst]));
        }
        let kept: Vec<(u64, u64)> = ranges.0.iter().map(|burst| (burst.low, burst.high)).collect();
        assert_eq!(kept, [(0, 1_010), (5_000, 5_010), (9_000, 9_010)]);
    }
}
