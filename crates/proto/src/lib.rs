//! Every protocol of Segue as a sans-IO state machine.
//!
//! Nothing in this crate reads a clock, opens a socket, starts a thread, touches a file or draws a hidden
//! random number. Time comes in as the last argument of each call, always named `now`; packets come in and
//! go out as plain values. The same code therefore runs in the simulator, in the real-time emulator and in
//! the Linux daemons.
//!
//! Every machine is driven by the same verbs: `handle_<input>`, `handle_timeout`, `poll_transmit`,
//! `poll_timeout` (schemes: `poll_action`). After each `handle_` call the driver polls until it gets `None`.
//!
//! * [`tcp`]: a TCP connection with hooks at the points where a lower layer may have a say.
//! * [`schemes`]: the policies that answer those hooks; one file each, one table.
//! * [`base_station`]: what a scheme may do where the radio of a mobile host ends.
//! * [`split`]: split connections whose middle moves with the mobile host (I-TCP).
//! * [`signal`]: all that one layer may tell another.
//! * [`queue`]: who may wait for a transmitter, and who is dropped.
//! * [`wifi`]: one 802.11 station: the distributed coordination function.
//! * [`link_state`] and [`ip_state`]: the detectors that turn evidence into signals.
//! * [`trace`]: the typed events that tests, tools and results read.
//! * [`time`], [`units`], [`rng`]: time as integer nanoseconds, quantities with units, named random streams.

pub mod base_station;
pub mod ip_state;
pub mod link_state;
pub mod mobile_ip;
pub mod params;
pub mod queue;
pub mod rng;
pub mod schemes;
pub mod signal;
pub mod split;
pub mod tcp;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod trace;
pub mod units;
pub mod wifi;
pub mod wire;
