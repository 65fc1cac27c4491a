//! Encoder of MDP 3.0: each field at the offset in the specification's table.
//!
//! Independent of the generated decoders, so that each checks the other.

pub mod definition;
pub mod incremental;
pub mod snapshot;

/// Schema version of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Schema version 9.
    V9,
    /// Schema version 13, which has wide quantities (64-67, 69) and longer definitions.
    V13,
}

/// A template and its encoding.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Template id.
    pub id: u16,
    /// Schema version.
    pub version: Version,
    /// Encode in a future version: higher number, longer blocks, bytes behind the last group.
    pub from_the_future: bool,
}

/// A repeating group.
#[derive(Clone, Debug)]
pub struct Group {
    dimension: Dimension,
    block_length: usize,
    entries: Vec<Block>,
}

/// Block of fields; unset bytes are zero.
#[derive(Clone, Debug)]
pub struct Block(Vec<u8>);

#[derive(Clone, Copy, Debug)]
enum Dimension {
    /// `groupSize`: block length u16, count u8.
    Three,
    /// `groupSize8Byte`: block length u16, five bytes of padding, count u8.
    Eight,
}

/// Largest count of a group.
pub const ENTRIES_MAX: usize = 255;

/// The null of an optional price.
pub const NULL_PRICE: i64 = i64::MAX;
/// The null of an optional int32.
pub const NULL_I32: i32 = i32::MAX;
/// The null of an optional uint64.
pub const NULL_U64: u64 = u64::MAX;

/// Bytes that a future version adds to each block, and behind the last group.
const FUTURE_BYTES: usize = 4;
/// Number of the future version.
const FUTURE_VERSION: u16 = 14;

impl Version {
    /// Number in the SBE header.
    pub fn number(self) -> u16 {
        match self {
            Self::V9 => 9,
            Self::V13 => 13,
        }
    }
}

/// A packet: sequence, sending time, and its messages.
pub fn packet(sequence: u32, sending_time: u64, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = sequence.to_le_bytes().to_vec();
    bytes.extend(sending_time.to_le_bytes());
    bytes.extend(messages.concat());
    bytes
}

/// A message with its size field and SBE header.
pub fn message(template: Template, root: &Block, groups: &[Group]) -> Vec<u8> {
    let extra = if template.from_the_future {
        FUTURE_BYTES
    } else {
        0
    };
    let version = if template.from_the_future {
        FUTURE_VERSION
    } else {
        template.version.number()
    };
    let mut body = root.padded(extra);
    for group in groups {
        let length = (group.block_length + extra) as u16;
        let count = u8::try_from(group.entries.len()).expect("the count of a group is one byte");
        body.extend(length.to_le_bytes());
        match group.dimension {
            Dimension::Three => body.push(count),
            Dimension::Eight => body.extend([0, 0, 0, 0, 0, count]),
        }
        group
            .entries
            .iter()
            .for_each(|entry| body.extend(entry.padded(extra)));
    }
    body.extend(std::iter::repeat_n(0xee, extra));

    let mut bytes = ((10 + body.len()) as u16).to_le_bytes().to_vec();
    let root_length = (root.0.len() + extra) as u16;
    [root_length, template.id, 1, version]
        .iter()
        .for_each(|field| bytes.extend(field.to_le_bytes()));
    bytes.extend(body);
    bytes
}

impl Group {
    /// A group of dimension type `groupSize`.
    pub fn new(block_length: usize, entries: Vec<Block>) -> Self {
        Self::with_dimension(Dimension::Three, block_length, entries)
    }

    /// A group of dimension type `groupSize8Byte`.
    pub fn wide(block_length: usize, entries: Vec<Block>) -> Self {
        Self::with_dimension(Dimension::Eight, block_length, entries)
    }

    fn with_dimension(dimension: Dimension, block_length: usize, entries: Vec<Block>) -> Self {
        assert!(
            entries.iter().all(|entry| entry.0.len() == block_length),
            "an entry is not as long as its group says"
        );
        Self {
            dimension,
            block_length,
            entries,
        }
    }
}

impl Block {
    /// A block of zeros.
    pub fn new(length: usize) -> Self {
        Self(vec![0; length])
    }

    /// Writes a number, given as its little-endian bytes, at an offset.
    #[must_use]
    pub fn put<const N: usize>(mut self, offset: usize, little_endian: [u8; N]) -> Self {
        self.0[offset..offset + N].copy_from_slice(&little_endian);
        self
    }

    /// Writes a u8.
    #[must_use]
    pub fn u8(self, offset: usize, value: u8) -> Self {
        self.put(offset, [value])
    }

    /// Writes a u16.
    #[must_use]
    pub fn u16(self, offset: usize, value: u16) -> Self {
        self.put(offset, value.to_le_bytes())
    }

    /// Writes a u32.
    #[must_use]
    pub fn u32(self, offset: usize, value: u32) -> Self {
        self.put(offset, value.to_le_bytes())
    }

    /// Writes a u64.
    #[must_use]
    pub fn u64(self, offset: usize, value: u64) -> Self {
        self.put(offset, value.to_le_bytes())
    }

    /// Writes an i32.
    #[must_use]
    pub fn i32(self, offset: usize, value: i32) -> Self {
        self.put(offset, value.to_le_bytes())
    }

    /// Writes a price, 1e-9.
    #[must_use]
    pub fn price(self, offset: usize, value: i64) -> Self {
        self.put(offset, value.to_le_bytes())
    }

    /// Writes a quantity in the width of the template.
    #[must_use]
    pub fn quantity(self, offset: usize, value: i64, wide: bool) -> Self {
        if wide {
            self.u64(offset, value as u64)
        } else {
            self.i32(
                offset,
                i32::try_from(value).expect("this quantity needs a wide template"),
            )
        }
    }

    /// Writes text, truncated to `length` and padded with zeros.
    #[must_use]
    pub fn text(mut self, offset: usize, length: usize, text: &str) -> Self {
        let text = &text.as_bytes()[..text.len().min(length)];
        self.0[offset..offset + text.len()].copy_from_slice(text);
        self
    }

    /// Writes the null of an optional price at each offset.
    #[must_use]
    pub fn null_prices(self, offsets: &[usize]) -> Self {
        offsets
            .iter()
            .fold(self, |block, &offset| block.price(offset, NULL_PRICE))
    }

    fn padded(&self, extra: usize) -> Vec<u8> {
        let mut bytes = self.0.clone();
        bytes.extend(std::iter::repeat_n(0xee, extra));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_layout_of_the_specification() {
        let template = Template {
            id: 46,
            version: Version::V9,
            from_the_future: false,
        };
        let root = Block::new(11).u64(0, 0x0102_0304_0506_0708).u8(8, 0x80);
        let orders = Group::wide(2, vec![Block::new(2).u16(0, 0xabcd)]);
        let bytes = message(template, &root, &[Group::new(3, vec![]), orders]);
        let expected = [
            34, 0, 11, 0, 46, 0, 1, 0, 9, 0, // size, block length, template, schema, version
            8, 7, 6, 5, 4, 3, 2, 1, 0x80, 0, 0, // root
            3, 0, 0, // first group: block length, count
            2, 0, 0, 0, 0, 0, 0, 1, // second group: block length, padding, count
            0xcd, 0xab,
        ];
        assert_eq!(bytes, expected);
        let future = message(
            Template {
                from_the_future: true,
                ..template
            },
            &root,
            &[],
        );
        assert_eq!(future[..10], [29, 0, 15, 0, 46, 0, 1, 0, 14, 0]);
    }
}
