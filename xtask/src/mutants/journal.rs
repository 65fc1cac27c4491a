//! The journal and its copies.

use super::Mutant;

/// The journal and its copies.
pub const JOURNAL: &[Mutant] = &[
    Mutant {
        name: "journal: records are accepted after a failure",
        find: "if let (State::Failed, errno) = self.tail.state() {",
        replace: "if let (State::Failed, errno, true) = (self.tail.state().0, self.tail.state().1, false) {",
        test: "-p touchline-journal --lib a_failed_write_or_sync_refuses_the_next_record",
    },
    Mutant {
        name: "journal: a break that moves beside a writer is damage",
        find: "judgement.verdict == Verdict::Cut || !is_still",
        replace: "judgement.verdict == Verdict::Cut",
        test: "-p touchline-journal --lib a_break_that_moves_with_every_walk_is_a_fast_writer",
    },
    Mutant {
        name: "journal: a block of zeros leaves those of the file before",
        find: "if offset < self.written || !is_zero(block) {",
        replace: "if !is_zero(block) {",
        test: "-p touchline-journal --lib a_buffer_has_nothing_of_the_file_before",
    },
    Mutant {
        name: "journal: the end of a journal that is no copy is cleared",
        find: "(Verdict::Clean, Some(_)) => return Ok(()),",
        replace: "(Verdict::Clean, Some(_)) | (Verdict::Cut, _) => return Ok(()),",
        test: "-p touchline-journal --test journal replica::a_journal_that_is_no_copy",
    },
    Mutant {
        name: "journal: a journal without an end becomes a copy",
        find: "(Verdict::Clean, None) if judgement.segments.is_empty() => return Ok(()),",
        replace: "(Verdict::Clean, None) if judgement.epoch < u64::MAX => return Ok(()),",
        test: "-p touchline-journal --test journal copies::a_journal_is_no_copy_before",
    },
    Mutant {
        name: "journal: a copy clears records that are not set aside",
        find: "set_rest_aside(disk, end, now_ns, &mut done)?;\n    let name",
        replace: "let name",
        test: "-p touchline-journal --test journal copies::a_damaged_copy",
    },
    Mutant {
        name: "journal: a copy acknowledges what an earlier run could not sync",
        find: "cut::settle(disk, &judgement)?;",
        replace: "",
        test: "-p touchline-journal --lib what_an_earlier_run_could_not_sync",
    },
    Mutant {
        name: "journal: a copy takes a segment of another journal",
        find: "if !continues {",
        replace: "if !continues && header.index == u64::MAX {",
        test: "-p touchline-journal --test journal replica::what_is_no_copy",
    },
    Mutant {
        name: "journal: a copy of another journal is continued",
        find: "if !is_of_this {",
        replace: "if !is_of_this && end.crc == 0 {",
        test: "-p touchline-journal --test journal replica::what_is_no_copy",
    },
    Mutant {
        name: "journal: a promoted copy takes the next epoch",
        find: "let step = copy.map_or(0, CopyNumber::epochs_elsewhere) + 1;",
        replace: "let step = copy.map_or(0, |_| 0) + 1;",
        test: "-p touchline-journal --test journal replica::a_promoted_copy",
    },
    Mutant {
        name: "journal: a tail of this host speaks for the source of a copy",
        find: "let is_elsewhere = is_copy || tail.is_none_or(",
        replace: "let is_elsewhere = tail.is_none_or(",
        test: "-p touchline-journal --test journal replica::a_copy_that_comes_back",
    },
    Mutant {
        name: "journal: a failure is told to one start only",
        find: "tail.state().0 == State::Failed || tail.is_failure_open()",
        replace: "tail.state().0 == State::Failed",
        test: "-p touchline-journal --test journal a_journal_that_was_given_up",
    },
    Mutant {
        name: "journal: the chain skips a segment",
        find: "next += 1;",
        replace: "next += 2;",
        test: "-p touchline-journal --test journal chain::every_closed_segment",
    },
    Mutant {
        name: "journal: a jump trusts its place",
        find: "let is_there = self.is_there();",
        replace: "let is_there: Result<bool, Error> = Ok(true);",
        test: "-p touchline-journal --test journal a_jump_goes_to_a_record_or_nowhere",
    },
    Mutant {
        name: "journal: a compression brings back a segment that was removed",
        find: "if held.is_none() {",
        replace: "if held.is_none() && name.is_empty() {",
        test: "-p touchline-journal --lib a_segment_that_is_removed_while_it_is_compressed",
    },
    Mutant {
        name: "journal: a compression empties the file of another one that has finished",
        find: "let is_at = FileId::is_at(file, &directory.join(unfinished));",
        replace: "let is_at = FileId::is_at(file, &directory.join(unfinished)).map(|_| true);",
        test: "-p touchline-journal --lib a_second_compression_does_not_empty",
    },
    Mutant {
        name: "journal: a directory that was replaced is read and written on",
        find: "match there == Some(own) {",
        replace: "match there.is_none() || there == Some(own) || own.inode > 0 {",
        test: "-p touchline-replication --lib a_directory_that_is_taken_away",
    },
    Mutant {
        name: "journal: a clock that is set back stops the preparation of segments",
        find: "self.retry_at_ns = now.steady_ns + RETRY_NS;",
        replace: "self.retry_at_ns = now.wall_ns + RETRY_NS;",
        test: "-p touchline-journal --lib a_clock_that_is_set_back",
    },
    Mutant {
        name: "journal: a start does without an epoch that cannot be read",
        find: "Err(error) => return Err(Error::io(\"read the epoch in\", name)(error)),",
        replace: "Err(_) => continue,",
        test: "-p touchline-journal --test journal a_start_needs_the_epochs",
    },
    Mutant {
        name: "journal: a failure of long ago is one of a later run elsewhere",
        find: "is_some_and(|epoch| epoch >= last)",
        replace: "is_some_and(|epoch| epoch <= last)",
        test: "-p touchline-journal --test journal copies::a_failure_of_long_ago",
    },
    Mutant {
        name: "journal: the disk of a copy lacks what that of its source had",
        find: "if self.copied != Some(segment.header.index) {",
        replace: "if self.copied != Some(0) {",
        test: "-p touchline-journal --test journal copies::a_copy_that_lost_power",
    },
    Mutant {
        name: "journal: a repair ends a copy whose source has the rest",
        find: "if is_copy && found.verdict != Verdict::Clean && !accept_loss {",
        replace: "if is_copy && found.verdict == Verdict::Damaged && !accept_loss {",
        test: "-p touchline-journal --test journal copies::a_copy_that_lost_power",
    },
    Mutant {
        name: "journal: a copy that is far behind knows a part of it",
        find: "Ok(AHEAD_FRAMES_MAX) => self.searches_since.or_else(|| Some(Instant::now())),",
        replace: "",
        test: "-p touchline-journal --test journal copies::a_copy_that_is_far_behind",
    },
    Mutant {
        name: "journal: the end of a journal is that of a segment which was set aside",
        find: ".is_some_and(|ahead| ahead.check_segment().is_err())",
        replace: ".is_some_and(|_| false)",
        test: "-p touchline-journal --test journal copies::the_end_of_a_journal",
    },
    Mutant {
        name: "journal: a copy waits for a segment that was removed",
        find: "match self.follow.overtaken()? {",
        replace: "match self.follow.overtaken()?.filter(|_| frames > 0) {",
        test: "-p touchline-journal --test journal copies::a_copy_whose_next_segment",
    },
    Mutant {
        name: "journal: one start alone knows a failure after a restart of the host",
        find: "text(if is_open { epoch } else { 0 })",
        replace: "text(if is_open { epoch - 1 } else { 0 })",
        test: "-p touchline-journal --test journal a_failure_is_known_after",
    },
    Mutant {
        name: "journal: two copies of a journal take the same epoch",
        find: "EPOCHS_ELSEWHERE * u64::from(self.0)",
        replace: "EPOCHS_ELSEWHERE * u64::from(self.0.min(1))",
        test: "-p touchline-journal --test journal copies::copies_that_are_promoted",
    },
    Mutant {
        name: "journal: a failure is lost with the memory of its host",
        find: "let in_file = failed_epoch(disk)?;",
        replace: "let in_file = failed_epoch(disk)?.filter(|_| tail.is_some());",
        test: "-p touchline-journal --test journal a_failure_is_known_after",
    },
    Mutant {
        name: "journal: a segment is replaced and removed at the same time",
        find: "file.lock()?;",
        replace: "let _ = File::lock;",
        test: "-p touchline-journal --lib retention_waits_for_a_segment",
    },
    Mutant {
        name: "journal: a holder beyond the end of the journal is at its end",
        find: "match end_of(directory, last)? == Some(position) {",
        replace: "match end_of(directory, last)? <= Some(position) {",
        test: "-p touchline-journal --test journal a_position_above_a_cut_is_found",
    },
];
