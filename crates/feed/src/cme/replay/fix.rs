//! The two messages that we write: FIX fields, without BeginString, in a buffer that is wiped.

use super::credentials::{CREDENTIAL_BYTES_MAX, Credentials, wipe};
use std::fmt;
use std::io::Write;

/// Both messages have room, and so has the body before it is framed: the fields around two
/// credentials, or five numbers of at most ten digits.
const BYTES: usize = 2 * CREDENTIAL_BYTES_MAX + 96;

/// A message that is to be sent.
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

/// It may hold a password.
impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output({} bytes)", self.end - self.start)
    }
}

impl Output {
    /// `Logon` (35=A) with Username (553) and Password (554).
    pub fn logon(&mut self, credentials: &Credentials) {
        let fields: [&[u8]; 5] = [
            b"35=A\x01553=",
            credentials.user(),
            b"\x01554=",
            credentials.password(),
            b"\x01",
        ];
        self.frame(fields.iter().map(|field| field.len()).sum(), |out| {
            fields.iter().try_for_each(|field| out.write_all(field))
        });
    }

    /// `MarketDataRequest` (35=V) with ApplID (1180), MDReqID (262), ApplBeginSeqNo (1182) and
    /// ApplEndSeqNo (1183).
    pub fn request(&mut self, channel: u32, request: u32, first: u32, last: u32) {
        let mut body = [0; BYTES];
        let mut rest = body.as_mut_slice();
        let _ = write!(
            rest,
            "35=V\x011180={channel}\x01262={channel}-{request}\x011182={first}\x011183={last}\x01"
        );
        let length = BYTES - rest.len();
        self.frame(length, |out| out.write_all(&body[..length]));
    }

    /// What is still to be sent.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// So much was sent. A message that is gone is wiped.
    pub fn sent(&mut self, bytes: usize) {
        self.start = self.end.min(self.start + bytes);
        if self.start == self.end {
            self.clear();
        }
    }

    /// Nothing is to be sent.
    pub fn clear(&mut self) {
        wipe(&mut self.bytes);
        (self.start, self.end) = (0, 0);
    }

    #[cfg(test)]
    pub fn is_wiped(&self) -> bool {
        self.bytes.iter().all(|&byte| byte == 0)
    }

    /// Puts BodyLength (9) before a body and CheckSum (10) behind it.
    fn frame(
        &mut self,
        body_length: usize,
        body: impl FnOnce(&mut &mut [u8]) -> std::io::Result<()>,
    ) {
        self.clear();
        let mut rest = self.bytes.as_mut_slice();
        // There is room for the longest fields, so nothing fails.
        let _ = write!(rest, "9={body_length}\x01").and_then(|()| body(&mut rest));
        let length = BYTES - rest.len();
        let sum = self.bytes[..length]
            .iter()
            .fold(0_u8, |sum, &byte| sum.wrapping_add(byte));
        let mut rest = &mut self.bytes[length..];
        let _ = write!(rest, "10={sum:03}\x01");
        self.end = BYTES - rest.len();
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.clear();
    }
}
