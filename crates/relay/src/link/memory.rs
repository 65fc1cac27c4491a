//! A link within the process: for tests, and for measuring the relay without a network.
//!
//! It keeps what was sent until a test takes it, so that a test decides what is lost, doubled, delayed or reordered.

use super::{Kind, LinkEvent, ReceiveLink, SendLink};
use crate::batch::Batch;
use std::collections::VecDeque;

/// Both ends of a link in memory.
#[derive(Debug, Default)]
pub struct MemoryLink {
    /// Batches on their way.
    pub batches: VecDeque<Vec<u8>>,
    /// Batches that may be on their way at once; the link is full then. 0 is any number.
    pub room: usize,
    /// Requests that the sender has not seen.
    pub requests: u32,
}

impl SendLink for MemoryLink {
    fn send(&mut self, batch: &Batch, _kind: Kind) -> bool {
        let is_full = self.room > 0 && self.batches.len() >= self.room;
        if !is_full {
            self.batches.push_back(batch.datagram().to_vec());
        }
        !is_full
    }

    fn has_room(&self) -> bool {
        self.room == 0 || self.batches.len() < self.room
    }

    fn asked(&mut self) -> u32 {
        std::mem::take(&mut self.requests)
    }

    fn work(&mut self, _now_ns: u64) -> usize {
        0
    }
}

impl ReceiveLink for MemoryLink {
    fn receive(
        &mut self,
        _now_ns: u64,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> (usize, Option<LinkEvent>) {
        let mut taken = 0;
        while let Some(batch) = self.batches.pop_front() {
            taken += 1;
            take(&batch);
        }
        (taken, None)
    }

    fn request(&mut self, _head: &[u8]) {
        self.requests += 1;
    }
}
