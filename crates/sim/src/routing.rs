//! Next hops: shortest paths by link cost, computed once.
//!
//! A node with one link needs no table. The others (the core) know a next hop for each core node, and each node with
//! one link is known by the core node it hangs on; so ten thousand pairs of hosts need no table at all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A link direction leaving a node: where it goes, and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) to: u32,
    pub(crate) direction: u32,
    pub(crate) cost: u32,
}

const NO_WAY: u32 = u32::MAX;

#[derive(Clone, Debug)]
enum Node {
    /// One link (or none): everything leaves by it.
    Leaf { direction: u32, neighbour: u32 },
    /// Next direction for each core node.
    Core { index: u32, next: Vec<u32> },
}

/// The next hops of a topology.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    nodes: Vec<Node>,
    /// For each leaf that hangs on a core node: that node's direction to it.
    last_direction: Vec<u32>,
}

impl Routes {
    /// Computes the routes; `exits[n]` are the directions that leave node `n`, ascending. Of equal paths the one that leaves by the
    /// lower direction number wins. Nodes that do not forward are never passed through.
    pub(crate) fn new(exits: &[Vec<Exit>], forwards: &[bool]) -> Self {
        let core: Vec<u32> = (0..exits.len()).filter(|n| exits[*n].len() > 1).map(|n| n as u32).collect();
        let mut index_of = vec![NO_WAY; exits.len()];
        for (index, node) in core.iter().enumerate() {
            index_of[*node as usize] = index as u32;
        }
        let mut last_direction = vec![NO_WAY; exits.len()];
        for exit in core.iter().flat_map(|node| &exits[*node as usize]) {
            last_direction[exit.to as usize] = exit.direction;
        }
        let nodes = exits
            .iter()
            .enumerate()
            .map(|(node, leaving)| match leaving.as_slice() {
                [] => Node::Leaf { direction: NO_WAY, neighbour: NO_WAY },
                [only] => Node::Leaf { direction: only.direction, neighbour: only.to },
                _ => {
                    let next = shortest_paths(node as u32, exits, forwards, &index_of, core.len());
                    Node::Core { index: index_of[node], next }
                }
            })
            .collect();
        Routes { nodes, last_direction }
    }

    /// The direction by which a packet for `to` leaves node `at`; `None` if there is no way.
    pub(crate) fn next(&self, at: u32, to: u32) -> Option<u32> {
        let direction = match &self.nodes[at as usize] {
            Node::Leaf { direction, .. } => *direction,
            Node::Core { index, next } => match &self.nodes[to as usize] {
                Node::Core { index: to_index, .. } => next[*to_index as usize],
                Node::Leaf { neighbour, .. } => match self.nodes.get(*neighbour as usize) {
                    Some(Node::Core { index: anchor, .. }) if anchor == index => {
                        self.last_direction[to as usize]
                    }
                    Some(Node::Core { index: anchor, .. }) => next[*anchor as usize],
                    _ => NO_WAY,
                },
            },
        };
        (direction != NO_WAY).then_some(direction)
    }

    /// Whether a packet from `from` reaches `to`.
    pub(crate) fn is_reachable(&self, from: u32, to: u32, exits: &[Vec<Exit>], forwards: &[bool]) -> bool {
        let mut at = from;
        for _ in 0..=exits.len() {
            if at == to {
                return true;
            }
            if at != from && !forwards[at as usize] {
                return false;
            }
            let Some(direction) = self.next(at, to) else { return false };
            let leaving = &exits[at as usize];
            let Ok(index) = leaving.binary_search_by_key(&direction, |exit| exit.direction) else {
                return false;
            };
            at = leaving[index].to;
        }
        false
    }
}

/// Dijkstra from `from`; for each core node the direction by which the path leaves `from`.
fn shortest_paths(
    from: u32,
    exits: &[Vec<Exit>],
    forwards: &[bool],
    index_of: &[u32],
    core_count: usize,
) -> Vec<u32> {
    let mut best = vec![u64::MAX; exits.len()];
    let mut first = vec![NO_WAY; core_count];
    let mut frontier = BinaryHeap::from([Reverse((0u64, NO_WAY, from))]);
    while let Some(Reverse((cost, leaving, node))) = frontier.pop() {
        if best[node as usize] <= cost {
            continue;
        }
        best[node as usize] = cost;
        if let Some(slot) = first.get_mut(index_of[node as usize] as usize) {
            *slot = leaving;
        }
        if node != from && !forwards[node as usize] {
            continue;
        }
        for exit in &exits[node as usize] {
            let leaving = if leaving == NO_WAY { exit.direction } else { leaving };
            frontier.push(Reverse((cost + u64::from(exit.cost), leaving, exit.to)));
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Duplex links; link `i` has directions `2i` (first to second node) and `2i + 1`.
    fn exits(nodes: usize, links: &[(u32, u32, u32)]) -> Vec<Vec<Exit>> {
        let mut exits = vec![Vec::new(); nodes];
        for (i, (a, b, cost)) in links.iter().enumerate() {
            let direction = 2 * i as u32;
            exits[*a as usize].push(Exit { to: *b, direction, cost: *cost });
            exits[*b as usize].push(Exit { to: *a, direction: direction + 1, cost: *cost });
        }
        exits
    }

    #[test]
    fn a_ring_is_crossed_by_the_cheaper_side() {
        // Hosts 0 and 5 hang on routers 1 and 3 of the ring 1-2-3-4.
        let exits = exits(6, &[(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 1, 5), (3, 5, 1)]);
        let routes = Routes::new(&exits, &vec![true; exits.len()]);
        assert_eq!(routes.next(1, 5), Some(2));
        assert_eq!(routes.next(3, 0), Some(5));
        assert_eq!(routes.next(3, 5), Some(10));
        assert!(routes.is_reachable(0, 5, &exits, &[true; 6]));
        assert!(routes.is_reachable(4, 2, &exits, &[true; 6]));
    }

    #[test]
    fn a_host_with_two_links_is_not_passed_through() {
        // 0 - 1 - 2 and 2 hangs on 3; node 1 is a host.
        let exits = exits(4, &[(0, 1, 1), (1, 2, 1), (2, 3, 1)]);
        let routes = Routes::new(&exits, &[false, false, true, false]);
        let forwards = [false, false, true, false];
        assert!(!routes.is_reachable(0, 3, &exits, &forwards));
        assert!(routes.is_reachable(1, 3, &exits, &forwards));
    }

    #[test]
    fn an_island_is_not_reachable() {
        let exits = exits(4, &[(0, 1, 1), (2, 3, 1)]);
        let routes = Routes::new(&exits, &vec![true; exits.len()]);
        assert!(routes.is_reachable(0, 1, &exits, &[true; 6]));
        assert!(!routes.is_reachable(0, 3, &exits, &[true; 6]));
    }
}
