//! Market data as an application of a session: messages are input, events and requests are output.

use super::cause::{Cause, Failure};
use super::counters::Counters;
use super::instruments::{Book, QUOTES_MAX, Rows};
use super::messages::{self, Step};
use super::parts::{self, Parts};
use super::pending_events::PendingEvents;
use super::quotes::Id;
use super::refresh::Decoder;
use super::settings::{Dialect, Settings};
use super::subscriptions::{Request, Subscriptions};
use crate::health::{ChannelHealth, Condition};
use crate::{Batch, ReceiveTime, Warning};
use touchline_instruments::Instruments;
use touchline_session::Secret;
use touchline_session::fix::{
    Application, ApplicationId, Event as Said, ResendPolicy, Session, Store, printed_message,
};
use touchline_types::{Instrument, PacketInfo, Validity};
use touchline_wire::fix::{Message, tag};

/// Market data of one venue, without its session: the owner of both passes on the session's events, and lends the
/// session for sending.
#[derive(Debug)]
pub struct MarketData {
    settings: Settings,
    rows: Rows,
    /// The table of the rows, until [`MarketData`] hands it out.
    instruments: Option<Instruments>,
    counters: Counters,
    subscriptions: Subscriptions,
    pending: PendingEvents,
    health: ChannelHealth,
    failure: Failure,
    /// A mass quote that requires an answer.
    unanswered: Option<Id>,
    /// An incomplete quote set.
    parts: Parts,
    /// Pending warning for the log.
    warning: Option<Warning>,
    /// Both sides are logged on, and the venue has resent all missing messages.
    is_catching_up: bool,
}

/// The rules for its messages. Requests are resent on a resend request, since they did not reach the venue.
pub const APPLICATION: Application<'static> = Application {
    id: ApplicationId(0),
    receives: &[b"W", b"X", b"i", b"y", b"f", b"Y", b"j", b"Z"],
    sends: &[b"V", b"x", b"b"],
    resend: ResendPolicy::SendAgain,
};

/// Message types whose bodies are verified here: an accepted increment or snapshot was read to its end, field by field.
pub const VERIFIED: &[&[u8]] = &[b"W", b"X"];

/// The application of a session whose numbers continue with the next connection. Requests that did not reach the venue are of
/// an earlier connection, and everything is requested again.
pub const APPLICATION_THAT_GOES_ON: Application<'static> = Application {
    resend: ResendPolicy::GapFill,
    ..APPLICATION
};

impl MarketData {
    /// Allocates all memory; no request is sent yet. Request numbers start after `request`, so that none equals one of
    /// an earlier process whose session continues.
    pub fn new(settings: Settings, request: u64) -> MarketData {
        let mut rows = Rows::new(settings.instruments_max);
        let instruments = named(&settings, &mut rows);
        MarketData {
            rows,
            instruments: Some(instruments),
            settings,
            counters: Counters::default(),
            subscriptions: Subscriptions::behind(request),
            pending: PendingEvents::default(),
            health: ChannelHealth::default(),
            failure: Failure::default(),
            unanswered: None,
            parts: Parts::default(),
            warning: None,
            is_catching_up: false,
        }
    }

    /// Settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The instrument table, with the instruments of the settings. The rows belong to this one table, so it is taken
    /// once.
    pub fn take_instruments(&mut self) -> Instruments {
        let instruments = self.instruments.take();
        instruments.expect("the table of instruments is taken once")
    }

    /// Largest number of events of one call: a sum over all possible contents of one message.
    pub fn events_max(&self) -> usize {
        // The entry of a mass quote that moves both of its sides, `299=1|132=1|133=1|`: four levels out of 18 bytes. No entry
        // of another message gives as many: a quote that is deleted by its id, `279=2|278=1|`, gives two out of 12.
        let from_entries = self.settings.session.limits.message_bytes_max * 4 / 18;
        // Each book begins and ends once, and an earlier part of a quote set may have left quotes or events.
        let from_books = 3 * self.settings.instruments_max;
        from_entries + from_books + QUOTES_MAX + parts::EVENTS_MAX + 8
    }

    /// The connection is established.
    pub fn connected(&mut self) {
        self.failure.clear();
    }

    /// The connection is closed: all its data is of an earlier connection from now on.
    pub fn disconnected(&mut self) {
        if self.subscriptions.is_up() {
            self.health.raise(Condition::Disconnected);
        }
        // No answer is expected.
        self.health.clear(Condition::FeedTimeout);
        let is_listed = self.settings.dialect == Dialect::Standard;
        for row in self.rows.iter_mut() {
            row.book = Book::Unasked;
            row.is_listed = is_listed;
        }
        self.subscriptions.end();
        self.is_catching_up = false;
        self.counters.downloading = 0;
        self.failure.forget_cause();
        self.parts.clear();
    }

    /// Ends a feed timeout, once a message of the venue waits in the session.
    #[inline]
    pub fn end_silence<S: Store>(&mut self, session: &mut Session<S>) {
        // mutant: fix market data: bytes without a message end a feed timeout
        if self.health.has(Condition::FeedTimeout) && session.has_message() {
            self.health.clear(Condition::FeedTimeout);
        }
    }

    /// Fills the batch with events that do not come from messages; returns whether there were any.
    #[inline]
    pub fn poll(&mut self, at: ReceiveTime, batch: &mut Batch) -> bool {
        self.has_pending() && {
            batch.packet_info = PacketInfo {
                receive_ns: at.wall_ns,
                ..PacketInfo::default()
            };
            let channel = self.health.take(0);
            self.pending
                .take(channel, &self.rows, &self.subscriptions, &mut batch.events)
        }
    }

    /// Processes an event of the session. [`MarketData::carry_out`] handles its consequences.
    #[inline]
    pub fn hear(
        &mut self,
        said: Said<'_>,
        at: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> Step {
        let Said::Application(message, header, _) = said else {
            return self.hear_session(&said);
        };
        // For a session that continues: messages from before this connection belong to subscriptions that ended
        // with it.
        // mutant: fix market data: messages of an earlier connection count
        if !self.subscriptions.is_up() {
            return Step::Noted;
        }
        // Messages behind a gap belong to an unknown state.
        if self.failure.cause().is_some() {
            return Step::Noted;
        }
        batch.packet_info = PacketInfo {
            sequence: header.msg_seq_num.unwrap_or(0),
            sending_ns: header.sending_time_ns.unwrap_or(0),
            receive_ns: at.wall_ns,
        };
        if matches!(message.msg_type(), b"j" | b"Y") {
            self.note_rejection(&message);
        }
        let mut decoder = Decoder {
            rows: &mut self.rows,
            counters: &mut self.counters,
            out: batch.output(instruments),
            unanswered: &mut self.unanswered,
            parts: &mut self.parts,
        };
        messages::take(&message, &header, &self.settings, &mut decoder)
    }

    /// The venue's application rejected a message of ours.
    #[cold]
    fn note_rejection(&mut self, message: &Message<'_>) {
        let password = self.settings.password.as_ref();
        let printed = printed(message, password);
        self.warning.get_or_insert(Warning::Rejected(printed));
        if message.msg_type() == b"j" {
            self.failure.say(messages::text(message, password));
        }
    }

    /// An event of the session itself.
    #[inline(never)]
    fn hear_session(&mut self, said: &Said<'_>) -> Step {
        let password = self.settings.password.as_ref();
        match said {
            Said::LoggedOn { .. } => Step::LoggedOn,
            Said::Rejected(message) => {
                self.counters.requests_refused += 1;
                let printed = printed(message, password);
                self.warning.get_or_insert(Warning::Rejected(printed));
                // An earlier reason stays.
                if self.failure.cause().is_none() {
                    self.failure.say(messages::text(message, password));
                }
                Step::AllInconsistent(Cause::Refused)
            }
            Said::LoggedOut(message) => {
                self.failure.say(messages::text(message, password));
                Step::Noted
            }
            // Messages that the session handles itself, or that never arrive, may have been changes of books.
            Said::Invalid(_) => Step::Missed(Cause::Invalid),
            Said::TooLong(message) => Step::Missed(Cause::TooLong(*message)),
            Said::Gap { .. } => Step::Missed(Cause::LeftOut),
            Said::Skipped { .. } => Step::Missed(Cause::Skipped),
            Said::Restarted { .. } => Step::Missed(Cause::Restarted),
            Said::Logon(_) | Said::Application(..) => Step::Noted,
        }
    }

    /// Carries out the consequences of received messages. Returns whether the batch has events.
    #[inline]
    pub fn carry_out<S: Store>(
        &mut self,
        step: Step,
        session: &mut Session<S>,
        at: ReceiveTime,
        batch: &mut Batch,
    ) -> bool {
        match step {
            Step::Events if self.unanswered.is_none() => {
                self.subscriptions.book_came();
                true
            }
            Step::Idle if self.unanswered.is_none() => false,
            step => self.carry_out_rest(step, session, at, batch),
        }
    }

    #[inline(never)]
    fn carry_out_rest<S: Store>(
        &mut self,
        step: Step,
        session: &mut Session<S>,
        at: ReceiveTime,
        batch: &mut Batch,
    ) -> bool {
        if let Some(quote) = self.unanswered.take() {
            self.answer(quote, session, at);
        }
        let mut request = Request {
            settings: &self.settings,
            rows: &mut self.rows,
            counters: &mut self.counters,
            session,
            at,
        };
        let subscriptions = &mut self.subscriptions;
        let cause = match step {
            Step::Events => {
                subscriptions.book_came();
                return true;
            }
            Step::Answered => {
                subscriptions.answered(at.mono_ns);
                return !batch.events.is_empty();
            }
            Step::Idle | Step::Noted => None,
            Step::LoggedOn if request.session.is_catching_up() => {
                self.is_catching_up = true;
                None
            }
            Step::LoggedOn => self.begin(session, at),
            Step::Listed | Step::ListedInPart => {
                let cause = subscriptions.listed(&mut request, step == Step::Listed);
                if let Some(cause) = cause {
                    self.give_up(cause, session);
                }
                return !batch.events.is_empty();
            }
            Step::AllInconsistent(cause) => Some(cause),
            Step::Missed(cause) => subscriptions.is_up().then_some(cause),
            Step::Inconsistent(instrument, cause) => {
                self.inconsistent(instrument, cause, session, at.mono_ns);
                None
            }
        };
        if let Some(cause) = cause {
            self.give_up(cause, session);
        }
        false
    }

    /// The Logon succeeded, and missing messages were resent: everything is requested. Returns the reason to close
    /// the connection, if there is one.
    fn begin<S: Store>(&mut self, session: &mut Session<S>, at: ReceiveTime) -> Option<Cause> {
        self.is_catching_up = false;
        self.pending.begin();
        self.health.clear(Condition::Disconnected);
        let mut request = Request {
            settings: &self.settings,
            rows: &mut self.rows,
            counters: &mut self.counters,
            session,
            at,
        };
        self.subscriptions.begin(&mut request)
    }

    /// Sends the requests that are due, after all received messages were processed.
    #[inline]
    pub fn ask<S: Store>(&mut self, session: &mut Session<S>, at: ReceiveTime) {
        if self.is_catching_up || self.subscriptions.is_due() {
            self.ask_now(session, at);
        }
    }

    #[inline(never)]
    fn ask_now<S: Store>(&mut self, session: &mut Session<S>, at: ReceiveTime) {
        if self.is_catching_up && !session.is_catching_up() {
            if let Some(cause) = self.begin(session, at) {
                self.give_up(cause, session);
            }
            // The start of the download is published first.
            return;
        }
        let mut request = Request {
            settings: &self.settings,
            rows: &mut self.rows,
            counters: &mut self.counters,
            session,
            at,
        };
        let asked = self.subscriptions.ask(&mut request);
        if asked.is_download_ended {
            self.pending.end();
        }
        if let Some(cause) = asked.cause {
            self.give_up(cause, session);
        }
    }

    /// Processes timeouts: the feed timeout, and overdue answers.
    pub fn handle_timeout<S: Store>(&mut self, session: &Session<S>, at: ReceiveTime) {
        let inactive_ns = at.mono_ns.saturating_sub(session.heard_ns());
        let is_silent = self.subscriptions.is_up() && inactive_ns >= self.settings.stale_ns;
        if is_silent && !self.health.has(Condition::FeedTimeout) {
            self.health.raise(Condition::FeedTimeout);
            self.counters.feed_timeouts += 1;
        }
        if self.parts.is_late(at.mono_ns) {
            self.give_up(Cause::PartMissing, session);
        }
        if self.subscriptions.is_late(&self.rows, at.mono_ns) {
            self.give_up(Cause::Unanswered, session);
        }
    }

    /// Earliest time of a timeout: the feed timeout, an overdue answer, the rest of a quote set, or a message that did
    /// not fit the output buffer.
    pub fn next_timeout<S: Store>(&self, session: &Session<S>) -> Option<u64> {
        let is_expected = self.subscriptions.is_up() && !self.health.has(Condition::FeedTimeout);
        let silent_ns =
            is_expected.then(|| session.heard_ns().saturating_add(self.settings.stale_ns));
        let next_ns = [
            silent_ns,
            self.parts.next_timeout(),
            self.subscriptions.next_timeout(&self.rows),
        ];
        next_ns.into_iter().flatten().min()
    }

    /// A change was inconsistent with the book of an instrument.
    pub fn book_inconsistent<S: Store>(
        &mut self,
        instrument: Instrument,
        session: &Session<S>,
        at: ReceiveTime,
    ) {
        let cause = Cause::InconsistentUpdate(instrument);
        self.inconsistent(instrument, cause, session, at.mono_ns);
    }

    /// Marks a book inconsistent: it is published as recovering, and requested again.
    #[cold]
    fn inconsistent<S: Store>(
        &mut self,
        instrument: Instrument,
        cause: Cause,
        session: &Session<S>,
        now_ns: u64,
    ) {
        if self.settings.dialect == Dialect::Standard {
            // Some venues do not handle ending and restarting a single subscription, so all are restarted.
            return self.give_up(cause, session);
        }
        let reason = cause.text(&self.rows);
        let row = self.rows.row_mut(instrument);
        if row.book == Book::Inconsistent {
            return;
        }
        row.book = Book::Inconsistent;
        row.quotes.clear();
        if let Some(count) = row.fails(now_ns, &reason) {
            let message = session.last_message();
            self.warning.get_or_insert(Warning::BookFails {
                reason,
                count,
                message: withheld(message, self.settings.password.as_ref()),
            });
        }
        self.counters.books_inconsistent += 1;
        // The venue has answered, if wrongly.
        self.subscriptions.answered(now_ns);
        match self.subscriptions.add_inconsistent(instrument) {
            Ok(()) => self.pending.inconsistent(),
            // More than the limit at once: a new connection is cheaper.
            Err(cause) => self.give_up(cause, session),
        }
    }

    /// An unknown set of books is wrong. A new connection brings complete books.
    #[cold]
    fn give_up<S: Store>(&mut self, cause: Cause, session: &Session<S>) {
        if self.failure.give_up(cause) {
            let password = self.settings.password.as_ref();
            self.failure
                .keep_message(withheld(session.last_message(), password));
            self.counters.gaps += 1;
            self.pending.lose(session.store().next_in());
        }
    }

    /// Answers a mass quote, for venues that wait for the answer before they send the next one.
    fn answer<S: Store>(&mut self, quote: Id, session: &mut Session<S>, at: ReceiveTime) {
        let sent = session.send(b"b", at, |answer| {
            answer.bytes(tag::QUOTE_ID, quote.as_bytes());
        });
        if let Err(error) = sent {
            self.give_up(Cause::Unsent(error), session);
        }
    }

    /// Whether [`MarketData::poll`] has events.
    #[inline]
    pub fn has_pending(&self) -> bool {
        self.pending.is_any() || self.health.is_due()
    }

    /// Whether the venue is connected, and no message is missing.
    pub fn is_fresh(&self) -> bool {
        let is_heard = self.health.validity() == Validity::Live;
        is_heard && self.subscriptions.is_up() && !self.is_over()
    }

    /// Whether a download has ended, on this connection or an earlier one.
    pub fn is_downloaded(&self) -> bool {
        self.subscriptions.was_downloaded()
    }

    /// The present validity of an instrument's book.
    pub fn validity(&self, instrument: Instrument) -> Validity {
        match self.rows.row(instrument).validity() {
            Validity::Live if self.is_over() => Validity::Gapped,
            validity => validity,
        }
    }

    /// Pending warning for the log, returned once.
    pub fn take_warning(&mut self) -> Option<Warning> {
        self.warning.take()
    }

    /// The venue's message that caused the close; that of the session if the session closed it.
    pub fn evidence(&self, of_session: String) -> String {
        match self.failure.message() {
            "" => withheld(of_session, self.settings.password.as_ref()),
            message => message.to_owned(),
        }
    }

    /// Whether our password is in these bytes.
    pub fn has_secret(&self, bytes: &[u8]) -> bool {
        let password = self.settings.password.as_ref();
        password.is_some_and(|password| password.stands_in(bytes))
    }

    /// Whether the connection must be closed, in any state of the session.
    pub fn is_over(&self) -> bool {
        self.failure.cause().is_some()
    }

    /// Reason of the close, for logs; `of_session` is the session's reason, if it has one. It may contain text of the
    /// venue.
    pub fn reason(&self, of_session: Option<String>) -> String {
        let cause = self.failure.cause().map(|cause| cause.text(&self.rows));
        let cause =
            cause.map(|cause| format!("{cause}; the connection and all requests start again"));
        match (cause.or(of_session), self.failure.said()) {
            (None, _) => String::new(),
            (Some(reason), "") => reason,
            (Some(reason), said) => format!("{reason}; text of the venue: {said:?}"),
        }
    }
}

/// A message of the venue for a log.
fn printed(message: &Message<'_>, password: Option<&Secret>) -> String {
    withheld(printed_message(message.bytes()), password)
}

/// A text of the venue, unless it contains our password.
fn withheld(text: String, password: Option<&Secret>) -> String {
    match password.is_some_and(|password| password.stands_in(text.as_bytes())) {
        true => "a message with our password, withheld".to_owned(),
        false => text,
    }
}

/// The table of the instruments in the settings, and their rows.
fn named(settings: &Settings, rows: &mut Rows) -> Instruments {
    let mut instruments = Instruments::by_symbol(settings.venue(), settings.instruments_max);
    for name in &settings.symbols {
        if let Some(instrument) = rows.add(name, &mut instruments) {
            rows.row_mut(instrument).is_listed = true;
            instruments.definition_mut(instrument).defined = true;
        }
    }
    instruments
}
