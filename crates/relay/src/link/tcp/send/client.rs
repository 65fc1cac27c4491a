//! One client of the sending end: its requests, its queue, and its position in the stream.

use crate::batch::LENGTH_BYTES;
use crate::head::{BadHead, HEAD_BYTES, Head, HeadFlags};
use crate::link::Kind;
use crate::link::flow::Flow;
use crate::link::{Refusal, SendEvent};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use touchline_net::Connection;
use touchline_net::stream::Error;

/// Messages read from one client in one check: more wait in the kernel.
const REQUESTS_MAX: usize = 8;
/// Requests dropped because they came too soon after others, after which the client is disconnected.
const DROPPED_MAX: u64 = 1_000;
/// Time for which the queue of a client delays refreshes of all.
const BLOCK_NS_MAX: u64 = 500_000_000;

/// A receiver.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) connection: Connection,
    pub(super) address: SocketAddrV4,
    /// Timeout of its request; `None` once it was received.
    pub(super) request_until_ns: Option<u64>,
    /// Received bytes of its request.
    pub(super) request: [u8; HEAD_BYTES],
    pub(super) requested: usize,
    /// Stream to the client.
    pub(super) flow: Flow,
    pub(super) held_reported_ns: Option<u64>,
    /// Since when bytes wait in the queue.
    pub(super) blocked_ns: Option<u64>,
    /// Bytes that wait until the socket accepts them.
    pub(super) queue: VecDeque<u8>,
    /// Reason of the connection's end.
    pub(super) end: Option<SendEvent>,
}

impl Client {
    /// A client whose request is expected until this time.
    pub(super) fn new(
        connection: Connection,
        address: SocketAddrV4,
        request_until_ns: u64,
        lag_ns_max: u64,
    ) -> Client {
        Client {
            connection,
            address,
            request_until_ns: Some(request_until_ns),
            request: [0; HEAD_BYTES],
            requested: 0,
            flow: Flow::new(lag_ns_max),
            held_reported_ns: None,
            blocked_ns: None,
            queue: VecDeque::with_capacity(64 * 1024),
            end: None,
        }
    }

    /// Whether the client gets a batch.
    #[inline]
    pub(super) fn wants(&mut self, kind: Kind, now_ns: u64) -> bool {
        self.request_until_ns.is_none() && self.end.is_none() && self.flow.wants(kind, now_ns)
    }

    /// Whether a refresh can be sent without a long queue.
    pub(super) fn has_room(&self, now_ns: u64) -> bool {
        self.queue.is_empty() && self.flow.has_room(now_ns)
    }

    /// Whether the client has been blocked for so long that others no longer wait for it.
    pub(super) fn is_stuck(&self, now_ns: u64) -> bool {
        let blocked_ns = self.blocked_ns.map(|at_ns| now_ns.saturating_sub(at_ns));
        blocked_ns.is_some_and(|blocked_ns| blocked_ns > BLOCK_NS_MAX)
    }

    /// Sends a frame, or queues the part that the socket does not accept.
    #[inline]
    pub(super) fn send(&mut self, frame: &[u8], queue_bytes_max: usize) {
        let mut sent = 0;
        if self.queue.is_empty() {
            match self.connection.send(frame) {
                Ok(bytes) => sent = bytes,
                Err(reason) => return self.disconnect(reason),
            }
        }
        let rest = &frame[sent..];
        if self.queue.len() + rest.len() > queue_bytes_max {
            self.end = Some(SendEvent::TooSlow {
                address: self.address,
                queued_bytes: self.queue.len(),
            });
            return;
        }
        self.queue.extend(rest);
    }

    /// Sends queued bytes; returns whether any were sent.
    pub(super) fn flush(&mut self) -> usize {
        let mut work = 0;
        while !self.queue.is_empty() {
            let (front, _) = self.queue.as_slices();
            match self.connection.send(front) {
                Ok(0) => break,
                Ok(bytes) => {
                    self.queue.drain(..bytes);
                    work = 1;
                }
                Err(reason) => {
                    self.disconnect(reason);
                    break;
                }
            }
        }
        work
    }

    /// Reads requests; returns their number.
    pub(super) fn listen(&mut self, now_ns: u64) -> u32 {
        let mut requests = 0;
        if self.end.is_some() || !self.is_ready(now_ns) {
            return 0;
        }
        for _ in 0..REQUESTS_MAX {
            match self.connection.receive(&mut self.request[self.requested..]) {
                Ok(0) => break,
                Ok(bytes) => self.requested += bytes,
                Err(reason) => {
                    self.disconnect(reason);
                    return requests;
                }
            }
            if self.requested < HEAD_BYTES {
                continue;
            }
            self.requested = 0;
            match Head::read(&self.request) {
                Ok(head) if head.flags.has(HeadFlags::REQUEST) => {
                    self.request_until_ns = None;
                    requests += u32::from(self.flow.request(now_ns));
                    if self.flow.dropped() > DROPPED_MAX {
                        return self.refuse(Refusal::Flood);
                    }
                }
                Ok(head) if head.flags == HeadFlags::PROBE && self.request_until_ns.is_none() => {
                    self.flow.probe(&head, now_ns);
                }
                Ok(_) => return self.refuse(Refusal::Request(BadHead::Flags)),
                Err(bad) => return self.refuse(Refusal::Request(bad)),
            }
        }
        if self.request_until_ns.is_some_and(|until| now_ns >= until) {
            return self.refuse(Refusal::Silent);
        }
        requests
    }

    /// Whether the TLS handshake, if there is one, is complete.
    fn is_ready(&mut self, now_ns: u64) -> bool {
        match self.connection.is_ready(now_ns) {
            Ok(is_ready) => is_ready,
            Err(Error::TimedOut) => {
                self.refuse(Refusal::Handshake);
                false
            }
            Err(reason) => {
                self.refuse(Refusal::Connection(reason));
                false
            }
        }
    }

    fn refuse(&mut self, reason: Refusal) -> u32 {
        let address = self.address;
        self.end = Some(SendEvent::Refused { address, reason });
        0
    }

    fn disconnect(&mut self, reason: Error) {
        let address = self.address;
        self.end = Some(match self.request_until_ns {
            None => SendEvent::Disconnected { address, reason },
            Some(_) => SendEvent::Refused {
                address,
                reason: Refusal::Connection(reason),
            },
        });
    }
}

/// An answer to a probe, as a frame of the stream.
pub(super) fn answer(head: &Head) -> [u8; LENGTH_BYTES + HEAD_BYTES] {
    let mut frame = [0; LENGTH_BYTES + HEAD_BYTES];
    frame[..LENGTH_BYTES].copy_from_slice(&(HEAD_BYTES as u32).to_le_bytes());
    if let Some(bytes) = frame.last_chunk_mut() {
        head.write(bytes);
    }
    frame
}
