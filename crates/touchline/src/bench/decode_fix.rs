//! `touchline bench decode-fix`: from the bytes of a FIX message to typed entries.
//!
//! Length and checksum are checked, the header is read, and prices, sizes and times of every entry are converted to
//! numbers. Subjects alternate in one run: SIMD scan, scalar scan, and QuickFIX if it was built. A sample is the mean
//! of a batch, because one message takes less time than the clock resolves.

use super::run::{Common, Run};
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;
use touchline_lab::bench::Statistics;
use touchline_wire::fix::market_data::{Refresh, Scan, Vectors, Words};
use touchline_wire::fix::{
    Encoder, Frame, Header, LastSecond, Malformed, Precision, frame_with, timestamp,
};

/// Bytes of a FIX message → length and checksum checked → header and typed entries.
///
/// Messages: an update of one entry with 239 bytes and one of five trades with 749, from the captures in the folder
/// TOUCHLINE_CAPTURES, else generated with the same shape and length.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench decode-fix
  touchline bench decode-fix --quickfix competitors/target/bin/quickfix-decode \\
      --dictionary FIX44.xml

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// Samples of each subject in each round, of 100 messages each.
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// QuickFIX to measure in the same run: the program that `competitors/install quickfix` builds.
    #[arg(long, value_name = "PROGRAM", requires = "dictionary")]
    quickfix: Option<PathBuf>,
    /// Dictionary with which QuickFIX parses the entries.
    #[arg(long, value_name = "FILE")]
    dictionary: Option<PathBuf>,
    /// Processor.
    #[arg(long, value_name = "A", default_value_t = 0)]
    cpus: usize,
    #[command(flatten)]
    common: Common,
}

/// Messages of a batch.
const BATCH: u32 = 100;
/// Maximum size of a message, bytes.
const LIMIT: usize = 64 * 1024;

/// A message that is decoded repeatedly.
struct Sample {
    name: &'static str,
    entries: usize,
    bytes: Vec<u8>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = Run::begin_on(arguments.cpus, &arguments.common)?;
    let mut lines = Vec::new();
    for sample in samples() {
        let subjects = ["touchline-fix", "touchline-fix-words", "quickfix"]
            .map(|subject| (format!("{subject}-{}", sample.name), subject));
        let measured = run.alternate(
            "decode-fix",
            arguments.rounds,
            &subjects,
            |_, subject, into| match *subject {
                "touchline-fix" => arguments.measure::<Vectors>(&sample, &run, into),
                "touchline-fix-words" => arguments.measure::<Words>(&sample, &run, into),
                _ => arguments.rival(&sample, into),
            },
        )?;
        let measured = measured
            .into_iter()
            .filter(|line| !line.histogram.is_empty());
        lines.extend(measured.map(|line| line.of_bytes(sample.bytes.len() as u64)));
    }
    let ratio = |number: usize| format!(" {:>9.2}", p50_ratio(&lines, number));
    let what = format!(
        "one message, the mean of {BATCH} timed together, on processor {}",
        arguments.cpus
    );
    run.report_with(&what, &lines, &format!(" {:>9}", "p50 ratio"), ratio, &[])
}

/// Ratio of the median to that of the first subject with the same message.
fn p50_ratio(lines: &[Statistics], number: usize) -> f64 {
    let line = &lines[number];
    let mut others = lines.iter();
    let first = others.find(|other| other.payload_bytes == line.payload_bytes);
    let p50 = |line: &Statistics| line.histogram.value_at_quantile(0.5) as f64;
    first.map_or(1.0, |first| p50(line) / p50(first))
}

impl Arguments {
    fn measure<S: Scan>(
        &self,
        sample: &Sample,
        run: &Run,
        into: &mut Histogram<u64>,
    ) -> Result<(), Failure> {
        let mut last = LastSecond::default();
        let mut batch = || {
            (0..BATCH).try_for_each(|_| {
                let entries = one_message::<S>(black_box(&sample.bytes), &mut last);
                match entries.map_err(Failure::run)? {
                    entries if entries == sample.entries => Ok(()),
                    entries => Err(Failure::run(format!("{entries} entries were decoded"))),
                }
            })
        };
        (0..self.samples).try_for_each(|_| run.sample(into, u64::from(BATCH), &mut batch))
    }

    /// Batches of QuickFIX, if it is measured: nanoseconds of each, one a line.
    fn rival(&self, sample: &Sample, into: &mut Histogram<u64>) -> Result<(), Failure> {
        let (Some(program), Some(dictionary)) = (&self.quickfix, &self.dictionary) else {
            return Ok(());
        };
        let file = tempfile(&sample.bytes)?;
        let output = Command::new(program)
            .args([dictionary, &file])
            .args([self.samples, BATCH, sample.entries as u32].map(|n| n.to_string()))
            .output();
        let _ = std::fs::remove_file(&file);
        let output = output.map_err(|error| {
            let program = program.display();
            Failure::usage(format!(
                "{program}: cannot be run ({error}); build it with competitors/install quickfix"
            ))
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Failure::run(format!("{}: {said}", program.display())));
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let batch_ns: u64 = line.parse().map_err(Failure::run)?;
            into.saturating_record(batch_ns / u64::from(BATCH));
        }
        Ok(())
    }
}

/// The measured code, in a function of its own so that a profiler shows it by name.
#[inline(never)]
fn one_message<S: Scan>(bytes: &[u8], last: &mut LastSecond) -> Result<usize, Malformed> {
    let Frame::Whole(message) = frame_with::<S>(bytes, LIMIT)? else {
        return Ok(0);
    };
    let header = Header::before_body(&message, last)?;
    let refresh = Refresh::<S>::read_with(&message, &header)?;
    let mut entries = refresh.entries();
    let mut count = 0;
    while let Some(entry) = entries.advance()? {
        black_box(entry);
        count += 1;
    }
    Ok(count)
}

fn tempfile(bytes: &[u8]) -> Result<PathBuf, Failure> {
    let path = std::env::temp_dir().join(format!("touchline-decode-fix-{}", std::process::id()));
    std::fs::write(&path, bytes).map_err(|error| {
        Failure::run(format!("{}: cannot be written ({error})", path.display()))
    })?;
    Ok(path)
}

fn samples() -> [Sample; 2] {
    let captures = std::env::var_os("TOUCHLINE_CAPTURES").map(PathBuf::from);
    let real = |end: &str| {
        let folder = captures.as_ref()?.join("deribit-fix").read_dir().ok()?;
        let mut paths = folder.filter_map(|entry| Some(entry.ok()?.path()));
        let path = paths.find(|path| path.to_string_lossy().ends_with(end))?;
        std::fs::read(path).ok()
    };
    [
        Sample {
            name: "1",
            entries: 1,
            bytes: real("bench-decode1.fix").unwrap_or_else(|| made(1)),
        },
        Sample {
            name: "5",
            entries: 5,
            bytes: real("bench-decode5.fix").unwrap_or_else(|| made(5)),
        },
    ]
}

/// A generated message with the shape and length of Deribit's: one update, or trades.
fn made(entries: u32) -> Vec<u8> {
    let mut room = vec![0; 1024];
    let now = timestamp(b"20240102-03:04:05.678").unwrap_or_default();
    let mut encoder = Encoder::new(&mut room, b"FIX.4.4", b"X");
    encoder
        .bytes(49, b"DERIBITSERVER")
        .bytes(56, b"SUBSCRIBER1")
        .unsigned(34, 126)
        .timestamp(52, now, Precision::Milliseconds)
        .bytes(55, b"BTC-27SEP24");
    if entries == 1 {
        encoder
            .unsigned(100_087, 10_831_047)
            .decimal(100_090, 105_174_400, 4)
            .decimal(746, 94_659_940_000, 4)
            .unsigned(262, 123);
    }
    encoder.unsigned(268, u64::from(entries));
    for entry in 0..entries {
        encoder
            .char(279, b'0')
            .char(269, if entries == 1 { b'1' } else { b'2' })
            .decimal(270, 105_195_000 + i64::from(entry), 4)
            .decimal(271, if entries == 1 { 10_000_000 } else { 420_000 }, 4)
            .timestamp(272, now, Precision::Milliseconds);
        if entries > 1 {
            encoder
                .unsigned(100_009, 18_254_681 + u64::from(entry))
                .char(54, b'1')
                .char(37, b'0')
                .char(198, b'0')
                .char(39, b'2')
                .decimal(44, 104_459_300, 4)
                .unsigned(58, 2_889_354 + u64::from(entry));
        }
    }
    encoder.finish().map(<[u8]>::to_vec).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_decoders_return_all_entries_of_generated_messages() {
        for (entries, length) in [(1, 239), (5, 749)] {
            let (bytes, mut last) = (made(entries), LastSecond::default());
            assert!(bytes.len().abs_diff(length) <= 8, "{} bytes", bytes.len());
            assert_eq!(
                one_message::<Vectors>(&bytes, &mut last),
                Ok(entries as usize)
            );
            assert_eq!(
                one_message::<Words>(&bytes, &mut last),
                Ok(entries as usize)
            );
        }
    }
}
