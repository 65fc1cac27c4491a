//! State of a connection.

use super::DisconnectReason;

/// State of a connection, and its end time.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    state: State,
    /// End of the present state.
    until_ns: u64,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Down,
    /// Acceptor: waiting for the Logon.
    Awaiting,
    /// Waiting for the application to accept the counterparty.
    Asking,
    /// Initiator: waiting for the answer to its Logon.
    LoggingOn,
    /// Logged on.
    Up,
    /// Waiting for the answer to our Logout.
    LoggingOut,
    /// The connection must be closed, for this reason.
    Over(DisconnectReason),
}

impl Phase {
    /// No connection.
    pub fn new() -> Phase {
        Phase {
            state: State::Down,
            until_ns: 0,
        }
    }

    /// State.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Reason to close it.
    pub fn reason(&self) -> Option<DisconnectReason> {
        match self.state {
            State::Over(reason) => Some(reason),
            _ => None,
        }
    }

    /// Whether the connection must be closed.
    #[inline]
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    /// Whether messages are exchanged.
    pub fn is_logged_on(&self) -> bool {
        matches!(self.state, State::Up | State::LoggingOut)
    }

    /// Enters a state that ends at a time, unless it is unlimited.
    pub fn enter(&mut self, state: State, until_ns: u64) {
        (self.state, self.until_ns) = (state, until_ns);
    }

    /// Closes the connection. `false`: it was closed already, and the earlier reason stays.
    pub fn close(&mut self, why: DisconnectReason) -> bool {
        let is_new = !self.is_over();
        if is_new {
            self.state = State::Over(why);
        }
        is_new
    }

    /// Reason of the timeout, if the time of the state is over.
    pub fn overdue(&self, now_ns: u64) -> Option<DisconnectReason> {
        let is_late = now_ns >= self.until_ns;
        match self.state {
            State::Awaiting | State::Asking | State::LoggingOn if is_late => {
                Some(DisconnectReason::NoLogon)
            }
            State::LoggingOut if is_late => Some(DisconnectReason::NoLogout),
            _ => None,
        }
    }

    /// End of the present state, by the monotonic clock.
    pub fn next_timeout(&self) -> Option<u64> {
        match self.state {
            State::Awaiting | State::Asking | State::LoggingOn | State::LoggingOut => {
                Some(self.until_ns)
            }
            State::Down | State::Up | State::Over(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_for_an_end_is_kept() {
        let mut phase = Phase::new();
        phase.enter(State::Up, u64::MAX);
        assert!(phase.close(DisconnectReason::LoggedOut));
        assert!(!phase.close(DisconnectReason::NoLogon));
        assert_eq!(phase.reason(), Some(DisconnectReason::LoggedOut));
        phase.enter(State::Down, u64::MAX);
        assert_eq!(phase.reason(), None);
    }

    #[test]
    fn waits_for_a_logon_and_a_logout_are_limited() {
        let mut phase = Phase::new();
        for (state, why) in [
            (State::Awaiting, Some(DisconnectReason::NoLogon)),
            (State::Asking, Some(DisconnectReason::NoLogon)),
            (State::LoggingOn, Some(DisconnectReason::NoLogon)),
            (State::LoggingOut, Some(DisconnectReason::NoLogout)),
            (State::Up, None),
            (State::Down, None),
        ] {
            phase.enter(state, 10);
            assert_eq!(phase.overdue(9), None);
            assert_eq!(phase.overdue(10), why, "{state:?}");
            assert_eq!(phase.next_timeout(), why.map(|_| 10), "{state:?}");
        }
    }
}
