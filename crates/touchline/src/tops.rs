//! The top of book after each end of event, as JSON lines: the output contract.

use crate::books::push_best;
use crate::output::{Failure, Output};
use std::fmt::Write;
use touchline_transport::{Envelope, Subscribe};
use touchline_types::{BookUpdate, Update};

/// A subscriber that writes a line for each whole event and instrument whose direct book it touched.
#[derive(Debug)]
pub struct Tops {
    output: Output,
    line: String,
    failure: Option<Failure>,
}

impl Tops {
    /// Writes to `output`.
    pub fn new(output: Output) -> Tops {
        Tops {
            output,
            line: String::new(),
            failure: None,
        }
    }

    /// Completes the file, or says what went wrong while it was written.
    pub fn finish(self) -> Result<(), Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.output.finish(),
        }
    }

    fn write(&mut self, update: &BookUpdate<'_>, sequence: u32) {
        let venue_id = update.venue_id;
        self.line.clear();
        let _ = write!(
            self.line,
            "{{\"seq\":{sequence},\"security_id\":{venue_id},\"bid\":"
        );
        push_best(&mut self.line, update.best_bid);
        self.line.push_str(",\"ask\":");
        push_best(&mut self.line, update.best_ask);
        self.line.push('}');
        if self.failure.is_none() {
            self.failure = self.output.line(&self.line).err();
        }
    }
}

impl Subscribe for Tops {
    fn update(&mut self, envelope: &Envelope<'_>) {
        if let Update::Book(update) = envelope.update
            && update.whole
            && update.direct
        {
            self.write(update, envelope.stamps.packet.sequence);
        }
    }
}
