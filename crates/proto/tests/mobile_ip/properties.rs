//! What holds for every movement and every pattern of loss.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::{Config, TestCaseError};
use segue_proto::mobile_ip::correspondent::WhileAsking;
use segue_proto::mobile_ip::foreign_agent::{Unreachable, Warn};
use segue_proto::mobile_ip::mobile_node::{Detection, Start, State};
use segue_proto::mobile_ip::{Address, Delay, Lifetime};
use segue_proto::rng::Streams;
use segue_proto::time::Duration;

use crate::network::{FA1, FA2, FA3, Fate, HOME, HOST, Network, OTHER_HOST, Setup, at};

/// A random life of two hosts.
#[derive(Clone, Debug)]
struct Story {
    setup: Setup,
    /// Pause in milliseconds, whether it is the other host, cells as bits.
    moves: Vec<(u64, bool, u8)>,
    loss: f64,
    seed: u64,
}

fn cells_of(bits: u8) -> Vec<Address> {
    [HOME, FA1, FA2, FA3]
        .into_iter()
        .enumerate()
        .filter(|(i, _)| bits >> i & 1 == 1)
        .map(|(_, c)| c)
        .collect()
}

fn setup() -> impl Strategy<Value = Setup> {
    let base = prop_oneof![
        Just(Setup::ns2()),
        Just(Setup::rfc5944()),
        Just(Setup::ns2().route_optimised()),
        Just(Setup::rfc5944().route_optimised()),
    ];
    let delay = prop_oneof![
        Just(Delay::NONE),
        Just(Delay::Constant(Duration::from_millis(900))),
        Just(Delay::Exponential { mean: Duration::from_millis(700) }),
    ];
    let unreachable = prop_oneof![
        Just(Unreachable::Drop),
        Just(Unreachable::Buffer { packets: 20, patience: Duration::from_secs(3), probe: None }),
    ];
    let warn = prop_oneof![Just(Warn::Nobody), Just(Warn::Correspondent), Just(Warn::HomeAgent)];
    (base, delay, unreachable, warn, any::<[bool; 5]>()).prop_map(
        |(mut setup, registration_delay, unreachable, warn, choice)| {
            setup.registration_delay = registration_delay;
            if matches!(registration_delay, Delay::Exponential { .. }) {
                // A renewal may take longer than ns-2's two seconds: then the binding expires, as it must.
                setup.node.lifetime = Lifetime(60);
                setup.beacon.registration_lifetime = Lifetime(60);
            }
            setup.unreachable = unreachable;
            setup.warn = warn;
            setup.forward = choice[0];
            setup.node.detection = if choice[1] { Detection::Eager } else { Detection::Lazy };
            setup.start = if choice[2] { Start::AtHome } else { Start::Away };
            setup.while_asking = if choice[3] { WhileAsking::KeepUsing } else { WhileAsking::ViaHomeAgent };
            if let Some(optimisation) = &mut setup.route_optimisation {
                optimisation.acknowledge = choice[4];
                // An agent that was not told that a host left goes on serving it, and warns nobody: what heals that
                // is the end of the correspondent's binding, so it must end before the story does.
                optimisation.max_lifetime = Lifetime(30);
            }
            setup
        },
    )
}

fn story() -> impl Strategy<Value = Story> {
    let moves = vec((0u64..6_000, any::<bool>(), 0u8..16), 0..25);
    (setup(), moves, 0.0..0.6, any::<u64>()).prop_map(|(setup, moves, loss, seed)| Story {
        setup,
        moves,
        loss,
        seed,
    })
}

impl Story {
    /// Runs the moves under loss and then 150 s of calm.
    fn run(&self) -> Network {
        let mut net = Network::new(&self.setup);
        let mut now = 0;
        for (pause, other, bits) in &self.moves {
            now += pause;
            net.move_at(at(now), if *other { OTHER_HOST } else { HOST }, &cells_of(*bits));
        }
        let (mut stream, loss, calm) = (Streams::new(self.seed).stream("loss"), self.loss, at(now + 1_000));
        net.lose(move |_, when| when < calm && stream.chance(loss));
        for host in [HOST, OTHER_HOST] {
            net.traffic(host, at(0), Duration::from_millis(70), at(now + 145_000));
        }
        net.run_until(at(now + 150_000));
        net
    }
}

/// Each host is where it should be, and everybody knows.
fn check_end(net: &Network) -> Result<(), TestCaseError> {
    for (host, node) in &net.hosts {
        let cells = &net.cells[host];
        let bound_to = net.home.care_of(*host, net.now);
        if cells.is_empty() {
            prop_assert_eq!(node.state(), State::Searching);
            prop_assert!(node.poll_timeout().is_some());
            continue;
        }
        let agent = node.agent().expect("an agent is heard");
        prop_assert!(cells.contains(&agent), "{} uses {}", host, agent);
        if agent == HOME {
            prop_assert_eq!(node.state(), State::AtHome);
            prop_assert_eq!(bound_to, None);
        } else {
            prop_assert_eq!(node.state(), State::Registered);
            prop_assert_eq!(bound_to, Some(agent));
            prop_assert!(net.agents[&agent].is_visited_by(*host));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 300, ..Config::default() })]

    // The network itself asserts that no packet is handled twice, that none runs in a circle, and that nobody waits
    // without a deadline.
    #[test]
    fn every_host_ends_in_a_defined_state_and_every_packet_has_one_fate(story in story()) {
        let net = story.run();
        check_end(&net)?;
        prop_assert_eq!(net.count(Fate::OnItsWay), 0);
        prop_assert_eq!(net.count(Fate::Buffered), 0);
        let all_heard = net.cells.values().all(|cells| !cells.is_empty());
        if all_heard {
            let tail = &net.fates[net.fates.len() - 1_000..];
            prop_assert!(tail.iter().all(|fate| *fate == Fate::Delivered), "in calm all packets arrive");
        }
    }

    #[test]
    fn the_same_story_runs_the_same(story in story()) {
        let [first, second] = [story.run(), story.run()];
        prop_assert_eq!(first.fates, second.fates);
        prop_assert_eq!(first.ip_events, second.ip_events);
    }
}
