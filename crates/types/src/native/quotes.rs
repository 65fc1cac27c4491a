//! Quotes of providers, into bytes and out of them.

use super::layout::{self, Block, Dimension, Text, Zeros};
use super::schema::{PART_BYTES_MAX, PART_BYTES_MIN};
use super::source::{Source, text};
use super::write::{Tag, fixed, group, group_len, start};
use super::{Entry, Flags, Group, Malformed, Sink, code};
use crate::{
    Instrument, Price, Quantity, Quote, QuoteAction, QuoteChange, QuoteSnapshot, QuoteStream,
    QuoteUpdate, Side, Timestamps, Validity,
};

/// Quotes of a provider in a message, or a part of them: the steps of a [`QuoteUpdate`], or all of a
/// [`QuoteSnapshot`].
#[derive(Clone, Copy, Debug)]
pub struct QuotesView<'a, E: Entry> {
    /// The instrument.
    pub instrument: Instrument,
    /// How far the provider's quotes may be trusted after it.
    pub validity: Validity,
    /// The steps or the quotes, in order.
    pub quotes: Group<'a, E>,
    stream: &'a layout::QuoteStream,
}

impl<'a, E: Entry> QuotesView<'a, E> {
    /// Checks a message of quotes.
    pub(super) fn parse(
        source: &mut Source<'a>,
        stream: &'a layout::QuoteStream,
    ) -> Result<QuotesView<'a, E>, Malformed> {
        text(&stream.provider, "provider")?;
        Ok(QuotesView {
            instrument: source.instrument()?,
            validity: source.validity()?,
            quotes: source.group()?,
            stream,
        })
    }

    /// Instrument, provider and value date of the quotes.
    pub fn stream(&self) -> QuoteStream {
        let provider = text(&self.stream.provider, "provider");
        QuoteStream {
            instrument: self.instrument,
            security_id: self.stream.security_id.get(),
            provider: provider.expect("a provider is checked when its message is parsed"),
            value_date: self.stream.value_date.get(),
            validity: self.validity,
            is_unquoted: self.stream.stream_flags & code::UNQUOTED != 0,
        }
    }
}

/// Flags of the publisher that a message of quotes uses.
const FLAGS: Flags = Flags(Flags::OF_PUBLISHER.0 | Flags::CONTINUED.0 | Flags::MORE.0);

/// Writes changes of quotes as one message to the start of `out` and gives its length. As
/// [`encode`](super::encode()), and `flags` also say whether it is a part: see [`quote_update_parts`].
pub fn encode_quote_update(
    update: &QuoteUpdate<'_>,
    sequence: u64,
    flags: Flags,
    timestamps: &Timestamps,
    out: &mut [u8],
) -> Option<usize> {
    let (head, trace, stream) = begin(&update.stream, sequence, flags, timestamps);
    let block = layout::QuoteUpdate {
        head,
        trace,
        stream,
    };
    write::<_, layout::QuoteChange>(block, update.changes, out)
}

/// Writes all quotes of a provider as one message to the start of `out` and gives its length. As
/// [`encode_quote_update`].
pub fn encode_quote_snapshot(
    snapshot: &QuoteSnapshot<'_>,
    sequence: u64,
    flags: Flags,
    timestamps: &Timestamps,
    out: &mut [u8],
) -> Option<usize> {
    let (head, trace, stream) = begin(&snapshot.stream, sequence, flags, timestamps);
    let block = layout::QuoteSnapshot {
        head,
        trace,
        stream,
    };
    write::<_, layout::Quote>(block, snapshot.quotes, out)
}

fn write<B: Block, E: Entry>(block: B, values: &[E::Value], out: &mut [u8]) -> Option<usize> {
    let length = fixed::<B>() + group_len::<E>(values.len());
    let mut room = out.get_mut(..length)?;
    if values.len() > usize::from(u16::MAX) {
        return None;
    }
    start(block, &mut room);
    group::<E>(values, &mut room);
    Some(length)
}

/// Writes a message of changes, with the flags of the tag as they are.
pub(super) fn update(update: &QuoteUpdate<'_>, tag: &Tag<'_>, out: &mut impl Sink) {
    let stream = &update.stream;
    let (head, trace) = tag.of_book(stream.instrument, stream.validity);
    let block = layout::QuoteUpdate {
        head,
        trace,
        stream: layout_of(stream),
    };
    start(block, out);
    group::<layout::QuoteChange>(update.changes, out);
}

/// Writes a message of all quotes, with the flags of the tag as they are.
pub(super) fn snapshot(snapshot: &QuoteSnapshot<'_>, tag: &Tag<'_>, out: &mut impl Sink) {
    let stream = &snapshot.stream;
    let (head, trace) = tag.of_book(stream.instrument, stream.validity);
    let block = layout::QuoteSnapshot {
        head,
        trace,
        stream: layout_of(stream),
    };
    start(block, out);
    group::<layout::Quote>(snapshot.quotes, out);
}

/// Common start of the blocks of quotes.
fn begin(
    stream: &QuoteStream,
    sequence: u64,
    flags: Flags,
    timestamps: &Timestamps,
) -> (layout::Head, layout::LatencyTrace, layout::QuoteStream) {
    let tag = Tag::new(sequence, flags.only(FLAGS), timestamps);
    let (head, trace) = tag.of_book(stream.instrument, stream.validity);
    (head, trace, layout_of(stream))
}

fn layout_of(stream: &QuoteStream) -> layout::QuoteStream {
    layout::QuoteStream {
        security_id: stream.security_id.into(),
        provider: Text(stream.provider.bytes()),
        value_date: stream.value_date.into(),
        stream_flags: bit(stream.is_unquoted, code::UNQUOTED),
        reserved: Zeros::NEW,
    }
}

/// Cuts an update into parts that fit messages of `bytes_max` bytes, each with the flags that mark it as a part; there is at
/// least one part. A reader applies no part before the last.
pub fn quote_update_parts<'u>(
    update: &QuoteUpdate<'u>,
    bytes_max: usize,
) -> impl Iterator<Item = (QuoteUpdate<'u>, Flags)> + use<'u> {
    let stream = update.stream;
    cut(update.changes, bytes_max)
        .map(move |(changes, flags)| (QuoteUpdate { stream, changes }, flags))
}

/// Cuts a snapshot as [`quote_update_parts`] cuts an update.
pub fn quote_snapshot_parts<'u>(
    snapshot: &QuoteSnapshot<'u>,
    bytes_max: usize,
) -> impl Iterator<Item = (QuoteSnapshot<'u>, Flags)> + use<'u> {
    let stream = snapshot.stream;
    cut(snapshot.quotes, bytes_max)
        .map(move |(quotes, flags)| (QuoteSnapshot { stream, quotes }, flags))
}

fn cut<T>(values: &[T], bytes_max: usize) -> impl Iterator<Item = (&[T], Flags)> {
    let bytes_max = bytes_max.clamp(PART_BYTES_MIN, PART_BYTES_MAX);
    let room = (bytes_max - FIXED) / size_of::<layout::QuoteChange>();
    let parts = values.len().div_ceil(room).max(1);
    (0..parts).map(move |part| {
        let first = part * room;
        let values = &values[first..(first + room).min(values.len())];
        let flags = Flags::CONTINUED.when(part > 0) | Flags::MORE.when(part + 1 < parts);
        (values, flags)
    })
}

/// Bytes of a message of quotes beside its entries.
const FIXED: usize = fixed::<layout::QuoteUpdate>() + size_of::<Dimension>();

const _: () = {
    assert!(size_of::<layout::QuoteUpdate>() == size_of::<layout::QuoteSnapshot>());
    assert!(size_of::<layout::QuoteChange>() == size_of::<layout::Quote>());
    assert!(FIXED + size_of::<layout::QuoteChange>() <= PART_BYTES_MIN);
};

impl Entry for layout::Quote {
    type Value = Quote;

    fn of(quote: &Quote) -> Self {
        layout::Quote {
            price: quote.price.0.into(),
            quantity: quote.quantity.0.into(),
            quantity_min: quote.quantity_min.0.into(),
            expiry_ns: quote.expiry_ns.into(),
            priority: quote.priority.into(),
            entry: quote.entry.into(),
            tier: quote.tier.unwrap_or(NO_TIER).into(),
            side: quote.side as u8,
            quote_flags: flags(quote),
            set_ns: quote.set_ns.into(),
            quote_id: Text(quote.quote_id.bytes()),
        }
    }

    fn check(&self) -> Result<(), Malformed> {
        Side::from_code(self.side).ok_or(Malformed::Value("side"))?;
        text(&self.quote_id, "quoteId").map(drop)
    }

    fn value(&self) -> Quote {
        Quote {
            entry: self.entry.get(),
            side: Side::from_code(self.side).unwrap_or(Side::Bid),
            price: Price(self.price.get()),
            quantity: Quantity(self.quantity.get()),
            quantity_min: Quantity(self.quantity_min.get()),
            expiry_ns: self.expiry_ns.get(),
            priority: self.priority.get(),
            set_ns: self.set_ns.get(),
            tier: Some(self.tier.get()).filter(|tier| *tier != NO_TIER),
            is_indicative: self.quote_flags & code::INDICATIVE != 0,
            is_full_amount: self.quote_flags & code::FULL_AMOUNT != 0,
            quote_id: text(&self.quote_id, "quoteId").unwrap_or_default(),
        }
    }
}

impl Entry for layout::QuoteChange {
    type Value = QuoteChange;

    fn of(change: &QuoteChange) -> Self {
        let quote = &change.quote;
        layout::QuoteChange {
            price: quote.price.0.into(),
            quantity: quote.quantity.0.into(),
            quantity_min: quote.quantity_min.0.into(),
            expiry_ns: quote.expiry_ns.into(),
            priority: quote.priority.into(),
            entry: quote.entry.into(),
            tier: quote.tier.unwrap_or(NO_TIER).into(),
            side: quote.side as u8,
            quote_flags: flags(quote),
            action: change.action as u8,
            reserved: Zeros::NEW,
            quote_id: Text(quote.quote_id.bytes()),
        }
    }

    fn check(&self) -> Result<(), Malformed> {
        QuoteAction::from_code(self.action).ok_or(Malformed::Value("action"))?;
        self.quote().check()
    }

    fn value(&self) -> QuoteChange {
        QuoteChange {
            action: QuoteAction::from_code(self.action).unwrap_or(QuoteAction::Clear),
            quote: self.quote().value(),
        }
    }
}

impl layout::QuoteChange {
    /// The quote, without the kind of change.
    #[inline(always)]
    fn quote(&self) -> layout::Quote {
        let layout::QuoteChange {
            price,
            quantity,
            quantity_min,
            expiry_ns,
            priority,
            entry,
            tier,
            side,
            quote_flags,
            action: _,
            reserved: _,
            quote_id,
        } = *self;
        layout::Quote {
            price,
            quantity,
            quantity_min,
            expiry_ns,
            priority,
            entry,
            tier,
            side,
            quote_flags,
            set_ns: 0.into(),
            quote_id,
        }
    }
}

/// Stands for no tier on the wire.
const NO_TIER: u16 = u16::MAX;

fn bit(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

fn flags(quote: &Quote) -> u8 {
    bit(quote.is_indicative, code::INDICATIVE) | bit(quote.is_full_amount, code::FULL_AMOUNT)
}
