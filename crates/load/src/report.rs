//! The page of a load test: one self-contained HTML file.

use crate::found::{highest, sentence};
use crate::knee::{Knee, knees, middle};
use crate::ramp::warnings;
use crate::row::{Row, Verdict};
use std::fmt::Write;
use touchline_chart::{self as chart, BarChart, Line, LineChart, Scale, escape, section};

pub use touchline_chart::{si, time};

/// Contents of the page beside the rows.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Facts about host, build and settings: name and value.
    pub rows: Vec<(String, String)>,
    /// Each subject and how it is set up.
    pub subjects: Vec<(String, String)>,
}

/// The page.
pub fn page(rows: &[Row], facts: &Facts) -> String {
    let names = names(rows);
    let mut page = chart::begin_page("touchline load", "Load test of transports");
    let _ = write!(
        page,
        "<p><strong>{}</strong></p>",
        escape(&sentence(rows, &names))
    );
    for warning in warnings(rows) {
        let _ = write!(page, "<p class=warning>{}</p>", escape(&warning));
    }
    section(&mut page, highest(rows), KNEES, &knee_table(rows, &names));
    for (heading, text, charts) in CURVES {
        let charts = charts.iter().map(|curve| curve.chart(rows, &names).draw());
        section(&mut page, heading, text, &charts.collect::<String>());
    }
    if let Some(rate) = shared_rate(rows, &names) {
        let at = |text: &str| format!("{text} At {} messages/s.", si(rate as f64));
        section(
            &mut page,
            "Latency by percentile",
            &at(PERCENTILES),
            &percentile_chart(rows, &names, rate).draw(),
        );
        section(
            &mut page,
            "Processors by process",
            &at(PROCESSORS),
            &processor_chart(rows, &names, rate).draw(),
        );
    }
    section(
        &mut page,
        "Host, build and settings",
        "",
        &fact_table(facts),
    );
    section(&mut page, "All steps", STEPS, &step_table(rows));
    page + "</html>\n"
}

const KNEES: &str = "Messages of 70 bytes a second, each once and in order, within the limits of the run, in each round.";
const PERCENTILES: &str = "All rounds together.";
const PROCESSORS: &str =
    "Processors used in the measured window. A process that spins always uses a whole one.";
const STEPS: &str = "Every step, including repeated ones.";

/// A curve of each subject against the offered rate, one line a round.
struct Curve {
    y: &'static str,
    text: fn(f64) -> String,
    scale: Scale,
    value: fn(&Row) -> f64,
}

/// Heading, sentence and charts.
type Curves = (&'static str, &'static str, &'static [Curve]);

/// Sections of curves.
const CURVES: [Curves; 5] = [
    (
        "Latency against offered rate",
        "From the due time of a message to its receipt by a reader. One line a round.",
        &[
            latency("median latency", |row| row.quantile_ns("p50") as f64),
            latency("99th percentile", |row| row.quantile_ns("p99") as f64),
            latency("99.9th percentile", |row| row.quantile_ns("p99_9") as f64),
        ],
    ),
    (
        "Received against offered rate",
        "Rate received by the slowest reader. A subject that keeps up lies on the diagonal.",
        &[Curve {
            y: "received, messages/s",
            text: si,
            scale: Scale::Log,
            value: |row| row.received_rate,
        }],
    ),
    (
        "Processors against offered rate",
        "Processors used by all processes in the measured window. A process that spins always uses a whole one.",
        &[Curve {
            y: "processors",
            text: |value| format!("{value:.1}"),
            scale: Scale::Linear,
            value: Row::cpus,
        }],
    ),
    (
        "Memory against offered rate",
        "Resident memory of all processes, and files in shared memory. Pages that several processes touch count in each.",
        &[
            memory("resident memory", |row| {
                row.processes.iter().map(|used| used.rss_bytes).sum::<u64>() as f64
            }),
            memory("files in shared memory", |row| row.shm_bytes as f64),
        ],
    ),
    (
        "Network against offered rate",
        "What the interface sent for each message, including headers and acknowledgements.",
        &[
            Curve {
                y: "bytes a message",
                text: |value| format!("{value:.0}"),
                scale: Scale::Linear,
                value: |row| row.per_message(row.host.interface_bytes),
            },
            Curve {
                y: "packets a message",
                text: |value| format!("{value:.2}"),
                scale: Scale::Linear,
                value: |row| row.per_message(row.host.interface_packets),
            },
        ],
    ),
];

const fn latency(y: &'static str, value: fn(&Row) -> f64) -> Curve {
    Curve {
        y,
        text: time,
        scale: Scale::Log,
        value,
    }
}

const fn memory(y: &'static str, value: fn(&Row) -> f64) -> Curve {
    Curve {
        y,
        text: |value| format!("{:.0} MB", value / 1e6),
        scale: Scale::Linear,
        value,
    }
}

impl Curve {
    fn chart(&self, rows: &[Row], names: &[String]) -> LineChart {
        let rounds = rows.iter().map(|row| row.round).max().unwrap_or(0);
        let line = |number: usize, name: &String, round| Line {
            name: name.clone(),
            points: by_rate(rows, name)
                .iter()
                .filter_map(|(rate, rows)| {
                    // The repetition decides.
                    let row = rows.iter().rfind(|row| row.round == round)?;
                    Some((*rate as f64, (self.value)(row)))
                })
                .collect(),
            colour: number,
            is_dashed: number >= chart::COLOURS.len(),
        };
        let lines = names
            .iter()
            .enumerate()
            .flat_map(|(number, name)| (1..=rounds).map(move |round| line(number, name, round)));
        LineChart {
            x: "offered, messages/s",
            y: self.y,
            x_text: si,
            y_text: self.text,
            y_scale: self.scale,
            lines: lines.filter(|line| !line.points.is_empty()).collect(),
        }
    }
}

/// Subjects in the order of measurement.
fn names(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        if !names.contains(&row.subject) {
            names.push(row.subject.clone());
        }
    }
    names
}

/// Rates of a subject, ascending, each with its valid rows.
fn by_rate<'a>(rows: &'a [Row], subject: &str) -> Vec<(u64, Vec<&'a Row>)> {
    let of_subject = |row: &&Row| {
        row.subject == subject && row.verdict != Verdict::Invalid && row.received.measured > 0
    };
    let mut rates: Vec<u64> = rows.iter().filter(of_subject).map(|row| row.rate).collect();
    rates.sort_unstable();
    rates.dedup();
    let at = |rate: u64| {
        rows.iter()
            .filter(of_subject)
            .filter(|row| row.rate == rate)
            .collect()
    };
    rates.into_iter().map(|rate| (rate, at(rate))).collect()
}

/// The median over rows.
fn median(rows: &[&Row], value: impl Fn(&Row) -> f64) -> f64 {
    let mut values: Vec<f64> = rows.iter().map(|row| value(row)).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The highest rate that every subject with a valid step sustained at least once; else the lowest rate of all.
fn shared_rate(rows: &[Row], names: &[String]) -> Option<u64> {
    let names = || names.iter().filter(|name| !by_rate(rows, name).is_empty());
    let is_met = |name: &String, rate: u64| {
        rows.iter()
            .any(|row| row.subject == *name && row.rate == rate && row.verdict.is_met())
    };
    let rates = || rows.iter().map(|row| row.rate);
    let shared = rates().filter(|rate| names().all(|name| is_met(name, *rate)));
    shared.max().or_else(|| rates().min())
}

fn at_rate<'a>(rows: &'a [Row], subject: &str, rate: u64) -> Vec<&'a Row> {
    let found = by_rate(rows, subject)
        .into_iter()
        .find(|(found, _)| *found == rate);
    found.map(|(_, rows)| rows).unwrap_or_default()
}

/// Share of messages that are later than a point of the chart: "1 of N".
const ONE_OF: [f64; 13] = [
    1.0, 2.0, 4.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 1e4, 1e5, 1e6,
];

fn percentile_chart(rows: &[Row], names: &[String], rate: u64) -> LineChart {
    let line = |(number, name): (usize, &String)| {
        let histograms = at_rate(rows, name, rate)
            .into_iter()
            .filter_map(|row| row.decoded().ok());
        let all = histograms.reduce(|mut sum, next| {
            // Both histograms have the same bounds.
            let _ = sum.add(next);
            sum
        });
        let points = all.map(|all| {
            let counted = ONE_OF.iter().filter(|one_of| **one_of <= all.len() as f64);
            counted
                .map(|one_of| (*one_of, all.value_at_quantile(1.0 - 1.0 / one_of) as f64))
                .collect()
        });
        Line {
            name: name.clone(),
            points: points.unwrap_or_default(),
            colour: number,
            is_dashed: number >= chart::COLOURS.len(),
        }
    };
    LineChart {
        x: "one of N messages is later",
        y: "latency",
        x_text: si,
        y_text: time,
        y_scale: Scale::Log,
        lines: names
            .iter()
            .enumerate()
            .map(line)
            .filter(|line| !line.points.is_empty())
            .collect(),
    }
}

fn processor_chart(rows: &[Row], names: &[String], rate: u64) -> BarChart {
    let mut parts: Vec<String> = Vec::new();
    for row in rows {
        for used in &row.processes {
            if !parts.contains(&used.process) {
                parts.push(used.process.clone());
            }
        }
    }
    let bar = |name: &String| {
        let rows = at_rate(rows, name, rate);
        if rows.is_empty() {
            return None;
        }
        let of = |part: &String| {
            median(&rows, |row| {
                let used = row.processes.iter().filter(|used| used.process == *part);
                used.map(crate::sample::ProcessUse::cpu_s).sum::<f64>()
                    / row.host.window_s.max(1e-6)
            })
        };
        Some((name.clone(), parts.iter().map(of).collect()))
    };
    BarChart {
        unit: "processors",
        text: |value| format!("{value:.2}"),
        bars: names.iter().filter_map(bar).collect(),
        parts,
    }
}

fn knee_table(rows: &[Row], names: &[String]) -> String {
    let mut table = String::from("<table><tr><th>subject<th>each round<th>median");
    for name in names {
        let knees = knees(rows, name);
        let each: Vec<String> = knees.iter().map(Knee::to_string).collect();
        let middle = match middle(knees) {
            Some(knee) if knee.is_short => knee.why,
            knee => si(knee.map_or(0, |knee| knee.rate) as f64),
        };
        let _ = write!(
            table,
            "<tr><td>{}<td>{}<td>{}",
            escape(name),
            escape(&each.join(", ")),
            escape(&middle)
        );
    }
    table + "</table>"
}

fn fact_table(facts: &Facts) -> String {
    let mut table = String::from("<table>");
    for (name, value) in facts.rows.iter().chain(&facts.subjects) {
        let _ = write!(
            table,
            "<tr><td>{}<td class=text>{}",
            escape(name),
            escape(value)
        );
    }
    table + "</table>"
}

fn step_table(rows: &[Row]) -> String {
    let mut table = String::from(
        "<div class=scroll><table><tr><th>subject<th>round<th>offered<th>received<th>p50<th>p99<th>p99.9<th>max<th>processors<th>foreign\
         <th>result",
    );
    for row in rows {
        let quantile = |name| time(row.quantile_ns(name) as f64);
        let _ = write!(
            table,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{:.2}<td>{:.1} %<td class=text>{}",
            escape(&row.subject),
            row.round,
            si(row.rate as f64),
            si(row.received_rate),
            quantile("p50"),
            quantile("p99"),
            quantile("p99_9"),
            quantile("max"),
            row.cpus(),
            row.host.foreign * 100.0,
            escape(&row.result())
        );
    }
    table + "</table></div>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Cause;
    use crate::step::made_up_row;

    #[test]
    fn the_median_of_two_rounds_is_the_lower_one() {
        let sustained = |rate, round| made_up_row("tcp", rate, round, Verdict::Sustained);
        let rows = [sustained(100_000, 1), sustained(1_000_000, 2)];
        let table = knee_table(&rows, &["tcp".to_owned()]);
        assert!(table.contains("<td>100 k, 1 M<td>100 k"), "{table}");
    }

    #[test]
    fn a_rate_of_zero_has_its_reason_and_differing_rounds_have_theirs() {
        let mut rows = Vec::new();
        for (rate, round, verdict) in [
            (10_000, 1, Verdict::NotSustained),
            (10_000, 2, Verdict::Sustained),
            (30_000, 2, Verdict::Sustained),
        ] {
            let mut row = made_up_row("tcp", rate, round, verdict);
            row.cause = (verdict == Verdict::NotSustained).then_some(Cause::Lost);
            rows.push(row);
        }
        let page = page(&rows, &Facts::default());
        for text in [
            "<td>0 (lossy at 10 k), 30 k<td>0",
            "<p class=warning>the rounds of tcp differ by more than one step: round 1 0 (lossy at 10 k), cache-line",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }

    #[test]
    fn the_page_is_one_file_and_shows_every_subject() {
        let mut rows = Vec::new();
        for (subject, most) in [("touchline", 1_000_000), ("tcp", 100_000)] {
            for rate in [10_000, 100_000, 1_000_000] {
                let verdict = if rate <= most {
                    Verdict::Sustained
                } else {
                    Verdict::NotSustained
                };
                rows.push(made_up_row(subject, rate, 1, verdict));
            }
        }
        let facts = Facts {
            rows: vec![("host".to_owned(), "a <quick> host".to_owned())],
            subjects: Vec::new(),
        };
        let page = page(&rows, &facts);
        for text in [
            "touchline",
            "tcp",
            "Latency by percentile",
            "At 100 k messages/s",
            "a &lt;quick&gt; host",
            "1 M",
            "<strong>Highest rate sustained: touchline 1 M messages/s, tcp 100 k.</strong>",
        ] {
            assert!(page.contains(text), "{text}");
        }
        for outside in ["http://", "https://", "<script", "<link", "src="] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    }

    /// Processors, memory and network are curves against the rate, one line a round.
    #[test]
    fn resources_are_curves_with_one_line_a_round() {
        let mut rows = Vec::new();
        for round in 1..=3 {
            for rate in [10_000, 100_000, 1_000_000] {
                rows.push(made_up_row("tcp", rate, round, Verdict::Sustained));
            }
        }
        let page = page(&rows, &Facts::default());
        for y in [
            "processors",
            "resident memory",
            "files in shared memory",
            "bytes a message",
            "packets a message",
        ] {
            let chart = page
                .split("<svg")
                .find(|svg| svg.contains(&format!("aria-label='{y}'")) && svg.contains("polyline"));
            let chart = chart.unwrap_or_else(|| panic!("{y}: {page}"));
            assert_eq!(chart.matches("<polyline").count(), 3, "{y}");
            assert_eq!(chart.matches("<circle").count(), 9, "{y}");
        }
        assert_eq!(
            page.matches(">tcp</span>").count(),
            10,
            "one key a chart: {page}"
        );
    }

    /// A subject whose steps are all invalid has no bars and no lines; the others have theirs at the rate that they share.
    #[test]
    fn a_subject_without_valid_steps_has_no_bars() {
        let mut rows = Vec::new();
        for rate in [10_000, 100_000] {
            rows.push(made_up_row("tcp", rate, 1, Verdict::Sustained));
            let mut row = made_up_row("relay", rate, 1, Verdict::Invalid);
            (row.processors_needed, row.processors) = (4, 2);
            rows.push(row);
        }
        let page = page(&rows, &Facts::default());
        assert!(page.contains("At 100 k messages/s"));
        assert!(page.contains("<td>relay<td>needs 4 processors<td>needs 4 processors"));
        for svg in page.split("<svg").skip(1) {
            let svg = svg.split("</svg>").next().unwrap_or_default();
            assert!(!svg.contains("relay"), "{svg}");
        }
    }
}
