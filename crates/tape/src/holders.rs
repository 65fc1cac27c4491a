//! Readers that hold segments of a tape: each has a file with the position, 8 bytes, little-endian, up to which it is done.

use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// Folder of the holders in the directory of a tape.
const HOLDERS: &str = "holders";

/// The position of a reader in a tape: segments from there on are not removed.
#[derive(Debug)]
pub struct Holder {
    path: PathBuf,
    /// A position that is being written. It is not in the folder, where it would hold segments itself.
    part: PathBuf,
}

impl Holder {
    /// The holder of this name, of the tape in `directory`; its file may be absent.
    pub fn new(directory: &Path, name: &str) -> Holder {
        Holder {
            path: directory.join(HOLDERS).join(name),
            part: directory.join(format!("{HOLDERS}-{}.part", std::process::id())),
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its position; `None`: it has none so far.
    ///
    /// # Errors
    /// The file cannot be read, or is not a position: [`ErrorKind::InvalidData`].
    pub fn position(&self) -> Result<Option<u64>> {
        match std::fs::read(&self.path) {
            Ok(bytes) => match position_of(bytes) {
                Some(position) => Ok(Some(position)),
                None => Err(Error::from(ErrorKind::InvalidData)),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes its position, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, position: u64) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = File::create(&self.part)?;
        file.write_all(&position.to_le_bytes())?;
        file.sync_all()?;
        std::fs::rename(&self.part, &self.path)
    }
}

fn position_of(bytes: Vec<u8>) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

/// The smallest position of a holder; a file that is not one holds everything.
pub(crate) fn held_from(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory.join(HOLDERS));
    let positions = entries.into_iter().flatten().map(|entry| {
        let bytes = entry.and_then(|entry| std::fs::read(entry.path()));
        bytes.ok().and_then(position_of).unwrap_or(0)
    });
    positions.min().unwrap_or(u64::MAX)
}
