//! `touchline bench fx-trade`: from a bank's quote to the order in the kernel, and the kill switch.

mod kill;
mod rig;

use super::fx_banks;
use super::journal::{OnDisk, bare_fdatasync};
use super::run::{Common, Run, failure};
use crate::bench::progress::with_progress;
use crate::output::Failure;
use hdrhistogram::Histogram;
use rig::{Failed, Plan, Rig};
use std::cell::RefCell;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::{Folder, pin};
use touchline_lab::random::Random;
use touchline_transport::clock::{Clock, ticks};

/// Latency of an order: from a bank's quote polled from its bus to the last byte of the order handed to the kernel.
///
/// The engine of `touchline fx run` trades with banks in the same process: they quote on buses in shared memory and answer
/// orders over TCP on the loopback. In each burst every bank changes a price, and one reaches the limit of a waiting parent.
/// A sample is one order. With --kill: from the desk's command to the last cancel handed to the kernel.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench fx-trade
  touchline bench fx-trade --syncs 0 --samples 100000 --json
  touchline bench fx-trade --kill --orders 1000

Rows:
  quotes      the quote polled from the bus, until the bank's book has it
  composite   the composite of the pair
  limits      session, cool-down, doubt, rate, credit and collar of each bank
  plan        the plan of the parent
  orders      orders of the plan
  journal     their records appended; in rows of `sync`, also until they are on the disk
  sent        encoded, and handed to the kernel
  total       all of it
  burst       from the first quote of the burst published to the order handed to the kernel: waits for its turn, too
  bare-send   send of as many bytes to one of as many TCP connections of the loopback, alternating with the orders: each behind a pause
  fdatasync   pwrite of a record and fdatasync by the measuring thread, in the same directory
A record is in shared memory before its order is sent; in rows of `sync` it is on the disk.

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// Banks.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=200))]
    banks: u16,
    /// Tiers a side of each bank.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    tiers: u32,
    /// Orders in each round.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Orders in each round that wait for the disk, and bare `fdatasync` calls; 0 leaves them out.
    #[arg(long, value_name = "N", default_value_t = 300)]
    syncs: u64,
    /// Measure the kill switch instead.
    #[arg(long)]
    kill: bool,
    /// Open orders when the kill switch is set.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    orders: u64,
    /// Rounds; each measures every subject once, or sets the kill switch once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Time from one burst or bare send to the next, microseconds; the two alternate.
    #[arg(long, value_name = "US", default_value_t = 500.0)]
    pause_us: f64,
    /// The engine has the setting `spin`: it works in the pauses, and keeps its send path warm.
    #[arg(long)]
    spin: bool,
    /// Directory on the disk of the journal.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Processors: of the engine with its banks, and of the journal thread.
    #[arg(long, value_name = "A,B", default_value = "0,1", value_parser = super::ipc::cpus)]
    cpus: (usize, usize),
    #[command(flatten)]
    common: Common,
}

/// Rows of the path: each stage, all of them, and the burst.
const ROWS: [&str; 9] = [
    "quotes",
    "composite",
    "limits",
    "plan",
    "orders",
    "journal",
    "sent",
    "total",
    "burst",
];
const TOTAL: usize = 7;
const BURST: usize = 8;
/// Bytes of an order, as measured with these names.
const ORDER_BYTES: usize = 215;
/// Bytes that a record of an order takes in the file.
const RECORD_BYTES: usize = 4_096;

/// Bytes of the journal's ring: the answers to a thousand cancels are records that wait for the disk at once.
const TAIL_BYTES: u64 = 64 << 20;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = Run::begin_on(arguments.cpus.0, &arguments.common)?;
    match arguments.kill {
        true => kill::run(arguments, &run),
        false => path(arguments, &run),
    }
}

fn path(arguments: &Arguments, run: &Run) -> Result<(), Failure> {
    let clock = run.clock();
    let mut host = Rows::new("");
    let mut disk = Rows::new("sync-");
    let mut send = latency_histogram();
    let mut fdatasync = latency_histogram();
    let mut bare = BareSend::open(arguments.banks).map_err(Failure::run)?;
    for round in with_progress(0..arguments.rounds) {
        let seed = u64::from(round);
        let place = Place::new(arguments, "host")?;
        let mut rig = place.open(arguments, false, seed)?;
        let bare_send = |is_measured| {
            let ns = bare.sample(&clock)?;
            if is_measured {
                send.saturating_record(ns);
            }
            Ok(())
        };
        measure(
            arguments,
            &mut rig,
            arguments.samples,
            run,
            &mut host,
            bare_send,
        )?;
        end(rig)?;
        if arguments.syncs > 0 {
            let place = Place::new(arguments, "disk")?;
            let mut rig = place.open(arguments, true, seed)?;
            measure(arguments, &mut rig, arguments.syncs, run, &mut disk, |_| {
                Ok(())
            })?;
            end(rig)?;
            let file = place.disk.path().join("bare");
            bare_fdatasync(&file, RECORD_BYTES, arguments.syncs, &clock, &mut fdatasync)?;
        }
    }
    let mut lines = host.lines();
    lines.push(row("bare-send", send));
    if arguments.syncs > 0 {
        lines.extend(disk.lines());
        lines.push(row("fdatasync", fdatasync));
    }
    let head = format!(
        "{} banks with {} tiers a side, one pair; every bank quotes in each burst, one order a burst; a burst or a bare send every {} us; engine{} and banks \
         on processor {}, journal thread on {}; journal in {}",
        arguments.banks,
        arguments.tiers,
        arguments.pause_us,
        if arguments.spin { ", which spins," } else { "" },
        arguments.cpus.0,
        arguments.cpus.1,
        arguments.dir.display()
    );
    run.report(&head, &lines)
}

/// A turn of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// A burst of all banks, with one order.
    Order,
    /// A bare send.
    Bare,
}

/// Alternates orders and bare sends. `pause` takes the begin of the turn before: right behind an order the kernel's send path is in
/// the caches, so each bare send has a pause of its own, as the order has.
fn alternate(
    samples: u64,
    mut pause: impl FnMut(u64) -> Result<(), Failure>,
    mut measure: impl FnMut(u64, Turn) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut begin = ticks();
    for sample in 0..samples {
        for turn in [Turn::Order, Turn::Bare] {
            pause(begin)?;
            begin = ticks();
            measure(sample, turn)?;
        }
    }
    Ok(())
}

/// Bursts, one order each, and as many bare sends.
fn measure(
    arguments: &Arguments,
    rig: &mut Rig,
    samples: u64,
    run: &Run,
    rows: &mut Rows,
    mut bare: impl FnMut(bool) -> std::io::Result<()>,
) -> Result<(), Failure> {
    // The first ones take pages of memory and warm the caches.
    let warm = samples / 20;
    let rig = RefCell::new(rig);
    let pause = |begin| match arguments.spin {
        false => {
            run.pause(begin, arguments.pause_us);
            Ok(())
        }
        true => spin(&mut rig.borrow_mut(), run, begin, arguments.pause_us),
    };
    alternate(samples + warm, pause, |sample, turn| match turn {
        Turn::Order => order(
            &mut rig.borrow_mut(),
            &run.clock(),
            (sample >= warm).then_some(&mut *rows),
        ),
        Turn::Bare => bare(sample >= warm).map_err(Failure::run),
    })
}

/// A pause in which the engine works, without anything to do.
fn spin(rig: &mut Rig, run: &Run, begin: u64, pause_us: f64) -> Result<(), Failure> {
    while (run.clock().between_ns(begin, ticks()) as f64) < pause_us * 1e3 {
        rig.trader.work().map_err(Failure::run)?;
    }
    Ok(())
}

/// One burst with one order, until no bank has to answer.
fn order(rig: &mut Rig, clock: &Clock, mut rows: Option<&mut Rows>) -> Result<(), Failure> {
    let begin = ticks();
    rig.quote();
    let mut is_sent = false;
    while rig.trader.work().map_err(Failure::run)? > 0 {
        for path in rig.trader.paths() {
            is_sent = true;
            if let Some(rows) = &mut rows {
                rows.record(clock, path, begin);
            }
        }
    }
    if !is_sent {
        let why = rig.incidents();
        return Err(Failure::run(format!("a burst made no order; {why}")));
    }
    rig.settle().map_err(failed)
}

/// Histograms of the path.
struct Rows {
    prefix: &'static str,
    histograms: [Histogram<u64>; ROWS.len()],
}

impl Rows {
    fn new(prefix: &'static str) -> Rows {
        Rows {
            prefix,
            histograms: ROWS.map(|_| latency_histogram()),
        }
    }

    fn record(&mut self, clock: &Clock, path: &touchline_fx_live::execution::Path, begin: u64) {
        for (stage, spent) in path.spent.iter().enumerate() {
            self.histograms[stage].saturating_record(clock.between_ns(0, *spent));
        }
        self.histograms[TOTAL].saturating_record(clock.between_ns(path.began, path.ended));
        self.histograms[BURST].saturating_record(clock.between_ns(begin, path.ended));
    }

    fn lines(self) -> Vec<Statistics> {
        let rows = ROWS.iter().zip(self.histograms);
        rows.map(|(name, histogram)| row(format!("{}{name}", self.prefix), histogram))
            .collect()
    }
}

fn row(subject: impl Into<String>, histogram: Histogram<u64>) -> Statistics {
    Statistics::new("fx-trade", subject, histogram)
}

/// Directories of a rig; removed on drop.
struct Place {
    buses: Folder,
    disk: OnDisk,
}

impl Place {
    fn new(arguments: &Arguments, what: &str) -> Result<Place, Failure> {
        let name = format!("touchline-bench-fx-trade-{what}-{}", std::process::id());
        Ok(Place {
            buses: Folder::new().map_err(failure)?,
            disk: OnDisk::create(arguments.dir.join(name))?,
        })
    }

    /// Opens a rig with the journal thread on the second processor.
    fn open(&self, arguments: &Arguments, is_disk: bool, seed: u64) -> Result<Rig, Failure> {
        pin(arguments.cpus.1).map_err(failure)?;
        let plan = Plan {
            banks: usize::from(arguments.banks),
            tiers: arguments.tiers,
            buses: self.buses.path(),
            journal: &self.disk.path().join("journal"),
            is_disk,
            tail_bytes: TAIL_BYTES,
            spin: arguments.spin,
        };
        let rig = Rig::open(&plan, seed);
        pin(arguments.cpus.0).map_err(failure)?;
        rig.map_err(failed)
    }
}

fn end(rig: Rig) -> Result<(), Failure> {
    rig.trader.finish().map_err(Failure::run)
}

fn failed(failed: Failed) -> Failure {
    Failure::run(failed.to_string())
}

/// The lower bound of the stage `sent`: a connection of each bank, used in random order, without a reader during the measurement.
struct BareSend {
    connections: Vec<(TcpStream, TcpStream)>,
    random: Random,
}

impl BareSend {
    fn open(banks: u16) -> std::io::Result<BareSend> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let connect = |_| {
            let send = TcpStream::connect(listener.local_addr()?)?;
            send.set_nodelay(true)?;
            let (receive, _) = listener.accept()?;
            Ok((send, receive))
        };
        Ok(BareSend {
            connections: (0..banks).map(connect).collect::<std::io::Result<_>>()?,
            random: Random::from_seed(0),
        })
    }

    fn sample(&mut self, clock: &Clock) -> std::io::Result<u64> {
        use std::io::Read;
        let mut bytes = [7; ORDER_BYTES];
        let next = self.random.index(self.connections.len());
        let (send, receive) = &mut self.connections[next];
        let begin = ticks();
        send.write_all(&bytes)?;
        let took = clock.between_ns(begin, ticks());
        receive.read_exact(&mut bytes)?;
        Ok(took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bare send right behind an order meets a kernel that is in the caches, and the order does not.
    #[test]
    fn each_order_and_each_bare_send_is_behind_a_pause() {
        let steps = RefCell::new(Vec::new());
        let pause = |_| {
            steps.borrow_mut().push("pause".to_owned());
            Ok(())
        };
        let measured = alternate(2, pause, |sample, turn| {
            steps.borrow_mut().push(format!("{turn:?} {sample}"));
            Ok(())
        });
        assert!(measured.is_ok());
        let expected = [
            "pause", "Order 0", "pause", "Bare 0", "pause", "Order 1", "pause", "Bare 1",
        ];
        assert_eq!(*steps.borrow(), expected);
    }
}
