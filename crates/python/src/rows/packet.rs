//! The end of a venue packet in arrays: its last row is marked, also if the packet ends with an event that has none.

use super::{LevelRow, OrderRow, StateRow, StatisticRow, StatusRow, TopRow, TradeRow};
use crate::number::Time;

/// A row of an event of a packet.
pub(crate) trait PacketRow {
    /// Number of its message, and its instrument: rows of one event have the same place.
    fn place(&self) -> (u64, u32);

    fn receive_ns(&self) -> Time;

    fn mark_end_of_batch(&mut self);
}

macro_rules! packet_rows {
    ($($row:ident)*) => {$(
        impl PacketRow for $row {
            fn place(&self) -> (u64, u32) {
                (self.sequence, self.instrument)
            }

            fn receive_ns(&self) -> Time {
                self.receive_ns
            }

            fn mark_end_of_batch(&mut self) {
                self.end_of_batch = true;
            }
        }
    )*};
}

packet_rows! { TopRow TradeRow LevelRow OrderRow StatisticRow StatusRow StateRow }

/// Place of the last row, if it is of the packet that was received then.
pub(crate) fn last_place<R: PacketRow>(rows: &[R], receive_ns: Time) -> Option<(u64, u32)> {
    let last = rows.last().filter(|row| row.receive_ns() == receive_ns);
    last.map(PacketRow::place)
}

/// Marks the rows of the last event.
pub(crate) fn mark_last<R: PacketRow>(rows: &mut [R]) {
    let place = rows.last().map(PacketRow::place);
    let rows = rows.iter_mut().rev();
    rows.take_while(|row| Some(row.place()) == place)
        .for_each(PacketRow::mark_end_of_batch);
}
