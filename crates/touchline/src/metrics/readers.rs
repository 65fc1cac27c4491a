//! Readers of a bus: those that gave a name, and those that its publisher waits for.

use super::format::{Kind, Page};
use super::page::write_histograms;
use touchline_client::monitor::{ReaderView, RegisteredReader};

/// Readers beyond this, over all buses, are counted and not shown.
const READERS_MAX: usize = 256;

/// Writes readers, up to the limit of a page.
#[derive(Debug, Default)]
pub struct Readers {
    found: usize,
}

impl Readers {
    /// Those of a bus that gave a name, by it.
    pub fn write(&mut self, page: &mut Page, bus: &str, readers: &[ReaderView]) {
        for reader in readers {
            self.found += 1;
            if self.found <= READERS_MAX {
                write(page, bus, reader);
            }
        }
    }

    /// Those that a lossless publisher waits for, by their place.
    pub fn write_places(&mut self, page: &mut Page, bus: &str, readers: &[RegisteredReader]) {
        for reader in readers {
            self.found += 1;
            if self.found <= READERS_MAX {
                write_place(page, bus, reader);
            }
        }
    }

    /// How many were too many.
    pub fn not_shown(&self) -> u64 {
        self.found.saturating_sub(READERS_MAX) as u64
    }
}

fn write(page: &mut Page, bus: &str, reader: &ReaderView) {
    let labels = [("bus", bus), ("reader", reader.name.as_str())];
    let counted = &reader.counters;
    let is_alive = u64::from(reader.process.is_some());
    let is_unreadable = u64::from(reader.counters_file.is_err());
    let numbers = [
        (
            "alive",
            Kind::Gauge,
            "1 while the process of a reader that gave a name lives.",
            is_alive,
        ),
        (
            "unreadable",
            Kind::Gauge,
            "1 if what a reader says of itself cannot be read.",
            is_unreadable,
        ),
        (
            "lag_bytes",
            Kind::Gauge,
            "Bytes of the stream that a reader has not read yet.",
            reader.lag_bytes,
        ),
        (
            "messages_total",
            Kind::Counter,
            "Messages that a reader has read.",
            counted.messages,
        ),
        (
            "batches_total",
            Kind::Counter,
            "Batches that a reader has read.",
            counted.batches,
        ),
        (
            "overruns_total",
            Kind::Counter,
            "Times that the publisher has overtaken a reader.",
            counted.overruns,
        ),
        (
            "overrun_messages_total",
            Kind::Counter,
            "Messages that a reader lost by it.",
            counted.overrun_messages,
        ),
        (
            "overrun_bytes_total",
            Kind::Counter,
            "Bytes of the stream that a reader lost by it.",
            counted.overrun_bytes,
        ),
        (
            "corrupt_total",
            Kind::Counter,
            "Times that a reader found what no publisher writes.",
            counted.corrupt,
        ),
        (
            "restarts_total",
            Kind::Counter,
            "Times that a reader saw another publisher begin.",
            counted.restarts,
        ),
    ];
    for (name, kind, help, value) in numbers {
        let name = format!("touchline_reader_{name}");
        if let Some(mut samples) = page.family(&name, kind, help) {
            samples.add(&labels, value);
        }
    }
    if let Ok(counters_file) = &reader.counters_file {
        write_histograms(page, "reader_", &labels, counters_file);
    }
}

fn write_place(page: &mut Page, bus: &str, reader: &RegisteredReader) {
    let place = reader.place.to_string();
    let numbers = [
        (
            "touchline_waited_alive",
            "1 while the process of a reader that is waited for lives; readers of a lossless bus.",
            u64::from(reader.is_alive),
        ),
        (
            "touchline_waited_lag_bytes",
            "What a reader that is waited for has not read yet, to a thirty-second of the ring.",
            reader.lag_bytes,
        ),
    ];
    for (name, help, value) in numbers {
        if let Some(mut samples) = page.family(name, Kind::Gauge, help) {
            samples.add(&[("bus", bus), ("place", &place)], value);
        }
    }
}
