//! Random quotes with extreme values in every field, for tests of a publication.

use crate::random::Random;
use crate::updates::{fixed_text, instrument, number, validity, word};
use touchline_types::{Price, Quantity, Quote, QuoteAction, QuoteChange, QuoteStream, Side};

/// Random quote stream.
pub fn quote_stream(random: &mut Random) -> QuoteStream {
    QuoteStream {
        instrument: instrument(random),
        security_id: number(random),
        provider: fixed_text(random),
        value_date: word(random) as u32,
        validity: validity(random),
        is_unquoted: random.chance(0.5),
    }
}

/// Up to `max` quotes.
pub fn quotes(random: &mut Random, max: usize) -> Vec<Quote> {
    let count = random.index(max + 1);
    (0..count).map(|_| quote(random)).collect()
}

/// Up to `max` changes of quotes.
pub fn quote_changes(random: &mut Random, max: usize) -> Vec<QuoteChange> {
    const ACTIONS: [QuoteAction; 3] = [QuoteAction::Set, QuoteAction::Remove, QuoteAction::Clear];
    let count = random.index(max + 1);
    (0..count)
        .map(|_| QuoteChange {
            action: *random.pick(&ACTIONS),
            // A change was set by its message.
            quote: Quote {
                set_ns: 0,
                ..quote(random)
            },
        })
        .collect()
}

fn quote(random: &mut Random) -> Quote {
    Quote {
        entry: word(random) as u32,
        side: *random.pick(&Side::BOTH),
        price: Price(number(random)),
        quantity: Quantity(number(random)),
        quantity_min: Quantity(number(random)),
        expiry_ns: word(random),
        priority: word(random),
        set_ns: word(random),
        tier: small(random),
        is_indicative: random.chance(0.5),
        is_full_amount: random.chance(0.5),
        quote_id: fixed_text(random),
    }
}

/// Any number except the null value.
fn small(random: &mut Random) -> Option<u16> {
    Some(word(random) as u16).filter(|code| *code != u16::MAX)
}
