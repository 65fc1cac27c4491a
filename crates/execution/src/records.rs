//! Records of the order journal, kinds 48 to 79: little-endian, texts behind their length.
//!
//! A bank and a pair are indexes of the last [`Record::Run`] before. Times are nanoseconds since 1970.
//!
//! | kind | record | body |
//! |--:|---|---|
//! | 48 | run | epoch u64, prefix text, date text, count u16 and names of banks, count u16 and symbols of pairs |
//! | 49 | order | sent u64, quantity i64, price i64 (ticks), twice the mid i64 (least value: none), MsgSeqNum u64, bank u16, pair u16, side u8 (0 buys), flags u8 (1 FOK, 2 quote id), value date u32 (YYYYMMDD), ClOrdID text, parent text, quote id text |
//! | 50 | message | time u64, bank u16, MsgSeqNum u64, body of the FIX message with `\|` to the end |
//! | 51 | report | time u64, bank u16, FIX message as received to the end |
//! | 52 | session | time u64, bank u16, u8 (1 up, 0 down) |
//! | 53 | command | time u64, request u64, client text, person text, JSON to the end, as received |
//! | 54 | decided | time u64, JSON of the desk to the end: what a restart handles again |
//! | 55 | lines | time u64, number of the first line u64; each: kind u8 ([`LINE_KINDS`]), length u32, JSON |
//! | 56 | numbers | bank u16, next MsgSeqNum out u64, in u64 |
//! | 57 | boot | time u64, id of the boot of the host 16 bytes, epoch u64: orders of earlier ones may be lacking; 0: none |

use touchline_types::Id;

/// Stream of the records in the journal.
pub const STREAM: u16 = 1;
/// Content of the stream: orders.
pub const CONTENT: u16 = 4;
/// Version of the records.
pub const VERSION: u16 = 2;
/// Kinds of lines, by their number.
pub const LINE_KINDS: [&str; 8] = [
    "composite",
    "decisions",
    "orders",
    "fills",
    "positions",
    "scorecard",
    "answers",
    "parents",
];
/// Kind of the answer to a command.
pub const ANSWERS: u8 = 6;
/// Kind of an accepted parent: the command of the desk.
pub const PARENTS: u8 = 7;

/// Kinds of records.
pub mod kind {
    /// Start of a run.
    pub const RUN: u16 = 48;
    /// An order, before it is sent.
    pub const ORDER: u16 = 49;
    /// Another message to a bank.
    pub const MESSAGE: u16 = 50;
    /// A message of a bank, before it changes anything.
    pub const REPORT: u16 = 51;
    /// A session came up or was lost.
    pub const SESSION: u16 = 52;
    /// A command as received.
    pub const COMMAND: u16 = 53;
    /// A decision that a restart handles again.
    pub const DECIDED: u16 = 54;
    /// What happened, for people and reports.
    pub const LINES: u16 = 55;
    /// Sequence numbers of a session.
    pub const NUMBERS: u16 = 56;
    /// The boot of the host in which a run begins.
    pub const BOOT: u16 = 57;
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    /// Start of a run.
    Run(Run<'a>),
    /// An order.
    Order(Order),
    /// Another message to a bank.
    Message {
        /// Time.
        at_ns: u64,
        /// Bank.
        bank: u16,
        /// MsgSeqNum.
        sequence: u64,
        /// Body, with `|` between the fields.
        body: &'a str,
    },
    /// A message of a bank.
    Report {
        /// Time.
        at_ns: u64,
        /// Bank.
        bank: u16,
        /// The message.
        bytes: &'a [u8],
    },
    /// A session came up or was lost.
    Session {
        /// Time.
        at_ns: u64,
        /// Bank.
        bank: u16,
        /// Whether it is up.
        is_up: bool,
    },
    /// A command as received.
    Command {
        /// Time.
        at_ns: u64,
        /// Number of the request. It ascends for each client but for commands that were refused as replayed or malformed.
        request: u64,
        /// Client.
        client: &'a str,
        /// Person.
        person: &'a str,
        /// Text.
        text: &'a str,
    },
    /// A decision that a restart handles again.
    Decided {
        /// Time.
        at_ns: u64,
        /// JSON of the desk.
        text: &'a str,
    },
    /// Lines.
    Lines {
        /// Time.
        at_ns: u64,
        /// Number of the first line; lines are numbered from 1 over all runs.
        first: u64,
        /// Encoded lines, see [`lines`].
        lines: &'a [u8],
    },
    /// Sequence numbers.
    Numbers {
        /// Bank.
        bank: u16,
        /// Number of our next message.
        next_out: u64,
        /// Number of the expected message.
        next_in: u64,
    },
    /// The boot of the host in which a run begins.
    Boot {
        /// Time.
        at_ns: u64,
        /// Id of the boot.
        id: [u8; 16],
        /// Orders of earlier epochs may be lacking in the journal; 0: none.
        lacks_before: u64,
    },
}

/// Start of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run<'a> {
    /// Epoch of the journal.
    pub epoch: u64,
    /// Prefix of identifiers.
    pub prefix: &'a str,
    /// Trading day.
    pub date: &'a str,
    /// Account of the orders.
    pub account: &'a str,
    /// Names of the banks.
    pub banks: Vec<&'a str>,
    /// Symbols of the pairs.
    pub pairs: Vec<&'a str>,
}

/// An order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Time of sending.
    pub sent_ns: u64,
    /// Units.
    pub quantity: i64,
    /// Ticks.
    pub price: i64,
    /// Twice the mid.
    pub mid2: Option<i64>,
    /// MsgSeqNum.
    pub sequence: u64,
    /// Bank.
    pub bank: u16,
    /// Pair.
    pub pair: u16,
    /// Whether it buys.
    pub is_buy: bool,
    /// Whether it is fill or kill.
    pub is_fok: bool,
    /// Value date, `YYYYMMDD`.
    pub value_date: u32,
    /// ClOrdID.
    pub id: Id,
    /// The parent's name.
    pub parent: Id,
    /// Quote id of the order.
    pub quote_id: Option<Id>,
}

impl Record<'_> {
    /// Appends the body, and returns the kind.
    pub fn encode(&self, out: &mut Vec<u8>) -> u16 {
        match self {
            Record::Run(run) => {
                put_u64(out, run.epoch);
                put_text(out, run.prefix);
                put_text(out, run.date);
                put_text(out, run.account);
                for names in [&run.banks, &run.pairs] {
                    put_u16(out, names.len() as u16);
                    names.iter().for_each(|name| put_text(out, name));
                }
                kind::RUN
            }
            Record::Order(order) => {
                order.encode(out);
                kind::ORDER
            }
            Record::Message {
                at_ns,
                bank,
                sequence,
                body,
            } => {
                put_u64(out, *at_ns);
                put_u16(out, *bank);
                put_u64(out, *sequence);
                out.extend(body.as_bytes());
                kind::MESSAGE
            }
            Record::Report { at_ns, bank, bytes } => {
                put_u64(out, *at_ns);
                put_u16(out, *bank);
                out.extend(*bytes);
                kind::REPORT
            }
            Record::Session { at_ns, bank, is_up } => {
                put_u64(out, *at_ns);
                put_u16(out, *bank);
                out.push(u8::from(*is_up));
                kind::SESSION
            }
            Record::Command {
                at_ns,
                request,
                client,
                person,
                text,
            } => {
                put_u64(out, *at_ns);
                put_u64(out, *request);
                put_text(out, client);
                put_text(out, person);
                out.extend(text.as_bytes());
                kind::COMMAND
            }
            Record::Decided { at_ns, text } => {
                put_u64(out, *at_ns);
                out.extend(text.as_bytes());
                kind::DECIDED
            }
            Record::Lines {
                at_ns,
                first,
                lines,
            } => {
                put_u64(out, *at_ns);
                put_u64(out, *first);
                out.extend(*lines);
                kind::LINES
            }
            Record::Numbers {
                bank,
                next_out,
                next_in,
            } => {
                put_u16(out, *bank);
                put_u64(out, *next_out);
                put_u64(out, *next_in);
                kind::NUMBERS
            }
            Record::Boot {
                at_ns,
                id,
                lacks_before,
            } => {
                put_u64(out, *at_ns);
                out.extend(id);
                put_u64(out, *lacks_before);
                kind::BOOT
            }
        }
    }
}

impl<'a> Record<'a> {
    /// Reads a body; `None` if it is not one of this kind, or the kind is not one of ours.
    pub fn decode(record_kind: u16, body: &'a [u8]) -> Option<Record<'a>> {
        let mut rest = Rest(body);
        let record = match record_kind {
            kind::RUN => {
                let (epoch, prefix, date) = (rest.u64()?, rest.text()?, rest.text()?);
                let account = rest.text()?;
                let (banks, pairs) = (rest.names()?, rest.names()?);
                Record::Run(Run {
                    epoch,
                    prefix,
                    date,
                    account,
                    banks,
                    pairs,
                })
            }
            kind::ORDER => Record::Order(Order::decode(&mut rest)?),
            kind::MESSAGE => Record::Message {
                at_ns: rest.u64()?,
                bank: rest.u16()?,
                sequence: rest.u64()?,
                body: rest.all_text()?,
            },
            kind::REPORT => Record::Report {
                at_ns: rest.u64()?,
                bank: rest.u16()?,
                bytes: rest.all(),
            },
            kind::SESSION => Record::Session {
                at_ns: rest.u64()?,
                bank: rest.u16()?,
                is_up: match rest.u8()? {
                    0 => false,
                    1 => true,
                    _ => return None,
                },
            },
            kind::COMMAND => Record::Command {
                at_ns: rest.u64()?,
                request: rest.u64()?,
                client: rest.text()?,
                person: rest.text()?,
                text: rest.all_text()?,
            },
            kind::DECIDED => Record::Decided {
                at_ns: rest.u64()?,
                text: rest.all_text()?,
            },
            kind::LINES => Record::Lines {
                at_ns: rest.u64()?,
                first: rest.u64()?,
                lines: rest.all(),
            },
            kind::NUMBERS => Record::Numbers {
                bank: rest.u16()?,
                next_out: rest.u64()?,
                next_in: rest.u64()?,
            },
            kind::BOOT => Record::Boot {
                at_ns: rest.u64()?,
                id: rest.take(16)?.try_into().ok()?,
                lacks_before: rest.u64()?,
            },
            _ => return None,
        };
        rest.0.is_empty().then_some(record)
    }
}

impl Order {
    fn encode(&self, out: &mut Vec<u8>) {
        put_u64(out, self.sent_ns);
        put_i64(out, self.quantity);
        put_i64(out, self.price);
        put_i64(out, self.mid2.unwrap_or(i64::MIN));
        put_u64(out, self.sequence);
        put_u16(out, self.bank);
        put_u16(out, self.pair);
        out.push(u8::from(!self.is_buy));
        out.push(u8::from(self.is_fok) | u8::from(self.quote_id.is_some()) << 1);
        out.extend(self.value_date.to_le_bytes());
        put_text(out, self.id.as_str());
        put_text(out, self.parent.as_str());
        put_text(out, self.quote_id.as_ref().map_or("", Id::as_str));
    }

    fn decode(rest: &mut Rest<'_>) -> Option<Order> {
        let (sent_ns, quantity, price) = (rest.u64()?, rest.i64()?, rest.i64()?);
        let mid2 = Some(rest.i64()?).filter(|mid2| *mid2 != i64::MIN);
        let (sequence, bank, pair) = (rest.u64()?, rest.u16()?, rest.u16()?);
        let (side, flags, value_date) = (rest.u8()?, rest.u8()?, rest.u32()?);
        let (id, parent, quote_id) = (rest.id()?, rest.id()?, rest.id()?);
        (side <= 1 && flags <= 3).then_some(Order {
            sent_ns,
            quantity,
            price,
            mid2,
            sequence,
            bank,
            pair,
            is_buy: side == 0,
            is_fok: flags & 1 != 0,
            value_date,
            id,
            parent,
            quote_id: (flags & 2 != 0).then_some(quote_id),
        })
    }
}

/// Appends a line to the lines of a record.
pub fn put_line(out: &mut Vec<u8>, line_kind: u8, text: &str) {
    out.push(line_kind);
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

/// The lines of a record, each with its kind; ends at the first that is not whole.
pub fn lines(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &str)> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_at_checked(5)?;
        let length = u32::from_le_bytes(head[1..].try_into().ok()?) as usize;
        let (text, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some((head[0], std::str::from_utf8(text).ok()?))
    })
}

/// What is left of a body.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn i64(&mut self) -> Option<i64> {
        Some(self.u64()? as i64)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::from(self.u8()?);
        std::str::from_utf8(self.take(length)?).ok()
    }

    fn id(&mut self) -> Option<Id> {
        Id::new(self.text()?.as_bytes())
    }

    fn names(&mut self) -> Option<Vec<&'a str>> {
        let count = self.u16()?;
        (0..count).map(|_| self.text()).collect()
    }

    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn all_text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.all()).ok()
    }
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend(value.to_le_bytes());
}

fn put_i64(out: &mut Vec<u8>, value: i64) {
    out.extend(value.to_le_bytes());
}

/// A text of at most 255 bytes; names and identifiers are shorter.
fn put_text(out: &mut Vec<u8>, text: &str) {
    let bytes = &text.as_bytes()[..text.len().min(255)];
    out.push(bytes.len() as u8);
    out.extend(bytes);
}

#[cfg(test)]
mod tests;
