//! Changes by other processes to the files of a bus in use.

use std::path::{Path, PathBuf};
use touchline_shm::segment::{Look, Mapping};

/// Reason why a publisher cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// A file is longer or shorter than this process made it: bytes that were cut off are lost, and readers refuse a longer file.
    #[error(
        "bus file truncated or extended: {0}; restart the publisher, which creates the bus again, and find the program that changed its length"
    )]
    OtherLength(PathBuf),
    /// A path leads to another file or nowhere: readers cannot find this publisher, and another one may start.
    #[error(
        "bus file removed or replaced: {0} is not the file that this process writes, so readers cannot open it; publishing ends. Restart the publisher, which creates the bus again, and find the program that removes files there: a cleaner of /dev/shm, or systemd-logind at the user's logout (RemoveIPC=yes)"
    )]
    NameLost(PathBuf),
}

impl Damage {
    /// Damage if a name was lost.
    pub(crate) fn of_name(lost: Option<&Path>) -> Result<(), Damage> {
        lost.map_or(Ok(()), |path| Err(Damage::NameLost(path.to_owned())))
    }

    /// Checks a mapped file. One system call.
    pub(crate) fn of_file(file: &Mapping) -> Result<(), Damage> {
        let path = || file.path().to_owned();
        match file.look() {
            Look::Whole => Ok(()),
            Look::NameLost => Err(Damage::NameLost(path())),
            Look::OtherLength => Err(Damage::OtherLength(path())),
        }
    }
}
