//! Events as JSON lines: the six files of a replay.
//!
//! Keys in a fixed order, no spaces, times and quantities as numbers, prices and other decimals as the shortest text.

mod command;
mod days;
mod fix_body;
pub mod names;
mod score;

pub use command::command_text;
pub use fix_body::{body, fields, msg_type, request_number};

use crate::composite::{BankSet, Top};
use crate::encoding::Entry;
use crate::event::{Alarm, Batch, Event, FillLine, OrderEvent, OrderLine, ParentEnd};
use crate::labels::Labels;
use crate::orders::RejectCode;
use crate::plan::PlanKind;
use crate::positions::{Position, WorstCase};
use crate::setup::{Bank, Pair};
use crate::ticks;
use names::{event_name, fill_name, order_state_name, side_name, state_name, wait_name};
use std::fmt::Write;
use std::ops::Range;
use touchline_types::Id;

/// Writes formatted text into a string, which cannot fail.
macro_rules! put {
    ($out:expr, $($format:tt)*) => {{
        let _ = write!($out, $($format)*);
    }};
}
use put;

/// Kind of a line: the file that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// `composite.jsonl`.
    Composite,
    /// `decisions.jsonl`.
    Decision,
    /// `orders.jsonl`.
    Order,
    /// `fills.jsonl`.
    Fill,
    /// `positions.jsonl`.
    Position,
    /// `scorecard.jsonl`.
    Score,
    /// The answer to a command.
    Answer,
    /// The terms of an accepted parent, before its decision.
    Parent,
}

impl LineKind {
    /// All kinds.
    pub const ALL: [LineKind; 8] = [
        LineKind::Composite,
        LineKind::Decision,
        LineKind::Order,
        LineKind::Fill,
        LineKind::Position,
        LineKind::Score,
        LineKind::Answer,
        LineKind::Parent,
    ];

    /// Name of the file.
    pub fn name(self) -> &'static str {
        match self {
            LineKind::Composite => "composite",
            LineKind::Decision => "decisions",
            LineKind::Order => "orders",
            LineKind::Fill => "fills",
            LineKind::Position => "positions",
            LineKind::Score => "scorecard",
            LineKind::Answer => "answers",
            LineKind::Parent => "parents",
        }
    }

    fn of(event: &Event) -> LineKind {
        match event {
            Event::Composite { .. } => LineKind::Composite,
            Event::Order(_) => LineKind::Order,
            Event::Fill(_) => LineKind::Fill,
            Event::Position { .. } => LineKind::Position,
            Event::Score { .. } => LineKind::Score,
            _ => LineKind::Decision,
        }
    }
}

/// The events of a batch that have a line.
fn told(batch: &Batch) -> impl Iterator<Item = &(u64, Event)> {
    let events = batch.events.iter();
    events.filter(|(_, event)| {
        !matches!(
            event,
            Event::Adopted(_) | Event::Benchmark(_) | Event::Seen(_)
        )
    })
}

/// Gives the lines of an entry of a batch to `each`, in order, without their ends. `line` is the memory for one.
pub fn lines_of(
    (labels, batch): (&Labels, &Batch),
    at_ns: u64,
    entry: &Entry<'_>,
    line: &mut String,
    mut each: impl FnMut(LineKind, &str),
) {
    let writer = Writer { labels, batch };
    match entry {
        Entry::Answer(answer) => {
            line.clear();
            command::answer(line, at_ns, answer);
            each(LineKind::Answer, line);
        }
        Entry::Event(Event::Adopted(_) | Event::Benchmark(_) | Event::Seen(_), _) => {}
        Entry::Event(event, _) => {
            if let Event::Accepted { terms, .. } = event {
                line.clear();
                command::parent(line, labels, terms);
                each(LineKind::Parent, line);
            }
            line.clear();
            writer.line(line, at_ns, event);
            each(LineKind::of(event), line);
        }
        Entry::Run { .. }
        | Entry::Received { .. }
        | Entry::Session { .. }
        | Entry::Command { .. }
        | Entry::Decision(_) => {}
    }
}

/// The six files, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Composites.
    pub composite: String,
    /// Decisions.
    pub decisions: String,
    /// Orders.
    pub orders: String,
    /// Fills.
    pub fills: String,
    /// Positions.
    pub positions: String,
    /// Scorecard.
    pub scorecard: String,
}

impl Files {
    /// Each file, with its name.
    pub fn named(&self) -> [(&'static str, &str); 6] {
        [
            ("composite.jsonl", &self.composite),
            ("decisions.jsonl", &self.decisions),
            ("orders.jsonl", &self.orders),
            ("fills.jsonl", &self.fills),
            ("positions.jsonl", &self.positions),
            ("scorecard.jsonl", &self.scorecard),
        ]
    }

    /// Appends the lines of a batch.
    pub fn write(&mut self, labels: &Labels, batch: &Batch) {
        for (at_ns, event) in told(batch) {
            let (out, writer) = (self.file(event), Writer { labels, batch });
            writer.line(out, *at_ns, event);
            out.push('\n');
        }
    }

    fn file(&mut self, event: &Event) -> &mut String {
        match LineKind::of(event) {
            LineKind::Composite => &mut self.composite,
            LineKind::Order => &mut self.orders,
            LineKind::Fill => &mut self.fills,
            LineKind::Position => &mut self.positions,
            LineKind::Score => &mut self.scorecard,
            LineKind::Decision => &mut self.decisions,
            LineKind::Answer | LineKind::Parent => unreachable!("an event has another kind"),
        }
    }
}

struct Writer<'a> {
    labels: &'a Labels,
    batch: &'a Batch,
}

impl Writer<'_> {
    fn line(&self, out: &mut String, at_ns: u64, event: &Event) {
        if let Event::Score { bank, pair, score } = event {
            score::line(out, self.labels, (*bank, *pair), score);
            return;
        }
        put!(out, "{{\"t\":{at_ns}");
        match event {
            Event::Composite {
                pair,
                tops,
                averages,
            } => self.composite(out, *pair, tops, averages),
            Event::Order(line) => self.order(out, line),
            Event::Fill(line) => self.fill(out, line),
            Event::Position {
                pair,
                position,
                worst,
                mid2,
                dates,
            } => {
                self.position(out, *pair, (position, worst), *mid2);
                if let Some(dates) = dates {
                    days::dates(out, &self.batch.dates[dates.clone()]);
                }
            }
            other => self.decision(out, other),
        }
        out.push('}');
    }

    fn composite(
        &self,
        out: &mut String,
        pair: Pair,
        tops: &[Option<Top>; 2],
        averages: &Range<usize>,
    ) {
        let about = &self.labels.pairs[pair];
        let state = crate::composite::state(tops);
        put!(
            out,
            ",\"pair\":\"{}\",\"state\":\"{}\"",
            about.symbol,
            state_name(state)
        );
        for (key, top) in [",\"bid\":", ",\"ask\":"].iter().zip(tops) {
            out.push_str(key);
            self.top(out, pair, top.as_ref());
        }
        out.push_str(",\"sizes\":[");
        let averages = &self.batch.averages[averages.clone()];
        for (place, (size, averages)) in about.sizes.iter().zip(averages).enumerate() {
            put!(out, "{}[{size}", comma(place));
            for average in averages {
                out.push(',');
                self.hundredths(out, pair, *average);
            }
            out.push(']');
        }
        out.push(']');
    }

    fn top(&self, out: &mut String, pair: Pair, top: Option<&Top>) {
        let Some(top) = top else {
            out.push_str("null");
            return;
        };
        out.push('[');
        self.price(out, pair, top.price);
        put!(out, ",{},[", top.quantity);
        self.banks(out, &top.banks);
        out.push_str("]]");
    }

    fn banks(&self, out: &mut String, banks: &BankSet) {
        for (place, bank) in banks.iter().enumerate() {
            put!(out, "{}\"{}\"", comma(place), self.bank(bank));
        }
    }

    fn decision(&self, out: &mut String, event: &Event) {
        put!(out, ",\"event\":\"{}\"", event_name(event));
        match event {
            Event::Accepted { terms, .. } => put_id(out, "parent", Some(&terms.id)),
            Event::Refused { parent, reason } => {
                put_id(out, "parent", parent.as_ref());
                put!(out, ",\"reason\":\"{}\"", reason.name());
            }
            Event::Waits { parent, reason } => {
                put_id(out, "parent", Some(&parent.id));
                put!(out, ",\"reason\":\"{}\"", wait_name(*reason));
            }
            Event::Plan { .. } => self.plan(out, event),
            Event::Ended(end) | Event::Settled(end) => self.parent_end(out, end),
            Event::Cooldown {
                bank,
                pair,
                code,
                until_ns,
            } => {
                self.bank_and_pair(out, *bank, *pair);
                put_code(out, *code);
                put!(out, ",\"until\":{until_ns}");
            }
            Event::Disabled { bank, pair, code } => {
                self.bank_and_pair(out, *bank, *pair);
                put_code(out, Some(*code));
            }
            Event::Enabled { bank, pair } => self.bank_and_pair(out, *bank, *pair),
            Event::Kill { by } => put_id(out, "by", by.as_ref()),
            Event::Lift { by, is_killed } => {
                put_id(out, "by", by.as_ref());
                put!(out, ",\"killed\":{is_killed}");
            }
            Event::OffMarket { bank, pair, is_off } => {
                self.bank_and_pair(out, *bank, *pair);
                put!(out, ",\"off\":{is_off}");
            }
            Event::Book { id, by, state } => {
                put_id(out, "id", id.as_ref());
                put_id(out, "by", by.as_ref());
                put!(out, ",\"state\":\"{}\"", state.name());
            }
            Event::Day(_) | Event::BankDay { .. } => days::line(out, self.labels, event),
            Event::Alarm { what, bank, order } => {
                put!(out, ",\"what\":\"{what}\"");
                put_id(out, "clordid", order.as_ref());
                if let Some(bank) =
                    bank.filter(|_| matches!(what, Alarm::NoMassStatus | Alarm::Run(_)))
                {
                    put!(out, ",\"bank\":\"{}\"", self.bank(bank));
                }
            }
            _ => {}
        }
    }

    fn plan(&self, out: &mut String, event: &Event) {
        let Event::Plan {
            parent,
            pair,
            open,
            kind,
            quantity,
            average,
            mid2,
            reference2,
            legs,
        } = event
        else {
            return;
        };
        put_id(out, "parent", Some(&parent.id));
        let kind = match kind {
            PlanKind::Full => "full",
            PlanKind::Sweep => "sweep",
            PlanKind::Both => "both",
        };
        put!(
            out,
            ",\"open\":{open},\"kind\":\"{kind}\",\"qty\":{quantity},\"avg\":"
        );
        self.hundredths(out, *pair, Some(*average));
        out.push_str(",\"mid\":");
        self.mid(out, *pair, Some(*mid2));
        out.push_str(",\"reference\":");
        self.mid(out, *pair, Some(*reference2));
        out.push_str(",\"legs\":[");
        for (place, leg) in self.batch.legs[legs.clone()].iter().enumerate() {
            put!(out, "{}[", comma(place));
            put_text(out, leg.order.id.as_str());
            put!(out, ",\"{}\",{},", self.bank(leg.bank), leg.quantity);
            self.price(out, *pair, leg.price);
            out.push(',');
            put_optional(out, leg.quote_id.as_ref());
            put!(out, ",{}]", leg.penalty);
        }
        out.push(']');
    }

    fn parent_end(&self, out: &mut String, end: &ParentEnd) {
        put_id(out, "parent", Some(&end.parent.id));
        match end.reason {
            Some(reason) => put!(out, ",\"reason\":\"{}\"", reason.name()),
            None => out.push_str(",\"reason\":null"),
        }
        put!(out, ",\"filled\":{},\"avg\":", end.filled);
        self.hundredths(out, end.pair, end.average);
        put!(out, ",\"out\":{}", end.out);
    }

    fn order(&self, out: &mut String, line: &OrderLine) {
        put_id(out, "clordid", line.id.as_ref());
        let event = match line.what {
            OrderEvent::Journal => "journal",
            OrderEvent::Sent => "sent",
            OrderEvent::Report => "report",
            OrderEvent::Timeout => "timeout",
            OrderEvent::Down => "down",
        };
        put!(
            out,
            ",\"bank\":\"{}\",\"event\":\"{event}\"",
            self.bank(line.bank)
        );
        match &line.status {
            Some(status) => put!(
                out,
                ",\"state\":\"{}\",\"cum\":{},\"leaves\":{}",
                order_state_name(status.state),
                status.cum,
                status.leaves
            ),
            None => out.push_str(",\"state\":null,\"cum\":null,\"leaves\":null"),
        }
        put_code(out, line.code);
        out.push_str(",\"fix\":");
        match &line.message {
            Some(message) => {
                out.push('"');
                let from = out.len();
                body(self.labels, message, out);
                escape(out, from);
                out.push('"');
            }
            None => out.push_str("null"),
        }
    }

    fn fill(&self, out: &mut String, line: &FillLine) {
        put_id(out, "clordid", line.order.as_ref().map(|order| &order.id));
        put_id(out, "parent", line.parent.as_ref());
        match line.bank {
            Some(bank) => put!(out, ",\"bank\":\"{}\"", self.bank(bank)),
            None => out.push_str(",\"bank\":null"),
        }
        put_id(out, "exec_id", Some(&line.exec_id));
        let kind = fill_name(line.kind);
        let side = side_name(line.side);
        put!(
            out,
            ",\"kind\":\"{kind}\",\"pair\":\"{}\"",
            self.symbol(line.pair)
        );
        put!(
            out,
            ",\"side\":\"{side}\",\"qty\":{},\"price\":",
            line.quantity
        );
        put_decimal(out, Some(i128::from(line.price.0)), ticks::PRICE_DECIMALS);
        match line.improve.zip(line.hold_ns) {
            Some((improve, hold_ns)) => {
                put!(out, ",\"improve\":{improve},\"hold_ns\":{hold_ns}");
            }
            None => out.push_str(",\"improve\":null,\"hold_ns\":null"),
        }
        put!(out, ",\"late\":{}", line.is_late);
        put_id(out, "settl_date", line.settl_date.as_ref());
        put_id(out, "currency", line.currency.as_ref());
        put_id(out, "ref", line.part_of.as_ref());
    }

    fn position(
        &self,
        out: &mut String,
        pair: Pair,
        (position, worst): (&Position, &WorstCase),
        mid2: Option<i64>,
    ) {
        let tick = ticks::tick(self.labels.pairs[pair].precision);
        put!(
            out,
            ",\"pair\":\"{}\",\"position\":{},\"cash\":\"",
            self.symbol(pair),
            position.units
        );
        ticks::write(out, position.cash, ticks::PRICE_DECIMALS);
        put!(
            out,
            "\",\"worst_long\":{},\"worst_short\":{},\"mid\":",
            worst.long,
            worst.short
        );
        self.mid(out, pair, mid2);
        out.push_str(",\"pnl\":");
        let pnl2 = mid2.map(|mid2| position.pnl2(mid2, tick) * 5);
        put_decimal(out, pnl2, ticks::PRICE_DECIMALS + 1);
    }

    fn bank_and_pair(&self, out: &mut String, bank: Bank, pair: Pair) {
        put!(
            out,
            ",\"bank\":\"{}\",\"pair\":\"{}\"",
            self.bank(bank),
            self.symbol(pair)
        );
    }

    fn bank(&self, bank: Bank) -> &str {
        &self.labels.banks[bank]
    }

    fn symbol(&self, pair: Pair) -> &str {
        &self.labels.pairs[pair].symbol
    }

    fn price(&self, out: &mut String, pair: Pair, ticks: i64) {
        let precision = u32::from(self.labels.pairs[pair].precision);
        put_decimal(out, Some(i128::from(ticks)), precision);
    }

    /// An average in hundredths of a tick.
    fn hundredths(&self, out: &mut String, pair: Pair, average: Option<i64>) {
        let precision = u32::from(self.labels.pairs[pair].precision);
        put_decimal(out, average.map(i128::from), precision + 2);
    }

    /// A mid, of twice its value.
    fn mid(&self, out: &mut String, pair: Pair, mid2: Option<i64>) {
        let precision = u32::from(self.labels.pairs[pair].precision);
        put_decimal(out, mid2.map(|mid2| i128::from(mid2) * 5), precision + 1);
    }
}

fn comma(place: usize) -> &'static str {
    match place {
        0 => "",
        _ => ",",
    }
}

fn put_code(out: &mut String, code: Option<RejectCode>) {
    match code {
        Some(code) => put!(out, ",\"code\":\"{}\"", code.name()),
        None => out.push_str(",\"code\":null"),
    }
}

fn put_id(out: &mut String, key: &str, id: Option<&Id>) {
    put!(out, ",\"{key}\":");
    put_optional(out, id);
}

fn put_optional(out: &mut String, id: Option<&Id>) {
    match id {
        Some(id) => put_text(out, id.as_str()),
        None => out.push_str("null"),
    }
}

/// A text as a JSON string. Names are printable; only the text of an answer may have control characters.
fn put_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            '\n' => out.push_str("\\n"),
            control if control < ' ' => put!(out, "\\u{:04x}", control as u32),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Escapes the text appended from a place on; texts of banks and desks hardly ever need it.
fn escape(out: &mut String, from: usize) {
    if out[from..].contains(['"', '\\']) {
        let text = out.split_off(from);
        for character in text.chars() {
            if matches!(character, '"' | '\\') {
                out.push('\\');
            }
            out.push(character);
        }
    }
}

fn put_decimal(out: &mut String, value: Option<i128>, decimals: u32) {
    let Some(value) = value else {
        out.push_str("null");
        return;
    };
    out.push('"');
    ticks::write(out, value, decimals);
    out.push('"');
}
