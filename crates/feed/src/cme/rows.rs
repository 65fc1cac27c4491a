//! One row for each instrument of a channel: how far its books have come, and the entries that wait for a snapshot of
//! them. Each list of a pool hangs in exactly one row, and only where a book misses something.

use super::cycles::NamedBy;
use super::queue::{Queue, QueueFull, QueuePool, Queued, Work};
use touchline_types::Instrument;

/// How far an instrument's price book has come.
#[derive(Clone, Copy, Debug)]
pub struct PriceState {
    /// RptSeq of the last entry taken in, into the queue too; 0 if none.
    pub last_rpt: u32,
    /// Newest packet that we have of this instrument: by an entry or inside a snapshot.
    pub last_seen: u32,
    /// The last packet inside the snapshot used last: entries of packets before it are in the book.
    pub snapshot_sequence: u32,
    /// Newest packet up to which the book is confirmed.
    pub confirmed: u32,
    /// Whether something is known to be missing; entries are queued then.
    pub gap: bool,
}

/// How far an instrument's order book has come.
#[derive(Clone, Copy, Debug)]
pub struct OrderState {
    /// Whether every order is known; entries are queued otherwise.
    pub known: bool,
    /// Entries of packets up to here are inside the snapshot that was used last.
    pub snapshot_sequence: u32,
    /// A snapshot must reach at least this packet to be of use.
    pub snapshot_sequence_min: u32,
}

/// One instrument. What every entry needs stands first.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Row {
    /// Price book.
    pub price: PriceState,
    /// Order book.
    pub orders: OrderState,
    /// Whether a definition says how many levels the book has.
    pub is_defined: bool,
    /// The cycles that named it last.
    pub named_by: NamedBy,
    /// Price entries that wait.
    price_queue: Queue,
    /// Order entries that wait, with marks for price entries.
    order_queue: Queue,
}

impl PriceState {
    /// An empty book that is complete as of packet `packet`.
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
    /// Whether an entry is the next one of a whole book.
    #[inline]
    pub fn is_next(&self, rpt_seq: u32, packet: u32) -> bool {
        // mutant: feed: RptSeq is not checked
        // mutant: sessions: RptSeq is not checked
        rpt_seq == self.last_rpt.wrapping_add(1) && !self.gap && packet >= self.snapshot_sequence
    }

    /// Takes the next entry's number. `true` if this confirms the book after packet `lost`.
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
    /// An empty book, of which every order is known or not.
    pub fn new(known: bool) -> OrderState {
        OrderState {
            known,
            snapshot_sequence: 0,
            snapshot_sequence_min: 0,
        }
    }
}

/// Rows of a channel by [`Instrument`], one for each of the table of instruments.
#[derive(Debug)]
pub struct Rows {
    rows: Vec<Row>,
    prices: QueuePool,
    orders: QueuePool,
    orders_seen: bool,
}

impl Rows {
    /// Room for `instruments_max`, and for `entries_max` entries of each kind that wait, taken now.
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
        assert_eq!(self.len(), instrument.index(), "one-row-an-instrument");
        self.rows.push(Row {
            price,
            orders,
            is_defined: false,
            named_by: NamedBy::default(),
            price_queue: Queue::EMPTY,
            order_queue: Queue::EMPTY,
        });
    }

    /// How many there are.
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

    /// All of them, with their instruments.
    pub fn iter(&self) -> impl Iterator<Item = (Instrument, &Row)> {
        let numbered = self.rows.iter().enumerate();
        numbered.map(|(index, row)| (Instrument(index as u32), row))
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut()
    }

    /// The channel shows an order.
    #[inline]
    pub fn see_orders(&mut self) {
        self.orders_seen = true;
    }

    /// Whether the channel has shown any order yet.
    #[inline]
    pub fn orders_seen(&self) -> bool {
        self.orders_seen
    }

    /// Price entries of an instrument that wait, oldest first.
    pub fn price_entries(&self, instrument: Instrument) -> impl Iterator<Item = &Queued> {
        self.prices.iter(self.row(instrument).price_queue)
    }

    /// Order entries and marks of an instrument that wait, oldest first.
    pub fn order_entries(&self, instrument: Instrument) -> impl Iterator<Item = &Queued> {
        self.orders.iter(self.row(instrument).order_queue)
    }

    /// Keeps a price entry. Without room all lists go, so that none is starved by the others: only snapshots can have
    /// what they held, and later ones will reach it.
    pub fn queue_price(&mut self, instrument: Instrument, entry: Queued) -> Result<(), QueueFull> {
        let row = &mut self.rows[instrument.index()];
        debug_assert!(row.price.gap, "entries-wait-for-a-book-with-a-gap");
        let pushed = self.prices.push(&mut row.price_queue, entry);
        if pushed.is_err() {
            self.drop_prices();
        }
        pushed
    }

    /// Keeps an order entry, or a mark. Without room all lists go; snapshots must contain what they had.
    pub fn queue_order(&mut self, instrument: Instrument, entry: Queued) -> Result<(), QueueFull> {
        let row = &mut self.rows[instrument.index()];
        debug_assert!(!row.orders.known, "entries-wait-for-unknown-orders");
        let pushed = self.orders.push(&mut row.order_queue, entry);
        if pushed.is_err() {
            self.drop_orders();
            for row in &mut self.rows {
                row.orders.snapshot_sequence_min = entry.packet;
            }
        }
        pushed
    }

    /// Keeps a mark: a price entry came while the orders are unknown. One of the same packet takes the place of another.
    pub fn queue_mark(&mut self, instrument: Instrument, mark: Queued) -> Result<(), QueueFull> {
        debug_assert_eq!(mark.work, Work::Nothing, "a-mark-does-nothing");
        let queue = self.row(instrument).order_queue;
        match self.orders.last_mut(queue) {
            Some(last) if last.packet == mark.packet && last.work == Work::Nothing => {
                *last = mark;
                Ok(())
            }
            _ => self.queue_order(instrument, mark),
        }
    }

    /// Forgets the price entries of an instrument that wait.
    pub fn forget_prices(&mut self, instrument: Instrument) {
        self.prices
            .clear(&mut self.rows[instrument.index()].price_queue);
    }

    /// Forgets the order entries of an instrument that wait.
    pub fn forget_orders(&mut self, instrument: Instrument) {
        self.orders
            .clear(&mut self.rows[instrument.index()].order_queue);
    }

    /// Forgets all price entries that wait.
    pub fn drop_prices(&mut self) {
        self.prices.clear_all();
        for row in &mut self.rows {
            row.price_queue = Queue::EMPTY;
        }
    }

    /// Forgets all order entries that wait.
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
    fn without_room_the_lists_of_all_instruments_go() {
        let mut rows = rows(2);
        let (one, two) = (Instrument(0), Instrument(1));
        rows.queue_price(one, entry(1)).unwrap();
        rows.queue_price(two, entry(2)).unwrap();
        rows.queue_order(one, entry(3)).unwrap();
        rows.queue_order(one, entry(4)).unwrap();
        assert_eq!(packets(rows.price_entries(two)), [2]);
        rows.queue_price(one, entry(5)).unwrap_err();
        assert_eq!(packets(rows.price_entries(one)), []);
        assert_eq!(packets(rows.price_entries(two)), []);
        assert_eq!(
            packets(rows.order_entries(one)),
            [3, 4],
            "a pool of its own"
        );
        rows.queue_order(two, entry(6)).unwrap_err();
        assert_eq!(packets(rows.order_entries(one)), []);
        let least = rows.iter().map(|(_, row)| row.orders.snapshot_sequence_min);
        assert_eq!(least.collect::<Vec<_>>(), [6, 6]);
        rows.queue_price(two, entry(7)).unwrap();
        rows.forget_prices(two);
        assert_eq!(packets(rows.price_entries(two)), []);
    }

    #[test]
    fn of_the_marks_of_one_packet_the_last_counts() {
        let mut rows = rows(4);
        let one = Instrument(0);
        for packet in [1, 1, 2] {
            rows.queue_mark(one, entry(packet)).unwrap();
        }
        assert_eq!(packets(rows.order_entries(one)), [1, 2]);
        rows.forget_orders(one);
        assert_eq!(packets(rows.order_entries(one)), []);
    }

    #[test]
    #[should_panic(expected = "entries-wait-for-a-book-with-a-gap")]
    fn nothing_waits_for_a_whole_book() {
        let mut rows = rows(4);
        rows.row_mut(Instrument(0)).price.gap = false;
        let _ = rows.queue_price(Instrument(0), entry(1));
    }
}
