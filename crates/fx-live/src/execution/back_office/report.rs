//! An execution as values, written as the fields of an ExecutionReport when it is sent.

use std::fmt::{self, Display, Write};
use std::sync::Arc;
use touchline_fx_desk::ledger::{Executed, OrderRow, OrderTerms};
use touchline_fx_events::event::FillLine;
use touchline_fx_events::orders::{OrderState, RejectCode};
use touchline_fx_events::ticks;
use touchline_types::{Id, Price, Side};
use touchline_wire::fix::{Encoder, Precision};

/// Decimals of an average price, at most.
const DECIMALS: u32 = 9;
/// TransactTime (60).
const TRANSACT_TIME: u32 = 60;

/// An execution: at most 160 bytes and eight identifiers of 64 bytes.
#[derive(Debug)]
pub struct Report {
    /// Time of the execution.
    pub at_ns: u64,
    /// ExecID (17).
    pub exec_id: Box<str>,
    /// ExecType (150).
    pub exec_type: char,
    /// Subject of the report.
    pub what: What,
    /// ExecRefID (19): ExecID of the report that is corrected or busted.
    pub corrects: Option<Box<str>>,
    /// SecondaryExecID (527): ExecID of the bank.
    pub bank_exec_id: Option<Box<str>>,
}

/// Subject of a report.
#[derive(Debug)]
pub enum What {
    /// End of an order without a fill, and the code of the bank's reject.
    End(OrderAt, Option<RejectCode>),
    /// Trade of an order, its bust or its correction.
    Trade(OrderAt, Trade),
    /// Trade that the desk booked without an order.
    Booking {
        /// Bank, if the booking names one.
        bank: Option<Box<str>>,
        /// Pair.
        pair: Box<str>,
        /// [`Side::Bid`] bought.
        side: Side,
        /// The trade.
        trade: Trade,
    },
}

/// What an order is from its sending on.
#[derive(Debug)]
pub struct Sent {
    /// ClOrdID.
    pub id: Id,
    bank: Arc<str>,
    terms: OrderTerms,
}

/// An order at the time of a report.
#[derive(Debug)]
pub struct OrderAt {
    sent: Arc<Sent>,
    state: OrderState,
    /// Units filled, busts counted as filled.
    filled: i64,
    /// Units filled without busts.
    net: i64,
    /// Cost of those, units times 1e-9.
    cost: i128,
}

/// A trade. A correction may change parent and value date of its order.
#[derive(Debug)]
pub struct Trade {
    /// Units.
    pub quantity: i64,
    /// Price.
    pub price: Price,
    /// The parent's name.
    pub parent: Option<Box<str>>,
    /// Value date as the bank or the desk stated it.
    pub settl_date: Option<Box<str>>,
}

impl Report {
    /// A report that corrects nothing and has no ExecID of the bank.
    pub fn new(at_ns: u64, exec_type: char, exec_id: &str, what: What) -> Report {
        Report {
            at_ns,
            exec_id: exec_id.into(),
            exec_type,
            what,
            corrects: None,
            bank_exec_id: None,
        }
    }

    /// Checksum of time and fields, by which a number that was used is known again.
    pub fn checksum(&self) -> u64 {
        // FNV-1a.
        let add =
            |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let time = self.at_ns.to_le_bytes();
        let mut hash = time.iter().fold(0xcbf2_9ce4_8422_2325, add);
        self.fields(|tag, value| {
            let field = format!("{tag}={value}\u{1}");
            hash = field.as_bytes().iter().fold(hash, add);
        });
        hash
    }

    /// Writes the fields.
    pub fn write(&self, encoder: &mut Encoder<'_>) {
        self.fields(|tag, value| {
            encoder.bytes(tag, value.as_bytes());
        });
        encoder.timestamp(TRANSACT_TIME, self.at_ns, Precision::Milliseconds);
    }

    /// Gives tag and value of each field but TransactTime to `each`.
    pub fn fields(&self, each: impl FnMut(u32, &str)) {
        let mut to = Fields {
            each,
            value: Clean(String::new()),
        };
        match &self.what {
            What::End(order, _) => self.order(&mut to, order, None),
            What::Trade(order, trade) => self.order(&mut to, order, Some(trade)),
            What::Booking {
                bank,
                pair,
                side,
                trade,
            } => self.booking(&mut to, (bank.as_deref(), pair, *side), trade),
        }
        if let What::End(_, code) = self.what {
            if self.exec_type == '8' {
                // Other: the codes of the Investment Association are newer than FIX 4.4.
                to.put(103, 99);
            }
            to.put_some(58, code.map(|code| format!("code {}", code.name())));
        }
        if let What::Trade(_, trade) | What::Booking { trade, .. } = &self.what {
            to.put(32, trade.quantity);
            to.put(31, decimal(trade.price));
        }
        to.put_some(19, self.corrects.as_ref());
        to.put_some(527, self.bank_exec_id.as_ref());
    }

    /// Fields of an order's report, with the quantities executed at that time.
    fn order<F: FnMut(u32, &str)>(
        &self,
        to: &mut Fields<F>,
        order: &OrderAt,
        trade: Option<&Trade>,
    ) {
        let Sent { id, bank, terms } = &*order.sent;
        to.put(37, id);
        to.put(11, id);
        to.put_some(583, trade.and_then(|trade| trade.parent.as_ref()));
        to.put_bank(bank);
        to.put(17, &self.exec_id);
        to.put(150, self.exec_type);
        to.put(39, order.status());
        to.put(1, terms.account);
        to.put(15, terms.base);
        to.put(38, terms.quantity);
        to.put(40, if terms.is_quoted { 'D' } else { '2' });
        to.put(44, decimal(terms.price));
        to.put(54, side(terms.side));
        to.put(55, &terms.pair);
        to.put(59, if terms.is_fok { '4' } else { '3' });
        match trade.and_then(|trade| trade.settl_date.as_ref()) {
            Some(date) => to.put(64, date),
            None => to.put(64, terms.value_date),
        }
        to.put(151, order.leaves());
        to.put(14, order.net);
        to.put(6, order.average());
    }

    /// Fields of a trade without an order.
    fn booking<F: FnMut(u32, &str)>(
        &self,
        to: &mut Fields<F>,
        (bank, pair, bought): (Option<&str>, &str, Side),
        trade: &Trade,
    ) {
        to.put(37, &self.exec_id);
        if let Some(bank) = bank {
            to.put_bank(bank);
        }
        to.put(17, &self.exec_id);
        to.put(150, self.exec_type);
        to.put(39, '2');
        to.put(38, trade.quantity);
        to.put(54, side(bought));
        to.put(55, pair);
        to.put(64, trade.settl_date.as_deref().unwrap_or_default());
        to.put(151, 0);
        to.put(14, trade.quantity);
        to.put(6, decimal(trade.price));
    }
}

impl Sent {
    /// The order of a row.
    pub fn of(order: &OrderRow) -> Sent {
        Sent {
            id: order.id,
            bank: Arc::clone(&order.bank),
            terms: order.terms.clone(),
        }
    }
}

impl OrderAt {
    /// The order as the ledger has it now.
    pub fn now(sent: Arc<Sent>, order: &OrderRow) -> OrderAt {
        let Executed {
            filled, net, cost, ..
        } = order.executed;
        OrderAt {
            sent,
            state: order.state,
            filled,
            net,
            cost,
        }
    }

    /// The order without this trade, of which it has every unit.
    pub fn without(mut self, trade: &Trade) -> OrderAt {
        self.net -= trade.quantity;
        self.cost -= i128::from(trade.quantity) * i128::from(trade.price.0);
        self
    }

    /// LeavesQty (151).
    fn leaves(&self) -> i64 {
        match self.state.is_end() {
            true => 0,
            false => (self.sent.terms.quantity - self.filled).max(0),
        }
    }

    /// OrdStatus (39). A busted quantity is not traded again, so a filled order with a bust is reported as canceled.
    fn status(&self) -> char {
        let is_whole = self.sent.terms.quantity == self.net;
        match self.state {
            OrderState::Filled if !is_whole => '4',
            OrderState::Filled => '2',
            OrderState::Canceled => '4',
            OrderState::Rejected => '8',
            OrderState::Expired => 'C',
            _ if is_whole => '2',
            _ if self.net > 0 => '1',
            _ => '0',
        }
    }

    /// AvgPx (6), rounded half up at nine decimals.
    fn average(&self) -> String {
        let net = i128::from(self.net);
        match net > 0 {
            true => ticks::text((2 * self.cost + net).div_euclid(2 * net), DECIMALS),
            false => "0".to_owned(),
        }
    }
}

impl Trade {
    /// The trade of a fill.
    pub fn of(fill: &FillLine) -> Trade {
        let settl_date = fill.settl_date.filter(|date| !date.is_empty());
        Trade {
            quantity: fill.quantity,
            price: fill.price,
            parent: fill.parent.map(|parent| parent.as_str().into()),
            settl_date: settl_date.map(|date| date.as_str().into()),
        }
    }
}

fn decimal(price: Price) -> String {
    ticks::text(i128::from(price.0), ticks::PRICE_DECIMALS)
}

/// Side (54).
fn side(side: Side) -> char {
    match side {
        Side::Bid => '1',
        Side::Ask => '2',
    }
}

/// Receiver of fields, with memory for a value.
struct Fields<F> {
    each: F,
    value: Clean,
}

impl<F: FnMut(u32, &str)> Fields<F> {
    fn put(&mut self, tag: u32, value: impl Display) {
        self.value.0.clear();
        // Writing into a string does not fail.
        let _ = write!(self.value, "{value}");
        (self.each)(tag, &self.value.0);
    }

    fn put_some(&mut self, tag: u32, value: Option<impl Display>) {
        if let Some(value) = value {
            self.put(tag, value);
        }
    }

    /// The bank as executing firm.
    fn put_bank(&mut self, bank: &str) {
        self.put(453, 1);
        self.put(448, bank);
        self.put(447, 'D');
        self.put(452, 1);
    }
}

/// Value of a field. Bytes that FIX uses itself come from a bank and become `?`.
struct Clean(String);

impl Write for Clean {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let clean = |letter: char| {
            if letter.is_ascii_graphic() || letter == ' ' {
                letter
            } else {
                '?'
            }
        };
        self.0.extend(text.chars().map(clean));
        Ok(())
    }
}
