//! Kills, freezes and disconnects the processes of a composite at random: no void quote is live beyond its bound.
//!
//! A quote of a killed or frozen gateway is live until the composer finds the gateway stalled. A composite of a killed or frozen
//! composer is live until the reader finds the composer stalled. Both bounds use the clock of the host, so they hold on a
//! loaded host. One check after the bound that finds a void quote fails the test. `KILLS` is the number of faults, `SEED`
//! selects them.

use super::live::{composed, last, shown};
use crate::command::demo::alone;
use crate::command::{Desk, until};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::bank::Config;
use touchline_lab::bank::composite::Reader;
use touchline_lab::random::{Random, amount};
use touchline_testing::{Process, free_ports};
use touchline_transport::bus::Root;

/// The banks of `touchline demo fx`.
const BANKS: &str = include_str!("../../../../src/demo/fx/banks.toml");
const BANKS_LINE: &str =
    "sim bank --commands --until-eof --config banks.toml --write fx --ledger ledger.jsonl";
const COMPOSE_LINE: &str = "fx compose --until-eof --config fx/compose.toml";

/// Time without activity after which a gateway is stalled: twice the `heartbeat_ms` that `sim bank --write` gives it.
const GATEWAY: Duration = Duration::from_millis(1_000);
/// The same of the composer.
const COMPOSER: Duration = Duration::from_millis(500);
/// The composer checks its gateways each 10 ms, and a signal takes time to arrive.
const LOOK: Duration = Duration::from_millis(60);
/// Time after which the quotes of a silent bank are void: `silence_ms` of its gateway.
const SILENCE: Duration = Duration::from_millis(3_000);
/// Minimum time of checks after a bound.
const BEYOND: Duration = Duration::from_millis(100);

/// Injected failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    KillGateway,
    FreezeGateway,
    /// The composer is frozen when the gateway dies, and continues afterwards.
    KillGatewayBehindComposer,
    KillComposer,
    FreezeComposer,
    /// A bank closes its connection, and refuses others for a while.
    DisconnectBank,
    KillBanks,
    FreezeBanks,
}

/// Each fault, repeated by its weight.
const FAULTS: [Fault; 16] = [
    Fault::KillGateway,
    Fault::KillGateway,
    Fault::KillGateway,
    Fault::FreezeGateway,
    Fault::FreezeGateway,
    Fault::KillGatewayBehindComposer,
    Fault::KillGatewayBehindComposer,
    Fault::KillComposer,
    Fault::KillComposer,
    Fault::FreezeComposer,
    Fault::FreezeComposer,
    Fault::DisconnectBank,
    Fault::DisconnectBank,
    Fault::DisconnectBank,
    Fault::KillBanks,
    Fault::FreezeBanks,
];

impl Fault {
    /// Maximum time that a void quote may be live.
    fn bound(self) -> Duration {
        match self {
            Fault::KillComposer | Fault::FreezeComposer => COMPOSER + LOOK,
            Fault::FreezeBanks => SILENCE + GATEWAY + LOOK + COMPOSER,
            _ => GATEWAY + LOOK + COMPOSER,
        }
    }
}

/// The processes, in the order of the data flow, and a reader of the composite.
struct Processes {
    desk: Desk,
    names: Vec<String>,
    banks: Process,
    gateways: Vec<Process>,
    composer: Process,
    reader: Reader,
}

impl Processes {
    fn start(seed: u64) -> Processes {
        let desk = Desk::bare("fx-voids");
        // Killed banks are started again on the same ports.
        let count = BANKS.matches("[[banks]]").count() as u32;
        let port = free_ports(count).expect("free ports");
        let banks = BANKS.replace("SEED", &seed.to_string());
        let text = format!("port = {port}\n{banks}");
        desk.write("banks.toml", &text);
        let banks = Config::parse(&text).expect("the banks of the demo").banks;
        let names: Vec<String> = banks.into_iter().map(|bank| bank.name).collect();
        let banks = started(&desk, BANKS_LINE, "sim_started");
        let gateways = names.iter().map(|name| gateway(&desk, name)).collect();
        let composer = started(&desk, COMPOSE_LINE, "composing");
        let reader = Reader::join(&Root::at(desk.path("buses")));
        Processes {
            desk,
            names,
            banks,
            gateways,
            composer,
            reader,
        }
    }

    /// Injects a fault, checks the void quotes, and waits for the recovery; returns how long a void quote was live.
    fn one(&mut self, fault: Fault, bank: usize) -> Duration {
        let since = self.inject(fault, bank);
        let shown = self.judge(fault, bank, since);
        self.mend(fault, bank);
        until("the composite recovers", || {
            self.reader.read();
            self.reader.banks().next().is_some()
        });
        shown
    }

    /// Injects a fault; returns the time from which quotes are void.
    fn inject(&mut self, fault: Fault, bank: usize) -> Instant {
        match fault {
            Fault::KillGateway => self.gateways[bank].signal("KILL"),
            Fault::FreezeGateway => self.gateways[bank].signal("STOP"),
            Fault::KillGatewayBehindComposer => {
                self.composer.signal("STOP");
                self.gateways[bank].signal("KILL");
                let since = Instant::now();
                thread::sleep(fault.bound());
                self.composer.signal("CONT");
                return since;
            }
            Fault::KillComposer => self.composer.signal("KILL"),
            Fault::FreezeComposer => self.composer.signal("STOP"),
            Fault::DisconnectBank => {
                let name = &self.names[bank];
                let answer = format!("ok {name} is out");
                let answers = |banks: &Process| banks.out().matches(&answer).count();
                let before = answers(&self.banks);
                // Longer than the checks take.
                let ms = (fault.bound() + 20 * BEYOND).as_millis();
                self.banks.tell(&format!("outage {name} {ms}"));
                self.banks
                    .wait_for(&answer, |banks| (answers(banks) > before).then_some(()));
            }
            Fault::KillBanks => self.banks.signal("KILL"),
            Fault::FreezeBanks => self.banks.signal("STOP"),
        }
        Instant::now()
    }

    /// Checks until [`BEYOND`] after the bound; returns how long a void quote was live.
    fn judge(&mut self, fault: Fault, bank: usize, since: Instant) -> Duration {
        let bound = fault.bound();
        let until = Instant::now().max(since + bound) + BEYOND;
        let (mut shown, mut beyond) = (Duration::ZERO, 0);
        loop {
            // Taken before the read: a quote that is found is live at this time or later.
            let at = Instant::now();
            self.reader.read();
            let is_shown = match fault {
                Fault::KillComposer | Fault::FreezeComposer => self.reader.is_live(),
                Fault::KillBanks | Fault::FreezeBanks => self.reader.banks().next().is_some(),
                _ => {
                    let name = &self.names[bank];
                    self.reader.banks().any(|shown| shown.as_str() == name)
                }
            };
            if is_shown {
                shown = at - since;
            }
            assert!(
                shown <= bound,
                "a void quote is live after {shown:?}, bound {bound:?}"
            );
            beyond += u32::from(at >= since + bound);
            // At least two checks after the bound, or the run has proved nothing.
            if at >= until && beyond > 1 {
                return shown;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the fault. The assignment drops a killed process, which reaps it.
    fn mend(&mut self, fault: Fault, bank: usize) {
        match fault {
            Fault::KillGateway | Fault::KillGatewayBehindComposer => {
                self.gateways[bank] = gateway(&self.desk, &self.names[bank]);
            }
            Fault::FreezeGateway => self.gateways[bank].signal("CONT"),
            Fault::KillComposer => self.composer = started(&self.desk, COMPOSE_LINE, "composing"),
            Fault::FreezeComposer => self.composer.signal("CONT"),
            Fault::DisconnectBank => {}
            Fault::KillBanks => self.banks = started(&self.desk, BANKS_LINE, "sim_started"),
            Fault::FreezeBanks => self.banks.signal("CONT"),
        }
    }

    /// Stops the faults and freezes the mids, until the composite is that of the banks.
    fn compare(&mut self) {
        let tail = self.desk.start("tail fx --json");
        self.banks.tell("heal");
        let pairs = BANKS.matches("[[pairs]]").count();
        touchline_testing::until(
            "the composite of the banks",
            touchline_testing::PATIENCE,
            || {
                self.banks.tell("best");
                let rows = (last(&self.banks.out(), shown), last(&tail.out(), composed));
                let is_equal = rows.0.len() == pairs && rows.0 == rows.1;
                if is_equal { Ok(()) } else { Err(rows) }
            },
        );
    }
}

/// A process that has logged this event.
fn started(desk: &Desk, line: &str, event: &str) -> Process {
    let mut process = desk.start_with_input(line);
    process.wait_for_line(event);
    process
}

fn gateway(desk: &Desk, bank: &str) -> Process {
    let file = bank.to_ascii_lowercase();
    let line = format!("gateway --until-eof --config fx/{file}.toml");
    started(desk, &line, "connect")
}

/// 200 faults take ten minutes: `KILLS=200 cargo test -p touchline --test system -- fx::voids --nocapture`.
#[test]
fn no_void_quote_stays_live_when_processes_of_the_composite_are_killed() {
    let _alone = alone();
    let (count, seed) = (amount("KILLS", 4), amount("SEED", 2));
    println!("SEED={seed}");
    let mut random = Random::from_seed(seed ^ 0x4B11);
    let mut processes = Processes::start(seed);
    let mut longest = BTreeMap::new();
    for number in 1..=count {
        let fault = *random.pick(&FAULTS);
        let bank = random.index(processes.names.len());
        println!("fault {number}: {fault:?}, bank {bank}");
        thread::sleep(Duration::from_millis(random.below(300)));
        let shown = processes.one(fault, bank);
        let of_kind = longest.entry(fault).or_insert((0, shown));
        *of_kind = (of_kind.0 + 1, of_kind.1.max(shown));
    }
    for (fault, (times, shown)) in &longest {
        let bound = fault.bound();
        println!(
            "{fault:?}, {times} times: void quotes live for at most {shown:?}, bound {bound:?}"
        );
    }
    let is_seen = |shown: &&(u64, Duration)| !shown.1.is_zero();
    assert!(longest.values().any(|shown| is_seen(&shown)), "{longest:?}");
    processes.compare();
}
