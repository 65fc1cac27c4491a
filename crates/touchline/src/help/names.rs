//! Words of the clients: kinds, states, actions and errors, with their constants in C and their numbers.

use super::list::{self, Entry, Section};
use crate::output::Failure;
use touchline_client::names::{Name, Names, TABLES};

/// The values that have all of these words in kind, name or meaning.
pub fn page(words: &[String]) -> Result<String, Failure> {
    let sections: Vec<Section> = TABLES.iter().map(section).collect();
    list::page(("names", "name"), &sections, words)
}

fn section(table: &Names) -> Section {
    Section {
        heading: table.about.to_owned(),
        entries: table.names.iter().map(|name| entry(table, name)).collect(),
    }
}

fn entry(table: &Names, name: &Name) -> Entry {
    Entry {
        names: vec![
            name.word.to_owned(),
            format!("{}_{}", table.prefix, name.word.to_uppercase()),
        ],
        meaning: name.about.to_owned(),
        facts: format!("number: {}", name.number),
    }
}
