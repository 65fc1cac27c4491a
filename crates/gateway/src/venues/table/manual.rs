//! The documentation of a gateway's settings, as mistakes of a configuration quote it.

use super::Venues;
use crate::config::{Guide, Setting, plain, settings, tables};
use touchline_settings::{Description, Manual};

/// Runs a reader with the documentation of a venue's settings.
pub(super) fn with<R>(venues: Venues, guide: &Guide, read: impl FnOnce(&Manual<'_>) -> R) -> R {
    read(&Manual {
        place: "`touchline help settings`",
        example: EXAMPLE,
        describe: &|table, name| describe(table, name, guide),
        elsewhere: &|table, name| elsewhere(table, name, venues, guide),
    })
}

/// Names in quotes, such as `"a" and "b"`.
pub(super) fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    names.join(" and ")
}

const EXAMPLE: &str = "`touchline config --example cme` prints an example";

fn describe(table: &str, name: &str, guide: &Guide) -> Option<Description> {
    let mut rows = rows(table, guide).into_iter();
    let row = rows.find(|row| row.name == name)?;
    let is_table = table.is_empty() && tables(guide).contains(&name);
    // Details follow after these characters.
    let meaning = plain(row.meaning);
    let meaning = meaning.split([':', ';']).next().unwrap_or_default();
    Some(Description {
        meaning: meaning.to_owned(),
        values: match row.default {
            "required" if is_table => EXAMPLE.to_owned(),
            _ => values(&row),
        },
        is_table,
    })
}

/// Accepted values of a setting, from the documentation.
fn values(row: &Setting) -> String {
    let mut words = match row.values {
        "" => String::new(),
        values => format!("values: {}; ", plain(values)),
    };
    words += &match row.default {
        "required" => String::new(),
        default => format!("default: {}; ", plain(default)),
    };
    format!("{words}see `touchline help settings {}`", row.name)
}

/// Text about the right place of a setting: this table of another venue, or another table.
fn elsewhere(table: &str, name: &str, venues: Venues, guide: &Guide) -> Option<String> {
    let has = |table: &str, guide: &Guide| rows(table, guide).iter().any(|row| row.name == name);
    if let Some(venue) = venues.0.iter().find(|venue| has(table, &venue.guide)) {
        return Some(format!("it is a setting of kind {}", quoted(venue.kinds)));
    }
    let mut tables = tables(guide).into_iter();
    Some(match tables.find(|table| has(table, guide))? {
        "" => "it belongs above the first table".to_owned(),
        table => format!("it belongs in [{table}]"),
    })
}

fn rows(table: &str, guide: &Guide) -> Vec<Setting> {
    match tables(guide).contains(&table) {
        true => settings(table, guide),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
