//! Gateway of `bench feed`: sockets, path, bus and counters file of a live gateway.

use super::super::event;
use super::super::market::MarketName;
use super::places::Places;
use super::reception::Reception;
use super::sent::{Sent, Stamped};
use super::text::OfGateway;
use crate::output::{Failure, notice};
use crate::print::print_text;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchline_feed::cme::CmeFeed;
use touchline_gateway::config::{Config, IdleKind, Sources};
use touchline_gateway::live::{self, Gateway, Multicast};
use touchline_gateway::replay::latency_histogram;
use touchline_gateway::venues::cme::{self, ChannelConfig, CmeConfig, CmeMulticast, endpoints};
use touchline_gateway::{CountersFile, Selected, bus};
use touchline_lab::bench::conditions::RunQueue;
use touchline_lab::bench::{feed, ipc};
use touchline_lab::capture::Line;
use touchline_lab::cme::config;
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
    #[arg(long, value_enum)]
    pub market: MarketName,
    #[arg(long)]
    pub seed: u64,
    #[arg(long, value_enum)]
    pub receive: Reception,
    #[arg(long)]
    pub keep_warm: bool,
    /// Times are from the sender's reading of the clock.
    #[arg(long)]
    pub from_sender: bool,
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
    let clock = Clock::calibrated();
    let stamped_ns = Stamped::new(latency_histogram().into());
    let places = Places::new(clock);
    let mut gateway = open(arguments, clock, Stamped::clone(&stamped_ns), &places)?;
    live::bind_to(arguments.cpu).map_err(Failure::run)?;
    ipc::say_ready();
    let run_queue = RunQueue::watch();
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
    let run_queue = run_queue();
    gateway.finish();
    let measured = OfGateway {
        stamped_ns: stamped_ns.borrow().clone(),
        places: places.histograms(),
        run_queue,
    };
    print_text(format_args!("{measured}"));
    Ok(())
}

type Measured = Gateway<CmeMulticast<Sent>, Selected<(Places, Publisher)>>;

fn open(
    arguments: &GatewayArguments,
    clock: Clock,
    stamped_ns: Stamped,
    places: &Places,
) -> Result<Measured, Failure> {
    let config = configuration(arguments)?;
    let channel = ChannelConfig::read(&config.venue.config_xml, config.venue.channel)
        .map_err(Failure::run)?;
    let groups = endpoints(&config, &channel);
    let opened = cme::open(&config, &groups);
    let (source, warnings) = opened.map_err(|error| Failure::source(&error))?;
    // Virtual cards have no zero copy, and each AF_XDP source says so.
    if arguments.receive == Reception::Sockets {
        for warning in warnings {
            notice(warning);
        }
    }
    let source = Sent::new(source, arguments.from_sender, stamped_ns, places.clone());
    let publisher = bus::open(&config).map_err(Failure::run)?;
    let counters_file = CountersFile::create::<CmeFeed>(&publisher, clock, Measured::tables());
    let counters_file = counters_file.map_err(Failure::run)?;
    let mut path = cme::pipeline(&config, (places.clone(), publisher));
    let market = arguments.market.market();
    event::warm(&mut path, &market.rounds(arguments.seed, &[Line::A]));
    event::still_live(&path)?;
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
    config.network.receive = arguments.receive.receive();
    config.duty.idle = IdleKind::Spin;
    config.duty.keep_warm = arguments.keep_warm;
    let market = arguments.market.market();
    config.limits.instruments_max = market.instruments_max();
    config.limits.orders_max = market.orders_max();
    config.limits.event_changes_max = 4_096;
    config.limits.queue_entries_max = 65_536;
    Ok(config)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::run(format!("{}: cannot be written ({error})", path.display())))
}
