//! Arguments of `touchline sim deribit`, and its help.

use crate::log::LogArguments;
use crate::sim::access_control::AccessControl;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use touchline_lab::deribit::fault::Setting;

/// Simulate Deribit: FIX 4.4 sessions, instruments, deep books and trades.
///
/// The market is generated from a seed, without end, or played from recorded messages. Clients prove in their Logon
/// that they know the secret, as at the venue. Faults are injected at random, from the start or at run time. When the
/// simulator is stopped, it runs for half a second without faults, writes the expected books, logs its clients out, and
/// prints a summary.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Address and port to listen on; port 0 is any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9881")]
    pub listen: SocketAddrV4,
    #[command(flatten)]
    pub access_control: AccessControl,
    /// Seed of the generated market and of the faults.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Number of instruments, 1 to 1,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=1_000)
    )]
    pub instruments: u64,
    /// Approximate levels per side of each book, 3 to 10,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_200,
        value_parser = clap::value_parser!(u64).range(3..=10_000)
    )]
    pub levels: u64,
    /// Mean number of events a second, 0 to 1,000,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2_000,
        value_parser = clap::value_parser!(u64).range(..=1_000_000)
    )]
    pub events_per_second: u64,
    /// Play the market data (35=W, 35=X) of this file instead of a generated market: FIX messages as received,
    /// concatenated or one a line, repeated without end, one for each event. A book begins with the next snapshot (35=W)
    /// that the playback reaches.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["instruments", "levels", "truth_books", "truth_log"]
    )]
    pub play: Option<PathBuf>,
    /// Credentials of the client: a file of mode 0600 with one line, `USER:SECRET`.
    #[arg(long, value_name = "FILE", required_unless_present = "write")]
    pub credentials: Option<PathBuf>,
    /// Write gateway.toml for a gateway of this simulator and its secret into this folder; without --credentials
    /// the secret is generated.
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Inject a fault from the start, such as `skip 0.01`; repeat it for several.
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    pub fault: Vec<Setting>,
    /// Read commands from standard input, one a line; the answers go to standard output.
    #[arg(long)]
    pub commands: bool,
    /// Stop when standard input is closed, for a process that starts this as a child.
    #[arg(long, requires = "commands")]
    pub until_eof: bool,
    /// Stop after N seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: Option<u64>,
    /// Write the expected books to this file at the end.
    #[arg(long, value_name = "FILE")]
    pub truth_books: Option<PathBuf>,
    /// Write the state of each book after each event to this file.
    #[arg(long, value_name = "FILE")]
    pub truth_log: Option<PathBuf>,
    #[command(flatten)]
    pub log: LogArguments,
}

const AFTER_HELP: &str = "\
Examples:
  touchline sim deribit --write sim &  touchline gateway --config sim/gateway.toml
  touchline sim deribit --credentials login --levels 3000 --fault 'skip 0.001' \\
      --truth-books books.jsonl --truth-log states.log --seconds 60
  touchline sim deribit --write sim --play day.fix --events-per-second 100

Faults of --fault and --commands (SHARE is the share of messages with market data or
instruments, of snapshots, of Logons, or of requests, 0 to 1):
  skip SHARE               the message is not sent: a gap in MsgSeqNum
  malform HOW SHARE        the message is damaged: checksum, length, tag (a field without
                           a number), header (SenderCompID twice), count (268)
  disconnect SHARE         the connection is closed after it, without a Logout
  silence SHARE SECONDS    nothing is sent for SECONDS
  slow SHARE SECONDS       nothing is read for SECONDS, and one byte is sent a millisecond
  snapshot-late SHARE MS   the snapshot comes after updates that it contains
  snapshot-never SHARE     the snapshot is not sent, updates are
  refuse-logon SHARE       a valid Logon is refused
  refuse-request SHARE     a valid request is refused

Further commands of --commands:
  clear                    stop all faults
  rate EVENTS              mean number of events a second
  truth                    write the expected books now
  quit                     stop, as on Ctrl-C

Standard output has `listening on ...` when the simulator is up, the answers to commands, and the
summary; the log is on standard error. A client's TargetCompID is DERIBITSERVER. A wrong user
and a wrong secret get the same answer; a connection from another address than --from is closed
at once. After six failed Logons the connections of an address are closed for 1 s, doubled with
each further failure up to 60 s; ten minutes without a failure reset this. A client that does
not read its messages is disconnected.

Exit status:
  0  stopped
  1  the run failed: the port is in use, an output cannot be written
  2  bad arguments, or a file that cannot be used";

fn fault(text: &str) -> Result<Setting, String> {
    text.parse()
        .map_err(|refused: touchline_lab::deribit::fault::Refused| refused.to_string())
}
