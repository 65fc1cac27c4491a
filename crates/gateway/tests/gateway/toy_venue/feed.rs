//! Feed of the test venue, like `feed/<venue>` of a real one. The common arbitration merges its three lines.

use touchline_feed::arbitration::{
    Arbitration, Offered, Restart, Retransmission, Span, Step, Verdict,
};
use touchline_feed::{Batch, BookRules, Feed, Feedback, ReceiveTime, Request};
use touchline_instruments::Instruments;
use touchline_types::{
    BookKind, Code, CounterInfo, Depth, Event, LevelEvent, PacketInfo, Place, Price, Quantity,
    Side, UpdateAction, Validity,
};

/// Sequence numbers of this venue need 64 bits.
pub const FIRST: u64 = (1 << 40) + 1;
pub const DEPTH: Depth = Depth {
    direct: Depth::ALL,
    implied: 0,
};

/// Lines of the venue, and retransmitted packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    A,
    B,
    C,
    Again,
}

/// One packet, one level: number, symbol, bid price; the quantity is 1.
pub fn packet(sequence: u64, symbol: &[u8; 4], price: i64) -> Vec<u8> {
    let mut bytes = sequence.to_be_bytes().to_vec();
    bytes.extend_from_slice(symbol);
    bytes.extend_from_slice(&price.to_be_bytes());
    bytes
}

/// Six packets, of two instruments.
pub fn packets() -> Vec<Vec<u8>> {
    let of = |at: u64| match at % 2 {
        0 => packet(FIRST + at, b"AAPL", 100 + at as i64),
        _ => packet(FIRST + at, b"MSFT", 200 + at as i64),
    };
    (0..6).map(of).collect()
}

#[derive(Debug)]
pub struct ToyFeed {
    arbitration: Arbitration,
    /// A packet that must follow an announcement.
    arrived: Option<Vec<u8>>,
    is_filled: bool,
    pub packets: u64,
    pub copies: u64,
}

impl ToyFeed {
    pub fn new() -> ToyFeed {
        let retransmission = Retransmission {
            wait_ns: u64::MAX,
            numbers_max: 8,
        };
        // A missing packet is requested as soon as the next packet arrives.
        let (wait_ns, room) = (0, (8, 32));
        ToyFeed {
            arbitration: Arbitration::with_room(
                FIRST,
                Restart::Never,
                wait_ns,
                room,
                Some(retransmission),
            ),
            arrived: None,
            is_filled: false,
            packets: 0,
            copies: 0,
        }
    }

    pub fn number(bytes: &[u8]) -> u64 {
        u64::from_be_bytes(bytes[..8].try_into().expect("a number"))
    }

    fn offered(bytes: &[u8], time: ReceiveTime) -> Offered<'_> {
        Offered {
            session: 0,
            span: Span::one(ToyFeed::number(bytes)),
            sending_ns: 0,
            time,
            payload: bytes,
        }
    }

    fn offer(
        &mut self,
        bytes: &[u8],
        time: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) {
        match self.arbitration.offer(ToyFeed::offered(bytes, time)) {
            Verdict::Deliver { .. } => self.process(bytes, instruments, batch),
            Verdict::Duplicate => self.copies += 1,
            Verdict::Buffered => {}
            Verdict::Again => self.arrived = Some(bytes.to_vec()),
            Verdict::Old => unreachable!("there is one session"),
        }
    }

    fn process(&mut self, bytes: &[u8], instruments: &mut Instruments, batch: &mut Batch) {
        self.packets += 1;
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

    fn instruments(&mut self) -> Instruments {
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
        stream: Stream,
        bytes: &[u8],
        time: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize {
        self.arbitration.advance(time.mono_ns);
        if stream == Stream::Again {
            let offered = ToyFeed::offered(bytes, time);
            assert!(self.arbitration.accept_retransmitted(offered));
        } else {
            self.offer(bytes, time, instruments, batch);
        }
        bytes.len()
    }

    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool {
        batch.events.clear();
        while batch.events.is_empty() {
            match self.arbitration.pop() {
                Some(Step::Packet { packet, .. }) => {
                    let bytes = self.arbitration.payload(&packet).to_vec();
                    self.process(&bytes, instruments, batch);
                }
                Some(Step::Lost { first, last }) => batch.events.push(Event::Lost {
                    first,
                    last,
                    is_join: false,
                }),
                Some(Step::Filled) => self.is_filled = true,
                Some(Step::Awaited { .. }) => {}
                Some(Step::Restarted { .. }) => unreachable!("there is one session"),
                None => {
                    let Some(bytes) = self.arrived.take() else {
                        return false;
                    };
                    self.offer(&bytes, ReceiveTime::default(), instruments, batch);
                }
            }
        }
        true
    }

    fn handle_timeout(&mut self, now: ReceiveTime) {
        self.arbitration.advance(now.mono_ns);
    }

    fn wall_stepped(&mut self, _: i64) {}

    fn next_timeout(&self) -> Option<u64> {
        self.arbitration.next_timeout()
    }

    fn finish(&mut self) {
        self.arbitration.finish();
    }

    fn request(&self) -> Option<Request> {
        let (first, last) = self.arbitration.awaited()?;
        Some(Request::Retransmit { first, last })
    }

    fn take_filled(&mut self) -> bool {
        std::mem::take(&mut self.is_filled)
    }

    fn request_failed(&mut self, again_ns: u64) {
        self.arbitration.give_up(again_ns);
    }

    fn feedback(&mut self, _: &Feedback) {}

    fn is_defined(&self) -> bool {
        true
    }
}
