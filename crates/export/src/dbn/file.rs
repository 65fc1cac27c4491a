//! A file of one schema that grows.

use super::layout::{Head, LAST, UNDEFINED_TIME, flags_at};
use super::schema::Schema;
use crate::complete::Complete;
use crate::error::Error;
use crate::part_file::PartFile;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use zstd::stream::write::Encoder;

/// Level of compression.
const ZSTD_LEVEL: i32 = 3;
/// Bytes of an unfinished packet that are kept for the flag of the last record.
const OPEN_BYTES_MAX: usize = 16 << 20;

/// Records of a schema. The head of the file has all symbols, so it is written last, and before the records.
pub struct SchemaFile {
    /// Schema.
    pub schema: Schema,
    path: PathBuf,
    output: Output,
    /// Records of the open packet.
    open: Vec<u8>,
    /// Last record of each instrument in the open packet: instrument, and where its flags are.
    last: Vec<(u32, usize)>,
    count: u64,
    /// First and last receive time of the records.
    span_ns: Option<(u64, u64)>,
}

enum Output {
    Plain(PartFile),
    Zstd(Box<Encoder<'static, PartFile>>),
}

impl SchemaFile {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(folder: &Path, schema: Schema, is_zstd: bool) -> Result<SchemaFile, Error> {
        let ending = if is_zstd { ".dbn.zst" } else { ".dbn" };
        let path = folder.join(format!("{}{ending}", schema.name()));
        let mut records = path.as_os_str().to_owned();
        records.push(".records");
        let records = PathBuf::from(records);
        let part = PartFile::create(&records).map_err(Error::file(&records))?;
        let output = match is_zstd {
            false => Output::Plain(part),
            true => {
                let encoder = Encoder::new(part, ZSTD_LEVEL).map_err(Error::file(&records))?;
                Output::Zstd(Box::new(encoder))
            }
        };
        Ok(SchemaFile {
            schema,
            path,
            output,
            open: Vec::new(),
            last: Vec::new(),
            count: 0,
            span_ns: None,
        })
    }

    /// Records so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// First and last receive time of the records.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        self.span_ns
    }

    /// Adds a record of an instrument, which `write` appends.
    pub fn record(&mut self, rtype: u8, head: &Head, write: impl FnOnce(&mut Vec<u8>)) {
        let from = self.open.len();
        write(&mut self.open);
        self.count += 1;
        if head.ts_recv != UNDEFINED_TIME {
            let (first, last) = self.span_ns.unwrap_or((head.ts_recv, head.ts_recv));
            self.span_ns = Some((first.min(head.ts_recv), last.max(head.ts_recv)));
        }
        let Some(flags_at) = flags_at(rtype) else {
            return;
        };
        let at = from + flags_at;
        let mut last = self.last.iter_mut().rev();
        match last.find(|(instrument, _)| *instrument == head.instrument_id) {
            Some((_, place)) => *place = at,
            None => self.last.push((head.instrument_id, at)),
        }
    }

    /// Ends the packet: the last record of each instrument says so.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end_packet(&mut self) -> Result<(), Error> {
        for (_, at) in self.last.drain(..) {
            self.open[at] |= LAST;
        }
        self.write()
    }

    /// Writes records of a packet that does not end.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn check_room(&mut self) -> Result<(), Error> {
        match self.open.len() > OPEN_BYTES_MAX {
            true => {
                self.last.clear();
                self.write()
            }
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<(), Error> {
        if self.open.is_empty() {
            return Ok(());
        }
        let written = match &mut self.output {
            Output::Plain(file) => file.write_all(&self.open),
            Output::Zstd(encoder) => encoder.write_all(&self.open),
        };
        written.map_err(Error::file(&self.path))?;
        self.open.clear();
        Ok(())
    }

    /// Completes the file: this head, then the records.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(mut self, head: &[u8], about: &Value) -> Result<Complete, Error> {
        self.end_packet()?;
        let path = self.path;
        let part = join(self.output, head, &path).map_err(Error::file(&path))?;
        Complete::new(part, path, self.count, about)
    }
}

/// The file with the head and the records. With zstd each is a frame of its own.
fn join(output: Output, head: &[u8], path: &Path) -> io::Result<PartFile> {
    let is_zstd = matches!(output, Output::Zstd(_));
    let mut records = match output {
        Output::Plain(file) => file,
        Output::Zstd(encoder) => encoder.finish()?,
    };
    records.flush()?;
    let mut part = PartFile::create(path)?;
    match is_zstd {
        true => part.write_all(&zstd::bulk::compress(head, ZSTD_LEVEL)?)?,
        false => part.write_all(head)?,
    }
    part.append(&File::open(records.part())?)?;
    Ok(part)
}
