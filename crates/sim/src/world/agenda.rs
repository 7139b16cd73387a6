//! What is known beforehand: flow starts, outages, beacons, signals under way.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use segue_proto::signal::Signal;
use segue_proto::time::Instant;

/// Something known beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Appointment {
    PowerOn,
    Open { flow: u32 },
    OutageBegins { outage: u32, until: Instant },
    OutageEnds { outage: u32 },
    AbsenceBegins { absence: u32, until: Instant },
    AbsenceEnds { absence: u32 },
    Beacon { node: u32 },
    Silence { node: u32 },
    Deliver { node: u32, signal: Signal },
    StationBeacon { cell: u32, station: u32 },
    Association { cell: u32, station: u32 },
    Roles { node: u32 },
    Motion { mover: u32 },
}

/// What is known beforehand, in order of time and insertion. Silence is noticed last: whatever arrives at the very
/// moment at which it would be bad news is still in time.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(Instant, bool, u64)>>,
    /// By insertion number; `None` once used.
    appointments: BTreeMap<u64, Appointment>,
    inserted: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at: Instant, appointment: Appointment) {
        let comes_last = matches!(appointment, Appointment::Silence { .. } | Appointment::Association { .. });
        self.heap.push(Reverse((at, comes_last, self.inserted)));
        self.appointments.insert(self.inserted, appointment);
        self.inserted += 1;
    }

    pub(super) fn next_time(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    pub(super) fn take_due(&mut self, now: Instant) -> Option<Appointment> {
        self.next_time().filter(|at| *at <= now)?;
        let Reverse((.., number)) = self.heap.pop()?;
        self.appointments.remove(&number)
    }
}
