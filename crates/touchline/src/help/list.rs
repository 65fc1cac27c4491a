//! Lists of help: named entries under headings, selected by words.

use crate::output::Failure;
use std::fmt::Write;
use touchline_settings::nearest;

/// Columns of the text.
const WIDTH: usize = 100;

/// Entries under a heading.
pub struct Section {
    /// Heading; a list of one section may have none.
    pub heading: String,
    /// Its entries.
    pub entries: Vec<Entry>,
}

/// Entry of a list. Words are searched in the heading, the names and the meaning.
pub struct Entry {
    /// Its names: the first is the one that a word is compared with.
    pub names: Vec<String>,
    /// Meaning.
    pub meaning: String,
    /// Further facts, in one line.
    pub facts: String,
}

/// The entries that have all of these words. `list` is the name of the list, `what` that of an entry.
pub fn page(
    (list, what): (&str, &str),
    sections: &[Section],
    words: &[String],
) -> Result<String, Failure> {
    let mut page = String::new();
    for Section { heading, entries } in sections {
        let chosen = entries.iter();
        let chosen: Vec<&Entry> = chosen.filter(|one| has(heading, one, words)).collect();
        if chosen.is_empty() {
            continue;
        }
        if !heading.is_empty() {
            let _ = writeln!(page, "{heading}");
        }
        for entry in chosen {
            let _ = writeln!(page, "  {}", entry.names.join(", "));
            wrap(&mut page, &entry.meaning);
            wrap(&mut page, &entry.facts);
        }
        page.push('\n');
    }
    if page.is_empty() {
        return Err(Failure::usage(nothing(list, what, sections, words)));
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    Ok(page)
}

fn has(heading: &str, entry: &Entry, words: &[String]) -> bool {
    let text = format!("{heading} {} {}", entry.names.join(" "), entry.meaning).to_lowercase();
    words.iter().all(|word| text.contains(&word.to_lowercase()))
}

fn wrap(page: &mut String, text: &str) {
    const INDENT: &str = "      ";
    let mut width = 0;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        match width {
            0 => page.push_str(INDENT),
            _ if width + 1 + letters > WIDTH => {
                page.push('\n');
                page.push_str(INDENT);
                width = 0;
            }
            _ => page.push(' '),
        }
        width += if width == 0 { INDENT.len() } else { 1 };
        page.push_str(word);
        width += letters;
    }
    if width > 0 {
        page.push('\n');
    }
}

/// Error: no entry matches; names the nearest one.
fn nothing(list: &str, what: &str, sections: &[Section], words: &[String]) -> String {
    let names = sections.iter().flat_map(|section| &section.entries);
    let names = names.filter_map(|entry| entry.names.first());
    let meant = words
        .first()
        .and_then(|word| nearest(word, names.map(String::as_str)));
    let words = words.join(" ");
    match meant {
        Some(meant) => format!("no {what} has '{words}' in it; did you mean '{meant}'?"),
        None => format!("no {what} has '{words}' in it; `touchline help {list}` lists all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list of this page, or the error.
    fn of(
        page: fn(&[String]) -> Result<String, Failure>,
        words: &[&str],
    ) -> Result<String, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        page(&words).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn no_line_is_long_and_none_has_markup() {
        let lists = [
            super::super::settings::page,
            super::super::counters::page,
            super::super::events::page,
            super::super::names::page,
        ];
        for list in lists {
            let all = of(list, &[]).expect("there are entries");
            assert!(
                all.lines().all(|line| line.chars().count() <= WIDTH),
                "{all}"
            );
            assert!(!all.contains('`') && !all.contains("]("), "{all}");
        }
    }

    #[test]
    fn entries_are_selected_by_words() {
        let replay = of(super::super::settings::page, &["attempts_max"]).expect("there is one");
        assert!(
            replay.starts_with("[venue.replay] of kind cme\n  attempts_max\n"),
            "{replay}"
        );
        assert!(replay.contains("values: 1 to 16; default: 3\n"), "{replay}");
        let both = of(super::super::settings::page, &["REPLAY", "attempts"]);
        assert!(both.expect("there is one").contains("attempts_max"));
        let refused = of(super::super::settings::page, &["attemps_max"]);
        let refused = refused.expect_err("there is none");
        assert!(
            refused.contains("did you mean 'attempts_max'?"),
            "{refused}"
        );
        let gap = of(super::super::events::page, &["gap_filled"]).expect("there is one");
        assert_eq!(
            gap,
            "  gap_filled\n      packets lost on both lines came from TCP replay; no book was lost\n      \
             INFO; fields: packets, source; do: nothing\n"
        );
        let gone = of(super::super::names::page, &["tl_state_closed"]).expect("there is one");
        assert_eq!(
            gone,
            "Validity of a book\n  closed, TL_STATE_CLOSED\n      The venue reports the instrument as closed.\n      \
             number: 5\n"
        );
        let lines = of(super::super::counters::page, &["touchline_line_packets"]);
        let lines = lines.expect("there are two");
        assert!(
            lines.starts_with(
                "Gateway of kind cme\n  packets_a, touchline_line_packets_total{line=\"a\"}\n"
            ),
            "{lines}"
        );
        assert!(lines.ends_with("unit: packets\n"), "{lines}");
    }
}
