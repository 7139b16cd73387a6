//! What a run gives: a summary per flow and link, and the event trace.

mod datagrams;

pub use datagrams::DatagramSummary;

use std::io::{self, Write};

use segue_proto::mobile_ip::Address;
use segue_proto::schemes::none;
use segue_proto::tcp::{EndReason, State, Stats};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;
use segue_proto::wifi;

use crate::link::LinkCounts;
use crate::scenario::Scenario;
use crate::scenario::mobile_ip::node_of;
use crate::table::{Cell, Table, csv_field};

/// Where an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// End of a flow: sender of flow f is 2·f, receiver 2·f + 1.
    End(usize),
    /// Direction of a link: first to second end of link l is 2·l, the other 2·l + 1.
    Link(usize),
    /// Node.
    Node(usize),
    /// Station of a cell.
    Station {
        /// Index of the cell.
        cell: usize,
        /// Index of its member.
        station: usize,
    },
}

/// Somebody who hears every typed event of a run.
pub trait Observer {
    /// `event` happened at `place`.
    fn observe(&mut self, at: Instant, place: Place, event: &Event);

    /// Whether it has a use for [`Event::FrameOnAir`]. They come with every attempt of a station, and are not sent
    /// unless asked for.
    fn wants_frames(&self) -> bool {
        false
    }
}

/// Several observers of one run; each hears every event, in their order.
#[derive(Default)]
pub struct FanOut<'a>(Vec<&'a mut dyn Observer>);

impl<'a> FanOut<'a> {
    /// Adds one more.
    pub fn add(&mut self, observer: &'a mut dyn Observer) {
        self.0.push(observer);
    }
}

impl Observer for FanOut<'_> {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        for observer in &mut self.0 {
            observer.observe(at, place, event);
        }
    }

    fn wants_frames(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_frames())
    }
}

/// What is known of one end of a flow when the run is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndSummary {
    pub(crate) finished: Option<Instant>,
    pub(crate) acknowledged: u64,
    pub(crate) delivered: u64,
    pub(crate) stats: Stats,
    pub(crate) state: State,
    pub(crate) end: Option<EndReason>,
    pub(crate) idle: Duration,
    pub(crate) longest_idle: Duration,
    pub(crate) restorations: u64,
    pub(crate) sent_into_outage: u64,
}

/// What is known of one link direction when the run is over.
#[derive(Clone, Copy, Debug)]
pub struct LinkSummary {
    /// Counts.
    pub counts: LinkCounts,
}

/// Summary of one flow.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Sender and receiver.
    pub from: String,
    /// See `from`.
    pub to: String,
    /// Recovery and congestion control.
    pub tcp: &'static str,
    /// When it opened.
    pub start: Instant,
    /// When its last byte was delivered and acknowledged; `None` if it was not.
    pub finished: Option<Instant>,
    /// Payload bytes acknowledged, of those delivered: what stands for the receiver may acknowledge earlier.
    pub acknowledged: u64,
    /// Payload bytes delivered in order at the receiver.
    pub delivered: u64,
    /// Counts of the sender.
    pub stats: Stats,
    /// State of the sender at the end of the run.
    pub state: State,
    /// Why the sender's connection is over, if it is.
    pub end: Option<EndReason>,
    /// Time from the end of each outage on its path to the next data segment, summed. The next outage, or the end of the
    /// run, ends it too.
    pub idle: Duration,
    /// The longest of these.
    pub longest_idle: Duration,
    /// How many times that were.
    pub restorations: u64,
    /// Segments with data that the sender sent again while an outage was on its path, there or back.
    pub sent_into_outage: u64,
    /// Segments with data that brought the receiver nothing: all of it had arrived before.
    pub duplicates: u64,
    /// What a scheme did at its two ends, see [`Stats::interventions`].
    pub interventions: u64,
    /// Whether both ends were plain TCP, whatever scheme their hosts carry.
    pub plain: bool,
    /// Acknowledged bits per second between start and finish, or the end of the run.
    pub goodput_bps: f64,
}

/// What a roaming host or an agent did.
#[derive(Clone, Copy, Debug, Default)]
pub struct MobilitySummary {
    /// What it is.
    pub roles: &'static str,
    /// How often the host began to speak through an access point or agent.
    pub attachments: u64,
    /// Registration replies that the host got.
    pub registrations: u64,
    /// Time that the host was not registered, or had no access point.
    pub cut_off: Duration,
    /// The longest of these times.
    pub longest_cut: Duration,
    /// Control messages sent.
    pub messages: u64,
    /// Packets put into tunnels.
    pub tunnelled: u64,
    /// Packets discarded for want of a place to send them.
    pub dropped: u64,
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Results {
    /// When the run ended.
    pub ended: Instant,
    /// Events that were scheduled.
    pub events: u64,
    /// One per flow.
    pub flows: Vec<FlowSummary>,
    /// One per source of datagrams.
    pub datagrams: Vec<DatagramSummary>,
    /// One per link direction.
    pub links: Vec<LinkSummary>,
    /// By cell, then by member.
    pub stations: Vec<Vec<wifi::Stats>>,
    /// Roaming hosts and agents, by node.
    pub mobility: Vec<(usize, MobilitySummary)>,
    /// The scheme on mobile hosts.
    pub scheme: &'static str,
    /// By node, what the scheme did there but to TCP: orders to MACs, segments taken, changed or made, messages.
    pub node_interventions: Vec<u64>,
}

impl Results {
    pub(crate) fn new(
        scenario: &Scenario,
        ended: Instant,
        events: u64,
        ends: &[EndSummary],
        links: Vec<LinkSummary>,
        stations: Vec<Vec<wifi::Stats>>,
        mobility: Vec<(usize, MobilitySummary)>,
    ) -> Self {
        let flows = scenario
            .flows
            .iter()
            .zip(ends.chunks_exact(2))
            .map(|(flow, pair)| {
                // A base station that stands for the receiver acknowledges what is still on its way.
                let sender =
                    EndSummary { acknowledged: pair[0].acknowledged.min(pair[1].delivered), ..pair[0] };
                let completed = sender.finished.filter(|_| flow.bytes == Some(sender.acknowledged));
                let until = completed.unwrap_or(ended).since(flow.start).as_secs_f64();
                let bits = sender.acknowledged as f64 * 8.0;
                FlowSummary {
                    name: flow.name.clone(),
                    from: scenario.nodes[flow.from].name.clone(),
                    to: scenario.nodes[flow.to].name.clone(),
                    tcp: flow.variant.name,
                    start: flow.start,
                    finished: completed,
                    acknowledged: sender.acknowledged,
                    delivered: pair[1].delivered,
                    stats: sender.stats,
                    state: sender.state,
                    end: sender.end,
                    idle: sender.idle,
                    longest_idle: sender.longest_idle,
                    restorations: sender.restorations,
                    sent_into_outage: sender.sent_into_outage,
                    duplicates: pair[1].stats.duplicate_segments,
                    interventions: sender.stats.interventions + pair[1].stats.interventions,
                    plain: flow.plain,
                    goodput_bps: if until > 0.0 { bits / until } else { 0.0 },
                }
            })
            .collect();
        let scheme = scenario.scheme.spec.name;
        let (datagrams, node_interventions) = (Vec::new(), Vec::new());
        Results { ended, events, flows, datagrams, links, stations, mobility, scheme, node_interventions }
    }

    /// How often the scheme did anything: at the ends of flows, and elsewhere on hosts and base stations.
    pub fn interventions(&self) -> u64 {
        let at_ends: u64 = self.flows.iter().map(|flow| flow.interventions).sum();
        at_ends + self.node_interventions.iter().sum::<u64>()
    }

    /// The flows as a table.
    pub fn flow_table(&self) -> Table {
        let columns = [
            "flow",
            "from",
            "to",
            "scheme",
            "tcp",
            "start_s",
            "finish_s",
            "acked_bytes",
            "goodput_kbps",
            "segments",
            "retransmissions",
            "timeouts",
            "fast_retransmits",
            "freezes",
            "idle_s",
            "longest_idle_s",
            "state",
        ];
        let row = |flow: &FlowSummary| {
            let state = flow.end.map_or(flow.state.name(), EndReason::name);
            vec![
                Cell::Text(flow.name.clone()),
                Cell::Text(flow.from.clone()),
                Cell::Text(flow.to.clone()),
                Cell::Text(if flow.plain { none::SPEC.name } else { self.scheme }.to_owned()),
                Cell::Text(flow.tcp.to_owned()),
                Cell::Number(flow.start.as_secs_f64(), 6),
                Cell::number(flow.finished.map(Instant::as_secs_f64), 6),
                Cell::Integer(flow.acknowledged),
                Cell::Number(flow.goodput_bps / 1e3, 3),
                Cell::Integer(flow.stats.data_segments),
                Cell::Integer(flow.stats.retransmissions),
                Cell::Integer(flow.stats.timeouts),
                Cell::Integer(flow.stats.fast_retransmits),
                Cell::Integer(flow.stats.freezes),
                Cell::Number(flow.idle.as_secs_f64(), 6),
                Cell::Number(flow.longest_idle.as_secs_f64(), 6),
                Cell::Text(state.to_owned()),
            ]
        };
        Table {
            id: "flows".into(),
            caption: format!("Flows at {}", self.ended),
            columns: columns.map(str::to_owned).to_vec(),
            rows: self.flows.iter().map(row).collect(),
        }
    }

    /// The link directions as a table.
    pub fn link_table(&self, scenario: &Scenario) -> Table {
        let columns = [
            "from",
            "to",
            "offered",
            "arrived",
            "arrived_bytes",
            "dropped_queue",
            "dropped_early",
            "dropped_loss",
            "dropped_outage",
            "mean_queue",
        ];
        let row = |(index, summary): (usize, &LinkSummary)| {
            let (from, to) = link_ends(scenario, index);
            let c = summary.counts;
            let counts = [
                c.offered,
                c.arrived,
                c.arrived_bytes,
                c.dropped_queue,
                c.dropped_early,
                c.dropped_loss,
                c.dropped_outage,
            ];
            let names = [Cell::Text(from.to_owned()), Cell::Text(to.to_owned())];
            let mean_queue = c.waiting.as_secs_f64() / self.ended.as_secs_f64().max(1e-9);
            let mean_queue = Cell::Number(mean_queue, 3);
            names.into_iter().chain(counts.map(Cell::Integer)).chain([mean_queue]).collect()
        };
        Table {
            id: "links".into(),
            caption: format!("Link directions at {}", self.ended),
            columns: columns.map(str::to_owned).to_vec(),
            rows: self.links.iter().enumerate().map(row).collect(),
        }
    }
}

impl Results {
    /// The stations of all cells as a table.
    pub fn station_table(&self, scenario: &Scenario) -> Table {
        let columns = [
            "cell",
            "node",
            "attempts",
            "failures",
            "delivered",
            "dropped_retry",
            "dropped_queue",
            "duplicates",
        ];
        let mut rows = Vec::new();
        for (cell, stations) in scenario.cells.iter().zip(&self.stations) {
            for (member, s) in cell.members.iter().zip(stations) {
                let node = scenario.nodes[member.node].name.clone();
                let counts = [s.attempts, s.failures, s.delivered, s.dropped, s.refused, s.duplicates];
                let names = [Cell::Text(cell.name.clone()), Cell::Text(node)];
                rows.push(names.into_iter().chain(counts.map(Cell::Integer)).collect());
            }
        }
        Table {
            id: "stations".into(),
            caption: format!("Stations at {}", self.ended),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
        }
    }
}

impl Results {
    /// Roaming hosts and agents as a table.
    pub fn mobility_table(&self, scenario: &Scenario) -> Table {
        let columns = [
            "node",
            "role",
            "attachments",
            "registrations",
            "cut_off_s",
            "longest_cut_s",
            "messages",
            "tunnelled",
            "dropped",
        ];
        let row = |(node, summary): &(usize, MobilitySummary)| {
            let seconds = |duration: Duration| Cell::Number(duration.as_secs_f64(), 6);
            vec![
                Cell::Text(scenario.nodes[*node].name.clone()),
                Cell::Text(summary.roles.to_owned()),
                Cell::Integer(summary.attachments),
                Cell::Integer(summary.registrations),
                seconds(summary.cut_off),
                seconds(summary.longest_cut),
                Cell::Integer(summary.messages),
                Cell::Integer(summary.tunnelled),
                Cell::Integer(summary.dropped),
            ]
        };
        Table {
            id: "mobility".into(),
            caption: format!("Roaming hosts and agents at {}", self.ended),
            columns: columns.map(str::to_owned).to_vec(),
            rows: self.mobility.iter().map(row).collect(),
        }
    }
}

/// Names of the two ends of a link direction.
fn link_ends(scenario: &Scenario, direction: usize) -> (&str, &str) {
    let [a, b] = scenario.links[direction / 2].ends;
    let (from, to) = if direction.is_multiple_of(2) { (a, b) } else { (b, a) };
    (&scenario.nodes[from].name, &scenario.nodes[to].name)
}

/// Writes the event trace as CSV, one event a line. Times are integer nanoseconds; fields that an event does not have
/// are empty.
pub struct CsvTrace<'a, W: Write> {
    scenario: &'a Scenario,
    out: W,
    failure: Option<io::Error>,
}

impl<'a, W: Write> CsvTrace<'a, W> {
    /// A trace of a run of `scenario`; writes the heading.
    pub fn new(scenario: &'a Scenario, mut out: W) -> Self {
        let heading = "time_ns,place,event,start,len_bytes,ack,retransmission,cwnd_segments,ssthresh_segments,rto_ns,detail";
        let failure = writeln!(out, "{heading}").err();
        CsvTrace { scenario, out, failure }
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The first error that writing met.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn place_name(&self, place: Place) -> String {
        match place {
            Place::End(end) => {
                let flow = &self.scenario.flows[end / 2].name;
                format!("{flow}/{}", if end.is_multiple_of(2) { "sender" } else { "receiver" })
            }
            Place::Link(direction) => {
                let (from, to) = link_ends(self.scenario, direction);
                format!("{from}->{to}")
            }
            Place::Node(node) => self.scenario.nodes[node].name.clone(),
            Place::Station { cell, station } => {
                let cell = &self.scenario.cells[cell];
                format!("{}/{}", cell.name, self.scenario.nodes[cell.members[station].node].name)
            }
        }
    }
}

/// The variable columns of one event.
#[derive(Default)]
struct Fields {
    start: Option<u64>,
    len: Option<u32>,
    ack: Option<u64>,
    retransmission: Option<bool>,
    cwnd: Option<f64>,
    ssthresh: Option<f64>,
    rto: Option<Duration>,
    detail: String,
}

impl<W: Write> CsvTrace<'_, W> {
    /// The name of the node with an address; the address itself if there is none, as of a multicast.
    fn node_name(&self, address: Address) -> String {
        let node = node_of(address).and_then(|node| self.scenario.nodes.get(node));
        node.map_or_else(|| address.to_string(), |node| node.name.clone())
    }

    fn fields(&self, event: &Event) -> Fields {
        let none = Fields::default();
        match *event {
            Event::StateChanged { from, to } => {
                Fields { detail: format!("{} to {}", from.name(), to.name()), ..none }
            }
            Event::SegmentSent { start, len, retransmission } => {
                Fields { start: Some(start), len: Some(len), retransmission: Some(retransmission), ..none }
            }
            Event::AckSent { ack } => Fields { ack: Some(ack), ..none },
            Event::AckReceived { ack, cwnd, ssthresh, rto } => Fields {
                ack: Some(ack),
                cwnd: Some(cwnd),
                ssthresh: Some(ssthresh).filter(|s| s.is_finite()),
                rto: Some(rto),
                ..none
            },
            Event::DataReceived { start, len, rcv_nxt } => {
                Fields { start: Some(start), len: Some(len), ack: Some(rcv_nxt), ..none }
            }
            Event::RttMeasured { rtt, rto } => {
                Fields { rto: Some(rto), detail: format!("rtt {}", rtt.as_nanos()), ..none }
            }
            Event::TimeoutExpired { snd_una, rto, backoff, verdict } => Fields {
                start: Some(snd_una),
                rto: Some(rto),
                detail: format!("backoff {backoff} {}", verdict.name()),
                ..none
            },
            Event::LossDetected { snd_una, verdict } => {
                Fields { start: Some(snd_una), detail: verdict.name().to_owned(), ..none }
            }
            Event::CommandExecuted { command } => Fields { detail: command.to_owned(), ..none },
            Event::Ended { reason } => Fields { detail: reason.name().to_owned(), ..none },
            Event::SignalHeard(signal) => Fields {
                detail: format!("{} origin {}", signal.kind.name(), signal.origin.as_nanos()),
                ..none
            },
            Event::PacketDropped { cause, bytes } => {
                Fields { len: Some(bytes), detail: cause.name().to_owned(), ..none }
            }
            Event::FrameOnAir { tries, bytes, is_data } => {
                let kind = if is_data { "data" } else { "rts" };
                Fields { len: Some(bytes), detail: format!("{kind} try {tries}"), ..none }
            }
            Event::AttachmentChanged { to } => {
                Fields { detail: to.map_or("nobody".to_owned(), |to| self.node_name(to)), ..none }
            }
            Event::Registered { with } => Fields { detail: self.node_name(with), ..none },
            Event::BindingChanged { host, care_of } => {
                let way = care_of.map_or("by routing".to_owned(), |at| format!("at {}", self.node_name(at)));
                Fields { detail: format!("{} {way}", self.node_name(host)), ..none }
            }
            Event::MessageSent { message, to } => {
                Fields { detail: format!("{message} to {}", self.node_name(to)), ..none }
            }
            Event::WindowProbed | Event::Thawed | Event::OutageBegan | Event::OutageEnded => none,
        }
    }
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

impl<W: Write> Observer for CsvTrace<'_, W> {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if self.failure.is_some() {
            return;
        }
        let f = self.fields(event);
        let decimals = |v: Option<f64>| v.map_or_else(String::new, |v| format!("{v:.4}"));
        let line = writeln!(
            self.out,
            "{},{},{},{},{},{},{},{},{},{},{}",
            at.as_nanos(),
            csv_field(&self.place_name(place)),
            event.name(),
            optional(f.start),
            optional(f.len),
            optional(f.ack),
            optional(f.retransmission),
            decimals(f.cwnd),
            decimals(f.ssthresh),
            optional(f.rto.map(Duration::as_nanos)),
            csv_field(&f.detail),
        );
        self.failure = line.err();
    }
}
