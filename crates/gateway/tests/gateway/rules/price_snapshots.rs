//! Recovery of price books from snapshots. Source: CME client systems wiki, "MBP and MBOFD Market
//! Recovery".

use crate::rules::bench::Bench;
use crate::rules::messages::*;
use touchline_feed::cme::FeedType;

/// A book without entry 2; packets 2 and 3, with entries 3 and 4, are queued.
fn with_a_gap() -> Bench {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[book(&[bid(3, NEW, 1, 103)])]);
    bench.packet(3, &[book(&[bid(4, NEW, 1, 104)])]);
    bench.book(ID, "recovering |");
    bench
}

#[test]
fn the_queue_is_replayed_on_top_of_a_snapshot() {
    let mut bench = with_a_gap();
    bench.snapshots(1, &[snapshot(1, 2, &[102])]);
    bench.book(ID, "live 104 103 102 |");
    bench.packet(4, &[book(&[bid(5, NEW, 1, 105)])]);
    bench.book(ID, "live 105 104 103 102 |");
}

#[test]
fn changes_contained_in_a_snapshot_are_not_applied_again() {
    let mut bench = with_a_gap();
    bench.snapshots(1, &[snapshot(2, 3, &[103, 102])]);
    bench.book(ID, "live 104 103 102 |");
}

#[test]
fn a_snapshot_that_is_ahead_of_the_incremental_feed_waits_for_it() {
    let mut bench = with_a_gap();
    bench.take_published();
    bench.snapshots(1, &[snapshot(5, 6, &[106, 105])]);
    bench.book(ID, "recovering |");
    bench.packet(4, &[book(&[bid(5, NEW, 1, 105)])]);
    bench.published(&[]);
    bench.packet(5, &[book(&[bid(6, NEW, 1, 106)])]);
    bench.published(&["whole book live 2"]);
    bench.book(ID, "live 106 105 |");
    bench.packet(6, &[book(&[bid(7, DELETE, 1, 106)])]);
    bench.book(ID, "live 105 |");
    assert_eq!(bench.counters().snapshots_early, 1);
}

/// A reset lies between the last packet and the snapshot: earlier numbers are higher.
#[test]
fn a_snapshot_behind_a_reset_waits_for_the_reset() {
    let mut bench = with_a_gap();
    bench.snapshots(1, &[snapshot(6, 1, &[50])]);
    bench.packet(4, &[book(&[bid(5, NEW, 1, 105)])]);
    bench.book(ID, "recovering |");
    bench.packet(5, &[channel_reset()]);
    bench.book(ID, "live |");
    bench.packet(6, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.book(ID, "live 50 |");
}

/// A snapshot ahead of the incremental feed never rolls a published book back.
#[test]
fn a_snapshot_ahead_of_a_reset_reverts_no_live_book() {
    let mut bench = with_a_gap();
    bench.snapshots(1, &[snapshot(6, 2, &[51, 50])]);
    bench.take_published();
    bench.packet(4, &[channel_reset()]);
    bench.published(&["reset"]);
    bench.packet(5, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.published(&["5: book 7 live 50 | -"]);
    bench.packet(6, &[book(&[bid(2, NEW, 1, 51)])]);
    bench.published(&["6: book 7 live 51 | -"]);
}

/// A snapshot of the previous session, or with an impossible number or time, is never used.
#[test]
fn a_snapshot_of_another_session_is_refused() {
    for (snapshot_sequence, sent_ms) in [
        // Ahead of the stream, but sent before processed packets.
        (9, 2),
        // Farther ahead than the window.
        (3 + 65, 100),
        (u32::MAX - 15, 100),
        // Sent a year later.
        (3, 365 * 86_400_000),
    ] {
        let mut bench = with_a_gap();
        bench.sent_at(
            FeedType::Snapshot,
            1,
            sent_ms,
            &[snapshot(snapshot_sequence, 4, &[9])],
        );
        bench.book(ID, "recovering |");
        assert_eq!(
            bench.counters().recovery_refused,
            1,
            "{snapshot_sequence} sent at {sent_ms}"
        );
        for sequence in 4..80 {
            bench.packet(sequence, &[heartbeat()]);
        }
        bench.book(ID, "recovering |");
        bench.snapshots(1, &[snapshot(79, 4, &[104, 103])]);
        bench.book(ID, "live 104 103 |");
    }
}

/// The snapshot waits for a packet that was sent long before it: its numbers are those of a previous epoch.
#[test]
fn a_snapshot_that_waited_was_sent_behind_what_it_waited_for() {
    for (sent_ms, state) in [(254, "live 104 |"), (256, "recovering |")] {
        let mut bench = with_a_gap();
        bench.sent_at(FeedType::Snapshot, 1, sent_ms, &[snapshot(4, 4, &[104])]);
        bench.book(ID, "recovering |");
        bench.sent_at(FeedType::Incremental, 4, 4, &[heartbeat()]);
        bench.book(ID, state);
    }
}

/// A snapshot that contains none of the received packets, older than any that the venue sends.
#[test]
fn a_snapshot_of_long_before_a_join_is_refused() {
    for (sent_ms, state) in [(8_999, "recovering |"), (9_001, "live 100 |")] {
        let mut bench = Bench::new();
        bench.sent_at(FeedType::Incremental, 5, 10_000, &[heartbeat()]);
        bench.sent_at(
            FeedType::Incremental,
            6,
            10_001,
            &[book(&[bid(9, NEW, 1, 9)])],
        );
        bench.book(ID, "recovering |");
        bench.sent_at(FeedType::Snapshot, 1, sent_ms, &[snapshot(4, 9, &[100])]);
        bench.book(ID, state);
    }
}

/// The venue's clock went back by less than a second, which is not a sequence reset.
#[test]
fn snapshots_of_a_clock_that_went_back_a_little_are_used() {
    let mut bench = Bench::new();
    bench.sent_at(FeedType::Incremental, 5, 10_000, &[heartbeat()]);
    bench.sent_at(
        FeedType::Incremental,
        6,
        9_500,
        &[book(&[bid(9, NEW, 1, 9)])],
    );
    bench.book(ID, "recovering |");
    bench.sent_at(FeedType::Snapshot, 1, 9_501, &[snapshot(6, 9, &[100])]);
    bench.book(ID, "live 100 |");
}

/// A late joiner receives a snapshot of the previous session with a number that it has already received.
#[test]
fn a_snapshot_sent_before_the_first_packet_does_not_contain_it() {
    let mut bench = Bench::new();
    bench.sent_at(
        FeedType::Incremental,
        5,
        50,
        &[book(&[bid(9, NEW, 1, 100)])],
    );
    bench.sent_at(FeedType::Incremental, 6, 51, &[heartbeat()]);
    bench.book(ID, "recovering |");
    bench.sent_at(FeedType::Snapshot, 1, 49, &[snapshot(6, 9, &[9])]);
    bench.book(ID, "recovering |");
    assert_eq!(bench.counters().recovery_refused, 1);
    bench.sent_at(FeedType::Snapshot, 1, 52, &[snapshot(6, 9, &[100])]);
    bench.book(ID, "live 100 |");
}

/// A snapshot with a time in the far future does not hide later cycles.
#[test]
fn a_snapshot_cycle_from_the_future_does_not_block_the_next() {
    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 10), definition(8, 10)]);
    bench.sent_at(
        FeedType::Snapshot,
        1,
        365 * 86_400_000,
        &[snapshot_of(ID, 1, 0, 0, &[])],
    );
    bench.packet(5, &[heartbeat()]);
    bench.snapshots(1, &[snapshot(5, 1, &[100])]);
    bench.book(8, "live |");
}

#[test]
fn a_snapshot_that_does_not_reach_the_queue_is_too_old() {
    let mut bench = with_a_gap();
    bench.snapshots(1, &[snapshot(1, 1, &[100])]);
    bench.book(ID, "recovering |");
    assert_eq!(bench.counters().snapshots_too_old, 1);
    bench.snapshots(1, &[snapshot(3, 4, &[104])]);
    bench.book(ID, "live 104 |");
}

#[test]
fn a_live_book_needs_no_snapshot() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.snapshots(1, &[snapshot(1, 1, &[99])]);
    bench.book(ID, "live 100 |");
}

#[test]
fn a_snapshot_confirms_a_book_after_a_gap() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(3, &[heartbeat()]);
    bench.wait();
    bench.snapshots(1, &[snapshot(1, 1, &[100])]);
    bench.book(ID, "gapped 100 |");
    bench.snapshots(1, &[snapshot(3, 1, &[100])]);
    bench.book(ID, "live 100 |");
}

#[test]
fn a_snapshot_restores_levels_lost_in_a_gap() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(3, &[heartbeat()]);
    bench.wait();
    bench.snapshots(1, &[snapshot(3, 2, &[101, 100])]);
    bench.book(ID, "live 101 100 |");
}

#[test]
fn a_snapshot_from_before_a_reset_is_ignored() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.sent_at(FeedType::Incremental, 2, 50, &[channel_reset()]);
    bench.sent_at(FeedType::Incremental, 4, 60, &[heartbeat()]);
    bench.wait();
    bench.book(ID, "gapped |");
    bench.sent_at(FeedType::Snapshot, 1, 49, &[snapshot(3, 1, &[100])]);
    bench.book(ID, "gapped |");
    assert_eq!(bench.counters().snapshots_stale, 1);
    bench.sent_at(FeedType::Snapshot, 1, 61, &[snapshot(3, 0, &[])]);
    bench.book(ID, "live |");
}

/// An instrument without a snapshot in a complete cycle had no activity.
#[test]
fn a_complete_cycle_confirms_the_instruments_that_it_does_not_name() {
    let mut bench = late_join_of_two();
    bench.snapshots(1, &[snapshot(4, 1, &[100])]);
    bench.book(ID, "live 100 |");
    bench.book(8, "live |");
    assert_eq!(bench.counters().snapshot_cycles, 1);
}

#[test]
fn an_incomplete_cycle_confirms_no_absent_instrument() {
    let mut bench = late_join_of_two();
    bench.snapshots(1, &[snapshot_of(ID, 2, 4, 1, &[100])]);
    bench.book(8, "gapped |");
}

/// Snapshots of a cycle before a reset do not show which instruments are absent after it: an
/// instrument may have had a snapshot of its old book only.
#[test]
fn a_reset_ends_the_cycle_in_progress() {
    let mut bench = late_join_of_two();
    bench.sent_at(
        FeedType::Snapshot,
        1,
        70,
        &[snapshot_of(ID, 2, 4, 1, &[100])],
    );
    bench.sent_at(FeedType::Incremental, 6, 71, &[channel_reset()]);
    bench.sent_at(FeedType::Incremental, 8, 72, &[heartbeat()]);
    bench.wait();
    bench.book(8, "gapped |");
    bench.sent_at(FeedType::Snapshot, 2, 73, &[snapshot_of(9, 2, 8, 0, &[])]);
    assert_eq!(bench.counters().snapshot_cycles, 0);
    bench.book(8, "gapped |");
}

#[test]
fn a_full_queue_is_dropped_and_later_snapshots_recover_its_books() {
    let mut bench = Bench::with_queue(2);
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    let rest = [3, 4, 5, 6].map(|rpt_seq| bid(rpt_seq, NEW, 1, 100 + i64::from(rpt_seq)));
    bench.packet(2, &[book(&rest[..1])]);
    bench.packet(3, &[book(&rest[1..2])]);
    bench.packet(4, &[book(&rest[2..3])]);
    bench.packet(5, &[book(&rest[3..])]);
    assert_eq!(bench.counters().queue_full, 1);
    // The dropped queue started behind this snapshot.
    bench.snapshots(1, &[snapshot(1, 2, &[102])]);
    bench.book(ID, "recovering |");
    bench.snapshots(1, &[snapshot(5, 6, &[106])]);
    bench.book(ID, "live 106 |");
}

/// Joined at packet 5, with two defined instruments in unknown state.
fn late_join_of_two() -> Bench {
    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 10), definition(8, 10)]);
    bench.packet(5, &[heartbeat()]);
    bench.book(ID, "gapped |");
    bench.book(8, "gapped |");
    bench
}

/// A snapshot with a level of negative quantity is not used; the next one is.
#[test]
fn a_snapshot_with_a_negative_quantity_is_not_used() {
    let mut bench = with_a_gap();
    bench.snapshots(1, &[snapshot_sized(2, 3, &[(103, -5), (102, 1)])]);
    bench.book(ID, "recovering |");
    assert_eq!(bench.counters().quantities_negative, 1);
    bench.snapshots(2, &[snapshot(2, 3, &[103, 102])]);
    bench.book(ID, "live 104 103 102 |");
}
