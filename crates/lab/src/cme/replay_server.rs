//! The exchange's TCP replay: a client logs on, asks for packets of the incremental feed by number, and gets them.
//!
//! One connection, one request, as CME's client systems wiki has it ("MDP 3.0 - TCP Recovery"). What goes wrong with
//! such servers can be asked for: see [`Behaviour`].

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

/// How the server behaves to whoever connects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// As it should.
    #[default]
    Ok,
    /// Every request is refused with a reason.
    Refuse,
    /// Half of what was asked for, the last of it cut, and the connection is closed.
    Half,
    /// A packet now and then.
    Slow,
    /// The connection is closed at once.
    Close,
    /// Nothing is ever answered.
    Silent,
}

/// A running server. It ends when it is dropped.
#[derive(Debug)]
pub struct ReplayServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    listening: Option<JoinHandle<()>>,
}

/// What the server did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections taken.
    pub connections: u64,
    /// Requests that were answered with packets, all or half of them.
    pub served: u64,
    /// Logons and requests that were refused.
    pub refused: u64,
    /// Packets sent.
    pub packets: u64,
}

/// The most packets of one request.
pub const REQUEST_PACKETS_MAX: u32 = 2_000;
/// The most connections at a time; further ones are closed.
const CONNECTIONS_MAX: usize = 16;

/// What the threads of a server share.
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
    /// Listens on an address for requests for a channel; port 0 is any free one. The last `packets_max` packets are
    /// kept.
    ///
    /// # Errors
    /// The address is not ours, or taken.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Keeps a packet of the incremental feed. One that does not follow the last one begins a new numbering, and what
    /// was kept before is gone.
    pub fn keep(&self, sequence: u32, payload: &[u8]) {
        self.shared.stored().push(sequence, payload);
    }

    /// Behaves so from now on, to those who connect from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        *self
            .shared
            .behaviour
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = behaviour;
    }

    /// What it did so far.
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
        // Whoever waits for a connection has one now, and sees that it is over.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let (Ok(_), Some(listening)) = (woken, self.listening.take()) {
            // A thread that panicked has said so.
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
                // Out of files, most likely: it passes, and is not to be asked for without end.
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
                // A client that has gone is no error here.
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
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Ok,
        Self::Refuse,
        Self::Half,
        Self::Slow,
        Self::Close,
        Self::Silent,
    ];

    /// Its name in a command.
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
