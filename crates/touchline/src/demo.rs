//! `touchline demo`: simulator, gateway, subscriber and screen on this host, each in its own
//! process.

mod children;
mod expected_books;
pub mod folder;
pub mod fx;
mod left_bus;
mod live;
mod memory;
mod progress;
mod save;
mod session;

use crate::output::{Failure, say};
use crate::paint::Paint;
use session::Session;
use std::path::PathBuf;
use touchline_lab::cme::config::GROUP_SETS;

/// Run a simulated exchange, a gateway, a subscriber and a screen, each in its own process.
///
/// A simulated CME channel sends a generated market over two multicast lines on the loopback interface.
/// Packets are lost, delayed, duplicated, corrupted and reordered, and every few seconds a line is down for
/// half a second. The gateway keeps the books and publishes them in shared memory, the subscriber keeps books
/// from these updates, and the screen shows every stage. At the end the simulator stops injecting faults and
/// waits for recovery, and the subscriber's books are compared with the exchange's.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    /// Stop after N seconds; by default at Ctrl-C, or at q on the screen.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
    /// Seed of the generated market.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Version of CME's schema.
    #[arg(long, value_name = "V", default_value = "13", value_parser = ["9", "13"])]
    version: String,
    /// Number of instruments, 1 to 64.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        value_parser = clap::value_parser!(u64).range(1..=64)
    )]
    instruments: u64,
    /// Venue events a second, 1 to 20,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000,
        value_parser = clap::value_parser!(u64).range(1..=20_000)
    )]
    events_per_second: u64,
    /// Print one line a second instead of the screen. Without a terminal this is the default.
    #[arg(long)]
    plain: bool,
    /// Directory of the buses. Default: /dev/shm/touchline-UID.
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
    /// Set of multicast groups, 0 to 16,383, and bus demo-N, for a second demo on the same host. Default: any free set,
    /// and bus demo.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(..i64::from(GROUP_SETS))
    )]
    groups: Option<u16>,
    /// Write a session as a capture into this folder, with its configuration and the exchange's books, and exit.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seconds", "plain", "events_per_second", "groups"])]
    save: Option<PathBuf>,
    /// Remove the files of this demo when standard input is closed; used by a demo for its own
    /// cleanup.
    #[arg(long, value_name = "PID", hide = true)]
    clean_up_after: Option<u32>,
}

/// Demos of other venues.
#[derive(Debug, clap::Subcommand)]
enum Other {
    Fx(fx::Arguments),
}

const AFTER_HELP: &str = "\
Examples:
  touchline demo
  touchline demo --seconds 10 --plain
  touchline demo --groups 1                  # a second demo; its bus is demo-1
  touchline demo --instruments 40 --events-per-second 5000
  touchline demo --save demo
  touchline demo fx                          # banks, one price, orders on it
  touchline replay --config demo/cme.toml --pcap demo/session.pcap

While it runs, in other terminals:
  touchline top demo        touchline tail demo        touchline stat demo

Files that --save writes:
  session.pcap                            both lines of all feeds, with faults
  config.xml, cme.toml                    configuration for replay
  truth-books.jsonl, truth-orders.jsonl   expected books: those of the exchange

The demo needs no privileges and 20 MiB of shared memory; with less it prints how it
continues. Its bus and its temporary files (TMPDIR) are removed at the end, also when it is
killed. Output is coloured on a terminal unless NO_COLOR is set.

Exit status:
  0  every book of the subscriber equals the exchange's
  1  a book differs, or a process failed
  2  bad arguments, or another demo is running (start this one with --groups N)";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(process) = arguments.clean_up_after {
        return folder::clean_up_after(process);
    }
    if let Some(Other::Fx(arguments)) = &arguments.other {
        return fx::run(arguments);
    }
    let Some(folder) = &arguments.save else {
        return live::run(arguments);
    };
    let session = Session::generate(&arguments.version, arguments.instruments, arguments.seed);
    save::save(&session, folder)?;
    say(&session.describe(Paint::for_stdout()))
}
