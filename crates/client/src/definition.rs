//! Reference data of an instrument, with prices as traders quote them.

use crate::scale::Scale;
use crate::status::status_name;
use crate::{Key, Quantity};
use touchline_types::{
    Code, Depth, DisplayFactor, InstrumentDefinition, Leg, Legs, OptionRight, Price, PriceFraction,
    SecurityType, Symbol,
};

/// What the venue states of an instrument. Prices are those that traders quote; what is not stated is `None`, empty or
/// 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Definition {
    /// The venue, as its publisher calls it.
    pub venue: Code,
    /// The venue's identifier (CME: SecurityID).
    pub security_id: i64,
    /// Symbol; empty before the venue has defined the instrument.
    pub symbol: Symbol,
    /// Product group (CME: SecurityGroup).
    pub group: Symbol,
    /// Product (CME: Asset).
    pub asset: Symbol,
    /// What kind of contract it is.
    pub security_type: Option<SecurityType>,
    /// Currency of its prices.
    pub currency: Code,
    /// Currency of its settlement.
    pub settlement_currency: Code,
    /// From the venue's price to the one that traders quote; `None` where not stated: both are the same.
    pub display_factor: Option<DisplayFactor>,
    /// Fractions that traders quote prices in (1/32, and 1/4 of it); `None` where they are decimals. Prices here are decimals
    /// always.
    pub price_fraction: Option<PriceFraction>,
    /// Smallest price step.
    pub tick: Option<Price>,
    /// What one contract is, in 1e-9 of its unit: a contract size, or a multiplier of price.
    pub multiplier: Option<Price>,
    /// Quantities are whole multiples of it.
    pub lot: Option<Quantity>,
    /// Smallest quantity of an order.
    pub quantity_min: Option<Quantity>,
    /// Largest quantity of an order.
    pub quantity_max: Option<Quantity>,
    /// Power of ten of quantities.
    pub quantity_exponent: i8,
    /// When trading ends, nanoseconds since 1970 UTC; 0 where it does not, or is not stated.
    pub expiry_ns: u64,
    /// Maturity as `YYYYMMDD`, with a day of 00 where the venue states the month alone; 0 where there is none.
    pub maturity: u32,
    /// Strike of an option.
    pub strike: Option<Price>,
    /// Right of an option.
    pub right: Option<OptionRight>,
    /// The venue's identifier of the underlying instrument.
    pub underlying: Option<i64>,
    /// No price is accepted above it.
    pub high_limit: Option<Price>,
    /// No price is accepted below it.
    pub low_limit: Option<Price>,
    /// Trading status as of the definition: the venue's code (FIX tag 326); 255 where not stated.
    pub status: u8,
    /// Levels that the venue keeps of its books.
    pub depth: Depth,
    /// Whether the venue has defined it; else only venue and security id are known.
    pub is_defined: bool,
    legs: Legs,
    venue_tick: Price,
    scale: Scale,
}

impl Definition {
    pub(crate) fn of(definition: &InstrumentDefinition, venue_prices: bool) -> Definition {
        let reference = &definition.reference;
        let scale = match venue_prices {
            true => Scale::ONE,
            false => Scale::of(reference.display_factor),
        };
        let exponent = definition.quantity_exponent;
        let quantity = |quantity: touchline_types::Quantity| {
            (!quantity.is_null()).then(|| Quantity::of(quantity, exponent))
        };
        Definition {
            venue: reference.venue,
            security_id: definition.security_id,
            symbol: definition.symbol,
            group: definition.group,
            asset: definition.asset,
            security_type: reference.security_type,
            currency: reference.currency,
            settlement_currency: reference.settlement_currency,
            display_factor: reference.display_factor,
            price_fraction: reference.price_fraction,
            tick: scale.optional(definition.tick),
            multiplier: (!reference.multiplier.is_null()).then_some(reference.multiplier),
            lot: quantity(reference.lot),
            quantity_min: quantity(reference.quantity_min),
            quantity_max: quantity(reference.quantity_max),
            quantity_exponent: exponent,
            expiry_ns: reference.expiry_ns,
            maturity: reference.maturity,
            strike: scale.optional(reference.strike),
            right: reference.right,
            underlying: reference.underlying,
            high_limit: scale.optional(reference.high_limit),
            low_limit: scale.optional(reference.low_limit),
            status: reference.status,
            depth: definition.depth,
            is_defined: definition.defined,
            legs: reference.legs,
            venue_tick: definition.tick,
            scale,
        }
    }

    /// What names the instrument on every bus.
    pub fn key(&self) -> Key {
        Key {
            venue: self.venue,
            security_id: self.security_id,
        }
    }

    /// Name of its trading status as of the definition; `None` of one that is not stated or not known.
    pub fn status_name(&self) -> Option<&'static str> {
        status_name(self.status)
    }

    /// Legs of a combination, the first 8 of [`leg_count`](Self::leg_count).
    pub fn legs(&self) -> &[Leg] {
        self.legs.as_slice()
    }

    /// Legs that the venue states; 255 for as many or more.
    pub fn leg_count(&self) -> u8 {
        self.legs.count()
    }

    /// The venue's own price, as an order needs it, of a price that traders quote; `None` where no price of the venue
    /// is quoted so.
    pub fn venue_price(&self, price: Price) -> Option<Price> {
        self.scale.venue(price, self.venue_tick)
    }

    /// The price that traders quote, of a price of the venue.
    pub fn display_price(&self, venue: Price) -> Price {
        self.scale.price(venue)
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }
}
