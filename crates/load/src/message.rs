//! The reference message of 70 bytes: one best price of one instrument, as SBE would encode it.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | SBE message header: block length 62, template 1, schema 340, version 0 |
//! | 30 | symbol: 22 bytes of text, 8 bytes of sequence number |
//! | 8 | bid price: the sequence number again |
//! | 4 | bid volume: its lower half |
//! | 8 | ask price: the sequence number plus 1 |
//! | 4 | ask volume: checksum of number and due time |
//! | 8 | `ts_event`: when the message was due |

/// Bytes of a message.
pub const BYTES: usize = 70;

const HEADER: [u8; 8] = [62, 0, 1, 0, 84, 1, 0, 0];
const SYMBOL: &[u8; 22] = b"TOUCHLINE LOAD TEST   ";
const SEQUENCE_AT: usize = 30;
const BID_PRICE_AT: usize = 38;
const BID_VOLUME_AT: usize = 46;
const ASK_PRICE_AT: usize = 50;
const ASK_VOLUME_AT: usize = 58;
const EVENT_AT: usize = 62;

/// A message buffer that is filled and sent repeatedly.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    bytes: [u8; BYTES],
}

impl Default for Message {
    fn default() -> Message {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&HEADER);
        bytes[8..SEQUENCE_AT].copy_from_slice(SYMBOL);
        Message { bytes }
    }
}

impl Message {
    /// Sets number and due time.
    #[inline]
    pub fn set(&mut self, sequence: u64, due_ns: u64) {
        let half = sequence as u32;
        let bytes = &mut self.bytes;
        bytes[SEQUENCE_AT..BID_PRICE_AT].copy_from_slice(&sequence.to_le_bytes());
        bytes[BID_PRICE_AT..BID_VOLUME_AT].copy_from_slice(&sequence.to_le_bytes());
        bytes[BID_VOLUME_AT..ASK_PRICE_AT].copy_from_slice(&half.to_le_bytes());
        bytes[ASK_PRICE_AT..ASK_VOLUME_AT].copy_from_slice(&(sequence + 1).to_le_bytes());
        bytes[ASK_VOLUME_AT..EVENT_AT].copy_from_slice(&fold(sequence, due_ns).to_le_bytes());
        bytes[EVENT_AT..].copy_from_slice(&due_ns.to_le_bytes());
    }

    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8; BYTES] {
        &self.bytes
    }
}

/// Number and due time of a message; `None` if it is invalid or contains parts of two.
#[inline]
pub fn read(bytes: &[u8]) -> Option<(u64, u64)> {
    let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
    let long = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("in the message"));
    let short = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("in the message"));
    let sequence = long(SEQUENCE_AT);
    let (half, due_ns) = (sequence as u32, long(EVENT_AT));
    let is_whole = bytes[..8] == HEADER
        && long(BID_PRICE_AT) == sequence
        && short(BID_VOLUME_AT) == half
        && long(ASK_PRICE_AT) == sequence.wrapping_add(1)
        && short(ASK_VOLUME_AT) == fold(sequence, due_ns);
    is_whole.then_some((sequence, due_ns))
}

/// Checksum of number and due time in four bytes: a time of another message does not match.
#[inline]
fn fold(sequence: u64, due_ns: u64) -> u32 {
    let mixed = !sequence ^ due_ns;
    (mixed ^ mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let mut message = Message::default();
        for sequence in [0, 1, u64::from(u32::MAX), 1 << 40] {
            message.set(sequence, 77);
            assert_eq!(read(message.bytes()), Some((sequence, 77)));
        }
    }

    #[test]
    fn parts_of_two_messages_are_not_one() {
        let (mut old, mut new) = (Message::default(), Message::default());
        old.set(300, 1);
        new.set(301, 2);
        for cut in SEQUENCE_AT + 1..EVENT_AT {
            let mixed = [&new.bytes()[..cut], &old.bytes()[cut..]].concat();
            assert_eq!(read(&mixed), None, "cut at {cut}");
        }
        assert_eq!(read(&old.bytes()[..BYTES - 1]), None);
        assert_eq!(read(&[0; BYTES]), None);
    }
}
