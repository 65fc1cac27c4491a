//! What a message is for the owner of the session.

/// Result of a message for the owner of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Handled by the session itself.
    Nothing,
    /// Logged on; whether both numbers restarted at 1 since the last time.
    LoggedOn(bool),
    /// A Logon to be accepted or rejected by the application.
    Logon,
    /// A message for an application.
    Application,
    /// The counterparty rejected one of our messages.
    Rejected,
    /// The counterparty has logged out.
    LoggedOut,
    /// We rejected the message.
    Invalid,
    /// Numbers `first` to `last` are missing.
    Gap(u64, u64),
    /// The counterparty skipped its numbers `first` to `last`, or they are too long.
    Skipped(u64, u64),
    /// Both numbers restarted at 1; the first and the last number of messages that are lost with it.
    Restarted(Option<(u64, u64)>),
}
