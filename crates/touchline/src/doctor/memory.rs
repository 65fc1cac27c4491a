//! Checks of memory and of process limits.

use super::finding::{Asked, Finding};
use super::host::{Host, Unknown};
use crate::format::bytes;

type Look = Result<Finding, Unknown>;

const MIB: u64 = 1024 * 1024;
/// Memory of a bus with default settings: ring, and tables of some ten thousand instruments.
const BUS_BYTES: u64 = 64 * MIB;
/// Memory for a few buses.
const SHM_BYTES: u64 = 512 * MIB;
/// Default limit of most systems; sockets and buses of one gateway need some dozens.
const FILES: u64 = 1024;
/// `CAP_IPC_LOCK` of `linux/capability.h`.
const CAP_IPC_LOCK: u32 = 14;

pub fn huge_pages(host: &Host, _: &Asked) -> Look {
    const SHMEM: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
    let reserved = meminfo(host, "HugePages_Free:")?;
    let shmem = host.chosen(SHMEM)?;
    Ok(match (reserved, shmem.as_str()) {
        (_, "always" | "advise" | "within_size" | "force") => Finding::ok(format!(
            "shared memory: {shmem}; {reserved} reserved and free"
        )),
        (1.., _) => Finding::ok(format!("{reserved} reserved and free, for hugetlbfs")),
        _ => Finding::warn(
            format!("shared memory: {shmem}; none reserved"),
            format!("echo advise > {SHMEM}"),
        ),
    })
}

pub fn transparent_huge_pages(host: &Host, _: &Asked) -> Look {
    const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    let chosen = host.chosen(ENABLED)?;
    Ok(match chosen.as_str() {
        "always" => Finding::warn(chosen, format!("echo madvise > {ENABLED}")),
        _ => Finding::ok(chosen),
    })
}

pub fn memlock(host: &Host, _: &Asked) -> Look {
    let limit = limit(host, "Max locked memory")?;
    if has_capability(host, CAP_IPC_LOCK) {
        return Ok(Finding::ok("any amount, by CAP_IPC_LOCK"));
    }
    Ok(match limit {
        None => Finding::ok("unlimited"),
        Some(limit) if limit >= BUS_BYTES => Finding::ok(bytes(limit)),
        Some(limit) => Finding::warn(
            format!("{}; a bus takes up to {}", bytes(limit), bytes(BUS_BYTES)),
            "ulimit -l unlimited; in a unit LimitMEMLOCK=infinity",
        ),
    })
}

pub fn swap(host: &Host, _: &Asked) -> Look {
    let swaps = host.text("/proc/swaps")?;
    let areas: Vec<_> = swaps
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .collect();
    Ok(match areas.len() {
        0 => Finding::ok("none"),
        _ => Finding::warn(
            format!("{} areas", areas.len()),
            "swapoff -a; or lock_memory = \"required\" in [publication]",
        ),
    })
}

pub fn shm(host: &Host, _: &Asked) -> Look {
    let mounts = host.text("/proc/mounts")?;
    let of_shm = |line: &str| {
        let mut words = line.split(' ').skip(1);
        (words.next() == Some("/dev/shm")).then(|| words.next().unwrap_or_default().to_owned())
    };
    // The last mount covers those before it.
    match mounts.lines().filter_map(of_shm).next_back().as_deref() {
        Some("tmpfs" | "ramfs") => {}
        found => {
            return Ok(Finding::bad(
                found.map_or("not mounted: writes go to a disk".to_owned(), |kind| {
                    format!("a file system of kind {kind}, not of memory")
                }),
                "mount -t tmpfs -o mode=1777,size=1G tmpfs /dev/shm",
            ));
        }
    }
    let space = host.shm_space()?;
    let seen = format!(
        "{} free of {}",
        bytes(space.free_bytes),
        bytes(space.total_bytes)
    );
    let fix = "mount -o remount,size=1G /dev/shm; for a container --shm-size=1g";
    Ok(match space.free_bytes {
        ..BUS_BYTES => Finding::bad(seen, fix),
        BUS_BYTES..SHM_BYTES => Finding::warn(seen, fix),
        _ => Finding::ok(seen),
    })
}

pub fn open_files(host: &Host, _: &Asked) -> Look {
    Ok(match limit(host, "Max open files")? {
        Some(limit) if limit < FILES => Finding::warn(
            limit.to_string(),
            "ulimit -n 4096; in a unit LimitNOFILE=4096",
        ),
        Some(limit) => Finding::ok(limit.to_string()),
        None => Finding::ok("unlimited"),
    })
}

/// A limit of this process, inherited by processes started in the same way; `None`: unlimited.
fn limit(host: &Host, name: &str) -> Result<Option<u64>, Unknown> {
    let limits = host.text("/proc/self/limits")?;
    let rest = limits.lines().find_map(|line| line.strip_prefix(name));
    let soft = rest.and_then(|rest| rest.split_whitespace().next());
    match soft {
        Some("unlimited") => Ok(None),
        Some(number) => number.parse().map(Some).map_err(|_| no_limit(name)),
        None => Err(no_limit(name)),
    }
}

fn no_limit(name: &str) -> Unknown {
    Unknown(format!("/proc/self/limits does not say {name:?}"))
}

/// Whether this process has a capability; `false` if it cannot be read.
pub(super) fn has_capability(host: &Host, capability: u32) -> bool {
    let status = host.text("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    effective.is_some_and(|mask| mask >> capability & 1 == 1)
}

fn meminfo(host: &Host, key: &str) -> Result<u64, Unknown> {
    let info = host.text("/proc/meminfo")?;
    let rest = info.lines().find_map(|line| line.strip_prefix(key));
    let number = rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| Unknown(format!("/proc/meminfo does not say {key:?}")))
}
