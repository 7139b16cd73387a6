//! From the form of a file to a scenario: names become indices, words become values.

mod cell;
mod choice;
mod mobile_ip;

use std::collections::BTreeMap;

use segue_proto::link_state::Thresholds;
use segue_proto::schemes::none;
use segue_proto::tcp::profile::InitialSsthresh;
use segue_proto::tcp::{Profile, Variant, profile, variant};
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::power::dbm;

use super::check::{CheckError, require};
use super::mobility::{MovementFiles, Movements};
use super::quantity::Quantity;
use super::{
    Absence, AbsenceDirection, Cell, Direction, Flow, Link, LinkNews, Node, NodeKind, Outage, Scenario,
    SignalDelays, datagrams, file,
};
use crate::link::LossPlace;
use crate::loss::Loss;
use crate::outage::{Effect, Layer, Schedule};
use crate::radio::Position;

/// Turns names into indices and words into values.
pub(super) struct Resolver<'a> {
    file: &'a file::File,
    movements: Movements<'a>,
    nodes: Vec<Node>,
    index: BTreeMap<&'a str, usize>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(file: &'a file::File, files: &'a dyn MovementFiles) -> Self {
        Resolver { file, movements: Movements::new(files), nodes: Vec::new(), index: BTreeMap::new() }
    }

    pub(super) fn resolve(mut self) -> Result<Scenario, CheckError> {
        let file = self.file;
        self.add_nodes()?;
        let links =
            file.links.iter().enumerate().map(|(i, l)| self.link(i, l)).collect::<Result<Vec<_>, _>>()?;
        let cells =
            file.cells.iter().enumerate().map(|(i, c)| self.cell(i, c)).collect::<Result<Vec<_>, _>>()?;
        let mut pairs = BTreeMap::new();
        let mut flow = |(i, flow): (usize, &'a file::Flow)| {
            let count: &mut u32 = pairs.entry((flow.from.as_str(), flow.to.as_str())).or_default();
            *count += 1;
            self.flow(i, flow, *count)
        };
        let flows = file.flows.iter().enumerate().map(&mut flow).collect::<Result<Vec<_>, _>>()?;
        let datagrams = datagrams::resolve(&file.datagrams, |key, name| self.node(key, name))?;
        let outages = file
            .outages
            .iter()
            .enumerate()
            .map(|(i, o)| self.outage(i, o, &links))
            .collect::<Result<Vec<_>, _>>()?;
        self.apply_margins(&cells)?;
        let pairs: Vec<[usize; 2]> = flows
            .iter()
            .map(|flow| [flow.from, flow.to])
            .chain(datagrams.iter().map(|source| [source.from, source.to]))
            .collect();
        let mobile_ip = self.mobile_ip(&cells, &pairs)?;
        Ok(Scenario {
            title: file.title.clone(),
            duration: file.duration.0,
            seed: file.seed.unwrap_or(1),
            scheme: choice::scheme(&file.scheme)?,
            absences: file
                .absences
                .iter()
                .enumerate()
                .map(|(i, a)| self.absence(i, a, &cells))
                .collect::<Result<Vec<_>, _>>()?,
            signal_delays: signal_delays(&file.signals),
            nodes: self.nodes,
            links,
            cells,
            mobile_ip,
            flows,
            datagrams,
            outages,
        })
    }

    fn add_nodes(&mut self) -> Result<(), CheckError> {
        let silences = self.news_silences();
        for (name, host) in &self.file.hosts {
            let link_news = link_news(name, host, silences.get(name.as_str()).copied().flatten())?;
            self.index.insert(name, self.nodes.len());
            let kind = NodeKind::Host { mobile: host.mobile, link_news };
            let mobility =
                self.movements.node(&format!("hosts.{name}"), host.position, host.mobility.as_ref());
            self.nodes.push(Node { name: name.clone(), kind, mobility: mobility? });
        }
        for (name, router) in &self.file.routers {
            if self.index.insert(name, self.nodes.len()).is_some() {
                let message = format!("\"{name}\" is also a host; allowed: a name of its own");
                return Err(CheckError::new(format!("routers.{name}"), message));
            }
            let key = format!("routers.{name}");
            let mobility = self.movements.node(&key, router.position, router.mobility.as_ref());
            self.nodes.push(Node { name: name.clone(), kind: NodeKind::Router, mobility: mobility? });
        }
        for (node, mobility) in self.movements.read_files()? {
            self.nodes[node].mobility = Some(mobility);
        }
        Ok(())
    }

    /// How long a mobile host in a cell with access points waits for a beacon or an advertisement until it takes its
    /// link for bad: two periods (ilc-tcp A14). Of several cells the first counts.
    fn news_silences(&self) -> BTreeMap<&'a str, Option<Duration>> {
        let advertisements =
            self.file.mobile_ip.as_ref().map(|form| {
                form.advertisement_interval.map_or(Duration::from_secs(1), |interval| interval.0)
            });
        let mut silences = BTreeMap::new();
        for cell in self.file.cells.iter().filter(|cell| !cell.access_points.is_empty()) {
            let beacons =
                cell.beacon_interval.map_or(Some(Duration::from_millis(100)), |interval| interval.0);
            let silence = beacons.or(advertisements).map(|period| period * 2);
            for name in &cell.members {
                silences.entry(name.as_str()).or_insert(silence);
            }
        }
        silences
    }

    /// Puts the thresholds of hosts that name a margin above what their cell needs to decode.
    fn apply_margins(&mut self, cells: &[Cell]) -> Result<(), CheckError> {
        for (name, host) in &self.file.hosts {
            let Some(quality) = &host.link_quality else { continue };
            let Some(margin_db) = quality.margin_db else { continue };
            if quality.threshold_dbm.is_some() {
                let message = "found with threshold_dbm; allowed: one of the two";
                return Err(CheckError::new(format!("hosts.{name}.link_quality.margin_db"), message));
            }
            let message = format!("found {margin_db}; allowed: 0 to 100");
            let key = format!("hosts.{name}.link_quality.margin_db");
            require((0.0..=100.0).contains(&margin_db), key, message)?;
            let node = self.index[name.as_str()];
            let cell = cells.iter().find(|cell| cell.clients().iter().any(|client| client.node == node));
            if let (Some(cell), NodeKind::Host { link_news: LinkNews::Radio(thresholds), .. }) =
                (cell, &mut self.nodes[node].kind)
            {
                thresholds.power_dbm = dbm(cell.medium.receive_w) + margin_db;
            }
        }
        Ok(())
    }

    fn node(&self, key: &str, name: &str) -> Result<usize, CheckError> {
        self.index.get(name).copied().ok_or_else(|| {
            let mut names: Vec<&str> = self.index.keys().copied().take(12).collect();
            if self.index.len() > names.len() {
                names.push("…");
            }
            CheckError::new(key, format!("there is no node \"{name}\"; allowed: {}", names.join(", ")))
        })
    }

    fn link(&self, i: usize, link: &file::Link) -> Result<Link, CheckError> {
        let key = format!("links[{i}]");
        let end = |side: usize| self.node(&format!("{key}.between[{side}]"), &link.between[side]);
        let ends = [end(0)?, end(1)?];
        let forward_loss = loss(&format!("{key}.loss"), link.loss.as_ref())?;
        let reverse = link.reverse.clone().unwrap_or_default();
        let reverse_loss = loss(&format!("{key}.reverse.loss"), reverse.loss.as_ref())?;
        let queue = choice::queue(&format!("{key}.queue"), link.queue.as_ref())?;
        let reverse_queue = match &reverse.queue {
            None => queue.clone(),
            own => choice::queue(&format!("{key}.reverse.queue"), own.as_ref())?,
        };
        let (forward, back) = (forward_loss, reverse_loss);
        Ok(Link {
            ends,
            directions: [
                Direction {
                    rate: link.rate.0,
                    delay: link.delay.0,
                    queue,
                    loss: forward.0,
                    loss_place: forward.1,
                },
                Direction {
                    rate: reverse.rate.unwrap_or(link.rate).0,
                    delay: reverse.delay.unwrap_or(link.delay).0,
                    queue: reverse_queue,
                    loss: back.0,
                    loss_place: back.1,
                },
            ],
            cost: link.cost.unwrap_or(1),
        })
    }

    fn position(&self, name: &str) -> Option<Position> {
        let host = self.file.hosts.get(name).and_then(|host| host.position);
        let router = self.file.routers.get(name).and_then(|router| router.position);
        host.or(router).map(|[x, y]| Position { x, y })
    }

    fn absence(&self, i: usize, absence: &file::Absence, cells: &[Cell]) -> Result<Absence, CheckError> {
        let key = format!("absences[{i}]");
        let node = self.node(&format!("{key}.node"), &absence.node)?;
        let place = |cell: &Cell| cell.members.iter().position(|member| member.node == node);
        let candidates: Vec<(usize, usize)> = cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| absence.cell.as_ref().is_none_or(|name| *name == cell.name))
            .filter_map(|(c, cell)| place(cell).map(|member| (c, member)))
            .collect();
        let [(cell, member)] = candidates[..] else {
            let message = format!(
                "\"{}\" is in {} of the cells meant; allowed: a node of one cell, with cell = \"…\" if it is in several",
                absence.node,
                candidates.len()
            );
            return Err(CheckError::new(format!("{key}.node"), message));
        };
        let direction = match absence.direction {
            file::AbsenceDirection::Both => AbsenceDirection::Both,
            file::AbsenceDirection::Up => AbsenceDirection::Up,
            file::AbsenceDirection::Down => AbsenceDirection::Down,
        };
        Ok(Absence { cell, member, direction, schedule: schedule(&key, &Times::of_absence(absence))? })
    }

    /// `count`: how many flows there are between these two up to this one.
    fn flow(&self, i: usize, flow: &file::Flow, count: u32) -> Result<Flow, CheckError> {
        let key = format!("flows[{i}]");
        let from = self.node(&format!("{key}.from"), &flow.from)?;
        let to = self.node(&format!("{key}.to"), &flow.to)?;
        let (profile, variant) = self.tcp(&key, &flow.tcp)?;
        if let Some(scheme) = flow.scheme.as_ref().filter(|scheme| **scheme != none::SPEC.name) {
            let message = format!(
                "found \"{scheme}\"; allowed: \"{}\" for a flow beside the scheme, which is named in [scheme]",
                none::SPEC.name
            );
            return Err(CheckError::new(format!("{key}.scheme"), message));
        }
        let default_name = if count == 1 {
            format!("{}-{}", flow.from, flow.to)
        } else {
            format!("{}-{}-{count}", flow.from, flow.to)
        };
        Ok(Flow {
            name: flow.name.clone().unwrap_or(default_name),
            from,
            to,
            start: Instant::ZERO + flow.start.map_or(Duration::ZERO, |s| s.0),
            bytes: flow.bytes.map(|b| b.0.0),
            profile,
            variant,
            plain: flow.scheme.is_some(),
        })
    }

    /// The constants of a flow: profile, then `[tcp]`, then the flow's own.
    fn tcp(&self, flow_key: &str, own: &file::Tcp) -> Result<(Profile, &'static Variant), CheckError> {
        let common = &self.file.tcp;
        let own_key = format!("{flow_key}.tcp");
        let pick =
            |own_word: &Option<String>, word: &Option<String>, name: &str, default: &str| match own_word {
                Some(word) => (format!("{own_key}.{name}"), word.clone()),
                None => (format!("tcp.{name}"), word.clone().unwrap_or_else(|| default.to_owned())),
            };
        let (key, word) = pick(&own.profile, &common.profile, "profile", "rfc");
        let named = Profile::named(&word).ok_or_else(|| {
            CheckError::not_one_of(&key, "profile", &word, profile::ALL.iter().map(|p| p.name))
        })?;
        let (key, word) = pick(&own.variant, &common.variant, "variant", "new-reno");
        let variant = Variant::named(&word).ok_or_else(|| {
            CheckError::not_one_of(&key, "variant", &word, variant::ALL.iter().map(|v| v.name))
        })?;
        let mut profile = named.clone();
        override_profile(&mut profile, common);
        override_profile(&mut profile, own);
        Ok((profile, variant))
    }

    fn outage(&self, i: usize, outage: &file::Outage, links: &[Link]) -> Result<Outage, CheckError> {
        let key = format!("outages[{i}]");
        let end = |side: usize| self.node(&format!("{key}.link[{side}]"), &outage.link[side]);
        let ends = [end(0)?, end(1)?];
        let link = links.iter().position(|l| l.ends == ends || l.ends == [ends[1], ends[0]]).ok_or_else(|| {
            let message = format!(
                "there is no link between \"{}\" and \"{}\"; allowed: the two ends of one of the [[links]]",
                outage.link[0], outage.link[1]
            );
            CheckError::new(format!("{key}.link"), message)
        })?;
        let directions = match &outage.from {
            None => [true, true],
            Some(name) => {
                let from = self.node(&format!("{key}.from"), name)?;
                if !ends.contains(&from) {
                    let message = format!(
                        "\"{name}\" is not an end of the link; allowed: {}, {}",
                        outage.link[0], outage.link[1]
                    );
                    return Err(CheckError::new(format!("{key}.from"), message));
                }
                [links[link].ends[0] == from, links[link].ends[1] == from]
            }
        };
        Ok(Outage {
            link,
            directions,
            layer: match outage.layer {
                Some(file::Layer::Ip) => Layer::Ip,
                _ => Layer::Link,
            },
            effect: match outage.effect {
                Some(file::Effect::Flush) => Effect::Flush,
                _ => Effect::BlackHole,
            },
            schedule: schedule(&key, &Times::of_outage(outage))?,
        })
    }
}

/// How a host learns about its link: as it says, else by the radio if it is a mobile host of a cell with access points.
fn link_news(name: &str, host: &file::Host, silence: Option<Duration>) -> Result<LinkNews, CheckError> {
    match (&host.beacons, &host.link_quality, silence) {
        (Some(_), Some(_), _) => {
            let message = "found beacons and link_quality; allowed: one of the two";
            Err(CheckError::new(format!("hosts.{name}.beacons"), message))
        }
        (Some(beacons), None, _) => Ok(LinkNews::Beacons {
            period: beacons.period.0,
            phase: beacons.phase.map_or(beacons.period.0, |phase| phase.0),
            missed: beacons.missed.unwrap_or(2),
        }),
        (None, Some(_), None) => {
            let message = "the host is in no cell with access points; allowed: for a member of one";
            Err(CheckError::new(format!("hosts.{name}.link_quality"), message))
        }
        (None, Some(quality), Some(silence)) => Ok(LinkNews::Radio(Thresholds {
            power_dbm: quality.threshold_dbm.unwrap_or(f64::NEG_INFINITY),
            hysteresis_db: quality.hysteresis_db.unwrap_or(3.0),
            silence_limit: quality.silence.map_or(silence, |silence| silence.0),
        })),
        (None, None, Some(silence)) if host.mobile => Ok(LinkNews::Radio(Thresholds {
            power_dbm: f64::NEG_INFINITY,
            hysteresis_db: 3.0,
            silence_limit: silence,
        })),
        (None, None, _) => Ok(LinkNews::AtOnce),
    }
}

fn signal_delays(form: &file::Signals) -> SignalDelays {
    let of = |delay: Option<Quantity<Duration>>| delay.map_or(Duration::ZERO, |delay| delay.0);
    SignalDelays { link: of(form.link_delay), mac: of(form.mac_delay), ip: of(form.ip_delay) }
}

/// The times of an outage or an absence.
struct Times {
    start: Option<Quantity<Duration>>,
    duration: Option<Quantity<Duration>>,
    every: Option<Quantity<Duration>>,
    count: Option<u64>,
    mean_up: Option<Quantity<Duration>>,
    mean_down: Option<Quantity<Duration>>,
}

impl Times {
    fn of_outage(o: &file::Outage) -> Times {
        let file::Outage { start, duration, every, count, mean_up, mean_down, .. } = *o;
        Times { start, duration, every, count, mean_up, mean_down }
    }

    fn of_absence(a: &file::Absence) -> Times {
        let file::Absence { start, duration, every, count, mean_up, mean_down, .. } = *a;
        Times { start, duration, every, count, mean_up, mean_down }
    }
}

fn schedule(key: &str, outage: &Times) -> Result<Schedule, CheckError> {
    let start = outage.start.map(|s| Instant::ZERO + s.0);
    match (outage.mean_up, outage.mean_down) {
        (Some(up), Some(down)) => {
            if outage.duration.is_some() || outage.every.is_some() || outage.count.is_some() {
                let message = "found mean_up with duration, every or count; allowed: start, mean_up and mean_down, or start, duration, every and count";
                return Err(CheckError::new(key, message));
            }
            let start = start.unwrap_or(Instant::ZERO);
            Ok(Schedule::Random { start, mean_up: up.0, mean_down: down.0 })
        }
        (None, None) => {
            let (Some(start), Some(duration)) = (start, outage.duration) else {
                let found = match (outage.start, outage.duration) {
                    (Some(_), _) => "start alone",
                    (_, Some(_)) => "duration alone",
                    _ => "no time",
                };
                let message = format!("found {found}; allowed: start and duration, or mean_up and mean_down");
                return Err(CheckError::new(key, message));
            };
            if outage.count.is_some() && outage.every.is_none() {
                let message = "found count without every; allowed: with every, the time from begin to begin";
                return Err(CheckError::new(format!("{key}.count"), message));
            }
            let count = if outage.every.is_some() { outage.count.unwrap_or(u64::MAX) } else { 1 };
            let every = outage.every.map_or(Duration::MAX, |e| e.0);
            Ok(Schedule::Periodic { start, duration: duration.0, every, count })
        }
        (Some(_), None) => {
            Err(CheckError::new(key, "found mean_up without mean_down; allowed: both or neither"))
        }
        (None, Some(_)) => {
            Err(CheckError::new(key, "found mean_down without mean_up; allowed: both or neither"))
        }
    }
}

fn loss(key: &str, loss: Option<&file::Loss>) -> Result<(Loss, LossPlace), CheckError> {
    let Some(loss) = loss else { return Ok((Loss::None, LossPlace::Wire)) };
    let place = match loss.place {
        Some(file::Place::Entrance) => LossPlace::Entrance,
        _ => LossPlace::Wire,
    };
    let need = |value: Option<f64>, name: &str| {
        value.ok_or_else(|| CheckError::new(key, format!("the key \"{name}\" of this loss model is missing")))
    };
    let given = [
        ("p", loss.p.is_some()),
        ("p_good_to_bad", loss.p_good_to_bad.is_some()),
        ("p_bad_to_good", loss.p_bad_to_good.is_some()),
        ("loss_good", loss.loss_good.is_some()),
        ("loss_bad", loss.loss_bad.is_some()),
        ("packets", loss.packets.is_some()),
    ];
    let (model, fields): (Loss, &[&str]) = match loss.model {
        file::LossModel::None => (Loss::None, &[]),
        file::LossModel::Bernoulli => (Loss::Bernoulli { p: need(loss.p, "p")? }, &["p"]),
        file::LossModel::GilbertElliott => (
            Loss::GilbertElliott {
                p_good_to_bad: need(loss.p_good_to_bad, "p_good_to_bad")?,
                p_bad_to_good: need(loss.p_bad_to_good, "p_bad_to_good")?,
                loss_good: loss.loss_good.unwrap_or(0.0),
                loss_bad: loss.loss_bad.unwrap_or(1.0),
            },
            &["p_good_to_bad", "p_bad_to_good", "loss_good", "loss_bad"],
        ),
        file::LossModel::List => {
            let packets = loss
                .packets
                .clone()
                .ok_or_else(|| CheckError::new(key, "the key \"packets\" of this loss model is missing"))?;
            (Loss::List { packets }, &["packets"])
        }
    };
    for (name, is_given) in given {
        if is_given && !fields.contains(&name) {
            let allowed = if fields.is_empty() { "none".to_owned() } else { fields.join(", ") };
            let message = format!("not a field of this loss model; allowed: {allowed}");
            return Err(CheckError::new(format!("{key}.{name}"), message));
        }
    }
    Ok((model, place))
}

fn override_profile(profile: &mut Profile, tcp: &file::Tcp) {
    fn put<T: Copy>(slot: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *slot = value;
        }
    }
    put(&mut profile.mss, tcp.mss);
    put(&mut profile.window, tcp.window);
    put(&mut profile.initial_window, tcp.initial_window);
    put(&mut profile.initial_ssthresh, tcp.initial_ssthresh.map(InitialSsthresh::Segments));
    put(&mut profile.data_header_bytes, tcp.data_header_bytes);
    put(&mut profile.control_bytes, tcp.control_bytes);
    put(&mut profile.tick, tcp.tick.map(|q| q.0));
    put(&mut profile.clock_phase, tcp.clock_phase.map(|q| q.0));
    put(&mut profile.min_rto, tcp.min_rto.map(|q| q.0));
    put(&mut profile.max_rto, tcp.max_rto.map(|q| q.0));
    put(&mut profile.initial_rto, tcp.initial_rto.map(|q| q.0));
    put(&mut profile.limited_transmit, tcp.limited_transmit);
    put(&mut profile.delayed_ack, tcp.delayed_ack.map(|q| q.0));
    put(&mut profile.timestamps, tcp.timestamps);
    put(&mut profile.nagle, tcp.nagle);
    put(&mut profile.close, tcp.close);
    put(&mut profile.user_timeout, tcp.user_timeout.map(|q| q.0.unwrap_or(Duration::MAX)));
}
