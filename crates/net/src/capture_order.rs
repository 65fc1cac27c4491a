//! Capture order: packets of each destination in file order, destinations merged by time.
//!
//! A capture is written by several queues of a network card or several taps, so a packet may follow
//! one of another destination that arrived nanoseconds to microseconds later. These differences
//! decide which of two lines was first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddrV4;

use crate::frame::UDP_PAYLOAD_BYTES_MAX;
use crate::{Packet, TimestampSource};

/// Buffer of packets, held until no earlier packet can follow.
///
/// A packet's effective time is its capture time, or that of the previous packet to the same
/// destination if its own is earlier. Packets leave by effective time, equal ones in file order, so
/// the packets of one destination keep their order. A packet waits until one more than
/// [`WINDOW_NS`] later was read, or until [`HELD_PACKETS_MAX`] wait.
///
/// All memory is allocated at the start; unused pages are never touched.
pub(crate) struct CaptureOrder {
    /// Waiting packets, the earliest on top.
    waiting: BinaryHeap<Reverse<Place>>,
    held: Box<[Held]>,
    /// [`UDP_PAYLOAD_BYTES_MAX`] for each of `held`.
    payloads: Box<[u8]>,
    free: Vec<usize>,
    /// The packet lent last: its slot is free at the next call.
    lent: Option<usize>,
    /// Latest time by destination, with address and port as one number.
    latest_ns: HashMap<u64, u64, Secret>,
    /// Latest effective time to any destination beyond those in `latest_ns`.
    others_latest_ns: u64,
    newest_ns: u64,
    read: u64,
}

/// Maximum time difference of packets to different destinations that are put in order, nanoseconds.
/// The available real capture steps back by up to 775.
pub(crate) const WINDOW_NS: u64 = 1_000_000;

/// Maximum number of waiting packets.
pub(crate) const HELD_PACKETS_MAX: usize = 256;

/// Destinations with separate times; further ones keep file order among themselves. All channels of
/// CME have 312.
const DESTINATIONS_MAX: usize = 1024;

/// Order of waiting packets: by time, then as read. The last field is the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    effective_ns: u64,
    number: u64,
    slot: usize,
}

/// A waiting packet without its payload.
#[derive(Clone, Copy, Debug)]
struct Held {
    effective_ns: u64,
    source: SocketAddrV4,
    destination: SocketAddrV4,
    len: usize,
}

/// Hash of a destination: one multiplication by a secret odd number. A capture cannot choose destinations that collide,
/// and there are at most [`DESTINATIONS_MAX`].
#[derive(Clone, Copy)]
struct Secret(u64);

struct Product(u64, u64);

impl Secret {
    fn new() -> Secret {
        Secret(RandomState::new().hash_one(0_u64) | 1)
    }
}

impl BuildHasher for Secret {
    type Hasher = Product;

    #[inline]
    fn build_hasher(&self) -> Product {
        Product(self.0, 0)
    }
}

impl Hasher for Product {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0) * u128::from(word ^ self.1);
        self.1 = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.1
    }
}

impl CaptureOrder {
    pub(crate) fn new() -> Self {
        let nowhere = SocketAddrV4::new([0, 0, 0, 0].into(), 0);
        let nothing = Held {
            effective_ns: 0,
            source: nowhere,
            destination: nowhere,
            len: 0,
        };
        Self {
            waiting: BinaryHeap::with_capacity(HELD_PACKETS_MAX),
            held: vec![nothing; HELD_PACKETS_MAX].into(),
            payloads: vec![0; HELD_PACKETS_MAX * UDP_PAYLOAD_BYTES_MAX].into(),
            free: (0..HELD_PACKETS_MAX).rev().collect(),
            lent: None,
            latest_ns: HashMap::with_capacity_and_hasher(DESTINATIONS_MAX, Secret::new()),
            others_latest_ns: 0,
            newest_ns: 0,
            read: 0,
        }
    }

    /// Whether the earliest packet must leave before another one is read.
    pub(crate) fn is_due(&self) -> bool {
        self.waiting.peek().is_some_and(|Reverse(first)| {
            self.waiting.len() >= HELD_PACKETS_MAX
                || self.newest_ns.saturating_sub(first.effective_ns) > WINDOW_NS
        })
    }

    /// Takes the next packet read; none is due and none is lent.
    pub(crate) fn hold(&mut self, packet: &Packet<'_>) {
        let effective_ns = self.effective_ns(packet.destination, packet.receive_ns);
        self.newest_ns = self.newest_ns.max(packet.receive_ns);
        let slot = self.free.pop().expect("a full window is due");
        self.held[slot] = Held {
            effective_ns,
            source: packet.source,
            destination: packet.destination,
            len: packet.payload.len(),
        };
        let start = slot * UDP_PAYLOAD_BYTES_MAX;
        self.payloads[start..start + packet.payload.len()].copy_from_slice(packet.payload);
        self.waiting.push(Reverse(Place {
            effective_ns,
            number: self.read,
            slot,
        }));
        self.read += 1;
    }

    /// Lends the earliest packet, due or not; `None` if none waits.
    pub(crate) fn lend(&mut self) -> Option<Packet<'_>> {
        let Reverse(Place { slot, .. }) = self.waiting.pop()?;
        self.lent = Some(slot);
        let Held {
            effective_ns,
            source,
            destination,
            len,
        } = self.held[slot];
        let start = slot * UDP_PAYLOAD_BYTES_MAX;
        Some(Packet {
            receive_ns: effective_ns,
            timestamp: TimestampSource::Capture,
            destination,
            source,
            payload: &self.payloads[start..start + len],
        })
    }

    /// Frees the slot of the lent packet.
    pub(crate) fn take_back(&mut self) {
        self.free.extend(self.lent.take());
    }

    fn effective_ns(&mut self, destination: SocketAddrV4, capture_ns: u64) -> u64 {
        let destination =
            u64::from(destination.ip().to_bits()) << 16 | u64::from(destination.port());
        let has_room = self.latest_ns.len() < DESTINATIONS_MAX;
        let latest_ns = match self.latest_ns.get_mut(&destination) {
            Some(latest_ns) => latest_ns,
            None if has_room => self.latest_ns.entry(destination).or_insert(0),
            None => &mut self.others_latest_ns,
        };
        *latest_ns = capture_ns.max(*latest_ns);
        *latest_ns
    }
}
