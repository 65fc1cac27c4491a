//! Confirmation, packet by packet: the first packet of all, jumps, sequence resets, changed clocks, conflicts.

use super::*;

pub const SECOND: u64 = 1_000_000_000;
pub const HOUR: u64 = 3_600 * SECOND;
/// Current time.
pub const NOW: u64 = 100 * HOUR;

/// Joined at 1, with packets up to `last`, 10 ns apart.
pub fn at(last: u32) -> Bench {
    let mut bench = Bench::new();
    for sequence in 1..=last {
        bench.both(
            sequence,
            NOW + u64::from(sequence) * 10,
            NOW + u64::from(sequence) * 10,
        );
    }
    bench.log.clear();
    bench
}

#[test]
fn the_first_packet_of_all_needs_confirmation() {
    let mut bench = Bench::new();
    bench.on(Line::A, 7, 70, 70);
    bench.advance(100_000);
    bench.expect("");
    assert_eq!(
        bench.on(Line::A, 7, 70, 100_000),
        Verdict::Duplicate,
        "a copy on the same line does not confirm it"
    );
    bench.expect("");
    bench.on(Line::B, 7, 70, 100_001);
    bench.expect("joined late 7 7");
    let mut bench = Bench::new();
    bench.on(Line::A, 8, 80, 80);
    bench.on(Line::A, 7, 70, 81);
    bench.expect("joined late 7 7 8");
}

#[test]
fn number_one_is_confirmed_by_its_copy_or_the_next_number() {
    for witness in [(Line::B, 1, 10), (Line::A, 2, 11)] {
        let mut bench = Bench::new();
        bench.on(Line::A, 1, 10, 10);
        bench.on(witness.0, witness.1, witness.2, 11);
        assert!(bench.log[0] == "joined 1", "{:?}", bench.log);
    }
    let mut bench = Bench::new();
    bench.on(Line::A, 1, 10, 10);
    bench.on(Line::A, 5, 11, 11);
    bench.expect("");
    bench.advance(10 + WAIT);
    assert!(bench.log[0] == "joined late 1", "{:?}", bench.log);
}

/// Old, distant and future first packets, followed by the venue's own.
#[test]
fn a_wrong_first_packet_is_replaced() {
    for (sequence, sending_ns) in [
        (5_000_000, NOW - 24 * HOUR),
        (u32::MAX, 1),
        (1, NOW + 365 * 24 * HOUR),
        (u32::MAX, NOW + 365 * 24 * HOUR),
        (1, NOW - 24 * HOUR),
    ] {
        let mut bench = Bench::new();
        bench.on(Line::A, sequence, sending_ns, NOW);
        bench.both(1, NOW, NOW);
        bench.both(2, NOW + 1, NOW + 1);
        bench.expect("joined 1 1 2");
    }
}

#[test]
fn a_sequence_reset_is_accepted_when_both_lines_agree_on_two_numbers() {
    let mut bench = at(3);
    bench.on(Line::A, 1, NOW + 90, NOW + 90);
    bench.on(Line::B, 1, NOW + 90, NOW + 91);
    bench.on(Line::A, 2, NOW + 92, NOW + 92);
    bench.expect("");
    bench.on(Line::B, 2, NOW + 92, NOW + 93);
    bench.expect(&format!("restarted at {} 1 2", NOW + 90));
    assert_eq!(bench.on(Line::A, 3, NOW + 30, NOW + 94), Verdict::OldEpoch);
    bench.packet(3, NOW + 95);
    bench.expect("3");
}

#[test]
fn a_sequence_reset_on_one_line_needs_eight_numbers() {
    let mut bench = at(100);
    for sequence in 1..8 {
        bench.on(
            Line::A,
            sequence,
            NOW + 200_000 + u64::from(sequence),
            NOW + 200_000 + u64::from(sequence),
        );
        bench.log.retain(|step| step != "unconfirmed");
        bench.expect("");
    }
    bench.on(Line::A, 8, NOW + 200_008, NOW + 200_008);
    bench.expect(&format!("restarted at {} 1 2 3 4 5 6 7 8", NOW + 200_001));
}

/// Gaps of the old epoch are not waited for; the packets that the other line brings of it first are processed.
#[test]
fn packets_before_a_sequence_reset_are_processed_first() {
    let mut bench = at(2);
    bench.on(Line::A, 5, NOW + 50, NOW + 50);
    bench.on(Line::A, 1, NOW + 90, NOW + 90);
    bench.on(Line::A, 2, NOW + 91, NOW + 91);
    bench.on(Line::B, 3, NOW + 30, NOW + 92);
    bench.expect("3");
    bench.on(Line::B, 1, NOW + 90, NOW + 93);
    bench.on(Line::B, 2, NOW + 91, NOW + 94);
    bench.expect(&format!("lost 4-4 5 restarted at {} 1 2", NOW + 90));
}

#[test]
fn a_reset_without_its_first_number_is_a_late_restart() {
    let mut bench = at(100);
    bench.both(2, NOW + 200_000, NOW + 200_000);
    bench.both(3, NOW + 200_001, NOW + 200_001);
    bench.advance(NOW + 200_000 + WAIT - 1);
    bench.expect("");
    bench.advance(NOW + 200_000 + WAIT);
    bench.expect("restarted late 2 2 3");
    assert_eq!(
        bench.on(Line::A, 1, NOW + 199_999, NOW + 200_200),
        Verdict::Late
    );
}

/// Old packets of this epoch or another one arrive again between the packets of a reset.
#[test]
fn a_stray_packet_does_not_end_a_reset_in_progress() {
    let mut bench = at(100);
    bench.both(1, NOW + 2_000, NOW + 2_000);
    bench.on(Line::A, 2, NOW + 2_001, NOW + 2_001);
    bench.on(Line::A, 89, NOW - HOUR, NOW + 2_002);
    bench.on(Line::A, 90, NOW - HOUR + 1, NOW + 2_002);
    bench.on(Line::B, 2, NOW + 2_001, NOW + 2_003);
    bench.expect(&format!("restarted at {} 1 2", NOW + 2_000));
}

/// A packet of the previous epoch has another length and another sending time.
#[test]
fn a_packet_from_before_a_reset_is_not_a_conflict() {
    let mut bench = at(100);
    bench.both(1, NOW + 2_000, NOW + 2_000);
    bench.both(2, NOW + 2_001, NOW + 2_001);
    bench.log.clear();
    bench.offer(
        Line::A,
        1,
        NOW + 10,
        ReceiveTime::at(NOW + 2_002),
        b"another one",
    );
    bench.both(3, NOW + 2_003, NOW + 2_003);
    bench.expect("3");
}

/// Numbers 5 and 6 were in the window when the reset was detected; they were sent after it.
#[test]
fn buffered_packets_sent_after_a_reset_are_of_the_new_epoch() {
    let mut bench = at(2);
    for sequence in [5, 6] {
        bench.both(sequence, NOW + 90 + u64::from(sequence), NOW + 60);
    }
    bench.expect("");
    for sequence in 1..=4 {
        bench.both(sequence, NOW + 90 + u64::from(sequence), NOW + 70);
    }
    bench.expect(&format!("restarted at {} 1 2 3 4 5 6", NOW + 91));
}

/// At the end of input a reset is accepted without further confirmation, and its own gaps are lost.
#[test]
fn at_the_end_of_input_a_reset_is_accepted_and_its_gaps_are_lost() {
    let mut bench = at(100);
    bench.on(Line::A, 1, NOW + 2_000, NOW + 2_000);
    bench.on(Line::A, 3, NOW + 2_001, NOW + 2_001);
    bench.arbiter.finish();
    bench.drain();
    bench.expect(&format!("restarted at {} 1 lost 2-2 3", NOW + 2_000));
}

/// Number 3 is also the next number of the old epoch.
#[test]
fn a_reset_whose_numbers_fit_the_window_is_a_late_restart() {
    let mut bench = at(2);
    for sequence in 1..=4 {
        bench.on(
            Line::A,
            sequence,
            NOW + 90 + u64::from(sequence),
            NOW + 90 + u64::from(sequence),
        );
    }
    bench.expect("");
    for sequence in 1..=2 {
        bench.on(Line::B, sequence, NOW + 90 + u64::from(sequence), NOW + 99);
    }
    bench.expect("restarted late 1 1 2 3 4");
}

#[test]
fn one_forged_reset_moves_nothing() {
    for sending_ns in [NOW + 30 * SECOND, NOW + 365 * 24 * HOUR, 1] {
        let mut bench = at(3);
        bench.on(Line::A, 1, sending_ns, NOW + 35);
        for sequence in 4..140 {
            bench.both(
                sequence,
                NOW + u64::from(sequence) * 10,
                NOW + u64::from(sequence) * 10,
            );
        }
        let all: Vec<String> = (4..140).map(|sequence| sequence.to_string()).collect();
        bench.expect(&all.join(" "));
        assert!(
            bench.arbiter.is_undisputed(),
            "sent at {sending_ns}: it is dropped"
        );
    }
}

/// Among low numbers it may look like the start of the next packets: the result is a late restart, which makes no book
/// wrong.
#[test]
fn one_forged_reset_near_the_next_number_causes_a_late_restart() {
    let mut bench = at(3);
    bench.on(Line::A, 1, NOW + 35, NOW + 35);
    for sequence in 4..7 {
        bench.both(
            sequence,
            NOW + u64::from(sequence) * 10,
            NOW + u64::from(sequence) * 10,
        );
    }
    bench.advance(NOW + 50 + WAIT);
    bench.expect("restarted late 1 1 lost 2-3 4 5 6");
}

/// A packet with a sending time in the far future is not processed, with any number; the venue's own is.
#[test]
fn the_next_number_with_an_implausible_time_is_not_processed() {
    for sending_ns in [NOW + HOUR, NOW - HOUR] {
        let mut bench = at(3);
        assert_eq!(
            bench.on(Line::A, 4, sending_ns, NOW + 35),
            Verdict::Contradicts
        );
        bench.both(4, NOW + 40, NOW + 40);
        bench.expect("4");
    }
}

/// Failover to a host whose clock is behind: both lines agree for a while, and no packet contradicts it.
#[test]
fn a_restart_with_the_clock_behind_is_accepted_after_a_while() {
    for back_ns in [2 * SECOND, HOUR, 24 * HOUR] {
        let mut bench = at(100);
        let sent = |sequence: u64| NOW - back_ns + sequence * 100;
        for sequence in 1..=20 {
            bench.both(
                sequence as u32,
                sent(sequence),
                NOW + 200_000 + sequence * 40,
            );
        }
        bench.expect("unconfirmed");
        for sequence in 21..=30 {
            bench.both(
                sequence as u32,
                sent(sequence),
                NOW + 200_000 + sequence * 40,
            );
        }
        assert_eq!(
            bench.log[0], "restarted late 18",
            "{back_ns}: a window of eight numbers is full"
        );
        assert_eq!(bench.log.last().unwrap(), "30");
        bench.log.clear();
        // Late packets of the previous epoch have no effect.
        bench.both(101, NOW + 1_010, NOW + 210_000);
        bench.both(31, sent(31), NOW + 210_001);
        bench.expect("31");
    }
}

/// The exchange restarts with its clock behind, and one line also brings packets of other times with near numbers:
/// neither the lower nor the higher ones are part of the restart.
#[test]
fn packets_of_one_line_alone_neither_start_nor_end_an_epoch() {
    let mut bench = at(100);
    let sent = |after_ns: u64| NOW - HOUR + after_ns;
    bench.on(Line::A, 1, sent(0) - 20 * SECOND, NOW + 2_000);
    bench.both(3, sent(3), NOW + 2_003);
    bench.both(4, sent(4), NOW + 2_004);
    bench.on(Line::A, 8, sent(20 * SECOND), NOW + 2_005);
    for sequence in 5..=6 {
        let after_ns = 1_100 + u64::from(sequence);
        bench.both(sequence, sent(after_ns), NOW + 2_000 + after_ns);
    }
    bench.log.retain(|step| step != "unconfirmed");
    bench.expect("restarted late 3 3 4 5 6");
}

/// The exchange restarts with its clock behind, and once more before that is confirmed.
#[test]
fn an_epoch_that_ends_unconfirmed_is_not_mixed_with_the_next() {
    let mut bench = at(100);
    let both = |bench: &mut Bench, sequence: u32, after_ns: u64| {
        bench.both(sequence, NOW - HOUR + after_ns, NOW + 2_000 + after_ns);
    };
    for sequence in 1..=5 {
        both(&mut bench, sequence, u64::from(sequence));
    }
    for sequence in 1..=3 {
        both(&mut bench, sequence, 20 + u64::from(sequence));
    }
    both(&mut bench, 4, 1_100);
    bench.log.retain(|step| step != "unconfirmed");
    // The first restart, which both lines brought, may be real if the second is refuted.
    bench.expect(&format!(
        "conflict 100 restarted at {} 1 2 3 4",
        NOW - HOUR + 21
    ));
}

/// Half a second behind: the sending times fit the previous epoch, and so do the numbers once they reach the next one.
#[test]
fn an_exchange_that_restarts_slightly_behind_does_not_continue_the_old_epoch() {
    let mut bench = at(5);
    for sequence in 1..=7 {
        let after_ns = u64::from(sequence);
        bench.both(
            sequence,
            NOW - SECOND / 2 + after_ns,
            NOW + 1_000 + after_ns,
        );
    }
    bench.expect("");
    bench.both(8, NOW - SECOND / 2 + 1_100, NOW + 2_100);
    bench.expect("unconfirmed restarted late 1 1 2 3 4 5 6 7 8");
}

/// Both lines sent the candidate's stream for a while, and then no packet of it: the stream may have ended.
#[test]
fn a_candidate_that_has_ended_is_not_accepted() {
    let mut bench = at(100);
    for sequence in 1..=5 {
        bench.both(sequence, NOW - HOUR + u64::from(sequence), NOW + 2_000);
    }
    bench.advance(NOW + 9_000);
    bench.expect("unconfirmed");
    bench.both(6, NOW - HOUR + 6, NOW + 9_001);
    bench.expect(&format!("restarted at {} 1 2 3 4 5 6", NOW - HOUR + 1));
}

/// Packets in the window wait behind a gap, both lines bring another epoch, and then a third one starts: the buffered
/// packets may be of any.
#[test]
fn buffered_packets_are_dropped_if_two_other_epochs_have_support() {
    let mut bench = at(100);
    for sequence in 1..=3 {
        let sent_ns = NOW - HOUR + u64::from(sequence);
        bench.both(sequence, sent_ns, NOW + 2_000 + u64::from(sequence));
    }
    bench.on(Line::A, 103, NOW + 2_010, NOW + 2_010);
    bench.both(1, NOW + 2_020, NOW + 2_020);
    bench.both(2, NOW + 2_021, NOW + 2_021);
    bench.log.retain(|step| !step.starts_with("conflict"));
    bench.expect(&format!("restarted at {} 1 2", NOW + 2_020));
}

#[test]
fn a_packet_that_contradicts_both_lines_is_a_conflict_as_well() {
    let mut bench = at(100);
    for sequence in 1..=3 {
        bench.both(sequence, NOW - HOUR + u64::from(sequence), NOW + 2_000);
    }
    bench.both(101, NOW + 2_010, NOW + 2_010);
    bench.expect("conflict 100 101 conflict 101");
    bench.both(102, NOW + 2_011, NOW + 2_011);
    bench.expect("102");
}

/// The first packet of all has a sending time slightly ahead, and the venue restarts before that time.
#[test]
fn a_reset_after_a_clock_that_was_slightly_ahead_is_not_a_late_packet() {
    let mut bench = Bench::new();
    bench.both(5, NOW + SECOND / 2, NOW);
    bench.both(6, NOW + 10, NOW + 10);
    bench.log.clear();
    assert_eq!(
        bench.on(Line::A, 1, NOW + 20, NOW + 20),
        Verdict::Contradicts
    );
    assert_eq!(bench.on(Line::A, 4, NOW + 5, NOW + 20), Verdict::Late);
}

/// Both lines bring number 1, and the clock steps before a second number confirms the reset.
#[test]
fn a_dropped_candidate_of_both_lines_is_reported() {
    let mut bench = at(3);
    bench.both(1, NOW + 40, NOW + 40);
    bench.both(2, NOW + HOUR, NOW + 41);
    bench.expect("conflict 3");
    // One line alone is not reported.
    let mut bench = at(3);
    bench.on(Line::A, 1, NOW + 40, NOW + 40);
    bench.both(2, NOW + HOUR, NOW + 41);
    bench.expect("");
}

/// One line lags far behind the other, which ends: its packets are old, not new.
#[test]
fn one_of_two_lines_needs_a_minute_to_set_the_clock_back() {
    let mut bench = at(100);
    for sequence in 1..=40 {
        bench.on(
            Line::B,
            sequence,
            NOW - HOUR + u64::from(sequence),
            NOW + SECOND * u64::from(sequence),
        );
    }
    bench.expect("unconfirmed");
    for sequence in 41..=62 {
        bench.on(
            Line::B,
            sequence,
            NOW - HOUR + u64::from(sequence),
            NOW + SECOND * u64::from(sequence),
        );
    }
    assert!(
        bench.log[0].starts_with("restarted late"),
        "{:?}",
        bench.log
    );
}

#[test]
fn a_changed_clock_with_continuing_numbers_loses_nothing() {
    for sending_ns in [NOW + HOUR, NOW - HOUR] {
        let mut bench = at(3);
        for step in 0..6 {
            let now_ns = NOW + 40 + step * 250;
            bench.both(4 + step as u32, sending_ns + step, now_ns);
        }
        bench.log.retain(|step| step != "unconfirmed");
        bench.expect("4 5 6 7 8 9");
    }
}

/// The continuing stream ends the unconfirmed state.
#[test]
fn the_unconfirmed_state_ends_with_the_next_packet() {
    let mut bench = at(3);
    bench.both(1, 1, NOW + 40);
    bench.advance(NOW + 40 + WAIT - 1);
    bench.expect("");
    bench.advance(NOW + 40 + WAIT);
    bench.expect("unconfirmed");
    bench.advance(NOW + 9_000);
    bench.both(4, NOW + 9_001, NOW + 9_001);
    bench.expect("4");
    bench.both(1, 1, NOW + 9_002);
    bench.advance(NOW + 9_002 + WAIT);
    bench.expect("unconfirmed");
}

/// A forged packet was processed as number 4, and then the venue's arrives.
#[test]
fn two_packets_of_one_number_are_a_conflict() {
    let mut bench = at(3);
    let time = ReceiveTime::at(NOW + 40);
    bench.offer(Line::A, 4, NOW + 39, time, b"forged, and longer");
    bench.both(4, NOW + 40, NOW + 41);
    bench.expect("4 conflict 4");
    bench.both(5, NOW + 50, NOW + 50);
    bench.expect("5");
}

/// The process was stopped for minutes: its monotonic clock stood still, the venue's clock did not.
#[test]
fn a_process_that_was_stopped_processes_its_socket_buffers() {
    let mut bench = at(7);
    let time = ReceiveTime {
        wall_ns: NOW + HOUR,
        mono_ns: NOW + 71,
    };
    assert_eq!(
        bench.offer(Line::A, 8, NOW + HOUR, time, b"8888"),
        Verdict::Deliver
    );
}

/// Our clock was set back: the venue's clock is unknown then.
#[test]
fn the_hosts_clock_may_be_set_back() {
    let mut bench = at(7);
    let time = ReceiveTime {
        wall_ns: NOW - HOUR,
        mono_ns: NOW + 80,
    };
    assert_eq!(
        bench.offer(Line::A, 8, NOW + 80, time, b"8888"),
        Verdict::Deliver
    );
    let time = ReceiveTime {
        wall_ns: NOW - HOUR + 1_000,
        mono_ns: NOW + 90,
    };
    assert_eq!(
        bench.offer(Line::A, 9, NOW + 90, time, b"9999"),
        Verdict::Deliver
    );
}

/// A buffered packet and another packet of its number have equal standing.
#[test]
fn of_two_buffered_packets_with_one_number_neither_is_accepted() {
    let mut bench = at(3);
    let time = ReceiveTime::at(NOW + 40);
    bench.offer(Line::A, 5, NOW + 50, time, b"forged");
    bench.both(5, NOW + 50, NOW + 51);
    bench.both(4, NOW + 45, NOW + 52);
    bench.expect("4 5");
    bench.offer(Line::A, 7, NOW + 70, ReceiveTime::at(NOW + 70), b"forged");
    bench.on(Line::B, 7, NOW + 70, NOW + 71);
    bench.both(6, NOW + 65, NOW + 72);
    bench.expect("6");
}

/// A forged next packet is processed even if it was sent slightly ahead of the venue's clock. The first of the venue's
/// own packets that still fit that clock contradicts it.
#[test]
fn a_packet_a_second_ahead_is_contradicted_by_the_venues_own() {
    for ahead_ns in [SECOND, SECOND + 15] {
        let mut bench = at(3);
        let time = ReceiveTime::at(NOW + 40);
        bench.offer(Line::A, 4, NOW + 40 + ahead_ns, time, b"forged, and longer");
        bench.both(4, NOW + 40, NOW + 41);
        bench.expect("4 conflict 4");
    }
}

/// The forged packet has the same sending time as the venue's packet; only the length differs.
#[test]
fn a_packet_with_the_same_time_and_another_length_is_a_conflict() {
    let mut bench = at(3);
    let time = ReceiveTime::at(NOW + 40);
    bench.offer(Line::A, 4, NOW + 40, time, b"forged, and longer");
    bench.both(4, NOW + 40, NOW + 41);
    bench.expect("4 conflict 4");
}
