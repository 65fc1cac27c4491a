//! Order books: no number tells of a hole, so every lost packet makes them unknown, until a
//! snapshot in chunks and the entries queued since then make them whole.

use super::channel::Channel;
use super::queue::{Queue, Queued, Work};
use touchline_types::{Event, Instrument, OrderEvent, Validity};

/// One chunk of an order snapshot, without its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Of which instrument.
    pub instrument: Instrument,
    /// LastMsgSeqNumProcessed: the last packet inside it.
    pub through: u32,
    /// How many chunks make the snapshot.
    pub chunks: u32,
    /// When the instrument's last event inside it began.
    pub transact_ns: u64,
}

/// Snapshots of which some chunks have come, over both lines.
///
/// A loop sends one instrument after the other, so a few at a time are enough; the one begun
/// longest ago makes room.
#[derive(Debug)]
pub(super) struct Assemblies {
    assemblies: [Assembly; 4],
    begun: u64,
    open: usize,
}

#[derive(Debug)]
struct Assembly {
    chunk: Option<Chunk>,
    begun: u64,
    missing: u32,
    received: Vec<bool>,
    orders: Vec<OrderEvent>,
    spoilt: bool,
}

/// A snapshot has more chunks or orders than there is room for, or a chunk number outside it.
struct BeyondLimits;

/// Most chunks of one snapshot.
const CHUNKS_MAX: u32 = 16_384;

impl Assemblies {
    /// Room for a few snapshots of `orders_max` orders each, taken now.
    pub fn new(orders_max: usize) -> Assemblies {
        let assembly = || Assembly {
            chunk: None,
            begun: 0,
            missing: 0,
            received: Vec::with_capacity(CHUNKS_MAX as usize),
            orders: Vec::with_capacity(orders_max),
            spoilt: false,
        };
        Assemblies {
            assemblies: std::array::from_fn(|_| assembly()),
            begun: 0,
            open: 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for assembly in &mut self.assemblies {
            assembly.chunk = None;
        }
    }

    /// Makes a chunk with number `current` (from 1) the open one. `Ok(false)` if it came already.
    fn open(&mut self, chunk: Chunk, current: u32) -> Result<bool, BeyondLimits> {
        if chunk.chunks == 0 || chunk.chunks > CHUNKS_MAX || current == 0 || current > chunk.chunks
        {
            return Err(BeyondLimits);
        }
        self.open = self.find_or_begin(chunk);
        let assembly = &mut self.assemblies[self.open];
        let came = std::mem::replace(&mut assembly.received[current as usize - 1], true);
        assembly.missing -= u32::from(!came);
        Ok(!came)
    }

    /// Adds an order to the open chunk; what is beyond the limit spoils the snapshot.
    fn add(&mut self, order: OrderEvent) {
        let assembly = &mut self.assemblies[self.open];
        if assembly.orders.len() < assembly.orders.capacity() {
            assembly.orders.push(order);
        } else {
            assembly.spoilt = true;
        }
    }

    /// Closes the open chunk. Gives the snapshot if it is whole with it.
    fn close(&mut self) -> Result<Option<Chunk>, BeyondLimits> {
        let assembly = &mut self.assemblies[self.open];
        match (assembly.missing, assembly.spoilt) {
            (0, false) => Ok(assembly.chunk.take()),
            (0, true) => {
                assembly.chunk = None;
                Err(BeyondLimits)
            }
            _ => Ok(None),
        }
    }

    /// The orders of the snapshot closed last.
    fn orders(&self) -> &[OrderEvent] {
        &self.assemblies[self.open].orders
    }

    fn find_or_begin(&mut self, chunk: Chunk) -> usize {
        let same = self
            .assemblies
            .iter()
            .position(|assembly| assembly.chunk == Some(chunk));
        if let Some(index) = same {
            return index;
        }
        self.begun += 1;
        let index = self.place_for(chunk.instrument);
        let assembly = &mut self.assemblies[index];
        assembly.chunk = Some(chunk);
        assembly.begun = self.begun;
        assembly.missing = chunk.chunks;
        assembly.orders.clear();
        assembly.received.clear();
        assembly.received.resize(chunk.chunks as usize, false);
        assembly.spoilt = false;
        index
    }

    /// The place of an older snapshot of the same instrument, a free one, or the oldest.
    fn place_for(&self, instrument: Instrument) -> usize {
        let rank = |assembly: &Assembly| match assembly.chunk {
            Some(chunk) if chunk.instrument == instrument => (0, 0),
            None => (1, 0),
            Some(_) => (2, assembly.begun),
        };
        let places = self.assemblies.iter().enumerate();
        places
            .min_by_key(|(_, assembly)| rank(assembly))
            .map_or(0, |(index, _)| index)
    }
}

impl Channel {
    /// An order entry of the incremental feed: applied if the order book is known, else queued.
    #[inline]
    pub fn order_entry(&mut self, order: OrderEvent, transact_ns: u64, events: &mut Vec<Event>) {
        let packet = self.headline.sequence;
        self.orders_seen = true;
        let orders = &mut self.instruments.row_mut(order.instrument).orders;
        if orders.known {
            if packet > orders.through {
                events.push(Event::Order(order, Validity::Live));
            } else {
                self.counters.entries_contained += 1;
            }
            return;
        }
        self.queue_order(order, packet, transact_ns);
        if self.missing() == Validity::Natural {
            events.push(Event::Order(order, Validity::Natural));
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
        let queue = self.instruments.row(instrument).orders.queue;
        match self.order_queue.last_mut(queue) {
            Some(last) if last.packet == mark.packet && last.work == Work::Nothing => *last = mark,
            _ => self.push_orders(instrument, mark),
        }
    }

    /// The order book is unknown from packet `packet` on.
    pub fn orders_lost(&mut self, instrument: Instrument, packet: u32) {
        let orders = &mut self.instruments.row_mut(instrument).orders;
        self.order_queue.clear(&mut orders.queue);
        orders.known = false;
        orders.floor = packet;
    }

    /// Begins a chunk of an order snapshot. `false` if it is of no use or came already; else its
    /// orders follow by [`Channel::chunk_order`], and [`Channel::end_chunk`].
    pub fn begin_chunk(&mut self, chunk: Chunk, current: u32) -> bool {
        self.orders_seen = true;
        if !self.is_of_use(chunk.instrument, chunk.through) {
            return false;
        }
        self.assemblies
            .open(chunk, current)
            .unwrap_or_else(|BeyondLimits| {
                self.counters.order_snapshots_too_large += 1;
                false
            })
    }

    /// An order of the chunk begun.
    pub fn chunk_order(&mut self, order: OrderEvent) {
        self.assemblies.add(order);
    }

    /// Ends the chunk begun; uses the snapshot if it is whole and fits.
    pub fn end_chunk(&mut self, events: &mut Vec<Event>) {
        match self.assemblies.close() {
            Ok(Some(chunk)) if self.fits(chunk) => {
                self.counters.order_snapshots_used += 1;
                events.push(Event::RebuildOrders(chunk.instrument));
                events.extend(
                    self.assemblies
                        .orders()
                        .iter()
                        .copied()
                        .map(Event::RebuildOrder),
                );
                self.replay_orders(chunk.instrument, chunk.through, events);
            }
            Ok(Some(_)) => self.counters.order_snapshots_refused += 1,
            Ok(None) => {}
            Err(BeyondLimits) => self.counters.order_snapshots_too_large += 1,
        }
    }

    /// An instrument that a whole loop of order snapshots did not name has no orders.
    pub fn orders_absent(&mut self, instrument: Instrument, through: u32, events: &mut Vec<Event>) {
        let queue = self.instruments.row(instrument).orders.queue;
        let active = self
            .order_queue
            .iter(queue)
            .any(|entry| entry.packet == through);
        if self.is_of_use(instrument, through) && !active {
            self.counters.instruments_absent += 1;
            events.push(Event::RebuildOrders(instrument));
            self.replay_orders(instrument, through, events);
        }
    }

    /// Whether an order snapshot up to packet `through` can make the order book whole. Before the
    /// first incremental packet `lost` is as high as can be, and nothing is of use.
    fn is_of_use(&self, instrument: Instrument, through: u32) -> bool {
        let state = self.instruments.row(instrument).orders;
        !state.known && through >= self.lost.max(state.floor).max(self.known_from)
    }

    /// Whether a whole snapshot ends at an event that we have seen the end of: if the instrument
    /// had entries in the snapshot's last packet, the last of them must be of the same event.
    fn fits(&self, chunk: Chunk) -> bool {
        let queue = self.instruments.row(chunk.instrument).orders.queue;
        let same_packet = self
            .order_queue
            .iter(queue)
            .filter(|entry| entry.packet == chunk.through);
        same_packet
            .last()
            .is_none_or(|entry| entry.transact_ns == chunk.transact_ns)
    }

    /// Replays what is queued behind a snapshot whose orders have just been given as events.
    fn replay_orders(&mut self, instrument: Instrument, through: u32, events: &mut Vec<Event>) {
        let state = &mut self.instruments.row_mut(instrument).orders;
        for entry in self
            .order_queue
            .iter(state.queue)
            .filter(|entry| entry.packet > through)
        {
            if let Work::Order(order) = entry.work {
                events.push(Event::RebuildOrder(order));
            }
        }
        self.order_queue.clear(&mut state.queue);
        state.known = true;
        state.through = through;
        events.push(Event::OrdersRebuilt(instrument, Validity::Live));
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
        let orders = &mut self.instruments.row_mut(instrument).orders;
        if self.order_queue.push(&mut orders.queue, entry).is_ok() {
            return;
        }
        // All lists go, so that none is starved by the others; snapshots must contain what they had.
        self.counters.queue_full += 1;
        self.order_queue.clear_all();
        for row in self.instruments.rows_mut() {
            row.orders.queue = Queue::EMPTY;
            row.orders.floor = entry.packet;
        }
    }
}
