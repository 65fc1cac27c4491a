//! Round trip of messages: every length at every position of the ring, flags, padding, rejections.

use super::{BEGINNING, NEAR_ENDS, publish, ring, verifier};
use touchline_shm::atomic::Ordering::Relaxed;
use touchline_shm::broadcast::{
    BATCH_END, Flags, Geometry, NoRoom, Reader, Refused, RingEvent, Writer,
};
use touchline_shm::zeroed;

#[test]
fn every_length_is_read_as_written_at_every_position() {
    let capacities: &[u64] = if cfg!(miri) {
        &[64, 128]
    } else {
        &[64, 128, 256, 1024]
    };
    for &capacity in capacities {
        let length_max = Geometry::new(capacity).unwrap().message_max();
        for first in NEAR_ENDS {
            let (memory, mut writer) = ring(capacity, first);
            let mut reader = Reader::attach(memory).unwrap();
            for place in 0..capacity / 8 {
                for length in 0..=length_max {
                    let sent: Vec<u8> = (0..length).map(|i| (i as u64 + place + 1) as u8).collect();
                    let end = writer.publish(&sent, Flags::default()).unwrap();
                    let got = reader.read(|frame| {
                        let mut words = vec![0; length.div_ceil(8)];
                        frame.copy_to(&mut words);
                        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
                        assert_eq!(frame.end, end);
                        assert_eq!(frame.word(words.len()), 0, "nothing lies behind the end");
                        (frame.len(), frame.is_empty(), bytes[..length].to_vec())
                    });
                    assert_eq!(got, Ok(Some((length, length == 0, sent))));
                    assert_eq!(reader.next(), writer.next());
                }
                // From the next word on.
                writer.publish(&[], Flags::default()).unwrap();
                assert_eq!(reader.read(|frame| frame.len()), Ok(Some(0)));
            }
            assert_eq!(reader.read(|_| ()), Ok(None));
        }
    }
}

#[test]
fn a_message_that_is_too_long_is_rejected_and_changes_nothing() {
    for capacity in [64, 1024, 1 << 16] {
        let (_, mut writer) = ring(capacity, BEGINNING);
        let message_max = writer.geometry().message_max();
        assert_eq!(message_max as u64, capacity / 8);
        for length in [message_max + 1, message_max * 8, usize::MAX - 7, usize::MAX] {
            let before = writer.next();
            assert_eq!(
                writer.claim(length).map(drop),
                Err(NoRoom::TooLong { message_max })
            );
            assert_eq!(writer.next(), before);
        }
        writer
            .publish(&vec![1; message_max], Flags::default())
            .unwrap();
    }
}

#[test]
fn flags_travel_with_their_message() {
    let (memory, mut writer) = ring(256, BEGINNING);
    let mut reader = Reader::attach(memory).unwrap();
    for flags in (0..16).map(Flags).chain([BATCH_END]) {
        writer.publish(b"x", flags).unwrap();
        assert_eq!(reader.read(|frame| frame.flags), Ok(Some(flags)));
    }
    writer.publish(b"x", Flags(0xff)).unwrap();
    assert_eq!(
        reader.read(|frame| frame.flags),
        Ok(Some(Flags(15))),
        "four bits"
    );
}

#[test]
fn a_claim_can_be_filled_in_place_in_parts_or_dropped() {
    let (memory, mut writer) = ring(1024, BEGINNING);
    let mut reader = Reader::attach(memory).unwrap();
    for round in 1..300u64 {
        let claim = writer.claim(24).unwrap();
        assert_eq!(
            (claim.len(), claim.is_empty(), claim.words().len()),
            (24, false, 3)
        );
        for (word, value) in claim.words().iter().zip([round, !round, round << 7]) {
            word.store(value, Relaxed);
        }
        if round % 3 == 0 {
            drop(claim);
            assert_eq!(
                reader.read(|_| ()),
                Ok(None),
                "a dropped claim publishes nothing"
            );
            continue;
        }
        let end = claim.commit(BATCH_END);
        assert_eq!(end, writer.next().position);
        let got = reader.read(|frame| [frame.word(0), frame.word(1), frame.word(2)]);
        assert_eq!(got, Ok(Some([round, !round, round << 7])));
    }
}

#[test]
fn a_frame_does_not_wrap_and_the_rest_is_padding() {
    let (memory, mut writer) = ring(256, BEGINNING);
    let mut reader = Reader::attach(memory).unwrap();
    // The writer's first frame has 16 bytes; six of 40 would end at 256.
    for _ in 0..5 {
        writer.publish(&[7; 32], Flags::default()).unwrap();
    }
    writer.publish(&[7; 8], Flags::default()).unwrap();
    assert_eq!(writer.next().position, 232);
    for sequence in 1..7 {
        assert_eq!(reader.read(|frame| frame.sequence), Ok(Some(sequence)));
    }
    assert_eq!(writer.publish(&[8; 24], Flags::default()), Ok(256 + 32));
    assert_eq!(reader.next().position, 232);
    assert_eq!(reader.read(|frame| frame.sequence), Ok(Some(7)));
    assert_eq!(reader.next(), writer.next());
}

#[test]
fn readers_at_different_places_do_not_disturb_each_other() {
    let (memory, mut writer) = ring(4096, BEGINNING);
    let length_max = 100;
    let mut bytes = Vec::new();
    let mut readers: Vec<_> = (1..=8)
        .map(|step| (step, verifier(&memory, length_max)))
        .collect();
    for round in 1..2000u64 {
        publish(&mut writer, length_max, &mut bytes);
        for (step, reader) in &mut readers {
            if round % *step == 0 {
                while reader.poll().unwrap() {}
            }
        }
    }
    for (_, mut reader) in readers {
        while reader.poll().unwrap() {}
        assert_eq!((reader.tally().received, reader.tally().lost), (1999, 0));
        assert_eq!(reader.reader().next(), writer.next());
    }
}

#[test]
fn a_new_writer_is_announced_and_nothing_is_lost() {
    let (memory, mut writer) = ring(512, BEGINNING);
    let mut reader = Reader::attach(memory.clone()).unwrap();
    for generation in 2..50 {
        writer
            .publish(&[generation as u8; 5], Flags::default())
            .unwrap();
        drop(writer);
        assert!(Writer::can_resume(&memory));
        writer = Writer::resume(memory.clone()).unwrap();
        assert_eq!(
            (writer.generation(), reader.generation()),
            (generation, generation)
        );
        let first = reader.read(|frame| frame.word(0) as u8);
        assert_eq!(first, Ok(Some(generation as u8)));
        assert_eq!(reader.read(|_| ()), Err(RingEvent::Generation(generation)));
        assert_eq!(reader.next(), writer.next());
        // A reader that joins now starts after the notice.
        assert_eq!(
            Reader::attach(memory.clone()).unwrap().read(|_| ()),
            Ok(None)
        );
    }
}

#[test]
fn memory_without_a_valid_ring_is_rejected_with_the_reason() {
    for capacity in [0, 1, 8, 32, 63, 96, 1000, 1 << 41, u64::MAX] {
        assert_eq!(Geometry::new(capacity), Err(Refused::Capacity(capacity)));
    }
    let geometry = Geometry::new(1024).unwrap();
    let small = zeroed(geometry.words() - 1);
    let refused = Refused::Memory {
        needed: geometry.words() as u64,
        there: geometry.words() as u64 - 1,
    };
    assert_eq!(Writer::create(small, geometry).map(drop), Err(refused));

    let attach = |words| Reader::attach(words).map(drop);
    for words in [0, 1, geometry.words()] {
        assert_eq!(attach(zeroed(words)), Err(Refused::Foreign));
        assert_eq!(
            Writer::resume(zeroed(words)).map(drop),
            Err(Refused::Foreign)
        );
    }
    let (memory, _) = ring(1024, BEGINNING);
    let shorter: super::Memory = memory[..geometry.words() - 1]
        .iter()
        .map(|word| word.load(Relaxed).into())
        .collect();
    assert_eq!(attach(shorter), Err(refused));
    for (word, value, refused) in [
        (0, 1, Refused::Foreign),
        (1, 99, Refused::Foreign),
        (2, 1000, Refused::Capacity(1000)),
        (2, 512, Refused::Corrupt),
        (3, 8, Refused::Corrupt),
    ] {
        let before = memory[word].swap(value, Relaxed);
        let found = attach(memory.clone()).unwrap_err();
        assert!(found == refused || found == Refused::Corrupt, "{found:?}");
        assert!(!found.to_string().contains('\n'));
        memory[word].store(before, Relaxed);
    }
    attach(memory).unwrap();
}

#[test]
fn a_ring_whose_watermark_is_within_a_word_is_not_continued() {
    let (memory, mut writer) = ring(1024, BEGINNING);
    writer.publish(&[1; 9], Flags::default()).unwrap();
    drop(writer);
    let watermark = memory[16].load(Relaxed);
    for within in 1..8 {
        memory[16].store(watermark - within, Relaxed);
        assert!(!Writer::can_resume(&memory));
        let resumed = Writer::resume(memory.clone()).map(drop);
        assert_eq!(resumed, Err(Refused::Corrupt), "{within} bytes less");
    }
    memory[16].store(watermark, Relaxed);
    Writer::resume(memory).unwrap();
}
