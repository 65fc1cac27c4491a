//! The entries of a journal that are about one parent.

use super::seen::{self, Recorded};
use super::step::Step;
use crate::fx::report::{Arrival, DECIMALS, MILLION_DECIMALS, Slippage, TICK_DECIMALS, Traded};
use std::collections::{BTreeMap, BTreeSet};
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{
    Answer, Batch, Benchmark, BenchmarkOf, Event, FillLine, Message, OrderEvent, OrderLine,
};
use touchline_fx_events::lines::{body, command_text, lines_of};
use touchline_fx_events::orders::FillKind;
use touchline_fx_events::parents::ParentTerms;
use touchline_fx_events::{Labels, ticks};
use touchline_types::Id;

/// The story of a parent, while its journal is read.
#[derive(Debug, Default)]
pub struct Story {
    parent: String,
    /// Parents with the name, by their numbers.
    terms: BTreeMap<u32, ParentTerms>,
    /// Numbers of their orders, and the ClOrdIDs.
    orders: BTreeSet<u32>,
    ids: Vec<Id>,
    /// Number of all parents.
    parents: u64,
    is_refused: bool,
    steps: Vec<Step>,
    /// Number of the present batch.
    batch: u64,
    /// The input of the batch, until an effect on the parent follows.
    input: Option<Step>,
    /// Client and request of a command of the batch that is a step.
    command: Option<(String, u64)>,
    of_input: Option<(String, u64)>,
    /// The last plan, until what it saw follows.
    plan: Option<Recorded>,
    fills: Fills,
}

/// Fills of the parent.
#[derive(Debug, Default)]
struct Fills {
    /// Units, net of busts, and their cost, 1e-9 times units.
    units: i64,
    cost: i128,
    prices: BTreeMap<(u32, String), i64>,
    /// The market at the first arrival.
    arrival: Arrival,
    precision: u8,
    /// Last fill.
    last_ns: u64,
    /// Arrival and end of the parent, as the report has them.
    first_ns: u64,
    end_ns: Option<u64>,
}

impl Story {
    /// Before the first entry.
    pub fn of(parent: &str) -> Story {
        Story {
            parent: parent.to_owned(),
            ..Story::default()
        }
    }

    /// Whether the journal has the parent.
    pub fn is_known(&self) -> bool {
        self.is_refused || !self.terms.is_empty()
    }

    /// Number of all parents of the journal.
    pub fn parents(&self) -> u64 {
        self.parents
    }

    /// Steps so far.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The batch of the entries that follow. An input is the cause of what its own batch has, never of a later one.
    pub fn begin(&mut self, batch: u64) {
        // mutant: fx: an input is taken for the cause of a later batch
        if self.batch != batch {
            self.batch = batch;
            self.input = None;
            self.of_input = None;
            self.command = None;
        }
    }

    /// Takes an entry of the present batch.
    pub fn take(&mut self, labels: &Labels, at_ns: u64, entry: &Entry<'_>, batch: &Batch) {
        match entry {
            Entry::Command {
                request,
                client,
                person,
                bytes,
            } => {
                let step = Step::new(at_ns, "command")
                    .with("person", *person)
                    .with("client", *client)
                    .with("request", *request)
                    .with("command", command_text(bytes));
                self.input = Some(step);
                self.of_input = Some(((*client).to_owned(), *request));
            }
            Entry::Received { bank, bytes } => {
                let fix = String::from_utf8_lossy(bytes).replace('\u{1}', "|");
                let step = Step::new(at_ns, "received").with("bank", labels.banks[*bank].as_str());
                self.input = Some(step.with("fix", fix));
                self.of_input = None;
                if self.is_named_in(bytes) {
                    self.give_input();
                }
            }
            Entry::Session { .. } | Entry::Run { .. } | Entry::Decision(_) => {}
            Entry::Answer(answer) => self.answer(at_ns, answer),
            Entry::Event(event, sequence) => {
                self.event(labels, at_ns, (event, *sequence), batch);
            }
        }
    }

    /// The last line: what the fills cost, by the figures of the report.
    pub fn end(&mut self) {
        self.give_plan();
        let fills = &self.fills;
        let Some(terms) = self.terms.values().next() else {
            return;
        };
        let step = Step::new(fills.last_ns, "slippage").with("filled", fills.units);
        let traded = Traded {
            side: terms.side,
            precision: fills.precision,
            units: fills.units,
            cost: fills.cost,
            arrival: fills.arrival,
        };
        let Some(slippage) = Slippage::of(&traded) else {
            self.steps.push(step.with("text", "nothing was filled"));
            return;
        };
        let average_decimals = u32::from(fills.precision) + 2;
        let average = ticks::text(i128::from(slippage.average), average_decimals);
        let duration_ns = fills.end_ns.map(|end_ns| end_ns - fills.first_ns);
        let step = step
            .with("average", average)
            .with_some("duration_ms", duration_ns.map(|ns| ns / 1_000_000));
        let Some(mid2) = fills.arrival.mid2 else {
            let text = "the record has no mid at arrival";
            self.steps.push(step.with("text", text));
            return;
        };
        let text = |value: Option<i128>, decimals| value.map(|value| ticks::text(value, decimals));
        let step = step
            .with("mid_at_arrival", ticks::text(mid2 * 5, DECIMALS + 1))
            .with_some("ticks", text(slippage.ticks, TICK_DECIMALS))
            .with_some("term_currency", text(slippage.money, DECIMALS + 1))
            .with_some("per_million", text(slippage.per_million, MILLION_DECIMALS));
        self.steps.push(step);
    }

    /// Whether a bank's message names an order of the parent.
    fn is_named_in(&self, bytes: &[u8]) -> bool {
        let mut fields = bytes.split(|byte| *byte == 1);
        fields.any(|field| {
            let value = field.strip_prefix(b"11=").or(field.strip_prefix(b"41="));
            let is_ours = |value: &[u8]| self.ids.iter().any(|id| id.as_str().as_bytes() == value);
            value.is_some_and(is_ours)
        })
    }

    /// The input is a step of the story.
    fn give_input(&mut self) {
        if let Some(step) = self.input.take() {
            self.steps.push(step);
            self.command = self.of_input.take();
        }
    }

    fn answer(&mut self, at_ns: u64, answer: &Answer<'_>) {
        let of = (answer.client.to_owned(), answer.request);
        if self.command.as_ref() != Some(&of) {
            return;
        }
        let step = Step::new(at_ns, "answer").with("answer", answer.answer);
        let step = step.with_some("reason", answer.reason);
        self.steps.push(step.with_some("cause", answer.cause));
    }

    fn event(
        &mut self,
        labels: &Labels,
        at_ns: u64,
        (event, sequence): (&Event, u64),
        batch: &Batch,
    ) {
        if !self.is_about(event) {
            return;
        }
        self.give_input();
        if let Event::Seen(seen) = event {
            self.seen(labels, at_ns, seen, batch);
            return;
        }
        self.give_plan();
        match event {
            Event::Benchmark(mark) => self.mark(at_ns, mark),
            Event::Order(line) if line.what == OrderEvent::Journal => {}
            Event::Order(OrderLine {
                message: Some(message),
                bank,
                ..
            }) => self.sent(labels, (at_ns, *bank), message, sequence),
            _ => {
                let name = match event {
                    Event::Order(_) => Some("order"),
                    Event::Fill(_) => Some("fill"),
                    _ => None,
                };
                let (mut line, steps) = (String::new(), &mut self.steps);
                let entry = Entry::Event(event, sequence);
                lines_of((labels, batch), at_ns, &entry, &mut line, |kind, text| {
                    let is_terms = kind == touchline_fx_events::lines::LineKind::Parent;
                    let name = if is_terms { Some("parent") } else { name };
                    steps.push(Step::of_line(at_ns, name, text));
                });
            }
        }
        self.note(labels, at_ns, event, batch);
    }

    /// Keeps what later entries are judged by.
    fn note(&mut self, labels: &Labels, at_ns: u64, event: &Event, batch: &Batch) {
        match event {
            Event::Accepted { terms, .. } => self.fills.begin(labels, at_ns, terms, None),
            // A parent that stands for an adopted order has ended.
            Event::Adopted(adopted) => {
                self.fills
                    .begin(labels, at_ns, &adopted.parent_terms, Some(at_ns));
            }
            Event::Ended(_) => self.fills.end_ns = Some(at_ns),
            Event::Plan { legs, .. } => {
                let legs = batch.legs[legs.clone()].to_vec();
                for leg in &legs {
                    self.orders.insert(leg.order.number);
                    self.ids.push(leg.order.id);
                }
                let plan = event.clone();
                self.plan = Some(Recorded { plan, legs });
            }
            Event::Fill(fill) => self.fills.add(at_ns, fill),
            Event::Refused { .. } => self.is_refused = true,
            _ => {}
        }
    }

    fn is_about(&mut self, event: &Event) -> bool {
        let is_it = |id: &Id| id.as_str() == self.parent;
        match event {
            Event::Accepted { number, terms } => {
                self.parents += 1;
                let is_it = is_it(&terms.id);
                if is_it {
                    self.terms.insert(*number, *terms);
                }
                is_it
            }
            Event::Adopted(adopted) => {
                self.parents += 1;
                let is_it = is_it(&adopted.parent_terms.id) || is_it(&adopted.of);
                if is_it {
                    self.terms.insert(adopted.parent, adopted.parent_terms);
                    self.orders.insert(adopted.number);
                    self.ids.push(adopted.terms.id);
                }
                is_it
            }
            Event::Refused { parent, .. } => parent.as_ref().is_some_and(is_it),
            Event::Waits { parent, .. } | Event::Plan { parent, .. } => is_it(&parent.id),
            Event::Ended(end) | Event::Settled(end) => is_it(&end.parent.id),
            Event::Seen(seen) => self.terms.contains_key(&seen.parent),
            Event::Benchmark(mark) => match mark.of {
                BenchmarkOf::Parent(number) => self.terms.contains_key(&number),
                BenchmarkOf::Order(_) => false,
            },
            Event::Order(line) => line
                .number
                .is_some_and(|number| self.orders.contains(&number)),
            // By the order: the fill of an adopted one names the parent that stands for ours.
            // mutant: fx: the story of a parent leaves out its fills
            Event::Fill(fill) => fill
                .order
                .is_some_and(|order| self.orders.contains(&order.number)),
            Event::Alarm { order, .. } => order.is_some_and(|order| self.ids.contains(&order)),
            _ => false,
        }
    }

    fn mark(&mut self, at_ns: u64, mark: &Benchmark) {
        let tick = i128::from(ticks::tick(self.fills.precision));
        let mid2 = mark.mid2.map(|mid2| i128::from(mid2) * tick);
        let mid = mid2.map(|mid2| ticks::text(mid2 * 5, DECIMALS + 1));
        let whole = mark
            .average
            .map(|average| ticks::text(i128::from(average) * tick, 11));
        let step = Step::new(at_ns, "arrival").with("mid", mid);
        self.steps.push(step.with("whole_quantity_at", whole));
        let whole = mark.average;
        if self.fills.arrival.mid2.is_none() {
            self.fills.arrival = Arrival { mid2, whole };
        }
    }

    fn sent(
        &mut self,
        labels: &Labels,
        (at_ns, bank): (u64, usize),
        message: &Message,
        sequence: u64,
    ) {
        let mut fix = String::new();
        body(labels, message, &mut fix);
        let step = Step::new(at_ns, "sent").with("bank", labels.banks[bank].as_str());
        self.steps.push(step.with("seq", sequence).with("fix", fix));
    }

    fn seen(
        &mut self,
        labels: &Labels,
        at_ns: u64,
        seen: &touchline_fx_events::seen::Seen,
        batch: &Batch,
    ) {
        if let (Some(recorded), Some(terms)) = (self.plan.take(), self.terms.get(&seen.parent)) {
            let of_plan = (terms, &recorded);
            self.steps
                .extend(seen::steps(labels, at_ns, of_plan, (seen, batch)));
        }
    }

    /// A plan without what it saw: of an earlier release.
    fn give_plan(&mut self) {
        if self.plan.take().is_some() {
            let at_ns = self.steps.last().map_or(0, Step::at_ns);
            let text = "the record has not what the plan saw: the engine was of an earlier release";
            self.steps
                .push(Step::new(at_ns, "entry").with("text", text));
        }
    }
}

impl Fills {
    /// The parent arrives; later an order that was adopted for it.
    fn begin(&mut self, labels: &Labels, at_ns: u64, terms: &ParentTerms, end_ns: Option<u64>) {
        self.precision = labels.pairs[terms.pair].precision;
        if self.first_ns == 0 {
            self.first_ns = at_ns;
            self.last_ns = at_ns;
            self.end_ns = end_ns;
        }
    }

    fn add(&mut self, at_ns: u64, fill: &FillLine) {
        self.last_ns = at_ns;
        let number = fill.order.map_or(u32::MAX, |order| order.number);
        let key = |id: &Id| (number, id.as_str().to_owned());
        // A correction moves the price of a fill whose units are booked.
        let before = fill
            .part_of
            .as_ref()
            .and_then(|of| self.prices.get(&key(of)).copied());
        let sign = if fill.kind == FillKind::Bust { -1 } else { 1 };
        self.prices.insert(key(&fill.exec_id), fill.price.0);
        self.units += sign * if before.is_some() { 0 } else { fill.quantity };
        let price = fill.price.0 - before.unwrap_or(0);
        self.cost += i128::from(sign * fill.quantity) * i128::from(price);
    }
}
