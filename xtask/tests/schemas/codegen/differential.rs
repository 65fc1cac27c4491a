//! Generated views against the oracle, field by field.

use crate::codegen::oracle::{Item, Value, decode};
use crate::codegen::{cme_templates, files};
use std::fmt;
use std::path::Path;
use touchline_net::{frame, pcap::Reader};
use touchline_testing::random::Random;
use touchline_testing::{captures, schemas};
use touchline_wire::mdp3::{Message, Packet, RawMessage};
use touchline_wire::sbe::{MessageHeader, Value as Seen, Visitor};
use xtask::codegen::read::from_file;
use xtask::codegen::schema::{Body, Encoding, Group, Number, Primitive, Schema};

/// Random messages of every template, in every version since it exists, some with longer blocks than any schema has.
#[test]
fn random_messages_of_every_template() {
    let Some(schemas) = schemas("random messages against the schemas") else {
        return;
    };
    let versions = read_all(&schemas);
    let templates = templates(&versions);
    assert_eq!(
        templates.len(),
        43,
        "templates 4, 12, 15, 16, 27, 29, 30, 32-39, 41-44 and 46-69, without 45"
    );
    for template in templates {
        for seed in 0..3_000 {
            let mut draw = Draw::new(template, seed);
            let message = random_message(&versions, template, &mut draw);
            let schema = newest(&versions, template);
            compare(schema, &message).unwrap_or_else(|error| {
                panic!("template {template}, seed {seed}: {error}\n{message:02x?}")
            });
        }
    }
}

/// Every template refuses a message that is shorter than the template, cut off, or followed by further bytes.
#[test]
fn messages_with_a_wrong_size_are_refused() {
    let Some(schemas) = schemas("messages that lie about their size") else {
        return;
    };
    let versions = read_all(&schemas);
    for template in templates(&versions) {
        for seed in 0..50 {
            let mut draw = Draw::new(template, seed);
            let message = random_message(&versions, template, &mut draw);
            for length in 8..message.len() {
                assert!(
                    parse(&message[..length]).is_err(),
                    "template {template}, seed {seed}, cut to {length}"
                );
            }
            let longer = [&message[..], &[0]].concat();
            assert!(
                parse(&longer).is_err(),
                "template {template}, seed {seed}: a byte left over"
            );
            let base = oldest_with(&versions, template).0.block_length;
            if base > 0 {
                let mut shorter = message.clone();
                shorter[..2].copy_from_slice(&(base - 1).to_le_bytes());
                assert!(
                    parse(&shorter).is_err(),
                    "template {template}, seed {seed}: a short block"
                );
            }
        }
    }
}

/// Every packet of every CME capture of the folder: the views agree with the oracle, and no byte is left over. Generated
/// sessions contain damaged packets too: a packet that the views accept must still equal the oracle's reading.
#[test]
fn packets_of_the_captures() {
    let (Some(captures), Some(schemas)) = (
        captures("captures against the schemas"),
        schemas("captures against the schemas"),
    ) else {
        return;
    };
    let versions = read_all(&schemas);
    let known = templates(&versions);
    let (mut messages, mut refused) = (0, 0);
    for (payload, real) in payloads(&captures) {
        let packet = match Packet::parse(&payload) {
            Ok(packet) => packet,
            Err(malformed) if real => panic!("{malformed}: {payload:02x?}"),
            Err(_) => {
                refused += 1;
                continue;
            }
        };
        for RawMessage { header, body } in packet
            .messages()
            .map(|message| message.raw())
            .filter(|message| known.contains(&message.header.template_id))
        {
            let fields = [
                header.block_length,
                header.template_id,
                header.schema_id,
                header.version,
            ];
            let bytes: Vec<u8> = fields
                .iter()
                .flat_map(|field| field.to_le_bytes())
                .chain(body.iter().copied())
                .collect();
            let schema = newest(&versions, header.template_id);
            compare(schema, &bytes)
                .unwrap_or_else(|error| panic!("packet {}: {error}", packet.header.sequence));
            messages += 1;
        }
    }
    println!("{messages} messages compared, {refused} damaged packets refused");
    assert!(messages > 6_000, "only {messages} messages in the captures");
}

/// Decodes `message` both ways; an error says where they differ.
fn compare(schema: &Schema, message: &[u8]) -> Result<(), String> {
    let (expected, left) =
        decode(schema, message).map_err(|error| format!("the oracle refuses: {error:#}"))?;
    if left != 0 {
        return Err(format!("{left} bytes left over"));
    }
    let view = parse(message).map_err(|malformed| format!("the view refuses: {malformed}"))?;
    let mut collected = Collector::default();
    view.visit(&mut collected)
        .map_err(|error| error.to_string())?;
    for (expected, found) in expected.iter().zip(&collected.items) {
        if !same(expected, found) {
            return Err(format!("{expected:?} became {found:?}"));
        }
    }
    if expected.len() != collected.items.len() {
        return Err(format!(
            "{} items became {}",
            expected.len(),
            collected.items.len()
        ));
    }
    Ok(())
}

/// The view of a message of a known template, header included.
fn parse(message: &[u8]) -> Result<Message<'_>, touchline_wire::sbe::Malformed> {
    let (header, body) = MessageHeader::split(message).expect("a whole header");
    Message::parse(RawMessage { header, body }).map(|view| view.expect("a known template"))
}

/// The oracle has one schema, the views have all: names that a newer schema added may be missing on the left.
fn same(expected: &Item, found: &Item) -> bool {
    match (expected, found) {
        (Item::Field(name, Value::Enum(raw, None)), Item::Field(other, Value::Enum(found, _))) => {
            name == other && raw == found
        }
        (
            Item::Field(name, Value::Set(raw, chosen)),
            Item::Field(other, Value::Set(found, names)),
        ) => name == other && raw == found && chosen.iter().all(|choice| names.contains(choice)),
        _ => expected == found,
    }
}

/// Fields that the views read, as items of the oracle.
#[derive(Default)]
struct Collector {
    items: Vec<Item>,
}

impl Visitor for Collector {
    fn field(&mut self, name: &'static str, value: Seen<'_>) -> fmt::Result {
        let value = match value {
            Seen::Null => Value::Null,
            Seen::Unsigned(number) | Seen::TimeNs(number) => Value::Integer(number.into()),
            Seen::Signed(number) => Value::Integer(number.into()),
            Seen::Decimal { mantissa, exponent } => Value::Decimal(mantissa.into(), exponent),
            Seen::Char(byte) => Value::Integer(byte.into()),
            Seen::Text(text) => Value::Text(text.as_bytes().to_vec()),
            Seen::Days(days) => Value::Integer(days.into()),
            Seen::Enum { raw, name } => Value::Enum(raw.into(), name.map(str::to_owned)),
            Seen::Set { raw, choices } => {
                let chosen = choices.iter().filter(|(bit, _)| raw >> bit & 1 == 1);
                Value::Set(
                    raw.into(),
                    chosen.map(|(_, name)| (*name).to_owned()).collect(),
                )
            }
        };
        self.items.push(Item::Field(name.to_owned(), value));
        Ok(())
    }

    fn entry(&mut self, group: &'static str, index: usize) -> fmt::Result {
        self.items.push(Item::Entry(group.to_owned(), index));
        Ok(())
    }
}

/// Every version of CME's schema, oldest first, each read by itself: nothing here is merged.
fn read_all(schemas: &Path) -> Vec<Schema> {
    let read = |path| from_file(path).unwrap_or_else(|error| panic!("{error:#}"));
    let mut versions: Vec<Schema> = cme_templates(schemas)
        .iter()
        .map(|path| read(path))
        .collect();
    versions.sort_by_key(|schema| schema.version);
    versions
}

fn templates(versions: &[Schema]) -> Vec<u16> {
    let mut ids: Vec<u16> = versions
        .iter()
        .flat_map(|schema| schema.messages.iter().map(|message| message.id))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn body_in(schema: &Schema, template: u16) -> Option<&Body> {
    schema
        .messages
        .iter()
        .find(|message| message.id == template)
        .map(|message| &message.body)
}

fn newest(versions: &[Schema], template: u16) -> &Schema {
    versions
        .iter()
        .rev()
        .find(|schema| body_in(schema, template).is_some())
        .unwrap_or_else(|| panic!("no template {template}"))
}

/// The template in the oldest schema that has it, and the version of that.
fn oldest_with(versions: &[Schema], template: u16) -> (&Body, u16) {
    let found = versions
        .iter()
        .find_map(|schema| body_in(schema, template).map(|body| (body, schema.version)));
    found.unwrap_or_else(|| panic!("no template {template}"))
}

/// The least length of an entry: that of the oldest schema that has the group.
fn entry_length(versions: &[Schema], template: u16, group: &str) -> u16 {
    let groups = versions
        .iter()
        .filter_map(|schema| body_in(schema, template))
        .flat_map(|body| &body.groups);
    groups
        .filter(|other| other.name == group)
        .map(|other| other.body.block_length)
        .next()
        .expect("the group")
}

fn random_message(versions: &[Schema], template: u16, draw: &mut Draw) -> Vec<u8> {
    let (oldest, first) = oldest_with(versions, template);
    let newest = body_in(newest(versions, template), template).expect("the template");
    let version = first + draw.random.index(usize::from(13 - first) + 1) as u16;
    let block_length = draw.length(oldest.block_length, newest.block_length);
    let mut bytes: Vec<u8> = [block_length, template, 1, version]
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect();
    bytes.extend(draw.block(newest, block_length));
    for group in newest.groups.iter().filter(|group| group.since <= version) {
        let least = entry_length(versions, template, &group.name);
        let length = draw.length(least, group.body.block_length);
        let count = draw.random.index(4) as u8;
        bytes.extend(dimension(group, length, count));
        for _ in 0..count {
            bytes.extend(draw.block(&group.body, length));
        }
    }
    bytes
}

fn dimension(group: &Group, length: u16, count: u8) -> Vec<u8> {
    // Bytes between the two numbers have no meaning.
    let mut bytes = vec![0xa5; group.dimension.size];
    let (at, _) = group
        .dimension
        .unsigned("blockLength")
        .expect("a dimension");
    bytes[at..at + 2].copy_from_slice(&length.to_le_bytes());
    let (at, _) = group.dimension.unsigned("numInGroup").expect("a dimension");
    bytes[at] = count;
    bytes
}

/// UDP payloads of all CME captures, and whether they are real: captures, hexadecimal packets, generated sessions.
fn payloads(captures: &Path) -> Vec<(Vec<u8>, bool)> {
    let mut paths: Vec<_> = files(&captures.join("cme-mdp3"), "pcap")
        .into_iter()
        .map(|path| (path, true))
        .collect();
    let sessions = std::fs::read_dir(captures.join("cme-generated"))
        .into_iter()
        .flatten()
        .flatten();
    paths.extend(
        sessions
            .map(|session| (session.path().join("session.pcap.gz"), false))
            .filter(|(path, _)| path.exists()),
    );
    let mut payloads = Vec::new();
    for (path, real) in paths {
        let mut reader = Reader::open(&path).expect("a capture");
        while let Some(record) = reader.next().expect("a whole capture") {
            payloads.extend(
                frame::datagram(record.link, record.bytes)
                    .ok()
                    .map(|datagram| (datagram.payload.to_vec(), real)),
            );
        }
    }
    for path in files(&captures.join("cme-mdp3"), "hex.tsv") {
        let text = std::fs::read_to_string(path).expect("a text file");
        let hex = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split('\t').next_back());
        payloads.extend(hex.map(|hex| {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
            ((0..hex.len()).step_by(2).map(byte).collect(), true)
        }));
    }
    payloads
}

/// Random parts of messages; the seed that a failure names is enough to see it again.
struct Draw {
    random: Random,
}

impl Draw {
    fn new(template: u16, seed: u64) -> Self {
        Self {
            random: Random::from_seed(u64::from(template) << 32 | seed),
        }
    }

    /// A block length: the least, the newest, or anything from the least to a little more than the newest.
    fn length(&mut self, least: u16, newest: u16) -> u16 {
        match self.random.index(4) {
            0 => least,
            1 => newest,
            _ => least + self.random.index(usize::from(newest - least) + 12) as u16,
        }
    }

    /// Random bytes, with the null value or a named value in some of the fields.
    fn block(&mut self, body: &Body, length: u16) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..length).map(|_| self.random.next_u64() as u8).collect();
        for field in &body.fields {
            let (number, named) = match &field.encoding {
                Encoding::Number(number) => (*number, vec![]),
                Encoding::Enum(choices) => (choices.encoding, choices.values.clone()),
                Encoding::Composite(composite) => match composite.exponent() {
                    Some((mantissa, _)) => (mantissa, vec![]),
                    None => (
                        Number {
                            primitive: Primitive::U16,
                            null: Some(65_535),
                        },
                        vec![],
                    ),
                },
                Encoding::Array(number, _) => (
                    Number {
                        null: Some(0),
                        ..*number
                    },
                    vec![],
                ),
                Encoding::Set(_) | Encoding::Constant(_) => continue,
            };
            let value = match (self.random.index(4), number.null) {
                (0, Some(null)) => null,
                (1 | 2, _) if !named.is_empty() => named[self.random.index(named.len())].1,
                _ => continue,
            };
            let size = number.primitive.size();
            if let Some(place) = bytes.get_mut(field.offset..field.offset + size) {
                place.copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
        bytes
    }
}

/// The oracle itself can see a difference.
#[test]
fn a_difference_is_detected() {
    let field = |value| Item::Field("a".to_owned(), value);
    assert!(same(
        &field(Value::Enum(7, None)),
        &field(Value::Enum(7, Some("new".to_owned())))
    ));
    assert!(!same(
        &field(Value::Enum(7, Some("a".to_owned()))),
        &field(Value::Enum(7, Some("b".to_owned())))
    ));
    assert!(!same(&field(Value::Integer(1)), &field(Value::Null)));
    assert!(!same(
        &field(Value::Set(1, vec!["a".to_owned()])),
        &field(Value::Set(1, vec![]))
    ));
}
