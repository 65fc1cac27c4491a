//! What a number of a board is called, and counted in, on the page.

use super::format::Kind;
use touchline_transport::shm::Description;

/// How a counter of a board is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Name of the metric.
    pub name: String,
    /// One sentence.
    pub help: String,
    /// Counter or gauge.
    pub kind: Kind,
    /// Which of the venue's lines is counted, if it is one of them.
    pub line: Option<&'static str>,
    /// Seconds in one count, for a time.
    pub seconds: Option<f64>,
}

/// Units of time, as a name ends in them, with the seconds of one.
const TIMES: &[(&str, f64)] = &[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)];

/// Endings of the counters of one line, the label that takes their place, and the line in their help.
const LINES: &[(&str, &str, &str)] = &[("_a", "a", "line A"), ("_b", "b", "line B")];

/// What a counter is called: `touchline_<name>_total`, times in seconds.
///
/// One that ends in `_a` or `_b` counts a line: `touchline_line_<name without it>_total`, and the line
/// is a label, because a metric's name may not end in a letter that could be a unit. One that ends in
/// `_now` goes up and down: `touchline_<name without it>`.
pub fn of_counter(what: &Description) -> Shown {
    let (stem, is_gauge) = match what.name.strip_suffix("_now") {
        Some(stem) => (stem, true),
        None => (what.name.as_str(), false),
    };
    let of_line = LINES.iter().find_map(|(end, label, words)| {
        let stem = stem.strip_suffix(end)?;
        Some((
            format!("line_{stem}"),
            *label,
            what.help.replace(words, "a line"),
        ))
    });
    let (stem, line, help) = match of_line {
        Some((stem, line, help)) => (stem, Some(line), help),
        None => (stem.to_owned(), None, what.help.clone()),
    };
    let (stem, seconds) = in_seconds(&stem, &what.unit);
    let (kind, end) = match is_gauge {
        true => (Kind::Gauge, ""),
        false => (Kind::Counter, "_total"),
    };
    Shown {
        name: format!("touchline_{stem}{end}"),
        help,
        kind,
        line,
        seconds,
    }
}

/// What a histogram is called, with the seconds of one count; `None` for what is not a time: its
/// values are shown as they are.
pub fn of_histogram(what: &Description) -> (String, Option<f64>) {
    let (stem, seconds) = in_seconds(&what.name, &what.unit);
    (format!("touchline_{stem}"), seconds)
}

/// `wait_ns` in ns is `wait_seconds`, and so is `wait` in ns.
fn in_seconds(name: &str, unit: &str) -> (String, Option<f64>) {
    let Some((unit, seconds)) = TIMES.iter().find(|(time, _)| *time == unit) else {
        return (name.to_owned(), None);
    };
    let stem = name
        .strip_suffix(unit)
        .and_then(|stem| stem.strip_suffix('_'));
    (format!("{}_seconds", stem.unwrap_or(name)), Some(*seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(name: &str, unit: &str) -> Description {
        Description {
            name: name.to_owned(),
            unit: unit.to_owned(),
            help: "Of line B.".to_owned(),
        }
    }

    #[test]
    fn names_say_what_they_are_in_base_units() {
        for (name, unit, metric, kind, seconds) in [
            ("gaps", "gaps", "touchline_gaps_total", Kind::Counter, None),
            ("sent", "bytes", "touchline_sent_total", Kind::Counter, None),
            (
                "wait_ms",
                "ms",
                "touchline_wait_seconds_total",
                Kind::Counter,
                Some(1e-3),
            ),
            (
                "books_live_now",
                "books",
                "touchline_books_live",
                Kind::Gauge,
                None,
            ),
            (
                "age_ns_now",
                "ns",
                "touchline_age_seconds",
                Kind::Gauge,
                Some(1e-9),
            ),
        ] {
            let shown = of_counter(&described(name, unit));
            assert_eq!(
                (shown.name.as_str(), shown.kind, shown.seconds),
                (metric, kind, seconds)
            );
        }
        let shown = of_counter(&described("packets_first_b", "packets"));
        assert_eq!(shown.name, "touchline_line_packets_first_total");
        assert_eq!((shown.line, shown.help.as_str()), (Some("b"), "Of a line."));
        for (name, unit, metric, seconds) in [
            ("packet_ns", "ns", "touchline_packet_seconds", Some(1e-9)),
            ("wait", "us", "touchline_wait_seconds", Some(1e-6)),
            ("batch", "messages", "touchline_batch", None),
        ] {
            let shown = of_histogram(&described(name, unit));
            assert_eq!(shown, (metric.to_owned(), seconds));
        }
    }
}
