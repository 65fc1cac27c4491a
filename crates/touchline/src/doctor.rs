//! `touchline doctor`: checks this host for low and steady latency and names fixes.

mod aeron;
mod buses;
mod calendars;
pub mod cpu_list;
mod finding;
mod guards;
mod host;
mod memory;
mod network;
mod pinned;
mod preload;
mod processors;
mod rules;
mod show;
mod tape;
#[cfg(test)]
mod tests;

use crate::output::{Failure, say};
use crate::place::Place;
use cpu_list::CpuList;
use finding::{Asked, Status};
use host::Host;
use std::path::PathBuf;

/// Check this host: clock, CPUs, memory, network, access to the buses.
///
/// Each check prints its finding, its reason and the fix. The host is not changed, and no privileges are needed. A
/// finding that a virtual machine or a container hides is `unknown`, which is not a failure.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// CPUs for gateways and readers, such as 2,3 or 4-7.
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Interface that receives the packets; by default the one of the multicast route.
    #[arg(long, value_name = "IF", value_parser = interface_name)]
    interface: Option<String>,
    /// Check a configuration: guards of fx run, fx compose or a bank's gateway whose values mean off, and missing ones; calendars;
    /// whether the processors that a gateway or a relay is bound to are isolated. May be given several times.
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Check the directory of a tape, for a recorder of this user: access, file system, hours of space at the present rate; may be
    /// given several times.
    #[arg(long, value_name = "DIR")]
    tape: Vec<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// Print one JSON object a line for each check.
    #[arg(long)]
    json: bool,
    /// Read the files of a test host below this directory.
    #[arg(long, value_name = "DIR", hide = true)]
    root: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline doctor
  touchline doctor --cpus 2,3 --interface eth1
  touchline doctor --config fx/run.toml --config cme-340.toml
  touchline doctor --tape /var/lib/touchline/tape-cme-340
  touchline doctor --json | jq 'select(.status == \"bad\")'

Result of a check:
  ok       nothing to do
  warn     works, but slower or with more jitter than necessary
  bad      does not work, or measurements will be wrong
  unknown  not visible from here

Exit status:
  0  no check is bad
  1  a check is bad
  2  bad arguments";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let host = match &arguments.root {
        Some(root) => Host::made_up(root),
        None => Host::this(),
    };
    let asked = Asked {
        cpus: arguments.cpus.clone(),
        interface: arguments.interface.clone(),
    };
    let mut checks = rules::check(&host, &asked);
    if arguments.root.is_none() {
        checks.push(buses::check(&arguments.place.monitor()));
    }
    for path in &arguments.config {
        checks.push(guards::check(path)?);
        checks.extend(calendars::check(path)?);
        checks.extend(pinned::check(&host, path)?);
    }
    checks.extend(arguments.tape.iter().flat_map(|path| tape::check(path)));
    say(&match arguments.json {
        true => show::json(&checks),
        false => show::text(&checks),
    })?;
    let bad = checks.iter().filter(|check| check.status == Status::Bad);
    let bad: Vec<_> = bad.map(|check| check.name).collect();
    match bad.as_slice() {
        [] => Ok(()),
        names => Err(Failure::run(format!(
            "checks failed: {}; each names its fix",
            names.join(", ")
        ))),
    }
}

/// Validates an interface name: one component of a path, as the kernel requires.
fn interface_name(name: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | ':');
    let is_name =
        (1..=15).contains(&name.len()) && name.chars().all(is_plain) && !matches!(name, "." | "..");
    match is_name {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "{name:?} cannot be an interface; `ip -brief link` names them"
        )),
    }
}
