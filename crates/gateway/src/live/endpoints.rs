//! The sockets of a channel: one for each feed and line, as the venue's configuration says.

use crate::config::cme::{ChannelConfig, Protocol};
use crate::config::{Config, Sources};
use touchline_feed::cme::FeedType;
use touchline_net::udp::{Endpoint, Settings};

/// Where to listen: every feed and line that is read here. Those of the incremental feed are urgent.
pub fn endpoints(config: &Config, channel: &ChannelConfig) -> Vec<Endpoint> {
    let is_read = |connection: &&crate::config::cme::Connection| {
        connection.feed.is_some() && connection.protocol == Protocol::Udp
    };
    let connections = channel.connections.iter().filter(is_read);
    let endpoint = |connection: &crate::config::cme::Connection| {
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
pub fn socket_settings(config: &Config) -> Settings {
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
