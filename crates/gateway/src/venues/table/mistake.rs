//! Errors of a configuration in the user's terms: setting, value, accepted values.
//!
//! The parser reports the place and its own message. The texts about a setting are those of the documentation, as in a
//! printed configuration.

use super::{Entry, Venues};
use crate::config::{ConfigError, Guide, Setting, plain, read_duration, settings, tables};
use crate::similar::nearest;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use touchline_types::text::Visible;

/// Problem and fix.
type Words = (String, String);

/// Explains an error of the parser; `venue` is the venue of the file, if known.
pub(super) fn explained(
    path: &Path,
    text: &str,
    venues: Venues,
    venue: Option<&'static Entry>,
    error: &toml::de::Error,
) -> ConfigError {
    let line = line_of(text, error.span());
    let message = error.message();
    let (what, fix) = match DeTable::parse(text) {
        Err(_) => no_toml(text.lines().nth(line - 1).unwrap_or_default(), message),
        Ok(document) => {
            // The span of a key missing above the first table is empty.
            let span = error.span().filter(|span| !span.is_empty());
            let place = span.and_then(|span| Place::find(document.get_ref(), &span));
            Mistake {
                place: place.unwrap_or_default(),
                venues,
                // If the venue is unknown, texts about common settings are taken from the first
                // one.
                guide: &venue.unwrap_or(&venues.0[0]).guide,
            }
            .words(message)
        }
    };
    refused(path, line, (what, fix))
}

/// Error: unknown kind of venue.
pub(super) fn unknown_kind(
    path: &Path,
    text: &str,
    venues: Venues,
    kind: &Spanned<String>,
) -> ConfigError {
    let mistake = Mistake {
        place: Place {
            table: "venue".to_owned(),
            key: Some("kind".to_owned()),
            ..Place::default()
        },
        venues,
        guide: &venues.0[0].guide,
    };
    let words = mistake.not_among(kind.get_ref(), venues.kinds().collect());
    refused(path, line_of(text, Some(kind.span())), words)
}

/// Names in quotes, such as `"a" and "b"`.
pub(super) fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    names.join(" and ")
}

/// Line on which a span starts, from 1.
fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start);
    let before = &text.as_bytes()[..start.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

fn refused(path: &Path, line: usize, (what, fix): Words) -> ConfigError {
    ConfigError {
        file: path.to_owned(),
        line: Some(line as u32),
        what: one_line(&what),
        fix: one_line(&fix),
    }
}

/// Maximum length of an error: a key or text in the file may have any length.
const LETTERS_MAX: usize = 500;

fn one_line(text: &str) -> String {
    let letters: String = text.chars().take(LETTERS_MAX).collect();
    Visible(&letters).to_string()
}

/// Place of a span in the file.
#[derive(Debug, Default)]
struct Place {
    /// Table, as in its heading; empty above the first one.
    table: String,
    /// Setting in it; `None` for the table itself.
    key: Option<String>,
    /// Whether the value of the setting is a table, or a list of some.
    is_table: bool,
    /// Whether the value is a list.
    is_list: bool,
    /// Whether the span is an item of that list.
    is_in_list: bool,
}

impl Place {
    /// Innermost setting or table that contains a span.
    fn find(table: &DeTable<'_>, span: &Range<usize>) -> Option<Place> {
        let is_around = |outer: Range<usize>| outer.start <= span.start && span.end <= outer.end;
        table.iter().find_map(|(key, value)| {
            let inner = match value.get_ref() {
                DeValue::Table(inner) => Some(inner),
                _ => None,
            };
            let items = match value.get_ref() {
                DeValue::Array(items) => Some(items),
                _ => None,
            };
            let is_table =
                |item: &Spanned<DeValue<'_>>| matches!(item.get_ref(), DeValue::Table(_));
            let own = || Place {
                table: String::new(),
                key: Some(key.get_ref().to_string()),
                is_table: is_table(value) || items.is_some_and(|items| items.iter().any(is_table)),
                is_list: items.is_some(),
                is_in_list: items.is_some() && value.span() != *span && key.span() != *span,
            };
            // A subtable need not be between the table's heading and the next one.
            match inner.map(|inner| Place::find(inner, span)) {
                _ if is_around(key.span()) => Some(own()),
                Some(Some(place)) => Some(place.inside(key.get_ref())),
                Some(None) if is_around(value.span()) => {
                    Some(Place::default().inside(key.get_ref()))
                }
                None if is_around(value.span()) => Some(own()),
                _ => None,
            }
        })
    }

    fn inside(self, outer: &str) -> Place {
        let table = match self.table.as_str() {
            "" => outer.to_owned(),
            inner => format!("{outer}.{inner}"),
        };
        Place { table, ..self }
    }

    fn heading(&self) -> String {
        match self.table.as_str() {
            "" => "the part above the first table".to_owned(),
            table => format!("[{table}]"),
        }
    }
}

/// An error at a place.
struct Mistake {
    place: Place,
    venues: Venues,
    guide: &'static Guide,
}

impl Mistake {
    /// Rewords the parser's message.
    fn words(&self, message: &str) -> Words {
        let key = self.key();
        if self.place.is_list && self.place.is_table && tables(self.guide).contains(&key) {
            let what = format!("`{key}` is a list of tables");
            return (
                what,
                format!("write its heading with single brackets, [{key}]"),
            );
        }
        let mut quoted = message.split('`').skip(1).step_by(2);
        let name = quoted.next().unwrap_or_default();
        let found = message
            .strip_prefix("invalid type: ")
            .or_else(|| message.strip_prefix("invalid value: "))
            .and_then(|rest| rest.split_once(", expected "));
        match found {
            _ if message.starts_with("unknown field") => self.unknown(name),
            _ if message.starts_with("missing field") => self.missing(name),
            _ if message.starts_with("unknown variant") => self.not_among(name, quoted.collect()),
            Some((found, expected)) => self.of_another_type(found, expected),
            None => self.of_another_value(message),
        }
    }

    /// Rewords messages of our own checks.
    fn of_another_value(&self, message: &str) -> Words {
        let what = match message.split_once(" is not in the range ") {
            // The range is part of the values, with its unit.
            Some((number, _)) => format!("{}is {number}, which is out of range", self.label(" ")),
            None if message == "wanted string or table" => {
                format!("{}must be {TEXT}", self.label(" "))
            }
            None if message.starts_with("invalid IPv4 socket address") => {
                format!("{}is not an IPv4 address with a port", self.label(" "))
            }
            None => format!("{}{message}", self.label(": ")),
        };
        (what, self.values(self.key()))
    }

    fn key(&self) -> &str {
        self.place.key.as_deref().unwrap_or_default()
    }

    /// Text for the setting, if the error is about one.
    fn label(&self, behind: &str) -> String {
        match &self.place.key {
            Some(key) if self.place.is_in_list => format!("an item of `{key}`{behind}"),
            Some(key) => format!("`{key}`{behind}"),
            None => format!("{}{behind}", self.place.heading()),
        }
    }

    fn unknown(&self, name: &str) -> Words {
        if self.place.is_table {
            let last = |table: &'static str| table.rsplit('.').next().unwrap_or(table);
            let meant = nearest(name, tables(self.guide).into_iter().map(last));
            let mut known = tables(self.guide).into_iter();
            let fix = match known.find(|table| Some(last(table)) == meant) {
                Some(table) => format!("did you mean [{table}]? All tables are in {GUIDE}"),
                None => format!("all tables are in {GUIDE}"),
            };
            return (format!("unknown table `{name}`"), fix);
        }
        let what = format!("unknown setting `{name}` in {}", self.place.heading());
        let own = names(&self.place.table, self.guide);
        let fix = if let Some(meant) = nearest(name, own.iter().copied()) {
            format!("did you mean `{meant}`? All settings are in {GUIDE}")
        } else if let Some(other) = self.other_home(name) {
            format!("{other}; all settings are in {GUIDE}")
        } else {
            format!("it takes {}; all settings are in {GUIDE}", listed(&own))
        };
        (what, fix)
    }

    /// Text about the right place of this setting: this table of another venue, or another table.
    fn other_home(&self, name: &str) -> Option<String> {
        let has_it = |venue: &&Entry| names(&self.place.table, &venue.guide).contains(&name);
        if let Some(venue) = self.venues.0.iter().find(has_it) {
            return Some(format!("it is a setting of kind {}", quoted(venue.kinds)));
        }
        let mut tables = tables(self.guide).into_iter();
        let table = tables.find(|table| names(table, self.guide).contains(&name))?;
        Some(match table {
            "" => "it belongs above the first table".to_owned(),
            table => format!("it belongs in [{table}]"),
        })
    }

    fn missing(&self, name: &str) -> Words {
        let inside = match self.place.table.as_str() {
            "" => "the file".to_owned(),
            _ => self.place.heading(),
        };
        if self.place.table.is_empty() && tables(self.guide).contains(&name) {
            let what = format!("{inside} has no table [{name}]");
            return (what, format!("add it; {EXAMPLE}"));
        }
        let row = setting(&self.place.table, name, self.guide);
        let meaning = row.map_or(String::new(), |row| plain(row.meaning));
        // Details follow after these characters.
        let meaning = meaning.split([':', ';']).next().unwrap_or_default();
        let what = format!("{inside} has no `{name}`, {meaning}");
        (what, format!("add it; {}", self.values(name)))
    }

    fn not_among(&self, name: &str, among: Vec<&str>) -> Words {
        let list: Vec<String> = among.iter().map(|name| format!("\"{name}\"")).collect();
        let what = format!(
            "{}is \"{name}\", but must be {}",
            self.label(" "),
            either(&list)
        );
        let fix = match nearest(name, among) {
            Some(meant) => format!("did you mean \"{meant}\"? What each means is in {GUIDE}"),
            None => format!("what each means is in {GUIDE}"),
        };
        (what, fix)
    }

    fn of_another_type(&self, found: &str, expected: &str) -> Words {
        let (is, text) = found_in_words(found);
        let takes = expected_in_words(expected);
        let key = self.key();
        let takes = match takes {
            // For a number only the forbidden part is named.
            WHOLE_NUMBER if found.starts_with("integer") => "a whole number from 0 up",
            takes => takes,
        };
        let fix = match text {
            Some(text) if takes == WHOLE_NUMBER => number_meant(key, text),
            None if takes == TEXT => Some("put it in quotes".to_owned()),
            _ => None,
        };
        let values = self.values(key);
        let fix = fix.map_or(values.clone(), |fix| format!("{fix}; {values}"));
        (
            format!("{}is {is}, but must be {takes}", self.label(" ")),
            fix,
        )
    }

    /// Accepted values of a setting, from the documentation.
    fn values(&self, name: &str) -> String {
        let Some(setting) = setting(&self.place.table, name, self.guide) else {
            return format!("see {GUIDE}");
        };
        let mut words = match setting.values {
            "" => String::new(),
            values => format!("values: {}; ", plain(values)),
        };
        words += &match setting.default {
            "required" => String::new(),
            default => format!("default: {}; ", plain(default)),
        };
        format!("{words}see `touchline help settings {name}`")
    }
}

const GUIDE: &str = "`touchline help settings`";
const EXAMPLE: &str = "`touchline config --example cme` prints an example";
const WHOLE_NUMBER: &str = "a whole number";
const TEXT: &str = "text in quotes";

fn names(table: &str, guide: &Guide) -> Vec<&'static str> {
    match tables(guide).contains(&table) {
        true => settings(table, guide)
            .iter()
            .map(|setting| setting.name)
            .collect(),
        false => Vec::new(),
    }
}

fn setting(table: &str, name: &str, guide: &Guide) -> Option<Setting> {
    if !tables(guide).contains(&table) {
        return None;
    }
    let mut all = settings(table, guide).into_iter();
    all.find(|setting| setting.name == name)
}

/// List of alternative values.
fn either(values: &[String]) -> String {
    match values {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => values.concat(),
    }
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.is_empty() {
        true => "no settings".to_owned(),
        false => names.join(", "),
    }
}

/// Name of a value's type, and the text if it is one.
fn found_in_words(found: &str) -> (String, Option<&str>) {
    let inner = found.split('`').nth(1).unwrap_or_default();
    let text = found
        .strip_prefix("string \"")
        .and_then(|rest| rest.strip_suffix('"'));
    let is = match (found, text) {
        (_, Some(text)) => format!("the text \"{text}\""),
        ("map", _) => "a table".to_owned(),
        ("sequence", _) => "a list".to_owned(),
        _ if found.starts_with("integer") || found.starts_with("floating point") => {
            format!("the number {inner}")
        }
        _ if found.starts_with("boolean") => inner.to_owned(),
        _ => found.to_owned(),
    };
    (is, text)
}

fn expected_in_words(expected: &str) -> &str {
    match expected {
        "a string" | "a borrowed string" | "string or table" => TEXT,
        "path string" | "a path" => "a path in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        _ if expected.starts_with("struct ") => "a table",
        "i64" | "i32" | "u64" | "u32" | "u16" | "usize" => WHOLE_NUMBER,
        other => other,
    }
}

/// The intended number of a text: a quoted number, or a duration for a key with a unit in its name.
fn number_meant(key: &str, text: &str) -> Option<String> {
    if text.parse::<i64>().is_ok() {
        return Some(format!("write `{key} = {text}`, without quotes"));
    }
    let unit_ns = match key.rsplit('_').find(|part| *part != "max")? {
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        _ => return None,
    };
    let ns = read_duration(text).ok()?.as_nanos();
    let is_whole = ns % unit_ns == 0;
    is_whole.then(|| format!("write `{key} = {}`, the unit is in the name", ns / unit_ns))
}

/// Error for a line that is not TOML. Only a word or number of it is shown.
fn no_toml(line: &str, message: &str) -> Words {
    if message.starts_with("duplicate key") {
        return (repeated(line), "remove one of the two".to_owned());
    }
    let is_word = |text: &&str| {
        let is_letter = |letter: char| letter.is_alphanumeric() || "_.-*".contains(letter);
        (1..=32).contains(&text.len()) && text.chars().all(is_letter)
    };
    let parts = line.split_once('=');
    let parts = parts.map(|(key, value)| (key.trim(), value.trim()));
    if let Some((key, value)) = parts.filter(|(key, value)| is_word(key) && is_word(value)) {
        let what = format!("`{key}` is text without quotes, {value}");
        let fix =
            number_meant(key, value).unwrap_or_else(|| format!("write `{key} = \"{value}\"`"));
        return (what, fix);
    }
    let message = message.lines().collect::<Vec<_>>().join(" ");
    let fix = format!("correct this line; {EXAMPLE}");
    (format!("not valid TOML: {message}"), fix)
}

/// Error for a line whose setting or table occurs further up. Only its name is shown.
fn repeated(line: &str) -> String {
    let line = line.trim();
    let name = line.trim_matches(['[', ']']).split('=').next();
    let name = name.unwrap_or_default().trim();
    let is_letter = |letter: char| letter.is_alphanumeric() || "_.-".contains(letter);
    match (1..=64).contains(&name.len()) && name.chars().all(is_letter) {
        true if line.starts_with('[') => format!("[{name}] occurs twice, first further up"),
        true => format!("`{name}` is set twice, first further up"),
        false => "this line repeats a setting or table from further up".to_owned(),
    }
}

#[cfg(test)]
mod tests;
