//! Market data over a FIX session: Deribit, and the streams of banks and aggregators.
//!
//! ```text
//!            Logon ─► SecurityList ─► MarketDataRequest ─► snapshot (W) ─► incremental (X)
//!            logon.rs  securities.rs   download.rs          refresh.rs
//! ```
//!
//! The session handles order and timeouts; delivered messages become events here. Every connection starts again:
//! numbers at 1, every instrument requested, every book replaced by a snapshot. Books of a lost connection are stale
//! meanwhile.
//!
//! Source: FIX 4.4 volume 3 (market data); Deribit's own: `docs/venues/deribit.md`.

mod cause;
mod counters;
mod download;
mod empty_levels;
mod feed;
mod instruments;
mod legs;
mod logon;
mod market_data;
mod messages;
mod parts;
mod pending_events;
mod quotes;
mod refresh;
mod securities;
mod settings;
mod subscriptions;

pub(crate) use cause::too_long;
pub use counters::Counters;
pub use feed::FixFeed;
pub use market_data::{APPLICATION, MarketData};
pub use messages::Step;
pub use settings::{Dialect, Settings};
