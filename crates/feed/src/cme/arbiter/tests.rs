//! Arbitration packet by packet: each packet's payload is its own number.

use super::*;

mod confirmation;
mod copies;
mod stray;

const WAIT: u64 = 100;

/// An arbiter with a window of 8 whose packets carry their number as payload.
struct Bench {
    arbiter: Arbiter,
    log: Vec<String>,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(None)
    }

    /// Gaps of at most this many packets are requested from replay, and wait 50 ns longer than others.
    fn asking(packets_max: u32) -> Bench {
        Bench::with(Some(Replay {
            wait_ns: 50,
            packets_max,
        }))
    }

    fn with(replay: Option<Replay>) -> Bench {
        Bench {
            arbiter: Arbiter::new(WAIT, 8, 8, replay),
            log: Vec::new(),
        }
    }

    /// Offers a replayed packet.
    fn replayed(&mut self, sequence: u32, sending_ns: u64, now_ns: u64) -> bool {
        self.advance(now_ns);
        let payload = sequence.to_le_bytes();
        let taken =
            self.arbiter
                .accept_replayed(sequence, sending_ns, ReceiveTime::at(now_ns), &payload);
        self.drain();
        taken
    }

    fn asked(&self) -> Option<(u64, u64)> {
        self.arbiter.awaited()
    }

    /// Offers a packet whose sending time is its receive time.
    fn packet(&mut self, sequence: u32, now_ns: u64) -> Verdict {
        self.sent(sequence, now_ns, now_ns)
    }

    /// The first packet of all arrives on both lines, since one packet alone is not accepted.
    fn sent(&mut self, sequence: u32, sending_ns: u64, now_ns: u64) -> Verdict {
        if self.arbiter.newest().is_none() {
            self.on(Line::B, sequence, sending_ns, now_ns);
        }
        self.on(Line::A, sequence, sending_ns, now_ns)
    }

    /// Offers a packet on one line.
    fn on(&mut self, line: Line, sequence: u32, sending_ns: u64, now_ns: u64) -> Verdict {
        let payload = sequence.to_le_bytes();
        self.offer(
            line,
            sequence,
            sending_ns,
            ReceiveTime::at(now_ns),
            &payload,
        )
    }

    /// Offers a packet on both lines.
    fn both(&mut self, sequence: u32, sending_ns: u64, now_ns: u64) {
        self.on(Line::A, sequence, sending_ns, now_ns);
        self.on(Line::B, sequence, sending_ns, now_ns);
    }

    fn offer(
        &mut self,
        line: Line,
        sequence: u32,
        sending_ns: u64,
        time: ReceiveTime,
        payload: &[u8],
    ) -> Verdict {
        self.advance(time.mono_ns);
        self.arbiter.record_activity(line, time.mono_ns);
        let old = self.arbiter.old_copy(sequence, sending_ns, payload);
        let verdict = old.unwrap_or_else(|| {
            self.arbiter
                .accept(sequence, sending_ns, line, time, payload)
        });
        if verdict == Verdict::Deliver {
            self.log.push(sequence.to_string());
        }
        self.drain();
        verdict
    }

    fn advance(&mut self, now_ns: u64) {
        self.arbiter.advance(now_ns);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(step) = self.arbiter.pop() {
            self.log.push(match step {
                Step::Packet(buffered) => {
                    let bytes = self.arbiter.payload(&buffered);
                    u32::from_le_bytes(*bytes.first_chunk().unwrap()).to_string()
                }
                Step::Lost { first, last } => format!("lost {first}-{last}"),
                Step::Joined { first, whole: true } => format!("joined {first}"),
                Step::Joined { first, .. } => format!("joined late {first}"),
                Step::Restarted {
                    whole: true,
                    sending_ns,
                    ..
                } => format!("restarted at {sending_ns}"),
                Step::Restarted { first, .. } => format!("restarted late {first}"),
                Step::JumpUnconfirmed => "unconfirmed".to_owned(),
                Step::Conflict(sequence) => format!("conflict {sequence}"),
                Step::Awaited { first, last } => format!("await {first}-{last}"),
                Step::Filled => "filled".to_owned(),
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
fn the_first_copy_wins_and_gaps_wait() {
    let mut bench = Bench::new();
    bench.packet(5, 10);
    assert_eq!(bench.packet(5, 10), Verdict::Duplicate);
    assert_eq!(bench.packet(7, 11), Verdict::Buffered);
    assert_eq!(bench.packet(7, 11), Verdict::Duplicate);
    bench.expect("joined late 5 5");
    bench.sent(6, 10, 12);
    bench.expect("6 7");
}

#[test]
fn a_gap_is_lost_when_a_packet_behind_it_has_waited_long_enough() {
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
fn the_end_loses_every_gap() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    bench.packet(3, 1);
    bench.packet(6, 2);
    bench.arbiter.finish();
    bench.drain();
    bench.expect("joined 1 1 lost 2-2 3 lost 4-5 6");
}

#[test]
fn one_forged_packet_does_not_move_the_window() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    assert_eq!(bench.packet(1 << 31, 1), Verdict::OutOfWindow);
    bench.packet(2, 2);
    bench.packet(3, 150);
    bench.packet(4, 151);
    bench.expect("joined 1 1 2 3 4");
}

#[test]
fn a_second_packet_confirms_a_jump() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    assert_eq!(bench.packet(101, 1), Verdict::OutOfWindow);
    bench.packet(100, 1);
    bench.expect("joined 1 1 lost 2-99 100 101");
    bench.packet(102, 2);
    bench.expect("102");
}

#[test]
fn buffered_packets_up_to_the_target_leave_nothing_to_lose() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    assert_eq!(bench.packet(10, 1), Verdict::OutOfWindow);
    for sequence in 3..9 {
        bench.packet(sequence, 2);
    }
    // 2 is lost, 3 to 8 follow, and 9 is next to 10, beyond the window.
    assert_eq!(bench.packet(9, 3), Verdict::Buffered);
    bench.advance(103);
    bench.expect("joined 1 1 lost 2-2 3 4 5 6 7 8 9 10");
}

#[test]
fn an_unconfirmed_jump_is_reported_in_time() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    bench.packet(100, 1);
    bench.advance(101);
    bench.expect("joined 1 1 unconfirmed");
    bench.advance(500);
    bench.expect("");
    bench.packet(101, 600);
    bench.expect("lost 2-99 100 101");
}

#[test]
fn the_last_packet_is_accepted_at_the_end_of_input() {
    let mut bench = Bench::new();
    bench.packet(1, 0);
    bench.packet(100, 1);
    bench.arbiter.finish();
    bench.drain();
    bench.expect("joined 1 1 lost 2-99 100");
}

#[test]
fn an_overdue_gap_is_requested_and_processing_continues_when_it_is_filled() {
    let mut bench = Bench::asking(4);
    bench.packet(1, 0);
    bench.packet(4, 10);
    bench.advance(109);
    assert_eq!(bench.asked(), None);
    bench.advance(110);
    assert_eq!(bench.asked(), Some((2, 3)));
    bench.packet(5, 111);
    bench.expect("joined 1 1 await 2-3");
    assert!(bench.replayed(3, 9, 112));
    assert!(!bench.replayed(3, 9, 113), "a second copy");
    bench.expect("");
    assert!(bench.replayed(2, 8, 114));
    bench.expect("filled 2 3 4 5");
    assert!(bench.arbiter.is_caught_up());
    assert_eq!(bench.asked(), None);
    bench.packet(6, 200);
    bench.expect("6");
}

#[test]
fn a_late_copy_of_a_line_replaces_replay() {
    let mut bench = Bench::asking(4);
    bench.packet(1, 0);
    bench.packet(4, 10);
    bench.advance(110);
    assert_eq!(bench.sent(2, 8, 111), Verdict::Buffered);
    assert!(!bench.replayed(2, 8, 112));
    assert_eq!(bench.sent(3, 9, 113), Verdict::Buffered);
    bench.expect("joined 1 1 await 2-3 filled 2 3 4");
    assert!(!bench.replayed(3, 9, 114), "nothing is awaited any more");
}

/// A partial answer is used; only the missing rest is lost.
#[test]
fn a_gap_that_is_not_filled_in_time_is_lost() {
    for given_up in [true, false] {
        let mut bench = Bench::asking(4);
        bench.packet(1, 0);
        bench.packet(5, 10);
        bench.packet(7, 100);
        bench.advance(110);
        assert!(bench.replayed(2, 8, 120));
        assert!(bench.replayed(4, 9, 121));
        bench.advance(159);
        bench.expect("joined 1 1 await 2-4");
        match given_up {
            true => {
                bench.arbiter.give_up(0);
                bench.drain();
            }
            false => bench.advance(160),
        }
        bench.expect("2 lost 3-3 4 5");
        assert_eq!(bench.sent(3, 8, 161), Verdict::Late);
        bench.expect("");
        // The gap behind it waits its own time, and is then requested.
        bench.advance(199);
        assert_eq!(bench.asked(), None);
        bench.advance(200);
        bench.expect("await 6-6");
        bench.advance(250);
        bench.expect("lost 6-6 7");
    }
}

#[test]
fn nothing_is_requested_before_the_allowed_time() {
    let mut bench = Bench::asking(4);
    bench.packet(1, 0);
    bench.packet(3, 10);
    bench.advance(110);
    bench.arbiter.give_up(300);
    bench.drain();
    bench.packet(5, 111);
    bench.advance(211);
    bench.expect("joined 1 1 await 2-2 lost 2-2 3 lost 4-4 5");
    bench.packet(7, 212);
    bench.advance(312);
    bench.expect("await 6-6");
}

/// A packet of a requested number is dropped again if another packet has the same number.
#[test]
fn conflicting_packets_do_not_fill_a_request() {
    let mut bench = Bench::asking(4);
    bench.packet(1, 0);
    bench.packet(4, 10);
    bench.advance(110);
    bench.offer(Line::A, 3, 9, ReceiveTime::at(111), b"forged!");
    bench.on(Line::B, 3, 9, 112);
    bench.on(Line::A, 3, 9, 113);
    assert_eq!(bench.asked(), Some((2, 3)));
    assert!(bench.replayed(2, 8, 114));
    bench.expect("joined 1 1 await 2-3 filled 2 3 4");
}

#[test]
fn one_request_covers_several_gaps() {
    let mut bench = Bench::asking(4);
    bench.packet(1, 0);
    for sequence in [3, 5, 8] {
        bench.packet(sequence, 10);
    }
    bench.advance(110);
    assert_eq!(bench.asked(), Some((2, 4)), "6 would be a fifth number");
    bench.replayed(2, 5, 111);
    bench.expect("joined 1 1 await 2-4");
    bench.replayed(4, 5, 112);
    bench.expect("filled 2 3 4 5");
    assert!(!bench.arbiter.is_caught_up(), "8 has waited too long");
    bench.advance(113);
    bench.expect("await 6-7");
}

#[test]
fn a_gap_beyond_one_request_is_lost_at_once() {
    let mut bench = Bench::asking(2);
    bench.packet(1, 0);
    bench.packet(5, 10);
    bench.advance(110);
    bench.expect("joined 1 1 lost 2-4 5");
    // The packets that both lines lost before the first packet, or before a jump, are not requested either.
    bench.packet(50, 111);
    bench.packet(51, 112);
    bench.expect("lost 6-49 50 51");
}

/// The numbers of another week, or forged ones: their sending times do not fit the gap.
#[test]
fn a_replayed_packet_was_sent_between_its_neighbours() {
    let mut bench = Bench::asking(4);
    bench.packet(1, 5);
    bench.packet(3, 10);
    bench.advance(110);
    assert!(!bench.replayed(2, 4, 111), "sent before what we have");
    assert!(!bench.replayed(2, 11, 112), "sent after what is behind it");
    assert!(!bench.replayed(1, 5, 113) && !bench.replayed(3, 10, 114));
    assert!(bench.replayed(2, 5, 115));
    bench.expect("joined 1 1 await 2-2 filled 2 3");
}

#[test]
fn jumps_resets_and_the_end_of_input_do_not_wait_for_replay() {
    let awaiting = || {
        let mut bench = Bench::asking(4);
        bench.packet(1, 5);
        bench.packet(3, 10);
        bench.advance(110);
        bench.expect("joined 1 1 await 2-2");
        bench
    };
    let mut bench = awaiting();
    bench.packet(50, 111);
    bench.packet(51, 112);
    bench.expect("lost 2-2 3 lost 4-49 50 51");
    let mut bench = awaiting();
    bench.both(1, 111, 111);
    bench.both(2, 112, 112);
    bench.expect("lost 2-2 3 restarted at 111 1 2");
    let mut bench = awaiting();
    bench.arbiter.finish();
    bench.drain();
    bench.expect("lost 2-2 3");
}
