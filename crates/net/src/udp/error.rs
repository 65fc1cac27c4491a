//! Errors of sockets, and settings that were only partly granted, with the fix.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Error of opening sockets or receiving. Printed as one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No endpoints.
    #[error("there is no address to receive from; give at least one")]
    NoEndpoint,
    /// Neither a name nor an address of an interface.
    #[error("there is no network interface {wanted:?} with an IPv4 address; there are: {there}")]
    NoInterface {
        /// The configured text.
        wanted: String,
        /// Names and addresses of the existing interfaces.
        there: String,
    },
    /// The interface exists and is down.
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
    /// A unicast address that does not belong to this host.
    #[error("{address} is not an address of this host; receive from a group, or one of: {there}")]
    NotOurs {
        /// The configured address.
        address: SocketAddrV4,
        /// Names and addresses of the existing interfaces.
        there: String,
    },
    /// An address that is neither a group nor a host's.
    #[error(
        "{address} cannot be received from; give a group (224.0.0.0/4) or one address of this host"
    )]
    Address {
        /// The configured address.
        address: SocketAddrV4,
    },
    /// Another process has the port.
    #[error(
        "{address} is in use by another socket; 'ss -lunp sport = :{}' names its process", address.port()
    )]
    Taken {
        /// The address that could not be bound.
        address: SocketAddrV4,
    },
    /// Missing permission.
    #[error(
        "{what} for {address} is not permitted; run as a user who may, or give the program CAP_NET_RAW and CAP_NET_ADMIN"
    )]
    NotPermitted {
        /// The action.
        what: &'static str,
        /// Its endpoint.
        address: SocketAddrV4,
    },
    /// No route selects an interface for the group.
    #[error("no route leads to group {address}; name the interface on which it arrives")]
    NoRoute {
        /// The group.
        address: SocketAddrV4,
    },
    /// Limit of groups per socket, or of sources per group.
    #[error(
        "group {address} cannot be joined, there are too many joins; raise 'sysctl net.ipv4.igmp_max_memberships' (groups) or 'net.ipv4.igmp_max_msf' (sources of a group, here {sources})"
    )]
    TooManyJoins {
        /// The group.
        address: SocketAddrV4,
        /// Number of sources.
        sources: usize,
    },
    /// The join failed for another reason.
    #[error(
        "group {address} cannot be joined on {interface} ({error}); is it a group, and is multicast routed there?"
    )]
    Join {
        /// The group.
        address: SocketAddrV4,
        /// Address of the interface; 0.0.0.0 if the kernel selects it.
        interface: Ipv4Addr,
        /// The kernel's reason.
        error: io::Error,
    },
    /// No packet leaves for the address from this source.
    #[error(
        "no packet can be sent to {address} from {source_address} ({error}); send on the interface that leads to it, or to a group"
    )]
    NoWay {
        /// The destination.
        address: SocketAddrV4,
        /// The sender's address; 0.0.0.0 if the kernel selects it.
        source_address: Ipv4Addr,
        /// The kernel's reason.
        error: io::Error,
    },
    /// Another failed system call.
    #[error("{what} for {address} failed: {error}; see 'ulimit -n' and the kernel's log (dmesg)")]
    Refused {
        /// The action.
        what: &'static str,
        /// Its endpoint.
        address: SocketAddrV4,
        /// The kernel's reason.
        error: io::Error,
    },
}

impl Error {
    /// Whether a setting is wrong: it names something that does not exist or cannot be received
    /// from.
    pub fn is_of_a_setting(&self) -> bool {
        matches!(
            self,
            Error::NoEndpoint
                | Error::NoInterface { .. }
                | Error::NoMulticast { .. }
                | Error::NotOurs { .. }
                | Error::Address { .. }
        )
    }

    /// Whether packets may leave again without an operator: the interface is down, or was removed with its address or route.
    ///
    /// `has_sent`: packets have left for this address before. If none has, [`Error::NoWay`] is a wrong setting.
    pub fn is_of_a_lost_interface(&self, has_sent: bool) -> bool {
        match self {
            Error::NoWay { .. } => has_sent,
            Error::Refused { error, .. } => matches!(
                error.raw_os_error(),
                Some(
                    libc::ENETDOWN
                        | libc::EHOSTUNREACH
                        | libc::EHOSTDOWN
                        | libc::ENODEV
                        | libc::ENXIO
                        | libc::EADDRNOTAVAIL
                )
            ),
            _ => false,
        }
    }

    /// Whether waiting may help: an interface or address of this host is missing, as during boot.
    pub fn may_come_up(&self) -> bool {
        matches!(self, Error::NoInterface { .. } | Error::NotOurs { .. })
    }
}

/// A setting was only partly granted; reception works. Printed as one line with the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The kernel granted a smaller receive buffer.
    ReceiveBuffer {
        /// Endpoint.
        address: SocketAddrV4,
        /// Requested bytes.
        asked_bytes: usize,
        /// Bytes that the kernel granted.
        granted_bytes: usize,
    },
    /// Busy polling of the driver is not permitted.
    BusyPoll {
        /// Endpoint.
        address: SocketAddrV4,
        /// Requested microseconds.
        asked_us: u32,
    },
    /// The kernel provides no receive timestamps: packets have the time of the poll.
    Timestamps {
        /// Endpoint.
        address: SocketAddrV4,
    },
    /// The kernel does not report drops of a full buffer.
    Drops {
        /// Endpoint.
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
                "{address}: the receive buffer has {granted_bytes} bytes, {asked_bytes} were requested; 'sysctl net.core.rmem_max={asked_bytes}', or give the program CAP_NET_ADMIN"
            ),
            Warning::BusyPoll { address, asked_us } => write!(
                f,
                "{address}: busy polling of the driver is not permitted; 'sysctl net.core.busy_read={asked_us}', or give the program CAP_NET_ADMIN"
            ),
            Warning::Timestamps { address } => write!(
                f,
                "{address}: the kernel provides no receive timestamps, the time of the poll is used; use a kernel with SO_TIMESTAMPING"
            ),
            Warning::Drops { address } => write!(
                f,
                "{address}: the kernel does not count drops of a full receive buffer; use a kernel with SO_RXQ_OVFL"
            ),
        }
    }
}
