//! Recorded part of an incremental feed, replayed round after round as one session.
//!
//! A benchmark needs more packets than a capture has, with warm memory and books in their normal
//! state. After each round the numbers in the packets (sequence, sending time, each entry's RptSeq)
//! are advanced in place, so a feed handler receives one long session. Generated snapshots make
//! every instrument `live` at the start, as in the middle of a day.

use crate::cme::encode::{Block, Group, Template, Version, message, packet};
use std::collections::{BTreeMap, BTreeSet};

/// One packet of the recording.
#[derive(Clone, Debug)]
struct Recorded<C> {
    channel: C,
    receive_ns: u64,
    bytes: Vec<u8>,
    /// Offset of each entry's RptSeq, and the instrument of the entry.
    numbers: Vec<(usize, usize)>,
    messages: u64,
}

/// Part of an incremental feed; `C` names feed and line.
#[derive(Clone, Debug)]
pub struct Endless<C> {
    /// Packets before the first round, which come once.
    opening: Vec<(C, Vec<u8>)>,
    packets: Vec<Recorded<C>>,
    /// Numbers of the packets.
    seen: BTreeSet<u32>,
    /// SecurityID, first RptSeq and number of entries of each instrument.
    instruments: Vec<(i32, u32, u32)>,
    rows: BTreeMap<i32, usize>,
    sequences: (u32, u32),
    times: (u64, u64),
    /// First packet number, that of the opening if there is one.
    first: u32,
}

/// Offsets of SecurityID and RptSeq in the entries of a template's first group (CME templates).
fn places(template: u16) -> Option<(usize, usize)> {
    Some(match template {
        32 | 33 | 36 | 42 | 46 | 48 | 49 => (12, 16),
        64 | 65 => (16, 20),
        35 | 51 | 67 => (8, 12),
        37 => (4, 8),
        66 => (8, 12),
        34 | 50 => (24, 28),
        _ => return None,
    })
}

impl<C: Copy> Endless<C> {
    /// An empty recording.
    pub fn new() -> Endless<C> {
        Endless {
            opening: Vec::new(),
            packets: Vec::new(),
            seen: BTreeSet::new(),
            instruments: Vec::new(),
            rows: BTreeMap::new(),
            sequences: (u32::MAX, 0),
            times: (u64::MAX, 0),
            first: u32::MAX,
        }
    }

    /// Adds a packet that comes once, before the first round. Refuses as [`Endless::add`].
    pub fn add_opening(&mut self, channel: C, bytes: &[u8]) -> bool {
        let Some(messages) = messages(bytes) else {
            return false;
        };
        self.numbers(bytes, &messages, false);
        self.first = self.first.min(u32_at(bytes, 0));
        self.opening.push((channel, bytes.to_vec()));
        true
    }

    /// Packets that come once, before the first round.
    pub fn opening(&self) -> impl Iterator<Item = (C, &[u8])> {
        self.opening
            .iter()
            .map(|(channel, bytes)| (*channel, bytes.as_slice()))
    }

    /// Adds a packet as received. Refuses a packet whose message sizes do not add up to its length.
    pub fn add(&mut self, channel: C, receive_ns: u64, bytes: &[u8]) -> bool {
        let Some(messages) = messages(bytes) else {
            return false;
        };
        let (sequence, sending_ns) = (u32_at(bytes, 0), u64_at(bytes, 4));
        // A second copy has the same numbers, which are counted once.
        let first_copy = self.seen.insert(sequence);
        let numbers = self.numbers(bytes, &messages, first_copy);
        self.sequences = (
            self.sequences.0.min(sequence),
            self.sequences.1.max(sequence),
        );
        self.first = self.first.min(sequence);
        let last_ns = receive_ns.max(sending_ns);
        self.times = (self.times.0.min(sending_ns), self.times.1.max(last_ns));
        let messages = messages.len() as u64;
        let bytes = bytes.to_vec();
        self.packets.push(Recorded {
            channel,
            receive_ns,
            bytes,
            numbers,
            messages,
        });
        true
    }

    /// Number of packets in a round.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// True if there are no packets.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Mean bytes of a packet.
    pub fn packet_bytes(&self) -> u64 {
        let total: usize = self.packets.iter().map(|packet| packet.bytes.len()).sum();
        total as u64 / self.packets.len().max(1) as u64
    }

    /// Packets of the current round: channel, receive time, bytes, number of messages.
    pub fn packets(&self) -> impl Iterator<Item = (C, u64, &[u8], u64)> {
        self.packets
            .iter()
            .map(|p| (p.channel, p.receive_ns, p.bytes.as_slice(), p.messages))
    }

    /// Snapshots (template 52, empty) after which every instrument is `live` at the first packet.
    pub fn snapshots(&self) -> Vec<Vec<u8>> {
        let total = self.instruments.len() as u32;
        let template = Template {
            id: 52,
            version: Version::V9,
            from_the_future: false,
        };
        let snapshot = |&(security_id, first, _): &(i32, u32, u32)| {
            let root = Block::new(59)
                .u32(0, self.first - 1)
                .u32(4, total)
                .i32(8, security_id)
                .u32(12, first - 1)
                .null_prices(&[35, 43, 51]);
            message(template, &root, &[Group::new(22, Vec::new())])
        };
        let messages: Vec<_> = self.instruments.iter().map(snapshot).collect();
        let packets = messages.chunks(10).zip(1..);
        packets
            .map(|(messages, sequence)| packet(sequence, self.times.0 - 1, messages))
            .collect()
    }

    /// Advances every number, so that the next round continues the current one.
    pub fn next_round(&mut self) {
        let sequences = self.sequences.1 - self.sequences.0 + 1;
        // A second between rounds, so no packet is late for the next one.
        let times = self.times.1 - self.times.0 + 1_000_000_000;
        for recorded in &mut self.packets {
            recorded.receive_ns += times;
            shift(&mut recorded.bytes, 0, |bytes| {
                u32::from_le_bytes(bytes)
                    .wrapping_add(sequences)
                    .to_le_bytes()
            });
            shift(&mut recorded.bytes, 4, |bytes| {
                u64::from_le_bytes(bytes).wrapping_add(times).to_le_bytes()
            });
            for (place, row) in &recorded.numbers {
                let entries = self.instruments[*row].2;
                shift(&mut recorded.bytes, *place, |bytes| {
                    u32::from_le_bytes(bytes)
                        .wrapping_add(entries)
                        .to_le_bytes()
                });
            }
        }
    }

    /// Finds the RptSeq of each entry; counts the entries if this is the first copy.
    fn numbers(
        &mut self,
        bytes: &[u8],
        messages: &[usize],
        first_copy: bool,
    ) -> Vec<(usize, usize)> {
        let mut numbers = Vec::new();
        for start in messages {
            let (block, template) = (
                usize::from(u16_at(bytes, start + 2)),
                u16_at(bytes, start + 4),
            );
            let Some((id, rpt)) = places(template) else {
                continue;
            };
            let group = start + 10 + block;
            let (length, count) = (
                usize::from(u16_at(bytes, group)),
                usize::from(bytes[group + 2]),
            );
            for entry in (0..count).map(|index| group + 3 + index * length) {
                let row = self.row(u32_at(bytes, entry + id) as i32, u32_at(bytes, entry + rpt));
                self.instruments[row].2 += u32::from(first_copy);
                numbers.push((entry + rpt, row));
            }
        }
        numbers
    }

    fn row(&mut self, security_id: i32, rpt_seq: u32) -> usize {
        *self.rows.entry(security_id).or_insert_with(|| {
            self.instruments.push((security_id, rpt_seq, 0));
            self.instruments.len() - 1
        })
    }
}

impl<C: Copy> Default for Endless<C> {
    fn default() -> Endless<C> {
        Endless::new()
    }
}

fn shift<const LEN: usize>(
    bytes: &mut [u8],
    place: usize,
    change: impl Fn([u8; LEN]) -> [u8; LEN],
) {
    if let Some(field) = bytes[place..].first_chunk_mut::<LEN>() {
        *field = change(*field);
    }
}

/// Offsets of the messages of a packet; `None` if their sizes do not add up to its length.
fn messages(bytes: &[u8]) -> Option<Vec<usize>> {
    let (mut starts, mut start) = (Vec::new(), 12);
    while start < bytes.len() {
        let size = bytes
            .get(start..start + 10)
            .map(|head| usize::from(u16_at(head, 0)))?;
        starts.push(start);
        start += size.max(10);
    }
    (start == bytes.len()).then_some(starts)
}

fn u16_at(bytes: &[u8], place: usize) -> u16 {
    u16::from_le_bytes([bytes[place], bytes[place + 1]])
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    u32::from(u16_at(bytes, place)) | u32::from(u16_at(bytes, place + 2)) << 16
}

fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from(u32_at(bytes, place)) | u64::from(u32_at(bytes, place + 4)) << 32
}
