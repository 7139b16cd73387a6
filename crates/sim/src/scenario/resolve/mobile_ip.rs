//! Mobile IP: from the file to the configuration of every machine.

use std::collections::{BTreeMap, BTreeSet};

use segue_proto::mobile_ip::correspondent::WhileAsking;
use segue_proto::mobile_ip::foreign_agent::{Unreachable, Warn};
use segue_proto::mobile_ip::home_agent::RouteOptimisation;
use segue_proto::mobile_ip::mobile_node::{AgentTimeout, Detection, Retransmission, Start};
use segue_proto::mobile_ip::{
    Address, Delay, Lifetime, beacon, correspondent as cn, foreign_agent as fa, home_agent as ha,
    mobile_node as mn,
};
use segue_proto::time::Duration;

use super::super::check::require;
use super::super::file::mobile_ip as form;
use super::super::mobile_ip::{
    AdvertisementPhase, Correspondent, ForeignAgent, HomeAgent, MobileHost, MobileIp, address_of,
};
use super::super::quantity::Quantity;
use super::super::{Cell, NodeKind};
use super::{CheckError, Resolver};

/// How often an agent that keeps packets tries the host: its MAC tells of failures, and of success only what was sent.
const PROBE: Duration = Duration::from_millis(100);

/// How long a previous agent forwards, with route optimisation.
const SMOOTH_HANDOFF: Duration = Duration::from_secs(30);

/// What ns-2's routing protocol adds to a registration with its period at 1 s, as a constant.
const NS2_REGISTRATION_DELAY: Duration = Duration::from_millis(900);

impl Resolver<'_> {
    /// `pairs` are the ends of all flows and sources of datagrams.
    pub(super) fn mobile_ip(
        &self,
        cells: &[Cell],
        pairs: &[[usize; 2]],
    ) -> Result<Option<MobileIp>, CheckError> {
        for (name, host) in &self.file.hosts {
            let message = "found without a home agent; allowed: with home_agent = \"…\"";
            require(
                host.start.is_none() || host.home_agent.is_some(),
                format!("hosts.{name}.start"),
                message,
            )?;
        }
        let Some(form) = &self.file.mobile_ip else {
            return match self.file.hosts.iter().find(|(_, host)| host.home_agent.is_some()) {
                None => Ok(None),
                Some((name, _)) => {
                    let message = "found without Mobile IP; allowed: with a table [mobile_ip]";
                    Err(CheckError::new(format!("hosts.{name}.home_agent"), message))
                }
            };
        };
        if form.registration_delay_phase.is_some()
            && form.registration_delay_model != Some(form::DelayModel::Periodic)
        {
            let message = "found with another model; allowed: with registration_delay_model = \"periodic\"";
            return Err(CheckError::new("mobile_ip.registration_delay_phase", message));
        }
        let idle = [
            (
                "while_asking",
                form.while_asking.is_some() && !form.route_optimisation,
                "route_optimisation = true",
            ),
            ("warn", form.warn.is_some() && !form.route_optimisation, "route_optimisation = true"),
            ("buffer_patience", form.buffer_patience.is_some() && form.buffer.unwrap_or(0) == 0, "buffer"),
        ];
        if let Some((name, _, needs)) = idle.iter().find(|(_, is_idle, _)| *is_idle) {
            let message = format!("found without {needs}, and does nothing; allowed: with it");
            return Err(CheckError::new(format!("mobile_ip.{name}"), message));
        }
        let hosts = self.mobile_hosts(form, cells)?;
        let beacon = beacon_config(form)?;
        let foreign_agents = self.foreign_agents(form, beacon)?;
        let home_agents = home_agents(form, beacon, &hosts);
        let correspondents =
            if form.route_optimisation { self.correspondents(form, pairs, &hosts) } else { Vec::new() };
        let phase = form
            .advertisement_phase
            .map_or(AdvertisementPhase::Random, |phase| AdvertisementPhase::At(phase.0));
        Ok(Some(MobileIp { hosts, home_agents, foreign_agents, correspondents, phase }))
    }

    fn mobile_hosts(&self, form: &form::MobileIp, cells: &[Cell]) -> Result<Vec<MobileHost>, CheckError> {
        let mut cells_of = vec![Vec::new(); self.nodes.len()];
        for (c, cell) in cells.iter().enumerate() {
            cell.members.iter().for_each(|member| cells_of[member.node].push(c));
        }
        let mut hosts = Vec::new();
        for (name, host) in &self.file.hosts {
            let Some(agent) = &host.home_agent else { continue };
            let node = self.node(&format!("hosts.{name}"), name)?;
            let home_agent = self.node(&format!("hosts.{name}.home_agent"), agent)?;
            let shares_a_cell = cells_of[node].iter().any(|cell| cells_of[home_agent].contains(cell));
            let start = match host.start {
                Some(form::Start::Home) => Start::AtHome,
                Some(form::Start::Away) => Start::Away,
                None if shares_a_cell => Start::AtHome,
                None => Start::Away,
            };
            hosts.push(MobileHost { node, home_agent, config: host_config(form, node, home_agent)?, start });
        }
        Ok(hosts)
    }

    fn foreign_agents(
        &self,
        form: &form::MobileIp,
        beacon: beacon::Config,
    ) -> Result<Vec<ForeignAgent>, CheckError> {
        let unreachable = match form.buffer {
            None | Some(0) => Unreachable::Drop,
            Some(packets) => {
                let patience = form.buffer_patience.map_or(Duration::from_secs(3), |patience| patience.0);
                Unreachable::Buffer { packets, patience, probe: Some(PROBE) }
            }
        };
        let warn = match form.warn {
            Some(form::Warn::Nobody) => Warn::Nobody,
            None | Some(form::Warn::Correspondent) => Warn::Correspondent,
            Some(form::Warn::HomeAgent) => Warn::HomeAgent,
        };
        let agent = |(i, name): (usize, &String)| {
            let node = self.node(&format!("mobile_ip.foreign_agents[{i}]"), name)?;
            let config = fa::Config { unreachable, warn, ..fa::Config::new(address_of(node), beacon) };
            Ok(ForeignAgent { node, config })
        };
        form.foreign_agents.iter().enumerate().map(agent).collect()
    }

    /// All hosts that have a flow with a mobile host.
    fn correspondents(
        &self,
        form: &form::MobileIp,
        pairs: &[[usize; 2]],
        hosts: &[MobileHost],
    ) -> Vec<Correspondent> {
        let mobile: BTreeSet<usize> = hosts.iter().map(|host| host.node).collect();
        let directions = pairs.iter().flat_map(|[from, to]| [(*from, *to), (*to, *from)]);
        let speaking = directions.filter(|(_, peer)| mobile.contains(peer)).map(|(node, _)| node);
        let speaking: BTreeSet<usize> = speaking.collect();
        let while_asking = match form.while_asking {
            Some(form::WhileAsking::ViaHomeAgent) => WhileAsking::ViaHomeAgent,
            _ => WhileAsking::KeepUsing,
        };
        let is_host = |node: &usize| matches!(self.nodes[*node].kind, NodeKind::Host { .. });
        let config = cn::Config { while_asking, ..cn::Config::default() };
        speaking.into_iter().filter(is_host).map(|node| Correspondent { node, config }).collect()
    }
}

/// A time that messages carry in whole seconds.
fn whole_seconds(key: &str, value: Option<Quantity<Duration>>) -> Result<Option<Lifetime>, CheckError> {
    let Some(Quantity(duration)) = value else { return Ok(None) };
    let nanos = duration.as_nanos();
    let secs = u16::try_from(nanos / 1_000_000_000).ok().filter(|secs| (1..u16::MAX).contains(secs));
    match secs {
        Some(secs) if nanos.is_multiple_of(1_000_000_000) => Ok(Some(Lifetime(secs))),
        _ => {
            let message = format!("found {duration}; allowed: whole seconds from 1 s to 65534 s");
            Err(CheckError::new(format!("mobile_ip.{key}"), message))
        }
    }
}

fn beacon_config(form: &form::MobileIp) -> Result<beacon::Config, CheckError> {
    let named = match form.profile.unwrap_or_default() {
        form::Profile::Ns2 => beacon::Config::ns2(Duration::ZERO),
        form::Profile::Rfc5944 => beacon::Config::rfc5944(Duration::ZERO),
    };
    let lifetime = whole_seconds("advertisement_lifetime", form.advertisement_lifetime)?;
    let registration = whole_seconds("registration_lifetime", form.registration_lifetime)?;
    Ok(beacon::Config {
        period: form.advertisement_interval.map_or(named.period, |interval| interval.0),
        lifetime_secs: lifetime.map_or_else(|| as_long_as_named(form, named), |lifetime| lifetime.0),
        registration_lifetime: registration.unwrap_or(named.registration_lifetime),
        ..named
    })
}

/// As many periods as in the named set, in whole seconds.
fn as_long_as_named(form: &form::MobileIp, named: beacon::Config) -> u16 {
    let Some(Quantity(interval)) = form.advertisement_interval else { return named.lifetime_secs };
    let periods = Duration::from_secs(u64::from(named.lifetime_secs)).as_nanos() / named.period.as_nanos();
    let secs = interval.saturating_mul(periods).as_nanos().div_ceil(1_000_000_000);
    u16::try_from(secs).unwrap_or(u16::MAX - 1)
}

fn host_config(form: &form::MobileIp, node: usize, home_agent: usize) -> Result<mn::Config, CheckError> {
    let (host, agent) = (address_of(node), address_of(home_agent));
    let named = match form.profile.unwrap_or_default() {
        form::Profile::Ns2 => mn::Config::ns2(host, agent),
        form::Profile::Rfc5944 => mn::Config::rfc5944(host, agent),
    };
    let smooth = match form.smooth_handoff {
        Some(off) => off.0.map(Quantity),
        // Correspondents would go on sending to an agent that believes in its visitor.
        None if form.route_optimisation => Some(Quantity(SMOOTH_HANDOFF)),
        None => None,
    };
    Ok(mn::Config {
        detection: match form.detection {
            None => named.detection,
            Some(form::Detection::Eager) => Detection::Eager,
            Some(form::Detection::Lazy) => Detection::Lazy,
        },
        agent_timeout: match (form.agent_timeout, named.agent_timeout, form.advertisement_interval) {
            (Some(timeout), _, _) => AgentTimeout::After(timeout.0),
            // ns-2 tests once per beacon period.
            (None, AgentTimeout::Tested { phase, .. }, Some(Quantity(interval))) => {
                AgentTimeout::Tested { after: interval, every: interval, phase }
            }
            (None, named, _) => named,
        },
        retransmission: match (form.registration_retry, named.retransmission) {
            (None, named) => named,
            (Some(Quantity(wait)), Retransmission::Fixed(_)) => Retransmission::Fixed(wait),
            (Some(Quantity(first)), Retransmission::Doubling { .. }) => Retransmission::Doubling { first },
        },
        lifetime: whole_seconds("registration_lifetime", form.registration_lifetime)?
            .unwrap_or(named.lifetime),
        notify_previous_agent: whole_seconds("smooth_handoff", smooth)?,
        ..named
    })
}

fn home_agents(form: &form::MobileIp, beacon: beacon::Config, hosts: &[MobileHost]) -> Vec<HomeAgent> {
    let by_default = match form.profile.unwrap_or_default() {
        form::Profile::Ns2 => NS2_REGISTRATION_DELAY,
        form::Profile::Rfc5944 => Duration::ZERO,
    };
    let mean = form.registration_delay.map_or(by_default, |delay| delay.0);
    let registration_delay = match form.registration_delay_model.unwrap_or_default() {
        form::DelayModel::Constant => Delay::Constant(mean),
        form::DelayModel::Uniform => Delay::Uniform { min: Duration::ZERO, max: mean * 2 },
        form::DelayModel::Periodic => {
            let phase = form.registration_delay_phase.map_or(Duration::ZERO, |phase| phase.0);
            Delay::Periodic { period: mean, phase }
        }
        form::DelayModel::Exponential => Delay::Exponential { mean },
    };
    let mut served: BTreeMap<usize, Vec<Address>> = BTreeMap::new();
    for host in hosts {
        served.entry(host.home_agent).or_default().push(address_of(host.node));
    }
    let agent = |(node, hosts): (usize, Vec<Address>)| HomeAgent {
        node,
        config: ha::Config {
            address: address_of(node),
            hosts,
            max_lifetime: beacon.registration_lifetime,
            registration_delay,
            beacon: Some(beacon),
            route_optimisation: form.route_optimisation.then(RouteOptimisation::default),
        },
    };
    served.into_iter().map(agent).collect()
}
