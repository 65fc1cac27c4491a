//! Order books: no number tells of a gap, so every lost packet makes them unknown, until a
//! snapshot in chunks and the entries queued since then make them whole.

use super::channel::Channel;
use super::queue::{Queue, Queued, Work};
use super::snapshot_assembler::{BeyondLimits, Chunk};
use crate::Output;
use touchline_types::{Event, Instrument, OrderEvent, Validity};

impl Channel {
    /// An order entry of the incremental feed: applied if the order book is known, else queued.
    #[inline]
    pub fn order_entry(&mut self, order: OrderEvent, transact_ns: u64, out: &mut Output<'_>) {
        let packet = self.packet();
        self.orders_seen = true;
        let orders = &mut self.rows.row_mut(order.instrument).orders;
        if orders.known {
            if packet > orders.snapshot_sequence {
                out.push(Event::Order(order, Validity::Live));
            } else {
                self.counters.entries_contained += 1;
            }
            return;
        }
        self.queue_order(order, packet, transact_ns);
        if self.missing() == Validity::Natural {
            out.push(Event::Order(order, Validity::Natural));
        }
    }

    /// Notes that a book entry came in while the order book is unknown: a snapshot that ends in
    /// the same packet must end at the same event.
    #[cold]
    pub fn mark_orders(&mut self, instrument: Instrument, entry: &Queued) {
        let mark = Queued {
            work: Work::Nothing,
            rpt_seq: 0,
            ..*entry
        };
        let queue = self.rows.row(instrument).orders.queue;
        match self.order_queue.last_mut(queue) {
            Some(last) if last.packet == mark.packet && last.work == Work::Nothing => *last = mark,
            _ => self.push_orders(instrument, mark),
        }
    }

    /// The order book is unknown from packet `packet` on.
    pub fn orders_lost(&mut self, instrument: Instrument, packet: u32) {
        let orders = &mut self.rows.row_mut(instrument).orders;
        self.order_queue.clear(&mut orders.queue);
        orders.known = false;
        orders.snapshot_sequence_min = packet;
    }

    /// Begins a chunk of an order snapshot. `false` if it is of no use or came already; else its
    /// orders follow by [`Channel::chunk_order`], and [`Channel::end_chunk`].
    pub fn begin_chunk(&mut self, chunk: Chunk, current: u32) -> bool {
        self.orders_seen = true;
        if !self.is_of_use(chunk.instrument, chunk.snapshot_sequence) {
            return false;
        }
        self.assembler
            .open(chunk, current)
            .unwrap_or_else(|BeyondLimits| {
                self.counters.order_snapshots_too_large += 1;
                false
            })
    }

    /// An order of the chunk begun.
    pub fn chunk_order(&mut self, order: OrderEvent) {
        self.assembler.add(order);
    }

    /// Ends the chunk begun; uses the snapshot if it is whole and fits.
    pub fn end_chunk(&mut self, out: &mut Output<'_>) {
        match self.assembler.close() {
            Ok(Some(chunk)) if self.fits(chunk) => {
                self.counters.order_snapshots_used += 1;
                out.push(Event::RebuildOrders(chunk.instrument));
                out.events.extend(
                    self.assembler
                        .orders()
                        .iter()
                        .copied()
                        .map(Event::RebuildOrder),
                );
                self.replay_orders(chunk.instrument, chunk.snapshot_sequence, out);
            }
            Ok(Some(_)) => self.counters.order_snapshots_refused += 1,
            Ok(None) => {}
            Err(BeyondLimits) => self.counters.order_snapshots_too_large += 1,
        }
    }

    /// An instrument that a complete cycle of order snapshots did not name has no orders.
    pub fn orders_absent(
        &mut self,
        instrument: Instrument,
        snapshot_sequence: u32,
        out: &mut Output<'_>,
    ) {
        let queue = self.rows.row(instrument).orders.queue;
        let active = self
            .order_queue
            .iter(queue)
            .any(|entry| entry.packet == snapshot_sequence);
        if self.is_of_use(instrument, snapshot_sequence) && !active {
            self.counters.instruments_absent += 1;
            out.push(Event::RebuildOrders(instrument));
            self.replay_orders(instrument, snapshot_sequence, out);
        }
    }

    /// Whether an order snapshot up to packet `snapshot_sequence` can make the order book whole. Before the
    /// first incremental packet `lost` is as high as can be, and nothing is of use.
    fn is_of_use(&self, instrument: Instrument, snapshot_sequence: u32) -> bool {
        let state = self.rows.row(instrument).orders;
        // mutant: feed: an order snapshot from before the loss is used
        !state.known
            && snapshot_sequence
                >= self
                    .lost
                    .max(state.snapshot_sequence_min)
                    .max(self.reset_at)
    }

    /// Whether a whole snapshot ends at an event that we have seen the end of: if the instrument
    /// had entries in the snapshot's last packet, the last of them must be of the same event.
    fn fits(&self, chunk: Chunk) -> bool {
        let queue = self.rows.row(chunk.instrument).orders.queue;
        let same_packet = self
            .order_queue
            .iter(queue)
            .filter(|entry| entry.packet == chunk.snapshot_sequence);
        // mutant: feed: TransactTime of an order snapshot is ignored
        same_packet
            .last()
            .is_none_or(|entry| entry.transact_ns == chunk.transact_ns)
    }

    /// Replays what is queued behind a snapshot whose orders have just been given as events.
    fn replay_orders(
        &mut self,
        instrument: Instrument,
        snapshot_sequence: u32,
        out: &mut Output<'_>,
    ) {
        let state = &mut self.rows.row_mut(instrument).orders;
        for entry in self
            .order_queue
            .iter(state.queue)
            .filter(|entry| entry.packet > snapshot_sequence)
        {
            if let Work::Order(order) = entry.work {
                // mutant: sessions: entries that wait are lost
                out.push(Event::RebuildOrder(order));
            }
        }
        self.order_queue.clear(&mut state.queue);
        state.known = true;
        state.snapshot_sequence = snapshot_sequence;
        out.push(Event::OrdersRebuilt(instrument, Validity::Live));
    }

    #[cold]
    fn queue_order(&mut self, order: OrderEvent, packet: u32, transact_ns: u64) {
        self.counters.entries_queued += 1;
        self.push_orders(
            order.instrument,
            Queued {
                work: Work::Order(order),
                rpt_seq: 0,
                packet,
                transact_ns,
            },
        );
    }

    fn push_orders(&mut self, instrument: Instrument, entry: Queued) {
        let orders = &mut self.rows.row_mut(instrument).orders;
        if self.order_queue.push(&mut orders.queue, entry).is_ok() {
            return;
        }
        // All lists go, so that none is starved by the others; snapshots must contain what they had.
        self.counters.queue_full += 1;
        self.order_queue.clear_all();
        for row in self.rows.iter_mut() {
            row.orders.queue = Queue::EMPTY;
            row.orders.snapshot_sequence_min = entry.packet;
        }
    }
}
