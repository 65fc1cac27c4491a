//! Text of a configuration: its reading, and what none may contain: secrets, control characters and those that steer a terminal.

use super::ConfigError;
use super::secret::refuse_written;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};
use touchline_settings::{Mistake, Mistakes};
use touchline_types::text::{Visible, is_visible};

/// Longest configuration that is read.
const BYTES_MAX: u64 = 1024 * 1024;

/// Text of a configuration file; [`check_text`] is still to be made.
///
/// # Errors
/// As [`read_text`].
pub fn read_config(path: &Path) -> Result<String, ConfigError> {
    read_text(path, BYTES_MAX)
}

/// Text of a configuration that another one names.
///
/// # Errors
/// As [`read_config`], with the file's name.
pub fn read_file(path: &Path) -> Result<String, Mistakes> {
    read_config(path).map_err(|error| {
        let mistake = Mistake::new(error.line, "", (error.what, error.fix));
        Mistakes::one(path, mistake)
    })
}

/// Text of a file that a configuration names, in UTF-8, of at most `bytes_max` bytes.
///
/// # Errors
/// The file cannot be read, is not a file or a pipe with data, or is something else than a text of that length.
pub fn read_text(path: &Path, bytes_max: u64) -> Result<String, ConfigError> {
    touchline_net::input::read_text(path, bytes_max).map_err(|error| {
        let (what, fix) = match error.kind() {
            ErrorKind::InvalidData => (
                error.to_string(),
                "save it as UTF-8, without a byte order mark",
            ),
            ErrorKind::IsADirectory => (error.to_string(), "give the file in it"),
            ErrorKind::FileTooLarge | ErrorKind::InvalidInput | ErrorKind::TimedOut => {
                (error.to_string(), "give a configuration file")
            }
            _ => (
                format!("cannot read it: {error}"),
                "check the path and its permissions",
            ),
        };
        ConfigError {
            file: path.to_owned(),
            line: None,
            what,
            fix: fix.to_owned(),
        }
    })
}

/// Letters of a key in an error: a key of a file may have any length.
const SHOWN_MAX: usize = 64;

/// Refuses the text of a configuration that contains a secret or a character that is not visible. A text that is not TOML is left to the
/// parser that reads it.
///
/// # Errors
/// The line and the key, without the value.
pub fn check_text(path: &Path, text: &str) -> Result<(), ConfigError> {
    refuse_written(path, text)?;
    let Ok(document) = DeTable::parse(text) else {
        return Ok(());
    };
    let Some((key, place)) = in_table(document.get_ref()) else {
        return Ok(());
    };
    let before = text.get(..place.start).unwrap_or_default();
    Err(ConfigError {
        file: path.to_owned(),
        line: Some(1 + before.matches('\n').count() as u32),
        what: format!(
            "`{key}` has a control character or one that steers a terminal, which would end a field of a message or a line of the log"
        ),
        fix: "give printable characters".to_owned(),
    })
}

/// First key with a control character in itself or its value, and its place.
fn in_table(table: &DeTable<'_>) -> Option<(String, Range<usize>)> {
    let mut found: Vec<_> = table
        .iter()
        .filter_map(|(key, value)| {
            let name: &str = key.get_ref();
            if !name.chars().all(is_visible) {
                let shown: String = name.chars().take(SHOWN_MAX).collect();
                return Some((Visible(&shown).to_string(), key.span()));
            }
            let (inner, place) = in_value(value.get_ref(), value.span())?;
            let shown = || name.chars().take(SHOWN_MAX).collect();
            Some((inner.unwrap_or_else(shown), place))
        })
        .collect();
    found.sort_by_key(|(_, place)| place.start);
    found.into_iter().next()
}

/// Key below this value, if there is one, and place of the first control character.
fn in_value(value: &DeValue<'_>, place: Range<usize>) -> Option<(Option<String>, Range<usize>)> {
    match value {
        DeValue::String(text) => (!text.chars().all(is_visible)).then_some((None, place)),
        DeValue::Array(items) => items
            .iter()
            .find_map(|item| in_value(item.get_ref(), item.span())),
        DeValue::Table(table) => in_table(table).map(|(key, place)| (Some(key), place)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every string of every table and list, keys too; the error itself is printable, and has the line.
    #[test]
    fn control_characters_are_refused_wherever_they_are() {
        let file = Path::new("x.toml");
        for (text, line, key) in [
            ("a = 1\nsender = \"T\\u0001\"\n", 2, "sender"),
            ("[v]\nx = [\"a\", \"b\\n\"]\n", 2, "x"),
            ("[[s]]\n[[s]]\nt = { u = \"\\t\" }\n", 3, "u"),
            ("n = \"\"\"a\nb\"\"\"\n", 1, "n"),
            ("\"k\\u007f\" = 1\n", 1, "k\\u{7f}"),
            ("b = \"\\u0085\"\na = \"\\u0000\"\n", 1, "b"),
            ("b = \"x\u{202e}\"\n", 1, "b"),
        ] {
            let error = check_text(file, text).expect_err(text);
            assert_eq!(error.line, Some(line), "{error}");
            let words = format!("`{key}` has a control character");
            assert!(error.to_string().contains(&words), "{error}");
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
        for text in [
            "sender = \"T\\\\n\"\n",
            "sender = 'C:\\new'\n# \\u0001\n",
            "a = \"Zürich\" # é\n",
            "not TOML \u{1}",
        ] {
            assert_eq!(check_text(file, text), Ok(()), "{text}");
        }
        assert!(check_text(file, "password = \"x\"\n").is_err(), "a secret");
    }
}
