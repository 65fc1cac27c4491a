//! Faults of the journal.

use super::Mutant;

/// The format, the tail and the writer of a journal.
pub const JOURNAL: &[Mutant] = &[
    Mutant {
        name: "journal: a directory that others may change is trusted",
        find: "match about.mode() & 0o077",
        replace: "match about.mode() & 0",
        test: "-p touchline-execution --test execution journal::a_directory_of_the_journal",
    },
    Mutant {
        name: "journal receive: one message may take for ever",
        find: "if took_ns > MESSAGE_NS",
        replace: "if took_ns == u64::MAX",
        test: "-p touchline --bin touchline a_message_that_never_comes_whole",
    },
    Mutant {
        name: "journal: a journal that was given up is closed in order",
        find: "if core.tail().state().0 == State::Running",
        replace: "if true",
        test: "-p touchline-journal --test journal full::a_journal_that_was_given_up_has_failed_for_the_next_start",
    },
    Mutant {
        name: "journal: a tail of an unknown version is taken for none",
        find: "tail::unknown_version(&mapping)",
        replace: "None::<u64>",
        test: "-p touchline-journal --test journal golden::a_tail_of_an_unknown_version_is_refused",
    },
    Mutant {
        name: "journal: unknown required features are ignored",
        find: "if required != 0 {",
        replace: "if required == u32::MAX {",
        test: "-p touchline-journal --test journal golden::unknown_formats_are_refused_by_their_numbers_in_one_line",
    },
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
        name: "journal: the end of a journal that is no copy is cleared",
        find: "if !is_copy && judgement.verdict != Verdict::Clean {",
        replace: "if !is_copy && judgement.verdict == Verdict::Damaged {",
        test: "-p touchline-journal --test journal replica::a_journal_that_is_no_copy",
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
        find: "let step = if is_copy { mark::EPOCHS_ELSEWHERE } else { 0 } + 1;",
        replace: "let step = if is_copy { 0 } else { 0 } + 1;",
        test: "-p touchline-journal --test journal replica::a_promoted_copy",
    },
    Mutant {
        name: "journal: a tail of this host speaks for the source of a copy",
        find: "let is_elsewhere = is_copy || tail.is_none_or(",
        replace: "let is_elsewhere = tail.is_none_or(",
        test: "-p touchline-journal --test journal replica::a_copy_that_comes_back",
    },
    Mutant {
        name: "journal send: with TLS every address is accepted",
        find: "!self.allow.is_empty() &&",
        replace: "self.tls.is_none() &&",
        test: "-p touchline --bin touchline other_hosts_than_the_allowed_ones_are_closed_before_a_handshake",
    },
    Mutant {
        name: "journal send: one address can take every place of pending connections",
        find: "*copy.from.ip() == from",
        replace: "false",
        test: "-p touchline --bin touchline connections_without_a_certificate_take_no_place_of_a_copy",
    },
    Mutant {
        name: "journal send: lines about refused connections are not limited",
        find: "JOURNAL_SEND_REFUSED = Warn Limited",
        replace: "JOURNAL_SEND_REFUSED = Warn Each",
        test: "-p touchline --bin touchline connections_without_a_certificate_take_no_place_of_a_copy",
    },
    Mutant {
        name: "journal: the end of the journal is announced when its records are sent",
        find: "let end = self.look_ahead();",
        replace: "self.look_ahead(); let end = self.position();",
        test: "-p touchline-journal --test journal replica::a_copy_knows_how_much_it_lacks",
    },
    Mutant {
        name: "journal: a copy at the limit is behind and has caught up with each record",
        find: "let limit = if self.is_behind { CAUGHT_UP_BYTES } else { BEHIND_BYTES };",
        replace: "let limit = BEHIND_BYTES;",
        test: "-p touchline --bin touchline a_copy_at_a_limit_changes_once",
    },
    Mutant {
        name: "journal receive: every attempt to connect is a line",
        find: "self.lost.as_ref() == Some(&reason)",
        replace: "self.lost.is_none() && reason.is_empty()",
        test: "-p touchline --bin touchline what_a_copy_lacks_is_known_when_its_source_is_gone",
    },
    Mutant {
        name: "journal: what an earlier source said is taken for a word of a later one",
        find: "source_status::remove(disk)?;",
        replace: "",
        test: "-p touchline-journal --test journal replica::the_start_of_a_copy",
    },
    Mutant {
        name: "journal: a failure is told to one start only",
        find: "tail.state().0 == State::Failed || tail.is_failure_open()",
        replace: "tail.state().0 == State::Failed",
        test: "-p touchline-journal --test journal a_journal_that_was_given_up",
    },
];
