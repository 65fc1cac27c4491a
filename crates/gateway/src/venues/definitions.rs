//! Definitions of instruments in files: a table of ours, or the file of a venue. For captures and tapes without definitions.

pub(super) mod stated;
mod table;

use super::cme::secdef;
use stated::Stated;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use touchline_instruments::KnownDefinitions;
use touchline_net::{input, pcap};

/// Mistakes that are listed of one file; others are counted.
const MISTAKES_MAX: usize = 20;
/// Longest line.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Mistakes in files of definitions, a line each: file, line, field, and what to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionMistakes(Vec<String>);

impl DefinitionMistakes {
    /// The lines.
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for DefinitionMistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for DefinitionMistakes {}

/// Reader of one line.
type LineReader = fn(&[u8]) -> Result<Stated, String>;

/// Reads files of definitions, plain or packed with gzip or Zstandard; of those that state a channel, only the instruments of `channel`
/// are taken if one is given.
///
/// # Errors
/// A file cannot be read, or has malformed lines.
pub fn read_definitions(
    paths: impl IntoIterator<Item = impl AsRef<Path>>,
    channel: Option<u32>,
) -> Result<KnownDefinitions, DefinitionMistakes> {
    let mut all = KnownDefinitions::default();
    let mut mistakes = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let name = path.display().to_string();
        let opened = input::open(path).and_then(pcap::unpacked);
        match opened {
            Ok(file) => read(
                &name,
                BufReader::new(file),
                channel,
                &mut all,
                &mut mistakes,
            ),
            Err(error) => mistakes.push(format!("cannot open {name}: {error}")),
        }
    }
    match mistakes.is_empty() {
        true => Ok(all),
        false => Err(DefinitionMistakes(mistakes)),
    }
}

/// Whether a file is one of definitions, by its first bytes, unpacked.
pub(super) fn is_of_definitions(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = input::open(path)
        .and_then(pcap::unpacked)
        .and_then(|file| file.take(512).read_to_end(&mut first));
    read.is_ok() && reader_of(&first).is_some()
}

fn reader_of(first: &[u8]) -> Option<LineReader> {
    match first.trim_ascii_start().first() {
        Some(b'{') => Some(table::read_line),
        _ if secdef::is_line(first) => Some(secdef::read_line),
        _ => None,
    }
}

fn read(
    name: &str,
    mut file: impl BufRead,
    channel: Option<u32>,
    all: &mut KnownDefinitions,
    mistakes: &mut Vec<String>,
) {
    let (mut bytes, mut number, mut found) = (Vec::new(), 0_u64, 0_usize);
    let (mut reader, mut others) = (None, 0_usize);
    loop {
        bytes.clear();
        match (&mut file)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut bytes)
        {
            Ok(0) => break,
            Ok(_) => number += 1,
            Err(error) => {
                mistakes.push(format!("cannot read {name} behind line {number}: {error}"));
                return;
            }
        }
        let line = bytes.trim_ascii_start();
        if line.is_empty() {
            continue;
        }
        let Some(read_line) = reader.or_else(|| reader_of(line)) else {
            mistakes.push(format!(
                "{name}:{number}: not a file of definitions; give a table that `touchline definitions` writes (one JSON object a line), or CME's secdef.dat"
            ));
            return;
        };
        reader = Some(read_line);
        match read_line(line) {
            Ok(Stated::Definition(known, of)) => {
                found += 1;
                if channel.is_none() || of.is_none() || of == channel {
                    all.add(*known);
                }
            }
            Ok(Stated::Nothing) => {}
            Err(_) if mistakes.len() >= MISTAKES_MAX => others += 1,
            Err(what) => mistakes.push(format!("{name}:{number}: {what}")),
        }
    }
    if others > 0 {
        mistakes.push(format!("{name}: {others} more lines are malformed"));
    }
    if found == 0 && mistakes.is_empty() {
        mistakes.push(format!(
            "{name}: no definition of an instrument; give a table that `touchline definitions` writes, or CME's secdef.dat"
        ));
    }
}

#[cfg(test)]
mod tests;
