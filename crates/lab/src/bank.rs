//! Simulated banks: pricing sessions over FIX 4.4 that quote currency pairs around one mid.
//!
//! ```text
//! seed ──► market (mids) ──► bank: spread, skew, tiers, latency ──► Client ──► session ──► bytes
//!                               │                                     ▲
//!                               └──► what it shows                    └── V, R
//! ```
//!
//! The session beneath is the one that gateways use; the quotes and their encoding are the lab's own code.

pub mod bus;
mod client;
pub mod composite;
mod config;
mod day;
mod dealer;
mod folder;
pub mod guards;
mod house;
mod ladder;
mod market;
mod messages;
pub mod scripted;
mod shown;

pub use config::{
    BankConfig, CONTRADICTED, Config, Dialect, Kind, OrdersConfig, PairConfig, Profile, TlsConfig,
};
pub use day::{DayConfig, NumbersAtEnd};
pub use dealer::{Book, Books, Deal, Desk};
pub use folder::OpenError;
pub use house::{Bank, Banks, Totals};
pub use ladder::{Band, Ladder};
pub use market::Market;
pub use shown::{Best, best};
