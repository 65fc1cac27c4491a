//! An order at a desk.

use serde::{Deserialize, Serialize};

/// An order as the desk knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub id: String,
    pub pair: usize,
    /// Value date, as the client stated it.
    #[serde(default)]
    pub date: String,
    pub is_buy: bool,
    pub quantity: i64,
    /// Ticks.
    pub price: i64,
    pub is_fok: bool,
    pub cum: i64,
    /// Ticks times units.
    pub cost: i128,
    /// OrdStatus (39).
    pub status: u8,
    /// By the wall clock.
    pub ended_ns: Option<u64>,
    /// Whether reports of the order are suppressed; a status request is answered. Its trades stand.
    pub is_silent: bool,
    /// Filled after its end was reported.
    pub after_end: i64,
}
