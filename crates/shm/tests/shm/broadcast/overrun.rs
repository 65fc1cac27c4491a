//! Overruns: readers learn exactly what they lost, and never receive incomplete data.

use super::{BEGINNING, Memory, NEAR_ENDS, publish, ring, seeds, verifier};
use touchline_shm::broadcast::{Flags, Geometry, JoinPoint, Overrun, Reader, RingEvent, Writer};
use touchline_testing::random::Random;
use touchline_testing::stream_verifier::Violation;

#[test]
fn an_overrun_reader_learns_the_bytes_and_messages_that_it_lost() {
    for first in NEAR_ENDS {
        let (memory, mut writer) = ring(1024, first);
        let mut reader = Reader::attach(memory.clone()).unwrap();
        for laps in 1..30 {
            let before = reader.next();
            for _ in 0..laps * 40 {
                writer.publish(&[1; 32], Flags::default()).unwrap();
            }
            let Err(RingEvent::Overrun(Overrun { bytes, messages })) = reader.read(|_| ()) else {
                panic!("{laps} laps and no overrun reported");
            };
            assert_eq!(reader.next().position, before.position.wrapping_add(bytes));
            assert_eq!(
                reader.next().sequence,
                before.sequence.wrapping_add(messages)
            );
            assert_eq!(Some(reader.next()), reader.join_point());
            // The reader continues at the join point, which is at most a block and a frame behind the writer.
            let behind = writer.next().position.wrapping_sub(reader.next().position);
            assert!(behind <= 128 + 40, "{behind}");
            let mut rest = 0;
            while let Some(sequence) = reader.read(|frame| frame.sequence).unwrap() {
                assert_eq!(sequence, before.sequence.wrapping_add(messages + rest));
                rest += 1;
            }
            assert_eq!(messages + rest, laps * 40);
            assert_eq!(reader.next(), writer.next());
        }
    }
}

/// The lag is so large that the low half of the sequence in the frames repeats.
#[test]
fn a_lag_of_more_than_2_to_the_32_messages_is_counted_exactly() {
    let (memory, mut writer) = ring(256, BEGINNING);
    let mut reader = Reader::attach(memory.clone()).unwrap();
    let before = reader.next();
    writer.publish(&[1; 8], Flags::default()).unwrap();
    let later = JoinPoint {
        position: before.position + (1 << 36),
        sequence: before.sequence + (3 << 32),
    };
    let geometry = writer.geometry();
    let mut writer = Writer::create_at(memory, geometry, later).unwrap();
    let overrun = Overrun {
        bytes: (1 << 36) + 16,
        messages: 3 << 32,
    };
    assert_eq!(reader.read(|_| ()), Err(RingEvent::Overrun(overrun)));
    writer.publish(&[2; 8], Flags::default()).unwrap();
    assert_eq!(reader.read(|frame| frame.sequence), Ok(Some(1 + (3 << 32))));
}

/// As far behind as the geometry guarantees, without an overrun; with twice the ring always an overrun.
#[test]
fn no_reader_is_overrun_within_the_guaranteed_lag() {
    for capacity in [64u64, 256, 4096, 1 << 16] {
        let geometry = Geometry::new(capacity).unwrap();
        let length_max = geometry.message_max();
        let promised = capacity - geometry.block() - length_max as u64 - 16;
        let mut furthest = 0;
        for start in 0..capacity.min(512) / 8 {
            for asleep in 0.. {
                let (memory, mut writer) = ring(capacity, BEGINNING);
                let mut reader = verifier(&memory, length_max);
                let mut bytes = Vec::new();
                for _ in 0..start {
                    publish(&mut writer, length_max, &mut bytes);
                    while reader.poll().unwrap() {}
                }
                for _ in 0..asleep {
                    publish(&mut writer, length_max, &mut bytes);
                }
                let behind = writer.next().position - reader.reader().next().position;
                if behind > 2 * capacity {
                    reader.poll().unwrap();
                    assert_eq!(reader.tally().laps, 1);
                    break;
                }
                if behind <= promised {
                    furthest = furthest.max(behind);
                    while reader.poll().unwrap() {}
                    assert_eq!(
                        reader.tally().laps,
                        0,
                        "{behind} bytes behind in {capacity}"
                    );
                }
            }
        }
        assert!(
            furthest + 8 >= promised,
            "{furthest} of {promised} were tried"
        );
    }
}

/// The writer wraps in the middle of a read, at every distance and with every length.
#[test]
fn data_overwritten_during_a_read_is_discarded() {
    let mut torn = 0;
    let (usual, capacities, rounds) = if cfg!(miri) { (4, 2, 10) } else { (400, 5, 60) };
    for seed in seeds(usual) {
        let mut random = Random::from_seed(seed);
        let capacity = 64 << random.below(capacities);
        let (memory, mut writer) = ring(capacity, *random.pick(&NEAR_ENDS));
        let length_max = writer.geometry().message_max();
        let mut reader = verifier(&memory, length_max);
        let mut bytes = Vec::new();
        for _ in 0..rounds {
            for _ in 0..random.below(capacity / 8) {
                publish(&mut writer, length_max, &mut bytes);
            }
            let outcome = reader.poll_while(|| overwrite(&mut writer, &mut random, length_max));
            if let Err(violation) = outcome {
                panic!("seed {seed}: {violation}");
            }
        }
        torn += reader.tally().torn;
    }
    println!("{torn} messages were overwritten while they were read");
    assert!(torn > 0, "no message was torn, so the test covered nothing");
}

/// Publishes up to one lap, and leaves a message incomplete at the end.
fn overwrite(writer: &mut Writer<Memory>, random: &mut Random, length_max: usize) {
    let mut bytes = Vec::new();
    for _ in 0..random.below(writer.geometry().capacity() / 12) {
        publish(writer, length_max, &mut bytes);
    }
    let length = random.index(length_max + 1);
    let mut claim = writer.claim(length).unwrap();
    claim.write(&vec![0xee; length / 2]);
}

/// Test of the tests: they detect a reader that uses data before the ring has validated it.
#[test]
fn a_reader_that_does_not_validate_is_detected() {
    let (memory, mut writer) = ring(1024, BEGINNING);
    let mut bytes = Vec::new();
    let mut reader = verifier(&memory, 128).credulous();
    let accused = (0..100).find_map(|_| {
        publish(&mut writer, 128, &mut bytes);
        let lap = || (0..60).for_each(|_| publish(&mut writer, 128, &mut Vec::new()));
        reader.poll_while(lap).err()
    });
    assert!(
        matches!(accused, Some(Violation::Wrong { .. })),
        "{accused:?}"
    );
}
