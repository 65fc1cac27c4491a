//! Tables of the report as CSV. A value that is not known is empty, never 0.

use super::account::{Account, Day, Order, Parent};
use super::exact::{DECIMALS, amount, known, quotient};
use super::period::Period;
use super::slippage::{MILLION_DECIMALS, Slippage, TICK_DECIMALS};
use super::value_dates::{Position, REPORT_DECIMALS};
use crate::format::utc;
use touchline_fx_events::lines::names::{order_state_name, side_name};
use touchline_fx_events::ticks;
use touchline_types::Side;

const PARENTS: [&str; 27] = [
    "t",
    "utc",
    "day",
    "parent",
    "client",
    "person",
    "pair",
    "side",
    "qty",
    "limit",
    "tif",
    "mid",
    "whole",
    "filled",
    "average",
    "slippage_ticks",
    "slippage",
    "slippage_per_million",
    "currency",
    "against_whole_ticks",
    "plans",
    "orders",
    "end_t",
    "duration_ns",
    "settled_t",
    "reason",
    "adopted",
];
const ORDERS: [&str; 26] = [
    "t",
    "utc",
    "day",
    "clordid",
    "parent",
    "bank",
    "pair",
    "side",
    "qty",
    "price",
    "type",
    "tif",
    "value_date",
    "mid",
    "state",
    "code",
    "cum",
    "filled",
    "average",
    "fills",
    "unknown",
    "end_t",
    "hold_ns",
    "end_mid",
    "moved_ticks",
    "cancel_asked",
];
const COMMANDS: [&str; 10] = [
    "t", "utc", "day", "client", "person", "request", "command", "answer", "reason", "cause",
];
const ALARMS: [&str; 7] = ["t", "utc", "day", "what", "bank", "clordid", "by"];
const VALUE_DATES: [&str; 13] = [
    "pair",
    "value_date",
    "position",
    "cash",
    "currency",
    "average",
    "realised",
    "open",
    "mid",
    "mid_t",
    "report_currency",
    "realised_report",
    "open_report",
];

/// A table under construction.
#[derive(Debug)]
pub struct Table {
    text: String,
    columns: usize,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[&str]) -> Table {
        Table {
            text: columns.join(",") + "\n",
            columns: columns.len(),
        }
    }

    /// Adds a row of cells, which are written as they are.
    pub fn row(&mut self, cells: &[String]) {
        assert_eq!(cells.len(), self.columns, "{cells:?}");
        self.text.push_str(&cells.join(","));
        self.text.push('\n');
    }

    /// The file.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A cell that a bank named: quoted if it has a character of the format, and never a formula of a spreadsheet.
pub fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t']);
    match text.contains([',', '"', '\n', '\r']) || is_formula {
        true => {
            let mark = if is_formula { "'" } else { "" };
            format!("\"{mark}{}\"", text.replace('"', "\"\""))
        }
        false => text.to_owned(),
    }
}

fn times(at_ns: u64, day: Day) -> [String; 3] {
    [at_ns.to_string(), utc(at_ns), day.to_string()]
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Half of a value of twice its size, 1e-9.
fn half(value2: Option<i128>) -> String {
    known(value2.map(|value2| value2 * 5), DECIMALS + 1)
}

/// `parents.csv`: the parents that arrived in a period.
pub fn parents(account: &Account, period: Period) -> String {
    let mut table = Table::new(&PARENTS);
    for parent in account
        .parents
        .iter()
        .filter(|parent| period.has(parent.day))
    {
        table.row(&parent_row(account, parent));
    }
    table.finish()
}

fn parent_row(account: &Account, parent: &Parent) -> Vec<String> {
    let pair = &account.pairs[parent.pair];
    let precision = u32::from(parent.precision);
    let figures = Slippage::of(&parent.traded());
    let of = |value: fn(&Slippage) -> Option<i128>, decimals| {
        known(figures.as_ref().and_then(value), decimals)
    };
    let [client, person] = parent.by.clone().unwrap_or_default();
    let end = parent.end.as_ref();
    let mut row = times(parent.at_ns, parent.day).to_vec();
    row.extend([
        cell(parent.id.as_str()),
        cell(&client),
        cell(&person),
        cell(&pair.symbol),
        side_name(parent.side).to_owned(),
        parent.quantity.to_string(),
        parent
            .limit
            .map_or_else(String::new, |limit| amount(i128::from(limit.0))),
        parent.lifetime.to_owned(),
        half(parent.arrival.mid2),
        known(parent.arrival.whole.map(i128::from), precision + 2),
        parent.filled.to_string(),
        of(|of| Some(i128::from(of.average)), precision + 2),
        of(|of| of.ticks, TICK_DECIMALS),
        of(|of| of.money, DECIMALS + 1),
        of(|of| of.per_million, MILLION_DECIMALS),
        cell(pair.currencies().1),
        of(|of| of.against_whole.map(i128::from), 2),
        parent.plans.to_string(),
        parent.orders.to_string(),
        optional(end.map(|end| end.at_ns)),
        optional(end.map(|end| end.at_ns - parent.at_ns)),
        optional(parent.settled_ns),
        end.map_or_else(String::new, |end| end.reason.to_owned()),
        parent.is_adopted.to_string(),
    ]);
    row
}

/// `orders.csv`: the orders that were sent in a period.
pub fn orders(account: &Account, period: Period) -> String {
    let mut table = Table::new(&ORDERS);
    for order in account.orders.iter().filter(|order| period.has(order.day)) {
        table.row(&order_row(account, order));
    }
    table.finish()
}

fn order_row(account: &Account, order: &Order) -> Vec<String> {
    let parent = order.parent.map(|at| account.parents[at].id);
    let is_buy = order.side == Side::Bid;
    let average = (order.filled > 0).then(|| {
        let average = ticks::average_of_trades(order.cost, order.filled, order.precision, is_buy);
        i128::from(average)
    });
    let moved = order
        .moved2()
        .and_then(|moved2| quotient(moved2 * 10, 2 * i128::from(order.tick)));
    let held = order.end.filter(|_| !order.is_adopted);
    let hold_ns = held.map(|end| end.at_ns.saturating_sub(order.sent_ns));
    let mut row = times(order.sent_ns, order.day).to_vec();
    row.extend([
        cell(order.id.as_str()),
        parent.map_or_else(String::new, |id| cell(id.as_str())),
        cell(&account.banks[order.bank]),
        cell(&account.pairs[order.pair].symbol),
        side_name(order.side).to_owned(),
        order.quantity.to_string(),
        amount(i128::from(order.price.0)),
        if order.is_quoted { "quoted" } else { "limit" }.to_owned(),
        if order.is_fok { "fok" } else { "ioc" }.to_owned(),
        order.value_date.to_string(),
        half(order.mid2),
        order_state_name(order.state).to_owned(),
        order
            .code
            .map_or_else(String::new, |code| code.name().to_owned()),
        order.cum.to_string(),
        order.filled.to_string(),
        known(average, u32::from(order.precision) + 2),
        order.fills.to_string(),
        order.unknown.to_string(),
        optional(order.end.map(|end| end.at_ns)),
        optional(hold_ns),
        half(order.end.and_then(|end| end.mid2)),
        known(moved, 1),
        order.is_cancel_asked.to_string(),
    ]);
    row
}

/// `commands.csv`: commands of a period, with who gave them.
pub fn commands(account: &Account, period: Period) -> String {
    let mut table = Table::new(&COMMANDS);
    for row in account.commands.iter().filter(|row| period.has(row.day)) {
        let mut cells = times(row.at_ns, row.day).to_vec();
        let (answer, [reason, cause]) = row.answer.clone().unwrap_or_default();
        cells.extend([
            cell(&row.client),
            cell(&row.person),
            row.request.to_string(),
            cell(&row.text),
        ]);
        cells.extend([answer, reason, cause].map(|text| cell(&text)));
        table.row(&cells);
    }
    table.finish()
}

/// `alarms.csv`: alarms and kills of a period.
pub fn alarms(account: &Account, period: Period) -> String {
    let mut table = Table::new(&ALARMS);
    for row in account.alarms.iter().filter(|row| period.has(row.day)) {
        let mut cells = times(row.at_ns, row.day).to_vec();
        cells.push(cell(&row.what));
        let optional = [&row.bank, &row.order, &row.by];
        cells.extend(optional.map(|text| cell(text.as_deref().unwrap_or_default())));
        table.row(&cells);
    }
    table.finish()
}

/// `value_dates.csv`: positions at the end of a period.
pub fn value_dates(account: &Account, positions: &[Position], currency: &str) -> String {
    let mut table = Table::new(&VALUE_DATES);
    for position in positions {
        let pair = &account.pairs[position.pair];
        let [realised, open] = position.reported.map(|value| known(value, REPORT_DECIMALS));
        let mid = position.mid;
        table.row(&[
            cell(&pair.symbol),
            optional(position.value_date),
            position.units.to_string(),
            amount(position.cash),
            cell(pair.currencies().1),
            known(position.average(), DECIMALS),
            amount(position.realised()),
            half(position.open2()),
            half(mid.and_then(|mid| mid.mid2)),
            optional(mid.map(|mid| mid.at_ns)),
            cell(currency),
            realised,
            open,
        ]);
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bank chooses its ExecIDs: none of them is a formula where the file is opened, and none breaks a row.
    #[test]
    fn a_cell_is_never_a_formula_of_a_spreadsheet() {
        for (text, expected) in [
            ("LP01-X1", "LP01-X1"),
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-2+3", "\"'-2+3\""),
            ("@a", "\"'@a\""),
            ("\ta", "\"'\ta\""),
            ("a,\"b", "\"a,\"\"b\""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }
}
