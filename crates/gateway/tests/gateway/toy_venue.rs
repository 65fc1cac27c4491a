//! A venue that nothing of ours knows: a feed of its own, its retransmission, and routes. What lies around them serves any.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::ControlFlow;
use touchline_feed::{Batch, BookRules, Feed, Feedback, ReceiveTime, Request};
use touchline_gateway::live::{FeedLink, Multicast, Work};
use touchline_gateway::replay::{Speed, replay};
use touchline_gateway::{Clocks, Limits, Now, Pipeline, Retransmission, Routes};
use touchline_instruments::Instruments;
use touchline_net::clock::Clock;
use touchline_net::{Error, Packet, PacketSource, Received, TimestampSource};
use touchline_transport::{Local, Mirror, Publish};
use touchline_types::{
    BookKind, Code, CounterInfo, Depth, Event, Instrument, LevelEvent, PacketInfo, Place, Price,
    Quantity, Side, UpdateAction, Validity,
};

/// Numbers of this venue need 64 bits.
const FIRST: u64 = (1 << 40) + 1;
const DEPTH: Depth = Depth {
    direct: Depth::ALL,
    implied: 0,
};

/// The lines of the venue, and what is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stream {
    A,
    B,
    C,
    Again,
}

/// One packet, one level: number, symbol, bid price; the quantity is 1.
fn packet(sequence: u64, symbol: &[u8; 4], price: i64) -> Vec<u8> {
    let mut bytes = sequence.to_be_bytes().to_vec();
    bytes.extend_from_slice(symbol);
    bytes.extend_from_slice(&price.to_be_bytes());
    bytes
}

struct ToyFeed {
    next: u64,
    waiting: Vec<Vec<u8>>,
    is_asking: bool,
    is_filled: bool,
    lost_to: Option<u64>,
    packets: u64,
    copies: u64,
}

impl ToyFeed {
    fn new() -> ToyFeed {
        ToyFeed {
            next: FIRST,
            waiting: Vec::new(),
            is_asking: true,
            is_filled: false,
            lost_to: None,
            packets: 0,
            copies: 0,
        }
    }

    fn number(bytes: &[u8]) -> u64 {
        u64::from_be_bytes(bytes[..8].try_into().expect("a number"))
    }

    fn lowest(&self) -> Option<u64> {
        self.waiting
            .iter()
            .map(|bytes| ToyFeed::number(bytes))
            .min()
    }

    fn process(&mut self, bytes: &[u8], instruments: &mut Instruments, batch: &mut Batch) {
        self.packets += 1;
        self.next += 1;
        batch.delivered += 1;
        batch.packet_info = PacketInfo {
            sequence: ToyFeed::number(bytes),
            ..PacketInfo::default()
        };
        let instrument = instruments.add_symbol(&bytes[8..12], DEPTH);
        let instrument = instrument.expect("there is room");
        let level = LevelEvent {
            instrument,
            orders: -1,
            price: Price(i64::from_be_bytes(bytes[12..].try_into().expect("a price"))),
            quantity: Quantity(1),
            place: Place::Price,
            action: UpdateAction::New,
            side: Side::Bid,
            book: BookKind::Direct,
        };
        batch.events.push(Event::Level(level, Validity::Live));
        batch.events.push(Event::EndOfEvent { transact_ns: 0 });
    }
}

impl Feed for ToyFeed {
    type Source = Stream;

    const TABLES: &'static [&'static [CounterInfo]] = &[];

    fn counted(&self) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }

    fn instruments(&self) -> Instruments {
        Instruments::by_symbol(Code::new(b"TOY").expect("a short name"), 8)
    }

    fn batch(&self) -> Batch {
        Batch::new(8)
    }

    fn book_rules(&self) -> BookRules {
        BookRules {
            missing: Validity::Recovering,
            inconsistent: Validity::Gapped,
        }
    }

    fn handle(
        &mut self,
        _: Stream,
        bytes: &[u8],
        _: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize {
        let number = ToyFeed::number(bytes);
        let waits = self.waiting.iter().any(|other| other == bytes);
        if number < self.next || waits {
            self.copies += 1;
        } else if number == self.next {
            self.process(bytes, instruments, batch);
            self.is_filled |= self.lowest() == Some(self.next);
        } else {
            self.waiting.push(bytes.to_vec());
        }
        bytes.len()
    }

    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool {
        batch.events.clear();
        if let Some(last) = self.lost_to.take() {
            let first = self.next;
            batch.events.push(Event::Lost { first, last });
            self.next = last + 1;
            return true;
        }
        let next = self.next;
        let due = |bytes: &Vec<u8>| ToyFeed::number(bytes) == next;
        let Some(at) = self.waiting.iter().position(due) else {
            return false;
        };
        let bytes = self.waiting.swap_remove(at);
        self.process(&bytes, instruments, batch);
        true
    }

    fn handle_timeout(&mut self, _: ReceiveTime) {}

    fn finish(&mut self) {
        self.request_failed(0);
    }

    fn request(&self) -> Option<Request> {
        let last = self.lowest().filter(|_| self.is_asking)? - 1;
        let first = self.next;
        Some(Request::Retransmit { first, last })
    }

    fn take_filled(&mut self) -> bool {
        std::mem::take(&mut self.is_filled)
    }

    fn request_failed(&mut self, _: u64) {
        self.lost_to = self.lowest().map(|lowest| lowest - 1);
    }

    fn feedback(&mut self, _: &Feedback) {}

    fn is_fresh(&self) -> bool {
        true
    }

    fn is_defined(&self) -> bool {
        true
    }

    fn orders_seen(&self) -> bool {
        false
    }

    fn validity(&self, _: Instrument) -> Validity {
        Validity::Live
    }

    fn orders_validity(&self, _: Instrument) -> Validity {
        Validity::Recovering
    }
}

/// Packets of a list.
struct Sent {
    packets: Vec<(SocketAddrV4, Vec<u8>)>,
    next: usize,
}

impl PacketSource for Sent {
    fn receive(&mut self) -> Result<Received<'_>, Error> {
        let Some((destination, payload)) = self.packets.get(self.next) else {
            return Ok(Received::End);
        };
        self.next += 1;
        Ok(Received::Packet(Packet {
            receive_ns: self.next as u64,
            timestamp: TimestampSource::Kernel,
            destination: *destination,
            source: address(1),
            payload,
        }))
    }
}

/// The venue's own way to send again: it has every packet.
struct Store(Vec<Vec<u8>>);

impl Retransmission<ToyFeed> for Store {
    const TABLE: &'static [CounterInfo] = &[];

    fn counted(_: Option<&Store>) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }

    fn poll<P: Publish>(&mut self, pipeline: &mut Pipeline<ToyFeed, P>, now: Now) {
        while let Some(Request::Retransmit { first, .. }) = pipeline.request() {
            let is_it = |bytes: &&Vec<u8>| ToyFeed::number(bytes) == first;
            let bytes = self.0.iter().find(is_it).expect("it has every packet");
            pipeline.packet_at(Stream::Again, bytes, now.time, 0);
        }
    }
}

fn address(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(239, 0, 0, 1), port)
}

/// Three lines.
fn routes() -> Routes<Stream> {
    let lines = [(9, Stream::C), (7, Stream::A), (8, Stream::B)];
    let routes = lines.map(|(port, stream)| (address(port), stream));
    Routes::new(routes.to_vec()).expect("three addresses")
}

type Path = Pipeline<ToyFeed, Local<Mirror>>;

fn path() -> Path {
    let limits = Limits {
        instruments_max: 8,
        orders_max: 1,
        event_changes_max: 8,
        default_depth: DEPTH,
        levels_max: 16,
    };
    Pipeline::new(ToyFeed::new(), Local::new(Mirror::new(8, 1)), limits)
}

fn packets() -> Vec<Vec<u8>> {
    let of = |at: u64| match at % 2 {
        0 => packet(FIRST + at, b"AAPL", 100 + at as i64),
        _ => packet(FIRST + at, b"MSFT", 200 + at as i64),
    };
    (0..6).map(of).collect()
}

/// Best bids of both instruments, and what they are seen as.
#[track_caller]
fn shown(path: &Path, expected: [(i64, Validity); 2]) {
    let mirror = &path.publisher().subscriber;
    for (symbol, (price, validity)) in [b"AAPL", b"MSFT"].into_iter().zip(expected) {
        let instrument = path.instruments().find_symbol(symbol).expect("it is known");
        let book = path.prices().get(instrument).expect("it has a book");
        assert_eq!(book.best(Side::Bid).map(|level| level.price.0), Some(price));
        assert_eq!(mirror.validity(instrument), validity);
    }
}

#[test]
fn captures_of_any_venue_are_replayed() {
    let mut sent = Vec::new();
    for (at, bytes) in packets().into_iter().enumerate() {
        // Each line loses some; line B comes late.
        if at != 2 {
            sent.push((address(7), bytes.clone()));
        }
        sent.push((address(9), bytes));
    }
    sent.push((address(99), vec![1, 2, 3]));
    let mut source = Sent {
        packets: sent,
        next: 0,
    };
    let mut path = path();
    let see = |_: &Packet<'_>, _| ControlFlow::Continue(());
    let report = replay(
        &mut source,
        &routes(),
        &mut path,
        Speed::Max,
        &mut None,
        see,
    )
    .expect("the source ends");
    assert_eq!(report.packets[&Stream::A], 5);
    assert_eq!(report.unrouted[&address(99)], 1);
    shown(&path, [(104, Validity::Live), (205, Validity::Live)]);
    assert_eq!((path.feed().packets, path.feed().copies), (6, 5));
}

/// What all lines lose is asked for in the venue's way, with numbers of 64 bits; where there is none it is lost.
#[test]
fn sockets_and_retransmission_serve_any_venue() {
    let lossy = |line: u16| {
        let kept = packets().into_iter().enumerate();
        let kept = kept.filter(|(at, _)| ![2, 3].contains(at));
        kept.map(move |(_, bytes)| (address(line), bytes)).collect()
    };
    let clock = Clock::calibrated();
    let clocks = Clocks::new(clock, std::time::Duration::from_millis(1));
    let now = clocks.now(touchline_net::clock::ticks());

    let source = |packets| Sent { packets, next: 0 };
    let mut asking = Multicast::new(source(lossy(8)), routes(), Some(Store(packets())));
    let mut path_asking = path();
    while asking.receive(&mut path_asking, &clocks).expect("no error") != Work::None {}
    let awaited = Request::Retransmit {
        first: FIRST + 2,
        last: FIRST + 3,
    };
    assert_eq!(path_asking.request(), Some(awaited));
    asking.control(&mut path_asking, now);
    assert!(path_asking.take_filled());
    shown(&path_asking, [(104, Validity::Live), (205, Validity::Live)]);

    let mut alone = Multicast::<_, ToyFeed, Infallible>::new(source(lossy(8)), routes(), None);
    let mut path_alone = path();
    while alone.receive(&mut path_alone, &clocks).expect("no error") != Work::None {}
    alone.control(&mut path_alone, now);
    path_alone.finish();
    // Confirmed again by the packets behind the loss: the toy venue calls every level live.
    shown(&path_alone, [(104, Validity::Live), (205, Validity::Live)]);
    assert_eq!(
        (path_alone.feed().packets, path_alone.feed().copies),
        (4, 0)
    );
}
