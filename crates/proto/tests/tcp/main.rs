//! Behaviour of one TCP connection, one topic a file.
//!
//! [`Pair`](segue_proto::testing::Pair) runs two ends over a wire and shows when what leaves; [`Solo`] is one end, and
//! the test plays its peer.

mod close;
mod handshake;
mod hostile;
mod migrate;
mod policy;
mod recovery;
mod round_trip;
mod transfer;
mod window;

use segue_proto::tcp::cc::Window;
use segue_proto::tcp::{
    Config, Connection, ConnectionId, Flags, Hooks, NoHooks, Options, Profile, Segment, SeqNumber, State,
    Timestamps, Variant,
};
use segue_proto::testing::{End, Pair, Sent};
use segue_proto::time::{Duration, Instant};

/// The initial sequence number of the client in [`Pair`].
const CLIENT_ISS: SeqNumber = SeqNumber(u32::MAX - 5_000);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn millis(instant: Instant) -> u64 {
    instant.as_nanos() / 1_000_000
}

fn rfc() -> Profile {
    Profile::named("rfc").expect("a profile of the table").clone()
}

/// Constants that make arithmetic easy: segments of 1000 bytes, a window of 100 of them, every segment acknowledged.
fn plain() -> Profile {
    Profile {
        mss: 1000,
        window: 100,
        initial_window: 4,
        limited_transmit: false,
        delayed_ack: None,
        nagle: false,
        ..rfc()
    }
}

/// A pair whose server does not read by itself.
fn pair_with_slow_reader(profile: &Profile) -> Pair {
    let mut pair = Pair::with_profile(profile, "new-reno");
    pair.server = Connection::listen(Config {
        id: ConnectionId(2),
        profile: profile.clone(),
        variant: Variant::named("new-reno").expect("a variant of the table"),
        iss: SeqNumber(u32::MAX - 100),
        auto_read: false,
    });
    pair
}

/// Loses the first transmission of the client's segments with these numbers, counted from 1.
fn lose_once(pair: &mut Pair, segments: &[u64]) {
    let mss = u64::from(pair.client.profile().mss);
    let mut losses = segments.to_vec();
    pair.set_fate(move |from, _, _, segment| {
        let position = u64::from(segment.seq.0.wrapping_sub(CLIENT_ISS.0));
        let number = (position.wrapping_sub(1)) / mss + 1;
        let hit = (from == End::Client && segment.len > 0).then(|| losses.iter().position(|l| *l == number));
        match hit.flatten() {
            Some(index) => {
                losses.swap_remove(index);
                None
            }
            None => Some(Duration::ZERO),
        }
    });
}

/// What `end` put on the wire from `since` on.
fn sent_since(pair: &Pair, end: End, since: Instant) -> Vec<&Sent> {
    pair.wire.iter().filter(|sent| sent.by == end && sent.at >= since).collect()
}

/// One end, with the test as its peer. Segments are counted from 1.
struct Solo {
    connection: Connection,
    now: Instant,
    /// What the peer offers, in segments.
    offered: u64,
    /// The peer's next position.
    peer_nxt: u64,
    /// The peer's sequence numbers begin here.
    peer_iss: SeqNumber,
}

impl Solo {
    /// An open connection that has been given `segments` segments to send; its first window has left.
    fn sending(profile: &Profile, variant: &str, segments: u64) -> Self {
        let mut solo = Solo::open(profile, variant);
        solo.connection.write(segments * solo.mss());
        solo.transmit();
        solo
    }

    fn open(profile: &Profile, variant: &str) -> Self {
        let mut solo = Solo::connecting(profile, variant);
        let syn = solo.transmit();
        assert_eq!(syn.len(), 1);
        solo.now = at(20);
        let mut answer = solo.segment(0, 0, 1, Flags::SYN | Flags::ACK);
        answer.options = Options {
            mss: Some(profile.mss as u16),
            window_scale: Some(0),
            timestamps: None,
            experimental: None,
        };
        if let Some(stamps) = syn[0].options.timestamps {
            answer.options.timestamps = Some(Timestamps { value: 1, echo: stamps.value });
        }
        solo.receive(&answer);
        solo.peer_nxt = 1;
        assert_eq!(solo.connection.state(), State::Established);
        solo
    }

    fn connecting(profile: &Profile, variant: &str) -> Self {
        Solo::made_by(Connection::connect, profile, variant)
    }

    fn listening(profile: &Profile, variant: &str) -> Self {
        Solo::made_by(Connection::listen, profile, variant)
    }

    fn made_by(make: fn(Config) -> Connection, profile: &Profile, variant: &str) -> Self {
        let config = Config {
            id: ConnectionId(7),
            profile: profile.clone(),
            variant: Variant::named(variant).expect("a variant of the table"),
            iss: SeqNumber(u32::MAX - 2_500),
            auto_read: true,
        };
        let mut connection = make(config);
        connection.enable_trace();
        let offered = 60.min(65_535 / u64::from(profile.mss));
        Solo { connection, now: Instant::ZERO, offered, peer_nxt: 0, peer_iss: SeqNumber(u32::MAX - 700) }
    }

    fn mss(&self) -> u64 {
        u64::from(self.connection.profile().mss)
    }

    /// A segment of the peer: positions on the line, as the core counts them.
    fn segment(&self, start: u64, len: u32, ack: u64, flags: Flags) -> Segment {
        Segment {
            seq: self.peer_iss.add(start),
            ack: SeqNumber(u32::MAX - 2_500).add(ack),
            len,
            window: (self.offered * self.mss()).min(65_535) as u16,
            flags,
            options: Options::default(),
        }
    }

    fn receive(&mut self, segment: &Segment) -> Vec<Segment> {
        self.receive_with(segment, &mut NoHooks)
    }

    fn receive_with(&mut self, segment: &Segment, hooks: &mut impl Hooks) -> Vec<Segment> {
        self.connection.handle_segment(segment, self.now, hooks);
        self.transmit()
    }

    fn transmit(&mut self) -> Vec<Segment> {
        std::iter::from_fn(|| self.connection.poll_transmit(self.now, &mut NoHooks)).collect()
    }

    /// The numbers of the data segments in `segments`.
    fn numbers(&self, segments: &[Segment]) -> Vec<u64> {
        let number = |s: &Segment| self.connection.sent_offset(s.seq).map(|offset| offset / self.mss() + 1);
        segments.iter().filter(|s| s.len > 0).filter_map(number).collect()
    }

    /// The peer acknowledges everything up to segment `number`; the numbers of what leaves.
    fn ack(&mut self, number: u64) -> Vec<u64> {
        let segment = self.segment(self.peer_nxt, 0, 1 + number * self.mss(), Flags::ACK);
        let sent = self.receive(&segment);
        self.numbers(&sent)
    }

    /// The deadline with this reason passes; the numbers of what leaves.
    fn expire(&mut self, reason: &str) -> Vec<u64> {
        let (deadline, next) = self.connection.poll_timeout().expect("a deadline is set");
        assert_eq!(next, reason);
        self.now = deadline;
        self.connection.handle_timeout(deadline, &mut NoHooks);
        let sent = self.transmit();
        self.numbers(&sent)
    }

    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    fn window(&self) -> Window {
        self.connection.sender().window
    }

    /// Slow start until `number` segments are acknowledged, one by one, a millisecond apart.
    fn ack_each_up_to(&mut self, number: u64) {
        let first = self.connection.acknowledged() / self.mss() + 1;
        for n in first..=number {
            self.wait(1);
            self.ack(n);
        }
    }
}
