//! A message of a client: a command, or bytes that cannot be read as one.

use crate::execution::config::CommandKind;
use touchline_fx_events::command::Command;
use touchline_fx_events::encoding::NoCommand;

/// Bytes of an unreadable message that are recorded; every command is shorter.
const EVIDENCE_BYTES: usize = 2 << 10;

/// A message of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    /// Request number; 0 if the message is too short to contain one.
    pub request: u64,
    /// The command.
    pub command: Result<Command, Unread>,
}

/// A message that cannot be read as a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unread {
    /// The reason.
    pub why: NoCommand,
    /// First bytes of the message, for the journal.
    pub bytes: Vec<u8>,
}

impl Received {
    /// A message of a ring.
    pub(crate) fn read(message: &[u8]) -> Received {
        let (request, bytes) = match message.split_first_chunk() {
            Some((request, bytes)) => (u64::from_le_bytes(*request), bytes),
            None => (0, message),
        };
        let unread = |why| Unread {
            why,
            bytes: bytes[..bytes.len().min(EVIDENCE_BYTES)].to_vec(),
        };
        Received {
            request,
            command: Command::decode(bytes).map_err(unread),
        }
    }

    /// Kind of the command, if the message is one.
    pub(crate) fn kind(&self) -> Option<CommandKind> {
        self.command.as_ref().ok().map(CommandKind::of)
    }
}

impl CommandKind {
    /// The kind of a command.
    pub(crate) fn of(command: &Command) -> CommandKind {
        match command {
            Command::Parent(_) => CommandKind::Send,
            Command::Cancel { .. } => CommandKind::Cancel,
            Command::Kill => CommandKind::Kill,
            Command::Lift => CommandKind::Lift,
            Command::Enable { .. } => CommandKind::Enable,
            Command::Resolve { .. } => CommandKind::Resolve,
            Command::Book(_) => CommandKind::Book,
            Command::Promote | Command::Standby => CommandKind::Promote,
        }
    }
}
