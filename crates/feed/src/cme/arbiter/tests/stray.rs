//! Packets near the present numbering that are not of it, or not yet: wrong clocks, late joins, forgeries of one line.

use super::believed::{HOUR, NOW, SECOND, at};
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
        ReceiveTime::at(NOW + 1_008),
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

/// One line forged a number ahead, sent before what both lines bring up to it: theirs takes its place.
#[test]
fn what_both_lines_bring_takes_the_place_of_what_one_forged() {
    let mut bench = at(15);
    let forged = bench.on(Line::B, 18, NOW + 100, NOW + 200);
    assert_eq!(forged, Verdict::Buffered);
    for sequence in 16..=18 {
        let now = NOW + 185 + u64::from(sequence);
        bench.both(sequence, now, now);
    }
    bench.expect("");
    let own = bench.arbiter.candidate.highest().sending_ns;
    for (line, sequence) in [(Line::A, 19), (Line::A, 20), (Line::B, 19)] {
        bench.on(line, sequence, NOW + 185 + u64::from(sequence), NOW + 206);
    }
    bench.expect("16 17 18 19 20");
    let said = bench.arbiter.sent.compare(18, own, 4, 21, NOW + 205);
    assert_eq!(said, Likeness::Copy, "the one of both lines was processed");
}

/// An exchange that begins anew a little behind the clock, where its low numbers were before a late join.
#[test]
fn what_comes_late_on_both_lines_is_doubted_and_believed_in_the_end() {
    let mut bench = Bench::new();
    bench.both(8, NOW, NOW);
    bench.both(9, NOW + 1_000, NOW + 1_000);
    bench.log.clear();
    for sequence in 2..=7 {
        let passed = u64::from(sequence) * 240;
        let late = bench.on(
            Line::A,
            sequence,
            NOW - 9_000 + passed,
            NOW + 2_000 + passed,
        );
        assert_eq!(late, Verdict::Late);
        bench.on(
            Line::B,
            sequence,
            NOW - 9_000 + passed,
            NOW + 2_000 + passed,
        );
    }
    bench.expect("doubt restarted late 2 2 3 4 5 6 7");
}

/// Another packet of the number that was processed last, while one packet of a reset that never comes is waited for.
#[test]
fn a_conflict_is_one_also_while_others_contradict() {
    let mut bench = at(100);
    bench.on(Line::A, 5, NOW + 1_150, NOW + 1_100);
    bench.on(Line::A, 101, NOW + 1_101, NOW + 1_101);
    bench.expect("101");
    let own = ReceiveTime::at(NOW + 1_102);
    let verdict = bench.offer(Line::B, 101, NOW + 1_100, own, b"its own");
    assert_eq!(verdict, Verdict::Contradicts);
    bench.expect("conflict 101");
}

/// Number 1 was the last packet of an exchange whose clock was another one.
#[test]
fn an_epoch_is_whole_by_one_clock_alone() {
    for (apart, said) in [(SECOND, "joined 1 1 2"), (2 * SECOND, "joined late 1 1 2")] {
        let mut bench = Bench::new();
        bench.on(Line::A, 1, NOW, NOW);
        bench.on(Line::A, 2, NOW + apart, NOW + 1);
        bench.advance(NOW + WAIT);
        bench.expect(said);
    }
}

/// Snapshots that were sent behind what both lines bring are not of what was processed, or may not be.
#[test]
fn what_was_sent_behind_an_epoch_that_is_not_believed_may_be_of_it() {
    let mut bench = at(100);
    assert!(!bench.arbiter.may_be_of_next(NOW + 5_000, NOW + 4_100));
    let may = |bench: &Bench, sent, now| bench.arbiter.may_be_of_next(NOW + sent, NOW + now);
    bench.on(Line::A, 2, NOW + 4_000, NOW + 4_000);
    bench.both(3, NOW + 4_001, NOW + 4_001);
    assert!(!may(&bench, 5_000, 4_010), "one number of both lines");
    bench.on(Line::B, 2, NOW + 4_000, NOW + 4_002);
    assert!(may(&bench, 4_000, 4_010) && !may(&bench, 3_999, 4_010));
    let later = 4_002 + 10 * WAIT;
    assert!(!may(&bench, 5_000, later), "nothing speaks for it any more");
}

#[test]
fn a_snapshot_was_sent_as_long_before_a_join_as_it_came_before_it() {
    let mut bench = Bench::new();
    bench.both(22, NOW, NOW);
    let is_old = |sent_before, came_before| {
        let arbiter = &bench.arbiter;
        arbiter.is_long_before(NOW - sent_before, NOW - came_before, SECOND)
    };
    assert!(!is_old(HOUR, HOUR), "it was kept since");
    assert!(!is_old(SECOND, 0));
    assert!(is_old(SECOND + 1, 0) && is_old(HOUR, HOUR - SECOND - 1));
}

/// Where the clock was set in what is lost, the numbers may be those of an exchange that began anew.
#[test]
fn a_loss_in_which_the_clock_was_set_is_a_conflict() {
    let far = SECOND + 2_000;
    for (sent, came, said) in [
        (NOW + 100, NOW + 100, "lost 6-6 7"),
        (NOW + 49, NOW + 100, "lost 6-6 conflict 6 7"),
        (NOW + far, NOW + 100, "lost 6-6 conflict 6 7"),
        (NOW + far, NOW + far, "lost 6-6 7"),
    ] {
        let mut bench = at(5);
        bench.on(Line::A, 7, sent, came);
        bench.advance(came + WAIT);
        bench.expect(said);
    }
}

/// An exchange began anew a little behind the clock, one line alone is heard, and its numbers reach those of before.
#[test]
fn what_one_line_shows_for_long_and_goes_on_in_the_epoch_before_is_a_conflict() {
    for (every, said) in [
        (60, "doubt conflict 5 6 conflict 6"),
        (5, "6"), // what one line forges in the middle of the stream
    ] {
        let mut bench = at(5);
        for sequence in 2..=5 {
            let passed = u64::from(sequence) * every;
            bench.on(Line::A, sequence, NOW - 1_000 + passed, NOW + 100 + passed);
        }
        bench.on(Line::A, 6, NOW - 1_000 + 6 * every, NOW + 100 + 6 * every);
        bench.expect(said);
    }
}

/// Both lines brought a numbering against the clock, and then a reset: that is no doubt about the reset.
#[test]
fn what_ended_before_a_reset_began_says_nothing_against_it() {
    let mut bench = at(5);
    for sequence in 7..=8 {
        bench.both(sequence, NOW - 2 * SECOND + u64::from(sequence), NOW + 80);
    }
    // By its number and time it may be the present numbering's as well.
    bench.both(9, NOW - SECOND + 100, NOW + 80);
    let reset = NOW + 90;
    bench.both(1, reset, reset);
    bench.both(2, reset + 1, reset + 1);
    bench.expect(&format!("restarted at {reset} 1 2"));
}

/// A line, or both, may be slow: what was lost in this numbering is nothing else when it comes.
#[test]
fn what_was_lost_and_comes_late_on_both_lines_is_dropped() {
    let mut bench = at(5);
    bench.on(Line::A, 7, NOW + 70, NOW + 70);
    bench.advance(NOW + 70 + WAIT);
    bench.expect("lost 6-6 7");
    for line in [Line::A, Line::B] {
        assert_eq!(bench.on(line, 6, NOW + 60, NOW + 200), Verdict::Late);
    }
    bench.on(Line::A, 8, NOW + 201, NOW + 201);
    bench.expect("8");
}

/// Who forged the packet that was processed sends one for which the venue's own may speak.
#[test]
fn what_one_line_brings_besides_hides_no_conflict() {
    let mut bench = at(5);
    bench.on(Line::A, 6, NOW + 60, NOW + 60);
    bench.on(Line::A, 5, NOW + 49, NOW + 61);
    bench.log.clear();
    bench.offer(Line::A, 6, NOW + 60, ReceiveTime::at(NOW + 62), b"its own");
    bench.expect("conflict 6");
}

/// On a quiet channel a packet is replayed long behind the time it was sent at, and what came before it waits behind.
#[test]
fn what_was_replayed_sets_no_clock() {
    let mut bench = Bench::asking(8);
    bench.both(1, NOW, NOW);
    bench.on(Line::A, 4, NOW + 3 * SECOND, NOW + 3 * SECOND);
    let now = NOW + 3 * SECOND + WAIT;
    bench.advance(now);
    assert!(bench.replayed(2, NOW + 10, now + 10));
    bench.advance(now + 60);
    bench.expect("joined 1 1 await 2-3 2 lost 3-3 4");
}
