//! Lists of instruments that change while books are live.

use crate::world::{World, is_rebuilt, raw};
use touchline_feed::fix_md::Dialect;
use touchline_feed::{Feed, SessionFeed};
use touchline_types::{
    Code, Event, Instrument, LEGS_MAX, Leg, Legs, OptionRight, Price, Quantity, ReferenceData,
    SecurityType, Side, TradingStatus, Validity,
};

const ROW: &str = "55=BTC-PERPETUAL|167=FUT|15=BTC|231=10|969=0.5|";
const BOOK: &str = "55=BTC-PERPETUAL|268=2|269=0|270=100.5|271=10.0|269=1|270=101.0|271=20|";
const CHANGE: &str = "55=BTC-PERPETUAL|268=1|279=1|269=0|270=100.5|271=7|";
const BTC: Instrument = Instrument(0);

fn list(rows: &str) -> String {
    format!("320=1|322=1|560=00|146=1|{rows}")
}

fn live() -> World {
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    world.send("y", &list(ROW));
    world.send("W", BOOK);
    assert_eq!(world.feed.validity(BTC), Validity::Live);
    world.take_asked();
    world
}

/// Events of books and definitions, in order.
fn published(events: &[Event]) -> Vec<(&'static str, Validity)> {
    let published = |event: &Event| match event {
        Event::Defined { price, .. } => Some(("defined", *price)),
        Event::BookLost(_, validity) => Some(("emptied", *validity)),
        Event::Channel(state) => Some(("channel", state.price)),
        _ => None,
    };
    events.iter().filter_map(published).collect()
}

#[test]
fn a_changed_tick_of_a_live_book_is_published_and_the_book_stays() {
    let mut world = live();
    assert_eq!(world.send("y", &list(ROW)), [], "the tick is unchanged");
    let events = world.send("y", &list(&ROW.replace("969=0.5", "969=0.1")));
    assert_eq!(published(&events), [("defined", Validity::Live)]);
    assert_eq!(world.instruments.definition(BTC).tick, Price(100_000_000));
    assert_eq!(world.feed.validity(BTC), Validity::Live);
    assert_eq!(world.take_asked(), [], "prices are unchanged");
    assert_eq!(world.send("X", CHANGE).len(), 2, "and the book goes on");
}

/// Prices or quantities have another meaning: the old ones are not published under the new definition.
#[test]
fn a_live_book_of_a_redefined_instrument_is_emptied_and_requested_again() {
    for other in [
        ROW.replace("231=10", "231=1"),
        ROW.replace("15=BTC", "15=USD"),
        ROW.replace("167=FUT", "167=OPT"),
    ] {
        let mut world = live();
        let events = world.send("y", &list(&other));
        let emptied = ("emptied", Validity::Recovering);
        assert_eq!(
            published(&events),
            [emptied, ("defined", Validity::Recovering)],
            "{other}"
        );
        assert_eq!(world.feed.validity(BTC), Validity::Recovering);
        let asked = world.take_asked();
        let kinds: Vec<_> = asked
            .iter()
            .filter_map(|(_, fields)| fields.split('|').nth(1))
            .collect();
        assert_eq!(kinds, ["263=2", "263=1"], "{asked:?}");
        assert_eq!(
            world.send("X", CHANGE),
            [],
            "what comes before the snapshot is of the old book"
        );
        let events = world.send("W", BOOK);
        assert!(is_rebuilt(&events, BTC));
    }
}

#[test]
fn a_book_of_a_lost_connection_is_not_published_under_a_new_definition() {
    let mut world = live();
    world.disconnect();
    world.connect();
    let events = world.send("y", &list(&ROW.replace("231=10", "231=1.0")));
    let emptied = ("emptied", Validity::Recovering);
    assert_eq!(
        published(&events),
        [emptied, ("defined", Validity::Recovering)]
    );
    assert_eq!(world.take_asked().len(), 2, "the list and the book, once");
    // The same number, written differently, is not a change.
    let mut world = live();
    world.disconnect();
    world.connect();
    assert_eq!(
        published(&world.send("y", &list(&ROW.replace("231=10", "231=10.0")))),
        []
    );
    assert_eq!(world.feed.validity(BTC), Validity::Stale);
}

#[test]
fn a_rejected_or_unreadable_list_defines_nothing() {
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    world.send("y", "320=1|322=1|560=1|");
    assert!(world.feed.is_over() && !world.feed.is_defined());
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    let next = touchline_session::fix::Store::next_out(world.venue.store());
    world.inject(&raw("y", next, &list("55=BTC-PERPETUAL|969=|")));
    assert!(world.feed.is_over() && !world.feed.is_defined());
}

#[test]
fn an_unreadable_tick_is_counted_and_absent() {
    let mut world = live();
    world.send("y", &list(&ROW.replace("969=0.5", "969=0,5")));
    assert_eq!(world.instruments.definition(BTC).tick, Price::NULL);
    assert_eq!(world.feed.counters().messages_malformed, 1);
    assert_eq!(world.feed.validity(BTC), Validity::Live);
}

#[test]
fn a_list_in_parts_ends_with_its_last_part() {
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    world.take_asked();
    world.send("y", &format!("320=1|322=1|560=0|893=N|146=1|{ROW}"));
    assert_eq!(world.take_asked(), [], "more instruments are to come");
    let other = ROW.replace("PERPETUAL", "27SEP24");
    world.send("y", &format!("320=1|322=1|560=0|893=Y|146=1|{other}"));
    assert_eq!(world.take_asked().len(), 1, "both at once");
    world.send("W", BOOK);
    assert!(!world.feed.is_defined());
    world.send("W", &BOOK.replace("PERPETUAL", "27SEP24"));
    assert!(world.feed.is_defined());
}

#[test]
fn the_state_of_an_instrument_is_published() {
    let mut world = live();
    let status = TradingStatus {
        instrument: Some(BTC),
        group: [0; 6],
        status: 2,
        reason: 255,
        event: 255,
    };
    assert_eq!(
        world.send("f", "55=BTC-PERPETUAL|326=2|"),
        [Event::Status(status, 0)]
    );
    assert_eq!(
        world.send("f", "55=BTC-PERPETUAL|326=2|60=20240507-09:00:00.000|"),
        [Event::Status(status, 1_715_072_400_000_000_000)],
        "with the venue's time"
    );
    assert_eq!(world.send("f", "55=ETH-PERPETUAL|326=2|"), []);
    assert_eq!(world.feed.counters().messages_unasked, 1);
    assert_eq!(
        world.feed.validity(BTC),
        Validity::Live,
        "the book is unchanged"
    );
}

/// After a message that the session rejected, a list has no effect: the next connection's list does.
#[test]
fn no_definition_is_applied_without_being_published() {
    let defined = |events: &[Event]| {
        let published = published(events);
        let defined = published.iter().filter(|(what, _)| *what == "defined");
        defined.map(|(_, price)| *price).collect::<Vec<_>>()
    };
    let next = |world: &World| touchline_session::fix::Store::next_out(world.venue.store());
    let mut world = live();
    let number = next(&world);
    let mut bytes = raw("X", number, &format!("49=DERIBITSERVER|{CHANGE}"));
    let other = ROW.replace("969=0.5", "969=0.1");
    bytes.extend(raw("y", number + 1, &list(&other)));
    let events = world.inject(&bytes);
    assert!(world.feed.is_over());
    assert_eq!(defined(&events), [], "{events:?}");
    world.disconnect();
    world.connect();
    assert_eq!(defined(&world.send("y", &list(&other))), [Validity::Stale]);
}

/// Reference data of an option, and of fields that are unreadable.
#[test]
fn reference_data_of_a_list() {
    const OPTION: &str = "55=BTC-27SEP19-10000-C|167=OPT|15=BTC|120=USD|201=1|202=10000|231=1|969=0.0005|562=0.1\
        |541=20190927|1079=08:00:00|";
    let reference = |row: &str| {
        let mut world = World::new(Dialect::Deribit);
        world.connect();
        world.send("y", &list(row));
        world.instruments.definition(BTC).reference
    };
    let code = |text: &str| Code::new(text.as_bytes()).unwrap();
    let expected = ReferenceData {
        venue: code("deribit"),
        security_type: Some(SecurityType::Option),
        currency: code("BTC"),
        settlement_currency: code("USD"),
        multiplier: Price(1_000_000_000),
        quantity_min: Quantity(10_000_000),
        expiry_ns: 1_569_571_200_000_000_000,
        maturity: 20_190_927,
        strike: Price(10_000_000_000_000),
        right: Some(OptionRight::Call),
        ..ReferenceData::NULL
    };
    assert_eq!(reference(OPTION), expected);
    assert_eq!(
        reference(&OPTION.replace("08:00:00", "08:00:00Z")),
        expected
    );
    assert_eq!(reference(&OPTION.replace("201=1", "201=01")), expected);
    let timeless = ReferenceData {
        expiry_ns: 0,
        ..expected
    };
    for row in [
        OPTION.replace("1079=08:00:00|", ""),
        OPTION.replace("08:00:00", "08:00:00+01"),
        OPTION.replace("08:00:00", "25:00:00"),
        OPTION.replace("08:00:00", "8:00"),
    ] {
        assert_eq!(reference(&row), timeless, "{row}");
    }
    let unread = ReferenceData {
        expiry_ns: 0,
        maturity: 0,
        strike: Price::NULL,
        right: None,
        quantity_min: Quantity::NULL,
        ..expected
    };
    let row = OPTION
        .replace("20190927", "2019-09-27")
        .replace("202=10000", "202=1e4")
        .replace("201=1", "201=2")
        .replace("562=0.1", "562=0.000000001");
    assert_eq!(reference(&row), unread);
    let kinds = [
        ("FUT", SecurityType::Future),
        ("FUTCO", SecurityType::FutureSpread),
        ("OPTCO", SecurityType::OptionSpread),
        ("FXSPOT", SecurityType::Spot),
        ("INDEX", SecurityType::Index),
        ("WARRANT", SecurityType::Other),
    ];
    for (kind, expected) in kinds {
        let row = ROW.replace("167=FUT", &format!("167={kind}"));
        assert_eq!(reference(&row).security_type, Some(expected));
    }
}

/// The reference data of the first instrument in a list of these rows.
fn first_of(rows: &str) -> (ReferenceData, u64) {
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    world.send("y", &list(rows));
    let malformed = world.feed.counters().messages_malformed;
    (world.instruments.definition(BTC).reference, malformed)
}

#[test]
fn lot_limits_and_status_of_a_list() {
    let row = format!("{ROW}561=10|562=20|1140=5000|1148=-1.5|1149=99.25|965=1|");
    let (reference, malformed) = first_of(&row);
    let expected = (
        Quantity(1_000_000_000),
        Quantity(2_000_000_000),
        Quantity(500_000_000_000),
    );
    assert_eq!(
        (
            reference.lot,
            reference.quantity_min,
            reference.quantity_max
        ),
        expected
    );
    let limits = (Price(-1_500_000_000), Price(99_250_000_000));
    assert_eq!((reference.low_limit, reference.high_limit), limits);
    assert_eq!((reference.status, malformed), (17, 0));
    for (fields, status) in [
        ("965=2|", 18),
        ("965=12|", 18),
        ("965=3|", 255),
        ("965=1|326=2|", 2),
        ("326=300|", 255),
        ("", 255),
    ] {
        assert_eq!(
            first_of(&format!("{ROW}{fields}")).0.status,
            status,
            "{fields}"
        );
    }
    // No limit, and unreadable limits.
    let row = format!("{ROW}561=0|1140=0|1148=low|1149=1e9|");
    let absent = (Quantity::NULL, Quantity::NULL, Price::NULL, Price::NULL);
    let reference = first_of(&row).0;
    assert_eq!(
        (
            reference.lot,
            reference.quantity_max,
            reference.low_limit,
            reference.high_limit
        ),
        absent
    );
}

#[test]
fn limits_in_other_units_are_absent() {
    let limits = "561=10|562=20|1140=5000|1148=-1.5|1149=99.25|";
    let prices = (Price(-1_500_000_000), Price(99_250_000_000));
    let quantities = (Quantity(2_000_000_000), Quantity(500_000_000_000));
    let no_prices = (Price::NULL, Price::NULL);
    let no_quantities = (Quantity::NULL, Quantity::NULL);
    for (units, expected_prices, expected_quantities) in [
        ("", prices, quantities),
        ("1306=0|1786=0|", prices, quantities),
        ("1306=00|1786=00|", prices, quantities),
        ("1306=1|", no_prices, quantities),
        ("1306=2|", no_prices, quantities),
        ("1786=1|", prices, no_quantities),
    ] {
        for row in [
            format!("{ROW}{limits}{units}"),
            format!("{ROW}{units}{limits}"),
        ] {
            let (reference, malformed) = first_of(&row);
            let found = (reference.low_limit, reference.high_limit);
            assert_eq!(found, expected_prices, "{row}");
            let found = (reference.quantity_min, reference.quantity_max);
            assert_eq!(found, expected_quantities, "{row}");
            assert_eq!(
                (reference.lot, malformed),
                (Quantity(1_000_000_000), 0),
                "{row}"
            );
        }
    }
}

const COMBINATION: &str = "55=BTC-CS-27SEP24|167=OPTCO|15=BTC|231=1|";

fn leg(security_id: i64, ratio: i32, side: Side) -> Leg {
    Leg {
        security_id,
        ratio,
        side,
    }
}

/// A combination may be listed before its legs, and a leg may be an instrument that was not selected.
#[test]
fn legs_of_a_list_have_the_numbers_of_their_instruments() {
    let legs_of = |fields: &str| {
        let rows = format!("{COMBINATION}{fields}{ROW}");
        let (reference, malformed) = first_of(&rows);
        assert_eq!(malformed, 0, "{fields}");
        reference.legs.as_slice().to_vec()
    };
    let sides = "555=2|600=BTC-PERPETUAL|624=2|623=1|600=ETH-PERPETUAL|624=1|623=3.0|";
    let expected = [leg(2, 1, Side::Ask), leg(Leg::NO_SECURITY_ID, 3, Side::Bid)];
    assert_eq!(legs_of(sides), expected);
    // Without sides, as Deribit states legs.
    let signs = "555=2|600=BTC-PERPETUAL|623=-1|600=ETH-PERPETUAL|623=3|";
    assert_eq!(legs_of(signs), expected);
    assert_eq!(legs_of("555=0|"), []);
    // A ratio is optional, and legs without ratios are not published.
    assert_eq!(legs_of("555=1|600=BTC-PERPETUAL|624=1|"), []);
    let partly = "555=2|600=BTC-PERPETUAL|624=1|623=1|600=ETH-PERPETUAL|624=1|";
    assert_eq!(legs_of(partly), []);
    assert_eq!(legs_of(""), []);
}

/// Instruments whose definitions were published, in order.
fn defined_by(events: &[Event]) -> Vec<Instrument> {
    let defined = events.iter().filter_map(|event| match event {
        Event::Defined { instrument, .. } => Some(*instrument),
        _ => None,
    });
    defined.collect()
}

/// In a later part of the list, and in an update of it; ETH is not selected.
#[test]
fn a_combination_is_published_again_when_its_legs_are_listed() {
    let legs = "555=3|600=BTC-PERPETUAL|623=1|600=ETH-PERPETUAL|623=1|600=BTC-27SEP24|623=-1|";
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    let combination = |world: &World| {
        let definition = world.instruments.definition(BTC);
        let legs = definition.reference.legs.as_slice();
        legs.iter().map(|leg| leg.security_id).collect::<Vec<_>>()
    };
    let listed = |last: &str, row: &str| format!("320=1|322=1|560=0|893={last}|146=1|{row}");
    world.send("y", &listed("N", &format!("{COMBINATION}{legs}")));
    assert_eq!(combination(&world), [0, 0, 0]);
    for (last, row, defined, ids) in [
        ("N", ROW.replace("BTC-P", "ETH-P"), &[][..], [0, 0, 0]),
        ("Y", ROW.to_owned(), &[Instrument(1), BTC], [2, 0, 0]),
        (
            "Y",
            ROW.replace("PERPETUAL", "27SEP24"),
            &[Instrument(2), BTC],
            [2, 0, 3],
        ),
        ("Y", ROW.to_owned(), &[], [2, 0, 3]),
    ] {
        let events = world.send("y", &listed(last, &row));
        assert_eq!(defined_by(&events), defined, "{row}");
        assert_eq!(combination(&world), ids, "{row}");
    }
}

/// The number of legs is counted, not read from the message's count field.
#[test]
fn wrong_legs_are_absent_and_their_message_is_counted_once() {
    for fields in [
        "555=3|600=BTC-PERPETUAL|624=1|623=1|",
        "555=4000000000|600=BTC-PERPETUAL|624=1|623=1|",
        "555=1|",
        "600=BTC-PERPETUAL|624=1|623=1|",
        "555=x|600=BTC-PERPETUAL|624=1|623=1|",
        "555=1|600=BTC-PERPETUAL|624=B|",
        "555=1|600=BTC-PERPETUAL|624=1|623=0|",
        "555=1|600=BTC-PERPETUAL|624=1|623=0.5|",
        "555=1|600=BTC-PERPETUAL|624=1|623=3000000000|",
        "555=1|600=BTC-PERPETUAL|623=-2147483648|",
        "555=1|600=BTC-PERPETUAL|624=2|623=-1|",
        "555=1|600=BTC-PERPETUAL|624=B|623=1|",
        "555=1|624=1|623=1|",
    ] {
        let other = COMBINATION.replace("-CS-", "-PS-");
        let mut world = World::new(Dialect::Deribit);
        world.connect();
        let rows = format!("{COMBINATION}{fields}{other}{fields}{ROW}");
        world.send("y", &list(&rows));
        for combination in [BTC, Instrument(1)] {
            let legs = world.instruments.definition(combination).reference.legs;
            assert_eq!(legs, Legs::NONE, "{fields}");
        }
        assert_eq!(world.instruments.len(), 3, "{fields}");
        let malformed = world.feed.counters().messages_malformed;
        assert_eq!(malformed, 1, "{fields}");
    }
}

#[test]
fn legs_beyond_the_limit_are_counted_and_the_next_instrument_has_none() {
    let many = "600=BTC-PERPETUAL|624=1|623=1|".repeat(300);
    let mut world = World::new(Dialect::Deribit);
    world.connect();
    world.send("y", &list(&format!("{COMBINATION}555=300|{many}{ROW}")));
    let legs = world.instruments.definition(BTC).reference.legs;
    assert_eq!((legs.len(), legs.count()), (LEGS_MAX, u8::MAX));
    let next = world.instruments.definition(Instrument(1)).reference.legs;
    assert_eq!(next, Legs::NONE);
}
