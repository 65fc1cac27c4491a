//! Prices in the traders' format, and definitions of instruments: ES in hundredths, ZN in thirty-seconds.

use super::Desk;
use serde_json::{Value, json};
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{FaultPlan, deliver};
use touchline_transport::Publish;
use touchline_transport::shm::{Publisher, Root, Settings};
use touchline_types::{
    BookSnapshot, Code, Depth, DisplayFactor, Instrument, InstrumentDefinition, Level, Price,
    PriceFraction, Quantity, ReferenceData, SecurityType, Statistic, StatisticKind, Symbol,
    Timestamps, Trade, TradingStatus, Update, UpdateAction, Validity,
};

fn definition(
    index: u32,
    symbol: &str,
    tick: i64,
    reference: ReferenceData,
) -> InstrumentDefinition {
    let depth = Depth {
        direct: 10,
        implied: 2,
    };
    InstrumentDefinition {
        symbol: Symbol::new(symbol.as_bytes()),
        group: Symbol::new(&symbol.as_bytes()[..2]),
        asset: Symbol::new(&symbol.as_bytes()[..2]),
        tick: Price(tick),
        defined: true,
        reference: ReferenceData {
            venue: Code::lossy(b"cme"),
            security_type: Some(SecurityType::Future),
            currency: Code::lossy(b"USD"),
            ..reference
        },
        ..InstrumentDefinition::unknown(Instrument(index), 100 + i64::from(index), depth)
    }
}

/// A bus with two instruments, whose publisher has ended.
fn published(desk: &Desk) {
    let root = Root::at(desk.path("buses"));
    let settings = Settings {
        instruments_max: 16,
        ..Settings::default()
    };
    let mut publisher = Publisher::open(&root, "cme", &settings).expect("our bus");
    let es = ReferenceData {
        display_factor: DisplayFactor::new(1, 100),
        multiplier: Price(50_000_000_000),
        maturity: 20_240_900,
        expiry_ns: 1_726_839_000_000_000_000,
        high_limit: Price(457_200_000_000_000),
        status: 17,
        ..ReferenceData::NULL
    };
    let zn = ReferenceData {
        price_fraction: Some(PriceFraction { main: 32, sub: 2 }),
        ..ReferenceData::NULL
    };
    let level = |price| Level {
        price: Price(price),
        quantity: Quantity(12),
        orders: 3,
        known: true,
    };
    let books = [
        (
            definition(0, "ESU4", 25_000_000_000, es),
            450_025_000_000_000,
            450_050_000_000_000,
        ),
        (
            definition(1, "ZNZ4", 15_625_000, zn),
            110_515_625_000,
            110_531_250_000,
        ),
    ];
    for (definition, bid, ask) in &books {
        publisher.publish(&Update::Definition(definition), &Timestamps::default());
        let book = BookSnapshot {
            instrument: definition.instrument,
            validity: Validity::Live,
            bids: &[level(*bid)],
            asks: &[level(*ask)],
            implied_bids: &[],
            implied_asks: &[],
        };
        publisher.publish(&Update::BookSnapshot(book), &Timestamps::default());
    }
    let statistic = Statistic {
        instrument: Instrument(0),
        kind: StatisticKind::Settlement,
        action: UpdateAction::New,
        price: Price(449_900_000_000_000),
        quantity: Quantity::NULL,
    };
    let status = TradingStatus {
        instrument: Some(Instrument(0)),
        group: *b"ES\0\0\0\0",
        status: 17,
        reason: 0,
        event: 4,
    };
    let trade = Trade {
        instrument: Instrument(0),
        orders: 2,
        price: Price(450_050_000_000_000),
        quantity: Quantity(4),
        aggressor: None,
        action: UpdateAction::New,
        trade_id: 9,
    };
    publisher.publish(&Update::Statistic(&statistic), &Timestamps::default());
    publisher.publish(&Update::Status(&status), &Timestamps::default());
    publisher.publish(&Update::Trade(&trade), &Timestamps::default());
    publisher.commit();
}

#[test]
fn screens_show_prices_as_traders_quote_them_and_words_for_codes() {
    let desk = Desk::bare("display");
    published(&desk);
    let list = desk.run("book cme").done().stdout;
    assert!(
        list.contains("12@4500.25 direct  | 12@4500.5 direct"),
        "{list}"
    );
    assert!(
        list.contains("12@110.515625 direct  | 12@110.53125 direct"),
        "{list}"
    );
    let ladder = desk.run("book cme ESU4").done().stdout;
    assert!(ladder.contains("4500.25 | 4500.5"), "{ladder}");
    let row: Value =
        serde_json::from_str(&desk.run("book cme ESU4 --json").done().stdout).expect("a row");
    assert_eq!(row["bids"], json!([["4500.25", 12, 3]]));

    let es = desk.run("book cme ESU4 --definition").done().stdout;
    for line in [
        " symbol               ESU4",
        " venue                cme",
        " security id          100",
        " security type        future",
        " currency             USD",
        " tick                 0.25",
        " display factor       1/100",
        " contract size        50",
        " maturity             2024-09",
        " trading ends         2024-09-20T13:30:00.000000000",
        " upper price limit    4572",
        " status               ready to trade",
        " depth                10 direct, 2 implied",
    ] {
        assert!(
            es.lines().any(|shown| shown.starts_with(line)),
            "{line}: {es}"
        );
    }
    assert!(
        !es.contains("strike") && !es.contains("quoted in"),
        "not stated: {es}"
    );
    let zn = desk.run("book cme ZNZ4 --definition").done().stdout;
    assert!(
        zn.contains(" quoted in            1/32 and 1/2 of it\n"),
        "{zn}"
    );

    let tail = desk.run("tail cme --symbol ESU4 --count 5").done().stdout;
    for words in [
        "12@4500.25 direct | 12@4500.5 direct",
        "statistic  settlement price 4499",
        "status     ready to trade, reason group schedule, event reset statistics",
    ] {
        assert!(tail.contains(words), "{words}: {tail}");
    }
    let zn = desk.run("tail cme --symbol ZN* --count 1").done().stdout;
    assert!(
        zn.contains("tick 0.015625, quoted in 1/32 and 1/2 of it"),
        "{zn}"
    );
    desk.run("book cme ESU5")
        .refused(1, &["did you mean ESU4?"]);
}

/// A pattern without a match is reported with suggestions; no output would look like a quiet market.
#[test]
fn tail_reports_that_no_instrument_matches() {
    let desk = Desk::bare("nothing-fits");
    published(&desk);
    for (command, words) in [
        (
            "tail cme --symbol ESU5",
            "-- no instrument matches ESU5: the bus has 2 instruments; did you mean ESU4?",
        ),
        (
            "tail cme --symbol ESU5 --json",
            "{\"notice\":\"no_instrument_fits\",\"symbols\":\"ESU5\",\"defined\":2}",
        ),
    ] {
        let mut tail = desk.start(command);
        let found = (0..3).any(|_| tail.next_line() == words);
        assert!(found, "{words}");
    }
}

/// A session whose venue states this DisplayFactor, 1e-9.
fn with_factor(name: &str, display_factor: i64) -> Desk {
    let options = Options {
        events: 150,
        display_factor,
        ..Options::default()
    };
    let session = generate(&options, 5);
    let arrivals = deliver(&session, &FaultPlan::default(), 5).arrivals;
    Desk::with(name, session, arrivals)
}

const OUTPUTS: [&str; 5] = ["books", "orders", "tops", "quotes", "trades"];

/// The rows of each output of a replay.
fn replayed(desk: &Desk, more: &str) -> [Vec<Value>; 5] {
    let outputs = OUTPUTS.map(|output| format!("--{output} {output}.jsonl"));
    desk.replay(&format!("--quiet {} {more}", outputs.join(" ")))
        .done();
    OUTPUTS.map(|output| {
        let text = desk.read(&format!("{output}.jsonl"));
        let rows = text
            .lines()
            .map(|line| serde_json::from_str(line).expect(line));
        rows.collect()
    })
}

/// A hundredth of each price of a row, in place; the number of prices.
fn hundredths(row: &mut Value) -> usize {
    let mut prices: Vec<&mut Value> = Vec::new();
    for (key, value) in row.as_object_mut().expect("a row") {
        match (key.as_str(), value) {
            ("bid_price" | "ask_price" | "price", price) => prices.push(price),
            ("bid" | "ask", level) => prices.extend(level.get_mut(0)),
            ("orders_bids" | "orders_asks", Value::Array(orders)) => {
                prices.extend(orders.iter_mut().map(|order| &mut order[1]));
            }
            ("bids" | "asks" | "implied_bids" | "implied_asks", Value::Array(levels)) => {
                prices.extend(levels.iter_mut().filter_map(|level| level.get_mut(0)));
            }
            _ => {}
        }
    }
    prices.retain(|price| !price.is_null());
    for price in &mut prices {
        let venue = super::series::price(price.as_str().expect("a price"));
        assert_eq!(venue.0 % 100, 0, "a hundredth of it is exact");
        **price = Value::from(Price(venue.0 / 100).to_string());
    }
    prices.len()
}

/// Books, orders, tops, quotes and trades have the venue's prices, and with `--display` those that traders quote; everything
/// else in a row is the same.
#[test]
fn replay_writes_prices_as_sent_and_with_display_as_quoted() {
    let desk = with_factor("replay-hundredths", 10_000_000);
    let [sent, quoted] = ["", "--display"].map(|more| replayed(&desk, more));
    for ((output, mut sent), quoted) in OUTPUTS.iter().zip(sent).zip(quoted) {
        let prices: usize = sent.iter_mut().map(hundredths).sum();
        assert!(prices > 20, "{output} has {prices} prices");
        assert_eq!(sent, quoted, "{output}");
    }
}

/// Without the flag the factor has no effect, and the flag has none if the factor is one.
#[test]
fn replay_converts_only_with_display_and_a_factor() {
    let factor = replayed(&with_factor("replay-as-sent", 10_000_000), "");
    let one = with_factor("replay-one", 1_000_000_000);
    assert_eq!(factor, replayed(&one, ""));
    assert_eq!(factor, replayed(&one, "--display"));
}
