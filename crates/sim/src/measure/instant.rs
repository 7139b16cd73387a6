//! When something happens to a flow or to its mobile host.

use segue_proto::params::{Kind, Param};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::{DropCause, Event};

use super::{Measure, Probe, Subject};
use crate::results::{Place, Results};
use crate::scenario::NodeKind;

/// The instant of one event.
pub(super) const INSTANT: Measure = Measure {
    name: "instant",
    doc: "simulated time of one event of the flow, of its hosts, or of the base stations, in s",
    params: &[
        Param {
            name: "of",
            doc: "What happens: the sender is suspended or resumes or times out, a host asks for registration or has it, the MAC of a station that is no mobile host's gives a packet up.",
            kind: Kind::Choice(&[
                "suspended",
                "resumed",
                "timeout",
                "requested",
                "registered",
                "undelivered",
            ]),
            default: "timeout",
        },
        Param {
            name: "after",
            doc: "Earlier ones do not count.",
            kind: Kind::Duration(Duration::ZERO, Duration::MAX),
            default: "0 s",
        },
        Param {
            name: "number",
            doc: "Which of them, from 1.",
            kind: Kind::Integer(1, u64::MAX),
            default: "1",
        },
    ],
    watches: true,
    probe: |subject| {
        let flow = &subject.scenario.flows[subject.flow];
        Box::new(Occurrence {
            of: subject.params.choice("of"),
            after: Instant::ZERO + subject.params.duration("after"),
            left: subject.params.integer("number"),
            sender: subject.sender(),
            hosts: [flow.from, flow.to],
            fixed_stations: fixed_stations(subject),
            at: None,
        })
    },
};

/// By cell and station: whether it is on a node that is no mobile host.
fn fixed_stations(subject: &Subject<'_>) -> Vec<Vec<bool>> {
    let nodes = &subject.scenario.nodes;
    let is_fixed = |node: usize| !matches!(nodes[node].kind, NodeKind::Host { mobile: true, .. });
    let of_cell =
        |cell: &crate::scenario::Cell| cell.members.iter().map(|member| is_fixed(member.node)).collect();
    subject.scenario.cells.iter().map(of_cell).collect()
}

struct Occurrence {
    of: &'static str,
    after: Instant,
    /// Events still to come until the one that is wanted has come.
    left: u64,
    sender: Place,
    hosts: [usize; 2],
    fixed_stations: Vec<Vec<bool>>,
    at: Option<Instant>,
}

impl Occurrence {
    fn is_wanted(&self, place: Place, event: &Event) -> bool {
        let at_sender = place == self.sender;
        match (self.of, event) {
            ("suspended", Event::CommandExecuted { command: "suspend" })
            | ("resumed", Event::CommandExecuted { command: "resume" })
            | ("timeout", Event::TimeoutExpired { .. }) => at_sender,
            ("requested", Event::MessageSent { message: "registration-request", .. })
            | ("registered", Event::Registered { .. }) => {
                matches!(place, Place::Node(node) if self.hosts.contains(&node))
            }
            ("undelivered", Event::PacketDropped { cause: DropCause::RetryLimit, .. }) => {
                matches!(place, Place::Station { cell, station } if self.fixed_stations[cell][station])
            }
            _ => false,
        }
    }
}

impl Probe for Occurrence {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if self.left > 0 && at >= self.after && self.is_wanted(place, event) {
            self.left -= 1;
            if self.left == 0 {
                self.at = Some(at);
            }
        }
    }

    fn value(&self, _results: &Results) -> Option<f64> {
        self.at.map(Instant::as_secs_f64)
    }
}
