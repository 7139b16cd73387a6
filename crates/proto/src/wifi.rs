//! IEEE 802.11 medium access, sans-IO: one station of a cell or of an ad hoc network.
//!
//! * [`dcf`]: the station machine, the distributed coordination function.
//! * [`phy`]: rates, interframe spaces and the time a frame is on air.
//! * [`frame`]: the frames and their sizes.
//! * [`backoff`]: contention window and the frozen counter.
//! * [`retry`]: the short and the long retry count.
//! * [`rate`]: which rate a frame is sent at.
//! * [`report`]: what a station tells its driver.
//! * [`power`]: watts, decibels, dBm.
//! * [`association`]: which access point a mobile station belongs to.

pub mod association;
pub mod backoff;
pub mod dcf;
mod exchange;
pub mod frame;
mod peers;
pub mod phy;
pub mod power;
pub mod rate;
pub mod report;
pub mod retry;

pub use dcf::{Config, Dcf};
pub use frame::{Body, Frame, Kind, Packet, StationId};
pub use phy::{Phy, Preamble, Rate};
pub use rate::RateControl;
pub use report::{DropCause, Event, QueueFull, Stats, Transmission};
pub use retry::Limits;
