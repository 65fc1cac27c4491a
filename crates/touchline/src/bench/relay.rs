//! `touchline bench relay`: what a stopped receiver of a relay costs the publisher.

use super::run::{Common, Run, failure, merged, middle};
use crate::bench::progress::with_progress;
use crate::output::Failure;
use hdrhistogram::Histogram;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::Folder;
use touchline_lab::free_port;
use touchline_transport::Publish;
use touchline_transport::clock::ticks;
use touchline_transport::shm::{CountersFile, CountersView, Publisher, Root, Settings};
use touchline_types::native::encoded_len;
use touchline_types::{
    Depth, Instrument, InstrumentDefinition, Price, Quantity, Symbol, Timestamps, Trade, Update,
    UpdateAction,
};

/// Cost of publishing a message beside a relay with a receiver that has stopped.
///
/// A process publishes on a bus that a relay sends to a receiver. Rounds alternate: that receiver alone, and a second one
/// beside it that a signal has stopped. The publisher shares nothing with the receivers, so the ratio of both is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench relay
  touchline bench relay --carrier aeron --rounds 20 --cpus 2,3

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// What carries the link.
    #[arg(long, value_enum, default_value_t = Carrier::Tcp)]
    carrier: Carrier,
    /// Messages of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Time from one message to the next, microseconds.
    #[arg(long, value_name = "US", default_value_t = 100.0)]
    pause_us: f64,
    /// Processors: of the publisher, and of all relays.
    #[arg(long, value_name = "A,B", default_value = "0,1", value_parser = super::ipc::cpus)]
    cpus: (usize, usize),
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Carrier {
    /// TCP: a queue for each receiver.
    Tcp,
    /// A group over Aeron: one window for all receivers.
    #[cfg(feature = "aeron")]
    Aeron,
}

impl Carrier {
    /// An address of the loopback that no other process uses now.
    fn address(self) -> String {
        let port = free_port();
        match self {
            Carrier::Tcp => format!("tcp://127.0.0.1:{port}"),
            #[cfg(feature = "aeron")]
            Carrier::Aeron => {
                format!("aeron:udp?endpoint=239.255.40.45:{port}|interface=127.0.0.1")
            }
        }
    }
}

/// Name of the bus.
pub const BUS: &str = "bench";
const SUBJECTS: [&str; 2] = ["one-receiver", "and-a-stopped-one"];
/// Longest time until a receiver has messages.
const START_MAX: Duration = Duration::from_secs(30);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = Run::begin_on(arguments.cpus.0, &arguments.common)?;
    let folder = Folder::new().map_err(failure)?;
    fs::create_dir_all(folder.path()).map_err(Failure::run)?;
    let mut host = Host {
        folder: folder.path().to_owned(),
        address: arguments.carrier.address(),
        cpu: arguments.cpus.1,
        gateway: Gateway::start(&folder.path().join("near"))?,
    };
    let _sender = host.sender()?;
    let _receiver = host.receiver("far")?;
    let mut rounds = Vec::new();
    for _ in with_progress(0..arguments.rounds) {
        let alone = arguments.measure(&mut host.gateway, &run);
        let stopped = host.receiver("stopped")?;
        stopped.stop()?;
        let beside = arguments.measure(&mut host.gateway, &run);
        drop(stopped);
        rounds.push([alone, beside]);
    }
    arguments.report(&rounds, &run)
}

impl Arguments {
    /// Times of publications.
    fn measure(&self, gateway: &mut Gateway, run: &Run) -> Histogram<u64> {
        let mut histogram = latency_histogram();
        for _ in 0..self.messages {
            let begin = ticks();
            run.sample(&mut histogram, 1, || gateway.publish());
            run.pause(begin, self.pause_us);
        }
        histogram
    }

    fn report(&self, rounds: &[[Histogram<u64>; 2]], run: &Run) -> Result<(), Failure> {
        let pooled = [0, 1].map(|subject| merged(rounds.iter().map(|round| &round[subject])));
        let lines = SUBJECTS.iter().zip(pooled).map(|(subject, histogram)| {
            Statistics::new("relay", *subject, histogram).of_bytes(payload_bytes())
        });
        let lines: Vec<_> = lines.collect();
        let ratio = |[alone, beside]: [&Histogram<u64>; 2], quantile| {
            beside.value_at_quantile(quantile) as f64 / alone.value_at_quantile(quantile) as f64
        };
        let ratios = |number: usize| {
            let pair = [&lines[0].histogram, &lines[number].histogram];
            format!(" {:>9.2} {:>11.2}", ratio(pair, 0.5), ratio(pair, 0.999))
        };
        let what = format!(
            "one trade every {} us, publisher on processor {}, relays on {}, link over {:?}",
            self.pause_us, self.cpus.0, self.cpus.1, self.carrier
        );
        let head = format!(" {:>9} {:>11}", "p50 ratio", "p99.9 ratio");
        let mut of_rounds: Vec<f64> = rounds
            .iter()
            .map(|[alone, beside]| ratio([alone, beside], 0.999))
            .collect();
        of_rounds.sort_by(f64::total_cmp);
        let texts: Vec<String> = of_rounds.iter().map(|one| format!("{one:.2}")).collect();
        let note = format!(
            "p99.9 ratio by round, sorted: {}; median {:.2}",
            texts.join(" "),
            middle(of_rounds)
        );
        run.report_with(&what, &lines, &head, ratios, &[note])
    }
}

/// Buses, and the link between them.
struct Host {
    folder: PathBuf,
    address: String,
    cpu: usize,
    gateway: Gateway,
}

impl Host {
    fn sender(&self) -> Result<Relay, Failure> {
        let link = format!("[[send]]\nbus = \"{BUS}\"\nto = \"{}\"\n", self.address);
        self.relay("near", &link)
    }

    /// A receiver with a bus of its own; returns when messages arrive there.
    fn receiver(&mut self, folder: &str) -> Result<Relay, Failure> {
        let link = format!(
            "[[receive]]\nfrom = \"{}\"\nbus = \"{BUS}\"\n",
            self.address
        );
        let buses = self.folder.join(folder);
        // The bus of an earlier round.
        let _ = fs::remove_dir_all(&buses);
        let relay = self.relay(folder, &link)?;
        let root = Root::at(&buses);
        let start = Instant::now();
        while received(&root) == 0 {
            if start.elapsed() > START_MAX {
                return Err(Failure::run(format!(
                    "no message at a receiver of {} within {} s",
                    self.address,
                    START_MAX.as_secs()
                )));
            }
            self.gateway.publish();
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(relay)
    }

    /// This program again, as a relay.
    fn relay(&self, folder: &str, link: &str) -> Result<Relay, Failure> {
        let file = self.folder.join(format!("{folder}.toml"));
        let text = format!("cpu_affinity = {}\n{link}", self.cpu);
        fs::write(&file, text).map_err(Failure::run)?;
        let child = Command::new(std::env::current_exe().map_err(Failure::run)?)
            .args(["relay", "--until-eof", "--config"])
            .arg(&file)
            .arg("--dir")
            .arg(self.folder.join(folder))
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let child =
            child.map_err(|error| Failure::run(format!("cannot start a relay: {error}")))?;
        Ok(Relay(child))
    }
}

fn received(root: &Root) -> u64 {
    let counters = CountersView::open(root, BUS).ok().flatten();
    counters.map_or(0, |view| view.counter("relay_messages").unwrap_or(0))
}

/// A relay process; it ends with this value.
struct Relay(Child);

impl Relay {
    /// SIGSTOP.
    fn stop(&self) -> Result<(), Failure> {
        kill_process(Pid::from_child(&self.0), Signal::STOP)
            .map_err(|error| Failure::run(format!("cannot stop a relay: {error}")))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // The relay ends with its input, and removes its files.
        let _ = kill_process(Pid::from_child(&self.0), Signal::CONT);
        drop(self.0.stdin.take());
        let start = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) && start.elapsed() < START_MAX {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Bytes of a trade in the native format.
pub fn payload_bytes() -> u64 {
    encoded_len(&Update::Trade(&trade(0))) as u64
}

/// The publisher of the bus.
pub struct Gateway {
    publisher: Publisher,
    trades: u64,
}

impl Gateway {
    /// Settings of the bus.
    pub fn settings() -> Settings {
        Settings {
            ring_bytes: 8 * 1024 * 1024,
            instruments_max: 16,
            orders_max: 64,
            ..Settings::default()
        }
    }

    /// Starts the bus in this folder, with one instrument.
    pub fn start(folder: &Path) -> Result<Gateway, Failure> {
        let publisher = Publisher::open(&Root::at(folder), BUS, &Gateway::settings());
        let mut publisher = publisher.map_err(|error| Failure::run(error.to_string()))?;
        // A relay waits for the counters of a publisher, which say whose data it has.
        CountersFile::create(publisher.lock(), 1.0, [], [])
            .map_err(|error| Failure::run(error.to_string()))?;
        let depth = Depth {
            direct: 1,
            implied: 0,
        };
        let definition = InstrumentDefinition {
            symbol: Symbol::new(b"BENCH"),
            defined: true,
            ..InstrumentDefinition::unknown(Instrument(0), 1, depth)
        };
        publisher.publish(&Update::Definition(&definition), &Timestamps::default());
        publisher.commit();
        Ok(Gateway {
            publisher,
            trades: 0,
        })
    }

    /// Publishes a trade, and returns its number.
    #[inline]
    pub fn publish(&mut self) -> u64 {
        self.trades += 1;
        let trade = trade(self.trades);
        self.publisher
            .publish(&Update::Trade(&trade), &Timestamps::default());
        self.publisher.commit();
        self.trades
    }
}

fn trade(trade_id: u64) -> Trade {
    Trade {
        instrument: Instrument(0),
        orders: -1,
        price: Price(trade_id as i64),
        quantity: Quantity(1),
        aggressor: None,
        action: UpdateAction::New,
        trade_id,
    }
}
