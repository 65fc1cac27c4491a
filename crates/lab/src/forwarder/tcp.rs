//! TCP forwarder between two hosts: small segments, delays, and connections that are reset after a number of bytes, by seed.
//!
//! One thread, which ends with the value.

use super::{PAUSE, lock};
use crate::random::Random;
use socket2::SockRef;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Faults that the forwarder adds to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFaults {
    /// Longest segment: bytes are sent on in segments of random lengths from 1 to this.
    pub segment_bytes_max: usize,
    /// Longest delay of a segment. Segments stay in order.
    pub delay_max: Duration,
    /// Most bytes to the client before both sides of a connection are reset, at a random place; never if absent.
    pub reset_bytes_max: Option<u64>,
}

/// A forwarder at work.
#[derive(Debug)]
pub struct TcpForwarder {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

/// Counts of one forwarder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpForwarded {
    /// Connections.
    pub connections: u64,
    /// Connections that were reset.
    pub resets: u64,
    /// Segments sent on, of both directions.
    pub segments: u64,
    /// Bytes sent on, of both directions.
    pub bytes: u64,
}

#[derive(Debug)]
struct Shared {
    is_stopped: AtomicBool,
    faults: Mutex<TcpFaults>,
    forwarded: Mutex<TcpForwarded>,
}

/// Bytes that wait in one direction, at most: beyond this the sender waits.
const QUEUE_BYTES_MAX: usize = 256 * 1024;

impl TcpForwarder {
    /// Forwards connections to [`address`](Self::address), on the loopback, to `to`.
    ///
    /// # Errors
    /// Sockets that the system refuses.
    pub fn start(to: SocketAddr, faults: TcpFaults, seed: u64) -> io::Result<TcpForwarder> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            is_stopped: AtomicBool::new(false),
            faults: Mutex::new(faults),
            forwarded: Mutex::default(),
        });
        let thread = thread::Builder::new().name("forwarder".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || run(&listener, to, &shared, Random::from_seed(seed))
        })?;
        Ok(TcpForwarder {
            shared,
            address,
            thread: Some(thread),
        })
    }

    /// Address to which clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the faults, also of connections that exist; bytes until their reset count from now.
    pub fn set(&self, faults: TcpFaults) {
        *lock(&self.shared.faults) = faults;
    }

    /// Counts so far.
    pub fn forwarded(&self) -> TcpForwarded {
        *lock(&self.shared.forwarded)
    }
}

impl Drop for TcpForwarder {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panicked thread has printed its message.
            let _ = thread.join();
        }
    }
}

fn run(listener: &TcpListener, to: SocketAddr, shared: &Shared, mut random: Random) {
    let mut pairs: Vec<Pair> = Vec::new();
    while !shared.is_stopped.load(Ordering::Relaxed) {
        let faults = *lock(&shared.faults);
        let mut forwarded = *lock(&shared.forwarded);
        let before = forwarded;
        while let Ok((client, _)) = listener.accept() {
            forwarded.connections += 1;
            // Without a server the client is disconnected, as by its host.
            pairs.extend(Pair::connect(client, to));
        }
        pairs.retain_mut(|pair| pair.work(&faults, &mut random, &mut forwarded));
        *lock(&shared.forwarded) = forwarded;
        if forwarded == before {
            thread::sleep(PAUSE);
        }
    }
}

/// A connection.
#[derive(Debug)]
struct Pair {
    /// To the server, and to the client.
    directions: [Direction; 2],
    /// Faults for which the place of the reset was chosen.
    faults: Option<TcpFaults>,
    bytes_until_reset: Option<u64>,
}

/// One direction.
#[derive(Debug)]
struct Direction {
    input: TcpStream,
    output: TcpStream,
    /// Segments, each with the time of its release.
    queue: VecDeque<(Instant, Vec<u8>)>,
    queued_bytes: usize,
    has_ended: bool,
}

impl Pair {
    fn connect(client: TcpStream, to: SocketAddr) -> io::Result<Pair> {
        let server = TcpStream::connect(to)?;
        for stream in [&client, &server] {
            stream.set_nonblocking(true)?;
            // A segment is sent at once, not merged with others.
            stream.set_nodelay(true)?;
        }
        let direction = |input: &TcpStream, output: &TcpStream| -> io::Result<Direction> {
            Ok(Direction {
                input: input.try_clone()?,
                output: output.try_clone()?,
                queue: VecDeque::new(),
                queued_bytes: 0,
                has_ended: false,
            })
        };
        Ok(Pair {
            directions: [direction(&client, &server)?, direction(&server, &client)?],
            faults: None,
            bytes_until_reset: None,
        })
    }

    /// Reads and sends what can be; `false` if the connection has ended.
    fn work(
        &mut self,
        faults: &TcpFaults,
        random: &mut Random,
        forwarded: &mut TcpForwarded,
    ) -> bool {
        if self.faults.replace(*faults) != Some(*faults) {
            let place = |most: u64| 1 + random.below(most);
            self.bytes_until_reset = faults.reset_bytes_max.map(place);
        }
        for (number, direction) in self.directions.iter_mut().enumerate() {
            direction.read(faults, random);
            let mut limit = self.bytes_until_reset.filter(|_| number == 1);
            direction.send(limit.as_mut(), forwarded);
            if limit.is_some() {
                self.bytes_until_reset = limit;
            }
        }
        if self.bytes_until_reset == Some(0) {
            forwarded.resets += 1;
            for direction in &self.directions {
                // A close with this option sends a reset, and drops what waits.
                let _ = SockRef::from(&direction.output).set_linger(Some(Duration::ZERO));
            }
            return false;
        }
        let has_ended = |direction: &Direction| direction.has_ended && direction.queue.is_empty();
        !self.directions.iter().any(has_ended)
    }
}

impl Direction {
    /// Reads, and cuts the received bytes into segments with their delays.
    fn read(&mut self, faults: &TcpFaults, random: &mut Random) {
        let mut bytes = [0; 16 * 1024];
        while !self.has_ended && self.queued_bytes < QUEUE_BYTES_MAX {
            let length = match self.input.read(&mut bytes) {
                Ok(0) => 0,
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => 0,
            };
            self.has_ended = length == 0;
            self.queued_bytes += length;
            let now = Instant::now();
            let mut rest = &bytes[..length];
            while !rest.is_empty() {
                let most = faults.segment_bytes_max.clamp(1, rest.len());
                let (segment, after) = rest.split_at(1 + random.index(most));
                let delay_ns = random.below(faults.delay_max.as_nanos() as u64 + 1);
                let before = self.queue.back().map_or(now, |(at, _)| *at);
                let at = before.max(now + Duration::from_nanos(delay_ns));
                self.queue.push_back((at, segment.to_vec()));
                rest = after;
            }
        }
    }

    /// Sends the segments that are due, each with a write of its own, and no more bytes than the limit.
    fn send(&mut self, mut limit: Option<&mut u64>, forwarded: &mut TcpForwarded) {
        let now = Instant::now();
        while let Some((at, segment)) = self.queue.front_mut() {
            let most = limit.as_deref().map_or(usize::MAX, |limit| *limit as usize);
            if *at > now || most == 0 {
                return;
            }
            let sent = match self.output.write(&segment[..segment.len().min(most)]) {
                Ok(sent) => sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.has_ended = true;
                    self.queue.clear();
                    return;
                }
            };
            forwarded.segments += 1;
            forwarded.bytes += sent as u64;
            self.queued_bytes -= sent;
            if let Some(limit) = &mut limit {
                **limit -= sent as u64;
            }
            segment.drain(..sent);
            if segment.is_empty() {
                self.queue.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_testing::{PATIENCE, until};

    /// A server that answers with these bytes, and its address.
    fn server(bytes: Vec<u8>) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        let address = listener.local_addr().expect("it is bound");
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let mut client = client;
                let mut request = [0; 4];
                let _ = client.read_exact(&mut request);
                let _ = client.write_all(&bytes);
            }
        });
        address
    }

    /// Bytes that a client receives, and the error at their end.
    fn received(forwarder: &TcpForwarder) -> (Vec<u8>, Option<ErrorKind>) {
        let mut client = TcpStream::connect(forwarder.address()).expect("it listens");
        client.write_all(b"give").expect("it is sent");
        let mut bytes = Vec::new();
        let end = client.read_to_end(&mut bytes);
        (bytes, end.err().map(|error| error.kind()))
    }

    #[test]
    fn bytes_pass_in_order_in_small_segments_and_a_reset_ends_the_connection_at_its_place() {
        let bytes: Vec<u8> = (0..50_000_u32).map(|at| (at % 251) as u8).collect();
        let faults = TcpFaults {
            segment_bytes_max: 7,
            delay_max: Duration::from_micros(10),
            reset_bytes_max: None,
        };
        let forwarder = TcpForwarder::start(server(bytes.clone()), faults, 3).expect("sockets");
        assert_eq!(received(&forwarder), (bytes.clone(), None));
        // The forwarder counts after it sends.
        let counted = |what: fn(&TcpForwarded) -> bool| {
            until("the counters", PATIENCE, || {
                let forwarded = forwarder.forwarded();
                match what(&forwarded) {
                    true => Ok(()),
                    false => Err(forwarded),
                }
            });
        };
        counted(|counts| {
            (counts.bytes, counts.resets) == (50_004, 0) && counts.segments > 50_000 / 7
        });

        let reset_bytes_max = Some(20_000);
        forwarder.set(TcpFaults {
            reset_bytes_max,
            ..faults
        });
        for _ in 0..3 {
            let (got, end) = received(&forwarder);
            assert_eq!(end, Some(ErrorKind::ConnectionReset));
            assert!(
                got.len() <= 20_000 && bytes.starts_with(&got),
                "{}",
                got.len()
            );
        }
        counted(|counts| counts.resets == 3);
    }
}
