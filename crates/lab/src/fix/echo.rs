//! Application of a simulated counterparty.

use std::collections::HashSet;
use touchline_session::fix::{SendError, Session, Store, is_header};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Frame, Header, Message, frame, tag};

/// Echo: returns orders (D), security definitions (d) and emails (C) unchanged, and answers any other application
/// message with a BusinessMessageReject (j). An order with PossResend (97=Y) and a known ClOrdID of this session is
/// dropped.
#[derive(Debug, Default)]
pub struct Echo {
    /// ClOrdIDs of this session.
    seen: HashSet<Box<[u8]>>,
    /// The number that a killed process may have answered without counting it.
    unsure: u64,
    /// The message to answer; stored while the session has no room for the answer.
    message: Vec<u8>,
    number: u64,
    poss_resend: bool,
}

/// Largest number of remembered ids.
const SEEN_MAX: usize = 100_000;

impl Echo {
    /// Continues after a killed process: an order whose answer is in the store was executed, even if the session does
    /// not count it yet.
    pub fn remember<S: Store>(&mut self, store: &mut S, message_bytes_max: usize) {
        self.unsure = store.next_in();
        let mut room = vec![0; message_bytes_max];
        for number in 1..store.next_out() {
            // An unreadable message ends the session when it is requested.
            let length = store.read(number, &mut room).unwrap_or(0);
            if let Ok(Frame::Whole(message)) = frame(&room[..length], usize::MAX)
                && message.msg_type() == b"D"
            {
                self.note(id(&message));
            }
        }
    }

    /// Clears the ids at the start of a session.
    pub fn begin(&mut self) {
        self.seen.clear();
        self.unsure = 0;
        self.message.clear();
    }

    /// Stores a message for [`Echo::answer`].
    pub fn take(&mut self, message: &Message<'_>, header: &Header<'_>) {
        self.number = header.msg_seq_num.unwrap_or(0);
        self.poss_resend = header.poss_resend;
        if message.msg_type() == b"D" {
            let id = id(message);
            if (header.poss_resend || self.number == self.unsure) && self.seen.contains(id) {
                return;
            }
            self.note(id);
        }
        self.message.clear();
        self.message.extend_from_slice(message.bytes());
    }

    fn note(&mut self, id: &[u8]) {
        if self.seen.len() < SEEN_MAX {
            self.seen.insert(id.into());
        }
    }

    /// Sends the waiting answer, if any. `false`: there is no room for it yet.
    pub fn answer<S: Store>(&mut self, session: &mut Session<S>, time: ReceiveTime) -> bool {
        let Ok(Frame::Whole(message)) = frame(&self.message, usize::MAX) else {
            return true;
        };
        let kind = message.msg_type();
        let sent = match kind {
            b"D" | b"d" | b"C" => session.send(kind, time, |body| {
                if self.poss_resend {
                    body.flag(tag::POSS_RESEND, true);
                }
                for field in message.fields().map_while(Result::ok) {
                    if !is_header(field.tag) {
                        body.bytes(field.tag, field.value);
                    }
                }
            }),
            _ => session.send(b"j", time, |body| {
                body.unsigned(tag::REF_SEQ_NUM, self.number)
                    .bytes(tag::REF_MSG_TYPE, kind)
                    .unsigned(tag::BUSINESS_REJECT_REASON, 3)
                    .bytes(tag::TEXT, b"messages of this type are not supported");
            }),
        };
        if sent == Err(SendError::Full) {
            return false;
        }
        self.message.clear();
        true
    }
}

/// ClOrdID of an order; empty if absent.
fn id<'a>(order: &Message<'a>) -> &'a [u8] {
    let mut fields = order.fields().map_while(Result::ok);
    let id = fields.find(|field| field.tag == tag::CL_ORD_ID);
    id.map_or(&[], |id| id.value)
}
