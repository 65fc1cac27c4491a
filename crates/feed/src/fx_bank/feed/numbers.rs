//! Sequence numbers of a pricing session: with which Logon they begin again. They are lost with the process.

use super::super::settings::Reset;
use super::{FxBankFeed, Pending};
use touchline_fx_days::Phase;

/// What numbers belong to: a session by the date of its start, or the run of the process. None: to one connection.
type Of = Option<u32>;

/// Numbers of a session.
#[derive(Debug)]
pub(super) struct Numbers {
    reset: Reset,
    /// Of the last Logon that the bank accepted, and of the present connection.
    begun: Of,
    connected: Of,
    /// Logged on.
    pub is_on: bool,
}

impl Numbers {
    pub fn new(reset: Reset) -> Numbers {
        Numbers {
            reset,
            begun: None,
            connected: None,
            is_on: false,
        }
    }

    /// A connection is made. True: the numbers begin again with its Logon.
    pub fn connect(&mut self, wall_ns: u64) -> bool {
        self.connected = match &mut self.reset {
            Reset::Logon => None,
            Reset::Run => Some(0),
            Reset::Session(hours) => match hours.at(wall_ns) {
                Phase::Open { day, .. } => Some(day),
                Phase::Closed { .. } => None,
            },
        };
        // mutant: gateway: the numbers of a pricing session begin again at every connection
        self.connected.is_none() || self.connected != self.begun
    }

    /// The bank accepted its Logon.
    pub fn log_on(&mut self) {
        self.begun = self.connected;
        self.is_on = true;
    }

    /// The connection has ended.
    pub fn disconnect(&mut self) {
        self.is_on = false;
    }
}

impl FxBankFeed {
    /// Goes up, once the session is logged on and messages of before that it has requested have come. True: now.
    pub(super) fn comes_up(&mut self) -> bool {
        let is_whole = self.numbers.is_on && !self.session.is_catching_up();
        if self.is_up || !is_whole || self.reason.is_some() {
            return false;
        }
        self.is_up = true;
        self.settings.stream.up(self.time.wall_ns);
        self.next_request = 0;
        self.pending = Pending::Up;
        self.snapshot_due_ns = (self.time.mono_ns).saturating_add(self.settings.snapshot_ns);
        true
    }
}
