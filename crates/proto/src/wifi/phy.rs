//! Timing of the IEEE 802.11 physical layers: IEEE 802.11-2020 §15 (DSSS), §16 (HR/DSSS) and §17 (OFDM, 20 MHz).
//!
//! | | slot | SIFS | CWmin | CWmax | preamble and header |
//! |---|---|---|---|---|---|
//! | DSSS, long preamble | 20 µs | 10 µs | 31 | 1023 | 192 µs |
//! | DSSS, short preamble | 20 µs | 10 µs | 31 | 1023 | 96 µs |
//! | OFDM | 9 µs | 16 µs | 15 | 1023 | 20 µs, then symbols of 4 µs |
//!
//! ## Differences
//! * One basic rate stands for the set: a control frame goes at the basic rate, or at the rate of the frame it
//!   answers if that is lower. The standard takes the highest basic rate that is not above; ns-2 always the basic
//!   rate.
//! * ns-2 does not round the time of a frame at 5.5 and 11 Mb/s up to a microsecond; the standard does, and so do
//!   we.
//! * ERP (802.11g) is not a layer of its own: it is OFDM here, without protection and without its signal extension.
//!
//! ## Not modelled
//! 802.11n and later, channels of 5, 10 and 40 MHz. Who studies rates above 54 Mb/s or aggregation would notice.

use crate::time::Duration;

use super::frame::{ACK_BYTES, CTS_BYTES, RTS_BYTES};

/// A data rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it: family and Mb/s")]
pub enum Rate {
    Dsss1,
    Dsss2,
    Dsss5_5,
    Dsss11,
    Ofdm6,
    Ofdm9,
    Ofdm12,
    Ofdm18,
    Ofdm24,
    Ofdm36,
    Ofdm48,
    Ofdm54,
}

impl Rate {
    /// Bits per second.
    pub const fn bps(self) -> u64 {
        match self {
            Rate::Dsss1 => 1_000_000,
            Rate::Dsss2 => 2_000_000,
            Rate::Dsss5_5 => 5_500_000,
            Rate::Dsss11 => 11_000_000,
            Rate::Ofdm6 => 6_000_000,
            Rate::Ofdm9 => 9_000_000,
            Rate::Ofdm12 => 12_000_000,
            Rate::Ofdm18 => 18_000_000,
            Rate::Ofdm24 => 24_000_000,
            Rate::Ofdm36 => 36_000_000,
            Rate::Ofdm48 => 48_000_000,
            Rate::Ofdm54 => 54_000_000,
        }
    }

    /// Whether it belongs to OFDM.
    pub const fn is_ofdm(self) -> bool {
        !matches!(self, Rate::Dsss1 | Rate::Dsss2 | Rate::Dsss5_5 | Rate::Dsss11)
    }

    /// The rates of the same family, slowest first.
    pub const fn family(self) -> &'static [Rate] {
        if self.is_ofdm() { OFDM_RATES } else { DSSS_RATES }
    }

    /// The highest rate of the family that is at most `to_percent` of this one, if that is not below `floor_percent`
    /// of it.
    pub fn reduced(self, to_percent: u8, floor_percent: u8) -> Option<Rate> {
        let percent_of_full = |rate: &&Rate| rate.bps() * 100;
        let highest =
            self.family().iter().rfind(|rate| percent_of_full(rate) <= self.bps() * u64::from(to_percent))?;
        (percent_of_full(&highest) >= self.bps() * u64::from(floor_percent)).then_some(*highest)
    }
}

/// The rates of DSSS and HR/DSSS, slowest first.
pub const DSSS_RATES: &[Rate] = &[Rate::Dsss1, Rate::Dsss2, Rate::Dsss5_5, Rate::Dsss11];
/// The rates of OFDM, slowest first.
pub const OFDM_RATES: &[Rate] = &[
    Rate::Ofdm6,
    Rate::Ofdm9,
    Rate::Ofdm12,
    Rate::Ofdm18,
    Rate::Ofdm24,
    Rate::Ofdm36,
    Rate::Ofdm48,
    Rate::Ofdm54,
];

/// The preamble of DSSS frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preamble {
    /// 144 + 48 bits at 1 Mb/s.
    #[default]
    Long,
    /// 72 bits at 1 Mb/s and 48 at 2 Mb/s. Frames at 1 Mb/s have the long one all the same.
    Short,
}

/// A physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phy {
    /// DSSS and HR/DSSS, 2.4 GHz.
    Dsss(Preamble),
    /// OFDM with channels of 20 MHz.
    Ofdm,
}

impl Phy {
    /// Length of a slot.
    #[doc(alias = "aSlotTime")]
    pub const fn slot(self) -> Duration {
        match self {
            Phy::Dsss(_) => Duration::from_micros(20),
            Phy::Ofdm => Duration::from_micros(9),
        }
    }

    /// The short interframe space, before a response.
    #[doc(alias = "aSIFSTime")]
    pub const fn sifs(self) -> Duration {
        match self {
            Phy::Dsss(_) => Duration::from_micros(10),
            Phy::Ofdm => Duration::from_micros(16),
        }
    }

    /// The interframe space before contention: SIFS and two slots.
    pub fn difs(self) -> Duration {
        self.sifs() + self.slot() * 2
    }

    /// The interframe space after a frame that could not be decoded: long enough for an ACK that this station may not
    /// hear, at the lowest rate (IEEE 802.11-2020 §10.3.2.3.7).
    pub fn eifs(self) -> Duration {
        self.sifs() + self.difs() + self.airtime(ACK_BYTES, self.lowest_rate())
    }

    /// The time a station needs from its decision to send to the first sign of it on air. What it hears within this
    /// time before its slot comes too late to stop it.
    #[doc(alias = "aRxTxTurnaroundTime")]
    pub const fn turnaround(self) -> Duration {
        match self {
            Phy::Dsss(_) => Duration::from_micros(5),
            Phy::Ofdm => Duration::from_micros(2),
        }
    }

    /// The contention window of a first attempt.
    #[doc(alias = "aCWmin")]
    pub const fn cw_min(self) -> u32 {
        match self {
            Phy::Dsss(_) => 31,
            Phy::Ofdm => 15,
        }
    }

    /// The largest contention window.
    #[doc(alias = "aCWmax")]
    pub const fn cw_max(self) -> u32 {
        1023
    }

    /// The slowest rate of this layer.
    pub const fn lowest_rate(self) -> Rate {
        self.rates()[0]
    }

    /// The rates of this layer, slowest first.
    pub const fn rates(self) -> &'static [Rate] {
        match self {
            Phy::Dsss(_) => DSSS_RATES,
            Phy::Ofdm => OFDM_RATES,
        }
    }

    /// What precedes the bytes of a frame on air: synchronisation and the header that tells the rate.
    #[doc(alias = "PLCP")]
    pub const fn plcp(self, rate: Rate) -> Duration {
        match self {
            Phy::Dsss(Preamble::Short) if !matches!(rate, Rate::Dsss1) => Duration::from_micros(96),
            Phy::Dsss(_) => Duration::from_micros(192),
            Phy::Ofdm => Duration::from_micros(20),
        }
    }

    /// How long a frame of `bytes` bytes is on air at `rate` (TXTIME, IEEE 802.11-2020 §16.3.4 and §17.4.3).
    #[doc(alias = "TXTIME")]
    pub fn airtime(self, bytes: u32, rate: Rate) -> Duration {
        let bits = u64::from(bytes) * 8;
        let body_micros = match self {
            Phy::Dsss(_) => (bits * 1_000_000).div_ceil(rate.bps()),
            // 16 service bits and 6 tail bits; a symbol lasts 4 µs.
            Phy::Ofdm => (16 + bits + 6).div_ceil(rate.bps() * 4 / 1_000_000) * 4,
        };
        self.plcp(rate) + Duration::from_micros(body_micros)
    }

    /// How long an RTS is on air.
    pub fn rts(self, rate: Rate) -> Duration {
        self.airtime(RTS_BYTES, rate)
    }

    /// How long a CTS is on air.
    pub fn cts(self, rate: Rate) -> Duration {
        self.airtime(CTS_BYTES, rate)
    }

    /// How long an ACK is on air.
    pub fn ack(self, rate: Rate) -> Duration {
        self.airtime(ACK_BYTES, rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(phy: Phy, bytes: u32, rate: Rate) -> u64 {
        phy.airtime(bytes, rate).as_nanos() / 1_000
    }

    #[test]
    fn dsss_airtimes_are_those_of_the_standard() {
        let long = Phy::Dsss(Preamble::Long);
        assert_eq!(micros(long, 14, Rate::Dsss1), 192 + 112);
        assert_eq!(micros(long, 1074, Rate::Dsss2), 192 + 4296);
        // 1074 bytes are 781.09 µs: the header counts whole microseconds.
        assert_eq!(micros(long, 1074, Rate::Dsss11), 192 + 782);
        let short = Phy::Dsss(Preamble::Short);
        assert_eq!(micros(short, 14, Rate::Dsss2), 96 + 56);
        assert_eq!(micros(short, 14, Rate::Dsss1), 192 + 112);
    }

    #[test]
    fn ofdm_airtimes_are_whole_symbols() {
        // 16 + 112 + 6 bits are 6 symbols of 24 bits, or 2 of 96.
        assert_eq!(micros(Phy::Ofdm, 14, Rate::Ofdm6), 20 + 24);
        assert_eq!(micros(Phy::Ofdm, 14, Rate::Ofdm24), 20 + 8);
        assert_eq!(micros(Phy::Ofdm, 1534, Rate::Ofdm54), 20 + 57 * 4);
    }

    #[test]
    fn interframe_spaces_are_those_of_the_standard() {
        let dsss = Phy::Dsss(Preamble::Long);
        assert_eq!(dsss.difs(), Duration::from_micros(50));
        assert_eq!(dsss.eifs(), Duration::from_micros(10 + 50 + 304));
        assert_eq!(Phy::Ofdm.difs(), Duration::from_micros(34));
        assert_eq!(Phy::Ofdm.eifs(), Duration::from_micros(16 + 34 + 44));
    }
}
