//! `touchline bench tape`: time to find a minute of a recorded day.

use super::day::{BEGIN_NS, DAY_NS, DayArguments, Recorded};
use super::run::{Common, Run};
use crate::format::{count, rate};
use crate::output::Failure;
use std::path::Path;
use touchline_journal::{Verdict, compress_one, plain_segments, verify};
use touchline_lab::random::Random;
use touchline_tape::{ReadOptions, Reader, TapePlace, Taped, index_segments};
use touchline_transport::market::Item;

/// Time to find a minute of a recorded day: index, state before it, and the messages up to its first one. Rate of verifying it, and its size
/// compressed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench tape
  touchline bench tape --events 100000000 --dir /data
  touchline bench tape --market million-orders --events 5000000

Output, for random minutes of the day:
  find        open the tape at the minute, with its index, to the first message
  play        the same, and all messages of the minute
Output, for the tape, once in each round:
  verify      each checksum, and the end
The lines behind it have the rates of making the tape (the market included) and of verifying it, and the size of its first segment with
Zstandard, level 1.

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    #[command(flatten)]
    day: DayArguments,
    /// Minutes in each round.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    common: Common,
}

const MINUTE_NS: u64 = 60_000_000_000;
const SEED: u64 = 44;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let recorded = arguments.day.record("tape")?;
    let tape = recorded.tape();
    let (segments, _) = index_segments(&tape, 0).map_err(Failure::run)?;
    let run = Run::begin(&arguments.common);
    let mut random = Random::from_seed(SEED);
    let (mut most_bytes, mut most_ns, mut on_disk) = (0, 0, 0);
    let subjects = [
        ("find".to_owned(), Work::Find),
        ("play".to_owned(), Work::Play),
        ("verify".to_owned(), Work::Verify),
    ];
    let lines = run.alternate("tape", arguments.rounds, &subjects, |_, work, into| {
        if matches!(work, Work::Verify) {
            on_disk = run.sample(into, 1, || verified(&tape))?;
            return Ok(());
        }
        for _ in 0..arguments.samples {
            let minute = BEGIN_NS + random.below(DAY_NS / MINUTE_NS) * MINUTE_NS;
            let plays = matches!(work, Work::Play);
            let bytes = run.sample(into, 1, || read(&tape, minute, plays))?;
            if !plays {
                (most_bytes, most_ns) = (most_bytes.max(bytes), most_ns.max(into.max()));
            }
        }
        Ok(())
    })?;
    let what = format!("a minute of {recorded}: {segments} of them");
    let search = format!(
        "the search of a minute read at most {} KiB of the segments, and took at most {:.1} ms",
        most_bytes >> 10,
        most_ns as f64 / 1e6
    );
    let verify = &lines[2].histogram;
    let seconds = verify.value_at_quantile(0.5) as f64 / 1e9;
    let mut notes = vec![search];
    notes.extend(sizes(&recorded, on_disk, seconds)?);
    run.report_with(&what, &lines, "", |_| String::new(), &notes)
}

/// What a subject does.
enum Work {
    Find,
    Play,
    Verify,
}

/// Verifies the tape; returns its bytes.
fn verified(tape: &Path) -> Result<u64, Failure> {
    let report = verify(tape).map_err(Failure::run)?;
    match report.verdict {
        Verdict::Clean => Ok(report.segments.iter().map(|of| of.used_bytes).sum()),
        verdict => Err(Failure::run(format!(
            "the tape is {verdict:?}: {:?}",
            report.findings
        ))),
    }
}

/// Rates of making and verifying the tape, and its first segment compressed.
fn sizes(
    recorded: &Recorded<'_>,
    on_disk: u64,
    verify_seconds: f64,
) -> Result<Vec<String>, Failure> {
    let tape = recorded.tape();
    let written = recorded.written();
    let per_second = |bytes: u64, seconds: f64| bytes as f64 / seconds / 1e6;
    let mut notes = vec![
        format!(
            "the tape has {} messages, {} order entries, {} bytes on the disk: {}, {:.0} MB/s, with the making of the market",
            count(written.messages),
            count(written.orders),
            count(on_disk),
            rate(written.messages, written.seconds),
            per_second(on_disk, written.seconds)
        ),
        format!(
            "the check of {} bytes: {:.0} MB/s",
            count(on_disk),
            per_second(on_disk, verify_seconds)
        ),
    ];
    let first = plain_segments(&tape)
        .map_err(Failure::run)?
        .first()
        .copied();
    let compressed = first.map(|first| compress_one(&tape, first));
    if let Some(compressed) = compressed.transpose().map_err(Failure::run)?.flatten() {
        let ratio = compressed.compressed_bytes as f64 / compressed.bytes as f64;
        let all = ratio * on_disk as f64;
        let of = |number: u64| all / number.max(1) as f64;
        let orders = match written.orders {
            0 => String::new(),
            orders => format!(", {:.1} an order entry", of(orders)),
        };
        notes.push(format!(
            "the first segment compressed: {ratio:.3} of its size; {:.1} bytes a message{orders}",
            of(written.messages)
        ));
    }
    Ok(notes)
}

/// Reads a minute up to its first message, or as a whole; returns the bytes that it read.
fn read(tape: &Path, minute: u64, plays: bool) -> Result<u64, Failure> {
    let options = ReadOptions {
        from: Some(TapePlace::Time(minute)),
        to: Some(TapePlace::Time(minute + MINUTE_NS)),
        ..ReadOptions::default()
    };
    let mut reader = Reader::open_with(tape, options).map_err(Failure::run)?;
    let mut messages = 0;
    while plays || messages == 0 {
        let polled =
            reader.poll(|item| matches!(item, Item::Update(received) if !received.is_image));
        match polled.map_err(Failure::run)? {
            Taped::Given(is_message) => messages += u64::from(is_message),
            Taped::Passed => {}
            Taped::Nothing | Taped::End => break,
        }
    }
    let is_of_minute = (minute..minute + MINUTE_NS).contains(&reader.received_ns());
    let is_right = messages > 0 && is_of_minute && reader.unindexed() == 0;
    match is_right {
        true => Ok(reader.bytes_read()),
        false => Err(Failure::run(format!(
            "the minute at {minute} ns was not found: {messages} messages up to {} ns, {} passed over, position {}",
            reader.received_ns(),
            reader.without_state(),
            reader.position()
        ))),
    }
}
