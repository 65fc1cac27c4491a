//! Metrics of readers: those that registered a name, and those that the publisher waits for.

use super::format::{Kind, Page};
use super::ladder::write_histograms;
use touchline_client::monitor::{ReaderView, RegisteredReader};

/// Maximum number of readers on the page over all buses; the others are counted.
const READERS_MAX: usize = 256;

/// Writes readers, up to the limit of a page.
#[derive(Debug, Default)]
pub struct Readers {
    found: usize,
}

impl Readers {
    /// Writes the named readers of a bus.
    pub fn write(&mut self, page: &mut Page, bus: &str, readers: &[ReaderView]) {
        for reader in readers {
            self.found += 1;
            if self.found <= READERS_MAX {
                write(page, bus, reader);
            }
        }
    }

    /// Writes the readers that a lossless publisher waits for, by slot.
    pub fn write_places(&mut self, page: &mut Page, bus: &str, readers: &[RegisteredReader]) {
        for reader in readers {
            self.found += 1;
            if self.found <= READERS_MAX {
                write_place(page, bus, reader);
            }
        }
    }

    /// Number of readers left out.
    pub fn not_shown(&self) -> u64 {
        self.found.saturating_sub(READERS_MAX) as u64
    }
}

fn write(page: &mut Page, bus: &str, reader: &ReaderView) {
    let labels = [("bus", bus), ("reader", reader.name.as_str())];
    // Zeros in place of counters would be a reader that keeps up, and then one that lost all at once.
    let known = match reader.counters_file {
        Ok(_) => usize::MAX,
        Err(_) => OF_UNREADABLE,
    };
    for (name, kind, help, value) in numbers(reader).into_iter().take(known) {
        let name = format!("touchline_reader_{name}");
        if let Some(mut samples) = page.family(&name, kind, help) {
            samples.add(&labels, value);
        }
    }
    if let Ok(counters_file) = &reader.counters_file {
        write_histograms(page, "reader_", &labels, counters_file);
    }
}

/// Number of the first figures that are known of a reader whose statistics cannot be read.
const OF_UNREADABLE: usize = 2;

/// Name, kind, help and value of each figure of a reader.
fn numbers(reader: &ReaderView) -> [(&'static str, Kind, &'static str, u64); 10] {
    let counted = &reader.counters;
    let is_alive = u64::from(reader.process.is_some());
    let is_unreadable = u64::from(reader.counters_file.is_err());
    [
        (
            "alive",
            Kind::Gauge,
            "1 while the process of a named reader runs.",
            is_alive,
        ),
        (
            "unreadable",
            Kind::Gauge,
            "1 if the statistics of a reader cannot be read.",
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
            "Overruns of a reader by the publisher.",
            counted.overruns,
        ),
        (
            "overrun_messages_total",
            Kind::Counter,
            "Messages that a reader lost in overruns.",
            counted.overrun_messages,
        ),
        (
            "overrun_bytes_total",
            Kind::Counter,
            "Bytes of the stream that a reader lost in overruns.",
            counted.overrun_bytes,
        ),
        (
            "corrupt_total",
            Kind::Counter,
            "Times that a reader found an invalid message.",
            counted.corrupt,
        ),
        (
            "restarts_total",
            Kind::Counter,
            "Restarts of the publisher that a reader has seen.",
            counted.restarts,
        ),
    ]
}

fn write_place(page: &mut Page, bus: &str, reader: &RegisteredReader) {
    let place = reader.place.to_string();
    let numbers = [
        (
            "touchline_waited_alive",
            "1 while the process of a reader that the publisher waits for runs; lossless bus.",
            u64::from(reader.is_alive),
        ),
        (
            "touchline_waited_lag_bytes",
            "Lag of a reader that the publisher waits for, bytes, in steps of 1/32 of the ring.",
            reader.lag_bytes,
        ),
    ];
    for (name, help, value) in numbers {
        if let Some(mut samples) = page.family(name, Kind::Gauge, help) {
            samples.add(&[("bus", bus), ("place", &place)], value);
        }
    }
}
