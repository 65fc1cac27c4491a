//! A CME gateway from its configuration.

use crate::config::{Config, Symbols};
use crate::live::Multicast;
use crate::replay::Report;
use crate::selection::Selected;
use crate::{Limits, Pipeline, Recovery};
use touchline_feed::cme::{CmeFeed, FeedType, Line, Replay, Settings};
use touchline_transport::Publish;

/// The path of one CME channel.
pub type CmePipeline<P> = Pipeline<CmeFeed, Selected<P>>;

/// The sockets of one CME channel, with TCP replay.
pub type CmeMulticast<S> = Multicast<S, CmeFeed, Recovery>;

/// What a replay saw of the packets of a CME channel.
pub type CmeReport = Report<(FeedType, Line)>;

/// Builds the path of a capture: nothing can be asked for again. All memory is taken here.
pub fn pipeline<P: Publish>(config: &Config, publisher: P) -> CmePipeline<P> {
    let symbols = config.venue.symbols.clone();
    build(settings(config), limits(config), symbols, publisher)
}

/// Builds the path of a live gateway, whose gaps wait for TCP replay if there is any. Its channel
/// repeats the definitions, so no book is live before its own.
pub fn live_pipeline<P: Publish>(
    config: &Config,
    replay: Option<Replay>,
    publisher: P,
) -> CmePipeline<P> {
    let symbols = config.venue.symbols.clone();
    let settings = Settings {
        replay,
        trust_undefined: false,
        ..settings(config)
    };
    build(settings, limits(config), symbols, publisher)
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
pub fn settings(config: &Config) -> Settings {
    Settings {
        join: config.venue.join,
        wait_ns: config.venue.wait_ms * 1_000_000,
        hold_packets_max: config.limits.hold_packets_max,
        packet_bytes_max: config.limits.packet_bytes_max,
        instruments_max: config.limits.instruments_max,
        queue_entries_max: config.limits.queue_entries_max,
        stale_ns: match config.duty.stale_after_ms {
            0 => u64::MAX,
            ms => ms * 1_000_000,
        },
        ..Settings::default()
    }
}

/// The limits of the books.
pub fn limits(config: &Config) -> Limits {
    Limits {
        instruments_max: config.limits.instruments_max,
        orders_max: config.limits.orders_max,
        event_changes_max: config.limits.event_changes_max,
        default_depth: Settings::default().default_depth,
        // Every book is kept by position.
        levels_max: 0,
    }
}
