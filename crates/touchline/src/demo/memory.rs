//! Directory and ring size of the demo's bus, by the free memory.

use crate::format::bytes;
use crate::output::Failure;
use std::path::{Path, PathBuf};
use touchline_gateway::bus;

/// Largest and smallest ring of a demo.
const RING_BYTES: u64 = 8 * 1024 * 1024;
const RING_BYTES_MIN: u64 = 256 * 1024;

/// Memory of a bus without its ring: tables of a few instruments, counters, reserve.
const REST_BYTES: u64 = 4 * 1024 * 1024;

/// The selected directory and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Directory of the buses.
    pub directory: PathBuf,
    /// Bytes of the ring.
    pub ring_bytes: u64,
    /// Reason of the choice, as text.
    pub reason: String,
}

/// Selects by free memory.
///
/// # Errors
/// No room for the smallest ring in shared memory or in `temporary`.
pub fn choose(directory: Option<&Path>, temporary: &Path) -> Result<Choice, Failure> {
    // Absolute: the demo's processes must find it wherever the file that names it is.
    let shared = bus::root(directory).path().to_owned();
    let shared = std::path::absolute(&shared).unwrap_or(shared);
    let free = free_bytes(&shared);
    if let Some(choice) = ring_for(free).map(|ring_bytes| within(&shared, ring_bytes, free)) {
        return Ok(choice);
    }
    let free_there = free_bytes(temporary);
    match (directory, ring_for(free_there)) {
        (None, Some(ring_bytes)) => Ok(Choice {
            directory: temporary.join("buses"),
            ring_bytes,
            reason: format!(
                "{} free in /dev/shm are too few: a ring of {} in a file of {}, slower",
                bytes(free),
                bytes(ring_bytes),
                temporary.display()
            ),
        }),
        _ => Err(Failure::run(format!(
            "{}: {} free, {} needed; remount it larger, or give another directory with --dir",
            shared.display(),
            bytes(free),
            bytes(RING_BYTES_MIN + REST_BYTES)
        ))),
    }
}

fn within(directory: &Path, ring_bytes: u64, free: u64) -> Choice {
    Choice {
        directory: directory.to_owned(),
        ring_bytes,
        reason: format!(
            "a ring of {} in {}, where {} are free",
            bytes(ring_bytes),
            directory.display(),
            bytes(free)
        ),
    }
}

/// The largest ring that leaves half of the memory free.
fn ring_for(free: u64) -> Option<u64> {
    let most = (free / 2).checked_sub(REST_BYTES)?;
    let fits = |ring: &u64| *ring <= most;
    let rings = std::iter::successors(Some(RING_BYTES), |ring| Some(ring / 2));
    rings.take_while(|ring| *ring >= RING_BYTES_MIN).find(fits)
}

/// Free bytes at a path that may not exist yet.
fn free_bytes(place: &Path) -> u64 {
    let there = place
        .ancestors()
        .find_map(|path| rustix::fs::statvfs(path).ok());
    there.map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_size_follows_from_the_free_memory() {
        const MIB: u64 = 1024 * 1024;
        for (free, ring) in [
            (24 * 1024 * MIB, Some(8 * MIB)),
            (64 * MIB, Some(8 * MIB)),
            (24 * MIB, Some(8 * MIB)),
            (23 * MIB, Some(4 * MIB)),
            (9 * MIB, Some(MIB / 2)),
            (8 * MIB, None),
            (0, None),
        ] {
            assert_eq!(ring_for(free), ring, "{free}");
        }
    }

    #[test]
    fn a_file_system_without_room_is_refused_with_the_required_size() {
        // A file system without free space.
        let said = choose(Some(Path::new("/proc/nowhere")), Path::new("/proc"));
        let Err(Failure::Run(said)) = said else {
            panic!("{said:?}")
        };
        assert!(said.contains("needed") && said.contains("--dir"), "{said}");
        let said = choose(None, Path::new("/tmp"));
        assert!(said.is_ok(), "{said:?}");
    }
}
