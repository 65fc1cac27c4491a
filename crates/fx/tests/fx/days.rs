//! Days of pairs and banks: quotes, orders, positions, credit and names over a roll.

use crate::world::{START_NS, World, config, values};
use touchline_fx::Setup;
use touchline_fx::sessions::Replay;

const A: (&str, &str) = ("A", "");
const GTD: &str = ",\"deadline_ms\":100000000";
const MONDAY: &str =
    "{\"op\":\"day\",\"pair\":\"EUR/USD\",\"trade\":\"20260105\",\"spot\":\"20260107\"}";
const TUESDAY: &str =
    "{\"op\":\"day\",\"pair\":\"EUR/USD\",\"trade\":\"20260106\",\"spot\":\"20260108\"}";

/// Two sessions of Monday, with a day if `has_days`.
fn monday(extra: &str, banks: &[(&str, &str)], has_days: bool) -> World {
    let mut world = World::new(&config(extra, banks));
    if has_days {
        world.desk(MONDAY);
    }
    for (name, _) in banks {
        world.line(&format!("{name}.q !up"));
        world.line(&format!("{name}.o !up"));
    }
    world
}

/// Orders that were sent, each with its ClOrdID and value date.
fn sent(world: &mut World) -> Vec<(String, u32)> {
    let orders = world.replay.engine().trading().orders().iter();
    orders
        .map(|order| (order.terms.id.to_string(), order.terms.value_date))
        .collect()
}

fn ask(world: &mut World, more: &str) {
    let entries = "268=2|269=0|278=a|270=1.09998|271=5000000|269=1|278=b|270=1.10002|271=5000000";
    world.quote("A", &format!("35=W|262=R|55=EUR/USD{more}|{entries}"));
}

#[test]
fn quotes_of_the_old_day_do_not_count_until_the_bank_quotes_again() {
    for more in ["|64=20260107", ""] {
        let mut world = monday("", &[A], true);
        ask(&mut world, more);
        assert!(world.tops()[1].is_some(), "{more}");
        world.at(1).desk(TUESDAY);
        assert_eq!(world.tops(), [None, None], "{more}");
        assert_eq!(
            world.decisions().last().map(String::as_str),
            Some(
                format!(
                    "{{\"t\":{},\"event\":\"day\",\"pair\":\"EUR/USD\",\"trade\":\"20260106\",\"spot\":\"20260108\"}}",
                    START_NS + 1_000_000
                )
                .as_str()
            )
        );
        // A bank without the roll is not usable, one that does not state dates is from its next message on.
        ask(world.at(2), more);
        assert_eq!(world.tops()[1].is_some(), more.is_empty(), "{more}");
        ask(world.at(3), "|64=20260108");
        assert!(world.tops()[1].is_some(), "{more}");
    }
}

/// A bank that changes its entries by their ids goes on to do so after the roll: an entry counts again when the bank changes it, with
/// what the change leaves out, but not for another value date.
#[test]
fn a_change_after_the_roll_keeps_what_it_leaves_out() {
    let change = |entry: &str| format!("35=X|262=R|268=1|279=1|278={entry}|55=EUR/USD");
    for (more, is_usable) in [
        ("270=1.10001", true),
        ("271=3000000", true),
        ("270=1.10001|64=20260108", true),
        ("270=1.10001|64=20260107", false),
    ] {
        let mut world = monday("", &[A], true);
        ask(&mut world, "");
        world.at(1).desk(TUESDAY);
        world.at(2).quote("A", &format!("{}|{more}", change("b")));
        let [bid, ask] = world.tops();
        assert_eq!(bid, None, "{more}: it was not changed");
        assert_eq!(ask.is_some(), is_usable, "{more}");
    }
    // A bank that rolls later: the date that a change leaves out is the one that the bank stated last.
    let mut world = monday("", &[A], true);
    ask(&mut world, "");
    world.at(1).desk(TUESDAY);
    for (more, expected) in [
        ("271=2000000|64=20260107", None),
        ("270=1.10001", None),
        ("270=1.10003|64=20260108", Some((3, 2000))),
        ("271=1000000", Some((3, 1000))),
    ] {
        world.quote("A", &format!("{}|{more}", change("b")));
        assert_eq!(world.tops()[1], expected, "{more}");
    }
    // The date of the last entry of a message is not that of the entries before it.
    let mut world = monday("", &[A], true);
    ask(&mut world, "");
    world.at(1).desk(TUESDAY);
    world.quote("A", &format!("{}|271=2000000|64=20260107", change("b")));
    let both = change("b").replace("268=1", "268=2");
    let last = "279=1|278=a|55=EUR/USD|270=1.09999|64=20260108";
    world.quote("A", &format!("{both}|270=1.10001|{last}"));
    let [bid, ask_of_b] = world.tops();
    assert!(bid.is_some());
    assert_eq!(ask_of_b, None);
    // An entry that was deleted, withdrawn, or replaced by a snapshot, or that is of an earlier session, is unknown.
    for end in [
        "35=X|262=R|268=1|279=2|278=b|55=EUR/USD",
        "35=Z|298=4",
        "35=W|262=R|55=EUR/USD|268=0",
        "",
    ] {
        let mut world = monday("", &[A], true);
        ask(&mut world, "");
        world.at(1).desk(TUESDAY);
        match end {
            "" => world.line("A.q !up"),
            message => world.quote("A", message),
        };
        world.quote("A", &format!("{}|270=1.10001", change("b")));
        assert_eq!(world.tops(), [None, None], "{end}");
    }
    // Mass quotes, whose fields are left out in the same way.
    let mut world = monday("", &[A], true);
    world.quote(
        "A",
        "35=i|296=1|302=1|295=1|299=m|188=1.09998|134=1000000|190=1.10002|135=1000000",
    );
    world.at(1).desk(TUESDAY);
    world.quote("A", "35=i|296=1|302=1|295=1|299=m|190=1.10001");
    assert_eq!(world.tops(), [None, Some((1, 1000))]);
}

/// A correction is booked at the value date of its order; that it is for another one is an alarm of its own.
#[test]
fn a_correction_to_another_value_date_is_an_alarm() {
    for (has_days, date, alarms) in [
        (true, "|64=20260108", vec!["correct", "correct_date"]),
        (true, "|64=20260107", vec!["correct"]),
        (true, "", vec!["correct"]),
        (false, "|64=20260108", vec!["correct"]),
    ] {
        let mut world = monday("", &[A], has_days);
        ask(&mut world, "");
        world.parent("P", "buy", 1_000_000, GTD);
        let order = sent(&mut world)[0].0.clone();
        let fill = "|32=1000000|31=1.10002|151=0";
        world
            .at(1)
            .execution("A", &order, ("E1", "F", "2", 1_000_000), fill);
        let correction = format!("|32=1000000|31=1.10003|151=0|19=E1{date}");
        world
            .at(2)
            .execution("A", &order, ("E2", "G", "2", 1_000_000), &correction);
        assert_eq!(world.alarms(), alarms, "{has_days} {date}");
    }
}

/// A parent goes on in the new day with other names and the new date; a late report of the old order is right with its own date,
/// and with today's refused.
#[test]
fn orders_have_the_date_of_their_day_and_reports_are_judged_by_it() {
    let mut world = monday("", &[A], true);
    ask(&mut world, "");
    world.parent("P", "buy", 6_000_000, GTD);
    world.at(1).desk(TUESDAY);
    ask(world.at(2), "|64=20260108");
    let orders = sent(&mut world);
    assert_eq!(orders[0], ("Td260105-P-1".to_owned(), 20_260_107));
    assert_eq!(orders[1], ("Td260106-P-2".to_owned(), 20_260_108));
    let trade = "|32=1000000|31=1.10002|151=4000000|64=";
    world.at(3).execution(
        "A",
        "Td260105-P-1",
        ("E1", "F", "1", 1_000_000),
        &format!("{trade}20260107"),
    );
    assert_eq!(world.order(0).1, 1_000_000);
    assert_eq!(world.alarms(), [""; 0]);
    world.at(4).execution(
        "A",
        "Td260105-P-1",
        ("E2", "F", "1", 2_000_000),
        &format!("{trade}20260108"),
    );
    assert_eq!(world.order(0).0, "Disputed");
    assert_eq!(world.alarms(), ["dk_Z"]);
    let lines = world.positions();
    let last = lines.last().expect("a position");
    assert!(
        last.ends_with("\"dates\":[[\"20260107\",1000000,\"-1100020\"]]}"),
        "{last}"
    );
}

/// Positions by value date are the fills of the orders of that date; the sum is the position. Zero parts are left out once their date
/// has passed.
#[test]
fn positions_are_kept_by_value_date() {
    let mut world = monday("", &[A], true);
    let dates = |world: &World| {
        let positions = world.replay.engine().trading().positions();
        let dates = positions.dates(0).iter();
        dates
            .map(|(date, part)| (*date, part.units))
            .collect::<Vec<_>>()
    };
    for (step, (day, side, id)) in [
        (MONDAY, "buy", "P1"),
        (MONDAY, "sell", "P2"),
        (TUESDAY, "buy", "P3"),
    ]
    .into_iter()
    .enumerate()
    {
        let at = step as u64 * 10;
        if day == TUESDAY {
            world.at(at).desk(day);
        }
        ask(world.at(at + 1), "");
        world.parent(id, side, 1_000_000, GTD);
        let order = sent(&mut world).last().expect("an order").0.clone();
        let price = if side == "buy" { "1.10002" } else { "1.09998" };
        let more = format!("|32=1000000|31={price}|151=0");
        let exec = format!("E{step}");
        world
            .at(at + 2)
            .execution("A", &order, (&exec, "F", "2", 1_000_000), &more);
    }
    assert_eq!(dates(&world), [(20_260_107, 0), (20_260_108, 1_000_000)]);
    assert_eq!(
        world.replay.engine().trading().positions().of(0).units,
        1_000_000
    );
    // Its cash is a result that was not zero, and stays.
    let later = TUESDAY
        .replace("20260106", "20260109")
        .replace("20260108", "20260113");
    world.at(100).desk(&later);
    assert_eq!(dates(&world), [(20_260_107, 0), (20_260_108, 1_000_000)]);
}

#[test]
fn parents_end_with_their_day_where_that_is_said() {
    let mut world = monday("[risk]\nat_roll = \"end\"", &[A], true);
    world.parent("P", "buy", 1_000_000, GTD);
    world.at(1).desk(TUESDAY);
    let ended = world.decisions();
    let ended: Vec<_> = ended
        .into_iter()
        .filter(|line| line.contains("ended"))
        .collect();
    assert_eq!(values(&ended, &["parent", "reason"]), ["P roll"]);
}

#[test]
fn a_pair_without_a_spot_date_gets_no_orders_until_it_has_one() {
    let mut world = monday("", &[A], true);
    let none = TUESDAY.replace("\"20260108\"", "null");
    world.at(1).desk(&none);
    ask(world.at(2), "");
    world.parent("P", "buy", 1_000_000, GTD);
    assert_eq!(world.sent(), 0);
    assert_eq!(world.tops(), [None, None]);
    world.at(3).desk(TUESDAY);
    ask(world.at(4), "");
    assert_eq!(world.sent(), 1);
}

/// A kill of one day is set on the next, and is not lifted by it.
#[test]
fn a_kill_outlives_its_day() {
    let mut world = monday("", &[A], true);
    world.desk("{\"op\":\"kill\",\"by\":\"ann\"}");
    world.at(1).desk(TUESDAY);
    ask(world.at(2), "");
    world.parent("P", "buy", 1_000_000, GTD);
    assert!(world.replay.engine().trading().is_killed());
    assert_eq!(world.sent(), 0);
}

/// Buys from bank A until its credit is used up; returns the quantity of the orders.
fn buy_all(world: &mut World, id: &str, side: &str) -> i64 {
    let before = world.sent();
    world.parent(id, side, 20_000_000, ",\"tif\":\"ioc\"");
    let orders = world.replay.engine().trading().orders().iter().skip(before);
    orders.map(|order| order.terms.quantity).sum()
}

fn fill_all(world: &mut World) {
    let orders = world.replay.engine().trading().orders().iter().enumerate();
    let open: Vec<_> = orders
        .filter(|(_, order)| !order.state().is_end())
        .map(|(number, order)| (number, order.terms))
        .collect();
    for (number, terms) in open {
        let (quantity, price) = (terms.quantity, 110_000 + terms.price - 110_000);
        let more = format!(
            "|32={quantity}|31={}.{:05}|151=0",
            price / 100_000,
            price % 100_000
        );
        let (order, exec) = (terms.id.to_string(), format!("E{number}"));
        world.execution("A", &order, (&exec, "F", "2", quantity), &more);
    }
}

/// Credit by day is fresh with the bank's day but for orders that are out; by value date it stays used until that has passed.
#[test]
fn credit_is_free_again_with_the_day_or_with_the_value_date() {
    let day = |trade: &str| format!("{{\"op\":\"bank_day\",\"bank\":\"A\",\"trade\":\"{trade}\"}}");
    for (more, expected) in [
        ("credit_usd = 3000000", [3_000_000, 0, 3_000_000, 0]),
        (
            "credit_usd = 3000000\ncredit_by = \"value_date\"",
            [3_000_000, 0, 0, 3_000_000],
        ),
    ] {
        let bank = [("A", more)];
        let mut world = monday("", &bank, true);
        let mut found = Vec::new();
        for (step, trade) in ["", "", "20260106", "20260108"].into_iter().enumerate() {
            let at = 1_000 * step as u64;
            if !trade.is_empty() {
                world.at(at).desk(&day(trade));
            }
            ask(world.at(at + 1), "");
            found.push(buy_all(&mut world, &format!("P{step}"), "buy"));
            if step < 2 {
                fill_all(world.at(at + 2));
            }
        }
        // By day the orders of Tuesday are out on Thursday, and use its credit, too.
        assert_eq!(found, expected, "{more}");
    }
}

/// Net credit: fills of the other side make room, open orders of it do not.
#[test]
fn net_credit_counts_what_is_left_of_both_sides() {
    let bank = [("A", "credit_usd = 3000000\ncredit = \"net\"")];
    let mut world = monday("", &bank, true);
    ask(&mut world, "");
    assert_eq!(buy_all(&mut world, "P1", "buy"), 3_000_000);
    assert_eq!(buy_all(&mut world, "P2", "sell"), 3_000_000);
    assert_eq!(buy_all(&mut world, "P3", "buy"), 0);
    fill_all(world.at(1));
    ask(world.at(2), "");
    assert_eq!(buy_all(&mut world, "P4", "buy"), 3_000_000);
}

/// Without a day no output has dates, and names are those of before.
#[test]
fn a_session_without_days_has_none_of_their_outputs() {
    let mut world = monday("", &[A], false);
    ask(&mut world, "");
    world.parent("P", "buy", 1_000_000, GTD);
    assert_eq!(sent(&mut world)[0].0, "T-P-1");
    fill_all(world.at(1));
    let lines = [world.positions(), world.decisions()].concat();
    assert!(
        !lines.iter().any(|line| line.contains("dates")),
        "{lines:?}"
    );
}

#[test]
fn days_that_are_none_are_refused() {
    let setup = Setup::parse(&config("", &[A])).expect("a configuration");
    for wrong in [
        MONDAY.replace("EUR/USD", "EUR/CHF"),
        MONDAY.replace("20260105", "20260230"),
        MONDAY.replace("20260107", "2026"),
    ] {
        let mut replay = Replay::new(setup.clone());
        let error = replay
            .line(&format!("{START_NS} - {wrong}"))
            .expect_err("no day");
        assert!(error.to_string().contains("a day has"), "{error}");
    }
}

/// An order that the journal lost has the date of the day in its name, also behind a prefix with a dash.
#[test]
fn an_adopted_order_has_the_date_of_its_day() {
    for prefix in ["T", "FX-1"] {
        let text = config("", &[A]).replace("prefix = \"T\"", &format!("prefix = \"{prefix}\""));
        let mut world = World::new(&text);
        world.desk(MONDAY);
        world.at(10).desk("{\"op\":\"reboot\",\"epoch\":3}");
        world.desk(TUESDAY);
        world.line("A.q !up").line("A.o !up");
        let id = format!("{prefix}e2d260105-P9-1");
        let more = "|55=EUR/USD|54=1|38=1000000|44=1.10002|6=1.10001|32=1000000|31=1.10001";
        world.execution("A", &id, ("E1", "F", "2", 1_000_000), more);
        assert_eq!(world.alarms(), ["adopted"], "{prefix}");
        assert_eq!(sent(&mut world), [(id, 20_260_107)]);
    }
}
