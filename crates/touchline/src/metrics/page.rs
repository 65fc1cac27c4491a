//! The page: every bus of a directory at the moment of the scrape.

use super::format::{Kind, Page};
use super::ladder::write_histograms;
use super::names;
use super::readers::Readers;
use crate::counted::{self, Freshness};
use crate::version;
use touchline_client::Error;
use touchline_client::monitor::{Build, CountersView, Monitor, Overview, ProcessView};

/// Maximum number of buses on the page, by name; the others are counted.
const BUSES_MAX: usize = 64;
/// Maximum number of processes on the page, by name; the others are counted. A bus may have a relay, a recorder and a raw recorder.
const PROCESSES_MAX: usize = 3 * BUSES_MAX;

/// Metrics of the exporter about a bus: name, type, help. The counters file of the bus adds its
/// own.
mod of_bus {
    use super::Kind;

    type Row = (&'static str, Kind, &'static str);

    pub const UNREADABLE: Row = (
        "touchline_bus_unreadable",
        Kind::Gauge,
        "1 if the bus cannot be read: it is being created, damaged, or of another user; touchline stat prints the reason.",
    );
    pub const BUILD: Row = (
        "touchline_bus_publisher_build_info",
        Kind::Gauge,
        "Always 1; labels are version, commit and profile of the publisher, or of the last one.",
    );
    pub const PUBLISHER_UP: Row = (
        "touchline_bus_publisher_up",
        Kind::Gauge,
        "1 while a process publishes on the bus; 0 if it has ended or is stalled.",
    );
    pub const PUBLISHER_STALLED: Row = (
        "touchline_bus_publisher_stalled",
        Kind::Gauge,
        "1 if the publisher runs without activity, or is behind its venue after a pause.",
    );
    pub const PUBLISHER_AGE: Row = (
        "touchline_bus_publisher_age_seconds",
        Kind::Gauge,
        "Time since the publisher last stated that its books are current; none of a replay.",
    );
    pub const GENERATION: Row = (
        "touchline_bus_publisher_generation",
        Kind::Gauge,
        "Number of publishers that the bus has had.",
    );
    pub const INSTRUMENTS: Row = (
        "touchline_bus_instruments",
        Kind::Gauge,
        "Instruments up to the last one with a definition; some of them may have none.",
    );
    pub const BOOKS: Row = (
        "touchline_bus_books",
        Kind::Gauge,
        "Instruments up to the last one with a book; some of them may have none.",
    );
    pub const MESSAGES: Row = (
        "touchline_bus_messages_total",
        Kind::Counter,
        "Messages since the bus was created.",
    );
    pub const POSITION: Row = (
        "touchline_bus_position_bytes",
        Kind::Gauge,
        "Bytes of the stream since the bus was created.",
    );
    pub const RING: Row = (
        "touchline_bus_ring_bytes",
        Kind::Gauge,
        "Bytes of the ring: the largest lag of a reader.",
    );
    pub const MEMORY: Row = (
        "touchline_bus_memory_bytes",
        Kind::Gauge,
        "Memory of the files of the bus.",
    );
    pub const COUNTERS_AGE: Row = (
        "touchline_bus_counters_age_seconds",
        Kind::Gauge,
        "Time since the counters of the bus were written.",
    );
    pub const COUNTERS_STALE: Row = (
        "touchline_bus_counters_stale",
        Kind::Gauge,
        "1 if the counting process has ended, or has not written its counters for 2 s: the values are its last ones.",
    );
    pub const START_TIME: Row = (
        "touchline_start_time_seconds",
        Kind::Gauge,
        "Start time of the counting process, seconds since 1970.",
    );
}

/// Metrics of the exporter about a process with counters of its own.
mod of_process {
    use super::Kind;

    type Row = (&'static str, Kind, &'static str);

    pub const UNREADABLE: Row = (
        "touchline_process_unreadable",
        Kind::Gauge,
        "1 if the counters of the process cannot be read: they are damaged, or of another version; touchline stat prints the reason.",
    );
    pub const BUILD: Row = (
        "touchline_process_build_info",
        Kind::Gauge,
        "Always 1; labels are version, commit and profile of the process.",
    );
    pub const UP: Row = (
        "touchline_process_up",
        Kind::Gauge,
        "1 while a process lives that counts apart from any bus.",
    );
    pub const COUNTERS_AGE: Row = (
        "touchline_process_counters_age_seconds",
        Kind::Gauge,
        "Time since the process wrote its counters.",
    );
    pub const COUNTERS_STALE: Row = (
        "touchline_process_counters_stale",
        Kind::Gauge,
        "1 if the process has ended, or has not written its counters for 2 s: the values are its last ones.",
    );
}

/// The page of a directory of buses. An unreadable bus is a metric, never an error.
pub fn of(monitor: &Monitor) -> String {
    let mut page = Page::default();
    let help = "Always 1; labels are version, commit and profile of the exporter itself, not of publishers.";
    if let Some(mut samples) = page.family("touchline_build_info", Kind::Gauge, help) {
        samples.add(&version::fields(), 1);
    }
    let listed = monitor.buses();
    let of_processes = monitor.processes();
    let is_readable = listed.is_ok() && of_processes.is_ok();
    let buses = listed.unwrap_or_default();
    let mut readers = Readers::default();
    for bus in buses.iter().take(BUSES_MAX) {
        write_bus(&mut page, &mut readers, monitor, bus);
    }
    let processes = of_processes.unwrap_or_default();
    for process in processes.iter().take(PROCESSES_MAX) {
        write_process(&mut page, process);
    }
    let not_shown = buses.len().saturating_sub(BUSES_MAX);
    let processes_not_shown = processes.len().saturating_sub(PROCESSES_MAX);
    let numbers = [
        (
            "touchline_directory_unreadable",
            "1 if the directory of the buses, or that of the processes in it, cannot be read; touchline stat prints the reason.",
            u64::from(!is_readable),
        ),
        (
            "touchline_buses",
            "Buses in the directory.",
            buses.len() as u64,
        ),
        (
            "touchline_buses_not_shown",
            "Buses that are not shown because there are too many.",
            not_shown as u64,
        ),
        (
            "touchline_processes",
            "Processes that count apart from any bus, and those that failed and left their counters.",
            processes.len() as u64,
        ),
        (
            "touchline_processes_not_shown",
            "Processes that are not shown because there are too many.",
            processes_not_shown as u64,
        ),
        (
            "touchline_readers_not_shown",
            "Named readers that are not shown because there are too many.",
            readers.not_shown(),
        ),
        (
            "touchline_metrics_refused",
            "Counters that are not shown: invalid name, or too many.",
            page.refused(),
        ),
    ];
    for (name, help, value) in numbers {
        if let Some(mut samples) = page.family(name, Kind::Gauge, help) {
            samples.add(&[], value);
        }
    }
    page.to_text()
}

/// Whether the directory is readable, for /healthz.
pub fn health(monitor: &Monitor) -> Result<(), Error> {
    monitor.buses()?;
    monitor.processes()?;
    Ok(())
}

fn write_bus(page: &mut Page, readers: &mut Readers, monitor: &Monitor, bus: &str) {
    let looked = monitor.overview(bus).and_then(|(overview, named)| {
        let counters_file = monitor.counters(bus)?;
        Ok((overview, named, counters_file))
    });
    write(page, of_bus::UNREADABLE, bus, u64::from(looked.is_err()));
    // `touchline stat` prints the reason; a variable text must not be a label.
    let Ok((overview, named, counters_file)) = looked else {
        return;
    };
    write_overview(page, &overview);
    write_build(page, of_bus::BUILD, ("bus", bus), overview.build.as_ref());
    readers.write(page, bus, &named);
    readers.write_places(page, bus, overview.readers.as_deref().unwrap_or_default());
    if let Some(counters_file) = counters_file {
        write_counters_file(page, &overview, &counters_file);
    }
}

fn write_overview(page: &mut Page, overview: &Overview) {
    let numbers = [
        (of_bus::PUBLISHER_UP, u64::from(overview.is_live())),
        (
            of_bus::PUBLISHER_STALLED,
            u64::from(overview.publisher.is_some() && overview.is_stalled()),
        ),
        (of_bus::GENERATION, overview.generation),
        (of_bus::INSTRUMENTS, overview.definitions as u64),
        (of_bus::BOOKS, overview.books as u64),
        (of_bus::MESSAGES, overview.messages),
        (of_bus::POSITION, overview.position),
        (of_bus::RING, overview.ring_bytes),
        (of_bus::MEMORY, overview.memory_bytes),
    ];
    for (row, value) in numbers {
        write(page, row, &overview.bus, value);
    }
    if let Some(liveness) = overview.liveness {
        let age = liveness.age.as_secs_f64();
        write(page, of_bus::PUBLISHER_AGE, &overview.bus, age);
    }
}

fn write_counters_file(page: &mut Page, overview: &Overview, counters_file: &CountersView) {
    let bus = overview.bus.as_str();
    let start = counters_file.origin().start_unix_ns as f64 / 1e9;
    write(page, of_bus::START_TIME, bus, start);
    if let Some(age) = counters_file.age() {
        write(page, of_bus::COUNTERS_AGE, bus, age.as_secs_f64());
    }
    let is_stale = !Freshness::of_bus(counters_file, overview).is_fresh();
    write(page, of_bus::COUNTERS_STALE, bus, u64::from(is_stale));
    for (what, value) in counted::of_bus(counters_file, overview) {
        write_counter(page, bus, &names::of_counter(what), value);
    }
    write_histograms(page, "", &[("bus", bus)], counters_file);
}

/// Build of a publisher or a process, if it states that.
fn write_build(
    page: &mut Page,
    (name, kind, help): (&str, Kind, &str),
    of: (&str, &str),
    build: Option<&Build>,
) {
    let Some(build) = build else {
        return;
    };
    if let Some(mut samples) = page.family(name, kind, help) {
        let labels = [
            of,
            ("version", &build.version),
            ("commit", &build.commit),
            ("profile", &build.profile),
        ];
        samples.add(&labels, 1);
    }
}

/// Counters of a process that belong to no bus.
fn write_process(page: &mut Page, process: &ProcessView) {
    let name = process.name.as_str();
    let is_up = u64::from(process.process.is_some());
    write_of_process(page, of_process::UP, name, is_up);
    let is_unreadable = u64::from(process.counters_file.is_err());
    write_of_process(page, of_process::UNREADABLE, name, is_unreadable);
    let build = process
        .process
        .as_ref()
        .and_then(|holder| holder.build.as_deref());
    write_build(page, of_process::BUILD, ("process", name), build);
    let Ok(Some(counters_file)) = &process.counters_file else {
        return;
    };
    let is_stale = u64::from(!Freshness::of_process(process).is_fresh());
    write_of_process(page, of_process::COUNTERS_STALE, name, is_stale);
    if let Some(age) = counters_file.age() {
        let age = age.as_secs_f64();
        write_of_process(page, of_process::COUNTERS_AGE, name, age);
    }
    for (what, value) in counters_file.counters() {
        write_labelled(page, ("process", name), &names::of_counter(what), value);
    }
    write_histograms(page, "", &[("process", name)], counters_file);
}

fn write_counter(page: &mut Page, bus: &str, shown: &names::Shown, value: u64) {
    write_labelled(page, ("bus", bus), shown, value);
}

fn write_labelled(page: &mut Page, of: (&str, &str), shown: &names::Shown, value: u64) {
    let Some(mut samples) = page.family(&shown.name, shown.kind, &shown.help) else {
        return;
    };
    let mut labels = vec![of];
    if shown.is_address {
        // Hosts are few; ports change with every connection, and would make series without end.
        if let Some(address) = counted::address(value) {
            let host = address.ip().to_string();
            labels.push(("receiver", &host));
            samples.add(&labels, 1);
        }
        return;
    }
    labels.extend(shown.line.map(|line| ("line", line)));
    let of = shown.of.iter();
    labels.extend(of.map(|(label, value)| (*label, value.as_str())));
    let labels = labels.as_slice();
    match shown.unit.is_base() {
        // Counts may exceed the exact range of floating point.
        true => samples.add(labels, value),
        false => samples.add(labels, shown.unit.base(value as f64)),
    }
}

fn write(
    page: &mut Page,
    (name, kind, help): (&str, Kind, &str),
    bus: &str,
    value: impl std::fmt::Display,
) {
    if let Some(mut samples) = page.family(name, kind, help) {
        samples.add(&[("bus", bus)], value);
    }
}

fn write_of_process(
    page: &mut Page,
    (name, kind, help): (&str, Kind, &str),
    process: &str,
    value: impl std::fmt::Display,
) {
    if let Some(mut samples) = page.family(name, kind, help) {
        samples.add(&[("process", process)], value);
    }
}
