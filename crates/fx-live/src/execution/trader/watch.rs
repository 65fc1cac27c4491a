//! Watch of the core: the length of a round, and the journal.

use super::Incident;
use super::carry::Core;
use super::incident::text_of;
use super::recorder::Failure;
use crate::execution::edge::{Link, Output};
use touchline_types::ReceiveTime;

impl<O: Output, L: Link> Core<O, L> {
    /// Whether the round has lasted too long; then later quotes may be waiting, and the router is held. It may take `more_ns`
    /// longer.
    pub fn watch_round(&mut self, time: ReceiveTime, more_ns: u64) -> bool {
        let since_ns = self.recorder.out().since_ns(time.mono_ns);
        let is_late = since_ns > self.pause_max_ns.saturating_add(more_ns);
        if is_late {
            self.pause(since_ns);
        }
        is_late
    }

    /// The engine was stopped for this time: it makes no orders until it has read everything.
    pub fn pause(&mut self, ns: u64) {
        if !self.engine.trading().is_held() {
            self.engine.hold(true);
            self.totals.rounds_late += 1;
            let ms = ns / 1_000_000;
            self.incident(Incident::Paused { ms });
        }
    }

    /// Everything was read: the router makes orders again, unless the engine stops.
    pub fn release(&mut self) {
        // mutant: execution: an engine that stops makes further orders
        if self.engine.trading().is_held() && !self.is_stopping {
            self.engine.hold(false);
        }
    }

    /// Sets the kill switch; no order that makes a position is sent any more.
    pub fn journal_failed(&mut self, why: &str, time: ReceiveTime) {
        let Some(why) = self.recorder.fail(why) else {
            return;
        };
        self.incident(Incident::JournalFailed { why });
        // mutant: simulation: commands are executed and orders sent without a record
        // mutant: execution: a journal that failed is no kill
        self.kill("auto:journal", time);
    }

    /// Checks the state of the journal thread, also when there is nothing to write, and a record that was refused
    /// without an order to stop.
    pub fn watch_journal(&mut self, time: ReceiveTime) {
        let watched = self.recorder.watch();
        match watched.failure {
            Some(Failure::Refused(refused)) => self.journal_failed(&refused.to_string(), time),
            Some(Failure::System(errno)) => self.journal_failed(&text_of(errno), time),
            None => {}
        }
        if let Some(errno) = watched.alarm {
            self.incident(Incident::JournalAlarm { errno });
        }
    }
}
