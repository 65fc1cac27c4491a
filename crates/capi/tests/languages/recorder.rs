//! A recorder in a thread of this program, and what happens to its tape.

use crate::publisher::BUS;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use touchline_journal::Options;
use touchline_journal::format::{HEADER_BYTES, SegmentHeader, segment_name};
use touchline_tape::run::{Recording, RunEvent, RunSettings};
use touchline_tape::{Retention, Settings};
use touchline_testing::{PATIENCE, until};
use touchline_transport::shm::Root;

/// The tape of the buses in this directory, which is beside it.
pub fn tape_of(directory: &Path) -> PathBuf {
    directory.with_added_extension("tape")
}

/// A recorder that runs.
pub struct Recorder {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Recorder {
    /// Starts one, and waits until it has joined the bus; `lossless` makes the publisher wait for it.
    pub fn start(directory: &Path, lossless: bool) -> Recorder {
        Recorder::of(directory, BUS, lossless)
    }

    /// One whose bus does not exist.
    pub fn without_bus(directory: &Path) -> Recorder {
        Recorder::of(directory, "nope", false)
    }

    fn of(directory: &Path, bus: &str, lossless: bool) -> Recorder {
        let settings = RunSettings {
            root: Root::at(directory),
            buses: vec![bus.to_owned()],
            lossless,
            name: "tape".to_owned(),
            directory: tape_of(directory),
            journal: Options {
                segment_bytes: 1 << 20,
                ring_bytes: 1 << 20,
                ..Options::recording("tape")
            },
            recorder: Settings::default(),
            retention: Retention::default(),
            compress: false,
        };
        let [ends, has_begun] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let flags = (Arc::clone(&ends), Arc::clone(&has_begun));
        let thread = std::thread::spawn(move || {
            let (ends, has_begun) = flags;
            let mut recording = Recording::open(settings).expect("a tape");
            loop {
                let ends = ends.load(Ordering::Relaxed);
                let done = recording.work().expect("the disk is writable");
                while let Some(event) = recording.event() {
                    assert!(!matches!(event, RunEvent::Overrun { .. }), "{event:?}");
                    let is_begin =
                        matches!(event, RunEvent::Recording { .. } | RunEvent::Waiting { .. });
                    has_begun.fetch_or(is_begin, Ordering::Relaxed);
                }
                if done == 0 && ends {
                    break;
                }
                if done == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            recording.close().expect("the disk is writable");
        });
        until("the recorder has begun", PATIENCE, || {
            has_begun.load(Ordering::Relaxed) || thread.is_finished()
        });
        Recorder { ends, thread }
    }

    /// Records what the bus has, and ends.
    pub fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().expect("it has recorded");
    }
}

/// Does to a tape what the word says.
///
/// # Panics
/// The word is unknown, or a file cannot be written.
pub fn change(tape: &Path, word: &str) {
    let first = tape.join(segment_name(1));
    let read = |path: &Path| fs::read(path).expect("a segment");
    match word {
        "remove" => fs::remove_dir_all(tape).expect("our folder"),
        // Without the end that a recorder writes, as a kill leaves it.
        "keep" => copy(tape, &tape.with_extension("kept")),
        "kept" => {
            fs::remove_dir_all(tape).expect("our folder");
            fs::rename(tape.with_extension("kept"), tape).expect("our folder");
        }
        "compress" => {
            let done = touchline_journal::compress(tape).expect("an undamaged tape");
            assert!(!done.is_empty(), "a closed segment");
        }
        "damage" => {
            let mut bytes = read(&first);
            bytes[9_000] ^= 1;
            fs::write(&first, bytes).expect("our folder");
        }
        "newer" => {
            let mut bytes = read(&first);
            let (mut header, _) = SegmentHeader::decode(&bytes).expect("a segment");
            header.required = 4;
            bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
            fs::write(&first, bytes).expect("our folder");
        }
        word => panic!("nothing is called {word}"),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("our folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let file = entry.expect("a file").path();
        if file.is_file() {
            let name = file.file_name().expect("a file has a name");
            fs::copy(&file, to.join(name)).expect("our folder");
        }
    }
}
