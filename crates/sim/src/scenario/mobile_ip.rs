//! Mobile IP in a scenario: which nodes are agents, mobile hosts and correspondents, and how each behaves.

use segue_proto::mobile_ip::mobile_node::Start;
use segue_proto::mobile_ip::{
    Address, beacon, correspondent as cn, foreign_agent as fa, home_agent as ha, mobile_node as mn,
};
use segue_proto::time::Duration;

/// The address of the first node; the others follow in their order.
const FIRST: Address = Address::new(10, 0, 0, 1);

/// The address of a node; each has one, which a mobile host keeps wherever it is.
pub fn address_of(node: usize) -> Address {
    Address(FIRST.0 + node as u32)
}

/// The node with an address, if the address is one of a node.
pub fn node_of(address: Address) -> Option<usize> {
    address.0.checked_sub(FIRST.0).map(|node| node as usize)
}

/// Who takes part in Mobile IP.
#[derive(Clone, Debug)]
pub struct MobileIp {
    /// Hosts that keep their address while they move.
    pub hosts: Vec<MobileHost>,
    /// Their home agents.
    pub home_agents: Vec<HomeAgent>,
    /// The agents of the networks that they visit.
    pub foreign_agents: Vec<ForeignAgent>,
    /// Hosts with a binding cache: none without route optimisation.
    pub correspondents: Vec<Correspondent>,
    /// When agents advertise.
    pub phase: AdvertisementPhase,
}

/// A host that keeps its address.
#[derive(Clone, Copy, Debug)]
pub struct MobileHost {
    /// Index in [`Scenario::nodes`](super::Scenario::nodes).
    pub node: usize,
    /// Index of its home agent.
    pub home_agent: usize,
    /// How it behaves.
    pub config: mn::Config,
    /// Where it begins.
    pub start: Start,
}

/// The agent that tunnels to its hosts.
#[derive(Clone, Debug)]
pub struct HomeAgent {
    /// Index in [`Scenario::nodes`](super::Scenario::nodes).
    pub node: usize,
    /// How it behaves; the phase of its advertisements is filled in at the start of a run.
    pub config: ha::Config,
}

/// The agent of a visited network.
#[derive(Clone, Copy, Debug)]
pub struct ForeignAgent {
    /// Index in [`Scenario::nodes`](super::Scenario::nodes).
    pub node: usize,
    /// How it behaves; the phase of its advertisements is filled in at the start of a run.
    pub config: fa::Config,
}

/// A host with a binding cache.
#[derive(Clone, Copy, Debug)]
pub struct Correspondent {
    /// Index in [`Scenario::nodes`](super::Scenario::nodes).
    pub node: usize,
    /// How it behaves.
    pub config: cn::Config,
}

/// When an agent sends its first advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvertisementPhase {
    /// At this time, all agents alike.
    At(Duration),
    /// Each agent at a time of its own, drawn from the seed (ns-2).
    Random,
}

/// `config` with the first advertisement at `phase`.
pub(crate) fn with_phase(config: beacon::Config, phase: Duration) -> beacon::Config {
    beacon::Config { phase, ..config }
}
