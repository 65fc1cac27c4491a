//! Count of the messages that a session sent by itself.

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
