//! Reasons that the log gives for a closed connection.

use crate::stage::{SECRET, Stage, raw};
use touchline_feed::SessionFeed;
use touchline_feed::fix_md::Dialect;
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
