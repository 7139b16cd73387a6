//! What was said to whom a short while ago, so that it is not said again at once.

use std::collections::BTreeMap;

use super::Address;
use crate::time::{Duration, Instant};

/// A correspondent and a host.
type Pair = (Address, Address);

/// The last word about each pair of correspondent and host, for one interval.
#[derive(Clone, Debug)]
pub(super) struct Recent<T> {
    interval: Duration,
    said: BTreeMap<Pair, (Instant, T)>,
    /// With so many entries the old ones are thrown out: twice what remained the last time, so that an entry costs the
    /// same however many there are.
    prune_at: usize,
}

/// Below this nothing is thrown out.
const FEW: usize = 16;

impl<T: Copy + PartialEq> Recent<T> {
    /// Nothing said yet; words are remembered for `interval`.
    pub fn new(interval: Duration) -> Self {
        Recent { interval, said: BTreeMap::new(), prune_at: FEW }
    }

    /// Notes that `pair` is to be told `word`; false if it was told the same less than an interval ago.
    pub fn is_news(&mut self, pair: Pair, word: T, now: Instant) -> bool {
        let is_known = |(at, last): &(Instant, T)| now.since(*at) < self.interval && *last == word;
        if self.said.get(&pair).is_some_and(is_known) {
            return false;
        }
        self.said.insert(pair, (now, word));
        if self.said.len() >= self.prune_at {
            self.said.retain(|_, (at, _)| now.since(*at) < self.interval);
            self.prune_at = FEW.max(2 * self.said.len());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_same_word_is_news_again_after_the_interval_and_another_word_at_once() {
        let mut recent = Recent::new(Duration::from_secs(1));
        let pair = (Address(1), Address(2));
        assert!(recent.is_news(pair, 'a', at(0)));
        assert!(!recent.is_news(pair, 'a', at(999)));
        assert!(recent.is_news(pair, 'b', at(999)));
        assert!(!recent.is_news(pair, 'b', at(1_998)));
        assert!(recent.is_news(pair, 'b', at(1_999)));
    }

    #[test]
    fn old_words_are_thrown_out() {
        let mut recent = Recent::new(Duration::from_secs(1));
        for i in 0..100_000 {
            recent.is_news((Address(i), Address(0)), (), at(100 * u64::from(i)));
        }
        assert!(recent.said.len() <= 2 * FEW, "{}", recent.said.len());
    }
}
