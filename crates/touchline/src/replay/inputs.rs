//! Inputs of a replay, checked before it starts.

use super::{Arguments, Join};
use crate::output::{Failure, STDOUT};
use std::path::{Path, PathBuf};
use touchline_feed::cme;
use touchline_gateway::venues::VENUES;
use touchline_gateway::venues::cme::{CmeConfig, check_config};

/// Effective configuration: the file or the defaults, overridden by the arguments.
pub fn config(arguments: &Arguments) -> Result<CmeConfig, Failure> {
    let mut config = match (&arguments.config, &arguments.config_xml, arguments.channel) {
        (Some(file), None, None) => {
            check_config(file, None).map_err(Failure::usage)?;
            VENUES.read_as(file).map_err(Failure::file)?
        }
        (None, Some(config_xml), Some(channel)) => {
            check_config(config_xml, Some(channel)).map_err(Failure::usage)?;
            CmeConfig::of_cme_channel(config_xml, channel)
        }
        (Some(_), _, _) => {
            return Err(Failure::usage(
                "--config names the channel already; leave out --config-xml and --channel",
            ));
        }
        (None, Some(_), None) => {
            return Err(Failure::usage(
                "--config-xml has many channels; choose one with --channel N",
            ));
        }
        (None, None, _) => {
            return Err(Failure::usage(
                "no channel is given; give --config FILE, or --config-xml FILE --channel N",
            ));
        }
    };
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

/// Checks that no file is given twice, no output replaces an input, and standard output has one writer.
pub fn check_paths(arguments: &Arguments, config: &CmeConfig) -> Result<(), Failure> {
    if arguments.pcap.is_empty() {
        return Err(Failure::usage("no captures are given; give --pcap FILE..."));
    }
    let stdout = arguments
        .outputs()
        .filter(|path| *path == Path::new(STDOUT));
    if stdout.count() + usize::from(arguments.print) > 1 {
        return Err(Failure::usage(
            "standard output can have one of --books -, --orders -, --tops - and --print; \
             give files for the others",
        ));
    }
    let mut seen: Vec<(PathBuf, Use)> = Vec::new();
    let captures = arguments
        .pcap
        .iter()
        .map(|path| (path.as_path(), Use::Capture));
    let settings = [arguments.config.as_deref(), Some(&*config.venue.config_xml)];
    let settings = settings
        .into_iter()
        .flatten()
        .map(|path| (path, Use::Setting));
    let outputs = arguments.outputs().map(|path| (path, Use::Output));
    for (path, purpose) in captures.chain(settings).chain(outputs) {
        let Some(place) = regular_place(path) else {
            continue;
        };
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
