//! A message while it is checked.

use super::layout::{Block, Head, Header, LatencyTrace, Text};
use super::schema::{NO_INSTRUMENT, SCHEMA_ID, SCHEMA_VERSION};
use super::{Entry, Group, Malformed};
use crate::text::FixedText;
use crate::{Instrument, Validity};
use zerocopy::FromBytes;

/// A message while it is checked.
pub(super) struct Source<'a> {
    pub(super) template_id: u16,
    /// Version of the writer's schema.
    pub(super) version: u16,
    pub(super) head: &'a Head,
    pub(super) block: &'a [u8],
    /// Unread bytes after the block.
    pub(super) rest: &'a [u8],
}

impl<'a> Source<'a> {
    #[inline(always)]
    pub(super) fn open(bytes: &'a [u8]) -> Result<Source<'a>, Malformed> {
        let (header, rest) = Header::ref_from_prefix(bytes).map_err(|_| Malformed::HeaderCut)?;
        if header.schema_id.get() != SCHEMA_ID {
            return Err(Malformed::SchemaUnknown);
        }
        let (block, rest) = rest
            .split_at_checked(usize::from(header.block_length.get()))
            .ok_or(Malformed::BlockPastEnd)?;
        let (head, _) = Head::ref_from_prefix(block).map_err(|_| Malformed::BlockTooShort)?;
        Ok(Source {
            template_id: header.template_id.get(),
            version: header.version.get(),
            head,
            block,
            rest,
        })
    }

    /// The block, or as much of it as is known here.
    #[inline(always)]
    pub(super) fn block<B: Block>(&self) -> Result<&'a B, Malformed> {
        let (block, _) = B::ref_from_prefix(self.block).map_err(|_| Malformed::BlockTooShort)?;
        Ok(block)
    }

    #[inline(always)]
    pub(super) fn trace(&self) -> Result<&'a LatencyTrace, Malformed> {
        let behind_the_head = self.block.get(size_of::<Head>()..);
        let (trace, _) = LatencyTrace::ref_from_prefix(behind_the_head.unwrap_or_default())
            .map_err(|_| Malformed::BlockTooShort)?;
        Ok(trace)
    }

    #[inline(always)]
    pub(super) fn group<E: Entry>(&mut self) -> Result<Group<'a, E>, Malformed> {
        let group;
        (group, self.rest) = Group::split(self.rest)?;
        Ok(group)
    }

    #[inline(always)]
    pub(super) fn instrument(&self) -> Result<Instrument, Malformed> {
        self.instrument_if_any()
            .ok_or(Malformed::Value("instrument"))
    }

    #[inline(always)]
    pub(super) fn instrument_if_any(&self) -> Option<Instrument> {
        let instrument = Instrument(self.head.instrument.get());
        (instrument != NO_INSTRUMENT).then_some(instrument)
    }

    #[inline(always)]
    pub(super) fn validity(&self) -> Result<Validity, Malformed> {
        Validity::from_code(self.head.validity).ok_or(Malformed::Value("validity"))
    }

    /// Nothing may follow the last group, unless a newer writer has added groups.
    #[inline(always)]
    pub(super) fn close(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() || self.version > SCHEMA_VERSION {
            Ok(())
        } else {
            Err(Malformed::BytesLeftOver)
        }
    }
}

/// Text that a reader returns or compares: unprintable bytes are refused.
pub(super) fn text<const N: usize>(
    text: &Text<N>,
    field: &'static str,
) -> Result<FixedText<N>, Malformed> {
    FixedText::from_bytes(&text.0).ok_or(Malformed::Value(field))
}
