//! The faults, by the broken part.

use super::{
    Mutant, access_control, bus, compose, confirmation, execution, first_use, fix, fix_session,
    fix_store, fx, fx_disputes, fx_orders, image, journal, market, names, orders, readiness, relay,
    ring, simulator, soaks, sockets, stalled,
};

/// All of them. The tests need nothing from outside the repository.
pub const ALL: &[&[Mutant]] = &[
    BOOKS,
    DEEP_BOOKS,
    PACKETS,
    PRICES,
    ORDERS,
    VISIBILITY,
    SESSIONS,
    SEGMENTS,
    bus::USERS,
    access_control::CONNECTIONS,
    first_use::FIRST_USE,
    super::hash::TABLES,
    fix::CODEC,
    ring::PROTOCOL,
    ring::ORDERINGS,
    image::PROTOCOL,
    image::ORDERINGS,
    image::READERS,
    sockets::RECEPTION,
    confirmation::CONTRADICTIONS,
    confirmation::STRAYS,
    confirmation::LINES,
    confirmation::SNAPSHOTS,
    fix_session::SESSION,
    names::NAMES,
    readiness::READINESS,
    orders::ORDERS,
    stalled::STALLED,
    simulator::SIMULATOR,
    market::MARKET,
    market::SHOWN,
    fix_store::STORE,
    execution::EXECUTION,
    compose::COMPOSE,
    fx::FX,
    fx_orders::FX_ORDERS,
    fx_disputes::FX_DISPUTES,
    journal::JOURNAL,
    relay::RELAY,
    soaks::SOAKS,
];

/// Books.
const BOOKS: &[Mutant] = &[
    Mutant {
        name: "book: the level beyond the depth stays",
        find: "if self.len == self.depth {",
        replace: "if self.len > self.depth {",
        test: "-p touchline-book --lib new_inserts_and_drops_beyond_the_depth",
    },
    Mutant {
        name: "book: implied levels go into the direct book",
        find: "few.implied[side.index()].apply(action",
        replace: "few.direct[side.index()].apply(action",
        test: "-p touchline-book --lib implied_and_direct_are_separate",
    },
    Mutant {
        name: "book: an unknown level at the end stays",
        find: "self.trim(steps);",
        replace: "",
        test: "-p touchline-book --lib deletes_move_levels_up_and_leave_the_last_one_empty",
    },
    Mutant {
        name: "book: orders of a price stay in order of arrival",
        find: "(price, priority, order_id)",
        replace: "(price, priority & 0, order_id)",
        test: "-p touchline-gateway --test gateway orders_of_a_price_are_sorted_by_priority",
    },
    Mutant {
        name: "book: removal of the first order removes the list",
        find: "NONE => *head = behind,",
        replace: "NONE => *head = NONE,",
        test: "-p touchline-book --lib order_books_equal_a_sorted_map",
    },
    Mutant {
        name: "book: a null quantity overwrites",
        find: "if !event.quantity.is_null() {",
        replace: "if true {",
        test: "-p touchline-gateway --test gateway null_fields_of_an_update_keep_the_old_value",
    },
];

/// Books of every level, and their way to readers.
const DEEP_BOOKS: &[Mutant] = &[
    Mutant {
        name: "deep book: a removed level does not set the truncation price",
        find: "self.truncated_from = Some(self.key(&self.room[self.begin]));",
        replace: "",
        test: "-p touchline-book --lib beyond_the_limit_the_book_stays_the_best_part_of_the_expected_books",
    },
    Mutant {
        name: "deep book: its memory is allocated as it grows",
        find: "room: Vec::with_capacity(levels_max * 2),",
        replace: "            room: Vec::new(),\n",
        test: "-p touchline-book --lib memory_is_reserved_at_once_and_written_as_levels_are_added",
    },
    Mutant {
        name: "deep book: a rejected level does not set the truncation price",
        find: "self.truncated_from = Some(key);",
        replace: "",
        test: "-p touchline-book --lib beyond_the_limit_the_book_stays_the_best_part_of_the_expected_books",
    },
    Mutant {
        name: "deep book: asks are ordered as bids",
        find: "turn: -(side as i64),",
        replace: "turn: 0,",
        test: "-p touchline-book --lib levels_are_found_by_their_price_best_first",
    },
    Mutant {
        name: "deep book: the second entry of a price replaces the first",
        find: "if !found || level.orders >= 0 {",
        replace: "        if !found || level.orders < 0 {",
        test: "-p touchline-book --lib entries_of_one_price_are_summed",
    },
    Mutant {
        name: "deep book: a change of one of several entries changes the level",
        find: "orders >= 0 || self.room[self.end - 1 - index].orders <= 1",
        replace: "orders >= 0 || index < self.len()",
        test: "-p touchline-book --lib entries_of_one_price_are_summed",
    },
    Mutant {
        name: "deep book: a quantity of zero is a level",
        find: "if level.quantity == Quantity::ZERO {",
        replace: "if false {",
        test: "-p touchline-book --lib changes_that_contradict_the_book_are_applied_where_possible_and_reported",
    },
    Mutant {
        name: "deep book: a level found far from the best is its neighbour",
        find: "levels.len() - worse - usize::from(found)",
        replace: "levels.len() - worse",
        test: "-p touchline-transport --test bus a_book_by_price_equals_a_simple_implementation",
    },
    Mutant {
        name: "native: a deep position is truncated to a byte",
        find: "self.deep_index.get().max(self.index.into())",
        replace: "self.index.into()",
        test: "-p touchline-types --test native every_update_is_read_back_from_one_message",
    },
    Mutant {
        name: "bus: a joining reader receives a download twice",
        find: "Some((told, _)) if !is_before(told, end) => Verdict::Skip",
        replace: "Some((told, _)) if told == end && told == 0 => Verdict::Skip",
        test: "-p touchline-transport --test bus a_download_is_reported_once_in_its_place",
    },
    Mutant {
        name: "bus: only the best half of a slot is copied",
        find: "begin..begin + count * ROW",
        replace: "begin..begin + count / 2 * ROW",
        test: "-p touchline-transport --test bus readers_have_every_level_after_every_message_whenever_they_join",
    },
];

/// Lines and numbers of packets.
const PACKETS: &[Mutant] = &[
    Mutant {
        name: "feed: the sequence is not checked",
        find: "let in_order = sequence == next &&",
        replace: "let in_order = sequence >= next &&",
        test: "-p touchline-feed --lib the_first_copy_wins_and_gaps_wait",
    },
    Mutant {
        name: "feed: a second copy is delivered",
        find: "is_copy.then_some(Verdict::Duplicate)",
        replace: "is_copy.then_some(Verdict::Deliver)",
        test: "-p touchline-feed --lib the_first_copy_wins_and_gaps_wait",
    },
    Mutant {
        name: "feed: a gap is never declared lost",
        find: "self.release_to = buffered.sequence;",
        replace: "",
        test: "-p touchline-feed --lib a_gap_is_lost_when_a_packet_behind_it_has_waited_long_enough",
    },
    Mutant {
        name: "feed: a loss does not affect the books",
        find: "self.lost = last;",
        replace: "",
        test: "-p touchline-gateway --test gateway after_a_lost_packet_a_book_is_gapped_until_it_is_confirmed",
    },
    Mutant {
        name: "feed: orders outlive a lost packet",
        find: "row.orders.known = false;",
        replace: "",
        test: "-p touchline-gateway --test gateway a_lost_packet_makes_the_orders_of_all_instruments_unknown",
    },
    Mutant {
        name: "feed: a channel reset is ignored",
        find: "self.reset(self.progress.packet(), self.progress.sending_ns(), out);",
        replace: "let _ = &out;",
        test: "-p touchline-gateway --test gateway a_channel_reset_empties_every_book_and_numbers_run_from_one",
    },
    Mutant {
        name: "feed: processing continues in the middle of a gap",
        find: "if awaited.missing == 0 {",
        replace: "if awaited.published {",
        test: "-p touchline-feed --lib an_overdue_gap_is_requested_and_processing_continues_when_it_is_filled",
    },
    Mutant {
        name: "feed: a replayed packet of another week is accepted",
        find: "asked && in_time &&",
        replace: "let _ = in_time;\n        asked &&",
        test: "-p touchline-feed --lib a_replayed_packet_was_sent_between_its_neighbours",
    },
    Mutant {
        name: "feed: a replay server may send without end",
        find: "match asked.packets - 1 > asked.last - asked.first {",
        replace: "match false {",
        test: "-p touchline-feed --lib an_invalid_answer_ends_the_session",
    },
    Mutant {
        name: "gateway: a dead replay server has no reconnect backoff",
        find: "backoff_ns\n",
        replace: "backoff_ns * 0\n",
        test: "-p touchline-gateway --test gateway connection_attempts_to_a_dead_server_are_limited",
    },
];

/// RptSeq and price snapshots.
const PRICES: &[Mutant] = &[
    Mutant {
        name: "feed: RptSeq is not checked",
        find: "rpt_seq == self.last_rpt.wrapping_add(1)",
        replace: "rpt_seq > self.last_rpt",
        test: "-p touchline-gateway --test gateway a_missing_number_empties_the_book",
    },
    Mutant {
        name: "feed: a gap does not empty the book",
        find: "if first || grows && self.missing() == Validity::Natural {",
        replace: "if false {",
        test: "-p touchline-gateway --test gateway a_missing_number_empties_the_book",
    },
    Mutant {
        name: "feed: a further gap does not empty a naturally refreshed book",
        find: "if first || grows && self.missing() == Validity::Natural {",
        replace: "if first {",
        test: "-p touchline-gateway --test gateway under_natural_refresh_the_emptied_book_is_filled_again",
    },
    Mutant {
        name: "feed: a snapshot that is too old is used",
        find: "if contiguous && reaches {",
        replace: "if true {",
        test: "-p touchline-gateway --test gateway a_snapshot_that_does_not_reach_the_queue_is_too_old",
    },
    Mutant {
        name: "feed: the queue is not replayed",
        find: "Work::Level(level) => out.push(Event::RebuildLevel(level)),",
        replace: "Work::Level(_) => {}",
        test: "-p touchline-gateway --test gateway the_queue_is_replayed_on_top_of_a_snapshot",
    },
    Mutant {
        name: "feed: what the snapshot contains is replayed",
        find: "entry.rpt_seq > snapshot.rpt_seq && entry.packet >= snapshot.snapshot_sequence",
        replace: "entry.packet >= snapshot.snapshot_sequence",
        test: "-p touchline-gateway --test gateway price_snapshots::changes_contained_in_a_snapshot_are_not_applied_again",
    },
    Mutant {
        name: "feed: a snapshot from before a reset is used",
        find: "sending_ns <= self.reset_ns",
        replace: "false",
        test: "-p touchline-gateway --test gateway a_snapshot_from_before_a_reset_is_ignored",
    },
    Mutant {
        name: "feed: an incomplete cycle counts as complete",
        find: "if self.seen != total {",
        replace: "if self.seen > total {",
        test: "-p touchline-gateway --test gateway an_incomplete_cycle_confirms_no_absent_instrument",
    },
    Mutant {
        name: "feed: a new depth is ignored",
        find: "if depth != old.depth && in_use {",
        replace: "if false {",
        test: "-p touchline-gateway --test gateway a_new_depth_of_a_book_in_use_starts_its_recovery",
    },
];

/// Order snapshots.
const ORDERS: &[Mutant] = &[
    Mutant {
        name: "feed: an order snapshot from before the loss is used",
        find: "snapshot_sequence >= self.lost.max(self.reset_at)",
        replace: "snapshot_sequence >= self.reset_at",
        test: "-p touchline-gateway --test gateway a_snapshot_from_before_the_loss_is_not_used",
    },
    Mutant {
        name: "feed: TransactTime of an order snapshot is ignored",
        find: "entry.transact_ns == chunk.transact_ns",
        replace: "entry.packet == chunk.snapshot_sequence",
        test: "-p touchline-gateway --test gateway a_snapshot_that_ends_at_another_event_is_refused",
    },
    Mutant {
        name: "feed: a negative quantity is a level",
        find: "if is_negative_level(&event) {",
        replace: "        if false {",
        test: "-p touchline-gateway --test gateway a_negative_quantity_makes_the_book_unknown",
    },
    Mutant {
        name: "feed: a negative quantity is an order",
        find: "if is_negative_order(&order) {",
        replace: "        if false {",
        test: "-p touchline-gateway --test gateway a_negative_quantity_makes_the_orders_unknown",
    },
    Mutant {
        name: "feed: a snapshot with a negative quantity is a book",
        find: "self.counters.quantities_negative += u64::from(!is_usable);",
        replace: "let is_usable = true;",
        test: "-p touchline-gateway --test gateway a_snapshot_with_a_negative_quantity_is_not_used",
    },
    Mutant {
        name: "feed: a definition without a depth makes a book of no level",
        find: "levels <= 0",
        replace: "levels < 0",
        test: "-p touchline-gateway --test gateway a_definition_without_a_depth_makes_no_live_empty_book",
    },
    Mutant {
        name: "feed: one chunk completes a snapshot",
        find: "assembly.missing = chunk.chunks;",
        replace: "assembly.missing = 1;",
        test: "-p touchline-gateway --test gateway every_chunk_is_needed_and_the_queue_is_replayed",
    },
];

/// Subscribers.
const VISIBILITY: &[Mutant] = &[
    Mutant {
        name: "gateway: changes are seen before the end of the event",
        find: "self.event_open = !end_of_event;",
        replace: "self.event_open = false;",
        test: "-p touchline-gateway --test gateway nothing_is_published_before_the_end_of_the_event",
    },
    Mutant {
        name: "gateway: a truncated event counts as complete",
        find: "whole: reason == FlushReason::EndOfEvent,",
        replace: "whole: true,",
        test: "-p touchline-gateway --test gateway a_lost_packet_truncates_the_open_event",
    },
    Mutant {
        name: "gateway: a truncated book stays live",
        find: "(FlushReason::Gap, Validity::Live) => Validity::Gapped,",
        replace: "(FlushReason::Gap, Validity::Live) => Validity::Live,",
        test: "-p touchline-gateway --test gateway a_lost_packet_truncates_the_open_event",
    },
    Mutant {
        name: "gateway: implied levels alone make a top",
        find: "touched.direct |= level.book == BookKind::Direct;",
        replace: "touched.direct = true;",
        test: "-p touchline-gateway --test gateway an_event_of_implied_levels_only_is_marked",
    },
    Mutant {
        name: "gateway: a recovered book is seen in the middle of an event",
        find: "self.event_open || ",
        replace: "",
        test: "-p touchline-gateway --test gateway a_recovered_book_is_not_shown_in_the_middle_of_an_event",
    },
];

/// Whole sessions notice, too: their oracles are worth nothing otherwise.
const SESSIONS: &[Mutant] = &[
    Mutant {
        name: "sessions: a lost packet is not reported",
        find: "out.push(Event::Lost { first, last, is_join, });",
        replace: "",
        test: "SEEDS=5 -p touchline --test system no_wrong_book_is_ever_live",
    },
    Mutant {
        name: "sessions: queued entries are lost",
        find: "out.push(Event::RebuildOrder(order));",
        replace: "let _ = order;",
        test: "SEEDS=5 -p touchline --test system recovery::books_recover_and_no_wrong_book_is_published",
    },
    Mutant {
        name: "sessions: packets behind a gap do not wait",
        find: "let in_order = sequence == next &&",
        replace: "let in_order = sequence >= next &&",
        test: "SEEDS=5 -p touchline --test system loss_on_one_line_at_a_time_changes_nothing_that_is_published",
    },
    Mutant {
        name: "sessions: RptSeq is not checked",
        find: "rpt_seq == self.last_rpt.wrapping_add(1)",
        replace: "rpt_seq > self.last_rpt",
        test: "SEEDS=5 -p touchline --test system the_reference_implementation_agrees_under_every_fault",
    },
];

/// Files of a bus, and counters.
const SEGMENTS: &[Mutant] = &[
    Mutant {
        name: "shm: files open to others are trusted",
        find: "if mode & !allowed != 0 {",
        replace: "if false {",
        test: "-p touchline-shm --test shm access_for_others_is_refused",
    },
    Mutant {
        name: "shm: the umask decides about modes",
        find: "rustix::fs::fchmod(&handle, Mode::from_raw_mode(self.file_mode(written_by)))?;",
        replace: "",
        test: "-p touchline-shm --test shm modes_are_exact_whatever_the_umask_is",
    },
    Mutant {
        name: "shm: hidden names are accepted",
        find: "} else if name.starts_with('.') {",
        replace: "} else if false {",
        test: "-p touchline-shm --test shm bus_names_cannot_leave_the_root",
    },
    Mutant {
        name: "shm: readers open for writing",
        find: "Access::Read => OFlags::RDONLY,",
        replace: "Access::Read => OFlags::RDWR,",
        test: "-p touchline-shm --test shm a_reader_maps_read_only_and_cannot_change_that",
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
        name: "shm: incomplete files are not removed",
        find: "remove_unfinished(&lock.directory)?;",
        replace: "",
        test: "-p touchline-shm --test shm a_killed_writer_leaves_no_obstacle_for_the_next",
    },
    Mutant {
        name: "shm: the file size limit raises a signal",
        find: "&& bytes > limit_bytes",
        replace: "&& false",
        test: "-p touchline-shm --test shm a_file_size_limit_is_an_error_and_not_a_signal",
    },
    Mutant {
        name: "shm: counters are read beyond their mapping",
        find: ".is_none_or(|end| end > words)",
        replace: ".is_none_or(|_| false)",
        test: "-p touchline-shm --lib a_truncated_table_is_not_read_beyond_its_end",
    },
    Mutant {
        name: "shm: buckets are wider than documented",
        find: "(value >> shift) as usize",
        replace: "((value >> shift) as usize & !1)",
        test: "-p touchline-shm --test shm quantiles_are_those_of_the_values_within_the_bound",
    },
    Mutant {
        name: "shm: names of counters clear the screen",
        find: "(b' '..=b'~').contains(byte)",
        replace: "*byte < 128",
        test: "-p touchline-shm --test shm tables_that_a_reader_would_reject_are_not_written",
    },
];
