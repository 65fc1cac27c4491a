//! Carries out the core's decisions: the journal first, then the sessions, then the drop copy.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use super::banks::Banks;
use super::cause::{Cause, Commanded, sent};
use super::landing::Landing;
use super::recorder::Recorder;
use super::{Incident, Path, Totals};
use crate::days::is_of_old_day;
use crate::execution::config::ClientConfig;
use crate::execution::edge::{Link, Output};
use std::collections::VecDeque;
use touchline_fx::Engine;
use touchline_fx::input::{Input, Session};
use touchline_fx_days::DayWatch;
use touchline_fx_desk::records::Record;
use touchline_fx_events::desk::{Day, Desk};
use touchline_fx_events::event::{Alarm, Answer, Event, Message, OrderLine, RunAlarm};
use touchline_fx_events::lines::{fields, msg_type};
use touchline_fx_events::orders::{FillKind, Terms};
use touchline_fx_events::setup::Bank;
use touchline_fx_events::stages::Stage;
use touchline_fx_events::{Batch, Labels};
use touchline_journal::{Appended, Refused};
use touchline_types::{Id, ReceiveTime};
use touchline_wire::fix::{Encoder, Precision};

/// TransactTime.
const TRANSACT_TIME: u32 = 60;
/// Incidents that wait for the log at most.
const INCIDENTS_MAX: usize = 1_024;
/// Most paths that a round keeps.
pub(super) const PATHS_MAX: usize = 4_096;

/// State of the host at the start of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Boot {
    /// Id of the boot.
    pub id: [u8; 16],
    /// Boot of the last run, if the journal has it.
    pub before: Option<[u8; 16]>,
    /// The journal may lack orders.
    pub lacks: bool,
    /// The shared memory of the last run is not there.
    pub is_tail_lost: bool,
}

/// The core, with its outputs and inputs.
pub(super) struct Core<O, L> {
    pub engine: Engine,
    pub batch: Batch,
    pub recorder: Recorder<O>,
    pub banks: Banks<L>,
    /// A round that lasts longer was stopped.
    pub pause_max_ns: u64,
    /// The run ends: it makes no further order.
    pub is_stopping: bool,
    /// The kill of the last run could not be recorded in its journal.
    pub is_kill_unrecorded: bool,
    pub incidents: VecDeque<Incident>,
    /// Alarms of the run that the drop copy does not have yet.
    pub unpublished: Vec<(RunAlarm, Option<Bank>)>,
    pub totals: Totals,
    /// Alarms by name, in the order of [`Alarm::all`].
    pub alarms: Vec<u64>,
    /// Clients that may send commands.
    pub clients: Vec<ClientConfig>,
    /// The boot of the host, until this run begins.
    pub boot: Boot,
    /// The wall clock less the engine's clock, nanoseconds.
    pub wall_ahead_ns: i64,
    /// Days of the pairs.
    pub days: DayWatch,
    /// Where the wall clock came to by the start, or by being set.
    pub landing: Landing,
    /// When the day of each bank's credit began last in an earlier run.
    pub bank_days_ns: Vec<u64>,
    /// Days that began, until the buses of the banks are read by them.
    pub begun: Vec<(Day, u64)>,
    /// Paths of this round that sent something.
    pub paths: Vec<Path>,
    /// When the last cancel was handed to the kernel, in ticks.
    pub last_canceled: u64,
    /// The bank whose send path is kept warm next.
    pub warmed_next: Bank,
}

impl<O: Output, L: Link> Core<O, L> {
    /// A quote of a bank, or its session. Quotes are not in the journal.
    pub fn quotes(&mut self, time: ReceiveTime, bank: Bank, session: Session<'_>) {
        self.watch_round(time, 0);
        let receive_ns = match &session {
            Session::Quotes(quotes) => quotes.receive_ns,
            _ => time.wall_ns,
        };
        let orders = self.totals.orders;
        self.batch.stages.begin();
        // A day may begin between two messages of a bus.
        // mutant: execution: a quote is judged by the day that ends with it
        self.wake(time);
        if is_of_old_day(self.engine.setup(), &self.begun, &session) {
            return;
        }
        self.pass(time, &Input::Pricing(bank, session), Cause::None);
        let orders = self.totals.orders - orders;
        if orders > 0 {
            self.engine.warm();
        }
        if orders > 0 && self.paths.len() < PATHS_MAX {
            let stages = &self.batch.stages;
            let (began, ended) = stages.span();
            self.paths.push(Path {
                receive_ns,
                began,
                ended,
                spent: *stages.spent(),
                orders,
            });
        }
    }

    /// Executes due timers.
    pub fn wake(&mut self, time: ReceiveTime) {
        if self.days.are_due(self.wall(time).wall_ns) {
            self.begin_days(time);
        }
        self.run_timers(time);
    }

    fn run_timers(&mut self, time: ReceiveTime) {
        if self.engine.next_timeout_ns() <= time.wall_ns {
            self.batch.clear();
            self.engine.handle_timeout(time.wall_ns, &mut self.batch);
            self.carry_out(time, Cause::None);
        }
    }

    /// Passes an input to the core, and carries out the result.
    pub fn handle(&mut self, time: ReceiveTime, input: &Input<'_>) {
        self.handle_for(time, input, Cause::None);
    }

    /// [`Core::handle`] of an input that the journal has. Timers that are due before it are carried out before it, so that the journal
    /// has everything in the order of its times.
    pub fn handle_for(&mut self, time: ReceiveTime, input: &Input<'_>, cause: Cause<'_>) {
        self.wake(time);
        self.pass(time, input, cause);
    }

    /// The day of a pair or of a bank begins, at an instant that may be before the days that the core has.
    pub(super) fn begin_day(&mut self, time: ReceiveTime, day: Desk) {
        self.run_timers(time);
        self.pass(time, &Input::Desk(day), Cause::None);
    }

    fn pass(&mut self, time: ReceiveTime, input: &Input<'_>, cause: Cause<'_>) {
        self.batch.clear();
        self.engine.handle(time.wall_ns, input, &mut self.batch);
        self.carry_out(time, cause);
    }

    /// Sets the kill switch automatically.
    pub fn kill(&mut self, by: &str, time: ReceiveTime) {
        let by = Id::new(by.as_bytes());
        self.handle(time, &Input::Desk(Desk::Kill { by }));
    }

    /// Adds an incident for the log, and for the drop copy if it is an alarm of the run: that may be in the middle of a batch.
    pub fn incident(&mut self, incident: Incident) {
        self.totals.alarms += u64::from(incident.is_alarm_of_its_own());
        let of_run = incident.of_run();
        if let Some(what) = of_run {
            self.count_alarm(Alarm::Run(what));
        }
        if let Some(what) = of_run
            && self.unpublished.len() < INCIDENTS_MAX
        {
            let name = incident.bank().unwrap_or_default();
            let banks = &self.engine.setup().labels.banks;
            let bank = banks.iter().position(|bank| bank.as_str() == name);
            self.unpublished.push((what, bank));
        }
        match self.incidents.len() < INCIDENTS_MAX {
            true => self.incidents.push_back(incident),
            false => self.totals.incidents_dropped += 1,
        }
    }

    fn count_alarm(&mut self, what: Alarm) {
        let place = Alarm::all().position(|other| other == what);
        let place = place.expect("each alarm is in the list of all, and has a count");
        self.alarms[place] += 1;
    }

    /// Publishes the alarms of the run.
    pub fn publish_alarms(&mut self, time: ReceiveTime) {
        if self.unpublished.is_empty() {
            return;
        }
        let labels = &self.engine.setup().labels;
        let alarms = self.unpublished.drain(..);
        self.recorder.publish_alarms(labels, time.wall_ns, alarms);
    }

    /// Carries out a batch: nothing leaves before its record is in the journal.
    pub fn carry_out(&mut self, time: ReceiveTime, cause: Cause<'_>) {
        if self.batch.events.is_empty() && matches!(cause, Cause::None) {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let cancels = self.totals.cancels;
        // mutant: simulation: an order is sent before it is in the journal
        let is_passed_over = self.recorder.passes_over(&batch, cause, time.mono_ns);
        let journaled = match is_passed_over {
            true => Ok(None),
            false => {
                self.write(&batch, cause, time);
                self.recorder.append_batch(time.wall_ns)
            }
        };
        let may_order = self.is_safe(&batch, &journaled);
        batch.stages.lap(Stage::Journal);
        self.send_decisions(&batch, may_order.is_ok(), journaled.is_ok(), time);
        batch.stages.lap(Stage::Sent);
        if self.totals.cancels > cancels {
            (_, self.last_canceled) = batch.stages.span();
        }
        let is_journaled = journaled.is_ok() && !is_passed_over;
        self.publish(&batch, cause, is_journaled, time);
        self.tell(&batch, time);
        batch.clear();
        self.batch = batch;
        // mutant: simulation: orders without an outcome are sent again
        if let Err(why) = may_order {
            self.journal_failed(&why, time);
        }
    }

    /// Sends the messages of a batch. Its orders leave only if they are in the journal.
    fn send_decisions(
        &mut self,
        batch: &Batch,
        may_order: bool,
        is_journaled: bool,
        time: ReceiveTime,
    ) {
        let mut is_late = None;
        for (_, event) in &batch.events {
            let Event::Order(line) = event else { continue };
            let Some(message) = sent(line) else { continue };
            // mutant: simulation: orders in doubt are not canceled
            self.banks.fill(line.bank);
            match message {
                Message::Order(terms) => {
                    // mutant: execution: an order that is not in the journal is sent
                    // mutant: simulation: commands are executed and orders sent without a record
                    let may_leave = may_order && !self.recorder.is_dead();
                    // The orders of a batch leave together.
                    let is_timely =
                        may_leave && !*is_late.get_or_insert_with(|| self.is_late(time));
                    self.send_order(terms, message, is_timely, time);
                }
                _ => self.send_other(line.bank, message, is_journaled, time),
            }
        }
        self.flush_filled(time);
    }

    /// Writes the record of a batch.
    fn write(&mut self, batch: &Batch, cause: Cause<'_>, time: ReceiveTime) {
        let labels = &self.engine.setup().labels;
        let banks = &self.banks;
        self.recorder
            .write(labels, batch, cause, time.wall_ns, |bank| {
                banks.next_out(bank)
            });
    }

    /// Whether the orders of a batch may leave: its record is in the journal, and on the disk if it must be.
    fn is_safe(
        &mut self,
        batch: &Batch,
        journaled: &Result<Option<Appended>, Refused>,
    ) -> Result<(), String> {
        let last = match journaled {
            Ok(last) => last,
            Err(refused) => return Err(refused.to_string()),
        };
        let is_order = |event: &Event| {
            matches!(
                event,
                Event::Order(OrderLine {
                    message: Some(Message::Order(_)),
                    ..
                })
            )
        };
        if let Some(last) = last
            && batch.events.iter().any(|(_, event)| is_order(event))
            && !self.recorder.is_on_disk(last)
        {
            return Err("the disk is too slow".to_owned());
        }
        Ok(())
    }

    /// Publishes the record of a batch, after the journal has it, and its composites.
    fn publish(&mut self, batch: &Batch, cause: Cause<'_>, is_journaled: bool, time: ReceiveTime) {
        if is_journaled {
            self.recorder.publish_batch();
        } else {
            self.write(batch, unexecuted(cause), time);
            self.recorder.publish_unrecorded();
        }
        let labels = &self.engine.setup().labels;
        self.totals.composites += self
            .recorder
            .publish_composites(labels, batch, time.wall_ns);
    }

    /// Whether orders that leave now were decided before the process was stopped or a day began, and their prices are old.
    fn is_late(&mut self, time: ReceiveTime) -> bool {
        self.days.are_due(self.sending_ns(time)) || self.watch_round(time, self.recorder.disk_ns())
    }

    /// Sends an order that is in the journal. An order that cannot be sent is asked for like any other.
    fn send_order(&mut self, terms: &Terms, message: &Message, may_leave: bool, time: ReceiveTime) {
        if !may_leave {
            self.totals.unsent += 1;
            return;
        }
        let wall = self.wall(time);
        let labels = &self.engine.setup().labels;
        let bank = &mut self.banks[terms.bank];
        let session = &mut bank.session;
        let sent = session.send("D", wall, |encoder| {
            put_fields(labels, message, (time, wall), encoder);
        });
        match sent {
            Ok(number) => {
                self.recorder.check_number(terms.bank, number);
                self.totals.orders += 1;
                bank.faults.grant(time.mono_ns);
                session.note_recorded(number);
            }
            Err(_) => self.totals.unsent += 1,
        }
    }

    /// Sends a cancel or a question. It makes no position: it leaves even if the journal cannot be written.
    fn send_other(&mut self, bank: Bank, message: &Message, is_journaled: bool, time: ReceiveTime) {
        let wall = self.wall(time);
        let labels = &self.engine.setup().labels;
        let session = &mut self.banks[bank].session;
        let sent = session.send(msg_type(message), wall, |encoder| {
            put_fields(labels, message, (time, wall), encoder);
        });
        let is_cancel = matches!(message, Message::Cancel { .. });
        match message {
            Message::DontKnow(_) => {}
            // The answer names each order of the day.
            Message::MassStatus { .. } => {
                let orders = self.engine.trading().orders().iter();
                let of_bank = orders.filter(|order| order.terms.bank == bank).count() as u64;
                let budget = &mut self.banks[bank].faults.budget;
                budget.grant_all(of_bank + 1_000, time.mono_ns);
            }
            _ => self.banks[bank].faults.grant(time.mono_ns),
        }
        self.totals.cancels += u64::from(is_cancel && sent.is_ok());
        if let Ok(number) = sent
            && is_journaled
        {
            self.recorder.check_number(bank, number);
            self.banks[bank].session.note_recorded(number);
        }
    }

    /// Hands the messages of a batch to the kernel, with one call for each bank: a kill cancels a thousand orders.
    fn flush_filled(&mut self, time: ReceiveTime) {
        while let Some(bank) = self.banks.take_filled() {
            self.flush(bank, time);
        }
    }

    /// Hands the bytes of a session to the kernel, its numbers first to the journal.
    pub fn flush(&mut self, bank: Bank, time: ReceiveTime) {
        let unjournaled = self.banks[bank].session.unjournaled();
        // mutant: simulation: sequence numbers without an order are not in the journal
        if let Some((next_out, next_in)) = unjournaled {
            let record = Record::Numbers {
                bank: bank as u16,
                next_out,
                next_in,
            };
            if self.recorder.append(time.wall_ns, &record).is_ok() {
                self.banks[bank].session.note_journaled();
            }
        }
        self.banks[bank].session.flush();
    }

    /// Counts the events of a batch, and reports those that may need a person.
    fn tell(&mut self, batch: &Batch, time: ReceiveTime) {
        for (_, event) in &batch.events {
            match event {
                Event::Alarm { what, bank, order } => {
                    self.totals.alarms += 1;
                    self.count_alarm(*what);
                    self.tell_alarm(*what, *bank, *order, time.wall_ns);
                }
                Event::Kill { by } => {
                    self.totals.kills += 1;
                    self.incident(Incident::Killed { by: *by });
                }
                Event::Fill(fill) => {
                    self.totals.fills += 1;
                    let is_reversal = matches!(fill.kind, FillKind::Bust | FillKind::Correct);
                    if let Some(bank) = fill.bank.filter(|_| is_reversal) {
                        self.banks[bank].faults.reversals += 1;
                    }
                }
                _ => {}
            }
        }
    }

    /// An alarm; of a flood of reports of orders that are not ours the rest is counted.
    fn tell_alarm(&mut self, what: Alarm, bank: Option<Bank>, order: Option<Id>, at_ns: u64) {
        let name = |bank: Bank| self.engine.setup().banks[bank].config.name.clone();
        let told = match (bank, what) {
            (Some(bank), Alarm::DontKnow('D') | Alarm::UnknownExec) => self.banks[bank]
                .faults
                .foreign(at_ns)
                .map_err(|count| (bank, count)),
            _ => Ok(()),
        };
        let incident = match told {
            Ok(()) => Some(Incident::Alarm {
                what,
                bank: bank.map_or_else(String::new, name),
                order,
            }),
            Err((bank, count)) => count.map(|count| Incident::Foreign {
                bank: name(bank),
                count,
            }),
        };
        if let Some(incident) = incident {
            self.incident(incident);
        }
    }

    /// Journals and publishes positions and the scorecard.
    pub fn tell_scores(&mut self, time: ReceiveTime) {
        self.batch.clear();
        self.engine.finish(&mut self.batch);
        self.carry_out(time, Cause::None);
    }
}

/// Marks a command whose record the journal refused as not executed: its orders are killed, and never sent.
fn unexecuted(cause: Cause<'_>) -> Cause<'_> {
    match cause {
        Cause::Command(command) if command.needs_record && command.answer.reason.is_none() => {
            Cause::Command(Commanded {
                decision: None,
                answer: Answer {
                    answer: "refused",
                    reason: Some("kill"),
                    cause: None,
                    ..command.answer
                },
                ..command
            })
        }
        other => other,
    }
}

/// Fields of a message, with the wall clock in TransactTime (60): a counterparty compares it with its own.
pub(super) fn put_fields(
    labels: &Labels,
    message: &Message,
    (time, wall): (ReceiveTime, ReceiveTime),
    encoder: &mut Encoder<'_>,
) {
    let is_other = time.wall_ns != wall.wall_ns;
    fields(labels, message, |tag, value| {
        match tag {
            TRANSACT_TIME if is_other => {
                encoder.timestamp(tag, wall.wall_ns, Precision::Milliseconds)
            }
            _ => encoder.bytes(tag, value),
        };
    });
}
