//! Lossless readers of other users: the publisher waits for them as for its own, they write to no file that it maps whole, and none
//! harms another one.

use crate::guests::{self, ONE, OTHER, as_user, is_root, of_owner, shared};
use crate::lossless::{lossless, named};
use crate::world::{Buses, Market, counts, mirror};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use touchline_testing::{Process, with_role};
use touchline_transport::shm::{
    Error, Join, Overview, Publisher, Root, SegmentError, Subscriber, reader_in, readers,
};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent};

/// A reader of another user joins, while the publisher looks at its files now and then.
fn join(root: &Root, user: u32, publisher: &mut Publisher) -> Result<Subscriber, Error> {
    join_as(root, user, publisher, &|_| named())
}

fn join_as(
    root: &Root,
    user: u32,
    publisher: &mut Publisher,
    settings: &(impl Fn(&Root) -> Join + Sync),
) -> Result<Subscriber, Error> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let joins = scope.spawn(|| {
            let joined = as_user(user, || Subscriber::join(root, "test", settings(root)));
            is_over.store(true, Ordering::Release);
            joined
        });
        while !is_over.load(Ordering::Acquire) {
            publisher.check().expect("the bus is there");
            thread::sleep(Duration::from_millis(1));
        }
        joins.join().unwrap()
    })
}

/// Folded books that lost nothing.
struct Whole(Mirror);

impl Subscribe for Whole {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.0.update(envelope);
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        let is_lost = matches!(event, SubscriptionEvent::Overrun { .. });
        assert!(!is_lost, "{event:?}");
        self.0.event(event);
    }
}

/// Publishes while the reader reads slowly, and compares.
fn assert_nothing_is_lost(
    subscriber: &mut Subscriber,
    whole: &mut Whole,
    market: &mut Market,
    publisher: &mut Publisher,
) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..10_000 {
                market.event(publisher);
                if number % 500 == 0 {
                    publisher.commit();
                    publisher.check().expect("the bus is there");
                }
            }
            publisher.commit();
            done.store(true, Ordering::Release);
        });
        let mut received = 0;
        loop {
            let is_done = done.load(Ordering::Acquire);
            let now = subscriber.drain(100, whole);
            received += now;
            if received % 5_000 < 100 {
                thread::sleep(Duration::from_micros(200));
            }
            if is_done && now == 0 {
                break;
            }
        }
    });
    market.assert_equal(&whole.0, "after the last event");
}

fn places(buses: &Buses) -> PathBuf {
    buses.root().path().join("test/places")
}

/// Files of readers of this user.
fn files_of(buses: &Buses, user: u32) -> Vec<PathBuf> {
    let all = fs::read_dir(places(buses)).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    let is_of = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(&format!("{user}."))
    };
    all.filter(is_of).collect()
}

#[test]
fn a_reader_of_another_user_is_waited_for_and_loses_nothing() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let settings = lossless(Duration::from_secs(60));
    let mut publisher = Publisher::open(&shared(&buses), "test", &settings).unwrap();
    let mut market = Market::new(1, 6);
    let root = of_owner(&buses);
    let mut subscriber = join(&root, ONE, &mut publisher).expect("a place");
    for file in ["cursors", "readers"] {
        let mode = fs::metadata(buses.root().path().join("test").join(file)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o640, "{file}");
    }
    market.define(&mut publisher);
    let mut whole = Whole(mirror());
    assert_nothing_is_lost(&mut subscriber, &mut whole, &mut market, &mut publisher);
    let counters = counts(&publisher);
    assert!(counters.waits > 0, "the ring was never full");
    assert_eq!(
        (counters.readers_left_behind, counters.readers_dead),
        (0, 0)
    );
    let seen = Overview::of(&root, "test").unwrap().readers.unwrap();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].is_alive && seen[0].place == 0, "{seen:?}");

    // The next publisher waits for it from its start.
    drop(publisher);
    let mut publisher = Publisher::open(&shared(&buses), "test", &settings).unwrap();
    let mut market = Market::new(2, 6);
    market.define(&mut publisher);
    assert_nothing_is_lost(&mut subscriber, &mut whole, &mut market, &mut publisher);
    assert!(counts(&publisher).waits > 0);

    drop(subscriber);
    assert!(files_of(&buses, ONE).is_empty());
    (0..4_000).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    publisher.check().unwrap();
    let counters = counts(&publisher);
    assert_eq!(
        (counters.readers_left_behind, counters.readers_dead),
        (0, 0)
    );
    assert_eq!(Overview::of(&root, "test").unwrap().readers, Some(vec![]));
}

#[test]
fn a_reader_of_another_user_that_stops_is_left_behind_and_has_its_place_again() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let settings = lossless(Duration::from_millis(20));
    let mut publisher = Publisher::open(&shared(&buses), "test", &settings).unwrap();
    let mut market = Market::new(1, 6);
    let mut subscriber = join(&of_owner(&buses), ONE, &mut publisher).expect("a place");
    market.define(&mut publisher);
    for times in 1..4 {
        (0..4_000).for_each(|_| market.event(&mut publisher));
        publisher.commit();
        assert_eq!(counts(&publisher).readers_left_behind, times);
        assert_eq!(counts(&publisher).left_behind_place, 1);
        let mut mirror = mirror();
        while subscriber.drain(usize::MAX, &mut mirror) > 0 {}
        market.assert_equal(&mirror, "back by images");
        publisher.check().unwrap();
    }
}

/// Beyond the last slot; on a bus that no publisher looks at; and of a user who may not read the bus.
#[test]
fn a_reader_without_a_place_is_refused() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let settings = lossless(Duration::from_millis(20));
    let mut publisher = Publisher::open(&shared(&buses), "test", &settings).unwrap();
    let root = of_owner(&buses);
    let one = join(&root, ONE, &mut publisher).expect("a place");
    // As many places as configured, although their file is a whole page.
    let others = buses.join(named());
    let error = join(&root, OTHER, &mut publisher).err().expect("2 places");
    let is_full = matches!(
        error,
        Error::Segment(SegmentError::NoFreeSlot { slots: 2, .. })
    );
    assert!(is_full, "{error}");
    drop(one);
    let three = join(&root, OTHER, &mut publisher).expect("a place that is free again");
    drop((others, three));
    let lossy = Publisher::open(&shared(&buses), "lossy", &crate::world::small()).unwrap();
    let error = as_user(ONE, || Subscriber::join(&root, "lossy", named()).err());
    assert!(
        matches!(error, Some(Error::NotLossless { .. })),
        "{error:?}"
    );
    drop(lossy);
}

/// A member writes anything into its own file and creates any file: readers of others lose no message, and the publisher continues.
#[test]
fn what_a_member_states_harms_itself_alone() {
    if !is_root() {
        return;
    }
    const LEASE: u64 = 0;
    const POSITION: u64 = 8;
    let wait = Duration::from_millis(20);
    type Spoil = fn(&File);
    let spoils: [(&str, Spoil); 7] = [
        ("cut to nothing", |file| file.set_len(0).unwrap()),
        ("long", |file| file.set_len(3 << 30).unwrap()),
        ("ahead", |file| put(file, POSITION, u64::MAX / 4)),
        ("behind", |file| put(file, POSITION, u64::MAX / 4 * 3)),
        ("free", |file| put(file, LEASE, 0)),
        ("another lease", |file| put(file, LEASE, 77)),
        ("random", |file| {
            file.write_all_at(&[0xa5; 4_096], 0).unwrap()
        }),
    ];
    for (name, spoil) in spoils {
        let buses = Buses::new();
        let mut publisher =
            Publisher::open(&shared(&buses), "test", &lossless(wait)).expect("a bus");
        let mut market = Market::new(1, 6);
        let root = of_owner(&buses);
        let evil = join(&root, ONE, &mut publisher).expect("a place");
        let mut honest = join(&root, OTHER, &mut publisher).expect("a place");
        market.define(&mut publisher);
        let [file] = &files_of(&buses, ONE)[..] else {
            panic!("one file");
        };
        as_user(ONE, || {
            spoil(&File::options().write(true).open(file).unwrap());
            let [other] = &files_of(&buses, OTHER)[..] else {
                panic!("one file");
            };
            assert!(File::options().write(true).open(other).is_err());
            assert!(fs::remove_file(other).is_err());
            let cursors = buses.root().path().join("test/cursors");
            assert!(File::options().write(true).open(cursors).is_err());
        });
        let mut whole = Whole(mirror());
        let begun = Instant::now();
        // A wait for the honest one ends before the limit.
        for _ in 0..40 {
            (0..100).for_each(|_| market.event(&mut publisher));
            publisher.commit();
            publisher.check().expect("the bus is there");
            while honest.drain(usize::MAX, &mut whole) > 0 {}
        }
        market.assert_equal(&whole.0, name);
        let counters = counts(&publisher);
        assert!(counters.readers_left_behind <= 1, "{name}: {counters:?}");
        assert_eq!(counters.readers_dead, 0, "{name}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{name}");
        drop(evil);
    }
}

fn put(file: &File, at: u64, value: u64) {
    file.write_all_at(&value.to_ne_bytes(), at).unwrap();
}

/// More entries than the publisher looks at, files without a living reader, and files in another one's name.
#[test]
fn what_a_member_creates_among_the_places_stops_nobody() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let settings = lossless(Duration::from_millis(20));
    let mut publisher = Publisher::open(&shared(&buses), "test", &settings).unwrap();
    let root = of_owner(&buses);
    let folder = places(&buses);
    let evil = join(&root, ONE, &mut publisher).expect("a place");
    let mut page = vec![0; 4_096];
    page[0] = 1;
    as_user(ONE, || {
        let create = |name: String| {
            fs::write(folder.join(&name), &page).unwrap();
            let private = fs::Permissions::from_mode(0o640);
            fs::set_permissions(folder.join(&name), private).unwrap();
        };
        (0..2_000).for_each(|number| create(format!("junk{number}")));
        (0..100).for_each(|number| create(format!("{OTHER}.{number:016x}")));
        (0..100).for_each(|number| create(format!("{ONE}.{number:016x}")));
    });
    let begun = Instant::now();
    publisher.check().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    let honest = join(&root, OTHER, &mut publisher).expect("a place");
    let seen = Overview::of(&root, "test").unwrap().readers.unwrap();
    assert_eq!(seen.len(), 2, "{seen:?}");
    drop((evil, honest));
}

/// The place of a reader with a name is the one that the publisher holds for its user, even if its own file states another.
#[test]
fn a_reader_of_another_user_is_named_by_its_place_and_by_no_other() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let settings = lossless(Duration::from_millis(20));
    let mut publisher = Publisher::open(&shared(&buses), "test", &settings).unwrap();
    let mut market = Market::new(1, 6);
    market.define(&mut publisher);
    let root = of_owner(&buses);
    let recorder = |root: &Root| Join {
        reader_stats: Some(guests::named(root, "recorder").expect("a name")),
        ..named()
    };
    let mut first = join_as(&root, ONE, &mut publisher, &recorder).expect("a place");
    let other = join_as(&root, OTHER, &mut publisher, &|_| named()).expect("a place");
    let in_place = |place| reader_in(&buses.root(), "test", place).expect("the bus is there");
    let named_in = |place| in_place(place).unwrap_or_default();
    assert_eq!(
        [0, 1, 2, 3].map(named_in),
        ["", "recorder@64101", "-@64103", ""]
    );

    // Both stop, are left behind, and keep their names; the first one reads its overrun.
    (0..4_000).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    assert_eq!(counts(&publisher).readers_left_behind, 2);
    let mut mirror = mirror();
    as_user(ONE, || while first.drain(usize::MAX, &mut mirror) > 0 {});
    assert_eq!([1, 2].map(named_in), ["recorder@64101", "-@64103"]);

    // A publisher that has ended holds no lock for them: they live.
    drop(publisher);
    let mut publisher = Publisher::open(&shared(&buses), "test", &settings).unwrap();
    publisher.check().unwrap();
    as_user(ONE, || while first.drain(usize::MAX, &mut mirror) > 0 {});
    drop(publisher);
    let seen = Overview::of(&root, "test").unwrap().readers.unwrap();
    assert!(
        seen.len() == 2 && seen.iter().all(|one| one.is_alive),
        "{seen:?}"
    );

    // The file states the place of the other reader.
    let file = buses.root().path().join("test/guests/64101.recorder");
    let file = File::options().read(true).write(true).open(file).unwrap();
    let recorder = || readers(&root, "test").unwrap().remove(0);
    let place = recorder().counters.place;
    assert!(matches!(place, 1 | 2));
    let words = file.metadata().unwrap().len() / 8;
    let states_other = |word: &u64| {
        let mut found = [0; 8];
        file.read_exact_at(&mut found, 8 * word).unwrap();
        let is_it = u64::from_ne_bytes(found) == place;
        if is_it {
            put(&file, 8 * word, 3 - place);
        }
        let is_place = is_it && recorder().counters.place != place;
        if is_it && !is_place {
            put(&file, 8 * word, place);
        }
        is_place
    };
    assert!((0..words).rev().any(|word| states_other(&word)));
    let lying = recorder();
    assert!(lying.counters_file.is_ok());
    assert_eq!(lying.counters.place, 0);
    assert_eq!([place, 3 - place].map(named_in), ["-@64101", "-@64103"]);
    drop((first, other));
}

const READY: &str = "the member has its place";

/// A reader of another user in a child process of this program; it ends with its input.
#[test]
fn play() {
    let Some((_, folder)) = touchline_testing::role() else {
        return;
    };
    let _subscriber = Subscriber::join(&Root::at(folder).owned_by(0), "test", named()).unwrap();
    println!("{READY}");
    let _ = std::io::stdin().read(&mut [0]);
}

/// The publisher's wait for it ends with its process, and the file that it left is removed.
#[test]
fn a_killed_reader_of_another_user_is_not_waited_for() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let settings = lossless(Duration::from_secs(60));
    let mut publisher = Publisher::open(&shared(&buses), "test", &settings).unwrap();
    let mut market = Market::new(1, 6);
    market.define(&mut publisher);
    let mut command = with_role(&[], "members::play", "reader", buses.root().path());
    command.uid(ONE).gid(guests::GROUP).stdin(Stdio::piped());
    let mut child = Process::start(&mut command);
    child.wait_for("its place", |child| {
        publisher.check().unwrap();
        child.out().contains(READY).then_some(())
    });
    assert_eq!(files_of(&buses, ONE).len(), 1);
    child.kill();
    let begun = Instant::now();
    (0..4_000).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    assert!(begun.elapsed() < Duration::from_secs(30));
    let counters = counts(&publisher);
    assert_eq!(
        (counters.readers_dead, counters.readers_left_behind),
        (1, 0)
    );
    assert_eq!(counters.dead_place, 1);
    assert_eq!(
        reader_in(&buses.root(), "test", 1).unwrap(),
        Some(format!("-@{ONE}"))
    );
    publisher.check().unwrap();
    publisher.check().unwrap();
    assert!(files_of(&buses, ONE).is_empty());
    let root = of_owner(&buses);
    assert_eq!(Overview::of(&root, "test").unwrap().readers, Some(vec![]));
    join(&root, OTHER, &mut publisher).expect("the place is free");
}
