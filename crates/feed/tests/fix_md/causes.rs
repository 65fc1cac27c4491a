//! Reasons that the log gives for a closed connection.

use crate::world::{SECRET, World, raw};
use touchline_feed::fix_md::Dialect;
use touchline_feed::{SessionFeed, Warning};
use touchline_types::Instrument;

const BOOK: &str = "55=EUR/USD|262=1|268=1|269=0|270=1.1|271=5|";
const AGAIN: &str = "; the connection and all requests start again";

fn live() -> World {
    let mut world = World::new(Dialect::Standard);
    world.connect();
    world.send("W", BOOK);
    world.take_asked();
    world
}

#[test]
fn the_reason_names_the_cause() {
    let cases = [
        (
            "X",
            "55=EUR/USD|268=1|279=0|269=0|270=x|271=1|",
            "a message about EUR/USD has an invalid number",
        ),
        (
            "X",
            "268=1|279=0|269=0|270=1|271=1|",
            "a message of the venue lacks a field, or has an empty one",
        ),
        (
            "i",
            "296=1|302=1|295=2|299=0|188=1.5|",
            "a message of the venue has other entries than it counts",
        ),
        ("Z", "298=4|", "the venue withdrew quotes"),
        (
            "j",
            "45=2|372=V|380=3|58=not you|",
            "the venue refused our message",
        ),
        (
            "3",
            "45=2|371=262|373=1|58=not so|",
            "the venue refused our message",
        ),
    ];
    for (kind, body, why) in cases {
        let mut world = live();
        assert_eq!(world.feed.reason(), "");
        world.send(kind, body);
        assert!(world.feed.is_over(), "{kind} {body}");
        let said = match body.split_once("58=") {
            Some((_, text)) => format!("; text of the venue: {:?}", text.trim_end_matches('|')),
            None => String::new(),
        };
        assert_eq!(world.feed.reason(), format!("{why}{AGAIN}{said}"));
        world.disconnect();
        assert_eq!(world.feed.reason(), "");
    }
}

/// Text of the venue goes into a log.
#[test]
fn a_venues_text_with_the_password_is_withheld() {
    let long = "x".repeat(195);
    for text in [
        format!("no such password: {SECRET}"),
        format!("{long}{SECRET}"),
    ] {
        let mut world = live();
        world.send("3", &format!("45=2|371=262|373=1|58={text}|"));
        let reason = world.feed.reason();
        assert!(reason.ends_with("withheld\""), "{reason}");
        assert!(!reason.contains(&SECRET[..5]), "{reason}");
    }
}

/// The log gets the message that closed the connection, and each message that rejects one of ours, with its reason (281, 58);
/// never our password.
#[test]
fn the_log_has_the_venues_messages() {
    let mut world = live();
    world.send("X", "55=EUR/USD|268=1|279=0|269=0|270=1|271=-7|");
    let evidence = world.feed.evidence();
    assert!(
        evidence.contains("35=X|") && evidence.contains("271=-7|"),
        "{evidence}"
    );
    world.disconnect();
    assert_eq!(world.feed.take_warning(), None);

    let mut world = World::new(Dialect::Standard);
    world.connect();
    world.send("Y", "262=1|281=8|58=no such band|");
    let Some(Warning::Rejected(message)) = world.feed.take_warning() else {
        panic!("a rejection");
    };
    assert!(message.contains("35=Y|"), "{message}");
    assert!(
        message.contains("262=1|281=8|58=no such band|"),
        "{message}"
    );
    assert_eq!(world.feed.take_warning(), None, "once");

    let mut world = live();
    world.send("3", &format!("45=2|371=262|373=1|58=not {SECRET}|"));
    let Some(Warning::Rejected(message)) = world.feed.take_warning() else {
        panic!("a rejection");
    };
    assert!(!message.contains(SECRET), "{message}");
}

/// A book that every snapshot makes inconsistent is requested less and less often, and the third time is reported with the message.
#[test]
fn a_book_that_fails_again_and_again_is_told_and_requested_less_often() {
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    world.send(
        "y",
        "320=1|322=1|560=0|146=1|55=BTC-PERPETUAL|167=FUT|15=BTC|969=0.5|",
    );
    let mut pauses = Vec::new();
    let mut told = Vec::new();
    for _ in 0..7 {
        world.take_asked();
        world.send("W", "55=BTC-PERPETUAL|268=1|269=0|270=1|271=-5|");
        told.extend(world.feed.take_warning());
        let mut seconds = 0;
        while !world
            .asked
            .iter()
            .any(|(kind, body)| kind == "V" && body.contains("263=1|"))
        {
            assert!(seconds < 100, "it is requested again");
            world.pass(1);
            world.send("0", "");
            seconds += 1;
        }
        pauses.push(seconds);
    }
    assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 16]);
    let counts: Vec<u32> = told
        .iter()
        .map(|warning| match warning {
            Warning::BookFails {
                reason,
                count,
                message,
            } => {
                assert!(
                    reason.contains("a message about BTC-PERPETUAL has a negative"),
                    "{reason}"
                );
                assert!(
                    message.contains("35=W|") && message.contains("271=-5|"),
                    "{message}"
                );
                *count
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(counts, [3, 6]);
}

#[test]
fn an_invalid_message_has_a_reason_too() {
    let next = |world: &World| touchline_session::fix::Store::next_out(world.venue.store());
    let change = "55=EUR/USD|268=1|279=0|269=0|270=1|271=1|";
    let mut world = live();
    let late = raw("X", next(&world) + 1, change);
    world.inject(&late);
    assert_eq!(
        world.feed.reason(),
        format!("sequence gap: a message of the venue is missing{AGAIN}")
    );
    let mut world = live();
    let invalid = raw("X", next(&world), &format!("49=DERIBITSERVER|{change}"));
    world.inject(&invalid);
    let why = "an invalid message of the venue was rejected";
    assert_eq!(world.feed.reason(), format!("{why}{AGAIN}"));
    let mut world = live();
    let skip = raw(
        "4",
        next(&world),
        &format!("123=Y|36={}|", next(&world) + 50),
    );
    world.inject(&skip);
    let why = "sequence gap: the venue skipped messages (SequenceReset)";
    assert_eq!(world.feed.reason(), format!("{why}{AGAIN}"));
    let mut world = live();
    world.book_inconsistent(Instrument(0));
    let why = "an update does not fit the book of EUR/USD";
    assert_eq!(world.feed.reason(), format!("{why}{AGAIN}"));
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    for _ in 0..6 {
        world.pass(6);
        world.send("0", "");
    }
    let why = "the venue did not answer our request";
    assert_eq!(world.feed.reason(), format!("{why}{AGAIN}"));
}

/// A message that is longer than the limit is distinguished from damaged bytes: the report has its type, its length, the limit, and the setting to
/// change. The rest of it is not counted as garbage.
#[test]
fn a_message_that_is_too_long_is_the_reason() {
    for piece in [1, 1_000, 60_000, usize::MAX] {
        let mut world = live();
        let entries: String = (0..8_000)
            .map(|i| format!("269=0|270={i}|271=1|"))
            .collect();
        let mut bytes = raw("W", 3, &format!("55=EUR/USD|268=8000|{entries}"));
        let length = bytes.len();
        assert!(length > 64 * 1024);
        bytes.extend(raw("0", 4, ""));
        for bytes in bytes.chunks(piece) {
            world.inject(bytes);
        }
        let wanted = format!(
            "a message (35=W) of {length} bytes is longer than the limit of 65536 bytes; if its BodyLength (9) is right, set \
             message_bytes_max to {length} or more{AGAIN}"
        );
        assert_eq!(world.feed.reason(), wanted);
        let counters = world.feed.session().counters();
        assert_eq!(
            (counters.messages_too_long, counters.messages_garbled),
            (1, 0),
            "in pieces of {piece}"
        );
    }
}
