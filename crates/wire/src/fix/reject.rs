//! Contents of a Reject (35=3).

use super::number::integer;
use core::fmt;

/// SessionRejectReason (373), FIX 4.4 volume 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SessionRejectReason {
    /// The tag is invalid, or not in the dictionary.
    InvalidTagNumber = 0,
    /// A field that must be there is not.
    RequiredTagMissing = 1,
    /// The dictionary knows the field, but not in this message.
    TagNotDefinedForMessage = 2,
    /// More unknown fields than can be distinguished.
    UndefinedTag = 3,
    /// No value after the equals sign.
    TagWithoutValue = 4,
    /// The value is not in the field's list.
    ValueIncorrect = 5,
    /// The value is not written as the field's type asks.
    IncorrectDataFormat = 6,
    /// Decryption failed. For the session, as the next two.
    DecryptionProblem = 7,
    /// Signature is wrong.
    SignatureProblem = 8,
    /// A CompID is not the session's.
    CompIdProblem = 9,
    /// SendingTime is too far from the clock.
    SendingTimeAccuracyProblem = 10,
    /// The dictionary has no such message.
    InvalidMsgType = 11,
    /// A field outside of a group, or of one entry of a group, is there twice.
    TagAppearsMoreThanOnce = 13,
    /// A field of the header behind the body, or of the body behind the trailer.
    TagOutOfOrder = 14,
    /// An entry does not begin with its first field.
    GroupFieldsOutOfOrder = 15,
    /// The entries are more or fewer than the count.
    IncorrectGroupCount = 16,
}

impl fmt::Display for SessionRejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SessionRejectReason::InvalidTagNumber => "Invalid tag number",
            SessionRejectReason::RequiredTagMissing => "Required tag missing",
            SessionRejectReason::TagNotDefinedForMessage => "Tag not defined for this message type",
            SessionRejectReason::UndefinedTag => "Undefined tag",
            SessionRejectReason::TagWithoutValue => "Tag specified without a value",
            SessionRejectReason::ValueIncorrect => "Value is incorrect (out of range) for this tag",
            SessionRejectReason::IncorrectDataFormat => "Incorrect data format for value",
            SessionRejectReason::DecryptionProblem => "Decryption problem",
            SessionRejectReason::SignatureProblem => "Signature problem",
            SessionRejectReason::CompIdProblem => "CompID problem",
            SessionRejectReason::SendingTimeAccuracyProblem => "SendingTime accuracy problem",
            SessionRejectReason::InvalidMsgType => "Invalid MsgType",
            SessionRejectReason::TagAppearsMoreThanOnce => "Tag appears more than once",
            SessionRejectReason::TagOutOfOrder => "Tag specified out of required order",
            SessionRejectReason::GroupFieldsOutOfOrder => "Repeating group fields out of order",
            SessionRejectReason::IncorrectGroupCount => {
                "Incorrect NumInGroup count for repeating group"
            }
        })
    }
}

/// The field that a Reject is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefTag<'a> {
    /// Tag of the field.
    Number(u32),
    /// Bytes in the place of the tag.
    Written(&'a [u8]),
}

impl RefTag<'_> {
    /// Value for RefTagID (371), a whole number; none if the tag has letters.
    pub fn number(&self) -> Option<i64> {
        match self {
            RefTag::Number(tag) => Some(i64::from(*tag)),
            RefTag::Written(text) => integer(text).ok(),
        }
    }
}

/// Why a session must reject a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject<'a> {
    /// SessionRejectReason (373).
    pub reason: SessionRejectReason,
    /// The field with the fault. MsgType (35) for a message that the dictionary does not contain.
    pub tag: RefTag<'a>,
}

impl<'a> Reject<'a> {
    /// Makes a reject about a field with a valid tag.
    pub fn new(reason: SessionRejectReason, tag: u32) -> Reject<'a> {
        Reject {
            reason,
            tag: RefTag::Number(tag),
        }
    }
}
