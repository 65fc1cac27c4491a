//! A raw recorder over sockets of the loopback interface: losses, runs, limits, kills.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use touchline_journal::format::kind;
use touchline_journal::records::Gap;
use touchline_journal::{Options, Verdict, read, verify};
use touchline_net::pcap::Reader;
use touchline_net::udp::{Endpoint, Settings};
use touchline_net::{LiveSource, UdpSource};
use touchline_tape::raw::{
    Capture, Line, RawRecording, RawSettings, Session, SessionBytes, Source, Target,
};
use touchline_tape::run::{Recording, RunError, RunEvent, RunSettings};
use touchline_tape::{RecorderCounters, Retention};
use touchline_testing::random::{Random, amount};
use touchline_testing::{Folder, Process, until, with_role};
use touchline_transport::shm::{ProcessView, Root};

/// Sockets on free ports, and their lines.
fn sockets(receive_buffer_bytes: usize) -> (Source, Vec<Line>) {
    let endpoint = Endpoint {
        address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0),
        sources: Vec::new(),
        interface: None,
        urgent: true,
    };
    let settings = Settings {
        receive_buffer_bytes,
        ..Settings::default()
    };
    let source = UdpSource::open(&[endpoint.clone(), endpoint], &settings).expect("sockets");
    let addresses = source.endpoints().map(|(address, _)| address);
    let lines = addresses.enumerate().map(|(number, address)| Line {
        id: format!("line-{number}"),
        number: number as u8,
        address,
    });
    let lines = lines.collect();
    (Source::Packets(LiveSource::Sockets(source)), lines)
}

fn journal(folder: &Path, lines: &[Line]) -> RawSettings {
    RawSettings {
        root: Root::at(folder.join("buses")),
        name: "raw".to_owned(),
        target: Target::Journal {
            directory: folder.join("raw"),
            options: Options {
                segment_bytes: 256 << 10,
                ring_bytes: 1 << 20,
                ..Options::recording("raw")
            },
            retention: Retention::default(),
            compress: false,
        },
        segment_ns_max: None,
        lines: lines.to_vec(),
    }
}

fn pcapng(folder: &Path, lines: &[Line]) -> RawSettings {
    RawSettings {
        target: Target::Pcapng {
            path: folder.join("raw.pcapng"),
            bytes_max: Some(256 << 10),
        },
        ..journal(folder, lines)
    }
}

/// Sends to the lines in turn; each payload begins with its number.
pub fn send(lines: &[Line], numbers: std::ops::Range<u32>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    for number in numbers {
        let mut payload = vec![0; 400];
        payload[..4].copy_from_slice(&number.to_le_bytes());
        let line = &lines[number as usize % lines.len()];
        socket
            .send_to(&payload, line.address)
            .expect("a socket of this host");
    }
}

/// Works until nothing comes.
fn work(recording: &mut RawRecording) -> Vec<RunEvent> {
    let mut events = Vec::new();
    let mut idle = 0;
    while idle < 20 {
        let done = recording.work().expect("the disk is writable");
        while let Some(event) = recording.event() {
            events.push(event);
        }
        idle = if done == 0 { idle + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(u64::from(done == 0)));
    }
    events
}

/// Numbers of the packets of a capture, in its order.
pub fn numbers(mut reader: Reader<'_>) -> Vec<u32> {
    let mut numbers = Vec::new();
    while let Some(frame) = reader.next().expect("a whole capture") {
        let number = frame.bytes[28..32].try_into().expect("four bytes");
        numbers.push(u32::from_le_bytes(number));
    }
    numbers
}

fn of_journal(folder: &Path) -> Vec<u32> {
    let capture = Capture::open(&folder.join("raw")).expect("a raw journal");
    numbers(capture.reader().expect("a capture"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    names.retain(|name| name.extension().is_some_and(|ending| ending == "pcapng"));
    names.sort();
    names
}

fn gaps(folder: &Path) -> Vec<(u16, Gap)> {
    gaps_of(&folder.join("raw"))
}

pub fn gaps_of(directory: &Path) -> Vec<(u16, Gap)> {
    let mut gaps = Vec::new();
    read(directory, false, |entry| {
        if entry.head.kind == kind::GAP {
            gaps.push((entry.head.stream, Gap::decode(entry.body).expect("a gap")));
        }
    })
    .expect("a journal");
    gaps
}

/// Received packets and the counts of the gaps are all packets sent; each run after the first begins with a gap.
#[test]
fn drops_of_the_kernel_and_pauses_of_the_recorder_are_gaps() {
    let folder = Folder::in_memory("raw-gaps");
    let mut counted = RecorderCounters::default();
    for run in 0..3_u32 {
        let (source, lines) = sockets(16 << 10);
        let mut recording =
            RawRecording::open(source, &journal(&folder, &lines)).expect("a journal");
        send(&lines, run * 1_000..run * 1_000 + 500);
        let events = work(&mut recording);
        send(&lines, run * 1_000 + 500..run * 1_000 + 510);
        work(&mut recording);
        let is_lost =
            |event: &RunEvent| matches!(event, RunEvent::PacketsLost { line: Some(_), .. });
        assert!(events.iter().any(is_lost), "{events:?}");
        let counters = recording.close().expect("the disk is writable");
        counted.record_messages += counters.record_messages;
        counted.record_lost += counters.record_lost;
        assert_eq!(counters.record_messages + counters.record_lost, 510);
    }
    let gaps = gaps(&folder);
    let of = |cause| gaps.iter().filter(move |(_, gap)| gap.cause == cause);
    let dropped: u64 = of(Gap::DROPPED).map(|(_, gap)| gap.count).sum();
    assert_eq!(dropped, counted.record_lost);
    assert!(of(Gap::DROPPED).all(|(stream, gap)| *stream > 0 && gap.from_ns < gap.to_ns));
    assert_eq!(of(Gap::NOT_RUNNING).count(), 2);
    let numbers = of_journal(&folder);
    assert_eq!(numbers.len() as u64, counted.record_messages);
    assert_eq!(
        verify(&folder.join("raw")).expect("a journal").verdict,
        Verdict::Clean
    );
}

/// The counters of a recorder that is dropped, as after an error, stay: they say that it is gone. After an end in order there are none.
#[test]
fn a_recorder_that_fails_leaves_its_counters() {
    let folder = Folder::in_memory("raw-counters");
    let (_, lines) = sockets(16 << 10);
    for settings in [journal(&folder, &lines), pcapng(&folder, &lines)] {
        let open = || RawRecording::open(sockets(16 << 10).0, &settings).expect("a recorder");
        let left = || {
            let mut all = ProcessView::all(&settings.root).expect("our folder");
            all.pop().map(|view| view.process.is_some())
        };
        let recording = open();
        assert_eq!(left(), Some(true));
        drop(recording);
        assert_eq!(left(), Some(false));
        open().close().expect("the disk is writable");
        assert_eq!(left(), None);
    }
}

/// Bytes of a session are in both forms as segments of TCP, in the order of their stream, over connections, segments and files.
#[test]
fn bytes_of_a_session_are_a_stream_in_both_forms() {
    let seed = amount("SEED", u64::from(std::process::id()));
    println!("SEED={seed}");
    let folder = Folder::in_memory("raw-session");
    for settings in [journal(&folder, &[]), pcapng(&folder, &[])] {
        let mut random = Random::from_seed(seed);
        let (mut connection, mut sent) = (1, 0_u64);
        let (sender, expected) = std::sync::mpsc::channel();
        let work = move |ends: bool, each: &mut dyn FnMut(SessionBytes<'_>)| {
            if ends {
                return Ok(None);
            }
            if random.chance(0.02) {
                (connection, sent) = (connection + 1, 0);
            }
            let bytes = vec![(sent % 251) as u8; random.below(9_000) as usize + 1];
            let offset = sent;
            sent += bytes.len() as u64;
            each(SessionBytes {
                connection,
                peer: "10.1.2.3:9880".parse().expect("an address"),
                offset,
                receive_ns: 1_700_000_000_000_000_000 + connection,
                bytes: &bytes,
            });
            let _ = sender.send((connection, bytes));
            Ok(Some(1))
        };
        let source = Source::Session(Session {
            id: "US:VENUE".to_owned(),
            work: Box::new(work),
        });
        let mut recording = RawRecording::open(source, &settings).expect("an output");
        while recording.counters().record_messages < 400 {
            recording.work().expect("the disk is writable");
        }
        recording.close().expect("the disk is writable");
        let expected: Vec<(u64, Vec<u8>)> = expected.try_iter().collect();
        assert!(expected.len() >= 400 && expected.last().expect("a read").0 > 1);
        let readers: Vec<Reader<'static>> = match settings.target {
            Target::Journal { .. } => {
                let capture = Capture::open(&folder.join("raw")).expect("a raw journal");
                vec![capture.reader().expect("a capture")]
            }
            Target::Pcapng { .. } => {
                let files = files(&folder).into_iter();
                files
                    .map(|name| Reader::open(name).expect("a capture"))
                    .collect()
            }
        };
        assert!(streams(readers) == streams_of(&expected), "seed {seed}");
    }
}

/// Bytes of each connection.
fn streams_of(reads: &[(u64, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut streams = Vec::new();
    for (connection, bytes) in reads {
        streams.resize(*connection as usize, Vec::new());
        streams[*connection as usize - 1].extend_from_slice(bytes);
    }
    streams
}

/// Bytes of each connection of captures, by its time; each segment follows the one before.
fn streams(readers: Vec<Reader<'static>>) -> Vec<Vec<u8>> {
    let mut streams: Vec<Vec<u8>> = Vec::new();
    for mut reader in readers {
        while let Some(frame) = reader.next().expect("a whole capture") {
            let connection = (frame.capture_ns - 1_700_000_000_000_000_000) as usize;
            streams.resize(connection.max(streams.len()), Vec::new());
            let (head, bytes) = frame.bytes.split_at(40);
            let sequence = u32::from_be_bytes(head[24..28].try_into().expect("four bytes"));
            let stream = &mut streams[connection - 1];
            assert_eq!(sequence as usize, stream.len() + 1);
            stream.extend_from_slice(bytes);
        }
    }
    streams
}

/// Files that have ended are on the disk, and the free space is known, also to the alert of a disk that gets full.
#[test]
fn files_count_what_is_on_the_disk_and_the_free_space() {
    let folder = Folder::new("raw-files-counted");
    let (source, lines) = sockets(4 << 20);
    let settings = pcapng(&folder, &lines);
    let mut recording = RawRecording::open(source, &settings).expect("a file");
    let shown = || {
        let mut all = ProcessView::all(&settings.root).expect("our folder");
        let view = all.pop().expect("a recorder").counters_file;
        let view = view.expect("readable").expect("it is begun");
        let of = |name: &str| view.counter(name).expect("a counter of the recorder");
        ["segment", "position", "durable", "free_bytes"].map(|name| of(&format!("record_{name}")))
    };
    let mut numbers = 0..;
    let mut until_shown = |what: &str, is_so: &dyn Fn([u64; 4]) -> bool| {
        until(what, Duration::from_secs(20), || {
            let from: u32 = numbers.next().expect("a number");
            send(&lines, from * 100..from * 100 + 100);
            work(&mut recording);
            let shown = shown();
            is_so(shown).then_some(shown)
        })
    };
    let before = until_shown("free space", &|[.., free]| free > 0)[3];
    let [_, position, durable, free] = until_shown("two files", &|[segment, ..]| segment > 2);
    assert!((500_000..position).contains(&durable), "{durable}");
    assert!(free > before / 2, "{free}");
    let counters = recording.close().expect("the disk is writable");
    assert_eq!(counters.record_durable, counters.record_position);
    let bytes = |file: &PathBuf| file.metadata().expect("a file").len();
    let all: u64 = files(&folder).iter().map(bytes).sum();
    assert_eq!(counters.record_durable, all);
}

/// The oldest segments are removed up to the position of a holder; the rest is read from its start.
#[test]
fn a_raw_journal_has_the_limits_of_a_tape() {
    let folder = Folder::in_memory("raw-limits");
    let (source, lines) = sockets(4 << 20);
    let mut settings = journal(&folder, &lines);
    let Target::Journal { retention, .. } = &mut settings.target else {
        unreachable!("it is a journal");
    };
    retention.bytes_max = Some(900 << 10);
    let mut recording = RawRecording::open(source, &settings).expect("a journal");
    std::fs::create_dir_all(folder.join("raw/holders")).expect("a folder");
    let holder = folder.join("raw/holders/sink");
    std::fs::write(&holder, 1_u64.to_le_bytes()).expect("a file");
    for round in 0..10 {
        send(&lines, round * 400..(round + 1) * 400);
        work(&mut recording);
    }
    assert_eq!(of_journal(&folder).first(), Some(&0));
    std::fs::remove_file(holder).expect("a file");
    until(
        "the oldest segments are removed",
        Duration::from_secs(20),
        || {
            send(&lines, 4_000..4_800);
            work(&mut recording);
            recording.counters().record_segments_removed > 0
        },
    );
    recording.close().expect("the disk is writable");
    assert!(of_journal(&folder)[0] > 0);
}

/// Buses and packets are not in one journal, and a file is not written over.
#[test]
fn another_kind_of_recording_is_refused() {
    let folder = Folder::in_memory("raw-refused");
    let (source, lines) = sockets(1 << 20);
    let recording = RawRecording::open(source, &journal(&folder, &lines)).expect("a journal");
    recording.close().expect("the disk is writable");
    let buses = RunSettings {
        root: Root::at(folder.join("buses")),
        buses: vec!["market".to_owned()],
        lossless: false,
        name: "recorder".to_owned(),
        directory: folder.join("raw"),
        journal: Options::recording("tape"),
        recorder: touchline_tape::Settings::default(),
        retention: Retention::default(),
        compress: false,
    };
    let refused = Recording::open(buses).err().expect("it is raw");
    assert!(
        matches!(refused, RunError::OtherContent { .. }),
        "{refused}"
    );
    let taken = folder.join("raw.pcapng");
    std::fs::write(&taken, "mine").expect("a file");
    let mut settings = pcapng(&folder, &lines);
    settings.target = Target::Pcapng {
        path: taken.clone(),
        bytes_max: None,
    };
    let refused = RawRecording::open(sockets(1 << 20).0, &settings).err();
    let said = refused.expect("the file is there").to_string();
    assert!(said.contains("raw.pcapng: File exists"), "{said}");
    assert_eq!(std::fs::read(taken).expect("a file"), b"mine");
}

/// The recorders of a kill, until standard input ends: the addresses of the lines are printed first.
#[test]
fn role() {
    let Some((role, folder)) = touchline_testing::role() else {
        return;
    };
    // A small buffer, so that a disk that takes nothing makes losses.
    let bytes = if role == "narrow" { 64 << 10 } else { 4 << 20 };
    let (source, lines) = sockets(bytes);
    let settings = match role.as_str() {
        "journal" | "narrow" => journal(&folder, &lines),
        _ => pcapng(&folder, &lines),
    };
    if role == "limited" {
        return until_the_limit(source, &folder, lines);
    }
    let mut recording = RawRecording::open(source, &settings).expect("an output");
    println!(
        "ports {} {}",
        lines[0].address.port(),
        lines[1].address.port()
    );
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            ended.store(true, Ordering::Relaxed);
        });
        while !ended.load(Ordering::Relaxed) {
            recording.work().expect("a journal");
            while let Some(event) = recording.event() {
                println!("{event:?}");
            }
        }
    });
    match recording.close() {
        Ok(counters) => println!("closed lost={}", counters.record_lost),
        Err(error) => println!("error: {error}"),
    }
    let _ = std::io::stdout().flush();
    // As a command does: threads that wait for the disk are not waited for.
    std::process::exit(0);
}

/// Records in one file until its disk is full, and prints why it ends.
fn until_the_limit(source: Source, folder: &Path, lines: Vec<Line>) {
    let mut settings = pcapng(folder, &lines);
    settings.target = Target::Pcapng {
        path: folder.join("limited.pcapng"),
        bytes_max: None,
    };
    let mut recording = RawRecording::open(source, &settings).expect("room for the first block");
    let error = loop {
        send(&lines, 0..100);
        if let Err(error) = recording.work() {
            break error;
        }
    };
    println!("ends: {error}");
}

/// A full disk, here a limit of the file's size, ends the recorder with one line; the file ends at a whole block.
#[test]
fn a_full_disk_leaves_a_whole_file() {
    let folder = Folder::new("raw-full");
    // Not a multiple of a page, and the write that reaches it is cut there.
    let shell = ["sh", "-c", "trap '' XFSZ; ulimit -f 301; exec \"$@\"", "sh"];
    let mut command = with_role(&shell, "raw::role", "limited", &folder);
    let mut process = Process::start(command.stdin(Stdio::null()));
    let said = process.wait_for_line("ends: ");
    assert!(said.contains("limited.pcapng: File too large"), "{said}");
    assert!(process.wait().success());
    let file = folder.join("limited.pcapng");
    let length = std::fs::metadata(&file).expect("a file").len();
    assert!(
        said.contains(&format!("its first {length} bytes are whole blocks")),
        "{said}"
    );
    assert!(numbers(Reader::open(file).expect("a capture")).len() > 100);
}

/// Starts a recorder: its lines. Words before it run the program, and variables are of its environment.
pub fn start(
    role: &str,
    folder: &Path,
    before: &[&str],
    environment: &[(&str, &Path)],
) -> (Process, Vec<Line>) {
    let mut command = with_role(before, "raw::role", role, folder);
    command.envs(environment.iter().copied());
    let mut process = Process::start(command.stdin(Stdio::piped()));
    let said = process.wait_for_line("ports ");
    let ports = said
        .split(' ')
        .skip(1)
        .map(|port| port.parse().expect("a port"));
    let line = |(number, port): (usize, u16)| Line {
        id: format!("line-{number}"),
        number: number as u8,
        address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
    };
    (process, ports.enumerate().map(line).collect())
}

/// After each kill every file is read to its end as a whole, and the journal is clean or cut by the crash. `KILLS` sets their number.
#[test]
fn a_killed_raw_recorder_leaves_whole_blocks() {
    let kills = amount("KILLS", 8);
    let seed = amount("SEED", u64::from(std::process::id()));
    println!("SEED={seed}");
    let mut random = Random::from_seed(seed);
    let folder = Folder::new("raw-kills");
    let mut packets = 0;
    for kill in 0..kills {
        let role = ["journal", "pcapng"][kill as usize % 2];
        let (mut process, lines) = start(role, &folder, &[], &[]);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    send(&lines, 0..100);
                }
            });
            std::thread::sleep(Duration::from_micros(random.below(100_000)));
            process.kill();
            is_over.store(true, Ordering::Relaxed);
        });
        if role == "journal" {
            let verdict = verify(&folder.join("raw")).expect("a journal").verdict;
            assert_ne!(verdict, Verdict::Damaged, "seed {seed}, kill {kill}");
            continue;
        }
        let of_files = files(&folder).into_iter().map(|name| {
            let text = name.display().to_string();
            let reader = Reader::open(name).expect("a capture");
            let numbers =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| numbers(reader)));
            numbers
                .unwrap_or_else(|_| panic!("seed {seed}, kill {kill}: {text}"))
                .len()
        });
        packets = of_files.sum();
    }
    assert!(packets > 0, "seed {seed}: nothing was recorded");
    assert!(
        !of_journal(&folder).is_empty(),
        "seed {seed}: nothing was recorded"
    );
}
