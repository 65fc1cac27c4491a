//! A message of the counterparty, judged.

use super::core::{Core, State};
use super::out_of_order::OutOfOrderQueue;
use super::parsed_header::{Fault, ParsedHeader, field};
use super::resend::is_admin;
use super::{Checks, DisconnectReason, Store};
use touchline_wire::fix::{FIX44, Message, SessionRejectReason as Reason, tag, unsigned, validate};

/// What a message is to the owner of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Nothing,
    LoggedOn,
    Logon,
    Application,
    Rejected,
    LoggedOut,
}

/// No sequence number is higher.
const NUMBER_MAX: u64 = 1 << 53;

impl<S: Store> Core<S> {
    /// A message came, whole.
    pub fn judge(
        &mut self,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        out_of_order: &mut OutOfOrderQueue,
    ) -> Outcome {
        self.counters.messages_received += 1;
        match self.state {
            State::Awaiting | State::LoggingOn => self.first(message, parsed, out_of_order),
            State::Up | State::LoggingOut => self.later(message, parsed, out_of_order),
            State::Down | State::Asking | State::Over => Outcome::Nothing,
        }
    }

    fn later(
        &mut self,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        out_of_order: &mut OutOfOrderQueue,
    ) -> Outcome {
        let expected = self.store.next_in();
        let number = parsed.header.msg_seq_num;
        let Some(number) = number.filter(|number| *number < NUMBER_MAX) else {
            self.send_logout(b"MsgSeqNum (34) is missing or no number");
            self.close(DisconnectReason::NoSequence);
            return Outcome::Nothing;
        };
        let is_logout = message.msg_type() == b"5";
        if message.begin_string() != self.settings.begin_string.as_bytes() && !is_logout {
            self.log_out(b"another BeginString (8) than that of the Logon");
            if number == expected {
                self.expect(number + 1);
            }
            return Outcome::Nothing;
        }
        if let Some(fault) = parsed.fault.or_else(|| missing(parsed)) {
            self.reject(message, parsed, fault);
            return Outcome::Nothing;
        }
        if let Some(fault) = self.time_or_name(parsed) {
            self.reject(message, parsed, fault);
            self.log_out(b"");
            return Outcome::Nothing;
        }
        self.received_ns = self.clock.now_ns();
        self.test_request_sent = false;
        self.in_order(message, parsed, number, out_of_order)
    }

    /// The number of a message against the one that is expected. Logout, ResendRequest, and the two kinds
    /// of reset mean something under any number.
    fn in_order(
        &mut self,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        number: u64,
        out_of_order: &mut OutOfOrderQueue,
    ) -> Outcome {
        let expected = self.store.next_in();
        // Looked for in the messages alone that can have them: a look goes through all fields.
        let says = |tag| field(message, tag) == Some(b"Y");
        let is_reset = message.msg_type() == b"A" && says(tag::RESET_SEQ_NUM_FLAG);
        let goes_anyway = match message.msg_type() {
            b"5" | b"2" => true,
            b"A" => is_reset,
            b"4" => !says(tag::GAP_FILL_FLAG),
            _ => false,
        };
        if goes_anyway && let Some(fault) = self.check(message) {
            self.reject(message, parsed, fault);
            return Outcome::Nothing;
        }
        match message.msg_type() {
            b"5" => return self.logout(number),
            b"A" if is_reset => return self.reset_by_logon(number, out_of_order),
            // Nothing but the answer makes sense before it.
            _ if self.is_resetting => return Outcome::Nothing,
            b"2" => return self.resend_request(message, parsed, number),
            b"4" if goes_anyway => return self.sequence_reset(message, parsed, expected),
            _ => {}
        }
        if number > expected {
            self.sequence_too_high(message, number, out_of_order);
            return Outcome::Nothing;
        }
        // mutant: fix session: a repetition that was seen is executed again
        if number < expected {
            self.sequence_too_low(message, parsed, number);
            return Outcome::Nothing;
        }
        self.process(message, parsed, number)
    }

    /// A message in its order.
    pub fn process(
        &mut self,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        number: u64,
    ) -> Outcome {
        if let Some(fault) = self.check(message) {
            self.reject(message, parsed, fault);
            return Outcome::Nothing;
        }
        match message.msg_type() {
            b"1" => match field(message, tag::TEST_REQ_ID) {
                Some(id) => self.heartbeat(Some(id)),
                None => {
                    let fault = required(tag::TEST_REQ_ID);
                    self.reject(message, parsed, fault);
                    return Outcome::Nothing;
                }
            },
            b"4" => return self.sequence_reset(message, parsed, number + 1),
            b"3" => {
                self.expect(number + 1);
                return Outcome::Rejected;
            }
            kind if !is_admin(kind) => {
                // mutant: fix session: a message counts before the application saw it
                self.delivered = Some(number);
                return Outcome::Application;
            }
            b"A" if number != self.logon_number => self.log_out(b"both are logged on already"),
            // A sign of life; or the Logon, which waited behind the gap that it showed.
            _ => {}
        }
        self.expect(number + 1);
        Outcome::Nothing
    }

    pub fn sequence_too_high(
        &mut self,
        message: &Message<'_>,
        number: u64,
        out_of_order: &mut OutOfOrderQueue,
    ) {
        self.counters.messages_out_of_order += 1;
        if !out_of_order.keep(number, message.bytes()) {
            self.counters.messages_out_of_order_dropped += 1;
        }
        if self.awaited_resend.is_none() {
            self.send_resend_request(number - 1, 1);
        }
    }

    fn sequence_too_low(&mut self, message: &Message<'_>, parsed: &ParsedHeader<'_>, number: u64) {
        if !parsed.header.poss_dup {
            return self.end_sequence_too_low(number);
        }
        self.counters.messages_duplicate += 1;
        if message.msg_type() == b"4" {
            return;
        }
        let Some(original_ns) = parsed.header.orig_sending_time_ns else {
            return self.reject(message, parsed, required(tag::ORIG_SENDING_TIME));
        };
        if parsed.header.sending_time_ns < Some(original_ns) {
            let fault = Fault::whole(Reason::SendingTimeAccuracyProblem);
            self.reject(message, parsed, fault);
            self.log_out(b"");
        }
    }

    /// The counterparty's number is lower than it can be: somebody has lost count, and people must look.
    pub fn end_sequence_too_low(&mut self, number: u64) {
        use std::io::Write;
        let mut text = [0; 96];
        let mut rest = text.as_mut_slice();
        let expected = self.store.next_in();
        let _ = write!(
            rest,
            "MsgSeqNum too low, expecting {expected} but received {number}"
        );
        let length = 96 - rest.len();
        self.send_logout(&text[..length]);
        self.close(DisconnectReason::SequenceTooLow);
    }

    fn logout(&mut self, number: u64) -> Outcome {
        // A Logout behind a gap is answered, and the gap is asked for after the next Logon.
        if number == self.store.next_in() {
            self.expect(number + 1);
        }
        if self.state == State::Up {
            self.send_logout(b"");
        }
        self.close(DisconnectReason::LoggedOut);
        Outcome::LoggedOut
    }

    /// A request is served whatever its number: otherwise two sides that miss something from each other
    /// would wait for each other.
    fn resend_request(
        &mut self,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        number: u64,
    ) -> Outcome {
        let expected = self.store.next_in();
        // What waits in the store goes by itself, for the first time.
        let last_sent = self.unsent - 1;
        let number_of = |tag| field(message, tag).map(unsigned);
        let first = match number_of(tag::BEGIN_SEQ_NO) {
            Some(Ok(first)) if (1..=last_sent).contains(&first) => first,
            wrong => {
                self.reject(message, parsed, faulty(wrong.is_none(), tag::BEGIN_SEQ_NO));
                return Outcome::Nothing;
            }
        };
        let last = match number_of(tag::END_SEQ_NO) {
            Some(Ok(0)) => last_sent,
            Some(Ok(last)) if last >= first => last.min(last_sent),
            wrong => {
                self.reject(message, parsed, faulty(wrong.is_none(), tag::END_SEQ_NO));
                return Outcome::Nothing;
            }
        };
        if number == expected {
            self.expect(number + 1);
        }
        self.serve(first, last);
        if number > expected && self.awaited_resend.is_none() {
            self.send_resend_request(number, 1);
        }
        Outcome::Nothing
    }

    /// The counterparty goes on with another number, which must not be below `least`.
    fn sequence_reset(
        &mut self,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        least: u64,
    ) -> Outcome {
        match field(message, tag::NEW_SEQ_NO).map(unsigned) {
            Some(Ok(next)) if (least..NUMBER_MAX).contains(&next) => {
                self.counters.sequence_resets += u64::from(next > least);
                self.expect(next);
            }
            wrong => self.reject(message, parsed, faulty(wrong.is_none(), tag::NEW_SEQ_NO)),
        }
        Outcome::Nothing
    }

    /// The message against the dictionary of the session.
    pub fn check(&self, message: &Message<'_>) -> Option<Fault> {
        let options = &self.settings.check_options;
        let checked = match &self.settings.checks {
            Checks::Nothing => Ok(()),
            Checks::Standard => validate(message, &FIX44, options),
            Checks::Venue(tables) => validate(message, &tables.lend(), options),
        };
        checked.err().map(Fault::from)
    }

    /// SendingTime and CompIDs, which must be those of this session.
    pub fn time_or_name(&self, parsed: &ParsedHeader<'_>) -> Option<Fault> {
        let settings = &self.settings;
        let header = &parsed.header;
        let sent_ns = header.sending_time_ns.unwrap_or(0);
        let most_ns = u64::from(settings.sending_time_s) * 1_000_000_000;
        if most_ns > 0 && sent_ns.abs_diff(self.clock.wall_ns()) > most_ns {
            return Some(Fault::whole(Reason::SendingTimeAccuracyProblem));
        }
        let is_ours = header.sender_comp_id == settings.target.as_bytes()
            && header.target_comp_id == settings.sender.as_bytes();
        (!is_ours).then_some(Fault::whole(Reason::CompIdProblem))
    }
}

/// A header field that every message must have.
pub fn missing(parsed: &ParsedHeader<'_>) -> Option<Fault> {
    let header = &parsed.header;
    if header.sender_comp_id.is_empty() {
        Some(required(tag::SENDER_COMP_ID))
    } else if header.target_comp_id.is_empty() {
        Some(required(tag::TARGET_COMP_ID))
    } else if header.sending_time_ns.is_none() {
        Some(required(tag::SENDING_TIME))
    } else {
        None
    }
}

fn required(tag: u32) -> Fault {
    Fault::of(Reason::RequiredTagMissing, tag)
}

/// A field that is missing, or has a value that cannot be.
fn faulty(is_missing: bool, tag: u32) -> Fault {
    match is_missing {
        true => required(tag),
        false => Fault::of(Reason::ValueIncorrect, tag),
    }
}
