//! Messages that leave: those of the core, and the count of those that the session sent by itself.

use super::OrderSession;
use crate::execution::edge::Link;
use touchline_session::fix::SendError;
use touchline_types::ReceiveTime;
use touchline_wire::fix::Encoder;

/// Messages of the core that were sent.
#[derive(Default)]
pub(super) struct Sent {
    pub count: u64,
    /// All messages that were sent, and `count`, at the last question.
    counted: (u64, u64),
}

impl Sent {
    /// Number of messages since the last call that the core did not send, from the number of all messages.
    pub fn take_others(&mut self, all: u64) -> u64 {
        let now = (all, self.count);
        let before = std::mem::replace(&mut self.counted, now);
        (now.0 - before.0).saturating_sub(now.1 - before.1)
    }
}

impl<L: Link> OrderSession<L> {
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

    /// Does what [`OrderSession::send`] and [`OrderSession::flush`] do, without a message.
    pub fn warm_send(&mut self, msg_type: &str, body: impl FnOnce(&mut Encoder<'_>)) {
        self.session.warm_send(msg_type.as_bytes(), body);
        self.link.touch();
    }
}
