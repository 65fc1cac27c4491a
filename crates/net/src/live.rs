//! Packets of the network, in either way of receiving.

use crate::udp::Totals;
use crate::{Error, PacketSource, Received, UdpSource, XdpSource};
use std::net::SocketAddrV4;

/// Sockets, or frames.
#[allow(
    clippy::large_enum_variant,
    reason = "a process has one, and no pointer lies on its path"
)]
pub enum LiveSource {
    /// Sockets of the kernel.
    Sockets(UdpSource),
    /// Sockets of the kernel in place of frames, which the host refused.
    SocketsInstead(UdpSource),
    /// Frames of an interface.
    Frames(XdpSource),
}

impl LiveSource {
    /// Each bound address; urgent ones first.
    pub fn addresses(&self) -> Vec<SocketAddrV4> {
        match self {
            LiveSource::Sockets(sockets) | LiveSource::SocketsInstead(sockets) => {
                sockets.endpoints().map(|(address, _)| address).collect()
            }
            LiveSource::Frames(frames) => frames.endpoints().collect(),
        }
    }

    /// Packets that were lost so far at each bound address, as the received packets tell it: dropped by the kernel, or longer than the
    /// configured most. The rings of frames have one number for all addresses, which [`PacketSource::tally`] asks for.
    pub fn lost(&self) -> impl Iterator<Item = (SocketAddrV4, u64)> + '_ {
        let (LiveSource::Sockets(sockets) | LiveSource::SocketsInstead(sockets)) = self else {
            return None.into_iter().flatten();
        };
        let lost = |totals: Totals| totals.dropped_kernel + totals.truncated;
        let endpoints = sockets.endpoints();
        let each = endpoints.map(move |(address, totals)| (address, lost(totals)));
        Some(each).into_iter().flatten()
    }
}

impl PacketSource for LiveSource {
    #[inline]
    fn receive(&mut self) -> Result<Received<'_>, Error> {
        match self {
            LiveSource::Sockets(sockets) | LiveSource::SocketsInstead(sockets) => sockets.receive(),
            LiveSource::Frames(frames) => frames.receive(),
        }
    }

    fn look_after(&mut self) {
        match self {
            LiveSource::Sockets(sockets) | LiveSource::SocketsInstead(sockets) => {
                sockets.look_after()
            }
            LiveSource::Frames(frames) => frames.look_after(),
        }
    }

    fn tally(&mut self) -> Totals {
        match self {
            LiveSource::Sockets(sockets) => sockets.tally(),
            LiveSource::SocketsInstead(sockets) => Totals {
                is_detached: true,
                ..sockets.tally()
            },
            LiveSource::Frames(frames) => frames.tally(),
        }
    }
}
