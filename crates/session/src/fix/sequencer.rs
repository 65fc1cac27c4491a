//! Sequence numbers of both sides, backed by the store.

use super::{Store, StoreError};

/// Sequence numbers of a session, with their store.
///
/// Invariants: unsent messages are in the store (`unsent` is at most the next number); the expected number decreases
/// only with a reset.
pub struct Sequencer<S> {
    store: S,
    /// The first number that was never sent; its message and later ones are only in the store.
    unsent: u64,
    /// Number of the message delivered to the application, until the application calls again.
    delivered: Option<u64>,
    /// Both numbers restarted at 1 since the last logon.
    is_restarted: bool,
}

impl<S: Store> Sequencer<S> {
    /// Continues with the numbers of the store.
    pub fn new(store: S) -> Sequencer<S> {
        Sequencer {
            unsent: store.next_out(),
            store,
            delivered: None,
            is_restarted: false,
        }
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store, for contents beside numbers and messages.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// The store, returned to its owner.
    pub fn into_store(self) -> S {
        self.store
    }

    /// Number of our next message.
    pub fn next_out(&self) -> u64 {
        self.store.next_out()
    }

    /// Number of the expected message.
    pub fn next_in(&self) -> u64 {
        self.store.next_in()
    }

    /// Whether both numbers are those behind a Logon that restarted them: no other message was exchanged since.
    pub fn is_behind_logons(&self) -> bool {
        (self.next_out(), self.next_in()) == (2, 2)
    }

    /// The first number that was never sent.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Whether the store has messages that were never sent.
    pub fn has_unsent(&self) -> bool {
        self.unsent < self.store.next_out()
    }

    /// Starts a connection: messages stored before it are sent on request.
    pub fn begin(&mut self) {
        self.unsent = self.store.next_out();
    }

    /// Stores a message, or only its number if it is empty.
    ///
    /// # Errors
    /// The number is not used.
    pub fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        self.store.add(message)
    }

    /// Copies a stored message into `room`; 0: it is not stored.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        self.store.read(number, room)
    }

    /// Releases the first unsent message. Returns its number.
    pub fn send(&mut self) -> u64 {
        assert!(
            self.has_unsent(),
            "sequence numbers: what is sent was stored before"
        );
        self.unsent += 1;
        self.unsent - 1
    }

    /// Sets the expected number.
    ///
    /// # Errors
    /// The number is unchanged.
    pub fn expect(&mut self, number: u64) -> Result<(), StoreError> {
        assert!(
            number >= self.store.next_in(),
            "sequence numbers: what is expected goes back with a reset alone"
        );
        self.store.expect(number)
    }

    /// The counterparty's numbers restarted with its Logon.
    ///
    /// # Errors
    /// The number is unchanged.
    pub fn expect_behind_logon(&mut self) -> Result<(), StoreError> {
        self.store.expect(2)
    }

    /// Records the delivery of the message of this number to the application.
    pub fn deliver(&mut self, number: u64) {
        assert!(
            self.delivered.is_none(),
            "sequence numbers: one message is delivered at a time"
        );
        self.delivered = Some(number);
    }

    /// Withdraws the delivered message: it counts only if acknowledged elsewhere.
    pub fn withdraw(&mut self) {
        self.delivered = None;
    }

    /// The application has called again: the delivered message is processed.
    ///
    /// # Errors
    /// The message does not count.
    pub fn acknowledge(&mut self) -> Result<(), StoreError> {
        match self.delivered.take() {
            Some(number) if number == self.store.next_in() => self.expect(number + 1),
            _ => Ok(()),
        }
    }

    /// Restarts both numbers at 1.
    ///
    /// # Errors
    /// Nothing has changed, or the store refuses every call.
    pub fn reset(&mut self) -> Result<(), StoreError> {
        self.store.reset()?;
        (self.unsent, self.delivered, self.is_restarted) = (1, None, true);
        Ok(())
    }

    /// Whether both numbers restarted at 1 since the last call.
    pub fn take_restarted(&mut self) -> bool {
        std::mem::take(&mut self.is_restarted)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Memory;
    use super::*;

    #[test]
    fn a_message_counts_at_the_next_call_of_the_application() {
        let mut numbers = Sequencer::new(Memory::default());
        numbers.deliver(1);
        assert_eq!(numbers.next_in(), 1);
        numbers.acknowledge().expect("memory");
        numbers.acknowledge().expect("memory");
        assert_eq!(numbers.next_in(), 2, "and once");
    }

    #[test]
    fn unsent_messages_are_known_and_sent_on_request_after_a_reconnect() {
        let mut numbers = Sequencer::new(Memory::default());
        numbers.add(b"one").expect("memory");
        numbers.add(b"two").expect("memory");
        assert!(numbers.has_unsent());
        assert_eq!((numbers.send(), numbers.unsent()), (1, 2));
        numbers.begin();
        assert!(!numbers.has_unsent());
    }

    #[test]
    fn a_reset_drops_the_delivered_message_and_is_reported_once() {
        let mut numbers = Sequencer::new(Memory::default());
        numbers.expect(5).expect("memory");
        numbers.deliver(5);
        numbers.reset().expect("memory");
        numbers.acknowledge().expect("memory");
        assert_eq!(
            (numbers.next_in(), numbers.next_out(), numbers.unsent()),
            (1, 1, 1)
        );
        assert!(numbers.take_restarted() && !numbers.take_restarted());
    }

    #[test]
    #[should_panic(expected = "what is sent was stored before")]
    fn nothing_is_sent_that_is_not_stored() {
        Sequencer::new(Memory::default()).send();
    }

    #[test]
    #[should_panic(expected = "goes back with a reset alone")]
    fn decreasing_the_expected_number_panics() {
        let mut numbers = Sequencer::new(Memory::default());
        numbers.expect(5).expect("memory");
        let _ = numbers.expect(4);
    }
}
