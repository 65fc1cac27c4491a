//! Named readers as seen from outside: position, losses, latencies, and whether they live.

use crate::world::{Buses, mirror, small};
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_shm::segment::WriterLock;
use touchline_testing::{Process, until, with_role};
use touchline_transport::Publish;
use touchline_transport::shm::{
    Error, FineClock, Join, Lossless, Overview, Publisher, READERS_MAX, ReaderCounters,
    ReaderStats, ReaderView, Root, Settings, Subscriber, readers,
};
use touchline_types::{Instrument, PacketInfo, State, Timestamps, Update, Validity};

/// A clock that stands still at 5,000 ticks of 2 ns.
const CLOCK: FineClock = FineClock {
    ticks: || 5_000,
    ns_per_tick: 2.0,
};

fn named(buses: &Buses, name: &str) -> Subscriber {
    buses.join(seen_as(&buses.root(), name).expect("the name is free"))
}

fn seen_as(root: &Root, name: &str) -> Result<Join, Error> {
    Ok(Join {
        reader_stats: Some(ReaderStats::create(root, "test", name, CLOCK)?),
        ..Join::default()
    })
}

fn seen(buses: &Buses) -> Vec<ReaderView> {
    readers(&buses.root(), "test").expect("the bus is there")
}

fn drain(subscriber: &mut Subscriber) {
    while subscriber.drain(usize::MAX, &mut mirror()) > 0 {}
}

#[test]
fn a_named_reader_is_shown_with_its_lag() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 4);
    assert!(seen(&buses).is_empty());
    let (mut quick, idle) = (named(&buses, "quick"), named(&buses, "an-idle.one"));
    let unseen = buses.join(Join::default());
    gateway.events(100);
    drain(&mut quick);
    let readers = seen(&buses);
    let names: Vec<_> = readers.iter().map(|reader| reader.name.as_str()).collect();
    assert_eq!(
        names,
        ["an-idle.one", "quick"],
        "and not the one without a name"
    );
    for reader in &readers {
        let process = reader.process.as_ref().expect("it lives");
        assert_eq!(process.pid, std::process::id());
    }
    let counters = gateway.counts();
    let (idle_seen, quick_seen) = (&readers[0], &readers[1]);
    assert_eq!((quick_seen.lag_bytes, idle_seen.counters.batches), (0, 0));
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    let position = overview.position;
    assert_eq!(idle_seen.lag_bytes, position - idle_seen.counters.position);
    // It joined at the last join point, and counts no earlier message as unread.
    assert!(idle_seen.lag_bytes > counters.bytes_published / 2);
    assert_eq!(quick_seen.counters.position, position);
    assert_eq!(quick_seen.counters.messages, counters.messages_published);
    assert_eq!(quick_seen.counters.batches, counters.batches_published);
    assert!(counters.batches_published > 20, "too few to tell");
    drop((quick, idle, unseen));
    assert!(
        seen(&buses).is_empty(),
        "a reader that leaves removes its counters file"
    );
    let left = std::fs::read_dir(buses.root().path().join("test/boards")).expect("a folder");
    assert_eq!(left.count(), 0);
}

#[test]
fn latencies_are_measured_by_both_clocks() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    let mut subscriber = named(&buses, "timed");
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    let now = now.as_nanos() as u64;
    let mut publish = |published, receive_ns| {
        let timestamps = Timestamps {
            packet: PacketInfo {
                receive_ns,
                ..PacketInfo::default()
            },
            published,
            ..Timestamps::default()
        };
        let state = State {
            instrument: Instrument(0),
            validity: Validity::Live,
        };
        // The first of the batch has other times, and does not count.
        publisher.publish(&Update::State(state), &Timestamps::default());
        publisher.publish(&Update::State(state), &timestamps);
        publisher.commit();
        drain(&mut subscriber);
    };
    publish(4_900, now - 20_000_000_000); // 100 ticks ago, twenty seconds ago
    publish(5_001, now + 30_000_000_000); // the message's clock is ahead
    publish(0, now - 3_600_000_000_000); // no trace, from a recording
    publish(0, 0); // no times
    let reader = seen(&buses).pop().expect("it lives");
    let counters_file = reader.counters_file.expect("a complete counters file");
    let histograms: Vec<_> = counters_file.histograms().collect();
    let [(by_ticks, published), (_, received)] = &histograms[..] else {
        panic!("two histograms");
    };
    assert_eq!(by_ticks.name, "published_to_consumed_ns");
    let ends = (published.count(), published.min(), published.max());
    assert_eq!(ends, (2, Some(0), Some(200)));
    assert_eq!((received.count(), received.min()), (2, Some(0)));
    let longest = received.max().expect("two values");
    assert!(
        (5_000_000_000..60_000_000_000).contains(&longest),
        "{longest}"
    );
    assert_eq!(reader.counters.receive_timestamps_far, 1);
    assert_eq!(reader.counters.batches, 4);
    let published = publisher.counters().messages_published;
    assert!(published >= 8 && reader.counters.messages == published);
    let written = reader.counters.written_unix_ns;
    assert!(written.abs_diff(now) < 60_000_000_000, "{written}, {now}");
}

#[test]
fn an_overrun_reader_is_shown_with_its_loss() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(3, 6);
    let mut subscriber = named(&buses, "slow");
    gateway.events(4_000);
    let behind = seen(&buses)[0].lag_bytes;
    assert!(
        behind > small().ring_bytes,
        "{behind}: more than can be caught up"
    );
    drain(&mut subscriber);
    let reader = seen(&buses).pop().expect("it lives");
    assert_eq!((reader.counters.overruns, reader.lag_bytes), (1, 0));
    let lost = reader.counters.overrun_messages;
    let published = gateway.counts().messages_published;
    assert_eq!(
        lost + reader.counters.messages,
        published,
        "each is read or lost"
    );
    assert!(lost > 0 && reader.counters.overrun_bytes > small().ring_bytes);
}

/// Processes that start on the bus hold old names for a moment, to remove them.
#[test]
fn a_name_that_is_being_removed_is_free_afterwards() {
    let buses = Buses::new();
    let _publisher = buses.publisher();
    // Creates the folder of names.
    let _other = named(&buses, "other");
    let bus = buses.root().open("test").expect("the bus");
    let names = Root::at(bus.path().join("boards"));
    let name = names.create("one").expect("a name without a reader");
    let lock = WriterLock::acquire(name).expect("it is free");
    let remover = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        lock.remove_directory()
    });
    let taken = seen_as(&buses.root(), "one");
    remover.join().expect("it ends").expect("removed");
    assert!(taken.is_ok(), "{:?}", taken.err());
}

#[test]
fn a_name_has_one_reader_and_the_number_of_readers_is_limited() {
    let buses = Buses::new();
    let _publisher = buses.publisher();
    let first = named(&buses, "one");
    let refused = seen_as(&buses.root(), "one")
        .err()
        .expect("it is taken")
        .to_string();
    let start = format!(
        "bus test has a reader called one already: process {}",
        std::process::id()
    );
    assert!(
        refused.starts_with(&start) && !refused.contains('\n'),
        "{refused}"
    );
    for name in [
        "",
        "../x",
        "/etc/x",
        ".hidden",
        "a b",
        "a\0",
        &"x".repeat(300),
    ] {
        let refused = seen_as(&buses.root(), name).err().expect(name).to_string();
        assert!(
            refused.contains("cannot be the name of a reader"),
            "{refused}"
        );
    }
    drop(first);
    let all: Vec<_> = (0..READERS_MAX)
        .map(|number| ReaderStats::create(&buses.root(), "test", &number.to_string(), CLOCK))
        .collect::<Result<_, _>>()
        .expect("room for all");
    let refused = seen_as(&buses.root(), "one")
        .err()
        .expect("no room")
        .to_string();
    assert!(
        refused.contains("has 64 named readers already"),
        "{refused}"
    );
    drop(all);
    drop(named(&buses, "one"));
    let nowhere = ReaderStats::create(&buses.root(), "other", "one", CLOCK);
    assert!(nowhere.is_err(), "a reader does not begin a bus");
    assert!(!buses.root().path().join("other").exists());
}

#[test]
fn the_slot_of_a_registered_reader_is_known() {
    let buses = Buses::new();
    let lossless = Settings {
        lossless: Some(Lossless::default()),
        ..small()
    };
    let _publisher = Publisher::open(&buses.root(), "test", &lossless).expect("a bus");
    let _nameless = buses.join(Join {
        registered: true,
        ..Join::default()
    });
    let _reader = buses.join(Join {
        registered: true,
        ..seen_as(&buses.root(), "waited-for").expect("the name is free")
    });
    let (overview, seen) = Overview::with_readers(&buses.root(), "test").expect("a bus");
    let places: Vec<_> = overview
        .readers
        .expect("a lossless one")
        .iter()
        .map(|r| r.place)
        .collect();
    assert_eq!(places, [0, 1]);
    assert_eq!(seen[0].counters.place, 2, "counted from 1");
}

#[test]
fn a_reader_follows_its_bus_into_another_directory() {
    let buses = Buses::new();
    let publisher = buses.publisher();
    let mut subscriber = named(&buses, "faithful");
    drop(publisher);
    std::fs::remove_dir_all(buses.root().path().join("test")).expect("our folder");
    let _publisher = buses.publisher();
    assert!(seen(&buses).is_empty());
    until("the next look", Duration::from_secs(20), || {
        drain(&mut subscriber);
        !seen(&buses).is_empty()
    });
    assert_eq!(seen(&buses)[0].counters.restarts, 1);
}

#[test]
fn a_hostile_counters_file_is_reported_and_affects_no_other_reader() {
    let buses = Buses::new();
    let _publisher = buses.publisher();
    let (mut good, _spoilt) = (named(&buses, "good"), named(&buses, "spoilt"));
    let stats = buses.root().path().join("test/boards");
    let file = stats.join("spoilt/counters");
    let whole = std::fs::read(&file).expect("its counters file");
    let mut random = touchline_lab::random::Random::from_seed(9);
    for round in 0..200 {
        let mut spoilt = whole.clone();
        // The header and the descriptors: the rest is numbers, which may be any.
        for _ in 0..1 + random.below(8) {
            let at = random.below(4_096) as usize;
            spoilt[at] = random.below(256) as u8;
        }
        if round % 5 == 0 {
            spoilt.truncate(4_096 * random.below(8) as usize);
        }
        std::fs::write(&file, &spoilt).expect("our file");
        let seen = seen(&buses);
        assert_eq!(seen.len(), 2);
        assert!(seen[0].counters_file.is_ok() && seen[0].name == "good");
        if let Err(error) = &seen[1].counters_file {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
    std::fs::write(&file, b"").expect("our file");
    assert!(
        seen(&buses)[1].counters_file.is_err(),
        "an empty file is refused"
    );
    std::os::unix::fs::symlink("/etc", stats.join("linked")).expect("our folder");
    std::fs::write(stats.join("a-file"), b"x").expect("our folder");
    assert_eq!(
        seen(&buses).len(),
        2,
        "what is no reader's is not looked at"
    );
    drain(&mut good);
}

/// A killed reader is shown as dead; the next of its name takes over, and old dead ones are removed.
#[test]
fn a_killed_reader_is_reported_as_dead_until_another_takes_its_name() {
    let buses = Buses::new();
    let _publisher = buses.publisher();
    let process = killed_reader(buses.root().path());
    let reader = seen(&buses).pop().expect("it lives");
    assert_eq!(
        reader.process.map(|process| process.pid),
        Some(process.id())
    );
    drop(process);
    let reader = seen(&buses).pop().expect("its counters file is left");
    assert!(reader.process.is_none());
    assert_eq!(
        reader.counters_file.expect("whole").origin().pid,
        reader_pid(&buses)
    );
    let other = named(&buses, "other");
    assert_eq!(seen(&buses).len(), 2, "it died a moment ago, and stays");
    let next = named(&buses, "killed");
    assert!(seen(&buses).iter().all(|reader| reader.process.is_some()));
    drop((next, other));

    drop(killed_reader(buses.root().path()));
    age(&buses.root().path().join("test/boards/killed/counters"));
    drop(named(&buses, "other"));
    assert!(seen(&buses).is_empty(), "an hour is over");

    drop(killed_reader(buses.root().path()));
    age(&buses.root().path().join("test/boards/killed/counters"));
    drop(_publisher);
    let _publisher = buses.publisher();
    assert!(seen(&buses).is_empty(), "a publisher sweeps as well");
}

fn reader_pid(buses: &Buses) -> u32 {
    seen(buses)[0]
        .counters_file
        .as_ref()
        .expect("whole")
        .origin()
        .pid
}

/// Makes a counters file an old one, by its start and update times.
fn age(file: &Path) {
    let mut bytes = std::fs::read(file).expect("a counters file");
    let word = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at * 8..at * 8 + 8].try_into().expect("eight bytes"))
    };
    let hour_ago = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_nanos() as u64
        - 3_601_000_000_000;
    let written = ReaderCounters::TABLE
        .iter()
        .position(|counter| counter.name == "written_unix_ns");
    let values_at = word(&bytes, 9) as usize;
    for at in [3, values_at + written.expect("it is counted")] {
        assert!(word(&bytes, at) > hour_ago, "it is younger than an hour");
        bytes[at * 8..at * 8 + 8].copy_from_slice(&hour_ago.to_le_bytes());
    }
    std::fs::write(file, bytes).expect("our file");
}

const READY: &str = "the reader is there";

/// A reader called `killed` in a process of its own.
fn killed_reader(root: &Path) -> Process {
    let mut command = with_role(&[], "seen::play", "reader", root);
    let mut process = Process::start(command.stdin(Stdio::piped()));
    process.wait_for_line(READY);
    process
}

/// Entry of that process; without effect in the run of all tests.
#[test]
fn play() {
    let Some((_, root)) = touchline_testing::role() else {
        return;
    };
    let root = Root::at(root);
    let join = seen_as(&root, "killed").expect("the name is free");
    let _reader = Subscriber::join(&root, "test", join).expect("the bus is there");
    println!("{READY}");
    // Until the parent ends, or longer if this is killed first.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
