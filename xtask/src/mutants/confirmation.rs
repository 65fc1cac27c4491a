//! Faults of confirmation: contradicting packets, and snapshots that are ahead of the stream.

use super::Mutant;

/// Packets that contradict processed packets.
pub const CONTRADICTIONS: &[Mutant] = &[
    Mutant {
        name: "feed: gaps at the end of input are not reported",
        find: "self.release_to = u64::MAX;",
        replace: "self.release_to = 0;",
        test: "-p touchline-feed --lib the_end_loses_every_gap",
    },
    Mutant {
        name: "feed: the first packet of all needs no confirmation",
        find: "let is_shown = self.distinct > 1 || self.agreed > 0;",
        replace: "let is_shown = true;",
        test: "-p touchline-feed --lib the_first_packet_of_all_needs_confirmation",
    },
    Mutant {
        name: "feed: a copy on the same line confirms the first packet",
        find: "u32::from(self.lines[slot] | bit == 3 && self.lines[slot] != 3)",
        replace: "1",
        test: "-p touchline-feed --lib the_first_packet_of_all_needs_confirmation",
    },
    Mutant {
        name: "feed: a wrong first packet is not replaced",
        find: "self.clear();\n            self.replaces = true;",
        replace: "            return false;\n",
        test: "-p touchline-feed --lib a_wrong_first_packet_is_replaced",
    },
    Mutant {
        name: "feed: one packet beyond the window moves the window",
        find: "Place::OutOfWindow => self.distinct > 1,",
        replace: "Place::OutOfWindow => true,",
        test: "-p touchline-feed --lib one_forged_packet_does_not_move_the_window",
    },
    Mutant {
        name: "feed: a second packet beyond the window does not confirm a jump",
        find: "Place::OutOfWindow => self.distinct > 1,",
        replace: "Place::OutOfWindow => false,",
        test: "-p touchline-gateway --test gateway a_second_packet_near_the_first_is_confirmed",
    },
    Mutant {
        name: "feed: one packet causes a sequence reset",
        find: "self.is_agreed() || is_alone && self.distinct >= ALONE_MIN;",
        replace: "true;",
        test: "-p touchline-feed --lib one_forged_reset_moves_nothing",
    },
    Mutant {
        name: "feed: one line alone cannot confirm a sequence reset",
        find: "self.is_agreed() || is_alone && self.distinct >= ALONE_MIN;",
        replace: "self.is_agreed();",
        test: "-p touchline-feed --lib a_sequence_reset_on_one_line_needs_eight_numbers",
    },
    Mutant {
        name: "feed: a sequence reset does not wait for its first packets",
        find: "is_shown && (self.lowest.sequence == 1 || age_ns >= wait_ns)",
        replace: "is_shown",
        test: "-p touchline-feed --lib a_reset_without_its_first_number_is_a_late_restart",
    },
    Mutant {
        name: "feed: a clock that is behind is accepted at once",
        find: "let a_while = age_ns >= WAITS_MIN.saturating_mul(wait_ns);",
        replace: "let a_while = true;",
        test: "-p touchline-feed --lib a_restart_with_the_clock_behind_is_accepted_after_a_while",
    },
    Mutant {
        name: "feed: a clock that is behind is never accepted",
        find: "a_while && goes_on && (self.is_agreed() || is_alone)",
        replace: "a_while && is_alone && self.agreed > u32::MAX - 1",
        test: "-p touchline-feed --lib a_restart_with_the_clock_behind_is_accepted_after_a_while",
    },
    Mutant {
        name: "feed: a line that lags the other sets the clock back",
        find: "let alone_ns = if other == 0 { 0 } else { BEHIND_NS_MAX };",
        replace: "let alone_ns = 0;",
        test: "-p touchline-feed --lib one_of_two_lines_needs_a_minute_to_set_the_clock_back",
    },
    Mutant {
        name: "feed: a number of two possible epochs is complete",
        find: "candidate.set_ambiguous();",
        replace: "",
        test: "-p touchline-feed --lib a_reset_whose_numbers_fit_the_window_is_a_late_restart",
    },
    Mutant {
        name: "feed: the sending time of the next number is not checked",
        find: "sending_ns >= self.earliest_ns() && self.is_reached(sending_ns, receive_ns)",
        replace: "receive_ns < u64::MAX && sending_ns > 0",
        test: "-p touchline-feed --lib the_next_number_with_an_implausible_time_is_not_processed",
    },
    Mutant {
        name: "feed: contradictions do not make the state unconfirmed",
        find: "self.warning = JumpWarning::Due;",
        replace: "",
        test: "-p touchline-feed --lib the_unconfirmed_state_ends_with_the_next_packet",
    },
    Mutant {
        name: "feed: the unconfirmed state never ends",
        find: "self.clock.pass(sending_ns, receive_ns);\n        self.warning = JumpWarning::None;",
        replace: "self.clock.pass(sending_ns, receive_ns);",
        test: "-p touchline-feed --lib the_unconfirmed_state_ends_with_the_next_packet",
    },
    Mutant {
        name: "feed: unconfirmed books are live",
        find: "self.health.raise(Condition::UnconfirmedJump);",
        replace: "",
        test: "-p touchline-gateway --test gateway a_restart_with_the_clock_behind_is_unconfirmed_and_then_accepted",
    },
    Mutant {
        name: "feed: two packets with one number are no conflict",
        find: "Likeness::Conflict\n        } else",
        replace: "Likeness::Copy\n        } else",
        test: "-p touchline-feed --lib two_packets_of_one_number_are_a_conflict",
    },
    Mutant {
        name: "feed: a conflict leaves price books live",
        find: "gap: true,\n            last_seen: newest,",
        replace: "confirmed: u32::MAX,\n            last_seen: newest,",
        test: "-p touchline-gateway --test gateway two_packets_of_one_number_leave_nothing_live",
    },
    Mutant {
        name: "feed: a late restart empties every book",
        find: "if whole {\n            self.epoch.begin();\n            return",
        replace: "if first > 0 {\n            self.epoch.begin();\n            return",
        test: "-p touchline-gateway --test gateway a_sequence_reset_without_its_beginning_leaves_nothing_live",
    },
    Mutant {
        name: "feed: books look fresh while packets are awaited",
        find: "_ => Validity::Gapped,",
        replace: "_ => Validity::Live,",
        test: "-p touchline-gateway --test gateway while_packets_are_awaited_no_book_is_shown_as_live",
    },
];

/// Arbitration that serves any venue.
pub const LINES: &[Mutant] = &[
    Mutant {
        name: "arbitration: processed packets are processed again",
        find: "Verdict::Deliver { from: next }",
        replace: "Verdict::Deliver { from: span.first }",
        test: "-p touchline-feed --lib each_number_counts_once_however_lines_split_the_packets",
    },
    Mutant {
        name: "arbitration: the previous session becomes current again",
        find: "if self.former == Some(session) {",
        replace: "if false {",
        test: "-p touchline-feed --lib a_new_session_restarts_the_numbers_and_the_previous_one_is_over",
    },
    Mutant {
        name: "arbitration: a partly filled request counts as filled",
        find: ".filter(|number| !self.buffer.covers(*number))",
        replace: "",
        test: "-p touchline-feed --lib packets_lost_on_all_lines_are_requested_once_and_may_arrive_in_other_pieces",
    },
];

/// Copies of long ago beside a reset.
pub const STRAYS: &[Mutant] = &[Mutant {
    name: "feed: a packet from before a reset is a conflict",
    find: "&& sending_ns >= self.begun.sending_ns",
    replace: "",
    test: "-p touchline-feed --lib a_packet_from_before_a_reset_is_not_a_conflict",
}];

/// Snapshots.
pub const SNAPSHOTS: &[Mutant] = &[
    Mutant {
        name: "feed: a snapshot ahead of the stream is used at once",
        find: "Timeliness::Early\n    } else",
        replace: "Timeliness::Due\n    } else",
        test: "-p touchline-gateway --test gateway a_snapshot_that_is_ahead_of_the_incremental_feed_waits_for_it",
    },
    Mutant {
        name: "feed: a buffered early snapshot is dropped",
        find: "self.take_timely(
                kept.feed,
                kept.time,
                early.payload(&kept),
                instruments,
                batch,
            );",
        replace: "",
        test: "-p touchline-gateway --test gateway a_snapshot_that_is_ahead_of_the_incremental_feed_waits_for_it",
    },
    Mutant {
        name: "feed: a snapshot sent before its last packet is used",
        find: "let is_older = is_behind || is_before || ahead > 0 && sending_ns < newest.sending_ns;",
        replace: "let is_older = is_behind || is_before;",
        test: "-p touchline-gateway --test gateway a_snapshot_of_another_session_is_refused",
    },
    Mutant {
        name: "feed: a snapshot from before the first packet is used",
        find: "let is_older = is_behind || is_before || ahead",
        replace: "let is_older = is_before || ahead",
        test: "-p touchline-gateway --test gateway a_snapshot_sent_before_the_first_packet_does_not_contain_it",
    },
    Mutant {
        name: "feed: a snapshot may wait for any packet number",
        find: "|| ahead > arbiter.reach()",
        replace: "",
        test: "-p touchline-gateway --test gateway a_snapshot_of_another_session_is_refused",
    },
    Mutant {
        name: "feed: a snapshot with a future time is used",
        find: "|| !arbiter.is_of_now(sending_ns, time.wall_ns)",
        replace: "",
        test: "-p touchline-gateway --test gateway a_snapshot_of_another_session_is_refused",
    },
    Mutant {
        name: "feed: a cycle with a future time hides the others",
        find: "if !is_of_now(cycle.start_ns()) {",
        replace: "if false {",
        test: "-p touchline-gateway --test gateway a_snapshot_cycle_from_the_future_does_not_block_the_next",
    },
    Mutant {
        name: "feed: a snapshot cycle continues after a reset",
        find: "self.cycles.abandon_snapshots();\n        out.push(Event::Reset);",
        replace: "out.push(Event::Reset);",
        test: "-p touchline-gateway --test gateway a_reset_ends_the_cycle_in_progress",
    },
    Mutant {
        name: "feed: the oldest early snapshot is not replaced",
        find: "min_by_key(|at| self.kept[*at].order)",
        replace: "max_by_key(|at| self.kept[*at].order)",
        test: "-p touchline-feed --lib without_a_free_slot_the_oldest_is_replaced",
    },
    Mutant {
        name: "feed: a capture clock that steps back keeps a gap open forever",
        find: "self.last_ns = time.mono_ns;",
        replace: "self.last_ns = self.last_ns.max(time.mono_ns);",
        test: "-p touchline-feed --lib a_clock_that_is_set_back_continues_from_there",
    },
    Mutant {
        name: "feed: a buffered snapshot survives the end of its epoch",
        find: "self.early.clear();",
        replace: "",
        test: "-p touchline-gateway --test gateway a_snapshot_that_waits_does_not_outlive",
    },
    Mutant {
        name: "feed: a candidate rejects a packet of both lines",
        find: "if self.packets.contains(&other) {",
        replace: "if false && self.packets.contains(&other) {",
        test: "-p touchline-feed --lib an_epoch_that_ends_unconfirmed_is_not_mixed_with_the_next",
    },
    Mutant {
        name: "feed: a packet that one line brings twice is confirmed",
        find: "line: 1 - line,",
        replace: "line,",
        test: "-p touchline-feed --lib a_packet_is_confirmed_by_both_lines_and_only_for_a_while",
    },
    Mutant {
        name: "feed: a dropped candidate of both lines is not reported",
        find: "other.began < next && (other.is_agreed || is_of_now)",
        replace: "other.began < next && other.is_agreed",
        test: "-p touchline-feed --lib a_dropped_candidate_of_both_lines_is_reported",
    },
    Mutant {
        name: "feed: packets of one line count as much as those of both",
        find: "if self.ambiguous || self.agreed > 0 {",
        replace: "if self.distinct > 0 {",
        test: "-p touchline-feed --lib a_dropped_candidate_of_both_lines_is_reported",
    },
    Mutant {
        name: "feed: a candidate that has ended is confirmed",
        find: "a_while && goes_on && (self.is_agreed()",
        replace: "a_while && (self.is_agreed()",
        test: "-p touchline-feed --lib a_candidate_that_has_ended_is_not_accepted",
    },
    Mutant {
        name: "feed: buffered packets are delivered although another epoch has support",
        find: "|| self.earlier.is_agreed() {",
        replace: "{",
        test: "-p touchline-feed --lib buffered_packets_are_dropped_if_two_other_epochs_have_support",
    },
    Mutant {
        name: "feed: a packet that contradicts a possible reset is not a conflict",
        find: "if std::mem::take(&mut self.denied) {",
        replace: "if std::mem::take(&mut self.denied) && false {",
        test: "-p touchline-feed --lib a_packet_that_contradicts_both_lines_is_a_conflict_as_well",
    },
    Mutant {
        name: "feed: a reset after a clock slightly ahead is a late packet",
        find: ".compare(sequence, sending_ns, bytes, next, self.delivered_ns)",
        replace: ".compare(sequence, sending_ns, bytes, next, self.clock.newest_ns)",
        test: "-p touchline-feed --lib a_reset_after_a_clock_that_was_slightly_ahead_is_not_a_late_packet",
    },
    Mutant {
        name: "feed: a dropped packet with another time counts as current",
        find: "other.began < next && (other.is_agreed || is_of_now)",
        replace: "other.began < next",
        test: "-p touchline-feed --lib the_unconfirmed_state_ends_with_the_next_packet",
    },
    Mutant {
        name: "feed: a forged packet with the highest number stops the feed",
        find: "self.next = snapshot_sequence.min().unwrap_or(u64::MAX);",
        replace: "self.next = snapshot_sequence.min().unwrap_or(u64::from(u32::MAX));",
        test: "-p touchline-feed --lib packets_wait_for_their_number",
    },
    Mutant {
        name: "feed: a packet of the same time and another length is a copy",
        find: "is_kept && sent.sending_ns == sending_ns && sent.bytes == bytes as u32",
        replace: "is_kept && sent.sending_ns == sending_ns",
        test: "-p touchline-feed --lib a_packet_with_the_same_time_and_another_length_is_a_conflict",
    },
    Mutant {
        name: "feed: a forged packet a second ahead is not contradicted",
        find: "< SAME_PLACE_NS",
        replace: "< SAME_PLACE_NS / 2",
        test: "-p touchline-feed --lib a_packet_a_second_ahead_is_contradicted_by_the_venues_own",
    },
    Mutant {
        name: "feed: a restart starts with a packet of another time",
        find: "self.candidate.keep_agreed();",
        replace: "",
        test: "-p touchline-feed --lib packets_of_one_line_alone_neither_start_nor_end_an_epoch",
    },
    Mutant {
        name: "feed: the copy of a rejected packet is not counted",
        find: "candidate.set_of_both(sequence);",
        replace: "",
        test: "-p touchline-feed --lib an_epoch_that_ends_unconfirmed_is_not_mixed_with_the_next",
    },
    Mutant {
        name: "feed: a candidate against the clock is not confirmed after its first packets left the buffer",
        find: "Place::AgainstClock | Place::Inside => {",
        replace: "            Place::Inside => false,\n            Place::AgainstClock => {\n",
        test: "-p touchline-feed --lib a_clock_that_was_wrong_once_does_not_stop_the_channel",
    },
    Mutant {
        name: "feed: a confirmed restart becomes a loss",
        find: "if self.jump.is_none() && !self.candidate.is_empty() && self.place() == Place::Inside {",
        replace: "if !self.candidate.is_empty() && self.place() == Place::Inside {",
        test: "-p touchline-feed --lib a_restart_is_detected_although_the_clock_fits",
    },
    Mutant {
        name: "feed: three packets of one line move the window",
        find: "&& self.earlier.is_shown()",
        replace: "&& self.earlier.is_warning_due(Place::AgainstClock)",
        test: "-p touchline-feed --lib forgeries_on_one_line_slightly_behind_the_clock_move_nothing",
    },
    Mutant {
        name: "feed: conflicting packets fill a request",
        find: "awaited.missing += gone;",
        replace: "",
        test: "-p touchline-feed --lib conflicting_packets_do_not_fill_a_request",
    },
    Mutant {
        name: "feed: a restart after a late join counts as late packets",
        find: "sending_ns <= self.behind(sequence, next).unwrap_or(processed_ns)",
        replace: "sending_ns <= processed_ns",
        test: "-p touchline-feed --lib a_restart_after_a_late_join_is_not_a_late_packet",
    },
    Mutant {
        name: "feed: a snapshot from long before a late join is used",
        find: "let is_older = is_behind || is_before || ahead",
        replace: "let is_older = is_behind || ahead",
        test: "-p touchline-gateway --test gateway a_snapshot_of_long_before_a_join_is_refused",
    },
    Mutant {
        name: "feed: a packet sent after the buffered packets behind it is accepted",
        find: "&& self.is_in_order(lowest.sequence, lowest.sending_ns)",
        replace: "",
        test: "-p touchline-feed --lib packets_of_both_lines_replace_a_forgery_on_one_line",
    },
    Mutant {
        name: "feed: the first of two buffered packets with one number is accepted",
        find: "if buffer.disputes(sequence, sending_ns, payload.len()) {",
        replace: "if buffer.disputes(sequence, sending_ns, payload.len()) && false {",
        test: "-p touchline-feed --lib of_two_buffered_packets_with_one_number_neither_is_accepted",
    },
    Mutant {
        name: "feed: an exchange that restarts a second behind continues the old epoch",
        find: "let goes_on_earlier = self.goes_on_earlier(sequence, sending_ns, time);",
        replace: "let goes_on_earlier = false;",
        test: "-p touchline-feed --lib an_exchange_that_restarts_slightly_behind_does_not_continue_the_old_epoch",
    },
    Mutant {
        name: "feed: a packet of one line is not replaced by packets of both lines",
        find: "let is_disputed = (window.buffer()).disputes(sequence, sending_ns, payload.len());",
        replace: "            let is_disputed = false;",
        test: "-p touchline-feed --lib packets_of_both_lines_replace_a_forgery_on_one_line",
    },
    Mutant {
        name: "feed: late packets are dropped from the candidate",
        find: "let is_copy = sequence < next &&",
        replace: "let is_late = self.sent.compare(sequence, sending_ns, bytes, next, self.delivered_ns) == Likeness::Lost;\n        if sequence < next && is_late {\n            return Some(Verdict::Late);\n        }\n        let is_copy = sequence < next &&",
        test: "-p touchline-feed --lib late_packets_on_both_lines_are_reported_and_accepted_in_the_end",
    },
    Mutant {
        name: "feed: conflicts are ignored while other packets contradict",
        find: "if is_conflict && !self.is_spoken_for(sequence, sending_ns, time, true) {",
        replace: "if is_conflict && self.is_undisputed() {",
        test: "-p touchline-feed --lib a_conflict_is_reported_while_other_packets_contradict",
    },
    Mutant {
        name: "feed: an epoch is complete with two clocks",
        find: "is_shown && is_of_one_clock && !self.ambiguous",
        replace: "is_shown && !self.ambiguous",
        test: "-p touchline-feed --lib a_complete_epoch_has_one_clock",
    },
    Mutant {
        name: "feed: snapshots of an unconfirmed epoch are used",
        find: "|| is_of_next",
        replace: "",
        test: "SEED=6315 -p touchline --test system under_forged_packets_no_wrong_book_is_live_and_two_cycles_recover_all",
    },
    Mutant {
        name: "feed: snapshots are rejected after a small step back of the clock",
        find: "let earliest_ns = begun.sending_ns.min(newest.sending_ns);",
        replace: "let earliest_ns = begun.sending_ns;",
        test: "-p touchline-gateway --test gateway snapshots_of_a_clock_that_went_back_a_little_are_used",
    },
    Mutant {
        name: "feed: the storage time of a snapshot is ignored",
        find: "let came_before_ns = self.begun_at_ns.saturating_sub(now_ns);",
        replace: "let came_before_ns = self.begun_at_ns.min(now_ns);",
        test: "-p touchline-feed --lib a_snapshot_from_before_a_join_was_sent_as_long_before_as_it_arrived",
    },
    Mutant {
        name: "feed: the time of a snapshot ahead of the stream is not checked",
        find: "Timeliness::Due if ahead_ns <= SNAPSHOT_AHEAD_NS_MAX =>",
        replace: "Timeliness::Due if true || ahead_ns <= SNAPSHOT_AHEAD_NS_MAX =>",
        test: "-p touchline-gateway --test gateway a_snapshot_that_waited_was_sent_behind",
    },
    Mutant {
        name: "feed: buffered snapshots survive a conflict",
        find: "self.early.clear();",
        replace: "",
        test: "SEED=3948 -p touchline --test system under_forged_packets_no_wrong_book_is_live_and_two_cycles_recover_all",
    },
    Mutant {
        name: "feed: an instrument first seen after a conflict is empty",
        find: "self.known_from = 0;",
        replace: "",
        test: "SEED=788 -p touchline --test system the_reference_accepts",
    },
    Mutant {
        name: "feed: a clock set within a gap is no conflict",
        find: "if behind.sending_ns < self.delivered_ns || self.clock.was_set_ahead(behind) {",
        replace: "if false {",
        test: "-p touchline-feed --lib a_gap_in_which_the_clock_was_set_is_a_conflict",
    },
    Mutant {
        name: "feed: a long candidate of one line is no conflict",
        find: "if is_long && self.earlier",
        replace: "if false && is_long && self.earlier",
        test: "-p touchline-feed --lib a_long_candidate_of_one_line_followed_by_the_old_epoch_is_a_conflict",
    },
    Mutant {
        name: "feed: a short forgery on one line is a conflict",
        find: "if is_long && self.earlier",
        replace: "if self.earlier",
        test: "-p touchline-feed --lib a_long_candidate_of_one_line_followed_by_the_old_epoch_is_a_conflict",
    },
    Mutant {
        name: "feed: an ended candidate contradicts a later reset",
        find: "if earlier_ended_first {",
        replace: "        if earlier_ended_first && false {",
        test: "-p touchline-feed --lib a_candidate_that_ended_before_a_reset_does_not_contradict_it",
    },
    Mutant {
        name: "feed: a late packet of a lost number starts a candidate",
        find: "if likeness == Likeness::Lost && sequence >= self.begun.sequence {",
        replace: "if false {",
        test: "-p touchline-feed --lib a_lost_packet_that_arrives_late_on_both_lines_is_dropped",
    },
    Mutant {
        name: "feed: one line confirms a conflicting packet",
        find: "let counts = !candidate.is_empty() && (candidate.is_shown() || !by_both);",
        replace: "let counts = !candidate.is_empty();",
        test: "-p touchline-feed --lib other_packets_of_one_line_hide_no_conflict",
    },
    Mutant {
        name: "feed: a replayed packet sets the clock",
        find: "receive_ns >= self.received_ns && self.ahead_ns",
        replace: "self.ahead_ns",
        test: "-p touchline-feed --lib a_replayed_packet_does_not_set_the_clock",
    },
];
