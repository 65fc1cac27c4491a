//! Test venue outside our crates: its own feed, retransmission, and routes, between the parts that serve any venue. It
//! is added like any venue: with its own files, and a line of the table.

mod feed;
mod venue;

use feed::{FIRST, Stream, ToyFeed, packets};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use touchline_feed::Request;
use touchline_gateway::live::{FeedLink, Multicast, Work};
use touchline_gateway::replay::{Pace, Speed, replay};
use touchline_gateway::venues::{Entry, Opening, StartEvent, VENUES, Venues};
use touchline_gateway::{Clocks, Pipeline};
use touchline_net::{Error, Packet, PacketSource, Received};
use touchline_testing::{Folder, PATIENCE, until};
use touchline_transport::clock::Clock;
use touchline_transport::shm::{Images, Root};
use touchline_transport::{Local, Mirror};
use touchline_types::{BookKind, Side, Validity};
use venue::{Sent, Store, ToyVenue, address, limits, lossy, routes};

/// All venues, and the test venue.
const WITH_TOY: Venues = Venues(&[
    VENUES.0[0],
    VENUES.0[1],
    VENUES.0[2],
    Entry::of::<ToyVenue>(),
]);

type Path = Pipeline<ToyFeed, Local<Mirror>>;

fn path() -> Path {
    Pipeline::new(ToyFeed::new(), Local::new(Mirror::new(8, 1)), limits())
}

/// Best bids of both instruments, and their validity.
#[track_caller]
fn shown(path: &Path, expected: [(i64, Validity); 2]) {
    let mirror = &path.publisher().subscriber;
    for (symbol, (price, validity)) in [b"AAPL", b"MSFT"].into_iter().zip(expected) {
        let instrument = path.instruments().find_symbol(symbol).expect("it is known");
        let book = path.prices().get(instrument).expect("it has a book");
        assert_eq!(book.best(Side::Bid).map(|level| level.price.0), Some(price));
        assert_eq!(mirror.validity(instrument), validity);
    }
}

#[test]
fn captures_of_any_venue_are_replayed() {
    let mut sent = Vec::new();
    for (at, bytes) in packets().into_iter().enumerate() {
        // Each line loses some packets; line B is late.
        if at != 2 {
            sent.push((address(7), bytes.clone()));
        }
        sent.push((address(9), bytes));
    }
    sent.push((address(99), vec![1, 2, 3]));
    let mut source = Sent {
        packets: sent,
        next: 0,
    };
    let mut path = path();
    let see = |_: &Packet<'_>, _| ControlFlow::Continue(());
    let report = replay(
        &mut source,
        &routes(),
        &mut path,
        Pace::new(Speed::Max),
        &mut None,
        see,
    )
    .expect("the source ends");
    assert_eq!(report.packets[&Stream::A], 5);
    assert_eq!(report.unrouted[&address(99)], 1);
    shown(&path, [(104, Validity::Live), (205, Validity::Live)]);
    assert_eq!((path.feed().packets, path.feed().copies), (6, 5));
}

/// Packets that all lines lose are requested in the venue's way, with numbers of 64 bits; without retransmission they
/// are lost.
#[test]
fn sockets_and_retransmission_serve_any_venue() {
    let clock = Clock::calibrated();
    let clocks = Clocks::new(clock, Duration::from_millis(1));
    let now = clocks.now(touchline_transport::clock::ticks());

    let source = |packets| Sent { packets, next: 0 };
    let mut asking = Multicast::new(source(lossy(address(8))), routes(), Some(Store(packets())));
    let mut path_asking = path();
    while asking.receive(&mut path_asking, &clocks).expect("no error") != Work::None {}
    let awaited = Request::Retransmit {
        first: FIRST + 2,
        last: FIRST + 3,
    };
    assert_eq!(path_asking.request(), Some(awaited));
    asking.control(&mut path_asking, now);
    assert!(path_asking.take_filled());
    shown(&path_asking, [(104, Validity::Live), (205, Validity::Live)]);

    let mut alone =
        Multicast::<_, ToyFeed, Infallible>::new(source(lossy(address(8))), routes(), None);
    let mut path_alone = path();
    while alone.receive(&mut path_alone, &clocks).expect("no error") != Work::None {}
    alone.control(&mut path_alone, now);
    path_alone.finish();
    // Confirmed by the packets after the loss: this venue reports every level as live.
    shown(&path_alone, [(104, Validity::Live), (205, Validity::Live)]);
    assert_eq!(
        (path_alone.feed().packets, path_alone.feed().copies),
        (4, 0)
    );
}

/// Endless source of packets that are refused.
struct Strangers;

impl PacketSource for Strangers {
    fn receive(&mut self) -> Result<Received<'_>, Error> {
        Ok(Received::Refused)
    }
}

/// A call that only refused packets is work, since more may wait; but timeouts run in idle rounds, so a flood leaves some.
#[test]
fn a_flood_of_strangers_leaves_idle_rounds() {
    let clocks = Clocks::new(Clock::calibrated(), Duration::from_millis(1));
    let mut flooded = Multicast::<_, ToyFeed, Infallible>::new(Strangers, routes(), None);
    let mut path = path();
    for _ in 0..3 {
        for round in 0..=64 {
            let work = flooded.receive(&mut path, &clocks).expect("no error");
            let expected = if round < 64 { Work::Done } else { Work::None };
            assert_eq!(work, expected, "{round}");
        }
    }
}

const LEAST: &str = "bus = \"toy\"\n[venue]\nkind = \"toy\"\nport = 8\n";

/// A gateway of the test venue, from its configuration to its bus.
#[test]
fn a_venue_needs_only_its_files_and_a_table_entry() {
    let folder = Folder::new("toy");
    let text = format!("{LEAST}[publication]\nring_bytes = 65536\nlock_memory = \"no\"\n");
    let mut config = WITH_TOY.from_text("toy.toml", &text).expect("it is right");
    config.set_directory(folder.to_path_buf());
    let printed = config.to_file();
    let words = "# the line that is listened to. Values: 7, 8, 9. Default: required.\nport = 8\n";
    assert!(printed.contains(words), "{printed}");
    assert_eq!(
        WITH_TOY
            .from_text("again.toml", &printed)
            .map(|again| again.to_toml()),
        Ok(config.to_toml())
    );

    let mut log = Vec::new();
    assert_eq!(config.identity(), ("port", "8".to_owned()));
    let running = config.start(&mut |event| log.push(event));
    let running = running.expect("nothing is missing");
    assert_eq!(
        log[0],
        StartEvent::SocketWarning("this is a toy".to_owned())
    );
    let opening = Opening::Listening {
        groups: 1,
        interface: "239.0.0.1:8".to_owned(),
        receive: "sockets",
    };
    assert_eq!(
        log.last(),
        Some(&StartEvent::Open {
            opening,
            generation: 1
        })
    );
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| (running.work)(&stop));
        until_last_prices(&Root::at(&folder));
        stop.store(true, Ordering::Relaxed);
        worker.join().expect("it lives").expect("it ends well");
    });
}

/// Waits until the best bids of AAPL and MSFT on the bus are those of the last packets.
fn until_last_prices(root: &Root) {
    let mut images = Images::open(root, "toy").expect("the bus is there");
    until("the prices of the last packets", PATIENCE, || {
        images.refresh().expect("the bus stays");
        let instruments: Vec<_> = images.instruments().collect();
        let bids: Vec<i64> = instruments
            .into_iter()
            .filter_map(|instrument| {
                let image = images.book(instrument).ok()?;
                Some(image.levels(BookKind::Direct, Side::Bid).first()?.price.0)
            })
            .collect();
        match bids == [104, 205] {
            true => Ok(()),
            false => Err(bids),
        }
    });
}

/// Errors in its configuration are reported as for any venue, and errors of other venues know its
/// settings.
#[test]
fn a_venue_has_its_own_settings() {
    let said = |text: &str| {
        let read = WITH_TOY.from_text("toy.toml", text);
        read.expect_err(text).to_string()
    };
    for (more, expected) in [
        (
            "prot = 7",
            "toy.toml:5: unknown setting `prot` in [venue]; did you mean `port`?",
        ),
        (
            "wait_ms = 20",
            "toy.toml:5: unknown setting `wait_ms` in [venue]; it is a setting of kind \"cme\"",
        ),
        (
            "[network]\nbatch = 2",
            "toy.toml:6: unknown setting `batch` in [network]; it is a setting of kind \"cme\"",
        ),
    ] {
        let error = said(&format!("{LEAST}{more}\n"));
        assert!(error.starts_with(expected), "{error}");
    }
    let of_fix =
        "bus = \"f\"\n[venue]\nkind = \"fix\"\nhosts = [\"h:1\"]\nsender = \"S\"\nport = 8\n";
    let error = said(of_fix);
    let expected = "toy.toml:6: unknown setting `port` in [venue]; it is a setting of kind \"toy\"";
    assert!(error.starts_with(expected), "{error}");
    let error = said(
        &LEAST
            .replace("\"toy\"\n[", "\"b\"\n[")
            .replace("\"toy\"", "\"tyo\""),
    );
    let expected = "toy.toml:3: `kind` is \"tyo\", but must be \"cme\", \"deribit\", \"fix\", \"fx-bank\" or \"toy\"; did you mean \"toy\"?";
    assert!(error.starts_with(expected), "{error}");
}
