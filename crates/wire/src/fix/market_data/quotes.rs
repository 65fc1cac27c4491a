//! Mass quotes (`i`), as aggregators of banks stream them.

use super::super::header_tags::is_header;
use super::super::number::small;
use super::super::scan::{Scan, Vectors};
use super::super::tokens::{Field, Tokens};
use super::super::{Decimal, Fields, Header, Malformed, Message, tag};
use super::once;

/// A mass quote. A missing text field is empty.
#[derive(Clone, Copy, Debug)]
pub struct MassQuote<'a, S: Scan = Vectors> {
    /// QuoteID (117).
    pub quote_id: &'a [u8],
    /// NoQuoteSets (296).
    pub sets: u32,
    tokens: Tokens<'a, S>,
}

impl<'a> MassQuote<'a> {
    /// Reads the bytes from the end of `header`, which must be the header of this message, up to the quote sets.
    ///
    /// # Errors
    /// An invalid field, or one of the header; no quote sets.
    pub fn read(message: &Message<'a>, header: &Header<'a>) -> Result<MassQuote<'a>, Malformed> {
        let mut tokens = message.body_tokens::<Vectors>(header);
        let (mut quote_id, mut seen): (&[u8], u32) = (&[], 0);
        while let Some((_, field)) = tokens.next() {
            let tag = tokens.tag(field)?;
            let value = field.value(tag.width)?;
            match tag.number {
                tag::QUOTE_ID => {
                    once(&mut seen, 1)?;
                    quote_id = value;
                }
                tag::NO_QUOTE_SETS => {
                    return Ok(MassQuote {
                        quote_id,
                        sets: small(value)?,
                        tokens,
                    });
                }
                tag if is_header(tag) => return Err(Malformed::Header),
                _ => {}
            }
        }
        Err(Malformed::Group)
    }
}

impl<'a, S: Scan> MassQuote<'a, S> {
    /// The entries of all sets, in the order of the message.
    pub fn quotes(&self) -> Quotes<'a, S> {
        Quotes {
            tokens: self.tokens,
            next: None,
            sets: self.sets,
            entries: 0,
            set: &[],
            symbol: &[],
            done: false,
        }
    }
}

/// One entry of a quote set. A missing number is an unchanged value, by the rule of aggregators. A missing text
/// field is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote<'a> {
    /// QuoteSetID (302).
    pub set: &'a [u8],
    /// QuoteEntryID (299).
    pub id: &'a [u8],
    /// Symbol (55) of the entry, else of its set.
    pub symbol: &'a [u8],
    /// BidPx (132), or BidSpotRate (188).
    pub bid: Option<Decimal>,
    /// OfferPx (133), or OfferSpotRate (190).
    pub offer: Option<Decimal>,
    /// BidSize (134).
    pub bid_size: Option<Decimal>,
    /// OfferSize (135).
    pub offer_size: Option<Decimal>,
    /// All fields of the entry.
    pub bytes: &'a [u8],
}

impl<'a> Quote<'a> {
    /// The fields of the entry, one by one.
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.bytes)
    }
}

/// The entries of a mass quote.
#[derive(Clone, Copy, Debug)]
pub struct Quotes<'a, S: Scan = Vectors> {
    tokens: Tokens<'a, S>,
    /// A field that was read ahead.
    next: Option<Found<'a>>,
    /// Sets not yet read, and entries of the current set not yet read.
    sets: u32,
    entries: u32,
    set: &'a [u8],
    symbol: &'a [u8],
    done: bool,
}

/// A field with its tag; `width` is the length of the tag and the equals sign.
#[derive(Clone, Copy, Debug)]
struct Found<'a> {
    tag: u32,
    width: usize,
    field: Field<'a>,
    /// The message from this field on.
    begin: &'a [u8],
}

impl<'a> Found<'a> {
    fn value(&self) -> Result<&'a [u8], Malformed> {
        self.field.value(self.width)
    }
}

impl<'a, S: Scan> Iterator for Quotes<'a, S> {
    type Item = Result<Quote<'a>, Malformed>;

    /// The next entry; `None` after an error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let quote = self.quote().transpose();
        self.done = !matches!(quote, Some(Ok(_)));
        quote
    }
}

impl<'a, S: Scan> Quotes<'a, S> {
    fn quote(&mut self) -> Result<Option<Quote<'a>>, Malformed> {
        while self.entries == 0 {
            let Some(found) = self.peek()? else {
                return if self.sets == 0 {
                    Ok(None)
                } else {
                    Err(Malformed::Group)
                };
            };
            match (found.tag, self.sets) {
                (tag::QUOTE_SET_ID, 0) | (tag::QUOTE_ENTRY_ID, _) => return Err(Malformed::Group),
                (tag::QUOTE_SET_ID, _) => self.open_set(found)?,
                (_, 0) => return Ok(None),
                _ => return Err(Malformed::Group),
            }
        }
        match self.peek()? {
            Some(found) if found.tag == tag::QUOTE_ENTRY_ID => self.entry(found).map(Some),
            _ => Err(Malformed::Group),
        }
    }

    /// The fields of a set up to its entries.
    fn open_set(&mut self, first: Found<'a>) -> Result<(), Malformed> {
        self.sets -= 1;
        self.set = first.value()?;
        self.symbol = &[];
        self.next = None;
        let mut seen = 0;
        while let Some(found) = self.peek()? {
            let value = found.value()?;
            match found.tag {
                tag::QUOTE_SET_ID => return Ok(()),
                tag::QUOTE_ENTRY_ID => return Err(Malformed::Group),
                tag::SYMBOL => {
                    once(&mut seen, 1)?;
                    self.symbol = value;
                }
                tag::NO_QUOTE_ENTRIES => {
                    self.entries = small(value)?;
                    self.next = None;
                    return Ok(());
                }
                _ => {}
            }
            self.next = None;
        }
        Ok(())
    }

    fn entry(&mut self, first: Found<'a>) -> Result<Quote<'a>, Malformed> {
        let mut quote = Quote {
            set: self.set,
            id: first.value()?,
            symbol: self.symbol,
            bid: None,
            offer: None,
            bid_size: None,
            offer_size: None,
            bytes: &[],
        };
        self.entries -= 1;
        self.next = None;
        let mut seen = 0;
        let mut end = self.tokens;
        while let Some(found) = self.peek()? {
            let decimal = || found.field.decimal(found.width).map(Some);
            let bit = match found.tag {
                tag::QUOTE_ENTRY_ID | tag::QUOTE_SET_ID => break,
                tag::BID_PX | tag::BID_SPOT_RATE => {
                    quote.bid = decimal()?;
                    1 << u32::from(found.tag == tag::BID_SPOT_RATE)
                }
                tag::OFFER_PX | tag::OFFER_SPOT_RATE => {
                    quote.offer = decimal()?;
                    4 << u32::from(found.tag == tag::OFFER_SPOT_RATE)
                }
                tag::BID_SIZE => {
                    quote.bid_size = decimal()?;
                    16
                }
                tag::OFFER_SIZE => {
                    quote.offer_size = decimal()?;
                    32
                }
                tag::SYMBOL => {
                    quote.symbol = found.value()?;
                    64
                }
                _ => 0,
            };
            once(&mut seen, bit)?;
            self.next = None;
            end = self.tokens;
        }
        quote.bytes = end.since(first.begin);
        Ok(quote)
    }

    /// The next field and its tag.
    fn peek(&mut self) -> Result<Option<Found<'a>>, Malformed> {
        let begin = self.tokens.rest();
        if self.next.is_none()
            && let Some((_, field)) = self.tokens.next()
        {
            let tag = self.tokens.tag(field)?;
            self.next = Some(Found {
                tag: tag.number,
                width: tag.width,
                field,
                begin,
            });
        }
        match self.next {
            Some(found) if is_header(found.tag) => Err(Malformed::Header),
            next => Ok(next),
        }
    }
}
