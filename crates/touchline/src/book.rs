//! `touchline book`: the ladder of an instrument, read from its snapshot slot on a bus.

mod banks;
mod details;
mod find;

use crate::books::{client_head, client_lists};
use crate::format::{age, count, utc};
use crate::ladder::{ladder, spread_word};
use crate::missing;
use crate::output::{Failure, say};
use crate::paint::Paint;
use crate::place::{Place, bus_name};
use crate::record::Record;
use crate::screen;
use banks::Banks;
use find::{find, label};
use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use touchline_client::{Bus, Instrument, Quote, Side, Snapshot, State};

/// Print the book of an instrument from a bus.
///
/// The book is read from its snapshot slot: the publisher is not slowed, and the book of a publisher that has ended or
/// stalled is readable and marked stale. A pattern that matches several instruments lists them with their best prices.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the bus; `touchline stat` lists them.
    #[arg(value_name = "BUS", value_parser = bus_name)]
    bus: String,
    /// Symbol or security id of the instrument, or a pattern; * matches any characters.
    #[arg(value_name = "SYMBOL", default_value = "*")]
    symbol: String,
    #[command(flatten)]
    place: Place,
    /// Print the book again on each change, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Levels per side.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(1..=256)
    )]
    rows: u16,
    /// Print the definition of the instrument in place of its book.
    #[arg(long, conflicts_with = "json")]
    definition: bool,
    /// Print one JSON object a line for each instrument, in the format of `replay --books`.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline book cme-340 ESU4
  touchline book cme-340 ESU4 --watch --rows 5
  touchline book cme-340 ESU4 --definition
  touchline book cme-340 'ES*'
  touchline book cme-340 --json | jq -c 'select(.state != \"live\") | .symbol'

Prices:
  As traders quote them: the venue's price times the display factor of the
  instrument's definition. --definition has the factor, and the fractions that
  prices are quoted in (1/32), where the venue states some.

Best prices:
  The best bid and ask are the better of the direct and the implied book, with its
  name: direct, implied, or merged if both have that price. A book is LOCKED if its best
  bid equals its best ask, and CROSSED if its best bid is above.

JSON:
  The keys of `replay --books --display` without last_rpt_seq, and sequence (the last
  message that the book contains), exchange_ns and receive_ns (its times in nanoseconds
  since 1970 UTC, as strings).

Exit status:
  0  done, or stopped by Ctrl-C or SIGTERM
  1  the bus does not exist or cannot be read, or has no such instrument
  2  bad arguments";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = arguments.place.root();
    let options = Bus::options().directory(root.path());
    let mut snapshot = options
        .snapshot(&arguments.bus)
        .map_err(|error| missing::refused(&root, &arguments.bus, error))?;
    let mut found = find(&snapshot, &arguments.symbol)?;
    let banks_of = |snapshot: &Snapshot, found: &[Instrument]| {
        let [one] = found else { return None };
        Some(Banks::of(root.path(), &arguments.bus, snapshot, *one))
    };
    let mut banks = banks_of(&snapshot, &found);
    if !arguments.watch {
        return say(&picture(arguments, &mut snapshot, &found, &mut banks)?);
    }
    screen::watch_bus(Some(&arguments.bus), arguments.json, || {
        if snapshot.refresh().map_err(Failure::run)? {
            // The names of the banks are read again.
            found.clear();
        }
        // Instruments that were defined since are shown, too.
        let present = find(&snapshot, &arguments.symbol)?;
        if present != found {
            banks = banks_of(&snapshot, &present);
            found = present;
        }
        picture(arguments, &mut snapshot, &found, &mut banks)
    })
}

/// Ladder of one instrument, or list of several.
fn picture(
    arguments: &Arguments,
    snapshot: &mut Snapshot,
    found: &[Instrument],
    banks: &mut Option<Banks>,
) -> Result<String, Failure> {
    match found {
        all if arguments.json => json(snapshot, all),
        all if arguments.definition => definitions(snapshot, all),
        [one] => drawing(arguments, snapshot, *one, banks),
        several => list(snapshot, several),
    }
}

/// Definitions of the instruments, separated by blank lines.
fn definitions(snapshot: &Snapshot, found: &[Instrument]) -> Result<String, Failure> {
    let mut text = String::new();
    for instrument in found {
        let definition = snapshot.definition(*instrument).map_err(Failure::run)?;
        let separator = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{separator}{}", details::details(definition));
    }
    Ok(text)
}

fn drawing(
    arguments: &Arguments,
    snapshot: &mut Snapshot,
    instrument: Instrument,
    banks: &mut Option<Banks>,
) -> Result<String, Failure> {
    let publisher = match snapshot.publisher() {
        Some(holder) => match snapshot.liveness() {
            Some(liveness) if liveness.is_stalled() => format!(
                "{holder}, which is stalled: no activity for {}",
                age(liveness.age.as_nanos() as u64)
            ),
            _ => holder.to_string(),
        },
        None => "no process: the last state of the book".to_owned(),
    };
    let paint = Paint::for_stdout();
    let book = snapshot.book(instrument).map_err(Failure::run)?;
    let mut text = ladder(&book, usize::from(arguments.rows), paint);
    if let Some(banks) = banks.as_mut().filter(|_| book.state() == State::Live) {
        for (title, names) in banks.lines(book.definition().security_id) {
            let _ = writeln!(text, " {title} {names}");
        }
    }
    let mut note = format!(" message {}", count(book.sequence()));
    let receive_ns = book.times().receive_ns;
    if receive_ns > 0 {
        let _ = write!(note, ", received {}", utc(receive_ns));
        if !arguments.watch {
            let _ = write!(note, ", {} ago", age(since(receive_ns)));
        }
    }
    let _ = writeln!(text, "{}", paint.dim(note));
    let _ = writeln!(text, "{}", paint.dim(format!(" published by {publisher}")));
    Ok(text)
}

fn list(snapshot: &mut Snapshot, found: &[Instrument]) -> Result<String, Failure> {
    let paint = Paint::for_stdout();
    let head = format!(
        " {:<20} {:>12} {:<11} {:>28} | {:<28}",
        "symbol", "id", "state", "bid", "ask"
    );
    let mut text = format!("{}\n", paint.dim(head.trim_end()));
    for instrument in found {
        let name = label(snapshot, *instrument);
        let security_id = snapshot
            .definition(*instrument)
            .map_err(Failure::run)?
            .security_id;
        let (state, [bid, ask], spread) = match snapshot.book(*instrument) {
            Err(_) => ("-", [None; 2], None),
            Ok(book) => (
                book.state().name(),
                Side::BOTH.map(|side| book.best(side)),
                spread_word(book.spread()),
            ),
        };
        let text_of = |quote: Option<Quote>| {
            quote.map_or(String::new(), |quote| {
                format!(
                    "{}@{} {:<7}",
                    quote.quantity,
                    quote.price,
                    quote.source.name()
                )
            })
        };
        let line = format!(
            " {name:<20} {security_id:>12} {state:<11} {:>28} | {:<28} {}",
            text_of(bid),
            text_of(ask),
            spread.unwrap_or_default()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    Ok(text)
}

/// One JSON line for each instrument, by ascending security id.
fn json(snapshot: &mut Snapshot, found: &[Instrument]) -> Result<String, Failure> {
    let mut text = String::new();
    for instrument in found {
        let book = match snapshot.book(*instrument) {
            Ok(book) => book,
            // As the ladder of one; a list goes on with the others.
            Err(error) if found.len() == 1 => return Err(Failure::run(error)),
            Err(_) => continue,
        };
        let mut row = Record::json(&mut text);
        client_head(&mut row, book.definition(), book.state());
        row.number("sequence", book.sequence());
        row.exact("exchange_ns", book.times().exchange_ns);
        row.exact("receive_ns", book.times().receive_ns);
        client_lists(&mut row, &book);
        row.end();
        text.push('\n');
    }
    Ok(text)
}

fn since(unix_ns: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| (now.as_nanos() as u64).saturating_sub(unix_ns))
}
