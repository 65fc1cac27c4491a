//! A source and a copy over a connection on this host, step by step.

use super::{CopyEvent, Port, Receiver, SourceEvent};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchline_journal::replica::{Replica, SourceStatus};
use touchline_journal::{Journal, Options, Record, Refused, Root, WriterLock, verify};
use touchline_net::stream::Listener;
use touchline_testing::{Folder, PATIENCE};
use touchline_types::ReceiveTime;

/// Address of a copy.
const LOCAL: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Address of the source: no other test listens there after its end.
const OURS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 78);
const START_NS: u64 = 1 << 60;

/// A folder of one test.
struct Place(Folder);

impl Place {
    fn new(name: &str) -> Place {
        Place(Folder::new(name))
    }

    fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    fn copy(&self) -> PathBuf {
        self.0.join("copy")
    }

    /// A run with this many records of 8 KiB: the position behind them.
    fn write(&self, records: u64) -> u64 {
        let root = Root::at(self.0.join("bus"));
        let bus = WriterLock::acquire(root.create("engine").expect("a bus")).expect("its lock");
        let options = Options {
            segment_bytes: 4 << 20,
            write_zeros: false,
            idle: Duration::from_micros(20),
            ..Options::orders("test")
        };
        let journal = Journal::open(&self.journal(), &bus, &options, 1);
        let mut journal = journal.expect("a journal");
        for number in 0..records {
            let record = Record {
                stream: 1,
                kind: 48,
                time_ns: number,
                body: &[number as u8; 8 << 10],
            };
            while let Err(refused) = journal.append(&record) {
                let waits = matches!(refused, Refused::TailFull { .. } | Refused::NoSegment);
                assert!(waits, "{refused}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        journal.close(2).expect("it closes");
        verify(&self.journal()).expect("a journal").position
    }
}

fn listen() -> Listener {
    Listener::bind(SocketAddrV4::new(OURS, 0)).expect("a free port")
}

fn port(directory: &Path, listener: Listener) -> Port<'_> {
    Port::new(directory, &[LOCAL], None, listener)
}

fn receiver<'a>(source: &'a str, copy: &Path) -> Receiver<'a> {
    Receiver::new(source, None, Replica::open(copy).expect("a copy"), START_NS)
}

/// Whether the copy is connected and has everything.
fn is_current(_: &mut Port<'_>, copy: &mut Receiver<'_>) -> bool {
    copy.is_connected() && copy.behind() == 0
}

/// Steps of both sides until something is so.
#[track_caller]
fn until(
    (port, copy): (&mut Port<'_>, &mut Receiver<'_>),
    mut is_so: impl FnMut(&mut Port<'_>, &mut Receiver<'_>) -> bool,
) {
    touchline_testing::until("the state of both sides", PATIENCE, || {
        port.round(ReceiveTime::at(START_NS)).expect("a journal");
        copy.round(START_NS).expect("a disk");
        match is_so(port, copy) {
            true => Ok(()),
            false => Err(copy.source_status().clone()),
        }
    });
}

/// A copy that begins knows from the first bytes on how much it lacks, and so does its source, until it has everything. Each side
/// has one event when it is behind and one when it has caught up.
#[test]
fn both_sides_show_how_much_a_copy_lacks_while_it_reads() {
    let place = Place::new("lag");
    let end = place.write(400);
    let listener = listen();
    let address = listener.address().to_string();
    let directory = place.journal();
    let mut port = port(&directory, listener);
    let mut copy = receiver(&address, &place.copy());
    assert!(!copy.source_status().is_heard());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    until((&mut port, &mut copy), |port, copy| {
        let counters = copy.counters(START_NS);
        if counters.journal_copy_connected == 0 {
            return false;
        }
        assert_eq!(counters.journal_copy_source_position, end);
        assert_eq!(
            counters.journal_copy_behind,
            end - counters.journal_copy_position
        );
        ours.push(counters.journal_copy_behind);
        let counters = port.counters(START_NS + 7);
        assert_eq!(counters.journal_source_position, end);
        theirs.push((
            counters.journal_copies_behind,
            counters.journal_copies_behind_ns,
        ));
        counters.journal_copies_behind == 0
    });
    // A read has at most 256 KiB.
    assert!(ours[0] > end - (512 << 10), "{ours:?}");
    assert!(
        ours.len() > 10 && ours.is_sorted_by(|a, b| a >= b),
        "{ours:?}"
    );
    assert_eq!(ours.last(), Some(&0));
    // The source counts only bytes on the copy's disk.
    assert!(
        theirs
            .iter()
            .zip(&ours)
            .all(|((theirs, _), ours)| theirs >= ours)
    );
    assert!(
        theirs.iter().all(|(bytes, ns)| (*bytes > 0) == (*ns == 7)),
        "{theirs:?}"
    );
    let ours = copy.take_events();
    let begins = matches!(
        &ours[..],
        [CopyEvent::Connected { source_position, .. }, CopyEvent::Behind { .. }, CopyEvent::CaughtUp { .. }]
            if *source_position == end
    );
    assert!(begins, "{ours:?}");
    let theirs = port.take_events();
    let begins = matches!(
        &theirs[..],
        [
            SourceEvent::Connected { position: 0, .. },
            SourceEvent::Behind { .. },
            SourceEvent::CaughtUp { .. }
        ]
    );
    assert!(begins, "{theirs:?}");
    assert!(copy.is_connected() && copy.source_status().is_heard());
    assert_eq!((copy.copy().epoch(), copy.behind()), (1, 0));
}

/// The source is lost while the copy reads: the number of missing bytes stays known, also after a restart of the copy.
/// A source that cannot be reached is one event, not one for each attempt; the copy is complete when the source is
/// back.
#[test]
fn what_a_copy_lacks_is_known_when_its_source_is_gone() {
    let place = Place::new("gone");
    let end = place.write(400);
    let listener = listen();
    let address = listener.address().to_string();
    let directory = place.journal();
    let mut source = port(&directory, listener);
    let mut copy = receiver(&address, &place.copy());
    // One poll of the journal reads 256 frames of the 400.
    until((&mut source, &mut copy), |source, _| {
        source.counters(START_NS).journal_copies == 1
    });
    let mut now_ns = START_NS;
    touchline_testing::until("the first bytes", PATIENCE, || {
        copy.round(now_ns).expect("a disk");
        copy.counters(now_ns).journal_copy_position > 0
    });
    drop(source);
    let mut events = copy.take_events();
    touchline_testing::until("four events", PATIENCE, || {
        now_ns += 100_000_000;
        copy.round(now_ns).expect("a disk");
        events.extend(copy.take_events());
        events.len() >= 4
    });
    // Connected, behind, lost, and the reason of the next attempt; then a minute of attempts.
    for _ in 0..600 {
        now_ns += 100_000_000;
        copy.round(now_ns).expect("a disk");
    }
    events.extend(copy.take_events());
    let is_lost = |event: &CopyEvent| matches!(event, CopyEvent::Lost { retry_ms: 500, .. });
    assert!(
        events.len() == 4 && events[2..].iter().all(is_lost),
        "{events:?}"
    );
    let counters = copy.counters(now_ns);
    let behind = counters.journal_copy_behind;
    assert!(behind > 0 && behind == end - counters.journal_copy_position);
    assert_eq!(counters.journal_copy_connected, 0);
    assert!(counters.journal_copy_silent_ns >= 60_000_000_000);
    assert!(!copy.is_connected());
    copy.note().expect("a disk");
    drop(copy);
    let noted = SourceStatus::read(&place.copy()).expect("a copy");
    assert_eq!(
        (noted.position, noted.source.as_str()),
        (end, address.as_str())
    );

    let listener = listen();
    let address = listener.address().to_string();
    let mut copy = receiver(&address, &place.copy());
    assert_eq!(copy.counters(START_NS).journal_copy_behind, behind);
    let mut source = port(&directory, listener);
    until((&mut source, &mut copy), |_, copy| {
        let counters = copy.counters(START_NS);
        counters.journal_copy_connected == 1 && counters.journal_copy_behind == 0
    });
}

/// Both sides have open files, which go on under no name. They notice that the directory, or the segment that is written, is another one.
#[test]
fn a_directory_that_is_taken_away_ends_both_sides() {
    let place = Place::new("moved");
    place.write(40);
    let listener = listen();
    let address = listener.address().to_string();
    let directory = place.journal();
    let mut source = port(&directory, listener);
    let mut copy = receiver(&address, &place.copy());
    until((&mut source, &mut copy), is_current);
    source.check_place().expect("the directory is there");
    copy.note().expect("the directory is there");
    let moves = |from: &Path| {
        let moved = from.with_extension("moved");
        std::fs::rename(from, &moved).expect("our folder");
        moved
    };
    let back = |from: PathBuf, to: &Path| std::fs::rename(from, to).expect("our folder");
    let refused = |copy: &mut Receiver<'_>, taken: &Path| {
        let said = copy.note().expect_err("it has no name").to_string();
        let is_named = said.starts_with(&taken.display().to_string());
        assert!(is_named && said.contains("removed or replaced"), "{said}");
    };
    let taken = place.copy();
    let moved = moves(&taken);
    refused(&mut copy, &taken);
    std::fs::create_dir(&taken).expect("our folder");
    refused(&mut copy, &taken);
    std::fs::remove_dir(&taken).expect("our folder");
    back(moved, &taken);
    let taken = taken.join("0000000001.tlj");
    let moved = moves(&taken);
    refused(&mut copy, &taken);
    std::fs::copy(&moved, &taken).expect("room");
    refused(&mut copy, &taken);
    back(moved, &taken);
    copy.note().expect("it is back");
    let moved = moves(&directory);
    std::fs::create_dir(&directory).expect("our folder");
    let said = source
        .check_place()
        .expect_err("another directory")
        .to_string();
    assert!(said.contains("removed or replaced"), "{said}");
    std::fs::remove_dir(&directory).expect("our folder");
    back(moved, &directory);
    source.check_place().expect("it is back");
}

/// The connection of a copy that comes to damage ends, with the place, and the copy connects again: a start of the writer may mend it. A copy
/// that is behind the damage goes on.
#[test]
fn damage_ends_the_copy_that_comes_there_and_no_other() {
    let place = Place::new("damage");
    place.write(1_200);
    let listener = listen();
    let address = listener.address().to_string();
    let directory = place.journal();
    let mut source = port(&directory, listener);
    let mut whole = receiver(&address, &place.copy());
    until((&mut source, &mut whole), is_current);
    let segment = directory.join("0000000002.tlj");
    let mut bytes = std::fs::read(&segment).expect("three segments");
    bytes[..8_192].fill(0);
    std::fs::write(&segment, bytes).expect("room");
    let mut late = receiver(&address, &place.0.join("late"));
    let mut lost = None;
    until((&mut source, &mut whole), |source, _| {
        late.round(START_NS).expect("no refusal");
        lost = source
            .take_events()
            .into_iter()
            .find_map(|event| match event {
                SourceEvent::Lost { reason, .. } => Some(reason),
                _ => None,
            });
        lost.is_some()
    });
    let said = lost.expect("a reason");
    assert!(
        said.contains("0000000002.tlj") && said.contains("is damaged"),
        "{said}"
    );
    until((&mut source, &mut whole), |source, _| {
        source.counters(START_NS).journal_copies == 1
    });
    assert!(whole.is_connected());
}

/// The disk of the source is not mounted yet when its copy connects: the copy tries again, and goes on.
#[test]
fn a_journal_that_is_away_for_a_while_ends_no_copy() {
    let place = Place::new("away");
    place.write(40);
    let directory = place.journal();
    let listener = listen();
    let address = listener.address().to_string();
    let mut source = port(&directory, listener);
    let mut copy = receiver(&address, &place.copy());
    until((&mut source, &mut copy), is_current);
    drop((source, copy));
    let listener = listen();
    let address = listener.address().to_string();
    let mut source = port(&directory, listener);
    let mut copy = receiver(&address, &place.copy());
    let away = directory.with_extension("away");
    std::fs::rename(&directory, &away).expect("our folder");
    let mut now_ns = START_NS;
    let mut round = |source: &mut Port<'_>| {
        now_ns += 10_000_000;
        source.round(ReceiveTime::at(now_ns)).expect("a journal");
        copy.round(now_ns).expect("no refusal");
        (copy.is_connected(), copy.take_events())
    };
    touchline_testing::until("the end of a connection", PATIENCE, || {
        let (_, events) = round(&mut source);
        events
            .iter()
            .any(|event| matches!(event, CopyEvent::Lost { .. }))
    });
    std::fs::rename(&away, &directory).expect("our folder");
    touchline_testing::until("the copy is served", PATIENCE, || round(&mut source).0);
    let said = format!("{:?}", source.take_events());
    assert!(said.contains("cannot open"), "{said}");
}

/// A source that begins a message and sends a byte now and then is not silent; the copy connects again all the same.
#[test]
fn a_message_that_never_comes_whole_ends_the_connection() {
    let place = Place::new("slow");
    let source = TcpListener::bind((OURS, 0)).expect("a free port");
    let address = source.local_addr().expect("it is bound").to_string();
    let mut copy = receiver(&address, &place.copy());
    let mut slow = None;
    let mut now_ns = START_NS;
    for second in 0..15_u64 {
        for _ in 0..50 {
            copy.round(now_ns).expect("a disk");
            if slow.is_none() && second == 0 {
                source.set_nonblocking(true).expect("a socket");
                slow = source.accept().ok().map(|(stream, _)| stream);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        let stream = slow.as_mut().expect("the copy connects");
        let part = if second == 0 {
            &b"F\xff\x00\x00\x00"[..]
        } else {
            &b"x"[..]
        };
        if stream.write_all(part).is_err() {
            break;
        }
        now_ns += 1_000_000_000;
    }
    // The bytes say nothing about its journal.
    let silent_ns = copy.counters(now_ns).journal_copy_silent_ns;
    assert_eq!(silent_ns, now_ns - START_NS);
    let said = format!("{:?}", copy.take_events());
    assert!(
        said.contains("a message did not come whole in 10 s"),
        "{said}"
    );
}
