use super::*;
use std::collections::BTreeSet;
use touchline_lab::updates::{KINDS, RandomUpdates};
use touchline_types::native::layout::{Field, Fields, Head, Kind, MESSAGES, MessageLayout};
use touchline_types::{Code, Depth, DisplayFactor, Leg, ReferenceData, Symbol};

/// What a venue states stands in the line; what it does not is left out.
#[test]
fn reference_data_of_a_definition() {
    let depth = Depth {
        direct: 10,
        implied: 2,
    };
    let mut definition = InstrumentDefinition::unknown(Instrument(3), 118, depth);
    definition.symbol = Symbol::new(b"OPT");
    definition.quantity_exponent = -1;
    let line = |definition: &InstrumentDefinition| {
        let mut line = String::new();
        super::definition(&mut Record::json(&mut line), definition);
        line
    };
    let plain = line(&definition);
    assert!(
        plain.ends_with(",\"defined\":false,\"tick\":null"),
        "{plain}"
    );
    let mut legs = Legs::NONE;
    for side in Side::BOTH {
        legs.push(Leg {
            security_id: 7,
            ratio: 2,
            side,
        });
    }
    definition.reference = ReferenceData {
        venue: Code::lossy(b"cme"),
        security_type: Some(SecurityType::OptionSpread),
        currency: Code::lossy(b"USD"),
        settlement_currency: Code::lossy(b"EUR"),
        display_factor: DisplayFactor::new(1, 100),
        multiplier: Price(50_000_000_000),
        lot: Quantity(5),
        quantity_min: Quantity(10),
        quantity_max: Quantity(30_000),
        expiry_ns: 1,
        maturity: 20_240_900,
        strike: Price(-500_000_000),
        right: Some(OptionRight::Put),
        underlying: Some(-8),
        high_limit: Price(0),
        low_limit: Price(1),
        status: 17,
        legs,
    };
    let stated = line(&definition);
    let added = stated.strip_prefix(plain.as_str());
    let expected = concat!(
        r#","venue":"cme","security_type":"option_spread","currency":"USD","settlement_currency":"EUR","#,
        r#""right":"put","display_factor":[1,100],"multiplier":"50","strike":"-0.5","high_limit":"0","#,
        r#""low_limit":"0.000000001","lot":"0.5","quantity_min":1,"quantity_max":3000,"expiry_ns":1,"#,
        r#""maturity":20240900,"status":17,"underlying":-8,"leg_count":2,"legs":[[7,"bid",2],[7,"ask",2]]"#,
    );
    assert_eq!(added, Some(expected));
}

/// A field that the native format has, and its lines do not, would be lost to whoever reads them: every field of each
/// message, and of the entries of its groups, stands in the lines of that message.
#[test]
fn every_field_of_the_layout_stands_in_the_lines() {
    let mut updates = RandomUpdates::from_seed(1, 3);
    for kind in 0..KINDS {
        let mut keys = BTreeSet::new();
        let mut message = "";
        for _ in 0..200 {
            let timestamps = updates.timestamps();
            let update = updates.of_kind(kind);
            message = names::message(&update);
            let received = Received {
                sequence: 1,
                timestamps,
                update,
                batch_end: true,
                is_image: false,
            };
            let mut line = String::new();
            let item = Item::Update(received);
            write(&mut line, &item, &Known::default(), &Books::default());
            collect(&serde_json::from_str(&line).expect(&line), &mut keys);
        }
        let layout = layout_of(message);
        let groups = layout.groups.iter().flat_map(|group| group.fields);
        for field in layout.fields.iter().chain(groups) {
            demand(message, field, &keys);
        }
        for group in layout.groups {
            let name = key(message, &snake_case(group.name)).to_owned();
            assert!(keys.contains(&name), "{message} has no {name}: {keys:?}");
        }
    }
}

fn layout_of(message: &str) -> &'static MessageLayout {
    let name = match message {
        "book" => "BookUpdate",
        "orders" => "OrderUpdate",
        "trade" => "Trade",
        "statistic" => "Statistics",
        "status" => "TradingStatus",
        "book_snapshot" => "BookSnapshot",
        "orders_snapshot" => "OrdersSnapshot",
        "state" => "InstrumentState",
        "gap" => "Gap",
        "reset" => "Reset",
        "definition" => "InstrumentDefinition",
        "download" => "Download",
        "channel" => "ChannelState",
        other => panic!("which message of the native format is {other}?"),
    };
    let mut all = MESSAGES.iter();
    all.find(|layout| layout.name == name).expect(name)
}

fn demand(message: &str, field: &Field, keys: &BTreeSet<String>) {
    match field.kind {
        // What every message begins with; which of it a message uses differs.
        Kind::Fields(head) if head == Head::FIELDS => {
            for key in ["sequence", "exchange_ns", "receive_ns", "batch_end"] {
                assert!(keys.contains(key), "{message} has no {key}");
            }
        }
        Kind::Fields(fields) => fields.iter().for_each(|field| demand(message, field, keys)),
        Kind::Reserved => {}
        Kind::Number(_) | Kind::Text(_) => {
            let key = key(message, field.name);
            assert!(
                keys.contains(key),
                "{message} does not show {}: no {key} in {keys:?}",
                field.name
            );
        }
    }
}

/// What the lines call a field of the layout, or the list that it is a place of.
fn key<'a>(message: &str, field: &'a str) -> &'a str {
    match (message, field) {
        (_, "packet_sequence") => "packet",
        (_, "venue_id") => "security_id",
        (_, "orders_validity") => "orders_state",
        ("channel", "price_validity") => "state",
        ("book_snapshot", "price" | "quantity" | "orders" | "level_flags") => "bids",
        ("book", "price" | "quantity" | "orders" | "level_flags") => "level",
        ("book", "bid_price" | "bid_quantity" | "bid_orders" | "bid_state") => "bid",
        ("book", "ask_price" | "ask_quantity" | "ask_orders" | "ask_state") => "ask",
        ("book", "deep_index") => "index",
        ("status", "product_group") => "group",
        ("status", "status_code") => "status",
        ("status", "reason_code") => "reason",
        ("status", "event_code") => "event",
        ("definition", "direct_depth" | "direct_levels") => "depth",
        ("definition", "display_numerator" | "display_denominator") => "display_factor",
        ("definition", "option_right") => "right",
        ("definition", "status_code") => "status",
        ("definition", "venue_name") => "venue",
        ("definition", "leg_id" | "ratio" | "side") => "legs",
        (_, same) => same,
    }
}

fn collect(value: &serde_json::Value, keys: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                keys.insert(key.clone());
                collect(value, keys);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| collect(value, keys)),
        _ => {}
    }
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
