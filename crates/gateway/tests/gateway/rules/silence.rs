//! Feed timeout: no packet on either line of the incremental feed, and books become stale.

use crate::rules::bench::Bench;
use crate::rules::messages::*;
use touchline_feed::cme::FeedType;

/// A live book with a bid and an order.
fn live() -> Bench {
    let mut bench = Bench::growing_stale();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[orders(20, &[order(NEW, 1, 1, 5, 100)])]);
    bench.published(&["reset", "1: book 7 live 100 | -", "2: orders live"]);
    bench
}

#[test]
fn a_channel_in_feed_timeout_is_stale_until_its_next_packet() {
    let mut bench = live();
    bench.silence(99);
    bench.published(&[]);
    bench.silence(1);
    bench.published(&["channel stale stale"]);
    bench.silence(500);
    bench.published(&[]);
    bench.packet(3, &[book(&[bid(2, NEW, 1, 101)])]);
    bench.published(&["3: book 7 live 101 | -", "channel live live"]);
    assert_eq!(bench.counters().feed_timeouts, 1);
}

/// A book is rebuilt during an open event and published at its end: until then subscribers have an empty book.
#[test]
fn an_unpublished_book_is_not_live_when_a_feed_timeout_ends() {
    let mut bench = live();
    bench.packet(3, &[open_book(&[bid(3, NEW, 1, 103)])]);
    bench.snapshots(1, &[snapshot(2, 2, &[102, 100])]);
    bench.silence(100);
    bench.take_published();
    bench.packet(4, &[heartbeat()]);
    bench.published(&["channel live live"]);
    bench.packet(5, &[end_of_event()]);
    bench.published(&["whole book live 3"]);
    bench.book(ID, "live 103 102 100 |");
}

#[test]
fn a_heartbeat_prevents_a_feed_timeout() {
    let mut bench = live();
    for packet in 3..6 {
        bench.silence(60);
        bench.packet(packet, &[heartbeat()]);
    }
    bench.published(&[]);
    assert_eq!(bench.counters().feed_timeouts, 0);
}

/// The first packet after the timeout shows a loss: no book is live before the loss is assessed.
#[test]
fn a_feed_timeout_that_ends_with_a_gap_ends_with_the_loss() {
    let mut bench = live();
    bench.silence(100);
    bench.published(&["channel stale stale"]);
    bench.packet(5, &[book(&[bid(4, NEW, 1, 104)])]);
    bench.published(&[]);
    bench.wait();
    let said = bench.take_published();
    assert_eq!(said[0], "lost 3-4", "{said:?}");
    assert!(
        said[1..] == ["whole book recovering 0", "channel live live"],
        "{said:?}"
    );
    bench.book(ID, "recovering |");
}

/// Old and invalid packets do not end the timeout.
#[test]
fn copies_and_invalid_packets_end_no_feed_timeout() {
    let mut bench = live();
    bench.silence(100);
    bench.published(&["channel stale stale"]);
    bench.sent_at(
        FeedType::Incremental,
        2,
        3,
        &[orders(20, &[order(NEW, 1, 1, 5, 100)])],
    );
    bench.sent_at(FeedType::Incremental, 1, 2, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.sent_at(FeedType::Incremental, 3, 3, &[vec![0; 12]]);
    bench.sent_at(FeedType::Incremental, 3_000_000, 4, &[heartbeat()]);
    bench.published(&[]);
    bench.packet(3, &[heartbeat()]);
    bench.published(&["channel live live"]);
}

/// The snapshot feeds may continue without the incremental feed: their books are stale, too.
#[test]
fn a_snapshot_does_not_make_a_silent_channel_live() {
    let mut bench = live();
    bench.packet(4, &[heartbeat()]);
    bench.wait();
    bench.silence(100);
    bench.published(&["lost 3-3", "channel stale stale"]);
    bench.snapshots(1, &[snapshot(4, 1, &[100])]);
    bench.published(&["whole book live 1"]);
    bench.shown(ID, "stale");
    bench.packet(5, &[heartbeat()]);
    bench.published(&["channel live live"]);
    bench.shown(ID, "live");
    bench.book(ID, "live 100 |");
}
