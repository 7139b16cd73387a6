//! Wi-TCP: sender, agents and list, on a wire that a test can lose anything from.

use std::collections::BTreeMap;

use segue_proto::base_station::{BaseStation, Endpoint, Flow, Output, StationEvent, Towards};
use segue_proto::mobile_ip::Address;
use segue_proto::params::Params;
use segue_proto::schemes::{Action, Scheme, wi_tcp};
use segue_proto::signal::{Scope, Signal, SignalKind, Source};
use segue_proto::tcp::{
    Config, Connection, ConnectionId, Control, Experimental, Handover, HandoverNotice, NoHooks, Profile,
    Segment, SeqNumber, Variant,
};
use segue_proto::time::{Duration, Instant};

const FIXED: Address = Address::new(10, 0, 0, 1);
const MOBILE: Address = Address::new(10, 0, 0, 2);
/// Home agent and two foreign agents.
const AGENTS: [Address; 3] =
    [Address::new(10, 0, 1, 0), Address::new(10, 0, 2, 0), Address::new(10, 0, 3, 0)];
const FLOW: Flow =
    Flow { mobile: Endpoint { address: MOBILE, port: 80 }, fixed: Endpoint { address: FIXED, port: 1024 } };

#[test]
fn a_sender_that_is_told_in_time_keeps_its_pair_and_sends_nothing_in_between() {
    for variant in ["tahoe", "reno", "new-reno"] {
        let mut net = Net::running(variant, &[]);
        let before = net.sender.sender().window;
        net.leave(ms(1_000));
        net.run_until(ms(1_100));
        assert!(matches!(net.sender.control(), Control::Suspended { .. }), "{variant}");
        let told = net.stopped_at();
        let sent = net.sent.len();
        net.run_until(ms(5_000));
        assert_eq!(net.sent.len(), sent, "nothing leaves between EHO and EHC");
        assert_eq!(net.sender.stats().timeouts, 0);
        net.arrive(1, None);
        net.run_until(ms(5_021));
        assert_eq!(net.sender.control(), Control::Running);
        assert!(told < ms(1_060), "{told}");
        let window = net.sender.sender().window;
        assert!((window.cwnd - before.cwnd).abs() < 1.0 && window == net.stored, "{window:?}");
        net.run_until(ms(6_000));
        assert!(net.sender.sender().snd_una > 100_000);
        assert_eq!((net.sender.stats().timeouts, net.sender.stats().fast_retransmits), (0, 0));
    }
}

#[test]
fn case_one_the_new_agent_ends_the_silence_with_its_own_address() {
    let mut net = Net::running("reno", &[]);
    net.leave(ms(1_000));
    net.run_until(ms(5_000));
    net.arrive(1, None);
    assert_eq!(net.notices_of(1, Handover::Completed), 1);
    assert_eq!(net.notices_of(0, Handover::Completed), 0);
    net.run_until(ms(5_100));
    assert_eq!(net.bound, Some(AGENTS[1]));
    assert_eq!(net.notices_of(1, Handover::Completed), 1, "data have come, so it is not repeated");
}

#[test]
fn case_one_by_choice_the_home_agent_ends_the_silence() {
    let mut net = Net::running("reno", &[("case_1", "home-agent")]);
    net.leave(ms(1_000));
    net.run_until(ms(5_000));
    net.attach(1);
    net.tell(0, &StationEvent::Departed { mobile: MOBILE, to: Some(AGENTS[1]) });
    net.tell(1, &StationEvent::Arrived { mobile: MOBILE, previous: None });
    assert_eq!((net.notices_of(0, Handover::Completed), net.notices_of(1, Handover::Completed)), (1, 0));
    net.run_until(ms(5_100));
    assert_eq!(net.bound, Some(AGENTS[1]));
}

#[test]
fn case_two_the_old_agent_ends_the_silence_with_the_address_of_the_new_one() {
    let mut net = Net::running("reno", &[]);
    net.leave(ms(1_000));
    net.run_until(ms(2_000));
    net.arrive(1, None);
    net.run_until(ms(3_000));
    net.leave(ms(3_000));
    net.run_until(ms(6_000));
    let before = net.notices_of(2, Handover::Completed);
    net.arrive(2, Some(1));
    assert_eq!(net.notices_of(2, Handover::Completed), before, "the new one leaves it to the old one");
    net.run_until(ms(6_100));
    assert_eq!((net.bound, net.sender.control()), (Some(AGENTS[2]), Control::Running));
    assert_eq!(net.sender.stats().timeouts, 0);
}

#[test]
fn a_care_of_address_is_not_told_if_that_is_switched_off() {
    let mut net = Net::running("reno", &[("care_of", "false")]);
    net.leave(ms(1_000));
    net.run_until(ms(5_000));
    net.arrive(1, None);
    net.run_until(ms(5_100));
    assert_eq!((net.bound, net.sender.control()), (None, Control::Running));
}

#[test]
fn a_forged_notice_does_nothing_at_all() {
    let mut net = Net::running("reno", &[]);
    let nonce = net.nonce();
    let before = net.sender.clone();
    // The forger knows all that passes but the nonce.
    for wrong in [0, nonce ^ 1, nonce.wrapping_add(1)] {
        for moment in [Handover::Started, Handover::Completed] {
            for _ in 0..4 {
                let forged = net.notice(moment, wrong, Some(Address::new(6, 6, 6, 6)));
                net.receive_at_sender(&forged);
            }
        }
    }
    assert_eq!((net.sender.control(), net.sender.stats().dup_acks), (before.control(), 0));
    assert_eq!(net.sender.sender().window, before.sender().window, "not even a duplicate ACK");
    // A stopped sender is not started by a forger, nor led elsewhere.
    net.leave(ms(1_000));
    net.run_until(ms(1_100));
    let forged = net.notice(Handover::Completed, nonce ^ 1, Some(Address::new(6, 6, 6, 6)));
    net.receive_at_sender(&forged);
    assert!(matches!(net.sender.control(), Control::Suspended { .. }));
    assert_eq!(net.bound, None);
}

#[test]
fn a_notice_with_the_nonce_but_an_impossible_acknowledgement_does_nothing() {
    let mut net = Net::running("reno", &[]);
    let nonce = net.nonce();
    let good = net.notice(Handover::Started, nonce, None);
    let ahead = Segment { ack: good.ack.add(1 << 20), ..good };
    let behind = Segment { ack: SeqNumber(good.ack.0.wrapping_sub(1 << 20)), ..good };
    let elsewhere = Segment { seq: good.seq.add(1 << 20), ..good };
    for segment in [ahead, behind, elsewhere] {
        net.receive_at_sender(&segment);
        assert_eq!(net.sender.control(), Control::Running, "{segment:?}");
    }
    net.receive_at_sender(&good);
    assert!(matches!(net.sender.control(), Control::Suspended { .. }));
}

#[test]
fn an_unmodified_sender_sees_one_duplicate_ack() {
    let mut net = Net::running("reno", &[]);
    let segment = net.notice(Handover::Started, net.nonce(), None);
    let (dup_acks, now) = (net.sender.stats().dup_acks, net.now);
    net.sender.handle_segment(&segment, now, &mut NoHooks);
    assert_eq!(net.sender.stats().dup_acks, dup_acks + 1);
    assert_eq!(net.sender.control(), Control::Running);
    assert_eq!(net.sender.stats().retransmissions, 0);
}

#[test]
fn a_notice_is_no_duplicate_ack_to_a_sender_that_knows_it() {
    let mut net = Net::running("reno", &[]);
    let dup_acks = net.sender.stats().dup_acks;
    let segment = net.notice(Handover::Started, net.nonce(), None);
    for _ in 0..5 {
        net.receive_at_sender(&segment);
    }
    assert_eq!((net.sender.stats().dup_acks, net.sender.stats().fast_retransmits), (dup_acks, 0));
}

#[test]
fn no_notice_is_sent_to_a_sender_that_did_not_ask_for_it() {
    let mut net = Net::new("reno", &[]);
    net.sender_scheme = None;
    net.run_until(ms(1_000));
    net.leave(ms(1_000));
    net.run_until(ms(3_000));
    assert_eq!(net.notices_of(0, Handover::Started), 0);
    assert!(net.sender.stats().timeouts > 0);
}

#[test]
fn a_lost_eho_is_repeated_while_packets_fail_but_not_for_each() {
    let mut net = Net::running("reno", &[("probe", "for ever")]);
    net.lose_notices(0, 1);
    net.leave(ms(1_000));
    net.run_until(ms(1_190));
    assert_eq!(net.notices_of(0, Handover::Started), 1, "many packets failed, one notice went out");
    // The packet of the first timeout fails too soon for another one, that of the second does not.
    net.run_until(ms(4_000));
    assert_eq!(net.notices_of(0, Handover::Started), 2);
    assert!(matches!(net.sender.control(), Control::Suspended { .. }));
    assert_eq!(net.sender.stats().timeouts, 2);
}

#[test]
fn a_lost_ehc_is_repeated_until_data_come() {
    for (lost, sent) in [(2, 3), (4, 4)] {
        let mut net = Net::running("reno", &[]);
        net.leave(ms(1_000));
        net.run_until(ms(5_000));
        net.lose_notices(1, lost);
        net.arrive(1, None);
        net.run_until(ms(8_000));
        assert_eq!(net.notices_of(1, Handover::Completed), sent, "{lost} lost");
        let running = net.sender.control() == Control::Running;
        assert_eq!(running, lost < 4, "the last resort is `susp_max`");
    }
}

#[test]
fn a_stopped_sender_that_nobody_starts_probes_and_an_answer_starts_it() {
    let mut net = Net::running("reno", &[("susp_max", "10 s"), ("ehc_repeats", "0")]);
    net.leave(ms(1_000));
    net.run_until(ms(5_000));
    net.lose_notices(1, 1);
    net.arrive(1, None);
    let sent = net.sent.len();
    net.run_until(ms(10_900));
    assert_eq!(net.sent.len(), sent);
    net.run_until(ms(11_200));
    assert_eq!(net.sender.control(), Control::Running);
    assert!(net.sent.len() > sent + 5);
}

#[test]
fn an_ack_of_data_on_its_way_does_not_end_the_silence() {
    let mut net = Net::running("reno", &[]);
    let nonce = net.nonce();
    let notice = net.notice(Handover::Started, nonce, None);
    net.receive_at_sender(&notice);
    let una = net.sender.sender().snd_una;
    net.run_until(ms(1_060));
    assert!(net.sender.sender().snd_una > una, "ACKs came in");
    assert!(matches!(net.sender.control(), Control::Suspended { .. }));
}

#[test]
fn a_host_that_never_left_is_noticed_by_the_next_packet_delivered() {
    let mut net = Net::running("reno", &[]);
    net.tell(0, &StationEvent::Undelivered { mobile: MOBILE, segment: None });
    net.tell(0, &StationEvent::Delivered { mobile: MOBILE });
    net.run_until(ms(1_010));
    assert_eq!(net.notices.len(), 0, "it was there again before anybody was told");
    net.tell(0, &StationEvent::Undelivered { mobile: MOBILE, segment: None });
    net.mobile_at = None;
    net.run_until(ms(1_015));
    assert_eq!(net.notices_of(0, Handover::Started), 1);
    net.mobile_at = Some(0);
    net.tell(0, &StationEvent::Delivered { mobile: MOBILE });
    assert_eq!(net.notices_of(0, Handover::Completed), 1);
    net.run_until(ms(1_100));
    assert_eq!(net.sender.control(), Control::Running);
}

#[test]
fn a_host_that_is_back_after_a_fade_is_found_by_a_probe() {
    let mut net = Net::running("reno", &[]);
    net.leave(ms(1_000));
    net.run_until(ms(3_000));
    assert!(matches!(net.sender.control(), Control::Suspended { .. }));
    net.leaves_at = Instant::MAX;
    net.mobile_at = Some(0);
    net.run_until(ms(3_600));
    assert_eq!(net.sender.control(), Control::Running);
    assert_eq!(net.sender.stats().timeouts, 0);
}

#[test]
fn a_late_eho_stores_the_cut_pair_or_by_choice_the_one_before() {
    for (restores, least, most) in [("false", 1.0, 1.0), ("true", 20.0, 40.0)] {
        let mut net = Net::running("reno", &[("alpha", "1 s"), ("restore_pre_cut", restores)]);
        net.leave(ms(1_000));
        net.run_until(ms(4_000));
        assert!(net.sender.stats().timeouts > 0, "the timeout came first");
        net.arrive(1, None);
        net.run_until(ms(4_021));
        let cwnd = net.stored.cwnd;
        assert!((least..=most).contains(&cwnd), "{restores}: {cwnd}");
    }
}

#[test]
fn a_host_counts_as_away_after_so_many_failures_as_are_asked_for() {
    let mut net = Net::running("reno", &[("mac_fail_n", "3"), ("silence", "for ever")]);
    net.run_until(ms(1_000));
    net.unlucky = 2;
    net.run_until(ms(3_000));
    assert_eq!(net.notices_of(0, Handover::Started), 0);
    net.leave(ms(3_000));
    net.run_until(ms(9_000));
    assert_eq!(net.notices_of(0, Handover::Started), 1);
}

#[test]
fn a_host_that_does_not_answer_counts_as_away_though_its_packets_seem_delivered() {
    let mut net = Net::running("reno", &[]);
    net.run_until(ms(1_000));
    net.mute = true;
    net.run_until(ms(2_900));
    assert_eq!(net.notices_of(0, Handover::Started), 0);
    net.run_until(ms(3_200));
    assert_eq!(net.notices_of(0, Handover::Started), 1);
}

#[test]
fn a_lost_association_counts_as_away_at_once() {
    let mut net = Net::running("reno", &[]);
    net.run_until(ms(1_000));
    net.tell(0, &StationEvent::Departed { mobile: MOBILE, to: None });
    net.run_until(ms(1_002));
    assert_eq!(net.notices_of(0, Handover::Started), 1);
}

#[test]
fn a_list_is_repeated_until_it_is_confirmed_and_no_more_than_three_times() {
    for (lost, sent) in [(0, 1), (2, 3), (9, 4)] {
        let mut net = Net::running("reno", &[]);
        net.run_until(ms(1_000));
        net.lost_messages = lost;
        net.lists = 0;
        net.attach(1);
        net.run_until(ms(9_000));
        assert_eq!(net.lists, sent, "{lost} lost");
    }
}

#[test]
fn an_agent_that_hears_of_the_connections_after_the_registration_makes_up_for_it() {
    let mut net = Net::running("reno", &[]);
    net.leave(ms(1_000));
    net.run_until(ms(5_000));
    net.lost_messages = 1;
    net.arrive(1, None);
    assert_eq!(net.notices_of(1, Handover::Completed), 0, "it knows of no connection");
    net.run_until(ms(5_600));
    assert_eq!(net.sender.control(), Control::Running);
}

// ---- What the tests run on ----

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

#[derive(Clone, Copy)]
enum Arrival {
    Agent(usize, Towards, Segment),
    Mobile(Segment),
    Sender(Segment),
}

/// A sender, 20 ms of wire to each of three agents, and a mobile host 5 ms from one of them or from none.
struct Net {
    sender: Connection,
    sender_scheme: Option<Box<dyn Scheme>>,
    mobile: Connection,
    mobile_scheme: Box<dyn Scheme>,
    agents: Vec<Box<dyn BaseStation>>,
    now: Instant,
    flying: BTreeMap<(Instant, u64), Arrival>,
    number: u64,
    /// The agent that the host is in reach of.
    mobile_at: Option<usize>,
    leaves_at: Instant,
    /// The agent that the sender's packets go to, and what the last EHC told.
    way: usize,
    bound: Option<Address>,
    /// Packets that the MAC fails to deliver although the host is there.
    unlucky: u32,
    /// What the host sends is lost.
    mute: bool,
    /// Notices of each agent that get lost.
    lost_notices: [u32; 3],
    lost_messages: u32,
    lists: u32,
    /// Data segments of the sender.
    sent: Vec<Instant>,
    notices: Vec<(usize, HandoverNotice)>,
    stopped: Option<Instant>,
    stored: segue_proto::tcp::cc::Window,
}

impl Net {
    fn new(variant: &str, knobs: &[(&str, &str)]) -> Net {
        let mut params = Params::defaults(wi_tcp::PARAMS);
        for (name, value) in knobs {
            params.set(name, value).expect("a valid parameter");
        }
        let config = |id, iss| Config {
            id: ConnectionId(id),
            profile: Profile::named("ns-2.35").expect("a profile").clone(),
            variant: Variant::named(variant).expect("a variant"),
            iss: SeqNumber(iss),
            auto_read: true,
        };
        let mut sender = Connection::connect(config(0, u32::MAX - 5_000));
        sender.write(1 << 40);
        let spec = &wi_tcp::SPEC;
        let mut sender_scheme = spec.fixed.expect("a part")(&params);
        let mut mobile_scheme = spec.mobile.expect("a part")(&params);
        sender_scheme.handle_flow(ConnectionId(0), FLOW, Instant::ZERO);
        mobile_scheme.handle_flow(ConnectionId(1), FLOW, Instant::ZERO);
        let agent = |own: &Address| {
            let mut agent = spec.base_station.expect("a part")(&params);
            agent.handle_address(*own);
            agent
        };
        let mut net = Net {
            stored: sender.sender().window,
            sender,
            sender_scheme: Some(sender_scheme),
            mobile: Connection::listen(config(1, u32::MAX - 100)),
            mobile_scheme,
            agents: AGENTS.iter().map(agent).collect(),
            now: Instant::ZERO,
            flying: BTreeMap::new(),
            number: 0,
            mobile_at: Some(0),
            leaves_at: Instant::MAX,
            way: 0,
            bound: None,
            unlucky: 0,
            mute: false,
            lost_notices: [0; 3],
            lost_messages: 0,
            lists: 0,
            sent: Vec::new(),
            notices: Vec::new(),
            stopped: None,
        };
        net.agents[0].handle_event(&StationEvent::HomeOf { mobile: MOBILE }, Instant::ZERO);
        net
    }

    /// A transfer that has filled its window.
    fn running(variant: &str, knobs: &[(&str, &str)]) -> Net {
        let mut net = Net::new(variant, knobs);
        net.run_until(ms(1_000));
        assert!(net.sender.sender().window.cwnd >= 15.0);
        net
    }

    fn leave(&mut self, at: Instant) {
        self.leaves_at = at;
    }

    /// The host is in reach of `agent` and says so.
    fn attach(&mut self, agent: usize) {
        self.mobile_at = Some(agent);
        self.leaves_at = Instant::MAX;
        let signal = Signal {
            kind: SignalKind::Attached { station: AGENTS[agent] },
            scope: Scope::Host,
            source: Source::Link,
            origin: self.now,
            delivered: self.now,
        };
        assert!(self.mobile_scheme.hears(&signal.kind));
        self.mobile_scheme.handle_signal(&signal, self.now);
        self.serve();
    }

    /// The host is registered with `agent`; the previous agent, if it is told, hears of it at once.
    fn arrive(&mut self, agent: usize, previous: Option<usize>) {
        self.attach(agent);
        match previous {
            Some(old) => self.tell(old, &StationEvent::Departed { mobile: MOBILE, to: Some(AGENTS[agent]) }),
            None => self.tell(0, &StationEvent::Departed { mobile: MOBILE, to: Some(AGENTS[agent]) }),
        }
        let previous = previous.map(|old| AGENTS[old]);
        self.tell(agent, &StationEvent::Arrived { mobile: MOBILE, previous });
        self.way = agent;
    }

    fn lose_notices(&mut self, agent: usize, count: u32) {
        self.lost_notices[agent] = count;
    }

    fn tell(&mut self, agent: usize, event: &StationEvent) {
        self.agents[agent].handle_event(event, self.now);
        self.serve();
    }

    fn nonce(&self) -> u32 {
        let mut syn = Segment { flags: segue_proto::tcp::Flags::SYN, ..Segment::default() };
        let mut scheme = wi_tcp::SPEC.fixed.expect("a part")(&Params::defaults(wi_tcp::PARAMS));
        scheme.on_send(&self.sender, &mut syn, Instant::ZERO);
        match syn.options.experimental {
            Some(Experimental::HandoverAware { nonce }) => nonce,
            other => panic!("{other:?}"),
        }
    }

    /// A notice as the agent would make it now.
    fn notice(&self, moment: Handover, nonce: u32, care_of: Option<Address>) -> Segment {
        let mut segment = Segment {
            seq: SeqNumber(u32::MAX - 100).add(1),
            ack: SeqNumber(u32::MAX - 5_000).add(self.sender.sender().snd_una),
            window: (self.sender.sender().snd_wnd) as u16,
            flags: segue_proto::tcp::Flags::ACK,
            ..Segment::default()
        };
        let notice = HandoverNotice { moment, nonce, care_of };
        segment.options.experimental = Some(Experimental::Handover(notice));
        segment
    }

    fn notices_of(&self, agent: usize, moment: Handover) -> usize {
        self.notices.iter().filter(|(by, notice)| *by == agent && notice.moment == moment).count()
    }

    fn stopped_at(&self) -> Instant {
        self.stopped.expect("it was stopped")
    }

    fn receive_at_sender(&mut self, segment: &Segment) {
        match &mut self.sender_scheme {
            Some(scheme) => self.sender.handle_segment(segment, self.now, &mut **scheme),
            None => self.sender.handle_segment(segment, self.now, &mut NoHooks),
        }
        self.serve();
    }

    fn fly(&mut self, millis: u64, arrival: Arrival) {
        self.number += 1;
        self.flying.insert((self.now + Duration::from_millis(millis), self.number), arrival);
    }

    fn run_until(&mut self, until: Instant) {
        self.serve();
        loop {
            let timers = [
                self.sender.poll_timeout(),
                self.mobile.poll_timeout(),
                self.sender_scheme.as_ref().and_then(|scheme| scheme.poll_timeout()),
                self.mobile_scheme.poll_timeout(),
            ];
            let agents = self.agents.iter().filter_map(|agent| agent.poll_timeout());
            let timers = timers.into_iter().flatten().chain(agents).map(|(at, _)| at);
            let next = timers.chain(self.flying.keys().next().map(|(at, _)| *at)).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            if self.now >= self.leaves_at {
                self.mobile_at = None;
            }
            match self.flying.first_key_value().filter(|((at, _), _)| *at <= next) {
                Some((key, _)) => {
                    let key = *key;
                    let arrival = self.flying.remove(&key).expect("it was there");
                    self.take(arrival);
                }
                None => self.expire(),
            }
            self.serve();
        }
        self.now = self.now.max(until);
    }

    fn expire(&mut self) {
        let now = self.now;
        match &mut self.sender_scheme {
            Some(scheme) => {
                scheme.handle_timeout(now);
                self.sender.handle_timeout(now, &mut **scheme);
            }
            None => self.sender.handle_timeout(now, &mut NoHooks),
        }
        self.mobile_scheme.handle_timeout(now);
        self.mobile.handle_timeout(now, &mut *self.mobile_scheme);
        for agent in &mut self.agents {
            if agent.poll_timeout().is_some_and(|(at, _)| at <= now) {
                agent.handle_timeout(now);
            }
        }
    }

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Agent(_, Towards::Fixed, _) if self.mobile_at.is_none() => {}
            Arrival::Agent(i, towards, mut segment) => {
                self.agents[i].handle_segment(FLOW, towards, &mut segment, self.now);
                match towards {
                    Towards::Mobile => self.send_by_radio(i, segment),
                    Towards::Fixed => self.fly(20, Arrival::Sender(segment)),
                }
            }
            Arrival::Mobile(segment) => {
                self.mobile.handle_segment(&segment, self.now, &mut *self.mobile_scheme);
            }
            Arrival::Sender(segment) => self.receive_at_sender(&segment),
        }
    }

    fn send_by_radio(&mut self, i: usize, segment: Segment) {
        let unlucky = self.unlucky > 0;
        self.unlucky = self.unlucky.saturating_sub(1);
        if self.mobile_at == Some(i) && !unlucky {
            self.agents[i].handle_event(&StationEvent::Delivered { mobile: MOBILE }, self.now);
            self.fly(5, Arrival::Mobile(segment));
        } else {
            let event = StationEvent::Undelivered { mobile: MOBILE, segment: Some((FLOW, segment)) };
            self.agents[i].handle_event(&event, self.now);
        }
    }

    /// What follows every input: orders, segments, messages.
    fn serve(&mut self) {
        while let Some(action) = self.sender_scheme.as_mut().and_then(|scheme| scheme.poll_action()) {
            match action {
                Action::Tcp { command, .. } => {
                    self.sender.execute(command, self.now);
                    if let Control::Suspended { stored, since } = self.sender.control() {
                        (self.stored, self.stopped) = (stored, Some(since));
                    }
                }
                Action::Bind { host, care_of } => {
                    assert_eq!(host, MOBILE);
                    self.bound = Some(care_of);
                }
                other => panic!("{other:?}"),
            }
        }
        loop {
            let segment = match &mut self.sender_scheme {
                Some(scheme) => self.sender.poll_transmit(self.now, &mut **scheme),
                None => self.sender.poll_transmit(self.now, &mut NoHooks),
            };
            let Some(segment) = segment else { break };
            if segment.len > 0 {
                self.sent.push(self.now);
            }
            self.fly(20, Arrival::Agent(self.way, Towards::Mobile, segment));
        }
        while let Some(segment) = self.mobile.poll_transmit(self.now, &mut *self.mobile_scheme) {
            if let (Some(i), false) = (self.mobile_at, self.mute) {
                self.fly(5, Arrival::Agent(i, Towards::Fixed, segment));
            }
        }
        self.serve_list();
        for i in 0..self.agents.len() {
            while let Some(output) = self.agents[i].poll_output() {
                self.send_of_agent(i, output);
            }
        }
    }

    fn serve_list(&mut self) {
        while let Some(action) = self.mobile_scheme.poll_action() {
            let Action::Send { to, message } = action else { continue };
            self.lists += 1;
            let i = AGENTS.iter().position(|agent| *agent == to).expect("an agent");
            if self.lost_messages > 0 {
                self.lost_messages -= 1;
            } else if self.mobile_at == Some(i) {
                self.agents[i].handle_message(MOBILE, &message, self.now);
            }
        }
    }

    fn send_of_agent(&mut self, i: usize, output: Output) {
        match output {
            Output::Segment { towards: Towards::Fixed, segment, .. } => {
                let Some(Experimental::Handover(notice)) = segment.options.experimental else {
                    panic!("an agent speaks for its host in notices only")
                };
                self.notices.push((i, notice));
                if self.lost_notices[i] > 0 {
                    self.lost_notices[i] -= 1;
                } else {
                    self.fly(20, Arrival::Sender(segment));
                }
            }
            Output::Segment { towards: Towards::Mobile, segment, .. } => self.send_by_radio(i, segment),
            Output::Send { message, .. } => {
                self.mobile_scheme.handle_message(AGENTS[i], &message, self.now);
            }
            Output::Tunnel { .. } | Output::Mac(_) => panic!("{output:?}"),
        }
    }
}
