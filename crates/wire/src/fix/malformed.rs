//! Reasons why bytes are not a FIX message.

use core::fmt;

/// Reason why bytes are not a FIX message, or a value is not of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The message does not begin with `8=` and a version.
    BeginString,
    /// The second field is not `9=` and a positive number of at most nine digits, behind zeros.
    BodyLength,
    /// The message is longer than the limit.
    TooLong,
    /// The third field is not `35=` and a value.
    MsgType,
    /// The body does not end at BodyLength, followed by `10=` and three digits.
    Trailer,
    /// The sum of the bytes is another one.
    CheckSum,
    /// A tag is not a positive number of at most nine digits without a leading zero.
    Tag,
    /// A tag without a value.
    Value,
    /// A data field is longer than the message, or its length field is missing.
    Data,
    /// A number is not written as one.
    Number,
    /// A number does not fit, or has more digits than are kept.
    Overflow,
    /// A field of the header is there twice, or in the body.
    Header,
    /// A field is there twice in one entry.
    Repeated,
    /// The entries are more or fewer than their count, or do not begin as they should.
    Group,
    /// A timestamp has another format, or names a day that does not exist.
    Time,
    /// A quantity is negative.
    Negative,
    /// A change of a level that several entries without an id form: it is unknown which of them changes.
    Ambiguous,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::BeginString => "does not begin with a version (8)",
            Malformed::BodyLength => "has no valid length (9)",
            Malformed::TooLong => "is longer than the limit",
            Malformed::MsgType => "has no message type (35) as its third field",
            Malformed::Trailer => "does not end at its stated length",
            Malformed::CheckSum => "has a wrong checksum (10)",
            Malformed::Tag => "has a tag that is not a number",
            Malformed::Value => "has a tag without a value",
            Malformed::Data => "has a data field without a length that fits",
            Malformed::Number => "has an invalid number",
            Malformed::Overflow => "has a number that does not fit",
            Malformed::Header => "has a field of the header twice, or in the body",
            Malformed::Repeated => "has a field twice in one entry",
            Malformed::Group => "has other entries than it counts",
            Malformed::Time => "has an invalid time",
            Malformed::Negative => "has a negative quantity",
            Malformed::Ambiguous => {
                "changes a price at which there are several entries without an id (278)"
            }
        })
    }
}

impl core::error::Error for Malformed {}
