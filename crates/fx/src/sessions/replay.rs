//! Replay of a recorded session: text of two files in, text of six files out.

use crate::sessions::{LineError, LineReader};
use crate::{Engine, Setup};
use thiserror::Error;
use touchline_fx_events::Batch;
use touchline_fx_events::lines::Files;

/// Error of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// An invalid line.
    #[error("line {line}: {error}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Error.
        error: LineError,
    },
    /// A time is before that of the previous line.
    #[error("line {line}: time falls from {before_ns} to {at_ns}; a session is sorted by time")]
    Time {
        /// Line number, from 1.
        line: usize,
        /// Time of the previous line.
        before_ns: u64,
        /// Time of this line.
        at_ns: u64,
    },
}

/// A running replay.
#[derive(Debug, Clone)]
pub struct Replay {
    engine: Engine,
    reader: LineReader,
    batch: Batch,
    files: Files,
    lines: usize,
    last_ns: u64,
}

impl Replay {
    /// Replay without any line.
    pub fn new(setup: Setup) -> Replay {
        Replay {
            engine: Engine::new(setup),
            reader: LineReader::default(),
            batch: Batch::default(),
            files: Files::default(),
            lines: 0,
            last_ns: 0,
        }
    }

    /// Processes a line, without its line end.
    ///
    /// # Errors
    /// The line is invalid, or its time is before that of the previous line.
    pub fn line(&mut self, line: &str) -> Result<(), ReplayError> {
        self.lines += 1;
        let number = self.lines;
        let of_line = |error| ReplayError::Line {
            line: number,
            error,
        };
        let Some((at_ns, input)) = self
            .reader
            .read(self.engine.setup(), line)
            .map_err(of_line)?
        else {
            return Ok(());
        };
        if at_ns < self.last_ns {
            return Err(ReplayError::Time {
                line: number,
                before_ns: self.last_ns,
                at_ns,
            });
        }
        self.last_ns = at_ns;
        self.batch.clear();
        self.engine.handle(at_ns, &input, &mut self.batch);
        self.files.write(&self.engine.setup().labels, &self.batch);
        Ok(())
    }

    /// Wakes the core up at a time, as a live process does.
    pub fn wake(&mut self, at_ns: u64) {
        self.batch.clear();
        self.engine.handle_timeout(at_ns, &mut self.batch);
        self.files.write(&self.engine.setup().labels, &self.batch);
    }

    /// Holds or releases the router: [`Engine::hold`]. The next step looks at every parent.
    pub fn hold(&mut self, is_held: bool) {
        self.engine.hold(is_held);
    }

    /// The core.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Events of the last line.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The six files so far.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Ends the session and returns the six files.
    pub fn finish(mut self) -> (Files, Engine) {
        self.batch.clear();
        self.engine.finish(&mut self.batch);
        self.files.write(&self.engine.setup().labels, &self.batch);
        (self.files, self.engine)
    }
}
