//! `touchline sim fix-acceptor` and `touchline sim fix-initiator`: FIX counterparties that echo orders.

mod attempts;

use super::access_control::AccessControl;
use crate::format::{bytes, counted};
use crate::interrupt::Interrupt;
use crate::log::{Log, LogArguments};
use crate::output::{Failure, say};
use crate::sim::clients::Clients;
use crate::sim::logged::logged;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::sync::Arc;
use touchline_feed::ReceiveTime;
use touchline_lab::fix::{Acceptor, Connection, Initiator, Orders, Totals};
use touchline_lab::pacing::{IdleSleep, Pacer};
use touchline_session::access_control::Rules;
use touchline_session::file_store::{FileStore, Limits, Sync, file_name};
use touchline_session::fix::Store;
use touchline_session::fix::dictionary::Tables;
use touchline_session::fix::{Checks, Role, Settings};

/// Run a FIX acceptor that echoes orders.
///
/// Session messages are answered as FIX 4.4 specifies. NewOrderSingle (D), SecurityDefinition (d) and Email (C) are
/// echoed with the same body; a D with PossResend (97=Y) and a ClOrdID of this session is dropped; other application
/// messages get a BusinessMessageReject (j).
#[derive(Debug, clap::Args)]
#[command(after_help = ACCEPTOR_HELP)]
pub struct AcceptorArguments {
    /// Address and port to listen on; port 0 is any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5001")]
    listen: SocketAddrV4,
    #[command(flatten)]
    access_control: AccessControl,
    #[command(flatten)]
    session: SessionArguments,
    /// Our CompID.
    #[arg(long, value_name = "ID", default_value = "ISLD", value_parser = comp_id)]
    sender: String,
    /// The counterparty's CompID.
    #[arg(long, value_name = "ID", default_value = "TW44", value_parser = comp_id)]
    target: String,
}

/// Run a FIX initiator that echoes orders.
///
/// It connects, logs on with ResetSeqNumFlag, and answers messages as `sim fix-acceptor` does. After the end of a
/// connection it connects again after 0.5 s. After a refused connection or Logon it logs the reason and tries again
/// after 0.5 s, doubled with each further attempt up to 10 s.
#[derive(Debug, clap::Args)]
#[command(after_help = INITIATOR_HELP)]
pub struct InitiatorArguments {
    /// Address and port to connect to.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5001")]
    connect: SocketAddrV4,
    /// Send N orders (NewOrderSingle), one a second while logged on, and count the answers.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    send: Option<u64>,
    #[command(flatten)]
    session: SessionArguments,
    /// Our CompID.
    #[arg(long, value_name = "ID", default_value = "TW44", value_parser = comp_id)]
    sender: String,
    /// The counterparty's CompID.
    #[arg(long, value_name = "ID", default_value = "ISLD", value_parser = comp_id)]
    target: String,
}

#[derive(Debug, clap::Args)]
struct SessionArguments {
    /// HeartBtInt in seconds, 0 for none. An acceptor uses the value of the Logon, and this one if it has none.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u32).range(..=86_400))]
    heartbeat: u32,
    /// BeginString of the session.
    #[arg(long, value_name = "VERSION", default_value = "FIX.4.4", value_parser = ["FIX.4.4", "FIX.4.2"])]
    begin_string: String,
    /// Validate messages against this dictionary in QuickFIX's XML format, instead of the built-in FIX 4.4.
    #[arg(long, value_name = "FILE")]
    dictionary: Option<PathBuf>,
    /// Validate messages against the rules of the session only, without a dictionary.
    #[arg(long, conflicts_with = "dictionary")]
    no_dictionary: bool,
    /// Continue with the sequence numbers of the previous connection, instead of starting at 1 with each Logon.
    #[arg(long)]
    keep_numbers: bool,
    /// Store sequence numbers and messages in this folder, and continue with them after a restart or a kill.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Size of the store's file above which it is rewritten with the newest messages, up to half of this size.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = Limits::default().bytes_max,
        value_parser = clap::value_parser!(u64).range(1 << 20..),
        requires = "store"
    )]
    store_bytes_max: u64,
    /// Stop after N seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Stop when standard input is closed, for a process that starts this as a child.
    #[arg(long)]
    until_eof: bool,
    #[command(flatten)]
    log: LogArguments,
}

/// Longest dictionary that is read.
const DICTIONARY_BYTES_MAX: u64 = 8 << 20;

const ACCEPTOR_HELP: &str = "\
Examples:
  touchline sim fix-acceptor
  touchline sim fix-acceptor --listen 127.0.0.1:0 --sender BANK --target CLIENT
  touchline sim fix-acceptor --listen 192.0.2.1:5001 --from 192.0.2.7 --from 198.51.100.0/24

Standard output has `listening on ADDRESS ...` when it is up; the log is on standard error. A
connection must send its Logon of at most 4 KiB within 10 s. A connection that sends a Logon of an
unknown session is closed without an answer, a connection from another address than --from at
once. After six failed Logons the connections of an address are closed for 1 s, doubled with each
further failure up to 60 s; ten minutes without a failure reset this.

Exit status:
  0  stopped
  1  the run failed: the port is in use, the store cannot be used
  2  bad arguments";

const INITIATOR_HELP: &str = "\
Examples:
  touchline sim fix-acceptor & touchline sim fix-initiator --seconds 10
  touchline sim fix-initiator --send 5 --seconds 8

Standard output has `connecting to ADDRESS ...` when it is up, and `logged on ...` with each
Logon. A refused connection or Logon is a line of the log on standard error, with the reason, the
fix and the time of the next attempt.

Exit status:
  0  stopped
  1  the run failed: the store cannot be used
  2  bad arguments";

/// Maximum wait for counterparties to log out at the end.
const FAREWELL_NS: u64 = 3_000_000_000;

/// Runs the acceptor until it is stopped.
pub fn accept(arguments: &AcceptorArguments) -> Result<(), Failure> {
    let AcceptorArguments { sender, target, .. } = arguments;
    let addresses = arguments.access_control.addresses(arguments.listen)?;
    let interrupt = Interrupt::catch()?;
    let (connection, stored) = arguments
        .session
        .connection(Role::Acceptor, sender, target)?;
    let connections = vec![connection.only_from(addresses)];
    let listening = Acceptor::listen(arguments.listen, connections, Rules::default());
    let mut acceptor = listening.map_err(|error| {
        Failure::run(format!(
            "cannot listen on {} ({error}); give an address of this host with a free port, or port 0",
            arguments.listen
        ))
    })?;
    let up = format!(
        "listening on {} as {sender} for {target}\n{stored}",
        acceptor.address()
    );
    logged(arguments.session.log, "fix", &up, |log| {
        arguments.serve(&mut acceptor, &interrupt, log)
    })
}

impl AcceptorArguments {
    fn serve(
        &self,
        acceptor: &mut Acceptor,
        interrupt: &Interrupt,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let clock = Clock::start(&self.session, interrupt);
        let mut idle = IdleSleep::default();
        let mut clients = Clients::default();
        while !clock.is_over() {
            let is_busy = acceptor.work(clock.receive_time());
            match acceptor.is_connected() {
                true => idle.turn(is_busy, u64::MAX),
                false => idle.turn_unconnected(is_busy),
            }
            clients.log(seen(&acceptor.totals()), log);
            acceptor.connections().iter().try_for_each(has_its_store)?;
        }
        acceptor.log_out(clock.receive_time());
        let until_ns = clock.receive_time().mono_ns + FAREWELL_NS;
        let is_taken = |connection: &Connection| connection.is_taken();
        while acceptor.connections().iter().any(is_taken) && clock.receive_time().mono_ns < until_ns
        {
            idle.turn(acceptor.work(clock.receive_time()), u64::MAX);
        }
        let size = self.session.store_size(&self.sender, &self.target)?;
        say(&(summary(&acceptor.totals()) + &size))
    }
}

fn seen(totals: &Totals) -> Clients {
    Clients {
        connections: totals.connections,
        logons: totals.logons,
        refused: totals.turned_away,
    }
}

/// Runs the initiator until it is stopped.
pub fn initiate(arguments: &InitiatorArguments) -> Result<(), Failure> {
    let InitiatorArguments { sender, target, .. } = arguments;
    let interrupt = Interrupt::catch()?;
    let (mut connection, stored) = arguments
        .session
        .connection(Role::Initiator, sender, target)?;
    if let Some(orders) = arguments.send {
        connection = connection.sending(Orders::new(orders, Pacer::start().wall_ns()));
    }
    let mut initiator = Initiator::new(arguments.connect, connection);
    let up = format!(
        "connecting to {} as {sender} for {target}\n{stored}",
        arguments.connect
    );
    logged(arguments.session.log, "fix", &up, |log| {
        arguments.work(&mut initiator, &interrupt, log)
    })
}

impl InitiatorArguments {
    fn work(
        &self,
        initiator: &mut Initiator,
        interrupt: &Interrupt,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let clock = Clock::start(&self.session, interrupt);
        let mut idle = IdleSleep::default();
        while !clock.is_over() {
            idle.turn(initiator.work(clock.receive_time()), u64::MAX);
            has_its_store(initiator.connection())?;
            while let Some(news) = initiator.news() {
                self.report(&news, log)?;
            }
            log.flush();
        }
        initiator.log_out(clock.receive_time());
        let until_ns = clock.receive_time().mono_ns + FAREWELL_NS;
        while initiator.connection().is_taken() && clock.receive_time().mono_ns < until_ns {
            idle.turn(initiator.work(clock.receive_time()), u64::MAX);
        }
        let size = self.session.store_size(&self.sender, &self.target)?;
        let orders = initiator
            .connection()
            .orders()
            .map_or(String::new(), |orders| {
                let (sent, answered) = (orders.sent(), orders.answered());
                format!("{} sent, {answered} answered\n", counted(sent, "order"))
            });
        say(&(summary(&initiator.totals()) + &orders + &size))
    }
}

impl SessionArguments {
    /// The session with its store, and a line of text about the store.
    fn connection(
        &self,
        role: Role,
        sender: &str,
        target: &str,
    ) -> Result<(Connection, String), Failure> {
        let settings = self.settings(role, sender, target)?;
        let Some(folder) = &self.store else {
            return Ok((Connection::new(settings), String::new()));
        };
        let name = self.store_name(sender, target)?;
        let limits = Limits {
            bytes_max: self.store_bytes_max,
            ..Limits::default()
        };
        let opened = FileStore::open(folder, &name, limits, Sync::Later);
        let store = opened.map_err(|error| Failure::run(error.to_string()))?;
        let said = format!(
            "store {}: {} in {}, next number in {}, next number out {}\n",
            folder.join(&name).display(),
            counted(store.messages(), "message"),
            bytes(store.size_bytes()),
            store.next_in(),
            store.next_out(),
        );
        Ok((Connection::with(settings, Box::new(store)), said))
    }

    fn store_name(&self, sender: &str, target: &str) -> Result<String, Failure> {
        file_name(&self.begin_string, sender, target).ok_or_else(|| {
            Failure::usage("--store: the CompIDs are too long for a file name; use shorter ones")
        })
    }

    /// Size of the store, as text.
    fn store_size(&self, sender: &str, target: &str) -> Result<String, Failure> {
        let Some(folder) = &self.store else {
            return Ok(String::new());
        };
        let about = std::fs::metadata(folder.join(self.store_name(sender, target)?));
        Ok(about.map_or(String::new(), |about| {
            format!("store of {}\n", bytes(about.len()))
        }))
    }

    fn settings(&self, role: Role, sender: &str, target: &str) -> Result<Settings, Failure> {
        Ok(Settings {
            begin_string: self.begin_string.clone(),
            heartbeat_s: self.heartbeat,
            reset_on_logon: !self.keep_numbers && self.store.is_none(),
            checks: self.checks()?,
            ..Settings::new(role, sender, target)
        })
    }

    /// Validation rules. Only FIX 4.4 is compiled in.
    fn checks(&self) -> Result<Checks, Failure> {
        let Some(path) = &self.dictionary else {
            let is_standard = !self.no_dictionary && self.begin_string == "FIX.4.4";
            return Ok(match is_standard {
                true => Checks::Standard,
                false => Checks::Nothing,
            });
        };
        let name = path.display().to_string();
        let text = touchline_net::input::read_text(path, DICTIONARY_BYTES_MAX)
            .map_err(|error| Failure::usage(format!("--dictionary {name}: {error}")))?;
        let tables =
            Tables::read(&name, &text).map_err(|mistake| Failure::usage(mistake.to_string()))?;
        let version = tables.lend().begin_string;
        if version != self.begin_string {
            return Err(Failure::usage(format!(
                "{name} is a dictionary of {version}, but the session is {}; give --begin-string or another dictionary",
                self.begin_string
            )));
        }
        Ok(Checks::Venue(Arc::new(tables)))
    }
}

/// A session without its store cannot continue.
fn has_its_store(connection: &Connection) -> Result<(), Failure> {
    let failed = connection.store_failed();
    failed.map_or(Ok(()), |error| Err(Failure::run(error)))
}

/// Time, and end of the run.
struct Clock<'a> {
    pacer: Pacer,
    seconds: Option<u64>,
    interrupt: &'a Interrupt,
}

impl<'a> Clock<'a> {
    fn start(arguments: &SessionArguments, interrupt: &'a Interrupt) -> Clock<'a> {
        if arguments.until_eof {
            interrupt.at_end_of_input();
        }
        Clock {
            pacer: Pacer::start(),
            seconds: arguments.seconds,
            interrupt,
        }
    }

    fn receive_time(&self) -> ReceiveTime {
        self.pacer.time()
    }

    fn is_over(&self) -> bool {
        self.interrupt.is_asked() || self.pacer.is_over(self.seconds)
    }
}

fn summary(totals: &Totals) -> String {
    format!(
        "{}, {} turned away, {}\n{} received, {} sent, {} garbled, {} rejected\n",
        counted(totals.connections, "connection"),
        totals.turned_away,
        counted(totals.logons, "logon"),
        counted(totals.received, "message"),
        totals.sent,
        totals.garbled,
        totals.rejected,
    )
}

/// A CompID must not contain a field separator.
fn comp_id(text: &str) -> Result<String, String> {
    let is_good =
        (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    match is_good {
        true => Ok(text.to_owned()),
        false => Err("a CompID has 1 to 64 visible ASCII characters".to_owned()),
    }
}
