//! The load test of transports: how fast, how regularly and at what cost messages get from one process to others.
//!
//! A step is one subject at one rate: fresh processes, a publisher with a schedule that nothing slows ([`schedule`]), readers that
//! check every message ([`check`]), and samples of what the processes and the host did meanwhile ([`sample`]). A ramp raises the
//! rate until a subject no longer keeps up ([`ramp`]), and a report draws it ([`report`]).
//!
//! # Never
//! Lets a transport slow the schedule. Counts loss as throughput. Compares with the best step instead of a fixed limit. Knows a
//! book or a venue.
//!
//! # Path
//! [`publish::publish`] hands each message that is due to a [`subject::Sender`]; [`receive::receive`] takes it from a
//! [`subject::Receiver`] and hands it to the [`check::Checker`].
//!
//! # Tests
//! Here: messages that are torn, lost, doubled or late; schedules; verdicts and ramps over made-up steps; the page. In
//! `crates/touchline/tests`: real steps of every subject, as a test of correctness.
#![forbid(unsafe_code)]

pub mod check;
pub mod clock;
pub mod hlog;
pub mod message;
pub mod part;
pub mod process;
pub mod publish;
pub mod ramp;
pub mod receive;
pub mod report;
pub mod row;
pub mod sample;
pub mod schedule;
pub mod step;
pub mod subject;

/// Why a part of a load test came to nothing.
#[derive(Debug)]
pub struct Failed(pub String);

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed(error.to_string())
    }
}
