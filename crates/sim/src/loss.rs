//! Loss models: which packets nature takes. One table entry each.
//!
//! A model is asked once per packet that enters a link direction, in order.

use segue_proto::rng::Stream;

/// What a loss model is made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Loss {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet is lost with probability `p`, independently.
    Bernoulli {
        /// In `0..=1`.
        p: f64,
    },
    /// Two states, good and bad, that change after each packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability of going from good to bad.
        p_good_to_bad: f64,
        /// Probability of going from bad to good.
        p_bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// The packets with these numbers are lost; the first to enter has number 0.
    List {
        /// Ascending.
        packets: Vec<u64>,
    },
}

/// The names of the models, with one line each.
pub const ALL: &[(&str, &str)] = &[
    ("none", "nothing is lost"),
    ("bernoulli", "each packet is lost with probability p"),
    ("gilbert-elliott", "bursts: a good and a bad state, each with a loss probability"),
    ("list", "the packets with the given numbers are lost"),
];

/// A loss model at work.
#[derive(Clone, Debug)]
pub(crate) struct LossProcess {
    loss: Loss,
    stream: Stream,
    packets_seen: u64,
    next_in_list: usize,
    is_bad: bool,
}

impl LossProcess {
    pub(crate) fn new(loss: Loss, stream: Stream) -> Self {
        LossProcess { loss, stream, packets_seen: 0, next_in_list: 0, is_bad: false }
    }

    /// Whether the packet that enters now is lost.
    pub(crate) fn takes_next(&mut self) -> bool {
        match &self.loss {
            Loss::None => false,
            Loss::Bernoulli { p } => self.stream.chance(*p),
            Loss::GilbertElliott { p_good_to_bad, p_bad_to_good, loss_good, loss_bad } => {
                let lost = self.stream.chance(if self.is_bad { *loss_bad } else { *loss_good });
                let change = if self.is_bad { *p_bad_to_good } else { *p_good_to_bad };
                self.is_bad ^= self.stream.chance(change);
                lost
            }
            Loss::List { packets } => {
                let lost = packets.get(self.next_in_list) == Some(&self.packets_seen);
                self.next_in_list += usize::from(lost);
                self.packets_seen += 1;
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use segue_proto::rng::Streams;

    fn losses(loss: Loss, packets: usize) -> Vec<bool> {
        let mut process = LossProcess::new(loss, Streams::new(1).stream("loss"));
        (0..packets).map(|_| process.takes_next()).collect()
    }

    #[test]
    fn a_list_takes_exactly_its_packets() {
        let lost = losses(Loss::List { packets: vec![0, 3, 4] }, 6);
        assert_eq!(lost, [true, false, false, true, true, false]);
    }

    #[test]
    fn bernoulli_loses_the_given_share() {
        let lost = losses(Loss::Bernoulli { p: 0.05 }, 100_000).iter().filter(|l| **l).count();
        assert!((4_700..5_300).contains(&lost), "{lost}");
    }

    #[test]
    fn gilbert_elliott_loses_in_bursts_of_the_mean_length() {
        let loss =
            Loss::GilbertElliott { p_good_to_bad: 0.01, p_bad_to_good: 0.2, loss_good: 0.0, loss_bad: 1.0 };
        let lost = losses(loss, 200_000);
        let total = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        // Mean burst 1/0.2 = 5, share of losses 0.01/(0.01 + 0.2).
        assert!((total / bursts - 5.0).abs() < 0.3, "burst {}", total / bursts);
        assert!((total / 200_000.0 - 0.0476).abs() < 0.005, "share {}", total / 200_000.0);
    }
}
