//! A file that another process truncates (threat T4): zeros and a flag, in our mappings only.

use crate::segment::place::{PAGE, Place, open, publish, root_in};
use crate::segment::roles::{ready, run_to_crash};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use touchline_shm::Words;
use touchline_shm::segment::{Mapping, WriterLock};

fn shorten(mapping: &Mapping, bytes: u64) {
    let file = File::options().write(true).open(mapping.path()).unwrap();
    file.set_len(bytes).unwrap();
}

fn fill(mapping: &Mapping) {
    for word in mapping.words() {
        word.store(u64::MAX, Relaxed);
    }
}

#[test]
fn a_file_truncated_during_a_read_gives_zeros_and_a_flag() {
    let place = Place::new();
    let lock = place.writer();
    for round in 0..50 {
        let writer = publish(&lock, "ring", 16 * PAGE);
        fill(&writer);
        let reader = open(lock.directory(), "ring").unwrap();
        let passes = AtomicU64::new(0);
        thread::scope(|scope| {
            let reading = scope.spawn(|| {
                while reader.intact() {
                    for word in reader.words() {
                        let value = word.load(Relaxed);
                        assert!(value == u64::MAX || (value == 0 && !reader.intact()));
                    }
                    passes.fetch_add(1, Relaxed);
                }
            });
            while passes.load(Relaxed) < 2 && !reading.is_finished() {
                thread::yield_now();
            }
            shorten(&reader, if round % 2 == 0 { 0 } else { 5 * PAGE as u64 });
        });
        assert!(reader.words().iter().all(|word| word.load(Relaxed) == 0));
    }
}

#[test]
fn a_writer_survives_truncation_and_other_mappings_are_unaffected() {
    let place = Place::new();
    let lock = place.writer();
    let (writer, other) = (
        publish(&lock, "ring", 4 * PAGE),
        publish(&lock, "image", PAGE),
    );
    fill(&other);
    shorten(&writer, 0);
    writer.words()[100].store(5, Relaxed);
    assert!(!writer.intact());
    assert_eq!(writer.words()[100].load(Relaxed), 5);
    assert!(other.intact());
    assert!(
        other
            .words()
            .iter()
            .all(|word| word.load(Relaxed) == u64::MAX)
    );
    // The entry of the table is reused, without the flag.
    drop(writer);
    for _ in 0..10 {
        assert!(publish(&lock, "ring", PAGE).intact());
    }
}

#[test]
fn faults_while_other_threads_map_and_unmap() {
    let place = Place::new();
    let lock = place.writer();
    publish(&lock, "image", 3 * PAGE);
    let (done, mapped) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    let image = open(lock.directory(), "image").unwrap();
                    assert!(image.words().iter().all(|word| word.load(Relaxed) == 0));
                    assert!(image.intact());
                    mapped.fetch_add(1, Relaxed);
                }
            });
        }
        for _ in 0..500 {
            let ring = publish(&lock, "ring", 2 * PAGE);
            fill(&ring);
            shorten(&ring, 0);
            assert_eq!(ring.words()[0].load(Relaxed), 0);
            assert!(!ring.intact());
        }
        done.store(true, Relaxed);
    });
    assert!(
        mapped.into_inner() > 10,
        "the threads must have mapped meanwhile"
    );
}

#[test]
fn a_fault_elsewhere_ends_the_process_as_usual() {
    let place = Place::new();
    let status = run_to_crash("fault elsewhere", place.folder());
    assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
}

pub fn play_fault_elsewhere(folder: &Path) {
    let _ours = ours(folder);
    ready("about to fault");
    fault_elsewhere(folder);
}

#[test]
fn a_fault_elsewhere_reaches_the_previous_handler() {
    let place = Place::new();
    let status = run_to_crash("fault elsewhere, with a handler", place.folder());
    assert_eq!(status.code(), Some(42), "{status}");
}

pub fn play_fault_with_handler(folder: &Path) {
    extern "C" fn leave(_signal: libc::c_int) {
        // SAFETY: `_exit` may be called in a handler; it takes a plain number.
        unsafe { libc::_exit(42) }
    }
    // SAFETY: the signal is valid, and the handler does only what a handler may do.
    unsafe { libc::signal(libc::SIGBUS, leave as *const () as libc::sighandler_t) };
    let ours = ours(folder);
    shorten(&ours, 0);
    assert_eq!(ours.words()[0].load(Relaxed), 0, "ours is not theirs");
    ready("about to fault");
    fault_elsewhere(folder);
}

/// A mapping of ours, so that the handler is installed.
fn ours(folder: &Path) -> Mapping {
    let lock = WriterLock::acquire(root_in(folder).create("bus").unwrap()).unwrap();
    publish(&lock, "ring", PAGE)
}

/// Reads beyond the end of a file that was mapped by other means.
fn fault_elsewhere(folder: &Path) {
    let path = folder.join("theirs");
    fs::write(&path, [1; PAGE]).unwrap();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    // SAFETY: the system chooses the place; the mapping stays until the process ends.
    let base = unsafe {
        rustix::mm::mmap(
            std::ptr::null_mut(),
            PAGE,
            ProtFlags::READ,
            MapFlags::SHARED,
            &file,
            0,
        )
    };
    let word = base.unwrap().cast::<u8>();
    file.set_len(0).unwrap();
    // SAFETY: the address is mapped for reading. The missing page behind it is the subject of the test.
    let value = unsafe { word.read_volatile() };
    println!("read {value}");
}
