//! The session: interface for its owner.

use super::event::{DisconnectReason, Event, SendError};
use super::evidence;
use super::framing;
use super::incoming::Incoming;
use super::input::Input;
use super::link::Link;
use super::outcome::Outcome;
use super::parsed_header::ParsedHeader;
use super::phase::State;
use super::{Counters, Role, Settings, Store};
use std::fmt;
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Frame, Header, LastSecond, Message, frame};

/// One side of a FIX session, over any number of connections. All memory is allocated at the start.
///
/// The owner of the connection calls [`Session::connected`]; then repeatedly [`Session::handle`] (or [`Session::room`]
/// and [`Session::filled`]) with received bytes, [`Session::poll`] until it returns `None`, [`Session::handle_timeout`]
/// at [`Session::next_timeout`] at the latest, and [`Session::poll_transmit`] with [`Session::transmitted`]. When
/// [`Session::disconnect_reason`] returns a reason and all output is sent, the owner closes the connection and calls
/// [`Session::disconnected`].
///
/// A message is acknowledged by the first call after the [`Session::poll`] that returned it.
pub struct Session<S> {
    link: Link<S>,
    incoming: Incoming,
    input: Input,
    /// Cache for the counterparty's times.
    last_second: LastSecond,
    /// Size of the returned message, if its body is not checked yet.
    unverified: Option<usize>,
    /// The message that ended the connection, as text.
    evidence: String,
}

/// Prints no contents: they may include a password and orders.
impl<S: Store> fmt::Debug for Session<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (settings, state) = (self.link.settings(), self.link.phase().state());
        let Settings { sender, target, .. } = settings;
        write!(f, "Session({sender} to {target}, {state:?})")
    }
}

impl<S: Store> Session<S> {
    /// A session that continues where its store ends.
    pub fn new(settings: Settings, store: S) -> Session<S> {
        let limits = settings.limits;
        Session {
            input: Input::new(2 * limits.message_bytes_max.max(limits.logon_bytes_max)),
            incoming: Incoming::new(&settings),
            link: Link::new(settings, store),
            last_second: LastSecond::default(),
            unverified: None,
            evidence: String::new(),
        }
    }

    /// Starts a connection. An initiator's Logon is ready to be sent.
    pub fn connected(&mut self, time: ReceiveTime) {
        self.connected_with(time, |_| {});
    }

    /// [`Self::connected`] with additional fields of an initiator's Logon.
    pub fn connected_with(&mut self, time: ReceiveTime, extra: impl FnOnce(&mut Encoder<'_>)) {
        self.acknowledge();
        self.input.clear();
        self.evidence.clear();
        let state = match self.link.settings().role {
            Role::Initiator => State::LoggingOn,
            Role::Acceptor => State::Awaiting,
        };
        self.link.begin(state, time);
        self.incoming.begin(&mut self.link, extra);
    }

    /// Whether both numbers begin again at 1 with the Logon of the next connection: [`Settings::reset_on_logon`] from now on.
    pub fn set_reset_on_logon(&mut self, is_reset: bool) {
        self.link.set_reset_on_logon(is_reset);
    }

    /// Ends the connection.
    pub fn disconnected(&mut self, time: ReceiveTime) {
        self.acknowledge();
        self.link.tick(time);
        self.link.end();
        self.input.clear();
    }

    /// Free space for received bytes; never empty when [`Session::poll`] has returned `None`.
    pub fn room(&mut self) -> &mut [u8] {
        assert!(
            self.unverified.is_none(),
            "a body that was shown is judged before the next step"
        );
        self.input.room()
    }

    /// Records that this many bytes of the space were filled at this time.
    pub fn filled(&mut self, bytes: usize, at: ReceiveTime) {
        self.link.tick(at);
        self.input.filled(bytes);
    }

    /// Copies as much of `input` as fits and returns the number of bytes: [`Session::room`] and [`Session::filled`] in
    /// one.
    pub fn handle(&mut self, input: &[u8], at: ReceiveTime) -> usize {
        let room = self.room();
        let length = room.len().min(input.len());
        room[..length].copy_from_slice(&input[..length]);
        self.filled(length, at);
        length
    }

    /// The next event of the received bytes. `None`: none until more bytes arrive.
    pub fn poll(&mut self) -> Option<Event<'_>> {
        let Session {
            link,
            incoming,
            input,
            last_second,
            unverified,
            evidence,
        } = self;
        assert!(
            unverified.is_none(),
            "a body that was shown is judged before the next step"
        );
        let input: &Input = input;
        link.acknowledge();
        let (range, outcome) = loop {
            if let Some(range) = incoming.due(link) {
                match incoming.judge_kept(link, range.clone(), last_second) {
                    Outcome::Nothing => continue,
                    outcome => break (range, outcome),
                }
            }
            let Some(message) = framing::take(link, input) else {
                if let Some(message) = link.take_too_long() {
                    return Some(Event::TooLong(message));
                }
                note_end(link, evidence, input.rest());
                link.pump();
                return None;
            };
            input.is_message(message.len());
            if let Some(shown) = show(link, incoming, message, last_second) {
                *unverified = Some(message.len());
                return Some(shown);
            }
            if let Some(event) = judged(link, incoming, message, last_second, evidence) {
                return Some(event);
            }
        };
        let message = incoming.kept(range);
        let parsed = ParsedHeader::read(&message, last_second);
        Some(event(link, outcome, message, parsed))
    }

    /// Whether the received bytes have another whole message. Garbage before it is skipped.
    pub fn has_message(&mut self) -> bool {
        framing::next(&mut self.link, &self.input).is_some()
    }

    /// Time of the counterparty's last valid message, or of the connection, by the monotonic clock. Other bytes do not count.
    pub fn heard_ns(&self) -> u64 {
        self.link.heard_ns()
    }

    /// Whether the session still waits for the application's result on the body of the last returned message
    /// ([`super::Applications::with_bodies_verified`]).
    #[inline]
    pub fn is_body_unverified(&self) -> bool {
        self.unverified.is_some()
    }

    /// The application has read the whole body and found no fault.
    ///
    /// # Panics
    /// No body was left to the application.
    #[inline]
    pub fn body_is_read(&mut self) {
        let length = self.unverified.take();
        assert!(
            length.is_some(),
            "a body is judged once, after it was shown"
        );
        self.link.received();
    }

    /// The application read only a part of the body, or found a fault: the session checks the body. `true`: the message
    /// is rejected, and the application must undo its effects.
    ///
    /// # Panics
    /// No body was left to the application.
    #[cold]
    pub fn judge_body(&mut self) -> bool {
        let length = self
            .unverified
            .take()
            .expect("a body is judged once, after it was shown");
        let Ok(Frame::Whole(message)) = frame(self.input.last(length), length) else {
            unreachable!("what was shown is a whole message");
        };
        let parsed = ParsedHeader::read(&message, &mut self.last_second);
        let Some(fault) = parsed.fault else {
            self.link.received();
            return false;
        };
        self.link.withdraw();
        self.link.reject(&message, &parsed, fault);
        true
    }

    /// Runs due timers.
    pub fn handle_timeout(&mut self, at: ReceiveTime) {
        self.acknowledge();
        self.link.tick(at);
        self.incoming.handle_timeout(&mut self.link);
        self.link.pump();
    }

    /// The host's wall clock was set by this much: times of later calls have the step. Those of messages have it only on the next
    /// connection, because the counterparty's clock was not set.
    pub fn wall_stepped(&mut self, step_ns: i64) {
        self.link.wall_stepped(step_ns);
    }

    /// Time of the next timer for [`Session::handle_timeout`], in nanoseconds of
    /// [`ReceiveTime::mono_ns`]. `None`: no timer.
    pub fn next_timeout(&self) -> Option<u64> {
        self.incoming.next_timeout(&self.link)
    }

    /// Acknowledges the returned message.
    fn acknowledge(&mut self) {
        assert!(
            self.unverified.is_none(),
            "a body that was shown is judged before the next step"
        );
        self.link.acknowledge();
    }

    /// Accepts the returned Logon; the closure adds fields to the answer. `false`: its number is
    /// invalid, and the connection must be closed.
    pub fn accept_logon(&mut self, extra: impl FnOnce(&mut Encoder<'_>)) -> bool {
        match self.link.phase().state() {
            State::Asking => self.incoming.accept(&mut self.link, extra),
            _ => false,
        }
    }

    /// Rejects the returned Logon: with a Logout that has this text, or without an answer if it is empty.
    pub fn reject_logon(&mut self, text: &str) {
        if self.link.phase().state() == State::Asking {
            if !text.is_empty() {
                self.link.send_logout(text.as_bytes());
            }
            self.link.close(DisconnectReason::UnknownCounterparty);
        }
    }

    /// Sends an application message; the closure writes its body. Returns its number.
    ///
    /// # Errors
    /// The message is not sent, and no number is used.
    pub fn send(
        &mut self,
        msg_type: &[u8],
        time: ReceiveTime,
        body: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<u64, SendError> {
        let link = &mut self.link;
        link.tick(time);
        let state = link.phase().state();
        let is_queued = state == State::Down && link.settings().queue_while_down;
        if state != State::Up && !is_queued {
            return Err(SendError::Down);
        }
        if state == State::Up && (!link.has_room() || link.would_lose()) {
            return Err(SendError::Full);
        }
        let sent = link.send(msg_type, body);
        link.pump();
        sent
    }

    /// Writes an application message as [`Session::send`] does and forgets it, without a number: the code and the buffers of the next
    /// message are in the processor's caches then.
    pub fn warm_send(&mut self, msg_type: &[u8], body: impl FnOnce(&mut Encoder<'_>)) {
        if self.is_up() {
            self.link.warm_send(msg_type, body);
        }
    }

    /// Sends a Logout, with a text if it is not empty. The counterparty may still request messages until it answers or
    /// the logout times out.
    pub fn log_out(&mut self, text: &str, time: ReceiveTime) {
        self.link.tick(time);
        if self.is_up() {
            self.link.log_out(text.as_bytes());
        }
    }

    /// Sends a TestRequest: once it is answered, everything that the counterparty sent before the answer has come.
    pub fn test(&mut self, time: ReceiveTime) {
        self.link.tick(time);
        if self.is_up() {
            self.link.test();
            self.link.pump();
        }
    }

    /// Whether a TestRequest of [`Session::test`] on this connection waits for its answer.
    pub fn is_testing(&self) -> bool {
        self.link.is_testing()
    }

    /// Requests a restart of both numbers at 1 while logged on.
    pub fn reset(&mut self, time: ReceiveTime) {
        self.link.tick(time);
        self.incoming.ask_for_reset(&mut self.link);
    }

    /// Bytes to be sent, in order.
    pub fn poll_transmit(&self) -> &[u8] {
        self.link.rest()
    }

    /// Records that this many bytes were sent.
    pub fn transmitted(&mut self, bytes: usize) {
        self.link.sent(bytes);
    }

    /// Reason to close the connection once all output is sent.
    pub fn disconnect_reason(&self) -> Option<DisconnectReason> {
        self.link.phase().reason()
    }

    /// The message, or the malformed bytes, that ended the connection, as text for a log: without passwords, and
    /// shortened. If none of them ended it, the last message that was received; empty if there was none. The text may
    /// contain text of the counterparty.
    ///
    /// Call this before [`Session::disconnected`], which wipes received bytes.
    pub fn evidence(&self) -> String {
        match self.evidence.is_empty() {
            true => self.last_message(),
            false => self.evidence.clone(),
        }
    }

    /// The last message of this connection, as [`Session::evidence`] has it; empty before the first.
    pub fn last_message(&self) -> String {
        evidence::printed(self.input.last_message())
    }

    /// Whether the session is logged on and messages from before this connection are still being resent.
    pub fn is_catching_up(&self) -> bool {
        self.incoming.is_catching_up(&self.link)
    }

    /// Whether the session is logged on and messages may be sent.
    pub fn is_up(&self) -> bool {
        self.link.phase().state() == State::Up
    }

    /// Settings.
    pub fn settings(&self) -> &Settings {
        self.link.settings()
    }

    /// Counters.
    pub fn counters(&self) -> &Counters {
        self.link.counters()
    }

    /// Store of the session.
    pub fn store(&self) -> &S {
        self.link.sequencer().store()
    }

    /// Store of the session, for what its owner keeps there beside numbers and messages: these only the session changes.
    pub fn store_mut(&mut self) -> &mut S {
        self.link.store_mut()
    }

    /// The store, returned to its owner.
    pub fn into_store(self) -> S {
        self.link.into_store()
    }
}

/// The next message in sequence whose body is left to its application: only its header is parsed.
#[inline(always)]
fn show<'a, S: Store>(
    link: &mut Link<S>,
    incoming: &Incoming,
    message: Message<'a>,
    last_second: &mut LastSecond,
) -> Option<Event<'a>> {
    let applications = &link.settings().applications;
    let application = applications.verifier(message.msg_type())?;
    let mut header = Header::default();
    header.fill_before_body(&message, last_second).ok()?;
    if !incoming.is_next(link, &message, &header) {
        return None;
    }
    let number = link.sequencer().next_in();
    link.count().messages_received += 1;
    link.deliver(number);
    Some(Event::Application(message, header, Some(application)))
}

/// Any other message, in a function of its own: the common path stays small.
#[inline(never)]
fn judged<'a, S: Store>(
    link: &mut Link<S>,
    incoming: &mut Incoming,
    message: Message<'a>,
    last_second: &mut LastSecond,
    evidence: &mut String,
) -> Option<Event<'a>> {
    let parsed = ParsedHeader::read(&message, last_second);
    let outcome = incoming.judge(link, &message, &parsed);
    note_end(link, evidence, message.bytes());
    (outcome != Outcome::Nothing).then(|| event(link, outcome, message, parsed))
}

/// Keeps the bytes that ended the connection, if it is over.
#[inline]
fn note_end<S: Store>(link: &Link<S>, evidence: &mut String, bytes: &[u8]) {
    if link.phase().is_over() && evidence.is_empty() {
        *evidence = evidence::printed(bytes);
    }
}

#[inline(always)]
fn event<'a, S: Store>(
    link: &Link<S>,
    outcome: Outcome,
    message: Message<'a>,
    parsed: ParsedHeader<'a>,
) -> Event<'a> {
    match outcome {
        Outcome::Application => {
            let to = link.settings().applications.receiver(message.msg_type());
            Event::Application(message, parsed.header, to)
        }
        Outcome::LoggedOn(is_restarted) => Event::LoggedOn { is_restarted },
        Outcome::Logon => Event::Logon(message),
        Outcome::Rejected => Event::Rejected(message),
        Outcome::LoggedOut => Event::LoggedOut(message),
        Outcome::Invalid => Event::Invalid(message),
        Outcome::Gap(first, last) => Event::Gap { first, last },
        Outcome::Skipped(first, last) => Event::Skipped { first, last },
        Outcome::Restarted(lost) => Event::Restarted { lost },
        Outcome::Nothing => unreachable!("session: an outcome without an event"),
    }
}
