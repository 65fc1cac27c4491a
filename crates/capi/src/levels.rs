//! Copies of the kept books.

#![allow(unsafe_code, reason = "memory of C programs")]

use touchline_client::{Bus, Error, Instrument, Levels, Order, Side};

/// A level of a price book.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_level {
    /// Price, in 1e-9.
    pub price: i64,
    /// Quantity.
    pub quantity: i64,
    /// Number of orders; `UINT32_MAX` if the venue does not state it.
    pub orders: u32,
    /// Power of ten of the quantity.
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

/// Writes the best levels, and returns how many.
///
/// # Safety
/// `into` has `room` places.
pub unsafe fn copy_levels(levels: Levels<'_>, into: *mut tl_level, room: usize) -> usize {
    let mut count = 0;
    for level in levels.take(room) {
        let copy = tl_level {
            price: level.price.0,
            quantity: level.quantity.mantissa(),
            orders: level.orders.unwrap_or(u32::MAX),
            exponent: level.quantity.exponent(),
            known: u8::from(level.is_known),
            reserved: [0; 2],
        };
        // SAFETY: below `room`.
        unsafe { into.add(count).write_unaligned(copy) };
        count += 1;
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
