//! Removal of the files of a bus in use: no process publishes beside the next publisher, and every reader finds it.

use crate::world::{Buses, small};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_lab::random::Random;
use touchline_transport::shm::{
    CountersFile, CountersView, Damage, Error, Join, Lossless, Overview, Publisher, Settings,
    Subscriber,
};
use touchline_transport::{Publish, SubscriptionEvent};
use touchline_types::{CounterInfo, Validity};

fn lossless() -> Settings {
    Settings {
        lossless: Some(Lossless::default()),
        ..small()
    }
}

/// Action on a path.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Remove,
    Rename,
    Replace,
}

impl Deed {
    const ALL: [Deed; 3] = [Deed::Remove, Deed::Rename, Deed::Replace];

    fn on(self, path: &Path, away: &Path) {
        match (self, path.is_dir()) {
            (Deed::Remove, true) => fs::remove_dir_all(path).unwrap(),
            (Deed::Remove, false) => fs::remove_file(path).unwrap(),
            (Deed::Rename, _) => fs::rename(path, away).unwrap(),
            (Deed::Replace, true) => {
                fs::rename(path, away).unwrap();
                fs::create_dir(path).unwrap();
                let mode = fs::metadata(away).unwrap().permissions();
                fs::set_permissions(path, mode).unwrap();
            }
            (Deed::Replace, false) => {
                fs::copy(path, away).unwrap();
                fs::rename(away, path).unwrap();
            }
        }
    }
}

/// Every file and folder, every action, in random order. Readers of counters see their age, whether
/// the process lives or not.
#[test]
fn counters_state_their_age() {
    const COUNTERS: [CounterInfo; 1] = [CounterInfo {
        name: "packets",
        unit: "packets",
        help: "Packets that came.",
    }];
    let buses = Buses::new();
    let publisher = buses.publisher();
    let mut file = CountersFile::create(publisher.lock(), 1.0, &COUNTERS, []).expect("room");
    let view = CountersView::open(&buses.root(), "test").expect("a bus");
    let view = view.expect("it has counters");
    for values in [vec![], vec![7]] {
        file.show(values);
        let age = view.age().expect("it was just written");
        assert!(age < Duration::from_secs(60), "{age:?}");
    }
    assert_eq!(view.counter("packets"), Some(7));
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    file.show_at(now.as_nanos() as u64 - 3_600_000_000_000, [8]);
    drop((file, publisher));
    let age = view.age().expect("it was written once");
    assert!(age >= Duration::from_secs(3_600), "{age:?}");
}

#[test]
fn a_publisher_detects_a_lost_name_and_its_readers_find_the_next_one() {
    let seed = std::env::var("SEED").map_or(1, |seed| seed.parse().expect("a number"));
    println!("SEED={seed}");
    let files = [
        "",
        "lock",
        "ring",
        "definitions",
        "images",
        "counters",
        "cursors",
        "readers",
    ];
    let mut cases: Vec<_> = files
        .iter()
        .flat_map(|file| Deed::ALL.map(|deed| (*file, deed)))
        .collect();
    let mut random = Random::from_seed(seed);
    cases.sort_by_cached_key(|_| random.next_u64());
    for (file, deed) in cases {
        let context = format!("{deed:?} of {file:?}");
        let buses = Buses::new();
        let mut gateway = buses.gateway_with(&lossless(), seed, 3);
        let counters_file = CountersFile::create(gateway.publisher.lock(), 1.0, [], []).unwrap();
        gateway.events(50);
        let mut reader = buses.reader();
        gateway.market.assert_equal(&reader.mirror, &context);
        let mut check = || {
            gateway
                .publisher
                .check()
                .and_then(|()| counters_file.check())
        };
        assert_eq!(check(), Ok(()), "{context}");

        let bus: PathBuf = buses.root().path().join("test");
        let path = if file.is_empty() {
            bus.clone()
        } else {
            bus.join(file)
        };
        deed.on(&path, &buses.root().path().join("away"));
        let lost = check().expect_err(&context);
        let Damage::NameLost(lost_path) = &lost else {
            panic!("{context}: {lost:?}");
        };
        assert_eq!(lost_path, &path, "{context}");
        // All published messages are complete, and stale when this publisher ends.
        reader.drain();
        gateway.market.assert_equal(&reader.mirror, &context);
        // Until it has ended no other publisher starts, except in another directory.
        match Publisher::open(&buses.root(), "test", &lossless()) {
            Ok(_) => assert!(file.is_empty(), "{context}: two publishers"),
            Err(Error::Segment(error)) => {
                assert!(error.to_string().contains("process"), "{context}: {error}");
            }
            Err(error) => panic!("{context}: {error}"),
        }
        drop((gateway, counters_file));
        if !file.is_empty() {
            reader.wait_for(SubscriptionEvent::PublisherGone);
            assert_eq!(reader.validity(0), Validity::Stale, "{context}");
        }

        let mut gateway = buses.gateway_with(&lossless(), seed + 1, 3);
        gateway.events(50);
        let generation = gateway.publisher.generation();
        reader.wait_for(SubscriptionEvent::Restarted { generation });
        reader.drain();
        gateway.market.assert_equal(&reader.mirror, &context);
        assert_eq!(gateway.publisher.check(), Ok(()), "{context}");
    }
}

/// The directory was moved away while it was written, and a file moved back.
#[test]
fn a_ring_in_use_is_not_taken_over_in_another_directory() {
    let buses = Buses::new();
    let publisher = buses.publisher();
    let (bus, away) = (
        buses.root().path().join("test"),
        buses.root().path().join("away"),
    );
    fs::rename(&bus, &away).unwrap();
    drop(buses.publisher());
    for file in ["ring", "definitions", "images"] {
        fs::rename(away.join(file), bus.join(file)).unwrap();
        let error = Publisher::open(&buses.root(), "test", &small()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(file) && text.contains("still being written"),
            "{text}"
        );
        fs::rename(bus.join(file), away.join(file)).unwrap();
    }
    drop(publisher);
    buses.publisher();
}

/// Each file that a reader maps, made longer: no reader maps it, and it takes no memory; its publisher ends; the next one
/// makes the bus again.
#[test]
fn a_file_that_is_made_longer_is_not_mapped() {
    use std::os::unix::fs::MetadataExt;
    for name in [
        "ring",
        "definitions",
        "images",
        "order_books",
        "orders",
        "last_values",
    ] {
        let buses = Buses::new();
        let mut publisher = buses.publisher();
        let path = buses.root().path().join("test").join(name);
        let before = fs::metadata(&path).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(2 << 30).unwrap();
        let refused = Subscriber::join(&buses.root(), "test", Join::default());
        let refused = refused.err().expect("too long").to_string();
        assert!(
            refused.contains(name) && refused.contains("2147483648 bytes"),
            "{refused}"
        );
        let after = fs::metadata(&path).unwrap();
        assert_eq!(after.blocks(), before.blocks(), "{name}");
        assert_eq!(publisher.check(), Err(Damage::OtherLength(path.clone())));
        drop(publisher);
        let again = buses.publisher();
        assert_eq!(fs::metadata(&path).unwrap().len(), before.len(), "{name}");
        buses.join(Join::default());
        drop(again);
    }
    let buses = Buses::new();
    let publisher = buses.publisher();
    let counters = CountersFile::create(publisher.lock(), 1.0, &[], &[]).unwrap();
    let path = buses.path("counters");
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(2 << 30).unwrap();
    let refused = CountersView::open(&buses.root(), "test").err();
    let refused = refused.expect("too long").to_string();
    assert!(refused.contains("2147483648 bytes"), "{refused}");
    assert_eq!(counters.check(), Err(Damage::OtherLength(path)));
}

/// A member of the bus's group may do this. A lossless bus goes on, its readers find the new cursors, and the publisher
/// waits for them again.
#[test]
fn cursors_of_another_length_are_made_again() {
    for length in [0, 4_096 * 3, 3 << 30] {
        let buses = Buses::new();
        let settings = Settings {
            lossless: Some(Lossless {
                readers_max: 2,
                wait_max: Duration::from_millis(20),
            }),
            ..small()
        };
        let mut gateway = buses.gateway_with(&settings, 1, 2);
        let named = || Join {
            registered: true,
            ..Join::default()
        };
        let mut reader = buses.reader_with(named());
        let path = buses.path("cursors");
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        // Until the publisher has looked: the bus is shown, without places.
        let overview = Overview::of(&buses.root(), "test").unwrap();
        assert_eq!(overview.readers, None, "{length}");
        assert_eq!(gateway.publisher.check(), Ok(()), "{length}");
        assert_eq!(gateway.counts().cursors_renewed, 1, "{length}");
        assert_eq!(fs::metadata(&path).unwrap().len(), 4_096, "{length}");
        // One idle look of the reader.
        reader.subscriber.look_again();
        assert_eq!(reader.take(usize::MAX), 0, "{length}");
        let overview = Overview::of(&buses.root(), "test").unwrap();
        assert_eq!(overview.readers.map(|all| all.len()), Some(1), "{length}");
        drop(buses.join(named()));
        gateway.events(4_000);
        let counters = gateway.counts();
        assert_eq!(
            counters.readers_left_behind, 1,
            "{length}: it was waited for"
        );
        assert_eq!(gateway.publisher.check(), Ok(()));
        assert_eq!(gateway.counts().cursors_renewed, 1, "{length}");
    }
}

#[test]
fn a_file_that_is_cut_short_is_named() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 1);
    let path = buses.path("images");
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    gateway.events(1);
    assert_eq!(gateway.publisher.check(), Err(Damage::OtherLength(path)));
}
