//! `touchline help`: the help of a command, and the lists of settings, counters, log events and names.

mod counters;
mod events;
mod list;
mod names;
mod settings;

use crate::output::{Failure, say};
use clap::Command;

/// Print the help of a command, every setting of a gateway's configuration, every counter, every log event or every name of the clients.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// A command, such as `fx run`; or `settings`, `counters`, `events` or `names`, and words to search for.
    #[arg(value_name = "WORD")]
    words: Vec<String>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline help gateway
  touchline help fx run
  touchline help settings              # every setting: meaning, values with unit, default
  touchline help settings replay       # settings with this word in name, table or meaning
  touchline help counters              # every counter and histogram: metric, meaning, unit
  touchline help counters packets_lost
  touchline help events                # every event of the log: meaning, level, fields, what to do
  touchline help events fx_alarm
  touchline help names                 # every word of the clients: constant in C, meaning, number
  touchline help names state";

/// Runs the command; `program` is the complete command line interface.
pub fn run(arguments: &Arguments, mut program: Command) -> Result<(), Failure> {
    program.build();
    match arguments.words.as_slice() {
        [first, words @ ..] if first == "settings" => say(&settings::page(words)?),
        [first, words @ ..] if first == "counters" => say(&counters::page(words)?),
        [first, words @ ..] if first == "events" => say(&events::page(words)?),
        [first, words @ ..] if first == "names" => say(&names::page(words)?),
        words => {
            let command = words.iter().try_fold(&mut program, |command, word| {
                let name = command.get_name().to_owned();
                let missing = || {
                    Failure::usage(format!(
                        "no command '{word}' of '{name}'; `touchline --help` lists the commands"
                    ))
                };
                command.find_subcommand_mut(word).ok_or_else(missing)
            })?;
            // Standard output may be closed.
            let _ = command.print_long_help();
            Ok(())
        }
    }
}
