//! `cargo xtask plot`: results of a benchmark as a picture for the documents.
//!
//! ```text
//! bench fx-compose --profile buses --json, for each pair of --banks and --quotes ──► a round over banks, and over updates
//! ```

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use touchline_chart::{Panel, Scale, Series, sheet};

/// Median of a round in nanoseconds, by number of banks and of quotes.
type Medians = BTreeMap<(u64, u64), f64>;

/// Draws a file of JSON lines.
///
/// # Errors
/// The file cannot be read or has other lines, or the picture cannot be written.
pub fn run(output: &Path, input: &Path) -> Result<()> {
    let text =
        fs::read_to_string(input).with_context(|| format!("cannot read {}", input.display()))?;
    let drawn = medians(&text).map(|medians| draw(&medians));
    let drawn = drawn.with_context(|| input.display().to_string())?;
    fs::write(output, drawn).with_context(|| format!("cannot write {}", output.display()))?;
    println!("drew {}", output.display());
    Ok(())
}

/// Reads the medians. Each run measures the round without quotes, too: the lowest of these is taken, because disturbances only
/// add time.
fn medians(text: &str) -> Result<Medians> {
    let mut medians = Medians::new();
    for (index, line) in text.lines().enumerate() {
        let place = || format!("line {}", index + 1);
        let row: Value = serde_json::from_str(line).with_context(place)?;
        let number = |name: &str| {
            let value = row[name].as_u64();
            value.with_context(|| format!("{}: no number '{name}'; take the output of 'touchline bench fx-compose --profile buses --json'", place()))
        };
        let median = number("p50")? as f64;
        let lowest = medians.entry((number("banks")?, number("quotes")?));
        lowest
            .and_modify(|lowest| *lowest = lowest.min(median))
            .or_insert(median);
    }
    if medians.is_empty() {
        bail!("no lines");
    }
    Ok(medians)
}

fn draw(medians: &Medians) -> String {
    let over_banks = Panel {
        title: "A round, over the number of banks",
        x: "buses of banks that the round polls",
        y: "round, median, µs",
        scale: Scale::Linear,
        series: series(
            medians,
            |(banks, quotes)| (quotes, banks),
            |quotes| match quotes {
                0 => "no update".to_owned(),
                1 => "1 update".to_owned(),
                _ => format!("{quotes} updates"),
            },
        ),
    };
    let over_updates = Panel {
        title: "The same, over the number of updates",
        x: "updates in the round",
        y: "round, median, µs",
        scale: Scale::Linear,
        series: series(
            medians,
            |place| place,
            |banks| match banks {
                1 => "1 bank".to_owned(),
                _ => format!("{banks} banks"),
            },
        ),
    };
    sheet(&[over_banks, over_updates])
}

/// One series for each first number of `split`, over the second one. Series of fewer than three points are left out.
fn series(
    medians: &Medians,
    split: impl Fn((u64, u64)) -> (u64, u64),
    name: impl Fn(u64) -> String,
) -> Vec<Series> {
    let names: BTreeSet<u64> = medians.keys().map(|place| split(*place).0).collect();
    let points = |wanted: u64| {
        let mut points: Vec<(f64, f64)> = medians
            .iter()
            .filter(|(place, _)| split(**place).0 == wanted)
            .map(|(place, median)| (split(*place).1 as f64, median / 1_000.0))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let all = names.into_iter().map(|wanted| Series {
        name: name(wanted),
        points: points(wanted),
    });
    all.filter(|series| series.points.len() >= 3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = r#"{"banks":1,"quotes":0,"p50":60}
{"banks":1,"quotes":1,"p50":700}
{"banks":1,"quotes":0,"p50":50}
{"banks":1,"quotes":4,"p50":2500}
{"banks":20,"quotes":4,"p50":2600}"#;

    /// The lowest of several medians of one place is taken; a series needs three points.
    #[test]
    fn rows_become_series() {
        let medians = medians(ROWS).unwrap();
        assert_eq!(medians[&(1, 0)], 50.0);
        let over_updates = series(&medians, |place| place, |banks| banks.to_string());
        let points = vec![(0.0, 0.05), (1.0, 0.7), (4.0, 2.5)];
        assert_eq!(over_updates.len(), 1);
        assert_eq!(
            (over_updates[0].name.as_str(), &over_updates[0].points),
            ("1", &points)
        );
        let svg = draw(&medians);
        assert!(svg.starts_with("<svg") && svg.contains("1 bank<"), "{svg}");
        assert!(!svg.contains("20 banks"), "{svg}");
    }

    /// A line of another command is refused with its number and the fix.
    #[test]
    fn other_lines_are_refused() {
        let error = medians("{\"p50\":1}").unwrap_err().to_string();
        assert!(
            error.contains("line 1") && error.contains("--profile buses"),
            "{error}"
        );
        assert!(medians("").is_err());
    }
}
