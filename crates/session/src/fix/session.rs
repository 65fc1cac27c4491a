//! The session, as its owner sees it.

use super::core::{Core, State};
use super::event::{DisconnectReason, Event, SendError};
use super::incoming::Outcome;
use super::input::Input;
use super::out_of_order::OutOfOrderQueue;
use super::outgoing::Keep;
use super::parsed_header::ParsedHeader;
use super::{Counters, Settings, Store};
use std::fmt;
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Frame, Message, frame};

/// One side of a FIX session, over any number of connections. All memory is taken at the start.
///
/// The owner of the connection calls, in this order: [`Session::connected`]; then again and again
/// [`Session::room`] and [`Session::received`] for what came, [`Session::next`] until it has nothing more to say,
/// [`Session::advance`], and [`Session::outgoing`] with [`Session::sent`]. When
/// [`Session::disconnect_reason`] names a reason and nothing is outgoing any more, it closes the connection, and
/// says so with [`Session::disconnected`].
pub struct Session<S> {
    core: Core<S>,
    input: Input,
    out_of_order: OutOfOrderQueue,
}

/// It may hold a password, and other people's orders.
impl<S> fmt::Debug for Session<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.core.settings;
        write!(
            f,
            "Session({} to {}, {:?})",
            settings.sender, settings.target, self.core.state
        )
    }
}

impl<S: Store> Session<S> {
    /// A session that goes on where its store ends.
    pub fn new(settings: Settings, store: S) -> Session<S> {
        let limits = settings.limits;
        Session {
            input: Input::new(2 * limits.message_bytes_max.max(limits.logon_bytes_max)),
            out_of_order: OutOfOrderQueue::new(
                limits.out_of_order_messages,
                limits.out_of_order_bytes,
            ),
            core: Core::new(settings, store),
        }
    }

    /// A connection stands. An initiator's Logon is outgoing.
    pub fn connected(&mut self, time: ReceiveTime) {
        self.connected_with(time, |_| {});
    }

    /// The same, and the closure adds fields of its own to an initiator's Logon.
    pub fn connected_with(&mut self, time: ReceiveTime, extra: impl FnOnce(&mut Encoder<'_>)) {
        self.core.acknowledge();
        self.input.clear();
        self.out_of_order.clear();
        self.core.connect(time, extra);
    }

    /// The connection is gone.
    pub fn disconnected(&mut self, time: ReceiveTime) {
        self.core.acknowledge();
        self.core.tick(time);
        self.core.state = State::Down;
        self.core.disconnect_reason = None;
        self.core.output.clear();
        self.input.clear();
    }

    /// Room for what is received. There is some whenever [`Session::next`] has nothing more to say.
    pub fn room(&mut self) -> &mut [u8] {
        self.input.room()
    }

    /// So much of the room was filled.
    pub fn received(&mut self, bytes: usize, time: ReceiveTime) {
        self.core.tick(time);
        self.input.filled(bytes);
    }

    /// Takes what fits of `bytes`, and says how much that is: [`Session::room`] and
    /// [`Session::received`] in one.
    pub fn receive(&mut self, bytes: &[u8], time: ReceiveTime) -> usize {
        let room = self.input.room();
        let length = room.len().min(bytes.len());
        room[..length].copy_from_slice(&bytes[..length]);
        self.received(length, time);
        length
    }

    /// The next thing that what was received makes known. `None`: nothing more, until more comes.
    #[allow(clippy::should_implement_trait)] // it lends what it gives
    pub fn next(&mut self) -> Option<Event<'_>> {
        let Session {
            core,
            input,
            out_of_order,
        } = self;
        let input: &Input = input;
        core.acknowledge();
        let (range, outcome) = loop {
            if let Some(range) = due(core, out_of_order) {
                match process_stored(core, out_of_order.bytes(range.clone())) {
                    Outcome::Nothing => continue,
                    outcome => break (range, outcome),
                }
            }
            let Some(message) = core.take(input) else {
                core.pump();
                return None;
            };
            let parsed = ParsedHeader::read(&message, &mut core.last_second);
            let outcome = core.judge(&message, &parsed, out_of_order);
            if outcome != Outcome::Nothing {
                return Some(event(outcome, message, parsed));
            }
        };
        match frame(out_of_order.bytes(range), usize::MAX) {
            Ok(Frame::Whole(message)) => {
                let parsed = ParsedHeader::read(&message, &mut core.last_second);
                Some(event(outcome, message, parsed))
            }
            _ => None,
        }
    }

    /// Time passed.
    pub fn advance(&mut self, time: ReceiveTime) {
        self.core.acknowledge();
        self.core.tick(time);
        self.core.on_time();
        self.core.pump();
    }

    /// Lets the counterparty in whose Logon was shown; the closure adds fields to the answer.
    /// `false`: its number cannot be, and the connection is to be closed.
    pub fn accept_logon(&mut self, extra: impl FnOnce(&mut Encoder<'_>)) -> bool {
        let State::Asking = self.core.state else {
            return false;
        };
        match self.core.asking.take() {
            Some(terms) => self.core.begin_session(terms, extra),
            None => false,
        }
    }

    /// Sends the counterparty away whose Logon was shown: with a Logout that has this text, or without a
    /// word if it is empty.
    pub fn reject_logon(&mut self, text: &str) {
        if self.core.state == State::Asking {
            if !text.is_empty() {
                self.core.send_logout(text.as_bytes());
            }
            self.core.close(DisconnectReason::UnknownCounterparty);
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
        let core = &mut self.core;
        core.tick(time);
        let is_queued = core.state == State::Down && core.settings.queue_while_down;
        if core.state != State::Up && !is_queued {
            return Err(SendError::Down);
        }
        // Room is kept for what the session itself must say.
        let most = core.settings.limits.message_bytes_max;
        if core.state == State::Up && core.output.free() < 2 * most {
            return Err(SendError::Full);
        }
        let sent = core.write(msg_type, Keep::Message, None, body);
        core.pump();
        sent
    }

    /// Sends a Logout, with a text if it is not empty. The counterparty may still ask for messages, until it
    /// answers or the time for that is over.
    pub fn log_out(&mut self, text: &str, time: ReceiveTime) {
        self.core.tick(time);
        if self.core.state == State::Up {
            self.core.log_out(text.as_bytes());
        }
    }

    /// Asks the counterparty to begin both numbers at 1 again, while both are logged on.
    pub fn reset(&mut self, time: ReceiveTime) {
        self.core.tick(time);
        self.core.ask_for_reset(&mut self.out_of_order);
    }

    /// What is to be sent.
    pub fn outgoing(&self) -> &[u8] {
        self.core.output.rest()
    }

    /// So much of it was sent.
    pub fn sent(&mut self, bytes: usize) {
        self.core.output.sent(bytes);
        if self.core.has_more() {
            self.core.pump();
        }
    }

    /// Why the connection is to be closed, once nothing is outgoing.
    pub fn disconnect_reason(&self) -> Option<DisconnectReason> {
        self.core.disconnect_reason
    }

    /// Whether both are logged on and messages may be sent.
    pub fn is_up(&self) -> bool {
        self.core.state == State::Up
    }

    /// What it was told at its start.
    pub fn settings(&self) -> &Settings {
        &self.core.settings
    }

    /// What it counted.
    pub fn counters(&self) -> &Counters {
        &self.core.counters
    }

    /// Its store.
    pub fn store(&self) -> &S {
        &self.core.store
    }

    /// Its store, which the owner gets back.
    pub fn into_store(self) -> S {
        self.core.store
    }
}

/// A message that was kept behind a gap, and whose turn has come.
fn due<S: Store>(
    core: &Core<S>,
    out_of_order: &mut OutOfOrderQueue,
) -> Option<std::ops::Range<usize>> {
    match core.is_logged_on() && !core.is_resetting {
        true => out_of_order.take(core.store.next_in()),
        false => None,
    }
}

fn process_stored<S: Store>(core: &mut Core<S>, bytes: &[u8]) -> Outcome {
    match frame(bytes, usize::MAX) {
        Ok(Frame::Whole(message)) => {
            let number = core.store.next_in();
            let parsed = ParsedHeader::read(&message, &mut core.last_second);
            core.process(&message, &parsed, number)
        }
        _ => Outcome::Nothing,
    }
}

#[inline(always)]
fn event<'a>(outcome: Outcome, message: Message<'a>, parsed: ParsedHeader<'a>) -> Event<'a> {
    match outcome {
        Outcome::LoggedOn | Outcome::Nothing => Event::LoggedOn,
        Outcome::Logon => Event::Logon(message),
        Outcome::Application => Event::Application(message, parsed.header),
        Outcome::Rejected => Event::Rejected(message),
        Outcome::LoggedOut => Event::LoggedOut(message),
    }
}
