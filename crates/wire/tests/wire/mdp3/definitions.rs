//! Instrument definitions, which are read through the tables: 54, the widest of the common messages.

use crate::mdp3::bytes::Bytes;

#[test]
fn future_54() {
    // A block may be longer than its version needs, or too short for a field that its version has.
    let cases = [
        (9, 216, "-"),
        (9, 224, "-"),
        (13, 216, "-"),
        (13, 220, "-"),
        (13, 224, "42"),
        (13, 230, "42"),
    ];
    for (version, block_length, guid) in cases {
        let root = "MDInstrumentDefinitionFuture54(54) MatchEventIndicator=0 TotNumReports=55992 SecurityUpdateAction=Add \
            LastUpdateTime=1970-01-01T00:00:00.000000003Z MDSecurityTradingStatus=ReadyToTrade ApplID=310 \
            MarketSegmentID=64 UnderlyingProduct=5 SecurityExchange=XCME SecurityGroup=ES Asset=ES Symbol=ESU4 \
            SecurityID=118 SecurityIDSource=8 SecurityType=FUT CFICode=FFIXSX MaturityMonthYear.year=2024 \
            MaturityMonthYear.month=9 MaturityMonthYear.day=- MaturityMonthYear.week=- Currency=USD SettlCurrency=USD \
            MatchAlgorithm=F MinTradeVol=1 MaxTradeVol=3000 MinPriceIncrement=0.25 DisplayFactor=0.01 MainFraction=- \
            SubFraction=- PriceDisplayFormat=2 UnitOfMeasure=IPNT UnitOfMeasureQty=50 TradingReferencePrice=- \
            SettlPriceType=0 OpenInterestQty=7 ClearedVolume=- HighLimitPrice=- LowLimitPrice=- MaxPriceVariation=- \
            DecayQuantity=- DecayStartDate=- OriginalContractSize=- ContractMultiplier=- ContractMultiplierUnit=- \
            FlowScheduleType=- MinPriceIncrementAmount=- UserDefinedInstrument=N TradingReferenceDate=2022-07-31";
        let groups = [
            "NoEvents[1] EventType=Activation EventTime=1970-01-01T00:00:00.000000001Z",
            "NoEvents[2] EventType=LastEligibleTradeDate EventTime=1970-01-01T00:00:00.000000002Z",
            "NoMDFeedTypes[1] MDFeedType=GBX MarketDepth=10",
            "NoInstAttrib[1] InstAttribType=24 InstAttribValue=ElectronicMatchEligible|GTOrdersEligibility",
            "NoLotTypeRules[1] LotType=4 MinLotSize=5",
        ];
        let lines = format!(
            "{root} InstrumentGUID={guid}\n    {}",
            groups.join("\n    ")
        );
        let bytes = future(version, block_length);
        assert_eq!(bytes.message().to_string(), lines);
        assert_eq!(bytes.message().version(), version);
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
    let text = bytes.message().to_string();
    let appended = "PriceQuoteMethod=PRICE RiskSet=RISK MarketSet=MARKET InstrumentGUID=42 \
        FinancialInstrumentFullName=A SPREAD";
    assert!(text.ends_with(appended), "{text}");
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
