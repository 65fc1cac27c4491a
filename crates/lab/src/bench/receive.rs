//! Cost of receiving a packet, by method: over the loopback interface, with one sending and one
//! receiving thread.

use super::ipc::{Failed, pin};
use hdrhistogram::Histogram;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_net::udp::{Endpoint, Sender, SenderSettings, Sent, Settings};
use touchline_net::{PacketSource, Received, UdpSource};
use touchline_shm::clock::{Clock, ticks};

/// Parameters of sending and receiving.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name or address of the interface.
    pub interface: String,
    /// Bytes of each packet.
    pub payload_bytes: usize,
    /// Number of receiving groups, of which the first two are polled first; packets are sent to the
    /// first.
    pub groups: u8,
    /// Processors of the receiver and of the sender.
    pub cpus: (usize, usize),
}

/// Cost of packets with pauses between them, nanoseconds.
#[derive(Debug)]
pub struct Paused {
    /// Time of the receive call that returned the packet.
    pub call_ns: Histogram<u64>,
    /// Time from the kernel's timestamp to the end of that call.
    pub network_ns: Histogram<u64>,
}

/// Result of a stream without pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Packets a second that the sender sent.
    pub sent_per_s: f64,
    /// Packets a second that were received.
    pub received_per_s: f64,
    /// Packets that were sent and not received.
    pub lost: u64,
    /// Mean time in receive calls that returned packets, nanoseconds a packet.
    pub call_ns: f64,
}

impl Plan {
    /// Opens a source that receives up to `batch` packets a call.
    pub fn source(&self, batch: usize) -> Result<UdpSource, Failed> {
        let group = |last| Endpoint {
            address: SocketAddrV4::new(Ipv4Addr::new(239, 255, 78, last), 0),
            sources: Vec::new(),
            urgent: last <= 2,
        };
        let groups: Vec<_> = (1..=self.groups.max(1)).map(group).collect();
        let settings = Settings {
            interface: Some(self.interface.clone()),
            batch,
            ..Settings::default()
        };
        Ok(UdpSource::open(&groups, &settings)?)
    }

    fn sender(&self) -> Result<Sender, Failed> {
        Ok(Sender::open(&SenderSettings {
            interface: Some(self.interface.clone()),
            ..SenderSettings::default()
        })?)
    }

    /// Time of polls without a packet, nanoseconds a poll of all groups.
    pub fn empty(&self, source: &mut UdpSource, polls: u64) -> Result<f64, Failed> {
        pin(self.cpus.0)?;
        let start = Instant::now();
        for _ in 0..polls {
            source.receive()?;
        }
        Ok(start.elapsed().as_nanos() as f64 / polls as f64)
    }

    /// Time of receiving packets that already wait, so that each call returns full batches:
    /// nanoseconds a packet.
    pub fn backlog(&self, source: &mut UdpSource, packets: u64) -> Result<f64, Failed> {
        pin(self.cpus.0)?;
        let (to, sender) = (first_address(source), self.sender()?);
        let payload = vec![0; self.payload_bytes];
        for _ in 0..packets {
            insist(&sender, to, &payload)?;
        }
        let start = Instant::now();
        for count in 0..packets {
            if source.receive()?.packet().is_none() {
                return Err(Failed(format!(
                    "{count} of {packets} packets fit the receive buffer; 'sysctl net.core.rmem_max=33554432'"
                )));
            }
        }
        Ok(start.elapsed().as_nanos() as f64 / packets as f64)
    }

    /// Receives packets with a pause after each.
    pub fn paused(
        &self,
        source: &mut UdpSource,
        packets: u64,
        pause: Duration,
        clock: &Clock,
    ) -> Result<Paused, Failed> {
        let mut paused = Paused {
            call_ns: histogram(),
            network_ns: histogram(),
        };
        let mut brought = |call_ns, receive_ns| {
            paused.call_ns.saturating_record(call_ns);
            let network_ns = now_ns().saturating_sub(receive_ns);
            paused.network_ns.saturating_record(network_ns);
        };
        self.run(source, packets, pause, clock, &mut brought)?;
        Ok(paused)
    }

    /// Receives packets that are sent as fast as possible.
    pub fn stream(
        &self,
        source: &mut UdpSource,
        packets: u64,
        clock: &Clock,
    ) -> Result<Stream, Failed> {
        let (mut received, mut calls_ns) = (0_u64, 0_u64);
        let start = Instant::now();
        let mut last = start;
        let mut brought = |call_ns, _| {
            received += 1;
            calls_ns += call_ns;
            last = Instant::now();
        };
        let sending = self.run(source, packets, Duration::ZERO, clock, &mut brought)?;
        Ok(Stream {
            sent_per_s: packets as f64 / sending.as_secs_f64(),
            received_per_s: received as f64 / (last - start).as_secs_f64(),
            // On a busy machine a packet of the previous run may arrive late.
            lost: packets.saturating_sub(received),
            call_ns: calls_ns as f64 / received.max(1) as f64,
        })
    }

    /// Receives the packets of another thread until the thread is done and no more arrive.
    /// `brought` gets the time of each call that returned a packet, and the packet's timestamp.
    /// Returns the time of sending.
    fn run(
        &self,
        source: &mut UdpSource,
        packets: u64,
        pause: Duration,
        clock: &Clock,
        brought: &mut impl FnMut(u64, u64),
    ) -> Result<Duration, Failed> {
        let (to, sender) = (first_address(source), self.sender()?);
        let done = AtomicBool::new(false);
        // A thread starts on the processor of its parent; pin it first, because the parent never
        // sleeps.
        pin(self.cpus.1)?;
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let sent = send(&sender, to, packets, &vec![0; self.payload_bytes], pause);
                // Packets go through the kernel and need no release and acquire.
                done.store(true, Ordering::Release);
                sent
            });
            pin(self.cpus.0)?;
            let mut quiet = Instant::now();
            loop {
                // Before the poll: a thread that was stopped for longer than QUIET still reads the packets in its socket.
                let is_over = done.load(Ordering::Acquire) && quiet.elapsed() >= QUIET;
                let begin = ticks();
                if let Received::Packet(packet) = source.receive()? {
                    let receive_ns = packet.receive_ns;
                    brought(clock.between_ns(begin, ticks()), receive_ns);
                    quiet = Instant::now();
                } else if is_over {
                    break;
                }
            }
            sending
                .join()
                .map_err(|_| Failed("the sending thread panicked".to_owned()))?
        })
    }
}

/// Time without a packet after which no more is expected.
const QUIET: Duration = Duration::from_millis(100);

/// Sends packets with a pause before each; returns the time taken.
fn send(
    sender: &Sender,
    to: SocketAddrV4,
    packets: u64,
    payload: &[u8],
    pause: Duration,
) -> Result<Duration, Failed> {
    let start = Instant::now();
    for number in 0..packets {
        if !pause.is_zero() {
            let due = start + pause.mul_f64((number + 1) as f64);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        insist(sender, to, payload)?;
    }
    Ok(start.elapsed())
}

/// Sends a packet, and retries while the kernel's queue is full.
fn insist(sender: &Sender, to: SocketAddrV4, payload: &[u8]) -> Result<(), Failed> {
    while sender.send(to, payload)? == Sent::Full {
        std::thread::yield_now();
    }
    Ok(())
}

fn first_address(source: &UdpSource) -> SocketAddrV4 {
    let first = source.endpoints().next();
    first.expect("a source has an endpoint").0
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in range")
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_receive_method_receives_every_packet() {
        let plan = Plan {
            interface: "lo".to_owned(),
            payload_bytes: 200,
            groups: 2,
            cpus: (0, 0),
        };
        let clock = Clock::calibrated();
        for batch in [1, 8] {
            let mut source = plan
                .source(batch)
                .expect("the loopback interface takes groups");
            assert!(plan.backlog(&mut source, 100).expect("they fit") > 0.0);
            let pause = Duration::from_micros(50);
            let paused = plan
                .paused(&mut source, 20, pause, &clock)
                .expect("they come");
            assert_eq!((paused.call_ns.len(), paused.network_ns.len()), (20, 20));
            assert!(plan.empty(&mut source, 10).expect("nothing comes") > 0.0);
        }
    }
}
