//! Header of a message, parsed once for all uses.

use super::DisconnectReason;
use touchline_wire::fix::{
    Frame, Header, LastSecond, Message, Reject, SessionRejectReason as Reason, frame,
};

/// Header of a message, and the first fault of its fields.
#[derive(Clone, Copy, Debug)]
pub struct ParsedHeader<'a> {
    /// Fields of the header. In a faulty message, the first of each field.
    pub header: Header<'a>,
    /// The first fault of the fields.
    pub fault: Option<Fault>,
}

impl<'a> ParsedHeader<'a> {
    /// Reads the header of a message.
    #[inline]
    pub fn read(message: &Message<'a>, last: &mut LastSecond) -> ParsedHeader<'a> {
        match Header::read(message, last) {
            Ok(header) => ParsedHeader {
                header,
                fault: None,
            },
            Err(reject) => ParsedHeader {
                header: Header::salvaged(message),
                fault: Some(reject.into()),
            },
        }
    }
}

/// Reason for a Reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// SessionRejectReason (373).
    pub reason: Reason,
    /// RefTagID (371), if the fault is in one field and its tag is a number.
    pub tag: Option<i64>,
}

impl Fault {
    /// Fault of a field.
    pub fn of(reason: Reason, tag: u32) -> Fault {
        Reject::new(reason, tag).into()
    }

    /// Fault of the whole message.
    pub fn whole(reason: Reason) -> Fault {
        Fault { reason, tag: None }
    }
}

impl From<Reject<'_>> for Fault {
    fn from(reject: Reject<'_>) -> Fault {
        Fault {
            reason: reject.reason,
            tag: reject.tag.number(),
        }
    }
}

/// OnBehalfOf and DeliverTo: CompID, SubID, LocationID of each, with the tag that takes the value in an answer.
pub const ROUTE: [(u32, u32); 6] = [
    (115, 128),
    (116, 129),
    (144, 145),
    (128, 115),
    (129, 116),
    (145, 144),
];

/// Whether a tag belongs to the standard header or the trailer.
pub fn is_header(tag: u32) -> bool {
    touchline_wire::fix::is_header(tag) || matches!(tag, 10 | 89 | 93)
}

/// First field of the body with this tag.
pub fn field<'a>(message: &Message<'a>, tag: u32) -> Option<&'a [u8]> {
    let found = message
        .fields()
        .map_while(Result::ok)
        .find(|field| field.tag == tag);
    found.map(|field| field.value)
}

/// The CompIDs of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// SenderCompID (49): the counterparty.
    pub sender: &'a [u8],
    /// TargetCompID (56): ours.
    pub target: &'a [u8],
}

/// Identity in the first message of a connection, which must be a Logon of at most `limit` bytes. `None`: more bytes
/// are needed.
///
/// # Errors
/// The bytes are not a Logon: the connection must be closed.
pub fn first_message(bytes: &[u8], limit: usize) -> Result<Option<Names<'_>>, DisconnectReason> {
    let message = match frame(bytes, limit) {
        Ok(Frame::Whole(message)) if message.msg_type() == b"A" => message,
        Ok(Frame::Incomplete(_)) => return Ok(None),
        _ => return Err(DisconnectReason::NotLogon),
    };
    let Header {
        sender_comp_id: sender,
        target_comp_id: target,
        ..
    } = ParsedHeader::read(&message, &mut LastSecond::default()).header;
    match sender.is_empty() || target.is_empty() {
        true => Err(DisconnectReason::BadLogon),
        false => Ok(Some(Names { sender, target })),
    }
}
