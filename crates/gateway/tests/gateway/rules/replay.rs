//! TCP replay: subscribers' view while packets are awaited, and after they arrived or did not.

use crate::rules::bench::Bench;
use crate::rules::messages::*;
use touchline_feed::cme::FeedType;

/// A book with a bid and an order; packet 3 is missing, and 4 has waited too long behind the gap.
/// Packets are sent at the millisecond of their number.
fn awaiting() -> Bench {
    let mut bench = Bench::asking();
    bench.sent_at(FeedType::Incremental, 1, 1, &[book(&[bid(1, NEW, 1, 100)])]);
    let first_order = orders(20, &[order(NEW, 1, 1, 5, 100)]);
    bench.sent_at(FeedType::Incremental, 2, 2, &[first_order]);
    bench.published(&["reset", "1: book 7 live 100 | -", "2: orders live"]);
    bench.sent_at(FeedType::Incremental, 4, 4, &[book(&[bid(3, NEW, 1, 102)])]);
    bench.wait();
    bench
}

/// Content of packet 3.
fn missing() -> [Vec<u8>; 2] {
    [
        book(&[bid(2, NEW, 1, 101)]),
        orders(30, &[order(NEW, 2, 2, 6, 101)]),
    ]
}

#[test]
fn while_packets_are_awaited_no_book_is_shown_as_live() {
    let mut bench = awaiting();
    assert_eq!(bench.wanted(), Some((3, 3)));
    bench.published(&["channel gapped gapped"]);
    // The next packets wait as well.
    bench.sent_at(
        FeedType::Incremental,
        5,
        5,
        &[book(&[bid(4, DELETE, 1, 102)])],
    );
    bench.published(&[]);
}

#[test]
fn books_continue_from_the_gap_after_replay() {
    let mut bench = awaiting();
    bench.published(&["channel gapped gapped"]);
    bench.sent_at(FeedType::Replay, 3, 3, &missing());
    bench.published(&[
        "3: book 7 live 101 | -",
        "3: orders live",
        "4: book 7 live 102 | -",
        "channel live live",
    ]);
    bench.book(ID, "live 102 101 100 |");
    bench.orders(ID, "live 2:6@101 1:5@100 |");
    assert_eq!(bench.wanted(), None);
    let counters = bench.counters();
    assert_eq!(
        (counters.replays_requested, counters.replays_filled),
        (1, 1)
    );
    assert_eq!((counters.packets_replayed, counters.packets_lost), (1, 0));
}

#[test]
fn a_late_copy_from_a_line_fills_the_gap_too() {
    let mut bench = awaiting();
    bench.sent_at(FeedType::Incremental, 3, 3, &missing());
    bench.sent_at(FeedType::Replay, 3, 3, &missing());
    bench.book(ID, "live 102 101 100 |");
    let counters = bench.counters();
    assert_eq!((counters.packets_replayed, counters.replays_filled), (0, 1));
    assert_eq!(counters.packets_replay_unused, 1);
}

#[test]
fn refused_or_late_replays_are_losses() {
    for refused in [true, false] {
        let mut bench = awaiting();
        bench.published(&["channel gapped gapped"]);
        match refused {
            true => bench.failed(),
            false => (0..4).for_each(|_| bench.wait()),
        }
        bench.published(&["lost 3-3", "channel live live", "whole book recovering 0"]);
        assert_eq!(bench.wanted(), None);
        bench.book(ID, "recovering |");
        bench.orders(ID, "recovering |");
        bench.snapshots(1, &[snapshot(4, 3, &[102, 101, 100])]);
        bench.book(ID, "live 102 101 100 |");
        assert_eq!(bench.counters().packets_lost, 1);
    }
}

/// An invalid packet is dropped, also over TCP.
#[test]
fn a_damaged_packet_fills_nothing() {
    let mut bench = awaiting();
    let message = book(&[bid(2, NEW, 1, 101)]);
    bench.sent_at(
        FeedType::Replay,
        3,
        3,
        &[message[..message.len() - 1].to_vec()],
    );
    assert_eq!(bench.counters().packets_invalid, 1);
    assert_eq!(bench.wanted(), Some((3, 3)));
}

/// A snapshot of another instrument arrives meanwhile: its book is whole, and as old as the others.
#[test]
fn a_book_recovered_during_replay_is_not_live_before_the_others() {
    let mut bench = Bench::asking();
    bench.sent_at(FeedType::Incremental, 1, 1, &[book(&[bid(2, NEW, 1, 100)])]);
    bench.sent_at(FeedType::Incremental, 3, 3, &[heartbeat()]);
    bench.wait();
    bench.published(&["reset", "whole book recovering 0", "channel gapped gapped"]);
    bench.snapshots(1, &[snapshot(1, 2, &[100, 99])]);
    bench.published(&["whole book live 2"]);
    bench.shown(ID, "gapped");
    bench.sent_at(FeedType::Replay, 2, 2, &[heartbeat()]);
    bench.published(&["channel live live"]);
    bench.shown(ID, "live");
    bench.book(ID, "live 100 99 |");
}

/// Half of an event is in the books when its other half is lost: subscribers keep the book from
/// before the event as gapped, and receive the event whole.
#[test]
fn an_event_with_a_filled_gap_is_published_completely() {
    let mut bench = Bench::asking();
    bench.sent_at(FeedType::Incremental, 1, 1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.sent_at(
        FeedType::Incremental,
        2,
        2,
        &[open_book(&[bid(2, NEW, 1, 101)])],
    );
    bench.sent_at(FeedType::Incremental, 4, 4, &[end_of_event()]);
    bench.wait();
    bench.published(&["reset", "1: book 7 live 100 | -", "channel gapped gapped"]);
    bench.sent_at(FeedType::Replay, 3, 3, &[open_book(&[bid(3, NEW, 1, 102)])]);
    bench.published(&["4: book 7 live 102 | -", "channel live live"]);
}

/// After a sequence reset, the old epoch's gap is dropped.
#[test]
fn a_sequence_reset_ends_the_wait_for_old_packets() {
    let mut bench = awaiting();
    bench.published(&["channel gapped gapped"]);
    bench.both(1, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.both(2, &[book(&[bid(2, NEW, 1, 51)])]);
    assert_eq!(bench.wanted(), None);
    bench.book(ID, "live 51 50 |");
    assert_eq!(bench.counters().replays_filled, 0);
}

/// The packets behind the gap were in conflict and dropped; then a line delivers an awaited packet, and TCP delivers it
/// again.
#[test]
fn books_are_not_live_during_replay_without_buffered_packets() {
    let mut bench = awaiting();
    let other = book(&[bid(3, NEW, 1, 777), bid(4, NEW, 2, 776)]);
    bench.sent_at(FeedType::Incremental, 4, 4, &[other]);
    bench.sent_at(FeedType::Incremental, 3, 3, &missing());
    assert_eq!(bench.wanted(), None);
    bench.sent_at(FeedType::Replay, 3, 3, &missing());
    assert_eq!(bench.counters().packets_replay_unused, 1);
    bench.orders(ID, "live 2:6@101 1:5@100 |");
    bench.sent_at(FeedType::Incremental, 4, 4, &[book(&[bid(3, NEW, 1, 102)])]);
    for sequence in 5..80 {
        bench.sent_at(
            FeedType::Incremental,
            sequence,
            u64::from(sequence),
            &[heartbeat()],
        );
    }
    bench.book(ID, "live 102 101 100 |");
    bench.shown(ID, "live");
    assert_eq!(bench.counters().packets_delivered, 79);
}
