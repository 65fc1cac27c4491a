//! A generated day as a tape, the input of benchmarks.

use super::event::{incremental, open, path, still_live};
use super::journal::OnDisk;
use super::market::MarketName;
use super::progress::Progress;
use super::run::failure;
use crate::output::Failure;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchline_journal::{Journal, Options, Root, WriterLock};
use touchline_lab::bench::ipc::Folder;
use touchline_lab::capture::Line;
use touchline_lab::market::values::{INSTRUMENTS, Market};
use touchline_tape::{LastRun, Now, Publication, Recorder, Settings};
use touchline_transport::Publish;
use touchline_transport::market::{Item, Received};
use touchline_types::native::{self, Flags, PART_BYTES_MAX};
use touchline_types::{Timestamps, Update};

/// The day of a benchmark, and its disk.
#[derive(Debug, clap::Args)]
pub struct DayArguments {
    /// Channel of the day, with order books; default: 64 instruments with all kinds of messages.
    #[arg(long, value_enum)]
    market: Option<MarketName>,
    /// Events of the day, or packets of its channel; an event has about 100 bytes on the disk.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100_000..))]
    events: u64,
    /// Size of a segment, MiB.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u64).range(16..=4096))]
    segment_mb: u64,
    /// Directory on the disk to measure.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

/// A recorded day; its files are removed with it.
pub struct Recorded<'a> {
    place: OnDisk,
    written: Written,
    arguments: &'a DayArguments,
}

/// What the day has on the disk, and what it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    pub messages: u64,
    /// Orders that were added, changed or removed in order books.
    pub orders: u64,
    /// Time to generate and record the day.
    pub seconds: f64,
}

impl DayArguments {
    /// Records the day for a benchmark of this name.
    pub fn record(&self, bench: &str) -> Result<Recorded<'_>, Failure> {
        let name = format!("touchline-bench-{bench}-{}", std::process::id());
        let place = OnDisk::create(self.dir.join(name))?;
        let written = record(self, &place.path().join(TAPE))?;
        Ok(Recorded {
            place,
            written,
            arguments: self,
        })
    }
}

impl Recorded<'_> {
    /// Directory of the tape.
    pub fn tape(&self) -> PathBuf {
        self.place.path().join(TAPE)
    }

    /// What the day has on the disk.
    pub fn written(&self) -> Written {
        self.written
    }

    /// Directory of the run.
    pub fn place(&self) -> &Path {
        self.place.path()
    }
}

impl fmt::Display for Recorded<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DayArguments {
            market,
            events,
            segment_mb,
            dir,
        } = self.arguments;
        let of = match market {
            Some(_) => "packets",
            None => "events",
        };
        write!(
            out,
            "a day of {events} {of}, {} messages, segments of {segment_mb} MiB, on the disk of {}",
            self.written.messages,
            dir.display()
        )
    }
}

const TAPE: &str = "tape";
/// Begin of the day, ns since the Unix epoch.
pub const BEGIN_NS: u64 = 1_764_374_400_000_000_000;
/// Duration of the day.
pub const DAY_NS: u64 = 86_400_000_000_000;
/// Events of the market between two receive times.
const EVENTS: u64 = 10;
const SEED: u64 = 44;

/// Records a day, evenly.
fn record(arguments: &DayArguments, tape: &Path) -> Result<Written, Failure> {
    let folder = Folder::new().map_err(failure)?;
    let tail = Root::at(folder.path())
        .create("tape")
        .map_err(Failure::run)?;
    let tail = WriterLock::acquire(tail).map_err(Failure::run)?;
    let options = Options {
        segment_bytes: arguments.segment_mb << 20,
        ..Options::recording("bench")
    };
    let journal = Journal::open(tape, &tail, &options, BEGIN_NS).map_err(Failure::run)?;
    let begin = Instant::now();
    let mut written = match arguments.market {
        Some(market) => record_channel(market, arguments.events, journal)?,
        None => record_events(arguments.events, journal)?,
    };
    written.seconds = begin.elapsed().as_secs_f64();
    Ok(written)
}

/// Time of an event of this number.
fn time_of(event: u64, events: u64) -> u64 {
    BEGIN_NS + (u128::from(DAY_NS) * u128::from(event) / u128::from(events)) as u64
}

fn record_events(events: u64, journal: Journal) -> Result<Written, Failure> {
    let mut day = Day::new(journal, INSTRUMENTS as usize, 65_536);
    let mut market = Market::new(SEED);
    market.received_at(BEGIN_NS);
    market.define(&mut day);
    day.caught_up();
    let mut progress = Progress::new(events, "events");
    for event in (0..events).step_by(EVENTS as usize) {
        day.now.wall_ns = time_of(event, events);
        market.received_at(day.now.wall_ns);
        market.events(EVENTS as usize, &mut day);
        day.check()?;
        progress.at(event);
    }
    day.close()
}

/// The packets of a channel through the path of a gateway, whose publisher is the recorder.
fn record_channel(name: MarketName, packets: u64, journal: Journal) -> Result<Written, Failure> {
    let market = name.market();
    let mut rounds = market.rounds(SEED, &[Line::A]);
    let day = Day::new(journal, market.instruments_max(), market.orders_max());
    let mut path = path(market, market.orders_max(), Some(day));
    open(&mut path, &rounds);
    let mut progress = Progress::new(packets, "packets");
    let mut packet = 0;
    if let Some(day) = path.publisher_mut().inner_mut() {
        day.caught_up();
        day.orders = 0;
    }
    while packet < packets {
        for (line, _, bytes, _) in rounds.packets().take((packets - packet) as usize) {
            let at = time_of(packet, packets);
            if let Some(day) = path.publisher_mut().inner_mut() {
                day.now.wall_ns = at;
            }
            path.packet(incremental(line), bytes, at, 0);
            packet += 1;
        }
        rounds.next_round();
        path.publisher_mut()
            .inner_mut()
            .as_mut()
            .map_or(Ok(()), Day::check)?;
        progress.at(packet);
    }
    still_live(&path)?;
    let day = path.publisher_mut().inner_mut().take();
    day.expect("the path has its publisher").close()
}

/// A recorder whose bus is the market itself.
struct Day {
    recorder: Recorder,
    bus: usize,
    now: Now,
    sequence: u64,
    orders: u64,
    bytes: Vec<u8>,
    failure: Option<Failure>,
}

impl Day {
    fn new(journal: Journal, instruments_max: usize, orders_max: usize) -> Day {
        let now = Now {
            wall_ns: BEGIN_NS,
            ticks: 0,
        };
        let last = LastRun::default();
        let publication = Publication {
            bus: "bench".to_owned(),
            generation: 1,
            instruments_max,
            orders_max,
            boot: 1,
            ring: 1,
        };
        let mut recorder = Recorder::new(journal, Settings::default(), &last, now);
        let bus = recorder.add(publication, 1, &last, now);
        Day {
            recorder,
            bus,
            now,
            sequence: 0,
            orders: 0,
            bytes: Vec::new(),
            failure: None,
        }
    }

    fn item(&mut self, item: &Item<'_>) {
        let taken = self.recorder.item(self.bus, item, self.now);
        self.wait(taken);
    }

    /// The instruments are defined: the first state follows.
    fn caught_up(&mut self) {
        let next = self.sequence + 1;
        let taken = self.recorder.caught_up(self.bus, next, self.now);
        self.wait(taken);
    }

    /// Waits for a disk that is behind.
    fn wait(&mut self, mut taken: Result<(), touchline_journal::Refused>) {
        while taken.is_ok() && self.recorder.is_blocked() {
            std::thread::sleep(Duration::from_micros(100));
            taken = self.recorder.flush(self.now);
        }
        self.failure = self.failure.take().or(taken.err().map(Failure::run));
    }

    /// The failure of the disk, if there was one.
    fn check(&mut self) -> Result<(), Failure> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn close(mut self) -> Result<Written, Failure> {
        let flushed = self.recorder.flush(self.now);
        self.wait(flushed);
        let closed = self.recorder.close(self.now, Duration::from_secs(10));
        let counters = closed.map_err(Failure::run)?;
        self.failure.map_or(
            Ok(Written {
                messages: counters.record_messages,
                orders: self.orders,
                seconds: 0.0,
            }),
            Err,
        )
    }
}

impl Publish for Day {
    /// Each update is a batch.
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        if let Update::Orders(update) = update {
            self.orders += update.changes.len() as u64;
        }
        for part in native::parts(update, PART_BYTES_MAX) {
            self.sequence += 1;
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.resize(part.len(), 0);
            let flags = Flags::END_OF_BATCH.when(!part.more);
            part.write(self.sequence, flags, timestamps, &mut &mut bytes[..]);
            match part.more {
                true => self.item(&Item::Undecoded(&bytes)),
                false => self.item(&Item::Update(Received {
                    sequence: self.sequence,
                    timestamps: *timestamps,
                    update: *update,
                    batch_end: true,
                    is_image: false,
                    bytes: Some(&bytes),
                })),
            }
            self.bytes = bytes;
        }
    }

    fn commit(&mut self) {}
}
