//! The venue's list of instruments (35=y) as definitions.

use super::counters::Counters;
use super::instruments::{Book, Instruments};
use super::settings::Chosen;
use touchline_types::{Depth, Event, Price, Symbol};
use touchline_wire::fix::{Field, Malformed, Message, decimal, tag};

const SECURITY_TYPE: u32 = 167;
const CURRENCY: u32 = 15;
const MIN_PRICE_INCREMENT: u32 = 969;

/// What the list says of one instrument.
#[derive(Clone, Copy, Debug, Default)]
struct Security<'a> {
    symbol: &'a [u8],
    kind: &'a [u8],
    currency: &'a [u8],
    tick: Option<&'a [u8]>,
}

/// Takes a list, or a part of one: instruments that are wanted are defined.
///
/// # Errors
/// A field cannot be read; what came before it is taken.
pub fn take(
    message: &Message<'_>,
    instruments: &mut Instruments,
    chosen: &Chosen,
    depth: Depth,
    counters: &mut Counters,
    events: &mut Vec<Event>,
) -> Result<(), Malformed> {
    let mut security = Security::default();
    let mut taken = |security: Security<'_>| {
        if !security.symbol.is_empty() {
            define(security, instruments, chosen, depth, counters, events);
        }
    };
    for field in message.fields() {
        let Field { tag, value } = field?;
        match tag {
            // The first field of each instrument.
            tag::SYMBOL => {
                taken(security);
                security = Security {
                    symbol: value,
                    ..Security::default()
                };
            }
            SECURITY_TYPE => security.kind = value,
            CURRENCY => security.currency = value,
            MIN_PRICE_INCREMENT => security.tick = Some(value),
            _ => {}
        }
    }
    taken(security);
    Ok(())
}

fn define(
    security: Security<'_>,
    instruments: &mut Instruments,
    chosen: &Chosen,
    depth: Depth,
    counters: &mut Counters,
    events: &mut Vec<Event>,
) {
    counters.securities += 1;
    let Ok(name) = std::str::from_utf8(security.symbol) else {
        counters.instruments_refused += 1;
        return;
    };
    if !chosen.is(name) {
        return;
    }
    let Some(row) = instruments.add(name, depth) else {
        counters.instruments_refused += 1;
        return;
    };
    row.is_listed = true;
    let definition = &mut row.definition;
    let was = *definition;
    definition.group = Symbol::new(security.kind);
    definition.asset = Symbol::new(security.currency);
    let tick = security.tick.and_then(|text| decimal(text).ok());
    let tick = tick.and_then(|tick| tick.scaled(Price::DECIMALS as u8).ok());
    definition.tick = tick.map_or(Price::NULL, Price);
    definition.defined = true;
    if *definition != was && row.book != Book::Live {
        events.push(Event::Defined {
            instrument: definition.instrument,
            price: row.validity(),
            orders: touchline_types::Validity::Recovering,
        });
    }
}
