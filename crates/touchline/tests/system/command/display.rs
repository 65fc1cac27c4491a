//! Prices in the traders' format, and definitions of instruments: ES in hundredths, ZN in thirty-seconds.

use super::Desk;
use serde_json::{Value, json};
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
    assert!(list.contains("4500.25 direct  | 4500.5 direct"), "{list}");
    assert!(
        list.contains("110.515625 direct  | 110.53125 direct"),
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
    use std::io::{BufRead, BufReader};
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
        let lines = BufReader::new(tail.stdout.take().expect("a pipe")).lines();
        let found = lines
            .map(|line| line.expect("text"))
            .take(3)
            .any(|line| line == words);
        assert!(found, "{words}");
        tail.kill().expect("our child");
        tail.wait().expect("it ends");
    }
}

/// A session whose venue states no factor is the same with and without it.
#[test]
fn replay_writes_prices_as_sent_and_converts_where_asked() {
    let desk = Desk::new("replay-display");
    desk.replay("--books sent --tops sent-tops --orders sent-orders")
        .done();
    desk.replay("--display --books shown --tops shown-tops --orders shown-orders")
        .done();
    for name in ["", "-tops", "-orders"] {
        let (sent, shown) = (
            desk.read(&format!("sent{name}")),
            desk.read(&format!("shown{name}")),
        );
        assert!(sent == shown && sent.lines().count() > 1, "{name}");
    }
}
