//! Recorded messages of the venue, for replay.

use std::fmt;
use touchline_session::fix::is_header;
use touchline_wire::fix::{Encoder, Frame, frame, tag};

/// Snapshots and changes in recorded order.
#[derive(Debug)]
pub struct Recording {
    bytes: Vec<u8>,
    messages: Vec<StoredMessage>,
    symbols: Vec<Vec<u8>>,
    /// Index of the first snapshot, by symbol.
    snapshots: Vec<Option<usize>>,
    next: usize,
}

/// A message of market data.
#[derive(Clone, Copy, Debug)]
struct StoredMessage {
    start: usize,
    end: usize,
    /// Index of its symbol.
    symbol: usize,
    is_snapshot: bool,
}

/// Reason why a file cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplayable {
    /// There is no complete FIX message at this byte.
    Damaged(usize),
    /// The file has no snapshot (W) and no change (X) with a symbol.
    Empty,
}

impl fmt::Display for Unplayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unplayable::Damaged(at) => write!(
                f,
                "at byte {at} there is no complete FIX message with its length and checksum; record the bytes as received"
            ),
            Unplayable::Empty => f.write_str("it contains no market data (35=W or 35=X)"),
        }
    }
}

impl std::error::Error for Unplayable {}

impl Recording {
    /// Reads messages that follow each other, or one a line.
    ///
    /// # Errors
    /// Other bytes, or no message that can be replayed.
    pub fn read(bytes: Vec<u8>) -> Result<Recording, Unplayable> {
        let (mut messages, mut symbols) = (Vec::new(), Vec::new());
        let mut snapshots = Vec::new();
        let mut at = 0;
        while let Some(skipped) = bytes[at..]
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())
        {
            at += skipped;
            let Ok(Frame::Whole(message)) = frame(&bytes[at..], usize::MAX) else {
                return Err(Unplayable::Damaged(at));
            };
            let is_snapshot = message.msg_type() == b"W";
            let mut fields = message.fields().map_while(Result::ok);
            let symbol = fields.find(|field| field.tag == tag::SYMBOL);
            let end = at + message.len();
            if let (Some(symbol), b"W" | b"X") = (symbol, message.msg_type()) {
                let known = symbols.iter().position(|known| known == symbol.value);
                let place = known.unwrap_or(symbols.len());
                if place == symbols.len() {
                    symbols.push(symbol.value.to_vec());
                    snapshots.push(None);
                }
                if is_snapshot {
                    snapshots[place].get_or_insert(messages.len());
                }
                messages.push(StoredMessage {
                    start: at,
                    end,
                    symbol: place,
                    is_snapshot,
                });
            }
            at = end;
        }
        match messages.is_empty() {
            true => Err(Unplayable::Empty),
            false => Ok(Recording {
                bytes,
                messages,
                symbols,
                snapshots,
                next: 0,
            }),
        }
    }

    /// Instruments with messages in the recording.
    pub fn symbols(&self) -> &[Vec<u8>] {
        &self.symbols
    }

    /// First snapshot of an instrument.
    pub fn snapshot(&self, symbol: usize) -> Option<usize> {
        self.snapshots[symbol]
    }

    /// Next message and its instrument; starts again after the last one.
    pub fn step(&mut self) -> (usize, usize) {
        let place = self.next;
        self.next = (place + 1) % self.messages.len();
        (self.messages[place].symbol, place)
    }

    /// Bytes of the longest message.
    pub fn longest(&self) -> usize {
        let lengths = self.messages.iter().map(|stored| stored.end - stored.start);
        lengths.max().unwrap_or(0)
    }

    /// MsgType (35) of a message.
    pub fn msg_type(&self, place: usize) -> &'static [u8] {
        if self.messages[place].is_snapshot {
            b"W"
        } else {
            b"X"
        }
    }

    /// Writes a message as recorded, without its header and with the id of the current request.
    pub fn write(&self, place: usize, id: &[u8], body: &mut Encoder<'_>) {
        let StoredMessage { start, end, .. } = self.messages[place];
        let Ok(Frame::Whole(message)) = frame(&self.bytes[start..end], usize::MAX) else {
            return;
        };
        for field in message.fields().map_while(Result::ok) {
            match field.tag {
                tag::MD_REQ_ID => body.bytes(tag::MD_REQ_ID, id),
                tag if is_header(tag) => continue,
                tag => body.bytes(tag, field.value),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(msg_type: &str, fields: &str) -> Vec<u8> {
        let mut room = [0; 512];
        let mut encoder = Encoder::new(&mut room, b"FIX.4.4", msg_type.as_bytes());
        for (tag, value) in fields.split('|').filter_map(|field| field.split_once('=')) {
            encoder.bytes(tag.parse().expect("a tag"), value.as_bytes());
        }
        encoder.finish().expect("room").to_vec()
    }

    #[test]
    fn recorded_messages_are_written_with_a_new_header() {
        let bytes = [
            message("0", "34=1"),
            message("W", "34=2|52=x|55=A|262=9|268=1|269=0|270=1.5|271=2|10=7"),
            b"\n".to_vec(),
            message("X", "34=3|55=B|268=1|279=0|269=2|270=1|271=2"),
        ]
        .concat();
        let mut recording = Recording::read(bytes).expect("three messages");
        assert_eq!(recording.symbols(), [b"A".to_vec(), b"B".to_vec()]);
        assert_eq!(
            (recording.snapshot(0), recording.snapshot(1)),
            (Some(0), None)
        );
        assert_eq!(
            [recording.step(), recording.step(), recording.step()],
            [(0, 0), (1, 1), (0, 0)]
        );
        let mut room = [0; 512];
        let mut encoder = Encoder::new(&mut room, b"FIX.4.4", recording.msg_type(0));
        recording.write(0, b"mine", &mut encoder);
        let written = encoder.finish().expect("room").to_vec();
        assert_eq!(
            written,
            message("W", "55=A|262=mine|268=1|269=0|270=1.5|271=2")
        );
    }

    #[test]
    fn a_file_that_is_no_recording_is_refused() {
        assert_eq!(Recording::read(Vec::new()).err(), Some(Unplayable::Empty));
        let beat = message("0", "34=1");
        assert_eq!(Recording::read(beat.clone()).err(), Some(Unplayable::Empty));
        let cut = [&beat[..], &beat[..9]].concat();
        assert_eq!(
            Recording::read(cut).err(),
            Some(Unplayable::Damaged(beat.len()))
        );
    }
}
