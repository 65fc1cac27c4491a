//! Flow to one receiver of a connection: the stream, rounds of refreshes, no data while its queue is old, answers to
//! its probes.

use super::Kind;
use super::window::{Change, Window};
use crate::head::Head;

/// Shortest time between two requests of a receiver that are accepted; receivers of this version wait longer.
const REQUEST_NS_MIN: u64 = 100_000_000;

/// State of one receiver.
#[derive(Debug)]
pub struct Flow {
    refresh: RefreshState,
    window: Window,
    /// Time of the last accepted request.
    asked_ns: Option<u64>,
    dropped: u64,
}

/// Refreshes that a receiver gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RefreshState {
    /// The next complete round.
    Wanted,
    /// The current round.
    InRound,
    /// No round of refreshes is needed.
    Done,
}

impl Flow {
    /// Flow to a receiver that has no data yet, and whose books may have this age.
    pub fn new(lag_ns_max: u64) -> Flow {
        Flow {
            refresh: RefreshState::Wanted,
            window: Window::new(lag_ns_max),
            asked_ns: None,
            dropped: 0,
        }
    }

    /// Whether the receiver gets a batch; tracks the start and the end of its refresh round.
    #[inline]
    pub fn wants(&mut self, kind: Kind, now_ns: u64) -> bool {
        if self.window.is_held() {
            return false;
        }
        let Kind::Refresh { begins, ends } = kind else {
            return true;
        };
        if begins && self.refresh == RefreshState::Wanted {
            self.refresh = RefreshState::InRound;
            self.window.refreshed(now_ns);
        }
        let wants = self.refresh == RefreshState::InRound;
        if ends && wants {
            self.refresh = RefreshState::Done;
            self.window.refreshed(now_ns);
        }
        wants
    }

    /// Whether the receiver waits for a refresh.
    pub fn is_waiting(&self) -> bool {
        self.refresh != RefreshState::Done && !self.window.is_held()
    }

    /// Whether a refresh can be sent without a long queue.
    pub fn has_room(&self, now_ns: u64) -> bool {
        self.window.has_room(now_ns)
    }

    /// A request arrived; returns whether it is accepted.
    pub fn request(&mut self, now_ns: u64) -> bool {
        let since_ns = self.asked_ns.map(|at_ns| now_ns.saturating_sub(at_ns));
        if since_ns.is_some_and(|since_ns| since_ns < REQUEST_NS_MIN) {
            self.dropped += 1;
            return false;
        }
        self.asked_ns = Some(now_ns);
        self.refresh = RefreshState::Wanted;
        true
    }

    /// Requests that were not accepted.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// A probe arrived.
    pub fn probe(&mut self, head: &Head, now_ns: u64) {
        self.window.probed(head, now_ns);
    }

    /// Time of the probe to answer now, if there is one.
    pub fn answer(&mut self, now_ns: u64) -> Option<u64> {
        self.window.answer(now_ns)
    }

    /// Age of the oldest data that the receiver still has to process.
    pub fn queued_ns(&self, now_ns: u64) -> u64 {
        self.window.queued_ns(now_ns)
    }

    /// Updates the state by time. A receiver that has caught up gets the present state: the next round of refreshes.
    pub fn change(&mut self, now_ns: u64) -> Option<Change> {
        let change = self.window.change(now_ns);
        if change == Some(Change::Resumed) {
            self.refresh = RefreshState::Wanted;
        }
        change
    }
}
