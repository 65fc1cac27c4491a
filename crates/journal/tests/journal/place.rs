//! Directories and settings of the tests.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchline_journal::format::Alignment;
use touchline_journal::{Journal, Options, Record};
use touchline_shm::segment::{Root, WriterLock};

/// A directory of one test, removed at its end.
pub struct Place {
    path: PathBuf,
    is_borrowed: bool,
}

impl Place {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tl-journal-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory of the test");
        Self {
            path,
            is_borrowed: false,
        }
    }

    /// The directory of the test that started this process; it stays.
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            is_borrowed: true,
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

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_borrowed {
            return;
        }
        // What is left is below the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
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

/// Random numbers of a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}
