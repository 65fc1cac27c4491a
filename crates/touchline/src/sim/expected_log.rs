//! Log of all book states, written in place, readable while it grows.

use crate::output::Failure;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use touchline_lab::cme::expected_books::BookState;

/// A log being written.
#[derive(Debug)]
pub struct ExpectedLog {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl ExpectedLog {
    /// An empty log.
    pub fn create(path: &Path) -> Result<ExpectedLog, Failure> {
        let file = File::create(path).map_err(|error| unwritable(path, &error))?;
        Ok(ExpectedLog {
            path: path.to_owned(),
            writer: BufWriter::with_capacity(1 << 16, file),
        })
    }

    /// Writes states, one line each, without buffering.
    pub fn write(&mut self, states: &mut Vec<BookState>) -> Result<(), Failure> {
        let ExpectedLog { path, writer } = self;
        let written = states
            .drain(..)
            .try_for_each(|state| writeln!(writer, "{state}"))
            .and_then(|()| writer.flush());
        written.map_err(|error| unwritable(path, &error))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::run(format!(
        "{}: cannot be written ({error}); give a file in a folder that you may write, with free space",
        path.display()
    ))
}
