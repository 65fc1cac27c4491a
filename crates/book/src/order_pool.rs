//! Pool of the orders of all books: the orders of an instrument are an unordered list.
//!
//! The path needs no ranks, so none are kept: inserting and removing an order touches only the order and its neighbours,
//! in a book of any size. A ranked book is sorted on request.

use touchline_types::{OrderRow, Price, Quantity, Side};

/// Index of a node in the pool; [`NONE`] is none.
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

/// An order with its links. Aligned, so that it is one cache line and never parts of two.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Node {
    order: Order,
    /// Neighbours in the list of the instrument.
    before: NodeIndex,
    behind: NodeIndex,
    /// Next node in the chain of the index; for a free node, the next free one.
    next: NodeIndex,
    /// Number of nodes taken before it.
    number: u64,
}

const _: () = assert!(size_of::<Node>() == 64, "a node is one cache line");

/// The pool of order nodes.
#[derive(Debug)]
pub struct OrderPool {
    nodes: Vec<Node>,
    free: NodeIndex,
    /// Number of nodes ever taken.
    taken: u64,
}

impl OrderPool {
    /// Allocates room for `orders_max` orders.
    pub fn new(orders_max: usize) -> OrderPool {
        OrderPool {
            nodes: Vec::with_capacity(orders_max),
            free: NONE,
            taken: 0,
        }
    }

    /// Reads the node that is taken next.
    pub fn warm(&self) {
        if let Some(node) = self.nodes.get(self.free as usize) {
            std::hint::black_box(node.next);
        }
    }

    /// Takes a node for the order, in no list yet; `None` if the pool is full.
    #[inline]
    pub fn take(&mut self, order: Order) -> Option<NodeIndex> {
        let node = Node {
            order,
            before: NONE,
            behind: NONE,
            next: NONE,
            number: self.taken,
        };
        if self.free != NONE {
            let index = self.free;
            let free = &mut self.nodes[index as usize];
            self.free = free.next;
            *free = node;
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

    /// Frees a node, which is in no list and in no chain of the index.
    #[inline]
    pub fn give(&mut self, index: NodeIndex) {
        self.nodes[index as usize].next = self.free;
        self.free = index;
    }

    /// Frees all nodes.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.free = NONE;
    }

    /// Nodes taken since the last clear, including freed ones.
    pub fn used(&self) -> usize {
        self.nodes.len()
    }

    /// Bytes of the nodes taken since the last clear.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node>()
    }

    /// Orders of all nodes in use and of nodes freed since the last clear.
    pub fn orders(&self) -> impl Iterator<Item = &Order> {
        self.nodes.iter().map(|node| &node.order)
    }

    /// The order of a node.
    #[inline]
    pub fn order(&self, index: NodeIndex) -> &Order {
        &self.nodes[index as usize].order
    }

    /// The order of a node; its id and instrument must not be changed.
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

    /// Next node in the chain of the index.
    #[inline]
    pub(crate) fn next(&self, index: NodeIndex) -> NodeIndex {
        self.nodes[index as usize].next
    }

    /// Sets the next node in the chain of the index.
    #[inline]
    pub(crate) fn set_next(&mut self, index: NodeIndex, next: NodeIndex) {
        self.nodes[index as usize].next = next;
    }

    /// Next node in the list.
    #[inline]
    pub fn behind(&self, index: NodeIndex) -> NodeIndex {
        self.nodes[index as usize].behind
    }

    /// Inserts a node at the head of a list.
    #[inline]
    pub fn link(&mut self, head: &mut NodeIndex, index: NodeIndex) {
        let behind = std::mem::replace(head, index);
        let node = &mut self.nodes[index as usize];
        (node.before, node.behind) = (NONE, behind);
        if behind != NONE {
            self.nodes[behind as usize].before = index;
        }
    }

    /// Removes a node from its list.
    #[inline]
    pub fn unlink(&mut self, head: &mut NodeIndex, index: NodeIndex) {
        let Node { before, behind, .. } = self.nodes[index as usize];
        debug_assert!(
            self.is_linked(*head, index),
            "the neighbours of an order in its list name it"
        );
        // mutant: book: removal of the first order removes the list
        match before {
            NONE => *head = behind,
            _ => self.nodes[before as usize].behind = behind,
        }
        if behind != NONE {
            self.nodes[behind as usize].before = before;
        }
    }

    /// Whether both neighbours of a node in the list that begins with `head` name it.
    pub(crate) fn is_linked(&self, head: NodeIndex, index: NodeIndex) -> bool {
        let Node { before, behind, .. } = self.nodes[index as usize];
        let is_named_before = match before {
            NONE => head == index,
            _ => head != index && self.nodes[before as usize].behind == index,
        };
        let is_named_behind = behind == NONE || self.nodes[behind as usize].before == index;
        is_named_before && is_named_behind
    }

    /// The nodes of a list.
    #[inline]
    pub fn list(&self, head: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        let some = |index| (index != NONE).then_some(index);
        std::iter::successors(some(head), move |index| some(self.behind(*index)))
    }
}
