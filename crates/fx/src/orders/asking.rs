//! Status requests for an order without a known outcome: number sent, and time of the next.

use crate::quotes::NEVER;

/// Timer of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    due_ns: u64,
    tries: u32,
    /// Whether a mass status request is open for it and no report of it has arrived since.
    is_awaited: bool,
}

/// The next action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Send a status request.
    Ask,
    /// Notify the desk, once: all requests were sent.
    CallDesk,
}

impl Asking {
    /// Timer for the answer to the order itself.
    pub fn answer(due_ns: u64) -> Asking {
        Asking {
            due_ns,
            tries: 0,
            is_awaited: false,
        }
    }

    /// Time of the timer; [`NEVER`] if there is none.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Stops the timer.
    pub fn stop(&mut self) {
        self.due_ns = NEVER;
        self.is_awaited = false;
    }

    /// Restarts the count of requests.
    pub fn restart(&mut self) {
        *self = Asking::answer(NEVER);
    }

    /// The next action; sets the timer of the one after it.
    pub fn next(&mut self, now_ns: u64, status_ns: u64, tries_max: u32) -> Question {
        // mutant: fx: the status of an unknown order is requested without end
        if self.tries >= tries_max {
            self.due_ns = NEVER;
            return Question::CallDesk;
        }
        self.tries += 1;
        self.due_ns = now_ns.saturating_add(status_ns);
        Question::Ask
    }

    /// Marks the order as covered by a mass status request.
    pub fn await_mention(&mut self) {
        self.is_awaited = true;
    }

    /// Records a report of the order.
    pub fn mention(&mut self) {
        self.is_awaited = false;
    }

    /// Whether the order is still missing from the answer to a mass status request.
    pub fn is_awaited(&self) -> bool {
        self.is_awaited
    }
}
