//! The feed: a session under it, events out of it.

use super::asking::INCONSISTENT_MAX;
use super::cause::Cause;
use super::counters::Counters;
use super::download::{self, Stage};
use super::instruments::{Book, Rows};
use super::logon;
use super::parts::Parts;
use super::pending_events::PendingEvents;
use super::quotes::Id;
use super::refresh::{Decoded, Decoder};
use super::securities::{self, Listed};
use super::settings::{Dialect, Settings};
use crate::{Batch, BookRules, Feed, Feedback, ReceiveTime, SessionFeed};
use touchline_instruments::Instruments;
use touchline_session::Secret;
use touchline_session::fix::{self, Memory, Session};
use touchline_types::{CounterInfo, Event, Instrument, PacketInfo, Validity};
use touchline_wire::fix::{Header, Message, tag, unsigned};

/// Market data of one session.
#[derive(Debug)]
pub struct FixFeed {
    pub(super) session: Session<Memory>,
    pub(super) settings: Settings,
    pub(super) rows: Rows,
    pub(super) counters: Counters,
    pub(super) stage: Stage,
    pub(super) pending: PendingEvents,
    /// Number of the request that was sent last.
    pub(super) request: u64,
    /// Books that are to be asked for anew.
    pub(super) inconsistent: Vec<Instrument>,
    /// When something came last, 0 before the first.
    pub(super) activity_ns: u64,
    pub(super) time: ReceiveTime,
    /// Why the connection is to be closed, whatever the session thinks.
    pub(super) given_up: Option<Cause>,
    /// Nothing was heard for too long.
    pub(super) is_timed_out: bool,
    /// Connections so far.
    pub(super) connections: u64,
    /// What the venue said as it logged us out, or refused a message of ours.
    pub(super) said: String,
    /// A mass quote that wants an answer.
    pub(super) unanswered: Option<Id>,
    /// A quote set of which more is to come.
    pub(super) parts: Parts,
    /// Some instrument may have to be asked for.
    pub(super) is_due: bool,
    /// Some instrument was answered since it was last looked whether all were.
    pub(super) is_answered: bool,
    /// When the download went on last.
    pub(super) progress_ns: u64,
    /// A download ended, on this connection or an earlier one.
    pub(super) was_downloaded: bool,
}

impl FixFeed {
    /// All memory is taken here, and nothing is connected yet.
    pub fn new(settings: Settings) -> FixFeed {
        let session = Session::new(settings.session.clone(), Memory::default());
        let mut rows = Rows::new(settings.instruments_max);
        named(&settings, &mut rows);
        FixFeed {
            session,
            rows,
            settings,
            counters: Counters::default(),
            stage: Stage::Down,
            pending: PendingEvents::default(),
            request: 0,
            inconsistent: Vec::with_capacity(INCONSISTENT_MAX),
            activity_ns: 0,
            time: ReceiveTime::default(),
            given_up: None,
            is_timed_out: false,
            connections: 0,
            said: String::new(),
            unanswered: None,
            parts: Parts::default(),
            is_due: false,
            is_answered: false,
            progress_ns: 0,
            was_downloaded: false,
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The session under it.
    pub fn session(&self) -> &Session<Memory> {
        &self.session
    }

    fn logged_on(&mut self) {
        self.counters.downloading = 1;
        self.pending.begun = true;
        self.stage = Stage::Asking;
        (self.is_due, self.is_answered) = (true, true);
        self.progress_ns = self.time.mono_ns;
        if self.settings.dialect == Dialect::Deribit {
            self.request += 1;
            let number = self.request;
            let sent = self.session.send(b"x", self.time, |request| {
                download::security_list(number, request);
            });
            self.stage = Stage::Listing;
            if let Err(error) = sent {
                self.give_up(Cause::Unsent(error));
            }
        }
    }

    /// Whatever the connection brought is of an earlier one.
    fn forget(&mut self) {
        let is_listed = self.settings.dialect == Dialect::Standard;
        for row in self.rows.iter_mut() {
            row.book = Book::Unasked;
            row.is_listed = is_listed;
        }
        self.stage = Stage::Down;
        self.counters.downloading = 0;
        self.inconsistent.clear();
        self.given_up = None;
        self.parts.clear();
    }
}

/// What one thing that the session said comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The session has nothing more to say.
    Idle,
    /// It was taken note of.
    Noted,
    /// The batch has events.
    Events,
    /// The venue let us in.
    LoggedOn,
    /// The list of instruments came, or its last part.
    Listed,
    /// A part of the list came, and more is to come.
    ListedInPart,
    /// A request was answered, if not with a book.
    Answered,
    /// This book is to be asked for anew.
    Inconsistent(Instrument, Cause),
    /// Every book is: it is not known which one changed.
    AllInconsistent(Cause),
    /// Something of the venue did not come to the application.
    Missed(Cause),
}

impl FixFeed {
    /// Takes the next thing that the session has to say.
    #[inline]
    fn step(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> Step {
        let FixFeed {
            session,
            rows,
            counters,
            settings,
            time,
            given_up,
            said,
            unanswered,
            parts,
            ..
        } = self;
        match session.poll() {
            None => Step::Idle,
            // What comes behind a gap is of a book that nobody knows.
            Some(fix::Event::Application(..)) if given_up.is_some() => Step::Noted,
            Some(fix::Event::Application(message, header, _)) => {
                batch.packet_info = PacketInfo {
                    sequence: header.msg_seq_num.unwrap_or(0),
                    sending_ns: header.sending_time_ns.unwrap_or(0),
                    receive_ns: time.wall_ns,
                };
                let mut decoder = Decoder {
                    rows,
                    counters,
                    out: batch.output(instruments),
                    unanswered,
                    parts,
                };
                if message.msg_type() == b"j" {
                    *said = text(&message, settings.password.as_ref());
                }
                application(&message, &header, settings, &mut decoder)
            }
            Some(fix::Event::LoggedOn { .. }) => Step::LoggedOn,
            Some(fix::Event::Rejected(message)) => {
                counters.requests_refused += 1;
                // Behind another cause it is no reason.
                if given_up.is_none() {
                    *said = text(&message, settings.password.as_ref());
                }
                Step::AllInconsistent(Cause::Refused)
            }
            Some(fix::Event::LoggedOut(message)) => {
                *said = text(&message, settings.password.as_ref());
                Step::Noted
            }
            // What the session takes for itself, and what never comes, may have been changes of books.
            // mutant: fix market data: what the session rejected was no change of a book
            Some(fix::Event::Invalid(_)) => Step::Missed(Cause::Invalid),
            Some(fix::Event::Gap { .. }) => Step::Missed(Cause::LeftOut),
            Some(fix::Event::Skipped { .. }) => Step::Missed(Cause::Skipped),
            Some(fix::Event::Restarted) => Step::Missed(Cause::Restarted),
            Some(fix::Event::Logon(_)) => Step::Noted,
        }
    }

    /// Some book is wrong, and perhaps every one. Whole books come with a new connection.
    #[cold]
    pub(super) fn give_up(&mut self, cause: Cause) {
        if self.given_up.is_some() {
            return;
        }
        self.given_up = Some(cause);
        self.counters.gaps += 1;
        let next = fix::Store::next_in(self.session.store());
        self.pending.lost = Some((next, next));
    }

    /// Carries out what a step asks for. Whether the batch has events.
    fn carry_out(&mut self, step: Step, batch: &mut Batch) -> bool {
        match step {
            Step::Events => {
                self.is_answered |= self.stage == Stage::Asking;
                return true;
            }
            Step::Answered => {
                (self.is_due, self.is_answered) = (true, true);
                self.progress_ns = self.time.mono_ns;
                return !batch.events.is_empty();
            }
            Step::Idle | Step::Noted => {}
            Step::LoggedOn => self.logged_on(),
            Step::Listed | Step::ListedInPart => {
                if self.stage == Stage::Listing && step == Step::Listed {
                    self.stage = Stage::Asking;
                }
                self.mark_redefined();
                (self.is_due, self.is_answered) = (true, true);
                self.progress_ns = self.time.mono_ns;
                return !batch.events.is_empty();
            }
            Step::AllInconsistent(cause) => self.give_up(cause),
            Step::Missed(cause) if self.stage != Stage::Down => self.give_up(cause),
            Step::Missed(_) => {}
            Step::Inconsistent(instrument, cause) => self.mark_inconsistent(instrument, cause),
        }
        false
    }

    /// The venue is heard.
    #[inline]
    fn record_activity(&mut self, now_ns: u64) {
        self.activity_ns = now_ns;
        if self.is_timed_out {
            self.is_timed_out = false;
            self.pending.published_state = Some(Validity::Live);
        }
    }
}

/// Text (58) of a message, as far as it is short. One that repeats our password is shown to nobody.
fn text(message: &Message<'_>, password: Option<&Secret>) -> String {
    let mut fields = message.fields().map_while(Result::ok);
    let text = fields.find(|field| field.tag == tag::TEXT);
    let text = text.map_or(&b""[..], |field| field.value);
    if password.is_some_and(|password| password.stands_in(text)) {
        return "a text with our password, withheld".into();
    }
    String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned()
}

fn application(
    message: &Message<'_>,
    header: &Header<'_>,
    settings: &Settings,
    decoder: &mut Decoder<'_>,
) -> Step {
    let decoded = match message.msg_type() {
        // mutant: fix market data: changes overtake a set of which more is to come
        b"X" | b"W" if decoder.parts.is_awaited() => {
            return Step::AllInconsistent(Cause::PartMissing);
        }
        b"X" => decoder.increment(message, header),
        b"W" => decoder.snapshot(message, header),
        b"i" => decoder.mass_quote(message, header),
        b"y" => {
            let (rows, counters) = (&mut *decoder.rows, &mut *decoder.counters);
            let (chosen, out) = (&settings.chosen, &mut decoder.out);
            return match securities::take(message, rows, chosen, counters, out) {
                Ok(Listed::Whole) => Step::Listed,
                Ok(Listed::Part) => Step::ListedInPart,
                Ok(Listed::Refused) => {
                    counters.requests_refused += 1;
                    Step::AllInconsistent(Cause::ListRefused)
                }
                Err(malformed) => {
                    counters.messages_malformed += 1;
                    Step::AllInconsistent(Cause::Malformed(malformed))
                }
            };
        }
        b"f" => {
            let (counters, out) = (&mut *decoder.counters, &mut decoder.out);
            return match securities::status(message, counters, out) {
                Ok(()) if out.events.is_empty() => Step::Noted,
                Ok(()) => Step::Events,
                Err(_) => {
                    counters.messages_malformed += 1;
                    Step::Noted
                }
            };
        }
        b"Y" => {
            decoder.counters.requests_rejected += 1;
            return match rejected(message, decoder) {
                true => Step::Answered,
                false => Step::Noted,
            };
        }
        b"j" => {
            decoder.counters.requests_refused += 1;
            return Step::AllInconsistent(Cause::Refused);
        }
        // Quotes are withdrawn: what is left of the books says the next connection.
        b"Z" => return Step::AllInconsistent(Cause::Withdrawn),
        _ => {
            decoder.counters.messages_unknown += 1;
            return Step::Noted;
        }
    };
    match decoded {
        Decoded::Whole => Step::Events,
        Decoded::Dropped => Step::Noted,
        Decoded::Inconsistent(instrument, malformed) => {
            Step::Inconsistent(instrument, Cause::MalformedBook(instrument, malformed))
        }
        Decoded::AllInconsistent(malformed) => Step::AllInconsistent(Cause::Malformed(malformed)),
    }
}

impl Feed for FixFeed {
    type Source = ();

    const TABLES: &'static [&'static [CounterInfo]] = &[Counters::TABLE, fix::Counters::TABLE];

    fn counted(&self) -> impl Iterator<Item = u64> {
        self.counters
            .counts()
            .chain(self.session.counters().counts())
    }

    fn instruments(&self) -> Instruments {
        named(
            &self.settings,
            &mut Rows::new(self.settings.instruments_max),
        )
    }

    fn batch(&self) -> Batch {
        // The shortest entry has some 20 bytes.
        let entries_max = self.settings.session.limits.message_bytes_max / 20;
        Batch::new(entries_max + 3 * self.settings.instruments_max + 8)
    }

    fn book_rules(&self) -> BookRules {
        BookRules {
            missing: Validity::Recovering,
            inconsistent: match self.settings.dialect {
                Dialect::Deribit => Validity::Recovering,
                // All books are asked for anew.
                Dialect::Standard => Validity::Gapped,
            },
        }
    }

    #[inline]
    fn handle(
        &mut self,
        (): (),
        bytes: &[u8],
        time: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize {
        self.time = time;
        self.record_activity(time.mono_ns);
        let taken = self.session.handle(bytes, time);
        self.poll(instruments, batch);
        taken
    }

    #[inline]
    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool {
        batch.events.clear();
        loop {
            if self.pending.is_any() && self.take_pending(batch) {
                return true;
            }
            let step = self.step(instruments, batch);
            if let Some(quote) = self.unanswered.take() {
                self.answer(quote);
            }
            if self.carry_out(step, batch) {
                return true;
            }
            if step == Step::Idle && !self.pending.is_any() {
                self.ask();
                if !self.pending.is_any() {
                    return false;
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: ReceiveTime) {
        self.time = now;
        self.session.handle_timeout(now);
        let inactive_ns = now.mono_ns.saturating_sub(self.activity_ns);
        if self.stage != Stage::Down && !self.is_timed_out && inactive_ns >= self.settings.stale_ns
        {
            self.is_timed_out = true;
            self.counters.feed_timeouts += 1;
            self.pending.published_state = Some(Validity::Stale);
        }
        if self.parts.is_late(now.mono_ns) {
            self.give_up(Cause::PartMissing);
        }
        let is_waiting = matches!(self.stage, Stage::Listing | Stage::Asking);
        if is_waiting && now.mono_ns.saturating_sub(self.progress_ns) >= ANSWER_NS {
            self.give_up(Cause::Unanswered);
        }
    }

    fn finish(&mut self) {}

    fn feedback(&mut self, feedback: &Feedback) {
        for instrument in &feedback.inconsistent {
            self.mark_inconsistent(*instrument, Cause::InconsistentUpdate(*instrument));
        }
    }

    fn is_fresh(&self) -> bool {
        self.stage != Stage::Down && !self.is_timed_out && self.given_up.is_none()
    }

    fn is_defined(&self) -> bool {
        self.was_downloaded
    }

    fn orders_seen(&self) -> bool {
        false
    }

    fn validity(&self, instrument: Instrument) -> Validity {
        match self.rows.row(instrument).validity() {
            Validity::Live if self.given_up.is_some() => Validity::Gapped,
            validity => validity,
        }
    }

    fn orders_validity(&self, _: Instrument) -> Validity {
        Validity::Recovering
    }
}

/// The table of the instruments that the settings name, and their rows.
fn named(settings: &Settings, rows: &mut Rows) -> Instruments {
    let mut instruments = Instruments::by_symbol(settings.instruments_max);
    for name in &settings.symbols {
        if let Some(instrument) = rows.add(name, &mut instruments) {
            rows.row_mut(instrument).is_listed = true;
            instruments.definition_mut(instrument).defined = true;
        }
    }
    instruments
}

impl SessionFeed for FixFeed {
    fn connected(&mut self, time: ReceiveTime) {
        self.time = time;
        self.connections += 1;
        self.said.clear();
        self.activity_ns = time.mono_ns;
        let FixFeed {
            session,
            settings,
            connections,
            ..
        } = self;
        session.connected_with(time, |fields| {
            logon::write(settings, *connections, time, fields);
        });
    }

    fn disconnected(&mut self, time: ReceiveTime) {
        self.time = time;
        self.session.disconnected(time);
        if self.stage != Stage::Down {
            self.pending.published_state = Some(Validity::Stale);
        }
        self.is_timed_out = false;
        self.forget();
    }

    fn outgoing(&self) -> &[u8] {
        self.session.poll_transmit()
    }

    fn sent(&mut self, bytes: usize, _: ReceiveTime) {
        self.session.transmitted(bytes);
    }

    fn is_over(&self) -> bool {
        self.given_up.is_some() || self.session.disconnect_reason().is_some()
    }

    fn reason(&self) -> String {
        let disconnect_reason = match (self.given_up, self.session.disconnect_reason()) {
            (Some(cause), _) => {
                let cause = cause.text(&self.rows);
                format!("{cause}; everything is asked for anew")
            }
            (None, Some(disconnect_reason)) => disconnect_reason.to_string(),
            (None, None) => return String::new(),
        };
        match self.said.as_str() {
            "" => disconnect_reason,
            said => format!("{disconnect_reason}; it said {said:?}"),
        }
    }

    fn log_out(&mut self, time: ReceiveTime) {
        self.session.log_out("", time);
    }
}

/// A list, or a book, that is not answered for so long is not answered at all.
const ANSWER_NS: u64 = 30_000_000_000;

/// The instruments of a rejected request have no book; where they are several, each is asked for again by itself, since
/// perhaps one alone is wrong. Whether there were any.
fn rejected(message: &Message<'_>, decoder: &mut Decoder<'_>) -> bool {
    let mut fields = message.fields().map_while(Result::ok);
    let id = fields.find(|field| field.tag == tag::MD_REQ_ID);
    let Some(number) = id.and_then(|field| unsigned(field.value).ok()) else {
        return false;
    };
    let is_asked =
        |row: &&mut super::instruments::Row| row.request == number && row.book == Book::Awaited;
    let rows = &mut *decoder.rows;
    let several = rows.iter_mut().filter(is_asked).count() > 1;
    let mut any = false;
    for row in rows.iter_mut().filter(is_asked) {
        any = true;
        if several {
            (row.book, row.is_alone) = (Book::Unasked, true);
        } else {
            row.book = Book::Rejected;
            let closed = Event::Validity(row.instrument, Validity::Closed);
            decoder.out.push(closed);
        }
    }
    any
}
