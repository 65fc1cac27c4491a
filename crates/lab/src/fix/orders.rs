//! Orders of an initiator: a NewOrderSingle a second, and the number of answers.

use touchline_session::fix::{SendError, Session, Store};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Message, Precision, tag};

/// Orders sent one a second while the session is logged on.
#[derive(Debug)]
pub struct Orders {
    /// Prefix of each ClOrdID, not used by an earlier run.
    prefix: String,
    wanted: u64,
    sent: u64,
    answered: u64,
    /// Time of the next order.
    next_ns: u64,
}

/// Interval between orders.
const EACH_NS: u64 = 1_000_000_000;

/// Tags of a NewOrderSingle used only here.
const ORDER_QTY: u32 = 38;
const HANDL_INST: u32 = 21;
const ORD_TYPE: u32 = 40;
const PRICE: u32 = 44;
const TRANSACT_TIME: u32 = 60;

impl Orders {
    /// This number of orders. `run` is in each ClOrdID, and differs between starts of the process.
    pub fn new(wanted: u64, run: u64) -> Orders {
        Orders {
            prefix: format!("TL{run:X}-"),
            wanted,
            sent: 0,
            answered: 0,
            next_ns: 0,
        }
    }

    /// Number of sent orders.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Number of messages with the ClOrdID of one of these orders.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Sends the next order if it is due; returns whether one was sent.
    pub fn send<S: Store>(&mut self, session: &mut Session<S>, time: ReceiveTime) -> bool {
        if self.sent == self.wanted || time.mono_ns < self.next_ns || !session.is_up() {
            return false;
        }
        let id = format!("{}{}", self.prefix, self.sent + 1);
        let number = session.send(b"D", time, |body| {
            body.bytes(tag::CL_ORD_ID, id.as_bytes())
                .char(HANDL_INST, b'1')
                .bytes(tag::SYMBOL, b"TEST")
                .char(tag::SIDE, b'1')
                .timestamp(TRANSACT_TIME, time.wall_ns, Precision::Milliseconds)
                .unsigned(ORDER_QTY, 1)
                .char(ORD_TYPE, b'2')
                .unsigned(PRICE, 100);
        });
        // Without room, or while the connection ends, the order is sent later.
        if matches!(number, Err(SendError::Full | SendError::Down)) {
            return false;
        }
        self.sent += u64::from(number.is_ok());
        self.next_ns = time.mono_ns + EACH_NS;
        true
    }

    /// Processes an answer to one of these orders. `false`: the message is not one.
    pub fn take(&mut self, message: &Message<'_>) -> bool {
        let mut fields = message.fields().map_while(Result::ok);
        let id = fields.find(|field| field.tag == tag::CL_ORD_ID);
        let is_ours = id.is_some_and(|id| id.value.starts_with(self.prefix.as_bytes()));
        self.answered += u64::from(is_ours);
        is_ours
    }
}
