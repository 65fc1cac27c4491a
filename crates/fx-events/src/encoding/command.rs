//! Commands as bytes: the message in a client's ring behind its number, and the evidence in the journal.
//!
//! ```text
//! command:  version u8, kind u8, body
//! text:     length u8 (255: none), printable ASCII of at most 64 bytes
//!
//! kind      body
//! 1 parent  id, pair, side u8, quantity i64, limit, lifetime u8, deadline (ms) u64, urgency u8, style u8, partial u8
//! 2 cancel  id
//! 3 kill
//! 4 lift
//! 5 enable  bank, pair
//! 6 resolve ClOrdID, quantity i64, price
//! 7 book    id, pair, side u8, quantity i64, price, bank, value date
//! 8 promote
//! 9 standby
//! ```
//!
//! Little-endian. A command has one encoding, without bytes behind it.

use super::bytes::{Put, Rest};
use super::codes::Coded;
use crate::command::{Booking, Command, Order};
use std::fmt;

/// Version of the encoding.
const VERSION: u8 = 1;
/// Bytes of the longest command.
pub const BYTES_MAX: usize = 384;

/// Why bytes are not a command of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCommand {
    /// The first byte names another version.
    Version(u8),
    /// The bytes are not those of a command.
    Malformed,
}

impl NoCommand {
    /// The reason in an answer.
    pub fn reason(self) -> &'static str {
        match self {
            NoCommand::Version(_) => "other_version",
            NoCommand::Malformed => "malformed",
        }
    }
}

/// Writes the cause, with the cure.
impl fmt::Display for NoCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoCommand::Version(found) => write!(
                f,
                "commands of version {VERSION} are read, this one begins with byte {found}; send it with the touchline of the \
                 engine's release"
            ),
            NoCommand::Malformed => f.write_str("the bytes are no command"),
        }
    }
}

/// Kinds of commands.
mod kind {
    pub const PARENT: u8 = 1;
    pub const CANCEL: u8 = 2;
    pub const KILL: u8 = 3;
    pub const LIFT: u8 = 4;
    pub const ENABLE: u8 = 5;
    pub const RESOLVE: u8 = 6;
    pub const BOOK: u8 = 7;
    pub const PROMOTE: u8 = 8;
    pub const STANDBY: u8 = 9;
}

impl Command {
    /// Appends the command.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.u8(VERSION);
        match self {
            Command::Parent(order) => {
                out.u8(kind::PARENT);
                order.encode(out);
            }
            Command::Cancel { id } => {
                out.u8(kind::CANCEL);
                out.id(Some(id));
            }
            Command::Kill => out.u8(kind::KILL),
            Command::Lift => out.u8(kind::LIFT),
            Command::Enable { bank, pair } => {
                out.u8(kind::ENABLE);
                out.id(Some(bank));
                out.id(Some(pair));
            }
            Command::Resolve { order, cum, price } => {
                out.u8(kind::RESOLVE);
                out.id(Some(order));
                out.i64(*cum);
                out.id(price.as_ref());
            }
            Command::Book(booking) => {
                out.u8(kind::BOOK);
                booking.encode(out);
            }
            Command::Promote => out.u8(kind::PROMOTE),
            Command::Standby => out.u8(kind::STANDBY),
        }
    }

    /// Reads a command, without allocation.
    ///
    /// # Errors
    /// The bytes are of another version, or not those of a command.
    pub fn decode(bytes: &[u8]) -> Result<Command, NoCommand> {
        let (version, rest) = bytes.split_first().ok_or(NoCommand::Malformed)?;
        if *version != VERSION {
            return Err(NoCommand::Version(*version));
        }
        let mut rest = Rest(rest);
        let command = Command::read(&mut rest).filter(|_| rest.0.is_empty());
        command.ok_or(NoCommand::Malformed)
    }

    fn read(rest: &mut Rest<'_>) -> Option<Command> {
        Some(match rest.u8()? {
            kind::PARENT => Command::Parent(Order::read(rest)?),
            kind::CANCEL => Command::Cancel { id: rest.id()? },
            kind::KILL => Command::Kill,
            kind::LIFT => Command::Lift,
            kind::ENABLE => Command::Enable {
                bank: rest.id()?,
                pair: rest.id()?,
            },
            kind::RESOLVE => Command::Resolve {
                order: rest.id()?,
                cum: rest.i64()?,
                price: rest.optional_id()?,
            },
            kind::BOOK => Command::Book(Booking::read(rest)?),
            kind::PROMOTE => Command::Promote,
            kind::STANDBY => Command::Standby,
            _ => return None,
        })
    }
}

impl Order {
    fn encode(&self, out: &mut Vec<u8>) {
        out.id(Some(&self.id));
        out.id(Some(&self.pair));
        out.u8(self.side.code());
        out.i64(self.quantity);
        out.id(self.limit.as_ref());
        out.u8(self.lifetime.code());
        out.u64(self.deadline_ms);
        out.u8(self.urgency);
        out.u8(self.style.code());
        out.u8(u8::from(self.partial));
    }

    fn read(rest: &mut Rest<'_>) -> Option<Order> {
        Some(Order {
            id: rest.id()?,
            pair: rest.id()?,
            side: rest.word()?,
            quantity: rest.i64()?,
            limit: rest.optional_id()?,
            lifetime: rest.word()?,
            deadline_ms: rest.u64()?,
            urgency: rest.u8()?,
            style: rest.word()?,
            partial: rest.flag()?,
        })
    }
}

impl Booking {
    fn encode(&self, out: &mut Vec<u8>) {
        out.id(Some(&self.id));
        out.id(Some(&self.pair));
        out.u8(self.side.code());
        out.i64(self.quantity);
        out.id(Some(&self.price));
        out.id(self.bank.as_ref());
        out.id(Some(&self.value_date));
    }

    fn read(rest: &mut Rest<'_>) -> Option<Booking> {
        Some(Booking {
            id: rest.id()?,
            pair: rest.id()?,
            side: rest.word()?,
            quantity: rest.i64()?,
            price: rest.id()?,
            bank: rest.optional_id()?,
            value_date: rest.id()?,
        })
    }
}

#[cfg(test)]
mod tests;
