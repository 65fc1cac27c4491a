//! `touchline journal`: list, print, verify and repair a journal.

use crate::output::{Failure, say};
use clap::Subcommand;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::SystemTime;
use touchline_journal::format::kind_name;
use touchline_journal::{Entry, Error, Report, SegmentState, Verdict, read, repair, verify};

/// List, print, verify and repair a journal of orders or a recording.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the segments.
    Ls(Directory),
    /// Print the records, one line each.
    Print(Print),
    /// Walk every record and judge the end: clean, cut by a crash, or damaged.
    #[command(after_help = VERIFY_HELP)]
    Verify(Directory),
    /// End a journal after a crash; what is behind its records goes to `.cut` files.
    #[command(after_help = REPAIR_HELP)]
    Repair(Repair),
}

#[derive(Debug, clap::Args)]
struct Directory {
    /// Directory of the journal.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Print {
    #[command(flatten)]
    place: Directory,
    /// Read on behind damage: records whose checksums hold, after a `Gap` with cause 6.
    #[arg(long)]
    past_damage: bool,
}

#[derive(Debug, clap::Args)]
struct Repair {
    #[command(flatten)]
    place: Directory,
    /// Cut a damaged journal, too: durable records behind the damage are lost.
    #[arg(long)]
    accept_loss: bool,
}

const VERIFY_HELP: &str = "\
Exit status:
  0  clean
  1  a file cannot be read
  2  bad arguments, or a format that this version does not read
  3  cut by a crash: the next start of the writer, or `repair`, ends it
  4  damaged: durable records are missing or wrong";

const REPAIR_HELP: &str = "\
Exit status:
  0  the journal is clean now, or was
  1  a file cannot be read or written, or a writer is running
  2  bad arguments, or a format that this version does not read
  4  damaged, and nothing was changed: see --accept-loss";

/// Exit status of a journal that a crash cut.
const CUT: u8 = 3;
/// Exit status of a damaged journal.
const DAMAGED: u8 = 4;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Ls(place) => {
            let report = verify(&place.directory).map_err(failed)?;
            say(&listing(&report))
        }
        Command::Print(print) => run_print(print),
        Command::Verify(place) => {
            let report = verify(&place.directory).map_err(failed)?;
            say(&verdict(&report))?;
            match report.verdict {
                Verdict::Clean => Ok(()),
                Verdict::Cut => Err(Failure::Logged(CUT)),
                Verdict::Damaged => Err(Failure::Logged(DAMAGED)),
            }
        }
        Command::Repair(arguments) => run_repair(arguments),
    }
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Foreign { .. } => Failure::usage(error),
        Error::Damaged { .. } => {
            // Standard error may be closed; the status says it, too.
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("touchline: {error}\n"),
            );
            Failure::Logged(DAMAGED)
        }
        other => Failure::run(other),
    }
}

fn run_print(print: &Print) -> Result<(), Failure> {
    let mut text = String::new();
    let mut written = Ok(());
    let mut give = |text: &mut String| {
        if written.is_ok() {
            written = say(text);
        }
        text.clear();
    };
    let result = read(&print.place.directory, print.past_damage, |entry| {
        line(&mut text, entry);
        if text.len() > 64 << 10 {
            give(&mut text);
        }
    });
    give(&mut text);
    written?;
    result.map(|_| ()).map_err(failed)
}

fn line(text: &mut String, entry: &Entry<'_>) {
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let (sequence, position) = (number(entry.sequence), number(entry.position));
    let kind = entry.head.kind;
    let name = kind_name(kind).unwrap_or("Unknown");
    let (time_ns, stream) = (entry.head.time_ns, entry.head.stream);
    // A string takes every line.
    let _ = write!(
        text,
        "sequence={sequence} position={position} time={time_ns} stream={stream} kind={kind} {name} bytes={} body=",
        entry.body.len()
    );
    for byte in entry.body.iter().take(BODY_BYTES_SHOWN) {
        let _ = write!(text, "{byte:02x}");
    }
    text.push_str(if entry.body.len() > BODY_BYTES_SHOWN {
        "...\n"
    } else {
        "\n"
    });
}

/// Bytes of a body that a line shows.
const BODY_BYTES_SHOWN: usize = 64;

fn listing(report: &Report) -> String {
    let mut text = String::from("segment     epoch  frames      used bytes  state       base\n");
    for segment in &report.segments {
        let state = match segment.state {
            SegmentState::Closed => "closed",
            SegmentState::Open => "open",
            SegmentState::Prepared => "prepared",
            SegmentState::Unfinished => "unfinished",
            SegmentState::Behind => "behind",
        };
        let epoch = segment.header.as_ref().map_or(0, |header| header.epoch);
        let base = segment.base.map_or("-".to_owned(), |base| base.to_string());
        let (index, frames, used) = (segment.index, segment.frames, segment.used_bytes);
        let _ = writeln!(
            text,
            "{index:010} {epoch:>6} {frames:>7} {used:>15}  {state:<10}  {base}"
        );
    }
    text
}

fn verdict(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let _ = writeln!(text, "{finding}");
    }
    let verdict = match report.verdict {
        Verdict::Clean => "clean",
        Verdict::Cut => "cut",
        Verdict::Damaged => "damaged",
    };
    let (frames, position, next) = (report.frames, report.position, report.next_sequence);
    let _ = writeln!(
        text,
        "{verdict}: frames={frames} position={position} next={next}"
    );
    if report.bytes_behind > 0 {
        let (bytes, frames) = (report.bytes_behind, report.frames_behind);
        let _ = writeln!(
            text,
            "behind the last record: bytes={bytes} frames={frames}"
        );
    }
    if report.unknown_kinds > 0 {
        let _ = writeln!(text, "frames of unknown kinds: {}", report.unknown_kinds);
    }
    text
}

fn run_repair(arguments: &Repair) -> Result<(), Failure> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now_ns = now.map_or(0, |now| now.as_nanos() as u64);
    let done = repair(&arguments.place.directory, arguments.accept_loss, now_ns).map_err(failed)?;
    let mut text = verdict(&done.found);
    for name in &done.cut_files {
        let _ = writeln!(text, "set aside: {name}");
    }
    for name in &done.removed {
        let _ = writeln!(text, "removed an unfinished preparation: {name}");
    }
    let (bytes, headers) = (done.bytes_set_aside, done.headers_rewritten);
    let _ = writeln!(
        text,
        "repaired: bytes_set_aside={bytes} headers_rewritten={headers}"
    );
    say(&text)
}
