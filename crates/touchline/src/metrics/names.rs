//! Names and units of counters and histograms on the page.

use super::format::Kind;
use crate::counted;
use touchline_client::monitor::Description;

/// A counter on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Name of the metric.
    pub name: String,
    /// One sentence.
    pub help: String,
    /// Counter or gauge.
    pub kind: Kind,
    /// Line of the venue that is counted, for counters of one line.
    pub line: Option<&'static str>,
    /// Bank, bank and pair, or alarm that the metric is of, if it is of one: names of labels with their values.
    pub of: Vec<(&'static str, String)>,
    /// Whether the number is the address of a receiver.
    pub is_address: bool,
    /// Its unit.
    pub unit: Unit,
}

/// Divisor from the counter's unit to the base unit: 1 for units other than time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit(f64);

impl Unit {
    /// A number in its base unit. Division by a power of ten rounds once, so that a tenth is 0.1.
    pub fn base(self, value: f64) -> f64 {
        value / self.0
    }

    /// Whether the number is in the base unit already.
    pub fn is_base(self) -> bool {
        self.0 == 1.0
    }
}

/// Units of time in names, with their number per second.
const TIMES: &[(&str, f64)] = &[("ns", 1e9), ("us", 1e6), ("ms", 1e3)];

/// Suffixes of counters of one line, label value, and the line in the help text.
const LINES: &[(&str, &str, &str)] = &[("_a", "a", "line A"), ("_b", "b", "line B")];

/// Labels of counters `<name>:<value>` and `<name>:<value>:<value>`.
const LABELS: [&str; 2] = ["bank", "pair"];
/// Counters `<name>:<value>` of something else than a bank, and their label.
const OTHER_LABELS: &[(&str, &str)] = &[("fx_alarm", "alarm")];

/// Name of a counter: `touchline_<name>_total`, times in seconds.
///
/// One of a bank, `<name>:<bank>`, of a bank in a pair, `<name>:<bank>:<pair>`, or of an alarm, `fx_alarm:<alarm>`, has these as labels.
///
/// A name that ends in `_a` or `_b` counts a line: `touchline_line_<name without suffix>_total` with the line as a
/// label, because a trailing letter of a metric name could be read as a unit. A counter whose unit ends in `now` is a
/// gauge: `touchline_<name>`.
pub fn of_counter(what: &Description) -> Shown {
    let (unit, is_gauge) = match counted::unit_now(&what.unit) {
        Some(unit) => (unit, true),
        None => (what.unit.as_str(), false),
    };
    let mut parts = what.name.splitn(3, ':');
    let stem = parts.next().unwrap_or_default();
    let other = OTHER_LABELS.iter().find(|(name, _)| *name == stem);
    let labels = other.map_or(LABELS, |(_, label)| [*label, LABELS[1]]);
    let of = labels.into_iter().zip(parts.map(str::to_owned)).collect();
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
    let (stem, unit) = in_seconds(&stem, unit);
    let (kind, end) = match is_gauge {
        true => (Kind::Gauge, ""),
        false => (Kind::Counter, "_total"),
    };
    Shown {
        name: format!("touchline_{stem}{end}"),
        help,
        kind,
        line,
        of,
        is_address: what.unit == counted::ADDRESS_UNIT,
        unit,
    }
}

/// Name of a histogram, and unit of its values: `touchline_<of><name>`, times in seconds.
pub fn of_histogram(of: &str, what: &Description) -> (String, Unit) {
    let (stem, unit) = in_seconds(&what.name, &what.unit);
    (format!("touchline_{of}{stem}"), unit)
}

/// `wait_ns` in ns is `wait_seconds`, and so is `wait` in ns; `wait_ns_max` is `wait_max_seconds`.
fn in_seconds(name: &str, unit: &str) -> (String, Unit) {
    let Some((unit, of_a_second)) = TIMES.iter().find(|(time, _)| *time == unit) else {
        return (name.to_owned(), Unit(1.0));
    };
    let stem: Vec<_> = name.split('_').filter(|word| word != unit).collect();
    (format!("{}_seconds", stem.join("_")), Unit(*of_a_second))
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
    fn counters_of_a_bank_or_an_alarm_have_it_as_a_label() {
        let shown = of_counter(&described("score_up_ns:LP01:EUR/USD", "ns"));
        assert_eq!(shown.name, "touchline_score_up_seconds_total");
        let of_pair = [("bank", "LP01".to_owned()), ("pair", "EUR/USD".to_owned())];
        assert_eq!(shown.of, of_pair);
        let shown = of_counter(&described("fx_bank_orders:LP01", "orders"));
        assert_eq!(shown.name, "touchline_fx_bank_orders_total");
        assert_eq!(shown.of, [("bank", "LP01".to_owned())]);
        let shown = of_counter(&described("fx_alarm:off_price", "alarms"));
        assert_eq!(shown.name, "touchline_fx_alarm_total");
        assert_eq!(shown.of, [("alarm", "off_price".to_owned())]);
        assert_eq!(of_counter(&described("gaps", "gaps")).of, []);
    }

    #[test]
    fn metric_names_have_kind_and_base_unit() {
        for (name, unit, metric, kind, of_a_second) in [
            ("gaps", "gaps", "touchline_gaps_total", Kind::Counter, 1.0),
            ("sent", "bytes", "touchline_sent_total", Kind::Counter, 1.0),
            (
                "wait_ms",
                "ms",
                "touchline_wait_seconds_total",
                Kind::Counter,
                1e3,
            ),
            (
                "late_ns_max",
                "ns now",
                "touchline_late_max_seconds",
                Kind::Gauge,
                1e9,
            ),
            ("ready", "yes/no now", "touchline_ready", Kind::Gauge, 1.0),
            ("nsa", "now", "touchline_nsa", Kind::Gauge, 1.0),
        ] {
            let shown = of_counter(&described(name, unit));
            let found = (shown.name.as_str(), shown.kind, shown.unit);
            assert_eq!(found, (metric, kind, Unit(of_a_second)));
        }
        let shown = of_counter(&described("packets_first_b", "packets"));
        assert_eq!(shown.name, "touchline_line_packets_first_total");
        assert_eq!((shown.line, shown.help.as_str()), (Some("b"), "Of a line."));
        for (name, unit, metric, of_a_second) in [
            ("packet_ns", "ns", "touchline_packet_seconds", 1e9),
            ("wait", "us", "touchline_wait_seconds", 1e6),
            ("batch", "messages", "touchline_batch", 1.0),
        ] {
            let shown = of_histogram("", &described(name, unit));
            assert_eq!(shown, (metric.to_owned(), Unit(of_a_second)));
        }
        assert_eq!(of_histogram("", &described("a", "ns")).1.base(300.0), 3e-7);
        let of_reader = of_histogram("reader_", &described("a_ns", "ns"));
        assert_eq!(of_reader.0, "touchline_reader_a_seconds");
    }
}
