//! Sockets of a channel: one for each feed and line of the venue's configuration.

use super::{ChannelConfig, CmeConfig, Connection, Protocol};
use crate::config::{Receive, Sources};
use crate::venues::SocketLine;
use std::net::SocketAddrV4;
use touchline_feed::cme::{FeedType, Line};
use touchline_net::udp::{Endpoint, Settings};
use touchline_net::xdp::Mode;
use touchline_net::{Error, LiveSource, UdpSource, XdpSource};

/// Endpoints of every feed and line that is read. Those of the incremental feed are urgent.
pub fn endpoints(config: &CmeConfig, channel: &ChannelConfig) -> Vec<Endpoint> {
    let endpoint = |(connection, address): (&Connection, SocketAddrV4)| Endpoint {
        address,
        sources: match config.network.sources {
            Sources::Published | Sources::Filtered => connection.hosts.clone(),
            Sources::Any => Vec::new(),
        },
        interface: match connection.line {
            Line::A => None,
            Line::B => config.venue.interface_b.clone(),
        },
        urgent: connection.feed == Some(FeedType::Incremental),
    };
    groups(channel).map(endpoint).collect()
}

/// The same sockets, as a recorder of packets names them.
pub fn lines(channel: &ChannelConfig) -> Vec<SocketLine> {
    let line = |(connection, address): (&Connection, SocketAddrV4)| SocketLine {
        id: connection.id.clone(),
        number: connection.line as u8,
        address,
    };
    groups(channel).map(line).collect()
}

/// Connections over multicast of the feeds that are read, with their addresses.
fn groups(channel: &ChannelConfig) -> impl Iterator<Item = (&Connection, SocketAddrV4)> {
    let is_read = |connection: &&Connection| {
        connection.feed.is_some() && connection.protocol == Protocol::Udp
    };
    let connections = channel.connections.iter().filter(is_read);
    connections.filter_map(|connection| {
        let address = SocketAddrV4::new(connection.group?, connection.port);
        Some((connection, address))
    })
}

/// The settings of these sockets.
pub fn socket_settings(config: &CmeConfig) -> Settings {
    let network = &config.network;
    Settings {
        interface: config.venue.interface.clone(),
        receive_buffer_bytes: network.receive_buffer_bytes,
        busy_poll_us: network.busy_poll_us,
        batch: network.batch,
        timestamps: network.stamps,
        packet_bytes_max: config.limits.packet_bytes_max,
        any_source_joins: network.sources == Sources::Filtered,
    }
}

/// Opens the source that receives from these endpoints. The texts are warnings about settings that the host granted only partly.
///
/// # Errors
/// The sockets cannot be opened, or the host has no AF_XDP and the configuration does not allow sockets in its place.
pub fn open(
    config: &CmeConfig,
    endpoints: &[Endpoint],
) -> Result<(LiveSource, Vec<String>), Error> {
    let settings = socket_settings(config);
    let frames = |mode| {
        let frames = XdpSource::open(endpoints, &settings, mode)?;
        let warnings = frames.warnings().to_vec();
        Ok((LiveSource::Frames(frames), warnings))
    };
    let sockets = |kind: fn(UdpSource) -> LiveSource| {
        let sockets = UdpSource::open(endpoints, &settings)?;
        let warnings: Vec<_> = sockets.warnings().iter().map(ToString::to_string).collect();
        Ok((kind(sockets), warnings))
    };
    match config.network.receive {
        Receive::Sockets => sockets(LiveSource::Sockets),
        Receive::Xdp => frames(Mode::Driver),
        Receive::XdpGeneric => frames(Mode::Generic),
        Receive::XdpOrSockets => match frames(Mode::Driver) {
            Err(Error::Xdp(error)) => {
                let (source, mut warnings) = sockets(LiveSource::SocketsInstead)?;
                warnings.push(format!("packets come from sockets: {error}"));
                Ok((source, warnings))
            }
            opened => opened,
        },
    }
}

/// How packets come, for the log.
pub fn kind(source: &LiveSource) -> &'static str {
    match source {
        LiveSource::Sockets(_) | LiveSource::SocketsInstead(_) => "sockets",
        LiveSource::Frames(frames) => match frames.mode() {
            Some(Mode::Driver) | None => "xdp",
            Some(Mode::Generic) => "xdp-generic",
        },
    }
}
