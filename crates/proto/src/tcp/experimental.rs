//! What the schemes write into segments: TCP options of kind 253 with an experiment identifier (RFC 6994 §3).

use crate::mobile_ip::Address;

/// An option of one of the schemes. A segment carries at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experimental {
    /// What the receiver knows of the path (Boosted TCP).
    PathReport(PathReport),
    /// On a SYN: its sender understands the notices of agents (Wi-TCP).
    HandoverAware {
        /// Every notice for this connection must carry it (wi-tcp W11).
        nonce: u32,
    },
    /// What an agent knows of a handover (Wi-TCP).
    Handover(HandoverNotice),
    /// The hole that this duplicate ACK shows was made by the radio (ELN).
    RadioLoss,
}

/// The report of Boosted TCP \[Guennoun §3\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathReport {
    /// Highest drop probability of any queue that the acknowledged data passed.
    pub p_max: Option<Probability>,
    /// Power of the last frame, in dBm.
    pub power_dbm: Option<i8>,
    /// A handover of the receiver.
    pub handover: Option<Handover>,
}

/// A probability as it travels: in 255ths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probability(pub u8);

impl Probability {
    /// The nearest that can be written; values outside `0..=1` count as the nearer bound.
    pub fn nearest(p: f64) -> Self {
        // In range by the clamp.
        Probability((p.clamp(0.0, 1.0) * 255.0).round() as u8)
    }

    /// As a number, `0..=1`.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 255.0
    }
}

/// A moment of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// It is about to begin.
    Started,
    /// It is over.
    Completed,
}

/// `EHO` and `EHC` of Wi-TCP \[Bonde §4\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverNotice {
    /// `Started`: EHO-ACK, stop sending. `Completed`: EHC-ACK, go on.
    pub moment: Handover,
    /// What the receiver of the notice put on its SYN (wi-tcp W11).
    pub nonce: u32,
    /// EHC-ACK: where the host is to be reached now (wi-tcp W6).
    pub care_of: Option<Address>,
}

impl Experimental {
    /// What it adds to a segment, padded to whole words: kind, length and identifier take 4 bytes.
    pub fn wire_bytes(&self) -> u32 {
        match self {
            // Flags, probability, power, reserved.
            Experimental::PathReport(_) => 8,
            Experimental::HandoverAware { .. } => 8,
            // Flags and three bytes of padding, nonce; a care-of address.
            Experimental::Handover(notice) => 12 + if notice.care_of.is_some() { 4 } else { 0 },
            Experimental::RadioLoss => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_survives_the_wire_within_one_step() {
        for p in [0.0, 0.2, 0.749, 0.751, 0.8, 1.0] {
            assert!((Probability::nearest(p).value() - p).abs() <= 0.5 / 255.0 + 1e-12, "{p}");
        }
        assert!(Probability::nearest(0.749).value() <= 0.75);
        assert!(Probability::nearest(0.751).value() > 0.75);
        assert_eq!(Probability::nearest(f64::NAN), Probability(0));
    }
}
