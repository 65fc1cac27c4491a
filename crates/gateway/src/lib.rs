//! One venue connection: configuration, the pipeline, the duty cycle of a live gateway, replay.
//!
//! [`Pipeline`] is the path: it takes a packet through the venue's feed and the books to the publisher, in one
//! function, on one thread, to completion. [`live::Gateway`] is the loop around it: packets from the sockets, and
//! timers.
//!
//! # Never
//! Bypasses `transport`; knows a venue's messages; lets a stage call another.
//!
//! # Path
//! A packet enters at [`Pipeline::packet_at`]; its changes leave through
//! [`touchline_transport::Publish`] at the end of the venue's event.
//!
//! # Tests
//! The rules of a channel one by one in `tests/gateway/rules`; TCP replay with every behaviour of a server in
//! `tests/gateway/recovery.rs`; complete sessions with faults in `crates/touchline/tests/system/sessions`; live tests
//! over sockets and with killed processes in `crates/touchline/tests/live`.

#![forbid(unsafe_code)]

mod books;
pub mod bus;
pub mod config;
mod counters;
mod counters_file;
mod host_time;
mod incident;
mod latency_trace;
pub mod live;
mod pipeline;
mod recent;
pub mod replay;
mod retransmission;
mod routes;
mod selection;
pub mod venues;

pub use books::Limits;
pub use counters::Counters;
pub use counters_file::CountersFile;
pub use host_time::{Clocks, Now};
pub use incident::{
    ConnectionError, CopiesReport, GapReport, Incident, IncidentSender, Incidents, RepeatedFailure,
    incidents,
};
pub use latency_trace::{HISTOGRAMS, LatencyTrace};
pub use pipeline::Pipeline;
pub use retransmission::Retransmission;
pub use routes::{Doubled, Routes};
pub use selection::Selected;
