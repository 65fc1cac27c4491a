//! Faults of the FIX codec.

use super::Mutant;

/// What is a message, whose fields are whose, and what a value is.
pub const CODEC: &[Mutant] = &[
    Mutant {
        name: "fix: a wrong checksum is taken",
        find: "if stated != u32::from(S::sum(fields)) {",
        replace: "if stated > 255 {",
        test: "-p touchline-wire --test wire an_invalid_header_is_refused_at_its_first_invalid_byte",
    },
    Mutant {
        name: "fix: a length has no zeros before it",
        find: "tag_number(&digits[zeros..])",
        replace: "tag_number(&digits[zeros.min(0)..])",
        test: "-p touchline-wire --test wire zeros_before_the_length_of_data_are_read",
    },
    Mutant {
        name: "fix: zeros behind a number make it too large",
        find: "None if point &&",
        replace: "None if false &&",
        test: "-p touchline-wire --test wire numbers_that_do_not_fit_are_refused",
    },
    Mutant {
        name: "fix: anything may follow the ninth digit of a second",
        find: "if !cut.iter().all(u8::is_ascii_digit) {",
        replace: "    if false {",
        test: "-p touchline-wire --test wire any_number_of_digits_of_a_second_is_read",
    },
    Mutant {
        name: "fix: a date of zeros is invalid",
        find: "text == NO_DATE || date_parts(text).is_some()",
        replace: "date_parts(text).is_some()",
        test: "-p touchline-wire --test wire a_date_of_zeros_is_no_date",
    },
    Mutant {
        name: "fix: a message with a wrong length ends at its stated length",
        find: "let sum = position(bytes, end - TRAILER - 1, b\"\\x0110=\")?;",
        replace: "let sum = Some(end - TRAILER - 1).filter(|from| *from < bytes.len())?;",
        test: "-p touchline-wire --test wire garble",
    },
    Mutant {
        name: "fix: a checksum that has not arrived is not awaited",
        find: "None if bytes.len() < most => None,",
        replace: "None if bytes.len() < most => Some(bytes.len()),",
        test: "-p touchline-wire --test wire garble",
    },
    Mutant {
        name: "fix: data ends at the first separator",
        find: "Some(data) if data.tag == tag => data.length,",
        replace: "Some(data) if data.tag == tag => find(value).unwrap_or(data.length),",
        test: "-p touchline-wire --test wire valid_messages_are_accepted",
    },
    Mutant {
        name: "fix: market data finds entries inside of data",
        find: "if data_of(tag.number).is_some() {",
        replace: "        if data_of(tag.number) == Some(0) {",
        test: "-p touchline-wire --test wire wrong_group_counts_and_repeated_fields_are_errors",
    },
    Mutant {
        name: "fix: the second of two equal header fields is used",
        find: "if self.seen & bit != 0 {",
        replace: "        if false {",
        test: "-p touchline-wire --test wire repeated_header_fields_are_refused",
    },
    Mutant {
        name: "fix: a header field is accepted in the body",
        find: "if !is_body && is_header(tokens.tag(field)?.number) {",
        replace: "            if !is_body && tokens.tag(field)?.number == 0 {",
        test: "-p touchline-wire --test wire repeated_header_fields_are_refused",
    },
    Mutant {
        name: "fix: the number of entries is not checked",
        find: "if entries != wanted {",
        replace: "        if false {",
        test: "-p touchline-wire --test wire each_reject_reason_has_a_case",
    },
    Mutant {
        name: "fix: a field may occur twice",
        find: "if self.seen(at) {",
        replace: "        if false {",
        test: "-p touchline-wire --test wire each_reject_reason_has_a_case",
    },
    Mutant {
        name: "fix: digits beyond the precision are dropped",
        find: "value(high) * 100_000_000 + value(low)",
        replace: "value(high) * 100_000_000 + value(low) / 10 * 10",
        test: "-p touchline-wire --test wire words_and_vectors",
    },
    Mutant {
        name: "fix: a decimal point may have any neighbor",
        find: "(is_alone && (word >> place) as u8 == POINT)",
        replace: "((word >> place) as u8 == POINT)",
        test: "-p touchline-wire --lib parsing_by_words_equals_parsing_by_bytes",
    },
    Mutant {
        name: "fix: a venue's own tag may be empty",
        find: "0x00ff_f0f0_f0ff_ffff != 0 || self.bytes.len() < 8",
        replace: "0x00ff_f0f0_f0ff_ffff != 0",
        test: "-p touchline-wire --lib own_tags",
    },
    Mutant {
        name: "fix: the end of a message is searched at another offset",
        find: "self.tail >> (64 - rest.len())",
        replace: "self.tail >> (63 - rest.len())",
        test: "-p touchline-wire --test wire words_and_vectors",
    },
    Mutant {
        name: "fix: separators in data fields are indexed",
        find: "self.mask = 0;",
        replace: "",
        test: "-p touchline-wire --test wire an_iteration_returns_the_fields_of_a_simple_parser",
    },
    Mutant {
        name: "fix: a short message ends at another offset",
        find: "block[64 - bytes.len()..].copy_from_slice(bytes);",
        replace: "block[..bytes.len()].copy_from_slice(bytes);",
        test: "-p touchline-wire --test wire an_iteration_returns_the_fields_of_a_simple_parser",
    },
    Mutant {
        name: "fix: a quote contains the first field of the next one",
        find: "end.since(first.begin)",
        replace: "self.tokens.since(first.begin)",
        test: "-p touchline-wire --test wire mass_quotes_are_typed",
    },
];
