//! The `touchline` command: parses the arguments and runs the subcommand.

#![forbid(unsafe_code)]

#[cfg(feature = "lab")]
mod bench;
mod best_banks;
mod book;
mod books;
mod bus_users;
mod completions;
mod config;
mod counted;
#[cfg(feature = "lab")]
mod demo;
mod doctor;
mod export;
mod follow;
mod format;
mod fx;
mod gateway;
mod help;
mod interrupt;
mod journal;
mod ladder;
#[cfg(feature = "lab")]
mod load;
mod log;
mod metrics;
mod missing;
mod output;
#[cfg(test)]
mod pages;
mod paint;
mod place;
mod platform;
#[cfg(feature = "lab")]
mod print;
mod record;
mod recorder;
mod relay;
mod remote;
mod replay;
mod rm;
mod screen;
mod series;
#[cfg(feature = "lab")]
mod sim;
mod source;
mod stat;
mod states;
mod tail;
mod tape_place;
mod top;
mod tops;
mod version;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use output::Failure;
use std::process::ExitCode;

/// Market data handler: exchange packets to order books in shared memory.
#[derive(Debug, Parser)]
#[command(
    name = "touchline",
    version = version::LONG,
    after_help = AFTER_HELP,
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "lab")]
    Demo(demo::Arguments),
    Gateway(gateway::Arguments),
    Follow(follow::Arguments),
    Relay(relay::Arguments),
    Record(recorder::Arguments),
    Replay(replay::Arguments),
    Definitions(replay::definitions::Arguments),
    Export(export::Arguments),
    Fx(fx::Arguments),
    Journal(journal::Arguments),
    Tail(tail::Arguments),
    Book(book::Arguments),
    Stat(stat::Arguments),
    Rm(rm::Arguments),
    #[cfg(feature = "lab")]
    Sim(sim::Arguments),
    Top(top::Arguments),
    Metrics(metrics::Arguments),
    Doctor(doctor::Arguments),
    Config(config::Arguments),
    #[cfg(feature = "lab")]
    Bench(bench::Arguments),
    #[cfg(feature = "lab")]
    Load(load::Arguments),
    Completions(completions::Arguments),
    Help(help::Arguments),
}

macro_rules! after_help {
    ($start:literal) => {
        concat!(
            "Exit status:
  0  done
  1  the run failed: input damaged or missing, output not writable, result wrong
  2  bad arguments or configuration

",
            $start,
            "`touchline COMMAND --help` describes a command,
`touchline help settings` every setting of a configuration, `help counters` every counter,
`help events` every event of the log."
        )
    };
}

#[cfg(feature = "lab")]
const AFTER_HELP: &str = after_help!("Start with `touchline demo`. ");
#[cfg(not(feature = "lab"))]
const AFTER_HELP: &str =
    after_help!("`demo`, `sim`, `bench` and `load` are in the package touchline-lab.\n");

/// The argument is a command that this program is built without.
#[cfg(not(feature = "lab"))]
fn of_lab(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let Some(ContextValue::String(command)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    ["demo", "sim", "bench", "load"]
        .contains(&command.as_str())
        .then(|| {
            format!(
                "{command} is a command of the package touchline-lab: run `touchline-lab {command}`"
            )
        })
}

fn main() -> ExitCode {
    version::build().state();
    interrupt::report_file_limit();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    if let Err(failure) = platform::check() {
        return failure.report();
    }
    let outcome = match arguments.command {
        #[cfg(feature = "lab")]
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Gateway(arguments) => {
            platform::check_clock();
            gateway::run(&arguments)
        }
        Command::Follow(arguments) => follow::run(&arguments),
        Command::Relay(arguments) => {
            platform::check_clock();
            relay::run(&arguments)
        }
        Command::Record(arguments) => recorder::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Definitions(arguments) => replay::definitions::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Fx(arguments) => fx::run(&arguments),
        Command::Journal(arguments) => journal::run(&arguments),
        Command::Tail(arguments) => match arguments.of_engine() {
            Some(of) => fx::entries::follow(&of),
            None => tail::run(&arguments),
        },
        Command::Book(arguments) => book::run(&arguments),
        Command::Stat(arguments) => stat::run(&arguments),
        Command::Rm(arguments) => rm::run(&arguments),
        #[cfg(feature = "lab")]
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Metrics(arguments) => metrics::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments, Arguments::command()),
        Command::Help(arguments) => help::run(&arguments, Arguments::command()),
        #[cfg(feature = "lab")]
        Command::Bench(arguments) => {
            platform::check_clock();
            bench::run(&arguments)
        }
        #[cfg(feature = "lab")]
        Command::Load(arguments) => {
            platform::check_clock();
            load::run(&arguments)
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints help and version as they are, and a bad argument as one line, like every other error.
fn refuse(error: &clap::Error) -> ExitCode {
    let is_help =
        !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help {
        // Standard output may be closed.
        let _ = error.print();
        return ExitCode::from(error.exit_code() as u8);
    }
    #[cfg(not(feature = "lab"))]
    if let Some(said) = of_lab(error) {
        return Failure::usage(said).report();
    }
    Failure::usage(one_line(&error.to_string())).report()
}

/// The message of the argument parser without its usage line.
fn one_line(text: &str) -> String {
    let said = text.trim_start_matches("error: ").lines().map(str::trim);
    let mut line = String::new();
    for part in said.take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more"))
    {
        let separator = match part {
            "" => continue,
            _ if line.is_empty() => "",
            _ if part.starts_with("tip:") => "; ",
            _ => " ",
        };
        line.push_str(separator);
        line.push_str(part);
    }
    line + "; see --help"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_of_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    /// The commands that `ops/` starts, in units and in containers, exist in this version.
    #[test]
    fn the_commands_of_units_and_containers_parse() {
        let ops = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ops");
        let read = |name: &str| std::fs::read_to_string(ops.join(name)).expect(name);
        let mut commands = Vec::new();
        for unit in [
            "touchline-gateway@.service",
            "touchline-metrics.service",
            "touchline-record@.service",
            "touchline-relay@.service",
        ] {
            let text = read(&format!("systemd/{unit}"));
            let start = text
                .lines()
                .find_map(|line| line.strip_prefix("ExecStart=/usr/bin/touchline "));
            // An instance for `%i`.
            let start = start.expect(unit).replace("%i", "cme-340");
            let words = start.split_whitespace().map(str::to_owned);
            commands.push(words.collect::<Vec<_>>());
        }
        for line in read("container/compose.yml").lines() {
            if let Some(command) = line.trim_start().strip_prefix("command: ") {
                commands.push(serde_json::from_str(command).expect(command));
            }
        }
        assert_eq!(commands.len(), 7);
        for command in commands {
            let words = ["touchline".to_owned()].into_iter().chain(command.clone());
            let parsed = Arguments::try_parse_from(words);
            assert!(parsed.is_ok(), "{command:?}: {parsed:?}");
        }
    }

    #[test]
    fn a_refusal_is_one_line() {
        let refused = |arguments: &[&str]| {
            let error = Arguments::try_parse_from(arguments).expect_err("wrong arguments");
            one_line(&error.to_string())
        };
        let said = refused(&["touchline", "replay", "--bokos", "x"]);
        assert_eq!(
            said,
            "unexpected argument '--bokos' found; tip: a similar argument exists: '--books'; see --help"
        );
        let said = refused(&["touchline", "replay", "--join", "later"]);
        assert!(
            said.contains("[possible values: snapshot, natural]"),
            "{said}"
        );
        assert!(!said.contains('\n'), "{said}");
    }
}
