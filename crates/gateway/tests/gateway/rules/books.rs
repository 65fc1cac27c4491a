//! Price books and their numbers: RptSeq, depth, implied and direct.

use crate::rules::bench::Bench;
use crate::rules::messages::*;
use touchline_lab::cme::encode::incremental::LevelEntry;

#[test]
fn entries_apply_in_the_order_of_their_numbers() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100), bid(2, NEW, 2, 98)])]);
    bench.packet(2, &[book(&[bid(3, NEW, 2, 99)])]);
    bench.book(ID, "live 100 99 98 |");
    bench.packet(3, &[book(&[bid(4, CHANGE, 2, 97), bid(5, DELETE, 1, 100)])]);
    bench.book(ID, "live 97 98 |");
}

/// CME client systems wiki, "Book Recovery Methods for Concurrent Processing".
#[test]
fn a_missing_number_empties_the_book() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[book(&[bid(3, NEW, 1, 101)])]);
    bench.book(ID, "recovering |");
    bench.packet(3, &[book(&[bid(4, NEW, 1, 102)])]);
    bench.book(ID, "recovering |");
    assert_eq!(bench.counters().entries_queued, 2);
}

#[test]
fn under_natural_refresh_the_emptied_book_is_filled_again() {
    let mut bench = Bench::natural();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[book(&[bid(3, CHANGE, 2, 99)])]);
    bench.book(ID, "natural ? 99 |");
    bench.packet(3, &[book(&[bid(4, NEW, 1, 101)])]);
    bench.book(ID, "natural 101 ? 99 |");
    // The missing entry may have changed the existing levels.
    bench.packet(4, &[book(&[bid(6, NEW, 1, 102)])]);
    bench.book(ID, "natural 102 |");
}

#[test]
fn every_entry_has_an_rptseq_also_one_without_a_price() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[volume(2)]);
    bench.packet(3, &[book(&[bid(3, NEW, 1, 101)])]);
    bench.book(ID, "live 101 100 |");
    bench.packet(4, &[volume(5)]);
    bench.book(ID, "recovering |");
}

/// A RptSeq at or below the last one in a newer packet: a reset was lost, and RptSeq starts at 1.
#[test]
fn a_restarted_rptseq_empties_the_book() {
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100), bid(2, NEW, 2, 99)])]);
    bench.packet(2, &[book(&[bid(1, NEW, 1, 50)])]);
    bench.book(ID, "live 50 |");
    bench.packet(3, &[book(&[bid(2, NEW, 2, 49), bid(3, NEW, 3, 48)])]);
    bench.packet(4, &[book(&[bid(2, NEW, 1, 70)])]);
    bench.book(ID, "recovering |");
}

#[test]
fn a_new_level_removes_the_last_one() {
    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 2)]);
    let levels = [bid(1, NEW, 1, 100), bid(2, NEW, 2, 99), bid(3, NEW, 1, 101)];
    bench.packet(1, &[book(&levels)]);
    bench.book(ID, "live 101 100 |");
    bench.packet(2, &[book(&[bid(4, DELETE, 1, 101)])]);
    bench.book(ID, "live 100 |");
}

/// The levels of the book were kept with the old depth.
#[test]
fn a_new_depth_of_a_book_in_use_starts_its_recovery() {
    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 10)]);
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.definitions(1, &[definition(ID, 10)]);
    bench.book(ID, "live 100 |");
    bench.definitions(1, &[definition(ID, 5)]);
    bench.book(ID, "recovering |");
    bench.snapshots(1, &[snapshot(1, 1, &[100])]);
    bench.book(ID, "live 100 |");
}

/// Entries queued behind a gap do not depend on the depth: an older snapshot still matches them.
#[test]
fn a_new_depth_of_a_book_in_recovery_keeps_its_queue() {
    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 10)]);
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.packet(2, &[book(&[bid(3, NEW, 1, 102)])]);
    bench.book(ID, "recovering |");
    bench.definitions(1, &[definition(ID, 5)]);
    bench.packet(3, &[book(&[bid(4, NEW, 1, 103)])]);
    bench.snapshots(1, &[snapshot(2, 2, &[101, 100])]);
    bench.book(ID, "live 103 102 101 100 |");
}

#[test]
fn implied_and_direct_books_are_kept_apart() {
    let mut bench = Bench::new();
    let levels = [bid(1, NEW, 1, 100), implied_bid(2, NEW, 1, 101)];
    bench.packet(1, &[book(&levels)]);
    bench.book(ID, "live 100 |");
    bench.implied(ID, "live 101 |");
}

/// Implied levels are part of the top of book.
#[test]
fn a_book_crossed_by_implied_prices_is_counted() {
    let mut bench = Bench::new();
    let ask = |rpt_seq, price| LevelEntry {
        entry_type: b'1',
        ..bid(rpt_seq, NEW, 1, price)
    };
    bench.packet(1, &[book(&[ask(1, 100), implied_bid(2, NEW, 1, 99)])]);
    assert_eq!(bench.locked_and_crossed(), (0, 0));
    bench.packet(2, &[book(&[implied_bid(3, CHANGE, 1, 100)])]);
    assert_eq!(bench.locked_and_crossed(), (1, 0));
    bench.packet(3, &[book(&[implied_bid(4, CHANGE, 1, 101)])]);
    assert_eq!(bench.locked_and_crossed(), (1, 1));
    bench.packet(4, &[book(&[implied_bid(5, DELETE, 1, 101)])]);
    assert_eq!(bench.locked_and_crossed(), (1, 1));
}

/// No book has a negative quantity: a level with one makes the book unknown until a snapshot contains the entry. The quantity
/// of a deleted level has no effect.
#[test]
fn a_negative_quantity_makes_the_book_unknown() {
    let negative = |rpt_seq, action| LevelEntry {
        quantity: -5,
        ..bid(rpt_seq, action, 1, 100)
    };
    for action in [NEW, CHANGE, OVERLAY] {
        let mut bench = Bench::new();
        bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
        bench.packet(2, &[book(&[negative(2, action)])]);
        bench.book(ID, "recovering |");
        bench.packet(3, &[book(&[bid(3, NEW, 1, 101)])]);
        bench.snapshots(1, &[snapshot(1, 1, &[100])]);
        bench.book(ID, "recovering |");
        bench.snapshots(2, &[snapshot(2, 2, &[100])]);
        bench.book(ID, "live 101 100 |");
        assert_eq!(bench.counters().quantities_negative, 1);
    }
    let mut bench = Bench::new();
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100), negative(2, DELETE)])]);
    bench.book(ID, "live |");
}

/// A queued entry with a negative quantity is not replayed after a snapshot, and natural refresh does not show it.
#[test]
fn a_negative_quantity_in_the_queue_is_never_in_a_live_book() {
    let negative = LevelEntry {
        quantity: -5,
        ..bid(4, NEW, 1, 104)
    };
    for mut bench in [Bench::new(), Bench::natural()] {
        bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
        bench.packet(2, &[book(&[bid(3, NEW, 1, 103)])]);
        bench.packet(3, &[book(&[negative])]);
        bench.snapshots(1, &[snapshot(1, 2, &[102])]);
        assert!(!bench.is_live(ID));
        bench.snapshots(2, &[snapshot(3, 4, &[104, 103, 102])]);
        bench.book(ID, "live 104 103 102 |");
    }
}

/// A definition without a level has no depth: no message of the venue makes the book live and empty.
#[test]
fn a_definition_without_a_depth_makes_no_live_empty_book() {
    let mut bench = Bench::defined_only();
    bench.definitions(1, &[definition(ID, 0)]);
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.book(ID, "recovering |");
    bench.definitions(2, &[definition(ID, 10)]);
    bench.snapshots(1, &[snapshot(1, 1, &[100])]);
    bench.book(ID, "live 100 |");
    bench.definitions(3, &[definition(ID, 0)]);
    bench.book(ID, "recovering |");
    // With trusted undefined instruments the book has the depth of an undefined one.
    let mut bench = Bench::new();
    bench.definitions(1, &[definition(ID, 0)]);
    bench.packet(1, &[book(&[bid(1, NEW, 1, 100)])]);
    bench.book(ID, "live 100 |");
}
