//! `touchline book`: the ladder of an instrument, drawn from its image on a bus.

pub mod find;

use crate::books::{head, lists};
use crate::format::{age, count};
use crate::ladder::{ladder, spread_word};
use crate::missing;
use crate::output::{Failure, say};
use crate::paint::Paint;
use crate::place::Place;
use crate::record::Record;
use crate::screen;
use find::find;
use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use touchline_book::{Spread, Touch};
use touchline_gateway::config::bus_name;
use touchline_transport::shm::{BookImage, Images};
use touchline_transport::{Envelope, Mirror, Subscribe};
use touchline_types::{BookKind, Instrument, InstrumentDefinition, Side, Timestamps, Update};
use touchline_wire::sbe::UtcTime;

/// Print the book of an instrument from a bus.
///
/// The book is read from its snapshot slot, so the publisher is not slowed, and it can be read after the publisher
/// is gone or stalled: it is then shown as stale. A pattern that matches several instruments lists them with their
/// best prices.
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
    /// Print it again on each change, until Ctrl-C.
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
    /// Print one JSON object a line for each instrument, in the format of `replay --books`.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline book cme-340 ESU4
  touchline book cme-340 ESU4 --watch --rows 5
  touchline book cme-340 'ES*'
  touchline book cme-340 --json | jq -c 'select(.state != \"live\") | .symbol'

Best prices:
  The best bid and ask are the better of the direct and the implied book, with its
  name: direct, implied, or merged if both have that price. A book is LOCKED if its best
  bid equals its best ask, and CROSSED if its best bid is above.

JSON:
  The keys of `replay --books` without last_rpt_seq, and sequence (the last message that
  the book contains), exchange_ns and receive_ns (its times in nanoseconds since 1970
  UTC, as strings).

Exit status:
  0  done, or stopped by Ctrl-C or SIGTERM
  1  the bus does not exist or cannot be read, or has no such instrument
  2  bad arguments";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = arguments.place.root();
    let mut images = Images::open(&root, &arguments.bus)
        .map_err(|error| missing::refused(&root, &arguments.bus, error))?;
    let mut found = find(&images, &arguments.symbol)?;
    if !arguments.watch {
        return say(&picture(arguments, &mut images, &found)?);
    }
    screen::watch(|| {
        if images.refresh().map_err(Failure::run)? {
            found = find(&images, &arguments.symbol)?;
        }
        picture(arguments, &mut images, &found)
    })
}

/// What is shown of the instruments that were found.
fn picture(
    arguments: &Arguments,
    images: &mut Images,
    found: &[InstrumentDefinition],
) -> Result<String, Failure> {
    match found {
        all if arguments.json => Ok(json(images, all)),
        [one] => drawing(arguments, images, one),
        several => Ok(list(images, several)),
    }
}

fn drawing(
    arguments: &Arguments,
    images: &mut Images,
    definition: &InstrumentDefinition,
) -> Result<String, Failure> {
    let publisher = match images.publisher() {
        Some(holder) => match images.liveness() {
            Some(liveness) if liveness.is_stalled() => format!(
                "{holder}, which is stalled: last sign of life {} ago",
                age(liveness.age.as_nanos() as u64)
            ),
            _ => holder.to_string(),
        },
        None => "nobody any more: the last state of the book".to_owned(),
    };
    let book = images
        .book(definition.instrument)
        .map_err(|unseen| Failure::run(format!("{}: {unseen}", find::label(definition))))?;
    let paint = Paint::for_stdout();
    let mirror = mirror_of(book);
    let mut text = mirror.book(ONLY).map_or_else(String::new, |levels| {
        let rows = usize::from(arguments.rows);
        ladder(definition, book.validity, levels, rows, paint)
    });
    let mut note = format!(" message {}", count(book.sequence));
    if book.receive_ns > 0 {
        let received = UtcTime(book.receive_ns);
        let _ = write!(note, ", received {received}");
        if !arguments.watch {
            let _ = write!(note, ", {} ago", age(since(book.receive_ns)));
        }
    }
    let _ = writeln!(text, "{}", paint.dim(note));
    let _ = writeln!(text, "{}", paint.dim(format!(" published by {publisher}")));
    Ok(text)
}

fn list(images: &mut Images, found: &[InstrumentDefinition]) -> String {
    let paint = Paint::for_stdout();
    let head = format!(
        " {:<20} {:>12} {:<11} {:>22} | {:<22}",
        "symbol", "id", "state", "bid", "ask"
    );
    let mut text = format!("{}\n", paint.dim(head.trim_end()));
    for definition in found {
        let (state, [bid, ask], spread) = match images.book(definition.instrument) {
            Err(_) => ("-", [None; 2], None),
            Ok(book) => {
                let touches = Side::BOTH.map(|side| touch(book, side));
                let spread = Spread::between(touches[0], touches[1]);
                (book.validity.name(), touches, spread_word(spread))
            }
        };
        let text_of = |touch: Option<Touch>| {
            touch.map_or(String::new(), |touch| {
                format!("{} {:<7}", touch.price, touch.source.name())
            })
        };
        let line = format!(
            " {:<20} {:>12} {state:<11} {:>22} | {:<22} {}",
            find::label(definition),
            definition.security_id,
            text_of(bid),
            text_of(ask),
            spread.unwrap_or_default()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The best bid or offer of an image.
fn touch(book: &BookImage, side: Side) -> Option<Touch> {
    let best = |kind| book.levels(kind, side).first().copied();
    Touch::of(side, best(BookKind::Direct), best(BookKind::Implied))
}

/// A line for each, by the venue's ids.
fn json(images: &mut Images, found: &[InstrumentDefinition]) -> String {
    let mut text = String::new();
    for definition in found {
        let Ok(book) = images.book(definition.instrument) else {
            continue;
        };
        let mut row = Record::json(&mut text);
        head(&mut row, definition, book.validity);
        row.number("sequence", book.sequence);
        row.exact("exchange_ns", book.exchange_ns);
        row.exact("receive_ns", book.receive_ns);
        lists(&mut row, definition, |kind, side| book.levels(kind, side));
        row.end();
        text.push('\n');
    }
    text
}

/// The instrument of a drawn book's mirror.
pub const ONLY: Instrument = Instrument(0);

/// A book that knows how to be drawn.
pub fn mirror_of(book: &BookImage) -> Mirror {
    let mut mirror = Mirror::new(1, 0);
    mirror.update(&Envelope {
        sequence: book.sequence,
        timestamps: &Timestamps::default(),
        update: &Update::BookSnapshot(book.snapshot(ONLY)),
    });
    mirror
}

fn since(unix_ns: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| (now.as_nanos() as u64).saturating_sub(unix_ns))
}
