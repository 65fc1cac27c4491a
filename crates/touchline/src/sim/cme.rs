//! `touchline sim cme`: a CME channel on the network, of a generated market or out of captures.

mod addresses;
mod expected_books;
mod injected;
mod market;
mod playback;
mod summary;
mod test_transport;

use crate::interrupt::Interrupt;
use crate::output::Failure;
use crate::sim::orders::Orders;
use addresses::Addresses;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use test_transport::TestTransport;
use touchline_lab::cme::config::GROUP_SETS;
use touchline_lab::fault::command::Command;
use touchline_lab::fault::forger::Injected;

/// A CME channel on the network: definitions, snapshots and increments on lines A and B, and TCP replay.
///
/// It sends the packets of an endless market, generated from a seed, or of captures with their original timing. Faults
/// affect the packets on the way, from the start or at run time. When it is stopped, it stops injecting faults, sends
/// heartbeats and complete cycles of all feeds, writes the expected books, and prints a summary.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Seed of the generated market.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Another course of the same market: the same instruments, other events.
    #[arg(long, value_name = "N")]
    course: Option<u64>,
    /// Number of instruments, 1 to 1,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=1_000)
    )]
    instruments: u64,
    /// Events a second on average, 0 to 1,000,000, in bursts.
    #[arg(long, value_name = "N", default_value = "2000", value_parser = events_per_second)]
    events_per_second: f64,
    /// Version of CME's schema that the exchange sends.
    #[arg(long, value_name = "V", default_value = "13", value_parser = ["9", "13"])]
    schema_version: String,
    /// Close after N seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Close after N events.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "pcap")]
    events: Option<u64>,
    /// Send to the groups of a channel of CME's config.xml, in place of the built-in channel 998; an address there may also be that of a host.
    #[arg(long, value_name = "FILE", requires = "channel")]
    config_xml: Option<PathBuf>,
    /// The channel of --config-xml.
    #[arg(long, value_name = "N", requires = "config_xml")]
    channel: Option<u32>,
    /// Set of the built-in groups, 0 to 16,383: use a different one for each exchange of a host. A second exchange on the same groups
    /// is refused.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = clap::value_parser!(u16).range(..i64::from(GROUP_SETS)),
        conflicts_with = "config_xml"
    )]
    groups: u16,
    /// Network interface to send on, by name or address.
    #[arg(long, value_name = "NAME", default_value = "127.0.0.1")]
    interface: String,
    /// Write config.xml and gateway.toml for a gateway of this exchange into this folder, and continue.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Send the packets of these captures in place of a generated market.
    #[arg(
        long,
        value_name = "FILE",
        num_args = 1..,
        conflicts_with_all = ["seed", "instruments", "events_per_second", "schema_version"]
    )]
    pcap: Vec<PathBuf>,
    /// Factor of the speed of the captures.
    #[arg(long, value_name = "X", default_value = "1", value_parser = speed, requires = "pcap")]
    speed: f64,
    /// Repeat the captures for ever.
    #[arg(long = "loop", requires = "pcap")]
    again: bool,
    /// A fault from the start on, as in `drop a 0.01`; may be given many times.
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    fault: Vec<Command>,
    /// Read commands from standard input, a line each; each is answered on standard output.
    #[arg(long)]
    commands: bool,
    /// Close when standard input ends, for a parent process.
    #[arg(long, requires = "commands")]
    until_eof: bool,
    /// Serve TCP replay on this address; port 0 is any free one.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "pcap")]
    replay_listen: Option<SocketAddrV4>,
    /// Write the exchange's books here when it closes.
    #[arg(long, value_name = "FILE", conflicts_with = "pcap")]
    truth_books: Option<PathBuf>,
    /// Write the exchange's orders here when it closes.
    #[arg(long, value_name = "FILE", conflicts_with = "pcap")]
    truth_orders: Option<PathBuf>,
    /// Write the state of each book after each event here, while it runs.
    #[arg(long, value_name = "FILE", conflicts_with = "pcap")]
    truth_log: Option<PathBuf>,
    /// The same for each order book.
    #[arg(long, value_name = "FILE", conflicts_with = "pcap")]
    truth_order_log: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline sim cme --write sim &  touchline gateway --config sim/gateway.toml
  touchline sim cme --seconds 60 --fault 'drop a 0.01' --fault 'both 0.001 5' \\
      --truth-books books.jsonl --truth-orders orders.jsonl
  touchline sim cme --groups 1 --write second      # beside another one
  touchline sim cme --pcap day.pcap --speed 10

Faults, and commands of --commands (LINE is a, b or ab; SHARE is of packets, 0 to 1;
a feed may follow the fault: i, n, s or smbo):
  drop LINE SHARE            lost one by one
  burst LINE SHARE MAX       lost in bursts of up to MAX
  both SHARE MAX             the same packets lost on both lines, in bursts
  duplicate LINE SHARE       sent twice
  reorder LINE SHARE BY      overtaken by up to BY others
  delay LINE SHARE MIN MAX   delayed by MIN to MAX milliseconds
  corrupt LINE SHARE         damaged
  outage LINE SECONDS        the line is dead for SECONDS
  clock SECONDS              the venue's clock steps, also back
  forge LINE NUMBER SECONDS  one heartbeat that the exchange did not send (with --fault before
                             all other packets): its number, with + or - relative to the
                             newest one of its feed (default i); its sending time relative to
                             the venue's clock
  forge-snapshot LINE NUMBER SECONDS
                             one old snapshot packet with this LastMsgSeqNumProcessed, with +
                             or - relative to the newest packet of i; feed s, if not smbo
                             (only as a command)
  old LINE COUNT             COUNT packets of each feed again, once: the last ones before the
                             last restart, or else the oldest of the latest 2048 (only as a
                             command)
  restart [SECONDS]          the exchange restarts: empty books, numbers from 1, no channel
                             reset, its clock SECONDS off this host's (only as a command)
  replay HOW                 behavior of TCP replay: ok, refuse, half, slow, close, silent
  clear                      removes all faults
  rate EVENTS                events a second; 0 leaves cycles and heartbeats
                             (only as a command)
  reset                      a channel reset (only as a command)
  truth                      write the expected books as of now (only as a command)
  quit                       close, as on Ctrl-C (only as a command)

It prints `sending channel ...` on standard output when it is up.

Exit status:
  0  closed
  1  the run failed: the port is taken, an output cannot be written
  2  bad arguments or configuration; no such interface; another simulator sends
     to the same groups (--groups N has others)";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let addresses = Addresses::of(arguments)?;
    let transport = TestTransport::open(arguments, addresses)?;
    let orders = Orders::listen(arguments.commands, arguments.until_eof)?;
    if arguments.pcap.is_empty() {
        market::run(arguments, transport, orders, &interrupt)
    } else {
        playback::run(arguments, transport, orders, &interrupt)
    }
}

fn events_per_second(text: &str) -> Result<f64, String> {
    within(text, 0.0, 1e6)
}

fn speed(text: &str) -> Result<f64, String> {
    within(text, 0.001, 1e6)
}

fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("it is not a number from {least} to {most}")),
    }
}

/// What can be set from the start on.
fn fault(text: &str) -> Result<Command, String> {
    match text.parse() {
        Ok(command @ (Command::Fault(_) | Command::Replay(_) | Command::Clock(_))) => Ok(command),
        Ok(Command::Inject(injection)) => match injection.packets {
            Injected::Heartbeat(_) => Ok(Command::Inject(injection)),
            _ => Err("nothing is sent before it; it can be a command of --commands".to_owned()),
        },
        Ok(_) => Err("it is no fault; it can be a command of --commands".to_owned()),
        Err(refused) => Err(refused.to_string()),
    }
}
