//! Moving one end of a connection to another host, without the peer's help.
//!
//! The four primitives of \[Bakre §5.1\] (K1–K4 of the I-TCP criteria):
//!
//! | | primitive | here |
//! |---|---|---|
//! | K1 | freeze a connected socket and capture its state | [`Connection::export`] |
//! | K2 | create a connected socket without the peer | [`Connection::import`] |
//! | K3 | establish the state and restart | [`Connection::import`], or [`Connection::thaw`] of the frozen original |
//! | K4 | delete, not close | [`Connection::delete_silent`] |
//!
//! From its export on a connection is silent: no segment, no reset, no deadline. What arrives meanwhile is as if it had
//! been lost; a driver that wants better keeps it and replays it after the import.
//!
//! ## What does not travel
//! Deadlines start anew, as the two hosts need not share a clock. The segment being timed is forgotten (Karn), a policy's
//! freeze or suspension is over, and the recovery algorithm starts without memory beyond the fields of [`SendState`].

use super::SeqNumber;
use super::cc::Window;
use super::connection::{Config, Connection, Control, EndReason, State, TIME_WAIT};
use super::handshake::timestamp;
use super::send::LastCut;
use crate::time::{Duration, Instant};

/// All of a connection but its bytes and its four-tuple. Positions count sequence space from the SYN.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionState {
    /// The state of RFC 9293 §3.3.2.
    pub state: State,
    /// Why it is over, if it is.
    pub end: Option<EndReason>,
    /// Our initial sequence number.
    pub iss: SeqNumber,
    /// The peer's.
    pub irs: SeqNumber,
    /// The sending half.
    pub send: SendState,
    /// The receiving half.
    pub receive: ReceiveState,
    /// The round-trip estimate.
    pub rtt: RttState,
    /// Timestamps, if they were agreed on (RFC 7323 §3).
    pub timestamps: Option<TimestampState>,
}

/// The sending half of a [`ConnectionState`].
#[derive(Clone, Debug, PartialEq)]
pub struct SendState {
    /// Oldest unacknowledged position (`SND.UNA`).
    pub snd_una: u64,
    /// Next position to send (`SND.NXT`).
    pub snd_nxt: u64,
    /// Highest position ever sent, plus one.
    pub snd_max: u64,
    /// Position after the last byte in the send buffer.
    pub stream_end: u64,
    /// Whether a FIN follows the last byte.
    pub fin_queued: bool,
    /// The peer's window in bytes (`SND.WND`).
    pub snd_wnd: u64,
    /// The largest window that the peer ever offered, in bytes.
    pub max_snd_wnd: u64,
    /// `SND.WL1` and `SND.WL2` as positions.
    pub snd_wl1: u64,
    /// See `snd_wl1`.
    pub snd_wl2: u64,
    /// Maximum segment size agreed on, in bytes.
    pub mss: u64,
    /// Shift of the peer's window, `0..=14`.
    pub snd_scale: u8,
    /// `cwnd` and `ssthresh`, in segments.
    pub window: Window,
    /// Segments known to have left the network during recovery.
    pub inflation: u64,
    /// Duplicate ACKs in a row.
    pub dupacks: u32,
    /// `snd_max` when the last loss was handled.
    pub recover: u64,
    /// Why the window was last cut.
    pub last_cut: LastCut,
    /// `snd_una` when the retransmission timer last expired.
    pub timed_out_at: Option<u64>,
    /// Zero-window probes sent since the window closed.
    pub probes: u32,
    /// Time left until the retransmission timer expires, if it runs. It stands still until the import.
    pub rto_left: Option<Duration>,
    /// The same of the user timeout.
    pub user_left: Option<Duration>,
}

/// The receiving half of a [`ConnectionState`].
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiveState {
    /// Next position expected (`RCV.NXT`).
    pub rcv_nxt: u64,
    /// Right edge of the window offered, as a position.
    pub rcv_edge: u64,
    /// In-order bytes that the application has not read.
    pub unread: u64,
    /// Ranges held beyond a hole: disjoint, ascending.
    pub beyond: Vec<(u64, u64)>,
    /// Position of the peer's FIN, once seen.
    pub fin: Option<u64>,
    /// Position last acknowledged to the peer.
    pub last_ack_sent: u64,
    /// Shift of the window we offer, `0..=14`.
    pub rcv_scale: u8,
}

/// The round-trip estimate of a [`ConnectionState`], independent of either host's clock tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttState {
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Mean deviation.
    pub rttvar: Duration,
    /// SRTT + 4·RTTVAR, before limits and backoff.
    pub rto_base: Duration,
    /// How often the timeout has been doubled.
    pub backoff: u32,
}

/// The timestamps of a [`ConnectionState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampState {
    /// The timestamp clock at the capture. It stands still until the import and goes on from there.
    pub clock: u32,
    /// The peer's value to echo (`TS.Recent`).
    pub recent: u32,
}

/// How the sending half goes on after an import, i-tcp I6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// With the windows and the backoff that it had.
    AsItWas,
    /// From `cwnd` 1, without backoff, and what is outstanding is sent again at once.
    SlowStart,
}

impl ConnectionState {
    /// Bytes of the record without payload: the widths of the fields above, windows and times in 8 bytes.
    const RECORD_BYTES: u64 = 10 + 123 + 16 + 41 + 28 + 8;

    /// Bytes of stream that travel with it: the send buffer, what was not read, and what lies beyond holes.
    pub fn payload_bytes(&self) -> u64 {
        let unacknowledged = self.send.stream_end.saturating_sub(self.send.snd_una.max(1));
        let beyond: u64 = self.receive.beyond.iter().map(|(start, end)| end - start).sum();
        unacknowledged + self.receive.unread + beyond
    }

    /// Bytes of the whole record with its payload, to be carried by a message.
    pub fn wire_bytes(&self) -> u64 {
        Self::RECORD_BYTES + 16 * self.receive.beyond.len() as u64 + self.payload_bytes()
    }
}

impl Connection {
    /// Freezes the connection and captures its state (K1). Nothing leaves it any more and nothing is taken in, until
    /// [`Connection::thaw`]. Called again it gives the same state.
    pub fn export(&mut self, now: Instant) -> ConnectionState {
        if !self.moving {
            let left = |at: Instant| (at != Instant::MAX).then(|| at.since(now));
            self.left = [left(self.timers.rto), left(self.timers.user)];
        }
        self.moving = true;
        self.stop_timers();
        self.acks_due = 0;
        self.probe_due = false;
        self.reset_reply = None;
        if self.snd.kept.is_some() {
            // The policy that spared the window does not travel.
            self.snd.end_recovery();
        }
        let snd = &self.snd;
        ConnectionState {
            state: self.state,
            end: self.end,
            iss: self.iss,
            irs: self.irs,
            send: SendState {
                snd_una: snd.snd_una,
                snd_nxt: snd.snd_nxt,
                snd_max: snd.snd_max,
                stream_end: snd.stream_end,
                fin_queued: snd.fin_queued,
                snd_wnd: snd.snd_wnd,
                max_snd_wnd: snd.max_snd_wnd,
                snd_wl1: self.snd_wl1,
                snd_wl2: self.snd_wl2,
                mss: snd.mss,
                snd_scale: self.snd_scale,
                window: snd.window,
                inflation: snd.inflation,
                dupacks: snd.dupacks,
                recover: snd.recover,
                last_cut: snd.last_cut,
                timed_out_at: snd.timed_out_at,
                probes: self.probes,
                rto_left: self.left[0],
                user_left: self.left[1],
            },
            receive: self.rcv.capture(self.last_ack_sent, self.rcv_scale),
            rtt: self.rtt.capture(),
            timestamps: self.timestamps.then(|| TimestampState {
                clock: timestamp(now).wrapping_add(self.clock_offset),
                recent: self.ts_recent,
            }),
        }
    }

    /// Whether it is frozen by [`Connection::export`].
    pub fn is_exported(&self) -> bool {
        self.moving
    }

    /// A connection in this state, created without the peer and started (K2, K3). `config.iss` does not count. The peer
    /// is told the window at once: while nobody held the connection it may have run into a closed one.
    pub fn import(config: Config, state: &ConnectionState, restart: Restart, now: Instant) -> Self {
        let mut connection = Connection::new(Config { iss: state.iss, ..config }, state.state);
        connection.end = state.end;
        connection.irs = state.irs;
        let send = &state.send;
        let snd = &mut connection.snd;
        snd.snd_una = send.snd_una;
        snd.snd_nxt = send.snd_nxt;
        snd.snd_max = send.snd_max;
        snd.stream_end = send.stream_end;
        snd.fin_queued = send.fin_queued;
        snd.snd_wnd = send.snd_wnd;
        snd.max_snd_wnd = send.max_snd_wnd;
        snd.mss = send.mss;
        snd.window = send.window;
        snd.inflation = send.inflation;
        snd.dupacks = send.dupacks;
        snd.recover = send.recover;
        snd.last_cut = send.last_cut;
        snd.timed_out_at = send.timed_out_at;
        connection.snd_wl1 = send.snd_wl1;
        connection.snd_wl2 = send.snd_wl2;
        connection.snd_scale = send.snd_scale;
        connection.probes = send.probes;
        connection.rcv.establish(&state.receive);
        connection.last_ack_sent = state.receive.last_ack_sent;
        connection.rcv_scale = state.receive.rcv_scale;
        connection.rtt.establish(&state.rtt);
        connection.left = [send.rto_left, send.user_left];
        connection.timestamps = state.timestamps.is_some();
        if let Some(stamps) = state.timestamps {
            connection.ts_recent = stamps.recent;
            connection.clock_offset = stamps.clock.wrapping_sub(timestamp(now));
        }
        connection.start_moved(restart, now);
        connection
    }

    /// Lets an exported connection go on where it is: the move did not take place.
    pub fn thaw(&mut self, restart: Restart, now: Instant) {
        if std::mem::take(&mut self.moving) {
            self.start_moved(restart, now);
        }
    }

    /// Ends the connection without a word to the peer, because somebody else has it now (K4).
    pub fn delete_silent(&mut self) {
        self.moving = true;
        self.stop_timers();
        self.state = State::Closed;
        self.end = Some(EndReason::Moved);
        (self.syn_due, self.reset_due, self.reset_reply) = (false, false, None);
    }

    fn start_moved(&mut self, restart: Restart, now: Instant) {
        self.start_round();
        self.control = Control::Running;
        self.snd.timed = None;
        self.snd.resend_left = 0;
        match self.state {
            State::Closed | State::Listen => return,
            State::SynSent | State::SynReceived => {
                self.syn_due = true;
                return;
            }
            State::TimeWait => {
                self.timers.time_wait = now + TIME_WAIT;
                return;
            }
            _ => {}
        }
        if restart == Restart::SlowStart {
            self.snd.window.cwnd = 1.0;
            self.snd.recover = self.snd.snd_max;
            self.snd.end_recovery();
            self.rtt.clear_backoff();
            self.probes = 0;
            self.go_back_n();
        }
        self.acks_due = 1;
        self.arm_rto_plain(now);
        // A host that moves more often than a backed-off timer expires would never retransmit.
        let [rto_left, user_left] = std::mem::take(&mut self.left);
        if let (Restart::AsItWas, Some(left), true) = (restart, rto_left, self.timers.rto != Instant::MAX) {
            self.timers.rto = now + left;
        }
        if self.snd.outstanding() > 0 {
            self.timers.user = now + user_left.unwrap_or(self.profile.user_timeout);
        }
    }
}
