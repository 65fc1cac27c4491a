//! `touchline fx kill`: through the client's ring, or in a file, which nothing that another process does can stop.

use super::desk::To;
use crate::output::{Failure, say};
use clap::Args;
use touchline_client::fx;

/// Set the kill switch: every parent order ends, every order is canceled, nothing is sent.
///
/// A kill is never refused for its age or rate, and can be repeated: each one cancels again what has not
/// ended. If its ring cannot be used, or nobody answers within 100 ms, the kill is written to a file,
/// which the engine also reads when it starts.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx kill --as chief
  touchline fx kill --direct

Exit status: 0 set, 1 refused or not set yet, 2 bad arguments")]
pub struct KillArguments {
    /// Write it to a file at once, without the ring
    #[arg(long)]
    direct: bool,
    #[command(flatten)]
    to: To,
}

/// `fx kill`.
pub fn kill(arguments: &KillArguments) -> Result<(), Failure> {
    let (address, is_known) = arguments.to.place()?;
    let answer = fx::kill(&address, arguments.direct).map_err(|error| match error {
        fx::Error::KillWaits { untaken: None, .. } if !is_known => Failure::run(format!(
            "{error}, if it looks below {}: its configuration cannot be read here; give it (`--config FILE`)",
            address.ring_root.path().display()
        )),
        error => Failure::run(error),
    })?;
    say(&format!("{answer}\n"))
}
