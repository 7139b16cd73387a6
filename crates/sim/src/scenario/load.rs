//! From text to a checked scenario.
//!
//! A file may build on another one (`extends = "base.toml"`): tables are merged key by key, arrays are replaced.
//! Settings (`--set path=value`) come last. Whatever is refused is traced back to the file and line it came from.

use std::collections::BTreeMap;

use segue_proto::params::Params;
use segue_proto::schemes;
use segue_proto::tcp::profile::InitialSsthresh;
use segue_proto::tcp::{Profile, Variant, profile, variant};
use segue_proto::time::{Duration, Instant};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::check::{self, CheckError};
use super::error::{self, ScenarioError};
use super::{Direction, Flow, Link, LinkNews, Node, NodeKind, Outage, Scenario, SchemeChoice, file};
use crate::link::LossPlace;
use crate::loss::Loss;
use crate::outage::{Effect, Layer, Schedule};

/// One key of a scenario set from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Such as `links[0].rate` or `scheme.layers`.
    pub path: String,
    /// As one would write it in the file; a word or a quantity needs no quotes.
    pub value: String,
}

impl std::str::FromStr for Setting {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                Ok(Setting { path: path.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err("expected PATH=VALUE, such as links[0].rate=2 Mb/s".to_owned()),
        }
    }
}

/// Gives the text of a file by name.
pub type Reader<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// How deep files may build on one another.
const MAX_EXTENDS: usize = 16;

/// Reads and checks a scenario that has no base file.
///
/// # Errors
/// See [`ScenarioError`].
pub fn load_text(name: &str, text: &str, settings: &[Setting]) -> Result<Scenario, ScenarioError> {
    let reader = |wanted: &str| {
        if wanted == name { Ok(text.to_owned()) } else { Err("no other file can be read here".to_owned()) }
    };
    load(name, &reader, settings)
}

/// Reads and checks the scenario called `name`, with its base files, through `reader`.
///
/// # Errors
/// See [`ScenarioError`].
pub fn load(name: &str, reader: Reader<'_>, settings: &[Setting]) -> Result<Scenario, ScenarioError> {
    let (mut table, mut sources) = read_chain(name, reader)?;
    for setting in settings {
        apply(setting, &mut table)?;
        sources.set_paths.push(segments(&setting.path));
    }
    sources.written.clone_from(&table);
    let file: file::File = serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let key = error.path().to_string();
        let key = if key == "." { String::new() } else { key };
        sources.error(&key, error::from_serde(error.into_inner().message()))
    })?;
    let scenario = Resolver::new(&file).resolve().map_err(|e| sources.error(&e.key, e.message))?;
    check::check(&scenario).map_err(|e| sources.error(&e.key, e.message))?;
    Ok(scenario)
}

/// The files that a scenario is made of, most specific first.
struct Sources {
    files: Vec<(String, String)>,
    set_paths: Vec<Vec<String>>,
    /// All that was written, in files and settings.
    written: Table,
}

impl Sources {
    /// An error at `key`, in the file that gave it.
    fn error(&self, key: &str, message: String) -> ScenarioError {
        let key = self.where_written(key);
        let segments = segments(&key);
        if self.set_paths.iter().any(|path| segments.starts_with(path)) {
            return ScenarioError { file: "--set".to_owned(), line: None, key, message };
        }
        let found = |(name, text): &(String, String)| Some((name.clone(), locate(text, &segments)?));
        let mut best: Option<(String, Located)> = None;
        for (name, located) in self.files.iter().filter_map(found) {
            // A list replaces the one in the base file as a whole: nothing of that is left.
            let is_owner = located.inside_list;
            if best.as_ref().is_none_or(|(_, best)| located.depth > best.depth) {
                best = Some((name, located));
            }
            if is_owner {
                break;
            }
        }
        let (file, line) = match best {
            Some((name, located)) => (name, Some(located.line)),
            None => (self.files[0].0.clone(), None),
        };
        ScenarioError { file, line, key, message }
    }

    /// The last file read builds on something that cannot be built on.
    fn refuse_base(&self, message: String) -> ScenarioError {
        let (file, text) = self.files.last().expect("only a file that was read builds on another");
        let line = locate(text, &segments("extends")).map(|located| located.line);
        ScenarioError { file: file.clone(), line, key: "extends".to_owned(), message }
    }

    /// A constant of a flow's TCP may stand in the flow or in `[tcp]`: the key under which it was written.
    fn where_written(&self, key: &str) -> String {
        let Some((flow, constant)) = key.split_once(".tcp.").filter(|(flow, _)| flow.starts_with("flows["))
        else {
            return key.to_owned();
        };
        let index: Option<usize> = segments(flow).get(1).and_then(|index| index.parse().ok());
        let own = index.and_then(|index| self.written.get("flows")?.get(index)?.get("tcp"));
        let common = self.written.get("tcp");
        let has = |table: Option<&Value>| table.is_some_and(|table| table.get(constant).is_some());
        // What neither says comes from the profile; what clashes with it stands in the flow if the flow has a table.
        let in_flow = has(own) || (!has(common) && own.is_some());
        if in_flow { key.to_owned() } else { format!("tcp.{constant}") }
    }
}

fn read_chain(name: &str, reader: Reader<'_>) -> Result<(Table, Sources), ScenarioError> {
    let mut sources = Sources { files: Vec::new(), set_paths: Vec::new(), written: Table::new() };
    let mut tables = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(name) = next.take() {
        let refuse =
            |line, key: &str, message| ScenarioError { file: name.clone(), line, key: key.into(), message };
        if sources.files.iter().any(|(seen, _)| *seen == name) {
            let chain: Vec<&str> = sources.files.iter().map(|(seen, _)| seen.as_str()).collect();
            let message = format!(
                "a cycle: {} → {name}; allowed: a file that does not build on this one",
                chain.join(" → ")
            );
            return Err(sources.refuse_base(message));
        }
        if sources.files.len() == MAX_EXTENDS {
            let message = format!(
                "found a {}th file; allowed: up to {MAX_EXTENDS} files that build on one another",
                MAX_EXTENDS + 1
            );
            return Err(sources.refuse_base(message));
        }
        let text = reader(&name).map_err(|e| match sources.files.is_empty() {
            true => refuse(None, "", e),
            false => sources.refuse_base(format!("\"{name}\": {e}")),
        })?;
        let mut table: Table = toml::from_str(&text).map_err(|e| {
            let line = e.span().map(|span| line_of(&text, span.start));
            refuse(line, "", format!("not TOML: {}", e.message().replace('\n', "; ")))
        })?;
        if let Some(base) = table.remove("extends") {
            let Value::String(base) = base else {
                let line = locate(&text, &segments("extends")).map(|located| located.line);
                let message = format!("found {base}; allowed: the name of a file, in quotes");
                return Err(refuse(line, "extends", message));
            };
            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            next = Some(if folder.is_empty() { base } else { format!("{folder}/{base}") });
        }
        sources.files.push((name, text));
        tables.push(table);
    }
    let mut merged = Table::new();
    for table in tables.into_iter().rev() {
        merge(&mut merged, table);
    }
    Ok((merged, sources))
}

fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// `links[0].rate` and `links.0.rate` alike as `links`, `0`, `rate`.
fn segments(path: &str) -> Vec<String> {
    path.split(['.', '['])
        .map(|part| part.trim_end_matches(']').to_owned())
        .filter(|s| !s.is_empty())
        .collect()
}

fn apply(setting: &Setting, table: &mut Table) -> Result<(), ScenarioError> {
    let refuse = |message: String| ScenarioError {
        file: "--set".to_owned(),
        line: None,
        key: setting.path.clone(),
        message,
    };
    let parsed: Option<Table> = toml::from_str(&format!("value = {}", setting.value)).ok();
    let value = parsed
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(setting.value.clone()));
    let segments = segments(&setting.path);
    let Some((last, parents)) = segments.split_last() else {
        return Err(refuse("an empty path".to_owned()));
    };
    let mut root = Value::Table(std::mem::take(table));
    let mut at = &mut root;
    for (segment, next) in parents.iter().zip(&segments[1..]) {
        at = match at {
            Value::Table(inner) if !inner.contains_key(segment) && next.parse::<usize>().is_ok() => {
                return Err(refuse(format!(
                    "there is no list \"{segment}\" to change; allowed: to set all of it"
                )));
            }
            Value::Table(inner) => inner.entry(segment.clone()).or_insert_with(|| Value::Table(Table::new())),
            Value::Array(items) => {
                let count = items.len();
                let index: Option<usize> = segment.parse().ok();
                index.and_then(|i| items.get_mut(i)).ok_or_else(|| {
                    refuse(format!("no element \"{segment}\"; allowed: 0 to {}", count.saturating_sub(1)))
                })?
            }
            _ => return Err(refuse(format!("nothing lies below \"{segment}\""))),
        };
    }
    match at {
        Value::Table(inner) => {
            inner.insert(last.clone(), value);
        }
        Value::Array(items) => {
            let count = items.len();
            let slot = last.parse().ok().and_then(|i: usize| items.get_mut(i)).ok_or_else(|| {
                refuse(format!("no element \"{last}\"; allowed: 0 to {}", count.saturating_sub(1)))
            })?;
            *slot = value;
        }
        _ => return Err(refuse(format!("\"{last}\" lies below something that is not a table"))),
    }
    if let Value::Table(changed) = root {
        *table = changed;
    }
    Ok(())
}

/// Where a key stands in a file, as far as the file has it.
struct Located {
    /// How many of its segments exist.
    depth: usize,
    /// The line of the last of them.
    line: usize,
    /// Whether an element of a list was passed.
    inside_list: bool,
}

/// Follows `segments` into `text`; `None` if it has not even the first.
fn locate(text: &str, segments: &[String]) -> Option<Located> {
    let document = DeTable::parse(text).ok()?;
    let root = Spanned::new(0..0, DeValue::Table(document.into_inner()));
    let mut located = Located { depth: 0, line: 1, inside_list: false };
    let mut at = &root;
    while located.depth < segments.len() {
        let rest = &segments[located.depth..];
        let (taken, start, next) = match at.get_ref() {
            DeValue::Table(table) => {
                // A name in quotes may hold dots.
                let entry = |n: usize| Some((n, table.get_key_value(rest[..n].join(".").as_str())?));
                let Some((n, (key, value))) = (1..=rest.len()).rev().find_map(entry) else { break };
                (n, key.span().start, value)
            }
            DeValue::Array(items) => {
                let Some(value) = rest[0].parse().ok().and_then(|i: usize| items.get(i)) else { break };
                located.inside_list = true;
                (1, value.span().start, value)
            }
            _ => break,
        };
        located.depth += taken;
        located.line = line_of(text, start);
        at = next;
    }
    (located.depth > 0).then_some(located)
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

/// Turns names into indices and words into values.
struct Resolver<'a> {
    file: &'a file::File,
    nodes: Vec<Node>,
    index: BTreeMap<&'a str, usize>,
}

impl<'a> Resolver<'a> {
    fn new(file: &'a file::File) -> Self {
        Resolver { file, nodes: Vec::new(), index: BTreeMap::new() }
    }

    fn resolve(mut self) -> Result<Scenario, CheckError> {
        let file = self.file;
        self.add_nodes()?;
        let links =
            file.links.iter().enumerate().map(|(i, l)| self.link(i, l)).collect::<Result<Vec<_>, _>>()?;
        let flows =
            file.flows.iter().enumerate().map(|(i, f)| self.flow(i, f)).collect::<Result<Vec<_>, _>>()?;
        let outages = file
            .outages
            .iter()
            .enumerate()
            .map(|(i, o)| self.outage(i, o, &links))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Scenario {
            title: file.title.clone(),
            duration: file.duration.0,
            seed: file.seed.unwrap_or(1),
            scheme: scheme(&file.scheme)?,
            nodes: self.nodes,
            links,
            flows,
            outages,
        })
    }

    fn add_nodes(&mut self) -> Result<(), CheckError> {
        for (name, host) in &self.file.hosts {
            let link_news = host.beacons.as_ref().map_or(LinkNews::AtOnce, |beacons| LinkNews::Beacons {
                period: beacons.period.0,
                phase: beacons.phase.map_or(beacons.period.0, |phase| phase.0),
                missed: beacons.missed.unwrap_or(2),
            });
            self.index.insert(name, self.nodes.len());
            self.nodes
                .push(Node { name: name.clone(), kind: NodeKind::Host { mobile: host.mobile, link_news } });
        }
        for name in self.file.routers.keys() {
            if self.index.insert(name, self.nodes.len()).is_some() {
                let message = format!("\"{name}\" is also a host; allowed: a name of its own");
                return Err(CheckError::new(format!("routers.{name}"), message));
            }
            self.nodes.push(Node { name: name.clone(), kind: NodeKind::Router });
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
        let limit = |queue: Option<u32>| queue.unwrap_or(50) as usize;
        let (forward, back) = (forward_loss, reverse_loss);
        Ok(Link {
            ends,
            directions: [
                Direction {
                    rate: link.rate.0,
                    delay: link.delay.0,
                    queue_limit: limit(link.queue),
                    loss: forward.0,
                    loss_place: forward.1,
                },
                Direction {
                    rate: reverse.rate.unwrap_or(link.rate).0,
                    delay: reverse.delay.unwrap_or(link.delay).0,
                    queue_limit: limit(reverse.queue.or(link.queue)),
                    loss: back.0,
                    loss_place: back.1,
                },
            ],
            cost: link.cost.unwrap_or(1),
        })
    }

    fn flow(&self, i: usize, flow: &file::Flow) -> Result<Flow, CheckError> {
        let key = format!("flows[{i}]");
        let from = self.node(&format!("{key}.from"), &flow.from)?;
        let to = self.node(&format!("{key}.to"), &flow.to)?;
        let (profile, variant) = self.tcp(&key, &flow.tcp)?;
        let twins = self.file.flows[..i].iter().filter(|f| f.from == flow.from && f.to == flow.to).count();
        let default_name = if twins == 0 {
            format!("{}-{}", flow.from, flow.to)
        } else {
            format!("{}-{}-{}", flow.from, flow.to, twins + 1)
        };
        Ok(Flow {
            name: flow.name.clone().unwrap_or(default_name),
            from,
            to,
            start: Instant::ZERO + flow.start.map_or(Duration::ZERO, |s| s.0),
            bytes: flow.bytes.map(|b| b.0.0),
            profile,
            variant,
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
            schedule: schedule(&key, outage)?,
        })
    }
}

fn schedule(key: &str, outage: &file::Outage) -> Result<Schedule, CheckError> {
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

fn scheme(words: &BTreeMap<String, Value>) -> Result<SchemeChoice, CheckError> {
    if words.is_empty() {
        return Ok(SchemeChoice::default());
    }
    let Some(Value::String(name)) = words.get("name") else {
        let found = words.get("name").map_or("nothing".to_owned(), ToString::to_string);
        let message = format!("found {found}; allowed: the name of a scheme, in quotes");
        return Err(CheckError::new("scheme.name", message));
    };
    let spec = schemes::Spec::named(name).ok_or_else(|| {
        CheckError::not_one_of("scheme.name", "scheme", name, schemes::ALL.iter().map(|s| s.name))
    })?;
    let mut params = Params::defaults(spec.params);
    for (key, value) in words.iter().filter(|(key, _)| *key != "name") {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        params.set(key, &text).map_err(|e| CheckError::new(format!("scheme.{key}"), e.to_string()))?;
    }
    Ok(SchemeChoice { spec, params })
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
