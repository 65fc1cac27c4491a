//! Ledger: parents, orders, fills, positions, banks and alarms of an engine, folded from its entries. Screens, reports and back
//! offices share it.
//!
//! The ledger keeps all live objects, and the last 50 ended parents, fills and alarms. A ledger for back offices keeps
//! every order, about 250 bytes each, since a trade may be busted the whole day.

mod order;

pub use order::{Derived, Executed, OrderRow, OrderTerms};

use crate::follower::PublishedEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{
    Alarm, Event, FillLine, Message, OrderEvent, OrderLine, ParentEnd,
};
use touchline_fx_events::lines::LineKind;
use touchline_fx_events::lines::names::wait_name;
use touchline_fx_events::orders::{FillKind, OrderState};
use touchline_fx_events::parents::ParentTerms;
use touchline_fx_events::{Labels, ticks};
use touchline_types::{Id, Side};

/// Fills and alarms that are kept.
const LAST: usize = 50;
/// Ended parents that are kept.
const ENDED_MAX: usize = 50;

/// State of an engine, folded from its entries.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Positions by pair.
    pub pairs: BTreeMap<String, PairRow>,
    /// Parents, in order of arrival; of the ended ones the last.
    pub parents: Vec<ParentRow>,
    /// Banks by name.
    pub banks: BTreeMap<String, BankRow>,
    /// Last fills; the newest is the last.
    pub fills: VecDeque<FillRow>,
    /// Last alarms; the newest is the last.
    pub alarms: VecDeque<AlarmRow>,
    /// User or automatic cause of the kill switch, while it is set.
    pub killed: Option<String>,
    /// Time of the last entry.
    pub at_ns: u64,
    /// Number of fills.
    pub fill_count: u64,
    /// Scorecards by bank and pair: the time at which the engine wrote it last, and its line. A run writes those of its configuration.
    pub scores: BTreeMap<(String, String), (u64, String)>,
    /// Orders by number.
    orders: HashMap<u32, OrderRow>,
    /// Orders that may still be filled: their ClOrdID and number.
    open: BTreeMap<String, u32>,
    /// Numbers of adopted orders, which are in no figure of a bank.
    adopted: BTreeSet<u32>,
    keeps_ended: bool,
}

/// A pair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairRow {
    /// Base units.
    pub position: i64,
    /// Term currency, as the shortest decimal.
    pub cash: String,
    /// Worst cases, long and short.
    pub worst: [i64; 2],
    /// Profit at the mid, if there is one.
    pub pnl: Option<String>,
}

/// A parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentRow {
    /// Number among all parents.
    number: u32,
    /// Name of the parent.
    pub id: Id,
    /// Pair.
    pub pair: String,
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Units.
    pub quantity: i64,
    /// Worst price, as the shortest decimal.
    pub limit: Option<String>,
    /// `working`, the reason why it waits, or the reason of its end.
    pub state: String,
    /// Units filled, net of busts.
    pub filled: i64,
    /// Whether the parent has ended.
    pub is_ended: bool,
    /// Whether the parent has ended, and no order of it is open.
    pub is_settled: bool,
}

/// A bank, without orders that were adopted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BankRow {
    /// Orders sent.
    pub orders: u64,
    /// Fills.
    pub fills: u64,
    /// Units filled, before busts.
    pub filled: i64,
    /// Rejects by code.
    pub rejects: BTreeMap<&'static str, u64>,
    /// Orders that became unknown.
    pub unknown: u64,
    /// End of its last cool-down.
    pub cooling_until_ns: u64,
    /// Pairs that are disabled.
    pub disabled: Vec<String>,
}

/// A fill, bust or correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillRow {
    /// Time.
    pub at_ns: u64,
    /// The fill.
    pub fill: FillLine,
    /// Bank; none of a booking that names none.
    pub bank: Option<Arc<str>>,
    /// Pair.
    pub pair: Arc<str>,
}

/// An alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmRow {
    /// Time.
    pub at_ns: u64,
    /// Kind.
    pub what: Alarm,
    /// Bank; none if the alarm is about no bank.
    pub bank: Option<Arc<str>>,
    /// The order of the alarm, as named.
    pub order: Option<Id>,
}

/// A ledger for a screen: after a failure of the journal it also shows unjournaled entries, until the next run
/// continues.
#[derive(Debug, Default)]
pub struct LiveLedger {
    journaled: Ledger,
    /// The journaled state plus the entries that the journal lacks.
    beyond: Option<Ledger>,
}

impl LiveLedger {
    /// Takes an entry.
    pub fn take(&mut self, published: &PublishedEntry<'_>) {
        let is_beside =
            matches!(published.entry, Entry::Event(event, _) if event.is_beside_journal());
        if published.is_journaled || is_beside {
            self.journaled.take(published);
        }
        if !published.is_journaled {
            if self.beyond.is_none() && !is_beside {
                self.beyond = Some(self.journaled.clone());
            }
            if let Some(beyond) = &mut self.beyond {
                beyond.take(published);
            }
        }
        if published.is_journaled {
            // Only the next run has journaled entries of a later time: the journal's files can have those of this run late.
            let at_ns = self.journaled.at_ns;
            self.beyond.take_if(|beyond| at_ns > beyond.at_ns);
        }
    }

    /// The present state, with entries that the journal lacks.
    pub fn now(&self) -> &Ledger {
        self.beyond.as_ref().unwrap_or(&self.journaled)
    }
}

impl Ledger {
    /// A ledger that keeps orders that have ended.
    pub fn of_all_orders() -> Ledger {
        Ledger {
            keeps_ended: true,
            ..Ledger::default()
        }
    }

    /// Takes an entry.
    pub fn take(&mut self, published: &PublishedEntry<'_>) {
        let (labels, at_ns) = (published.labels, published.at_ns);
        let event = match &published.entry {
            Entry::Event(event, _) => *event,
            Entry::Answer(_) => {
                self.at_ns = at_ns;
                return;
            }
            _ => return,
        };
        if let Event::Score { bank, pair, .. } = event {
            let key = (
                labels.banks[*bank].clone(),
                labels.pairs[*pair].symbol.clone(),
            );
            let mut line = String::new();
            published.lines(&mut line, |kind, text| {
                assert_eq!(kind, LineKind::Score, "a score is one line");
                self.scores.insert(key.clone(), (at_ns, text.to_owned()));
            });
            return;
        }
        self.at_ns = at_ns;
        match event {
            Event::Order(line) => self.order(labels, line),
            Event::Fill(fill) => self.fill(labels, at_ns, fill),
            Event::Position { .. } => self.position(labels, event),
            other => self.decision(labels, at_ns, other),
        }
    }

    /// A parent by its name.
    pub fn parent(&self, id: Id) -> Option<&ParentRow> {
        self.parents.iter().rev().find(|parent| parent.id == id)
    }

    /// Quantity that may still be filled.
    pub fn out(&self) -> i64 {
        self.open().map(|(_, order)| order.leaves).sum()
    }

    /// Orders that may still be filled, by ClOrdID.
    pub fn open(&self) -> impl ExactSizeIterator<Item = (&str, &OrderRow)> {
        self.open
            .iter()
            .map(|(id, number)| (id.as_str(), &self.orders[number]))
    }

    /// An order that is open, or any order if they are kept.
    pub fn order_of(&self, number: u32) -> Option<&OrderRow> {
        self.orders.get(&number)
    }

    fn bank(&mut self, name: &str) -> &mut BankRow {
        if !self.banks.contains_key(name) {
            self.banks.insert(name.to_owned(), BankRow::default());
        }
        self.banks.get_mut(name).expect("it was added")
    }

    fn accepted(&mut self, labels: &Labels, number: u32, terms: &ParentTerms) {
        let pair = &labels.pairs[terms.pair];
        let limit = |ticks: i64| ticks::text(i128::from(ticks), u32::from(pair.precision));
        self.parents.push(ParentRow {
            number,
            id: terms.id,
            pair: pair.symbol.clone(),
            side: terms.side,
            quantity: terms.quantity,
            limit: terms.limit.map(limit),
            state: "working".to_owned(),
            filled: 0,
            is_ended: false,
            is_settled: false,
        });
        let ended = self.parents.iter().filter(|parent| parent.is_ended).count();
        if ended > ENDED_MAX
            && let Some(oldest) = self.parents.iter().position(|parent| parent.is_ended)
        {
            self.parents.remove(oldest);
        }
    }

    fn decision(&mut self, labels: &Labels, at_ns: u64, event: &Event) {
        let symbol = |pair: usize| labels.pairs[pair].symbol.clone();
        match event {
            Event::Accepted { number, terms } => self.accepted(labels, *number, terms),
            Event::Waits { parent, reason } => self.change_parent(parent.number, |row| {
                row.state = format!("waits: {}", wait_name(*reason));
            }),
            Event::Plan { parent, .. } => {
                self.change_parent(parent.number, |row| row.state = "working".to_owned());
            }
            Event::Ended(end) => self.ended(end),
            Event::Settled(end) => self.change_parent(end.parent.number, |row| {
                row.filled = end.filled;
                row.is_settled = true;
            }),
            Event::Cooldown { bank, until_ns, .. } => {
                let row = self.bank(&labels.banks[*bank]);
                row.cooling_until_ns = row.cooling_until_ns.max(*until_ns);
            }
            Event::Disabled { bank, pair, .. } => {
                // Each order in flight that the bank refuses for such a reason disables the pair.
                let (row, symbol) = (self.bank(&labels.banks[*bank]), symbol(*pair));
                if !row.disabled.contains(&symbol) {
                    row.disabled.push(symbol);
                }
            }
            Event::Enabled { bank, pair } => {
                let row = self.bank(&labels.banks[*bank]);
                row.disabled.retain(|other| *other != symbol(*pair));
            }
            Event::Kill { by } => {
                self.killed = Some(by.map_or_else(String::new, |by| by.to_string()));
            }
            Event::Lift { is_killed, .. } => {
                self.killed = self.killed.take().filter(|_| *is_killed)
            }
            Event::Alarm { what, bank, order } => push_last(
                &mut self.alarms,
                AlarmRow {
                    at_ns,
                    what: *what,
                    bank: bank.map(|bank| labels.banks[bank].as_str().into()),
                    order: *order,
                },
            ),
            Event::Adopted(adopted) => {
                let order = OrderRow::new(labels, &adopted.terms, adopted.parent_terms.id);
                self.orders.insert(adopted.number, order);
                self.adopted.insert(adopted.number);
            }
            _ => {}
        }
    }

    fn ended(&mut self, end: &ParentEnd) {
        self.change_parent(end.parent.number, |row| {
            row.state = end.reason.map_or("", |reason| reason.name()).to_owned();
            row.filled = end.filled;
            row.is_ended = true;
            row.is_settled = end.out == 0;
        });
    }

    fn change_parent(&mut self, number: u32, change: impl FnOnce(&mut ParentRow)) {
        let mut parents = self.parents.iter_mut().rev();
        if let Some(parent) = parents.find(|parent| parent.number == number) {
            change(parent);
        }
    }

    fn order(&mut self, labels: &Labels, line: &OrderLine) {
        let (Some(number), Some(status)) = (line.number, line.status) else {
            return;
        };
        let bank = &labels.banks[line.bank];
        let is_scored = !self.adopted.contains(&number);
        self.bank(bank).orders += u64::from(line.what == OrderEvent::Journal);
        if let Some(code) = line.code.filter(|_| is_scored) {
            *self.bank(bank).rejects.entry(code.name()).or_default() += 1;
        }
        if let Some(Message::Order(terms)) = &line.message {
            let mut parents = self.parents.iter().rev();
            let parent = parents.find(|row| row.number == terms.parent as u32);
            let parent = parent.map_or(Id::EMPTY, |row| row.id);
            self.orders
                .insert(number, OrderRow::new(labels, terms, parent));
        }
        let Some(order) = self.orders.get_mut(&number) else {
            return;
        };
        let was = std::mem::replace(&mut order.state, status.state);
        (order.cum, order.leaves) = (status.cum, status.leaves);
        let (id, is_end) = (order.id, status.state.is_end());
        order.ends += u32::from(is_end);
        let is_lost = status.state == OrderState::Unknown && was != OrderState::Unknown;
        self.bank(bank).unknown += u64::from(is_lost && is_scored);
        if !is_end {
            self.open.insert(id.to_string(), number);
            return;
        }
        self.open.remove(id.as_str());
        if !self.keeps_ended {
            self.orders.remove(&number);
        }
    }

    fn fill(&mut self, labels: &Labels, at_ns: u64, fill: &FillLine) {
        self.fill_count += 1;
        let bank = fill.bank.map(|bank| labels.banks[bank].as_str());
        let number = fill.order.map(|order| order.number);
        let is_adopted = number.is_some_and(|number| self.adopted.contains(&number));
        // A late original names units that were counted before, and the desk's own bookings belong to no order.
        let is_new = matches!(
            fill.kind,
            FillKind::Fill | FillKind::Status | FillKind::Manual
        );
        if let Some(bank) = bank.filter(|_| is_new && !is_adopted) {
            let row = self.bank(bank);
            row.fills += 1;
            row.filled += fill.quantity;
        }
        if let Some(parent) = fill.parent {
            let mut parents = self.parents.iter_mut().rev();
            if let Some(row) = parents.find(|row| row.id == parent) {
                row.filled += net(fill);
            }
        }
        if let Some(number) = number
            && let Some(row) = self.orders.get_mut(&number)
        {
            row.executed.add(fill);
        }
        let row = FillRow {
            at_ns,
            fill: *fill,
            bank: bank.map(Arc::from),
            pair: labels.pairs[fill.pair].symbol.as_str().into(),
        };
        push_last(&mut self.fills, row);
    }

    fn position(&mut self, labels: &Labels, event: &Event) {
        let Event::Position {
            pair,
            position,
            worst,
            mid2,
            ..
        } = event
        else {
            unreachable!("it is called for positions");
        };
        let label = &labels.pairs[*pair];
        let tick = ticks::tick(label.precision);
        let pnl =
            mid2.map(|mid2| ticks::text(position.pnl2(mid2, tick) * 5, ticks::PRICE_DECIMALS + 1));
        let row = PairRow {
            position: position.units,
            cash: ticks::text(position.cash, ticks::PRICE_DECIMALS),
            worst: [worst.long, worst.short],
            pnl,
        };
        self.pairs.insert(label.symbol.clone(), row);
    }
}

/// Units that a parent has more, net of busts. A correction is a bust and a fill; a late original names units that the parent has.
fn net(fill: &FillLine) -> i64 {
    match fill.kind {
        FillKind::Fill | FillKind::Status | FillKind::Manual | FillKind::Correct => fill.quantity,
        FillKind::Bust => -fill.quantity,
        FillKind::Named | FillKind::Book => 0,
    }
}

fn push_last<T>(rows: &mut VecDeque<T>, row: T) {
    if rows.len() == LAST {
        rows.pop_front();
    }
    rows.push_back(row);
}

#[cfg(test)]
mod tests;
