//! Quotes (S): both sides of one request.

use super::super::fields::{Raw, first, has_date, id, int, is_spot};
use super::{Apply, Draft, Key};
use touchline_fx_events::ticks::is_zero;
use touchline_types::Side;
use touchline_wire::fix::{Malformed, Message, tag};

impl Apply<'_> {
    /// S: sets each side, or removes it if absent.
    pub(super) fn quote(&mut self, message: &Message<'_>) {
        let Some(pair) = self.quoted_pair(first(message, tag::SYMBOL)) else {
            return;
        };
        self.counters.quotes += 1;
        let Some(request) = id(first(message, tag::QUOTE_REQ_ID)) else {
            self.counters.ids_refused += 1;
            return;
        };
        let (settle_type, settle_date) = (
            first(message, tag::SETTL_TYPE),
            first(message, tag::SETTL_DATE),
        );
        let spot_date = &self.setup.pairs[pair].config.spot_date;
        let is_spot = is_spot(settle_type, settle_date, spot_date);
        for side in Side::BOTH {
            let (price, size) = match side {
                Side::Bid => (tag::BID_PX, tag::BID_SIZE),
                Side::Ask => (tag::OFFER_PX, tag::OFFER_SIZE),
            };
            let key = Key::Request(side, request);
            let (price, size): (Raw<'_>, Raw<'_>) = (first(message, price), first(message, size));
            // A price or size of zero takes the side away, as an absent price does.
            if price.is_none_or(is_zero) || size.is_some_and(is_zero) {
                self.books[pair].remove(&key);
                continue;
            }
            let draft = Draft {
                side,
                price,
                size,
                minimum: first(message, tag::MIN_QTY),
                expires: first(message, tag::VALID_UNTIL_TIME),
                is_firm: int(message, tag::QUOTE_TYPE) != Some(b"0"),
                quote_id: first(message, tag::QUOTE_ID),
                request: Default::default(),
                is_spot,
                is_dated: has_date(settle_date),
                known: None,
            };
            self.set(pair, key, &draft);
        }
    }
}

/// Reads a quote to its end, before anything of it is applied.
///
/// # Errors
/// A field that is there twice.
pub fn check(message: &Message<'_>) -> Result<(), Malformed> {
    const READ: [u32; 12] = [
        tag::SYMBOL,
        tag::QUOTE_REQ_ID,
        tag::QUOTE_ID,
        tag::QUOTE_TYPE,
        tag::SETTL_TYPE,
        tag::SETTL_DATE,
        tag::BID_PX,
        tag::OFFER_PX,
        tag::BID_SIZE,
        tag::OFFER_SIZE,
        tag::MIN_QTY,
        tag::VALID_UNTIL_TIME,
    ];
    let mut seen = 0_u32;
    for field in message.fields() {
        let tag = field?.tag;
        let bit = READ
            .iter()
            .position(|read| *read == tag)
            .map_or(0, |place| 1 << place);
        if seen & bit != 0 {
            return Err(Malformed::Repeated);
        }
        seen |= bit;
    }
    Ok(())
}
