//! Readers with a tape: what an overrun loses comes from the tape, each message once, in order.

use crate::random::Market;
use crate::tape::record;
use crate::world::{World, define, small, whole, word};
use std::time::{Duration, Instant};
use touchline_client::{Bus, Event, Events, Next, Options, TapePlace};
use touchline_lab::random::{Random, seeds};
use touchline_tape::Publication;
use touchline_tape::run::{Recording, RunEvent};
use touchline_testing::{PATIENCE, until};
use touchline_transport::Publish;
use touchline_transport::clock::boot_ns;
use touchline_transport::shm::{Activity, Publisher, Settings};
use touchline_types::{ChannelState, Timestamps, Update, Validity};

/// An event: its words, the number of its message, and whether that is of a state.
pub type EventText = (String, u64, bool);

/// A market with its recorder.
pub struct Session {
    pub world: World,
    pub market: Market,
    pub publisher: Publisher,
    pub recording: Recording,
}

impl Session {
    pub fn new(seed: u64) -> Session {
        println!("SEED={seed}");
        let world = World::new();
        let mut publisher = world.publisher();
        let mut market = Market::new(seed);
        market.begin(&mut publisher);
        let recording = world.recording();
        let mut session = Session {
            world,
            market,
            publisher,
            recording,
        };
        // The first messages are in the state of the recorder's join alone.
        session.run(1_000, || ());
        session
    }

    /// Publishes and records this number of events; `each` is called now and then.
    fn run(&mut self, events: u64, mut each: impl FnMut()) {
        for event in 0..events {
            self.market.step(&mut self.publisher);
            if event % 16 == 0 {
                self.record();
                each();
            }
        }
        self.publisher.commit();
        self.record();
        each();
    }

    /// Records what the bus has, however slow the disk is.
    fn record(&mut self) {
        loop {
            let refused = self.recording.counters().record_refused;
            record(&mut self.recording);
            if self.recording.counters().record_refused == refused {
                return;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// The same market behind another publisher.
    fn restarted(mut self) -> Session {
        drop(self.publisher);
        self.publisher = self.world.publisher();
        self.market.begin(&mut self.publisher);
        self
    }

    fn options(&self) -> Options {
        self.world.options().events(Events::ALL)
    }

    fn with_tape(&self) -> Bus {
        let options = self.options().tape(self.world.tape());
        self.world.join(options.tape_wait(PATIENCE))
    }

    /// A reader that has joined, and was overrun since.
    fn overrun(&mut self, options: Options) -> Bus {
        let mut slow = self.world.join(options.tape(self.world.tape()));
        take_all(&mut slow, &mut Vec::new());
        self.run(2_000, || ());
        slow
    }

    /// Publishes without recording, less than the ring holds.
    fn publish_only(&mut self) {
        (0..100).for_each(|_| self.market.step(&mut self.publisher));
        self.publisher.commit();
    }

    /// The reader has reported this number of overruns, and has the books of the market.
    #[track_caller]
    fn assert_overruns(&self, slow: &mut Bus, overruns: u64) {
        take_all(slow, &mut Vec::new());
        let stats = slow.stats();
        assert_eq!(
            (stats.overruns, stats.tape_losses),
            (overruns, overruns),
            "{stats:?}"
        );
        self.market.assert_equal(slow, &format!("{stats:?}"));
    }
}

/// An event as text.
fn text_of(bus: &Bus, event: &Event) -> EventText {
    let trace = bus.trace();
    (word(bus, event), trace.sequence, trace.is_kept)
}

/// Takes what there is, up to the end of the bus.
pub fn take_all(bus: &mut Bus, all: &mut Vec<EventText>) {
    loop {
        match bus.next_within(Duration::from_millis(2)) {
            Next::Event(event) => all.push(text_of(bus, &event)),
            Next::TimedOut if bus.is_on_tape() => {}
            Next::TimedOut | Next::Stopped => return,
        }
    }
}

/// Takes at most this number of events.
fn take_some(bus: &mut Bus, most: u64, all: &mut Vec<EventText>) {
    for _ in 0..most {
        let Some(event) = bus.poll() else { return };
        all.push(text_of(bus, &event));
    }
}

#[track_caller]
fn assert_same(got: &[EventText], expected: &[EventText], context: &str) {
    let first = got
        .iter()
        .zip(expected)
        .position(|(one, other)| one != other);
    let at = first.unwrap_or(got.len().min(expected.len()));
    let around = |all: &[EventText]| {
        all[at.saturating_sub(3).min(all.len())..(at + 3).min(all.len())].to_vec()
    };
    assert!(
        got.len() == expected.len() && first.is_none(),
        "{context}: {} of {} events, first difference at {at}:\n{:#?}\n{:#?}",
        got.len(),
        expected.len(),
        around(got),
        around(expected)
    );
}

/// A reader that is overrun at any moment has the events and books of one that never was.
#[test]
fn an_overrun_reader_continues_from_the_tape() {
    for seed in seeds(12) {
        let mut session = Session::new(seed);
        let mut random = Random::from_seed(seed);
        let mut current = session.world.join(session.options());
        let mut slow = session.with_tape();
        let (mut expected, mut got) = (Vec::new(), Vec::new());
        take_all(&mut current, &mut expected);
        // The tables that a join reads are those of each moment, so that one that takes longer gets other events.
        let joins_slowly = seed % 3 == 2;
        match joins_slowly {
            true => take_some(&mut slow, random.below(40), &mut got),
            false => take_all(&mut slow, &mut got),
        }
        for _ in 0..10 {
            let events = random.below(4_000);
            session.run(events, || take_some(&mut current, 10_000, &mut expected));
            take_some(&mut slow, random.below(3_000), &mut got);
        }
        take_all(&mut current, &mut expected);
        take_all(&mut slow, &mut got);
        let stats = slow.stats();
        let recorded = session.recording.counters();
        assert_eq!(recorded.record_gaps, 0, "{recorded:?}");
        if !joins_slowly {
            assert_same(&got, &expected, &format!("seed {seed}, {stats:?}"));
        }
        assert!(stats.tape_fall_backs > 0, "{stats:?}");
        assert_eq!(
            (stats.overruns, stats.lost, stats.tape_losses),
            (0, 0, 0),
            "{stats:?}"
        );
        assert_eq!(current.stats().overruns, 0);
        for bus in [&slow, &current] {
            session.market.assert_equal(bus, &format!("seed {seed}"));
        }
    }
}

/// Where the tape has a gap, the overrun is reported, and the reader joins the bus.
/// A publisher that stalled and went on is in the tape. A reader that was overrun later has its place behind that: it is not told again, over
/// the state that the channel has since.
#[test]
fn a_stall_of_before_an_overrun_is_not_told_again() {
    let mut session = Session::new(44);
    for (ago_ns, timeout_ns) in [(10_000_000, 1), (0, u64::MAX / 2)] {
        session.publisher.state_activity(Activity {
            at_ns: boot_ns() - ago_ns,
            timeout_ns,
        });
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(300) {
            session.record();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    session.run(16, || ());
    let mut slow = session.with_tape();
    let mut told = Vec::new();
    take_all(&mut slow, &mut told);
    let gapped = ChannelState {
        price: Validity::Gapped,
        orders: Validity::Gapped,
        sequence: 9,
    };
    let update = Update::Channel(&gapped);
    session.publisher.publish(&update, &Timestamps::default());
    session.publisher.commit();
    session.record();
    take_all(&mut slow, &mut told);
    session.run(2_000, || ());
    let mut after = Vec::new();
    take_all(&mut slow, &mut after);
    assert_eq!(slow.stats().overruns, 0, "{:?}", slow.stats());
    assert!(after.len() > 1_000);
    after.retain(|(word, ..)| word.starts_with("channel State"));
    assert_eq!(after, []);
}

#[test]
fn a_gap_of_the_tape_is_an_overrun() {
    let mut session = Session::new(1);
    let mut slow = session.overrun(session.options());
    take_some(&mut slow, 100, &mut Vec::new());
    // The recorder is overrun, too.
    (0..3_000).for_each(|_| session.market.step(&mut session.publisher));
    session.run(2_000, || ());
    assert_eq!(session.recording.counters().record_gaps, 1);
    session.assert_overruns(&mut slow, 1);
}

/// A tape of an earlier bus of the same name has other messages under the same numbers.
#[test]
fn another_publication_is_not_continued() {
    let session = Session::new(2);
    let Session {
        world,
        mut market,
        publisher,
        recording,
    } = session;
    recording.close().expect("the disk is writable");
    drop(publisher);
    std::fs::remove_dir_all(world.path("")).expect("our bus");
    let mut publisher = world.publisher();
    market.begin(&mut publisher);
    let mut slow = world.join(world.options().events(Events::ALL).tape(world.tape()));
    take_all(&mut slow, &mut Vec::new());
    (0..2_000).for_each(|_| market.step(&mut publisher));
    publisher.commit();
    take_all(&mut slow, &mut Vec::new());
    let stats = slow.stats();
    assert_eq!((stats.overruns, stats.tape_messages), (1, 0), "{stats:?}");
    market.assert_equal(&slow, "another publication");
}

/// A tape that is behind the ring is waited for, up to the time of the option.
#[test]
fn a_tape_behind_the_ring_is_waited_for() {
    let begins = Duration::from_millis(100);
    for (comes, wait) in [
        (true, Duration::from_secs(600)),
        (false, Duration::from_millis(300)),
    ] {
        let mut session = Session::new(3);
        let mut slow = session.overrun(session.options().tape_wait(wait));
        session.publish_only();
        let start = Instant::now();
        while slow.is_on_tape() || slow.stats().tape_fall_backs == 0 {
            slow.next_within(Duration::from_millis(1));
            if start.elapsed() < begins {
                assert_eq!(slow.stats().overruns, 0);
            } else if comes {
                session.record();
            }
        }
        assert_eq!(comes, start.elapsed() < wait, "{:?}", start.elapsed());
        session.assert_overruns(&mut slow, u64::from(!comes));
    }
}

/// A recorder that was killed and starts again writes what only the shared memory had: it is waited for, and no message is lost.
#[test]
fn a_recorder_that_starts_again_is_waited_for() {
    for seed in seeds(4) {
        let mut session = Session::new(seed);
        let found = session.world.path("found");
        std::fs::create_dir(&found).expect("our folder");
        let copy = |world: &World| {
            for file in std::fs::read_dir(world.tape()).expect("a tape") {
                let file = file.expect("our folder");
                std::fs::copy(file.path(), found.join(file.file_name())).expect("room");
            }
        };
        copy(&session.world);
        let options = session.options().tape_wait(Duration::from_secs(600));
        let mut slow = session.world.join(options.tape(&found));
        take_all(&mut slow, &mut Vec::new());
        session.run(2_000, || ());
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(300) {
            slow.next_within(Duration::from_millis(1));
        }
        let stats = slow.stats();
        assert!(slow.is_on_tape() && stats.tape_fall_backs == 1, "{stats:?}");
        copy(&session.world);
        session.assert_overruns(&mut slow, 0);
    }
}

/// A tape that is not recorded any more is waited for up to the time of the option, once.
#[test]
fn a_tape_that_has_ended_is_waited_for_once() {
    let mut session = Session::new(4);
    let wait = Duration::from_secs(2);
    let mut slow = session.overrun(session.options().tape_wait(wait));
    session.publish_only();
    let Session {
        world,
        mut market,
        recording,
        mut publisher,
    } = session;
    drop(recording);
    for (losses, is_waited) in [(1, true), (2, false)] {
        let start = Instant::now();
        take_all(&mut slow, &mut Vec::new());
        assert_eq!(start.elapsed() >= wait, is_waited, "{:?}", start.elapsed());
        let stats = slow.stats();
        let lost = (stats.overruns, stats.tape_losses, stats.tape_fall_backs);
        assert_eq!(lost, (losses, losses, losses), "{stats:?}");
        market.assert_equal(&slow, "an ended tape");
        (0..2_000).for_each(|_| market.step(&mut publisher));
        publisher.commit();
    }
    // One that came back, and has ended since, is waited for again.
    let recording = world.recording();
    let mut session = Session {
        world,
        market,
        publisher,
        recording,
    };
    session.assert_overruns(&mut slow, 3);
    session.run(2_000, || ());
    session.assert_overruns(&mut slow, 3);
    assert_eq!(slow.stats().tape_fall_backs, 4, "{:?}", slow.stats());
    let Session {
        world: _world,
        mut market,
        recording,
        mut publisher,
    } = session;
    drop(recording);
    (0..2_000).for_each(|_| market.step(&mut publisher));
    publisher.commit();
    let start = Instant::now();
    take_all(&mut slow, &mut Vec::new());
    assert!(start.elapsed() >= wait, "{:?}", start.elapsed());
    assert_eq!(slow.stats().tape_losses, 4, "{:?}", slow.stats());
}

/// Without a tape, and with its segments gone, an overrun is reported.
#[test]
fn segments_that_are_removed_meanwhile_are_an_overrun() {
    for is_open in [false, true] {
        let mut session = Session::new(5);
        let mut slow = session.overrun(session.options());
        if is_open {
            take_some(&mut slow, 50, &mut Vec::new());
            assert!(slow.is_on_tape());
        }
        for file in std::fs::read_dir(session.world.tape()).expect("a tape") {
            let path = file.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "tlj") {
                std::fs::remove_file(path).expect("our file");
            }
        }
        // An open segment can still be read.
        let overruns = u64::from(!is_open);
        take_all(&mut slow, &mut Vec::new());
        assert!(slow.stats().overruns <= 1 && slow.stats().overruns >= overruns);
        session.market.assert_equal(&slow, "removed segments");
    }
}

/// Another publisher starts while the tape is read.
#[test]
fn a_restart_during_the_fall_back_is_told() {
    for seed in seeds(4) {
        let mut session = Session::new(seed);
        let mut slow = session.overrun(session.options());
        take_some(&mut slow, 50, &mut Vec::new());
        assert!(slow.is_on_tape());
        let mut session = session.restarted();
        // Fewer messages leave the start of the publisher in the ring.
        for _ in 0..[5, 3_000][seed as usize % 2] {
            session.market.step(&mut session.publisher);
        }
        session.publisher.commit();
        record(&mut session.recording);
        take_all(&mut slow, &mut Vec::new());
        let stats = slow.stats();
        assert_eq!(stats.restarts, 1, "{stats:?}");
        session
            .market
            .assert_equal(&slow, &format!("seed {seed}, {stats:?}"));
    }
}

/// A stop ends the wait for a tape.
#[test]
fn a_stop_ends_the_wait() {
    let mut session = Session::new(6);
    let mut slow = session.overrun(session.options().tape_wait(Duration::from_secs(600)));
    session.publish_only();
    let stopper = slow.stopper();
    let stop = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stopper.stop();
    });
    while slow.next().is_some() {}
    assert!(slow.is_on_tape());
    stop.join().expect("it does not panic");
}

/// History from a place joins the bus: each message from there on once, in order, behind the books of the place.
#[test]
fn history_joins_the_bus() {
    for seed in seeds(12) {
        let mut session = Session::new(seed);
        let mut random = Random::from_seed(seed);
        let mut current = session.world.join(session.options());
        let mut expected = Vec::new();
        take_all(&mut current, &mut expected);
        // Earlier messages may be in the books that it got when it joined.
        let first = expected.iter().map(|(_, sequence, _)| sequence + 1).max();
        let first = first.expect("books");
        session.run(random.below(4_000) + 1_000, || {
            take_some(&mut current, 10_000, &mut expected)
        });
        take_all(&mut current, &mut expected);
        let last = expected
            .iter()
            .map(|(_, sequence, _)| *sequence)
            .max()
            .expect("events");
        let from = first + random.below(last - first);
        let options = session.options().tape(session.world.tape());
        let mut joined = session
            .world
            .join(options.tape_from(TapePlace::Sequence(from)));
        let mut got = Vec::new();
        for _ in 0..4 {
            take_some(&mut joined, random.below(2_000), &mut got);
            session.run(random.below(2_000), || {
                take_some(&mut current, 10_000, &mut expected)
            });
        }
        take_all(&mut current, &mut expected);
        take_all(&mut joined, &mut got);
        let stats = joined.stats();
        let context = format!("seed {seed} from {from}, {stats:?}");
        let is_message = |(_, sequence, is_kept): &&EventText| *sequence > 0 && !is_kept;
        let mut got: Vec<_> = got.iter().filter(is_message).cloned().collect();
        let mut expected: Vec<_> = expected.iter().filter(is_message).cloned().collect();
        // The place is in front of the batch that has the message.
        let begin = got.first().expect("messages").1;
        let wanted = expected.iter().find(|(_, sequence, _)| *sequence >= from);
        assert!(begin <= wanted.expect("messages").1, "{context}");
        // The rest of that batch tells the new reader of tops that the other one had before.
        expected.retain(|(_, sequence, _)| *sequence >= from);
        got.retain(|(_, sequence, _)| *sequence >= from);
        assert_same(&got, &expected, &context);
        assert_eq!(stats.overruns, 0, "{context}");
        session.market.assert_equal(&joined, &context);
        let undefined = (stats.undefined, stats.inconsistent);
        assert_eq!(undefined, (0, 0), "{context}");
    }
}

/// History of an earlier publisher of the bus is followed by that of the present one.
#[test]
fn history_goes_on_over_a_restart() {
    let mut session = Session::new(8).restarted();
    for _ in 0..3_000 {
        session.market.step(&mut session.publisher);
        session.publisher.commit();
        record(&mut session.recording);
    }
    let options = session.options().tape(session.world.tape());
    let mut joined = session.world.join(options.tape_from(TapePlace::Time(0)));
    let mut got = Vec::new();
    take_all(&mut joined, &mut got);
    let stats = joined.stats();
    assert_eq!((stats.restarts, stats.overruns), (1, 0), "{stats:?}");
    assert!(got.iter().any(|(text, ..)| text.contains("caught up")));
    session.market.assert_equal(&joined, "over a restart");
}

/// A larger bus behind a restart: readers of the bus, of the tape, and of both have its room from there on, wherever they begin.
#[test]
fn books_have_the_room_of_their_publication() {
    let world = World::new();
    let few = Settings {
        instruments_max: 1,
        orders_max: 0,
        ..small()
    };
    let mut publisher = world.publisher_with("test", &few);
    define(&mut publisher, 0, "FIRST", 1);
    publisher.commit();
    let mut recording = world.recording();
    let options = world.options().events(Events::ALL);
    let mut live = world.join(options.clone());
    take_all(&mut live, &mut Vec::new());
    whole(&mut publisher, 0, (99, 1), (200, 1));
    publisher.commit();
    record(&mut recording);
    drop(publisher);
    let mut publisher = world.publisher();
    let mut market = Market::new(9);
    market.begin(&mut publisher);
    let mut is_recorded = false;
    until(
        "reader and recorder at the next publisher",
        PATIENCE,
        || {
            record(&mut recording);
            take_all(&mut live, &mut Vec::new());
            while let Some(event) = recording.event() {
                let of = |publication: &Publication| publication.orders_max > 0;
                is_recorded |=
                    matches!(event, RunEvent::Recording { publication } if of(&publication));
            }
            is_recorded && live.stats().restarts == 1
        },
    );
    for _ in 0..2_000 {
        market.step(&mut publisher);
        publisher.commit();
        record(&mut recording);
        take_some(&mut live, 100, &mut Vec::new());
    }
    take_all(&mut live, &mut Vec::new());
    market.assert_equal(&live, "live");
    let of_tape = |from: Option<TapePlace>| {
        let mut options = options.clone();
        if let Some(from) = from {
            options = options.tape_from(from);
        }
        options.open_journal(world.tape(), None).expect("a tape")
    };
    let with_tape =
        |from: TapePlace| world.join(options.clone().tape(world.tape()).tape_from(from));
    let (begin, behind) = (TapePlace::Time(0), TapePlace::Sequence(1_500));
    for (name, restarts, mut bus) in [
        ("tape", 1, of_tape(None)),
        ("tape from a place", 0, of_tape(Some(behind))),
        ("bus with its history", 1, with_tape(begin)),
        ("bus from a place", 0, with_tape(behind)),
    ] {
        while let Next::Event(_) = bus.next_within(Duration::from_millis(300)) {}
        assert_eq!(bus.stats().restarts, restarts, "{name}: {:?}", bus.stats());
        market.assert_equal(&bus, name);
    }
}
