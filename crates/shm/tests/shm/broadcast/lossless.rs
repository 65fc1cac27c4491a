//! Publications that wait for their registered readers.

use super::{BEGINNING, Memory, publish, ring, verifier};
use touchline_shm::broadcast::{Cursors, Flags, NoRoom, Reader, Writer};
use touchline_shm::zeroed;
use touchline_testing::stream_verifier::StreamVerifier;

fn cursors(slots: usize) -> impl Fn() -> Cursors<Memory> {
    let memory = zeroed(Cursors::<Memory>::words_for(slots));
    move || Cursors::new(memory.clone())
}

fn fill(writer: &mut Writer<Memory>) -> (u64, NoRoom) {
    for published in 0..1_000_000 {
        if let Err(no_room) = writer.publish(&[5; 20], Flags::default()) {
            return (published, no_room);
        }
    }
    panic!("no reader is registered")
}

#[test]
fn the_writer_waits_for_the_slowest_and_not_for_readers_that_left() {
    let (memory, writer) = ring(1024, BEGINNING);
    let registered = cursors(3);
    let mut writer = writer.lossless(registered());
    let reader = |slot| {
        Reader::attach(memory.clone())
            .unwrap()
            .registered(registered(), slot)
    };
    let (mut fast, mut slow) = (reader(0), reader(2));
    let (published, no_room) = fill(&mut writer);
    assert!(published * 32 > 1024 - 2 * 128 - 64, "{published}");
    let slot = match no_room {
        NoRoom::Full { slot } => slot,
        other => panic!("{other}"),
    };
    assert!(slot == 0 || slot == 2, "{slot}");
    assert_eq!(writer.registered().unwrap().slots(), 3);

    while fast.read(|_| ()).unwrap().is_some() {}
    assert_eq!(fill(&mut writer), (0, NoRoom::Full { slot: 2 }));
    assert_eq!(
        slow.read(|frame| frame.sequence),
        Ok(Some(1)),
        "nothing was lost"
    );
    while slow.read(|_| ()).unwrap().is_some() {}
    let (more, _) = fill(&mut writer);
    assert!(more > 0);
    assert_eq!(writer.registered().unwrap().lease(1), None);

    // One has died and its slot is freed, the other one leaves.
    while fast.read(|_| ()).unwrap().is_some() {}
    assert_eq!(fill(&mut writer).1, NoRoom::Full { slot: 2 });
    let registered = writer.registered().unwrap();
    let lease = registered.lease(2).unwrap();
    registered.free(2, lease);
    while fast.read(|_| ()).unwrap().is_some() {}
    assert!(fill(&mut writer).0 > 0);
    drop(fast);
    for _ in 0..1000 {
        writer.publish(&[5; 20], Flags::default()).unwrap();
    }
}

/// A reader that made room just when the writer gave it up was not overrun, and notices nothing: the writer waits for it again.
#[test]
fn a_reader_that_went_on_before_it_was_overrun_is_waited_for_again() {
    let (memory, writer) = ring(1024, BEGINNING);
    let registered = cursors(1);
    let mut writer = writer.lossless(registered());
    let mut reader = Reader::attach(memory).unwrap().registered(registered(), 0);
    for round in 0..5 {
        assert_eq!(fill(&mut writer).1, NoRoom::Full { slot: 0 }, "{round}");
        let given_up = registered().lease(0).unwrap();
        while reader.next().position < writer.oldest() + 3 * writer.geometry().block() {
            assert!(reader.read(|_| ()).unwrap().is_some());
        }
        registered().free(0, given_up);
        writer.publish(&[5; 20], Flags::default()).unwrap();
        while reader.read(|_| ()).unwrap().is_some() {}
        assert_eq!(reader.next(), writer.next(), "nothing was lost");
    }
}

/// The writer waits for the room of a block. In a large ring, too, a reader states soon that it has left one.
#[test]
fn a_reader_that_left_a_block_has_made_room_for_the_next_message() {
    let (memory, writer) = ring(if cfg!(miri) { 1 << 10 } else { 2 << 20 }, BEGINNING);
    let registered = cursors(1);
    let mut writer = writer.lossless(registered());
    let mut reader = Reader::attach(memory).unwrap().registered(registered(), 0);
    assert_eq!(fill(&mut writer).1, NoRoom::Full { slot: 0 });
    let left = reader.next().position + writer.geometry().block();
    while reader.next().position < left {
        assert!(reader.read(|_| ()).unwrap().is_some());
    }
    assert!(fill(&mut writer).0 > 0);
}

/// Every length and every position: no loss, and no deadlock.
#[test]
fn no_message_is_lost_and_the_writer_always_continues() {
    let capacities: &[u64] = if cfg!(miri) {
        &[64]
    } else {
        &[64, 128, 1024, 8192]
    };
    for &capacity in capacities {
        let (memory, writer) = ring(capacity, BEGINNING);
        let registered = cursors(2);
        let mut writer = writer.lossless(registered());
        let length_max = writer.geometry().message_max();
        let reader = |slot| {
            let reader = Reader::attach(memory.clone()).unwrap();
            StreamVerifier::new(reader.registered(registered(), slot), length_max)
        };
        let mut readers = [reader(0), reader(1)];
        let mut published = 0;
        while published < if cfg!(miri) { 30 } else { 20_000 } {
            let next = writer.next().sequence;
            let mut bytes = Vec::new();
            touchline_testing::payload::write(
                next,
                touchline_testing::payload::length(next, length_max),
                &mut bytes,
            );
            match writer.publish(&bytes, Flags::default()) {
                Ok(_) => published += 1,
                Err(NoRoom::Full { slot }) => {
                    assert!(
                        readers[slot].poll().unwrap(),
                        "the writer waits for a reader that has nothing to read"
                    );
                }
                Err(no_room) => panic!("{no_room}"),
            }
        }
        for mut reader in readers {
            while reader.poll().unwrap() {}
            assert_eq!(
                (reader.tally().received, reader.tally().lost),
                (published, 0)
            );
        }
    }
}

/// A joining reader may be overrun until it has a slot, and never after that.
#[test]
fn no_message_is_lost_once_a_reader_is_registered() {
    let (memory, writer) = ring(1024, BEGINNING);
    let registered = cursors(1);
    let mut writer = writer.lossless(registered());
    for messages in 0..100 {
        let reader = Reader::attach(memory.clone()).unwrap();
        for _ in 0..messages {
            writer.publish(&[5; 20], Flags::default()).unwrap();
        }
        let mut reader = reader.registered(registered(), 0);
        let first = reader.next().sequence;
        let (more, _) = fill(&mut writer);
        assert!(more > 0);
        for sequence in first..writer.next().sequence {
            assert_eq!(reader.read(|frame| frame.sequence), Ok(Some(sequence)));
        }
    }
}

#[test]
fn a_publication_without_named_readers_is_not_slowed() {
    let (memory, writer) = ring(512, BEGINNING);
    let mut writer = writer.lossless(cursors(4)());
    let mut idle = verifier(&memory, 64);
    let mut bytes = Vec::new();
    for _ in 0..1000 {
        publish(&mut writer, 64, &mut bytes);
    }
    while idle.poll().unwrap() {}
    assert!(
        idle.tally().lost > 0,
        "an unregistered reader is not waited for"
    );
    assert_eq!(idle.reader().next(), writer.next());
}

/// The writer treats a reader as dead while another one takes its slot: the other keeps it.
#[test]
fn the_new_owner_of_a_dead_readers_slot_keeps_it() {
    let cursors = cursors(1)();
    cursors.take(0, 8);
    let judged = cursors.lease(0).unwrap();
    cursors.take(0, 16);
    cursors.free(0, judged);
    assert_eq!(cursors.position(0), Some(16));
    cursors.free(0, cursors.lease(0).unwrap());
    assert_eq!(cursors.position(0), None);
}
