//! `touchline bench ipc-throughput`: a message stream to one or several processes.

use super::ipc::{Field, Group, start};
use super::run::{Run, failure, middle};
use crate::bench::progress::with_progress;
use crate::format::counted;
use crate::output::Failure;
use crate::print::print_line;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::ring::{BATCH_END, Flags, PAYLOAD_BYTES_MAX, Payload, Written};
use touchline_lab::bench::ipc::rival::Rival;
use touchline_lab::bench::ipc::{Folder, Part, Role, lower_bound};
use touchline_transport::clock::{Clock, ticks};

/// A message stream to one or several processes, through shared memory.
///
/// The writer commits each message on its own, as fast as it can or on a schedule; readers copy each message and check
/// its number. The rate is that of the slowest reader. The lower bound of the same run, the round
/// trip of a cache line between the two processors, is printed beside it.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Bytes of a message.
    #[arg(long, value_name = "BYTES", default_value_t = 70, value_parser = payload)]
    payload: usize,
    /// Messages of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// Readers, each in its own process, all on the second processor; several readers yield to each other.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    readers: u32,
    /// Bytes of the ring: a power of two.
    #[arg(long, value_name = "BYTES", default_value_t = 4 * 1024 * 1024)]
    ring_bytes: u64,
    /// Rounds of waiting of a reader that finds the ring empty, so that many messages are ready at its next read: 1,000 for one reader
    /// without a rate, else 1. If given, the competitors get it, too, and those without the option refuse it.
    #[arg(long, value_name = "N")]
    gather: Option<u32>,
    /// Messages a second, each at its time; the competitors, too [default: as fast as possible].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Each message ends its batch, as an update alone in its packet does; else all are one batch.
    #[arg(long)]
    one_at_a_time: bool,
    #[command(flatten)]
    field: Field,
}

const AFTER_HELP: &str = "\
Examples:
  touchline bench ipc-throughput
  touchline bench ipc-throughput --readers 3 --messages 5000000
  touchline bench ipc-throughput --one-at-a-time --rate 10000000
  touchline bench ipc-throughput --against all

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments";

/// A measured transport.
enum Subject {
    /// Whether the writer waits for its readers.
    Ring {
        lossless: bool,
    },
    Rival(Rival),
}

/// One round of a subject.
#[derive(Clone, Copy)]
struct Round {
    /// Messages per second of the slowest reader.
    rate: f64,
    /// Messages lost by all readers together.
    lost: u64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let rivals = arguments.field.find_rivals()?;
    let ours = [true, false].map(|lossless| Subject::Ring { lossless });
    let mut measured: Vec<(Subject, Vec<Round>)> = ours
        .into_iter()
        .chain(rivals.into_iter().map(Subject::Rival))
        .map(|subject| (subject, Vec::new()))
        .collect();
    let mut run = Run::begin_on(arguments.field.cpus.0, &arguments.field.common)?;
    let folder = Folder::new().map_err(failure)?;
    let mut lower_bound = Histogram::new(3).expect("the precision is in range");
    let mut floors = Vec::new();
    for _ in with_progress(0..arguments.field.rounds) {
        let floor = arguments.measure_lower_bound(&folder, &mut lower_bound)?;
        run.floor(floor);
        floors.push(floor);
        folder.clear();
        for (subject, rounds) in &mut measured {
            rounds.push(arguments.measure(subject, &folder)?);
            folder.clear();
        }
    }
    arguments.report(&measured, &floors, lower_bound, &run)
}

impl Arguments {
    fn role(&self, folder: &Folder, part: Part, messages: u64) -> Role {
        Role {
            part,
            folder: folder.path().to_owned(),
            cpu: self.field.cpus.1,
            payload_bytes: self.payload,
            warmup: match part {
                Part::LowerBoundEcho => 0,
                _ => self.warmup(),
            },
            messages,
            // As the programs of others wait by default: where readers share a processor, each round lets another one run.
            gather: (self.gather).unwrap_or(match (self.rate, self.readers) {
                (None, 1) => 1_000,
                _ => 1,
            }),
            shares_cpu: self.readers > 1,
        }
    }

    /// Messages of each round that are not measured, as of the programs of others.
    fn warmup(&self) -> u64 {
        self.messages / 10
    }

    /// Returns the median of this round.
    fn measure_lower_bound(
        &self,
        folder: &Folder,
        into: &mut Histogram<u64>,
    ) -> Result<u64, Failure> {
        const ROUND_TRIPS: u64 = 100_000;
        let lines = lower_bound::Lines::new(folder.path()).map_err(failure)?;
        let peer = start(&self.role(folder, Part::LowerBoundEcho, ROUND_TRIPS))?;
        let mut round = Histogram::new(3).expect("the precision is in range");
        lines.round_trips(0, ROUND_TRIPS, &mut round);
        peer.finish().map_err(failure)?;
        into.add(&round).expect("it grows as it needs");
        Ok(round.value_at_quantile(0.5))
    }

    fn measure(&self, subject: &Subject, folder: &Folder) -> Result<Round, Failure> {
        match subject {
            Subject::Ring { lossless } => self.measure_ring(*lossless, folder),
            Subject::Rival(rival) => {
                let mut arguments =
                    self.field
                        .rival_arguments(self.payload, self.warmup(), self.messages);
                arguments.extend(["--readers".to_owned(), self.readers.to_string()]);
                if let Some(rate) = self.rate {
                    arguments.extend(["--rate".to_owned(), rate.to_string()]);
                }
                if let Some(gather) = self.gather {
                    arguments.extend(["--gather".to_owned(), gather.to_string()]);
                }
                let (rate, lost) = rival.stream(&arguments).map_err(failure)?;
                Ok(Round { rate, lost })
            }
        }
    }

    fn measure_ring(&self, lossless: bool, folder: &Folder) -> Result<Round, Failure> {
        let part = if lossless {
            Part::RingReadRegistered
        } else {
            Part::RingRead
        };
        let mut stream =
            Written::stream(folder.path(), self.ring_bytes, lossless).map_err(failure)?;
        let readers = (0..self.readers)
            .map(|_| start(&self.role(folder, part, self.messages)))
            .collect::<Result<Vec<_>, _>>()?;
        self.send(&mut stream);
        let mut round = Round {
            rate: f64::INFINITY,
            lost: 0,
        };
        for reader in readers {
            let said = reader.finish().map_err(failure)?;
            let unclear = |_| Failure::run(format!("a reader said {said:?}"));
            let said: Value = serde_json::from_str(&said).map_err(unclear)?;
            let received = said["received"].as_u64().unwrap_or(0);
            round.lost += said["lost"].as_u64().unwrap_or(0);
            let seconds = said["seconds"].as_f64().unwrap_or(0.0);
            round.rate = round.rate.min(received as f64 / seconds.max(1e-9));
        }
        Ok(round)
    }

    fn send(&self, stream: &mut Written) {
        let flags = match self.one_at_a_time {
            true => BATCH_END,
            false => Flags::default(),
        };
        let clock = Clock::calibrated();
        let between_ns = self.rate.map(|rate| 1e9 / f64::from(rate));
        let mut payload = Payload::new(self.payload);
        let start = ticks();
        for number in 1..=self.warmup() + self.messages {
            payload.set_number(number);
            if let Some(between_ns) = between_ns {
                let due_ns = (number as f64 * between_ns) as u64;
                while clock.between_ns(start, ticks()) < due_ns {}
            }
            payload.send(&mut stream.writer, flags, self.readers > 1);
        }
    }

    fn report(
        &self,
        measured: &[(Subject, Vec<Round>)],
        floors: &[u64],
        floor: Histogram<u64>,
        run: &Run,
    ) -> Result<(), Failure> {
        let floor_ns = floor.value_at_quantile(0.5);
        if !run.is_json() {
            run.print_head(&format!(
                "{} bytes, {}, 1 writer, {}, {} messages a round, processors {},{}, lower bound {floor_ns} ns; rates in million messages a second",
                self.payload,
                self.pace(),
                counted(self.readers.into(), "reader"),
                self.messages,
                self.field.cpus.0,
                self.field.cpus.1
            ));
            print_line!(
                "{:<28} {:>9} {:>9} {:>9} {:>13} {:>9}",
                "subject",
                "min",
                "median",
                "max",
                "lost",
                "to ours"
            );
        }
        for group in Group::all(floors) {
            self.report_group(measured, &group, floors, run);
        }
        if !run.is_json() {
            run.print_caveats();
        }
        // Rates have no distribution; the lower bound has one.
        let floor = Statistics::new("ipc-throughput", "cache-line-ping-pong", floor);
        run.write_distributions(&[floor.of_bytes(8)])
    }

    /// How the writer sends, for the head of the table.
    fn pace(&self) -> String {
        let kind = match self.one_at_a_time {
            true => "one at a time",
            false => "one batch",
        };
        match self.rate {
            Some(rate) => format!("{kind}, {rate}/s offered"),
            None => kind.to_owned(),
        }
    }

    fn report_group(
        &self,
        measured: &[(Subject, Vec<Round>)],
        group: &Group,
        floors: &[u64],
        run: &Run,
    ) {
        let floors = group.rounds.iter().map(|round| floors[*round] as f64);
        let floor_ns = middle(floors.collect()).round() as u64;
        let of_group = |all: &[Round]| -> Vec<Round> {
            group.rounds.iter().map(|round| all[*round]).collect()
        };
        let ours = median(&of_group(&measured[0].1));
        for (subject, rounds) in measured {
            let rounds = of_group(rounds);
            let rates = rounds.iter().map(|round| round.rate);
            let (min, max) = (
                rates.clone().fold(f64::INFINITY, f64::min),
                rates.fold(0.0, f64::max),
            );
            let median = median(&rounds);
            let lost: u64 = rounds.iter().map(|round| round.lost).sum();
            let subject = format!("{}{}", subject.name(), group.suffix);
            if run.is_json() {
                run.print_json(json!({
                    "bench": "ipc-throughput", "subject": subject,
                    "payload_bytes": self.payload, "readers": self.readers, "unit": "msg/s",
                    "count": self.messages, "value": median, "min": min, "max": max,
                    "lost": lost, "floor_ns_p50": floor_ns,
                    "one_at_a_time": self.one_at_a_time, "offered": self.rate, "gather": self.gather,
                }));
                continue;
            }
            let million = |rate: f64| rate / 1e6;
            print_line!(
                "{subject:<28} {:>9.1} {:>9.1} {:>9.1} {lost:>13} {:>9.2}",
                million(min),
                million(median),
                million(max),
                median / ours
            );
        }
    }
}

impl Subject {
    fn name(&self) -> &str {
        match self {
            Subject::Ring { lossless: true } => "touchline-shm-lossless",
            Subject::Ring { lossless: false } => "touchline-shm-lossy",
            Subject::Rival(rival) => &rival.subject,
        }
    }
}

fn median(rounds: &[Round]) -> f64 {
    middle(rounds.iter().map(|round| round.rate).collect())
}

fn payload(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if (8..=PAYLOAD_BYTES_MAX).contains(&bytes) => Ok(bytes),
        _ => Err(format!("give 8 to {PAYLOAD_BYTES_MAX} bytes")),
    }
}
