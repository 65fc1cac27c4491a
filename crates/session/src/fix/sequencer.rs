//! The numbers of both sides, which live in the store.

use super::{Store, StoreError};

/// Sequence numbers of a session, and the store that keeps them.
///
/// Invariants: what was never sent is in the store (`unsent` is at most the next number); the number that is expected goes
/// back with a reset alone.
pub struct Sequencer<S> {
    store: S,
    /// The first number that was never sent; those from here on are in the store alone.
    unsent: u64,
    /// The message of this number was delivered to the application, which has not come back yet.
    delivered: Option<u64>,
    /// Both numbers began at 1 again since the last time both sides were logged on.
    is_restarted: bool,
}

impl<S: Store> Sequencer<S> {
    /// Goes on where the store ends.
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

    /// The store, which its owner gets back.
    pub fn into_store(self) -> S {
        self.store
    }

    /// Number of the next message that we send.
    pub fn next_out(&self) -> u64 {
        self.store.next_out()
    }

    /// Number of the message that we expect.
    pub fn next_in(&self) -> u64 {
        self.store.next_in()
    }

    /// The first number that was never sent.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Whether messages are stored that were never sent.
    pub fn has_unsent(&self) -> bool {
        self.unsent < self.store.next_out()
    }

    /// A connection is established: messages stored by now are sent on request.
    pub fn begin(&mut self) {
        self.unsent = self.store.next_out();
    }

    /// Stores a message, or its number alone if it is empty.
    ///
    /// # Errors
    /// The number is not used.
    pub fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        self.store.add(message)
    }

    /// Copies a stored message into `room`; 0: it is not kept.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        self.store.read(number, room)
    }

    /// The first message that was never sent goes. Its number.
    pub fn send(&mut self) -> u64 {
        assert!(
            self.has_unsent(),
            "sequence numbers: what is sent was stored before"
        );
        self.unsent += 1;
        self.unsent - 1
    }

    /// The next message that we expect has this number.
    ///
    /// # Errors
    /// It is the old one.
    pub fn expect(&mut self, number: u64) -> Result<(), StoreError> {
        assert!(
            number >= self.store.next_in(),
            "sequence numbers: what is expected goes back with a reset alone"
        );
        self.store.expect(number)
    }

    /// The counterparty's numbers began again with a Logon, which was their first.
    ///
    /// # Errors
    /// The number is the old one.
    pub fn expect_behind_logon(&mut self) -> Result<(), StoreError> {
        self.store.expect(2)
    }

    /// The application is shown the message of this number.
    pub fn deliver(&mut self, number: u64) {
        assert!(
            self.delivered.is_none(),
            "sequence numbers: one message is delivered at a time"
        );
        self.delivered = Some(number);
    }

    /// What the application is shown is not for it: it counts only if somebody else says so.
    pub fn withdraw(&mut self) {
        self.delivered = None;
    }

    /// The application has come back: what it was shown is processed.
    ///
    /// # Errors
    /// It does not count.
    pub fn acknowledge(&mut self) -> Result<(), StoreError> {
        match self.delivered.take() {
            Some(number) if number == self.store.next_in() => self.expect(number + 1),
            _ => Ok(()),
        }
    }

    /// Both numbers begin at 1.
    ///
    /// # Errors
    /// Everything is as before, or the store refuses everything.
    pub fn reset(&mut self) -> Result<(), StoreError> {
        self.store.reset()?;
        (self.unsent, self.delivered, self.is_restarted) = (1, None, true);
        Ok(())
    }

    /// Whether both numbers began at 1 again since the last call.
    pub fn take_restarted(&mut self) -> bool {
        std::mem::take(&mut self.is_restarted)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Memory;
    use super::*;

    #[test]
    fn a_message_counts_when_the_application_has_come_back() {
        let mut numbers = Sequencer::new(Memory::default());
        numbers.deliver(1);
        assert_eq!(numbers.next_in(), 1);
        numbers.acknowledge().expect("memory");
        numbers.acknowledge().expect("memory");
        assert_eq!(numbers.next_in(), 2, "and once");
    }

    #[test]
    fn what_is_stored_and_not_sent_is_known_and_a_connection_waits_to_be_asked() {
        let mut numbers = Sequencer::new(Memory::default());
        numbers.add(b"one").expect("memory");
        numbers.add(b"two").expect("memory");
        assert!(numbers.has_unsent());
        assert_eq!((numbers.send(), numbers.unsent()), (1, 2));
        numbers.begin();
        assert!(!numbers.has_unsent());
    }

    #[test]
    fn a_reset_forgets_what_was_delivered_and_is_told_once() {
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
    fn what_is_expected_does_not_go_back() {
        let mut numbers = Sequencer::new(Memory::default());
        numbers.expect(5).expect("memory");
        let _ = numbers.expect(4);
    }
}
