//! Each fault has exactly the effect that it counts.

use super::*;
use crate::reference::cme::packet::read;

/// A sent packet: line, feed, number, validity, and time.
#[derive(Clone, Debug, PartialEq)]
struct Out {
    line: Line,
    feed: Feed,
    number: u32,
    is_valid: bool,
    now_ns: u64,
}

const PACKETS: u32 = 4_000;
const EVERY_NS: u64 = 100_000;

/// A heartbeat with a number.
fn payload(number: u32) -> Vec<u8> {
    let mut payload = number.to_le_bytes().to_vec();
    payload.extend([0; 8]);
    payload.extend([10, 0, 0, 0, 12, 0, 1, 0, 9, 0]);
    payload
}

/// Sends packets of two feeds alternately under settings, and then the delayed ones.
fn run(stream: &mut FaultStream, settings: &[Setting]) -> Vec<Out> {
    let mut outs = Vec::new();
    for setting in settings {
        stream.set(setting, 0);
    }
    let take = |outs: &mut Vec<Out>, now_ns, line, feed, payload: &[u8]| {
        outs.push(Out {
            line,
            feed,
            number: u32::from_le_bytes(payload[..4].try_into().expect("4 bytes")),
            is_valid: read(payload).is_some(),
            now_ns,
        });
    };
    for number in 0..PACKETS {
        let now_ns = u64::from(number) * EVERY_NS;
        let feed = [Feed::Incremental, Feed::Snapshot][number as usize % 2];
        stream.release(now_ns, &mut |line, feed, payload| {
            take(&mut outs, now_ns, line, feed, payload)
        });
        stream.send(
            feed,
            &payload(number),
            false,
            now_ns,
            &mut |line, feed, payload| {
                take(&mut outs, now_ns, line, feed, payload);
            },
        );
    }
    while let Some(now_ns) = stream.due_ns() {
        stream.release(now_ns, &mut |line, feed, payload| {
            take(&mut outs, now_ns, line, feed, payload)
        });
    }
    outs
}

fn on_a(fault: Fault) -> Setting {
    Setting {
        lines: vec![Line::A],
        feeds: Feed::ALL.to_vec(),
        fault,
    }
}

fn numbers(outs: &[Out], line: Line) -> Vec<u32> {
    let of_line = outs.iter().filter(|out| out.line == line);
    of_line.map(|out| out.number).collect()
}

fn struck(stream: &FaultStream, fault: usize) -> u64 {
    let [a, b] = stream.counts().struck[fault];
    let others = stream.counts().struck.iter().enumerate();
    assert!(
        others
            .filter(|(other, _)| *other != fault)
            .all(|(_, struck)| *struck == [0, 0])
    );
    assert_eq!(b, 0, "line B is undisturbed");
    a
}

/// Applies one fault to line A; line B must deliver all packets in order.
fn alone(fault: Fault) -> (FaultStream, Vec<Out>) {
    let mut stream = FaultStream::new(4);
    let outs = run(&mut stream, &[on_a(fault)]);
    assert_eq!(numbers(&outs, Line::B), (0..PACKETS).collect::<Vec<_>>());
    let sent: u64 = stream.counts().sent.iter().flatten().sum();
    assert_eq!(sent, outs.len() as u64);
    assert_eq!(stream.counts().lost_on_both, [0; 4]);
    (stream, outs)
}

#[test]
fn without_faults_every_packet_is_sent_at_once() {
    let (stream, outs) = alone(Fault::Drop { share: 0.0 });
    assert_eq!(numbers(&outs, Line::A), numbers(&outs, Line::B));
    assert_eq!(struck(&stream, DROP), 0);
}

#[test]
fn lost_packets_equal_the_count() {
    let begin = Begin {
        share: 0.02,
        packets_max: 9,
    };
    for (fault, index, range) in [
        (Fault::Drop { share: 0.1 }, DROP, 300..500),
        (Fault::Burst { begin }, BURST, 200..700),
        (
            Fault::Outage {
                duration_ns: 1_000 * EVERY_NS,
            },
            OUTAGE,
            1_000..1_001,
        ),
    ] {
        let (stream, outs) = alone(fault);
        let lost = u64::from(PACKETS) - numbers(&outs, Line::A).len() as u64;
        assert_eq!(struck(&stream, index), lost);
        assert!(range.contains(&lost), "{fault:?}: {lost}");
        assert!(numbers(&outs, Line::A).is_sorted());
    }
}

#[test]
fn losses_on_both_lines_are_the_same_packets() {
    let begin = Begin {
        share: 0.01,
        packets_max: 4,
    };
    let mut both = on_a(Fault::Both { begin });
    both.feeds = vec![Feed::Incremental];
    let mut stream = FaultStream::new(1);
    let outs = run(&mut stream, &[both]);
    let (a, b) = (numbers(&outs, Line::A), numbers(&outs, Line::B));
    assert_eq!(a, b);
    let lost = u64::from(PACKETS) - a.len() as u64;
    assert_eq!(stream.counts().struck[BOTH], [lost, lost]);
    assert_eq!(stream.counts().lost_on_both, [lost, 0, 0, 0]);
    assert!((20..150).contains(&lost), "{lost}");
}

#[test]
fn duplicated_and_damaged_packets_equal_their_counts() {
    let (stream, outs) = alone(Fault::Duplicate { share: 0.1 });
    let twice = numbers(&outs, Line::A)
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .count();
    assert_eq!(struck(&stream, DUPLICATE), twice as u64);
    assert!((300..500).contains(&twice), "{twice}");
    let (stream, outs) = alone(Fault::Corrupt { share: 0.1 });
    let damaged = outs.iter().filter(|out| !out.is_valid).count();
    assert_eq!(struck(&stream, CORRUPT), damaged as u64);
    assert!((300..500).contains(&damaged), "{damaged}");
}

#[test]
fn reordered_packets_are_delayed_by_the_requested_number() {
    let (stream, outs) = alone(Fault::Reorder {
        share: 0.05,
        by_max: 3,
    });
    let mut late = 0;
    for feed in [Feed::Incremental, Feed::Snapshot] {
        let lane = outs
            .iter()
            .filter(|out| out.line == Line::A && out.feed == feed);
        let lane: Vec<u32> = lane.map(|out| out.number).collect();
        for (at, number) in lane.iter().enumerate() {
            let overtook = lane[..at].iter().filter(|before| *before > number).count();
            // One more if an overtaking packet was itself delayed behind the same packets.
            assert!(overtook <= 3 + 3, "{number} came behind {overtook}");
            late += u64::from(overtook > 0);
        }
    }
    let mut all = numbers(&outs, Line::A);
    all.sort_unstable();
    assert_eq!(all, (0..PACKETS).collect::<Vec<_>>(), "nothing is lost");
    let struck = struck(&stream, REORDER);
    assert!((100..300).contains(&struck), "{struck}");
    // Neighbours that are both delayed keep their order, and the last ones have nothing behind them.
    assert!(
        late <= struck && late * 10 > struck * 7,
        "{late} of {struck} came late"
    );
}

#[test]
fn late_packets_have_the_requested_delay() {
    let (min_ns, max_ns) = (2_000_000, 9_000_000);
    let (stream, outs) = alone(Fault::Delay {
        share: 0.1,
        min_ns,
        max_ns,
    });
    let late = |out: &&Out| out.now_ns != u64::from(out.number) * EVERY_NS;
    let late: Vec<_> = outs.iter().filter(late).collect();
    for out in &late {
        let delay_ns = out.now_ns - u64::from(out.number) * EVERY_NS;
        assert!(
            (min_ns..=max_ns + EVERY_NS).contains(&delay_ns),
            "{delay_ns}"
        );
    }
    assert_eq!(struck(&stream, DELAY), late.len() as u64);
    assert!(late.len() > 300);
}

#[test]
fn faults_of_one_stream_do_not_affect_another() {
    let drop = on_a(Fault::Drop { share: 0.2 });
    let mut more = on_a(Fault::Corrupt { share: 0.5 });
    more.lines = vec![Line::B];
    let lost = |settings: &[Setting]| numbers(&run(&mut FaultStream::new(8), settings), Line::A);
    assert_eq!(lost(std::slice::from_ref(&drop)), lost(&[more, drop]));
}

#[test]
fn exempt_packets_pass_every_fault() {
    let mut stream = FaultStream::new(1);
    let begin = Begin {
        share: 1.0,
        packets_max: 9,
    };
    for fault in [
        Fault::Both { begin },
        Fault::Outage { duration_ns: 9 },
        Fault::Corrupt { share: 1.0 },
    ] {
        stream.set(&on_a(fault), 0);
    }
    let mut sent = 0;
    stream.send(
        Feed::Incremental,
        &payload(1),
        true,
        1,
        &mut |_, _, bytes| {
            assert_eq!(bytes, payload(1));
            sent += 1;
        },
    );
    assert_eq!(sent, 2);
    stream.send(Feed::Incremental, &payload(2), false, 1, &mut |_, _, _| {
        sent += 1
    });
    assert_eq!((sent, stream.counts().lost_on_both[0]), (2, 1));
}

#[test]
fn delayed_packets_are_limited_and_sent_when_faults_end() {
    let mut stream = FaultStream::new(1);
    let hour_ns = 3_600_000_000_000;
    let both = |fault| Setting {
        lines: Line::BOTH.to_vec(),
        ..on_a(fault)
    };
    stream.set(
        &both(Fault::Delay {
            share: 1.0,
            min_ns: hour_ns,
            max_ns: hour_ns,
        }),
        0,
    );
    stream.set(
        &both(Fault::Reorder {
            share: 0.5,
            by_max: 1_000_000,
        }),
        0,
    );
    let mut sent = 0;
    let packets = HELD_PACKETS_MAX as u32;
    for number in 0..packets {
        stream.send(
            Feed::Incremental,
            &payload(number),
            false,
            0,
            &mut |_, _, _| sent += 1,
        );
    }
    assert_eq!(sent, HELD_PACKETS_MAX, "half of them found no room");
    stream.clear();
    stream.release(1, &mut |_, _, _| sent += 1);
    assert_eq!((sent, stream.due_ns()), (2 * HELD_PACKETS_MAX, None));
    stream.send(Feed::Incremental, &payload(0), false, 0, &mut |_, _, _| {
        sent += 1
    });
    assert_eq!(sent, 2 * HELD_PACKETS_MAX + 2, "no fault is left");
}

#[test]
fn under_any_faults_sent_and_lost_packets_add_up() {
    for seed in crate::random::seeds(40) {
        let mut random = Random::from_seed(seed);
        let begin = |random: &mut Random| Begin {
            share: 0.05,
            packets_max: random.below(9) + 1,
        };
        let faults = [
            Fault::Drop { share: 0.1 },
            Fault::Burst {
                begin: begin(&mut random),
            },
            Fault::Both {
                begin: begin(&mut random),
            },
            Fault::Duplicate { share: 0.2 },
            Fault::Reorder {
                share: 0.2,
                by_max: random.below(20) + 1,
            },
            Fault::Delay {
                share: 0.2,
                min_ns: 0,
                max_ns: random.below(10_000_000),
            },
            Fault::Corrupt { share: 0.1 },
            Fault::Outage {
                duration_ns: random.below(100_000_000),
            },
        ];
        let chosen = faults.into_iter().filter(|_| random.chance(0.6)).map(on_a);
        let chosen: Vec<_> = chosen.collect();
        let mut stream = FaultStream::new(seed);
        let outs = run(&mut stream, &chosen);
        for line in Line::BOTH {
            let of = |fault: usize| stream.counts().struck[fault][line as usize];
            let lost = of(OUTAGE) + of(BOTH) + of(DROP) + of(BURST);
            let expected = u64::from(PACKETS) - lost + of(DUPLICATE);
            assert_eq!(
                numbers(&outs, line).len() as u64,
                expected,
                "seed {seed}: {chosen:?}"
            );
        }
        assert_eq!(
            outs,
            run(&mut FaultStream::new(seed), &chosen),
            "seed {seed}"
        );
    }
}
