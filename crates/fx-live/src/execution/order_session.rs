//! Order session of a bank: connects, keeps the FIX session, hands out its messages, sends ours.
//!
//! The sequence numbers of the session are in the journal, and no message is sent twice: a resend request of the bank
//! is answered with a gap fill. A report that we request again has the same ExecID, by which the core recognizes it.

mod attempts;
mod day;
mod logon;
mod said;
mod sent;
mod settling;
#[cfg(test)]
mod tests;
mod texts;

use crate::execution::config::{Reset, ScheduleConfig, SessionConfig};
use crate::execution::edge::{Link, Lost};
use crate::execution::numbers::Numbers;
use attempts::Attempts;
use day::Day;
pub use day::Turn;
use logon::Logon;
pub use said::{Gap, Said};
use sent::Sent;
use settling::Settling;
use std::net::SocketAddrV4;
pub use texts::{names_of, number_of};
use texts::{reject_of, repeated, text_of};
use touchline_fx::config::AfterLoss;
use touchline_net::stream::Error;
use touchline_session::Secret;
use touchline_session::fix::{
    Application, ApplicationId, Applications, Checks, DisconnectReason, Event, ResendPolicy, Role,
    SequenceFault, Session, Settings,
};
use touchline_types::ReceiveTime;

/// Longest wait for a connection.
const CONNECT_NS: u64 = 5_000_000_000;
/// Longest wait until the rest is sent when the session ends.
const FLUSH_NS: u64 = 1_000_000_000;
/// Longest message.
const MESSAGE_BYTES_MAX: usize = 64 * 1_024;
/// Output that may wait: cancels of thousands of orders at once. A simulation makes thousands of sessions, with few orders.
const OUTPUT_BYTES: usize = if cfg!(test) { 256 << 10 } else { 4 << 20 };

/// The application of orders. None of its messages is sent again.
const ORDERS: Application<'static> = Application {
    id: ApplicationId(1),
    receives: &[b"8", b"9", b"j"],
    sends: &[b"D", b"F", b"H", b"AF", b"Q"],
    resend: ResendPolicy::GapFill,
};

/// State of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    None,
    Making,
    Made,
}

/// The order session of a bank.
pub struct OrderSession<L> {
    session: Session<Numbers>,
    host: SocketAddrV4,
    link: L,
    state: Connection,
    /// Why the last connection was lost.
    lost: Option<Error>,
    attempts: Attempts,
    logon: Logon,
    day: Day,
    /// The connection ends because the session's hours are over.
    is_ending: bool,
    /// Whether a loss of the connection cancels the orders at the bank, and messages of the time before may still come.
    drops_orders: bool,
    settling: Settling,
    /// When it logged on last.
    up_ns: u64,
    /// The session has a connection.
    is_open: bool,
    /// Logged on.
    is_up: bool,
    flush_until_ns: Option<u64>,
    message: Vec<u8>,
    /// The bank marked that message as a possible repetition (43=Y or 97=Y).
    is_marked: bool,
    /// Last number of the last reported gap: each message behind a gap reveals it again.
    gap_end: u64,
    /// Garbled messages that were reported.
    garbled: u64,
    sent: Sent,
    /// Number of our next message by the journal; `None` once both numbers began again, which only a record of both shows.
    journaled: Option<u64>,
    /// Text and number of the bank's Logout, and what it says of our numbers.
    text: String,
    logout: u64,
    numbers: Option<SequenceFault>,
    is_stopping: bool,
    /// Why we end the connection before everything of the bank is read.
    cut: Option<&'static str>,
}

impl<L: Link> OrderSession<L> {
    /// A session that continues with these numbers, which are those of a day.
    pub fn new(
        config: &SessionConfig,
        numbers: Numbers,
        numbered: u32,
        link: L,
    ) -> OrderSession<L> {
        let mut settings = Settings::new(Role::Initiator, &config.sender, config.target());
        settings.sender_sub.clone_from(&config.sender_sub);
        settings.target_sub.clone_from(&config.target_sub);
        settings.heartbeat_s = config.heartbeat_s;
        settings.checks = Checks::Standard;
        // Banks use reject reasons (103) that are newer than FIX 4.4; the core maps unknown ones.
        settings.check_options.any_value = true;
        // Most have fields of their own, and of later versions. A report with one must not be rejected: it may be a fill.
        settings.check_options.unknown = true;
        // A report that was under way while this process stood still, or of a bank whose clock is wrong, is a report: a rejected one counts
        // as received, and is not sent again.
        // mutant: execution: a report of an old time is rejected
        settings.sending_time_s = 0;
        settings.applications = Applications::default().with(&ORDERS);
        settings.limits.message_bytes_max = MESSAGE_BYTES_MAX;
        settings.limits.output_bytes = OUTPUT_BYTES;
        let (reset, schedule) = (config.reset(), config.schedule());
        settings.reset_on_logon = matches!(reset, Reset::Run | Reset::Logon);
        let hours = schedule.map_or(Ok(None), ScheduleConfig::hours);
        let hours = hours.expect("the configuration was checked");
        let ms = |ms: u64| ms * 1_000_000;
        OrderSession {
            session: Session::new(settings, numbers),
            host: config.host,
            link,
            state: Connection::None,
            lost: None,
            attempts: Attempts::new(ms(config.reconnect_ms), ms(config.reconnect_ms_max)),
            logon: Logon::new(config),
            day: Day::new(hours, reset, numbered),
            is_ending: false,
            drops_orders: schedule.is_some_and(|schedule| schedule.after_loss != AfterLoss::Ask),
            settling: Settling::new(ms(1_000 * u64::from(config.heartbeat_s.max(1)))),
            up_ns: 0,
            is_open: false,
            is_up: false,
            flush_until_ns: None,
            message: Vec::with_capacity(MESSAGE_BYTES_MAX),
            is_marked: false,
            gap_end: 0,
            garbled: 0,
            sent: Sent::default(),
            journaled: Some(numbers.both().0),
            text: String::new(),
            logout: 0,
            numbers: None,
            is_stopping: false,
            cut: None,
        }
    }

    /// Sets how long the bank may look at an order that it got before a loss of the connection.
    pub fn set_answer_ms(&mut self, answer_ms: u64) {
        self.settling.set_answer_ms(answer_ms);
    }

    /// Sets the password of our Logon.
    pub fn set_password(&mut self, password: Option<Secret>) {
        self.logon.set_password(password);
    }

    /// The message that was handed out last, to take it while it is handled.
    pub fn message_mut(&mut self) -> &mut Vec<u8> {
        &mut self.message
    }

    /// Whether the bank marked that message as a possible repetition.
    pub fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// Numbers of the next messages, out and in.
    pub fn numbers(&self) -> (u64, u64) {
        self.session.store().both()
    }

    /// Number of the next message that is sent.
    pub fn next_out(&self) -> u64 {
        self.session.store().both().0
    }

    /// Sequence numbers that the journal lacks, if our own changed or both began again; the journal has the bank's other numbers in the
    /// records of its reports.
    pub fn unjournaled(&self) -> Option<(u64, u64)> {
        let numbers = self.numbers();
        (self.journaled != Some(numbers.0)).then_some(numbers)
    }

    /// Notes that the journal has the present numbers.
    pub fn note_journaled(&mut self) {
        self.journaled = Some(self.next_out());
    }

    /// Notes that the journal has the record of a sent message, with its number.
    pub fn note_recorded(&mut self, number: u64) {
        // mutant: execution: the record of a message stands for that of numbers that began again
        self.journaled = self.journaled.map(|_| number + 1);
    }

    /// Applies a step of the host's wall clock: times of later calls contain the step.
    pub fn wall_stepped(&mut self, step_ns: i64) {
        self.session.wall_stepped(step_ns);
    }

    /// Reads received bytes. Call [`OrderSession::poll`] until it returns `None`. True: the socket may have more.
    pub fn read(&mut self, time: ReceiveTime) -> bool {
        if self.state != Connection::Made {
            return false;
        }
        let room = self.session.room();
        let length = room.len();
        match self.link.receive(room) {
            Ok(0) => false,
            Ok(bytes) => {
                self.session.filled(bytes, time);
                bytes == length
            }
            Err(Lost(why)) => {
                self.lose(why);
                false
            }
        }
    }

    /// Next output of the session. The previous output counts as processed.
    pub fn poll(&mut self, time: ReceiveTime) -> Said {
        // mutant: execution: a session that ends at once takes its doubt with it
        if self.settling.take_doubt() {
            return Said::Doubted;
        }
        loop {
            if self.cut.is_some() {
                return self.end(time);
            }
            let was_catching_up = self.session.is_catching_up();
            let OrderSession {
                session,
                message,
                text,
                logout,
                numbers,
                gap_end,
                ..
            } = self;
            match session.poll() {
                Some(Event::Application(received, header, _)) => {
                    message.clear();
                    message.extend_from_slice(received.bytes());
                    self.is_marked = header.poss_dup || header.poss_resend;
                    return Said::Message;
                }
                Some(Event::LoggedOn { is_restarted }) => {
                    return self.logged_on(is_restarted, time);
                }
                Some(Event::Rejected(received)) => {
                    return Said::Rejected(self.logon.withheld(reject_of(&received)));
                }
                Some(Event::Invalid(received)) => return Said::invalid(&received),
                Some(Event::Gap { first, last }) if first > *gap_end => {
                    *gap_end = last;
                    return Said::Gap(Gap::new(first, last, session.is_catching_up()));
                }
                Some(Event::LoggedOut(received)) => {
                    *text = text_of(&received);
                    *logout = number_of(&received).unwrap_or(0);
                    *numbers = SequenceFault::of_logout(&received);
                }
                Some(Event::TooLong(message)) => return Said::TooLong(message),
                Some(Event::Restarted { lost }) => {
                    // The session's numbers start again at 1.
                    *gap_end = 0;
                    self.journaled = None;
                    if let Some((first, last)) = lost {
                        // mutant: execution: reports are lost with the numbers, and a rule ends their orders
                        self.settling.doubt();
                        return Said::Skipped(Gap::new(first, last, false));
                    }
                }
                Some(Event::Skipped { first, last }) => {
                    return Said::Skipped(Gap::new(first, last, was_catching_up));
                }
                Some(Event::Logon(_) | Event::Gap { .. }) => {}
                None => break,
            }
        }
        let garbled = self.session.counters().messages_garbled;
        match garbled - std::mem::replace(&mut self.garbled, garbled) {
            0 if self.session.is_up() && !self.is_catching_up() => {
                let said = self.settling.step(&mut self.session, time);
                said.unwrap_or_else(|| self.end(time))
            }
            0 => self.end(time),
            count => Said::Garbled(count),
        }
    }

    fn logged_on(&mut self, is_restarted: bool, time: ReceiveTime) -> Said {
        self.is_up = true;
        self.up_ns = time.mono_ns;
        self.attempts.logged_on();
        self.gap_end = 0;
        // A reset that the configuration asks for is not news.
        let is_asked = self.session.settings().reset_on_logon;
        let is_news = is_restarted && !is_asked;
        if is_news {
            self.journaled = None;
        }
        // Each last look was over before a session ended whole, and all of its messages have come.
        let is_whole = self.day.ended_whole && self.day.reset == Reset::Session;
        // mutant: execution: an order is gone by a rule, and its report was lost with the numbers
        let is_doubted = is_restarted && !(is_asked && is_whole);
        let is_always = self.day.reset == Reset::Logon;
        self.session.set_reset_on_logon(is_always);
        self.day.logged_on();
        if self.drops_orders {
            self.settling.begin(is_doubted, time.mono_ns);
        }
        Said::Up(is_news)
    }

    /// Runs due timers of the session.
    pub fn tick(&mut self, time: ReceiveTime) {
        let due_ns = self.session.next_timeout();
        if due_ns.is_some_and(|due_ns| due_ns <= time.mono_ns) {
            self.session.handle_timeout(time);
        }
    }

    /// Hands waiting bytes to the kernel. The journal must have the numbers.
    pub fn flush(&mut self) {
        while self.state == Connection::Made && !self.session.poll_transmit().is_empty() {
            match self.link.send(self.session.poll_transmit()) {
                Ok(0) => return,
                Ok(sent) => self.session.transmitted(sent),
                Err(Lost(why)) => self.lose(why),
            }
        }
    }

    /// Whether the session has something to do without bytes in the socket: it has no connection, bytes wait to be sent, decrypted bytes
    /// wait to be read, or a timer is due.
    pub fn is_due(&self, mono_ns: u64) -> bool {
        let timeout_ns = self.session.next_timeout();
        self.state != Connection::Made
            || self.settling.is_due(mono_ns)
            || !self.session.poll_transmit().is_empty()
            || self.link.has_unread()
            || self.link.has_unsent()
            || timeout_ns.is_some_and(|due_ns| due_ns <= mono_ns)
    }

    /// The turn of its hours that the wall clock has reached; call it until there is none. At the end of its hours it logs out.
    #[inline]
    pub fn turn(&mut self, time: ReceiveTime) -> Option<Turn> {
        let turn = self.day.turn(time, self.settling.answer_ns)?;
        match turn {
            Turn::Open => {
                self.attempts.forget();
                if self.day.is_resetting() {
                    self.session.set_reset_on_logon(true);
                }
            }
            Turn::Closing => {}
            Turn::Closed(_) => {
                self.attempts.forget();
                self.is_ending = self.is_open;
                match self.is_open {
                    true if self.session.is_up() => self.session.log_out("", time),
                    true => self.cut = Some("its hours are over"),
                    false => self.close(),
                }
            }
        }
        Some(turn)
    }

    /// The time until which it is closed by its hours.
    pub fn closed_until_ns(&self) -> Option<u64> {
        self.day.closed_until_ns()
    }

    /// Whether a session lasts a day: then the bank's day is that of its session.
    pub fn has_days(&self) -> bool {
        self.day.has_days()
    }

    /// The bank's day: local date of the last instant of the session, and its start, if it is open and lasts a day.
    pub fn bank_day(&self) -> Option<(u32, u64)> {
        self.day.bank_day()
    }

    /// Whether its end is near or past, behind which the bank's numbers begin again.
    pub fn is_closing(&self) -> bool {
        self.is_ending || self.day.is_closing()
    }

    /// The day of the numbers, once after each change, for the journal.
    pub fn take_day(&mut self) -> Option<u32> {
        self.day.take_unjournaled()
    }

    /// Whether a loss of the connection cancels the orders at the bank.
    pub fn drops_orders(&self) -> bool {
        self.drops_orders
    }

    /// Starts to log out; the session does not connect again. One that is not logged on yet loses its connection, and does not come up.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.is_stopping = true;
        if self.is_up {
            return self.session.log_out("", time);
        }
        // mutant: execution: a session comes up while the engine stops
        self.cut = self.is_open.then_some("the engine stops");
        self.close();
    }

    /// Logs out and ignores unread messages: the next [`OrderSession::poll`] closes the connection. The next connection
    /// follows after the longest pause.
    pub fn cut(&mut self, why: &'static str, time: ReceiveTime) {
        self.cut = Some(why);
        self.session.log_out(why, time);
    }

    /// Whether a resend of messages from before the Logon is still outstanding.
    pub fn is_catching_up(&self) -> bool {
        self.session.is_catching_up()
    }

    /// Whether the session is logged on.
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// Whether the session is logging out, or has.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Whether the session is logged on, and has every message of the time before.
    #[cfg(test)]
    pub fn is_whole(&self) -> bool {
        self.session.is_up() && !self.session.is_catching_up()
    }

    /// Whether messages wait for room in the kernel.
    #[cfg(test)]
    pub fn has_unsent(&self) -> bool {
        !self.session.poll_transmit().is_empty()
    }

    /// Whether there is no connection.
    pub fn is_disconnected(&self) -> bool {
        self.state != Connection::Made
    }

    fn close(&mut self) {
        self.link.close();
        self.state = Connection::None;
    }

    #[cold]
    fn lose(&mut self, why: Error) {
        self.close();
        self.lost = Some(why);
    }

    /// Whether [`OrderSession::connect`] has something to do.
    pub fn is_connecting(&self, mono_ns: u64) -> bool {
        let is_paused = !self.attempts.is_due(mono_ns) || self.is_stopping || !self.day.is_open();
        !self.is_open && (self.state != Connection::None || !is_paused)
    }

    /// A step of a connection: begins it, or goes on with it, with TLS through the cryptography of one part of the handshake.
    pub fn connect(&mut self, time: ReceiveTime) {
        if !self.is_connecting(time.mono_ns) {
            return;
        }
        let made = match self.state {
            Connection::None => {
                self.state = Connection::Making;
                self.link.connect(time.mono_ns + CONNECT_NS).map(|()| false)
            }
            _ => self.link.is_connected(time.mono_ns),
        };
        match made {
            Ok(false) => {}
            Ok(true) => {
                self.state = Connection::Made;
                self.is_open = true;
                self.flush_until_ns = None;
                let OrderSession { session, logon, .. } = self;
                session.connected_with(time, |fields| logon.write(fields));
                if session.settings().reset_on_logon {
                    self.journaled = None;
                }
            }
            Err(Lost(why)) => {
                self.close();
                self.attempts.failed(why, time);
            }
        }
    }

    /// Ends a connection that is over.
    fn end(&mut self, time: ReceiveTime) -> Said {
        if !self.is_open {
            return self.not_connected(time);
        }
        let reason = self.session.disconnect_reason();
        if self.state == Connection::Made && self.cut.is_none() {
            let until_ns = self.flush_until_ns.unwrap_or(time.mono_ns + FLUSH_NS);
            let has_rest = !self.session.poll_transmit().is_empty() || self.link.has_unsent();
            let is_flushing = has_rest && time.mono_ns < until_ns;
            if reason.is_none() || is_flushing {
                self.flush_until_ns = reason.map(|_| until_ns);
                return Said::Nothing;
            }
        }
        self.close();
        self.settling.end();
        let lasted_ns = (self.is_up).then_some(time.mono_ns.saturating_sub(self.up_ns));
        self.is_open = false;
        self.is_up = false;
        self.flush_until_ns = None;
        let evidence = self.session.evidence();
        self.session.disconnected(time);
        let cut = self.cut.take();
        let why = match (cut, reason, self.lost.take()) {
            (Some(cut), ..) => format!("ended by us: {cut}"),
            (None, Some(reason), _) => reason.to_string(),
            (None, None, None | Some(Error::Closed)) => "connection closed by the bank".to_owned(),
            (None, None, Some(lost)) => lost.to_string(),
        };
        let why = match std::mem::take(&mut self.text) {
            text if text.is_empty() => why,
            text => format!("{why}: {text}"),
        };
        let why = self.logon.withheld(why);
        let said = self.numbers.take();
        let numbers = reason.and_then(SequenceFault::of_reason).or(said);
        let is_of_bank = reason == Some(DisconnectReason::LoggedOut);
        let answer_ns = self.settling.answer_ns;
        let is_end = std::mem::take(&mut self.is_ending)
            || is_of_bank && numbers.is_none() && self.day.ends_early(time, answer_ns);
        // A Logout behind a gap has another number.
        let has_all = cut.is_none() && self.logout + 1 == self.numbers().1;
        // mutant: execution: a session that was lost counts as one that ended
        self.day.ended_whole = is_end && is_of_bank && has_all && self.day.are_looks_over;
        if is_end {
            self.attempts.forget();
            return Said::Down {
                why,
                numbers: None,
                retry_ms: None,
            };
        }
        let why = match self.attempts.ended(&why, lasted_ns, cut.is_some(), time) {
            Some(count) if !self.is_stopping => {
                let evidence = self.logon.withheld(evidence);
                repeated(why, count, &evidence, numbers, self.day.reset)
            }
            _ => why,
        };
        Said::Down {
            why,
            numbers,
            retry_ms: Some(self.attempts.retry_ms(time)),
        }
    }
}

impl<L> OrderSession<L> {
    /// The failure of the last attempt to connect, unless the same one was reported less than a minute before.
    fn not_connected(&mut self, time: ReceiveTime) -> Said {
        match self.attempts.take_failure(time) {
            Some((why, number)) => Said::NotConnected(
                format!("{}: {why}; attempt {number}", self.host),
                self.attempts.retry_ms(time),
            ),
            None => Said::Nothing,
        }
    }
}
