//! Bodies of the journal's own records.

use crate::format::{POSITION_MAX, u16_at, u32_at, u64_at};

/// Body of `Begin`: continues the segment before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    /// Position of the first byte of the segment.
    pub base: u64,
    /// Sequence of frame 0 in the journal.
    pub first: u64,
    /// Checksum of the head of the `End` before it, 0 in the first segment.
    pub end_crc: u32,
}

impl Begin {
    /// Bytes of the body.
    pub const BYTES: usize = 20;

    /// The body.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut body = [0; Self::BYTES];
        body[0..8].copy_from_slice(&self.base.to_le_bytes());
        body[8..16].copy_from_slice(&self.first.to_le_bytes());
        body[16..20].copy_from_slice(&self.end_crc.to_le_bytes());
        body
    }

    /// Reads a body; `None` if its length is another, or a number is above [`POSITION_MAX`].
    pub fn decode(body: &[u8]) -> Option<Self> {
        let begin = (body.len() == Self::BYTES).then(|| Self {
            base: u64_at(body, 0),
            first: u64_at(body, 8),
            end_crc: u32_at(body, 16),
        });
        begin.filter(|begin| begin.base.max(begin.first) <= POSITION_MAX)
    }
}

/// Body of `End`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Position behind this frame: the base of the next segment.
    pub position: u64,
    /// Sequence of the next frame.
    pub next: u64,
    /// Bytes that a repair set aside.
    pub set_aside: u64,
    /// Why the segment ends: see [`End::ROTATED`].
    pub cause: u64,
}

impl End {
    /// Bytes of the body.
    pub const BYTES: usize = 32;
    /// The segment was full, or the journal was closed.
    pub const ROTATED: u64 = 0;
    /// The end was cut by a repair after a crash.
    pub const CUT: u64 = 1;
    /// Cut with loss of durable records, by order of a person.
    pub const CUT_WITH_LOSS: u64 = 2;

    /// The body.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut body = [0; Self::BYTES];
        body[0..8].copy_from_slice(&self.position.to_le_bytes());
        body[8..16].copy_from_slice(&self.next.to_le_bytes());
        body[16..24].copy_from_slice(&self.set_aside.to_le_bytes());
        body[24..32].copy_from_slice(&self.cause.to_le_bytes());
        body
    }

    /// Reads a body; `None` if its length is another, or a number is above [`POSITION_MAX`].
    pub fn decode(body: &[u8]) -> Option<Self> {
        let end = (body.len() == Self::BYTES).then(|| Self {
            position: u64_at(body, 0),
            next: u64_at(body, 8),
            set_aside: u64_at(body, 16),
            cause: u64_at(body, 24),
        });
        end.filter(|end| end.position.max(end.next) <= POSITION_MAX)
    }
}

/// Body of `Stream`: description of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// 1 native messages, 2 packets, 3 stream bytes, 4 orders, 5 text.
    pub content: u16,
    /// Id of the schema, 0 if none.
    pub schema: u16,
    /// Version of the schema.
    pub version: u16,
    /// Name, UTF-8.
    pub name: String,
}

impl Stream {
    /// The body.
    ///
    /// # Panics
    /// The name is longer than 65,535 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let length = u16::try_from(self.name.len()).expect("a name of a stream is short");
        let mut body = Vec::with_capacity(8 + self.name.len());
        for number in [self.content, self.schema, self.version, length] {
            body.extend(number.to_le_bytes());
        }
        body.extend(self.name.as_bytes());
        body
    }

    /// Reads a body; `None` if it is not one.
    pub fn decode(body: &[u8]) -> Option<Self> {
        if body.len() < 8 || body.len() != 8 + usize::from(u16_at(body, 6)) {
            return None;
        }
        Some(Self {
            content: u16_at(body, 0),
            schema: u16_at(body, 2),
            version: u16_at(body, 4),
            name: std::str::from_utf8(&body[8..]).ok()?.to_owned(),
        })
    }
}

/// Body of `Gap`: records of a stream are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// 1 overrun on the bus, 2 dropped by the kernel, 3 disk full, 4 recorder not running, 5 cut by a repair, 6 damaged,
    /// 7 removed by retention, 8 reported by the source.
    pub cause: u16,
    /// First lost number of the stream, 0 unknown.
    pub first: u64,
    /// Last lost number of the stream, 0 unknown.
    pub last: u64,
    /// Lost records, all ones unknown.
    pub count: u64,
    /// Begin of the gap, ns since the Unix epoch.
    pub from_ns: u64,
    /// End of the gap, ns since the Unix epoch.
    pub to_ns: u64,
}

impl Gap {
    /// Bytes of the body.
    pub const BYTES: usize = 48;
    /// Cause: the publisher of a bus has overrun the recorder.
    pub const OVERRUN: u16 = 1;
    /// Cause: the kernel dropped packets.
    pub const DROPPED: u16 = 2;
    /// Cause: the journal took no records, since its disk was full or did not answer.
    pub const DISK: u16 = 3;
    /// Cause: the recorder was not running.
    pub const NOT_RUNNING: u16 = 4;
    /// Cause: records that were not on the disk were cut when a writer started.
    pub const CUT: u16 = 5;
    /// Cause: the journal is damaged here.
    pub const DAMAGED: u16 = 6;
    /// Cause: the source reported it.
    pub const OF_SOURCE: u16 = 8;
    /// Value of `count` if the number of lost records is unknown.
    pub const UNKNOWN: u64 = u64::MAX;

    /// The body.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut body = [0; Self::BYTES];
        body[0..2].copy_from_slice(&self.cause.to_le_bytes());
        let numbers = [self.first, self.last, self.count, self.from_ns, self.to_ns];
        for (place, number) in body[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        body
    }

    /// Reads a body; `None` if its length is another.
    pub fn decode(body: &[u8]) -> Option<Self> {
        (body.len() == Self::BYTES).then(|| Self {
            cause: u16_at(body, 0),
            first: u64_at(body, 8),
            last: u64_at(body, 16),
            count: u64_at(body, 24),
            from_ns: u64_at(body, 32),
            to_ns: u64_at(body, 40),
        })
    }
}

/// Body of `Clock`: the wall clock beside the processor's counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Counter of the processor.
    pub ticks: u64,
    /// Wall clock, ns since the Unix epoch.
    pub wall_ns: u64,
    /// Largest error of the wall clock, ns; that of [`SYNCHRONIZED`](Clock::SYNCHRONIZED).
    pub uncertainty_ns: u32,
    /// 0 unknown, 1 free, 2 synchronized by a time service such as NTP, 3 PTP.
    pub state: u32,
}

impl Clock {
    /// State: no time service synchronizes the wall clock.
    pub const FREE: u32 = 1;
    /// State: a time service states its largest error.
    pub const SYNCHRONIZED: u32 = 2;
    /// Bytes of the body.
    pub const BYTES: usize = 24;

    /// The body.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut body = [0; Self::BYTES];
        body[0..8].copy_from_slice(&self.ticks.to_le_bytes());
        body[8..16].copy_from_slice(&self.wall_ns.to_le_bytes());
        body[16..20].copy_from_slice(&self.uncertainty_ns.to_le_bytes());
        body[20..24].copy_from_slice(&self.state.to_le_bytes());
        body
    }

    /// Reads a body; `None` if its length is another.
    pub fn decode(body: &[u8]) -> Option<Self> {
        (body.len() == Self::BYTES).then(|| Self {
            ticks: u64_at(body, 0),
            wall_ns: u64_at(body, 8),
            uncertainty_ns: u32_at(body, 16),
            state: u32_at(body, 20),
        })
    }
}
