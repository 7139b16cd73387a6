//! What users of split connections see.

use segue_proto::split::handoff::Holding;
use segue_proto::split::library::Event;
use segue_proto::split::message::Refusal;
use segue_proto::split::msr::{Config, Msr};
use segue_proto::tcp::{Connection, EndReason, Restart, State, Variant};
use segue_proto::time::Duration;

use crate::network::{Network, ROUTERS, SERVER, at, patient, profile};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_active_open_gives_a_connection_that_the_server_sees_as_the_mobile_hosts() {
    let mut net = Network::new(patient);
    let call = net.connect(5_000);
    net.run_until(at(1_000));
    let flow = net.opened(call).expect("it is open");
    assert_eq!((flow.wireless.address, flow.fixed), (ROUTERS[0], SERVER));
    assert_eq!(net.socket_state(flow), Some(State::Established));
    assert_eq!(net.peers[&flow.mobile].state(), State::Established);
}

#[test]
fn a_refused_connect_fails_with_the_reason() {
    let mut net = Network::new(patient);
    net.refuses = true;
    let call = net.connect(5_000);
    net.run_until(at(1_000));
    assert_eq!(net.events, [Event::Refused { call, refusal: Refusal::ConnectionRefused }]);
}

#[test]
fn a_server_that_does_not_answer_is_a_timeout() {
    let short = |address| {
        let profile = segue_proto::tcp::Profile { user_timeout: SECOND * 5, ..profile() };
        Config::new(address, &profile, Variant::named("reno").expect("a variant of the table"))
    };
    let mut net = Network::new(short);
    let flow = segue_proto::split::Endpoint { address: ROUTERS[2], port: 9 };
    let call = net.library.connect(5_000, flow, net.now);
    net.peers.insert(
        segue_proto::split::Endpoint { address: crate::network::HOST, port: 5_000 },
        dead_connection(),
    );
    net.run_until(at(10_000));
    assert_eq!(net.events, [Event::Refused { call, refusal: Refusal::TimedOut }]);
}

/// One that answers nothing.
fn dead_connection() -> Connection {
    let config = segue_proto::tcp::Config {
        id: segue_proto::tcp::ConnectionId(1),
        profile: profile(),
        variant: Variant::named("reno").expect("a variant of the table"),
        iss: segue_proto::tcp::SeqNumber(1),
        auto_read: true,
    };
    let mut connection = Connection::listen(config);
    connection.delete_silent();
    connection
}

#[test]
fn a_listener_accepts_and_moves_with_its_host() {
    let mut net = Network::new(patient);
    net.library.listen(7_000, net.now);
    let call = net.library.accept(7_000, net.now);
    net.run_until(at(500));
    net.enter(1, Duration::ZERO);
    net.run_until(at(1_000));
    net.server_connects(7_000);
    net.run_until(at(3_000));
    let flow = net.opened(call).expect("accepted at the second router");
    assert_eq!((flow.wireless.address, net.socket_state(flow)), (ROUTERS[1], Some(State::Established)));
}

#[test]
fn each_direction_closes_by_itself_and_a_reset_passes_at_once() {
    let mut net = Network::new(patient);
    let (first, second) = (net.connect(5_000), net.connect(5_001));
    net.run_until(at(1_000));
    let (first, second) = (net.opened(first).expect("open"), net.opened(second).expect("open"));
    let peer = net.peers.get_mut(&first.mobile).expect("open");
    peer.write(30_000);
    peer.close();
    net.run_until(at(5_000));
    assert_eq!(net.socket_state(first), Some(State::CloseWait));
    assert_eq!(net.sockets[&first].receiver().delivered(), 30_000);
    let socket = net.sockets.get_mut(&first).expect("open");
    socket.write(20_000);
    socket.close();
    let now = net.now;
    net.sockets.get_mut(&second).expect("open").abort(now, &mut segue_proto::tcp::NoHooks);
    net.run_until(at(5_100));
    assert_eq!(net.peers[&second.mobile].end_reason(), Some(EndReason::Reset));
    net.run_until(at(200_000));
    assert_eq!(net.peers[&first.mobile].receiver().delivered(), 20_000);
    assert_eq!(net.peers[&first.mobile].end_reason(), Some(EndReason::Closed));
    assert_eq!(net.routers[0].flows(), []);
}

#[test]
fn a_host_out_of_reach_closes_the_window_of_the_server_and_a_handoff_opens_it() {
    let mut net = Network::new(patient);
    let call = net.connect(5_000);
    net.run_until(at(1_000));
    let flow = net.opened(call).expect("open");
    net.peers.get_mut(&flow.mobile).expect("open").write(1_000_000);
    net.run_until(at(1_300));
    net.enter(1, SECOND * 20);
    net.run_until(at(20_000));
    assert_eq!(net.peers[&flow.mobile].sender().snd_wnd, 0, "all buffers are full");
    net.run_until(at(23_000));
    let before = net.sockets[&flow].receiver().delivered();
    net.run_until(at(60_000));
    let after = net.sockets[&flow].receiver().delivered();
    assert_eq!(after, 1_000_000, "{before} at the handoff");
    assert_eq!(net.holdings(), [Holding::Gone, Holding::Active, Holding::Nothing]);
}

#[test]
fn after_a_handoff_the_wireless_side_retransmits_at_once_or_waits_for_its_timer() {
    let delivered = [Restart::SlowStart, Restart::AsItWas].map(|restart| {
        let mut net = Network::new(|address| Config { restart, ..patient(address) });
        let call = net.connect(5_000);
        net.run_until(at(1_000));
        let flow = net.opened(call).expect("open");
        net.peers.get_mut(&flow.mobile).expect("open").write(10_000_000);
        net.run_until(at(1_500));
        net.enter(1, SECOND * 3);
        net.run_until(at(5_000));
        net.sockets[&flow].receiver().delivered()
    });
    assert!(delivered[0] > delivered[1] + 50_000, "{delivered:?}");
}

#[test]
fn a_crashed_router_costs_the_connections_and_only_the_mobile_host_is_reset() {
    let impatient =
        |address| Config::new(address, &profile(), Variant::named("reno").expect("a variant of the table"));
    let mut net = Network::new(impatient);
    let call = net.connect(5_000);
    net.run_until(at(1_000));
    let flow = net.opened(call).expect("open");
    net.sockets.get_mut(&flow).expect("open").write(1_000_000);
    net.run_until(at(1_200));
    net.routers[0] = Msr::new(impatient(ROUTERS[0]));
    net.enter(1, Duration::ZERO);
    net.run_until(at(60_000));
    assert_eq!(net.sockets[&flow].end_reason(), Some(EndReason::Reset));
    assert_eq!(net.resets_to_server, 0);
    let again = net.connect(5_001);
    net.run_until(at(62_000));
    assert!(net.opened(again).is_some(), "new connections can be opened");
}
