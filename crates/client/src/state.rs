//! How far a book may be trusted.

use std::fmt;
use touchline_types::Validity;

/// How far a book may be trusted: the worse of what holds for the instrument and for its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Complete, and confirmed after the last loss.
    Live,
    /// Complete as far as seen, but packets were lost since the venue last confirmed it.
    Gapped,
    /// Known to miss something: empty, waiting for a snapshot.
    Recovering,
    /// Emptied and refilled from live updates alone: what it shows is right, but not everything.
    NaturalRefresh,
    /// The publisher or its venue is gone or silent: contents are those of the last moment.
    Stale,
    /// The venue says that the instrument is closed.
    Closed,
}

impl State {
    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            State::Live => "live",
            State::Gapped => "gapped",
            State::Recovering => "recovering",
            State::NaturalRefresh => "natural",
            State::Stale => "stale",
            State::Closed => "closed",
        }
    }

    /// Whether a program may trade on the book.
    #[inline]
    pub const fn is_live(self) -> bool {
        matches!(self, State::Live)
    }

    #[inline]
    pub(crate) const fn of(validity: Validity) -> State {
        match validity {
            Validity::Live => State::Live,
            Validity::Gapped => State::Gapped,
            Validity::Recovering => State::Recovering,
            Validity::Natural => State::NaturalRefresh,
            Validity::Stale => State::Stale,
            Validity::Closed => State::Closed,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
