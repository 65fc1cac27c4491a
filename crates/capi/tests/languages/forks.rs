//! Loops of Rust in a forked child of a reader: both end there, and their parent's go on.

#![allow(unsafe_code, reason = "system calls of a test")]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use touchline_client::{Bus, Buses, Connection, Event, EventStream, Streamed};
use touchline_transport::shm::{Publisher, Root, Settings};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// Whether the condition is true in a forked child.
fn in_child(act: impl FnOnce() -> bool) -> bool {
    // SAFETY: the C library keeps the allocator usable in the child, which uses nothing else of other threads.
    let child = unsafe { fork() };
    if child == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        // SAFETY: ends the process, and takes a number.
        unsafe { _exit(i32::from(!done.unwrap_or(false))) };
    }
    let mut status = 0;
    // SAFETY: our child, and a place for its status.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    status == 0
}

fn next(stream: &mut EventStream) -> Poll<Option<Streamed>> {
    pin!(stream.next()).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn loops_over_several_buses_and_streams_end_in_a_forked_child() {
    let folder = crate::compile::folder();
    let directory = folder.join("buses");
    let root = Root::at(&directory);
    let _publisher = Publisher::open(&root, "test", &Settings::default()).expect("a new bus");
    let join = |name: &str| {
        let options = Bus::options().directory(&directory).name(name);
        options.join("test").expect("the bus is there")
    };
    let mut buses = Buses::new();
    buses.add(join("first"));
    while buses.poll().is_some() {}
    let mut stream = join("second").into_stream(8);
    let forked = Event::Connection(Connection::Forked);
    assert!(in_child(|| {
        let first = buses.next().map(|(_, event)| event);
        first == Some(forked) && buses.next().is_none()
    }));
    assert!(in_child(|| {
        let first = next(&mut stream);
        let is_over = next(&mut stream) == Poll::Ready(None);
        first == Poll::Ready(Some(Streamed::Event(forked))) && is_over
    }));
    drop((buses, stream));
}
