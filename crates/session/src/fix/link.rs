//! Sending side of a session: encoding, storing and sending messages, and state of the connection.

use super::clock::Clock;
use super::encode;
use super::liveness::{Liveness, Sign};
use super::output::Output;
use super::parsed_header::{Fault, ParsedHeader};
use super::phase::{Phase, State};
use super::resend::{Next, Resend};
use super::sequencer::Sequencer;
use super::{Counters, DisconnectReason, MessageTooLong, SendError, Settings, Store, StoreError};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Frame, Message, frame, tag, unsigned};

/// Settings, time, numbers and output. A failure of the store ends the connection.
pub struct Link<S> {
    settings: Settings,
    clock: Clock,
    sequencer: Sequencer<S>,
    output: Output,
    /// Buffer in which a message is written before it is stored.
    scratch: Box<[u8]>,
    resend: Resend,
    liveness: Liveness,
    /// Number of the owner's first TestRequest without an answer.
    tested: Option<u64>,
    phase: Phase,
    counters: Counters,
    /// A message that was too long, until the owner takes it.
    too_long: Option<MessageTooLong>,
    /// Messages received when the last one was too long.
    received_before: Option<u64>,
    /// Messages in a row that were too long.
    too_long_in_a_row: u64,
}

/// Whether a message can be resent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Message,
    /// Its number is used, and it is never resent: a Logon, which may contain a password.
    Number,
}

/// Writes a message with this number and SendingTime.
#[inline]
fn encoded<'a>(
    scratch: &'a mut [u8],
    settings: &Settings,
    msg_type: &[u8],
    (number, wall_ns): (u64, u64),
    route: Option<&ParsedHeader<'_>>,
    body: impl FnOnce(&mut Encoder<'_>),
) -> Result<&'a [u8], SendError> {
    let mut encoder = Encoder::new(scratch, settings.begin_string.as_bytes(), msg_type);
    encode::header(&mut encoder, settings, number, wall_ns, route);
    body(&mut encoder);
    encoder.finish().map_err(|_| SendError::TooLong)
}

/// Numbers resent per call, so that a long resend does not delay other sessions.
const BATCH: usize = 256;

impl<S: Store> Link<S> {
    /// Continues with the numbers of the store.
    pub fn new(settings: Settings, store: S) -> Link<S> {
        let limits = settings.limits;
        Link {
            output: Output::new(limits.output_bytes.max(2 * limits.message_bytes_max)),
            scratch: vec![0; limits.message_bytes_max].into(),
            settings,
            clock: Clock::default(),
            sequencer: Sequencer::new(store),
            resend: Resend::default(),
            liveness: Liveness::default(),
            tested: None,
            phase: Phase::new(),
            counters: Counters::default(),
            too_long: None,
            received_before: None,
            too_long_in_a_row: 0,
        }
    }

    /// Settings.
    #[inline]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sets whether numbers begin again with the next Logon.
    pub fn set_reset_on_logon(&mut self, is_reset: bool) {
        self.settings.reset_on_logon = is_reset;
    }

    /// Counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counters, for the other parts.
    #[inline]
    pub fn count(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Records a message that was too long.
    pub fn note_too_long(&mut self, message: MessageTooLong) {
        self.counters.messages_too_long += 1;
        self.too_long = Some(message);
        let before = if self.is_behind_too_long() {
            self.too_long_in_a_row
        } else {
            0
        };
        self.too_long_in_a_row = before + 1;
        self.received_before = Some(self.counters.messages_received);
    }

    /// Whether no message was received since one that was too long.
    pub fn is_behind_too_long(&self) -> bool {
        self.received_before == Some(self.counters.messages_received)
    }

    /// Number of messages directly before the one that was received last that were too long.
    pub fn too_long_before(&self) -> u64 {
        let before = self.received_before.map(|before| before + 1);
        match before == Some(self.counters.messages_received) {
            true => self.too_long_in_a_row,
            false => 0,
        }
    }

    /// The message that was too long, once.
    pub fn take_too_long(&mut self) -> Option<MessageTooLong> {
        self.too_long.take()
    }

    /// State of the connection.
    #[inline]
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The numbers of both sides.
    #[inline]
    pub fn sequencer(&self) -> &Sequencer<S> {
        &self.sequencer
    }

    /// The store, for contents beside numbers and messages.
    pub fn store_mut(&mut self) -> &mut S {
        self.sequencer.store_mut()
    }

    /// The store, returned to its owner.
    pub fn into_store(self) -> S {
        self.sequencer.into_store()
    }

    /// Clock of the connection.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Agreed heartbeat interval, seconds.
    pub fn heartbeat_s(&self) -> u32 {
        self.liveness.heartbeat_s()
    }

    /// Bytes that wait to be sent.
    pub fn rest(&self) -> &[u8] {
        self.output.rest()
    }

    /// Whether there is room for an application message; some room is reserved for session messages.
    pub fn has_room(&self) -> bool {
        self.output.free() >= 2 * self.settings.limits.message_bytes_max
    }

    /// Whether a message would have to wait in a store that keeps none.
    pub fn would_lose(&self) -> bool {
        self.has_more() && !self.sequencer.store().keeps_messages()
    }

    /// Advances the time.
    #[inline]
    pub fn tick(&mut self, time: ReceiveTime) {
        self.clock.tick(time);
    }

    /// The host's clock was set by this much.
    pub fn wall_stepped(&mut self, step_ns: i64) {
        self.clock.wall_stepped(step_ns);
    }

    /// Starts a connection: state of an earlier one is cleared.
    pub fn begin(&mut self, state: State, time: ReceiveTime) {
        self.clock.begin(time);
        self.output.clear();
        self.resend.clear();
        let Settings {
            heartbeat_s,
            limits,
            ..
        } = &self.settings;
        self.liveness
            .begin(*heartbeat_s, limits.test_request_ns, time.mono_ns);
        self.sequencer.begin();
        self.tested = None;
        self.enter(state, self.settings.limits.logon_wait_ns);
    }

    /// Ends the connection.
    pub fn end(&mut self) {
        self.enter(State::Down, 0);
        self.output.clear();
    }

    /// Enters a state that ends after a time.
    pub fn enter(&mut self, state: State, wait_ns: u64) {
        let until_ns = self.clock.now_ns().saturating_add(wait_ns);
        self.phase.enter(state, until_ns);
    }

    /// Requests to close the connection once the output is sent.
    pub fn close(&mut self, why: DisconnectReason) {
        self.counters.disconnects += u64::from(self.phase.close(why));
    }

    fn sound(&mut self, done: Result<(), StoreError>) -> bool {
        if let Err(error) = done {
            self.close(DisconnectReason::Store(error));
        }
        done.is_ok()
    }

    /// Sets the next expected number.
    pub fn expect(&mut self, number: u64) {
        let done = self.sequencer.expect(number);
        self.sound(done);
    }

    /// The counterparty's numbers restarted with its Logon.
    pub fn expect_behind_logon(&mut self) {
        let done = self.sequencer.expect_behind_logon();
        self.sound(done);
    }

    /// Records the delivery of the message of this number to the application.
    #[inline]
    pub fn deliver(&mut self, number: u64) {
        self.sequencer.deliver(number);
    }

    /// Withdraws the delivered message: it is not for the application.
    pub fn withdraw(&mut self) {
        self.sequencer.withdraw();
    }

    /// The application has called again: the delivered message is processed.
    #[inline]
    pub fn acknowledge(&mut self) {
        let done = self.sequencer.acknowledge();
        self.sound(done);
    }

    /// Restarts both numbers at 1.
    pub fn reset(&mut self) {
        let done = self.sequencer.reset();
        if self.sound(done) {
            self.counters.resets += 1;
            self.resend.clear();
        }
    }

    /// Whether both numbers restarted at 1 since the last call.
    pub fn take_restarted(&mut self) -> bool {
        self.sequencer.take_restarted()
    }

    /// Records activity of the counterparty.
    #[inline]
    pub fn received(&mut self) {
        self.liveness.received(self.clock.now_ns());
    }

    /// Time of the counterparty's last activity, by the monotonic clock.
    pub fn heard_ns(&self) -> u64 {
        self.liveness.received_ns()
    }

    /// Sets the agreed heartbeat interval.
    pub fn agree(&mut self, heartbeat_s: u32) {
        self.liveness.agree(heartbeat_s);
    }

    /// Sends due heartbeats and test requests, and detects a heartbeat timeout.
    pub fn signs_of_life(&mut self) {
        match self.liveness.due(self.clock.now_ns()) {
            Some(Sign::Heartbeat) => {
                // Behind messages that wait for room it would come late, and each would use a number.
                // mutant: fix session: heartbeats wait behind a resend
                if !self.has_waiting() {
                    self.heartbeat(None);
                }
                self.liveness.sent(self.clock.now_ns());
            }
            Some(Sign::TestRequest) => self.test_request(),
            Some(Sign::GiveUp) => self.close(DisconnectReason::HeartbeatTimeout),
            None => {}
        }
    }

    /// Time of the next timer, by the monotonic clock.
    pub fn next_timeout(&self) -> Option<u64> {
        match self.phase.state() {
            State::Up | State::LoggingOut if self.may_pump() => Some(self.clock.now_ns()),
            State::Up => self.liveness.next_timeout(),
            _ => self.phase.next_timeout(),
        }
    }

    /// Writes and stores a message of an application, then releases it for sending. Returns its
    /// number.
    ///
    /// # Errors
    /// The message is not sent, and no number is used.
    pub fn send(
        &mut self,
        msg_type: &[u8],
        body: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<u64, SendError> {
        self.write(msg_type, Keep::Message, None, body)
    }

    /// Whether messages wait that are sent before the next one.
    fn has_waiting(&self) -> bool {
        self.resend.is_under_way() || self.sequencer.has_unsent()
    }

    fn write(
        &mut self,
        msg_type: &[u8],
        keep: Keep,
        route: Option<&ParsedHeader<'_>>,
        body: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<u64, SendError> {
        let is_next = !self.has_waiting();
        let number = self.sequencer.next_out();
        let at = (number, self.clock.wall_ns());
        let message = encoded(&mut self.scratch, &self.settings, msg_type, at, route, body)?;
        // mutant: fix session: a message is sent before it is stored
        let stored = if keep == Keep::Message { message } else { &[] };
        if let Err(error) = self.sequencer.add(stored) {
            self.counters.disconnects +=
                u64::from(self.phase.close(DisconnectReason::Store(error)));
            return Err(SendError::Store(error));
        }
        let is_connected = self.phase.state() != State::Down;
        if is_connected && is_next && self.output.free() >= message.len() {
            self.output.put(message);
            self.sequencer.send();
            self.counters.messages_sent += 1;
            self.liveness.sent(self.clock.now_ns());
        }
        if keep == Keep::Number {
            self.scratch.fill(0);
        }
        Ok(number)
    }

    /// Writes the next message as [`Link::send`] does, and forgets it.
    pub fn warm_send(&mut self, msg_type: &[u8], body: impl FnOnce(&mut Encoder<'_>)) {
        let at = (self.sequencer.next_out(), self.clock.wall_ns());
        // One that is too long is refused when it is sent.
        let _ = encoded(&mut self.scratch, &self.settings, msg_type, at, None, body);
    }

    /// Writes a message of the session itself, which always fits. A failure of the store ends the session.
    fn admin(&mut self, msg_type: &[u8], body: impl FnOnce(&mut Encoder<'_>)) {
        // The store's failure has ended the session already.
        let _ = self.write(msg_type, Keep::Message, None, body);
    }

    /// Sends a Logon with this HeartBtInt and the fields of `extra`.
    pub fn logon(
        &mut self,
        heartbeat_s: u32,
        is_reset: bool,
        extra: impl FnOnce(&mut Encoder<'_>),
    ) {
        // A failure of the store has ended the session already.
        // mutant: fix session: a Logon is stored for resending
        let _ = self.write(b"A", Keep::Number, None, |body| {
            body.unsigned(tag::ENCRYPT_METHOD, 0)
                .unsigned(tag::HEART_BT_INT, u64::from(heartbeat_s));
            if is_reset {
                body.flag(tag::RESET_SEQ_NUM_FLAG, true);
            }
            extra(body);
        });
    }

    /// Sends a Heartbeat; it answers a TestRequest if `test_id` is given.
    pub fn heartbeat(&mut self, test_id: Option<&[u8]>) {
        self.admin(b"0", |body| {
            if let Some(id) = test_id {
                body.bytes(tag::TEST_REQ_ID, id);
            }
        });
    }

    /// Sends a TestRequest for the owner of the session.
    pub fn test(&mut self) {
        let number = self.sequencer.next_out();
        self.tested.get_or_insert(number);
        self.test_request();
    }

    /// Whether a TestRequest of the owner waits for its answer.
    pub fn is_testing(&self) -> bool {
        self.tested.is_some()
    }

    /// A Heartbeat has come in order: an answer to a TestRequest of the owner, or to one behind it, answers it.
    pub fn tested_by(&mut self, id: Option<&[u8]>) {
        let number = id.and_then(|id| unsigned(id).ok());
        // mutant: fix session: a heartbeat that answers nothing answers a test
        if self.tested.is_some_and(|first| number >= Some(first)) {
            self.tested = None;
        }
    }

    fn test_request(&mut self) {
        self.counters.test_requests += 1;
        self.liveness.test_requested();
        let number = self.sequencer.next_out();
        self.admin(b"1", |body| {
            body.unsigned(tag::TEST_REQ_ID, number);
        });
    }

    /// Requests everything from the expected number on.
    pub fn resend_request(&mut self) {
        let expected = self.sequencer.next_in();
        self.counters.resends_requested += 1;
        self.admin(b"2", |body| {
            body.unsigned(tag::BEGIN_SEQ_NO, expected)
                .unsigned(tag::END_SEQ_NO, 0);
        });
    }

    /// Rejects a message. A message that was in sequence counts as processed.
    pub fn reject(&mut self, message: &Message<'_>, parsed: &ParsedHeader<'_>, fault: Fault) {
        self.counters.messages_rejected += 1;
        let number = parsed.header.msg_seq_num.unwrap_or(0);
        // FIX 4.2 defines the reasons up to 11.
        let has_reason = self.settings.begin_string != "FIX.4.2" || fault.reason as u8 <= 11;
        let _ = self.write(b"3", Keep::Message, Some(parsed), |body| {
            body.unsigned(tag::REF_SEQ_NUM, number);
            if let Some(tag) = fault.tag {
                body.decimal(tag::REF_TAG_ID, tag, 0);
            }
            body.bytes(tag::REF_MSG_TYPE, message.msg_type());
            if has_reason {
                body.unsigned(tag::SESSION_REJECT_REASON, fault.reason as u64);
            }
            body.bytes(tag::TEXT, encode::text(fault.reason));
        });
        let is_counted = !matches!(message.msg_type(), b"A" | b"4");
        if is_counted && number == self.sequencer.next_in() {
            self.expect(number + 1);
        }
    }

    /// Sends a Logout and waits for the answer.
    pub fn log_out(&mut self, text: &[u8]) {
        self.send_logout(text);
        if !self.phase.is_over() {
            self.enter(State::LoggingOut, self.settings.limits.logout_wait_ns);
        }
    }

    /// Sends a Logout.
    pub fn send_logout(&mut self, text: &[u8]) {
        self.admin(b"5", |body| {
            if !text.is_empty() {
                body.bytes(tag::TEXT, text);
            }
        });
    }

    /// Serves a request for numbers `first` to `last`.
    pub fn serve(&mut self, first: u64, last: u64) {
        self.counters.resends_served += 1;
        self.resend.request(first, last);
        if !self.sequencer.store().keeps_messages() {
            self.resend.skip_all();
        }
        self.pump();
    }

    /// Records that this many bytes were sent.
    pub fn sent(&mut self, bytes: usize) {
        self.output.sent(bytes);
        if self.has_more() {
            self.pump();
        }
    }

    /// Fills the output: first requested resends, then waiting messages.
    pub fn pump(&mut self) {
        for _ in 0..BATCH {
            if !self.may_pump() {
                return;
            }
            match self.resend.next() {
                Some(Next::Look(number)) => self.look(number),
                Some(Next::End(fill)) => self.fill(fill, true),
                None => self.first_time(),
            }
        }
    }

    /// Whether output remains after the room or the batch is used up.
    fn has_more(&self) -> bool {
        self.has_waiting() && self.phase.is_logged_on()
    }

    fn may_pump(&self) -> bool {
        self.has_more() && self.output.free() >= encode::room_for_any(&self.settings)
    }

    /// Handles one number of a resend.
    fn look(&mut self, number: u64) {
        let length = match self.sequencer.read(number, &mut self.scratch) {
            Ok(length) => length,
            Err(error) => return self.close(DisconnectReason::Store(error)),
        };
        let applications = &self.settings.applications;
        match frame(&self.scratch[..length], length) {
            Ok(Frame::Whole(message)) if applications.is_sent_again(message.msg_type()) => {
                let fill = self.resend.sent();
                self.fill(fill, true);
                self.send_again(length);
            }
            _ => self.resend.skipped(),
        }
    }

    /// Resends the message in `scratch`.
    fn send_again(&mut self, length: usize) {
        let Ok(Frame::Whole(message)) = frame(&self.scratch[..length], length) else {
            unreachable!("resend: what is sent again is a whole message");
        };
        let room = self.output.room();
        let wall_ns = self.clock.wall_ns();
        if let Some(length) = encode::again(room, &message, &self.settings, wall_ns) {
            self.output.filled(length);
            self.counters.messages_resent += 1;
            self.liveness.sent(self.clock.now_ns());
        }
    }

    /// Sends a message that was stored while the connection had no room for it.
    fn first_time(&mut self) {
        let number = self.sequencer.send();
        match self.sequencer.read(number, &mut self.scratch) {
            Ok(0) => self.fill(Some(number..number + 1), false),
            Ok(length) => {
                self.output.put(&self.scratch[..length]);
                self.counters.messages_sent += 1;
                self.liveness.sent(self.clock.now_ns());
            }
            Err(error) => self.close(DisconnectReason::Store(error)),
        }
    }

    /// Sends a gap fill for these numbers.
    fn fill(&mut self, numbers: Option<std::ops::Range<u64>>, is_again: bool) {
        let Some(std::ops::Range { start, end }) = numbers else {
            return;
        };
        let (room, wall_ns) = (self.output.room(), self.clock.wall_ns());
        let filled = encode::gap_fill(room, &self.settings, wall_ns, start, end, is_again);
        if let Some(length) = filled {
            self.output.filled(length);
            self.counters.gap_fills_sent += 1;
            self.liveness.sent(self.clock.now_ns());
        }
    }
}
