//! Loops of Rust in a forked child of a reader: both end there, and their parent's go on.

#![allow(unsafe_code, reason = "system calls of a test")]

use crate::publisher::{BUS, Kind, Process};
use crate::recorder::{Recorder, tape_of};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use touchline_client::{Bus, Buses, Connection, Event, EventStream, Events, Streamed};
use touchline_testing::PATIENCE;
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

/// Trades that are published, more than the ring of the bus has.
const TRADES: usize = 3_000;
/// Trades that a reader takes of the tape before the fork.
const TAKEN: usize = 50;

/// Numbers of the messages of a reader's next trades.
fn trades(bus: &mut Bus, count: usize) -> Vec<u64> {
    let (mut numbers, begun) = (Vec::new(), Instant::now());
    while numbers.len() < count && begun.elapsed() < PATIENCE {
        match bus.poll() {
            Some(Event::Trade(_)) => numbers.push(bus.trace().sequence),
            Some(_) => {}
            None => std::thread::sleep(Duration::from_micros(100)),
        }
    }
    numbers
}

/// A fork while a reader takes from the tape what an overrun has lost: a child of a reader without a name has the same rest as its parent,
/// and one of a reader with a name is refused.
#[test]
fn a_child_of_a_reader_on_its_tape_reads_on_or_is_refused() {
    let folder = crate::compile::folder();
    let directory = folder.join("buses");
    let mut publisher = Process::start_as(&directory, Kind::Lossless);
    publisher.step(&["define", "0", "ESU4", "100"]);
    publisher.step(&["book", "0", "450025", "12", "450050", "7"]);
    let recorder = Recorder::start(&directory, true);
    let join = |name: Option<&str>| {
        let options = Bus::options().directory(&directory).events(Events::TRADES);
        let options = options.tape(tape_of(&directory)).tape_wait(PATIENCE);
        let options = name
            .into_iter()
            .fold(options, touchline_client::Options::name);
        let mut bus = options.join(BUS).expect("the bus is there");
        while bus.poll().is_some() {}
        bus
    };
    let (mut plain, mut named) = (join(None), join(Some("named")));
    for from in (1..=TRADES).step_by(100) {
        publisher.step(&["numbered", "0", &from.to_string(), "100"]);
        std::thread::sleep(Duration::from_millis(5));
    }
    for bus in [&mut plain, &mut named] {
        assert_eq!(trades(bus, TAKEN).len(), TAKEN);
        assert!(bus.is_on_tape());
    }
    let rest = TRADES - TAKEN;
    assert!(in_child(|| {
        let numbers = trades(&mut plain, rest);
        numbers.len() == rest && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1)
    }));
    let forked = Event::Connection(Connection::Forked);
    assert!(in_child(|| {
        // Its books are stale before.
        let mut last = None;
        while let Some(event) = named.poll() {
            assert!(matches!(event, Event::State(_) | Event::Connection(_)));
            last = Some(event);
        }
        last == Some(forked) && named.next().is_none() && named.stats().tape_fall_backs == 1
    }));
    for bus in [&mut plain, &mut named] {
        let numbers = trades(bus, rest);
        assert_eq!(numbers.len(), rest, "{:?}", bus.stats());
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert_eq!(bus.stats().tape_losses, 0);
    }
    drop((plain, named));
    recorder.end();
}
