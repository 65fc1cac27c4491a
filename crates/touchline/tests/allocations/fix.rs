//! Allocations of the path of a FIX venue: at start, and for each instrument that the venue lists.
//!
//! Goal: from the first book on, no message allocates: not in the session, not in a book of thousands of levels, not
//! on the bus. Method: that of `path`.

use touchline_feed::{ReceiveTime, SessionFeed};
use touchline_gateway::venues::VENUES;
use touchline_gateway::venues::fix::{self, FixPipeline, FixVenue};
use touchline_lab::bench::session::{CONFIG, Stretch};
use touchline_lab::frozen::{Count, Frozen};
use touchline_session::fix as session;
use touchline_testing::Folder;
use touchline_transport::shm::{Lock, Publisher, Root, Settings};
use touchline_transport::{Local, Publish};
use touchline_types::Instrument;

const CHANGES: usize = 5_000;

#[test]
fn changes_of_a_deep_book_do_not_allocate() {
    for seed in 0..4 {
        let (path, count) = counted(seed, Local::new(()));
        assert_eq!(count, Count::default(), "seed {seed}");
        all_of_it_was_taken(&path, seed);
    }
}

#[test]
fn changes_published_on_a_bus_do_not_allocate() {
    let folder = Folder::new("fix");
    let bus = Settings {
        ring_bytes: 1 << 16,
        instruments_max: 16,
        lock: Lock::No,
        ..Settings::default()
    };
    for seed in 0..4 {
        let publisher = Publisher::open(&Root::at(&folder), "bus", &bus).expect("a new bus");
        let (path, count) = counted(seed, publisher);
        assert_eq!(count, Count::default(), "seed {seed}");
        all_of_it_was_taken(&path, seed);
    }
}

#[test]
fn an_allocation_is_detected() {
    Frozen::freeze();
    drop(std::hint::black_box(Box::new(7_u32)));
    let count = Frozen::thaw();
    assert_eq!((count.allocations, count.bytes, count.frees), (1, 4, 1));
}

/// Part of a session: its opening, then frozen its changes, each received in two pieces.
fn counted<P: Publish>(seed: u64, publisher: P) -> (FixPipeline<P>, Count) {
    let config = VENUES
        .from_text_as::<FixVenue>("the stretch's own", CONFIG)
        .expect("it is right");
    let (sender, target) = (config.venue.target.as_str(), config.venue.sender.as_str());
    let stretch = Stretch::new(sender, target, CHANGES, seed);
    let mut path = fix::pipeline(&config, publisher).expect("it can be built");
    let time = ReceiveTime::at(1_567_870_621_000_000_000);
    path.connected(time);
    let sent = |path: &mut FixPipeline<P>| {
        let bytes = path.feed().outgoing().len();
        path.sent(bytes, time);
    };
    for opening in stretch.opening() {
        path.packet_at((), opening, time, 0);
        sent(&mut path);
    }
    Frozen::freeze();
    for (place, change) in stretch.changes().enumerate() {
        let (first, second) = change.split_at(place % change.len());
        path.packet_at((), first, time, 0);
        path.packet_at((), second, time, 0);
        sent(&mut path);
    }
    (path, Frozen::thaw())
}

fn all_of_it_was_taken<P: Publish>(path: &FixPipeline<P>, seed: u64) {
    let counters = path.feed().counters();
    assert_eq!(counters.increments, CHANGES as u64, "seed {seed}");
    assert_eq!(
        counters.books_inconsistent + counters.gaps,
        0,
        "seed {seed}"
    );
    assert!(path.prices().get(Instrument(0)).is_some(), "seed {seed}");
}

/// A session for messages of this number of bytes, of one instrument.
const QUOTED: &str = "bus = \"quoted\"\n[venue]\nkind = \"fix\"\nhosts = [\"localhost:1\"]\nsender = \"FIRM\"\n\
                      target = \"BANK\"\nsymbols = [\"EUR/USD\"]\nmessage_bytes_max = 65536\n[limits]\n\
                      instruments_max = 4\n";

/// Mass quotes of this number of entries, each of which moves both sides of a quote, to one price and back: the most
/// events per byte of any message.
#[test]
fn a_message_of_the_shortest_entries_does_not_allocate() {
    const QUOTES: usize = 20;
    let config = VENUES
        .from_text_as::<FixVenue>("the test's own", QUOTED)
        .expect("it is right");
    let mut path = fix::pipeline(&config, Local::new(())).expect("it can be built");
    let mut theirs = session::Settings::new(session::Role::Acceptor, "BANK", "FIRM");
    theirs.reset_on_logon = true;
    theirs.limits.message_bytes_max = 65_536;
    theirs.limits.output_bytes = 4 * 65_536;
    let mut venue = session::Session::new(theirs, session::Memory::default());
    let time = ReceiveTime::at(1_700_000_000_000_000_000);
    venue.connected(time);
    path.connected(time);
    let talk = |path: &mut FixPipeline<_>, venue: &mut session::Session<session::Memory>| {
        let bytes = path.feed().outgoing().to_vec();
        path.sent(bytes.len(), time);
        venue.handle(&bytes, time);
        while venue.poll().is_some() {}
    };
    let hear = |path: &mut FixPipeline<_>, venue: &mut session::Session<session::Memory>| {
        let bytes = venue.poll_transmit().to_vec();
        venue.transmitted(bytes.len());
        Frozen::freeze();
        path.packet_at((), &bytes, time, 0);
        (bytes.len(), Frozen::thaw())
    };
    talk(&mut path, &mut venue);
    hear(&mut path, &mut venue);
    talk(&mut path, &mut venue);
    let quote = |venue: &mut session::Session<session::Memory>, entries: usize, sizes: bool| {
        let sent = venue.send(b"i", time, |body| {
            body.bytes(296, b"1").bytes(302, b"1");
            body.unsigned(295, entries as u64);
            for entry in 0..entries {
                // One digit each: another price in each round.
                let moved = (entry / QUOTES + usize::from(sizes)) % 2;
                body.bytes(299, &[b'a' + (entry % QUOTES) as u8]);
                body.unsigned(132, 1 + moved as u64);
                if sizes {
                    body.bytes(134, b"1");
                }
                body.unsigned(133, 8 + moved as u64);
                if sizes {
                    body.bytes(135, b"1");
                }
            }
        });
        sent.expect("it is logged on");
    };
    quote(&mut venue, QUOTES, true);
    hear(&mut path, &mut venue);
    quote(&mut venue, 1, false);
    hear(&mut path, &mut venue);
    quote(&mut venue, 65_536 / 18 - 16, false);
    let before = path.counters().book_updates;
    let (bytes, count) = hear(&mut path, &mut venue);
    assert!(bytes > 65_000, "{bytes}: no test");
    assert_eq!(count, Count::default());
    assert_eq!(path.feed().counters().gaps, 0, "{}", path.feed().reason());
    assert_eq!(path.counters().book_updates, before + 1, "it was applied");
}
