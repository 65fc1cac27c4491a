//! After a reboot of the host: banks are asked for all their orders, and those that the journal lost are adopted.

use crate::world::{World, values};
use touchline_types::Id;

const AT: &str = "|55=EUR/USD|54=1|38=1000000|44=1.10002|6=1.10001";

/// Banks A and B after a reboot in which epoch 3 began, with quotes and without order sessions; B without settings has answered.
fn rebooted(a: &str, b: &str) -> World {
    let mut world = World::up("", &[("A", a), ("B", b)]);
    world.at(10).desk("{\"op\":\"reboot\",\"epoch\":3}");
    world.line("A.q !up").line("B.q !up");
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    if b.is_empty() {
        world.line("B.o !up");
        no_orders(&mut world, "B", "T-M1");
    }
    world.orders();
    world.decisions();
    world
}

fn no_orders(world: &mut World, bank: &str, request: &str) {
    let more = format!("|584={request}|911=0|912=Y");
    world.execution(bank, "NONE", ("0", "I", "8", 0), &more);
}

/// Name of the last request for all orders.
fn mass_status(lines: &[String]) -> String {
    let name = lines.iter().rev().find_map(|line| {
        let (_, name) = line.split_once("|584=")?;
        name.split('|').next()
    });
    name.expect("a request").to_owned()
}

fn position(world: &World) -> (i64, i128) {
    let position = world.replay.engine().trading().positions().of(0);
    (position.units, position.cash)
}

#[test]
fn no_order_leaves_before_each_bank_has_said_which_orders_it_has() {
    for recover in ["", "recover = \"AF\""] {
        let mut world = rebooted(recover, "");
        world.at(20).line("A.o !up");
        let lines = world.orders();
        assert!(
            lines.len() == 1 && lines[0].contains("35=AF|584=T-M2|585=7"),
            "{lines:?}"
        );
        world.parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
        assert_eq!(world.sent(), 0);
        // A request on a lost session is sent again on the next one.
        world.at(30).line("A.o !down").line("A.o !up");
        no_orders(&mut world, "A", "T-M2");
        assert_eq!(
            world.sent(),
            0,
            "the answer to a question of the session before"
        );
        no_orders(&mut world, "A", "T-M3");
        assert_eq!(world.sent(), 1);
        // The bank has answered: the next reconnect sends no request.
        world.execution("A", "T-P1-1", ("E", "4", "4", 0), "");
        world.orders();
        world.at(40).line("A.o !down").line("A.o !up");
        assert!(world.orders().iter().all(|line| !line.contains("35=AF")));
    }
}

/// A bank whose rules drop orders with a connection answers no question: it has answered when everything that was missed has come and
/// a last look is over.
#[test]
fn a_bank_that_drops_orders_has_answered_once_all_has_come() {
    let mut world = rebooted("after_loss = \"canceled\"\nanswer_ms = 100", "");
    world.at(20).line("A.o !up");
    world.parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
    world.line("A.o !settled");
    world.wait(119);
    assert_eq!(world.sent(), 0, "a last look may go on");
    world.wait(120);
    assert_eq!(world.sent(), 1);
    world.wait(10_000);
    let alarms = world.alarms();
    assert!(!alarms.contains(&"no_mass_status".to_owned()), "{alarms:?}");
}

/// Where messages are missing, also of a connection before, its rule answers for no order: the bank's list does, or the desk.
#[test]
fn no_rule_answers_for_orders_whose_reports_were_lost() {
    let enable = "{\"op\":\"enable\",\"bank\":\"A\",\"pair\":\"EUR/USD\"}";
    for is_listed in [false, true] {
        let mut world = rebooted("after_loss = \"canceled\"\nanswer_ms = 100", "");
        world.at(20).line("A.o !up");
        world.parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
        world.line("A.o !doubted").line("A.o !settled");
        world.wait(300);
        assert_eq!(world.sent(), 0, "messages are missing");
        world.at(400).line("A.o !down").line("A.o !up");
        world.line("A.o !settled");
        world.wait(3_009);
        assert_eq!((world.alarms(), world.sent()), (vec![], 0));
        world.wait(3_010);
        assert_eq!(world.alarms(), ["no_mass_status"]);
        // The journal loses its end once more.
        world.at(3_100).desk("{\"op\":\"reboot\",\"epoch\":4}");
        world.line("A.q !up");
        world.book("A", &[(-2, 5000)], &[(2, 5000)]);
        world.line("A.o !up").line("A.o !settled");
        world.line("B.o !up");
        let request = mass_status(&world.orders());
        no_orders(&mut world, "B", &request);
        world.parent("P2", "buy", 1_000_000, ",\"deadline_ms\":60000");
        world.wait(9_000);
        assert_eq!(world.sent(), 0, "{is_listed}");
        assert_eq!(world.alarms(), ["no_mass_status"]);
        match is_listed {
            true => {
                world.orders();
                world.line("A.o !down").line("A.o !up");
                let request = mass_status(&world.orders());
                no_orders(&mut world, "A", &request);
            }
            false => {
                world.desk(enable);
            }
        }
        assert_eq!(world.sent(), 1, "{is_listed}");
    }
}

/// A session that ended whole leaves no order in doubt, because its orders were asked for before: those that the journal lost were not.
#[test]
fn no_rule_answers_behind_an_end_of_a_session_before_the_answer() {
    for is_closing in [false, true] {
        let mut world = rebooted("after_loss = \"canceled\"\nanswer_ms = 100", "");
        world.at(20).line("A.o !up");
        if is_closing {
            world.line("A.o !closing").line("A.o !closed");
        }
        world.at(30).line("A.o !down");
        world.at(400).line("A.o !up").line("A.o !settled");
        world.parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
        world.wait(1_000);
        let expected = if is_closing { 0 } else { 1 };
        assert_eq!(world.sent(), expected, "{is_closing}");
    }
}

/// An immediate order ends at once while banks are asked: it is not traded at a later price. An order with a deadline waits.
#[test]
fn an_attempt_does_not_wait_until_the_banks_have_answered() {
    for tif in ["ioc", "fok"] {
        let mut world = rebooted("", "");
        world.at(20).line("A.o !up");
        world.orders();
        world.parent("P1", "buy", 1_000_000, &format!(",\"tif\":\"{tif}\""));
        let lines = world.decisions();
        let end = lines.iter().find(|line| line.contains("\"ended\""));
        let end = end.unwrap_or_else(|| panic!("{tif}: {lines:?}"));
        assert!(end.contains(&format!("\"reason\":\"{tif}\"")), "{end}");
        no_orders(&mut world, "A", "T-M2");
        assert_eq!(world.sent(), 0, "{tif}");
        world.parent("P2", "buy", 1_000_000, &format!(",\"tif\":\"{tif}\""));
        assert_eq!(world.sent(), 1, "{tif}");
    }
}

/// An adopted order is known by the bank's word alone: reports that describe it with two quantities leave it to the desk.
#[test]
fn an_adopted_order_of_two_quantities_is_disputed() {
    let other = AT.replace("38=1000000", "38=1001000");
    for (more, status, state) in [
        (AT, ("0", "0", 0), "New"),
        // The traded quantity is within both order quantities.
        (&*other, ("0", "0", 0), "Disputed"),
        (&*other, ("8", "8", 1_001_000), "Disputed"),
    ] {
        let mut world = rebooted("", "");
        world.at(20).line("A.o !up");
        world.execution("A", "Te2-P9-1", ("E1", "0", "0", 0), AT);
        world.decisions();
        let (kind, status, cum) = status;
        world.execution("A", "Te2-P9-1", ("E2", kind, status, cum), more);
        assert_eq!(world.order(0).0, state, "{more}");
        assert_eq!(position(&world), (0, 0), "{more}");
        let expected: &[&str] = if state == "New" { &[] } else { &["dk_C"] };
        assert_eq!(world.alarms(), expected, "{more}");
    }
}

/// The desk resolved an adopted order: a status with another quantity books nothing more.
#[test]
fn an_adopted_order_that_was_resolved_is_not_grown_by_another_quantity() {
    let other = AT.replace("38=1000000", "38=999000");
    for (more, booked, what) in [
        (AT, 1_000_000, "fill_after_end"),
        (&*other, 500_000, "dk_C"),
    ] {
        let mut world = rebooted("", "");
        world.at(20).line("A.o !up");
        world.execution("A", "Te2-P9-1", ("E1", "0", "0", 0), AT);
        world.execution("A", "Te2-P9-1", ("E2", "4", "2", 500_000), AT);
        world.desk(r#"{"op":"resolve","clordid":"Te2-P9-1","cum":500000,"price":"1.10000"}"#);
        world.decisions();
        world.execution("A", "Te2-P9-1", ("E3", "I", "4", 1_000_000), more);
        assert_eq!(position(&world).0, booked, "{more}");
        assert_eq!(world.alarms(), [what], "{more}");
    }
}

#[test]
fn a_bank_that_does_not_answer_waits_for_the_desk() {
    let enable = "{\"op\":\"enable\",\"bank\":\"A\",\"pair\":\"EUR/USD\"}";
    let buy = |world: &mut World| {
        world.parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
        world.decisions();
    };
    // The bank does not answer: the desk is called at the end of all tries, and the bank is not released before.
    let mut world = rebooted("status_ms = 50\nstatus_tries = 2", "");
    world.at(20).line("A.o !up");
    buy(&mut world);
    world.desk(enable).wait(109);
    assert_eq!((world.alarms(), world.sent()), (vec![], 0));
    world.wait(110);
    let lines = world.decisions();
    assert_eq!(values(&lines, &["what", "bank"]), ["no_mass_status A"]);
    world.orders();
    world.wait(1_000);
    let asked = world.orders();
    assert!(asked.len() > 5 && asked.iter().all(|line| line.contains("35=AF")));
    assert_eq!((world.alarms(), world.sent()), (vec![], 0));
    // A late answer still counts.
    let mut late = rebooted("status_ms = 50\nstatus_tries = 2", "");
    late.at(20).line("A.o !up");
    buy(&mut late);
    late.wait(1_000);
    no_orders(&mut late, "A", "T-M02");
    assert_eq!(late.sent(), 0, "a name that no question had");
    no_orders(&mut late, "A", "T-M2");
    assert_eq!(late.sent(), 1);
    // The desk has asked the bank. A command that may have been sent before the call, at 110 ms, only enables the pair.
    world.desk(enable).at(2_110).desk(enable);
    assert_eq!(world.sent(), 0, "a routine command of before");
    world.at(2_111).desk(enable);
    assert_eq!(world.sent(), 1);
    // The bank refuses the request, or its settings state that it would.
    let mut refused = rebooted("", "mass_status = false");
    refused.at(20).line("A.o !up");
    buy(&mut refused);
    refused.report("A", "35=j|372=AF|380=3");
    assert_eq!(refused.alarms(), ["no_mass_status"]);
    refused.orders();
    refused.line("B.o !up");
    assert_eq!(refused.alarms(), ["no_mass_status"]);
    assert!(refused.orders().is_empty(), "not asked");
    refused.desk(enable);
    refused.desk(&enable.replace("\"A\"", "\"B\""));
    assert_eq!(refused.sent(), 0, "in the instant of the call");
    refused.at(2_021).desk(enable);
    assert_eq!(refused.sent(), 0, "nobody has asked B");
    refused.desk(&enable.replace("\"A\"", "\"B\""));
    assert_eq!(refused.sent(), 1);
    // A bank whose session does not come up.
    let mut absent = rebooted("status_ms = 50\nstatus_tries = 2", "");
    absent.book("B", &[(-2, 5000)], &[(2, 5000)]);
    buy(&mut absent);
    absent.wait(1_000);
    assert_eq!(
        (absent.alarms(), absent.sent()),
        (vec!["no_mass_status".to_owned()], 0)
    );
    absent.at(2_200).desk(enable);
    assert_eq!(absent.sent(), 1);
}

#[test]
fn an_order_that_the_journal_lost_is_taken_over_with_its_fills() {
    let mut world = rebooted("answer_ms = 100", "");
    world.at(20).line("A.o !up").orders();
    let more = format!("{AT}|151=600000|584=T-M2|911=1|912=Y");
    world.execution("A", "Te2-P9-1", ("0", "I", "1", 400_000), &more);
    assert_eq!(world.alarms(), ["adopted"]);
    assert_eq!(world.order(0), ("Partial".into(), 400_000, 600_000));
    assert_eq!(position(&world), (400_000, -400_000 * 1_100_010_000));
    let fills = world.fills();
    assert_eq!(
        values(&fills, &["clordid", "parent", "kind", "exec_id"]),
        ["Te2-P9-1 adopted-0 status ST-M2-Te2-P9-1"]
    );
    let positions = world.positions();
    assert_eq!(values(&positions, &["worst_long"]), ["1000000"]);
    // The original of that fill comes again, and then a new one.
    let trade = |world: &mut World, exec_id: &str, cum: i64, last: i64| {
        let more = format!("{AT}|32={last}|31=1.10001");
        world.execution("A", "Te2-P9-1", (exec_id, "F", "1", cum), &more);
    };
    trade(&mut world, "E1", 400_000, 400_000);
    assert_eq!(position(&world).0, 400_000);
    trade(&mut world, "E2", 500_000, 100_000);
    assert_eq!(position(&world).0, 500_000);
    // The adopted order is canceled by the name of its parent, asked for, and resolved, as any order; no further order
    // of the parent is sent.
    world.orders();
    world.desk("{\"op\":\"cancel\",\"id\":\"adopted-0\"}");
    let lines = world.orders();
    assert!(
        lines[0].contains("35=F|11=T-adopted-0-1|38=1000000|41=Te2-P9-1"),
        "{lines:?}"
    );
    world.wait(200);
    assert!(
        world
            .orders()
            .iter()
            .any(|line| line.contains("35=H|11=Te2-P9-1"))
    );
    world.desk("{\"op\":\"resolve\",\"clordid\":\"Te2-P9-1\",\"cum\":500000}");
    assert_eq!(world.order(0), ("Canceled".into(), 500_000, 0));
    let lines = world.decisions();
    assert!(
        lines
            .iter()
            .any(|line| line.contains("\"settled\",\"parent\":\"adopted-0\"")),
        "{lines:?}"
    );
    world.wait(5_000);
    assert_eq!(world.sent(), 1);
}

#[test]
fn only_an_order_of_an_earlier_epoch_is_adopted_and_only_after_a_reboot() {
    let trade = |world: &mut World, id: &str| {
        let more = format!("{AT}|32=1000000|31=1.10001");
        world.execution("A", id, ("E1", "F", "2", 1_000_000), &more);
        world.alarms()
    };
    // Without a reboot nothing can be lost.
    let mut world = World::up("", &[("A", ""), ("B", "")]);
    assert_eq!(trade(world.at(10), "Te2-P9-1"), ["dk_D"]);
    for (id, alarm) in [
        ("Te2-P9-1", "adopted"),
        // The report of a cancel names the order in 41; here the names that no order can have.
        ("Te3-P9-1", "dk_D"),
        ("Te30-P9-1", "dk_D"),
        ("T-P9-1", "dk_D"),
        ("Ue2-P9-1", "dk_D"),
        ("Te2-P9", "dk_D"),
        ("Te2-P9-x", "dk_D"),
        ("Te-P9-1", "dk_D"),
    ] {
        let mut world = rebooted("", "");
        world.at(20).line("A.o !up");
        assert_eq!(trade(&mut world, id), [alarm], "{id}");
        let units = if alarm == "adopted" { 1_000_000 } else { 0 };
        assert_eq!(position(&world).0, units, "{id}");
    }
    // The report of a cancel has the name in 41.
    let mut world = rebooted("", "");
    world.at(20).line("A.o !up");
    let more = format!("{AT}|41=Te2-P9-1");
    world.execution("A", "Te2-P9-2", ("E1", "4", "4", 0), &more);
    assert_eq!(world.alarms(), ["adopted"]);
    assert_eq!(world.order(0), ("Canceled".into(), 0, 0));
    // The bank's answer "unknown order" (103=5) does not make the engine adopt an order.
    let more = "|55=EUR/USD|54=1|103=5";
    world.execution("A", "Te2-P8-1", ("0", "I", "8", 0), more);
    assert_eq!((world.alarms(), world.sent()), (vec![], 1));
    // A report that does not describe its order, or one beyond it.
    let bad = [
        "|54=1|38=1000000",
        "|55=GBP/USD|54=1",
        "|55=EUR/USD",
        "|55=EUR/USD|54=1|38=10|44=1.1",
    ];
    for more in bad {
        world.execution("A", "Te2-P7-1", ("0", "I", "2", 1_000_000), more);
        assert_eq!(
            (world.alarms(), world.sent()),
            (vec!["not_adopted".to_owned()], 1),
            "{more}"
        );
    }
    // Another bank's order is not adopted a second time.
    world.line("B.o !up");
    let more = format!("{AT}|32=1000000|31=1.10001");
    world.execution("B", "Te2-P9-1", ("E1", "F", "2", 1_000_000), &more);
    assert_eq!((world.alarms(), world.sent()), (vec!["dk_D".to_owned()], 1));
}

/// The desk repeats commands without an answer: the name of such a parent is the name of orders that were executed.
#[test]
fn a_parent_whose_orders_were_lost_is_not_traded_again() {
    let mut world = rebooted("", "");
    let buy = |world: &mut World, id: &str| {
        world.parent(id, "buy", 1_000_000, ",\"deadline_ms\":60000");
        values(&world.decisions()[..1], &["event", "parent"])
    };
    assert_eq!(
        buy(&mut world, "P9"),
        ["accepted P9"],
        "its order is not known"
    );
    world.at(20).line("A.o !up");
    for id in ["Te2-P9-1", "Te2-P8-1"] {
        let more = format!("{AT}|32=1000000|31=1.10001");
        world.execution("A", id, (id, "F", "2", 1_000_000), &more);
    }
    let lines = world.decisions();
    assert!(
        lines
            .iter()
            .any(|line| line.contains("\"ended\",\"parent\":\"P9\"") && line.contains("restart")),
        "{lines:?}"
    );
    no_orders(&mut world, "A", "T-M2");
    world.wait(5_000).decisions();
    assert_eq!(buy(&mut world, "P8"), ["refused P8"]);
    assert_eq!(world.sent(), 2);
    assert_eq!(buy(&mut world, "P7"), ["accepted P7"]);
}

/// Order `id` is open at the bank, which reports it unasked.
fn open_order(world: &mut World, bank: &str, id: &str) {
    let more = format!("{AT}|151=1000000");
    world.execution(bank, id, ("0", "I", "0", 0), &more);
    assert_eq!(world.alarms(), ["adopted"], "{id}");
}

/// Names of the orders that a cancel of P9 cancels. Whether there are any is known before it is made.
fn canceled(world: &mut World) -> Vec<String> {
    let parents = world.replay.engine().trading().parents();
    let is_any = parents.to_cancel(&Id::lossy(b"P9")).next().is_some();
    world.orders();
    world.desk("{\"op\":\"cancel\",\"id\":\"P9\"}");
    let lines = world.orders();
    let cancels = lines.iter().filter(|line| line.contains("35=F|"));
    let names = cancels.map(|line| {
        let (_, name) = line.split_once("|41=").expect("the order's name");
        name.split('|').next().expect("text").to_owned()
    });
    let names: Vec<String> = names.collect();
    assert_eq!(is_any, !names.is_empty(), "{lines:?}");
    names
}

#[test]
fn adopted_orders_are_canceled_by_the_name_of_their_parent() {
    // The journal has neither the parent nor its orders, at two banks; another parent's order stays.
    let mut lost = rebooted("", "");
    lost.at(20).line("A.o !up");
    assert!(canceled(&mut lost).is_empty());
    open_order(&mut lost, "A", "Te2-P9-1");
    open_order(&mut lost, "A", "Te2-P8-1");
    open_order(&mut lost, "B", "Te2-P9-2");
    assert_eq!(canceled(&mut lost), ["Te2-P9-1", "Te2-P9-2"]);
    // The orders have ended.
    lost.execution("A", "Te2-P9-1", ("E1", "4", "4", 0), "");
    lost.execution("B", "Te2-P9-2", ("E1", "4", "4", 0), "");
    assert_eq!(lost.order(1), ("New".into(), 0, 1_000_000));
    assert!(canceled(&mut lost).is_empty());
    // The journal has the parent and lost its order: the parent ended with its run.
    let mut known = World::up("", &[("A", ""), ("B", "")]);
    known.parent("P9", "buy", 1_000_000, ",\"deadline_ms\":60000");
    known.at(10).desk("{\"op\":\"restart\"}");
    known.desk("{\"op\":\"reboot\",\"epoch\":3}");
    known.at(20).line("A.o !up").decisions();
    open_order(&mut known, "A", "Te2-P9-1");
    assert_eq!(canceled(&mut known), ["Te2-P9-1"]);
    // The desk has sent the parent again, before the bank reported its order.
    let mut again = rebooted("", "");
    again.parent("P9", "buy", 1_000_000, ",\"deadline_ms\":60000");
    again.at(20).line("A.o !up").decisions();
    open_order(&mut again, "A", "Te2-P9-1");
    assert_eq!(canceled(&mut again), ["Te2-P9-1"]);
}
