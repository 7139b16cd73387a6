//! Queue disciplines: who may wait for a transmitter, and who is dropped. One file each, one table.
//!
//! A discipline decides when a packet arrives and never afterwards: it sees how many packets wait, and holds none itself.
//! [`Any`] is the sum of all, so that the per-packet path has no dynamic dispatch.
//!
//! A discipline that computes the probability of dropping a packet says it ([`Admission::drop_probability`]), whatever the
//! toss of the coin: it is what Boosted TCP collects on the way \[Guennoun §3.1\].
//!
//! A new discipline is one file with a [`Spec`], one `mod` line and one line of the `table!` here.

mod average;
pub mod drop_tail;
pub mod dsred;
pub mod red;

use crate::params::{Kind, Param, Params};
use crate::rng::Stream;
use crate::time::Duration;
use crate::units::BitRate;

/// What a packet finds when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Packets that wait, without the one in transmission.
    pub waiting: usize,
    /// How long the transmitter has had nothing to do; `None`: it is busy.
    pub idle: Option<Duration>,
    /// Size of the packet.
    pub bytes: u32,
}

impl Arrival {
    /// Whether there is no room for the packet where `limit` packets may wait.
    #[inline]
    pub fn overflows(&self, limit: usize) -> bool {
        self.idle.is_none() && self.waiting >= limit
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is sent or waits.
    Taken,
    /// It is dropped: there is no room.
    Full,
    /// It is dropped although there is room.
    Early,
}

/// A discipline's answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// What becomes of the packet.
    pub outcome: Outcome,
    /// The probability of dropping it that the discipline computed, `0..=1`; 0 if it computes none.
    pub drop_probability: f32,
}

/// One discipline at work on one transmitter.
pub trait Discipline {
    /// A packet arrives.
    fn admit(&mut self, arrival: Arrival) -> Admission;
}

/// Where a discipline works.
#[derive(Debug)]
pub struct Place {
    /// Rate of the transmitter.
    pub rate: BitRate,
    /// Its random stream.
    pub stream: Stream,
}

/// A parameter that does not fit the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its name.
    pub name: &'static str,
    /// What was found and what is allowed.
    pub message: String,
}

/// An entry of the table.
#[derive(Debug)]
pub struct Spec {
    /// The name in scenarios.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its parameters; all have `limit`.
    pub params: &'static [Param],
    /// Whether the parameters fit together.
    pub check: fn(&Params) -> Result<(), Misfit>,
    /// A new instance.
    pub build: fn(&Params, Place) -> Any,
}

impl Spec {
    /// The entry called `name`.
    pub fn named(name: &str) -> Option<&'static Spec> {
        ALL.iter().find(|spec| spec.name == name).copied()
    }
}

/// The packets that may wait: the parameter that every discipline has.
pub const LIMIT: Param = Param {
    name: "limit",
    doc: "Packets that may wait besides the one in transmission.",
    kind: Kind::Integer(0, u32::MAX as u64),
    default: "50",
};

/// The table: one line a discipline.
macro_rules! table {
    ($($module:ident :: $type:ident),* $(,)?) => {
        /// All disciplines.
        pub const ALL: &[&Spec] = &[$(&$module::SPEC),*];

        /// Any one of them.
        #[derive(Clone, Debug)]
        pub enum Any {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $type($module::$type)),*
        }

        impl Discipline for Any {
            fn admit(&mut self, arrival: Arrival) -> Admission {
                match self { $(Any::$type(queue) => queue.admit(arrival)),* }
            }
        }
    };
}

impl Any {
    /// The limit of a queue that does nothing but keep to it: a driver need not ask it.
    pub fn plain_limit(&self) -> Option<usize> {
        if let Any::DropTail(queue) = self { queue.plain_limit() } else { None }
    }
}

table! {
    drop_tail::DropTail,
    red::Red,
    dsred::Dsred,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn names_are_unique_defaults_are_valid_and_every_entry_has_a_limit() {
        for (i, spec) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|other| other.name != spec.name), "{} twice", spec.name);
            assert_eq!(Spec::named(spec.name).map(|found| found.summary), Some(spec.summary));
            let mut params = Params::defaults(spec.params);
            assert_eq!((spec.check)(&params), Ok(()));
            params.set("limit", "3").unwrap();
            let mut queue = (spec.build)(&params, place());
            let busy = |waiting| Arrival { waiting, idle: None, bytes: 1000 };
            assert_eq!(queue.admit(busy(2)).outcome, Outcome::Taken, "{}", spec.name);
            assert_eq!(queue.admit(busy(3)).outcome, Outcome::Full, "{}", spec.name);
            let idle = Arrival { waiting: 0, idle: Some(Duration::ZERO), bytes: 1000 };
            assert_eq!(queue.admit(idle).outcome, Outcome::Taken, "{}", spec.name);
        }
    }

    #[test]
    fn an_idle_transmitter_takes_a_packet_even_where_none_may_wait() {
        for spec in ALL {
            let mut params = Params::defaults(spec.params);
            params.set("limit", "0").unwrap();
            let mut queue = (spec.build)(&params, place());
            let idle = Arrival { waiting: 0, idle: Some(Duration::ZERO), bytes: 1000 };
            assert_eq!(queue.admit(idle).outcome, Outcome::Taken, "{}", spec.name);
        }
    }

    fn place() -> Place {
        Place { rate: BitRate::from_bps(8_000_000).unwrap(), stream: Streams::new(1).stream("queue") }
    }
}
