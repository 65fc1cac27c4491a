//! Messages as changes of books: one enum, and for each template the offsets of the used fields.

use super::block::Block;
use crate::picture::Side;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Entries of the incremental feed (32-36, 42, 43, 46-51, 64-67, 37).
    Entries {
        /// TransactTime.
        transact_time: u64,
        /// Bit 7 of MatchEventIndicator.
        end_of_event: bool,
        /// Entries with a RptSeq.
        entries: Vec<Entry>,
        /// Order entries: of 43 and 47, and the second group of 32, 46 and 64.
        orders: Vec<OrderEntry>,
    },
    /// Channel reset (4): all books are empty.
    ChannelReset {
        /// Bit 7 of MatchEventIndicator.
        end_of_event: bool,
    },
    /// The price book of one instrument (38, 52, 69).
    PriceSnapshot(PriceSnapshot),
    /// A part of the orders of one instrument (44, 53).
    OrderChunk(OrderChunk),
    /// Definition of an instrument (27, 29, 41, 54-58, 63).
    Definition {
        /// SecurityID.
        security_id: i32,
        /// Symbol.
        symbol: String,
        /// MarketDepth of feed type GBX, if it is listed.
        depth: Option<usize>,
        /// MarketDepth of feed type GBI, if it is listed.
        implied_depth: Option<usize>,
        /// Bit 7 of MatchEventIndicator.
        end_of_event: bool,
    },
    /// A message without a book change; it may end an event (30, 39, 59-62, 68 and others).
    Other {
        /// Bit 7 of MatchEventIndicator.
        end_of_event: bool,
    },
    /// An unknown template.
    Unknown,
}

/// One entry with a RptSeq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// SecurityID.
    pub security_id: i32,
    /// RptSeq.
    pub rpt_seq: u32,
    /// Change of the price book; `None` for trades, volume and statistics.
    pub book: Option<BookEntry>,
}

/// A change of a price book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookEntry {
    /// MDEntryType: `0` and `1` direct, `E` and `F` implied, `J` empties the book.
    pub kind: u8,
    /// MDUpdateAction.
    pub action: u8,
    /// MDPriceLevel, from 1.
    pub level: u8,
    /// MDEntryPx, 1e-9.
    pub price: Option<i64>,
    /// MDEntrySize.
    pub quantity: Option<i64>,
    /// NumberOfOrders.
    pub orders: Option<i64>,
}

/// A change of one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderEntry {
    /// SecurityID.
    pub security_id: i32,
    /// Side, from MDEntryType.
    pub side: Side,
    /// 0 new, 1 update, 2 delete.
    pub action: u8,
    /// OrderID.
    pub id: u64,
    /// MDOrderPriority.
    pub priority: Option<u64>,
    /// Price, 1e-9.
    pub price: Option<i64>,
    /// MDDisplayQty.
    pub quantity: Option<i64>,
}

/// Price book of one instrument as of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceSnapshot {
    /// SecurityID.
    pub security_id: i32,
    /// LastMsgSeqNumProcessed.
    pub last_packet: u32,
    /// TotNumReports.
    pub reports: u32,
    /// RptSeq.
    pub rpt_seq: u32,
    /// Levels, as entries of action Change.
    pub levels: Vec<BookEntry>,
}

/// Part of the orders of one instrument as of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderChunk {
    /// SecurityID.
    pub security_id: i32,
    /// LastMsgSeqNumProcessed.
    pub last_packet: u32,
    /// TotNumReports.
    pub reports: u32,
    /// NoChunks.
    pub chunks: u32,
    /// CurrentChunk, from 1.
    pub chunk: u32,
    /// TransactTime.
    pub transact_time: u64,
    /// Orders, as entries of action New.
    pub orders: Vec<OrderEntry>,
}

/// Reads a message of a known template from its root block and groups. A message without a required field is `Other`.
pub fn read(template: u16, root: Block<'_>, groups: &[Vec<Block<'_>>]) -> Message {
    let group = |index: usize| groups.get(index).map(Vec::as_slice).unwrap_or_default();
    // Until version 8 of the schema prices had exponent -7; the templates that replaced those have -9.
    let scale = if template < 46 { 100 } else { 1 };
    let end_of_event = end_of_event(template, root);
    let message = match template {
        4 => Some(Message::ChannelReset { end_of_event }),
        32..=37 | 42 | 43 | 46..=51 | 64..=67 => {
            let transact_time = root.u64(0).unwrap_or(0);
            let entries = group(0)
                .iter()
                .filter_map(|&block| entry(template, block, scale))
                .collect();
            let orders = match template {
                43 | 47 => group(0)
                    .iter()
                    .filter_map(|&block| order_entry(block, scale))
                    .collect(),
                32 | 46 | 64 => group(1)
                    .iter()
                    .filter_map(|&b| referring_entry(template, b, group(0), scale))
                    .collect(),
                _ => Vec::new(),
            };
            Some(Message::Entries {
                transact_time,
                end_of_event,
                entries,
                orders,
            })
        }
        38 | 52 | 69 => price_snapshot(template, root, group(0), scale).map(Message::PriceSnapshot),
        44 | 53 => order_chunk(root, group(0), scale).map(Message::OrderChunk),
        27 | 29 | 41 | 54..=58 | 63 => definition(root, group(1), end_of_event),
        _ => None,
    };
    message.unwrap_or(Message::Other { end_of_event })
}

/// Bit 7 of MatchEventIndicator, whose offset differs between families of templates.
fn end_of_event(template: u16, root: Block<'_>) -> bool {
    let offset = match template {
        4 | 32..=37 | 42 | 43 | 46..=51 | 59 | 61 | 62 | 64..=68 => 8,
        27 | 29 | 41 | 54..=58 | 63 => 0,
        30 => 26,
        39 => 31,
        60 => 20,
        _ => return false,
    };
    root.u8(offset).is_some_and(|bits| bits & 0x80 != 0)
}

fn entry(template: u16, block: Block<'_>, scale: i64) -> Option<Entry> {
    let (security_id, rpt_seq) = match template {
        32 | 33 | 36 | 42 | 46 | 48 | 49 => (12, 16),
        34 | 50 => (24, 28),
        35 | 51 | 66 => (8, 12),
        37 => (4, 8),
        64 | 65 | 67 => (16, 20),
        _ => return None,
    };
    let book = match template {
        32 | 46 => Some((block.nullable_i32(8), 20)),
        64 => Some((block.long_quantity(8), 24)),
        _ => None,
    };
    let book = match book {
        // After the quantity, whose width differs, both layouts are the same.
        Some((quantity, orders)) => Some(BookEntry {
            kind: block.u8(orders + 6)?,
            action: block.u8(orders + 5)?,
            level: block.u8(orders + 4)?,
            price: block.price(0, scale),
            quantity,
            orders: block.nullable_i32(orders),
        }),
        None => None,
    };
    Some(Entry {
        security_id: block.i32(security_id)?,
        rpt_seq: block.u32(rpt_seq)?,
        book,
    })
}

/// An entry of 43 and 47, with all fields.
fn order_entry(block: Block<'_>, scale: i64) -> Option<OrderEntry> {
    Some(OrderEntry {
        security_id: block.i32(28)?,
        side: side(block.u8(33)?)?,
        action: block.u8(32)?,
        id: block.nullable_u64(0)?,
        priority: block.nullable_u64(8),
        price: block.price(16, scale),
        quantity: block.nullable_i32(24),
    })
}

/// An order entry of a book message, with a reference to the price entry that gives instrument, side and price.
fn referring_entry(
    template: u16,
    block: Block<'_>,
    entries: &[Block<'_>],
    scale: i64,
) -> Option<OrderEntry> {
    let reference = usize::from(block.u8(20)?);
    let entry = *entries.get(reference.checked_sub(1)?)?;
    let (security_id, kind) = if template == 64 { (16, 30) } else { (12, 26) };
    Some(OrderEntry {
        security_id: entry.i32(security_id)?,
        side: side(entry.u8(kind)?)?,
        action: block.u8(21)?,
        id: block.u64(0)?,
        priority: block.nullable_u64(8),
        price: entry.price(0, scale),
        quantity: block.nullable_i32(16),
    })
}

fn side(entry_type: u8) -> Option<Side> {
    match entry_type {
        b'0' => Some(Side::Bid),
        b'1' => Some(Side::Ask),
        _ => None,
    }
}

fn price_snapshot(
    template: u16,
    root: Block<'_>,
    group: &[Block<'_>],
    scale: i64,
) -> Option<PriceSnapshot> {
    let levels = group.iter().filter_map(|&block| {
        let (quantity, orders, level, kind) = match template {
            69 => (block.long_quantity(8), 16, 20, 22),
            _ => (block.nullable_i32(8), 12, 16, 21),
        };
        Some(BookEntry {
            kind: block.u8(kind)?,
            action: 1,
            level: block.u8(level)?,
            price: block.price(0, scale),
            quantity,
            orders: block.nullable_i32(orders),
        })
    });
    Some(PriceSnapshot {
        last_packet: root.u32(0)?,
        reports: root.u32(4)?,
        security_id: root.i32(8)?,
        rpt_seq: root.u32(12)?,
        levels: levels.collect(),
    })
}

fn order_chunk(root: Block<'_>, group: &[Block<'_>], scale: i64) -> Option<OrderChunk> {
    let security_id = root.i32(8)?;
    let orders = group.iter().filter_map(|&block| {
        Some(OrderEntry {
            security_id,
            side: side(block.u8(28)?)?,
            action: 0,
            id: block.u64(0)?,
            priority: block.nullable_u64(8),
            price: block.price(16, scale),
            quantity: block.nullable_i32(24),
        })
    });
    Some(OrderChunk {
        last_packet: root.u32(0)?,
        reports: root.u32(4)?,
        security_id,
        chunks: root.u32(12)?,
        chunk: root.u32(16)?,
        transact_time: root.u64(20)?,
        orders: orders.collect(),
    })
}

fn definition(root: Block<'_>, feed_types: &[Block<'_>], end_of_event: bool) -> Option<Message> {
    let depth_of = |code: &str| {
        let block = feed_types
            .iter()
            .find(|block| block.text(0, 3).as_deref() == Some(code))?;
        usize::try_from(block.i8(3)?).ok()
    };
    Some(Message::Definition {
        security_id: root.i32(55)?,
        symbol: root.text(35, 20)?,
        depth: depth_of("GBX"),
        implied_depth: depth_of("GBI"),
        end_of_event,
    })
}
