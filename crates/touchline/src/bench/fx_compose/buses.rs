//! `bench fx-compose --profile buses`: many banks' buses that the composer reads, some of which change.

use super::{Arguments, BEST, config, row};
use crate::bench::fx_banks::{Banks, quote_of};
use crate::bench::progress::with_progress;
use crate::bench::run::{Run, failure};
use crate::output::Failure;
use std::fs;
use std::time::{Duration, Instant};
use touchline_fx_live::compose::Composer;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::ipc::Folder;
use touchline_lab::random::Random;
use touchline_transport::clock::ticks;
use touchline_transport::shm::{Publisher, Root, Settings};
use touchline_types::Side;

/// Maximum time of the composer to join every bus.
const PATIENCE: Duration = Duration::from_secs(60);

/// The buses of all banks and the composer.
struct Buses {
    banks: Banks,
    composer: Composer<Publisher>,
    random: Random,
    tiers: u32,
    folder: Folder,
}

/// Measures a round of the composer without and with quotes.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = Run::begin_on(arguments.cpus, &arguments.common)?;
    let clock = run.clock();
    let mut histograms = [latency_histogram(), latency_histogram()];
    let mut notes = Vec::new();
    for round in with_progress(0..arguments.rounds) {
        let begin = Instant::now();
        let mut buses = Buses::open(arguments, u64::from(round))?;
        let opened = begin.elapsed();
        buses.settle()?;
        notes = vec![format!(
            "{} buses opened in {} ms, joined in {} ms; {:.1} MiB of shared memory, {:.1} MiB of it of the composite",
            arguments.banks,
            opened.as_millis(),
            (begin.elapsed() - opened).as_millis(),
            bytes(buses.folder.path()) as f64 / 1_048_576.0,
            bytes(&buses.folder.path().join("fx")) as f64 / 1_048_576.0,
        )];
        for sample in 0..arguments.samples {
            for (is_quoted, histogram) in [false, true].into_iter().zip(&mut histograms) {
                for _ in 0..if is_quoted { arguments.quotes } else { 0 } {
                    buses.quote();
                }
                let begin = ticks();
                let messages = buses.round()?;
                let end = ticks();
                // Excludes rounds of a timer, some in a million, which repeat the current state.
                if sample >= arguments.samples / 20 && (messages > 0) == is_quoted {
                    histogram.saturating_record(clock.between_ns(begin, end));
                }
            }
        }
    }
    let lines = ["idle-round", "quoted-round"].into_iter().zip(histograms);
    let lines: Vec<_> = lines
        .map(|(subject, histogram)| row(subject, histogram))
        .collect();
    if run.is_json() {
        run.write_distributions(&lines)?;
        for (line, quotes) in lines.iter().zip([0, arguments.quotes]) {
            let mut json = line.to_json();
            json["banks"] = arguments.banks.into();
            json["quotes"] = quotes.into();
            run.print_json(json);
        }
        return Ok(());
    }
    let head = format!(
        "{} buses of banks with {} tiers a side, one pair; a round of the composer polls all of them, with {} quotes in a quoted round, on processor {}",
        arguments.banks, arguments.tiers, arguments.quotes, arguments.cpus
    );
    run.report_with(&head, &lines, "", |_| String::new(), &notes)
}

/// Memory allocated for the files of a folder.
fn bytes(folder: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() => bytes(&entry.path()),
            Ok(about) => about.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

impl Buses {
    fn open(arguments: &Arguments, seed: u64) -> Result<Buses, Failure> {
        let folder = Folder::new().map_err(failure)?;
        let root = Root::at(folder.path());
        let names: Vec<String> = (0..arguments.banks)
            .map(|bank| format!("lp{bank:03}"))
            .collect();
        let banks = Banks::open(&root, &names, arguments.tiers).map_err(Failure::run)?;
        let settings = Settings {
            instruments_max: 1,
            orders_max: 1,
            ..Settings::default()
        };
        let publisher = Publisher::open(&root, "fx", &settings).map_err(Failure::run)?;
        let composer = Composer::new(&config(arguments.banks)?, root, publisher);
        Ok(Buses {
            banks,
            composer: composer.map_err(Failure::run)?,
            random: Random::from_seed(seed),
            tiers: arguments.tiers,
            folder,
        })
    }

    /// Publishes quotes of every bank until the composer has joined every bus.
    fn settle(&mut self) -> Result<(), Failure> {
        let begin = Instant::now();
        while (self.composer.counters().bank_snapshots as usize) < self.banks.len() {
            self.banks.snapshots(BEST);
            for _ in 0..10 {
                self.round()?;
            }
            if begin.elapsed() > PATIENCE {
                return Err(Failure::run("the composer did not join every bus"));
            }
        }
        // Drains repeated quotes of the banks that were joined first.
        while self.round()? > 0 {}
        Ok(())
    }

    /// One tier of one bank changes.
    fn quote(&mut self) {
        let bank = self.random.index(self.banks.len());
        let tier = self.random.below(u64::from(self.tiers)) as u32;
        let side = *self.random.pick(&Side::BOTH);
        let away = BEST + self.random.between(0, 3);
        self.banks.change(bank, quote_of(tier, side, away));
    }

    #[inline(never)]
    fn round(&mut self) -> Result<usize, Failure> {
        Ok(self.composer.work().map_err(Failure::run)?.messages)
    }
}
