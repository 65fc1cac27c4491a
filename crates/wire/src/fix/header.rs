//! The standard header, read once for everybody.

use super::reject::{Reject, SessionRejectReason as Reason};
use super::scan::{Scan, Vectors};
use super::time::Clock;
use super::tokens::{Token, Tokens, key};
use super::{BadField, Malformed, Message, number, tag, unsigned};

/// What the fields before the body say. Text that is missing is empty.
///
/// Everybody who routes, checks or counts messages reads them here, so that nobody finds another value than the one that
/// was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header<'a> {
    /// MsgSeqNum (34).
    pub msg_seq_num: Option<u64>,
    /// SenderCompID (49).
    pub sender_comp_id: &'a [u8],
    /// TargetCompID (56).
    pub target_comp_id: &'a [u8],
    /// SenderSubID (50).
    pub sender_sub_id: &'a [u8],
    /// TargetSubID (57).
    pub target_sub_id: &'a [u8],
    /// SenderLocationID (142).
    pub sender_location_id: &'a [u8],
    /// TargetLocationID (143).
    pub target_location_id: &'a [u8],
    /// OnBehalfOfCompID (115).
    pub on_behalf_of_comp_id: &'a [u8],
    /// OnBehalfOfSubID (116).
    pub on_behalf_of_sub_id: &'a [u8],
    /// OnBehalfOfLocationID (144).
    pub on_behalf_of_location_id: &'a [u8],
    /// DeliverToCompID (128).
    pub deliver_to_comp_id: &'a [u8],
    /// DeliverToSubID (129).
    pub deliver_to_sub_id: &'a [u8],
    /// DeliverToLocationID (145).
    pub deliver_to_location_id: &'a [u8],
    /// SendingTime (52), nanoseconds since the Unix epoch.
    pub sending_time_ns: Option<u64>,
    /// OrigSendingTime (122), nanoseconds since the Unix epoch.
    pub orig_sending_time_ns: Option<u64>,
    /// PossDupFlag (43).
    pub poss_dup: bool,
    /// PossResend (97).
    pub poss_resend: bool,
}

impl<'a> Header<'a> {
    /// Reads the header, and walks the body to see that no field of the header is in it.
    ///
    /// # Errors
    /// A field that is none, a field of the header that is there twice or behind one of the body, a number, flag or time
    /// that is none. Whether something is missing is the session's to judge.
    pub fn read(message: &Message<'a>) -> Result<Header<'a>, Reject<'a>> {
        let mut tokens = message.tokens::<Vectors>();
        let mut header = Header::default();
        let found = Reader::new(&mut header).header(&mut tokens);
        let walked = found.and_then(|first| match first {
            Some(first) => walk(&mut tokens, first),
            None => Ok(()),
        });
        match walked {
            Ok(()) => Ok(header),
            Err(problem) => Err(explain(message, problem)),
        }
    }
}

/// The rest of the fields, none of which may be of the header.
fn walk<S: Scan>(tokens: &mut Tokens<'_, S>, first: Token) -> Result<(), Malformed> {
    let mut next = Some(first);
    while let Some(mut token) = next {
        if is_header(tokens.tag(&mut token)?) {
            return Err(Malformed::Header);
        }
        next = tokens.next();
    }
    Ok(())
}

/// The same walk again, slowly, which says where it stopped.
#[cold]
fn explain<'a>(message: &Message<'a>, problem: Malformed) -> Reject<'a> {
    let (mut seen, mut body) = ([0_u64; 10], false);
    for field in message.fields() {
        let field = match field {
            Ok(field) => field,
            Err(bad) => return Reject::from(bad),
        };
        if !is_header(field.tag) {
            body = true;
            continue;
        }
        let (word, bit) = ((field.tag / 64) as usize, 1 << (field.tag % 64));
        let hop = tag::NO_HOPS < field.tag && field.tag <= tag::HOP_REF_ID;
        let reason = if body {
            Reason::TagOutOfOrder
        } else if first_three(field.tag) || (seen[word] & bit != 0 && !hop) {
            Reason::TagAppearsMoreThanOnce
        } else {
            Reason::IncorrectDataFormat
        };
        seen[word] |= bit;
        let sound = reason == Reason::IncorrectDataFormat && is_sound(field.tag, field.value);
        if !sound {
            return Reject::new(reason, field.tag);
        }
    }
    Reject::from(BadField {
        why: problem,
        tag: b"35",
    })
}

fn first_three(tag: u32) -> bool {
    matches!(tag, tag::BEGIN_STRING | tag::BODY_LENGTH | tag::MSG_TYPE)
}

/// Whether a value is what [`Reader`] makes something of.
fn is_sound(tag: u32, value: &[u8]) -> bool {
    match tag {
        tag::MSG_SEQ_NUM => unsigned(value).is_ok(),
        tag::SENDING_TIME | tag::ORIG_SENDING_TIME => Clock::default().read(value).is_ok(),
        tag::POSS_DUP_FLAG | tag::POSS_RESEND => flag(value).is_ok(),
        _ => true,
    }
}

/// A header in the making, where its reader wants it: it is too large to be moved about.
pub(super) struct Reader<'h, 'a> {
    header: &'h mut Header<'a>,
    pub clock: Clock,
    seen: u64,
}

impl<'h, 'a> Reader<'h, 'a> {
    #[inline(always)]
    pub(super) fn new(header: &'h mut Header<'a>) -> Reader<'h, 'a> {
        Reader {
            header,
            clock: Clock::default(),
            seen: 0,
        }
    }

    /// Reads as far as the first field of the body and gives that one.
    #[inline(always)]
    pub(super) fn header<S: Scan>(
        &mut self,
        tokens: &mut Tokens<'a, S>,
    ) -> Result<Option<Token>, Malformed> {
        const MSG_SEQ_NUM: u32 = key(tag::MSG_SEQ_NUM);
        const SENDING_TIME: u32 = key(tag::SENDING_TIME);
        const SENDER_COMP_ID: u32 = key(tag::SENDER_COMP_ID);
        const TARGET_COMP_ID: u32 = key(tag::TARGET_COMP_ID);
        while let Some(mut token) = tokens.next() {
            let bit = match token.key {
                MSG_SEQ_NUM => {
                    let number = number::decimal_at(tokens.bytes, token.start, token.end)?;
                    self.header.msg_seq_num = Some(number::count(number, tokens.value(&token))?);
                    0
                }
                SENDING_TIME => {
                    self.header.sending_time_ns = Some(self.clock.read(tokens.value(&token))?);
                    1
                }
                SENDER_COMP_ID => {
                    self.header.sender_comp_id = tokens.value(&token);
                    2
                }
                TARGET_COMP_ID => {
                    self.header.target_comp_id = tokens.value(&token);
                    3
                }
                _ => {
                    if !is_header(tokens.number(&mut token)?) {
                        return Ok(Some(token));
                    }
                    let tag = tokens.tag(&mut token)?;
                    self.rare(tag, tokens.value(&token))?;
                    continue;
                }
            };
            self.once(bit)?;
        }
        Ok(None)
    }

    #[inline(never)]
    fn rare(&mut self, tag: u32, value: &'a [u8]) -> Result<(), Malformed> {
        let header = &mut *self.header;
        let (bit, text) = match tag {
            tag::SENDER_SUB_ID => (4, Some(&mut header.sender_sub_id)),
            tag::TARGET_SUB_ID => (5, Some(&mut header.target_sub_id)),
            tag::POSS_DUP_FLAG => {
                header.poss_dup = flag(value)?;
                (6, None)
            }
            tag::POSS_RESEND => {
                header.poss_resend = flag(value)?;
                (7, None)
            }
            tag::ORIG_SENDING_TIME => {
                header.orig_sending_time_ns = Some(self.clock.read(value)?);
                (8, None)
            }
            tag::ON_BEHALF_OF_COMP_ID => (9, Some(&mut header.on_behalf_of_comp_id)),
            tag::ON_BEHALF_OF_SUB_ID => (10, Some(&mut header.on_behalf_of_sub_id)),
            tag::ON_BEHALF_OF_LOCATION_ID => (11, Some(&mut header.on_behalf_of_location_id)),
            tag::DELIVER_TO_COMP_ID => (12, Some(&mut header.deliver_to_comp_id)),
            tag::DELIVER_TO_SUB_ID => (13, Some(&mut header.deliver_to_sub_id)),
            tag::DELIVER_TO_LOCATION_ID => (14, Some(&mut header.deliver_to_location_id)),
            tag::SENDER_LOCATION_ID => (15, Some(&mut header.sender_location_id)),
            tag::TARGET_LOCATION_ID => (16, Some(&mut header.target_location_id)),
            90 => (17, None),
            212 => (18, None),
            347 => (19, None),
            369 => (20, None),
            tag::NO_HOPS => (21, None),
            // Data whose length was not said.
            91 => (22, None),
            213 => (23, None),
            // Entries of the group of hops.
            628..=tag::HOP_REF_ID => return Ok(()),
            // The first three fields are behind us.
            _ => return Err(Malformed::Header),
        };
        if let Some(text) = text {
            *text = value;
        }
        self.once(bit)
    }

    #[inline]
    fn once(&mut self, bit: u32) -> Result<(), Malformed> {
        let bit = 1 << bit;
        if self.seen & bit != 0 {
            return Err(Malformed::Header);
        }
        self.seen |= bit;
        Ok(())
    }
}

fn flag(value: &[u8]) -> Result<bool, Malformed> {
    match value {
        b"Y" => Ok(true),
        b"N" => Ok(false),
        _ => Err(Malformed::Number),
    }
}

/// Whether a field is of the standard header (FIX 4.4 volume 2).
#[inline(always)]
pub(super) const fn is_header(tag: u32) -> bool {
    tag < 640 && HEADER[(tag / 64) as usize] >> (tag % 64) & 1 == 1
}

/// A bit for each tag of the header.
const HEADER: [u64; 10] = {
    let tags = [
        8, 9, 34, 35, 43, 49, 50, 52, 56, 57, 90, 91, 97, 115, 116, 122, 128, 129, 142, 143, 144,
        145, 212, 213, 347, 369, 627, 628, 629, 630,
    ];
    let (mut bits, mut at) = ([0; 10], 0);
    while at < tags.len() {
        bits[tags[at] / 64] |= 1_u64 << (tags[at] % 64);
        at += 1;
    }
    bits
};
