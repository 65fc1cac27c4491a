//! The same packets in a journal and in files, and read back.

use super::files::CaptureFiles;
use super::last_raw::LastRaw;
use super::output::Output;
use super::recorder::RawRecorder;
use super::{Capture, Content, Line};
use crate::recorder::Now;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::SocketAddrV4;
use std::path::Path;
use std::process::Command;
use touchline_journal::format::{kind, segment_name};
use touchline_journal::records::Gap;
use touchline_journal::{Journal, Options, WriterLock, remove_oldest};
use touchline_net::pcap::{Frame, LinkType, Reader};
use touchline_net::{Packet, PacketSource, PcapSource, Received, TimestampSource};
use touchline_testing::random::{Random, seeds};
use touchline_testing::{Folder, PATIENCE, until};
use touchline_transport::shm::Root;

const START_NS: u64 = 1_700_000_000_000_000_000;
const PACKETS: u64 = 3_000;

fn lines() -> Vec<Line> {
    let line = |(id, number, address): (&str, u8, &str)| Line {
        id: id.to_owned(),
        number,
        address: address.parse().expect("an address"),
    };
    let all = [
        ("998IA", 0, "239.1.1.1:14310"),
        ("998IB", 1, "239.1.1.2:14310"),
        ("998SA", 0, "239.1.1.3:14310"),
    ];
    all.map(line).to_vec()
}

/// What a recording must have of a packet.
type Expected = (usize, u64, Vec<u8>);

/// Records random packets, with losses; the packets.
fn record(recorder: &mut RawRecorder, seed: u64, count: u64) -> Vec<Expected> {
    let mut random = Random::from_seed(seed);
    let lines = lines();
    let mut packets = Vec::new();
    for number in 0..count {
        let line = random.index(lines.len());
        let stamps = [
            TimestampSource::Hardware,
            TimestampSource::Kernel,
            TimestampSource::Poll,
        ];
        let payload = vec![number as u8; random.below(1_400) as usize];
        let packet = Packet {
            receive_ns: START_NS + number * 1_000,
            timestamp: *random.pick(&stamps),
            destination: lines[line].address,
            source: "10.0.0.1:9".parse().expect("an address"),
            payload: &payload,
        };
        let now = Now {
            wall_ns: packet.receive_ns + 700,
            ticks: number,
        };
        let time_ns = recorder.note(line, &packet, now);
        if number % 500 == 499 {
            recorder.lost(Some(line), 7, now).expect("room");
        }
        recorder.write(line, time_ns, now).expect("room");
        while recorder.is_blocked() {
            recorder.flush(now).expect("room");
        }
        packets.push((line, packet.receive_ns, payload));
    }
    packets
}

fn journal(folder: &Path) -> (Journal, WriterLock) {
    let tail = WriterLock::acquire(Root::at(folder).create("tail").expect("a folder"));
    let tail = tail.expect("nobody has it");
    let options = Options {
        segment_bytes: 256 << 10,
        ring_bytes: 256 << 10,
        ..Options::recording("raw")
    };
    let journal = Journal::open(&folder.join("raw"), &tail, &options, START_NS);
    (journal.expect("a journal"), tail)
}

/// Records that a journal which is opened again lacks are a gap of each line, with their number: also those of a run that is lost as a whole, losses
/// that it had stated, and a gap that the disk loses again.
#[test]
fn records_that_the_disk_lacks_are_gaps() {
    for (seed, is_run_lost) in seeds(4).flat_map(|seed| [(seed, false), (seed, true)]) {
        println!("SEED={seed}, {is_run_lost}");
        let folder = Folder::in_memory("raw-cut");
        let (copy, raw) = (folder.join("copy"), folder.join("raw"));
        let now = Now {
            wall_ns: START_NS,
            ticks: 0,
        };
        let mut recorded = Vec::new();
        if is_run_lost {
            let (opened, _tail) = journal(&folder);
            let mut before = RawRecorder::new(Output::Journal(opened), &lines(), None, None, now);
            recorded.extend(record(&mut before, seed, 300));
            close(before);
        }
        let (opened, mut tail) = journal(&folder);
        let last_ns = is_run_lost.then_some(START_NS);
        let mut recorder = RawRecorder::new(Output::Journal(opened), &lines(), None, last_ns, now);
        if !is_run_lost {
            recorded.extend(record(&mut recorder, seed, PACKETS));
        }
        // What a disk has that has lost the later ones.
        until("the disk has all", PATIENCE, || {
            let journal = recorder.output().journal().expect("it is open");
            journal.durable() == journal.position()
        });
        let copied = |from: &Path, to: &Path| {
            let copied = Command::new("cp").arg("-a").args([from, to]).status();
            assert!(copied.expect("the command").success());
        };
        copied(&raw, &copy);
        // They are in this segment and in the next one: no durable record is lost.
        recorded.extend(record(&mut recorder, seed + 1, 200));
        recorder.lost(Some(2), 7, now).expect("room");
        for failure in 0..2 {
            recorder.leave_journal(now);
            assert!(recorder.is_blocked());
            if failure == 0 {
                recorded.extend(record_one_while_it_is_left(&mut recorder, now));
            }
            drop(tail);
            std::fs::remove_dir_all(&raw).expect("our folder");
            copied(&copy, &raw);
            std::fs::remove_dir_all(folder.join("tail")).expect("our folder");
            let (opened, next) = journal(&folder);
            tail = next;
            recorder.reopened(opened, &LastRaw::read(&raw).expect("a journal"), now);
            recorder.flush(now).expect("room");
        }
        close(recorder);
        let (mut stated, mut unknown) = (0, 0);
        touchline_journal::read(&raw, false, |entry| {
            let gap = Gap::decode(entry.body).filter(|_| entry.head.kind == kind::GAP);
            match gap.map(|gap| gap.count) {
                Some(Gap::UNKNOWN) => unknown += 1,
                Some(count) => stated += count,
                None => {}
            }
        })
        .expect("a journal");
        let capture = Capture::open(&raw).expect("a raw journal");
        let mut source = PcapSource::new([capture.reader().expect("a capture")]);
        let mut found = 0;
        while let Received::Packet(_) = source.receive().expect("a whole capture") {
            found += 1;
        }
        let dropped = if is_run_lost {
            7
        } else {
            PACKETS / 500 * 7 + 7
        };
        assert!(stated > 200 && found > 0);
        assert_eq!(stated + found, recorded.len() as u64 + dropped, "{seed}");
        assert_eq!(unknown, u64::from(is_run_lost), "the time before the run");
    }
}

/// Another journal has its own positions: what it loses has a number, also below that of an unknown loss in the journal before.
#[test]
fn another_journal_has_its_own_positions() {
    let folder = Folder::in_memory("raw-other");
    let (raw, copy) = (folder.join("raw"), folder.join("copy"));
    let now = Now {
        wall_ns: START_NS,
        ticks: 0,
    };
    let (opened, tail) = journal(&folder);
    let mut before = RawRecorder::new(Output::Journal(opened), &lines(), None, None, now);
    record(&mut before, 1, 300);
    close(before);
    drop(tail);
    let (opened, mut tail) = journal(&folder);
    let output = Output::Journal(opened);
    let mut recorder = RawRecorder::new(output, &lines(), None, Some(START_NS), now);
    recorder.flush(now).expect("room");
    for is_other in [true, false] {
        recorder.leave_journal(now);
        drop(tail);
        std::fs::remove_dir_all(&raw).expect("our folder");
        std::fs::remove_dir_all(folder.join("tail")).expect("our folder");
        if !is_other {
            std::fs::rename(&copy, &raw).expect("our folder");
        }
        let (opened, next) = journal(&folder);
        tail = next;
        recorder.reopened(opened, &LastRaw::read(&raw).expect("a journal"), now);
        recorder.flush(now).expect("room");
        if is_other {
            record(&mut recorder, 2, 20);
            until("the disk has all", PATIENCE, || {
                let journal = recorder.output().journal().expect("it is open");
                journal.durable() == journal.position()
            });
            let copied = Command::new("cp").arg("-a").args([&raw, &copy]).status();
            assert!(copied.expect("the command").success());
            record(&mut recorder, 3, 20);
        }
    }
    close(recorder);
    let mut lost = Vec::new();
    touchline_journal::read(&raw, false, |entry| {
        let gap = Gap::decode(entry.body).filter(|_| entry.head.kind == kind::GAP);
        lost.extend(gap.map(|gap| gap.count));
    })
    .expect("a journal");
    assert!(!lost.contains(&Gap::UNKNOWN), "{lost:?}");
    assert_eq!(lost.iter().sum::<u64>(), 20);
}

/// Ends a recording in a journal.
fn close(recorder: RawRecorder) {
    let Output::Journal(opened) = recorder.end().0 else {
        unreachable!("it was given a journal");
    };
    opened.close(START_NS).expect("room");
}

/// A packet that comes while the journal is left waits.
fn record_one_while_it_is_left(recorder: &mut RawRecorder, now: Now) -> Option<Expected> {
    let packet = Packet {
        receive_ns: START_NS,
        timestamp: TimestampSource::Poll,
        destination: lines()[1].address,
        source: "10.0.0.1:9".parse().expect("an address"),
        payload: &[7; 10],
    };
    let time_ns = recorder.note(1, &packet, now);
    recorder.write(1, time_ns, now).expect("it waits");
    Some((1, START_NS, vec![7; 10]))
}

/// Frames of captures: interface is not given, so the payload tells the line.
fn frames(mut reader: Reader<'_>) -> Vec<(u64, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(Frame {
        capture_ns,
        link,
        bytes,
        original_len,
    }) = reader.next().expect("a whole capture")
    {
        assert_eq!((link, original_len as usize), (LinkType::IPV4, bytes.len()));
        all.push((capture_ns, bytes.to_vec()));
    }
    all
}

/// Every packet is there with its time, in a journal of several segments as in files that are rotated, and as datagrams.
#[test]
fn a_journal_and_files_of_the_same_packets_are_equal() {
    for seed in seeds(4) {
        println!("SEED={seed}");
        let folder = Folder::in_memory("raw");
        let now = Now {
            wall_ns: START_NS,
            ticks: 0,
        };
        let (opened, _tail) = journal(&folder);
        let mut recorder = RawRecorder::new(Output::Journal(opened), &lines(), None, None, now);
        let expected = record(&mut recorder, seed, PACKETS);
        let segment = recorder.output().journal().map_or(0, Journal::segment);
        assert!(segment > 3, "one segment is no test");
        close(recorder);
        assert_eq!(
            Content::of(&folder.join("raw")).expect("a journal"),
            Content::Raw
        );

        let path = folder.join("day.pcapng");
        let files = CaptureFiles::create(&path, true, Some(256 << 10)).expect("a file");
        let mut recorder = RawRecorder::new(Output::Files(files), &lines(), None, None, now);
        assert_eq!(record(&mut recorder, seed, PACKETS), expected);
        let Output::Files(mut files) = recorder.end().0 else {
            unreachable!("it was given files");
        };
        files.end().expect("room");
        assert!(files.number() > 3, "one file is no test");
        let names =
            (1..=files.number()).map(|number| folder.join(format!("day-{number:010}.pcapng")));
        let of_files: Vec<_> = names
            .flat_map(|name| frames(Reader::open(name).expect("a capture")))
            .collect();

        let capture = || Capture::open(&folder.join("raw")).expect("a raw journal");
        let of_journal = frames(capture().reader().expect("a capture"));
        assert!(of_journal == of_files, "seed {seed}");
        let mut source = PcapSource::new([capture().reader().expect("a capture")]);
        let mut found = Vec::new();
        while let Received::Packet(packet) = source.receive().expect("a whole capture") {
            let line = lines()
                .iter()
                .position(|line| line.address == packet.destination);
            found.push((
                line.expect("a line"),
                packet.receive_ns,
                packet.payload.to_vec(),
            ));
        }
        assert!(found == expected, "seed {seed}");
        assert_eq!(source.skipped().total(), 0);
    }
}

/// A reader that retention overtakes, and one that comes to damage, fail while the recorder goes on: what they have is not all.
#[test]
fn a_raw_recording_whose_segments_are_removed_has_no_end_there() {
    for is_removed in [true, false] {
        let folder = Folder::in_memory("raw-overtaken");
        let now = Now {
            wall_ns: START_NS,
            ticks: 0,
        };
        let (opened, _tail) = journal(&folder);
        let mut recorder = RawRecorder::new(Output::Journal(opened), &lines(), None, None, now);
        record(&mut recorder, 1, PACKETS);
        let raw = folder.join("raw");
        let capture = Capture::open(&raw).expect("a raw journal");
        let mut reader = capture.reader().expect("a capture");
        assert!(reader.next().expect("the first segment").is_some());
        if is_removed {
            let removed = remove_oldest(&raw, |segment| segment.index <= 2);
            assert_eq!(removed.expect("our folder"), 2);
        } else {
            let second = raw.join(segment_name(2));
            let mut bytes = std::fs::read(&second).expect("the segment");
            bytes[100_000] ^= 1;
            std::fs::write(&second, bytes).expect("room");
        }
        let error = loop {
            match reader.next() {
                Ok(frame) => assert!(frame.is_some(), "it ends in the middle, {is_removed}"),
                Err(error) => break error.to_string(),
            }
        };
        let reason = if is_removed {
            "segment 2 was removed before it was read"
        } else {
            "damaged"
        };
        assert!(error.contains(reason), "{error}");
        close(recorder);
    }
}

/// A packet as tcpdump has it: its time, destination, and bytes of payload.
type Dumped = (u64, SocketAddrV4, usize);

/// What tcpdump reads of a capture; `None`, said, without the tool.
fn tcpdump(file: &Path) -> Option<Vec<Dumped>> {
    let input = File::open(file).expect("our file");
    let mut command = Command::new("tcpdump");
    command.args(["-n", "-tt", "--nano", "-r", "-"]);
    let output = match command.stdin(input).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            touchline_testing::skip("no tcpdump here; Debian's package tcpdump has it");
            return None;
        }
        output => output.expect("tcpdump starts"),
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(dumped).collect())
}

/// A line of tcpdump: `1700000000.000001000 IP 10.0.0.1.9 > 239.1.1.1.14310: UDP, length 1023`.
fn dumped(line: &str) -> Dumped {
    let words: Vec<&str> = line.split(' ').collect();
    let [time, "IP", _, ">", to, "UDP,", "length", length] = words[..] else {
        panic!("{line}");
    };
    let (host, port) = to.trim_end_matches(':').rsplit_once('.').expect(line);
    let number = |text: &str| text.parse().expect("a number");
    (
        number(&time.replace('.', "")),
        format!("{host}:{port}").parse().expect("an address"),
        number(length) as usize,
    )
}

/// tcpdump reads every packet of a journal and of a file, with its nanoseconds.
#[test]
fn tcpdump_reads_both_forms() {
    let folder = Folder::in_memory("raw-tcpdump");
    let now = Now {
        wall_ns: START_NS,
        ticks: 0,
    };
    let (opened, _tail) = journal(&folder);
    let mut recorder = RawRecorder::new(Output::Journal(opened), &lines(), None, None, now);
    let recorded = record(&mut recorder, 1, PACKETS);
    drop(recorder);
    let path = folder.join("day.pcapng");
    let files = CaptureFiles::create(&path, false, None).expect("a file");
    let mut recorder = RawRecorder::new(Output::Files(files), &lines(), None, None, now);
    record(&mut recorder, 1, PACKETS);
    let Output::Files(mut files) = recorder.end().0 else {
        unreachable!("it was given files");
    };
    files.end().expect("room");
    let exported = folder.join("exported.pcapng");
    let mut capture = Capture::open(&folder.join("raw")).expect("a raw journal");
    let mut file = File::create(&exported).expect("room");
    std::io::copy(&mut capture, &mut file).expect("a whole capture");
    let expected = recorded
        .iter()
        .map(|(line, at_ns, payload)| (*at_ns, lines()[*line].address, payload.len()));
    let expected: Vec<Dumped> = expected.collect();
    for file in [path, exported] {
        if let Some(found) = tcpdump(&file) {
            assert!(
                found == expected,
                "{}: {} packets",
                file.display(),
                found.len()
            );
        }
    }
}

/// Each gap is a comment of the next packet, or of its interface if the section ends before; what the kernel dropped is also in the count of the
/// next packet, also in the next segment.
#[test]
fn every_gap_is_in_the_capture() {
    let folder = Folder::in_memory("raw-gaps");
    let now = Now {
        wall_ns: START_NS,
        ticks: 0,
    };
    let (opened, tail) = journal(&folder);
    let mut recorder = RawRecorder::new(Output::Journal(opened), &lines(), None, None, now);
    record(&mut recorder, 1, 30);
    for count in [11, 22] {
        recorder.lost(Some(1), count, now).expect("room");
    }
    record(&mut recorder, 2, 30);
    // The last record of its segment.
    recorder.lost(Some(1), 44, now).expect("room");
    close(recorder);
    drop(tail);
    std::fs::remove_dir_all(folder.join("tail")).expect("our folder");
    let (opened, _tail) = journal(&folder);
    let mut recorder =
        RawRecorder::new(Output::Journal(opened), &lines(), None, Some(START_NS), now);
    record(&mut recorder, 3, 30);
    recorder.lost(Some(2), 55, now).expect("room");
    close(recorder);
    let mut capture = Vec::new();
    let mut opened = Capture::open(&folder.join("raw")).expect("a raw journal");
    opened.read_to_end(&mut capture).expect("a whole capture");
    let has = |words: &str| {
        let words = words.as_bytes();
        let found = capture.windows(words.len()).filter(|part| *part == words);
        found.count()
    };
    for count in [11, 22, 44, 55] {
        assert_eq!(has(&format!("gap: {count} packets,")), 1, "{count}");
    }
    // The option epb_dropcount of 8 bytes.
    for (dropped, packets) in [(33_u64, 1), (44, 1), (11, 0), (22, 0)] {
        let mut option = vec![4, 0, 8, 0];
        option.extend(dropped.to_le_bytes());
        let found = capture.windows(option.len()).filter(|part| *part == option);
        assert_eq!(found.count(), packets, "{dropped}");
    }
}
