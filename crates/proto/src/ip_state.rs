//! The IP side of ILC-TCP: turns what the Mobile IP client knows into `IP_OK` and `IP_NOT_OK`.
//!
//! \[Chinta §3.3.3, Fig. 5\]; moving home by ilc-tcp A16.
//!
//! | state × event | says | next |
//! |---|---|---|
//! | STABLE × agent lost, left home, or new care-of address chosen | `IP_NOT_OK` | UNSTABLE |
//! | UNSTABLE × registration reply, or deregistration reply at home | `IP_OK` | STABLE |
//! | STABLE × registration reply (refresh) | `IP_OK` (harmless) | STABLE |
//! | UNSTABLE × agent lost again | nothing: it has been said | UNSTABLE |

use crate::signal::SignalKind;

/// What the mobility client reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpEvent {
    /// The current agent is lost, home was left, or a new care-of address was chosen and not yet confirmed.
    AttachmentLost,
    /// A registration reply came, or the reply to a deregistration at home.
    RegistrationConfirmed,
}

/// The IP stability of one mobile host.
#[derive(Clone, Copy, Debug)]
pub struct IpState {
    stable: bool,
}

impl IpState {
    /// Starts stable if the host is at home or registered (ilc-tcp A4).
    pub const fn new(at_home_or_registered: bool) -> Self {
        IpState { stable: at_home_or_registered }
    }

    /// Takes a report of the mobility client.
    pub fn handle_event(&mut self, event: IpEvent) -> Option<SignalKind> {
        let was_stable = self.stable;
        self.stable = event == IpEvent::RegistrationConfirmed;
        match event {
            IpEvent::RegistrationConfirmed => Some(SignalKind::IpOk),
            IpEvent::AttachmentLost => was_stable.then_some(SignalKind::IpNotOk),
        }
    }

    /// Whether IP is stable.
    pub const fn is_stable(self) -> bool {
        self.stable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cells_of_the_state_table() {
        let mut ip = IpState::new(true);
        assert_eq!(ip.handle_event(IpEvent::RegistrationConfirmed), Some(SignalKind::IpOk));
        assert_eq!(ip.handle_event(IpEvent::AttachmentLost), Some(SignalKind::IpNotOk));
        assert_eq!(ip.handle_event(IpEvent::AttachmentLost), None);
        assert!(!ip.is_stable());
        assert_eq!(ip.handle_event(IpEvent::RegistrationConfirmed), Some(SignalKind::IpOk));
        assert!(ip.is_stable());
    }

    #[test]
    fn a_host_that_starts_away_is_unstable_until_it_registers() {
        let mut ip = IpState::new(false);
        assert!(!ip.is_stable());
        assert_eq!(ip.handle_event(IpEvent::RegistrationConfirmed), Some(SignalKind::IpOk));
    }
}
