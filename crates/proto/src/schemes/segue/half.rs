//! What Segue knows of one connection: its sending half, its receiving half, and what the other end has said.

use crate::tcp::cc::Window;
use crate::tcp::{Handover, PathReport, Probability};
use crate::time::{Duration, Instant};

/// A frozen connection is probed so often, in case the good news is lost.
const PROBE_EVERY: Duration = Duration::from_secs(10);
/// Silence of a connection without any round-trip sample that counts as a stall.
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_secs(1);
/// A report older than so many round trips says nothing of the queue now.
const REPORT_ROUND_TRIPS: u64 = 2;

/// One connection.
#[derive(Debug)]
pub(super) struct Conversation {
    /// When the last data was acknowledged, or the first of what is outstanding sent.
    progress: Instant,
    outstanding: bool,
    srtt: Duration,
    /// Frozen, and when it is probed next.
    frozen: Option<Instant>,
    /// The window before the first timeout since the last progress.
    before_cut: Option<Window>,
    /// The MAC has dropped some of what is outstanding.
    dropped: bool,
    /// Samples of what was sent before this instant measure an absence.
    distrust_before: Instant,
    /// The other end said that it is back, and nothing has come of it yet.
    peer_returned: bool,
    /// What the other end last said of the queues towards it.
    reported: Option<(Probability, Instant)>,
    /// When data last arrived.
    last_data: Option<Instant>,
    /// The highest drop probability that the last data met.
    p_max: Option<f64>,
    /// How many segments more tell the sender that this end is back.
    notices: u32,
}

impl Default for Conversation {
    fn default() -> Self {
        Conversation {
            progress: Instant::ZERO,
            outstanding: false,
            srtt: UNKNOWN_ROUND_TRIP,
            frozen: None,
            before_cut: None,
            dropped: false,
            distrust_before: Instant::ZERO,
            peer_returned: false,
            reported: None,
            last_data: None,
            p_max: None,
            notices: 0,
        }
    }
}

impl Conversation {
    /// Data was sent.
    pub(super) fn note_sent(&mut self, now: Instant) {
        if !self.outstanding {
            self.outstanding = true;
            self.progress = now;
        }
    }

    /// New data was acknowledged; `remains`: not all of it.
    pub(super) fn note_progress(&mut self, remains: bool, srtt: Option<Duration>, now: Instant) {
        self.progress = now;
        self.outstanding = remains;
        self.srtt = srtt.unwrap_or(UNKNOWN_ROUND_TRIP);
        self.frozen = None;
        self.before_cut = None;
        self.dropped = false;
        self.peer_returned = false;
    }

    /// A timeout cuts the window.
    pub(super) fn note_cut(&mut self, window: Window) {
        self.before_cut.get_or_insert(window);
    }

    /// The MAC gave up on data of this connection.
    pub(super) fn note_dropped(&mut self) {
        self.dropped = true;
    }

    pub(super) fn freeze(&mut self, now: Instant) {
        self.frozen = Some(now + PROBE_EVERY);
    }

    /// Something is outstanding, and there is reason to think that it, or its acknowledgement, is gone.
    pub(super) fn is_stalled(&self, now: Instant) -> bool {
        let silent = now.since(self.progress) > self.srtt + self.srtt / 2;
        self.outstanding && (self.frozen.is_some() || self.before_cut.is_some() || self.dropped || silent)
    }

    /// The connection starts again: whether it was frozen, and the window of before the silence if that was cut.
    pub(super) fn take_up(&mut self, now: Instant) -> (bool, Option<Window>) {
        self.progress = now;
        self.dropped = false;
        self.distrust_before = now;
        self.peer_returned = false;
        (self.frozen.take().is_some(), self.before_cut.take())
    }

    /// Whether a round-trip sample of what was sent then may be used.
    pub(super) fn believes_sample_of(&self, sent_at: Instant) -> bool {
        sent_at >= self.distrust_before
    }

    /// When a frozen connection is probed.
    pub(super) fn probe_at(&self) -> Option<Instant> {
        self.frozen
    }

    /// Whether it is to be probed now; asks for the next time.
    pub(super) fn probe_is_due(&mut self, now: Instant) -> bool {
        let due = self.frozen.is_some_and(|at| at <= now);
        if due {
            self.frozen = Some(now + PROBE_EVERY);
        }
        due
    }

    /// The other end reports.
    pub(super) fn hear(&mut self, report: PathReport, now: Instant) {
        if let Some(p_max) = report.p_max {
            self.reported = Some((p_max, now));
        }
        self.peer_returned |= report.handover == Some(Handover::Completed);
    }

    pub(super) fn peer_is_back(&self) -> bool {
        self.peer_returned
    }

    /// Whether the other end has lately reported a drop probability above `veto`.
    pub(super) fn is_congested(&self, veto: f64, now: Instant) -> bool {
        let fresh = |at: Instant| now.since(at) <= self.srtt * REPORT_ROUND_TRIPS;
        self.reported.is_some_and(|(p_max, at)| p_max.value() > veto && fresh(at))
    }

    /// Data arrived.
    pub(super) fn note_data(&mut self, now: Instant) {
        self.last_data = Some(now);
        // The sender has heard.
        self.notices = 0;
    }

    /// The last data met this drop probability, if it is worth telling.
    pub(super) fn note_p_max(&mut self, p: Option<f64>) {
        self.p_max = p;
    }

    /// Whether data came in before `since` and none has come after.
    pub(super) fn listens_in_vain(&self, since: Instant) -> bool {
        self.last_data.is_some_and(|at| at <= since)
    }

    /// The next `copies` segments tell the sender that this end is back.
    pub(super) fn tell(&mut self, copies: u32) {
        self.notices = copies;
    }

    /// What the next segment is to report.
    pub(super) fn report(&mut self) -> Option<PathReport> {
        let handover = (self.notices > 0).then_some(Handover::Completed);
        self.notices = self.notices.saturating_sub(1);
        let p_max = self.p_max.map(Probability::nearest);
        (handover.is_some() || p_max.is_some()).then_some(PathReport { p_max, power_dbm: None, handover })
    }
}
