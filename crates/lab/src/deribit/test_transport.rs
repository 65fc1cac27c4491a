//! Transport of messages from a session to its connection, with faults.

use super::fault::{Fault, Faults};
use touchline_session::fix::{Session, Store};
use touchline_wire::fix::{Frame, frame};

/// Test transport: bytes that wait for the connection, and the behaviour of the connection.
#[derive(Debug, Default)]
pub struct TestTransport {
    bytes: Vec<u8>,
    /// Number of bytes sent.
    sent: usize,
    /// No byte is sent before this time.
    silent_until_ns: u64,
    /// No byte is read, and few are sent, before this time.
    slow_until_ns: u64,
    /// Time of the next byte of a slow connection.
    next_byte_ns: u64,
    /// The connection must be closed when everything is sent.
    ends: bool,
}

/// Limit of waiting bytes; further ones wait in the session.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Interval between bytes of a slow connection, nanoseconds.
const BYTE_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;

impl TestTransport {
    /// Takes complete messages of a session, and applies faults.
    pub fn pull<S: Store>(&mut self, session: &mut Session<S>, faults: &mut Faults, now_ns: u64) {
        if self.sent > 0 && self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        }
        while !self.ends && self.bytes.len() - self.sent < WAITING_BYTES_MAX {
            let Ok(Frame::Whole(message)) = frame(session.poll_transmit(), usize::MAX) else {
                return;
            };
            let length = message.len();
            // Faults do not affect session messages, which keep the session alive.
            let is_data = matches!(message.msg_type(), b"W" | b"X" | b"y" | b"Y");
            let fault = match is_data {
                true => faults.strike(Fault::is_of_the_transport),
                false => None,
            };
            match fault {
                Some(Fault::Skip) => {}
                Some(Fault::Malform(how)) => self.bytes.extend(how.apply(message.bytes())),
                _ => self.bytes.extend(message.bytes()),
            }
            match fault {
                Some(Fault::Disconnect) => self.ends = true,
                Some(Fault::Silence(s)) => self.silent_until_ns = now_ns + s * SECOND_NS,
                Some(Fault::Slow(s)) => self.slow_until_ns = now_ns + s * SECOND_NS,
                _ => {}
            }
            session.transmitted(length);
        }
    }

    /// Bytes that may be sent now.
    pub fn due(&self, now_ns: u64) -> &[u8] {
        let waiting = &self.bytes[self.sent..];
        match now_ns {
            now if now < self.silent_until_ns => &[],
            now if now < self.slow_until_ns && now < self.next_byte_ns => &[],
            now if now < self.slow_until_ns => &waiting[..waiting.len().min(1)],
            _ => waiting,
        }
    }

    /// Removes sent bytes.
    pub fn sent(&mut self, bytes: usize, now_ns: u64) {
        self.sent += bytes;
        self.next_byte_ns = now_ns + BYTE_NS;
    }

    /// Whether received bytes are read.
    pub fn is_listening(&self, now_ns: u64) -> bool {
        now_ns >= self.slow_until_ns
    }

    /// Whether no byte waits.
    pub fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Whether a fault has ended the connection.
    pub fn has_ended(&self) -> bool {
        self.ends && self.is_empty()
    }
}
