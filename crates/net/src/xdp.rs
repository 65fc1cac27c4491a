//! UDP packets from the frames of an interface, without the kernel's network stack (AF_XDP).
//!
//! A program at the driver takes the plain packets of our endpoints and their sources out, and puts them into rings that this
//! process reads. Sockets stay open beside them: they hold the memberships of the groups, and receive what the program passes
//! on (fragments, packets with options, frames with a tag of VLAN 0, queues without a ring), and everything while no program
//! is attached. The program is attached by a descriptor, so that the end of the process, however it comes, detaches it.
//!
//! Needs Linux 5.9, and `CAP_NET_ADMIN`, `CAP_BPF`, `CAP_NET_RAW`. `docs/design/sockets.md` has the reasons and figures.

mod attached;
mod btf;
mod card;
mod checksum;
mod error;
#[allow(unsafe_code, reason = "calls of the kernel take pointers")]
mod kernel;
mod program;
#[allow(unsafe_code, reason = "the kernel shares the rings' memory")]
mod rings;

pub use attached::Mode;
pub use error::Error;
pub use rings::PACKET_BYTES_MAX;

use crate::frame::locate;
use crate::pcap::LinkType;
use crate::udp::{
    self, Control, Endpoint, Latest, Settings, Totals, UdpSource, best_timestamp, named_interface,
    now_ns,
};
use crate::{Look, Packet, PacketSource, Received, TimestampSource};
use attached::Attached;
use card::Card;
use rings::Frame;
use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Lends packets of the rings, and of the sockets beside them; never waits.
///
/// `receive_ns` is the card's time, else that of the poll; it never decreases, as that of [`UdpSource`].
pub struct XdpSource {
    endpoints: Vec<Endpoint>,
    /// One for each interface.
    cards: Vec<Card>,
    sockets: UdpSource,
    /// The next card to look at.
    turn: usize,
    /// Calls since the sockets were polled, when that was, and whether they had a packet.
    calls: u32,
    polled: Instant,
    had_packet: bool,
    timestamps: bool,
    latest: Latest,
    /// Without those of the sockets and of the cards.
    totals: Totals,
    warnings: Vec<String>,
}

/// Calls after which the sockets are polled although the rings have packets. The sockets receive rare packets only, and each poll is a
/// call of the kernel for each socket.
const SOCKETS_EACH: u32 = 512;

/// Maximum age of the last poll of the sockets at which empty rings mean that no packet waits.
const SOCKETS_WITHIN: Duration = Duration::from_micros(20);

/// Discarded packets of a call, so that it ends.
const DISCARDED_MAX: usize = 64;

/// A packet in the rings.
#[derive(Debug)]
struct Found {
    card: usize,
    queue: usize,
    frame: Frame,
    stamp_ns: Option<u64>,
    source: SocketAddrV4,
    destination: SocketAddrV4,
    payload: Range<usize>,
}

impl XdpSource {
    /// Opens the sockets, joins the groups, and attaches a program to the interface of each endpoint.
    ///
    /// # Errors
    /// An endpoint has no interface, the kernel or the driver has no AF_XDP, another program is attached, or this process may
    /// not; and those of [`UdpSource::open`].
    pub fn open(
        endpoints: &[Endpoint],
        settings: &Settings,
        mode: Mode,
    ) -> Result<XdpSource, crate::Error> {
        let sockets = UdpSource::open(endpoints, settings)?;
        let mut warnings: Vec<_> = sockets.warnings().iter().map(ToString::to_string).collect();
        let endpoints = bound(endpoints, &sockets);
        // By index: a name and an address may be of one card, which takes one program.
        let mut of_card: BTreeMap<u32, (&str, Vec<Endpoint>)> = BTreeMap::new();
        for endpoint in &endpoints {
            let interface = endpoint.interface.as_ref().or(settings.interface.as_ref());
            let interface = interface.ok_or(Error::NoInterface)?;
            let (_, index) = named_interface(Some(interface)).ok_or(Error::NoInterface)?;
            let (_, own) = of_card.entry(index).or_insert((interface, Vec::new()));
            own.push(endpoint.clone());
        }
        let cards = of_card.into_values();
        let cards = cards.map(|(interface, own)| Card::open(interface, own, settings, mode));
        let cards = cards.collect::<Result<Vec<_>, _>>()?;
        warnings.extend(cards.iter().filter_map(Card::warning));
        Ok(XdpSource {
            endpoints,
            cards,
            sockets,
            turn: 0,
            calls: 0,
            polled: Instant::now(),
            had_packet: false,
            timestamps: settings.timestamps,
            latest: Latest::default(),
            totals: Totals::default(),
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

    /// How the programs are attached, the generic mode if one is; `None` while an interface is missing.
    pub fn mode(&self) -> Option<Mode> {
        let modes = self
            .cards
            .iter()
            .map(|card| card.attached().map(Attached::mode));
        let modes = modes.collect::<Option<Vec<_>>>()?;
        Some(match modes.contains(&Mode::Generic) {
            true => Mode::Generic,
            false => Mode::Driver,
        })
    }

    /// Whether each frame of every card is asked for the card's time; the driver may have none.
    pub fn asks_for_stamps(&self) -> bool {
        let asks = |card: &Card| card.attached().is_some_and(Attached::has_stamps);
        self.cards.iter().all(asks)
    }

    /// The next frame of a card, in turn.
    #[inline]
    fn next(&mut self) -> Option<(usize, usize, Frame)> {
        for _ in 0..self.cards.len() {
            let card = self.turn;
            self.turn = if card + 1 == self.cards.len() {
                0
            } else {
                card + 1
            };
            if let Some((queue, frame)) = self.cards[card].next() {
                return Some((card, queue, frame));
            }
        }
        None
    }

    /// The bytes of the last frame of a queue.
    #[inline]
    fn bytes(&self, card: usize, queue: usize, frame: Frame) -> &[u8] {
        let attached = self.cards[card].attached();
        attached.expect("a frame of its rings").bytes(queue, frame)
    }

    /// The next packet of the rings that is ours.
    #[inline]
    fn find(&mut self) -> Look<Found> {
        for _ in 0..DISCARDED_MAX {
            let Some((card, queue, frame)) = self.next() else {
                return Look::Nothing;
            };
            match judge(self.bytes(card, queue, frame), &self.endpoints) {
                Ok((source, destination, payload)) => {
                    self.totals.packets += 1;
                    self.totals.bytes += payload.len() as u64;
                    let attached = self.cards[card].attached();
                    let stamp_ns = attached.and_then(|one| one.stamp_ns(queue, frame));
                    return Look::Found(Found {
                        card,
                        queue,
                        frame,
                        stamp_ns,
                        source,
                        destination,
                        payload,
                    });
                }
                Err(Refusal::Foreign) => self.totals.foreign_source += 1,
                Err(Refusal::Damaged) => self.totals.damaged += 1,
            }
        }
        Look::Refused
    }

    /// The card's time, else that of the poll.
    #[inline]
    fn timestamp(&mut self, hardware_ns: Option<u64>) -> (u64, TimestampSource) {
        if !self.timestamps {
            return (now_ns(), TimestampSource::Poll);
        }
        let control = Control {
            hardware_ns,
            ..Control::default()
        };
        best_timestamp(&control, &mut self.totals)
    }

    /// The next packet of the sockets.
    fn find_in_sockets(&mut self) -> Result<Look<udp::Found>, udp::Error> {
        self.calls = 0;
        self.polled = Instant::now();
        let mut look = self.sockets.find()?;
        self.had_packet = !matches!(look, Look::Nothing);
        if let Look::Found(found) = &mut look {
            self.totals.by_sockets +=
                u64::from(self.cards.iter().all(|card| card.attached().is_some()));
            behind_rings(found, &mut self.latest, &mut self.totals);
        }
        Ok(look)
    }
}

impl PacketSource for XdpSource {
    /// The next packet, [`Received::Nothing`] or [`Received::Refused`]; never [`Received::End`].
    ///
    /// If the rings are empty the sockets are polled, too, unless they were empty a moment ago.
    #[inline]
    fn receive(&mut self) -> Result<Received<'_>, crate::Error> {
        self.calls += 1;
        if self.calls >= SOCKETS_EACH
            && let Look::Found(found) = self.find_in_sockets()?
        {
            return Ok(Received::Packet(self.sockets.lend(&found)));
        }
        match self.find() {
            Look::Found(found) => {
                let (stamp_ns, timestamp) = self.timestamp(found.stamp_ns);
                let receive_ns = self.latest.raise(stamp_ns, &mut self.totals);
                return Ok(Received::Packet(Packet {
                    receive_ns,
                    timestamp,
                    destination: found.destination,
                    source: found.source,
                    payload: &self.bytes(found.card, found.queue, found.frame)[found.payload],
                }));
            }
            Look::Refused => return Ok(Received::Refused),
            Look::Nothing => {}
        }
        if !self.had_packet && self.polled.elapsed() <= SOCKETS_WITHIN {
            return Ok(Received::Nothing);
        }
        Ok(match self.find_in_sockets()? {
            Look::Found(found) => Received::Packet(self.sockets.lend(&found)),
            Look::Nothing => Received::Nothing,
            Look::Refused => Received::Refused,
        })
    }

    fn look_after(&mut self) {
        self.sockets.look_after();
        self.cards.iter_mut().for_each(Card::look_after);
    }

    fn tally(&mut self) -> Totals {
        let cards = self.cards.iter().map(Card::totals);
        let rings = cards.fold(self.totals, Totals::plus);
        with_sockets(rings, self.sockets.tally())
    }
}

/// A packet of the sockets has no time before that of an earlier packet of the rings.
fn behind_rings(found: &mut udp::Found, latest: &mut Latest, totals: &mut Totals) {
    let arrived_ns = found.receive_ns;
    found.receive_ns = latest.raise(found.stamp_ns, totals);
    if found.receive_ns != arrived_ns {
        // The time of a packet that arrived later and was read before.
        found.timestamp = TimestampSource::Poll;
    }
}

/// Totals of both. What the sockets have corrected the rings have counted, too: their latest time is that of the sockets or a later one.
fn with_sockets(rings: Totals, sockets: Totals) -> Totals {
    rings.plus(Totals {
        timestamps_raised: 0,
        ..sockets
    })
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
    /// The packet is of a host that the endpoint does not accept.
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
            interface: None,
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

    /// Sockets and rings each correct a time that is before that of an earlier packet of theirs: that is one packet.
    #[test]
    fn a_corrected_time_counts_once() {
        let (mut of_sockets, mut of_rings) = (Totals::default(), Totals::default());
        let (mut sockets, mut rings) = (Latest::default(), Latest::default());
        // From the sockets, or from the rings: own time, the time that it has, corrected so far.
        for (is_of_sockets, stamp_ns, receive_ns, raised) in [
            (true, 100, 100, 0),
            (true, 90, 100, 1),
            (false, 120, 120, 1),
            (true, 95, 120, 2),
            (true, 110, 120, 3),
            (false, 115, 120, 4),
            (true, 130, 130, 4),
        ] {
            let found_ns = match is_of_sockets {
                true => {
                    let mut found = udp::Found {
                        index: 0,
                        stamp_ns,
                        receive_ns: sockets.raise(stamp_ns, &mut of_sockets),
                        timestamp: TimestampSource::Kernel,
                    };
                    behind_rings(&mut found, &mut rings, &mut of_rings);
                    found.receive_ns
                }
                false => rings.raise(stamp_ns, &mut of_rings),
            };
            let totals = with_sockets(of_rings, of_sockets);
            assert_eq!(
                (found_ns, totals.timestamps_raised),
                (receive_ns, raised),
                "{stamp_ns}"
            );
        }
    }
}
