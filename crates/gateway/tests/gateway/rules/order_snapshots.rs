//! Recovery of order books from snapshots in chunks. Source: CME client systems wiki, "MBP and
//! MBOFD Market Recovery".

use crate::rules::bench::Bench;
use crate::rules::messages::*;

const A: (u64, u64, i64, i64) = (1, 1, 5, 100);
const B: (u64, u64, i64, i64) = (2, 2, 6, 100);

/// Packet 2 is lost; packets 3 and 4 contain orders 3 and 4, in events of 30 and 40 ns.
fn unknown() -> Bench {
    let mut bench = Bench::new();
    bench.packet(1, &[orders(10, &[order(NEW, 1, 1, 5, 100)])]);
    bench.packet(3, &[orders(30, &[order(NEW, 3, 3, 7, 100)])]);
    bench.wait();
    bench.packet(4, &[orders(40, &[order(NEW, 4, 4, 8, 100)])]);
    bench.orders(ID, "recovering |");
    bench
}

#[test]
fn every_chunk_is_needed_and_the_queue_is_replayed() {
    let mut bench = unknown();
    bench.order_snapshots(1, &[order_chunk(2, 20, (2, 2), &[B])]);
    bench.orders(ID, "recovering |");
    bench.order_snapshots(2, &[order_chunk(2, 20, (2, 2), &[B])]);
    bench.orders(ID, "recovering |");
    bench.order_snapshots(3, &[order_chunk(2, 20, (1, 2), &[A])]);
    bench.orders(ID, "live 1:5@100 2:6@100 3:7@100 4:8@100 |");
    assert_eq!(bench.counters().order_snapshots_used, 1);
}

#[test]
fn changes_contained_in_a_snapshot_are_not_applied_again() {
    let mut bench = unknown();
    // Order 3 was added in packet 3 and deleted before the end of packet 5.
    bench.order_snapshots(1, &[order_chunk(5, 50, (1, 1), &[A])]);
    bench.orders(ID, "recovering |");
    bench.packet(5, &[orders(50, &[order(NEW, 5, 5, 9, 100)])]);
    bench.orders(ID, "live 1:5@100 |");
    bench.packet(6, &[orders(60, &[order(NEW, 6, 6, 9, 100)])]);
    bench.orders(ID, "live 1:5@100 6:9@100 |");
}

#[test]
fn a_snapshot_from_before_the_loss_is_not_used() {
    let mut bench = unknown();
    bench.order_snapshots(1, &[order_chunk(1, 10, (1, 1), &[A])]);
    bench.orders(ID, "recovering |");
}

/// The snapshot ends in packet 4, but at another event of it than the one received.
#[test]
fn a_snapshot_that_ends_at_another_event_is_refused() {
    let mut bench = unknown();
    bench.order_snapshots(1, &[order_chunk(4, 39, (1, 1), &[A])]);
    bench.orders(ID, "recovering |");
    assert_eq!(bench.counters().order_snapshots_refused, 1);
    bench.order_snapshots(1, &[order_chunk(4, 40, (1, 1), &[A])]);
    bench.orders(ID, "live 1:5@100 |");
}

/// The dropped entries of packet 4 are of two events: a snapshot of that packet may end between them.
#[test]
fn a_full_queue_is_dropped_and_a_snapshot_of_a_later_packet_recovers_its_orders() {
    let mut bench = Bench::with_queue(2);
    bench.packet(1, &[orders(10, &[order(NEW, 1, 1, 5, 100)])]);
    bench.packet(3, &[orders(30, &[order(NEW, 3, 3, 7, 100)])]);
    bench.wait();
    let (one, two) = (order(NEW, 4, 4, 8, 100), order(NEW, 5, 5, 9, 100));
    bench.packet(4, &[orders(40, &[one]), orders(41, &[two])]);
    assert_eq!(bench.counters().queue_full, 1);
    bench.order_snapshots(1, &[order_chunk(4, 40, (1, 1), &[A])]);
    bench.orders(ID, "recovering |");
    bench.packet(5, &[orders(50, &[order(NEW, 6, 6, 9, 100)])]);
    bench.order_snapshots(2, &[order_chunk(5, 50, (1, 1), &[A, B])]);
    bench.orders(ID, "live 1:5@100 2:6@100 |");
}

/// Price entries of the same packet show the last event, too.
#[test]
fn the_last_event_may_be_one_of_prices() {
    let mut bench = unknown();
    bench.packet(5, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.order_snapshots(1, &[order_chunk(5, 50, (1, 1), &[A])]);
    bench.orders(ID, "recovering |");
    bench.order_snapshots(1, &[order_chunk(5, 0, (1, 1), &[A])]);
    bench.orders(ID, "live 1:5@100 |");
}

#[test]
fn chunks_of_different_snapshots_are_not_mixed() {
    let mut bench = unknown();
    bench.order_snapshots(1, &[order_chunk(2, 20, (1, 2), &[A])]);
    bench.order_snapshots(2, &[order_chunk(3, 30, (2, 2), &[B])]);
    bench.orders(ID, "recovering |");
}

#[test]
fn a_complete_cycle_without_the_instrument_means_that_it_has_no_orders() {
    let mut bench = unknown();
    let snapshot = snapshot_of(8, 1, 3, 0, &[]);
    bench.order_snapshots(1, &[snapshot]);
    bench.orders(ID, "recovering |");
    let snapshot = snapshot_of(8, 1, 2, 0, &[]);
    bench.order_snapshots(1, &[snapshot]);
    bench.orders(ID, "live 3:7@100 4:8@100 |");
}

/// The orders of packet 9 are published after packet 9 only: a reset rolls no book back.
#[test]
fn a_late_reset_does_not_revert_a_newer_order_snapshot() {
    let mut bench = unknown();
    bench.order_snapshots(1, &[order_chunk(9, 90, (1, 1), &[A, B])]);
    bench.orders(ID, "recovering |");
    bench.take_published();
    bench.packet(5, &[channel_reset()]);
    bench.published(&["reset"]);
    bench.packet(6, &[orders(60, &[order(NEW, 1, 1, 5, 100)])]);
    bench.orders(ID, "live 1:5@100 |");
}

/// A line that is a complete cycle behind delivers an older snapshot after a loss.
#[test]
fn an_older_snapshot_does_not_revert_an_order_book_after_a_loss() {
    let mut bench = unknown();
    bench.order_snapshots(1, &[order_chunk(4, 40, (1, 1), &[A, B])]);
    bench.orders(ID, "live 1:5@100 2:6@100 |");
    bench.packet(6, &[heartbeat()]);
    bench.wait();
    bench.order_snapshots(1, &[order_chunk(3, 30, (1, 1), &[A])]);
    bench.order_snapshots(2, &[order_chunk(4, 40, (1, 1), &[A])]);
    bench.orders(ID, "recovering |");
    bench.order_snapshots(3, &[order_chunk(6, 60, (1, 1), &[A])]);
    bench.orders(ID, "live 1:5@100 |");
}
