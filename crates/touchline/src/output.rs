//! Output files and failures: what is written appears whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// Wrong arguments or configuration: exit status 2.
    Usage(String),
    /// The run failed: exit status 1.
    Run(String),
}

impl Failure {
    /// A failed run, with what it was about.
    pub fn run(what: impl std::fmt::Display) -> Failure {
        Failure::Run(what.to_string())
    }

    /// Wrong arguments or configuration.
    pub fn usage(what: impl std::fmt::Display) -> Failure {
        Failure::Usage(what.to_string())
    }

    /// Says it in one line and gives the exit status.
    pub fn report(&self) -> ExitCode {
        let (what, status) = match self {
            Failure::Usage(what) => (what, 2),
            Failure::Run(what) => (what, 1),
        };
        eprintln!("touchline: {what}");
        ExitCode::from(status)
    }
}

/// A file that takes its name only when it is complete; dropped before that, nothing is left.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    partial: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl Output {
    /// Opens a file beside `path`, so that an unwritable place is known before the work begins.
    pub fn create(path: &Path) -> Result<Output, Failure> {
        let mut name = path.file_name().map(ToOwned::to_owned).ok_or_else(|| {
            Failure::usage(format!(
                "{}: is no file name; give a path to a file",
                path.display()
            ))
        })?;
        if path.is_dir() {
            return Err(Failure::usage(format!(
                "{}: is a folder; give a path to a file in it",
                path.display()
            )));
        }
        name.push(format!(".{}.partial", std::process::id()));
        let partial = path.with_file_name(name);
        let file = File::options()
            .write(true)
            .create_new(true)
            .open(&partial)
            .map_err(|error| {
                Failure::run(format!(
                    "{}: cannot be written ({error}); choose a folder that exists and is yours",
                    path.display()
                ))
            })?;
        let writer = Some(BufWriter::with_capacity(1 << 16, file));
        Ok(Output {
            path: path.to_owned(),
            partial,
            writer,
        })
    }

    /// Writes a line.
    pub fn line(&mut self, line: &str) -> Result<(), Failure> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let written = writer
            .write_all(line.as_bytes())
            .and_then(|()| writer.write_all(b"\n"));
        written.map_err(|error| self.failed(&error))
    }

    /// Completes the file: it appears under its name, replacing an older one.
    pub fn finish(mut self) -> Result<(), Failure> {
        let writer = self.writer.take().map(BufWriter::into_inner);
        let done = match writer {
            Some(Ok(file)) => file
                .sync_all()
                .and_then(|()| std::fs::rename(&self.partial, &self.path)),
            Some(Err(error)) => Err(error.into_error()),
            None => Ok(()),
        };
        done.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::run(format!(
            "{}: cannot be written ({error}); make room or choose another place",
            self.path.display()
        ))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // After `finish` there is no such file any more.
        let _ = std::fs::remove_file(&self.partial);
    }
}
