//! Feed of a bank's pricing session: FIX messages in, the bank's quotes and its own book out.
//!
//! ```text
//!            Logon ─► request for each pair ─► quotes (W X S i Z AI) ─► BankStream ─► changes of quotes, levels of the book
//! ```
//!
//! A lost session withdraws every quote: one message makes the channel stale, and each book is empty. A gap in the bank's
//! sequence numbers may hide the end of a quote, so the feed reconnects.

mod days;
mod numbers;
mod outcome;
mod subscribe;

use super::books::Books;
use super::counters::Counters;
use super::messages::{info, named, quote_id, rejected_pair, text, withheld};
use super::requests::Requests;
use super::settings::Settings;
use crate::fix_md::too_long;
use crate::{Batch, BookRules, Feed, Feedback, QuoteBatch, ReceiveTime, SessionFeed, Warning};
use numbers::Numbers;
use outcome::Outcome;
use touchline_fx::quotes;
use touchline_fx::quotes::NEVER;
use touchline_fx_days::DayWatch;
use touchline_instruments::Instruments;
use touchline_session::fix::{self, Event as Said, Memory, Session};
use touchline_types::{
    ChannelState, CounterInfo, Event, Instrument, PacketInfo, Phase, QuoteStream, Validity,
};
use touchline_wire::fix::{Message, tag};

/// A bank's pricing session.
#[derive(Debug)]
pub struct FxBankFeed {
    settings: Settings,
    session: Session<Memory>,
    requests: Requests,
    books: Books,
    counters: Counters,
    instruments: Option<Instruments>,
    time: ReceiveTime,
    /// Numbers of the next request to send.
    next_request: usize,
    /// Pending events for subscribers, published first.
    pending: Pending,
    numbers: Numbers,
    /// Logged on, and everything that the bank sent before has come.
    is_up: bool,
    is_announced: bool,
    is_silent: bool,
    /// Time of the next publication of all quotes, monotonic clock.
    snapshot_due_ns: u64,
    /// Next pair of the round of snapshots.
    snapshot_next: usize,
    /// Reason to reconnect.
    reason: Option<String>,
    /// Text of the bank's Logout.
    said: String,
    /// The bank's message that caused the reconnect.
    message: String,
    /// Pending warning for the log.
    warning: Option<Warning>,
    /// Days of the pairs.
    days: DayWatch,
    /// Whether quotes that ended with the last day are still published.
    has_begun: bool,
}

/// Longest time between two looks at the ends of quotes.
const EXPIRY_CHECK_NS: u64 = 50_000_000;

/// Reason to reconnect: a quote may have ended with the missing message.
const MISSED: &str = "sequence gap: a message of the bank is missing or damaged";

/// Reason to reconnect: a quote may have ended with the message, which has no effect.
const MALFORMED: &str = "malformed message: a field is invalid or is there twice, or there are other entries than stated";

/// Event for subscribers without a quote message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    /// Start: the instruments are announced before the first logon.
    Start,
    /// Logged on.
    Up,
    /// The session was lost.
    Away,
    /// The session timed out: its quotes are unusable until it is active again.
    Silent,
    /// Activity of the session after a feed timeout.
    Back,
    /// Activity without quotes.
    Heard,
}

impl FxBankFeed {
    /// A feed without a connection.
    pub fn new(mut settings: Settings) -> FxBankFeed {
        let days = DayWatch::new(settings.rolls.take());
        let numbers = Numbers::new(std::mem::take(&mut settings.reset));
        let session = Session::new(settings.session.clone(), Memory::default());
        FxBankFeed {
            requests: Requests::new(&settings),
            books: Books::new(&settings.stream, settings.levels_max),
            instruments: Some(named(&settings)),
            counters: Counters::default(),
            session,
            settings,
            time: ReceiveTime::default(),
            next_request: 0,
            pending: Pending::Start,
            numbers,
            is_up: false,
            is_announced: false,
            is_silent: false,
            snapshot_due_ns: u64::MAX,
            snapshot_next: usize::MAX,
            reason: None,
            said: String::new(),
            message: String::new(),
            warning: None,
            days,
            has_begun: false,
        }
    }

    fn pairs(&self) -> usize {
        self.settings.stream.setup().pairs.len()
    }

    fn stream_of(&self, pair: usize, is_unquoted: bool) -> QuoteStream {
        QuoteStream {
            instrument: Instrument(pair as u32),
            security_id: Instrument(pair as u32).row_number(),
            provider: self.settings.bank,
            value_date: self.settings.stream.value_date(pair),
            validity: match self.is_up {
                true => Validity::Live,
                false => Validity::Stale,
            },
            is_unquoted,
        }
    }

    /// Moves pending events to the batch. True if there were any.
    fn take_pending(&mut self, batch: &mut Batch) -> bool {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        let stale = |validity| {
            Event::Channel(ChannelState {
                price: validity,
                orders: validity,
                sequence: 0,
            })
        };
        let events = &mut batch.events;
        match pending {
            Pending::Nothing => return false,
            Pending::Start => {
                events.push(stale(Validity::Stale));
                for pair in 0..self.pairs() as u32 {
                    events.push(Event::Defined {
                        instrument: Instrument(pair),
                        price: Validity::Recovering,
                        orders: None,
                    });
                }
                self.is_announced = true;
            }
            Pending::Away => {
                events.push(stale(Validity::Stale));
                self.books.empty(Validity::Recovering, events);
            }
            Pending::Silent => {
                events.push(stale(Validity::Stale));
                self.books.pause(events);
            }
            Pending::Up => {
                self.books.empty(Validity::Recovering, events);
                events.push(stale(Validity::Live));
                events.push(Event::Download(Phase::Begun));
                events.push(Event::Download(Phase::Ended));
                self.snapshots(&mut batch.quotes);
            }
            Pending::Back => {
                events.push(stale(Validity::Live));
                self.snapshots(&mut batch.quotes);
                self.books.resume(&self.settings.stream, events);
                events.push(Event::EndOfEvent { transact_ns: 0 });
            }
            Pending::Heard => events.push(stale(Validity::Live)),
        }
        batch.packet_info = PacketInfo {
            receive_ns: self.time.wall_ns,
            ..PacketInfo::default()
        };
        true
    }

    /// All quotes of every pair.
    fn snapshots(&mut self, into: &mut QuoteBatch) {
        for pair in 0..self.pairs() {
            self.snapshot(pair, into);
        }
    }

    fn snapshot(&mut self, pair: usize, into: &mut QuoteBatch) {
        self.counters.snapshots += 1;
        let bank = &self.settings.stream;
        // Before the first quote message the snapshot is empty, has the present time, and is marked as unquoted.
        let (is_unquoted, receive_ns) = match bank.quoted_ns(pair) {
            0 => (true, self.time.wall_ns),
            quoted_ns => (false, quoted_ns),
        };
        into.add_all(self.stream_of(pair, is_unquoted), receive_ns, |quotes| {
            bank.all(pair, quotes);
        });
    }

    /// Handles events of the session. True if the batch is not empty.
    fn hear(&mut self, batch: &mut Batch) -> Option<bool> {
        let FxBankFeed {
            settings,
            session,
            requests,
            counters,
            is_up,
            reason,
            time,
            said,
            warning,
            ..
        } = self;
        let mut outcome = Outcome::default();
        let password = settings.password.as_ref();
        let printed = |message: &Message<'_>| {
            Warning::Rejected(withheld(fix::printed_message(message.bytes()), password))
        };
        let Some(heard) = session.poll() else {
            return self.comes_up().then_some(false);
        };
        match heard {
            Said::Application(message, header, _) => match message.msg_type() {
                b"Y" | b"AG" | b"j" => {
                    counters.requests_rejected += 1;
                    warning.get_or_insert(printed(&message));
                    outcome.refused = rejected_pair(*requests, &message);
                }
                // A quote that was missed, and is sent again, is not the present one.
                _ if reason.is_some() || !*is_up => {}
                _ => {
                    outcome.is_of_stream = true;
                    let was = settings.stream.counters().malformed;
                    settings.stream.message(time.wall_ns, message.bytes());
                    // mutant: gateway: quotes stay that a malformed message may have ended
                    match settings.stream.counters().malformed > was {
                        true => outcome.missed = Some(MALFORMED.to_owned()),
                        false => outcome.acknowledge = quote_id(&message),
                    }
                    batch.packet_info = info(&header, *time);
                }
            },
            Said::LoggedOn { .. } => self.numbers.log_on(),
            Said::TooLong(message) if *is_up && reason.is_none() => {
                outcome.missed = Some(too_long(message));
            }
            Said::Invalid(_) | Said::Gap { .. } | Said::Skipped { .. } | Said::Restarted { .. }
                if *is_up && reason.is_none() =>
            {
                outcome.missed = Some(MISSED.to_owned());
            }
            Said::Rejected(message) => {
                counters.requests_rejected += 1;
                warning.get_or_insert(printed(&message));
            }
            Said::LoggedOut(message) => *said = withheld(text(&message), password),
            Said::Logon(_)
            | Said::TooLong(_)
            | Said::Invalid(_)
            | Said::Gap { .. }
            | Said::Skipped { .. }
            | Said::Restarted { .. } => {}
        }
        self.comes_up();
        self.carry_out(outcome, batch);
        for pair in 0..self.pairs() {
            self.pass_on(pair, batch);
        }
        Some(!batch.events.is_empty() || !batch.quotes.is_empty())
    }

    /// Changes of a pair's quotes by the last message.
    fn pass_on(&mut self, pair: usize, batch: &mut Batch) {
        let is_quoted = self.settings.stream.is_quoted(pair);
        let stream = self.stream_of(pair, !is_quoted);
        let receive_ns = self.time.wall_ns;
        // After a logon or a loss, snapshots of all pairs follow.
        let is_told = self.pending != Pending::Nothing;
        let Some(changes) = self.settings.stream.take_changes(pair) else {
            return;
        };
        if is_told {
            return;
        }
        batch.quotes.add_changes(stream, changes, receive_ns);
        if is_quoted {
            self.books.note_quoted(pair, &mut batch.events);
        }
        if self
            .books
            .refresh(&self.settings.stream, pair, &mut batch.events)
        {
            batch.events.push(Event::EndOfEvent { transact_ns: 0 });
        }
    }

    /// Removes levels whose quotes have expired.
    fn refresh_books(&mut self, batch: &mut Batch) -> bool {
        let mut is_any = false;
        for pair in 0..self.pairs() {
            is_any |= self
                .books
                .refresh(&self.settings.stream, pair, &mut batch.events);
        }
        if is_any {
            batch.events.push(Event::EndOfEvent { transact_ns: 0 });
            batch.packet_info = PacketInfo {
                receive_ns: self.time.wall_ns,
                ..PacketInfo::default()
            };
        }
        is_any
    }
}

impl Feed for FxBankFeed {
    type Source = ();

    const TABLES: &'static [&'static [CounterInfo]] = &[
        Counters::TABLE,
        quotes::Counters::TABLE,
        fix::Counters::TABLE,
    ];

    fn counted(&self) -> impl Iterator<Item = u64> {
        let quotes = self.settings.stream.counters();
        self.counters
            .counts()
            .chain(quotes.counts())
            .chain(self.session.counters().counts())
    }

    fn instruments(&mut self) -> Instruments {
        let instruments = self.instruments.take();
        instruments.expect("the table of instruments is taken once")
    }

    fn batch(&self) -> Batch {
        // An entry takes at least 20 bytes of a message and changes at most one level.
        let entries = self.settings.message_bytes_max / 20;
        Batch::new(entries.min(8 * self.settings.levels_max) + 6 * self.pairs() + 8)
    }

    fn book_rules(&self) -> BookRules {
        BookRules {
            missing: Validity::Recovering,
            inconsistent: Validity::Recovering,
        }
    }

    fn handle(
        &mut self,
        (): (),
        bytes: &[u8],
        time: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize {
        self.time = time;
        self.begin_days();
        let before = self.session.counters().messages_received;
        let taken = self.session.handle(bytes, time);
        let is_any = self.poll(instruments, batch);
        let is_heard = self.session.counters().messages_received > before;
        if !is_any && self.is_up && is_heard {
            self.settings.stream.heard(time.wall_ns);
            self.pending = Pending::Heard;
            self.take_pending(batch);
        }
        taken
    }

    fn poll(&mut self, _: &mut Instruments, batch: &mut Batch) -> bool {
        batch.events.clear();
        batch.quotes.clear();
        loop {
            // mutant: gateway: bytes without a message end a silence
            if self.is_silent && self.is_up && self.session.has_message() {
                self.is_silent = false;
                self.settings.stream.heard(self.time.wall_ns);
                self.pending = Pending::Back;
            }
            if self.take_pending(batch) {
                return true;
            }
            if self.withdraw_old(batch) {
                return true;
            }
            if let Some(pair) = (self.snapshot_next < self.pairs()).then_some(self.snapshot_next) {
                self.snapshot_next += 1;
                self.snapshot(pair, &mut batch.quotes);
                return true;
            }
            match self.hear(batch) {
                Some(true) => return true,
                Some(false) => {}
                None => break,
            }
        }
        self.ask();
        self.refresh_books(batch)
    }

    fn handle_timeout(&mut self, now: ReceiveTime) {
        self.time = now;
        self.begin_days();
        self.session.handle_timeout(now);
        if self.settings.stream.next_timeout_ns() <= now.wall_ns {
            self.settings.stream.wake(now.wall_ns);
        }
        let silence_ns = self.settings.stream.silence_ns();
        let quiet_ns = now.mono_ns.saturating_sub(self.session.heard_ns());
        if self.is_up && !self.is_silent && silence_ns > 0 && quiet_ns >= silence_ns {
            self.is_silent = true;
            self.counters.silences += 1;
            self.pending = Pending::Silent;
        }
        if self.is_up && now.mono_ns >= self.snapshot_due_ns {
            self.snapshot_due_ns = now.mono_ns.saturating_add(self.settings.snapshot_ns);
            self.snapshot_next = if self.is_silent { usize::MAX } else { 0 };
        }
    }

    fn wall_stepped(&mut self, step_ns: i64) {
        self.settings.stream.wall_stepped(step_ns);
        self.session.wall_stepped(step_ns);
        self.time.wall_ns = self.time.wall_ns.saturating_add_signed(step_ns);
    }

    fn next_timeout(&self) -> Option<u64> {
        if self.pending != Pending::Nothing || self.has_begun {
            return Some(0);
        }
        let silence_ns = self.settings.stream.silence_ns();
        let silent_ns = (self.is_up && !self.is_silent && silence_ns > 0)
            .then(|| self.session.heard_ns().saturating_add(silence_ns));
        let snapshot_ns = self.is_up.then_some(self.snapshot_due_ns);
        // Quotes age while the process or the host stands still, and the clock of timeouts with it.
        let roll_ns = match self.days.rolls() {
            Some(_) => self.days.due_ns(),
            None => NEVER,
        };
        let ends_ns = match self.settings.stream.next_timeout_ns().min(roll_ns) {
            NEVER => None,
            ends_ns => {
                let left_ns = ends_ns.saturating_sub(self.time.wall_ns);
                let wait_ns = left_ns.min(EXPIRY_CHECK_NS);
                Some(self.time.mono_ns.saturating_add(wait_ns))
            }
        };
        let next_ns = [self.session.next_timeout(), silent_ns, snapshot_ns, ends_ns];
        next_ns.into_iter().flatten().min()
    }

    fn finish(&mut self) {}

    fn feedback(&mut self, _: &Feedback) {}

    fn is_defined(&self) -> bool {
        self.is_announced
    }
}

impl SessionFeed for FxBankFeed {
    fn connected(&mut self, time: ReceiveTime) {
        self.time = time;
        self.begin_days();
        self.reason = None;
        self.said.clear();
        self.message.clear();
        let resets = self.numbers.connect(time.wall_ns);
        self.session.set_reset_on_logon(resets);
        let settings = &self.settings;
        self.session.connected_with(time, |logon| {
            if let Some(user) = &settings.user {
                logon.bytes(tag::USERNAME, user.as_bytes());
            }
            if let Some(password) = &settings.password {
                logon.bytes(tag::PASSWORD, password.expose());
            }
            for (tag, value) in &settings.logon_fields {
                logon.bytes(*tag, value);
            }
        });
    }

    fn disconnected(&mut self, time: ReceiveTime) {
        self.time = time;
        self.session.disconnected(time);
        self.numbers.disconnect();
        let was_up = std::mem::take(&mut self.is_up);
        self.is_silent = false;
        self.settings.stream.down(time.wall_ns);
        for pair in 0..self.pairs() {
            let _ = self.settings.stream.take_changes(pair);
        }
        self.snapshot_next = usize::MAX;
        if was_up {
            self.pending = Pending::Away;
        }
    }

    fn outgoing(&self) -> &[u8] {
        self.session.poll_transmit()
    }

    fn sent(&mut self, bytes: usize, _: ReceiveTime) {
        self.session.transmitted(bytes);
    }

    fn is_over(&self) -> bool {
        self.reason.is_some() || self.session.disconnect_reason().is_some()
    }

    fn reason(&self) -> String {
        let of_session = self.session.disconnect_reason();
        match (&self.reason, of_session) {
            (Some(reason), _) => reason.clone(),
            (None, Some(reason)) if self.said.is_empty() => reason.to_string(),
            (None, Some(reason)) => format!("{reason}; text of the bank: {:?}", self.said),
            (None, None) => String::new(),
        }
    }

    fn evidence(&self) -> String {
        match self.message.is_empty() {
            true => withheld(self.session.evidence(), self.settings.password.as_ref()),
            false => self.message.clone(),
        }
    }

    fn has_secret(&self, bytes: &[u8]) -> bool {
        let password = self.settings.password.as_ref();
        password.is_some_and(|password| password.stands_in(bytes))
    }

    fn take_warning(&mut self) -> Option<Warning> {
        self.warning.take()
    }

    fn log_out(&mut self, time: ReceiveTime) {
        self.session.log_out("", time);
    }
}
