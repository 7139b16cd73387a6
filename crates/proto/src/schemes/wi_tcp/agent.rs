//! The agent: stops the senders of hosts that it has lost, and has them go on when the hosts are back.

use std::collections::{BTreeMap, VecDeque};

use super::list::{Confirmation, Entry, List, Said};
use crate::base_station::{BaseStation, Fate, Flow, Message, Output, StationEvent, Towards};
use crate::mobile_ip::Address;
use crate::params::Params;
use crate::tcp::{Experimental, Flags, Handover, HandoverNotice, Options, Segment};
use crate::time::{Duration, Instant};

/// Most connections that an agent keeps: a list is what a mobile host says, and may say anything.
const MAX_FLOWS: usize = 10_000;
/// A lost host is tried again for so long, more and more seldom.
const PROBE_FOR: Duration = Duration::from_secs(300);

/// Where a host is, as the agent knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Whereabouts {
    /// In reach.
    #[default]
    Serving,
    /// Out of reach.
    Away,
    /// With another agent.
    Released,
}

/// One mobile host.
#[derive(Debug, Default)]
struct Guest {
    whereabouts: Whereabouts,
    /// This is its home agent.
    is_home: bool,
    /// It has arrived here, and no previous agent has been told: the EHC-ACKs are for this agent to send (case I).
    completes: bool,
    /// It has arrived here and has not left.
    arrived: bool,
    /// Packets in a row that could not be delivered.
    failures: u64,
    /// Since when it has had data without saying anything.
    unanswered: Option<Instant>,
    probe: Option<Probe>,
}

/// A packet that could not be delivered, and is tried again.
#[derive(Clone, Copy, Debug)]
struct Probe {
    flow: Flow,
    segment: Segment,
    since: Instant,
    at: Instant,
    /// It is on its way; that it fails is no news.
    out: bool,
}

/// An EHC-ACK and its repetitions.
#[derive(Clone, Copy, Debug)]
struct Completion {
    at: Instant,
    left: u64,
    care_of: Option<Address>,
}

/// One connection of a host.
#[derive(Clone, Copy, Debug)]
struct Known {
    nonce: u32,
    /// The last segment forwarded for the host, or listed by it.
    said: Option<Said>,
    /// When an EHO-ACK is due.
    eho_at: Option<Instant>,
    /// When the last one was sent in the present absence.
    told_at: Option<Instant>,
    completion: Option<Completion>,
}

impl Known {
    fn new(nonce: u32, said: Option<Said>) -> Self {
        Known { nonce, said, eho_at: None, told_at: None, completion: None }
    }

    fn deadline(&self) -> Instant {
        let completion = self.completion.map_or(Instant::MAX, |completion| completion.at);
        self.eho_at.unwrap_or(Instant::MAX).min(completion)
    }
}

/// The part at one base station.
#[derive(Debug)]
pub(super) struct Agent {
    alpha: Duration,
    mac_fail_n: u64,
    silence: Duration,
    eho_interval: Duration,
    ehc_repeats: u64,
    ehc_interval: Duration,
    tells_care_of: bool,
    home_agent_completes: bool,
    probe: Duration,
    own: Address,
    guests: BTreeMap<Address, Guest>,
    /// Connections whose sender understands notices. Those of one host stand together.
    flows: BTreeMap<Flow, Known>,
    /// No deadline is before this; it may be too early, which is harmless.
    wake_at: Instant,
    outputs: VecDeque<Output>,
}

impl Agent {
    pub(super) fn new(params: &Params) -> Self {
        Agent {
            alpha: params.duration("alpha"),
            mac_fail_n: params.integer("mac_fail_n"),
            silence: params.duration("silence"),
            eho_interval: params.duration("eho_interval"),
            ehc_repeats: params.integer("ehc_repeats"),
            ehc_interval: params.duration("ehc_interval"),
            tells_care_of: params.bool("care_of"),
            home_agent_completes: params.choice("case_1") == "home-agent",
            probe: params.duration("probe"),
            own: Address::UNSPECIFIED,
            guests: BTreeMap::new(),
            flows: BTreeMap::new(),
            wake_at: Instant::MAX,
            outputs: VecDeque::new(),
        }
    }

    fn guest(&mut self, mobile: Address) -> &mut Guest {
        self.guests.entry(mobile).or_default()
    }

    fn flows_of(&mut self, mobile: Address) -> impl Iterator<Item = (&Flow, &mut Known)> {
        let first = |address| {
            let end = crate::base_station::Endpoint { address, port: 0 };
            let unspecified = crate::base_station::Endpoint { address: Address::UNSPECIFIED, port: 0 };
            Flow { mobile: end, fixed: unspecified }
        };
        let next = Address(mobile.0.saturating_add(1));
        self.flows.range_mut(first(mobile)..first(next))
    }

    fn wake_by(&mut self, at: Instant) {
        self.wake_at = self.wake_at.min(at);
    }

    /// Everything known of `flow`, if there is room.
    fn note_flow(&mut self, flow: Flow, nonce: u32, said: Option<Said>) {
        if let Some(known) = self.flows.get_mut(&flow) {
            // A port used again is another connection; a list may be older than what passed since.
            if known.nonce != nonce {
                *known = Known::new(nonce, said);
            } else if said.zip(known.said).is_none_or(|(new, old)| new.ack.distance_from(old.ack) >= 0) {
                known.said = said.or(known.said);
            }
        } else if self.flows.len() < MAX_FLOWS {
            self.flows.insert(flow, Known::new(nonce, said));
        }
    }

    /// The host cannot be reached: all senders are to be told, unless they were just now.
    fn lose(&mut self, mobile: Address, now: Instant) {
        let guest = self.guest(mobile);
        if guest.whereabouts == Whereabouts::Released {
            return;
        }
        guest.whereabouts = Whereabouts::Away;
        guest.unanswered = None;
        let (alpha, interval) = (self.alpha, self.eho_interval);
        for (_, known) in self.flows_of(mobile) {
            let told = known.told_at.is_some_and(|at| now.since(at) < interval);
            if !told && known.eho_at.is_none() {
                known.eho_at = Some(now + alpha);
                known.completion = None;
            }
        }
        self.wake_by(now + alpha);
    }

    /// A packet for the host is given up.
    fn handle_failure(&mut self, mobile: Address, segment: Option<(Flow, Segment)>, now: Instant) {
        let (enough, at) = (self.mac_fail_n, now + self.probe);
        let guest = self.guest(mobile);
        if let Some(probe) = &mut guest.probe
            && probe.out
            && segment == Some((probe.flow, probe.segment))
        {
            probe.out = false;
            return;
        }
        guest.failures += 1;
        if guest.whereabouts == Whereabouts::Released || guest.failures < enough {
            return;
        }
        if let (None, Some((flow, segment))) = (guest.probe, segment) {
            guest.probe = Some(Probe { flow, segment, since: now, at, out: false });
            self.wake_by(at);
        }
        self.lose(mobile, now);
    }

    /// The host is in reach. If it was lost before, it never left, or it has come back.
    fn reach(&mut self, mobile: Address, now: Instant) {
        let guest = self.guest(mobile);
        guest.failures = 0;
        if guest.whereabouts == Whereabouts::Away {
            guest.whereabouts = Whereabouts::Serving;
            guest.probe = None;
            self.complete(mobile, None, true, now);
        }
    }

    /// EHC-ACKs to the senders of a host: to all, or to those who were told to stop by this agent.
    fn complete(&mut self, mobile: Address, care_of: Option<Address>, told_only: bool, now: Instant) {
        let care_of = care_of.filter(|_| self.tells_care_of);
        let left = self.ehc_repeats;
        for (_, known) in self.flows_of(mobile) {
            known.eho_at = None;
            if known.told_at.take().is_some() || !told_only {
                known.completion = Some(Completion { at: now, left, care_of });
            }
        }
        self.send_notices(now);
    }

    fn handle_arrival(&mut self, mobile: Address, previous: Option<Address>, now: Instant) {
        let guest = self.guest(mobile);
        let renewal = std::mem::replace(&mut guest.arrived, true);
        if renewal {
            return self.reach(mobile, now);
        }
        let by_home_agent = self.home_agent_completes;
        let guest = self.guest(mobile);
        guest.whereabouts = Whereabouts::Serving;
        guest.failures = 0;
        guest.probe = None;
        guest.completes = previous.is_none() && (guest.is_home || !by_home_agent);
        if guest.completes {
            self.complete(mobile, Some(self.whereabouts_of(mobile)), false, now);
        } else {
            self.complete(mobile, Some(self.whereabouts_of(mobile)), true, now);
        }
    }

    /// Where a host that is here is to be reached.
    fn whereabouts_of(&self, mobile: Address) -> Address {
        let is_home = self.guests.get(&mobile).is_some_and(|guest| guest.is_home);
        if is_home { mobile } else { self.own }
    }

    fn handle_departure(&mut self, mobile: Address, to: Option<Address>, now: Instant) {
        let by_home_agent = self.home_agent_completes;
        let guest = self.guest(mobile);
        guest.arrived = false;
        guest.completes = false;
        let Some(to) = to else {
            if guest.whereabouts == Whereabouts::Serving {
                self.lose(mobile, now);
            }
            return;
        };
        guest.whereabouts = Whereabouts::Released;
        guest.probe = None;
        guest.unanswered = None;
        let leaves_home = guest.is_home;
        if !leaves_home || by_home_agent {
            self.complete(mobile, Some(to), true, now);
        }
        // What is not needed for an EHC-ACK is forgotten: a host that comes back lists its connections.
        let gone: Vec<Flow> =
            self.flows_of(mobile).filter(|(_, k)| k.completion.is_none()).map(|(f, _)| *f).collect();
        for flow in gone {
            self.flows.remove(&flow);
        }
    }

    fn handle_list(&mut self, from: Address, list: &List, now: Instant) {
        let news = list.entries.iter().filter(|entry| entry.flow.mobile.address == from);
        for Entry { flow, said, nonce } in news {
            self.note_flow(*flow, *nonce, Some(*said));
        }
        self.reach(from, now);
        let guest = self.guest(from);
        guest.unanswered = None;
        if guest.arrived && guest.completes {
            // It was registered before it could say what for.
            self.complete(from, Some(self.whereabouts_of(from)), false, now);
        }
        let message = Message::new(Confirmation { serial: list.serial });
        self.outputs.push_back(Output::Send { to: from, message });
    }

    /// Sends the notices that are due.
    fn send_notices(&mut self, now: Instant) {
        let mut next = Instant::MAX;
        let mut over = Vec::new();
        for (flow, known) in &mut self.flows {
            if known.eho_at.is_some_and(|at| at <= now) {
                known.eho_at = None;
                known.told_at = Some(now);
                self.outputs.extend(notice(*flow, known, Handover::Started, None));
            }
            if let Some(completion) = known.completion.filter(|completion| completion.at <= now) {
                self.outputs.extend(notice(*flow, known, Handover::Completed, completion.care_of));
                let again = completion.left.checked_sub(1);
                known.completion =
                    again.map(|left| Completion { at: now + self.ehc_interval, left, ..completion });
                let released = self
                    .guests
                    .get(&flow.mobile.address)
                    .is_some_and(|g| g.whereabouts == Whereabouts::Released);
                if again.is_none() && released {
                    over.push(*flow);
                }
            }
            next = next.min(known.deadline());
        }
        for flow in over {
            self.flows.remove(&flow);
        }
        self.wake_by(next);
    }

    /// A segment of the host has come: it is here.
    fn handle_segment_of_host(&mut self, flow: Flow, segment: &Segment, now: Instant) {
        let mobile = flow.mobile.address;
        if segment.flags.contains(Flags::RST) {
            self.flows.remove(&flow);
        } else if let (Some(known), Some(said)) = (self.flows.get_mut(&flow), Said::by(segment)) {
            known.said = Some(said);
        }
        self.guest(mobile).unanswered = None;
        self.reach(mobile, now);
    }

    fn handle_segment_for_host(&mut self, flow: Flow, segment: &Segment, now: Instant) {
        if let Some(Experimental::HandoverAware { nonce }) = segment.options.experimental {
            self.note_flow(flow, nonce, None);
        }
        if segment.len == 0 {
            return;
        }
        if let Some(known) = self.flows.get_mut(&flow) {
            // The sender has started again, or never stopped.
            known.completion = None;
        }
        let patience = self.silence;
        let guest = self.guest(flow.mobile.address);
        if guest.whereabouts == Whereabouts::Serving && guest.unanswered.is_none() {
            guest.unanswered = Some(now);
            self.wake_by(now + patience);
        }
    }

    /// Silent hosts are lost, and lost hosts are tried again.
    fn look_after_guests(&mut self, now: Instant) {
        let mut next = Instant::MAX;
        let mut lost = Vec::new();
        for (mobile, guest) in &mut self.guests {
            if let Some(since) = guest.unanswered {
                if since + self.silence <= now {
                    lost.push(*mobile);
                } else {
                    next = next.min(since + self.silence);
                }
            }
            guest.probe = guest.probe.filter(|probe| now.since(probe.since) < PROBE_FOR);
            if let Some(probe) = &mut guest.probe {
                if probe.at <= now {
                    probe.at = now + self.probe.max(now.since(probe.since) / 8);
                    probe.out = true;
                    let (flow, segment) = (probe.flow, probe.segment);
                    self.outputs.push_back(Output::Segment { flow, towards: Towards::Mobile, segment });
                }
                next = next.min(probe.at);
            }
        }
        self.wake_by(next);
        for mobile in lost {
            self.lose(mobile, now);
        }
    }
}

/// A notice in the name of a mobile host.
fn notice(flow: Flow, known: &Known, moment: Handover, care_of: Option<Address>) -> Option<Output> {
    let said = known.said?;
    let notice = HandoverNotice { moment, nonce: known.nonce, care_of };
    let options = Options {
        timestamps: said.timestamps,
        experimental: Some(Experimental::Handover(notice)),
        ..Options::default()
    };
    let segment =
        Segment { seq: said.seq, ack: said.ack, len: 0, window: said.window, flags: Flags::ACK, options };
    Some(Output::Segment { flow, towards: Towards::Fixed, segment })
}

impl BaseStation for Agent {
    fn handle_address(&mut self, own: Address) {
        self.own = own;
    }

    fn handle_segment(&mut self, flow: Flow, towards: Towards, segment: &mut Segment, now: Instant) -> Fate {
        match towards {
            Towards::Mobile => self.handle_segment_for_host(flow, segment, now),
            Towards::Fixed => self.handle_segment_of_host(flow, segment, now),
        }
        Fate::Forward
    }

    fn handle_event(&mut self, event: &StationEvent, now: Instant) {
        match *event {
            StationEvent::HomeOf { mobile } => self.guest(mobile).is_home = true,
            StationEvent::Delivered { mobile } => self.reach(mobile, now),
            StationEvent::Undelivered { mobile, segment } => self.handle_failure(mobile, segment, now),
            StationEvent::Arrived { mobile, previous } => self.handle_arrival(mobile, previous, now),
            StationEvent::Departed { mobile, to } => self.handle_departure(mobile, to, now),
        }
    }

    fn handle_message(&mut self, from: Address, message: &Message, now: Instant) {
        if let Some(list) = message.body::<List>() {
            self.handle_list(from, list, now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.wake_at <= now {
            self.wake_at = Instant::MAX;
            self.look_after_guests(now);
            self.send_notices(now);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        (self.wake_at != Instant::MAX).then_some((self.wake_at, "notice, probe or silence"))
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}
