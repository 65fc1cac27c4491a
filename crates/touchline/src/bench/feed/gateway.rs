//! Gateway of `bench feed`: sockets, path, bus and counters file of a live gateway.

use crate::output::Failure;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchline_feed::cme::{CmeFeed, FeedType, Line};
use touchline_gateway::config::{Config, Sources};
use touchline_gateway::live::{self, Gateway, Multicast};
use touchline_gateway::venues::cme::{
    self, ChannelConfig, CmeConfig, CmeMulticast, endpoints, socket_settings,
};
use touchline_gateway::{CountersFile, Selected, bus};
use touchline_lab::bench::{feed, ipc};
use touchline_lab::cme::config;
use touchline_net::UdpSource;
use touchline_transport::clock::Clock;
use touchline_transport::shm::Publisher;

/// The gateway's process.
#[derive(Debug, clap::Args)]
pub struct GatewayArguments {
    #[arg(long)]
    pub folder: PathBuf,
    #[arg(long)]
    pub cpu: usize,
    #[arg(long)]
    pub interface: String,
    #[arg(long)]
    pub network: u8,
    #[arg(long)]
    pub batch: usize,
    #[arg(long)]
    pub buffer: usize,
    #[arg(long)]
    pub seed: u64,
}

/// Name of the bus.
pub const BUS: &str = "feed";

/// The run ends after this long without a packet.
pub const QUIET: Duration = Duration::from_millis(1_500);

/// Maximum wait for the first packet.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Polls without a packet between two readings of the clock.
const IDLE_ROUNDS: u32 = 4_096;

/// Runs the process until no packets arrive; its counters stay on the bus.
pub fn run(arguments: &GatewayArguments) -> Result<(), Failure> {
    let mut gateway = open(arguments)?;
    live::bind_to(arguments.cpu).map_err(Failure::run)?;
    ipc::say_ready();
    let (mut idle, mut limit, mut since) = (0, PATIENCE, Instant::now());
    loop {
        if gateway.do_work().map_err(Failure::run)? > 0 {
            (idle, limit) = (0, QUIET);
            continue;
        }
        idle += 1;
        if idle % IDLE_ROUNDS != 0 {
            continue;
        }
        let newest = Instant::now();
        if idle == IDLE_ROUNDS {
            since = newest;
        } else if newest - since > limit {
            break;
        }
    }
    gateway.finish();
    Ok(())
}

type Measured = Gateway<CmeMulticast<UdpSource>, Selected<Publisher>>;

fn open(arguments: &GatewayArguments) -> Result<Measured, Failure> {
    let config = configuration(arguments)?;
    let channel = ChannelConfig::read(&config.venue.config_xml, config.venue.channel)
        .map_err(Failure::run)?;
    let groups = endpoints(&config, &channel);
    let source = UdpSource::open(&groups, &socket_settings(&config));
    let source = source.map_err(|error| Failure::source(&error))?;
    for warning in source.warnings() {
        eprintln!("touchline: {warning}");
    }
    let publisher = bus::open(&config).map_err(Failure::run)?;
    let clock = Clock::calibrated();
    let counters_file = CountersFile::create::<CmeFeed>(&publisher, clock, Measured::tables());
    let counters_file = counters_file.map_err(Failure::run)?;
    let mut path = cme::pipeline(&config, publisher);
    // State of the middle of a day: every instrument is live after a first round.
    let stretch = feed::stretch(arguments.seed);
    for snapshot in stretch.snapshots() {
        path.packet((FeedType::Snapshot, Line::A), &snapshot, 0, 0);
    }
    for (_, receive_ns, bytes, _) in stretch.packets() {
        path.packet((FeedType::Incremental, Line::A), bytes, receive_ns, 0);
    }
    super::super::event::still_live(&path)?;
    let link = Multicast::new(source, channel.routes().clone(), None);
    Ok(Gateway::new(
        link,
        path,
        Some(counters_file),
        clock,
        &config.duty,
    ))
}

fn configuration(arguments: &GatewayArguments) -> Result<CmeConfig, Failure> {
    let path = arguments.folder.join("config.xml");
    write(&path, &feed::config_xml(arguments.network))?;
    let mut config = Config::of_cme_channel(path, u32::from(config::CHANNEL));
    config.bus = BUS.to_owned();
    config.publication.directory = Some(arguments.folder.clone());
    config.venue.interface = Some(arguments.interface.clone());
    // The generated configuration names the hosts of the venue, not this one.
    config.network.sources = Sources::Any;
    config.network.batch = arguments.batch;
    config.network.receive_buffer_bytes = arguments.buffer;
    config.limits.instruments_max = 4_096;
    config.limits.orders_max = 65_536;
    config.limits.event_changes_max = 4_096;
    config.limits.queue_entries_max = 65_536;
    Ok(config)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::run(format!("{}: cannot be written ({error})", path.display())))
}
