//! State rebuilt from batches: inputs are handled again, decisions are restored as recorded, and their effects follow.

use super::{Recovered, RecoveryError, is_own};
use crate::execution::numbers::Numbers;
use crate::execution::order_session::number_of;
use touchline_fx::RestoreError;
use touchline_fx::input::{Input, Session};
use touchline_fx::setup::Setup;
use touchline_fx_events::desk::{Day, Desk};
use touchline_fx_events::encoding::Entry as Recorded;
use touchline_fx_events::event::{Adopted, Alarm, Event, Message, OrderLine};
use touchline_fx_events::orders::Terms;
use touchline_fx_events::parents::ParentTerms;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::{Batch, Labels};
use touchline_types::Id;
use touchline_wire::fix::{Frame, frame};

/// State from the records read so far.
pub(super) struct State {
    pub setup: Setup,
    /// Banks and pairs of the run, as they are configured now.
    pub banks: Vec<Option<Bank>>,
    pub pairs: Vec<Option<Pair>>,
    pub batch: Batch,
    pub recovered: Recovered,
}

impl State {
    /// Applies an entry of a batch: an input is handled again, a decision is restored as recorded, and the effects
    /// follow.
    pub fn recorded(
        &mut self,
        labels: &Labels,
        at_ns: u64,
        recorded: &Recorded<'_>,
    ) -> Result<(), Failed> {
        match recorded {
            Recorded::Run { epoch, drops, .. } => return self.run(*epoch, labels, drops),
            Recorded::Command {
                request,
                client,
                bytes,
                ..
            } => {
                let known = self.recovered.requests.entry((*client).to_owned());
                known.or_default().add(*request, bytes);
            }
            Recorded::Received { bank, bytes } => {
                self.at(at_ns)?;
                if let Some(bank) = self.bank(*bank) {
                    self.received(bank, bytes);
                    self.handle(at_ns, &Input::Orders(bank, Session::Message(bytes)));
                }
            }
            Recorded::Session { bank, change } => {
                self.at(at_ns)?;
                if let Some(bank) = self.bank(*bank) {
                    self.handle(at_ns, &Input::Orders(bank, (*change).into()));
                }
            }
            Recorded::Decision(desk) => {
                self.at(at_ns)?;
                self.decided(at_ns, labels, *desk)?;
            }
            Recorded::Event(event, sequence) => self.event(labels, at_ns, event, *sequence)?,
            Recorded::Answer(_) => {}
        }
        Ok(())
    }

    fn event(
        &mut self,
        labels: &Labels,
        at_ns: u64,
        event: &Event,
        sequence: u64,
    ) -> Result<(), Failed> {
        match event {
            Event::Accepted { number, terms } => {
                self.at(at_ns)?;
                self.parent(labels, at_ns, *number, terms)
            }
            // Most ends follow from the other entries. Ends decided by a price do not, as the journal has no prices,
            // nor do ends by timers that ran after the last input.
            Event::Ended(end) => {
                self.at(at_ns)?;
                let reason = end.reason.ok_or(RestoreError::Time)?;
                let engine = &mut self.recovered.engine;
                engine.restore_end(&end.parent.id, reason, &mut self.batch);
                Ok(())
            }
            Event::Kill { by } => {
                self.at(at_ns)?;
                self.handle(at_ns, &Input::Desk(Desk::Kill { by: *by }));
                Ok(())
            }
            Event::Lift { by, is_killed } => {
                self.at(at_ns)?;
                let engine = &mut self.recovered.engine;
                Ok(engine.restore_lift(at_ns, (*by, *is_killed), &mut self.batch)?)
            }
            Event::Day(day) => {
                self.at(at_ns)?;
                // A pair that is not configured any more has no day.
                if let Some(pair) = *self.pairs.get(day.pair).ok_or(RestoreError::Time)? {
                    let day = Day { pair, ..*day };
                    self.handle(at_ns, &Input::Desk(Desk::Day(day)));
                }
                Ok(())
            }
            Event::BankDay { bank, trade } => {
                self.at(at_ns)?;
                if let Some(bank) = self.bank(*bank) {
                    let trade = *trade;
                    self.recovered.bank_days_ns[bank] = at_ns;
                    self.handle(at_ns, &Input::Desk(Desk::BankDay { bank, trade }));
                }
                Ok(())
            }
            // The report before it made the order again, if its bank and pair are configured.
            // mutant: execution: an adopted order needs no bank and no pair
            Event::Adopted(adopted) => self.adopted(labels, adopted),
            Event::Alarm {
                what: Alarm::NotAdopted,
                order: Some(id),
                ..
            } => self.not_adopted(*id),
            Event::Order(line) => self.order_line(labels, at_ns, line, sequence),
            _ => Ok(()),
        }
    }

    /// The bank may have the pair no more: then the report made no order again, and its position would be lost.
    fn adopted(&self, labels: &Labels, adopted: &Adopted) -> Result<(), Failed> {
        self.slot(labels, &adopted.terms)?;
        let found = self
            .recovered
            .engine
            .trading()
            .orders()
            .of_id(&adopted.terms.id);
        if found != Some(adopted.number as usize) {
            return Err(Failed::Unknown {
                what: format!("order {}", adopted.terms.id),
                name: format!(
                    "{} of {}",
                    labels.pairs[adopted.terms.pair].symbol, labels.banks[adopted.terms.bank]
                ),
            });
        }
        Ok(())
    }

    /// The bank may have the pair since: then the report made an order again that the run did not have. Its fills may have been booked by
    /// the desk, and its number is that of another order.
    fn not_adopted(&self, id: Id) -> Result<(), Failed> {
        let orders = self.recovered.engine.trading().orders();
        // mutant: execution: an order that was not adopted is adopted by a start
        match orders.of_id(&id) {
            None => Ok(()),
            Some(at) => {
                let Terms { bank, pair, .. } = orders.get(at).terms;
                let labels = &self.setup.labels;
                Err(Failed::Other(RecoveryError::NotAdopted {
                    order: id,
                    pair: labels.pairs[pair].symbol.clone(),
                    bank: labels.banks[bank].clone(),
                }))
            }
        }
    }

    fn order_line(
        &mut self,
        labels: &Labels,
        at_ns: u64,
        line: &OrderLine,
        sequence: u64,
    ) -> Result<(), Failed> {
        match (&line.message, line.number) {
            (Some(Message::Order(terms)), Some(number)) if sequence > 0 => {
                self.sent(line.bank, sequence);
                self.order(labels, number, terms)
            }
            (Some(_), _) if sequence > 0 => {
                self.at(at_ns)?;
                self.sent(line.bank, sequence);
                Ok(())
            }
            // Most ends follow from the other entries, and those by a rule of a bank do not.
            (None, Some(_)) if line.unfilled_end().is_some() => {
                self.at(at_ns)?;
                let engine = &mut self.recovered.engine;
                Ok(engine.restore_order_end(at_ns, line, &mut self.batch)?)
            }
            _ => Ok(()),
        }
    }

    fn run(&mut self, epoch: u64, labels: &Labels, drops: &[u8]) -> Result<(), Failed> {
        if self.recovered.epoch == 0 {
            is_own(&self.setup, epoch, labels).map_err(Failed::Other)?;
        }
        let setup = &self.setup;
        self.banks = labels.banks.iter().map(|name| setup.bank(name)).collect();
        let missing = |all: &[String], of: &[String]| {
            let missing = all.iter().filter(|name| !of.contains(name));
            missing.cloned().collect()
        };
        self.recovered.banks_added = missing(&setup.labels.banks, &labels.banks);
        self.recovered.banks_removed = missing(&labels.banks, &setup.labels.banks);
        let pairs = labels.pairs.iter();
        self.pairs = pairs.map(|pair| setup.labels.pair(pair)).collect();
        self.recovered.epoch = epoch;
        let engine = &mut self.recovered.engine;
        engine.set_prefix(labels.prefix);
        // The last run ended here: its sessions are lost by its rules, and its parents end.
        let at_ns = engine.now_ns().unwrap_or(0);
        if at_ns > 0 {
            self.handle(at_ns, &Input::Desk(Desk::Restart));
        }
        // A run without its rules is judged by those of the configuration.
        let engine = &mut self.recovered.engine;
        engine.begin_drops();
        for (bank, drops) in self.banks.iter().zip(drops) {
            if let Some(bank) = *bank {
                engine.set_drops(bank, *drops != 0);
            }
        }
        Ok(())
    }

    pub fn boot(&mut self, at_ns: u64, id: [u8; 16], lacks_before: u64) -> Result<(), Failed> {
        self.at(at_ns)?;
        // Numbers are of the boot clock, which begins again.
        // mutant: execution: numbers of commands outlive the boot of the host
        if self.recovered.boot.replace(id) != Some(id) {
            self.recovered.requests.clear();
        }
        self.recovered.boot_epoch = self.recovered.epoch;
        if lacks_before > 0 {
            let epoch = lacks_before;
            self.handle(at_ns, &Input::Desk(Desk::Reboot { epoch }));
        }
        Ok(())
    }

    /// Restores a parent, with the pairs of the present configuration.
    fn parent(
        &mut self,
        labels: &Labels,
        at_ns: u64,
        number: u32,
        terms: &ParentTerms,
    ) -> Result<(), Failed> {
        let what = || format!("parent {}", terms.id);
        let pair = self.pair(labels, terms.pair, what)?;
        let engine = &mut self.recovered.engine;
        let terms = ParentTerms { pair, ..*terms };
        engine.restore_parent(at_ns, number, &terms, &mut self.batch)?;
        Ok(())
    }

    fn order(&mut self, labels: &Labels, number: u32, terms: &Terms) -> Result<(), Failed> {
        let (bank, pair) = self.slot(labels, terms)?;
        self.recovered.orders += 1;
        self.recovered.last_ns = self.recovered.last_ns.max(terms.sent_ns);
        let terms = Terms {
            bank,
            pair,
            ..*terms
        };
        let engine = &mut self.recovered.engine;
        engine.restore_order(number, &terms, &mut self.batch)?;
        Ok(())
    }

    fn decided(&mut self, at_ns: u64, labels: &Labels, desk: Desk) -> Result<(), Failed> {
        let desk = match desk {
            Desk::Enable { bank, pair } => Desk::Enable {
                bank: bank.and_then(|bank| self.bank(bank)),
                pair: pair.and_then(|pair| *self.pairs.get(pair)?),
            },
            // The permission to book was checked when the command was executed.
            Desk::Book {
                by: Some(by),
                trade: Some(mut trade),
                ..
            } => {
                let unknown = Failed::Restore(RestoreError::Booking(trade.id));
                trade.pair = self
                    .pair(labels, trade.pair, || trade.id.to_string())
                    .map_err(|_| unknown)?;
                if let Some(bank) = trade.bank {
                    let bank = self.bank(bank);
                    trade.bank =
                        Some(bank.ok_or(Failed::Restore(RestoreError::Booking(trade.id)))?);
                }
                let engine = &mut self.recovered.engine;
                engine.restore_booking(at_ns, &by, &trade, &mut self.batch)?;
                return Ok(());
            }
            // Its event has the result.
            // mutant: execution: a kill is lifted by who may lift it now
            Desk::Lift { .. } => return Ok(()),
            other => other,
        };
        self.handle(at_ns, &Input::Desk(desk));
        Ok(())
    }

    /// Times of records ascend.
    fn at(&mut self, at_ns: u64) -> Result<(), RestoreError> {
        let last_ns = &mut self.recovered.last_ns;
        if at_ns < self.recovered.engine.now_ns().unwrap_or(0) {
            return Err(RestoreError::Time);
        }
        *last_ns = at_ns.max(*last_ns);
        Ok(())
    }

    fn handle(&mut self, at_ns: u64, input: &Input<'_>) {
        self.recovered.engine.handle(at_ns, input, &mut self.batch);
    }

    /// A bank of the run, if it is configured.
    pub fn bank(&self, index: usize) -> Option<Bank> {
        *self.banks.get(index)?
    }

    /// Bank and pair of an order, which must be configured.
    fn slot(&self, labels: &Labels, terms: &Terms) -> Result<(Bank, Pair), Failed> {
        let what = || format!("order {}", terms.id);
        let pair = self.pair(labels, terms.pair, what)?;
        let bank = self.bank(terms.bank).ok_or_else(|| Failed::Unknown {
            what: what(),
            name: labels.banks[terms.bank].clone(),
        })?;
        Ok((bank, pair))
    }

    fn pair(
        &self,
        labels: &Labels,
        index: usize,
        what: impl Fn() -> String,
    ) -> Result<Pair, Failed> {
        self.pairs[index].ok_or_else(|| Failed::Unknown {
            what: what(),
            name: labels.pairs[index].symbol.clone(),
        })
    }

    /// A message with this number has left. A message that left before an order of the same batch is journaled behind that order.
    fn sent(&mut self, bank: Bank, sequence: u64) {
        // mutant: execution: the numbers of orders are used again after a restart
        if let Some(bank) = self.bank(bank) {
            let numbers = &mut self.recovered.numbers[bank];
            let (next_out, next_in) = numbers.both();
            *numbers = Numbers::new(next_out.max(sequence + 1), next_in);
        }
    }

    fn received(&mut self, bank: Bank, bytes: &[u8]) {
        let Ok(Frame::Whole(message)) = frame(bytes, bytes.len()) else {
            return;
        };
        if let Some(number) = number_of(&message) {
            let (next_out, next_in) = self.recovered.numbers[bank].both();
            self.recovered.numbers[bank] = Numbers::new(next_out, next_in.max(number + 1));
        }
    }
}

pub(super) enum Failed {
    Unknown { what: String, name: String },
    Restore(RestoreError),
    Other(RecoveryError),
}

impl From<RestoreError> for Failed {
    fn from(error: RestoreError) -> Failed {
        Failed::Restore(error)
    }
}
