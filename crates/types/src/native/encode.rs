//! Encoding of updates.

use super::layout::{self, Block, Head, Header, Text, Zeros};
use super::schema::NO_INSTRUMENT;
use super::write::{Tag, fixed, group, group_len, start};
use super::{Flags, Sink, TopOfBook, code, definition, quotes};
use crate::{
    BookSnapshot, BookUpdate, ChannelState, Gap, Level, OrdersSnapshot, OrdersUpdate, Phase, State,
    Statistic, Timestamps, Trade, TradingStatus, Update, Validity,
};

/// Writes `update` as one message to the start of `out` and returns its length, which is [`encoded_len`].
///
/// `sequence` is the number of the message in its publication. Of `flags`, those of [`Flags::OF_PUBLISHER`] are used.
///
/// `None` if `out` is too short, or a group has more than 65,535 entries: see [`parts`](super::parts()). The content
/// of `out` is then undefined.
#[inline]
pub fn encode(
    update: &Update<'_>,
    sequence: u64,
    flags: Flags,
    timestamps: &Timestamps,
    out: &mut [u8],
) -> Option<usize> {
    let flags = flags.only(Flags::OF_PUBLISHER);
    encode_part(update, &Tag::new(sequence, flags, timestamps), out)
}

/// Writes `update` as one message of [`encoded_len`] bytes. Like [`encode`]; the caller has checked that no group has
/// more than 65,535 entries, as in a message of at most [`PART_BYTES_MAX`](super::PART_BYTES_MAX) bytes.
#[inline]
pub fn write_update(
    update: &Update<'_>,
    sequence: u64,
    flags: Flags,
    timestamps: &Timestamps,
    out: &mut impl Sink,
) {
    let flags = flags.only(Flags::OF_PUBLISHER);
    write_tagged(update, &Tag::new(sequence, flags, timestamps), out);
}

/// Like [`write_tagged`], if `out` is long enough.
#[inline]
pub(super) fn encode_part(update: &Update<'_>, tag: &Tag<'_>, out: &mut [u8]) -> Option<usize> {
    let length = encoded_len(update);
    let mut room = out.get_mut(..length)?;
    if entries_max(update) > usize::from(u16::MAX) {
        return None;
    }
    write_tagged(update, tag, &mut room);
    Some(length)
}

/// Entries of the longest group of a message.
fn entries_max(update: &Update<'_>) -> usize {
    match update {
        Update::Book(update) => update.changes.len(),
        Update::Orders(update) => update.changes.len(),
        Update::OrdersSnapshot(snapshot) => snapshot.orders.len(),
        Update::Quotes(update) => update.changes.len(),
        Update::QuoteSnapshot(snapshot) => snapshot.quotes.len(),
        Update::BookSnapshot(snapshot) => {
            let lists = [
                snapshot.bids,
                snapshot.asks,
                snapshot.implied_bids,
                snapshot.implied_asks,
            ];
            lists.map(<[Level]>::len).into_iter().fold(0, usize::max)
        }
        _ => 0,
    }
}

/// Writes a heartbeat. Like [`encode`].
#[inline]
pub fn encode_heartbeat(
    sequence: u64,
    flags: Flags,
    timestamps: &Timestamps,
    out: &mut [u8],
) -> Option<usize> {
    let mut room = out.get_mut(..HEARTBEAT_BYTES)?;
    write_heartbeat(sequence, flags, timestamps, &mut room);
    Some(HEARTBEAT_BYTES)
}

/// Bytes of a heartbeat.
pub const HEARTBEAT_BYTES: usize = fixed::<layout::Heartbeat>();

/// Writes a heartbeat of [`HEARTBEAT_BYTES`]. Like [`encode_heartbeat`].
#[inline]
pub fn write_heartbeat(sequence: u64, flags: Flags, timestamps: &Timestamps, out: &mut impl Sink) {
    let tag = Tag::new(sequence, flags.only(Flags::OF_PUBLISHER), timestamps);
    let (head, trace) = tag.of_none();
    start(layout::Heartbeat { head, trace }, out);
}

/// Writes a top of book, in 72 bytes. Like [`encode`].
#[inline]
pub fn encode_top_of_book(
    top: &TopOfBook,
    sequence: u64,
    flags: Flags,
    timestamps: &Timestamps,
    out: &mut [u8],
) -> Option<usize> {
    let mut room = out.get_mut(..TOP_OF_BOOK_BYTES)?;
    write_top_of_book(top, sequence, flags, timestamps, &mut room);
    Some(TOP_OF_BOOK_BYTES)
}

/// Bytes of a top of book.
pub const TOP_OF_BOOK_BYTES: usize = fixed::<layout::TopOfBook>();

/// Writes a top of book of [`TOP_OF_BOOK_BYTES`]. Like [`encode_top_of_book`].
#[inline]
pub fn write_top_of_book(
    top: &TopOfBook,
    sequence: u64,
    flags: Flags,
    timestamps: &Timestamps,
    out: &mut impl Sink,
) {
    let tag = Tag::new(sequence, flags.only(Flags::OF_PUBLISHER), timestamps);
    let block = layout::TopOfBook {
        head: tag.head(top.instrument, Some(top.validity), Flags::NONE),
        bid_price: top.bid_price.0.into(),
        bid_quantity: top.bid_quantity.0.into(),
        ask_price: top.ask_price.0.into(),
        ask_quantity: top.ask_quantity.0.into(),
        bid_book: top.bid_book.map_or(code::NULL, |book| book as u8),
        ask_book: top.ask_book.map_or(code::NULL, |book| book as u8),
    };
    start(block, out);
}

/// Sets [`Flags::END_OF_BATCH`] in an encoded message. A publisher knows that a message was the
/// last of its packet only when no further one follows.
///
/// Ignores bytes that are too short for a message.
#[inline]
pub fn mark_end_of_batch(message: &mut [u8]) {
    if let Some(flags) = message.get_mut(FLAGS_AT) {
        *flags |= Flags::END_OF_BATCH.0;
    }
}

/// Offset of the [`Flags`] byte in a message.
pub const FLAGS_AT: usize = size_of::<Header>() + core::mem::offset_of!(Head, flags);

/// Marks the live state of an encoded message as stale: that of its book or quotes, or of the channel. For a reader whose publisher
/// has ended or is stalled.
///
/// Ignores a message without a validity, and bytes that are too short for a message.
pub fn mark_stale(message: &mut [u8]) {
    use core::mem::offset_of;
    const OF_HEAD: [usize; 1] = [offset_of!(Head, validity)];
    const OF_CHANNEL: [usize; 2] = [
        offset_of!(layout::ChannelState, price_validity),
        offset_of!(layout::ChannelState, orders_validity),
    ];
    const TEMPLATE: usize = offset_of!(Header, template_id);
    let template = message.get(TEMPLATE..TEMPLATE + 2);
    let at = match template == Some(&layout::ChannelState::TEMPLATE_ID.to_le_bytes()) {
        true => &OF_CHANNEL[..],
        false => &OF_HEAD,
    };
    for offset in at {
        if let Some(validity) = message.get_mut(size_of::<Header>() + offset)
            && *validity == Validity::Live as u8
        {
            *validity = Validity::Stale as u8;
        }
    }
}

/// Bytes that `update` takes as one message.
#[inline]
pub const fn encoded_len(update: &Update<'_>) -> usize {
    match update {
        Update::Book(update) => {
            fixed::<layout::BookUpdate>() + group_len::<layout::LevelChange>(update.changes.len())
        }
        Update::Orders(update) => {
            fixed::<layout::OrderUpdate>() + group_len::<layout::OrderChange>(update.changes.len())
        }
        Update::Trade(_) => fixed::<layout::Trade>(),
        Update::Statistic(_) => fixed::<layout::Statistics>(),
        Update::Status(_) => fixed::<layout::TradingStatus>(),
        Update::BookSnapshot(snapshot) => {
            fixed::<layout::BookSnapshot>()
                + group_len::<layout::Level>(snapshot.bids.len())
                + group_len::<layout::Level>(snapshot.asks.len())
                + group_len::<layout::Level>(snapshot.implied_bids.len())
                + group_len::<layout::Level>(snapshot.implied_asks.len())
        }
        Update::OrdersSnapshot(snapshot) => {
            fixed::<layout::OrdersSnapshot>() + group_len::<layout::Order>(snapshot.orders.len())
        }
        Update::State(_) => fixed::<layout::InstrumentState>(),
        Update::Gap(_) => fixed::<layout::Gap>(),
        Update::Reset => fixed::<layout::Reset>(),
        Update::Definition(definition) => definition::len(definition),
        Update::Download(_) => fixed::<layout::Download>(),
        Update::Channel(_) => fixed::<layout::ChannelState>(),
        Update::Quotes(update) => {
            fixed::<layout::QuoteUpdate>() + group_len::<layout::QuoteChange>(update.changes.len())
        }
        Update::QuoteSnapshot(snapshot) => {
            fixed::<layout::QuoteSnapshot>() + group_len::<layout::Quote>(snapshot.quotes.len())
        }
    }
}

/// Writes an update, with the flags of the tag unchanged. No group may have more entries than its
/// dimension can count; parts never do.
#[inline]
pub(super) fn write_tagged(update: &Update<'_>, tag: &Tag<'_>, out: &mut impl Sink) {
    match update {
        Update::Book(update) => book(update, tag, out),
        Update::Orders(update) => orders(update, tag, out),
        Update::Trade(update) => trade(update, tag, out),
        Update::Statistic(update) => statistic(update, tag, out),
        Update::Status(update) => status(update, tag, out),
        Update::BookSnapshot(update) => book_snapshot(update, tag, out),
        Update::OrdersSnapshot(update) => orders_snapshot(update, tag, out),
        Update::State(update) => state(*update, tag, out),
        Update::Gap(update) => gap(*update, tag, out),
        Update::Reset => reset(tag, out),
        Update::Definition(update) => definition::write(update, tag, out),
        Update::Download(phase) => download(*phase, tag, out),
        Update::Channel(state) => channel(state, tag, out),
        Update::Quotes(update) => quotes::update(update, tag, out),
        Update::QuoteSnapshot(snapshot) => quotes::snapshot(snapshot, tag, out),
    }
}

#[inline]
fn book(update: &BookUpdate<'_>, tag: &Tag<'_>, out: &mut impl Sink) {
    let flags = Flags::DIRECT.when(update.direct) | Flags::CUT.when(!update.whole);
    let (bid, bid_state) = best(update.best_bid);
    let (ask, ask_state) = best(update.best_ask);
    let block = layout::BookUpdate {
        head: tag.head(update.instrument, Some(update.validity), flags),
        trace: tag.trace(),
        venue_id: update.security_id.into(),
        bid_price: bid.price.0.into(),
        bid_quantity: bid.quantity.0.into(),
        ask_price: ask.price.0.into(),
        ask_quantity: ask.quantity.0.into(),
        bid_orders: bid.orders.into(),
        ask_orders: ask.orders.into(),
        bid_state,
        ask_state,
        reserved: Zeros::NEW,
    };
    start(block, out);
    group::<layout::LevelChange>(update.changes, out);
}

/// A best level, or its null.
#[inline(always)]
fn best(level: Option<Level>) -> (Level, u8) {
    match level {
        Some(level) if level.known => (level, code::LEVEL_KNOWN),
        Some(level) => (level, code::LEVEL_UNKNOWN),
        None => (Level::UNKNOWN, code::LEVEL_ABSENT),
    }
}

#[inline]
fn orders(update: &OrdersUpdate<'_>, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of_book(update.instrument, update.validity);
    let block = layout::OrderUpdate {
        head,
        trace,
        reserved: Zeros::NEW,
    };
    start(block, out);
    group::<layout::OrderChange>(update.changes, out);
}

#[inline]
fn trade(trade: &Trade, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of(trade.instrument);
    let block = layout::Trade {
        head,
        trace,
        price: trade.price.0.into(),
        quantity: trade.quantity.0.into(),
        trade_id: trade.trade_id.into(),
        orders: trade.orders.into(),
        aggressor: trade.aggressor.map_or(code::NULL, |side| side as u8),
        action: trade.action as u8,
    };
    start(block, out);
}

#[inline]
fn statistic(statistic: &Statistic, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of(statistic.instrument);
    let block = layout::Statistics {
        head,
        trace,
        price: statistic.price.0.into(),
        quantity: statistic.quantity.0.into(),
        kind: statistic.kind as u8,
        action: statistic.action as u8,
    };
    start(block, out);
}

fn status(status: &TradingStatus, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of(status.instrument.unwrap_or(NO_INSTRUMENT));
    let block = layout::TradingStatus {
        head,
        trace,
        product_group: Text(status.group),
        status_code: status.status,
        reason_code: status.reason,
        event_code: status.event,
    };
    start(block, out);
}

fn book_snapshot(snapshot: &BookSnapshot<'_>, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of_book(snapshot.instrument, snapshot.validity);
    let block = layout::BookSnapshot {
        head,
        trace,
        reserved: Zeros::NEW,
    };
    start(block, out);
    let BookSnapshot {
        bids,
        asks,
        implied_bids,
        implied_asks,
        ..
    } = snapshot;
    for levels in [bids, asks, implied_bids, implied_asks] {
        group::<layout::Level>(levels, out);
    }
}

fn orders_snapshot(snapshot: &OrdersSnapshot<'_>, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of_book(snapshot.instrument, snapshot.validity);
    let block = layout::OrdersSnapshot {
        head,
        trace,
        reserved: Zeros::NEW,
    };
    start(block, out);
    group::<layout::Order>(snapshot.orders, out);
}

fn state(state: State, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of_book(state.instrument, state.validity);
    start(layout::InstrumentState { head, trace }, out);
}

fn gap(gap: Gap, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of_none();
    let block = layout::Gap {
        head,
        trace,
        first_lost: gap.first.into(),
        last_lost: gap.last.into(),
        orders_validity: gap.orders as u8,
    };
    start(block, out);
}

fn reset(tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of_none();
    start(layout::Reset { head, trace }, out);
}

fn download(phase: Phase, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of_none();
    let block = layout::Download {
        head,
        trace,
        phase: phase as u8,
    };
    start(block, out);
}

fn channel(state: &ChannelState, tag: &Tag<'_>, out: &mut impl Sink) {
    let (head, trace) = tag.of_none();
    let block = layout::ChannelState {
        head,
        trace,
        channel_sequence: state.sequence.into(),
        price_validity: state.price as u8,
        orders_validity: state.orders as u8,
    };
    start(block, out);
}
