//! Pinned loops of a configuration: whether their processors are theirs alone.

use super::finding::{Finding, Status};
use super::host::{Host, Unknown};
use super::processors;
use super::rules::Check;
use crate::output::Failure;
use serde::Deserialize;
use std::path::Path;
use touchline_credentials::read_config;
use touchline_settings::{Manual, Mistakes};

const WHY: &str = "the scheduler runs other threads on a processor that is not isolated, and its timer interrupts the loop: packets \
                   wait, up to milliseconds";

/// The settings that bind a thread to a processor: of a gateway, and of a relay.
#[derive(Debug, Default, Deserialize)]
struct Pinned {
    #[serde(default)]
    gateway: PinnedGateway,
    cpu_affinity: Option<usize>,
    #[serde(default)]
    driver_cpus: Vec<usize>,
}

#[derive(Debug, Default, Deserialize)]
struct PinnedGateway {
    loop_cpu_affinity: Option<usize>,
}

/// Checks the processors that a file binds threads to; none without any.
///
/// # Errors
/// The file cannot be read.
pub fn check(host: &Host, path: &Path) -> Result<Option<Check>, Failure> {
    let text = read_config(path).map_err(Failure::usage)?;
    let manual = Manual::page("docs/host.md");
    let read = touchline_settings::read(&text, &manual, |pinned: Pinned| Ok::<_, Mistakes>(pinned));
    // What reads the file reports its mistake.
    let settings = read.map_or_else(|_| Vec::new(), |pinned| pinned.settings());
    if settings.is_empty() {
        return Ok(None);
    }
    let cpus = settings.iter().flat_map(|(_, cpus)| cpus.iter().copied());
    let looked = processors::own(host, &cpus.collect());
    let Finding { status, seen, fix } = looked.unwrap_or_else(|Unknown(seen)| Finding {
        status: Status::Unknown,
        seen,
        fix: None,
    });
    let names: Vec<&str> = settings.iter().map(|(name, _)| *name).collect();
    Ok(Some(Check {
        name: "pinned",
        status,
        seen: format!("{}: {}: {seen}", path.display(), names.join(", ")),
        why: WHY,
        fix,
    }))
}

impl Pinned {
    /// The settings that are given, with their processors.
    fn settings(self) -> Vec<(&'static str, Vec<usize>)> {
        let one = |cpu: Option<usize>| cpu.into_iter().collect();
        let mut settings = vec![
            ("loop_cpu_affinity", one(self.gateway.loop_cpu_affinity)),
            ("cpu_affinity", one(self.cpu_affinity)),
            ("driver_cpus", self.driver_cpus),
        ];
        settings.retain(|(_, cpus)| !cpus.is_empty());
        settings
    }
}
