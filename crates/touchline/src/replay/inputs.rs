//! Inputs of a replay, checked before it starts.

use super::{Arguments, Join};
use crate::output::{Failure, STDOUT};
use crate::source::of_session;
use std::path::{Path, PathBuf};
use touchline_feed::cme;
use touchline_gateway::venues::cme::CmeConfig;
use touchline_net::PcapSource;
use touchline_tape::raw::{Content, packets};

/// Effective configuration: the file or the defaults, overridden by the arguments.
pub fn config(arguments: &Arguments) -> Result<CmeConfig, Failure> {
    let mut config = arguments.of_channel.read()?;
    if let Some(join) = arguments.join {
        config.venue.join = match join {
            Join::Snapshot => cme::Join::Snapshot,
            Join::Natural => cme::Join::Natural,
        };
    }
    if let Some(bus) = &arguments.bus {
        config.bus.clone_from(bus);
    }
    if let Some(dir) = &arguments.dir {
        config.publication.directory = Some(dir.clone());
    }
    config.venue.compare_copies |= arguments.compare_copies;
    config.venue.wait_ms = arguments.wait_ms.unwrap_or(config.venue.wait_ms);
    Ok(config)
}

/// Whether tapes of buses are played, and not captures or raw recordings.
pub fn has_tapes(arguments: &Arguments) -> Result<bool, Failure> {
    let mut raw = 0;
    for directory in &arguments.journal {
        let content = Content::of(directory).map_err(Failure::run)?;
        if content == Content::Session {
            return Err(of_session(directory));
        }
        raw += usize::from(content == Content::Raw);
    }
    match raw {
        0 => Ok(!arguments.journal.is_empty()),
        _ if raw < arguments.journal.len() => Err(Failure::usage(
            "--journal has tapes and raw recordings; replay the one or the other",
        )),
        _ => arguments.of_tape.refuse_for_packets().map(|()| false),
    }
}

/// Packets of the captures, or of raw recordings.
pub fn source(arguments: &Arguments, captures: &[PathBuf]) -> Result<PcapSource<'static>, Failure> {
    if arguments.journal.is_empty() {
        return PcapSource::open(captures).map_err(Failure::run);
    }
    if !captures.is_empty() {
        return Err(Failure::usage(
            "--pcap and --journal are both given; give one of them",
        ));
    }
    packets(&arguments.journal).map_err(Failure::run)
}

/// Endings of captures.
const CAPTURES: [&str; 2] = [".pcap", ".pcapng"];
/// Endings of compressed ones, behind those.
const COMPRESSED: [&str; 3] = ["", ".gz", ".zst"];

/// The captures of `--pcap`: files, and those of a folder by name.
pub fn captures(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut captures = Vec::new();
    for path in given {
        if !path.is_dir() {
            captures.push(path.clone());
            continue;
        }
        let unreadable = |error| Failure::run(format!("{}: {error}", path.display()));
        let entries = std::fs::read_dir(path).map_err(unreadable)?;
        let mut found = Vec::new();
        for entry in entries {
            let file = entry.map_err(unreadable)?.path();
            if is_capture(&file) {
                found.push(file);
            }
        }
        if found.is_empty() {
            return Err(Failure::usage(format!(
                "{}: the folder has no capture: its files end with .pcap or .pcapng, and .gz or .zst",
                path.display()
            )));
        }
        found.sort();
        captures.extend(found);
    }
    Ok(captures)
}

fn is_capture(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let ends = |name: &str| {
        COMPRESSED.iter().any(|packed| {
            let name = name.strip_suffix(packed);
            name.is_some_and(|name| CAPTURES.iter().any(|ending| name.ends_with(ending)))
        })
    };
    name.is_some_and(ends)
}

/// Checks that no file is given twice, no output replaces an input, and standard output has one writer.
pub fn check_paths(
    arguments: &Arguments,
    captures: &[PathBuf],
    config: &CmeConfig,
) -> Result<(), Failure> {
    if captures.is_empty() && arguments.journal.is_empty() {
        return Err(Failure::usage("no captures are given; give --pcap FILE..."));
    }
    let captures = captures.iter().map(|path| (path.as_path(), Use::Capture));
    let settings = [
        arguments.of_channel.config.as_deref(),
        Some(&*config.venue.config_xml),
    ];
    let settings = settings
        .into_iter()
        .flatten()
        .map(|path| (path, Use::Setting));
    check_uses(arguments, captures.chain(settings))
}

/// The checks of [`check_paths`] for tapes.
pub fn check_paths_of_tapes(arguments: &Arguments) -> Result<(), Failure> {
    check_uses(arguments, std::iter::empty())
}

/// Checks the paths that every run may have, and `inputs`.
fn check_uses<'a>(
    arguments: &'a Arguments,
    inputs: impl Iterator<Item = (&'a Path, Use)>,
) -> Result<(), Failure> {
    let stdout = arguments
        .outputs()
        .filter(|path| *path == Path::new(STDOUT));
    if stdout.count() + usize::from(arguments.print) > 1 {
        return Err(Failure::usage(
            "standard output can have one of --books -, --orders -, --tops - and --print; \
             give files for the others",
        ));
    }
    let definitions = arguments.definitions.iter();
    let definitions = definitions.map(|path| (path.as_path(), Use::Setting));
    let outputs = arguments.outputs().map(|path| (path, Use::Output));
    let tapes = arguments.journal.iter().map(std::fs::canonicalize);
    let tapes: Vec<PathBuf> = tapes.filter_map(Result::ok).collect();
    let mut seen: Vec<(PathBuf, Use)> = Vec::new();
    for (path, purpose) in inputs.chain(definitions).chain(outputs) {
        let Some(place) = regular_place(path) else {
            continue;
        };
        let is_of_tape = || tapes.iter().any(|tape| place.parent() == Some(tape));
        if purpose == Use::Output && place.is_file() && is_of_tape() {
            return Err(same(Use::Capture, path, purpose));
        }
        if let Some((_, before)) = seen.iter().find(|(seen, _)| *seen == place) {
            return Err(same(*before, path, purpose));
        }
        seen.push((place, purpose));
    }
    Ok(())
}

/// Role of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Capture,
    Setting,
    Output,
}

/// Canonical path if it is a regular file or may become one; devices and pipes may be given
/// repeatedly.
fn regular_place(path: &Path) -> Option<PathBuf> {
    if path == Path::new(STDOUT) {
        return None;
    }
    match std::fs::canonicalize(path) {
        Ok(place) => place.is_file().then_some(place),
        Err(_) => {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            let folder = std::fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
            Some(folder.join(path.file_name()?))
        }
    }
}

fn same(before: Use, path: &Path, now: Use) -> Failure {
    let path = path.display();
    Failure::usage(match (before, now) {
        (Use::Capture, Use::Capture) => {
            format!("{path}: given twice with --pcap; give each capture once")
        }
        (Use::Output, Use::Output) => {
            format!("{path}: given for two outputs; give each its own file")
        }
        (_, Use::Output) => {
            format!("{path}: is an input of this run; give the output another name")
        }
        _ => format!("{path}: given twice, in different roles; give each its own file"),
    })
}
