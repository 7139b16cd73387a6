//! `[[cells]]`.

use segue_proto::time::Duration;
use segue_proto::units::{BitRate, Bytes};
use serde::Deserialize;

use super::super::quantity::{OrOff, Quantity};

/// `[[cells]]`: an 802.11 medium.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Default: `cell`, numbered if there are several.
    pub name: Option<String>,
    /// Names of the hosts and routers in it; those of `access_points` need not be named again.
    #[serde(default)]
    pub members: Vec<String>,
    /// Infrastructure: names of the nodes through which all others speak; default none, everybody speaks to everybody.
    #[serde(default)]
    pub access_points: Vec<String>,
    /// Time between beacons of an access point; `"off"` for no association at layer 2. Default 100 ms.
    pub beacon_interval: Option<OrOff<Duration>>,
    /// Beacons missed after which an access point is lost; default 8.
    pub missed_beacons: Option<u32>,
    /// By how many dB another access point must be stronger; default 4.
    pub hysteresis_db: Option<f64>,
    /// Data rate: one of 1, 2, 5.5, 11 Mb/s (DSSS) or 6, 9, 12, 18, 24, 36, 48, 54 Mb/s (OFDM).
    pub rate: Quantity<BitRate>,
    /// Rate of control frames; default the lowest of the family.
    pub basic_rate: Option<Quantity<BitRate>>,
    /// `fixed` (default) or `arf`.
    pub rate_control: Option<RateControl>,
    /// Short DSSS preamble.
    #[serde(default)]
    pub short_preamble: bool,
    /// Frames longer than this are preceded by RTS and CTS; default all, `"off"` none.
    pub rts_threshold: Option<OrOff<Bytes>>,
    /// Attempts of RTS and of short data frames; default 7.
    pub short_retry_limit: Option<u16>,
    /// Attempts of data frames above the RTS threshold; default 4.
    pub long_retry_limit: Option<u16>,
    /// Packets that may wait at each station; default 50.
    pub queue: Option<u32>,
    /// Whether EIFS follows a frame that could not be decoded; default true.
    pub eifs: Option<bool>,
    /// Whether a whole DIFS follows EIFS; default false.
    pub difs_after_eifs: Option<bool>,
    /// Whether retry counts belong to the `frame` (default) or to the `station`.
    pub retry_counts_of: Option<CountsOf>,
    /// What a station does between its CTS and the data; default `free`.
    pub after_cts: Option<AfterCts>,
    /// Probability with which each frame is lost; default 0.
    pub frame_error: Option<f64>,
    /// Losses of certain frames only; the first that fits a frame replaces `frame_error` for it.
    #[serde(default)]
    pub frame_errors: Vec<FrameError>,
    /// Received power by distance; default `two-ray-ground`.
    pub propagation: Option<Propagation>,
    /// Power of every transmitter in dBm; default 24.5 (0.2818 W, ns-2's card).
    pub transmit_power_dbm: Option<f64>,
    /// Carrier frequency in MHz; default 914 (ns-2's card).
    pub frequency_mhz: Option<f64>,
    /// Distance up to which frames are decoded, in metres; default 250.
    pub range_m: Option<f64>,
    /// Distance up to which the medium is sensed busy, in metres; default 2.2 times the range.
    pub carrier_sense_m: Option<f64>,
    /// By how many dB a frame must be stronger than another to survive it; default 10.
    pub capture_db: Option<f64>,
}

/// See [`segue_proto::wifi::retry::CountsOf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountsOf {
    /// Each frame begins with zero.
    Frame,
    /// A frame may inherit a count.
    Station,
}

/// See [`segue_proto::wifi::dcf::AfterCts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterCts {
    /// It is free to contend and to answer.
    Free,
    /// It waits for the data.
    Wait,
}

/// See [`segue_proto::wifi::RateControl`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateControl {
    /// Always the same.
    Fixed,
    /// Automatic rate fallback.
    Arf,
}

/// One of `frame_errors`; a key that is missing stands for all.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameError {
    /// Sender.
    pub from: Option<String>,
    /// Receiver.
    pub to: Option<String>,
    /// Kind of frame.
    pub kind: Option<Kind>,
    /// Probability of loss.
    pub p: f64,
}

/// See [`segue_proto::wifi::Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Data.
    Data,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// Beacon.
    Beacon,
}

/// `propagation = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Propagation {
    /// One of `friis`, `two-ray-ground`, `log-distance`, `fixed-range`.
    pub model: String,
    /// `two-ray-ground`: height of all antennas in metres, default 1.5.
    pub antenna_height_m: Option<f64>,
    /// `log-distance`: distance up to which free space holds, default 1 m.
    pub reference_m: Option<f64>,
    /// `log-distance`: path loss exponent.
    pub exponent: Option<f64>,
    /// `log-distance`: standard deviation of the shadowing, default 0 dB.
    pub shadowing_db: Option<f64>,
}
