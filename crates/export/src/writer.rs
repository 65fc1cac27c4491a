//! Writer of a table's rows, in the wanted format.

use crate::PartFile;
use crate::about::Origin;
use crate::column::Texts;
use crate::csv::{Csv, Times};
#[cfg(feature = "parquet")]
use crate::parquet_file::{ParquetFile, Prices};
use crate::rows::Rows;
use crate::tables::Table;
use std::io;

/// Format of the files of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// CSV, one file a table.
    Csv(Times),
    /// Parquet: for each unit of the source a file of each venue and day.
    #[cfg(feature = "parquet")]
    Parquet(Prices),
}

/// A file of rows that grows.
pub enum Writer {
    /// CSV.
    Csv(Csv),
    /// Parquet.
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetFile>),
}

impl Format {
    /// Whether a table has several files.
    pub const fn has_partitions(self) -> bool {
        match self {
            Format::Csv(_) => false,
            #[cfg(feature = "parquet")]
            Format::Parquet(_) => true,
        }
    }
}

impl Writer {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(format: Format, file: PartFile, table: Table) -> io::Result<Writer> {
        match format {
            Format::Csv(times) => Csv::new(file, table, times).map(Writer::Csv),
            #[cfg(feature = "parquet")]
            Format::Parquet(prices) => {
                let parquet = ParquetFile::new(file, table, prices)?;
                Ok(Writer::Parquet(Box::new(parquet)))
            }
        }
    }

    /// Writes all rows.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, rows: &Rows, texts: &Texts) -> io::Result<()> {
        match self {
            Writer::Csv(csv) => csv.write(rows, texts),
            #[cfg(feature = "parquet")]
            Writer::Parquet(parquet) => parquet.write(rows, texts),
        }
    }

    /// Ends the content; returns the file.
    ///
    /// # Errors
    /// It cannot be written.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(unused_variables, reason = "CSV has no place for words about the file")
    )]
    pub fn end(self, origin: &Origin) -> io::Result<PartFile> {
        match self {
            Writer::Csv(csv) => Ok(csv.end()),
            #[cfg(feature = "parquet")]
            Writer::Parquet(parquet) => parquet.end(&[
                ("bus", origin.bus.clone()),
                ("journal", origin.journal.clone()),
                ("price_exponent", "-9".to_owned()),
            ]),
        }
    }
}
