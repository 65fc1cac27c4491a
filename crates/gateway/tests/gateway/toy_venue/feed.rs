//! The toy venue's feed, as `feed/<venue>` is for a real one.

use touchline_feed::{Batch, BookRules, Feed, Feedback, ReceiveTime, Request};
use touchline_instruments::Instruments;
use touchline_types::{
    BookKind, Code, CounterInfo, Depth, Event, LevelEvent, PacketInfo, Place, Price, Quantity,
    Side, UpdateAction, Validity,
};

/// Numbers of this venue need 64 bits.
pub const FIRST: u64 = (1 << 40) + 1;
pub const DEPTH: Depth = Depth {
    direct: Depth::ALL,
    implied: 0,
};

/// The lines of the venue, and what is sent again.
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

/// Six of them, of two instruments.
pub fn packets() -> Vec<Vec<u8>> {
    let of = |at: u64| match at % 2 {
        0 => packet(FIRST + at, b"AAPL", 100 + at as i64),
        _ => packet(FIRST + at, b"MSFT", 200 + at as i64),
    };
    (0..6).map(of).collect()
}

#[derive(Debug)]
pub struct ToyFeed {
    next: u64,
    waiting: Vec<Vec<u8>>,
    is_asking: bool,
    is_filled: bool,
    lost_to: Option<u64>,
    pub packets: u64,
    pub copies: u64,
}

impl ToyFeed {
    pub fn new() -> ToyFeed {
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

    pub fn number(bytes: &[u8]) -> u64 {
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

    fn next_timeout(&self) -> Option<u64> {
        None
    }

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

    fn is_defined(&self) -> bool {
        true
    }
}
