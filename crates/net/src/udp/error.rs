//! Reasons why a socket cannot be opened, and settings that were only partly granted: where, and the fix.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Reason why sockets cannot be opened or cannot continue. Printed as one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No endpoint at all.
    #[error("there is no address to receive from; give at least one")]
    NoEndpoint,
    /// Neither a name nor an address of an interface.
    #[error("there is no network interface {wanted:?} with an IPv4 address; there are: {there}")]
    NoInterface {
        /// As it was configured.
        wanted: String,
        /// Names and addresses of those there are.
        there: String,
    },
    /// The interface exists and is not in operation.
    #[error("network interface {name} is down; 'ip link set {name} up'")]
    InterfaceDown {
        /// Its name.
        name: String,
    },
    /// Groups cannot be joined on this interface.
    #[error(
        "network interface {name} does not take multicast; choose another one, or 'ip link set {name} multicast on'"
    )]
    NoMulticast {
        /// Its name.
        name: String,
    },
    /// A unicast address that is not this host's.
    #[error("{address} is no address of this host; receive from a group, or one of: {there}")]
    NotOurs {
        /// As it was configured.
        address: SocketAddrV4,
        /// Names and addresses of the interfaces there are.
        there: String,
    },
    /// An address that is neither a group nor one of a host.
    #[error(
        "{address} cannot be received from; give a group (224.0.0.0/4) or one address of this host"
    )]
    Address {
        /// As it was configured.
        address: SocketAddrV4,
    },
    /// Another process has the port.
    #[error(
        "{address} is taken by another socket that does not share it; 'ss -lunp sport = :{}' names its process", address.port()
    )]
    Taken {
        /// The address that could not be bound.
        address: SocketAddrV4,
    },
    /// The user may not.
    #[error(
        "{what} for {address} is not permitted; run as a user who may, or give the program CAP_NET_RAW and CAP_NET_ADMIN"
    )]
    NotPermitted {
        /// What was tried.
        what: &'static str,
        /// For which endpoint.
        address: SocketAddrV4,
    },
    /// No route says on which interface the group is.
    #[error("no route leads to group {address}; name the interface on which it arrives")]
    NoRoute {
        /// The group.
        address: SocketAddrV4,
    },
    /// Limit of groups for one socket, or of sources for one group.
    #[error(
        "group {address} cannot be joined, there are too many joins; raise 'sysctl net.ipv4.igmp_max_memberships' (groups) or 'net.ipv4.igmp_max_msf' (sources of a group, here {sources})"
    )]
    TooManyJoins {
        /// The group.
        address: SocketAddrV4,
        /// How many sources were given.
        sources: usize,
    },
    /// The kernel refused the group for another reason.
    #[error(
        "group {address} cannot be joined on {interface} ({error}); is it a group, and is multicast routed there?"
    )]
    Join {
        /// The group.
        address: SocketAddrV4,
        /// The interface's address; 0.0.0.0 if the kernel was to choose.
        interface: Ipv4Addr,
        /// The kernel's reason.
        error: io::Error,
    },
    /// Anything else that the kernel refused.
    #[error("{what} for {address} failed: {error}; see 'ulimit -n' and the kernel's log (dmesg)")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// For which endpoint.
        address: SocketAddrV4,
        /// The kernel's reason.
        error: io::Error,
    },
}

impl Error {
    /// Whether a setting is wrong: what it names is not there, or cannot be received from.
    pub fn is_of_a_setting(&self) -> bool {
        matches!(
            self,
            // mutant: sockets: a missing interface is no mistake of the settings
            Error::NoEndpoint
                | Error::NoInterface { .. }
                | Error::NoMulticast { .. }
                | Error::NotOurs { .. }
                | Error::Address { .. }
        )
    }

    /// Whether it may come right by waiting: an interface or address of this host that is not there, as during boot.
    pub fn may_come_up(&self) -> bool {
        matches!(self, Error::NoInterface { .. } | Error::NotOurs { .. })
    }
}

/// A setting was only partly granted; reception works. Printed as one line with the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The kernel granted a smaller receive buffer.
    ReceiveBuffer {
        /// Of which endpoint.
        address: SocketAddrV4,
        /// Requested bytes.
        asked_bytes: usize,
        /// Bytes that the kernel granted.
        granted_bytes: usize,
    },
    /// Busy polling of the driver is not permitted.
    BusyPoll {
        /// Of which endpoint.
        address: SocketAddrV4,
        /// Requested microseconds.
        asked_us: u32,
    },
    /// The kernel gives no receive stamps: each packet has the time when it was polled.
    Timestamps {
        /// Of which endpoint.
        address: SocketAddrV4,
    },
    /// The kernel does not say what a full buffer dropped.
    Drops {
        /// Of which endpoint.
        address: SocketAddrV4,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::ReceiveBuffer {
                address,
                asked_bytes,
                granted_bytes,
            } => write!(
                f,
                "{address}: the receive buffer has {granted_bytes} bytes, {asked_bytes} were asked for; 'sysctl net.core.rmem_max={asked_bytes}', or give the program CAP_NET_ADMIN"
            ),
            Warning::BusyPoll { address, asked_us } => write!(
                f,
                "{address}: the driver is not polled busily; 'sysctl net.core.busy_read={asked_us}', or give the program CAP_NET_ADMIN"
            ),
            Warning::Timestamps { address } => write!(
                f,
                "{address}: the kernel gives no receive stamps, the time of the poll takes their place; use a kernel with SO_TIMESTAMPING"
            ),
            Warning::Drops { address } => write!(
                f,
                "{address}: the kernel does not count what a full receive buffer drops; use a kernel with SO_RXQ_OVFL"
            ),
        }
    }
}
