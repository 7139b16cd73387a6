//! Registration and movement, one story each.

use segue_proto::ip_state::IpEvent;
use segue_proto::mobile_ip::mobile_node::{AgentTimeout, Detection, Refresh, Start, State};
use segue_proto::mobile_ip::{Delay, Lifetime, foreign_agent, home_agent};
use segue_proto::time::Duration;

use crate::network::{FA1, FA2, Fate, HOME, HOST, Network, OTHER_HOST, Setup, at};

#[test]
fn a_host_at_home_says_nothing_and_gets_its_packets() {
    let mut net = Network::new(&Setup::ns2());
    net.traffic(HOST, at(0), Duration::from_millis(50), at(9_900));
    net.run_until(at(10_000));
    assert_eq!(net.hosts[&HOST].state(), State::AtHome);
    assert!(net.ip_events.is_empty());
    assert_eq!(net.count(Fate::Delivered), net.fates.len());
    assert!(net.control_named("registration-request").is_empty());
}

#[test]
fn a_host_that_starts_away_solicits_registers_and_is_reached() {
    let mut net = Network::new(&Setup { start: Start::Away, ..Setup::ns2() });
    net.move_at(at(0), HOST, &[]);
    net.move_at(at(3_300), HOST, &[FA1]);
    net.run_until(at(3_000));
    assert_eq!(net.hosts[&HOST].state(), State::Searching);
    net.traffic(HOST, at(3_600), Duration::from_millis(50), at(5_900));
    net.run_until(at(6_000));
    assert_eq!(net.hosts[&HOST].state(), State::Registered);
    assert_eq!(net.home.care_of(HOST, net.now), Some(FA1));
    assert!(net.agents[&FA1].is_visited_by(HOST));
    assert_eq!(net.count(Fate::Delivered), net.fates.len());
    // Solicits at 0, 0.5, … 3.5 s; the advertisement answers the one at 3.5 s, after the cell was entered at 3.3 s.
    let (confirmed, ..) =
        net.ip_events.iter().find(|(_, h, e)| *h == HOST && *e == IpEvent::RegistrationConfirmed).unwrap();
    // Solicitation and advertisement 2 ms each, request and reply 2 + 10 ms each.
    assert_eq!(*confirmed, at(3_528));
}

#[test]
fn the_host_walks_from_home_through_two_cells_and_back() {
    for setup in [Setup::ns2(), Setup::rfc5944(), Setup::ns2().route_optimised()] {
        let mut net = Network::new(&setup);
        net.move_at(at(5_000), HOST, &[FA1]);
        net.move_at(at(20_000), HOST, &[FA2]);
        net.move_at(at(40_000), HOST, &[HOME]);
        net.run_until(at(15_000));
        assert_eq!(net.hosts[&HOST].agent(), Some(FA1));
        assert_eq!(net.home.care_of(HOST, net.now), Some(FA1));
        net.run_until(at(35_000));
        assert_eq!(net.hosts[&HOST].agent(), Some(FA2));
        assert_eq!(net.home.care_of(HOST, net.now), Some(FA2));
        net.run_until(at(60_000));
        assert_eq!(net.hosts[&HOST].state(), State::AtHome);
        assert_eq!(net.home.care_of(HOST, net.now), None);
        assert_stable_changes(&net, &["lost", "ok", "lost", "ok", "lost", "ok"]);
    }
}

/// The sequence of IP reports of the host, with refreshes and repeated losses left out.
fn assert_stable_changes(net: &Network, expected: &[&str]) {
    let mut said = Vec::new();
    for (_, host, event) in &net.ip_events {
        let word = if *event == IpEvent::AttachmentLost { "lost" } else { "ok" };
        if *host == HOST && said.last() != Some(&word) {
            said.push(word);
        }
    }
    if said.first() == Some(&"ok") {
        said.remove(0);
    }
    assert_eq!(said, expected);
}

#[test]
fn an_eager_host_switches_at_once_and_a_lazy_one_when_the_agent_is_lost() {
    let attached_at_6_s = |detection| {
        let mut setup = Setup::ns2();
        setup.node.detection = detection;
        let mut net = Network::new(&setup);
        net.move_at(at(1_000), HOST, &[FA1]);
        net.move_at(at(5_000), HOST, &[FA1, FA2]);
        net.run_until(at(6_000));
        let agent = net.hosts[&HOST].agent();
        net.move_at(at(8_000), HOST, &[FA2]);
        net.run_until(at(12_000));
        assert_eq!(net.hosts[&HOST].agent(), Some(FA2));
        assert_eq!(net.hosts[&HOST].state(), State::Registered);
        agent
    };
    assert_eq!(attached_at_6_s(Detection::Eager), Some(FA2));
    assert_eq!(attached_at_6_s(Detection::Lazy), Some(FA1));
}

#[test]
fn an_agent_is_forgotten_after_its_missed_beacons() {
    for (timeout, forgotten) in [
        (AgentTimeout::missed_beacons(2, Duration::from_secs(1)), at(5_102 + 2_500)),
        (AgentTimeout::Advertised, at(5_102 + 2_000)),
        (
            AgentTimeout::Tested {
                after: Duration::from_secs(1),
                every: Duration::from_secs(1),
                phase: Duration::from_millis(400),
            },
            at(6_400),
        ),
    ] {
        let mut setup = Setup::ns2();
        setup.node.agent_timeout = timeout;
        let mut net = Network::new(&setup);
        net.move_at(at(5_500), HOST, &[]); // The last beacon of home is heard at 5.102 s.
        net.run_until(at(20_000));
        assert_eq!(net.ip_events, [(forgotten, HOST, IpEvent::AttachmentLost)], "{timeout:?}");
        assert_eq!(net.hosts[&HOST].state(), State::Searching);
    }
}

#[test]
fn the_link_layer_can_say_earlier_that_the_agent_is_lost() {
    let mut net = Network::new(&Setup::ns2());
    net.move_at(at(2_000), HOST, &[]);
    net.run_until(at(2_000));
    let now = net.now;
    net.hosts.get_mut(&HOST).unwrap().handle_link_lost(now);
    assert_eq!(net.hosts[&HOST].state(), State::Searching);
    assert_eq!(net.hosts[&HOST].poll_timeout().unwrap(), (at(2_000), "no agent heard"));
}

#[test]
fn a_host_that_hears_home_again_without_having_registered_needs_no_registration() {
    let mut net = Network::new(&Setup::ns2());
    net.move_at(at(2_500), HOST, &[]);
    net.move_at(at(6_000), HOST, &[HOME]);
    net.run_until(at(10_000));
    assert_eq!(net.hosts[&HOST].state(), State::AtHome);
    assert!(net.control_named("registration-request").is_empty());
    assert_stable_changes(&net, &["lost", "ok"]);
}

#[test]
fn ping_pong_between_two_cells_ends_where_the_host_stops() {
    for period in [150, 400, 700, 1_100, 2_300] {
        for setup in [Setup::ns2(), Setup::ns2().route_optimised(), Setup::rfc5944().route_optimised()] {
            let mut net = Network::new(&setup);
            for turn in 0..20 {
                net.move_at(at(3_000 + turn * period), HOST, &[if turn % 2 == 0 { FA1 } else { FA2 }]);
            }
            let last = 3_000 + 19 * period;
            net.traffic(HOST, at(0), Duration::from_millis(20), at(last + 30_000));
            net.run_until(at(last + 31_000));
            assert_eq!(net.hosts[&HOST].agent(), Some(FA2), "period {period} ms");
            assert_eq!(net.home.care_of(HOST, net.now), Some(FA2));
            let tail = &net.fates[net.fates.len() - 500..];
            assert!(tail.iter().all(|fate| *fate == Fate::Delivered), "period {period} ms");
        }
    }
}

#[test]
fn the_loss_of_any_single_control_message_is_survived() {
    for setup in [
        Setup::ns2(),
        Setup::rfc5944(),
        Setup::ns2().route_optimised(),
        Setup { warn: foreign_agent::Warn::HomeAgent, ..Setup::rfc5944().route_optimised() },
    ] {
        let run = |lost: usize| {
            let mut net = Network::new(&setup);
            net.lose(move |number, _| number == lost);
            net.move_at(at(2_000), HOST, &[FA1]);
            net.move_at(at(8_000), HOST, &[FA2]);
            net.move_at(at(16_000), HOST, &[HOME]);
            net.traffic(HOST, at(0), Duration::from_millis(100), at(30_000));
            net.run_until(at(15_900));
            assert_eq!(net.home.care_of(HOST, net.now), Some(FA2), "lost {:?}", net.control.get(lost));
            net.run_until(at(31_000));
            assert_eq!(net.hosts[&HOST].state(), State::AtHome, "lost {:?}", net.control.get(lost));
            assert_eq!(net.home.care_of(HOST, net.now), None);
            assert_eq!(net.fates.last(), Some(&Fate::Delivered), "lost {:?}", net.control.get(lost));
            assert_eq!(net.count(Fate::OnItsWay) + net.count(Fate::Buffered), 0);
            // A beacon lost at the very end may leave the host searching when the story ends.
            net.control.iter().filter(|sent| sent.at < at(27_000)).count()
        };
        let messages = run(usize::MAX);
        for lost in 0..messages {
            run(lost);
        }
    }
}

#[test]
fn two_hosts_at_one_agent_do_not_disturb_each_other() {
    let mut net = Network::new(&Setup::ns2());
    for host in [HOST, OTHER_HOST] {
        net.move_at(at(2_000), host, &[FA1]);
        net.traffic(host, at(6_000), Duration::from_millis(30), at(9_900));
    }
    net.run_until(at(10_000));
    assert!(net.agents[&FA1].is_visited_by(HOST) && net.agents[&FA1].is_visited_by(OTHER_HOST));
    assert_eq!(net.count(Fate::Delivered), net.fates.len());
    net.move_at(at(10_000), HOST, &[FA2]);
    net.run_until(at(16_000));
    assert_eq!(net.home.care_of(HOST, net.now), Some(FA2));
    assert_eq!(net.home.care_of(OTHER_HOST, net.now), Some(FA1));
}

#[test]
fn a_full_agent_serves_those_it_has_and_the_rest_goes_on_searching() {
    let mut net = Network::new(&Setup { max_visitors: 1, ..Setup::ns2() });
    net.move_at(at(2_000), HOST, &[FA1]);
    net.move_at(at(6_000), OTHER_HOST, &[FA1]);
    net.run_until(at(15_000));
    assert_eq!(net.hosts[&HOST].state(), State::Registered);
    assert_eq!(net.hosts[&OTHER_HOST].state(), State::Searching);
    net.move_at(at(15_000), HOST, &[]);
    net.run_until(at(25_000));
    assert_eq!(net.hosts[&OTHER_HOST].state(), State::Registered);
}

#[test]
fn the_agent_refuses_too_long_a_lifetime_and_the_host_takes_the_one_offered() {
    let mut setup = Setup { max_lifetime: Lifetime(30), ..Setup::rfc5944() };
    setup.node.refresh = Refresh::BeforeExpiry;
    let mut net = Network::new(&setup);
    net.move_at(at(2_000), HOST, &[FA1]);
    net.run_until(at(10_000));
    assert_eq!(net.hosts[&HOST].state(), State::Registered);
    assert_eq!(net.home.care_of(HOST, at(40_000)), None, "30 s were granted");
}

#[test]
fn a_host_that_never_comes_back_is_forgotten_by_all() {
    let mut net = Network::new(&Setup::ns2().route_optimised());
    net.move_at(at(2_000), HOST, &[FA1]);
    net.move_at(at(8_000), HOST, &[]);
    net.traffic(HOST, at(0), Duration::from_millis(100), at(20_000));
    net.run_until(at(20_000));
    assert_eq!(net.home.care_of(HOST, net.now), None);
    assert!(!net.agents[&FA1].is_visited_by(HOST));
    assert_eq!(net.sender.care_of(HOST, net.now), None);
    assert_eq!(net.hosts[&HOST].state(), State::Searching);
    let expired = home_agent::Event::Expired { host: HOST };
    assert_eq!(net.home_events.iter().filter(|(_, event)| *event == expired).count(), 1);
    net.run_until(at(200_000));
    assert_eq!(net.agents[&FA1].entries(), 0);
    assert_eq!(net.count(Fate::OnItsWay) + net.count(Fate::Buffered), 0);
}

#[test]
fn a_registration_is_renewed_before_it_ends_without_a_word_to_ip() {
    let mut setup = Setup::rfc5944();
    setup.node.lifetime = Lifetime(20);
    let mut net = Network::new(&setup);
    net.move_at(at(2_000), HOST, &[FA1]);
    net.run_until(at(100_000));
    assert_stable_changes(&net, &["lost", "ok"]);
    let requests = net.control_named("registration-request");
    // Each renewal 15 s after the reply before.
    let host_requests: Vec<_> = requests.iter().filter(|sent| sent.from == HOST).collect();
    assert_eq!(host_requests.len(), 7);
    assert!(host_requests[2].at.since(host_requests[1].at) >= Duration::from_secs(15));
}

#[test]
fn requests_without_reply_are_repeated_as_the_profile_says() {
    let gaps = |setup: &Setup| {
        let mut net = Network::new(setup);
        net.move_at(at(0), HOST, &[FA1]);
        net.run_until(at(20_000));
        let sent: Vec<_> =
            net.control_named("registration-request").into_iter().filter(|s| s.from == HOST).collect();
        sent.windows(2).map(|pair| pair[1].at.since(pair[0].at)).take(3).collect::<Vec<_>>()
    };
    let never = Delay::Constant(Duration::from_secs(1_000));
    let half = Duration::from_millis(500);
    let secs = Duration::from_secs;
    assert_eq!(
        gaps(&Setup { start: Start::Away, registration_delay: never, ..Setup::ns2() }),
        [half, half, half]
    );
    let doubling = gaps(&Setup { start: Start::Away, registration_delay: never, ..Setup::rfc5944() });
    assert_eq!(doubling, [secs(1), secs(2), secs(4)]);
}

#[test]
fn a_registration_takes_the_delay_of_the_home_agent_whatever_the_retransmissions() {
    let delay = Duration::from_secs(12);
    let mut setup = Setup { registration_delay: Delay::Constant(delay), ..Setup::ns2() };
    setup.node.lifetime = Lifetime(60);
    setup.beacon.registration_lifetime = Lifetime(60);
    let mut net = Network::new(&setup);
    net.move_at(at(0), HOST, &[FA1]);
    net.run_until(at(30_000));
    let first_request = net.control_named("registration-request")[0].at;
    let event = home_agent::Event::Registered { host: HOST, care_of: FA1 };
    let (registered, _) = net.home_events.iter().find(|(_, e)| *e == event).unwrap();
    // 2 ms on the link and 10 ms to the home agent.
    assert_eq!(registered.since(first_request), delay + Duration::from_millis(12));
    assert_eq!(net.hosts[&HOST].state(), State::Registered);
}
