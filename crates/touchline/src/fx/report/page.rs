//! `report.html`: what a period was, on one page that is read on a screen and printed for the file.

mod charts;
mod scorecard;

use super::about::{Origin, sentences};
use super::account::{Account, Parent};
use super::exact::{DECIMALS, amount, known};
use super::period::Period;
use super::quality::{Quality, error_rate, is_accused, per_million, tests, verdict};
use super::scores;
use super::slippage::{MILLION_DECIMALS, Slippage, TICK_DECIMALS};
use super::statistics::wilson;
use super::value_dates::{Position, REPORT_DECIMALS, totals};
use crate::format::{duration, utc};
use std::fmt::Write;
use touchline_chart::{begin_page, escape, section, time};
use touchline_fx_desk::ledger::Ledger;
use touchline_fx_events::lines::names::side_name;

/// Rows of a list on the page; the file has all.
const ROWS_MAX: usize = 200;

const VALUE_DATES: &str = "Base units by the orders' value dates at the end of the period, with all fills before it. Profit is realised at the average \
                           price of what was open, and open against the mid; a busted fill is as if it had never been.";
const PARENTS: &str = "Parents that arrived in the period. Slippage is the average price against the mid at arrival, positive if it was dearer; \
                       \"whole\" is the average price that the whole quantity had at all banks at arrival.";
const QUALITY: &str = "Every bank and pair over all runs of the period. A fill rate has Wilson's interval of 95 %. The cost of rejects is the move of the \
                       mid against us until each reject, for its quantity; code N, an order that never arrived, has none.";
const PRICES: &str = "Price above the mid at sending for a million filled units, by size of the order, with the cost of the bank's rejects and an interval \
                      of 95 %: what the next million is expected to cost there.";

/// Parts of a page that were computed before.
pub struct Parts<'a> {
    /// Positions at the end.
    pub positions: &'a [Position],
    /// Quality of the banks.
    pub qualities: &'a [Quality],
    /// The present state, on the page of the whole journal.
    pub ledger: Option<&'a Ledger>,
}

/// The page.
pub fn page(account: &Account, period: Period, origin: &Origin, parts: &Parts<'_>) -> String {
    let days = super::about::days_text(account, period);
    let title = format!("FX execution report, {}, {days}", origin.account);
    let mut page = begin_page(&title, "FX execution report");
    // Its tables are wider than those of other reports.
    page.push_str("<style>body{max-width:84rem}</style>");
    page.push_str(&head(account, period, origin));
    if let Some(by) = parts.ledger.and_then(|ledger| ledger.killed.as_ref()) {
        let _ = write!(
            page,
            "<p class=warning>Kill switch set by {}</p>",
            escape(by)
        );
    }
    for fault in &origin.faults {
        let _ = write!(page, "<p class=warning>Hash chain: {}</p>", escape(fault));
    }
    for said in sentences(account, period, parts.positions, &origin.currency) {
        let _ = write!(page, "<p class=warning>{}</p>", escape(&said));
    }
    let body = value_dates(account, parts.positions, &origin.currency);
    section(&mut page, "Positions by value date", VALUE_DATES, &body);
    if let Some(ledger) = parts.ledger {
        section(
            &mut page,
            "Positions and worst cases",
            WORST,
            &worst_cases(ledger),
        );
    }
    section(&mut page, "Parents", PARENTS, &parents(account, period));
    let tests = tests(parts.qualities);
    section(
        &mut page,
        "Banks",
        QUALITY,
        &quality(account, parts.qualities, tests),
    );
    section(
        &mut page,
        "Expected price",
        PRICES,
        &prices(account, parts.qualities),
    );
    let verdicts = verdicts(account, parts.qualities, tests);
    section(&mut page, "Asymmetric last look", "", &verdicts);
    for chart in &charts::SECTIONS {
        let body = chart.body(account, parts.qualities);
        section(&mut page, chart.heading, chart.text, &body);
    }
    if let Some(ledger) = parts.ledger {
        page.push_str(&scorecard::section(ledger));
    }
    section(&mut page, "Alarms", "", &alarms(account, period));
    section(&mut page, "Files", "", FILES);
    page + "</html>\n"
}

const WORST: &str = "Base units and cash in term currency as the engine stated them last, with the positions if every buying parent is filled and no selling \
                     one, and the reverse.";
const FILES: &str = "<p>Beside this page: <code>parents.csv</code>, <code>orders.csv</code>, <code>fills.csv</code>, <code>commands.csv</code>, \
                     <code>alarms.csv</code>, <code>value_dates.csv</code>, <code>scorecard.csv</code>, <code>means.csv</code> and \
                     <code>prices.csv</code> have every row, for a whole period <code>scorecard_days.csv</code> that of each trade date; <code>about.json</code> has the SHA-256 of each file and of this page.</p>";

/// Table of what the page is about.
fn head(account: &Account, period: Period, origin: &Origin) -> String {
    let mut table = String::from("<table class=about>");
    for (name, text) in origin.rows(account, period) {
        let _ = write!(table, "<tr><th>{name}<td class=text>{}", escape(&text));
    }
    table + "</table>"
}

fn begin_table(columns: &[&str]) -> String {
    let heads: String = columns
        .iter()
        .map(|column| format!("<th>{column}"))
        .collect();
    format!("<div class=scroll><table><thead><tr>{heads}<tbody>")
}

fn row(table: &mut String, cells: &[String]) {
    let cells: String = cells
        .iter()
        .map(|cell| format!("<td>{}", escape(cell)))
        .collect();
    let _ = write!(table, "<tr>{cells}");
}

/// A value, or a dash where a cell would be empty.
fn dash(text: String) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

fn empty(why: &str) -> String {
    format!("<p class=empty>{}</p>", escape(why))
}

fn value_dates(account: &Account, positions: &[Position], currency: &str) -> String {
    if positions.is_empty() {
        return empty("No position: nothing was filled or booked until the end of the period.");
    }
    let [realised, open] = ["realised", "open"].map(|what| format!("{what} {}", escape(currency)));
    let mut table = begin_table(&[
        "pair",
        "value date",
        "position",
        "cash",
        "average",
        "mid",
        "mid as of",
        "realised",
        "open",
        &realised,
        &open,
    ]);
    for position in positions {
        let pair = &account.pairs[position.pair];
        let mid = position.mid;
        let term = pair.currencies().1;
        let reported = position
            .reported
            .map(|value| dash(known(value, REPORT_DECIMALS)));
        let [realised, open] = reported;
        row(
            &mut table,
            &[
                pair.symbol.clone(),
                dash(
                    position
                        .value_date
                        .map_or_else(String::new, |date| date.to_string()),
                ),
                position.units.to_string(),
                format!("{} {term}", amount(position.cash)),
                dash(known(position.average(), DECIMALS)),
                dash(known(
                    mid.and_then(|mid| mid.mid2).map(|mid2| mid2 * 5),
                    DECIMALS + 1,
                )),
                dash(mid.map_or_else(String::new, |mid| second(mid.at_ns))),
                format!("{} {term}", amount(position.realised())),
                dash(position.open2().map_or_else(String::new, |open2| {
                    format!("{} {term}", known(Some(open2 * 5), DECIMALS + 1))
                })),
                realised,
                open,
            ],
        );
    }
    let [realised, open] = totals(positions).map(|value| dash(known(value, REPORT_DECIMALS)));
    let _ = write!(
        table,
        "<tr class=sum><td>sum<td colspan=8><td>{realised}<td>{open}"
    );
    table + "</table></div>"
}

/// Time of day to the second.
fn second(at_ns: u64) -> String {
    let text = utc(at_ns);
    let (second, _) = text.split_once('.').unwrap_or((&text, ""));
    second.replace('T', " ")
}

fn worst_cases(ledger: &Ledger) -> String {
    if ledger.pairs.is_empty() {
        return empty("The engine has stated no position yet.");
    }
    let mut table = begin_table(&[
        "pair",
        "position",
        "cash",
        "worst long",
        "worst short",
        "profit at the mid",
    ]);
    for (pair, state) in &ledger.pairs {
        let [long, short] = state.worst;
        row(
            &mut table,
            &[
                pair.clone(),
                state.position.to_string(),
                state.cash.clone(),
                long.to_string(),
                short.to_string(),
                state.pnl.clone().unwrap_or_else(|| "-".to_owned()),
            ],
        );
    }
    table + "</table></div>"
}

fn parents(account: &Account, period: Period) -> String {
    let found: Vec<&Parent> = account
        .parents
        .iter()
        .filter(|parent| period.has(parent.day))
        .collect();
    if found.is_empty() {
        return empty("No parent arrived in this period.");
    }
    let mut table = begin_table(&[
        "parent",
        "arrival",
        "by",
        "pair",
        "side",
        "quantity",
        "filled",
        "mid",
        "whole",
        "average",
        "slippage, ticks",
        "slippage",
        "per million",
        "duration",
        "end",
    ]);
    for parent in found.iter().take(ROWS_MAX) {
        row(&mut table, &parent_cells(account, parent));
    }
    table.push_str("</table></div>");
    if found.len() > ROWS_MAX {
        let _ = write!(
            table,
            "<p>The first {ROWS_MAX} of {}; parents.csv has all.</p>",
            found.len()
        );
    }
    table
}

/// Cells of a parent.
fn parent_cells(account: &Account, parent: &Parent) -> [String; 15] {
    let pair = &account.pairs[parent.pair];
    let figures = Slippage::of(&parent.traded());
    let precision = u32::from(parent.precision);
    let of = |value: Option<i128>, decimals| dash(known(value, decimals));
    let figure = |value: fn(&Slippage) -> Option<i128>| figures.as_ref().and_then(value);
    let money = figure(|of| of.money).map(|money| {
        format!(
            "{} {}",
            known(Some(money), DECIMALS + 1),
            pair.currencies().1
        )
    });
    let end = parent.end.as_ref();
    [
        parent.id.to_string(),
        second(parent.at_ns),
        dash(
            parent
                .by
                .as_ref()
                .map_or_else(String::new, |[_, person]| person.clone()),
        ),
        pair.symbol.clone(),
        side_name(parent.side).to_owned(),
        parent.quantity.to_string(),
        parent.filled.to_string(),
        of(parent.arrival.mid2.map(|mid2| mid2 * 5), DECIMALS + 1),
        of(parent.arrival.whole.map(i128::from), precision + 2),
        of(figure(|of| Some(i128::from(of.average))), precision + 2),
        of(figure(|of| of.ticks), TICK_DECIMALS),
        money.unwrap_or_else(|| "-".to_owned()),
        of(figure(|of| of.per_million), MILLION_DECIMALS),
        end.map_or_else(|| "-".to_owned(), |end| duration(end.at_ns - parent.at_ns)),
        end.map_or_else(|| "works".to_owned(), |end| end.reason.to_owned()),
    ]
}

fn quality(account: &Account, qualities: &[Quality], tests: usize) -> String {
    let traded: Vec<&Quality> = qualities
        .iter()
        .filter(|quality| quality.orders > 0)
        .collect();
    if traded.is_empty() {
        return empty("No order was sent in this period.");
    }
    let mut table = begin_table(&[
        "bank",
        "pair",
        "orders",
        "fills",
        "sent",
        "filled",
        "fill rate",
        "interval",
        "rejects",
        "unknown",
        "hold median",
        "reject cost",
        "per million sent",
        "asymmetric",
    ]);
    for quality in traded {
        row(&mut table, &quality_cells(account, quality, tests));
    }
    table + "</table></div>"
}

/// Cells of a bank and a pair.
fn quality_cells(account: &Account, quality: &Quality, tests: usize) -> [String; 14] {
    let (bank, pair) = quality.slot;
    let term = account.pairs[pair].currencies().1;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let rate =
        (quality.ended > 0).then(|| percent(quality.with_fill as f64 / quality.ended as f64));
    let interval = wilson(quality.with_fill, quality.ended)
        .map(|[low, high]| format!("{} to {}", percent(low), percent(high)));
    let codes: Vec<String> = quality
        .codes
        .iter()
        .map(|(code, count)| format!("{code} {count}"))
        .collect();
    let cost2 = scores::reject_cost2(quality);
    let asymmetric = match (&quality.test, is_accused(quality, tests)) {
        (None, _) => "-",
        (_, true) => "yes",
        (_, false) => "not found",
    };
    [
        account.banks[bank].clone(),
        account.pairs[pair].symbol.clone(),
        quality.orders.to_string(),
        quality.fills.to_string(),
        quality.sent.to_string(),
        quality.filled.to_string(),
        rate.unwrap_or_else(|| "-".to_owned()),
        interval.unwrap_or_else(|| "-".to_owned()),
        dash(codes.join(", ")),
        quality.unknown.to_string(),
        quality
            .hold_ns(50)
            .map_or_else(|| "-".to_owned(), |ns| time(ns as f64)),
        cost2.map_or_else(
            || "-".to_owned(),
            |cost2| format!("{} {term}", known(Some(cost2 * 5), DECIMALS + 1)),
        ),
        dash(known(
            cost2.and_then(|cost2| per_million(cost2, quality.sent)),
            2,
        )),
        asymmetric.to_owned(),
    ]
}

fn prices(account: &Account, qualities: &[Quality]) -> String {
    let priced: Vec<&Quality> = qualities
        .iter()
        .filter(|quality| !quality.prices.is_empty())
        .collect();
    if priced.is_empty() {
        return empty("No order that ended has a mid at its sending and at its end.");
    }
    let mut table = begin_table(&[
        "bank",
        "pair",
        "size up to",
        "orders",
        "filled",
        "price",
        "rejects",
        "all in",
        "interval",
    ]);
    for quality in priced {
        let (bank, pair) = quality.slot;
        for price in &quality.prices {
            let [low, high] = scores::interval(price);
            let per = |amount2: i128| dash(known(per_million(amount2, price.filled), 2));
            row(
                &mut table,
                &[
                    account.banks[bank].clone(),
                    account.pairs[pair].symbol.clone(),
                    price
                        .up_to
                        .map_or_else(|| "any".to_owned(), |size| size.to_string()),
                    price.orders.to_string(),
                    price.filled.to_string(),
                    per(price.price2),
                    per(price.reject2),
                    dash(known(price.per_million(), 2)),
                    if low.is_empty() {
                        "-".to_owned()
                    } else {
                        format!("{low} to {high}")
                    },
                ],
            );
        }
    }
    table + "</table></div>"
}

fn verdicts(account: &Account, qualities: &[Quality], tests: usize) -> String {
    let traded = qualities.iter().filter(|quality| quality.orders > 0);
    let items: String = traded
        .map(|quality| format!("<li>{}", escape(&verdict(account, quality, tests))))
        .collect();
    match items.is_empty() {
        true => empty("No order was sent in this period, so nothing can be said."),
        false => format!("<p>{}</p><ul>{items}</ul>", escape(&error_rate(tests))),
    }
}

fn alarms(account: &Account, period: Period) -> String {
    let found: Vec<_> = account
        .alarms
        .iter()
        .filter(|row| period.has(row.day))
        .collect();
    if found.is_empty() {
        return empty(
            "The journal has no alarm of this period. Alarms of sessions and of the host are in the log.",
        );
    }
    let mut table = begin_table(&["alarm", "time", "bank", "order", "by"]);
    for alarm in found.iter().take(ROWS_MAX) {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        row(
            &mut table,
            &[
                alarm.what.clone(),
                second(alarm.at_ns),
                text(&alarm.bank),
                text(&alarm.order),
                text(&alarm.by),
            ],
        );
    }
    table.push_str("</table></div>");
    if found.len() > ROWS_MAX {
        let _ = write!(
            table,
            "<p>The first {ROWS_MAX} of {}; alarms.csv has all.</p>",
            found.len()
        );
    }
    table
}
