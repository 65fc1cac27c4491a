//! Per-instrument state of a channel: progress of its books, and queued entries that wait for a snapshot. Each list of
//! a pool belongs to exactly one row, and exists only while a book has a gap.

use super::cycles::NamedBy;
use super::queue::{Queue, QueueFull, QueuePool, Queued, Work};
use touchline_types::Instrument;

/// Progress of an instrument's price book.
#[derive(Clone, Copy, Debug)]
pub struct PriceState {
    /// RptSeq of the last entry that was applied or queued; 0 if none.
    pub last_rpt: u32,
    /// Newest packet with data of this instrument: an entry, or a snapshot up to it.
    pub last_seen: u32,
    /// Last packet in the snapshot used last: the book contains entries of earlier packets.
    pub snapshot_sequence: u32,
    /// Newest packet up to which the book is confirmed.
    pub confirmed: u32,
    /// Whether the book has a gap; entries are queued then.
    pub gap: bool,
}

/// Progress of an instrument's order book.
#[derive(Clone, Copy, Debug)]
pub struct OrderState {
    /// Whether every order is known; entries are queued otherwise.
    pub known: bool,
    /// Entries of packets up to this one are in the snapshot used last.
    pub snapshot_sequence: u32,
    /// A useful snapshot must reach at least this packet: the one behind those whose entries were dropped, because a snapshot may end
    /// between two events of a packet.
    pub snapshot_sequence_min: u32,
}

/// One instrument. The fields that every entry needs come first.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Row {
    /// Price book.
    pub price: PriceState,
    /// Order book.
    pub orders: OrderState,
    /// Whether a definition states the depth of the book.
    pub is_defined: bool,
    /// The last cycles that contained it.
    pub named_by: NamedBy,
    /// Queued price entries.
    price_queue: Queue,
    /// Queued order entries, with marks for price entries.
    order_queue: Queue,
}

impl PriceState {
    /// An empty book, complete as of packet `packet`.
    pub fn known_from(packet: u32) -> PriceState {
        PriceState {
            last_rpt: 0,
            last_seen: packet,
            snapshot_sequence: 0,
            confirmed: packet,
            gap: false,
        }
    }
}

impl PriceState {
    /// Whether an entry is the next one of a complete book.
    #[inline]
    pub fn is_next(&self, rpt_seq: u32, packet: u32) -> bool {
        // mutant: feed: RptSeq is not checked
        rpt_seq == self.last_rpt.wrapping_add(1) && !self.gap && packet >= self.snapshot_sequence
    }

    /// Processes the number of the next entry. `true` if it confirms the book after packet `lost`.
    #[inline]
    pub fn take(&mut self, rpt_seq: u32, packet: u32, lost: u32) -> bool {
        let gapped = self.confirmed < lost;
        self.last_rpt = rpt_seq;
        self.last_seen = self.last_seen.max(packet);
        self.confirmed = self.confirmed.max(packet);
        gapped
    }
}

impl OrderState {
    /// An empty book, with all orders known or unknown.
    pub fn new(known: bool) -> OrderState {
        OrderState {
            known,
            snapshot_sequence: 0,
            snapshot_sequence_min: 0,
        }
    }
}

/// Rows of a channel by [`Instrument`], one for each entry of the instrument table.
#[derive(Debug)]
pub struct Rows {
    rows: Vec<Row>,
    prices: QueuePool,
    orders: QueuePool,
    orders_seen: bool,
}

impl Rows {
    /// Allocates memory for `instruments_max` rows, and for `entries_max` queued entries of each kind.
    pub fn new(instruments_max: usize, entries_max: usize) -> Rows {
        Rows {
            rows: Vec::with_capacity(instruments_max),
            prices: QueuePool::new(entries_max),
            orders: QueuePool::new(entries_max),
            orders_seen: false,
        }
    }

    /// Adds the row of the instrument that was added to the table last.
    pub fn add(&mut self, instrument: Instrument, price: PriceState, orders: OrderState) {
        assert_eq!(
            self.len(),
            instrument.index(),
            "an instrument has one row, in the order of its index"
        );
        self.rows.push(Row {
            price,
            orders,
            is_defined: false,
            named_by: NamedBy::default(),
            price_queue: Queue::EMPTY,
            order_queue: Queue::EMPTY,
        });
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// One instrument.
    #[inline]
    pub fn row(&self, instrument: Instrument) -> &Row {
        &self.rows[instrument.index()]
    }

    /// One instrument.
    #[inline]
    pub fn row_mut(&mut self, instrument: Instrument) -> &mut Row {
        &mut self.rows[instrument.index()]
    }

    /// All rows, with their instruments.
    pub fn iter(&self) -> impl Iterator<Item = (Instrument, &Row)> {
        let numbered = self.rows.iter().enumerate();
        numbered.map(|(index, row)| (Instrument(index as u32), row))
    }

    /// All rows.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut()
    }

    /// Records that the channel publishes orders.
    #[inline]
    pub fn see_orders(&mut self) {
        self.orders_seen = true;
    }

    /// Whether the channel has published an order.
    #[inline]
    pub fn orders_seen(&self) -> bool {
        self.orders_seen
    }

    /// Queued price entries of an instrument, oldest first.
    pub fn price_entries(&self, instrument: Instrument) -> impl Iterator<Item = &Queued> {
        self.prices.iter(self.row(instrument).price_queue)
    }

    /// Queued order entries and marks of an instrument, oldest first.
    pub fn order_entries(&self, instrument: Instrument) -> impl Iterator<Item = &Queued> {
        self.orders.iter(self.row(instrument).order_queue)
    }

    /// Queues a price entry. If the pool is full, all lists are dropped, so that no list starves another: only
    /// snapshots can restore their contents, and later ones will.
    pub fn queue_price(&mut self, instrument: Instrument, entry: Queued) -> Result<(), QueueFull> {
        let row = &mut self.rows[instrument.index()];
        debug_assert!(row.price.gap, "entries wait for a book with a gap only");
        let pushed = self.prices.push(&mut row.price_queue, entry);
        if pushed.is_err() {
            self.drop_prices();
        }
        pushed
    }

    /// Queues an order entry or a mark. If the pool is full, all lists are dropped; later snapshots must contain their
    /// entries.
    pub fn queue_order(&mut self, instrument: Instrument, entry: Queued) -> Result<(), QueueFull> {
        let row = &mut self.rows[instrument.index()];
        debug_assert!(!row.orders.known, "entries wait for unknown orders only");
        let pushed = self.orders.push(&mut row.order_queue, entry);
        if pushed.is_err() {
            self.drop_orders();
            for row in &mut self.rows {
                // mutant: feed: a snapshot may end within the packet whose orders the queue dropped
                row.orders.snapshot_sequence_min = entry.packet.saturating_add(1);
            }
        }
        pushed
    }

    /// Queues a mark: a price entry arrived while the orders are unknown. It replaces another mark of the same packet.
    pub fn queue_mark(&mut self, instrument: Instrument, mark: Queued) -> Result<(), QueueFull> {
        debug_assert_eq!(mark.work, Work::Nothing, "a mark has no work");
        let queue = self.row(instrument).order_queue;
        match self.orders.last_mut(queue) {
            Some(last) if last.packet == mark.packet && last.work == Work::Nothing => {
                *last = mark;
                Ok(())
            }
            _ => self.queue_order(instrument, mark),
        }
    }

    /// Drops the queued price entries of an instrument.
    pub fn forget_prices(&mut self, instrument: Instrument) {
        self.prices
            .clear(&mut self.rows[instrument.index()].price_queue);
    }

    /// Drops the queued order entries of an instrument.
    pub fn forget_orders(&mut self, instrument: Instrument) {
        self.orders
            .clear(&mut self.rows[instrument.index()].order_queue);
    }

    /// Drops all queued price entries.
    pub fn drop_prices(&mut self) {
        self.prices.clear_all();
        for row in &mut self.rows {
            row.price_queue = Queue::EMPTY;
        }
    }

    /// Drops all queued order entries.
    pub fn drop_orders(&mut self) {
        self.orders.clear_all();
        for row in &mut self.rows {
            row.order_queue = Queue::EMPTY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(entries_max: usize) -> Rows {
        let mut rows = Rows::new(2, entries_max);
        for index in 0..2 {
            let mut price = PriceState::known_from(0);
            price.gap = true;
            rows.add(Instrument(index), price, OrderState::new(false));
        }
        rows
    }

    fn entry(packet: u32) -> Queued {
        Queued {
            work: Work::Nothing,
            rpt_seq: packet,
            packet,
            transact_ns: u64::from(packet),
        }
    }

    fn packets<'a>(entries: impl Iterator<Item = &'a Queued>) -> Vec<u32> {
        entries.map(|entry| entry.packet).collect()
    }

    #[test]
    fn a_full_pool_drops_the_lists_of_all_instruments() {
        let mut rows = rows(2);
        let (one, two) = (Instrument(0), Instrument(1));
        rows.queue_price(one, entry(1)).unwrap();
        rows.queue_price(two, entry(2)).unwrap();
        rows.queue_order(one, entry(3)).unwrap();
        rows.queue_order(one, entry(4)).unwrap();
        assert_eq!(packets(rows.price_entries(two)), [2]);
        rows.queue_price(one, entry(5)).unwrap_err();
        assert!(packets(rows.price_entries(one)).is_empty());
        assert!(packets(rows.price_entries(two)).is_empty());
        assert_eq!(
            packets(rows.order_entries(one)),
            [3, 4],
            "a pool of its own"
        );
        rows.queue_order(two, entry(6)).unwrap_err();
        assert!(packets(rows.order_entries(one)).is_empty());
        let least = rows.iter().map(|(_, row)| row.orders.snapshot_sequence_min);
        assert_eq!(least.collect::<Vec<_>>(), [7, 7], "a later packet");
        rows.queue_price(two, entry(7)).unwrap();
        rows.forget_prices(two);
        assert!(packets(rows.price_entries(two)).is_empty());
    }

    #[test]
    fn of_several_marks_of_one_packet_the_last_counts() {
        let mut rows = rows(4);
        let one = Instrument(0);
        for packet in [1, 1, 2] {
            rows.queue_mark(one, entry(packet)).unwrap();
        }
        assert_eq!(packets(rows.order_entries(one)), [1, 2]);
        rows.forget_orders(one);
        assert!(packets(rows.order_entries(one)).is_empty());
    }

    #[test]
    #[should_panic(expected = "entries wait for a book with a gap only")]
    fn a_complete_book_has_no_queue() {
        let mut rows = rows(4);
        rows.row_mut(Instrument(0)).price.gap = false;
        let _ = rows.queue_price(Instrument(0), entry(1));
    }
}
