//! `touchline sim deribit`: a Deribit on a port, of a generated market or of recorded messages.

mod access;
mod run;
mod summary;

use super::access_control::AccessControl;
use crate::output::Failure;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use touchline_lab::deribit::fault::Setting;

/// A Deribit on a port: FIX 4.4 sessions, instruments, deep books that change, and trades.
///
/// The market is endless, generated from a seed, or played from recorded messages. Clients log on with a proof that they know the
/// secret, as at the venue. Faults affect messages to clients at random, from the start or at run time. When it is stopped, it
/// continues for half a second without faults, writes the expected books, logs all clients out, and prints a summary.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Listen here; port 0 is any free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9881")]
    listen: SocketAddrV4,
    #[command(flatten)]
    access_control: AccessControl,
    /// Seed of the market and of the faults.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of instruments, 1 to 1,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=1_000)
    )]
    instruments: u64,
    /// Levels of each side of a book at the start, about which it stays, 3 to 10,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_200,
        value_parser = clap::value_parser!(u64).range(3..=10_000)
    )]
    levels: u64,
    /// Events a second on average, 0 to 1,000,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2_000,
        value_parser = clap::value_parser!(u64).range(..=1_000_000)
    )]
    events_per_second: u64,
    /// Play the market data (35=W, 35=X) of this file in place of a generated market: FIX messages as they were
    /// received, one behind the other or one a line, repeated, one for each event.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["instruments", "levels", "truth_books", "truth_log"]
    )]
    play: Option<PathBuf>,
    /// User who may log on: a file of mode 0600 with one line, `USER:SECRET`.
    #[arg(long, value_name = "FILE", required_unless_present = "write")]
    credentials: Option<PathBuf>,
    /// Write gateway.toml for a gateway of this exchange into this folder, and its secret; without --credentials a new one is generated.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// A fault from the start on, as in `skip 0.01`; may be given many times.
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    fault: Vec<Setting>,
    /// Read commands from standard input, a line each; each is answered on standard output.
    #[arg(long)]
    commands: bool,
    /// Close when standard input ends, for a parent process.
    #[arg(long, requires = "commands")]
    until_eof: bool,
    /// Close after N seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Write the exchange's books here when it closes.
    #[arg(long, value_name = "FILE")]
    truth_books: Option<PathBuf>,
    /// Write the state of each book after each event here, while it runs.
    #[arg(long, value_name = "FILE")]
    truth_log: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline sim deribit --write sim &  touchline gateway --config sim/gateway.toml
  touchline sim deribit --credentials login --levels 3000 --fault 'skip 0.001' \\
      --truth-books books.jsonl --truth-log states.log --seconds 60
  touchline sim deribit --write sim --play day.fix --events-per-second 100

Faults, and commands of --commands (SHARE is of messages with market data or
instruments, of snapshots, of logons, or of requests, 0 to 1):
  skip SHARE               not sent: a gap in MsgSeqNum
  malform HOW SHARE        damaged: checksum, length, tag (a field without a
                           number), header (SenderCompID twice), count (268)
  disconnect SHARE         the connection is closed behind it, without a Logout
  silence SHARE SECONDS    from it on nothing is sent for SECONDS
  slow SHARE SECONDS       from it on nothing is read for SECONDS, and one byte
                           is sent in each millisecond
  snapshot-late SHARE MS   a snapshot is sent behind changes that it contains
  snapshot-never SHARE     it is not sent, and changes are
  refuse-logon SHARE       a correct logon is refused
  refuse-request SHARE     a correct request is refused
  clear                    removes all faults
  rate EVENTS              events a second (only as a command)
  truth                    write the expected books as of now (only as a command)
  quit                     close, as on Ctrl-C (only as a command)

It prints `listening on ...` on standard output when it is up. A client's TargetCompID is
DERIBITSERVER. A wrong user and a wrong secret get the same answer, and a connection from
an address that is not listed is closed at once. After six failed Logons an address is
throttled for a second, doubled with each further one up to a minute: its connections
are closed. Ten minutes without a failure reset that.
A client that does not read is disconnected when its send buffer is full.

Exit status:
  0  closed
  1  the run failed: the port is taken, an output cannot be written
  2  bad arguments, or a file that cannot be used";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    run::run(arguments)
}

fn fault(text: &str) -> Result<Setting, String> {
    text.parse()
        .map_err(|refused: touchline_lab::deribit::fault::Refused| refused.to_string())
}
