//! Mass quotes (`i`), as aggregators of banks stream them.

use super::super::header::{Reader, is_header};
use super::super::number::decimal_at;
use super::super::scan::{Scan, Vectors};
use super::super::tokens::{Token, Tokens};
use super::super::{Decimal, Fields, Header, Malformed, Message, tag, unsigned};
use super::once;

/// A mass quote. Text that is missing is empty.
#[derive(Clone, Copy, Debug)]
pub struct MassQuote<'a, S: Scan = Vectors> {
    /// The header.
    pub header: Header<'a>,
    /// QuoteID (117).
    pub quote_id: &'a [u8],
    /// NoQuoteSets (296).
    pub sets: u32,
    tokens: Tokens<'a, S>,
}

impl<'a> MassQuote<'a> {
    /// Reads up to the quote sets.
    ///
    /// # Errors
    /// A field that is none, one of the header twice or behind the header; no quote sets.
    pub fn read(message: &Message<'a>) -> Result<MassQuote<'a>, Malformed> {
        let mut tokens = message.tokens::<Vectors>();
        let mut header = Header::default();
        let mut next = Reader::new(&mut header).header(&mut tokens)?;
        let (mut quote_id, mut seen): (&[u8], u32) = (&[], 0);
        while let Some(mut token) = next {
            match tokens.tag(&mut token)? {
                tag::QUOTE_ID => {
                    once(&mut seen, 0)?;
                    quote_id = tokens.value(&token);
                }
                tag::NO_QUOTE_SETS => {
                    return Ok(MassQuote {
                        header,
                        quote_id,
                        sets: count(tokens.value(&token))?,
                        tokens,
                    });
                }
                tag if is_header(tag) => return Err(Malformed::Header),
                _ => {}
            }
            next = tokens.next();
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

/// One entry of a quote set. What is missing has not changed, as aggregators mean it. Text that is missing is empty.
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
    /// A field that was looked at and not yet taken.
    next: Option<(u32, Token)>,
    /// Sets that must still come, and entries of the present one.
    sets: u32,
    entries: u32,
    set: &'a [u8],
    symbol: &'a [u8],
    done: bool,
}

impl<'a, S: Scan> Iterator for Quotes<'a, S> {
    type Item = Result<Quote<'a>, Malformed>;

    /// The next entry. After an error there is none.
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
            let Some((tag, token)) = self.peek()? else {
                return if self.sets == 0 {
                    Ok(None)
                } else {
                    Err(Malformed::Group)
                };
            };
            match (tag, self.sets) {
                (tag::QUOTE_SET_ID, 0) | (tag::QUOTE_ENTRY_ID, _) => return Err(Malformed::Group),
                (tag::QUOTE_SET_ID, _) => self.open_set(token)?,
                (_, 0) => return Ok(None),
                _ => return Err(Malformed::Group),
            }
        }
        match self.peek()? {
            Some((tag::QUOTE_ENTRY_ID, token)) => self.entry(token).map(Some),
            _ => Err(Malformed::Group),
        }
    }

    /// The fields of a set up to its entries.
    fn open_set(&mut self, first: Token) -> Result<(), Malformed> {
        self.sets -= 1;
        self.set = self.tokens.value(&first);
        self.symbol = &[];
        self.next = None;
        while let Some((tag, token)) = self.peek()? {
            let value = self.tokens.value(&token);
            match tag {
                tag::QUOTE_SET_ID => return Ok(()),
                tag::QUOTE_ENTRY_ID => return Err(Malformed::Group),
                tag::SYMBOL => self.symbol = value,
                tag::NO_QUOTE_ENTRIES => {
                    self.entries = count(value)?;
                    self.next = None;
                    return Ok(());
                }
                _ => {}
            }
            self.next = None;
        }
        Ok(())
    }

    fn entry(&mut self, first: Token) -> Result<Quote<'a>, Malformed> {
        let mut quote = Quote {
            set: self.set,
            id: self.tokens.value(&first),
            symbol: self.symbol,
            bid: None,
            offer: None,
            bid_size: None,
            offer_size: None,
            bytes: &[],
        };
        self.entries -= 1;
        self.next = None;
        let (bytes, mut seen) = (self.tokens.bytes, 0);
        let mut end = self.tokens.at;
        while let Some((tag, token)) = self.peek()? {
            let decimal = || decimal_at(bytes, token.start, token.end).map(Some);
            let bit = match tag {
                tag::QUOTE_ENTRY_ID | tag::QUOTE_SET_ID => break,
                tag::BID_PX | tag::BID_SPOT_RATE => {
                    quote.bid = decimal()?;
                    u32::from(tag == tag::BID_SPOT_RATE)
                }
                tag::OFFER_PX | tag::OFFER_SPOT_RATE => {
                    quote.offer = decimal()?;
                    2 + u32::from(tag == tag::OFFER_SPOT_RATE)
                }
                tag::BID_SIZE => {
                    quote.bid_size = decimal()?;
                    4
                }
                tag::OFFER_SIZE => {
                    quote.offer_size = decimal()?;
                    5
                }
                tag::SYMBOL => {
                    quote.symbol = self.tokens.value(&token);
                    6
                }
                _ => 7,
            };
            if bit < 7 {
                once(&mut seen, bit)?;
            }
            self.next = None;
            end = self.tokens.at;
        }
        quote.bytes = bytes.get(first.begin..end).unwrap_or_default();
        Ok(quote)
    }

    /// The next field and its tag.
    fn peek(&mut self) -> Result<Option<(u32, Token)>, Malformed> {
        if self.next.is_none() {
            self.next = match self.tokens.next() {
                Some(mut token) => Some((self.tokens.tag(&mut token)?, token)),
                None => None,
            };
        }
        match self.next {
            Some((tag, _)) if is_header(tag) => Err(Malformed::Header),
            next => Ok(next),
        }
    }
}

fn count(value: &[u8]) -> Result<u32, Malformed> {
    u32::try_from(unsigned(value)?).map_err(|_| Malformed::Overflow)
}
