//! Days of pairs and banks, and parts of a position by value date.

use super::super::kind;
use super::{Encoder, Put};
use crate::event::Event;
use crate::positions::Position;

impl Encoder {
    /// Parts of the position that follows.
    pub(super) fn position_dates(&mut self, pair: usize, dates: &[(u32, Position)]) {
        let out = self.entry(kind::POSITION_DATES);
        out.u16(pair as u16);
        out.u16(dates.len() as u16);
        for (value_date, position) in dates {
            out.u32(*value_date);
            out.i64(position.units);
            out.i128(position.cash);
        }
        self.end_entry();
    }
}

/// Body of a day.
pub(super) fn day(out: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Day(day) => {
            out.u16(day.pair as u16);
            out.u32(day.trade);
            out.u32(day.spot);
        }
        Event::BankDay { bank, trade } => {
            out.u16(*bank as u16);
            out.u32(*trade);
        }
        _ => unreachable!("it is called for days"),
    }
}
