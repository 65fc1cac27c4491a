//! Order session of a bank: connects, keeps the FIX session, hands out its messages, sends ours.
//!
//! The sequence numbers of the session are in the journal, and no message is sent twice: a resend request of the bank
//! is answered with a gap fill. A report that we request again has the same ExecID, by which the core recognizes it.

mod attempts;
mod logon;
#[cfg(test)]
mod tests;
mod texts;

use crate::execution::config::{Reset, SessionConfig};
use crate::execution::edge::{Link, Lost};
use crate::execution::numbers::Numbers;
use attempts::Attempts;
use logon::Logon;
use std::net::SocketAddrV4;
pub use texts::names_of;
use texts::{reject_of, repeated, text_of};
use touchline_net::stream::Error;
use touchline_session::Secret;
use touchline_session::fix::{
    Application, ApplicationId, Applications, Checks, Event, MessageTooLong, ResendPolicy, Role,
    SendError, SequenceFault, Session, Settings,
};
use touchline_types::ReceiveTime;
use touchline_wire::fix::Encoder;

/// Longest wait for a connection.
const CONNECT_NS: u64 = 5_000_000_000;
/// Longest wait until the rest is sent when the session ends.
const FLUSH_NS: u64 = 1_000_000_000;
/// Longest message.
const MESSAGE_BYTES_MAX: usize = 16 * 1_024;
/// Output that may wait: cancels of thousands of orders at once. A simulation makes thousands of sessions, with few orders.
const OUTPUT_BYTES: usize = if cfg!(test) { 64 << 10 } else { 4 << 20 };

/// The application of orders. None of its messages is sent again.
const ORDERS: Application<'static> = Application {
    id: ApplicationId(1),
    receives: &[b"8", b"9", b"j"],
    sends: &[b"D", b"F", b"H", b"AF", b"Q"],
    resend: ResendPolicy::GapFill,
};

/// Output of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// No more output now.
    Nothing,
    /// Logged on; `true`: both numbers began again at 1.
    Up(bool),
    /// Lost.
    Down {
        /// Why.
        why: String,
        /// Whose sequence numbers do not fit, if that is why.
        numbers: Option<SequenceFault>,
        /// Time until the next connection, milliseconds.
        retry_ms: u64,
    },
    /// Attempts to connect fail: where, why, how many, and when the next one follows, milliseconds.
    NotConnected(String, u64),
    /// A message of the application is in [`OrderSession::message_mut`].
    Message,
    /// The bank rejected a message of ours (35=3), or we one of the bank: its text.
    Rejected(String),
    /// We rejected a malformed message of the bank.
    Invalid(String),
    /// A message of the bank is longer than the limit; it was skipped.
    TooLong(MessageTooLong),
    /// Messages of the bank are missing, and were requested again.
    Gap(Gap),
    /// The bank skipped numbers: no messages arrive for them.
    Skipped(Gap),
    /// Number of times that bytes of the bank were not a FIX message, or a message with a wrong length or checksum;
    /// they were skipped.
    Garbled(u64),
}

#[cfg(test)]
impl Said {
    /// The connection was lost.
    pub fn cut() -> Said {
        Said::Down {
            why: "cut".to_owned(),
            numbers: None,
            retry_ms: 1,
        }
    }
}

/// A gap in the numbers of the bank's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first number that is missing.
    pub first: u64,
    /// The last number that is known to be missing.
    pub last: u64,
    /// The Logon showed that messages of the time before it are missing.
    pub is_catching_up: bool,
}

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
    /// Numbers that the journal has.
    journaled: (u64, u64),
    /// Text of the bank's Logout, and what it says of our numbers.
    text: String,
    numbers: Option<SequenceFault>,
    is_stopping: bool,
    /// Why we end the connection before everything of the bank is read.
    cut: Option<&'static str>,
}

/// Messages of the core that were sent.
#[derive(Default)]
struct Sent {
    count: u64,
    /// All messages that were sent, and `count`, at the last question.
    counted: (u64, u64),
}

impl Sent {
    /// Number of messages since the last call that the core did not send, from the number of all messages.
    fn take_others(&mut self, all: u64) -> u64 {
        let now = (all, self.count);
        let before = std::mem::replace(&mut self.counted, now);
        (now.0 - before.0).saturating_sub(now.1 - before.1)
    }
}

impl<L: Link> OrderSession<L> {
    /// A session that continues with these numbers.
    pub fn new(config: &SessionConfig, numbers: Numbers, link: L) -> OrderSession<L> {
        let mut settings = Settings::new(Role::Initiator, &config.sender, config.target());
        settings.sender_sub.clone_from(&config.sender_sub);
        settings.target_sub.clone_from(&config.target_sub);
        settings.heartbeat_s = config.heartbeat_s;
        settings.checks = Checks::Standard;
        // Banks use reject reasons (103) that are newer than FIX 4.4; the core maps unknown ones.
        settings.check_options.any_value = true;
        // Most have fields of their own, and of later versions. A report with one must not be rejected: it may be a fill.
        settings.check_options.unknown = true;
        settings.applications = Applications::default().with(&ORDERS);
        settings.limits.message_bytes_max = MESSAGE_BYTES_MAX;
        settings.limits.output_bytes = OUTPUT_BYTES;
        settings.reset_on_logon = config.reset != Reset::Never;
        let ms = |ms: u64| ms * 1_000_000;
        OrderSession {
            session: Session::new(settings, numbers),
            host: config.host,
            link,
            state: Connection::None,
            lost: None,
            attempts: Attempts::new(ms(config.reconnect_ms), ms(config.reconnect_ms_max)),
            logon: Logon::new(config),
            up_ns: 0,
            is_open: false,
            is_up: false,
            flush_until_ns: None,
            message: Vec::with_capacity(MESSAGE_BYTES_MAX),
            is_marked: false,
            gap_end: 0,
            garbled: 0,
            sent: Sent::default(),
            journaled: numbers.both(),
            text: String::new(),
            numbers: None,
            is_stopping: false,
            cut: None,
        }
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

    /// Sequence numbers that the journal lacks, if our own changed or the bank reset its numbers; the journal has the
    /// bank's other numbers in the records of its reports.
    pub fn unjournaled(&self) -> Option<(u64, u64)> {
        let numbers = self.numbers();
        let is_changed = numbers.0 != self.journaled.0 || numbers.1 < self.journaled.1;
        is_changed.then_some(numbers)
    }

    /// Notes that the journal has these numbers.
    pub fn note_journaled(&mut self, numbers: (u64, u64)) {
        self.journaled = numbers;
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
        loop {
            if self.cut.is_some() {
                return self.end(time);
            }
            let was_catching_up = self.session.is_catching_up();
            let OrderSession {
                session,
                message,
                text,
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
                    self.is_up = true;
                    self.up_ns = time.mono_ns;
                    self.attempts.logged_on();
                    self.gap_end = 0;
                    // A reset that the configuration asks for is not news.
                    let is_news = is_restarted && !self.session.settings().reset_on_logon;
                    let reset = self.logon.reset == Reset::Logon;
                    self.session.set_reset_on_logon(reset);
                    return Said::Up(is_news);
                }
                Some(Event::Rejected(received)) => {
                    return Said::Rejected(self.logon.withheld(reject_of(&received)));
                }
                Some(Event::Invalid(received)) => return Said::Invalid(names_of(&received)),
                Some(Event::Gap { first, last }) if first > *gap_end => {
                    *gap_end = last;
                    return Said::Gap(Gap {
                        first,
                        last,
                        is_catching_up: session.is_catching_up(),
                    });
                }
                Some(Event::LoggedOut(received)) => {
                    *text = text_of(&received);
                    *numbers = SequenceFault::of_logout(&received);
                }
                Some(Event::TooLong(message)) => return Said::TooLong(message),
                // The session's numbers start again at 1.
                Some(Event::Restarted) => *gap_end = 0,
                Some(Event::Skipped { first, last }) => {
                    return Said::Skipped(Gap {
                        first,
                        last,
                        is_catching_up: was_catching_up,
                    });
                }
                Some(Event::Logon(_) | Event::Gap { .. }) => {}
                None => break,
            }
        }
        let garbled = self.session.counters().messages_garbled;
        match garbled - std::mem::replace(&mut self.garbled, garbled) {
            0 => self.end(time),
            count => Said::Garbled(count),
        }
    }

    /// Messages of the session itself that it sent since the last question: mostly answers to test requests, to gaps and to invalid
    /// messages. Each is a number in the journal.
    pub fn take_own_messages(&mut self) -> u64 {
        (self.sent).take_others(self.session.counters().messages_sent)
    }

    /// Sends a message. Its bytes leave with the next [`OrderSession::flush`].
    ///
    /// # Errors
    /// The message is not sent, and uses no number.
    pub fn send(
        &mut self,
        msg_type: &str,
        time: ReceiveTime,
        body: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<u64, SendError> {
        let number = self.session.send(msg_type.as_bytes(), time, body)?;
        self.sent.count += 1;
        Ok(number)
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
            || !self.session.poll_transmit().is_empty()
            || self.link.has_unread()
            || self.link.has_unsent()
            || timeout_ns.is_some_and(|due_ns| due_ns <= mono_ns)
    }

    /// Starts to log out; the session does not connect again.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.is_stopping = true;
        self.session.log_out("", time);
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
        let is_paused = !self.attempts.is_due(mono_ns) || self.is_stopping;
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
        let lasted_ns = time.mono_ns.saturating_sub(self.up_ns);
        let lasted_ns = self.is_up.then_some(lasted_ns);
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
        let why = match self.attempts.ended(&why, lasted_ns, cut.is_some(), time) {
            Some(count) if !self.is_stopping => {
                let evidence = self.logon.withheld(evidence);
                repeated(why, count, &evidence, numbers, self.logon.reset)
            }
            _ => why,
        };
        Said::Down {
            why,
            numbers,
            retry_ms: self.attempts.retry_ms(time),
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
