//! `touchline journal`: list, print, verify and repair a journal, and copy it to another host.

mod events;
mod index;
mod process;
mod receive;
mod send;
mod text;

use crate::output::{Failure, Output, last_notice, say};
use clap::Subcommand;
use events::{Events, is_of_engine};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use touchline_journal::{
    Error, Report, Verdict, chain, compress, is_journal, read_from, repair, verify,
};

/// List, print, verify, repair and compress a journal; copy it to another host.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the segments, one line each.
    #[command(after_help = LS_HELP)]
    Ls(Directory),
    /// Print the records, one line each; a batch of a trading engine has one for each of its entries, too.
    #[command(after_help = PRINT_HELP)]
    Print(Print),
    /// Verify every record and judge the end: clean, cut by a crash, or damaged.
    #[command(after_help = VERIFY_HELP)]
    Verify(Directory),
    /// End a journal after a crash; bytes behind the last record are set aside in `.cut` files.
    #[command(after_help = REPAIR_HELP)]
    Repair(Repair),
    /// Compress the closed segments with Zstandard; the writer may be running.
    #[command(after_help = COMPRESS_HELP)]
    Compress(Directory),
    /// Write the missing indexes of the closed segments of a tape, for `replay --from` and `--instrument`.
    #[command(after_help = INDEX_HELP)]
    Index(Directory),
    /// Give the journal to copies on other hosts, while it is written.
    Send(send::Send),
    /// Write a copy of a journal of another host, which a standby here may follow.
    Receive(receive::Receive),
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
    /// Read on behind damage: print a `Gap` with cause 6, then the records whose checksums hold.
    #[arg(long)]
    past_damage: bool,
    /// First record, by its sequence. Older segments are not verified, but those of a trading engine, which have names
    #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
    from: u64,
}

#[derive(Debug, clap::Args)]
struct Repair {
    #[command(flatten)]
    place: Directory,
    /// Also cut a damaged journal: durable records behind the damage no longer count.
    #[arg(long)]
    accept_loss: bool,
}

const AFTER_HELP: &str = "\
Exit status:
  0  done; `verify`: the journal is clean
  1  a file cannot be read or written, the directory has no segment, or the journal is in use
     (`repair`, `compress`)
  2  bad arguments, or a format that this version does not read
  3  `verify`: cut by a crash
  4  damaged: durable records are missing or wrong (all but `ls`)";

const LS_HELP: &str = "\
Example:
  touchline journal ls /var/lib/touchline/journal

Exit status:
  0  done
  1  a file cannot be read, or the directory has no segment
  2  bad arguments, or a format that this version does not read";

const PRINT_HELP: &str = "\
Examples:
  touchline journal print /var/lib/touchline/journal
  touchline journal print /var/lib/touchline/journal --from 120000

Exit status:
  0  every record was printed; with --past-damage also those behind damage
  1  a file cannot be read, or the directory has no segment
  2  bad arguments, or a format that this version does not read
  4  damaged: the records before the damage were printed; see --past-damage";

const VERIFY_HELP: &str = "\
Example:
  touchline journal verify /var/lib/touchline/journal

Exit status:
  0  clean
  1  a file cannot be read, or the directory has no segment
  2  bad arguments, or a format that this version does not read
  3  cut by a crash: the next start of the writer, or `touchline journal repair`, ends the journal; `touchline journal receive`
     continues a copy
  4  damaged: durable records are missing or wrong, or an engine's hash chain says that records were changed or removed

An engine's journal has a hash chain over its closed segments: the line `chain` has its head. Keep the head elsewhere, such as in
a signed report: who can write the files can make a whole chain again, but not with the same head.";

const REPAIR_HELP: &str = "\
Example:
  touchline journal repair /var/lib/touchline/journal

Exit status:
  0  the journal is clean
  1  a file cannot be read or written, the directory has no segment, a writer is running, or it is a copy of another host's journal,
     which `touchline journal receive` continues
  2  bad arguments, or a format that this version does not read
  4  damaged, and nothing was changed; see --accept-loss

After a kill without a restart of the host start the writer instead: it also appends the records that only the shared
memory has, which a repair does not read. A copy of the directory before a repair with --accept-loss keeps the evidence.";

const COMPRESS_HELP: &str = "\
Example:
  touchline journal compress /var/lib/touchline/journal

Every segment that is closed and has a used one behind it is replaced by a file NAME.zst, which all commands and the
writer read, and `zstd -d` expands. The records stay the same. A kill leaves each segment in one form at least.

Exit status:
  0  done, or nothing to do
  1  a file cannot be read or written, the directory has no segment, or another process compresses it
  2  bad arguments, or a format that this version does not read
  4  damaged, and nothing was changed";

const INDEX_HELP: &str = "\
Example:
  touchline journal index /data/cme-340

A recorder writes the index of each segment that it closes. An index follows from its segment: without one, a reader
that searches for a place or an instrument reads the segment as a whole.

Exit status:
  0  each closed segment has its index
  1  a file cannot be read or written, or the directory has no segment
  2  bad arguments, or a format that this version does not read
  4  damaged";

/// Exit status of a journal that a crash cut.
const CUT: u8 = 3;
/// Exit status of a damaged journal.
const DAMAGED: u8 = 4;
/// Wait of a round of `send` or `receive` without work.
const IDLE: Duration = Duration::from_micros(200);

impl Directory {
    /// The directory, if it has a segment: a wrong directory must not pass for a clean journal, nor get a lock file.
    fn checked(&self) -> Result<&Path, Failure> {
        let path = self.directory.display();
        let is_journal = is_journal(&self.directory).map_err(|error| {
            Failure::run(format!("{path}: {error}; give the directory of a journal"))
        })?;
        if is_journal {
            return Ok(&self.directory);
        }
        Err(Failure::run(format!(
            "{path}: no segment of a journal; give the directory that has the files 0000000001.tlj and on"
        )))
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Ls(place) => {
            let report = verify(place.checked()?).map_err(failed)?;
            say(&text::segments(&report, &place.directory))
        }
        Command::Print(arguments) => run_print(arguments),
        Command::Verify(place) => {
            let report = verify(place.checked()?).map_err(failed)?;
            let indexes = index::report(&place.directory, &report);
            let (chain, is_right) = chain_of(&place.directory, &report)?;
            say(&(text::report(&report) + &indexes + &chain))?;
            match report.verdict {
                Verdict::Clean if !is_right => Err(Failure::Logged(DAMAGED)),
                Verdict::Clean => Ok(()),
                Verdict::Cut => Err(Failure::Logged(CUT)),
                Verdict::Damaged => Err(Failure::Logged(DAMAGED)),
            }
        }
        Command::Repair(arguments) => run_repair(arguments),
        Command::Compress(place) => run_compress(place.checked()?),
        Command::Index(place) => index::run(place.checked()?),
        Command::Send(arguments) => send::run(arguments),
        Command::Receive(arguments) => receive::run(arguments),
    }
}

/// The lines of an engine's hash chain, and whether it is right; a damaged journal has none.
fn chain_of(directory: &Path, report: &Report) -> Result<(String, bool), Failure> {
    if report.verdict == Verdict::Damaged || !is_of_engine(directory) {
        return Ok((String::new(), true));
    }
    let chain = chain(directory).map_err(failed)?;
    Ok((text::chain(&chain), chain.faults.is_empty()))
}

fn run_compress(directory: &Path) -> Result<(), Failure> {
    let done = compress(directory).map_err(failed)?;
    let (mut bytes, mut compressed_bytes) = (0, 0);
    let mut text = String::new();
    for segment in &done {
        let (before, after) = (segment.bytes, segment.compressed_bytes);
        let _ = writeln!(
            text,
            "{} bytes={before} compressed_bytes={after}",
            segment.name
        );
        bytes += before;
        compressed_bytes += after;
    }
    let count = done.len();
    let _ = writeln!(
        text,
        "compressed: segments={count} bytes={bytes} compressed_bytes={compressed_bytes}"
    );
    say(&text)
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Foreign { .. } => Failure::usage(error),
        Error::Damaged { .. } => {
            last_notice(error);
            Failure::Logged(DAMAGED)
        }
        other => Failure::run(other),
    }
}

fn run_print(arguments: &Print) -> Result<(), Failure> {
    let directory = arguments.place.checked()?;
    let (mut text, mut events) = (String::new(), Events::new());
    let mut output = Output::stdout()?;
    let mut written = Ok(());
    let from = if is_of_engine(directory) {
        0
    } else {
        arguments.from
    };
    let result = read_from(directory, from, arguments.past_damage, |entry| {
        if entry
            .sequence
            .is_some_and(|sequence| sequence < arguments.from)
        {
            events.pass(entry);
            return;
        }
        text.clear();
        text::record(&mut text, entry, &mut events);
        if written.is_ok() {
            written = output.text(&text);
        }
        if !output.has_reader() {
            // The rest has no reader, and a walk over a journal ends at its end only.
            std::process::exit(0);
        }
    });
    written?;
    output.finish()?;
    result.map(|_| ()).map_err(failed)
}

fn run_repair(arguments: &Repair) -> Result<(), Failure> {
    let directory = arguments.place.checked()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now_ns = now.map_or(0, |now| now.as_nanos() as u64);
    let done = repair(directory, arguments.accept_loss, now_ns).map_err(failed)?;
    let mut text = text::report(&done.found);
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
