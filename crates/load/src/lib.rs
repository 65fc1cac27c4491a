//! The load test of transports: throughput, latency distribution and cost of messages between processes.
//!
//! A step is one subject at one rate: new processes, a publisher with a fixed schedule ([`schedule`]), readers that
//! verify every message ([`check`]), and samples of processes and host during the step ([`sample`]). A ramp raises the
//! rate until a subject no longer sustains it ([`ramp`]), and a report has the charts ([`report`]).
//!
//! # Never
//! Lets a transport slow the schedule. Counts loss as throughput. Compares with the best step instead of a fixed limit.
//! Contains market data logic.
//!
//! # Path
//! [`publish::publish`] passes each due message to a [`subject::Sender`]; [`receive::receive`] takes it from a
//! [`subject::Receiver`] and passes it to the [`check::Checker`].
//!
//! # Tests
//! Here: messages that are torn, lost, doubled or late; schedules; verdicts and ramps over made-up steps; the page. In
//! `crates/touchline/tests`: real steps of every subject, as a test of correctness.

#![forbid(unsafe_code)]

pub mod check;
pub mod clock;
pub mod found;
pub mod hlog;
pub mod knee;
pub mod limits;
pub mod message;
pub mod part;
pub mod process;
pub mod publish;
pub mod ramp;
pub mod receive;
pub mod remote;
pub mod report;
pub mod row;
pub mod sample;
pub mod schedule;
pub mod step;
pub mod subject;
pub mod wait;

/// Reason why a part of a load test failed.
#[derive(Debug)]
pub struct Failed(pub String);

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed(error.to_string())
    }
}
