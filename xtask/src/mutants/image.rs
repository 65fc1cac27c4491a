//! Faults of the last-value table and of its readers. Orderings that x86 hides are for loom.

use super::Mutant;

/// The protocol of the table.
pub const PROTOCOL: &[Mutant] = &[
    Mutant {
        name: "image: a slot is copied during a change",
        find: "if stamp & 1 != 0 {
            return Found::Busy(Change { slot, stamp });
        }
",
        replace: "",
        test: "-p touchline-shm --test shm a_slot_in_a_change_is_not_copied_whatever_its_length",
    },
    Mutant {
        name: "image: a copy is returned without the second check of the stamp",
        find: "if head[STAMP].load(Ordering::Relaxed) != stamp {
            return Found::Overwritten;
        }
",
        replace: "",
        test: "-p touchline-shm --test shm middle_of_a_read",
    },
    Mutant {
        name: "image: a writer does not mark a slot as changing",
        find: "head[STAMP].store(stamp, Ordering::Relaxed);",
        replace: "",
        test: "-p touchline-shm --lib a_slot_is_complete_or_busy_after_a_crash_at_any_store",
    },
    Mutant {
        name: "image: a dead writer's stamp is even during the change of its successor",
        find: "let stamp = head[STAMP].load(Ordering::Relaxed) | 1;",
        replace: "let stamp = head[STAMP].load(Ordering::Relaxed) + 1;",
        test: "-p touchline-shm --lib a_slot_is_complete_or_busy_after_a_crash_at_any_store",
    },
    Mutant {
        name: "image: a slot is counted after its first change",
        find: "if slot >= self.used {
            self.use_slot(slot)?;
        }
        self.write(slot, position | HELD, change)
",
        replace: "        let changed = self.write(slot, position | HELD, change)?;
        if slot >= self.used {
            self.use_slot(slot)?;
        }
        Some(changed)
",
        test: "-p touchline-shm --lib a_slot_is_complete_or_busy_after_a_crash_at_any_store",
    },
    Mutant {
        name: "image: used slots are forgotten before they are empty",
        find: "(0..used as usize).for_each(|slot| writer.empty(slot));",
        replace: "        writer.memory.words()[place::USED].store(0, Ordering::Release);
        (0..used as usize).for_each(|slot| writer.empty(slot));\n",
        test: "-p touchline-shm --lib a_slot_is_complete_or_busy_after_a_crash_at_any_store",
    },
    Mutant {
        name: "image: a table that is being emptied belongs to its last epoch",
        find: "words[place::GENERATION].store(0, Ordering::Relaxed);",
        replace: "",
        test: "-p touchline-shm --lib a_slot_is_complete_or_busy_after_a_crash_at_any_store",
    },
];

/// Orderings, which only loom can judge.
pub const ORDERINGS: &[Mutant] = &[
    Mutant {
        name: "image ordering: the odd stamp has no fence behind it",
        find: "fence(Ordering::Release);",
        replace: "",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom last_value::a_reader_during_two_changes_gets_complete_content",
    },
    Mutant {
        name: "image ordering: the even stamp may be seen before the change",
        find: "head[STAMP].store(stamp.wrapping_add(1), Ordering::Release)",
        replace: "head[STAMP].store(stamp.wrapping_add(1), Ordering::Relaxed)",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom last_value::a_reader_during_two_changes_gets_complete_content",
    },
    Mutant {
        name: "image ordering: the content may be read before the stamp",
        find: "let stamp = head[STAMP].load(Ordering::Acquire);",
        replace: "let stamp = head[STAMP].load(Ordering::Relaxed);",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom last_value::a_reader_during_two_changes_gets_complete_content",
    },
    Mutant {
        name: "image ordering: the second check may happen before the copy",
        find: "fence(Ordering::Acquire);",
        replace: "",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom last_value::a_reader_during_two_changes_gets_complete_content",
    },
    Mutant {
        name: "image ordering: a generation may be visible before its message in the ring",
        find: "store(generation, Ordering::Release)",
        replace: "store(generation, Ordering::Relaxed)",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom last_value::a_generation_is_visible_after_its_join_point",
    },
    Mutant {
        name: "image ordering: the ring may be read before the epoch of the tables",
        find: "[place::GENERATION].load(Ordering::Acquire)",
        replace: "[place::GENERATION].load(Ordering::Relaxed)",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom last_value::a_generation_is_visible_after_its_join_point",
    },
    Mutant {
        name: "image ordering: slots may be unused before their epoch is over",
        find: "[place::USED].load(Ordering::Acquire)",
        replace: "[place::USED].load(Ordering::Relaxed)",
        test: "RUSTFLAGS=--cfg=loom -p touchline-shm --test loom last_value::the_next_writer_empties_slots_left_in_a_change",
    },
];

/// Its readers, and their time limit at a slot.
pub const READERS: &[Mutant] = &[
    Mutant {
        name: "image: a table of another shape is reused",
        find: "Shape::read(mapping.words()) == Ok(shape)",
        replace: "Shape::read(mapping.words()).is_ok() || shape.slots > 0",
        test: "-p touchline-transport --test bus a_writer_with_other_sizes",
    },
    Mutant {
        name: "image: a read waits for a dead writer",
        find: "get_or_insert(now + WAIT_MAX)",
        replace: "get_or_insert(now + WAIT_MAX * 10_000)",
        test: "-p touchline-transport --lib a_change_that_never_ends",
    },
    Mutant {
        name: "image: a short change does not use up the time limit",
        find: "if !has_time() {
                break;
            }
            if !table.is_in_progress(change) {
                return true;
            }
",
        replace: "            if !table.is_in_progress(change) {
                return true;
            }
            if !has_time() {
                break;
            }
",
        test: "-p touchline-transport --lib the_number_of_retries_on_short_changes_is_limited",
    },
    Mutant {
        name: "image: each slot of a dead writer is waited for",
        find: "*self.stuck() = Some(change);",
        replace: "",
        test: "-p touchline-transport --lib a_change_that_never_ends",
    },
    Mutant {
        name: "image: copies of a slot that always changes have no limit",
        find: "self.copies < COPIES_MAX",
        replace: "self.copies < COPIES_MAX * 10_000",
        test: "-p touchline-transport --lib a_slot_that_changes_during_each_copy",
    },
    Mutant {
        name: "image: long copies have no time limit",
        find: "self.has_time(clock) && self.copies",
        replace: "self.copies",
        test: "-p touchline-transport --lib a_slot_that_changes_during_each_copy",
    },
    Mutant {
        name: "image: a book is published before the channel state is known",
        find: "let (before, channel) = (before?, channel?);",
        replace: "        let (before, channel) = (before.unwrap_or_default(), channel.unwrap_or_default());",
        test: "-p touchline-transport --test bus no_slot_is_used_while_the_state_of_the_channel_is_unknown",
    },
    Mutant {
        name: "image: a poll waits for the channel state",
        find: "return Step::Nothing;",
        replace: "return Step::Passed;",
        test: "-p touchline-transport --lib a_poll_makes_one_attempt",
    },
    Mutant {
        name: "bus: the flags of a batch's end do not travel in the message",
        find: "word.store(flagged, Ordering::Relaxed);",
        replace: "let _ = (word, flagged);",
        test: "-p touchline-transport --test bus raw::market_data_is_read_as_bytes",
    },
    Mutant {
        name: "bus: a piece of a message begins at the next whole word",
        find: "word.store((self.part | value << bits).to_le(), Ordering::Relaxed);",
        replace: "word.store((self.part | value).to_le(), Ordering::Relaxed);",
        test: "-p touchline-transport --lib parts_of_any_length_yield_the_words_of_their_bytes",
    },
    Mutant {
        name: "select: events of unselected kinds are delivered",
        find: "if is_in(self.left_out) {",
        replace: "if false && is_in(self.left_out) {",
        test: "-p touchline-transport --test bus selecting::deselected_kinds_of_messages_are_skipped",
    },
    Mutant {
        name: "channel: suppressed live books are not published when the channel is live again",
        find: "match self.channel_unknown || self.live_only && is_back {",
        replace: "match self.channel_unknown || self.live_only && is_back && false {",
        test: "-p touchline-transport --test bus every_reader_sees_the_worse_of_book_and_channel",
    },
    Mutant {
        name: "image: a poll waits for a definition",
        find: "if matches!(found, Found::Busy(_) | Found::Overwritten) && self.tries_later() {
            return Step::Nothing;",
        replace: "if matches!(found, Found::Busy(_) | Found::Overwritten) && self.tries_later() {
            return Step::Passed;",
        test: "-p touchline-transport --lib a_poll_makes_one_attempt",
    },
    Mutant {
        name: "image: a poll waits for a book",
        find: "&& is_channel_known && self.tries_later() {
            return Step::Nothing;",
        replace: "&& is_channel_known && self.tries_later() {
            return Step::Passed;",
        test: "-p touchline-transport --lib a_poll_makes_one_attempt",
    },
    Mutant {
        name: "image: joining retries a book without end",
        find: "!is_gone && !joining.busy.is_over(Instant::now())",
        replace: "!is_gone",
        test: "-p touchline-transport --lib joining_continues_without_a_busy_slot_after_the_time_limit",
    },
    Mutant {
        name: "image: joining retries a book of an ended publisher",
        find: "!is_gone && !joining.busy.is_over(Instant::now())",
        replace: "is_gone | !joining.busy.is_over(Instant::now())",
        test: "-p touchline-transport --test bus a_writer_killed_during_a_change_of_a_deep_book_blocks_no_reader",
    },
    Mutant {
        name: "image: joining never retries",
        find: "!is_gone && !joining.busy.is_over(Instant::now())",
        replace: "is_gone && joining.busy.is_over(Instant::now())",
        test: "-p touchline-transport --test bus a_slot_that_is_being_changed_is_read_by_a_later_poll",
    },
    Mutant {
        name: "image: a reset in progress is ignored",
        find: "Found::Busy(_) | Found::Overwritten => None,",
        replace: "            Found::Busy(_) | Found::Overwritten => Some(NOTHING_HAPPENED),\n",
        test: "-p touchline-transport --test bus no_slot_is_used_while_the_state_of_the_channel_is_unknown",
    },
    Mutant {
        name: "image: books are not published once the channel state is known",
        find: "Some(until) if is_before(end, until) => Verdict::DeliverAndRejoin,
            _ if self.channel_unknown => Verdict::DeliverAndRejoin,
",
        replace: "            Some(until) if is_before(end, until) => Verdict::DeliverAndRejoin,\n",
        test: "-p touchline-transport --test bus no_slot_is_used_while_the_state_of_the_channel_is_unknown",
    },
    Mutant {
        name: "image: a book from the ring of a dead publisher stays live",
        find: "self.watch.gone_seen |= self.watch.is_gone;",
        replace: "",
        test: "-p touchline-transport --test bus a_partly_written_book_is_stale_after_the_ring_is_read",
    },
    Mutant {
        name: "image: each update of a refused instrument asks for memory",
        find: "if !was_refused {",
        replace: "if true {",
        test: "-p touchline-transport --lib a_refused_table_is_asked_for_again_after_a_pause_only",
    },
    Mutant {
        name: "image: a slot that comes late has the updates from then on for a book",
        find: "let missed = self.written.len()..self.refused_below.min(slots);",
        replace: "let missed = 0..0_usize;",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
    Mutant {
        name: "image: a book without a slot is built from the updates after the join",
        find: "self.rows.tables_read();",
        replace: "",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
];
