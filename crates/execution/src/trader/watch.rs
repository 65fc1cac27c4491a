//! What the core watches: the length of a round, and the journal.

use super::Incident;
use super::carry::Core;
use super::incident::text_of;
use crate::edge::{Link, Output};
use touchline_journal::{Appended, Refused, State};
use touchline_types::ReceiveTime;

impl<O: Output, L: Link> Core<O, L> {
    /// Whether the round has lasted too long; then later quotes may be waiting, and the router is held. It may take `more_ns`
    /// longer.
    pub fn watch_round(&mut self, time: ReceiveTime, more_ns: u64) -> bool {
        let since_ns = self.out.since_ns(time.mono_ns);
        let is_late = since_ns > self.pause_max_ns.saturating_add(more_ns);
        if is_late {
            self.pause(since_ns);
        }
        is_late
    }

    /// The engine was stopped for this time: it makes no orders until it has read everything.
    pub fn pause(&mut self, ns: u64) {
        if !self.engine.is_held() {
            self.engine.hold(true);
            self.totals.rounds_late += 1;
            let ms = ns / 1_000_000;
            self.incident(Incident::Paused { ms });
        }
    }

    /// A journal that cannot be written is a kill.
    pub fn check(&mut self, appended: Result<Appended, Refused>, time: ReceiveTime) {
        if let Err(refused) = appended {
            self.journal_failed(&refused.to_string(), time);
        }
    }

    /// Nothing that makes a position is sent any more, and the kill switch is set.
    pub fn journal_failed(&mut self, why: &str, time: ReceiveTime) {
        if std::mem::replace(&mut self.is_journal_dead, true) {
            return;
        }
        // Cancels and session messages still leave: the next start skips their numbers.
        self.out.give_up();
        // The first refusal says more than those that follow from it.
        let why = match self.refused {
            Some(refused) => refused.to_string(),
            None => why.to_owned(),
        };
        self.incident(Incident::JournalFailed { why });
        // mutant: execution: a journal that failed is no kill
        self.kill("auto:journal", time);
    }

    /// The state of the journal thread, also when there is nothing to write, and a record that was refused without an order to stop.
    pub fn watch_journal(&mut self, time: ReceiveTime) {
        if let Some(refused) = self.refused {
            self.journal_failed(&refused.to_string(), time);
        }
        if let (State::Failed, errno) = self.out.state() {
            self.journal_failed(&text_of(errno), time);
        }
        let alarm = self.out.alarm();
        if alarm != self.alarm {
            self.alarm = alarm;
            if alarm != 0 {
                self.incident(Incident::JournalAlarm { errno: alarm });
            }
        }
    }
}
