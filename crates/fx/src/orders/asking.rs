//! Questions about an order without a known outcome: how many were asked, and when the next is due.

use crate::quotes::NEVER;

/// What is due for an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    due_ns: u64,
    tries: u32,
    /// Whether a mass status request asked for it and no report of it has come since.
    is_awaited: bool,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// A status request.
    Ask,
    /// All were asked: the desk is called, once.
    CallDesk,
}

impl Asking {
    /// An answer to the order itself is due then.
    pub fn answer(due_ns: u64) -> Asking {
        Asking {
            due_ns,
            tries: 0,
            is_awaited: false,
        }
    }

    /// When something is due; [`NEVER`] if nothing is.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Nothing is due any more.
    pub fn stop(&mut self) {
        self.due_ns = NEVER;
        self.is_awaited = false;
    }

    /// Tries count anew.
    pub fn restart(&mut self) {
        *self = Asking::answer(NEVER);
    }

    /// The next question, and the time after which the one behind it is due.
    pub fn next(&mut self, now_ns: u64, status_ns: u64, tries_max: u32) -> Question {
        // mutant: fx: an unknown order is asked for without end
        if self.tries >= tries_max {
            self.due_ns = NEVER;
            return Question::CallDesk;
        }
        self.tries += 1;
        self.due_ns = now_ns.saturating_add(status_ns);
        Question::Ask
    }

    /// A mass status request asks for it.
    pub fn await_mention(&mut self) {
        self.is_awaited = true;
    }

    /// A report of it came.
    pub fn mention(&mut self) {
        self.is_awaited = false;
    }

    /// Whether the answer to a mass status request has left it out so far.
    pub fn is_awaited(&self) -> bool {
        self.is_awaited
    }
}
