//! Configuration of a relay: many links in one TOML file, or one link from the command line.
//!
//! Unknown keys are errors that suggest the intended key.

mod address;
mod tls;

pub use address::{Address, BadAddress, Carrier};
pub use touchline_credentials::ConfigError;
pub use touchline_settings::Mistakes;

use crate::head::Source;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::path::{Path, PathBuf};
use touchline_credentials::{ClientTls, ServerTls, check_text};
use touchline_settings::{self as settings, Manual, within};
use touchline_transport::market::ORDERS_MAX;

/// Links of one process.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Directory of the buses; `/dev/shm/touchline-UID` if absent.
    pub directory: Option<PathBuf>,
    /// Group whose members may read the received buses, by name or number; the relay's user alone if absent.
    pub group: Option<String>,
    /// Idle strategy of the thread.
    pub wait: Wait,
    /// CPU that the thread is bound to; any if absent.
    pub cpu_affinity: Option<usize>,
    /// Aeron media driver: `threads` for one with three threads of its own, or the folder of a running one. If absent,
    /// the relay's thread runs a driver itself.
    pub driver: Option<PathBuf>,
    /// CPUs of conductor, sender and receiver of a driver with threads; any if absent.
    pub driver_cpus: Option<[u16; 3]>,
    /// Longest wait before a loss in a group is reported, microseconds; 200 if absent.
    pub nak_backoff_us_max: Option<u64>,
    /// Receivers of a group, among which reports of a loss are spread; 2 if absent.
    pub group_size: Option<u32>,
    /// Buses to send.
    pub send: Vec<SendConfig>,
    /// Buses to receive.
    pub receive: Vec<ReceiveConfig>,
}

/// Idle strategy of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Spins: lowest latency, one CPU.
    Spin,
    /// Spins, yields, then sleeps up to a millisecond.
    #[default]
    BackOff,
}

/// A bus to send.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendConfig {
    /// Name of the bus.
    pub bus: String,
    /// Address for receivers: `tcp://ADDRESS:PORT` or `tls://ADDRESS:PORT` to listen on.
    #[serde(deserialize_with = "address")]
    pub to: Address,
    /// Origin of the data, 1 to 8 characters; the last characters of the host name if absent.
    #[serde(default, deserialize_with = "source")]
    pub source: Option<Source>,
    /// Whether a bus that a relay writes is forwarded.
    #[serde(default)]
    pub forward: bool,
    /// Maximum number of receivers.
    #[serde(
        default = "clients_max",
        deserialize_with = "within::<_, _, 1, 65_536>"
    )]
    pub clients_max: usize,
    /// Most bytes queued for a receiver; beyond this it is disconnected.
    #[serde(default = "queue_bytes_max")]
    pub queue_bytes_max: usize,
    /// Longest age of books at receivers, milliseconds: a receiver whose queue is older than half of this age gets the
    /// newest state instead.
    #[serde(default = "lag_ms_max", deserialize_with = "lag_ms")]
    pub lag_ms_max: u64,
    /// Longest time between two batches, milliseconds.
    #[serde(
        default = "heartbeat_ms",
        deserialize_with = "within::<_, _, 10, 10_000>"
    )]
    pub heartbeat_ms: u64,
    /// Share of the sent bytes for cyclic refreshes, on links without connections.
    #[serde(default = "refresh_share", deserialize_with = "share")]
    pub refresh_share: f64,
    /// Longest duration of one round of cyclic refreshes, milliseconds.
    #[serde(
        default = "refresh_round_ms_max",
        deserialize_with = "within::<_, _, 100, 3_600_000>"
    )]
    pub refresh_round_ms_max: u64,
    /// Stream id of an Aeron channel.
    #[serde(
        default = "stream",
        deserialize_with = "within::<_, _, 0, 2_147_483_646>"
    )]
    pub stream: i32,
    /// Channel of refresh requests, on the stream id after that of the data. If absent: the data channel for groups and
    /// `aeron:ipc`, none for unicast.
    #[serde(default)]
    pub control: Option<String>,
    /// TLS of a `tls://` link: the server's certificate, and the issuers of clients' certificates.
    #[serde(default, deserialize_with = "tls::send")]
    pub tls: Option<ServerTls>,
}

/// A bus to receive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiveConfig {
    /// The sender: `tcp://HOST:PORT` or `tls://HOST:PORT`.
    #[serde(deserialize_with = "address")]
    pub from: Address,
    /// Name of the bus written on this host.
    pub bus: String,
    /// Accepted source; any if absent.
    #[serde(default, deserialize_with = "source")]
    pub source: Option<Source>,
    /// Link timeout: books are stale after this many milliseconds without a batch.
    #[serde(default = "link_timeout_ms", deserialize_with = "timeout_ms")]
    pub link_timeout_ms: u64,
    /// Longest age of books, milliseconds, by this host's clock; older ones are stale.
    #[serde(default = "lag_ms_max", deserialize_with = "lag_ms")]
    pub lag_ms_max: u64,
    /// Size of the bus's ring in bytes of messages, a power of two.
    #[serde(default = "ring_bytes", deserialize_with = "power_of_two")]
    pub ring_bytes: u64,
    /// Most instruments of the bus.
    #[serde(
        default = "instruments_max",
        deserialize_with = "within::<_, _, 1, 1_048_576>"
    )]
    pub instruments_max: usize,
    /// Levels of each side that a late joiner receives.
    #[serde(default = "image_levels_max")]
    pub image_levels_max: usize,
    /// Orders of all instruments; 0: no order books.
    #[serde(
        default = "orders_max",
        deserialize_with = "within::<_, _, 0, 67_108_864>"
    )]
    pub orders_max: usize,
    /// Whether each change of the top of book is published as a message of its own.
    #[serde(default = "yes")]
    pub tops: bool,
    /// Stream id of an Aeron channel.
    #[serde(
        default = "stream",
        deserialize_with = "within::<_, _, 0, 2_147_483_646>"
    )]
    pub stream: i32,
    /// Channel of refresh requests, on the stream id after that of the data. If absent: the data channel for groups and
    /// `aeron:ipc`, none for unicast.
    #[serde(default)]
    pub control: Option<String>,
    /// Addresses of accepted sending hosts; any if empty.
    #[serde(default)]
    pub from_hosts: Vec<String>,
    /// TLS of a `tls://` link: trusted servers, and the client's certificate.
    #[serde(default, deserialize_with = "tls::receive")]
    pub tls: Option<ClientTls>,
}

const fn clients_max() -> usize {
    64
}
const fn queue_bytes_max() -> usize {
    8 * 1024 * 1024
}
const fn orders_max() -> usize {
    ORDERS_MAX
}
const fn heartbeat_ms() -> u64 {
    100
}
const fn link_timeout_ms() -> u64 {
    350
}
const fn lag_ms_max() -> u64 {
    500
}
const fn ring_bytes() -> u64 {
    16 * 1024 * 1024
}
const fn instruments_max() -> usize {
    65_536
}
const fn image_levels_max() -> usize {
    16
}
const fn stream() -> i32 {
    340
}
const fn refresh_share() -> f64 {
    0.05
}
const fn refresh_round_ms_max() -> u64 {
    2_000
}
const fn yes() -> bool {
    true
}

impl SendConfig {
    /// A bus and an address, with defaults for the rest.
    pub fn new(bus: &str, to: Address) -> SendConfig {
        SendConfig {
            bus: bus.to_owned(),
            to,
            source: None,
            forward: false,
            clients_max: clients_max(),
            queue_bytes_max: queue_bytes_max(),
            lag_ms_max: lag_ms_max(),
            heartbeat_ms: heartbeat_ms(),
            refresh_share: refresh_share(),
            refresh_round_ms_max: refresh_round_ms_max(),
            stream: stream(),
            control: None,
            tls: None,
        }
    }

    /// Name of the counters of the link with this number: the port of TCP, with the one that the system chose for port 0, or the stream id of
    /// Aeron. Programs find the links of a bus by it.
    pub fn counters_name(&self, number: u32) -> String {
        format!("relay-{}-{number}", self.bus)
    }

    /// Its number, from the configuration.
    fn number(&self) -> u32 {
        match self.to.carrier {
            Carrier::Aeron => self.stream.unsigned_abs(),
            Carrier::Tcp | Carrier::Tls => self.to.port().into(),
        }
    }

    /// Whether heartbeats are too rare for receivers with the default of `link_timeout_ms`, which is three of them: one late heartbeat
    /// makes their books stale, or each one does.
    pub fn has_rare_heartbeats(&self) -> bool {
        self.heartbeat_ms > link_timeout_ms() / 3
    }
}

impl ReceiveConfig {
    /// An address and a bus, with defaults for the rest.
    pub fn new(from: Address, bus: &str) -> ReceiveConfig {
        ReceiveConfig {
            from,
            bus: bus.to_owned(),
            source: None,
            link_timeout_ms: link_timeout_ms(),
            lag_ms_max: lag_ms_max(),
            ring_bytes: ring_bytes(),
            instruments_max: instruments_max(),
            image_levels_max: image_levels_max(),
            orders_max: orders_max(),
            tops: true,
            stream: stream(),
            control: None,
            from_hosts: Vec::new(),
            tls: None,
        }
    }
}

/// Allowed values of `link_timeout_ms`.
const LINK_TIMEOUT_MS: std::ops::RangeInclusive<u64> = 50..=60_000;
/// Allowed values of `lag_ms_max`.
const LAG_MS: std::ops::RangeInclusive<u64> = 50..=10_000;

impl Config {
    /// Reads the text of a file; paths in it are relative to the file's folder.
    ///
    /// # Errors
    /// All mistakes of the text.
    pub fn from_text(path: &Path, text: &str) -> Result<Config, Mistakes> {
        check_text(path, text)?;
        let manual = Manual::page("docs/relay.md");
        let mut config = settings::read(text, &manual, Config::checked)
            .map_err(|mistakes| mistakes.in_file(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for tls in config.send.iter_mut().filter_map(|link| link.tls.as_mut()) {
            tls.starts_at(folder);
        }
        let receive = config.receive.iter_mut();
        for tls in receive.filter_map(|link| link.tls.as_mut()) {
            tls.starts_at(folder);
        }
        Ok(config)
    }

    /// Itself, if it has links that can be together.
    fn checked(self) -> Result<Config, Mistakes> {
        let mut wrong = Mistakes::default();
        if self.send.is_empty() && self.receive.is_empty() {
            wrong.push_file("no link; add a table [[send]] or [[receive]]");
        }
        for (at, link) in self.send.iter().enumerate() {
            let name = link.counters_name(link.number());
            let mut before = self.send[..at].iter();
            let is_of_other = before.any(|other| other.counters_name(other.number()) == name);
            // The system chooses another port for each port 0.
            if is_of_other && link.number() != 0 {
                let (key, what) = match link.to.carrier {
                    Carrier::Aeron => ("stream", "stream id"),
                    Carrier::Tcp | Carrier::Tls => ("to", "port"),
                };
                let text = format!(
                    "another link of this bus has the counters {name} already; give this one another {what}"
                );
                wrong
                    .section(format!("send.{at}"), "[[send]]: ")
                    .push(key, &text);
            }
        }
        for (at, link) in self.receive.iter().enumerate() {
            let bus = &link.bus;
            if self.receive[..at].iter().any(|other| other.bus == *bus) {
                let text = format!("two links write bus {bus}; give each a bus of its own");
                wrong
                    .section(format!("receive.{at}"), "[[receive]]: ")
                    .push("bus", &text);
            }
        }
        wrong.none_or(self)
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

fn lag_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let ms = u64::deserialize(deserializer)?;
    let (least, most) = LAG_MS.into_inner();
    checked(LAG_MS.contains(&ms), ms, || {
        format!(
            "{ms} is not between {least} and {most}; 500 suits lines with a round trip below 300 ms"
        )
    })
}

fn timeout_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let ms = u64::deserialize(deserializer)?;
    let (least, most) = LINK_TIMEOUT_MS.into_inner();
    checked(LINK_TIMEOUT_MS.contains(&ms), ms, || {
        format!(
            "{ms} is not between {least} and {most}; set three heartbeats of the sender or more"
        )
    })
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(deserializer)?;
    match (0.0..=1.0).contains(&share) {
        true => Ok(share),
        false => Err(D::Error::custom(format!(
            "{share} is not a share from 0 to 1; 0.05 suits most lines"
        ))),
    }
}

fn power_of_two<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let bytes = u64::deserialize(deserializer)?;
    checked(bytes.is_power_of_two(), bytes, || {
        format!("{bytes} is not a power of two; 16777216 holds some 100,000 messages")
    })
}

/// The value, if it is good.
fn checked<E: serde::de::Error>(
    is_good: bool,
    value: u64,
    why: impl FnOnce() -> String,
) -> Result<u64, E> {
    match is_good {
        true => Ok(value),
        false => Err(E::custom(why())),
    }
}

fn source<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Source>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Source::named(&text).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::from_text(Path::new("relay.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn links_are_read_with_their_defaults() {
        let config = parse(
            "[[send]]\nbus = \"cme-340\"\nto = \"tcp://0.0.0.0:7340\"\nsource = \"gw1\"\n\
             [[receive]]\nfrom = \"tcp://gw2:7341\"\nbus = \"cme-341\"\n",
        )
        .expect("a configuration");
        let send = SendConfig {
            source: Source::named("gw1").ok(),
            ..SendConfig::new("cme-340", "tcp://0.0.0.0:7340".parse().expect("an address"))
        };
        assert_eq!(config.send, [send]);
        let from = "tcp://gw2:7341".parse().expect("an address");
        assert_eq!(config.receive, [ReceiveConfig::new(from, "cme-341")]);
    }

    #[test]
    fn links_of_one_bus_differ_in_their_ports() {
        let two = |a: &str, b: &str| {
            let link = |bus: &str, to: &str| format!("[[send]]\nbus = \"{bus}\"\nto = \"{to}\"\n");
            parse(&(link("cme", a) + &link("cme", b) + &link("fx", a)))
        };
        assert!(two("tcp://10.0.0.1:7340", "tcp://10.0.1.1:7340").is_err());
        assert!(two("tcp://10.0.0.1:7340", "tcp://10.0.1.1:7341").is_ok());
        assert!(two("tcp://0.0.0.0:0", "tcp://0.0.0.0:0").is_ok());
    }

    #[test]
    fn heartbeats_that_receivers_miss_by_default_are_rare() {
        let with = |heartbeat_ms: u64| {
            let text =
                format!("[[send]]\nbus = \"a\"\nto = \"tcp://a:1\"\nheartbeat_ms = {heartbeat_ms}");
            parse(&text).expect("a configuration").send[0].has_rare_heartbeats()
        };
        assert!(!with(10) && !with(heartbeat_ms()) && with(200) && with(10_000));
    }

    #[test]
    fn an_error_is_one_line_with_the_fix() {
        for (text, line, said) in [
            (
                "[[send]]\nbus = \"a\"\nto = \"tcp://a:1\"\nforwrad = true",
                4,
                "did you mean `forward`?",
            ),
            ("[[sned]]\nbus = \"a\"", 1, "did you mean [[send]]?"),
            (
                "[[send]]\nbus = \"a\"\nto = \"udp://a:1\"",
                3,
                "tcp://HOST:PORT",
            ),
            (
                "[[receive]]\nfrom = \"tcp://a:1\"\nbus = \"b\"\nsource = \"too long a name\"",
                4,
                "1 to 8",
            ),
            ("[[send]]\nto = \"tcp://a:1\"", 1, "has no `bus`"),
            (
                "[[send]]\nbus = \"a\"\nto = \"tls://a:1\"\n[send.tls]\ncertificate_file = \"c\"\nkey_file = \"k\"",
                4,
                "has no `client_roots_file`",
            ),
            (
                "[[receive]]\nfrom = \"tls://a:1\"\nbus = \"b\"\n[receive.tls]\nroots_file = \"r\"\ncertificate_file = \"c\"",
                4,
                "has no `key_file`",
            ),
        ] {
            let error = parse(text).expect_err(text);
            assert!(
                error.starts_with(&format!("relay.toml:{line}: ")) && error.contains(said),
                "{error}"
            );
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        for (text, said) in [
            ("", "no link"),
            (
                "[[receive]]\nfrom = \"tcp://a:1\"\nbus = \"b\"\n[[receive]]\nfrom = \"tcp://a:2\"\nbus = \"b\"",
                "two links write bus b",
            ),
            (
                "[[send]]\nto = \"tcp://10.0.0.1:7\"\nbus = \"b\"\n[[send]]\nto = \"tcp://10.0.1.1:7\"\nbus = \"b\"",
                "relay.toml:5: [[send]]: to: another link of this bus has the counters relay-b-7 already; give this one another port",
            ),
            (
                "[[send]]\nto = \"tcp://a:340\"\nbus = \"b\"\n[[send]]\nto = \"aeron:ipc\"\nbus = \"b\"",
                "give this one another stream id",
            ),
            (
                "[[receive]]\nfrom = \"tcp://a:1\"\nbus = \"b\"\nring_bytes = 1000",
                "power of two",
            ),
            (
                "[[receive]]\nfrom = \"tcp://a:1\"\nbus = \"b\"\nlink_timeout_ms = 10",
                "10 is not between 50 and 60000",
            ),
            (
                "[[send]]\nto = \"tcp://a:1\"\nbus = \"b\"\nheartbeat_ms = 0",
                "relay.toml:4: `heartbeat_ms` is 0, which is out of range; give 10 to 10000",
            ),
            (
                "[[send]]\nto = \"tcp://a:1\"\nbus = \"b\"\nrefresh_round_ms_max = 0",
                "relay.toml:4: `refresh_round_ms_max` is 0, which is out of range",
            ),
            (
                "[[send]]\nto = \"tcp://a:1\"\nbus = \"b\"\nrefresh_share = nan",
                "relay.toml:4: `refresh_share`: NaN is not a share",
            ),
            (
                "[[receive]]\nfrom = \"tcp://a:1\"\nbus = \"b\"\ninstruments_max = 0",
                "relay.toml:4: `instruments_max` is 0, which is out of range",
            ),
            (
                "[[receive]]\nfrom = \"tcp://a:1\"\nbus = \"b\"\nlag_ms_max = 0",
                "relay.toml:4: `lag_ms_max`: 0 is not between 50 and 10000",
            ),
            (
                "[[send]]\nto = \"tcp://a:1\"\nbus = \"b\"\nlag_ms_max = 10001",
                "relay.toml:4: `lag_ms_max`: 10001",
            ),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(said), "{error}");
        }
    }
}
