//! `touchline export`: tapes and captures as files of other tools.

mod captures;
mod choice;
mod packets;
mod tape;

use crate::format::counted;
use crate::output::{Failure, notice, say};
use crate::replay::of_channel::OfChannel;
use crate::replay::of_tape::OfTape;
use crate::source::of_session;
use std::path::PathBuf;
use touchline_export::csv::Times;
use touchline_export::dbn::{Dataset, Dbn, Options, Schema};
use touchline_export::tables::Table;
use touchline_export::{Counts, Error, Exporter, Files, Format, Origin, Written};
use touchline_gateway::config;
use touchline_tape::raw::Content;

/// Write a tape or captures as CSV, Parquet or DBN of version 3.
///
/// Each table or schema is a file in the folder --out; tables of Parquet have a file of each segment, venue and day. A file appears under its name when it is complete; beside it stands
/// NAME.json with the source, the counts of its messages, the gaps, and counts of content that the format cannot hold.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// A tape or a raw recording of `touchline record`: its directory.
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    journal: Option<PathBuf>,
    #[command(flatten)]
    of_tape: OfTape,
    /// Captures: pcap or pcapng, uncompressed, .gz or .zst; several files are merged by capture time.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "journal", help_heading = "Input")]
    pcap: Vec<PathBuf>,
    #[command(flatten)]
    of_channel: OfChannel,
    /// Definitions for instruments that the source has without one: tables of `touchline definitions`, CME's secdef.dat, or, for captures,
    /// captures of the definition feed.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Input")]
    definitions: Vec<PathBuf>,
    /// Exit status 0 even if a capture ends in the middle of a record.
    #[arg(long, help_heading = "Input")]
    allow_truncated: bool,

    /// Folder of the files; it is created if it does not exist.
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    out: PathBuf,
    /// Tables that are written as CSV.
    #[arg(
        long,
        value_name = "TABLE",
        value_delimiter = ',',
        num_args = 1..,
        value_parser = choice::tables(),
        help_heading = "Output"
    )]
    csv: Vec<String>,
    /// Tables that are written as Parquet: for each segment of a tape a file of each venue and day.
    #[arg(
        long,
        value_name = "TABLE",
        value_delimiter = ',',
        num_args = 1..,
        value_parser = choice::tables(),
        help_heading = "Output"
    )]
    parquet: Vec<String>,
    /// Prices of Parquet.
    #[arg(long, value_enum, default_value = "integer", help_heading = "Output")]
    prices: PricesOf,
    /// Go on with a tape while it is recorded: each segment when it is closed. A second run goes on behind the first.
    #[arg(long, requires = "journal", conflicts_with_all = ["from", "to", "instrument"], help_heading = "Output")]
    follow: bool,
    /// Name of the file in the folder `holders` of the tape with the position of --follow: segments behind it are kept. Each folder of files
    /// needs its own. Default: export-BUS.
    #[arg(
        long,
        value_name = "NAME",
        requires = "follow",
        value_parser = config::bus_name,
        help_heading = "Output"
    )]
    holder: Option<String>,
    /// Schemas that are written as DBN.
    #[arg(
        long,
        value_name = "SCHEMA",
        value_delimiter = ',',
        num_args = 1..,
        value_parser = choice::schemas(),
        help_heading = "Output"
    )]
    dbn: Vec<String>,
    /// Write the packets of a raw recording as pcapng: NAME.pcapng, with the name of its directory.
    #[arg(
        long,
        requires = "journal",
        conflicts_with_all = ["csv", "parquet", "dbn", "follow", "config", "config_xml", "definitions"],
        help_heading = "Output"
    )]
    pcapng: bool,
    /// Times of CSV: nanoseconds since 1970 UTC, or text of ISO 8601.
    #[arg(long, value_enum, default_value = "ns", help_heading = "Output")]
    times: TimesOf,
    /// Dataset in the head of DBN files, at most 15 characters.
    #[arg(long, value_name = "NAME", default_value = "TOUCHLINE", value_parser = dataset, help_heading = "Output")]
    dataset: Dataset,
    /// Number of the publisher in DBN records; 0 is none of Databento's.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Output")]
    publisher_id: u16,
    /// Compress DBN files with zstd.
    #[arg(long, help_heading = "Output")]
    zstd: bool,
    /// Print no summary and no progress bar.
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TimesOf {
    /// Nanoseconds since 1970-01-01 UTC.
    Ns,
    /// Text with nine digits: 2026-11-29T23:15:00.000000001Z.
    Iso,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PricesOf {
    /// Whole number in units of 1e-9.
    Integer,
    /// Decimal of 18 digits, nine of them behind the point.
    Decimal,
    /// Floating point of 64 bits.
    Double,
}

const AFTER_HELP: &str = "\
Examples:
  touchline export --journal tape --csv trades,tops --out csv
  touchline export --journal tape --dbn mbp-10,trades --out dbn
  touchline export --journal tape --parquet all --out parquet --follow
  touchline export --journal tape --instrument 'ES*' --from 2026-11-29T14:30:00Z --csv tops --out part
  touchline export --pcap a.pcap.zst --config cme-340.toml --csv all --out csv
  touchline export --journal cme-340-raw --pcapng --out captures

Exit status:
  0  done
  1  the run failed: no file of it appears under its name, but for the
     Parquet files of the segments before
  2  bad arguments or configuration

docs/export.md has the columns of the tables, and the mapping of each DBN field.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let has_whole = !arguments.csv.is_empty() || !arguments.dbn.is_empty();
    if !has_whole && arguments.parquet.is_empty() && !arguments.pcapng {
        return Err(Failure::usage(
            "no format is given; give --csv TABLE, --parquet TABLE, --dbn SCHEMA or --pcapng",
        ));
    }
    if !arguments.parquet.is_empty() && !cfg!(feature = "parquet") {
        return Err(Failure::usage(
            "this build writes no Parquet; install a package, or build with --features parquet",
        ));
    }
    if arguments.follow && has_whole {
        return Err(Failure::usage(
            "--follow is for Parquet, which has files of each segment; leave out --csv and --dbn",
        ));
    }
    let Some(directory) = &arguments.journal else {
        return captures::run(arguments, captures::source(arguments)?);
    };
    let content = Content::of(directory).map_err(Failure::run)?;
    if matches!(content, Content::Raw | Content::Session) {
        arguments.of_tape.refuse_for_packets()?;
    }
    match content {
        Content::Raw | Content::Session if arguments.pcapng => packets::run(arguments, directory),
        Content::Raw => captures::run(arguments, captures::raw(directory)?),
        Content::Session => Err(of_session(directory)),
        _ if arguments.pcapng => Err(Failure::usage(format!(
            "{}: --pcapng is for raw recordings, which have packets; give --csv, --parquet or --dbn",
            directory.display()
        ))),
        Content::Buses | Content::Nothing => tape::run(arguments, directory),
    }
}

impl Arguments {
    /// Begins the files.
    fn exporter(&self) -> Result<Exporter, Failure> {
        let csv = choice::chosen(&self.csv, &Table::ALL, Table::name);
        let schemas = choice::chosen(&self.dbn, &Schema::ALL, Schema::name);
        let times = match self.times {
            TimesOf::Ns => Times::Nanoseconds,
            TimesOf::Iso => Times::Iso,
        };
        let mut tables = Vec::new();
        let mut add = |chosen: &[Table], format| -> Result<(), Failure> {
            if !chosen.is_empty() {
                let files = Files::create(self.out.clone(), chosen, format);
                tables.push(files.map_err(failed)?);
            }
            Ok(())
        };
        add(&csv, Format::Csv(times))?;
        #[cfg(feature = "parquet")]
        self.add_parquet(add)?;
        let options = Options {
            dataset: self.dataset.clone(),
            publisher_id: self.publisher_id,
            is_zstd: self.zstd,
        };
        let dbn = (!schemas.is_empty()).then(|| Dbn::create(&self.out, &schemas, options));
        Ok(Exporter::new(tables, dbn.transpose().map_err(failed)?))
    }

    #[cfg(feature = "parquet")]
    fn add_parquet(
        &self,
        add: impl FnOnce(&[Table], Format) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        use touchline_export::parquet_file::Prices;
        let prices = match self.prices {
            PricesOf::Integer => Prices::Integer,
            PricesOf::Decimal => Prices::Decimal,
            PricesOf::Double => Prices::Double,
        };
        let tables = choice::chosen(&self.parquet, &Table::ALL, Table::name);
        add(&tables, Format::Parquet(prices))
    }

    /// Completes the files and says what they have.
    fn finish(&self, exporter: Exporter, origin: &Origin) -> Result<(), Failure> {
        let counts = exporter.counts();
        let summary = summary(counts);
        let written = exporter.finish(origin).map_err(failed)?;
        say_written(self, &written);
        match self.quiet {
            true => Ok(()),
            false => say(&summary),
        }
    }
}

/// Messages and gaps of an export, and what its source has that no file has.
fn summary(counts: &Counts) -> String {
    let mut text = format!(
        "{}, {}",
        counted(counts.total(), "message"),
        counted(counts.gaps(), "gap")
    );
    let left_out = counts.left_out();
    for (count, why) in [
        (left_out.without_state, "without a state before them"),
        (left_out.unknown, "of a newer schema"),
    ] {
        if count > 0 {
            text += &format!(", {} {why} left out", counted(count, "message"));
        }
    }
    text + "\n"
}

/// Prints files that are complete. A closed standard output does not end the export.
fn say_written(arguments: &Arguments, written: &[Written]) {
    if !arguments.quiet {
        let _ = say(&list(written));
    }
}

fn list(written: &[Written]) -> String {
    let mut text = String::new();
    for Written { path, count } in written {
        text += &format!("{:>14}  {}\n", crate::format::count(*count), path.display());
    }
    text
}

fn failed(error: Error) -> Failure {
    Failure::run(error)
}

fn dataset(name: &str) -> Result<Dataset, String> {
    Dataset::new(name)
}

/// Prints what an export says while it runs.
fn say_notices(exporter: &mut Exporter) {
    for line in exporter.take_notices() {
        notice(line);
    }
}

#[cfg(test)]
mod tests {
    use touchline_export::column::{Column, Kind};
    use touchline_export::tables::{Common, Table};

    fn line(column: &Column) -> String {
        let kind = match column.kind {
            Kind::U64 | Kind::OptionalU64 => "u64",
            Kind::I64 => "i64",
            Kind::I32 => "i32",
            Kind::U32 => "u32",
            Kind::U16 => "u16",
            Kind::Bool => "bool",
            Kind::Time => "time",
            Kind::Price => "price",
            Kind::Text => "text",
            Kind::Word(words) => &format!("word: {}", words.join(", ")),
        };
        format!("| `{}` | {kind} | {} |\n", column.name, column.about)
    }

    /// A word of an export is that of every other language, and of `tail`.
    #[test]
    fn words_are_those_of_the_table_of_names() {
        use touchline_export::tables::{
            LEVEL_ACTIONS, ORDER_ACTIONS, SIDES, SOURCES, STATISTICS, UPDATE_ACTIONS, VALIDITIES,
        };
        for (kind, words) in [
            ("side", SIDES),
            ("level_action", LEVEL_ACTIONS),
            ("order_action", ORDER_ACTIONS),
            ("trade_action", UPDATE_ACTIONS),
            ("statistic", STATISTICS),
            ("state", VALIDITIES),
            ("book", SOURCES),
        ] {
            let mut tables = touchline_client::names::TABLES.iter();
            let table = tables
                .find(|table| table.kind == kind)
                .expect("it is there");
            let names: Vec<&str> = table.names.iter().map(|name| name.word).collect();
            assert_eq!(names, words, "{kind}");
        }
    }

    /// The page has the columns of every table, as they are stated in the code.
    #[test]
    fn the_page_has_every_column() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/export.md");
        let page = std::fs::read_to_string(path).expect("the page");
        let own = Table::ALL.map(|table| (table.name(), table.own_columns()));
        for (name, columns) in [("First columns", Common::COLUMNS)].into_iter().chain(own) {
            let lines: String = columns.iter().map(line).collect();
            assert!(page.contains(&lines), "{name}:\n{lines}");
        }
    }
}
