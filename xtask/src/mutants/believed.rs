//! Faults of what is believed: packets that contradict, and snapshots that the stream has not reached.

use super::Mutant;

/// Packets that contradict what was processed.
pub const WITNESSES: &[Mutant] = &[
    Mutant {
        name: "feed: what is missing at the end is not said",
        find: "self.release_to = u64::MAX;",
        replace: "self.release_to = 0;",
        test: "-p touchline-feed --lib the_end_loses_every_gap",
    },
    Mutant {
        name: "feed: the first packet of all is believed alone",
        find: "let is_shown = self.distinct > 1 || self.agreed > 0;",
        replace: "let is_shown = true;",
        test: "-p touchline-feed --lib the_first_packet_of_all_needs_a_witness",
    },
    Mutant {
        name: "feed: a copy on the same line is a witness",
        find: "u32::from(self.lines[slot] | bit == 3 && self.lines[slot] != 3)",
        replace: "1",
        test: "-p touchline-feed --lib the_first_packet_of_all_needs_a_witness",
    },
    Mutant {
        name: "feed: a wrong first packet stays",
        find: "self.clear();\n            self.replaces = true;",
        replace: "            return false;\n",
        test: "-p touchline-feed --lib a_wrong_first_packet_is_replaced",
    },
    Mutant {
        name: "feed: one packet far ahead is believed",
        find: "Place::OutOfWindow => self.distinct > 1,",
        replace: "Place::OutOfWindow => true,",
        test: "-p touchline-feed --lib one_forged_packet_does_not_move_the_window",
    },
    Mutant {
        name: "feed: a packet far ahead is never believed",
        find: "Place::OutOfWindow => self.distinct > 1,",
        replace: "Place::OutOfWindow => false,",
        test: "-p touchline-gateway --test gateway a_second_packet_near_the_first_is_believed",
    },
    Mutant {
        name: "feed: one packet resets the numbering",
        find: "self.is_agreed() || is_alone && self.distinct >= ALONE_MIN;",
        replace: "true;",
        test: "-p touchline-feed --lib one_forged_reset_moves_nothing",
    },
    Mutant {
        name: "feed: a line alone resets nothing",
        find: "self.is_agreed() || is_alone && self.distinct >= ALONE_MIN;",
        replace: "self.is_agreed();",
        test: "-p touchline-feed --lib with_one_line_silent_it_takes_eight_numbers",
    },
    Mutant {
        name: "feed: a reset does not wait for its beginning",
        find: "is_shown && (self.lowest.sequence == 1 || age_ns >= wait_ns)",
        replace: "is_shown",
        test: "-p touchline-feed --lib a_reset_whose_beginning_is_lost_is_waited_for_and_leaves_nothing_known",
    },
    Mutant {
        name: "feed: a clock that is behind is believed at once",
        find: "let a_while = age_ns >= WAITS_MIN.saturating_mul(wait_ns);",
        replace: "let a_while = true;",
        test: "-p touchline-feed --lib a_restart_with_the_clock_behind_is_believed_after_a_while",
    },
    Mutant {
        name: "feed: a clock that is behind is never believed",
        find: "a_while && goes_on && (self.is_agreed() || is_alone)",
        replace: "a_while && is_alone && self.agreed > u32::MAX - 1",
        test: "-p touchline-feed --lib a_restart_with_the_clock_behind_is_believed_after_a_while",
    },
    Mutant {
        name: "feed: a line far behind the other sets the clock back",
        find: "let alone_ns = if other == 0 { 0 } else { BEHIND_NS_MAX };",
        replace: "let alone_ns = 0;",
        test: "-p touchline-feed --lib one_of_two_lines_alone_needs_a_minute_to_set_the_clock_back",
    },
    Mutant {
        name: "feed: a number that fits both is known",
        find: "candidate.set_ambiguous();",
        replace: "",
        test: "-p touchline-feed --lib a_reset_that_the_window_could_take_for_its_own_leaves_nothing_known",
    },
    Mutant {
        name: "feed: the next number is processed at any time",
        find: "sending_ns >= self.earliest_ns() && self.is_reached(sending_ns, receive_ns)",
        replace: "receive_ns < u64::MAX && sending_ns > 0",
        test: "-p touchline-feed --lib the_next_number_at_a_wrong_time_is_not_processed",
    },
    Mutant {
        name: "feed: what contradicts is never doubted",
        find: "self.warning = JumpWarning::Due;",
        replace: "",
        test: "-p touchline-feed --lib doubt_ends_with_the_next_packet",
    },
    Mutant {
        name: "feed: doubt never ends",
        find: "self.clock.pass(sending_ns, receive_ns);\n        self.warning = JumpWarning::None;",
        replace: "self.clock.pass(sending_ns, receive_ns);",
        test: "-p touchline-feed --lib doubt_ends_with_the_next_packet",
    },
    Mutant {
        name: "feed: doubtful books are live",
        find: "self.health.raise(Doubt::UnconfirmedJump);",
        replace: "",
        test: "-p touchline-gateway --test gateway a_restart_with_the_clock_behind_is_doubted_and_then_believed",
    },
    Mutant {
        name: "feed: two packets of one number are one",
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
        name: "feed: a reset without its beginning empties every book",
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
        name: "arbitration: what was processed is processed again",
        find: "Verdict::Deliver { from: next }",
        replace: "Verdict::Deliver { from: span.first }",
        test: "-p touchline-feed --lib each_number_counts_once_however_lines_cut_it",
    },
    Mutant {
        name: "arbitration: the session before comes back",
        find: "if self.former == Some(session) {",
        replace: "if false {",
        test: "-p touchline-feed --lib another_session_begins_anew",
    },
    Mutant {
        name: "arbitration: what is asked for and came in part counts as whole",
        find: ".filter(|number| !self.buffer.covers(*number))",
        replace: "",
        test: "-p touchline-feed --lib what_all_lines_lose_is_asked_for_once",
    },
];

/// Copies of long ago beside a reset.
pub const STRAYS: &[Mutant] = &[Mutant {
    name: "feed: what is of before a reset is a conflict",
    find: "&& sending_ns >= self.begun.sending_ns",
    replace: "",
    test: "-p touchline-feed --lib what_is_of_before_a_reset_is_no_conflict",
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
        name: "feed: a snapshot that waits is forgotten",
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
        name: "feed: a snapshot that was sent before what it holds is used",
        find: "let is_older = is_behind || is_before || ahead > 0 && sending_ns < newest.sending_ns;",
        replace: "let is_older = is_behind || is_before;",
        test: "-p touchline-gateway --test gateway a_snapshot_of_another_session_is_refused",
    },
    Mutant {
        name: "feed: a snapshot from before the first packet is used",
        find: "let is_older = is_behind || is_before || ahead",
        replace: "let is_older = is_before || ahead",
        test: "-p touchline-gateway --test gateway a_snapshot_from_before_the_first_packet_holds_nothing_of_it",
    },
    Mutant {
        name: "feed: any number of a snapshot is waited for",
        find: "|| ahead > arbiter.reach()",
        replace: "",
        test: "-p touchline-gateway --test gateway a_snapshot_of_another_session_is_refused",
    },
    Mutant {
        name: "feed: a snapshot of next year is used",
        find: "|| !arbiter.is_of_now(sending_ns, time.wall_ns)",
        replace: "",
        test: "-p touchline-gateway --test gateway a_snapshot_of_another_session_is_refused",
    },
    Mutant {
        name: "feed: a loop of next year hides the others",
        find: "if !is_of_now(cycle.start_ns()) {",
        replace: "if false {",
        test: "-p touchline-gateway --test gateway a_loop_from_the_future_hides_no_other",
    },
    Mutant {
        name: "feed: a loop outlives a reset",
        find: "self.cycles.abandon_snapshots();\n        out.push(Event::Reset);",
        replace: "out.push(Event::Reset);",
        test: "-p touchline-gateway --test gateway a_reset_abandons_the_loop_that_is_going_on",
    },
    Mutant {
        name: "feed: the oldest early snapshot does not give way",
        find: "min_by_key(|at| self.kept[*at].order)",
        replace: "max_by_key(|at| self.kept[*at].order)",
        test: "-p touchline-feed --lib with_no_room_the_oldest_goes",
    },
    Mutant {
        name: "feed: a capture's clock that steps back holds a hole for ever",
        find: "self.last_ns = time.mono_ns;",
        replace: "self.last_ns = self.last_ns.max(time.mono_ns);",
        test: "-p touchline-feed --lib a_clock_that_is_set_back_goes_on_from_there",
    },
    Mutant {
        name: "feed: a snapshot that waits outlives its numbering",
        find: "self.early.clear();",
        replace: "",
        test: "-p touchline-gateway --test gateway a_snapshot_that_waits_does_not_outlive",
    },
    Mutant {
        name: "feed: a candidate refuses what both lines bring",
        find: "if self.packets.contains(&other) {",
        replace: "if false && self.packets.contains(&other) {",
        test: "-p touchline-feed --lib an_epoch_that_ends_before_it_is_believed",
    },
    Mutant {
        name: "feed: a packet that one line brings twice is shown",
        find: "line: 1 - line,",
        replace: "line,",
        test: "-p touchline-feed --lib a_packet_is_shown_by_both_lines",
    },
    Mutant {
        name: "feed: what both lines brought is forgotten without a word",
        find: "other.began < next && (other.is_agreed || is_of_now)",
        replace: "other.began < next && other.is_agreed",
        test: "-p touchline-feed --lib what_both_lines_brought_is_not_forgotten",
    },
    Mutant {
        name: "feed: what one line brought is no less than what both did",
        find: "if self.ambiguous || self.agreed > 0 {",
        replace: "if self.distinct > 0 {",
        test: "-p touchline-feed --lib what_both_lines_brought_is_not_forgotten",
    },
    Mutant {
        name: "feed: what has ended is believed",
        find: "a_while && goes_on && (self.is_agreed()",
        replace: "a_while && (self.is_agreed()",
        test: "-p touchline-feed --lib what_has_ended_is_not_believed",
    },
    Mutant {
        name: "feed: what waits is delivered although another numbering was spoken for",
        find: "|| self.earlier.is_agreed() {",
        replace: "{",
        test: "-p touchline-feed --lib what_waits_is_of_no_epoch",
    },
    Mutant {
        name: "feed: a packet that denies what may be so is believed",
        find: "if std::mem::take(&mut self.denied) {",
        replace: "if std::mem::take(&mut self.denied) && false {",
        test: "-p touchline-feed --lib a_packet_that_denies_what_both_lines_brought",
    },
    Mutant {
        name: "feed: a reset is late where the clock was a little ahead",
        find: ".compare(sequence, sending_ns, bytes, next, self.delivered_ns)",
        replace: ".compare(sequence, sending_ns, bytes, next, self.clock.newest_ns)",
        test: "-p touchline-feed --lib a_reset_behind_a_clock_that_was_a_little_ahead",
    },
    Mutant {
        name: "feed: a forgotten packet of another time is one of now",
        find: "other.began < next && (other.is_agreed || is_of_now)",
        replace: "other.began < next",
        test: "-p touchline-feed --lib doubt_ends_with_the_next_packet",
    },
    Mutant {
        name: "feed: a forged packet of the highest number stops the feed",
        find: "self.next = snapshot_sequence.min().unwrap_or(u64::MAX);",
        replace: "self.next = snapshot_sequence.min().unwrap_or(u64::from(u32::MAX));",
        test: "-p touchline-feed --lib packets_wait_for_their_number",
    },
    Mutant {
        name: "feed: a packet of the same time and another length is a copy",
        find: "is_kept && sent.sending_ns == sending_ns && sent.bytes == bytes as u32",
        replace: "is_kept && sent.sending_ns == sending_ns",
        test: "-p touchline-feed --lib a_packet_of_the_same_time_and_another_length",
    },
    Mutant {
        name: "feed: what is forged a second ahead is denied by nothing",
        find: "< SAME_PLACE_NS",
        replace: "< SAME_PLACE_NS / 2",
        test: "-p touchline-feed --lib a_packet_a_second_ahead_is_denied",
    },
    Mutant {
        name: "feed: an exchange that begins anew begins with a packet of another time",
        find: "self.candidate.keep_agreed();",
        replace: "",
        test: "-p touchline-feed --lib what_one_line_alone_brings_is_no_beginning",
    },
    Mutant {
        name: "feed: the copy that was refused is not counted",
        find: "candidate.set_of_both(sequence);",
        replace: "",
        test: "-p touchline-feed --lib an_epoch_that_ends_before_it_is_believed",
    },
    Mutant {
        name: "feed: what began against the clock and has no room any more is believed by nobody",
        find: "Place::AgainstClock | Place::Inside => {",
        replace: "            Place::Inside => false,\n            Place::AgainstClock => {\n",
        test: "-p touchline-feed --lib a_clock_that_was_wrong_once_does_not_cost",
    },
    Mutant {
        name: "feed: a restart that is believed becomes a loss",
        find: "if self.jump.is_none() && !self.candidate.is_empty() && self.place() == Place::Inside {",
        replace: "if !self.candidate.is_empty() && self.place() == Place::Inside {",
        test: "-p touchline-feed --lib a_restart_stays_one",
    },
    Mutant {
        name: "feed: three packets of one line take the stream",
        find: "&& self.earlier.is_shown()",
        replace: "&& self.earlier.is_warning_due(Place::AgainstClock)",
        test: "-p touchline-feed --lib what_one_line_forges_a_little_behind",
    },
    Mutant {
        name: "feed: what is disputed fills what was asked for",
        find: "awaited.missing += gone;",
        replace: "",
        test: "-p touchline-feed --lib a_dispute_does_not_fill",
    },
    Mutant {
        name: "feed: what begins anew behind a late join is late",
        find: "sending_ns <= self.behind(sequence, next).unwrap_or(processed_ns)",
        replace: "sending_ns <= processed_ns",
        test: "-p touchline-feed --lib what_begins_anew_behind_a_late_join",
    },
    Mutant {
        name: "feed: a snapshot of long before a late join is used",
        find: "let is_older = is_behind || is_before || ahead",
        replace: "let is_older = is_behind || ahead",
        test: "-p touchline-gateway --test gateway a_snapshot_of_long_before_a_join_is_refused",
    },
    Mutant {
        name: "feed: what was sent after what waits behind it is of the same numbering",
        find: "&& self.is_in_order(lowest.sequence, lowest.sending_ns)",
        replace: "",
        test: "-p touchline-feed --lib what_both_lines_bring_takes_the_place",
    },
    Mutant {
        name: "feed: the first of two packets that wait under one number is believed",
        find: "if buffer.disputes(sequence, sending_ns, payload.len()) {",
        replace: "if buffer.disputes(sequence, sending_ns, payload.len()) && false {",
        test: "-p touchline-feed --lib of_two_packets_that_wait_under_one_number",
    },
    Mutant {
        name: "feed: an exchange that begins anew a second behind goes on in the old numbering",
        find: "let goes_on_earlier = self.goes_on_earlier(sequence, sending_ns, time);",
        replace: "let goes_on_earlier = false;",
        test: "-p touchline-feed --lib an_exchange_that_begins_anew_a_little_behind",
    },
    Mutant {
        name: "feed: what one line forged keeps its place before that of both lines",
        find: "let is_disputed = (window.buffer()).disputes(sequence, sending_ns, payload.len());",
        replace: "            let is_disputed = false;",
        test: "-p touchline-feed --lib what_both_lines_bring_takes_the_place",
    },
    Mutant {
        name: "feed: what comes late is forgotten",
        find: "let is_copy = sequence < next &&",
        replace: "let is_late = self.sent.compare(sequence, sending_ns, bytes, next, self.delivered_ns) == Likeness::Lost;\n        if sequence < next && is_late {\n            return Some(Verdict::Late);\n        }\n        let is_copy = sequence < next &&",
        test: "-p touchline-feed --lib what_comes_late_on_both_lines",
    },
    Mutant {
        name: "feed: no conflict is seen while others contradict",
        find: "if is_conflict && !self.is_spoken_for(sequence, sending_ns, time, true) {",
        replace: "if is_conflict && self.is_undisputed() {",
        test: "-p touchline-feed --lib a_conflict_is_one_also_while_others_contradict",
    },
    Mutant {
        name: "feed: a numbering is whole by two clocks",
        find: "is_shown && is_of_one_clock && !self.ambiguous",
        replace: "is_shown && !self.ambiguous",
        test: "-p touchline-feed --lib an_epoch_is_whole_by_one_clock_alone",
    },
    Mutant {
        name: "feed: snapshots of a numbering that is not believed are used",
        find: "|| is_of_next",
        replace: "",
        test: "SEED=6315 -p touchline --test system whoever_lies",
    },
    Mutant {
        name: "feed: snapshots of a clock that went back a little are refused",
        find: "let earliest_ns = begun.sending_ns.min(newest.sending_ns);",
        replace: "let earliest_ns = begun.sending_ns;",
        test: "-p touchline-gateway --test gateway snapshots_of_a_clock_that_went_back_a_little_are_used",
    },
    Mutant {
        name: "feed: how long a snapshot was kept does not count",
        find: "let came_before_ns = self.begun_at_ns.saturating_sub(now_ns);",
        replace: "let came_before_ns = self.begun_at_ns.min(now_ns);",
        test: "-p touchline-feed --lib a_snapshot_was_sent_as_long_before_a_join",
    },
    Mutant {
        name: "feed: a snapshot ahead of the stream says any time",
        find: "Timeliness::Due if ahead_ns <= SNAPSHOT_AHEAD_NS_MAX =>",
        replace: "Timeliness::Due if true || ahead_ns <= SNAPSHOT_AHEAD_NS_MAX =>",
        test: "-p touchline-gateway --test gateway a_snapshot_that_waited_was_sent_behind",
    },
    Mutant {
        name: "feed: snapshots that wait outlive a conflict",
        find: "self.early.clear();",
        replace: "",
        test: "SEED=3948 -p touchline --test system whoever_lies",
    },
    Mutant {
        name: "feed: behind a conflict what is heard of first is known to be empty",
        find: "self.known_from = 0;",
        replace: "",
        test: "SEED=788 -p touchline --test system the_reference_believes",
    },
    Mutant {
        name: "feed: a clock that is set in what is lost says nothing",
        find: "if behind.sending_ns < self.delivered_ns || self.clock.was_set_ahead(behind) {",
        replace: "if false {",
        test: "-p touchline-feed --lib a_loss_in_which_the_clock_was_set",
    },
    Mutant {
        name: "feed: what one line shows for long and goes on says nothing",
        find: "if is_long && self.earlier",
        replace: "if false && is_long && self.earlier",
        test: "-p touchline-feed --lib what_one_line_shows_for_long",
    },
    Mutant {
        name: "feed: what one line forges for a moment is a conflict",
        find: "if is_long && self.earlier",
        replace: "if self.earlier",
        test: "-p touchline-feed --lib what_one_line_shows_for_long",
    },
    Mutant {
        name: "feed: what ended before a reset is held against it",
        find: "if earlier_ended_first {",
        replace: "        if earlier_ended_first && false {",
        test: "-p touchline-feed --lib what_ended_before_a_reset",
    },
    Mutant {
        name: "feed: what was lost and comes late may be anything",
        find: "if likeness == Likeness::Lost && sequence >= self.begun.sequence {",
        replace: "if false {",
        test: "-p touchline-feed --lib what_was_lost_and_comes_late_on_both_lines",
    },
    Mutant {
        name: "feed: one line speaks for a packet that conflicts",
        find: "let counts = !candidate.is_empty() && (candidate.is_shown() || !by_both);",
        replace: "let counts = !candidate.is_empty();",
        test: "-p touchline-feed --lib what_one_line_brings_besides",
    },
    Mutant {
        name: "feed: what was replayed sets the clock",
        find: "receive_ns >= self.received_ns && self.ahead_ns",
        replace: "self.ahead_ns",
        test: "-p touchline-feed --lib what_was_replayed_sets_no_clock",
    },
];
