//! Settings of a gateway's configuration, in the words of docs/configuration.md.

use crate::output::Failure;
use std::fmt::Write;
use touchline_gateway::config::{Setting, SettingsTable};
use touchline_gateway::similar::nearest;
use touchline_gateway::venues::VENUES;

/// Columns of the text.
const WIDTH: usize = 100;

/// The settings that have all of these words in name, table or meaning.
pub fn page(words: &[String]) -> Result<String, Failure> {
    let tables = VENUES.settings();
    let mut page = String::new();
    for table in &tables {
        let chosen = table.settings.iter();
        let chosen: Vec<&Setting> = chosen.filter(|one| has(table, one, words)).collect();
        if chosen.is_empty() {
            continue;
        }
        let _ = writeln!(page, "{}", heading(table));
        for setting in chosen {
            describe(&mut page, setting);
        }
        page.push('\n');
    }
    if page.is_empty() {
        return Err(Failure::usage(nothing(&tables, words)));
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    Ok(page)
}

fn has(table: &SettingsTable, setting: &Setting, words: &[String]) -> bool {
    let text = format!("{} {} {}", table.name, setting.name, setting.meaning()).to_lowercase();
    words.iter().all(|word| text.contains(&word.to_lowercase()))
}

fn heading(table: &SettingsTable) -> String {
    let name = match table.name {
        "" => "Above the first table".to_owned(),
        name => format!("[{name}]"),
    };
    match table.kinds {
        [] => name,
        kinds => format!("{name} of kind {}", kinds.join(", ")),
    }
}

/// Name, meaning, values and default of a setting.
fn describe(page: &mut String, setting: &Setting) {
    let _ = writeln!(page, "  {}", setting.name);
    wrap(page, &setting.meaning());
    let facts = [("values", setting.values()), ("default", setting.default())];
    let facts = facts.iter().filter(|(_, fact)| !fact.is_empty());
    let facts: Vec<String> = facts
        .map(|(name, fact)| format!("{name}: {fact}"))
        .collect();
    if !facts.is_empty() {
        wrap(page, &facts.join("; "));
    }
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
    page.push('\n');
}

/// Error: no setting matches; names the nearest one.
fn nothing(tables: &[SettingsTable], words: &[String]) -> String {
    let names = tables.iter().flat_map(|table| &table.settings);
    let meant = words
        .first()
        .and_then(|word| nearest(word, names.map(|setting| setting.name)));
    let words = words.join(" ");
    match meant {
        Some(meant) => format!("no setting has '{words}' in it; did you mean '{meant}'?"),
        None => format!("no setting has '{words}' in it; `touchline help settings` lists all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<String, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        page(&words).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn every_table_is_there_once_and_no_line_is_long() {
        let all = of(&[]).expect("there are settings");
        for heading in [
            "Above the first table\n",
            "[venue] of kind cme\n",
            "[venue] of kind deribit, fix\n",
            "[venue.replay] of kind cme\n",
            "[venue.tls] of kind deribit, fix\n",
            "[limits] of kind cme\n",
            "[gateway]\n",
            "[publication.lossless]\n",
        ] {
            assert_eq!(all.matches(heading).count(), 1, "{heading}{all}");
        }
        assert!(
            all.lines().all(|line| line.chars().count() <= WIDTH),
            "{all}"
        );
        assert!(!all.contains('`') && !all.contains("]("), "{all}");
    }

    #[test]
    fn settings_are_selected_by_words() {
        let replay = of(&["attempts_max"]).expect("there is one");
        assert!(
            replay.starts_with("[venue.replay] of kind cme\n  attempts_max\n"),
            "{replay}"
        );
        assert!(replay.contains("values: 1 to 16; default: 3\n"), "{replay}");
        assert!(
            of(&["REPLAY", "attempts"])
                .expect("there is one")
                .contains("attempts_max")
        );
        let refused = of(&["attemps_max"]).expect_err("there is none");
        assert!(
            refused.contains("did you mean 'attempts_max'?"),
            "{refused}"
        );
    }
}
