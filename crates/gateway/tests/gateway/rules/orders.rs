//! Market by order: priority, null fields, and the effect of a lost packet.

use crate::rules::bench::Bench;
use crate::rules::messages::*;
use touchline_lab::cme::encode::incremental::OrderEntry;

/// CME client systems wiki, "MBOFD Book Management".
#[test]
fn orders_of_a_price_are_sorted_by_priority() {
    let mut bench = Bench::new();
    let (first, second) = (order(NEW, 1, 30, 5, 100), order(NEW, 2, 10, 6, 100));
    bench.packet(1, &[orders(0, &[first, second, order(NEW, 3, 20, 7, 101)])]);
    bench.orders(ID, "live 3:7@101 2:6@100 1:5@100 |");
}

#[test]
fn null_fields_of_an_update_keep_the_old_value() {
    let mut bench = Bench::new();
    let (first, second) = (order(NEW, 1, 30, 5, 100), order(NEW, 2, 20, 6, 100));
    bench.packet(1, &[orders(0, &[first, second])]);
    let update = OrderEntry {
        price: None,
        quantity: None,
        priority: None,
        ..order(CHANGE, 1, 0, 0, 0)
    };
    bench.packet(2, &[orders(0, &[update])]);
    bench.orders(ID, "live 2:6@100 1:5@100 |");
    let moved = OrderEntry {
        price: Some(101_000_000_000),
        ..update
    };
    bench.packet(3, &[orders(0, &[moved])]);
    bench.orders(ID, "live 1:5@101 2:6@100 |");
    let smaller = OrderEntry {
        quantity: Some(4),
        ..update
    };
    bench.packet(4, &[orders(0, &[smaller])]);
    bench.orders(ID, "live 1:4@101 2:6@100 |");
}

#[test]
fn an_update_of_an_unknown_order_adds_it_and_its_deletion_does_nothing() {
    let mut bench = Bench::new();
    let (update, delete) = (order(CHANGE, 1, 1, 5, 100), order(DELETE, 2, 2, 5, 100));
    bench.packet(1, &[orders(0, &[update, delete])]);
    bench.orders(ID, "live 1:5@100 |");
}

/// Order entries have no RptSeq, so every instrument may have lost entries in a gap.
#[test]
fn a_lost_packet_makes_the_orders_of_all_instruments_unknown() {
    let mut bench = Bench::new();
    let other = OrderEntry {
        security_id: 8,
        ..order(NEW, 2, 1, 5, 100)
    };
    bench.packet(1, &[orders(0, &[order(NEW, 1, 1, 5, 100), other])]);
    bench.packet(3, &[orders(0, &[order(NEW, 3, 1, 5, 101)])]);
    bench.wait();
    bench.orders(ID, "recovering |");
    bench.orders(8, "recovering |");
    assert_eq!(bench.counters().entries_queued, 1);
}

#[test]
fn under_natural_refresh_unknown_orders_are_filled_again() {
    let mut bench = Bench::natural();
    bench.packet(1, &[orders(0, &[order(NEW, 1, 1, 5, 100)])]);
    bench.packet(3, &[orders(0, &[order(NEW, 3, 1, 5, 101)])]);
    bench.wait();
    bench.orders(ID, "natural 3:5@101 |");
}

/// An order with a negative quantity makes the order book unknown, until a snapshot of a later packet; that of a deletion has
/// no effect.
#[test]
fn a_negative_quantity_makes_the_orders_unknown() {
    for action in [NEW, CHANGE] {
        let mut bench = Bench::new();
        bench.packet(1, &[orders(10, &[order(NEW, 1, 1, 5, 100)])]);
        // The state is published at once, because the end of the event is unknown.
        bench.take_published();
        bench.packet(2, &[open_orders(20, &[order(action, 1, 1, -5, 100)])]);
        bench.published(&["whole orders recovering 0"]);
        bench.orders(ID, "recovering |");
        bench.packet(3, &[end_of_event()]);
        bench.orders(ID, "recovering |");
        bench.packet(4, &[orders(30, &[order(NEW, 3, 3, 7, 100)])]);
        bench.order_snapshots(1, &[order_chunk(1, 10, (1, 1), &[(1, 1, 5, 100)])]);
        bench.orders(ID, "recovering |");
        bench.order_snapshots(2, &[order_chunk(3, 20, (1, 1), &[(1, 1, -5, 100)])]);
        bench.orders(ID, "recovering |");
        // It may end before a later event of the packet.
        bench.order_snapshots(3, &[order_chunk(2, 20, (1, 1), &[(1, 1, 4, 100)])]);
        bench.orders(ID, "recovering |");
        bench.order_snapshots(4, &[order_chunk(3, 20, (1, 1), &[(1, 1, 4, 100)])]);
        bench.orders(ID, "live 1:4@100 3:7@100 |");
        assert_eq!(bench.counters().quantities_negative, 2);
    }
    let mut bench = Bench::new();
    bench.packet(1, &[orders(10, &[order(NEW, 1, 1, 5, 100)])]);
    bench.packet(2, &[orders(20, &[order(DELETE, 1, 1, -5, 100)])]);
    bench.orders(ID, "live |");
}

/// Beyond `orders_max` the entries of the packet are not known. A snapshot may end between two of its events, and that of a later packet
/// does not.
#[test]
fn orders_beyond_their_limit_wait_for_a_snapshot_of_a_later_packet() {
    let mut bench = Bench::new();
    let all: Vec<_> = (1..=64).map(|id| order(NEW, id, id, 5, 100)).collect();
    bench.packet(1, &[orders(10, &all)]);
    let (one, two) = (order(NEW, 65, 65, 5, 100), order(NEW, 66, 66, 5, 100));
    bench.packet(2, &[orders(20, &[one]), orders(21, &[two])]);
    bench.orders(ID, "recovering 66:5@100 |");
    bench.order_snapshots(1, &[order_chunk(2, 20, (1, 1), &[(1, 1, 5, 100)])]);
    bench.orders(ID, "recovering 66:5@100 |");
    bench.packet(3, &[end_of_event()]);
    let whole = [(1, 1, 5, 100), (66, 66, 5, 100)];
    bench.order_snapshots(2, &[order_chunk(3, 21, (1, 1), &whole)]);
    bench.orders(ID, "live 1:5@100 66:5@100 |");
}
