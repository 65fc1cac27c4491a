//! Reasons that the log gives for a closed connection.

use crate::stage::{SECRET, Stage, raw};
use touchline_feed::fix_md::Dialect;
use touchline_feed::{SessionFeed, Warning};
use touchline_types::Instrument;

const BOOK: &str = "55=EUR/USD|262=1|268=1|269=0|270=1.1|271=5|";
const AGAIN: &str = "; the connection and all requests start again";

fn live() -> Stage {
    let mut stage = Stage::new(Dialect::Standard);
    stage.connect();
    stage.send("W", BOOK);
    stage.take_asked();
    stage
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
        let mut stage = live();
        assert_eq!(stage.feed.reason(), "");
        stage.send(kind, body);
        assert!(stage.feed.is_over(), "{kind} {body}");
        let said = match body.split_once("58=") {
            Some((_, text)) => format!("; text of the venue: {:?}", text.trim_end_matches('|')),
            None => String::new(),
        };
        assert_eq!(stage.feed.reason(), format!("{why}{AGAIN}{said}"));
        stage.disconnect();
        assert_eq!(stage.feed.reason(), "");
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
        let mut stage = live();
        stage.send("3", &format!("45=2|371=262|373=1|58={text}|"));
        let reason = stage.feed.reason();
        assert!(reason.ends_with("withheld\""), "{reason}");
        assert!(!reason.contains(&SECRET[..5]), "{reason}");
    }
}

/// The log gets the message that closed the connection, and each message that rejects one of ours, with its reason (281, 58);
/// never our password.
#[test]
fn the_log_has_the_venues_messages() {
    let mut stage = live();
    stage.send("X", "55=EUR/USD|268=1|279=0|269=0|270=1|271=-7|");
    let evidence = stage.feed.evidence();
    assert!(
        evidence.contains("35=X|") && evidence.contains("271=-7|"),
        "{evidence}"
    );
    stage.disconnect();
    assert_eq!(stage.feed.take_warning(), None);

    let mut stage = Stage::new(Dialect::Standard);
    stage.connect();
    stage.send("Y", "262=1|281=8|58=no such band|");
    let Some(Warning::Rejected(message)) = stage.feed.take_warning() else {
        panic!("a rejection");
    };
    assert!(message.contains("35=Y|"), "{message}");
    assert!(
        message.contains("262=1|281=8|58=no such band|"),
        "{message}"
    );
    assert_eq!(stage.feed.take_warning(), None, "once");

    let mut stage = live();
    stage.send("3", &format!("45=2|371=262|373=1|58=not {SECRET}|"));
    let Some(Warning::Rejected(message)) = stage.feed.take_warning() else {
        panic!("a rejection");
    };
    assert!(!message.contains(SECRET), "{message}");
}

/// A book that every snapshot makes inconsistent is requested less and less often, and the third time is told with the message.
#[test]
fn a_book_that_fails_again_and_again_is_told_and_requested_less_often() {
    let mut stage = Stage::new(Dialect::Deribit);
    stage.connect();
    stage.send(
        "y",
        "320=1|322=1|560=0|146=1|55=BTC-PERPETUAL|167=FUT|15=BTC|969=0.5|",
    );
    let mut pauses = Vec::new();
    let mut told = Vec::new();
    for _ in 0..7 {
        stage.take_asked();
        stage.send("W", "55=BTC-PERPETUAL|268=1|269=0|270=1|271=-5|");
        told.extend(stage.feed.take_warning());
        let mut seconds = 0;
        while !stage
            .asked
            .iter()
            .any(|(kind, body)| kind == "V" && body.contains("263=1|"))
        {
            assert!(seconds < 100, "it is requested again");
            stage.pass(1);
            stage.send("0", "");
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
    let next = |stage: &Stage| touchline_session::fix::Store::next_out(stage.venue.store());
    let change = "55=EUR/USD|268=1|279=0|269=0|270=1|271=1|";
    let mut stage = live();
    let late = raw("X", next(&stage) + 1, change);
    stage.inject(&late);
    assert_eq!(
        stage.feed.reason(),
        format!("sequence gap: a message of the venue is missing{AGAIN}")
    );
    let mut stage = live();
    let invalid = raw("X", next(&stage), &format!("49=DERIBITSERVER|{change}"));
    stage.inject(&invalid);
    let why = "an invalid message of the venue was rejected";
    assert_eq!(stage.feed.reason(), format!("{why}{AGAIN}"));
    let mut stage = live();
    let skip = raw(
        "4",
        next(&stage),
        &format!("123=Y|36={}|", next(&stage) + 50),
    );
    stage.inject(&skip);
    let why = "sequence gap: the venue skipped messages (SequenceReset)";
    assert_eq!(stage.feed.reason(), format!("{why}{AGAIN}"));
    let mut stage = live();
    stage.book_inconsistent(Instrument(0));
    let why = "an update does not fit the book of EUR/USD";
    assert_eq!(stage.feed.reason(), format!("{why}{AGAIN}"));
    let mut stage = Stage::new(Dialect::Deribit);
    stage.connect();
    for _ in 0..6 {
        stage.pass(6);
        stage.send("0", "");
    }
    let why = "the venue did not answer our request";
    assert_eq!(stage.feed.reason(), format!("{why}{AGAIN}"));
}

/// A message that is longer than the limit is told from damaged bytes: with its type, its length, the limit, and what to set. The
/// rest of it is not counted as garbage.
#[test]
fn a_message_that_is_too_long_is_the_reason() {
    for piece in [1, 1_000, 60_000, usize::MAX] {
        let mut stage = live();
        let entries: String = (0..8_000)
            .map(|i| format!("269=0|270={i}|271=1|"))
            .collect();
        let mut bytes = raw("W", 3, &format!("55=EUR/USD|268=8000|{entries}"));
        let length = bytes.len();
        assert!(length > 64 * 1024);
        bytes.extend(raw("0", 4, ""));
        for bytes in bytes.chunks(piece) {
            stage.inject(bytes);
        }
        let wanted = format!(
            "a message (35=W) of {length} bytes is longer than the limit of 65536 bytes; if its BodyLength (9) is right, set \
             message_bytes_max to {length} or more{AGAIN}"
        );
        assert_eq!(stage.feed.reason(), wanted);
        let counters = stage.feed.session().counters();
        assert_eq!(
            (counters.messages_too_long, counters.messages_garbled),
            (1, 0),
            "in pieces of {piece}"
        );
    }
}
