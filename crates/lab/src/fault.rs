//! Faults between an exchange and a receiver: an ordered list of operators over the packet streams of both lines.
//!
//! The same session, plan and seed give the same arrivals. The report counts the faults, so that the counters of the
//! system under test can be compared with it.

pub mod command;
mod damage;
pub mod forger;
mod lines;
mod plan;
pub mod stream;

pub use plan::{Fault, FaultPlan, Forged, Forgery, Rule};

use crate::capture::{Arrival, Feed};
use crate::cme::{SentPacket, Session};
use crate::random::Random;
use std::collections::BTreeMap;

/// Result of a session under a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Arrivals in order.
    pub arrivals: Vec<Arrival>,
    /// Applied faults.
    pub report: Report,
}

/// Faults applied to a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Affected packets, by fault.
    pub struck: BTreeMap<&'static str, u64>,
    /// Incremental packets without an undamaged copy on any line, by sequence in sending order. Those before a late
    /// join are not included.
    pub lost_on_both: Vec<u32>,
    /// Incremental packets sent before a late join.
    pub before_join: u64,
    /// Clock steps of the receiving host: index of the first arrival after the step, and seconds.
    pub clock_set: Vec<(usize, i64)>,
}

/// Applies a plan to a session over both lines.
pub fn deliver(session: &Session, plan: &FaultPlan, seed: u64) -> Delivery {
    let mut random = Random::from_seed(seed);
    let mut lines = lines::Lines::of(session, &plan.earlier, &mut random.split());
    let mut report = Report::default();
    for rule in &plan.rules {
        // Each rule has its own random stream, so a rule added at the end does not change the effect of the others.
        let struck = lines.strike(rule, &mut random.split());
        *report.struck.entry(rule.fault.name()).or_default() += struck;
    }
    let arrived = lines.undamaged();
    let incremental = |packet: &&SentPacket| packet.feed == Feed::Incremental;
    report.before_join = session.packets[..lines.joined_at]
        .iter()
        .filter(incremental)
        .count() as u64;
    let lost = (lines.joined_at..session.packets.len()).filter(|packet| !arrived.contains(packet));
    report.lost_on_both = lost
        .map(|packet| &session.packets[packet])
        .filter(incremental)
        .map(|packet| packet.sequence)
        .collect();
    let (arrivals, clock_set) = lines.arrivals();
    report.clock_set = clock_set;
    Delivery { arrivals, report }
}

#[cfg(test)]
mod tests;
