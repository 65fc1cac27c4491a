//! Cost of receiving a packet, by method: over an interface of this host or virtual cards, with one sending and one
//! receiving thread.

use super::across::{Across, Side, card};
use super::ipc::{Failed, pin};
use hdrhistogram::Histogram;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_net::udp::{Endpoint, Sender, SenderSettings, Sent, Settings};
use touchline_net::xdp::Mode;
use touchline_net::{LiveSource, PacketSource, Received, UdpSource, XdpSource};
use touchline_shm::clock::{Clock, ticks};

/// A way of receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Calls of the kernel, each for at most this number of packets.
    Calls(usize),
    /// One packet a call, which polls the card itself for this number of microseconds.
    BusyPoll(u32),
    /// Frames of the interface.
    Xdp(Mode),
}

/// Network on which packets are sent.
#[derive(Debug)]
pub enum Network {
    /// Over one interface of this host, by name or address.
    Interface(String),
    /// Over virtual cards, a pair for each way.
    Across(Arc<Across>),
}

/// Parameters of sending and receiving.
#[derive(Debug)]
pub struct Plan {
    /// Network on which packets are sent.
    pub network: Network,
    /// Bytes of each packet, at least 8: it begins with the time of its sending.
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
    /// Time from the timestamp of the packet to the end of that call.
    pub network_ns: Histogram<u64>,
    /// Time from the sender's reading of the clock to the end of that call.
    pub sent_ns: Histogram<u64>,
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
    /// Opens a source that receives in one of the ways; with virtual cards it has those of this pair.
    ///
    /// # Errors
    /// The source cannot be opened.
    pub fn source(&self, method: Method, pair: u8) -> Result<(LiveSource, Vec<String>), Failed> {
        let group = |last| Endpoint {
            address: SocketAddrV4::new(Ipv4Addr::new(239, 255, 78, last), 0),
            sources: Vec::new(),
            interface: None,
            urgent: last <= 2,
        };
        let groups: Vec<_> = (1..=self.groups.max(1)).map(group).collect();
        let open = |interface: String| {
            let settings = Settings {
                interface: Some(interface),
                batch: match method {
                    Method::Calls(packets) => packets,
                    Method::BusyPoll(_) | Method::Xdp(_) => 1,
                },
                busy_poll_us: match method {
                    Method::BusyPoll(us) => us,
                    Method::Calls(_) | Method::Xdp(_) => 0,
                },
                ..Settings::default()
            };
            Ok(match method {
                Method::Calls(_) | Method::BusyPoll(_) => {
                    let sockets = UdpSource::open(&groups, &settings)?;
                    let warnings = sockets.warnings().iter().map(ToString::to_string).collect();
                    (LiveSource::Sockets(sockets), warnings)
                }
                Method::Xdp(mode) => {
                    let frames = XdpSource::open(&groups, &settings, mode)?;
                    // Its warnings say that virtual cards have no zero copy.
                    (LiveSource::Frames(frames), Vec::new())
                }
            })
        };
        match &self.network {
            Network::Interface(name) => open(name.clone()),
            Network::Across(across) => {
                across.within(Side::Receives, || open(card(Side::Receives, pair)))
            }
        }
    }

    fn sender(&self, pair: u8) -> Result<Sender, Failed> {
        let open = |interface: String| {
            Ok(Sender::open(&SenderSettings {
                interface: Some(interface),
                ..SenderSettings::default()
            })?)
        };
        match &self.network {
            Network::Interface(name) => open(name.clone()),
            Network::Across(across) => across.within(Side::Sends, || open(card(Side::Sends, pair))),
        }
    }

    /// Time of polls without a packet, nanoseconds a poll of all groups.
    pub fn empty(&self, source: &mut LiveSource, polls: u64) -> Result<f64, Failed> {
        pin(self.cpus.0)?;
        let start = Instant::now();
        for _ in 0..polls {
            source.receive()?;
        }
        Ok(start.elapsed().as_nanos() as f64 / polls as f64)
    }

    /// Time of receiving packets that already wait, so that each call returns full batches:
    /// nanoseconds a packet.
    pub fn backlog(&self, source: &mut LiveSource, pair: u8, packets: u64) -> Result<f64, Failed> {
        pin(self.cpus.0)?;
        let (to, sender) = (first_address(source), self.sender(pair)?);
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
        (source, pair): (&mut LiveSource, u8),
        packets: u64,
        pause: Duration,
        clock: &Clock,
    ) -> Result<Paused, Failed> {
        let mut paused = Paused {
            call_ns: histogram(),
            network_ns: histogram(),
            sent_ns: histogram(),
        };
        let mut brought = |call_ns, receive_ns, sent_ns| {
            let now_ns = now_ns();
            paused.call_ns.saturating_record(call_ns);
            let since = |ns| now_ns.saturating_sub(ns);
            paused.network_ns.saturating_record(since(receive_ns));
            paused.sent_ns.saturating_record(since(sent_ns));
        };
        self.run((source, pair), packets, pause, clock, &mut brought)?;
        Ok(paused)
    }

    /// Receives packets that are sent as fast as possible.
    pub fn stream(
        &self,
        (source, pair): (&mut LiveSource, u8),
        packets: u64,
        clock: &Clock,
    ) -> Result<Stream, Failed> {
        let (mut received, mut calls_ns) = (0_u64, 0_u64);
        let start = Instant::now();
        let mut last = start;
        let mut brought = |call_ns, _, _| {
            received += 1;
            calls_ns += call_ns;
            last = Instant::now();
        };
        let sending = self.run((source, pair), packets, Duration::ZERO, clock, &mut brought)?;
        Ok(Stream {
            sent_per_s: packets as f64 / sending.as_secs_f64(),
            received_per_s: received as f64 / (last - start).as_secs_f64(),
            // On a busy machine a packet of the previous run may arrive late.
            lost: packets.saturating_sub(received),
            call_ns: calls_ns as f64 / received.max(1) as f64,
        })
    }

    /// Receives the packets of another thread until the thread is done and no more arrive.
    /// `brought` gets the time of each call that returned a packet, the packet's timestamp, and the time of its sending.
    /// Returns the time of sending.
    fn run(
        &self,
        (source, pair): (&mut LiveSource, u8),
        packets: u64,
        pause: Duration,
        clock: &Clock,
        brought: &mut impl FnMut(u64, u64, u64),
    ) -> Result<Duration, Failed> {
        let (to, sender) = (first_address(source), self.sender(pair)?);
        let done = AtomicBool::new(false);
        // A thread starts on the processor of its parent; pin it first, because the parent never
        // sleeps.
        pin(self.cpus.1)?;
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let sent = send(
                    &sender,
                    to,
                    packets,
                    &mut vec![0; self.payload_bytes],
                    pause,
                );
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
                    let (receive_ns, sent) = (packet.receive_ns, packet.payload.first_chunk());
                    let sent_ns = sent.map_or(receive_ns, |bytes| u64::from_le_bytes(*bytes));
                    brought(clock.between_ns(begin, ticks()), receive_ns, sent_ns);
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
    payload: &mut [u8],
    pause: Duration,
) -> Result<Duration, Failed> {
    let start = Instant::now();
    for number in 0..packets {
        if !pause.is_zero() {
            let due = start + pause.mul_f64((number + 1) as f64);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        if let Some(time) = payload.first_chunk_mut() {
            *time = now_ns().to_le_bytes();
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

fn first_address(source: &LiveSource) -> SocketAddrV4 {
    source.addresses()[0]
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in range")
}

/// The host's clock, nanoseconds since 1970.
pub(super) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_receive_method_receives_every_packet() {
        let plan = Plan {
            network: Network::Interface("lo".to_owned()),
            payload_bytes: 200,
            groups: 2,
            cpus: (0, 0),
        };
        let clock = Clock::calibrated();
        for batch in [1, 8] {
            let source = plan.source(Method::Calls(batch), 0);
            let (mut source, _) = source.expect("the loopback interface takes groups");
            assert!(plan.backlog(&mut source, 0, 100).expect("they fit") > 0.0);
            let pause = Duration::from_micros(50);
            let paused = plan
                .paused((&mut source, 0), 20, pause, &clock)
                .expect("they come");
            for histogram in [&paused.call_ns, &paused.network_ns, &paused.sent_ns] {
                assert_eq!(histogram.len(), 20);
            }
            assert!(plan.empty(&mut source, 10).expect("nothing comes") > 0.0);
        }
    }
}
