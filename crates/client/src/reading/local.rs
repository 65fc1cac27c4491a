//! Selection of updates that come from this process, as the subscriber of a shared bus selects messages before they are read.

use super::{Reading, Took};
use crate::Events;
use touchline_types::Update;

impl Reading {
    /// Whether an update is of a kind that the program wants, as the subscriber of a bus selects messages.
    #[inline]
    pub fn wants(&self, update: &Update<'_>) -> bool {
        let kind = match update {
            Update::Trade(_) => Events::TRADES,
            Update::Orders(_) | Update::OrdersSnapshot(_) => Events::ORDERS,
            Update::Statistic(_) => Events::STATISTICS,
            Update::Status(_) => Events::STATUS,
            Update::Quotes(_) | Update::QuoteSnapshot(_) => Events::QUOTES,
            _ => return true,
        };
        self.wanted.has(kind)
    }

    /// Whether a taken item has a result of its own: a stored one is next without it, unless an event still waits.
    #[inline]
    pub fn has_result(&self, took: Took) -> bool {
        match took {
            Took::Stored | Took::Event => self.current.is_some(),
            Took::Applied { batch_end } => batch_end,
        }
    }
}
