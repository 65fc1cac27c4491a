//! How messages of a session are written: their headers, messages that are sent again, gap fills, texts of Rejects.

use super::Settings;
use super::parsed_header::{ParsedHeader, ROUTE};
use touchline_wire::fix::{Encoder, Message, SessionRejectReason as Reason, tag};

/// More bytes than sending a message again adds to it: PossDupFlag, OrigSendingTime, digits of the length.
const ADDED: usize = 64;
/// More bytes than a gap fill has, beside the CompIDs.
const GAP_FILL: usize = 256;

/// Bytes that any message of a session and a gap fill before it need.
pub fn room_for_any(settings: &Settings) -> usize {
    let names = settings.sender.len() + settings.target.len();
    settings.limits.message_bytes_max + ADDED + GAP_FILL + names
}

/// Writes what stands before the body of a message. `route` is of the message that this one answers.
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

/// Writes a stored message again: its old SendingTime becomes OrigSendingTime. How long it is; `None`: it has no room.
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
        // mutant: fix session: what is sent again is not marked
        encoder
            .flag(tag::POSS_DUP_FLAG, true)
            .timestamp(tag::SENDING_TIME, wall_ns, settings.precision)
            .bytes(tag::ORIG_SENDING_TIME, field.value);
    }
    Some(encoder.finish().ok()?.len())
}

/// Writes a `SequenceReset` (35=4) in place of the numbers `first..next`. How long it is; `None`: it has no room.
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

/// What SessionRejectReason (373) says, for people.
pub fn text(reason: Reason) -> &'static [u8] {
    match reason {
        Reason::InvalidTagNumber => b"this is no tag",
        Reason::RequiredTagMissing => b"a required field is missing",
        Reason::TagNotDefinedForMessage => b"the field does not belong into this message",
        Reason::UndefinedTag => b"the tag is not defined",
        Reason::TagWithoutValue => b"the field has no value",
        Reason::ValueIncorrect => b"the value is out of range",
        Reason::IncorrectDataFormat => b"the value is not written as its type wants it",
        Reason::CompIdProblem => b"the CompIDs are not those of this session",
        Reason::SendingTimeAccuracyProblem => {
            b"SendingTime is too far from the time here, or before OrigSendingTime"
        }
        Reason::InvalidMsgType => b"there is no such message type",
        Reason::TagAppearsMoreThanOnce => b"the field stands twice",
        Reason::TagOutOfOrder => b"header, body and trailer are not in this order",
        Reason::GroupFieldsOutOfOrder => b"the fields of a group are not in their order",
        Reason::IncorrectGroupCount => b"the group has another number of entries than it says",
        Reason::DecryptionProblem | Reason::SignatureProblem => b"the message is not valid",
    }
}
