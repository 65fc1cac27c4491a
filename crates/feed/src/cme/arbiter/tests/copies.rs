//! Copies whose bytes are compared: one of two that differ is forged or damaged, and it is not known which.

use super::*;

/// An arbiter that compares copies, or does not.
struct Pair {
    bench: Bench,
}

impl Pair {
    fn new(compares: bool) -> Pair {
        let arbiter = Arbiter::new(WAIT, 8, 32, None);
        let compare = compares.then(|| CopyHash::new(1));
        let bench = Bench {
            arbiter: arbiter.comparing(compare),
            log: Vec::new(),
        };
        let mut pair = Pair { bench };
        pair.on(Line::B, 1, 'x', 10);
        pair.on(Line::A, 1, 'x', 10);
        pair.bench.expect("joined 1 1");
        pair
    }

    /// A packet with this letter as its message, sent and received at this time.
    fn on(&mut self, line: Line, sequence: u32, letter: char, now_ns: u64) -> Verdict {
        self.stamped(line, sequence, letter, now_ns, now_ns)
    }

    fn stamped(
        &mut self,
        line: Line,
        sequence: u32,
        letter: char,
        sending_ns: u64,
        now_ns: u64,
    ) -> Verdict {
        let mut payload = [letter as u8; 24];
        payload[..4].copy_from_slice(&sequence.to_le_bytes());
        payload[4..12].copy_from_slice(&sending_ns.to_le_bytes());
        let time = ReceiveTime::at(now_ns);
        (self.bench).offer(line, sequence, sending_ns, time, &payload)
    }
}

/// Whichever of both was forged: the later one reveals it, once.
#[test]
fn a_late_copy_of_other_bytes_is_a_conflict() {
    let mut pair = Pair::new(true);
    assert_eq!(pair.on(Line::A, 2, 'x', 20), Verdict::Deliver);
    assert_eq!(pair.on(Line::B, 2, 'y', 20), Verdict::Differs);
    pair.bench.expect("2 conflict 2");
    assert_eq!(pair.on(Line::B, 2, 'x', 20), Verdict::Duplicate);
    assert_eq!(pair.on(Line::A, 2, 'y', 20), Verdict::Differs);
    pair.bench.expect("");
    // Behind further packets the books have changed again, but not by this number.
    assert_eq!(pair.on(Line::A, 3, 'x', 30), Verdict::Deliver);
    assert_eq!(pair.on(Line::A, 2, 'y', 20), Verdict::Differs);
    pair.bench.expect("3");
    assert_eq!(pair.on(Line::B, 3, 'y', 30), Verdict::Differs);
    pair.bench.expect("conflict 3");
}

#[test]
fn without_the_setting_a_copy_of_other_bytes_is_a_copy() {
    let mut pair = Pair::new(false);
    assert_eq!(pair.on(Line::A, 2, 'x', 20), Verdict::Deliver);
    assert_eq!(pair.on(Line::B, 2, 'y', 20), Verdict::Duplicate);
    pair.bench.expect("2");
    pair.on(Line::A, 4, 'x', 40);
    assert_eq!(pair.on(Line::B, 4, 'y', 40), Verdict::Duplicate);
    pair.on(Line::A, 3, 'x', 30);
    pair.bench.expect("3 4");
}

/// The lines may stamp the same packet apart.
#[test]
fn the_header_is_not_compared() {
    let mut pair = Pair::new(true);
    pair.stamped(Line::A, 2, 'x', 20, 20);
    assert_ne!(pair.stamped(Line::B, 2, 'x', 19, 21), Verdict::Differs);
    pair.bench.expect("2");
    pair.stamped(Line::A, 3, 'x', 30, 30);
    assert_eq!(pair.stamped(Line::B, 3, 'y', 29, 31), Verdict::Differs);
    pair.bench.expect("3 conflict 3");
}

/// Behind a gap neither is processed, and the next copy of either takes the place. A conflict is noticed behind it, too.
#[test]
fn of_two_buffered_copies_of_other_bytes_neither_is_processed() {
    let mut pair = Pair::new(true);
    assert_eq!(pair.on(Line::A, 3, 'y', 30), Verdict::Buffered);
    assert_eq!(pair.on(Line::B, 3, 'x', 30), Verdict::Differs);
    pair.on(Line::A, 2, 'x', 20);
    pair.bench.expect("2");
    pair.on(Line::A, 4, 'x', 40);
    pair.bench.advance(140);
    pair.bench.expect("lost 3-3 4");
    assert_eq!(pair.on(Line::A, 6, 'y', 150), Verdict::Buffered);
    pair.on(Line::A, 5, 'x', 145);
    assert_eq!(pair.on(Line::B, 6, 'x', 150), Verdict::Differs);
    pair.bench.expect("5 6 conflict 6");
}

/// Numbers of the next epoch are other packets.
#[test]
fn a_reset_forgets_which_numbers_differed() {
    const LATER: u64 = 10_000_000_000;
    let mut pair = Pair::new(true);
    pair.on(Line::A, 2, 'x', 20);
    assert_eq!(pair.on(Line::B, 2, 'y', 20), Verdict::Differs);
    pair.bench.expect("2 conflict 2");
    for sequence in [1, 2] {
        for line in [Line::A, Line::B] {
            pair.on(line, sequence, 'x', LATER + u64::from(sequence));
        }
    }
    pair.bench
        .expect(&format!("restarted at {} 1 2", LATER + 1));
    assert_eq!(pair.on(Line::B, 2, 'y', LATER + 2), Verdict::Differs);
    pair.bench.expect("conflict 2");
}

/// Two lines confirm a jump only with the same packets.
#[test]
fn contradictions_of_other_bytes_do_not_confirm_each_other() {
    const LATER: u64 = 10_000_000_000;
    for (letter, is_reset) in [('x', true), ('y', false)] {
        let mut pair = Pair::new(true);
        for sequence in 2..6 {
            pair.on(Line::A, sequence, 'x', 10 * u64::from(sequence));
        }
        pair.bench.log.clear();
        for sequence in [1, 2] {
            pair.on(Line::A, sequence, 'x', LATER + u64::from(sequence));
            pair.on(Line::B, sequence, letter, LATER + u64::from(sequence));
        }
        let is_restarted = pair
            .bench
            .log
            .iter()
            .any(|step| step.starts_with("restarted"));
        assert_eq!(is_restarted, is_reset, "{:?}", pair.bench.log);
    }
}
