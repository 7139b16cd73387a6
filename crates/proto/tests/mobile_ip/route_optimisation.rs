//! Bindings at the correspondent, warnings, and forwarding between foreign agents.

use segue_proto::mobile_ip::correspondent::{Event, WhileAsking};
use segue_proto::mobile_ip::foreign_agent::{self, Unreachable, Warn};
use segue_proto::mobile_ip::{Decision, DropReason, Lifetime};
use segue_proto::time::Duration;

use crate::network::{FA1, FA2, Fate, HOME, HOST, Network, SENDER, Setup, at};

/// A network whose host goes to FA1 at 2 s and to FA2 at 10 s, with a packet each 20 ms from 5 s to 20 s.
fn walk(setup: &Setup) -> Network {
    let mut net = Network::new(setup);
    net.move_at(at(2_000), HOST, &[FA1]);
    net.move_at(at(10_000), HOST, &[FA2]);
    net.traffic(HOST, at(5_000), Duration::from_millis(20), at(20_000));
    net
}

#[test]
fn the_correspondent_learns_the_binding_from_the_first_tunnelled_packet() {
    let mut net = walk(&Setup::ns2().route_optimised());
    net.run_until(at(9_000));
    // 10 ms to the home agent, 10 ms for the update.
    let learned = Event::Learned { host: HOST, care_of: FA1 };
    assert_eq!(net.sender_events.first(), Some(&(at(5_020), learned)));
    assert_eq!(net.sender.care_of(HOST, net.now), Some(FA1));
    assert_eq!(net.count(Fate::Delivered), net.fates.len() - net.count(Fate::OnItsWay));
}

#[test]
fn a_binding_in_use_is_renewed_before_it_expires() {
    let mut net = walk(&Setup::ns2().route_optimised());
    net.run_until(at(9_900));
    // Registrations of 2 s: the correspondent has to ask for more.
    assert!(!net.control_named("binding-request").is_empty());
    assert_eq!(net.sender_events.len(), 1, "learned once and never forgotten: {:?}", net.sender_events);
}

#[test]
fn without_route_optimisation_all_goes_by_the_home_agent() {
    let mut net = walk(&Setup::ns2());
    net.run_until(at(21_000));
    assert!(net.sender_events.is_empty());
    assert!(net.control_named("binding-update").is_empty());
    assert_eq!(net.fates.last(), Some(&Fate::Delivered));
}

#[test]
fn a_stale_binding_brings_a_warning_a_request_and_an_update() {
    let mut net = walk(&Setup::rfc5944().route_optimised());
    net.run_until(at(20_500));
    let first = |name: &str, from| {
        let found = net.control.iter().find(|s| s.name == name && s.from == from && s.at > at(10_000));
        found.unwrap_or_else(|| panic!("no {name}")).at
    };
    let notified = first("binding-update", FA2);
    let warned = first("binding-warning", FA1);
    let asked = first("binding-request", SENDER);
    let updated = first("binding-update", HOME);
    assert!(notified < warned && warned < asked && asked < updated);
    assert_eq!(asked.since(warned), Duration::from_millis(10));
    assert_eq!(updated.since(asked), Duration::from_millis(10));
    assert_eq!(net.sender.care_of(HOST, net.now), Some(FA2));
    // From the notification on nothing is lost: the old agent forwards.
    let first_safe = (notified.since(at(5_000)).as_nanos() / 20_000_000 + 1) as usize;
    assert!(net.fates[first_safe..].iter().all(|fate| *fate == Fate::Delivered));
}

#[test]
fn the_warning_can_go_to_the_home_agent() {
    let mut net = walk(&Setup { warn: Warn::HomeAgent, ..Setup::rfc5944().route_optimised() });
    net.run_until(at(20_500));
    let warnings = net.control_named("binding-warning");
    assert!(!warnings.is_empty() && warnings.iter().all(|sent| sent.to == HOME));
    assert!(net.control_named("binding-request").is_empty());
    assert_eq!(net.sender.care_of(HOST, net.now), Some(FA2));
}

#[test]
fn without_forwarding_packets_at_the_old_agent_are_dropped_until_the_update() {
    let mut setup = Setup { forward: false, ..Setup::rfc5944().route_optimised() };
    setup.while_asking = WhileAsking::ViaHomeAgent;
    let mut net = walk(&setup);
    net.run_until(at(20_500));
    // One round trip by the warning: 10 ms to the old agent and 10 ms back at 20 ms per packet.
    let dropped = net.count(Fate::Dropped(DropReason::NotHere));
    assert!((1..=4).contains(&dropped), "{dropped}");
    assert_eq!(net.fates.last(), Some(&Fate::Delivered));
}

#[test]
fn a_buffering_agent_loses_nothing_once_it_knows_that_the_link_is_down() {
    let unreachable = Unreachable::Buffer { packets: 1_000, patience: Duration::from_secs(20), probe: None };
    let mut net = walk(&Setup { unreachable, ..Setup::rfc5944().route_optimised() });
    net.run_until(at(9_995));
    let now = net.now;
    net.agents.get_mut(&FA1).unwrap().handle_link(HOST, false, now);
    net.run_until(at(20_500));
    assert_eq!(net.count(Fate::Delivered), net.fates.len());
    let released = |(_, agent, event): &(_, _, foreign_agent::Event)| {
        *agent == FA1
            && *event == foreign_agent::Event::Released { host: HOST, decision: Decision::TunnelTo(FA2) }
    };
    assert!(net.agent_events.iter().any(released));
}

#[test]
fn a_buffer_has_an_end_in_size_and_in_time() {
    let unreachable = Unreachable::Buffer { packets: 10, patience: Duration::from_secs(2), probe: None };
    let mut net = Network::new(&Setup { unreachable, ..Setup::ns2() });
    net.move_at(at(2_000), HOST, &[FA1]);
    net.run_until(at(5_000));
    net.agents.get_mut(&FA1).unwrap().handle_link(HOST, false, at(5_000));
    net.move_at(at(5_000), HOST, &[]);
    net.traffic(HOST, at(5_000), Duration::from_millis(10), at(5_200));
    net.run_until(at(20_000));
    assert_eq!(net.count(Fate::Dropped(DropReason::BufferFull)), 10);
    assert_eq!(net.count(Fate::Dropped(DropReason::WaitedTooLong)), 10);
}

#[test]
fn a_host_that_comes_home_calls_its_packets_back_from_the_old_agent() {
    let mut setup = Setup::rfc5944().route_optimised();
    setup.warn = Warn::Nobody;
    setup.node.notify_previous_agent = Some(Lifetime(60));
    let mut net = Network::new(&setup);
    net.move_at(at(2_000), HOST, &[FA1]);
    net.move_at(at(10_000), HOST, &[HOME]);
    net.traffic(HOST, at(5_000), Duration::from_millis(20), at(25_000));
    net.run_until(at(26_000));
    assert_eq!(net.sender.care_of(HOST, net.now), Some(FA1), "nobody told the correspondent");
    assert_eq!(net.fates.last(), Some(&Fate::Delivered));
    let departed = foreign_agent::Event::Departed { host: HOST, care_of: HOST };
    assert!(net.agent_events.iter().any(|(_, agent, event)| *agent == FA1 && *event == departed));
}

#[test]
fn updates_that_want_an_acknowledgement_are_repeated_until_it_comes_and_then_no_more() {
    let mut setup = Setup::rfc5944().route_optimised();
    setup.route_optimisation.as_mut().unwrap().acknowledge = true;
    setup.route_optimisation.as_mut().unwrap().update_interval = Duration::from_secs(100);
    let mut net = walk(&setup);
    net.lose(|_, now| now > at(5_005) && now < at(7_500));
    net.run_until(at(9_900));
    let updates: Vec<_> = net.control_named("binding-update").into_iter().map(|sent| sent.at).collect();
    // At 5.01 s lost; repeated after 1 s (lost) and 2 s more, acknowledged.
    assert_eq!(updates, [at(5_010), at(6_010), at(8_010)]);
    assert_eq!(net.control_named("binding-acknowledgement").len(), 1);
}
