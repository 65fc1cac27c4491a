//! Decodes messages into updates, and combines parts.

use super::{
    Body, BookSnapshotView, BookUpdateView, Entry, Flags, Group, Malformed, Message, OrdersView,
};
use crate::{
    BookSnapshot, ChannelState, Instrument, InstrumentDefinition, Level, LevelChange, OrderChange,
    OrdersSnapshot, OrdersUpdate, Quote, QuoteChange, QuoteSnapshot, QuoteUpdate, Statistic, Trade,
    TradingStatus, Update,
};
use core::fmt;

/// Decodes each message into an [`Update`], and the parts of a split message into one. Readers get whole events only:
/// the update is returned with the last part.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    open: Option<Open>,
    place: Place,
}

/// Buffers for the entries of an update, lent by the caller for one call; the same ones in each
/// call.
#[derive(Debug)]
pub struct Scratch<'s> {
    /// Changes of a price book.
    pub changes: &'s mut [LevelChange],
    /// Changes of an order book, or a whole one.
    pub orders: &'s mut [OrderChange],
    /// Levels of a whole price book, all four lists.
    pub levels: &'s mut [Level],
    /// Changes of a provider's quotes.
    pub quote_changes: &'s mut [QuoteChange],
    /// All quotes of a provider.
    pub quotes: &'s mut [Quote],
}

/// Reason why a well-formed message cannot be used. Collected parts are discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The previous part is missing, or another message came between two parts.
    PartMissing,
    /// The update has more entries than the buffers.
    NoRoom,
    /// A group cannot be read.
    Malformed(Malformed),
}

/// An update without its last part.
#[derive(Clone, Copy, Debug)]
struct Open {
    template: Template,
    instrument: Instrument,
    sequence_next: u64,
    filled: Filled,
}

/// Messages that may have parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Template {
    BookUpdate,
    BookSnapshot,
    OrderUpdate,
    OrdersSnapshot,
    QuoteUpdate,
    QuoteSnapshot,
}

/// Collected entries, list by list; a message with one group fills the first list.
type Filled = [usize; 4];

/// Storage of the value that an update of a single value borrows.
#[expect(
    clippy::large_enum_variant,
    reason = "a decoder has one, and no allocator"
)]
#[derive(Clone, Debug, Default)]
enum Place {
    #[default]
    Empty,
    Trade(Trade),
    Statistic(Statistic),
    Status(TradingStatus),
    Definition(InstrumentDefinition),
    Channel(ChannelState),
}

impl Decoder {
    /// A decoder without collected parts.
    pub const fn new() -> Decoder {
        Decoder {
            open: None,
            place: Place::Empty,
        }
    }

    /// Discards collected parts: after a loss the others will not arrive.
    pub fn forget(&mut self) {
        self.open = None;
    }

    /// Decodes one message. `None` after a part that others follow, and for a message that is not an update: a
    /// heartbeat, a top of book, an unknown template.
    ///
    /// `scratch` must lend the same memory in each call, because parts are collected there.
    ///
    /// # Errors
    /// [`Unfit`]; the decoder is then empty.
    #[inline]
    pub fn update<'s>(
        &'s mut self,
        message: &Message<'s>,
        scratch: Scratch<'s>,
    ) -> Result<Option<Update<'s>>, Unfit> {
        match &message.body {
            Body::BookUpdate(view) => self.book_update(message, view, scratch.changes),
            Body::OrderUpdate(view) => {
                let gathered = self.orders(message, Template::OrderUpdate, view, scratch.orders)?;
                Ok(gathered.map(|changes| {
                    Update::Orders(OrdersUpdate {
                        instrument: view.instrument,
                        validity: view.validity,
                        changes,
                    })
                }))
            }
            _ => self.rare(message, scratch),
        }
    }

    #[inline(always)]
    fn book_update<'s>(
        &mut self,
        message: &Message<'s>,
        view: &BookUpdateView<'s>,
        scratch: &'s mut [LevelChange],
    ) -> Result<Option<Update<'s>>, Unfit> {
        let part = (Template::BookUpdate, view.instrument);
        let mut filled = self.resume(message, part)?;
        filled[0] = append(view.changes, filled[0], scratch)?;
        if self.suspend(message, part, filled) {
            return Ok(None);
        }
        Ok(Some(Update::Book(view.update(&scratch[..filled[0]]))))
    }

    #[inline(always)]
    fn orders<'s, E: Entry<Value = OrderChange>>(
        &mut self,
        message: &Message<'s>,
        template: Template,
        view: &OrdersView<'s, E>,
        scratch: &'s mut [OrderChange],
    ) -> Result<Option<&'s [OrderChange]>, Unfit> {
        let part = (template, view.instrument);
        let mut filled = self.resume(message, part)?;
        filled[0] = append(view.changes, filled[0], scratch)?;
        if self.suspend(message, part, filled) {
            return Ok(None);
        }
        Ok(Some(&scratch[..filled[0]]))
    }

    #[inline(never)]
    fn rare<'s>(
        &'s mut self,
        message: &Message<'s>,
        scratch: Scratch<'s>,
    ) -> Result<Option<Update<'s>>, Unfit> {
        match &message.body {
            Body::BookSnapshot(view) => return self.book_snapshot(message, view, scratch.levels),
            Body::OrdersSnapshot(view) => {
                let orders =
                    self.orders(message, Template::OrdersSnapshot, view, scratch.orders)?;
                return Ok(orders.map(|orders| {
                    Update::OrdersSnapshot(OrdersSnapshot {
                        instrument: view.instrument,
                        validity: view.validity,
                        orders,
                    })
                }));
            }
            Body::QuoteUpdate(view) => {
                let part = (Template::QuoteUpdate, view.instrument);
                let quotes = self.quotes(message, part, view.quotes, scratch.quote_changes)?;
                let stream = view.stream();
                return Ok(quotes.map(|changes| Update::Quotes(QuoteUpdate { stream, changes })));
            }
            Body::QuoteSnapshot(view) => {
                let part = (Template::QuoteSnapshot, view.instrument);
                let quotes = self.quotes(message, part, view.quotes, scratch.quotes)?;
                let stream = view.stream();
                return Ok(
                    quotes.map(|quotes| Update::QuoteSnapshot(QuoteSnapshot { stream, quotes }))
                );
            }
            _ => {}
        }
        // Other messages have no parts, and must not come between two parts.
        if self.open.take().is_some() || message.flags().0 & PARTS.0 != 0 {
            return Err(Unfit::PartMissing);
        }
        Ok(self.single(&message.body))
    }

    fn quotes<'s, E: Entry>(
        &mut self,
        message: &Message<'s>,
        part: (Template, Instrument),
        group: Group<'s, E>,
        scratch: &'s mut [E::Value],
    ) -> Result<Option<&'s [E::Value]>, Unfit> {
        let mut filled = self.resume(message, part)?;
        filled[0] = append(group, filled[0], scratch)?;
        if self.suspend(message, part, filled) {
            return Ok(None);
        }
        Ok(Some(&scratch[..filled[0]]))
    }

    fn single(&mut self, body: &Body<'_>) -> Option<Update<'_>> {
        match *body {
            Body::Gap(gap) => return Some(Update::Gap(gap)),
            Body::Reset => return Some(Update::Reset),
            Body::Download(phase) => return Some(Update::Download(phase)),
            Body::InstrumentState(state) => return Some(Update::State(state)),
            Body::InstrumentDefinition(view) => self.place = Place::Definition(view.value()),
            Body::Channel(state) => self.place = Place::Channel(state),
            Body::TradingStatus(status) => self.place = Place::Status(status),
            Body::Trade(trade) => self.place = Place::Trade(trade),
            Body::Statistics(statistic) => self.place = Place::Statistic(statistic),
            Body::Heartbeat | Body::TopOfBook(_) | Body::Unknown { .. } => {
                return None;
            }
            // Handled by the callers.
            Body::BookUpdate(_)
            | Body::BookSnapshot(_)
            | Body::OrderUpdate(_)
            | Body::OrdersSnapshot(_)
            | Body::QuoteUpdate(_)
            | Body::QuoteSnapshot(_) => return None,
        }
        match &self.place {
            Place::Empty => None,
            Place::Trade(trade) => Some(Update::Trade(trade)),
            Place::Statistic(statistic) => Some(Update::Statistic(statistic)),
            Place::Status(status) => Some(Update::Status(status)),
            Place::Definition(definition) => Some(Update::Definition(definition)),
            Place::Channel(state) => Some(Update::Channel(state)),
        }
    }

    fn book_snapshot<'s>(
        &mut self,
        message: &Message<'s>,
        view: &BookSnapshotView<'s>,
        scratch: &'s mut [Level],
    ) -> Result<Option<Update<'s>>, Unfit> {
        let part = (Template::BookSnapshot, view.instrument);
        let mut filled = self.resume(message, part)?;
        let lists = view.lists().map_err(Unfit::Malformed)?;
        for (list, levels) in lists.into_iter().enumerate() {
            // Lists are consecutive, so a list cannot grow after a later one has started.
            if !levels.is_empty() && filled[list + 1..].iter().any(|levels| *levels > 0) {
                return Err(Unfit::PartMissing);
            }
            let before: usize = filled[..list].iter().sum();
            filled[list] = append(levels, before + filled[list], scratch)? - before;
        }
        if self.suspend(message, part, filled) {
            return Ok(None);
        }
        let (bids, rest) = scratch.split_at(filled[0]);
        let (asks, rest) = rest.split_at(filled[1]);
        let (implied_bids, rest) = rest.split_at(filled[2]);
        Ok(Some(Update::BookSnapshot(BookSnapshot {
            instrument: view.instrument,
            validity: view.validity,
            bids,
            asks,
            implied_bids,
            implied_asks: &rest[..filled[3]],
        })))
    }

    /// Parts collected before this one. Leaves no open update.
    #[inline(always)]
    fn resume(
        &mut self,
        message: &Message<'_>,
        part: (Template, Instrument),
    ) -> Result<Filled, Unfit> {
        let continued = message.flags().has(Flags::CONTINUED);
        match &self.open {
            None if !continued => Ok(Filled::default()),
            _ => self.resume_open(message, part, continued),
        }
    }

    #[cold]
    fn resume_open(
        &mut self,
        message: &Message<'_>,
        part: (Template, Instrument),
        continued: bool,
    ) -> Result<Filled, Unfit> {
        let open = self.open.take().ok_or(Unfit::PartMissing)?;
        let next = (open.template, open.instrument, open.sequence_next);
        if continued && next == (part.0, part.1, message.sequence()) {
            Ok(open.filled)
        } else {
            Err(Unfit::PartMissing)
        }
    }

    /// Whether more parts follow; if so, stores the collected ones.
    #[inline(always)]
    fn suspend(
        &mut self,
        message: &Message<'_>,
        (template, instrument): (Template, Instrument),
        filled: Filled,
    ) -> bool {
        let more = message.flags().has(Flags::MORE);
        if more {
            self.open = Some(Open {
                template,
                instrument,
                sequence_next: message.sequence().wrapping_add(1),
                filled,
            });
        }
        more
    }
}

/// The flags of parts.
const PARTS: Flags = Flags(Flags::CONTINUED.0 | Flags::MORE.0);

/// Appends the entries, and returns their new number.
#[inline(always)]
fn append<E: Entry>(
    group: Group<'_, E>,
    filled: usize,
    scratch: &mut [E::Value],
) -> Result<usize, Unfit> {
    let free = scratch.get_mut(filled..).ok_or(Unfit::NoRoom)?;
    let places = free.get_mut(..group.len()).ok_or(Unfit::NoRoom)?;
    group.copy_to(places);
    Ok(filled + group.len())
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::PartMissing => "a part of a long update is missing",
            Unfit::NoRoom => "an update has more entries than there is room for",
            Unfit::Malformed(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for Unfit {}
