//! Error for a bus that does not exist, with the names of those that do.

use crate::output::Failure;
use std::fmt::Display;
use std::path::Path;
use touchline_client::monitor::Monitor;
pub use touchline_settings::nearest;
use touchline_transport::shm::Root;

/// Buses listed in one line.
const LISTED_MAX: usize = 12;

/// Failure to open a bus. If no bus has this name, the existing ones are listed.
pub fn refused(root: &Root, bus: &str, error: impl Display) -> Failure {
    Failure::run(words(root, bus, error))
}

/// [`refused`] for a directory.
pub fn refused_at(directory: &Path, bus: &str, error: impl Display) -> Failure {
    refused(&Root::at(directory), bus, error)
}

/// [`words`] for a directory.
pub fn words_at(directory: &Path, bus: &str, error: impl Display) -> String {
    words(&Root::at(directory), bus, error)
}

/// [`refused`] as text.
pub fn words(root: &Root, bus: &str, error: impl Display) -> String {
    let monitor = Monitor::new(Some(root.path()));
    if monitor.is_engine(bus) {
        return format!(
            "{bus} is the bus of a trading engine, which has no market data; `touchline fx blotter --bus {bus}` shows its \
             orders, `touchline top {bus}` its sessions, `touchline tail {bus}` its entries"
        );
    }
    match root.buses() {
        Ok(buses) if buses.iter().all(|other| other != bus) => {
            // Rings of an engine's clients are not buses for readers.
            let mut buses = monitor.buses().unwrap_or_default();
            buses.extend(monitor.engines().unwrap_or_default());
            buses.sort();
            not_there(root, bus, &buses)
        }
        _ => error.to_string(),
    }
}

fn not_there(root: &Root, bus: &str, buses: &[String]) -> String {
    let directory = root.path();
    if buses.is_empty() {
        let path = match directory.exists() {
            true => directory.join(bus),
            false => directory.to_owned(),
        };
        return format!(
            "{} does not exist, and there is no other bus; start a gateway, `touchline gateway --config FILE` or \
             `touchline demo`, as the same user and with the same --dir",
            path.display()
        );
    }
    let meant = nearest(bus, buses.iter().map(String::as_str));
    let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
    let mut listed = buses[..buses.len().min(LISTED_MAX)].join(", ");
    if buses.len() > LISTED_MAX {
        listed += &format!(" and {} more", buses.len() - LISTED_MAX);
    }
    let separator = if meant.is_empty() { ";" } else { "" };
    format!(
        "{} does not exist{meant}{separator} buses in that directory: {listed}",
        directory.join(bus).display()
    )
}
