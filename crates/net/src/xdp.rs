//! UDP packets from the frames of an interface, without the kernel's network stack (AF_XDP).
//!
//! A program at the driver takes the plain packets of our endpoints out, and puts them into rings that this process reads.
//! Sockets stay open beside them: they hold the memberships of the groups, and receive what the program passes on, fragments,
//! tagged frames, packets with options, and everything while no program is attached. The program is attached by a
//! descriptor, so that the end of the process, however it comes, detaches it.
//!
//! Needs Linux 5.9, and `CAP_NET_ADMIN`, `CAP_BPF`, `CAP_NET_RAW`. `docs/design/sockets.md` has the reasons and figures.

mod attached;
mod checksum;
mod error;
#[allow(unsafe_code, reason = "calls of the kernel take pointers")]
mod kernel;
mod program;
#[allow(unsafe_code, reason = "the kernel shares the rings' memory")]
mod rings;

pub use error::Error;
pub use rings::PACKET_BYTES_MAX;

use crate::frame::locate;
use crate::pcap::LinkType;
use crate::udp::{self, Endpoint, Latest, Settings, Totals, UdpSource, named_interface, now_ns};
use crate::{Packet, PacketSource, Received, TimestampSource};
use attached::Attached;
use rings::Frame;
use std::net::{SocketAddr, SocketAddrV4};
use std::ops::Range;
use std::time::{Duration, Instant};

/// How a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the driver, before the kernel has made anything of a frame.
    Driver,
    /// By the kernel, for drivers that have no place for a program.
    Generic,
}

/// Lends packets of the rings, and of the sockets beside them; never waits.
///
/// `receive_ns` is the time of the poll, and never decreases, as that of [`UdpSource`].
pub struct XdpSource {
    endpoints: Vec<Endpoint>,
    settings: Settings,
    wanted: Mode,
    /// `None` while the interface is missing: the sockets receive what comes.
    attached: Option<Attached>,
    sockets: UdpSource,
    /// The next queue to look at.
    turn: usize,
    /// Calls since the sockets were polled, when that was, and whether they had a packet.
    calls: u32,
    polled: Instant,
    had_packet: bool,
    latest: Latest,
    /// Without those of the sockets and of the present rings.
    totals: Totals,
    /// The next look at the interface, and the pause after it.
    look: Instant,
    pause: Duration,
    warnings: Vec<String>,
}

/// Calls after which the sockets are polled although the rings have packets. They hold what is rare, and each poll is a call
/// of the kernel for each of them.
const SOCKETS_EACH: u32 = 512;

/// Age of a poll of the sockets after which empty rings do not mean that nothing is there.
const SOCKETS_WITHIN: Duration = Duration::from_micros(20);

/// Discarded packets of a call, so that it ends.
const DISCARDED_MAX: usize = 64;

/// Time after which the queue of a process that has ended is free again.
const FREED_WITHIN: Duration = Duration::from_millis(500);

/// Interval of looks for another interface of the name; of failed attempts to attach, doubled up to the other.
const LOOK_EACH: Duration = Duration::from_secs(1);
const LOOK_EACH_MAX: Duration = Duration::from_secs(64);

/// A packet in the rings.
#[derive(Debug)]
struct Found {
    queue: usize,
    frame: Frame,
    source: SocketAddrV4,
    destination: SocketAddrV4,
    payload: Range<usize>,
}

impl XdpSource {
    /// Opens the sockets, joins the groups, and attaches the program to the interface of the settings.
    ///
    /// # Errors
    /// No interface is named, the kernel or the driver has no AF_XDP, another program is attached, or this process may not; and
    /// those of [`UdpSource::open`].
    pub fn open(
        endpoints: &[Endpoint],
        settings: &Settings,
        mode: Mode,
    ) -> Result<XdpSource, crate::Error> {
        let sockets = UdpSource::open(endpoints, settings)?;
        let mut warnings: Vec<_> = sockets.warnings().iter().map(ToString::to_string).collect();
        let interface = named_interface(settings.interface.as_deref());
        let interface = interface.ok_or(Error::NoInterface)?;
        let endpoints = bound(endpoints, &sockets);
        let attached = Attached::new(interface, &endpoints, settings, mode, FREED_WITHIN)?;
        warnings.extend(attached.warning(mode));
        Ok(XdpSource {
            endpoints,
            settings: settings.clone(),
            wanted: mode,
            attached: Some(attached),
            sockets,
            turn: 0,
            calls: 0,
            polled: Instant::now(),
            had_packet: false,
            latest: Latest::default(),
            totals: Totals::default(),
            look: Instant::now(),
            pause: LOOK_EACH,
            warnings,
        })
    }

    /// Each endpoint with the port that its socket is bound to; urgent ones first.
    pub fn endpoints(&self) -> impl Iterator<Item = SocketAddrV4> + '_ {
        self.endpoints.iter().map(|endpoint| endpoint.address)
    }

    /// Settings that were only partly granted.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How the program is attached; `None` while the interface is missing.
    pub fn mode(&self) -> Option<Mode> {
        self.attached.as_ref().map(Attached::mode)
    }

    /// The next packet of the rings that is ours.
    #[inline]
    fn find(&mut self) -> Option<Found> {
        let attached = self.attached.as_mut()?;
        for _ in 0..DISCARDED_MAX {
            let (queue, frame) = attached.next(&mut self.turn)?;
            let bytes = attached.bytes(queue, frame);
            match judge(bytes, &self.endpoints) {
                Ok((source, destination, payload)) => {
                    self.totals.packets += 1;
                    self.totals.bytes += payload.len() as u64;
                    return Some(Found {
                        queue,
                        frame,
                        source,
                        destination,
                        payload,
                    });
                }
                Err(Refusal::Foreign) => self.totals.foreign_source += 1,
                Err(Refusal::Damaged) => self.totals.damaged += 1,
            }
        }
        None
    }

    /// The next packet of the sockets.
    fn find_in_sockets(&mut self) -> Result<Option<udp::Found>, udp::Error> {
        self.calls = 0;
        self.polled = Instant::now();
        let mut found = self.sockets.find()?;
        self.had_packet = found.is_some();
        if let Some(found) = &mut found {
            let arrived_ns = found.receive_ns;
            found.receive_ns = self.latest.raise(arrived_ns, &mut self.totals);
            if found.receive_ns != arrived_ns {
                // The time at which a later packet was polled.
                found.timestamp = TimestampSource::Poll;
            }
        }
        Ok(found)
    }

    /// The program goes with its interface, and another one of that name gets it.
    fn follow_interface(&mut self) {
        if let Some(attached) = &self.attached {
            if attached.is_there() {
                return;
            }
            self.totals = self.totals.plus(attached.totals());
            self.attached = None;
            self.pause = LOOK_EACH;
        }
        // Meanwhile the sockets receive; their own look joins the groups again.
        let Some(interface) = named_interface(self.settings.interface.as_deref()) else {
            return;
        };
        let (endpoints, settings) = (&self.endpoints, &self.settings);
        let attached = Attached::new(interface, endpoints, settings, self.wanted, Duration::ZERO);
        self.attached = attached.ok();
        if self.attached.is_none() {
            self.pause = (2 * self.pause).min(LOOK_EACH_MAX);
        }
    }
}

impl PacketSource for XdpSource {
    /// The next packet, or [`Received::Nothing`]; never [`Received::End`].
    ///
    /// With nothing in the rings the sockets are polled, too, unless they had nothing a moment ago.
    #[inline]
    fn receive(&mut self) -> Result<Received<'_>, crate::Error> {
        self.calls += 1;
        if self.calls >= SOCKETS_EACH
            && let Some(found) = self.find_in_sockets()?
        {
            return Ok(Received::Packet(self.sockets.lend(&found)));
        }
        if let Some(found) = self.find() {
            let receive_ns = self.latest.raise(now_ns(), &mut self.totals);
            let attached = self.attached.as_ref().expect("a packet of its rings");
            return Ok(Received::Packet(Packet {
                receive_ns,
                timestamp: TimestampSource::Poll,
                destination: found.destination,
                source: found.source,
                payload: &attached.bytes(found.queue, found.frame)[found.payload],
            }));
        }
        let is_due =
            self.had_packet || self.attached.is_none() || self.polled.elapsed() > SOCKETS_WITHIN;
        if is_due && let Some(found) = self.find_in_sockets()? {
            return Ok(Received::Packet(self.sockets.lend(&found)));
        }
        Ok(Received::Nothing)
    }

    fn look_after(&mut self) {
        self.sockets.look_after();
        let now = Instant::now();
        if now >= self.look {
            self.follow_interface();
            self.look = now + self.pause;
        }
    }

    fn tally(&mut self) -> Totals {
        let rings = self.attached.as_ref().map(Attached::totals);
        let totals = self.totals.plus(rings.unwrap_or_default());
        Totals {
            is_detached: self.attached.is_none(),
            ..totals.plus(self.sockets.tally())
        }
    }
}

/// The endpoints in the order of their sockets, with the ports that the kernel chose.
fn bound(endpoints: &[Endpoint], sockets: &UdpSource) -> Vec<Endpoint> {
    let mut ordered = endpoints.to_vec();
    ordered.sort_by_key(|endpoint| !endpoint.urgent);
    for (endpoint, (address, _)) in ordered.iter_mut().zip(sockets.endpoints()) {
        endpoint.address = address;
    }
    ordered
}

/// Why a frame is not lent.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    /// Of a host that the endpoint does not accept.
    Foreign,
    /// Its lengths or checksums are wrong: the kernel would have dropped it.
    Damaged,
}

/// Source, destination and payload of a frame of the program.
#[inline]
fn judge(
    bytes: &[u8],
    endpoints: &[Endpoint],
) -> Result<(SocketAddrV4, SocketAddrV4, Range<usize>), Refusal> {
    const IP: usize = 14;
    const UDP: usize = IP + 20;
    let located = locate(LinkType::ETHERNET, bytes).map_err(|_| Refusal::Damaged)?;
    let (SocketAddr::V4(source), SocketAddr::V4(destination)) =
        (located.source, located.destination)
    else {
        return Err(Refusal::Damaged);
    };
    let wanted = endpoints.iter().find(|one| one.address == destination);
    let accepts = |one: &Endpoint| one.sources.is_empty() || one.sources.contains(source.ip());
    if !wanted.is_some_and(accepts) {
        return Err(Refusal::Foreign);
    }
    match checksum::is_right(bytes, IP, UDP..located.payload.end) {
        true => Ok((source, destination, located.payload)),
        false => Err(Refusal::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::udp_ipv4_frame;

    #[test]
    fn frames_of_strangers_and_damaged_ones_are_refused() {
        let [venue, stranger, group] = ["10.0.0.1:9", "10.0.0.2:9", "239.1.2.3:14310"]
            .map(|text| text.parse::<SocketAddrV4>().expect("an address"));
        let endpoints = [Endpoint {
            address: group,
            sources: vec![*venue.ip()],
            urgent: true,
        }];
        let mut frame = Vec::new();
        udp_ipv4_frame(&mut frame, venue, group, b"payload").expect("short");
        let (source, destination, payload) = judge(&frame, &endpoints).expect("ours");
        assert_eq!((source, destination), (venue, group));
        assert_eq!(&frame[payload], b"payload");
        // Ethernet's padding is not of the datagram.
        let padded = [&frame[..], &[0; 20]].concat();
        assert_eq!(judge(&padded, &endpoints).map(|found| found.2), Ok(42..49));
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert_eq!(judge(&frame, &endpoints), Err(Refusal::Damaged));
        assert_eq!(judge(&frame[..last], &endpoints), Err(Refusal::Damaged));
        udp_ipv4_frame(&mut frame, stranger, group, b"payload").expect("short");
        assert_eq!(judge(&frame, &endpoints), Err(Refusal::Foreign));
    }
}
