//! What a policy may answer and order, on the core alone.

use segue_proto::tcp::cc::Window;
use segue_proto::tcp::{
    Command, Connection, Control, EndReason, Flags, Hooks, Loss, NoHooks, Options, Profile, RestoreMode,
    RestoreWindow, Segment, State, Verdict,
};
use segue_proto::time::{Duration, Instant};

use crate::{Solo, at, plain};

const GO_BACK_N: Command =
    Command::Restore { mode: RestoreMode::GoBackN, window: RestoreWindow::Keep, max_burst: 0 };

const KEEP: Verdict = Verdict::RetransmitKeep { backoff: false };

#[test]
fn a_kept_window_after_a_timeout_still_goes_back_n() {
    for (backoff, expected) in [(true, 1), (false, 0)] {
        let mut solo = ten_in_flight("reno");
        let sent = expire_with(&mut solo, Verdict::RetransmitKeep { backoff });
        assert_eq!(sent, (1..=10).collect::<Vec<_>>());
        assert_eq!(solo.window(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        assert_eq!(solo.connection.rtt().backoff(), expected);
    }
}

#[test]
fn a_kept_window_after_duplicate_acks_repairs_without_a_cut() {
    for variant in ["tahoe", "reno", "new-reno"] {
        let mut solo = ten_in_flight(variant);
        let verdict = Verdict::RetransmitKeep { backoff: false };
        let sent: Vec<u64> = (0..3).flat_map(|_| dup_ack_with(&mut solo, verdict)).collect();
        assert_eq!(sent.first(), Some(&1), "{variant}");
        assert_eq!(solo.window(), Window { cwnd: 10.0, ssthresh: f64::INFINITY }, "{variant}");
    }
}

#[test]
fn a_kept_window_is_inflated_so_that_new_data_flows_while_new_reno_repairs_hole_after_hole() {
    let mut solo = ten_in_flight("new-reno");
    // Segments 1 and 4 are lost: eight duplicates.
    let sent: Vec<u64> = (0..8).flat_map(|_| dup_ack_with(&mut solo, KEEP)).collect();
    assert_eq!(sent, [1, 11, 12, 13, 14, 15, 16, 17, 18]);
    assert_eq!(solo.ack(3), [4, 19], "a partial ACK: the next hole, and recovery goes on");
    assert_eq!(solo.connection.stats().fast_retransmits, 1);
    assert_eq!(solo.ack(18), [20, 21, 22, 23, 24, 25, 26, 27, 28]);
    assert_eq!(solo.window(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
}

#[test]
fn the_end_of_a_repair_without_a_cut_gives_back_what_partial_acks_deflated() {
    for profile in [plain(), Profile { new_reno: Profile::named("ns-2.35").unwrap().new_reno, ..plain() }] {
        let mut solo = Solo::sending(&Profile { initial_window: 10, ..profile }, "new-reno", 100);
        (0..3).for_each(|_| drop(dup_ack_with(&mut solo, KEEP)));
        solo.ack(8);
        assert_eq!(solo.window().cwnd as u32, 5, "deflated by 8, of which 3 were inflation");
        solo.ack(10);
        assert_eq!(solo.window(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        assert_eq!(solo.connection.sender().inflation, 0);
    }
}

#[test]
fn reno_ends_a_repair_without_a_cut_by_the_first_new_ack() {
    let mut solo = ten_in_flight("reno");
    (0..5).for_each(|_| drop(dup_ack_with(&mut solo, KEEP)));
    assert_eq!(solo.connection.sender().inflation, 5);
    solo.ack(3);
    assert_eq!(solo.connection.sender().inflation, 0);
    assert_eq!(solo.window(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
}

#[test]
fn a_timeout_within_a_repair_without_a_cut_cuts_the_window_from_before() {
    let mut solo = ten_in_flight("new-reno");
    (0..3).for_each(|_| drop(dup_ack_with(&mut solo, KEEP)));
    solo.ack(8);
    solo.expire("retransmission");
    assert_eq!(solo.window().cwnd as u32, 1);
    // The kept window of ten is gone for good: growth is that of slow start.
    solo.ack(9);
    assert_eq!(solo.window().cwnd as u32, 2);
}

#[test]
fn the_next_loss_after_a_repair_without_a_cut_is_cut_again() {
    let mut solo = ten_in_flight("new-reno");
    (0..3).for_each(|_| drop(dup_ack_with(&mut solo, KEEP)));
    solo.ack(12);
    (0..3).for_each(|_| drop(solo.ack(12)));
    assert_eq!(solo.window().cwnd as u32, 5);
}

#[test]
fn a_suppressed_timeout_changes_nothing_and_comes_again_after_the_same_time() {
    let mut solo = ten_in_flight("reno");
    assert_eq!(expire_with(&mut solo, Verdict::Suppress), []);
    assert_eq!(solo.connection.rtt().backoff(), 0);
    assert_eq!(solo.connection.poll_timeout(), Some((at(2_020), "retransmission")));
}

#[test]
fn a_suppressed_loss_sends_nothing_and_is_left_to_the_timer() {
    let mut solo = ten_in_flight("reno");
    let sent: Vec<u64> = (0..9).flat_map(|_| dup_ack_with(&mut solo, Verdict::Suppress)).collect();
    assert_eq!(sent, []);
    assert_eq!(solo.connection.poll_timeout().map(|(_, why)| why), Some("retransmission"));
}

#[test]
fn a_freeze_stops_the_timer_and_all_sending_but_not_the_user_timeout() {
    let mut solo = Solo::sending(
        &Profile { initial_window: 10, user_timeout: Duration::from_secs(9), ..plain() },
        "reno",
        100,
    );
    assert_eq!(expire_with(&mut solo, Verdict::Freeze), []);
    assert_eq!(solo.connection.control(), Control::Frozen { since: at(1_020) });
    solo.connection.write(5_000);
    assert_eq!(solo.transmit(), []);
    assert_eq!(solo.connection.poll_timeout(), Some((at(9_020), "user timeout")));
}

#[test]
fn a_loss_may_be_answered_by_a_freeze_too() {
    let mut solo = ten_in_flight("reno");
    let sent: Vec<u64> = (0..3).flat_map(|_| dup_ack_with(&mut solo, Verdict::Freeze)).collect();
    assert_eq!(sent, []);
    solo.connection.execute(GO_BACK_N, solo.now);
    assert_eq!(solo.transmit().len(), 10);
}

#[test]
fn a_restore_after_a_freeze_within_fast_recovery_starts_afresh() {
    // All that is outstanding is sent again: ACKs of it are ordinary ones, and what the receiver had already does not
    // start another recovery (ilc-tcp A3, `recover = snd_max`).
    for variant in ["reno", "new-reno"] {
        let mut solo = ten_in_flight(variant);
        for _ in 0..3 {
            solo.ack(0);
        }
        expire_with(&mut solo, Verdict::Freeze);
        solo.connection.execute(GO_BACK_N, solo.now);
        let sent = solo.transmit();
        assert_eq!(solo.numbers(&sent), [1, 2, 3, 4, 5], "{variant}");
        assert_eq!(solo.ack(1), [6], "{variant}: one new segment, nothing twice");
        for _ in 0..4 {
            solo.ack(1);
        }
        assert_eq!(solo.connection.stats().fast_retransmits, 1, "{variant}");
        assert_eq!(solo.window().ssthresh as u32, 5, "{variant}");
    }
}

#[test]
fn a_kept_window_after_a_timeout_within_fast_recovery_starts_afresh_too() {
    for variant in ["reno", "new-reno"] {
        let mut solo = ten_in_flight(variant);
        for _ in 0..3 {
            solo.ack(0);
        }
        expire_with(&mut solo, Verdict::RetransmitKeep { backoff: false });
        assert_eq!(solo.ack(1), [6], "{variant}: one new segment, nothing twice");
    }
}

#[test]
fn a_restore_without_a_freeze_is_ignored() {
    let mut solo = ten_in_flight("reno");
    solo.connection.execute(GO_BACK_N, solo.now);
    assert_eq!(solo.transmit(), []);
}

#[test]
fn the_pair_to_come_back_to_survives_a_suspension() {
    let mut solo = ten_in_flight("reno");
    solo.ack(2);
    let before = solo.window();
    solo.connection.execute(Command::Suspend, solo.now);
    assert_eq!(solo.ack(4), []);
    assert_eq!(solo.connection.acknowledged(), 4_000);
    solo.connection.execute(Command::Suspend, solo.now);
    solo.connection.execute(Command::Resume, solo.now);
    assert_eq!(solo.window(), before);
    let sent = solo.transmit();
    assert_eq!(solo.numbers(&sent), (5..=15).collect::<Vec<_>>());
}

#[test]
fn a_fin_acknowledged_during_a_suspension_is_not_forgotten() {
    let mut solo = Solo::open(&plain(), "reno");
    solo.connection.close();
    solo.transmit();
    assert_eq!(solo.connection.state(), State::FinWait1);
    solo.connection.execute(Command::Suspend, solo.now);
    let ack = solo.segment(1, 0, 2, Flags::ACK);
    solo.receive(&ack);
    assert_eq!(solo.connection.state(), State::FinWait2);
}

#[test]
fn a_suspension_that_holds_unsent_data_back_ends_by_the_user_timeout_at_the_latest() {
    let mut solo = ten_in_flight("reno");
    solo.connection.execute(Command::Suspend, solo.now);
    let ack = solo.segment(1, 0, 10_001, Flags::ACK);
    solo.receive(&ack);
    assert_eq!(solo.connection.poll_timeout().map(|(_, reason)| reason), Some("user timeout"));
}

#[test]
fn a_suspension_with_nothing_to_send_is_not_given_up() {
    let mut solo = Solo::open(&plain(), "reno");
    solo.connection.execute(Command::Suspend, solo.now);
    solo.transmit();
    assert_eq!(solo.connection.poll_timeout(), None);
}

#[test]
fn a_suspension_of_what_is_outstanding_ends_by_the_user_timeout_at_the_latest() {
    let mut solo = ten_in_flight("reno");
    solo.connection.execute(Command::Suspend, solo.now);
    solo.ack(3);
    solo.expire("user timeout");
    assert_eq!(solo.connection.end_reason(), Some(EndReason::UserTimeout));
}

#[test]
fn retransmit_now_sends_the_first_segments_and_touches_nothing_else() {
    let mut solo = ten_in_flight("reno");
    let before = solo.window();
    let timer = solo.connection.poll_timeout();
    solo.connection.execute(Command::RetransmitNow { segments: 3 }, solo.now);
    let sent = solo.transmit();
    assert_eq!(solo.numbers(&sent), [1, 2, 3]);
    assert_eq!(solo.window(), before);
    assert_eq!(solo.connection.poll_timeout(), timer);
    assert_eq!(solo.connection.sender().snd_nxt, 10_001);
}

#[test]
fn retransmit_now_stops_at_what_was_sent() {
    let mut solo = Solo::sending(&plain(), "reno", 2);
    solo.connection.execute(Command::RetransmitNow { segments: 50 }, solo.now);
    let sent = solo.transmit();
    assert_eq!(solo.numbers(&sent), [1, 2]);
}

#[test]
fn undoing_a_backoff_sets_the_shorter_timer() {
    let mut solo = ten_in_flight("reno");
    solo.expire("retransmission");
    solo.expire("retransmission");
    solo.connection.execute(Command::UndoBackoff { times: 1 }, solo.now);
    assert_eq!(solo.connection.rtt().backoff(), 1);
    assert_eq!(solo.connection.poll_timeout(), Some((solo.now + Duration::from_secs(2), "retransmission")));
}

#[test]
fn a_backoff_undone_late_counts_from_when_the_timer_was_started() {
    let mut solo = ten_in_flight("reno");
    solo.expire("retransmission");
    solo.expire("retransmission");
    let started = solo.now;
    solo.connection.execute(Command::UndoBackoff { times: 1 }, started + Duration::from_millis(1_500));
    let deadline = started + Duration::from_secs(2);
    assert_eq!(solo.connection.poll_timeout(), Some((deadline, "retransmission")));
    // What is left of the next one has passed already.
    solo.connection.execute(Command::UndoBackoff { times: 1 }, started + Duration::from_millis(1_500));
    let now = started + Duration::from_millis(1_500);
    assert_eq!(solo.connection.poll_timeout(), Some((now, "retransmission")));
}

#[test]
fn a_fast_retransmission_by_command_cuts_once_and_resends_the_first_segment() {
    for name in ["tahoe", "reno", "new-reno"] {
        let mut solo = ten_in_flight(name);
        let before = solo.connection.sender().window.cwnd;
        solo.connection.execute(Command::FastRetransmit, solo.now);
        let sent = solo.transmit();
        assert_eq!(solo.numbers(&sent).first(), Some(&1), "{name}");
        let cut = solo.connection.sender().window;
        assert!(cut.cwnd <= before / 2.0 + 0.5, "{name}: {cut:?}");
        assert_eq!(solo.connection.stats().fast_retransmits, 1, "{name}");
        solo.connection.execute(Command::FastRetransmit, solo.now);
        assert_eq!(solo.connection.sender().window, cut, "{name}");
        assert_eq!(solo.connection.stats().fast_retransmits, 1, "{name}");
    }
}

#[test]
fn a_timer_reset_by_command_starts_again_or_expires_now() {
    let mut solo = ten_in_flight("reno");
    solo.expire("retransmission");
    solo.connection.execute(Command::ResetRto { fire: false }, solo.now);
    assert_eq!(solo.connection.poll_timeout(), Some((solo.now + Duration::from_secs(1), "retransmission")));
    solo.connection.execute(Command::ResetRto { fire: true }, solo.now);
    assert_eq!(solo.connection.poll_timeout(), Some((solo.now, "retransmission")));
}

#[test]
fn a_zero_window_by_command_is_told_at_once_and_taken_back_with_copies() {
    let mut solo = Solo::open(&plain(), "reno");
    solo.connection.execute(Command::ZeroWindow, solo.now);
    assert_eq!(windows(&solo.transmit()), [0]);
    solo.connection.execute(Command::OpenWindow { dup_acks: 3 }, solo.now);
    let told = solo.transmit();
    assert_eq!(told.len(), 4);
    assert!(told.iter().all(|s| s.window > 0 && s.ack == told[0].ack));
}

#[test]
fn dup_acks_by_command_are_all_alike() {
    let mut solo = Solo::open(&plain(), "reno");
    solo.connection.execute(Command::SendDupAcks { copies: 3 }, solo.now);
    let sent = solo.transmit();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|s| *s == sent[0] && s.is_pure_ack()));
}

#[test]
fn no_command_has_an_effect_before_the_handshake_or_after_the_end() {
    let commands = [
        GO_BACK_N,
        Command::Suspend,
        Command::Resume,
        Command::RetransmitNow { segments: 1 },
        Command::FastRetransmit,
        Command::UndoBackoff { times: 1 },
        Command::ResetRto { fire: true },
        Command::Probe,
        Command::ZeroWindow,
        Command::OpenWindow { dup_acks: 1 },
        Command::SendDupAcks { copies: 1 },
    ];
    let mut early = Solo::connecting(&plain(), "reno");
    early.transmit();
    let mut late = Solo::open(&plain(), "reno");
    late.connection.abort(late.now, &mut NoHooks);
    late.transmit();
    for solo in [&mut early, &mut late] {
        let timer = solo.connection.poll_timeout();
        for command in commands {
            solo.connection.execute(command, solo.now);
            assert_eq!(solo.transmit(), [], "{}", command.name());
            assert_eq!(solo.connection.poll_timeout(), timer, "{}", command.name());
            assert_eq!(solo.connection.control(), Control::Running);
        }
    }
}

#[test]
fn an_ack_used_up_by_a_policy_is_no_duplicate() {
    let mut solo = ten_in_flight("reno");
    let ack = solo.segment(1, 0, 1, Flags::ACK);
    for _ in 0..5 {
        assert_eq!(solo.receive_with(&ack, &mut UsesUpAcks), []);
    }
    assert_eq!(solo.connection.stats().dup_acks, 0);
}

#[test]
fn syn_and_persist_timers_are_nobody_s_business() {
    // ilc-tcp A11: a policy that would freeze everything is not asked.
    let mut solo = Solo::connecting(&plain(), "reno");
    solo.transmit();
    assert_eq!(expire_with(&mut solo, Verdict::Freeze), []);
    assert_eq!(solo.connection.control(), Control::Running);
    assert_eq!(solo.connection.stats().freezes, 0);
}

struct Answers(Verdict);

impl Hooks for Answers {
    fn on_timeout(&mut self, _: &Connection, _: Instant) -> Verdict {
        self.0
    }
    fn on_loss_detected(&mut self, _: &Connection, _: Loss, _: Instant) -> Verdict {
        self.0
    }
}

struct UsesUpAcks;

impl Hooks for UsesUpAcks {
    fn on_ack_options(&mut self, _: &Connection, _: &Options, pure_ack: bool, _: Instant) -> bool {
        pure_ack
    }
}

fn ten_in_flight(variant: &str) -> Solo {
    Solo::sending(&Profile { initial_window: 10, ..plain() }, variant, 100)
}

/// The retransmission timer expires and the policy answers `verdict`; the numbers of what leaves.
fn expire_with(solo: &mut Solo, verdict: Verdict) -> Vec<u64> {
    let (deadline, why) = solo.connection.poll_timeout().expect("a timer runs");
    assert_eq!(why, "retransmission");
    solo.now = deadline;
    solo.connection.handle_timeout(deadline, &mut Answers(verdict));
    let sent = solo.transmit();
    solo.numbers(&sent)
}

fn dup_ack_with(solo: &mut Solo, verdict: Verdict) -> Vec<u64> {
    let ack = solo.segment(1, 0, 1, Flags::ACK);
    let sent = solo.receive_with(&ack, &mut Answers(verdict));
    solo.numbers(&sent)
}

fn windows(segments: &[Segment]) -> Vec<u16> {
    segments.iter().map(|s| s.window).collect()
}

#[test]
fn a_listener_that_is_told_to_open_connects_and_one_that_is_refused_says_why() {
    let config = || segue_proto::tcp::Config {
        id: segue_proto::tcp::ConnectionId(1),
        profile: plain(),
        variant: segue_proto::tcp::Variant::named("reno").expect("a variant of the table"),
        iss: segue_proto::tcp::SeqNumber(0),
        auto_read: true,
    };
    let mut opened = Connection::listen(config());
    opened.execute(Command::Open, at(0));
    let syn = opened.poll_transmit(at(0), &mut NoHooks).expect("a SYN");
    assert_eq!((syn.flags, opened.state()), (Flags::SYN, State::SynSent));
    let mut refused = Connection::connect(config());
    refused.execute(Command::Refuse { reason: EndReason::Unreachable }, at(0));
    assert_eq!(refused.end_reason(), Some(EndReason::Unreachable));
    assert_eq!((refused.poll_transmit(at(0), &mut NoHooks), refused.poll_timeout()), (None, None));
}
