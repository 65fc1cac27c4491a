//! Temporary buses with a test publisher, read by the client.

mod batches;
mod fold;
mod history;
mod joining;
mod local;
mod losing;
mod lossless_tape;
mod random;
mod refused;
mod restarting;
mod selecting;
mod several;
mod snapshots;
#[cfg(feature = "async")]
mod streaming;
mod tape;
mod with_tape;
mod without_ids;
mod world;
