//! The schedule holds, and the expected books of an exchange without end are correct.

use super::*;
use crate::capture::Feed;
use crate::cme::encode::Version;
use crate::cme::expected_books;
use crate::picture::{BookRow, OrderRow};
use std::collections::{BTreeMap, BTreeSet};

const WALL_NS: u64 = 1_800_000_000_000_000_000;

fn options(instruments: usize) -> Options {
    Options {
        version: Version::V13,
        instruments,
        ..Options::default()
    }
}

/// Steps an exchange on time until `until_ns`; its packets go to `take`.
fn run(live: &mut Live, until_ns: u64, mut take: impl FnMut(SentPacket)) {
    while live.due_ns() < until_ns {
        let elapsed_ns = live.due_ns();
        live.step(at(elapsed_ns));
        live.packets().drain(..).for_each(&mut take);
    }
}

fn at(elapsed_ns: u64) -> Moment {
    Moment {
        elapsed_ns,
        wall_ns: WALL_NS + elapsed_ns,
    }
}

fn hash_of(row: &BookRow) -> u64 {
    let lists = [&row.bids, &row.asks, &row.implied_bids, &row.implied_asks];
    let number = |number: Option<i64>| number.unwrap_or(0);
    expected_books::hash(lists.map(|list| {
        let known = list.iter().flatten();
        known.map(|level| {
            (
                number(level.price),
                number(level.quantity),
                number(level.orders),
            )
        })
    }))
}

fn orders(rows: &[OrderRow]) -> Vec<(i64, i64, u64)> {
    let number = |number: Option<i64>| number.expect("a real order");
    let parts = |row: &OrderRow| (number(row.price), number(row.quantity), row.id);
    rows.iter().map(parts).collect()
}

#[test]
fn events_and_snapshot_cycles_keep_their_rate() {
    for (instruments, rate) in [(1, 50.0), (10, 2_000.0), (64, 300.0)] {
        let mut live = Live::new(&options(instruments), rate, 3);
        let mut loops = [0; 4];
        run(&mut live, 20 * SECOND_NS, |packet| {
            loops[packet.feed as usize] += u32::from(packet.sequence == 1);
        });
        let expected = rate * 20.0;
        let events = live.events() as f64;
        assert!(
            (0.9 * expected..1.1 * expected).contains(&events),
            "{events} events instead of {expected}"
        );
        for feed in [Feed::Definitions, Feed::Snapshot, Feed::OrderSnapshot] {
            let loops = loops[feed as usize];
            assert!(loops >= 10, "{loops} loops of {feed:?} with {instruments}");
        }
        assert_eq!(live.restarts(), 0);
    }
}

#[test]
fn sending_times_are_the_current_time() {
    let mut live = Live::new(&options(8), 5_000.0, 1);
    let mut sent = 0;
    while live.due_ns() < 2 * SECOND_NS {
        let now = at(live.due_ns() + 7_000);
        live.step(now);
        for packet in live.packets().drain(..) {
            let sending = u64::from_le_bytes(packet.payload[4..12].try_into().expect("8 bytes"));
            assert!(
                sending.abs_diff(now.wall_ns) < 1_000,
                "{sending} at {now:?}"
            );
            sent += 1;
        }
    }
    assert!(sent > 10_000, "{sent}");
}

#[test]
fn a_clock_that_steps_is_that_of_all_feeds_and_of_events() {
    let mut live = Live::new(&options(8), 2_000.0, 1);
    run(&mut live, 2 * SECOND_NS, drop);
    let mut off_s: i64 = 0;
    for step_s in [-3_600, 30, -400_000_000, 800_000_000] {
        off_s += step_s;
        live.step_clock(step_s * SECOND_NS as i64, at(live.due_ns()));
        // The open packet is sent with the time before the step.
        live.packets().clear();
        let from_ns = WALL_NS.saturating_add_signed(off_s * SECOND_NS as i64);
        let (mut seen, mut until_ns) = ([0; Feed::ALL.len()], 0);
        let mut events_ns = Vec::new();
        let end_ns = live.due_ns() + 3 * SECOND_NS;
        run(&mut live, end_ns, |packet| {
            let sending_ns = header::sending_time(&packet.payload);
            let past_ns = sending_ns.wrapping_sub(from_ns);
            assert!(
                past_ns < end_ns,
                "{past_ns} ns behind the step to {off_s} s"
            );
            seen[packet.feed as usize] += 1;
            until_ns = until_ns.max(sending_ns);
            if packet.feed == Feed::Snapshot {
                // TransactTime of the first message.
                let field = packet.payload[12 + 10 + 16..].first_chunk();
                events_ns.push(u64::from_le_bytes(*field.expect("8 bytes")));
            }
        });
        assert!(seen.iter().all(|&packets| packets > 5), "{seen:?}");
        assert!(
            until_ns > from_ns + end_ns - SECOND_NS / 2,
            "the clock stands still"
        );
        assert!(
            events_ns
                .iter()
                .any(|event_ns| (from_ns..=until_ns).contains(event_ns)),
            "events have the time before"
        );
    }
}

/// Clocks of restarted exchanges, seconds from the wall clock.
const CLOCKS_S: [i64; 3] = [0, -86_400, 31_536_000];

#[test]
fn an_exchange_that_starts_again_sends_definitions_first_and_numbers_from_1() {
    let mut live = Live::new(&options(8), 2_000.0, 1);
    run(&mut live, 2 * SECOND_NS, drop);
    let events = live.events();
    for off_s in CLOCKS_S {
        let before = live.incremental_packets();
        live.restart(off_s * SECOND_NS as i64, at(live.due_ns()));
        let mut left = live.packets().drain(..);
        assert!(left.all(|packet| packet.sequence > 1), "of the one before");
        drop(left);
        let starts_ns = live.due_ns();
        let said_ns = header::moved(WALL_NS + starts_ns, off_s);
        let (mut last, mut loops) = (0, BTreeMap::new());
        run(&mut live, starts_ns + 2 * SECOND_NS, |packet| {
            let sending_ns = header::sending_time(&packet.payload);
            assert!(
                sending_ns.wrapping_sub(said_ns) < 2 * SECOND_NS,
                "{sending_ns}"
            );
            if packet.feed != Feed::Incremental {
                let first = *loops.entry(packet.feed).or_insert(packet.sequence);
                assert_eq!(first, 1, "{:?}", packet.feed);
                return;
            }
            last += 1;
            assert_eq!(packet.sequence, last);
            let is_event = packet.payload.len() > 22;
            assert!(!is_event || loops.contains_key(&Feed::Definitions));
        });
        assert_eq!(loops.len(), 3);
        assert_eq!(live.incremental_packets(), before + u64::from(last));
        assert!(last > 500, "{last}");
    }
    assert!(live.events() > events + 5_000);
    assert_eq!((live.exchanges_before(), live.restarts()), (3, 0));
}

#[test]
fn an_exchange_that_starts_again_has_empty_books_another_course_and_expected_books_of_its_own() {
    let mut live = Live::new(&options(8), 2_000.0, 1);
    live.keep_states();
    live.keep_order_states();
    let no_levels = expected_books::hash([[], [], [], []]);
    let no_orders = expected_books::hash_of_orders([[], []]);
    let mut courses = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for off_s in CLOCKS_S {
        // States of all instruments, with which each exchange starts.
        let states = std::mem::take(live.states());
        let order_states = std::mem::take(live.order_states());
        for (states, nothing) in [(states, no_levels), (order_states, no_orders)] {
            let empty = &states[states.len() - 8..];
            let is_empty = |state: &BookState| (state.hash, state.sequence) == (nothing, 1);
            assert!(empty.iter().all(is_empty), "{empty:?}");
        }
        let ends_ns = live.due_ns() + 2 * SECOND_NS;
        run(&mut live, ends_ns, drop);
        let states: Vec<_> = live.states().drain(..).collect();
        courses.insert(
            states[..5]
                .iter()
                .map(|state| state.hash)
                .collect::<Vec<_>>(),
        );
        let ends: BTreeMap<i32, u64> = states
            .iter()
            .map(|state| (state.security_id, state.hash))
            .collect();
        let books = live.expected().books;
        assert!(ends.len() > 4);
        for row in books
            .iter()
            .filter(|row| ends.contains_key(&row.security_id))
        {
            assert_eq!(ends[&row.security_id], hash_of(row));
        }
        ids.insert(books.iter().map(|row| row.security_id).collect::<Vec<_>>());
        live.restart(off_s * SECOND_NS as i64, at(live.due_ns()));
    }
    assert_eq!(ids.len(), 1, "the same instruments");
    assert_eq!(courses.len(), 3, "another course each time");
}

#[test]
fn an_exchange_that_starts_again_without_events_has_none_before_it_is_open() {
    let mut live = Live::new(&options(8), 0.0, 1);
    run(&mut live, SECOND_NS, drop);
    live.restart(0, at(SECOND_NS));
    live.set_rate(1_000.0, at(SECOND_NS));
    let mut definitions = 0;
    run(&mut live, 2 * SECOND_NS, |packet| {
        definitions += u32::from(packet.feed == Feed::Definitions);
        let is_event = packet.feed == Feed::Incremental && packet.payload.len() > 22;
        assert!(
            definitions >= 2 || !is_event,
            "an event after {definitions} packets of definitions"
        );
    });
    assert!(live.events() > 500);
}

#[test]
fn a_quiet_feed_has_heartbeats() {
    let mut live = Live::new(&options(3), 0.0, 1);
    let mut heartbeats = 0;
    run(&mut live, 10 * SECOND_NS, |packet| {
        heartbeats += u32::from(packet.feed == Feed::Incremental);
    });
    assert_eq!((heartbeats, live.events()), (10, 0));
}

#[test]
fn a_stopped_exchange_skips_the_events_of_the_pause() {
    let mut live = Live::new(&options(3), 1_000.0, 1);
    run(&mut live, SECOND_NS, drop);
    let before = live.events();
    live.step(at(3_600 * SECOND_NS));
    assert!(live.due_ns() >= 3_600 * SECOND_NS);
    assert_eq!(live.restarts(), 1);
    assert!(live.events() <= before + 1);
}

#[test]
fn the_exchange_ends_with_heartbeats_and_complete_cycles() {
    let mut live = Live::new(&options(20), 2_000.0, 9);
    live.keep_states();
    live.keep_order_states();
    run(&mut live, 3 * SECOND_NS, drop);
    let closed_ns = live.due_ns();
    live.close(at(closed_ns));
    let mut last = Vec::new();
    while !live.is_over() {
        let now = at(live.due_ns());
        live.step(now);
        last.append(live.packets());
    }
    // The last state of each book is its final one.
    let states = live.states().drain(..);
    let ends: BTreeMap<i32, u64> = states
        .map(|state| (state.security_id, state.hash))
        .collect();
    let expected_books = live.expected();
    let hashes = expected_books
        .books
        .iter()
        .map(|row| (row.security_id, hash_of(row)));
    assert_eq!(ends, hashes.collect());
    let states = live.order_states().drain(..);
    let ends: BTreeMap<i32, u64> = states
        .map(|state| (state.security_id, state.hash))
        .collect();
    let hashes = expected_books.orders.iter().map(|row| {
        let sides = [&row.bids, &row.asks];
        (
            row.security_id,
            expected_books::hash_of_orders(sides.map(|rows| orders(rows))),
        )
    });
    assert_eq!(ends, hashes.collect());
    let took_ns = live.due_ns() - closed_ns;
    assert!(took_ns < 4 * SECOND_NS, "{took_ns} ns");
    let of = |feed| last.iter().filter(move |packet| packet.feed == feed);
    assert!(of(Feed::Incremental).all(|packet| packet.payload.len() == 22));
    for feed in [Feed::Definitions, Feed::Snapshot, Feed::OrderSnapshot] {
        assert!(of(feed).filter(|packet| packet.sequence == 1).count() >= 2);
    }
}

#[test]
fn a_hundred_thousand_events_take_no_more_memory_than_a_thousand() {
    let mut live = Live::new(&options(4), 2_000.0, 2);
    live.keep_states();
    let (mut states, mut orders_max) = (0, 0);
    while live.events() < 100_000 {
        let now = at(live.due_ns());
        live.step(now);
        assert!(live.packets().len() < 100);
        live.packets().clear();
        states += live.states().len();
        live.states().clear();
        if live.events().is_multiple_of(1_000) {
            let expected_books = live.expected();
            assert!(expected_books.tops.is_empty());
            let orders = expected_books.orders.iter();
            let orders = orders.map(|row| row.bids.len() + row.asks.len()).max();
            orders_max = orders_max.max(orders.unwrap_or(0));
        }
    }
    assert!(states > 50_000, "{states}");
    assert!(
        (1..1_000).contains(&orders_max),
        "{orders_max} orders in a book"
    );
}
