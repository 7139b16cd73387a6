//! Sequence numbers modulo 2^32 (RFC 9293 §3.4) and their unwrapping to 64-bit stream positions.

use std::fmt;

/// A sequence number on the wire.
///
/// It has no order: 2^32 values lie on a circle. [`SeqNumber::unwrap_near`] gives the position on the line of
/// 64-bit stream positions that is nearest to a known one; all comparisons are made there.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// The number `positions` further along the circle.
    pub const fn add(self, positions: u64) -> Self {
        // Truncation is the arithmetic modulo 2^32 that RFC 9293 §3.4 asks for.
        SeqNumber(self.0.wrapping_add(positions as u32))
    }

    /// The signed distance from `origin` to `self`, in `-2^31 .. 2^31`.
    pub const fn distance_from(self, origin: SeqNumber) -> i32 {
        self.0.wrapping_sub(origin.0) as i32
    }

    /// The 64-bit position of `self` nearest to `near`, where `origin` is the number of position 0.
    /// `None` if that would lie before position 0.
    pub const fn unwrap_near(self, near: u64, origin: SeqNumber) -> Option<u64> {
        let offset = self.distance_from(origin.add(near)) as i64;
        near.checked_add_signed(offset)
    }
}

impl fmt::Debug for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_before_the_start_of_the_stream_has_no_position() {
        assert_eq!(SeqNumber(99).unwrap_near(0, SeqNumber(100)), None);
        assert_eq!(SeqNumber(100).unwrap_near(0, SeqNumber(100)), Some(0));
    }

    proptest! {
        #[test]
        fn any_position_within_half_the_circle_is_found_again(
            origin: u32, near in 0u64..1 << 40, offset in -(1i64 << 31)..1 << 31,
        ) {
            let position = near.checked_add_signed(offset);
            prop_assume!(position.is_some());
            let position = position.unwrap();
            let on_the_wire = SeqNumber(origin).add(position);
            prop_assert_eq!(on_the_wire.unwrap_near(near, SeqNumber(origin)), Some(position));
        }
    }
}
