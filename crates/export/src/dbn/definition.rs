//! A definition as a record of 520 bytes. A field that the venue does not state is undefined, as the format says.

use super::layout::{Bytes, Head, UNDEFINED_TIME, rtype, side};
use touchline_types::{
    DisplayFactor, InstrumentDefinition, OptionRight, Price, Quantity, SecurityType,
};

/// Bytes of a symbol.
const SYMBOL_BYTES: usize = 71;
const UNDEFINED_I32: [u8; 4] = i32::MAX.to_le_bytes();
const UNDEFINED_U32: [u8; 4] = u32::MAX.to_le_bytes();
const UNDEFINED_PRICE: [u8; 8] = i64::MAX.to_le_bytes();

/// Appends the record; `action` is `A`, `M` or `D`.
///
/// # Errors
/// The kind of contract has no class, which the format requires.
pub fn definition(
    bytes: &mut Vec<u8>,
    head: &Head,
    of: &InstrumentDefinition,
    action: u8,
) -> Result<(), String> {
    let class = class(of)?;
    let reference = &of.reference;
    let mut record = Bytes::begin(bytes, rtype::DEFINITION, head);
    record.put(head.ts_recv.to_le_bytes());
    record.put(of.tick.0.to_le_bytes());
    record.put(display_factor(reference.display_factor).to_le_bytes());
    record.put(time(reference.expiry_ns)).put(time(0));
    record.put(reference.high_limit.0.to_le_bytes());
    record.put(reference.low_limit.0.to_le_bytes());
    // Largest variation, unit of measure, amount of the increment, ratio of prices.
    record
        .put(UNDEFINED_PRICE)
        .put(reference.multiplier.0.to_le_bytes());
    record.put(UNDEFINED_PRICE).put(UNDEFINED_PRICE);
    record.put(reference.strike.0.to_le_bytes());
    record.put((of.security_id as u64).to_le_bytes());
    // Price and delta of a leg; attributes.
    record
        .put(UNDEFINED_PRICE)
        .put(UNDEFINED_PRICE)
        .put(UNDEFINED_I32);
    let underlying = reference.underlying.and_then(|id| u32::try_from(id).ok());
    record.put(underlying.unwrap_or(0).to_le_bytes());
    record.put(i32::from(of.depth.implied).to_le_bytes());
    record.put(i32::from(of.depth.direct).to_le_bytes());
    record.put(UNDEFINED_U32);
    let whole = |quantity: Quantity| whole(of, quantity);
    record.put(whole(reference.quantity_max).map_or(UNDEFINED_U32, u32::to_le_bytes));
    let lot = whole(reference.lot).and_then(|lot| i32::try_from(lot).ok());
    record.put(lot.map_or(UNDEFINED_I32, i32::to_le_bytes));
    record.put(UNDEFINED_I32).put(UNDEFINED_I32);
    record.put(whole(reference.quantity_min).map_or(UNDEFINED_U32, u32::to_le_bytes));
    // Multiplier, decay and size of the contract.
    record
        .put(UNDEFINED_I32)
        .put(UNDEFINED_I32)
        .put(UNDEFINED_I32);
    // Legs have records of their own in the format: none is written.
    record.zeros(4 * 6);
    record.put(i16::MAX.to_le_bytes());
    let [year, month, day] = maturity(reference.maturity);
    record.put(year.to_le_bytes());
    record
        .put(u16::MAX.to_le_bytes())
        .put(u16::MAX.to_le_bytes());
    record.zeros(2 * 2);
    record.text(reference.currency.as_str(), 4);
    record.text(reference.settlement_currency.as_str(), 4);
    record.zeros(6);
    record.text(of.symbol.as_str(), SYMBOL_BYTES);
    record.text(of.group.as_str(), 21);
    record.text(reference.venue.as_str(), 5);
    record.text(of.asset.as_str(), 11);
    record.zeros(7 + 7 + 31 + 21 + 4 + SYMBOL_BYTES);
    // Class, algorithm of matching, fractions.
    record.put([class, b' ', u8::MAX, u8::MAX, u8::MAX, u8::MAX]);
    record.put([action, month as u8, day as u8, u8::MAX, b'N']);
    record.put([i8::MAX as u8, i8::MAX as u8, u8::MAX, 0, side(None)]);
    record.zeros(17);
    record.end(520);
    Ok(())
}

/// Class of the instrument.
fn class(of: &InstrumentDefinition) -> Result<u8, String> {
    let reference = &of.reference;
    Ok(match (reference.security_type, reference.right) {
        (Some(SecurityType::Future), _) => b'F',
        (Some(SecurityType::Option), Some(OptionRight::Call)) => b'C',
        (Some(SecurityType::Option), Some(OptionRight::Put)) => b'P',
        (Some(SecurityType::FutureSpread), _) => b'S',
        (Some(SecurityType::OptionSpread), _) => b'T',
        (Some(SecurityType::Spot), _) => b'X',
        (Some(SecurityType::Stock), _) => b'K',
        (Some(SecurityType::Bond), _) => b'B',
        (Some(SecurityType::Index), _) => b'I',
        (kind, _) => {
            let kind = kind.map_or("not stated", SecurityType::name);
            return Err(format!(
                "its kind of contract ({kind}) has no instrument_class of DBN"
            ));
        }
    })
}

/// Price as traders quote it, of a price of 1.
fn display_factor(factor: Option<DisplayFactor>) -> i64 {
    const ONE: Price = Price(1_000_000_000);
    factor.map_or(ONE, |factor| factor.display_nearest(ONE)).0
}

fn time(ns: u64) -> [u8; 8] {
    match ns {
        0 => UNDEFINED_TIME.to_le_bytes(),
        ns => ns.to_le_bytes(),
    }
}

/// A quantity as a whole number.
fn whole(of: &InstrumentDefinition, quantity: Quantity) -> Option<u32> {
    let decimal = of.decimal(quantity)?;
    decimal.to_string().parse().ok()
}

/// Year, month and day; a part that is not stated is undefined.
fn maturity(yyyymmdd: u32) -> [u16; 3] {
    let part = |part: u32, undefined: u16| match part {
        0 => undefined,
        part => part as u16,
    };
    [
        part(yyyymmdd / 10_000, u16::MAX),
        part(yyyymmdd / 100 % 100, u8::MAX.into()),
        part(yyyymmdd % 100, u8::MAX.into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Depth, Instrument};

    #[test]
    fn a_class_is_never_guessed() {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        let mut of = InstrumentDefinition::unknown(Instrument(0), 5, depth);
        let written = |of: &InstrumentDefinition| {
            let mut bytes = Vec::new();
            definition(&mut bytes, &Head::default(), of, b'A').map(|()| bytes)
        };
        let why = written(&of).expect_err("no class");
        assert!(
            why.contains("not stated") && why.contains("instrument_class"),
            "{why}"
        );
        for (kind, right, class) in [
            (SecurityType::Future, None, Some(b'F')),
            (SecurityType::Option, Some(OptionRight::Put), Some(b'P')),
            (SecurityType::Option, None, None),
            (SecurityType::Repo, None, None),
            (SecurityType::Spot, None, Some(b'X')),
        ] {
            of.reference.security_type = Some(kind);
            of.reference.right = right;
            let record = written(&of).ok();
            assert_eq!(record.as_ref().map(|record| record[487]), class, "{kind:?}");
            assert_eq!(record.map(|record| record.len()), class.map(|_| 520));
        }
    }
}
