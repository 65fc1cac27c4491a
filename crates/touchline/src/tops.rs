//! The top of book after each end of event, as JSON lines: the output contract.

use crate::output::{Failure, Output};
use crate::record::Record;
use touchline_transport::{Envelope, Subscribe};
use touchline_types::{BookUpdate, Instrument, Update};

/// A subscriber that writes a line for each whole event and instrument whose direct book it touched.
#[derive(Debug)]
pub struct Tops {
    output: Output,
    line: String,
    /// Of the quantities, by instrument; 0 until a definition says otherwise.
    exponents: Vec<i8>,
    failure: Option<Failure>,
}

impl Tops {
    /// Writes to `output`.
    pub fn new(output: Output) -> Tops {
        Tops {
            output,
            line: String::new(),
            exponents: Vec::new(),
            failure: None,
        }
    }

    /// The output with everything in it, or what went wrong while it was written.
    pub fn into_output(self) -> Result<Output, Failure> {
        self.failure.map_or(Ok(self.output), Err)
    }

    fn scale(&mut self, instrument: Instrument, exponent: i8) {
        let rows = self.exponents.len().max(instrument.index() + 1);
        self.exponents.resize(rows, 0);
        self.exponents[instrument.index()] = exponent;
    }

    fn write(&mut self, update: &BookUpdate<'_>, sequence: u64) {
        let exponents = &self.exponents;
        let exponent = exponents.get(update.instrument.index()).copied();
        let exponent = exponent.unwrap_or_default();
        self.line.clear();
        let mut row = Record::json(&mut self.line);
        row.number("seq", sequence);
        row.number("security_id", update.security_id);
        row.best("bid", update.best_bid, exponent);
        row.best("ask", update.best_ask, exponent);
        row.end();
        if self.failure.is_none() {
            self.failure = self.output.line(&self.line).err();
        }
    }
}

impl Subscribe for Tops {
    fn update(&mut self, envelope: &Envelope<'_>) {
        match envelope.update {
            Update::Book(update) if update.whole && update.direct => {
                self.write(update, envelope.timestamps.packet.sequence);
            }
            Update::Definition(definition) => {
                self.scale(definition.instrument, definition.quantity_exponent);
            }
            _ => {}
        }
    }
}
