//! The feed: a session under it, events out of it.

use super::asking::DOUBTED_MAX;
use super::cause::Cause;
use super::counters::Counters;
use super::download::{self, Stage};
use super::instruments::{Book, Instruments};
use super::logon;
use super::notices::{Notices, is_told_behind_a_hole};
use super::parts::Parts;
use super::quotes::Id;
use super::refresh::{Taken, Taker};
use super::securities::{self, Listed};
use super::settings::{Dialect, Settings};
use crate::fix::{self, Memory, Session};
use crate::{Batch, Dialogue, Secret, Venue, When};
use touchline_types::{
    CounterInfo, Depth, Event, Headline, Instrument, InstrumentDefinition, Validity,
};
use touchline_wire::fix::{Header, Message, tag, unsigned};

/// Market data of one session.
#[derive(Debug)]
pub struct FixFeed {
    pub(super) session: Session<Memory>,
    pub(super) settings: Settings,
    pub(super) instruments: Instruments,
    pub(super) counters: Counters,
    pub(super) stage: Stage,
    pub(super) notices: Notices,
    /// Number of the request that was sent last.
    pub(super) request: u64,
    /// Books that are to be asked for anew.
    pub(super) doubted: Vec<Instrument>,
    /// When something came last, 0 before the first.
    pub(super) heard_ns: u64,
    /// Bytes of what was received that the session had no room for yet.
    pub(super) taken: usize,
    pub(super) when: When,
    /// Why the connection is to be closed, whatever the session thinks.
    pub(super) given_up: Option<Cause>,
    /// Nothing was heard for too long.
    pub(super) is_silent: bool,
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
}

impl FixFeed {
    /// All memory is taken here, and nothing is connected yet.
    pub fn new(settings: Settings) -> FixFeed {
        let session = Session::new(settings.session.clone(), Memory::default());
        let mut instruments = Instruments::new(settings.instruments_max);
        for name in &settings.symbols {
            if let Some(row) = instruments.add(name, DEPTH) {
                row.is_listed = true;
                row.definition.defined = true;
            }
        }
        FixFeed {
            session,
            instruments,
            settings,
            counters: Counters::default(),
            stage: Stage::Down,
            notices: Notices::default(),
            request: 0,
            doubted: Vec::with_capacity(DOUBTED_MAX),
            heard_ns: 0,
            taken: 0,
            when: When::default(),
            given_up: None,
            is_silent: false,
            connections: 0,
            said: String::new(),
            unanswered: None,
            parts: Parts::default(),
            is_due: false,
            is_answered: false,
            progress_ns: 0,
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
        self.notices.begun = true;
        self.stage = Stage::Asking;
        (self.is_due, self.is_answered) = (true, true);
        self.progress_ns = self.when.now_ns;
        if self.settings.dialect == Dialect::Deribit {
            self.request += 1;
            let number = self.request;
            let sent = self.session.send(b"x", self.when, |request| {
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
        for row in self.instruments.rows_mut() {
            row.book = Book::Unasked;
            row.is_listed = is_listed;
        }
        self.stage = Stage::Down;
        self.counters.downloading = 0;
        self.doubted.clear();
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
    Doubted(Instrument, Cause),
    /// Every book is: it is not known which one changed.
    AllDoubted(Cause),
}

impl FixFeed {
    /// Takes the next thing that the session has to say.
    #[inline]
    fn step(&mut self, batch: &mut Batch) -> Step {
        let unseen = unseen(self.session.counters());
        let FixFeed {
            session,
            instruments,
            counters,
            settings,
            when,
            given_up,
            said,
            unanswered,
            parts,
            ..
        } = self;
        let step = match session.next() {
            None => Step::Idle,
            // What comes behind a hole is of a book that nobody knows.
            Some(fix::Event::Application(..)) if given_up.is_some() => Step::Noted,
            Some(fix::Event::Application(message, header)) => {
                batch.headline = Headline {
                    sequence: header.msg_seq_num.unwrap_or(0) as u32,
                    sending_ns: header.sending_time_ns.unwrap_or(0),
                    receive_ns: when.receive_ns,
                };
                let mut taker = Taker {
                    instruments,
                    counters,
                    batch,
                    unanswered,
                    parts,
                };
                if message.msg_type() == b"j" {
                    *said = text(&message, settings.password.as_ref());
                }
                application(&message, &header, settings, &mut taker)
            }
            Some(fix::Event::LoggedOn) => Step::LoggedOn,
            Some(fix::Event::Rejected(message)) => {
                counters.requests_refused += 1;
                // Behind another cause it is no reason.
                if given_up.is_none() {
                    *said = text(&message, settings.password.as_ref());
                }
                Step::AllDoubted(Cause::Refused)
            }
            Some(fix::Event::LoggedOut(message)) => {
                *said = text(&message, settings.password.as_ref());
                Step::Noted
            }
            Some(fix::Event::Logon(_)) => Step::Noted,
        };
        let missed = missed_since(self.session.counters(), unseen);
        if let Some(cause) = missed.filter(|_| self.stage != Stage::Down) {
            // It was before what came now, which is not to be shown either.
            batch.events.retain_mut(is_told_behind_a_hole);
            self.give_up(cause);
            return Step::Noted;
        }
        step
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
        self.notices.lost = Some((next, next));
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
                self.progress_ns = self.when.now_ns;
                return !batch.events.is_empty();
            }
            Step::Idle | Step::Noted => {}
            Step::LoggedOn => self.logged_on(),
            Step::Listed | Step::ListedInPart => {
                if self.stage == Stage::Listing && step == Step::Listed {
                    self.stage = Stage::Asking;
                }
                self.doubt_redefined();
                (self.is_due, self.is_answered) = (true, true);
                self.progress_ns = self.when.now_ns;
                return !batch.events.is_empty();
            }
            Step::AllDoubted(cause) => self.give_up(cause),
            Step::Doubted(instrument, cause) => self.doubt(instrument, cause),
        }
        false
    }

    /// The venue is heard.
    #[inline]
    fn hear(&mut self, now_ns: u64) {
        self.heard_ns = now_ns;
        if self.is_silent {
            self.is_silent = false;
            self.notices.shown = Some(Validity::Live);
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
    taker: &mut Taker<'_>,
) -> Step {
    let taken = match message.msg_type() {
        b"X" | b"W" if taker.parts.is_awaited() => return Step::AllDoubted(Cause::PartMissing),
        b"X" => taker.increment(message, header),
        b"W" => taker.snapshot(message, header),
        b"i" => taker.mass_quote(message, header),
        b"y" => {
            let (instruments, counters) = (&mut *taker.instruments, &mut *taker.counters);
            let events = &mut taker.batch.events;
            let chosen = &settings.chosen;
            return match securities::take(message, instruments, chosen, DEPTH, counters, events) {
                Ok(Listed::Whole) => Step::Listed,
                Ok(Listed::Part) => Step::ListedInPart,
                Ok(Listed::Refused) => {
                    counters.requests_refused += 1;
                    Step::AllDoubted(Cause::ListRefused)
                }
                Err(malformed) => {
                    counters.messages_malformed += 1;
                    Step::AllDoubted(Cause::Malformed(malformed))
                }
            };
        }
        b"f" => {
            let (instruments, counters) = (&mut *taker.instruments, &mut *taker.counters);
            let events = &mut taker.batch.events;
            return match securities::status(message, instruments, counters, events) {
                Ok(()) if events.is_empty() => Step::Noted,
                Ok(()) => Step::Events,
                Err(_) => {
                    counters.messages_malformed += 1;
                    Step::Noted
                }
            };
        }
        b"Y" => {
            taker.counters.requests_rejected += 1;
            return match rejected(message, taker) {
                true => Step::Answered,
                false => Step::Noted,
            };
        }
        b"j" => {
            taker.counters.requests_refused += 1;
            return Step::AllDoubted(Cause::Refused);
        }
        // Quotes are withdrawn: what is left of the books says the next connection.
        b"Z" => return Step::AllDoubted(Cause::Withdrawn),
        _ => {
            taker.counters.messages_unknown += 1;
            return Step::Noted;
        }
    };
    match taken {
        Taken::Whole => Step::Events,
        Taken::Dropped => Step::Noted,
        Taken::Doubted(instrument, malformed) => {
            Step::Doubted(instrument, Cause::MalformedBook(instrument, malformed))
        }
        Taken::AllDoubted(malformed) => Step::AllDoubted(Cause::Malformed(malformed)),
    }
}

impl Venue for FixFeed {
    type Channel = ();

    const TABLES: &'static [&'static [CounterInfo]] = &[Counters::TABLE, fix::Counters::TABLE];

    fn counted(&self) -> impl Iterator<Item = u64> {
        self.counters
            .counts()
            .chain(self.session.counters().counts())
    }

    #[inline]
    fn receive(&mut self, (): (), payload: &[u8], when: When) {
        self.when = when;
        self.hear(when.now_ns);
        self.taken = self.session.receive(payload, when);
    }

    fn batch(&self) -> Batch {
        // The shortest entry has some 20 bytes.
        let entries_max = self.settings.session.limits.message_bytes_max / 20;
        Batch::new(entries_max + 3 * self.settings.instruments_max + 8)
    }

    #[inline]
    fn next(&mut self, payload: &[u8], batch: &mut Batch) -> bool {
        batch.events.clear();
        loop {
            if self.notices.is_any() && self.notice(batch) {
                return true;
            }
            let step = self.step(batch);
            if let Some(quote) = self.unanswered.take() {
                self.answer(quote);
            }
            if self.carry_out(step, batch) {
                return true;
            }
            if step == Step::Idle && !self.notices.is_any() {
                let rest = payload.get(self.taken..).unwrap_or_default();
                let more = self.session.receive(rest, self.when);
                self.taken += more;
                if more == 0 {
                    self.ask();
                    if !self.notices.is_any() {
                        return false;
                    }
                }
            }
        }
    }

    fn advance(&mut self, now: When) {
        self.when = now;
        self.taken = 0;
        self.session.advance(now);
        let silent_ns = now.now_ns.saturating_sub(self.heard_ns);
        if self.stage != Stage::Down && !self.is_silent && silent_ns >= self.settings.stale_ns {
            self.is_silent = true;
            self.counters.silences += 1;
            self.notices.shown = Some(Validity::Stale);
        }
        if self.parts.is_late(now.now_ns) {
            self.give_up(Cause::PartMissing);
        }
        let is_waiting = matches!(self.stage, Stage::Listing | Stage::Asking);
        if is_waiting && now.now_ns.saturating_sub(self.progress_ns) >= ANSWER_NS {
            self.give_up(Cause::Unanswered);
        }
    }

    fn finish(&mut self) {
        self.taken = 0;
    }

    fn orders_overflowed(&mut self, _: Instrument) {}

    fn book_doubtful(&mut self, instrument: Instrument) {
        self.doubt(instrument, Cause::Misfit(instrument));
    }

    fn event_open(&self) -> bool {
        false
    }

    fn missing(&self) -> Validity {
        Validity::Recovering
    }

    fn is_fresh(&self) -> bool {
        self.stage != Stage::Down && !self.is_silent && self.given_up.is_none()
    }

    fn is_defined(&self) -> bool {
        self.counters.downloads > 0
    }

    fn orders_seen(&self) -> bool {
        false
    }

    fn instruments(&self) -> usize {
        self.instruments.len()
    }

    fn definition(&self, instrument: Instrument) -> &InstrumentDefinition {
        &self.instruments.row(instrument).definition
    }

    fn validity(&self, instrument: Instrument) -> Validity {
        match self.instruments.row(instrument).validity() {
            Validity::Live if self.given_up.is_some() => Validity::Gapped,
            validity => validity,
        }
    }

    fn orders_validity(&self, _: Instrument) -> Validity {
        Validity::Recovering
    }
}

impl Dialogue for FixFeed {
    fn connected(&mut self, when: When) {
        self.when = when;
        self.taken = 0;
        self.connections += 1;
        self.said.clear();
        self.heard_ns = when.now_ns;
        let FixFeed {
            session,
            settings,
            connections,
            ..
        } = self;
        session.connected_with(when, |fields| {
            logon::write(settings, *connections, when, fields);
        });
    }

    fn disconnected(&mut self, when: When) {
        self.when = when;
        self.taken = 0;
        self.session.disconnected(when);
        if self.stage != Stage::Down {
            self.notices.shown = Some(Validity::Stale);
        }
        self.is_silent = false;
        self.forget();
    }

    fn outgoing(&self) -> &[u8] {
        self.session.outgoing()
    }

    fn sent(&mut self, bytes: usize, _: When) {
        self.session.sent(bytes);
    }

    fn is_over(&self) -> bool {
        self.given_up.is_some() || self.session.closing().is_some()
    }

    fn reason(&self) -> String {
        let closing = match (self.given_up, self.session.closing()) {
            (Some(cause), _) => {
                let cause = cause.text(&self.instruments);
                format!("{cause}; everything is asked for anew")
            }
            (None, Some(closing)) => closing.to_string(),
            (None, None) => return String::new(),
        };
        match self.said.as_str() {
            "" => closing,
            said => format!("{closing}; it said {said:?}"),
        }
    }

    fn leave(&mut self, when: When) {
        self.session.log_out("", when);
    }
}

/// Levels are named by their price, however many are asked for.
const DEPTH: Depth = Depth {
    direct: Depth::ALL,
    implied: 0,
};

/// A list, or a book, that is not answered for so long is not answered at all.
const ANSWER_NS: u64 = 30_000_000_000;

/// Messages that the session takes for itself, and that may have been changes of books: held back behind
/// a hole, rejected, skipped by the venue, or from before its numbers began again.
fn unseen(counters: &fix::Counters) -> [u64; 4] {
    [
        counters.messages_early,
        counters.messages_rejected,
        counters.skips,
        counters.resets,
    ]
}

/// What of it happened since then.
fn missed_since(counters: &fix::Counters, before: [u64; 4]) -> Option<Cause> {
    const CAUSES: [Cause; 4] = [
        Cause::LeftOut,
        Cause::Invalid,
        Cause::Skipped,
        Cause::Restarted,
    ];
    let mut counts = unseen(counters).into_iter().zip(before);
    let place = counts.position(|(now, before)| now != before)?;
    Some(CAUSES[place])
}

/// The instruments of a rejected request have no book; where they are several, each is asked for again by itself, since
/// perhaps one alone is wrong. Whether there were any.
fn rejected(message: &Message<'_>, taker: &mut Taker<'_>) -> bool {
    let mut fields = message.fields().map_while(Result::ok);
    let id = fields.find(|field| field.tag == tag::MD_REQ_ID);
    let Some(number) = id.and_then(|field| unsigned(field.value).ok()) else {
        return false;
    };
    let is_asked =
        |row: &&mut super::instruments::Row| row.request == number && row.book == Book::Awaited;
    let rows = taker.instruments.rows_mut();
    let several = rows.iter_mut().filter(is_asked).count() > 1;
    let mut any = false;
    for row in rows.iter_mut().filter(is_asked) {
        any = true;
        if several {
            (row.book, row.is_alone) = (Book::Unasked, true);
        } else {
            row.book = Book::Rejected;
            let closed = Event::Validity(row.definition.instrument, Validity::Closed);
            taker.batch.events.push(closed);
        }
    }
    any
}
