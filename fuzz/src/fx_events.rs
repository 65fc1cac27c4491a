//! Batches of the FX engine.

use crate::Target;
use touchline_fx_events::command::Command;
use touchline_fx_events::desk::Desk;
use touchline_fx_events::encoding::{Decoder, Encoder, Entry, kinds};
use touchline_fx_events::event::{Answer, Event, SessionChange};
use touchline_fx_events::labels::PairLabel;
use touchline_fx_events::lines::{command_text, lines_of};
use touchline_fx_events::orders::RejectCode;
use touchline_fx_events::{Batch, Labels};
use touchline_types::Id;

pub(crate) const TARGET: Target = Target {
    name: "fx_events",
    about: "any batches and commands in them give entries whose lines are one line each, or are refused",
    run,
    seeds,
};

/// Each part follows its length, two bytes.
fn run(mut bytes: &[u8]) {
    let mut decoder = Decoder::default();
    let mut late = Decoder::joined(b"");
    let mut line = String::new();
    while bytes.len() > 2 {
        let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let (part, rest) = bytes[2..].split_at(length.min(bytes.len() - 2));
        bytes = rest;
        assert!(kinds(part).count() <= part.len());
        for decoder in [&mut decoder, &mut late] {
            let _ = decoder.read(part, |labels, at_ns, entry, batch| {
                if let Entry::Command { bytes, .. } = &entry {
                    command(bytes);
                }
                lines_of((labels, batch), at_ns, &entry, &mut line, |_, text| {
                    let is_object = text.starts_with('{') && text.ends_with('}');
                    assert!(is_object && !text.contains('\n'), "{text}");
                });
            });
        }
    }
}

/// A command has one encoding and one line, or is refused.
fn command(bytes: &[u8]) {
    if let Ok(read) = Command::decode(bytes) {
        let mut again = Vec::new();
        read.encode(&mut again);
        assert_eq!(again, bytes, "{read:?}");
        let text = command_text(bytes);
        let is_object = text.starts_with('{') && text.ends_with('}');
        assert!(is_object && !text.contains('\n'), "{text}");
    }
}

fn labels() -> Labels {
    Labels {
        prefix: Id::lossy(b"Te1"),
        account: Id::lossy(b"D"),
        banks: vec!["A".to_owned(), "B".to_owned()],
        pairs: vec![PairLabel {
            symbol: "EUR/USD".to_owned(),
            base: Id::lossy(b"EUR"),
            precision: 5,
            sizes: vec![1_000_000],
        }],
    }
}

/// A run, then a batch of a command and one of a bank's message.
fn seeds() -> Vec<Vec<u8>> {
    let (labels, batch) = (labels(), Batch::default());
    let mut encoder = Encoder::default();
    let mut all = Vec::new();
    let mut first = 1;
    let mut put = |write: &dyn Fn(&mut Encoder)| {
        encoder.begin(first);
        write(&mut encoder);
        encoder.finish(first);
        first += encoder.entries();
        let part = encoder.part(0);
        all.extend((part.len() as u16).to_le_bytes());
        all.extend(part);
    };
    put(&|encoder| encoder.run(1, "20260105", &labels, &[]));
    let id = Some(Id::lossy(b"P1"));
    put(&|encoder| {
        let command = Command::Cancel {
            id: Id::lossy(b"P1"),
        };
        encoder.command(7, "desk", "ann", Ok(&command));
        encoder.decision(&Desk::Cancel { id });
        encoder.event(&labels, &batch, &(9, Event::Kill { by: id }), 0);
        encoder.answer(&Answer {
            client: "desk",
            request: 7,
            answer: "done",
            reason: None,
            cause: Some("line\nline"),
        });
    });
    put(&|encoder| {
        encoder.received(1, b"8=FIX.4.4\x019=5\x0135=8\x01");
        encoder.session(0, SessionChange::Up);
        let cooldown = Event::Cooldown {
            bank: 1,
            pair: 0,
            code: Some(RejectCode::Gone),
            until_ns: 12,
        };
        encoder.event(&labels, &batch, &(11, cooldown), 0);
    });
    vec![all]
}
