//! An engine, the bus and the order session of one bank, and a client of the desk.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;
use touchline_fx_desk::DeskClient;
use touchline_fx_events::command::{Command, Order};
use touchline_fx_live::execution::{Config, Incident, Trader, check_owner};
use touchline_lab::bank::bus;
use touchline_lab::bank::guards::{BANK_OFF, PAIR_OFF, RISK_OFF};
use touchline_lab::bank::scripted::ScriptedBank;
pub use touchline_lab::bank::scripted::{Fields, value};
use touchline_session::fix::{Role, Settings};
use touchline_testing::Folder;
use touchline_transport::bus::Root;
use touchline_transport::clock::wall_ns;
use touchline_transport::shm::{Lock, Publisher, Settings as BusSettings};
use touchline_transport::{Publish, boot_ns};
use touchline_types::{Id, QuoteSnapshot, QuoteUpdate, ReceiveTime, Side, Timestamps, Update};

/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(20);

/// Settings of a small journal.
pub const SMALL: &str = "segment_bytes = 1048576\ntail_bytes = 1048576\npause_max_ms = 60000";

/// The engine, its bank and its desk.
pub struct Rig {
    settings: String,
    quotes: Publisher,
    /// Value date of its quotes; 0: they state none. `None`: that of the configuration.
    pub value_date: Option<u32>,
    pub bank: ScriptedBank,
    desk: DeskClient,
    pub trader: Option<Trader>,
    pub incidents: Vec<Incident>,
    /// Removed after the end of the engine.
    pub folder: Folder,
}

impl Rig {
    /// An engine with these settings of `[run]`, and these of the bank.
    pub fn open(run: &str, bank: &str) -> Rig {
        let folder = Folder::new("execution");
        let root = Root::at(folder.join("buses"));
        let quotes = publisher(&root);
        let desk = DeskClient::open(&root, "fx-run", "desk").expect("a ring of ours");
        let mut session = Settings::new(Role::Acceptor, "LP01", "TOUCHLINE");
        session.queue_while_down = true;
        let bank_session = ScriptedBank::with(session);
        let address = bank_session.address();
        let settings = format!(
            "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[run]\ndirectory = {:?}\njournal = {:?}\n\
             ring_bytes = 1048576\n{run}\n\
             [risk]\nlift_by_one_user = true\n{RISK_OFF}\
             [[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n{PAIR_OFF}\
             [[banks]]\nname = \"LP01\"\npairs = [\"EUR/USD\"]\nstatus_final = true\n{BANK_OFF}{bank}\n\
             [[sessions]]\nbank = \"LP01\"\nhost = \"{address}\"\nsender = \"TOUCHLINE\"\nreconnect_ms = 1\n\
             reconnect_ms_max = 5\n\
             [[clients]]\nname = \"desk\"\nmay = [\"send\", \"cancel\", \"kill\", \"lift\", \"enable\", \"resolve\"]\n\
             [[clients]]\nname = \"guest\"\nuser = 4242\nmay = [\"kill\"]\n\
             [[clients]]\nname = \"small\"\nmay = [\"send\"]\nmax_order = 500000\n",
            folder.join("buses"),
            folder.join("journal"),
        );
        let mut rig = Rig {
            folder,
            settings,
            quotes,
            value_date: None,
            bank: bank_session,
            desk,
            trader: None,
            incidents: Vec::new(),
        };
        rig.start();
        rig
    }

    /// Why no engine starts with a setting replaced.
    pub fn refused_with(&self, setting: &str, other: &str) -> String {
        let settings = match setting {
            "" => self.settings.clone(),
            setting => self.settings.replace(setting, other),
        };
        let config = Config::parse(&settings).expect("a configuration");
        let refused = Trader::open(&config).err().expect("it is refused");
        let refused = refused.to_string();
        // A drop copy refuses another engine's journal with the same words, and no other one.
        let setup = config.setup().expect("a configuration");
        let report = check_owner(&config, &setup)
            .err()
            .map(|error| error.to_string());
        if refused.contains("the journal of another engine") {
            assert_eq!(report.as_deref(), Some(refused.as_str()));
        } else if let Some(report) = report {
            assert!(!report.contains("another engine"), "{report}");
        }
        refused
    }

    /// Why this engine does not start with the journal of another one. It ends before.
    pub fn refused_with_journal_of(mut self, other: &Rig) -> String {
        self.trader = None;
        let journal = |rig: &Rig| format!("journal = {:?}", rig.folder.join("journal"));
        self.refused_with(&journal(&self), &journal(other))
    }

    /// Starts the engine again, with other settings.
    pub fn start_with(&mut self, setting: &str, other: &str) {
        self.set(setting, other);
        self.bank.is_on = false;
        self.start();
    }

    /// Another setting, from the next start on.
    pub fn set(&mut self, setting: &str, other: &str) {
        self.settings = self.settings.replace(setting, other);
    }

    /// Starts the engine, again or for the first time, and waits for its order session.
    pub fn start(&mut self) {
        self.trader = None;
        self.trader = Some(Trader::open(&self.config()).expect("an engine"));
        self.until("an order session", |rig| rig.bank.is_on);
    }

    /// The configuration.
    pub fn config(&self) -> Config {
        Config::parse(&self.settings).expect("a configuration")
    }

    pub fn trader(&self) -> &Trader {
        self.trader.as_ref().expect("an engine that runs")
    }

    /// A round of the engine and of the bank.
    pub fn round(&mut self) {
        let trader = self.trader.as_mut().expect("an engine that runs");
        trader.work().expect("a round");
        while let Some(incident) = trader.next_incident() {
            self.incidents.push(incident);
        }
        self.bank.work(ReceiveTime {
            wall_ns: wall_ns(),
            mono_ns: boot_ns(),
        });
    }

    pub fn rounds(&mut self, count: usize) {
        (0..count).for_each(|_| self.round());
    }

    #[track_caller]
    pub fn until(&mut self, what: &str, is_so: impl Fn(&Rig) -> bool) {
        touchline_testing::until(what, HANGS, || {
            if is_so(self) {
                return Ok(());
            }
            self.round();
            Err(format!("{:?} {:?}", self.bank.received, self.incidents))
        });
    }

    /// The bank's quotes: its ask, ticks; its bid is 10 ticks below. A snapshot for a reader that joins, and a change.
    pub fn quote(&mut self, ask: i64) {
        let (quotes, value_date) = (&mut self.quotes, self.value_date);
        bus::quote(ask, |update| {
            let mut update = *update;
            if let Update::QuoteSnapshot(QuoteSnapshot { stream, .. })
            | Update::Quotes(QuoteUpdate { stream, .. }) = &mut update
                && let Some(date) = value_date
            {
                stream.value_date = date;
            }
            let mut times = Timestamps::default();
            if value_date.is_some() {
                // The time tells whether a quote without a date is of today.
                times.packet.receive_ns = wall_ns();
            }
            quotes.publish(&update, &times);
        });
        self.quotes.commit();
    }

    /// The bank's quotes, until the engine has a price. An order uses a quote up, so there is always a new one.
    pub fn show(&mut self, ask: i64) {
        touchline_testing::until("a price", HANGS, || {
            self.quote(ask);
            self.rounds(20);
            let mid2 = self.trader().engine().pricing().composites().mid2(0);
            mid2 == Some(2 * ask - 10)
        });
    }

    /// Sends a kill over the ring that another user should have; its files are ours.
    pub fn kill_as_guest(&mut self) {
        let mut guest = DeskClient::open(&self.root(), "fx-run", "guest").expect("a ring of ours");
        for _ in 0..200 {
            guest.send(boot_ns(), &Command::Kill);
            std::thread::sleep(Duration::from_millis(1));
            self.round();
        }
    }

    /// The time, as a number of a command.
    pub fn now_ns() -> u64 {
        boot_ns()
    }

    /// Root directory of the buses.
    pub fn root(&self) -> Root {
        Root::at(self.folder.join("buses"))
    }

    /// Sends a command of the desk.
    pub fn command(&mut self, command: Command) {
        self.desk.send(boot_ns(), &command);
    }

    /// Sends a parent that buys, with a limit in ticks.
    pub fn buy(&mut self, id: &str, limit: i64) {
        let limit = format!("1.{:05}", limit - 100_000);
        self.command(Command::Parent(Order {
            limit: Some(name(&limit)),
            ..order(id, 1_000_000)
        }));
    }

    /// A parent that buys at the bank's ask; the order that the bank receives.
    pub fn order(&mut self, id: &str) -> Fields {
        self.show(110_000);
        self.buy(id, 110_000);
        self.until("an order", |rig| rig.bank.count("D") > 0);
        self.bank.take("D")
    }

    /// Ends the process without an orderly stop.
    pub fn crash(&mut self) {
        self.trader = None;
        self.bank.is_on = false;
    }

    /// Starts the host again: its shared memory is lost, and with it the engine's part.
    pub fn reboot(&mut self) {
        self.crash();
        let bus = self.folder.join("buses").join("fx-run");
        fs::remove_dir_all(bus).expect("the engine's bus");
    }
}

/// A text of a command.
pub fn name(text: &str) -> Id {
    Id::new(text.as_bytes()).expect("a short text")
}

/// A parent that buys, without a limit.
pub fn order(id: &str, quantity: i64) -> Order {
    Order::new(name(id), name("EUR/USD"), Side::Bid, quantity)
}

/// Copies a folder of files.
pub fn copy(from: &Path, to: &Path) {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(to).expect("our folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("a file of ours");
        }
    }
}

fn publisher(root: &Root) -> Publisher {
    let settings = BusSettings {
        ring_bytes: 1 << 20,
        instruments_max: 1,
        orders_max: 1,
        lock: Lock::No,
        ..BusSettings::default()
    };
    let mut publisher = Publisher::open(root, "lp01", &settings).expect("a bus of ours");
    bus::announce(|update| publisher.publish(update, &Timestamps::default()));
    publisher.commit();
    publisher
}
