//! Messages of quotes and orders as they lie on the wire, each in a file of its own: a line has sixteen bytes in hex.
//! A change of a file is a change of the format.

use touchline_lab::orders::ORDER_KINDS;
use touchline_types::native::{
    Body, Flags, Message, encode_order, encode_quote_snapshot, encode_quote_update,
};
use touchline_types::{
    CancelAll, CancelOrder, Code, ExecutionReport, ExecutionType, Id, Instrument, Limits,
    Liquidity, NewOrder, OrderMessage, OrderRejected, OrderRequest, OrderRoute, OrderState,
    OrderTerms, OrderType, PacketInfo, Price, Quantity, Quote, QuoteAction, QuoteChange,
    QuoteSnapshot, QuoteStream, QuoteUpdate, RejectCode, ReplaceOrder, RiskCheck, Side,
    TimeInForce, Timestamps, Validity,
};

const TIMESTAMPS: Timestamps = Timestamps {
    exchange_ns: 0x1111_0000_0000_0001,
    packet: PacketInfo {
        sequence: 0x4444_0001,
        sending_ns: 0x5555_0000_0000_0001,
        receive_ns: 0x2222_0000_0000_0001,
    },
    polled: 0x6666_0000_0000_0001,
    decoded: 0x7777_0000_0000_0001,
    applied: 0x8888_0000_0000_0001,
    published: 0x9999_0000_0000_0001,
};

const FLAGS: Flags = Flags(Flags::END_OF_BATCH.0 | Flags::STAMPED_BY_KERNEL.0);

fn code(text: &str) -> Code {
    Code::new(text.as_bytes()).unwrap()
}

fn id(text: &str) -> Id {
    Id::new(text.as_bytes()).unwrap()
}

fn quote(entry: u32) -> Quote {
    Quote {
        entry,
        side: Side::BOTH[entry as usize % 2],
        price: Price(1_100_010_000),
        quantity: Quantity(1_000_000),
        quantity_min: Quantity::NULL,
        expiry_ns: 0x3333_0000_0000_0001,
        priority: 0x77,
        set_ns: 0,
        tier: (entry > 0).then_some(3),
        is_indicative: entry > 1,
        is_full_amount: entry > 0,
        quote_id: id([
            "",
            "Q-1",
            "a quote id of sixty-four characters, as long as there may be one",
        ][entry as usize]),
    }
}

const STREAM: QuoteStream = QuoteStream {
    instrument: Instrument(0x33),
    security_id: 0x44,
    provider: Code::EMPTY,
    value_date: 20_260_107,
    validity: Validity::Stale,
    is_unquoted: false,
};

fn route() -> OrderRoute {
    OrderRoute {
        instrument: Some(Instrument(0x33)),
        security_id: Some(0x44),
        venue: code("LP03"),
        account: code("DESK1"),
    }
}

fn terms() -> OrderTerms {
    OrderTerms {
        side: Side::Ask,
        order_type: OrderType::PreviouslyQuoted,
        time_in_force: TimeInForce::FillOrKill,
        is_post_only: false,
        is_reduce_only: true,
        price: Price(1_100_010_000),
        stop_price: Price::NULL,
        quantity: Quantity(1_000_000),
        quantity_min: Quantity(500_000),
        quantity_shown: Quantity::NULL,
        expiry_ns: 0x3333_0000_0000_0001,
        value_date: 20_260_107,
        currency: code("EUR"),
    }
}

/// One message of each kind, in the order of [`touchline_lab::orders::order_of_kind`].
fn orders() -> [(&'static str, OrderMessage); ORDER_KINDS] {
    let new = NewOrder {
        route: route(),
        terms: terms(),
        client_order_id: id("T1-P7-1"),
        parent_order_id: id("P7"),
        quote_id: id("Q-1"),
        created_ns: 0x5555_0000_0000_0002,
    };
    let cancel = CancelOrder {
        route: route(),
        side: Side::Ask,
        quantity: Quantity(1_000_000),
        client_order_id: id("T1-P7-2"),
        original_client_order_id: id("T1-P7-1"),
        order_id: id("bank-17"),
        created_ns: 0x5555_0000_0000_0002,
    };
    let replace = ReplaceOrder {
        route: route(),
        terms: terms(),
        client_order_id: id("T1-P7-2"),
        original_client_order_id: id("T1-P7-1"),
        order_id: id("bank-17"),
        created_ns: 0x5555_0000_0000_0002,
    };
    let cancel_all = CancelAll {
        route: OrderRoute {
            instrument: None,
            security_id: None,
            venue: Code::EMPTY,
            account: code("DESK1"),
        },
        side: None,
        is_kill: true,
        client_order_id: id("T1-K1"),
        requested_by: code("auto:unknown"),
        created_ns: 0x5555_0000_0000_0002,
    };
    [
        ("NewOrder", OrderMessage::New(new)),
        ("CancelOrder", OrderMessage::Cancel(cancel)),
        ("ReplaceOrder", OrderMessage::Replace(replace)),
        ("CancelAll", OrderMessage::CancelAll(cancel_all)),
        ("ExecutionReport", OrderMessage::Report(report())),
        ("OrderRejected", OrderMessage::Rejected(rejected())),
        ("Limits", OrderMessage::Limits(limits())),
    ]
}

fn report() -> ExecutionReport {
    ExecutionReport {
        route: route(),
        execution_type: ExecutionType::Trade,
        state: OrderState::PartiallyFilled,
        side: Side::Ask,
        price: Price(1_100_010_000),
        quantity: Quantity(1_000_000),
        last_price: Price(1_100_020_000),
        last_quantity: Quantity(400_000),
        cumulative_quantity: Quantity(600_000),
        leaves_quantity: Quantity(300_000),
        average_price: Price::NULL,
        value_date: 20_260_107,
        reject_code: Some(RejectCode::NeverArrived),
        venue_reject_code: Some(0x0102),
        liquidity: Some(Liquidity::Removed),
        is_possible_resend: true,
        is_late: false,
        is_last_of_list: true,
        client_order_id: id("T1-P7-1"),
        original_client_order_id: Id::EMPTY,
        order_id: id("bank-17"),
        execution_id: id("bank-17-E2"),
        execution_reference_id: id("bank-17-E1"),
    }
}

fn rejected() -> OrderRejected {
    OrderRejected {
        route: route(),
        request: OrderRequest::Cancel,
        risk_check: None,
        reject_code: Some(RejectCode::Credit),
        venue_reject_code: None,
        client_order_id: id("T1-P7-2"),
        original_client_order_id: id("T1-P7-1"),
        order_id: id("bank-17"),
        text: id("too late to cancel"),
    }
}

fn limits() -> Limits {
    Limits {
        route: route(),
        order_quantity_max: Quantity(10_000_000),
        position_max: Quantity::NULL,
        position: Quantity(-1_000_000),
        worst_long: Quantity(2_000_000),
        worst_short: Quantity(-3_000_000),
        gross_max: Some(1_000_000_000_000),
        gross: Some(-1),
        credit_max: None,
        credit_used: Some(0),
        price_collar: Price(500_000),
        orders_per_second_max: Some(1_000),
        is_killed: false,
        is_disabled: true,
        currency: code("USD"),
    }
}

/// The bytes are those of the file `name`.
fn same(name: &str, bytes: &[u8]) {
    let path = format!(
        "{}/tests/native/golden/{name}.hex",
        env!("CARGO_MANIFEST_DIR")
    );
    let expected = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<String> = bytes
        .chunks(16)
        .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(lines, expected.lines().collect::<Vec<_>>(), "{name}");
}

#[test]
fn orders_reports_and_limits() {
    for (name, message) in orders() {
        let mut bytes = [0xEE; 512];
        let length = encode_order(&message, 0x102, FLAGS, &TIMESTAMPS, &mut bytes).unwrap();
        same(name, &bytes[..length]);
        let read = Message::parse(&bytes[..length]).unwrap();
        assert!(matches!(read.body, Body::Order(order) if order.value() == message));
        let times = read.timestamps();
        assert_eq!(
            (read.sequence(), times.exchange_ns, times.packet.receive_ns),
            (0x102, TIMESTAMPS.exchange_ns, TIMESTAMPS.packet.receive_ns)
        );
        assert_eq!((read.validity(), read.flags()), (None, FLAGS));
    }
}

#[test]
fn quotes() {
    let stream = QuoteStream {
        provider: code("LP03"),
        ..STREAM
    };
    let actions = [QuoteAction::Set, QuoteAction::Remove, QuoteAction::Clear];
    let changes: Vec<QuoteChange> = (0..3)
        .map(|entry| QuoteChange {
            action: actions[entry as usize],
            quote: quote(entry),
        })
        .collect();
    let update = QuoteUpdate {
        stream,
        changes: &changes,
    };
    let mut bytes = [0xEE; 512];
    let length = encode_quote_update(&update, 0x102, FLAGS, &TIMESTAMPS, &mut bytes).unwrap();
    same("QuoteUpdate", &bytes[..length]);
    let read = Message::parse(&bytes[..length]).unwrap();
    let Body::QuoteUpdate(view) = read.body else {
        panic!("another message")
    };
    assert_eq!((view.stream(), read.timestamps()), (stream, TIMESTAMPS));
    assert!(view.quotes.iter().eq(changes));

    let quotes = [quote(2), quote(0)];
    let snapshot = QuoteSnapshot {
        stream,
        quotes: &quotes,
    };
    let length = encode_quote_snapshot(&snapshot, 0x102, FLAGS, &TIMESTAMPS, &mut bytes).unwrap();
    same("QuoteSnapshot", &bytes[..length]);
    let read = Message::parse(&bytes[..length]).unwrap();
    let Body::QuoteSnapshot(view) = read.body else {
        panic!("another message")
    };
    assert_eq!((view.stream(), read.timestamps()), (stream, TIMESTAMPS));
    assert!(view.quotes.iter().eq(quotes));
}

/// What was reserved in quotes: an older message reads as one of a quote message, without times of setting.
#[test]
fn reserved_fields_of_older_quotes_have_their_defaults() {
    let stream = QuoteStream {
        is_unquoted: true,
        ..STREAM
    };
    let one = Quote {
        set_ns: 0x0102_0304_0506_0708,
        ..quote(1)
    };
    for (is_unquoted, set_ns) in [(false, 0), (true, one.set_ns)] {
        let stream = QuoteStream {
            is_unquoted,
            ..stream
        };
        let quotes = [Quote { set_ns, ..one }];
        let snapshot = QuoteSnapshot {
            stream,
            quotes: &quotes,
        };
        let mut bytes = [0xEE; 512];
        let length = encode_quote_snapshot(&snapshot, 1, FLAGS, &TIMESTAMPS, &mut bytes).unwrap();
        // Header, block, dimension.
        let (flags, set) = (8 + 108, 8 + 116 + 4 + 48);
        assert_eq!(
            bytes[flags..flags + 8],
            [u8::from(is_unquoted), 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(bytes[set..set + 8], set_ns.to_le_bytes());
        let read = Message::parse(&bytes[..length]).unwrap();
        let Body::QuoteSnapshot(view) = read.body else {
            panic!("another message")
        };
        assert_eq!(view.stream(), stream);
        assert!(view.quotes.iter().eq(quotes));
    }
}

/// The text of an order that we rejected, with our reason.
#[test]
fn an_order_rejected_by_our_check_has_our_reason() {
    let message = OrderMessage::Rejected(OrderRejected {
        risk_check: Some(RiskCheck::NoSession),
        reject_code: None,
        ..rejected()
    });
    let mut bytes = [0; 512];
    let length = encode_order(&message, 1, FLAGS, &TIMESTAMPS, &mut bytes).unwrap();
    assert_eq!(bytes[8 + 75..8 + 77], [13, 255]);
    // A check that a newer writer names is another one.
    bytes[8 + 75] = 200;
    let read = Message::parse(&bytes[..length]).unwrap();
    let Body::Order(order) = read.body else {
        panic!("another message")
    };
    assert!(matches!(order.value(), OrderMessage::Rejected(rejected)
        if rejected.risk_check == Some(RiskCheck::Other)));
}
