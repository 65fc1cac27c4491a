//! Link with its path, and a monotonic clock that the test moves.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_feed::fix_md::{Dialect, FixFeed, Settings};
use touchline_fx_days::Hours;
use touchline_gateway::live::{ClientLink, Dial, FeedLink, Phase};
use touchline_gateway::{Clocks, ConnectionError, Incident, Limits, Now, Pipeline};
use touchline_session::Secret;
use touchline_session::fix::{Role, Settings as SessionSettings};
use touchline_transport::clock::Clock;
use touchline_transport::{Envelope, Local, Subscribe};
use touchline_types::Depth;
use touchline_types::ReceiveTime;

const MILLISECOND: u64 = 1_000_000;
/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(120);

/// Observer that ignores books.
struct Nobody;

impl Subscribe for Nobody {
    fn update(&mut self, _: &Envelope<'_>) {}
}

pub struct TestTransport {
    link: ClientLink<FixFeed>,
    path: Pipeline<FixFeed, Local<Nobody>>,
    clocks: Clocks,
    last: Option<ConnectionError>,
    /// Incidents that do not concern a connection.
    pub others: Vec<Incident>,
    now_ns: u64,
    /// The wall clock; none: the host's.
    pub wall_ns: Option<u64>,
}

impl TestTransport {
    pub fn new(dial: Dial, chance: u64) -> TestTransport {
        TestTransport::with_hours(dial, chance, None)
    }

    /// With the hours of its session.
    pub fn with_hours(dial: Dial, chance: u64, hours: Option<Hours>) -> TestTransport {
        let limits = Limits {
            instruments_max: 8,
            orders_max: 1,
            event_changes_max: 64,
            default_depth: Depth {
                direct: 5,
                implied: 0,
            },
            levels_max: 16,
        };
        let link = ClientLink::new(dial, chance).with_hours(hours);
        TestTransport {
            link,
            path: Pipeline::new(FixFeed::new(settings()), Local::new(Nobody), limits),
            clocks: Clocks::new(Clock::calibrated(), Duration::from_millis(1)),
            last: None,
            others: Vec::new(),
            now_ns: 0,
            wall_ns: None,
        }
    }

    /// The monotonic clock.
    pub fn now_ms(&self) -> u64 {
        self.now_ns / MILLISECOND
    }

    /// Runs all work due at this moment, and gives other threads time for theirs.
    fn look(&mut self) {
        let start = Instant::now();
        loop {
            let before = self.phase();
            let _ = self.link.receive(&mut self.path, &self.clocks);
            let now = Now {
                steady_ns: self.now_ns,
                time: ReceiveTime {
                    wall_ns: self.wall_ns.unwrap_or_else(wall_ns),
                    mono_ns: self.now_ns,
                },
            };
            self.link.control(&mut self.path, now);
            match self.link.take_incident() {
                Some(
                    Incident::ConnectionFailed(error)
                    | Incident::ConnectionLost(error)
                    | Incident::ConnectionClosed(error),
                ) => self.last = Some(error),
                Some(Incident::Connected { .. }) | None => {}
                Some(other) => self.others.push(other),
            }
            let is_waiting = self.phase() == Phase::Resolving;
            if !is_waiting && self.phase() == before {
                return;
            }
            assert!(start.elapsed() < HANGS, "a name is looked up for ever");
            if is_waiting {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }

    /// Received messages, without running further work.
    pub fn hear(&mut self) {
        for _ in 0..100 {
            let _ = self.link.receive(&mut self.path, &self.clocks);
            std::thread::sleep(Duration::from_micros(300));
        }
    }

    /// State of the connection.
    pub fn phase(&self) -> Phase {
        self.link.phase()
    }

    /// Advances the clock, by the millisecond.
    pub fn pass(&mut self, ms: u64) {
        for _ in 0..ms {
            self.look();
            self.now_ns += MILLISECOND;
        }
    }

    /// Advances the clock until the condition holds. Data over a real socket gets real time to
    /// arrive.
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut TestTransport) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < HANGS, "{what} never came");
            self.look();
            if self.phase() != Phase::BackingOff {
                // The other end of the socket belongs to another thread, or to the system.
                std::thread::sleep(Duration::from_micros(300));
            }
            self.now_ns += match self.phase() {
                Phase::BackingOff | Phase::Connecting => MILLISECOND,
                Phase::Resolving | Phase::Up => 0,
            };
        }
    }

    pub fn until_failures(&mut self, failures: u64) {
        self.until("a failure", |transport| {
            transport.counter("connections_failed") >= failures
        });
    }

    pub fn until_accepted(&mut self, listener: &TcpListener) -> TcpStream {
        let mut taken = None;
        self.until("a connection", |transport| {
            if taken.is_none() {
                taken = listener.accept().ok().map(|(stream, _)| stream);
            }
            taken.is_some() && transport.counter("connected") == 1
        });
        taken.expect("it was taken")
    }

    pub fn counter(&self, name: &str) -> u64 {
        let tables = ClientLink::<FixFeed>::TABLES.iter().copied().flatten();
        let mut counted = tables.zip(self.link.counted());
        let found = counted.find(|(info, _)| info.name == name);
        found.expect("there is such a counter").1
    }

    /// Last reported reason of a missing connection.
    pub fn last_error(&self) -> String {
        let last = self.last.as_ref();
        last.map_or(String::new(), |error| {
            format!("{}: {}", error.host, error.reason)
        })
    }
}

fn settings() -> Settings {
    let mut session = SessionSettings::new(Role::Initiator, "FIRM", "VENUE");
    session.reset_on_logon = true;
    Settings {
        session,
        dialect: Dialect::Standard,
        chosen: touchline_instruments::Symbols::default(),
        symbols: vec!["EUR/USD".to_owned()],
        depth: 0,
        trades: false,
        symbols_per_request: 1,
        instruments_max: 8,
        user: None,
        password: None,
        entropy: Secret::from("entropy"),
        logon_fields: Vec::new(),
        request_fields: Vec::new(),
        stale_ns: u64::MAX,
    }
}

pub fn wall_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("after 1970").as_nanos() as u64
}
