//! What fits together: the rules that every scenario obeys, read from a file or built in code.

use std::collections::BTreeSet;

use segue_proto::link_state::Thresholds;
use segue_proto::mobile_ip::Delay;
use segue_proto::mobile_ip::mobile_node::{Retransmission, Start};
use segue_proto::schemes::none;
use segue_proto::tcp::Profile;
use segue_proto::tcp::profile::InitialSsthresh;
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::RateControl;
use segue_proto::wifi::power::dbm;

use super::{Direction, Flow, Infrastructure, LinkNews, NodeKind, Outage, Scenario, datagrams};
use crate::event_queue::Component;
use crate::loss::Loss;
use crate::mobility::{MAX_COORDINATE_M, Mobility};
use crate::outage::Schedule;
use crate::radio::{Position, Propagation, medium};
use crate::world::first_unreachable_flow;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct CheckError {
    /// Such as `links[0].rate`.
    pub key: String,
    /// What was found and what is allowed.
    pub message: String,
}

impl CheckError {
    pub(crate) fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        CheckError { key: key.into(), message: message.into() }
    }

    pub(super) fn not_one_of<'a>(
        key: &str,
        what: &str,
        found: &str,
        allowed: impl Iterator<Item = &'a str>,
    ) -> Self {
        let allowed: Vec<&str> = allowed.collect();
        CheckError::new(key, format!("there is no {what} \"{found}\"; allowed: {}", allowed.join(", ")))
    }
}

type Check = Result<(), CheckError>;

pub(super) fn require(holds: bool, key: impl Into<String>, message: impl Into<String>) -> Check {
    if holds { Ok(()) } else { Err(CheckError::new(key, message)) }
}

/// Checks all rules.
///
/// # Errors
/// The first rule that is broken.
pub fn check(scenario: &Scenario) -> Check {
    require(scenario.duration > Duration::ZERO, "duration", "found 0 s; allowed: more than 0 s")?;
    require(scenario.duration < Duration::MAX, "duration", "found for ever; allowed: a finite time")?;
    let connected = !(scenario.links.is_empty() && scenario.cells.is_empty());
    require(connected, "links", "there is none; allowed: at least one [[links]] or [[cells]]")?;
    let sends = !(scenario.flows.is_empty() && scenario.datagrams.is_empty());
    require(sends, "flows", "there is none; allowed: at least one [[flows]] or [[datagrams]]")?;
    let components = 2 * scenario.links.len()
        + 2 * scenario.flows.len()
        + scenario.nodes.len()
        + 1
        + crate::world::wifi::components(scenario) as usize
        + scenario.datagrams.len();
    require(
        components < Component::MAX as usize,
        "",
        format!("{components} links, flows and nodes in all; allowed: fewer than {}", Component::MAX),
    )?;
    check_nodes(scenario)?;
    check_links(scenario)?;
    check_cells(scenario)?;
    check_roamers(scenario)?;
    check_mobile_ip(scenario)?;
    check_flows(scenario)?;
    datagrams::check(scenario)?;
    for (i, outage) in scenario.outages.iter().enumerate() {
        check_outage(&format!("outages[{i}]"), outage, scenario)?;
    }
    for (i, absence) in scenario.absences.iter().enumerate() {
        check_schedule(&format!("absences[{i}]"), &absence.schedule)?;
    }
    check_scheme(scenario)
}

fn check_nodes(scenario: &Scenario) -> Check {
    for node in &scenario.nodes {
        let table = if matches!(node.kind, NodeKind::Router) { "routers" } else { "hosts" };
        require(!node.name.is_empty(), table, "a node without a name")?;
        if let Some(Mobility::Fixed(Position { x, y })) = node.mobility {
            let key = format!("{table}.{}.position", node.name);
            let message = format!("found [{x}, {y}]; allowed: coordinates from -10^8 to 10^8 m");
            require([x, y].iter().all(|c| c.abs() <= MAX_COORDINATE_M), key, message)?;
        }
        if let NodeKind::Host { mobile, link_news: LinkNews::Beacons { period, phase, missed } } = node.kind {
            let key = format!("hosts.{}.beacons", node.name);
            require(mobile, &key, "only a mobile host listens to beacons; allowed: with mobile = true")?;
            require(period > Duration::ZERO, format!("{key}.period"), "found 0 s; allowed: more than 0 s")?;
            // A first beacon later than that would be missed although the link works.
            let message = format!("found {phase}; allowed: up to the period of {period}");
            require(phase <= period, format!("{key}.phase"), message)?;
            require(missed > 0, format!("{key}.missed"), "found 0; allowed: 1 or more")?;
        }
        if let NodeKind::Host { mobile, link_news: LinkNews::Radio(thresholds) } = node.kind {
            check_link_quality(&format!("hosts.{}.link_quality", node.name), mobile, thresholds)?;
        }
    }
    Ok(())
}

fn check_link_quality(key: &str, mobile: bool, thresholds: Thresholds) -> Check {
    let Thresholds { power_dbm, hysteresis_db, silence_limit } = thresholds;
    require(mobile, key, "only a mobile host judges its link; allowed: with mobile = true")?;
    // Without a threshold it is minus infinity.
    let message = format!("found {power_dbm}; allowed: up to 100 dBm");
    require(power_dbm <= 100.0, format!("{key}.threshold_dbm"), message)?;
    let message = format!("found {hysteresis_db}; allowed: 0 to 100");
    require((0.0..=100.0).contains(&hysteresis_db), format!("{key}.hysteresis_db"), message)?;
    // Silence is bad news again each time that it has lasted so long: with no time between, time would stand still.
    let least = Duration::from_millis(1);
    let message = format!("found {silence_limit}; allowed: {least} or more");
    require(silence_limit >= least, format!("{key}.silence"), message)
}

fn check_links(scenario: &Scenario) -> Check {
    let mut seen = BTreeSet::new();
    for (i, link) in scenario.links.iter().enumerate() {
        let key = format!("links[{i}]");
        let name = |side: usize| &scenario.nodes[link.ends[side]].name;
        let [a, b] = link.ends;
        require(
            a != b,
            format!("{key}.between"),
            format!("a link from \"{}\" to itself; allowed: two nodes", name(0)),
        )?;
        require(
            seen.insert((a.min(b), a.max(b))),
            format!("{key}.between"),
            format!("a second link between \"{}\" and \"{}\"; allowed: one", name(0), name(1)),
        )?;
        require(link.cost > 0, format!("{key}.cost"), "found 0; allowed: 1 or more")?;
        check_direction(&key, &link.directions[0])?;
        check_direction(&format!("{key}.reverse"), &link.directions[1])?;
    }
    Ok(())
}

fn check_direction(key: &str, direction: &Direction) -> Check {
    let hour = Duration::from_secs(3600);
    require(
        direction.delay <= hour,
        format!("{key}.delay"),
        format!("found {}; allowed: up to 1 h", direction.delay),
    )?;
    let queue = &direction.queue;
    (queue.spec.check)(&queue.params)
        .map_err(|misfit| CheckError::new(format!("{key}.queue.{}", misfit.name), misfit.message))?;
    let probability = |name: &str, p: f64| {
        let key = format!("{key}.loss.{name}");
        require((0.0..=1.0).contains(&p), key, format!("found {p}; allowed: 0 to 1"))
    };
    match &direction.loss {
        Loss::None => Ok(()),
        Loss::Bernoulli { p } => probability("p", *p),
        Loss::GilbertElliott { p_good_to_bad, p_bad_to_good, loss_good, loss_bad } => {
            probability("p_good_to_bad", *p_good_to_bad)?;
            probability("p_bad_to_good", *p_bad_to_good)?;
            probability("loss_good", *loss_good)?;
            probability("loss_bad", *loss_bad)
        }
        Loss::List { packets } => {
            let key = format!("{key}.loss.packets");
            let allowed = "allowed: each number once, ascending";
            match packets.windows(2).find(|pair| pair[0] >= pair[1]) {
                Some(pair) => {
                    Err(CheckError::new(key, format!("found {} after {}; {allowed}", pair[1], pair[0])))
                }
                None => Ok(()),
            }
        }
    }
}

fn check_cells(scenario: &Scenario) -> Check {
    let mut names = BTreeSet::new();
    for (i, cell) in scenario.cells.iter().enumerate() {
        let key = format!("cells[{i}]");
        let message = format!("a second cell \"{}\"; allowed: a name of its own", cell.name);
        require(names.insert(cell.name.as_str()), format!("{key}.name"), message)?;
        let count = cell.members.len();
        let message = format!("found {count}; allowed: 2 to 100000 hosts and routers");
        require((2..=100_000).contains(&count), format!("{key}.members"), message)?;
        let mut seen = BTreeSet::new();
        for (m, member) in cell.members.iter().enumerate() {
            let name = &scenario.nodes[member.node].name;
            let message = format!("\"{name}\" twice; allowed: once, in access_points or in members");
            let access_points = cell.infrastructure.map_or(0, |i| i.access_points);
            let key = match m.checked_sub(access_points) {
                Some(m) => format!("{key}.members[{m}]"),
                None => format!("{key}.access_points[{m}]"),
            };
            require(seen.insert(member.node), &key, message)?;
            let finite = member.position.x.abs() < 1e8 && member.position.y.abs() < 1e8;
            require(finite, key, "a position of 10^8 m or more; allowed: nearer")?;
        }
        let station = &cell.station;
        let (RateControl::Fixed(rate) | RateControl::Arf(rate)) = station.rate_control;
        let same_family = station.basic_rate.is_ofdm() == rate.is_ofdm();
        let (basic, data) = (station.basic_rate.bps() / 1_000, rate.bps() / 1_000);
        let message = format!(
            "found {basic} kb/s, of the other family than the rate of {data} kb/s; allowed: both DSSS or both OFDM"
        );
        require(same_family, format!("{key}.basic_rate"), message)?;
        let limits = station.retry_limits;
        require(limits.short > 0, format!("{key}.short_retry_limit"), "found 0; allowed: 1 or more")?;
        require(limits.long > 0, format!("{key}.long_retry_limit"), "found 0; allowed: 1 or more")?;
        check_medium(&key, &cell.medium)?;
        if let Some(infrastructure) = cell.infrastructure {
            check_infrastructure(&key, infrastructure, count)?;
        }
    }
    Ok(())
}

fn check_medium(key: &str, medium: &medium::Config) -> Check {
    let probability =
        |key: String, p: f64| require((0.0..=1.0).contains(&p), key, format!("found {p}; allowed: 0 to 1"));
    probability(format!("{key}.frame_error"), medium.errors.by_kind[0])?;
    for (e, error) in medium.errors.by_pair.iter().enumerate() {
        probability(format!("{key}.frame_errors[{e}].p"), error.p)?;
    }
    let positive = |name: &str, value: f64, high: f64| {
        let message = format!("found {value}; allowed: more than 0 and up to {high}");
        require(value > 0.0 && value <= high, format!("{key}.{name}"), message)
    };
    let power_dbm = dbm(medium.transmitter.power_w);
    let message = format!("found {power_dbm:.0}; allowed: -100 to 90 dBm");
    require(power_dbm > -100.5 && power_dbm < 90.5, format!("{key}.transmit_power_dbm"), message)?;
    positive("frequency_mhz", medium.transmitter.frequency_hz / 1e6, 1e6)?;
    match medium.propagation {
        Propagation::Friis => {}
        Propagation::TwoRayGround { antenna_height_m } => {
            positive("propagation.antenna_height_m", antenna_height_m, 1e4)?;
        }
        Propagation::LogDistance { reference_m, exponent, shadowing_db } => {
            positive("propagation.reference_m", reference_m, 1e4)?;
            positive("propagation.exponent", exponent, 10.0)?;
            let message = format!("found {shadowing_db}; allowed: 0 to 20");
            require(
                (0.0..=20.0).contains(&shadowing_db),
                format!("{key}.propagation.shadowing_db"),
                message,
            )?;
        }
        Propagation::FixedRange { range_m } => positive("range_m", range_m, 1e6)?,
    }
    // A threshold of zero is the power at a distance without end, or at one that makes no sense.
    let finite = |power: f64| power > 0.0 && power.is_finite();
    let message =
        |power: f64| format!("found a signal of {power} W there; allowed: near enough for one above 0 W");
    require(finite(medium.receive_w), format!("{key}.range_m"), message(medium.receive_w))?;
    let sensed = medium.carrier_sense_w;
    require(finite(sensed), format!("{key}.carrier_sense_m"), message(sensed))?;
    let message =
        "shorter than range_m: stations would decode what they do not sense; allowed: range_m or more";
    require(medium.carrier_sense_w <= medium.receive_w, format!("{key}.carrier_sense_m"), message)?;
    let capture = medium.capture_db.unwrap_or(0.0);
    let message = format!("found {capture}; allowed: 0 to 100");
    require((0.0..=100.0).contains(&capture), format!("{key}.capture_db"), message)
}

fn check_infrastructure(key: &str, infrastructure: Infrastructure, members: usize) -> Check {
    let message = "nobody but access points; allowed: at least one host in members";
    require(infrastructure.access_points < members, format!("{key}.members"), message)?;
    let Some(policy) = infrastructure.association else { return Ok(()) };
    let least = Duration::from_millis(1);
    let message = format!("found {}; allowed: {least} or more, or \"off\"", policy.beacon_period);
    require(policy.beacon_period >= least, format!("{key}.beacon_interval"), message)?;
    require(policy.missed_beacons > 0, format!("{key}.missed_beacons"), "found 0; allowed: 1 or more")?;
    let message = format!("found {}; allowed: 0 to 100", policy.hysteresis_db);
    require((0.0..=100.0).contains(&policy.hysteresis_db), format!("{key}.hysteresis_db"), message)
}

/// Hosts that speak through an access point have no other way, or packets would not know which to take.
fn check_roamers(scenario: &Scenario) -> Check {
    let wired: BTreeSet<usize> = scenario.links.iter().flat_map(|link| link.ends).collect();
    let ad_hoc_cells = scenario.cells.iter().filter(|cell| cell.infrastructure.is_none());
    let ad_hoc: BTreeSet<usize> = ad_hoc_cells.flat_map(|cell| &cell.members).map(|m| m.node).collect();
    let hosts = scenario.mobile_ip.iter().flat_map(|mobile_ip| &mobile_ip.hosts);
    let mobile: BTreeSet<usize> = hosts.map(|host| host.node).collect();
    for (c, cell) in scenario.cells.iter().enumerate() {
        let Some(infrastructure) = cell.infrastructure else { continue };
        for member in cell.clients() {
            let node = &scenario.nodes[member.node];
            let key = format!("cells[{c}].members");
            let is_host = matches!(node.kind, NodeKind::Host { .. });
            let message =
                format!("\"{}\" is a router; allowed: a host, or a router in access_points", node.name);
            require(is_host, &key, message)?;
            let message = format!(
                "\"{}\" has a link or a cell without access points besides; allowed: one way or the other",
                node.name
            );
            let has_another = wired.contains(&member.node) || ad_hoc.contains(&member.node);
            require(!has_another, &key, message)?;
            let message = format!(
                "\"off\", and \"{}\" has no home agent: nobody would know where it is; allowed: a time, or home_agent on each member",
                node.name
            );
            let is_found = infrastructure.association.is_some() || mobile.contains(&member.node);
            require(is_found, format!("cells[{c}].beacon_interval"), message)?;
        }
    }
    Ok(())
}

fn check_mobile_ip(scenario: &Scenario) -> Check {
    let Some(mobile_ip) = &scenario.mobile_ip else { return Ok(()) };
    let name = |node: usize| &scenario.nodes[node].name;
    let message = "no host has a home agent; allowed: home_agent = \"…\" on at least one host";
    require(!mobile_ip.hosts.is_empty(), "mobile_ip", message)?;
    let mobile: BTreeSet<usize> = mobile_ip.hosts.iter().map(|host| host.node).collect();
    let stations = scenario.stations();
    // The cells in which a node is an access point, or speaks through one.
    let cells_of = |node: usize, as_access_point: bool| {
        let cells = stations[node].iter().map(|(cell, station)| (*cell as usize, *station as usize));
        cells.filter(move |(cell, station)| {
            let infrastructure = scenario.cells[*cell].infrastructure;
            infrastructure.is_some_and(|i| (*station < i.access_points) == as_access_point)
        })
    };
    for host in &mobile_ip.hosts {
        let key = format!("hosts.{}.home_agent", name(host.node));
        let message =
            format!("\"{}\" has a home agent itself; allowed: a node that stays", name(host.home_agent));
        require(!mobile.contains(&host.home_agent), &key, message)?;
        let is_client = cells_of(host.node, false).next().is_some();
        let message = "the host is in no cell with access points; allowed: for a member of one";
        require(is_client, &key, message)?;
        let is_near = cells_of(host.node, false)
            .any(|(cell, _)| cells_of(host.home_agent, true).any(|(other, _)| other == cell));
        let starts_home = host.start == Start::AtHome;
        let message = format!(
            "\"home\", and \"{}\" is no access point of its cells; allowed: \"away\"",
            name(host.home_agent)
        );
        require(!starts_home || is_near, format!("hosts.{}.start", name(host.node)), message)?;
        let lifetime = host.config.lifetime.as_duration();
        let retry = match host.config.retransmission {
            Retransmission::Fixed(wait) | Retransmission::Doubling { first: wait } => wait,
        };
        let message = format!("found {retry}; allowed: more than 0 s and up to the lifetime of {lifetime}");
        require(retry > Duration::ZERO && retry <= lifetime, "mobile_ip.registration_retry", message)?;
    }
    let mut seen = BTreeSet::new();
    for (i, agent) in mobile_ip.foreign_agents.iter().enumerate() {
        let key = format!("mobile_ip.foreign_agents[{i}]");
        let message = format!("\"{}\" twice; allowed: once", name(agent.node));
        require(seen.insert(agent.node), &key, message)?;
        let is_access_point = cells_of(agent.node, true).next().is_some();
        let message = format!(
            "\"{}\" is not among the access_points of a cell; allowed: one of them",
            name(agent.node)
        );
        require(is_access_point, &key, message)?;
    }
    let waits_for_ever = mobile_ip.home_agents.iter().any(|agent| {
        matches!(agent.config.registration_delay, Delay::Periodic { period, .. } if period == Duration::ZERO)
    });
    let message = "found 0 s, as the period of updates; allowed: more than 0 s";
    require(!waits_for_ever, "mobile_ip.registration_delay", message)?;
    let beacon = mobile_ip.home_agents.iter().find_map(|agent| agent.config.beacon);
    let Some(period) = beacon.map(|beacon| beacon.period) else { return Ok(()) };
    let least = Duration::from_millis(10);
    let message = format!("found {period}; allowed: {least} or more");
    require(period >= least, "mobile_ip.advertisement_interval", message)
}

fn check_flows(scenario: &Scenario) -> Check {
    let mut names = BTreeSet::new();
    for (i, flow) in scenario.flows.iter().enumerate() {
        let key = format!("flows[{i}]");
        check_flow(&key, flow, scenario)?;
        let message = format!("a second flow \"{}\"; allowed: a name of its own", flow.name);
        require(names.insert(flow.name.as_str()), format!("{key}.name"), message)?;
    }
    if let Some(i) = first_unreachable_flow(scenario) {
        let flow = &scenario.flows[i];
        let message = format!(
            "no way from \"{}\" to \"{}\" and back over the links; hosts do not forward",
            scenario.nodes[flow.from].name, scenario.nodes[flow.to].name
        );
        return Err(CheckError::new(format!("flows[{i}]"), message));
    }
    Ok(())
}

fn check_flow(key: &str, flow: &Flow, scenario: &Scenario) -> Check {
    for (end, node) in [("from", flow.from), ("to", flow.to)] {
        let node = &scenario.nodes[node];
        let is_host = matches!(node.kind, NodeKind::Host { .. });
        require(is_host, format!("{key}.{end}"), format!("\"{}\" is a router; allowed: a host", node.name))?;
    }
    let name = &scenario.nodes[flow.from].name;
    require(
        flow.from != flow.to,
        format!("{key}.to"),
        format!("a flow from \"{name}\" to itself; allowed: two hosts"),
    )?;
    let end = Instant::ZERO + scenario.duration;
    let message = format!("found {}, after the end of the run; allowed: before {end}", flow.start);
    require(flow.start < end, format!("{key}.start"), message)?;
    let bytes = flow.bytes.unwrap_or(0);
    let message = format!("found {bytes} B; allowed: up to 2^62 B");
    require(bytes <= 1 << 62, format!("{key}.bytes"), message)?;
    check_profile(key, &flow.profile)
}

fn check_profile(flow_key: &str, p: &Profile) -> Check {
    let key = |name: &str| format!("{flow_key}.tcp.{name}");
    let range = |name: &str, value: u32, low: u32, high: u32| {
        require((low..=high).contains(&value), key(name), format!("found {value}; allowed: {low} to {high}"))
    };
    range("mss", p.mss, 1, 65_495)?;
    range("window", p.window, 1, 1 << 20)?;
    range("initial_window", p.initial_window, 1, 1 << 20)?;
    if let InitialSsthresh::Segments(segments) = p.initial_ssthresh {
        range("initial_ssthresh", segments, 2, 1 << 20)?;
    }
    range("data_header_bytes", p.data_header_bytes, 0, 1 << 16)?;
    range("control_bytes", p.control_bytes, 1, 1 << 16)?;
    // 2^14 · 65,535 bytes is the largest window that RFC 7323 can offer.
    let window = u64::from(p.window) * u64::from(p.mss);
    let message = format!("window · mss is {window} bytes; allowed: up to 1 GiB (RFC 7323)");
    require(window <= 65_535 << 14, key("window"), message)?;
    let hour = Duration::from_secs(3600);
    let message = format!("found {}; allowed: more than 0 s and up to 1 h", p.tick);
    require(p.tick > Duration::ZERO && p.tick <= hour, key("tick"), message)?;
    // A timeout that never comes would be a hang, and nobody would know why.
    require(p.max_rto <= hour, key("max_rto"), format!("found {}; allowed: up to 1 h", p.max_rto))?;
    let message = format!("found {}; allowed: less than the tick of {}", p.clock_phase, p.tick);
    require(p.clock_phase < p.tick, key("clock_phase"), message)?;
    let message = format!("found {}; allowed: up to max_rto of {}", p.min_rto, p.max_rto);
    require(p.min_rto <= p.max_rto, key("min_rto"), message)?;
    let message =
        format!("found {}; allowed: more than 0 s and at most max_rto of {}", p.initial_rto, p.max_rto);
    require(p.initial_rto > Duration::ZERO && p.initial_rto <= p.max_rto, key("initial_rto"), message)?;
    // RFC 1122 §4.2.3.2: an ACK must not be delayed by more than 0.5 s.
    let half = Duration::from_millis(500);
    let delayed = p.delayed_ack.unwrap_or(half);
    let message = format!("found {delayed}; allowed: more than 0 s and at most 0.5 s, or \"off\"");
    require(delayed > Duration::ZERO && delayed <= half, key("delayed_ack"), message)?;
    require(
        p.user_timeout > Duration::ZERO,
        key("user_timeout"),
        "found 0 s; allowed: more than 0 s, or \"off\"",
    )
}

fn check_outage(key: &str, outage: &Outage, scenario: &Scenario) -> Check {
    check_schedule(key, &outage.schedule)?;
    let message = format!("there are {} links", scenario.links.len());
    require(outage.link < scenario.links.len(), format!("{key}.link"), message)
}

fn check_schedule(key: &str, schedule: &Schedule) -> Check {
    let zero = "found 0 s; allowed: more than 0 s";
    match *schedule {
        Schedule::Periodic { duration, every, count, .. } => {
            require(count > 0, format!("{key}.count"), "found 0; allowed: 1 or more")?;
            let message = format!("found {every}; allowed: more than the duration of {duration}");
            require(count == 1 || every > duration, format!("{key}.every"), message)?;
            // An outage of no length flushes a queue; one that begins and ends at once does nothing else.
            let message = "found for ever, more than once; allowed: a finite time, or no every";
            require(duration < Duration::MAX || count == 1, format!("{key}.duration"), message)
        }
        Schedule::Random { mean_up, mean_down, .. } => {
            require(mean_up > Duration::ZERO, format!("{key}.mean_up"), zero)?;
            require(mean_down > Duration::ZERO, format!("{key}.mean_down"), zero)
        }
    }
}

fn check_scheme(scenario: &Scenario) -> Check {
    let any_mobile = scenario.nodes.iter().any(|n| matches!(n.kind, NodeKind::Host { mobile: true, .. }));
    let plain = scenario.scheme.spec.name == none::SPEC.name;
    let message = format!(
        "\"{}\" runs on mobile hosts and there is none; allowed: with mobile = true on a host",
        scenario.scheme.spec.name
    );
    require(plain || any_mobile, "scheme.name", message)
}
