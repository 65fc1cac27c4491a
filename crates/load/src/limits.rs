//! Limits of a step, and the verdict on it.

use crate::row::{Cause, Row, Verdict};
use std::time::Duration;

/// Limits of a sustained step. They are absolute, and do not depend on the subject's lowest rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Longest median of the latency.
    pub p50_max: Duration,
    /// Longest 99th percentile.
    pub p99_max: Option<Duration>,
    /// Least received share of the rate, 0 to 1.
    pub rate_min: f64,
    /// Longest pause of the publisher.
    pub pause_max: Duration,
    /// Largest share of the host's processors for other processes, 0 to 1.
    pub foreign_max: f64,
}

impl Limits {
    /// No limit: only the messages are judged.
    pub const NONE: Limits = Limits {
        p50_max: Duration::MAX,
        p99_max: None,
        rate_min: 0.0,
        pause_max: Duration::MAX,
        foreign_max: f64::INFINITY,
    };

    /// The verdict of a step that meets these limits.
    pub fn met(&self) -> Verdict {
        match *self == Limits::NONE {
            true => Verdict::Complete,
            false => Verdict::Sustained,
        }
    }

    /// The verdict of a step that does not.
    pub fn not_met(&self) -> Verdict {
        match *self == Limits::NONE {
            true => Verdict::Incomplete,
            false => Verdict::NotSustained,
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            p50_max: Duration::from_millis(1),
            p99_max: None,
            rate_min: 0.98,
            pause_max: Duration::from_millis(50),
            foreign_max: 0.015,
        }
    }
}

/// Why the rate was not sustained, in a word and in a sentence; `None` if it was.
pub fn judge(row: &Row, limits: &Limits) -> Option<(Cause, String)> {
    let us = |ns: u64| ns as f64 / 1000.0;
    let longest = |limit: Duration| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    if row.pause_ns_max > longest(limits.pause_max) {
        let ms = row.pause_ns_max / 1_000_000;
        let reason = format!("the publisher was stopped for {ms} ms");
        return Some((Cause::Stopped, reason));
    }
    let received = &row.received;
    let faults = [
        (received.torn, Cause::Torn, "torn"),
        (received.duplicates, Cause::Duplicates, "doubled"),
        (received.reordered, Cause::Reordered, "out of order"),
        (received.lost, Cause::Lost, "lost"),
        (row.unsent, Cause::Unsent, "not sent"),
    ];
    if let Some((count, cause, what)) = faults.into_iter().find(|(count, ..)| *count > 0) {
        return Some((cause, format!("{count} {what}")));
    }
    if row.received_rate < row.rate as f64 * limits.rate_min {
        let percent = row.received_rate * 100.0 / row.rate as f64;
        return Some((Cause::Rate, format!("{percent:.1} % of the rate arrived")));
    }
    let quantiles = [("p50", Some(limits.p50_max)), ("p99", limits.p99_max)];
    let is_above = |(name, limit): &(&str, Option<Duration>)| {
        limit.is_some_and(|limit| row.quantile_ns(name) > longest(limit))
    };
    let (name, _) = quantiles.into_iter().find(is_above)?;
    let reason = format!("{name} of {:.1} µs", us(row.quantile_ns(name)));
    Some((Cause::Latency, reason))
}
