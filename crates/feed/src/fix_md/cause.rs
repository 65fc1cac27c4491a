//! Reason to close a connection and connect again.

use super::instruments::Rows;
use touchline_session::fix::{MessageTooLong, SendError};
use touchline_types::Instrument;
use touchline_wire::fix::Malformed;

/// Kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A message of the venue is missing.
    LeftOut,
    /// A message of the venue is longer than the limit.
    TooLong(MessageTooLong),
    /// The venue skipped numbers.
    Skipped,
    /// The venue's numbers started again.
    Restarted,
    /// The session rejected a message of the venue.
    Invalid,
    /// A message is unreadable, and its books are unknown.
    Malformed(Malformed),
    /// A message about this instrument is unreadable, or does not fit a book.
    MalformedBook(Instrument, Malformed),
    /// A change contradicts the book of this instrument.
    InconsistentUpdate(Instrument),
    /// More inconsistent books than are requested again one by one.
    TooManyInconsistent,
    /// This instrument was redefined.
    Redefined(Instrument),
    /// The venue rejected a message of ours.
    Refused,
    /// The venue rejected the request for its instruments.
    ListRefused,
    /// The venue withdrew quotes.
    Withdrawn,
    /// The rest of a quote set is missing, or another message arrived first.
    PartMissing,
    /// A requested list or book did not arrive.
    Unanswered,
    /// A message of ours cannot be sent.
    Unsent(SendError),
}

impl Cause {
    /// Text for logs.
    pub fn text(self, rows: &Rows) -> String {
        let name = |instrument| &*rows.row(instrument).name;
        match self {
            Cause::LeftOut => "sequence gap: a message of the venue is missing".to_owned(),
            Cause::TooLong(message) => too_long(message),
            Cause::Skipped => "sequence gap: the venue skipped messages (SequenceReset)".to_owned(),
            Cause::Restarted => "sequence reset: the venue's numbers started again".to_owned(),
            Cause::Invalid => "an invalid message of the venue was rejected".to_owned(),
            Cause::Malformed(why) => format!("a message of the venue {}", predicate(why)),
            Cause::MalformedBook(instrument, why) => {
                format!("a message about {} {}", name(instrument), predicate(why))
            }
            Cause::InconsistentUpdate(instrument) => {
                format!("an update does not fit the book of {}", name(instrument))
            }
            Cause::TooManyInconsistent => "too many books are inconsistent at once".to_owned(),
            Cause::Redefined(instrument) => {
                format!("{} was defined again as another contract", name(instrument))
            }
            Cause::Refused => "the venue refused our message".to_owned(),
            Cause::ListRefused => "the venue refused the list of its instruments".to_owned(),
            Cause::Withdrawn => "the venue withdrew quotes".to_owned(),
            Cause::PartMissing => "the rest of a quote set is missing".to_owned(),
            Cause::Unanswered => "the venue did not answer our request".to_owned(),
            Cause::Unsent(error) => format!("our request could not be sent: {error}"),
        }
    }
}

/// Failure of a connection: its cause, and the text of the venue.
///
/// Invariant: the first cause stays.
#[derive(Debug, Default)]
pub struct Failure {
    cause: Option<Cause>,
    /// Text of the venue's Logout or Reject.
    said: String,
    /// The venue's message that caused it.
    message: String,
}

impl Failure {
    /// Resets the state for a new connection.
    pub fn clear(&mut self) {
        self.cause = None;
        self.said.clear();
        self.message.clear();
    }

    /// The connection has ended; the venue's text stays until the next one.
    pub fn forget_cause(&mut self) {
        self.cause = None;
    }

    /// Gives the connection up. `false` if it was given up already.
    pub fn give_up(&mut self, cause: Cause) -> bool {
        let before = self.cause;
        let first = *self.cause.get_or_insert(cause);
        assert!(
            before.is_none_or(|before| before == first),
            "the-first-cause-stays"
        );
        before.is_none()
    }

    /// Cause, if the connection was given up.
    #[inline]
    pub fn cause(&self) -> Option<Cause> {
        self.cause
    }

    /// Stores a text of the venue.
    pub fn say(&mut self, text: String) {
        self.said = text;
    }

    /// Stores the message that caused the failure.
    pub fn keep_message(&mut self, message: String) {
        self.message = message;
    }

    /// The message that caused the failure; empty if none did.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Text of the venue.
    pub fn said(&self) -> &str {
        &self.said
    }
}

/// A message that is longer than the limit, and the setting to change.
pub(crate) fn too_long(message: MessageTooLong) -> String {
    let bytes = message.bytes;
    format!("{message}; if its BodyLength (9) is right, set message_bytes_max to {bytes} or more")
}

/// Problem of a message. In market data, a missing field is a field without a value.
fn predicate(why: Malformed) -> String {
    match why {
        Malformed::Value => "lacks a field, or has an empty one".to_owned(),
        why => why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cause_is_kept() {
        let mut failure = Failure::default();
        assert!(failure.give_up(Cause::Skipped));
        assert!(!failure.give_up(Cause::LeftOut));
        assert_eq!(failure.cause(), Some(Cause::Skipped));
        failure.say("why".to_owned());
        failure.forget_cause();
        assert_eq!((failure.cause(), failure.said()), (None, "why"));
        failure.clear();
        assert_eq!(failure.said(), "");
    }
}
