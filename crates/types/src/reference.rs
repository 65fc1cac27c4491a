//! Reference data of an instrument's definition: everything except name and book.

use crate::{Code, Price, Quantity, Side};
use core::fmt;

coded! {
    /// Kind of contract of an instrument.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum SecurityType {
        /// A type that is not in this list.
        Other = 0,
        /// A future, a perpetual one too (`expiry_ns` 0).
        Future = 1,
        /// An option.
        Option = 2,
        /// A combination of futures, which its legs name.
        FutureSpread = 3,
        /// A combination with options, which its legs name.
        OptionSpread = 4,
        /// Currencies or coins, delivered at once or on the usual day.
        Spot = 5,
        /// Currencies, delivered on a later day.
        Forward = 6,
        /// A share.
        Stock = 7,
        /// A bond or a bill.
        Bond = 8,
        /// A repurchase agreement.
        Repo = 9,
        /// An index, which is not traded.
        Index = 10,
    }
}

impl SecurityType {
    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            SecurityType::Other => "other",
            SecurityType::Future => "future",
            SecurityType::Option => "option",
            SecurityType::FutureSpread => "future_spread",
            SecurityType::OptionSpread => "option_spread",
            SecurityType::Spot => "spot",
            SecurityType::Forward => "forward",
            SecurityType::Stock => "stock",
            SecurityType::Bond => "bond",
            SecurityType::Repo => "repo",
            SecurityType::Index => "index",
        }
    }
}

coded! {
    /// The right that an option gives. Numbers of FIX PutOrCall (201).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum OptionRight {
        /// To sell at the strike.
        Put = 0,
        /// To buy at the strike.
        Call = 1,
    }
}

impl OptionRight {
    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            OptionRight::Put => "put",
            OptionRight::Call => "call",
        }
    }
}

/// Display factor: the price that traders quote is the venue's price times this. An exact rational number in lowest
/// terms, above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DisplayFactor {
    numerator: u64,
    denominator: u64,
}

impl DisplayFactor {
    /// Prices are quoted as the venue sends them.
    pub const ONE: DisplayFactor = DisplayFactor {
        numerator: 1,
        denominator: 1,
    };

    /// The factor in lowest terms; `None` where one of the two is 0 or above `i64::MAX`.
    ///
    /// ```
    /// use touchline_types::DisplayFactor;
    /// let factor = DisplayFactor::new(10_000_000, 1_000_000_000).unwrap();
    /// assert_eq!((factor.numerator(), factor.denominator()), (1, 100));
    /// assert_eq!(DisplayFactor::new(0, 1), None);
    /// ```
    pub const fn new(numerator: u64, denominator: u64) -> Option<DisplayFactor> {
        const MAX: u64 = i64::MAX as u64;
        if numerator == 0 || denominator == 0 || numerator > MAX || denominator > MAX {
            return None;
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        Some(DisplayFactor {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        })
    }

    /// Numerator.
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// Denominator.
    pub const fn denominator(self) -> u64 {
        self.denominator
    }

    /// The venue's price as traders quote it; `None` where it is not a whole count of 1e-9, does not fit, or there is
    /// no price.
    pub fn display(self, price: Price) -> Option<Price> {
        scaled(price, self.numerator, self.denominator)
    }

    /// The venue's price as traders quote it, to the nearest count of 1e-9, halves away from zero; NULL where it does not fit
    /// or there is no price.
    pub fn display_nearest(self, price: Price) -> Price {
        nearest(price, self.numerator, self.denominator)
    }

    /// The way back, likewise.
    pub fn venue_nearest(self, price: Price) -> Price {
        nearest(price, self.denominator, self.numerator)
    }

    /// The price as traders quote it as the venue wants it in an order; `None` as for [`display`](Self::display).
    pub fn venue(self, price: Price) -> Option<Price> {
        scaled(price, self.denominator, self.numerator)
    }
}

/// `price * numerator / denominator` to the nearest, halves away from zero; NULL where it does not fit, and of NULL.
fn nearest(price: Price, numerator: u64, denominator: u64) -> Price {
    if price.is_null() {
        return Price::NULL;
    }
    let product = i128::from(price.0) * i128::from(numerator);
    let divisor = i128::from(denominator);
    let half = divisor / 2 * product.signum();
    i64::try_from((product + half) / divisor).map_or(Price::NULL, Price)
}

/// Fractional display of prices: traders quote whole points and `1/main`s, and parts of these in `1/sub`. Ten-year notes
/// are quoted in thirty-seconds and halves of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PriceFraction {
    /// Denominator of the main fraction, above 0: 32 for thirty-seconds.
    pub main: u8,
    /// Denominator of the sub-fraction; 0 or 1 if absent.
    pub sub: u8,
}

/// `1/32`, or `1/32 and 1/4 of it`.
impl fmt::Display for PriceFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1/{}", self.main)?;
        match self.sub {
            0 | 1 => Ok(()),
            sub => write!(f, " and 1/{sub} of it"),
        }
    }
}

fn scaled(price: Price, numerator: u64, denominator: u64) -> Option<Price> {
    if price.is_null() {
        return None;
    }
    let product = i128::from(price.0) * i128::from(numerator);
    if product % i128::from(denominator) != 0 {
        return None;
    }
    let price = i64::try_from(product / i128::from(denominator)).ok()?;
    Some(Price(price)).filter(|price| !price.is_null())
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for DisplayFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            _ => write!(f, "{}/{}", self.numerator, self.denominator),
        }
    }
}

/// One leg of a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leg {
    /// The venue's identifier of the leg's instrument; [`Leg::NO_SECURITY_ID`] if it is not part of the
    /// publication.
    pub security_id: i64,
    /// How many contracts of the leg one contract of the combination is; the venues state 1 or more.
    pub ratio: i32,
    /// Side of the leg for a buyer of the combination: [`Side::Bid`] buys it.
    pub side: Side,
}

impl Leg {
    /// Identifier of an instrument that a venue names by its symbol alone, and that is not part of the publication: it
    /// is not selected, or not listed yet.
    pub const NO_SECURITY_ID: i64 = 0;
}

/// The legs of a combination, in the venue's order: at most [`LEGS_MAX`] are kept, and how many there are is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Legs {
    /// Legs; elements behind `stored` are [`Legs::NO_LEG`].
    legs: [Leg; LEGS_MAX],
    stored: u8,
    /// How many the venue stated, `stored` or more; `u8::MAX` for as many or more.
    count: u8,
}

/// Legs that are kept of an instrument.
pub const LEGS_MAX: usize = 8;

impl Legs {
    const NO_LEG: Leg = Leg {
        security_id: 0,
        ratio: 0,
        side: Side::Bid,
    };

    /// No legs.
    pub const NONE: Legs = Legs {
        legs: [Self::NO_LEG; LEGS_MAX],
        stored: 0,
        count: 0,
    };

    /// Adds a leg. A leg beyond the limit is only counted.
    pub fn push(&mut self, leg: Leg) {
        if let Some(place) = self.legs.get_mut(usize::from(self.stored)) {
            *place = leg;
            self.stored += 1;
        }
        self.count = self.count.saturating_add(1);
    }

    /// Sets the instrument of a leg that is kept.
    pub fn set_security_id(&mut self, place: usize, security_id: i64) {
        if let Some(leg) = self.legs[..usize::from(self.stored)].get_mut(place) {
            leg.security_id = security_id;
        }
    }

    /// Stored legs.
    pub fn as_slice(&self) -> &[Leg] {
        &self.legs[..self.len()]
    }

    /// How many are kept.
    #[expect(
        clippy::len_without_is_empty,
        reason = "`count` says whether there are any"
    )]
    pub const fn len(&self) -> usize {
        self.stored as usize
    }

    /// How many the venue stated; `u8::MAX` for as many or more.
    pub const fn count(&self) -> u8 {
        self.count
    }

    /// Sets the number of legs that the venue stated, if that is more than are kept.
    pub fn set_count(&mut self, count: u8) {
        self.count = self.count.max(count);
    }
}

impl fmt::Debug for Legs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Legs")
            .field("legs", &self.as_slice())
            .field("count", &self.count)
            .finish()
    }
}

/// Reference data of an instrument. A field that the venue does not state has the null of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceData {
    /// The venue; with the security id it names the instrument on every bus and after every restart.
    pub venue: Code,
    /// Kind of contract.
    pub security_type: Option<SecurityType>,
    /// Currency of its prices, as the venue writes it (ISO 4217, or a coin).
    pub currency: Code,
    /// Currency of its settlement.
    pub settlement_currency: Code,
    /// From the venue's price to the price that traders quote; `None` if not stated: then both are the same.
    pub display_factor: Option<DisplayFactor>,
    /// Fractions that prices are quoted in; `None` if prices are quoted as decimals, or the venue states no fraction.
    pub price_fraction: Option<PriceFraction>,
    /// Contract size, or multiplier of the price, in 1e-9 of its unit.
    pub multiplier: Price,
    /// Quantities are whole multiples of it.
    pub lot: Quantity,
    /// Smallest quantity of an order.
    pub quantity_min: Quantity,
    /// Largest quantity of an order.
    pub quantity_max: Quantity,
    /// End of trading, nanoseconds since the Unix epoch; 0 if unlimited or not stated.
    pub expiry_ns: u64,
    /// Maturity as `YYYYMMDD`, with day 00 for a month; 0 if absent.
    pub maturity: u32,
    /// Strike of an option.
    pub strike: Price,
    /// Right of an option.
    pub right: Option<OptionRight>,
    /// The venue's identifier of the underlying instrument; `None` if absent.
    pub underlying: Option<i64>,
    /// No price is accepted above it.
    pub high_limit: Price,
    /// No price is accepted below it.
    pub low_limit: Price,
    /// Trading status as of the definition: the venue's code, as in [`TradingStatus`](crate::TradingStatus); 255 where
    /// not stated.
    pub status: u8,
    /// Legs of a combination.
    pub legs: Legs,
}

impl ReferenceData {
    /// Reference data of an instrument for which the venue states no field.
    pub const NULL: ReferenceData = ReferenceData {
        venue: Code::EMPTY,
        security_type: None,
        currency: Code::EMPTY,
        settlement_currency: Code::EMPTY,
        display_factor: None,
        price_fraction: None,
        multiplier: Price::NULL,
        lot: Quantity::NULL,
        quantity_min: Quantity::NULL,
        quantity_max: Quantity::NULL,
        expiry_ns: 0,
        maturity: 0,
        strike: Price::NULL,
        right: None,
        underlying: None,
        high_limit: Price::NULL,
        low_limit: Price::NULL,
        status: u8::MAX,
        legs: Legs::NONE,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_factors_are_exact_both_ways() {
        // The grains: a cent is 0.01, prices come in cents.
        let cents = DisplayFactor::new(10_000_000, 1_000_000_000).unwrap();
        let (venue, quoted) = (Price(450_025_000_000_000), Price(4_500_250_000_000));
        assert_eq!(cents.display(venue), Some(quoted));
        assert_eq!(cents.venue(quoted), Some(venue));
        assert_eq!(cents.display(Price(1)), None, "a hundredth of 1e-9");
        assert_eq!(cents.venue(Price(i64::MAX - 1)), None, "it does not fit");
        assert_eq!(cents.display(Price::NULL), None);
        let third = DisplayFactor::new(2, 6).unwrap();
        assert_eq!(third.display(Price(-3)), Some(Price(-1)));
        assert_eq!(third.venue(Price(-1)), Some(Price(-3)));
        for (venue, quoted) in [(1, 0), (2, 1), (-1, 0), (-2, -1), (100, 33)] {
            assert_eq!(third.display_nearest(Price(venue)), Price(quoted));
        }
        assert_eq!(third.venue_nearest(Price(33)), Price(99));
        assert_eq!(third.venue_nearest(Price(i64::MAX - 1)), Price::NULL);
        assert_eq!(
            DisplayFactor::ONE.venue(Price(i64::MIN)),
            Some(Price(i64::MIN))
        );
    }

    #[test]
    fn legs_beyond_the_limit_are_counted() {
        let leg = |security_id| Leg {
            security_id,
            ratio: 1,
            side: Side::Ask,
        };
        let mut legs = Legs::NONE;
        for security_id in 0..300 {
            legs.push(leg(security_id));
        }
        assert_eq!((legs.len(), legs.count()), (LEGS_MAX, u8::MAX));
        let stored: [i64; LEGS_MAX] =
            core::array::from_fn(|place| legs.as_slice()[place].security_id);
        assert_eq!(stored, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
