//! Recovery of price books from snapshots. Source: CME client systems wiki, "MBP and MBOFD Market
//! Recovery".

use crate::bench::Bench;
use crate::messages::*;
use touchline_feed::cme::Feed;

/// A book that misses number 2; packets 2 and 3, with numbers 3 and 4, are queued.
fn with_a_hole() -> Bench {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[book(&[bid(3, NEW, 1, 103)])]);
    bench.packet(3, &[book(&[bid(4, NEW, 1, 104)])]);
    bench.book(ID, "recovering |");
    bench
}

#[test]
fn the_queue_is_replayed_on_top_of_a_snapshot() {
    let mut bench = with_a_hole();
    bench.snapshots(1, &[snapshot(1, 2, &[102])]);
    bench.book(ID, "live 104 103 102 |");
    bench.packet(4, &[book(&[bid(5, NEW, 1, 105)])]);
    bench.book(ID, "live 105 104 103 102 |");
}

#[test]
fn what_a_snapshot_contains_is_not_applied_again() {
    let mut bench = with_a_hole();
    bench.snapshots(1, &[snapshot(2, 3, &[103, 102])]);
    bench.book(ID, "live 104 103 102 |");
}

#[test]
fn a_snapshot_may_be_ahead_of_the_incremental_feed() {
    let mut bench = with_a_hole();
    bench.snapshots(1, &[snapshot(5, 6, &[106, 105])]);
    bench.book(ID, "live 106 105 |");
    bench.packet(4, &[book(&[bid(5, NEW, 1, 105)])]);
    bench.packet(5, &[book(&[bid(6, NEW, 1, 106)])]);
    bench.book(ID, "live 106 105 |");
    bench.packet(6, &[book(&[bid(7, DELETE, 1, 106)])]);
    bench.book(ID, "live 105 |");
}

/// Between our last packet and the snapshot there was a reset: numbers of before it are higher.
#[test]
fn what_a_snapshot_behind_a_reset_contains_is_ignored_whatever_its_number() {
    let mut bench = with_a_hole();
    bench.snapshots(1, &[snapshot(6, 1, &[50])]);
    bench.book(ID, "live 50 |");
    bench.packet(4, &[book(&[bid(5, NEW, 1, 105)])]);
    bench.book(ID, "live 50 |");
    bench.packet(5, &[channel_reset()]);
    bench.packet(6, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.book(ID, "live 50 |");
}

/// What the stream repeats behind the reset was shown already. Whoever asks for live books is not shown
/// them again.
#[test]
fn a_reset_takes_no_live_book_back_behind_its_snapshot() {
    let mut bench = with_a_hole();
    bench.snapshots(1, &[snapshot(7, 2, &[51, 50])]);
    bench.take_published();
    bench.packet(4, &[channel_reset()]);
    bench.published(&["reset", "4: gapped"]);
    bench.packet(5, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.published(&["5: book 7 gapped 50 | -"]);
    bench.packet(6, &[heartbeat()]);
    bench.published(&[]);
    bench.packet(7, &[open_book(&[bid(2, NEW, 1, 51)])]);
    bench.published(&[]);
    bench.packet(8, &[end_of_event()]);
    bench.published(&["8: book 7 gapped 51 | -", "8: live"]);
    bench.packet(9, &[book(&[bid(3, NEW, 1, 52)])]);
    bench.published(&["9: book 7 live 52 | -"]);
}

/// Behind a reset that its snapshot does not contain a book is new, and live at once.
#[test]
fn a_book_that_no_snapshot_took_behind_the_reset_is_live_at_once() {
    let mut bench = with_a_hole();
    bench.snapshots(1, &[snapshot(3, 4, &[104])]);
    bench.take_published();
    bench.packet(4, &[channel_reset()]);
    bench.published(&["reset"]);
}

/// The packet of the reset goes on behind it, and the snapshot contains all of it.
#[test]
fn in_the_packet_of_the_reset_a_book_is_not_taken_back_either() {
    let mut bench = with_a_hole();
    bench.snapshots(1, &[snapshot(4, 2, &[51, 50])]);
    bench.take_published();
    let (first, second) = (bid(1, NEW, 1, 50), bid(2, NEW, 1, 51));
    bench.packet(4, &[channel_reset(), book(&[first]), book(&[second])]);
    bench.published(&[
        "reset",
        "4: gapped",
        "4: book 7 gapped 50 | -",
        "4: book 7 gapped 51 | -",
        "4: live",
    ]);
}

#[test]
fn a_loss_while_the_stream_repeats_makes_no_book_live() {
    let mut bench = with_a_hole();
    bench.snapshots(1, &[snapshot(9, 2, &[51, 50])]);
    bench.packet(4, &[channel_reset()]);
    bench.packet(6, &[heartbeat()]);
    bench.wait();
    bench.take_published();
    bench.packet(7, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.published(&["7: book 7 gapped 50 | -"]);
    bench.packet(8, &[heartbeat()]);
    bench.published(&[]);
    bench.packet(9, &[book(&[bid(2, NEW, 1, 51)])]);
    bench.published(&["9: book 7 gapped 51 | -", "9: live"]);
}

/// One snapshot with a number that never comes must not blind the channel for ever.
#[test]
fn a_later_loop_says_how_far_the_stream_repeats() {
    let mut bench = with_a_hole();
    bench.snapshots(1, &[snapshot(1 << 31, 2, &[51, 50])]);
    bench.packet(4, &[channel_reset()]);
    bench.take_published();
    bench.snapshots(1, &[snapshot(5, 1, &[50])]);
    bench.packet(5, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.published(&["5: book 7 gapped 50 | -", "5: live"]);
}

#[test]
fn a_snapshot_that_does_not_reach_the_queue_is_too_old() {
    let mut bench = with_a_hole();
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
fn a_snapshot_brings_what_a_gap_took() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(3, &[heartbeat()]);
    bench.wait();
    bench.snapshots(1, &[snapshot(3, 2, &[101, 100])]);
    bench.book(ID, "live 101 100 |");
}

#[test]
fn a_snapshot_from_before_a_reset_is_of_another_world() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.sent_at(Feed::Incremental, 2, 50, &[channel_reset()]);
    bench.sent_at(Feed::Incremental, 4, 60, &[heartbeat()]);
    bench.wait();
    bench.book(ID, "gapped |");
    bench.sent_at(Feed::Snapshot, 1, 49, &[snapshot(3, 1, &[100])]);
    bench.book(ID, "gapped |");
    assert_eq!(bench.counters().snapshots_stale, 1);
    bench.sent_at(Feed::Snapshot, 1, 61, &[snapshot(3, 0, &[])]);
    bench.book(ID, "live |");
}

/// An instrument that a whole loop does not name had no activity.
#[test]
fn a_whole_loop_confirms_those_that_it_does_not_name() {
    let mut bench = late_join_of_two();
    bench.snapshots(1, &[snapshot(4, 1, &[100])]);
    bench.book(ID, "live 100 |");
    bench.book(8, "live |");
    assert_eq!(bench.counters().loops_whole, 1);
}

#[test]
fn a_loop_of_which_a_part_is_missing_confirms_nobody_else() {
    let mut bench = late_join_of_two();
    bench.snapshots(1, &[snapshot_of(ID, 2, 4, 1, &[100])]);
    bench.book(8, "gapped |");
}

/// What a loop named before a reset says nothing about who is absent after it: the instrument may
/// have been named with its old book only.
#[test]
fn a_reset_abandons_the_loop_that_is_going_on() {
    let mut bench = late_join_of_two();
    bench.sent_at(Feed::Snapshot, 1, 70, &[snapshot_of(ID, 2, 4, 1, &[100])]);
    bench.sent_at(Feed::Incremental, 6, 71, &[channel_reset()]);
    bench.sent_at(Feed::Incremental, 8, 72, &[heartbeat()]);
    bench.wait();
    bench.book(8, "gapped |");
    bench.sent_at(Feed::Snapshot, 2, 73, &[snapshot_of(9, 2, 8, 0, &[])]);
    assert_eq!(bench.counters().loops_whole, 0);
    bench.book(8, "gapped |");
}

#[test]
fn a_full_queue_starts_again_and_is_healed_by_a_later_snapshot() {
    let mut bench = Bench::with_queue(2);
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    let rest = [3, 4, 5, 6].map(|rpt_seq| bid(rpt_seq, NEW, 1, 100 + i64::from(rpt_seq)));
    bench.packet(2, &[book(&rest[..1])]);
    bench.packet(3, &[book(&rest[1..2])]);
    bench.packet(4, &[book(&rest[2..3])]);
    bench.packet(5, &[book(&rest[3..])]);
    assert_eq!(bench.counters().queue_full, 1);
    // The queue that was dropped began behind this snapshot.
    bench.snapshots(1, &[snapshot(1, 2, &[102])]);
    bench.book(ID, "recovering |");
    bench.snapshots(1, &[snapshot(5, 6, &[106])]);
    bench.book(ID, "live 106 |");
}

/// Joined at packet 5, two instruments defined, nothing known of either.
fn late_join_of_two() -> Bench {
    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 10), definition(8, 10)]);
    bench.packet(5, &[heartbeat()]);
    bench.book(ID, "gapped |");
    bench.book(8, "gapped |");
    bench
}
