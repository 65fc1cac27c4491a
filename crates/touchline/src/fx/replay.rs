//! `touchline fx replay`: processes a recorded session and writes six files.

use super::config_text::read_config;
use crate::output::{Failure, Output};
use clap::Args;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use touchline_fx::Setup;
use touchline_fx::sessions::{Replay, ReplayError};
use touchline_fx_events::lines::Files;

/// Replay a recorded session of banks and desk.
///
/// Reads `config.toml` and `session.txt` and writes composite.jsonl, decisions.jsonl, orders.jsonl, fills.jsonl,
/// positions.jsonl and scorecard.jsonl: all of them, or none. The same session gives the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  touchline fx replay session --out replayed

Exit status: 0 replayed, 1 a file cannot be read or written, or a line of the session is invalid,
2 bad arguments or configuration")]
pub struct Arguments {
    /// Directory with `config.toml` and `session.txt`.
    #[arg(value_name = "SESSION_DIR")]
    session: PathBuf,
    /// Output directory for the six files; created if missing.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Replays and writes the files.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = arguments.session.join("config.toml");
    let setup = read_config(&config, Setup::parse)?;
    let session = arguments.session.join("session.txt");
    let file =
        touchline_net::input::open(&session).map_err(|error| unreadable(&session, &error))?;
    let files = replay(setup, &session, BufReader::new(file))?;
    write(&files, &arguments.out)
}

fn replay(setup: Setup, path: &Path, mut session: impl BufRead) -> Result<Files, Failure> {
    let mut replay = Replay::new(setup);
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        number += 1;
        let read = session
            .read_until(b'\n', &mut line)
            .map_err(|error| unreadable(path, &error))?;
        if read == 0 {
            return Ok(replay.finish().0);
        }
        let text = std::str::from_utf8(&line).map_err(|_| {
            Failure::run(format!(
                "{}: line {number}: not text; a session is UTF-8",
                path.display()
            ))
        })?;
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let refused = |error: ReplayError| Failure::run(format!("{}: {error}", path.display()));
        replay.line(text).map_err(refused)?;
    }
}

/// Writes all files before any of them gets its final name.
fn write(files: &Files, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::run(format!(
            "{}: cannot be created ({error}); choose a folder that you may write to",
            folder.display()
        ))
    })?;
    let mut outputs = Vec::new();
    for (name, text) in files.named() {
        let mut output = Output::open(&folder.join(name))?;
        output.text(text)?;
        output.flush()?;
        outputs.push(output);
    }
    outputs.into_iter().try_for_each(Output::finish)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let fix = match error.kind() {
        ErrorKind::NotFound => "give a directory with config.toml and session.txt",
        _ => "give read permission",
    };
    Failure::run(format!(
        "{}: cannot be read ({error}); {fix}",
        path.display()
    ))
}
