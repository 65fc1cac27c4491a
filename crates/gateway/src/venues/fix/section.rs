//! Settings of a FIX session: hosts, credentials, instruments.

use crate::config::{ClientTls, SecretSource, Symbols, number, within};
use serde::{Deserialize, Serialize, Serializer};
use std::path::{Path, PathBuf};

/// One FIX session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixVenue {
    /// Kind of venue.
    pub kind: Kind,
    /// Names or addresses with their port, such as `fix.deribit.com:9883`, tried in turn.
    #[serde(deserialize_with = "read::hosts")]
    pub hosts: Vec<String>,
    /// SenderCompID (49).
    #[serde(deserialize_with = "read::comp_id")]
    pub sender: String,
    /// TargetCompID (56); has a default for Deribit.
    #[serde(default = "deribit_server", deserialize_with = "read::comp_id")]
    pub target: String,
    /// SenderSubID (50), if the venue requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_sub: Option<String>,
    /// TargetSubID (57), if the venue requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_sub: Option<String>,
    /// Username (553); at Deribit the client id of the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Password; at Deribit the client secret of the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretSource>,
    /// Folder of the session's store: its numbers and messages outlive the gateway and continue with the next
    /// connection. Without it they restart at 1 with each connection. In the file, a relative path starts at the folder
    /// of the file; here it is resolved.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "lossy"
    )]
    pub store: Option<PathBuf>,
    /// TLS settings, if the venue uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Box<ClientTls>>,
    /// Instruments: names, names with `*`, and `/regular expressions/`; empty: all. Kind `fix` has
    /// no list of instruments, so it needs names.
    #[serde(default)]
    pub symbols: Symbols,
    /// MarketDepth (264), levels a side, 0..=10,000; 0 is every level.
    #[serde(default, deserialize_with = "within::<_, _, 0, 10_000>")]
    pub depth: u32,
    /// Levels a side of a book that are kept, 16..=65,000; levels beyond are counted, and the book is correct up to
    /// there.
    #[serde(
        default = "number::<_, 8_192>",
        deserialize_with = "within::<_, _, 16, 65_000>"
    )]
    pub levels_max: usize,
    /// Whether trades are requested.
    #[serde(default = "default_true")]
    pub trades: bool,
    /// HeartBtInt (108), seconds, 1..=3,600.
    #[serde(
        default = "number::<_, 30>",
        deserialize_with = "within::<_, _, 1, 3_600>"
    )]
    pub heartbeat_s: u32,
    /// Time without a byte from the venue after which a TestRequest is sent, milliseconds, 0..=60,000; without an answer for as long
    /// again, books are stale. 0: after 1.2 `heartbeat_s`, and stale by `stale_after_ms` alone.
    #[serde(
        default = "number::<_, 2_000>",
        deserialize_with = "within::<_, _, 0, 60_000>"
    )]
    pub test_request_ms: u64,
    /// Maximum size of a received message, bytes, 4,096..=67,108,864: a list of all instruments, or
    /// the snapshot of the deepest book.
    #[serde(
        default = "number::<_, { 8 * 1024 * 1024 }>",
        deserialize_with = "within::<_, _, 4_096, 67_108_864>"
    )]
    pub message_bytes_max: usize,
    /// Instruments per request for kind `deribit`, 1..=1,000; kind `fix` requests each separately.
    #[serde(
        default = "number::<_, 50>",
        deserialize_with = "within::<_, _, 1, 1_000>"
    )]
    pub symbols_per_request: usize,
    /// Additional fields of our Logon, such as `"9001=Y"`.
    #[serde(default, deserialize_with = "read::fields")]
    pub logon_fields: Vec<String>,
    /// Additional fields of each MarketDataRequest, such as `"9011=Y"`.
    #[serde(default, deserialize_with = "read::fields")]
    pub request_fields: Vec<String>,
    /// Timeout of a connection including its Logon, milliseconds, 100..=60,000.
    #[serde(
        default = "number::<_, 10_000>",
        deserialize_with = "within::<_, _, 100, 60_000>"
    )]
    pub connect_ms: u64,
    /// Backoff after a first failed or lost connection, milliseconds, 10..=60,000. Each further one
    /// is up to twice as long, with a random part, until `reconnect_ms_max`.
    #[serde(
        default = "number::<_, 500>",
        deserialize_with = "within::<_, _, 10, 60_000>"
    )]
    pub reconnect_ms: u64,
    /// Maximum backoff, milliseconds, 10..=600,000.
    #[serde(
        default = "number::<_, 30_000>",
        deserialize_with = "within::<_, _, 10, 600_000>"
    )]
    pub reconnect_ms_max: u64,
}

/// Kinds with this section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Deribit, FIX 4.4.
    Deribit,
    /// A FIX 4.4 session for market data, as offered by banks and aggregators.
    Fix,
}

/// Values that every venue with a session has.
pub(in crate::venues) mod read {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer};
    use touchline_session::fix::{extra_field, is_comp_id};

    pub(in crate::venues) fn fields<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<String>, D::Error> {
        let fields = Vec::<String>::deserialize(deserializer)?;
        for text in &fields {
            extra_field(text).map_err(D::Error::custom)?;
        }
        Ok(fields)
    }

    pub(in crate::venues) fn hosts<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<String>, D::Error> {
        let hosts = Vec::<String>::deserialize(deserializer)?;
        let is_host = |host: &String| {
            let port = host
                .rsplit_once(':')
                .map(|(name, port)| (name, port.parse::<u16>()));
            matches!(port, Some((name, Ok(1..))) if !name.is_empty())
        };
        if hosts.is_empty() {
            return Err(D::Error::custom(
                "there must be a host, as \"fix.deribit.com:9883\"",
            ));
        }
        match hosts.iter().find(|host| !is_host(host)) {
            None => Ok(hosts),
            Some(host) => Err(D::Error::custom(format_args!(
                "{host:?} is not a host; write name and port, as \"fix.deribit.com:9883\""
            ))),
        }
    }

    pub(in crate::venues) fn comp_id<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<String, D::Error> {
        let id = String::deserialize(deserializer)?;
        match is_comp_id(&id) {
            true => Ok(id),
            false => Err(D::Error::custom(format_args!(
                "{id:?} is not a CompID: 1 to 64 visible characters"
            ))),
        }
    }
}

fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    let path = path.as_deref().unwrap_or(Path::new(""));
    serializer.collect_str(&path.display())
}

fn deribit_server() -> String {
    "DERIBITSERVER".to_owned()
}

fn default_true() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Mistakes};
    use crate::venues::VENUES;
    use crate::venues::cme::CmeVenue;

    const LEAST: &str = "bus = \"deribit\"\n[venue]\nkind = \"deribit\"\n\
                         hosts = [\"localhost:9881\"]\nsender = \"FIRM\"\n";

    fn read(text: &str) -> Result<Config<FixVenue>, Mistakes> {
        VENUES.from_text_as(Path::new("gateway.toml"), text)
    }

    #[test]
    fn a_minimal_section_is_printed_and_read_back() {
        let config = read(LEAST).expect("the least that works");
        assert_eq!(config.venue.target, "DERIBITSERVER");
        assert_eq!((config.venue.depth, config.venue.heartbeat_s), (0, 30));
        assert_eq!(read(&config.to_toml()), Ok(config));
    }

    #[test]
    fn invalid_settings_are_refused_with_the_reason() {
        for (more, said) in [
            (
                "depth = 10001",
                "`depth` is 10001, which is out of range; values: 0 to 10,000",
            ),
            (
                "wait_ms = 20",
                "unknown setting `wait_ms` in [venue]; it is a setting of kind \"cme\"",
            ),
            ("logon_fields = [\"9001\"]", "is not a field"),
            (
                "logon_fields = [\"554=x\"]",
                "tag 554 is set by the session",
            ),
            ("symbols = [\"/[/\"]", "is not a regular expression"),
        ] {
            let error = read(&format!("{LEAST}{more}\n"))
                .expect_err(more)
                .to_string();
            assert!(error.contains(said), "{more}: {error}");
            assert!(error.starts_with("gateway.toml:6"), "{error}");
        }
        let no_port = LEAST.replace("localhost:9881", "localhost");
        assert!(read(&no_port).is_err_and(|error| error.to_string().contains("is not a host")));
    }

    /// Settings of multicast venues would have no effect here: they are refused.
    #[test]
    fn settings_of_packets_are_refused() {
        for (table, key) in [("limits", "orders_max"), ("network", "batch")] {
            let error = read(&format!("{LEAST}[{table}]\n{key} = 2\n"));
            let error = error.expect_err(key).to_string();
            let said = format!(
                "gateway.toml:7: unknown setting `{key}` in [{table}]; it is a setting of kind \"cme\""
            );
            assert!(error.starts_with(&said), "{error}");
        }
        let config = read(&format!("{LEAST}[limits]\ninstruments_max = 7\n"));
        let config = config.expect("a limit of a session");
        assert_eq!(config.limits.instruments_max, 7);
        assert!(!config.to_toml().contains("[network]"), "there is none");
    }

    #[test]
    fn a_configuration_of_another_venue_is_not_misread() {
        let error = VENUES.from_text_as::<CmeVenue>(Path::new("f"), LEAST);
        let error = error.expect_err("it is of Deribit").to_string();
        assert!(error.contains("kind \"deribit\""), "{error}");
        assert!(matches!(VENUES.read("/nowhere"), Err(error) if error.list()[0].line.is_none()));
    }
}
