//! `touchline bench`: benchmarks, one command for each published figure.

mod book;
mod day;
mod decode_fix;
mod event;
mod export;
mod feed;
mod fx_banks;
mod fx_compose;
mod fx_trade;
mod hash;
pub mod ipc;
mod ipc_rtt;
mod ipc_throughput;
mod journal;
mod market;
mod progress;
mod publish;
mod receive;
mod record;
mod relay;
mod relay_path;
mod run;
mod tape;

use crate::output::Failure;

/// Measure latencies and rates; every sample is in a histogram.
///
/// The same flags mean the same in all benchmarks: --samples, --messages or --packets of each subject in each round,
/// --rounds, --cpus, --payload in bytes, --pause-us between two samples, --json, --histograms.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, clap::Subcommand)]
enum Bench {
    /// A change of a price book with few levels and with thousands, alone and published.
    Book(book::Arguments),
    /// Bytes of a FIX message → checked → header and typed entries.
    DecodeFix(decode_fix::Arguments),
    /// A packet in memory → arbitration → decode → books → update handed to the publisher.
    Event(event::Arguments),
    /// A recorded day, from its tape to CSV, Parquet and DBN.
    Export(export::Arguments),
    /// An exchange's packets through sockets, a gateway and its bus to a consumer.
    Feed(feed::Arguments),
    /// The gateway of `feed`.
    #[command(hide = true)]
    FeedGateway(feed::GatewayArguments),
    /// The exchange of `feed`.
    #[command(hide = true)]
    FeedSender(feed::SenderArguments),
    /// A bank's changed quote in memory → composite published.
    FxCompose(fx_compose::Arguments),
    /// A bank's quote → composite → decision → limits → journal → order handed to the kernel; the kill switch.
    FxTrade(fx_trade::Arguments),
    /// Keyed hash of an order's key, compared with other hashes and with a change of an order.
    Hash(hash::Arguments),
    /// A round trip of a message between two processes, through shared memory.
    IpcRtt(ipc_rtt::Arguments),
    /// A message stream to one or several processes, through shared memory.
    IpcThroughput(ipc_throughput::Arguments),
    /// A record of an order until its order may leave, in each mode of a journal; the time of a start.
    Journal(journal::Arguments),
    /// The cost of readers to the writer of a ring.
    Publish(publish::Arguments),
    /// The cost of receiving a packet: one a system call, and several.
    Receive(receive::Arguments),
    /// The cost to the publisher of a recorder of its bus.
    Record(record::Arguments),
    /// The cost to the publisher of a receiver, behind a relay, that has stopped.
    Relay(relay::Arguments),
    /// A message from bus to bus over a relay, beside raw UDP.
    RelayPath(relay_path::Arguments),
    /// A minute of a recorded day, from the command to its first message.
    Tape(tape::Arguments),
    /// The peer process of `ipc-rtt` and `ipc-throughput`.
    #[command(hide = true)]
    IpcPeer(ipc::PeerArguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.bench {
        Bench::Book(arguments) => book::run(arguments),
        Bench::DecodeFix(arguments) => decode_fix::run(arguments),
        Bench::Event(arguments) => event::run(arguments),
        Bench::Export(arguments) => export::run(arguments),
        Bench::Feed(arguments) => feed::run(arguments),
        Bench::FeedGateway(arguments) => feed::run_gateway(arguments),
        Bench::FeedSender(arguments) => feed::run_sender(arguments),
        Bench::FxCompose(arguments) => fx_compose::run(arguments),
        Bench::FxTrade(arguments) => fx_trade::run(arguments),
        Bench::Hash(arguments) => hash::run(arguments),
        Bench::IpcRtt(arguments) => ipc_rtt::run(arguments),
        Bench::IpcThroughput(arguments) => ipc_throughput::run(arguments),
        Bench::Journal(arguments) => journal::run(arguments),
        Bench::Publish(arguments) => publish::run(arguments),
        Bench::Receive(arguments) => receive::run(arguments),
        Bench::Record(arguments) => record::run(arguments),
        Bench::Relay(arguments) => relay::run(arguments),
        Bench::RelayPath(arguments) => relay_path::run(arguments),
        Bench::Tape(arguments) => tape::run(arguments),
        Bench::IpcPeer(arguments) => ipc::peer(arguments),
    }
}
