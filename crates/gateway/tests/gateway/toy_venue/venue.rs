//! Test venue in a gateway, like `gateway/venues/<venue>.rs` of a real one: its section of the configuration, routes
//! and limits, retransmission, and start.

use super::feed::{DEPTH, Stream, ToyFeed, packets};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use touchline_feed::Request;
use touchline_gateway::config::{Config, ConfigError, Guide, NoSettings, SessionLimits, Symbols};
use touchline_gateway::live::Multicast;
use touchline_gateway::venues::{Opened, Opening, StartError, Venue};
use touchline_gateway::{Limits, Now, Pipeline, Retransmission, Routes};
use touchline_net::{Error, Packet, PacketSource, Received, TimestampSource};
use touchline_transport::Publish;
use touchline_types::CounterInfo;

/// The section `[venue]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToyVenue {
    /// Always "toy".
    kind: String,
    /// Port of the line.
    port: u16,
    #[serde(default)]
    symbols: Symbols,
}

/// Documentation of its tables.
const GUIDE: &str = "\
### The toy venue

| setting | meaning | values | default |
|---|---|---|---|
| `port` | the line that is listened to | 7, 8, 9 | required |
| `symbols` | what is published | names | all |

### Its limits

| setting | meaning | values | default |
|---|---|---|---|
| `instruments_max` | instruments | 1 to 8 | 8 |
| `event_changes_max` | changes of one event | 1 to 8 | 8 |
";

impl Venue for ToyVenue {
    const KINDS: &'static [&'static str] = &["toy"];

    const EXAMPLES: &'static [&'static str] =
        &["bus = \"toy\"\n[venue]\nkind = \"toy\"\nport = 8\n"];

    const GUIDE: Guide = Guide {
        text: GUIDE,
        tables: &[("venue", "### The toy venue"), ("limits", "### Its limits")],
    };

    type Limits = SessionLimits;
    type Network = NoSettings;
    type Calendars = NoSettings;
    type Link = Multicast<Sent, ToyFeed, Store>;

    fn kind(&self) -> &'static str {
        "toy"
    }

    fn identity(&self) -> (&'static str, String) {
        ("port", self.port.to_string())
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn resolve(&mut self, _: &Path) {}

    fn instruments_max(limits: &SessionLimits) -> usize {
        limits.instruments_max
    }

    fn orders_max(_: &SessionLimits) -> usize {
        0
    }

    fn check(config: &Config<ToyVenue>) -> Result<String, Vec<ConfigError>> {
        Ok(format!("listens to port {}", config.venue.port))
    }

    /// All lines lose the third and the fourth packet.
    fn open(config: &Config<ToyVenue>) -> Result<Opened<Self::Link>, StartError> {
        let line = address(config.venue.port);
        let source = Sent {
            packets: lossy(line),
            next: 0,
        };
        Ok(Opened {
            feed: ToyFeed::new(),
            link: Multicast::new(source, routes(), Some(Store(packets()))),
            limits: limits(),
            warnings: vec!["this is a toy".to_owned()],
            opening: Opening::Listening {
                groups: 1,
                interface: line.to_string(),
                receive: "sockets",
            },
        })
    }
}

/// Limits of its books.
pub fn limits() -> Limits {
    Limits {
        instruments_max: 8,
        orders_max: 1,
        event_changes_max: 8,
        default_depth: DEPTH,
        levels_max: 16,
    }
}

/// Packets of a line that loses the third and the fourth.
pub fn lossy(line: SocketAddrV4) -> Vec<(SocketAddrV4, Vec<u8>)> {
    let kept = packets().into_iter().enumerate();
    let kept = kept.filter(|(at, _)| ![2, 3].contains(at));
    kept.map(|(_, bytes)| (line, bytes)).collect()
}

/// Packets of a list.
#[derive(Debug)]
pub struct Sent {
    pub packets: Vec<(SocketAddrV4, Vec<u8>)>,
    pub next: usize,
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

/// The venue's own retransmission: it has every packet.
#[derive(Debug)]
pub struct Store(pub Vec<Vec<u8>>);

impl Retransmission<ToyFeed> for Store {
    const TABLE: &'static [CounterInfo] = &[];

    fn counted(_: Option<&Store>) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }

    fn poll<P: Publish>(&mut self, pipeline: &mut Pipeline<ToyFeed, P>, now: Now) {
        let Some(Request::Retransmit { first, last }) = pipeline.request() else {
            return;
        };
        let is_asked = |bytes: &&Vec<u8>| (first..=last).contains(&ToyFeed::number(bytes));
        for bytes in self.0.iter().filter(is_asked) {
            pipeline.packet_at(Stream::Again, bytes, now.time, 0);
        }
    }
}

pub fn address(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(239, 0, 0, 1), port)
}

/// Three lines.
pub fn routes() -> Routes<Stream> {
    let lines = [(9, Stream::C), (7, Stream::A), (8, Stream::B)];
    let routes = lines.map(|(port, stream)| (address(port), stream));
    Routes::new(routes.to_vec()).expect("three addresses")
}
