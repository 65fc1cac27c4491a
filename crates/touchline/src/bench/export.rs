//! `touchline bench export`: time to write a recorded day as files of other tools.

use super::day::DayArguments;
use super::run::{Common, Run};
use crate::format::rate;
use crate::output::Failure;
use std::ops::ControlFlow;
use std::path::Path;
use touchline_export::csv::Times;
use touchline_export::dbn::{Dataset, Dbn, Options, Schema};
use touchline_export::tables::Table;
use touchline_export::tape::{Step, export};
use touchline_export::{Exporter, Files, Format, Written};
use touchline_tape::{ReadOptions, Reader};

/// Time to write a recorded day as files of other tools: tape, books, rows or records, file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench export
  touchline bench export --events 20000000 --dir /data

Output, a row for each format; the line below each has the rows or records of one run and their rate:
  csv, parquet    changes of price books
  dbn             schema mbp-10
  parquet         only in a build with --features parquet

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    #[command(flatten)]
    day: DayArguments,
    /// Rounds; each writes every format once.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    common: Common,
}

/// Format of a subject.
#[derive(Clone, Copy)]
enum Form {
    Csv,
    #[cfg(feature = "parquet")]
    Parquet,
    Dbn,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let recorded = arguments.day.record("export")?;
    let tape = recorded.tape();
    let run = Run::begin(&arguments.common);
    let subjects = [
        ("csv".to_owned(), Form::Csv),
        #[cfg(feature = "parquet")]
        ("parquet".to_owned(), Form::Parquet),
        ("dbn".to_owned(), Form::Dbn),
    ];
    let out = recorded.place().join("out");
    let mut counts = Vec::new();
    let lines = run.alternate(
        "export",
        arguments.rounds,
        &subjects,
        |round, form, into| {
            let count = run.sample(into, 1, || write(&tape, &out, *form))?;
            if round == 0 {
                counts.push(count);
            }
            Ok(())
        },
    )?;
    let notes: Vec<String> = lines
        .iter()
        .zip(&counts)
        .map(|(line, count)| {
            let seconds = line.histogram.value_at_quantile(0.5) as f64 / 1e9;
            format!(
                "the median run of {} wrote {count} rows or records: {}",
                line.subject,
                rate(*count, seconds)
            )
        })
        .collect();
    run.report_with(&recorded.to_string(), &lines, "", |_| String::new(), &notes)
}

/// Writes the day in a format; returns the rows or records.
fn write(tape: &Path, out: &Path, form: Form) -> Result<u64, Failure> {
    let mut reader = Reader::open_with(tape, ReadOptions::default()).map_err(Failure::run)?;
    reader.begin().map_err(Failure::run)?;
    let files = |format| {
        let files = Files::create(out.to_owned(), &[Table::BookUpdates], format);
        Ok::<_, Failure>(Exporter::new(vec![files.map_err(Failure::run)?], None))
    };
    let mut exporter = match form {
        Form::Csv => files(Format::Csv(Times::Nanoseconds))?,
        #[cfg(feature = "parquet")]
        Form::Parquet => files(Format::Parquet(
            touchline_export::parquet_file::Prices::Integer,
        ))?,
        Form::Dbn => {
            let options = Options {
                dataset: Dataset::new("TOUCHLINE").map_err(Failure::run)?,
                publisher_id: 0,
                is_zstd: false,
            };
            let dbn = Dbn::create(out, &[Schema::Mbp10], options).map_err(Failure::run)?;
            Exporter::new(Vec::new(), Some(dbn))
        }
    };
    let mut count = 0;
    let of = |written: Vec<Written>| written.iter().map(|file| file.count).sum::<u64>();
    let origin = export(&mut reader, &mut exporter, false, |step| {
        if let Step::Unit(written, _) = step {
            count += of(written);
        }
        Ok(ControlFlow::Continue(()))
    });
    let origin = origin.map_err(Failure::run)?;
    let last = exporter.finish(&origin).map_err(Failure::run)?;
    count += of(last);
    std::fs::remove_dir_all(out).map_err(Failure::run)?;
    Ok(count)
}
