//! The hand-written encoder and the reference's plain offsets against the decoders that are generated from the templates:
//! three readings of one specification, which must agree.

use std::collections::BTreeMap;
use std::fmt;
use touchline_lab::cme::encode::Version;
use touchline_lab::cme::{Options, Session, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_lab::picture::Side;
use touchline_lab::reference::cme::message::{BookEntry, Message as Plain, OrderEntry};
use touchline_lab::reference::cme::packet as plain;
use touchline_wire::mdp3::{Message, Packet};
use touchline_wire::sbe::{Value, Visitor};

#[test]
fn both_decoders_read_the_same_fields_of_books() {
    let mut compared = 0;
    for session in sessions() {
        for sent in &session.packets {
            let packet = Packet::parse(&sent.payload).expect("what the encoder writes is valid");
            let plain = plain::read(&sent.payload).expect("what the encoder writes is valid");
            assert_eq!(packet.header.sequence, plain.sequence);
            assert_eq!(packet.header.sending_time_ns, plain.sending_time);
            assert_eq!(packet.messages().count(), plain.messages.len());
            for (raw, plain) in packet.messages().zip(&plain.messages) {
                let Some(message) = Message::of(raw) else {
                    assert_eq!(*plain, Plain::Unknown);
                    continue;
                };
                let mut fields = Fields::default();
                message
                    .visit(&mut fields)
                    .expect("collecting fields cannot fail");
                check(&fields, plain);
                compared += 1;
            }
        }
    }
    assert!(compared > 10_000, "only {compared} messages were compared");
}

#[test]
fn both_decoders_refuse_the_same_damaged_packets() {
    let mut refused = 0;
    for (seed, session) in (0..).zip(sessions()) {
        let plan = FaultPlan::all_feeds([
            Fault::Corrupt { share: 0.4 },
            Fault::Truncate { share: 0.4 },
        ]);
        for arrival in deliver(&session, &plan, seed).arrivals {
            let valid = Packet::parse(&arrival.payload).is_ok();
            assert_eq!(
                valid,
                plain::read(&arrival.payload).is_some(),
                "{:02x?}",
                arrival.payload
            );
            refused += u32::from(!valid);
        }
    }
    assert!(refused > 1_000, "only {refused} packets were refused");
}

fn sessions() -> impl Iterator<Item = Session> {
    let versions = [Version::V9, Version::V13];
    (0..6).map(move |seed| {
        let options = Options {
            version: versions[seed as usize % 2],
            bulk_actions: true,
            unknown_share: 0.05,
            future_share: 0.05,
            channel_resets: 1,
            late_definition: true,
            ..Options::default()
        };
        generate(&options, seed)
    })
}

/// The fields of a message by name, as the generated decoder reads them.
#[derive(Debug, Default)]
struct Fields {
    root: BTreeMap<&'static str, Option<i128>>,
    texts: BTreeMap<&'static str, String>,
    entries: Vec<(&'static str, BTreeMap<&'static str, Option<i128>>)>,
    entry_texts: Vec<String>,
}

impl Visitor for Fields {
    fn field(&mut self, name: &'static str, value: Value<'_>) -> fmt::Result {
        let number = match value {
            Value::Null => None,
            Value::Unsigned(number) | Value::TimeNs(number) => Some(number.into()),
            Value::Signed(number) => Some(number.into()),
            Value::Decimal { mantissa, .. } => Some(mantissa.into()),
            Value::Char(code) => Some(code.into()),
            Value::Enum { raw, .. } => Some(raw.into()),
            Value::Text(text) => {
                match self.entries.is_empty() {
                    true => _ = self.texts.insert(name, text.to_string()),
                    false => self.entry_texts.push(text.to_string()),
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        let fields = self
            .entries
            .last_mut()
            .map_or(&mut self.root, |(_, fields)| fields);
        fields.insert(name, number);
        Ok(())
    }

    fn entry(&mut self, group: &'static str, _: usize) -> fmt::Result {
        self.entries.push((group, BTreeMap::new()));
        Ok(())
    }
}

impl Fields {
    fn group(&self, name: &str) -> Vec<&BTreeMap<&'static str, Option<i128>>> {
        self.entries
            .iter()
            .filter(|(group, _)| *group == name)
            .map(|(_, fields)| fields)
            .collect()
    }
}

fn check(fields: &Fields, plain: &Plain) {
    match plain {
        Plain::Entries {
            transact_time,
            entries,
            orders,
            ..
        } => {
            assert_eq!(fields.root["TransactTime"], Some((*transact_time).into()));
            let levels = fields.group("NoMDEntries");
            let numbered = levels.iter().filter(|entry| entry.contains_key("RptSeq"));
            assert_eq!(numbered.clone().count(), entries.len());
            for (theirs, ours) in numbered.zip(entries) {
                assert_eq!(theirs["SecurityID"], Some(ours.security_id.into()));
                assert_eq!(theirs["RptSeq"], Some(ours.rpt_seq.into()));
                if let Some(book) = &ours.book {
                    check_level(theirs, book);
                }
            }
            let referring = fields.group("NoOrderIDEntries");
            let is_trade = entries.iter().any(|entry| entry.book.is_none());
            let theirs = if levels.len() == entries.len() {
                &referring
            } else {
                &levels
            };
            if !is_trade {
                assert_eq!(theirs.len(), orders.len());
                theirs
                    .iter()
                    .zip(orders)
                    .for_each(|(theirs, ours)| check_order(theirs, ours, &levels));
            }
        }
        Plain::PriceSnapshot(snapshot) => {
            assert_eq!(
                fields.root["LastMsgSeqNumProcessed"],
                Some(snapshot.last_packet.into())
            );
            assert_eq!(fields.root["TotNumReports"], Some(snapshot.reports.into()));
            assert_eq!(fields.root["SecurityID"], Some(snapshot.security_id.into()));
            assert_eq!(fields.root["RptSeq"], Some(snapshot.rpt_seq.into()));
            let levels = fields.group("NoMDEntries");
            assert_eq!(levels.len(), snapshot.levels.len());
            levels
                .iter()
                .zip(&snapshot.levels)
                .for_each(|(theirs, ours)| check_level(theirs, ours));
        }
        Plain::OrderChunk(chunk) => {
            assert_eq!(
                fields.root["LastMsgSeqNumProcessed"],
                Some(chunk.last_packet.into())
            );
            assert_eq!(fields.root["NoChunks"], Some(chunk.chunks.into()));
            assert_eq!(fields.root["CurrentChunk"], Some(chunk.chunk.into()));
            assert_eq!(
                fields.root["TransactTime"],
                Some(chunk.transact_time.into())
            );
            let orders = fields.group("NoMDEntries");
            assert_eq!(orders.len(), chunk.orders.len());
            orders
                .iter()
                .zip(&chunk.orders)
                .for_each(|(theirs, ours)| check_order(theirs, ours, &[]));
        }
        Plain::Definition {
            security_id,
            symbol,
            depth,
            implied_depth,
            ..
        } => {
            assert_eq!(fields.root["SecurityID"], Some((*security_id).into()));
            assert_eq!(fields.texts["Symbol"], *symbol);
            let feeds = fields.group("NoMDFeedTypes");
            for (name, ours) in [("GBX", depth), ("GBI", implied_depth)] {
                let place = fields
                    .entry_texts
                    .iter()
                    .filter(|text| text.starts_with("GB"))
                    .position(|text| text == name);
                let theirs = place.and_then(|place| feeds[place]["MarketDepth"]);
                assert_eq!(theirs, ours.map(|depth| depth as i128));
            }
        }
        Plain::ChannelReset { .. } | Plain::Other { .. } | Plain::Unknown => {}
    }
}

fn check_level(theirs: &BTreeMap<&'static str, Option<i128>>, ours: &BookEntry) {
    assert_eq!(theirs["MDEntryPx"], ours.price.map(i128::from));
    assert_eq!(theirs["MDEntrySize"], ours.quantity.map(i128::from));
    assert_eq!(theirs["NumberOfOrders"], ours.orders.map(i128::from));
    assert_eq!(theirs["MDPriceLevel"], Some(ours.level.into()));
    assert_eq!(theirs["MDEntryType"], Some(ours.kind.into()));
    let action = theirs.get("MDUpdateAction").copied().flatten();
    assert!(
        action.is_none_or(|action| action == ours.action.into()),
        "{action:?}"
    );
}

/// An order entry stands alone, or refers to one of the levels of its message.
fn check_order(
    theirs: &BTreeMap<&'static str, Option<i128>>,
    ours: &OrderEntry,
    levels: &[&BTreeMap<&'static str, Option<i128>>],
) {
    let reference = theirs.get("ReferenceID").copied().flatten();
    let place = reference.map_or(theirs, |reference| levels[reference as usize - 1]);
    assert_eq!(theirs["OrderID"], Some(ours.id.into()));
    assert_eq!(theirs["MDOrderPriority"], ours.priority.map(i128::from));
    assert_eq!(theirs["MDDisplayQty"], ours.quantity.map(i128::from));
    assert_eq!(place["MDEntryPx"], ours.price.map(i128::from));
    let kind = match ours.side {
        Side::Bid => b'0',
        Side::Ask => b'1',
    };
    assert_eq!(place["MDEntryType"], Some(kind.into()));
}
