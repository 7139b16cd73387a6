//! The advertisements of one agent: periodic with a phase, and on solicitation (RFC 5944 §2.3).
//!
//! *Differences:* no random jitter between advertisements and none before the answer to a solicitation
//! (RFC 5944 §2.3.1 asks for some); the phase is given by the driver, as ns-2 draws it once at the start. Who puts
//! many agents on one radio channel with the same phase will see their beacons collide.

use super::message::{AgentAdvertisement, Lifetime};
use super::{Address, Outgoing, next_tick};
use crate::time::{Duration, Instant};

/// How an agent advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Time between advertisements (ns-2: 1 s).
    pub period: Duration,
    /// When the first one goes out.
    pub phase: Duration,
    /// How long an advertisement is valid, in seconds (ns-2: 2 s; RFC 5944 §2.3: three periods).
    pub lifetime_secs: u16,
    /// The longest registration offered.
    pub registration_lifetime: Lifetime,
}

impl Config {
    /// ns-2's values: a beacon each second, valid for 2 s, registrations of 2 s.
    pub fn ns2(phase: Duration) -> Self {
        Config { period: Duration::from_secs(1), phase, lifetime_secs: 2, registration_lifetime: Lifetime(2) }
    }

    /// RFC 5944's values: valid for three periods of a second, registrations of half an hour.
    pub fn rfc5944(phase: Duration) -> Self {
        Config { lifetime_secs: 3, registration_lifetime: Lifetime(1_800), ..Config::ns2(phase) }
    }
}

/// The advertising half of an agent.
#[derive(Clone, Debug)]
pub(super) struct Beacon {
    config: Config,
    advertisement: AgentAdvertisement,
    next: Instant,
}

impl Beacon {
    /// Advertises what `advertisement` says; lifetimes and sequence number are filled in here.
    pub fn new(config: Config, mut advertisement: AgentAdvertisement, now: Instant) -> Self {
        advertisement.lifetime_secs = config.lifetime_secs;
        advertisement.registration_lifetime = config.registration_lifetime;
        advertisement.sequence = 0;
        let first = Instant::ZERO + config.phase;
        let next = if first < now { next_tick(config.phase, config.period, now) } else { first };
        Beacon { config, advertisement, next }
    }

    /// The next advertisement, addressed to `to`.
    pub fn advertise(&mut self, to: Address, busy: bool) -> Outgoing {
        let mut advertisement = self.advertisement.clone();
        advertisement.flags.busy = busy;
        // RFC 5944 §2.3.2: 0 to 255 are left to the first numbers after a start.
        self.advertisement.sequence = self.advertisement.sequence.checked_add(1).unwrap_or(256);
        Outgoing::link(to, advertisement)
    }

    /// The periodic advertisement, if it is due.
    pub fn handle_timeout(&mut self, busy: bool, now: Instant) -> Option<Outgoing> {
        if now < self.next {
            return None;
        }
        self.next = next_tick(self.config.phase, self.config.period, now);
        Some(self.advertise(Address::ALL_SYSTEMS, busy))
    }

    /// When the next periodic advertisement is due.
    pub fn deadline(&self) -> (Instant, &'static str) {
        (self.next, "advertisement due")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mobile_ip::Message;
    use crate::mobile_ip::message::AgentFlags;

    #[test]
    fn the_sequence_number_rolls_over_to_256() {
        let advertisement = AgentAdvertisement {
            agent: Address(1),
            lifetime_secs: 0,
            sequence: 9,
            registration_lifetime: Lifetime::ZERO,
            flags: AgentFlags::default(),
            care_of: vec![],
        };
        let mut beacon = Beacon::new(Config::ns2(Duration::ZERO), advertisement, Instant::ZERO);
        let mut sequences =
            (0..65_538).map(|_| match beacon.advertise(Address::ALL_SYSTEMS, false).message {
                Message::AgentAdvertisement(advertisement) => advertisement.sequence,
                other => panic!("{other:?}"),
            });
        assert_eq!(sequences.next(), Some(0));
        assert_eq!(sequences.nth(65_534), Some(65_535));
        assert_eq!(sequences.next(), Some(256));
    }
}
