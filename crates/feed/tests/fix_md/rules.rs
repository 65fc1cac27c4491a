//! The rules of a session's market data, one by one.

use crate::world::{SECRET, World, is_rebuilt, raw};
use sha2::{Digest, Sha256};
use touchline_feed::fix_md::Dialect;
use touchline_feed::{Feed, SessionFeed};
use touchline_types::{
    Event, Instrument, LevelEvent, Phase, Place, Price, Quantity, Side, UpdateAction, Validity,
};

const LIST: &str = "320=1|322=1|560=0|146=3|55=BTC-PERPETUAL|167=FUT|15=BTC|969=0.5|\
                    55=BTC-27SEP24|167=FUT|15=BTC|969=2.5|55=ETH-PERPETUAL|167=FUT|15=ETH|";
const BOOK: &str = "55=BTC-PERPETUAL|268=3|269=0|270=100.5|271=10.0|272=20231114-22:13:19.500|\
                    269=1|270=101.0|271=20|272=20231114-22:13:19.500|269=2|270=100|271=1|";

/// Logged on, the list received, and one book of two live.
fn live() -> World {
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    world.send("y", LIST);
    world.send("W", BOOK);
    world.take_asked();
    world
}

/// States of the channel.
fn channel(events: &[Event]) -> Vec<Validity> {
    let channel = |event: &Event| match event {
        Event::Channel(state) => Some(state.price),
        _ => None,
    };
    events.iter().filter_map(channel).collect()
}

#[test]
fn a_download_starts_defines_requests_and_ends() {
    let mut world = World::new(Dialect::Deribit);
    let events = world.connect();
    assert_eq!(events, [Event::Download(Phase::Begun)]);
    assert_eq!(
        world.take_asked(),
        [("x".to_owned(), "320=1|559=4|263=1|".to_owned())]
    );
    let events = world.send("y", LIST);
    let defined: Vec<_> = events
        .iter()
        .filter(|event| matches!(event, Event::Defined { .. }))
        .collect();
    assert_eq!(defined.len(), 2, "ETH was not chosen: {events:?}");
    let first = world.instruments.definition(Instrument(0));
    assert_eq!(
        (first.symbol.as_str(), first.tick, first.quantity_exponent),
        ("BTC-PERPETUAL", Price(500_000_000), -8)
    );
    assert!(first.defined && first.depth.is_all());
    let asked = world.take_asked();
    let request = "262=2|263=1|264=0|265=1|9011=Y|267=3|269=0|269=1|269=2|146=2|55=BTC-PERPETUAL|55=BTC-27SEP24|";
    assert_eq!(asked, [("V".to_owned(), request.to_owned())]);
    let events = world.send("W", BOOK);
    let transact_ns = 1_699_999_999_500_000_000;
    let level = |side, price, quantity| {
        Event::RebuildLevel(LevelEvent {
            instrument: Instrument(0),
            orders: -1,
            price: Price(price),
            quantity: Quantity(quantity),
            place: Place::Price,
            action: UpdateAction::New,
            side,
            book: touchline_types::BookKind::Direct,
        })
    };
    assert_eq!(
        events,
        [
            Event::RebuildBook(Instrument(0)),
            level(Side::Bid, 100_500_000_000, 1_000_000_000),
            level(Side::Ask, 101_000_000_000, 2_000_000_000),
            Event::BookRebuilt(Instrument(0), Validity::Live, Some(transact_ns)),
            Event::EndOfEvent { transact_ns },
        ]
    );
    assert!(!world.feed.is_defined(), "one book has no answer");
    let events = world.send("Y", "262=2|281=0|58=no|");
    let closed = Event::Validity(Instrument(1), Validity::Closed);
    assert_eq!(events, [closed, Event::Download(Phase::Ended)]);
    assert!(world.feed.is_defined());
    assert_eq!(world.feed.validity(Instrument(1)), Validity::Closed);
    assert_eq!(world.feed.counters().downloading, 0);
}

#[test]
fn the_logon_proves_the_secret_without_sending_it() {
    let mut world = World::new(Dialect::Deribit);
    world.venue.connected(touchline_feed::ReceiveTime::at(1));
    world
        .feed
        .connected(touchline_feed::ReceiveTime::at(1_700_000_000_000_000_000));
    let logon = String::from_utf8(world.feed.outgoing().to_vec()).expect("text");
    let value = |tag: &str| {
        let mut fields = logon
            .split('\x01')
            .filter_map(|field| field.split_once('='));
        fields
            .find(|(name, _)| *name == tag)
            .map(|(_, value)| value.to_owned())
            .expect(tag)
    };
    let raw_data = value("96");
    assert_eq!(value("95"), raw_data.len().to_string());
    let (ms, nonce) = raw_data.split_once('.').expect("a point");
    assert_eq!((ms, nonce.len()), ("1700000000000", 44));
    let proof = Sha256::digest(format!("{raw_data}{SECRET}"));
    assert_eq!(value("554"), base64(&proof));
    assert_eq!(
        (value("553"), value("9001"), value("141")),
        ("key".to_owned(), "Y".to_owned(), "Y".to_owned())
    );
    assert!(!logon.contains(SECRET));
    assert!(!format!("{:?}", world.feed).contains(SECRET));
}

/// A base64 implementation independent of the tested one.
fn base64(bytes: &[u8]) -> String {
    let digits: Vec<char> = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain(['+', '/'])
        .collect();
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let mut text: String = bits
        .as_bytes()
        .chunks(6)
        .map(|six| {
            let mut six = String::from_utf8(six.to_vec()).expect("bits");
            while six.len() < 6 {
                six.push('0');
            }
            digits[usize::from_str_radix(&six, 2).expect("bits")]
        })
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

#[test]
fn changes_identify_their_level_by_its_price() {
    let mut world = live();
    let events = world.send(
        "X",
        "55=BTC-PERPETUAL|262=2|268=3|279=0|269=1|270=101.5|271=7|272=20231114-22:13:20.001|\
        279=1|269=0|270=100.5|271=0.00000001|279=2|269=1|270=101|",
    );
    let levels: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Level(level, Validity::Live) => {
                Some((level.action, level.side, level.price.0, level.quantity.0))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        levels,
        [
            (UpdateAction::New, Side::Ask, 101_500_000_000, 700_000_000),
            (UpdateAction::Change, Side::Bid, 100_500_000_000, 1),
            (
                UpdateAction::Delete,
                Side::Ask,
                101_000_000_000,
                Quantity::NULL.0
            ),
        ]
    );
    assert_eq!(
        events.last(),
        Some(&Event::EndOfEvent {
            transact_ns: 1_700_000_000_001_000_000
        })
    );
}

#[test]
fn trades_have_their_side_and_number() {
    let mut world = live();
    let events = world.send("X", "55=BTC-PERPETUAL|268=1|279=0|269=2|270=100.5|271=3|272=20231114-22:13:20|100009=BTC-4711|54=2|");
    let Some(Event::Trade(trade, _)) = events.first() else {
        panic!("{events:?}")
    };
    assert_eq!(
        (trade.trade_id, trade.aggressor, trade.quantity.0),
        (4711, Some(Side::Ask), 300_000_000)
    );
}

#[test]
fn an_unreadable_message_invalidates_its_book_only() {
    for broken in [
        "268=2|279=0|269=1|270=101.5|271=7|",
        "268=1|279=0|269=1|270=1O1.5|271=7|",
        "268=1|279=0|269=1|271=7|",
        "268=1|279=0|269=1|270=101.5|271=0.000000001|",
        "268=1|279=0|269=1|270=99999999999999999999|271=7|",
        "268=1|279=0|269=1|270=101.5|",
    ] {
        let mut world = live();
        let events = world.send("X", &format!("55=BTC-PERPETUAL|{broken}"));
        assert_eq!(
            events,
            [Event::BookLost(Instrument(0), Validity::Recovering)],
            "{broken}"
        );
        let asked = world.take_asked();
        let kinds: Vec<_> = asked
            .iter()
            .map(|(_, fields)| fields.split('|').nth(1).unwrap_or(""))
            .collect();
        assert_eq!(kinds, ["263=2", "263=1"], "{broken}: {asked:?}");
        assert!(
            asked
                .iter()
                .all(|(_, fields)| fields.ends_with("146=1|55=BTC-PERPETUAL|"))
        );
        let events = world.send("W", BOOK);
        assert!(is_rebuilt(&events, Instrument(0)), "{broken}");
    }
}

/// The venue ends the subscription when the book is requested again; until then the trades are not sent a second time.
#[test]
fn trades_are_published_while_a_book_waits_to_be_requested_again() {
    let mut world = live();
    let broken = "55=BTC-PERPETUAL|262=2|268=1|279=0|269=0|270=1|271=-5|";
    world.send("X", broken);
    world.send("W", BOOK);
    world.send("X", broken);
    world.take_asked();
    assert_eq!(world.feed.validity(Instrument(0)), Validity::Recovering);
    let entries = "268=2|279=0|269=2|270=100.5|271=3|272=20231114-22:13:20|100009=BTC-4711|54=2|\
                   279=0|269=0|270=100|271=1|";
    let begun_ns = 1_700_000_000_000_000_000;
    let events = world.send("X", &format!("55=BTC-PERPETUAL|{entries}"));
    let [Event::Trade(trade, time_ns), end] = events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((trade.trade_id, time_ns), (4711, begun_ns));
    assert_eq!(
        end,
        Event::EndOfEvent {
            transact_ns: begun_ns
        }
    );
    let counters = world.feed.counters();
    assert_eq!(
        (counters.messages_unasked, counters.before_snapshot),
        (0, 1),
        "the level is dropped"
    );
    assert_eq!(world.send("W", BOOK), [], "it is no answer");
    assert_eq!(world.take_asked(), [], "the pause goes on");
}

#[test]
fn data_that_was_not_requested_or_is_too_early_is_dropped() {
    let mut world = live();
    assert_eq!(
        world.send("X", "55=ETH-PERPETUAL|268=1|279=0|269=0|270=1|271=1|"),
        []
    );
    assert_eq!(
        world.send("X", "55=BTC-27SEP24|268=1|279=0|269=0|270=1|271=1|"),
        []
    );
    let counters = world.feed.counters();
    assert_eq!(
        (counters.messages_unasked, counters.before_snapshot),
        (1, 1)
    );
}

#[test]
fn a_lost_connection_leaves_stale_books_until_their_next_snapshot() {
    let mut world = live();
    let events = world.disconnect();
    assert_eq!(channel(&events), [Validity::Stale]);
    assert_eq!(world.feed.validity(Instrument(0)), Validity::Stale);
    assert!(!world.feed.is_fresh());
    let events = world.connect();
    let stale = Event::Validity(Instrument(0), Validity::Stale);
    assert_eq!(events[0], stale, "before the channel is live again");
    assert_eq!(channel(&events), [Validity::Live]);
    assert_eq!(events[2..], [Event::Download(Phase::Begun)]);
    world.send("y", LIST);
    assert_eq!(
        world.feed.validity(Instrument(0)),
        Validity::Stale,
        "it is of the old connection"
    );
    assert_eq!(
        world.send("X", "55=BTC-PERPETUAL|268=1|279=0|269=0|270=1|271=1|"),
        [],
        "and accepts no change"
    );
    let events = world.send("W", BOOK);
    assert!(is_rebuilt(&events, Instrument(0)));
    assert_eq!(world.feed.counters().books_inconsistent, 0);
}

#[test]
fn a_skipped_number_closes_the_connection_and_no_book_is_live() {
    let mut world = live();
    let next = touchline_session::fix::Store::next_out(world.venue.store());
    let late = raw(
        "X",
        next + 1,
        "55=BTC-PERPETUAL|268=1|279=0|269=0|270=1|271=1|",
    );
    let events = world.inject(&late);
    assert!(
        events.contains(&Event::Lost {
            first: next,
            last: next,
            is_join: false,
        }),
        "{events:?}"
    );
    assert!(
        !events.iter().any(|event| matches!(event, Event::Level(..))),
        "{events:?}"
    );
    assert!(world.feed.is_over());
    assert_eq!(world.feed.counters().gaps, 1);
    world.disconnect();
    world.connect();
    assert!(!world.feed.is_over());
}

#[test]
fn a_feed_timeout_is_published_and_ends_with_a_heartbeat() {
    let mut world = live();
    assert_eq!(channel(&world.pass(4)), []);
    let events = world.pass(2);
    assert_eq!(channel(&events), [Validity::Stale]);
    assert!(!world.feed.is_fresh());
    let events = world.send("0", "");
    assert_eq!(channel(&events), [Validity::Live]);
    assert!(world.feed.is_fresh());
}

#[test]
fn a_venue_without_a_list_is_requested_for_the_configured_instruments() {
    let mut world = World::new(Dialect::Standard);
    let events = world.connect();
    assert_eq!(events.first(), Some(&Event::Download(Phase::Begun)));
    assert!(
        matches!(
            events.get(1),
            Some(Event::Defined {
                instrument: Instrument(0),
                ..
            })
        ),
        "{events:?}"
    );
    let asked = world.take_asked();
    assert!(
        matches!(asked.as_slice(), [(kind, fields)] if kind == "V" && fields.ends_with("146=1|55=EUR/USD|")),
        "{asked:?}"
    );
    let events = world.send(
        "W",
        "55=EUR/USD|262=1|268=2|269=0|270=1.11941|271=1000000|269=1|270=1.11944|271=1000000|",
    );
    assert!(is_rebuilt(&events, Instrument(0)));
    assert_eq!(events.last(), Some(&Event::Download(Phase::Ended)));
}

/// The decoded changes of a refused message are dropped: if they are of several instruments, no book is live.
#[test]
fn an_invalid_entry_of_one_instrument_leaves_no_other_book_live() {
    let [first, second] = ["BTC-PERPETUAL", "BTC-27SEP24"];
    let right = |symbol: &str| format!("279=0|55={symbol}|269=0|270=99|271=1|");
    let wrong = |symbol: &str| format!("279=0|55={symbol}|269=0|270=x|271=1|");
    let priceless = |symbol: &str| format!("279=0|55={symbol}|269=0|271=1|");
    for (entries, is_over) in [
        ([right(first), wrong(second)], true),
        ([right(first), priceless(second)], true),
        ([right(second), priceless(first)], true),
        ([priceless(first), right(second)], true),
        ([right(first), priceless(first)], false),
    ] {
        let mut world = live();
        world.send("W", &BOOK.replace(first, second));
        world.send("X", &format!("55={first}|268=2|{}", entries.concat()));
        assert_eq!(world.feed.is_over(), is_over, "{entries:?}");
        let other = world.feed.validity(Instrument(1));
        assert_eq!(other == Validity::Live, !is_over, "{entries:?}");
        assert_ne!(world.feed.validity(Instrument(0)), Validity::Live);
    }
}

/// Also of names that begin alike, and of none that is known.
#[test]
fn messages_of_several_instruments_alternate() {
    let mut world = live();
    world.send("W", &BOOK.replace("BTC-PERPETUAL", "BTC-27SEP24"));
    for (symbol, expected) in [
        ("BTC-PERPETUAL", Some(0)),
        ("BTC-27SEP24", Some(1)),
        ("BTC-27SEP24", Some(1)),
        ("BTC-27SEP2", None),
        ("BTC-27SEP240", None),
        ("BTC-PERPETUAL", Some(0)),
        ("BTC-27SEP24", Some(1)),
    ] {
        let change = format!("55={symbol}|268=1|279=0|269=0|270=99|271=1|");
        let events = world.send("X", &change);
        let changed = events.iter().find_map(|event| match event {
            Event::Level(level, _) => Some(level.instrument.0),
            _ => None,
        });
        assert_eq!(changed, expected, "{symbol}");
    }
}

#[test]
fn only_live_books_are_live_after_a_feed_timeout() {
    let mut world = live();
    // The second book is rejected; then the list of a new connection lacks the first one.
    world.send("Y", "262=2|281=0|");
    world.pass(6);
    let events = world.send("0", "");
    assert_eq!(channel(&events), [Validity::Live]);
    world.disconnect();
    let events = world.connect();
    let stale = Event::Validity(Instrument(0), Validity::Stale);
    assert!(
        events.contains(&stale),
        "the first is of the earlier connection"
    );
    world.send(
        "y",
        "320=1|322=1|560=0|146=1|55=BTC-27SEP24|167=FUT|15=BTC|969=2.5|",
    );
    world.send("W", &BOOK.replace("BTC-PERPETUAL", "BTC-27SEP24"));
    world.pass(6);
    let events = world.send("0", "");
    assert_eq!(channel(&events), [Validity::Live]);
    assert_eq!(world.feed.validity(Instrument(0)), Validity::Stale);
}

/// A message that the session handled itself may have been a change of a book.
#[test]
fn no_book_is_live_after_a_rejected_or_skipped_message() {
    let number = |world: &World| touchline_session::fix::Store::next_out(world.venue.store());
    let change = "55=BTC-PERPETUAL|268=1|279=1|269=0|270=100.5|271=1|";
    for broken in [
        format!("49=DERIBITSERVER|{change}"),
        format!("{change}34=9|"),
    ] {
        let mut world = live();
        let next = number(&world);
        let mut bytes = raw("X", next, &broken);
        bytes.extend(raw("X", next + 1, change));
        let events = world.inject(&bytes);
        assert!(
            !events.iter().any(|event| matches!(event, Event::Level(..))),
            "{broken}: {events:?}"
        );
        assert!(
            world.feed.is_over() && world.feed.counters().gaps == 1,
            "{broken}"
        );
        assert_eq!(world.feed.session().counters().messages_rejected, 1);
        let why = "an invalid message of the venue was rejected";
        assert!(world.feed.reason().starts_with(why), "{broken}");
    }
    let mut world = live();
    let next = number(&world);
    let mut bytes = raw("4", next, &format!("123=Y|36={}|", next + 50));
    bytes.extend(raw("X", next + 50, change));
    let events = world.inject(&bytes);
    assert!(
        !events.iter().any(|event| matches!(event, Event::Level(..))),
        "{events:?}"
    );
    assert!(world.feed.is_over());
}

#[test]
fn a_rejected_instrument_does_not_affect_the_others() {
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    world.send("y", LIST);
    world.take_asked();
    assert_eq!(world.send("Y", "262=2|281=0|"), []);
    let asked: Vec<_> = world
        .take_asked()
        .into_iter()
        .map(|(_, fields)| fields)
        .collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(
        asked[0].ends_with("146=1|55=BTC-PERPETUAL|")
            && asked[1].ends_with("146=1|55=BTC-27SEP24|")
    );
    let events = world.send("Y", "262=4|281=0|");
    assert_eq!(events, [Event::Validity(Instrument(1), Validity::Closed)]);
    world.send("W", BOOK);
    assert!(world.feed.is_defined());
}

#[test]
fn a_venue_that_does_not_answer_is_disconnected() {
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    for _ in 0..6 {
        world.pass(6);
        world.send("0", "");
    }
    assert!(world.feed.is_over(), "the list never came");
    let mut world = live();
    world.send("j", "45=3|372=V|380=3|");
    assert!(world.feed.is_over(), "a request was refused");
}

/// Also of a book that is requested again after the download, while the other books change.
#[test]
fn a_book_that_is_requested_again_is_not_awaited_for_ever() {
    let symbols = ["BTC-PERPETUAL", "BTC-27SEP24"];
    let mut world = live();
    world.send("W", &BOOK.replace(symbols[0], symbols[1]));
    let change = |symbol: &str| format!("55={symbol}|268=1|279=1|269=0|270=100.5|271=1|");
    let rejected = change(symbols[0]).replace("271=1|", "271=-1|");
    // Answered in time.
    world.send("X", &rejected);
    world.send("W", BOOK);
    for _ in 0..10 {
        world.pass(6);
        world.send("0", "");
    }
    assert!(!world.feed.is_over());
    // Not answered.
    world.send("X", &rejected);
    for _ in 0..4 {
        world.pass(6);
        world.send("X", &change(symbols[1]));
    }
    assert!(!world.feed.is_over());
    for _ in 0..2 {
        world.pass(6);
        world.send("X", &change(symbols[1]));
    }
    assert!(world.feed.is_over());
}

#[test]
fn a_message_without_a_known_book_closes_the_connection() {
    for (change, is_over) in [
        ("55=BTC-PERPETUAL|268=1|279=0|269=J|", false),
        ("55=BTC-PERPETUAL|268=1|279=5|269=0|270=1|271=1|", false),
        ("268=1|279=0|269=0|270=1|271=1|", true),
    ] {
        let mut world = live();
        let events = world.send("X", change);
        assert!(
            !events.iter().any(|event| matches!(event, Event::Level(..))),
            "{change}"
        );
        assert_ne!(
            world.feed.validity(Instrument(0)),
            Validity::Live,
            "{change}"
        );
        assert_eq!(world.feed.is_over(), is_over, "{change}");
    }
}
