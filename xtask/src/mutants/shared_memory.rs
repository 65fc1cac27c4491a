//! Shared memory: ring, last-value tables, files, readers.

use super::Mutant;

/// Shared memory: ring, last-value tables, files, readers.
pub const SHARED_MEMORY: &[Mutant] = &[
    Mutant {
        name: "image: a slot is copied during a change",
        find: "if stamp & 1 != 0 || is_new {
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
    Mutant {
        name: "image: a table of another shape is reused",
        find: "Shape::read(mapping.words()) == Ok(shape)",
        replace: "Shape::read(mapping.words()).is_ok() || shape.slots > 0",
        test: "-p touchline-transport --test bus a_writer_with_other_sizes",
    },
    Mutant {
        name: "bus: a new table is named before it has its shape",
        find: "reset(draft.mapping(), shape)?;",
        replace: "",
        test: "-p touchline-transport --test bus a_reader_that_joins_during_a_start_waits",
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
        find: "match self.is_publisher_away() {",
        replace: "match self.watch.is_stalled {",
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
        name: "image: a slot that comes late is empty until its first update",
        find: "SlotWriter::new(content, written, self.levels_max).sign(&MISSED);",
        replace: "SlotWriter::new(content, written, self.levels_max);",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
    Mutant {
        name: "orders: a book without a slot is taken for empty",
        find: "(self.books.table).state_refused(self.books.refused_from());",
        replace: "(self.books.table).state_refused(None);",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
    Mutant {
        name: "orders: a slot that comes late is empty until its first update",
        find: "(self.books.table).change(slot, cut_at, |content| image.write(content));",
        replace: "(self.books.table).change(slot, cut_at, |_| ());",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
    Mutant {
        name: "orders: a book without a slot is built from the updates after the join",
        find: "row.orders = OrdersHeld::Awaited;",
        replace: "row.orders = OrdersHeld::Held;",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
    Mutant {
        name: "image: a book without a slot goes on after a loss",
        find: "false => self.rows.forget_books(),",
        replace: "false => {}",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
    Mutant {
        name: "image: a book without a slot stays live",
        find: "SlotCopy::Nothing if self.reading.is_of_writer(self.generation) => {",
        replace: "SlotCopy::Nothing if false => {",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
    Mutant {
        name: "image: a reader touches slots that are not in use",
        find: "words.filter(|_| slot < used)",
        replace: "words.filter(|_| slot < usize::MAX)",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
    Mutant {
        name: "image: a book that was never published is not live after a reset",
        find: "self.judge_image(instrument, reset.wrapping_sub(1), true)",
        replace: "{ let _ = reset; SlotCopy::Nothing }",
        test: "-p touchline-transport --test bus books_that_were_never_published_are_live_after_a_reset",
    },
    Mutant {
        name: "image: a book without a slot is built from the updates after the join",
        find: "self.rows.tables_read();",
        replace: "",
        test: "-p touchline-transport --test bus refused_books_return_whole_and_no_joiner_sees_a_part_of_one",
    },
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
    Mutant {
        name: "bus: a joining reader receives a download twice",
        find: "Some((told, _)) if !is_before(told, end) => Verdict::Skip",
        replace: "Some((told, _)) if told == end && told == 0 => Verdict::Skip",
        test: "-p touchline-transport --test bus a_download_is_reported_once_in_its_place",
    },
    Mutant {
        name: "bus: a reader ahead of the next publisher waits for it to catch up",
        find: "std::mem::replace(&mut self.unread, unread) == unread && unread.is_some()",
        replace: "        let _ = unread;\n        false",
        test: "-p touchline-transport --test bus a_reader_ahead_of_the_next_publisher_follows_it_at_once",
    },
    Mutant {
        name: "shm: a truncated file is not reported",
        find: "entry.damaged.store(true, Ordering::SeqCst);",
        replace: "",
        test: "-p touchline-shm --test shm a_writer_survives_truncation_and_other_mappings_are_unaffected",
    },
    Mutant {
        name: "shm: two writers hold the lock",
        find: "if !file.try_lock(WRITER_BYTE).map_err(failed())? {",
        replace: "if false {",
        test: "-p touchline-shm --test shm the_second_writer_is_rejected_with_the_holder",
    },
    Mutant {
        name: "client: an id that names another contract keeps its handle",
        find: "old.symbol == new.symbol || old.symbol.is_empty() || new.symbol.is_empty()",
        replace: "    let _ = (old, new);\n    true",
        test: "-p touchline-client --test client an_id_with_another_symbol",
    },
    Mutant {
        name: "client: an instrument without an id of the venue gets another handle at a restart",
        find: "known.filter(|index| old(index).is_renumbered(definition))",
        replace: "known.filter(|index| old(index).is_renumbered(definition) && false)",
        test: "-p touchline-client --test client instruments_without_ids",
    },
    Mutant {
        name: "client: books keep the room of the publication before",
        find: "if self.room != (instruments_max, orders_max) {",
        replace: "if self.room.1 > orders_max {",
        test: "-p touchline-client --test client books_have_the_room_of_their_publication",
    },
    Mutant {
        name: "client: an overrun leaves books as they were",
        find: "self.mirror.begin_recovery();",
        replace: "",
        test: "-p touchline-client --test client an_overrun_is_reported_once_with_its_loss_and_books_return_at_once",
    },
    Mutant {
        name: "client: a message is applied while its event waits",
        find: "&& (batch_end || is_image || is_top_first || self.stored.may_change_all())",
        replace: "            && (batch_end || is_image || is_top_first || true)",
        test: "-p touchline-client --test client random",
    },
    Mutant {
        name: "client: an emptied book has no steps",
        find: "if wanted.has(Events::BOOKS) && is_emptied {",
        replace: "        let _ = is_emptied;\n        if false {",
        test: "-p touchline-client --test client random",
    },
    Mutant {
        name: "ring: a ring whose control words are zero is continued",
        find: "if !counted.into_iter().all(is_counted) {",
        replace: "        let _ = (counted, is_counted);\n        if false {",
        test: "-p touchline-transport --test bus overwritten_ring_stops_and_follows_the_next_publisher",
    },
    Mutant {
        name: "ring: a watermark within a word is continued",
        find: "if !watermark.is_multiple_of(WORD) {",
        replace: "        let _ = watermark;\n        if false {",
        test: "-p touchline-shm --test shm a_ring_whose_watermark_is_within_a_word",
    },
    Mutant {
        name: "ring: data is not validated after the read",
        find: "if is_overrun(geometry, ahead) {",
        replace: "        if false && is_overrun(geometry, ahead) {",
        test: "SEEDS=20 -p touchline-shm --test shm overrun::data_overwritten_during_a_read_is_discarded",
    },
    Mutant {
        name: "ring: readers check a block too far back",
        find: "ahead > geometry.capacity()",
        replace: "ahead > geometry.capacity() + geometry.block()",
        test: "SEEDS=20 -p touchline-shm --test shm overrun::data_overwritten_during_a_read_is_discarded",
    },
    Mutant {
        name: "ring: the next head is not zeroed",
        find: "self.data[self.index(self.end())].store(0, Ordering::Relaxed);",
        replace: "",
        test: "SEEDS=20 -p touchline-shm --test shm model::",
    },
    Mutant {
        name: "ring: the head behind a staged message is not zeroed",
        find: "self.frame(length).zero_next_head();\n        self.staged",
        replace: "self.staged",
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
        find: "cursor.reported = self.next.position;",
        replace: "cursor.reported = self.next.position.wrapping_add(self.geometry.capacity() / 4);",
        test: "-p touchline-shm --test shm lossless::no_message_is_lost_and_the_writer_always_continues",
    },
    Mutant {
        name: "shm: a forked child frees what its parent holds",
        find: "self.forks == FORKS.load(Ordering::Relaxed)",
        replace: "true",
        test: "-p touchline-shm --test shm forks::a_child_frees_no_lock_of_its_parent",
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
    Mutant {
        name: "joining: after a restart during a join the ring continues from books that were not delivered",
        find: "if self.awaits_restart && is_of_books(&message.body) {",
        replace: "        if false && is_of_books(&message.body) {",
        test: "-p touchline-client --test client kept_books_are_those_of_the_publisher",
    },
    Mutant {
        name: "names: a file in use is written by a second one",
        find: "if options.group_access == GroupAccess::Reports {",
        replace: "if true || options.group_access == GroupAccess::Reports {",
        test: "-p touchline-shm --test shm names::a_file_in_use_has_no_second_writer_wherever_it_is",
    },
    Mutant {
        name: "names: a directory is removed that took another one's place",
        find: "?.is_lost() {",
        replace: "?.is_lost() && false {",
        test: "-p touchline-shm --test shm names::a_moved_directory_is_removed_and_not_its_replacement",
    },
    Mutant {
        name: "orders: orders that arrive during the read of the rows are left out",
        find: "match &message.body {",
        replace: "match &Body::Heartbeat {",
        test: "-p touchline-transport --test bus a_joined_order_book_is_that_of_its_message",
    },
    Mutant {
        name: "orders: a change contained in a slot is delivered again",
        find: "if !is_before(until, end) {",
        replace: "if false {",
        test: "-p touchline-transport --test bus a_slow_reader_receives_only_order_books_that_existed",
    },
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
        find: "let word = data[geometry.index(next.position)].load(Ordering::Acquire);",
        replace: "let word = data[geometry.index(next.position)].load(Ordering::Relaxed);",
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
    Mutant {
        name: "live: the book of a stalled publisher is live in a lookup",
        find: "|| self.reading.is_stalled())",
        replace: ")",
        test: "-p touchline-transport --test bus snapshots_and_overview_report_a_stalled_publisher",
    },
    Mutant {
        name: "live: a clock that is ahead counts as activity",
        find: "now_ns.abs_diff(again.at_ns)",
        replace: "now_ns.saturating_sub(again.at_ns)",
        test: "-p touchline-transport --lib a_publisher_is_stalled_after_its_timeout",
    },
    Mutant {
        name: "live: a reset by a stalled publisher makes books live",
        find: "self.joining = Some(Joining::away());",
        replace: "",
        test: "-p touchline-transport --test bus a_reset_by_a_stalled_publisher",
    },
    Mutant {
        name: "live: messages of a publisher that resumes are skipped",
        find: "false => Joining::resumed(),",
        replace: "false => Joining::new(),",
        test: "-p touchline-transport --test bus no_message_is_skipped_when_a_publisher_resumes",
    },
    Mutant {
        name: "bus: a reader moves to other files before it has read the old ones",
        find: "let is_first = !std::mem::take(&mut self.move_seen);",
        replace: "let is_first = false;",
        test: "-p touchline-transport --lib messages_before_a_move_to_other_files_are_read_first",
    },
    Mutant {
        name: "live: a gateway is current in the round in which it was stopped",
        find: "is_drained: false,",
        replace: "is_drained: is_empty,",
        test: "-p touchline-gateway --lib a_pause_lasts_until_a_later_round",
    },
    Mutant {
        name: "live: a packet that waited through a pause ends it",
        find: "arrived_ns > pause.noticed_ns",
        replace: "arrived_ns > 0",
        test: "-p touchline-gateway --lib a_channel_without_idle_moments",
    },
];
