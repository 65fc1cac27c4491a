//! Reference data of an instrument, flat.

#![allow(unsafe_code, reason = "a struct and pointers of C programs")]

use crate::bus::{of, tl_bus};
use crate::event::TL_NONE;
use crate::sized;
use crate::status::{TL_OK, guarded, tl_status};
use crate::text::{TL_TEXT, chars};
use std::ffi::c_char;
use touchline_client::{Definition, DisplayFactor, OptionRight, Price, Quantity, SecurityType};

/// Definition of an instrument. Numbers that the venue does not state are `TL_NONE` or 0, times `TL_NO_TIME`, dates `TL_NO_DATE`, texts
/// empty.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_definition {
    /// The caller's `sizeof(tl_definition)`.
    pub size: u32,
    /// 0 before the venue has defined it: only venue and security id are known.
    pub defined: u8,
    /// Trading status: the venue's code (FIX tag 326); 255 if not stated.
    pub status: u8,
    /// Power of ten of quantities.
    pub quantity_exponent: i8,
    /// Levels a side of the implied book.
    pub implied_depth: u8,
    /// Levels a side of the book; `UINT16_MAX` if the venue keeps every level.
    pub depth: u16,
    /// Traders quote this part of a point, as 32 for 1/32; 0 for decimals. Prices here are always decimals.
    pub fraction: u8,
    /// And this part of it, as 4; 0 or 1: no part.
    pub sub_fraction: u8,
    /// Maturity as `YYYYMMDD`, with day 00 if the venue states only the month; `TL_NO_DATE` if there is none.
    pub maturity: u32,
    /// The venue's identifier (CME: SecurityID).
    pub security_id: i64,
    /// The venue's identifier of the underlying instrument.
    pub underlying: i64,
    /// End of trading, nanoseconds since 1970; `TL_NO_TIME` if there is none.
    pub expiry_ns: u64,
    /// Smallest price step, in 1e-9.
    pub tick: i64,
    /// Strike of an option, in 1e-9.
    pub strike: i64,
    /// Highest accepted price, in 1e-9.
    pub high_limit: i64,
    /// Lowest accepted price, in 1e-9.
    pub low_limit: i64,
    /// Unit of one contract, in 1e-9.
    pub multiplier: i64,
    /// Step of quantities.
    pub lot: i64,
    /// Smallest quantity of an order.
    pub quantity_min: i64,
    /// Largest quantity of an order.
    pub quantity_max: i64,
    /// Prices are those of the venue times this, divided by the next.
    pub display_numerator: u64,
    /// Above 0.
    pub display_denominator: u64,
    /// Symbol.
    pub symbol: [c_char; TL_TEXT],
    /// Venue, as its publisher names it.
    pub venue: [c_char; TL_TEXT],
    /// Product group (CME: SecurityGroup).
    pub group: [c_char; TL_TEXT],
    /// Product (CME: Asset).
    pub asset: [c_char; TL_TEXT],
    /// Kind of contract: `future`, `option` and others.
    pub security_type: [c_char; TL_TEXT],
    /// Right of an option: `put`, `call`.
    pub right: [c_char; TL_TEXT],
    /// Currency of prices.
    pub currency: [c_char; TL_TEXT],
    /// Currency of settlement.
    pub settlement_currency: [c_char; TL_TEXT],
}

sized::versioned!(tl_definition, 760);

/// Definition of an instrument. `definition->size` must be set.
///
/// # Safety
/// `bus` is of `tl_join`; `definition` is valid for its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_definition_of(
    bus: *mut tl_bus,
    instrument: u32,
    definition: *mut tl_definition,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus.
        let bus = unsafe { of(bus)? };
        let found = bus.bus.definition(bus.handle(instrument)?)?;
        // SAFETY: the caller's definition.
        unsafe { sized::give(&tl_definition::of(found), definition)? };
        Ok(TL_OK)
    })
}

impl tl_definition {
    fn of(from: &Definition) -> tl_definition {
        let price = |price: Option<Price>| price.map_or(TL_NONE, |price| price.0);
        let quantity = |quantity: Option<Quantity>| quantity.map_or(TL_NONE, Quantity::mantissa);
        let factor = from.display_factor.unwrap_or(DisplayFactor::ONE);
        let [fraction, sub_fraction] = from
            .price_fraction
            .map_or([0; 2], |fraction| [fraction.main, fraction.sub]);
        tl_definition {
            size: size_of::<tl_definition>() as u32,
            defined: u8::from(from.is_defined),
            status: from.status,
            quantity_exponent: from.quantity_exponent,
            implied_depth: from.depth.implied,
            depth: from.depth.direct,
            fraction,
            sub_fraction,
            maturity: from.maturity,
            security_id: from.security_id,
            underlying: from.underlying.unwrap_or(TL_NONE),
            expiry_ns: from.expiry_ns,
            tick: price(from.tick),
            strike: price(from.strike),
            high_limit: price(from.high_limit),
            low_limit: price(from.low_limit),
            multiplier: price(from.multiplier),
            lot: quantity(from.lot),
            quantity_min: quantity(from.quantity_min),
            quantity_max: quantity(from.quantity_max),
            display_numerator: factor.numerator(),
            display_denominator: factor.denominator(),
            symbol: chars(from.symbol.as_str()),
            venue: chars(from.venue.as_str()),
            group: chars(from.group.as_str()),
            asset: chars(from.asset.as_str()),
            security_type: chars(from.security_type.map_or("", SecurityType::name)),
            right: chars(from.right.map_or("", OptionRight::name)),
            currency: chars(from.currency.as_str()),
            settlement_currency: chars(from.settlement_currency.as_str()),
        }
    }
}
