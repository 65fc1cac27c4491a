//! Orders of one instrument and their state. Order entries have no RptSeq, so any lost packet makes the orders unknown
//! until a snapshot that is new enough.

use super::Settings;
use super::message::{OrderChunk, OrderEntry};
use crate::picture::State;
use crate::reference::order_book::{Order, OrderBook};
use std::collections::BTreeMap;

/// Order book of one instrument.
#[derive(Clone, Debug)]
pub struct Orders {
    book: OrderBook,
    settings: Settings,
    known: bool,
    /// The last used snapshot contains all entries up to this packet.
    base: u32,
    /// Entries since the loss, each with its packet.
    queue: Vec<(u32, OrderEntry)>,
    /// TransactTime of the last entry, order or price, of each packet.
    transact_times: BTreeMap<u32, u64>,
    /// Parts of an incomplete snapshot.
    chunks: BTreeMap<u32, OrderChunk>,
}

impl Orders {
    /// An empty order book; `known` tells whether it is known to be empty.
    pub fn new(known: bool, settings: Settings) -> Self {
        Self {
            book: OrderBook::default(),
            settings,
            known,
            base: 0,
            queue: Vec::new(),
            transact_times: BTreeMap::new(),
            chunks: BTreeMap::new(),
        }
    }

    /// Orders, as far as known.
    pub fn book(&self) -> &OrderBook {
        &self.book
    }

    /// State of the orders.
    pub fn state(&self) -> State {
        match (self.known, self.settings.natural) {
            (true, _) => State::Live,
            (false, true) => State::Natural,
            (false, false) => State::Recovering,
        }
    }

    /// Processes one order entry of a packet.
    pub fn take(&mut self, packet: u32, entry: OrderEntry) {
        if self.known {
            if packet > self.base {
                self.apply(entry);
            }
            return;
        }
        self.queue.push((packet, entry));
        if self.settings.natural {
            self.apply(entry);
        }
    }

    /// Records an entry of the instrument, order or price, in a packet.
    pub fn note(&mut self, packet: u32, transact_time: u64) {
        self.transact_times.insert(packet, transact_time);
    }

    /// A packet was lost: all orders are unknown, including those restored since an earlier loss.
    pub fn lose(&mut self) {
        *self = Self {
            known: false,
            base: self.base,
            ..Self::new(true, self.settings)
        };
    }

    /// Channel reset: the book is known to be empty.
    pub fn reset(&mut self) {
        *self = Self::new(true, self.settings);
    }

    /// Processes a part of a snapshot, given the last lost packet.
    pub fn take_chunk(&mut self, chunk: &OrderChunk, last_lost: Option<u32>) {
        let identity = |c: &OrderChunk| (c.last_packet, c.chunks, c.transact_time);
        let too_old = is_too_old(chunk.last_packet, last_lost);
        if self.known || too_old || chunk.chunk == 0 || chunk.chunk > chunk.chunks {
            return;
        }
        self.chunks
            .retain(|_, held| identity(held) == identity(chunk));
        self.chunks.insert(chunk.chunk, chunk.clone());
        if self.chunks.len() as u64 == u64::from(chunk.chunks) {
            let chunks = std::mem::take(&mut self.chunks);
            let orders = chunks
                .into_values()
                .flat_map(|chunk| chunk.orders)
                .collect();
            self.take_snapshot(
                chunk.last_packet,
                Some(chunk.transact_time),
                orders,
                last_lost,
            );
        }
    }

    /// A complete cycle without this instrument: it has no orders as of the packet.
    pub fn take_absence(&mut self, last_packet: u32, last_lost: Option<u32>) {
        if !self.known {
            self.take_snapshot(last_packet, None, Vec::new(), last_lost);
        }
    }

    fn take_snapshot(
        &mut self,
        last_packet: u32,
        transact_time: Option<u64>,
        orders: Vec<OrderEntry>,
        last_lost: Option<u32>,
    ) {
        let too_old = is_too_old(last_packet, last_lost);
        // A snapshot may lie between two events of its last packet. Then it is unknown whether it contains the later
        // entries of that packet.
        let inside_a_packet = match self.transact_times.get(&last_packet) {
            Some(&held) => transact_time != Some(held),
            None => false,
        };
        if too_old || inside_a_packet {
            return;
        }
        let queue = std::mem::take(&mut self.queue);
        self.book.clear();
        orders.into_iter().for_each(|entry| self.apply(entry));
        queue
            .into_iter()
            .filter(|(packet, _)| *packet > last_packet)
            .for_each(|(_, entry)| self.apply(entry));
        self.known = true;
        self.base = last_packet;
    }

    fn apply(&mut self, entry: OrderEntry) {
        let OrderEntry {
            side,
            price,
            quantity,
            priority,
            ..
        } = entry;
        self.book.apply(
            entry.action,
            entry.id,
            Order {
                side,
                price,
                quantity,
                priority,
            },
        );
    }
}

/// Whether a snapshot does not contain the last lost packet.
fn is_too_old(last_packet: u32, last_lost: Option<u32>) -> bool {
    last_lost.is_some_and(|lost| last_packet < lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Side;
    use crate::reference::cme::Settings;

    fn entry(id: u64, action: u8) -> OrderEntry {
        OrderEntry {
            security_id: 1,
            side: Side::Bid,
            action,
            id,
            priority: Some(id),
            price: Some(100),
            quantity: Some(1),
        }
    }

    fn chunk(place: (u32, u32), last_packet: u32, transact_time: u64, ids: &[u64]) -> OrderChunk {
        let (chunk, chunks) = place;
        let orders = ids.iter().map(|&id| entry(id, 0)).collect();
        OrderChunk {
            security_id: 1,
            last_packet,
            reports: 1,
            chunks,
            chunk,
            transact_time,
            orders,
        }
    }

    /// Unknown orders after packet 5 was lost, with entries in packets 6 (two events) and 7.
    fn unknown() -> Orders {
        let mut orders = Orders::new(true, Settings::default());
        orders.lose();
        for (packet, transact_time, id) in [(6, 60, 10), (6, 61, 11), (7, 70, 12)] {
            orders.note(packet, transact_time);
            orders.take(packet, entry(id, 0));
        }
        orders
    }

    #[track_caller]
    fn check(chunks: &[OrderChunk], expected: Option<&[u64]>) {
        let mut orders = unknown();
        chunks
            .iter()
            .for_each(|chunk| orders.take_chunk(chunk, Some(5)));
        let ids: Vec<u64> = orders
            .book()
            .rows(Side::Bid)
            .iter()
            .map(|row| row.id)
            .collect();
        assert_eq!(
            (orders.state() == State::Live).then_some(&ids[..]),
            expected
        );
    }

    #[test]
    fn later_changes_are_applied_to_a_snapshot() {
        check(&[chunk((1, 1), 5, 50, &[1])], Some(&[1, 10, 11, 12]));
        check(
            &[chunk((1, 1), 6, 61, &[1, 10, 11])],
            Some(&[1, 10, 11, 12]),
        );
        check(&[chunk((1, 1), 9, 90, &[1])], Some(&[1]));
    }

    #[test]
    fn a_snapshot_that_is_too_old_or_from_inside_a_packet_is_not_used() {
        check(&[chunk((1, 1), 4, 40, &[1])], None);
        check(&[chunk((1, 1), 6, 60, &[1, 10])], None);
    }

    #[test]
    fn a_snapshot_is_complete_with_all_its_parts() {
        check(
            &[chunk((2, 2), 5, 50, &[2]), chunk((1, 2), 5, 50, &[1])],
            Some(&[1, 2, 10, 11, 12]),
        );
        check(
            &[chunk((1, 2), 5, 50, &[1]), chunk((2, 2), 6, 61, &[2])],
            None,
        );
        check(
            &[chunk((1, 2), 5, 50, &[1]), chunk((2, 3), 5, 50, &[2])],
            None,
        );
    }

    #[test]
    fn changes_contained_in_a_snapshot_are_not_applied_again() {
        let mut orders = unknown();
        orders.take_chunk(&chunk((1, 1), 9, 90, &[1]), Some(5));
        orders.take(9, entry(1, 2));
        assert_eq!(orders.book().rows(Side::Bid).len(), 1);
        orders.take(10, entry(1, 2));
        assert_eq!(orders.book().rows(Side::Bid).len(), 0);
    }
}
