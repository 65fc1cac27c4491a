//! Status requests for an order without a known outcome: number sent, and time of the next.

use crate::quotes::NEVER;

/// Timer of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    due_ns: u64,
    tries: u32,
    /// Whether the desk was called.
    is_called: bool,
    mass: Mention,
}

/// The order in the answer to a mass status request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mention {
    /// No request for the order is open.
    NotAsked,
    /// A request is open, and no report of the order has arrived.
    Awaited,
    /// A report of it has arrived.
    Mentioned,
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
            is_called: false,
            mass: Mention::NotAsked,
        }
    }

    /// Time of the timer; [`NEVER`] if no timer is set.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Stops the timer.
    pub fn stop(&mut self) {
        self.due_ns = NEVER;
        self.mass = Mention::NotAsked;
    }

    /// The session was lost: questions stop, and the desk counts as not called.
    pub fn lose(&mut self) {
        self.stop();
        self.is_called = false;
    }

    /// Whether the desk was called since the questions began.
    pub fn is_called(&self) -> bool {
        self.is_called
    }

    /// Restarts the count of requests.
    pub fn restart(&mut self) {
        *self = Asking::answer(NEVER);
    }

    /// Next action; sets the timer of the action after it.
    pub fn next(&mut self, now_ns: u64, status_ns: u64, tries_max: u32) -> Question {
        if self.tries >= tries_max {
            self.due_ns = NEVER;
            self.is_called = true;
            return Question::CallDesk;
        }
        self.tries += 1;
        self.due_ns = now_ns.saturating_add(status_ns);
        Question::Ask
    }

    /// The next question is due at a time.
    pub fn ask_later(&mut self, due_ns: u64) {
        self.due_ns = due_ns;
    }

    /// All questions were asked, and what follows from that is due later: the desk is not called yet.
    pub fn call_later(&mut self, due_ns: u64) {
        self.due_ns = due_ns;
        self.is_called = false;
    }

    /// Marks the order as covered by a mass status request.
    pub fn await_mention(&mut self) {
        self.mass = Mention::Awaited;
    }

    /// Records a report of the order.
    pub fn mention(&mut self) {
        if self.mass == Mention::Awaited {
            self.mass = Mention::Mentioned;
        }
    }

    /// Ends the mass status request, whose answer is complete: returns whether the answer mentioned the order.
    pub fn end_mass(&mut self) -> Mention {
        std::mem::replace(&mut self.mass, Mention::NotAsked)
    }
}
