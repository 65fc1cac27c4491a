//! Reference data: fields of a definition message besides name and depth.
//!
//! Source: the schema of the messages, version 9; blocks are written by hand, field by field at
//! its offset.

use crate::rules::bench::Bench;
use crate::rules::messages;
use touchline_types::{
    Code, DisplayFactor, Leg, Legs, OptionRight, Price, PriceFraction, Quantity, ReferenceData,
    SecurityType, Side,
};

/// A definition message under construction.
struct Definition {
    template_id: u16,
    block: Vec<u8>,
    groups: Vec<u8>,
}

impl Definition {
    fn new(template_id: u16, block_length: usize) -> Definition {
        Definition {
            template_id,
            block: vec![0; block_length],
            groups: Vec::new(),
        }
    }

    fn put(mut self, offset: usize, bytes: &[u8]) -> Definition {
        self.block[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn i64(self, offset: usize, number: i64) -> Definition {
        self.put(offset, &number.to_le_bytes())
    }

    fn i32(self, offset: usize, number: i32) -> Definition {
        self.put(offset, &number.to_le_bytes())
    }

    fn group(mut self, entry_length: u16, entries: &[&[u8]]) -> Definition {
        self.groups.extend(entry_length.to_le_bytes());
        self.groups.push(entries.len() as u8);
        for entry in entries {
            assert_eq!(entry.len(), usize::from(entry_length));
            self.groups.extend(*entry);
        }
        self
    }

    /// Leading groups of every definition: an expiry, and lot rules.
    fn common_groups(self) -> Definition {
        let event = |kind: u8, ns: u64| [&[kind][..], &ns.to_le_bytes()].concat();
        let rule = |kind: u8, size: i32| [&[kind][..], &size.to_le_bytes()].concat();
        self.group(9, &[&event(5, 1), &event(7, EXPIRY_NS)])
            .group(4, &[b"GBX\x0a"])
            .group(4, &[&[0; 4]])
            .group(5, &[&rule(3, 90_000), &rule(2, 50_000)])
    }

    /// The encoded message: size, SBE header of version 9, block, groups.
    fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let size = 2 + 8 + self.block.len() + self.groups.len();
        for word in [size as u16, self.block.len() as u16, self.template_id, 1, 9] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(self.block);
        bytes.extend(self.groups);
        bytes
    }
}

const EXPIRY_NS: u64 = 1_726_839_000_000_000_000;
const NULL: i64 = i64::MAX;

fn code(text: &str) -> Code {
    Code::new(text.as_bytes()).unwrap()
}

/// Fields common to the three definitions.
fn stated() -> ReferenceData {
    ReferenceData {
        venue: code("cme"),
        currency: code("USD"),
        display_factor: DisplayFactor::new(1, 100),
        lot: Quantity(5),
        quantity_min: Quantity(1),
        quantity_max: Quantity(3_000),
        expiry_ns: EXPIRY_NS,
        maturity: 20_240_900,
        high_limit: Price(457_200_000_000_000),
        low_limit: Price(-1),
        status: 17,
        ..ReferenceData::NULL
    }
}

/// A root block with the fields at a common offset.
fn definition(template_id: u16, block_length: usize, kind: &[u8], cfi: &[u8]) -> Definition {
    Definition::new(template_id, block_length)
        .put(14, &[17])
        .put(35, b"SYMBOL")
        .i32(55, 118)
        .put(59, kind)
        .put(65, cfi)
}

fn of(definition: Definition) -> ReferenceData {
    let mut bench = Bench::new();
    bench.definitions(1, &[definition.bytes()]);
    let definition = bench.definition(118);
    assert!(definition.defined && definition.symbol.as_str() == "SYMBOL");
    definition.reference
}

const MATURITY: [u8; 5] = [0xE8, 0x07, 9, 255, 255];

#[test]
fn reference_data_of_a_future() {
    let future = |kind: &[u8]| {
        definition(54, 216, kind, b"FFIXSX")
            .put(71, &MATURITY)
            .put(76, b"USDEUR")
            .i32(83, 1)
            .i32(87, 3_000)
            .i64(99, 10_000_000)
            .put(107, &[32, 4])
            .i64(140, 50_000_000_000)
            .i64(165, 457_200_000_000_000)
            .i64(173, -1)
            .common_groups()
    };
    let expected = ReferenceData {
        security_type: Some(SecurityType::Future),
        price_fraction: Some(PriceFraction { main: 32, sub: 4 }),
        settlement_currency: code("EUR"),
        multiplier: Price(50_000_000_000),
        ..stated()
    };
    assert_eq!(of(future(b"FUT")), expected);
    let other = ReferenceData {
        security_type: Some(SecurityType::Other),
        ..expected
    };
    assert_eq!(of(future(b"IRS")), other);
}

#[test]
fn reference_data_of_an_option() {
    let option = |right: u8, strike: i64| {
        definition(55, 213, b"OOF", b"OCAFPS")
            .put(71, &[right])
            .put(72, &MATURITY)
            .put(77, b"USD")
            .i64(80, strike)
            .put(91, b"USD")
            .i32(103, 1)
            .i32(107, 3_000)
            .i64(127, 10_000_000)
            .i64(169, NULL)
            .i64(194, -1)
            .i64(202, 457_200_000_000_000)
            .common_groups()
            .group(24, &[&[&77_i32.to_le_bytes()[..], &[0; 20]].concat()])
            .group(24, &[])
    };
    let expected = ReferenceData {
        security_type: Some(SecurityType::Option),
        settlement_currency: code("USD"),
        strike: Price(4_000_000_000_000),
        right: Some(OptionRight::Call),
        underlying: Some(77),
        ..stated()
    };
    assert_eq!(of(option(1, 4_000_000_000_000)), expected);
    let unstated = ReferenceData {
        strike: Price::NULL,
        right: None,
        ..expected
    };
    assert_eq!(of(option(9, NULL)), unstated);
}

#[test]
fn reference_data_of_a_spread() {
    let leg = |security_id: i32, side: u8, ratio: i8| {
        let mut leg = [0; 18];
        leg[..4].copy_from_slice(&security_id.to_le_bytes());
        leg[4] = side;
        leg[5] = ratio as u8;
        leg
    };
    let spread = |cfi: &[u8], legs: &[&[u8]]| {
        definition(56, 195, b"MLEG", cfi)
            .put(71, &MATURITY)
            .put(76, b"USD")
            .i32(86, 1)
            .i32(90, 3_000)
            .i64(102, 10_000_000)
            .i64(167, 457_200_000_000_000)
            .i64(175, -1)
            .common_groups()
            .group(18, legs)
    };
    let mut legs = Legs::NONE;
    for (security_id, side, ratio) in [(7, Side::Bid, 1), (8, Side::Ask, 2)] {
        legs.push(Leg {
            security_id,
            side,
            ratio,
        });
    }
    let expected = ReferenceData {
        security_type: Some(SecurityType::FutureSpread),
        legs,
        ..stated()
    };
    let two = [leg(7, 1, 1), leg(8, 2, 2)];
    let two: Vec<&[u8]> = two.iter().map(|leg| &leg[..]).collect();
    assert_eq!(of(spread(b"FMIXSX", &two)), expected);
    let options = ReferenceData {
        security_type: Some(SecurityType::OptionSpread),
        ..expected
    };
    assert_eq!(of(spread(b"OMIXSX", &two)), options);

    // More legs than are stored: further ones are counted.
    let many = [leg(7, 1, 1); 12];
    let many: Vec<&[u8]> = many.iter().map(|leg| &leg[..]).collect();
    let kept = of(spread(b"FMIXSX", &many)).legs;
    assert_eq!((kept.len(), kept.count()), (8, 12));
}

/// Before its definition an instrument has a venue and an id, which name it on every bus.
#[test]
fn the_venue_is_known_before_the_definition() {
    let mut bench = Bench::new();
    bench.packet(1, &[messages::book(&[messages::bid(1, 0, 1, 100)])]);
    let definition = bench.definition(messages::ID);
    assert!(!definition.defined);
    assert_eq!(
        definition.reference,
        ReferenceData {
            venue: code("cme"),
            ..ReferenceData::NULL
        }
    );
}

/// Changed limits are published: the instrument is defined again, and its book continues.
#[test]
fn changed_price_limits_are_published_as_a_new_definition() {
    let future = |high: i64| {
        definition(54, 216, b"FUT", b"FFIXSX")
            .i64(99, 10_000_000)
            .i64(140, NULL)
            .i64(165, high)
            .i64(173, NULL)
            .common_groups()
            .bytes()
    };
    let mut bench = Bench::new();
    bench.definitions(1, &[future(1)]);
    let first = bench.take_published();
    bench.definitions(2, &[future(1)]);
    assert_eq!(bench.take_published(), Vec::<String>::new());
    bench.definitions(3, &[future(2)]);
    assert_eq!(bench.take_published(), first);
    assert_eq!(bench.definition(118).reference.high_limit, Price(2));
}
