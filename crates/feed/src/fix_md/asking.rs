//! What is sent to the venue beside its session: requests, and answers to mass quotes.

use super::cause::Cause;
use super::download::{self, Stage};
use super::feed::FixFeed;
use super::instruments::Book;
use super::quotes::Id;
use super::settings::Dialect;
use touchline_session::fix::SendError;
use touchline_types::Instrument;
use touchline_wire::fix::tag;

/// Inconsistent books at a time.
pub const INCONSISTENT_MAX: usize = 64;
/// How long a book that is inconsistent again waits until it is subscribed again.
const RESUBSCRIBE_NS: u64 = 1_000_000_000;

impl FixFeed {
    /// Sends what is due: requests, one after the other.
    pub(super) fn ask(&mut self) {
        if !matches!(self.stage, Stage::Asking | Stage::Done) {
            return;
        }
        if !self.inconsistent.is_empty() {
            self.resubscribe();
        }
        // A look goes through all instruments, so it is taken only where something has changed.
        if std::mem::take(&mut self.is_due) {
            while self.ask_for_next() {}
        }
        let is_answered = std::mem::take(&mut self.is_answered);
        if self.stage == Stage::Asking && is_answered && download::is_answered(&self.rows) {
            self.stage = Stage::Done;
            self.counters.downloads += 1;
            self.was_downloaded = true;
            self.counters.downloading = 0;
            self.pending.ended = true;
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
        if download::choose(&mut self.rows, number, most) == 0 {
            return false;
        }
        self.send_request(number, b'1')
    }

    /// Answers a mass quote, as a venue wants it that sends no more than is answered.
    pub(super) fn answer(&mut self, quote: Id) {
        let id = quote.as_bytes();
        let sent = self.session.send(b"b", self.time, |answer| {
            answer.bytes(tag::QUOTE_ID, id);
        });
        if let Err(error) = sent {
            self.give_up(Cause::Unsent(error));
        }
    }

    /// Ends the subscriptions of inconsistent books; they are begun again as those that were never asked
    /// for. Not more often than each second: a venue whose every snapshot is wrong is not to be
    /// flooded.
    pub(super) fn resubscribe(&mut self) {
        let now_ns = self.time.mono_ns;
        let mut index = 0;
        while let Some(&instrument) = self.inconsistent.get(index) {
            let row = self.rows.row_mut(instrument);
            if now_ns.saturating_sub(row.resubscribed_ns) < RESUBSCRIBE_NS {
                index += 1;
                continue;
            }
            let number = self.request + 1;
            row.resubscribed_ns = now_ns;
            row.request = number;
            self.inconsistent.swap_remove(index);
            if self.send_request(number, b'2') {
                self.rows.row_mut(instrument).book = Book::Unasked;
                self.is_due = true;
            } else {
                self.give_up(Cause::Unsent(SendError::Full));
            }
        }
    }

    /// Takes a book for wrong: it is shown as such, and asked for anew.
    #[cold]
    pub(super) fn mark_inconsistent(&mut self, instrument: Instrument, cause: Cause) {
        if self.settings.dialect == Dialect::Standard {
            // Not every venue ends one subscription and begins it again as it should: all are begun again.
            self.give_up(cause);
            return;
        }
        let row = self.rows.row_mut(instrument);
        if row.book == Book::Inconsistent {
            return;
        }
        row.book = Book::Inconsistent;
        row.quotes.clear();
        self.counters.books_inconsistent += 1;
        if self.inconsistent.len() == INCONSISTENT_MAX {
            // So many at once: the connection is not worth more.
            self.give_up(Cause::TooManyInconsistent);
            return;
        }
        self.inconsistent.push(instrument);
        self.pending.inconsistent = true;
    }

    /// Takes the books of instruments that a list made something else for inconsistent; subscribers were told already.
    #[cold]
    pub(super) fn mark_redefined(&mut self) {
        for row in self.rows.iter() {
            let instrument = row.instrument;
            if row.book != Book::Inconsistent || self.inconsistent.contains(&instrument) {
                continue;
            }
            if self.settings.dialect == Dialect::Standard {
                return self.give_up(Cause::Redefined(instrument));
            }
            if self.inconsistent.len() == INCONSISTENT_MAX {
                return self.give_up(Cause::TooManyInconsistent);
            }
            self.inconsistent.push(instrument);
        }
    }

    pub(super) fn send_request(&mut self, number: u64, wanted: u8) -> bool {
        let FixFeed {
            session,
            settings,
            rows,
            ..
        } = self;
        let sent = session.send(b"V", self.time, |request| {
            download::market_data(settings, rows, number, wanted, request);
        });
        match sent {
            Ok(_) => {
                self.request = number;
                self.counters.requests += 1;
                true
            }
            Err(_) => {
                // There is no room for it now: it waits for its turn.
                for row in self.rows.iter_mut() {
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
