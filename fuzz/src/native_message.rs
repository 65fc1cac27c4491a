//! Consecutive messages of the native format through the check and the decoder.

use crate::Target;
use touchline_lab::quotes::{quote_changes, quote_stream};
use touchline_lab::random::Random;
use touchline_lab::updates::{KINDS, RandomUpdates};
use touchline_types::native::{
    Body, Decoder, Flags, Message, PART_BYTES_MAX, PART_BYTES_MIN, QuotesView, Scratch, encode,
    encode_quote_update, encoded_len, layout, parts, quote_update_parts,
};
use touchline_types::{
    BookKind, Level, LevelAction, LevelChange, OrderAction, OrderChange, OrderRow, Price, Quantity,
    Quote, QuoteChange, QuoteUpdate, Side, Timestamps, Update,
};

pub(crate) const TARGET: Target = Target {
    name: "native_message",
    about: "a message is refused or means one thing: what was read can be written and read again",
    run,
    seeds,
};

/// Entries that the decoder has room for; fewer than a message may have.
const ROOM: usize = 1_000;

/// Each message follows its length, a little-endian 16-bit integer; the last may be cut.
fn run(bytes: &[u8]) {
    let mut room = Room::new();
    let mut decoder = Decoder::new();
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(behind.len());
        let (message, behind) = behind.split_at(length);
        rest = behind;
        let Ok(message) = Message::parse(message) else {
            continue;
        };
        let text = format!("{message:?}");
        assert!(!text.is_empty(), "a message prints");
        if let Body::QuoteUpdate(view) = &message.body {
            quotes_hold(view, &message);
        }
        if let Ok(Some(update)) = decoder.update(&message, room.scratch()) {
            holds(&update, &message.timestamps(), message.sequence());
        }
    }
}

/// Writes a decoded update and reads it once more.
fn holds(update: &Update<'_>, timestamps: &Timestamps, sequence: u64) {
    let mut bytes = vec![0; encoded_len(update)];
    let length = encode(update, sequence, Flags::NONE, timestamps, &mut bytes);
    assert_eq!(length, Some(bytes.len()), "what was read can be written");
    let message = Message::parse(&bytes).expect("what was written can be read");
    assert_eq!(
        (message.sequence(), message.timestamps()),
        (sequence, *timestamps)
    );
    let mut room = Room::new();
    let mut decoder = Decoder::new();
    let again = decoder.update(&message, room.scratch());
    assert_eq!(again, Ok(Some(*update)), "it means the same");
}

/// Quotes that were read, written and read once more.
fn quotes_hold(view: &QuotesView<'_, layout::QuoteChange>, message: &Message<'_>) {
    let changes: Vec<_> = view.quotes.iter().collect();
    let update = QuoteUpdate {
        stream: view.stream(),
        changes: &changes,
    };
    let mut bytes = vec![0; PART_BYTES_MAX];
    let mut read = 0;
    for (part, flags) in quote_update_parts(&update, PART_BYTES_MAX) {
        let timestamps = message.timestamps();
        let length = encode_quote_update(&part, 1, flags, &timestamps, &mut bytes);
        let length = length.expect("what was read can be written");
        let again = Message::parse(&bytes[..length]).expect("what was written can be read");
        let Body::QuoteUpdate(again) = again.body else {
            panic!("it is another message");
        };
        assert_eq!(again.stream(), update.stream, "it means the same");
        assert!(again.quotes.iter().eq(part.changes.iter().copied()));
        read += part.changes.len();
    }
    assert_eq!(read, changes.len(), "nothing is left out");
}

struct Room {
    changes: Vec<LevelChange>,
    orders: Vec<OrderChange>,
    levels: Vec<Level>,
    quote_changes: Vec<QuoteChange>,
    quotes: Vec<Quote>,
}

impl Room {
    fn new() -> Room {
        let change = LevelChange {
            level: Level::UNKNOWN,
            book: BookKind::Direct,
            side: Side::Bid,
            action: LevelAction::Clear,
            index: 0,
        };
        let order = OrderChange {
            order_id: 0,
            priority: 0,
            price: Price::NULL,
            quantity: Quantity::NULL,
            side: Side::Bid,
            action: OrderAction::Delete,
            row: OrderRow::NONE,
        };
        Room {
            changes: vec![change; ROOM],
            orders: vec![order; ROOM],
            levels: vec![Level::UNKNOWN; ROOM],
            quote_changes: vec![QuoteChange::NULL; ROOM],
            quotes: vec![Quote::NULL; ROOM],
        }
    }

    fn scratch(&mut self) -> Scratch<'_> {
        Scratch {
            changes: &mut self.changes,
            orders: &mut self.orders,
            levels: &mut self.levels,
            quote_changes: &mut self.quote_changes,
            quotes: &mut self.quotes,
        }
    }
}

/// Updates of every kind, each whole and in parts; quotes.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for kind in 0..KINDS {
        for seed in 1..=8 {
            let mut updates = RandomUpdates::from_seed(seed, 12);
            let timestamps = updates.timestamps();
            let update = updates.of_kind(kind);
            for bytes_max in [PART_BYTES_MIN, PART_BYTES_MAX] {
                seeds.push(stream(&update, &timestamps, bytes_max));
            }
        }
    }
    let random = &mut Random::from_seed(1);
    for _ in 0..8 {
        let (stream, changes) = (quote_stream(random), quote_changes(random, 8));
        let update = QuoteUpdate {
            stream,
            changes: &changes,
        };
        let mut bytes = [0; 2_048];
        let times = Timestamps::default();
        let length = encode_quote_update(&update, 1, Flags::NONE, &times, &mut bytes);
        seeds.push(framed(&bytes[..length.expect("eight quotes fit")]));
    }
    seeds
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_le_bytes(), message].concat()
}

fn stream(update: &Update<'_>, timestamps: &Timestamps, bytes_max: usize) -> Vec<u8> {
    let mut stream = Vec::new();
    for (part, sequence) in parts(update, bytes_max).zip(1..) {
        let mut bytes = vec![0; part.len()];
        let written = part.encode(sequence, Flags::NONE, timestamps, &mut bytes);
        assert!(written.is_some(), "there is room for the part");
        stream.extend((bytes.len() as u16).to_le_bytes());
        stream.extend(bytes);
    }
    stream
}
