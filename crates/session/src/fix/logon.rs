//! The beginning of a session, and beginning anew in the middle of it.

use super::core::{Core, State};
use super::incoming::{Outcome, missing};
use super::out_of_order::OutOfOrderQueue;
use super::outgoing::Keep;
use super::parsed_header::{ParsedHeader, field};
use super::{DisconnectReason, Role, Store};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Message, tag, unsigned};

/// What a Logon says.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub number: u64,
    pub heartbeat_s: u32,
    pub is_reset: bool,
}

/// A day: a longer interval is no sign of life.
const HEARTBEAT_S_MAX: u64 = 86_400;

impl<S: Store> Core<S> {
    /// A connection stands. An initiator says its Logon, with what `extra` adds to it.
    pub fn connect(&mut self, time: ReceiveTime, extra: impl FnOnce(&mut Encoder<'_>)) {
        self.begin(time);
        if self.settings.role == Role::Acceptor {
            self.state = State::Awaiting;
            return;
        }
        self.state = State::LoggingOn;
        if self.settings.reset_on_logon {
            self.reset();
            self.is_resetting = true;
        }
        self.write_logon(self.is_resetting, extra);
    }

    fn write_logon(&mut self, is_reset: bool, extra: impl FnOnce(&mut Encoder<'_>)) {
        let heartbeat_s = self.heartbeat_s;
        // A store that fails has ended the session already.
        // mutant: fix session: a Logon is kept for sending again
        let _ = self.write(b"A", Keep::Number, None, |body| {
            body.unsigned(tag::ENCRYPT_METHOD, 0)
                .unsigned(tag::HEART_BT_INT, u64::from(heartbeat_s));
            if is_reset {
                body.flag(tag::RESET_SEQ_NUM_FLAG, true);
            }
            extra(body);
        });
    }

    /// The first message of a connection. Before it is known who is there, nothing is answered.
    pub fn first(
        &mut self,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        out_of_order: &mut OutOfOrderQueue,
    ) -> Outcome {
        let kind = message.msg_type();
        if self.state == State::LoggingOn && matches!(kind, b"5" | b"3") {
            self.close(DisconnectReason::LogonRejected);
            return Outcome::LoggedOut;
        }
        if kind != b"A" {
            self.close(DisconnectReason::NotLogon);
            return Outcome::Nothing;
        }
        let Some(terms) = self.terms(message, parsed) else {
            self.close(DisconnectReason::BadLogon);
            return Outcome::Nothing;
        };
        if self.settings.ask && self.state == State::Awaiting {
            self.state = State::Asking;
            self.asking = Some(terms);
            self.until_ns = self.clock.now_ns() + self.settings.limits.logon_wait_ns;
            return Outcome::Logon;
        }
        let is_on = self.begin_session(terms, |_| {});
        if is_on && terms.number > self.store.next_in() {
            out_of_order.keep(terms.number, message.bytes());
        }
        match is_on {
            true => Outcome::LoggedOn,
            false => Outcome::Nothing,
        }
    }

    /// What a Logon says, if it is one of this session.
    pub fn terms(&self, message: &Message<'_>, parsed: &ParsedHeader<'_>) -> Option<Terms> {
        let is_good = message.begin_string() == self.settings.begin_string.as_bytes()
            && parsed.fault.or_else(|| missing(parsed)).is_none()
            && self.time_or_name(parsed).is_none()
            && self.check(message).is_none()
            && field(message, tag::ENCRYPT_METHOD).is_none_or(|method| method == b"0");
        let heartbeat_s = match field(message, tag::HEART_BT_INT) {
            None => u64::from(self.settings.heartbeat_s),
            Some(seconds) => unsigned(seconds).ok()?,
        };
        if !is_good || heartbeat_s > HEARTBEAT_S_MAX {
            return None;
        }
        Some(Terms {
            number: parsed.header.msg_seq_num.filter(|number| *number > 0)?,
            heartbeat_s: heartbeat_s as u32,
            is_reset: field(message, tag::RESET_SEQ_NUM_FLAG) == Some(b"Y"),
        })
    }

    /// The counterparty is who it should be: both are logged on, unless its number cannot be.
    pub fn begin_session(&mut self, terms: Terms, extra: impl FnOnce(&mut Encoder<'_>)) -> bool {
        let is_acceptor = self.settings.role == Role::Acceptor;
        // An initiator's own reset stands already; one that the acceptor asks for comes on top.
        let is_reset = terms.is_reset && !self.is_resetting;
        self.is_resetting = false;
        if is_reset || (is_acceptor && self.settings.reset_on_logon) {
            self.reset();
        }
        self.agree(terms.heartbeat_s);
        let expected = self.store.next_in();
        if terms.number < expected {
            self.end_sequence_too_low(terms.number);
            return false;
        }
        if self.state != State::Over {
            self.state = State::Up;
        }
        if is_acceptor || is_reset {
            self.write_logon(terms.is_reset, extra);
        }
        self.logon_number = terms.number;
        self.received_ns = self.clock.now_ns();
        self.counters.logons += 1;
        if terms.number > expected {
            self.send_resend_request(terms.number - 1, 1);
        } else {
            self.expect(expected + 1);
        }
        self.state == State::Up
    }

    /// The interval is the initiator's. One whose Logon is answered with a shorter interval takes that.
    fn agree(&mut self, theirs_s: u32) {
        self.heartbeat_s = match self.settings.role {
            Role::Initiator if theirs_s > 0 && self.heartbeat_s > 0 => {
                self.heartbeat_s.min(theirs_s)
            }
            Role::Initiator => self.heartbeat_s,
            Role::Acceptor => theirs_s,
        };
    }

    /// Asks the counterparty to begin both numbers at 1 again.
    pub fn ask_for_reset(&mut self, out_of_order: &mut OutOfOrderQueue) {
        if self.state == State::Up {
            self.reset();
            out_of_order.clear();
            self.is_resetting = true;
            self.write_logon(true, |_| {});
        }
    }

    /// A Logon with ResetSeqNumFlag in the middle of a session: a request, or the answer to ours. When both
    /// ask at once, each takes the other's request for its answer.
    pub fn reset_by_logon(&mut self, number: u64, out_of_order: &mut OutOfOrderQueue) -> Outcome {
        if number != 1 {
            self.send_logout(b"ResetSeqNumFlag (141) with another MsgSeqNum (34) than 1");
            self.close(DisconnectReason::BadLogon);
            return Outcome::Nothing;
        }
        out_of_order.clear();
        if self.is_resetting {
            self.is_resetting = false;
        } else {
            self.reset();
            self.write_logon(true, |_| {});
        }
        self.expect(2);
        Outcome::Nothing
    }
}
