//! The router: orders and their banks.

use crate::world::{World, value, values};

const A: (&str, &str) = ("A", "");
const GTD: &str = ",\"deadline_ms\":60000";

fn sent(world: &mut World) -> Vec<String> {
    let mut lines = world.orders();
    lines.retain(|line| line.contains("\"event\":\"sent\""));
    let field = |line: &String, tag: &str| {
        let text = value(line, "fix").trim_matches('"').to_owned();
        let found = text
            .split('|')
            .find_map(|field| field.strip_prefix(tag).map(ToOwned::to_owned));
        found.unwrap_or_default()
    };
    let of = |line: &String| {
        let tags = ["38=", "44=", "59=", "117="].map(|tag| field(line, tag));
        format!(
            "{} {}",
            value(line, "bank").trim_matches('"'),
            tags.join(" ")
        )
        .trim_end()
        .to_owned()
    };
    lines.iter().map(of).collect()
}

fn reasons(world: &mut World) -> Vec<String> {
    let mut lines = world.decisions();
    lines.retain(|line| line.contains("\"waits\"") || line.contains("\"ended\""));
    values(&lines, &["event", "reason"])
}

/// A reject of the only open order, at a time.
fn reject(world: &mut World, ms: u64, order: &str, reason: &str) -> u64 {
    world
        .at(ms)
        .execution("A", order, (order, "8", "8", 0), reason);
    let lines = world.decisions();
    let cooldown = lines.iter().find(|line| line.contains("\"cooldown\""));
    let until = cooldown.map_or(0, |line| value(line, "until").parse().expect("a time"));
    (until - crate::world::START_NS) / 1_000_000
}

#[test]
fn a_limit_order_has_the_worst_price_and_quoted_orders_name_their_quotes() {
    let mut world = World::up(
        "",
        &[A, ("B", "orders = \"quoted\""), ("F", "kind = \"full\"")],
    );
    world
        .book("A", &[(-2, 5000)], &[(2, 1000), (4, 1000)])
        .book("B", &[(-3, 1000)], &[(3, 1000), (5, 1000)]);
    world.parent("P1", "buy", 3_500_000, GTD);
    assert_eq!(
        sent(&mut world),
        [
            "A 2000000 1.10004 3",
            "B 1000000 1.10003 3 QB1@1767603600000000000",
            "B 500000 1.10005 3 QB2@1767603600000000000"
        ]
    );
    world
        .book("F", &[], &[(2, 9000)])
        .parent("P2", "buy", 3_000_000, GTD);
    assert_eq!(
        sent(&mut world),
        ["F 3000000 1.10002 4"],
        "a ticket is all or nothing"
    );
    world.parent(
        "P3",
        "sell",
        2_000_000,
        &format!("{GTD},\"style\":\"full\""),
    );
    assert_eq!(sent(&mut world), ["A 2000000 1.09998 4"]);
}

#[test]
fn an_entry_is_not_hit_twice() {
    let mut world = World::up("", &[("A", "orders = \"quoted\"")]);
    let book = |id: &str| {
        let entry = format!("270=1.10002|271=5000000|299={id}");
        format!("35=W|262=R|55=EUR/USD|268=2|269=0|270=1.09998|271=5000000|269=1|278=1|{entry}")
    };
    world
        .quote("A", &book("Q1"))
        .parent("P1", "buy", 1_000_000, GTD)
        .parent("P2", "buy", 1_000_000, GTD);
    assert_eq!(sent(&mut world).len(), 1, "a part of it uses it up");
    world.quote("A", &book("Q1"));
    assert_eq!(sent(&mut world).len(), 0, "the same quote again");
    world.quote("A", &book("Q2"));
    assert_eq!(sent(&mut world).len(), 1);
    let mut world = World::up("", &[A]);
    world
        .quote("A", &book("1"))
        .parent("P1", "buy", 1_000_000, GTD)
        .parent("P2", "buy", 1_000_000, GTD);
    world.quote("A", &book("1"));
    assert_eq!(
        sent(&mut world).len(),
        2,
        "the number of a level says nothing"
    );
}

#[test]
fn minima_and_limits_are_kept() {
    let mut world = World::up(
        "",
        &[("A", "min_qty = 500000"), ("B", "orders = \"quoted\"")],
    );
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P1", "buy", 400_000, GTD);
    assert_eq!(reasons(&mut world), ["waits no_price"]);
    let entry = "269=1|270=1.10003|271=5000000|110=400000|299=Q";
    world.quote("B", &format!("35=W|262=R|55=EUR/USD|268=1|{entry}"));
    assert_eq!(sent(&mut world), ["B 400000 1.10003 3 Q"]);
    world.book("B", &[], &[(3, 5000)]);
    world.parent(
        "P2",
        "buy",
        300_000,
        &format!("{GTD},\"limit\":\"1.10002\""),
    );
    assert_eq!(reasons(&mut world), ["waits no_price"]);
}

#[test]
fn nothing_is_sent_into_a_market_that_is_thin_crossed_or_one_sided() {
    let mut world = World::up("[risk]\nmin_banks = 2", &[A, ("B", "")]);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P1", "buy", 1_000_000, GTD);
    assert_eq!(
        (sent(&mut world).len(), reasons(&mut world)),
        (0, vec!["waits thin".into()])
    );
    world.book("B", &[], &[(3, 1000)]);
    assert_eq!(sent(&mut world).len(), 1);
    let mut world = World::up("", &[A]);
    world
        .book("A", &[], &[(2, 5000)])
        .parent("P1", "buy", 1_000_000, GTD);
    assert_eq!(
        (sent(&mut world).len(), reasons(&mut world)),
        (0, vec!["waits no_mid".into()])
    );
    let config = crate::world::config("", &[A, ("B", "")]).replacen(
        "collar_ticks = 100",
        "collar_ticks = 100\ncrossed_max_ticks = 5",
        1,
    );
    let mut world = World::new(&config);
    world.line("A.q !up").line("A.o !up").line("B.q !up");
    world
        .book("A", &[(-9, 5000)], &[(0, 5000)])
        .book("B", &[(6, 5000)], &[(9, 1000)]);
    world.parent("P1", "buy", 1_000_000, GTD);
    assert_eq!(
        (sent(&mut world).len(), reasons(&mut world)),
        (0, vec!["waits crossed".into()])
    );
    world.book("B", &[(5, 5000)], &[(9, 1000)]);
    assert_eq!(sent(&mut world).len(), 1);
}

#[test]
fn what_is_far_from_the_mid_is_not_traded() {
    let mut world = World::up("", &[A]);
    world
        .book("A", &[(-2, 1000)], &[(2, 1000), (101, 5000)])
        .parent("P1", "buy", 2_000_000, GTD);
    assert_eq!(sent(&mut world), ["A 1000000 1.10002 3"]);
    assert_eq!(
        reasons(&mut world),
        ["waits no_price"],
        "once after the plan"
    );
}

#[test]
fn a_parent_of_one_attempt_ends_when_it_cannot_be_sent_and_wants_all_or_parts() {
    let mut world = World::up("", &[A]);
    world.book("A", &[(-2, 1000)], &[(2, 1000)]);
    world.parent("P1", "buy", 2_000_000, ",\"tif\":\"fok\"");
    assert_eq!(reasons(&mut world), ["waits no_price", "ended fok"]);
    world.parent("P2", "buy", 2_000_000, &format!("{GTD},\"partial\":false"));
    assert_eq!(
        (reasons(&mut world), sent(&mut world).len()),
        (vec!["waits no_price".into()], 0)
    );
    world.parent("P3", "buy", 2_000_000, ",\"tif\":\"ioc\"");
    assert_eq!(sent(&mut world), ["A 1000000 1.10002 3"]);
}

#[test]
fn a_bank_is_sent_no_more_orders_than_it_takes_in_a_second() {
    let mut world = World::up("", &[("A", "max_orders_per_s = 1")]);
    world
        .at(100)
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P1", "buy", 1_000_000, GTD);
    // No mark-out of the fill is due when the bank may have another order.
    world.at(150);
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "2", 1_000_000),
        "|32=1000000|31=1.10002",
    );
    world
        .at(200)
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P2", "buy", 1_000_000, GTD)
        .wait(1099);
    assert_eq!(sent(&mut world).len(), 1);
    world.wait(1100);
    assert_eq!(sent(&mut world).len(), 1);
}

#[test]
fn credit_and_the_largest_quantity_are_caps() {
    let mut world = World::up("", &[("A", "credit_usd = 2500500\nmax_qty = 2000000")]);
    world
        .book("A", &[(-2, 9000)], &[(2, 9000)])
        .parent("P1", "buy", 9_000_000, GTD);
    assert_eq!(sent(&mut world), ["A 2000000 1.10002 3"]);
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "2", 2_000_000),
        "|32=2000000|31=1.10002",
    );
    world.book("A", &[(-2, 9000)], &[(2, 9000)]);
    assert_eq!(sent(&mut world), ["A 500000 1.10002 3"]);
}

#[test]
fn cool_downs_get_longer_and_a_fill_resets_them() {
    let mut world = World::up("[router]\nretry_ms = [0, 0, 0]\ncooldown_ms = 100", &[A]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]).parent(
        "P1",
        "buy",
        2_000_000,
        ",\"deadline_ms\":600000",
    );
    let mut now = 10;
    for (number, pause) in [(1, 100), (2, 200), (3, 400), (4, 800), (5, 1600), (6, 1600)] {
        let until = reject(&mut world, now, &format!("T-P1-{number}"), "|103=30");
        assert_eq!(until, now + pause, "{number}");
        world
            .at(now)
            .book("A", &[(-2, 5000)], &[(2, 5000)])
            .wait(until - 1);
        assert_eq!(world.sent(), number, "it cools down");
        world.wait(until);
        assert_eq!(world.sent(), number + 1, "it does not");
        now = until;
    }
    world.execution(
        "A",
        "T-P1-7",
        ("E", "4", "4", 1_000_000),
        "|6=1.10002|151=0",
    );
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    assert_eq!(reject(&mut world, now + 1, "T-P1-8", "|103=31"), now + 101);
}

#[test]
fn a_later_end_of_a_cool_down_holds() {
    let mut world = World::up("[router]\ncooldown_ms = 100\ncredit_pause_ms = 5000", &[A]);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P1", "buy", 1_000_000, GTD);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P2", "buy", 1_000_000, GTD);
    world.decisions();
    world
        .at(10)
        .execution("A", "T-P1-1", ("E1", "8", "8", 0), "|103=3");
    let lines = world.decisions();
    assert_eq!(
        values(&lines, &["event", "pair", "code"]),
        ["cooldown EUR/USD C", "cooldown USD/JPY C"]
    );
    assert_eq!(reject(&mut world, 20, "T-P2-1", "|103=30"), 5010);
}

#[test]
fn a_bank_that_cannot_deal_at_all_is_disabled_until_the_desk_enables_it() {
    let mut world = World::up("", &[A]);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P1", "buy", 1_000_000, GTD);
    world.decisions();
    world
        .at(10)
        .execution("A", "T-P1-1", ("E1", "8", "8", 0), "|103=1");
    assert_eq!(
        values(&world.decisions()[..1], &["event", "bank", "pair", "code"]),
        ["disabled A EUR/USD F"]
    );
    world.book("A", &[(-2, 5000)], &[(2, 5000)]).wait(30_000);
    assert_eq!(world.sent(), 1);
    world.decisions();
    world.desk("{\"op\":\"enable\",\"bank\":\"A\",\"pair\":\"EUR/USD\"}");
    assert_eq!(
        (values(&world.decisions()[..1], &["event"]), world.sent()),
        (vec!["enabled".into()], 2)
    );
}

#[test]
fn an_end_that_was_unknown_or_asked_for_cools_nothing_down() {
    let mut world = World::up("", &[("A", "answer_ms = 100")]);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P1", "buy", 1_000_000, GTD)
        .wait(100);
    assert_eq!(
        world
            .decisions()
            .iter()
            .filter(|line| line.contains("cooldown"))
            .count(),
        1
    );
    world.execution("A", "T-P1-1", ("E1", "8", "8", 0), "|103=30");
    assert_eq!(
        world
            .decisions()
            .iter()
            .filter(|line| line.contains("cooldown"))
            .count(),
        0
    );
    let mut world = World::up("", &[A]);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P1", "buy", 1_000_000, GTD);
    world.desk("{\"op\":\"cancel\",\"id\":\"P1\"}").decisions();
    world.execution("A", "T-P1-1", ("E1", "4", "4", 0), "");
    assert_eq!(values(&world.decisions(), &["event"]), ["settled"]);
}

/// A bank that is silent or refuses while a cancel is outstanding is penalized as usual; a bank that cancels as
/// requested is not, and each failure of a bank counts once.
#[test]
fn a_bank_is_judged_while_a_cancel_is_out() {
    // The report after the cancel, the cool-down that follows, and the penalty of the bank's next order: 2 ticks a bad one of five.
    type Then = fn(&mut World);
    let rows: [(Then, &[&str], i64); 9] = [
        (|world| report(world, "4", ""), &[], 0),
        (|world| report(world, "C", "|103=32"), &[], 0),
        (|world| report(world, "8", "|103=30"), &["A-1"], 20),
        (|world| report(world, "8", "|103=25"), &["C", "C"], 20),
        (
            |world| {
                world.report("A", "35=j|372=D|379=T-P1-1");
            },
            &["E"],
            20,
        ),
        (
            |world| {
                world.wait(300);
            },
            &["null"],
            20,
        ),
        (
            |world| {
                world.line("A.o !down").line("A.o !up");
            },
            &["null"],
            20,
        ),
        (
            |world| {
                world.report("A", "35=9|11=T-P1-2|41=T-P1-1|39=8|102=1");
            },
            &["null"],
            20,
        ),
        // The bank's cancel does not count as requested any more.
        (
            |world| {
                world.report("A", "35=9|11=T-P1-2|41=T-P1-1|39=0|102=0");
                report(world, "4", "");
            },
            &["B"],
            20,
        ),
    ];
    for (number, (then, codes, penalty)) in rows.into_iter().enumerate() {
        let settings = "[router]\ncooldown_ms = 10\ncredit_pause_ms = 10\nreject_cost = 100\nhold_ms_per_tenth = 1000000";
        let mut world = World::up(settings, &[("A", "answer_ms = 200")]);
        world.book("A", &[(-2, 5000)], &[(2, 5000)]);
        world.parent("P1", "buy", 1_000_000, GTD).at(5);
        world
            .desk("{\"op\":\"cancel\",\"id\":\"P1\"}")
            .at(6)
            .decisions();
        then(&mut world);
        let cooled = |world: &mut World| {
            let mut lines = world.decisions();
            lines.retain(|line| line.contains("cooldown"));
            values(&lines, &["code"])
        };
        assert_eq!(cooled(&mut world), codes, "row {number}");
        // The end of an order that was unknown does not count again.
        world.execution("A", "T-P1-1", ("E9", "8", "8", 0), "|103=30");
        assert!(cooled(&mut world).is_empty(), "row {number}");
        world.at(1_000).book("A", &[(-2, 5000)], &[(2, 5000)]);
        world.parent("P2", "buy", 1_000_000, GTD);
        let lines = world.decisions();
        let plan = lines.iter().find(|line| line.contains("\"plan\""));
        let leg = format!(",null,{penalty}]]");
        assert!(
            plan.is_some_and(|plan| plan.contains(&leg)),
            "row {number}: {lines:?}"
        );
    }
}

/// A report of the order T-P1-1 that ends it without a fill.
fn report(world: &mut World, status: &str, more: &str) {
    world.execution("A", "T-P1-1", ("E1", status, status, 0), more);
}

#[test]
fn a_parent_pauses_by_its_urgency_after_an_unfilled_order() {
    for (urgency, pause) in [(0, 50), (1, 10), (2, 0)] {
        let mut world = World::up("", &[A, ("B", "")]);
        world.book("A", &[(-2, 5000)], &[(2, 5000)]);
        world.parent(
            "P1",
            "buy",
            1_000_000,
            &format!("{GTD},\"urgency\":{urgency}"),
        );
        world.book("B", &[(-2, 5000)], &[(2, 5000)]);
        world
            .at(100)
            .execution("A", "T-P1-1", ("E1", "8", "8", 0), "|103=30");
        assert_eq!(world.sent(), 1 + usize::from(pause == 0), "{urgency}");
        if pause > 0 {
            world.wait(99 + pause);
            assert_eq!(world.sent(), 1, "{urgency}");
            world.wait(100 + pause);
        }
        assert_eq!(world.sent(), 2, "{urgency}");
    }
}

#[test]
fn a_parent_ends_at_its_deadline_and_its_orders_are_left_alone() {
    let mut world = World::up("", &[A]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]).parent(
        "P1",
        "buy",
        1_000_000,
        ",\"deadline_ms\":100",
    );
    world.orders();
    world.wait(99);
    assert!(reasons(&mut world).is_empty());
    world.wait(100);
    assert_eq!(
        (reasons(&mut world), world.orders().len()),
        (vec!["ended deadline".into()], 0)
    );
}

#[test]
fn a_bank_that_rejects_and_holds_loses_its_place() {
    let settings = "[router]\ncooldown_ms = 0\nretry_ms = [0, 0, 0]\nreject_cost = 100\nwindow = 2";
    let mut world = World::up(settings, &[A, ("B", "")]);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .book("B", &[(-3, 5000)], &[(3, 5000)]);
    world.parent("P1", "buy", 1_000_000, ",\"tif\":\"ioc\"");
    world
        .at(60)
        .execution("A", "T-P1-1", ("E1", "8", "8", 0), "|103=30");
    world.decisions();
    // One reject of at least five is 20 tenths, 60 ms of hold one tenth more: two ticks and a tenth, against one tick.
    world
        .at(61)
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .parent("P2", "buy", 6_000_000, GTD);
    let plan = world
        .decisions()
        .into_iter()
        .find(|line| line.contains("\"plan\""))
        .expect("a plan");
    assert!(plan.contains("[[\"T-P2-1\",\"B\",5000000,\"1.10003\",null,0],[\"T-P2-2\",\"A\",1000000,\"1.10002\",null,21]]"), "{plan}");
    // Without weight the order is the first again; outcomes outside the window do not count.
    world.at(62).book("A", &[(-2, 5000)], &[(2, 5000)]).parent(
        "P3",
        "buy",
        1_000_000,
        &format!("{GTD},\"urgency\":0"),
    );
    assert_eq!(values(&world.orders().split_off(8)[..1], &["bank"]), ["A"]);
    for (order, exec) in [("T-P2-2", "E2"), ("T-P3-1", "E3")] {
        world.execution(
            "A",
            order,
            (exec, "F", "2", 1_000_000),
            "|32=1000000|31=1.10002",
        );
    }
    world
        .at(63)
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .book("B", &[(-3, 5000)], &[(3, 5000)])
        .parent("P4", "buy", 1_000_000, GTD);
    let line = world.orders().pop().expect("the order of P4");
    assert_eq!(values(&[line], &["bank"]), ["A"]);
}

/// A rest of less than a lot ends its parent at once, and fills beyond a parent make no worst case smaller.
#[test]
fn a_rest_of_less_than_a_lot_ends_its_parent() {
    let mut world = World::up("", &[("A", "")]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world
        .at(10)
        .parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
    world.decisions();
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "4", 999_001),
        "|32=999001|31=1.10002|151=0",
    );
    let ended = world.decisions().pop().expect("the end");
    assert!(
        ended.contains("\"reason\":\"rest\",\"filled\":999001"),
        "{ended}"
    );
    world.positions();
    world.execution("A", "T-P1-1", ("E2", "F", "2", 1_000_000), "|32=999|31=1.1");
    assert_eq!(values(&world.positions(), &["worst_long"]), ["1000000"]);
}
