//! The control messages of Mobile IPv4 and of route optimisation, by meaning. Bytes are in [`crate::wire::mobile_ip`].
//!
//! RFC 5944 §2.1 (advertisement), §2.2 (solicitation), §3.3 (request), §3.4 (reply);
//! draft-ietf-mobileip-optim for the binding messages and the previous foreign agent notification.

use super::Address;
use crate::time::{Duration, Instant};

/// A lifetime as the messages carry it: whole seconds, 0xffff is for ever (RFC 5944 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lifetime(pub u16);

impl Lifetime {
    /// None: the sender asks for deletion.
    pub const ZERO: Lifetime = Lifetime(0);
    /// No end.
    pub const FOR_EVER: Lifetime = Lifetime(u16::MAX);

    /// The lifetime as a span of time.
    pub const fn as_duration(self) -> Duration {
        if self.0 == u16::MAX { Duration::MAX } else { Duration::from_secs(self.0 as u64) }
    }

    /// The time from `now` until `expires`, in whole seconds rounded up: a binding must not look dead before it is.
    pub fn until(expires: Instant, now: Instant) -> Lifetime {
        if expires == Instant::MAX {
            return Lifetime::FOR_EVER;
        }
        let secs = expires.since(now).as_nanos().div_ceil(1_000_000_000);
        Lifetime(u16::try_from(secs).unwrap_or(u16::MAX - 1).min(u16::MAX - 1))
    }
}

/// One control message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// An agent says that it is there.
    AgentAdvertisement(AgentAdvertisement),
    /// A host asks for advertisements.
    AgentSolicitation,
    /// A host tells its home agent where it is.
    RegistrationRequest(RegistrationRequest),
    /// The home agent, or a foreign agent that refuses, answers.
    RegistrationReply(RegistrationReply),
    /// A correspondent asks the home agent where a host is.
    BindingRequest(BindingRequest),
    /// Where a host is.
    BindingUpdate(BindingUpdate),
    /// A binding update was received.
    BindingAcknowledgement(BindingAcknowledgement),
    /// Somebody uses an old binding.
    BindingWarning(BindingWarning),
}

impl Message {
    /// The name in traces.
    pub fn name(&self) -> &'static str {
        match self {
            Message::AgentAdvertisement(_) => "agent-advertisement",
            Message::AgentSolicitation => "agent-solicitation",
            Message::RegistrationRequest(_) => "registration-request",
            Message::RegistrationReply(_) => "registration-reply",
            Message::BindingRequest(_) => "binding-request",
            Message::BindingUpdate(_) => "binding-update",
            Message::BindingAcknowledgement(_) => "binding-acknowledgement",
            Message::BindingWarning(_) => "binding-warning",
        }
    }

    /// Size of the IP packet that carries it, in bytes: IP header, ICMP or UDP, message and extensions.
    pub fn packet_bytes(&self) -> u32 {
        const IP: u32 = 20;
        const UDP: u32 = 8;
        const ADDRESS: u32 = 4;
        match self {
            Message::AgentAdvertisement(advertisement) => {
                IP + 16 + 8 + ADDRESS * advertisement.care_of.len() as u32
            }
            Message::AgentSolicitation => IP + 8,
            Message::RegistrationRequest(request) => {
                IP + UDP + 24 + if request.previous_agent.is_some() { 16 } else { 0 }
            }
            Message::RegistrationReply(_) => IP + UDP + 20,
            Message::BindingRequest(_) | Message::BindingAcknowledgement(_) => IP + UDP + 16,
            Message::BindingUpdate(update) => {
                IP + UDP + 12 + if update.identification.is_some() { 8 } else { 0 }
            }
            Message::BindingWarning(warning) => IP + UDP + 8 + ADDRESS * warning.targets.len() as u32,
        }
    }
}

/// An agent's advertisement: an ICMP router advertisement with the mobility extension (RFC 5944 §2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAdvertisement {
    /// The agent's address on the link.
    pub agent: Address,
    /// How long the advertisement is valid, in seconds: the ICMP lifetime.
    pub lifetime_secs: u16,
    /// Counts up; 0 after a start, and 256 after 0xffff, so that a restart can be told from a roll-over.
    pub sequence: u16,
    /// The longest registration that the agent accepts.
    pub registration_lifetime: Lifetime,
    /// What the agent offers.
    pub flags: AgentFlags,
    /// Care-of addresses; at least one if it is a foreign agent.
    pub care_of: Vec<Address>,
}

/// The flags of an advertisement (RFC 5944 §2.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentFlags {
    /// R: hosts must register with an agent even if they have a care-of address of their own.
    pub registration_required: bool,
    /// B: takes no more registrations.
    pub busy: bool,
    /// H: serves as home agent on this link.
    pub home_agent: bool,
    /// F: serves as foreign agent on this link.
    pub foreign_agent: bool,
    /// M: receives minimal encapsulation.
    pub minimal_encapsulation: bool,
    /// G: receives GRE encapsulation.
    pub gre_encapsulation: bool,
    /// T: offers reverse tunnels (RFC 3024).
    pub reverse_tunnel: bool,
}

/// A registration request (RFC 5944 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistrationRequest {
    /// What the host asks for.
    pub flags: RequestFlags,
    /// Requested lifetime; zero deregisters.
    pub lifetime: Lifetime,
    /// The host.
    pub home_address: Address,
    /// Its home agent.
    pub home_agent: Address,
    /// Where it is; its home address when it deregisters at home.
    pub care_of: Address,
    /// Grows with each request.
    pub identification: u64,
    /// The agent that served it before, to be told.
    pub previous_agent: Option<PreviousAgentNotification>,
}

/// The flags of a request (RFC 5944 §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags {
    /// S: keep the earlier bindings.
    pub simultaneous_bindings: bool,
    /// B: tunnel broadcasts of the home network.
    pub broadcasts: bool,
    /// D: the host itself is the end of the tunnel.
    pub decapsulates_itself: bool,
    /// M: minimal encapsulation.
    pub minimal_encapsulation: bool,
    /// G: GRE encapsulation.
    pub gre_encapsulation: bool,
    /// T: reverse tunnel.
    pub reverse_tunnel: bool,
}

/// The previous foreign agent notification, an extension of the request (draft-ietf-mobileip-optim, smooth handoff):
/// the new agent is asked to send the previous one a binding update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreviousAgentNotification {
    /// The previous agent.
    pub agent: Address,
    /// How long it shall forward packets.
    pub cache_lifetime: Lifetime,
}

/// A registration reply (RFC 5944 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistrationReply {
    /// Accepted or why not.
    pub code: ReplyCode,
    /// Granted lifetime; the longest acceptable one with [`ReplyCode::LIFETIME_TOO_LONG`].
    pub lifetime: Lifetime,
    /// The host.
    pub home_address: Address,
    /// Its home agent.
    pub home_agent: Address,
    /// As in the request that is answered.
    pub identification: u64,
}

/// The code of a reply (RFC 5944 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplyCode(pub u8);

impl ReplyCode {
    /// Accepted.
    pub const ACCEPTED: ReplyCode = ReplyCode(0);
    /// Accepted, but only one binding at a time.
    pub const ACCEPTED_WITHOUT_SIMULTANEOUS: ReplyCode = ReplyCode(1);
    /// Foreign agent: insufficient resources.
    pub const AGENT_FULL: ReplyCode = ReplyCode(66);
    /// Foreign agent: requested lifetime too long.
    pub const LIFETIME_TOO_LONG: ReplyCode = ReplyCode(69);
    /// Foreign agent: requested encapsulation unavailable.
    pub const ENCAPSULATION_UNAVAILABLE: ReplyCode = ReplyCode(72);
    /// Foreign agent: not its care-of address.
    pub const INVALID_CARE_OF_ADDRESS: ReplyCode = ReplyCode(77);
    /// Home agent: administratively prohibited; here, a host that it does not serve.
    pub const PROHIBITED: ReplyCode = ReplyCode(129);
    /// Home agent: identification mismatch.
    pub const IDENTIFICATION_MISMATCH: ReplyCode = ReplyCode(133);
    /// Home agent: unknown home agent address.
    pub const UNKNOWN_HOME_AGENT: ReplyCode = ReplyCode(136);

    /// Whether the registration was accepted.
    pub const fn is_accepted(self) -> bool {
        self.0 <= 1
    }
}

/// Asks the home agent for a binding update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingRequest {
    /// The host asked for.
    pub home_address: Address,
    /// Grows with each request.
    pub identification: u64,
}

/// Says where a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingUpdate {
    /// A: an acknowledgement is wanted.
    pub acknowledge: bool,
    /// M: the care-of address takes minimal encapsulation.
    pub minimal_encapsulation: bool,
    /// G: the care-of address takes GRE encapsulation.
    pub gre_encapsulation: bool,
    /// How long the binding may be used; zero deletes it.
    pub lifetime: Lifetime,
    /// The host.
    pub home_address: Address,
    /// Where it is; its home address if it is at home.
    pub care_of: Address,
    /// The identification of the registration behind it: an update with a lower one is older. Present if I is set.
    pub identification: Option<u64>,
}

/// Acknowledges a binding update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingAcknowledgement {
    /// 0 is accepted; 128 and above say why not.
    pub status: u8,
    /// The host.
    pub home_address: Address,
    /// As in the update.
    pub identification: u64,
}

/// Says that somebody uses an old binding for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingWarning {
    /// The host.
    pub home_address: Address,
    /// Who should get a binding update; empty if the receiver of the warning itself uses the old binding.
    pub targets: Vec<Address>,
}

macro_rules! into_message {
    ($($name:ident),*) => {$(
        impl From<$name> for Message {
            fn from(inner: $name) -> Self {
                Message::$name(inner)
            }
        }
    )*};
}
into_message!(
    AgentAdvertisement,
    RegistrationRequest,
    RegistrationReply,
    BindingRequest,
    BindingUpdate,
    BindingAcknowledgement,
    BindingWarning
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remaining_lifetime_is_rounded_up() {
        let now = Instant::ZERO + Duration::from_secs(10);
        assert_eq!(Lifetime::until(now + Duration::from_millis(1_001), now), Lifetime(2));
        assert_eq!(Lifetime::until(now + Duration::from_secs(2), now), Lifetime(2));
        assert_eq!(Lifetime::until(now, now), Lifetime::ZERO);
        assert_eq!(Lifetime::until(Instant::MAX, now), Lifetime::FOR_EVER);
        assert_eq!(Lifetime::until(now + Duration::from_secs(1 << 20), now), Lifetime(65_534));
    }
}
