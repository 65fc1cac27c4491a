//! Arbitration of three lines over packets of several messages.

use super::*;

/// Numbers of 64 bits.
const BEGIN: u64 = (1 << 40) + 1;
const WAIT: u64 = 100;

struct Bench {
    arbitration: Arbitration,
    log: Vec<String>,
}

impl Bench {
    fn new(restart: Restart, retransmission: Option<Retransmission>) -> Bench {
        let room = (8, 8);
        Bench {
            arbitration: Arbitration::with_room(BEGIN, restart, WAIT, room, retransmission),
            log: Vec::new(),
        }
    }

    /// Offers numbers `first` to before `end`, counted from the beginning, and again where steps go before them.
    fn packet(&mut self, session: u64, numbers: std::ops::Range<u64>, now_ns: u64) -> Verdict {
        self.arbitration.advance(now_ns);
        self.drain();
        let offered = offered(session, numbers.clone(), now_ns);
        let verdict = self.arbitration.offer(offered);
        if let Verdict::Deliver { from } = verdict {
            self.log.push(format!("{}-{}", from - BEGIN, numbers.end));
        }
        self.drain();
        match verdict {
            Verdict::Again => self.packet(session, numbers, now_ns),
            _ => verdict,
        }
    }

    fn drain(&mut self) {
        while let Some(step) = self.arbitration.pop() {
            self.log.push(match step {
                Step::Restarted { session } => format!("session {session}"),
                Step::Lost { first, last } => format!("lost {}-{}", first - BEGIN, last - BEGIN),
                Step::Awaited { first, last } => format!("ask {}-{}", first - BEGIN, last - BEGIN),
                Step::Filled => "filled".to_owned(),
                Step::Packet { packet, from } => {
                    assert_eq!(self.arbitration.payload(&packet), b"payload");
                    format!("{}-{}", from - BEGIN, packet.span().end() - BEGIN)
                }
            });
        }
    }

    #[track_caller]
    fn logged(&mut self, expected: &str) {
        assert_eq!(std::mem::take(&mut self.log).join(", "), expected);
    }
}

fn offered(session: u64, numbers: std::ops::Range<u64>, now_ns: u64) -> Offered<'static> {
    Offered {
        session,
        span: Span {
            first: BEGIN + numbers.start,
            count: numbers.end - numbers.start,
        },
        sending_ns: 0,
        time: ReceiveTime::at(now_ns),
        payload: b"payload",
    }
}

#[test]
fn each_number_counts_once_however_lines_split_the_packets() {
    let mut bench = Bench::new(Restart::Never, None);
    assert_eq!(bench.packet(0, 0..2, 1), Verdict::Deliver { from: BEGIN });
    assert_eq!(bench.packet(0, 0..2, 1), Verdict::Duplicate);
    assert_eq!(
        bench.packet(0, 1..4, 2),
        Verdict::Deliver { from: BEGIN + 2 }
    );
    bench.logged("0-2, 2-4");
    assert_eq!(bench.packet(0, 5..6, 3), Verdict::Buffered);
    assert_eq!(
        bench.packet(0, 5..8, 3),
        Verdict::Buffered,
        "it contains more"
    );
    assert_eq!(bench.packet(0, 5..7, 3), Verdict::Duplicate);
    assert_eq!(bench.packet(0, 4..4, 3), Verdict::Duplicate, "a heartbeat");
    bench.packet(0, 4..6, 4);
    bench.logged("4-6, 6-8");
    assert_eq!(
        bench.packet(0, 8..9, 5),
        Verdict::Deliver { from: BEGIN + 8 }
    );
}

#[test]
fn a_gap_is_lost_when_no_line_fills_it_in_time() {
    let mut bench = Bench::new(Restart::Never, None);
    bench.packet(0, 0..1, 1);
    bench.packet(0, 3..5, 10);
    bench.arbitration.advance(10 + WAIT - 1);
    bench.drain();
    bench.logged("0-1");
    bench.arbitration.advance(10 + WAIT);
    bench.drain();
    bench.logged("lost 1-2, 3-5");
    assert_eq!(bench.packet(0, 1..3, 200), Verdict::Duplicate, "too late");
    bench.packet(0, 7..8, 200);
    bench.arbitration.finish();
    bench.drain();
    bench.logged("lost 5-6, 7-8");
}

#[test]
fn a_packet_beyond_the_window_moves_the_window() {
    let mut bench = Bench::new(Restart::Never, None);
    bench.packet(0, 0..1, 1);
    bench.packet(0, 2..3, 2);
    assert_eq!(bench.packet(0, 20..21, 3), Verdict::Buffered);
    bench.logged("0-1, lost 1-1, 2-3, lost 3-12");
    bench.arbitration.finish();
    bench.drain();
    bench.logged("lost 13-19, 20-21");
}

#[test]
fn packets_lost_on_all_lines_are_requested_once_and_may_arrive_in_other_pieces() {
    let retransmission = Retransmission {
        wait_ns: 50,
        numbers_max: 4,
    };
    let mut bench = Bench::new(Restart::Never, Some(retransmission));
    bench.packet(0, 0..1, 1);
    bench.packet(0, 4..6, 10);
    bench.arbitration.advance(10 + WAIT);
    bench.drain();
    bench.logged("0-1, ask 1-3");
    assert_eq!(bench.arbitration.awaited(), Some((BEGIN + 1, BEGIN + 3)));
    assert!(
        bench
            .arbitration
            .accept_retransmitted(offered(0, 1..3, 111))
    );
    assert!(
        !bench
            .arbitration
            .accept_retransmitted(offered(0, 7..8, 111))
    );
    bench.drain();
    bench.logged("");
    assert_eq!(
        bench.packet(0, 2..4, 112),
        Verdict::Buffered,
        "a line has it"
    );
    bench.logged("filled, 1-3, 3-4, 4-6");
    // A gap longer than one request is lost.
    bench.packet(0, 11..12, 120);
    bench.arbitration.advance(120 + WAIT);
    bench.drain();
    bench.logged("lost 6-10, 11-12");
    // Packets awaited for longer than the limit are lost.
    bench.packet(0, 14..15, 300);
    for now_ns in [400, 449, 450, 450] {
        bench.arbitration.advance(now_ns);
        bench.drain();
    }
    bench.logged("ask 12-13, lost 12-13, 14-15");
}

#[test]
fn a_new_session_restarts_the_numbers_and_the_previous_one_is_over() {
    let mut bench = Bench::new(Restart::NewSession, None);
    bench.packet(7, 0..2, 1);
    bench.packet(7, 5..6, 2);
    bench.packet(8, 0..1, 3);
    bench.logged("0-2, session 8, 0-1");
    assert_eq!(bench.packet(7, 2..5, 4), Verdict::Old);
    assert_eq!(
        bench.packet(8, 1..2, 5),
        Verdict::Deliver { from: BEGIN + 1 }
    );
    bench.arbitration.finish();
    bench.drain();
    bench.logged("1-2");
}
