//! The messages of a publication on their way to the files.

#[cfg(test)]
mod tests;

use crate::about::{Counts, LeftOut, Loss, Origin};
use crate::complete::{Complete, Written};
use crate::dbn::Dbn;
use crate::emptied::Emptied;
use crate::error::Error;
use crate::files::Files;
use crate::message::{Message, Stamp};
use crate::received::Received;
use crate::state::State;
use crate::tabulate::Tabulate;
use std::cell::Cell;
use std::rc::Rc;
use touchline_transport::{Envelope, Subscribe, SubscriptionEvent};
use touchline_types::{
    BookKind, BookUpdate, Level, LevelAction, LevelChange, OrdersUpdate, Timestamps, Update,
};

/// Takes messages and writes the wanted files.
pub struct Exporter {
    state: State,
    counts: Counts,
    tabulate: Tabulate,
    tables: Vec<Files>,
    /// Messages of the present unit of the source.
    unit_counts: Counts,
    /// No message of the unit was an event so far.
    is_unit_new: bool,
    dbn: Option<Dbn>,
    last: u64,
    /// Number of the state that is taken.
    state_at: Option<u64>,
    timestamps: Timestamps,
    /// Those of the last message, also of the unit before.
    whole_timestamps: Timestamps,
    received: Received,
    /// Losses before the first message of the unit.
    held: Vec<Loss>,
    failure: Option<Error>,
    has_failed: Rc<Cell<bool>>,
}

impl Exporter {
    /// Writes these files.
    pub fn new(tables: Vec<Files>, dbn: Option<Dbn>) -> Exporter {
        Exporter {
            state: State::new(),
            counts: Counts::default(),
            unit_counts: Counts::default(),
            is_unit_new: true,
            tabulate: Tabulate::default(),
            tables,
            dbn,
            last: 0,
            state_at: None,
            timestamps: Timestamps::default(),
            whole_timestamps: Timestamps::default(),
            received: Received::default(),
            held: Vec::new(),
            failure: None,
            has_failed: Rc::default(),
        }
    }

    /// A publication begins, with room for these: its instruments have numbers of their own.
    pub fn begin(&mut self, instruments_max: usize, orders_max: usize) {
        self.end_quotes();
        self.tabulate.restart();
        (self.last, self.state_at) = (0, None);
        if let Some(dbn) = &mut self.dbn {
            // The order books of the publication before are void.
            dbn.lost(&self.state);
            dbn.restart();
        }
        self.state.begin(instruments_max, orders_max);
    }

    /// Messages and losses so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A unit of the source begins: a segment of a tape, or all of these captures. Files with units have its name.
    pub fn begin_unit(&mut self, name: &str, captures: &[String]) {
        self.unit_counts = Counts::default();
        self.is_unit_new = true;
        // Rows of a unit are in the same files also for a run that begins with it: no time comes from the one before.
        self.timestamps = Timestamps::default();
        self.received.begin();
        self.tables
            .iter_mut()
            .for_each(|files| files.begin_unit(name, captures));
    }

    /// A unit of the source ends: its files are completed.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn end_unit(&mut self, origin: &Origin) -> Result<Vec<Written>, Error> {
        self.end_held();
        let mut all = Vec::new();
        let texts = &self.state.texts;
        for files in self.tables.iter_mut().filter(|files| files.has_units()) {
            all.extend(files.end_unit(texts, &self.unit_counts, origin)?);
        }
        all.into_iter().map(Complete::publish).collect()
    }

    /// The next messages are of a record of this time, ns since the Unix epoch.
    pub fn recorded_at(&mut self, ns: u64) {
        self.received.recorded_at(ns);
    }

    /// Takes a message.
    pub fn message(&mut self, message: &Message<'_>) {
        // Rows that no file takes would grow without a limit.
        // mutant: export: rows are kept behind a failure
        if self.has_failed.get() {
            return;
        }
        self.counts.message(message);
        self.unit_counts.message(message);
        // A state has the times of the packets that it is of.
        // mutant: export: a state of older packets is of their day
        if !message.is_image {
            self.received.note(message.timestamps.packet.receive_ns);
            self.state_at = None;
        }
        let timestamps = self.timestamps;
        let placed = match message.sequence {
            // Parts of its messages have numbers of the messages behind the state.
            sequence if message.is_image => Message {
                sequence: *self.state_at.get_or_insert(sequence),
                ..*message
            },
            // A message of the recorder: its place is behind the last message of the bus.
            // mutant: export: a message of the recorder has no place
            0 => Message {
                sequence: self.last,
                timestamps: &timestamps,
                ..*message
            },
            _ => *message,
        };
        let before = message.sequence.checked_sub(1).unwrap_or(self.last);
        self.placed(&placed, before);
    }

    /// Takes a message with its place, behind the message `before`.
    fn placed(&mut self, message: &Message<'_>, before: u64) {
        self.note_time();
        if self.is_unit_new && !message.is_image {
            self.is_unit_new = false;
            let before = Message {
                sequence: before,
                ..*message
            };
            self.write_held(&before);
            for files in &mut self.tables {
                self.tabulate.state(&before, &mut self.state, files);
            }
        }
        self.last = message.sequence;
        if !message.is_image {
            self.timestamps = *message.timestamps;
            self.whole_timestamps = self.timestamps;
        }
        match message.update {
            Update::Definition(definition) => self.state.define(definition),
            Update::Gap(gap) => self.gap(Loss::of_packets(gap, message.sequence)),
            _ => {}
        }
        if let Some(dbn) = &mut self.dbn {
            dbn.begin(message);
        }
        let emptied = Emptied::by(message.update, &self.state);
        self.apply(message);
        // The state at the begin of a unit has its own rows.
        if !self.is_unit_new {
            self.tabulate
                .message(message, &mut self.state, &mut self.tables);
            // mutant: export: a reset leaves the levels of tables
            emptied.rows(message, &self.state, &mut self.tables);
            let mut files = self.tables.iter_mut();
            let written = files.try_for_each(|files| files.check_room(&self.state.texts));
            self.note(written);
        }
        if let Some(dbn) = &mut self.dbn {
            dbn.message(message, &self.state);
            let checked = dbn.check();
            self.note(checked);
        }
    }

    /// Applies a message to the state, step by step if the steps are wanted.
    fn apply(&mut self, message: &Message<'_>) {
        let dbn = self.dbn.as_mut().filter(|dbn| dbn.wants_steps());
        match (message.update, dbn) {
            (Update::Book(update), Some(dbn)) => {
                for change in update.changes {
                    let before = level(&self.state, update, change);
                    let step = Update::Book(BookUpdate {
                        changes: std::slice::from_ref(change),
                        ..*update
                    });
                    self.state.apply(&message.with(&step));
                    dbn.level(message, change, before, &self.state);
                }
                // An update without changes has a validity.
                if update.changes.is_empty() {
                    self.state.apply(message);
                }
            }
            (Update::Orders(update), Some(dbn)) => {
                for change in update.changes {
                    let orders = self.state.books().orders();
                    let before = orders.get(update.instrument, change.order_id);
                    let before = before.map(|order| order.quantity);
                    let step = Update::Orders(OrdersUpdate {
                        changes: std::slice::from_ref(change),
                        ..*update
                    });
                    self.state.apply(&message.with(&step));
                    dbn.order(message, change, before, &self.state);
                }
                if update.changes.is_empty() {
                    self.state.apply(message);
                }
            }
            _ => self.state.apply(message),
        }
    }

    /// The reader of the source has passed over this many messages since it began.
    pub fn left_out(&mut self, all: LeftOut) {
        let before = self.counts.left_out();
        if all != before {
            let more = LeftOut {
                without_state: all.without_state.saturating_sub(before.without_state),
                unknown: all.unknown.saturating_sub(before.unknown),
            };
            self.counts.leave_out(more);
            self.unit_counts.leave_out(more);
        }
    }

    /// Messages of the source are missing here.
    pub fn loss(&mut self, loss: Loss) {
        let loss = Loss {
            after: self.counts.last(),
            ..loss
        };
        self.gap(loss);
        self.state_at = None;
        if let Some(dbn) = &mut self.dbn {
            dbn.lost(&self.state);
        }
        // Its venue and day are those of what follows it: a run that begins with this unit knows no others.
        // mutant: export: a loss at the begin of a unit is of the unit before
        if self.is_unit_new {
            self.end_quotes();
            self.state.forget_venue();
            self.held.push(loss);
            return;
        }
        self.note_time();
        let message = between(self.last, &self.timestamps);
        self.tabulate
            .gap(&loss, &message, &self.state, &mut self.tables);
        self.end_quotes();
    }

    /// Quotes that are not live any more end behind the last message, at the begin of a unit in the files of the whole source alone: those of
    /// the unit before end with it.
    fn end_quotes(&mut self) {
        self.note_time();
        let message = between(self.last, &self.whole_timestamps);
        if !self.is_unit_new {
            // mutant: export: quotes stay live through a loss
            self.tabulate
                .top_rows(&message, &self.state, &mut self.tables);
            return;
        }
        let whole = self.tables.iter_mut().filter(|files| !files.has_units());
        for files in whole {
            let take = std::slice::from_mut(files);
            // mutant: export: quotes stay live through a loss at the begin of a segment
            self.tabulate.top_rows(&message, &self.state, take);
        }
    }

    /// Whether the export has failed: for the end of a source that has the exporter as its subscriber.
    pub fn has_failed(&self) -> Rc<Cell<bool>> {
        self.has_failed.clone()
    }

    /// The first failure.
    ///
    /// # Errors
    /// A file cannot be written, or the data have no form in a schema.
    pub fn check(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Lines for the user since the last call.
    pub fn take_notices(&mut self) -> Vec<String> {
        self.dbn.as_mut().map_or_else(Vec::new, Dbn::take_notices)
    }

    /// Completes all files, each with its `NAME.json`; when all are on the disk, they get their names.
    ///
    /// # Errors
    /// A file cannot be written, or the data have no form in a schema.
    pub fn finish(mut self, origin: &Origin) -> Result<Vec<Written>, Error> {
        self.end_held();
        self.check()?;
        let mut all = Vec::new();
        let whole = origin.whole();
        for mut files in self.tables {
            // mutant: export: files of the whole have the positions of a unit
            let (counts, origin) = match files.has_units() {
                true => (&self.unit_counts, origin),
                false => (&self.counts, &whole),
            };
            all.extend(files.end_unit(&self.state.texts, counts, origin)?);
        }
        if let Some(dbn) = self.dbn {
            all.extend(dbn.finish(&self.counts, &whole)?);
        }
        all.into_iter().map(Complete::publish).collect()
    }

    /// The rows of losses before the first message of the unit, at this place.
    fn write_held(&mut self, before: &Message<'_>) {
        for loss in std::mem::take(&mut self.held) {
            self.tabulate
                .gap(&loss, before, &self.state, &mut self.tables);
        }
    }

    /// The same of a unit without a message.
    fn end_held(&mut self) {
        self.note_time();
        let timestamps = Timestamps::default();
        self.write_held(&between(self.last, &timestamps));
    }

    fn gap(&mut self, loss: Loss) {
        self.counts.gap(loss);
        self.unit_counts.gap(loss);
    }

    fn note_time(&mut self) {
        let time = self.received.now();
        self.tables
            .iter_mut()
            .for_each(|files| files.note_time(time));
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(failure) = result {
            self.failure.get_or_insert(failure);
            self.has_failed.set(true);
        }
    }
}

/// The place behind the last message, as a message.
fn between(sequence: u64, timestamps: &Timestamps) -> Message<'_> {
    Message {
        sequence,
        timestamps,
        update: &Update::Reset,
        stamp: Stamp::Poll,
        is_image: false,
    }
}

/// The level that a change removes.
fn level(state: &State, update: &BookUpdate<'_>, change: &LevelChange) -> Option<Level> {
    if change.action != LevelAction::Remove || change.book == BookKind::Implied {
        return None;
    }
    let list = state
        .book(update.instrument)?
        .levels(BookKind::Direct, change.side);
    list.iter().nth(change.index.into()).copied()
}

impl Subscribe for Exporter {
    /// A message of a capture.
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.message(&Message {
            sequence: envelope.sequence,
            timestamps: envelope.timestamps,
            update: envelope.update,
            stamp: Stamp::Capture,
            is_image: false,
        });
    }

    fn batch_end(&mut self) {
        let mut files = self.tables.iter_mut();
        let written = files.try_for_each(|files| files.batch_end(self.last, &self.state.texts));
        self.note(written);
        if let Some(dbn) = &mut self.dbn {
            let written = dbn.batch_end();
            self.note(written);
        }
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        self.state.event(event);
        // A state is of no packet: its records end with it.
        if let (SubscriptionEvent::CaughtUp, Some(dbn)) = (event, &mut self.dbn) {
            let written = dbn.batch_end();
            self.note(written);
        }
    }
}
