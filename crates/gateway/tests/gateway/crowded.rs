//! A channel with full books, as vendors describe theirs, through the path.

use std::cell::RefCell;
use std::rc::Rc;
use touchline_feed::cme::{FeedType, Line, Settings};
use touchline_gateway::Limits;
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::{CmePipeline, build};
use touchline_lab::bench::market::Market;
use touchline_lab::capture;
use touchline_lab::cme::crowded::{CHANNEL_360, CHANNEL_384, ExpectedBook, Traits, generate};
use touchline_transport::{Envelope, Local, Subscribe};
use touchline_types::{BookKind, Side};

/// Everything that is published, as text.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Subscribe for Log {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let update = format!("{} {:?}", envelope.sequence, envelope.update);
        self.0.borrow_mut().push(update);
    }
}

/// Rounds of a channel; between packets the data is read as a loop without a packet does.
fn run(traits: Traits, is_warm: bool) -> (CmePipeline<Local<Log>>, Log) {
    let market = Market::Crowded(traits);
    let settings = Settings {
        instruments_max: market.instruments_max(),
        ..Settings::default()
    };
    let limits = Limits {
        instruments_max: market.instruments_max(),
        orders_max: market.orders_max(),
        event_changes_max: 4_096,
        default_depth: settings.default_depth,
        levels_max: 0,
    };
    let log = Log::default();
    let publisher = Local::new(log.clone());
    let mut path = build(settings, limits, Symbols::default(), publisher);
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
    (path, log)
}

fn books(path: &CmePipeline<Local<Log>>) -> Vec<ExpectedBook> {
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
        assert_eq!(books(&run(traits, false).0), expected);
    }
}

#[test]
fn reading_data_ahead_changes_nothing() {
    let traits = Traits {
        instruments: 40,
        ..CHANNEL_384
    };
    let [read, unread] = [true, false].map(|is_warm| run(traits, is_warm).1.0.take());
    assert!(read.len() > 40_000, "{}", read.len());
    assert!(read == unread, "the updates differ");
}
