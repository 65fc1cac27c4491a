//! The tables of `bench feed --table`: latencies over their percentiles, a line for each way of receiving.

use super::chart::{self, Chart, Series};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use touchline_chart::Scale;

/// Text that every line of this benchmark contains.
pub const MARK: &str = "\"bench\":\"feed\"";

/// Percentiles, and their names in the lines.
const PERCENTILES: [(f64, &str); 4] = [(50.0, "p50"), (90.0, "p90"), (95.0, "p95"), (99.0, "p99")];

/// The tables: level and schedule in the names of subjects, and the heading.
const TABLES: [(&str, &str, &str); 4] = [
    (
        "application",
        "-pause5000us",
        "Polled to published, 5 ms pauses",
    ),
    ("network", "-pause5000us", "Sent to published, 5 ms pauses"),
    ("application", "-stream", "Polled to published, no pauses"),
    ("network", "-stream", "Sent to published, no pauses"),
];

/// Draws the four tables.
pub fn draw(text: &str) -> Result<String> {
    let lines = text.lines().map(serde_json::from_str);
    let lines: Result<Vec<Value>, _> = lines.collect();
    let lines = lines.context("a line is no JSON")?;
    let mut charts = Vec::new();
    for (level, schedule, title) in TABLES {
        let series: Vec<_> = lines
            .iter()
            .filter_map(|line| series(line, level, schedule))
            .collect();
        if series.is_empty() {
            bail!(
                "no line of '{level}' and '{schedule}'; take the output of 'touchline bench feed --table --json'"
            );
        }
        charts.push(Chart {
            title,
            x: "one packet in … is slower",
            y: "µs",
            scale: Scale::Log,
            series,
        });
    }
    Ok(chart::side_by_side(&charts))
}

fn series(line: &Value, level: &str, schedule: &str) -> Option<Series> {
    let subject = line["subject"].as_str()?;
    let name = subject.strip_prefix("touchline-")?.strip_prefix(level)?;
    let name = name.strip_suffix(schedule)?.strip_prefix('-')?;
    let point = |(percentile, key): (f64, &str)| {
        let one_in = 100.0 / (100.0 - percentile);
        Some((one_in, line[key].as_f64()? / 1_000.0))
    };
    Some(Series {
        name: name.to_owned(),
        points: PERCENTILES.into_iter().filter_map(point).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_become_charts() {
        let line = |level: &str, schedule: &str| {
            format!(
                "{{\"bench\":\"feed\",\"subject\":\"touchline-{level}-xdp{schedule}\",\"p50\":1000,\"p90\":2000,\"p95\":2500,\"p99\":4000}}"
            )
        };
        let lines: Vec<_> = TABLES
            .iter()
            .map(|(level, schedule, _)| line(level, schedule))
            .collect();
        let svg = draw(&lines.join("\n")).unwrap();
        assert_eq!(svg.matches(">xdp<").count(), 4, "{svg}");
        let error = draw(&lines[..3].join("\n")).unwrap_err().to_string();
        assert!(error.contains("--table --json"), "{error}");
    }
}
