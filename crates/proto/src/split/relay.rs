//! Copies between the two sockets of one split connection \[Bakre §5.2\].
//!
//! The relay moves numbers, the driver the bytes: it tells what each socket has to read and room to write
//! ([`Relay::handle_socket`]), and carries out what [`Relay::poll_action`] orders until it gives `None`. Buffers are
//! finite, so a side that does not drain closes the receive window of the other (i-tcp I9). A FIN passes once all before
//! it has been written, each direction by itself; a reset passes at once (i-tcp I8).

use super::Side;

/// What a socket offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Socket {
    /// Bytes in order that have not been read.
    pub readable: u64,
    /// Bytes that its send buffer has room for.
    pub writable: u64,
    /// Whether the peer's FIN follows what is readable.
    pub at_end: bool,
    /// Whether the connection was reset or has timed out.
    pub failed: bool,
}

/// What the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read so many bytes from a socket and keep them.
    Read {
        /// From which.
        from: Side,
        /// How many, at least 1.
        bytes: u64,
    },
    /// Write the first so many of the bytes kept for a socket.
    Write {
        /// To which.
        to: Side,
        /// How many, at least 1.
        bytes: u64,
    },
    /// Close the sending half of a socket: a FIN follows.
    Finish {
        /// Which.
        side: Side,
    },
    /// Reset a socket.
    Abort {
        /// Which.
        side: Side,
    },
}

/// All that a relay knows, to go on elsewhere; indexed by [`Side`], the side that the bytes came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayState {
    /// Bytes read and not yet written. They have been acknowledged to their sender: they must travel with the sockets
    /// (i-tcp I2).
    pub held: [u64; 2],
    /// Whether the FIN of this side has been passed on.
    pub finished: [bool; 2],
    /// Whether a failure has been passed on.
    pub aborted: bool,
}

/// One relay.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Bytes that it keeps in each direction.
    capacity: u64,
    state: RelayState,
    sockets: [Socket; 2],
}

impl Relay {
    /// A relay that keeps up to `capacity` bytes in each direction.
    pub fn new(capacity: u64) -> Self {
        Relay::import(capacity, RelayState::default())
    }

    /// A relay that goes on from another's state.
    pub fn import(capacity: u64, state: RelayState) -> Self {
        Relay { capacity: capacity.max(1), state, sockets: [Socket::default(); 2] }
    }

    /// Its state, for another host.
    pub fn export(&self) -> RelayState {
        self.state
    }

    /// What `side` offers now.
    pub fn handle_socket(&mut self, side: Side, socket: Socket) {
        self.sockets[side as usize] = socket;
    }

    /// What to do next. What it orders is taken for done.
    pub fn poll_action(&mut self) -> Option<Action> {
        if self.state.aborted {
            return None;
        }
        if let Some(side) = Side::BOTH.into_iter().find(|side| self.sockets[*side as usize].failed) {
            self.state.aborted = true;
            self.state.held = [0; 2];
            return Some(Action::Abort { side: side.other() });
        }
        Side::BOTH.into_iter().find_map(|from| self.next_of(from))
    }

    /// What to do for the direction that begins at `from`.
    fn next_of(&mut self, from: Side) -> Option<Action> {
        let (source, sink) = (from as usize, from.other() as usize);
        let held = self.state.held[source];
        let writable = held.min(self.sockets[sink].writable);
        if writable > 0 {
            self.state.held[source] -= writable;
            self.sockets[sink].writable -= writable;
            return Some(Action::Write { to: from.other(), bytes: writable });
        }
        let readable = self.sockets[source].readable.min(self.capacity.saturating_sub(held));
        if readable > 0 {
            self.state.held[source] += readable;
            self.sockets[source].readable -= readable;
            return Some(Action::Read { from, bytes: readable });
        }
        let drained = self.sockets[source].at_end && self.sockets[source].readable == 0 && held == 0;
        if drained && !self.state.finished[source] {
            self.state.finished[source] = true;
            return Some(Action::Finish { side: from.other() });
        }
        None
    }

    /// Bytes kept that came from `from`.
    pub fn held(&self, from: Side) -> u64 {
        self.state.held[from as usize]
    }

    /// Whether nothing will pass any more: both FINs have, or a failure.
    pub fn is_over(&self) -> bool {
        self.state.aborted || self.state.finished == [true; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOM: Socket = Socket { readable: 0, writable: 1_000_000, at_end: false, failed: false };

    fn actions(relay: &mut Relay) -> Vec<Action> {
        std::iter::from_fn(|| relay.poll_action()).collect()
    }

    #[test]
    fn a_sink_without_room_leaves_the_source_unread_beyond_the_buffer() {
        let mut relay = Relay::new(4_000);
        relay.handle_socket(Side::Fixed, Socket { readable: 16_000, ..ROOM });
        relay.handle_socket(Side::Wireless, Socket { writable: 0, ..ROOM });
        assert_eq!(actions(&mut relay), [Action::Read { from: Side::Fixed, bytes: 4_000 }]);
        relay.handle_socket(Side::Wireless, Socket { writable: 1_000, ..ROOM });
        let expected = [
            Action::Write { to: Side::Wireless, bytes: 1_000 },
            Action::Read { from: Side::Fixed, bytes: 1_000 },
        ];
        assert_eq!(actions(&mut relay), expected);
    }

    #[test]
    fn a_fin_passes_after_the_last_byte_and_leaves_the_other_direction_open() {
        let mut relay = Relay::new(4_000);
        relay.handle_socket(Side::Fixed, Socket { readable: 100, at_end: true, ..ROOM });
        relay.handle_socket(Side::Wireless, Socket { writable: 60, ..ROOM });
        let first = actions(&mut relay);
        assert!(!first.contains(&Action::Finish { side: Side::Wireless }));
        relay.handle_socket(Side::Wireless, Socket { writable: 60, readable: 10, ..ROOM });
        relay.handle_socket(Side::Fixed, Socket { at_end: true, ..ROOM });
        let rest = actions(&mut relay);
        let expected = [
            Action::Write { to: Side::Wireless, bytes: 40 },
            Action::Finish { side: Side::Wireless },
            Action::Read { from: Side::Wireless, bytes: 10 },
            Action::Write { to: Side::Fixed, bytes: 10 },
        ];
        assert_eq!(rest, expected);
        assert!(!relay.is_over());
        relay.handle_socket(Side::Wireless, Socket { at_end: true, ..ROOM });
        assert_eq!(actions(&mut relay), [Action::Finish { side: Side::Fixed }]);
        assert!(relay.is_over());
    }

    #[test]
    fn a_failure_passes_at_once_and_ends_everything() {
        for side in Side::BOTH {
            let mut relay = Relay::new(4_000);
            relay.handle_socket(Side::Fixed, Socket { readable: 9_000, ..ROOM });
            relay.handle_socket(side, Socket { failed: true, readable: 9_000, ..ROOM });
            assert_eq!(actions(&mut relay), [Action::Abort { side: side.other() }]);
            assert!(relay.is_over());
        }
    }

    proptest! {
        #[test]
        fn what_was_read_is_written_or_held_and_never_more_than_fits(
            steps in proptest::collection::vec((any::<bool>(), 0u64..9_000, 0u64..9_000, any::<bool>()), 1..60),
            capacity in 1u64..20_000,
        ) {
            let mut relay = Relay::new(capacity);
            let (mut read, mut written) = ([0u64; 2], [0u64; 2]);
            for (fixed, readable, writable, moves) in steps {
                let side = if fixed { Side::Fixed } else { Side::Wireless };
                relay.handle_socket(side, Socket { readable, writable, ..Socket::default() });
                relay.handle_socket(side.other(), Socket { readable: writable, writable: readable, ..Socket::default() });
                while let Some(action) = relay.poll_action() {
                    match action {
                        Action::Read { from, bytes } => read[from as usize] += bytes,
                        Action::Write { to, bytes } => written[to.other() as usize] += bytes,
                        _ => prop_assert!(false, "nothing ends"),
                    }
                    for from in Side::BOTH {
                        prop_assert_eq!(read[from as usize], written[from as usize] + relay.held(from));
                        prop_assert!(relay.held(from) <= capacity);
                    }
                }
                if moves {
                    relay = Relay::import(capacity, relay.export());
                }
            }
        }
    }
}
