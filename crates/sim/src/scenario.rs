//! Scenarios: what a run is made of, already checked.
//!
//! [`Scenario::from_toml`] reads a file ([`mod@file`] is its form, [`error`] how it refuses); [`check`] is the one place
//! that says what fits together, for files and for scenarios built in code alike.

pub mod check;
mod datagrams;
pub mod error;
pub mod file;
mod load;
pub mod mobile_ip;
mod mobility;
pub mod quantity;
mod resolve;

pub use check::CheckError;
pub use datagrams::DatagramSource;
pub use error::ScenarioError;
pub use load::{Setting, load, load_text};
pub use mobile_ip::MobileIp;

use segue_proto::link_state::Thresholds;
use segue_proto::params::Params;
use segue_proto::queue;
use segue_proto::schemes::{self, none};
use segue_proto::tcp::{Profile, Variant};
use segue_proto::time::{Duration, Instant};
use segue_proto::units::BitRate;
use segue_proto::wifi;
use segue_proto::wifi::association::Policy;

use crate::link::LossPlace;
use crate::loss::Loss;
use crate::mobility::Mobility;
use crate::outage::{Effect, Layer, Schedule};
use crate::radio::{Position, medium};

/// Everything that a run is made of, except its seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// For people.
    pub title: String,
    /// The run ends here, or when all flows of fixed size are finished, if there are any and no others.
    pub duration: Duration,
    /// The seed if none is given.
    pub seed: u64,
    /// Hosts and routers.
    pub nodes: Vec<Node>,
    /// Links between them.
    pub links: Vec<Link>,
    /// 802.11 media that they share.
    pub cells: Vec<Cell>,
    /// Who keeps its address while it moves.
    pub mobile_ip: Option<MobileIp>,
    /// How late the news of each layer is.
    pub signal_delays: SignalDelays,
    /// Connections over them.
    pub flows: Vec<Flow>,
    /// Packets without connections.
    pub datagrams: Vec<DatagramSource>,
    /// What goes wrong with links.
    pub outages: Vec<Outage>,
    /// Who leaves a cell, and when.
    pub absences: Vec<Absence>,
    /// The policy on mobile hosts.
    pub scheme: SchemeChoice,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Where it is over time, the same in all its cells; `None` if nothing is said of it, and [`Member::position`]
    /// holds.
    pub mobility: Option<Mobility>,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// Has connections.
    Host {
        /// Carries the scheme, and hears of its links.
        mobile: bool,
        /// How it learns about its links.
        link_news: LinkNews,
    },
    /// Forwards only.
    Router,
}

/// How a mobile host learns that a link has gone or come back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LinkNews {
    /// At the moment it happens (carrier, or a perfect detector).
    #[default]
    AtOnce,
    /// By beacons: each `period` from `phase` one arrives if the link works; none for `missed` periods is bad news.
    Beacons {
        /// From beacon to beacon.
        period: Duration,
        /// Time of the first.
        phase: Duration,
        /// Beacons missed that count as bad news (ilc-tcp A14: 2).
        missed: u32,
    },
    /// By the frames of its access point: their power, and their absence (ilc-tcp A14).
    Radio(Thresholds),
}

/// What is added to the time that news of a layer takes to the scheme, besides the scheme's own delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalDelays {
    /// Link layer and physical layer.
    pub link: Duration,
    /// Medium access control.
    pub mac: Duration,
    /// IP and the mobility client.
    pub ip: Duration,
}

/// A duplex link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Indices of its ends in [`Scenario::nodes`].
    pub ends: [usize; 2],
    /// First to second end, second to first.
    pub directions: [Direction; 2],
    /// For routing, at least 1.
    pub cost: u32,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Rate of the transmitter.
    pub rate: BitRate,
    /// Propagation time.
    pub delay: Duration,
    /// Who may wait.
    pub queue: QueueChoice,
    /// Loss model.
    pub loss: Loss,
    /// Where it stands.
    pub loss_place: LossPlace,
}

/// A connection that carries data from one host to another.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Index of the sender in [`Scenario::nodes`].
    pub from: usize,
    /// Index of the receiver.
    pub to: usize,
    /// When it opens.
    pub start: Instant,
    /// Bytes to send; `None` sends as long as the run lasts.
    pub bytes: Option<u64>,
    /// The constants of both ends.
    pub profile: Profile,
    /// Recovery and congestion control of both ends.
    pub variant: &'static Variant,
    /// Both ends are plain TCP, whatever scheme their hosts carry.
    pub plain: bool,
}

/// Something that goes wrong with a link.
#[derive(Clone, Debug)]
pub struct Outage {
    /// Index in [`Scenario::links`].
    pub link: usize,
    /// Which directions (first to second end, second to first).
    pub directions: [bool; 2],
    /// Which layer it belongs to.
    pub layer: Layer,
    /// What it does to packets.
    pub effect: Effect,
    /// When.
    pub schedule: Schedule,
}

/// An 802.11 medium and its stations.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// Who is in it; a station's number is its place here.
    pub members: Vec<Member>,
    /// What every station is made from; the station's number is filled in.
    pub station: wifi::Config,
    /// Propagation, thresholds, frame errors.
    pub medium: medium::Config,
    /// Access points, if everybody speaks through one; else everybody speaks to everybody.
    pub infrastructure: Option<Infrastructure>,
}

/// The access points of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Infrastructure {
    /// How many: they are the first members.
    pub access_points: usize,
    /// Beacons, and how the other members choose by them; `None`: nobody chooses, Mobile IP finds the way.
    pub association: Option<Policy>,
}

impl Cell {
    /// Those that speak through an access point of this cell.
    pub fn clients(&self) -> &[Member] {
        self.infrastructure.map_or(&[], |infrastructure| &self.members[infrastructure.access_points..])
    }

    /// Those that others speak through.
    pub fn access_points(&self) -> &[Member] {
        self.infrastructure.map_or(&[], |infrastructure| &self.members[..infrastructure.access_points])
    }
}

/// A station of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Index in [`Scenario::nodes`].
    pub node: usize,
    /// Where it stands, unless [`Node::mobility`] says otherwise.
    pub position: Position,
}

/// A station is out of everybody's range for a while, or in one direction.
#[derive(Clone, Debug)]
pub struct Absence {
    /// Index in [`Scenario::cells`].
    pub cell: usize,
    /// Index in [`Cell::members`].
    pub member: usize,
    /// Which frames are lost.
    pub direction: AbsenceDirection,
    /// When.
    pub schedule: Schedule,
}

/// A queue discipline.
#[derive(Clone, Debug)]
pub struct QueueChoice {
    /// Entry of the table.
    pub spec: &'static queue::Spec,
    /// Its parameters.
    pub params: Params,
}

impl QueueChoice {
    /// A drop-tail queue in which `limit` packets may wait.
    pub fn drop_tail(limit: u32) -> Self {
        let spec = &queue::drop_tail::SPEC;
        let mut params = Params::defaults(spec.params);
        params.set(queue::LIMIT.name, &limit.to_string()).expect("any number of 32 bits is allowed");
        QueueChoice { spec, params }
    }

    /// It at work.
    pub(crate) fn build(&self, place: queue::Place) -> queue::Any {
        (self.spec.build)(&self.params, place)
    }
}

/// Which frames an absence takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsenceDirection {
    /// All: the station is out of range, and its energy too.
    Both,
    /// Those it sends: their energy is sensed, and nobody decodes them.
    Up,
    /// Those sent to it: it senses their energy, and decodes nothing.
    Down,
}

/// The policy on mobile hosts.
#[derive(Clone, Debug)]
pub struct SchemeChoice {
    /// Entry of the table.
    pub spec: &'static schemes::Spec,
    /// Its parameters.
    pub params: Params,
}

impl Default for SchemeChoice {
    fn default() -> Self {
        SchemeChoice { spec: &none::SPEC, params: Params::defaults(none::SPEC.params) }
    }
}

impl SchemeChoice {
    /// The scheme called `name` with its defaults.
    pub fn named(name: &str) -> Option<Self> {
        schemes::Spec::named(name).map(|spec| SchemeChoice { spec, params: Params::defaults(spec.params) })
    }
}

impl Scenario {
    /// Reads and checks a scenario.
    ///
    /// # Errors
    /// If the text is not a scenario; the error says where, what was found and what is allowed.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ScenarioError> {
        load_text(name, text, &[])
    }

    /// The stations of each node: cells, ascending, and its number in each.
    pub(crate) fn stations(&self) -> Vec<Vec<(u32, u32)>> {
        let mut stations = vec![Vec::new(); self.nodes.len()];
        for (c, cell) in self.cells.iter().enumerate() {
            for (number, member) in cell.members.iter().enumerate() {
                stations[member.node].push((c as u32, number as u32));
            }
        }
        stations
    }
}
