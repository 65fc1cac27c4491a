//! The two messages that we send: FIX fields, without BeginString, in a buffer that is wiped.

use super::credentials::{CREDENTIAL_BYTES_MAX, Credentials};
use std::fmt;
use std::io::Write;
use touchline_wire::fix::{Encoder, tag};
use zeroize::Zeroize;

/// Capacity for both messages: the fields around two credentials, or five numbers of at most ten digits.
const BYTES: usize = 2 * CREDENTIAL_BYTES_MAX + 96;

/// An outgoing message.
pub struct Output {
    bytes: [u8; BYTES],
    start: usize,
    end: usize,
}

impl Default for Output {
    fn default() -> Output {
        Output {
            bytes: [0; BYTES],
            start: 0,
            end: 0,
        }
    }
}

/// Without the bytes, which may contain a password.
impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output({} bytes)", self.end - self.start)
    }
}

impl Output {
    /// `Logon` (35=A) with Username (553) and Password (554).
    pub fn logon(&mut self, credentials: &Credentials) {
        self.write(b"A", |logon| {
            logon
                .bytes(tag::USERNAME, credentials.user())
                .bytes(tag::PASSWORD, credentials.password());
        });
    }

    /// `MarketDataRequest` (35=V) with ApplID (1180), MDReqID (262), ApplBeginSeqNo (1182) and
    /// ApplEndSeqNo (1183).
    pub fn request(&mut self, channel: u32, request: u32, first: u32, last: u32) {
        let mut room = [0; 24];
        let mut rest = room.as_mut_slice();
        // Two numbers of at most ten digits.
        let _ = write!(rest, "{channel}-{request}");
        let length = 24 - rest.len();
        self.write(b"V", |message| {
            message
                .unsigned(1180, channel.into())
                .bytes(tag::MD_REQ_ID, &room[..length])
                .unsigned(1182, first.into())
                .unsigned(1183, last.into());
        });
    }

    /// Bytes to send.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Reports that this number of bytes was sent. A sent message is wiped.
    pub fn sent(&mut self, bytes: usize) {
        self.start = self.end.min(self.start + bytes);
        if self.start == self.end {
            self.clear();
        }
    }

    /// Whether there is nothing to send.
    pub fn clear(&mut self) {
        self.bytes.zeroize();
        (self.start, self.end) = (0, 0);
    }

    #[cfg(test)]
    pub fn is_wiped(&self) -> bool {
        self.bytes.iter().all(|&byte| byte == 0)
    }

    /// Replaces the last message.
    fn write(&mut self, msg_type: &[u8], body: impl FnOnce(&mut Encoder<'_>)) {
        self.clear();
        let mut encoder = Encoder::new(&mut self.bytes, b"", msg_type);
        body(&mut encoder);
        // The buffer is large enough for the longest fields, so no write fails.
        self.end = encoder.finish().map_or(0, <[u8]>::len);
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.clear();
    }
}
