//! Snapshots: 52 by price, 53 by order.

use crate::mdp3::bytes::Bytes;
use touchline_wire::mdp3::{
    MdEntryType, MdEntryTypeBook, OpenCloseSettlFlag, SecurityTradingStatus, SnapshotFullRefresh52,
    SnapshotFullRefreshOrderBook53,
};

#[test]
fn price_snapshot_52() {
    for version in [9, 13] {
        let bytes = Bytes::default()
            .header(59, 52, version)
            .u32(1_044_422)
            .u32(55_992)
            .i32(118)
            .u32(80_734)
            .u64(10)
            .u64(20)
            .u16(19_205)
            .u8(17)
            .i64(5_000_000_000_000)
            .i64(i64::MAX)
            .i64(1_000_000_000)
            .group(22, 2)
            .i64(4_500_250_000_000)
            .i32(12)
            .i32(3)
            .i8(1)
            .u16(u16::MAX)
            .u8(255)
            .u8(0)
            .u8(b'0')
            .i64(4_499_000_000_000)
            .i32(i32::MAX)
            .i32(i32::MAX)
            .i8(127)
            .u16(19_204)
            .u8(5)
            .u8(0b11)
            .u8(b'6');
        let message = bytes.view(SnapshotFullRefresh52::parse);
        assert_eq!(
            (
                message.last_msg_seq_num_processed(),
                message.tot_num_reports()
            ),
            (1_044_422, 55_992)
        );
        assert_eq!((message.security_id(), message.rpt_seq()), (118, 80_734));
        assert_eq!(
            (message.transact_time(), message.last_update_time()),
            (10, 20)
        );
        assert_eq!(message.trade_date(), Some(19_205));
        assert_eq!(
            message.md_security_trading_status(),
            Some(SecurityTradingStatus::READY_TO_TRADE)
        );
        assert_eq!(
            message.high_limit_price().map(|price| price.mantissa),
            Some(5_000_000_000_000)
        );
        assert_eq!(message.low_limit_price(), None);
        assert_eq!(
            message
                .max_price_variation()
                .map(|price| price.to_string())
                .as_deref(),
            Some("1")
        );

        let [bid, settlement] =
            [0, 1].map(|index| message.no_md_entries().get(index).expect("an entry"));
        assert_eq!(
            bid.md_entry_px().map(|price| price.to_string()).as_deref(),
            Some("4500.25")
        );
        assert_eq!(
            (
                bid.md_entry_size(),
                bid.number_of_orders(),
                bid.md_price_level()
            ),
            (Some(12), Some(3), Some(1))
        );
        assert_eq!(
            (bid.trading_reference_date(), bid.open_close_settl_flag()),
            (None, None)
        );
        assert_eq!(bid.md_entry_type(), MdEntryType::BID);
        assert_eq!(
            (settlement.md_entry_size(), settlement.md_price_level()),
            (None, None)
        );
        assert_eq!(settlement.trading_reference_date(), Some(19_204));
        assert_eq!(
            settlement.open_close_settl_flag(),
            Some(OpenCloseSettlFlag::INDICATIVE_OPENING_PRICE)
        );
        assert!(
            settlement.settl_price_type().final_daily() && settlement.settl_price_type().actual()
        );
        assert_eq!(settlement.md_entry_type(), MdEntryType::SETTLEMENT_PRICE);
    }
}

#[test]
fn order_snapshot_53() {
    for version in [9, 13] {
        let bytes = Bytes::default()
            .header(28, 53, version)
            .u32(1)
            .u32(2)
            .i32(3)
            .u32(4)
            .u32(5)
            .u64(6)
            .group(29, 1)
            .u64(7)
            .u64(8)
            .i64(9)
            .i32(10)
            .u8(b'1');
        let message = bytes.view(SnapshotFullRefreshOrderBook53::parse);
        assert_eq!(
            (
                message.last_msg_seq_num_processed(),
                message.tot_num_reports(),
                message.security_id()
            ),
            (1, 2, 3)
        );
        assert_eq!(
            (
                message.no_chunks(),
                message.current_chunk(),
                message.transact_time()
            ),
            (4, 5, 6)
        );
        let order = message.no_md_entries().get(0).expect("the order");
        assert_eq!((order.order_id(), order.md_order_priority()), (7, Some(8)));
        assert_eq!(
            (
                order.md_entry_px().to_string().as_str(),
                order.md_display_qty()
            ),
            ("0.000000009", 10)
        );
        assert_eq!(order.md_entry_type(), MdEntryTypeBook::OFFER);
    }
}
