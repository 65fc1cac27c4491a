//! Faults of the file that a FIX session is kept in.

use super::Mutant;

/// Checksums, order of writes, what a start refuses, rewriting.
pub const STORE: &[Mutant] = &[
    Mutant {
        name: "fix store: a length is followed before it is verified",
        find: "(is_sound && head.length <= MESSAGE_BYTES_MAX)",
        replace: "(head.length <= MESSAGE_BYTES_MAX || is_sound)",
        test: "-p touchline-session --test session every_changed_byte",
    },
    Mutant {
        name: "fix store: a message with a wrong checksum is accepted",
        find: "if crc32(room) == head.message_sum {",
        replace: "if behind <= size {",
        test: "-p touchline-session --test session every_changed_byte",
    },
    Mutant {
        name: "fix store: a damaged last sent message is removed",
        find: "let is_unsent_last = behind == size && number >= slot.next_out;",
        replace: "let is_unsent_last = behind == size;",
        test: "-p touchline-session --test session a_last_message",
    },
    Mutant {
        name: "fix store: fewer messages than in the slots are accepted",
        find: "Found::End if next < slot.next_out => break Some(missing(next, &slot)),",
        replace: "",
        test: "-p touchline-session --test session every_cut",
    },
    Mutant {
        name: "fix store: a truncated record counts as not sent",
        find: "Found::Begun if next < slot.next_out => break Some(missing(next, &slot)),",
        replace: "Found::Begun if next < slot.next_out => break None,",
        test: "-p touchline-session --test session every_cut",
    },
    Mutant {
        name: "fix store: the slots are not updated",
        find: "self.write_slot(number + 1, self.slot.next_in, self.slot.epoch)",
        replace: "{\n            self.slot.next_out = number + 1;\n            Ok(())\n        }",
        test: "-p touchline-session --test session every_cut",
    },
    Mutant {
        name: "fix store: one valid slot is accepted",
        find: "let (even, odd) = (sound(1)?, sound(2)?);",
        replace: "let (even, odd) = match (sound(1), sound(2)) {\n        (Ok(even), Ok(odd)) => (even, odd),\n        (Ok(one), _) | (_, Ok(one)) => return Ok(one),\n        (Err(bad), _) => return Err(bad),\n    };",
        test: "-p touchline-session --test session every_changed_byte",
    },
    Mutant {
        name: "fix store: an empty file is a new store",
        find: "Ok(file) => file,\n            Err(Errno::NOENT) =>",
        replace: "            Ok(file) if file.metadata()?.len() > 0 => file,\n            Ok(_) | Err(Errno::NOENT) =>",
        test: "-p touchline-session --test session every_cut",
    },
    Mutant {
        name: "fix store: a record without its slot gets none at the start",
        find: "if slot.next_out > confirmed {",
        replace: "if slot.next_out > confirmed + 1 {",
        test: "-p touchline-session --test session repeated_crashes_leave",
    },
    Mutant {
        name: "fix store: an incomplete record stays in the file",
        find: "store.file.set_len(store.end)?;",
        replace: "",
        test: "-p touchline-session --test session an_incomplete_record_is_removed",
    },
    Mutant {
        name: "fix store: the file is renamed before its bytes are written",
        find: "Rewrite::write_head,\n            Rewrite::write_records,\n            Rewrite::synchronise,\n            Rewrite::rename,",
        replace: "Rewrite::rename,\n            Rewrite::write_head,\n            Rewrite::write_records,\n            Rewrite::synchronise,",
        test: "-p touchline-session --lib a_crash_after_any_step_leaves_a_complete_store",
    },
    Mutant {
        name: "fix store: an existing file of the name is replaced, whoever owns it",
        find: "if !has_name(old, self.folder, self.name)? =>",
        replace: "if !has_name(old, self.folder, self.name).is_ok() =>",
        test: "-p touchline-session --lib a_file_of_another_owner_is_not_replaced",
    },
    Mutant {
        name: "fix store: a rewritten file loses the offsets of its messages",
        find: "place.at = place.at - from + begin,",
        replace: "place.at = place.at - from + HEAD,",
        test: "-p touchline-session --lib the_size_of_a_store_is_bounded",
    },
    Mutant {
        name: "fix store: the file grows without limit",
        find: "let roomy = self.make_room(bytes);",
        replace: "        let roomy = Ok(());\n",
        test: "-p touchline-session --lib the_size_of_a_store_is_bounded",
    },
];
