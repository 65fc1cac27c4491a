//! How packets are received: sockets, their buffers, their stamps.

use super::within;
use serde::{Deserialize, Serialize};

/// The sockets of a live gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Whose packets are taken.
    pub sources: Sources,
    /// Receive buffer of each socket in bytes, 4,096..=1,073,741,824; what the kernel grants is checked.
    #[serde(deserialize_with = "within::<_, _, 4_096, 1_073_741_824>")]
    pub receive_buffer_bytes: usize,
    /// Microseconds that the kernel polls the network card in a receive call, 0..=1,000; 0 leaves it
    /// to interrupts.
    #[serde(deserialize_with = "within::<_, _, 0, 1_000>")]
    pub busy_poll_us: u32,
    /// Most packets of one receive call, 1..=64.
    #[serde(deserialize_with = "within::<_, _, 1, 64>")]
    pub batch: usize,
    /// Whether the kernel, or the card, stamps each packet.
    pub stamps: bool,
}

/// Whose packets are taken from a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sources {
    /// Those of the hosts that the venue publishes for it; anybody's where it publishes none.
    #[default]
    Published,
    /// The same; groups are joined for everybody, and packets of others are dropped here, counted: for
    /// networks without IGMPv3.
    Filtered,
    /// Anybody's.
    Any,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            sources: Sources::Published,
            receive_buffer_bytes: 8 * 1024 * 1024,
            busy_poll_us: 0,
            batch: 1,
            stamps: true,
        }
    }
}
