//! Loss recovery: what to send again, and when the window is cut. One file an algorithm, one table.
//!
//! An algorithm decides; [`Sender`] holds the state that all of them share (`dupacks`, `recover`, inflation).

pub mod new_reno;
pub mod reno;
pub mod tahoe;

use super::send::Sender;

/// Duplicate ACKs that count as a loss (RFC 5681 §3.2).
pub const DUP_THRESH: u32 = 3;

/// What an ACK of new data means to the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewAck {
    /// Ordinary progress, or the end of recovery.
    Full {
        /// Whether congestion control opens the window for it.
        grow: bool,
    },
    /// Progress inside recovery: the next hole is sent again and recovery goes on.
    Partial {
        /// Whether the retransmission timer restarts.
        restart_timer: bool,
    },
}

/// One recovery algorithm.
pub trait Recovery {
    /// Whether the third duplicate ACK may start recovery now, or belongs to losses already handled.
    fn may_enter(&self, sender: &Sender) -> bool;

    /// Starts recovery. `ssthresh` is set already; `halved` is the value before rounding. With `keep` the window must
    /// not be cut: repair only.
    fn enter(&mut self, sender: &mut Sender, halved: f64, keep: bool);

    /// A duplicate ACK, the threshold reached or passed. `entered`: this one started recovery.
    fn on_further_dup_ack(&mut self, sender: &mut Sender, entered: bool);

    /// `ack` acknowledges new data; called before `snd_una` moves.
    fn on_new_ack(&mut self, sender: &mut Sender, ack: u64) -> NewAck;

    /// The retransmission timer expired; called before the window is cut.
    fn on_timeout(&mut self, sender: &mut Sender);

    /// How many segments an ACK may release just now; `u32::MAX` for no limit.
    fn burst_limit(&self, sender: &Sender) -> u32;
}

/// An entry of the table.
#[derive(Debug)]
pub struct Spec {
    /// The name in scenarios.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A new instance, with the profile's choices.
    pub build: fn(&super::Profile) -> Any,
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

        impl Recovery for Any {
            fn may_enter(&self, sender: &Sender) -> bool {
                match self { $(Any::$type(r) => r.may_enter(sender)),* }
            }
            fn enter(&mut self, sender: &mut Sender, halved: f64, keep: bool) {
                match self { $(Any::$type(r) => r.enter(sender, halved, keep)),* }
            }
            fn on_further_dup_ack(&mut self, sender: &mut Sender, entered: bool) {
                match self { $(Any::$type(r) => r.on_further_dup_ack(sender, entered)),* }
            }
            fn on_new_ack(&mut self, sender: &mut Sender, ack: u64) -> NewAck {
                match self { $(Any::$type(r) => r.on_new_ack(sender, ack)),* }
            }
            fn on_timeout(&mut self, sender: &mut Sender) {
                match self { $(Any::$type(r) => r.on_timeout(sender)),* }
            }
            fn burst_limit(&self, sender: &Sender) -> u32 {
                match self { $(Any::$type(r) => r.burst_limit(sender)),* }
            }
        }
    };
}

table! {
    tahoe::Tahoe,
    reno::Reno,
    new_reno::NewReno,
}
