//! Reference data of an instrument, with prices as traders quote them.

use crate::scale::Scale;
use crate::status::status_name;
use crate::{Key, Quantity};
use touchline_types::{
    Code, Depth, DisplayFactor, InstrumentDefinition, Leg, Legs, OptionRight, Price, PriceFraction,
    SecurityType, Symbol,
};

/// Definition of an instrument. Prices are those that traders quote; fields that the venue does not state are `None`,
/// empty or 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Definition {
    /// Venue, as named by its publisher.
    pub venue: Code,
    /// The venue's identifier (CME: SecurityID); see [`SecurityId`](crate::SecurityId).
    pub security_id: i64,
    /// Symbol; empty before the venue has defined the instrument.
    pub symbol: Symbol,
    /// Product group (CME: SecurityGroup).
    pub group: Symbol,
    /// Product (CME: Asset).
    pub asset: Symbol,
    /// Kind of contract.
    pub security_type: Option<SecurityType>,
    /// Currency of its prices.
    pub currency: Code,
    /// Currency of its settlement.
    pub settlement_currency: Code,
    /// Factor from the venue's price to the price that traders quote; `None` if not stated: both are equal.
    pub display_factor: Option<DisplayFactor>,
    /// Fractions in which traders quote prices (1/32, and 1/4 of it); `None` for decimals. Prices here are always
    /// decimals.
    pub price_fraction: Option<PriceFraction>,
    /// Smallest price step.
    pub tick: Option<Price>,
    /// Unit of one contract, in 1e-9: a contract size, or a multiplier of price.
    pub multiplier: Option<Price>,
    /// Step of quantities.
    pub lot: Option<Quantity>,
    /// Smallest quantity of an order.
    pub quantity_min: Option<Quantity>,
    /// Largest quantity of an order.
    pub quantity_max: Option<Quantity>,
    /// Power of ten of quantities.
    pub quantity_exponent: i8,
    /// End of trading, nanoseconds since 1970 UTC; 0 if there is none or it is not stated.
    pub expiry_ns: u64,
    /// Maturity as `YYYYMMDD`, with day 00 if the venue states only the month; 0 if there is none.
    pub maturity: u32,
    /// Strike of an option.
    pub strike: Option<Price>,
    /// Right of an option.
    pub right: Option<OptionRight>,
    /// The venue's identifier of the underlying instrument.
    pub underlying: Option<i64>,
    /// Highest accepted price.
    pub high_limit: Option<Price>,
    /// Lowest accepted price.
    pub low_limit: Option<Price>,
    /// Trading status in the definition: the venue's code (FIX tag 326); 255 if not stated.
    pub status: u8,
    /// Number of levels that the venue keeps.
    pub depth: Depth,
    /// Whether the venue has defined it; if not, only venue and security id are known.
    pub is_defined: bool,
    pub(crate) is_known_by_symbol: bool,
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
            is_known_by_symbol: definition.is_known_by_symbol(),
            legs: reference.legs,
            venue_tick: definition.tick,
            scale,
        }
    }

    /// Key of the instrument; see [`Key`] for how long it holds.
    pub fn key(&self) -> Key {
        Key {
            venue: self.venue,
            security_id: self.security_id,
        }
    }

    /// Name of the trading status in the definition; `None` if not stated or unknown.
    pub fn status_name(&self) -> Option<&'static str> {
        status_name(self.status)
    }

    /// Legs of a combination, the first 8 of [`leg_count`](Self::leg_count).
    pub fn legs(&self) -> &[Leg] {
        self.legs.as_slice()
    }

    /// Number of legs that the venue states; 255 means 255 or more.
    pub fn leg_count(&self) -> u8 {
        self.legs.count()
    }

    /// The venue's price for a price that traders quote, as an order needs it; `None` if no price of the venue
    /// corresponds.
    pub fn venue_price(&self, price: Price) -> Option<Price> {
        self.scale.venue(price, self.venue_tick)
    }

    /// The price that traders quote for a price of the venue.
    pub fn display_price(&self, venue: Price) -> Price {
        self.scale.price(venue)
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// Whether a definition, perhaps of another publication, is of the same instrument of a venue without ids; their numbers may
    /// differ.
    pub(crate) fn is_renumbered(&self, new: &Definition) -> bool {
        self.is_known_by_symbol
            && new.is_known_by_symbol
            && (self.venue, self.symbol) == (new.venue, new.symbol)
    }
}
