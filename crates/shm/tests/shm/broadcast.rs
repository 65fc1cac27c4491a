//! The broadcast ring over plain memory: every rule of its protocol, and every race.
//!
//! Messages are self-describing payloads, whose number determines their contents; readers verify the stream.

mod frames;
mod hostile;
mod lossless;
mod model;
mod overrun;
mod threads;

use std::sync::Arc;
use touchline_shm::atomic::AtomicU64;
use touchline_shm::broadcast::{Flags, Geometry, JoinPoint, Reader, Writer};
use touchline_shm::zeroed;
use touchline_testing::payload;
use touchline_testing::stream_verifier::StreamVerifier;

type Memory = Arc<[AtomicU64]>;

/// Start of a stream.
const BEGINNING: JoinPoint = JoinPoint {
    position: 0,
    sequence: 1,
};

/// Start values from which positions or sequences soon exceed 32 and 64 bits.
const NEAR_ENDS: [JoinPoint; 3] = [
    BEGINNING,
    JoinPoint {
        position: 0u64.wrapping_sub(1000),
        sequence: 0u64.wrapping_sub(1000),
    },
    JoinPoint {
        position: (1 << 32) - 1000,
        sequence: (1 << 32) - 1000,
    },
];

/// A ring in private memory.
fn ring(capacity: u64, first: JoinPoint) -> (Memory, Writer<Memory>) {
    let geometry = Geometry::new(capacity).unwrap();
    let memory = zeroed(geometry.words());
    let writer = Writer::create_at(memory.clone(), geometry, first).unwrap();
    (memory, writer)
}

/// A stream verifier at the last join point.
fn verifier(memory: &Memory, length_max: usize) -> StreamVerifier<Memory> {
    StreamVerifier::new(Reader::attach(memory.clone()).unwrap(), length_max)
}

/// Publishes the next payload.
fn publish(writer: &mut Writer<Memory>, length_max: usize, bytes: &mut Vec<u8>) {
    let sequence = writer.next().sequence;
    payload::write(sequence, payload::length(sequence, length_max), bytes);
    writer.publish(bytes, Flags::default()).unwrap();
}

/// The number in an environment variable, or the default.
fn number(variable: &str, usual: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(usual, |text| {
        text.parse().unwrap_or_else(|_| panic!("{variable}={text}"))
    })
}

/// Only `SEED`, or the number of seeds in `SEEDS`.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    match std::env::var("SEED") {
        Ok(_) => {
            let seed = number("SEED", 0);
            seed..seed + 1
        }
        Err(_) => 0..number("SEEDS", usual),
    }
}
