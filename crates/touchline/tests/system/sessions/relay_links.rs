//! Whole sessions over real links: a gateway's bus, a sender, a carrier, a receiver and its bus, in real time.
//!
//! At the end, and whenever a receiver has joined, a reader at B has the same state as a reader at A.

use crate::sessions::path::{agrees, channel};
use crate::sessions::relay::{
    BusPath, MS, arrivals, book, bus_settings, orders, path, receiver_settings,
};
use std::time::{Duration, Instant};
use touchline_lab::capture::Arrival;
use touchline_lab::forwarder::{TcpFaults, TcpForwarder};
#[cfg(feature = "aeron")]
use touchline_relay::Cyclic;
use touchline_relay::Source;
use touchline_relay::link::ReceiveLink;
use touchline_relay::link::tcp::{TcpReceive, TcpSend, TcpSendSettings};
use touchline_relay::run::{ReceiveSettings, Receiving, RunEvent, SendSettings, Sending, Work};
use touchline_testing::Folder;
use touchline_transport::shm::{
    self, Activity, CountersFile, CountersView, Publisher, Root, Subscriber,
};
use touchline_transport::{Mirror, Publish, boot_ns};
use touchline_types::{Instrument, Level, Price, Quantity, Validity};

/// Instruments that sessions define, at most.
const INSTRUMENTS: u32 = 256;
/// How long books may differ on a loaded host.
const PATIENCE: Duration = Duration::from_secs(300);

/// Time between two packets of a session.
const PACE: Duration = Duration::from_micros(50);

/// A session, its buses, and the links between them.
pub struct Session {
    what: String,
    folder: Folder,
    path: BusPath,
    arrivals: std::vec::IntoIter<Arrival>,
    packets: usize,
    send: Box<dyn Work>,
    /// Receivers, each with its bus: `b0`, `b1`...
    receivers: Vec<Box<dyn Work>>,
    /// A receiver that stands still, as a process that is stopped.
    pub stopped: Option<usize>,
    events: Vec<RunEvent>,
}

impl Session {
    /// A session of a seed, with the sender that `send` begins.
    pub fn new(name: &str, seed: u64, send: impl FnOnce(SendSettings) -> Box<dyn Work>) -> Session {
        let folder = Folder::new(&format!("{name}-{seed}"));
        let root = Root::at(&folder);
        let mut bus =
            Publisher::open(&root, "a", &bus_settings(4 * 1024 * 1024)).expect("a new bus");
        // As a gateway's: they say that the data is of this host.
        CountersFile::create(bus.lock(), 1.0, [], []).expect("a file");
        bus.state_activity(Activity {
            at_ns: boot_ns(),
            timeout_ns: 3_600_000 * MS,
        });
        let settings = SendSettings {
            root: root.clone(),
            bus: "a".to_owned(),
            source: Source::named("a").expect("a name"),
            forward: false,
            batch_bytes_max: 1_344,
            heartbeat_ns: 100 * MS,
            cyclic: None,
            name: format!("relay-{name}"),
        };
        let arrivals = arrivals(seed);
        Session {
            what: format!("{name}, seed {seed}"),
            folder,
            path: path(bus),
            packets: arrivals.len(),
            arrivals: arrivals.into_iter(),
            send: send(settings),
            receivers: Vec::new(),
            stopped: None,
            events: Vec::new(),
        }
    }

    /// Begins the receiver of this number, or begins it again on the same bus.
    pub fn receive<L: ReceiveLink + 'static>(&mut self, number: usize, link: L) {
        if number < self.receivers.len() {
            // One at a time writes the bus.
            self.receivers[number] = Box::new(Nothing);
        }
        let settings = ReceiveSettings {
            root: Root::at(&self.folder),
            bus: format!("b{number}"),
            publication: bus_settings(4 * 1024 * 1024),
            receiver: receiver_settings(),
        };
        let receiving = Receiving::open(settings, link).expect("nobody else writes the bus");
        match self.receivers.get_mut(number) {
            Some(receiver) => *receiver = Box::new(receiving),
            None => self.receivers.push(Box::new(receiving)),
        }
    }

    /// Packets of the session, all lines and feeds.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Gives the gateway the next packets, and steps the links beside; `false` at the end of the session.
    pub fn packets_pass(&mut self, count: usize) -> bool {
        for _ in 0..count {
            let Some(arrival) = self.arrivals.next() else {
                self.path.finish();
                return false;
            };
            self.path
                .packet(channel(&arrival), &arrival.payload, arrival.time_ns, 0);
            self.step();
            // A pause makes batches small, and many.
            std::thread::sleep(PACE);
        }
        true
    }

    /// One round of every link.
    pub fn step(&mut self) {
        work(&mut *self.send, &mut self.events);
        for (number, receiver) in self.receivers.iter_mut().enumerate() {
            if self.stopped != Some(number) {
                work(&mut **receiver, &mut self.events);
            }
        }
    }

    /// Steps everything until the books of every receiver that is not stopped are those of A. Returns the state of the receivers' readers
    /// at that time: on a busy host books are stale again before the next look.
    #[track_caller]
    pub fn settle(&mut self) -> Vec<Mirror> {
        let start = Instant::now();
        loop {
            for _ in 0..200 {
                self.step();
            }
            let a = state(&self.joined("a"));
            let joined = |number| self.joined(&format!("b{number}"));
            let mirrors: Vec<Mirror> = (0..self.receivers.len()).map(joined).collect();
            let mut others = mirrors.iter().enumerate();
            if others.all(|(number, mirror)| self.stopped == Some(number) || state(mirror) == a) {
                return mirrors;
            }
            std::thread::sleep(Duration::from_micros(200));
            if start.elapsed() > PATIENCE {
                self.fail(&a);
            }
        }
    }

    /// Books at a receiver.
    pub fn state_of(&self, number: usize) -> State {
        state(&self.joined(&format!("b{number}")))
    }

    #[track_caller]
    fn fail(&self, a: &State) -> ! {
        let last = self.events.len().saturating_sub(20);
        for number in 0..self.receivers.len() {
            let b = self.state_of(number);
            let what = format!("{}: receiver {number}", self.what);
            eprintln!("{what}: channel {} and {}", a.channel, b.channel);
            let pairs = a.books.iter().zip(&b.books).enumerate();
            for (at, (a, b)) in pairs.filter(|(_, (a, b))| a != b) {
                eprintln!("{what}: instrument {at}: {a:?} and {b:?}");
            }
            let name = format!("b{number}");
            if let Ok(Some(view)) = CountersView::open(&Root::at(&self.folder), &name) {
                for (counter, count) in view.counters().filter(|(_, count)| *count > 0) {
                    eprintln!("{what}: {} {count}", counter.name);
                }
            }
        }
        panic!(
            "{}: books differ after {PATIENCE:?}; last events {:?}",
            self.what,
            &self.events[last..]
        );
    }

    /// A counter of a receiver's bus.
    pub fn counter(&self, number: usize, name: &str) -> u64 {
        let view = CountersView::open(&Root::at(&self.folder), &format!("b{number}"));
        let view = view.expect("the bus is there");
        view.and_then(|view| view.counter(name)).unwrap_or(0)
    }

    /// The end: books at every receiver are the gateway's own.
    #[track_caller]
    pub fn ends(&mut self) {
        for mirror in self.settle() {
            agrees(&self.path, &mirror, &self.what);
        }
        let books = state(&self.joined("a")).books;
        let live = books.iter().filter(|book| book.2 == Validity::Live).count();
        assert!(live > 0, "{}: no live book: no test", self.what);
    }

    fn joined(&self, bus: &str) -> Mirror {
        let root = Root::at(&self.folder);
        let mut reader =
            Subscriber::join(&root, bus, shm::Join::default()).expect("the bus is there");
        let mut mirror = Mirror::new(INSTRUMENTS as usize, 16_384);
        while reader.drain(usize::MAX, &mut mirror) > 0 {}
        mirror
    }
}

/// Lists of levels, orders, and both validities of a book.
type Book = (
    Vec<Vec<Level>>,
    Vec<(u64, Price, Quantity, u64)>,
    Validity,
    Validity,
);

/// State of a bus in a reader.
#[derive(PartialEq)]
pub struct State {
    channel: String,
    pub books: Vec<Book>,
}

fn state(mirror: &Mirror) -> State {
    let of = |instrument| {
        (
            book(mirror, instrument),
            orders(mirror, instrument),
            mirror.validity(instrument),
            mirror.orders_validity(instrument),
        )
    };
    State {
        channel: format!("{:?}", mirror.channel()),
        books: (0..INSTRUMENTS).map(Instrument).map(of).collect(),
    }
}

fn work(link: &mut dyn Work, events: &mut Vec<RunEvent>) {
    link.work().expect("the link goes on");
    while let Some(event) = link.event() {
        events.push(event);
    }
}

/// Placeholder of a receiver that was removed.
struct Nothing;

impl Work for Nothing {
    fn work(&mut self) -> Result<usize, touchline_relay::run::RunError> {
        Ok(0)
    }

    fn event(&mut self) -> Option<RunEvent> {
        None
    }

    fn finish(self: Box<Self>) {}
}

/// Cyclic refreshes as by default.
#[cfg(feature = "aeron")]
pub const CYCLIC: Cyclic = Cyclic {
    share: 0.05,
    round_ns_max: 2_000 * MS,
};

/// Over TCP, with receivers that join at 25 moments.
#[test]
fn tcp_carries_complete_sessions_and_receivers_join_at_any_time() {
    for seed in touchline_lab::random::seeds(2) {
        let port = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0);
        // Longer than the host stops this process: a receiver that is behind for that long gets the newest state, and a gap.
        let settings = TcpSendSettings {
            lag_ns_max: 3_600_000 * MS,
            ..TcpSendSettings::default()
        };
        let link = TcpSend::bind(port, None, settings).expect("a free port");
        let address = link.address().to_string();
        let mut session = Session::new("tcp", seed, |settings| {
            Box::new(Sending::new(settings, link).expect("the name is free"))
        });
        session.receive(0, TcpReceive::new(&address, None));
        let part = session.packets() / 13;
        while session.packets_pass(part) {
            session.receive(0, TcpReceive::new(&address, None));
            session.settle();
        }
        session.ends();
        assert_eq!(session.counter(0, "relay_gaps"), 0, "TCP loses nothing");
    }
}

/// The stream arrives in pieces of a few bytes, late, and ends at any byte of a batch: state lost without a connection is
/// refreshed, and a piece of a batch never continues in the next connection.
#[test]
fn tcp_carries_complete_sessions_in_small_segments_with_delays_and_resets() {
    for seed in touchline_lab::random::seeds(3) {
        let port = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0);
        let link = TcpSend::bind(port, None, TcpSendSettings::default()).expect("a free port");
        let address = link.address().into();
        let mut session = Session::new("tcp-disturbed", seed, |settings| {
            Box::new(Sending::new(settings, link).expect("the name is free"))
        });
        let faults = TcpFaults {
            segment_bytes_max: [3, 40, 1_000][seed as usize % 3],
            delay_max: Duration::from_millis(seed % 4),
            reset_bytes_max: Some(40_000),
        };
        let forwarder = TcpForwarder::start(address, faults, seed).expect("sockets");
        session.receive(0, TcpReceive::new(&forwarder.address().to_string(), None));
        while session.packets_pass(1_000) {}
        forwarder.set(TcpFaults {
            reset_bytes_max: None,
            ..faults
        });
        session.ends();
        let forwarded = forwarder.forwarded();
        println!("seed {seed}: {forwarded:?}");
        assert!(forwarded.resets > 3, "seed {seed}: {forwarded:?}: no test");
        assert!(session.counter(0, "relay_gaps") > 0, "seed {seed}: no gap");
    }
}
