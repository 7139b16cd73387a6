//! What a station remembers about each of its peers; a short sorted table.

use super::frame::StationId;
use super::rate::{RateControl, RateState};

/// Sequence numbers have twelve bits.
const SEQUENCE_MODULUS: u16 = 4096;

/// One peer.
#[derive(Clone, Copy, Debug)]
struct Peer {
    station: StationId,
    /// Of the next data frame to it.
    next_sequence: u16,
    /// Of the last data frame from it.
    last_received: Option<u16>,
    rate: RateState,
}

/// All peers, sorted by station. It grows when a station is met for the first time and never shrinks.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers(Vec<Peer>);

impl Peers {
    fn entry(&mut self, station: StationId, control: RateControl) -> &mut Peer {
        let index = self.0.binary_search_by_key(&station, |peer| peer.station).unwrap_or_else(|index| {
            let rate = RateState::new(control);
            self.0.insert(index, Peer { station, next_sequence: 0, last_received: None, rate });
            index
        });
        &mut self.0[index]
    }

    /// The sequence number of a new frame to `station`.
    pub(super) fn take_sequence(&mut self, station: StationId, control: RateControl) -> u16 {
        let peer = self.entry(station, control);
        let sequence = peer.next_sequence;
        peer.next_sequence = (sequence + 1) % SEQUENCE_MODULUS;
        sequence
    }

    /// Whether a frame from `station` is a repetition of the last one (IEEE 802.11-2020 §10.3.2.14).
    pub(super) fn is_duplicate(
        &mut self,
        station: StationId,
        sequence: u16,
        retry: bool,
        control: RateControl,
    ) -> bool {
        let peer = self.entry(station, control);
        let duplicate = retry && peer.last_received == Some(sequence);
        peer.last_received = Some(sequence);
        duplicate
    }

    /// The rate control towards `station`.
    pub(super) fn rate(&mut self, station: StationId, control: RateControl) -> &mut RateState {
        &mut self.entry(station, control).rate
    }

    /// Begins anew with every peer.
    pub(super) fn reset_rates(&mut self, control: RateControl) {
        for peer in &mut self.0 {
            peer.rate = RateState::new(control);
        }
    }
}
