//! One end of a TCP connection (RFC 9293), sans-IO.
//!
//! ## Life
//! [`Connection::connect`] or [`Connection::listen`] makes it; [`Connection::write`], [`Connection::read`],
//! [`Connection::close`] and [`Connection::abort`] are the application's calls. The driver feeds
//! [`Connection::handle_segment`] and [`Connection::handle_timeout`], and after each call polls
//! [`Connection::poll_transmit`] until it gives `None`, then [`Connection::poll_timeout`].
//!
//! ## Rounds
//! Each input opens a round. What the input allows to leave is decided by [`Sender`] when the driver polls, within
//! the burst that recovery grants for this round; nothing is queued.
//!
//! ## Control
//! A policy may take the sending half out of ordinary running: frozen (by its answer to a timeout) or suspended (by
//! command). Receiving goes on as ever. The ways out of a freeze are a command, an ACK of new data and the user timeout.
//!
//! ## Not modelled
//! Urgent data, the push bit, simultaneous open (a SYN that meets a SYN is dropped), IP fragmentation and
//! path MTU discovery. Nobody who studies recovery would notice; a general-purpose stack would.

use super::cc::{self, Window};
use super::hooks::{Hooks, Verdict};
use super::profile::{Cut, InitialSsthresh, Profile};
use super::receive::Receiver;
use super::recovery::{self, Recovery};
use super::rtt::Estimator;
use super::send::{LastCut, Sender};
use super::{SeqNumber, Variant, cc::CongestionControl};
use crate::time::{Duration, Instant};
use crate::trace::Event;

/// Names a connection within its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// What a connection is made from.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its name.
    pub id: ConnectionId,
    /// The constants.
    pub profile: Profile,
    /// Recovery and congestion control.
    pub variant: &'static Variant,
    /// Initial sequence number.
    pub iss: SeqNumber,
    /// Whether the application takes all data at once, so that the buffer is always free.
    pub auto_read: bool,
}

/// The states of RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received and answered.
    SynReceived,
    /// Open.
    Established,
    /// Closed by us, FIN not yet acknowledged.
    FinWait1,
    /// Closed by us, FIN acknowledged.
    FinWait2,
    /// Closed by the peer.
    CloseWait,
    /// Closed by both at the same time.
    Closing,
    /// Closed by the peer and then by us.
    LastAck,
    /// Waiting for old segments to die.
    TimeWait,
}

impl State {
    /// Whether the handshake is complete and the connection not yet gone.
    pub fn is_synchronised(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Listen => "listen",
            State::SynSent => "syn-sent",
            State::SynReceived => "syn-received",
            State::Established => "established",
            State::FinWait1 => "fin-wait-1",
            State::FinWait2 => "fin-wait-2",
            State::CloseWait => "close-wait",
            State::Closing => "closing",
            State::LastAck => "last-ack",
            State::TimeWait => "time-wait",
        }
    }
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// Both sides closed.
    Closed,
    /// The peer reset it.
    Reset,
    /// The application aborted it.
    Aborted,
    /// Nothing was acknowledged for the user timeout.
    UserTimeout,
    /// Another host has it now; the peer noticed nothing.
    Moved,
    /// The network has no way to the peer.
    Unreachable,
}

impl EndReason {
    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            EndReason::Closed => "closed",
            EndReason::Reset => "reset",
            EndReason::Aborted => "aborted",
            EndReason::UserTimeout => "user-timeout",
            EndReason::Moved => "moved",
            EndReason::Unreachable => "unreachable",
        }
    }
}

/// Whether a policy holds the sending half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// Ordinary TCP.
    Running,
    /// Stopped by a policy's answer to a timeout.
    Frozen {
        /// Since when.
        since: Instant,
    },
    /// Stopped by command, with the pair to come back to.
    Suspended {
        /// `cwnd` and `ssthresh` then.
        stored: Window,
        /// Since when.
        since: Instant,
    },
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments with data sent, retransmissions included, SYN and FIN alone excluded.
    pub data_segments: u64,
    /// Payload bytes sent, retransmissions included.
    pub data_bytes: u64,
    /// Segments sent again, SYN and FIN included.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer, whatever the answer.
    pub timeouts: u64,
    /// Recoveries started by duplicate ACKs.
    pub fast_retransmits: u64,
    /// Timeouts answered by a freeze.
    pub freezes: u64,
    /// Segments without data or SYN sent.
    pub acks: u64,
    /// Duplicate ACKs received.
    pub dup_acks: u64,
    /// Segments refused: unacceptable sequence numbers, wrong acknowledgements, old timestamps.
    pub refused: u64,
    /// Segments received whose data was all there already, in order or beyond a hole.
    pub duplicate_segments: u64,
    /// How often a policy made TCP do something else: answers other than [`Verdict::Proceed`], commands, ACKs used up,
    /// samples discarded, timers changed, segments held back or changed.
    pub interventions: u64,
}

/// Deadlines; [`Instant::MAX`] is "off". Ties are served in this order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    /// The retransmission timeout.
    pub rto: Instant,
    /// A held-back ACK must go.
    pub delayed_ack: Instant,
    /// The peer's window is to be probed.
    pub persist: Instant,
    /// TIME-WAIT ends.
    pub time_wait: Instant,
    /// The application's patience ends.
    pub user: Instant,
}

impl Timers {
    /// None is set.
    pub(super) const OFF: Timers = Timers {
        rto: Instant::MAX,
        delayed_ack: Instant::MAX,
        persist: Instant::MAX,
        time_wait: Instant::MAX,
        user: Instant::MAX,
    };
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(super) id: ConnectionId,
    pub(super) profile: Profile,
    pub(super) state: State,
    pub(super) iss: SeqNumber,
    pub(super) irs: SeqNumber,
    /// The sending half.
    pub(super) snd: Sender,
    /// The receiving half.
    pub(super) rcv: Receiver,
    pub(super) recovery: recovery::Any,
    pub(super) cc: cc::Any,
    pub(super) rtt: Estimator,
    pub(super) control: Control,
    pub(super) timers: Timers,
    pub(super) stats: Stats,
    /// A SYN or SYN-ACK is to be sent.
    pub(super) syn_due: bool,
    /// The SYN was sent more than once.
    pub(super) syn_repeated: bool,
    /// ACKs to be sent; a segment with data stands for one.
    pub(super) acks_due: u32,
    /// A zero-window probe is to be sent.
    pub(super) probe_due: bool,
    /// Probes sent since the window closed.
    pub(super) probes: u32,
    /// A reset is to be sent.
    pub(super) reset_due: bool,
    /// A reset with this sequence number answers a segment that belongs to no connection.
    pub(super) reset_reply: Option<SeqNumber>,
    /// Shift of the window we offer, and of the peer's.
    pub(super) rcv_scale: u8,
    pub(super) snd_scale: u8,
    /// `SND.WL1` and `SND.WL2` (RFC 9293 §3.10.7.4) as positions.
    pub(super) snd_wl1: u64,
    pub(super) snd_wl2: u64,
    /// Timestamps agreed on, and the peer's value to echo (`TS.Recent`, RFC 7323 §4).
    pub(super) timestamps: bool,
    pub(super) ts_recent: u32,
    /// The position last acknowledged to the peer (`Last.ACK.sent`, RFC 7323 §4.3).
    pub(super) last_ack_sent: u64,
    /// What our timestamp clock is ahead of `now`; not zero after a move.
    pub(super) clock_offset: u32,
    /// Its state has been exported: it neither sends nor takes in anything.
    pub(super) moving: bool,
    /// What was left of the retransmission timer and the user timeout at the export.
    pub(super) left: [Option<Duration>; 2],
    pub(super) end: Option<EndReason>,
    /// Typed events, if somebody wants them.
    pub(super) trace: Option<Vec<Event>>,
}

/// 2·MSL (RFC 9293 §3.4.2 gives MSL = 2 min; hosts use 60 s in all).
pub(super) const TIME_WAIT: Duration = Duration::from_secs(60);
/// Bounds of the time between zero-window probes.
const PERSIST_MIN: Duration = Duration::from_secs(1);
const PERSIST_MAX: Duration = Duration::from_secs(60);

impl Connection {
    /// A connection that opens actively: the first poll gives the SYN.
    pub fn connect(config: Config) -> Self {
        let mut connection = Self::new(config, State::SynSent);
        connection.syn_due = true;
        connection
    }

    /// A connection that waits for a SYN.
    pub fn listen(config: Config) -> Self {
        Self::new(config, State::Listen)
    }

    pub(super) fn new(config: Config, state: State) -> Self {
        let Config { id, profile, variant, iss, auto_read } = config;
        let wanted = u64::from(profile.window) * u64::from(profile.mss);
        let scale = (0..14).find(|s| wanted >> s <= 65_535).unwrap_or(14);
        let buffer = wanted.div_ceil(1 << scale) << scale;
        let ssthresh = match profile.initial_ssthresh {
            InitialSsthresh::Window => f64::from(profile.window),
            InitialSsthresh::Unbounded => f64::INFINITY,
            InitialSsthresh::Segments(segments) => f64::from(segments),
        };
        let window = Window { cwnd: 1.0, ssthresh };
        Connection {
            id,
            state,
            iss,
            irs: SeqNumber(0),
            snd: Sender::new(u64::from(profile.mss), window, profile.nagle),
            rcv: Receiver::new(&profile, buffer, auto_read),
            recovery: (variant.recovery().build)(&profile),
            cc: (variant.cc().build)(),
            rtt: Estimator::new(&profile),
            control: Control::Running,
            timers: Timers::OFF,
            stats: Stats::default(),
            syn_due: false,
            syn_repeated: false,
            acks_due: 0,
            probe_due: false,
            probes: 0,
            reset_due: false,
            reset_reply: None,
            rcv_scale: scale as u8,
            snd_scale: 0,
            snd_wl1: 0,
            snd_wl2: 0,
            timestamps: profile.timestamps,
            ts_recent: 0,
            last_ack_sent: 0,
            clock_offset: 0,
            moving: false,
            left: [None; 2],
            end: None,
            trace: None,
            profile,
        }
    }

    /// Its name.
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Its constants.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The sending half, to look at.
    pub fn sender(&self) -> &Sender {
        &self.snd
    }

    /// The receiving half, to look at.
    pub fn receiver(&self) -> &Receiver {
        &self.rcv
    }

    /// The round-trip estimator, to look at.
    pub fn rtt(&self) -> &Estimator {
        &self.rtt
    }

    /// Whether a policy holds the sending half.
    pub fn control(&self) -> Control {
        self.control
    }

    /// Counts so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Why the connection is over, if it is.
    pub fn end_reason(&self) -> Option<EndReason> {
        self.end
    }

    /// Whether the peer has acknowledged every byte written so far.
    pub fn all_acknowledged(&self) -> bool {
        self.snd.snd_una >= self.snd.stream_end
    }

    /// Payload bytes acknowledged by the peer.
    pub fn acknowledged(&self) -> u64 {
        self.snd.snd_una.min(self.snd.stream_end).saturating_sub(1)
    }

    /// The position in the peer's stream (first byte = 0) of a segment's first payload byte, for a driver that keeps
    /// the bytes. `None` before the handshake or for a number before the stream.
    pub fn payload_offset(&self, seq: SeqNumber) -> Option<u64> {
        seq.unwrap_near(self.rcv.rcv_nxt, self.irs)?.checked_sub(1)
    }

    /// The position in our own stream (first byte = 0) of a segment's first payload byte.
    pub fn sent_offset(&self, seq: SeqNumber) -> Option<u64> {
        seq.unwrap_near(self.snd.snd_una, self.iss)?.checked_sub(1)
    }

    /// Starts collecting typed events; [`Connection::drain_trace`] hands them over.
    pub fn enable_trace(&mut self) {
        self.trace.get_or_insert_default();
    }

    /// The events since the last call.
    pub fn drain_trace(&mut self) -> impl Iterator<Item = Event> {
        self.trace.iter_mut().flat_map(|events| events.drain(..))
    }

    /// Whether events wait to be drained.
    pub fn has_trace(&self) -> bool {
        self.trace.as_ref().is_some_and(|events| !events.is_empty())
    }

    pub(super) fn emit(&mut self, event: impl FnOnce() -> Event) {
        if let Some(events) = &mut self.trace {
            events.push(event());
        }
    }

    /// Adds `bytes` bytes to the stream. Ignored after [`Connection::close`].
    pub fn write(&mut self, bytes: u64) {
        if !self.snd.fin_queued && self.end.is_none() && !self.moving {
            self.start_round();
            self.snd.stream_end = self.snd.stream_end.saturating_add(bytes);
        }
    }

    /// The application takes `bytes` bytes out of the receive buffer.
    pub fn read(&mut self, bytes: u64) {
        if !self.moving && self.rcv.read(bytes) && self.state.is_synchronised() {
            self.acks_due = self.acks_due.max(1);
        }
    }

    /// Opens a round: forgets what the last input allowed to leave.
    pub(super) fn start_round(&mut self) {
        self.snd.burst = self.snd.burst_cap;
        self.snd.extra = 0;
    }

    pub(super) fn change_state<H: Hooks + ?Sized>(&mut self, to: State, now: Instant, hooks: &mut H) {
        let from = std::mem::replace(&mut self.state, to);
        self.emit(|| Event::StateChanged { from, to });
        hooks.on_state_change(self, from, now);
    }

    /// The next deadline, and why. Absolute; may have passed.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let t = &self.timers;
        let mut next = (t.rto, "retransmission");
        for (deadline, reason) in [
            (t.delayed_ack, "delayed ACK"),
            (t.persist, "zero-window probe"),
            (t.time_wait, "TIME-WAIT"),
            (t.user, "user timeout"),
        ] {
            if deadline < next.0 {
                next = (deadline, reason);
            }
        }
        (next.0 != Instant::MAX).then_some(next)
    }

    /// Serves the deadlines that have passed; early calls do nothing.
    pub fn handle_timeout<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        if self.timers.rto <= now {
            self.start_round();
            self.timers.rto = Instant::MAX;
            self.handle_rto(now, hooks);
        }
        if self.timers.delayed_ack <= now {
            self.timers.delayed_ack = Instant::MAX;
            self.acks_due = self.acks_due.max(1);
        }
        if self.timers.persist <= now {
            self.start_round();
            self.timers.persist = Instant::MAX;
            self.probe_due = true;
        }
        if self.timers.time_wait <= now {
            self.finish(EndReason::Closed, now, hooks);
        }
        if self.timers.user <= now {
            self.reset_due = true;
            self.finish(EndReason::UserTimeout, now, hooks);
        }
    }

    /// The retransmission timer has expired.
    fn handle_rto<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.stats.timeouts += 1;
            self.handle_syn_timeout(now, hooks);
            return;
        }
        if self.snd.outstanding() == 0 {
            return;
        }
        self.stats.timeouts += 1;
        let verdict = hooks.on_timeout(self, now);
        self.note_verdict(verdict);
        let (snd_una, rto, backoff) = (self.snd.snd_una, self.rtt.rto(), self.rtt.backoff());
        self.emit(|| Event::TimeoutExpired { snd_una, rto, backoff, verdict });
        match verdict {
            Verdict::Proceed => {
                self.recovery.on_timeout(&mut self.snd);
                self.cut_on_timeout(now);
                self.go_back_n();
                self.rtt.back_off();
                self.arm_rto(now, hooks);
            }
            Verdict::RetransmitKeep { backoff } => {
                self.recovery.on_timeout(&mut self.snd);
                self.snd.end_recovery();
                self.snd.recover = self.snd.snd_max;
                self.go_back_n();
                if backoff {
                    self.rtt.back_off();
                }
                self.arm_rto(now, hooks);
            }
            Verdict::Freeze => {
                self.stats.freezes += 1;
                self.control = Control::Frozen { since: now };
                self.snd.timed = None;
                self.snd.resend_left = 0;
            }
            Verdict::Suppress => self.arm_rto(now, hooks),
        }
    }

    /// The first half of RFC 6298 §5.4–5.6: all that is outstanding will be sent again.
    pub(super) fn go_back_n(&mut self) {
        self.snd.snd_nxt = self.snd.snd_una;
        self.snd.resend_left = 0;
        self.snd.timed = None;
    }

    /// The peer has closed its window over data in flight: from now on it is probed (RFC 9293 §3.8.6, MUST-35), which is
    /// no sign of congestion; what is outstanding will be sent again when the window opens. (BSD does the same.)
    pub(super) fn window_withdrawn(&mut self) {
        self.recovery.on_timeout(&mut self.snd);
        self.snd.end_recovery();
        self.snd.recover = self.snd.snd_max;
        self.go_back_n();
        self.timers.rto = Instant::MAX;
    }

    /// Whether only probes may tell that the peer takes data again.
    fn is_window_closed(&self) -> bool {
        self.snd.snd_wnd == 0 && self.state.is_synchronised()
    }

    /// RFC 5681 §3.1: a timeout means slow start from one segment.
    pub(super) fn cut_on_timeout(&mut self, now: Instant) {
        self.snd.recover = self.snd.snd_max;
        let again = self.profile.cut == Cut::FlightSize && self.snd.timed_out_at == Some(self.snd.snd_una);
        self.snd.timed_out_at = Some(self.snd.snd_una);
        if !again {
            self.cut_ssthresh(now);
        }
        self.snd.window.cwnd = 1.0;
        self.snd.last_cut = LastCut::Timeout;
    }

    /// Sets `ssthresh` after a loss; the answer is the halved window before rounding.
    pub(super) fn cut_ssthresh(&mut self, now: Instant) -> f64 {
        let base = match self.profile.cut {
            Cut::WindowWhole => (self.snd.window_segments() as u64) as f64,
            Cut::Window => self.snd.window_segments(),
            Cut::FlightSize => self.snd.flight_segments(),
        };
        let halved = self.cc.on_loss(base, now);
        let (ssthresh, cwnd) = match self.profile.cut {
            Cut::WindowWhole => ((halved as u64) as f64, (halved as u64) as f64),
            Cut::Window => ((halved as u64) as f64, halved),
            Cut::FlightSize => (halved, halved.max(2.0)),
        };
        self.snd.window.ssthresh = ssthresh.max(2.0);
        cwnd
    }

    /// Starts the retransmission timer.
    pub(super) fn arm_rto<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        if self.is_window_closed() {
            self.timers.rto = Instant::MAX;
            return;
        }
        let rto = hooks.on_rto_armed(self, self.rtt.rto());
        self.stats.interventions += u64::from(rto != self.rtt.rto());
        self.timers.rto = now + rto;
    }

    /// Starts the retransmission timer on a policy's command, without asking it again.
    pub(super) fn arm_rto_plain(&mut self, now: Instant) {
        let running =
            self.snd.outstanding() > 0 && self.control == Control::Running && !self.is_window_closed();
        self.timers.rto = if running { now + self.rtt.rto() } else { Instant::MAX };
    }

    /// Starts or stops the timers that follow what is outstanding (RFC 6298 §5.2–5.3, RFC 9293 §3.8.3).
    pub(super) fn arm_after_ack<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        if self.snd.outstanding() > 0 {
            self.arm_rto(now, hooks);
            self.timers.user = now + self.profile.user_timeout;
        } else {
            self.timers.rto = Instant::MAX;
            self.timers.user = Instant::MAX;
        }
    }

    /// Starts probing if only the peer's window holds data back (RFC 9293 §3.8.6.1).
    pub(super) fn arm_persist(&mut self, now: Instant) {
        let blocked = self.state.is_synchronised()
            && self.control == Control::Running
            && (self.snd.outstanding() == 0 || self.snd.snd_wnd == 0)
            && self.snd.snd_nxt < self.snd.end()
            && self.snd.snd_wnd < self.snd.mss;
        let held = self.control != Control::Running && self.snd.snd_una < self.snd.end();
        if held && self.timers.user == Instant::MAX {
            // Whoever holds the data back, the application's patience is finite.
            self.timers.user = now + self.profile.user_timeout;
        }
        if blocked && self.timers.persist == Instant::MAX {
            let wait = self.rtt.rto().max(PERSIST_MIN).saturating_mul(1 << self.probes.min(6));
            self.timers.persist = now + wait.min(PERSIST_MAX);
            if self.timers.user == Instant::MAX {
                self.timers.user = now + self.profile.user_timeout;
            }
        }
    }
}
