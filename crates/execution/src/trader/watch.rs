//! What the core watches: the journal, to which it appends here, and the length of a round.

use super::Incident;
use super::carry::{Cause, Core};
use super::incident::text_of;
use crate::edge::{Link, Output};
use crate::records::{self, Record};
use crate::variant::Variant;
use touchline_fx::Batch;
use touchline_fx::event::Event;
use touchline_journal::{Appended, Record as Entry, Refused, State};
use touchline_types::ReceiveTime;

impl<O: Output, L: Link> Core<O, L> {
    /// Appends a record.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn append(&mut self, at_ns: u64, record: &Record<'_>) -> Result<Appended, Refused> {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let kind = record.encode(&mut body);
        let appended = self.append_raw(kind, at_ns, &body);
        self.body = body;
        appended
    }

    /// Appends a record of the journal's own.
    pub fn append_raw(&mut self, kind: u16, at_ns: u64, body: &[u8]) -> Result<Appended, Refused> {
        let appended = self.out.append(&Entry {
            stream: records::STREAM,
            kind,
            time_ns: at_ns,
            body,
        });
        if let Err(refused) = appended {
            self.end_journal(refused);
        }
        appended
    }

    /// No record is behind one that was refused, even where a shorter one has room: a start takes the records for all that was done.
    #[cold]
    fn end_journal(&mut self, refused: Refused) {
        // mutant: execution: records follow one that the journal refused
        self.out.give_up();
        self.refused.get_or_insert(refused);
    }

    /// Whether a batch is published and not journaled: prices changed what a parent waits for, or which banks are off the market, and do so
    /// too often. A start needs none of it, and quotes that flap would fill the journal.
    pub fn is_told_only(&mut self, batch: &Batch, cause: Cause<'_>, time: ReceiveTime) -> bool {
        let is_composite = |event: &(u64, Event)| matches!(event.1, Event::Composite { .. });
        let is_of_prices = |event: &(u64, Event)| event.1.is_of_prices();
        matches!(cause, Cause::None)
            && batch.events.iter().all(is_of_prices)
            && !batch.events.iter().all(is_composite)
            && !self.prices.take(0, time.mono_ns)
    }

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
        if !self.engine.trading().is_held() {
            self.engine.hold(true);
            self.totals.rounds_late += 1;
            let ms = ns / 1_000_000;
            self.incident(Incident::Paused { ms });
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
        if Variant::ExecutedUnrecorded.is_on() {
            self.is_journal_dead = false;
            return;
        }
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
