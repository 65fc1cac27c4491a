//! Days of pairs and banks, and parts of a position by value date.

use super::{comma, put};
use crate::desk::Day;
use crate::event::Event;
use crate::labels::Labels;
use crate::positions::Position;
use crate::ticks;
use std::fmt::Write;

/// Keys of a day behind its name.
pub(super) fn line(out: &mut String, labels: &Labels, event: &Event) {
    match event {
        Event::Day(Day { pair, trade, spot }) => {
            let symbol = &labels.pairs[*pair].symbol;
            put!(
                out,
                ",\"pair\":\"{symbol}\",\"trade\":\"{trade}\",\"spot\":"
            );
            match spot {
                0 => out.push_str("null"),
                spot => put!(out, "\"{spot}\""),
            }
        }
        Event::BankDay { bank, trade } => {
            let bank = &labels.banks[*bank];
            put!(out, ",\"bank\":\"{bank}\",\"trade\":\"{trade}\"");
        }
        _ => {}
    }
}

/// Parts of a position, with its last key.
pub(super) fn dates(out: &mut String, dates: &[(u32, Position)]) {
    out.push_str(",\"dates\":[");
    for (place, (value_date, position)) in dates.iter().enumerate() {
        let units = position.units;
        put!(out, "{}[\"{value_date}\",{units},\"", comma(place));
        ticks::write(out, position.cash, ticks::PRICE_DECIMALS);
        out.push_str("\"]");
    }
    out.push(']');
}
