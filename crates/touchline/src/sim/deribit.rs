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
/// The market comes from a seed, for ever, or is played from recorded messages. Clients log on with a proof that they
/// know the secret, as at the venue. Faults strike what goes to them, by chance, from the start or at run time. When
/// it is stopped, it goes on for half a second without faults, writes the truth, logs everybody out, and says what it
/// did.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Listen here; port 0 is any free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9881")]
    listen: SocketAddrV4,
    #[command(flatten)]
    access_control: AccessControl,
    /// Which market, and which chance of faults.
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
    /// Levels that each side of a book begins with, and about which it stays, 3 to 10,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_200,
        value_parser = clap::value_parser!(u64).range(3..=10_000)
    )]
    levels: u64,
    /// Things that happen in a second on the average, 0 to 1,000,000.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2_000,
        value_parser = clap::value_parser!(u64).range(..=1_000_000)
    )]
    events_per_second: u64,
    /// Play the market data (35=W, 35=X) of this file in place of a generated market: FIX messages as they were
    /// received, one behind the other or one on a line, again and again, one for each event.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["instruments", "levels", "truth_books", "truth_log"]
    )]
    play: Option<PathBuf>,
    /// Who may log on: a file of mode 0600 with one line, `USER:SECRET`.
    #[arg(long, value_name = "FILE", required_unless_present = "write")]
    credentials: Option<PathBuf>,
    /// Write gateway.toml for a gateway of this exchange into this folder, and the secret that it needs; without
    /// --credentials a new one is made.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// A fault from the start on, as in `skip 0.01`; may be given many times.
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    fault: Vec<Setting>,
    /// Read commands from standard input, a line each; each is answered on standard output.
    #[arg(long)]
    commands: bool,
    /// Close when standard input ends, for whoever starts this as a child.
    #[arg(long, requires = "commands")]
    until_eof: bool,
    /// Close after so many seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Write the exchange's books here when it closes.
    #[arg(long, value_name = "FILE")]
    truth_books: Option<PathBuf>,
    /// Write the state of each book after each event here, as it comes to be.
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
  disconnect SHARE         the connection is closed behind it, without a word
  silence SHARE SECONDS    from it on nothing is sent for so long
  slow SHARE SECONDS       from it on nothing is read for so long, and one byte
                           is sent in each millisecond
  snapshot-late SHARE MS   a snapshot comes behind changes that it contains
  snapshot-never SHARE     it does not come, and changes do
  refuse-logon SHARE       a right logon is refused
  refuse-request SHARE     a right request is refused
  clear                    no faults any more
  rate EVENTS              so many events a second (only as a command)
  truth                    write the books as they are now (only as a command)
  quit                     close, as on Ctrl-C (only as a command)

It says `listening on ...` on standard output when it is up. A client's TargetCompID is
DERIBITSERVER. A wrong user and a wrong secret get the same answer, and a connection from
elsewhere is closed at once. An address whose Logons fail six times waits for a second,
for two after the next, and so on up to a minute: until then its connections are closed.
Ten minutes without a failure end that.
A client that does not read while much waits for it is disconnected.

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
