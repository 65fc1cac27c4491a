//! `touchline bench ipc-rtt`: round trip of a message between two processes.

use super::ipc::{Field, Group, start};
use super::run::{Run, failure, merged, middle};
use crate::bench::progress::with_progress;
use crate::output::Failure;
use hdrhistogram::Histogram;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::ring::PAYLOAD_BYTES_MAX;
use touchline_lab::bench::ipc::rival::Rival;
use touchline_lab::bench::ipc::{Folder, Part, Role, lower_bound, ring};

/// Round trip of a message between two processes, through shared memory.
///
/// Each side is bound to one processor and spins. The lower bound is the round trip of a cache line
/// between the same two processors in the same run. Subjects alternate, so that a disturbance of
/// the host affects all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Bytes of the message.
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = payload)]
    payload: usize,
    /// Round trips of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    #[command(flatten)]
    field: Field,
}

const AFTER_HELP: &str = "\
Examples:
  touchline bench ipc-rtt
  touchline bench ipc-rtt --payload 8 --cpus 2,3
  touchline bench ipc-rtt --against all
  touchline bench ipc-rtt --against aeron-ipc-c,zeromq-ipc --json

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments";

/// A measured transport.
enum Subject {
    LowerBound,
    Ring,
    Rival(Rival),
}

/// Results of a subject, over all rounds.
struct Measured {
    subject: Subject,
    /// One histogram a round.
    rounds: Vec<Histogram<u64>>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let rivals = arguments.field.find_rivals()?;
    let subjects = [Subject::LowerBound, Subject::Ring].into_iter();
    let mut measured: Vec<_> = subjects
        .chain(rivals.into_iter().map(Subject::Rival))
        .map(|subject| Measured {
            subject,
            rounds: Vec::new(),
        })
        .collect();
    let mut run = Run::begin_on(arguments.field.cpus.0, &arguments.field.common)?;
    let folder = Folder::new().map_err(failure)?;
    for _ in with_progress(0..arguments.field.rounds) {
        for Measured { subject, rounds } in &mut measured {
            let mut histogram = latency_histogram();
            arguments.measure(subject, &folder, &mut histogram)?;
            if matches!(subject, Subject::LowerBound) {
                run.floor(histogram.value_at_quantile(0.5));
            }
            rounds.push(histogram);
            folder.clear();
        }
    }
    arguments.report(&measured, &run)
}

impl Arguments {
    /// Round trips before recording starts.
    fn warmup(&self) -> u64 {
        self.messages / 10 + 1
    }

    fn measure(
        &self,
        subject: &Subject,
        folder: &Folder,
        into: &mut Histogram<u64>,
    ) -> Result<(), Failure> {
        let (warmup, messages) = (self.warmup(), self.messages);
        let role = |part| Role {
            part,
            folder: folder.path().to_owned(),
            cpu: self.field.cpus.1,
            payload_bytes: self.payload,
            messages: warmup + messages,
            warmup: 0,
            gather: 1,
            shares_cpu: false,
        };
        match subject {
            Subject::LowerBound => {
                let lines = lower_bound::Lines::new(folder.path()).map_err(failure)?;
                let peer = start(&role(Part::LowerBoundEcho))?;
                lines.round_trips(warmup, messages, into);
                peer.finish().map_err(failure)?;
            }
            Subject::Ring => {
                let mut there = ring::Written::there(folder.path()).map_err(failure)?;
                let peer = start(&role(Part::RingEcho))?;
                let path = folder.path();
                ring::round_trips(&mut there, path, self.payload, warmup, messages, into)
                    .map_err(failure)?;
                peer.finish().map_err(failure)?;
            }
            Subject::Rival(rival) => {
                let arguments = self.field.rival_arguments(self.payload, warmup, messages);
                rival.round_trips(&arguments, into).map_err(failure)?;
            }
        }
        Ok(())
    }

    fn report(&self, measured: &[Measured], run: &Run) -> Result<(), Failure> {
        let floors: Vec<_> = (measured[0].rounds.iter())
            .map(|round| round.value_at_quantile(0.5))
            .collect();
        let (mut lines, mut ratios) = (Vec::new(), Vec::new());
        for Group { suffix, rounds } in Group::all(&floors) {
            let means = |Measured { rounds: all, .. }: &Measured| -> Vec<f64> {
                rounds
                    .iter()
                    .map(|round| middle_mean(&all[*round]))
                    .collect()
            };
            let (floor, ours) = (means(&measured[0]), means(&measured[1]));
            for measured in measured {
                let means = means(measured);
                let ratio_to = |other: &[f64]| median_ratio(&means, other);
                ratios.push(format!(
                    " {:>9.2} {:>9.2}",
                    ratio_to(&floor),
                    ratio_to(&ours)
                ));
                let subject = format!("{}{suffix}", measured.subject.name());
                let all = merged(rounds.iter().map(|round| &measured.rounds[*round]));
                let bytes = match measured.subject {
                    Subject::LowerBound => 8,
                    _ => self.payload as u64,
                };
                lines.push(Statistics::new("ipc-rtt", subject, all).of_bytes(bytes));
            }
        }
        let what = format!(
            "{} bytes there and back, processors {},{}, {} rounds, alternately",
            self.payload, self.field.cpus.0, self.field.cpus.1, self.field.rounds
        );
        let ratios = |number: usize| ratios[number].clone();
        let note = "ratios: mean of the middle nine tenths by that of the other in the same round; their median";
        let head = format!(" {:>9} {:>9}", "to bound", "to ours");
        run.report_with(&what, &lines, &head, ratios, &[note.to_owned()])
    }
}

/// Mean of the values between the 5th and the 95th percentile: the clock advances in steps of some
/// nanoseconds, which a median would show.
fn middle_mean(histogram: &Histogram<u64>) -> f64 {
    let (low, high) = (
        histogram.value_at_quantile(0.05),
        histogram.value_at_quantile(0.95),
    );
    let middle = histogram
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_at_value()))
        .filter(|(value, _)| (low..=high).contains(value));
    let (mut sum, mut count) = (0.0, 0.0);
    for (value, times) in middle {
        sum += value as f64 * times as f64;
        count += times as f64;
    }
    sum / f64::max(count, 1.0)
}

fn median_ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    middle(ours.iter().zip(theirs).map(|(a, b)| a / b).collect())
}

impl Subject {
    fn name(&self) -> &str {
        match self {
            Subject::LowerBound => "cache-line-ping-pong",
            Subject::Ring => "touchline-shm",
            Subject::Rival(rival) => &rival.subject,
        }
    }
}

fn payload(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if (8..=PAYLOAD_BYTES_MAX).contains(&bytes) => Ok(bytes),
        _ => Err(format!("give 8 to {PAYLOAD_BYTES_MAX} bytes")),
    }
}
