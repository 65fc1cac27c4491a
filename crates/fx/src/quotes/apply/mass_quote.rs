//! Mass quotes (i): changed fields of entries of several pairs.

use super::super::fields::Raw;
use super::{Apply, Draft, Key};
use touchline_fx_events::setup::Pair;
use touchline_types::{Id, Side};
use touchline_wire::fix::{Malformed, Message, tag, unsigned};

/// The fields of one entry.
#[derive(Debug, Clone, Copy)]
struct Fields<'a> {
    id: &'a [u8],
    price: [Raw<'a>; 2],
    size: [Raw<'a>; 2],
    expires: Raw<'a>,
}

impl Apply<'_> {
    /// i: set n is the n-th pair of the bank.
    pub(super) fn mass_quote(&mut self, message: &Message<'_>) {
        self.counters.quotes += 1;
        let (mut expires, mut pair, mut entry) = (None, None, None);
        for field in message.fields().filter_map(Result::ok) {
            if matches!(field.tag, tag::QUOTE_SET_ID | tag::QUOTE_ENTRY_ID) {
                self.mass_entry(pair, entry.take());
            }
            match field.tag {
                tag::QUOTE_SET_ID => pair = self.set_pair(field.value),
                tag::QUOTE_ENTRY_ID => {
                    entry = Some(Fields {
                        id: field.value,
                        price: [None; 2],
                        size: [None; 2],
                        expires,
                    });
                }
                other => match &mut entry {
                    Some(entry) => entry.take(other, field.value),
                    None if other == tag::VALID_UNTIL_TIME => expires = Some(field.value),
                    None => {}
                },
            }
        }
        self.mass_entry(pair, entry);
    }

    /// The pair of a set.
    fn set_pair(&mut self, number: &[u8]) -> Option<Pair> {
        let pairs = &self.setup.banks[self.bank].pairs;
        let number = unsigned(number)
            .ok()
            .and_then(|number| usize::try_from(number).ok());
        let pair = number
            .and_then(|number| pairs.get(number.checked_sub(1)?))
            .copied();
        match pair {
            Some(pair) => self.note_quoted(pair),
            None => self.counters.pairs_unknown += 1,
        }
        pair
    }

    fn mass_entry(&mut self, pair: Option<Pair>, entry: Option<Fields<'_>>) {
        let (Some(pair), Some(entry)) = (pair, entry) else {
            return;
        };
        let Some(id) = Id::new(entry.id) else {
            self.counters.ids_refused += 1;
            return;
        };
        for side in Side::BOTH {
            let (price, size) = (entry.price[side.index()], entry.size[side.index()]);
            if price.is_none() && size.is_none() {
                continue;
            }
            let key = Key::Mass(side, id);
            let known = self.books[pair].known(&key).map(|known| known.entry);
            if known.is_none() && (price.is_none() || size.is_none()) {
                self.counters.entries_unknown += 1;
                continue;
            }
            let draft = Draft {
                side,
                price,
                size,
                minimum: None,
                expires: entry.expires,
                is_firm: true,
                quote_id: None,
                request: Id::EMPTY,
                is_spot: !self.setup.pairs[pair].config.spot_date.is_empty(),
                is_dated: false,
                known,
            };
            self.set(pair, key, &draft);
        }
    }
}

/// Reads a mass quote to its end, before anything of it is applied.
///
/// # Errors
/// A field that is twice in an entry, an entry outside of a set, or more or fewer sets and entries than NoQuoteSets (296) and
/// NoQuoteEntries (295) state.
pub fn check(message: &Message<'_>) -> Result<(), Malformed> {
    let (mut sets, mut entries, mut seen) = (None, None, 0);
    for field in message.fields() {
        let field = field?;
        let bit = match field.tag {
            tag::NO_QUOTE_SETS | tag::NO_QUOTE_ENTRIES => {
                let is_sets = field.tag == tag::NO_QUOTE_SETS;
                let count = if is_sets { &mut sets } else { &mut entries };
                if count.replace(unsigned(field.value)?).is_some() {
                    return Err(Malformed::Repeated);
                }
                continue;
            }
            tag::QUOTE_SET_ID => {
                if entries.take().is_some_and(|left| left > 0) {
                    return Err(Malformed::Group);
                }
                take_one(&mut sets)?;
                seen = 0;
                continue;
            }
            tag::QUOTE_ENTRY_ID => {
                take_one(&mut entries)?;
                seen = 0;
                continue;
            }
            tag::BID_PX => 1,
            tag::BID_SPOT_RATE => 1 << 1,
            tag::OFFER_PX => 1 << 2,
            tag::OFFER_SPOT_RATE => 1 << 3,
            tag::BID_SIZE => 1 << 4,
            tag::OFFER_SIZE => 1 << 5,
            tag::VALID_UNTIL_TIME => 1 << 6,
            _ => 0,
        };
        if seen & bit != 0 {
            return Err(Malformed::Repeated);
        }
        seen |= bit;
    }
    match (sets, entries.unwrap_or(0)) {
        (Some(0), 0) => Ok(()),
        _ => Err(Malformed::Group),
    }
}

/// Takes one set or entry of those that were counted.
fn take_one(left: &mut Option<u64>) -> Result<(), Malformed> {
    let rest = left.and_then(|left| left.checked_sub(1));
    *left = Some(rest.ok_or(Malformed::Group)?);
    Ok(())
}

impl<'a> Fields<'a> {
    fn take(&mut self, tag: u32, value: &'a [u8]) {
        match tag {
            tag::BID_PX | tag::BID_SPOT_RATE => self.price[0] = Some(value),
            tag::OFFER_PX | tag::OFFER_SPOT_RATE => self.price[1] = Some(value),
            tag::BID_SIZE => self.size[0] = Some(value),
            tag::OFFER_SIZE => self.size[1] = Some(value),
            tag::VALID_UNTIL_TIME => self.expires = Some(value),
            _ => {}
        }
    }
}
