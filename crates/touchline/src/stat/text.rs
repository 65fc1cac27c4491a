//! Buses as text.

use super::counters::{self, Past, points};
use super::{Bus, Row, Shown};
use crate::counted::{self, Freshness};
use crate::format::{age, bytes, count, duration, share};
use crate::paint::Paint;
use std::fmt::Write;
use std::path::Path;
use touchline_client::monitor::{
    CountersView, Overview, ProcessView, READER_HISTOGRAMS, ReaderView, RegisteredReader,
};

/// One line for each bus.
pub fn list(directory: &Path, rows: &[Row]) -> String {
    let paint = Paint::for_stdout();
    if rows.is_empty() {
        return format!(
            "no bus in {}; `touchline gateway` and `touchline replay --publish` create one\n",
            directory.display()
        );
    }
    let name = |row: &Row| match row {
        Ok(bus) => bus.bus.len(),
        Err((bus, _)) => bus.len(),
    };
    let width = rows.iter().map(name).max().unwrap_or(0).max("bus".len());
    let head = format!(
        "{:<width$} {:>11} {:>16} {:>10} {:>10}  publisher",
        "bus", "instruments", "messages", "memory", "generation"
    );
    let mut text = format!("{}\n", paint.dim(head));
    for row in rows {
        let _ = match row {
            Ok(bus) => writeln!(
                text,
                "{:<width$} {:>11} {:>16} {:>10} {:>10}  {}",
                bus.bus,
                count(bus.definitions.max(bus.books) as u64),
                count(bus.messages),
                bytes(bus.memory_bytes),
                bus.generation,
                publisher(bus, paint)
            ),
            Err((bus, error)) => writeln!(text, "{bus:<width$} {}", paint.red(error)),
        };
    }
    text
}

/// One bus: publisher, readers and counters. With a filter, only the matching counters and
/// histograms.
pub fn bus(bus: &Bus, shown: &Shown, past: Option<&mut Past>) -> String {
    let paint = Paint::for_stdout();
    let mut text = String::new();
    if !matches!(shown, Shown::With(_)) {
        write_overview(&mut text, bus, paint);
        write_readers(&mut text, bus, paint);
    }
    match &bus.counters_file {
        Some(counters_file) => counters::write(&mut text, bus, counters_file, shown, past),
        None => text.push_str("\nno counters: the publisher of this bus writes no counters file\n"),
    }
    for relay in &bus.relays {
        write_process(&mut text, relay, shown, paint);
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
    if let Some(build) = &bus.build {
        let is_unusual = build.unusual_profile().is_some();
        row(
            "build",
            if is_unusual {
                paint.yellow(build)
            } else {
                build.to_string()
            },
        );
    }
    row(
        "generation",
        format!("publisher {} of this bus", bus.generation),
    );
    let (defined, books) = (bus.definitions as u64, bus.books as u64);
    row(
        "instruments",
        // Those up to the last one: some before it may lack theirs.
        format!(
            "at most {} defined, {} with a book",
            count(defined),
            count(books)
        ),
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
        None => paint.yellow("none"),
    }
}

/// Time since the publisher last stated that its books are current.
fn last_sign_of_life(bus: &Overview) -> String {
    let ns = bus.liveness.map_or(0, |liveness| liveness.age.as_nanos());
    let ago = age(u64::try_from(ns).unwrap_or(u64::MAX));
    format!("no activity for {ago}, books are stale")
}

/// A reader of a lossless bus, by slot and name.
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

/// Named readers, one line each.
fn write_readers(text: &mut String, bus: &Bus, paint: Paint) {
    if bus.readers.is_empty() {
        return;
    }
    let width = bus.readers.iter().map(|reader| reader.name.len()).max();
    let width = width.unwrap_or(0).max("reader".len());
    let head = format!(
        "{:<width$} {:>11} {:>7} {:>14} {:>8} {:>12} {:>9} {:>9}  process",
        "reader", "lag", "of ring", "messages", "overruns", "lost", "p50", "p99"
    );
    let _ = writeln!(text, "\n{}", paint.dim(head));
    for reader in &bus.readers {
        let line = match &reader.counters_file {
            Ok(counters_file) => {
                let line = reader_line(reader, counters_file, bus.overview.ring_bytes, width);
                painted(reader, line, paint)
            }
            Err(error) => paint.red(format!("{:<width$} {error}", reader.name)),
        };
        let _ = writeln!(text, "{line}");
    }
    let note = "p50 and p99: time from published to consumed";
    let _ = writeln!(text, "  {}", paint.dim(note));
}

/// Processes that count apart from any bus, one line each.
pub fn processes(processes: &[ProcessView]) -> String {
    let paint = Paint::for_stdout();
    let mut text = String::new();
    if !processes.is_empty() {
        let _ = writeln!(text, "\n{}", paint.dim("process"));
    }
    for process in processes {
        let _ = writeln!(text, "{} {}", process.name, state_of(process, paint));
    }
    text
}

/// A process that counts apart from any bus: histograms and counters.
pub fn process(process: &ProcessView, shown: &Shown) -> String {
    let paint = Paint::for_stdout();
    let mut text = String::new();
    write_process(&mut text, process, shown, paint);
    if let Ok(Some(counters_file)) = &process.counters_file {
        counters::write_histograms(&mut text, counters_file, shown, paint);
    }
    text
}

/// The process, and how old its counters are: one that lives and does not write them is stopped or hangs.
fn state_of(process: &ProcessView, paint: Paint) -> String {
    let freshness = Freshness::of_process(process);
    match (&process.process, &process.counters_file) {
        (Some(holder), Err(error)) => format!("{holder}, {}", paint.red(error)),
        (None, Err(error)) => paint.red(error),
        (Some(holder), Ok(_)) if freshness.is_fresh() => {
            format!("{holder}, {}", paint.dim(freshness.text()))
        }
        (Some(holder), Ok(_)) => format!("{holder}, {}", paint.red(freshness.text())),
        (None, Ok(_)) => paint.yellow(freshness.text()),
    }
}

/// A process, such as a link that sends the bus to other hosts.
fn write_process(text: &mut String, relay: &ProcessView, shown: &Shown, paint: Paint) {
    let state = state_of(relay, paint);
    let _ = writeln!(text, "\n{} {state}", paint.dim(&relay.name));
    let counters_file = relay.counters_file.iter().flatten();
    let all = counters_file.flat_map(CountersView::counters);
    for (what, value) in all.filter(|(what, value)| shown.has(what, *value)) {
        let value = counted::text(what, value);
        let _ = writeln!(text, "{:<30} {value:>16} {}", what.name, what.unit);
    }
}

fn reader_line(
    reader: &ReaderView,
    counters_file: &CountersView,
    ring_bytes: u64,
    width: usize,
) -> String {
    let counters = &reader.counters;
    let mut consumed = counters_file.histograms();
    let consumed = consumed.find(|(what, _)| what.name == READER_HISTOGRAMS[0].name);
    let [p50, p99] = consumed.map_or([None; 2], |(_, view)| {
        let [p50, p99, ..] = points(&view);
        [p50, p99]
    });
    let shown = |ns: Option<u64>| ns.map_or("-".to_owned(), duration);
    format!(
        "{:<width$} {:>11} {:>7} {:>14} {:>8} {:>12} {:>9} {:>9}  ",
        reader.name,
        bytes(reader.lag_bytes),
        share(reader.lag_bytes, ring_bytes),
        count(counters.messages),
        count(counters.overruns),
        count(counters.overrun_messages),
        shown(p50),
        shown(p99),
    )
}

/// A reader that lost messages is yellow, one that has ended is dim.
fn painted(reader: &ReaderView, line: String, paint: Paint) -> String {
    match &reader.process {
        Some(process) if reader.counters.overruns == 0 => format!("{line}{process}"),
        Some(process) => format!("{line}{}", paint.yellow(process)),
        None => paint.dim(format!("{line}died")),
    }
}
