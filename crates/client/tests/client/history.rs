//! Readers that begin with a tape, at a place that it does not have.

use crate::tape::record;
use crate::with_tape::{Session, take_all};
use crate::world::{World, define, small};
use std::time::Duration;
use touchline_client::{Events, TapePlace};
use touchline_transport::Publish;
use touchline_transport::clock::boot_ns;

/// The recorder has ended before the place: that is a loss. A place that is still to come is none.
#[test]
fn history_that_the_tape_does_not_have_is_an_overrun() {
    let Session {
        world,
        mut market,
        mut publisher,
        recording,
    } = Session::new(9);
    drop(recording);
    let wait = Duration::from_millis(100);
    let bus = || world.options().events(Events::ALL).tape_wait(wait);
    let mut live = world.join(bus());
    let mut all = Vec::new();
    take_all(&mut live, &mut all);
    let first = all.iter().map(|(_, sequence, _)| *sequence).max();
    let first = first.expect("books") + 1;
    (0..2_000).for_each(|_| market.step(&mut publisher));
    publisher.commit();
    for (place, losses) in [
        (TapePlace::Sequence(first), 1),
        (TapePlace::Sequence(u64::MAX), 0),
        (TapePlace::Time(u64::MAX), 0),
        (TapePlace::Time(boot_ns()), 1),
    ] {
        let mut joined = world.join(bus().tape(world.tape()).tape_from(place));
        let mut got = Vec::new();
        take_all(&mut joined, &mut got);
        let stats = joined.stats();
        let lost = (stats.overruns, stats.tape_losses);
        assert_eq!(lost, (losses, losses), "{place:?}: {stats:?}");
        let is_first = got[0].0.contains("overrun");
        assert_eq!(is_first, losses > 0, "{place:?}: {:?}", got[0]);
        market.assert_equal(&joined, &format!("{place:?}"));
        if place == TapePlace::Sequence(first) {
            assert!(stats.lost > 2_000, "{stats:?}");
        }
    }
}

/// The recorder lives, and its disk takes nothing: its tape ends before the place. There is no loss where the bus has no further message.
#[test]
fn history_that_a_living_recorder_does_not_write_is_an_overrun() {
    let Session {
        world,
        mut market,
        mut publisher,
        mut recording,
    } = Session::new(10);
    publisher.commit();
    record(&mut recording);
    let wait = Duration::from_millis(100);
    let bus = || world.options().events(Events::ALL).tape_wait(wait);
    let mut live = world.join(bus());
    let mut all = Vec::new();
    take_all(&mut live, &mut all);
    let next = all.iter().map(|(_, sequence, _)| *sequence).max();
    let next = next.expect("books") + 1;
    let places = [TapePlace::Sequence(next), TapePlace::Time(boot_ns())];
    for losses in [0, 1] {
        for place in places {
            let mut joined = world.join(bus().tape(world.tape()).tape_from(place));
            take_all(&mut joined, &mut Vec::new());
            let stats = joined.stats();
            let lost = (stats.overruns, stats.tape_losses);
            assert_eq!(lost, (losses, losses), "{place:?}: {stats:?}");
            market.assert_equal(&joined, &format!("{place:?}"));
        }
        (0..200).for_each(|_| market.step(&mut publisher));
        publisher.commit();
    }
    drop(recording);
}

/// A tape that is recorded, of another bus, has no history of this one.
#[test]
fn history_on_the_tape_of_another_bus_is_an_overrun() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4"]);
    publisher.commit();
    let mut other = world.publisher_with("other", &small());
    define(&mut other, 0, "NQU4", 100);
    other.commit();
    let mut recording = world.recording_of(&["other"]);
    record(&mut recording);
    let wait = Duration::from_millis(100);
    let options = world.options().tape(world.tape()).tape_wait(wait);
    let mut joined = world.join(options.tape_from(TapePlace::Time(1)));
    take_all(&mut joined, &mut Vec::new());
    let stats = joined.stats();
    assert_eq!((stats.overruns, stats.tape_losses), (1, 1), "{stats:?}");
}
