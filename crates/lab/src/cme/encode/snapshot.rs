//! Messages of the snapshot feeds: 52, 69 and 53.

use super::incremental::entry_type;
use super::{Block, Group, NULL_I32, Template, Version, message};
use crate::cme::ladder::{Ladder, List};
use crate::cme::market::RestingOrder;

/// Common head of both kinds of snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// SecurityID.
    pub security_id: i32,
    /// LastMsgSeqNumProcessed.
    pub last_packet: u32,
    /// TotNumReports.
    pub reports: u32,
    /// TransactTime.
    pub transact_time: u64,
}

/// A price snapshot: 52, or 69 if wide.
pub fn prices(
    version: Version,
    wide: bool,
    head: Head,
    rpt_seq: u32,
    ladders: &[Ladder; 4],
) -> Vec<u8> {
    let root = Block::new(59)
        .u32(0, head.last_packet)
        .u32(4, head.reports)
        .i32(8, head.security_id)
        .u32(12, rpt_seq)
        .u64(16, head.transact_time)
        .u64(24, head.transact_time)
        .u16(32, 20_000)
        .u8(34, 17)
        .null_prices(&[35, 43, 51]);
    let levels = List::ALL.iter().zip(ladders).flat_map(|(list, ladder)| {
        ladder.iter().zip(1u8..).map(move |(rung, level)| {
            let block = Block::new(if wide { 23 } else { 22 })
                .price(0, rung.price)
                .quantity(8, rung.quantity, wide);
            let orders = rung.orders.unwrap_or(NULL_I32);
            match wide {
                false => block
                    .i32(12, orders)
                    .u8(16, level)
                    .u16(17, u16::MAX)
                    .u8(19, u8::MAX)
                    .u8(20, 0x80)
                    .u8(21, list.entry_type()),
                true => block
                    .i32(16, orders)
                    .u8(20, level)
                    .u8(21, u8::MAX)
                    .u8(22, list.entry_type()),
            }
        })
    });
    let (id, length) = if wide { (69, 23) } else { (52, 22) };
    let template = Template {
        id,
        version,
        from_the_future: false,
    };
    message(template, &root, &[Group::new(length, levels.collect())])
}

/// One part of an order snapshot (53). Parts count from 1.
pub fn order_chunk(
    version: Version,
    head: Head,
    (chunk, chunks): (u32, u32),
    orders: &[RestingOrder],
) -> Vec<u8> {
    let root = Block::new(28)
        .u32(0, head.last_packet)
        .u32(4, head.reports)
        .i32(8, head.security_id)
        .u32(12, chunks)
        .u32(16, chunk)
        .u64(20, head.transact_time);
    let orders = orders.iter().map(|order| {
        Block::new(29)
            .u64(0, order.id)
            .u64(8, order.priority)
            .price(16, order.price)
            .quantity(24, order.quantity, false)
            .u8(28, entry_type(order.side))
    });
    let template = Template {
        id: 53,
        version,
        from_the_future: false,
    };
    message(template, &root, &[Group::new(29, orders.collect())])
}
