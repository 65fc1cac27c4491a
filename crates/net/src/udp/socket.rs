//! Socket of one endpoint.

use super::kernel::{drops, set_option};
use super::{Endpoint, Error, Settings, Totals, Warning, interface};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Type};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};

/// Socket of one endpoint, with its totals.
#[derive(Debug)]
pub(super) struct Socket {
    socket: socket2::Socket,
    /// Bound address: every packet was sent to it.
    pub address: SocketAddrV4,
    /// Accepted source addresses; empty: all.
    sources: Vec<Ipv4Addr>,
    /// Interface of its group, by name or address; and its index at the last join, `None` if routes decide.
    interface: Option<String>,
    index: Option<u32>,
    pub totals: Totals,
    /// Last seen drop count of the kernel.
    drops_seen: u32,
    /// Whether the interface of its group was removed and the group is not rejoined yet.
    is_lost: bool,
}

impl Socket {
    /// Opens, binds and joins. Partly granted settings are added to `warnings`.
    pub fn open(
        endpoint: &Endpoint,
        settings: &Settings,
        warnings: &mut Vec<Warning>,
    ) -> Result<Socket, Error> {
        let address = endpoint.address;
        let group = address.ip().is_multicast();
        if address.ip().is_unspecified() || address.ip().is_broadcast() {
            return Err(Error::Address { address });
        }
        let refused = |what| move |error| refused(what, address, error);
        let socket = socket2::Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))
            .map_err(refused("opening a socket"))?;
        if group {
            // Several processes may follow one group. For a host's own address, the last process to
            // bind would silently receive everything.
            socket
                .set_reuse_address(true)
                .map_err(refused("sharing the port"))?;
            // Otherwise the socket receives every group that any process on this host has joined.
            socket
                .set_multicast_all_v4(false)
                .map_err(refused("limiting the socket to its own group"))?;
        }
        // All options are set before the first packet can arrive.
        reserve(&socket, address, settings, warnings)?;
        request_timestamps(&socket, address, settings, warnings);
        let address = bind(&socket, address)?;
        let interface = endpoint.interface.as_ref().or(settings.interface.as_ref());
        let interface = interface.cloned();
        // Before the join: a change in between is found at the next look.
        let index = interface::index_of(interface.as_deref());
        let joined = interface.as_deref();
        if group {
            join(&socket, address, &endpoint.sources, joined, settings)?;
        }
        Ok(Socket {
            socket,
            address,
            sources: endpoint.sources.clone(),
            interface,
            index,
            totals: Totals::default(),
            drops_seen: 0,
            is_lost: false,
        })
    }

    /// Whether its group is not joined because the interface was removed.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Leaves its group if it was joined on this removed interface.
    pub fn lose(&mut self, index: u32) {
        let on = InterfaceIndexOrAddress::Index(index);
        let group = self.address.ip();
        // For a group joined for some sources this leaves all of them.
        self.is_lost |=
            group.is_multicast() && self.socket.leave_multicast_v4_n(group, &on).is_ok();
    }

    /// Leaves its group if its name or address belongs to another interface now: a card with the same name, or one to which
    /// the address moved.
    pub fn lose_if_moved(&mut self) {
        let now = interface::index_of(self.interface.as_deref());
        if let Some(index) = self.index
            && now.is_some_and(|now| now != index)
        {
            self.lose(index);
        }
    }

    /// Rejoins its group.
    pub fn join_again(&mut self, settings: &Settings) -> Result<(), Error> {
        let interface = self.interface.as_deref();
        let index = interface::index_of(interface);
        join(
            &self.socket,
            self.address,
            &self.sources,
            interface,
            settings,
        )?;
        self.index = index;
        self.is_lost = false;
        Ok(())
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether packets of this source are accepted.
    #[inline]
    pub fn accepts(&self, source: Ipv4Addr) -> bool {
        self.sources.is_empty() || self.sources.contains(&source)
    }

    /// Adds the kernel's drop count, which wraps.
    #[inline]
    pub fn note_drops(&mut self, drops: u32) {
        let more = drops.wrapping_sub(self.drops_seen);
        // A packet may carry a count older than the last queried one.
        if more < u32::MAX / 2 {
            self.totals.dropped_kernel += u64::from(more);
            self.drops_seen = drops;
        }
    }

    /// Queries the kernel's drop count: one system call.
    pub fn ask_for_drops(&mut self) {
        if let Some(drops) = drops(self.fd()) {
            self.note_drops(drops);
        }
    }
}

/// Sets receive buffer and busy polling.
fn reserve(
    socket: &socket2::Socket,
    address: SocketAddrV4,
    settings: &Settings,
    warnings: &mut Vec<Warning>,
) -> Result<(), Error> {
    let refused = |what| move |error| refused(what, address, error);
    let asked_bytes = settings.receive_buffer_bytes;
    let asked = i32::try_from(asked_bytes).unwrap_or(i32::MAX);
    // A process with CAP_NET_ADMIN is not limited by rmem_max.
    if set_option(
        socket.as_fd(),
        libc::SOL_SOCKET,
        libc::SO_RCVBUFFORCE,
        asked,
    )
    .is_err()
    {
        socket
            .set_recv_buffer_size(asked as usize)
            .map_err(refused("sizing the receive buffer"))?;
    }
    // The kernel reserves twice the requested size, for its own records.
    let granted_bytes = socket
        .recv_buffer_size()
        .map_err(refused("reading the size of the receive buffer"))?
        / 2;
    if granted_bytes < asked_bytes {
        warnings.push(Warning::ReceiveBuffer {
            address,
            asked_bytes,
            granted_bytes,
        });
    }
    let asked_us = settings.busy_poll_us;
    if asked_us > 0 && socket.set_busy_poll(asked_us).is_err() {
        warnings.push(Warning::BusyPoll { address, asked_us });
    }
    Ok(())
}

/// Requests receive timestamps and drop counts as control messages.
fn request_timestamps(
    socket: &socket2::Socket,
    address: SocketAddrV4,
    settings: &Settings,
    warnings: &mut Vec<Warning>,
) {
    let timestamps = libc::SOF_TIMESTAMPING_RX_HARDWARE
        | libc::SOF_TIMESTAMPING_RAW_HARDWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE;
    let on = |name, value| set_option(socket.as_fd(), libc::SOL_SOCKET, name, value).is_ok();
    if settings.timestamps && !on(libc::SO_TIMESTAMPING, timestamps as i32) {
        warnings.push(Warning::Timestamps { address });
    }
    if !on(libc::SO_RXQ_OVFL, 1) {
        warnings.push(Warning::Drops { address });
    }
}

/// Binds to the exact address, so that no packet to another one is received. Port 0 is any free
/// port.
fn bind(socket: &socket2::Socket, address: SocketAddrV4) -> Result<SocketAddrV4, Error> {
    socket
        .bind(&SocketAddr::V4(address).into())
        .map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => Error::Taken { address },
            ErrorKind::AddrNotAvailable => Error::NotOurs {
                address,
                there: interface::all(),
            },
            _ => refused("binding", address, error),
        })?;
    let bound = socket
        .local_addr()
        .map_err(|error| refused("reading the port", address, error))?;
    Ok(bound.as_socket_ipv4().unwrap_or(address))
}

fn join(
    socket: &socket2::Socket,
    address: SocketAddrV4,
    sources: &[Ipv4Addr],
    interface: Option<&str>,
    settings: &Settings,
) -> Result<(), Error> {
    let interface = interface::address_of(interface)?;
    let why = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENOBUFS) => Error::TooManyJoins {
            address,
            sources: sources.len(),
        },
        Some(libc::ENODEV) if interface.is_unspecified() => Error::NoRoute { address },
        Some(libc::EPERM | libc::EACCES) => Error::NotPermitted {
            what: "joining the group",
            address,
        },
        _ => Error::Join {
            address,
            interface,
            error,
        },
    };
    if sources.is_empty() || settings.any_source_joins {
        return socket
            .join_multicast_v4(address.ip(), &interface)
            .map_err(why);
    }
    sources
        .iter()
        .try_for_each(|source| socket.join_ssm_v4(source, address.ip(), &interface))
        .map_err(why)
}

/// Error of a failed call.
pub(super) fn refused(what: &'static str, address: SocketAddrV4, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::PermissionDenied => Error::NotPermitted { what, address },
        _ => Error::Refused {
            what,
            address,
            error,
        },
    }
}
