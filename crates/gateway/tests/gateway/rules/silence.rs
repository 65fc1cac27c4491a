//! Feed timeout and channel silence: no packet on either line of the incremental feed, or of any group, and books become stale.

use crate::rules::bench::Bench;
use crate::rules::messages::*;
use touchline_feed::cme::{FeedType, Line};

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

/// The groups of a channel that repeat: a snapshot of the book as of packet `newest`, each 10 ms.
fn repeat(bench: &mut Bench, newest: u32, times: u32) {
    for _ in 0..times {
        bench.silence(9);
        bench.snapshots(1, &[snapshot(newest, 1, &[100])]);
    }
}

/// A live book of a channel whose snapshots have repeated for 200 ms.
fn repeating() -> Bench {
    let mut bench = Bench::of_repeating_groups();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[orders(20, &[order(NEW, 1, 1, 5, 100)])]);
    repeat(&mut bench, 2, 20);
    bench.published(&["reset", "1: book 7 live 100 | -", "2: orders live"]);
    bench
}

#[test]
fn a_channel_of_which_no_group_sends_is_stale_until_a_snapshot_shows_that_nothing_was_missed() {
    let mut bench = repeating();
    bench.silence(99);
    bench.published(&[]);
    bench.silence(1);
    bench.published(&["channel stale stale"]);
    bench.shown(ID, "stale");
    let counters = bench.counters();
    assert_eq!((counters.channel_silences, counters.channel_silent), (1, 1));
    assert_eq!(
        (counters.silence_limit_ms, counters.feed_timeouts),
        (100, 0)
    );
    bench.silence(500);
    bench.definitions(1, &[definition(ID, 10)]);
    bench.take_published();
    bench.shown(ID, "stale");
    repeat(&mut bench, 2, 1);
    bench.published(&["channel live live"]);
    let counters = bench.counters();
    assert_eq!((counters.channel_silences, counters.channel_silent), (1, 0));
    // The interruption is not taken for the rate of the groups.
    repeat(&mut bench, 2, 3);
    bench.silence(100);
    bench.published(&["channel stale stale"]);
    bench.packet(3, &[heartbeat()]);
    bench.published(&["channel live live"]);
}

/// While no packet arrived, the exchange continued: no book is live before the loss is assessed.
#[test]
fn a_silence_that_hid_packets_does_not_end_with_a_snapshot() {
    let mut bench = repeating();
    bench.silence(100);
    bench.published(&["channel stale stale"]);
    repeat(&mut bench, 3, 30);
    bench.published(&[]);
    bench.packet(4, &[heartbeat()]);
    bench.wait();
    let said = bench.take_published();
    assert_eq!(said[0], "lost 3-3", "{said:?}");
    assert!(
        said[1..].iter().any(|said| said == "channel live live"),
        "{said:?}"
    );
}

/// One line is enough, for any time.
#[test]
fn a_channel_of_which_one_line_is_dead_is_not_silent() {
    for line in [Line::A, Line::B] {
        let mut bench = repeating();
        for packet in 3..63 {
            bench.silence(90);
            bench.on_line(line, packet, &[heartbeat()]);
            repeat(&mut bench, packet, 1);
        }
        bench.published(&[]);
        assert_eq!(bench.counters().channel_silences, 0, "{line:?}");
    }
}

/// Snapshots ahead of the incremental feed show that it is dead; without them only the venue's own limit applies.
#[test]
fn a_dead_incremental_feed_is_stale_as_soon_as_snapshots_are_ahead_of_it() {
    let mut bench = repeating();
    repeat(&mut bench, 2, 300);
    bench.published(&[]);
    repeat(&mut bench, 3, 10);
    bench.published(&[]);
    repeat(&mut bench, 4, 2);
    bench.published(&["channel stale stale"]);
    let counters = bench.counters();
    assert_eq!((counters.channel_silences, counters.feed_timeouts), (0, 1));
    // The incremental feed continues, and has lost a packet.
    bench.packet(4, &[heartbeat()]);
    bench.wait();
    let said = bench.take_published();
    assert_eq!(said[0], "lost 3-3", "{said:?}");
    assert!(
        said[1..].iter().any(|said| said == "channel live live"),
        "{said:?}"
    );
}

/// A quiet market without snapshots: only heartbeats distinguish it from an ended exchange.
#[test]
fn a_dead_incremental_feed_without_newer_snapshots_is_stale_after_the_limit_of_the_venue() {
    let mut bench = repeating();
    repeat(&mut bench, 2, 979);
    bench.published(&[]);
    repeat(&mut bench, 2, 3);
    bench.published(&["channel stale stale"]);
    assert_eq!(bench.counters().feed_timeouts, 1);
}

/// Books stay correct without snapshots. The first packet without them may come late; from then on the venue's limit is the only one.
#[test]
fn dead_snapshot_groups_are_one_silence_at_most() {
    let mut bench = repeating();
    bench.silence(100);
    bench.published(&["channel stale stale"]);
    bench.packet(3, &[heartbeat()]);
    bench.published(&["channel live live"]);
    for packet in 4..20 {
        bench.silence(5_000);
        bench.packet(packet, &[heartbeat()]);
    }
    bench.published(&[]);
    assert_eq!(bench.counters().channel_silences, 1);
    repeat(&mut bench, 19, 2);
    bench.silence(100);
    bench.published(&["channel stale stale"]);
}

/// A closed market: its cycles come each half second, and heartbeats each 5 s.
#[test]
fn slow_cycles_are_no_silence() {
    let mut bench = Bench::of_repeating_groups();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[orders(20, &[order(NEW, 1, 1, 5, 100)])]);
    bench.take_published();
    for packet in 3..13 {
        for _ in 0..10 {
            bench.silence(499);
            bench.snapshots(1, &[snapshot(packet - 1, 1, &[100])]);
        }
        bench.packet(packet, &[heartbeat()]);
    }
    bench.published(&[]);
    let counters = bench.counters();
    assert_eq!(
        (counters.channel_silences, counters.silence_limit_ms),
        (0, 1_002),
        "twice the interval with a heartbeat in it"
    );
    // Its end is noticed by the same rate.
    bench.silence(1_001);
    bench.published(&[]);
    bench.silence(1);
    bench.published(&["channel stale stale"]);
}

/// All lines fail again and again, for about the same time: the limit stays that of the groups' rate.
#[test]
fn alike_outages_of_an_active_market_do_not_raise_the_limit() {
    for is_snapshot_first in [true, false] {
        let mut bench = repeating();
        let mut newest = 2;
        for outage in 1..=12 {
            bench.silence(250);
            if is_snapshot_first {
                repeat(&mut bench, newest + 4, 1);
            }
            // Three packets were lost in it.
            newest += 4;
            bench.packet(newest, &[heartbeat()]);
            bench.wait();
            repeat(&mut bench, newest, 20);
            newest += 1;
            bench.packet(newest, &[heartbeat()]);
            let counters = bench.counters();
            assert_eq!(
                (counters.silence_limit_ms, counters.channel_silences),
                (100, outage),
                "snapshot first: {is_snapshot_first}"
            );
        }
    }
}
