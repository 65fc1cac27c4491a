//! The configuration of a trading engine: that of the core, and its journal, sessions and clients.

mod error;
mod schedule;
mod session;
#[cfg(test)]
pub(in crate::execution) mod tests;

use crate::compose::BankSource;
use crate::days::{rolls_at_start, rolls_of};
use serde::Deserialize;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use touchline_credentials::ServerTls;
use touchline_fx::config as fx;
use touchline_fx::{Setup, guards};
use touchline_fx_days::{CalendarsConfig, Rolls};
use touchline_fx_desk::{ring_name, standby_bus};
use touchline_session::access_control::Block;
use touchline_session::fix::is_comp_id;
use touchline_settings::{self as settings, Manual, Mistakes, number};
use touchline_transport::bus::Root;

pub use error::ConfigError;
pub(crate) use schedule::OrderHours;
pub use schedule::{Reset, ScheduleConfig};
pub(crate) use session::Access;
pub use session::SessionConfig;

/// Longest prefix: the epoch of the run follows it in every ClOrdID.
const PREFIX_BYTES_MAX: usize = 8;

/// The whole file. Unknown keys are errors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Trading day, `YYYYMMDD`.
    pub date: String,
    /// Whether value dates are compared with `date` in place of today: banks of this host only.
    #[serde(default)]
    pub rehearsal: bool,
    /// Prefix of every generated identifier, at most 8 bytes.
    pub prefix: String,
    /// Account (1) of all orders.
    pub account: String,
    /// Currency of the sums of `fx report`.
    #[serde(default = "usd")]
    pub report_currency: String,
    /// Milliseconds between two composites in the drop copy.
    #[serde(default = "number::<_, 1_000>")]
    pub conflate_ms: u64,
    /// The engine.
    pub run: RunConfig,
    /// Currency pairs.
    pub pairs: Vec<fx::PairConfig>,
    /// Banks; their order is their rank.
    pub banks: Vec<fx::BankConfig>,
    /// Sessions of the banks.
    pub sessions: Vec<SessionConfig>,
    /// Clients that may send commands.
    #[serde(default)]
    pub clients: Vec<ClientConfig>,
    /// Drop copy for back offices, which the report serves.
    #[serde(default)]
    pub report: Option<ReportConfig>,
    /// Calendars, from which spot dates follow.
    #[serde(default)]
    pub calendars: Option<CalendarsConfig>,
    /// The router.
    #[serde(default)]
    pub router: fx::RouterConfig,
    /// Limits and the kill switch.
    #[serde(default)]
    pub risk: fx::RiskConfig,
}

/// `[run]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// Bus of the drop copy, and of the engine's lock.
    #[serde(default = "bus")]
    pub bus: String,
    /// Directory of all buses; the user's default if absent.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Group whose members may read the drop copy, by name or number; the engine's user alone if absent.
    #[serde(default)]
    pub group: Option<String>,
    /// Directory of the journal.
    pub journal: PathBuf,
    /// When an order may be sent.
    #[serde(default)]
    pub sync: SyncMode,
    /// Longest wait for the disk in mode `disk`, milliseconds; a longer one is a kill.
    #[serde(default = "number::<_, 100>")]
    pub sync_wait_ms: u64,
    /// Bytes of a segment of the journal.
    #[serde(default = "number::<_, { 64 << 20 }>")]
    pub segment_bytes: u64,
    /// Bytes of the journal's ring in shared memory.
    #[serde(default = "number::<_, { 64 << 20 }>")]
    pub tail_bytes: u64,
    /// Bytes of the drop copy's ring, a power of two.
    #[serde(default = "number::<_, { 16 << 20 }>")]
    pub ring_bytes: u64,
    /// A round that begins this much after the last one makes no orders until all quotes are read, milliseconds.
    #[serde(default = "number::<_, 50>")]
    pub pause_max_ms: u64,
    /// Whether an idle round polls again at once, which uses a whole processor.
    #[serde(default)]
    pub spin: bool,
}

/// When an order may be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// When it is in the tail of the journal, which survives the process.
    #[default]
    Host,
    /// When it is on the disk.
    Disk,
}

/// A client that may send commands: over a ring in shared memory whose files belong to a user of the host.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientConfig {
    /// Name of the client; its ring is the bus `<bus>-<name>`.
    pub name: String,
    /// The person in the journal and at the kill switch; the client's name if absent.
    #[serde(default)]
    pub person: Option<String>,
    /// User id that owns its files; that of the engine if absent.
    #[serde(default)]
    pub user: Option<u32>,
    /// Directory of its bus; that of the engine if absent.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Group by which it lets an engine of another user read its ring; its own user alone if absent.
    #[serde(default)]
    pub group: Option<String>,
    /// Commands that it may send.
    pub may: Vec<CommandKind>,
    /// Whether its parents must have a limit.
    #[serde(default)]
    pub limit_required: bool,
    /// Largest parent, base units.
    #[serde(default = "number::<_, { i64::MAX }>")]
    pub max_order: i64,
    /// Most commands in a second.
    #[serde(default = "number::<_, 100>")]
    pub max_commands_per_s: usize,
}

/// `[report]`: a FIX acceptor for back offices.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportConfig {
    /// Address and port; port 0 is any free port.
    pub listen: SocketAddrV4,
    /// Folder of the clients' sequence numbers.
    pub numbers: PathBuf,
    /// TLS of the port; none if absent.
    #[serde(default)]
    pub tls: Option<ServerTls>,
    /// Clients that may connect.
    pub clients: Vec<ReportClient>,
}

/// `[[report.clients]]`: a back office.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportClient {
    /// Our CompID.
    #[serde(default = "touchline")]
    pub sender: String,
    /// The client's CompID.
    pub target: String,
    /// File of the password (554) that its Logon must have.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// Environment variable of the password.
    #[serde(default)]
    pub password_env: Option<String>,
    /// Addresses that it may connect from, `ADDRESS[/BITS]`; every address of the host if it listens on loopback.
    #[serde(default)]
    pub from: Vec<String>,
    /// HeartBtInt, seconds, if its Logon has none.
    #[serde(default = "number::<_, 30>")]
    pub heartbeat_s: u32,
}

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandKind {
    /// A parent order.
    Send,
    /// End of a parent.
    Cancel,
    /// The kill switch.
    Kill,
    /// Lifting it.
    Lift,
    /// Enabling a bank's pair.
    Enable,
    /// Resolving an unknown order.
    Resolve,
    /// Booking a trade that no order explains.
    Book,
    /// Promoting a standby, and asking for its state.
    Promote,
}

impl Config {
    /// Parses and checks the text of a file.
    ///
    /// # Errors
    /// All mistakes of the text.
    pub fn parse(text: &str) -> Result<Config, Mistakes> {
        // A secret in the text would be part of the error that refuses it.
        touchline_credentials::check_text(Path::new(""), text)?;
        let manual = Manual::page("docs/fx/trade.md");
        settings::read(text, &manual, |config: Config| {
            let mut wrong = guards::check(text, guards::Scope::Engine);
            wrong.extend(config.setup().err().unwrap_or_default());
            config.check(&mut wrong);
            wrong.none_or(config)
        })
    }

    /// Settings of the core.
    ///
    /// # Errors
    /// An invalid value, with its key.
    pub fn setup(&self) -> Result<Setup, Mistakes> {
        Setup::new(fx::Config {
            date: self.date.clone(),
            prefix: self.prefix.clone(),
            account: self.account.clone(),
            conflate_ms: self.conflate_ms,
            pairs: self.pairs.clone(),
            banks: self.banks.iter().map(|bank| self.ruled(bank)).collect(),
            router: self.router.clone(),
            risk: self.risk.clone(),
            has_calendars: self.calendars.is_some(),
        })
    }

    /// A bank with the rule of its order session.
    fn ruled(&self, bank: &fx::BankConfig) -> fx::BankConfig {
        let schedule = self.session(bank).and_then(SessionConfig::schedule);
        fx::BankConfig {
            after_loss: schedule.map_or(bank.after_loss, |schedule| schedule.after_loss),
            ..bank.clone()
        }
    }

    /// The calendars; none if the spot dates are those of the file.
    ///
    /// # Errors
    /// Every mistake of a calendar.
    pub fn rolls(&self) -> Result<Option<Rolls>, Mistakes> {
        let calendars = self.calendars.as_ref();
        calendars
            .map(|calendars| rolls_of(calendars, &self.pairs))
            .transpose()
    }

    /// The calendars at the start of a process, a time of the wall clock. Later a stated spot date is that of an earlier day.
    ///
    /// # Errors
    /// Every mistake of a calendar, and a stated spot date that differs.
    pub fn rolls_at_start(&self, wall_ns: u64) -> Result<Option<Rolls>, Mistakes> {
        let calendars = self.calendars.as_ref();
        calendars
            .map(|calendars| rolls_at_start(calendars, &self.pairs, wall_ns))
            .transpose()
    }

    /// The bus of a bank's quotes, as the composer reads it.
    pub fn source(&self, bank: usize) -> BankSource {
        self.source_of(&self.banks[bank])
    }

    fn source_of(&self, bank: &fx::BankConfig) -> BankSource {
        let session = self.session(bank);
        BankSource {
            name: bank.name.clone(),
            bus: session.and_then(|session| session.bus.clone()),
            pairs: Some(bank.pairs.clone()),
            kind: bank.kind,
            min_qty: bank.min_qty,
            max_qty: bank.max_qty,
            stale_ms: bank.stale_ms,
            silence_ms: bank.silence_ms,
            ttl_ms: bank.ttl_ms,
        }
    }

    /// Words of earlier versions, each with the one that it is read as.
    pub fn old_words(&self) -> impl Iterator<Item = String> {
        let old = self
            .sessions
            .iter()
            .filter(|session| session.has_old_word());
        old.map(|session| {
            format!(
                "sessions: {}: reset = \"start\" is read as reset = \"run\", its new word",
                session.bank
            )
        })
    }

    /// Whether all banks are on this host, or behind a proxy of it.
    pub(crate) fn is_on_this_host(&self) -> bool {
        let mut sessions = self.sessions.iter();
        sessions.all(|session| session.host.ip().is_loopback())
    }

    /// Directory of the buses.
    pub(crate) fn root(&self) -> Root {
        match &self.run.directory {
            Some(directory) => Root::at(directory),
            None => Root::of_this_user(),
        }
    }

    /// Directory of the buses, for the drop copy: its group may read that.
    pub(crate) fn shared_root(&self) -> Result<Root, touchline_transport::bus::Error> {
        Ok(self.root().shared_with(self.run.group.as_deref())?)
    }

    /// Sessions of a bank.
    pub(crate) fn session(&self, bank: &fx::BankConfig) -> Option<&SessionConfig> {
        let mut sessions = self.sessions.iter();
        sessions.find(|session| session.bank == bank.name)
    }

    /// The names of a bank's order session.
    pub(crate) fn names_of(&self, bank: usize) -> String {
        let session = self.session(&self.banks[bank]);
        session.expect("the configuration was checked").names()
    }

    /// TLS client and password of each bank's order session, read from their files.
    pub(crate) fn access(&self) -> Result<Vec<Access>, ConfigError> {
        let banks = self.banks.iter().map(|bank| {
            let session = self.session(bank).expect("the configuration was checked");
            session.access()
        });
        banks.collect()
    }

    /// Resolves relative paths from `folder`, that of the file.
    pub fn starts_at(&mut self, folder: &Path) {
        self.run.journal = folder.join(&self.run.journal);
        let of_clients = self.clients.iter_mut().map(|client| &mut client.directory);
        let directories = of_clients.chain([&mut self.run.directory]);
        for directory in directories.flatten() {
            // mutant: execution: kills of a client lie where its command was started
            *directory = folder.join(&directory);
        }
        if let Some(calendars) = &mut self.calendars {
            calendars.starts_at(folder);
        }
        for session in &mut self.sessions {
            session.starts_at(folder);
        }
        if let Some(report) = &mut self.report {
            report.starts_at(folder);
        }
    }

    /// Adds each mistake to `wrong`, with its key.
    fn check(&self, wrong: &mut Mistakes) {
        let mut top = wrong.section("", "");
        if self.prefix.len() > PREFIX_BYTES_MAX {
            top.push("prefix", &format!("give at most {PREFIX_BYTES_MAX} bytes"));
        }
        let currency = &self.report_currency;
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            let text =
                format!("{currency:?} is not a currency; give three capital letters, such as USD");
            top.push("report_currency", &text);
        }
        top.range("conflate_ms", self.conflate_ms, 1..=60_000);
        if self.rehearsal && !self.is_on_this_host() {
            let text = "value dates that have passed are traded with banks on 127.0.0.0/8 only: remove it, and give today's dates";
            top.push("rehearsal", text);
        }
        for (at, bank) in self.banks.iter().enumerate() {
            let name = &bank.name;
            let mut section = wrong.section(format!("banks.{at}"), format!("banks: {name}: "));
            if bank.status_final.is_none() {
                section.push_whole(
                    "status_final is missing: give true if the bank's rules of engagement promise that its answer \
                     \"unknown order\" is final, else false",
                );
            }
            if bank.after_loss != fx::AfterLoss::Ask {
                let text = "a bank has it in a replay only; give after_loss in [sessions.schedule] of its session";
                section.push("after_loss", text);
            }
            let sessions = self.sessions.iter();
            if sessions.filter(|session| session.bank == *name).count() != 1 {
                section.push_whole(&format!("give one section [[sessions]] for bank {name}"));
            }
        }
        self.check_buses(wrong);
        let mut run = wrong.section("run", "run.");
        run.range("sync_wait_ms", self.run.sync_wait_ms, 0..=60_000);
        run.range("pause_max_ms", self.run.pause_max_ms, 0..=60_000);
        for (at, session) in self.sessions.iter().enumerate() {
            let name = &session.bank;
            let path = format!("sessions.{at}");
            if !self.banks.iter().any(|bank| bank.name == *name) {
                let text = format!("there is no bank {name}");
                wrong.section(&path, "sessions: ").push("bank", &text);
            }
            session.check(wrong.section(path, format!("sessions: {name}: ")));
        }
        if let Some(report) = &self.report {
            report.check(wrong);
        }
        for (at, client) in self.clients.iter().enumerate() {
            let name = &client.name;
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            let is_name = (1..=16).contains(&name.len()) && name.bytes().all(is_plain);
            let is_same = |other: &ClientConfig| other.name == *name;
            let mut section = wrong.section(format!("clients.{at}"), "clients: ");
            if !is_comp_id(client.person()) {
                let person = client.person();
                let text = format!("{person:?}: give 1 to 64 printable ASCII characters");
                section.push("person", &text);
            }
            // `<bus>-standby` is the bus of a standby.
            if !is_name || name == "standby" || self.clients[..at].iter().any(is_same) {
                let text = format!(
                    "{name:?}: give each a name of its own, 1 to 16 lower-case letters and digits, and not \"standby\""
                );
                section.push("name", &text);
            }
        }
    }

    /// The engine and its clients write buses of their own. A bus has one writer, so none of them may be that of a bank's gateway.
    fn check_buses(&self, wrong: &mut Mistakes) {
        let own = &self.run.bus;
        let rings = self
            .clients
            .iter()
            .map(|client| ring_name(own, &client.name));
        let buses: Vec<String> = rings.chain([own.clone(), standby_bus(own)]).collect();
        for bank in &self.banks {
            let bus = self.source_of(bank).bus_name();
            if buses.contains(&bus) {
                let text = format!(
                    "\"{own}\": the engine would write bus \"{bus}\", which is that of the gateway of bank {}; give the engine another name",
                    bank.name
                );
                wrong.section("run", "run.").push("bus", &text);
            }
        }
    }
}

impl ReportConfig {
    fn starts_at(&mut self, folder: &Path) {
        self.numbers = folder.join(&self.numbers);
        let passwords = self
            .clients
            .iter_mut()
            .map(|client| &mut client.password_file);
        for file in passwords.flatten() {
            *file = folder.join(&file);
        }
        if let Some(tls) = &mut self.tls {
            tls.starts_at(folder);
        }
    }

    /// Adds each mistake to `wrong`, with its key.
    fn check(&self, wrong: &mut Mistakes) {
        for (at, client) in self.clients.iter().enumerate() {
            let name = &client.target;
            let is_id = |id: &str| {
                let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'=';
                (1..=64).contains(&id.len()) && id.bytes().all(is_plain)
            };
            let ids = (&client.sender, name);
            let is_same = |other: &ReportClient| (&other.sender, &other.target) == ids;
            let path = format!("report.clients.{at}");
            let mut section = wrong.section(&path, "report.clients: ");
            if !is_id(ids.0) || !is_id(ids.1) || self.clients[..at].iter().any(is_same) {
                section.push_whole(&format!(
                    "sender {:?}, target {name:?}: give each a pair of CompIDs of its own, 1 to 64 printable characters",
                    client.sender
                ));
            }
            let mut section = wrong.section(path, format!("report.clients: {name}: "));
            for block in &client.from {
                if block.parse::<Block>().is_err() {
                    section.push("from", &format!("{block:?} is no ADDRESS[/BITS]"));
                }
            }
            if client.from.is_empty() && !self.listen.ip().is_loopback() {
                section.push_whole(&format!(
                    "from is missing: {} can be reached from other hosts; give the client's addresses",
                    self.listen
                ));
            }
            if client.password_file.is_some() && client.password_env.is_some() {
                section.push_whole("give password_file or password_env, not both");
            }
            section.range("heartbeat_s", client.heartbeat_s, 0..=3_600);
        }
    }
}

impl ReportClient {
    /// Addresses that it may connect from.
    pub fn blocks(&self) -> Vec<Block> {
        self.from
            .iter()
            .filter_map(|text| text.parse().ok())
            .collect()
    }
}

impl ClientConfig {
    /// The person behind the commands of this client.
    pub fn person(&self) -> &str {
        self.person.as_deref().unwrap_or(&self.name)
    }
}

fn bus() -> String {
    "fx-run".to_owned()
}

fn usd() -> String {
    "USD".to_owned()
}

fn touchline() -> String {
    "TOUCHLINE".to_owned()
}
