//! Captures as tools, tapes and interrupted copies leave them: truncated, padded, without snapshots.

use crate::command::{Desk, Run};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use touchline_lab::capture::{Feed, write_pcap};
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_wire::mdp3::{Packet, PacketHeader};

const OUTPUTS: [&str; 5] = ["books", "orders", "tops", "q.csv", "t.csv"];

/// Replays captures to all outputs.
fn replay(desk: &Desk, captures: &str, more: &str) -> Run {
    let outputs = "--books books --orders orders --tops tops --quotes q.csv --trades t.csv";
    desk.run(&format!(
        "replay --config cme.toml --pcap {captures} {outputs} {more}"
    ))
}

/// The outputs of the last replay; removes them.
fn outputs(desk: &Desk) -> [String; OUTPUTS.len()] {
    OUTPUTS.map(|name| {
        let text = desk.read(name);
        std::fs::remove_file(desk.path(name)).expect("our folder");
        text
    })
}

/// The session's capture as pcapng.
fn pcapng(desk: &Desk) -> Vec<u8> {
    let pcap = std::fs::read(desk.path("session.pcap")).expect("our capture");
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().expect("four bytes"));
    let mut ng = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let body_len = body.len().next_multiple_of(4);
        let len = (12 + body_len as u32).to_le_bytes();
        ng.extend([&kind.to_le_bytes()[..], &len, body].concat());
        ng.resize(ng.len() + body_len - body.len(), 0);
        ng.extend(len);
    };
    let section = [0x1a2b_3c4d, 1, u32::MAX, u32::MAX].map(u32::to_le_bytes);
    block(0x0a0d_0d0a, section.as_flattened());
    // Ethernet, no snap length, time in nanoseconds (option 9).
    let interface = [1, 0, 0x0001_0009, 9].map(u32::to_le_bytes);
    block(1, interface.as_flattened());
    let mut at = 24;
    while at < pcap.len() {
        let (ns, len) = (
            u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)),
            word(at + 8),
        );
        let fields = [0, (ns >> 32) as u32, ns as u32, len, word(at + 12)].map(u32::to_le_bytes);
        let end = at + 16 + len as usize;
        block(6, &[fields.as_flattened(), &pcap[at + 16..end]].concat());
        at = end;
    }
    ng
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}

/// In small blocks, so that a truncated stream has some of them.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
    for part in bytes.chunks(20_000) {
        encoder.write_all(part).expect("a vector takes everything");
        encoder.flush().expect("a vector takes everything");
    }
    encoder.finish().expect("a vector takes everything")
}

/// The number of packets that a warning names.
fn packets_before(warning: &str) -> usize {
    let (_, rest) = warning.split_once(", after ").expect(warning);
    let (number, _) = rest.split_once(" packets)").expect(warning);
    number.parse().expect(warning)
}

/// Every format, truncated in its last record or in the middle of its compressed data: the outputs are those of a capture that
/// ends before.
#[test]
fn a_truncated_capture_gives_its_output_with_a_warning_and_status_1() {
    let desk = Desk::new("cut");
    let pcap = std::fs::read(desk.path("session.pcap")).expect("our capture");
    let all = desk.arrivals.len();
    for plain in [pcap, pcapng(&desk)] {
        let cut = &plain[..plain.len() - 5];
        let [gzip_cut, zstd_cut] = [gzip(cut), zstd(cut)];
        let [gzip_stream, zstd_stream] = [gzip(&plain), zstd(&plain)];
        for (bytes, packets) in [
            (cut, all - 1..all),
            (&gzip_cut, all - 1..all),
            (&zstd_cut, all - 1..all),
            (&gzip_stream[..gzip_stream.len() - 1], all..all + 1),
            (&gzip_stream[..gzip_stream.len() / 2], all / 4..all),
            (&zstd_stream[..zstd_stream.len() / 2], all / 4..all),
        ] {
            desk.write("cut.bin", bytes);
            let run = replay(&desk, "cut.bin", "");
            assert_eq!(run.status, 1, "{run:?}");
            assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
            let words = "touchline: warning: cut.bin: the file ends in the middle of ";
            assert!(run.stderr.starts_with(words), "{run:?}");
            assert!(run.stderr.contains("--allow-truncated"), "{run:?}");
            assert!(run.stdout.contains("messages by template"), "{run:?}");
            let read = packets_before(&run.stderr);
            assert!(packets.contains(&read), "{read} of {all}");
            let shown = outputs(&desk);

            write_pcap(&desk.arrivals[..read], &desk.path("before.pcap")).expect("our folder");
            replay(&desk, "before.pcap", "").done();
            assert!(shown == outputs(&desk), "{}", run.stderr);

            let allowed = replay(&desk, "cut.bin", "--allow-truncated --quiet");
            assert_eq!((allowed.status, &allowed.stderr), (0, &run.stderr));
            assert!(shown == outputs(&desk), "{}", run.stderr);
        }
    }
}

/// Lines A and B in files of their own, one of them truncated: every packet of the other is processed.
#[test]
fn a_truncated_capture_loses_nothing_of_the_others() {
    let desk = Desk::new("cut-one");
    let (a, b): (Vec<_>, Vec<_>) = (desk.arrivals.iter().cloned()).partition(|arrival| {
        (arrival.line, arrival.feed) == (touchline_lab::capture::Line::A, Feed::Incremental)
    });
    write_pcap(&a[..a.len() / 3], &desk.path("a.pcap")).expect("our folder");
    write_pcap(&b, &desk.path("b.pcap")).expect("our folder");
    let mut cut = std::fs::read(desk.path("a.pcap")).expect("our capture");
    cut.pop();
    desk.write("cut.pcap", cut);
    let run = replay(&desk, "cut.pcap b.pcap", "--quiet");
    assert_eq!((run.status, run.stderr.lines().count()), (1, 1), "{run:?}");
    let shown = outputs(&desk);
    write_pcap(&a[..a.len() / 3 - 1], &desk.path("a.pcap")).expect("our folder");
    replay(&desk, "a.pcap b.pcap", "--quiet").done();
    assert!(shown == outputs(&desk));
}

/// One block of compressed data is all or nothing: such a file has no packet, and the others have theirs.
#[test]
fn a_capture_that_is_truncated_before_its_first_packet_has_none() {
    let desk = Desk::new("cut-start");
    replay(&desk, "session.pcap", "").done();
    let expected = outputs(&desk);
    let pcap = std::fs::read(desk.path("session.pcap")).expect("our capture");
    let block = zstd::bulk::compress(&pcap[..2_000], 1).expect("a vector takes everything");
    for cut in [&pcap[..20], &block[..block.len() - 1], &gzip(&pcap)[..5]] {
        desk.write("cut.bin", cut);
        let run = replay(&desk, "cut.bin session.pcap", "--quiet");
        assert_eq!((run.status, run.stderr.lines().count()), (1, 1), "{run:?}");
        assert!(run.stderr.contains("cut.bin: the file ends"), "{run:?}");
        assert!(expected == outputs(&desk));
        let alone = replay(&desk, "cut.bin", "--quiet --allow-truncated");
        assert_eq!(alone.status, 1, "{alone:?}");
        assert!(
            alone.stderr.contains("no packet is for channel 998"),
            "{alone:?}"
        );
    }
}

#[test]
fn zeros_behind_a_capture_are_padding() {
    let desk = Desk::new("padded");
    replay(&desk, "session.pcap", "").done();
    let expected = outputs(&desk);
    let pcap = std::fs::read(desk.path("session.pcap")).expect("our capture");
    let zeros = vec![0; 5_000];
    for plain in [pcap, pcapng(&desk)] {
        for mut bytes in [plain.clone(), gzip(&plain), zstd(&plain)] {
            bytes.extend(&zeros);
            desk.write("padded.bin", &bytes);
            replay(&desk, "padded.bin", "").done();
            assert!(expected == outputs(&desk));
            bytes.extend(b"x");
            desk.write("padded.bin", &bytes);
            let run = replay(&desk, "padded.bin", "--quiet");
            run.refused(1, &["padded.bin: ", " followed by ", "no output"]);
        }
    }
}

#[test]
fn the_summary_of_a_capture_without_snapshots_names_natural() {
    let session = generate(&Options::default(), 4);
    let plan = FaultPlan::all_feeds([Fault::JoinLate { share: 0.3 }]);
    let mut arrivals = deliver(&session, &plan, 4).arrivals;
    let desk = Desk::with("hint", session.clone(), arrivals.clone());
    let is_shown = |desk: &Desk, more: &str| {
        let summary = desk.replay(more).done().stdout;
        summary.contains("no snapshots in the captures: --join natural")
    };
    assert!(!is_shown(&desk, ""));
    arrivals.retain(|arrival| arrival.feed == Feed::Incremental);
    let desk = Desk::with("hint-none", session, arrivals);
    assert!(is_shown(&desk, ""));
    assert!(!is_shown(&desk, "--join natural"));
}

/// With `--compare-copies` the summary has line, source and number of a packet whose copies differ; without it the difference is not reported.
#[test]
fn a_changed_copy_in_a_capture_is_told() {
    let desk = Desk::new("copies");
    let mut arrivals = desk.arrivals.clone();
    let incremental = |at: &usize| desk.arrivals[*at].feed == Feed::Incremental;
    // Not of the first packet, which waits for its copy.
    let (second, number) = (arrivals.len() / 2..arrivals.len())
        .filter(incremental)
        .find_map(|at| {
            let payload = &arrivals[at].payload;
            let is_copy = arrivals[..at].iter().any(|first| first.payload == *payload);
            let header = PacketHeader::peek(payload)?;
            let changed = (12..payload.len()).find_map(|byte| {
                let mut changed = payload.clone();
                changed[byte] ^= 1;
                Packet::parse(&changed).is_ok().then_some(changed)
            })?;
            is_copy.then_some(((at, changed), header.sequence))
        })
        .expect("a copy");
    arrivals[second.0].payload = second.1;
    let line = format!("{:?}", arrivals[second.0].line);
    write_pcap(&arrivals, &desk.path("changed.pcap")).expect("our folder");
    let said = desk.run("replay --config cme.toml --pcap changed.pcap --compare-copies");
    let said = said.done().stdout;
    assert!(
        said.contains("packets whose other copy has different bytes")
            && said.contains(&format!("number {number} of line {line}, from ")),
        "{said}"
    );
    let said = desk.run("replay --config cme.toml --pcap changed.pcap");
    assert!(!said.done().stdout.contains("different bytes"));
}
