//! Requests after a Logon, and repeated ones: the list of instruments, then their books, one request after the other.

use super::cause::Cause;
use super::counters::Counters;
use super::download::{self, Stage};
use super::instruments::{Book, Rows};
use super::settings::{Dialect, Settings};
use crate::ReceiveTime;
use std::collections::VecDeque;
use touchline_session::fix::{SendError, Session, Store};
use touchline_types::Instrument;

/// Most inconsistent books at a time.
const INCONSISTENT_MAX: usize = 64;
/// Timeout for the answer to a request of a list or a book.
const ANSWER_NS: u64 = 30_000_000_000;

/// Subscriptions: progress of the download of this connection, and the books to request again.
///
/// Invariants: numbers of requests go up; an inconsistent book is listed once, and there are at most 64.
#[derive(Debug)]
pub struct Subscriptions {
    stage: Stage,
    /// Number of the last request.
    request: u64,
    /// Books to request again.
    inconsistent: Vec<Instrument>,
    /// Some instruments may need a request.
    is_due: bool,
    /// An instrument was answered since completeness was last checked.
    is_answered: bool,
    /// Time of the last progress of the download.
    progress_ns: u64,
    /// Books requested after the download, in the order of time; answered ones leave it with those before them.
    awaited: VecDeque<Awaited>,
    /// A download was completed, on this connection or an earlier one.
    was_downloaded: bool,
}

/// A book that was requested after the download.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    instrument: Instrument,
    request: u64,
    asked_ns: u64,
}

/// Dependencies of a request.
pub struct Request<'a, S> {
    /// Settings of the feed.
    pub settings: &'a Settings,
    /// All instruments.
    pub rows: &'a mut Rows,
    /// Counters.
    pub counters: &'a mut Counters,
    /// Destination of messages.
    pub session: &'a mut Session<S>,
    /// Current time.
    pub at: ReceiveTime,
}

/// Result of sending requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// All requests were answered, for the first time on this connection.
    pub is_download_ended: bool,
    /// The connection must be closed, with the reason.
    pub cause: Option<Cause>,
}

impl Default for Subscriptions {
    fn default() -> Subscriptions {
        Subscriptions::behind(0)
    }
}

impl Subscriptions {
    /// No request is sent yet; the first one has the number after `request`.
    pub fn behind(request: u64) -> Subscriptions {
        Subscriptions {
            stage: Stage::Down,
            request,
            inconsistent: Vec::with_capacity(INCONSISTENT_MAX),
            is_due: false,
            is_answered: false,
            progress_ns: 0,
            awaited: VecDeque::with_capacity(INCONSISTENT_MAX),
            was_downloaded: false,
        }
    }

    /// Whether the venue accepted our Logon.
    #[inline]
    pub fn is_up(&self) -> bool {
        self.stage != Stage::Down
    }

    /// Whether a download was completed, on this connection or an earlier one.
    pub fn was_downloaded(&self) -> bool {
        self.was_downloaded
    }

    /// Books to request again.
    pub fn inconsistent(&self) -> &[Instrument] {
        &self.inconsistent
    }

    /// Whether an answer is overdue: of the download, or of a book that was requested after it.
    pub fn is_late(&mut self, rows: &Rows, now_ns: u64) -> bool {
        let is_overdue = |since_ns: u64| now_ns.saturating_sub(since_ns) >= ANSWER_NS;
        let is_open = |awaited: &Awaited| {
            let row = rows.row(awaited.instrument);
            row.is_listed && row.book == Book::Awaited && row.request == awaited.request
        };
        while self.awaited.pop_front_if(|first| !is_open(first)).is_some() {}
        match self.stage {
            Stage::Down => false,
            Stage::Listing | Stage::Asking => is_overdue(self.progress_ns),
            Stage::Done => {
                let first = self.awaited.front();
                first.is_some_and(|first| is_overdue(first.asked_ns))
            }
        }
    }

    /// Earliest time at which an answer is overdue, or a request is allowed.
    pub fn next_timeout(&self, rows: &Rows) -> Option<u64> {
        let waits_since_ns = match self.stage {
            Stage::Down => None,
            Stage::Listing | Stage::Asking => Some(self.progress_ns),
            Stage::Done => self.awaited.front().map(|first| first.asked_ns),
        };
        let late_ns = waits_since_ns.map(|since_ns| since_ns.saturating_add(ANSWER_NS));
        let may_ask = matches!(self.stage, Stage::Asking | Stage::Done);
        // The output buffer was full.
        let unsent_ns = (may_ask && self.is_due).then_some(0);
        let again = self.inconsistent.iter().filter(|_| may_ask);
        let again_ns = again.map(|instrument| rows.row(*instrument).resubscribe_at_ns());
        let next_ns = [late_ns, unsent_ns, again_ns.min()];
        next_ns.into_iter().flatten().min()
    }

    /// The venue accepted our Logon. Returns the reason to close the connection, if there is one.
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

    /// The connection is closed.
    pub fn end(&mut self) {
        self.stage = Stage::Down;
        self.inconsistent.clear();
        self.awaited.clear();
    }

    /// A book, or a change of one, arrived.
    #[inline]
    pub fn book_came(&mut self) {
        self.is_answered |= self.stage == Stage::Asking;
    }

    /// Whether [`Subscriptions::ask`] has anything to do.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_due || self.is_answered || !self.inconsistent.is_empty()
    }

    /// A request was answered.
    pub fn answered(&mut self, now_ns: u64) {
        (self.is_due, self.is_answered) = (true, true);
        self.progress_ns = now_ns;
    }

    /// A list is complete. Books of instruments that it redefined are inconsistent, which subscribers were notified of.
    /// Returns the reason to close the connection, if there is one.
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

    /// Requests a book again.
    ///
    /// # Errors
    /// The limit of inconsistent books is reached.
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

    /// Sends due requests, one after the other.
    pub fn ask<S: Store>(&mut self, request: &mut Request<'_, S>) -> Asked {
        let mut asked = Asked::default();
        if !matches!(self.stage, Stage::Asking | Stage::Done) {
            return asked;
        }
        if !self.inconsistent.is_empty() {
            asked.cause = self.resubscribe(request);
        }
        // The check reads all instruments, so it runs only after a change.
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

    /// Requests the next instruments; returns whether there were any, and the request could be sent.
    fn ask_for_next<S: Store>(&mut self, request: &mut Request<'_, S>) -> bool {
        let number = self.next_request();
        let most = match request.settings.dialect {
            Dialect::Deribit => request.settings.symbols_per_request.max(1),
            // A quote set carries the number of its request instead of a name.
            Dialect::Standard => 1,
        };
        let is_sent =
            download::choose(request.rows, number, most) > 0 && self.send(request, number, b'1');
        if is_sent && self.stage == Stage::Done {
            // mutant: fix market data: a book requested after the download is awaited for ever
            self.await_answer(request.rows, number, request.at.mono_ns);
        }
        is_sent
    }

    /// The download waits for its own requests; a later one has its own timeout.
    fn await_answer(&mut self, rows: &Rows, request: u64, asked_ns: u64) {
        let asked = rows.iter().filter(|row| row.request == request);
        self.awaited.extend(asked.map(|row| Awaited {
            instrument: row.instrument,
            request,
            asked_ns,
        }));
    }

    /// Ends the subscriptions of inconsistent books; they start again like new ones. At most once a second, and less often
    /// while a book fails for the same reason: a venue whose every snapshot is wrong must not be flooded. Returns the reason to close the connection, if there is
    /// one.
    fn resubscribe<S: Store>(&mut self, request: &mut Request<'_, S>) -> Option<Cause> {
        let now_ns = request.at.mono_ns;
        let (mut index, mut cause) = (0, None);
        while let Some(&instrument) = self.inconsistent.get(index) {
            let row = request.rows.row_mut(instrument);
            if now_ns < row.resubscribe_at_ns() {
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

    /// Sends a request for the instruments that have its number. `false`: the output buffer is full, and the request is
    /// sent later.
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
    fn the_number_of_repeated_requests_is_limited() {
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
    fn an_answer_is_overdue_after_the_timeout() {
        let mut subscriptions = Subscriptions::default();
        let rows = &Rows::new(0);
        let never = u64::MAX;
        assert!(!subscriptions.is_late(rows, never), "nobody was asked");
        subscriptions.stage = Stage::Asking;
        subscriptions.answered(100);
        assert!(!subscriptions.is_late(rows, 100 + ANSWER_NS - 1));
        assert!(subscriptions.is_late(rows, 100 + ANSWER_NS));
        subscriptions.stage = Stage::Done;
        assert!(
            !subscriptions.is_late(rows, never),
            "everything was answered"
        );
    }

    #[test]
    #[should_panic(expected = "listed once")]
    fn a_book_is_not_requested_twice_at_once() {
        let mut subscriptions = Subscriptions::default();
        let _ = subscriptions.add_inconsistent(Instrument(1));
        let _ = subscriptions.add_inconsistent(Instrument(1));
    }

    #[test]
    #[should_panic(expected = "numbers of requests go up")]
    fn request_numbers_ascend() {
        Subscriptions::default().sent(0);
    }
}
