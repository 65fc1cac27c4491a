//! Errors of the files of a bus, with place and fix.

use super::holder::Holder;
use super::users::{GROUPS, NO_USER, USERS, is_unmapped, this_user};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::fmt;
use std::path::{Path, PathBuf};

/// Error of creating, opening or locking a segment. Printed as one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An invalid file name.
    #[error(
        "{name:?} cannot be the name of a {what}: {why}; use 1 to 64 letters, digits, '-', '_' or '.', and no '.' in front"
    )]
    Name {
        /// `bus` or `file`.
        what: &'static str,
        /// The name, truncated if long.
        name: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// No such bus or file.
    #[error("{path} does not exist; is its gateway running, and with the same directory and user?")]
    Missing {
        /// Its path.
        path: PathBuf,
    },
    /// The parent of the directory of buses does not exist, for example `/dev/shm`.
    #[error(
        "{parent} does not exist, so {path} cannot be opened or created; {}",
        parent_advice(parent)
    )]
    NoParent {
        /// The directory of buses.
        path: PathBuf,
        /// The missing parent.
        parent: PathBuf,
    },
    /// The file or directory belongs to another user.
    #[error(
        "{path} belongs to user {owner}{}, not to {}: not touched; run as that user, or choose another directory", unmapped(*.owner, USERS), trusted(*.expected)
    )]
    Foreign {
        /// Path.
        path: PathBuf,
        /// Its owner, a user id.
        owner: u32,
        /// The only accepted owner.
        expected: u32,
    },
    /// Others have more access than the settings allow.
    #[error(
        "{path} has mode {mode:04o}, which gives others more than {allowed:04o}: not trusted; check its contents, then 'chmod go= {path}'"
    )]
    Exposed {
        /// Path.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Maximum accepted permission bits.
        allowed: u32,
    },
    /// This user may not read the file or directory.
    #[error(
        "{path} belongs to user {owner}{} and group {group}{}, mode {mode:04o}: user {user} may not read it; {}", unmapped(*.owner, USERS), unmapped(*.group, GROUPS), denied_advice(*.mode)
    )]
    Denied {
        /// Path.
        path: PathBuf,
        /// User of this process.
        user: u32,
        /// Owner, a user id.
        owner: u32,
        /// Its group, a group id.
        group: u32,
        /// Its permission bits.
        mode: u32,
    },
    /// There is no such group.
    #[error(
        "group {name:?} does not exist; create it (groupadd), or give a group of this host by name or number"
    )]
    NoGroup {
        /// Its name.
        name: String,
    },
    /// A bus cannot be given to its group.
    #[error(
        "{path} cannot be given to group {group}: {}", member_advice(*.user, *.is_unmapped)
    )]
    NotMember {
        /// The file or directory.
        path: PathBuf,
        /// The group.
        group: u32,
        /// User of this process.
        user: u32,
        /// The user namespace of this process does not have the group.
        is_unmapped: bool,
    },
    /// The directory of the buses is shared with another group.
    #[error(
        "{path} is shared with group {group}, and its buses cannot be shared with group {wanted} as well; set the same group, choose another directory, or 'chgrp {wanted} {path}' if no publisher there needs the other"
    )]
    OtherGroup {
        /// The directory of buses.
        path: PathBuf,
        /// Its group.
        group: u32,
        /// The group of the publisher that was started.
        wanted: u32,
    },
    /// A symlink, a device, or another unexpected type.
    #[error("{path} is a {found}, not a {expected}: not touched; {}", kind_advice(*.owner))]
    Kind {
        /// Path.
        path: PathBuf,
        /// Its owner, a user id, if it is another user.
        owner: Option<u32>,
        /// Its type.
        found: &'static str,
        /// Expected type.
        expected: &'static str,
    },
    /// A size that cannot be mapped.
    #[error(
        "{path}: {bytes} bytes cannot be mapped, it must be a multiple of {page_bytes} and not 0; {advice}"
    )]
    Size {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// Unit of sizes in this file system.
        page_bytes: u64,
        /// Fix.
        advice: &'static str,
    },
    /// A file that another process made longer or shorter.
    #[error(
        "{path} has {bytes} bytes, and {stated_bytes} are stated for it: another process changed its length, so it is not read; restart its publisher, and find the program that changes files there"
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// Size that its publisher gave it.
        stated_bytes: u64,
    },
    /// The file system has too little space.
    #[error(
        "{} needed for {path}, {} free there; remove buses without a publisher (touchline stat --prune), or choose a smaller ring_bytes", Size(*needed_bytes), Size(*free_bytes)
    )]
    NoSpace {
        /// The file to be made or to be grown.
        path: PathBuf,
        /// Needed size.
        needed_bytes: u64,
        /// Free size.
        free_bytes: u64,
    },
    /// The directory is on `hugetlbfs`, and the system has too few huge pages reserved.
    #[error(
        "{} of huge pages needed for {path}, fewer are free; reserve more by 'sysctl vm.nr_hugepages=…', or choose a directory in /dev/shm", Size(*needed_bytes)
    )]
    NoHugePages {
        /// The file to be made or to be grown.
        path: PathBuf,
        /// Needed size.
        needed_bytes: u64,
    },
    /// The process may not create files of this size.
    #[error(
        "{} needed for {path}, but this process may only make files of {}; raise 'ulimit -f', or choose a smaller size", Size(*needed_bytes), Size(*limit_bytes)
    )]
    FileSizeLimit {
        /// The file to be made.
        path: PathBuf,
        /// Needed size.
        needed_bytes: u64,
        /// `RLIMIT_FSIZE`.
        limit_bytes: u64,
    },
    /// The memory cannot be locked, and the settings require it.
    #[error(
        "{} of {path} cannot be locked in memory ({source}), the limit is {}; raise 'ulimit -l', or do not require the lock", Size(*needed_bytes), Size(*limit_bytes)
    )]
    NotLocked {
        /// The file.
        path: PathBuf,
        /// Size to be locked.
        needed_bytes: u64,
        /// `RLIMIT_MEMLOCK`.
        limit_bytes: u64,
        /// System error.
        source: Errno,
    },
    /// Another process writes this bus.
    #[error("bus {bus} is being written by {holder}; stop it, or choose another name")]
    Busy {
        /// The bus.
        bus: String,
        /// The writer.
        holder: Holder,
    },
    /// Its writer's lock file was removed.
    #[error(
        "{path} is still being written by {}, whose lock file was removed or replaced; a gateway ends by itself within a second then: start again, or end that process first", process_text(*.process)
    )]
    InUse {
        /// The file or directory.
        path: PathBuf,
        /// The writer, if the system reports it.
        process: Option<u32>,
    },
    /// All slots of registered readers are taken.
    #[error(
        "{path}: all {slots} places for readers are taken; stop one, or have the publication made with more"
    )]
    NoFreeSlot {
        /// The file with the slots.
        path: PathBuf,
        /// Number of slots.
        slots: u32,
    },
    /// This process has more mappings than the table of the fault handler.
    #[error("{path}: this process has {mappings_max} segments mapped already; close some")]
    TooManyMappings {
        /// The file.
        path: PathBuf,
        /// The limit.
        mappings_max: usize,
    },
    /// A system call failed.
    #[error("cannot {action} {path}: {source}{}", advice(*.source))]
    System {
        /// The action.
        action: &'static str,
        /// Its path.
        path: PathBuf,
        /// System error.
        source: Errno,
    },
}

impl Error {
    /// Whether memory, or room in the address space of this process, was missing.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(
            self,
            Self::System {
                source: Errno::NOMEM,
                ..
            }
        )
    }

    /// For `map_err`: an error of opening, in which a missing file is a case of its own.
    pub(super) fn opening(path: impl Into<PathBuf>) -> impl FnOnce(Errno) -> Self {
        // The path is built only for an error: a successful check allocates nothing.
        move |source| match source {
            Errno::NOENT => Self::Missing { path: path.into() },
            source => Self::system("open", path)(source),
        }
    }

    /// Error: this user may not read a path.
    pub(super) fn denied(path: PathBuf, stat: &Stat) -> Self {
        Self::Denied {
            path,
            user: this_user(),
            owner: stat.st_uid,
            group: stat.st_gid,
            mode: stat.st_mode & 0o777,
        }
    }

    /// For `map_err`: an error with action and path.
    pub(super) fn system(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(Errno) -> Self {
        move |source| Self::System {
            action,
            path: path.into(),
            source,
        }
    }
}

fn parent_advice(parent: &Path) -> &'static str {
    match parent == Path::new("/dev/shm") {
        true => "mount -t tmpfs -o mode=1777,size=1G tmpfs /dev/shm",
        false => "make the directory above it first",
    }
}

fn trusted(user: u32) -> String {
    match user {
        NO_USER => "a user that this process may trust".to_owned(),
        user => format!("user {user}"),
    }
}

fn unmapped(number: u32, map: &str) -> &'static str {
    match is_unmapped(number, map) {
        true => " (any that this user namespace does not map)",
        false => "",
    }
}

fn denied_advice(mode: u32) -> &'static str {
    match mode & 0o050 {
        0 => "set `group` at its publisher to a group of this user, or run as its owner",
        _ => "make this user a member of that group, and log in again, or run as its owner",
    }
}

fn member_advice(user: u32, is_unmapped: bool) -> String {
    match is_unmapped {
        true => "this user namespace does not map it; map it, or set another `group`".to_owned(),
        false => format!(
            "user {user} is not a member; make it one (usermod -aG; SupplementaryGroups= of a unit) and start again, or set another `group`"
        ),
    }
}

fn kind_advice(owner: Option<u32>) -> String {
    match owner {
        None => "remove it".to_owned(),
        Some(owner) => format!("it belongs to user {owner}: choose another directory"),
    }
}

/// The kind of a file as text.
pub fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "regular file",
        FileType::Directory => "directory",
        FileType::Symlink => "symlink",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        _ => "thing of unknown kind",
    }
}

fn process_text(process: Option<u32>) -> String {
    process.map_or("another process".to_owned(), |process| {
        format!("process {process}")
    })
}

fn advice(source: Errno) -> &'static str {
    match source {
        Errno::ACCESS | Errno::PERM => "; run as the user who owns it",
        Errno::NOENT => "; make the directory above it first",
        Errno::NOSPC | Errno::DQUOT => "; free some space there",
        Errno::MFILE => "; raise 'ulimit -n'",
        Errno::NOMEM => "; free some memory, or raise 'vm.max_map_count'",
        Errno::ROFS => "; choose a directory that can be written",
        _ => "",
    }
}

/// A size in bytes as text.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
        if self.0 < 1024 {
            return write!(out, "{} bytes", self.0);
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(out, "{value:.1} {}", UNITS[unit])
    }
}
