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
            // Processes in two containers may have one id.
            part: directory.join(format!("{HOLDERS}-{name}-{}.part", std::process::id())),
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

    /// Writes its position, whole or not at all. It is on the disk afterwards.
    ///
    /// # Errors
    /// The file cannot be written, or a folder above it cannot be synced.
    pub fn keep(&self, position: u64) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = File::create(&self.part)?;
        file.write_all(&position.to_le_bytes())?;
        file.sync_all()?;
        std::fs::rename(&self.part, &self.path)?;
        // Of the first position the folder of the holders is new, too.
        let folders = [self.path.parent(), self.part.parent()];
        for folder in folders.into_iter().flatten() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

fn position_of(bytes: Vec<u8>) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

/// The smallest position of a holder; a file that is not one holds everything.
///
/// # Errors
/// The folder of the holders cannot be read: which segments they need is unknown.
pub(crate) fn held_from(directory: &Path) -> std::result::Result<u64, touchline_journal::Error> {
    let folder = directory.join(HOLDERS);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        // mutant: tape: holders that cannot be read hold nothing
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(u64::MAX),
        Err(source) => {
            return Err(touchline_journal::Error::Io {
                action: "list the holders of segments (none is removed: give the recorder access to this folder)",
                name: folder.display().to_string(),
                source,
            });
        }
    };
    let positions = entries.map(|entry| {
        let bytes = entry.and_then(|entry| std::fs::read(entry.path()));
        bytes.ok().and_then(position_of).unwrap_or(0)
    });
    Ok(positions.min().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retention::Retention;
    use touchline_testing::Folder;

    /// Processes of two containers may have the same id: one holder must not get the position of the other.
    #[test]
    fn holders_of_two_names_share_no_file() {
        let tape = Folder::new("holders");
        let [one, other] = ["one", "other"].map(|name| Holder::new(&tape, name));
        assert_ne!(one.part, other.part);
        one.keep(7).expect("room");
        other.keep(9).expect("room");
        assert_eq!(one.position().expect("a position"), Some(7));
        assert_eq!(other.position().expect("a position"), Some(9));
        assert_eq!(held_from(&tape).expect("two positions"), 7);
        let names = std::fs::read_dir(&*tape).expect("a folder").flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        assert_eq!(names, [HOLDERS], "no part is left");
    }

    /// A file in place of the folder cannot be listed, also by root.
    #[test]
    fn nothing_is_removed_while_the_holders_cannot_be_listed() {
        let tape = Folder::new("holders-unknown");
        assert_eq!(held_from(&tape).expect("no holder"), u64::MAX);
        std::fs::write(tape.join(HOLDERS), "").expect("room");
        let limit = Retention {
            bytes_max: Some(0),
            ..Retention::default()
        };
        let text = limit.apply(&tape, |_| 0).expect_err("unknown").to_string();
        let is_told = text.contains("cannot list the holders") && text.contains("none is removed");
        assert!(is_told && text.contains("/holders:"), "{text}");
    }
}
