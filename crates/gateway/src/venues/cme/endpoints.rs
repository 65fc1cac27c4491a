//! Sockets of a channel: one for each feed and line of the venue's configuration.

use super::{ChannelConfig, CmeConfig, Connection, Protocol};
use crate::config::Sources;
use touchline_feed::cme::FeedType;
use touchline_net::udp::{Endpoint, Settings};

/// Endpoints of every feed and line that is read. Those of the incremental feed are urgent.
pub fn endpoints(config: &CmeConfig, channel: &ChannelConfig) -> Vec<Endpoint> {
    let is_read = |connection: &&Connection| {
        connection.feed.is_some() && connection.protocol == Protocol::Udp
    };
    let connections = channel.connections.iter().filter(is_read);
    let endpoint = |connection: &Connection| {
        let address = std::net::SocketAddrV4::new(connection.group?, connection.port);
        Some(Endpoint {
            address,
            sources: match config.network.sources {
                Sources::Published | Sources::Filtered => connection.hosts.clone(),
                Sources::Any => Vec::new(),
            },
            urgent: connection.feed == Some(FeedType::Incremental),
        })
    };
    connections.filter_map(endpoint).collect()
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
