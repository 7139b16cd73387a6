//! Wi-TCP over route-optimised Mobile IP: its paper's path with losses on all wires, and forged notices.

use std::collections::VecDeque;

use segue_proto::base_station::{BaseStation, Fate, Flow, Output, Towards};
use segue_proto::params::Params;
use segue_proto::schemes::{Helps, Spec, wi_tcp};
use segue_proto::tcp::{Experimental, Flags, Handover, HandoverNotice, Segment};
use segue_proto::time::Instant;
use segue_proto::trace::Event;
use segue_sim::results::{Observer, Place};
use segue_sim::run_observed;
use segue_sim::scenario::{Scenario, SchemeChoice};

#[test]
fn between_eho_and_ehc_nothing_leaves_and_the_pair_is_kept_whatever_message_is_lost() {
    let losses = ["", "loss = { model = \"bernoulli\", p = 0.03 }\n"];
    for (loss, seeds) in losses.into_iter().zip([3, 12]) {
        for seed in 1..=seeds {
            let text = path().replace("delay = \"5 ms\"\n", &format!("delay = \"5 ms\"\n{loss}"));
            let mut scenario = Scenario::from_toml("path.toml", &text).expect("the paper's path");
            scenario.scheme = choice(&wi_tcp::SPEC);
            let mut watcher = Watcher::default();
            let results = run_observed(&scenario, seed, &mut watcher);
            assert!(watcher.silences >= 2, "two handoffs, seed {seed}: {}", watcher.silences);
            assert_eq!(watcher.sent_in_silence, 0, "seed {seed}");
            assert_eq!(watcher.ssthresh_changed, 0, "seed {seed}");
            assert!(!watcher.silent, "seed {seed}: nobody has ended the last silence");
            assert!(results.flows[0].acknowledged > 1_000_000, "seed {seed}");
            if loss.is_empty() {
                assert_eq!((watcher.silences, results.flows[0].stats.timeouts), (2, 0), "seed {seed}");
            }
        }
    }
}

#[test]
fn forged_notices_change_nothing_but_the_load() {
    let text = path().replace("62 s", "11 s");
    let mut scenario = Scenario::from_toml("path.toml", &text).expect("the paper's path");
    let delivered = [&wi_tcp::SPEC, &FORGED].map(|spec| {
        scenario.scheme = choice(spec);
        let mut watcher = Watcher::default();
        let results = run_observed(&scenario, 1, &mut watcher);
        let flow = &results.flows[0];
        assert_eq!((watcher.silences, flow.stats.dup_acks, flow.stats.retransmissions), (0, 0, 0));
        flow.acknowledged
    });
    assert!(delivered[0] > 600_000);
    assert!(delivered[1].abs_diff(delivered[0]) <= 2_000, "{delivered:?}");
}

/// Wi-TCP's hosts among stations that know all but the nonces.
static FORGED: Spec = Spec {
    name: "forged",
    summary: "forges notices",
    params: wi_tcp::PARAMS,
    helps: Helps::NOTHING,
    mobile: wi_tcp::SPEC.mobile,
    fixed: wi_tcp::SPEC.fixed,
    base_station: Some(|_| Box::new(Forger::default())),
};

/// Adds a forged notice to each tenth ACK.
#[derive(Debug, Default)]
struct Forger {
    count: u32,
    outputs: VecDeque<Output>,
}

impl BaseStation for Forger {
    fn handle_segment(&mut self, flow: Flow, towards: Towards, segment: &mut Segment, _now: Instant) -> Fate {
        if towards == Towards::Fixed && segment.flags == Flags::ACK {
            self.count += 1;
            if self.count.is_multiple_of(10) {
                let moment =
                    if self.count.is_multiple_of(20) { Handover::Started } else { Handover::Completed };
                let notice = HandoverNotice { moment, nonce: self.count, care_of: None };
                let mut forged = *segment;
                forged.options.experimental = Some(Experimental::Handover(notice));
                self.outputs.push_back(Output::Segment { flow, towards, segment: forged });
            }
        }
        Fate::Forward
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}

/// What the sender does in its silences.
#[derive(Default)]
struct Watcher {
    silent: bool,
    silences: u32,
    sent_in_silence: u32,
    /// As the last ACK left it; `None` after a cut.
    ssthresh: Option<f64>,
    /// The threshold before the silence, until the first ACK after it.
    kept: Option<f64>,
    ssthresh_changed: u32,
}

impl Observer for Watcher {
    fn observe(&mut self, _at: Instant, place: Place, event: &Event) {
        if place != Place::End(0) {
            return;
        }
        match *event {
            Event::CommandExecuted { command: "suspend" } => {
                self.silent = true;
                self.silences += 1;
                self.kept = self.ssthresh;
            }
            Event::CommandExecuted { command: "resume" } => self.silent = false,
            Event::SegmentSent { len, .. } => self.sent_in_silence += u32::from(self.silent && len > 0),
            Event::TimeoutExpired { .. } | Event::LossDetected { .. } => {
                (self.kept, self.ssthresh) = (None, None);
            }
            Event::AckReceived { ssthresh, .. } => {
                let same = self.kept.take().is_none_or(|kept| kept.total_cmp(&ssthresh).is_eq());
                self.ssthresh_changed += u32::from(!same);
                self.ssthresh = Some(ssthresh);
            }
            _ => {}
        }
    }
}

fn choice(spec: &'static Spec) -> SchemeChoice {
    SchemeChoice { spec, params: Params::defaults(spec.params) }
}

fn path() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/wi-tcp/path.toml");
    std::fs::read_to_string(file).expect("the paper's path")
}
