//! The radio: who hears what, and how strongly.
//!
//! * [`propagation`]: received power by distance.
//! * [`medium`]: carrier sense, collisions, capture, frame errors; it drives nobody and reports to whoever asks.
//! * [`cell`]: 802.11 stations on one medium, with saturated sources; what theory is compared with.

pub mod cell;
pub mod medium;
pub mod neighbours;
pub mod propagation;

pub use medium::{Medium, Report, What};
pub use propagation::{Position, Propagation};
