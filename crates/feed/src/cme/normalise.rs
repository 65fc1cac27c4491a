//! Conversion of CME's fields to the fields of events.

use super::channel::Channel;
use touchline_types::{
    BookKind, Event, OrderAction, Price, Quantity, Side, StatisticKind, UpdateAction,
};
use touchline_wire::mdp3::{AggressorSide, MdUpdateAction};
use touchline_wire::sbe::Decimal;

impl Channel {
    /// A price; null if absent or out of range.
    #[inline]
    pub fn price<const EXPONENT: i8>(
        &mut self,
        price: impl Into<Option<Decimal<EXPONENT>>>,
    ) -> Price {
        let Some(decimal) = price.into() else {
            return Price::NULL;
        };
        Price::from_decimal(decimal.mantissa, EXPONENT).unwrap_or_else(|| {
            self.counters.price_overflow += 1;
            Price::NULL
        })
    }

    /// A quantity; null if absent or out of range.
    #[inline]
    pub fn quantity(&mut self, quantity: impl Count) -> Quantity {
        match quantity.count() {
            Ok(count) => count.map_or(Quantity::NULL, Quantity),
            Err(TooLarge) => {
                self.counters.quantity_overflow += 1;
                Quantity::NULL
            }
        }
    }
}

impl Channel {
    /// Counts a trade or statistic with a negative quantity, which is left out.
    #[inline]
    pub(super) fn has_negative(&mut self, event: &Event) -> bool {
        let quantity = match event {
            Event::Trade(trade, _) => trade.quantity,
            Event::Statistic(statistic, _) => statistic.quantity,
            _ => return false,
        };
        let is_negative = quantity < Quantity::ZERO;
        self.counters.quantities_negative += u64::from(is_negative);
        is_negative
    }
}

/// A count in any of CME's widths, optional or not.
pub(super) trait Count {
    /// The count; `None` for CME's null.
    fn count(self) -> Result<Option<i64>, TooLarge>;
}

/// Whether a count is negative.
pub(super) fn is_negative(count: impl Count) -> bool {
    matches!(count.count(), Ok(Some(..0)))
}

/// A count above our range.
pub(super) struct TooLarge;

impl Count for i32 {
    #[inline]
    fn count(self) -> Result<Option<i64>, TooLarge> {
        Ok(Some(i64::from(self)))
    }
}

impl Count for u32 {
    #[inline]
    fn count(self) -> Result<Option<i64>, TooLarge> {
        Ok(Some(i64::from(self)))
    }
}

impl Count for u64 {
    #[inline]
    fn count(self) -> Result<Option<i64>, TooLarge> {
        // The largest i64 is our null value.
        i64::try_from(self)
            .ok()
            .filter(|count| *count != i64::MAX)
            .map(Some)
            .ok_or(TooLarge)
    }
}

impl<T: Count> Count for Option<T> {
    #[inline]
    fn count(self) -> Result<Option<i64>, TooLarge> {
        self.map_or(Ok(None), Count::count)
    }
}

/// Meaning of the entry type of a book message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BookEntry {
    /// A level of this side.
    Level(BookKind, Side),
    /// The instrument's four sides are emptied (J).
    Empty,
    /// Has a RptSeq and no other effect: the market's best (w, x), and unknown types.
    Other,
}

/// MDEntryType of book messages and snapshots, tag 269.
#[inline]
pub(super) fn book_entry(md_entry_type: u8) -> BookEntry {
    match md_entry_type {
        b'0' => BookEntry::Level(BookKind::Direct, Side::Bid),
        b'1' => BookEntry::Level(BookKind::Direct, Side::Ask),
        b'E' => BookEntry::Level(BookKind::Implied, Side::Bid),
        b'F' => BookEntry::Level(BookKind::Implied, Side::Ask),
        b'J' => BookEntry::Empty,
        _ => BookEntry::Other,
    }
}

/// MDUpdateAction, tag 279; `None` for unknown actions.
#[inline]
pub(super) fn update_action(action: MdUpdateAction) -> Option<UpdateAction> {
    Some(match action {
        MdUpdateAction::NEW => UpdateAction::New,
        MdUpdateAction::CHANGE => UpdateAction::Change,
        MdUpdateAction::DELETE => UpdateAction::Delete,
        MdUpdateAction::DELETE_THRU => UpdateAction::DeleteThru,
        MdUpdateAction::DELETE_FROM => UpdateAction::DeleteFrom,
        MdUpdateAction::OVERLAY => UpdateAction::Overlay,
        _ => return None,
    })
}

/// OrderUpdateAction, tag 37708, and MDUpdateAction of order messages: the first three values are equal.
#[inline]
pub(super) fn order_action(action: u8) -> Option<OrderAction> {
    Some(match action {
        0 => OrderAction::New,
        1 => OrderAction::Update,
        2 => OrderAction::Delete,
        _ => return None,
    })
}

/// AggressorSide, tag 5797.
pub(super) fn aggressor(side: AggressorSide) -> Option<Side> {
    match side {
        AggressorSide::BUY => Some(Side::Bid),
        AggressorSide::SELL => Some(Side::Ask),
        _ => None,
    }
}

/// MDEntryType of statistics, tag 269.
pub(super) fn statistic_kind(md_entry_type: u8) -> StatisticKind {
    match md_entry_type {
        b'4' => StatisticKind::Open,
        b'7' => StatisticKind::High,
        b'8' => StatisticKind::Low,
        b'9' => StatisticKind::Vwap,
        b'N' => StatisticKind::HighestBid,
        b'O' => StatisticKind::LowestAsk,
        b'6' => StatisticKind::Settlement,
        b'B' => StatisticKind::ClearedVolume,
        b'C' => StatisticKind::OpenInterest,
        b'W' => StatisticKind::Fixing,
        b'e' => StatisticKind::Volume,
        _ => StatisticKind::Other,
    }
}
