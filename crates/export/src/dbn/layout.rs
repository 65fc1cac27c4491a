//! Records of DBN version 3 as bytes: fields in the order of the format, little-endian.

use touchline_types::{Level, Price, Side};

/// Undefined time.
pub const UNDEFINED_TIME: u64 = u64::MAX;
/// Undefined size of an order or a level.
pub const UNDEFINED_SIZE: u32 = u32::MAX;
/// Undefined price.
const UNDEFINED_PRICE: i64 = i64::MAX;

/// Flag: last record of the instrument in its packet.
pub const LAST: u8 = 1 << 7;
/// Flag: of a whole book.
pub const SNAPSHOT: u8 = 1 << 5;
/// Flag: the receive time is unknown, or earlier than that of the record before.
pub const BAD_TS_RECV: u8 = 1 << 3;
/// Flag: the book may be wrong.
pub const MAYBE_BAD_BOOK: u8 = 1 << 2;

/// Record types.
pub mod rtype {
    /// Trade.
    pub const MBP_0: u8 = 0x00;
    /// Best level of each side.
    pub const MBP_1: u8 = 0x01;
    /// Ten levels of each side.
    pub const MBP_10: u8 = 0x0a;
    /// Trading status.
    pub const STATUS: u8 = 0x12;
    /// Definition of an instrument.
    pub const DEFINITION: u8 = 0x13;
    /// Statistic.
    pub const STATISTICS: u8 = 0x18;
    /// Order.
    pub const MBO: u8 = 0xa0;
}

/// First fields of every record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    /// Number of the instrument in the file.
    pub instrument_id: u32,
    /// Of the configuration.
    pub publisher_id: u16,
    /// The venue's time of the event.
    pub ts_event: u64,
    /// Receive time.
    pub ts_recv: u64,
    /// Receive time less sending time, ns.
    pub ts_in_delta: i32,
    /// The venue's number of the packet.
    pub sequence: u32,
    /// Flags.
    pub flags: u8,
}

/// What happened, at which price.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// `A`, `M`, `C`, `R` or `T`.
    pub action: u8,
    /// Side.
    pub side: u8,
    /// Price.
    pub price: i64,
    /// Size.
    pub size: u32,
}

/// Letter of a side.
pub const fn side(side: Option<Side>) -> u8 {
    match side {
        Some(Side::Bid) => b'B',
        Some(Side::Ask) => b'A',
        None => b'N',
    }
}

/// A record that is written, for its length at the end.
pub struct Bytes<'a> {
    bytes: &'a mut Vec<u8>,
    from: usize,
}

impl<'a> Bytes<'a> {
    /// Begins a record.
    pub fn begin(bytes: &'a mut Vec<u8>, rtype: u8, head: &Head) -> Bytes<'a> {
        let from = bytes.len();
        bytes.extend([0, rtype]);
        bytes.extend(head.publisher_id.to_le_bytes());
        bytes.extend(head.instrument_id.to_le_bytes());
        bytes.extend(head.ts_event.to_le_bytes());
        Bytes { bytes, from }
    }

    /// Appends bytes as they are.
    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) -> &mut Self {
        self.bytes.extend_from_slice(&bytes);
        self
    }

    /// Appends text and zeros to this length, of which the last one stays zero.
    pub fn text(&mut self, text: &str, length: usize) -> &mut Self {
        let text = &text.as_bytes()[..text.len().min(length - 1)];
        self.bytes.extend_from_slice(text);
        self.zeros(length - text.len())
    }

    /// Appends zeros.
    pub fn zeros(&mut self, count: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }

    /// Ends the record.
    ///
    /// # Panics
    /// Its length is not the one of the format.
    pub fn end(self, length: usize) {
        let record = &mut self.bytes[self.from..];
        assert_eq!(
            record.len(),
            length,
            "a record has the length of its format"
        );
        record[0] = (length / 4) as u8;
    }
}

/// Offset of the flags in a record of this type, if it has any.
pub const fn flags_at(rtype: u8) -> Option<usize> {
    match rtype {
        rtype::MBO => Some(36),
        rtype::MBP_0 | rtype::MBP_1 | rtype::MBP_10 => Some(30),
        _ => None,
    }
}

/// A record of an order.
pub fn mbo(bytes: &mut Vec<u8>, head: &Head, action: &Action, order_id: u64) {
    let mut record = Bytes::begin(bytes, rtype::MBO, head);
    record
        .put(order_id.to_le_bytes())
        .put(action.price.to_le_bytes())
        .put(action.size.to_le_bytes())
        // The channel is not known.
        .put([head.flags, 0, action.action, action.side])
        .put(head.ts_recv.to_le_bytes())
        .put(head.ts_in_delta.to_le_bytes())
        .put(head.sequence.to_le_bytes());
    record.end(56);
}

/// A record of a price level, with `levels` levels of each side behind it; none in a trade of the schema `trades`.
pub fn mbp(
    bytes: &mut Vec<u8>,
    rtype: u8,
    head: &Head,
    action: &Action,
    depth: u8,
    levels: &[[Shown; 2]],
) {
    let mut record = Bytes::begin(bytes, rtype, head);
    record
        .put(action.price.to_le_bytes())
        .put(action.size.to_le_bytes())
        .put([action.action, action.side, head.flags, depth])
        .put(head.ts_recv.to_le_bytes())
        .put(head.ts_in_delta.to_le_bytes())
        .put(head.sequence.to_le_bytes());
    for [bid, ask] in levels {
        record
            .put(bid.price.to_le_bytes())
            .put(ask.price.to_le_bytes())
            .put(bid.size.to_le_bytes())
            .put(ask.size.to_le_bytes())
            .put(bid.orders.to_le_bytes())
            .put(ask.orders.to_le_bytes());
    }
    record.end(48 + 32 * levels.len());
}

/// A level in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Price; undefined without a level.
    pub price: i64,
    /// Size; 0 without a level.
    pub size: u32,
    /// Orders; 0 without a level, or if not stated.
    pub orders: u32,
}

impl Shown {
    /// No level.
    pub const NONE: Shown = Shown {
        price: UNDEFINED_PRICE,
        size: 0,
        orders: 0,
    };

    /// A level of this size.
    pub fn of(level: &Level, size: u32) -> Shown {
        Shown {
            price: level.price.0,
            size,
            orders: level.orders.max(0) as u32,
        }
    }
}

/// A statistic.
#[derive(Clone, Copy, Debug)]
pub struct Stat {
    /// Price.
    pub price: Price,
    /// Quantity, undefined as a price is.
    pub quantity: i64,
    /// Number of the kind.
    pub kind: u16,
    /// 1 set, 2 deleted.
    pub action: u8,
}

/// A record of a statistic.
pub fn statistic(bytes: &mut Vec<u8>, head: &Head, stat: &Stat) {
    let mut record = Bytes::begin(bytes, rtype::STATISTICS, head);
    record
        .put(head.ts_recv.to_le_bytes())
        .put(UNDEFINED_TIME.to_le_bytes())
        .put(stat.price.0.to_le_bytes())
        .put(stat.quantity.to_le_bytes())
        .put(head.sequence.to_le_bytes())
        .put(head.ts_in_delta.to_le_bytes())
        .put(stat.kind.to_le_bytes())
        .put(u16::MAX.to_le_bytes())
        .put([stat.action, 0])
        .zeros(18);
    record.end(80);
}

/// A record of a trading status: action, reason and event, and whether there is trading.
pub fn status(bytes: &mut Vec<u8>, head: &Head, words: [u16; 3], is_trading: u8) {
    let mut record = Bytes::begin(bytes, rtype::STATUS, head);
    record.put(head.ts_recv.to_le_bytes());
    for word in words {
        record.put(word.to_le_bytes());
    }
    record.put([is_trading, b'~', b'~']).zeros(7);
    record.end(40);
}
