//! Packets with numbers near the current epoch that do not belong to it, or not yet: wrong clocks, late joins,
//! forgeries on one line.

use super::confirmation::{HOUR, NOW, SECOND, at};
use super::*;

/// The venue's clock is behind for a packet or two, and then right: the next packets count as agreeing with those, and
/// must be accepted although more arrive than the buffer holds.
#[test]
fn a_clock_that_was_wrong_once_does_not_stop_the_channel() {
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

/// Numbers lost before the first packet of all are late only if they were sent before it.
#[test]
fn a_restart_after_a_late_join_is_not_a_late_packet() {
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

/// A confirmed restart begins with the first number of both lines, and is a restart even if the clock would allow that
/// number.
#[test]
fn a_restart_is_detected_although_the_clock_fits() {
    let mut bench = at(5);
    let sent = |sequence: u32, before_ms: u64| NOW - before_ms * 1_000_000 + u64::from(sequence);
    bench.both(7, sent(7, 1_200), NOW + 1_007);
    // Neither of two packets with this number is accepted.
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
    bench.log.retain(|step| step != "unconfirmed");
    bench.expect("restarted late 10 10 11 12");
}

/// Three packets of one line do not move the window.
#[test]
fn forgeries_on_one_line_slightly_behind_the_clock_move_nothing() {
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

/// One line forged a number ahead, sent before the packets of both lines up to it: theirs replace it.
#[test]
fn packets_of_both_lines_replace_a_forgery_on_one_line() {
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
    let sent = bench.arbiter.sent(own, &18_u32.to_le_bytes());
    let said = bench.arbiter.sent.compare(18, sent, 21, NOW + 205);
    assert_eq!(said, Likeness::Copy, "the one of both lines was processed");
}

/// An exchange restarts slightly behind the clock, with numbers below those of a late join.
#[test]
fn late_packets_on_both_lines_are_reported_and_accepted_in_the_end() {
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
    bench.expect("unconfirmed restarted late 2 2 3 4 5 6 7");
}

/// Another packet of the last processed number, while a reset has one packet and never gets a second.
#[test]
fn a_conflict_is_reported_while_other_packets_contradict() {
    let mut bench = at(100);
    bench.on(Line::A, 5, NOW + 1_150, NOW + 1_100);
    bench.on(Line::A, 101, NOW + 1_101, NOW + 1_101);
    bench.expect("101");
    let own = ReceiveTime::at(NOW + 1_102);
    let verdict = bench.offer(Line::B, 101, NOW + 1_100, own, b"its own");
    assert_eq!(verdict, Verdict::Contradicts);
    bench.expect("conflict 101");
}

/// Number 1 was the last packet of an exchange with another clock.
#[test]
fn a_complete_epoch_has_one_clock() {
    for (apart, said) in [(SECOND, "joined 1 1 2"), (2 * SECOND, "joined late 1 1 2")] {
        let mut bench = Bench::new();
        bench.on(Line::A, 1, NOW, NOW);
        bench.on(Line::A, 2, NOW + apart, NOW + 1);
        bench.advance(NOW + WAIT);
        bench.expect(said);
    }
}

/// Snapshots sent after packets of both lines are not of the processed epoch, or may not be.
#[test]
fn a_snapshot_sent_after_an_unconfirmed_epoch_may_belong_to_it() {
    let mut bench = at(100);
    assert!(!bench.arbiter.may_be_of_next(NOW + 5_000, NOW + 4_100));
    let may = |bench: &Bench, sent, now| bench.arbiter.may_be_of_next(NOW + sent, NOW + now);
    bench.on(Line::A, 2, NOW + 4_000, NOW + 4_000);
    bench.both(3, NOW + 4_001, NOW + 4_001);
    assert!(!may(&bench, 5_000, 4_010), "one number of both lines");
    bench.on(Line::B, 2, NOW + 4_000, NOW + 4_002);
    assert!(may(&bench, 4_000, 4_010) && !may(&bench, 3_999, 4_010));
    let later = 4_002 + 10 * WAIT;
    assert!(!may(&bench, 5_000, later), "nothing supports it any more");
}

#[test]
fn a_snapshot_from_before_a_join_was_sent_as_long_before_as_it_arrived() {
    let mut bench = Bench::new();
    bench.both(22, NOW, NOW);
    let is_old = |sent_before, came_before| {
        let arbiter = &bench.arbiter;
        arbiter.is_long_before(NOW - sent_before, NOW - came_before, SECOND)
    };
    assert!(!is_old(HOUR, HOUR), "it was stored since then");
    assert!(!is_old(SECOND, 0));
    assert!(is_old(SECOND + 1, 0) && is_old(HOUR, HOUR - SECOND - 1));
}

/// If the clock was set within a gap, the numbers may be those of a restarted exchange.
#[test]
fn a_gap_in_which_the_clock_was_set_is_a_conflict() {
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

/// An exchange restarted slightly behind the clock, only one line is received, and its numbers reach the old ones.
#[test]
fn a_long_candidate_of_one_line_followed_by_the_old_epoch_is_a_conflict() {
    for (every, said) in [
        (60, "unconfirmed conflict 5 6 conflict 6"),
        (5, "6"), // a forgery on one line in the middle of the stream
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

/// Both lines brought an epoch against the clock, and then a reset: the first does not contradict the reset.
#[test]
fn a_candidate_that_ended_before_a_reset_does_not_contradict_it() {
    let mut bench = at(5);
    for sequence in 7..=8 {
        bench.both(sequence, NOW - 2 * SECOND + u64::from(sequence), NOW + 80);
    }
    // Its number and time also fit the current epoch.
    bench.both(9, NOW - SECOND + 100, NOW + 80);
    let reset = NOW + 90;
    bench.both(1, reset, reset);
    bench.both(2, reset + 1, reset + 1);
    bench.expect(&format!("restarted at {reset} 1 2"));
}

/// A line, or both, may be slow: a late packet of a lost number of this epoch has no other meaning.
#[test]
fn a_lost_packet_that_arrives_late_on_both_lines_is_dropped() {
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

/// The sender of the forged packet that was processed sends another one that the venue's packets may support.
#[test]
fn other_packets_of_one_line_hide_no_conflict() {
    let mut bench = at(5);
    bench.on(Line::A, 6, NOW + 60, NOW + 60);
    bench.on(Line::A, 5, NOW + 49, NOW + 61);
    bench.log.clear();
    bench.offer(Line::A, 6, NOW + 60, ReceiveTime::at(NOW + 62), b"its own");
    bench.expect("conflict 6");
}

/// On a quiet channel a packet is replayed long after its sending time, and packets received before it are buffered
/// behind it.
#[test]
fn a_replayed_packet_does_not_set_the_clock() {
    let mut bench = Bench::asking(8);
    bench.both(1, NOW, NOW);
    bench.on(Line::A, 4, NOW + 3 * SECOND, NOW + 3 * SECOND);
    let now = NOW + 3 * SECOND + WAIT;
    bench.advance(now);
    assert!(bench.replayed(2, NOW + 10, now + 10));
    bench.advance(now + 60);
    bench.expect("joined 1 1 await 2-3 2 lost 3-3 4");
}
