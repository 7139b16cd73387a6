//! Boosted TCP: the path tells the sender why a packet was lost.
//!
//! ## What it does
//! Queues stamp each packet with the highest probability of being dropped that any of them computed for it. The receiver
//! sends that number (p_max) back in an option of its ACKs. A sender that sees a loss slows down only if p_max exceeds a
//! threshold of 75 %; otherwise it takes the loss for one of the radio, and sends again without a cut. The mobile host
//! also reports the power of the frames that it hears, and when a handover begins and ends; a sender that is told of one
//! holds still until it is over.
//!
//! ## Signals it reads
//! `drop-probability` with each segment; on the mobile host `received-power` (with `report_power`), `handover-started`,
//! `handover-completed`, and as signs of a handover the levels of link and IP (`handover`).
//!
//! ## What it changes in TCP
//! The answer to the third duplicate ACK; with `variant` k and f also that to the retransmission timeout. ACKs carry a
//! report ([`PathReport`]).
//!
//! ## Where it runs
//! On both hosts: each has a receiving half, which reports, and a sending half, which decides. Only the mobile host has
//! something to say of power and handovers; as sender it holds still by itself. Queues stamp without knowing of it.
//!
//! ## Parameters
//! See [`PARAMS`].
//!
//! ## Differences from the paper
//! * The decision is taken at the third duplicate ACK, where Tahoe acts (boosted-tcp B1); `dup_acks` = 1 or 2 repairs
//!   earlier, as the text says. A slow-down always comes with the third.
//! * "Higher than the threshold" slows down; equal does not (boosted-tcp B2).
//! * The ACKs of a loss carry the p_max of packets that arrived. The highest of the loss event and of the last round trip
//!   decides (boosted-tcp B3); `evidence = "last-ack"` takes the newest alone.
//! * The paper describes duplicate ACKs only and finds its gain where there are hardly any. `variant` d is its letter; k
//!   also keeps the window at a timeout, and still doubles the timer; f does not double it (boosted-tcp B6, B7).
//! * The last value counts for ever (boosted-tcp B8, `p_max_ttl`) and is 0 before the first (boosted-tcp B9). A value that
//!   has grown too old, or reports without one, count as congestion, unless `power_evidence` blames the radio
//!   (boosted-tcp B11).
//! * During a handover every ACK says so, so that one that was under way does not end the hold (boosted-tcp B14). The end is
//!   told `handover_notices` times. An ACK of new data without the mark ends it too; `watchdog` probes.
//!
//! ## Not modelled
//! Authentication of reports: who can write ACKs can stop or deceive the sender.
//!
//! ## References
//! \[Guennoun\] M. Guennoun: Boosting TCP with Cross-Layer Information Awareness in Wireless Networks, 2011, §3.

use std::collections::{BTreeMap, VecDeque};

use super::{Action, Helps, Scheme, Spec};
use crate::params::{Kind, Param, Params};
use crate::signal::{Level, Sample, Scope, Signal, SignalKind};
use crate::tcp::{
    Command, Connection, ConnectionId, Experimental, Flags, Handover, Hooks, Loss, Options, PathReport,
    Probability, Segment, State, Verdict,
};
use crate::time::{Duration, Instant};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "boosted-tcp",
    summary: "queues and receiver tell the sender why a packet was lost; no cut below a drop probability of 75 %",
    params: PARAMS,
    helps: Helps::BOTH,
    mobile: Some(|params| Box::new(BoostedTcp::new(params, true))),
    fixed: Some(|params| Box::new(BoostedTcp::new(params, false))),
    base_station: None,
};

/// The parameters.
pub const PARAMS: &[Param] = &[
    Param {
        name: "variant",
        doc: "What a low p_max excuses: \"d\" duplicate ACKs, as printed; \"k\" also timeouts, whose timer still doubles; \"f\" without doubling (boosted-tcp B6).",
        kind: Kind::Choice(&["k", "d", "f"]),
        default: "k",
    },
    Param {
        name: "threshold",
        doc: "p_max above which a loss is taken for congestion [Guennoun §3.3] (boosted-tcp B2).",
        kind: Kind::Number(0.0, 1.0),
        default: "0.75",
    },
    Param {
        name: "dup_acks",
        doc: "Duplicate ACKs after which a loss that is excused is repaired (boosted-tcp B1).",
        kind: Kind::Integer(1, 3),
        default: "3",
    },
    Param {
        name: "evidence",
        doc: "Which p_max decides: the highest of the loss event and the last round trip, or that of the newest ACK (boosted-tcp B3).",
        kind: Kind::Choice(&["recent-max", "last-ack"]),
        default: "recent-max",
    },
    Param {
        name: "p_max_ttl",
        doc: "How long a reported p_max counts; an older one counts as congestion (boosted-tcp B8).",
        kind: Kind::Duration(Duration::from_millis(1), Duration::MAX),
        default: "for ever",
    },
    Param {
        name: "report_p_max",
        doc: "Whether the receiver reports p_max.",
        kind: Kind::Bool,
        default: "true",
    },
    Param {
        name: "report_power",
        doc: "Whether a mobile receiver reports the power of the last frame.",
        kind: Kind::Bool,
        default: "true",
    },
    Param {
        name: "power_evidence",
        doc: "Where p_max is missing, a reported power below power_threshold_dbm excuses a loss (boosted-tcp B11).",
        kind: Kind::Bool,
        default: "false",
    },
    Param {
        name: "power_threshold_dbm",
        doc: "See power_evidence; the default is 3 dB above what ns-2's radio decodes (boosted-tcp B11).",
        kind: Kind::Number(-150.0, 50.0),
        default: "-61.4",
    },
    Param {
        name: "handover",
        doc: "What counts as a handover of the mobile host besides explicit news of one: bad link or registration, bad link, or nothing (boosted-tcp B14).",
        kind: Kind::Choice(&["link+ip", "link", "explicit"]),
        default: "link+ip",
    },
    Param {
        name: "handover_notices",
        doc: "How often the end of a handover is told.",
        kind: Kind::Integer(1, 10),
        default: "3",
    },
    Param {
        name: "watchdog",
        doc: "A hold of this length is probed with one segment, again and again.",
        kind: Kind::Duration(Duration::from_millis(1), Duration::MAX),
        default: "60 s",
    },
];

/// What a low p_max excuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    DupAcks,
    KeepOnTimeout,
    KeepWithoutBackoff,
}

/// The part on one host.
#[derive(Debug)]
pub struct BoostedTcp {
    is_mobile: bool,
    variant: Variant,
    threshold: f64,
    dup_acks: u32,
    newest_only: bool,
    p_max_ttl: Duration,
    report_p_max: bool,
    report_power: bool,
    power_threshold_dbm: Option<f64>,
    heeds_link: bool,
    heeds_ip: bool,
    handover_notices: u32,
    watchdog: Duration,
    link: Level,
    ip: Level,
    /// This host is in a handover.
    in_handover: bool,
    power_dbm: Option<f64>,
    connections: BTreeMap<ConnectionId, Halves>,
    actions: VecDeque<Action>,
}

/// What is known of one connection.
#[derive(Debug)]
struct Halves {
    receiving: Receiving,
    sending: Sending,
}

/// The half that reports.
#[derive(Debug, Default)]
struct Receiving {
    /// Came with the segment that is being handled.
    arriving: Option<f64>,
    /// Highest of the data since the last ACK.
    collected: Option<f64>,
    /// What the last ACK said.
    reported: Option<f64>,
    has_data: bool,
    /// ACKs that are still to tell the end of a handover.
    completions_due: u32,
}

/// The half that decides.
#[derive(Debug)]
struct Sending {
    p_max: Sample<f64>,
    /// The highest of the last round trip: values that no later one exceeds, by age.
    recent: VecDeque<(Instant, f64)>,
    /// Highest since the last ACK of new data.
    of_event: f64,
    /// A report has come that had none.
    is_missing: bool,
    power_dbm: Option<f64>,
    dup_acks: u32,
    /// The loss that duplicate ACKs show now has been repaired before the third.
    repaired: bool,
    has_data: bool,
    outstanding: bool,
    held: Option<Held>,
    /// The ACK that is being handled says that the peer is in a handover.
    marked: bool,
}

/// A sender that holds still.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// When the watchdog looks.
    probe_at: Instant,
    /// An ACK of new data means that the path works.
    progress_ends: bool,
}

impl BoostedTcp {
    /// The part on a mobile host, or on another.
    pub fn new(params: &Params, is_mobile: bool) -> Self {
        let variant = match params.choice("variant") {
            "d" => Variant::DupAcks,
            "f" => Variant::KeepWithoutBackoff,
            _ => Variant::KeepOnTimeout,
        };
        let handover = params.choice("handover");
        BoostedTcp {
            is_mobile,
            variant,
            threshold: params.number("threshold"),
            // The declared ranges are far inside 32 bits.
            dup_acks: params.integer("dup_acks") as u32,
            newest_only: params.choice("evidence") == "last-ack",
            p_max_ttl: params.duration("p_max_ttl"),
            report_p_max: params.bool("report_p_max"),
            report_power: params.bool("report_power"),
            power_threshold_dbm: params.bool("power_evidence").then(|| params.number("power_threshold_dbm")),
            heeds_link: handover != "explicit",
            heeds_ip: handover == "link+ip",
            handover_notices: params.integer("handover_notices") as u32,
            watchdog: params.duration("watchdog"),
            link: Level::good(),
            ip: Level::good(),
            in_handover: false,
            power_dbm: None,
            connections: BTreeMap::new(),
            actions: VecDeque::new(),
        }
    }

    fn halves(&mut self, id: ConnectionId) -> &mut Halves {
        let p_max = Sample::new(self.p_max_ttl);
        self.connections.entry(id).or_insert_with(|| Halves {
            receiving: Receiving::default(),
            sending: Sending {
                p_max,
                recent: VecDeque::new(),
                of_event: 0.0,
                is_missing: false,
                power_dbm: None,
                dup_acks: 0,
                repaired: false,
                has_data: false,
                outstanding: false,
                held: None,
                marked: false,
            },
        })
    }

    fn order(&mut self, connection: ConnectionId, command: Command) {
        self.actions.push_back(Action::Tcp { connection, command });
    }

    /// Whether a loss of this connection is excused.
    fn blames_radio(&mut self, connection: &Connection, now: Instant) -> bool {
        let (threshold, newest_only) = (self.threshold, self.newest_only);
        let power_threshold = self.power_threshold_dbm;
        let rtt = connection.rtt().srtt().unwrap_or(Duration::ZERO);
        let sending = &mut self.halves(connection.id()).sending;
        let newest = sending.p_max.fresh(now).filter(|_| !sending.is_missing);
        match newest {
            Some(newest) if newest_only => newest <= threshold,
            Some(newest) => newest.max(sending.of_event).max(sending.highest(rtt, now)) <= threshold,
            // Nobody has reported yet: 0.
            None if sending.recent.is_empty() && !sending.is_missing => true,
            None => {
                let weak = |(limit, power): (f64, f64)| power < limit;
                power_threshold.zip(sending.power_dbm).is_some_and(weak)
            }
        }
    }

    /// The mobile host enters a handover, or hears that it is over.
    fn change_handover(&mut self, begins: bool, now: Instant) {
        if self.in_handover == begins {
            return;
        }
        self.in_handover = begins;
        let probe_at = now + self.watchdog;
        let notices = self.handover_notices;
        for (id, halves) in &mut self.connections {
            let Halves { receiving, sending } = halves;
            let mut order = |command| self.actions.push_back(Action::Tcp { connection: *id, command });
            if receiving.has_data {
                receiving.completions_due = if begins { 0 } else { notices };
                order(Command::SendDupAcks { copies: if begins { 1 } else { notices } });
            }
            if begins && sending.has_data && sending.held.is_none() {
                // ACKs that are under way say nothing about what is to come.
                sending.held = Some(Held { probe_at, progress_ends: false });
                order(Command::Suspend);
            } else if !begins && sending.held.take().is_some() {
                order(Command::Resume);
            }
        }
    }

    fn note_report(&mut self, id: ConnectionId, report: PathReport, now: Instant) -> bool {
        let probe_at = now + self.watchdog;
        let sending = &mut self.halves(id).sending;
        sending.is_missing = report.p_max.is_none();
        if let Some(p_max) = report.p_max.map(Probability::value) {
            sending.p_max.set(p_max, now);
            while sending.recent.back().is_some_and(|(_, older)| *older <= p_max) {
                sending.recent.pop_back();
            }
            sending.recent.push_back((now, p_max));
            sending.of_event = sending.of_event.max(p_max);
        }
        sending.power_dbm = report.power_dbm.map(f64::from).or(sending.power_dbm);
        sending.marked = report.handover == Some(Handover::Started);
        let command = match (report.handover, sending.held) {
            (Some(Handover::Started), None) => {
                sending.held = Some(Held { probe_at, progress_ends: true });
                Command::Suspend
            }
            (Some(Handover::Completed), Some(_)) => {
                sending.held = None;
                Command::Resume
            }
            // A further copy: it shows no hole.
            (Some(Handover::Completed), None) => return true,
            _ => return false,
        };
        self.order(id, command);
        false
    }

    /// A duplicate ACK before the third; TCP does nothing yet.
    fn note_dup_ack(&mut self, connection: &Connection, now: Instant) {
        let id = connection.id();
        let limit = self.dup_acks;
        let sending = &mut self.halves(id).sending;
        sending.dup_acks += 1;
        let is_due = sending.dup_acks == limit && limit < 3 && sending.held.is_none();
        let is_new = connection.sender().snd_una > connection.sender().recover;
        if is_due && is_new && self.blames_radio(connection, now) {
            self.halves(id).sending.repaired = true;
            self.order(id, Command::RetransmitNow { segments: 1 });
        }
    }
}

impl Sending {
    /// The highest value reported in the last `rtt`.
    fn highest(&mut self, rtt: Duration, now: Instant) -> f64 {
        // The last stays: it is the newest.
        while self.recent.len() > 1 && self.recent.front().is_some_and(|(at, _)| now.since(*at) > rtt) {
            self.recent.pop_front();
        }
        self.recent.front().map_or(0.0, |(_, value)| *value)
    }
}

impl Hooks for BoostedTcp {
    fn on_timeout(&mut self, connection: &Connection, now: Instant) -> Verdict {
        if self.variant == Variant::DupAcks || !self.blames_radio(connection, now) {
            return Verdict::Proceed;
        }
        Verdict::RetransmitKeep { backoff: self.variant == Variant::KeepOnTimeout }
    }

    fn on_loss_detected(&mut self, connection: &Connection, _loss: Loss, now: Instant) -> Verdict {
        if self.halves(connection.id()).sending.repaired {
            return Verdict::Suppress;
        }
        if self.blames_radio(connection, now) {
            Verdict::RetransmitKeep { backoff: true }
        } else {
            Verdict::Proceed
        }
    }

    fn on_ack(&mut self, connection: &Connection, acked: u64, now: Instant) {
        if acked == 0 {
            return self.note_dup_ack(connection, now);
        }
        let id = connection.id();
        let left = connection.sender().snd_max - connection.sender().snd_una > acked;
        let sending = &mut self.halves(id).sending;
        sending.of_event = sending.p_max.fresh(now).unwrap_or(0.0);
        sending.dup_acks = 0;
        sending.repaired = false;
        sending.outstanding = left;
        if sending.held.is_some_and(|held| held.progress_ends) && !sending.marked {
            sending.held = None;
            self.order(id, Command::Resume);
        }
    }

    fn on_ack_options(
        &mut self,
        connection: &Connection,
        options: &Options,
        pure_ack: bool,
        now: Instant,
    ) -> bool {
        let id = connection.id();
        match options.experimental {
            Some(Experimental::PathReport(report)) => self.note_report(id, report, now) && pure_ack,
            _ => {
                self.halves(id).sending.marked = false;
                false
            }
        }
    }

    fn on_send(&mut self, connection: &Connection, segment: &mut Segment, _now: Instant) -> bool {
        let (p_max, power, in_handover) = (self.report_p_max, self.report_power, self.in_handover);
        let power_dbm = self.power_dbm.filter(|_| self.is_mobile && power);
        let halves = self.halves(connection.id());
        if segment.len > 0 {
            halves.sending.has_data = true;
            halves.sending.outstanding = true;
        }
        let receiving = &mut halves.receiving;
        // A sender whose peer sends nothing has nothing to report.
        let is_due = segment.len == 0 || receiving.collected.is_some();
        if !receiving.has_data || !is_due || segment.flags.contains(Flags::SYN) {
            return true;
        }
        receiving.reported = receiving.collected.take().or(receiving.reported);
        let handover = if in_handover {
            Some(Handover::Started)
        } else if receiving.completions_due > 0 {
            receiving.completions_due -= 1;
            Some(Handover::Completed)
        } else {
            None
        };
        segment.options.experimental.get_or_insert(Experimental::PathReport(PathReport {
            p_max: receiving.reported.filter(|_| p_max).map(Probability::nearest),
            // In range by the clamp.
            power_dbm: power_dbm.map(|dbm| dbm.round().clamp(-128.0, 127.0) as i8),
            handover,
        }));
        true
    }

    fn on_state_change(&mut self, connection: &Connection, _from: State, _now: Instant) {
        if matches!(connection.state(), State::Closed | State::TimeWait) {
            self.connections.remove(&connection.id());
        }
    }

    fn on_data(&mut self, connection: &Connection, _segment: &Segment, _now: Instant) {
        let receiving = &mut self.halves(connection.id()).receiving;
        receiving.has_data = true;
        // Without stamps on the way no queue has said anything: boosted-tcp B9.
        let arriving = receiving.arriving.unwrap_or(0.0);
        receiving.collected = Some(receiving.collected.map_or(arriving, |highest| highest.max(arriving)));
    }
}

impl Scheme for BoostedTcp {
    fn handle_signal(&mut self, signal: &Signal, now: Instant) {
        match signal.kind {
            SignalKind::DropProbability(p) => {
                if let Scope::Flow(id) = signal.scope {
                    self.halves(ConnectionId(id)).receiving.arriving = Some(p);
                }
                return;
            }
            SignalKind::ReceivedPower(dbm) => {
                self.power_dbm = Some(dbm);
                return;
            }
            SignalKind::HandoverStarted => return self.change_handover(true, now),
            SignalKind::HandoverCompleted => return self.change_handover(false, now),
            SignalKind::LinkNotOk => self.link.set(false, now),
            SignalKind::LinkOk => self.link.set(true, now),
            SignalKind::IpNotOk => self.ip.set(false, now),
            SignalKind::IpOk => self.ip.set(true, now),
            _ => return,
        };
        let is_good = self.link.is_good() && (!self.heeds_ip || self.ip.is_good());
        if self.heeds_link {
            self.change_handover(!is_good, now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        let probe_at = now + self.watchdog;
        for (id, Halves { sending, .. }) in &mut self.connections {
            let Some(held) = sending.held.as_mut().filter(|held| held.probe_at <= now) else { continue };
            let command = if sending.outstanding {
                *held = Held { probe_at, progress_ends: true };
                Command::Probe
            } else {
                // There is nothing to probe with, and new data is not to wait for ever.
                sending.held = None;
                Command::Resume
            };
            self.actions.push_back(Action::Tcp { connection: *id, command });
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let held = self.connections.values().filter_map(|halves| halves.sending.held);
        let first = held.map(|held| held.probe_at).min()?;
        (first != Instant::MAX).then_some((first, "handover watchdog"))
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn hears(&self, kind: &SignalKind) -> bool {
        match kind {
            SignalKind::DropProbability(_) => true,
            SignalKind::ReceivedPower(_) => self.is_mobile && self.report_power,
            SignalKind::HandoverStarted
            | SignalKind::HandoverCompleted
            | SignalKind::LinkOk
            | SignalKind::LinkNotOk
            | SignalKind::IpOk
            | SignalKind::IpNotOk => self.is_mobile,
            _ => false,
        }
    }
}
