//! `touchline completions`: completions of a shell, from the definition of the arguments.

use crate::output::{Failure, say};
use clap::Command;
use clap_complete::Shell;

/// Print the completions of a shell, for an installation from source; packages contain them.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

const AFTER_HELP: &str = "\
Examples:
  touchline completions bash > ~/.local/share/bash-completion/completions/touchline
  touchline completions zsh > ~/.zfunc/_touchline      # a folder of fpath
  touchline completions fish > ~/.config/fish/completions/touchline.fish

Exit status:
  0  done
  1  standard output cannot be written
  2  bad arguments";

/// Runs the command; `program` is the complete command line interface.
pub fn run(arguments: &Arguments, mut program: Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "touchline", &mut text);
    say(&String::from_utf8_lossy(&text))
}
