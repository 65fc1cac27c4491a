//! Executions as reports, in the order of the journal.

use super::report::{OrderAt, Report, Sent, Trade, What};
use std::collections::HashMap;
use std::sync::Arc;
use touchline_fx_desk::PublishedEntry;
use touchline_fx_desk::ledger::{Ledger, OrderRow};
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{Alarm, Event, FillLine, OrderLine};
use touchline_fx_events::orders::{FillKind, OrderState};
use touchline_types::Id;

/// All reports of a journal.
///
/// The same entries give the same reports with the same ExecIDs, whenever they are read.
#[derive(Debug, Default)]
pub struct Reports {
    all: Vec<Report>,
    /// Orders that have a report, by number.
    orders: HashMap<u32, Arc<Sent>>,
    /// Id of the journal, if there is a journal.
    journal: Option<[u8; 16]>,
    /// Time of the journal's first entry.
    began_ns: Option<u64>,
    /// The last reversed fill: a later event of its order says whether it was busted or corrected.
    reversed: Option<FillLine>,
    /// ExecIDs of fills as they are at first, and the order that has each.
    exec_ids: HashMap<Box<str>, Id>,
}

impl Reports {
    /// Sets the journal to which the entries belong.
    pub fn of_journal(&mut self, journal: [u8; 16]) {
        self.journal = Some(journal);
    }

    /// Id of the journal, if it is there.
    pub fn journal(&self) -> Option<[u8; 16]> {
        self.journal
    }

    /// Time of the journal's first entry.
    pub fn began_ns(&self) -> Option<u64> {
        self.began_ns
    }

    /// Number of reports.
    pub fn count(&self) -> u64 {
        self.all.len() as u64
    }

    /// A report, from 0.
    pub fn get(&self, number: u64) -> Option<&Report> {
        self.all.get(usize::try_from(number).ok()?)
    }

    /// Takes a message of an engine, after the ledger of all orders has taken it.
    pub fn take(&mut self, ledger: &Ledger, told: &PublishedEntry<'_>) {
        self.began_ns.get_or_insert(told.at_ns);
        let Entry::Event(event, _) = &told.entry else {
            return;
        };
        let at_ns = told.at_ns;
        match event {
            Event::Order(line) => self.ended(ledger, at_ns, line),
            Event::Fill(fill) => self.fill(ledger, at_ns, fill, told),
            Event::Alarm {
                what: Alarm::Bust,
                order: Some(order),
                ..
            } => self.bust(ledger, at_ns, *order),
            _ => {}
        }
    }

    /// The end of an order other than by a fill, once.
    fn ended(&mut self, ledger: &Ledger, at_ns: u64, line: &OrderLine) {
        let Some(order) = line.number.and_then(|number| numbered(ledger, number)) else {
            return;
        };
        let end = match line.status.map(|status| status.state) {
            Some(OrderState::Canceled) => '4',
            Some(OrderState::Rejected) => '8',
            Some(OrderState::Expired) => 'C',
            _ => return,
        };
        if order.1.ends > 1 {
            return;
        }
        let id = format!("{}-{end}", order.1.id);
        let what = What::End(self.now(order), line.code);
        self.all.push(Report::new(at_ns, end, &id, what));
    }

    fn fill(&mut self, ledger: &Ledger, at_ns: u64, fill: &FillLine, told: &PublishedEntry<'_>) {
        if fill.kind == FillKind::Book {
            return self.booked(at_ns, fill, told);
        }
        if fill.kind == FillKind::Bust {
            self.reversed = Some(*fill);
            return;
        }
        let Some(order) = order_of(ledger, fill) else {
            return;
        };
        if fill.kind == FillKind::Named {
            return self.named(at_ns, order, fill);
        }
        let is_correction = fill.kind == FillKind::Correct;
        let reversed = self
            .reversed
            .take_if(|old| is_correction && old.order == fill.order);
        let exec_type = if reversed.is_some() { 'G' } else { 'F' };
        let corrects = reversed.map(|old| self.exec_id(order, old.exec_id).into());
        self.trade(at_ns, exec_type, corrects, order, fill);
    }

    /// Reports a late original: the fill known from a status or from the desk is corrected to its remaining quantity,
    /// and the rest is reported with its own ExecID and price.
    fn named(&mut self, at_ns: u64, order: Numbered<'_>, fill: &FillLine) {
        let of = fill.part_of.and_then(|of| order.1.executed.derived(of));
        let Some(of) = of.filter(|of| of.named > 0) else {
            return;
        };
        let origin = self.exec_id(order, of.exec_id);
        let mut corrects = Some(reported(&origin, of.named - 1).into());
        let is_left = of.quantity > 0;
        if is_left {
            // The original itself follows.
            let original = Trade::of(fill);
            let order = self.now(order).without(&original);
            let rest = Trade {
                quantity: of.quantity,
                price: of.price,
                ..original
            };
            let id = reported(&origin, of.named);
            self.all.push(Report {
                corrects: corrects.take(),
                ..Report::new(at_ns, 'G', &id, What::Trade(order, rest))
            });
        }
        let exec_type = if is_left { 'F' } else { 'G' };
        self.trade(at_ns, exec_type, corrects, order, fill);
    }

    /// ExecID of a fill: the bank's is unique at the bank only. A bank uses its ExecIDs again for other orders: theirs have the ClOrdID, and the
    /// reports of the first order are as earlier versions sent them.
    fn exec_id(&mut self, (_, order): Numbered<'_>, of: Id) -> String {
        let first = format!("{}-{of}", order.bank);
        let owner = *self
            .exec_ids
            .entry(first.as_str().into())
            .or_insert(order.id);
        // mutant: execution: fills of two orders have one ExecID
        match owner == order.id {
            true => first,
            false => format!("{}/{of}", order.id),
        }
    }

    /// The order as the ledger has it now.
    fn now(&mut self, (number, order): Numbered<'_>) -> OrderAt {
        let sent = || Arc::new(Sent::of(order));
        let known = self.orders.entry(number).or_insert_with(sent);
        // A number that only unjournaled entries had is given again.
        if known.id != order.id {
            *known = sent();
        }
        OrderAt::now(Arc::clone(known), order)
    }

    /// A trade with its ExecID of the bank.
    fn trade(
        &mut self,
        at_ns: u64,
        exec_type: char,
        corrects: Option<Box<str>>,
        order: Numbered<'_>,
        fill: &FillLine,
    ) {
        let id = self.exec_id(order, fill.exec_id);
        let what = What::Trade(self.now(order), Trade::of(fill));
        self.all.push(Report {
            corrects,
            bank_exec_id: Some(fill.exec_id.as_str().into()),
            ..Report::new(at_ns, exec_type, &id, what)
        });
    }

    /// A trade that the desk booked without an order.
    fn booked(&mut self, at_ns: u64, fill: &FillLine, told: &PublishedEntry<'_>) {
        let bank = fill.bank.map(|bank| told.labels.banks[bank].as_str());
        let what = What::Booking {
            bank: bank.map(Box::from),
            pair: told.labels.pairs[fill.pair].symbol.as_str().into(),
            side: fill.side,
            trade: Trade::of(fill),
        };
        let id = fill.exec_id;
        self.all.push(Report::new(at_ns, 'F', id.as_str(), what));
    }

    /// Reports the reversed fill of an order as a bust.
    fn bust(&mut self, ledger: &Ledger, at_ns: u64, order: Id) {
        let is_its = |fill: &mut FillLine| fill.order.is_some_and(|of| of.id == order);
        let Some(fill) = self.reversed.take_if(is_its) else {
            return;
        };
        let Some(order) = order_of(ledger, &fill) else {
            return;
        };
        let derived = order.1.executed.derived(fill.exec_id);
        let of = self.exec_id(order, fill.exec_id);
        let of = reported(&of, derived.map_or(0, |of| of.named));
        let what = What::Trade(self.now(order), Trade::of(&fill));
        self.all.push(Report {
            corrects: Some(of.as_str().into()),
            ..Report::new(at_ns, 'H', &format!("{of}-H"), what)
        });
    }
}

/// An order with its number.
type Numbered<'l> = (u32, &'l OrderRow);

fn numbered(ledger: &Ledger, number: u32) -> Option<Numbered<'_>> {
    Some((number, ledger.order_of(number)?))
}

fn order_of<'l>(ledger: &'l Ledger, fill: &FillLine) -> Option<Numbered<'l>> {
    numbered(ledger, fill.order?.number)
}

/// ExecID of the last report of a fill of which this many late originals were parts.
fn reported(origin: &str, named: u64) -> String {
    match named {
        0 => origin.to_owned(),
        named => format!("{origin}-{}", named + 1),
    }
}

#[cfg(test)]
pub(super) mod tests;
