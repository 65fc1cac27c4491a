//! Counters as tools see them: in files, during changes, and after the end of the process.

#![cfg(not(any(loom, miri)))]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use touchline_shm::counters::{Descriptor, Origin, Reader, Refused, Writer, words_needed};
use touchline_shm::zeroed;
use touchline_testing::random::{Random, seeds};

const ORIGIN: Origin = Origin {
    pid: 1,
    start_unix_ns: 2,
    ns_per_tick: 1.0,
};

fn named(name: &str) -> Descriptor<'_> {
    Descriptor {
        name,
        unit: "things",
        help: "Things that were counted.",
    }
}

#[test]
fn quantiles_are_those_of_the_values_within_the_bound() {
    for seed in seeds(1) {
        println!("SEED={seed}");
        let mut random = Random::from_seed(seed);
        let count = 50_000;
        let mut check = |value: &mut dyn FnMut(u64) -> u64| {
            check_quantiles((0..count).map(|_| value(random.next_u64())).collect());
        };
        check(&mut |any| any % 200); // small, exact
        check(&mut |any| 300 + any % 1_000); // a narrow band
        check(&mut |any| any >> (any % 64)); // every magnitude
        check(&mut |any| (1 << 40) + any % (1 << 39)); // large
    }
}

fn check_quantiles(mut values: Vec<u64>) {
    let memory = zeroed(words_needed(0, 1));
    let mut writer = Writer::create(memory.clone(), &ORIGIN, &[], &[named("latency")]).unwrap();
    values.iter().for_each(|&value| writer.record(0, value));
    values.sort_unstable();
    let view = Reader::attach(memory).unwrap().histogram(0);
    let near = |told: u64, true_value: u64, what: &str| {
        let error = told.abs_diff(true_value) as f64 / true_value.max(1) as f64;
        assert!(error <= 0.0079, "{what}: {told} instead of {true_value}");
    };
    assert_eq!(view.count(), values.len() as u64);
    near(view.min().unwrap(), values[0], "min");
    near(view.max().unwrap(), *values.last().unwrap(), "max");
    for share in [0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0] {
        let rank = (share * values.len() as f64).ceil().max(1.0) as usize;
        let told = view.value_at_quantile(share).unwrap();
        assert!(told >= values[rank - 1], "rounded up");
        near(told, values[rank - 1], &format!("share {share}"));
    }
    let mean = values.iter().map(|&value| value as f64).sum::<f64>() / values.len() as f64;
    near(view.mean().unwrap() as u64, mean as u64, "mean");
    let in_buckets: u64 = view.buckets().map(|bucket| bucket.count).sum();
    assert_eq!(in_buckets, view.count());
}

#[test]
fn a_difference_of_views_has_the_values_in_between() {
    let memory = zeroed(words_needed(0, 1));
    let mut writer = Writer::create(memory.clone(), &ORIGIN, &[], &[named("latency")]).unwrap();
    let reader = Reader::attach(memory).unwrap();
    (0..10).for_each(|_| writer.record(0, 100));
    let earlier = reader.histogram(0);
    (0..5).for_each(|_| writer.record(0, 7));
    let between = reader.histogram(0).since(&earlier);
    assert_eq!(
        (between.count(), between.min(), between.max()),
        (5, Some(7), Some(7))
    );
    assert_eq!(earlier.since(&reader.histogram(0)).count(), 0);
}

#[test]
fn tables_that_a_reader_would_reject_are_not_written() {
    let long = "x".repeat(177);
    let wrong = [
        Descriptor {
            name: "",
            ..named("")
        },
        named(&long[..65]),
        Descriptor {
            unit: &long[..17],
            ..named("a")
        },
        Descriptor {
            help: &long,
            ..named("a")
        },
        named("a\nb"),
        named("ä"),
        Descriptor {
            help: "\x1b[2J",
            ..named("a")
        },
    ];
    for descriptor in wrong {
        for (counters, histograms) in [(&[descriptor][..], &[][..]), (&[], &[descriptor])] {
            let memory = zeroed(words_needed(1, 1));
            let error = Writer::create(memory.clone(), &ORIGIN, counters, histograms).unwrap_err();
            assert!(matches!(error, Refused::Descriptor { .. }), "{error}");
            assert!(Reader::attach(memory).is_err());
        }
    }
    let twice = [named("a"), named("a")];
    assert!(Writer::create(zeroed(1_000), &ORIGIN, &twice, &[]).is_err());
    let error = Writer::create(
        zeroed(words_needed(2, 1) - 1),
        &ORIGIN,
        &[named("a"), named("b")],
        &[named("a")],
    );
    assert!(matches!(error, Err(Refused::Memory { .. })));
    for ns_per_tick in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let origin = Origin {
            ns_per_tick,
            ..ORIGIN
        };
        assert_eq!(
            Writer::create(zeroed(1_000), &origin, &[], &[]).unwrap_err(),
            Refused::Tick
        );
    }
    // The longest allowed table is read completely.
    let memory = zeroed(words_needed(1, 0));
    let full = Descriptor {
        name: &long[..64],
        unit: &long[..16],
        help: &long[..176],
    };
    Writer::create(memory.clone(), &ORIGIN, &[full], &[]).unwrap();
    assert_eq!(
        Reader::attach(memory).unwrap().counters()[0].as_descriptor(),
        full
    );
}

#[test]
fn numbers_only_increase_for_a_reader() {
    let memory = zeroed(words_needed(2, 1));
    let table = [named("first"), named("second")];
    let mut writer = Writer::create(memory.clone(), &ORIGIN, &table, &[named("sizes")]).unwrap();
    let (done, changes) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut rounds = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let reader = Reader::attach(memory.clone()).unwrap();
            let mut last = (0, 0);
            while !done.load(Relaxed) {
                let now = (reader.value(1), reader.histogram(0).count());
                assert!(now.0 >= last.0 && now.1 >= last.1, "{last:?}, then {now:?}");
                changes.fetch_add(u64::from(now != last), Relaxed);
                last = now;
            }
        });
        // Until the reader has seen a change.
        while rounds < 1_000 || changes.load(Relaxed) < 3 {
            writer.add(0, 1);
            writer.add(1, 3);
            writer.record(0, rounds);
            rounds += 1;
        }
        done.store(true, Relaxed);
    });
    let reader = Reader::attach(memory).unwrap();
    assert_eq!((reader.value(0), reader.value(1)), (rounds, 3 * rounds));
    assert_eq!(reader.histogram(0).count(), rounds);
}

#[test]
fn a_tool_reads_the_file_of_a_process_that_has_ended() {
    use touchline_shm::segment::{Access, Mapping, Options, Root, WriterLock};
    let folder = touchline_testing::Folder::in_memory("counters");
    let root = Root::at(&folder);
    let lock = WriterLock::acquire(root.create("cme-340").unwrap()).unwrap();
    let words = words_needed(1, 1);
    let page_bytes = lock.directory().page_bytes().unwrap();
    let bytes = (words * 8).next_multiple_of(page_bytes);
    let draft = Mapping::create(&lock, "counters", bytes, &Options::default()).unwrap();
    let mut writer =
        Writer::create(draft.mapping(), &ORIGIN, &[named("a")], &[named("b")]).unwrap();
    draft.publish().unwrap();
    writer.add(0, 5);
    writer.record(0, 9);
    drop((writer, lock));
    let directory = root.open("cme-340").unwrap();
    assert_eq!(WriterLock::holder(&directory).unwrap(), None);
    let mapping = Mapping::open(&directory, "counters", Access::Read, &Options::default());
    let reader = Reader::attach(mapping.unwrap()).unwrap();
    assert_eq!((reader.value(0), reader.histogram(0).max()), (5, Some(9)));
}
