//! Buses for people.

use super::{Bus, Row};
use crate::counted::{Freshness, of_bus};
use crate::format::{age, bytes, count, counted, duration, share};
use crate::paint::Paint;
use std::fmt::Write;
use touchline_transport::shm::{
    CountersView, Description, HistogramView, Overview, READER_HISTOGRAMS, ReaderView,
    RegisteredReader, Root,
};

/// A line for each bus.
pub fn list(root: &Root, rows: &[Row]) -> String {
    let paint = Paint::for_stdout();
    if rows.is_empty() {
        return format!(
            "no bus in {}; `touchline replay --publish` begins one\n",
            root.path().display()
        );
    }
    let head = format!(
        "{:<20} {:>5} {:>11} {:>14} {:>10}  {}",
        "bus", "epoch", "instruments", "messages", "memory", "publisher"
    );
    let mut text = format!("{}\n", paint.dim(head));
    for row in rows {
        let _ = match row {
            Ok(bus) => writeln!(
                text,
                "{:<20} {:>5} {:>11} {:>14} {:>10}  {}",
                bus.bus,
                bus.generation,
                count(bus.definitions.max(bus.books) as u64),
                count(bus.messages),
                bytes(bus.memory_bytes),
                publisher(bus, paint)
            ),
            Err((bus, error)) => writeln!(text, "{bus:<20} {}", paint.red(error)),
        };
    }
    text
}

/// Everything of one bus.
pub fn bus(bus: &Bus) -> String {
    let paint = Paint::for_stdout();
    let mut text = String::new();
    write_overview(&mut text, bus, paint);
    write_readers(&mut text, bus, paint);
    match &bus.counters_file {
        Some(counters_file) => {
            write_histograms(&mut text, counters_file, paint);
            write_counters(&mut text, counters_file, &bus.overview, paint);
        }
        None => text.push_str("\nnothing is counted: the bus has no board\n"),
    }
    text
}

fn write_overview(text: &mut String, whole: &Bus, paint: Paint) {
    let bus = &whole.overview;
    let mut row = |name: &str, what: String| {
        let _ = writeln!(text, "{name:<12} {what}");
    };
    row("bus", paint.bold(&bus.bus));
    row("publisher", publisher(bus, paint));
    row(
        "epoch",
        format!("{}: how many publishers it had", bus.generation),
    );
    let (defined, books) = (bus.definitions as u64, bus.books as u64);
    row(
        "instruments",
        format!("{} defined, {} with a book", count(defined), count(books)),
    );
    row(
        "messages",
        format!("{}, {}", count(bus.messages), bytes(bus.position)),
    );
    let longest = bytes(bus.message_bytes_max as u64);
    row(
        "ring",
        format!("{}, messages up to {longest}", bytes(bus.ring_bytes)),
    );
    row("memory", bytes(bus.memory_bytes));
    match &bus.readers {
        None => row("readers", "not waited for".to_owned()),
        Some(readers) if readers.is_empty() => row("readers", "waited for, none there".to_owned()),
        Some(readers) => readers
            .iter()
            .for_each(|reader| row("reader", waited_for(reader, whole, paint))),
    }
}

fn publisher(bus: &Overview, paint: Paint) -> String {
    match &bus.publisher {
        Some(holder) if bus.is_stalled() => {
            paint.red(format!("{holder}, stalled: {}", last_sign_of_life(bus)))
        }
        Some(holder) => paint.green(holder),
        None => paint.yellow("nobody"),
    }
}

/// When the publisher last stated that its books are current.
fn last_sign_of_life(bus: &Overview) -> String {
    let ns = bus.liveness.map_or(0, |liveness| liveness.age.as_nanos());
    let ago = age(u64::try_from(ns).unwrap_or(u64::MAX));
    format!("last sign of life {ago} ago, books are stale")
}

/// A reader of a lossless bus, by its place and, if it gave one, its name.
fn waited_for(reader: &RegisteredReader, bus: &Bus, paint: Paint) -> String {
    let place = u64::from(reader.place) + 1;
    let has_place = |other: &&ReaderView| other.process.is_some() && other.counters.place == place;
    let name = bus.readers.iter().find(has_place);
    let name = name.map_or(String::new(), |other| format!(" ({})", other.name));
    let place = reader.place;
    let (behind, ring) = (reader.lag_bytes, bus.overview.ring_bytes);
    match reader.is_alive {
        true => format!("{place}{name}: {}", lag_of(behind, ring)),
        false => paint.yellow(format!(
            "{place}: died {} behind, not waited for",
            bytes(behind)
        )),
    }
}

fn lag_of(lag_bytes: u64, ring_bytes: u64) -> String {
    let share = lag_bytes as f64 / ring_bytes as f64 * 100.0;
    format!("{} behind, {share:.0} % of the ring", bytes(lag_bytes))
}

/// Readers that gave a name, a line each.
fn write_readers(text: &mut String, bus: &Bus, paint: Paint) {
    if bus.readers.is_empty() {
        return;
    }
    let head = format!(
        "{:<20}{:>11}{:>6}{:>14}{:>9}{:>11}{:>11}{:>11}  process",
        "reader", "lag", "ring", "messages", "overruns", "lost", "p50", "p99"
    );
    let _ = writeln!(text, "\n{}", paint.dim(head));
    for reader in &bus.readers {
        let line = match &reader.counters_file {
            Ok(counters_file) => reader_line(reader, counters_file, bus.overview.ring_bytes, paint),
            Err(error) => paint.red(format!("{:<20}{error}", reader.name)),
        };
        let _ = writeln!(text, "{line}");
    }
    let note = "p50 and p99: from published to consumed";
    let _ = writeln!(text, "  {}", paint.dim(note));
}

fn reader_line(
    reader: &ReaderView,
    counters_file: &CountersView,
    ring_bytes: u64,
    paint: Paint,
) -> String {
    let counters = &reader.counters;
    let mut consumed = counters_file.histograms();
    let consumed = consumed.find(|(what, _)| what.name == READER_HISTOGRAMS[0].name);
    let [p50, p99] = consumed.map_or([None; 2], |(_, view)| {
        let [p50, p99, ..] = points(&view);
        [p50, p99]
    });
    let shown = |ns: Option<u64>| ns.map_or("-".to_owned(), duration);
    let line = format!(
        "{:<20}{:>11}{:>6}{:>14}{:>9}{:>11}{:>11}{:>11}  ",
        reader.name,
        bytes(reader.lag_bytes),
        share(reader.lag_bytes, ring_bytes),
        count(counters.messages),
        count(counters.overruns),
        count(counters.overrun_messages),
        shown(p50),
        shown(p99),
    );
    match &reader.process {
        Some(process) if counters.overruns == 0 => format!("{line}{process}"),
        Some(process) => format!("{line}{}", paint.yellow(process)),
        None => paint.dim(format!("{line}died")),
    }
}

fn write_histograms(text: &mut String, counters_file: &CountersView, paint: Paint) {
    let head = format!(
        "{:<24}{:>14}{:>11}{:>11}{:>11}{:>11}",
        "histogram", "count", "p50", "p99", "p99.9", "max"
    );
    let _ = writeln!(text, "\n{}", paint.dim(head));
    for (what, view) in counters_file.histograms() {
        let _ = write!(text, "{:<24}{:>14}", what.name, count(view.count()));
        for value in points(&view) {
            let value = value.map_or("-".to_owned(), |value| measured(value, what));
            let _ = write!(text, "{value:>11}");
        }
        let _ = writeln!(text, "\n  {}", paint.dim(&what.help));
    }
}

fn write_counters(
    text: &mut String,
    counters_file: &CountersView,
    overview: &Overview,
    paint: Paint,
) {
    let head = format!("{:>16} {:<12} {:<26} what", "counted", "unit", "counter");
    let _ = writeln!(text, "\n{}", paint.dim(head));
    for (what, value) in of_bus(counters_file, overview) {
        let line = format!(
            "{:>16} {:<12} {:<26} {}",
            count(value),
            what.unit,
            what.name,
            what.help
        );
        let line = if value == 0 { paint.dim(line) } else { line };
        let _ = writeln!(text, "{line}");
    }
    let origin = counters_file.origin();
    let since = touchline_wire::sbe::UtcTime(origin.start_unix_ns);
    let freshness = Freshness::of_bus(counters_file, overview);
    let note = format!("counted by process {}, begun {since}", origin.pid);
    let written = match freshness.is_fresh() {
        true => paint.dim(freshness.text()),
        false => paint.yellow(freshness.text()),
    };
    let _ = writeln!(text, "\n{}, {written}", paint.dim(note));
}

/// p50, p99, p99.9 and the largest.
pub fn points(view: &HistogramView) -> [Option<u64>; 4] {
    let at = |share| view.value_at_quantile(share).filter(|_| view.count() > 0);
    [at(0.5), at(0.99), at(0.999), view.max()]
}

fn measured(value: u64, what: &Description) -> String {
    match what.unit.as_str() {
        "ns" => duration(value),
        unit => counted(value, unit),
    }
}
