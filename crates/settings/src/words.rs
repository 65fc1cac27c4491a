//! Words for a mistake: setting, value, accepted values, and the name that was probably meant.

use crate::document::{Document, below, item, parts};
use crate::error::{Found, Problem};
use crate::similar::nearest;
use crate::values::read_duration;
use toml::de::DeValue;

/// Documentation of the settings of a file, which mistakes quote.
#[derive(Clone, Copy)]
pub struct Manual<'a> {
    /// Where all settings are.
    pub place: &'a str,
    /// Clause that says where an example is.
    pub example: &'a str,
    /// Description of a setting by its table, empty above the first one, and its key.
    pub describe: &'a dyn Fn(&str, &str) -> Option<Description>,
    /// Clause that says where a key belongs that its table does not have.
    pub elsewhere: &'a dyn Fn(&str, &str) -> Option<String>,
}

/// Description of a setting.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// Meaning, of a few words.
    pub meaning: String,
    /// Clause with values, default, and the place of more; of a table, where an example is.
    pub values: String,
    /// Whether it is a table with a heading.
    pub is_table: bool,
}

/// Problem and fix.
type Text = (String, String);

const WHOLE_NUMBER: &str = "a whole number";
const TEXT: &str = "text in quotes";

impl<'a> Manual<'a> {
    /// A page that describes all settings and has an example.
    #[must_use]
    pub const fn page(place: &'a str) -> Manual<'a> {
        Manual {
            place,
            example: "the page of its settings has an example",
            describe: &|_, _| None,
            elsewhere: &|_, _| None,
        }
    }
}

impl std::fmt::Debug for Manual<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:?}", self.place)
    }
}

/// What the words of a mistake say of its place.
pub(crate) struct Words<'a> {
    manual: &'a Manual<'a>,
    /// Table of the key, or the table itself: keys joined by dots.
    table: String,
    /// `[table]` as the file has it.
    heading: String,
    /// Key of the setting; empty for a table.
    key: &'a str,
    /// Whether the value is a list of tables.
    is_list_of_tables: bool,
    is_table: bool,
    is_item: bool,
}

impl<'a> Words<'a> {
    pub fn new(document: &Document<'_>, path: &'a str, manual: &'a Manual<'a>) -> Words<'a> {
        let value = document.find(path).map(|(value, _)| value.get_ref());
        let is_table = value.is_some_and(DeValue::is_table);
        let items = value.and_then(DeValue::as_array);
        let is_list_of_tables =
            items.is_some_and(|items| items.iter().any(|item| item.get_ref().is_table()));
        let list = item(path).filter(|_| !is_table);
        let (table, key) = match list.unwrap_or(path).rsplit_once('.') {
            _ if is_table => (path, ""),
            Some(parts) => parts,
            None => ("", list.unwrap_or(path)),
        };
        Words {
            manual,
            heading: match is_list_of_tables {
                true => heading(&below(path, "0")),
                false => heading(table),
            },
            table: keys(table),
            key,
            is_list_of_tables,
            is_table,
            is_item: list.is_some(),
        }
    }

    pub fn of(&self, problem: &Problem) -> Text {
        match problem {
            Problem::Unknown(name, known) => self.unknown(name, known),
            Problem::Missing(name) => self.missing(name),
            Problem::NotAmong(found, among) => {
                not_among(&self.label(" "), found, among, self.manual)
            }
            Problem::Type(found, expected) => self.of_another_type(found, expected),
            Problem::Other(what) => self.refused(what),
        }
    }

    /// Text for the setting or the table, and what follows it.
    fn label(&self, behind: &str) -> String {
        match self.key {
            "" => format!("{}{behind}", self.heading),
            key if self.is_item => format!("an item of `{key}`{behind}"),
            key => format!("`{key}`{behind}"),
        }
    }

    fn describe(&self, name: &str) -> Description {
        let found = (self.manual.describe)(&self.table, name);
        found.unwrap_or_else(|| Description {
            values: format!("see {}", self.manual.place),
            ..Description::default()
        })
    }

    fn unknown(&self, name: &str, known: &[&'static str]) -> Text {
        let place = self.manual.place;
        let meant = nearest(name, known.iter().copied());
        if self.is_table || self.is_list_of_tables {
            let fix = match meant {
                Some(meant) => {
                    let meant = self.heading.replace(name, meant);
                    format!("did you mean {meant}? All tables are in {place}")
                }
                None => format!("all tables are in {place}"),
            };
            return (format!("unknown table `{name}`"), fix);
        }
        let what = format!("unknown setting `{name}` in {}", self.heading);
        let fix = if let Some(meant) = meant {
            format!("did you mean `{meant}`? All settings are in {place}")
        } else if let Some(other) = (self.manual.elsewhere)(&self.table, name) {
            format!("{other}; all settings are in {place}")
        } else {
            format!("it takes {}; all settings are in {place}", listed(known))
        };
        (what, fix)
    }

    fn missing(&self, name: &str) -> Text {
        let inside = match self.table.as_str() {
            "" => "the file",
            _ => &self.heading,
        };
        let described = self.describe(name);
        let what = match described.meaning.as_str() {
            _ if described.is_table => format!("{inside} has no table [{name}]"),
            "" => format!("{inside} has no `{name}`"),
            meaning => format!("{inside} has no `{name}`, {meaning}"),
        };
        (what, format!("add it; {}", described.values))
    }

    fn of_another_type(&self, found: &Found, expected: &str) -> Text {
        let key = self.key;
        let takes = match (expected_in_words(expected), found) {
            // For a number only the forbidden part is named.
            (WHOLE_NUMBER, Found::Integer(_)) => "a whole number from 0 up",
            (takes, _) => takes,
        };
        if self.is_list_of_tables && takes == "a table" {
            let what = format!("`{key}` is a list of tables");
            let fix = format!("write its heading with single brackets, [{key}]");
            return (what, fix);
        }
        if self.is_table && expected == "a sequence" {
            let what = format!("{} is a table, but must be a list", self.heading);
            let fix = format!("write its heading with double brackets, [{}]", self.heading);
            return (what, fix);
        }
        let is = match found {
            Found::Text(text) => format!("the text \"{text}\""),
            Found::Integer(number) => format!("the number {number}"),
            Found::Other(words) => words.clone(),
        };
        let fix = match found {
            Found::Text(text) if takes == WHOLE_NUMBER => number_meant(key, text),
            _ if takes == TEXT => Some("put it in quotes".to_owned()),
            _ => None,
        };
        let values = self.describe(key).values;
        let fix = fix.map_or(values.clone(), |fix| format!("{fix}; {values}"));
        (
            format!("{}is {is}, but must be {takes}", self.label(" ")),
            fix,
        )
    }

    /// Words of a check of the setting's type.
    fn refused(&self, what: &str) -> Text {
        let values = self.describe(self.key).values;
        match what.split_once(" is not in the range ") {
            // The documentation has the range, with its unit.
            Some((number, range)) => {
                let what = format!("{}is {number}, which is out of range", self.label(" "));
                match (self.manual.describe)(&self.table, self.key) {
                    Some(_) => (what, values),
                    None => (what, format!("give {range}; {values}")),
                }
            }
            None if what.starts_with("invalid IPv4 socket address") => {
                let what = format!("{}is not an IPv4 address with a port", self.label(" "));
                (what, values)
            }
            None => {
                let (what, fix) = match what.split_once("; ") {
                    Some((what, fix)) => (what, format!("{fix}; {values}")),
                    None => (what, values),
                };
                let what = what.lines().collect::<Vec<_>>().join(" ");
                (format!("{}{what}", self.label(": ")), fix)
            }
        }
    }
}

/// Words for a text that is none of some words; the label ends with a space.
#[must_use]
pub fn not_among(label: &str, found: &str, among: &[&str], manual: &Manual<'_>) -> Text {
    let list: Vec<String> = among.iter().map(|name| format!("\"{name}\"")).collect();
    let either = match list.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => list.concat(),
    };
    let what = format!("{label}is \"{found}\", but must be {either}");
    let place = manual.place;
    let fix = match nearest(found, among.iter().copied()) {
        Some(meant) => format!("did you mean \"{meant}\"? What each means is in {place}"),
        None => format!("what each means is in {place}"),
    };
    (what, fix)
}

/// Words for a line that is not TOML. Only a word or number of it is shown.
pub(crate) fn not_toml(line: &str, message: &str, manual: &Manual<'_>) -> Text {
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
    let fix = format!("correct this line; {}", manual.example);
    (format!("not valid TOML: {message}"), fix)
}

/// Problem of a line whose setting or table occurs further up. Only its name is shown.
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

/// Keys of a path, joined by dots.
fn keys(path: &str) -> String {
    let keys = parts(path).filter(|part| !part.bytes().all(|byte| byte.is_ascii_digit()));
    keys.collect::<Vec<_>>().join(".")
}

/// Heading of a table by its path.
fn heading(path: &str) -> String {
    match (keys(path), item(path)) {
        (keys, _) if keys.is_empty() => "the part above the first table".to_owned(),
        (keys, None) => format!("[{keys}]"),
        (keys, Some(_)) => format!("[[{keys}]]"),
    }
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.is_empty() {
        true => "no settings".to_owned(),
        false => names.join(", "),
    }
}

/// Type that serde expects.
fn expected_in_words(expected: &str) -> &str {
    match expected {
        "a string" | "a borrowed string" => TEXT,
        "path string" | "a path" => "a path in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        _ if expected.starts_with("struct ") => "a table",
        _ if expected.starts_with("enum ") => TEXT,
        "i64" | "i32" | "u64" | "u32" | "u16" | "u8" | "usize" => WHOLE_NUMBER,
        "f64" => "a number",
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
