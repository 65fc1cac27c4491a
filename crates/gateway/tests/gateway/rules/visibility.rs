//! Content and time of published updates: whole events only.

use crate::rules::bench::Bench;
use crate::rules::messages::*;
use touchline_lab::cme::encode::incremental::Body;

#[test]
fn nothing_is_published_before_the_end_of_the_event() {
    let mut bench = Bench::new();
    bench.packet(1, &[heartbeat()]);
    bench.published(&["reset"]);
    bench.packet(2, &[open_book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(3, &[open_book(&[bid(2, NEW, 1, 101)])]);
    bench.published(&[]);
    bench.packet(4, &[end_of_event()]);
    bench.published(&["4: book 7 live 101 | -"]);
}

/// A settlement, limits or a halt are mostly alone in their packet, minutes behind the event before.
#[test]
fn statistics_a_status_and_a_reset_have_the_time_of_their_own_event() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    let bodies = [
        Body::Volume {
            wide: false,
            entries: vec![statistic(2, b'e')],
        },
        Body::DailyStatistics(vec![statistic(3, b'6')]),
        Body::Limits(vec![statistic(4, b'g')]),
        Body::SessionStatistics {
            wide: false,
            entries: vec![statistic(5, b'4')],
        },
        Body::Status {
            security_id: ID,
            status: 2,
        },
        Body::ChannelReset,
    ];
    for (body, number) in bodies.iter().zip(2..) {
        bench.packet(number, &[alone(body, u64::from(number) * 1_000)]);
    }
    bench.published(&[
        "reset",
        "1: book 7 live 100 | -",
        "2: Volume",
        "3: Settlement",
        "4: HighLimit",
        "4: LowLimit",
        "4: PriceBand",
        "5: Open",
        "6: status 2",
        "reset",
    ]);
    let expected = [0, 0, 2_000, 3_000, 4_000, 4_000, 4_000, 5_000, 6_000, 7_000];
    assert_eq!(bench.times_ns(), expected);
}

/// Announces the book's instrument before its definition, which may never arrive.
#[test]
fn an_instrument_is_announced_once_before_its_other_messages() {
    let mut bench = Bench::new();
    bench.packet(1, &[heartbeat()]);
    bench.announced(&[]);
    bench.packet(2, &[open_book(&[bid(1, NEW, 1, 100)])]);
    bench.announced(&[i64::from(ID)]);
    bench.published(&["reset"]);
    bench.packet(3, &[end_of_event(), definition(ID, 10)]);
    bench.packet(4, &[book(&[bid(2, NEW, 1, 101)])]);
    bench.announced(&[i64::from(ID)]);

    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 10)]);
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.announced(&[]);
}

#[test]
fn a_packet_may_hold_several_events() {
    let mut bench = Bench::new();
    let first = book(&[bid(1, NEW, 1, 100), bid(2, CHANGE, 1, 101)]);
    bench.packet(1, &[first, book(&[bid(3, DELETE, 1, 101)])]);
    bench.published(&["reset", "1: book 7 live 101 | -", "1: book 7 live - | -"]);
}

#[test]
fn an_event_shows_its_instruments_by_their_ids() {
    let mut bench = Bench::new();
    let other = |id, rpt_seq| touchline_lab::cme::encode::incremental::LevelEntry {
        security_id: id,
        ..bid(rpt_seq, NEW, 1, 100)
    };
    bench.packet(
        1,
        &[book(&[other(9, 1), other(-3, 1), other(8, 1), other(9, 2)])],
    );
    bench.published(&[
        "reset",
        "1: book -3 live 100 | -",
        "1: book 8 live 100 | -",
        "1: book 9 live 100 | -",
    ]);
}

/// The best direct bid and ask did not change: an update, and no top.
#[test]
fn an_event_of_implied_levels_only_is_marked() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[book(&[implied_bid(2, NEW, 1, 101)])]);
    bench.published(&[
        "reset",
        "1: book 7 live 100 | -",
        "2: book 7 live implied 100 | -",
    ]);
}

#[test]
fn a_lost_packet_truncates_the_open_event() {
    let mut bench = Bench::new();
    bench.packet(1, &[open_book(&[bid(1, NEW, 1, 100)])]);
    bench.published(&["reset"]);
    bench.packet(3, &[book(&[bid(2, NEW, 1, 101)])]);
    bench.published(&[]);
    bench.wait();
    bench.published(&[
        "lost 2-2",
        "1: book 7 gapped cut 100 | -",
        "3: book 7 live 101 | -",
    ]);
}

/// Every book is unconfirmed from the gap on.
#[test]
fn after_a_lost_packet_a_book_is_gapped_until_it_is_confirmed() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(3, &[heartbeat()]);
    bench.wait();
    bench.book(ID, "gapped 100 |");
    bench.published(&["reset", "1: book 7 live 100 | -", "lost 2-2"]);
    bench.packet(4, &[book(&[bid(2, NEW, 1, 101)])]);
    bench.book(ID, "live 101 100 |");
    bench.published(&["4: book 7 live 101 | -"]);
}

/// After a loss in an event, the published book contains half of the event until its end.
#[test]
fn the_rest_of_a_truncated_event_is_live_at_its_end() {
    let mut bench = Bench::new();
    bench.packet(1, &[open_book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(3, &[open_book(&[bid(2, NEW, 1, 101)])]);
    bench.wait();
    bench.published(&["reset", "lost 2-2", "1: book 7 gapped cut 100 | -"]);
    bench.packet(4, &[end_of_event()]);
    bench.published(&["4: book 7 live 101 | -"]);
}

/// A definition publishes the book's previous state; a confirmation of the book in the same event
/// follows.
#[test]
fn a_book_shown_and_confirmed_in_one_event_is_live_at_its_end() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(3, &[heartbeat()]);
    bench.wait();
    bench.published(&["reset", "1: book 7 live 100 | -", "lost 2-2"]);
    bench.packet(4, &[open_book(&[bid(2, NEW, 1, 101)]), definition(ID, 10)]);
    bench.packet(5, &[end_of_event()]);
    bench.book(ID, "live 101 100 |");
}

#[test]
fn a_book_that_is_lost_is_shown_empty_at_once() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[open_book(&[bid(3, NEW, 1, 101)])]);
    bench.published(&["reset", "1: book 7 live 100 | -", "whole book recovering 0"]);
}

/// The book already contains the packets behind the snapshot, which end in the middle of an event.
#[test]
fn a_recovered_book_is_not_shown_in_the_middle_of_an_event() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[open_book(&[bid(3, NEW, 1, 102)])]);
    bench.published(&["reset", "1: book 7 live 100 | -", "whole book recovering 0"]);
    bench.snapshots(1, &[snapshot(2, 2, &[101, 100])]);
    bench.published(&[]);
    bench.packet(3, &[end_of_event()]);
    bench.published(&["whole book live 3"]);
}

/// Without a definition the depth is a default, and such a book may show one level too many.
#[test]
fn where_definitions_are_repeated_a_book_waits_for_its_own() {
    let mut bench = Bench::defined_only();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.snapshots(1, &[snapshot(1, 1, &[100])]);
    bench.book(ID, "recovering |");
    bench.definitions(1, &[definition(ID, 10)]);
    bench.packet(2, &[book(&[bid(2, NEW, 1, 101)])]);
    bench.book(ID, "recovering |");
    bench.snapshots(2, &[snapshot(1, 1, &[100])]);
    bench.book(ID, "live 101 100 |");
}

/// An instrument that is defined before its first entry, such as a new spread, has missed no entry.
#[test]
fn a_book_that_is_defined_first_is_live_at_once() {
    let mut bench = Bench::defined_only();
    bench.packet(1, &[definition(ID, 10)]);
    bench.packet(2, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.book(ID, "live 100 |");
    bench.packet(3, &[channel_reset()]);
    bench.packet(4, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.book(ID, "live 50 |");
}

/// A book in the middle of an event never existed at the exchange: it is not published, not even
/// when the buffer is full.
#[test]
fn changes_beyond_the_limit_are_published_as_snapshots_at_the_end_of_the_event() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.published(&["reset", "1: book 7 live 100 | -"]);
    let changes = |first: u32| -> Vec<_> {
        (first..first + 40)
            .map(|rpt_seq| bid(rpt_seq, CHANGE, 1, 100))
            .collect()
    };
    bench.packet(2, &[open_book(&changes(2))]);
    bench.packet(3, &[open_book(&changes(42))]);
    bench.packet(4, &[open_book(&[bid(82, NEW, 1, 101)])]);
    bench.published(&[]);
    bench.packet(5, &[end_of_event()]);
    bench.published(&["whole book live 2", "5: book 7 live 101 | -"]);
    // The next event is handled normally.
    bench.packet(6, &[book(&[bid(83, DELETE, 1, 101)])]);
    bench.published(&["6: book 7 live 100 | -"]);
}

/// Orders, whose changes arrive one by one.
#[test]
fn order_changes_beyond_the_limit_are_published_as_an_order_snapshot() {
    let mut bench = Bench::new();
    bench.packet(1, &[orders(0, &[order(NEW, 1, 30, 5, 100)])]);
    bench.published(&["reset", "1: orders live"]);
    let changes: Vec<_> = (0..70)
        .map(|more| order(CHANGE, 1, 30, 5 + more, 100))
        .collect();
    bench.packet(2, &[orders(0, &changes)]);
    bench.published(&["whole orders live 1"]);
    bench.orders(ID, "live 1:74@100 |");
    bench.packet(3, &[orders(0, &[order(CHANGE, 1, 30, 9, 100)])]);
    bench.published(&["3: orders live"]);
}
