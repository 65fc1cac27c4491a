//! Market data as typed entries: snapshots (`W`), incremental refreshes (`X`) and mass quotes (`i`).
//!
//! One pass over the bytes after the header, without copies. Only fields with the same meaning at every venue are
//! typed. [`Entry::bytes`] has all fields of an entry, for fields that a venue adds.

use super::header_tags::is_header;
use super::names::Name;
use super::time::{LastSecond, NO_DATE, is_date, is_time, timestamp_of};
use super::tokens::{Field, Tokens};
use super::{Decimal, Fields, Header, Malformed, Message, number, tag};

mod quotes;

pub use super::scan::{Scan, Vectors, Words};
pub use quotes::{MassQuote, Quote, Quotes};

/// A snapshot or an incremental refresh. Text that is missing is empty.
#[derive(Clone, Copy, Debug)]
pub struct Refresh<'a, S: Scan = Vectors> {
    /// Symbol (55) of the message.
    pub symbol: &'a [u8],
    /// MDReqID (262).
    pub request: &'a [u8],
    /// NoMDEntries (268): how many entries there are. None for a message without the group.
    pub entries: Option<u32>,
    /// The fields between the header and the entries, for a venue's own.
    pub bytes: &'a [u8],
    tokens: Tokens<'a, S>,
    last_second: LastSecond,
}

impl<'a> Refresh<'a> {
    /// Reads the bytes from the end of `header`, which must be the header of this message, up to the entries.
    ///
    /// # Errors
    /// An invalid field, a header field, one of the fields here that occurs twice, a field of an entry before the entries, an increment
    /// without NoMDEntries (268).
    #[inline(always)]
    pub fn read(message: &Message<'a>, header: &Header<'a>) -> Result<Refresh<'a>, Malformed> {
        Refresh::read_with(message, header)
    }
}

impl<'a, S: Scan> Refresh<'a, S> {
    /// [`Refresh::read`] with the way to find separators as a parameter, so that tests compare such ways.
    ///
    /// # Errors
    /// Those of [`Refresh::read`].
    #[inline(always)]
    pub fn read_with(
        message: &Message<'a>,
        header: &Header<'a>,
    ) -> Result<Refresh<'a, S>, Malformed> {
        let mut refresh = Refresh {
            symbol: &[],
            request: &[],
            entries: None,
            bytes: &[],
            tokens: message.body_tokens::<S>(header),
            last_second: header.last_second,
        };
        refresh.head()?;
        // An increment without entries changes nothing; one that does not count them would lose its changes.
        match refresh.entries.is_none() && message.msg_type() == b"X" {
            true => Err(Malformed::Group),
            false => Ok(refresh),
        }
    }

    #[inline(always)]
    fn head(&mut self) -> Result<(), Malformed> {
        let mut tokens = self.tokens;
        let (begin, mut seen) = (tokens.rest(), 0);
        let end = loop {
            let here = tokens;
            let Some((name, field)) = tokens.next() else {
                break here;
            };
            match name {
                Name::Symbol => {
                    once(&mut seen, SYMBOL)?;
                    self.symbol = field.value(3)?;
                }
                Name::MdReqId => {
                    once(&mut seen, ID)?;
                    self.request = field.value(4)?;
                }
                Name::NoMdEntries => {
                    let count = u32::try_from(field.unsigned(4)?);
                    self.entries = Some(count.map_err(|_| Malformed::Overflow)?);
                    break here;
                }
                // mutant: fix market data: entries that are not counted are none
                Name::MdUpdateAction | Name::MdEntryType | Name::MdEntryPx | Name::MdEntrySize => {
                    return Err(Malformed::Group);
                }
                name if name.is_body() => {}
                _ if field.own_tag().is_some() => {}
                _ => {
                    if is_header(tokens.tag(field)?.number) {
                        return Err(Malformed::Header);
                    }
                }
            }
        };
        self.bytes = end.since(begin);
        self.tokens = tokens;
        Ok(())
    }

    /// The entries, in the order of the message.
    #[inline(always)]
    pub fn entries(&self) -> Entries<'a, S> {
        let mut tokens = self.tokens;
        let begin = tokens.rest();
        let first = tokens.next();
        Entries {
            tokens,
            begin,
            first: first.map(|(_, field)| field),
            delimiter: first.map_or(Name::Other, |(name, _)| name),
            left: self.entries.unwrap_or(0),
            last_second: self.last_second,
            face: None,
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

    /// The first field of this tag after NoMDEntries (268); empty if there is no such field. FIX fixes the order of
    /// header, groups and data only: a field that entries cannot have belongs to the message, in any place.
    #[cold]
    pub fn field_behind(&self, tag: u32) -> &'a [u8] {
        let mut fields = Fields::new(self.tokens.rest()).map_while(Result::ok);
        let found = fields.find(|field| field.tag == tag);
        found.map_or(&[], |field| field.value)
    }

    /// Whether an entry has another Symbol (55) than the message, also one that cannot be read.
    #[cold]
    pub fn has_other_symbols(&self) -> bool {
        let mut fields = Fields::new(self.tokens.rest()).map_while(Result::ok);
        fields.any(|field| field.tag == tag::SYMBOL && field.value != self.symbol)
    }
}

/// One entry. A missing text is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry<'a> {
    /// MDUpdateAction (279): `0` new, `1` change, `2` delete. None in a snapshot.
    pub action: Option<u8>,
    /// MDEntryType (269): `0` bid, `1` offer, `2` trade. None if a delete lacks it.
    pub kind: Option<u8>,
    /// MDEntryPx (270).
    pub price: Option<Decimal>,
    /// MDEntrySize (271).
    pub size: Option<Decimal>,
    /// MDEntryDate (272) with a time after the date, or with MDEntryTime (273): nanoseconds since the Unix epoch.
    /// `None` if date or time is missing, or the date is `00000000`; the bytes contain the fields.
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
    /// All fields of the entry. The last entry includes the fields behind the entries.
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
    first: Option<Field<'a>>,
    /// The message from there on.
    begin: &'a [u8],
    /// First field of each entry.
    delimiter: Name,
    /// Entries that must still come.
    left: u32,
    last_second: LastSecond,
    /// Day and time of day of the current entry, if they are separate fields.
    face: Option<Face<'a>>,
    entry: Entry<'a>,
}

impl<'a, S: Scan> Iterator for Entries<'a, S> {
    type Item = Result<Entry<'a>, Malformed>;

    /// The next entry, copied; [`Entries::advance`] lends it. After an error there are no more entries.
    fn next(&mut self) -> Option<Self::Item> {
        self.advance().map(|entry| entry.copied()).transpose()
    }
}

impl<'a, S: Scan> Entries<'a, S> {
    /// The next entry, borrowed: copying one costs as much as reading it. None after an error.
    ///
    /// # Errors
    /// An invalid field, one without a value of its type, one that occurs twice in an entry, one of the header, more or
    /// fewer
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

    #[inline(never)]
    fn read(&mut self, first: Field<'a>) -> Result<(), Malformed> {
        // These values stay in registers during the loop.
        let (mut tokens, delimiter, begin) = (self.tokens, self.delimiter, self.begin);
        if !begins(delimiter) {
            tokens.tag(first)?;
            return Err(Malformed::Group);
        }
        let entry = &mut self.entry;
        *entry = Entry {
            symbol: entry.symbol,
            ..Entry::default()
        };
        let (mut name, mut field, mut seen) = (delimiter, first, 0);
        entry.bytes = loop {
            match name {
                Name::MdUpdateAction => {
                    once(&mut seen, ACTION)?;
                    entry.action = Some(field.character(4)?);
                }
                Name::MdEntryType => {
                    once(&mut seen, KIND)?;
                    entry.kind = Some(field.character(4)?);
                }
                Name::MdEntryPx => {
                    once(&mut seen, PRICE)?;
                    entry.price = Some(field.decimal(4)?);
                }
                Name::MdEntrySize => {
                    once(&mut seen, SIZE)?;
                    entry.size = Some(field.decimal(4)?);
                }
                Name::MdEntryDate => {
                    once(&mut seen, DATE)?;
                    let value = field.value(4)?;
                    if value.len() == 8 {
                        self.face.get_or_insert_default().date = value;
                    } else if let Some(time) = value.strip_prefix(NO_DATE) {
                        undated(time)?;
                    } else {
                        entry.time_ns = Some(self.last_second.read(value)?);
                    }
                }
                Name::Symbol => {
                    once(&mut seen, SYMBOL)?;
                    entry.symbol = field.value(3)?;
                }
                Name::Side => {
                    once(&mut seen, SIDE)?;
                    entry.side = Some(field.character(3)?);
                }
                // Each trade of Deribit has this tag: it is recognized before the rare ones are checked.
                _ if field.has_tag(*DERIBIT_TRADE_ID) => {
                    once(&mut seen, TRADE_ID)?;
                    entry.trade_id = field.value(7)?;
                }
                _ => {
                    let tag = match field.own_tag() {
                        Some(tag) => tag,
                        None => tokens.tag(field)?,
                    };
                    let value = field.value(tag.width)?;
                    let bit = rare(entry, &mut self.face, tag.number, value, seen)?;
                    once(&mut seen, bit)?;
                }
            }
            let Some(next) = tokens.next_read() else {
                self.first = None;
                break tokens.since(begin);
            };
            (name, field) = next;
            if name == delimiter {
                self.first = Some(field);
                let bytes = tokens.since_before(begin, field);
                self.begin = begin.get(bytes.len()..).unwrap_or_default();
                break bytes;
            }
        };
        self.tokens = tokens;
        self.left -= 1;
        match self.face.take() {
            Some(face) => self.date_and_time(face),
            None => Ok(()),
        }
    }

    /// Content after the last counted entry: the end, another entry, or, without entries, other fields.
    #[cold]
    fn behind(&mut self) -> Result<(), Malformed> {
        let mut name = self.delimiter;
        while let Some(field) = self.first {
            let tag = self.tokens.tag(field)?;
            if begins(name) {
                return Err(Malformed::Group);
            }
            if is_header(tag.number) {
                return Err(Malformed::Header);
            }
            let next = self.tokens.next();
            self.first = next.map(|(_, field)| field);
            name = next.map_or(Name::Other, |(name, _)| name);
        }
        if self.left > 0 {
            return Err(Malformed::Group);
        }
        Ok(())
    }

    /// A day and a time of day in separate fields.
    #[cold]
    fn date_and_time(&mut self, face: Face<'a>) -> Result<(), Malformed> {
        let entry = &mut self.entry;
        let is_none = |text: &[u8], is_one: fn(&[u8]) -> bool| !text.is_empty() && !is_one(text);
        if is_none(face.time, is_time) || is_none(face.date, is_date) {
            return Err(Malformed::Time);
        }
        let is_dated = !face.date.is_empty() && face.date != NO_DATE;
        if !is_dated || face.time.is_empty() || entry.time_ns.is_some() {
            return Ok(());
        }
        entry.time_ns = Some(timestamp_of(face.date, face.time)?);
        Ok(())
    }
}

/// Entries begin with an action or, in snapshots, with a type.
#[inline(always)]
fn begins(name: Name) -> bool {
    matches!(name, Name::MdUpdateAction | Name::MdEntryType)
}

/// A bit for each field that an entry has once.
const ACTION: u32 = 1;
const KIND: u32 = 1 << 1;
const PRICE: u32 = 1 << 2;
const SIZE: u32 = 1 << 3;
const DATE: u32 = 1 << 4;
const SYMBOL: u32 = 1 << 5;
const SIDE: u32 = 1 << 6;
const TRADE_ID: u32 = 1 << 7;
const ID: u32 = 1 << 8;
const QUOTE_ID: u32 = 1 << 9;
const TIME: u32 = 1 << 10;
const POSITION: u32 = 1 << 11;

/// Bytes of [`tag::DERIBIT_TRADE_ID`] in a message.
const DERIBIT_TRADE_ID: &[u8; 7] = b"100009=";

/// The other fields of an entry: their types, and the bits that identify them.
#[inline(always)]
fn rare<'a>(
    entry: &mut Entry<'a>,
    face: &mut Option<Face<'a>>,
    tag: u32,
    value: &'a [u8],
    seen: u32,
) -> Result<u32, Malformed> {
    Ok(match tag {
        tag::DERIBIT_TRADE_ID | tag::TRADE_ID => {
            entry.trade_id = value;
            TRADE_ID
        }
        tag::MD_ENTRY_ID => {
            entry.id = value;
            ID
        }
        tag::QUOTE_ENTRY_ID => {
            if seen & ID == 0 {
                entry.id = value;
            }
            QUOTE_ID
        }
        tag::MD_ENTRY_TIME => {
            face.get_or_insert_default().time = value;
            TIME
        }
        tag::MD_ENTRY_POSITION_NO => {
            entry.position = Some(number::small(value)?);
            POSITION
        }
        tag if is_header(tag) => return Err(Malformed::Header),
        _ => 0,
    })
}

/// A time of day behind [`NO_DATE`].
#[cold]
fn undated(time: &[u8]) -> Result<(), Malformed> {
    match time.strip_prefix(b"-").is_some_and(is_time) {
        true => Ok(()),
        false => Err(Malformed::Time),
    }
}

/// MDEntryDate (272) and MDEntryTime (273).
#[derive(Clone, Copy, Debug, Default)]
struct Face<'a> {
    date: &'a [u8],
    time: &'a [u8],
}

/// Notes a field; an error if it occurred before.
#[inline(always)]
fn once(seen: &mut u32, bit: u32) -> Result<(), Malformed> {
    if *seen & bit != 0 {
        return Err(Malformed::Repeated);
    }
    *seen |= bit;
    Ok(())
}
