//! Settings of a gateway's configuration, in the words of docs/configuration.md.

use super::list::{self, Entry, Section};
use crate::output::Failure;
use touchline_gateway::config::{Setting, SettingsTable};
use touchline_gateway::venues::VENUES;

/// The settings that have all of these words in table, name or meaning.
pub fn page(words: &[String]) -> Result<String, Failure> {
    let sections = VENUES.settings().iter().map(section).collect::<Vec<_>>();
    list::page(("settings", "setting"), &sections, words)
}

fn section(table: &SettingsTable) -> Section {
    let name = match table.name {
        "" => "Above the first table".to_owned(),
        name => format!("[{name}]"),
    };
    Section {
        heading: match table.kinds {
            [] => name,
            kinds => format!("{name} of kind {}", kinds.join(", ")),
        },
        entries: table.settings.iter().map(entry).collect(),
    }
}

fn entry(setting: &Setting) -> Entry {
    let facts = [("values", setting.values()), ("default", setting.default())];
    let facts = facts.iter().filter(|(_, fact)| !fact.is_empty());
    let facts: Vec<String> = facts
        .map(|(name, fact)| format!("{name}: {fact}"))
        .collect();
    Entry {
        names: vec![setting.name.to_owned()],
        meaning: setting.meaning(),
        facts: facts.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_there_once() {
        let all = page(&[]).unwrap_or_else(|failure| panic!("{failure:?}"));
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
    }
}
