//! A composer over real buses: banks' publishers start, stop, die and return while it reads.

mod faults;
mod pairs;
mod recordings;
mod world;

use std::fs;
use touchline_fx::Setup;
use touchline_fx::sessions::Replay;
use touchline_lab::random::{Random, at_once, seeds};
use touchline_types::{Side, Validity};
use world::{BANKS, World};

/// After any events at the banks, the composite has the quotes of the connected banks only; without a live bank it is
/// not live; and a replay of the recording writes the same composites.
#[test]
fn the_composite_contains_the_connected_banks() {
    let runs = at_once(4, seeds(20), |seed| {
        let (mut with_quotes, mut without_banks) = (0, 0);
        let mut random = Random::from_seed(seed);
        let mut world = World::open();
        for step in 0..40 {
            world.act(&mut random);
            let expected = world.expected();
            let found = world.settle(&expected);
            assert_eq!(found, expected, "SEED={seed} step {step}: {}", world.did);
            with_quotes += usize::from(expected.tops != [None, None]);
            without_banks += usize::from(expected.validity != Validity::Live);
        }
        let folder = world.finish();
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
        let setup = Setup::parse(&read("config.toml")).expect("the configuration of a recording");
        let mut replay = Replay::new(setup);
        for line in read("session.txt").lines() {
            replay
                .line(line)
                .unwrap_or_else(|error| panic!("SEED={seed}: {line}: {error}"));
        }
        let replayed = replay.finish().0.composite;
        assert_eq!(replayed, read("composite.live.jsonl"), "SEED={seed}");
        [with_quotes, without_banks, replayed.lines().count()]
    });
    let sum = |case: usize| runs.iter().map(|run| run[case]).sum::<usize>();
    let (with_quotes, without_banks, lines) = (sum(0), sum(1), sum(2));
    // A run without these cases tests nothing.
    println!("{with_quotes} with quotes, {without_banks} without a live bank");
    assert!(with_quotes > 100 && without_banks > 10 && lines > 100);
}

/// The book on the bus is the composite: its readers see the same prices, and after the end of the publisher no pair is
/// live.
#[test]
fn readers_of_the_bus_see_the_composite() {
    let mut random = Random::from_seed(3);
    let mut world = World::open();
    for bank in 0..BANKS {
        world.begin(bank, &mut random);
    }
    for _ in 0..20 {
        world.act(&mut random);
        let expected = world.expected();
        world.settle(&expected);
    }
    for bank in 0..BANKS {
        world.begin(bank, &mut random);
    }
    let expected = world.expected();
    assert_eq!(world.settle(&expected), expected);
    let (bid, ask, validity) = world.read();
    assert_eq!(validity, Validity::Live);
    assert_eq!(
        [bid, ask],
        expected.tops.map(|top| top.map(|(price, _)| price))
    );
    assert!(world.ladder(Side::Bid) > 1, "it is a ladder");
}
