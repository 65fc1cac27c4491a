//! One venue connection: configuration, the pipeline, the duty cycle.
pub mod config;
