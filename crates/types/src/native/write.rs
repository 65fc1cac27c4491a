//! Header, block and groups of a message, into bytes.

use super::layout::{Block, Dimension, Head, Header, LatencyTrace, Zeros};
use super::schema::{NO_INSTRUMENT, SCHEMA_ID, SCHEMA_VERSION};
use super::{Entry, Flags, Sink, code};
use crate::{Instrument, Timestamps, Validity};

/// Bytes of a message without groups.
pub(super) const fn fixed<B: Block>() -> usize {
    size_of::<Header>() + size_of::<B>()
}

/// Bytes of a group.
pub(super) const fn group_len<E>(entries: usize) -> usize {
    size_of::<Dimension>() + size_of::<E>() * entries
}

/// Fields of a message besides its update.
pub(super) struct Tag<'a> {
    sequence: u64,
    flags: Flags,
    timestamps: &'a Timestamps,
}

impl<'a> Tag<'a> {
    /// `flags` are written unchanged.
    #[inline(always)]
    pub(super) const fn new(sequence: u64, flags: Flags, timestamps: &'a Timestamps) -> Tag<'a> {
        Tag {
            sequence,
            flags,
            timestamps,
        }
    }

    #[inline(always)]
    pub(super) fn head(
        &self,
        instrument: Instrument,
        validity: Option<Validity>,
        flags: Flags,
    ) -> Head {
        Head {
            sequence: self.sequence.into(),
            exchange_ns: self.timestamps.exchange_ns.into(),
            receive_ns: self.timestamps.packet.receive_ns.into(),
            instrument: instrument.0.into(),
            validity: validity.map_or(code::NULL, |validity| validity as u8),
            flags: (self.flags | flags).0,
        }
    }

    #[inline(always)]
    pub(super) fn trace(&self) -> LatencyTrace {
        let Timestamps {
            exchange_ns: _,
            packet,
            polled,
            decoded,
            applied,
            published,
        } = *self.timestamps;
        LatencyTrace {
            reserved: Zeros::NEW,
            packet_sequence: packet.sequence.into(),
            sending_ns: packet.sending_ns.into(),
            polled: polled.into(),
            decoded: decoded.into(),
            applied: applied.into(),
            published: published.into(),
        }
    }

    /// Head of a message of an instrument's book.
    #[inline(always)]
    pub(super) fn of_book(
        &self,
        instrument: Instrument,
        validity: Validity,
    ) -> (Head, LatencyTrace) {
        let head = self.head(instrument, Some(validity), Flags::NONE);
        (head, self.trace())
    }

    /// Head of a message of an instrument, without a book.
    #[inline(always)]
    pub(super) fn of(&self, instrument: Instrument) -> (Head, LatencyTrace) {
        (self.head(instrument, None, Flags::NONE), self.trace())
    }

    /// Head of a message without an instrument.
    #[inline(always)]
    pub(super) fn of_none(&self) -> (Head, LatencyTrace) {
        self.of(NO_INSTRUMENT)
    }
}

/// Writes header and block.
#[inline(always)]
pub(super) fn start<B: Block>(block: B, out: &mut impl Sink) {
    out.put(&Header {
        block_length: (size_of::<B>() as u16).into(),
        template_id: B::TEMPLATE_ID.into(),
        schema_id: SCHEMA_ID.into(),
        version: SCHEMA_VERSION.into(),
    });
    out.put(&block);
}

/// Writes a group.
#[inline(always)]
pub(super) fn group<E: Entry>(values: &[E::Value], out: &mut impl Sink) {
    debug_assert!(
        values.len() <= usize::from(u16::MAX),
        "a part has no such group"
    );
    out.put(&Dimension {
        block_length: (size_of::<E>() as u16).into(),
        num_in_group: (values.len() as u16).into(),
    });
    for value in values {
        out.put(&E::of(value));
    }
}
