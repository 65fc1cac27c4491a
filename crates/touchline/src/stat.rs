//! `touchline stat`: the buses of this host, and what each counts.

mod json;
mod text;

pub use text::points;

use crate::missing;
use crate::output::{Failure, say};
use crate::place::Place;
use crate::screen;
use touchline_gateway::config::bus_name;
use touchline_transport::shm::{CountersView, Error, Overview, ReaderView, Root};

/// List the buses, or show one: who publishes, how far it is, and everything that is counted.
///
/// Counters and histograms lie in shared memory: they can be read while the publisher runs, at no
/// cost to it, and after it died. They are at most 100 ms old; histograms are exact at once.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the bus; without it all buses are listed.
    #[arg(value_name = "BUS", value_parser = bus_name)]
    bus: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Show it again whenever it has changed, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// One JSON object a line, for each bus one.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline stat
  touchline stat cme-340
  touchline stat cme-340 --watch
  touchline stat cme-340 --json | jq .counters.packets_lost

What to look at:
  publisher  nobody: it has ended or died, the books are as it left them;
             stalled: it is there and does nothing, the books are stale
  readers    by name, if they gave one; a slow one loses messages, or on a
             lossless bus slows the publisher down
  counters   docs/operations.md says which ones mean trouble

Exit status:
  0  done, or stopped by Ctrl-C or SIGTERM
  1  the bus does not exist or cannot be read
  2  bad arguments";

/// A bus with its board.
struct Bus {
    overview: Overview,
    readers: Vec<ReaderView>,
    counters_file: Option<CountersView>,
}

/// What a row of the list has instead, where the bus cannot be read.
type Row = Result<Overview, (String, Error)>;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = arguments.place.root();
    let picture = || match &arguments.bus {
        Some(bus) => one(&root, bus, arguments.json),
        None => all(&root, arguments.json),
    };
    match arguments.watch {
        true => screen::watch(picture),
        false => say(&picture()?),
    }
}

fn one(root: &Root, bus: &str, as_json: bool) -> Result<String, Failure> {
    let (overview, readers) =
        Overview::with_readers(root, bus).map_err(|error| missing::refused(root, bus, error))?;
    let bus = Bus {
        overview,
        readers,
        counters_file: CountersView::open(root, bus).map_err(Failure::run)?,
    };
    Ok(match as_json {
        true => json::bus(&bus),
        false => text::bus(&bus),
    })
}

fn all(root: &Root, as_json: bool) -> Result<String, Failure> {
    let buses = root.buses().map_err(Failure::run)?;
    let rows: Vec<Row> = buses
        .into_iter()
        .map(|bus| Overview::of(root, &bus).map_err(|error| (bus, error)))
        .collect();
    Ok(match as_json {
        true => json::list(&rows),
        false => text::list(root, &rows),
    })
}
