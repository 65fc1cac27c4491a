//! Recordings of market data.

use super::Mutant;

/// Recorders and readers of tapes.
pub const TAPE: &[Mutant] = &[
    Mutant {
        name: "tape: a part of the descriptions is all buses",
        find: "if last.is_whole || described == 2 {",
        replace: "        if described == 1 {",
        test: "-p touchline-tape --test tape a_tape_that_ends_within_the_descriptions",
    },
    Mutant {
        name: "tape: a segment begins between the parts of an update",
        find: "Item::Undecoded(bytes) => is_continued(bytes),",
        replace: "Item::Undecoded(_) => false,",
        test: "-p touchline-tape --test tape a_segment_does_not_divide_an_update",
    },
    Mutant {
        name: "tape: an event ends an update between its parts",
        find: "Item::SubscriptionEvent(event) => open.is_in_parts && !interrupts(event),",
        replace: "Item::SubscriptionEvent(_) => false,",
        test: "-p touchline-tape --test tape events_between_two_parts_leave_the_update_whole",
    },
    Mutant {
        name: "tape: a segment begins without the state",
        find: "bus.is_state_due |= !bus.is_joining;",
        replace: "bus.is_state_due |= false;",
        test: "-p touchline-tape --test tape each_segment_is_read_alone",
    },
    Mutant {
        name: "tape: a recorder that starts again repeats messages",
        find: "if sequence <= open.sequence {",
        replace: "if sequence == u64::MAX {",
        test: "-p touchline-tape --test tape a_recorder_that_starts_again_leaves_a_gap_and_repeats_nothing",
    },
    Mutant {
        name: "tape: a bus that was made again is the one before",
        find: "self == before && self.boot != 0 && self.ring != 0",
        replace: "(&self.bus, self.generation) == (&before.bus, before.generation)",
        test: "-p touchline-tape --test tape a_bus_that_is_made_again_is_another_publication",
    },
    Mutant {
        name: "tape: a reader passes over removed segments",
        find: "Ok(true) => Err(removed(follow, path)),",
        replace: "Ok(true) => Ok(()),",
        test: "-p touchline-tape --test tape a_limit_of_size_removes_the_oldest_segments",
    },
    Mutant {
        name: "tape: a reader takes the rest of a state",
        find: "kind::DEFINITIONS if !self.is_state_begun && !begins_state(entry.body) => {}",
        replace: "kind::DEFINITIONS if false && !begins_state(entry.body) => {}",
        test: "-p touchline-tape --test tape the_rest_of_a_state_is_not_a_state",
    },
    Mutant {
        name: "tape: an index skips a block too many",
        find: "(block..end).find(is_needed)",
        replace: "(block + 1..end).find(is_needed)",
        test: "-p touchline-tape --test tape with_an_index_readers_have_the_same",
    },
    Mutant {
        name: "tape: an index of another segment is used",
        find: "index.segment.index == segment && index.segment.is_in(directory).unwrap_or(false);",
        replace: "index.segment.index > 0;",
        test: "-p touchline-tape --test tape a_wrong_index_is_ignored_and_written_again",
    },
    Mutant {
        name: "tape: an overrun reads the tables although a tape has the messages",
        find: "Err(event) if self.begins_backlog(&event) => Step::Nothing,",
        replace: "Err(event) if false && self.begins_backlog(&event) => Step::Nothing,",
        test: "-p touchline-client --test client an_overrun_reader_continues_from_the_tape",
    },
    Mutant {
        name: "tape: an old state of the channel is handed out again",
        find: "match backlog.is_reached {",
        replace: "match true {",
        test: "-p touchline-client --test client with_tape::a_stall_of_before_an_overrun_is_not_told_again",
    },
    Mutant {
        name: "tape: a loss at the place of a reader is not handed out",
        find: "&& self.place.passed.position >= from",
        replace: "&& false && self.place.passed.position >= from",
        test: "-p touchline-tape --test tape places::a_loss_at_the_place_is_of_the_tail",
    },
    Mutant {
        name: "tape: messages before an overrun are handed out again",
        find: "if frame.sequence < backlog.next.sequence {",
        replace: "if frame.sequence == u64::MAX {",
        test: "-p touchline-client --test client an_overrun_reader_continues_from_the_tape",
    },
    Mutant {
        name: "tape: a message at the joint is handed out twice",
        find: "let mut behind = self.sequences_behind(next);",
        replace: "let mut behind = self.sequences_behind(next.wrapping_sub(1));",
        test: "-p touchline-client --test client an_overrun_reader_continues_from_the_tape",
    },
    Mutant {
        name: "tape: a message is missing at the joint",
        find: "0 if !waits => self.backlog = None,",
        replace: "0 | 1 if !waits => self.backlog = None,",
        test: "-p touchline-client --test client an_overrun_reader_continues_from_the_tape",
    },
    Mutant {
        name: "tape: a lossless publisher waits for a reader that waits for its tape",
        find: "if self.backlog.is_some() && is_far {",
        replace: "if false && is_far {",
        test: "-p touchline-client --test client a_publisher_does_not_wait_for_a_reader_on_its_tape",
    },
    Mutant {
        name: "tape: a gap of the tape is not noticed",
        find: "if frame.sequence > backlog.next.sequence {",
        replace: "if frame.sequence == u64::MAX {",
        test: "-p touchline-client --test client a_gap_of_the_tape_is_an_overrun",
    },
    Mutant {
        name: "tape: messages of another publication are continued",
        find: "if before.is_none() && self.resumed.as_ref().is_some_and(is_other) {",
        replace: "if false && before.is_none() && self.resumed.as_ref().is_some_and(is_other) {",
        test: "-p touchline-client --test client another_publication_is_not_continued",
    },
    Mutant {
        name: "tape: a recorder of a busy bus never has a state after an overrun",
        find: "self.joining.is_none() && self.backlog.is_none() && self.rows.has_caught_up(position, false)",
        replace: "self.backlog.is_none() && self.rows.has_caught_up(position, true) && false",
        test: "-p touchline-tape --test tape a_recorder_of_a_busy_bus_has_the_state_after_an_overrun",
    },
    Mutant {
        name: "tape: the state of a join has the number of an earlier message",
        find: "let last = open.sequence.max(next.saturating_sub(1));",
        replace: "let last = open.sequence.max(next.min(1));",
        test: "-p touchline-tape --test tape the_state_of_a_join_has_the_number_of_its_last_message",
    },
    Mutant {
        name: "tape: a recorder that starts again is not waited for",
        find: "self.was_there && now.duration_since(since) < self.wait",
        replace: "false && now.duration_since(since) < self.wait",
        test: "-p touchline-client --test client a_followed_tape_goes_on_with_the_next_recorder",
    },
    Mutant {
        name: "tape: the wait for a recorder goes on over its records",
        find: "recorder.note_record();",
        replace: "let _ = &recorder;",
        test: "-p touchline-tape --test tape a_recorder_that_ends_again_is_waited_for_from_then_on",
    },
    Mutant {
        name: "tape: a loss is stated while a recorder starts again",
        find: "if self.given_up_at != position && self.has_time() {",
        replace: "if false && self.given_up_at != position && self.has_time() {",
        test: "-p touchline-client --test client a_recorder_that_starts_again_is_waited_for",
    },
    Mutant {
        name: "tape: a restart before the place of a reader is not handed out",
        find: "self.place.open.as_ref().filter(|_| is_other)",
        replace: "self.place.open.as_ref().filter(|_| is_other && false)",
        test: "-p touchline-tape --test tape a_restart_before_the_place_is_not_swallowed",
    },
    Mutant {
        name: "tape: a stream that was lost with its description has no gap",
        find: "_ => described.begin,",
        replace: "_ => return None,",
        test: "-p touchline-tape --test tape what_is_lost_with_the_ring_is_a_gap",
    },
    Mutant {
        name: "tape: a loss of an unknown number is lost with its gap",
        find: "match open.unknown_end > position {",
        replace: "match open.unknown_end > u64::MAX - 1 && position > 0 {",
        test: "-p touchline-tape --test tape what_is_lost_with_the_ring_is_a_gap",
    },
    Mutant {
        name: "tape: a change of the publisher that was lost with the ring has no gap",
        find: "false if open.given_end > position => (0, 0),",
        replace: "false if open.given_end > u64::MAX - 1 && position > 0 => (0, 0),",
        test: "-p touchline-tape --test tape a_change_of_the_publisher_that_is_lost_with_the_ring_is_a_gap",
    },
    Mutant {
        name: "tape: messages that wait are of the next publisher",
        find: "self.buses.iter().map(|bus| match &bus.described {",
        replace: "self.buses.iter().map(|bus| match &bus.described.as_ref().filter(|of| of.stream == bus.stream) {",
        test: "-p touchline-tape --test tape messages_that_wait_during_a_restart_are_of_their_stream",
    },
    Mutant {
        name: "tape: a raw run that was lost as a whole has no gap",
        find: "let Some(begun) = begun.or(first) else {",
        replace: "let Some(begun) = begun.filter(|_| first.is_some()) else {",
        test: "-p touchline-tape --lib records_that_the_disk_lacks_are_gaps",
    },
    Mutant {
        name: "tape: a reader stops before damage as at the end",
        find: "true => check_rest(follow, path),",
        replace: "true => Ok(()),",
        test: "-p touchline-tape --test tape a_damaged_record_ends_the_reading_of_a_tape_that_is_recorded",
    },
    Mutant {
        name: "tape: a raw recording ends where segments were removed",
        find: "check_overtaken(&mut self.follow, &self.path)?;",
        replace: "let _ = check_overtaken;",
        test: "-p touchline-tape --lib a_raw_recording_whose_segments_are_removed",
    },
];
