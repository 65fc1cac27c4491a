//! A link within the process: for tests, and to measure the relay without a network.
//!
//! Sent batches are stored until a test takes them, so a test decides which are lost, duplicated, delayed or reordered.

use super::flow::Flow;
use super::{Change, Kind, LinkEvent, ReceiveLink, SendLink};
use crate::batch::Batch;
use crate::head::{HEAD_BYTES, Head};
use std::collections::VecDeque;

/// Both ends of a link in memory.
#[derive(Debug, Default)]
pub struct MemoryLink {
    /// Batches in transit.
    pub batches: VecDeque<Vec<u8>>,
    /// Most batches in transit; the link is full beyond this. 0: unlimited.
    pub room: usize,
    /// Unread requests to the sender.
    pub requests: u32,
    /// Time of the latest probe without an answer.
    pub probe_ns: Option<u64>,
    /// Flow to the receiver, as on a connection; without it the receiver gets everything.
    pub flow: Option<Flow>,
    /// Times that the stream was interrupted.
    pub held: u64,
    /// Time of the last call of `work`.
    pub now_ns: u64,
}

impl SendLink for MemoryLink {
    fn send(&mut self, batch: &Batch, kind: Kind) -> bool {
        if let Some(flow) = &mut self.flow
            && !flow.wants(kind, self.now_ns)
        {
            return true;
        }
        let is_full = self.room > 0 && self.batches.len() >= self.room;
        if !is_full {
            self.batches.push_back(batch.datagram().to_vec());
        }
        !is_full
    }

    fn has_room(&self) -> bool {
        let flow = self.flow.as_ref();
        (self.room == 0 || self.batches.len() < self.room)
            && flow.is_none_or(|flow| flow.has_room(self.now_ns))
    }

    fn asked(&mut self) -> u32 {
        std::mem::take(&mut self.requests)
    }

    fn answer(&mut self, head: &Head) {
        let probe_ns = match &mut self.flow {
            Some(flow) => flow.answer(self.now_ns),
            None => self.probe_ns.take(),
        };
        if let Some(sent_ns) = probe_ns {
            let mut bytes = [0; HEAD_BYTES];
            Head { sent_ns, ..*head }.write(&mut bytes);
            self.batches.push_back(bytes.to_vec());
        }
    }

    fn work(&mut self, now_ns: u64) -> usize {
        self.now_ns = now_ns;
        match self.flow.as_mut().and_then(|flow| flow.change(now_ns)) {
            Some(Change::Held) => self.held += 1,
            Some(Change::Resumed) => self.requests += 1,
            Some(Change::GivenUp) | None => {}
        }
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
        let flow = self.flow.as_mut();
        let is_accepted = flow.is_none_or(|flow| flow.request(self.now_ns));
        self.requests += u32::from(is_accepted);
    }

    fn probe(&mut self, head: &[u8]) {
        let Ok(head) = Head::read(head) else { return };
        match &mut self.flow {
            Some(flow) => flow.probe(&head, self.now_ns),
            None => self.probe_ns = Some(head.sent_ns),
        }
    }
}
