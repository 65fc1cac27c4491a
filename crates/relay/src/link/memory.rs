//! A link within the process: for tests, and to measure the relay without a network.
//!
//! Sent batches are stored until a test takes them, so a test decides which are lost, duplicated, delayed or reordered.

use super::{Kind, LinkEvent, ReceiveLink, SendLink};
use crate::batch::Batch;
use std::collections::VecDeque;

/// Both ends of a link in memory.
#[derive(Debug, Default)]
pub struct MemoryLink {
    /// Batches in transit.
    pub batches: VecDeque<Vec<u8>>,
    /// Most batches in transit; the link is full beyond this. 0 is no limit.
    pub room: usize,
    /// Requests that the sender has not read.
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
