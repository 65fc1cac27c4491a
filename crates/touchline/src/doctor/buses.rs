//! The buses of this host: who may read them.

use super::finding::{Finding, Status};
use super::rules::Check;
use std::os::unix::fs::MetadataExt;
use touchline_client::Error;
use touchline_client::monitor::Monitor;

const WHY: &str = "a bus is read by its publisher's user, and by the members of the group that `group` of its publisher names; everybody else is refused";

/// Checks whether this user may read the buses of a directory.
pub fn check(monitor: &Monitor) -> Check {
    let found = look(monitor).unwrap_or_else(|error| refusal(Status::Bad, &error));
    Check {
        name: "buses",
        status: found.status,
        seen: found.seen,
        why: WHY,
        fix: found.fix,
    }
}

fn look(monitor: &Monitor) -> Result<Finding, Error> {
    let buses = monitor.buses()?;
    let path = monitor.path().display();
    let Ok(about) = std::fs::metadata(monitor.path()) else {
        return Ok(Finding::ok(format!("{path} does not exist: no bus")));
    };
    // A bus that is removed meanwhile, or damaged, is not a matter of access.
    let error = buses.iter().map(|bus| monitor.publisher(bus).err());
    if let Some(error) = error
        .flatten()
        .find(|error| matches!(error, Error::NotYours { .. }))
    {
        return Ok(refusal(Status::Warn, &error));
    }
    let mode = about.mode() & 0o777;
    Ok(Finding::ok(format!(
        "{path}: user {}, mode {mode:04o}{}; {} {}",
        about.uid(),
        match mode & 0o050 {
            0 => String::new(),
            _ => format!(", shared with group {}", about.gid()),
        },
        buses.len(),
        if buses.len() == 1 { "bus" } else { "buses" }
    )))
}

/// Splits the text of an error into the finding and the fix.
fn refusal(status: Status, error: &Error) -> Finding {
    let text = error.to_string();
    let (seen, fix) = text.split_once("; ").unwrap_or((&text, WHY));
    Finding {
        status,
        seen: seen.to_owned(),
        fix: Some(fix.to_owned()),
    }
}
