//! `touchline sim fix-acceptor` and `fix-initiator` with a store, killed at random moments and started again.
//!
//! `KILLS` is the number of kills in each role, `SEED` selects their moments. The counterparty is never killed and
//! keeps its own record; after each kill the store is compared with it.

use crate::command::Desk;
use crate::command::fix::Running;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_lab::fix::Counterparty;
use touchline_lab::random::{Random, amount};
use touchline_session::file_store::{FileStore, Limits, Sync, file_name};
use touchline_session::fix::{Role, Store};

const US: &str = "US";
const THEM: &str = "THEM";
/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(60);
const BY_ITSELF: &str = "it closed the connection by itself";
/// Kills in one session; then another starts.
const CRASHES: u64 = 25;

/// State that survives every kill: the disk, and the counterparty.
struct Trial {
    desk: Desk,
    role: Role,
    random: Random,
    them: Counterparty,
    /// Port of the counterparty, for an initiator.
    listener: TcpListener,
    orders: u64,
    /// Numbers in the store at the last check: next incoming and outgoing.
    stored: (u64, u64),
    /// Both sides were logged on since the last start.
    was_on: Arc<AtomicBool>,
}

/// End of an exchange of messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Both are logged on.
    LoggedOn,
    /// All messages are answered.
    Settled,
    /// The other side is gone during traffic.
    Gone,
}

/// Totals of all trials of a test.
#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    orders: u64,
    /// Messages that were requested again and arrived.
    repeated: u64,
    /// Kills after which the store had a number that never reached the wire.
    unseen: u64,
}

/// Damage of the store after a kill, and whether the store is checked.
#[derive(Clone, Copy)]
struct Harm {
    does: fn(&Trial),
    is_looked_at: bool,
}

const NO_HARM: Harm = Harm {
    does: |_| {},
    is_looked_at: true,
};

impl Trial {
    fn new(role: Role, seed: u64) -> Trial {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        Trial {
            desk: Desk::bare(&format!("fix-kills-{role:?}-{seed}")),
            role,
            random: Random::from_seed(seed),
            them: Counterparty::new(THEM, US),
            listener,
            orders: 0,
            stored: (1, 1),
            was_on: Arc::default(),
        }
    }

    fn arguments(&self) -> String {
        let transport = match self.role {
            Role::Acceptor => "fix-acceptor --listen 127.0.0.1:0".to_owned(),
            Role::Initiator => {
                let address = self.listener.local_addr().expect("an address");
                format!("fix-initiator --connect {address}")
            }
        };
        format!("sim {transport} --sender {US} --target {THEM} --store store")
    }

    /// A run that ends at a random moment: before any message, during the logons, or in traffic.
    fn die(&mut self) -> Result<(), String> {
        let kind = self.random.below(8);
        let moment = Duration::from_micros(match kind {
            0 => self.random.below(30_000),
            1 | 2 => self.random.below(4_000),
            _ => self.random.below(40_000),
        });
        if kind == 0 {
            let mut child = self.desk.start(&self.arguments());
            std::thread::sleep(moment);
            child.kill();
            // The connection leads to a killed process.
            while self.listener.accept().is_ok() {}
            return Ok(());
        }
        let mut running = Running::start(&self.desk, &self.arguments());
        let mut stream = self.connect(&running)?;
        let pid = Pid::from_raw(running.process.id() as i32).expect("a process");
        let (is_killed, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let was_on = Arc::clone(&self.was_on);
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                // The moment must be in traffic, also if the logon takes long.
                let waits = || kind > 2 && !was_on.load(Ordering::SeqCst);
                while waits() && !is_over.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_micros(100));
                }
                std::thread::sleep(moment);
                is_killed.store(true, Ordering::SeqCst);
                kill_process(pid, Signal::KILL).expect("our child");
            });
            let talked = self.talk(&mut stream, Until::Gone);
            is_over.store(true, Ordering::SeqCst);
            talked?;
            match is_killed.load(Ordering::SeqCst) {
                true => Ok(()),
                false => Err(BY_ITSELF.to_owned()),
            }
        });
        running.process.wait();
        ended
    }

    /// A run on a disk that becomes full.
    fn starve(&mut self, blocks: u32) -> Result<String, String> {
        let command = self.desk.command(&self.arguments());
        let mut limited = Command::new("sh");
        limited
            .args(["-c", "ulimit -f $0; exec \"$@\""])
            .arg(blocks.to_string())
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(&self.desk.folder)
            .stderr(std::fs::File::create(self.desk.path("said")).expect("our folder"));
        let mut running = Running::of(limited);
        let mut stream = self.connect(&running)?;
        self.talk(&mut stream, Until::Gone)?;
        let status = running.process.wait();
        match status.code() {
            Some(1) => Ok(self.desk.read("said")),
            other => Err(format!("it ended with {other:?}")),
        }
    }

    /// Continues until all messages are answered; requests all earlier ones, and compares.
    fn settle(&mut self) -> Result<(), String> {
        let running = Running::start(&self.desk, &self.arguments());
        let mut stream = self.connect(&running)?;
        self.talk(&mut stream, Until::LoggedOn)?;
        for _ in 0..2 {
            self.order();
            self.talk(&mut stream, Until::Settled)?;
            // The answer to the next order follows all of them.
            self.them.ask_again(1);
        }
        drop(stream);
        let (status, said) = running.end();
        if status != Some(0) {
            return Err(format!("it ended with {status:?}: {said}"));
        }
        self.judge()?;
        let answered = self.them.numbers_by_id();
        for number in 1..=self.orders {
            let id = format!("order-{number}");
            let answers = answered.get(id.as_str()).map_or(&[][..], Vec::as_slice);
            if answers.len() != 1 {
                return Err(format!("{id} was carried out under {answers:?}"));
            }
        }
        Ok(())
    }

    fn connect(&mut self, running: &Running) -> Result<TcpStream, String> {
        let start = Instant::now();
        let stream = loop {
            let made = match self.role {
                _ if running.said.is_empty() => return Err("it does not start".to_owned()),
                Role::Acceptor => TcpStream::connect(running.address()),
                Role::Initiator => self.listener.accept().map(|(stream, _)| stream),
            };
            match made {
                Ok(stream) => break stream,
                Err(_) if start.elapsed() < HANGS => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(format!("no connection: {error}")),
            }
        };
        stream.set_nonblocking(true).expect("a socket");
        self.was_on.store(false, Ordering::SeqCst);
        self.them.connect(wall_ns());
        if self.role == Role::Acceptor {
            self.them.log_on();
        }
        Ok(stream)
    }

    /// Exchanges all available bytes; an early end is an error.
    fn talk(&mut self, stream: &mut TcpStream, until: Until) -> Result<(), String> {
        let start = Instant::now();
        let mut room = vec![0; 64 * 1_024];
        loop {
            if start.elapsed() > HANGS {
                return Err("it hangs".to_owned());
            }
            self.was_on.fetch_or(self.them.is_on, Ordering::SeqCst);
            match until {
                Until::LoggedOn if self.them.is_on => return Ok(()),
                Until::Settled if self.is_settled() => return Ok(()),
                Until::Gone if self.them.is_on => self.ask(),
                _ => {}
            }
            let is_over = |error: &std::io::Error| error.kind() != ErrorKind::WouldBlock;
            match stream.write(&self.them.out) {
                Ok(bytes) => drop(self.them.out.drain(..bytes)),
                // Output from before the kill may still be readable.
                Err(error) if is_over(&error) => self.them.out.clear(),
                Err(_) => {}
            }
            let is_gone = match stream.read(&mut room) {
                Ok(bytes) => {
                    self.them.hear(&room[..bytes], wall_ns());
                    bytes == 0
                }
                Err(error) if is_over(&error) => true,
                Err(_) => {
                    std::thread::sleep(Duration::from_micros(200));
                    false
                }
            };
            match (is_gone, until) {
                (false, _) => {}
                (true, Until::Gone) => return Ok(()),
                (true, _) => return Err(BY_ITSELF.to_owned()),
            }
        }
    }

    fn ask(&mut self) {
        match self.random.below(40) {
            0..4 => (0..self.random.below(8)).for_each(|_| self.order()),
            4 => {
                let highest = self.them.highest();
                let back = self.random.below(highest.min(300));
                self.them.ask_again(highest - back);
            }
            _ => {}
        }
    }

    fn order(&mut self) {
        self.orders += 1;
        let id = format!("order-{}", self.orders);
        let more = "21=1|40=1|54=1|55=X|60=20260105-00:00:00|";
        self.them.send(&id, more);
    }

    fn is_settled(&self) -> bool {
        let answered = self.them.orders.last();
        let is_last = answered.is_some_and(|(id, _)| *id == format!("order-{}", self.orders));
        is_last && self.them.is_on && self.them.is_whole() && self.them.out.is_empty()
    }

    fn judge(&self) -> Result<(), String> {
        let fault = self.them.faults.first();
        fault.map_or(Ok(()), |fault| Err(fault.clone()))
    }

    /// Compares the store after a kill with the received messages.
    fn look(&mut self, tally: &mut Tally) -> Result<(), String> {
        let name = file_name("FIX.4.4", US, THEM).expect("short names");
        let opened = FileStore::open(
            &self.desk.path("store"),
            &name,
            Limits::default(),
            Sync::Later,
        );
        let mut store = opened.map_err(|error| error.to_string())?;
        let now = (store.next_in(), store.next_out());
        if now.0 < self.stored.0 || now.1 < self.stored.1 {
            return Err(format!(
                "numbers went from {:?} back to {now:?}",
                self.stored
            ));
        }
        self.stored = now;
        let (highest, sent) = (self.them.highest(), self.them.sent());
        if now.1 <= highest || now.0 > sent + 1 {
            return Err(format!("stored {now:?}, {highest} came, {sent} were sent"));
        }
        tally.unseen += u64::from(now.1 > highest + 1);
        let mut room = vec![0; 64 * 1_024];
        for number in self.them.lasting_numbers() {
            let length = store.read(number, &mut room);
            let length = length.map_err(|error| format!("{number}: {error}"))?;
            if length == 0 || !self.them.is_what_came(number, &room[..length]) {
                return Err(format!("{number} is not stored as it came"));
            }
        }
        Ok(())
    }
}

fn wall_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("after 1970").as_nanos() as u64
}

/// One session with this number of kills.
fn session(
    role: Role,
    seed: u64,
    crashes: u64,
    harm: Harm,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut trial = Trial::new(role, seed);
    for crash in 0..crashes {
        let died = trial.die().and_then(|()| trial.judge());
        let looked = died.and_then(|()| match harm.is_looked_at {
            true => trial.look(tally),
            false => Ok(()),
        });
        looked.map_err(|what| format!("death {crash}: {what}"))?;
        (harm.does)(&trial);
        tally.kills += 1;
    }
    trial.settle()?;
    tally.orders += trial.orders;
    tally.repeated += trial.them.repeated;
    Ok(())
}

fn kill_again_and_again(role: Role) {
    let (kills, first) = (amount("KILLS", 15), amount("SEED", 1));
    let mut tally = Tally::default();
    for seed in first.. {
        let crashes = CRASHES.min(kills - tally.kills);
        if crashes == 0 {
            break;
        }
        let held = session(role, seed, crashes, NO_HARM, &mut tally);
        assert_eq!(held, Ok(()), "{role:?}, seed {seed}");
    }
    println!("{role:?}, from SEED={first}: {tally:?}");
    assert!(tally.repeated > 0, "{tally:?}");
    // Otherwise there was hardly any traffic, or no kill between the disk and the wire.
    let is_dense = tally.orders > kills && tally.unseen > 0;
    assert!(kills < 500 || is_dense, "{tally:?}");
}

#[test]
fn a_killed_acceptor_neither_loses_nor_repeats_messages() {
    kill_again_and_again(Role::Acceptor);
}

#[test]
fn a_killed_initiator_neither_loses_nor_repeats_messages() {
    kill_again_and_again(Role::Initiator);
}

/// A message that cannot be stored is not sent: the process ends with the reason, and the next one
/// continues.
#[test]
fn a_full_disk_ends_the_session_and_loses_nothing() {
    for role in [Role::Acceptor, Role::Initiator] {
        let mut trial = Trial::new(role, 7_000);
        for blocks in [64, 128] {
            let said = trial.starve(blocks).expect("it ends by itself");
            let last = said.lines().last().expect("a line");
            assert!(
                last.starts_with("touchline: the session's store failed"),
                "{said}"
            );
            let failures = said.lines().filter(|line| !line.contains("Z INFO "));
            assert_eq!(failures.count(), 1, "{said}");
            assert_eq!(trial.look(&mut Tally::default()), Ok(()), "{role:?}");
        }
        assert_eq!(trial.settle(), Ok(()), "{role:?}");
        assert!(trial.orders > 20, "{}", trial.orders);
    }
}

/// A test of the test: damaged stores are detected, by the check of the store and by the counterparty alone.
#[test]
fn a_store_that_loses_messages_is_detected() {
    let wholly: fn(&Trial) = |trial| {
        let _ = std::fs::remove_dir_all(trial.desk.path("store"));
    };
    let what_was_sent: fn(&Trial) = |trial| {
        let Some((path, bytes)) = store_file(trial) else {
            return;
        };
        let kept = bytes.len().min(2_000);
        std::fs::write(path, &bytes[..kept]).expect("our folder");
    };
    let what_was_counted: fn(&Trial) = |trial| {
        let Some((path, mut bytes)) = store_file(trial) else {
            return;
        };
        let early = trial.desk.path("early");
        match std::fs::read(&early) {
            Ok(slots) => bytes[..slots.len()].copy_from_slice(&slots),
            Err(_) if trial.stored.0 > 20 || trial.them.sent() > 20 => {
                std::fs::write(early, &bytes[..56]).expect("our folder");
            }
            Err(_) => {}
        }
        std::fs::write(path, bytes).expect("our folder");
    };
    for (name, does) in [
        ("wholly", wholly),
        ("what was sent", what_was_sent),
        ("what was counted", what_was_counted),
    ] {
        for is_looked_at in [true, false] {
            let harm = Harm { does, is_looked_at };
            // Damage at a moment without traffic has no effect.
            let mut sessions = (8_000..8_040).map(|seed| {
                let tally = &mut Tally::default();
                session(Role::Acceptor, seed, 8, harm, tally)
            });
            let caught = sessions.find_map(Result::err);
            let caught = caught.unwrap_or_else(|| panic!("{name} was not noticed"));
            println!("{name}, looked at {is_looked_at}: {caught}");
        }
    }
}

/// `None` if it was killed before it had one.
fn store_file(trial: &Trial) -> Option<(std::path::PathBuf, Vec<u8>)> {
    let name = file_name("FIX.4.4", US, THEM).expect("short names");
    let path = trial.desk.path("store").join(name);
    let bytes = std::fs::read(&path).ok()?;
    Some((path, bytes))
}
