//! Checks of Aeron's media drivers that relays run.

use super::finding::{Asked, Finding};
use super::host::{Host, Unknown};
use super::processors::allowed_cpus;

type Look = Result<Finding, Unknown>;

/// Folders of media drivers of relays: `touchline-aeron-relay-PID`.
const FOLDERS: &str = "touchline-aeron-relay-";

/// Names of the threads of a media driver; newer versions of Aeron use the second ones.
const THREADS: [[&str; 2]; 3] = [
    ["conductor", "aeron-md-cnd"],
    ["sender", "aeron-md-snd"],
    ["receiver", "aeron-md-rcv"],
];
/// CPUs that a driver with threads needs: three for these, one for the relay, one for the gateway or the reader.
const CPUS_MIN: usize = 5;

pub fn drivers(host: &Host, _: &Asked) -> Look {
    let (alive, dead): (Vec<_>, Vec<_>) = relays(host)?.into_iter().partition(|(_, alive)| *alive);
    Ok(match dead.as_slice() {
        [] => Finding::ok(format!("{} in use", alive.len())),
        [(first, _), ..] => Finding::warn(
            format!("{} left by killed relays", dead.len()),
            format!("rm -r /dev/shm/{FOLDERS}{first}"),
        ),
    })
}

pub fn threads(host: &Host, _: &Asked) -> Look {
    let alive = relays(host)?.into_iter().filter(|(_, alive)| *alive);
    let with_threads: Vec<u32> = alive
        .map(|(pid, _)| pid)
        .filter(|pid| has_driver_threads(host, *pid))
        .collect();
    for pid in &with_threads {
        let allowed = allowed_cpus(host, &pid.to_string())?;
        if allowed.iter().count() < CPUS_MIN {
            return Ok(Finding::warn(
                format!("relay {pid}: three driver threads that spin, on CPUs {allowed}"),
                format!(
                    "remove driver = \"threads\" from its configuration, or allow it {CPUS_MIN} CPUs or more"
                ),
            ));
        }
    }
    Ok(Finding::ok(match with_threads.len() {
        0 => "no relay with driver threads".to_owned(),
        count => format!("{count} relays with driver threads, and CPUs for them"),
    }))
}

/// Process ids of the relays whose media driver has a folder, and whether they are running.
fn relays(host: &Host) -> Result<Vec<(u32, bool)>, Unknown> {
    // A host that hides its mounts may hide the folders as well.
    host.text("/proc/mounts")?;
    let names = host.names("/dev/shm").into_iter();
    let pids = names.filter_map(|name| name.strip_prefix(FOLDERS)?.parse().ok());
    let relays = pids.map(|pid: u32| (pid, host.has_directory(&format!("/proc/{pid}"))));
    Ok(relays.collect())
}

fn has_driver_threads(host: &Host, pid: u32) -> bool {
    let task = format!("/proc/{pid}/task");
    let names = host.names(&task).into_iter();
    let names = names.filter_map(|thread| host.text(&format!("{task}/{thread}/comm")).ok());
    let names: Vec<String> = names.collect();
    let has = |either: &[&str; 2]| names.iter().any(|name| either.contains(&name.as_str()));
    THREADS.iter().all(has)
}
