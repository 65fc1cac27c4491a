//! Test transport: two lines with faults, and a socket.

use super::addresses::{Addresses, refused};
use super::arguments::Arguments;
use crate::output::Failure;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use touchline_lab::capture::{Feed, Line};
use touchline_lab::claim::Claim;
use touchline_lab::fault::command::Command;
use touchline_lab::fault::forger::{Forger, Injection};
use touchline_lab::fault::stream::{Counts, FaultStream, Setting};
use touchline_net::udp::{Error, Sender, SenderSettings, Sent};

/// Two lines, their faults and destinations.
#[derive(Debug)]
pub struct TestTransport {
    /// Destinations of each feed and line.
    pub addresses: Addresses,
    /// Exclusive claim on the destinations.
    claim: Claim,
    faults: FaultStream,
    forger: Forger,
    out: Out,
}

/// Socket with counts of unsent packets.
#[derive(Debug)]
struct Out {
    settings: SenderSettings,
    sender: Sender,
    /// Destinations of packets that were sent.
    reached: Vec<SocketAddrV4>,
    /// No packet was sent since one to these was refused.
    is_lost: bool,
    /// Packets not sent because the interface was down or gone.
    down: u64,
    /// When the socket was opened last, after the interface was lost: one that comes back may be another one.
    opened: Option<Instant>,
    /// Packets not sent because the kernel's queue was full.
    full: u64,
    /// Packets without a destination.
    nowhere: u64,
    bytes: u64,
    failed: Option<Error>,
}

/// Packets that were not sent, apart from faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent {
    /// The kernel's queue was full.
    pub full: u64,
    /// The interface was down or gone.
    pub down: u64,
    /// The channel has no address for their feed and line.
    pub nowhere: u64,
}

/// Time between two attempts to open the socket while the interface is gone.
const REOPEN: Duration = Duration::from_millis(200);
/// Yields to wait for a full queue before the packet is dropped.
const TRIES_MAX: u32 = 100;

impl TestTransport {
    /// Claims the addresses, opens the socket and sets the initial faults.
    pub fn open(arguments: &Arguments, addresses: Addresses) -> Result<TestTransport, Failure> {
        let claim = addresses.claim(arguments)?;
        let settings = SenderSettings {
            interface: Some(arguments.interface.clone()),
            source: arguments.interface.parse().ok(),
            send_buffer_bytes: 1 << 22,
            ..SenderSettings::default()
        };
        let sender = Sender::open(&settings).map_err(|error| Failure::socket(&error))?;
        let mut faults = FaultStream::new(arguments.seed);
        for command in &arguments.fault {
            if let Command::Fault(setting) = command {
                faults.set(setting, 0);
            }
        }
        Ok(TestTransport {
            addresses,
            claim,
            faults,
            forger: Forger::default(),
            out: Out {
                settings,
                sender,
                reached: Vec::new(),
                is_lost: false,
                down: 0,
                opened: None,
                full: 0,
                nowhere: 0,
                bytes: 0,
                failed: None,
            },
        })
    }

    /// Source address of the packets, if known.
    pub fn host(&self) -> Option<Ipv4Addr> {
        let host = *self.out.sender.address().ip();
        (!host.is_unspecified()).then_some(host)
    }

    /// Sends a packet over both lines.
    pub fn send(&mut self, feed: Feed, payload: &[u8], spared: bool, now_ns: u64) {
        self.forger.note(feed, payload);
        let (addresses, out) = (&self.addresses, &mut self.out);
        let mut out = |line, feed, payload: &[u8]| out.send_on(addresses, line, feed, payload);
        self.faults.send(feed, payload, spared, now_ns, &mut out);
    }

    /// Injects packets once. Returns the packets of each feed, possibly none.
    pub fn inject(&mut self, injection: &Injection, venue_ns: u64) -> Vec<(Feed, Vec<Vec<u8>>)> {
        let (addresses, out) = (&self.addresses, &mut self.out);
        let mut out = |line, feed, payload: &[u8]| out.send_on(addresses, line, feed, payload);
        let mut injected = Vec::new();
        for &feed in &injection.feeds {
            let packets = self.forger.packets(injection.packets, feed, venue_ns);
            for &line in &injection.lines {
                for payload in &packets {
                    self.faults
                        .inject(line, feed, injection.packets, payload, &mut out);
                }
            }
            injected.push((feed, packets));
        }
        injected
    }

    /// Marks a restart of the exchange: earlier packets belong to the previous session.
    pub fn session_over(&mut self) {
        self.forger.session_over();
    }

    /// Sends a packet over one line.
    pub fn send_on(&mut self, line: Line, feed: Feed, payload: &[u8], now_ns: u64) {
        let (addresses, out) = (&self.addresses, &mut self.out);
        let mut out = |line, feed, payload: &[u8]| out.send_on(addresses, line, feed, payload);
        self.faults
            .send_on(line, feed, payload, false, now_ns, &mut out);
    }

    /// Sends a packet to a group outside the channel.
    ///
    /// # Errors
    /// Another simulator sends to it.
    pub fn send_to(&mut self, group: SocketAddrV4, payload: &[u8]) -> Result<(), Failure> {
        self.claim
            .add([group])
            .map_err(|error| refused(&error, "stop one of the two"))?;
        self.out.send_to(group, payload);
        Ok(())
    }

    /// Sends packets that faults have delayed until now.
    pub fn release(&mut self, now_ns: u64) {
        if self.due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            let (addresses, out) = (&self.addresses, &mut self.out);
            let mut out = |line, feed, payload: &[u8]| out.send_on(addresses, line, feed, payload);
            self.faults.release(now_ns, &mut out);
        }
    }

    /// Time of the next delayed packet.
    pub fn due_ns(&self) -> Option<u64> {
        self.faults.due_ns()
    }

    /// Sets a fault.
    pub fn set(&mut self, setting: &Setting, now_ns: u64) {
        self.faults.set(setting, now_ns);
    }

    /// Clears all faults and sends the delayed packets.
    pub fn clear(&mut self, now_ns: u64) {
        self.faults.clear();
        self.release(now_ns);
    }

    /// Counts of sent packets and faults.
    pub fn counts(&self) -> &Counts {
        self.faults.counts()
    }

    /// Counts of unsent packets.
    pub fn unsent(&self) -> Unsent {
        let Out {
            full,
            down,
            nowhere,
            ..
        } = self.out;
        Unsent {
            full,
            down,
            nowhere,
        }
    }

    /// Bytes sent.
    pub fn bytes(&self) -> u64 {
        self.out.bytes
    }

    /// Returns the error that stopped sending, if there was one.
    pub fn check(&mut self) -> Result<(), Failure> {
        self.out
            .failed
            .take()
            .map_or(Ok(()), |error| Err(Failure::run(error)))
    }
}

impl Out {
    fn send_on(&mut self, addresses: &Addresses, line: Line, feed: Feed, payload: &[u8]) {
        match addresses.get(line, feed) {
            Some(address) => self.send_to(address, payload),
            None => self.nowhere += 1,
        }
    }

    fn send_to(&mut self, address: SocketAddrV4, payload: &[u8]) {
        let is_reached = self.reached.contains(&address);
        let has_sent = is_reached || self.is_lost;
        for _ in 0..TRIES_MAX {
            match self.sender.send(address, payload) {
                Ok(Sent::Yes) => {
                    self.bytes += payload.len() as u64;
                    self.is_lost = false;
                    if !is_reached {
                        self.reached.push(address);
                    }
                    return;
                }
                Ok(Sent::Full) => std::thread::yield_now(),
                Err(error) if error.is_of_a_lost_interface(has_sent) => {
                    self.is_lost = has_sent;
                    self.down += 1;
                    self.reopen();
                    return;
                }
                Err(error) => {
                    self.failed.get_or_insert(error);
                    return;
                }
            }
        }
        self.full += 1;
    }

    /// Opens the socket again, at intervals, on the present interface of the name; the old one stays if there is none.
    #[cold]
    fn reopen(&mut self) {
        if self.opened.is_some_and(|opened| opened.elapsed() < REOPEN) {
            return;
        }
        self.opened = Some(Instant::now());
        if let Ok(sender) = Sender::open(&self.settings) {
            self.sender = sender;
        }
    }
}
