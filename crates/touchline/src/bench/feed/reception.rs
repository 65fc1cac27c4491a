//! How the gateway receives packets.

use touchline_gateway::config::Receive;

/// A way of receiving packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Reception {
    /// Sockets of the kernel.
    Sockets,
    /// Frames of the interface (AF_XDP), by its driver.
    Xdp,
    /// Frames of the interface (AF_XDP), in the kernel's generic mode.
    XdpGeneric,
}

impl Reception {
    /// As in a configuration.
    pub fn receive(self) -> Receive {
        match self {
            Reception::Sockets => Receive::Sockets,
            Reception::Xdp => Receive::Xdp,
            Reception::XdpGeneric => Receive::XdpGeneric,
        }
    }

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Reception::Sockets => "sockets",
            Reception::Xdp => "xdp",
            Reception::XdpGeneric => "xdp-generic",
        }
    }
}
