//! Commands to a running exchange, one a line.

use super::fault::{Refused, Setting};
use std::str::FromStr;

/// Largest number of events a second.
pub const EVENTS_PER_SECOND_MAX: u64 = 1_000_000;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Adds a fault.
    Fault(Setting),
    /// Removes all faults.
    Clear,
    /// Sets the number of events a second.
    Rate(u64),
    /// Writes the current expected books.
    ExpectedBooks,
    /// Ends the exchange.
    Quit,
}

impl FromStr for Command {
    type Err = Refused;

    fn from_str(line: &str) -> Result<Command, Refused> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["clear"] => Ok(Command::Clear),
            ["truth"] => Ok(Command::ExpectedBooks),
            ["quit"] => Ok(Command::Quit),
            ["rate", events] => match events.parse() {
                Ok(events) if events <= EVENTS_PER_SECOND_MAX => Ok(Command::Rate(events)),
                _ => Err(Refused(format!(
                    "{events:?} is not a number from 0 to {EVENTS_PER_SECOND_MAX}"
                ))),
            },
            _ => line.parse().map(Command::Fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deribit::fault::Fault;

    #[test]
    fn lines_are_commands_or_refused() {
        let fault = Setting {
            fault: Fault::Skip,
            share: 1.0,
        };
        for (line, command) in [
            (" clear ", Command::Clear),
            ("rate 0", Command::Rate(0)),
            ("truth", Command::ExpectedBooks),
            ("quit", Command::Quit),
            ("skip 1", Command::Fault(fault)),
        ] {
            assert_eq!(line.parse(), Ok(command));
        }
        for wrong in ["", "rate", "rate -1", "rate 1000001", "truth now", "stop"] {
            assert!(wrong.parse::<Command>().is_err(), "{wrong}");
        }
    }
}
