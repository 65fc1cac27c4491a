//! Sender, for simulators and benchmarks.

use super::socket::refused;
use super::{Error, interface};
use socket2::{Domain, Protocol, Type};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

/// Sends packets to groups and hosts, one system call each.
#[derive(Debug)]
pub struct Sender {
    socket: UdpSocket,
    address: SocketAddrV4,
}

/// Settings of a [`Sender`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderSettings {
    /// Name or address of the interface for groups; `None`: the kernel's routes decide.
    pub interface: Option<String>,
    /// Source address; `None`: chosen by the kernel.
    pub source: Option<Ipv4Addr>,
    /// Whether subscribers on this host receive packets to a group.
    pub loopback: bool,
    /// Maximum number of routers for packets to a group: 0 stays on this host, 1 on this network.
    pub ttl: u8,
    /// Send buffer, bytes; 0: the kernel's default.
    pub send_buffer_bytes: usize,
}

impl Default for SenderSettings {
    fn default() -> Self {
        Self {
            interface: None,
            source: None,
            loopback: true,
            ttl: 1,
            send_buffer_bytes: 0,
        }
    }
}

/// Result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Accepted by the kernel.
    Yes,
    /// A queue of the kernel is full: the packet was not sent; try again or continue.
    Full,
}

impl Sender {
    /// Opens a socket on a port chosen by the kernel.
    ///
    /// # Errors
    /// No such interface or source address, or a failed setting.
    pub fn open(settings: &SenderSettings) -> Result<Sender, Error> {
        let source = settings.source.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let address = SocketAddrV4::new(source, 0);
        let on = interface::address_of(settings.interface.as_deref())?;
        let refused = |what| move |error| refused(what, address, error);
        let socket = socket2::Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))
            .map_err(refused("opening a socket"))?;
        socket
            .bind(&SocketAddr::V4(address).into())
            .map_err(|error| match error.kind() {
                ErrorKind::AddrNotAvailable => Error::NotOurs {
                    address,
                    there: interface::all(),
                },
                _ => super::socket::refused("binding", address, error),
            })?;
        if !on.is_unspecified() {
            socket
                .set_multicast_if_v4(&on)
                .map_err(refused("choosing the interface"))?;
        }
        socket
            .set_multicast_loop_v4(settings.loopback)
            .and_then(|()| socket.set_multicast_ttl_v4(u32::from(settings.ttl)))
            .map_err(refused("setting how groups are sent"))?;
        if settings.send_buffer_bytes > 0 {
            socket
                .set_send_buffer_size(settings.send_buffer_bytes)
                .map_err(refused("sizing the send buffer"))?;
        }
        socket
            .set_nonblocking(true)
            .map_err(refused("never waiting"))?;
        let bound = socket.local_addr().map_err(refused("reading the port"))?;
        Ok(Sender {
            socket: socket.into(),
            address: bound.as_socket_ipv4().unwrap_or(address),
        })
    }

    /// Source address; 0.0.0.0 if the kernel chooses it.
    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// Sends one packet; never waits.
    ///
    /// # Errors
    /// The kernel refuses the packet for another reason than a full queue.
    #[inline]
    pub fn send(&self, to: SocketAddrV4, payload: &[u8]) -> Result<Sent, Error> {
        match self.socket.send_to(payload, to) {
            Ok(_) => Ok(Sent::Yes),
            Err(error) if is_full(&error) => Ok(Sent::Full),
            Err(error) => Err(self.refused(to, error)),
        }
    }

    #[cold]
    fn refused(&self, to: SocketAddrV4, error: std::io::Error) -> Error {
        match error.raw_os_error() {
            // EINVAL: the source is not an address of this host, or packets with this source cannot leave the host.
            Some(libc::EINVAL | libc::ENETUNREACH) => Error::NoWay {
                address: to,
                source_address: *self.address.ip(),
                error,
            },
            _ => refused("sending", to, error),
        }
    }
}

fn is_full(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}
