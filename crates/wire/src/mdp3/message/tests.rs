//! The accessors of the views against the tables, which xtask compares with the schema itself.

extern crate std;

use super::super::generated::{TEMPLATES, show};
use super::super::{Packet, RawMessage};
use super::Message;
use crate::sbe::template::{BlockTable, Template};
use crate::sbe::{MessageHeader, Value};
use std::vec::Vec;
use touchline_testing::random::Random;

/// Shows the values of all accessors of a message's view, those of the entries behind those of the root. False for a
/// template without a view.
macro_rules! accessors {
    ($($view:ident { $($field:ident)* } $($group:ident { $($entry:ident)* })*;)*) => {
        pub(in crate::mdp3) fn show<'a>(
            message: crate::mdp3::CheckedMessage<'a>,
            see: &mut dyn FnMut(crate::sbe::Value<'a>),
        ) -> bool {
            match message.header.template_id {
                $($view::TEMPLATE_ID => {
                    let view = $view::of(message);
                    _ = view;
                    $(see(view.$field().into());)*
                    $(for entry in view.$group() {
                        $(see(entry.$entry().into());)*
                    })*
                    true
                })*
                _ => false,
            }
        }
    };
}
pub(crate) use accessors;

#[test]
fn views_and_tables_read_the_same() {
    let mut compared = 0;
    for template in &TEMPLATES {
        for seed in 0..2_000 {
            let mut draw = Draw::new(template.id, seed);
            let bytes = draw.packet(template);
            let packet = Packet::parse(&bytes).expect("a right packet");
            let raw = packet.messages().next().expect("one message");
            let mut values = Vec::new();
            if !show(raw, &mut |value| values.push(plain(value))) {
                continue;
            }
            let message = Message::of(raw).expect("a known template");
            let fields = message.fields().chain(message.groups().flatten().flatten());
            let fields: Vec<_> = fields.map(|(_, value)| plain(value)).collect();
            assert_eq!(values, fields, "template {}, seed {seed}", template.id);
            compared += 1;
        }
    }
    assert_eq!(compared, 34 * 2_000);
}

/// Views have integers where the schema speaks of characters, times and dates.
fn plain(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Char(number) => number.into(),
        Value::TimeNs(number) => number.into(),
        Value::Days(number) => number.into(),
        value => value,
    }
}

/// The check by the table is that of the views, on messages that are cut or too long.
#[test]
fn views_and_tables_refuse_the_same() {
    let mut refused = 0;
    for template in &TEMPLATES {
        for seed in 0..500 {
            let mut draw = Draw::new(template.id, seed);
            let mut bytes = draw.message(template);
            match draw.random.index(3) {
                0 => bytes.truncate(8 + draw.random.index(bytes.len() - 7)),
                1 => bytes.push(0),
                _ => bytes[0] = draw.random.next_u64() as u8,
            }
            let (header, body) = MessageHeader::split(&bytes).expect("a header");
            let raw = RawMessage { header, body };
            let by_table = Message::parse(raw).map(drop);
            assert_eq!(
                Message::check(raw),
                by_table,
                "template {}, seed {seed}",
                template.id
            );
            refused += u32::from(by_table.is_err());
        }
    }
    assert!(refused > 10_000, "only {refused} messages were refused");
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

    /// A packet of one message.
    fn packet(&mut self, template: &Template) -> Vec<u8> {
        let message = self.message(template);
        let size = (message.len() as u16 + 2).to_le_bytes();
        [&[0; 12][..], &size, &message].concat()
    }

    /// A message of any version from 5 to 14 with its header, with up to three entries a group.
    fn message(&mut self, template: &Template) -> Vec<u8> {
        let version = 5 + self.random.index(10) as u16;
        let block = self.block(&template.block);
        let mut bytes: Vec<u8> = [block.len() as u16, template.id, 1, version]
            .iter()
            .flat_map(|field| field.to_le_bytes())
            .collect();
        bytes.extend(block);
        let groups = template.groups.iter();
        for group in groups.filter(|group| group.since <= version) {
            let entry = self.block(&group.entry);
            let count = self.random.index(4);
            bytes.extend(self.dimension(entry.len() as u16, count as u8, group.dimension));
            for _ in 0..count {
                let mut entry = entry.clone();
                self.fill(&mut entry, &group.entry);
                bytes.extend(entry);
            }
        }
        bytes
    }

    /// The dimension of three or eight bytes that the reader reads as these numbers.
    fn dimension(
        &mut self,
        length: u16,
        count: u8,
        reader: crate::sbe::template::DimensionReader,
    ) -> Vec<u8> {
        let [low, high] = length.to_le_bytes();
        let eight = std::vec![low, high, 0, 0, 0, 0, 0, count];
        match reader(&eight).map(|(_, _, rest)| rest.len()) {
            Some(0) => eight,
            _ => std::vec![low, high, count],
        }
    }

    /// A random block, at least as long as the oldest.
    fn block(&mut self, table: &BlockTable) -> Vec<u8> {
        let longer = self.random.index(40) * self.random.index(2);
        let mut block = std::vec![0; usize::from(table.length) + longer];
        self.fill(&mut block, table);
        block
    }

    /// Random bytes, with the null value in some of the fields.
    fn fill(&mut self, block: &mut [u8], table: &BlockTable) {
        block.fill_with(|| self.random.next_u64() as u8);
        for field in table.fields {
            if self.random.index(3) == 0 {
                field.make_null(block);
            }
        }
    }
}
