//! One venue connection: configuration, the pipeline, the duty cycle of a live gateway, replay.
//!
//! [`Pipeline`] is the path: it takes a packet through the venue's feed and the books to the
//! publisher, in one function, on one thread, to completion. [`live::Gateway`] is the loop around it:
//! a packet out of the sockets, and now and then a look at everything that is no packet.
//!
//! # Never
//! Reaches around `transport`; knows a message of a venue; lets a stage call another.
//!
//! # Path
//! [`Pipeline::packet_at`] is where a packet enters; what it changed leaves through
//! [`touchline_transport::Publish`] at the end of the venue's event.
//!
//! # Tests
//! The rules of a channel one by one in `tests/gateway/rules`; TCP replay against a server in every mood in
//! `tests/gateway/recovery.rs`; whole sessions with faults in
//! `crates/touchline/tests/system/sessions`; live, over sockets and with processes that are killed, in
//! `crates/touchline/tests/live`.
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
mod published;
pub mod replay;
mod retransmission;
mod routes;
mod selection;
pub mod similar;
pub mod venues;

pub use books::Limits;
pub use counters::Counters;
pub use counters_file::CountersFile;
pub use host_time::{Clocks, Now};
pub use incident::{ConnectionError, GapReport, Incident, IncidentSender, Incidents, incidents};
pub use latency_trace::{HISTOGRAMS, LatencyTrace};
pub use pipeline::Pipeline;
pub use published::{BookHealth, PublishedStates};
pub use retransmission::Retransmission;
pub use routes::{Doubled, Routes};
pub use selection::Selected;
