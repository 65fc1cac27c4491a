use super::*;
use std::collections::BTreeSet;
use touchline_client::{Code, DisplayFactor, Events, Leg, Price, PriceFraction, Side};
use touchline_lab::updates::{KINDS, RandomUpdates};
use touchline_testing::Folder;
use touchline_transport::Publish;
use touchline_transport::shm::{Publisher, Root, Settings};
use touchline_types::native::layout::{Field, Fields, Head, Kind, MESSAGES, MessageLayout};
use touchline_types::{
    Depth, Instrument as Index, InstrumentDefinition, Legs, Quantity as Units, ReferenceData,
    Symbol, Timestamps, Update,
};

/// A temporary bus with a reader.
struct Tail {
    _folder: Folder,
    publisher: Publisher,
    bus: Bus,
}

const INSTRUMENTS_MAX: usize = 5_000;

impl Tail {
    fn new(name: &str) -> Tail {
        let folder = Folder::new(name);
        let settings = Settings {
            instruments_max: INSTRUMENTS_MAX,
            ..Settings::default()
        };
        let publisher = Publisher::open(&Root::at(&folder), "test", &settings).expect("our bus");
        let options = Bus::options().directory(&folder).events(Events::ALL);
        let bus = options.join("test").expect("it is there");
        Tail {
            _folder: folder,
            publisher,
            bus,
        }
    }

    /// Lines of every event of an update.
    fn lines(&mut self, update: &Update<'_>, timestamps: &Timestamps) -> Vec<serde_json::Value> {
        self.publisher.publish(update, timestamps);
        self.publisher.commit();
        self.drain()
    }

    /// Lines of every pending event.
    fn drain(&mut self) -> Vec<serde_json::Value> {
        let mut lines = Vec::new();
        while let Some(event) = self.bus.poll() {
            let mut line = String::new();
            write(&mut line, &self.bus, &event);
            lines.push(serde_json::from_str(&line).expect(&line));
        }
        lines
    }
}

const DEPTH: Depth = Depth {
    direct: 10,
    implied: 2,
};

/// Lines have the stated reference data, with display prices, and leave out absent fields.
#[test]
fn reference_data_of_a_definition() {
    let mut tail = Tail::new("reference");
    // Kept values have no packet times.
    tail.drain();
    let mut unstated = InstrumentDefinition::unknown(Index(3), 118, DEPTH);
    unstated.symbol = Symbol::new(b"OPT");
    unstated.quantity_exponent = -1;
    let mut line = |definition: &InstrumentDefinition| {
        let lines = tail.lines(&Update::Definition(definition), &Timestamps::default());
        let is_definition = |line: &&serde_json::Value| line["message"] == "definition";
        lines
            .iter()
            .find(is_definition)
            .expect("a definition")
            .clone()
    };
    let plain = line(&unstated);
    let keys = plain.as_object().expect("an object").len();
    assert_eq!(
        (&plain["defined"], &plain["tick"]),
        (&false.into(), &serde_json::Value::Null)
    );
    let mut legs = Legs::NONE;
    for side in Side::BOTH {
        legs.push(Leg {
            security_id: 7,
            ratio: 2,
            side,
        });
    }
    let stated = InstrumentDefinition {
        tick: Price(25_000_000_000),
        reference: ReferenceData {
            venue: Code::lossy(b"cme"),
            security_type: Some(SecurityType::OptionSpread),
            currency: Code::lossy(b"USD"),
            settlement_currency: Code::lossy(b"EUR"),
            display_factor: DisplayFactor::new(1, 100),
            multiplier: Price(50_000_000_000),
            lot: Units(5),
            quantity_min: Units(10),
            quantity_max: Units(30_000),
            expiry_ns: 1,
            maturity: 20_240_900,
            strike: Price(-500_000_000),
            right: Some(OptionRight::Put),
            underlying: Some(-8),
            high_limit: Price(0),
            low_limit: Price(100),
            status: 17,
            price_fraction: Some(PriceFraction { main: 32, sub: 4 }),
            legs,
        },
        ..unstated
    };
    let stated = line(&stated);
    let expected = serde_json::json!({
        "tick": "0.25", "venue": "cme", "security_type": "option_spread", "currency": "USD",
        "settlement_currency": "EUR", "right": "put", "display_factor": [1, 100], "price_fraction": [32, 4], "multiplier": "50",
        "strike": "-0.005", "high_limit": "0", "low_limit": "0.000000001", "lot": "0.5", "quantity_min": 1,
        "quantity_max": 3000, "expiry_ns": 1, "maturity": 20_240_900, "status": 17,
        "status_name": "ready to trade", "underlying": -8, "leg_count": 2, "legs": [[7, "bid", 2], [7, "ask", 2]],
    });
    let expected = expected.as_object().expect("an object");
    for (key, value) in expected {
        assert_eq!(&stated[key], value, "{key}");
    }
    // A tick field is present even without a value.
    let added = stated.as_object().expect("an object").len() - keys;
    assert_eq!(added, expected.len() - 1);
}

/// Every field of the native format's messages and group entries is present in the lines of that message: a missing one
/// would be lost to readers.
#[test]
fn every_field_of_the_layout_is_in_the_lines() {
    let mut tail = Tail::new("layout");
    tail.drain();
    let mut updates = RandomUpdates::from_seed(1, 3);
    for kind in 0..KINDS {
        let mut keys = BTreeSet::new();
        let mut message = "";
        for _ in 0..200 {
            let timestamps = updates.timestamps();
            let update = updates.of_kind(kind);
            message = name_of(&update);
            if let Some(index) = instrument_of(&update) {
                if index.index() >= INSTRUMENTS_MAX {
                    continue;
                }
                let mut definition = InstrumentDefinition::unknown(index, index.0.into(), DEPTH);
                definition.symbol = Symbol::new(b"SYM");
                tail.lines(&Update::Definition(&definition), &Timestamps::default());
            }
            for line in tail.lines(&update, &timestamps) {
                if line["message"] == message {
                    collect(&line, &mut keys);
                }
            }
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

/// Name of an update's message in the lines.
fn name_of(update: &Update<'_>) -> &'static str {
    match update {
        Update::Book(_) => "book",
        Update::Orders(_) => "orders",
        Update::Trade(_) => "trade",
        Update::Statistic(_) => "statistic",
        Update::Status(_) => "status",
        Update::BookSnapshot(_) => "book_snapshot",
        Update::OrdersSnapshot(_) => "orders_snapshot",
        Update::State(_) => "state",
        Update::Gap(_) => "gap",
        Update::Reset => "reset",
        Update::Definition(_) => "definition",
        Update::Download(_) => "download",
        Update::Channel(_) => "channel",
        Update::Quotes(_) | Update::QuoteSnapshot(_) => "quotes",
    }
}

fn instrument_of(update: &Update<'_>) -> Option<Index> {
    match update {
        Update::Book(update) => Some(update.instrument),
        Update::Orders(update) => Some(update.instrument),
        Update::Trade(update) => Some(update.instrument),
        Update::Statistic(update) => Some(update.instrument),
        Update::Status(update) => update.instrument,
        Update::BookSnapshot(update) => Some(update.instrument),
        Update::OrdersSnapshot(update) => Some(update.instrument),
        Update::State(update) => Some(update.instrument),
        _ => None,
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
        // Header fields of every message; a message uses some of them.
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

/// Key of a layout field, or the list that contains it.
fn key<'a>(message: &str, field: &'a str) -> &'a str {
    match (message, field) {
        (_, "packet_sequence") => "packet",
        (_, "venue_id") => "security_id",
        (_, "orders_validity") => "orders_state",
        ("channel", "price_validity") => "state",
        ("book_snapshot", "price" | "quantity" | "orders" | "level_flags") => "bids",
        ("book", "price" | "quantity" | "orders" | "level_flags") => "level",
        ("book", "bid_price" | "bid_quantity" | "bid_orders" | "bid_state") => "best_bid",
        ("book", "ask_price" | "ask_quantity" | "ask_orders" | "ask_state") => "best_ask",
        ("book", "deep_index") => "index",
        ("status", "product_group") => "group",
        ("status", "status_code") => "status",
        ("status", "reason_code") => "reason",
        ("status", "event_code") => "event",
        ("definition", "direct_depth" | "direct_levels") => "depth",
        ("definition", "display_numerator" | "display_denominator") => "display_factor",
        ("definition", "main_fraction" | "sub_fraction") => "price_fraction",
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
