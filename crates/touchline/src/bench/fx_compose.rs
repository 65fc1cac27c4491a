//! `touchline bench fx-compose`: from a bank's quote to the composite on the bus.

mod bars;
mod buses;
mod kernel;
mod live;

use super::fx_banks::{all_quotes, quote_of};
use super::run::{Common, Run, failure};
use crate::output::Failure;
use hdrhistogram::Histogram;
use live::Profile;
use touchline_fx::input::Session;
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx_live::compose::{Composer, Config};
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bank::guards::BANK_OFF;
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::Folder;
use touchline_lab::random::Random;
use touchline_transport::shm::{Publisher, Root, Settings};
use touchline_types::{Quantity, Quote, QuoteAction, QuoteChange, Side};

/// Latency of a bank's changed quote, from the quote to the composite published on a bus.
///
/// Profile `memory`: each bank quotes tiers on both sides around one mid. `one-tier` changes the price of one tier of one bank,
/// `one-bank` the prices of all its tiers, `top-only` the size of its best tier. Each sample is one change, with the snapshot slot
/// and the messages of the bus. Profile `buses`: the composer polls a bus of each bank; a sample is one round of it, without and
/// with quotes. Profiles `burst` and `sparse`: simulated banks quote over sockets; a sample is the time from a quote received
/// by its gateway to the composite consumed by another process, in parts, with a histogram and the kernel's share.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench fx-compose
  touchline bench fx-compose --banks 200 --json
  touchline bench fx-compose --profile buses --banks 200 --quotes 4
  touchline bench fx-compose --profile burst
  touchline bench fx-compose --profile sparse --silence-s 60 --wakes 5

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// How the banks quote.
    #[arg(long, value_enum, default_value_t = Profile::Memory)]
    profile: Profile,
    /// Measured seconds of bursts.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// Seconds of silence before each quote of the profile `sparse`.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    silence_s: u64,
    /// Silences of the profile `sparse`.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    wakes: u64,
    /// Number of banks, 1 to 256.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=256))]
    banks: u16,
    /// Tiers a side of each bank.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    tiers: u32,
    /// Quotes of random banks before a quoted round of the profile `buses`, 1 to 64.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    quotes: u32,
    /// Samples of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Processor.
    #[arg(long, value_name = "A", default_value_t = 0)]
    cpus: usize,
    #[command(flatten)]
    common: Common,
}

/// Name of the benchmark.
const BENCH: &str = "fx-compose";
/// Distance of a bank's best price from the mid at least, ticks.
const BEST: i64 = 1;

/// Measured change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    OneTier,
    OneBank,
    TopOnly,
}

const SUBJECTS: [(&str, Change); 3] = [
    ("one-tier", Change::OneTier),
    ("one-bank", Change::OneBank),
    ("top-only", Change::TopOnly),
];

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match arguments.profile {
        Profile::Memory => in_memory(arguments),
        Profile::Buses => buses::run(arguments),
        Profile::Burst | Profile::Sparse => live::run(arguments),
    }
}

fn in_memory(arguments: &Arguments) -> Result<(), Failure> {
    let run = Run::begin_on(arguments.cpus, &arguments.common)?;
    let lines = run.alternate(BENCH, arguments.rounds, &SUBJECTS, |round, change, into| {
        let mut bench = Bench::new(arguments, u64::from(round))?;
        let mut warming = latency_histogram();
        for sample in 0..arguments.samples {
            bench.prepare(*change);
            // The first ones take pages of memory and warm the caches.
            let is_warm = sample >= arguments.samples / 20;
            let into = if is_warm { &mut *into } else { &mut warming };
            run.sample(into, 1, || bench.change());
        }
        Ok(())
    })?;
    let head = format!(
        "{} banks with {} tiers a side, one pair; a change of one bank, composite published, on processor {}",
        arguments.banks, arguments.tiers, arguments.cpus
    );
    run.report(&head, &lines)
}

/// A row of the table.
fn row(subject: impl Into<String>, histogram: Histogram<u64>) -> Statistics {
    Statistics::new(BENCH, subject, histogram)
}

struct Bench {
    composer: Composer<Publisher>,
    random: Random,
    banks: usize,
    tiers: u32,
    now_ns: u64,
    bank: usize,
    changes: Vec<QuoteChange>,
    _folder: Folder,
}

impl Bench {
    fn new(arguments: &Arguments, seed: u64) -> Result<Bench, Failure> {
        let config = config(arguments.banks)?;
        let folder = Folder::new().map_err(failure)?;
        let root = Root::at(folder.path());
        let settings = Settings {
            instruments_max: 1,
            orders_max: 1,
            ..Settings::default()
        };
        let publisher = Publisher::open(&root, "fx", &settings).map_err(Failure::run)?;
        let composer = Composer::new(&config, root, publisher).map_err(Failure::run)?;
        let mut bench = Bench {
            composer,
            random: Random::from_seed(seed),
            banks: usize::from(arguments.banks),
            tiers: arguments.tiers,
            now_ns: 1_000_000_000,
            bank: 0,
            changes: Vec::with_capacity(2 * arguments.tiers as usize),
            _folder: folder,
        };
        for bank in 0..bench.banks {
            let quotes = all_quotes(arguments.tiers, BEST + bank as i64 % 4);
            bench.composer.input(bank, bench.now_ns, Session::Up);
            let quotes = BusQuotes {
                pair: 0,
                receive_ns: bench.now_ns,
                bank_ns: [0; 2],
                is_unquoted: false,
                quoted: Quoted::All(&quotes),
            };
            bench
                .composer
                .input(bank, bench.now_ns, Session::Quotes(quotes));
        }
        Ok(bench)
    }

    fn prepare(&mut self, change: Change) {
        self.now_ns += 1_000;
        self.bank = self.random.index(self.banks);
        self.changes.clear();
        let away = BEST + self.random.between(0, 3);
        match change {
            Change::OneTier => {
                let tier = self.random.below(u64::from(self.tiers)) as u32;
                let side = *self.random.pick(&Side::BOTH);
                let quote = quote_of(tier, side, away);
                self.set(quote);
            }
            Change::OneBank => {
                for tier in 0..self.tiers {
                    for side in Side::BOTH {
                        let quote = quote_of(tier, side, away);
                        self.set(quote);
                    }
                }
            }
            Change::TopOnly => {
                let side = *self.random.pick(&Side::BOTH);
                let size = 1_000 * self.random.between(1_000, 2_000);
                let quote = Quote {
                    quantity: Quantity(size),
                    ..quote_of(0, side, BEST)
                };
                self.set(quote);
            }
        }
    }

    fn set(&mut self, quote: Quote) {
        self.changes.push(QuoteChange {
            action: QuoteAction::Set,
            quote,
        });
    }

    #[inline(never)]
    fn change(&mut self) {
        let quotes = BusQuotes {
            pair: 0,
            receive_ns: self.now_ns,
            bank_ns: [0; 2],
            is_unquoted: false,
            quoted: Quoted::Changes(&self.changes),
        };
        self.composer
            .input(self.bank, self.now_ns, Session::Quotes(quotes));
    }
}

/// Configuration of a composer with this number of banks.
fn config(banks: u16) -> Result<Config, Failure> {
    let mut text = "bus = \"fx\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\nsizes = [1000000, 5000000]\n"
        .to_owned();
    for bank in 0..banks {
        text += &format!("[[banks]]\nname = \"LP{bank:03}\"\n{BANK_OFF}");
    }
    Config::parse(&text).map_err(Failure::run)
}
