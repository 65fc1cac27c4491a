//! The header of a message, read in one pass and believed in one way only.

use super::Closing;
use touchline_wire::fix::{
    Field, Frame, Malformed, Message, RefTag, Reject, SessionRejectReason as Reason, frame, tag,
    unsigned,
};

/// What stands in the header of a message.
///
/// A header tag that stands twice, or in the body, makes the message faulty: nobody may read another
/// value than we do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heading<'a> {
    /// MsgSeqNum (34), where it is a number.
    pub number: Option<u64>,
    /// SenderCompID (49).
    pub sender: Option<&'a [u8]>,
    /// TargetCompID (56).
    pub target: Option<&'a [u8]>,
    /// SendingTime (52), as it is written.
    pub sending_time: Option<&'a [u8]>,
    /// OrigSendingTime (122), as it is written.
    pub orig_sending_time: Option<&'a [u8]>,
    /// PossDupFlag (43): a repetition under the same number.
    pub poss_dup: bool,
    /// PossResend (97): perhaps a repetition under another number.
    pub poss_resend: bool,
    /// OnBehalfOf and DeliverTo: CompID, SubID, LocationID of each (115, 116, 144, 128, 129, 145).
    pub(super) route: [Option<&'a [u8]>; 6],
    /// The first fault of the fields.
    pub(super) fault: Option<Fault>,
}

/// Why a message is answered with a Reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// SessionRejectReason (373).
    pub reason: Reason,
    /// RefTagID (371), if one field is to blame, and its tag is a number.
    pub tag: Option<i64>,
}

impl Fault {
    /// About a field.
    pub fn of(reason: Reason, tag: u32) -> Fault {
        Reject::new(reason, tag).into()
    }

    /// About the whole message.
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

/// Tags of [`Heading::route`], and behind each the one that takes its value in an answer.
pub const ROUTE: [(u32, u32); 6] = [
    (115, 128),
    (116, 129),
    (144, 145),
    (128, 115),
    (129, 116),
    (145, 144),
];

/// Tags of the standard header behind MsgType that stand there once (FIX 4.4 volume 1).
const HEADER: [u32; 24] = [
    49, 56, 115, 128, 90, 91, 34, 50, 142, 57, 143, 116, 144, 129, 145, 43, 97, 52, 122, 212, 213,
    347, 369, 627,
];
/// Hops, which repeat.
const HOPS: std::ops::RangeInclusive<u32> = 628..=630;

/// The place of each tag of [`HEADER`], and what stands for the others below 640.
const PLACES: [u8; 640] = {
    let mut places = [BODY; 640];
    let mut place = 0;
    while place < HEADER.len() {
        places[HEADER[place] as usize] = place as u8;
        place += 1;
    }
    // The first three fields and the last have stood, or will.
    places[8] = FRAME;
    places[9] = FRAME;
    places[10] = FRAME;
    places[35] = FRAME;
    let mut hop = *HOPS.start();
    while hop <= *HOPS.end() {
        places[hop as usize] = HOP;
        hop += 1;
    }
    places
};
const BODY: u8 = 255;
const FRAME: u8 = 254;
const HOP: u8 = 253;

/// What was met on the way through a message.
#[derive(Default)]
struct Met {
    /// A bit for each tag of [`HEADER`].
    seen: u32,
    in_body: bool,
}

impl<'a> Heading<'a> {
    /// Reads the header of a message.
    #[inline]
    pub fn read(message: &Message<'a>) -> Heading<'a> {
        let mut heading = Heading::default();
        let mut met = Met::default();
        for field in message.walk() {
            match field {
                Ok(field) => heading.take(field, &mut met),
                // The slow walk says which field is none.
                Err(_) => return Heading::read_slowly(message),
            }
        }
        heading
    }

    #[cold]
    fn read_slowly(message: &Message<'a>) -> Heading<'a> {
        let mut heading = Heading::default();
        let mut met = Met::default();
        for field in message.fields() {
            match field {
                Ok(field) => heading.take(field, &mut met),
                Err(bad) => {
                    let reason = match bad.why {
                        Malformed::Tag => Reason::InvalidTagNumber,
                        Malformed::Value => Reason::TagWithoutValue,
                        _ => Reason::IncorrectDataFormat,
                    };
                    let tag = RefTag::Written(bad.tag);
                    heading.blame(Reject { reason, tag }.into());
                }
            }
        }
        heading
    }

    #[inline(always)]
    fn take(&mut self, field: Field<'a>, met: &mut Met) {
        let blamed = |reason| Fault::of(reason, field.tag);
        match PLACES.get(field.tag as usize).copied().unwrap_or(BODY) {
            BODY => met.in_body = true,
            HOP => {}
            FRAME => self.blame(blamed(Reason::TagAppearsMoreThanOnce)),
            place if met.seen & 1 << place != 0 => {
                self.blame(blamed(Reason::TagAppearsMoreThanOnce));
            }
            place => {
                met.seen |= 1 << place;
                if met.in_body {
                    self.blame(blamed(Reason::TagOutOfOrder));
                }
                self.note(field.tag, field.value);
            }
        }
    }

    fn note(&mut self, tag: u32, value: &'a [u8]) {
        match tag {
            tag::MSG_SEQ_NUM => self.number = unsigned(value).ok(),
            tag::SENDER_COMP_ID => self.sender = Some(value),
            tag::TARGET_COMP_ID => self.target = Some(value),
            tag::SENDING_TIME => self.sending_time = Some(value),
            tag::ORIG_SENDING_TIME => self.orig_sending_time = Some(value),
            tag::POSS_DUP_FLAG => self.poss_dup = value == b"Y",
            tag::POSS_RESEND => self.poss_resend = value == b"Y",
            _ => {
                if let Some(place) = ROUTE.iter().position(|(from, _)| *from == tag) {
                    self.route[place] = Some(value);
                }
            }
        }
    }

    fn blame(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }
}

/// Whether a tag is one of the standard header or of the trailer.
pub fn is_header(tag: u32) -> bool {
    HEADER.contains(&tag) || HOPS.contains(&tag) || matches!(tag, 8 | 9 | 35 | 10 | 89 | 93)
}

/// A field of the body, the first of its tag.
pub fn field<'a>(message: &Message<'a>, tag: u32) -> Option<&'a [u8]> {
    let found = message
        .fields()
        .map_while(Result::ok)
        .find(|field| field.tag == tag);
    found.map(|field| field.value)
}

/// Who wants to talk to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// SenderCompID (49): the counterparty.
    pub sender: &'a [u8],
    /// TargetCompID (56): we.
    pub target: &'a [u8],
}

/// Who wants to log on, by the first message of a connection, which must be
/// a Logon of at most `limit` bytes. `None`: more bytes are needed.
///
/// # Errors
/// It is none, and never will be: the connection is to be closed.
pub fn first_message(bytes: &[u8], limit: usize) -> Result<Option<Names<'_>>, Closing> {
    let message = match frame(bytes, limit) {
        Ok(Frame::Whole(message)) if message.msg_type() == b"A" => message,
        Ok(Frame::Incomplete(_)) => return Ok(None),
        _ => return Err(Closing::NotLogon),
    };
    let heading = Heading::read(&message);
    match (heading.sender, heading.target) {
        (Some(sender), Some(target)) => Ok(Some(Names { sender, target })),
        _ => Err(Closing::BadLogon),
    }
}
