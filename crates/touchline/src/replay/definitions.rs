//! `touchline definitions`: the instruments of a bus, a tape or captures as a table, which `replay --definitions` reads.

use super::of_channel::OfChannel;
use crate::missing;
use crate::output::{Failure, Output, STDOUT, notice};
use crate::place::{Place, bus_name};
use crate::record::Record;
use crate::tail::json;
use std::path::{Path, PathBuf};
use touchline_client::{Bus, Definition};
use touchline_gateway::config;
use touchline_gateway::venues::cme::{Capture, CmeConfig};
use touchline_tape::{Reader, Taped};
use touchline_transport::market::Item;
use touchline_transport::{Envelope, Local, Subscribe, SubscriptionEvent};
use touchline_types::Update;

/// Write the instruments of a bus, a tape or captures as a table.
///
/// One JSON line for each instrument with a definition, in the order of appearance. `replay --definitions` reads the table for a capture
/// or a tape without definitions.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of a bus; `touchline stat` lists them.
    #[arg(value_name = "BUS", value_parser = bus_name, conflicts_with_all = ["journal", "pcap"])]
    bus: Option<String>,
    #[command(flatten)]
    place: Place,
    /// A tape of `touchline record`: its directory.
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "pcap",
        help_heading = "Input"
    )]
    journal: Option<PathBuf>,
    /// The bus of the tape. Default: the first one.
    #[arg(long, value_name = "NAME", requires = "journal", value_parser = config::bus_name, help_heading = "Input")]
    tape_bus: Option<String>,
    /// Captures of a channel.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Input")]
    pcap: Vec<PathBuf>,
    #[command(flatten)]
    of_channel: OfChannel,
    /// The table: a file, or - for standard output.
    #[arg(long, value_name = "OUT", default_value = STDOUT)]
    output: PathBuf,
}

const AFTER_HELP: &str = "\
Examples:
  touchline definitions cme-340 --output definitions.jsonl
  touchline definitions --journal /data/cme-340 --output definitions.jsonl
  touchline definitions --config cme-340.toml --pcap a.pcap --output definitions.jsonl
  touchline replay --config cme-340.toml --pcap b.pcap --definitions definitions.jsonl

Table:
  The keys of a definition in `tail --json`, with the venue's security_id and the symbol.
  Prices are those of the venue: display_factor [1, 100] quotes 450025 as 4500.25. A key
  that is absent is not stated; depth null is every level of the venue.

Exit status:
  0  done
  1  the bus, the tape or a capture cannot be read, or defines no instrument
  2  bad arguments or configuration";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut output = Output::open(&arguments.output)?;
    let lines = match (&arguments.bus, &arguments.journal) {
        (Some(bus), _) => of_bus(&arguments.place, bus)?,
        (None, Some(directory)) => of_tape(directory, arguments.tape_bus.as_deref())?,
        (None, None) if arguments.pcap.is_empty() => {
            return Err(Failure::usage(
                "nothing is given to read; give a BUS, --journal DIR, or --pcap FILE... with the channel's configuration",
            ));
        }
        (None, None) => of_captures(&arguments.of_channel.read()?, &arguments.pcap)?,
    };
    if lines.is_empty() {
        return Err(Failure::run(
            "no instrument has a definition there; take a bus, a tape or a capture with the definition feed",
        ));
    }
    for line in &lines {
        output.line(line)?;
    }
    output.finish()
}

fn of_bus(place: &Place, bus: &str) -> Result<Vec<String>, Failure> {
    let root = place.root();
    let snapshot = Bus::options()
        .venue_prices(true)
        .directory(root.path())
        .snapshot(bus)
        .map_err(|error| missing::refused(&root, bus, error))?;
    let all = snapshot.instruments();
    let all = all.map(|instrument| snapshot.definition(instrument));
    all.filter_map(|definition| definition.map(line).transpose())
        .collect::<Result<_, _>>()
        .map_err(Failure::run)
}

/// A client that keeps definitions alone.
struct Definitions(Bus);

impl Definitions {
    fn new(instruments_max: usize) -> Definitions {
        let options = Bus::options().venue_prices(true).keep_books(false);
        Definitions(Bus::local(&options, "definitions", instruments_max, 0))
    }

    fn lines(&self) -> Vec<String> {
        let all = self.0.instruments();
        let all = all.filter_map(|instrument| self.0.definition(instrument).ok());
        all.filter_map(line).collect()
    }
}

impl Subscribe for Definitions {
    fn update(&mut self, envelope: &Envelope<'_>) {
        if let Update::Definition(_) = envelope.update {
            self.0.take(envelope);
            while self.0.poll().is_some() {}
        }
    }
}

/// Of the last publication that the tape has; a recorder may write the tape on, what it has now is read.
fn of_tape(directory: &Path, bus: Option<&str>) -> Result<Vec<String>, Failure> {
    let mut reader = Reader::open(directory, bus).map_err(Failure::run)?;
    reader.begin().map_err(Failure::run)?;
    let mut definitions = None;
    loop {
        let publication = reader.publication();
        let instruments_max = publication.map_or(0, |publication| publication.instruments_max);
        let taken = reader.poll(|item| match item {
            Item::Update(received) => {
                let definitions =
                    definitions.get_or_insert_with(|| Definitions::new(instruments_max));
                definitions.update(&Envelope {
                    sequence: received.sequence,
                    timestamps: &received.timestamps,
                    update: &received.update,
                });
            }
            Item::SubscriptionEvent(SubscriptionEvent::Restarted { .. }) => definitions = None,
            _ => {}
        });
        match taken.map_err(Failure::run)? {
            Taped::Given(()) | Taped::Passed => {}
            Taped::Nothing | Taped::End => break,
        }
    }
    Ok(definitions.map_or(Vec::new(), |definitions| definitions.lines()))
}

fn of_captures(config: &CmeConfig, captures: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let definitions = Definitions::new(config.limits.instruments_max);
    let mut capture =
        Capture::open(config.clone(), captures, Local::new(definitions)).map_err(Failure::run)?;
    while capture.step().map_err(Failure::run)? {}
    for truncation in capture.truncations() {
        notice(format_args!(
            "warning: {truncation}; the definitions before are written"
        ));
    }
    Ok(capture.publisher_mut().subscriber.lines())
}

/// The line of an instrument; `None` without a definition.
fn line(definition: &Definition) -> Option<String> {
    if !definition.is_defined {
        return None;
    }
    let mut line = String::new();
    let mut row = Record::json(&mut line);
    row.number("security_id", definition.security_id);
    row.text("symbol", definition.symbol.as_str());
    json::definition(&mut row, definition);
    row.end();
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_gateway::venues::read_definitions;
    use touchline_lab::updates::RandomUpdates;
    use touchline_testing::Folder;
    use touchline_types::{Depth, Instrument, InstrumentDefinition, Quantity, Symbol, Timestamps};

    const DEFINITION: usize = 7;

    /// A definition as a table can have it: with a symbol, and quantities of this side of 10^18.
    fn random_definition(updates: &mut RandomUpdates, security_id: i64) -> InstrumentDefinition {
        let Update::Definition(any) = updates.of_kind(DEFINITION) else {
            panic!("the kind of definitions has another number");
        };
        let mut definition = InstrumentDefinition {
            instrument: Instrument(security_id as u32),
            security_id,
            defined: true,
            quantity_exponent: any.quantity_exponent % 7,
            ..*any
        };
        if definition.symbol.is_empty() {
            definition.symbol = Symbol::new(b" A");
        }
        let reference = &mut definition.reference;
        for quantity in [
            &mut reference.lot,
            &mut reference.quantity_min,
            &mut reference.quantity_max,
        ] {
            if !quantity.is_null() {
                *quantity = Quantity(quantity.0 % 1_000_000_000_000);
            }
        }
        definition
    }

    /// Every field of a definition is read from the table with the value that was written.
    #[test]
    fn a_table_has_every_field_of_a_definition() {
        const COUNT: i64 = 300;
        for seed in 1..=3 {
            println!("seed {seed}");
            let mut updates = RandomUpdates::from_seed(seed, 4);
            let mut client = Definitions::new(COUNT as usize);
            let mut written = Vec::new();
            for security_id in 0..COUNT {
                let definition = random_definition(&mut updates, security_id);
                client.update(&Envelope {
                    sequence: 1,
                    timestamps: &Timestamps::default(),
                    update: &Update::Definition(&definition),
                });
                written.push(definition);
            }
            let folder = Folder::new("definitions-table");
            let path = folder.join("d.jsonl");
            std::fs::write(&path, client.lines().join("\n")).expect("our folder");
            let read = read_definitions([&path], None).expect("our table");
            assert_eq!(read.len(), COUNT as usize);
            for definition in written {
                let venue = definition.reference.venue;
                let known = read.find(venue, definition.security_id).expect("its line");
                let depth = Depth {
                    direct: 1,
                    implied: 1,
                };
                let undefined = InstrumentDefinition {
                    reference: definition.reference,
                    ..InstrumentDefinition::unknown(
                        definition.instrument,
                        definition.security_id,
                        depth,
                    )
                };
                assert_eq!(known.of(&undefined), definition);
            }
        }
    }
}
