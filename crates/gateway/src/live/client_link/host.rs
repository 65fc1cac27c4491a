//! Hosts of a venue, and connection errors.

use std::net::{SocketAddr, SocketAddrV4, ToSocketAddrs};
use touchline_net::stream::Error as Broken;
use touchline_net::tls::Client;

/// Host of a venue.
#[derive(Debug)]
pub struct Host {
    /// Name or address, with its port.
    pub name: String,
    /// TLS client for it.
    pub tls: Option<Client>,
}

/// Reason for a missing connection.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The name cannot be resolved.
    #[error("name not found: {0}; check the name, and the DNS of this host")]
    Unknown(std::io::Error),
    /// Only IPv4 is supported.
    #[error("no IPv4 address; give a host that has one")]
    NoIpv4,
    /// No thread for the lookup could be started, or it panicked.
    #[error("no thread to resolve the name: the limit of processes is reached (ulimit -u)")]
    NoThread,
    /// The connection failed.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// An address of a name, another one in each round; IPv4 only.
pub fn resolve(host: &str, round: usize) -> Result<SocketAddrV4, Failed> {
    let found = host.to_socket_addrs().map_err(Failed::Unknown)?;
    choose(found, round).ok_or(Failed::NoIpv4)
}

fn choose(found: impl Iterator<Item = SocketAddr>, round: usize) -> Option<SocketAddrV4> {
    let v4 = |address| match address {
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    };
    let addresses: Vec<SocketAddrV4> = found.filter_map(v4).collect();
    addresses.get(round % addresses.len().max(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_tried_in_turn() {
        let found = || {
            let texts = ["[::1]:5", "10.0.0.1:5", "10.0.0.2:5", "[::2]:5"];
            texts
                .into_iter()
                .map(|text| text.parse().expect("an address"))
        };
        let chosen: Vec<String> = (0..4)
            .map(|round| choose(found(), round).expect("two are of IPv4").to_string())
            .collect();
        let wanted = ["10.0.0.1:5", "10.0.0.2:5", "10.0.0.1:5", "10.0.0.2:5"];
        assert_eq!(chosen, wanted);
        assert_eq!(choose(found().take(1), 3), None);
    }
}
