//! Packets near the present numbering that are not of it, or not yet: wrong clocks, late joins, forgeries of one line.

use super::believed::{NOW, SECOND, at};
use super::*;

/// The venue's clock is behind for a packet or two, and right again: what follows is taken for what agrees with those,
/// and must be believed although more comes than is kept.
#[test]
fn a_clock_that_was_wrong_once_does_not_cost_the_channel() {
    for (behind, packets) in [(2, 1), (2, 2), (30, 2), (59, 2), (70, 2)] {
        let mut bench = at(5);
        for sequence in 6..6 + packets {
            let now = NOW + 60 + u64::from(sequence);
            bench.both(sequence, now - behind * SECOND, now);
        }
        for sequence in 6 + packets..400 {
            let now = NOW + 70 + u64::from(sequence) * 10;
            bench.both(sequence, now, now);
        }
        assert_eq!(
            bench.log.last().unwrap(),
            "399",
            "{behind} s behind for {packets}"
        );
    }
}

/// Numbers that were lost before the first packet of all are late only if they were sent before it.
#[test]
fn what_begins_anew_behind_a_late_join_is_not_late() {
    let mut bench = Bench::new();
    let ms = SECOND / 1_000;
    bench.both(6, NOW, NOW);
    bench.both(7, NOW + 800 * ms, NOW + 800 * ms);
    bench.log.clear();
    let late = bench.on(Line::A, 5, NOW - 10, NOW + 801 * ms);
    assert_eq!(late, Verdict::Late);
    let first = bench.on(Line::A, 1, NOW + 300 * ms, NOW + 802 * ms);
    assert_eq!(first, Verdict::Contradicts);
}

/// A restart that is believed begins with the first number of both lines, and is a restart also where the clock would
/// allow that one.
#[test]
fn a_restart_stays_one_where_its_beginning_is_near_the_clock() {
    let mut bench = at(5);
    let sent = |sequence: u32, before_ms: u64| NOW - before_ms * 1_000_000 + u64::from(sequence);
    bench.both(7, sent(7, 1_200), NOW + 1_007);
    // Of two packets with this number none is believed.
    bench.offer(
        Line::A,
        7,
        sent(7, 1_200),
        When::at(NOW + 1_008),
        b"another",
    );
    bench.on(Line::A, 8, sent(8, 1_200), NOW + 1_009);
    for sequence in 10..=11 {
        bench.both(
            sequence,
            sent(sequence, 900),
            NOW + 1_010 + u64::from(sequence),
        );
    }
    bench.both(12, sent(12, 900), NOW + 2_050);
    bench.log.retain(|step| step != "doubt");
    bench.expect("restarted late 10 10 11 12");
}

/// Three packets of one line do not take the stream away from the venue.
#[test]
fn what_one_line_forges_a_little_behind_the_clock_moves_nothing() {
    let mut bench = at(20);
    for sequence in 18..=20 {
        let sending_ns = NOW - 2 * SECOND + u64::from(sequence);
        bench.on(Line::A, sequence, sending_ns, NOW + 205);
    }
    for sequence in 21..25 {
        let now_ns = NOW + u64::from(sequence) * 10;
        bench.both(sequence, now_ns, now_ns);
    }
    bench.expect("21 22 23 24");
}
