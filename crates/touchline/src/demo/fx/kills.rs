//! Kills, freezes and disconnects the processes of the demo at random, and checks how long void quotes are shown as live.
//!
//! A quote of a killed or frozen gateway is live until the composer finds the gateway stalled. A composite of a killed or frozen
//! composer is live until the reader finds the composer stalled. Both bounds use the clock of the host, so they hold on a
//! loaded host. One check after the bound that finds a void quote fails the run.

mod reader;

use super::{BUS, Cast, PATIENCE, signal};
use crate::demo::children::Process;
use crate::output::{Failure, say};
use reader::Reader;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::random::Random;
use touchline_transport::shm::Root;

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
/// Maximum time of the recovery.
const RECOVERY: Duration = Duration::from_secs(60);

/// Injected failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    KillGateway,
    FreezeGateway,
    /// The composer is frozen when the gateway dies, and thaws afterwards.
    KillGatewayBehindComposer,
    KillComposer,
    FreezeComposer,
    /// A bank closes its connection, and refuses others for a while.
    DisconnectBank,
    KillBanks,
    FreezeBanks,
}

/// Each deed, repeated by its weight.
const DEEDS: [Deed; 16] = [
    Deed::KillGateway,
    Deed::KillGateway,
    Deed::KillGateway,
    Deed::FreezeGateway,
    Deed::FreezeGateway,
    Deed::KillGatewayBehindComposer,
    Deed::KillGatewayBehindComposer,
    Deed::KillComposer,
    Deed::KillComposer,
    Deed::FreezeComposer,
    Deed::FreezeComposer,
    Deed::DisconnectBank,
    Deed::DisconnectBank,
    Deed::DisconnectBank,
    Deed::KillBanks,
    Deed::FreezeBanks,
];

/// Quotes that a deed makes void, and the time after which no reader may see them as live.
struct Void {
    what: What,
    since: Instant,
    bound: Duration,
}

enum What {
    Bank(usize),
    Banks,
    Composite,
}

/// A run of deeds.
struct Run<'a> {
    cast: &'a mut Cast,
    banks: &'a [String],
    reader: Reader,
    random: Random,
    /// Count of each deed, and the longest time that a void quote was shown.
    done: BTreeMap<Deed, (u64, Duration)>,
}

/// Does `kills` deeds, and prints the longest time that a void quote was shown after each kind.
pub fn run(
    cast: &mut Cast,
    banks: &[String],
    buses: &Path,
    seed: u64,
    kills: u64,
) -> Result<(), Failure> {
    let mut run = Run {
        cast,
        banks,
        reader: Reader::join(&Root::at(buses))?,
        random: Random::from_seed(seed ^ 0x4B11),
        done: BTreeMap::new(),
    };
    say(&format!(
        "{kills} kills, freezes and disconnects, seed {seed}\n"
    ))?;
    for number in 1..=kills {
        let deed = *run.random.pick(&DEEDS);
        let bank = run.random.index(banks.len());
        let failed = |failure: Failure| match failure {
            Failure::Run(what) => Failure::run(format!(
                "deed {number} ({deed:?}, bank {}): {what}; seed {seed}",
                banks[bank]
            )),
            other => other,
        };
        run.one(deed, bank).map_err(failed)?;
    }
    let mut page = format!(
        "{kills} kills, freezes and disconnects, seed {seed}: no void quote was live beyond its bound\n"
    );
    for (deed, (count, longest)) in &run.done {
        // Writing into a string does not fail.
        let _ = writeln!(
            page,
            "  {:<26} {count:>4} times  void quotes live for at most {:>5} ms, bound {:>5} ms",
            format!("{deed:?}"),
            longest.as_millis(),
            bound(*deed).as_millis(),
        );
    }
    say(&page)
}

/// Maximum time that a void quote may be live after a deed.
fn bound(deed: Deed) -> Duration {
    match deed {
        Deed::KillComposer | Deed::FreezeComposer => COMPOSER + LOOK,
        Deed::FreezeBanks => SILENCE + GATEWAY + LOOK + COMPOSER,
        _ => GATEWAY + LOOK + COMPOSER,
    }
}

impl Run<'_> {
    /// Does a deed, checks the void quotes, and waits for the recovery.
    fn one(&mut self, deed: Deed, bank: usize) -> Result<(), Failure> {
        thread::sleep(Duration::from_millis(self.random.below(300)));
        let void = self.begin(deed, bank)?;
        let shown = self.judge(&void)?;
        self.mend(deed, bank)?;
        let (count, longest) = self.done.entry(deed).or_default();
        *count += 1;
        *longest = shown.max(*longest);
        let is_back = self.reader.until(RECOVERY, Reader::shows_any);
        match is_back {
            true => Ok(()),
            false => Err(Failure::run("the composite does not recover")),
        }
    }

    fn begin(&mut self, deed: Deed, bank: usize) -> Result<Void, Failure> {
        let (gateway, composer) = (self.cast.gateways[bank].id(), self.cast.composer.id());
        let what = match deed {
            Deed::KillGateway => {
                signal(gateway, Signal::KILL)?;
                What::Bank(bank)
            }
            Deed::FreezeGateway => {
                signal(gateway, Signal::STOP)?;
                What::Bank(bank)
            }
            Deed::KillGatewayBehindComposer => {
                signal(composer, Signal::STOP)?;
                signal(gateway, Signal::KILL)?;
                let since = Instant::now();
                thread::sleep(bound(deed));
                signal(composer, Signal::CONT)?;
                let bound = bound(deed);
                let what = What::Bank(bank);
                return Ok(Void { what, since, bound });
            }
            Deed::KillComposer => {
                signal(composer, Signal::KILL)?;
                What::Composite
            }
            Deed::FreezeComposer => {
                signal(composer, Signal::STOP)?;
                What::Composite
            }
            Deed::DisconnectBank => {
                // Longer than the checks take.
                let name = &self.banks[bank];
                let command = format!("outage {name} {}", (bound(deed) + 20 * BEYOND).as_millis());
                let answer = format!("ok {name} is out");
                self.cast.banks.ask(&command, &answer, PATIENCE)?;
                What::Bank(bank)
            }
            Deed::KillBanks => {
                signal(self.cast.banks.id(), Signal::KILL)?;
                What::Banks
            }
            Deed::FreezeBanks => {
                signal(self.cast.banks.id(), Signal::STOP)?;
                What::Banks
            }
        };
        Ok(Void {
            what,
            since: Instant::now(),
            bound: bound(deed),
        })
    }

    /// Checks until [`BEYOND`] after the bound; returns how long a void quote was shown.
    fn judge(&mut self, void: &Void) -> Result<Duration, Failure> {
        let until = Instant::now().max(void.since + void.bound) + BEYOND;
        let (mut shown, mut beyond) = (Duration::ZERO, 0);
        loop {
            // Taken before the read: a quote that is found is live at this time or later.
            let at = Instant::now();
            self.reader.read();
            let is_shown = match void.what {
                What::Bank(bank) => self.reader.shows(&self.banks[bank]),
                What::Banks => self.reader.shows_any(),
                What::Composite => self.reader.is_live(),
            };
            if is_shown {
                shown = at - void.since;
            }
            if shown > void.bound {
                let (shown, bound) = (shown.as_millis(), void.bound.as_millis());
                return Err(Failure::run(format!(
                    "a void quote is shown as live after {shown} ms, bound {bound} ms"
                )));
            }
            beyond += u32::from(at >= void.since + void.bound);
            // At least two checks after the bound, or the run has proved nothing.
            if at >= until && beyond > 1 {
                return Ok(shown);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Undoes the deed.
    fn mend(&mut self, deed: Deed, bank: usize) -> Result<(), Failure> {
        match deed {
            Deed::KillGateway | Deed::KillGatewayBehindComposer => self.cast.restart_gateway(bank),
            Deed::FreezeGateway => signal(self.cast.gateways[bank].id(), Signal::CONT),
            Deed::KillComposer => self.cast.restart_composer(),
            Deed::FreezeComposer => signal(self.cast.composer.id(), Signal::CONT),
            Deed::DisconnectBank => Ok(()),
            Deed::KillBanks => self.cast.restart_banks(),
            Deed::FreezeBanks => signal(self.cast.banks.id(), Signal::CONT),
        }
    }
}

impl Cast {
    fn restart_gateway(&mut self, bank: usize) -> Result<(), Failure> {
        let again = Process::start("gateway", &self.commands[bank])?;
        // The assignment drops the killed process, which reaps it.
        self.gateways[bank] = again;
        self.gateways[bank].wait_for("connect", PATIENCE)
    }

    fn restart_banks(&mut self) -> Result<(), Failure> {
        self.banks = Process::start("banks", &self.sim)?;
        self.banks.wait_for("sim_started", PATIENCE)
    }

    fn restart_composer(&mut self) -> Result<(), Failure> {
        self.composer = Process::start("composer", &self.compose)?;
        self.composer.wait_for("composing", PATIENCE)
    }
}
