//! Capture order: the packets of each destination as they stand in the file, destinations by time.
//!
//! A capture is written by several queues of a network card or several taps, so that a packet may
//! stand behind one of another destination that arrived after it, by nanoseconds to microseconds.
//! Which of two lines was first is decided by exactly these.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddrV4;

use crate::frame::UDP_PAYLOAD_BYTES_MAX;
use crate::{Packet, TimestampSource};

/// Packets held until no packet that belongs before them can be expected.
///
/// A packet's effective time is its capture time, or that of the packet before it to the same
/// destination where its own steps back. Packets leave by effective time, equal ones in the order
/// in which they were read, so that those of one destination always keep their order. A packet
/// waits until one more than [`WINDOW_NS`] later was read, or until [`HELD_PACKETS_MAX`] wait.
///
/// All memory is taken at the start; pages of it that no packet reaches are never touched.
pub(crate) struct CaptureOrder {
    /// The earliest on top.
    waiting: BinaryHeap<Reverse<Place>>,
    held: Box<[Held]>,
    /// [`UDP_PAYLOAD_BYTES_MAX`] for each of `held`.
    payloads: Box<[u8]>,
    free: Vec<usize>,
    /// The packet that was lent last: its place is free again at the next call.
    lent: Option<usize>,
    /// By address and port as one number.
    latest_ns: HashMap<u64, u64, Secret>,
    /// The latest effective time to any destination beyond those that `latest_ns` has room for.
    others_latest_ns: u64,
    newest_ns: u64,
    read: u64,
}

/// How far apart two packets to different destinations may be and still be put in order,
/// nanoseconds. The real capture at hand steps back by up to 775.
pub(crate) const WINDOW_NS: u64 = 1_000_000;

/// The most packets that wait.
pub(crate) const HELD_PACKETS_MAX: usize = 256;

/// Destinations whose times are kept apart; any further ones keep the order of the file among
/// themselves. Every feed and line of all of CME's channels are 312.
const DESTINATIONS_MAX: usize = 1024;

/// When a waiting packet leaves: by time, then as read. The last is where it is held.
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

/// Hash of a destination: one multiplication by a secret odd number, of which both halves count. A capture cannot choose
/// destinations that collide, and there are at most [`DESTINATIONS_MAX`].
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

    /// Whether the earliest packet is to leave before another one is read.
    pub(crate) fn is_due(&self) -> bool {
        self.waiting.peek().is_some_and(|Reverse(first)| {
            self.waiting.len() >= HELD_PACKETS_MAX
                || self.newest_ns.saturating_sub(first.effective_ns) > WINDOW_NS
        })
    }

    /// Takes in the next packet that was read; none is due and none is lent.
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

    /// The packet that was lent is not needed any more.
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
