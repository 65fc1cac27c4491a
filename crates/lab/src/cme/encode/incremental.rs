//! Messages of the incremental feed: 4, 12, 30, 37, 46-51 and 64-67.

use super::{Block, Group, NULL_I32, NULL_PRICE, NULL_U64, Template, Version, message};
use crate::picture::Side;

/// Content of a message of the incremental feed. Wide messages (64-67) exist from version 12 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// 4: every book of the channel is emptied.
    ChannelReset,
    /// 12: heartbeat.
    Heartbeat,
    /// 30: trading status of one instrument.
    Status {
        /// SecurityID.
        security_id: i32,
        /// SecurityTradingStatus.
        status: u8,
    },
    /// 46, or 64 if wide: levels, and the orders that changed at them.
    Book {
        /// Quantities are u64.
        wide: bool,
        /// NoMDEntries.
        levels: Vec<LevelEntry>,
        /// NoOrderIDEntries.
        orders: Vec<ReferringOrder>,
    },
    /// 47: orders only.
    Orders(Vec<OrderEntry>),
    /// 48, or 65 if wide: trades, and the fill of each order.
    Trades {
        /// Quantities are u64.
        wide: bool,
        /// NoMDEntries.
        trades: Vec<TradeEntry>,
        /// NoOrderIDEntries: order and quantity.
        fills: Vec<(u64, i64)>,
    },
    /// 37, or 66 if wide: volume of the session.
    Volume {
        /// Quantities are u64.
        wide: bool,
        /// The entries.
        entries: Vec<StatisticEntry>,
    },
    /// 49: settlement prices and open interest.
    DailyStatistics(Vec<StatisticEntry>),
    /// 50: price limits around `price`.
    Limits(Vec<StatisticEntry>),
    /// 51, or 67 if wide: opening, highest and lowest prices.
    SessionStatistics {
        /// Quantities are u64.
        wide: bool,
        /// The entries.
        entries: Vec<StatisticEntry>,
    },
    /// An unknown template with this body.
    Unknown(u16, Vec<u8>),
}

/// One entry of 46 and 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelEntry {
    /// SecurityID.
    pub security_id: i32,
    /// RptSeq.
    pub rpt_seq: u32,
    /// MDEntryType.
    pub entry_type: u8,
    /// MDUpdateAction.
    pub action: u8,
    /// MDPriceLevel.
    pub level: u8,
    /// MDEntryPx.
    pub price: i64,
    /// MDEntrySize.
    pub quantity: i64,
    /// NumberOfOrders, null if `None`.
    pub orders: Option<i32>,
}

/// An order entry that refers to a level entry of the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferringOrder {
    /// OrderID.
    pub id: u64,
    /// MDOrderPriority, null if `None`.
    pub priority: Option<u64>,
    /// MDDisplayQty, null if `None`.
    pub quantity: Option<i64>,
    /// ReferenceID: the level entry, counted from 1.
    pub reference: u8,
    /// OrderUpdateAction.
    pub action: u8,
}

/// Order entry without a reference to a level entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderEntry {
    /// SecurityID.
    pub security_id: i32,
    /// OrderID.
    pub id: u64,
    /// MDOrderPriority, null if `None`.
    pub priority: Option<u64>,
    /// MDEntryPx, null if `None`.
    pub price: Option<i64>,
    /// MDDisplayQty, null if `None`.
    pub quantity: Option<i64>,
    /// The side, as MDEntryType.
    pub side: Side,
    /// MDUpdateAction.
    pub action: u8,
}

/// One entry of 48 and 65.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeEntry {
    /// SecurityID.
    pub security_id: i32,
    /// RptSeq.
    pub rpt_seq: u32,
    /// MDEntryPx.
    pub price: i64,
    /// MDEntrySize.
    pub quantity: i64,
    /// NumberOfOrders.
    pub orders: i32,
    /// AggressorSide.
    pub aggressor: Side,
}

/// One entry of volume, statistics or limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticEntry {
    /// SecurityID.
    pub security_id: i32,
    /// RptSeq.
    pub rpt_seq: u32,
    /// MDEntryType, where the template has one.
    pub entry_type: u8,
    /// MDEntryPx, where the template has one.
    pub price: i64,
    /// MDEntrySize, where the template has one.
    pub quantity: i64,
}

impl Body {
    /// Template of this content.
    pub fn template(&self) -> u16 {
        match self {
            Self::ChannelReset => 4,
            Self::Heartbeat => 12,
            Self::Status { .. } => 30,
            Self::Book { wide, .. } => {
                if *wide {
                    64
                } else {
                    46
                }
            }
            Self::Orders(_) => 47,
            Self::Trades { wide, .. } => {
                if *wide {
                    65
                } else {
                    48
                }
            }
            Self::Volume { wide, .. } => {
                if *wide {
                    66
                } else {
                    37
                }
            }
            Self::DailyStatistics(_) => 49,
            Self::Limits(_) => 50,
            Self::SessionStatistics { wide, .. } => {
                if *wide {
                    67
                } else {
                    51
                }
            }
            Self::Unknown(id, _) => *id,
        }
    }
}

/// Encodes a message. `indicator` is MatchEventIndicator.
pub fn encode(
    version: Version,
    future: bool,
    body: &Body,
    transact_time: u64,
    indicator: u8,
) -> Vec<u8> {
    let template = Template {
        id: body.template(),
        version,
        from_the_future: future,
    };
    let root = root(body, transact_time, indicator);
    message(template, &root, &groups(body, version))
}

/// The fields in front of the groups.
fn root(body: &Body, transact_time: u64, indicator: u8) -> Block {
    match body {
        Body::ChannelReset => Block::new(9).u64(0, transact_time).u8(8, indicator),
        Body::Heartbeat => Block::new(0),
        Body::Status {
            security_id,
            status,
        } => Block::new(30)
            .u64(0, transact_time)
            .text(8, 6, "ZQ")
            .text(14, 6, "ZQ")
            .i32(20, *security_id)
            .u16(24, 20_000)
            .u8(26, indicator)
            .u8(27, *status),
        Body::Unknown(_, bytes) => bytes
            .iter()
            .enumerate()
            .fold(Block::new(bytes.len()), |b, (i, &byte)| b.u8(i, byte)),
        Body::Book { .. }
        | Body::Orders(_)
        | Body::Trades { .. }
        | Body::Volume { .. }
        | Body::DailyStatistics(_)
        | Body::Limits(_)
        | Body::SessionStatistics { .. } => Block::new(11).u64(0, transact_time).u8(8, indicator),
    }
}

/// The repeating groups.
fn groups(body: &Body, version: Version) -> Vec<Group> {
    match body {
        Body::Heartbeat | Body::Status { .. } | Body::Unknown(..) => vec![],
        Body::ChannelReset => {
            let entry = Block::new(2).u16(0, crate::cme::config::CHANNEL);
            vec![Group::new(2, vec![entry])]
        }
        Body::Book {
            wide,
            levels,
            orders,
        } => {
            let level = |entry| level(entry, *wide, version);
            let orders = orders.iter().map(referring_order).collect();
            let levels = levels.iter().map(level).collect();
            vec![Group::new(32, levels), Group::wide(24, orders)]
        }
        Body::Orders(entries) => vec![Group::new(40, entries.iter().map(order).collect())],
        Body::Trades {
            wide,
            trades,
            fills,
        } => {
            let length = if *wide { 40 } else { 32 };
            let trades = trades.iter().zip(1..);
            let trades = trades.map(|(entry, id)| trade(entry, id, *wide)).collect();
            let fill = |&(id, quantity): &(u64, i64)| {
                Block::new(16).u64(0, id).quantity(8, quantity, false)
            };
            let fills = fills.iter().map(fill).collect();
            vec![Group::new(length, trades), Group::wide(16, fills)]
        }
        Body::Volume { wide, entries } => {
            let length = if *wide { 24 } else { 16 };
            let entries = entries.iter().map(|entry| volume(entry, *wide));
            vec![Group::new(length, entries.collect())]
        }
        Body::DailyStatistics(entries) => {
            vec![Group::new(
                32,
                entries.iter().map(daily_statistic).collect(),
            )]
        }
        Body::Limits(entries) => vec![Group::new(32, entries.iter().map(limit).collect())],
        Body::SessionStatistics { wide, entries } => {
            let length = if *wide { 32 } else { 24 };
            let entries = entries.iter().map(|entry| session_statistic(entry, *wide));
            vec![Group::new(length, entries.collect())]
        }
    }
}

fn level(entry: &LevelEntry, wide: bool, version: Version) -> Block {
    // The wide quantity moves every later field by four bytes.
    let shift = if wide { 4 } else { 0 };
    let block = Block::new(32)
        .price(0, entry.price)
        .quantity(8, entry.quantity, wide)
        .i32(12 + shift, entry.security_id)
        .u32(16 + shift, entry.rpt_seq)
        .i32(20 + shift, entry.orders.unwrap_or(NULL_I32))
        .u8(24 + shift, entry.level)
        .u8(25 + shift, entry.action)
        .u8(26 + shift, entry.entry_type);
    match (wide, version) {
        (false, Version::V13) => block.i32(27, NULL_I32), // TradeableSize, since version 10
        _ => block,
    }
}

fn referring_order(order: &ReferringOrder) -> Block {
    Block::new(24)
        .u64(0, order.id)
        .u64(8, order.priority.unwrap_or(NULL_U64))
        .i32(16, narrow(order.quantity))
        .u8(20, order.reference)
        .u8(21, order.action)
}

fn order(entry: &OrderEntry) -> Block {
    Block::new(40)
        .u64(0, entry.id)
        .u64(8, entry.priority.unwrap_or(NULL_U64))
        .price(16, entry.price.unwrap_or(NULL_PRICE))
        .i32(24, narrow(entry.quantity))
        .i32(28, entry.security_id)
        .u8(32, entry.action)
        .u8(33, entry_type(entry.side))
}

fn trade(entry: &TradeEntry, trade_id: u32, wide: bool) -> Block {
    let aggressor = match entry.aggressor {
        Side::Bid => 1,
        Side::Ask => 2,
    };
    let block = Block::new(if wide { 40 } else { 32 })
        .price(0, entry.price)
        .quantity(8, entry.quantity, wide);
    match wide {
        false => block
            .i32(12, entry.security_id)
            .u32(16, entry.rpt_seq)
            .i32(20, entry.orders)
            .u8(24, aggressor)
            .u32(26, trade_id),
        true => block
            .i32(16, entry.security_id)
            .u32(20, entry.rpt_seq)
            .i32(24, entry.orders)
            .u32(28, trade_id)
            .u8(32, aggressor),
    }
}

fn volume(entry: &StatisticEntry, wide: bool) -> Block {
    let (length, id) = if wide { (24, 8) } else { (16, 4) };
    Block::new(length)
        .quantity(0, entry.quantity, wide)
        .i32(id, entry.security_id)
        .u32(id + 4, entry.rpt_seq)
}

fn daily_statistic(entry: &StatisticEntry) -> Block {
    Block::new(32)
        .price(0, entry.price)
        .i32(8, NULL_I32)
        .i32(12, entry.security_id)
        .u32(16, entry.rpt_seq)
        .u16(20, 20_000)
        .u8(24, entry.entry_type)
}

fn limit(entry: &StatisticEntry) -> Block {
    Block::new(32)
        .price(0, entry.price + 1_000_000_000)
        .price(8, entry.price - 1_000_000_000)
        .price(16, NULL_PRICE)
        .i32(24, entry.security_id)
        .u32(28, entry.rpt_seq)
}

fn session_statistic(entry: &StatisticEntry, wide: bool) -> Block {
    match wide {
        false => Block::new(24)
            .price(0, entry.price)
            .i32(8, entry.security_id)
            .u32(12, entry.rpt_seq)
            .u8(16, u8::MAX)
            .u8(18, entry.entry_type)
            .i32(19, NULL_I32),
        true => Block::new(32)
            .price(0, entry.price)
            .u64(8, NULL_U64)
            .i32(16, entry.security_id)
            .u32(20, entry.rpt_seq)
            .u8(24, u8::MAX)
            .u8(26, entry.entry_type),
    }
}

/// The display quantity of an order, which is an int32 in every template.
fn narrow(quantity: Option<i64>) -> i32 {
    quantity.map_or(NULL_I32, |q| {
        i32::try_from(q).expect("the quantity of an order is an int32")
    })
}

/// CME's MDEntryType of a side of the direct book.
pub(super) fn entry_type(side: Side) -> u8 {
    match side {
        Side::Bid => b'0',
        Side::Ask => b'1',
    }
}
