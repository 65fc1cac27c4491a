//! Header of a batch: 40 bytes, little-endian, before the messages.
//!
//! ```text
//!   0  magic           3 bytes   "TLR"
//!   3  version         u8        1
//!   4  source          8 bytes   name of the origin, ASCII, padded with zeros
//!  12  epoch           u64       run of the sender: start in microseconds << 12 | restarts of its bus
//!  20  first sequence  u64       number of the first message; without numbered messages, of the next one
//!  28  count           u16       number of messages
//!  30  hops            u8        relays that the data passed before this sender
//!  31  flags           u8        [`HeadFlags`]
//!  32  sent            u64       sending time, by the sender's clock, nanoseconds since 1970
//!  40  messages                  u16 length and native message, each
//! ```

use std::fmt;
use std::ops::BitOr;

/// Bytes of a header.
pub const HEAD_BYTES: usize = 40;
/// First bytes of every header.
pub const MAGIC: [u8; 3] = *b"TLR";
/// Version of the batch format.
pub const VERSION: u8 = 1;
/// Most relays that data may pass. A sender whose data has passed this many is rejected.
pub const HOPS_MAX: u8 = 3;
/// Bits of an epoch for the restarts of the bus within one run of the sender.
const RESTART_BITS: u32 = 12;

/// Header of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Origin of the data.
    pub source: Source,
    /// Run of the sender.
    pub epoch: Epoch,
    /// Sequence number of the first message. In a batch without numbered messages (a heartbeat, a refresh): number of
    /// the next message; the batch has the state before it.
    pub first_sequence: u64,
    /// Number of messages.
    pub count: u16,
    /// Relays that the data passed before this sender.
    pub hops: u8,
    /// Kind of batch, and state of the sender's bus.
    pub flags: HeadFlags,
    /// Sending time by the sender's clock, nanoseconds since 1970.
    pub sent_ns: u64,
}

/// Flags of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadFlags(pub u8);

impl HeadFlags {
    /// No flags.
    pub const NONE: HeadFlags = HeadFlags(0);
    /// Messages of a refresh: without sequence numbers, with the state at this place of the sequence.
    pub const REFRESH: HeadFlags = HeadFlags(1 << 0);
    /// Messages from the tables of the sender's bus, in sequence: current state, not new events.
    pub const IMAGE: HeadFlags = HeadFlags(1 << 1);
    /// The publisher of the sender's bus has ended or is stalled: no book is live.
    pub const SOURCE_DOWN: HeadFlags = HeadFlags(1 << 2);
    /// Receiver to sender: request for a refresh. On a stream also the first bytes of a client.
    pub const REQUEST: HeadFlags = HeadFlags(1 << 3);
    /// Receiver to sender: the number of the next message there. The sending time is that of the latest batch plus the
    /// time since its arrival, so that the sender sees the round trip by its own clock.
    pub const REPORT: HeadFlags = HeadFlags(1 << 6);
    /// Receiver to sender: a probe. Its sending time is by the receiver's clock, its first sequence number is the
    /// sending time of the latest probe whose answer was processed. Sender to receiver: the answer, with the sending
    /// time of the probe; the stream before it has every message that the sender's bus had when the probe arrived.
    pub const PROBE: HeadFlags = HeadFlags(1 << 7);
    /// First batch of a round of refreshes.
    pub const ROUND_BEGIN: HeadFlags = HeadFlags(1 << 4);
    /// Last batch of a round of refreshes.
    pub const ROUND_END: HeadFlags = HeadFlags(1 << 5);

    /// Whether all flags of `other` are set.
    #[inline]
    pub const fn has(self, other: HeadFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags if `set`, otherwise none.
    #[inline]
    pub const fn when(self, set: bool) -> HeadFlags {
        if set { self } else { HeadFlags::NONE }
    }
}

impl BitOr for HeadFlags {
    type Output = HeadFlags;

    #[inline]
    fn bitor(self, other: HeadFlags) -> HeadFlags {
        HeadFlags(self.0 | other.0)
    }
}

/// Name of the data's origin: 1 to 8 printable ASCII characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source([u8; 8]);

/// A text that is not a valid source name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a source is 1 to 8 letters, digits, '-', '_' or '.'")]
pub struct BadSource;

impl Source {
    /// Any source, in a request.
    pub const ANY: Source = Source(*b"any\0\0\0\0\0");

    /// Parses a name.
    ///
    /// # Errors
    /// The name is empty, longer than 8 characters, or has other characters than letters, digits, `-`, `_` and `.`.
    pub fn named(name: &str) -> Result<Source, BadSource> {
        if name.is_empty() || name.len() > 8 || !name.as_bytes().iter().all(is_of_name) {
            return Err(BadSource);
        }
        let mut bytes = [0; 8];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Source(bytes))
    }

    /// Source name of a host: the last 8 characters of its name, in which hosts of one site usually differ. Invalid
    /// characters become `-`.
    pub fn of_host(host: &str) -> Source {
        let host = host.split('.').next().unwrap_or_default();
        let fit = |byte: u8| match byte.is_ascii_alphanumeric() {
            true => byte,
            false => b'-',
        };
        let bytes: Vec<u8> = host.bytes().map(fit).collect();
        let from = bytes.len().saturating_sub(8);
        let name = String::from_utf8_lossy(&bytes[from..]);
        Source::named(&name).unwrap_or(Source(*b"host\0\0\0\0"))
    }

    /// The name as a number, for a counter.
    pub fn number(self) -> u64 {
        u64::from_le_bytes(self.0)
    }

    /// The name in a counter.
    ///
    /// # Errors
    /// The number is not a name.
    pub fn of_number(number: u64) -> Result<Source, BadHead> {
        Source::read(number.to_le_bytes())
    }

    #[inline]
    fn read(bytes: [u8; 8]) -> Result<Source, BadHead> {
        let length = bytes.iter().take_while(|byte| **byte != 0).count();
        let (name, padding) = bytes.split_at(length);
        let is_name = length > 0 && name.iter().all(is_of_name);
        let is_fit = is_name && padding.iter().all(|byte| *byte == 0);
        is_fit.then_some(Source(bytes)).ok_or(BadHead::Source)
    }
}

/// Whether a byte may be in the name of a source.
#[inline]
fn is_of_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(byte)
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        f.write_str(&String::from_utf8_lossy(name))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({self})")
    }
}

/// Run of a sender. Later runs have larger epochs, unless the host's clock was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

impl Epoch {
    /// Epoch of a sender that starts now.
    pub fn starting_at(unix_ns: u64) -> Epoch {
        Epoch((unix_ns / 1_000) << RESTART_BITS)
    }

    /// Epoch after a restart of the sender's bus.
    pub fn restarted(self) -> Epoch {
        Epoch(self.0 + 1)
    }

    /// Whether both epochs are of one run of a sender.
    pub fn is_of_same_run(self, other: Epoch) -> bool {
        self.0 >> RESTART_BITS == other.0 >> RESTART_BITS
    }
}

/// Reason why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHead {
    /// Fewer bytes than a header.
    #[error("shorter than a header")]
    Short,
    /// Another protocol.
    #[error("not a batch of a relay")]
    Magic,
    /// Another version.
    #[error("batch format version {0}; this program reads version {VERSION}")]
    Version(u8),
    /// Invalid source name.
    #[error("invalid source name")]
    Source,
    /// Sequence numbers overflow.
    #[error("sequence numbers beyond the maximum")]
    Sequence,
    /// Contradicting or undefined flags.
    #[error("contradicting or undefined flags")]
    Flags,
}

impl Head {
    /// Parses the header at the start of `bytes`.
    ///
    /// # Errors
    /// The bytes are not a header.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Head, BadHead> {
        let Some(bytes) = bytes.first_chunk::<HEAD_BYTES>() else {
            return Err(BadHead::Short);
        };
        if bytes[..3] != MAGIC {
            return Err(BadHead::Magic);
        }
        if bytes[3] != VERSION {
            return Err(BadHead::Version(bytes[3]));
        }
        let flags = HeadFlags(bytes[31]);
        let head = Head {
            source: Source::read(chunk(bytes, 4))?,
            epoch: Epoch(u64::from_le_bytes(chunk(bytes, 12))),
            first_sequence: u64::from_le_bytes(chunk(bytes, 20)),
            count: u16::from_le_bytes([bytes[28], bytes[29]]),
            hops: bytes[30],
            flags,
            sent_ns: u64::from_le_bytes(chunk(bytes, 32)),
        };
        if head
            .first_sequence
            .checked_add(u64::from(head.count))
            .is_none()
        {
            return Err(BadHead::Sequence);
        }
        let of_round = HeadFlags::ROUND_BEGIN.0 | HeadFlags::ROUND_END.0;
        let is_refresh = flags.has(HeadFlags::REFRESH);
        let of_probe = HeadFlags::PROBE.0 | HeadFlags::SOURCE_DOWN.0;
        let is_probe = flags.has(HeadFlags::PROBE);
        let is_fit = (!is_probe || flags.0 & !of_probe == 0 && head.count == 0)
            && (is_refresh || flags.0 & of_round == 0)
            && !(is_refresh && flags.has(HeadFlags::IMAGE))
            && !(flags.has(HeadFlags::REQUEST) && head.count > 0)
            && (!flags.has(HeadFlags::REPORT) || flags == HeadFlags::REPORT && head.count == 0);
        if is_fit {
            Ok(head)
        } else {
            Err(BadHead::Flags)
        }
    }

    /// Writes the header.
    #[inline]
    pub fn write(&self, out: &mut [u8; HEAD_BYTES]) {
        out[..3].copy_from_slice(&MAGIC);
        out[3] = VERSION;
        out[4..12].copy_from_slice(&self.source.0);
        out[12..20].copy_from_slice(&self.epoch.0.to_le_bytes());
        out[20..28].copy_from_slice(&self.first_sequence.to_le_bytes());
        out[28..30].copy_from_slice(&self.count.to_le_bytes());
        out[30] = self.hops;
        out[31] = self.flags.0;
        out[32..40].copy_from_slice(&self.sent_ns.to_le_bytes());
    }
}

fn chunk(bytes: &[u8; HEAD_BYTES], at: usize) -> [u8; 8] {
    let mut chunk = [0; 8];
    chunk.copy_from_slice(&bytes[at..at + 8]);
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head {
            source: Source::named("gw1").expect("a name"),
            epoch: Epoch(0x0102_0304_0506_0708),
            first_sequence: 0x1112_1314_1516_1718,
            count: 0x2122,
            hops: 2,
            flags: HeadFlags::IMAGE | HeadFlags::SOURCE_DOWN,
            sent_ns: 0x3132_3334_3536_3738,
        }
    }

    /// The bytes are an interface: receivers of other versions and in other languages parse them.
    #[test]
    fn golden_bytes() {
        let mut bytes = [0; HEAD_BYTES];
        head().write(&mut bytes);
        let golden = [
            0x54, 0x4C, 0x52, 1, b'g', b'w', b'1', 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0x18,
            0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x22, 0x21, 2, 6, 0x38, 0x37, 0x36, 0x35,
            0x34, 0x33, 0x32, 0x31,
        ];
        assert_eq!(bytes, golden);
        assert_eq!(Head::read(&golden), Ok(head()));
    }

    #[test]
    fn an_invalid_header_is_rejected_with_its_reason() {
        let mut bytes = [0; HEAD_BYTES];
        head().write(&mut bytes);
        assert_eq!(Head::read(&bytes[..39]), Err(BadHead::Short));
        for (at, value, reason) in [
            (0, b'X', BadHead::Magic),
            (3, 2, BadHead::Version(2)),
            (4, 0, BadHead::Source),
            (5, b' ', BadHead::Source),
            (11, b'x', BadHead::Source),
            (31, 0x40, BadHead::Flags),
            (31, 0x80, BadHead::Flags),
            (31, 0x81, BadHead::Flags),
            (31, HeadFlags::ROUND_BEGIN.0, BadHead::Flags),
            (31, HeadFlags::REQUEST.0, BadHead::Flags),
        ] {
            let mut wrong = bytes;
            wrong[at] = value;
            assert_eq!(Head::read(&wrong), Err(reason), "byte {at}");
        }
    }

    #[test]
    fn a_source_name_is_short_and_printable() {
        assert_eq!(
            Source::named("cme.gw-1").expect("8 characters").to_string(),
            "cme.gw-1"
        );
        for wrong in ["", "ninechars", "a b", "ü"] {
            assert_eq!(Source::named(wrong), Err(BadSource), "{wrong}");
        }
        assert_eq!(
            Source::of_host("trading-gw12.example.net").to_string(),
            "ing-gw12"
        );
        assert_eq!(Source::of_host("").to_string(), "host");
    }

    #[test]
    fn epochs_increase_with_runs_and_with_restarts() {
        let first = Epoch::starting_at(1_800_000_000_000_000_000);
        let again = first.restarted();
        let next = Epoch::starting_at(1_800_000_000_000_001_000);
        assert!(first < again && again < next);
        assert!(first.is_of_same_run(again) && !again.is_of_same_run(next));
    }
}
