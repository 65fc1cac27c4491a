//! TCP replay server of the exchange: a client logs on, requests packets of the incremental feed by number, and
//! receives them.
//!
//! One connection, one request, as in CME's client systems wiki ("MDP 3.0 - TCP Recovery"). [`Behaviour`] simulates
//! faults of such servers.

mod request;
mod session;
mod stored;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use stored::StoredPackets;

/// Behaviour of the server towards clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// Correct.
    #[default]
    Ok,
    /// Rejects every request with a reason.
    Refuse,
    /// Sends half of the requested packets, the last one truncated, and closes the connection.
    Half,
    /// Sends packets with pauses.
    Slow,
    /// Closes the connection at once.
    Close,
    /// Never answers.
    Silent,
}

/// A running server; it ends when this value is dropped.
#[derive(Debug)]
pub struct ReplayServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    listening: Option<JoinHandle<()>>,
}

/// Totals of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Accepted connections.
    pub connections: u64,
    /// Requests that were answered with packets, all or half of them.
    pub served: u64,
    /// Rejected logons and requests.
    pub refused: u64,
    /// Packets sent.
    pub packets: u64,
}

/// Largest number of packets of one request.
pub const REQUEST_PACKETS_MAX: u32 = 2_000;
/// Largest number of concurrent connections; further ones are closed.
const CONNECTIONS_MAX: usize = 16;

/// Data shared by the server's threads.
#[derive(Debug)]
struct Shared {
    channel: u32,
    version: super::encode::Version,
    stored: Mutex<StoredPackets>,
    behaviour: Mutex<Behaviour>,
    stopped: AtomicBool,
    connected: AtomicUsize,
    connections: AtomicU64,
    served: AtomicU64,
    refused: AtomicU64,
    packets: AtomicU64,
}

impl ReplayServer {
    /// Listens on an address for requests for a channel; port 0 chooses a free one. The last `packets_max` packets are
    /// stored.
    ///
    /// # Errors
    /// The address does not belong to the host, or is in use.
    pub fn start(
        listen: SocketAddr,
        channel: u32,
        version: super::encode::Version,
        packets_max: usize,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            channel,
            version,
            stored: Mutex::new(StoredPackets::new(packets_max)),
            behaviour: Mutex::default(),
            stopped: AtomicBool::new(false),
            connected: AtomicUsize::new(0),
            connections: AtomicU64::new(0),
            served: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            packets: AtomicU64::new(0),
        });
        let listening = Arc::clone(&shared);
        let listening = thread::Builder::new()
            .name("replay".to_owned())
            .spawn(move || listening.listen(&listener))?;
        Ok(Self {
            shared,
            address,
            listening: Some(listening),
        })
    }

    /// Listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stores a packet of the incremental feed. A packet that does not continue the sequence starts a new epoch and
    /// removes the stored ones.
    pub fn keep(&self, sequence: u32, payload: &[u8]) {
        self.shared.stored().push(sequence, payload);
    }

    /// Sets the behaviour for connections from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        *self
            .shared
            .behaviour
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = behaviour;
    }

    /// Totals so far.
    pub fn totals(&self) -> Totals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals {
            connections: read(&self.shared.connections),
            served: read(&self.shared.served),
            refused: read(&self.shared.refused),
            packets: read(&self.shared.packets),
        }
    }
}

impl Drop for ReplayServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection, so that it sees the end.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let (Ok(_), Some(listening)) = (woken, self.listening.take()) {
            // A thread that panicked has printed its message.
            let _ = listening.join();
        }
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let Ok(stream) = stream else {
                // Probably out of file descriptors, for a time; do not retry in a tight loop.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            count(&self.connections);
            if self.connected.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
                self.connected.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let shared = Arc::clone(self);
            let served = thread::Builder::new().spawn(move || {
                // A client that disconnects is not an error here.
                let _ = session::serve(&shared, stream);
                shared.connected.fetch_sub(1, Ordering::Relaxed);
            });
            if served.is_err() {
                self.connected.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn stored(&self) -> std::sync::MutexGuard<'_, StoredPackets> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn behaviour(&self) -> Behaviour {
        *self
            .behaviour
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Behaviour {
    /// All behaviours.
    pub const ALL: [Self; 6] = [
        Self::Ok,
        Self::Refuse,
        Self::Half,
        Self::Slow,
        Self::Close,
        Self::Silent,
    ];

    /// Name in a command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refuse => "refuse",
            Self::Half => "half",
            Self::Slow => "slow",
            Self::Close => "close",
            Self::Silent => "silent",
        }
    }
}

#[cfg(test)]
mod tests;
