//! The instruments of a channel: what is known of each, and how far its books have come.

use super::queue::Queue;
use crate::index::Index;
use touchline_types::{Depth, Instrument, InstrumentDefinition};

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
    /// What is known of it.
    pub definition: InstrumentDefinition,
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

/// All instruments of a channel: rows by [`Instrument`], and an index by SecurityID.
#[derive(Debug)]
pub struct Instruments {
    rows: Vec<Row>,
    index: Index<i32, 1>,
    /// The instrument looked up last; entries of one message are mostly of one instrument.
    recent: (i32, u32),
}

impl Instruments {
    /// Room for `instruments_max`, taken now.
    pub fn new(instruments_max: usize) -> Instruments {
        Instruments {
            rows: Vec::with_capacity(instruments_max),
            index: Index::new(instruments_max),
            recent: (0, u32::MAX),
        }
    }

    /// The instrument with this SecurityID, if it is known.
    #[inline]
    pub fn find(&mut self, security_id: i32) -> Option<Instrument> {
        if self.recent.0 == security_id && self.recent.1 != u32::MAX {
            return Some(Instrument(self.recent.1));
        }
        let row = self
            .index
            .find(words(security_id), |id| *id == security_id)?;
        self.recent = (security_id, row);
        Some(Instrument(row))
    }

    /// Adds an instrument that is not there yet; `None` when the limit is reached, or that of one chain of the index.
    pub fn add(
        &mut self,
        security_id: i32,
        depth: Depth,
        known_from: u32,
        orders_known: bool,
    ) -> Option<Instrument> {
        if self.rows.len() == self.rows.capacity() {
            return None;
        }
        self.index.push(words(security_id), security_id).ok()?;
        let instrument = Instrument(self.rows.len() as u32);
        let definition = InstrumentDefinition::unknown(instrument, i64::from(security_id), depth);
        self.rows.push(Row {
            definition,
            price: PriceState::known_from(known_from),
            orders: OrderState::new(orders_known),
            price_cycle: 0,
            order_cycle: 0,
            definition_cycle: 0,
        });
        Some(instrument)
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

    /// All of them.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// All of them.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut()
    }
}

fn words(security_id: i32) -> [u64; 1] {
    [u64::from(security_id as u32)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruments_are_found_by_their_id_and_limited() {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        let mut instruments = Instruments::new(2);
        assert_eq!(instruments.find(0), None, "nothing is cached at start");
        let first = instruments.add(7, depth, 0, true).unwrap();
        let second = instruments.add(-7, depth, 0, true).unwrap();
        assert_eq!(instruments.add(8, depth, 0, true), None);
        assert_eq!(instruments.find(7), Some(first));
        assert_eq!(instruments.find(-7), Some(second));
        assert_eq!(instruments.find(7), Some(first));
        assert_eq!(instruments.find(8), None);
    }
}
