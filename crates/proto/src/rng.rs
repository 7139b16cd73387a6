//! Named random streams.
//!
//! Each component draws from a stream of its own, derived from the seed of the run and the component's name.
//! Adding a component therefore does not change what the others draw, and two schemes can be compared on the
//! same losses (common random numbers). The generator is xoshiro256++, named and portable; the derivation is
//! FNV-1a over the name, mixed with the seed by the SplitMix64 finaliser.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Gives out the streams of one run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of the run with this seed.
    pub const fn new(seed: u64) -> Self {
        Streams { seed }
    }

    /// The streams of a component that names its own: none of them is one of the run's.
    pub fn within(self, name: &str) -> Streams {
        Streams { seed: split_mix(self.seed ^ fnv(name)) }
    }

    /// The stream called `name`, for example `"link laptop-ap/loss"`. The same name gives the same stream.
    pub fn stream(self, name: &str) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(split_mix(fnv(name) ^ split_mix(self.seed))))
    }
}

/// FNV-1a of a name.
fn fnv(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The finaliser of SplitMix64: spreads any change of the input over all output bits.
pub(crate) const fn split_mix(input: u64) -> u64 {
    let mut z = input.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One random stream.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// A number in `[0, 1)` with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number in `0..bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high word of a 128-bit product; its bias is below bound / 2^64.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// An exponentially distributed number with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_its_name_and_the_seed_only() {
        let draw = |seed, name| Streams::new(seed).stream(name).below(u64::MAX);
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn the_generator_never_changes() {
        let mut stream = Streams::new(42).stream("golden");
        let drawn: Vec<u64> = (0..3).map(|_| stream.below(1_000_000)).collect();
        assert_eq!(drawn, GOLDEN);
    }
    const GOLDEN: [u64; 3] = [823256, 601294, 982028];

    #[test]
    fn the_mean_of_the_exponential_is_right() {
        let mut stream = Streams::new(7).stream("exp");
        let mean = (0..100_000).map(|_| stream.exponential(2.5)).sum::<f64>() / 100_000.0;
        assert!((mean - 2.5).abs() < 0.03, "mean {mean}");
    }
}
