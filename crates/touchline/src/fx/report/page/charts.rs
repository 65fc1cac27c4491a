//! Charts of the banks' quality, one for each pair, since ticks and units of pairs differ. A chart without a value is a sentence that says why.

use crate::fx::report::account::Account;
use crate::fx::report::quality::{Quality, mean};
use std::collections::BTreeMap;
use touchline_chart::{BarChart, COLOURS, DotChart, Line, LineChart, Scale, escape, time};
use touchline_fx_events::ticks;

/// A chart of the banks in a pair; none if there is no value.
type Chart = fn(&Account, &[&Quality]) -> Option<String>;

/// A section of the page.
pub struct Section {
    /// Heading.
    pub heading: &'static str,
    /// What it shows.
    pub text: &'static str,
    /// Why a chart may be empty.
    pub empty: &'static str,
    chart: Chart,
}

/// All sections.
pub const SECTIONS: [Section; 5] = [
    Section {
        heading: "Fill ratio",
        text: "Filled share of the quantity that was sent.",
        empty: "no order was sent",
        chart: fill_ratio,
    },
    Section {
        heading: "Rejects and unknown outcomes",
        text: "Orders that a bank ended with nothing filled, by code of the Investment Association (A last look, B liquidity, C credit, \
               D static data, E other, F product, N never arrived), and outcomes that were unknown.",
        empty: "no order was rejected, and no outcome was unknown",
        chart: rejects,
    },
    Section {
        heading: "Hold time",
        text: "Time from sending an order to its end.",
        empty: "no order has ended",
        chart: hold,
    },
    Section {
        heading: "Mark-outs",
        text: "Mid after a fill against its price, in ticks, positive in our favour: below zero we paid more than the mid was worth then.",
        empty: "the engine has written no mark-out of a fill: it writes them with the scorecard, each minute and at the end of a run",
        chart: markouts,
    },
    Section {
        heading: "Symmetry",
        text: "Mid at the end of an order less the mid at its sending, in ticks, positive in our favour. A bank whose rejects are clearly \
               right of its fills rejects when the market moves for us.",
        empty: "no order that ended has a mid at its sending and at its end",
        chart: symmetry,
    },
];

impl Section {
    /// The charts, by pair.
    pub fn body(&self, account: &Account, qualities: &[Quality]) -> String {
        let mut pairs: BTreeMap<&str, Vec<&Quality>> = BTreeMap::new();
        for quality in qualities.iter().filter(|quality| quality.orders > 0) {
            let symbol = &account.pairs[quality.slot.1].symbol;
            pairs.entry(symbol).or_default().push(quality);
        }
        if pairs.is_empty() {
            return "<p class=empty>No chart: no order was sent in this period.</p>".to_owned();
        }
        let one = |(pair, qualities): (&str, Vec<&Quality>)| {
            let chart = (self.chart)(account, &qualities)
                .unwrap_or_else(|| format!("<p class=empty>No chart: {}.</p>", escape(self.empty)));
            format!("<div class=figure><h3>{}</h3>{chart}</div>", escape(pair))
        };
        pairs.into_iter().map(one).collect()
    }
}

fn bank(account: &Account, quality: &Quality) -> String {
    account.banks[quality.slot.0].clone()
}

fn fill_ratio(account: &Account, qualities: &[&Quality]) -> Option<String> {
    let bar = |quality: &&Quality| {
        let ratio = quality.fill_ratio()? as f64 / 100.0;
        let name = format!("{} (n {})", bank(account, quality), quality.orders);
        Some((name, vec![ratio]))
    };
    let chart = BarChart {
        unit: "percent",
        text: |value| format!("{value:.1} %"),
        parts: vec!["filled".to_owned()],
        bars: qualities.iter().filter_map(bar).collect(),
    };
    (!chart.bars.is_empty()).then(|| chart.draw())
}

fn rejects(account: &Account, qualities: &[&Quality]) -> Option<String> {
    let mut codes: Vec<&str> = qualities
        .iter()
        .flat_map(|quality| quality.codes.keys().copied())
        .collect();
    codes.sort_unstable();
    codes.dedup();
    let unknown: u64 = qualities.iter().map(|quality| quality.unknown).sum();
    if codes.is_empty() && unknown == 0 {
        return None;
    }
    let bar = |quality: &&Quality| {
        let of = |code: &&str| quality.codes.get(code).copied().unwrap_or(0) as f64;
        let values = codes.iter().map(of).chain([quality.unknown as f64]);
        (bank(account, quality), values.collect())
    };
    let names = codes.iter().map(|code| (*code).to_owned());
    let chart = BarChart {
        unit: "orders",
        text: |value| format!("{value:.0}"),
        parts: names.chain(["unknown".to_owned()]).collect(),
        bars: qualities.iter().map(bar).collect(),
    };
    Some(chart.draw())
}

fn hold(account: &Account, qualities: &[&Quality]) -> Option<String> {
    let ended = qualities.iter().filter(|quality| quality.ended > 0);
    let row = |quality: &&Quality| {
        let times = [50, 90, 100].map(|percent| quality.hold_ns(percent));
        let times = times.map(|ns| ns.filter(|ns| *ns > 0).map(|ns| ns as f64));
        (bank(account, quality), times.to_vec())
    };
    let chart = DotChart {
        unit: "hold time",
        scale: Scale::Log,
        text: time,
        parts: ["median", "90 %", "longest"].map(str::to_owned).to_vec(),
        rows: ended.map(row).collect(),
    };
    let is_empty = chart
        .rows
        .iter()
        .all(|(_, times)| times.iter().all(Option::is_none));
    (!is_empty).then(|| chart.draw())
}

fn markouts(account: &Account, qualities: &[&Quality]) -> Option<String> {
    let line = |(number, quality): (usize, &&Quality)| {
        let tick = ticks::tick(account.pairs[quality.slot.1].precision);
        let points = quality
            .markouts(tick)
            .filter_map(|(ms, _, mean, _)| Some((ms as f64, mean? as f64 / 100.0)));
        Line {
            name: bank(account, quality),
            points: points.collect(),
            colour: number,
            is_dashed: number >= COLOURS.len(),
        }
    };
    let chart = LineChart {
        x: "after the fill",
        y: "ticks",
        x_text: |ms| time(ms * 1e6),
        y_text: text_of_ticks,
        y_scale: Scale::Linear,
        lines: qualities.iter().enumerate().map(line).collect(),
    };
    let is_empty = chart.lines.iter().all(|line| line.points.is_empty());
    (!is_empty).then(|| chart.draw())
}

fn symmetry(account: &Account, qualities: &[&Quality]) -> Option<String> {
    let row = |quality: &&Quality| {
        let [filled, rejected] = &quality.moved;
        let name = format!(
            "{} (n {}, {})",
            bank(account, quality),
            filled.count,
            rejected.count
        );
        let means = [0, 1].map(|kind| {
            let mean = mean(quality.moved_ticks2[kind], quality.moved[kind].count);
            mean.map(|mean| mean as f64 / 100.0)
        });
        (name, means.to_vec())
    };
    let chart = DotChart {
        unit: "ticks",
        scale: Scale::Linear,
        text: text_of_ticks,
        parts: ["filled", "rejected"].map(str::to_owned).to_vec(),
        rows: qualities.iter().map(row).collect(),
    };
    let is_empty = chart
        .rows
        .iter()
        .all(|(_, means)| means.iter().all(Option::is_none));
    (!is_empty).then(|| chart.draw())
}

fn text_of_ticks(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
