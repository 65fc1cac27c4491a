//! Assembly of order snapshots from the chunks of both lines.

use touchline_types::{Instrument, OrderEvent};

/// One chunk of an order snapshot, without its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Instrument.
    pub instrument: Instrument,
    /// LastMsgSeqNumProcessed: the last packet in the snapshot.
    pub snapshot_sequence: u32,
    /// Number of chunks of the snapshot.
    pub chunks: u32,
    /// Start of the instrument's last event in the snapshot.
    pub transact_ns: u64,
}

/// Snapshot assembler: snapshots with some chunks received, on either line. A cycle sends one instrument after the
/// other, so a few slots are enough; a new snapshot replaces the oldest.
#[derive(Debug)]
pub(super) struct SnapshotAssembler {
    partial: [Assembly; 4],
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
    is_refused: bool,
}

/// A snapshot has more chunks or orders than the limits, an invalid chunk number, or an impossible order.
pub(super) struct BeyondLimits;

/// Most chunks of one snapshot.
const CHUNKS_MAX: u32 = 16_384;

impl SnapshotAssembler {
    /// Allocates memory for a few snapshots of `orders_max` orders each.
    pub fn new(orders_max: usize) -> SnapshotAssembler {
        let assembly = || Assembly {
            chunk: None,
            begun: 0,
            missing: 0,
            received: Vec::with_capacity(CHUNKS_MAX as usize),
            orders: Vec::with_capacity(orders_max),
            is_refused: false,
        };
        SnapshotAssembler {
            partial: std::array::from_fn(|_| assembly()),
            begun: 0,
            open: 0,
        }
    }

    /// Drops all snapshots.
    pub fn clear(&mut self) {
        for assembly in &mut self.partial {
            assembly.chunk = None;
        }
    }

    /// Opens chunk number `current` (from 1). `Ok(false)` if it was received already.
    pub fn open(&mut self, chunk: Chunk, current: u32) -> Result<bool, BeyondLimits> {
        if chunk.chunks == 0 || chunk.chunks > CHUNKS_MAX || current == 0 || current > chunk.chunks
        {
            return Err(BeyondLimits);
        }
        self.open = self.find_or_begin(chunk);
        let assembly = &mut self.partial[self.open];
        let came = std::mem::replace(&mut assembly.received[current as usize - 1], true);
        assembly.missing -= u32::from(!came);
        Ok(!came)
    }

    /// Adds an order to the open chunk; beyond the limit the snapshot is refused.
    pub fn add(&mut self, order: OrderEvent) {
        let assembly = &mut self.partial[self.open];
        if assembly.orders.len() < assembly.orders.capacity() {
            assembly.orders.push(order);
        } else {
            assembly.is_refused = true;
        }
    }

    /// The snapshot of the open chunk has an order that cannot be: it is refused when it is complete.
    pub fn refuse(&mut self) {
        self.partial[self.open].is_refused = true;
    }

    /// Closes the open chunk. Returns the snapshot if it is complete now.
    pub fn close(&mut self) -> Result<Option<Chunk>, BeyondLimits> {
        let assembly = &mut self.partial[self.open];
        match (assembly.missing, assembly.is_refused) {
            (0, false) => Ok(assembly.chunk.take()),
            (0, true) => {
                assembly.chunk = None;
                Err(BeyondLimits)
            }
            _ => Ok(None),
        }
    }

    /// The orders of the last completed snapshot.
    pub fn orders(&self) -> &[OrderEvent] {
        &self.partial[self.open].orders
    }

    fn find_or_begin(&mut self, chunk: Chunk) -> usize {
        let same = self
            .partial
            .iter()
            .position(|assembly| assembly.chunk == Some(chunk));
        if let Some(index) = same {
            return index;
        }
        self.begun += 1;
        let index = self.place_for(chunk.instrument);
        let assembly = &mut self.partial[index];
        assembly.chunk = Some(chunk);
        assembly.begun = self.begun;
        assembly.missing = chunk.chunks;
        assembly.orders.clear();
        assembly.received.clear();
        assembly.received.resize(chunk.chunks as usize, false);
        assembly.is_refused = false;
        index
    }

    /// The slot of another snapshot of the same instrument, a free one, or the oldest.
    fn place_for(&self, instrument: Instrument) -> usize {
        let rank = |assembly: &Assembly| match assembly.chunk {
            Some(chunk) if chunk.instrument == instrument => (0, 0),
            None => (1, 0),
            Some(_) => (2, assembly.begun),
        };
        let places = self.partial.iter().enumerate();
        places
            .min_by_key(|(_, assembly)| rank(assembly))
            .map_or(0, |(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{OrderAction, Price, Quantity, Side};

    fn chunk(instrument: u32, chunks: u32) -> Chunk {
        Chunk {
            instrument: Instrument(instrument),
            snapshot_sequence: 9,
            chunks,
            transact_ns: 5,
        }
    }

    fn order(order_id: u64) -> OrderEvent {
        OrderEvent {
            order_id,
            priority: Some(1),
            price: Price(1),
            quantity: Quantity(1),
            instrument: Instrument(0),
            action: OrderAction::New,
            side: Side::Bid,
        }
    }

    /// Sends a chunk with one order; returns the orders if the snapshot is complete.
    fn send(assembler: &mut SnapshotAssembler, chunk: Chunk, current: u32) -> Option<Vec<u64>> {
        if !assembler.open(chunk, current).ok()? {
            return None;
        }
        assembler.add(order(u64::from(current)));
        assembler.close().ok()??;
        Some(
            assembler
                .orders()
                .iter()
                .map(|order| order.order_id)
                .collect(),
        )
    }

    #[test]
    fn chunks_arrive_in_any_order_and_twice() {
        let mut assembler = SnapshotAssembler::new(8);
        assert_eq!(send(&mut assembler, chunk(1, 3), 3), None);
        assert_eq!(
            send(&mut assembler, chunk(2, 2), 1),
            None,
            "another instrument in between"
        );
        assert_eq!(send(&mut assembler, chunk(1, 3), 1), None);
        assert_eq!(
            send(&mut assembler, chunk(1, 3), 1),
            None,
            "the other line's copy"
        );
        assert_eq!(send(&mut assembler, chunk(1, 3), 2), Some(vec![3, 1, 2]));
        assert_eq!(send(&mut assembler, chunk(2, 2), 2), Some(vec![1, 2]));
    }

    #[test]
    fn a_snapshot_beyond_the_limits_is_refused() {
        let mut assembler = SnapshotAssembler::new(2);
        for (chunks, current) in [(0, 1), (2, 0), (2, 3), (u32::MAX, 1)] {
            assert!(assembler.open(chunk(1, chunks), current).is_err());
        }
        assert_eq!(send(&mut assembler, chunk(1, 3), 1), None);
        assert_eq!(send(&mut assembler, chunk(1, 3), 2), None);
        assert!(matches!(assembler.open(chunk(1, 3), 3), Ok(true)));
        assembler.add(order(3));
        assert!(
            assembler.close().is_err(),
            "more orders than there is room for"
        );
    }

    #[test]
    fn the_oldest_of_five_snapshots_in_assembly_is_replaced() {
        let mut assembler = SnapshotAssembler::new(8);
        for instrument in 1..=5 {
            assert_eq!(send(&mut assembler, chunk(instrument, 2), 1), None);
        }
        assert_eq!(send(&mut assembler, chunk(5, 2), 2), Some(vec![1, 2]));
        assert_eq!(
            send(&mut assembler, chunk(1, 2), 2),
            None,
            "its first chunk was given up"
        );
    }
}
