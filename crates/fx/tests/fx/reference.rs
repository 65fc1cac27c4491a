//! The reference of a pair: no single bank moves the reference, and none stops a pair.

use crate::world::{World, values};

const BANKS: [(&str, &str); 4] = [("A", ""), ("B", ""), ("C", ""), ("D", "")];
const GTD: &str = ",\"deadline_ms\":60000";

/// A world with other settings of the first pair.
fn world(risk: &str, off_market_ticks: i64) -> World {
    let extra = format!("[risk]\n{risk}");
    let config = crate::world::config(&extra, &BANKS);
    let config = config.replacen(
        "collar_ticks = 100",
        &format!("collar_ticks = 20\noff_market_ticks = {off_market_ticks}\ncrossed_max_ticks = 5"),
        1,
    );
    let mut world = World::new(&config);
    for (bank, _) in BANKS {
        world.line(&format!("{bank}.q !up"));
        world.line(&format!("{bank}.o !up"));
    }
    world
}

/// The reference of a parent that buys now, and the banks that it is sent to.
fn plan(world: &mut World, id: &str) -> Option<(String, String)> {
    world.decisions();
    world.parent(id, "buy", 1_000_000, ",\"tif\":\"ioc\"");
    let lines = world.decisions();
    let plan = lines.iter().find(|line| line.contains("\"plan\""))?;
    let bank = plan.split("\",\"").nth(1).expect("a bank").to_owned();
    let found = values(std::slice::from_ref(plan), &["reference"]).remove(0);
    let legs = plan.split("\"legs\":[[").nth(1).expect("legs");
    let bank = legs.split('"').nth(3).map_or(bank, str::to_owned);
    Some((found, bank))
}

fn off_market(world: &mut World) -> Vec<String> {
    let lines = world.decisions();
    let lines: Vec<_> = lines
        .into_iter()
        .filter(|line| line.contains("off_market"))
        .collect();
    values(&lines, &["bank", "off"])
}

/// The median of three banks and more, of an even number the lower half tick between the two in the middle.
#[test]
fn the_reference_is_the_median_of_the_banks_mids() {
    let mut world = world("", 1000);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .book("B", &[(-1, 5000)], &[(4, 5000)]);
    // Two banks make none: the traded mid takes its place.
    assert_eq!(
        plan(&mut world, "P1"),
        Some(("1.100005".into(), "A".into()))
    );
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world.book("C", &[(2, 5000)], &[(6, 5000)]);
    let found = plan(&mut world, "P2");
    assert_eq!(
        found.map(|(reference, _)| reference),
        Some("1.100015".into())
    );
    // A bank with one side only has no mid.
    world.book("D", &[], &[(3, 5000)]);
    assert_eq!(
        plan(&mut world, "P3").map(|(reference, _)| reference),
        Some("1.100015".into())
    );
    world.book("D", &[(5, 5000)], &[(5, 5000)]);
    assert_eq!(
        plan(&mut world, "P4").map(|(reference, _)| reference),
        Some("1.100025".into())
    );
}

/// A bank far from the reference is off the market: not traded, not counted, and no obstacle to others; the printed composite shows it.
#[test]
fn a_bank_off_the_market_is_left_out() {
    let mut world = world("min_banks = 3", 40);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .book("B", &[(-3, 5000)], &[(3, 5000)])
        .book("C", &[(-4, 5000)], &[(4, 5000)]);
    assert!(off_market(&mut world).is_empty());
    world.book("D", &[(-2, 5000)], &[(41, 5000)]);
    assert_eq!(off_market(&mut world), ["D true"], "one side is enough");
    world.book("D", &[(-100, 5000)], &[(-90, 5000)]);
    assert!(off_market(&mut world).is_empty());
    assert_eq!(world.tops()[1], Some((-90, 5000)), "as the banks quote");
    assert_eq!(
        plan(&mut world, "P1"),
        Some(("1.1".into(), "A".into())),
        "not crossed, and at the best of the others"
    );
    // D's bid is off the market, and its ask the best within the collar.
    world.book("D", &[(-41, 5000)], &[(1, 5000)]);
    assert_eq!(plan(&mut world, "P2"), Some(("1.1".into(), "B".into())));
    world.book("D", &[(-100, 5000)], &[(-90, 5000)]);
    // D does not count as a third bank that sells.
    world.book("C", &[(-4, 5000)], &[]);
    assert_eq!(plan(&mut world, "P3"), None);
    world.book("C", &[(-4, 5000)], &[(4, 5000)]);
    world.decisions();
    // D stays off the market while it does not quote, and does not count as one of three banks.
    world.quote("D", "35=W|262=R|55=EUR/USD|268=0");
    world.quote("C", "35=W|262=R|55=EUR/USD|268=0");
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    assert_eq!(
        off_market(&mut world),
        ["D false"],
        "two banks make no reference"
    );
    world.book("C", &[(-4, 5000)], &[(4, 5000)]);
    world.book("D", &[(-100, 5000)], &[(-90, 5000)]);
    assert_eq!(off_market(&mut world), ["D true"]);
    world.quote("D", "35=W|262=R|55=EUR/USD|268=0");
    assert!(off_market(&mut world).is_empty());
    world.book("D", &[(-30, 5000)], &[(39, 5000)]);
    assert_eq!(off_market(&mut world), ["D false"]);
}

/// The last good reference is valid for its time, then the configured rule holds; a restart forgets it.
#[test]
fn the_last_reference_ends() {
    for (without, waits) in [("composite", None), ("wait", Some("no_reference"))] {
        let risk = format!("reference_ttl_ms = 500\nwithout_reference = \"{without}\"");
        let mut world = world(&risk, 40);
        world
            .book("A", &[(-2, 5000)], &[(2, 5000)])
            .book("B", &[(-3, 5000)], &[(3, 5000)])
            .book("C", &[(-4, 5000)], &[(4, 5000)]);
        // Two banks leave; the remaining one cannot move the reference.
        world.at(100).line("B.q !down").line("C.q !down");
        world.at(200).book("A", &[(-12, 5000)], &[(-8, 5000)]);
        assert_eq!(plan(&mut world, "P1"), Some(("1.1".into(), "A".into())));
        world.wait(599).book("A", &[(18, 5000)], &[(22, 5000)]);
        assert_eq!(plan(&mut world, "P2"), None, "beyond the collar of 1.1");
        world.wait(600);
        let found = plan(&mut world, "P3");
        match waits {
            None => assert_eq!(found, Some(("1.1002".into(), "A".into()))),
            Some(reason) => {
                assert_eq!(found, None);
                world.parent("P4", "buy", 1_000_000, GTD);
                assert_eq!(
                    values(&world.decisions()[1..], &["event", "reason"]),
                    [format!("waits {reason}")]
                );
                let limit = format!("{GTD},\"limit\":\"1.1002\"");
                world.parent("P5", "buy", 1_000_000, &limit);
                assert_eq!(
                    values(&world.decisions(), &["event", "reason"]),
                    [format!("refused {reason}")]
                );
            }
        }
    }
    let mut world = world("reference_ttl_ms = 5000\nwithout_reference = \"wait\"", 40);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .book("B", &[(-3, 5000)], &[(3, 5000)])
        .book("C", &[(-4, 5000)], &[(4, 5000)]);
    world.desk("{\"op\":\"restart\"}");
    world.line("A.q !up").line("A.o !up");
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    assert_eq!(plan(&mut world, "P1"), None, "forgotten");
}

/// A limit is judged by the reference: a lone bank off the market is not its own judge.
#[test]
fn limits_are_judged_by_the_reference() {
    let mut world = world("", 40);
    world
        .book("A", &[(-2, 5000)], &[(2, 5000)])
        .book("B", &[(-3, 5000)], &[(3, 5000)])
        .book("C", &[(-4, 5000)], &[(4, 5000)])
        .book("D", &[(400, 5000)], &[(410, 5000)]);
    world.decisions();
    for (limit, expected) in [("1.1002", "accepted"), ("1.10021", "refused")] {
        let more = format!("{GTD},\"limit\":\"{limit}\"");
        world.parent(limit, "buy", 1_000_000, &more);
        assert_eq!(values(&world.decisions()[..1], &["event"]), [expected]);
    }
}
