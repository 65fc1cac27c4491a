//! Instrument definitions: 54 futures, 55 options, 56 spreads.

use super::{Block, Group, NULL_I32, Template, Version, message};
use crate::cme::instrument::{Instrument, Kind};

/// Encodes a definition. `indicator` is MatchEventIndicator, 0 in the definition cycle; `reports` is TotNumReports.
pub fn encode(version: Version, instrument: &Instrument, reports: u32, indicator: u8) -> Vec<u8> {
    let (id, root, more_groups) = match instrument.kind {
        Kind::Future => (54, future(version), vec![]),
        Kind::Option => (
            55,
            option(version),
            vec![Group::new(24, vec![]), Group::new(24, vec![])],
        ),
        Kind::Spread => (
            56,
            spread(version),
            vec![Group::new(18, vec![leg(1, 1), leg(2, 2)])],
        ),
    };
    let root = root
        .u8(0, indicator)
        .u32(1, reports)
        .u8(5, b'A')
        .u64(6, 1_700_000_000_000_000_000)
        .u8(14, 17)
        .u16(15, crate::cme::config::CHANNEL)
        .u8(17, 70)
        .u8(18, 14)
        .text(19, 4, "XTLN")
        .text(23, 6, "ZQ")
        .text(29, 6, "ZQ")
        .text(35, 20, &instrument.symbol)
        .i32(55, instrument.security_id)
        .text(65, 6, "FXXXXX");
    let factor = instrument.display_factor;
    let root = match instrument.kind {
        Kind::Future => root.price(91, instrument.tick).price(99, factor),
        Kind::Option => root.price(111, instrument.tick).price(127, factor),
        Kind::Spread => root.price(94, instrument.tick).price(102, factor),
    };
    let feeds = [
        ("GBX", instrument.listed_depth),
        ("GBI", instrument.listed_implied_depth),
    ];
    let feeds = feeds
        .into_iter()
        .filter_map(|(name, depth)| Some(Block::new(4).text(0, 3, name).u8(3, depth?)));
    let activation = Block::new(9).u8(0, 5).u64(1, 1_700_000_000_000_000_000);
    let lot = Block::new(5).u8(0, 1).i32(1, NULL_I32);
    let mut groups = vec![
        Group::new(9, vec![activation]),
        Group::new(4, feeds.collect()),
        Group::new(4, vec![Block::new(4).u32(0, 1)]),
        Group::new(5, vec![lot]),
    ];
    groups.extend(more_groups);
    message(
        Template {
            id,
            version,
            from_the_future: false,
        },
        &root,
        &groups,
    )
}

fn future(version: Version) -> Block {
    let block = Block::new(match version {
        Version::V9 => 216,
        Version::V13 => 224, // InstrumentGUID, since version 10
    });
    block
        .text(59, 6, "FUT")
        .u16(71, 2026)
        .text(76, 3, "USD")
        .text(79, 3, "USD")
        .u8(82, b'F')
        .null_prices(&[140, 148, 165, 173, 181, 205])
        .i32(157, NULL_I32)
        .i32(161, NULL_I32)
        .i32(189, NULL_I32)
        .i32(195, NULL_I32)
        .i32(199, NULL_I32)
}

fn option(version: Version) -> Block {
    let block = Block::new(match version {
        Version::V9 => 213,
        Version::V13 => 221, // InstrumentGUID, since version 10
    });
    block
        .text(59, 6, "OOF")
        .u8(71, 1)
        .u16(72, 2026)
        .text(77, 3, "USD")
        .price(80, 100_000_000_000)
        .text(91, 3, "USD")
        .u8(102, b'F')
        .null_prices(&[94, 119, 169, 177, 194, 202])
        .i32(186, NULL_I32)
        .i32(190, NULL_I32)
}

fn spread(version: Version) -> Block {
    let block = Block::new(match version {
        Version::V9 => 195,
        Version::V13 => 255, // PriceQuoteMethod to FinancialInstrumentFullName, since version 10
    });
    block
        .text(59, 6, "FUT")
        .u16(71, 2026)
        .text(76, 3, "USD")
        .text(79, 5, "SP")
        .u8(85, b'F')
        .null_prices(&[111, 150, 167, 175, 183])
        .i32(159, NULL_I32)
        .i32(163, NULL_I32)
}

fn leg(security_id: i32, side: u8) -> Block {
    Block::new(18)
        .i32(0, security_id)
        .u8(4, side)
        .u8(5, 1)
        .null_prices(&[6])
        .i32(14, NULL_I32)
}
