//! Short packet sequences and the resulting steps.

use super::*;

/// Feeds `(arrival, sequence, sending time)` in on both lines, and prints the steps: `7` a packet, `-3..5` lost, `!` a
/// restart.
fn steps(packets: &[(u64, u32, u64)]) -> String {
    let mut arbitration = Arbitration::new(20, 1024);
    let mut steps = Vec::new();
    for &(now, sequence, sending_time) in packets {
        for line in Line::BOTH {
            steps.extend(arbitration.expire(now));
            arbitration.record_activity(now, line);
            let packet = Packet {
                sequence,
                sending_time,
                messages: Vec::new(),
            };
            steps.extend(arbitration.accept(now, line, 12, packet));
        }
    }
    steps.extend(arbitration.finish());
    let words = steps.iter().map(|step| match step {
        Step::Packet(packet) => packet.sequence.to_string(),
        Step::Joined { whole: true, .. } => "joined".to_string(),
        Step::Joined { first, .. } => format!("-1..{}", first - 1),
        Step::Lost { first, last } => format!("-{first}..{last}"),
        Step::Restarted { whole: true, .. } => "!".to_string(),
        Step::Restarted { first, .. } => format!("! from {first}"),
        Step::Conflict { newest } => format!("conflict {newest}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_copy_is_used_and_gaps_have_a_wait_time() {
    assert_eq!(
        steps(&[(0, 1, 1), (1, 1, 1), (2, 3, 3), (3, 2, 2), (4, 2, 2)]),
        "joined 1 2 3"
    );
    assert_eq!(steps(&[(0, 1, 1), (2, 3, 3), (21, 2, 2)]), "joined 1 2 3");
    assert_eq!(
        steps(&[(0, 1, 1), (2, 3, 3), (22, 2, 2)]),
        "joined 1 -2..2 3"
    );
    assert_eq!(steps(&[(0, 7, 7), (1, 6, 6)]), "-1..6 7");
    assert_eq!(
        steps(&[(0, 1, 1), (1, 3, 3), (2, 5, 5)]),
        "joined 1 -2..2 3 -4..4 5"
    );
}

#[test]
fn each_gap_has_its_own_wait() {
    assert_eq!(
        steps(&[(0, 1, 1), (2, 3, 3), (15, 5, 5), (23, 4, 4)]),
        "joined 1 -2..2 3 4 5"
    );
}

#[test]
fn a_sequence_reset_is_detected() {
    let old = [(0, 8, 8), (1, 9, 9)];
    let with = |new: &[(u64, u32, u64)]| steps(&[&old[..], new].concat());
    assert_eq!(with(&[(2, 1, 20), (3, 2, 21)]), "-1..7 8 9 ! 1 2");
    assert_eq!(with(&[(2, 2, 21), (3, 1, 20)]), "-1..7 8 9 ! 1 2");
    assert_eq!(
        with(&[(2, 2, 21), (3, 3, 22), (30, 4, 23)]),
        "-1..7 8 9 ! from 2 2 3 4"
    );
    assert_eq!(
        with(&[(2, 11, 11), (3, 1, 20), (4, 10, 10), (5, 2, 21)]),
        "-1..7 8 9 10 11 ! 1 2"
    );
    assert_eq!(with(&[(2, 12, 31), (3, 1, 20)]), "-1..7 8 9 -10..11 12 ! 1");
}

#[test]
fn a_packet_far_ahead_that_is_not_confirmed_is_dropped() {
    let far = 9 + (1 << 31);
    assert_eq!(
        steps(&[(0, 9, 9), (1, far, 9), (2, 10, 10), (30, 11, 11)]),
        "-1..8 9 10 11"
    );
    assert_eq!(
        steps(&[(0, 9, 9), (1, far, 10)]),
        format!("-1..8 9 -10..{} {far}", far - 1)
    );
}

/// A processed packet, followed by the venue's own with the same sequence.
#[test]
fn two_packets_of_one_sequence_are_a_conflict() {
    let mut arbitration = Arbitration::new(20, 1024);
    let mut accept = |now, line, bytes, sequence, sending_time| {
        let packet = Packet {
            sequence,
            sending_time,
            messages: Vec::new(),
        };
        arbitration.accept(now, line, bytes, packet)
    };
    for line in Line::BOTH {
        accept(0, line, 12, 1, 1);
    }
    assert_eq!(accept(1, Line::A, 22, 2, 2).len(), 1);
    assert_eq!(accept(2, Line::A, 90, 2, 3), [Step::Conflict { newest: 2 }]);
    assert_eq!(accept(2, Line::B, 90, 2, 3), []);
}
