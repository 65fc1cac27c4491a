//! Encoding and decoding of instrument definitions.

use super::layout::{self, Fields, Text};
use super::schema::NO_SECURITY_ID;
use super::source::{Source, text};
use super::write::{Tag, fixed, group, group_len, start};
use super::{Entry, Group, Malformed, Sink, code};
use crate::{
    Depth, DisplayFactor, Instrument, InstrumentDefinition, Leg, Legs, OptionRight, Price,
    PriceFraction, Quantity, ReferenceData, SecurityType, Side, Symbol,
};
use zerocopy::{FromZeros, IntoBytes};

/// An [`InstrumentDefinition`] in a message.
#[derive(Clone, Copy, Debug)]
pub struct DefinitionView<'a> {
    /// Instrument.
    pub instrument: Instrument,
    /// In the length of the writer's version.
    block: &'a [u8],
    /// Empty for a writer of versions 0 and 1.
    legs: Group<'a, layout::Leg>,
}

/// Version of the schema that added the legs.
const LEGS_SINCE: u16 = 2;

/// Bytes of a definition's message.
pub(super) const fn len(definition: &InstrumentDefinition) -> usize {
    fixed::<layout::InstrumentDefinition>()
        + group_len::<layout::Leg>(definition.reference.legs.len())
}

/// Writes a definition.
pub(super) fn write(definition: &InstrumentDefinition, tag: &Tag<'_>, out: &mut impl Sink) {
    start(block(definition, tag), out);
    group::<layout::Leg>(definition.reference.legs.as_slice(), out);
}

fn block(definition: &InstrumentDefinition, tag: &Tag<'_>) -> layout::InstrumentDefinition {
    let (head, trace) = tag.of(definition.instrument);
    let reference = &definition.reference;
    let (numerator, denominator) = match reference.display_factor {
        Some(factor) => (factor.numerator(), factor.denominator()),
        None => (0, 0),
    };
    layout::InstrumentDefinition {
        head,
        trace,
        venue_id: definition.security_id.into(),
        tick: definition.tick.0.into(),
        symbol: symbol_text(&definition.symbol),
        group: symbol_text(&definition.group),
        asset: symbol_text(&definition.asset),
        direct_depth: definition.depth.direct.min(u8::MAX.into()) as u8,
        implied_depth: definition.depth.implied,
        quantity_exponent: definition.quantity_exponent,
        defined: u8::from(definition.defined),
        direct_levels: definition.depth.direct.into(),
        main_fraction: reference.price_fraction.map_or(0, |fraction| fraction.main),
        sub_fraction: reference.price_fraction.map_or(0, |fraction| fraction.sub),
        // Neither is above `i64::MAX`.
        display_numerator: (numerator as i64).into(),
        display_denominator: (denominator as i64).into(),
        multiplier: reference.multiplier.0.into(),
        lot: reference.lot.0.into(),
        quantity_min: reference.quantity_min.0.into(),
        quantity_max: reference.quantity_max.0.into(),
        strike: reference.strike.0.into(),
        high_limit: reference.high_limit.0.into(),
        low_limit: reference.low_limit.0.into(),
        underlying: reference.underlying.unwrap_or(NO_SECURITY_ID).into(),
        expiry_ns: reference.expiry_ns.into(),
        maturity: reference.maturity.into(),
        security_type: reference
            .security_type
            .map_or(code::NULL, |kind| kind as u8),
        option_right: reference.right.map_or(code::NULL, |right| right as u8),
        status_code: reference.status,
        leg_count: reference.legs.count(),
        venue_name: Text(reference.venue.bytes()),
        currency: Text(reference.currency.bytes()),
        settlement_currency: Text(reference.settlement_currency.bytes()),
    }
}

impl<'a> DefinitionView<'a> {
    /// Checks a definition.
    pub(super) fn parse(source: &mut Source<'a>) -> Result<DefinitionView<'a>, Malformed> {
        if source.block.len() < layout::InstrumentDefinition::BASE_BYTES {
            return Err(Malformed::BlockTooShort);
        }
        let view = DefinitionView {
            instrument: source.instrument()?,
            block: source.block,
            legs: match source.version {
                LEGS_SINCE.. => source.group()?,
                _ => Group::EMPTY,
            },
        };
        view.read()?;
        Ok(view)
    }

    /// The definition.
    pub fn value(&self) -> InstrumentDefinition {
        self.read()
            .expect("a definition is checked when its message is parsed")
    }

    fn read(&self) -> Result<InstrumentDefinition, Malformed> {
        let block = of_any_version(self.block);
        if block.defined > 1 {
            return Err(Malformed::Value("defined"));
        }
        Ok(InstrumentDefinition {
            instrument: self.instrument,
            security_id: block.venue_id.get(),
            symbol: symbol(&block.symbol),
            group: symbol(&block.group),
            asset: symbol(&block.asset),
            depth: Depth {
                // A writer of version 0 has only the first, and the second reads as 0.
                direct: block.direct_levels.get().max(block.direct_depth.into()),
                implied: block.implied_depth,
            },
            tick: Price(block.tick.get()),
            quantity_exponent: block.quantity_exponent,
            defined: block.defined != 0,
            reference: self.reference(&block)?,
        })
    }

    fn reference(&self, block: &layout::InstrumentDefinition) -> Result<ReferenceData, Malformed> {
        let underlying = block.underlying.get();
        let right = code::optional(block.option_right, OptionRight::from_code);
        Ok(ReferenceData {
            venue: text(&block.venue_name, "venueName")?,
            security_type: (block.security_type != code::NULL).then(|| {
                SecurityType::from_code(block.security_type).unwrap_or(SecurityType::Other)
            }),
            currency: text(&block.currency, "currency")?,
            settlement_currency: text(&block.settlement_currency, "settlementCurrency")?,
            display_factor: display_factor(block)?,
            price_fraction: (block.main_fraction != 0).then_some(PriceFraction {
                main: block.main_fraction,
                sub: block.sub_fraction,
            }),
            multiplier: Price(block.multiplier.get()),
            lot: Quantity(block.lot.get()),
            quantity_min: Quantity(block.quantity_min.get()),
            quantity_max: Quantity(block.quantity_max.get()),
            expiry_ns: block.expiry_ns.get(),
            maturity: block.maturity.get(),
            strike: Price(block.strike.get()),
            right: right.ok_or(Malformed::Value("optionRight"))?,
            underlying: (underlying != NO_SECURITY_ID).then_some(underlying),
            high_limit: Price(block.high_limit.get()),
            low_limit: Price(block.low_limit.get()),
            status: block.status_code,
            legs: self.legs(block.leg_count),
        })
    }

    fn legs(&self, count: u8) -> Legs {
        let mut legs = Legs::NONE;
        for leg in self.legs.iter() {
            legs.push(leg);
        }
        legs.set_count(count);
        legs
    }
}

fn display_factor(
    block: &layout::InstrumentDefinition,
) -> Result<Option<DisplayFactor>, Malformed> {
    let (numerator, denominator) = (
        block.display_numerator.get(),
        block.display_denominator.get(),
    );
    if (numerator, denominator) == (0, 0) {
        return Ok(None);
    }
    let factor = match (u64::try_from(numerator), u64::try_from(denominator)) {
        (Ok(numerator), Ok(denominator)) => DisplayFactor::new(numerator, denominator),
        _ => None,
    };
    factor.map(Some).ok_or(Malformed::Value("displayNumerator"))
}

/// The known part of the block; fields that an older writer lacks have the null of their type.
fn of_any_version(bytes: &[u8]) -> layout::InstrumentDefinition {
    let mut whole = layout::InstrumentDefinition {
        multiplier: Price::NULL.0.into(),
        lot: Quantity::NULL.0.into(),
        quantity_min: Quantity::NULL.0.into(),
        quantity_max: Quantity::NULL.0.into(),
        strike: Price::NULL.0.into(),
        high_limit: Price::NULL.0.into(),
        low_limit: Price::NULL.0.into(),
        underlying: NO_SECURITY_ID.into(),
        security_type: code::NULL,
        option_right: code::NULL,
        status_code: code::NULL,
        ..layout::InstrumentDefinition::new_zeroed()
    };
    for (place, byte) in whole.as_mut_bytes().iter_mut().zip(bytes) {
        *place = *byte;
    }
    whole
}

impl Entry for layout::Leg {
    type Value = Leg;

    fn of(leg: &Leg) -> Self {
        layout::Leg {
            leg_id: leg.security_id.into(),
            ratio: leg.ratio.into(),
            side: leg.side as u8,
            reserved: layout::Zeros::NEW,
        }
    }

    fn check(&self) -> Result<(), Malformed> {
        Side::from_code(self.side)
            .map(drop)
            .ok_or(Malformed::Value("side"))
    }

    fn value(&self) -> Leg {
        Leg {
            security_id: self.leg_id.get(),
            ratio: self.ratio.get(),
            side: Side::from_code(self.side).unwrap_or(Side::Bid),
        }
    }
}

fn symbol_text(symbol: &Symbol) -> Text<32> {
    let mut bytes = [0; 32];
    for (place, byte) in bytes.iter_mut().zip(symbol.as_str().bytes()) {
        *place = byte;
    }
    Text(bytes)
}

fn symbol(text: &Text<32>) -> Symbol {
    let bytes = &text.0;
    let end = bytes.iter().position(|byte| *byte == 0);
    Symbol::new(&bytes[..end.unwrap_or(bytes.len())])
}
