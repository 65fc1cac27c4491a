//! CME Globex: MDP 3.0 over multicast, channels of a `config.xml`, TCP replay.

mod capture;
mod channel_file;
mod definitions;
mod endpoints;
mod inputs;
mod recovery;
mod replay_section;
pub(super) mod secdef;
mod section;

use super::{Lines, Opened, Opening, StartError, Venue};
use crate::config::{
    self, CONFIGURATION, Config, ConfigError, Guide, Network, Receive, Symbols, timeout_ns,
};
use crate::live::Multicast;
use crate::replay::Report;
use crate::selection::Selected;
use crate::{Limits, Pipeline};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use touchline_feed::arbitration::CopyHash;
use touchline_feed::cme::{self, CmeFeed, FeedType, Line, Settings};
use touchline_net::LiveSource;
use touchline_net::udp::{Endpoint, check_interface};
use touchline_transport::Publish;

pub use capture::{Capture, other_channel};
pub use channel_file::{ChannelConfig, Connection, Product, Protocol, channels_with};
pub use definitions::{CaptureError, Definitions};
pub use endpoints::{endpoints, open};
pub use inputs::{check_captures, check_config};
pub use recovery::{Failure, Recovery, RecoveryCounters};
pub use replay_section::{PASSWORD_VARIABLE, Replay};
pub use section::{CmeVenue, Kind};
pub use touchline_feed::cme::Join;

/// The configuration of a CME channel.
pub type CmeConfig = Config<CmeVenue>;

/// The path of one CME channel.
pub type CmePipeline<P> = Pipeline<CmeFeed, Selected<P>>;

/// The sockets of one CME channel, with TCP replay.
pub type CmeMulticast<S> = Multicast<S, CmeFeed, Recovery>;

/// Counts of a replay of a CME channel.
pub type CmeReport = Report<(FeedType, Line)>;

impl Venue for CmeVenue {
    const KINDS: &'static [&'static str] = &["cme"];

    const EXAMPLES: &'static [&'static str] = &[include_str!("cme/example.toml")];

    const GUIDE: Guide = Guide {
        text: CONFIGURATION,
        tables: &[
            ("venue", "### `[venue]`"),
            ("venue.replay", "`[venue.replay]`:"),
            ("limits", "### `[limits]`"),
            ("network", "### `[network]`"),
        ],
    };

    type Limits = config::Limits;
    type Network = Network;
    type Calendars = config::NoSettings;
    type Link = CmeMulticast<LiveSource>;

    fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Cme => "cme",
        }
    }

    fn identity(&self) -> (&'static str, String) {
        ("channel", self.channel.to_string())
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn resolve(&mut self, folder: &Path) {
        self.config_xml = folder.join(&self.config_xml);
        let replay = self.replay.as_mut();
        if let Some(file) = replay.and_then(|replay| replay.password_file.as_mut()) {
            *file = folder.join(&file);
        }
    }

    fn instruments_max(limits: &config::Limits) -> usize {
        limits.instruments_max
    }

    fn orders_max(limits: &config::Limits) -> usize {
        limits.orders_max
    }

    fn check(config: &CmeConfig) -> Result<String, Vec<ConfigError>> {
        let venue = &config.venue;
        // Later checks depend on this channel, so its error is reported alone.
        let alone = |error| vec![error];
        let channel = ChannelConfig::read(&venue.config_xml, venue.channel).map_err(alone)?;
        let recovery = match Recovery::open(config, &channel).map_err(alone)? {
            Some(_) => "TCP replay, then snapshots",
            None => "snapshots",
        };
        let endpoints = endpoints(config, &channel);
        is_of_interfaces(config, &endpoints).map_err(alone)?;
        let groups = endpoints.len();
        let interface = match venue.interfaces() {
            None => "the interface of the route".to_owned(),
            Some(names) => format!("interface {names}"),
        };
        Ok(format!(
            "receives channel {} ({}) from {groups} groups on {interface}; lost packets are recovered by {recovery}",
            channel.id, channel.label,
        ))
    }

    fn missing_here(&self) -> Vec<String> {
        let other = self.interface_b.as_deref().map(Some);
        let all = [self.interface.as_deref()].into_iter().chain(other);
        let checked = all.filter_map(|name| check_interface(name).err());
        checked.map(|error| error.to_string()).collect()
    }

    /// Opens the sockets of a channel, and the client of TCP replay.
    fn open(config: &CmeConfig) -> Result<Opened<Self::Link>, StartError> {
        let venue = &config.venue;
        let channel = ChannelConfig::read(&venue.config_xml, venue.channel)?;
        let recovery = Recovery::open(config, &channel)?;
        let Lines {
            source,
            warnings,
            opening,
            ..
        } = open_channel(config, &channel)?;
        let reach = recovery.as_ref().map(Recovery::reach);
        Ok(Opened {
            feed: CmeFeed::new(live_settings(config, reach)),
            link: Multicast::new(source, channel.routes().clone(), recovery),
            limits: limits(config),
            warnings,
            opening,
        })
    }

    fn open_lines(config: &CmeConfig) -> Result<Option<Lines>, StartError> {
        let venue = &config.venue;
        let channel = ChannelConfig::read(&venue.config_xml, venue.channel)?;
        open_channel(config, &channel).map(Some)
    }
}

/// Opens the sockets of a channel.
fn open_channel(config: &CmeConfig, channel: &ChannelConfig) -> Result<Lines, StartError> {
    let endpoints = endpoints(config, channel);
    let (source, warnings) = open(config, &endpoints)?;
    let interface = config.venue.interfaces();
    Ok(Lines {
        lines: endpoints::lines(channel),
        warnings,
        opening: Opening::Listening {
            groups: endpoints.len(),
            interface: interface.unwrap_or_else(|| "default".to_owned()),
            receive: endpoints::kind(&source),
        },
        source,
    })
}

/// Frames are those of an interface that is named; who also accepts sockets needs none.
fn is_of_interfaces(config: &CmeConfig, endpoints: &[Endpoint]) -> Result<(), ConfigError> {
    let needs_names = matches!(config.network.receive, Receive::Xdp | Receive::XdpGeneric);
    let has_names = config.venue.interface.is_some()
        || endpoints
            .iter()
            .all(|endpoint| endpoint.interface.is_some());
    match needs_names && !has_names {
        false => Ok(()),
        true => Err(ConfigError {
            file: "[network]".into(),
            line: None,
            what: "`receive` reads the frames of an interface, and none is named".to_owned(),
            fix: "set `interface` in [venue], or receive = \"sockets\"".to_owned(),
        }),
    }
}

/// Builds the path for a capture, without retransmission. Allocates all memory.
pub fn pipeline<P: Publish>(config: &CmeConfig, publisher: P) -> CmePipeline<P> {
    let symbols = config.venue.symbols.clone();
    build(settings(config), limits(config), symbols, publisher)
}

/// Builds the path of a live gateway; its gaps wait for TCP replay if configured. The channel
/// repeats its definitions, so no book is live before its own.
pub fn live_pipeline<P: Publish>(
    config: &CmeConfig,
    replay: Option<cme::Replay>,
    publisher: P,
) -> CmePipeline<P> {
    let symbols = config.venue.symbols.clone();
    let settings = live_settings(config, replay);
    build(settings, limits(config), symbols, publisher)
}

fn live_settings(config: &CmeConfig, replay: Option<cme::Replay>) -> Settings {
    Settings {
        replay,
        trust_undefined: false,
        silence_ns: timeout_ns(config.duty.channel_silence_ms),
        ..settings(config)
    }
}

/// Builds the path from settings of its parts, for tests and benchmarks.
pub fn build<P: Publish>(
    settings: Settings,
    limits: Limits,
    symbols: Symbols,
    publisher: P,
) -> CmePipeline<P> {
    let publisher = Selected::new(publisher, symbols, limits.instruments_max);
    Pipeline::new(CmeFeed::new(settings), publisher, limits)
}

/// The feed's settings, without replay.
pub fn settings(config: &CmeConfig) -> Settings {
    Settings {
        join: config.venue.join,
        wait_ns: config.venue.wait_ms * 1_000_000,
        hold_packets_max: config.limits.hold_packets_max,
        packet_bytes_max: config.limits.packet_bytes_max,
        instruments_max: config.limits.instruments_max,
        queue_entries_max: config.limits.queue_entries_max,
        order_books: config.limits.orders_max > 0,
        // The seed is a secret of each process: a sender that knows one packet cannot make another of the same hash.
        compare_copies: (config.venue.compare_copies)
            .then(|| CopyHash::new(RandomState::new().build_hasher().finish())),
        stale_ns: timeout_ns(config.duty.stale_after_ms),
        ..Settings::default()
    }
}

/// The limits of the books.
pub fn limits(config: &CmeConfig) -> Limits {
    Limits {
        instruments_max: config.limits.instruments_max,
        orders_max: config.limits.orders_max,
        event_changes_max: config.limits.event_changes_max,
        default_depth: Settings::default().default_depth,
        // All books are kept by position.
        levels_max: 0,
    }
}
