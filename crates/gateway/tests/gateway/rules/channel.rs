//! The channel as a whole: lines, joining, loss, resets.

use crate::rules::bench::Bench;
use crate::rules::messages::*;
use touchline_feed::cme::FeedType;

/// A gateway that receives packet 1 has missed no packet.
#[test]
fn after_a_join_at_the_first_packet_every_book_is_known() {
    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 10)]);
    bench.packet(1, &[heartbeat()]);
    bench.book(ID, "live |");
    bench.orders(ID, "live |");
}

#[test]
fn after_a_late_join_a_book_is_unknown_until_an_entry_confirms_it() {
    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 10)]);
    bench.packet(9, &[heartbeat()]);
    bench.book(ID, "gapped |");
    bench.orders(ID, "recovering |");
    // RptSeq 1 is the first entry of the instrument: its book was empty before.
    bench.packet(10, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.book(ID, "live 100 |");
}

#[test]
fn a_packet_is_processed_once() {
    let mut bench = Bench::new();
    bench.sent_at(FeedType::Incremental, 1, 1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.sent_at(FeedType::Incremental, 1, 1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.sent_at(FeedType::Incremental, 3, 3, &[book(&[bid(3, NEW, 1, 102)])]);
    bench.sent_at(FeedType::Incremental, 3, 3, &[book(&[bid(3, NEW, 1, 102)])]);
    bench.sent_at(FeedType::Incremental, 2, 2, &[book(&[bid(2, NEW, 1, 101)])]);
    bench.book(ID, "live 102 101 100 |");
    let counters = bench.counters();
    assert_eq!(
        (counters.packets_delivered, counters.packets_duplicate),
        (3, 3),
        "the first of all came on both lines"
    );
}

#[test]
fn a_late_copy_is_dropped() {
    let mut bench = Bench::new();
    bench.sent_at(FeedType::Incremental, 1, 1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.sent_at(FeedType::Incremental, 3, 3, &[heartbeat()]);
    bench.wait();
    bench.sent_at(FeedType::Incremental, 2, 2, &[book(&[bid(2, NEW, 1, 101)])]);
    bench.book(ID, "gapped 100 |");
    assert_eq!(bench.counters().packets_late, 1);
}

/// One forged packet must not block the channel; neither its copy nor another forged packet far
/// from it confirms it.
#[test]
fn forged_packets_far_ahead_confirm_nothing() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    for forged in [1 << 31, 1 << 31, 1 << 20] {
        bench.sent_at(FeedType::Incremental, forged, 50, &[heartbeat()]);
    }
    bench.packet(2, &[book(&[bid(2, NEW, 1, 101)])]);
    bench.book(ID, "live 101 100 |");
    assert_eq!(
        (
            bench.counters().gaps,
            bench.counters().packets_out_of_window
        ),
        (0, 2)
    );
}

#[test]
fn a_second_packet_near_the_first_is_confirmed() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(500, &[heartbeat()]);
    bench.packet(501, &[heartbeat()]);
    bench.book(ID, "gapped 100 |");
    assert_eq!(
        (bench.counters().gaps, bench.counters().packets_lost),
        (1, 498)
    );
}

#[test]
fn a_channel_reset_empties_every_book_and_numbers_run_from_one() {
    let mut bench = Bench::new();
    bench.packet(
        1,
        &[
            book(&[bid(1, NEW, 1, 100)]),
            orders(0, &[order(NEW, 1, 1, 5, 100)]),
        ],
    );
    bench.packet(2, &[channel_reset(), book(&[bid(1, NEW, 1, 50)])]);
    bench.book(ID, "live 50 |");
    bench.orders(ID, "live |");
    assert_eq!(bench.counters().channel_resets, 1);
    assert_eq!(bench.counters().instrument_restarts, 0);
}

#[test]
fn a_channel_reset_recovers_gapped_books() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(2, NEW, 1, 100)])]);
    bench.book(ID, "recovering |");
    bench.packet(2, &[channel_reset()]);
    bench.book(ID, "live |");
}

/// A lower number with a later sending time: the weekly reset.
#[test]
fn a_sequence_reset_empties_every_book() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[orders(0, &[order(NEW, 1, 1, 5, 100)])]);
    bench.both(1, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.book(ID, "live 100 |");
    bench.both(2, &[book(&[bid(2, NEW, 1, 51)])]);
    bench.book(ID, "live 51 50 |");
    bench.orders(ID, "live |");
    assert_eq!(bench.counters().numbering_restarts, 1);
}

/// A packet that breaks the packet rules is dropped; its other copy is used.
#[test]
fn an_invalid_packet_counts_as_lost() {
    let mut bench = Bench::new();
    let message = book(&[bid(1, NEW, 1, 100)]);
    let cut = message[..message.len() - 1].to_vec();
    bench.sent_at(FeedType::Incremental, 1, 1, &[cut]);
    assert_eq!(bench.counters().packets_invalid, 2, "on both lines");
    bench.both_at(1, 1, &[message]);
    bench.book(ID, "live 100 |");
}

/// The venue restarts with its clock behind: no old book is live for longer than the gap timeout, and both lines then
/// confirm the new epoch.
#[test]
fn a_restart_with_the_clock_behind_is_unconfirmed_and_then_accepted() {
    let mut bench = Bench::new();
    for sequence in 1..100 {
        bench.sent_at(
            FeedType::Incremental,
            sequence,
            100_000 + u64::from(sequence),
            &[heartbeat()],
        );
    }
    bench.sent_at(
        FeedType::Incremental,
        100,
        100_100,
        &[book(&[bid(1, NEW, 1, 100)])],
    );
    bench.take_published();
    for sequence in 1..25 {
        bench.both_at(sequence, 10_000 + u64::from(sequence), &[heartbeat()]);
    }
    bench.published(&["channel gapped gapped"]);
    for sequence in 25..400 {
        let entry = bid(sequence - 24, NEW, 1, 1_000 + i64::from(sequence));
        bench.both_at(sequence, 10_000 + u64::from(sequence), &[book(&[entry])]);
    }
    assert_eq!(
        bench.counters().numbering_restarts,
        1,
        "{:?}",
        bench.counters()
    );
    assert!(
        !bench.take_published().iter().any(
            |update| update.contains(": book 7 live ") || update.starts_with("whole book live")
        )
    );
    bench.sent_at(
        FeedType::Snapshot,
        1,
        10_400,
        &[snapshot(399, 375, &[1_399])],
    );
    bench.book(ID, "live 1399 |");
}

/// A snapshot of the previous exchange waits for a packet that was never sent, and the next exchange, whose clock is
/// slightly behind, reaches that number.
#[test]
fn a_snapshot_that_waits_does_not_outlive_its_epoch() {
    let mut bench = Bench::new();
    bench.sent_at(
        FeedType::Incremental,
        1,
        100_100,
        &[book(&[bid(1, NEW, 1, 100)])],
    );
    bench.sent_at(FeedType::Snapshot, 1, 100_200, &[snapshot(30, 7, &[107])]);
    assert_eq!(bench.counters().snapshots_early, 1);
    for sequence in 1..20 {
        bench.both_at(sequence, 99_000 + u64::from(sequence), &[heartbeat()]);
    }
    (0..20).for_each(|_| bench.wait());
    for sequence in (20..40).filter(|sequence| *sequence != 25) {
        bench.both_at(sequence, 99_990 + u64::from(sequence), &[heartbeat()]);
    }
    bench.wait();
    assert_eq!(bench.counters().numbering_restarts, 1);
    bench.book(ID, "gapped |");
}

/// If the beginning of a new epoch is missed, every book is unknown, and no old book is published.
#[test]
fn a_sequence_reset_without_its_beginning_leaves_nothing_live() {
    let mut bench = Bench::new();
    bench.packet(90, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.book(ID, "live 100 |");
    for sequence in 2..4 {
        bench.both(sequence, &[heartbeat()]);
    }
    bench.wait();
    bench.book(ID, "gapped |");
    bench.orders(ID, "recovering |");
    bench.packet(4, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.book(ID, "live 50 |");
}

/// A forged packet was processed instead of the venue's: no book that may contain it is live.
#[test]
fn two_packets_of_one_number_leave_nothing_live() {
    let mut bench = Bench::new();
    bench.packet(
        1,
        &[
            book(&[bid(1, NEW, 1, 100)]),
            orders(0, &[order(NEW, 1, 1, 5, 100)]),
        ],
    );
    bench.packet(2, &[heartbeat()]);
    bench.packet(2, &[book(&[bid(2, NEW, 1, 101)])]);
    assert_eq!(bench.counters().packets_conflicting, 1);
    bench.book(ID, "recovering |");
    bench.orders(ID, "recovering |");
    bench.packet(3, &[book(&[bid(3, NEW, 1, 102)])]);
    bench.book(ID, "recovering |");
    bench.snapshots(1, &[snapshot(2, 2, &[101, 100])]);
    bench.book(ID, "live 102 101 100 |");
}

/// For a reader a reset makes every book empty and live; the depth of an instrument without a definition is unknown.
#[test]
fn an_instrument_without_a_definition_is_not_live_behind_a_reset() {
    let mut bench = Bench::defined_only();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.shown(ID, "recovering");
    bench.packet(2, &[channel_reset()]);
    bench.shown(ID, "recovering");
    bench.packet(3, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.shown(ID, "recovering");
    bench.book(ID, "recovering |");
}
