//! Commands of the desk to the FX engine, and the events that it records and publishes, with their names, as bytes and as JSON lines.
//! Clients, and readers of a journal or a drop copy, need this crate and not the engine.
//!
//! # Never
//! Contains a rule of the engine.
//!
//! # Path
//! A client sends a [`Command`](command::Command). The engine (crate `touchline-fx`) makes events in a [`Batch`]; [`encoding`] writes a batch as the record of a journal and reads it back;
//! [`lines`] writes events as JSON lines, and messages as FIX fields.
//!
//! # Tests
//! Codes beside their words. Random sessions of the engine, encoded, decoded and compared line by line, damaged batches, and late readers
//! are in `crates/fx/tests`; `fuzz` has a target of the decoder.

#![forbid(unsafe_code)]

pub mod alarm;
pub mod command;
pub mod composite;
pub mod desk;
pub mod encoding;
pub mod event;
pub mod labels;
pub mod lines;
pub mod orders;
pub mod parents;
pub mod plan;
pub mod positions;
pub mod risk;
pub mod scorecard;
pub mod seen;
pub mod setup;
pub mod short_text;
pub mod stages;
pub mod ticks;

pub use event::Batch;
pub use labels::Labels;
