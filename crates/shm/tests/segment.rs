//! The files of a bus: who may touch them, and what happens when somebody dies.

#![cfg(not(any(loom, miri)))]

use std::sync::atomic::Ordering;
use touchline_shm::Words;
use touchline_shm::segment::{Access, Error, Mapping, Options, Root, WriterLock};

#[test]
fn what_is_published_is_what_a_reader_maps() {
    let place = format!("/dev/shm/touchline-test-{}", std::process::id());
    let root = Root::at(&place);
    let lock = WriterLock::acquire(root.create("cme-340").unwrap()).unwrap();
    let directory = root.open("cme-340").unwrap();
    let draft = Mapping::create(&lock, "ring", 8192, &Options::default()).unwrap();
    draft.mapping().words()[7].store(42, Ordering::Relaxed);
    let open = || Mapping::open(&directory, "ring", Access::Read, &Options::default());
    assert!(matches!(open(), Err(Error::Missing { .. })));
    let first = draft.publish().unwrap();
    let reader = open().unwrap();
    assert_eq!(reader.words().len(), 1024);
    assert_eq!(reader.words()[7].load(Ordering::Relaxed), 42);
    assert!(reader.intact() && !reader.is_replaced());
    drop(first);
    let second = Mapping::create(&lock, "ring", 4096, &Options::default()).unwrap();
    second.publish().unwrap();
    assert!(reader.is_replaced());
    let error = WriterLock::acquire(directory.clone()).unwrap_err();
    println!("{error}");
    assert!(matches!(error, Error::Busy { .. }));
    std::fs::remove_dir_all(&place).unwrap();
}
