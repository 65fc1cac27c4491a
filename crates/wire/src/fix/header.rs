//! The standard header, parsed once and shared by all layers.

use super::fields::data_of;
use super::header_tags::{is_header, place};
use super::names::Name;
use super::reject::{Reject, SessionRejectReason as Reason};
use super::scan::{Scan, Vectors};
use super::time::{LastSecond, is_timestamp};
use super::tokens::Tokens;
use super::{BadField, Fields, Malformed, Message, tag, unsigned};

/// Parsed fields before the body. A missing text field is empty.
///
/// Routing, validation and counting read the header here, so that none of them finds another value than the validated
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header<'a> {
    /// MsgSeqNum (34).
    pub msg_seq_num: Option<u64>,
    /// SenderCompID (49).
    pub sender_comp_id: &'a [u8],
    /// TargetCompID (56).
    pub target_comp_id: &'a [u8],
    /// SendingTime (52), nanoseconds since the Unix epoch.
    pub sending_time_ns: Option<u64>,
    /// OrigSendingTime (122), nanoseconds since the Unix epoch.
    pub orig_sending_time_ns: Option<u64>,
    /// PossDupFlag (43): the message repeats one of the same number.
    pub poss_dup: bool,
    /// PossResend (97): the message may repeat one of another number.
    pub poss_resend: bool,
    /// Header fields after MsgType, for rarely used ones.
    pub bytes: &'a [u8],
    /// Second of SendingTime, which the times of the body usually share.
    pub(super) last_second: LastSecond,
}

impl<'a> Message<'a> {
    /// The fields behind the header, as positions in the message.
    #[inline(always)]
    pub(super) fn body_tokens<S: Scan>(&self, header: &Header<'_>) -> Tokens<'a, S> {
        self.tokens_from(header.bytes.len())
    }
}

impl<'a> Header<'a> {
    /// Reads the header only. For callers that read the body themselves and refuse header fields in it, as the decoder
    /// of [market data](super::market_data) does; all others use [`Header::read`], which explains `last`.
    ///
    /// # Errors
    /// Those of [`Header::read`], without the name of the field.
    #[inline(always)]
    pub fn before_body(
        message: &Message<'a>,
        last: &mut LastSecond,
    ) -> Result<Header<'a>, Malformed> {
        let mut header = Header::default();
        header.fill_before_body(message, last)?;
        Ok(header)
    }

    /// [`Header::before_body`] of a new header in its final place: moving it costs as much as reading a field.
    ///
    /// # Errors
    /// Those of [`Header::before_body`].
    #[inline(always)]
    pub fn fill_before_body(
        &mut self,
        message: &Message<'a>,
        last: &mut LastSecond,
    ) -> Result<(), Malformed> {
        Reader::new(self, last).header(message.tokens::<Vectors>())?;
        Ok(())
    }

    /// Reads the header, and checks that the body has no header field. `last` keeps the last second that was read, so that
    /// equal ones are not parsed again; the result does not depend on it. Use one for all messages of a connection.
    ///
    /// # Errors
    /// An invalid field, a header field that occurs twice or after the body's start, or an invalid number, flag or
    /// time. The session checks for missing fields.
    pub fn read(message: &Message<'a>, last: &mut LastSecond) -> Result<Header<'a>, Reject<'a>> {
        let mut header = Header::default();
        match header.walk(message, last) {
            Ok(()) => Ok(header),
            Err(problem) => Err(explain(message, problem)),
        }
    }

    #[inline(always)]
    fn walk(&mut self, message: &Message<'a>, last: &mut LastSecond) -> Result<(), Malformed> {
        let mut tokens = Reader::new(self, last).header(message.tokens::<Vectors>())?;
        while let Some((name, field)) = tokens.next_read() {
            let is_body = name.is_body() || field.own_tag().is_some();
            if !is_body && is_header(tokens.tag(field)?.number) {
                return Err(Malformed::Header);
            }
        }
        Ok(())
    }

    /// The readable part of a header that [`Header::read`] refuses: the first valid value of each field,
    /// in any place. Only for an answer that names the message.
    #[cold]
    pub fn salvaged(message: &Message<'a>) -> Header<'a> {
        let mut header = Header {
            bytes: message.between(),
            ..Header::default()
        };
        for field in message.fields().filter_map(Result::ok) {
            let value = field.value;
            let time = || LastSecond::default().read(value).ok();
            match field.tag {
                tag::MSG_SEQ_NUM if header.msg_seq_num.is_none() => {
                    header.msg_seq_num = unsigned(value).ok();
                }
                tag::SENDER_COMP_ID if header.sender_comp_id.is_empty() => {
                    header.sender_comp_id = value;
                }
                tag::TARGET_COMP_ID if header.target_comp_id.is_empty() => {
                    header.target_comp_id = value;
                }
                tag::SENDING_TIME => {
                    header.sending_time_ns = header.sending_time_ns.or_else(time);
                }
                tag::ORIG_SENDING_TIME => {
                    header.orig_sending_time_ns = header.orig_sending_time_ns.or_else(time);
                }
                tag::POSS_DUP_FLAG => header.poss_dup |= value == b"Y",
                tag::POSS_RESEND => header.poss_resend |= value == b"Y",
                _ => {}
            }
        }
        header
    }

    /// Text of a field's value in the header.
    pub fn text(&self, tag: u32) -> Option<&'a [u8]> {
        let mut fields = Fields::new(self.bytes).map_while(Result::ok);
        fields
            .find(|field| field.tag == tag)
            .map(|field| field.value)
    }
}

/// The field and the reason for which [`Header::read`] refuses a message: the same checks, slower.
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
        } else if is_of_frame(field.tag) || (seen[word] & bit != 0 && !hop) {
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

/// Whether a field is BeginString, BodyLength, MsgType or CheckSum, which the framing reads.
fn is_of_frame(tag: u32) -> bool {
    matches!(
        tag,
        tag::BEGIN_STRING | tag::BODY_LENGTH | tag::MSG_TYPE | tag::CHECK_SUM
    )
}

/// Whether [`Reader`] accepts a value.
fn is_sound(tag: u32, value: &[u8]) -> bool {
    match tag {
        tag::MSG_SEQ_NUM => unsigned(value).is_ok(),
        tag::SENDING_TIME => LastSecond::default().read(value).is_ok(),
        tag::ORIG_SENDING_TIME => original_ns(&mut LastSecond::default(), value).is_ok(),
        tag::POSS_DUP_FLAG | tag::POSS_RESEND => flag(value).is_ok(),
        _ => true,
    }
}

/// The time of a first sending; 0 if it is none, such as 00010101-00:00:00, which some write into every field of this type.
fn original_ns(last: &mut LastSecond, value: &[u8]) -> Result<u64, Malformed> {
    last.read(value)
        .or_else(|malformed| is_timestamp(value).then_some(0).ok_or(malformed))
}

/// A header while it is read, in its final place: moving it would be too slow.
struct Reader<'h, 'a> {
    header: &'h mut Header<'a>,
    last: &'h mut LastSecond,
    seen: u64,
}

impl<'h, 'a> Reader<'h, 'a> {
    #[inline(always)]
    fn new(header: &'h mut Header<'a>, last: &'h mut LastSecond) -> Reader<'h, 'a> {
        Reader {
            header,
            last,
            seen: 0,
        }
    }

    /// Reads up to the body, and returns the rest. An invalid field ends the header, too: the reader of the body
    /// reports it.
    #[inline(always)]
    fn header<S: Scan>(&mut self, mut tokens: Tokens<'a, S>) -> Result<Tokens<'a, S>, Malformed> {
        let begin = tokens.rest();
        let body = loop {
            let here = tokens;
            let Some((name, field)) = tokens.next() else {
                break here;
            };
            let bit = match name {
                Name::MsgSeqNum => {
                    self.header.msg_seq_num = Some(field.unsigned(3)?);
                    0
                }
                Name::SendingTime => {
                    let time_ns = self.last.read(field.value(3)?)?;
                    self.header.sending_time_ns = Some(time_ns);
                    1
                }
                Name::SenderCompId => {
                    self.header.sender_comp_id = field.value(3)?;
                    2
                }
                Name::TargetCompId => {
                    self.header.target_comp_id = field.value(3)?;
                    3
                }
                Name::Other => match tokens.tag(field) {
                    Ok(tag) if is_header(tag.number) => {
                        self.rare(tag.number, field.value(tag.width)?)?;
                        continue;
                    }
                    _ => break here,
                },
                _ => break here,
            };
            self.once(bit)?;
        };
        self.header.bytes = body.since(begin);
        self.header.last_second = *self.last;
        Ok(body)
    }

    #[inline(never)]
    fn rare(&mut self, tag: u32, value: &'a [u8]) -> Result<(), Malformed> {
        let header = &mut *self.header;
        let bit = match tag {
            tag::POSS_DUP_FLAG => {
                header.poss_dup = flag(value)?;
                4
            }
            tag::POSS_RESEND => {
                header.poss_resend = flag(value)?;
                5
            }
            tag::ORIG_SENDING_TIME => {
                header.orig_sending_time_ns = Some(original_ns(self.last, value)?);
                6
            }
            // NoHops (627) is a group: its fields repeat.
            628..=tag::HOP_REF_ID => return Ok(()),
            tag => match place(tag) {
                Some(place) => {
                    // A length and the data behind it were read together.
                    if let Some(data) = data_of(tag).and_then(self::place) {
                        self.once(data)?;
                    }
                    place
                }
                // A field that begins or ends a message.
                None => return Err(Malformed::Header),
            },
        };
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
