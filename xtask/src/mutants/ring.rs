//! Faults of the broadcast ring. Those that x86 hides are for loom.

use super::Mutant;

/// The protocol.
pub const PROTOCOL: &[Mutant] = &[
    Mutant {
        name: "ring: data is not validated after the read",
        find: "
        if self.is_overrun() {
            return Err(self.overrun());
        }
        self.advance(end",
        replace: "
        self.advance(end",
        test: "SEEDS=20 -p touchline-shm --test shm overrun::data_overwritten_during_a_read_is_discarded",
    },
    Mutant {
        name: "ring: readers check a block too far back",
        find: "ahead > self.geometry.capacity()",
        replace: "ahead > self.geometry.capacity() + self.geometry.block()",
        test: "SEEDS=20 -p touchline-shm --test shm overrun::data_overwritten_during_a_read_is_discarded",
    },
    Mutant {
        name: "ring: the next head is not zeroed",
        find: "data[self.geometry.index(end)].store(0, Ordering::Relaxed);",
        replace: "",
        test: "SEEDS=20 -p touchline-shm --test shm model::",
    },
    Mutant {
        name: "ring: the next head is zeroed after the commit",
        find: "data[self.geometry.index(end)].store(0, Ordering::Relaxed);
        // SYNC POINT: payload and the zero behind it are visible to who reads the head.
        data[self.geometry.index(begin)].store(head.word(), Ordering::Release);
",
        replace: "        data[self.geometry.index(begin)].store(head.word(), Ordering::Release);
        data[self.geometry.index(end)].store(0, Ordering::Relaxed);
",
        test: "-p touchline-shm --lib the_ring_is_consistent_after_two_crashes_between_any_stores",
    },
    Mutant {
        name: "ring: the head behind a frame is not announced",
        find: "wrapping_add(frame + WORD)",
        replace: "wrapping_add(frame)",
        test: "SEEDS=20 -p touchline-shm --test shm model::",
    },
    Mutant {
        name: "ring: a frame ends behind its limit",
        find: "(length as u64).saturating_add(WORD - 1) < left",
        replace: "(length as u64) < left",
        test: "SEEDS=20 -p touchline-shm --test shm model::",
    },
    Mutant {
        name: "ring: the block that a frame begins in is announced, not the one it ends in",
        find: "position.wrapping_add(self.block - 1) & !(self.block - 1)",
        replace: "position & !(self.block - 1)",
        test: "SEEDS=20 -p touchline-shm --test shm overrun::data_overwritten_during_a_read_is_discarded",
    },
    Mutant {
        name: "ring: the number of lost messages is one too low",
        find: "self.next.sequence.wrapping_sub(before.sequence)",
        replace: "self.next.sequence.wrapping_sub(before.sequence).saturating_sub(1)",
        test: "-p touchline-shm --test shm overrun::an_overrun_reader_learns_the_bytes_and_messages_that_it_lost",
    },
    Mutant {
        name: "ring: lost messages are counted with the 32 bits of the headers",
        find: "self.next.sequence.wrapping_sub(before.sequence)",
        replace: "u64::from((self.next.sequence as u32).wrapping_sub(before.sequence as u32))",
        test: "-p touchline-shm --test shm overrun::a_lag_of_more_than_2_to_the_32_messages_is_counted_exactly",
    },
    Mutant {
        name: "ring: the successor counts one message too many",
        find: "Ok(None) => return Some(self.next),",
        replace: "Ok(None) => {
                    self.next.sequence = self.next.sequence.wrapping_add(1);
                    return Some(self.next);
                }",
        test: "-p touchline-shm --test shm frames::a_new_writer_is_announced",
    },
    Mutant {
        name: "ring: the successor starts at the last join point",
        find: "Ok(None) => return Some(self.next),",
        replace: "Ok(None) => return self.join_point(),",
        test: "-p touchline-shm --test shm frames::a_new_writer_is_announced",
    },
    Mutant {
        name: "ring: the header is written before the payload",
        find: "let writer = Writer::begin(memory, geometry, first, (first, 0, 0), None)?;",
        replace: "        geometry.write_header(memory.words());
        let writer = Writer::begin(memory, geometry, first, (first, 0, 0), None)?;",
        test: "-p touchline-shm --lib the_ring_is_consistent_after_two_crashes_between_any_stores",
    },
    Mutant {
        name: "ring: a join point is counted before it is written",
        find: "fence(Ordering::Release);",
        replace: "        words[JOIN_POINTS].store(count, Ordering::Release);\n",
        test: "-p touchline-shm --lib the_ring_is_consistent_after_two_crashes_between_any_stores",
    },
    Mutant {
        name: "ring: a cursor is ahead of the reader",
        find: "cursor.reported = self.next.position;
            cursor.cursors.advance",
        replace: "cursor.reported = self.next.position.wrapping_add(self.geometry.capacity() / 4);
            cursor.cursors.advance",
        test: "-p touchline-shm --test shm lossless::no_message_is_lost_and_the_writer_always_continues",
    },
    Mutant {
        name: "ring: a registered reader is not waited for",
        find: "registered.slowest(self.join_point_at)",
        replace: "(self.join_point_at, registered.slots())",
        test: "-p touchline-shm --test shm lossless::the_writer_waits_for_the_slowest",
    },
    Mutant {
        name: "ring: the successor overruns registered readers",
        find: "Writer::resume_for(memory, Some(registered))",
        replace: "Ok(Writer::resume_for(memory, None)?.lossless(registered))",
        test: "-p touchline-shm --lib a_lossless_publication_stays_lossless",
    },
    Mutant {
        name: "ring: a registered reader starts at an unprotected position",
        find: "fence(Ordering::SeqCst);
        self.go_to_join_point();
",
        replace: "",
        test: "-p touchline-shm --test shm lossless::no_message_is_lost_once_a_reader_is_registered",
    },
];

/// Orderings, which only loom can judge.
pub const ORDERINGS: &[Mutant] = &[
    Mutant {
        name: "ring ordering: the announcement has no fence behind it",
        find: "self.memory.words()[place::WATERMARK].store(watermark, Ordering::Relaxed);
        // SYNC POINT: who reads a word that is stored from here on sees the watermark.
        fence(Ordering::Release);
        self.publish_join_point();
",
        replace: "        self.publish_join_point();
        self.memory.words()[place::WATERMARK].store(watermark, Ordering::Relaxed);
",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom one_frame_that_laps",
    },
    Mutant {
        name: "ring ordering: validation may come before the read",
        find: "fence(Ordering::Acquire);",
        replace: "",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom one_reader_a_lap_behind",
    },
    Mutant {
        name: "ring ordering: the payload may be read before the header",
        find: "let word = self.data()[index].load(Ordering::Acquire);",
        replace: "let word = self.data()[index].load(Ordering::Relaxed);",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom one_reader_at_the_end",
    },
    Mutant {
        name: "ring ordering: the header may be visible before the payload",
        find: "store(head.word(), Ordering::Release)",
        replace: "store(head.word(), Ordering::Relaxed)",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom one_reader_at_the_end",
    },
    Mutant {
        name: "ring ordering: a successor relies on the fence of a dead writer",
        find: "fence(Ordering::Release);
        let mut writer = Writer {",
        replace: "        let mut writer = Writer {",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom the_next_writer_overwrites_the_announcement_of_a_dead_one",
    },
    Mutant {
        name: "ring ordering: a join point may be read after the check of its count",
        find: "fence(Ordering::Acquire);",
        replace: "",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom attaching_while_the_writer",
    },
    Mutant {
        name: "ring ordering: the writer checks the slots before its join point is visible",
        find: "fence(Ordering::SeqCst);",
        replace: "",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom joining_a_lossless_publication",
    },
];
