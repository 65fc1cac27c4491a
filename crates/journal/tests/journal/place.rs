//! Directories and settings of the tests.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchline_journal::format::Alignment;
use touchline_journal::{Journal, Options, Record};
use touchline_shm::segment::{Root, WriterLock};
use touchline_testing::{Folder, PATIENCE, until};

/// A directory of one test.
pub struct Place {
    path: PathBuf,
    /// `None`: it belongs to the test that started this process.
    _folder: Option<Folder>,
}

impl Place {
    pub fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        Self {
            path: folder.to_path_buf(),
            _folder: Some(folder),
        }
    }

    /// The directory of the test that started this process.
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            _folder: None,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("orders")
    }

    pub fn bus(&self) -> WriterLock {
        let root = Root::at(self.path.join("bus"));
        WriterLock::acquire(root.create("engine").expect("a bus")).expect("its lock")
    }
}

/// Makes a directory that a journal trusts.
pub fn private(path: &Path) {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700).create(path).expect("our folder");
}

/// Small segments, packed frames.
pub fn options() -> Options {
    Options {
        alignment: Some(Alignment::PACKED),
        segment_bytes: 64 << 10,
        ring_bytes: 256 << 10,
        write_zeros: false,
        idle: Duration::from_micros(20),
        ..Options::orders("test")
    }
}

pub fn append(journal: &mut Journal, number: u64) {
    let body = body(number);
    let record = Record {
        stream: 1,
        kind: 48,
        time_ns: 1_000 + number,
        body: &body,
    };
    // The disk of a loaded machine may be behind.
    for _ in 0..60_000 {
        match journal.append(&record) {
            Ok(_) => return,
            Err(
                touchline_journal::Refused::TailFull { .. } | touchline_journal::Refused::NoSegment,
            ) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("the tail was full for a minute");
}

/// Waits until the disk has all records.
pub fn until_durable(journal: &Journal) {
    until("the disk", PATIENCE, || {
        journal.durable() >= journal.position()
    });
}

/// Body of a record by its number: 8 to 307 bytes.
pub fn body(number: u64) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.extend((0..number * 37 % 300).map(|at| (at ^ number) as u8));
    body
}

/// A setting of the environment.
pub fn setting(name: &str, usual: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(usual, |text| text.parse().expect("a number"))
}
