//! One row for each instrument of a channel: how far its books have come.

use super::queue::Queue;
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
    /// What is queued.
    pub queue: Queue,
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
    /// What is queued, with marks for price entries.
    pub queue: Queue,
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
    /// The price snapshot cycle that named it last.
    pub price_cycle: u32,
    /// The order snapshot cycle that named it last.
    pub order_cycle: u32,
    /// The definition cycle that named it last.
    pub definition_cycle: u32,
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
            queue: Queue::EMPTY,
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
            queue: Queue::EMPTY,
        }
    }
}

/// Rows of a channel by [`Instrument`], one for each of the table of instruments.
#[derive(Debug)]
pub struct Rows(Vec<Row>);

impl Rows {
    /// Room for `instruments_max`, taken now.
    pub fn new(instruments_max: usize) -> Rows {
        Rows(Vec::with_capacity(instruments_max))
    }

    /// Adds the row of the instrument that was added to the table last.
    pub fn add(&mut self, instrument: Instrument, price: PriceState, orders: OrderState) {
        assert_eq!(self.0.len(), instrument.index(), "one-row-an-instrument");
        self.0.push(Row {
            price,
            orders,
            is_defined: false,
            price_cycle: 0,
            order_cycle: 0,
            definition_cycle: 0,
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// One instrument.
    #[inline]
    pub fn row(&self, instrument: Instrument) -> &Row {
        &self.0[instrument.index()]
    }

    /// One instrument.
    #[inline]
    pub fn row_mut(&mut self, instrument: Instrument) -> &mut Row {
        &mut self.0[instrument.index()]
    }

    /// All of them, with their instruments.
    pub fn iter(&self) -> impl Iterator<Item = (Instrument, &Row)> {
        let numbered = self.0.iter().enumerate();
        numbered.map(|(index, row)| (Instrument(index as u32), row))
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.0.iter_mut()
    }
}
