//! `touchline bench`: each figure that we quote, by one command.

mod book;
mod decode_fix;
mod event;
mod feed;
mod hash;
mod ipc;
mod ipc_rtt;
mod ipc_throughput;
mod publish;
mod receive;

use crate::output::Failure;
use std::path::Path;
use touchline_lab::bench::{Host, Statistics};

/// Measure, and print figures from full histograms.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, clap::Subcommand)]
enum Bench {
    /// A change of a price book of few levels and of thousands, alone and published.
    Book(book::Arguments),
    /// Bytes of a FIX message → verified → header and typed entries.
    DecodeFix(decode_fix::Arguments),
    /// A packet in memory → arbitration → decode → books → update handed to the publisher.
    Event(event::Arguments),
    /// An exchange's packets through sockets, a gateway and its bus to a consumer.
    Feed(feed::Arguments),
    /// The gateway of `feed`.
    #[command(hide = true)]
    FeedGateway(feed::GatewayArguments),
    /// The exchange of `feed`.
    #[command(hide = true)]
    FeedSender(feed::SenderArguments),
    /// The keyed hash of an order's key, against others and against a change of an order.
    Hash(hash::Arguments),
    /// A message there and back between two processes, through shared memory.
    IpcRtt(ipc_rtt::Arguments),
    /// A stream of messages to one process or several, through shared memory.
    IpcThroughput(ipc_throughput::Arguments),
    /// What readers cost the writer of a ring.
    Publish(publish::Arguments),
    /// What receiving a packet costs: one a system call against several.
    Receive(receive::Arguments),
    /// The other process of `ipc-rtt` and `ipc-throughput`.
    #[command(hide = true)]
    IpcPeer(ipc::PeerArguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.bench {
        Bench::Book(arguments) => book::run(arguments),
        Bench::DecodeFix(arguments) => decode_fix::run(arguments),
        Bench::Event(arguments) => event::run(arguments),
        Bench::Feed(arguments) => feed::run(arguments),
        Bench::FeedGateway(arguments) => feed::run_gateway(arguments),
        Bench::FeedSender(arguments) => feed::run_sender(arguments),
        Bench::Hash(arguments) => hash::run(arguments),
        Bench::IpcRtt(arguments) => ipc_rtt::run(arguments),
        Bench::IpcThroughput(arguments) => ipc_throughput::run(arguments),
        Bench::Publish(arguments) => publish::run(arguments),
        Bench::Receive(arguments) => receive::run(arguments),
        Bench::IpcPeer(arguments) => ipc::peer(arguments),
    }
}

/// Prints figures: a line of JSON each, or a table under the host and `head`, which says what they are of.
fn report(json: bool, host: &Host, head: &str, statistics: &[Statistics]) {
    if json {
        let json = |line: &Statistics| println!("{}", line.to_json(host));
        return statistics.iter().for_each(json);
    }
    println!("{host}\n{head}\n{}", Statistics::HEAD);
    statistics.iter().for_each(|line| println!("{line}"));
}

/// Writes the whole distribution of each figure into a folder.
fn write_distributions(statistics: &[Statistics], folder: &Path) -> Result<(), Failure> {
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        statistics
            .iter()
            .try_for_each(|line| line.write_distribution(folder))
    });
    written.map_err(|error| {
        let folder = folder.display();
        Failure::run(format!(
            "{folder}: cannot be written ({error}); give a folder of yours"
        ))
    })
}
