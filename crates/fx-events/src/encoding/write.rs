//! Writing a batch.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

mod days;
mod decision;

use super::bytes::{NO_I64, NO_I128, NO_U8, NO_U16, NO_U32, NO_U64, Put};
use super::codes::Coded;
use super::{CONTINUES, ENTRY_BYTES, HEAD_BYTES, MORE, PART_BYTES, benchmark, kind, score, seen};
use crate::command::Command;
use crate::composite::Top;
use crate::desk::Desk;
use crate::event::{
    Adopted, Alarm, Answer, Batch, DontKnow, Event, FillLine, Message, OrderEvent, OrderLine,
    ParentEnd, RunAlarm, SessionChange,
};
use crate::labels::Labels;
use crate::lines::msg_type;
use crate::orders::Terms;
use crate::parents::ParentTerms;
use crate::ticks;
use touchline_types::Id;

/// A batch while it is written; it keeps its memory.
#[derive(Debug, Default)]
pub struct Encoder {
    out: Vec<u8>,
    /// Offset of each part.
    parts: Vec<usize>,
    /// Entries of the present part, and of the parts before.
    entries: (u32, u64),
    at_ns: u64,
    /// Offset of the body of the present entry.
    body: usize,
}

impl Encoder {
    /// Reserves memory for a batch of this many bytes.
    pub fn reserve(&mut self, bytes: usize) {
        self.out.reserve(bytes);
        self.parts.reserve(bytes / PART_BYTES + 1);
    }

    /// Begins a batch.
    pub fn begin(&mut self, at_ns: u64) {
        self.out.clear();
        self.parts.clear();
        self.entries = (0, 0);
        self.at_ns = at_ns;
        self.begin_part(0);
    }

    /// Whether the batch has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries == (0, 0)
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.entries.1 + u64::from(self.entries.0)
    }

    /// Ends the batch. `first` is the number of its first entry; 0: it is in no journal. Returns the number of its parts.
    pub fn finish(&mut self, first: u64) -> usize {
        self.end_part(0);
        let mut number = first;
        for place in 0..self.parts.len() {
            let begin = self.parts[place];
            let head = &mut self.out[begin..begin + HEAD_BYTES];
            head[8..16].copy_from_slice(&number.to_le_bytes());
            let count = u32::from_le_bytes([head[16], head[17], head[18], head[19]]);
            number += if first == 0 { 0 } else { u64::from(count) };
        }
        self.parts.len()
    }

    /// A part of a batch that was ended, from 0.
    pub fn part(&self, place: usize) -> &[u8] {
        let end = self.parts.get(place + 1).copied();
        &self.out[self.parts[place]..end.unwrap_or(self.out.len())]
    }

    fn begin_part(&mut self, flags: u8) {
        self.parts.push(self.out.len());
        self.out.u64(self.at_ns);
        self.out.put([0; HEAD_BYTES - 9]);
        self.out.u8(flags);
    }

    fn end_part(&mut self, flags: u8) {
        let begin = self.parts[self.parts.len() - 1];
        let head = &mut self.out[begin..begin + HEAD_BYTES];
        head[16..20].copy_from_slice(&self.entries.0.to_le_bytes());
        head[20] |= flags;
    }

    /// Begins an entry; a long batch continues in another part.
    fn entry(&mut self, kind: u8) -> &mut Vec<u8> {
        if self.out.len() - self.parts[self.parts.len() - 1] > PART_BYTES {
            self.end_part(MORE);
            self.entries = (0, self.entries());
            self.begin_part(CONTINUES);
        }
        self.entries.0 += 1;
        self.out.u8(kind);
        self.out.u32(0);
        self.body = self.out.len();
        &mut self.out
    }

    fn end_entry(&mut self) {
        let length = (self.out.len() - self.body) as u32;
        self.out[self.body - ENTRY_BYTES + 1..self.body].copy_from_slice(&length.to_le_bytes());
    }

    /// A run begins. `drops`: whether each bank drops open orders with a lost connection, by its rules; empty if they are not known.
    pub fn run(&mut self, epoch: u64, date: &str, labels: &Labels, drops: &[bool]) {
        let out = self.entry(kind::RUN);
        out.u64(epoch);
        out.text(date);
        labels.encode(out);
        out.extend(drops.iter().map(|drops| u8::from(*drops)));
        self.end_entry();
    }

    /// A message of a bank about orders.
    pub fn received(&mut self, bank: usize, message: &[u8]) {
        let out = self.entry(kind::RECEIVED);
        out.u16(bank as u16);
        out.extend_from_slice(message);
        self.end_entry();
    }

    /// An order session came up or was lost.
    pub fn session(&mut self, bank: usize, change: SessionChange) {
        let out = self.entry(kind::SESSION);
        out.u16(bank as u16);
        out.u8(change as u8);
        self.end_entry();
    }

    /// Adds a command, or the bytes of a malformed one.
    pub fn command(
        &mut self,
        request: u64,
        client: &str,
        person: &str,
        received: Result<&Command, &[u8]>,
    ) {
        let out = self.entry(kind::COMMAND);
        out.u64(request);
        out.text(client);
        out.text(person);
        match received {
            Ok(command) => command.encode(out),
            Err(bytes) => out.extend_from_slice(bytes),
        }
        self.end_entry();
    }

    /// The answer to a command.
    pub fn answer(&mut self, answer: &Answer<'_>) {
        let out = self.entry(kind::ANSWER);
        out.u64(answer.request);
        out.text(answer.client);
        for text in [Some(answer.answer), answer.reason, answer.cause] {
            out.long_text(text);
        }
        self.end_entry();
    }

    /// Adds the decision of a command.
    pub fn decision(&mut self, desk: &Desk) {
        let out = self.entry(kind::DECISION);
        decision::put(out, desk);
        self.end_entry();
    }

    /// An event of a batch; `sequence` is the MsgSeqNum of its message, if it sends one.
    pub fn event(
        &mut self,
        labels: &Labels,
        batch: &Batch,
        (at_ns, event): &(u64, Event),
        sequence: u64,
    ) {
        // Each pair of lines of a new order is one entry.
        if matches!(event, Event::Order(line) if line.what == OrderEvent::Journal) {
            return;
        }
        if *at_ns != self.at_ns {
            self.entry(kind::TIME).u64(*at_ns);
            self.end_entry();
            self.at_ns = *at_ns;
        }
        let body = Body { labels, batch };
        let of = kind_of(event);
        if let Event::Adopted(adopted) = event {
            let Adopted {
                parent,
                parent_terms,
                ..
            } = &**adopted;
            body.parent(self.entry(kind::ADOPTED_PARENT), *parent, parent_terms);
            self.end_entry();
        }
        if let Event::Position {
            pair,
            dates: Some(dates),
            ..
        } = event
        {
            self.position_dates(*pair, &batch.dates[dates.clone()]);
        }
        body.event(self.entry(of), event, sequence);
        self.end_entry();
    }
}

fn kind_of(event: &Event) -> u8 {
    match event {
        Event::Composite { .. } => kind::COMPOSITE,
        Event::Accepted { .. } => kind::PARENT,
        Event::Refused { .. } => kind::REFUSED,
        Event::Waits { .. } => kind::WAITS,
        Event::Plan { .. } => kind::PLAN,
        Event::Ended(_) => kind::ENDED,
        Event::Settled(_) => kind::SETTLED,
        Event::Cooldown { .. } => kind::COOLDOWN,
        Event::Disabled { .. } => kind::DISABLED,
        Event::Enabled { .. } => kind::ENABLED,
        Event::Kill { .. } => kind::KILL,
        Event::Lift { .. } => kind::LIFT,
        Event::OffMarket { .. } => kind::OFF_MARKET,
        Event::Book { .. } => kind::BOOK,
        Event::Day(_) => kind::DAY,
        Event::BankDay { .. } => kind::BANK_DAY,
        Event::Alarm { .. } => kind::ALARM,
        Event::Adopted(_) => kind::ADOPTED,
        Event::Order(line) => match &line.message {
            Some(Message::Order(_)) => kind::ORDER,
            Some(_) => kind::MESSAGE,
            None => kind::STATE,
        },
        Event::Fill(_) => kind::FILL,
        Event::Position { .. } => kind::POSITION,
        Event::Benchmark(_) => kind::BENCHMARK,
        Event::Seen(_) => kind::SEEN,
        Event::Score { .. } => kind::SCORE,
    }
}

/// Writes bodies of events.
struct Body<'a> {
    labels: &'a Labels,
    batch: &'a Batch,
}

impl Body<'_> {
    fn event(&self, out: &mut Vec<u8>, event: &Event, sequence: u64) {
        match event {
            Event::Composite {
                pair,
                tops,
                averages,
            } => self.composite(out, *pair, tops, &self.batch.averages[averages.clone()]),
            Event::Accepted { number, terms } => self.parent(out, *number, terms),
            Event::Refused { parent, reason } => {
                out.u8(reason.code());
                out.id(parent.as_ref());
            }
            Event::Waits { parent, reason } => {
                out.u32(parent.number);
                out.u8(reason.code());
            }
            Event::Plan { .. } => self.plan(out, event),
            Event::Ended(end) | Event::Settled(end) => self.parent_end(out, end),
            Event::Cooldown { .. }
            | Event::Disabled { .. }
            | Event::Enabled { .. }
            | Event::OffMarket { .. } => conduct(out, event),
            Event::Kill { by } => out.id(by.as_ref()),
            Event::Lift { by, is_killed } => {
                out.u8(u8::from(*is_killed));
                out.id(by.as_ref());
            }
            Event::Book { id, by, state } => {
                out.u8(state.code());
                out.id(id.as_ref());
                out.id(by.as_ref());
            }
            Event::Day(_) | Event::BankDay { .. } => days::day(out, event),
            Event::Alarm { what, bank, order } => {
                let (code, letter) = alarm(*what);
                out.u8(code);
                out.u8(letter);
                out.u16(bank.map_or(NO_U16, |bank| bank as u16));
                out.id(order.as_ref());
            }
            Event::Adopted(adopted) => {
                self.order(out, (adopted.number, adopted.parent), &adopted.terms, 0);
                out.id(Some(&adopted.of));
            }
            Event::Order(line) => self.order_line(out, line, sequence),
            Event::Fill(fill) => fill_line(out, fill),
            Event::Position { .. } => self.position(out, event),
            Event::Seen(of) => {
                seen::put(out, of, &self.batch.seen, |ticks| {
                    self.price(of.pair, ticks)
                });
            }
            Event::Benchmark(mark) => {
                let prices = [mark.mid2, mark.average].map(|of| self.exact(mark.pair, of));
                benchmark::put(out, mark, prices);
            }
            Event::Score { bank, pair, score } => {
                bank_and_pair(out, *bank, *pair);
                score::put(out, score);
            }
        }
    }

    fn position(&self, out: &mut Vec<u8>, event: &Event) {
        let Event::Position {
            pair,
            position,
            worst,
            mid2,
            dates: _,
        } = event
        else {
            unreachable!("it is called for positions");
        };
        out.u16(*pair as u16);
        out.i64(position.units);
        out.i128(position.cash);
        out.i64(worst.long);
        out.i64(worst.short);
        out.i128(self.exact(*pair, *mid2));
    }

    fn composite(
        &self,
        out: &mut Vec<u8>,
        pair: usize,
        tops: &[Option<Top>; 2],
        averages: &[[Option<i64>; 2]],
    ) {
        out.u16(pair as u16);
        tops.iter()
            .for_each(|top| self.top(out, pair, top.as_ref()));
        out.u16(averages.len() as u16);
        for average in averages.iter().flatten() {
            out.i128(self.exact(pair, *average));
        }
    }

    /// A price in parts of a tick as the same part of 1e-9.
    fn exact(&self, pair: usize, ticks: Option<i64>) -> i128 {
        let tick = i128::from(ticks::tick(self.labels.pairs[pair].precision));
        ticks.map_or(NO_I128, |ticks| i128::from(ticks) * tick)
    }

    fn price(&self, pair: usize, ticks: i64) -> i64 {
        ticks::exact(ticks, self.labels.pairs[pair].precision).0
    }

    fn top(&self, out: &mut Vec<u8>, pair: usize, top: Option<&Top>) {
        let Some(top) = top else {
            out.i64(NO_I64);
            return;
        };
        out.i64(self.price(pair, top.price));
        out.i64(top.quantity);
        out.u16(top.banks.len() as u16);
        top.banks.iter().for_each(|bank| out.u16(bank as u16));
    }

    fn parent(&self, out: &mut Vec<u8>, number: u32, terms: &ParentTerms) {
        out.u32(number);
        out.u16(terms.pair as u16);
        out.u8(terms.side.code());
        out.u8(terms.lifetime.code());
        out.u8(terms.style.code());
        out.u8(terms.urgency as u8);
        out.u8(u8::from(terms.partial));
        out.i64(terms.quantity);
        out.i64(
            terms
                .limit
                .map_or(NO_I64, |limit| self.price(terms.pair, limit)),
        );
        out.u64(terms.deadline_ms);
        out.id(Some(&terms.id));
    }

    fn plan(&self, out: &mut Vec<u8>, event: &Event) {
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
            unreachable!("it is called for plans");
        };
        out.u32(parent.number);
        out.u16(*pair as u16);
        out.u8(kind.code());
        out.i64(*open);
        out.i64(*quantity);
        for parts in [average, mid2, reference2] {
            out.i128(self.exact(*pair, Some(*parts)));
        }
        out.u16(legs.len() as u16);
        for leg in &self.batch.legs[legs.clone()] {
            out.u32(leg.order.number);
            out.i64(leg.penalty);
        }
    }

    fn parent_end(&self, out: &mut Vec<u8>, end: &ParentEnd) {
        out.u32(end.parent.number);
        out.u16(end.pair as u16);
        out.u8(end.reason.map_or(NO_U8, Coded::code));
        out.i64(end.filled);
        out.i128(self.exact(end.pair, end.average));
        out.i64(end.out);
    }

    fn order(&self, out: &mut Vec<u8>, (number, parent): (u32, u32), terms: &Terms, sequence: u64) {
        out.u32(number);
        out.u32(parent);
        bank_and_pair(out, terms.bank, terms.pair);
        out.u8(terms.side.code());
        out.u8(u8::from(terms.is_fok));
        out.u32(terms.value_date);
        out.i64(terms.quantity);
        out.i64(self.price(terms.pair, terms.price));
        out.i128(self.exact(terms.pair, terms.mid2_sent));
        out.u64(sequence);
        out.u64(terms.sent_ns);
        out.id(Some(&terms.id));
        out.id(terms.quote_id.as_ref());
    }

    fn order_line(&self, out: &mut Vec<u8>, line: &OrderLine, sequence: u64) {
        if let Some(Message::Order(terms)) = &line.message {
            let number = line.number.expect("a new order has a number");
            self.order(out, (number, terms.parent as u32), terms, sequence);
            return;
        }
        out.u32(line.number.unwrap_or(NO_U32));
        out.u16(line.bank as u16);
        out.u8(line.what.code());
        let status = line.status;
        out.u8(status.map_or(NO_U8, |status| status.state.code()));
        out.u8(line.code.map_or(NO_U8, Coded::code));
        out.i64(status.map_or(0, |status| status.cum));
        out.i64(status.map_or(0, |status| status.leaves));
        out.id(line.id.as_ref().filter(|_| line.number.is_none()));
        if let Some(message) = &line.message {
            put_message(out, message, sequence);
        }
    }
}

fn put_message(out: &mut Vec<u8>, message: &Message, sequence: u64) {
    out.u64(sequence);
    out.text(msg_type(message));
    match message {
        Message::Order(_) => unreachable!("an order has its own kind"),
        Message::Cancel { id, at_ns, .. } => {
            out.u64(*at_ns);
            out.id(Some(id));
        }
        Message::Status { request, .. } | Message::MassStatus { request } => out.u64(*request),
        Message::DontKnow(said) => {
            out.u8(said.reason as u8);
            texts_of(said).iter().for_each(|text| out.id(*text));
        }
    }
}

fn texts_of(said: &DontKnow) -> [Option<&Id>; 7] {
    [
        said.exec_id.as_ref(),
        said.last_px.as_ref(),
        said.last_qty.as_ref(),
        said.order_id.as_ref(),
        said.order_qty.as_ref(),
        said.side.as_ref(),
        said.symbol.as_ref(),
    ]
}

fn fill_line(out: &mut Vec<u8>, fill: &FillLine) {
    out.u32(fill.order.map_or(NO_U32, |order| order.number));
    out.u16(fill.bank.map_or(NO_U16, |bank| bank as u16));
    out.u16(fill.pair as u16);
    out.u8(fill.kind.code());
    out.u8(fill.side.code());
    out.u8(u8::from(fill.is_late));
    out.i64(fill.quantity);
    out.i64(fill.price.0);
    out.i64(fill.improve.unwrap_or(NO_I64));
    out.u64(fill.hold_ns.unwrap_or(NO_U64));
    out.id(Some(&fill.exec_id));
    for text in [&fill.settl_date, &fill.currency, &fill.part_of] {
        out.id(text.as_ref());
    }
}

/// A slot, a bank and a pair, is closed or opened.
fn conduct(out: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Cooldown {
            bank,
            pair,
            code,
            until_ns,
        } => {
            bank_and_pair(out, *bank, *pair);
            out.u8(code.map_or(NO_U8, Coded::code));
            out.u64(*until_ns);
        }
        Event::Disabled { bank, pair, code } => {
            bank_and_pair(out, *bank, *pair);
            out.u8(code.code());
        }
        Event::Enabled { bank, pair } => bank_and_pair(out, *bank, *pair),
        Event::OffMarket { bank, pair, is_off } => {
            bank_and_pair(out, *bank, *pair);
            out.u8(u8::from(*is_off));
        }
        _ => unreachable!("it is called for slots"),
    }
}

fn bank_and_pair(out: &mut Vec<u8>, bank: usize, pair: usize) {
    out.u16(bank as u16);
    out.u16(pair as u16);
}

fn alarm(what: Alarm) -> (u8, u8) {
    match what {
        Alarm::DontKnow(letter) => (Alarm::DontKnow('A').code(), letter as u8),
        Alarm::Run(what) => (Alarm::Run(RunAlarm::SessionLost).code(), what.code()),
        other => (other.code(), 0),
    }
}
