//! Forwarders between two hosts: [TCP](TcpForwarder), and UDP with loss, delay, duplication, reordering and outages by seed, in both directions.
//!
//! The faults are those of [`FaultStream`]: data passes as its line A, answers as its line B. One thread, which ends with the value.

mod tcp;

pub use tcp::{TcpFaults, TcpForwarded, TcpForwarder};

use crate::capture::{Feed, Line};
use crate::fault::stream::{Fault, FaultStream, Setting};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A forwarder at work.
#[derive(Debug)]
pub struct Forwarder {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

/// Datagrams of one forwarder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// Data sent on, copies included.
    pub data: u64,
    /// Answers sent on, copies included.
    pub answers: u64,
    /// Lost, of both.
    pub lost: u64,
    /// Duplicated, delayed or reordered, of both directions.
    pub disturbed: u64,
}

#[derive(Debug, Default)]
struct Shared {
    is_stopped: AtomicBool,
    is_down: AtomicBool,
    lost_while_down: AtomicU64,
    /// Faults to be set.
    faults: Mutex<Option<Vec<Fault>>>,
    forwarded: Mutex<Forwarded>,
}

/// One direction. Where `to` is `None`, datagrams go to the host that data came from last.
#[derive(Debug)]
struct Direction {
    input: UdpSocket,
    output: UdpSocket,
    to: Option<SocketAddr>,
}

/// Longest pause of a forwarder that has nothing to do.
const PAUSE: Duration = Duration::from_micros(100);
/// Longest datagram.
const BYTES_MAX: usize = 65_536;

impl Forwarder {
    /// Forwards datagrams for [`address`](Self::address), on the loopback, to `to`, and the answers back.
    ///
    /// # Errors
    /// Sockets that the system refuses.
    pub fn unicast(to: SocketAddr, seed: u64) -> io::Result<Forwarder> {
        let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = near.local_addr()?;
        let data = Direction {
            input: near.try_clone()?,
            output: far.try_clone()?,
            to: Some(to),
        };
        let answers = Direction {
            input: far,
            output: near,
            to: None,
        };
        Forwarder::start([data, answers], address, seed)
    }

    /// Forwards data from one group of the loopback to another one, and answers from the group above `to` to the group above `from`:
    /// Aeron's receivers report there. The ports must differ: a receiver of Aeron takes every group of its port.
    ///
    /// # Errors
    /// Sockets that the system refuses.
    pub fn multicast(from: SocketAddrV4, to: SocketAddrV4, seed: u64) -> io::Result<Forwarder> {
        let direction = |from: SocketAddrV4, to: SocketAddrV4| -> io::Result<Direction> {
            let input = listen(from)?;
            // A socket that is bound to an address of an interface sends to groups through that interface.
            let output = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            let to = Some(SocketAddr::V4(to));
            Ok(Direction { input, output, to })
        };
        let directions = [direction(from, to)?, direction(above(to), above(from))?];
        Forwarder::start(directions, SocketAddr::V4(from), seed)
    }

    fn start(directions: [Direction; 2], address: SocketAddr, seed: u64) -> io::Result<Forwarder> {
        for direction in &directions {
            direction.input.set_nonblocking(true)?;
        }
        let shared = Arc::new(Shared::default());
        let thread = thread::Builder::new().name("forwarder".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || forward(&directions, &shared, FaultStream::new(seed))
        })?;
        Ok(Forwarder {
            shared,
            address,
            thread: Some(thread),
        })
    }

    /// Destination of data.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets faults of both directions; kinds that are not given stay as they are.
    pub fn set(&self, faults: &[Fault]) {
        let mut waiting = lock(&self.shared.faults);
        waiting.get_or_insert_default().extend(faults);
    }

    /// The link is down, or up again: a link that is down loses everything.
    pub fn set_down(&self, is_down: bool) {
        self.shared.is_down.store(is_down, Ordering::Relaxed);
    }

    /// Counts of forwarded datagrams.
    pub fn forwarded(&self) -> Forwarded {
        let mut forwarded = *lock(&self.shared.forwarded);
        forwarded.lost += self.shared.lost_while_down.load(Ordering::Relaxed);
        forwarded
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panicked thread has printed its message.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A member of a group, beside other sockets of its port: Aeron's sender has one.
fn listen(group: SocketAddrV4) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::V4(group).into())?;
    socket.join_multicast_v4(group.ip(), &Ipv4Addr::LOCALHOST)?;
    Ok(socket.into())
}

fn above(group: SocketAddrV4) -> SocketAddrV4 {
    SocketAddrV4::new((u32::from(*group.ip()) + 1).into(), group.port())
}

fn forward(directions: &[Direction; 2], shared: &Shared, mut stream: FaultStream) {
    let start = Instant::now();
    let mut bytes = vec![0; BYTES_MAX];
    // Last source of data.
    let mut near: Option<SocketAddr> = None;
    while !shared.is_stopped.load(Ordering::Relaxed) {
        let now_ns = start.elapsed().as_nanos() as u64;
        for fault in lock(&shared.faults).take().into_iter().flatten() {
            let setting = Setting {
                lines: Line::BOTH.to_vec(),
                feeds: vec![Feed::Incremental],
                fault,
            };
            stream.set(&setting, now_ns);
        }
        let mut is_idle = true;
        for (direction, line) in directions.iter().zip(Line::BOTH) {
            // A datagram to a closed port is an error of the next call; the call after that continues.
            while let Ok((length, from)) = direction.input.recv_from(&mut bytes) {
                is_idle = false;
                if line == Line::A {
                    near = Some(from);
                }
                if shared.is_down.load(Ordering::Relaxed) {
                    shared.lost_while_down.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                let payload = &bytes[..length];
                let mut out =
                    |line: Line, _: Feed, payload: &[u8]| send(directions, line, near, payload);
                stream.send_on(line, Feed::Incremental, payload, false, now_ns, &mut out);
            }
        }
        stream.release(now_ns, &mut |line, _, payload| {
            send(directions, line, near, payload);
        });
        count(&stream, shared);
        if is_idle {
            thread::sleep(PAUSE);
        }
    }
}

fn send(directions: &[Direction; 2], line: Line, near: Option<SocketAddr>, payload: &[u8]) {
    let direction = &directions[line as usize];
    if let Some(to) = direction.to.or(near) {
        // Datagrams that the system does not accept are lost, as on a network.
        let _ = direction.output.send_to(payload, to);
    }
}

fn count(stream: &FaultStream, shared: &Shared) {
    let counts = stream.counts();
    let sent = |line: Line| counts.sent[line as usize][Feed::Incremental as usize];
    let struck = |names: &[&str]| -> u64 {
        let named = crate::fault::stream::FAULT_NAMES.iter().zip(counts.struck);
        let named = named.filter(|(name, _)| names.contains(name));
        named.map(|(_, lines)| lines[0] + lines[1]).sum()
    };
    *lock(&shared.forwarded) = Forwarded {
        data: sent(Line::A),
        answers: sent(Line::B),
        lost: struck(&["outage", "drop", "burst"]),
        disturbed: struck(&["duplicate", "reorder", "delay"]),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_testing::{PATIENCE, until};

    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a timeout");
        socket
    }

    #[test]
    fn data_and_answers_pass_and_faults_are_counted() {
        let (sender, receiver) = (socket(), socket());
        let to = receiver.local_addr().expect("it is bound");
        let forwarder = Forwarder::unicast(to, 7).expect("sockets");
        let mut bytes = [0; 16];
        sender
            .send_to(b"data", forwarder.address())
            .expect("it goes");
        let (length, from) = receiver.recv_from(&mut bytes).expect("it arrives");
        assert_eq!(&bytes[..length], b"data");
        receiver.send_to(b"answer", from).expect("it goes");
        let (length, _) = sender.recv_from(&mut bytes).expect("it arrives");
        assert_eq!(&bytes[..length], b"answer");

        forwarder.set(&[Fault::Drop { share: 0.5 }]);
        until("20 losses", PATIENCE, || {
            sender.send_to(b"x", forwarder.address()).expect("it goes");
            forwarder.forwarded().lost >= 20
        });
        let forwarded = forwarder.forwarded();
        assert!(
            forwarded.data > 5 && forwarded.answers == 1,
            "{forwarded:?}"
        );
    }

    #[test]
    fn a_link_that_is_down_loses_everything() {
        let (sender, receiver) = (socket(), socket());
        let to = receiver.local_addr().expect("it is bound");
        let forwarder = Forwarder::unicast(to, 8).expect("sockets");
        forwarder.set_down(true);
        sender
            .send_to(b"lost", forwarder.address())
            .expect("it goes");
        until("a loss", PATIENCE, || forwarder.forwarded().lost > 0);
        forwarder.set_down(false);
        sender.send_to(b"up", forwarder.address()).expect("it goes");
        let mut bytes = [0; 16];
        let (length, _) = receiver.recv_from(&mut bytes).expect("it arrives");
        assert_eq!(&bytes[..length], b"up");
    }

    #[test]
    fn a_group_is_forwarded_to_another_one() {
        let port = || socket().local_addr().expect("it is bound").port();
        let ports = [port(), port()];
        let group = |last, port| SocketAddrV4::new(Ipv4Addr::new(239, 255, 93, last), port);
        let (near, far) = (group(1, ports[0]), group(5, ports[1]));
        let forwarder = Forwarder::multicast(near, far, 9).expect("sockets");
        let member = |group| {
            let socket = listen(group).expect("a member");
            socket
                .set_read_timeout(Some(Duration::from_secs(10)))
                .expect("a timeout");
            socket
        };
        let (receiver, reports) = (member(far), member(above(near)));
        let sender = socket();
        sender.send_to(b"data", near).expect("it goes");
        let mut bytes = [0; 16];
        let (length, _) = receiver.recv_from(&mut bytes).expect("it arrives");
        assert_eq!(&bytes[..length], b"data");
        sender.send_to(b"report", above(far)).expect("it goes");
        let (length, _) = reports.recv_from(&mut bytes).expect("it arrives");
        assert_eq!(&bytes[..length], b"report");
        assert_eq!(forwarder.forwarded().lost, 0);
    }
}
