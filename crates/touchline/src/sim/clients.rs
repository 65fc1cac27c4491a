//! Log of a simulator's counterparties, from its counters.

use crate::log::Log;
use crate::log::events::{self as event, Event};

/// Counts at the last log line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clients {
    /// Connections.
    pub connections: u64,
    /// Logons.
    pub logons: u64,
    /// Rejected connections and Logons.
    pub refused: u64,
}

impl Clients {
    /// Logs the increases in `now`.
    pub fn log(&mut self, now: Clients, log: &mut Log) {
        let mut more = |event: &'static Event, before: u64, now: u64| {
            if now > before {
                log.write(event, [("count", (now - before).into())]);
            }
        };
        more(&event::CLIENT_CONNECTED, self.connections, now.connections);
        more(&event::CLIENT_LOGON, self.logons, now.logons);
        more(&event::CLIENT_REFUSED, self.refused, now.refused);
        *self = now;
        log.flush();
    }
}
