//! The receiving end: a connection that is established again when it ends.

use super::lookup::Lookup;
use crate::batch::{BATCH_BYTES_MAX, LENGTH_BYTES};
use crate::head::{Epoch, HEAD_BYTES, Head, HeadFlags, Source};
use crate::link::{LinkEvent, ReceiveLink};
use touchline_net::tls::Client;
use touchline_net::{Backoff, Connection};

/// Connect timeout, TLS handshake included.
const CONNECT_NS_MAX: u64 = 3_000_000_000;
/// Reconnect backoff: the first and the longest wait.
const RETRY_NS_MIN: u64 = 50_000_000;
const RETRY_NS_MAX: u64 = 1_000_000_000;
/// Bytes of one read.
const READ_BYTES: usize = 256 * 1024;
/// Reads in one call of `receive`.
const READS_MAX: usize = 8;

/// The receiving end.
pub struct TcpReceive {
    lookup: Lookup,
    tls: Option<Client>,
    state: State,
    backoff: Backoff,
    /// Received bytes that were not processed yet.
    bytes: Box<[u8]>,
    filled: usize,
    last_error: Option<String>,
}

enum State {
    /// Backoff.
    Waiting,
    /// Connecting.
    Connecting(Connection),
    /// The request is being sent or was sent.
    Connected(Connection, usize),
}

impl TcpReceive {
    /// Connects to `host`, a name or an address with a port, at the first call of `receive`.
    pub fn new(host: &str, tls: Option<Client>) -> TcpReceive {
        TcpReceive {
            lookup: Lookup::new(host),
            tls,
            state: State::Waiting,
            backoff: Backoff::new(RETRY_NS_MIN, RETRY_NS_MAX),
            bytes: vec![0; LENGTH_BYTES + BATCH_BYTES_MAX + READ_BYTES].into(),
            filled: 0,
            last_error: None,
        }
    }

    /// Closes the connection; the next attempt comes later.
    fn end(&mut self, now_ns: u64, reason: String) -> Option<LinkEvent> {
        self.last_error = Some(reason);
        self.filled = 0;
        self.state = State::Waiting;
        self.backoff.failed(now_ns);
        Some(LinkEvent::Disconnected)
    }

    fn connect(&mut self, now_ns: u64) -> Option<LinkEvent> {
        let connection = match self.lookup.address()? {
            Ok(address) => {
                let tls = self.tls.as_ref();
                let until_ns = now_ns + CONNECT_NS_MAX;
                Connection::connect(address, tls, until_ns).map_err(|error| error.to_string())
            }
            Err(reason) => Err(reason),
        };
        match connection {
            Ok(connection) => {
                self.state = State::Connecting(connection);
                None
            }
            Err(reason) => self.end(now_ns, reason),
        }
    }

    /// Reads available bytes, and passes on complete batches.
    fn read(
        &mut self,
        now_ns: u64,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> (usize, Option<LinkEvent>) {
        let mut batches = 0;
        for _ in 0..READS_MAX {
            let State::Connected(connection, _) = &mut self.state else {
                break;
            };
            let bytes = match connection.receive(&mut self.bytes[self.filled..]) {
                Ok(0) => break,
                Ok(bytes) => bytes,
                Err(error) => return (batches, self.end(now_ns, error.to_string())),
            };
            self.filled += bytes;
            match self.hand_out(take) {
                Ok(handed) => batches += handed,
                Err(reason) => return (batches, self.end(now_ns, reason.to_owned())),
            }
            if batches > 0 {
                self.backoff.succeeded();
            }
        }
        (batches, None)
    }

    fn hand_out(&mut self, take: &mut impl FnMut(&[u8]) -> bool) -> Result<usize, &'static str> {
        let (mut from, mut batches) = (0, 0);
        while let Some((length, rest)) =
            self.bytes[from..self.filled].split_first_chunk::<LENGTH_BYTES>()
        {
            let length = u32::from_le_bytes(*length) as usize;
            if !(HEAD_BYTES..=BATCH_BYTES_MAX).contains(&length) {
                return Err("the received bytes are not a relay stream");
            }
            let Some(batch) = rest.get(..length) else {
                break;
            };
            if !take(batch) {
                return Err("the received bytes are not a batch of this version");
            }
            batches += 1;
            from += LENGTH_BYTES + length;
        }
        self.bytes.copy_within(from..self.filled, 0);
        self.filled -= from;
        Ok(batches)
    }
}

impl ReceiveLink for TcpReceive {
    fn receive(
        &mut self,
        now_ns: u64,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> (usize, Option<LinkEvent>) {
        match &mut self.state {
            State::Waiting if !self.backoff.is_due(now_ns) => (0, None),
            State::Waiting => (0, self.connect(now_ns)),
            State::Connecting(connection) => match connection.is_ready(now_ns) {
                Ok(false) => (0, None),
                Ok(true) => {
                    if let State::Connecting(connection) =
                        std::mem::replace(&mut self.state, State::Waiting)
                    {
                        self.state = State::Connected(connection, 0);
                    }
                    self.send_hello(now_ns)
                }
                Err(error) => (0, self.end(now_ns, error.to_string())),
            },
            State::Connected(_, sent) if *sent < HEAD_BYTES => self.send_hello(now_ns),
            State::Connected(..) => self.read(now_ns, take),
        }
    }

    fn request(&mut self, head: &[u8]) {
        if let State::Connected(connection, sent) = &mut self.state
            && *sent == HEAD_BYTES
        {
            // A connection that accepts less than 40 bytes now gets the request again later.
            if let Ok(bytes) = connection.send(head)
                && bytes < head.len()
            {
                *sent = bytes;
            }
        }
    }

    fn last_error(&mut self) -> Option<String> {
        self.last_error.take()
    }
}

impl TcpReceive {
    fn send_hello(&mut self, now_ns: u64) -> (usize, Option<LinkEvent>) {
        let State::Connected(connection, sent) = &mut self.state else {
            return (0, None);
        };
        match connection.send(&hello()[*sent..]) {
            Ok(bytes) => {
                *sent += bytes;
                (0, (*sent == HEAD_BYTES).then_some(LinkEvent::Connected))
            }
            Err(error) => (0, self.end(now_ns, error.to_string())),
        }
    }
}

/// Request of a client without any state.
fn hello() -> [u8; HEAD_BYTES] {
    let mut bytes = [0; HEAD_BYTES];
    Head {
        source: Source::ANY,
        epoch: Epoch(0),
        first_sequence: 0,
        count: 0,
        hops: 0,
        flags: HeadFlags::REQUEST,
        sent_ns: 0,
    }
    .write(&mut bytes);
    bytes
}
