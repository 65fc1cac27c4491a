//! Limits of parents, and the kill switch.

use crate::world::{World, config, values};
use touchline_fx::Setup;
use touchline_fx::commands::{desk, terms};
use touchline_fx::sessions::read_desk;
use touchline_fx_events::command::{Booking, Command, Order};
use touchline_fx_events::desk::{Desk, ParentRequest};
use touchline_fx_events::lines::command_text;
use touchline_fx_events::parents::Lifetime;
use touchline_fx_events::plan::Style;
use touchline_types::{Id, Side};

const A: (&str, &str) = ("A", "");
const GTD: &str = ",\"deadline_ms\":60000";
const LIFTERS: &str = "kill_lifters = [\"ann\", \"bob\"]";

/// The refusal of the last parent, or its acceptance.
fn verdict(world: &mut World) -> String {
    let lines = world.decisions();
    let line = lines
        .iter()
        .find(|line| line.contains("\"refused\"") || line.contains("\"accepted\""));
    let line = line.expect("a verdict").clone();
    match line.contains("accepted") {
        true => "accepted".into(),
        false => values(&[line], &["reason"]).remove(0),
    }
}

/// A message of a recorded session with a field that no order has is refused.
#[test]
fn a_message_that_is_not_an_order_is_rejected() {
    let mut world = World::up("", &[A]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    let parent = |more: &str| {
        format!(
            "{{\"op\":\"parent\",\"id\":\"P\",\"pair\":\"EUR/USD\",\"side\":\"buy\",\"deadline_ms\":1000,\"qty\":{more}}}"
        )
    };
    let right = parent("1000");
    for wrong in [
        right.replace("\"id\"", "\"name\""),
        right.replace("\"qty\"", "\"quantity\""),
        parent("1500"),
        parent("1000.0"),
        parent("1000,\"limit\":1.1"),
        parent("1000,\"tif\":\"day\""),
        parent("1000,\"urgency\":3"),
        parent("1000,\"urgency\":256"),
        parent("1000,\"style\":\"fast\""),
        parent("1000,\"partial\":1"),
        right.replace("buy", "hold"),
        right.replace("deadline_ms", "deadline"),
    ] {
        world.desk(&wrong);
        assert_eq!(verdict(&mut world), "bad_order", "{wrong}");
    }
    world.desk(&right);
    assert_eq!(verdict(&mut world), "accepted");
}

/// The first mistake of an order is reported with the given value and the permitted ones.
#[test]
fn the_mistake_in_an_order_is_named() {
    let setup = Setup::parse(&config("", &[A])).expect("a configuration");
    let id = |text: &str| Id::new(text.as_bytes()).expect("a short text");
    let order = Order::new(id("P"), id("EUR/USD"), Side::Bid, 1_000);
    let of_quantity = |quantity| Order { quantity, ..order };
    for (wrong, cause) in [
        (
            Order {
                id: id(""),
                ..order
            },
            "id: 1 to 32 bytes of printable text are required",
        ),
        (
            Order {
                id: id(&"1".repeat(33)),
                ..order
            },
            "id: 1 to 32 bytes of printable text are required",
        ),
        (
            of_quantity(0),
            "quantity 0 is not a whole number of base units from 1 to 1000000000000000",
        ),
        (
            of_quantity(-1_000),
            "quantity -1000 is not a whole number of base units from 1 to 1000000000000000",
        ),
        (
            of_quantity(1_500),
            "quantity 1500 is not a multiple of 1000, the lot of EUR/USD",
        ),
        (
            Order {
                limit: Some(id("1.100001")),
                ..order
            },
            "limit \"1.100001\" is not a positive price of EUR/USD: its tick is 0.00001",
        ),
        (
            Order {
                limit: Some(id("")),
                ..order
            },
            "limit \"\" is not a positive price of EUR/USD: its tick is 0.00001",
        ),
        (
            Order {
                urgency: 3,
                ..order
            },
            "urgency 3: give 0, 1 or 2",
        ),
        (
            Order {
                pair: id("EUR/CHF"),
                ..order
            },
            "pair \"EUR/CHF\" is not configured; the pairs are EUR/USD, USD/JPY",
        ),
    ] {
        let found = terms(&setup, &wrong).expect_err(cause);
        assert_eq!(found.to_string(), cause);
        let request = desk(&setup, &Command::Parent(wrong));
        let of_nothing = ParentRequest {
            id: Some(wrong.id),
            terms: None,
        };
        assert_eq!(request, Some(Desk::Parent(of_nothing)));
    }
    assert!(terms(&setup, &order).is_ok());
}

/// The text of a command is that of a recorded session, and is read as the same command.
#[test]
fn the_text_of_a_command_is_a_command_of_a_session() {
    let setup = Setup::parse(&config("", &[A])).expect("a configuration");
    let id = |text: &str| Id::new(text.as_bytes()).expect("a short text");
    let order = Order::new(id("P"), id("EUR/USD"), Side::Bid, 1_000);
    let fok = Order {
        limit: Some(id("1.10001")),
        lifetime: Lifetime::AllOrNothing,
        urgency: 2,
        style: Style::Full,
        partial: false,
        side: Side::Ask,
        ..order
    };
    let booking = Booking {
        id: id("B"),
        pair: id("EUR/USD"),
        side: Side::Ask,
        quantity: 5,
        price: id("1.1"),
        bank: Some(id("A")),
        value_date: id("20260107"),
    };
    let unpriced = Booking {
        price: id("x"),
        bank: None,
        ..booking
    };
    let resolve = |price| Command::Resolve {
        order: id("T-P-1"),
        cum: 7,
        price,
    };
    let enable = |bank| Command::Enable {
        bank: id(bank),
        pair: id("EUR/USD"),
    };
    for command in [
        Command::Parent(order),
        Command::Parent(fok),
        Command::Parent(Order { urgency: 9, ..fok }),
        Command::Cancel { id: id("P") },
        Command::Kill,
        Command::Lift,
        enable("A"),
        enable("B"),
        resolve(None),
        resolve(Some(id("1.1"))),
        Command::Book(booking),
        Command::Book(unpriced),
    ] {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        let text = command_text(&bytes);
        let read = read_desk(&setup, &text).expect(&text);
        assert_eq!(Some(read), desk(&setup, &command), "{text}");
    }
    assert_eq!(desk(&setup, &Command::Promote), None);
}

#[test]
fn parents_are_refused_for_the_first_limit_that_they_break() {
    let mut world = World::up(
        "[risk]\nmax_parents_per_s = 2\nduplicate_ms = 3000\nmax_gross_usd = 9000000",
        &[A],
    );
    world.parent("P0", "buy", 1_000_000, &format!("{GTD},\"limit\":\"1.1\""));
    assert_eq!(verdict(&mut world), "no_mid");
    world.book("A", &[(-2, 9000)], &[(2, 9000)]);
    world.parent("P1", "buy", 51_000_000, GTD);
    assert_eq!(verdict(&mut world), "order_qty");
    world.parent(
        "P1",
        "buy",
        1_000_000,
        &format!("{GTD},\"limit\":\"1.10101\""),
    );
    assert_eq!(verdict(&mut world), "collar");
    world.parent(
        "P1",
        "sell",
        1_000_000,
        &format!("{GTD},\"limit\":\"1.09899\""),
    );
    assert_eq!(verdict(&mut world), "collar");
    world.parent(
        "P1",
        "buy",
        1_000_000,
        &format!("{GTD},\"limit\":\"1.101\""),
    );
    assert_eq!(verdict(&mut world), "accepted");
    world.parent("P1", "buy", 1500, GTD);
    assert_eq!(verdict(&mut world), "duplicate_id");
    world.parent(
        "P2",
        "buy",
        1_000_000,
        &format!("{GTD},\"limit\":\"1.101\""),
    );
    assert_eq!(verdict(&mut world), "duplicate");
    world.parent("P2", "buy", 2_000_000, GTD).decisions();
    world.at(999).parent("P3", "buy", 3_000_000, GTD);
    assert_eq!(verdict(&mut world), "rate");
    world.at(1000).parent("P3", "buy", 7_000_000, GTD);
    assert_eq!(verdict(&mut world), "gross");
    world.parent("P3", "sell", 9_000_000, GTD);
    assert_eq!(
        verdict(&mut world),
        "accepted",
        "buyers and sellers are not netted, nor added up"
    );
    world.at(3000).parent(
        "P4",
        "buy",
        1_000_000,
        &format!("{GTD},\"limit\":\"1.101\""),
    );
    assert_eq!(verdict(&mut world), "accepted", "no duplicate any more");
}

/// A fill after the end of an order whose quantity was sent again to another bank: the quantity filled beyond the
/// parent does not reduce the worst case of the parent's other orders.
#[test]
fn fills_beyond_a_parent_do_not_make_its_worst_case_smaller() {
    let config = config("", &[A, ("B", ""), ("C", "")]).replacen(
        "max_order = 50000000",
        "max_order = 50000000\nmax_net = 2000000",
        1,
    );
    let mut world = World::new(&config);
    for bank in ["A", "B", "C"] {
        let (pricing, orders) = (format!("{bank}.q !up"), format!("{bank}.o !up"));
        world.line(&pricing).line(&orders);
    }
    world.book("A", &[(-2, 600)], &[(2, 600)]);
    world.book("B", &[(-2, 400)], &[(3, 400)]);
    world.parent("P1", "buy", 1_000_000, GTD);
    world.execution("A", "T-P1-1", ("E1", "4", "4", 0), "|151=0");
    world.wait(100).book("C", &[(-2, 600)], &[(4, 600)]);
    assert_eq!(world.sent(), 3);
    let late = "|32=600000|31=1.10002";
    world.execution("A", "T-P1-1", ("E2", "F", "2", 600_000), late);
    world.decisions();
    // 600,000 are held and 1,000,000 are out.
    world.parent("P2", "buy", 401_000, GTD);
    assert_eq!(verdict(&mut world), "net");
    world.parent("P2", "buy", 400_000, GTD);
    assert_eq!(verdict(&mut world), "accepted");
}

/// A booking puts the position beyond the limits of its pair and of all pairs. What makes neither larger is accepted, up to the limit
/// of the other side.
#[test]
fn a_position_beyond_its_limit_can_be_reduced() {
    let risk = "[risk]\nbookers = [\"ann\", \"bob\"]\nmax_gross_usd = 11500000";
    let config = config(risk, &[A]).replacen(
        "max_order = 50000000",
        "max_order = 50000000\nmax_net = 10000000",
        1,
    );
    for (booked, reducing, other) in [("buy", "sell", "buy"), ("sell", "buy", "sell")] {
        let mut world = World::new(&config);
        world.line("A.q !up").line("A.o !up");
        for by in ["ann", "bob"] {
            world.desk(&format!(
                "{{\"op\":\"book\",\"id\":\"B\",\"pair\":\"EUR/USD\",\"side\":\"{booked}\",\"qty\":12000000,\
                 \"price\":\"1.1\",\"value_date\":\"20260107\",\"by\":\"{by}\"}}"
            ));
        }
        world.decisions();
        for (id, side, quantity, expected) in [
            ("P1", other, 1_000, "net"),
            ("P2", reducing, 23_000_000, "net"),
            ("P3", reducing, 5_000_000, "accepted"),
            ("P4", reducing, 17_000_000, "accepted"),
            ("P5", reducing, 1_000, "net"),
            ("P6", other, 1_000, "net"),
        ] {
            world.parent(id, side, quantity, GTD);
            assert_eq!(verdict(&mut world), expected, "{id} {side}");
        }
        world.desk(
            "{\"op\":\"parent\",\"id\":\"P7\",\"pair\":\"USD/JPY\",\"side\":\"buy\",\"qty\":1000,\
             \"deadline_ms\":60000}",
        );
        assert_eq!(verdict(&mut world), "gross");
    }
}

#[test]
fn the_new_parent_is_part_of_the_net() {
    let config = config("", &[A]).replacen(
        "max_order = 50000000",
        "max_order = 50000000\nmax_net = 3000000",
        1,
    );
    let mut world = World::new(&config);
    world
        .line("A.q !up")
        .line("A.o !up")
        .book("A", &[(-2, 9000)], &[(2, 9000)]);
    world.parent("P1", "buy", 3_001_000, GTD);
    assert_eq!(verdict(&mut world), "net");
    world.parent("P1", "buy", 3_000_000, GTD);
    assert_eq!(verdict(&mut world), "accepted");
    world.parent("P2", "buy", 1000, GTD);
    assert_eq!(verdict(&mut world), "net", "an order that is out counts");
    world
        .execution(
            "A",
            "T-P1-1",
            ("E1", "F", "2", 3_000_000),
            "|32=3000000|31=1.10002",
        )
        .decisions();
    world.parent("P2", "buy", 1000, GTD);
    assert_eq!(verdict(&mut world), "net", "a position counts");
}

#[test]
fn a_kill_ends_everything_and_cancels_what_is_open() {
    let mut world = World::up("", &[A, ("B", "")]);
    world
        .book("A", &[(-2, 1000)], &[(2, 1000)])
        .book("B", &[(-3, 1000)], &[(3, 1000)]);
    world
        .parent("P1", "buy", 2_000_000, GTD)
        .parent("P2", "buy", 2_000_000, GTD);
    world.decisions();
    world.orders();
    world.at(10).desk("{\"op\":\"kill\",\"by\":\"ann\"}");
    assert_eq!(
        values(&world.decisions(), &["event"]),
        ["kill", "ended", "ended"]
    );
    assert_eq!(
        values(&world.orders(), &["clordid", "event", "state"]),
        ["T-P1-1 sent pending_cancel", "T-P1-2 sent pending_cancel"]
    );
    world
        .desk("{\"op\":\"kill\",\"by\":\"bob\"}")
        .parent("P3", "buy", 1000, GTD);
    assert_eq!(verdict(&mut world), "kill");
    world.execution("A", "T-P1-1", ("E1", "8", "8", 0), "|103=30");
    world.book("A", &[(-2, 1000)], &[(2, 1000)]).wait(5000);
    assert_eq!(world.sent(), 2, "nothing leaves");
}

#[test]
fn two_different_people_of_the_list_lift_a_kill() {
    let mut world = World::up(&format!("[risk]\n{LIFTERS}"), &[A]);
    let mut lift = |ops: &[&str]| {
        for op in ops {
            let (op, by) = op.split_once(' ').expect("who does what");
            world.desk(&format!("{{\"op\":\"{op}\",\"by\":\"{by}\"}}"));
        }
        world.replay.engine().trading().is_killed()
    };
    assert!(
        lift(&["kill ann", "lift eve", "lift eve"]),
        "nobody of the list"
    );
    assert!(lift(&["lift ann", "lift ann"]), "one alone");
    assert!(!lift(&["lift bob"]));
    assert!(
        lift(&["kill eve", "lift bob"]),
        "a new kill forgets who lifted the last one"
    );
    assert!(!lift(&["lift ann"]));
    let lines = world.decisions();
    assert_eq!(
        values(&lines[1..3], &["event", "by", "killed"]),
        ["lift eve true", "lift eve true"],
        "refused ones too"
    );
}

#[test]
fn too_many_unknown_orders_or_rejects_kill_by_themselves() {
    let mut world = World::up(
        "[risk]\nkill_unknown = 1",
        &[("A", "answer_ms = 100"), ("B", "")],
    );
    world
        .book("A", &[(-2, 1000)], &[(2, 1000)])
        .book("B", &[(-3, 1000)], &[(3, 1000)]);
    world.parent("P1", "buy", 2_000_000, GTD).decisions();
    world.orders();
    world.wait(100);
    assert_eq!(
        values(&world.decisions(), &["event"]),
        ["cooldown", "kill", "ended"]
    );
    assert_eq!(
        values(&world.orders(), &["clordid", "event", "state"]),
        [
            "T-P1-1 timeout unknown",
            "T-P1-1 sent unknown",
            "T-P1-2 sent pending_cancel",
            "T-P1-1 sent unknown"
        ]
    );

    let mut world = World::up(
        "[risk]\nkill_rejects_per_s = 2",
        &[("A", "answer_ms = 5000"), ("B", "answer_ms = 5000")],
    );
    world
        .book("A", &[(-2, 1000)], &[(2, 1000)])
        .book("B", &[(-3, 1000)], &[(3, 1000)]);
    world.parent("P1", "buy", 2_000_000, GTD).decisions();
    world
        .at(10)
        .execution("A", "T-P1-1", ("E1", "8", "8", 0), "|103=30");
    assert!(!world.replay.engine().trading().is_killed());
    world
        .at(1009)
        .execution("B", "T-P1-2", ("E1", "8", "8", 0), "|103=30");
    let mut lines = world.decisions();
    lines.retain(|line| !line.contains("\"waits\""));
    assert_eq!(
        values(&lines, &["event"]),
        ["cooldown", "cooldown", "kill", "ended"]
    );
    assert!(lines[2].contains("\"by\":\"auto:rejects\""));
}
