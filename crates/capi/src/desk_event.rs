//! An event or a row of a desk, flat.

#![allow(unsafe_code, reason = "a struct of C programs")]

use crate::event::TL_NONE;
use crate::text::{TL_TEXT, chars};
use std::ffi::c_char;
use touchline_client::fx::{
    AlarmRow, Event, FillRow, OrderRow, PairRow, ParentRow, happened, ticks, words,
};
use touchline_client::names::DeskEventKind;

/// An event of a desk, or a row of a list, flat: numbers that its kind does not have are `TL_NONE`, texts empty.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_desk_event {
    /// The caller's `sizeof(tl_desk_event)`.
    pub size: u32,
    /// `TL_DESK_PARENT` and others.
    pub kind: u8,
    /// Side of a parent, an order or a fill.
    pub side: u8,
    /// 1 if a parent has ended.
    pub ended: u8,
    /// 1 if it has ended and has no open order.
    pub settled: u8,
    /// Base units of a parent, an order or a fill; the position of a pair; skipped events.
    pub quantity: i64,
    /// Base units filled: of a parent net of busts, of an order before them.
    pub filled: i64,
    /// Base units of an order that may still be filled.
    pub leaves: i64,
    /// Price of an order or a fill, limit of a parent, in 1e-9.
    pub price: i64,
    /// Worst case of a position, long, base units.
    pub worst_long: i64,
    /// Worst case of a position, short, base units.
    pub worst_short: i64,
    /// Time of a fill or an alarm, nanoseconds since 1970; `TL_NO_TIME` of other kinds.
    pub at_ns: u64,
    /// Name of the parent.
    pub parent: [c_char; TL_TEXT],
    /// ClOrdID of the order.
    pub order: [c_char; TL_TEXT],
    /// ExecID of a fill.
    pub exec: [c_char; TL_TEXT],
    /// Bank.
    pub bank: [c_char; TL_TEXT],
    /// Pair.
    pub pair: [c_char; TL_TEXT],
    /// State of a parent or an order, kind of a fill or an alarm, a sentence of the bus, the user of a kill.
    pub state: [c_char; TL_TEXT],
    /// Cash of a position in the term currency, an exact decimal.
    pub cash: [c_char; TL_TEXT],
    /// Profit of a position at the mid, an exact decimal; empty if there is no mid.
    pub pnl: [c_char; TL_TEXT],
}

crate::sized::versioned!(tl_desk_event, 704);

impl tl_desk_event {
    fn new(kind: DeskEventKind) -> tl_desk_event {
        let none = chars("");
        tl_desk_event {
            size: size_of::<tl_desk_event>() as u32,
            kind: kind as u8,
            side: 0,
            ended: 0,
            settled: 0,
            quantity: TL_NONE,
            filled: TL_NONE,
            leaves: TL_NONE,
            price: TL_NONE,
            worst_long: TL_NONE,
            worst_short: TL_NONE,
            at_ns: 0,
            parent: none,
            order: none,
            exec: none,
            bank: none,
            pair: none,
            state: none,
            cash: none,
            pnl: none,
        }
    }

    /// Event in C of an event of the client.
    pub fn of(event: &Event) -> tl_desk_event {
        let mut flat = tl_desk_event::new(event.kind());
        match event {
            Event::Parent(row) => return tl_desk_event::of_parent(row),
            Event::Order(row) => return tl_desk_event::of_order(row),
            Event::Fill(row) => return tl_desk_event::of_fill(row),
            Event::Position { pair, position } => {
                return tl_desk_event::of_position(pair, position);
            }
            Event::Alarm(row) => return tl_desk_event::of_alarm(row),
            Event::Killed { by } => flat.state = by.map_or(flat.state, |by| chars(by.as_str())),
            Event::Bus(event) => flat.state = chars(&happened(event)),
            Event::Skipped(events) => flat.quantity = *events as i64,
            _ => {}
        }
        flat
    }

    /// Event in C of a parent.
    pub fn of_parent(row: &ParentRow) -> tl_desk_event {
        let limit = |limit: &str| {
            let price = ticks::traded(limit.as_bytes());
            price.expect("an engine accepts limits that are prices").0
        };
        tl_desk_event {
            side: row.side as u8,
            ended: u8::from(row.is_ended),
            settled: u8::from(row.is_settled),
            quantity: row.quantity,
            filled: row.filled,
            price: row.limit.as_deref().map_or(TL_NONE, limit),
            parent: chars(row.id.as_str()),
            pair: chars(&row.pair),
            state: chars(&row.state),
            ..tl_desk_event::new(DeskEventKind::Parent)
        }
    }

    /// Event in C of an order at a bank.
    pub fn of_order(row: &OrderRow) -> tl_desk_event {
        let terms = &row.terms;
        tl_desk_event {
            side: terms.side as u8,
            quantity: terms.quantity,
            filled: row.cum,
            leaves: row.leaves,
            price: terms.price.0,
            parent: chars(row.parent.as_str()),
            order: chars(row.id.as_str()),
            bank: chars(&row.bank),
            pair: chars(&terms.pair),
            state: chars(words::order_state_name(row.state)),
            ..tl_desk_event::new(DeskEventKind::Order)
        }
    }

    /// Event in C of a fill, a bust or a correction.
    pub fn of_fill(row: &FillRow) -> tl_desk_event {
        let of = &row.fill;
        let parent = of.parent.unwrap_or_default();
        let order = of.order.map(|order| order.id).unwrap_or_default();
        tl_desk_event {
            side: of.side as u8,
            quantity: of.quantity,
            price: of.price.0,
            at_ns: row.at_ns,
            parent: chars(parent.as_str()),
            order: chars(order.as_str()),
            exec: chars(of.exec_id.as_str()),
            bank: chars(row.bank.as_deref().unwrap_or_default()),
            pair: chars(&row.pair),
            state: chars(words::fill_name(of.kind)),
            ..tl_desk_event::new(DeskEventKind::Fill)
        }
    }

    /// Event in C of the position of a pair.
    pub fn of_position(pair: &str, row: &PairRow) -> tl_desk_event {
        let [worst_long, worst_short] = row.worst;
        tl_desk_event {
            quantity: row.position,
            worst_long,
            worst_short,
            pair: chars(pair),
            cash: chars(&row.cash),
            pnl: chars(row.pnl.as_deref().unwrap_or_default()),
            ..tl_desk_event::new(DeskEventKind::Position)
        }
    }

    /// Event in C of an alarm.
    pub fn of_alarm(row: &AlarmRow) -> tl_desk_event {
        tl_desk_event {
            at_ns: row.at_ns,
            order: chars(row.order.unwrap_or_default().as_str()),
            bank: chars(row.bank.as_deref().unwrap_or_default()),
            state: chars(&row.what.to_string()),
            ..tl_desk_event::new(DeskEventKind::Alarm)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;
    use touchline_client::fx::BusEvent;

    fn said(event: Event) -> String {
        let flat = tl_desk_event::of(&event);
        // SAFETY: a text of ours, with a zero behind it.
        let text = unsafe { CStr::from_ptr(flat.state.as_ptr()) };
        text.to_str().expect("it is ours").to_owned()
    }

    /// A sentence with the longest numbers fits, so none is cut.
    #[test]
    fn every_sentence_of_the_bus_fits() {
        let most = u64::MAX;
        for event in [
            BusEvent::Overrun {
                messages: most,
                bytes: most,
            },
            BusEvent::Restarted { generation: most },
            BusEvent::Corrupt,
            BusEvent::Damaged,
            BusEvent::PublisherGone,
            BusEvent::Incompatible { layout: most },
            BusEvent::Refused,
            BusEvent::NotWaitedFor,
        ] {
            assert_eq!(said(Event::Bus(event)), happened(&event));
        }
    }

    #[test]
    fn a_kill_has_its_user_and_what_was_skipped_its_number() {
        let by = touchline_client::fx::name("desk").ok();
        assert_eq!(said(Event::Killed { by }), "desk");
        assert_eq!(said(Event::Killed { by: None }), "");
        assert_eq!(tl_desk_event::of(&Event::Skipped(5)).quantity, 5);
        assert_eq!(tl_desk_event::of(&Event::Lifted).quantity, TL_NONE);
    }

    /// A text that does not fit is an error of ours, and is not cut.
    #[test]
    #[should_panic(expected = "a text has at most 79 bytes")]
    fn a_text_that_does_not_fit_is_refused() {
        chars(&"x".repeat(TL_TEXT));
    }
}
