//! Last values of each instrument for late joiners: last trade, trading status, and statistics of the session; and the
//! status of each product group.
//!
//! ```text
//!  slots of groups │ slots of instruments
//!  slot: trade │ status │ a statistic of each kind, an entry each
//!  entry: codes │ price or group │ quantity │ trade id │ exchange_ns │ receive_ns │ sequence
//! ```

use super::reserved_table::ReservedTable;
use super::stored::Stored;
use crate::bus::{Damage, Error, Staged, TableWriter};
use std::sync::atomic::{AtomicU64, Ordering};
use touchline_types::{
    Instrument, PacketInfo, Price, Quantity, Side, Statistic, StatisticKind, Timestamps, Trade,
    TradingStatus, Update, UpdateAction,
};

/// Number of product groups whose status is kept; further ones are only published.
pub const GROUPS: usize = 64;

const CODES: usize = 0;
const PRICE: usize = 1;
const QUANTITY: usize = 2;
const TRADE_ID: usize = 3;
const EXCHANGE_NS: usize = 4;
const RECEIVE_NS: usize = 5;
const SEQUENCE: usize = 6;
const ENTRY: usize = 7;

const TRADE: usize = 0;
const STATUS: usize = 1;
const FIGURES: usize = 2;

/// Entries of a slot.
pub const ENTRIES: usize = FIGURES + StatisticKind::ALL.len();

/// Words of a slot.
pub const WORDS: usize = ENTRIES * ENTRY;

/// Bit of the codes: the entry is present.
const PRESENT: u64 = 1 << 63;
/// Code for no aggressor.
const NOBODY: u64 = 0xFF;

/// Slot of an instrument.
pub const fn slot_of(instrument: Instrument) -> usize {
    GROUPS + instrument.index()
}

/// A kept value with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastValue {
    /// Value.
    pub value: Value,
    /// Times; only the venue's time and the receive time.
    pub timestamps: Timestamps,
    /// Number of its message.
    pub sequence: u64,
}

/// A kept value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The last trade.
    Trade(Trade),
    /// The trading status.
    Status(TradingStatus),
    /// A statistic.
    Statistic(Statistic),
}

impl Value {
    /// The value as an update.
    pub fn update(&self) -> Update<'_> {
        match self {
            Value::Trade(trade) => Update::Trade(trade),
            Value::Status(status) => Update::Status(status),
            Value::Statistic(statistic) => Update::Statistic(statistic),
        }
    }
}

/// Writes the change of an update to a slot; `last_trade` is the id of the trade in it, 0 if there is none or it has no id.
fn store(
    content: &[AtomicU64],
    last_trade: &mut u64,
    update: &Update<'_>,
    timestamps: &Timestamps,
    sequence: u64,
) {
    let put = |entry: usize, codes: u64, values: [u64; 3]| {
        let [price, quantity, trade_id] = values;
        let words = [
            (CODES, codes),
            (PRICE, price),
            (QUANTITY, quantity),
            (TRADE_ID, trade_id),
            (EXCHANGE_NS, timestamps.exchange_ns),
            (RECEIVE_NS, timestamps.packet.receive_ns),
            (SEQUENCE, sequence),
        ];
        let content = &content[entry * ENTRY..][..ENTRY];
        for (word, value) in words {
            content[word].store(value, Ordering::Relaxed);
        }
    };
    match update {
        Update::Trade(trade) => {
            // A correction or a bust refers to the last trade, or to a trade that the slot does not hold any more.
            let is_last = trade.trade_id != 0 && trade.trade_id == *last_trade;
            let codes = match trade.action {
                UpdateAction::New => trade_codes(trade),
                UpdateAction::Delete if is_last => 0,
                _ if is_last => trade_codes(trade),
                _ => return,
            };
            *last_trade = if codes == 0 { 0 } else { trade.trade_id };
            let (price, quantity) = (trade.price.0 as u64, trade.quantity.0 as u64);
            put(TRADE, codes, [price, quantity, trade.trade_id]);
        }
        Update::Statistic(statistic) => {
            let codes = match statistic.action {
                UpdateAction::Delete => 0,
                action => PRESENT | u64::from(action as u8),
            };
            let (price, quantity) = (statistic.price.0 as u64, statistic.quantity.0 as u64);
            let entry = FIGURES + statistic.kind as usize;
            put(entry, codes, [price, quantity, 0]);
        }
        Update::Status(status) => {
            let codes = [status.status, status.reason, status.event];
            let codes = codes
                .iter()
                .rev()
                .fold(0, |word, code| word << 8 | u64::from(*code));
            put(STATUS, PRESENT | codes, [group_word(&status.group), 0, 0]);
        }
        _ => unreachable!("only trades, statistics and statuses have a last value"),
    }
}

fn trade_codes(trade: &Trade) -> u64 {
    let aggressor = trade.aggressor.map_or(NOBODY, |side| side as u64);
    let orders = u64::from(trade.orders as u32);
    PRESENT | u64::from(trade.action as u8) | aggressor << 8 | orders << 16
}

/// A group as a word.
fn group_word(group: &[u8; 6]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..6].copy_from_slice(group);
    u64::from_le_bytes(bytes)
}

/// The value of an entry in a slot's content, if present. `instrument` is `None` for the slot of a group.
pub fn read(content: &[u64], entry: usize, instrument: Option<Instrument>) -> Option<LastValue> {
    let words: &[u64; ENTRY] = content.get(entry * ENTRY..)?.first_chunk()?;
    let codes = words[CODES];
    if codes & PRESENT == 0 {
        return None;
    }
    let byte = |place: u32| (codes >> (8 * place)) as u8;
    let value = match entry {
        TRADE => Value::Trade(Trade {
            instrument: instrument?,
            orders: (codes >> 16) as u32 as i32,
            price: Price(words[PRICE] as i64),
            quantity: Quantity(words[QUANTITY] as i64),
            aggressor: Side::from_code(byte(1)),
            action: UpdateAction::from_code(byte(0))?,
            trade_id: words[TRADE_ID],
        }),
        STATUS => {
            let mut group = [0; 6];
            group.copy_from_slice(&words[PRICE].to_le_bytes()[..6]);
            Value::Status(TradingStatus {
                instrument,
                group,
                status: byte(0),
                reason: byte(1),
                event: byte(2),
            })
        }
        _ => Value::Statistic(Statistic {
            instrument: instrument?,
            kind: StatisticKind::from_code((entry - FIGURES) as u8)?,
            action: UpdateAction::from_code(byte(0))?,
            price: Price(words[PRICE] as i64),
            quantity: Quantity(words[QUANTITY] as i64),
        }),
    };
    Some(LastValue {
        value,
        timestamps: Timestamps {
            exchange_ns: words[EXCHANGE_NS],
            packet: PacketInfo {
                receive_ns: words[RECEIVE_NS],
                ..PacketInfo::default()
            },
            ..Timestamps::default()
        },
        sequence: words[SEQUENCE],
    })
}

/// Writing side of the table.
#[derive(Debug)]
pub struct LastValueTable {
    slots: ReservedTable,
    /// Id of the last trade of each slot: the writer never trusts what it reads back from shared memory.
    last_trades: Vec<u64>,
    /// Groups by slot.
    groups: Vec<[u8; 6]>,
}

/// Id of the last trade of a slot.
fn last_trade_of(last_trades: &mut Vec<u64>, slot: usize) -> &mut u64 {
    if slot >= last_trades.len() {
        last_trades.resize(slot + 1, 0);
    }
    &mut last_trades[slot]
}

/// Slots reserved at a time.
const CHUNK: usize = 64;

impl LastValueTable {
    /// Reserves memory for the groups.
    pub fn new(table: TableWriter) -> Result<LastValueTable, Error> {
        Ok(LastValueTable {
            last_trades: Vec::with_capacity(table.shape().slots),
            groups: Vec::with_capacity(GROUPS),
            slots: ReservedTable::new(table, CHUNK)?,
        })
    }

    /// Keeps a trade, a status or a statistic.
    pub fn store(
        &mut self,
        update: &Update<'_>,
        timestamps: &Timestamps,
        message: &Staged<'_>,
    ) -> Stored {
        let slot = match update {
            Update::Trade(trade) => Some(slot_of(trade.instrument)),
            Update::Statistic(statistic) => Some(slot_of(statistic.instrument)),
            Update::Status(status) => match status.instrument {
                Some(instrument) => Some(slot_of(instrument)),
                None => self.group(&status.group),
            },
            _ => unreachable!("only trades, statistics and statuses have a last value"),
        };
        let Some(slot) = slot.filter(|slot| self.slots.has(*slot)) else {
            return Stored::Refused;
        };
        let last_trade = last_trade_of(&mut self.last_trades, slot);
        let stored = self.slots.table.change(slot, message.end, |content| {
            store(content, last_trade, update, timestamps, message.sequence);
        });
        match stored {
            Some(()) => Stored::Whole,
            None => unreachable!("slot {slot} of the last values has memory, and is not there"),
        }
    }

    /// States that the next trade of its instrument is the last one, also if it corrects or busts another trade.
    pub fn expect_trade(&mut self, trade: &Trade) {
        let slot = slot_of(trade.instrument);
        if self.slots.has(slot) {
            *last_trade_of(&mut self.last_trades, slot) = trade.trade_id;
        }
    }

    /// Asks again for memory that was refused.
    pub fn retry(&mut self) {
        self.slots.retry();
    }

    /// Checks the table's file.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_file(self.slots.table.memory())
    }

    /// Slot of a group, if one is left.
    fn group(&mut self, group: &[u8; 6]) -> Option<usize> {
        let known = self.groups.iter().position(|known| known == group);
        known.or_else(|| {
            (self.groups.len() < GROUPS).then(|| {
                self.groups.push(*group);
                self.groups.len() - 1
            })
        })
    }
}
