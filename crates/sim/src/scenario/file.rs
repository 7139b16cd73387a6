//! The form of a scenario file. Unknown keys are errors; quantities carry their units.
//!
//! Field by field this is the reference of the format; the meaning of each is in [`Scenario`](super::Scenario).

pub mod cell;
pub mod mobile_ip;
mod queue;

use std::collections::BTreeMap;

use segue_proto::time::Duration;
use segue_proto::units::{BitRate, Bytes};
use serde::Deserialize;

pub use self::cell::Cell;
pub use self::mobile_ip::MobileIp;
pub use self::queue::Queue;
use super::quantity::{OrOff, Quantity, Range};

/// A whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// For people.
    #[serde(default)]
    pub title: String,
    /// When the run ends at the latest.
    pub duration: Quantity<Duration>,
    /// The seed if none is given on the command line.
    pub seed: Option<u64>,
    /// Constants of all flows.
    #[serde(default)]
    pub tcp: Tcp,
    /// Policy on mobile hosts: `name`, and the scheme's own parameters.
    #[serde(default)]
    pub scheme: BTreeMap<String, toml::Value>,
    /// Hosts by name.
    #[serde(default)]
    pub hosts: BTreeMap<String, Host>,
    /// Routers by name.
    #[serde(default)]
    pub routers: BTreeMap<String, Router>,
    /// Links.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Cells.
    #[serde(default)]
    pub cells: Vec<Cell>,
    /// Mobile IP.
    pub mobile_ip: Option<MobileIp>,
    /// How late the news of each layer is.
    #[serde(default)]
    pub signals: Signals,
    /// Flows.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// Sources of datagrams.
    #[serde(default)]
    pub datagrams: Vec<Datagrams>,
    /// Outages.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// Absences.
    #[serde(default)]
    pub absences: Vec<Absence>,
}

/// `[hosts.NAME]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Carries the scheme and hears of its links.
    #[serde(default)]
    pub mobile: bool,
    /// Hears of its links by beacons, not at once.
    pub beacons: Option<Beacons>,
    /// Judges its link by the frames of its access point.
    pub link_quality: Option<LinkQuality>,
    /// Mobile IP: name of its home agent. The host keeps its address wherever it is.
    pub home_agent: Option<String>,
    /// Mobile IP: where it begins; default `home` if it shares a cell with its home agent.
    pub start: Option<mobile_ip::Start>,
    /// Where it stands, in metres.
    pub position: Option<[f64; 2]>,
    /// How it moves, in place of `position`.
    pub mobility: Option<Mobility>,
}

/// `beacons = { … }` of a host.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beacons {
    /// From beacon to beacon.
    pub period: Quantity<Duration>,
    /// Time of the first.
    pub phase: Option<Quantity<Duration>>,
    /// Beacons missed that count as bad news.
    pub missed: Option<u32>,
}

/// `link_quality = { … }` of a host in a cell with access points.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkQuality {
    /// Frames weaker than this are bad news; default none is.
    pub threshold_dbm: Option<f64>,
    /// The same, as decibels above the power from which the cell's frames are decoded.
    pub margin_db: Option<f64>,
    /// How far above the threshold a frame must be to count as good again; default 3.
    pub hysteresis_db: Option<f64>,
    /// Silence that counts as bad news; default two beacon or advertisement periods.
    pub silence: Option<Quantity<Duration>>,
}

/// `[signals]`: what is added to the time that news of a layer takes to the scheme.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signals {
    /// `LINK_OK`, `LINK_NOT_OK`.
    pub link_delay: Option<Quantity<Duration>>,
    /// Fates of frames.
    pub mac_delay: Option<Quantity<Duration>>,
    /// `IP_OK`, `IP_NOT_OK`.
    pub ip_delay: Option<Quantity<Duration>>,
}

/// `[routers.NAME]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Where it stands, in metres.
    pub position: Option<[f64; 2]>,
    /// How it moves, in place of `position`.
    pub mobility: Option<Mobility>,
}

/// `mobility = { … }` of a host or router.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mobility {
    /// Name of the model.
    pub model: MobilityModel,
    /// `fixed`: where it stands, in metres.
    pub position: Option<[f64; 2]>,
    /// `waypoints`: times, and the places reached then, in metres.
    pub points: Option<Vec<(Quantity<Duration>, f64, f64)>>,
    /// `line`: where it begins, in metres. `random-waypoint`: the same, default a random place of the area.
    pub from: Option<[f64; 2]>,
    /// `line`: east and north, in metres per second.
    pub velocity: Option<[f64; 2]>,
    /// `line`, `route`: when it starts, default at once.
    pub start: Option<Quantity<Duration>>,
    /// `line`: when it stops, default never.
    pub stop: Option<Quantity<Duration>>,
    /// `random-waypoint`: west, south, east and north, in metres.
    pub area: Option<[f64; 4]>,
    /// `route`: places in metres, one after the other.
    pub places: Option<Vec<[f64; 2]>>,
    /// `route`: what comes after the last place; default `once`.
    pub repeat: Option<Repeat>,
    /// In metres per second. `random-waypoint`: least and greatest; `route`: one number.
    pub speed: Option<Range>,
    /// `random-waypoint`, `route`: time at each place, default none.
    pub pause: Option<Quantity<Duration>>,
    /// `random-waypoint`: whether it begins in the steady state, default no.
    pub warm_up: Option<bool>,
    /// `setdest`, `sumo-fcd`: the movement file, from the folder of the scenario file.
    pub file: Option<String>,
    /// `setdest`: number of the node in it.
    pub node: Option<u32>,
    /// `sumo-fcd`: id of the vehicle or person in it.
    pub id: Option<String>,
}

/// See [`crate::mobility::route::Repeat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repeat {
    /// It stays at the last place.
    Once,
    /// Straight to the first place, and again.
    Loop,
    /// To and fro.
    Shuttle,
}

/// The mobility models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MobilityModel {
    /// See [`crate::mobility::Mobility::Fixed`].
    Fixed,
    /// See [`crate::mobility::line`].
    Line,
    /// See [`crate::mobility::waypoints`].
    Waypoints,
    /// See [`mod@crate::mobility::route`].
    Route,
    /// See [`crate::mobility::random_waypoint`].
    RandomWaypoint,
    /// See [`crate::mobility::setdest`].
    Setdest,
    /// See [`crate::mobility::sumo_fcd`].
    SumoFcd,
}

/// `[[links]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Names of its ends.
    pub between: [String; 2],
    /// Rate of each direction.
    pub rate: Quantity<BitRate>,
    /// Propagation time.
    pub delay: Quantity<Duration>,
    /// Packets that may wait, or `discipline` and the discipline's own parameters.
    pub queue: Option<Queue>,
    /// Loss model.
    pub loss: Option<Loss>,
    /// What is different from the second to the first end.
    pub reverse: Option<Reverse>,
    /// For routing.
    pub cost: Option<u32>,
}

/// `reverse = { … }` of a link.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// See [`Link::rate`].
    pub rate: Option<Quantity<BitRate>>,
    /// See [`Link::delay`].
    pub delay: Option<Quantity<Duration>>,
    /// See [`Link::queue`].
    pub queue: Option<Queue>,
    /// See [`Link::loss`]; the loss model of the forward direction does not apply to the reverse one.
    pub loss: Option<Loss>,
}

/// `loss = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Name of the model.
    pub model: LossModel,
    /// `bernoulli`: loss probability.
    pub p: Option<f64>,
    /// `gilbert-elliott`: probability of going from good to bad.
    pub p_good_to_bad: Option<f64>,
    /// `gilbert-elliott`: probability of going from bad to good.
    pub p_bad_to_good: Option<f64>,
    /// `gilbert-elliott`: loss probability in the good state, default 0.
    pub loss_good: Option<f64>,
    /// `gilbert-elliott`: loss probability in the bad state, default 1.
    pub loss_bad: Option<f64>,
    /// `list`: numbers of the lost packets, from 0, ascending.
    pub packets: Option<Vec<u64>>,
    /// `wire` (default) or `entrance`.
    pub place: Option<Place>,
}

/// The loss models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossModel {
    /// See [`crate::loss::Loss::None`].
    None,
    /// See [`crate::loss::Loss::Bernoulli`].
    Bernoulli,
    /// See [`crate::loss::Loss::GilbertElliott`].
    GilbertElliott,
    /// See [`crate::loss::Loss::List`].
    List,
}

/// Where a loss model stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// After the queue.
    Wire,
    /// Before the queue.
    Entrance,
}

/// `[[absences]]`: a host is out of range of its cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// Host or router.
    pub node: String,
    /// Cell; default the only one that the node is in.
    pub cell: Option<String>,
    /// Which frames are lost; default all.
    #[serde(default)]
    pub direction: AbsenceDirection,
    /// Begin of the first; with `mean_up`, begin of the first time in range.
    pub start: Option<Quantity<Duration>>,
    /// Length of each.
    pub duration: Option<Quantity<Duration>>,
    /// From begin to begin.
    pub every: Option<Quantity<Duration>>,
    /// How many; default one, with `every` until the end of the run.
    pub count: Option<u64>,
    /// Random absences: mean time in range.
    pub mean_up: Option<Quantity<Duration>>,
    /// Random absences: mean time out of range.
    pub mean_down: Option<Quantity<Duration>>,
}

/// `direction` of an absence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AbsenceDirection {
    /// The node is out of range.
    #[default]
    Both,
    /// Nobody decodes what it sends.
    Up,
    /// It decodes nothing.
    Down,
}

/// `[[datagrams]]`: packets at a constant bit rate, without TCP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datagrams {
    /// Default: `FROM-TO`, numbered if there are several.
    pub name: Option<String>,
    /// Host that sends.
    pub from: String,
    /// Host that receives.
    pub to: String,
    /// Bit rate of the payload.
    pub rate: Quantity<BitRate>,
    /// Payload of each IP packet, to which its header of 20 bytes is added; default 1000 B.
    pub bytes: Option<Quantity<Bytes>>,
    /// When the first is sent; default at once.
    pub start: Option<Quantity<Duration>>,
    /// None is sent from then on; default: the end of the run.
    pub stop: Option<Quantity<Duration>>,
}

/// `[[flows]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Default: `FROM-TO`, numbered if there are several.
    pub name: Option<String>,
    /// Host that sends.
    pub from: String,
    /// Host that receives.
    pub to: String,
    /// When it opens; default at once.
    pub start: Option<Quantity<Duration>>,
    /// How much it sends; default as long as the run lasts.
    pub bytes: Option<Quantity<Bytes>>,
    /// `none`: both ends are plain TCP, whatever scheme their hosts carry.
    pub scheme: Option<String>,
    /// Constants that differ from `[tcp]`.
    #[serde(default)]
    pub tcp: Tcp,
}

/// `[tcp]`, and `tcp = { … }` of a flow: profile, variant, and any constant of the profile by its name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Named set of constants; default `rfc`.
    pub profile: Option<String>,
    /// Recovery and congestion control; default `new-reno`.
    pub variant: Option<String>,
    /// Bytes.
    pub mss: Option<u32>,
    /// Segments.
    pub window: Option<u32>,
    /// Segments.
    pub initial_window: Option<u32>,
    /// Segments.
    pub initial_ssthresh: Option<u32>,
    /// Bytes.
    pub data_header_bytes: Option<u32>,
    /// Bytes.
    pub control_bytes: Option<u32>,
    /// Clock granularity.
    pub tick: Option<Quantity<Duration>>,
    /// Where the clock stands at time zero.
    pub clock_phase: Option<Quantity<Duration>>,
    /// Smallest RTO.
    pub min_rto: Option<Quantity<Duration>>,
    /// Largest RTO.
    pub max_rto: Option<Quantity<Duration>>,
    /// RTO before the first sample.
    pub initial_rto: Option<Quantity<Duration>>,
    /// RFC 3042.
    pub limited_transmit: Option<bool>,
    /// Longest delay of an ACK, or `"off"`.
    pub delayed_ack: Option<OrOff<Duration>>,
    /// RFC 7323.
    pub timestamps: Option<bool>,
    /// RFC 896.
    pub nagle: Option<bool>,
    /// Whether a finished flow closes its connection.
    pub close: Option<bool>,
    /// RFC 9293 §3.8.3, or `"off"`.
    pub user_timeout: Option<OrOff<Duration>>,
}

/// `[[outages]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Names of the ends of the link.
    pub link: [String; 2],
    /// Begin of the first; with `mean_up`, begin of the first up time.
    pub start: Option<Quantity<Duration>>,
    /// Length of each.
    pub duration: Option<Quantity<Duration>>,
    /// From begin to begin.
    pub every: Option<Quantity<Duration>>,
    /// How many; default one, with `every` until the end of the run.
    pub count: Option<u64>,
    /// Random outages: mean time between them.
    pub mean_up: Option<Quantity<Duration>>,
    /// Random outages: mean length.
    pub mean_down: Option<Quantity<Duration>>,
    /// Only packets that this end sends are hit; default both directions.
    pub from: Option<String>,
    /// `link` (default) or `ip`.
    pub layer: Option<Layer>,
    /// `black-hole` (default) or `flush`.
    pub effect: Option<Effect>,
}

/// See [`crate::outage::Layer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The link itself.
    Link,
    /// Registration.
    Ip,
}

/// See [`crate::outage::Effect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Sent into the void.
    BlackHole,
    /// Queue emptied, packets refused.
    Flush,
}
