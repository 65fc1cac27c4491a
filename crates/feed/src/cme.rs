//! CME MDP 3.0: packets of a channel's feeds and lines to events.
//!
//! ```text
//!  packet ─► valid? ─► incremental: arbiter ─► messages ─► sequencer (RptSeq) ─► events
//!                      snapshot:    recovery, loops ──────────┘      ▲
//!                      definition:  instruments                      └ orders
//! ```
//!
//! The rules and their sources: `docs/venues/cme.md`.

mod arbiter;
mod arrival;
mod channel;
mod counters;
mod cycles;
mod definitions;
mod early;
mod epoch;
mod feed;
mod incremental;
mod normalise;
mod orders;
mod prices;
mod progress;
mod queue;
mod reference;
pub mod replay;
mod rows;
mod settings;
mod silence;
mod snapshot_assembler;
mod snapshot_cycle;
mod snapshots;
mod templates;
mod timeliness;
mod wait_clock;

pub use counters::Counters;
pub use feed::CmeFeed;
pub use reference::venue;
pub use settings::{FeedType, Join, Line, Replay, Settings};
pub use templates::{TemplateCount, Templates};
