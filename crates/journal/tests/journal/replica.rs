//! A copy of a journal equals the journal, byte by byte, after any end of its source, its connection or itself; frames
//! of another journal are refused.

use crate::place::{Place, append, options, setting};
use std::fs;
use std::ops::Range;
use std::path::Path;
use touchline_journal::format::{POSITION_MAX, segment_index, segment_name};
use touchline_journal::replica::message::{self, Message};
use touchline_journal::replica::{Replica, ReplicaEnd, Source, SourceStatus};
use touchline_journal::{Error, Journal, read, verify};
use touchline_shm::segment::{Root, WriterLock};
use touchline_testing::random::Random;

/// Time of a source.
pub const NOW_NS: u64 = 1 << 60;

/// Sends frames that a copy lacks, at most `most` bytes. True if the copy has everything. `spoil` changes the sent
/// bytes.
pub fn send(
    journal: &Path,
    copy: &mut Replica,
    most: usize,
    spoil: impl FnOnce(&mut Vec<u8>),
) -> Result<bool, String> {
    let end = copy.end().map_err(|error| error.to_string())?;
    let hello = message::hello(end.as_ref());
    let end = message::read_hello(&hello).expect("a hello");
    let mut source = Source::new(journal, end.as_ref()).map_err(|error| error.to_string())?;
    let mut sent = Vec::new();
    while sent.len() < most && source.poll(7, NOW_NS, &mut sent).expect("a journal") > 0 {}
    let is_all = sent.len() <= most;
    sent.truncate(most);
    spoil(&mut sent);
    let mut rest = &sent[..];
    while let Some((message, length)) = message::take(rest).map_err(|_| "malformed".to_owned())? {
        let taken = match message {
            Message::Segment(header) => copy.segment(header),
            Message::Frame(frame) => copy.frame(frame),
            Message::Position { .. } => Ok(()),
            other => panic!("{other:?}"),
        };
        taken.map_err(|error| error.to_string())?;
        rest = &rest[length..];
    }
    copy.sync().expect("a disk");
    Ok(is_all)
}

/// Seeds of a test: `SEED=n` runs one alone, `SEEDS=n` that many.
fn seeds(usual: u64) -> Range<u64> {
    match setting("SEED", 0) {
        0 => 1..setting("SEEDS", usual) + 1,
        seed => seed..seed + 1,
    }
}

pub fn segments(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).expect("a directory");
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| segment_index(name).is_some()).collect();
    names.sort();
    names
}

/// Every segment of the copy has the bytes of the journal's.
pub fn assert_equal(journal: &Path, copy: &Path, seed: u64) {
    let names = segments(copy);
    assert!(!names.is_empty(), "SEED={seed}");
    for name in names {
        let [ours, theirs] = [journal, copy].map(|place| fs::read(place.join(&name)).unwrap());
        assert!(ours == theirs, "SEED={seed}: {name} differs");
    }
}

fn follows(journal: &Path, copy: &Path, seed: u64) {
    let all = |directory: &Path| {
        let mut all = Vec::new();
        let report = read(directory, false, |entry| {
            all.push((
                entry.sequence,
                entry.position,
                entry.head,
                entry.body.to_vec(),
            ));
        });
        (report.expect("a journal").position, all)
    };
    assert!(all(journal) == all(copy), "SEED={seed}");
}

/// Runs that end well and by a kill, segments that are full, connections that end at any byte, copies that are opened again.
#[test]
fn a_copy_is_the_journal_wherever_a_connection_ends() {
    for seed in seeds(12) {
        let mut random = Random::from_seed(seed);
        let place = Place::new(&format!("replica-{seed}"));
        let (journal, copy) = (place.journal(), place.path().join("copy"));
        let bus = place.bus();
        let mut replica = Replica::open(&copy).expect("a copy");
        let mut number = 0;
        for run in 1..=3 {
            let mut writer = Journal::open(&journal, &bus, &options(), run).expect("a journal");
            for _ in 0..4 {
                for _ in 0..random.below(300) {
                    append(&mut writer, number);
                    number += 1;
                }
                let most = random.below(100_000) as usize;
                send(&journal, &mut replica, most, |_| {}).expect("a copy of it");
                if random.below(2) == 0 {
                    drop(replica);
                    replica = Replica::open(&copy).expect("a copy");
                }
            }
            match random.below(2) == 0 {
                true => writer.close(10).expect("it closes"),
                false => drop(writer),
            }
        }
        while !send(&journal, &mut replica, 50_000, |_| {}).expect("a copy of it") {}
        drop(replica);
        assert_equal(&journal, &copy, seed);
        follows(&journal, &copy, seed);
        assert!(number > 100, "SEED={seed}: only {number} records");
    }
}

/// A forged or damaged stream changes nothing that holds.
#[test]
fn a_garbled_stream_is_refused_and_the_copy_stays_a_prefix() {
    let (mut refused, mut count) = (0, 0);
    for seed in seeds(40) {
        let mut random = Random::from_seed(seed);
        let place = Place::new(&format!("garbled-{seed}"));
        let (journal, copy) = (place.journal(), place.path().join("copy"));
        let bus = place.bus();
        let mut writer = Journal::open(&journal, &bus, &options(), 1).expect("a journal");
        (0..300).for_each(|number| append(&mut writer, number));
        writer.close(10).expect("it closes");
        let mut replica = Replica::open(&copy).expect("a copy");
        let most = 2_000 + random.below(40_000) as usize;
        let garbled = send(&journal, &mut replica, most, |sent| {
            let at = random.below(sent.len() as u64) as usize;
            match random.below(3) {
                0 => sent[at] ^= 1 << random.below(8),
                1 => {
                    sent.remove(at);
                }
                _ => sent.insert(at, 0),
            }
        });
        count += 1;
        refused += u32::from(garbled.is_err());
        drop(replica);
        let mut replica = Replica::open(&copy).expect("a copy");
        while !send(&journal, &mut replica, 50_000, |_| {}).expect("a copy of it") {}
        drop(replica);
        assert_equal(&journal, &copy, seed);
    }
    // A change in the last message may leave it incomplete.
    assert!(
        refused * 10 >= count * 8,
        "{refused} of {count} were refused"
    );
}

/// A closed journal with these records.
pub fn written(place: &Place, records: u64) {
    let writer = Journal::open(&place.journal(), &place.bus(), &options(), 1);
    let mut writer = writer.expect("a journal");
    (0..records).for_each(|number| append(&mut writer, number));
    writer.close(10).expect("it closes");
}

/// Damages the last record and writes after the end, which is at this position, as a host that loses power does.
fn tear(segment: &Path, position: u64) {
    let mut bytes = fs::read(segment).unwrap();
    let used = position as usize;
    bytes[used - 600] ^= 1;
    bytes[used + 64..used + 96].fill(7);
    fs::write(segment, bytes).unwrap();
}

/// A host that loses power leaves a part of a frame, and later bytes that the disk wrote.
#[test]
fn a_torn_end_of_a_copy_comes_again() {
    let place = Place::new("torn-copy");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    written(&place, 150);
    let mut replica = Replica::open(&copy).expect("a copy");
    send(&journal, &mut replica, 20_000, |_| {}).expect("a copy of it");
    let position = replica.position();
    drop(replica);
    tear(&copy.join(segment_name(1)), position);
    let mut replica = Replica::open(&copy).expect("what holds is kept");
    assert!(replica.position() < position && replica.position() > 0);
    while !send(&journal, &mut replica, 50_000, |_| {}).expect("a copy of it") {}
    drop(replica);
    assert_equal(&journal, &copy, 0);
}

/// The torn records of a journal exist in no other place: they are not cleared. A closed journal becomes a copy.
#[test]
fn a_journal_that_is_no_copy_and_has_a_torn_end_stays_as_it_is() {
    let place = Place::new("torn-journal");
    let journal = place.journal();
    let writer = Journal::open(&journal, &place.bus(), &options(), 1);
    let mut writer = writer.expect("a journal");
    (0..20).for_each(|number| append(&mut writer, number));
    drop(writer);
    let report = verify(&journal).expect("a journal");
    let segment = journal.join(segment_name(1));
    tear(&segment, report.position);
    let before = fs::read(&segment).unwrap();
    let refused = Replica::open(&journal).unwrap_err().to_string();
    assert!(refused.contains("touchline journal repair"), "{refused}");
    assert!(before == fs::read(&segment).unwrap(), "it was changed");
    assert!(!journal.join("copy").exists(), "it was marked");

    let place = Place::new("closed-journal");
    written(&place, 20);
    let position = verify(&place.journal()).expect("a journal").position;
    let replica = Replica::open(&place.journal()).expect("a journal that holds");
    assert_eq!(replica.position(), position);
}

/// Positions and numbers beyond those of any journal would overflow.
#[test]
fn an_end_beyond_every_journal_is_refused() {
    let place = Place::new("far-end");
    written(&place, 5);
    let mut replica = Replica::open(&place.journal()).expect("a journal that holds");
    let end = replica.end().expect("a journal").expect("records");
    let bytes = end.encode();
    assert_eq!(ReplicaEnd::decode(&bytes), Some(end));
    for at in [0, 8] {
        let mut far = bytes.clone();
        let at = ReplicaEnd::BYTES - 40 + at;
        far[at..at + 8].copy_from_slice(&(POSITION_MAX + 1).to_le_bytes());
        assert_eq!(ReplicaEnd::decode(&far), None, "at {at}");
    }
}

/// A copy that was promoted, a copy of another journal, or a copy with records that the journal lost with its host is
/// not continued; nor is a copy that another process writes.
#[test]
fn what_is_no_copy_of_the_journal_is_refused() {
    let place = Place::new("no-copy");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    let bus = place.bus();
    let mut writer = Journal::open(&journal, &bus, &options(), 1).expect("a journal");
    (0..20).for_each(|number| append(&mut writer, number));
    let mut replica = Replica::open(&copy).expect("a copy");
    assert!(matches!(Replica::open(&copy), Err(Error::Locked { .. })));
    send(&journal, &mut replica, usize::MAX, |_| {}).expect("a copy of it");
    drop(replica);
    drop(writer);

    // Promoted: a run of another host began.
    let promoted = Place::new("no-copy-promoted");
    let other = promoted.bus();
    let engine = Journal::open(&copy, &other, &options(), 2).expect("a start from a copy");
    assert!(engine.report().is_other_boot, "the copy may lack records");
    assert_eq!(
        engine.report().epoch,
        1_002,
        "epochs are left to its source"
    );
    engine.close(11).expect("it closes");
    let mut replica = Replica::open(&copy).expect("a copy");
    let mut writer = Journal::open(&journal, &bus, &options(), 3).expect("a journal");
    append(&mut writer, 20);
    let refused = send(&journal, &mut replica, usize::MAX, |_| {}).unwrap_err();
    assert!(
        refused.contains("is not a copy of this journal"),
        "{refused}"
    );

    // A copy of another journal.
    let another = promoted.path().join("orders");
    let engine = Journal::open(&another, &other, &options(), 2).expect("a journal");
    let refused = send(&another, &mut replica, usize::MAX, |_| {}).unwrap_err();
    assert!(
        refused.contains("is not a copy of this journal"),
        "{refused}"
    );
    drop(engine);
    let before = verify(&copy).expect("a journal").position;
    assert_eq!(before, replica.position());

    // A source that sends another journal's segment.
    let mut sent = Vec::new();
    let mut source = Source::new(&another, None).expect("a journal");
    source.poll(9, NOW_NS, &mut sent).expect("a journal");
    let (_, announced) = message::take(&sent).expect("a message").expect("its end");
    let Ok(Some((Message::Segment(header), _))) = message::take(&sent[announced..]) else {
        panic!("no segment behind the position");
    };
    let refused = replica.segment(header).unwrap_err().to_string();
    assert!(refused.contains("does not continue"), "{refused}");
}

/// The lock of an engine's bus on one of two hosts.
pub fn bus_of(place: &Place, host: &str) -> WriterLock {
    let root = Root::at(place.path().join(host));
    WriterLock::acquire(root.create("engine").expect("a bus")).expect("its lock")
}

pub fn copy_all(from: &Path, to: &Path) {
    let mut replica = Replica::open(to).expect("a copy");
    while !send(from, &mut replica, 50_000, |_| {}).expect("a copy of it") {}
}

/// Runs of the first host that never reached the copy have epochs, too: they are in its orders, and none comes twice.
#[test]
fn a_promoted_copy_has_an_epoch_that_no_run_of_its_source_had() {
    let place = Place::new("epochs");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    let bus = bus_of(&place, "first");
    let mut last = 0;
    for run in 1..=5 {
        let mut writer = Journal::open(&journal, &bus, &options(), run).expect("a journal");
        append(&mut writer, run);
        last = writer.report().epoch;
        writer.close(10).expect("it closes");
        // The link is down from the second run on.
        if run == 1 {
            copy_all(&journal, &copy);
        }
    }
    let other = bus_of(&place, "second");
    let promoted = Journal::open(&copy, &other, &options(), 9).expect("a journal");
    let report = promoted.report();
    assert!(report.epoch > last, "{report:?}, the source had {last}");
    assert!(report.is_other_boot, "{report:?}");
}

/// A host that had the journal before still has the tail of its own run. That tail does not show that the other host,
/// which wrote since, lost no records.
#[test]
fn a_copy_that_comes_back_is_one_whose_end_may_be_lost() {
    let place = Place::new("back");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    let (first, second) = (bus_of(&place, "first"), bus_of(&place, "second"));
    let mut writer = Journal::open(&journal, &first, &options(), 1).expect("a journal");
    append(&mut writer, 1);
    writer.close(2).expect("it closes");
    copy_all(&journal, &copy);
    let mut writer = Journal::open(&copy, &second, &options(), 3).expect("a journal");
    append(&mut writer, 2);
    writer.close(4).expect("it closes");
    let back = place.path().join("back");
    copy_all(&copy, &back);
    let writer = Journal::open(&back, &first, &options(), 5).expect("a journal");
    let promoted = writer.report().clone();
    assert!(promoted.is_other_boot, "{promoted:?}");
    writer.close(6).expect("it closes");
    // From then on the journal belongs to this host.
    let writer = Journal::open(&back, &first, &options(), 7).expect("a journal");
    let report = writer.report();
    assert!(!report.is_other_boot, "{report:?}");
    assert_eq!(report.epoch, promoted.epoch + 1, "{report:?}");
}

/// Applies sent messages. Returns the distance of the copy from the last status, after each frame.
pub fn lags(sent: &[u8], copy: &mut Replica, heard: &mut u64) -> Vec<u64> {
    let (mut rest, mut lags) = (sent, Vec::new());
    while let Some((message, length)) = message::take(rest).expect("messages") {
        match message {
            Message::Segment(header) => copy.segment(header).expect("it continues"),
            Message::Frame(frame) => {
                copy.frame(frame).expect("it continues");
                let behind = heard.checked_sub(copy.position());
                lags.push(behind.expect("a frame was announced before it came"));
            }
            Message::Position { position, time_ns } => {
                assert_eq!(time_ns, NOW_NS);
                *heard = position;
            }
            Message::Refusal(text) => panic!("{text}"),
        }
        rest = &rest[length..];
    }
    assert_eq!(rest, [0; 0], "half a message");
    lags
}

/// While a burst is on its way, the copy knows the exact number of bytes that it lacks: the end of the journal is announced
/// before the records up to there. Behind the last record it lacks nothing.
#[test]
fn a_copy_knows_how_much_it_lacks_while_a_burst_is_on_its_way() {
    for seed in seeds(10) {
        println!("SEED={seed}");
        let mut random = Random::from_seed(seed);
        let place = Place::new(&format!("lag-{seed}"));
        let (journal, copy) = (place.journal(), place.path().join("copy"));
        let bus = place.bus();
        let mut replica = Replica::open(&copy).expect("a copy");
        let mut source = Source::new(&journal, None).expect("no journal yet");
        let (mut number, mut heard) = (0, 0);
        for run in 1..=3 {
            let mut writer = Journal::open(&journal, &bus, &options(), run).expect("a journal");
            let most = if seed == 1 { 5_000 } else { 400 };
            let burst = 10 + random.below(most);
            for _ in 0..burst {
                append(&mut writer, number);
                number += 1;
            }
            writer.close(10).expect("it closes");
            let end = verify(&journal).expect("a journal").position;
            let before = replica.position();
            let mut shown = Vec::new();
            loop {
                let mut sent = Vec::new();
                let most = 1 + random.below(9) as usize;
                let frames = source.poll(most, NOW_NS, &mut sent).expect("a journal");
                shown.extend(lags(&sent, &mut replica, &mut heard));
                match frames {
                    0 if replica.position() == end => break,
                    // The reader ahead is on its way to the end.
                    0 => continue,
                    _ => {}
                }
                assert_eq!(heard, end, "SEED={seed}");
                assert_eq!(source.end(), end, "SEED={seed}");
            }
            assert!(shown.len() as u64 > burst, "SEED={seed}: {shown:?}");
            assert!(shown.is_sorted_by(|a, b| a > b), "SEED={seed}: {shown:?}");
            let (first, last) = (shown[0], shown[shown.len() - 1]);
            assert!(first < end - before && first > 0, "SEED={seed}: {shown:?}");
            assert_eq!(last, 0, "SEED={seed}: {shown:?}");
        }
    }
}

/// Everything before damage is sent, though the reader that runs ahead has met the damage.
#[test]
fn records_before_damage_are_sent() {
    let place = Place::new("ahead-of-damage");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    written(&place, 600);
    let segment = journal.join(segment_name(1));
    let mut bytes = fs::read(&segment).unwrap();
    bytes[30_000] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let mut replica = Replica::open(&copy).expect("a copy");
    let mut source = Source::new(&journal, None).expect("a journal");
    (0..2_000).for_each(|_| _ = source.look_ahead());
    let mut heard = 0;
    let damaged = (0..5_000).find_map(|_| {
        let mut sent = Vec::new();
        let polled = source.poll(3, NOW_NS, &mut sent);
        lags(&sent, &mut replica, &mut heard);
        polled.err()
    });
    assert!(
        matches!(damaged, Some(Error::Damaged { .. })),
        "{damaged:?}"
    );
    let position = replica.position();
    assert!((29_000..=30_000).contains(&position), "{position}");
}

/// The start that continues a copy reports the last status of its source, and the position found here. From then on the
/// journal is not a copy; the status is removed, and not taken for that of a later source.
#[test]
fn the_start_of_a_copy_reports_what_its_source_had() {
    let place = Place::new("last-word");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    written(&place, 100);
    let mut replica = Replica::open(&copy).expect("a copy");
    assert_eq!(SourceStatus::read(&copy), Some(SourceStatus::default()));
    send(&journal, &mut replica, 20_000, |_| {}).expect("a copy of it");
    let position = replica.position();
    let status = SourceStatus {
        source: "10.0.0.1:7800".to_owned(),
        position: position + 4_096,
        said_ns: 7,
    };
    replica.note_source(&status).expect("a disk");
    drop(replica);
    // A restart of the copy knows it.
    let mut replica = Replica::open(&copy).expect("a copy");
    assert_eq!(replica.source_status(), status);
    drop(replica);
    assert_eq!(SourceStatus::read(&copy), Some(status.clone()));

    let other = bus_of(&place, "second");
    let engine = Journal::open(&copy, &other, &options(), 2).expect("a start from a copy");
    let report = engine.report().clone();
    assert_eq!(report.copied, Some(status));
    assert_eq!(report.found_position, position);
    engine.close(3).expect("it closes");
    assert_eq!(SourceStatus::read(&copy), None);
    let engine = Journal::open(&copy, &other, &options(), 4).expect("a journal");
    assert_eq!(engine.report().copied, None);
    engine.close(5).expect("it closes");
    let mut replica = Replica::open(&copy).expect("a journal that becomes a copy");
    assert_eq!(replica.source_status(), SourceStatus::default());
}
