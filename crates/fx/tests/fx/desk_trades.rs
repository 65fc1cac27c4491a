//! Trades that two persons book without an order.

use crate::world::{World, values};

const BOOKERS: &str = "[risk]\nbookers = [\"ann\", \"bob\"]\nkill_lifters = []";

fn book(id: &str, by: &str, more: &str) -> String {
    format!(
        "{{\"op\":\"book\",\"id\":{id},\"pair\":\"EUR/USD\",\"side\":\"sell\",\"qty\":1500001,\"price\":\"1.100000001\",\
         \"value_date\":\"20260107\",\"by\":\"{by}\"{more}}}"
    )
}

fn states(world: &mut World) -> Vec<String> {
    values(&world.decisions(), &["id", "by", "state"])
}

/// One person proposes, another one books; each step is a line, and only the last changes the position.
#[test]
fn two_persons_book_what_no_order_explains() {
    let mut world = World::up(BOOKERS, &[("A", "")]);
    world.desk("{\"op\":\"kill\",\"by\":\"ann\"}");
    world.decisions();
    let mut command = |id: &str, by: &str, more: &str| {
        world.desk(&book(id, by, more));
        (states(&mut world).remove(0), world.positions().len())
    };
    for (by, more, state) in [
        ("eve", "", "person"),
        ("ann", "", "first"),
        ("ann", "", "same_person"),
        ("bob", ",\"qty\":1500002", "differs"),
        ("ann", ",\"bank\":\"A\"", "differs"),
    ] {
        assert_eq!(
            command("\"open\"", by, more),
            (format!("open {by} {state}"), 0)
        );
    }
    assert_eq!(
        command("\"open\"", "bob", ""),
        ("open bob booked".into(), 1)
    );
    assert_eq!(
        command("\"open\"", "ann", ""),
        ("open ann duplicate_id".into(), 0)
    );
    let line = world.fills().remove(0);
    let expected = "\"clordid\":null,\"parent\":null,\"bank\":null,\"exec_id\":\"B-open\",\"kind\":\"book\",\"pair\":\"EUR/USD\",\
                    \"side\":\"sell\",\"qty\":1500001,\"price\":\"1.100000001\",\"improve\":null,\"hold_ns\":null,\"late\":false,\
                    \"settl_date\":\"20260107\",\"currency\":null,\"ref\":null}";
    assert!(line.ends_with(expected), "{line}");
    let position = world.replay.engine().trading().positions().of(0);
    assert_eq!(position.units, -1_500_001);
    assert_eq!(position.cash, 1_500_001 * 1_100_000_001);
}

/// A proposal stays through a restart, and a booking of a bank has its name.
#[test]
fn a_proposal_stays_through_a_restart() {
    let mut world = World::up(BOOKERS, &[("A", "")]);
    world.desk(&book("\"x\"", "bob", ",\"bank\":\"A\""));
    world.at(10).desk("{\"op\":\"restart\"}");
    world.decisions();
    world.desk(&book("\"x\"", "ann", ",\"bank\":\"A\""));
    assert_eq!(states(&mut world), ["x ann booked"]);
    assert_eq!(values(&world.fills(), &["bank"]), ["A"]);
}

/// A malformed booking is refused with its state.
#[test]
fn bad_bookings_are_refused() {
    let long = "x".repeat(63);
    let long = format!("\"{long}\"");
    for (id, more) in [
        ("\"\"", ""),
        ("7", ""),
        (long.as_str(), ""),
        ("\"x\"", ",\"pair\":\"GBP/USD\""),
        ("\"x\"", ",\"side\":\"long\""),
        ("\"x\"", ",\"bank\":\"C\""),
        ("\"x\"", ",\"bank\":7"),
        ("\"x\"", ",\"qty\":0"),
        ("\"x\"", ",\"qty\":1.5"),
        ("\"x\"", ",\"price\":1.1"),
        ("\"x\"", ",\"price\":\"1.0000000001\""),
        ("\"x\"", ",\"value_date\":\"2026010\""),
        ("\"x\"", ",\"value_date\":20260107"),
    ] {
        let mut world = World::up(BOOKERS, &[("A", "")]);
        world.desk(&book(id, "ann", more));
        assert!(
            world.decisions()[0].ends_with("\"by\":\"ann\",\"state\":\"bad_book\"}"),
            "{id} {more}"
        );
    }
}
