//! What a reader reads of a tape: from a place to a place, of some instruments.

use crate::messages::{LENGTH_BYTES, Messages};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use touchline_instruments::KnownDefinitions;
use touchline_types::native::{Body, Flags, Message};
use touchline_types::{InstrumentDefinition, Update};

/// Place on a tape: in front of the first batch of the bus with a message that reaches it. A batch is not divided, unless two records do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapePlace {
    /// Receive time of a message, ns since the Unix epoch.
    Time(u64),
    /// Number of a message of the bus.
    Sequence(u64),
    /// Position in the journal.
    Position(u64),
}

/// What a reader has passed in its stream.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Largest receive time of a message, ns since the Unix epoch; 0: none.
    pub received_ns: u64,
    /// Position of the present record.
    pub position: u64,
    /// Number of the last message of the bus, or of the last one before a state.
    pub sequence: u64,
    /// Further parts of an update follow.
    is_in_parts: bool,
    /// The batch goes on.
    is_in_batch: bool,
}

impl Passed {
    /// Whether the batch of the next message of the bus, which begins at `from` of a record's body, reaches the place `until`.
    pub fn reaches(
        &self,
        until: Option<TapePlace>,
        message: &Message<'_>,
        body: &[u8],
        from: usize,
    ) -> bool {
        let begins = !self.is_within_batch();
        // How a batch goes on in the next record is not known before: there its rest is reached by itself.
        let is_rest = from == 0 && !self.is_in_parts;
        match until {
            None => false,
            Some(TapePlace::Time(at_ns)) => {
                begins && message.timestamps().packet.receive_ns >= at_ns
            }
            Some(TapePlace::Sequence(sequence)) => {
                (begins || is_rest) && last_of_batch(message, &body[from..], sequence) >= sequence
            }
            Some(TapePlace::Position(position)) => (begins || is_rest) && self.position >= position,
        }
    }

    /// Whether a batch goes on.
    pub fn is_within_batch(&self) -> bool {
        self.is_in_parts || self.is_in_batch
    }

    /// Messages are missing here.
    pub fn note_gap(&mut self) {
        (self.is_in_parts, self.is_in_batch) = (false, false);
    }

    /// Takes a message. Those of the recorder have no time, and may stand between the parts of an update.
    pub fn note(&mut self, message: &Message<'_>) {
        self.is_in_batch = !message.flags().has(Flags::END_OF_BATCH);
        if message.sequence() > 0 {
            self.sequence = message.sequence();
            self.is_in_parts = message.flags().has(Flags::MORE);
            let received = message.timestamps().packet.receive_ns;
            self.received_ns = self.received_ns.max(received);
        }
    }
}

/// Number of the last message of a batch in a record's body, which begins with `message`; that of `message` where no message of the body can
/// have the number `until`.
fn last_of_batch(message: &Message<'_>, body: &[u8], until: u64) -> u64 {
    let first = message.sequence();
    let most = (body.len() / LENGTH_BYTES) as u64;
    if first >= until || until - first > most {
        return first;
    }
    let mut last = first;
    for bytes in Messages::of(body) {
        let Ok(message) = Message::parse(bytes) else {
            break;
        };
        last = last.max(message.sequence());
        if message.flags().has(Flags::END_OF_BATCH) {
            break;
        }
    }
    last
}

/// Whether an instrument is selected, by its definition.
pub type Selection = Box<dyn FnMut(&InstrumentDefinition) -> bool + Send>;

/// Options of a reader.
#[derive(Default)]
pub struct ReadOptions {
    /// Name of the bus; `None`: the first one of the tape.
    pub bus: Option<String>,
    /// Place at which it begins, with the state of the books there as images. `None`: the begin of the tape.
    pub from: Option<TapePlace>,
    /// Place at which it ends. `None`: the end of the tape.
    pub to: Option<TapePlace>,
    /// Instruments that are handed out; messages without an instrument are, too. `None`: all.
    pub only: Option<Selection>,
    /// Definitions for instruments that the tape has without one. A definition of the tape replaces them, and the depth of a book is always
    /// that of the tape: its gateway has kept that number of levels.
    pub known: Arc<KnownDefinitions>,
    /// Longest wait for a recorder that ended while this reader followed it: one that starts again comes back. Zero: the tape ends with it.
    pub recorder_wait: Duration,
}

impl fmt::Debug for ReadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOptions")
            .field("bus", &self.bus)
            .field("from", &self.from)
            .field("to", &self.to)
            .field("has_only", &self.only.is_some())
            .field("known", &self.known.len())
            .field("recorder_wait", &self.recorder_wait)
            .finish()
    }
}

/// The known definition for an update that announces an instrument without one.
pub(super) fn defined_by(
    known: &KnownDefinitions,
    update: &Update<'_>,
) -> Option<InstrumentDefinition> {
    let Update::Definition(undefined) = update else {
        return None;
    };
    if undefined.defined {
        return None;
    }
    let known = known.find(undefined.reference.venue, undefined.security_id)?;
    Some(InstrumentDefinition {
        depth: undefined.depth,
        ..known.of(undefined)
    })
}

/// The selected instruments of a publication.
pub(super) struct Only {
    selection: Selection,
    /// By number.
    selected: Vec<bool>,
}

impl Only {
    pub fn new(selection: Selection) -> Only {
        Only {
            selection,
            selected: Vec::new(),
        }
    }

    /// Another publication: its instruments have other numbers.
    pub fn forget(&mut self) {
        self.selected.clear();
    }

    /// Numbers of the selected instruments.
    pub fn instruments(&self) -> impl Iterator<Item = u32> {
        let selected = (0..).zip(&self.selected);
        selected.filter_map(|(number, is_selected)| is_selected.then_some(number))
    }

    /// Whether a message is of a selected instrument, or of none.
    pub fn has(&mut self, message: &Message<'_>, known: &KnownDefinitions) -> bool {
        let Some(instrument) = message.instrument() else {
            return true;
        };
        let index = instrument.index();
        if let Body::InstrumentDefinition(view) = &message.body {
            if self.selected.len() <= index {
                self.selected.resize(index + 1, false);
            }
            let stated = view.value();
            let defined = defined_by(known, &Update::Definition(&stated));
            self.selected[index] = (self.selection)(&defined.unwrap_or(stated));
        }
        self.selected.get(index) == Some(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::MessagesMut;
    use touchline_types::Timestamps;
    use touchline_types::native::{PART_BYTES_MAX, parts};

    /// A record with one short update for each number; the last one of `end` ends its batch.
    fn body(sequences: &[u64], end: u64) -> Vec<u8> {
        let mut messages = MessagesMut::default();
        for sequence in sequences {
            let flags = Flags::END_OF_BATCH.when(*sequence == end);
            for part in parts(&Update::Reset, PART_BYTES_MAX) {
                messages.push(part.len(), |place| {
                    part.write(*sequence, flags, &Timestamps::default(), &mut &mut *place);
                });
            }
        }
        messages.take()
    }

    /// Number of the first message in front of which records are divided at a number.
    fn divided_at(records: &[Vec<u8>], sequence: u64) -> Option<u64> {
        divided(records, TapePlace::Sequence(sequence))
    }

    /// Number of the first message in front of which records, at the positions 100, 200 and on, are divided at a place.
    fn divided(records: &[Vec<u8>], place: TapePlace) -> Option<u64> {
        let mut passed = Passed::default();
        for (position, body) in (1..).zip(records) {
            passed.position = 100 * position;
            let mut from = 0;
            for bytes in Messages::of(body) {
                let message = Message::parse(bytes).expect("it was written here");
                if passed.reaches(Some(place), &message, body, from) {
                    return Some(message.sequence());
                }
                passed.note(&message);
                from += LENGTH_BYTES + bytes.len();
            }
        }
        None
    }

    #[test]
    fn a_number_is_in_the_part_that_begins_with_its_batch() {
        let records = [body(&[1, 2], 2), body(&[3, 4, 5], 5), body(&[6], 6)];
        let divided = [1, 2, 3, 4, 5, 6, 7].map(|sequence| divided_at(&records, sequence));
        let expected = [Some(1), Some(1), Some(3), Some(3), Some(3), Some(6), None];
        assert_eq!(divided, expected);
    }

    /// The reader does not know how a batch goes on in the next record.
    #[test]
    fn a_batch_that_two_records_divide_is_divided_there() {
        let records = [body(&[1, 2, 3, 4], 2), body(&[5, 6], 6)];
        let divided = [3, 4, 5, 6].map(|sequence| divided_at(&records, sequence));
        assert_eq!(divided, [Some(3), Some(3), Some(5), Some(5)]);
    }

    /// The position of a record within a batch divides the batch there, as for an export that goes on at the position: no message is in both
    /// parts, or in none.
    #[test]
    fn a_position_within_a_batch_divides_it() {
        let records = [body(&[1, 2], 0), body(&[3, 4], 0), body(&[5, 6], 6)];
        let divided = [1, 100, 101, 200, 201, 300, 301]
            .map(|position| divided(&records, TapePlace::Position(position)));
        let expected = [Some(1), Some(1), Some(3), Some(3), Some(5), Some(5), None];
        assert_eq!(divided, expected);
    }
}
