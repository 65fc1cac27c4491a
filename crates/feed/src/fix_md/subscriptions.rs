//! Requests after a Logon, and repeated ones: the list of instruments, then their books, one request after the other.

use super::cause::Cause;
use super::counters::Counters;
use super::download::{self, Stage};
use super::instruments::{Book, Rows};
use super::settings::{Dialect, Settings};
use crate::ReceiveTime;
use touchline_session::fix::{SendError, Session, Store};
use touchline_types::Instrument;

/// Inconsistent books at a time.
const INCONSISTENT_MAX: usize = 64;
/// How long a book that is inconsistent again waits until it is subscribed again.
const RESUBSCRIBE_NS: u64 = 1_000_000_000;
/// A list, or a book, that is not answered for so long is not answered at all.
const ANSWER_NS: u64 = 30_000_000_000;

/// Subscriptions: progress of the download of this connection, and the books to request again.
///
/// Invariants: numbers of requests go up; an inconsistent book is listed once, and there are at most 64.
#[derive(Debug)]
pub struct Subscriptions {
    stage: Stage,
    /// Number of the request that was sent last.
    request: u64,
    /// Books to request again.
    inconsistent: Vec<Instrument>,
    /// Some instrument may have to be requested.
    is_due: bool,
    /// Some instrument was answered since it was last looked whether all were.
    is_answered: bool,
    /// When the download went on last.
    progress_ns: u64,
    /// A download ended, on this connection or an earlier one.
    was_downloaded: bool,
}

/// What a request is made with.
pub struct Request<'a, S> {
    /// What the feed was told at its start.
    pub settings: &'a Settings,
    /// All instruments.
    pub rows: &'a mut Rows,
    /// What is counted.
    pub counters: &'a mut Counters,
    /// Where it goes.
    pub session: &'a mut Session<S>,
    /// When.
    pub at: ReceiveTime,
}

/// What came of asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Everything was answered, for the first time on this connection.
    pub is_download_ended: bool,
    /// Why the connection is to be given up.
    pub cause: Option<Cause>,
}

impl Default for Subscriptions {
    fn default() -> Subscriptions {
        Subscriptions::behind(0)
    }
}

impl Subscriptions {
    /// No request is sent yet; the first one has the number behind `request`.
    pub fn behind(request: u64) -> Subscriptions {
        Subscriptions {
            stage: Stage::Down,
            request,
            inconsistent: Vec::with_capacity(INCONSISTENT_MAX),
            is_due: false,
            is_answered: false,
            progress_ns: 0,
            was_downloaded: false,
        }
    }

    /// Whether the venue let us in.
    #[inline]
    pub fn is_up(&self) -> bool {
        self.stage != Stage::Down
    }

    /// Whether a download ended, on this connection or an earlier one.
    pub fn was_downloaded(&self) -> bool {
        self.was_downloaded
    }

    /// Books to request again.
    pub fn inconsistent(&self) -> &[Instrument] {
        &self.inconsistent
    }

    /// Whether an answer is overdue.
    pub fn is_late(&self, now_ns: u64) -> bool {
        let is_waiting = matches!(self.stage, Stage::Listing | Stage::Asking);
        is_waiting && now_ns.saturating_sub(self.progress_ns) >= ANSWER_NS
    }

    /// Earliest time at which an answer is overdue, or a request is allowed.
    pub fn next_timeout(&self, rows: &Rows) -> Option<u64> {
        let is_waiting = matches!(self.stage, Stage::Listing | Stage::Asking);
        let late_ns = is_waiting.then(|| self.progress_ns.saturating_add(ANSWER_NS));
        let may_ask = matches!(self.stage, Stage::Asking | Stage::Done);
        // There was no room for it.
        let unsent_ns = (may_ask && self.is_due).then_some(0);
        let again = self.inconsistent.iter().filter(|_| may_ask);
        let again_ns = again.map(|instrument| {
            rows.row(*instrument)
                .resubscribed_ns
                .saturating_add(RESUBSCRIBE_NS)
        });
        let next_ns = [late_ns, unsent_ns, again_ns.min()];
        next_ns.into_iter().flatten().min()
    }

    /// The venue let us in. Why the connection is to be given up, if it is.
    pub fn begin<S: Store>(&mut self, request: &mut Request<'_, S>) -> Option<Cause> {
        request.counters.downloading = 1;
        self.stage = Stage::Asking;
        self.answered(request.at.mono_ns);
        if request.settings.dialect != Dialect::Deribit {
            return None;
        }
        self.stage = Stage::Listing;
        let number = self.next_request();
        let sent = request.session.send(b"x", request.at, |body| {
            download::security_list(number, body);
        });
        self.sent(number);
        sent.err().map(Cause::Unsent)
    }

    /// The connection is gone.
    pub fn end(&mut self) {
        self.stage = Stage::Down;
        self.inconsistent.clear();
    }

    /// A book came, or a change of one.
    #[inline]
    pub fn book_came(&mut self) {
        self.is_answered |= self.stage == Stage::Asking;
    }

    /// A request was answered.
    pub fn answered(&mut self, now_ns: u64) {
        (self.is_due, self.is_answered) = (true, true);
        self.progress_ns = now_ns;
    }

    /// A list came, the last part of it or another. Books of instruments that it made something else are inconsistent;
    /// subscribers were told already. Why the connection is to be given up, if it is.
    pub fn listed<S: Store>(
        &mut self,
        request: &mut Request<'_, S>,
        is_last: bool,
    ) -> Option<Cause> {
        if self.stage == Stage::Listing && is_last {
            self.stage = Stage::Asking;
        }
        self.answered(request.at.mono_ns);
        let redefined = request.rows.iter().filter(|row| {
            row.book == Book::Inconsistent && !self.inconsistent.contains(&row.instrument)
        });
        let redefined: Vec<Instrument> = redefined.map(|row| row.instrument).collect();
        redefined
            .into_iter()
            .find_map(|instrument| match request.settings.dialect {
                Dialect::Standard => Some(Cause::Redefined(instrument)),
                Dialect::Deribit => self.add_inconsistent(instrument).err(),
            })
    }

    /// A book is to be requested again.
    ///
    /// # Errors
    /// There are too many of them.
    pub fn add_inconsistent(&mut self, instrument: Instrument) -> Result<(), Cause> {
        assert!(
            !self.inconsistent.contains(&instrument),
            "subscriptions: an inconsistent book is listed once"
        );
        if self.inconsistent.len() == INCONSISTENT_MAX {
            return Err(Cause::TooManyInconsistent);
        }
        self.inconsistent.push(instrument);
        Ok(())
    }

    /// Sends what is due: requests, one after the other.
    pub fn ask<S: Store>(&mut self, request: &mut Request<'_, S>) -> Asked {
        let mut asked = Asked::default();
        if !matches!(self.stage, Stage::Asking | Stage::Done) {
            return asked;
        }
        if !self.inconsistent.is_empty() {
            asked.cause = self.resubscribe(request);
        }
        // A look goes through all instruments, so it is taken only where something has changed.
        if std::mem::take(&mut self.is_due) {
            while self.ask_for_next(request) {}
        }
        let is_answered = std::mem::take(&mut self.is_answered);
        if self.stage == Stage::Asking && is_answered && download::is_answered(request.rows) {
            self.stage = Stage::Done;
            self.was_downloaded = true;
            request.counters.downloads += 1;
            request.counters.downloading = 0;
            asked.is_download_ended = true;
        }
        asked
    }

    /// Asks for the next instruments; whether there were any, and the request could be sent.
    fn ask_for_next<S: Store>(&mut self, request: &mut Request<'_, S>) -> bool {
        let number = self.next_request();
        let most = match request.settings.dialect {
            Dialect::Deribit => request.settings.symbols_per_request.max(1),
            // A quote set has the number of its request in place of a name.
            Dialect::Standard => 1,
        };
        download::choose(request.rows, number, most) > 0 && self.send(request, number, b'1')
    }

    /// Ends the subscriptions of inconsistent books; they start again like new ones. At most once a second: a venue
    /// whose every snapshot is wrong must not be flooded. Returns the reason to close the connection, if there is
    /// one.
    fn resubscribe<S: Store>(&mut self, request: &mut Request<'_, S>) -> Option<Cause> {
        let now_ns = request.at.mono_ns;
        let (mut index, mut cause) = (0, None);
        while let Some(&instrument) = self.inconsistent.get(index) {
            let row = request.rows.row_mut(instrument);
            if now_ns.saturating_sub(row.resubscribed_ns) < RESUBSCRIBE_NS {
                index += 1;
                continue;
            }
            let number = self.next_request();
            row.resubscribed_ns = now_ns;
            row.request = number;
            self.inconsistent.swap_remove(index);
            if self.send(request, number, b'2') {
                request.rows.row_mut(instrument).book = Book::Unasked;
                self.is_due = true;
            } else {
                cause.get_or_insert(Cause::Unsent(SendError::Full));
            }
        }
        cause
    }

    fn next_request(&self) -> u64 {
        self.request + 1
    }

    fn sent(&mut self, number: u64) {
        assert!(
            number > self.request,
            "subscriptions: numbers of requests go up"
        );
        self.request = number;
    }

    /// Sends a request for the instruments that have its number. `false`: there is no room, and it waits for its turn.
    fn send<S: Store>(&mut self, request: &mut Request<'_, S>, number: u64, wanted: u8) -> bool {
        let Request {
            settings,
            rows,
            counters,
            session,
            at,
        } = request;
        let sent = session.send(b"V", *at, |body| {
            download::market_data(settings, rows, number, wanted, body);
        });
        if sent.is_ok() {
            self.sent(number);
            counters.requests += 1;
            return true;
        }
        for row in rows.iter_mut() {
            if row.request == number && row.book == Book::Awaited {
                row.book = Book::Unasked;
            }
        }
        self.is_due = true;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_books_are_asked_for_anew_and_no_more() {
        let mut subscriptions = Subscriptions::default();
        for number in 0..INCONSISTENT_MAX as u32 {
            assert_eq!(subscriptions.add_inconsistent(Instrument(number)), Ok(()));
        }
        let more = subscriptions.add_inconsistent(Instrument(1_000));
        assert_eq!(more, Err(Cause::TooManyInconsistent));
        subscriptions.end();
        assert!(subscriptions.inconsistent().is_empty());
    }

    #[test]
    fn an_answer_is_late_while_one_is_waited_for() {
        let mut subscriptions = Subscriptions::default();
        assert!(!subscriptions.is_late(u64::MAX), "nobody was asked");
        subscriptions.stage = Stage::Asking;
        subscriptions.answered(100);
        assert!(!subscriptions.is_late(100 + ANSWER_NS - 1));
        assert!(subscriptions.is_late(100 + ANSWER_NS));
        subscriptions.stage = Stage::Done;
        assert!(!subscriptions.is_late(u64::MAX), "everything was answered");
    }

    #[test]
    #[should_panic(expected = "listed once")]
    fn a_book_is_not_asked_for_twice_at_once() {
        let mut subscriptions = Subscriptions::default();
        let _ = subscriptions.add_inconsistent(Instrument(1));
        let _ = subscriptions.add_inconsistent(Instrument(1));
    }

    #[test]
    #[should_panic(expected = "numbers of requests go up")]
    fn numbers_of_requests_go_up() {
        Subscriptions::default().sent(0);
    }
}
