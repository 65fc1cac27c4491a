//! Incidents that an operator must know of, beside counters.

use std::fmt;

/// Event for the operator of a composer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incident {
    /// The wall clock was set by this many nanoseconds (negative: back): quotes of each bank count again when they are new.
    ClockStep(i64),
    /// Quotes of a bank are refused.
    KindRefused(KindRefused),
}

/// A bank's gateway publishes bands although the configuration states amounts, or the reverse: its quotes are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindRefused {
    /// Bank.
    pub bank: String,
    /// Whether its gateway publishes bands.
    pub is_full: bool,
}

impl fmt::Display for KindRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |is_full| if is_full { "full" } else { "sweep" };
        let (bank, theirs, ours) = (&self.bank, name(self.is_full), name(!self.is_full));
        write!(
            f,
            "bank {bank}: its gateway has stream = \"{theirs}\", and kind is \"{ours}\" here: its quotes are refused; \
             set one of the two to the bank's kind"
        )
    }
}
