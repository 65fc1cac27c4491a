//! A row of results: one subject at one rate in one round, as a line of JSON.

use crate::Failed;
use crate::check::Received;
use crate::sample::{HostUse, ProcessUse};
use crate::schedule::Profile;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Verdict of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The subject sustained the rate, complete and in time.
    Sustained,
    /// The subject did not sustain the rate.
    NotSustained,
    /// Without limits of rate and latency: every message arrived, once and in order.
    Complete,
    /// Without limits: not every message did.
    Incomplete,
    /// The publisher was stopped: the step has no meaning for the subject.
    Invalid,
}

impl Verdict {
    /// Whether the subject met its limits, or without limits delivered every message.
    pub fn is_met(self) -> bool {
        matches!(self, Verdict::Sustained | Verdict::Complete)
    }
}

/// Why a rate was not sustained, in a word for programs and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Messages were torn.
    Torn,
    /// Messages arrived twice.
    Duplicates,
    /// Messages arrived behind later ones.
    Reordered,
    /// Messages were lost.
    Lost,
    /// The publisher did not send every message in time.
    Unsent,
    /// Too few messages a second arrived.
    Rate,
    /// A quantile of the latency is above its limit.
    Latency,
    /// The publisher was stopped: the step is invalid.
    Stopped,
    /// The subject failed.
    Failed,
}

impl Cause {
    /// Text for tables.
    pub fn text(self) -> &'static str {
        match self {
            Cause::Torn => "torn messages",
            Cause::Duplicates => "duplicates",
            Cause::Reordered => "out of order",
            Cause::Lost => "lossy",
            Cause::Unsent => "not all sent",
            Cause::Rate => "rate below the limit",
            Cause::Latency => "latency above the limit",
            Cause::Stopped => "publisher stopped",
            Cause::Failed => "failed",
        }
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Version of this format.
    pub load: u32,
    /// Name of the subject.
    pub subject: String,
    /// Number of the round, from 1.
    pub round: u32,
    /// Shape of the load.
    pub profile: Profile,
    /// Readers, without the slow one.
    pub readers: usize,
    /// Offered rate, messages a second.
    pub rate: u64,
    /// Received rate of the slowest reader, messages a second, from the due time of the first measured message to the
    /// last arrival.
    pub received_rate: f64,
    /// Verdict.
    pub verdict: Verdict,
    /// Reason, if the rate was not sustained or the step is invalid; otherwise empty.
    pub reason: String,
    /// The reason in a word; absent if the rate was sustained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Whether the row repeats a step that was not sustained.
    pub is_repeated: bool,
    /// Whether other processes used more of the host's processors than the limit.
    pub is_disturbed: bool,
    /// Messages sent, warm-up included.
    pub sent: u64,
    /// Messages that the publisher dropped.
    pub unsent: u64,
    /// Sums over all readers.
    pub received: Received,
    /// Turns in which the transport was full.
    pub blocked_turns: u64,
    /// Longest pause of the publisher.
    pub pause_ns_max: u64,
    /// Latency from due time to receipt: quantiles in nanoseconds, by name.
    pub latency_ns: BTreeMap<String, u64>,
    /// All latencies: a histogram in the V2 form of HdrHistogram, compressed, in base64.
    pub histogram: String,
    /// Resources of each process in the measured window.
    pub processes: Vec<ProcessUse>,
    /// Resources of the host in the measured window.
    pub host: HostUse,
    /// Bytes of files in shared memory.
    pub shm_bytes: u64,
    /// Counters of the transport, by name: sums over all processes, each with its own, or those that all of them share.
    pub counts: BTreeMap<String, u64>,
    /// Processors of this host that the processes of the step need, because they do not sleep; 0 if they sleep.
    #[serde(default)]
    pub processors_needed: usize,
    /// Processors of this host.
    #[serde(default)]
    pub processors: usize,
    /// Round trip of a cache line before and after the round, nanoseconds; empty while the round runs.
    pub floor_ns: Vec<u64>,
    /// Two hosts: bound of the error of one-way latencies by the difference of their clocks, nanoseconds; 0 on one host.
    #[serde(default)]
    pub clock_error_ns: u64,
}

/// Reported quantiles, with their names.
pub const QUANTILES: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
    ("max", 1.0),
];

impl Row {
    /// A quantile of the latency, nanoseconds.
    pub fn quantile_ns(&self, name: &str) -> u64 {
        self.latency_ns.get(name).copied().unwrap_or(0)
    }

    /// Why the rate was not sustained, in a word; in a sentence if an earlier version measured it.
    pub fn why(&self) -> &str {
        match self.cause {
            Some(cause) => cause.text(),
            None => &self.reason,
        }
    }

    /// Processors that the subject needs, if the host has fewer, as text.
    pub fn needs(&self) -> Option<String> {
        let needed = self.processors_needed;
        (needed > self.processors).then(|| format!("needs {needed} processors"))
    }

    /// The verdict with its reason, for tables.
    pub fn result(&self) -> String {
        let reason = &self.reason;
        let result = match self.verdict {
            Verdict::Sustained => "sustained".to_owned(),
            Verdict::Complete => "complete".to_owned(),
            Verdict::NotSustained => format!("not sustained: {reason}"),
            Verdict::Incomplete => format!("not complete: {reason}"),
            Verdict::Invalid => format!("invalid: {reason}"),
        };
        let needs = self.needs().filter(|_| !self.verdict.is_met());
        let needs = needs.map_or_else(String::new, |needs| format!(", {needs}"));
        let repeated = if self.is_repeated { " (repeated)" } else { "" };
        format!("{result}{needs}{repeated}")
    }

    /// Processor seconds per second, over all processes.
    pub fn cpus(&self) -> f64 {
        let seconds: f64 = self.processes.iter().map(ProcessUse::cpu_s).sum();
        seconds / self.host.window_s.max(1e-6)
    }

    /// A count of the host in the measured window for each message that was offered in it, however many readers received it.
    pub fn per_message(&self, count: u64) -> f64 {
        let offered = (self.rate as f64 * self.host.window_s).max(1.0);
        count as f64 / offered
    }

    /// The histogram.
    ///
    /// # Errors
    /// Not a histogram.
    pub fn decoded(&self) -> Result<Histogram<u64>, Failed> {
        decode(&self.histogram)
    }
}

/// Quantiles by name.
pub fn quantiles(histogram: &Histogram<u64>) -> BTreeMap<String, u64> {
    let value =
        |(name, quantile): (&str, f64)| (name.to_owned(), histogram.value_at_quantile(quantile));
    QUANTILES.into_iter().map(value).collect()
}

/// A histogram as text: compressed V2 in base64.
///
/// # Errors
/// It has more counts than the form holds.
pub fn encode(histogram: &Histogram<u64>) -> Result<String, Failed> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| Failed(format!("histogram: {error}")))?;
    Ok(to_base64(&bytes))
}

/// A histogram from text.
///
/// # Errors
/// Not one.
pub fn decode(text: &str) -> Result<Histogram<u64>, Failed> {
    let bytes = from_base64(text).ok_or_else(|| Failed("histogram: not base64".to_owned()))?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| Failed(format!("histogram: {error}")))
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut three = [0; 4];
        three[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(three);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= chunk.len() {
                char::from(DIGITS[value])
            } else {
                '='
            });
        }
    }
    text
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let digits = text.trim_end_matches('=').as_bytes();
    for chunk in digits.chunks(4) {
        let mut bits = 0_u32;
        for place in 0..4 {
            let value = match chunk.get(place) {
                Some(digit) => DIGITS.iter().position(|known| known == digit)?,
                None => 0,
            };
            bits = bits << 6 | value as u32;
        }
        let whole = chunk.len().checked_sub(1)?;
        bytes.extend_from_slice(bits.to_be_bytes().get(1..=whole)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(to_base64(bytes.as_bytes()), text);
            assert_eq!(from_base64(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(from_base64("Zm9v!"), None);
    }

    #[test]
    fn network_is_counted_by_message_and_not_by_reader() {
        let mut row = crate::step::made_up_row("x", 1_000, 1, Verdict::Sustained);
        (row.readers, row.received.measured, row.host.window_s) = (3, 6_000, 2.0);
        assert_eq!(row.per_message(140_000), 70.0);
    }

    #[test]
    fn a_histogram_survives_as_text() {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds");
        for value in [1, 350, 351, 1_000_000, 3_000_000_000_000] {
            histogram.record_n(value, value % 7 + 1).expect("in range");
        }
        let decoded = decode(&encode(&histogram).expect("encoded")).expect("decoded");
        assert_eq!(decoded, histogram);
        assert!(decode("Zm9v").is_err());
    }
}
