//! Copies of the kept books.

#![allow(unsafe_code, reason = "memory of C programs")]

use touchline_client::{
    Book, BookKind, Bus, ConsolidatedLevel, Error, Instrument, Level, Order, Side, TouchSource,
};

/// A level of a price book.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_level {
    /// Price, in 1e-9.
    pub price: i64,
    /// Quantity, direct and implied together.
    pub quantity: i64,
    /// Quantity in the direct book; 0 if there is none.
    pub direct: i64,
    /// Quantity in the implied book; 0 if there is none.
    pub implied: i64,
    /// Number of orders in the direct book; `UINT32_MAX` if the venue does not state it.
    pub orders: u32,
    /// Power of ten of the quantities.
    pub exponent: i8,
    /// 0 for a level that must exist and was never published.
    pub known: u8,
    /// 0.
    pub reserved: [u8; 2],
}

/// An order of an order book.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_order {
    /// The venue's id.
    pub order_id: u64,
    /// Rank within its price, lowest first.
    pub priority: u64,
    /// Price, in 1e-9.
    pub price: i64,
    /// Visible quantity.
    pub quantity: i64,
    /// Power of ten of the quantity.
    pub exponent: i8,
    /// 0.
    pub reserved: [u8; 7],
}

impl tl_level {
    /// Level of both books together.
    fn merged(level: &ConsolidatedLevel) -> tl_level {
        tl_level {
            price: level.price.0,
            quantity: level.quantity.mantissa(),
            direct: level.direct.mantissa(),
            implied: level.implied.mantissa(),
            orders: level.orders.unwrap_or(u32::MAX),
            exponent: level.quantity.exponent(),
            known: 1,
            reserved: [0; 2],
        }
    }

    /// Level of one book alone.
    fn of(kind: BookKind, level: &Level) -> tl_level {
        let quantity = level.quantity.mantissa();
        let (direct, implied) = match kind {
            BookKind::Direct => (quantity, 0),
            BookKind::Implied => (0, quantity),
        };
        tl_level {
            price: level.price.0,
            quantity,
            direct,
            implied,
            orders: level.orders.unwrap_or(u32::MAX),
            exponent: level.quantity.exponent(),
            known: u8::from(level.is_known),
            reserved: [0; 2],
        }
    }
}

/// Writes the best levels of one book, or of both merged by price, and returns how many.
///
/// # Safety
/// `into` has `room` places.
pub unsafe fn copy_levels(
    book: &Book<'_>,
    side: Side,
    of: TouchSource,
    into: *mut tl_level,
    room: usize,
) -> usize {
    let mut count = 0;
    let mut put = |level| {
        // SAFETY: below `room`.
        unsafe { into.add(count).write_unaligned(level) };
        count += 1;
    };
    let list = |kind| book.list(kind, side).take(room);
    let one = |kind| list(kind).map(move |level| tl_level::of(kind, &level));
    match of {
        TouchSource::Direct => one(BookKind::Direct).for_each(put),
        TouchSource::Implied => one(BookKind::Implied).for_each(put),
        TouchSource::Merged => {
            let levels = book.levels(side).take(room);
            levels.for_each(|level| put(tl_level::merged(&level)));
        }
    }
    count
}

/// Writes the first orders, and returns how many there are.
///
/// # Safety
/// `into` has `room` places.
pub unsafe fn copy_orders(
    bus: &Bus,
    instrument: Instrument,
    side: Side,
    into: *mut tl_order,
    room: usize,
) -> Result<usize, Error> {
    let mut count = 0;
    bus.orders(instrument, side, |order: &Order| {
        if count < room {
            let copy = tl_order {
                order_id: order.order_id,
                priority: order.priority,
                price: order.price.0,
                quantity: order.quantity.mantissa(),
                exponent: order.quantity.exponent(),
                reserved: [0; 7],
            };
            // SAFETY: below `room`.
            unsafe { into.add(count).write_unaligned(copy) };
        }
        count += 1;
    })?;
    Ok(count)
}
