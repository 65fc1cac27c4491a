//! Missing memory is an error at the start, and never a signal later.

use crate::segment::place::{BUS, PAGE, Place, is_root, open, publish, root_in};
use crate::segment::roles::play;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::CStr;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use touchline_shm::Words;
use touchline_shm::segment::{Access, Error, Lock, Mapping, Options, Warning, WriterLock};

fn create(lock: &WriterLock, bytes: usize, options: &Options) -> Result<Mapping, Error> {
    Mapping::create(lock, "ring", bytes, options)?.publish()
}

#[test]
fn sizes_that_cannot_be_mapped_are_rejected() {
    let place = Place::new();
    let lock = place.writer();
    for bytes in [0, 1, PAGE - 1, PAGE + 8] {
        let error = create(&lock, bytes, &Options::default()).unwrap_err();
        assert!(matches!(error, Error::Size { .. }), "{error}");
    }
    for bytes in [0, 1, PAGE - 1, PAGE + 8] {
        drop(publish(&lock, "ring", 2 * PAGE));
        let file = File::options()
            .write(true)
            .open(place.path_of("ring"))
            .unwrap();
        file.set_len(bytes as u64).unwrap();
        let error = open(lock.directory(), "ring").unwrap_err();
        assert!(matches!(error, Error::Size { .. }), "{error}");
    }
}

#[test]
fn more_than_the_free_space_is_rejected_before_any_file_is_created() {
    let place = Place::new();
    let lock = place.writer();
    let free = rustix::fs::statvfs(place.folder()).unwrap();
    let beyond = (free.f_bavail * free.f_frsize) as usize + (1 << 30);
    let error = create(&lock, beyond / PAGE * PAGE, &Options::default()).unwrap_err();
    println!("{error}");
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    assert_eq!(lock.directory().files().unwrap(), ["lock"]);
}

#[test]
fn a_full_file_system_is_an_error_and_existing_files_stay() {
    if !is_root() {
        println!("not run: only root can mount a small tmpfs");
        return;
    }
    play("small tmpfs", Place::new().folder());
}

pub fn play_small_tmpfs(folder: &Path) {
    mount_here(folder, "tmpfs", c"size=1m,mode=755");
    let lock = WriterLock::acquire(root_in(folder).create(BUS).unwrap()).unwrap();
    let ring = publish(&lock, "ring", 512 << 10);
    ring.words()
        .iter()
        .for_each(|word| word.store(u64::MAX, Relaxed));

    let error = create(&lock, 768 << 10, &Options::default()).unwrap_err();
    println!("{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("768.0 KiB needed for ") && text.contains(" KiB free"),
        "{text}"
    );

    let image = Mapping::create(&lock, "image", 16 << 20, &Options::sparse()).unwrap();
    let image = image.publish().unwrap();
    let chunk = 64 << 10;
    let mut reserved = 0;
    let error = loop {
        match image.reserve(reserved..reserved + chunk) {
            Ok(()) => reserved += chunk,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(
            error,
            Error::NoSpace {
                needed_bytes: 65_536,
                ..
            }
        ),
        "{error}"
    );
    assert!(
        (5..8).contains(&(reserved / chunk)),
        "{reserved} bytes were available"
    );
    // Reserved memory is writable to the last byte, and existing files are unchanged.
    image.words()[..reserved / 8]
        .iter()
        .for_each(|word| word.store(1, Relaxed));
    assert!(image.intact() && ring.intact());
    assert!(
        ring.words()
            .iter()
            .all(|word| word.load(Relaxed) == u64::MAX)
    );
    // The next writer can start in a full file system.
    drop(lock);
    fill_up(folder);
    let lock = WriterLock::acquire(root_in(folder).create(BUS).unwrap()).unwrap();
    let holder = WriterLock::holder(lock.directory()).unwrap().unwrap();
    assert_eq!(holder.pid, std::process::id());
    let error = root_in(folder)
        .create("another")
        .and_then(WriterLock::acquire)
        .unwrap_err();
    assert!(
        error.to_string().ends_with("free some space there"),
        "{error}"
    );
    // Space is available again after a removal.
    drop(ring);
    lock.remove("ring").unwrap();
    image.reserve(reserved..reserved + chunk).unwrap();
    image.reserve(0..reserved).unwrap();
    assert_eq!(
        image.words()[0].load(Relaxed),
        1,
        "reserving again changes nothing"
    );
}

fn fill_up(folder: &Path) {
    let filled = std::io::copy(
        &mut std::io::repeat(1),
        &mut File::create(folder.join("full")).unwrap(),
    );
    assert_eq!(filled.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn a_sparse_file_uses_only_reserved_memory() {
    let place = Place::new();
    let lock = place.writer();
    let image = create(&lock, 1 << 30, &Options::sparse()).unwrap();
    let taken = || fs::metadata(place.path_of("ring")).unwrap().blocks() * 512;
    assert_eq!(taken(), 0);
    image.reserve(0..0).unwrap();
    image.reserve(PAGE..3 * PAGE).unwrap();
    assert_eq!(taken(), 2 * PAGE as u64);
    image.words()[PAGE / 8].store(1, Relaxed);
    assert_eq!(taken(), 2 * PAGE as u64);
}

#[test]
fn a_directory_of_huge_pages_has_huge_pages_or_an_error() {
    if !is_root() {
        println!("not run: only root can mount hugetlbfs");
        return;
    }
    print!("{}", play("hugetlbfs", Place::new().folder()));
}

pub fn play_hugetlbfs(folder: &Path) {
    mount_here(folder, "hugetlbfs", c"pagesize=2M,mode=755");
    let lock = WriterLock::acquire(root_in(folder).create(BUS).unwrap()).unwrap();
    let error = create(&lock, PAGE, &Options::default()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Size {
                page_bytes: 2_097_152,
                ..
            }
        ),
        "{error}"
    );
    match create(&lock, 2 << 20, &Options::default()) {
        Ok(ring) => {
            ring.words()[(2 << 20) / 8 - 1].store(1, Relaxed);
            println!("huge pages: mapped");
        }
        Err(error) => {
            println!("huge pages: {error}");
            assert!(matches!(error, Error::NoHugePages { .. }), "{error}");
        }
    }
}

/// A file system over a folder, visible to this process only.
fn mount_here(folder: &Path, kind: &str, options: &CStr) {
    // SAFETY: open handles stay valid; only the files that paths lead to may differ for this thread, and
    // this thread does all later work.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.unwrap();
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .unwrap();
    mount("none", folder, kind, MountFlags::empty(), options).unwrap();
}

#[test]
fn a_file_size_limit_is_an_error_and_not_a_signal() {
    play("file size limit", Place::new().folder());
}

pub fn play_file_size_limit(folder: &Path) {
    let lock = WriterLock::acquire(root_in(folder).create(BUS).unwrap()).unwrap();
    limit(Resource::Fsize, 64 << 10);
    create(&lock, 64 << 10, &Options::default()).unwrap();
    for options in [Options::default(), Options::sparse()] {
        let error = create(&lock, 128 << 10, &options).unwrap_err();
        assert!(
            matches!(
                error,
                Error::FileSizeLimit {
                    limit_bytes: 65_536,
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn unlockable_memory_is_a_warning_or_an_error_by_setting() {
    play("memlock limit", Place::new().folder());
}

pub fn play_memlock_limit(folder: &Path) {
    let lock = WriterLock::acquire(root_in(folder).create(BUS).unwrap()).unwrap();
    limit(Resource::Memlock, 64 << 10);
    if is_root() {
        // root has no limit; this thread becomes another user with the files open.
        let stranger = rustix::process::Uid::from_raw(65_534);
        fs::create_dir(folder.join("theirs")).unwrap();
        std::os::unix::fs::chown(folder.join("theirs"), Some(65_534), None).unwrap();
        rustix::thread::set_thread_uid(stranger).unwrap();
        let root = root_in(&folder.join("theirs"));
        check_memlock(&WriterLock::acquire(root.create(BUS).unwrap()).unwrap());
    } else {
        check_memlock(&lock);
    }
}

fn check_memlock(lock: &WriterLock) {
    assert!(
        create(lock, PAGE, &Options::default())
            .unwrap()
            .warnings()
            .is_empty()
    );
    let ring = create(lock, 1 << 20, &Options::default()).unwrap();
    let expected = Warning::NotLocked {
        needed_bytes: 1 << 20,
        limit_bytes: Some(64 << 10),
    };
    assert_eq!(ring.warnings(), [expected]);
    ring.words()[0].store(1, Relaxed);
    let strict = Options {
        lock: Lock::Required,
        ..Options::default()
    };
    let error = create(lock, 1 << 20, &strict).unwrap_err();
    println!("{error}");
    assert!(matches!(error, Error::NotLocked { .. }), "{error}");
    let careless = Options {
        lock: Lock::No,
        ..Options::default()
    };
    assert!(
        create(lock, 1 << 20, &careless)
            .unwrap()
            .warnings()
            .is_empty()
    );
}

#[test]
fn more_mappings_than_the_guard_table_are_rejected() {
    play("many mappings", Place::new().folder());
}

pub fn play_many_mappings(folder: &Path) {
    let lock = WriterLock::acquire(root_in(folder).create(BUS).unwrap()).unwrap();
    let hard = rustix::process::getrlimit(Resource::Nofile).maximum;
    let wanted = hard.unwrap_or(u64::MAX).min(8_192);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(wanted),
            maximum: hard,
        },
    )
    .unwrap();
    drop(publish(&lock, "ring", PAGE));
    let ring = || Mapping::open(lock.directory(), "ring", Access::Read, &Options::default());
    let mut mappings = Vec::new();
    let error = loop {
        match ring() {
            Ok(mapping) => mappings.push(mapping),
            Err(error) => break error,
        }
    };
    println!("{} mappings, then: {error}", mappings.len());
    match error {
        Error::TooManyMappings { mappings_max, .. } => assert_eq!(mappings.len(), mappings_max),
        // If the limit of open files is lower, it is reached first.
        other => assert!(other.to_string().contains("ulimit -n"), "{other}"),
    }
    mappings.pop();
    drop(mappings.pop());
    ring().unwrap();
}

fn limit(resource: Resource, bytes: u64) {
    let limit = Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    setrlimit(resource, limit).unwrap();
}
