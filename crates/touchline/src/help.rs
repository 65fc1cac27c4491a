//! `touchline help`: the help of a command, and the list of settings.

mod settings;

use crate::output::{Failure, say};
use clap::Command;

/// Print the help of a command, or every setting of a gateway's configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// A command, as `fx run`; or `settings` and words to search for.
    #[arg(value_name = "WORD")]
    words: Vec<String>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline help gateway
  touchline help fx run
  touchline help settings              # every setting: meaning, values with unit, default
  touchline help settings replay       # settings with this word in name, table or meaning";

/// Runs the command; `program` is the complete command line interface.
pub fn run(arguments: &Arguments, mut program: Command) -> Result<(), Failure> {
    program.build();
    match arguments.words.as_slice() {
        [first, words @ ..] if first == "settings" => say(&settings::page(words)?),
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
