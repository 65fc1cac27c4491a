//! Updates that are too long for one message, as several.

use super::encode::{encode_part, encoded_len, write_tagged};
use super::layout::{self, Dimension};
use super::schema::{PART_BYTES_MAX, PART_BYTES_MIN};
use super::write::{Tag, fixed};
use super::{Flags, Sink};
use crate::{
    BookSnapshot, BookUpdate, LEGS_MAX, Level, OrdersSnapshot, OrdersUpdate, QuoteSnapshot,
    QuoteUpdate, Timestamps, Update,
};

/// Cuts `update` into messages of at most `bytes_max` bytes, which is taken as the nearest from
/// [`PART_BYTES_MIN`] to [`PART_BYTES_MAX`]. Nearly always there is one.
///
/// The parts go into one publication one after the other, each with a sequence number of its own,
/// nothing between them. A [`Decoder`](super::Decoder) gives the update with the last of them.
#[inline]
pub fn parts<'u>(update: &'u Update<'u>, bytes_max: usize) -> Parts<'u> {
    Parts {
        update: Some(update),
        rest: None,
        bytes_max: bytes_max.clamp(PART_BYTES_MIN, PART_BYTES_MAX),
    }
}

/// Iterator over the [`Part`]s of an update; at least one.
#[derive(Clone, Debug)]
pub struct Parts<'u> {
    /// The update, until its first part is taken.
    update: Option<&'u Update<'u>>,
    /// Rest of a long update after the parts so far.
    rest: Option<Update<'u>>,
    bytes_max: usize,
}

/// Part of an update that fits one message.
#[derive(Clone, Copy, Debug)]
pub struct Part<'u> {
    piece: Piece<'u>,
    /// Whether another part comes before it.
    pub continued: bool,
    /// Whether another part comes after it.
    pub more: bool,
}

/// An update that fits is not copied: that would take as long as encoding it.
#[derive(Clone, Copy, Debug)]
enum Piece<'u> {
    Whole(&'u Update<'u>),
    Cut(Update<'u>),
}

impl<'u> Iterator for Parts<'u> {
    type Item = Part<'u>;

    #[inline]
    fn next(&mut self) -> Option<Part<'u>> {
        match self.update.take() {
            Some(update) if encoded_len(update) <= self.bytes_max => Some(Part {
                piece: Piece::Whole(update),
                continued: false,
                more: false,
            }),
            Some(update) => Some(self.cut(*update, false)),
            None => {
                let rest = self.rest.take()?;
                Some(self.cut(rest, true))
            }
        }
    }
}

impl<'u> Parts<'u> {
    #[cold]
    fn cut(&mut self, update: Update<'u>, continued: bool) -> Part<'u> {
        let mut now = update;
        if encoded_len(&update) > self.bytes_max {
            (now, self.rest) = cut(&update, self.bytes_max);
        }
        Part {
            piece: Piece::Cut(now),
            continued,
            more: self.rest.is_some(),
        }
    }
}

impl Part<'_> {
    /// The update with the changes, levels or orders of this part alone.
    #[inline]
    pub const fn update(&self) -> &Update<'_> {
        match &self.piece {
            Piece::Whole(update) => update,
            Piece::Cut(update) => update,
        }
    }

    /// Bytes that it takes.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub const fn len(&self) -> usize {
        encoded_len(self.update())
    }

    /// Writes it as [`encode`](super::encode()) does. Only the last part takes
    /// [`Flags::END_OF_BATCH`].
    #[inline]
    pub fn encode(
        &self,
        sequence: u64,
        flags: Flags,
        timestamps: &Timestamps,
        out: &mut [u8],
    ) -> Option<usize> {
        let tag = self.tag(sequence, flags, timestamps);
        encode_part(self.update(), &tag, out)
    }

    /// Writes it as [`encode`](Part::encode) does; it takes [`len`](Part::len) bytes.
    #[inline]
    pub fn write(&self, sequence: u64, flags: Flags, timestamps: &Timestamps, out: &mut impl Sink) {
        let tag = self.tag(sequence, flags, timestamps);
        write_tagged(self.update(), &tag, out);
    }

    #[inline(always)]
    fn tag<'t>(&self, sequence: u64, flags: Flags, timestamps: &'t Timestamps) -> Tag<'t> {
        let mut own = flags.only(Flags::OF_PUBLISHER);
        if self.more {
            own = Flags(own.0 & !Flags::END_OF_BATCH.0);
        }
        let place = Flags::CONTINUED.when(self.continued) | Flags::MORE.when(self.more);
        Tag::new(sequence, own | place, timestamps)
    }
}

/// The update with as many entries as fit, and the update with the rest.
fn cut<'a>(update: &Update<'a>, bytes_max: usize) -> (Update<'a>, Option<Update<'a>>) {
    match *update {
        Update::Book(update) => {
            let room = room::<layout::BookUpdate, layout::LevelChange>(bytes_max);
            let (now, rest) = update.changes.split_at(room.min(update.changes.len()));
            let with = |changes| Update::Book(BookUpdate { changes, ..update });
            (with(now), Some(with(rest)))
        }
        Update::Orders(update) => {
            let room = room::<layout::OrderUpdate, layout::OrderChange>(bytes_max);
            let (now, rest) = update.changes.split_at(room.min(update.changes.len()));
            let with = |changes| Update::Orders(OrdersUpdate { changes, ..update });
            (with(now), Some(with(rest)))
        }
        Update::OrdersSnapshot(snapshot) => {
            let room = room::<layout::OrdersSnapshot, layout::Order>(bytes_max);
            let (now, rest) = snapshot.orders.split_at(room.min(snapshot.orders.len()));
            let with = |orders| Update::OrdersSnapshot(OrdersSnapshot { orders, ..snapshot });
            (with(now), Some(with(rest)))
        }
        Update::BookSnapshot(snapshot) => {
            let (now, rest) = cut_book(&snapshot, bytes_max);
            (Update::BookSnapshot(now), Some(Update::BookSnapshot(rest)))
        }
        Update::Quotes(update) => {
            let room = room::<layout::QuoteUpdate, layout::QuoteChange>(bytes_max);
            let (now, rest) = update.changes.split_at(room.min(update.changes.len()));
            let with = |changes| Update::Quotes(QuoteUpdate { changes, ..update });
            (with(now), Some(with(rest)))
        }
        Update::QuoteSnapshot(snapshot) => {
            let room = room::<layout::QuoteSnapshot, layout::Quote>(bytes_max);
            let (now, rest) = snapshot.quotes.split_at(room.min(snapshot.quotes.len()));
            let with = |quotes| Update::QuoteSnapshot(QuoteSnapshot { quotes, ..snapshot });
            (with(now), Some(with(rest)))
        }
        // The others have no groups but a definition's few legs, and each fits.
        Update::Trade(_)
        | Update::Statistic(_)
        | Update::Status(_)
        | Update::State(_)
        | Update::Gap(_)
        | Update::Reset
        | Update::Definition(_)
        | Update::Download(_)
        | Update::Channel(_) => (*update, None),
    }
}

/// Fills a part with list after list, so that joining the parts is appending.
fn cut_book<'a>(
    snapshot: &BookSnapshot<'a>,
    bytes_max: usize,
) -> (BookSnapshot<'a>, BookSnapshot<'a>) {
    let dimensions_behind_the_first = 3 * size_of::<Dimension>();
    let mut room =
        room::<layout::BookSnapshot, layout::Level>(bytes_max - dimensions_behind_the_first);
    let mut take = |levels: &'a [Level]| -> (&'a [Level], &'a [Level]) {
        let (now, rest) = levels.split_at(room.min(levels.len()));
        room -= now.len();
        (now, rest)
    };
    let (bids, bids_rest) = take(snapshot.bids);
    let (asks, asks_rest) = take(snapshot.asks);
    let (implied_bids, implied_bids_rest) = take(snapshot.implied_bids);
    let (implied_asks, implied_asks_rest) = take(snapshot.implied_asks);
    let now = BookSnapshot {
        bids,
        asks,
        implied_bids,
        implied_asks,
        ..*snapshot
    };
    let rest = BookSnapshot {
        bids: bids_rest,
        asks: asks_rest,
        implied_bids: implied_bids_rest,
        implied_asks: implied_asks_rest,
        ..*snapshot
    };
    (now, rest)
}

/// Entries of one group that fit beside the block; at least one, by [`PART_BYTES_MIN`].
const fn room<B: layout::Block, E>(bytes_max: usize) -> usize {
    (bytes_max - fixed::<B>() - size_of::<Dimension>()) / size_of::<E>()
}

const _: () = {
    let legs = size_of::<Dimension>() + LEGS_MAX * size_of::<layout::Leg>();
    assert!(fixed::<layout::InstrumentDefinition>() + legs <= PART_BYTES_MIN);
    assert!(room::<layout::BookUpdate, layout::LevelChange>(PART_BYTES_MIN) > 0);
    assert!(room::<layout::OrderUpdate, layout::OrderChange>(PART_BYTES_MIN) > 0);
    assert!(room::<layout::OrdersSnapshot, layout::Order>(PART_BYTES_MIN) > 0);
    let behind_the_first = 3 * size_of::<Dimension>();
    assert!(room::<layout::BookSnapshot, layout::Level>(PART_BYTES_MIN - behind_the_first) > 0);
};
