//! Events as bytes: the batch record of a journal, and the message of a drop copy.
//!
//! A batch has one input, of the desk or of a bank, and all its effects. Numbers are little-endian; a text follows its
//! length (u8); times are nanoseconds since 1970, prices 1e-9, quantities units. A bank and a pair are indexes of the
//! run's [`Labels`], which kind 37 contains. A parent and an order are numbers from 0 over all runs: their names and terms are
//! stored once, in kinds 1, 7, 22 and 23, with the indexes of the run that wrote them.
//!
//! ```text
//! batch:  at u64, number of its first entry u64 (from 1 over all runs; 0: in no journal), entries u32, flags u8, entries
//! entry:  kind u8, length of the body u32, body
//! flags:  1: not the last part of its batch; 2: not the first. A batch without its last part did not happen
//! ```
//!
//! The bodies are in `schemas/touchline-fx-events.xml`, for any SBE tool, but those of the kinds that its head names.

mod benchmark;
mod bytes;
mod codes;
mod command;
mod read;
mod score;
mod seen;
mod write;

pub use command::{BYTES_MAX as COMMAND_BYTES_MAX, NoCommand};
pub use read::{Decoder, Entry, Malformed, Place, kinds};
pub use write::Encoder;

use crate::labels::{Labels, PairLabel};
use bytes::{Put, Rest};

/// Version of the encoding.
pub const VERSION: u16 = 4;

/// Kinds of entries.
pub mod kind {
    /// Time of the entries behind it, if it is not that of the batch.
    pub const TIME: u8 = 0;
    /// A parent was accepted.
    pub const PARENT: u8 = 1;
    /// A parent was refused.
    pub const REFUSED: u8 = 2;
    /// A parent waits.
    pub const WAITS: u8 = 3;
    /// A parent has ended.
    pub const ENDED: u8 = 4;
    /// An ended parent has no open orders.
    pub const SETTLED: u8 = 5;
    /// A plan.
    pub const PLAN: u8 = 6;
    /// A new order, which is sent.
    pub const ORDER: u8 = 7;
    /// An event of an order.
    pub const STATE: u8 = 8;
    /// Another message to a bank.
    pub const MESSAGE: u8 = 9;
    /// A fill, or a reversed one.
    pub const FILL: u8 = 10;
    /// Position of a pair.
    pub const POSITION: u8 = 11;
    /// A bank's pair cools down.
    pub const COOLDOWN: u8 = 12;
    /// A bank's pair is disabled.
    pub const DISABLED: u8 = 13;
    /// A bank's pair is enabled.
    pub const ENABLED: u8 = 14;
    /// An alarm.
    pub const ALARM: u8 = 15;
    /// The kill switch was set.
    pub const KILL: u8 = 16;
    /// A user requested to lift it.
    pub const LIFT: u8 = 17;
    /// A booking was proposed, confirmed or refused.
    pub const BOOK: u8 = 18;
    /// A bank's prices left the market, or are near it again.
    pub const OFF_MARKET: u8 = 19;
    /// Scorecard of a bank and a pair.
    pub const SCORE: u8 = 20;
    /// A composite; in no journal.
    pub const COMPOSITE: u8 = 21;
    /// An order that the journal lost was taken over.
    pub const ADOPTED: u8 = 22;
    /// The parent that stands for it.
    pub const ADOPTED_PARENT: u8 = 23;
    /// The market when a parent arrived or an order ended.
    pub const BENCHMARK: u8 = 26;
    /// What the plan before it saw.
    pub const SEEN: u8 = 27;
    /// A message of a bank about orders, as received.
    pub const RECEIVED: u8 = 32;
    /// An order session came up or was lost.
    pub const SESSION: u8 = 33;
    /// A command as received.
    pub const COMMAND: u8 = 34;
    /// The answer to a command.
    pub const ANSWER: u8 = 35;
    /// Decision of a command, except for a parent and a kill, which have their own kinds.
    pub const DECISION: u8 = 36;
    /// A run begins, alone in its batch.
    pub const RUN: u8 = 37;
    /// A pair has other dates.
    pub const DAY: u8 = 38;
    /// The used credit of a bank is zero again.
    pub const BANK_DAY: u8 = 39;
    /// Parts of a position by value date, before the entry of the position.
    pub const POSITION_DATES: u8 = 40;
}

/// Bytes of the head of a part.
const HEAD_BYTES: usize = 21;
/// Bytes of the head of an entry.
const ENTRY_BYTES: usize = 5;
/// A part ends behind the entry that makes it as long.
const PART_BYTES: usize = 32 << 10;
/// Flag of a part that is not the last of its batch.
const MORE: u8 = 1;
/// Flag of a part that is not the first of its batch.
const CONTINUES: u8 = 2;

impl Labels {
    /// Appends the names.
    fn encode(&self, out: &mut Vec<u8>) {
        out.id(Some(&self.prefix));
        out.id(Some(&self.account));
        out.u16(self.banks.len() as u16);
        self.banks.iter().for_each(|name| out.text(name));
        out.u16(self.pairs.len() as u16);
        for pair in &self.pairs {
            out.text(&pair.symbol);
            out.id(Some(&pair.base));
            out.u8(pair.precision);
            out.u16(pair.sizes.len() as u16);
            pair.sizes.iter().for_each(|size| out.i64(*size));
        }
    }

    fn decode(rest: &mut Rest<'_>) -> Option<Labels> {
        let (prefix, account) = (rest.id()?, rest.id()?);
        // Printable, as a configuration has them: they become parts of lines.
        let banks = (0..rest.u16()?).map(|_| Some(rest.id()?.to_string()));
        let banks = banks.collect::<Option<_>>()?;
        let pairs = (0..rest.u16()?).map(|_| pair_label(rest));
        let pairs = pairs.collect::<Option<_>>()?;
        Some(Labels {
            prefix,
            account,
            banks,
            pairs,
        })
    }
}

fn pair_label(rest: &mut Rest<'_>) -> Option<PairLabel> {
    Some(PairLabel {
        symbol: rest.id()?.to_string(),
        base: rest.id()?,
        precision: rest.u8().filter(|precision| *precision <= 9)?,
        sizes: (0..rest.u16()?)
            .map(|_| rest.i64())
            .collect::<Option<_>>()?,
    })
}
