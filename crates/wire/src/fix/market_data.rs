//! Market data as typed entries: snapshots (`W`), incremental refreshes (`X`) and mass quotes (`i`).
//!
//! One pass over the bytes, the header included; nothing is copied. Only the fields that every venue means alike are
//! typed. [`Entry::bytes`] has all fields of an entry, for what a venue adds.

use super::header::{Reader, is_header};

use super::fields::data_of;
use super::time::{Clock, is_time};
use super::tokens::{Token, Tokens, key, short_tag};
use super::{Decimal, Fields, Header, Malformed, Message, number, tag, unsigned};

mod quotes;

pub use super::scan::{Scan, Vectors, Words};
pub use quotes::{MassQuote, Quote, Quotes};

const SIDE: u32 = key(tag::SIDE);
const SYMBOL: u32 = key(tag::SYMBOL);
const MD_REQ_ID: u32 = key(tag::MD_REQ_ID);
const NO_MD_ENTRIES: u32 = key(tag::NO_MD_ENTRIES);
const MD_ENTRY_TYPE: u32 = key(tag::MD_ENTRY_TYPE);
const MD_ENTRY_PX: u32 = key(tag::MD_ENTRY_PX);
const MD_ENTRY_SIZE: u32 = key(tag::MD_ENTRY_SIZE);
const MD_ENTRY_DATE: u32 = key(tag::MD_ENTRY_DATE);
/// What stands for a key where Deribit's own trade id (100009) begins.
const DERIBIT: u32 = u32::from_le_bytes(*b"100\0");
const MD_UPDATE_ACTION: u32 = key(tag::MD_UPDATE_ACTION);

/// A snapshot or an incremental refresh. Text that is missing is empty.
#[derive(Clone, Copy, Debug)]
pub struct Refresh<'a, S: Scan = Vectors> {
    /// The header.
    pub header: Header<'a>,
    /// Symbol (55) of the message.
    pub symbol: &'a [u8],
    /// MDReqID (262).
    pub request: &'a [u8],
    /// NoMDEntries (268): how many entries there are. None for a message without the group.
    pub entries: Option<u32>,
    /// The fields between the header and the entries, for a venue's own.
    pub bytes: &'a [u8],
    tokens: Tokens<'a, S>,
    clock: Clock,
}

impl<'a> Refresh<'a> {
    /// Reads up to the entries.
    ///
    /// # Errors
    /// A field that is none, one of the header twice or behind the header, one of the fields here twice.
    #[inline]
    pub fn read(message: &Message<'a>) -> Result<Refresh<'a>, Malformed> {
        Refresh::read_with(message)
    }
}

impl<'a, S: Scan> Refresh<'a, S> {
    /// The same with a way to find separators, for comparisons.
    ///
    /// # Errors
    /// As of [`Refresh::read`].
    #[inline]
    pub fn read_with(message: &Message<'a>) -> Result<Refresh<'a, S>, Malformed> {
        let mut refresh = Refresh {
            header: Header::default(),
            symbol: &[],
            request: &[],
            entries: None,
            bytes: &[],
            tokens: message.tokens::<S>(),
            clock: Clock::default(),
        };
        refresh.head()?;
        Ok(refresh)
    }

    #[inline(always)]
    fn head(&mut self) -> Result<(), Malformed> {
        let mut tokens = self.tokens;
        let mut reader = Reader::new(&mut self.header);
        let mut next = reader.header(&mut tokens)?;
        self.clock = reader.clock;
        let (begin, mut seen) = (next.map_or(tokens.at, |token| token.begin), 0);
        while let Some(mut token) = next {
            match token.key {
                SYMBOL => {
                    once(&mut seen, 0)?;
                    self.symbol = tokens.value(&token);
                }
                MD_REQ_ID => {
                    once(&mut seen, 1)?;
                    self.request = tokens.value(&token);
                }
                NO_MD_ENTRIES => {
                    let count = u32::try_from(unsigned(tokens.value(&token))?);
                    self.entries = Some(count.map_err(|_| Malformed::Overflow)?);
                    break;
                }
                key if is_plain(key) => {}
                _ => {
                    if is_header(tokens.tag(&mut token)?) {
                        return Err(Malformed::Header);
                    }
                }
            }
            next = tokens.next();
        }
        let end = next.map_or(tokens.at, |token| token.begin);
        self.bytes = tokens.bytes.get(begin..end).unwrap_or_default();
        self.tokens = tokens;
        Ok(())
    }

    /// The entries, in the order of the message.
    #[inline]
    pub fn entries(&self) -> Entries<'a, S> {
        let mut tokens = self.tokens;
        let first = tokens.next();
        Entries {
            tokens,
            first,
            delimiter: first.map_or(0, |token| token.key),
            left: self.entries.unwrap_or(0),
            clock: self.clock,
            entry: Entry {
                symbol: self.symbol,
                ..Entry::default()
            },
        }
    }

    /// The fields between the header and the entries, one by one.
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.bytes)
    }
}

/// One entry. Text that is missing is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry<'a> {
    /// MDUpdateAction (279): `0` new, `1` change, `2` delete. None in a snapshot.
    pub action: Option<u8>,
    /// MDEntryType (269): `0` bid, `1` offer, `2` trade. None where a delete leaves it out.
    pub kind: Option<u8>,
    /// MDEntryPx (270).
    pub price: Option<Decimal>,
    /// MDEntrySize (271).
    pub size: Option<Decimal>,
    /// MDEntryDate (272) with a time behind the date, or with MDEntryTime (273): nanoseconds since the Unix epoch. One
    /// without the other is none, but stands in the bytes.
    pub time_ns: Option<u64>,
    /// MDEntryID (278), or where that is missing QuoteEntryID (299).
    pub id: &'a [u8],
    /// MDEntryPositionNo (290), from 1.
    pub position: Option<u32>,
    /// Symbol (55) of the entry, else of the entry before, else of the message.
    pub symbol: &'a [u8],
    /// TradeID (1003), or Deribit's own (100009).
    pub trade_id: &'a [u8],
    /// Side (54): `1` buy, `2` sell.
    pub side: Option<u8>,
    /// All fields of the entry. With the last one, what the message has behind the entries.
    pub bytes: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The fields of the entry, one by one.
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.bytes)
    }
}

/// The entries of a message.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a, S: Scan = Vectors> {
    tokens: Tokens<'a, S>,
    /// The field that the next entry begins with.
    first: Option<Token>,
    /// Key of the field that each entry begins with.
    delimiter: u32,
    /// Entries that must still come.
    left: u32,
    clock: Clock,
    entry: Entry<'a>,
}

impl<'a, S: Scan> Iterator for Entries<'a, S> {
    type Item = Result<Entry<'a>, Malformed>;

    /// The next entry, copied; [`Entries::advance`] lends it. After an error there is none.
    fn next(&mut self) -> Option<Self::Item> {
        self.advance().map(|entry| entry.copied()).transpose()
    }
}

impl<'a, S: Scan> Entries<'a, S> {
    /// The next entry, where it was read to: copying one costs as much as reading it. After an error there is none.
    ///
    /// # Errors
    /// A field that is none or has no value of its type, one that an entry has twice, one of the header, more or fewer
    /// entries than were counted.
    #[inline]
    pub fn advance(&mut self) -> Result<Option<&Entry<'a>>, Malformed> {
        let read = match self.first {
            None if self.left == 0 => return Ok(None),
            Some(first) if self.left > 0 => self.read(first).map(|()| true),
            _ => self.behind().map(|()| false),
        };
        match read {
            Ok(true) => Ok(Some(&self.entry)),
            Ok(false) => Ok(None),
            Err(error) => {
                self.left = 0;
                self.first = None;
                Err(error)
            }
        }
    }

    #[inline(always)]
    fn read(&mut self, mut first: Token) -> Result<(), Malformed> {
        if !begins(first.key) {
            self.tokens.tag(&mut first)?;
            return Err(Malformed::Group);
        }
        let entry = &mut self.entry;
        *entry = Entry {
            symbol: entry.symbol,
            ..Entry::default()
        };
        // In registers as long as the loop lasts.
        let (mut tokens, mut clock) = (self.tokens, self.clock);
        let (mut token, mut seen, mut face) = (first, 0, None);
        let end = loop {
            match token.key {
                MD_UPDATE_ACTION => {
                    once(&mut seen, 0)?;
                    entry.action = Some(tokens.character(&token)?);
                }
                MD_ENTRY_TYPE => {
                    once(&mut seen, 1)?;
                    entry.kind = Some(tokens.character(&token)?);
                }
                MD_ENTRY_PX => {
                    once(&mut seen, 2)?;
                    let price = number::decimal_at(tokens.bytes, token.start, token.end);
                    entry.price = Some(price?);
                }
                MD_ENTRY_SIZE => {
                    once(&mut seen, 3)?;
                    let size = number::decimal_at(tokens.bytes, token.start, token.end);
                    entry.size = Some(size?);
                }
                MD_ENTRY_DATE => {
                    once(&mut seen, 4)?;
                    let value = tokens.value(&token);
                    if value.len() == 8 {
                        face.get_or_insert(Face::default()).date = value;
                    } else {
                        entry.time_ns = Some(clock.read(value)?);
                    }
                }
                SYMBOL => {
                    once(&mut seen, 5)?;
                    entry.symbol = tokens.value(&token);
                }
                SIDE => {
                    once(&mut seen, 6)?;
                    entry.side = Some(tokens.character(&token)?);
                }
                DERIBIT if tokens.begins_with(&token, b"100009=") => {
                    once(&mut seen, 7)?;
                    entry.trade_id = tokens.value(&token.behind(7));
                }
                key if is_plain(key) => {}
                _ => rare(entry, &mut tokens, &mut token, &mut seen, &mut face)?,
            }
            let Some(next) = tokens.next() else {
                self.first = None;
                break tokens.at;
            };
            if next.key == self.delimiter {
                self.first = Some(next);
                break next.begin;
            }
            token = next;
        };
        entry.bytes = tokens.bytes.get(first.begin..end).unwrap_or_default();
        (self.tokens, self.clock) = (tokens, clock);
        self.left -= 1;
        match face {
            Some(face) => self.date_and_time(face),
            None => Ok(()),
        }
    }

    /// What is behind the last entry that was counted: the end, another entry, or fields of no entry where there is none.
    #[cold]
    fn behind(&mut self) -> Result<(), Malformed> {
        while let Some(mut token) = self.first {
            let tag = self.tokens.tag(&mut token)?;
            if begins(token.key) {
                return Err(Malformed::Group);
            }
            if is_header(tag) {
                return Err(Malformed::Header);
            }
            self.first = self.tokens.next();
        }
        if self.left > 0 {
            return Err(Malformed::Group);
        }
        Ok(())
    }

    /// A day and a time of day that stand in fields of their own.
    #[cold]
    fn date_and_time(&mut self, face: Face<'a>) -> Result<(), Malformed> {
        let entry = &mut self.entry;
        if !face.time.is_empty() && !is_time(face.time) {
            return Err(Malformed::Time);
        }
        if face.date.is_empty() || face.time.is_empty() || entry.time_ns.is_some() {
            return Ok(());
        }
        let mut text = [b'-'; 27];
        let end = 9 + face.time.len();
        text[..8].copy_from_slice(face.date);
        text[9..end].copy_from_slice(face.time);
        entry.time_ns = Some(self.clock.read(&text[..end])?);
        Ok(())
    }
}

/// Entries begin with an action or, in snapshots, with a type.
#[inline(always)]
fn begins(key: u32) -> bool {
    matches!(key, MD_UPDATE_ACTION | MD_ENTRY_TYPE)
}

/// The other fields of an entry: what of them is typed, and the bit that they are told apart by.
#[inline(never)]
fn rare<'a, S: Scan>(
    entry: &mut Entry<'a>,
    tokens: &mut Tokens<'a, S>,
    token: &mut Token,
    seen: &mut u32,
    face: &mut Option<Face<'a>>,
) -> Result<(), Malformed> {
    let tag = tokens.tag(token)?;
    let value = tokens.value(token);
    match tag {
        tag::DERIBIT_TRADE_ID | tag::TRADE_ID => {
            once(seen, 7)?;
            entry.trade_id = value;
        }
        tag::MD_ENTRY_ID => {
            once(seen, 8)?;
            entry.id = value;
        }
        tag::QUOTE_ENTRY_ID => {
            once(seen, 9)?;
            if *seen & 1 << 8 == 0 {
                entry.id = value;
            }
        }
        tag::MD_ENTRY_TIME => {
            once(seen, 10)?;
            face.get_or_insert_default().time = value;
        }
        tag::MD_ENTRY_POSITION_NO => {
            once(seen, 11)?;
            let position = u32::try_from(unsigned(value)?);
            entry.position = Some(position.map_err(|_| Malformed::Overflow)?);
        }
        tag if is_header(tag) => return Err(Malformed::Header),
        _ => {}
    }
    Ok(())
}

/// Whether a key is of a field that nothing here looks at.
#[inline(always)]
fn is_plain(key: u32) -> bool {
    short_tag(key).is_some_and(|tag| tag < 640 && PLAIN[(tag / 64) as usize] >> (tag % 64) & 1 == 1)
}

/// A bit for each tag that is plain: not of the header, no length, not typed.
const PLAIN: [u64; 10] = {
    let mut bits = [0; 10];
    let mut tag = 1;
    while tag < 640 {
        let typed = matches!(
            tag,
            tag::SYMBOL | tag::SIDE | tag::NO_MD_ENTRIES
                ..=tag::MD_ENTRY_TIME
                    | tag::MD_ENTRY_ID
                    | tag::MD_UPDATE_ACTION
                    | tag::MD_ENTRY_POSITION_NO
                    | tag::QUOTE_ENTRY_ID
        );
        if !typed && !is_header(tag) && data_of(tag).is_none() {
            bits[(tag / 64) as usize] |= 1 << (tag % 64);
        }
        tag += 1;
    }
    bits
};

/// MDEntryDate (272) and MDEntryTime (273).
#[derive(Clone, Copy, Debug, Default)]
struct Face<'a> {
    date: &'a [u8],
    time: &'a [u8],
}

/// Notes that a field was met, the first time.
#[inline(always)]
fn once(seen: &mut u32, bit: u32) -> Result<(), Malformed> {
    let bit = 1 << bit;
    if *seen & bit != 0 {
        return Err(Malformed::Repeated);
    }
    *seen |= bit;
    Ok(())
}
