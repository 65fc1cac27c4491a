//! Settings of receiving: sockets, buffers, timestamps.

use serde::{Deserialize, Serialize};
use touchline_settings::within;

/// The sockets of a live gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// How packets are received.
    pub receive: Receive,
    /// Accepted sources of packets.
    pub sources: Sources,
    /// Receive buffer of each socket in bytes, 4,096..=1,073,741,824; the granted size is checked.
    #[serde(deserialize_with = "within::<_, _, 4_096, 1_073_741_824>")]
    pub receive_buffer_bytes: usize,
    /// Microseconds that the kernel polls the network card in a receive call, 0..=1,000; 0 leaves it to interrupts.
    #[serde(deserialize_with = "within::<_, _, 0, 1_000>")]
    pub busy_poll_us: u32,
    /// Maximum packets per receive call, 1..=64.
    #[serde(deserialize_with = "within::<_, _, 1, 64>")]
    pub batch: usize,
    /// Whether the kernel or the card timestamps each packet.
    pub stamps: bool,
}

/// How packets are received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Receive {
    /// From the kernel's sockets.
    #[default]
    Sockets,
    /// From the frames of the interface (AF_XDP), by a program at the driver; in the generic mode if the driver has none.
    Xdp,
    /// From the frames of the interface (AF_XDP), in the generic mode.
    XdpGeneric,
    /// As `Xdp`; from sockets, with a warning, where the host has no AF_XDP.
    XdpOrSockets,
}

/// Accepted sources of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sources {
    /// The hosts that the venue publishes; all hosts if it publishes none.
    #[default]
    Published,
    /// The hosts that the venue publishes, on networks without IGMPv3: groups are joined for all sources, and packets of
    /// other hosts are dropped and counted.
    Filtered,
    /// All hosts.
    Any,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            receive: Receive::Sockets,
            sources: Sources::Published,
            receive_buffer_bytes: 8 * 1024 * 1024,
            busy_poll_us: 0,
            batch: 1,
            stamps: true,
        }
    }
}
