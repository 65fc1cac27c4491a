//! Account of a journal: every parent, order, command, alarm and booking of it, with the trade date of each.

mod days;
mod rows;

pub use days::{Day, TradeDays};
pub use rows::{
    AlarmRow, Arrival, Booked, CommandRow, End, Mid, Order, OrderEnd, Pair, Parent, Quoted, Sums,
    sign,
};

use std::collections::{BTreeMap, BTreeSet, HashMap};
use touchline_fx_desk::PublishedEntry;
use touchline_fx_desk::ledger::Ledger;
use touchline_fx_events::Labels;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{
    Adopted, Benchmark, BenchmarkOf, Event, FillLine, Message, OrderLine, ParentEnd,
};
use touchline_fx_events::lines::{command_text, names};
use touchline_fx_events::orders::{FillKind, OrderState, Terms};
use touchline_fx_events::parents::ParentTerms;
use touchline_fx_events::positions::Position;
use touchline_fx_events::scorecard::Score;
use touchline_fx_events::ticks;
use touchline_types::Side;

/// Account of a journal, folded from its entries.
#[derive(Debug, Default)]
pub struct Account {
    /// Pairs of all runs.
    pub pairs: Vec<Pair>,
    /// Banks of all runs.
    pub banks: Vec<String>,
    /// Parents, in order of arrival.
    pub parents: Vec<Parent>,
    /// Orders, in order of sending.
    pub orders: Vec<Order>,
    /// Commands, in order.
    pub commands: Vec<CommandRow>,
    /// Alarms and kills, in order.
    pub alarms: Vec<AlarmRow>,
    /// Units and prices that positions are made of, in order.
    pub booked: Vec<Booked>,
    /// Last mid of each pair on each trade date.
    pub mids: BTreeMap<(usize, Day), Mid>,
    /// Growth of the scores that follow from quotes, by trade date, bank and pair.
    pub quoted: BTreeMap<(Day, usize, usize), Quoted>,
    /// Positions as the engine last stated them, by pair: units and cash.
    pub stated: BTreeMap<usize, (i64, i128)>,
    /// The parts of these by value date, of an engine with calendars.
    pub stated_dates: BTreeMap<usize, Vec<(u32, Position)>>,
    /// Trade dates with an entry, with the time of the last one.
    pub days: BTreeMap<Day, u64>,
    /// Trade dates of earlier rows that an entry changed, since the owner took them.
    pub changed: BTreeSet<Day>,
    /// Number of runs.
    pub runs: u64,
    trade_days: TradeDays,
    /// Pairs and banks of the present run.
    pair_of: Vec<usize>,
    bank_of: Vec<usize>,
    parent_at: HashMap<u32, usize>,
    order_at: HashMap<u32, usize>,
    /// The command of the present batch.
    command: Option<usize>,
    /// Scores of the present run.
    scores: HashMap<(usize, usize), Score>,
}

impl Account {
    /// Takes an entry that the ledger has taken before. Returns its trade date.
    pub fn take(&mut self, ledger: &Ledger, told: &PublishedEntry<'_>) -> Option<Day> {
        let at_ns = told.at_ns;
        if let Entry::Run { .. } = told.entry {
            self.run(told.labels);
            return None;
        }
        let day = self.trade_days.of(at_ns)?;
        let last_ns = self.days.entry(day).or_default();
        *last_ns = at_ns.max(*last_ns);
        match &told.entry {
            Entry::Command {
                client,
                person,
                request,
                bytes,
            } => {
                self.command = Some(self.commands.len());
                self.commands.push(CommandRow {
                    at_ns,
                    day,
                    client: (*client).to_owned(),
                    person: (*person).to_owned(),
                    request: *request,
                    text: command_text(bytes),
                    answer: None,
                });
            }
            Entry::Answer(answer) => {
                if let Some(row) = self.command.take() {
                    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
                    let reason = [answer.reason, answer.cause].map(text);
                    self.commands[row].answer = Some((answer.answer.to_owned(), reason));
                }
            }
            Entry::Event(event, _) => self.event(ledger, told, day, event),
            Entry::Received { .. } | Entry::Session { .. } => self.command = None,
            Entry::Run { .. } | Entry::Decision(_) => {}
        }
        Some(day)
    }

    fn run(&mut self, labels: &Labels) {
        self.runs += 1;
        self.scores.clear();
        self.command = None;
        self.pair_of.clear();
        for label in &labels.pairs {
            let known = self
                .pairs
                .iter()
                .position(|pair| pair.symbol == label.symbol);
            let at = known.unwrap_or(self.pairs.len());
            let pair = Pair {
                symbol: label.symbol.clone(),
                precision: label.precision,
                sizes: label.sizes.clone(),
            };
            match known {
                Some(at) => self.pairs[at] = pair,
                None => self.pairs.push(pair),
            }
            self.pair_of.push(at);
        }
        self.bank_of.clear();
        for name in &labels.banks {
            let known = self.banks.iter().position(|bank| bank == name);
            let at = known.unwrap_or_else(|| {
                self.banks.push(name.clone());
                self.banks.len() - 1
            });
            self.bank_of.push(at);
        }
    }

    fn event(&mut self, ledger: &Ledger, told: &PublishedEntry<'_>, day: Day, event: &Event) {
        let (labels, at_ns) = (told.labels, told.at_ns);
        match event {
            Event::Accepted { number, terms } => {
                self.accepted(labels, (at_ns, day), *number, terms)
            }
            Event::Benchmark(mark) => self.mark(labels, mark),
            Event::Plan { parent, .. } => {
                if let Some(parent) = self.parent_mut(parent.number) {
                    parent.plans += 1;
                }
            }
            Event::Ended(end) => self.ended(at_ns, end),
            Event::Settled(end) => {
                if let Some(parent) = self.parent_mut(end.parent.number) {
                    parent.settled_ns = Some(at_ns);
                }
            }
            Event::Order(line) => self.order_line(labels, (at_ns, day), line),
            Event::Adopted(adopted) => self.adopted(labels, (at_ns, day), adopted),
            Event::Fill(fill) => self.fill(ledger, day, fill),
            Event::Position {
                pair,
                position,
                mid2,
                dates,
                ..
            } => {
                let tick = i128::from(ticks::tick(labels.pairs[*pair].precision));
                let pair = self.pair_of[*pair];
                let mid2 = mid2.map(|mid2| i128::from(mid2) * tick);
                self.mids.insert((pair, day), Mid { at_ns, mid2 });
                self.stated.insert(pair, (position.units, position.cash));
                let dates = dates.clone();
                let dates = dates.map_or(&[][..], |dates| &told.batch.dates[dates]);
                self.stated_dates.insert(pair, dates.to_vec());
            }
            Event::Score { bank, pair, score } => self.score(day, (*bank, *pair), score),
            Event::Alarm { what, bank, order } => self.alarms.push(AlarmRow {
                at_ns,
                day,
                what: what.to_string(),
                bank: bank.map(|bank| labels.banks[bank].clone()),
                order: order.map(|id| id.to_string()),
                by: None,
            }),
            Event::Kill { by } => self.alarms.push(AlarmRow {
                at_ns,
                day,
                what: "kill".to_owned(),
                bank: None,
                order: None,
                by: by.map(|by| by.to_string()),
            }),
            _ => {}
        }
    }

    fn parent_mut(&mut self, number: u32) -> Option<&mut Parent> {
        let at = *self.parent_at.get(&number)?;
        self.changed.insert(self.parents[at].day);
        Some(&mut self.parents[at])
    }

    fn accepted(
        &mut self,
        labels: &Labels,
        (at_ns, day): (u64, Day),
        number: u32,
        terms: &ParentTerms,
    ) {
        let label = &labels.pairs[terms.pair];
        let by = self.command.map(|row| {
            let row = &self.commands[row];
            [row.client.clone(), row.person.clone()]
        });
        self.parent_at.insert(number, self.parents.len());
        self.parents.push(Parent {
            id: terms.id,
            pair: self.pair_of[terms.pair],
            precision: label.precision,
            at_ns,
            day,
            by,
            is_adopted: false,
            side: terms.side,
            quantity: terms.quantity,
            limit: terms
                .limit
                .map(|limit| ticks::exact(limit, label.precision)),
            lifetime: names::lifetime_name(terms.lifetime),
            arrival: Arrival::default(),
            plans: 0,
            orders: 0,
            filled: 0,
            cost: 0,
            end: None,
            settled_ns: None,
        });
    }

    /// The engine ends the parent where it takes its order over, without an event of its own.
    fn adopted(&mut self, labels: &Labels, (at_ns, day): (u64, Day), adopted: &Adopted) {
        self.accepted(labels, (at_ns, day), adopted.parent, &adopted.parent_terms);
        if let Some(parent) = self.parent_mut(adopted.parent) {
            parent.is_adopted = true;
            parent.end = Some(End {
                at_ns,
                reason: "adopted",
            });
        }
        self.sent(labels, day, adopted.number, &adopted.terms);
        if let Some(order) = self.orders.last_mut() {
            order.is_adopted = true;
        }
    }

    fn mark(&mut self, labels: &Labels, mark: &Benchmark) {
        let tick = i128::from(ticks::tick(labels.pairs[mark.pair].precision));
        let exact = |value: Option<i64>| value.map(|value| i128::from(value) * tick);
        match mark.of {
            BenchmarkOf::Parent(number) => {
                if let Some(parent) = self.parent_mut(number) {
                    parent.arrival = Arrival {
                        mid2: exact(mark.mid2),
                        whole: mark.average,
                    };
                }
            }
            BenchmarkOf::Order(number) => {
                if let Some(at) = self.order_at.get(&number)
                    && let Some(end) = &mut self.orders[*at].end
                {
                    end.mid2 = exact(mark.mid2);
                }
            }
        }
    }

    fn ended(&mut self, at_ns: u64, end: &ParentEnd) {
        if let Some(parent) = self.parent_mut(end.parent.number) {
            parent.end = Some(End {
                at_ns,
                reason: end.reason.map_or("", |reason| reason.name()),
            });
            if end.out == 0 {
                parent.settled_ns = Some(at_ns);
            }
        }
    }

    fn sent(&mut self, labels: &Labels, day: Day, number: u32, terms: &Terms) {
        let label = &labels.pairs[terms.pair];
        let tick = ticks::tick(label.precision);
        if let Some(parent) = self.parent_mut(terms.parent as u32) {
            parent.orders += 1;
        }
        self.order_at.insert(number, self.orders.len());
        self.orders.push(Order {
            id: terms.id,
            parent: self.parent_at.get(&(terms.parent as u32)).copied(),
            bank: self.bank_of[terms.bank],
            pair: self.pair_of[terms.pair],
            tick,
            precision: label.precision,
            sent_ns: terms.sent_ns,
            day,
            side: terms.side,
            quantity: terms.quantity,
            price: ticks::exact(terms.price, label.precision),
            is_quoted: terms.quote_id.is_some(),
            is_fok: terms.is_fok,
            value_date: terms.value_date,
            mid2: terms
                .mid2_sent
                .map(|mid2| i128::from(mid2) * i128::from(tick)),
            state: OrderState::Sent,
            is_cancel_asked: false,
            code: None,
            unknown: 0,
            fills: 0,
            cum: 0,
            filled: 0,
            cost: 0,
            end: None,
            is_resolved: false,
            is_adopted: false,
        });
    }

    fn order_line(&mut self, labels: &Labels, (at_ns, day): (u64, Day), line: &OrderLine) {
        let (Some(number), Some(status)) = (line.number, line.status) else {
            return;
        };
        if let Some(Message::Order(terms)) = &line.message {
            self.sent(labels, day, number, terms);
        }
        let Some(at) = self.order_at.get(&number) else {
            return;
        };
        let order = &mut self.orders[*at];
        self.changed.insert(order.day);
        order.is_cancel_asked |= matches!(line.message, Some(Message::Cancel { .. }));
        if status.state == OrderState::Unknown && order.state != OrderState::Unknown {
            order.unknown += 1;
        }
        if status.state.is_end() && !order.state.is_end() {
            order.end = Some(OrderEnd { at_ns, mid2: None });
            order.code = line.code;
            // No other command ends an order: a cancel asks the bank for it.
            order.is_resolved = self.command.is_some();
        }
        order.state = status.state;
    }

    fn fill(&mut self, ledger: &Ledger, day: Day, fill: &FillLine) {
        let order = fill
            .order
            .and_then(|order| self.order_at.get(&order.number));
        let order = order.copied();
        // An order keeps its value date, also if a report states another one; a booking states its own.
        let value_date = match order {
            Some(at) => Some(self.orders[at].value_date),
            None => fill.settl_date.and_then(|date| date.as_str().parse().ok()),
        };
        let pair = self.pair_of[fill.pair];
        let mut book = |units: i64, price: i64| {
            let signed = match fill.side {
                Side::Bid => units,
                Side::Ask => -units,
            };
            self.booked.push(Booked {
                day,
                order,
                pair,
                value_date,
                units: signed,
                price,
                is_back: units < 0,
            });
            let cost = i128::from(units) * i128::from(price);
            if let Some(order) = order.map(|at| &mut self.orders[at]) {
                self.changed.insert(order.day);
                order.filled += units;
                order.cost += cost;
                if let Some(parent) = order.parent.map(|at| &mut self.parents[at]) {
                    self.changed.insert(parent.day);
                    parent.filled += units;
                    parent.cost += cost;
                }
            }
        };
        let (units, price) = (fill.quantity, fill.price.0);
        match fill.kind {
            FillKind::Bust => book(-units, price),
            FillKind::Named => {
                // Units that a status or the desk reported, whose own report came later.
                let executed = fill.order.and_then(|order| ledger.order_of(order.number));
                let of = executed.and_then(|row| row.executed.derived(fill.part_of?));
                if let Some(of) = of {
                    book(-units, of.price.0);
                    book(units, price);
                }
            }
            FillKind::Fill
            | FillKind::Status
            | FillKind::Manual
            | FillKind::Correct
            | FillKind::Book => book(units, price),
        }
        let is_trade = matches!(
            fill.kind,
            FillKind::Fill | FillKind::Status | FillKind::Manual
        );
        if let Some(order) = order.map(|at| &mut self.orders[at]) {
            order.fills += u64::from(is_trade);
            order.cum += if is_trade { fill.quantity } else { 0 };
        }
    }

    /// Adds what a score of the run grew by since the one before: the scores of a run begin at zero.
    fn score(&mut self, day: Day, (bank, pair): (usize, usize), score: &Score) {
        let key = (self.bank_of[bank], self.pair_of[pair]);
        let before = self.scores.insert(key, *score).unwrap_or_default();
        let quoted = self.quoted.entry((day, key.0, key.1)).or_default();
        quoted.add(&before, score);
    }
}

#[cfg(test)]
mod tests;
