//! `touchline replay`: captures through the path.

use crate::books::{write_books, write_orders};
use crate::output::{Failure, Output};
use crate::tops::Tops;
use std::path::PathBuf;
use touchline_gateway::cme;
use touchline_gateway::config::Config;
use touchline_gateway::config::cme::ChannelConfig;
use touchline_gateway::replay::{Speed, replay};
use touchline_net::PcapSource;
use touchline_transport::Local;

/// Feed captures through the path, in capture order, and write the books.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The gateway's configuration, a TOML file.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Captures: pcap or pcapng, plain, .gz or .zst; several are merged by capture time.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pcap: Vec<PathBuf>,
    /// Write the price books at the end, a JSON line for each instrument.
    #[arg(long, value_name = "FILE")]
    books: Option<PathBuf>,
    /// Write the order books at the end, a JSON line for each instrument.
    #[arg(long, value_name = "FILE")]
    orders: Option<PathBuf>,
    /// Write the top of book after each end of event, a JSON line each.
    #[arg(long, value_name = "FILE")]
    tops: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = Config::read(&arguments.config).map_err(Failure::usage)?;
    let channel = ChannelConfig::read(&config.venue.config_xml, config.venue.channel)
        .map_err(Failure::usage)?;
    let open = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
    let (books, orders, tops) = (
        open(&arguments.books)?,
        open(&arguments.orders)?,
        open(&arguments.tops)?,
    );
    let mut source = PcapSource::open(&arguments.pcap).map_err(Failure::run)?;
    let mut pipeline = cme::pipeline(&config, Local::new(tops.map(Tops::new)));
    let report = replay(&mut source, &channel, &mut pipeline, Speed::Max, |_, _| {})
        .map_err(Failure::run)?;
    if let Some(mut books) = books {
        write_books(&pipeline, &mut books)?;
        books.finish()?;
    }
    if let Some(mut orders) = orders {
        write_orders(&pipeline, &mut orders)?;
        orders.finish()?;
    }
    let tops = pipeline.publisher_mut().inner_mut().subscriber.take();
    tops.map_or(Ok(()), Tops::finish)?;
    for (info, value) in pipeline
        .venue()
        .counters()
        .values()
        .filter(|(_, value)| *value > 0)
    {
        eprintln!("{:>10} {}", value, info.name);
    }
    eprintln!(
        "p50 {} p99 {}",
        report.packet_ns.value_at_quantile(0.5),
        report.packet_ns.value_at_quantile(0.99)
    );
    Ok(())
}
