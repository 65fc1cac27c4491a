//! What is sent to the venue beside its session: requests, and answers to mass quotes.

use super::cause::Cause;
use super::download::{self, Stage};
use super::feed::FixFeed;
use super::instruments::Book;
use super::quotes::Id;
use super::settings::Dialect;
use crate::fix::SendError;
use touchline_types::Instrument;
use touchline_wire::fix::tag;

/// Doubted books at a time.
pub const DOUBTED_MAX: usize = 64;
/// How long a book that is doubted again waits until it is asked for again.
const ASK_ANEW_NS: u64 = 1_000_000_000;

impl FixFeed {
    /// Sends what is due: requests, one after the other.
    pub(super) fn ask(&mut self) {
        if !matches!(self.stage, Stage::Asking | Stage::Done) {
            return;
        }
        if !self.doubted.is_empty() {
            self.ask_anew();
        }
        // A look goes through all instruments, so it is taken only where something has changed.
        if std::mem::take(&mut self.is_due) {
            while self.ask_for_next() {}
        }
        let is_answered = std::mem::take(&mut self.is_answered);
        if self.stage == Stage::Asking && is_answered && download::is_answered(&self.instruments) {
            self.stage = Stage::Done;
            self.counters.downloads += 1;
            self.counters.downloading = 0;
            self.notices.ended = true;
        }
    }

    /// Asks for the next instruments; whether there were any, and the request could be sent.
    pub(super) fn ask_for_next(&mut self) -> bool {
        let number = self.request + 1;
        let most = match self.settings.dialect {
            Dialect::Deribit => self.settings.symbols_per_request.max(1),
            // A quote set has the number of its request in place of a name.
            Dialect::Standard => 1,
        };
        if download::choose(&mut self.instruments, number, most) == 0 {
            return false;
        }
        self.send_request(number, b'1')
    }

    /// Answers a mass quote, as a venue wants it that sends no more than is answered.
    pub(super) fn answer(&mut self, quote: Id) {
        let id = quote.as_bytes();
        let sent = self.session.send(b"b", self.when, |answer| {
            answer.bytes(tag::QUOTE_ID, id);
        });
        if let Err(error) = sent {
            self.give_up(Cause::Unsent(error));
        }
    }

    /// Ends the subscriptions of doubted books; they are begun again as those that were never asked
    /// for. Not more often than each second: a venue whose every snapshot is wrong is not to be
    /// flooded.
    pub(super) fn ask_anew(&mut self) {
        let now_ns = self.when.now_ns;
        let mut index = 0;
        while let Some(&instrument) = self.doubted.get(index) {
            let row = self.instruments.row_mut(instrument);
            if now_ns.saturating_sub(row.asked_anew_ns) < ASK_ANEW_NS {
                index += 1;
                continue;
            }
            let number = self.request + 1;
            row.asked_anew_ns = now_ns;
            row.request = number;
            self.doubted.swap_remove(index);
            if self.send_request(number, b'2') {
                self.instruments.row_mut(instrument).book = Book::Unasked;
                self.is_due = true;
            } else {
                self.give_up(Cause::Unsent(SendError::Full));
            }
        }
    }

    /// Takes a book for wrong: it is shown as such, and asked for anew.
    #[cold]
    pub(super) fn doubt(&mut self, instrument: Instrument, cause: Cause) {
        if self.settings.dialect == Dialect::Standard {
            // Not every venue ends one subscription and begins it again as it should: all are begun again.
            self.give_up(cause);
            return;
        }
        let row = self.instruments.row_mut(instrument);
        if row.book == Book::Doubted {
            return;
        }
        row.book = Book::Doubted;
        row.quotes.clear();
        self.counters.books_doubted += 1;
        if self.doubted.len() == DOUBTED_MAX {
            // So many at once: the connection is not worth more.
            self.give_up(Cause::TooManyDoubted);
            return;
        }
        self.doubted.push(instrument);
        self.notices.doubted = true;
    }

    /// Takes the books of instruments that a list made something else for doubted; subscribers were told already.
    #[cold]
    pub(super) fn doubt_redefined(&mut self) {
        for row in self.instruments.rows() {
            let instrument = row.definition.instrument;
            if row.book != Book::Doubted || self.doubted.contains(&instrument) {
                continue;
            }
            if self.settings.dialect == Dialect::Standard {
                return self.give_up(Cause::Redefined(instrument));
            }
            if self.doubted.len() == DOUBTED_MAX {
                return self.give_up(Cause::TooManyDoubted);
            }
            self.doubted.push(instrument);
        }
    }

    pub(super) fn send_request(&mut self, number: u64, wanted: u8) -> bool {
        let FixFeed {
            session,
            settings,
            instruments,
            ..
        } = self;
        let sent = session.send(b"V", self.when, |request| {
            download::market_data(settings, instruments, number, wanted, request);
        });
        match sent {
            Ok(_) => {
                self.request = number;
                self.counters.requests += 1;
                true
            }
            Err(_) => {
                // There is no room for it now: it waits for its turn.
                for row in self.instruments.rows_mut() {
                    if row.request == number && row.book == Book::Awaited {
                        row.book = Book::Unasked;
                    }
                }
                self.is_due = true;
                false
            }
        }
    }
}
