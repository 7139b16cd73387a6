//! The part on a mobile host: greets routers, and connects the application's sockets through them.

use std::collections::{BTreeMap, VecDeque};

use super::message::{Control, control};
use crate::base_station::{self, Message};
use crate::mobile_ip::Address;
use crate::params::Params;
use crate::schemes::{Action, Peer, Scheme};
use crate::signal::{Signal, SignalKind};
use crate::split::handoff::{MobileHost, MobileState};
use crate::split::library::{CallId, Event, Library};
use crate::split::message::Refusal;
use crate::split::msr::SplitState;
use crate::split::{Endpoint, Flow, Outgoing};
use crate::tcp::{Command, Connection, ConnectionId, EndReason, Hooks, State};
use crate::time::{Duration, Instant};

/// Time between greetings, and between requests, without an answer (ours).
const RESEND: Duration = Duration::from_millis(500);

/// How far the application's socket of one connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It has not connected yet.
    Idle,
    /// It connects, and there is no router; until then it waits for one.
    Connect { until: Instant },
    /// A router has been asked to open the fixed part.
    Connecting { call: CallId, until: Instant },
    /// It listens, and no router knows.
    Listen,
    /// A router has been asked to listen.
    Listening { call: CallId },
    /// The router listens; the next connection is ours.
    Accepting { call: CallId },
    /// It is connected to a router.
    Split(Flow),
    /// Plain TCP, or over.
    Left,
}

/// One connection.
#[derive(Clone, Copy, Debug)]
struct Socket {
    flow: base_station::Flow,
    progress: Progress,
}

/// What the host knows of itself, once it has a connection.
#[derive(Debug)]
struct Host {
    greeter: MobileHost,
    library: Library,
}

/// The part of one mobile host.
#[derive(Debug)]
pub(super) struct Mobile {
    tries: u32,
    connect_timeout: Duration,
    host: Option<Host>,
    sockets: BTreeMap<ConnectionId, Socket>,
    /// Greetings since the last answer.
    greetings: u32,
    /// The present router does not answer, and nothing depends on it.
    is_silent: bool,
    actions: VecDeque<Action>,
}

impl Mobile {
    pub(super) fn new(params: &Params) -> Self {
        Mobile {
            // The declared range is far inside 32 bits.
            tries: params.integer("tries") as u32,
            connect_timeout: params.duration("connect_timeout"),
            host: None,
            sockets: BTreeMap::new(),
            greetings: 0,
            is_silent: false,
            actions: VecDeque::new(),
        }
    }

    fn add(&mut self, connection: ConnectionId, flow: base_station::Flow, progress: Progress) {
        let address = flow.mobile.address;
        self.host.get_or_insert_with(|| Host {
            greeter: MobileHost::new(address, RESEND),
            library: Library::new(address, RESEND),
        });
        self.sockets.insert(connection, Socket { flow, progress });
    }

    fn set_peer(&mut self, connection: ConnectionId, peer: Peer) {
        self.actions.push_back(Action::SetPeer { connection, peer });
    }

    /// The router that has answered.
    fn router(&self) -> Option<Address> {
        match self.host.as_ref()?.greeter.state() {
            MobileState::InCell(router) => Some(router),
            _ => None,
        }
    }

    /// Whether routers hold anything for this host.
    fn depends(&self) -> bool {
        self.sockets.values().any(|socket| {
            use Progress::{Accepting, Connecting, Listening, Split};
            matches!(socket.progress, Connecting { .. } | Listening { .. } | Accepting { .. } | Split(_))
        })
    }

    /// Everything that waits for a router asks this one.
    fn ask(&mut self, now: Instant) {
        let until = now + self.connect_timeout;
        let Some(host) = &mut self.host else { return };
        for socket in self.sockets.values_mut() {
            let Endpoint { port, .. } = endpoint(socket.flow.mobile);
            socket.progress = match socket.progress {
                Progress::Connect { .. } => {
                    let call = host.library.connect(port, endpoint(socket.flow.fixed), now);
                    Progress::Connecting { call, until }
                }
                Progress::Listen => Progress::Listening { call: host.library.listen(port, now) },
                other => other,
            };
        }
    }

    /// Whoever waits for a router, and for no longer than `now`, does without.
    fn leave(&mut self, waits: impl Fn(Progress) -> bool) {
        for (connection, socket) in &mut self.sockets {
            if waits(socket.progress) {
                socket.progress = Progress::Left;
                let (connection, peer) = (*connection, Peer::OtherEnd);
                self.actions.push_back(Action::SetPeer { connection, peer });
            }
        }
    }

    /// The connection that waits for this call.
    fn caller(&self, wanted: CallId) -> Option<ConnectionId> {
        let is_meant = |socket: &Socket| match socket.progress {
            Progress::Connecting { call, .. }
            | Progress::Listening { call }
            | Progress::Accepting { call } => call == wanted,
            _ => false,
        };
        self.sockets.iter().find(|(_, socket)| is_meant(socket)).map(|(connection, _)| *connection)
    }

    /// What came of a call.
    fn handle_event(&mut self, event: Event, now: Instant) {
        let (Event::Opened { call, .. } | Event::Done { call } | Event::Refused { call, .. }) = event;
        let caller = self.caller(call);
        let (Some(connection), Some(host)) = (caller, &mut self.host) else { return };
        let Some(socket) = self.sockets.get_mut(&connection) else { return };
        let Endpoint { port, .. } = endpoint(socket.flow.mobile);
        match (event, socket.progress) {
            (Event::Opened { flow, .. }, before) => {
                socket.progress = Progress::Split(flow);
                self.set_peer(connection, Peer::Router(flow.wireless.address));
                if matches!(before, Progress::Accepting { .. }) {
                    self.actions.push_back(Action::Tcp { connection, command: Command::Open });
                }
            }
            (Event::Done { .. }, Progress::Listening { .. }) => {
                socket.progress = Progress::Accepting { call: host.library.accept(port, now) };
            }
            // A router that has forgotten the listener.
            (Event::Refused { .. }, Progress::Accepting { .. }) => {
                socket.progress = Progress::Listening { call: host.library.listen(port, now) };
            }
            (Event::Refused { refusal, .. }, _) => {
                socket.progress = Progress::Left;
                let command = Command::Refuse { reason: reason(refusal) };
                self.actions.push_back(Action::Tcp { connection, command });
            }
            (Event::Done { .. }, _) => {}
        }
    }

    /// What follows every input: answers, greetings, requests.
    fn settle(&mut self, now: Instant) {
        while let Some(event) = self.host.as_mut().and_then(|host| host.library.poll_event()) {
            self.handle_event(event, now);
        }
        let Some(Host { greeter, library }) = &mut self.host else { return };
        greeter.set_endpoints(library.endpoints());
        if !self.is_silent
            && let Some(Outgoing { to, message }) = greeter.poll_message::<SplitState>()
        {
            self.greetings += 1;
            self.actions.push_back(Action::Send { to, message: control(message) });
        }
        while let Some(Outgoing { to, message }) = library.poll_message::<SplitState>() {
            self.actions.push_back(Action::Send { to, message: control(message) });
        }
    }

    /// A greeting is due again, after enough of them.
    fn is_hopeless(&self, now: Instant) -> bool {
        let due = self.host.as_ref().and_then(|host| host.greeter.poll_timeout());
        due.is_some_and(|(at, _)| at <= now) && self.greetings >= self.tries && !self.depends()
    }
}

fn endpoint(end: base_station::Endpoint) -> Endpoint {
    Endpoint { address: end.address, port: end.port }
}

/// What a socket call would have said (i-tcp I11).
fn reason(refusal: Refusal) -> EndReason {
    match refusal {
        Refusal::ConnectionRefused => EndReason::Reset,
        Refusal::TimedOut => EndReason::UserTimeout,
        Refusal::Unreachable => EndReason::Unreachable,
        Refusal::BadPort => EndReason::Aborted,
    }
}

impl Hooks for Mobile {
    fn on_state_change(&mut self, connection: &Connection, from: State, now: Instant) {
        if !matches!(connection.state(), State::Closed | State::TimeWait) {
            return;
        }
        let Some(socket) = self.sockets.get_mut(&connection.id()) else { return };
        let before = std::mem::replace(&mut socket.progress, Progress::Left);
        if let (Progress::Split(flow), Some(host)) = (before, &mut self.host) {
            host.library.forget(flow);
            if from == State::SynSent {
                // No FIN will tell the router.
                let _unanswered = host.library.close(flow, now);
            }
            self.settle(now);
        }
    }
}

impl Scheme for Mobile {
    fn handle_signal(&mut self, signal: &Signal, now: Instant) {
        let SignalKind::Attached { station } = signal.kind else { return };
        let Some(host) = &mut self.host else { return };
        host.greeter.handle_beacon(station, now);
        self.greetings = 0;
        self.is_silent = false;
        let listening = |socket: &Socket| socket.progress == Progress::Listen;
        let listeners: Vec<ConnectionId> =
            self.sockets.iter().filter(|(_, socket)| listening(socket)).map(|(id, _)| *id).collect();
        listeners.into_iter().for_each(|connection| self.set_peer(connection, Peer::Nobody));
        self.settle(now);
    }

    fn handle_flow(&mut self, connection: ConnectionId, flow: base_station::Flow, _now: Instant) {
        self.add(connection, flow, Progress::Idle);
    }

    fn handle_listener(&mut self, connection: ConnectionId, flow: base_station::Flow, _now: Instant) {
        self.add(connection, flow, Progress::Listen);
    }

    fn handle_connect(&mut self, connection: ConnectionId, now: Instant) {
        let state = self.host.as_ref().map(|host| host.greeter.state());
        let until = match state {
            // A router may come yet.
            Some(MobileState::Searching) => now + RESEND.saturating_mul(u64::from(self.tries)),
            _ => Instant::MAX,
        };
        let is_silent = self.is_silent;
        let Some(socket) = self.sockets.get_mut(&connection) else { return };
        if is_silent {
            socket.progress = Progress::Left;
            return;
        }
        socket.progress = Progress::Connect { until };
        self.set_peer(connection, Peer::Nobody);
        if self.router().is_some() {
            self.ask(now);
        }
        self.settle(now);
    }

    fn handle_message(&mut self, from: Address, message: &Message, now: Instant) {
        let (Some(Control(message)), Some(host)) = (message.body(), &mut self.host) else { return };
        host.greeter.handle_message(from, message, now);
        host.library.handle_message(message, now);
        if host.greeter.state() == MobileState::InCell(from) {
            host.library.handle_router(from, now);
            self.greetings = 0;
            self.ask(now);
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if !self.is_silent && self.is_hopeless(now) {
            self.is_silent = true;
            self.leave(|progress| matches!(progress, Progress::Connect { .. } | Progress::Listen));
        }
        self.leave(|progress| matches!(progress, Progress::Connect { until } if until <= now));
        let Some(Host { greeter, library }) = &mut self.host else { return };
        if !self.is_silent {
            greeter.handle_timeout(now);
        }
        library.handle_timeout(now);
        for (connection, socket) in &mut self.sockets {
            if let Progress::Connecting { call, until } = socket.progress
                && until <= now
            {
                library.cancel(call);
                socket.progress = Progress::Left;
                let command = Command::Refuse { reason: EndReason::UserTimeout };
                self.actions.push_back(Action::Tcp { connection: *connection, command });
            }
        }
        self.settle(now);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let host = self.host.as_ref()?;
        let greeting = host.greeter.poll_timeout().filter(|_| !self.is_silent);
        let waits = self.sockets.values().filter_map(|socket| match socket.progress {
            Progress::Connect { until } => Some((until, "no router")),
            Progress::Connecting { until, .. } => Some((until, "router does not answer")),
            _ => None,
        });
        let all = waits.chain(greeting).chain(host.library.poll_timeout());
        all.filter(|(at, _)| *at != Instant::MAX).min_by_key(|(at, _)| *at)
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn hears(&self, kind: &SignalKind) -> bool {
        matches!(kind, SignalKind::Attached { .. })
    }
}
