//! Addresses, settings and totals of sockets.

use std::net::{Ipv4Addr, SocketAddrV4};

/// An address to receive from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A group or an address of this host, and the port. Port 0 is any free port.
    pub address: SocketAddrV4,
    /// Accepted source addresses; empty: all. A group is joined for these sources only.
    pub sources: Vec<Ipv4Addr>,
    /// Name or address of the interface on which the group is joined; `None`: that of the settings.
    pub interface: Option<String>,
    /// Polled at each call; of the other endpoints one is polled at each call, in turn.
    pub urgent: bool,
}

/// Receive settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name or address of the interface on which groups are joined, unless their endpoint names another; `None`: the
    /// kernel's routes decide.
    pub interface: Option<String>,
    /// Receive buffer of each socket, bytes.
    pub receive_buffer_bytes: usize,
    /// Microseconds for which the kernel may poll the driver in a receive call; 0: disabled.
    pub busy_poll_us: u32,
    /// Maximum number of packets per system call. 1 is `recvmsg`, more is `recvmmsg`.
    pub batch: usize,
    /// Request receive timestamps from the network card and the kernel.
    pub timestamps: bool,
    /// Maximum payload of a packet, bytes; longer ones are dropped and counted.
    pub packet_bytes_max: usize,
    /// Join groups for every source, even if sources are given, and filter here: for networks
    /// without IGMPv3. Packets of other sources then cost a receive call and are counted.
    pub any_source_joins: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interface: None,
            receive_buffer_bytes: 16 * 1024 * 1024,
            busy_poll_us: 0,
            batch: 1,
            timestamps: true,
            packet_bytes_max: 9_000,
            any_source_joins: false,
        }
    }
}

/// Totals of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets received.
    pub packets: u64,
    /// Their payload.
    pub bytes: u64,
    /// Packets dropped by the kernel, mostly because a receive buffer was full; known from the last
    /// packet or from [`UdpSource::ask_for_drops`](super::UdpSource::ask_for_drops).
    pub dropped_kernel: u64,
    /// Packets of a source that is not accepted.
    pub foreign_source: u64,
    /// Packets longer than [`Settings::packet_bytes_max`].
    pub truncated: u64,
    /// Packets without the requested timestamp; they have the time of the poll.
    pub timestamps_missing: u64,
    /// Hardware timestamps more than a second away from the kernel's, which was used instead.
    pub timestamps_implausible: u64,
    /// Timestamps before that of an earlier packet; the earlier packet's was used instead.
    pub timestamps_raised: u64,
    /// Receive calls that failed for another reason than an empty queue.
    pub receive_errors: u64,
    /// Groups whose interface was removed, and which are not rejoined yet.
    pub groups_lost: u64,
    /// Groups rejoined after that.
    pub groups_rejoined: u64,
    /// Frames of AF_XDP with a wrong length or checksum, which the kernel would have dropped.
    pub damaged: u64,
    /// Times that no frame of AF_XDP was free.
    pub ring_empty: u64,
    /// Whether AF_XDP is wanted, and sockets receive because its program is not attached.
    pub is_detached: bool,
    /// Packets of the sockets although a program is attached to each interface: fragments, options, queues without a ring.
    pub by_sockets: u64,
}

impl Totals {
    pub(crate) fn plus(self, other: Totals) -> Totals {
        Totals {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
            dropped_kernel: self.dropped_kernel + other.dropped_kernel,
            foreign_source: self.foreign_source + other.foreign_source,
            truncated: self.truncated + other.truncated,
            timestamps_missing: self.timestamps_missing + other.timestamps_missing,
            timestamps_implausible: self.timestamps_implausible + other.timestamps_implausible,
            timestamps_raised: self.timestamps_raised + other.timestamps_raised,
            receive_errors: self.receive_errors + other.receive_errors,
            groups_lost: self.groups_lost + other.groups_lost,
            groups_rejoined: self.groups_rejoined + other.groups_rejoined,
            damaged: self.damaged + other.damaged,
            ring_empty: self.ring_empty + other.ring_empty,
            is_detached: self.is_detached || other.is_detached,
            by_sockets: self.by_sockets + other.by_sockets,
        }
    }
}
