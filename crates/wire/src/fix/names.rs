//! Names of fields for the readers of headers and market data, by one look-up of the first bytes.

use super::fields::data_of;
use super::header_tags::is_header;
use super::tag;

/// A field, as classified for the readers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Name {
    /// Unknown by its first bytes: any tag, a length of data, or no field at all.
    #[default]
    Other,
    MsgSeqNum,
    SendingTime,
    SenderCompId,
    TargetCompId,
    /// A field of the body whose value no reader needs. The variants below are fields of the body, too.
    Plain,
    Symbol,
    Side,
    MdReqId,
    NoMdEntries,
    MdEntryType,
    MdEntryPx,
    MdEntrySize,
    MdEntryDate,
    MdUpdateAction,
}

impl Name {
    /// Whether the field is known to be of the body.
    #[inline(always)]
    pub(super) fn is_body(self) -> bool {
        self as u8 >= Name::Plain as u8
    }
}

/// The name of a field of this length that begins with these four bytes. A field without a value has none.
#[inline(always)]
pub(super) fn name(word: u32, length: usize) -> Name {
    let known = &TABLE[slot(word)];
    if (word ^ known.key) << known.shift == 0 && length > usize::from(known.width) {
        known.name
    } else {
        Name::Other
    }
}

/// A tag of the table.
#[derive(Clone, Copy)]
struct Known {
    /// The bytes of the tag and its equals sign.
    key: u32,
    /// Bits of a word that do not belong to the key.
    shift: u8,
    /// Bytes of the key.
    width: u8,
    name: Name,
}

const BITS: u32 = 10;

/// Index of a field in the table: fields with the same first three bytes share it.
#[inline(always)]
const fn slot(word: u32) -> usize {
    // Found by trying: no two of the tags that have a name, or that market data is full of, share a place.
    const SPREAD: u32 = 0x83b9_4085;
    ((word << 8).wrapping_mul(SPREAD) >> (32 - BITS)) as usize
}

/// The bytes of a tag of two or three digits.
const fn known(tag: u32, name: Name) -> Known {
    let (hundreds, tens, ones) = (tag / 100 % 10, tag / 10 % 10, tag % 10);
    if tag < 100 {
        return Known {
            key: u32::from_le_bytes(*b"00=\0") + (tens | ones << 8),
            shift: 8,
            width: 3,
            name,
        };
    }
    Known {
        key: u32::from_le_bytes(*b"000=") + (hundreds | tens << 8 | ones << 16),
        shift: 0,
        width: 4,
        name,
    }
}

const NAMED: [(u32, Name); 13] = [
    (tag::MSG_SEQ_NUM, Name::MsgSeqNum),
    (tag::SENDING_TIME, Name::SendingTime),
    (tag::SENDER_COMP_ID, Name::SenderCompId),
    (tag::TARGET_COMP_ID, Name::TargetCompId),
    (tag::SYMBOL, Name::Symbol),
    (tag::SIDE, Name::Side),
    (tag::MD_REQ_ID, Name::MdReqId),
    (tag::NO_MD_ENTRIES, Name::NoMdEntries),
    (tag::MD_ENTRY_TYPE, Name::MdEntryType),
    (tag::MD_ENTRY_PX, Name::MdEntryPx),
    (tag::MD_ENTRY_SIZE, Name::MdEntrySize),
    (tag::MD_ENTRY_DATE, Name::MdEntryDate),
    (tag::MD_UPDATE_ACTION, Name::MdUpdateAction),
];

/// Tags that readers compare directly, without a name.
const fn is_read(tag: u32) -> bool {
    matches!(
        tag,
        tag::MD_ENTRY_TIME | tag::MD_ENTRY_ID | tag::MD_ENTRY_POSITION_NO | tag::QUOTE_ENTRY_ID
    )
}

/// The tags with a name, and of all others of the body as many as have a place for themselves.
static TABLE: [Known; 1 << BITS] = {
    let empty = Known {
        key: 0,
        shift: 0,
        width: 0,
        name: Name::Other,
    };
    let mut table = [empty; 1 << BITS];
    let mut at = 0;
    while at < NAMED.len() {
        let entry = known(NAMED[at].0, NAMED[at].1);
        assert!(table[slot(entry.key)].width == 0, "two names in one place");
        table[slot(entry.key)] = entry;
        at += 1;
    }
    let mut tag = 10;
    while tag < 1_000 {
        let entry = known(tag, Name::Plain);
        let is_plain = !is_header(tag) && !is_read(tag) && data_of(tag).is_none();
        if is_plain && table[slot(entry.key)].width == 0 {
            table[slot(entry.key)] = entry;
        }
        tag += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    /// The table is right for any first bytes of a field.
    #[test]
    fn each_tag_has_its_name() {
        let mut plain = 0;
        for tag in 1..100_000_u32 {
            for value in ["", "=", "x", "1", "\u{1}"] {
                let field = format!("{tag}={value}");
                let text = format!("{field}\u{1}10=123");
                let bytes = *text.as_bytes().first_chunk().unwrap();
                let named = NAMED.iter().find(|(named, _)| *named == tag);
                let is_empty = value.is_empty();
                match name(u32::from_le_bytes(bytes), field.len()) {
                    Name::Other => assert!(is_empty || named.is_none(), "{text:?}"),
                    Name::Plain => {
                        assert!(!is_empty && named.is_none(), "{text:?}");
                        assert!(!is_header(tag) && data_of(tag).is_none(), "{text:?}");
                        plain += 1;
                    }
                    name => {
                        assert!(!is_empty, "{text:?}");
                        assert_eq!(named.map(|(_, name)| *name), Some(name), "{text:?}");
                    }
                }
            }
        }
        assert!(plain > 4 * 800, "{plain}: the table is nearly empty");
    }

    #[test]
    fn an_unknown_tag_has_no_name() {
        for a in 0..=255_u8 {
            for text in [
                [a, b'5', b'=', b'x'],
                [b'5', a, b'=', b'x'],
                [b'5', b'5', a, b'x'],
                [b'2', b'7', b'0', a],
                [b'2', a, b'0', b'='],
            ] {
                let head = text.split(|byte| *byte == b'=').next().unwrap();
                let is_tag = (2..4).contains(&head.len())
                    && head[0] != b'0'
                    && head.iter().all(u8::is_ascii_digit);
                let name = name(u32::from_le_bytes(text), 8);
                let is_named = name != Name::Other;
                assert!(is_tag || !is_named, "{text:?}");
            }
        }
    }
}
