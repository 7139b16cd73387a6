//! What holds for every journey and every pattern of loss.

use proptest::collection::vec;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use segue_proto::rng::{Stream, Streams};
use segue_proto::split::Flow;
use segue_proto::split::handoff::Holding;
use segue_proto::split::msr::Config;
use segue_proto::tcp::{EndReason, Restart};
use segue_proto::time::Duration;

use crate::network::{Network, at, patient};

/// A transfer both ways over two connections, one of each kind, on a journey.
#[derive(Clone, Debug)]
struct Story {
    sizes: [u64; 2],
    /// Pause, gap between cells (both in milliseconds), router.
    moves: Vec<(u64, u64, usize)>,
    control_loss: f64,
    repeat: f64,
    late: u64,
    radio_loss: f64,
    processing: u64,
    restart: Restart,
    kick: bool,
    seed: u64,
}

fn story() -> impl Strategy<Value = Story> {
    let moves = vec((0u64..2_500, prop_oneof![Just(0u64), 0u64..1_200], 0usize..3), 0..14);
    let network = (0.0..0.5, 0.0..0.4, 0u64..800, 0.0..0.1);
    let restart = prop_oneof![Just(Restart::SlowStart), Just(Restart::AsItWas)];
    let choice = (0u64..200, restart, any::<bool>(), any::<u64>());
    ([0u64..150_000, 0u64..150_000], moves, network, choice).prop_map(|(sizes, moves, network, choice)| {
        let (control_loss, repeat, late, radio_loss) = network;
        let (processing, restart, kick, seed) = choice;
        Story { sizes, moves, control_loss, repeat, late, radio_loss, processing, restart, kick, seed }
    })
}

impl Story {
    fn run(&self) -> (Network, [Flow; 2]) {
        let mut net = Network::new(|address| Config {
            processing: Duration::from_millis(self.processing),
            restart: self.restart,
            kick_mobile: self.kick,
            ..patient(address)
        });
        net.library.listen(7_000, net.now);
        let calls = [net.connect(5_000), net.library.accept(7_000, net.now)];
        net.run_until(at(500));
        net.server_connects(7_000);
        net.run_until(at(2_000));
        let flows = calls.map(|call| net.opened(call).expect("open before the journey"));
        for flow in flows {
            let ends = [net.peers.get_mut(&flow.mobile), net.sockets.get_mut(&flow)];
            for (end, bytes) in ends.into_iter().zip(self.sizes) {
                let end = end.expect("open");
                end.write(bytes);
                end.close();
            }
        }
        self.disturb(&mut net);
        let mut now = 2_000;
        for (pause, gap, index) in &self.moves {
            now += pause;
            net.run_until(at(now));
            net.enter(*index, Duration::from_millis(*gap));
        }
        net.run_until(at(now + 600_000));
        (net, flows)
    }

    fn disturb(&self, net: &mut Network) {
        let journey: u64 = self.moves.iter().map(|(pause, ..)| pause).sum();
        let calm = at(2_000 + journey + 3_000);
        let streams = Streams::new(self.seed);
        let (mut control, mut radio) = (streams.stream("control"), streams.stream("radio"));
        let (story, radio_loss) = (self.clone(), self.radio_loss);
        net.control =
            Box::new(move |now| if now > calm { vec![Duration::ZERO] } else { story.copies(&mut control) });
        net.radio = Box::new(move |now| now < calm && radio.chance(radio_loss));
    }

    fn copies(&self, stream: &mut Stream) -> Vec<Duration> {
        let mut copies = Vec::new();
        while copies.len() < 4 {
            if !stream.chance(self.control_loss) {
                copies.push(Duration::from_millis(stream.below(self.late + 1)));
            }
            if !stream.chance(self.repeat) {
                break;
            }
        }
        copies
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    // The network asserts at every instant that one copy runs and that no byte is lost or doubled inside a router.
    #[test]
    fn both_streams_arrive_whole_and_the_fixed_host_never_sees_a_reset(story in story()) {
        let (net, flows) = story.run();
        for flow in flows {
            let (peer, socket) = (&net.peers[&flow.mobile], &net.sockets[&flow]);
            prop_assert_eq!(socket.receiver().delivered(), story.sizes[0]);
            prop_assert_eq!(peer.receiver().delivered(), story.sizes[1]);
            prop_assert_eq!((peer.acknowledged(), socket.acknowledged()), (story.sizes[0], story.sizes[1]));
            prop_assert_eq!(peer.end_reason(), Some(EndReason::Closed));
            prop_assert_eq!(socket.end_reason(), Some(EndReason::Closed));
        }
        prop_assert_eq!((net.resets_to_server, net.resets_to_host), (0, 0));
        let last = story.moves.last().map_or(0, |(.., index)| *index);
        let active: Vec<bool> = net.holdings().iter().map(|h| *h == Holding::Active).collect();
        prop_assert!((0..3).all(|index| active[index] == (index == last)), "{:?}", active);
        prop_assert!(net.routers.iter().all(|router| router.flows().is_empty()), "all is over and forgotten");
    }
}
