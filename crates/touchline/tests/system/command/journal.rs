//! `journal`: segments, records, verdicts and repairs, with their exit statuses.

use super::{Desk, full_pipe, until};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use touchline_journal::format::{Alignment, HEADER_COPY_BYTES, body_crc};
use touchline_journal::{Journal, Options, Record, Root, WriterLock, verify};
use touchline_testing::{Process, free_address};

const FIRST: &str = "0000000001.tlj";

/// A journal `orders` of `runs` closed runs; each has five records of kind 48.
fn written(name: &str, runs: u64) -> Desk {
    let desk = Desk::bare(name);
    for run in 0..runs {
        append_run(&desk, run);
    }
    desk
}

fn append_run(desk: &Desk, run: u64) {
    let mut journal = open(desk, run);
    append(&mut journal, 5);
    journal.close(9).expect("it closes");
}

fn open(desk: &Desk, now_ns: u64) -> Journal {
    let root = Root::at(desk.path("bus"));
    let bus = WriterLock::acquire(root.create("engine").expect("a bus")).expect("its lock");
    let options = Options {
        alignment: Some(Alignment::PACKED),
        segment_bytes: 64 << 10,
        ring_bytes: 64 << 10,
        write_zeros: false,
        idle: Duration::from_micros(20),
        ..Options::orders("test")
    };
    Journal::open(&desk.path("orders"), &bus, &options, now_ns).expect("a journal")
}

fn append(journal: &mut Journal, records: u8) {
    for number in 0..records {
        let record = Record {
            stream: 1,
            kind: 48,
            time_ns: 1_000 + u64::from(number),
            body: &[number; 6],
        };
        journal.append(&record).expect("room in the tail");
    }
}

fn segment(desk: &Desk, name: &str) -> PathBuf {
    desk.path("orders").join(name)
}

/// Changes the bytes of a segment.
fn change(desk: &Desk, name: &str, change: impl FnOnce(&mut [u8])) {
    let path = segment(desk, name);
    let mut bytes = std::fs::read(&path).expect("a segment");
    change(&mut bytes);
    std::fs::write(path, bytes).expect("our folder");
}

/// Offset behind the last record of the first segment.
fn used_bytes(desk: &Desk) -> usize {
    let report = verify(&desk.path("orders")).expect("a journal");
    report.segments[0].used_bytes as usize
}

#[test]
fn a_valid_journal_is_listed_printed_and_verified() {
    let desk = written("journal-good", 2);
    let listed = desk.run("journal ls orders").done().stdout;
    let rows: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 4, "{listed}");
    assert_eq!(rows[1][..3], ["0000000001", "1", "7"], "{listed}");
    assert_eq!(rows[1][4..], ["65536", "65536", "closed", "0"], "{listed}");
    assert_eq!(rows[2][..3], ["0000000002", "2", "7"], "{listed}");
    assert_eq!(rows[3][6..], ["prepared", "-"], "{listed}");

    let printed = desk.run("journal print orders").done().stdout;
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 14, "{printed}");
    assert!(
        lines[0].starts_with("Begin sequence=0 position=4096 segment=1 time_ns=0 stream=0 kind=1 base=0 first=0 end_crc=00000000"),
        "{printed}"
    );
    assert_eq!(
        lines[2],
        "Fx sequence=2 position=4192 segment=1 time_ns=1001 stream=1 kind=48 bytes=6 body=010101010101"
    );
    assert!(
        lines[6].starts_with("End sequence=6 ") && lines[6].ends_with("next=7 set_aside=0 cause=0"),
        "{printed}"
    );

    let later = desk.run("journal print orders --from 9").done().stdout;
    assert_eq!(later.lines().collect::<Vec<_>>(), lines[9..]);

    let verified = desk.run("journal verify orders").done().stdout;
    assert!(
        verified.starts_with("clean: segments=3 frames=14 position=")
            && verified.ends_with("next_sequence=14\n"),
        "{verified}"
    );
    let repaired = desk.run("journal repair orders").done().stdout;
    assert!(
        repaired.ends_with("repaired: bytes_set_aside=0 headers_rewritten=0\n"),
        "{repaired}"
    );
}

#[test]
fn a_torn_end_is_a_crash_and_a_repair_sets_it_aside() {
    let desk = Desk::bare("journal-torn");
    let mut journal = open(&desk, 1);
    append(&mut journal, 5);
    // Without `close` the segment has no End, as after a kill.
    drop(journal);
    let end = used_bytes(&desk);
    change(&desk, FIRST, |bytes| bytes[end..end + 40].fill(0xa5));
    let run = desk.run("journal verify orders");
    assert_eq!((run.status, run.stderr.as_str()), (3, ""), "{run:?}");
    assert!(run.stdout.contains("the frame at offset"), "{run:?}");
    assert!(
        run.stdout
            .contains("\ncut by a crash: segments=2 frames=6 ")
            && run.stdout.ends_with("bytes_behind=40 frames_behind=0\n"),
        "{run:?}"
    );
    assert_eq!(
        desk.run("journal print orders")
            .done()
            .stdout
            .lines()
            .count(),
        6
    );

    let repaired = desk.run("journal repair orders").done().stdout;
    assert!(
        repaired.contains(&format!("set aside: {FIRST}.")),
        "{repaired}"
    );
    assert!(
        repaired.ends_with("repaired: bytes_set_aside=40 headers_rewritten=0\n"),
        "{repaired}"
    );
    desk.run("journal verify orders").done();
    let printed = desk.run("journal print orders").done().stdout;
    assert!(printed.ends_with("set_aside=40 cause=1\n"), "{printed}");
}

#[test]
fn a_flipped_bit_is_damage_and_is_cut_only_with_the_loss_accepted() {
    let desk = written("journal-bit", 2);
    // In the body of the second record.
    change(&desk, FIRST, |bytes| bytes[4192 + 33] ^= 4);
    let before = std::fs::read(segment(&desk, FIRST)).expect("a segment");
    let run = desk.run("journal verify orders");
    assert_eq!((run.status, run.stderr.as_str()), (4, ""), "{run:?}");
    assert!(
        run.stdout.contains("does not hold (body)")
            && run.stdout.contains("durable bytes are missing or wrong"),
        "{run:?}"
    );
    assert!(run.stdout.contains("\ndamaged: "), "{run:?}");

    let run = desk.run("journal print orders");
    assert_eq!((run.status, run.stdout.lines().count()), (4, 2), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    assert!(
        run.stderr
            .starts_with("touchline: orders: the journal is damaged ("),
        "{run:?}"
    );
    let past = desk.run("journal print orders --past-damage").done().stdout;
    assert!(
        past.contains("\nGap sequence=- position=- segment=1 ") && past.contains(" cause=6 "),
        "{past}"
    );
    assert_eq!(past.matches("Fx ").count(), 9, "{past}");

    desk.run("journal repair orders")
        .refused(4, &["--accept-loss"]);
    assert_eq!(
        std::fs::read(segment(&desk, FIRST)).expect("a segment"),
        before
    );
    let repaired = desk
        .run("journal repair orders --accept-loss")
        .done()
        .stdout;
    assert_eq!(repaired.matches("set aside: ").count(), 2, "{repaired}");
    desk.run("journal verify orders").done();
    let printed = desk.run("journal print orders").done().stdout;
    assert!(printed.ends_with(" cause=2\n"), "{printed}");
    assert_eq!(printed.matches("Fx ").count(), 1, "{printed}");
}

/// Like `head`: the damage at the end is not reached.
#[test]
fn a_print_whose_reader_leaves_reads_no_further() {
    let desk = Desk::bare("journal-head");
    for run in 0..2 {
        let mut journal = open(&desk, run);
        (0..4).for_each(|_| append(&mut journal, 250));
        journal.close(9).expect("it closes");
    }
    let end = used_bytes(&desk);
    change(&desk, FIRST, |bytes| bytes[end - 200] ^= 4);
    assert_eq!(desk.run("journal print orders").status, 4);
    let mut command = desk.command("journal print orders");
    let mut print = Process::with_streams(command.stdout(Stdio::piped()));
    drop(print.pipe());
    assert!(print.wait().success());
}

/// The lines of the source and of the copy go to a full pipe without a reader: both go on, and end when they are asked to.
#[test]
fn a_copy_whose_lines_nobody_reads_goes_on() {
    let desk = written("journal-unread", 1);
    let (_unread, pipe) = full_pipe();
    let start = |line: &str| {
        let full = || pipe.try_clone().expect("a descriptor");
        let mut command = desk.command(line);
        Process::with_streams(command.stdout(full()).stderr(full()))
    };
    let address = free_address();
    let line = format!("journal send orders --listen {address} --allow 127.0.0.1");
    let mut source = start(&line);
    let line = format!("journal receive {address} copy --every-s 1");
    let mut copy = start(&line);
    let copied = || {
        let shown = desk.run("stat journal-receive --json").stdout;
        let shown: Value = serde_json::from_str(shown.trim()).ok()?;
        shown["counters"]["journal_copy_position"].as_u64()
    };
    for run in 1..=3 {
        append_run(&desk, run);
        let position = verify(&desk.path("orders")).expect("a journal").position;
        until("everything copied", || copied() == Some(position));
        // A line about the state is due.
        std::thread::sleep(Duration::from_millis(1_100));
    }
    for process in [&mut copy, &mut source] {
        assert_eq!(process.end("TERM"), Some(0));
    }
}

#[test]
fn a_missing_segment_is_damage_and_removed_oldest_ones_are_not() {
    let desk = written("journal-gap", 3);
    let second = segment(&desk, "0000000002.tlj");
    let kept = std::fs::read(&second).expect("a segment");
    std::fs::remove_file(&second).expect("our folder");
    let run = desk.run("journal verify orders");
    assert_eq!(run.status, 4, "{run:?}");
    assert!(
        run.stdout.contains("segments 2 to 2 are missing"),
        "{run:?}"
    );
    std::fs::write(&second, kept).expect("our folder");
    std::fs::remove_file(segment(&desk, FIRST)).expect("our folder");
    let verified = desk.run("journal verify orders").done().stdout;
    assert!(
        verified.starts_with("segments 1 to 1 were removed (retention)\nclean: "),
        "{verified}"
    );
}

#[test]
fn a_directory_without_segments_is_refused_and_stays_as_it_was() {
    let desk = Desk::bare("journal-none");
    std::fs::create_dir(desk.path("orders")).expect("our folder");
    for command in ["ls", "print", "verify", "repair", "compress"] {
        desk.run(&format!("journal {command} orders"))
            .refused(1, &["orders: no segment of a journal", "0000000001.tlj"]);
        desk.run(&format!("journal {command} nowhere"))
            .refused(1, &["nowhere: ", "No such file or directory"]);
        desk.run(&format!("journal {command} cme.toml"))
            .refused(1, &["cme.toml: ", "a journal is a directory"]);
        desk.run(&format!("journal {command}"))
            .refused(2, &["DIRECTORY"]);
    }
    let files = std::fs::read_dir(desk.path("orders")).expect("our folder");
    assert_eq!(files.count(), 0);
}

#[test]
fn an_unknown_version_is_refused_by_its_number() {
    let desk = written("journal-version", 1);
    change(&desk, FIRST, |bytes| {
        for copy in bytes[..2 * HEADER_COPY_BYTES].chunks_exact_mut(HEADER_COPY_BYTES) {
            copy[8] = 2;
            let crc = body_crc(&[&copy[..12], &copy[16..]].concat());
            copy[12..16].copy_from_slice(&crc.to_le_bytes());
        }
    });
    let before = std::fs::read(segment(&desk, FIRST)).expect("a segment");
    let words = [
        "orders/0000000001.tlj: format version 2, this program reads 1",
        "use the version of touchline that wrote it",
    ];
    for command in ["ls", "print", "verify", "repair --accept-loss", "compress"] {
        desk.run(&format!("journal {command} orders"))
            .refused(2, &words);
    }
    assert_eq!(
        std::fs::read(segment(&desk, FIRST)).expect("a segment"),
        before
    );
}

#[test]
fn a_journal_with_a_writer_is_read_and_not_repaired() {
    let desk = Desk::bare("journal-writer");
    let mut journal = open(&desk, 1);
    append(&mut journal, 5);
    let pid = format!("process {} writes this journal", std::process::id());
    let verified = desk.run("journal verify orders").done().stdout;
    assert!(verified.contains(&pid), "{verified}");
    desk.run("journal repair orders")
        .refused(1, &[&pid, "stop it first"]);
    journal.close(9).expect("it closes");
    desk.run("journal repair orders").done();
}

#[test]
fn closed_segments_are_compressed_and_read_as_before() {
    let desk = written("journal-compress", 3);
    let printed = desk.run("journal print orders").done().stdout;
    let said = desk.run("journal compress orders").done().stdout;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(
        lines[0].starts_with("0000000001.tlj.zst bytes=65536 compressed_bytes="),
        "{said}"
    );
    assert!(
        lines[2].starts_with("compressed: segments=2 bytes=131072 compressed_bytes="),
        "{said}"
    );
    assert!(!segment(&desk, FIRST).exists());
    assert_eq!(desk.run("journal print orders").done().stdout, printed);
    desk.run("journal verify orders").done();
    let listed = desk.run("journal ls orders").done().stdout;
    let row: Vec<&str> = listed
        .lines()
        .nth(1)
        .expect("a row")
        .split_whitespace()
        .collect();
    assert_eq!((row[4], row[6]), ("65536", "closed"), "{listed}");
    assert!(row[5].parse::<u64>().expect("a number") < 2_000, "{listed}");
    let said = desk.run("journal compress orders").done().stdout;
    assert_eq!(said, "compressed: segments=0 bytes=0 compressed_bytes=0\n");
}
