//! The record of the core's decisions: written, appended to the journal, then published on the drop copy.
//!
//! Invariants: an entry of the journal has its own number; an entry that the journal refused is published without a
//! number, and is the last entry.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use super::budget::Budget;
use super::cause::{Cause, Commanded, sent};
use crate::execution::config::{RunConfig, SyncMode};
use crate::execution::edge::Output;
use touchline_fx::setup::Setup;
use touchline_fx_desk::records::{self, Record};
use touchline_fx_events::encoding::Encoder;
use touchline_fx_events::event::{Alarm, Answer, Event, OrderLine, RunAlarm};
use touchline_fx_events::setup::Bank;
use touchline_fx_events::{Batch, Labels};
use touchline_journal::format::kind::STREAM;
use touchline_journal::{Appended, Record as Entry, Refused, State};

/// Bytes of the record of one input for which memory is reserved at the start: a kill cancels a thousand orders.
const RECORD_ROOM: usize = 256 << 10;
/// Bytes of another record.
const BODY_ROOM: usize = 4 << 10;

/// Journal and drop copy of the core.
pub(super) struct Recorder<O> {
    out: O,
    /// Number of the next entry.
    next: u64,
    /// The record of the present batch.
    batch: Encoder,
    /// Body of another record.
    body: Vec<u8>,
    /// Changes by prices alone that it has.
    prices: Budget,
    /// Messages of the present batch, by bank.
    ahead: Vec<u64>,
    /// Number of the last message of the present batch, by bank; 0 if it has none.
    recorded: Vec<u64>,
    is_disk: bool,
    sync_wait_ns: u64,
    /// Why the journal refused a record, the first one.
    refused: Option<Refused>,
    /// Whether the journal cannot be written: no new orders are sent.
    is_dead: bool,
    /// The last alarm of the journal.
    alarm: u64,
}

/// Result of a check of the journal.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// The journal cannot be written, for this reason.
    pub failure: Option<Failure>,
    /// Number of the journal's alarm, if it changed.
    pub alarm: Option<u64>,
}

/// Why a journal cannot be written.
#[derive(Debug)]
pub(super) enum Failure {
    /// The journal refused a record.
    Refused(Refused),
    /// The journal's thread failed with this error of the system.
    System(u64),
}

impl<O: Output> Recorder<O> {
    /// Continues behind entry `next` - 1.
    pub fn new(out: O, run: &RunConfig, next: u64, banks: usize) -> Recorder<O> {
        Recorder {
            out,
            next,
            batch: Encoder::default(),
            body: Vec::with_capacity(BODY_ROOM),
            prices: Budget::of_prices(),
            ahead: vec![0; banks],
            recorded: vec![0; banks],
            is_disk: run.sync == SyncMode::Disk,
            sync_wait_ns: run.sync_wait_ms * 1_000_000,
            refused: None,
            is_dead: false,
            alarm: 0,
        }
    }

    /// Takes the memory of the path.
    pub fn reserve(&mut self) {
        self.batch.reserve(RECORD_ROOM);
    }

    /// Journal and drop copy.
    pub fn out(&self) -> &O {
        &self.out
    }

    /// Journal and drop copy.
    pub fn out_mut(&mut self) -> &mut O {
        &mut self.out
    }

    /// Journal and drop copy, at the end of the run.
    pub fn into_out(self) -> O {
        self.out
    }

    /// Whether the journal cannot be written: no order may leave; cancels and messages of sessions always may.
    pub fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// Why the journal refused a record, the first one.
    pub fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// Longest wait of an order for the disk.
    pub fn disk_ns(&self) -> u64 {
        if self.is_disk { self.sync_wait_ns } else { 0 }
    }

    /// Appends the description of the stream, and the names and the banks' rules of the run, which is published.
    ///
    /// # Errors
    /// The journal does not have it.
    pub fn begin_run(
        &mut self,
        (epoch, date): (u64, &str),
        setup: &Setup,
        at_ns: u64,
    ) -> Result<(), Refused> {
        let stream = touchline_journal::records::Stream {
            content: records::CONTENT,
            schema: 0,
            version: records::VERSION,
            name: "fx".to_owned(),
        };
        self.append_raw(STREAM, at_ns, &stream.encode())?;
        self.batch.begin(at_ns);
        self.batch.run(epoch, date, &setup.labels, &setup.drops());
        assert_eq!(self.batch.finish(self.next), 1, "a run begins in one part");
        self.append_batch(at_ns)?;
        self.out.begin_run(self.batch.part(0));
        self.publish_batch();
        Ok(())
    }

    /// Appends a record other than a batch.
    ///
    /// # Errors
    /// The journal does not have it.
    pub fn append(&mut self, at_ns: u64, record: &Record<'_>) -> Result<Appended, Refused> {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let kind = record.encode(&mut body);
        let appended = self.append_raw(kind, at_ns, &body);
        self.body = body;
        appended
    }

    fn append_raw(&mut self, kind: u16, at_ns: u64, body: &[u8]) -> Result<Appended, Refused> {
        let appended = append_to(&mut self.out, kind, at_ns, body);
        if let Err(refused) = appended {
            self.end(refused);
        }
        appended
    }

    /// Ends the journal after a record that it refused: a later record would make a start believe that the refused one
    /// was written.
    #[cold]
    fn end(&mut self, refused: Refused) {
        // mutant: execution: records follow one that the journal refused
        self.out.give_up();
        self.refused.get_or_insert(refused);
    }

    /// Whether a batch is published and not journaled: prices changed the quantity that a parent waits for, or the
    /// banks off the market, too often. A start needs none of this, and flapping quotes would fill the journal.
    pub fn passes_over(&mut self, batch: &Batch, cause: Cause<'_>, mono_ns: u64) -> bool {
        let is_composite = |event: &(u64, Event)| matches!(event.1, Event::Composite { .. });
        let is_of_prices = |event: &(u64, Event)| event.1.is_of_prices();
        matches!(cause, Cause::None)
            && batch.events.iter().all(is_of_prices)
            && !batch.events.iter().all(is_composite)
            && !self.prices.take(0, mono_ns)
    }

    /// Writes the record of a batch: its cause, and its events but for composites. `next_out` is the number of a bank's next message.
    pub fn write(
        &mut self,
        labels: &Labels,
        batch: &Batch,
        cause: Cause<'_>,
        at_ns: u64,
        next_out: impl Fn(Bank) -> u64,
    ) {
        self.batch.begin(at_ns);
        self.write_cause(cause);
        self.ahead.fill(0);
        self.recorded.fill(0);
        for event in &batch.events {
            // mutant: simulation: a parent is not in the journal before its first order
            // mutant: simulation: the kill switch is not in the journal
            let sequence = match &event.1 {
                Event::Composite { .. } => continue,
                Event::Order(line) => self.sequence(line, &next_out),
                _ => 0,
            };
            self.batch.event(labels, batch, event, sequence);
        }
        if let Cause::Command(Commanded { answer, .. }) | Cause::Answer(answer) = cause {
            self.batch.answer(&answer);
        }
    }

    fn write_cause(&mut self, cause: Cause<'_>) {
        match cause {
            Cause::None | Cause::Answer(_) => {}
            // mutant: execution: a report is not in the journal
            // mutant: simulation: a report is not in the journal
            Cause::Received(bank, bytes) => self.batch.received(bank, bytes),
            Cause::Session(bank, change) => self.batch.session(bank, change),
            Cause::Command(command) => {
                let client = command.answer.client;
                self.batch
                    .command(command.request, client, command.person, command.received);
                // mutant: simulation: a booking of the desk is not in the journal
                if let Some(decision) = command.decision {
                    self.batch.decision(decision);
                }
            }
        }
    }

    /// Number of the message of a line; 0 if none is sent.
    fn sequence(&mut self, line: &OrderLine, next_out: &impl Fn(Bank) -> u64) -> u64 {
        if sent(line).is_none() {
            return 0;
        }
        let ahead = &mut self.ahead[line.bank];
        let sequence = next_out(line.bank) + *ahead;
        // mutant: simulation: the number of an order leaves out the questions before it
        *ahead += 1;
        self.recorded[line.bank] = sequence;
        sequence
    }

    /// Checks the number of a message of the written record that was sent: behind it a start continues the numbers.
    ///
    /// # Panics
    /// The record has a lower number: a start would use this one again, and the bank take the message for a repetition.
    pub fn check_number(&self, bank: Bank, number: u64) {
        assert!(
            number <= self.recorded[bank],
            "message {number} to bank {bank} was sent, and its record ends at number {}",
            self.recorded[bank]
        );
    }

    /// Appends the written record, if there is anything in it; returns its end.
    ///
    /// # Errors
    /// The journal does not have it.
    pub fn append_batch(&mut self, at_ns: u64) -> Result<Option<Appended>, Refused> {
        if self.batch.is_empty() {
            return Ok(None);
        }
        // mutant: simulation: entries are published before they are in the journal
        let mut last = None;
        for place in 0..self.batch.finish(self.next) {
            let part = self.batch.part(place);
            match append_to(&mut self.out, records::kind::BATCH, at_ns, part) {
                Ok(appended) => last = Some(appended),
                Err(refused) => {
                    self.end(refused);
                    return Err(refused);
                }
            }
        }
        Ok(last)
    }

    /// Waits until a record is on the disk, if orders must wait for that; false if it takes too long.
    pub fn is_on_disk(&mut self, last: &Appended) -> bool {
        // mutant: execution: an order does not wait for the disk
        !self.is_disk || self.out.wait_until_safe(last, self.sync_wait_ns)
    }

    /// Publishes the record that was appended, by its numbers.
    pub fn publish_batch(&mut self) {
        let entries = self.batch.entries();
        // mutant: simulation: entries are published before they are in the journal
        if entries > 0 {
            self.publish(self.next);
        }
        self.next += entries;
    }

    /// Publishes the written record, which the journal does not have: its entries have no numbers, which the next run uses.
    pub fn publish_unrecorded(&mut self) {
        // mutant: execution: what the journal refused is published as journaled
        self.publish(0);
    }

    /// Publishes an answer that is in no journal.
    pub fn publish_answer(&mut self, at_ns: u64, answer: &Answer<'_>) {
        self.batch.begin(at_ns);
        self.batch.answer(answer);
        self.publish(0);
    }

    /// Publishes alarms of the run, which are in no journal.
    pub fn publish_alarms(
        &mut self,
        labels: &Labels,
        at_ns: u64,
        alarms: impl Iterator<Item = (RunAlarm, Option<Bank>)>,
    ) {
        self.batch.begin(at_ns);
        for (what, bank) in alarms {
            let alarm = Event::Alarm {
                what: Alarm::Run(what),
                bank,
                order: None,
            };
            self.batch
                .event(labels, &Batch::default(), &(at_ns, alarm), 0);
        }
        self.publish(0);
    }

    /// Publishes the composites of a batch, which are in no journal. Returns how many there are.
    pub fn publish_composites(&mut self, labels: &Labels, batch: &Batch, at_ns: u64) -> u64 {
        let is_composite = |event: &&(u64, Event)| matches!(event.1, Event::Composite { .. });
        let composites = batch.events.iter().filter(is_composite);
        let mut count = 0;
        for event in composites {
            if count == 0 {
                self.batch.begin(at_ns);
            }
            count += 1;
            self.batch.event(labels, batch, event, 0);
        }
        if count > 0 {
            self.publish(0);
        }
        count
    }

    fn publish(&mut self, first: u64) {
        for place in 0..self.batch.finish(first) {
            self.out.publish(self.batch.part(place));
        }
    }

    /// Stops writing; returns the alarm on the first call. The first refusal explains more than the refusals that
    /// follow from it.
    pub fn fail(&mut self, why: &str) -> Option<String> {
        if std::mem::replace(&mut self.is_dead, true) {
            return None;
        }
        // Cancels and session messages still leave: the next start skips their numbers.
        // mutant: simulation: commands are executed and orders sent without a record
        self.out.give_up();
        Some(match self.refused {
            Some(refused) => refused.to_string(),
            None => why.to_owned(),
        })
    }

    /// The failure of the last run is in the journal.
    pub fn failure_recorded(&mut self) {
        self.out.failure_recorded();
    }

    /// Looks at the journal.
    pub fn watch(&mut self) -> Watched {
        let failed = match self.out.state() {
            (State::Failed, errno) => Some(Failure::System(errno)),
            _ => None,
        };
        let alarm = self.out.alarm();
        let is_new = std::mem::replace(&mut self.alarm, alarm) != alarm;
        Watched {
            failure: self.refused.map(Failure::Refused).or(failed),
            alarm: Some(alarm).filter(|alarm| is_new && *alarm != 0),
        }
    }
}

fn append_to(
    out: &mut impl Output,
    kind: u16,
    time_ns: u64,
    body: &[u8],
) -> Result<Appended, Refused> {
    out.append(&Entry {
        stream: records::STREAM,
        kind,
        time_ns,
        body,
    })
}
