//! `[mobile_ip]`.

use segue_proto::time::Duration;
use serde::Deserialize;

use super::super::quantity::{OrOff, Quantity};

/// `[mobile_ip]`: agents and how they behave. Home agents are named by their hosts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MobileIp {
    /// Where all that is not given comes from; default `ns-2`.
    pub profile: Option<Profile>,
    /// Names of the nodes with a foreign agent.
    #[serde(default)]
    pub foreign_agents: Vec<String>,
    /// From advertisement to advertisement.
    pub advertisement_interval: Option<Quantity<Duration>>,
    /// Time of each agent's first advertisement; default drawn from the seed, for each agent its own.
    pub advertisement_phase: Option<Quantity<Duration>>,
    /// How long an advertisement is valid, in whole seconds.
    pub advertisement_lifetime: Option<Quantity<Duration>>,
    /// When a host changes agents.
    pub detection: Option<Detection>,
    /// When a host forgets an agent that it does not hear any more; default by profile.
    pub agent_timeout: Option<Quantity<Duration>>,
    /// Lifetime of registrations, in whole seconds.
    pub registration_lifetime: Option<Quantity<Duration>>,
    /// Time until a request without reply is repeated.
    pub registration_retry: Option<Quantity<Duration>>,
    /// Time that the home agent takes before it acts on a request and replies; the mean if it is random, the period if it
    /// is periodic.
    pub registration_delay: Option<Quantity<Duration>>,
    /// Distribution of the registration delay; default `constant`.
    pub registration_delay_model: Option<DelayModel>,
    /// `periodic`: time of the first update, default 0 s.
    pub registration_delay_phase: Option<Quantity<Duration>>,
    /// Correspondents learn where hosts are and send there themselves.
    #[serde(default)]
    pub route_optimisation: bool,
    /// What a correspondent does with packets after a binding warning.
    pub while_asking: Option<WhileAsking>,
    /// Who is told that a correspondent uses an old binding.
    pub warn: Option<Warn>,
    /// The new agent tells the previous one, which forwards for so long; default `"off"`.
    pub smooth_handoff: Option<OrOff<Duration>>,
    /// Packets that a foreign agent keeps for a host out of reach; default 0: they are lost.
    pub buffer: Option<u32>,
    /// How long it keeps them; default 3 s.
    pub buffer_patience: Option<Quantity<Duration>>,
}

/// A named set of constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Beacons of 1 s, eager switching, lifetimes of 2 s, a registration delay of 0.9 s in place of DSDV.
    #[default]
    #[serde(rename = "ns-2")]
    Ns2,
    /// RFC 5944: lazy switching, lifetimes of half an hour, no registration delay.
    #[serde(rename = "rfc-5944")]
    Rfc5944,
}

/// See [`segue_proto::mobile_ip::mobile_node::Detection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detection {
    /// As soon as a new agent is heard.
    Eager,
    /// When the current agent is lost.
    Lazy,
}

/// See [`segue_proto::mobile_ip::Delay`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelayModel {
    /// Always the same.
    #[default]
    Constant,
    /// Uniform between 0 and twice the mean.
    Uniform,
    /// Exponential.
    Exponential,
    /// Until the next update of a routing protocol.
    Periodic,
}

/// See [`segue_proto::mobile_ip::correspondent::WhileAsking`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhileAsking {
    /// Goes on sending to the old place.
    KeepUsing,
    /// Sends by the home agent.
    ViaHomeAgent,
}

/// See [`segue_proto::mobile_ip::foreign_agent::Warn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warn {
    /// Nobody.
    Nobody,
    /// The correspondent.
    Correspondent,
    /// The home agent.
    HomeAgent,
}

/// `start` of a Mobile IP host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// On its home link.
    Home,
    /// Somewhere else, no agent heard yet.
    Away,
}
