//! When everything has come that a bank sent, or may still send, about orders of a lost connection.
//!
//! A last look that began before the loss ends `answer_ms` behind the Logon at the latest; its report may be on its way for longer. So a
//! TestRequest is sent then. Messages come in order: with its answer every earlier report has come.

use super::Said;
use crate::execution::numbers::Numbers;
use touchline_session::fix::Session;
use touchline_types::ReceiveTime;

/// TestRequests before the answer counts as none.
const TESTS_MAX: u32 = 3;

/// State of a Logon behind which messages may come about orders of a connection before.
pub(super) struct Settling {
    is_open: bool,
    /// Messages of the time before the Logon are lost, which is not said yet.
    is_doubted: bool,
    /// Longest last look.
    pub answer_ns: u64,
    /// Time for an answer to a TestRequest.
    wait_ns: u64,
    /// Time of the next TestRequest.
    due_ns: u64,
    tests: u32,
}

impl Settling {
    /// With this time for an answer to a TestRequest.
    pub fn new(wait_ns: u64) -> Settling {
        Settling {
            is_open: false,
            is_doubted: false,
            answer_ns: 0,
            wait_ns,
            due_ns: 0,
            tests: 0,
        }
    }

    /// Sets the longest last look.
    pub fn set_answer_ms(&mut self, answer_ms: u64) {
        self.answer_ns = answer_ms.saturating_mul(1_000_000);
    }

    /// The session is logged on. In doubt: its numbers began again, and reports of the time without a connection will not come.
    pub fn begin(&mut self, is_doubted: bool, now_ns: u64) {
        self.is_open = true;
        self.is_doubted = is_doubted;
        self.due_ns = now_ns.saturating_add(self.answer_ns);
        self.tests = 0;
    }

    /// Messages of the time before the Logon are lost.
    pub fn doubt(&mut self) {
        self.is_doubted = self.is_open;
    }

    /// Whether messages are lost, once, before the next message: it may end the session, and the next Logon would not show the loss.
    pub fn take_doubt(&mut self) -> bool {
        self.is_open &= !self.is_doubted;
        std::mem::take(&mut self.is_doubted)
    }

    /// The connection has ended.
    pub fn end(&mut self) {
        self.is_open = false;
    }

    /// Whether [`Settling::step`] has something to do without a message of the bank.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.is_open && self.due_ns <= now_ns
    }

    /// Says whether all messages about earlier orders have come, once that is known. The session is up, and has caught up.
    pub fn step(&mut self, session: &mut Session<Numbers>, time: ReceiveTime) -> Option<Said> {
        if !self.is_open {
            return None;
        }
        // mutant: execution: an order is gone before the report of its last look was read
        let is_answered = self.tests > 0 && !session.is_testing();
        let said = match (is_answered, self.is_due(time.mono_ns)) {
            (true, _) => Said::Settled,
            (_, false) => return None,
            // A bank that answers no TestRequest shows nothing.
            (_, true) if self.tests == TESTS_MAX => Said::Doubted,
            (_, true) => {
                session.test(time);
                self.tests += 1;
                self.due_ns = time.mono_ns.saturating_add(self.wait_ns);
                return None;
            }
        };
        self.is_open = false;
        Some(said)
    }
}
