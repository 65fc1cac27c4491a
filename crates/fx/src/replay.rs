//! A recorded session, replayed: the text of both its files in, the text of six files out.

use crate::engine::Engine;
use crate::event::Batch;
use crate::lines::Files;
use crate::session_file::{LineError, LineReader};
use crate::setup::Setup;
use thiserror::Error;

/// A session that cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// A line that is no input.
    #[error("line {line}: {error}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        error: LineError,
    },
    /// Time fell.
    #[error("line {line}: time falls from {before_ns} to {at_ns}; a session is sorted by time")]
    Time {
        /// From 1.
        line: usize,
        /// Of the line before.
        before_ns: u64,
        /// Of this line.
        at_ns: u64,
    },
}

/// A replay at work.
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
    /// Nothing is read yet.
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

    /// Takes a line, without its end.
    ///
    /// # Errors
    /// It is no input, or its time is before that of the line before.
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
        self.files.write(self.engine.setup(), &self.batch);
        Ok(())
    }

    /// Wakes up at a time, as a live process does now and then.
    pub fn wake(&mut self, at_ns: u64) {
        self.batch.clear();
        self.engine.handle_timeout(at_ns, &mut self.batch);
        self.files.write(self.engine.setup(), &self.batch);
    }

    /// The core as it is.
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

    /// The session ends: the six files.
    pub fn finish(mut self) -> (Files, Engine) {
        self.batch.clear();
        self.engine.finish(&mut self.batch);
        self.files.write(self.engine.setup(), &self.batch);
        (self.files, self.engine)
    }
}
