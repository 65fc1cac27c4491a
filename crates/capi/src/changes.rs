//! Steps of the last change of a book.

#![allow(unsafe_code, reason = "memory of C programs")]

use crate::bus::{of, tl_bus};
use crate::status::{Failure, TL_OK, guarded, tl_status};
use touchline_client::{LevelChange, OrderChange};

/// A step in a price book.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_change {
    /// Price of the level after the step, in 1e-9; `TL_NONE` if it was removed.
    pub price: i64,
    /// Quantity of the level.
    pub quantity: i64,
    /// Number of orders; `UINT32_MAX` if the venue does not state it.
    pub orders: u32,
    /// Index of the level, from 0, the best.
    pub index: u16,
    /// `TL_LEVEL_INSERT` and others.
    pub action: u8,
    /// `TL_SIDE_BID` or `TL_SIDE_ASK`.
    pub side: u8,
    /// `TL_BOOK_DIRECT` or `TL_BOOK_IMPLIED`.
    pub book: u8,
    /// 0 for a level that must exist and was never published.
    pub known: u8,
    /// Power of ten of the quantity.
    pub exponent: i8,
    /// 0.
    pub reserved: [u8; 5],
}

/// A step in an order book.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_order_change {
    /// The venue's id of the order.
    pub order_id: u64,
    /// Rank within its price, lowest first.
    pub priority: u64,
    /// Price, in 1e-9.
    pub price: i64,
    /// Visible quantity.
    pub quantity: i64,
    /// `TL_ORDER_NEW` and others.
    pub action: u8,
    /// `TL_SIDE_BID` or `TL_SIDE_ASK`.
    pub side: u8,
    /// Power of ten of the quantity.
    pub exponent: i8,
    /// 0.
    pub reserved: [u8; 5],
}

impl From<&LevelChange> for tl_change {
    fn from(step: &LevelChange) -> tl_change {
        let level = &step.level;
        tl_change {
            price: level.price.0,
            quantity: level.quantity.mantissa(),
            orders: level.orders.unwrap_or(u32::MAX),
            index: step.index,
            action: step.action as u8,
            side: step.side as u8,
            book: step.book as u8,
            known: u8::from(level.is_known),
            exponent: level.quantity.exponent(),
            reserved: [0; 5],
        }
    }
}

impl From<&OrderChange> for tl_order_change {
    fn from(step: &OrderChange) -> tl_order_change {
        tl_order_change {
            order_id: step.order_id,
            priority: step.priority,
            price: step.price.0,
            quantity: step.quantity.mantissa(),
            action: step.action as u8,
            side: step.side as u8,
            exponent: step.quantity.exponent(),
            reserved: [0; 5],
        }
    }
}

/// Copies the steps of the last `TL_EVENT_BOOK`, at most `room`, until the next call of `tl_next`; `*count` is how many there are.
///
/// # Safety
/// `bus` is of `tl_join`, `changes` has `room` places, `count` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_changes(
    bus: *mut tl_bus,
    changes: *mut tl_change,
    room: usize,
    count: *mut usize,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus, places and pointer.
        unsafe { copy(of(bus)?.bus.changes(), changes, room, count, "tl_changes") }
    })
}

/// Copies the steps of the last `TL_EVENT_ORDERS`, as `tl_changes` does.
///
/// # Safety
/// `bus` is of `tl_join`, `changes` has `room` places, `count` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_order_changes(
    bus: *mut tl_bus,
    changes: *mut tl_order_change,
    room: usize,
    count: *mut usize,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus, places and pointer.
        unsafe {
            let steps = of(bus)?.bus.order_changes();
            copy(steps, changes, room, count, "tl_order_changes")
        }
    })
}

/// # Safety
/// `into` is NULL or has `room` places; `count` is NULL or valid.
unsafe fn copy<'a, Step, Row: From<&'a Step>>(
    steps: &'a [Step],
    into: *mut Row,
    room: usize,
    count: *mut usize,
    call: &str,
) -> Result<tl_status, Failure> {
    if count.is_null() || (into.is_null() && room > 0) {
        return Err(Failure::argument(format!(
            "{call}: changes or count is NULL"
        )));
    }
    for (at, step) in steps.iter().take(room).enumerate() {
        // SAFETY: below `room`.
        unsafe { into.add(at).write_unaligned(Row::from(step)) };
    }
    // SAFETY: the caller's pointer, which is not NULL.
    unsafe { *count = steps.len() };
    Ok(TL_OK)
}
