//! The event queue: one pending event per component, ties broken by insertion.
//!
//! An entry is one 128-bit number, time above insertion number above component, so that a comparison is one
//! instruction pair and the order of equal times is the order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use segue_proto::time::Instant;

const COMPONENT_BITS: u32 = 24;
const INSERTION_BITS: u32 = 40;

/// Names what an event belongs to: a link direction, a connection's timer, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component(pub u32);

impl Component {
    /// How many components a run may have.
    pub const MAX: u32 = 1 << COMPONENT_BITS;
}

/// The pending events of a run.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<u128>>,
    /// Events inserted so far; 2^40 of them last for weeks.
    insertions: u64,
}

impl EventQueue {
    fn key(&mut self, at: Instant, component: Component) -> Reverse<u128> {
        self.insertions += 1;
        debug_assert!(self.insertions < 1 << INSERTION_BITS);
        let low = (self.insertions << COMPONENT_BITS) | u64::from(component.0);
        Reverse((u128::from(at.as_nanos()) << 64) | u128::from(low))
    }

    /// Adds an event.
    pub fn push(&mut self, at: Instant, component: Component) {
        let key = self.key(at, component);
        self.heap.push(key);
    }

    /// Adds an event later than the next one, which comes before all others of its time, whenever those were added.
    pub fn push_first(&mut self, at: Instant, component: Component) {
        self.insertions += 1;
        self.heap.push(Reverse((u128::from(at.as_nanos()) << 64) | u128::from(component.0)));
    }

    /// The next event, left in place until [`EventQueue::reschedule`] or [`EventQueue::pop`].
    pub fn peek(&self) -> Option<(Instant, Component)> {
        let Reverse(key) = self.heap.peek()?;
        // The low word holds insertion number and component, the high word the time.
        let component = (*key as u64 & u64::from(Component::MAX - 1)) as u32;
        Some((Instant::from_nanos((key >> 64) as u64), Component(component)))
    }

    /// Moves the next event to `at`: cheaper than removing and adding it.
    pub fn reschedule(&mut self, at: Instant, component: Component) {
        let key = self.key(at, component);
        if let Some(mut top) = self.heap.peek_mut() {
            *top = key;
        } else {
            self.heap.push(key);
        }
    }

    /// Removes the next event.
    pub fn pop(&mut self) {
        if let Some(top) = self.heap.peek_mut() {
            PeekMut::pop(top);
        }
    }

    /// Events inserted so far.
    pub fn insertions(&self) -> u64 {
        self.insertions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_come_in_the_order_of_insertion() {
        let mut queue = EventQueue::default();
        for (at, component) in [(5, 3), (5, 1), (2, 9), (5, 2)] {
            queue.push(Instant::from_nanos(at), Component(component));
        }
        let mut order = Vec::new();
        while let Some((_, component)) = queue.peek() {
            order.push(component.0);
            queue.pop();
        }
        assert_eq!(order, [9, 3, 1, 2]);
    }

    #[test]
    fn a_rescheduled_event_takes_its_new_place() {
        let mut queue = EventQueue::default();
        queue.push(Instant::from_nanos(1), Component(1));
        queue.push(Instant::from_nanos(2), Component(2));
        queue.reschedule(Instant::from_nanos(3), Component(1));
        assert_eq!(queue.peek(), Some((Instant::from_nanos(2), Component(2))));
    }
}
