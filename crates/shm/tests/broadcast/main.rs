//! The broadcast ring over plain memory: every rule of its protocol, and every race.
//!
//! Messages are letters, of which each says by its number what must be in it; readers are witnesses,
//! who hold what they get against that. Both are the lab's, taken in as files: the lab itself would be
//! too much to build under Miri.

mod frames;
mod hostile;
mod lapped;
#[path = "../../../lab/src/letter.rs"]
mod letter;
mod lossless;
mod model;
#[path = "../../../lab/src/random.rs"]
#[allow(
    dead_code,
    reason = "these tests do not draw everything that can be drawn"
)]
mod random;
mod threads;
#[path = "../../../lab/src/witness.rs"]
#[allow(dead_code, reason = "other tests ask witnesses more than these do")]
mod witness;

use std::sync::Arc;
use touchline_shm::atomic::AtomicU64;
use touchline_shm::broadcast::{Flags, Geometry, Mark, Reader, Writer};
use touchline_shm::zeroed;
use witness::Witness;

type Memory = Arc<[AtomicU64]>;

/// The beginning of a stream.
const BEGINNING: Mark = Mark {
    position: 0,
    sequence: 1,
};

/// Beginnings from which positions or sequences soon run over 32 and 64 bits.
const NEAR_ENDS: [Mark; 3] = [
    BEGINNING,
    Mark {
        position: 0u64.wrapping_sub(1000),
        sequence: 0u64.wrapping_sub(1000),
    },
    Mark {
        position: (1 << 32) - 1000,
        sequence: (1 << 32) - 1000,
    },
];

/// A ring in memory of its own.
fn ring(capacity: u64, first: Mark) -> (Memory, Writer<Memory>) {
    let geometry = Geometry::new(capacity).unwrap();
    let memory = zeroed(geometry.words());
    let writer = Writer::create_at(memory.clone(), geometry, first).unwrap();
    (memory, writer)
}

/// A witness at the last mark.
fn witness(memory: &Memory, length_max: usize) -> Witness<Memory> {
    Witness::new(Reader::attach(memory.clone()).unwrap(), length_max)
}

/// Publishes the next letter.
fn publish(writer: &mut Writer<Memory>, length_max: usize, bytes: &mut Vec<u8>) {
    let sequence = writer.next().sequence;
    letter::write(sequence, letter::length(sequence, length_max), bytes);
    writer.publish(bytes, Flags::default()).unwrap();
}

/// The number in an environment variable, or the usual one.
fn number(variable: &str, usual: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(usual, |text| {
        text.parse().unwrap_or_else(|_| panic!("{variable}={text}"))
    })
}

/// `SEED` alone, or as many seeds as `SEEDS` says.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    match std::env::var("SEED") {
        Ok(_) => {
            let seed = number("SEED", 0);
            seed..seed + 1
        }
        Err(_) => 0..number("SEEDS", usual),
    }
}
