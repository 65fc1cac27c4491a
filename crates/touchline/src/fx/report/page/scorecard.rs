//! The scorecard as the engine wrote it last: of the present run for quotes, of all runs for orders, with the penalty by which it routes.

use super::second;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use touchline_chart::{escape, time};
use touchline_fx_desk::ledger::Ledger;

const TEXT: &str = "Every bank and pair as the engine scored it last: the penalty is that by which it routes. The engine writes it behind the first orders, \
                    then each minute and at the end of a run; that of a bank or pair which later runs do not have is old.";

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
    let mut section = String::new();
    let table = match ledger.scores.is_empty() {
        true => super::empty("The engine has written none yet."),
        false => table(ledger),
    };
    touchline_chart::section(&mut section, "Scorecard of the engine", TEXT, &table);
    section
}

fn table(ledger: &Ledger) -> String {
    let mut table = String::from(
        "<div class=scroll><table><thead><tr><th>bank<th>pair<th>as of<th>quotes<th>spread<th>orders<th>fills<th>filled<th>fill ratio<th>rejects\
         <th>unknown<th>improved<th>penalty<th>hold median<tbody>",
    );
    for (at_ns, line) in ledger.scores.values() {
        let Ok(score) = serde_json::from_str::<Score>(line) else {
            continue;
        };
        let or_none = |text: &Option<String>| escape(text.as_deref().unwrap_or("-"));
        let rejects: Vec<String> = score
            .rejects
            .iter()
            .map(|(code, count)| format!("{code} {count}"))
            .collect();
        let hold = score.hold_p50_ns.map(|ns| time(ns as f64));
        let _ = write!(
            table,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}",
            escape(&score.bank),
            escape(&score.pair),
            second(*at_ns),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A bank that later runs do not have keeps its scorecard: page and file say of when it is.
    #[test]
    fn each_scorecard_has_its_own_time() {
        let mut ledger = Ledger::default();
        for (bank, at_ns) in [
            ("A", 1_767_603_600_000_000_000),
            ("B", 1_767_690_000_000_000_000),
        ] {
            let line = format!(
                "{{\"bank\":\"{bank}\",\"pair\":\"EUR/USD\",\"quotes\":1,\"spread_ticks\":null,\"orders\":0,\"fills\":0,\"filled\":0,\
                 \"fill_ratio\":null,\"rejects\":{{}},\"unknown\":0,\"hold_p50_ns\":null,\"improve_ticks\":0,\"penalty\":0}}"
            );
            let key = (bank.to_owned(), "EUR/USD".to_owned());
            ledger.scores.insert(key, (at_ns, line));
        }
        let page = section(&ledger);
        for row in [
            "A<td>EUR/USD<td>2026-01-05 09:00:00<td>1",
            "B<td>EUR/USD<td>2026-01-06 09:00:00<td>1",
        ] {
            assert!(page.contains(row), "{row}: {page}");
        }
        let file = crate::fx::report::scorecard(&ledger);
        let times: Vec<&str> = file.lines().map(|line| &line[..30]).collect();
        let expected = [
            "{\"t\":1767603600000000000,\"bank",
            "{\"t\":1767690000000000000,\"bank",
        ];
        assert_eq!(times, expected.map(|line| &line[..30]));
    }
}
