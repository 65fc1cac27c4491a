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
mod run;

use crate::output::Failure;

/// Measure, and print figures from full histograms.
///
/// The same flags mean the same in all benchmarks: --samples, --messages or --packets of each subject in each round,
/// --rounds, --cpus, --payload in bytes, --pause-us between two of them, --json, --histograms.
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
