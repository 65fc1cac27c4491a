//! What the gateway's process has measured, as text for that of the benchmark.

use crate::output::Failure;
use hdrhistogram::Histogram;
use std::fmt;
use std::str::FromStr;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::conditions::RunQueue;

/// What the gateway's process has measured beside the counters of its bus.
#[derive(Debug, PartialEq)]
pub struct OfGateway {
    /// From the sender's clock to the kernel's timestamp.
    pub stamped_ns: Histogram<u64>,
    /// From a packet polled to its updates published, by place.
    pub places: Vec<Histogram<u64>>,
    /// Time that the gateway waited for its processor, if the kernel counts it.
    pub run_queue: Option<RunQueue>,
}

impl Default for OfGateway {
    fn default() -> Self {
        OfGateway {
            stamped_ns: latency_histogram(),
            places: Vec::new(),
            run_queue: None,
        }
    }
}

const STAMPED: &str = "stamped";
const PLACE: &str = "place";
const RUN_QUEUE: &str = "run_queue";

/// A line for each histogram: values and their counts.
impl fmt::Display for OfGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places.iter().map(|place| (PLACE, place));
        for (name, histogram) in [(STAMPED, &self.stamped_ns)].into_iter().chain(places) {
            f.write_str(name)?;
            for step in histogram.iter_recorded() {
                write!(f, " {} {}", step.value_iterated_to(), step.count_at_value())?;
            }
            writeln!(f)?;
        }
        match self.run_queue {
            Some(run_queue) => writeln!(f, "{RUN_QUEUE} {run_queue}"),
            None => Ok(()),
        }
    }
}

impl FromStr for OfGateway {
    type Err = Failure;

    fn from_str(text: &str) -> Result<OfGateway, Failure> {
        let mut read = OfGateway::default();
        for line in text.lines() {
            let wrong = || Failure::run(format!("the gateway's process printed {line:?}"));
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            match name {
                STAMPED => read.stamped_ns = histogram(rest).ok_or_else(wrong)?,
                PLACE => read.places.push(histogram(rest).ok_or_else(wrong)?),
                RUN_QUEUE => read.run_queue = Some(rest.parse().map_err(|_| wrong())?),
                _ => return Err(wrong()),
            }
        }
        Ok(read)
    }
}

fn histogram(text: &str) -> Option<Histogram<u64>> {
    let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
    let mut histogram = latency_histogram();
    for pair in numbers.ok()?.chunks(2) {
        let [value, count] = pair else { return None };
        histogram.saturating_record_n(*value, *count);
    }
    Some(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_gateway_measured_passes_as_text() {
        let of = |values: &[u64]| {
            let mut histogram = latency_histogram();
            values
                .iter()
                .for_each(|ns| histogram.saturating_record(*ns));
            histogram
        };
        let whole = OfGateway {
            stamped_ns: of(&[7, 7, 1_000, 123_456]),
            places: vec![of(&[900, 1_000]), of(&[1_100])],
            run_queue: Some(RunQueue {
                waited_ns: 5,
                seconds: 1.5,
            }),
        };
        for measured in [whole, OfGateway::default()] {
            let read = measured.to_string().trim().parse::<OfGateway>();
            assert!(read.is_ok_and(|read| read == measured), "{measured}");
        }
        for wrong in ["stamped 7 x", "place 7", "run_queue 1", "other 1 1"] {
            assert!(wrong.parse::<OfGateway>().is_err(), "{wrong}");
        }
    }
}
