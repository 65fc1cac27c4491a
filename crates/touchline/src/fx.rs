//! `touchline fx`: a composite price from banks' quotes, and orders on it.

pub mod blotter;
mod compose;
pub mod config_text;
mod days;
mod desk;
pub mod entries;
mod explain;
mod follow;
mod kill;
mod lines;
pub mod numbers;
mod preset;
mod replay;
mod report;
mod run;
#[cfg(test)]
mod written;

use crate::output::Failure;
use clap::{Args, Subcommand};

/// FX: a composite price from banks' quotes, and orders on it.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compose(compose::Arguments),
    Preset(preset::Arguments),
    Replay(replay::Arguments),
    Run(run::Arguments),
    Blotter(blotter::Arguments),
    Report(report::Arguments),
    Explain(explain::Arguments),
    Send(desk::SendArguments),
    Cancel(desk::CancelArguments),
    Kill(kill::KillArguments),
    Lift(desk::LiftArguments),
    Enable(desk::EnableArguments),
    Resolve(desk::ResolveArguments),
    Book(desk::BookArguments),
    Promote(desk::PromoteArguments),
    Spot(days::SpotArguments),
    Calendar(days::HolidayArguments),
    Session(days::SessionArguments),
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Compose(arguments) => compose::run(arguments),
        Command::Preset(arguments) => preset::run(arguments),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Blotter(arguments) => blotter::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Send(arguments) => desk::send(arguments),
        Command::Cancel(arguments) => desk::cancel(arguments),
        Command::Kill(arguments) => kill::kill(arguments),
        Command::Lift(arguments) => desk::lift(arguments),
        Command::Enable(arguments) => desk::enable(arguments),
        Command::Resolve(arguments) => desk::resolve(arguments),
        Command::Book(arguments) => desk::book(arguments),
        Command::Promote(arguments) => desk::promote(arguments),
        Command::Spot(arguments) => days::spot(arguments),
        Command::Calendar(arguments) => days::calendar(arguments),
        Command::Session(arguments) => days::session(arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    /// Each command says how it is called and what its exit status means.
    #[test]
    fn every_command_has_an_example_and_its_exit_statuses() {
        let commands = [
            ("fx", Arguments::augment_args(Command::new("fx"))),
            (
                "relay",
                crate::relay::Arguments::augment_args(Command::new("relay")),
            ),
            #[cfg(feature = "lab")]
            (
                "sim",
                crate::sim::Arguments::augment_args(Command::new("sim")),
            ),
            (
                "journal",
                crate::journal::Arguments::augment_args(Command::new("journal")),
            ),
            #[cfg(feature = "lab")]
            (
                "bench",
                crate::bench::Arguments::augment_args(Command::new("bench")),
            ),
        ];
        for (name, command) in commands {
            let leaves: Vec<&Command> = match command.has_subcommands() {
                true => command
                    .get_subcommands()
                    .filter(|leaf| !leaf.is_hide_set())
                    .collect(),
                false => vec![&command],
            };
            assert!(!leaves.is_empty(), "{name}");
            for leaf in leaves {
                let help = leaf
                    .get_after_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let call = match command.has_subcommands() {
                    true => format!("touchline {name} {}", leaf.get_name()),
                    false => format!("touchline {name} "),
                };
                for part in [call.as_str(), "Example", "Exit status"] {
                    assert!(
                        help.contains(part),
                        "{name} {}: no {part:?} in {help:?}",
                        leaf.get_name()
                    );
                }
            }
        }
    }
}
