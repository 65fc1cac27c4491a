//! The directory of a tape: who may write it, its file system, and how long its space lasts.

use super::finding::{Finding, Status};
use super::rules::Check;
use crate::format::bytes;
use rustix::fs::{Access, StatVfsMountFlags};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use touchline_journal::{begin_of, segment_numbers, writer};

/// Time for which a tape should have space, hours.
const HOURS_LEAST: f64 = 24.0;
/// The present segment and the next one, of the default size.
const BYTES_LEAST: u64 = 512 << 20;
/// Segments of which the rate is that of the present.
const RECENT: usize = 8;

/// File systems by the number of their kind: name, and why a tape should not be there.
const FILE_SYSTEMS: &[(u64, &str, Option<&str>)] = &[
    (0xEF53, "ext4", None),
    (0x5846_5342, "XFS", None),
    (0x9123_683E, "Btrfs", None),
    (0xF2F5_2010, "F2FS", None),
    (0x794C_7630, "overlay", None),
    (0x0102_1994, "tmpfs", Some(IN_MEMORY)),
    (0x8584_58F6, "ramfs", Some(IN_MEMORY)),
    (0x6969, "NFS", Some(NO_SPACE)),
    (0x6573_5546, "FUSE", Some(NO_SPACE)),
    (0xFF53_4D42, "CIFS", Some(NO_SPACE)),
    (0xFE53_4D42, "SMB", Some(NO_SPACE)),
    (0x4D44, "FAT", Some(NO_SPACE)),
];
const IN_MEMORY: &str = "it is memory, and lost with the host";
const NO_SPACE: &str = "it may not allocate space, so that each segment is written twice, and a sync may wait for a network";

/// Checks a directory, which need not exist yet.
pub fn check(directory: &Path) -> [Check; 3] {
    [
        (
            "tape_directory",
            access(directory),
            "a tape is of one user, and one recorder writes it",
        ),
        (
            "tape_file_system",
            file_system(directory),
            "a segment takes its space when it is made, and each record is synced",
        ),
        (
            "tape_space",
            space(directory),
            "a recorder whose disk is full waits, and is overrun by its buses",
        ),
    ]
    .map(|(name, found, why)| Check {
        name,
        status: found.status,
        seen: format!("{}: {}", directory.display(), found.seen),
        why,
        fix: found.fix,
    })
}

fn unknown(seen: impl ToString) -> Finding {
    Finding {
        status: Status::Unknown,
        seen: seen.to_string(),
        fix: None,
    }
}

/// The directory, or the one in which it will be made.
fn existing(directory: &Path) -> &Path {
    let parent = directory
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    match directory.exists() {
        true => directory,
        false => parent.unwrap_or(Path::new(".")),
    }
}

fn access(directory: &Path) -> Finding {
    let about = match std::fs::symlink_metadata(directory) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return access_of_parent(directory),
        Err(error) => {
            return Finding::bad(error.to_string(), "run this as the user of the recorder");
        }
    };
    let me = rustix::process::geteuid().as_raw();
    if !about.is_dir() {
        return Finding::bad("not a directory, or a symlink", "give the directory itself");
    }
    if about.uid() != me {
        let seen = format!("it belongs to user {}, and this is user {me}", about.uid());
        return Finding::bad(
            seen,
            "run this as the user of the recorder, or give another directory",
        );
    }
    if about.mode() & 0o077 != 0 {
        let seen = format!(
            "mode {:04o} gives access to other users",
            about.mode() & 0o7777
        );
        return Finding::bad(seen, format!("chmod 700 {}", directory.display()));
    }
    if let Some(refused) = not_writable(directory) {
        return refused;
    }
    Finding::ok(match writer(directory) {
        Some(writer) => format!("process {} writes it", writer.pid),
        None => "no recorder writes it".to_owned(),
    })
}

fn access_of_parent(directory: &Path) -> Finding {
    let parent = existing(directory);
    if !parent.is_dir() {
        let seen = format!("its folder {} does not exist", parent.display());
        return Finding::bad(seen, format!("mkdir -p {}", parent.display()));
    }
    match not_writable(parent) {
        Some(refused) => refused,
        None => Finding::ok("it does not exist yet, and can be made"),
    }
}

/// Why a directory cannot be written.
fn not_writable(directory: &Path) -> Option<Finding> {
    let about = rustix::fs::statvfs(directory).ok();
    if about.is_some_and(|about| about.f_flag.contains(StatVfsMountFlags::RDONLY)) {
        let fix =
            "mount it for writing (dmesg says whether the kernel has stopped that after an error)";
        return Some(Finding::bad("its file system is read-only", fix));
    }
    let refused = rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK).err()?;
    Some(Finding::bad(
        format!("it cannot be written: {refused}"),
        "run this as the user of the recorder",
    ))
}

fn file_system(directory: &Path) -> Finding {
    match rustix::fs::statfs(existing(directory)) {
        Ok(about) => file_system_of(about.f_type as u64),
        Err(error) => unknown(format!("its file system does not say: {error}")),
    }
}

fn file_system_of(kind: u64) -> Finding {
    match FILE_SYSTEMS.iter().find(|known| known.0 == kind) {
        Some((_, name, None)) => Finding::ok(*name),
        Some((_, name, Some(why))) => {
            Finding::warn(format!("{name}: {why}"), "give a directory on ext4 or XFS")
        }
        None => unknown(format!("a file system of kind {kind:#x}")),
    }
}

fn space(directory: &Path) -> Finding {
    let Ok(about) = rustix::fs::statvfs(existing(directory)) else {
        return unknown("its file system does not say");
    };
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    space_of(free, rate(directory))
}

/// Bytes that the last segments took each second, uncompressed; `None` without two of them.
fn rate(directory: &Path) -> Option<f64> {
    let numbers = segment_numbers(directory).ok()?;
    let recent = numbers.iter().rev().take(RECENT);
    let mut begins = recent.filter_map(|index| begin_of(directory, *index).ok()?);
    let last = begins.next()?;
    let first = begins.next_back()?;
    let seconds = last.1.checked_sub(first.1)? as f64 / 1e9;
    (seconds > 0.0).then(|| (last.0 - first.0) as f64 / seconds)
}

fn space_of(free: u64, rate: Option<f64>) -> Finding {
    let fix =
        "limit the tape (--keep-gb, --keep-hours, --free-gb), --compress, or give it a larger disk";
    if free < BYTES_LEAST {
        return Finding::bad(format!("{} free", bytes(free)), fix);
    }
    let Some(rate) = rate.filter(|rate| *rate > 0.0) else {
        let seen = format!("{} free; two segments show for how long", bytes(free));
        return Finding::ok(seen);
    };
    let hours = free as f64 / rate / 3_600.0;
    let seen = format!(
        "{} free, for {hours:.1} hours at the present {}/s, uncompressed",
        bytes(free),
        bytes(rate as u64)
    );
    match hours < HOURS_LEAST {
        true => Finding::warn(seen, fix),
        false => Finding::ok(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use touchline_testing::Folder;

    #[test]
    fn space_is_judged_by_the_time_that_it_lasts() {
        for (free, rate, status) in [
            (BYTES_LEAST - 1, None, Status::Bad),
            (1 << 40, None, Status::Ok),
            (1 << 40, Some(0.0), Status::Ok),
            (86_400_000_000, Some(1_000_001.0), Status::Warn),
            (86_400_000_000, Some(999_999.0), Status::Ok),
        ] {
            let found = space_of(free, rate);
            assert_eq!(found.status, status, "{}", found.seen);
            assert_eq!(found.fix.is_some(), status != Status::Ok);
        }
        let found = space_of(1 << 40, Some(1e6));
        assert!(found.seen.contains("for 305.4 hours"), "{}", found.seen);
    }

    #[test]
    fn a_file_system_without_space_or_disk_is_a_warning() {
        for (kind, status) in [
            (0xEF53, Status::Ok),
            (0x0102_1994, Status::Warn),
            (0x6969, Status::Warn),
            (7, Status::Unknown),
        ] {
            assert_eq!(file_system_of(kind).status, status, "{kind:#x}");
        }
    }

    #[test]
    fn a_directory_that_a_recorder_would_refuse_is_bad() {
        let folder = Folder::new("doctor-tape");
        let path = folder.join("tape");
        assert_eq!(access(&path).status, Status::Ok, "it can be made");
        let found = access(&folder.join("no/tape"));
        assert_eq!(found.status, Status::Bad, "{}", found.seen);
        assert!(found.fix.is_some_and(|fix| fix.starts_with("mkdir -p ")));
        std::fs::create_dir(&path).expect("our folder");
        for (mode, status) in [(0o700, Status::Ok), (0o750, Status::Bad)] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("our folder");
            assert_eq!(access(&path).status, status);
        }
        std::fs::write(folder.join("file"), "").expect("our folder");
        assert_eq!(access(&folder.join("file")).status, Status::Bad);
        std::os::unix::fs::symlink(&path, folder.join("link")).expect("our folder");
        assert_eq!(access(&folder.join("link")).status, Status::Bad);
    }
}
