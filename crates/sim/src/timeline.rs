//! What a run looked like: one flow and the mobile host at its end, as series over time that fit a picture.
//!
//! [`Recorder`] listens to the events of a run and keeps at most some 20 marks in each of [`COLUMNS`] columns of time, so
//! that a run of any length and rate fits. A column keeps the extremes of each curve; no retransmission, timeout, signal,
//! outage or freeze is left out, but those of one column may share a mark.
//!
//! Differences from what TCP had inside: events carry `cwnd`, `ssthresh` and the timeout with each ACK of new data.
//! Between these a curve keeps its value, but that a timeout which TCP acts upon shows `cwnd` at one segment
//! (RFC 5681 §3.1), and that a timer which expired again shows the value to which it had been set. What else happens to
//! the windows between two ACKs, such as the cut of a fast retransmit, is seen with the next ACK. Timeouts of the handshake
//! have no event; only the SYN that is sent again shows them.

mod columns;
#[cfg(test)]
mod tests;

use segue_proto::mobile_ip::Address;
use segue_proto::signal::SignalKind;
use segue_proto::tcp::Verdict;
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;

use crate::results::{Observer, Place};
use crate::scenario::mobile_ip::node_of;
use crate::scenario::{NodeKind, Scenario};
use crate::world::{Way, way_of};
pub use columns::{Burst, COLUMNS, Point, Tick};
use columns::{Columns, Curve, Range, Ranges, Ticks};

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub from: Instant,
    /// When it was over; the end of the run, if it was not.
    pub until: Instant,
}

impl Span {
    /// How long it lasted.
    pub fn duration(self) -> Duration {
        self.until.since(self.from)
    }
}

/// A time during which nothing could get through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When.
    pub span: Span,
    /// When the sender sent its first data after it; `None`: it had nothing to send, or the next outage came first.
    pub resumed: Option<Instant>,
}

impl Outage {
    /// Time from the end of the outage to the next data.
    pub fn idle(&self) -> Option<Duration> {
        self.resumed.map(|resumed| resumed.since(self.span.until))
    }
}

/// Through whom the host spoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// When.
    pub span: Span,
    /// The access point or agent; `None`: nobody.
    pub to: Option<String>,
}

/// Signals of one kind, as a policy heard them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Name of the kind, as in traces.
    pub kind: &'static str,
    /// When.
    pub at: Vec<Tick>,
}

/// What became of one flow. Bytes count from the first of the stream, windows in segments, the timeout in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// When the run ended.
    pub ended: Instant,
    /// Index of the flow.
    pub flow: usize,
    /// The mobile host at one end of it, if there is one.
    pub host: Option<String>,
    /// Bytes sent for the first time.
    pub sent: Vec<Burst>,
    /// Bytes sent again.
    pub resent: Vec<Burst>,
    /// Bytes acknowledged.
    pub acknowledged: Vec<Point>,
    /// Congestion window.
    pub cwnd: Vec<Point>,
    /// Slow-start threshold, while it is finite.
    pub ssthresh: Vec<Point>,
    /// Retransmission timeout.
    pub rto: Vec<Point>,
    /// Expiries of the retransmission timer, whatever the answer.
    pub timeouts: Vec<Tick>,
    /// Signals about the link and IP that the policy on the mobile host heard; empty without a policy.
    pub signals: Vec<Heard>,
    /// Times during which a policy held the sender.
    pub freezes: Vec<Span>,
    /// Without a gap from the beginning to the end of the run; empty if the host does not roam.
    pub attachments: Vec<Attachment>,
    /// When the host was registered, or at home, after it was not.
    pub registrations: Vec<Tick>,
    /// Outages of what the flow goes through, those that overlap as one.
    pub outages: Vec<Outage>,
}

impl Timeline {
    /// How many marks a picture of it has.
    pub fn marks(&self) -> usize {
        let curves = [&self.acknowledged, &self.cwnd, &self.ssthresh, &self.rto];
        let signals = self.signals.iter().map(|heard| heard.at.len());
        let spans = self.freezes.len() + self.attachments.len() + self.outages.len();
        self.sent.len()
            + self.resent.len()
            + curves.iter().map(|curve| curve.len()).sum::<usize>()
            + self.timeouts.len()
            + signals.sum::<usize>()
            + self.registrations.len()
            + spans
    }
}

/// Signals that are recorded, by name.
const SIGNALS: [SignalKind; 4] =
    [SignalKind::LinkNotOk, SignalKind::LinkOk, SignalKind::IpNotOk, SignalKind::IpOk];

/// Listens to a run; [`finish`](Recorder::finish) gives the [`Timeline`].
#[derive(Debug)]
pub struct Recorder<'a> {
    scenario: &'a Scenario,
    flow: usize,
    host: Option<usize>,
    way: Way,
    sent: Columns<Range>,
    resent: Columns<Ranges>,
    acknowledged: Columns<Curve>,
    cwnd: Columns<Curve>,
    ssthresh: Columns<Curve>,
    rto: Columns<Curve>,
    timeouts: Columns<Ticks>,
    signals: [Columns<Ticks>; 4],
    registrations: Columns<Ticks>,
    /// The last expiry, unless an ACK has come since.
    expired: Option<Instant>,
    /// Since when the sender has been held, if it is.
    frozen: Option<Instant>,
    freezes: Vec<Span>,
    /// Since when the host has spoken through whom.
    attached: (Instant, Option<Address>),
    attachments: Vec<Attachment>,
    /// Whether anything has left the sender.
    opened: bool,
    /// What is down, as often as it is.
    down: Vec<Place>,
    down_since: Instant,
    outages: Vec<Outage>,
    /// Whether the end of the last outage still waits for the next data.
    silent: bool,
}

impl<'a> Recorder<'a> {
    /// Records flow number `flow` of `scenario`.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn new(scenario: &'a Scenario, flow: usize) -> Self {
        Recorder {
            scenario,
            flow,
            host: mobile_host(scenario, flow),
            way: way_of(scenario, flow),
            sent: Columns::default(),
            resent: Columns::default(),
            acknowledged: Columns::default(),
            cwnd: Columns::default(),
            ssthresh: Columns::default(),
            rto: Columns::default(),
            timeouts: Columns::default(),
            signals: Default::default(),
            registrations: Columns::default(),
            expired: None,
            frozen: None,
            freezes: Vec::new(),
            attached: (Instant::ZERO, None),
            attachments: Vec::new(),
            opened: false,
            down: Vec::new(),
            down_since: Instant::ZERO,
            outages: Vec::new(),
            silent: false,
        }
    }

    /// What was recorded, of a run that ended at `ended`.
    pub fn finish(mut self, ended: Instant) -> Timeline {
        self.thaw(ended);
        if !self.down.is_empty() {
            let span = Span { from: self.down_since, until: ended };
            self.outages.push(Outage { span, resumed: None });
        }
        if self.host.is_some_and(|host| roams(self.scenario, host)) {
            self.leave(ended);
        }
        let heard = |(kind, at): (&SignalKind, &Columns<Ticks>)| Heard { kind: kind.name(), at: at.ticks() };
        Timeline {
            ended,
            flow: self.flow,
            host: self.host.map(|host| self.scenario.nodes[host].name.clone()),
            sent: self.sent.bursts(),
            resent: self.resent.bursts(),
            acknowledged: self.acknowledged.points(),
            cwnd: self.cwnd.points(),
            ssthresh: self.ssthresh.points(),
            rto: self.rto.points(),
            timeouts: self.timeouts.ticks(),
            signals: SIGNALS.iter().zip(&self.signals).map(heard).filter(|h| !h.at.is_empty()).collect(),
            freezes: self.freezes,
            attachments: self.attachments,
            registrations: self.registrations.ticks(),
            outages: self.outages,
        }
    }

    fn observe_sender(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::SegmentSent { start, len, retransmission } => {
                self.note_segment(at, start, len, retransmission);
            }
            Event::AckReceived { ack, cwnd, ssthresh, rto } => {
                self.expired = None;
                self.acknowledged.add(at, Curve::of(at, ack.saturating_sub(1) as f64));
                self.cwnd.add(at, Curve::of(at, cwnd));
                if ssthresh.is_finite() {
                    self.ssthresh.add(at, Curve::of(at, ssthresh));
                }
                self.rto.add(at, Curve::of(at, rto.as_secs_f64()));
            }
            Event::TimeoutExpired { rto, verdict, .. } => self.note_timeout(at, rto, verdict),
            Event::LossDetected { verdict: Verdict::Freeze, .. }
            | Event::CommandExecuted { command: "suspend" } => self.freeze(at),
            Event::CommandExecuted { command: "restore" | "resume" }
            | Event::Thawed
            | Event::Ended { .. } => self.thaw(at),
            _ => {}
        }
    }

    fn note_segment(&mut self, at: Instant, start: u64, len: u32, retransmission: bool) {
        self.opened = true;
        // The SYN is position 0, the first byte of the stream 1.
        let low = start.saturating_sub(1);
        let burst = Burst { from: at, until: at, low, high: low + u64::from(len) };
        if retransmission {
            self.resent.add(at, Ranges(vec![burst]));
        } else {
            self.sent.add(at, Range(Some(burst)));
        }
        if len > 0 && self.silent {
            self.silent = false;
            if let Some(last) = self.outages.last_mut() {
                last.resumed = Some(at);
            }
        }
    }

    fn note_timeout(&mut self, at: Instant, rto: Duration, verdict: Verdict) {
        // The timer has had its value since it was set, which is when it expired before.
        if let Some(before) = self.expired.replace(at) {
            self.rto.add(before, Curve::of(before, rto.as_secs_f64()));
        }
        self.rto.add(at, Curve::of(at, rto.as_secs_f64()));
        self.timeouts.add(at, one(at));
        match verdict {
            Verdict::Proceed => self.cwnd.add(at, Curve::of(at, 1.0)),
            Verdict::Freeze => self.freeze(at),
            Verdict::RetransmitKeep { .. } | Verdict::Suppress => {}
        }
    }

    fn freeze(&mut self, at: Instant) {
        self.frozen.get_or_insert(at);
    }

    fn thaw(&mut self, at: Instant) {
        if let Some(from) = self.frozen.take() {
            self.freezes.push(Span { from, until: at });
        }
    }

    /// The host speaks no longer through whom it spoke.
    fn leave(&mut self, at: Instant) {
        let (from, to) = self.attached;
        if at > from {
            let node = to.and_then(node_of).and_then(|node| self.scenario.nodes.get(node));
            let name = node.map(|node| node.name.clone()).or_else(|| to.map(|to| to.to_string()));
            self.attachments.push(Attachment { span: Span { from, until: at }, to: name });
        }
    }

    fn observe_host(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::AttachmentChanged { to } => {
                self.leave(at);
                self.attached = (at, to);
            }
            Event::Registered { .. } => self.registrations.add(at, one(at)),
            Event::SignalHeard(signal) => {
                if let Some(kind) = SIGNALS.iter().position(|kind| *kind == signal.kind) {
                    self.signals[kind].add(at, one(at));
                }
            }
            _ => {}
        }
    }

    fn begin_outage(&mut self, at: Instant, place: Place) {
        if self.down.is_empty() {
            self.down_since = at;
            self.silent = false;
        }
        self.down.push(place);
    }

    fn end_outage(&mut self, at: Instant, place: Place) {
        match self.down.iter().position(|down| *down == place) {
            Some(index) => {
                self.down.swap_remove(index);
            }
            None => {
                // A host that begins cut off does not say so; this is its first word.
                self.outages.clear();
                self.down_since = Instant::ZERO;
            }
        }
        // A host that finds its access point at once was never cut off.
        if self.down.is_empty() && at > self.down_since {
            let span = Span { from: self.down_since, until: at };
            self.outages.push(Outage { span, resumed: None });
            self.silent = self.opened;
        }
    }

    /// Whether an outage of `place` hits the flow.
    fn concerns(&self, place: Place) -> bool {
        let flow = &self.scenario.flows[self.flow];
        let is_end = |node: usize| node == flow.from || node == flow.to;
        match place {
            Place::Node(node) => is_end(node),
            Place::Link(direction) => self.way.links.contains(&(direction / 2)),
            Place::Station { cell, station } => {
                is_end(self.scenario.cells[cell].members[station].node)
                    || self.way.stations.contains(&(cell, station))
            }
            Place::End(_) => false,
        }
    }
}

impl Observer for Recorder<'_> {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        match event {
            Event::OutageBegan if self.concerns(place) => self.begin_outage(at, place),
            Event::OutageEnded if self.concerns(place) => self.end_outage(at, place),
            _ if place == Place::End(2 * self.flow) => self.observe_sender(at, event),
            _ if self.host.is_some_and(|host| place == Place::Node(host)) => self.observe_host(at, event),
            _ => {}
        }
    }
}

fn one(at: Instant) -> Ticks {
    Ticks(Some(Tick { at, count: 1 }))
}

/// The end of a flow that moves: the sender, if both do.
fn mobile_host(scenario: &Scenario, flow: usize) -> Option<usize> {
    let flow = &scenario.flows[flow];
    let is_mobile = |node: &usize| matches!(scenario.nodes[*node].kind, NodeKind::Host { mobile: true, .. });
    let ends = [flow.from, flow.to];
    let roaming = ends.into_iter().find(|node| roams(scenario, *node));
    ends.into_iter().find(is_mobile).or(roaming)
}

/// Whether a host changes its access point or agent.
fn roams(scenario: &Scenario, node: usize) -> bool {
    scenario.cells.iter().any(|cell| cell.clients().iter().any(|client| client.node == node))
}
