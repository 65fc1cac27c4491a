//! Counters and histograms of a bus as text, and rates between two samples.

use super::shown::{Bus, Shown};
use crate::counted::{self, Freshness, of_bus};
use crate::format::{count, counted, duration, utc};
use crate::paint::Paint;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;
use touchline_client::monitor::{CountersView, Description, HistogramView};

/// Previous sample, from which rates are computed.
#[derive(Debug, Default)]
pub struct Past {
    last: Option<Values>,
}

#[derive(Debug)]
struct Values {
    at: Instant,
    /// Start time of the counting process: a restarted one counts from 0.
    start_unix_ns: u64,
    counters: BTreeMap<String, u64>,
}

/// Writes histograms, counters, and the process and time of the counters.
pub fn write(
    text: &mut String,
    bus: &Bus,
    counters_file: &CountersView,
    shown: &Shown,
    past: Option<&mut Past>,
) {
    let paint = Paint::for_stdout();
    let hidden = write_histograms(text, counters_file, shown, paint)
        + write_counters(text, bus, counters_file, shown, past, paint);
    if hidden > 0 && *shown == Shown::Counted {
        let note = format!(
            "{} at 0 not shown; --all shows them",
            counted(hidden, "value")
        );
        let _ = writeln!(text, "\n{}", paint.dim(note));
    }
    let origin = counters_file.origin();
    let since = utc(origin.start_unix_ns);
    let freshness = Freshness::of_bus(counters_file, &bus.overview);
    let note = format!("counted by process {} since {since}", origin.pid);
    let written = match freshness.is_fresh() {
        true => paint.dim(freshness.text()),
        false => paint.yellow(freshness.text()),
    };
    let _ = writeln!(text, "\n{}, {written}", paint.dim(note));
}

/// Returns the number of histograms left out.
pub fn write_histograms(
    text: &mut String,
    counters_file: &CountersView,
    shown: &Shown,
    paint: Paint,
) -> u64 {
    let all: Vec<_> = counters_file.histograms().collect();
    let rows: Vec<_> = all
        .iter()
        .filter(|(what, view)| shown.has(what, view.count()))
        .collect();
    let width = width_of("histogram", rows.iter().map(|(what, _)| &what.name));
    if !rows.is_empty() {
        let head = format!(
            "{:<width$} {:>14} {:>9} {:>9} {:>9} {:>9}",
            "histogram", "count", "p50", "p99", "p99.9", "max"
        );
        let _ = writeln!(text, "\n{}", paint.dim(head));
    }
    for (what, view) in &rows {
        let _ = write!(text, "{:<width$} {:>14}", what.name, count(view.count()));
        for value in points(view) {
            let value = value.map_or("-".to_owned(), |value| measured(value, what));
            let _ = write!(text, " {value:>9}");
        }
        let _ = match shown {
            Shown::Counted => writeln!(text),
            Shown::All | Shown::With(_) => writeln!(text, "\n  {}", paint.dim(&what.help)),
        };
    }
    (all.len() - rows.len()) as u64
}

/// Returns the number of counters left out.
fn write_counters(
    text: &mut String,
    bus: &Bus,
    counters_file: &CountersView,
    shown: &Shown,
    past: Option<&mut Past>,
    paint: Paint,
) -> u64 {
    let values: Vec<_> = of_bus(counters_file, &bus.overview).collect();
    let with_rates = past.is_some();
    let rates = past.map_or(BTreeMap::new(), |past| past.rates(counters_file, &values));
    let rows: Vec<_> = values
        .iter()
        .filter(|(what, value)| shown.has(what, *value))
        .collect();
    let width = width_of("counter", rows.iter().map(|(what, _)| &what.name));
    let units = width_of("unit", rows.iter().map(|(what, _)| &what.unit));
    let rate_column = |rate: &str| match with_rates {
        true => format!(" {rate:>12}"),
        false => String::new(),
    };
    if rows.is_empty() {
        let none = match shown {
            Shown::With(filter) => format!("no counter has {filter:?} in its name or meaning"),
            Shown::All | Shown::Counted => "no counter is above 0".to_owned(),
        };
        let _ = writeln!(text, "\n{}", paint.dim(none));
    } else {
        let head = format!(
            "{:<width$} {:>16}{} {:<units$}  meaning",
            "counter",
            "counted",
            rate_column("per second"),
            "unit"
        );
        let _ = writeln!(text, "\n{}", paint.dim(head));
    }
    for (what, value) in &rows {
        let rate = rates.get(&what.name);
        let rate = rate.map_or("-".to_owned(), |rate| count(rate.round() as u64));
        let line = format!(
            "{:<width$} {:>16}{} {:<units$}  {}",
            what.name,
            counted::text(what, *value),
            rate_column(&rate),
            what.unit,
            what.help
        );
        let line = if *value == 0 { paint.dim(line) } else { line };
        let _ = writeln!(text, "{line}");
    }
    (values.len() - rows.len()) as u64
}

/// Width of a column with its heading.
fn width_of<'a>(heading: &str, texts: impl Iterator<Item = &'a String>) -> usize {
    let widths = texts.map(|text| text.chars().count());
    widths.max().unwrap_or(0).max(heading.len())
}

impl Past {
    /// Rate of each counter since the previous sample; none at the first sample and after a restart of the counting
    /// process, and none of a present value.
    fn rates(
        &mut self,
        counters_file: &CountersView,
        values: &[(&Description, u64)],
    ) -> BTreeMap<String, f64> {
        let now = Values::of(counters_file.origin().start_unix_ns, values);
        let last = self.last.replace(now);
        let (Some(last), Some(now)) = (last, &self.last) else {
            return BTreeMap::new();
        };
        now.rates_since(&last)
    }
}

impl Values {
    /// What only grows of the present values.
    fn of(start_unix_ns: u64, values: &[(&Description, u64)]) -> Values {
        let growing = values.iter();
        let growing = growing.filter(|(what, _)| counted::unit_now(&what.unit).is_none());
        let named = growing.map(|(what, value)| (what.name.clone(), *value));
        Values {
            at: Instant::now(),
            start_unix_ns,
            counters: named.collect(),
        }
    }

    fn rates_since(&self, last: &Values) -> BTreeMap<String, f64> {
        let seconds = self.at.duration_since(last.at).as_secs_f64();
        if self.start_unix_ns != last.start_unix_ns || seconds <= 0.0 {
            return BTreeMap::new();
        }
        let rate = |(name, value): (&String, &u64)| {
            let grown = value.saturating_sub(*last.counters.get(name)?);
            Some((name.clone(), grown as f64 / seconds))
        };
        self.counters.iter().filter_map(rate).collect()
    }
}

/// p50, p99, p99.9 and the largest.
pub fn points(view: &HistogramView) -> [Option<u64>; 4] {
    let at = |share| view.value_at_quantile(share).filter(|_| view.count() > 0);
    [at(0.5), at(0.99), at(0.999), view.max()]
}

fn measured(value: u64, what: &Description) -> String {
    match what.unit.as_str() {
        "ns" => duration(value),
        _ => count(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rates_cover_the_time_between_two_samples_of_one_process() {
        let start = Instant::now();
        let values = |after_ms, start_unix_ns, packets| Values {
            at: start + Duration::from_millis(after_ms),
            start_unix_ns,
            counters: BTreeMap::from([("packets".to_owned(), packets)]),
        };
        let first = values(0, 7, 100);
        let rates = values(500, 7, 150).rates_since(&first);
        assert_eq!(rates, BTreeMap::from([("packets".to_owned(), 100.0)]));
        let began_again = values(500, 8, 150).rates_since(&first);
        assert_eq!(began_again, BTreeMap::new());
        assert_eq!(values(0, 7, 150).rates_since(&first), BTreeMap::new());
    }

    /// A present value, such as the address of a receiver, has no rate.
    #[test]
    fn present_values_have_no_rate() {
        let described = |name: &str, unit: &str| Description {
            name: name.to_owned(),
            unit: unit.to_owned(),
            help: String::new(),
        };
        let all = [described("gaps", "gaps"), described("ready", "yes/no now")];
        let values = all.each_ref().map(|what| (what, 7));
        let now = Values::of(7, &values);
        assert_eq!(now.counters, BTreeMap::from([("gaps".to_owned(), 7)]));
    }

    #[test]
    fn a_filter_matches_name_or_meaning_and_shows_zeros() {
        let what = Description {
            name: "packets_lost".to_owned(),
            unit: "packets".to_owned(),
            help: "Missing on both lines.".to_owned(),
        };
        let with = |text: &str| Shown::With(text.to_owned());
        for (shown, count, is_shown) in [
            (Shown::Counted, 0, false),
            (Shown::Counted, 1, true),
            (Shown::All, 0, true),
            (with("lost"), 0, true),
            (with("missing on"), 0, true),
            (with("gap"), 1, false),
        ] {
            assert_eq!(shown.has(&what, count), is_shown, "{shown:?}");
        }
    }
}
