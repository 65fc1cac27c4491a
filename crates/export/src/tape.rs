//! A tape as the source of an export.

use crate::about::{LeftOut, Loss, Origin};
use crate::complete::Written;
use crate::error::Error;
use crate::exporter::Exporter;
use crate::message::{Message, Stamp};
use crate::tables::Cause;
use std::ops::ControlFlow;
use std::time::Duration;
use touchline_journal::records::Gap;
use touchline_tape::{Reader, Taped};
use touchline_transport::market::Item;
use touchline_transport::{Subscribe, SubscriptionEvent};
use touchline_types::native::Flags;

/// Progress of an export.
pub enum Step<'a> {
    /// A record was read, up to this position; or a tape that is followed has none at present.
    Record(u64, &'a mut Exporter),
    /// The files of a segment are there: everything below this position is exported.
    Unit(Vec<Written>, u64),
}

/// Passes every message of a tape to the exporter, up to the end that the tape has now. Each segment is a unit.
///
/// `step` is called with each progress, and may end the export. With `is_followed` the export waits for further records as long as a recorder writes the tape.
///
/// # Errors
/// The tape cannot be read, or a file not written.
pub fn export(
    reader: &mut Reader,
    exporter: &mut Exporter,
    is_followed: bool,
    mut step: impl FnMut(Step<'_>) -> Result<ControlFlow<()>, Error>,
) -> Result<Origin, Error> {
    begin(reader, exporter);
    exporter.recorded_at(reader.time_ns());
    let from = reader.position();
    let mut unit = Unit::begin(reader, exporter, from, from);
    loop {
        let mut event = None;
        let polled = reader.poll(|item| match item {
            Item::SubscriptionEvent(of) => event = Some(of),
            item => take(&item, exporter),
        })?;
        // Messages of a record are handed out by the polls behind the one that reads it.
        exporter.recorded_at(reader.time_ns());
        // Counts of the way to the place are not of the export.
        if !reader.is_before_place() {
            exporter.left_out(LeftOut {
                without_state: reader.without_state(),
                unknown: reader.unknown_messages(),
            });
        }
        // A segment ends without a further message, too; a loss at the begin of the next one is of that one.
        if unit.segment != reader.segment() {
            // A host that crashes must not lose what the caller notes as exported: other records would have its positions.
            if is_followed {
                reader.sync_from(unit.segment)?;
            }
            let end = reader.segment_position();
            let written = exporter.end_unit(&unit.origin(reader, end))?;
            let _ = step(Step::Unit(written, end))?;
            unit = Unit::begin(reader, exporter, end, from);
        }
        if let Some(event) = event {
            exporter.event(&event);
            match event {
                SubscriptionEvent::Overrun { .. } => {
                    exporter.loss(reader.last_gap().map_or(UNKNOWN, loss));
                }
                SubscriptionEvent::Restarted { .. } => begin(reader, exporter),
                _ => {}
            }
        }
        exporter.check()?;
        let is_waiting = match polled {
            Taped::Given(()) => continue,
            Taped::Passed => false,
            Taped::Nothing if is_followed => true,
            Taped::Nothing | Taped::End => return Ok(unit.origin(reader, reader.position())),
        };
        let position = reader.position();
        if step(Step::Record(position, exporter))?.is_break() {
            return Ok(unit.origin(reader, position));
        }
        if is_waiting {
            std::thread::sleep(WAIT);
        }
    }
}

/// Pause while a tape has no further record.
const WAIT: Duration = Duration::from_millis(20);

/// A segment, the unit of an export.
struct Unit {
    segment: u64,
    from: u64,
    /// Begin of the first one.
    begin: u64,
}

impl Unit {
    fn begin(reader: &Reader, exporter: &mut Exporter, from: u64, begin: u64) -> Unit {
        let segment = reader.segment();
        let journal = id(reader);
        let bus = reader.publication().map_or("", |of| of.bus.as_str());
        // The journal and the segment name the same messages in every export: it replaces the file, and doubles nothing.
        let journal = journal.get(..8).unwrap_or_default();
        exporter.begin_unit(&format!("{bus}-{journal}-{segment:010}"), &[]);
        Unit {
            segment,
            from,
            begin,
        }
    }

    fn origin(&self, reader: &Reader, to: u64) -> Origin {
        Origin {
            bus: reader
                .publication()
                .map_or_else(String::new, |of| of.bus.clone()),
            journal: id(reader),
            positions: Some((self.from, to)),
            begin: self.begin,
            captures: Vec::new(),
        }
    }
}

/// Id of the journal in hexadecimal digits.
fn id(reader: &Reader) -> String {
    let id = reader.journal().unwrap_or_default();
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A loss without a record.
const UNKNOWN: Loss = Loss {
    cause: Cause::Other,
    first: 0,
    last: 0,
    count: None,
    after: 0,
};

fn begin(reader: &Reader, exporter: &mut Exporter) {
    if let Some(publication) = reader.publication() {
        exporter.begin(publication.instruments_max, publication.orders_max);
    }
}

fn take(item: &Item<'_>, exporter: &mut Exporter) {
    match item {
        Item::Update(received) => {
            exporter.message(&Message {
                sequence: received.sequence,
                timestamps: &received.timestamps,
                update: &received.update,
                stamp: received.bytes.map_or(Stamp::Poll, stamp),
                is_image: received.is_image,
            });
            if received.batch_end {
                exporter.batch_end();
            }
        }
        Item::BatchEnd => exporter.batch_end(),
        // The whole change follows a top, the reader counts what it does not know; events are handled by the caller.
        Item::Top { .. } | Item::Undecoded(_) | Item::SubscriptionEvent(_) => {}
    }
}

/// Who took the receive time of an encoded message.
fn stamp(bytes: &[u8]) -> Stamp {
    let message = touchline_types::native::Message::parse(bytes);
    let flags = message.map_or(Flags::NONE, |message| message.flags());
    Stamp::of(flags)
}

fn loss(gap: &Gap) -> Loss {
    Loss {
        cause: match gap.cause {
            Gap::OVERRUN => Cause::Overrun,
            Gap::NOT_RUNNING => Cause::NotRunning,
            Gap::DAMAGED => Cause::Damaged,
            Gap::OF_SOURCE => Cause::Corrupt,
            _ => Cause::Other,
        },
        first: gap.first,
        last: gap.last,
        count: (gap.count != Gap::UNKNOWN).then_some(gap.count),
        after: 0,
    }
}
