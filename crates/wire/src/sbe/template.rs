//! Templates as tables, and messages that are read through them: definitions, which are rare, and everything that treats
//! all messages alike, as printing does. The templates that a book is made of have views of their own.
//!
//! The tables are generated ([`Field`] has a line per field); their reader is here.

use super::block::end;
use super::group::Dimension;
use super::value::{Lines, Value, Visitor};
use super::{Malformed, Text};
use core::fmt;

/// A message template.
#[derive(Debug)]
pub struct Template {
    /// The template id on the wire.
    pub id: u16,
    /// The schema's name for the template.
    pub name: &'static str,
    /// The schema version up to which bytes behind the last group are an error.
    pub(crate) newest: u16,
    pub(crate) block: BlockTable,
    pub(crate) groups: &'static [GroupTable],
}

/// The block of a message or of a group's entries.
#[derive(Debug)]
pub(crate) struct BlockTable {
    /// Bytes in the oldest schema known; no writer sends less.
    pub length: u16,
    pub fields: &'static [Field],
}

/// A repeating group of a template.
#[derive(Debug)]
pub struct GroupTable {
    /// The schema's name for it.
    pub name: &'static str,
    /// Field id: the FIX tag.
    pub tag: u16,
    /// The schema version that added it; 0 if each known one has it.
    pub(crate) since: u16,
    pub(crate) dimension: DimensionReader,
    pub(crate) entry: BlockTable,
}

/// Reader of a group's dimension: returns entry length, count and the bytes after it. `None` if the bytes end before.
pub(crate) type DimensionReader = fn(&[u8]) -> Option<(u16, u16, &[u8])>;

/// The reader of the dimension `D`.
pub(crate) fn dimension<D: Dimension + 'static>(bytes: &[u8]) -> Option<(u16, u16, &[u8])> {
    let (dimension, rest) = D::ref_from_prefix(bytes).ok()?;
    Some((dimension.block_length(), dimension.num_in_group(), rest))
}

/// A field of a block. A composite has a line for each member, named `field.member`.
#[derive(Debug)]
pub struct Field {
    /// The schema's name for it.
    pub name: &'static str,
    /// Field id: the FIX tag.
    pub tag: u16,
    offset: u16,
    /// The schema version that added it; 0 if each known one has it.
    since: u16,
    /// The null value, as stored in the block.
    null: Option<u64>,
    kind: Kind,
}

/// Encoding of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// The number of bytes, here and in the variants whose type does not fix the size.
    Unsigned(u8),
    Signed(u8),
    Char,
    Text(u8),
    TimeNs,
    Days,
    /// Size in bytes, and the power of ten that the mantissa counts.
    Decimal(u8, i8),
    /// Function that returns the name of a value.
    Enum(fn(u8) -> Option<&'static str>),
    /// Size in bytes, and bit number and name of each choice.
    Set(u8, &'static [(u8, &'static str)]),
    /// A constant, which is not on the wire.
    Constant(Value<'static>),
}

/// A field that each known schema has, without a null value.
pub(crate) const fn field(name: &'static str, tag: u16, offset: u16, kind: Kind) -> Field {
    Field {
        name,
        tag,
        offset,
        since: 0,
        null: None,
        kind,
    }
}

impl Field {
    /// Makes a field null if it has this value.
    pub(crate) const fn or(mut self, null: u64) -> Self {
        self.null = Some(null);
        self
    }

    /// Makes a field null in messages of an older schema.
    pub(crate) const fn since(mut self, version: u16) -> Self {
        self.since = version;
        self
    }

    /// Writes its null value, if it has one and its place is in `block`.
    #[cfg(test)]
    pub(crate) fn make_null(&self, block: &mut [u8]) {
        let (start, size) = (usize::from(self.offset), self.kind.size());
        if let (Some(null), Some(place)) = (self.null, block.get_mut(start..start + size)) {
            place.copy_from_slice(&null.to_le_bytes()[..size]);
        }
    }

    /// Value of the field in `block`, which a writer of schema `version` filled.
    fn value<'a>(&self, version: u16, block: &'a [u8]) -> Value<'a> {
        if let Kind::Constant(value) = self.kind {
            return value;
        }
        let start = usize::from(self.offset);
        let bytes = match block.get(start..start + self.kind.size()) {
            Some(bytes) if version >= self.since => bytes,
            _ => return Value::Null,
        };
        if let Kind::Text(_) = self.kind {
            return Value::Text(Text::new(bytes));
        }
        let mut raw = [0; 8];
        raw[..bytes.len()].copy_from_slice(bytes);
        let raw = u64::from_le_bytes(raw);
        match self.null {
            Some(null) if null == raw => Value::Null,
            _ => self.kind.number(raw),
        }
    }
}

impl Kind {
    /// Bytes that it takes.
    const fn size(self) -> usize {
        (match self {
            Self::Unsigned(size) | Self::Signed(size) | Self::Text(size) => size,
            Self::Decimal(size, _) | Self::Set(size, _) => size,
            Self::Char | Self::Enum(_) => 1,
            Self::Days => 2,
            Self::TimeNs => 8,
            Self::Constant(_) => 0,
        }) as usize
    }

    fn number(self, raw: u64) -> Value<'static> {
        let signed = |size: u8| {
            let unused = 64 - 8 * u32::from(size);
            (raw << unused).cast_signed() >> unused
        };
        match self {
            Self::Unsigned(_) => Value::Unsigned(raw),
            Self::Signed(size) => Value::Signed(signed(size)),
            Self::Char => Value::Char(raw as u8),
            Self::TimeNs => Value::TimeNs(raw),
            Self::Days => Value::Days(raw as u16),
            Self::Decimal(size, exponent) => Value::Decimal {
                mantissa: signed(size),
                exponent,
            },
            Self::Enum(name) => Value::Enum {
                raw: raw as u8,
                name: name(raw as u8),
            },
            Self::Set(_, choices) => Value::Set { raw, choices },
            Self::Text(_) | Self::Constant(_) => unreachable!("no number on the wire"),
        }
    }
}

/// A message that was checked as a whole, read through the table of its template.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    template: &'static Template,
    version: u16,
    block: &'a [u8],
    groups: &'a [u8],
}

impl<'a> Message<'a> {
    /// Checks a message as a whole: `body` is the message after its SBE header.
    pub(crate) fn split(
        template: &'static Template,
        block_length: u16,
        version: u16,
        body: &'a [u8],
    ) -> Result<Self, Malformed> {
        let (block, groups) = body
            .split_at_checked(usize::from(block_length))
            .ok_or(Malformed::BlockPastEnd)?;
        if block_length < template.block.length {
            return Err(Malformed::BlockTooShort);
        }
        let mut rest = groups;
        for table in template.groups {
            (_, rest) = TableGroup::split(table, version, rest)?;
        }
        end(rest, version, template.newest)?;
        Ok(Self {
            template,
            version,
            block,
            groups,
        })
    }

    /// The template id.
    pub const fn template_id(&self) -> u16 {
        self.template.id
    }

    /// The schema's name for the template.
    pub const fn name(&self) -> &'static str {
        self.template.name
    }

    /// The schema version of the writer.
    pub const fn version(&self) -> u16 {
        self.version
    }

    /// The fields of the root block, in the order of the schema.
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            rest: self.template.block.fields.iter(),
            version: self.version,
            block: self.block,
        }
    }

    /// The groups in the order of the schema; one that came later is empty in an older message.
    pub fn groups(&self) -> impl Iterator<Item = TableGroup<'a>> + use<'a> {
        let (version, mut rest) = (self.version, self.groups);
        self.template.groups.iter().map(move |table| {
            let group;
            (group, rest) =
                TableGroup::split(table, version, rest).expect("a checked message has its groups");
            group
        })
    }

    /// Shows every field and entry to `visitor`.
    ///
    /// # Errors
    /// An error that the visitor returns to stop.
    pub fn visit(&self, visitor: &mut dyn Visitor) -> fmt::Result {
        for (field, value) in self.fields() {
            visitor.field(field.name, value)?;
        }
        for group in self.groups() {
            for (index, entry) in group.enumerate() {
                visitor.entry(group.table.name, index)?;
                for (field, value) in entry {
                    visitor.field(field.name, value)?;
                }
            }
        }
        Ok(())
    }
}

/// Name and fields on one line.
impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.visit(&mut Lines::on_one(f))
    }
}

/// The fields of one block, each with its value.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: core::slice::Iter<'static, Field>,
    version: u16,
    block: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'static Field, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.rest.next()?;
        Some((field, field.value(self.version, self.block)))
    }
}

/// A group of a message: an iterator over its entries.
#[derive(Clone, Copy, Debug)]
pub struct TableGroup<'a> {
    /// Table of the group, from the schema.
    pub table: &'static GroupTable,
    version: u16,
    block_length: u16,
    count: u16,
    entries: &'a [u8],
}

impl<'a> TableGroup<'a> {
    /// The group at the start of `bytes`, and the bytes after it.
    fn split(
        table: &'static GroupTable,
        version: u16,
        bytes: &'a [u8],
    ) -> Result<(Self, &'a [u8]), Malformed> {
        let group = |block_length, count, entries| Self {
            table,
            version,
            block_length,
            count,
            entries,
        };
        if version < table.since {
            return Ok((group(0, 0, &[]), bytes));
        }
        let (block_length, count, rest) =
            (table.dimension)(bytes).ok_or(Malformed::GroupHeaderCut)?;
        // An empty group may state any entry length: no entry is read.
        if count > 0 && block_length < table.entry.length {
            return Err(Malformed::EntryTooShort);
        }
        let (entries, rest) = rest
            .split_at_checked(usize::from(block_length) * usize::from(count))
            .ok_or(Malformed::GroupPastEnd)?;
        Ok((group(block_length, count, entries), rest))
    }
}

impl<'a> Iterator for TableGroup<'a> {
    type Item = Fields<'a>;

    fn next(&mut self) -> Option<Fields<'a>> {
        self.count = self.count.checked_sub(1)?;
        let block;
        (block, self.entries) = self.entries.split_at(usize::from(self.block_length));
        Some(Fields {
            rest: self.table.entry.fields.iter(),
            version: self.version,
            block,
        })
    }
}
