//! Batches as bytes: decoded batches have the same lines, in the order of a journal, for any division into parts.

use crate::random::banks::Banks;
use crate::random::seeds;
use std::collections::BTreeMap;
use touchline_fx::Setup;
use touchline_fx::sessions::Replay;
use touchline_fx_events::encoding::{self, Decoder, Encoder, Entry, Malformed, Place, kind};
use touchline_fx_events::event::{Answer, BenchmarkOf, Event};
use touchline_fx_events::lines::{LineKind, lines_of};
use touchline_fx_events::{Batch, Labels};
use touchline_types::Side;

const STEPS: usize = 300;
const SEEDS: usize = 12;

/// A journal of batches, and its reader.
struct Journal {
    encoder: Encoder,
    decoder: Decoder,
    next: u64,
    /// Lines by the name of their kind.
    lines: BTreeMap<&'static str, String>,
    parts: usize,
}

impl Journal {
    fn begin(labels: &Labels) -> Journal {
        let mut journal = Journal {
            encoder: Encoder::default(),
            decoder: Decoder::default(),
            next: 1,
            lines: BTreeMap::new(),
            parts: 0,
        };
        journal.encoder.begin(0);
        journal.encoder.run(1, "20260105", labels, &[]);
        journal.pass_on();
        journal
    }

    fn append(&mut self, labels: &Labels, batch: &Batch) {
        let Some((at_ns, _)) = batch.events.last() else {
            return;
        };
        self.encoder.begin(*at_ns);
        for event in &batch.events {
            self.encoder.event(labels, batch, event, 7);
        }
        self.pass_on();
    }

    fn pass_on(&mut self) {
        let count = self.encoder.finish(self.next);
        self.parts += count - 1;
        let mut line = String::new();
        let lines = &mut self.lines;
        for place in 0..count {
            let bytes = self.encoder.part(place);
            let part = Place::of(bytes).expect("a part");
            assert_eq!((part.first, part.is_first), (self.next, place == 0));
            assert_eq!(part.is_last, place + 1 == count);
            self.next = part.end;
            let read = self.decoder.read(bytes, |labels, at_ns, entry, batch| {
                lines_of((labels, batch), at_ns, &entry, &mut line, |kind, text| {
                    let file = lines.entry(kind.name()).or_default();
                    file.push_str(text);
                    file.push('\n');
                });
            });
            read.expect("a batch");
        }
    }
}

#[test]
fn what_is_decoded_has_the_same_lines() {
    let mut parents = 0;
    for seed in seeds().into_iter().take(SEEDS) {
        println!("seed {seed}");
        let mut banks = Banks::new(seed);
        let setup = Setup::parse(banks.config()).expect("a configuration");
        let labels = setup.labels.clone();
        let mut replay = Replay::new(setup);
        let mut journal = Journal::begin(&labels);
        for _ in 0..STEPS {
            for line in banks.next() {
                replay.line(&line).expect("a line of ours");
                journal.append(&labels, replay.batch());
                banks.hear(replay.batch());
            }
        }
        let mut last = Batch::default();
        replay.engine().clone().finish(&mut last);
        journal.append(&labels, &last);
        let (files, _) = replay.finish();
        for (name, expected) in files.named() {
            let kind = name.trim_end_matches(".jsonl");
            let found = journal.lines.get(kind).map_or("", String::as_str);
            let mut both = expected.lines().zip(found.lines());
            let first = both.find(|(expected, found)| expected != found);
            assert!(found == expected, "seed {seed}, {name}: {first:?}");
        }
        let told = journal.lines.get("parents").map_or("", String::as_str);
        parents += told.lines().count();
    }
    assert!(parents > 0, "a session without parents proves nothing");
}

/// Every parent has the market of its arrival and every order that ended the market of its end, and both are read as they were written.
#[test]
fn marks_have_the_market_of_arrivals_and_ends() {
    let mut whole = 0;
    for seed in seeds().into_iter().take(SEEDS) {
        println!("seed {seed}");
        let mut banks = Banks::new(seed);
        let setup = Setup::parse(banks.config()).expect("a configuration");
        let labels = setup.labels.clone();
        let mut replay = Replay::new(setup);
        let mut encoder = Encoder::default();
        let mut decoder = Decoder::default();
        encoder.begin(0);
        encoder.run(1, "20260105", &labels, &[]);
        encoder.finish(1);
        decoder
            .read(encoder.part(0), |_, _, _, _| ())
            .expect("a run");
        for _ in 0..STEPS {
            for line in banks.next() {
                replay.line(&line).expect("a line of ours");
                let batch = replay.batch();
                encoder.begin(1);
                let mut marks = Vec::new();
                for event in &batch.events {
                    encoder.event(&labels, batch, event, 7);
                    if let Event::Benchmark(mark) = event.1 {
                        marks.push(mark);
                    }
                }
                let mut read = Vec::new();
                for place in 0..encoder.finish(1) {
                    let entries = decoder.read(encoder.part(place), |_, _, entry, _| {
                        if let Entry::Event(Event::Benchmark(mark), _) = entry {
                            read.push(*mark);
                        }
                    });
                    entries.expect("a batch");
                }
                assert_eq!(read, marks);
                whole += check_marks(batch);
                banks.hear(batch);
            }
        }
    }
    assert!(whole > 0, "no plan took a whole parent at its arrival");
}

/// Counts the plans that took a whole parent at its arrival: none is cheaper than the market of all banks.
fn check_marks(batch: &Batch) -> usize {
    let marked = |of: BenchmarkOf| {
        let mut marks = batch.events.iter().filter_map(|(_, event)| match event {
            Event::Benchmark(mark) if mark.of == of => Some(mark),
            _ => None,
        });
        marks.next()
    };
    let (mut whole, mut terms_of) = (0, BTreeMap::new());
    for (_, event) in &batch.events {
        match event {
            Event::Accepted { number, terms } => {
                assert!(marked(BenchmarkOf::Parent(*number)).is_some(), "{terms:?}");
                terms_of.insert(*number, *terms);
            }
            Event::Order(line) if line.code.is_some() => {
                let number = line.number.expect("an order that ended");
                assert!(marked(BenchmarkOf::Order(number)).is_some(), "{line:?}");
            }
            Event::Plan {
                parent,
                quantity,
                average,
                mid2,
                ..
            } => {
                let Some(terms) = terms_of.remove(&parent.number) else {
                    continue;
                };
                let mark = marked(BenchmarkOf::Parent(parent.number)).expect("its arrival");
                assert_eq!(mark.mid2, Some(*mid2), "{parent:?}");
                if let Some(cost) = mark.average.filter(|_| *quantity == terms.quantity) {
                    whole += 1;
                    let dearer = match terms.side {
                        Side::Bid => average - cost,
                        Side::Ask => cost - average,
                    };
                    assert!(dearer >= 0, "{parent:?}: {average} against {cost}");
                }
            }
            _ => {}
        }
    }
    whole
}

/// A long batch is in several parts, and is read only with its last part. An incomplete batch of an earlier run is
/// dropped.
#[test]
fn a_batch_is_read_with_its_last_part() {
    let labels = Labels::default();
    let mut journal = Journal::begin(&labels);
    let mut encoder = Encoder::default();
    let mut begin = |texts: u64, first: u64| {
        encoder.begin(5);
        let text = "x".repeat(1_000);
        for request in 0..texts {
            encoder.command(request, "desk", "ann", Err(text.as_bytes()));
        }
        let count = encoder.finish(first);
        let parts = (0..count).map(|place| encoder.part(place).to_vec());
        parts.collect::<Vec<_>>()
    };
    let long = begin(100, journal.next);
    assert!(long.len() > 2, "{} parts", long.len());
    let mut found = Vec::new();
    let mut read = |part: &[u8]| {
        found.clear();
        let read = journal.decoder.read(part, |_, at_ns, entry, _| {
            let Entry::Command { request, .. } = entry else {
                panic!("{entry:?}");
            };
            found.push((at_ns, request));
        });
        read.map(|()| found.len())
    };
    let (last, before) = long.split_last().expect("parts");
    for part in before {
        assert_eq!(read(part), Ok(0));
    }
    assert_eq!(read(last), Ok(100));
    assert_eq!(read(&before[0]), Ok(0));
    assert_eq!(
        read(&begin(1, journal.next)[0]),
        Ok(1),
        "the part before is dropped"
    );
}

/// Bytes that were changed are refused, or read as something: never a panic. A batch that is cut is refused.
#[test]
fn damaged_batches_are_refused() {
    for seed in seeds().into_iter().take(3) {
        println!("seed {seed}");
        let mut banks = Banks::new(seed);
        let setup = Setup::parse(banks.config()).expect("a configuration");
        let labels = setup.labels.clone();
        let mut replay = Replay::new(setup);
        let mut journal = Journal::begin(&labels);
        for _ in 0..60 {
            for line in banks.next() {
                replay.line(&line).expect("a line of ours");
                journal.append(&labels, replay.batch());
                banks.hear(replay.batch());
                let bytes = journal.encoder.part(0).to_vec();
                let step = 1 + bytes.len() / 40;
                for at in (0..bytes.len()).step_by(step) {
                    let read = |bytes: &[u8]| {
                        let mut decoder = journal.decoder.clone();
                        decoder.read(bytes, |_, _, _, _| ())
                    };
                    if at > 21 && !is_end_of_entry(&bytes, at) {
                        assert_eq!(read(&bytes[..at]), Err(Malformed), "cut at {at}");
                    }
                    let mut changed = bytes.clone();
                    changed[at] ^= 0x81;
                    let _ = read(&changed);
                }
            }
        }
    }
}

/// Whether an entry ends here.
fn is_end_of_entry(bytes: &[u8], at: usize) -> bool {
    let mut end = 21;
    while end < at {
        let length: [u8; 4] = bytes[end + 1..end + 5].try_into().expect("four bytes");
        end += 5 + u32::from_le_bytes(length) as usize;
    }
    end == at
}

/// A reader that joins late has the entries whose names it has read, and answers without any names.
#[test]
fn a_late_reader_leaves_out_what_it_cannot_name() {
    let mut counts = [0; 3];
    // A desk may be killed early.
    (1..=4).for_each(|seed| join_late(seed, &mut counts));
    assert!(!counts.contains(&0), "{counts:?}");
    assert_eq!(LineKind::ALL[LineKind::Answer as usize], LineKind::Answer);
}

/// Joins in the middle of a session: adds the parents, their ends, and the answers that were read.
fn join_late(seed: u64, [accepted, ends, answers]: &mut [usize; 3]) {
    let mut banks = Banks::new(seed);
    let setup = Setup::parse(banks.config()).expect("a configuration");
    let labels = setup.labels.clone();
    let mut replay = Replay::new(setup);
    let mut encoder = Encoder::default();
    encoder.begin(0);
    encoder.run(1, "20260105", &labels, &[]);
    assert_eq!(encoder.finish(1), 1);
    let mut late = Decoder::joined(encoder.part(0));
    let mut nameless = Decoder::joined(b"");
    for step in 0..STEPS {
        for line in banks.next() {
            replay.line(&line).expect("a line of ours");
            banks.hear(replay.batch());
            if step < STEPS / 2 {
                continue;
            }
            encoder.begin(1);
            for event in &replay.batch().events {
                encoder.event(&labels, replay.batch(), event, 0);
            }
            encoder.answer(&Answer {
                client: "desk",
                request: 5,
                answer: "accepted",
                reason: None,
                cause: None,
            });
            for place in 0..encoder.finish(0) {
                let part = encoder.part(place);
                let read = late.read(part, |_, _, entry, _| match entry {
                    Entry::Event(Event::Accepted { .. }, _) => *accepted += 1,
                    Entry::Event(Event::Ended(_), _) => *ends += 1,
                    _ => {}
                });
                read.expect("what is not known is left out");
                let read = nameless.read(part, |_, _, entry, _| {
                    *answers += usize::from(matches!(entry, Entry::Answer(_)));
                });
                read.expect("what is not known is left out");
            }
        }
    }
}

/// A type of the schema: its bytes.
fn sizes(schema: &roxmltree::Document<'_>) -> BTreeMap<String, usize> {
    let primitive = |name: &str| match name {
        "uint8" | "int8" | "char" => 1,
        "uint16" => 2,
        "uint32" | "int32" => 4,
        "uint64" | "int64" => 8,
        other => panic!("{other}"),
    };
    let primitives = ["uint8", "uint16", "int32", "uint32", "uint64", "int64"];
    let mut sizes: BTreeMap<String, usize> = primitives
        .map(|name| (name.to_owned(), primitive(name)))
        .into();
    let types = schema.descendants().find(|node| node.has_tag_name("types"));
    for node in types
        .expect("types")
        .children()
        .filter(|node| node.is_element())
    {
        let name = node.attribute("name").expect("a name").to_owned();
        let bytes = match node.tag_name().name() {
            "enum" => 1,
            "composite" => {
                let parts = node
                    .children()
                    .filter_map(|part| part.attribute("primitiveType"));
                parts.map(primitive).sum()
            }
            _ => primitive(node.attribute("primitiveType").expect("a type")),
        };
        sizes.insert(name, bytes);
    }
    sizes
}

/// Bytes of a body as its message of the schema describes it.
fn described(
    message: roxmltree::Node<'_, '_>,
    sizes: &BTreeMap<String, usize>,
    body: &[u8],
) -> usize {
    let size = |node: roxmltree::Node<'_, '_>| sizes[node.attribute("type").expect("a type")];
    let mut at = 0;
    for node in message.children().filter(|node| node.is_element()) {
        at += match node.tag_name().name() {
            "field" => size(node),
            "group" => {
                let count = usize::from(u16::from_le_bytes([body[at], body[at + 1]]));
                let fields = node.children().filter(|field| field.is_element());
                2 + count * fields.map(size).sum::<usize>()
            }
            _ => match body[at] {
                255 => 1,
                length => 1 + usize::from(length),
            },
        };
    }
    at
}

/// The schema describes every byte of the entries that it has, which are all that random sessions have but those that vary.
#[test]
fn the_schema_describes_the_entries() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schemas/touchline-fx-events.xml"
    );
    let text = std::fs::read_to_string(path).expect("the schema");
    let schema = roxmltree::Document::parse(&text).expect("a schema");
    let sizes = sizes(&schema);
    let messages: BTreeMap<u8, _> = schema
        .descendants()
        .filter(|node| node.tag_name().name() == "message")
        .map(|node| {
            (
                node.attribute("id")
                    .expect("an id")
                    .parse()
                    .expect("a kind"),
                node,
            )
        })
        .collect();
    let version = schema.root_element().attribute("version");
    assert_eq!(version, Some(encoding::VERSION.to_string().as_str()));
    let varying = [kind::MESSAGE, kind::COMPOSITE];
    let mut seen = std::collections::BTreeSet::new();
    for seed in seeds().into_iter().take(SEEDS) {
        println!("seed {seed}");
        let mut banks = Banks::new(seed);
        let setup = Setup::parse(banks.config()).expect("a configuration");
        let labels = setup.labels.clone();
        let mut replay = Replay::new(setup);
        let mut encoder = Encoder::default();
        let mut look = |batch: &Batch| {
            encoder.begin(0);
            for event in &batch.events {
                encoder.event(&labels, batch, event, 7);
            }
            for place in 0..encoder.finish(1) {
                let mut rest = &encoder.part(place)[21..];
                while !rest.is_empty() {
                    let of = rest[0];
                    let length: [u8; 4] = rest[1..5].try_into().expect("four bytes");
                    let (body, behind) = rest[5..].split_at(u32::from_le_bytes(length) as usize);
                    rest = behind;
                    if !varying.contains(&of) {
                        let bytes = described(messages[&of], &sizes, body);
                        assert_eq!(bytes, body.len(), "kind {of}");
                        seen.insert(of);
                    }
                }
            }
        };
        for _ in 0..STEPS {
            for line in banks.next() {
                replay.line(&line).expect("a line of ours");
                look(replay.batch());
                banks.hear(replay.batch());
            }
        }
        let mut last = Batch::default();
        replay.engine().clone().finish(&mut last);
        look(&last);
    }
    assert!(seen.len() >= 17, "{seen:?}");
}
