//! Venues with a FIX 4.4 session: Deribit, and any source of standard market data.

mod numbers;
mod section;

use super::start::{directory_fault, together};
use super::{Opened, Opening, StartError, Venue};
use crate::config::{
    CONFIGURATION, ClientTls, Config, ConfigError, Guide, NoSettings, SessionLimits, Symbols,
    timeout_ns,
};
use crate::live::{ClientLink, Dial, Host};
use crate::selection::Selected;
use crate::{Limits, Pipeline};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use touchline_feed::SessionFeed;
use touchline_feed::fix_md::{Dialect, FixFeed, Settings};
use touchline_session::Secret;
use touchline_session::fix::{self, Checks, Role, extra_fields};
use touchline_transport::Publish;
use touchline_types::Depth;

pub use numbers::Numbers;
pub(super) use section::read;
pub use section::{FixVenue, Kind};

/// The path of one FIX session.
pub type FixPipeline<P> = Pipeline<FixFeed<Numbers>, Selected<P>>;

/// The connection of one FIX session.
pub type FixLink = ClientLink<FixFeed<Numbers>>;

impl Venue for FixVenue {
    const KINDS: &'static [&'static str] = &["deribit", "fix"];

    const EXAMPLES: &'static [&'static str] = &[
        include_str!("fix/deribit.toml"),
        include_str!("fix/fix.toml"),
    ];

    const GUIDE: Guide = Guide {
        text: CONFIGURATION,
        tables: &[
            ("venue", "#### Venues with a FIX session"),
            ("venue.tls", "### TLS"),
            ("limits", "Of a FIX session `[limits]` are:"),
        ],
    };

    type Limits = SessionLimits;
    type Network = NoSettings;
    type Calendars = NoSettings;
    type Link = FixLink;

    fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Deribit => "deribit",
            Kind::Fix => "fix",
        }
    }

    fn identity(&self) -> (&'static str, String) {
        ("session", format!("{}:{}", self.sender, self.target))
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn resolve(&mut self, folder: &Path) {
        if let Some(password) = &mut self.password {
            password.starts_at(folder);
        }
        if let Some(tls) = &mut self.tls {
            tls.starts_at(folder);
        }
        if let Some(store) = &mut self.store {
            *store = folder.join(&store);
        }
    }

    fn instruments_max(limits: &SessionLimits) -> usize {
        limits.instruments_max
    }

    fn orders_max(_: &SessionLimits) -> usize {
        0
    }

    fn levels_max(&self) -> usize {
        self.levels_max
    }

    fn check(config: &Config<FixVenue>) -> Result<String, Vec<ConfigError>> {
        let venue = &config.venue;
        let parts = [
            names(venue).err(),
            password(venue).err(),
            link(config).err(),
        ];
        together(parts)?;
        let tls = match venue.tls {
            Some(_) => "over TLS",
            None => "without TLS",
        };
        Ok(format!(
            "connects {tls} as {} to {} at {}",
            venue.sender,
            venue.target,
            venue.hosts.join(", "),
        ))
    }

    fn missing_here(&self) -> Vec<String> {
        let store = self.store.as_deref();
        store.and_then(directory_fault).into_iter().collect()
    }

    /// Opens the session, which connects when the gateway starts to work.
    fn open(config: &Config<FixVenue>) -> Result<Opened<FixLink>, StartError> {
        let venue = &config.venue;
        // An unreadable password must not take a bus away from another gateway.
        let settings = settings(config)?;
        let feed = FixFeed::with_store(settings, Numbers::open(venue)?);
        Ok(Opened {
            feed,
            limits: books(&config.limits, venue.levels_max),
            warnings: Vec::new(),
            opening: Opening::Connecting {
                hosts: venue.hosts.clone(),
            },
            link: link(config)?,
        })
    }
}

/// Builds the path. Allocates all memory, and connects to nothing yet.
///
/// # Errors
/// The password is missing, no instruments are selected, or the store cannot be opened.
pub fn pipeline<P: Publish>(
    config: &Config<FixVenue>,
    publisher: P,
) -> Result<FixPipeline<P>, StartError> {
    let settings = settings(config)?;
    let limits = books(&config.limits, config.venue.levels_max);
    let symbols = config.venue.symbols.clone();
    let publisher = Selected::new(publisher, symbols, limits.instruments_max);
    let feed = FixFeed::with_store(settings, Numbers::open(&config.venue)?);
    Ok(Pipeline::new(feed, publisher, limits))
}

/// The configured connection.
///
/// # Errors
/// Invalid TLS settings, or no random numbers.
pub fn link(config: &Config<FixVenue>) -> Result<FixLink, ConfigError> {
    let venue = &config.venue;
    let times_ms = [venue.connect_ms, venue.reconnect_ms, venue.reconnect_ms_max];
    link_of(&venue.hosts, venue.tls.as_deref(), times_ms)
}

/// The connection of a session: its hosts, each with its TLS client, and its times.
pub(super) fn link_of<F: SessionFeed<Source = ()>>(
    hosts: &[String],
    tls: Option<&ClientTls>,
    [connect_ms, backoff_ms, backoff_ms_max]: [u64; 3],
) -> Result<ClientLink<F>, ConfigError> {
    let host = |name: &String| {
        let bare = name
            .rsplit_once(':')
            .map_or(name.as_str(), |(host, _)| host);
        Ok(Host {
            tls: tls.map(|tls| tls.client(bare)).transpose()?,
            name: name.clone(),
        })
    };
    let dial = Dial {
        hosts: hosts.iter().map(host).collect::<Result<_, _>>()?,
        connect_ns: connect_ms * 1_000_000,
        backoff_ns: backoff_ms * 1_000_000,
        backoff_ns_max: backoff_ms_max.max(backoff_ms) * 1_000_000,
    };
    let mut chance = [0; 8];
    random(&mut chance)?;
    Ok(ClientLink::new(dial, u64::from_le_bytes(chance)))
}

/// The feed's settings.
///
/// # Errors
/// The password is missing, or no instruments are selected.
pub fn settings(config: &Config<FixVenue>) -> Result<Settings, ConfigError> {
    let venue = &config.venue;
    let dialect = match venue.kind {
        Kind::Deribit => Dialect::Deribit,
        Kind::Fix => Dialect::Standard,
    };
    let names = names(venue)?;
    let mut entropy = [0; 32];
    random(&mut entropy)?;
    Ok(Settings {
        session: session(venue, dialect),
        dialect,
        chosen: venue.symbols.clone(),
        symbols: match dialect {
            Dialect::Deribit => Vec::new(),
            Dialect::Standard => names.into_iter().map(str::to_owned).collect(),
        },
        depth: venue.depth,
        trades: venue.trades,
        symbols_per_request: venue.symbols_per_request,
        instruments_max: config.limits.instruments_max,
        user: venue.user.clone(),
        password: password(venue)?,
        entropy: Secret::from(&entropy[..]),
        logon_fields: extra_fields(&venue.logon_fields),
        request_fields: extra_fields(&venue.request_fields),
        stale_ns: stale_ns(config.duty.stale_after_ms, venue.test_request_ms),
    })
}

/// The feed timeout: `stale_after_ms`, or a TestRequest without an answer for as long again; 0 as `stale_after_ms` disables both.
fn stale_ns(stale_after_ms: u64, test_request_ms: u64) -> u64 {
    match stale_after_ms {
        0 => u64::MAX,
        _ => timeout_ns(stale_after_ms).min(timeout_ns(test_request_ms).saturating_mul(2)),
    }
}

/// The selected names; kind `fix` has no list of instruments.
fn names(venue: &FixVenue) -> Result<Vec<&str>, ConfigError> {
    let names = venue.symbols.names().unwrap_or_default();
    match venue.kind == Kind::Fix && names.is_empty() {
        false => Ok(names),
        true => Err(ConfigError {
            file: "[venue]".into(),
            line: None,
            what: "kind = \"fix\" needs `symbols`".to_owned(),
            fix: "name the instruments, such as symbols = [\"EUR/USD\"]; this kind has no list to match patterns against"
                .to_owned(),
        }),
    }
}

fn password(venue: &FixVenue) -> Result<Option<Secret>, ConfigError> {
    let source = venue.password.as_ref();
    source.map(|source| source.read()).transpose()
}

fn session(venue: &FixVenue, dialect: Dialect) -> fix::Settings {
    let mut session = fix::Settings::new(Role::Initiator, &venue.sender, &venue.target);
    session.sender_sub.clone_from(&venue.sender_sub);
    session.target_sub.clone_from(&venue.target_sub);
    session.heartbeat_s = venue.heartbeat_s;
    session.reset_on_logon = venue.store.is_none();
    if dialect == Dialect::Deribit {
        // Late market data is still accepted.
        session.sending_time_s = 0;
    }
    // Venues have their own fields. Market data is validated when it is parsed.
    session.checks = Checks::Nothing;
    session.limits.test_request_ns = timeout_ns(venue.test_request_ms);
    session.limits.message_bytes_max = venue.message_bytes_max;
    session.limits.logon_bytes_max = 64 * 1024;
    session.limits.output_bytes = 3 * venue.message_bytes_max;
    session.limits.logon_wait_ns = venue.connect_ms * 1_000_000;
    session
}

/// The limits of the books of a session.
pub(super) fn books(limits: &SessionLimits, levels_max: usize) -> Limits {
    Limits {
        instruments_max: limits.instruments_max,
        // There is no market by order.
        orders_max: 1,
        event_changes_max: limits.event_changes_max,
        default_depth: Depth {
            direct: Depth::ALL,
            implied: 0,
        },
        levels_max,
    }
}

/// Fills `bytes` with unpredictable random bytes.
fn random(bytes: &mut [u8]) -> Result<(), ConfigError> {
    const SOURCE: &str = "/dev/urandom";
    let read = File::open(SOURCE).and_then(|mut file| file.read_exact(bytes));
    read.map_err(|error| ConfigError {
        file: SOURCE.into(),
        line: None,
        what: format!("cannot read it: {error}"),
        fix: "a Logon needs random numbers; check why this host has no /dev/urandom".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_timeout_of_0_is_none_whatever_the_test_requests() {
        const MS: u64 = 1_000_000;
        assert_eq!(stale_ns(45_000, 2_000), 4_000 * MS);
        assert_eq!(stale_ns(3_000, 2_000), 3_000 * MS);
        assert_eq!(stale_ns(45_000, 0), 45_000 * MS);
        assert_eq!(stale_ns(0, 2_000), u64::MAX);
        assert_eq!(stale_ns(0, 0), u64::MAX);
    }
}
