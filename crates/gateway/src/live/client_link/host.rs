//! Where a venue may be reached, and why it cannot be.

use std::net::{SocketAddr, SocketAddrV4, ToSocketAddrs};
use touchline_net::stream::Error as Broken;
use touchline_net::tls::Client;

/// Where a venue may be reached.
#[derive(Debug)]
pub struct Host {
    /// Name or address, with its port.
    pub name: String,
    /// Who is talked to over TLS there.
    pub tls: Option<Client>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Nobody knows the name.
    #[error("{host} is not found: {reason}; check the name, and whether this host can ask its DNS")]
    Unknown {
        /// Which one.
        host: String,
        /// What the system says.
        reason: std::io::Error,
    },
    /// Only IPv4 is spoken so far.
    #[error("{host} has no IPv4 address; name a host that has one")]
    NoIpv4 {
        /// Which one.
        host: String,
    },
    /// The system gives no thread to look a name up, or the thread died.
    #[error("the system gives no thread to look a name up; see what uses so many")]
    NoThread,
    /// The connection could not be made.
    #[error("{host}: {broken}")]
    Broken {
        /// To whom.
        host: String,
        /// Why.
        broken: Broken,
    },
}

impl Host {
    /// Why the connection to this one could not be made.
    pub fn broken(&self, broken: Broken) -> Failed {
        let host = self.name.clone();
        Failed::Broken { host, broken }
    }
}

/// An address of a name, in each round another one; only IPv4 so far.
pub fn resolve(host: &str, round: usize) -> Result<SocketAddrV4, Failed> {
    let found = host.to_socket_addrs().map_err(|reason| Failed::Unknown {
        host: host.to_owned(),
        reason,
    });
    choose(found?, round).ok_or_else(|| Failed::NoIpv4 {
        host: host.to_owned(),
    })
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
    fn each_address_has_its_turn() {
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
