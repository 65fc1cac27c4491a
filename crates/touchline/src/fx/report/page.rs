//! `report.html`: positions and the banks' scorecard with plots.

use crate::format::utc;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use touchline_chart::{
    BarChart, COLOURS, DotChart, Line, LineChart, Scale, begin_page, escape, section, time,
};
use touchline_fx_desk::ledger::Ledger;

const POSITIONS: &str = "Base units, and cash in term currency,";
const FILLED: &str = "Filled share of the quantity that was sent.";
const REJECTS: &str = "Orders that ended with nothing filled, by code of the Investment Association (A last look, B liquidity, C credit, \
                       D static data, E other, F product, N never arrived), and outcomes that were unknown.";
const HOLD: &str = "Time from sending an order to its end.";
const MARKOUTS: &str = "Mid after a fill against its price, in ticks, positive in our favour: below zero we paid more than the mid was worth then.";
const SYMMETRY: &str = "Mid at the end of an order less the mid at its sending, in ticks, positive in our favour. A bank whose rejects \
                        are clearly right of its fills rejects when the market moves for us.";
const SCORES: &str = "Every bank and pair.";

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
    hold_p90_ns: Option<u64>,
    hold_max_ns: Option<u64>,
    improve_ticks: i64,
    moved_filled: (u64, Option<String>),
    moved_rejected: (u64, Option<String>),
    markouts: Vec<(u64, u64, Option<String>)>,
    penalty: i64,
}

/// The page.
pub fn page(ledger: &Ledger) -> String {
    let lines = ledger.scores.values();
    let scores: Vec<Score> = lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let mut page = begin_page("touchline fx report", "FX execution report");
    let _ = write!(
        page,
        "<p>{}: {} fills, {} orders out.</p>",
        as_of(ledger.at_ns),
        ledger.fill_count,
        ledger.open().len()
    );
    if let Some(by) = &ledger.killed {
        let _ = write!(
            page,
            "<p class=warning>Kill switch set by {}</p>",
            escape(by)
        );
    }
    let text = format!("{POSITIONS} {}.", as_of(ledger.at_ns));
    section(&mut page, "Positions", &text, &positions(ledger));
    let scored = as_of(ledger.scores_at_ns);
    let traded: Vec<&Score> = scores.iter().filter(|score| score.orders > 0).collect();
    if traded.is_empty() {
        page.push_str("<p>No orders yet. The scorecard follows the first orders of a run within seconds, then each minute and at the end of the run.</p>");
    } else {
        for (heading, text, chart) in [
            ("Fill ratio", FILLED, fill_ratio as fn(&[&Score]) -> String),
            ("Rejects and unknown outcomes", REJECTS, rejects),
            ("Hold time", HOLD, hold),
            ("Mark-outs", MARKOUTS, markouts),
            ("Symmetry", SYMMETRY, symmetry),
        ] {
            let text = format!("{text} The scorecard is {scored}.");
            section(&mut page, heading, &text, &by_pair(&traded, chart));
        }
    }
    let text = format!(
        "{SCORES} It is {scored}; the engine writes it behind the first orders, then each minute and at the end of a run."
    );
    section(&mut page, "Scorecard", &text, &table(&scores));
    page + "</html>\n"
}

/// The time of a part of the page.
fn as_of(at_ns: u64) -> String {
    match at_ns {
        0 => "as of no time yet".to_owned(),
        _ => {
            let time = utc(at_ns);
            let (second, _) = time.split_once('.').unwrap_or((&time, ""));
            format!("as of {} UTC", second.replace('T', " "))
        }
    }
}

/// A chart of each pair, since ticks and units of pairs differ.
fn by_pair(scores: &[&Score], chart: fn(&[&Score]) -> String) -> String {
    let mut pairs: BTreeMap<&str, Vec<&Score>> = BTreeMap::new();
    for score in scores {
        pairs.entry(&score.pair).or_default().push(score);
    }
    let one = |(pair, scores): (&str, Vec<&Score>)| {
        format!("<h3>{}</h3>{}", escape(pair), chart(&scores))
    };
    pairs.into_iter().map(one).collect()
}

fn fill_ratio(scores: &[&Score]) -> String {
    let bar = |score: &&Score| {
        let ratio = decimal(score.fill_ratio.as_ref()).unwrap_or(0.0);
        (score.bank.clone(), vec![100.0 * ratio])
    };
    BarChart {
        unit: "percent",
        text: |value| format!("{value:.1} %"),
        parts: vec!["filled".to_owned()],
        bars: scores.iter().map(bar).collect(),
    }
    .draw()
}

fn rejects(scores: &[&Score]) -> String {
    let mut codes: Vec<&str> = scores
        .iter()
        .flat_map(|score| score.rejects.keys().map(String::as_str))
        .collect();
    codes.sort_unstable();
    codes.dedup();
    let bar = |score: &&Score| {
        let of = |code: &&str| score.rejects.get(*code).copied().unwrap_or(0) as f64;
        let values = codes.iter().map(of).chain([score.unknown as f64]);
        (score.bank.clone(), values.collect())
    };
    let names = codes.iter().map(|code| (*code).to_owned());
    BarChart {
        unit: "orders",
        text: |value| format!("{value:.0}"),
        parts: names.chain(["unknown".to_owned()]).collect(),
        bars: scores.iter().map(bar).collect(),
    }
    .draw()
}

fn hold(scores: &[&Score]) -> String {
    let row = |score: &&Score| {
        let times = [score.hold_p50_ns, score.hold_p90_ns, score.hold_max_ns];
        let times = times.map(|ns| ns.filter(|ns| *ns > 0).map(|ns| ns as f64));
        (score.bank.clone(), times.to_vec())
    };
    DotChart {
        unit: "hold time",
        scale: Scale::Log,
        text: time,
        parts: ["median", "90 %", "longest"].map(str::to_owned).to_vec(),
        rows: scores.iter().map(row).collect(),
    }
    .draw()
}

fn markouts(scores: &[&Score]) -> String {
    let line = |(number, score): (usize, &&Score)| Line {
        name: score.bank.clone(),
        points: score
            .markouts
            .iter()
            .filter_map(|(ms, _, ticks)| Some((*ms as f64, decimal(ticks.as_ref())?)))
            .collect(),
        colour: number,
        is_dashed: number >= COLOURS.len(),
    };
    LineChart {
        x: "after the fill",
        y: "ticks",
        x_text: |ms| time(ms * 1e6),
        y_text: ticks,
        y_scale: Scale::Linear,
        lines: scores.iter().enumerate().map(line).collect(),
    }
    .draw()
}

fn symmetry(scores: &[&Score]) -> String {
    let row = |score: &&Score| {
        let moved = [&score.moved_filled, &score.moved_rejected];
        let values = moved.map(|(_, ticks)| decimal(ticks.as_ref()));
        (score.bank.clone(), values.to_vec())
    };
    DotChart {
        unit: "ticks",
        scale: Scale::Linear,
        text: ticks,
        parts: ["filled", "rejected"].map(str::to_owned).to_vec(),
        rows: scores.iter().map(row).collect(),
    }
    .draw()
}

fn positions(ledger: &Ledger) -> String {
    let mut table = String::from(
        "<table><tr><th>pair<th>position<th>cash<th>worst long<th>worst short<th>profit at the mid",
    );
    for (pair, row) in &ledger.pairs {
        let [long, short] = row.worst;
        let _ = write!(
            table,
            "<tr><td>{}<td>{}<td>{}<td>{long}<td>{short}<td>{}",
            escape(pair),
            row.position,
            escape(&row.cash),
            escape(row.pnl.as_deref().unwrap_or("-"))
        );
    }
    table + "</table>"
}

fn table(scores: &[Score]) -> String {
    let mut table = String::from(
        "<div class=scroll><table><tr><th>bank<th>pair<th>quotes<th>spread<th>orders<th>fills<th>filled<th>fill ratio<th>rejects\
         <th>unknown<th>improved<th>penalty<th>hold median",
    );
    for score in scores {
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

fn decimal(text: Option<&String>) -> Option<f64> {
    text?.parse().ok()
}

fn ticks(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
