//! Counters and histograms, with the names that the exporter gives them.

use super::list::{self, Entry, Section};
use crate::metrics::names;
use crate::output::Failure;
use touchline_client::monitor::Description;
use touchline_gateway::live::LiveCounters;
use touchline_gateway::venues::VENUES;
use touchline_relay::{ReceiverCounters, SenderCounters};
use touchline_replication::{CopyCounters, SourceCounters};
use touchline_tape::RecorderCounters;
use touchline_transport::shm::{PublisherCounters, READER_HISTOGRAMS, ReaderCounters};
use touchline_types::CounterInfo;

/// Counters that are the same for every venue, by where they are counted.
const COUNTERS: &[(&str, &[CounterInfo])] = &[
    ("Gateway: books", touchline_gateway::Counters::TABLE),
    ("Live gateway", LiveCounters::TABLE),
    ("Publisher of a bus", PublisherCounters::TABLE),
    ("Relay that sends", SenderCounters::TABLE),
    ("Relay that receives", ReceiverCounters::TABLE),
    (
        "Composer, with those of the publisher and of banks' quotes (kind fx-bank)",
        touchline_fx_live::compose::Counters::TABLE,
    ),
    (
        "Trading engine, with those of a composer and of banks' quotes (kind fx-bank)",
        touchline_fx_live::execution::Counters::TABLE,
    ),
    (
        "Standby of a trading engine",
        touchline_fx_live::execution::StandbyCounters::TABLE,
    ),
    ("touchline record", RecorderCounters::TABLE),
    ("touchline journal receive", CopyCounters::TABLE),
    ("touchline journal send", SourceCounters::TABLE),
];

/// Histograms, and the prefix of their metrics.
const HISTOGRAMS: &[(&str, &str, &[CounterInfo])] = &[
    ("Histograms of a gateway", "", touchline_gateway::HISTOGRAMS),
    (
        "Histograms of a composer",
        "",
        touchline_fx_live::compose::HISTOGRAMS,
    ),
    (
        "Histograms of a trading engine",
        "",
        touchline_fx_live::execution::HISTOGRAMS,
    ),
    ("Histograms of a named reader", "reader_", READER_HISTOGRAMS),
];

/// The counters and histograms that have all of these words in place, names or meaning.
pub fn page(words: &[String]) -> Result<String, Failure> {
    let venues = VENUES.counters();
    let mut sections: Vec<Section> = venues
        .chunk_by(|(one, _), (next, _)| one == next)
        .map(|of_kinds| {
            let heading = format!("Gateway of kind {}", of_kinds[0].0.join(", "));
            let tables = of_kinds.iter().flat_map(|(_, table)| *table);
            section(&heading, tables.map(counter))
        })
        .collect();
    let common = COUNTERS.iter();
    sections.extend(common.map(|(heading, table)| section(heading, table.iter().map(counter))));
    let scores = touchline_fx_live::compose::ScoreCounters::TABLE.iter();
    let scores = scores.map(|info| labelled(info, "BANK:PAIR"));
    sections.push(section("Composer, for each bank and pair", scores));
    let banks = touchline_fx_live::compose::BankCounters::TABLE.iter();
    let banks = banks.map(|info| labelled(info, "BANK"));
    sections.push(section("Composer, for each bank", banks));
    let banks = touchline_fx_live::execution::BankCounters::TABLE.iter();
    let banks = banks.map(|info| labelled(info, "BANK"));
    sections.push(section("Trading engine, for each bank", banks));
    let alarms = touchline_fx_live::execution::AlarmCounters::TABLE.iter();
    let alarms = alarms.map(|info| labelled(info, "ALARM"));
    sections.push(section("Trading engine, for each alarm", alarms));
    // The metrics of a reader are of the exporter's own making.
    let reader = ReaderCounters::TABLE.iter();
    let reader = reader.map(|info| entry(vec![info.name.to_owned()], info));
    sections.push(section("Named reader, in a file of its own", reader));
    let histograms = HISTOGRAMS.iter().map(|(heading, prefix, table)| {
        let metric = |info: &CounterInfo| names::of_histogram(prefix, &described(info)).0;
        let entries = table.iter();
        section(
            heading,
            entries.map(|info| entry(vec![info.name.to_owned(), metric(info)], info)),
        )
    });
    sections.extend(histograms);
    list::page(("counters", "counter"), &sections, words)
}

fn section(heading: &str, entries: impl Iterator<Item = Entry>) -> Section {
    Section {
        heading: heading.to_owned(),
        entries: entries.collect(),
    }
}

fn counter(info: &CounterInfo) -> Entry {
    let shown = names::of_counter(&described(info));
    let line = shown.line.map(|line| format!("{{line=\"{line}\"}}"));
    let metric = shown.name + &line.unwrap_or_default();
    entry(vec![info.name.to_owned(), metric], info)
}

fn labelled(info: &CounterInfo, label: &str) -> Entry {
    let described = Description {
        name: format!("{}:{label}", info.name),
        ..described(info)
    };
    let metric = names::of_counter(&described).name;
    entry(vec![described.name, metric], info)
}

fn entry(names: Vec<String>, info: &CounterInfo) -> Entry {
    Entry {
        names,
        meaning: info.help.to_owned(),
        facts: format!("unit: {}", info.unit),
    }
}

fn described(info: &CounterInfo) -> Description {
    Description {
        name: info.name.to_owned(),
        unit: info.unit.to_owned(),
        help: info.help.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }

    /// Each line `name: "unit" = "Sentence.",` of a table in any crate is in the list.
    #[test]
    fn every_counter_of_the_workspace_is_listed() {
        let all = page(&[]).unwrap_or_else(|failure| panic!("{failure:?}"));
        let mut files = Vec::new();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        sources(&crates, &mut files);
        let mut counted = 0;
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source file");
            let Some((_, table)) = text.split_once("\ntouchline_types::counters! {") else {
                continue;
            };
            for line in table.lines().filter(|line| line.contains("\" = \"")) {
                let (name, _) = line.trim().split_once(": \"").expect("a counter");
                let forms = [",", "\n", ":BANK", ":ALARM"].map(|end| format!("\n  {name}{end}"));
                let listed = forms.iter().any(|form| all.contains(form));
                assert!(listed, "{name} of {}", file.display());
                counted += 1;
            }
        }
        assert!(counted > 250, "{counted} counters");
    }
}
