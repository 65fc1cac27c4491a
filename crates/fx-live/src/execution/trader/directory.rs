//! The directory of the journal: whether its files can be found again under the configured path.

use std::path::{Path, PathBuf};
use touchline_journal::format::segment_name;
use touchline_journal::{FileId, Journal};

/// Directory of the journal.
pub(super) struct Directory {
    pub path: PathBuf,
    /// The segment that was checked last, and its path.
    segment: Option<(u64, PathBuf)>,
}

impl Directory {
    pub fn at(path: &Path) -> Directory {
        Directory {
            path: path.to_owned(),
            segment: None,
        }
    }

    /// Whether the path leads to the directory that the journal opened.
    pub fn is_there(&self, journal: &Journal) -> bool {
        let about = std::fs::metadata(&self.path);
        about.is_ok_and(|about| FileId::of(&about) == journal.directory())
    }

    /// The first segment since the last check whose file is missing, replaced or too short; `None` if all are sound.
    /// The segment being written is compared with the file that the journal made. Allocates for a new segment.
    pub fn lacks(&mut self, journal: &Journal) -> Option<u64> {
        let number = journal.segment();
        let seen = match self.segment.take() {
            Some((seen, path)) if seen == number => {
                let is_there = is_made(journal, number, &path);
                self.segment = Some((seen, path));
                return (!is_there).then_some(number);
            }
            Some((seen, _)) => seen,
            None => number,
        };
        let path = |number| self.path.join(segment_name(number));
        let lacks = (seen..=number).find(|&number| !is_made(journal, number, &path(number)));
        self.segment = Some((number, path(number)));
        lacks
    }
}

/// Whether the path of a segment leads to the file that the journal made for it. A complete segment may be compressed since.
fn is_made(journal: &Journal, number: u64, path: &Path) -> bool {
    let about = std::fs::symlink_metadata(path);
    let (about, made) = match (about, journal.made(number)) {
        (Ok(about), Some(made)) => (about, made),
        (Ok(_), None) => return true,
        (Err(_), _) => {
            return number < journal.segment() && path.with_extension("tlj.zst").exists();
        }
    };
    FileId::of(&about) == made.id && about.len() >= made.bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Duration;
    use touchline_journal::{Options, Record, Refused, Root, WriterLock};
    use touchline_testing::Folder;

    const SEGMENT_BYTES: u64 = 64 << 10;

    /// A journal with small segments below a folder.
    fn journal(folder: &Path) -> Journal {
        let root = Root::at(folder.join("bus"));
        let bus = WriterLock::acquire(root.create("engine").expect("a bus")).expect("its lock");
        let options = Options {
            segment_bytes: SEGMENT_BYTES,
            ring_bytes: 1 << 20,
            write_zeros: false,
            ..Options::orders("test")
        };
        Journal::open(&folder.join("orders"), &bus, &options, 1).expect("a journal")
    }

    /// Appends until this segment is written.
    fn append_until(journal: &mut Journal, segment: u64) {
        while journal.segment() < segment {
            let record = Record {
                stream: 1,
                kind: 48,
                time_ns: 1,
                body: &[7; 1_000],
            };
            match journal.append(&record) {
                Ok(_) => {}
                // The journal's thread is behind.
                Err(Refused::NoSegment | Refused::TailFull { .. }) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(refused) => panic!("{refused}"),
            }
        }
    }

    fn truncate(path: &Path) {
        let file = fs::OpenOptions::new().write(true).open(path);
        file.expect("our file").set_len(8_192).expect("our file");
    }

    fn replace(path: &Path) {
        fs::copy(path, path.with_extension("copy")).expect("a copy");
        fs::rename(path.with_extension("copy"), path).expect("renamed");
    }

    fn remove(path: &Path) {
        fs::remove_file(path).expect("our file");
    }

    /// A segment that is changed is found at the next look, also if there was none before: at the start, behind a rotation, and when the
    /// journal has gone on to the next one. A complete segment that was compressed is there.
    #[test]
    fn a_segment_is_compared_with_what_was_made() {
        let harms: [fn(&Path); 3] = [truncate, replace, remove];
        for (number, harm) in harms.into_iter().enumerate() {
            // A write of the journal after the cut makes the file as long again: only the next start finds that.
            let cases = match number {
                0 => &["start", "rotated"][..],
                _ => &["start", "rotated", "gone on"],
            };
            for &case in cases {
                let folder = Folder::new("directory");
                let mut journal = journal(&folder);
                let mut directory = Directory::at(&folder.join("orders"));
                let harmed = match case {
                    "start" => 1,
                    _ => 2,
                };
                if harmed == 2 {
                    assert_eq!(directory.lacks(&journal), None);
                    append_until(&mut journal, 2);
                }
                if case == "gone on" {
                    assert_eq!(directory.lacks(&journal), None);
                }
                harm(&directory.path.join(segment_name(harmed)));
                if case == "gone on" {
                    append_until(&mut journal, 3);
                }
                assert_eq!(directory.lacks(&journal), Some(harmed), "{number} {case}");
                assert!(directory.is_there(&journal));
                fs::rename(&directory.path, folder.join("moved")).expect("moved");
                fs::create_dir(&directory.path).expect("another");
                assert!(!directory.is_there(&journal));
            }
        }
        let folder = Folder::new("directory");
        let mut journal = journal(&folder);
        let mut directory = Directory::at(&folder.join("orders"));
        assert_eq!(directory.lacks(&journal), None);
        append_until(&mut journal, 3);
        let first = directory.path.join(segment_name(1));
        fs::rename(&first, first.with_extension("tlj.zst")).expect("renamed");
        assert_eq!(directory.lacks(&journal), None);
    }
}
