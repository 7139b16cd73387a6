//! Congestion control: how much may be in flight. One file an algorithm, one table.
//!
//! [`Window`] holds `cwnd` and `ssthresh` in segments, as real numbers: ns-2 and Linux count segments, and additions,
//! divisions and comparisons of IEEE doubles are exact enough to be the same everywhere.

pub mod reno;

use crate::time::Instant;

/// `cwnd` and `ssthresh` in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, at least 1.
    pub cwnd: f64,
    /// Slow-start threshold, at least 2 once it has been cut.
    pub ssthresh: f64,
}

/// One congestion control algorithm.
pub trait CongestionControl {
    /// New data was acknowledged outside of recovery: opens the window. `acked` is in segments.
    fn on_ack(&mut self, window: &mut Window, acked: f64, now: Instant);

    /// The new `ssthresh` after a loss with `base` segments at stake (window or flight, see
    /// [`Cut`](super::profile::Cut)), before rounding.
    fn on_loss(&mut self, base: f64, now: Instant) -> f64;
}

/// An entry of the table.
#[derive(Debug)]
pub struct Spec {
    /// The name in scenarios.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A new instance.
    pub build: fn() -> Any,
}

/// The table: one line an algorithm. [`Any`] is the sum of them, so that the per-packet path has no dynamic dispatch.
macro_rules! table {
    ($($module:ident :: $type:ident),* $(,)?) => {
        /// All algorithms.
        pub const ALL: &[&Spec] = &[$(&$module::SPEC),*];

        /// Any one of them.
        #[derive(Clone, Debug)]
        pub enum Any {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $type($module::$type)),*
        }

        impl CongestionControl for Any {
            fn on_ack(&mut self, window: &mut Window, acked: f64, now: Instant) {
                match self { $(Any::$type(cc) => cc.on_ack(window, acked, now)),* }
            }
            fn on_loss(&mut self, base: f64, now: Instant) -> f64 {
                match self { $(Any::$type(cc) => cc.on_loss(base, now)),* }
            }
        }
    };
}

table! {
    reno::Reno,
}
