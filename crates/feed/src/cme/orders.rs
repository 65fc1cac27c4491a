//! Order books: orders have no sequence number of their own, so each lost packet makes all order books unknown, until a
//! snapshot in chunks and the entries queued since then complete them.

use super::channel::Channel;
use super::queue::{QueueFull, Queued, Work, is_negative_order};
use super::snapshot_assembler::{BeyondLimits, Chunk};
use crate::Output;
use touchline_types::{Event, Instrument, OrderEvent, Validity};

impl Channel {
    /// An order entry of the incremental feed: applied if the order book is known, else queued.
    // Always inline, as the level entries.
    #[inline(always)]
    pub fn order_entry(&mut self, order: OrderEvent, transact_ns: u64, out: &mut Output<'_>) {
        let packet = self.progress.packet();
        self.rows.see_orders();
        if is_negative_order(&order) {
            return self.negative_order(order.instrument, packet, out);
        }
        let orders = &mut self.rows.row_mut(order.instrument).orders;
        if orders.known {
            if packet > orders.snapshot_sequence {
                out.push(Event::Order(order, Validity::Live));
            } else {
                self.counters.entries_contained += 1;
            }
            return;
        }
        self.queue_order(order, packet, transact_ns, out);
    }

    /// An order with a negative quantity: no book has one, so the order book is unknown, until a snapshot of a later packet.
    #[cold]
    fn negative_order(&mut self, instrument: Instrument, packet: u32, out: &mut Output<'_>) {
        self.counters.quantities_negative += 1;
        if packet <= self.rows.row(instrument).orders.snapshot_sequence {
            // A snapshot has it already.
            return;
        }
        self.orders_lost(instrument, packet);
        out.push(Event::OrdersLost(instrument, self.missing()));
    }

    /// Records that a book entry arrived while the order book is unknown: a snapshot that ends in the same packet must
    /// end at the same event.
    #[cold]
    pub fn mark_orders(&mut self, instrument: Instrument, entry: &Queued) {
        let mark = Queued {
            work: Work::Nothing,
            rpt_seq: 0,
            ..*entry
        };
        let queued = self.rows.queue_mark(instrument, mark);
        self.note_queued(queued);
    }

    /// The order book is unknown from packet `packet` on, of which no entry is queued: a snapshot that ends within that packet may lack
    /// its later events.
    pub fn orders_lost(&mut self, instrument: Instrument, packet: u32) {
        self.rows.forget_orders(instrument);
        let orders = &mut self.rows.row_mut(instrument).orders;
        orders.known = false;
        // mutant: feed: a snapshot may end within the packet whose orders are unknown
        orders.snapshot_sequence_min = packet.saturating_add(1);
    }

    /// Starts a chunk of an order snapshot. `false` if it is useless or a copy; otherwise its orders follow by
    /// [`Channel::chunk_order`], and [`Channel::end_chunk`].
    pub fn begin_chunk(&mut self, chunk: Chunk, current: u32) -> bool {
        if !self.settings.order_books {
            return false;
        }
        self.rows.see_orders();
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

    /// An order of the current chunk.
    pub fn chunk_order(&mut self, order: OrderEvent) {
        match is_negative_order(&order) {
            true => {
                self.counters.quantities_negative += 1;
                self.assembler.refuse();
            }
            false => self.assembler.add(order),
        }
    }

    /// Ends the current chunk; uses the snapshot if it is complete and consistent.
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

    /// An instrument that a complete cycle of order snapshots did not contain has no orders.
    pub fn orders_absent(
        &mut self,
        instrument: Instrument,
        snapshot_sequence: u32,
        out: &mut Output<'_>,
    ) {
        let active = self
            .rows
            .order_entries(instrument)
            .any(|entry| entry.packet == snapshot_sequence);
        if self.is_of_use(instrument, snapshot_sequence) && !active {
            self.counters.instruments_absent += 1;
            out.push(Event::RebuildOrders(instrument));
            self.replay_orders(instrument, snapshot_sequence, out);
        }
    }

    /// Whether an order snapshot up to packet `snapshot_sequence` can complete the order book.
    fn is_of_use(&self, instrument: Instrument, snapshot_sequence: u32) -> bool {
        let state = self.rows.row(instrument).orders;
        self.settings.order_books
            && !state.known
            && snapshot_sequence >= state.snapshot_sequence_min
            && self.epoch.reaches(snapshot_sequence)
    }

    /// Whether a complete snapshot ends at the end of a received event: if the instrument had entries in the snapshot's
    /// last packet, the last of them must be of the same event.
    fn fits(&self, chunk: Chunk) -> bool {
        let same_packet = self
            .rows
            .order_entries(chunk.instrument)
            .filter(|entry| entry.packet == chunk.snapshot_sequence);
        same_packet
            .last()
            .is_none_or(|entry| entry.transact_ns == chunk.transact_ns)
    }

    /// Replays the entries queued behind a snapshot whose orders were published as events.
    fn replay_orders(
        &mut self,
        instrument: Instrument,
        snapshot_sequence: u32,
        out: &mut Output<'_>,
    ) {
        for entry in self
            .rows
            .order_entries(instrument)
            .filter(|entry| entry.packet > snapshot_sequence)
        {
            if let Work::Order(order) = entry.work {
                out.push(Event::RebuildOrder(order));
            }
        }
        self.rows.forget_orders(instrument);
        let state = &mut self.rows.row_mut(instrument).orders;
        state.known = true;
        state.snapshot_sequence = snapshot_sequence;
        out.push(Event::OrdersRebuilt(instrument, Validity::Live));
    }

    /// Queues an order until the order book is known; with natural refresh it is published as well.
    #[cold]
    #[inline(never)]
    fn queue_order(
        &mut self,
        order: OrderEvent,
        packet: u32,
        transact_ns: u64,
        out: &mut Output<'_>,
    ) {
        self.counters.entries_queued += 1;
        let entry = Queued {
            work: Work::Order(order),
            rpt_seq: 0,
            packet,
            transact_ns,
        };
        let queued = self.rows.queue_order(order.instrument, entry);
        self.note_queued(queued);
        if self.missing() == Validity::Natural {
            out.push(Event::Order(order, Validity::Natural));
        }
    }

    fn note_queued(&mut self, queued: Result<(), QueueFull>) {
        self.counters.queue_full += u64::from(queued.is_err());
    }
}
