//! Relays of two hosts with a line between them that is slower than the market: a token bucket of the kernel, with a queue of three seconds.
//!
//! No book at B is live that is older than the limit, and none that A never had.

use crate::namespaces::Namespaces;
use crate::processes::{Place, Processes};
use crate::relay_books::{Gateway, becomes_right};
use crate::together;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use touchline_testing::{PATIENCE, until};
use touchline_transport::shm::{Join, Root, Subscriber};
use touchline_transport::{Mirror, boot_ns};
use touchline_types::{BookKind, Instrument, Level, Side, Validity};

const MS: u64 = 1_000_000;
/// Default of `lag_ms_max`, and what a loaded host adds until the processes of the test run.
const LAG_NS: u64 = (500 + 1_000) * MS;
const INSTRUMENTS: u32 = 8;
/// Duration of the market.
const FLOW_NS: u64 = 8_000 * MS;

#[test]
fn over_a_line_slower_than_the_market_no_live_book_is_old() {
    is_never_old(
        "line-tcp",
        "--to tcp://10.77.0.1:7340",
        "--from tcp://10.77.0.1:7340",
    );
}

#[cfg(feature = "aeron")]
#[test]
fn over_a_slow_line_with_aeron_no_live_book_is_old() {
    let control = "--control aeron:udp?endpoint=10.77.0.1:40457";
    is_never_old(
        "line-unicast",
        &format!("--to aeron:udp?endpoint=10.77.0.2:40456 {control}"),
        &format!("--from aeron:udp?endpoint=10.77.0.2:40456 {control}"),
    );
}

fn is_never_old(name: &str, send: &str, receive: &str) {
    let Some(namespaces) = Namespaces::create_or_skip() else {
        return;
    };
    let _together = together();
    let processes = Processes::within(&format!("relay-{name}"), namespaces.prefixes());
    let root = Root::at(processes.path("buses"));
    let mut gateway = Gateway::start(&root, 41);
    gateway.publish(200);
    let mut send = processes.start(Place::Exchange, "send", &format!("relay a {send}"), &[]);
    send.wait_for("relay_started");
    let receive = format!("relay {receive} --bus b");
    let mut receive = processes.start(Place::Firm, "receive", &receive, &[]);
    becomes_right(&root, "at the start");
    if !namespaces.limit("2mbit") {
        touchline_testing::skip("tc cannot limit the line (package iproute2, module sch_tbf)");
        return;
    }
    // The watch knows the books of A from before the first one that is published in the flow.
    let mut watch = Watch::new(&root);
    watch.look();
    let ends = AtomicBool::new(false);
    let looks = thread::scope(|scope| {
        scope.spawn(|| {
            let start_ns = boot_ns();
            while boot_ns() - start_ns < FLOW_NS {
                gateway.publish(100);
                thread::sleep(Duration::from_millis(20));
            }
            ends.store(true, Ordering::Release);
        });
        while !ends.load(Ordering::Acquire) {
            watch.look();
            thread::sleep(Duration::from_millis(1));
        }
        watch
    });
    println!("{} of {} looks at books were live", looks.live, looks.all);
    assert!(looks.live > 0, "a slow line is of no use");
    let found = looks.found.first();
    assert!(found.is_none(), "{found:?}, and {} more", looks.found.len());
    becomes_right(&root, "behind the market");
    if name == "line-tcp" {
        until("no queue was dropped", PATIENCE, || {
            send.said("err").contains("relay_receiver_held")
        });
    }
    assert!(send.runs(), "{}", send.said("err"));
    assert!(receive.runs(), "{}", receive.said("err"));
}

type Book = (Vec<Level>, Validity);

/// Readers of both buses on one clock.
struct Watch {
    a: (Subscriber, Mirror),
    b: (Subscriber, Mirror),
    /// Books of A, each with the time since which it is that.
    history: Vec<Vec<(u64, Book)>>,
    live: u64,
    all: u64,
    /// Books that were live and should not have been.
    found: Vec<String>,
}

impl Watch {
    fn new(root: &Root) -> Watch {
        let read = |bus| {
            let reader = Subscriber::join(root, bus, Join::default());
            (reader.expect("the bus is there"), Mirror::new(64, 64))
        };
        Watch {
            a: read("a"),
            b: read("b"),
            history: vec![Vec::new(); INSTRUMENTS as usize],
            live: 0,
            all: 0,
            found: Vec::new(),
        }
    }

    /// B is read first, so that A has everything that B can have.
    fn look(&mut self) {
        let now_ns = boot_ns();
        let (reader, mirror) = &mut self.b;
        while reader.drain(usize::MAX, mirror) > 0 {}
        let (reader, mirror) = &mut self.a;
        while reader.drain(1, mirror) > 0 {
            for (number, history) in self.history.iter_mut().enumerate() {
                let book = seen(mirror, number);
                if history.last().is_none_or(|(_, last)| *last != book) {
                    history.push((boot_ns(), book));
                }
            }
        }
        let oldest_ns = now_ns.saturating_sub(LAG_NS);
        for (number, history) in self.history.iter().enumerate() {
            let book = seen(&self.b.1, number);
            self.all += 1;
            if book.1 != Validity::Live {
                continue;
            }
            self.live += 1;
            // The time of a state ends with the next one.
            let at = (0..history.len()).rev().find(|at| history[*at].1 == book);
            let until_ns = at.map(|at| history.get(at + 1).map_or(u64::MAX, |next| next.0));
            match until_ns {
                Some(until_ns) if until_ns >= oldest_ns => {}
                Some(until_ns) => self.found.push(format!(
                    "book {number} at B is live and {} ms old",
                    (now_ns - until_ns) / MS
                )),
                None => self.found.push(format!(
                    "book {number} at B is live, and A never had it: {book:?}"
                )),
            }
        }
    }
}

fn seen(mirror: &Mirror, number: usize) -> Book {
    let instrument = Instrument(number as u32);
    let book = mirror.book(instrument);
    let levels = Side::BOTH.into_iter().flat_map(|side| {
        let levels = book.map(|book| book.levels(BookKind::Direct, side).iter().copied());
        levels.into_iter().flatten()
    });
    (levels.collect(), mirror.validity(instrument))
}
