//! Sources of commands that are not there.

use crate::output::Failure;
use std::path::Path;

/// A recording of a session, where packets are played.
pub fn of_session(directory: &Path) -> Failure {
    Failure::run(format!(
        "{}: a recording of a session's bytes, which are not played through the path; `touchline export --journal DIR --pcapng --out OUT` writes them for other tools",
        directory.display()
    ))
}

/// A tape without this bus, or without any.
pub fn no_bus(bus: Option<&str>, directory: &Path) -> Failure {
    let directory = directory.display();
    Failure::run(match bus {
        Some(bus) => format!(
            "the tape {directory} has no bus {bus}; `touchline journal print` names its streams"
        ),
        None => format!("the tape {directory} has no bus: its recorder has joined none"),
    })
}

/// A place behind the end of a tape.
pub fn before_place(directory: &Path) -> Failure {
    let directory = directory.display();
    Failure::run(format!(
        "{directory}: the tape ends before --from: `touchline journal ls` has its segments"
    ))
}
