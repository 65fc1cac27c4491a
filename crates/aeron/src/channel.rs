//! Channels: Aeron URIs, unchanged, with checks for errors that Aeron reports late or not at all.

use crate::Error;
use std::ffi::{CStr, CString};
use std::fmt;
use std::net::IpAddr;

/// Longest URI that Aeron accepts, bytes, including its end.
const BYTES_MAX: usize = 4096;
const PREFIX: &str = "aeron:";

/// A channel, such as `aeron:udp?endpoint=239.10.0.41:40456|interface=10.0.0.0/24`.
///
/// Aeron parses the URI; this type checks its form. A multicast group without an interface, or with one that stands for
/// all (`0.0.0.0`), is rejected: the routing table would select the interface, and market data could leave the trading
/// network. A group whose last byte is even
/// is rejected as well: receivers send status messages to the next address, so Aeron accepts odd ones only.
#[derive(Clone, PartialEq, Eq)]
pub struct Channel {
    text: CString,
}

impl Channel {
    /// Parses a channel.
    ///
    /// # Errors
    /// The text does not begin with `aeron:udp` or `aeron:ipc`, is too long, or is a multicast group with an even last
    /// byte or without an interface of its own.
    pub fn new(text: &str) -> Result<Channel, Error> {
        let refuse = |why: &str| Error::Channel {
            channel: text.chars().take(200).collect(),
            why: why.to_owned(),
        };
        let bytes = CString::new(text).map_err(|_| refuse("the channel contains a zero byte"))?;
        if text.len() >= BYTES_MAX {
            return Err(refuse("the channel is longer than 4095 bytes"));
        }
        let channel = Channel { text: bytes };
        if !matches!(channel.media(), "udp" | "ipc") {
            return Err(refuse(
                "not a channel of Aeron; write aeron:ipc or aeron:udp?endpoint=ADDRESS:PORT",
            ));
        }
        let interface = channel.parameter("interface");
        if channel.is_multicast()
            && interface.is_none_or(|name| name.is_empty() || is_any_interface(name))
        {
            return Err(refuse(
                "multicast without an interface; write |interface=ADDRESS/BITS of the network that the group belongs to",
            ));
        }
        let group = channel.parameter("endpoint").and_then(address);
        if group.is_some_and(|group| group.is_multicast() && last_byte(group).is_multiple_of(2)) {
            return Err(refuse(
                "the last byte of the group is even; choose an odd one: Aeron's receivers report to the group above",
            ));
        }
        Ok(channel)
    }

    /// The URI.
    pub fn as_str(&self) -> &str {
        self.text.to_str().unwrap_or_default()
    }

    /// Value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let (_, parameters) = self.as_str().split_once('?')?;
        let mut pairs = parameters
            .split('|')
            .filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Whether the channel is a multicast group.
    pub fn is_multicast(&self) -> bool {
        let address = self.parameter("endpoint").and_then(address);
        address.is_some_and(|address| address.is_multicast())
    }

    /// Whether the channel is shared memory of this host.
    pub fn is_ipc(&self) -> bool {
        self.media() == "ipc"
    }

    pub(crate) fn as_c_str(&self) -> &CStr {
        &self.text
    }

    fn media(&self) -> &str {
        let rest = self.as_str().strip_prefix(PREFIX).unwrap_or_default();
        rest.split('?').next().unwrap_or_default()
    }
}

/// Address of `ADDRESS:PORT` or `[ADDRESS]:PORT`, where the port may be missing; `None` for a host name.
fn address(endpoint: &str) -> Option<IpAddr> {
    let host = match endpoint.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => endpoint.split(':').next(),
    };
    host?.parse().ok()
}

/// Whether an interface (`ADDRESS`, `ADDRESS:PORT`, `ADDRESS/BITS`) stands for every interface of the host.
fn is_any_interface(interface: &str) -> bool {
    let (interface, bits) = interface.split_once('/').unwrap_or((interface, ""));
    bits == "0" || address(interface).is_some_and(|address| address.is_unspecified())
}

fn last_byte(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(address) => address.octets()[15],
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Channel({})", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_parsed() {
        let group = "aeron:udp?endpoint=239.10.0.41:40456|interface=10.0.0.0/24";
        let channel = Channel::new(group).expect("a channel");
        assert!(channel.is_multicast() && !channel.is_ipc());
        assert_eq!(channel.parameter("interface"), Some("10.0.0.0/24"));
        assert!(Channel::new("aeron:ipc").expect("a channel").is_ipc());
        let ipv6 = Channel::new("aeron:udp?endpoint=[ff02::1]:40456|interface=[::1]");
        assert!(ipv6.expect("a channel").is_multicast());
        let named = Channel::new("aeron:udp?endpoint=host-b:40456").expect("a channel");
        assert!(!named.is_multicast());
        let any = "aeron:udp?endpoint=127.0.0.1:40456|interface=0.0.0.0";
        assert!(Channel::new(any).is_ok(), "the endpoint selects the route");
    }

    #[test]
    fn an_invalid_channel_is_rejected_with_the_fix() {
        let long = format!("aeron:udp?endpoint=127.0.0.1:1|alias={}", "x".repeat(4096));
        for (text, why) in [
            ("", "write aeron:ipc"),
            ("udp://127.0.0.1:1", "write aeron:ipc"),
            ("aeron:tcp?endpoint=127.0.0.1:1", "write aeron:ipc"),
            ("aeron:ipc\0", "zero byte"),
            (long.as_str(), "4095 bytes"),
            ("aeron:udp?endpoint=239.1.1.1:40456", "interface="),
            (
                "aeron:udp?endpoint=239.1.1.1:40456|interface=0.0.0.0",
                "interface=ADDRESS/BITS",
            ),
            (
                "aeron:udp?endpoint=239.1.1.1:40456|interface=0.0.0.0:0",
                "interface=ADDRESS/BITS",
            ),
            (
                "aeron:udp?endpoint=239.1.1.1:40456|interface=10.0.0.0/0",
                "interface=ADDRESS/BITS",
            ),
            (
                "aeron:udp?endpoint=[ff02::1]:40456|interface=[::]/64",
                "interface=ADDRESS/BITS",
            ),
            (
                "aeron:udp?endpoint=239.1.1.2:40456|interface=10.0.0.0/24",
                "odd",
            ),
        ] {
            let said = Channel::new(text).expect_err(text).to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
