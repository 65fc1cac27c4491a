//! Rows as CSV: a header, then a line a row; RFC 4180 with a line feed alone; an absent value is empty.

use crate::PartFile;
use crate::column::{Kind, Texts};
use crate::rows::Rows;
use crate::tables::Table;
use std::io::{self, Write};
use touchline_types::Price;
use touchline_wire::sbe::UtcTime;

/// How times are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// Nanoseconds since the Unix epoch.
    #[default]
    Nanoseconds,
    /// Text of ISO 8601 with nine digits, UTC.
    Iso,
}

/// A CSV file of a table.
#[derive(Debug)]
pub struct Csv {
    file: PartFile,
    times: Times,
    line: Vec<u8>,
}

impl Csv {
    /// Writes the header.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(mut file: PartFile, table: Table, times: Times) -> io::Result<Csv> {
        let names: Vec<&str> = table.columns().map(|column| column.name).collect();
        writeln!(file, "{}", names.join(","))?;
        Ok(Csv {
            file,
            times,
            line: Vec::new(),
        })
    }

    /// Writes all rows.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, rows: &Rows, texts: &Texts) -> io::Result<()> {
        let kinds: Vec<Kind> = rows.table().columns().map(|column| column.kind).collect();
        let columns: Vec<&[i64]> = rows.columns().collect();
        for row in 0..rows.len() {
            self.line.clear();
            for (at, (kind, column)) in kinds.iter().zip(&columns).enumerate() {
                if at > 0 {
                    self.line.push(b',');
                }
                cell(&mut self.line, *kind, column[row], texts, self.times)?;
            }
            self.line.push(b'\n');
            self.file.write_all(&self.line)?;
        }
        Ok(())
    }

    /// The file.
    pub fn end(self) -> PartFile {
        self.file
    }
}

fn cell(line: &mut Vec<u8>, kind: Kind, cell: i64, texts: &Texts, times: Times) -> io::Result<()> {
    match kind {
        _ if kind.absent() == Some(cell) => Ok(()),
        Kind::U64 | Kind::OptionalU64 => write!(line, "{}", cell as u64),
        Kind::Bool => write!(line, "{}", cell != 0),
        Kind::I64 | Kind::I32 | Kind::U32 | Kind::U16 => write!(line, "{cell}"),
        Kind::Price => write!(line, "{}", Price(cell)),
        Kind::Time => match times {
            Times::Nanoseconds => write!(line, "{cell}"),
            Times::Iso => write!(line, "{}", UtcTime(cell as u64)),
        },
        Kind::Word(words) => {
            let word = usize::try_from(cell).ok().and_then(|at| words.get(at));
            line.write_all(word.unwrap_or(&"").as_bytes())
        }
        Kind::Text => text(line, texts.text(cell).unwrap_or_default()),
    }
}

fn text(line: &mut Vec<u8>, text: &str) -> io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) {
        return write!(line, "\"{}\"", text.replace('"', "\"\""));
    }
    line.write_all(text.as_bytes())
}
