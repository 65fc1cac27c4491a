//! `touchline stat`: the buses of this host, their counters and histograms.

mod counters;
mod json;
mod shown;
mod text;

pub use counters::points;

use crate::counted::is_relay_of;
use crate::missing;
use crate::output::{Failure, say};
use crate::place::{Place, bus_name};
use crate::{rm, screen};
use counters::Past;
use shown::{Bus, Shown};
use touchline_client::Error;
use touchline_client::monitor::{Monitor, Overview};

/// List the buses, or show one: publisher, position, readers and counters.
///
/// For one bus, nonzero counters and nonempty histograms are shown. Counters and histograms are in shared memory: they
/// can be read while the publisher runs, at no cost to it, and after it has ended. Counters are at most 100 ms old;
/// histograms are current.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the bus; without it all buses are listed.
    #[arg(value_name = "BUS", value_parser = bus_name)]
    bus: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Print again on each change, until Ctrl-C, with the rates of counters.
    #[arg(long)]
    watch: bool,
    /// Show zero counters and empty histograms too, with the meaning of each histogram.
    #[arg(long, requires = "bus")]
    all: bool,
    /// Show only counters and histograms with this text in their name or meaning, zeros included.
    #[arg(long, value_name = "TEXT", requires = "bus", conflicts_with = "all")]
    filter: Option<String>,
    /// Print one JSON object a line for each bus, zeros included.
    #[arg(long)]
    json: bool,
    /// Remove all buses that have no publisher and no readers, and the counters of processes that are gone, and list them.
    #[arg(long, conflicts_with_all = ["bus", "watch", "json"])]
    prune: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline stat
  touchline stat cme-340
  touchline stat cme-340 --watch
  touchline stat cme-340 --filter gap
  touchline stat cme-340 --json | jq .counters.packets_lost
  touchline stat fx-run --filter journal
  touchline stat --prune

What to look at:
  publisher  none: it has ended, and its last books are shown as stale;
             stalled: it runs without activity, and the books are stale
  readers    those that registered a name; a slow one is overrun, or slows the
             publisher of a lossless bus
  counters   `touchline help counters` has the meaning of each; docs/metrics.md says
             which ones mean trouble

Exit status:
  0  done, or stopped by Ctrl-C or SIGTERM
  1  the bus or process does not exist or cannot be read
  2  bad arguments";

/// Row of the list, or the reason why the bus cannot be read.
type Row = Result<Overview, (String, Error)>;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let monitor = arguments.place.monitor();
    if arguments.prune {
        return say(&rm::prune(&arguments.place.root())?);
    }
    let shown = match &arguments.filter {
        Some(text) => Shown::With(text.to_lowercase()),
        None if arguments.all => Shown::All,
        None => Shown::Counted,
    };
    let mut past = arguments.watch.then(Past::default);
    let picture = || match &arguments.bus {
        Some(bus) => one(&monitor, bus, &shown, arguments.json, past.as_mut()),
        None => all(&monitor, arguments.json),
    };
    match arguments.watch {
        true => screen::watch_bus(arguments.bus.as_deref(), arguments.json, picture),
        false => say(&{ picture }()?),
    }
}

fn one(
    monitor: &Monitor,
    bus: &str,
    shown: &Shown,
    as_json: bool,
    past: Option<&mut Past>,
) -> Result<String, Failure> {
    let refused = |error: Error| missing::refused_at(monitor.path(), bus, error);
    let seen = match monitor.overview(bus) {
        Ok(seen) => seen,
        // An engine has a name like that of a bus, and no market data.
        Err(error) => {
            let mut processes = monitor.processes().map_err(Failure::run)?;
            processes.retain(|process| process.name == bus);
            let process = processes.pop().ok_or_else(|| refused(error))?;
            if let Err(why) = process.counters_file {
                return Err(Failure::run(why));
            }
            return Ok(match as_json {
                true => json::process(&process, shown),
                false => text::process(&process, shown),
            });
        }
    };
    let (overview, readers) = seen;
    let mut relays = monitor.processes().unwrap_or_default();
    relays.retain(|process| is_relay_of(bus, &process.name));
    let bus = Bus {
        relays,
        overview,
        readers,
        counters_file: monitor.counters(bus).map_err(refused)?,
    };
    Ok(match as_json {
        true => json::bus(&bus, shown),
        false => text::bus(&bus, shown, past),
    })
}

fn all(monitor: &Monitor, as_json: bool) -> Result<String, Failure> {
    let buses = monitor.buses().map_err(Failure::run)?;
    let row = |bus: String| {
        let seen = monitor.overview(&bus);
        // Without its counters a bus is not shown either, and the exporter has it as unreadable.
        let whole = seen.and_then(|(overview, _)| monitor.counters(&bus).map(|_| overview));
        whole.map_err(|error| (bus, error))
    };
    let rows: Vec<Row> = buses.into_iter().map(row).collect();
    let mut processes = monitor.processes().map_err(Failure::run)?;
    // Counters of a relay are shown with its bus, if that is shown.
    let is_with_bus = |name: &str| {
        let mut shown = rows.iter().flatten();
        shown.any(|overview| is_relay_of(&overview.bus, name))
    };
    processes.retain(|process| !is_with_bus(&process.name));
    Ok(match as_json {
        true => json::list(&rows) + &json::processes(&processes),
        false => text::list(monitor.path(), &rows) + &text::processes(&processes),
    })
}
