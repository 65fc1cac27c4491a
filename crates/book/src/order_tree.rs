//! Orders of one side in priority order: a treap whose nodes live in one pool.
//!
//! A treap is a binary search tree by rank (price, then the venue's priority, then id) and a heap
//! by a per-node weight that nobody outside chooses, so its expected height is logarithmic
//! whatever the venue sends. Inserting and removing touch a handful of nodes and allocate
//! nothing; one pool serves every instrument of a channel.

use std::hash::{BuildHasher, RandomState};
use touchline_types::{OrderRow, Price, Quantity, Side};

/// Index of a node in the pool; [`NONE`] is no node.
pub type NodeIndex = u32;
/// No node.
pub const NONE: NodeIndex = u32::MAX;

/// An order in a book.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// The venue's order id.
    pub order_id: u64,
    /// Rank within the price, lowest first.
    pub priority: u64,
    /// Price.
    pub price: Price,
    /// Visible quantity.
    pub quantity: Quantity,
    /// Row of the instrument.
    pub instrument: u32,
    /// Side.
    pub side: Side,
}

impl Order {
    /// Better orders have a lower rank.
    #[inline]
    fn rank(&self) -> (i64, u64, u64) {
        let price = match self.side {
            // `!p` reverses the order of every i64 without overflow.
            Side::Bid => !self.price.0,
            Side::Ask => self.price.0,
        };
        // mutant: book: orders of a price stand as they came
        (price, self.priority, self.order_id)
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    order: Order,
    weight: u32,
    left: NodeIndex,
    right: NodeIndex,
    /// The next of the same chain of the index.
    next: NodeIndex,
    /// How many nodes were taken before it.
    number: u64,
}

const _: () = assert!(size_of::<Node>() == 64, "a node fits into one cache line");

/// Where the weights start: another place in every process, so that nobody can send orders in the
/// one sequence that makes the tree a list. What the tree holds does not depend on it.
fn seed() -> u32 {
    // Xorshift stays at zero.
    (RandomState::new().hash_one(0) as u32).max(1)
}

/// The pool of order nodes.
#[derive(Debug)]
pub struct OrderPool {
    nodes: Vec<Node>,
    free: NodeIndex,
    weights: u32,
    /// Nodes that were ever taken.
    taken: u64,
}

impl OrderPool {
    /// Room for `orders_max` orders, taken now.
    pub fn new(orders_max: usize) -> OrderPool {
        OrderPool {
            nodes: Vec::with_capacity(orders_max),
            free: NONE,
            weights: seed(),
            taken: 0,
        }
    }

    /// Takes a node for the order; `None` when the pool is full.
    pub fn take(&mut self, order: Order) -> Option<NodeIndex> {
        let node = Node {
            order,
            weight: self.next_weight(),
            left: NONE,
            right: NONE,
            next: NONE,
            number: self.taken,
        };
        if self.free != NONE {
            let index = self.free;
            self.free = self.nodes[index as usize].left;
            self.nodes[index as usize] = node;
            self.taken += 1;
            return Some(index);
        }
        if self.nodes.len() == self.nodes.capacity() {
            return None;
        }
        self.nodes.push(node);
        self.taken += 1;
        Some(self.nodes.len() as NodeIndex - 1)
    }

    /// Gives a node back; it must be in no tree.
    pub fn give(&mut self, index: NodeIndex) {
        self.nodes[index as usize].left = self.free;
        self.free = index;
    }

    /// Gives all nodes back.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.free = NONE;
    }

    /// Nodes that were taken since all were given back, also those that were given back alone.
    pub fn used(&self) -> usize {
        self.nodes.len()
    }

    /// The orders of all nodes in use, and those that nodes held which were given back alone.
    pub fn orders(&self) -> impl Iterator<Item = &Order> {
        self.nodes.iter().map(|node| &node.order)
    }

    /// The order of a node.
    #[inline]
    pub fn order(&self, index: NodeIndex) -> &Order {
        &self.nodes[index as usize].order
    }

    /// The order of a node that is in no tree, or whose rank the caller leaves alone.
    #[inline]
    pub fn order_mut(&mut self, index: NodeIndex) -> &mut Order {
        &mut self.nodes[index as usize].order
    }

    /// The row of a node's order.
    #[inline]
    pub fn row(&self, index: NodeIndex) -> OrderRow {
        OrderRow {
            index,
            number: self.nodes[index as usize].number,
        }
    }

    /// The node behind this one in its chain of the index.
    #[inline]
    pub(crate) fn next(&self, index: NodeIndex) -> NodeIndex {
        self.nodes[index as usize].next
    }

    /// Sets the node behind this one in its chain of the index.
    #[inline]
    pub(crate) fn set_next(&mut self, index: NodeIndex, next: NodeIndex) {
        self.nodes[index as usize].next = next;
    }

    /// Puts a node into the tree and returns the new root.
    pub fn insert(&mut self, root: NodeIndex, node: NodeIndex) -> NodeIndex {
        if root == NONE {
            return node;
        }
        if self.nodes[node as usize].weight > self.nodes[root as usize].weight {
            let (left, right) = self.split(root, node);
            self.nodes[node as usize].left = left;
            self.nodes[node as usize].right = right;
            return node;
        }
        if self.order(node).rank() < self.order(root).rank() {
            let left = self.insert(self.nodes[root as usize].left, node);
            self.nodes[root as usize].left = left;
        } else {
            let right = self.insert(self.nodes[root as usize].right, node);
            self.nodes[root as usize].right = right;
        }
        root
    }

    /// Takes a node out of the tree and returns the new root. The node is free-standing then.
    pub fn remove(&mut self, root: NodeIndex, node: NodeIndex) -> NodeIndex {
        if root == NONE {
            return NONE;
        }
        let Node { left, right, .. } = self.nodes[root as usize];
        if root == node {
            self.nodes[node as usize].left = NONE;
            self.nodes[node as usize].right = NONE;
            return self.merge(left, right);
        }
        if self.order(node).rank() < self.order(root).rank() {
            self.nodes[root as usize].left = self.remove(left, node);
        } else {
            self.nodes[root as usize].right = self.remove(right, node);
        }
        root
    }

    /// The best order of a tree.
    pub fn best(&self, root: NodeIndex) -> Option<&Order> {
        let mut index = (root != NONE).then_some(root)?;
        while self.nodes[index as usize].left != NONE {
            index = self.nodes[index as usize].left;
        }
        Some(self.order(index))
    }

    /// Visits the orders of a tree, best first.
    pub fn visit(&self, root: NodeIndex, visitor: &mut impl FnMut(NodeIndex, &Order)) {
        if root != NONE {
            let Node {
                order, left, right, ..
            } = &self.nodes[root as usize];
            self.visit(*left, visitor);
            visitor(root, order);
            self.visit(*right, visitor);
        }
    }

    /// Splits a tree into what ranks before the node and what ranks behind it.
    fn split(&mut self, root: NodeIndex, node: NodeIndex) -> (NodeIndex, NodeIndex) {
        if root == NONE {
            return (NONE, NONE);
        }
        if self.order(root).rank() < self.order(node).rank() {
            let (left, right) = self.split(self.nodes[root as usize].right, node);
            self.nodes[root as usize].right = left;
            (root, right)
        } else {
            let (left, right) = self.split(self.nodes[root as usize].left, node);
            self.nodes[root as usize].left = right;
            (left, root)
        }
    }

    /// Merges two trees; everything in `left` ranks before everything in `right`.
    fn merge(&mut self, left: NodeIndex, right: NodeIndex) -> NodeIndex {
        if left == NONE || right == NONE {
            return left.min(right);
        }
        if self.nodes[left as usize].weight > self.nodes[right as usize].weight {
            let merged = self.merge(self.nodes[left as usize].right, right);
            self.nodes[left as usize].right = merged;
            left
        } else {
            let merged = self.merge(left, self.nodes[right as usize].left);
            self.nodes[right as usize].left = merged;
            right
        }
    }

    /// Xorshift: good enough to keep the tree flat.
    fn next_weight(&mut self) -> u32 {
        self.weights ^= self.weights << 13;
        self.weights ^= self.weights >> 17;
        self.weights ^= self.weights << 5;
        self.weights
    }
}
