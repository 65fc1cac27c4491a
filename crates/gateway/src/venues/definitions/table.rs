//! A line of our table: a JSON object with the keys of a definition in `tail --json`, prices as the venue sends them.

use super::stated::Stated;
use serde_json::{Map, Value};
use touchline_instruments::KnownDefinition;
use touchline_settings::nearest;
use touchline_types::{
    Code, Depth, DisplayFactor, Instrument, InstrumentDefinition, Leg, OptionRight, Price,
    PriceFraction, Quantity, ReferenceData, SecurityType, Side, Symbol,
};
use touchline_wire::fix::decimal;

/// Keys that are read, and those that state nothing further.
const KEYS: &[&str] = &[
    "security_id",
    "symbol",
    "group",
    "asset",
    "depth",
    "implied_depth",
    "quantity_exponent",
    "defined",
    "tick",
    "venue",
    "security_type",
    "currency",
    "settlement_currency",
    "right",
    "display_factor",
    "price_fraction",
    "multiplier",
    "strike",
    "high_limit",
    "low_limit",
    "lot",
    "quantity_min",
    "quantity_max",
    "status",
    "status_name",
    "expiry_ns",
    "maturity",
    "underlying",
    "leg_count",
    "legs",
];

const PRICE: &str = "a decimal with at most nine digits behind the point, in quotes";

/// Reads a line.
///
/// # Errors
/// The key, its value, and what to give.
pub fn read_line(line: &[u8]) -> Result<Stated, String> {
    let object: Map<String, Value> = serde_json::from_slice(line)
        .map_err(|error| format!("not a JSON object: {error}; give one object a line"))?;
    if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let meant = nearest(key, KEYS.iter().copied());
        let cure = meant.map_or("leave it out".to_owned(), |meant| {
            format!("did you mean {meant}?")
        });
        return Err(format!("key {key} is unknown; {cure}"));
    }
    let fields = Fields(object);
    if fields.get("defined", "true or false", Value::as_bool)? == Some(false) {
        return Ok(Stated::Nothing);
    }
    let security_id = fields.get("security_id", "the venue's number of the instrument", whole)?;
    let security_id =
        security_id.ok_or("security_id is missing: give the venue's number of the instrument")?;
    let symbol = fields.symbol("symbol")?;
    if symbol.is_empty() {
        return Err("symbol is missing: give the venue's name of the instrument".to_owned());
    }
    const NOT_STATED: Depth = Depth {
        direct: 0,
        implied: 0,
    };
    let exponent = fields
        .get("quantity_exponent", "a number from -18 to 18", |value| {
            ranged(value, -18, 18)
        })?
        .unwrap_or(0) as i8;
    let definition = InstrumentDefinition {
        symbol,
        group: fields.symbol("group")?,
        asset: fields.symbol("asset")?,
        tick: fields.price("tick")?,
        quantity_exponent: exponent,
        defined: true,
        reference: fields.reference(exponent)?,
        ..InstrumentDefinition::unknown(Instrument(0), security_id, NOT_STATED)
    };
    let direct = "a number from 0 to 65534, or null for every level";
    let direct_depth = match fields.0.get("depth") {
        Some(Value::Null) => Some(Depth::ALL),
        _ => fields
            .get("depth", direct, |value| ranged(value, 0, 65_534))?
            .map(|levels| levels as u16),
    };
    let implied = fields.get("implied_depth", "a number from 0 to 255", |value| {
        ranged(value, 0, 255)
    })?;
    let known = KnownDefinition {
        definition,
        direct_depth,
        implied_depth: implied.map(|levels| levels as u8),
    };
    Ok(Stated::Definition(Box::new(known), None))
}

/// Values by key.
struct Fields(Map<String, Value>);

impl Fields {
    /// The value of a key; `None` if it is absent or null.
    fn get<T>(
        &self,
        key: &str,
        form: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match read(value) {
                Some(read) => Ok(Some(read)),
                None => Err(format!("{key} is {value}: give {form}")),
            },
        }
    }

    fn symbol(&self, key: &str) -> Result<Symbol, String> {
        let read = |value: &Value| {
            let text = value.as_str()?;
            let symbol = Symbol::new(text.as_bytes());
            (symbol.as_str() == text).then_some(symbol)
        };
        let symbol = self.get(key, "a text of at most 32 printable characters", read)?;
        Ok(symbol.unwrap_or(Symbol::EMPTY))
    }

    fn code(&self, key: &str) -> Result<Code, String> {
        let read = |value: &Value| Code::new(value.as_str()?.as_bytes());
        let code = self.get(key, "a text of at most 16 printable characters", read)?;
        Ok(code.unwrap_or_default())
    }

    fn price(&self, key: &str) -> Result<Price, String> {
        let price = self.get(key, PRICE, |value| {
            let text = text(value)?;
            let lowest = Price(i64::MIN);
            // The reader of FIX's numbers has no place for the digits of this one.
            if text == lowest.to_string() {
                return Some(lowest);
            }
            let count = decimal(text.as_bytes()).ok()?.scaled(9).ok()?;
            Some(Price(count))
        })?;
        Ok(price.unwrap_or(Price::NULL))
    }

    fn quantity(&self, key: &str, exponent: i8) -> Result<Quantity, String> {
        let form = format!("a multiple of 10^{exponent}, which quantity_exponent states");
        let quantity = self.get(key, &form, |value| {
            let decimal = decimal(text(value)?.as_bytes()).ok()?;
            let unit = 10_i64.checked_pow(exponent.max(0).unsigned_abs().into())?;
            let count = decimal.scaled(exponent.min(0).unsigned_abs()).ok()?;
            (count % unit == 0).then_some(Quantity(count / unit))
        })?;
        Ok(quantity.unwrap_or(Quantity::NULL))
    }

    /// One of a list of words.
    fn word<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<Option<T>, String> {
        let names: Vec<_> = all.iter().map(|one| name(*one)).collect();
        let form = format!("one of {}", names.join(", "));
        self.get(key, &form, |value| {
            let word = value.as_str()?;
            all.iter().copied().find(|one| name(*one) == word)
        })
    }

    fn reference(&self, exponent: i8) -> Result<ReferenceData, String> {
        let factor = "two whole numbers above 0, as [1, 100], or a decimal above 0";
        let fraction = "two numbers up to 255, the first above 0, as [32, 4]";
        let time = "nanoseconds since 1970";
        let number = |value: &Value| text(value)?.parse().ok();
        Ok(ReferenceData {
            venue: self.code("venue")?,
            security_type: self.word("security_type", SecurityType::ALL, SecurityType::name)?,
            currency: self.code("currency")?,
            settlement_currency: self.code("settlement_currency")?,
            display_factor: self.get("display_factor", factor, display_factor)?,
            price_fraction: self.get("price_fraction", fraction, price_fraction)?,
            multiplier: self.price("multiplier")?,
            lot: self.quantity("lot", exponent)?,
            quantity_min: self.quantity("quantity_min", exponent)?,
            quantity_max: self.quantity("quantity_max", exponent)?,
            expiry_ns: self.get("expiry_ns", time, number)?.unwrap_or(0),
            maturity: self
                .get("maturity", "a date as 20240920, or 20240900", |value| {
                    ranged(value, 0, u32::MAX.into())
                })?
                .unwrap_or(0) as u32,
            strike: self.price("strike")?,
            right: self.word("right", OptionRight::ALL, OptionRight::name)?,
            underlying: self.get("underlying", "the venue's number of an instrument", whole)?,
            high_limit: self.price("high_limit")?,
            low_limit: self.price("low_limit")?,
            status: self
                .get("status", "a code from 0 to 255", |value| {
                    ranged(value, 0, 255)
                })?
                .map_or(u8::MAX, |status| status as u8),
            legs: self.legs()?,
        })
    }

    fn legs(&self) -> Result<touchline_types::Legs, String> {
        let form = "a list of legs, each as [security_id, \"bid\" or \"ask\", ratio]";
        let legs = self.get("legs", form, |value| {
            let mut legs = touchline_types::Legs::NONE;
            for leg in value.as_array()? {
                legs.push(self::leg(leg)?);
            }
            Some(legs)
        })?;
        let mut legs = legs.unwrap_or(touchline_types::Legs::NONE);
        let count = self.get("leg_count", "a number from 0 to 255", |value| {
            ranged(value, 0, 255)
        })?;
        legs.set_count(count.unwrap_or(0) as u8);
        Ok(legs)
    }
}

/// The text of a text or a number.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn whole(value: &Value) -> Option<i64> {
    text(value)?.parse().ok()
}

fn ranged(value: &Value, min: i64, max: i64) -> Option<i64> {
    value.as_i64().filter(|number| (min..=max).contains(number))
}

fn display_factor(value: &Value) -> Option<DisplayFactor> {
    if let Some(pair) = value.as_array() {
        let [numerator, denominator] = pair.as_slice() else {
            return None;
        };
        return DisplayFactor::new(numerator.as_u64()?, denominator.as_u64()?);
    }
    let decimal = decimal(text(value)?.as_bytes()).ok()?;
    let denominator = 10_u64.checked_pow(decimal.decimals.into())?;
    DisplayFactor::new(u64::try_from(decimal.mantissa).ok()?, denominator)
}

fn price_fraction(value: &Value) -> Option<PriceFraction> {
    let [main, sub] = value.as_array()?.as_slice() else {
        return None;
    };
    Some(PriceFraction {
        main: ranged(main, 1, 255)? as u8,
        sub: ranged(sub, 0, 255)? as u8,
    })
}

fn leg(value: &Value) -> Option<Leg> {
    let [security_id, side, ratio] = value.as_array()?.as_slice() else {
        return None;
    };
    Some(Leg {
        security_id: whole(security_id)?,
        ratio: i32::try_from(ratio.as_i64()?).ok()?,
        side: match side.as_str()? {
            "bid" => Side::Bid,
            "ask" => Side::Ask,
            _ => return None,
        },
    })
}
