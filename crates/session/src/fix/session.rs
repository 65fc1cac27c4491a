//! The session, as its owner sees it.

use super::event::{DisconnectReason, Event, SendError};
use super::framing;
use super::incoming::{Incoming, Outcome};
use super::input::Input;
use super::link::Link;
use super::parsed_header::ParsedHeader;
use super::phase::State;
use super::{Counters, Role, Settings, Store};
use std::fmt;
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Frame, Header, LastSecond, Message, frame};

/// One side of a FIX session, over any number of connections. All memory is taken at the start.
///
/// The owner of the connection calls, in this order: [`Session::connected`]; then again and again
/// [`Session::handle`] (or [`Session::room`] and [`Session::filled`]) for what came, [`Session::poll`] until it has nothing
/// more to say, [`Session::handle_timeout`] by [`Session::next_timeout`] at the latest, and [`Session::poll_transmit`] with
/// [`Session::transmitted`]. When [`Session::disconnect_reason`] names a reason and nothing is to be sent any more, it closes
/// the connection, and says so with [`Session::disconnected`].
///
/// A message is acknowledged with the first call behind the [`Session::poll`] that showed it.
pub struct Session<S> {
    link: Link<S>,
    incoming: Incoming,
    input: Input,
    /// Of the counterparty's times.
    last_second: LastSecond,
    /// Bytes of the message that was shown, if nobody has verified its body yet.
    unverified: Option<usize>,
}

/// It may hold a password, and other people's orders.
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
        }
    }

    /// A connection stands. An initiator's Logon is to be sent.
    pub fn connected(&mut self, time: ReceiveTime) {
        self.connected_with(time, |_| {});
    }

    /// The same, and the closure adds fields of its own to an initiator's Logon.
    pub fn connected_with(&mut self, time: ReceiveTime, extra: impl FnOnce(&mut Encoder<'_>)) {
        self.acknowledge();
        self.input.clear();
        let state = match self.link.settings().role {
            Role::Initiator => State::LoggingOn,
            Role::Acceptor => State::Awaiting,
        };
        self.link.begin(state, time);
        self.incoming.begin(&mut self.link, extra);
    }

    /// The connection is gone.
    pub fn disconnected(&mut self, time: ReceiveTime) {
        self.acknowledge();
        self.link.tick(time);
        self.link.end();
        self.input.clear();
    }

    /// Room for what is received. There is some whenever [`Session::poll`] has nothing more to say.
    pub fn room(&mut self) -> &mut [u8] {
        assert!(self.unverified.is_none(), "a-shown-body-is-judged");
        self.input.room()
    }

    /// So many bytes of the room were filled at this time.
    pub fn filled(&mut self, bytes: usize, at: ReceiveTime) {
        self.link.tick(at);
        self.input.filled(bytes);
    }

    /// Takes what fits of `input`, and says how much that is: [`Session::room`] and [`Session::filled`] in one.
    pub fn handle(&mut self, input: &[u8], at: ReceiveTime) -> usize {
        let room = self.room();
        let length = room.len().min(input.len());
        room[..length].copy_from_slice(&input[..length]);
        self.filled(length, at);
        length
    }

    /// The next thing that what was received makes known. `None`: nothing more, until more comes.
    pub fn poll(&mut self) -> Option<Event<'_>> {
        let Session {
            link,
            incoming,
            input,
            last_second,
            unverified,
        } = self;
        assert!(unverified.is_none(), "a-shown-body-is-judged");
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
                link.pump();
                return None;
            };
            if let Some(shown) = show(link, incoming, message, last_second) {
                *unverified = Some(message.len());
                return Some(shown);
            }
            let parsed = ParsedHeader::read(&message, last_second);
            let outcome = incoming.judge(link, &message, &parsed);
            if outcome != Outcome::Nothing {
                return Some(event(link, outcome, message, parsed));
            }
        };
        let message = incoming.kept(range);
        let parsed = ParsedHeader::read(&message, last_second);
        Some(event(link, outcome, message, parsed))
    }

    /// Whether the body of the message that was shown last is left to its application
    /// ([`super::Applications::with_bodies_verified`]), which has not said yet what it found.
    #[inline]
    pub fn is_body_unverified(&self) -> bool {
        self.unverified.is_some()
    }

    /// The application has read the whole body and found no fault in it.
    ///
    /// # Panics
    /// No body was left to it.
    #[inline]
    pub fn body_is_read(&mut self) {
        let length = self.unverified.take();
        assert!(length.is_some(), "a-body-is-judged-once");
        self.link.received();
    }

    /// The application has not read the whole body, or found a fault in it: the session verifies it. `true`: the message is
    /// rejected, and whatever the application did with it is to be undone.
    ///
    /// # Panics
    /// No body was left to it.
    #[cold]
    pub fn judge_body(&mut self) -> bool {
        let length = self.unverified.take().expect("a-body-is-judged-once");
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

    /// Time passed.
    pub fn handle_timeout(&mut self, at: ReceiveTime) {
        self.acknowledge();
        self.link.tick(at);
        self.incoming.handle_timeout(&mut self.link);
        self.link.pump();
    }

    /// When [`Session::handle_timeout`] has something to do at the earliest, in nanoseconds of
    /// [`ReceiveTime::mono_ns`]. `None`: never, unless something comes.
    pub fn next_timeout(&self) -> Option<u64> {
        self.incoming.next_timeout(&self.link)
    }

    /// What was shown is processed.
    fn acknowledge(&mut self) {
        assert!(self.unverified.is_none(), "a-shown-body-is-judged");
        self.link.acknowledge();
    }

    /// Lets the counterparty in whose Logon was shown; the closure adds fields to the answer.
    /// `false`: its number cannot be, and the connection is to be closed.
    pub fn accept_logon(&mut self, extra: impl FnOnce(&mut Encoder<'_>)) -> bool {
        match self.link.phase().state() {
            State::Asking => self.incoming.accept(&mut self.link, extra),
            _ => false,
        }
    }

    /// Sends the counterparty away whose Logon was shown: with a Logout that has this text, or without a
    /// word if it is empty.
    pub fn reject_logon(&mut self, text: &str) {
        if self.link.phase().state() == State::Asking {
            if !text.is_empty() {
                self.link.send_logout(text.as_bytes());
            }
            self.link.close(DisconnectReason::UnknownCounterparty);
        }
    }

    /// Sends an application message; the closure writes its body. Answers its number.
    ///
    /// # Errors
    /// It is not sent, and no number is used.
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
        if state == State::Up && !link.has_room() {
            return Err(SendError::Full);
        }
        let sent = link.send(msg_type, body);
        link.pump();
        sent
    }

    /// Sends a Logout, with a text if it is not empty. The counterparty may still ask for messages, until it
    /// answers or the time for that is over.
    pub fn log_out(&mut self, text: &str, time: ReceiveTime) {
        self.link.tick(time);
        if self.is_up() {
            self.link.log_out(text.as_bytes());
        }
    }

    /// Asks the counterparty to begin both numbers at 1 again, while both are logged on.
    pub fn reset(&mut self, time: ReceiveTime) {
        self.link.tick(time);
        self.incoming.ask_for_reset(&mut self.link);
    }

    /// Bytes that are to be sent, in order; empty, if there are none.
    pub fn poll_transmit(&self) -> &[u8] {
        self.link.rest()
    }

    /// So many of them were sent.
    pub fn transmitted(&mut self, bytes: usize) {
        self.link.sent(bytes);
    }

    /// Why the connection is to be closed, once nothing is to be sent.
    pub fn disconnect_reason(&self) -> Option<DisconnectReason> {
        self.link.phase().reason()
    }

    /// Whether both are logged on, and what the counterparty sent before this connection is still being sent again.
    pub fn is_catching_up(&self) -> bool {
        self.incoming.is_catching_up(&self.link)
    }

    /// Whether both are logged on and messages may be sent.
    pub fn is_up(&self) -> bool {
        self.link.phase().state() == State::Up
    }

    /// What it was told at its start.
    pub fn settings(&self) -> &Settings {
        self.link.settings()
    }

    /// What it counted.
    pub fn counters(&self) -> &Counters {
        self.link.counters()
    }

    /// Its store.
    pub fn store(&self) -> &S {
        self.link.sequencer().store()
    }

    /// Its store, which the owner gets back.
    pub fn into_store(self) -> S {
        self.link.into_store()
    }
}

/// The next message in its order, if its body is left to the application that it is for: only its header is read.
#[inline(always)]
fn show<'a, S: Store>(
    link: &mut Link<S>,
    incoming: &Incoming,
    message: Message<'a>,
    last_second: &mut LastSecond,
) -> Option<Event<'a>> {
    let applications = &link.settings().applications;
    let application = applications.verifier(message.msg_type())?;
    let header = Header::before_body(&message, last_second).ok()?;
    let parsed = ParsedHeader {
        header,
        fault: None,
    };
    if !incoming.is_next(link, &message, &parsed) {
        return None;
    }
    let number = link.sequencer().next_in();
    link.count().messages_received += 1;
    link.deliver(number);
    Some(Event::Application(message, header, Some(application)))
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
        Outcome::Restarted => Event::Restarted,
        Outcome::Nothing => unreachable!("session: what is nothing is no event"),
    }
}
