//! Arguments of `touchline sim cme`.

use crate::log::LogArguments;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use touchline_lab::cme::config::GROUP_SETS;
use touchline_lab::fault::command::Command;
use touchline_lab::fault::forger::Injected;

/// Simulate a CME channel: definitions, snapshots and increments on lines A and B, and TCP replay.
///
/// The packets are those of a market generated from a seed, without end, or those of captures with their original
/// timing. Faults are injected from the start or at run time. When the simulator is stopped, it stops injecting
/// faults, sends heartbeats and a complete cycle of each feed so that gateways recover, writes the expected books,
/// and prints a summary.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Seed of the generated market, and of the faults.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Seed of the events, for another sequence of events with the instruments of --seed.
    #[arg(long, value_name = "N")]
    pub(super) course: Option<u64>,
    /// Number of instruments, 1 to 1,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=1_000)
    )]
    pub(super) instruments: u64,
    /// Mean number of events a second, 0 to 1,000,000; events come in bursts.
    #[arg(long, value_name = "N", default_value = "2000", value_parser = events_per_second)]
    pub(super) events_per_second: f64,
    /// Version of CME's schema.
    #[arg(long, value_name = "V", default_value = "13", value_parser = ["9", "13"])]
    pub(super) schema_version: String,
    /// Stop after N seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seconds: Option<u64>,
    /// Stop after N events.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "play")]
    pub(super) events: Option<u64>,
    /// Send to the groups of a channel of CME's config.xml instead of the built-in channel 998; an address in
    /// it may also be a unicast address.
    #[arg(long, value_name = "FILE", requires = "channel")]
    pub(super) config_xml: Option<PathBuf>,
    /// Channel of --config-xml.
    #[arg(long, value_name = "N", requires = "config_xml")]
    pub(super) channel: Option<u32>,
    /// Set of the built-in multicast groups, 0 to 16,383: simulators on one host need different sets.
    /// A second simulator on the same groups is refused.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = clap::value_parser!(u16).range(..i64::from(GROUP_SETS)),
        conflicts_with = "config_xml"
    )]
    pub(super) groups: u16,
    /// Network interface to send on: name or address.
    #[arg(long, value_name = "NAME", default_value = "127.0.0.1")]
    pub(super) interface: String,
    /// Write config.xml and gateway.toml for a gateway of this simulator into this folder, and continue.
    #[arg(long, value_name = "DIR")]
    pub(super) write: Option<PathBuf>,
    /// Send the packets of these captures, and of the raw recordings in these directories, instead of a generated
    /// market: both lines as recorded.
    #[arg(
        long,
        alias = "pcap",
        value_name = "FILE|DIR",
        num_args = 1..,
        conflicts_with_all = ["course", "instruments", "events_per_second", "schema_version"]
    )]
    pub(super) play: Vec<PathBuf>,
    /// Speed relative to the capture.
    #[arg(long, value_name = "X", default_value = "1", value_parser = speed, requires = "play")]
    pub(super) speed: f64,
    /// Start the captures again at their end, without end.
    #[arg(long = "loop", requires = "play")]
    pub(super) again: bool,
    /// Inject a fault from the start, such as `drop a 0.01`; repeat it for several.
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    pub(super) fault: Vec<Command>,
    /// Read commands from standard input, one a line; the answers go to standard output.
    #[arg(long)]
    pub(super) commands: bool,
    /// Stop when standard input is closed, for a process that starts this as a child.
    #[arg(long, requires = "commands")]
    pub(super) until_eof: bool,
    /// Serve TCP replay on this address; port 0 is any free port.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "play")]
    pub(super) replay_listen: Option<SocketAddrV4>,
    /// Write the expected price books to this file at the end.
    #[arg(long, value_name = "FILE", conflicts_with = "play")]
    pub(super) truth_books: Option<PathBuf>,
    /// Write the expected order books to this file at the end.
    #[arg(long, value_name = "FILE", conflicts_with = "play")]
    pub(super) truth_orders: Option<PathBuf>,
    /// Write the state of each price book after each event to this file.
    #[arg(long, value_name = "FILE", conflicts_with = "play")]
    pub(super) truth_log: Option<PathBuf>,
    /// Write the state of each order book after each event to this file.
    #[arg(long, value_name = "FILE", conflicts_with = "play")]
    pub(super) truth_order_log: Option<PathBuf>,
    #[command(flatten)]
    pub(super) log: LogArguments,
}

const AFTER_HELP: &str = "\
Examples:
  touchline sim cme --write sim &  touchline gateway --config sim/gateway.toml
  touchline sim cme --seconds 60 --fault 'drop a 0.01' --fault 'both 0.001 5' \\
      --truth-books books.jsonl --truth-orders orders.jsonl
  touchline sim cme --groups 1 --write second      # a second simulator
  touchline sim cme --play day.pcap --speed 10
  touchline sim cme --play raw --config-xml config.xml --channel 340 --fault 'drop a 0.01' --seed 7

Faults of --fault and --commands (LINE is a, b or ab; SHARE is the share of packets, 0 to 1;
a feed may follow: i, n, s or smbo):
  drop LINE SHARE            packets are lost
  burst LINE SHARE MAX       at a SHARE of packets a burst of up to MAX losses starts
  both SHARE MAX             the same packets are lost on both lines, in bursts of up to MAX:
                             only recovery restores their contents
  duplicate LINE SHARE       packets are sent twice
  reorder LINE SHARE BY      packets are delayed behind up to BY later ones of their feed, by
                             100 ms at most
  delay LINE SHARE MIN MAX   packets are late by MIN to MAX milliseconds
  corrupt LINE SHARE         packets are damaged so that they are invalid
  outage LINE SECONDS        the line sends nothing for SECONDS
  clock SECONDS              the venue's clock steps by SECONDS, negative for back: sending
                             times and TransactTime. Steps add up; clear does not undo them
  forge LINE NUMBER SECONDS  one forged heartbeat (with --fault before every other packet):
                             its sequence number, or + or - an offset from the newest of its
                             feed (default i); its sending time as an offset from the
                             venue's clock
  replay HOW                 TCP replay behaves: ok, refuse, half (half of the packets, the
                             last one truncated), slow (one each 50 ms), close, silent

Further commands of --commands:
  forge-snapshot LINE NUMBER SECONDS
                             one old snapshot packet with this LastMsgSeqNumProcessed, or + or
                             - an offset from the newest packet of i; feed s (default) or smbo
  old LINE COUNT             COUNT packets of each feed are sent again: the last before the
                             last restart, else the oldest of the latest 2048
  restart [SECONDS]          the exchange restarts: the same instruments, empty books, other
                             events, numbers of all feeds from 1, no channel reset, its
                             clock SECONDS (0) off this host's
  clear                      stop all faults; delayed packets are sent
  rate EVENTS                mean number of events a second; 0 leaves cycles and heartbeats
  reset                      send a channel reset, and all books again
  truth                      write the expected books now
  quit                       stop, as on Ctrl-C

Standard output has `sending channel ...` when the simulator is up, the answers to commands, and
the summary; the log is on standard error.

Exit status:
  0  stopped
  1  the run failed: the port is in use, an output cannot be written
  2  bad arguments or configuration, no such interface, or another simulator sends to the
     same groups (give another --groups N)";

fn events_per_second(text: &str) -> Result<f64, String> {
    within(text, 0.0, 1e6)
}

fn speed(text: &str) -> Result<f64, String> {
    within(text, 0.001, 1e6)
}

fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("not a number from {least} to {most}")),
    }
}

/// Parses a fault that can be set from the start.
fn fault(text: &str) -> Result<Command, String> {
    match text.parse() {
        Ok(command @ (Command::Fault(_) | Command::Replay(_) | Command::Clock(_))) => Ok(command),
        Ok(Command::Inject(injection)) => match injection.packets {
            Injected::Heartbeat(_) => Ok(Command::Inject(injection)),
            _ => Err(
                "only a command, since no packet was sent before it; give it to --commands"
                    .to_owned(),
            ),
        },
        Ok(_) => Err("not a fault, only a command: give it to --commands".to_owned()),
        Err(refused) => Err(refused.to_string()),
    }
}
