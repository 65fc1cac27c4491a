//! Arbitration packet by packet: each packet's payload is its own number.

use super::*;

const WAIT: u64 = 100;

/// An arbiter with a window of 8 whose packets carry their number as payload.
struct Bench {
    arbiter: Arbiter,
    log: Vec<String>,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            arbiter: Arbiter::new(WAIT, 8, 8),
            log: Vec::new(),
        }
    }

    /// Offers a packet whose sending time is its receive time.
    fn packet(&mut self, sequence: u32, now_ns: u64) -> Verdict {
        self.sent(sequence, now_ns, now_ns)
    }

    fn sent(&mut self, sequence: u32, sending_ns: u64, now_ns: u64) -> Verdict {
        self.advance(now_ns);
        loop {
            let payload = sequence.to_le_bytes();
            match self.arbiter.accept(sequence, sending_ns, now_ns, &payload) {
                Verdict::Again => self.drain(),
                verdict => {
                    if verdict == Verdict::Deliver {
                        self.log.push(sequence.to_string());
                    }
                    self.drain();
                    return verdict;
                }
            }
        }
    }

    fn advance(&mut self, now_ns: u64) {
        self.arbiter.advance(now_ns);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(step) = self.arbiter.pop() {
            self.log.push(match step {
                Step::Packet(held) => {
                    let bytes = self.arbiter.payload(&held);
                    u32::from_le_bytes(bytes.try_into().unwrap()).to_string()
                }
                Step::Lost { first, last } => format!("lost {first}-{last}"),
                Step::Joined(first) => format!("joined {first}"),
                Step::Restarted { sending_ns } => format!("restarted at {sending_ns}"),
                Step::Doubt(at) => format!("doubt {at}"),
            });
        }
    }

    #[track_caller]
    fn expect(&mut self, log: &str) {
        assert_eq!(self.log.join(" "), log);
        self.log.clear();
    }
}

#[test]
fn the_first_copy_wins_and_holes_wait() {
    let mut bench = Bench::new();
    bench.packet(5, 10);
    assert_eq!(bench.packet(5, 10), Verdict::Duplicate);
    assert_eq!(bench.packet(7, 11), Verdict::Held);
    assert_eq!(bench.packet(7, 11), Verdict::Duplicate);
    bench.expect("joined 5 5");
    bench.sent(6, 10, 12);
    bench.expect("6 7");
}

#[test]
fn a_hole_is_lost_when_a_packet_behind_it_waited_long_enough() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    bench.packet(3, 10);
    bench.packet(5, 60);
    bench.advance(109);
    bench.expect("joined 1 1");
    bench.advance(110);
    bench.expect("lost 2-2 3");
    assert_eq!(bench.sent(2, 5, 111), Verdict::Late);
    assert_eq!(bench.sent(1, 0, 111), Verdict::Duplicate);
    bench.advance(160);
    bench.expect("lost 4-4 5");
}

#[test]
fn the_end_loses_every_hole() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    bench.packet(3, 1);
    bench.packet(6, 2);
    bench.arbiter.finish();
    bench.drain();
    bench.expect("joined 1 1 lost 2-2 3 lost 4-5 6");
}

#[test]
fn numbering_may_start_again() {
    let mut bench = Bench::new();
    bench.packet(1000, 0);
    bench.packet(1002, 5);
    bench.packet(2, 20);
    bench.expect("joined 1000 1000 lost 1001-1001 1002 restarted at 20");
    assert_eq!(bench.sent(1001, 3, 21), Verdict::OldNumbering);
    assert_eq!(bench.sent(1, 15, 22), Verdict::Held);
    bench.expect("1 2");
    bench.packet(3, 30);
    bench.expect("3");
}

#[test]
fn a_restart_from_the_future_is_not_believed() {
    let mut bench = Bench::new();
    bench.packet(1, 10);
    bench.packet(2, 20);
    assert_eq!(bench.sent(1, 1 << 60, 21), Verdict::Implausible);
    bench.packet(3, 30);
    bench.expect("joined 1 1 2 3");
    bench.sent(4, 1 << 60, 40);
    bench.packet(1, 50);
    bench.expect("4 restarted at 50 1");
}

#[test]
fn one_forged_packet_does_not_move_the_window() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    assert_eq!(bench.packet(1 << 31, 1), Verdict::FarAhead);
    bench.packet(2, 2);
    bench.packet(3, 150);
    bench.packet(4, 151);
    bench.expect("joined 1 1 2 3 4");
}

#[test]
fn a_second_packet_confirms_a_jump() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    assert_eq!(bench.packet(101, 1), Verdict::FarAhead);
    bench.packet(100, 1);
    bench.expect("joined 1 1 lost 2-99 100 101");
    bench.packet(102, 2);
    bench.expect("102");
}

#[test]
fn packets_held_up_to_the_target_leave_nothing_to_lose() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    assert_eq!(bench.packet(10, 1), Verdict::FarAhead);
    for sequence in 3..9 {
        bench.packet(sequence, 2);
    }
    // 2 is lost, 3 to 8 follow, and 9 is a neighbour of 10 beyond the window.
    assert_eq!(bench.packet(9, 3), Verdict::Held);
    bench.advance(103);
    bench.expect("joined 1 1 lost 2-2 3 4 5 6 7 8 9 10");
}

#[test]
fn an_unconfirmed_jump_is_doubted_in_time() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    bench.packet(100, 1);
    bench.advance(101);
    bench.expect("joined 1 1 doubt 2");
    bench.advance(500);
    bench.expect("");
    bench.packet(101, 600);
    bench.expect("lost 2-99 100 101");
}

#[test]
fn the_last_packet_of_all_is_believed_at_the_end() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    bench.packet(100, 1);
    bench.arbiter.finish();
    bench.drain();
    bench.expect("joined 1 1 lost 2-99 100");
}
