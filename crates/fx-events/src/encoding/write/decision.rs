//! Decisions of a desk.

use super::super::bytes::{NO_I64, NO_U16, Put};
use super::super::codes::Coded;
use crate::desk::Desk;

/// Body of a decision.
pub(super) fn put(out: &mut Vec<u8>, desk: &Desk) {
    let bank_or_none = |bank: &Option<usize>| bank.map_or(NO_U16, |bank| bank as u16);
    match desk {
        Desk::Cancel { id } => {
            out.u8(0);
            out.id(id.as_ref());
        }
        Desk::Lift { by } => {
            out.u8(1);
            out.id(by.as_ref());
        }
        Desk::Enable { bank, pair } => {
            out.u8(2);
            out.u16(bank_or_none(bank));
            out.u16(bank_or_none(pair));
        }
        Desk::Resolve { id, cum, price } => {
            out.u8(3);
            out.i64(cum.unwrap_or(NO_I64));
            out.id(id.as_ref());
            out.id(price.as_ref());
        }
        Desk::Book { by, trade, .. } => {
            let trade = trade.as_ref().expect("a booking that was judged is valid");
            out.u8(4);
            out.u16(trade.pair as u16);
            out.u16(bank_or_none(&trade.bank));
            out.u8(trade.side.code());
            out.i64(trade.quantity);
            out.i64(trade.price.0);
            out.id(Some(&trade.id));
            out.id(Some(&trade.value_date));
            out.id(by.as_ref());
        }
        Desk::Parent(_)
        | Desk::Kill { .. }
        | Desk::Restart
        | Desk::Reboot { .. }
        | Desk::Day(_)
        | Desk::BankDay { .. }
        | Desk::End => {
            unreachable!("it is no decision of its own")
        }
    }
}
