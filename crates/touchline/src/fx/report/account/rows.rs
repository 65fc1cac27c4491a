//! Rows of an account. Prices are 1e-9, costs 1e-9 of the term currency, mids twice their value.

use super::Day;
use touchline_fx_events::orders::{OrderState, RejectCode};
use touchline_fx_events::scorecard::{HORIZONS_MS, Mean, Score};
use touchline_types::{Id, Price, Side};

/// A pair.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Symbol.
    pub symbol: String,
    /// Decimals of a tick.
    pub precision: u8,
    /// Sizes of the composite, units.
    pub sizes: Vec<i64>,
}

impl Pair {
    /// Base and term currency.
    pub fn currencies(&self) -> (&str, &str) {
        self.symbol.split_once('/').unwrap_or((&self.symbol, ""))
    }
}

/// The market that a parent met.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrival {
    /// Twice the mid, 1e-9.
    pub mid2: Option<i128>,
    /// Average price of the whole quantity, hundredths of a tick.
    pub whole: Option<i64>,
}

/// End of a parent.
#[derive(Debug, Clone)]
pub struct End {
    /// Time.
    pub at_ns: u64,
    /// Reason.
    pub reason: &'static str,
}

/// A parent.
#[derive(Debug)]
pub struct Parent {
    /// Name.
    pub id: Id,
    /// Pair.
    pub pair: usize,
    /// Decimals of a tick.
    pub precision: u8,
    /// Arrival.
    pub at_ns: u64,
    /// Trade date of the arrival.
    pub day: Day,
    /// Client and person; none of a parent that no command made.
    pub by: Option<[String; 2]>,
    /// Whether it stands for an order that the journal lost.
    pub is_adopted: bool,
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Units.
    pub quantity: i64,
    /// Worst price.
    pub limit: Option<Price>,
    /// Word of its lifetime.
    pub lifetime: &'static str,
    /// The market that it met.
    pub arrival: Arrival,
    /// Number of plans.
    pub plans: u64,
    /// Number of orders.
    pub orders: u64,
    /// Units filled, net of busts.
    pub filled: i64,
    /// Units times price of these.
    pub cost: i128,
    /// End.
    pub end: Option<End>,
    /// Time at which none of its orders could be filled any more.
    pub settled_ns: Option<u64>,
}

/// End of an order.
#[derive(Debug, Clone, Copy)]
pub struct OrderEnd {
    /// Time.
    pub at_ns: u64,
    /// Twice the mid, 1e-9.
    pub mid2: Option<i128>,
}

/// An order.
#[derive(Debug)]
pub struct Order {
    /// ClOrdID.
    pub id: Id,
    /// Place of its parent.
    pub parent: Option<usize>,
    /// Bank.
    pub bank: usize,
    /// Pair.
    pub pair: usize,
    /// A tick, 1e-9.
    pub tick: i64,
    /// Decimals of a tick.
    pub precision: u8,
    /// Time of sending.
    pub sent_ns: u64,
    /// Trade date of the sending.
    pub day: Day,
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Units.
    pub quantity: i64,
    /// Worst price.
    pub price: Price,
    /// Whether it names a quote.
    pub is_quoted: bool,
    /// Fill or kill; otherwise immediate or cancel.
    pub is_fok: bool,
    /// Value date, `YYYYMMDD`.
    pub value_date: u32,
    /// Twice the mid at its sending, 1e-9.
    pub mid2: Option<i128>,
    /// State.
    pub state: OrderState,
    /// Whether we asked for its cancel, also if the bank refused that.
    pub is_cancel_asked: bool,
    /// Reject code of an end without a fill; none of an end that we asked for.
    pub code: Option<RejectCode>,
    /// Number of times it became unknown.
    pub unknown: u64,
    /// Number of fills.
    pub fills: u64,
    /// Units of these, busts counted as filled.
    pub cum: i64,
    /// Units filled, net of busts.
    pub filled: i64,
    /// Units times price of these.
    pub cost: i128,
    /// End.
    pub end: Option<OrderEnd>,
    /// Whether the desk ended it: the time of its end is not that of a decision of the bank.
    pub is_resolved: bool,
    /// Whether the journal had lost it: when it was sent is not known.
    pub is_adopted: bool,
}

impl Order {
    /// 1 for a buyer, -1 for a seller.
    pub fn sign(&self) -> i128 {
        sign(self.side)
    }

    /// Whether the bank ended it with nothing filled.
    pub fn is_rejected(&self) -> bool {
        self.end.is_some() && self.fills == 0 && self.code.is_some()
    }

    /// Whether the bank decided to reject it. An order of code N never arrived, or the desk ended it.
    pub fn is_judged(&self) -> bool {
        self.is_rejected() && self.code != Some(RejectCode::NeverArrived)
    }

    /// Move of the mid in our favour between sending and end, twice its value, 1e-9: a rising market favours a buyer whose price stands.
    pub fn moved2(&self) -> Option<i128> {
        Some(self.sign() * (self.end?.mid2? - self.mid2?))
    }
}

/// 1 for a buyer, -1 for a seller.
pub fn sign(side: Side) -> i128 {
    match side {
        Side::Bid => 1,
        Side::Ask => -1,
    }
}

/// A command.
#[derive(Debug)]
pub struct CommandRow {
    /// Time.
    pub at_ns: u64,
    /// Trade date.
    pub day: Day,
    /// Client.
    pub client: String,
    /// Person.
    pub person: String,
    /// Number of the request.
    pub request: u64,
    /// The command as JSON, or its bytes.
    pub text: String,
    /// The answer, with the reasons for programs and for people.
    pub answer: Option<(String, [String; 2])>,
}

/// An alarm, or a kill.
#[derive(Debug)]
pub struct AlarmRow {
    /// Time.
    pub at_ns: u64,
    /// Trade date.
    pub day: Day,
    /// Name.
    pub what: String,
    /// Bank.
    pub bank: Option<String>,
    /// Order, as named.
    pub order: Option<String>,
    /// Who set the kill switch.
    pub by: Option<String>,
}

/// Units at a price that a position has from one fill: negative units were sold, or were taken back.
#[derive(Debug, Clone, Copy)]
pub struct Booked {
    /// Trade date of the booking.
    pub day: Day,
    /// Place of its order.
    pub order: Option<usize>,
    /// Pair.
    pub pair: usize,
    /// Value date; none if a booking states none that is a date.
    pub value_date: Option<u32>,
    /// Base units.
    pub units: i64,
    /// Price, 1e-9.
    pub price: i64,
    /// Whether it takes an earlier one of its order back.
    pub is_back: bool,
}

/// A mid, and its time.
#[derive(Debug, Clone, Copy)]
pub struct Mid {
    /// Time.
    pub at_ns: u64,
    /// Twice the mid, 1e-9; none without two sides.
    pub mid2: Option<i128>,
}

/// Sums over the values of one measure that came between two scores of the engine, its batches: the journal has no single values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    /// All values.
    pub all: Mean,
    /// Number of batches with a value.
    pub batches: u64,
    /// Sums over the batches: count squared, count times sum, sum squared.
    pub squares: [f64; 3],
}

impl Sums {
    fn add(&mut self, before: &Mean, now: &Mean) {
        let Some(count) = now
            .count
            .checked_sub(before.count)
            .filter(|count| *count > 0)
        else {
            return;
        };
        let sum2 = now.sum2 - before.sum2;
        self.all.count += count;
        self.all.sum2 += sum2;
        self.batches += 1;
        let (count, sum) = (count as f64, sum2 as f64);
        for (square, value) in self
            .squares
            .iter_mut()
            .zip([count * count, count * sum, sum * sum])
        {
            *square += value;
        }
    }

    /// Adds the sums of another time.
    pub fn join(&mut self, other: &Sums) {
        self.all.count += other.all.count;
        self.all.sum2 += other.all.sum2;
        self.batches += other.batches;
        for (square, value) in self.squares.iter_mut().zip(other.squares) {
            *square += value;
        }
    }
}

/// Scores of a bank and a pair that follow from quotes.
#[derive(Debug, Clone, Default)]
pub struct Quoted {
    /// Quote messages.
    pub quotes: u64,
    /// Time at the best price, by side.
    pub best_ns: [u64; 2],
    /// Time with the pricing session up.
    pub up_ns: u64,
    /// Time with both sides usable, and the spread over it, ticks times nanoseconds.
    pub spread: (u64, i128),
    /// Mid less price after a fill, in our favour, by horizon.
    pub markouts: [Sums; HORIZONS_MS.len()],
}

impl Quoted {
    /// Adds what a score grew by since the one before.
    pub fn add(&mut self, before: &Score, now: &Score) {
        self.quotes += now.quotes.saturating_sub(before.quotes);
        self.up_ns += now.up_ns.saturating_sub(before.up_ns);
        for (sum, (now, before)) in self
            .best_ns
            .iter_mut()
            .zip(now.best_ns.iter().zip(before.best_ns))
        {
            *sum += now.saturating_sub(before);
        }
        self.spread.0 += now.spread_ns.saturating_sub(before.spread_ns);
        self.spread.1 += now.spread_sum - before.spread_sum;
        for (sums, (before, now)) in self
            .markouts
            .iter_mut()
            .zip(before.markouts.iter().zip(&now.markouts))
        {
            sums.add(before, now);
        }
    }

    /// Adds the scores of another time.
    pub fn join(&mut self, other: &Quoted) {
        self.quotes += other.quotes;
        self.up_ns += other.up_ns;
        self.best_ns[0] += other.best_ns[0];
        self.best_ns[1] += other.best_ns[1];
        self.spread.0 += other.spread.0;
        self.spread.1 += other.spread.1;
        for (sums, other) in self.markouts.iter_mut().zip(&other.markouts) {
            sums.join(other);
        }
    }
}
