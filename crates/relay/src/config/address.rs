//! Addresses of links.

use std::fmt;
use std::str::FromStr;

/// Address of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Carrier.
    pub carrier: Carrier,
    /// Host and port for TCP and TLS; the complete channel for Aeron.
    pub host: String,
}

/// Carrier of batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// TCP without encryption.
    Tcp,
    /// TCP with TLS.
    Tls,
    /// Aeron, in a build with the feature `aeron`.
    Aeron,
}

/// A text that is not an address of a link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid link address {0:?}; write tcp://HOST:PORT, tls://HOST:PORT or a channel of Aeron")]
pub struct BadAddress(String);

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Address, BadAddress> {
        if text.starts_with("aeron:") {
            return Ok(Address {
                carrier: Carrier::Aeron,
                host: text.to_owned(),
            });
        }
        let carriers = [("tcp://", Carrier::Tcp), ("tls://", Carrier::Tls)];
        let bad = || BadAddress(text.chars().take(200).collect());
        let (carrier, host) = carriers
            .into_iter()
            .find_map(|(scheme, carrier)| Some((carrier, text.strip_prefix(scheme)?)))
            .ok_or_else(bad)?;
        let (name, port) = host.rsplit_once(':').ok_or_else(bad)?;
        let is_fit =
            !name.is_empty() && !name.contains(['/', ' ', ':']) && port.parse::<u16>().is_ok();
        match is_fit {
            true => Ok(Address {
                carrier,
                host: host.to_owned(),
            }),
            false => Err(bad()),
        }
    }
}

impl Address {
    /// The port; 0 of a channel of Aeron.
    pub fn port(&self) -> u16 {
        let port = self.host.rsplit_once(':').map(|(_, port)| port.parse());
        port.and_then(Result::ok).unwrap_or(0)
    }

    /// The host without its port.
    pub fn name(&self) -> &str {
        self.host
            .rsplit_once(':')
            .map_or(&self.host, |(name, _)| name)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.carrier {
            Carrier::Tcp => "tcp",
            Carrier::Tls => "tls",
            Carrier::Aeron => return f.write_str(&self.host),
        };
        write!(f, "{scheme}://{}", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_carrier_a_host_and_a_port() {
        for text in [
            "tcp://gw1:7340",
            "tls://10.0.0.1:7341",
            "aeron:udp?endpoint=10.0.0.1:40456",
        ] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), text);
        }
        for text in [
            "",
            "gw1:7340",
            "tcp://gw1",
            "tcp://:1",
            "tcp://a:70000",
            "udp://a:1",
            "tcp://a/b:1",
        ] {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(error.contains("tcp://HOST:PORT"), "{error}");
        }
    }
}
