//! Validity of a book.

use std::fmt;
use touchline_types::Validity;

/// Validity of a book: the worse of the instrument's and its channel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Complete, and confirmed after the last loss.
    Live,
    /// Complete as far as received, but packets were lost since the venue last confirmed it.
    Gapped,
    /// Known to be incomplete: empty, waiting for a snapshot.
    Recovering,
    /// Emptied and refilled from incremental updates only: correct, but incomplete.
    NaturalRefresh,
    /// The publisher or its venue has ended or timed out: contents are the last ones.
    Stale,
    /// The venue reports the instrument as closed.
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
