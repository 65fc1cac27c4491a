//! Events of the log.

use super::list::{self, Entry, Section};
use crate::log::events::{EVENTS, Event};
use crate::output::Failure;

/// The events that have all of these words in name or meaning.
pub fn page(words: &[String]) -> Result<String, Failure> {
    let section = Section {
        heading: String::new(),
        entries: EVENTS.iter().map(|event| entry(event)).collect(),
    };
    list::page(("events", "event"), &[section], words)
}

fn entry(event: &Event) -> Entry {
    let fields = match event.fields {
        [] => String::new(),
        fields => format!("; fields: {}", fields.join(", ")),
    };
    Entry {
        names: vec![event.name.to_owned()],
        meaning: event.meaning.to_owned(),
        facts: format!("{}{fields}; do: {}", event.level.word(), event.action),
    }
}
