//! Files of tables that grow.

use crate::about::{Counts, Origin};
use crate::column::{NULL, Texts};
use crate::complete::{Complete, beside};
use crate::error::Error;
use crate::part_file::PartFile;
use crate::rows::Rows;
use crate::tables::{Common, Table};
use crate::writer::{Format, Writer};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Rows that are written at once: a row group of Parquet.
pub const ROWS_AT_ONCE: usize = 65_536;
/// Rows of a packet that does not end: they are written without its end.
const ROWS_MAX: usize = 4 * ROWS_AT_ONCE;
const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// Files of the wanted tables.
pub struct Files {
    folder: PathBuf,
    format: Format,
    /// Wanted tables.
    tables: Vec<Table>,
    /// Growing files, by table.
    files: [Vec<File>; Table::ALL.len()],
    /// Name of the present unit, of which each partition has a file.
    unit: String,
    /// Captures of the unit; none of a tape.
    captures: Vec<String>,
    /// Whether a table has a file of each partition.
    has_partitions: bool,
    /// Time that says the day of rows without a receive time.
    received_ns: Option<i64>,
}

/// Rows that are in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Partition {
    /// Cell of the venue.
    venue: i64,
    /// Day of the receive time, since 1970; `None` if it is unknown.
    day: Option<i64>,
}

struct File {
    partition: Partition,
    rows: Rows,
    /// With the first row that is written.
    open: Option<(PathBuf, Writer)>,
    written: u64,
    sequences: Option<(u64, u64)>,
}

impl Files {
    /// Files of these tables in a folder.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn create(folder: PathBuf, tables: &[Table], format: Format) -> Result<Files, Error> {
        let mut files = Files {
            folder,
            format,
            tables: tables.to_vec(),
            files: [const { Vec::new() }; Table::ALL.len()],
            unit: String::new(),
            captures: Vec::new(),
            has_partitions: format.has_partitions(),
            received_ns: None,
        };
        let created = std::fs::create_dir_all(&files.folder);
        created.map_err(Error::file(&files.folder))?;
        // One file a table, which exists without rows, too.
        if !files.has_partitions {
            for table in tables {
                let mut file = File::new(*table, Partition::default());
                let path = files.folder.join(format!("{}.csv", table.name()));
                file.open = Some((path.clone(), open(path, format, *table)?));
                files.files[*table as usize].push(file);
            }
        }
        Ok(files)
    }

    /// Whether a table is wanted.
    pub fn wants(&self, table: Table) -> bool {
        self.tables.contains(&table)
    }

    /// Whether each unit of the source has files of its own.
    pub fn has_units(&self) -> bool {
        self.has_partitions
    }

    /// Begins a unit of the source with this name, of a tape or of these captures.
    pub fn begin_unit(&mut self, name: &str, captures: &[String]) {
        name.clone_into(&mut self.unit);
        self.captures = captures.to_vec();
    }

    /// Rows without a receive time are of the day of this one.
    pub fn note_time(&mut self, received_ns: Option<i64>) {
        self.received_ns = received_ns;
    }

    /// Takes a row of a wanted table: the common cells, and those of the table.
    pub fn row(&mut self, table: Table, common: &Common, own: &[i64]) {
        if !self.wants(table) {
            return;
        }
        let partition = match self.has_partitions {
            false => Partition::default(),
            true => {
                let received_ns = Some(common.ts_recv).filter(|ns| *ns != NULL);
                // mutant: export: a row without a receive time has no day
                let received_ns = received_ns.or(self.received_ns);
                Partition {
                    venue: common.venue,
                    day: received_ns.map(|ns| ns.div_euclid(DAY_NS)),
                }
            }
        };
        let files = &mut self.files[table as usize];
        // The last one is the one of today.
        let found = files.iter().rposition(|file| file.partition == partition);
        let place = found.unwrap_or_else(|| {
            files.push(File::new(table, partition));
            files.len() - 1
        });
        files[place].rows.push(common, own);
    }

    /// The message with this number is the last one of its packet.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn batch_end(&mut self, sequence: u64, texts: &Texts) -> Result<(), Error> {
        for file in self.files.iter_mut().flatten() {
            file.rows.end_event(sequence as i64);
        }
        self.write_above(ROWS_AT_ONCE, texts)
    }

    /// Writes the rows of a packet that does not end.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn check_room(&mut self, texts: &Texts) -> Result<(), Error> {
        self.write_above(ROWS_MAX, texts)
    }

    /// Writes the rows of the files that have at least this many.
    fn write_above(&mut self, count: usize, texts: &Texts) -> Result<(), Error> {
        let Files {
            folder,
            format,
            files,
            unit,
            captures,
            ..
        } = self;
        let full = files.iter_mut().flatten();
        for file in full.filter(|file| file.rows.len() >= count) {
            if file.open.is_none() {
                let place = file.partition.path(file.rows.table(), unit, texts);
                let path = folder.join(place);
                // mutant: export: captures replace the rows of others with their name
                check_captures(&path, captures)?;
                file.open = Some((path.clone(), open(path, *format, file.rows.table())?));
            }
            file.write(texts)?;
        }
        Ok(())
    }

    /// Files of these tables with a file of each partition.
    #[cfg(test)]
    pub fn partitioned(folder: PathBuf, tables: &[Table]) -> Files {
        let format = Format::Csv(crate::csv::Times::Nanoseconds);
        let mut files = Files::create(folder, &[], format).expect("our folder");
        (files.tables, files.has_partitions) = (tables.to_vec(), true);
        files
    }

    /// Paths of the files of the present unit.
    #[cfg(test)]
    pub fn paths(&self, texts: &Texts) -> Vec<PathBuf> {
        let path = |file: &File| file.partition.path(file.rows.table(), &self.unit, texts);
        self.files.iter().flatten().map(path).collect()
    }

    /// Completes the files of the present unit.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn end_unit(
        &mut self,
        texts: &Texts,
        counts: &Counts,
        origin: &Origin,
    ) -> Result<Vec<Complete>, Error> {
        self.write_above(1, texts)?;
        let about = counts.json(origin);
        let mut all = Vec::new();
        for file in self.files.iter_mut().flat_map(std::mem::take) {
            let Some((path, writer)) = file.open else {
                continue;
            };
            let mut about = about.clone();
            about["table"] = file.rows.table().name().into();
            about["rows"] = file.written.into();
            about["row_sequences"] = serde_json::json!(file.sequences);
            let part = writer.end(origin).map_err(Error::file(&path))?;
            all.push(Complete::new(part, path, file.written, &about)?);
        }
        Ok(all)
    }
}

/// Refuses to replace a file of other captures: they may have the same name, and their rows would be gone.
fn check_captures(path: &Path, captures: &[String]) -> Result<(), Error> {
    if captures.is_empty() || !path.exists() {
        return Ok(());
    }
    let about = std::fs::read(beside(path)).unwrap_or_default();
    let about: Value = serde_json::from_slice(&about).unwrap_or_default();
    let mut before: Vec<&str> = Vec::new();
    before.extend(
        about["captures"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str),
    );
    let mut now: Vec<&str> = captures.iter().map(String::as_str).collect();
    before.sort_unstable();
    now.sort_unstable();
    match before == now {
        true => Ok(()),
        false => Err(Error::Refused(format!(
            "{}: is of other captures ({}), whose rows would be lost; give another folder, or remove it",
            path.display(),
            before.join(", ")
        ))),
    }
}

fn open(path: PathBuf, format: Format, table: Table) -> Result<Writer, Error> {
    let part = PartFile::create(&path).map_err(Error::file(&path))?;
    Writer::new(format, part, table).map_err(Error::file(&path))
}

impl File {
    fn new(table: Table, partition: Partition) -> File {
        File {
            partition,
            rows: Rows::new(table),
            open: None,
            written: 0,
            sequences: None,
        }
    }

    fn write(&mut self, texts: &Texts) -> Result<(), Error> {
        if let (Some((path, writer)), Some((first, last))) = (&mut self.open, self.rows.sequences())
        {
            let written = writer.write(&self.rows, texts);
            written.map_err(Error::file(path))?;
            self.written += self.rows.len() as u64;
            let first = self.sequences.map_or(first, |(first, _)| first);
            self.sequences = Some((first, last));
        }
        self.rows.clear();
        Ok(())
    }
}

impl Partition {
    /// Path of its file below the folder.
    fn path(&self, table: Table, unit: &str, texts: &Texts) -> PathBuf {
        let venue = texts.text(self.venue).unwrap_or("unknown");
        let day = self.day.map(|day| day.saturating_mul(DAY_NS) as u64);
        let day = day.map_or_else(|| "unknown".to_owned(), crate::day::text);
        PathBuf::from(table.name())
            .join(format!("venue={}", safe(venue)))
            .join(format!("date={day}"))
            .join(format!("{}.parquet", safe(unit)))
    }
}

/// A name as a part of a path: other characters by their number in hexadecimal digits.
fn safe(name: &str) -> String {
    let mut safe = String::new();
    for byte in name.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' => safe.push(byte.into()),
            other => safe += &format!("%{other:02X}"),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_paths() {
        assert_eq!(safe("cme-340"), "cme-340");
        assert_eq!(safe("../EUR/USD é"), "%2E%2E%2FEUR%2FUSD%20%C3%A9");
    }
}
