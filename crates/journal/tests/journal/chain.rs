//! The hash chain: a record that was changed or removed by someone who makes all checksums again is found, at its place.

use crate::place::{Place, append, options, until_durable};
use std::time::Duration;
use touchline_journal::format::{
    Alignment, FrameHead, HEAD_BYTES, HEADER_BYTES, body_crc, head_crc, kind, segment_name, u64_at,
};
use touchline_journal::records::{Begin, End};
use touchline_journal::{ChainHead, Journal, Options, Verdict, chain, compress, read, verify};
use touchline_testing::random::{Random, seeds};
use touchline_testing::{PATIENCE, until};

/// Records of a run: two to four segments.
const RECORDS: u64 = 1_000;

fn chained() -> Options {
    Options {
        chain: true,
        ..options()
    }
}

/// The heads in the notes, oldest first.
fn notes(place: &Place) -> Vec<ChainHead> {
    let mut found = Vec::new();
    read(&place.journal(), false, |entry| {
        if entry.head.kind == kind::NOTE {
            let text = std::str::from_utf8(entry.body).expect("text");
            let head = ChainHead::of_note(text).expect("a note of the chain");
            assert_eq!(head.to_string(), text);
            assert!(head.to < entry.segment, "{text}");
            found.push(head);
        }
    })
    .expect("a journal");
    found
}

/// Runs, of which each appends until its journal has noted all segments that were closed before.
fn written(place: &Place, runs: u64, settings: &Options) {
    let bus = place.bus();
    for run in 0..runs {
        let mut journal =
            Journal::open(&place.journal(), &bus, settings, run + 1).expect("a journal");
        let mut number = run * 100_000;
        for _ in 0..RECORDS {
            append(&mut journal, number);
            number += 1;
        }
        until_durable(&journal);
        let closed = journal.segment() - 1;
        until("the note of the chain", PATIENCE, || {
            append(&mut journal, number);
            number += 1;
            std::thread::sleep(Duration::from_millis(1));
            until_durable(&journal);
            !settings.chain || notes(place).iter().any(|head| head.to >= closed)
        });
        journal.close(9).expect("it closes");
    }
}

/// A segment in parts: its header, and its frames.
struct Segment {
    name: String,
    bytes: Vec<u8>,
    salt: u64,
    frames: Vec<(FrameHead, Vec<u8>)>,
}

fn segments(place: &Place) -> Vec<Segment> {
    let used = verify(&place.journal()).expect("a journal").segments;
    let used = used.iter().filter(|segment| segment.frames > 0);
    used.map(|info| {
        let name = segment_name(info.index);
        let bytes = std::fs::read(place.journal().join(&name)).expect("a segment");
        let (salt, mut offset) = (u64_at(&bytes, 16), HEADER_BYTES);
        let mut frames = Vec::new();
        for _ in 0..info.frames {
            let head = FrameHead::decode(&bytes[offset..], salt, offset as u64).expect("a frame");
            let body = &bytes[offset + HEAD_BYTES..offset + head.length as usize];
            frames.push((head, body.to_vec()));
            offset += Alignment::PACKED.round_up(u64::from(head.length)) as usize;
        }
        Segment {
            name,
            bytes,
            salt,
            frames,
        }
    })
    .collect()
}

/// Writes the segments again, with right numbers, places and checksums throughout.
fn forge(place: &Place, segments: &mut [Segment]) {
    let (mut base, mut first, mut end_crc) = (0, 0, 0);
    for segment in segments {
        segment.bytes[HEADER_BYTES..].fill(0);
        let mut offset = HEADER_BYTES as u64;
        for (number, (head, body)) in segment.frames.iter_mut().enumerate() {
            let behind = offset + Alignment::PACKED.round_up((HEAD_BYTES + body.len()) as u64);
            head.number = number as u32;
            let next = first + u64::from(head.number) + 1;
            match head.kind {
                kind::BEGIN => {
                    *body = Begin {
                        base,
                        first,
                        end_crc,
                    }
                    .encode()
                    .to_vec()
                }
                kind::END => {
                    let end = End::decode(body).expect("an End");
                    let position = base + behind;
                    *body = End {
                        position,
                        next,
                        ..end
                    }
                    .encode()
                    .to_vec();
                }
                _ => {}
            }
            head.body_crc = body_crc(body);
            let bytes = head.encode(segment.salt, offset);
            end_crc = head_crc(&bytes, segment.salt, offset);
            let at = offset as usize;
            segment.bytes[at..at + HEAD_BYTES].copy_from_slice(&bytes);
            segment.bytes[at + HEAD_BYTES..at + HEAD_BYTES + body.len()].copy_from_slice(body);
            offset = behind;
        }
        base += offset;
        first += segment.frames.len() as u64;
        std::fs::write(place.journal().join(&segment.name), &segment.bytes).expect("our folder");
    }
}

/// Index of a random user's record of a segment.
fn random_record(segment: &Segment, random: &mut Random) -> usize {
    let of_user = |at: &usize| segment.frames[*at].0.stream == 1;
    let all: Vec<usize> = (0..segment.frames.len()).filter(of_user).collect();
    all[random.below(all.len() as u64) as usize]
}

/// The notes hold over runs, and the same head follows from the compressed segments.
#[test]
fn every_closed_segment_is_chained_and_compression_changes_nothing() {
    let place = Place::new("chain");
    written(&place, 3, &chained());
    let before = chain(&place.journal()).expect("a journal");
    assert_eq!(before.faults, Vec::<String>::new());
    let head = before.head.expect("a head");
    assert_eq!((head.from, head.to), (1, segments(&place).len() as u64));
    assert!(before.noted.is_some_and(|noted| noted.to < head.to));
    assert!(
        !compress(&place.journal())
            .expect("it is compressed")
            .is_empty()
    );
    assert_eq!(chain(&place.journal()).expect("a journal"), before);
}

/// A journal of an earlier release has no notes; the next run hashes its segments, and the chain goes on.
#[test]
fn a_journal_without_a_chain_gets_one() {
    let place = Place::new("chain-old");
    written(&place, 2, &options());
    let old = chain(&place.journal()).expect("a journal");
    assert_eq!((old.noted, old.faults.len()), (None, 0));
    let head = old.head.expect("a head");
    let bus = place.bus();
    let mut journal = Journal::open(&place.journal(), &bus, &chained(), 7).expect("a journal");
    until("the note of the chain", PATIENCE, || {
        append(&mut journal, 1);
        until_durable(&journal);
        !notes(&place).is_empty()
    });
    journal.close(9).expect("it closes");
    assert_eq!(notes(&place)[0], head);
    assert_eq!(chain(&place.journal()).expect("a journal").faults.len(), 0);
}

/// A flipped byte, a removed record and a removed note, each with all checksums made again: the journal verifies, and the chain names
/// the segments between two notes that the change is in.
#[test]
fn a_changed_and_a_removed_record_are_found_at_their_place() {
    for seed in seeds(4) {
        println!("seed {seed}");
        let mut random = Random::from_seed(seed);
        let place = Place::new("chain-forged");
        written(&place, 3, &chained());
        let noted = chain(&place.journal())
            .expect("a journal")
            .noted
            .expect("a note")
            .to;
        let mut changed = segments(&place);
        let at = random.below(noted) as usize;
        let record = random_record(&changed[at], &mut random);
        match random.below(2) {
            0 => {
                let body = &mut changed[at].frames[record].1;
                let byte = random.below(body.len() as u64) as usize;
                body[byte] ^= 1 << random.below(8);
            }
            _ => {
                changed[at].frames.remove(record);
            }
        }
        forge(&place, &mut changed);
        let report = verify(&place.journal()).expect("a journal");
        assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
        let found = chain(&place.journal()).expect("a journal");
        let segment = at as u64 + 1;
        // A removed record moves all later segments, whose Begin and End then differ, too.
        let fault = found
            .faults
            .first()
            .unwrap_or_else(|| panic!("segment {segment} of {noted}"));
        let mut words = fault.split([' ', ',']);
        let (from, to) = (words.nth(1), words.nth(1));
        let number = |word: Option<&str>| word.expect("a number").parse::<u64>().expect("digits");
        assert!(
            (number(from)..=number(to)).contains(&segment),
            "segment {segment}: {fault}"
        );
    }
}
