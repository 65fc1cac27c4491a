//! Messages that we send.

use super::core::{Core, State};
use super::parsed_header::{Fault, ParsedHeader, ROUTE};
use super::{DisconnectReason, SendError, Store};
use touchline_wire::fix::{Encoder, Message, SessionRejectReason as Reason, tag};

/// Whether a message may be sent again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Message,
    /// Its number is used, and it is never sent again: a Logon, which may hold a password.
    Number,
}

impl<S: Store> Core<S> {
    /// Writes a message, stores it, and only then lets it go.
    pub fn write(
        &mut self,
        msg_type: &[u8],
        keep: Keep,
        route: Option<&ParsedHeader<'_>>,
        body: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<u64, SendError> {
        let number = self.store.next_out();
        let settings = &self.settings;
        let begin_string = settings.begin_string.as_bytes();
        let mut encoder = Encoder::new(&mut self.scratch, begin_string, msg_type);
        encoder
            .bytes(tag::SENDER_COMP_ID, settings.sender.as_bytes())
            .bytes(tag::TARGET_COMP_ID, settings.target.as_bytes())
            .unsigned(tag::MSG_SEQ_NUM, number);
        if let Some(sub) = &settings.sender_sub {
            encoder.bytes(tag::SENDER_SUB_ID, sub.as_bytes());
        }
        if let Some(sub) = &settings.target_sub {
            encoder.bytes(tag::TARGET_SUB_ID, sub.as_bytes());
        }
        encoder.timestamp(tag::SENDING_TIME, self.clock.wall_ns(), settings.precision);
        for (from, to) in ROUTE {
            if let Some(value) = route.and_then(|parsed| parsed.header.text(from)) {
                encoder.bytes(to, value);
            }
        }
        body(&mut encoder);
        let message = encoder.finish().map_err(|_| SendError::TooLong)?;
        // mutant: fix session: a message goes before it is stored
        let stored = if keep == Keep::Message { message } else { &[] };
        if let Err(error) = self.store.add(stored) {
            self.close(DisconnectReason::Store(error));
            return Err(SendError::Store(error));
        }
        let is_next = self.resend.is_none() && self.unsent == number;
        if self.state != State::Down && is_next && self.output.free() >= message.len() {
            self.output.put(message);
            self.unsent = number + 1;
            self.counters.messages_sent += 1;
            self.sent_ns = self.clock.now_ns();
        }
        if keep == Keep::Number {
            self.scratch.fill(0);
        }
        Ok(number)
    }

    /// Writes a message of the session itself, which always fits. If the store fails, the session ends.
    fn admin(&mut self, msg_type: &[u8], body: impl FnOnce(&mut Encoder<'_>)) {
        // The store's failure has ended the session already.
        let _ = self.write(msg_type, Keep::Message, None, body);
    }

    pub fn heartbeat(&mut self, test_id: Option<&[u8]>) {
        self.admin(b"0", |body| {
            if let Some(id) = test_id {
                body.bytes(tag::TEST_REQ_ID, id);
            }
        });
    }

    pub fn test_request(&mut self) {
        self.counters.test_requests += 1;
        self.test_request_sent = true;
        let number = self.store.next_out();
        self.admin(b"1", |body| {
            body.unsigned(tag::TEST_REQ_ID, number);
        });
    }

    /// Requests a resend of everything from the number that we expect; `last` is known to be missing.
    pub fn send_resend_request(&mut self, last: u64, times: u32) {
        let expected = self.store.next_in();
        self.awaited_resend = Some(super::core::AwaitedResend {
            last,
            at_ns: self.clock.now_ns(),
            times,
            expected,
        });
        self.counters.resends_requested += 1;
        self.admin(b"2", |body| {
            body.unsigned(tag::BEGIN_SEQ_NO, expected)
                .unsigned(tag::END_SEQ_NO, 0);
        });
    }

    /// Rejects a message. One that came in its order is processed with this.
    pub fn reject(&mut self, message: &Message<'_>, parsed: &ParsedHeader<'_>, fault: Fault) {
        self.counters.messages_rejected += 1;
        let number = parsed.header.msg_seq_num.unwrap_or(0);
        // FIX 4.2 knows the reasons up to 11.
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
            body.bytes(tag::TEXT, text(fault.reason));
        });
        let is_counted = !matches!(message.msg_type(), b"A" | b"4");
        if is_counted && number == self.store.next_in() {
            self.expect(number + 1);
        }
    }

    /// Sends a Logout and waits for the answer.
    pub fn log_out(&mut self, text: &[u8]) {
        self.send_logout(text);
        if self.state != State::Over {
            self.state = State::LoggingOut;
            self.until_ns = self.clock.now_ns() + self.settings.limits.logout_wait_ns;
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
}

/// What SessionRejectReason (373) says, for people.
fn text(reason: Reason) -> &'static [u8] {
    match reason {
        Reason::InvalidTagNumber => b"this is no tag",
        Reason::RequiredTagMissing => b"a required field is missing",
        Reason::TagNotDefinedForMessage => b"the field does not belong into this message",
        Reason::UndefinedTag => b"the tag is not defined",
        Reason::TagWithoutValue => b"the field has no value",
        Reason::ValueIncorrect => b"the value is out of range",
        Reason::IncorrectDataFormat => b"the value is not written as its type wants it",
        Reason::CompIdProblem => b"the CompIDs are not those of this session",
        Reason::SendingTimeAccuracyProblem => {
            b"SendingTime is too far from the time here, or before OrigSendingTime"
        }
        Reason::InvalidMsgType => b"there is no such message type",
        Reason::TagAppearsMoreThanOnce => b"the field stands twice",
        Reason::TagOutOfOrder => b"header, body and trailer are not in this order",
        Reason::GroupFieldsOutOfOrder => b"the fields of a group are not in their order",
        Reason::IncorrectGroupCount => b"the group has another number of entries than it says",
        Reason::DecryptionProblem | Reason::SignatureProblem => b"the message is not valid",
    }
}
