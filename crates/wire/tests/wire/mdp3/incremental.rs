//! Incremental refresh: 46, 47, 48, in older and newer versions.

use crate::mdp3::bytes::{Bytes, book};
use touchline_wire::mdp3::{
    AggressorSide, MatchEventIndicator, MdEntryTypeBook, MdIncrementalRefreshBook32,
    MdIncrementalRefreshBook46, MdIncrementalRefreshOrderBook47,
    MdIncrementalRefreshTradeSummary48, MdUpdateAction, OrderUpdateAction,
};
use touchline_wire::sbe::Decimal;

#[test]
fn book_46() {
    for (version, tradeable) in [(9, None), (13, Some(5))] {
        let bytes = book(version);
        let message = bytes.view(MdIncrementalRefreshBook46::parse);
        assert_eq!(message.version(), version);
        assert_eq!(message.transact_time(), 1_659_367_870_041_633_809);
        let indicator = message.match_event_indicator();
        assert_eq!(indicator, MatchEventIndicator(0x84));
        assert!(
            indicator.end_of_event() && indicator.last_quote_msg() && !indicator.last_trade_msg()
        );

        let entries = message.no_md_entries();
        assert_eq!((entries.len(), entries.iter().len()), (2, 2));
        let bid = entries.get(0).expect("the first entry");
        assert_eq!(
            bid.md_entry_px(),
            Some(Decimal::<-9>::new(4_500_250_000_000))
        );
        assert_eq!(
            (bid.md_entry_size(), bid.number_of_orders()),
            (Some(12), Some(3))
        );
        assert_eq!(
            (bid.security_id(), bid.rpt_seq(), bid.md_price_level()),
            (118, 7, 1)
        );
        assert_eq!(bid.md_update_action(), MdUpdateAction::NEW);
        assert_eq!(bid.md_entry_type(), MdEntryTypeBook::BID);
        assert_eq!(bid.tradeable_size(), tradeable);

        let implied = entries.iter().last().expect("the second entry");
        assert_eq!(implied.md_entry_px(), None);
        assert_eq!(
            (implied.md_entry_size(), implied.number_of_orders()),
            (None, None)
        );
        assert_eq!(
            (
                implied.security_id(),
                implied.rpt_seq(),
                implied.md_price_level()
            ),
            (-5, 8, 10)
        );
        assert_eq!(implied.md_update_action().name(), Some("Delete"));
        assert_eq!(implied.md_entry_type(), MdEntryTypeBook::IMPLIED_OFFER);
        assert_eq!(implied.tradeable_size(), None);
        assert!(entries.get(2).is_none());

        let order = message.no_order_id_entries().get(0).expect("the order");
        assert_eq!(
            (order.order_id(), order.md_order_priority()),
            (707_132_284_827, Some(16_882_484_350))
        );
        assert_eq!(
            (order.md_display_qty(), order.reference_id()),
            (Some(2), Some(1))
        );
        assert_eq!(order.order_update_action(), OrderUpdateAction::NEW);
    }
}

#[test]
fn orders_47() {
    for version in [9, 13] {
        let bytes = Bytes::default()
            .header(11, 47, version)
            .u64(1)
            .u8(0x80)
            .raw(&[0; 2])
            .group(40, 2)
            .u64(645_000_000_001)
            .u64(9)
            .i64(-250_000_000)
            .i32(30)
            .i32(1312)
            .u8(1)
            .u8(b'1')
            .raw(&[0; 6])
            .u64(u64::MAX)
            .u64(u64::MAX)
            .i64(i64::MAX)
            .i32(i32::MAX)
            .i32(1312)
            .u8(2)
            .u8(b'0')
            .raw(&[0; 6]);
        let message = bytes.view(MdIncrementalRefreshOrderBook47::parse);
        let [changed, deleted] =
            [0, 1].map(|index| message.no_md_entries().get(index).expect("an entry"));
        assert_eq!(
            (changed.order_id(), changed.md_order_priority()),
            (Some(645_000_000_001), Some(9))
        );
        assert_eq!(
            changed
                .md_entry_px()
                .map(|price| price.to_string())
                .as_deref(),
            Some("-0.25")
        );
        assert_eq!(
            (changed.md_display_qty(), changed.security_id()),
            (Some(30), 1312)
        );
        assert_eq!(changed.md_update_action(), MdUpdateAction::CHANGE);
        assert_eq!(changed.md_entry_type(), MdEntryTypeBook::OFFER);
        assert_eq!(
            (
                deleted.order_id(),
                deleted.md_order_priority(),
                deleted.md_entry_px()
            ),
            (None, None, None)
        );
        assert_eq!(
            (deleted.md_display_qty(), deleted.md_update_action()),
            (None, MdUpdateAction::DELETE)
        );
    }
}

#[test]
fn trades_48() {
    for version in [9, 13] {
        let bytes = Bytes::default()
            .header(11, 48, version)
            .u64(2)
            .u8(1)
            .raw(&[0; 2])
            .group(32, 1)
            .i64(15_230_000_000_000)
            .i32(4)
            .i32(118)
            .u32(99)
            .i32(2)
            .u8(1)
            .u8(0)
            .u32(31)
            .raw(&[0; 2])
            .group8(16, 2)
            .u64(11)
            .i32(1)
            .raw(&[0; 4])
            .u64(12)
            .i32(3)
            .raw(&[0; 4]);
        let message = bytes.view(MdIncrementalRefreshTradeSummary48::parse);
        let trade = message.no_md_entries().get(0).expect("the trade");
        assert_eq!(
            (trade.md_entry_px().mantissa, trade.md_entry_size()),
            (15_230_000_000_000, 4)
        );
        assert_eq!(
            (
                trade.security_id(),
                trade.rpt_seq(),
                trade.number_of_orders()
            ),
            (118, 99, 2)
        );
        assert_eq!(trade.aggressor_side(), Some(AggressorSide::BUY));
        assert_eq!(
            (trade.md_trade_entry_id(), trade.md_entry_type()),
            (Some(31), b'2')
        );
        let fills: Vec<_> = message
            .no_order_id_entries()
            .iter()
            .map(|order| (order.order_id(), order.last_qty()))
            .collect();
        assert_eq!(fills, [(11, 1), (12, 3)]);
    }
}

/// A newer writer: longer blocks, and a group that is missing in each template here. Known parts are read, the rest is
/// skipped.
#[test]
fn known_parts_of_newer_versions_are_read() {
    let bytes = Bytes::default()
        .header(13, 47, 14)
        .u64(5)
        .u8(0x80)
        .raw(&[0xee; 4])
        .group(43, 2)
        .raw(&[1; 43])
        .raw(&[2; 43])
        .group(4, 1)
        .raw(&[0xee; 4]);
    let message = bytes.view(MdIncrementalRefreshOrderBook47::parse);
    assert_eq!(message.transact_time(), 5);
    let ids: Vec<_> = message
        .no_md_entries()
        .iter()
        .filter_map(|entry| entry.order_id())
        .collect();
    assert_eq!(ids, [0x0101_0101_0101_0101, 0x0202_0202_0202_0202]);
}

/// Template 32 got its orders in version 7; an older message ends after its entries.
#[test]
fn a_group_added_by_a_later_version_is_empty_in_older_messages() {
    let entries = Bytes::default().u64(1).u8(0).raw(&[0; 2]).group(32, 0);
    for (version, orders) in [(6, None), (7, Some(2)), (9, Some(2))] {
        let mut bytes = Bytes::default().header(11, 32, version).raw(&entries.0);
        if let Some(count) = orders {
            bytes = bytes.group8(24, count).raw(&[7; 48]);
        }
        let message = bytes.view(MdIncrementalRefreshBook32::parse);
        assert_eq!(
            message.no_order_id_entries().len(),
            usize::from(orders.unwrap_or(0))
        );
        assert_eq!(message.no_order_id_entries().is_empty(), orders.is_none());
    }
}

/// An unknown value is kept, and has no name.
#[test]
fn unknown_enum_values_are_kept() {
    assert_eq!(MdUpdateAction(77).name(), None);
    assert_eq!(MdUpdateAction::DELETE_THRU, MdUpdateAction(3));
    assert_eq!(MdEntryTypeBook::MARKET_BEST_BID, MdEntryTypeBook(b'x'));
}
