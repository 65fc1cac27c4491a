//! `touchline rm` and `touchline stat --prune`: remove unused buses, and counters of processes that are gone.

use crate::bus_users;
use crate::missing;
use crate::output::{Failure, say};
use crate::place::Place;
use touchline_gateway::config::bus_name;
use touchline_transport::shm::{
    Holder, Overview, ProcessStats, ProcessView, Root, readers, remove,
};

/// Remove buses from shared memory, and counters of processes that are gone.
///
/// A bus stays after its gateway has ended, so that its last books can be read. A bus in use is refused: stop its
/// publisher and its readers first. Engines, recorders, sending relays and copies of a journal that fail or are killed leave their
/// counters, for `touchline stat` and the alerts.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Names of the buses, or of processes that are gone.
    #[arg(value_name = "BUS", required = true, value_parser = bus_name)]
    buses: Vec<String>,
    #[command(flatten)]
    place: Place,
}

const AFTER_HELP: &str = "\
Examples:
  touchline rm cme-340
  touchline rm record-cme-340   # a recorder that failed and is not started again
  touchline stat --prune        # all buses without a publisher and readers, all counters without a process

Exit status:
  0  all of them were removed
  1  one does not exist, is in use, or cannot be removed; the others were removed
  2  bad arguments";

/// Users of a bus as text; `None` if there are none.
fn used_by(root: &Root, bus: &str) -> Option<String> {
    if let Ok(Some(publisher)) = Overview::publisher_of(root, bus) {
        return Some(format!("published by {publisher}"));
    }
    let processes = bus_users::of(root, bus);
    let named = named_readers(root, bus, &processes);
    let users: Vec<String> = (processes.iter().map(ToString::to_string))
        .chain(named)
        .collect();
    (!users.is_empty()).then(|| format!("read by {}", users.join(", ")))
}

/// Named readers beside these processes, as text: a reader that hides its mappings, or is of another user, holds the lock of its name.
fn named_readers(root: &Root, bus: &str, beside: &[bus_users::User]) -> Vec<String> {
    let named = readers(root, bus).unwrap_or_default().into_iter();
    let named = named.filter_map(|reader| {
        let process = reader.process?;
        let is_listed = beside.iter().any(|user| user.is(process.pid));
        (!is_listed).then(|| format!("{process} as {}", reader.name))
    });
    named.collect()
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = arguments.place.root();
    let mut refused = Vec::new();
    for bus in &arguments.buses {
        match removed(&root, bus) {
            Ok(line) => say(&line)?,
            Err(why) => refused.push(why),
        }
    }
    match refused.is_empty() {
        true => Ok(()),
        false => Err(Failure::run(refused.join("; "))),
    }
}

/// The process that counts under a name; the inner `None` if it is gone and left its counters.
fn counting(root: &Root, name: &str) -> Option<Option<Holder>> {
    let processes = ProcessView::all(root).unwrap_or_default();
    let process = processes.into_iter().find(|process| process.name == name);
    process.map(|process| process.process)
}

/// Removes the bus of a name, and the counters that a process of that name has left; a trading engine has both.
fn removed(root: &Root, name: &str) -> Result<String, String> {
    let counting = counting(root, name);
    if let Some(Some(process)) = &counting {
        return Err(format!(
            "{name} are the counters of {process}: stop that process first"
        ));
    }
    let mut text = String::new();
    if counting.is_none() || root.open(name).is_ok() {
        text = bus_removed(root, name)?;
    }
    if counting.is_some() {
        ProcessStats::remove(root, name).map_err(|error| error.to_string())?;
        text += &format!("counters of {name} removed\n");
    }
    Ok(text)
}

fn bus_removed(root: &Root, bus: &str) -> Result<String, String> {
    if let Some(by) = used_by(root, bus) {
        return Err(format!("bus {bus} is {by}: stop that process first"));
    }
    let memory_bytes = Overview::of(root, bus).map_or(0, |overview| overview.memory_bytes);
    remove(root, bus).map_err(|error| missing::words(root, bus, error))?;
    let freed = match memory_bytes {
        0 => String::new(),
        some => format!(", {} freed", crate::format::bytes(some)),
    };
    Ok(format!("bus {bus} removed{freed}\n"))
}

/// Removes all buses without a publisher and readers, and all counters without a process; one line for each of them.
pub fn prune(root: &Root) -> Result<String, Failure> {
    let buses = root.buses().map_err(Failure::run)?;
    let mut text = String::new();
    for bus in &buses {
        text += &match used_by(root, bus) {
            Some(by) => format!("bus {bus} kept: {by}\n"),
            None => removed(root, bus).unwrap_or_else(|why| format!("bus {bus} kept: {why}\n")),
        };
    }
    if buses.is_empty() {
        text = format!("no bus in {}\n", root.path().display());
    }
    for process in ProcessView::all(root).map_err(Failure::run)? {
        if process.process.is_none() {
            let name = &process.name;
            text += &removed(root, name)
                .unwrap_or_else(|why| format!("counters of {name} kept: {why}\n"));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_testing::Folder;
    use touchline_transport::clock::{Clock, ticks};
    use touchline_transport::shm::{FineClock, Publisher, ReaderStats, Settings};

    /// The lock of its name tells of a reader whose mappings cannot be read.
    #[test]
    fn a_named_reader_is_a_user_of_its_bus_until_it_leaves() {
        let folder = Folder::new("rm-named");
        let root = Root::at(&folder);
        let settings = Settings {
            ring_bytes: 64 * 1024,
            instruments_max: 4,
            ..Settings::default()
        };
        drop(Publisher::open(&root, "lab", &settings).expect("a bus"));
        let clock = FineClock {
            ticks,
            ns_per_tick: Clock::calibrated().ns_per_tick(),
        };
        let reader = ReaderStats::create(&root, "lab", "risk", clock).expect("a free name");
        let named = named_readers(&root, "lab", &[]);
        assert_eq!(named.len(), 1, "{named:?}");
        let pid = format!("process {} (", std::process::id());
        assert!(
            named[0].starts_with(&pid) && named[0].ends_with(" as risk"),
            "{named:?}"
        );
        drop(reader);
        assert!(named_readers(&root, "lab", &[]).is_empty());
    }
}
