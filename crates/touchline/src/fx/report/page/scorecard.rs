//! The scorecard as the engine wrote it last: of the present run for quotes, of all runs for orders, with the penalty by which it routes.

use crate::format::utc;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use touchline_chart::{escape, time};
use touchline_fx_desk::ledger::Ledger;

const TEXT: &str =
    "Every bank and pair as the engine scored it: the penalty is that by which it routes.";

/// A line of the scorecard, as far as the page shows it.
#[derive(Debug, Deserialize)]
struct Score {
    bank: String,
    pair: String,
    quotes: u64,
    spread_ticks: Option<String>,
    orders: u64,
    fills: u64,
    filled: i64,
    fill_ratio: Option<String>,
    rejects: BTreeMap<String, u64>,
    unknown: u64,
    hold_p50_ns: Option<u64>,
    improve_ticks: i64,
    penalty: i64,
}

/// The section.
pub fn section(ledger: &Ledger) -> String {
    let as_of = match ledger.scores_at_ns {
        0 => "The engine has written none yet".to_owned(),
        at_ns => {
            let time = utc(at_ns);
            let (second, _) = time.split_once('.').unwrap_or((&time, ""));
            format!("It is as of {} UTC", second.replace('T', " "))
        }
    };
    let text = format!(
        "{TEXT} {as_of}; the engine writes it behind the first orders, then each minute and at the end of a run."
    );
    let mut section = String::new();
    touchline_chart::section(
        &mut section,
        "Scorecard of the engine",
        &text,
        &table(ledger),
    );
    section
}

fn table(ledger: &Ledger) -> String {
    let mut table = String::from(
        "<div class=scroll><table><thead><tr><th>bank<th>pair<th>quotes<th>spread<th>orders<th>fills<th>filled<th>fill ratio<th>rejects\
         <th>unknown<th>improved<th>penalty<th>hold median<tbody>",
    );
    let scores = ledger.scores.values();
    for score in scores.filter_map(|line| serde_json::from_str::<Score>(line).ok()) {
        let or_none = |text: &Option<String>| escape(text.as_deref().unwrap_or("-"));
        let rejects: Vec<String> = score
            .rejects
            .iter()
            .map(|(code, count)| format!("{code} {count}"))
            .collect();
        let hold = score.hold_p50_ns.map(|ns| time(ns as f64));
        let _ = write!(
            table,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}",
            escape(&score.bank),
            escape(&score.pair),
            score.quotes,
            or_none(&score.spread_ticks),
            score.orders,
            score.fills,
            score.filled,
            or_none(&score.fill_ratio),
            escape(&rejects.join(", ")),
            score.unknown,
            score.improve_ticks,
            score.penalty,
            escape(&hold.unwrap_or_else(|| "-".to_owned())),
        );
    }
    table + "</table></div>"
}
