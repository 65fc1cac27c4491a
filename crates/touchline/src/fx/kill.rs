//! `touchline fx kill`: through the client's ring, or in a file, which nothing that another process does can stop.

use super::desk::{Desk, Place, Refused, To};
use crate::output::{Failure, say};
use clap::Args;
use std::time::Duration;
use touchline_fx::command::Command;
use touchline_fx_desk::ring_name;
use touchline_fx_desk::write_kill;
use touchline_transport::boot_ns;

/// Longest wait for the client's ring, which another process may have.
const RING: Duration = Duration::from_millis(50);
/// Longest wait for the answer to a kill in the ring. An engine that runs answers within milliseconds; without an answer the ring was
/// overrun or is not read, and the file follows.
const RING_ANSWER: Duration = Duration::from_millis(100);
/// Longest wait for the answer to a kill in a file.
const FILE_ANSWER: Duration = Duration::from_secs(1);

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
    let (to, place) = (&arguments.to, arguments.to.place()?);
    let mut desk = Desk::join(&to.client, place.clone()).ok();
    let mut request = None;
    if !arguments.direct
        && let Some(desk) = &mut desk
        && let Ok(sent) = desk.send(&Command::Kill, RING)
    {
        match desk.answer(sent, RING_ANSWER) {
            Ok(Some(answer)) => return say(&format!("{answer}\n")),
            // The file is a number alone, which every release reads.
            Err(refused) if !refused.is_unread() => return Err(refused.failure()),
            Ok(None) | Err(_) => request = Some(sent),
        }
    }
    // The same number: whichever of the two the engine takes first answers it, and a kill can be repeated.
    kill_directly(&place, &to.client, request.unwrap_or_else(boot_ns), desk)
}

/// Writes the file, and waits until the engine has executed it, if there is one.
fn kill_directly(
    place: &Place,
    client: &str,
    request: u64,
    desk: Option<Desk<'_>>,
) -> Result<(), Failure> {
    let (root, bus) = (&place.ring_root, &place.bus);
    root.make_root().map_err(Failure::run)?;
    write_kill(root, &ring_name(bus, client), request).map_err(|error| {
        Failure::run(format!(
            "the kill cannot be written below {} ({error}); stop the engine, and have the banks cancel its orders",
            root.path().display()
        ))
    })?;
    let answer = desk.map(|mut desk| desk.answer(request, FILE_ANSWER));
    let answer = answer.transpose().map_err(Refused::failure)?;
    match answer.flatten() {
        Some(answer) => say(&format!("{answer}\n")),
        None => Err(Failure::run(format!(
            "the kill is written, and no engine on bus {bus} has executed it yet: it does when it goes on or starts"
        ))),
    }
}
