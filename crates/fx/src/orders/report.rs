//! Reports of banks about orders, as received.

use super::order::Order;
use crate::setup::PairSetup;
use touchline_fx_events::orders::Terms;
use touchline_fx_events::short_text::ShortText;
use touchline_fx_events::ticks;
use touchline_types::{Price, Side};
use touchline_wire::fix::{Message, NO_DATE, without_zeros};

type Raw<'a> = Option<&'a [u8]>;

/// The fields of an execution report (8), an order cancel reject (9) or a business reject (j).
#[derive(Debug, Clone, Copy, Default)]
pub struct Report<'a> {
    /// ClOrdID (11).
    pub cl_ord_id: Raw<'a>,
    /// OrigClOrdID (41).
    pub orig_cl_ord_id: Raw<'a>,
    /// OrderID (37).
    pub order_id: Raw<'a>,
    /// ExecID (17).
    pub exec_id: Raw<'a>,
    /// ExecRefID (19).
    pub exec_ref_id: Raw<'a>,
    /// ExecType (150).
    pub exec_type: Raw<'a>,
    /// OrdStatus (39).
    pub ord_status: Raw<'a>,
    /// CumQty (14).
    pub cum_qty: Raw<'a>,
    /// LeavesQty (151).
    pub leaves_qty: Raw<'a>,
    /// Account (1).
    pub account: Raw<'a>,
    /// Currency (15).
    pub currency: Raw<'a>,
    /// SettlDate (64).
    pub settl_date: Raw<'a>,
    /// PossDupFlag (43).
    pub poss_dup: Raw<'a>,
    /// PossResend (97).
    pub poss_resend: Raw<'a>,
    /// OrderQty (38).
    pub order_qty: Raw<'a>,
    /// Price (44).
    pub limit: Raw<'a>,
    /// LastQty (32).
    pub last_qty: Raw<'a>,
    /// LastPx (31).
    pub last_px: Raw<'a>,
    /// AvgPx (6).
    pub avg_px: Raw<'a>,
    /// Symbol (55).
    pub symbol: Raw<'a>,
    /// Side (54).
    pub side: Raw<'a>,
    /// Text (58).
    pub text: Raw<'a>,
    /// OrdRejReason (103).
    pub ord_rej_reason: Raw<'a>,
    /// CxlRejReason (102).
    pub cxl_rej_reason: Raw<'a>,
    /// OrdStatusReqID (790).
    pub status_req_id: Raw<'a>,
    /// MassStatusReqID (584).
    pub mass_status_req_id: Raw<'a>,
    /// LastRptRequested (912).
    pub last_rpt_requested: Raw<'a>,
    /// RefMsgType (372).
    pub ref_msg_type: Raw<'a>,
    /// BusinessRejectRefID (379).
    pub ref_id: Raw<'a>,
}

/// Purpose of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// A trade: 150=F, of older dialects 1 and 2.
    Trade,
    /// An answer to a status request: 150=I.
    Status,
    /// A trade is reversed: 150=H.
    Bust,
    /// A trade is corrected: 150=G.
    Correct,
    /// A change of state.
    State,
}

/// Reason to refuse a trade: DKReason (127).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispute {
    /// `D`: no such order of this bank.
    NoOrder,
    /// `A`: another pair.
    Pair,
    /// `B`: the other side.
    Side,
    /// `C`: more than the order's quantity.
    Quantity,
    /// `E`: a worse price than the order's.
    Price,
    /// `Z`: no usable price, quantity or ExecID, or another value date or currency.
    Other,
}

impl Dispute {
    /// The value of DKReason.
    pub fn reason(self) -> char {
        match self {
            Dispute::NoOrder => 'D',
            Dispute::Pair => 'A',
            Dispute::Side => 'B',
            Dispute::Quantity => 'C',
            Dispute::Price => 'E',
            Dispute::Other => 'Z',
        }
    }
}

impl<'a> Report<'a> {
    /// Collects the fields; the first of repeated fields counts.
    pub fn read(message: &Message<'a>) -> Report<'a> {
        let mut report = Report::default();
        for field in message.fields().filter_map(Result::ok) {
            if let Some(place) = report.place(field.tag) {
                place.get_or_insert(field.value);
            }
        }
        for reason in [&mut report.ord_rej_reason, &mut report.cxl_rej_reason] {
            *reason = reason.map(without_zeros);
        }
        report.settl_date = report.settl_date.filter(|date| *date != NO_DATE);
        report
    }

    /// Purpose.
    pub fn kind(&self) -> ReportKind {
        match self.exec_type {
            Some(b"F" | b"1" | b"2") => ReportKind::Trade,
            Some(b"I") => ReportKind::Status,
            Some(b"H") => ReportKind::Bust,
            Some(b"G") => ReportKind::Correct,
            _ => ReportKind::State,
        }
    }

    /// CumQty, units; none if absent or not a whole number.
    pub fn cum(&self) -> Option<i64> {
        self.cum_qty.and_then(ticks::quantity)
    }

    /// Whether CumQty is beyond a quantity; a whole number out of range is beyond every quantity.
    fn is_cum_beyond(&self, quantity: i64) -> bool {
        match self.cum() {
            Some(cum) => cum > quantity,
            None => self.cum_qty.is_some_and(is_digits),
        }
    }

    /// LeavesQty, units.
    pub fn leaves(&self) -> Option<i64> {
        self.leaves_qty.and_then(ticks::quantity)
    }

    /// Whether LeavesQty is not a quantity of which at most `rest` is open: more, negative, or a whole number out of range.
    pub fn is_leaves_beyond(&self, rest: i64) -> bool {
        match self.leaves() {
            Some(leaves) => leaves > rest,
            None => self.leaves_qty.is_some_and(|text| {
                let digits = text.strip_prefix(b"-").unwrap_or(text);
                is_digits(digits)
            }),
        }
    }

    /// LastQty, units, if there is any.
    pub fn last(&self) -> Option<i64> {
        self.last_qty.and_then(ticks::size)
    }

    /// LastPx.
    pub fn price(&self) -> Option<Price> {
        self.last_px.and_then(ticks::traded)
    }

    /// LastQty and LastPx, if both are usable and the report has an ExecID.
    pub fn trade(&self) -> Option<(i64, Price)> {
        let is_named = self.exec_id.is_some_and(|exec_id| !exec_id.is_empty());
        self.last().zip(self.price()).filter(|_| is_named)
    }

    /// Whether the report is a repetition that states the order as open, with the smaller CumQty of that time.
    pub fn is_old_state(&self) -> bool {
        let is_again = self.poss_dup == Some(b"Y") || self.poss_resend == Some(b"Y");
        is_again && matches!(self.ord_status, Some(b"A" | b"0" | b"1" | b"6"))
    }

    /// Whether the report states that the bank works the order.
    pub fn says_alive(&self) -> bool {
        matches!(self.ord_status, Some(b"A" | b"0" | b"1"))
    }

    /// Whether LeavesQty is 0.
    pub fn is_rest_dead(&self) -> bool {
        self.leaves() == Some(0)
    }

    /// Whether the report answers a status request with "unknown order".
    pub fn says_never_arrived(&self) -> bool {
        self.kind() == ReportKind::Status
            && self.ord_status == Some(b"8")
            && self.ord_rej_reason == Some(b"5")
    }

    /// Why a trade is not as ordered. An absent field has the order's value.
    pub fn dispute(&self, order: &Order, pair: &PairSetup) -> Option<Dispute> {
        let terms = &order.terms;
        let limit = ticks::exact(terms.price, pair.config.precision);
        let is_worse = |price: Price| match terms.side {
            Side::Bid => price > limit,
            Side::Ask => price < limit,
        };
        let other = self.is_of_other(terms, pair) || self.trade().is_none();
        self.is_elsewhere(order, pair)
            .or(self.price().is_some_and(is_worse).then_some(Dispute::Price))
            .or(other.then_some(Dispute::Other))
    }

    /// Why a report without a trade is not as ordered. Its price is not judged: it follows from an average, which is rounded.
    pub fn dispute_of_state(&self, order: &Order, pair: &PairSetup) -> Option<Dispute> {
        let other = self.is_of_other(&order.terms, pair);
        self.is_elsewhere(order, pair)
            .or(other.then_some(Dispute::Other))
    }

    /// Why a report without a trade books nothing of an ended order: the bank stated another quantity of an adopted
    /// order.
    pub fn dispute_of_growth(&self, order: &Order) -> Option<Dispute> {
        let grows = self.is_cum_beyond(order.cum());
        (grows && self.is_of_other_size(order)).then_some(Dispute::Quantity)
    }

    /// Whether an adopted order has another quantity in this report: such an order is known from the bank's reports
    /// only.
    fn is_of_other_size(&self, order: &Order) -> bool {
        let is_other_size = |text| ticks::size(text) != Some(order.terms.quantity);
        // mutant: fx: reports describe an adopted order each in its way
        order.is_adopted() && self.order_qty.is_some_and(is_other_size)
    }

    /// Dispute of a report of another pair, of the other side, or with a total beyond the order's quantity and its
    /// fills.
    fn is_elsewhere(&self, order: &Order, pair: &PairSetup) -> Option<Dispute> {
        let terms = &order.terms;
        let side: &[u8] = match terms.side {
            Side::Bid => b"1",
            Side::Ask => b"2",
        };
        if self
            .symbol
            .is_some_and(|symbol| symbol != pair.config.symbol.as_bytes())
        {
            return Some(Dispute::Pair);
        }
        if self.side.is_some_and(|said| said != side) {
            return Some(Dispute::Side);
        }
        let is_beyond = self.is_cum_beyond(terms.quantity.max(order.cum()));
        (is_beyond || self.is_of_other_size(order)).then_some(Dispute::Quantity)
    }

    /// Another value date or currency than the order's.
    fn is_of_other(&self, terms: &Terms, pair: &PairSetup) -> bool {
        // mutant: fx: a report of yesterday's order is judged by the date of today
        // mutant: fx: a trade of another value date is booked
        self.is_of_other_date(terms.value_date) || self.is_of_other_currency(pair)
    }

    /// Another value date than this one.
    pub fn is_of_other_date(&self, value_date: u32) -> bool {
        let date = ShortText::unsigned(u64::from(value_date));
        let is_other = |said: &[u8]| said != date.as_str().as_bytes();
        self.settl_date.is_some_and(is_other)
    }

    /// Another currency than the order's.
    pub fn is_of_other_currency(&self, pair: &PairSetup) -> bool {
        self.currency
            .is_some_and(|said| said != pair.base.as_str().as_bytes())
    }

    fn place(&mut self, tag: u32) -> Option<&mut Raw<'a>> {
        Some(match tag {
            11 => &mut self.cl_ord_id,
            41 => &mut self.orig_cl_ord_id,
            37 => &mut self.order_id,
            17 => &mut self.exec_id,
            19 => &mut self.exec_ref_id,
            1 => &mut self.account,
            15 => &mut self.currency,
            64 => &mut self.settl_date,
            43 => &mut self.poss_dup,
            97 => &mut self.poss_resend,
            150 => &mut self.exec_type,
            39 => &mut self.ord_status,
            14 => &mut self.cum_qty,
            151 => &mut self.leaves_qty,
            38 => &mut self.order_qty,
            44 => &mut self.limit,
            32 => &mut self.last_qty,
            31 => &mut self.last_px,
            6 => &mut self.avg_px,
            55 => &mut self.symbol,
            54 => &mut self.side,
            58 => &mut self.text,
            103 => &mut self.ord_rej_reason,
            102 => &mut self.cxl_rej_reason,
            790 => &mut self.status_req_id,
            584 => &mut self.mass_status_req_id,
            912 => &mut self.last_rpt_requested,
            372 => &mut self.ref_msg_type,
            379 => &mut self.ref_id,
            _ => return None,
        })
    }
}

/// Whether a text is a whole number without a sign, in range or not.
fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}
