//! Wi-TCP: the agent that loses a mobile host tells the sender to stop, and an agent that has it tells it to go on.
//!
//! ## What it does
//! The MAC of an agent cannot deliver to a mobile host. The agent tells the senders of that host's connections with an
//! EHO-ACK; each stores `cwnd` and `ssthresh` and falls silent. When the host is registered with its new agent, an
//! EHC-ACK ends the silence, with the stored pair and by the new way.
//!
//! ## State table of a sender, for each connection
//! | state × event | action | next |
//! |---|---|---|
//! | NORMAL × EHO | store `cwnd` and `ssthresh`, stop timer and sending; not counted as a duplicate ACK | SUSPENDED |
//! | NORMAL × EHC | – | NORMAL |
//! | SUSPENDED × EHO | – | SUSPENDED |
//! | SUSPENDED × EHC | its ACK counts; bind to its care-of address (W6); restore the pair; go back N (W9); no backoff | NORMAL |
//! | SUSPENDED × ACK of new data | advance; as EHC if more than two RTO after the EHO, for the path works (W7) | – |
//! | SUSPENDED × `susp_max` | send the first segment as a probe (W7) | SUSPENDED |
//! | any × timeout | as TCP; remember the pair before the cut (W8) | – |
//!
//! ## State table of an agent, for each mobile host
//! | state × event | action | next |
//! |---|---|---|
//! | SERVING × `mac_fail_n` packets not delivered, lost association, no answer for `silence` | after `alpha` EHO to all senders | AWAY |
//! | AWAY × further failure | EHO again, at most once per `eho_interval` (W7) | AWAY |
//! | AWAY × packet delivered, segment or list from the host | EHC to all who got EHO: it never left | SERVING |
//! | AWAY × `probe` | send one of the packets that failed again | AWAY |
//! | any × it is elsewhere | case II (this is no home agent): EHC to all who got EHO | RELEASED |
//! | any × registered here | case I (no previous agent was told): EHC to all senders | SERVING |
//! | RELEASED × packet for it | Mobile IP forwards it | RELEASED |
//!
//! ## Signals it reads
//! On mobile hosts `Attached`, `LINK_OK` and `IP_OK`: the host then lists its connections to its agent.
//!
//! ## What it changes in TCP
//! SYN and SYN-ACK carry an option with a nonce. EHO and EHC are pure ACKs with an option.
//!
//! ## Where it runs
//! On fixed hosts as sender, at base stations as agent, and on mobile hosts, which list their connections and are
//! senders too: towards another mobile host. The paper says "at the agent level only", but its sender stores and
//! restores; and no new agent could know a connection unless told (W1).
//!
//! ## Parameters
//! See [`PARAMS`].
//!
//! ## Differences from the paper
//! * W1: a new agent has never seen the connections of its guest. The host lists them on arrival: ends, the header of
//!   its last segment, the sender's nonce; three times, half a second apart, or until confirmed.
//! * W2: EHO and EHC repeat the header of the last ACK that the agent forwarded, or was told. To a sender that does not
//!   know them they are one duplicate ACK.
//! * W4: a host may be lost while no packet is on its way to it. Lost association and silence count as well.
//! * W7: EHC is repeated `ehc_repeats` times or until data arrive. A host that never left is noticed (`probe`).
//! * W11: whoever could stop a sender could do so for good. A notice counts only with the nonce of the SYN, which the
//!   mobile host and its agents know, and nobody who was not on the path. So an agent needs no entry in the binding
//!   cache to be believed. The ACK of a notice must lie in the window (RFC 5961 §5.2, checked by TCP itself). Nonces are
//!   made as initial sequence numbers are (RFC 6528 §3), with a mixing function in place of a cryptographic one: enough
//!   for a simulation, not for a network.
//! * What this costs (W10): state per connection at every agent, which IPsec would hide.
//!
//! ## References
//! \[Bonde\] W. Bonde, S. Jharia, L. Shrivastav: Wi-TCP, §5 and §6.2. Not the WTCP or W-TCP of other papers (W13).

mod agent;
mod host;
mod list;
mod sender;

use super::{Helps, Spec};
use crate::params::{Kind, Param};
use crate::time::Duration;

use agent::Agent;
use host::Host;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "wi-tcp",
    summary: "agents stop the sender while a mobile host is between them, and restore its window afterwards",
    params: PARAMS,
    helps: Helps::DOWNLOADS,
    mobile: Some(|params| Box::new(Host::mobile(params))),
    fixed: Some(|params| Box::new(Host::fixed(params))),
    base_station: Some(|params| Box::new(Agent::new(params))),
};

/// Longest delay that a parameter may ask for: longer than any user waits.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// With no time between repetitions the run would never get beyond the first.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// The parameters.
pub const PARAMS: &[Param] = &[
    Param {
        name: "alpha",
        doc: "Time from the failure that the MAC reports to the EHO-ACK, [Bonde §6.2].",
        kind: Kind::Duration(Duration::ZERO, LONGEST_WAIT),
        default: "1 ms",
    },
    Param {
        name: "mac_fail_n",
        doc: "Packets in a row that the MAC could not deliver before a host counts as away (wi-tcp W3).",
        kind: Kind::Integer(1, 1_000),
        default: "1",
    },
    Param {
        name: "silence",
        doc: "A host that has got data and has not answered for so long counts as away (wi-tcp W4).",
        kind: Kind::Duration(SHORTEST_INTERVAL, Duration::MAX),
        default: "2 s",
    },
    Param {
        name: "eho_interval",
        doc: "Shortest time from EHO-ACK to EHO-ACK of one connection while packets go on failing (wi-tcp W7).",
        kind: Kind::Duration(SHORTEST_INTERVAL, LONGEST_WAIT),
        default: "200 ms",
    },
    Param {
        name: "ehc_repeats",
        doc: "How often an EHC-ACK is repeated, unless data arrive (wi-tcp W7).",
        kind: Kind::Integer(0, 100),
        default: "3",
    },
    Param {
        name: "ehc_interval",
        doc: "Time from one EHC-ACK to its repetition (wi-tcp W7).",
        kind: Kind::Duration(SHORTEST_INTERVAL, LONGEST_WAIT),
        default: "500 ms",
    },
    Param {
        name: "care_of",
        doc: "EHC-ACKs tell the sender the new care-of address; without, it learns it from its home agent (wi-tcp W6).",
        kind: Kind::Bool,
        default: "true",
    },
    Param {
        name: "case_1",
        doc: "Who sends the EHC-ACK when a host leaves home: its new agent, or its home agent (wi-tcp W1).",
        kind: Kind::Choice(&["new-agent", "home-agent"]),
        default: "new-agent",
    },
    Param {
        name: "probe",
        doc: "How often an agent sends one of the packets that failed again, to see whether the host is back; seldomer in time.",
        kind: Kind::Duration(SHORTEST_INTERVAL, Duration::MAX),
        default: "500 ms",
    },
    Param {
        name: "susp_max",
        doc: "A sender that was stopped probes with one segment each time that so long has passed (wi-tcp W7).",
        kind: Kind::Duration(SHORTEST_INTERVAL, Duration::MAX),
        default: "60 s",
    },
    Param {
        name: "restore_pre_cut",
        doc: "An EHO-ACK that comes after the timeout stores the pair before the cut (wi-tcp W8).",
        kind: Kind::Bool,
        default: "false",
    },
    Param {
        name: "secret",
        doc: "What the nonces of senders are made from (wi-tcp W11).",
        kind: Kind::Integer(0, u64::MAX),
        default: "0",
    },
];
