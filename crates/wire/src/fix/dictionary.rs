//! Fields, messages and groups that a version of FIX, or a venue's dialect, allows.
//!
//! Borrowed tables, components already resolved: compiled in ([`FIX44`](super::FIX44)) or borrowed from a dictionary
//! that was read at run time. [`validate`](super::validate) checks messages against them.

/// A piece of a table, or of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Start of the range.
    pub start: u32,
    /// Number of rows, or bytes.
    pub len: u32,
}

impl Span {
    fn of<T>(self, table: &[T]) -> &[T] {
        let start = self.start as usize;
        table
            .get(start..start + self.len as usize)
            .unwrap_or_default()
    }
}

/// Form of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A whole number: `int`, `SeqNum`, `DayOfMonth`.
    Int,
    /// The length of the data field behind it.
    Length,
    /// Number of entries of a group: `NumInGroup`.
    Count,
    /// A number with decimals: `float`, `Qty`, `Price`, `PriceOffset`, `Amt`, `Percentage`.
    Number,
    /// A single character.
    Char,
    /// `Y` or `N`.
    Flag,
    /// Text of any form: `String`, `Currency`, `Exchange`, `Country`.
    Text,
    /// Words with a space between them: `MultipleValueString`.
    Words,
    /// `UTCTimestamp`.
    Timestamp,
    /// `UTCTimeOnly`.
    Time,
    /// `UTCDateOnly`, `LocalMktDate`.
    Date,
    /// `MonthYear`.
    Month,
    /// Bytes of any value; their number is the value of a field of kind [`Kind::Length`].
    Data,
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldType {
    /// Tag of the field.
    pub tag: u32,
    /// Form of its value.
    pub kind: Kind,
    /// Name of the field, in the text.
    pub name: Span,
    /// The values that are allowed, rows of [`Dictionary::values`] in ascending order; none: all are.
    pub values: Span,
}

/// A field as part of a message, of a group's entry, of the header or of the trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Tag of the field.
    pub tag: u32,
    /// Whether the field must be there.
    pub required: bool,
    /// Index among the other fields, as the dictionary lists them.
    pub place: u16,
    /// The group that it counts, a row of [`Dictionary::groups`]; [`NO_GROUP`] if it counts none.
    pub group: u16,
}

/// [`Member::group`] of a field that counts no group.
pub const NO_GROUP: u16 = u16::MAX;

/// A repeating group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Tag of the field that begins each entry.
    pub delimiter: u32,
    /// The fields of an entry, rows of [`Dictionary::members`], ascending by tag.
    pub members: Span,
}

/// A type of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageType {
    /// MsgType, in the text.
    pub msg_type: Span,
    /// Name of the message, in the text.
    pub name: Span,
    /// The fields of its body, rows of [`Dictionary::members`], ascending by tag.
    pub members: Span,
}

/// A data field, whose length is in another field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPair {
    /// Tag of the length.
    pub length: u32,
    /// Tag of the bytes.
    pub data: u32,
}

/// Fields that one message, or one entry of a group, may have at most.
pub const MEMBERS_MAX: usize = 512;
/// Groups inside of groups, counted from the message.
pub const DEPTH_MAX: usize = 8;

/// The tables of one version.
#[derive(Clone, Copy, Debug)]
pub struct Dictionary<'a> {
    /// BeginString, as `FIX.4.4`.
    pub begin_string: &'a str,
    /// All names and values.
    pub text: &'a str,
    /// All fields, ascending by tag.
    pub fields: &'a [FieldType],
    /// The allowed values of fields, in the text.
    pub values: &'a [Span],
    /// All messages, ascending by MsgType.
    pub messages: &'a [MessageType],
    /// All members of messages and groups.
    pub members: &'a [Member],
    /// All groups.
    pub groups: &'a [Group],
    /// The fields of the header.
    pub header: Span,
    /// The fields of the trailer.
    pub trailer: Span,
    /// Lengths and data, ascending by the length's tag.
    pub data: &'a [DataPair],
}

impl<'a> Dictionary<'a> {
    /// A field by its tag.
    pub fn field(&self, tag: u32) -> Option<&'a FieldType> {
        let row = self.fields.binary_search_by_key(&tag, |field| field.tag);
        row.ok().and_then(|row| self.fields.get(row))
    }

    /// A type of message by its MsgType.
    pub fn message(&self, msg_type: &[u8]) -> Option<&'a MessageType> {
        let row = self
            .messages
            .binary_search_by_key(&msg_type, |message| self.text(message.msg_type).as_bytes());
        row.ok().and_then(|row| self.messages.get(row))
    }

    /// Members, ascending by tag.
    pub fn members(&self, span: Span) -> &'a [Member] {
        span.of(self.members)
    }

    /// The group that a member counts.
    pub fn group(&self, member: &Member) -> Option<&'a Group> {
        self.groups.get(usize::from(member.group))
    }

    /// A name or a value.
    pub fn text(&self, span: Span) -> &'a str {
        let start = span.start as usize;
        self.text
            .get(start..start + span.len as usize)
            .unwrap_or_default()
    }

    /// Whether a field's list of values, if it has one, has this one.
    pub fn allows(&self, field: &FieldType, value: &[u8]) -> bool {
        let values = field.values.of(self.values);
        values.is_empty()
            || values
                .binary_search_by_key(&value, |span| self.text(*span).as_bytes())
                .is_ok()
    }
}
