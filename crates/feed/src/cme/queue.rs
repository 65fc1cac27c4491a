//! Queues of entries that wait for a snapshot: one list for each instrument, all in one pool.
//!
//! Price and order entries have a pool each, so that neither can starve the other.

use touchline_types::{LevelEvent, OrderAction, OrderEvent, Quantity, UpdateAction};

const NONE: u32 = u32::MAX;

/// Effect of a replayed entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Changes a level.
    Level(LevelEvent),
    /// Empties the instrument's price book (entry type J).
    Empty,
    /// Has a RptSeq and changes no book (trades, statistics, volume).
    Nothing,
    /// Changes an order.
    Order(OrderEvent),
}

impl Work {
    /// Whether the entry would set a level or an order to a negative quantity.
    #[inline]
    pub fn is_negative(&self) -> bool {
        match self {
            Work::Level(level) => is_negative_level(level),
            Work::Order(order) => is_negative_order(order),
            Work::Empty | Work::Nothing => false,
        }
    }
}

/// Whether an entry sets a level to a negative quantity; that of a deleted one has no effect.
#[inline]
pub fn is_negative_level(level: &LevelEvent) -> bool {
    level.quantity < Quantity::ZERO
        && matches!(
            level.action,
            UpdateAction::New | UpdateAction::Change | UpdateAction::Overlay
        )
}

/// Whether an entry would set an order to a negative quantity.
#[inline]
pub fn is_negative_order(order: &OrderEvent) -> bool {
    order.quantity < Quantity::ZERO && order.action != OrderAction::Delete
}

/// A queued entry.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// Effect.
    pub work: Work,
    /// Its RptSeq; 0 for entries that have none.
    pub rpt_seq: u32,
    /// Number of its packet.
    pub packet: u32,
    /// When its event began, nanoseconds since the Unix epoch.
    pub transact_ns: u64,
}

/// List of one instrument.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    /// A list without entries.
    pub const EMPTY: Queue = Queue {
        head: NONE,
        tail: NONE,
    };
}

#[derive(Clone, Copy, Debug)]
struct Node {
    entry: Queued,
    next: u32,
}

/// Pool of the entries of all lists.
#[derive(Debug)]
pub struct QueuePool {
    nodes: Vec<Node>,
    free: u32,
}

/// No free entry in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull;

impl QueuePool {
    /// Allocates memory for `entries_max` entries.
    pub fn new(entries_max: usize) -> QueuePool {
        QueuePool {
            nodes: Vec::with_capacity(entries_max),
            free: NONE,
        }
    }

    /// Appends an entry to a list.
    pub fn push(&mut self, queue: &mut Queue, entry: Queued) -> Result<(), QueueFull> {
        let index = self.take(Node { entry, next: NONE })?;
        if queue.tail == NONE {
            queue.head = index;
        } else {
            self.nodes[queue.tail as usize].next = index;
        }
        queue.tail = index;
        Ok(())
    }

    /// Empties a list.
    pub fn clear(&mut self, queue: &mut Queue) {
        if queue.tail != NONE {
            self.nodes[queue.tail as usize].next = self.free;
            self.free = queue.head;
            *queue = Queue::EMPTY;
        }
    }

    /// Empties the pool; the caller must set every list in it to [`Queue::EMPTY`].
    pub fn clear_all(&mut self) {
        self.nodes.clear();
        self.free = NONE;
    }

    /// The newest entry.
    pub fn last_mut(&mut self, queue: Queue) -> Option<&mut Queued> {
        self.nodes
            .get_mut(queue.tail as usize)
            .map(|node| &mut node.entry)
    }

    /// The entries of a list, oldest first.
    pub fn iter(&self, queue: Queue) -> impl Iterator<Item = &Queued> {
        let mut index = queue.head;
        std::iter::from_fn(move || {
            let node = (index != NONE).then(|| &self.nodes[index as usize])?;
            index = node.next;
            Some(&node.entry)
        })
    }

    fn take(&mut self, node: Node) -> Result<u32, QueueFull> {
        if self.free != NONE {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            return Ok(index);
        }
        if self.nodes.len() == self.nodes.capacity() {
            return Err(QueueFull);
        }
        self.nodes.push(node);
        Ok(self.nodes.len() as u32 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(rpt_seq: u32) -> Queued {
        Queued {
            work: Work::Nothing,
            rpt_seq,
            packet: 1,
            transact_ns: 0,
        }
    }

    #[test]
    fn lists_share_the_pool_and_keep_their_order() {
        let mut pool = QueuePool::new(4);
        let (mut a, mut b) = (Queue::EMPTY, Queue::EMPTY);
        pool.push(&mut a, entry(1)).unwrap();
        pool.push(&mut b, entry(10)).unwrap();
        pool.push(&mut a, entry(2)).unwrap();
        pool.push(&mut a, entry(3)).unwrap();
        assert_eq!(pool.push(&mut b, entry(11)), Err(QueueFull));
        let numbers =
            |pool: &QueuePool, queue| pool.iter(queue).map(|e| e.rpt_seq).collect::<Vec<_>>();
        assert_eq!(numbers(&pool, a), [1, 2, 3]);
        pool.clear(&mut a);
        assert!(numbers(&pool, a).is_empty());
        for number in 11..14 {
            pool.push(&mut b, entry(number)).unwrap();
        }
        assert_eq!(numbers(&pool, b), [10, 11, 12, 13]);
        assert_eq!(pool.push(&mut a, entry(4)), Err(QueueFull));
    }
}
