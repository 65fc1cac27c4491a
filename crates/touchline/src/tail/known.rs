//! What is known of instruments, from their definitions.

use touchline_types::{Depth, Instrument, InstrumentDefinition, Update};

/// The definitions that were seen.
#[derive(Debug, Default)]
pub struct Known {
    definitions: Vec<InstrumentDefinition>,
}

/// Until a definition comes.
const DEPTH: Depth = Depth {
    direct: 0,
    implied: 0,
};

impl Known {
    /// Learns from an update.
    pub fn note(&mut self, update: &Update<'_>) {
        match update {
            Update::Definition(definition) => *self.row(definition.instrument) = **definition,
            Update::Book(book) => self.row(book.instrument).security_id = book.security_id,
            _ => {}
        }
    }

    /// Another publisher numbers instruments anew.
    pub fn forget(&mut self) {
        self.definitions.clear();
    }

    /// The definition of an instrument, or what there is of it: its venue id is 0 until that is known.
    pub fn of(&self, instrument: Instrument) -> InstrumentDefinition {
        let known = self.definitions.get(instrument.index());
        known.copied().unwrap_or(unknown(instrument))
    }

    /// Every instrument that was named or lies before one.
    pub fn all(&self) -> impl Iterator<Item = InstrumentDefinition> + '_ {
        self.definitions.iter().copied()
    }

    fn row(&mut self, instrument: Instrument) -> &mut InstrumentDefinition {
        while self.definitions.len() <= instrument.index() {
            let next = Instrument(self.definitions.len() as u32);
            self.definitions.push(unknown(next));
        }
        &mut self.definitions[instrument.index()]
    }
}

const fn unknown(instrument: Instrument) -> InstrumentDefinition {
    InstrumentDefinition::unknown(instrument, 0, DEPTH)
}
