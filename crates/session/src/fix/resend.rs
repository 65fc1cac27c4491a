//! Messages that the counterparty asked for again.

use super::core::Core;
use super::{DisconnectReason, Store};
use touchline_wire::fix::{Encoder, Frame, frame, tag};

/// What is still to be sent again. New messages wait behind it, in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resend {
    next: u64,
    last: u64,
    /// Numbers from here up to `next` are not sent again: one gap fill stands for them.
    gap: Option<u64>,
}

/// Numbers that are looked at in one go, so that nobody else waits for a long resend.
const BATCH: usize = 256;
/// More bytes than sending a message again adds to it: PossDupFlag, OrigSendingTime, digits of the length.
const ADDED: usize = 64;
/// More bytes than a gap fill has, beside the CompIDs.
const GAP_FILL: usize = 256;

impl<S: Store> Core<S> {
    /// Serves a request. One that comes in the middle of another is served together with it, from the
    /// earlier of both places on.
    pub fn serve(&mut self, first: u64, last: u64) {
        self.counters.resends_served += 1;
        let under_way = self.resend.take();
        self.resend = Some(match under_way {
            None => Resend {
                next: first,
                last,
                gap: None,
            },
            Some(resend) => Resend {
                next: first.min(resend.gap.unwrap_or(resend.next)),
                last: last.max(resend.last),
                gap: None,
            },
        });
        self.pump();
    }

    /// Lets go what the connection has room for: first what was asked for again, then what waited.
    pub fn pump(&mut self) {
        for _ in 0..BATCH {
            let is_more = match self.resend {
                Some(resend) => self.again(resend),
                None => self.first_time(),
            };
            if !is_more {
                return;
            }
        }
    }

    /// Whether more is to be sent than there was room or patience for.
    pub fn has_more(&self) -> bool {
        self.is_logged_on() && (self.resend.is_some() || self.unsent < self.store.next_out())
    }

    fn has_room(&self) -> bool {
        let settings = &self.settings;
        let names = settings.sender.len() + settings.target.len();
        self.output.free() >= settings.limits.message_bytes_max + ADDED + GAP_FILL + names
    }

    /// One more number of a resend.
    fn again(&mut self, mut resend: Resend) -> bool {
        if !self.is_logged_on() || !self.has_room() {
            return false;
        }
        if resend.next > resend.last {
            if let Some(gap) = resend.gap {
                self.gap_fill(gap, resend.next, true);
            }
            self.resend = None;
            return true;
        }
        let length = match self.store.read(resend.next, &mut self.scratch) {
            Ok(length) => length,
            Err(error) => {
                self.close(DisconnectReason::Store(error));
                return false;
            }
        };
        if self.is_sent_again(length) {
            if let Some(gap) = resend.gap.take() {
                self.gap_fill(gap, resend.next, true);
            }
            self.send_again(length);
        } else {
            resend.gap.get_or_insert(resend.next);
        }
        resend.next += 1;
        self.resend = Some(resend);
        true
    }

    /// A message that was stored while the connection had no room for it.
    fn first_time(&mut self) -> bool {
        let waits = self.unsent < self.store.next_out();
        if !waits || !self.is_logged_on() || !self.has_room() {
            return false;
        }
        let number = self.unsent;
        self.unsent += 1;
        match self.store.read(number, &mut self.scratch) {
            Ok(0) => self.gap_fill(number, number + 1, false),
            Ok(length) => {
                self.output.put(&self.scratch[..length]);
                self.counters.messages_sent += 1;
                self.sent_ns = self.clock.now_ns();
            }
            Err(error) => self.close(DisconnectReason::Store(error)),
        }
        true
    }

    /// Whether the stored message is one of the application.
    fn is_sent_again(&self, length: usize) -> bool {
        match frame(&self.scratch[..length], length) {
            Ok(Frame::Whole(message)) => !is_admin(message.msg_type()),
            _ => false,
        }
    }

    /// Sends the message in `scratch` again: its old SendingTime becomes OrigSendingTime.
    fn send_again(&mut self, length: usize) {
        let Ok(Frame::Whole(message)) = frame(&self.scratch[..length], length) else {
            return;
        };
        let (wall_ns, precision) = (self.clock.wall_ns(), self.settings.precision);
        let room = self.output.room();
        let mut encoder = Encoder::new(room, message.begin_string(), message.msg_type());
        for field in message.fields().map_while(Result::ok) {
            if field.tag != tag::SENDING_TIME {
                encoder.bytes(field.tag, field.value);
                continue;
            }
            // mutant: fix session: what is sent again is not marked
            encoder
                .flag(tag::POSS_DUP_FLAG, true)
                .timestamp(tag::SENDING_TIME, wall_ns, precision)
                .bytes(tag::ORIG_SENDING_TIME, field.value);
        }
        if let Ok(written) = encoder.finish() {
            let length = written.len();
            self.output.filled(length);
            self.counters.messages_resent += 1;
            self.sent_ns = self.clock.now_ns();
        }
    }

    /// `SequenceReset` (35=4) in place of the numbers `first..next`.
    fn gap_fill(&mut self, first: u64, next: u64, is_again: bool) {
        let (wall_ns, settings) = (self.clock.wall_ns(), &self.settings);
        let begin_string = settings.begin_string.as_bytes();
        let mut encoder = Encoder::new(self.output.room(), begin_string, b"4");
        encoder
            .bytes(tag::SENDER_COMP_ID, settings.sender.as_bytes())
            .bytes(tag::TARGET_COMP_ID, settings.target.as_bytes())
            .unsigned(tag::MSG_SEQ_NUM, first);
        if is_again {
            encoder.flag(tag::POSS_DUP_FLAG, true).timestamp(
                tag::ORIG_SENDING_TIME,
                wall_ns,
                settings.precision,
            );
        }
        encoder
            .timestamp(tag::SENDING_TIME, wall_ns, settings.precision)
            .flag(tag::GAP_FILL_FLAG, true)
            .unsigned(tag::NEW_SEQ_NO, next);
        if let Ok(written) = encoder.finish() {
            let length = written.len();
            self.output.filled(length);
            self.counters.gap_fills_sent += 1;
            self.sent_ns = self.clock.now_ns();
        }
    }
}

/// Whether messages of this type belong to the session, and are never sent again.
pub fn is_admin(msg_type: &[u8]) -> bool {
    matches!(msg_type, b"0" | b"1" | b"2" | b"3" | b"4" | b"5" | b"A")
}
