//! What a policy may order a connection to do at any time. No command moves `snd_una` or `rcv_nxt`.

use super::cc::Window;
use super::connection::{Connection, Control, EndReason, State};
use super::hooks::NoHooks;
use super::recovery::{DUP_THRESH, Recovery};
use crate::time::Instant;
use crate::trace::Event;

/// An order to a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Ends a freeze.
    Restore {
        /// What is sent first.
        mode: RestoreMode,
        /// The window afterwards.
        window: RestoreWindow,
        /// Segments that may leave at once, until the window is full again. 0: no cap.
        max_burst: u32,
    },
    /// Stops all sending and remembers `cwnd` and `ssthresh`.
    Suspend,
    /// Ends a suspension with the remembered `cwnd` and `ssthresh`, going back N.
    Resume,
    /// Sets `cwnd` and `ssthresh`: back to what they were before a cut that was a mistake (RFC 4015 §3.2). Of a
    /// suspended connection it is the remembered pair that is set.
    SetWindow(Window),
    /// Sends the first segments again, at once, with no other change.
    RetransmitNow {
        /// How many.
        segments: u32,
    },
    /// Does what the third duplicate ACK does (RFC 5681 §3.2), but asks no policy. If the losses of this window are being
    /// repaired already, the first segment is sent again and nothing is cut.
    FastRetransmit,
    /// Takes doublings of the retransmission timer back: it expires when it would have without them, or now
    /// (RFC 6069 §4.2 steps 7 and 8).
    UndoBackoff {
        /// How many.
        times: u32,
    },
    /// Ends the backoff; the timer starts again, or expires now.
    ResetRto {
        /// Whether it expires now.
        fire: bool,
    },
    /// Sends the first segment again without ending the freeze.
    Probe,
    /// Offers the peer a window of zero, at once.
    ZeroWindow,
    /// Offers the real window again, with extra copies of the ACK.
    OpenWindow {
        /// Copies beyond the first.
        dup_acks: u32,
    },
    /// Sends copies of the last ACK.
    SendDupAcks {
        /// How many.
        copies: u32,
    },
    /// Opens a listening connection actively (RFC 9293 §3.10.1, OPEN in LISTEN): its application connects after all.
    Open,
    /// Ends a connection that is not open yet, as an answer of the network would. Nothing is sent.
    Refuse {
        /// What the application is told.
        reason: EndReason,
    },
}

/// What is sent first after a freeze, ilc-tcp A3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreMode {
    /// All that is outstanding, from `snd_una`, as the window allows; the timer starts without backoff.
    GoBackN,
    /// The first unacknowledged segment only, as printed in \[Chinta Fig. 6\].
    FirstOnly,
}

/// The window after a freeze, ilc-tcp A15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreWindow {
    /// As it was.
    Keep,
    /// Half of it.
    Half,
    /// Slow start from one segment up to the old `cwnd`.
    SlowStartToOld,
}

impl Command {
    /// The name in traces.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Restore { .. } => "restore",
            Command::Suspend => "suspend",
            Command::Resume => "resume",
            Command::SetWindow(_) => "set-window",
            Command::RetransmitNow { .. } => "retransmit-now",
            Command::FastRetransmit => "fast-retransmit",
            Command::UndoBackoff { .. } => "undo-backoff",
            Command::ResetRto { .. } => "reset-rto",
            Command::Probe => "probe",
            Command::ZeroWindow => "zero-window",
            Command::OpenWindow { .. } => "open-window",
            Command::SendDupAcks { .. } => "send-dup-acks",
            Command::Open => "open",
            Command::Refuse { .. } => "refuse",
        }
    }
}

impl Connection {
    /// Carries out `command`; the driver then polls for segments. Ignored where it makes no sense (a restore without a
    /// freeze), after the end, and, but for those about opening, before the handshake is complete.
    pub fn execute(&mut self, command: Command, now: Instant) {
        if matches!(command, Command::Open | Command::Refuse { .. }) {
            self.execute_early(command, now);
            return;
        }
        if !self.state().is_synchronised() || self.state() == State::TimeWait || self.moving {
            return;
        }
        self.start_round();
        self.stats.interventions += 1;
        self.emit(|| Event::CommandExecuted { command: command.name() });
        match command {
            Command::Restore { mode, window, max_burst } => self.restore(mode, window, max_burst, now),
            Command::Suspend => self.suspend(now),
            Command::Resume => self.resume(now),
            Command::SetWindow(window) => self.set_window(window),
            Command::RetransmitNow { segments } => self.snd.resend(segments),
            Command::FastRetransmit => self.fast_retransmit(now),
            Command::UndoBackoff { times } => self.undo_backoff(times, now),
            Command::ResetRto { fire } => {
                self.rtt.clear_backoff();
                self.arm_rto_plain(now);
                if fire && self.timers.rto != Instant::MAX {
                    self.timers.rto = now;
                }
            }
            Command::Probe => self.snd.resend(1),
            Command::ZeroWindow => {
                self.rcv.closed_by_command = true;
                self.acks_due = self.acks_due.max(1);
            }
            Command::OpenWindow { dup_acks } => {
                self.rcv.closed_by_command = false;
                self.acks_due += 1 + dup_acks;
            }
            Command::SendDupAcks { copies } => self.acks_due += copies,
            Command::Open | Command::Refuse { .. } => {}
        }
    }

    /// What concerns a connection before its handshake.
    fn execute_early(&mut self, command: Command, now: Instant) {
        let is_ours = match command {
            Command::Open => self.state() == State::Listen,
            _ => matches!(self.state(), State::Listen | State::SynSent),
        };
        if !is_ours || self.end_reason().is_some() || self.moving {
            return;
        }
        self.stats.interventions += 1;
        self.emit(|| Event::CommandExecuted { command: command.name() });
        if let Command::Refuse { reason } = command {
            self.finish(reason, now, &mut NoHooks);
        } else {
            self.syn_due = true;
            self.change_state(State::SynSent, now, &mut NoHooks);
        }
    }

    fn restore(&mut self, mode: RestoreMode, window: RestoreWindow, max_burst: u32, now: Instant) {
        let Control::Frozen { .. } = self.control else { return };
        self.control = Control::Running;
        self.snd.end_kept();
        let old = self.snd.window.cwnd;
        match window {
            RestoreWindow::Keep => {}
            RestoreWindow::Half => {
                self.snd.window.ssthresh = (old / 2.0).max(2.0);
                self.snd.window.cwnd = (old / 2.0).max(1.0);
            }
            RestoreWindow::SlowStartToOld => {
                self.snd.window.ssthresh = old.max(2.0);
                self.snd.window.cwnd = 1.0;
            }
        }
        match mode {
            RestoreMode::GoBackN => self.go_back_n_afresh(),
            RestoreMode::FirstOnly => self.snd.resend(1),
        }
        if max_burst > 0 {
            self.snd.burst = max_burst;
            self.snd.burst_cap = max_burst;
        }
        self.snd.timed = None;
        self.arm_rto_plain(now);
    }

    fn fast_retransmit(&mut self, now: Instant) {
        if self.control != Control::Running || self.snd.outstanding() == 0 || self.snd.snd_wnd == 0 {
            return;
        }
        if !self.recovery.may_enter(&self.snd) {
            self.snd.resend(1);
            return;
        }
        let halved = self.cut_ssthresh(now);
        self.snd.dupacks = DUP_THRESH;
        self.recovery.enter(&mut self.snd, halved, false);
        self.recovery.on_further_dup_ack(&mut self.snd, true);
        self.stats.fast_retransmits += 1;
        self.snd.timed = None;
        self.arm_rto_plain(now);
    }

    fn undo_backoff(&mut self, times: u32, now: Instant) {
        let before = self.rtt.rto();
        self.rtt.undo_backoff(times);
        if self.timers.rto != Instant::MAX {
            let gained = before - self.rtt.rto();
            let since_start = self.timers.rto.as_nanos().saturating_sub(gained.as_nanos());
            self.timers.rto = Instant::from_nanos(since_start).max(now);
        }
    }

    fn suspend(&mut self, now: Instant) {
        if matches!(self.control, Control::Suspended { .. }) {
            return;
        }
        self.snd.end_kept();
        self.control = Control::Suspended { stored: self.snd.window, since: now };
        self.timers.rto = Instant::MAX;
        self.snd.timed = None;
        self.snd.resend_left = 0;
        if self.timers.user == Instant::MAX && self.snd.snd_una < self.snd.end() {
            self.timers.user = now + self.profile.user_timeout;
        }
    }

    fn resume(&mut self, now: Instant) {
        let Control::Suspended { stored, .. } = self.control else { return };
        self.control = Control::Running;
        self.snd.window = stored;
        self.go_back_n_afresh();
        self.arm_rto_plain(now);
    }

    fn set_window(&mut self, window: Window) {
        let window = Window { cwnd: window.cwnd.max(1.0), ssthresh: window.ssthresh.max(2.0) };
        match &mut self.control {
            Control::Suspended { stored, .. } => *stored = window,
            _ => self.snd.window = window,
        }
    }

    /// Everything outstanding is to be sent again, and what happened before does not count.
    fn go_back_n_afresh(&mut self) {
        self.snd.snd_nxt = self.snd.snd_una;
        self.snd.recover = self.snd.snd_max;
        self.snd.end_recovery();
        self.snd.timed = None;
        self.rtt.clear_backoff();
    }
}
