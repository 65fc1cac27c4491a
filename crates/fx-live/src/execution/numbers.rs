//! Store of an order session: its sequence numbers. The journal has them, and messages are never sent again.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use touchline_session::fix::{Store, StoreError};

/// Sequence numbers of a session. The owner journals them before any byte of a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    next_out: u64,
    next_in: u64,
}

impl Numbers {
    /// Numbers of the next messages, from 1.
    pub fn new(next_out: u64, next_in: u64) -> Numbers {
        Numbers { next_out, next_in }
    }

    /// Number of our next message, and the number expected from the bank.
    pub fn both(&self) -> (u64, u64) {
        (self.next_out, self.next_in)
    }
}

impl Store for Numbers {
    fn next_out(&self) -> u64 {
        self.next_out
    }

    fn next_in(&self) -> u64 {
        self.next_in
    }

    fn add(&mut self, _message: &[u8]) -> Result<(), StoreError> {
        self.next_out += 1;
        Ok(())
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        self.next_in = next_in;
        Ok(())
    }

    /// Messages are not stored: the session fills the gap instead.
    fn read(&mut self, _number: u64, _room: &mut [u8]) -> Result<usize, StoreError> {
        Ok(0)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        *self = Numbers::new(1, 1);
        Ok(())
    }

    // mutant: simulation: a message waits behind a resend in a store that keeps none
    fn keeps_messages(&self) -> bool {
        false
    }
}
