//! Removal of the files of a bus in use: no process publishes beside the next publisher, and every reader finds it.

use crate::restarting::{Notified, drain, wait_for};
use crate::stage::{Market, Stage, mirror, small};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_lab::random::Random;
use touchline_transport::shm::{
    CountersFile, CountersView, Damage, Error, Join, Lossless, Publisher, Settings,
};
use touchline_transport::{Publish, SubscriptionEvent};
use touchline_types::{CounterInfo, Instrument, Validity};

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
    let stage = Stage::new();
    let publisher = stage.publisher();
    let mut file = CountersFile::create(publisher.lock(), 1.0, &COUNTERS, []).expect("room");
    let view = CountersView::open(&stage.root(), "test").expect("a bus");
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
        let stage = Stage::new();
        let open = || Publisher::open(&stage.root(), "test", &lossless());
        let mut publisher = open().unwrap();
        let counters_file = CountersFile::create(publisher.lock(), 1.0, [], []).unwrap();
        let mut market = Market::new(seed, 3);
        market.define(&mut publisher);
        (0..50).for_each(|_| market.event(&mut publisher));
        publisher.commit();
        let mut subscriber = stage.join(Join::default());
        let mut reader = (Notified::default(), mirror());
        drain(&mut subscriber, &mut reader);
        market.assert_equal(&reader.1, &context);
        let mut check = || publisher.check().and_then(|()| counters_file.check());
        assert_eq!(check(), Ok(()), "{context}");

        let bus: PathBuf = stage.root().path().join("test");
        let path = if file.is_empty() {
            bus.clone()
        } else {
            bus.join(file)
        };
        deed.on(&path, &stage.root().path().join("away"));
        let lost = check().expect_err(&context);
        let Damage::NameLost(lost_path) = &lost else {
            panic!("{context}: {lost:?}");
        };
        assert_eq!(lost_path, &path, "{context}");
        // All published messages are complete, and stale when this publisher ends.
        drain(&mut subscriber, &mut reader);
        market.assert_equal(&reader.1, &context);
        // Until it has ended no other publisher starts, except in another directory.
        match open() {
            Ok(_) => assert!(file.is_empty(), "{context}: two publishers"),
            Err(Error::Segment(error)) => {
                assert!(error.to_string().contains("process"), "{context}: {error}");
            }
            Err(error) => panic!("{context}: {error}"),
        }
        drop((publisher, counters_file));
        if !file.is_empty() {
            wait_for(
                &mut subscriber,
                &mut reader,
                SubscriptionEvent::PublisherGone,
            );
            assert_eq!(
                reader.1.validity(Instrument(0)),
                Validity::Stale,
                "{context}"
            );
        }

        let mut publisher = open().unwrap();
        let mut market = Market::new(seed + 1, 3);
        market.define(&mut publisher);
        (0..50).for_each(|_| market.event(&mut publisher));
        publisher.commit();
        let generation = publisher.generation();
        wait_for(
            &mut subscriber,
            &mut reader,
            SubscriptionEvent::Restarted { generation },
        );
        drain(&mut subscriber, &mut reader);
        market.assert_equal(&reader.1, &context);
        assert_eq!(publisher.check(), Ok(()), "{context}");
    }
}

/// The directory was moved away while it was written, and a file moved back.
#[test]
fn a_ring_in_use_is_not_taken_over_in_another_directory() {
    let stage = Stage::new();
    let publisher = stage.publisher();
    let (bus, away) = (
        stage.root().path().join("test"),
        stage.root().path().join("away"),
    );
    fs::rename(&bus, &away).unwrap();
    drop(stage.publisher());
    for file in ["ring", "definitions", "images"] {
        fs::rename(away.join(file), bus.join(file)).unwrap();
        let error = Publisher::open(&stage.root(), "test", &small()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(file) && text.contains("still being written"),
            "{text}"
        );
        fs::rename(bus.join(file), away.join(file)).unwrap();
    }
    drop(publisher);
    stage.publisher();
}

#[test]
fn a_file_that_is_cut_short_is_named() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let path = stage.root().path().join("test/images");
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    let mut market = Market::new(1, 1);
    market.define(&mut publisher);
    market.event(&mut publisher);
    publisher.commit();
    assert_eq!(publisher.check(), Err(Damage::CutShort(path)));
}
