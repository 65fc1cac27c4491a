//! What somebody did to the files of a bus while it is written.

use std::path::{Path, PathBuf};
use touchline_shm::segment::Mapping;

/// Why a publisher cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// A file is shorter than it was.
    #[error(
        "bus file cut short: {0}; start again, which begins the bus again, and find out who did it"
    )]
    CutShort(PathBuf),
    /// A path leads to another file, or to none: no reader finds this publisher, and another one may begin.
    #[error(
        "bus file removed or replaced: {0} is not the one that this process writes, so no reader finds it; publishing ends. Start again, which begins the bus again, and find out who removes files there: a cleaner of /dev/shm, or systemd-logind at the user's logout (RemoveIPC=yes)"
    )]
    NameLost(PathBuf),
}

impl Damage {
    /// That a name was lost, if one was.
    pub(crate) fn of_name(lost: Option<&Path>) -> Result<(), Damage> {
        lost.map_or(Ok(()), |path| Err(Damage::NameLost(path.to_owned())))
    }

    /// What happened to a mapped file. One system call.
    pub(crate) fn of_file(file: &Mapping) -> Result<(), Damage> {
        match file.intact() {
            true => Damage::of_name(file.lost_name()),
            false => Err(Damage::CutShort(file.path().to_owned())),
        }
    }
}
