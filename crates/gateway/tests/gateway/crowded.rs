//! A channel with full books, as vendors describe theirs, through the path.

use touchline_feed::cme::{FeedType, Line, Settings};
use touchline_gateway::Limits;
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::{CmePipeline, build};
use touchline_lab::bench::ipc::Folder;
use touchline_lab::bench::market::Market;
use touchline_lab::capture;
use touchline_lab::cme::crowded::{CHANNEL_360, CHANNEL_384, ExpectedBook, Traits, generate};
use touchline_transport::shm::{self, Publisher, Root};
use touchline_transport::{Local, Publish};
use touchline_types::{BookKind, Side};

/// Rounds of a channel; between packets the data is read as a loop without a packet does.
fn run<P: Publish>(traits: Traits, is_warm: bool, publisher: P) -> CmePipeline<P> {
    let orders_max = Market::Crowded(traits).orders_max();
    run_with(traits, is_warm, orders_max, publisher)
}

/// [`run`] with room for this many orders.
fn run_with<P: Publish>(
    traits: Traits,
    is_warm: bool,
    orders_max: usize,
    publisher: P,
) -> CmePipeline<P> {
    let market = Market::Crowded(traits);
    let settings = Settings {
        instruments_max: market.instruments_max(),
        order_books: orders_max > 0,
        ..Settings::default()
    };
    let limits = Limits {
        instruments_max: market.instruments_max(),
        orders_max,
        event_changes_max: 4_096,
        default_depth: settings.default_depth,
        levels_max: 0,
    };
    let mut path = build(settings, limits, Symbols::default(), publisher);
    // No times of this host in the messages.
    path.set_trace(false);
    path.set_keep_warm(is_warm);
    let source = (FeedType::Incremental, Line::A);
    let mut rounds = market.rounds(1, &[capture::Line::A]);
    for snapshot in rounds.snapshots() {
        path.packet((FeedType::Snapshot, Line::A), &snapshot, 0, 0);
    }
    for (_, bytes) in rounds.opening() {
        path.packet(source, bytes, 0, 0);
    }
    for _ in 0..2 {
        for (_, receive_ns, bytes, _) in rounds.packets().take(5_000) {
            path.packet(source, bytes, receive_ns, 0);
            if is_warm {
                path.warm();
            }
        }
        for (_, receive_ns, bytes, _) in rounds.packets().skip(5_000) {
            path.packet(source, bytes, receive_ns, 0);
        }
        rounds.next_round();
    }
    assert_eq!(path.feed().counters().gaps, 0);
    path
}

fn books<P: Publish>(path: &CmePipeline<P>) -> Vec<ExpectedBook> {
    let book = |instrument| {
        let levels = |side| {
            let book = path.prices().get(instrument).expect("it has levels");
            let levels = book.levels(BookKind::Direct, side).iter();
            let level = levels.map(|level| (level.price.0, level.quantity.0, level.orders as u32));
            level.collect()
        };
        ExpectedBook {
            security_id: path.instruments().definition(instrument).security_id as i32,
            levels: Side::BOTH.map(levels),
            orders: path.orders().len_of(instrument),
        }
    };
    let mut books: Vec<_> = path.instruments().iter().map(book).collect();
    books.sort_by_key(|book| book.security_id);
    books
}

#[test]
fn rounds_end_with_the_books_that_they_began_with() {
    for traits in [CHANNEL_360, CHANNEL_384] {
        let traits = Traits {
            instruments: 40,
            ..traits
        };
        let expected = generate(traits, 1, 1).books;
        assert_eq!(books(&run(traits, false, Local::new(()))), expected);
    }
}

#[test]
fn without_order_books_the_price_books_are_the_same() {
    let traits = Traits {
        instruments: 40,
        ..CHANNEL_384
    };
    let mut expected = generate(traits, 1, 1).books;
    expected.iter_mut().for_each(|book| book.orders = 0);
    let path = run_with(traits, false, 0, Local::new(()));
    assert_eq!(books(&path), expected);
    assert!(path.orders().is_empty() && !path.feed().orders_seen());
    let counters = path.counters();
    assert_eq!((counters.order_updates, counters.order_snapshots), (0, 0));
    assert!(counters.book_updates > 0);
}

#[test]
fn reading_data_ahead_changes_nothing() {
    let traits = Traits {
        instruments: 40,
        ..CHANNEL_384
    };
    let [read, unread] = [true, false].map(|is_warm| {
        let folder = Folder::new().expect("a folder of its own");
        let settings = shm::Settings {
            instruments_max: 64,
            ..shm::Settings::default()
        };
        let publisher = Publisher::open(&Root::at(folder.path()), "crowded", &settings);
        drop(run(traits, is_warm, publisher.expect("a new bus")));
        let files = std::fs::read_dir(folder.path().join("crowded")).expect("the bus");
        let files = files.map(|file| file.expect("a file").path());
        let contents = files.map(|path| {
            let bytes = std::fs::read(&path).expect("it can be read");
            (path.file_name().map(ToOwned::to_owned), bytes)
        });
        let mut contents: Vec<_> = contents.collect();
        contents.retain(|(name, _)| name.as_ref().is_some_and(|name| name != "lock"));
        contents.sort();
        contents
    });
    assert!(read.len() >= 5, "a ring and its tables");
    for ((name, read), (_, unread)) in read.iter().zip(&unread) {
        assert!(read == unread, "{name:?} differs");
    }
}
