//! Rows as Parquet of version 2: a row group for each write, zstd, numbers as differences, texts by dictionary.

use crate::PartFile;
use crate::column::{Column, Kind, Texts};
use crate::rows::Rows;
use crate::tables::Table;
use parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use std::io;
use std::sync::Arc;

/// Level of compression.
const ZSTD_LEVEL: i32 = 3;
/// Digits of a decimal price.
const PRICE_DIGITS: i32 = 18;
/// Digits of a price behind the point.
const PRICE_SCALE: i32 = 9;
/// Above the largest price of 18 digits.
const PRICE_END: i64 = 10_i64.pow(PRICE_DIGITS as u32);

/// Type of prices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prices {
    /// Whole number in units of 1e-9.
    #[default]
    Integer,
    /// Decimal of 18 digits, nine of them behind the point.
    Decimal,
    /// Floating point of 64 bits.
    Double,
}

/// A Parquet file of a table.
pub struct ParquetFile {
    writer: SerializedFileWriter<PartFile>,
    prices: Prices,
    cells: Cells,
}

/// Cells of a column as the writer takes them.
#[derive(Default)]
struct Cells {
    /// For each cell whether it is there: 1 or 0.
    levels: Vec<i16>,
    longs: Vec<i64>,
    ints: Vec<i32>,
    bools: Vec<bool>,
    doubles: Vec<f64>,
    texts: Vec<ByteArray>,
    /// Texts of [`Texts`], by cell.
    known: Vec<ByteArray>,
}

impl ParquetFile {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(file: PartFile, table: Table, prices: Prices) -> io::Result<ParquetFile> {
        let columns = table.columns();
        let fields = columns.clone().map(|column| field(column, prices));
        let fields = fields.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder(table.name()).with_fields(fields);
        let schema = Arc::new(schema.build().map_err(failed)?);
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::ZSTD(
                ZstdLevel::try_new(ZSTD_LEVEL).map_err(failed)?,
            ))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_dictionary_enabled(false);
        for column in columns {
            let path = ColumnPath::from(column.name);
            properties = match physical(column.kind, prices) {
                Physical::BYTE_ARRAY => properties.set_column_dictionary_enabled(path, true),
                Physical::INT64 | Physical::INT32 => {
                    properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
                }
                _ => properties,
            };
        }
        let properties = Arc::new(properties.build());
        Ok(ParquetFile {
            writer: SerializedFileWriter::new(file, schema, properties).map_err(failed)?,
            prices,
            cells: Cells::default(),
        })
    }

    /// Writes all rows, as a row group.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, rows: &Rows, texts: &Texts) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for (column, cells) in rows.table().columns().zip(rows.columns()) {
            let writer = group.next_column().map_err(failed)?;
            let mut writer = writer.ok_or_else(|| io::Error::other("a column too few"))?;
            self.cells
                .write(writer.untyped(), column, cells, texts, self.prices)?;
            writer.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        Ok(())
    }

    /// Ends the content, with these words about it; returns the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self, words: &[(&str, String)]) -> io::Result<PartFile> {
        for (key, value) in words {
            let pair = KeyValue::new(format!("touchline.{key}"), value.clone());
            self.writer.append_key_value_metadata(pair);
        }
        self.writer.into_inner().map_err(failed)
    }
}

impl Cells {
    fn write(
        &mut self,
        writer: &mut ColumnWriter<'_>,
        column: &Column,
        cells: &[i64],
        texts: &Texts,
        prices: Prices,
    ) -> io::Result<()> {
        let absent = column.kind.absent();
        self.levels.clear();
        if let Some(absent) = absent {
            let levels = cells.iter().map(|cell| i16::from(*cell != absent));
            self.levels.extend(levels);
        }
        let levels = absent.map(|_| &self.levels[..]);
        let there = cells.iter().filter(|cell| absent != Some(**cell));
        let written = match writer {
            ColumnWriter::Int64ColumnWriter(writer) => {
                fill(&mut self.longs, there.copied());
                if column.kind == Kind::Price && prices == Prices::Decimal {
                    check_digits(&self.longs)?;
                }
                writer.write_batch(&self.longs, levels, None)
            }
            ColumnWriter::Int32ColumnWriter(writer) => {
                // Numbers without sign keep their bits.
                fill(&mut self.ints, there.map(|cell| *cell as i32));
                writer.write_batch(&self.ints, levels, None)
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                fill(&mut self.bools, there.map(|cell| *cell != 0));
                writer.write_batch(&self.bools, levels, None)
            }
            ColumnWriter::DoubleColumnWriter(writer) => {
                fill(&mut self.doubles, there.map(|cell| *cell as f64 / 1e9));
                writer.write_batch(&self.doubles, levels, None)
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                known(&mut self.known, column.kind, texts);
                let known = &self.known;
                fill(
                    &mut self.texts,
                    there.map(|cell| known[*cell as usize].clone()),
                );
                writer.write_batch(&self.texts, levels, None)
            }
            _ => return Err(io::Error::other("a column of another type")),
        };
        written.map(drop).map_err(failed)
    }
}

fn fill<T>(values: &mut Vec<T>, with: impl Iterator<Item = T>) {
    values.clear();
    values.extend(with);
}

/// Texts of a column, by cell.
fn known(known: &mut Vec<ByteArray>, kind: Kind, texts: &Texts) {
    known.clear();
    match kind {
        Kind::Word(words) => known.extend(words.iter().map(|word| ByteArray::from(*word))),
        _ => known.extend(texts.all().map(ByteArray::from)),
    }
}

fn check_digits(prices: &[i64]) -> io::Result<()> {
    let fits = |price: &i64| (-PRICE_END + 1..PRICE_END).contains(price);
    match prices.iter().all(fits) {
        true => Ok(()),
        false => Err(io::Error::other(
            "a price of 1,000,000,000 or more has no place in a decimal of 18 digits: give --prices integer",
        )),
    }
}

const fn physical(kind: Kind, prices: Prices) -> Physical {
    match kind {
        Kind::U64 | Kind::OptionalU64 | Kind::I64 | Kind::Time => Physical::INT64,
        Kind::Price => match prices {
            Prices::Integer | Prices::Decimal => Physical::INT64,
            Prices::Double => Physical::DOUBLE,
        },
        Kind::I32 | Kind::U32 | Kind::U16 => Physical::INT32,
        Kind::Bool => Physical::BOOLEAN,
        Kind::Word(_) | Kind::Text => Physical::BYTE_ARRAY,
    }
}

fn field(column: &Column, prices: Prices) -> Result<Arc<Type>, ParquetError> {
    let kind = column.kind;
    let repetition = match kind.absent() {
        Some(_) => Repetition::OPTIONAL,
        None => Repetition::REQUIRED,
    };
    let logical = match kind {
        Kind::U64 | Kind::OptionalU64 => Some(LogicalType::integer(64, false)),
        Kind::U32 => Some(LogicalType::integer(32, false)),
        Kind::U16 => Some(LogicalType::integer(16, false)),
        Kind::Time => Some(LogicalType::timestamp(true, TimeUnit::NANOS)),
        Kind::Price if prices == Prices::Decimal => {
            Some(LogicalType::decimal(PRICE_SCALE, PRICE_DIGITS))
        }
        Kind::Word(_) | Kind::Text => Some(LogicalType::String),
        Kind::I64 | Kind::I32 | Kind::Bool | Kind::Price => None,
    };
    let mut builder = Type::primitive_type_builder(column.name, physical(kind, prices))
        .with_repetition(repetition)
        .with_logical_type(logical);
    if kind == Kind::Price && prices == Prices::Decimal {
        builder = builder.with_precision(PRICE_DIGITS).with_scale(PRICE_SCALE);
    }
    builder.build().map(Arc::new)
}

/// The failure of the file, if it is one.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{NULL, NULL_U64};
    use crate::tables::{Common, SnapshotRow, TradeRow};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use touchline_testing::Folder;

    const COMMON: Common = Common {
        sequence: 7,
        ts_recv: 1_700_000_000_000_000_001,
        ts_event: NULL,
        ts_sent: NULL,
        venue: NULL,
        symbol: NULL,
        instrument: 3,
        security_id: -5,
        packet_sequence: u64::MAX as i64,
        event_end: 1,
        stamp: 2,
        validity: 0,
    };

    const TRADE: TradeRow = TradeRow {
        aggressor: NULL,
        action: 0,
        price: -1_500_000_001,
        quantity: 9,
        orders: NULL,
        trade_id: 1 << 63,
    };

    fn written(folder: &Folder, prices: Prices, price: i64) -> io::Result<Vec<Vec<Field>>> {
        let path = folder.join("trades.parquet");
        let mut texts = Texts::default();
        let mut rows = Rows::new(Table::Trades);
        for symbol in ["", "ESZ6"] {
            let common = Common {
                symbol: texts.cell(symbol),
                ..COMMON
            };
            let trade = TradeRow { price, ..TRADE };
            rows.push(&common, &trade.cells());
        }
        let mut file = ParquetFile::new(PartFile::create(&path)?, Table::Trades, prices)?;
        file.write(&rows, &texts)?;
        file.write(&rows, &texts)?;
        let mut part = file.end(&[("bus", "lab".to_owned())])?;
        part.sync()?;
        part.publish(&path)?;
        let reader = SerializedFileReader::new(std::fs::File::open(&path)?).map_err(failed)?;
        assert_eq!(reader.num_row_groups(), 2);
        let rows = reader.get_row_iter(None).map_err(failed)?;
        rows.map(|row| {
            let row = row.map_err(failed)?;
            Ok(row
                .get_column_iter()
                .map(|(_, field)| field.clone())
                .collect())
        })
        .collect()
    }

    /// Values, absent ones and numbers above those with a sign are read as they were; each write is a row group.
    #[test]
    fn rows_are_read_again_by_the_reader_of_the_library() {
        let folder = Folder::new("parquet");
        let rows = written(&folder, Prices::Integer, TRADE.price).expect("room");
        assert_eq!(rows.len(), 4);
        let text = |word: &str| Field::Str(word.to_owned());
        let [first, second] = [&rows[0], &rows[1]];
        assert_eq!(first.len(), Table::Trades.columns().len());
        assert_eq!(first[0], Field::ULong(7));
        assert_eq!(first[2], Field::Null, "no time of the event");
        assert_eq!([&first[5], &second[5]], [&Field::Null, &text("ESZ6")]);
        assert_eq!(first[6], Field::UInt(3));
        assert_eq!(first[7], Field::Long(-5));
        assert_eq!(first[8], Field::ULong(u64::MAX));
        assert_eq!(first[9], Field::Bool(true));
        assert_eq!(first[10], text("card"));
        assert_eq!(first[14], Field::Long(TRADE.price));
        assert_eq!(first[17], Field::ULong(1 << 63));
        let doubles = written(&folder, Prices::Double, TRADE.price).expect("room");
        assert_eq!(doubles[0][14], Field::Double(-1.500_000_001));
    }

    /// Ids of orders have 64 bits without sign, in a column that a level has no value of.
    #[test]
    fn an_id_of_an_order_may_be_absent_and_is_never_negative() {
        let folder = Folder::new("parquet-ids");
        let path = folder.join("snapshots.parquet");
        let mut rows = Rows::new(Table::Snapshots);
        for order_id in [1_u64 << 63, i64::MAX as u64, u64::MAX - 1, NULL_U64 as u64] {
            let row = SnapshotRow {
                side: 0,
                book: 2,
                level: 0,
                price: 1,
                quantity: 1,
                orders: NULL,
                order_id: order_id as i64,
                priority: NULL_U64,
            };
            rows.push(&COMMON, &row.cells());
        }
        let part = PartFile::create(&path).expect("our folder");
        let mut file = ParquetFile::new(part, Table::Snapshots, Prices::Integer).expect("room");
        file.write(&rows, &Texts::default()).expect("room");
        let mut part = file.end(&[]).expect("room");
        part.sync().expect("room");
        part.publish(&path).expect("room");
        let opened = std::fs::File::open(&path).expect("the file");
        let reader = SerializedFileReader::new(opened).expect("a file of Parquet");
        let rows = reader.get_row_iter(None).expect("rows");
        let ids = rows.map(|row| {
            let row = row.expect("a row");
            let cells: Vec<Field> = row
                .get_column_iter()
                .map(|(_, cell)| cell.clone())
                .collect();
            assert_eq!(cells[19], Field::Null, "no rank");
            cells[18].clone()
        });
        let expected = [1 << 63, i64::MAX as u64, u64::MAX - 1].map(Field::ULong);
        assert_eq!(
            ids.collect::<Vec<_>>(),
            [&expected[..], &[Field::Null]].concat()
        );
    }

    #[test]
    fn a_price_without_a_place_in_a_decimal_is_refused() {
        let folder = Folder::new("parquet-decimal");
        written(&folder, Prices::Decimal, PRICE_END - 1).expect("18 digits");
        let refused = written(&folder, Prices::Decimal, PRICE_END).expect_err("19 digits");
        assert!(
            refused.to_string().contains("--prices integer"),
            "{refused}"
        );
    }
}
