//! Part of a FIX session in Deribit's format: one deep book, a snapshot followed by changes.

use crate::random::Random;
use touchline_wire::fix::{Encoder, Precision, tag};

/// Levels a side of the book at the beginning.
pub const LEVELS: usize = 1_200;
/// The instrument.
pub const SYMBOL: &str = "BTC-PERPETUAL";

/// Configuration of a gateway that receives the session.
pub const CONFIG: &str = "\
bus = \"event\"
[venue]
kind = \"deribit\"
hosts = [\"localhost:9881\"]
sender = \"ROQ_TRADING\"
message_bytes_max = 262144
[limits]
instruments_max = 16
event_changes_max = 4096
";

/// The best bid at the beginning, in half dollars; the best ask is one above.
const BEST_BID: i64 = 20_000;
/// SendingTime of all messages.
const SENT_NS: u64 = 1_567_870_620_896_000_000;

/// The venue's side of a session that starts at number 1.
#[derive(Debug)]
pub struct Stretch {
    bytes: Vec<u8>,
    /// End offsets of the messages.
    ends: Vec<usize>,
    /// Number of messages before the first change.
    opening: usize,
    number: u64,
}

impl Stretch {
    /// A Logon, a list, a snapshot, and `changes` changes of one entry each: three of four within
    /// ten levels of the touch, which does not change.
    pub fn new(sender: &str, target: &str, changes: usize, seed: u64) -> Stretch {
        let mut stretch = Stretch {
            bytes: Vec::with_capacity(changes * 250 + 128 * 1024),
            ends: Vec::new(),
            opening: 0,
            number: 0,
        };
        let (sender, target) = (sender.as_bytes(), target.as_bytes());
        stretch.add(b"A", sender, target, |logon| {
            logon.unsigned(98, 0).unsigned(108, 30).char(141, b'Y');
        });
        stretch.add(b"y", sender, target, |list| {
            list.unsigned(320, 1).unsigned(322, 1).unsigned(560, 0);
            list.unsigned(146, 1).bytes(tag::SYMBOL, SYMBOL.as_bytes());
            list.bytes(167, b"FUT").bytes(15, b"BTC").bytes(969, b"0.5");
        });
        stretch.add(b"W", sender, target, |book| {
            book.bytes(tag::SYMBOL, SYMBOL.as_bytes());
            book.unsigned(tag::NO_MD_ENTRIES, 2 * LEVELS as u64);
            for side in 0..2 {
                for level in 0..LEVELS {
                    book.char(tag::MD_ENTRY_TYPE, b'0' + side);
                    entry(book, side, level, 1_000 + level as i64);
                }
            }
        });
        stretch.opening = stretch.ends.len();
        let mut random = Random::from_seed(seed);
        let mut there = [[true; LEVELS]; 2];
        for _ in 0..changes {
            let side = random.below(2) as u8;
            let far = if random.below(4) == 0 {
                LEVELS as u64 - 1
            } else {
                10
            };
            let level = 1 + random.below(far) as usize;
            let is_there = &mut there[usize::from(side)][level];
            let action = match *is_there {
                false => b'0',
                true if random.below(4) == 0 => b'2',
                true => b'1',
            };
            *is_there = action != b'2';
            let size = if action == b'2' {
                0
            } else {
                1 + random.below(100_000) as i64
            };
            stretch.add(b"X", sender, target, |change| {
                change.bytes(tag::SYMBOL, SYMBOL.as_bytes());
                change.decimal(100_087, 108_310_470, 4);
                change.decimal(100_090, 105_174_400, 4);
                change.decimal(746, 94_659_940_000, 4);
                change
                    .unsigned(tag::MD_REQ_ID, 2)
                    .unsigned(tag::NO_MD_ENTRIES, 1);
                change.char(tag::MD_UPDATE_ACTION, action);
                change.char(tag::MD_ENTRY_TYPE, b'0' + side);
                entry(change, side, level, size);
            });
        }
        stretch
    }

    fn add(
        &mut self,
        msg_type: &[u8],
        sender: &[u8],
        target: &[u8],
        body: impl FnOnce(&mut Encoder<'_>),
    ) {
        self.number += 1;
        let start = self.bytes.len();
        self.bytes.resize(start + 256 * 1024, 0);
        let mut message = Encoder::new(&mut self.bytes[start..], b"FIX.4.4", msg_type);
        message
            .bytes(tag::SENDER_COMP_ID, sender)
            .bytes(tag::TARGET_COMP_ID, target);
        message.unsigned(tag::MSG_SEQ_NUM, self.number);
        message.timestamp(tag::SENDING_TIME, SENT_NS, Precision::Milliseconds);
        body(&mut message);
        let length = message.finish().map_or(0, <[u8]>::len);
        assert!(length > 0, "a snapshot has less than 256 KiB");
        self.bytes.truncate(start + length);
        self.ends.push(self.bytes.len());
    }

    /// Messages up to the point at which every book is live.
    pub fn opening(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.opening).map(|index| self.message(index))
    }

    /// The changes.
    pub fn changes(&self) -> impl Iterator<Item = &[u8]> {
        (self.opening..self.ends.len()).map(|index| self.message(index))
    }

    /// Bytes of a change, on average.
    pub fn change_bytes(&self) -> u64 {
        let (count, bytes) = self.changes().fold((0, 0), |(count, bytes), message| {
            (count + 1, bytes + message.len() as u64)
        });
        bytes / u64::max(count, 1)
    }

    fn message(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }
}

/// Price, size and time of the level at this distance from the touch.
fn entry(message: &mut Encoder<'_>, side: u8, level: usize, size: i64) {
    let half_dollars = match side {
        0 => BEST_BID - level as i64,
        _ => BEST_BID + 1 + level as i64,
    };
    message.decimal(tag::MD_ENTRY_PX, half_dollars * 5_000, 4);
    message.decimal(tag::MD_ENTRY_SIZE, size * 10_000, 4);
    message.timestamp(tag::MD_ENTRY_DATE, SENT_NS, Precision::Milliseconds);
}
