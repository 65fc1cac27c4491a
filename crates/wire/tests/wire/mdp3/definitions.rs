//! Instrument definitions: 54, the widest of the common messages.

use crate::mdp3::bytes::Bytes;
use touchline_wire::mdp3::{EventType, Message, SecurityUpdateAction};

#[test]
fn future_54() {
    // A block may be longer than its version needs, or too short for a field that its version has.
    let cases = [
        (9, 216, None),
        (9, 224, None),
        (13, 216, None),
        (13, 220, None),
        (13, 224, Some(42)),
        (13, 230, Some(42)),
    ];
    for (version, block_length, guid) in cases {
        let bytes = future(version, block_length);
        let Message::MdInstrumentDefinitionFuture54(message) = bytes.view() else {
            panic!("another template")
        };
        assert_eq!(message.instrument_guid(), guid);
        assert_eq!(message.tot_num_reports(), Some(55_992));
        assert_eq!(message.security_update_action(), SecurityUpdateAction::ADD);
        assert_eq!(
            (
                message.appl_id(),
                message.market_segment_id(),
                message.underlying_product()
            ),
            (310, 64, 5)
        );
        assert_eq!(message.symbol().as_str(), Some("ESU4"));
        assert_eq!(message.security_group().as_bytes(), b"ES");
        assert_eq!(message.asset().to_string(), "ES");
        assert_eq!(
            (message.security_id(), message.security_id_source()),
            (118, b'8')
        );
        assert_eq!(message.cfi_code().as_str(), Some("FFIXSX"));
        let maturity = message.maturity_month_year();
        assert_eq!(
            (maturity.year, maturity.month, maturity.day, maturity.week),
            (Some(2024), Some(9), None, None)
        );
        assert_eq!(
            (message.currency().as_str(), message.match_algorithm()),
            (Some("USD"), b'F')
        );
        assert_eq!(
            (message.min_trade_vol(), message.max_trade_vol()),
            (1, 3_000)
        );
        assert_eq!(message.min_price_increment().to_string(), "0.25");
        assert_eq!(message.display_factor().to_string(), "0.01");
        assert_eq!(
            (message.main_fraction(), message.price_display_format()),
            (None, Some(2))
        );
        assert_eq!(message.unit_of_measure().as_str(), Some("IPNT"));
        assert_eq!(
            message
                .unit_of_measure_qty()
                .map(|qty| qty.to_string())
                .as_deref(),
            Some("50")
        );
        assert_eq!(
            (
                message.trading_reference_price(),
                message.open_interest_qty()
            ),
            (None, Some(7))
        );
        assert_eq!(
            (
                message.user_defined_instrument(),
                message.trading_reference_date()
            ),
            (b'N', Some(19_204))
        );

        let events: Vec<_> = message
            .no_events()
            .iter()
            .map(|event| (event.event_type(), event.event_time()))
            .collect();
        assert_eq!(
            events,
            [
                (EventType::ACTIVATION, 1),
                (EventType::LAST_ELIGIBLE_TRADE_DATE, 2)
            ]
        );
        let feed = message.no_md_feed_types().get(0).expect("the feed type");
        assert_eq!(
            (feed.md_feed_type().as_str(), feed.market_depth()),
            (Some("GBX"), 10)
        );
        let attributes = message.no_inst_attrib().get(0).expect("the attribute");
        assert_eq!(attributes.inst_attrib_type(), 24);
        assert!(attributes.inst_attrib_value().electronic_match_eligible());
        assert!(attributes.inst_attrib_value().gt_orders_eligibility());
        let lot = message.no_lot_type_rules().get(0).expect("the rule");
        assert_eq!(
            (
                lot.lot_type(),
                lot.min_lot_size().map(|size| size.to_string()).as_deref()
            ),
            (4, Some("5"))
        );
    }
}

/// Version 10 appended five fields to spreads; each is found behind the others.
#[test]
fn appended_fields_of_spread_56() {
    let root = Bytes::default().header(255, 56, 10).raw(&[0; 195]);
    let appended = root
        .text("PRICE", 5)
        .text("RISK", 6)
        .text("MARKET", 6)
        .u64(42)
        .text("A SPREAD", 35);
    let bytes = appended
        .group(9, 0)
        .group(4, 0)
        .group(4, 0)
        .group(5, 0)
        .group(18, 0);
    let Message::MdInstrumentDefinitionSpread56(message) = bytes.view() else {
        panic!("another template")
    };
    let texts = [
        message.price_quote_method(),
        message.risk_set(),
        message.market_set(),
        message.financial_instrument_full_name(),
    ];
    let texts = texts.map(|text| text.and_then(|text| text.as_str()));
    assert_eq!(
        texts,
        [
            Some("PRICE"),
            Some("RISK"),
            Some("MARKET"),
            Some("A SPREAD")
        ]
    );
    assert_eq!(message.instrument_guid(), Some(42));
}

/// Version 10 appended eight bytes to the block.
fn future(version: u16, block_length: u16) -> Bytes {
    let mut bytes = Bytes::default()
        .header(block_length, 54, version)
        .u8(0)
        .u32(55_992)
        .u8(b'A')
        .u64(3)
        .u8(17)
        .i16(310)
        .u8(64)
        .u8(5);
    bytes = bytes
        .text("XCME", 4)
        .text("ES", 6)
        .text("ES", 6)
        .text("ESU4", 20)
        .i32(118)
        .text("FUT", 6)
        .text("FFIXSX", 6);
    bytes = bytes
        .u16(2024)
        .u8(9)
        .u8(255)
        .u8(255)
        .text("USD", 3)
        .text("USD", 3)
        .u8(b'F')
        .u32(1)
        .u32(3_000);
    bytes = bytes
        .i64(250_000_000)
        .i64(10_000_000)
        .u8(255)
        .u8(255)
        .u8(2)
        .text("IPNT", 30)
        .i64(50_000_000_000);
    bytes = bytes
        .i64(i64::MAX)
        .u8(0)
        .i32(7)
        .i32(i32::MAX)
        .i64(i64::MAX)
        .i64(i64::MAX)
        .i64(i64::MAX);
    bytes = bytes
        .i32(i32::MAX)
        .u16(u16::MAX)
        .i32(i32::MAX)
        .i32(i32::MAX)
        .i8(127)
        .i8(127)
        .i64(i64::MAX)
        .u8(b'N')
        .u16(19_204);
    let appended = Bytes::default().u64(42).raw(&[0xee; 8]);
    bytes = bytes.raw(&appended.0[..usize::from(block_length) - 216]);
    bytes = bytes.group(9, 2).u8(5).u64(1).u8(7).u64(2);
    bytes
        .group(4, 1)
        .text("GBX", 3)
        .i8(10)
        .group(4, 1)
        .u32(1 | 1 << 18)
        .group(5, 1)
        .i8(4)
        .i32(50_000)
}
