//! What fits together: the rules that every scenario obeys, read from a file or built in code.

use std::collections::BTreeSet;

use segue_proto::schemes::none;
use segue_proto::tcp::Profile;
use segue_proto::tcp::profile::InitialSsthresh;
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::RateControl;

use super::{Direction, Flow, LinkNews, NodeKind, Outage, Scenario};
use crate::event_queue::Component;
use crate::loss::Loss;
use crate::outage::Schedule;
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
    pub(super) fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
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

fn require(holds: bool, key: impl Into<String>, message: impl Into<String>) -> Check {
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
    require(!scenario.flows.is_empty(), "flows", "there is none; allowed: at least one [[flows]]")?;
    let components = 2 * scenario.links.len()
        + 2 * scenario.flows.len()
        + scenario.nodes.len()
        + 1
        + crate::world::wifi::components(scenario) as usize;
    require(
        components < Component::MAX as usize,
        "",
        format!("{components} links, flows and nodes in all; allowed: fewer than {}", Component::MAX),
    )?;
    check_nodes(scenario)?;
    check_links(scenario)?;
    check_cells(scenario)?;
    check_flows(scenario)?;
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
        if let NodeKind::Host { mobile, link_news: LinkNews::Beacons { period, phase, missed } } = node.kind {
            let key = format!("hosts.{}.beacons", node.name);
            require(mobile, &key, "only a mobile host listens to beacons; allowed: with mobile = true")?;
            require(period > Duration::ZERO, format!("{key}.period"), "found 0 s; allowed: more than 0 s")?;
            // A first beacon later than that would be missed although the link works.
            let message = format!("found {phase}; allowed: up to the period of {period}");
            require(phase <= period, format!("{key}.phase"), message)?;
            require(missed > 0, format!("{key}.missed"), "found 0; allowed: 1 or more")?;
        }
    }
    Ok(())
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
        let message = format!("found {count}; allowed: 2 to 1000 hosts and routers");
        require((2..=1000).contains(&count), format!("{key}.members"), message)?;
        let mut seen = BTreeSet::new();
        for (m, member) in cell.members.iter().enumerate() {
            let name = &scenario.nodes[member.node].name;
            let message = format!("\"{name}\" twice; allowed: once");
            require(seen.insert(member.node), format!("{key}.members[{m}]"), message)?;
            let finite = member.position.x.abs() < 1e8 && member.position.y.abs() < 1e8;
            require(finite, format!("{key}.members[{m}]"), "a position of 10^8 m or more; allowed: nearer")?;
        }
        let station = &cell.station;
        let (RateControl::Fixed(rate) | RateControl::Arf(rate)) = station.rate_control;
        let same_family = station.basic_rate.is_ofdm() == rate.is_ofdm();
        let message = "of the other family than rate; allowed: both DSSS or both OFDM";
        require(same_family, format!("{key}.basic_rate"), message)?;
        let limits = station.retry_limits;
        require(limits.short > 0, format!("{key}.short_retry_limit"), "found 0; allowed: 1 or more")?;
        require(limits.long > 0, format!("{key}.long_retry_limit"), "found 0; allowed: 1 or more")?;
        let error = cell.medium.errors.by_kind[0];
        let message = format!("found {error}; allowed: 0 to 1");
        require((0.0..=1.0).contains(&error), format!("{key}.frame_error"), message)?;
    }
    Ok(())
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
