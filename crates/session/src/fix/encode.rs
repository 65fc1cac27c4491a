//! Encoding of session messages: headers, resends, gap fills, texts of Rejects.

use super::Settings;
use super::parsed_header::{ParsedHeader, ROUTE};
use touchline_wire::fix::{Encoder, Message, SessionRejectReason as Reason, tag};

/// Upper bound of the bytes added to a resent message: PossDupFlag, OrigSendingTime, digits of the length.
const ADDED: usize = 64;
/// Upper bound of the size of a gap fill, without the CompIDs.
const GAP_FILL: usize = 256;

/// Bytes for any message of a session and a gap fill before it.
pub fn room_for_any(settings: &Settings) -> usize {
    let names = settings.sender.len() + settings.target.len();
    settings.limits.message_bytes_max + ADDED + GAP_FILL + names
}

/// Writes the header of a message. `route` is that of the message it answers.
pub fn header(
    encoder: &mut Encoder<'_>,
    settings: &Settings,
    number: u64,
    wall_ns: u64,
    route: Option<&ParsedHeader<'_>>,
) {
    encoder
        .bytes(tag::SENDER_COMP_ID, settings.sender.as_bytes())
        .bytes(tag::TARGET_COMP_ID, settings.target.as_bytes())
        .unsigned(tag::MSG_SEQ_NUM, number);
    if let Some(sub) = &settings.sender_sub {
        encoder.bytes(tag::SENDER_SUB_ID, sub.as_bytes());
    }
    if let Some(sub) = &settings.target_sub {
        encoder.bytes(tag::TARGET_SUB_ID, sub.as_bytes());
    }
    encoder.timestamp(tag::SENDING_TIME, wall_ns, settings.precision);
    for (from, to) in ROUTE {
        if let Some(value) = route.and_then(|parsed| parsed.header.text(from)) {
            encoder.bytes(to, value);
        }
    }
}

/// Writes a stored message again: its old SendingTime becomes OrigSendingTime. Returns the length; `None`: no room.
pub fn again(
    room: &mut [u8],
    message: &Message<'_>,
    settings: &Settings,
    wall_ns: u64,
) -> Option<usize> {
    let mut encoder = Encoder::new(room, message.begin_string(), message.msg_type());
    for field in message.fields().map_while(Result::ok) {
        if field.tag != tag::SENDING_TIME {
            encoder.bytes(field.tag, field.value);
            continue;
        }
        // mutant: fix session: a resent message has no PossDupFlag
        encoder
            .flag(tag::POSS_DUP_FLAG, true)
            .timestamp(tag::SENDING_TIME, wall_ns, settings.precision)
            .bytes(tag::ORIG_SENDING_TIME, field.value);
    }
    Some(encoder.finish().ok()?.len())
}

/// Writes a `SequenceReset` (35=4) for the numbers `first..next`. Returns the length; `None`: no room.
pub fn gap_fill(
    room: &mut [u8],
    settings: &Settings,
    wall_ns: u64,
    first: u64,
    next: u64,
    is_again: bool,
) -> Option<usize> {
    let mut encoder = Encoder::new(room, settings.begin_string.as_bytes(), b"4");
    encoder
        .bytes(tag::SENDER_COMP_ID, settings.sender.as_bytes())
        .bytes(tag::TARGET_COMP_ID, settings.target.as_bytes())
        .unsigned(tag::MSG_SEQ_NUM, first);
    if is_again {
        encoder.flag(tag::POSS_DUP_FLAG, true).timestamp(
            tag::ORIG_SENDING_TIME,
            wall_ns,
            settings.precision,
        );
    }
    encoder
        .timestamp(tag::SENDING_TIME, wall_ns, settings.precision)
        .flag(tag::GAP_FILL_FLAG, true)
        .unsigned(tag::NEW_SEQ_NO, next);
    Some(encoder.finish().ok()?.len())
}

/// Text of a SessionRejectReason (373).
pub fn text(reason: Reason) -> &'static [u8] {
    match reason {
        Reason::InvalidTagNumber => b"this is not a tag",
        Reason::RequiredTagMissing => b"a required field is missing",
        Reason::TagNotDefinedForMessage => b"the field does not belong to this message",
        Reason::UndefinedTag => b"the tag is not defined",
        Reason::TagWithoutValue => b"the field has no value",
        Reason::ValueIncorrect => b"the value is out of range",
        Reason::IncorrectDataFormat => b"the value does not have the format of its type",
        Reason::CompIdProblem => b"the CompIDs are not those of this session",
        Reason::SendingTimeAccuracyProblem => {
            b"SendingTime is too far from the receiver's clock, or before OrigSendingTime"
        }
        Reason::InvalidMsgType => b"there is no such message type",
        Reason::TagAppearsMoreThanOnce => b"the field occurs twice",
        Reason::TagOutOfOrder => b"header, body and trailer are not in this order",
        Reason::GroupFieldsOutOfOrder => b"the fields of a group are not in their order",
        Reason::IncorrectGroupCount => b"the number of entries differs from the group's count",
        Reason::DecryptionProblem | Reason::SignatureProblem => b"the message is not valid",
    }
}
