//! Events of a desk.

use super::{AlarmRow, BusEvent, Error, FillRow, OrderRow, PairRow, ParentRow};
use crate::names::{DeskEventKind, ErrorKind};
use touchline_types::Id;

/// Change of the engine's state, with a copy of the row after it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A parent was accepted, waits, works again, has ended, or has no open order any more.
    Parent(ParentRow),
    /// An order at a bank.
    Order(OrderRow),
    /// A fill, a bust or a correction.
    Fill(FillRow),
    /// The position of a pair.
    Position {
        /// Symbol of the pair.
        pair: String,
        /// Position.
        position: PairRow,
    },
    /// An alarm for the desk.
    Alarm(AlarmRow),
    /// The kill switch was set.
    Killed {
        /// By whom, if it was stated.
        by: Option<Id>,
    },
    /// The kill switch is not set any more.
    Lifted,
    /// The engine's bus: [`happened`](super::happened) is a sentence. Entries that the bus lost follow from the journal.
    Bus(BusEvent),
    /// Events that this program did not read in time; the state has them.
    Skipped(u64),
}

impl Event {
    /// Its kind.
    pub const fn kind(&self) -> DeskEventKind {
        match self {
            Event::Parent(_) => DeskEventKind::Parent,
            Event::Order(_) => DeskEventKind::Order,
            Event::Fill(_) => DeskEventKind::Fill,
            Event::Position { .. } => DeskEventKind::Position,
            Event::Alarm(_) => DeskEventKind::Alarm,
            Event::Killed { .. } => DeskEventKind::Killed,
            Event::Lifted => DeskEventKind::Lifted,
            Event::Bus(_) => DeskEventKind::Bus,
            Event::Skipped(_) => DeskEventKind::Skipped,
        }
    }
}

/// Kind of an error, for other languages.
pub fn kind_of(error: &Error) -> ErrorKind {
    match error {
        error if error.is_out_of_memory() => ErrorKind::Memory,
        Error::Name | Error::Word(_) => ErrorKind::Option,
        Error::NoEngine { .. } | Error::Ended { .. } => ErrorKind::NoEngine,
        Error::Refused(_) => ErrorKind::Refused,
        Error::NoAnswer { .. }
        | Error::KillWaits { .. }
        | Error::Interrupted { is_sent: true, .. } => ErrorKind::NoAnswer,
        Error::NoJournal { .. } | Error::JournalUnreadable { .. } | Error::Record(_) => {
            ErrorKind::Record
        }
        _ => ErrorKind::System,
    }
}
