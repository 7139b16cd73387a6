//! A router's part: takes the connections of its mobile hosts over, and gives them away.

use std::collections::{BTreeMap, VecDeque};

use super::super::message::{Greeting, Message, Outgoing, Whereabouts};
use super::super::{Endpoints, Flow};
use super::{Action, Config, Disposition, Holding, Taking};
use crate::mobile_ip::Address;
use crate::time::Instant;

/// Connections on their way out.
#[derive(Clone, Debug)]
struct Leaving<S> {
    to: Address,
    sequence: u32,
    entries: Vec<(Flow, S)>,
    resend_at: Instant,
    attempts: u32,
}

/// Connections on their way in.
#[derive(Clone, Debug)]
struct Coming<S> {
    phase: Taking,
    /// Routers to ask, the present one first. Nobody is struck off: a router that knows nothing now may be about to hear.
    ring: VecDeque<Address>,
    /// Who sends the state, for which move.
    source: Option<(Address, u32)>,
    entries: BTreeMap<u16, Option<(Flow, S)>>,
    due_at: Instant,
    give_up_at: Instant,
    /// Pointers sent to the present one without an answer.
    attempts: u32,
    /// Answers without help, and how many of them came from routers that have never heard of the host.
    answers: usize,
    unknown: usize,
}

impl<S> Coming<S> {
    fn new(phase: Taking, ring: VecDeque<Address>, give_up_at: Instant) -> Self {
        let (entries, due_at) = (BTreeMap::new(), Instant::MAX);
        Coming { phase, ring, source: None, entries, due_at, give_up_at, attempts: 0, answers: 0, unknown: 0 }
    }

    /// The present router is of no help now; says whether all have been asked.
    fn turn(&mut self) -> bool {
        (self.phase, self.attempts) = (Taking::Ready, 0);
        self.answers += 1;
        if let Some(asked) = self.ring.pop_front() {
            self.ring.push_back(asked);
        }
        self.answers >= self.ring.len()
    }
}

/// One mobile host, as a router knows it. It is kept for ever: late messages must be recognised.
#[derive(Clone, Debug)]
struct Visit<S> {
    /// The last move with which the host came here; 0: never.
    greeted: u32,
    /// The last move that took it elsewhere, and where.
    pointer: Option<(u32, Address)>,
    /// Pointers up to this move are void: their router has given up.
    void: u32,
    holding: Holding,
    leaving: Option<Leaving<S>>,
    coming: Option<Coming<S>>,
    endpoints: Endpoints,
    /// The last move for which connections were established here.
    completed: u32,
    /// Connections of moves up to this one were given up here.
    refused: u32,
    /// The connections were given up, so there may be some elsewhere yet.
    hollow: bool,
}

impl<S> Visit<S> {
    fn new() -> Self {
        Visit {
            greeted: 0,
            pointer: None,
            void: 0,
            holding: Holding::Nothing,
            leaving: None,
            coming: None,
            endpoints: Endpoints::default(),
            completed: 0,
            refused: 0,
            hollow: false,
        }
    }

    /// The router where the host is, if it is known to have left.
    fn elsewhere(&self) -> Option<(u32, Address)> {
        self.pointer.filter(|(sequence, _)| *sequence > self.greeted.max(self.void))
    }

    /// The last move known.
    fn latest(&self) -> u32 {
        self.greeted.max(self.pointer.map_or(0, |(sequence, _)| sequence))
    }
}

/// The handoffs of one router. `S` is the captured state of a split connection.
#[derive(Clone, Debug)]
pub struct Handoff<S> {
    config: Config,
    visits: BTreeMap<Address, Visit<S>>,
    outbox: VecDeque<Outgoing<S>>,
    actions: VecDeque<Action<S>>,
}

impl<S: Clone> Handoff<S> {
    /// A router that knows no host.
    pub fn new(config: Config) -> Self {
        Handoff { config, visits: BTreeMap::new(), outbox: VecDeque::new(), actions: VecDeque::new() }
    }

    /// Takes a message of a handoff; others are not for this machine.
    pub fn handle_message(&mut self, from: Address, message: Message<S>, now: Instant) {
        match message {
            Message::Greeting(greeting) => self.handle_greeting(greeting, now),
            Message::ForwardingPointer { mobile, sequence } => {
                self.handle_pointer(from, mobile, sequence, now);
            }
            Message::ForwardingAck { mobile, sequence, answer } => {
                self.handle_pointer_ack(from, mobile, sequence, answer, now);
            }
            Message::HandoffRequest { mobile, sequence, .. } => {
                self.handle_request(from, mobile, sequence, now);
            }
            Message::HandoffReady { mobile, sequence } => self.handle_ready(from, mobile, sequence, now),
            Message::State { mobile, sequence, index, count, entry } => {
                self.handle_state(from, mobile, sequence, (index, count, entry), now);
            }
            Message::HandoffComplete { mobile, sequence } => self.handle_complete(from, mobile, sequence),
            Message::HandoffRefused { mobile, sequence } => self.handle_refused(from, mobile, sequence, now),
            Message::Request(_) | Message::Reply(_) | Message::GreetingAck { .. } => {}
        }
    }

    /// The daemon expects segments for `mobile`: ask for the connections.
    pub fn handle_prepared(&mut self, mobile: Address, now: Instant) {
        if self.coming(mobile).is_some_and(|coming| coming.phase == Taking::Prepare) {
            self.ask(mobile, now);
        }
    }

    /// All sockets of `mobile` are frozen, and this is their state.
    pub fn handle_frozen(&mut self, mobile: Address, entries: Vec<(Flow, S)>, now: Instant) {
        let Some(visit) = self.visits.get_mut(&mobile).filter(|visit| visit.holding == Holding::Leaving)
        else {
            return;
        };
        visit.holding = Holding::Frozen;
        if let Some(leaving) = &mut visit.leaving {
            leaving.entries = entries;
            leaving.resend_at = now;
            leaving.attempts = 0;
        }
        self.settle(mobile, now);
        let waiting = self.visits.get(&mobile).filter(|visit| visit.holding == Holding::Frozen);
        if waiting.and_then(|visit| visit.leaving.as_ref()).is_some_and(|leaving| leaving.attempts == 0) {
            self.offer(mobile, now);
        }
    }

    /// The connections of `mobile` run here.
    pub fn handle_imported(&mut self, mobile: Address, now: Instant) {
        let Some(visit) = self.visits.get_mut(&mobile) else { return };
        let Some(coming) = visit.coming.take_if(|coming| coming.phase == Taking::Restarting) else { return };
        visit.holding = Holding::Active;
        visit.hollow = false;
        visit.leaving = None;
        if let Some((to, sequence)) = coming.source {
            visit.completed = visit.completed.max(sequence);
            self.send(to, Message::HandoffComplete { mobile, sequence });
        }
        self.settle(mobile, now);
    }

    /// Sends again what was not answered, and gives up what never will be.
    pub fn handle_timeout(&mut self, now: Instant) {
        for mobile in self.visits.keys().copied().collect::<Vec<Address>>() {
            if self.coming(mobile).is_some_and(|coming| coming.due_at <= now) {
                self.ask(mobile, now);
            }
            let due = self.visits.get(&mobile).and_then(|visit| visit.leaving.as_ref());
            if due.is_some_and(|leaving| leaving.resend_at <= now) {
                self.offer(mobile, now);
            }
        }
    }

    /// When to call [`Self::handle_timeout`], and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let coming = self.visits.values().filter_map(|visit| visit.coming.as_ref()).map(|c| c.due_at).min();
        let leaving =
            self.visits.values().filter_map(|visit| visit.leaving.as_ref()).map(|l| l.resend_at).min();
        let deadlines = [(coming, "connections do not come"), (leaving, "handoff unanswered")];
        let set = deadlines.into_iter().filter_map(|(at, why)| at.map(|at| (at, why)));
        set.filter(|(at, _)| *at != Instant::MAX).min_by_key(|(at, _)| *at)
    }

    /// The next control message.
    pub fn poll_message(&mut self) -> Option<Outgoing<S>> {
        self.outbox.pop_front()
    }

    /// The next order to the driver.
    pub fn poll_action(&mut self) -> Option<Action<S>> {
        self.actions.pop_front()
    }

    /// What to do with a segment of a split connection of `mobile`.
    pub fn disposition(&self, mobile: Address) -> Disposition {
        let Some(visit) = self.visits.get(&mobile) else { return Disposition::NotHere };
        match (visit.holding, visit.elsewhere()) {
            (Holding::Active, _) => Disposition::Process,
            (_, Some((_, to))) => Disposition::Tunnel(to),
            _ if visit.coming.is_some() || visit.holding == Holding::Leaving => Disposition::Keep,
            _ => Disposition::NotHere,
        }
    }

    /// Whether this router has the connections of `mobile`.
    pub fn holding(&self, mobile: Address) -> Holding {
        self.visits.get(&mobile).map_or(Holding::Nothing, |visit| visit.holding)
    }

    /// How far it is with taking them over.
    pub fn taking(&self, mobile: Address) -> Taking {
        let coming = self.visits.get(&mobile).and_then(|visit| visit.coming.as_ref());
        coming.map_or(Taking::Nothing, |coming| coming.phase)
    }

    fn send(&mut self, to: Address, message: Message<S>) {
        self.outbox.push_back(Outgoing { to, message });
    }

    fn visit(&mut self, mobile: Address) -> &mut Visit<S> {
        self.visits.entry(mobile).or_insert_with(Visit::new)
    }

    fn coming(&mut self, mobile: Address) -> Option<&mut Coming<S>> {
        self.visits.get_mut(&mobile)?.coming.as_mut()
    }

    fn handle_greeting(&mut self, greeting: Greeting, now: Instant) {
        let Greeting { mobile, sequence, previous, endpoints } = greeting;
        let here = self.config.address;
        let give_up_at = self.patience(now);
        let visit = self.visit(mobile);
        if sequence < visit.latest() || sequence == 0 {
            return;
        }
        let is_new = sequence > visit.greeted;
        if is_new {
            visit.greeted = sequence;
            visit.endpoints = endpoints.clone();
            let held = matches!(visit.holding, Holding::Active | Holding::Leaving | Holding::Frozen);
            let kept = held && !visit.hollow;
            if !kept && previous.is_empty() {
                visit.holding = Holding::Active;
                visit.coming = None;
            } else if !kept && visit.coming.as_ref().is_none_or(|c| c.phase != Taking::Restarting) {
                if std::mem::take(&mut visit.hollow) {
                    visit.holding = Holding::Nothing;
                }
                let mut coming = Coming::new(Taking::Prepare, VecDeque::new(), give_up_at);
                let mut older = VecDeque::new();
                if let Some(old) = visit.coming.take() {
                    (coming.source, coming.entries, older) = (old.source, old.entries, old.ring);
                }
                for candidate in previous.into_iter().chain(older) {
                    if candidate != here && !coming.ring.contains(&candidate) {
                        coming.ring.push_back(candidate);
                    }
                }
                visit.coming = Some(coming);
                self.actions.push_back(Action::Prepare { mobile, endpoints });
            }
        }
        self.send(mobile, Message::GreetingAck { mobile, sequence });
        self.settle(mobile, now);
    }

    fn handle_pointer(&mut self, from: Address, mobile: Address, sequence: u32, now: Instant) {
        let here = self.config.address;
        let visit = self.visit(mobile);
        let waited = visit.coming.is_some();
        let serves = visit.leaving.as_ref().is_some_and(|l| (l.sequence, l.to) == (sequence, from));
        let answer = if serves {
            Whereabouts::Here
        } else if sequence < visit.latest() || sequence == visit.greeted {
            let at = visit.elsewhere().map_or(here, |(_, at)| at);
            Whereabouts::Superseded { by: visit.latest(), at }
        } else {
            visit.pointer = Some((sequence, from));
            match (&visit.coming, visit.holding, &visit.leaving) {
                (_, Holding::Active | Holding::Leaving | Holding::Frozen, _) => Whereabouts::Here,
                (Some(_), ..) => Whereabouts::Expected,
                (None, Holding::Transfer, Some(leaving)) => Whereabouts::GoneTo(leaving.to),
                _ => Whereabouts::Unknown,
            }
        };
        if waited && visit.elsewhere() == Some((sequence, from)) {
            self.actions.push_back(Action::Redirect { mobile, to: from });
        }
        self.send(from, Message::ForwardingAck { mobile, sequence, answer });
        self.settle(mobile, now);
    }

    fn handle_pointer_ack(
        &mut self,
        from: Address,
        mobile: Address,
        sequence: u32,
        answer: Whereabouts,
        now: Instant,
    ) {
        let Config { address: here, state_timeout, resend, .. } = self.config;
        let Some(visit) = self.visits.get_mut(&mobile) else { return };
        let (asked, latest) = (visit.greeted == sequence, visit.latest());
        let Some(coming) = visit.coming.as_mut().filter(|c| c.ring.front() == Some(&from) && asked) else {
            return;
        };
        if !matches!(coming.phase, Taking::Ready | Taking::WaitState) {
            return;
        }
        let all_asked = match answer {
            // "Gone to us": on their way, for an earlier move.
            Whereabouts::GoneTo(next) if next == here => {
                coming.due_at = now + state_timeout;
                return;
            }
            Whereabouts::Here => {
                coming.phase = Taking::WaitState;
                coming.due_at = now + state_timeout;
                return;
            }
            Whereabouts::GoneTo(next) => {
                let all_asked = coming.turn();
                coming.ring.retain(|known| *known != next);
                coming.ring.push_front(next);
                all_asked
            }
            Whereabouts::Unknown => {
                coming.unknown += 1;
                coming.turn()
            }
            Whereabouts::Expected => coming.turn(),
            Whereabouts::Superseded { by, at } => {
                let all_asked = coming.turn();
                if by > latest {
                    visit.pointer = Some((by, at));
                    self.actions.push_back(Action::Redirect { mobile, to: at });
                }
                all_asked
            }
        };
        if !all_asked {
            self.ask(mobile, now);
            return;
        }
        let nobody_knows = coming.unknown >= coming.answers && coming.source.is_none();
        (coming.answers, coming.unknown) = (0, 0);
        if nobody_knows && visit.endpoints == Endpoints::default() && visit.elsewhere().is_none() {
            // A host that has nothing open, and of whom nobody knows anything: there is nothing to wait for.
            self.give_up(mobile);
        } else if let Some(coming) = self.coming(mobile) {
            coming.due_at = now + resend;
        }
    }

    /// Sends the pointer, again if need be, or gives up.
    fn ask(&mut self, mobile: Address, now: Instant) {
        let config = self.config;
        let Some(visit) = self.visits.get_mut(&mobile) else { return };
        let sequence = visit.greeted;
        let Some(coming) = &mut visit.coming else { return };
        if coming.attempts >= config.pointer_attempts {
            coming.turn();
        }
        if let (true, Some((source, _))) = (coming.ring.is_empty(), coming.source) {
            coming.ring.push_back(source);
        }
        let Some(to) = coming.ring.front().copied().filter(|_| now < coming.give_up_at) else {
            self.give_up(mobile);
            return;
        };
        coming.phase = Taking::Ready;
        coming.attempts += 1;
        coming.due_at = now + config.resend;
        self.send(to, Message::ForwardingPointer { mobile, sequence });
    }

    /// When a router that waits from `now` on gives up.
    fn patience(&self, now: Instant) -> Instant {
        now + self.config.state_timeout.saturating_mul(u64::from(self.config.state_attempts) + 1)
    }

    /// The connections will not come: the mobile host is told, and may open new ones.
    fn give_up(&mut self, mobile: Address) {
        let Some(visit) = self.visits.get_mut(&mobile) else { return };
        let source = visit.coming.take().and_then(|coming| coming.source);
        let given_up = visit.greeted.max(source.map_or(0, |(_, sequence)| sequence));
        visit.refused = visit.refused.max(given_up);
        if visit.elsewhere().is_some() || visit.greeted < given_up {
            return;
        }
        if visit.leaving.take().is_some() {
            self.actions.push_back(Action::Delete { mobile });
        }
        visit.holding = Holding::Active;
        visit.hollow = true;
        let endpoints = visit.endpoints.clone();
        self.actions.push_back(Action::Abandon { mobile, endpoints });
    }

    fn handle_request(&mut self, from: Address, mobile: Address, sequence: u32, now: Instant) {
        if self.accept_source(from, mobile, sequence, now) == Some(Taking::WaitState) {
            self.send(from, Message::HandoffReady { mobile, sequence });
        }
    }

    /// Whether connections may come from `from`: the phase then. Whoever is late gets an answer.
    fn accept_source(
        &mut self,
        from: Address,
        mobile: Address,
        sequence: u32,
        now: Instant,
    ) -> Option<Taking> {
        let state_timeout = self.config.state_timeout;
        let give_up_at = self.patience(now);
        let visit = self.visit(mobile);
        if sequence <= visit.completed {
            self.send(from, Message::HandoffComplete { mobile, sequence });
            return None;
        }
        if sequence <= visit.refused {
            self.send(from, Message::HandoffRefused { mobile, sequence });
            return None;
        }
        if matches!(visit.holding, Holding::Active | Holding::Leaving | Holding::Frozen) {
            return None;
        }
        let new = || Coming::new(Taking::WaitState, VecDeque::new(), give_up_at);
        let coming = visit.coming.get_or_insert_with(new);
        if coming.phase == Taking::Restarting {
            return Some(Taking::Restarting);
        }
        if coming.source.is_some_and(|(_, other)| other > sequence) {
            // An offer that was withdrawn: whoever has the connections has made a later one.
            return None;
        }
        if coming.source != Some((from, sequence)) {
            coming.source = Some((from, sequence));
            coming.entries.clear();
        }
        coming.phase = Taking::WaitState;
        coming.attempts = 0;
        coming.due_at = now + state_timeout;
        coming.give_up_at = give_up_at;
        Some(Taking::WaitState)
    }

    fn handle_state(
        &mut self,
        from: Address,
        mobile: Address,
        sequence: u32,
        (index, count, entry): (u16, u16, Option<(Flow, S)>),
        now: Instant,
    ) {
        if self.accept_source(from, mobile, sequence, now) != Some(Taking::WaitState) {
            return;
        }
        let Some(coming) = self.coming(mobile) else { return };
        coming.entries.insert(index, entry);
        if coming.entries.len() >= usize::from(count) {
            coming.phase = Taking::Restarting;
            coming.due_at = Instant::MAX;
            let entries = std::mem::take(&mut coming.entries).into_values().flatten().collect();
            if let Some(visit) = self.visits.get_mut(&mobile) {
                // The sender has these, so nobody needs the copy that may still be here.
                if visit.leaving.take().is_some() {
                    visit.holding = Holding::Gone;
                    self.actions.push_back(Action::Delete { mobile });
                }
            }
            self.actions.push_back(Action::Import { mobile, entries });
        }
    }

    /// Brings what is held into line with where the host is.
    fn settle(&mut self, mobile: Address, now: Instant) {
        let Some(visit) = self.visits.get_mut(&mobile) else { return };
        match (visit.holding, visit.elsewhere()) {
            (Holding::Active, Some((sequence, to))) => {
                visit.holding = Holding::Leaving;
                let (entries, resend_at) = (Vec::new(), Instant::MAX);
                visit.leaving = Some(Leaving { to, sequence, entries, resend_at, attempts: 0 });
                self.actions.push_back(Action::Freeze { mobile });
            }
            (Holding::Leaving | Holding::Frozen, Some((sequence, to))) => {
                if let Some(leaving) = visit.leaving.as_mut().filter(|l| l.sequence != sequence) {
                    (leaving.to, leaving.sequence, leaving.attempts) = (to, sequence, 0);
                    if visit.holding == Holding::Frozen {
                        self.offer(mobile, now);
                    }
                }
            }
            (Holding::Frozen, None) => {
                visit.holding = Holding::Active;
                visit.leaving = None;
                self.actions.push_back(Action::Thaw { mobile });
            }
            _ => {}
        }
    }

    /// Sends the request or the states, again if need be, or gives up.
    fn offer(&mut self, mobile: Address, now: Instant) {
        let config = self.config;
        let Some(visit) = self.visits.get_mut(&mobile) else { return };
        let Some(leaving) = &mut visit.leaving else { return };
        if leaving.attempts >= config.handoff_attempts {
            let (to, sequence) = (leaving.to, leaving.sequence);
            self.handle_refused(to, mobile, sequence, now);
            return;
        }
        leaving.attempts += 1;
        leaving.resend_at = now + config.resend;
        let (to, sequence) = (leaving.to, leaving.sequence);
        if visit.holding == Holding::Frozen {
            let flows = leaving.entries.iter().map(|(flow, _)| *flow).collect();
            self.send(to, Message::HandoffRequest { mobile, sequence, flows });
            return;
        }
        let entries = leaving.entries.clone();
        let count = u16::try_from(entries.len().max(1)).unwrap_or(u16::MAX);
        if entries.is_empty() {
            self.send(to, Message::State { mobile, sequence, index: 0, count, entry: None });
        }
        for (index, entry) in (0..count).zip(entries) {
            self.send(to, Message::State { mobile, sequence, index, count, entry: Some(entry) });
        }
    }

    /// What leaves for `from` with this move, if anything does.
    fn leaving(&mut self, from: Address, mobile: Address, sequence: u32) -> Option<&mut Visit<S>> {
        let visit = self.visits.get_mut(&mobile)?;
        let leaving = visit.leaving.as_ref()?;
        ((leaving.to, leaving.sequence) == (from, sequence)).then_some(visit)
    }

    fn handle_ready(&mut self, from: Address, mobile: Address, sequence: u32, now: Instant) {
        let Some(visit) = self.leaving(from, mobile, sequence) else { return };
        if visit.holding == Holding::Frozen {
            visit.holding = Holding::Transfer;
            if let Some(leaving) = &mut visit.leaving {
                leaving.attempts = 0;
            }
            self.offer(mobile, now);
        }
    }

    fn handle_complete(&mut self, from: Address, mobile: Address, sequence: u32) {
        let Some(visit) = self.leaving(from, mobile, sequence) else { return };
        if visit.holding == Holding::Transfer {
            visit.leaving = None;
            visit.holding = Holding::Gone;
            self.actions.push_back(Action::Delete { mobile });
        }
    }

    fn handle_refused(&mut self, from: Address, mobile: Address, sequence: u32, now: Instant) {
        let Some(visit) = self.leaving(from, mobile, sequence) else { return };
        visit.void = visit.void.max(sequence);
        match visit.holding {
            Holding::Frozen => {
                visit.leaving = None;
                visit.holding = Holding::Active;
                self.actions.push_back(Action::Thaw { mobile });
            }
            // The state has left: whether it ran elsewhere for a while nobody knows.
            Holding::Transfer => {
                visit.leaving = None;
                visit.holding = Holding::Gone;
                self.actions.push_back(Action::Delete { mobile });
            }
            _ => {}
        }
        self.settle(mobile, now);
    }
}
