//! Mass quotes (i): changed fields of entries of several pairs.

use super::super::fields::Raw;
use super::{Apply, Draft, Key};
use touchline_fx_events::setup::Pair;
use touchline_types::{Id, Side};
use touchline_wire::fix::{Message, tag, unsigned};

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
