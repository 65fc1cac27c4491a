//! Snapshots (35=W), changes (35=X) and mass quotes (35=i) as events.

use super::counters::Counters;
use super::instruments::{Book, QUANTITY_DECIMALS, Rows};
use super::parts::Parts;
use super::quotes::{Id, TooMany};
use crate::Output;
use touchline_types::{
    BookKind, Event, Instrument, LevelEvent, Place, Price, Quantity, Side, Trade, UpdateAction,
    Validity,
};
use touchline_wire::fix::market_data::{Entry, MassQuote, Quote, Refresh};
use touchline_wire::fix::{Decimal, Header, Malformed, Message, tag, unsigned};

/// Result of decoding a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// Its events are complete.
    Whole,
    /// Not usable here: no effect.
    Dropped,
    /// The instrument's book is not reliable any more.
    Inconsistent(Instrument, Malformed),
    /// An unknown set of books is not reliable any more.
    AllInconsistent(Malformed),
}

/// Reason why a message is not used.
enum Refused {
    Malformed(Malformed),
    /// Its data of this instrument does not fit the tables.
    Book(Instrument, Malformed),
}

impl From<Malformed> for Refused {
    fn from(malformed: Malformed) -> Refused {
        Refused::Malformed(malformed)
    }
}

/// Decoder: messages, instruments and their quotes are input, events are output.
pub struct Decoder<'a> {
    /// All instruments.
    pub rows: &'a mut Rows,
    /// Counters.
    pub counters: &'a mut Counters,
    /// Destination of the events.
    pub out: Output<'a>,
    /// A mass quote that requires an answer.
    pub unanswered: &'a mut Option<Id>,
    /// An incomplete quote set.
    pub parts: &'a mut Parts,
}

impl Decoder<'_> {
    /// Decodes a complete book (35=W).
    pub fn snapshot(&mut self, message: &Message<'_>, header: &Header<'_>) -> Decoded {
        self.counters.messages += 1;
        self.counters.snapshots += 1;
        let mut refresh = match Refresh::read(message, header) {
            Ok(refresh) => refresh,
            Err(malformed) => return self.refused(malformed.into()),
        };
        if refresh.symbol.is_empty() {
            // The entries of a snapshot have no symbol.
            refresh.symbol = refresh.field_behind(tag::SYMBOL);
        }
        let instrument = match refresh.symbol {
            [] => match self.by_request(request_of(&refresh), Book::is_asked) {
                Some(instrument) => instrument,
                None => return self.refused(Malformed::Value.into()),
            },
            symbol => match self.subject(symbol, Book::is_asked) {
                Some(instrument) => instrument,
                None => return Decoded::Dropped,
            },
        };
        match self.whole_book(instrument, &refresh) {
            Ok(()) => Decoded::Whole,
            Err(refused) => self.refused(refused),
        }
    }

    fn whole_book(&mut self, instrument: Instrument, refresh: &Refresh<'_>) -> Result<(), Refused> {
        let row = self.rows.row_mut(instrument);
        row.quotes.clear();
        row.empty_levels.clear();
        self.out.events.push(Event::RebuildBook(instrument));
        let mut transact_ns = None;
        let mut entries = refresh.entries();
        let mistake = |malformed| Refused::Book(instrument, malformed);
        while let Some(entry) = entries.advance().map_err(mistake)? {
            self.counters.entries += 1;
            transact_ns = transact_ns.or(entry.time_ns);
            let Some(side) = side(entry) else {
                let is_trade = entry.kind == Some(b'2');
                self.counters.trades_contained += u64::from(is_trade);
                self.counters.entries_unknown += u64::from(!is_trade);
                continue;
            };
            if entry.id.is_empty() {
                let level = level(instrument, side, entry, UpdateAction::New).map_err(mistake)?;
                match level.quantity == Quantity::ZERO {
                    true => {
                        self.counters.entries_empty += 1;
                        let row = self.rows.row_mut(instrument);
                        row.empty_levels.add(side, level.price);
                    }
                    false => self.out.events.push(Event::RebuildLevel(level)),
                }
            } else if entry.price.is_none() || entry.size.is_none() {
                return Err(mistake(Malformed::Value));
            } else {
                let id = id(instrument, entry.id)?;
                let said = (entry.price, entry.size);
                self.set(instrument, (id, side), said, || false, |_| {})?;
            }
        }
        self.rebuilt(instrument, transact_ns)
    }

    /// The quotes of a rebuilt book, and its end.
    fn rebuilt(&mut self, instrument: Instrument, time_ns: Option<u64>) -> Result<(), Refused> {
        let row = self.rows.row_mut(instrument);
        let events = &mut *self.out.events;
        let levels = row
            .quotes
            .levels(|level| events.push(level.rebuilt(instrument)));
        levels.map_err(|TooMany| Refused::Book(instrument, Malformed::Overflow))?;
        (row.book, row.was_published) = (Book::Live, true);
        let transact_ns = time_ns.unwrap_or(0);
        let rebuilt = Event::BookRebuilt(instrument, Validity::Live, Some(transact_ns));
        events.push(rebuilt);
        events.push(Event::EndOfEvent { transact_ns });
        Ok(())
    }

    /// Decodes changes (35=X) of one or several books.
    #[inline]
    pub fn increment(&mut self, message: &Message<'_>, header: &Header<'_>) -> Decoded {
        self.counters.messages += 1;
        self.counters.increments += 1;
        let refresh = match Refresh::read(message, header) {
            Ok(refresh) => refresh,
            Err(malformed) => return self.refused(malformed.into()),
        };
        match self.changes(&refresh) {
            Ok(Some(transact_ns)) => {
                self.out.events.push(Event::EndOfEvent { transact_ns });
                Decoded::Whole
            }
            Ok(None) => Decoded::Dropped,
            // The decoded changes of other books are not published either.
            // mutant: fix market data: an entry of another instrument takes the changes of the message with it
            Err(Refused::Book(_, malformed)) if is_of_several(&refresh) => {
                self.refused(malformed.into())
            }
            Err(refused) => self.refused(refused),
        }
    }

    #[inline]
    fn changes(&mut self, refresh: &Refresh<'_>) -> Result<Option<u64>, Refused> {
        // Most messages contain one instrument: it is looked up once.
        let mut subject = match refresh.symbol {
            [] => self
                .by_request(request_of(refresh), Book::is_subscribed)
                .map(|instrument| (refresh.symbol, instrument)),
            symbol => match self.subject(symbol, Book::is_subscribed) {
                Some(instrument) => Some((symbol, instrument)),
                None => return Ok(None),
            },
        };
        let of_message = subject.map(|(_, instrument)| instrument);
        let mistake = |malformed| match of_message {
            Some(instrument) => Refused::Book(instrument, malformed),
            None => Refused::Malformed(malformed),
        };
        let mut transact_ns = None;
        let mut entries = refresh.entries();
        while let Some(entry) = entries.advance().map_err(mistake)? {
            self.counters.entries += 1;
            transact_ns = transact_ns.or(entry.time_ns);
            if subject.is_none_or(|(symbol, _)| symbol != entry.symbol) {
                if entry.symbol.is_empty() {
                    return Err(Refused::Malformed(Malformed::Value));
                }
                subject = self
                    .subject(entry.symbol, Book::is_subscribed)
                    .map(|instrument| (entry.symbol, instrument));
            }
            if let Some((_, instrument)) = subject {
                self.change(instrument, entry)?;
            }
        }
        let is_empty = self.out.events.is_empty();
        Ok((!is_empty).then_some(transact_ns.unwrap_or(0)))
    }

    #[inline]
    fn change(&mut self, instrument: Instrument, entry: &Entry<'_>) -> Result<(), Refused> {
        let mistake = |malformed| Refused::Book(instrument, malformed);
        let action = match entry.action {
            Some(b'0') => UpdateAction::New,
            Some(b'1') => UpdateAction::Change,
            Some(b'2') => UpdateAction::Delete,
            // The effect of this entry on the book is unknown.
            _ => {
                self.counters.entries_unknown += 1;
                return Err(mistake(Malformed::Value));
            }
        };
        if entry.kind == Some(b'2') {
            let trade = trade(instrument, entry, action).map_err(mistake)?;
            let begun_ns = entry.time_ns.unwrap_or(0);
            match trade.quantity == Quantity::ZERO {
                true => self.counters.entries_empty += 1,
                false => self.out.events.push(Event::Trade(trade, begun_ns)),
            }
        } else if self.rows.row(instrument).book != Book::Live {
            self.counters.before_snapshot += 1;
        } else if !entry.id.is_empty() {
            self.change_quote(instrument, entry, action)?;
        } else if let Some(side) = side(entry) {
            let level = level(instrument, side, entry, action).map_err(mistake)?;
            match self.rows.row_mut(instrument).empty_levels.change(level) {
                Some(level) => self.out.events.push(Event::Level(level, Validity::Live)),
                None => self.counters.entries_empty += 1,
            }
        } else if matches!(entry.kind, None | Some(b'J')) {
            // The entry has no side, or empties a book.
            return Err(mistake(Malformed::Value));
        } else {
            self.counters.entries_unknown += 1;
        }
        Ok(())
    }

    /// A change of an entry with an id. An MDEntryID (278) names one entry, which a Change may move to the other side; a QuoteEntryID
    /// (299) names a quote, which may have both.
    fn change_quote(
        &mut self,
        instrument: Instrument,
        entry: &Entry<'_>,
        action: UpdateAction,
    ) -> Result<(), Refused> {
        let mut changed = Changed::default();
        let id = id(instrument, entry.id)?;
        let quotes = &mut self.rows.row_mut(instrument).quotes;
        let side = match (entry.kind, action) {
            (None, UpdateAction::Change) => quotes.side(id),
            _ => side(entry),
        };
        match (action, side) {
            (UpdateAction::Delete, _) => quotes.remove(id, |level| changed.add(level)),
            (_, Some(side)) => {
                let moves = || action == UpdateAction::Change && has_entry_id(entry);
                let said = (entry.price, entry.size);
                self.set(instrument, (id, side), said, moves, |level| {
                    changed.add(level)
                })?;
            }
            _ => return Err(Refused::Book(instrument, Malformed::Value)),
        }
        changed.show(instrument, self.out.events);
        Ok(())
    }

    /// Sets a side of a quote.
    fn set(
        &mut self,
        instrument: Instrument,
        quote: (Id, Side),
        (said_price, said_size): (Option<Decimal>, Option<Decimal>),
        moves: impl FnOnce() -> bool,
        change: impl FnMut(super::quotes::Level),
    ) -> Result<(), Refused> {
        let mistake = |malformed| Refused::Book(instrument, malformed);
        let price = said_price.map(price).transpose().map_err(mistake)?;
        let size = said_size.map(quantity).transpose().map_err(mistake)?;
        let quotes = &mut self.rows.row_mut(instrument).quotes;
        let set = quotes.set(quote, price, size, moves, change);
        set.map_err(|TooMany| mistake(Malformed::Overflow))
    }

    /// Applies a mass quote (35=i): two sides an entry, with changed fields only. The first one of a requested
    /// instrument is its whole book.
    pub fn mass_quote(&mut self, message: &Message<'_>, header: &Header<'_>) -> Decoded {
        self.counters.messages += 1;
        self.counters.mass_quotes += 1;
        let quotes = match MassQuote::read(message, header) {
            Ok(quotes) => quotes,
            Err(malformed) => return self.refused(malformed.into()),
        };
        if !quotes.quote_id.is_empty() {
            *self.unanswered = Id::new(quotes.quote_id);
        }
        match self.quotes(message, &quotes) {
            Ok(()) if self.out.events.is_empty() => Decoded::Dropped,
            Ok(()) => Decoded::Whole,
            Err(Refused::Book(_, malformed) | Refused::Malformed(malformed)) => {
                self.refused(malformed.into())
            }
        }
    }

    fn quotes(&mut self, message: &Message<'_>, quotes: &MassQuote<'_>) -> Result<(), Refused> {
        let is_complete = self.parts.read(message, quotes.sets)?;
        let mut open: Option<(Set<'_>, Instrument, bool)> = None;
        for quote in quotes.quotes() {
            let quote = quote?;
            self.counters.entries += 1;
            if open.is_none_or(|(set, ..)| set != (quote.set, quote.symbol)) {
                self.close(open.take())?;
                open = self.open(&quote)?;
            }
            let Some((_, instrument, is_whole)) = open else {
                continue;
            };
            let mut changed = Changed::default();
            let id = id(instrument, quote.id)?;
            for (side, price, size) in [
                (Side::Bid, quote.bid, quote.bid_size),
                (Side::Ask, quote.offer, quote.offer_size),
            ] {
                if price.is_some() || size.is_some() {
                    self.set(
                        instrument,
                        (id, side),
                        (price, size),
                        || false,
                        |level| changed.add(level),
                    )?;
                }
            }
            if !is_whole {
                changed.show(instrument, self.out.events);
            }
        }
        let book = open.map(|(_, instrument, is_whole)| (instrument, is_whole));
        let book = book.or(self.parts.take_book());
        if !is_complete {
            self.counters.quotes_in_parts += 1;
            self.parts.keep_book(book);
            return Ok(self.parts.hold(self.out.events)?);
        }
        self.close_book(book)?;
        self.parts.release(self.out.events);
        if self
            .out
            .events
            .last()
            .is_some_and(|event| matches!(event, Event::Level(..)))
        {
            self.out.events.push(Event::EndOfEvent { transact_ns: 0 });
        }
        Ok(())
    }

    /// Instrument of a quote set, and whether the set is its complete book.
    fn open<'q>(
        &mut self,
        quote: &Quote<'q>,
    ) -> Result<Option<(Set<'q>, Instrument, bool)>, Refused> {
        let Some(instrument) = self.quoted(quote) else {
            return Ok(None);
        };
        let set = (quote.set, quote.symbol);
        match self.parts.take_book() {
            // An earlier part opened it.
            Some((book, is_whole)) if book == instrument => {
                return Ok(Some((set, instrument, is_whole)));
            }
            book => self.close_book(book)?,
        }
        let row = self.rows.row_mut(instrument);
        let is_whole = row.book == Book::Awaited;
        if is_whole {
            row.quotes.clear();
            row.empty_levels.clear();
            self.out.events.push(Event::RebuildBook(instrument));
        }
        Ok(Some((set, instrument, is_whole)))
    }

    /// Instrument of a quote, if it was requested.
    fn quoted(&mut self, quote: &Quote<'_>) -> Option<Instrument> {
        // A set has the symbol, or the number of its request.
        match quote.symbol {
            [] => {
                let number = unsigned(quote.set).ok();
                let row = number.and_then(|number| self.rows.asked_by(number, Book::is_asked));
                self.counters.messages_unasked += u64::from(row.is_none());
                row
            }
            symbol => self.subject(symbol, Book::is_asked),
        }
    }

    fn close(&mut self, open: Option<(Set<'_>, Instrument, bool)>) -> Result<(), Refused> {
        self.close_book(open.map(|(_, instrument, is_whole)| (instrument, is_whole)))
    }

    fn close_book(&mut self, book: Option<(Instrument, bool)>) -> Result<(), Refused> {
        match book {
            Some((instrument, true)) => self.rebuilt(instrument, None),
            _ => Ok(()),
        }
    }

    /// Instrument of a request that has only one, in one of these states.
    fn by_request(&self, request: &[u8], is_taken: fn(Book) -> bool) -> Option<Instrument> {
        self.rows.asked_by(unsigned(request).ok()?, is_taken)
    }

    /// The instrument of this name, if it is in one of these states.
    #[inline]
    fn subject(&mut self, symbol: &[u8], is_taken: impl Fn(Book) -> bool) -> Option<Instrument> {
        let row = self.rows.named(symbol, self.out.instruments);
        let row = row.filter(|row| is_taken(row.book));
        self.counters.messages_unasked += u64::from(row.is_none());
        row.map(|row| row.instrument)
    }

    /// Drops the decoded part of the message, and marks its book unreliable.
    #[cold]
    fn refused(&mut self, refused: Refused) -> Decoded {
        let (decoded, malformed) = match refused {
            Refused::Book(instrument, malformed) => {
                (Decoded::Inconsistent(instrument, malformed), malformed)
            }
            Refused::Malformed(malformed) => (Decoded::AllInconsistent(malformed), malformed),
        };
        match malformed {
            Malformed::Overflow => self.counters.numbers_refused += 1,
            _ => self.counters.messages_malformed += 1,
        }
        self.out.events.clear();
        decoded
    }
}

/// Whether a message may have changes of several books.
#[cold]
fn is_of_several(refresh: &Refresh<'_>) -> bool {
    refresh.symbol.is_empty() || refresh.has_other_symbols()
}

/// MDReqID (262) of a message, before or behind its entries, which have none.
#[inline]
fn request_of<'a>(refresh: &Refresh<'a>) -> &'a [u8] {
    match refresh.request {
        [] => refresh.field_behind(tag::MD_REQ_ID),
        request => request,
    }
}

/// A quote set: its number, and the symbol of the entry.
type Set<'a> = (&'a [u8], &'a [u8]);

/// Levels that one entry changes: at most the old and the new one of both sides.
#[derive(Default)]
struct Changed {
    levels: [Option<super::quotes::Level>; 4],
}

impl Changed {
    fn add(&mut self, level: super::quotes::Level) {
        if let Some(free) = self.levels.iter_mut().find(|place| place.is_none()) {
            *free = Some(level);
        }
    }

    fn show(&self, instrument: Instrument, events: &mut Vec<Event>) {
        let levels = self.levels.iter().flatten();
        events.extend(levels.map(|level| level.changed(instrument)));
    }
}

fn id(instrument: Instrument, text: &[u8]) -> Result<Id, Refused> {
    Id::new(text).ok_or(Refused::Book(instrument, Malformed::TooLong))
}

/// Whether an entry has an MDEntryID (278).
#[cold]
fn has_entry_id(entry: &Entry<'_>) -> bool {
    let mut fields = entry.fields().filter_map(Result::ok);
    fields.any(|field| field.tag == tag::MD_ENTRY_ID)
}

#[inline]
fn side(entry: &Entry<'_>) -> Option<Side> {
    match entry.kind {
        Some(b'0') => Some(Side::Bid),
        Some(b'1') => Some(Side::Ask),
        _ => None,
    }
}

#[inline]
fn level(
    instrument: Instrument,
    side: Side,
    entry: &Entry<'_>,
    action: UpdateAction,
) -> Result<LevelEvent, Malformed> {
    let quantity = match (entry.size, action) {
        // A removed level needs no quantity.
        (_, UpdateAction::Delete) => Quantity::NULL,
        (Some(size), _) => quantity(size)?,
        (None, _) => return Err(Malformed::Value),
    };
    Ok(LevelEvent {
        instrument,
        orders: -1,
        price: price(entry.price.ok_or(Malformed::Value)?)?,
        quantity,
        place: Place::Price,
        action,
        side,
        book: BookKind::Direct,
    })
}

fn trade(
    instrument: Instrument,
    entry: &Entry<'_>,
    action: UpdateAction,
) -> Result<Trade, Malformed> {
    Ok(Trade {
        instrument,
        orders: -1,
        price: price(entry.price.ok_or(Malformed::Value)?)?,
        quantity: quantity(entry.size.ok_or(Malformed::Value)?)?,
        aggressor: match entry.side {
            Some(b'1') => Some(Side::Bid),
            Some(b'2') => Some(Side::Ask),
            _ => None,
        },
        action,
        trade_id: number_at_end(entry.trade_id),
    })
}

#[inline]
fn price(decimal: Decimal) -> Result<Price, Malformed> {
    match decimal.scaled(Price::DECIMALS as u8)? {
        i64::MAX => Err(Malformed::Overflow),
        price => Ok(Price(price)),
    }
}

#[inline]
fn quantity(decimal: Decimal) -> Result<Quantity, Malformed> {
    match decimal.scaled(QUANTITY_DECIMALS)? {
        i64::MAX => Err(Malformed::Overflow),
        ..0 => Err(Malformed::Negative),
        quantity => Ok(Quantity(quantity)),
    }
}

/// Trade ids are numbers, some after a word: `ETH-1234`.
fn number_at_end(id: &[u8]) -> u64 {
    let digits = id.iter().rev().take_while(|byte| byte.is_ascii_digit());
    unsigned(&id[id.len() - digits.count()..]).unwrap_or(0)
}
