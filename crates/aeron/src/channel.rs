//! Channels: Aeron's own URIs, unchanged, checked for what Aeron would report late or not at all.

use crate::Error;
use std::ffi::{CStr, CString};
use std::fmt;
use std::net::IpAddr;

/// Bytes of a URI that Aeron takes, its end included.
const BYTES_MAX: usize = 4096;
const PREFIX: &str = "aeron:";

/// A channel, such as `aeron:udp?endpoint=239.10.0.41:40456|interface=10.0.0.0/24`.
///
/// Aeron itself reads the URI; this knows its form. Multicast without an interface is refused: Aeron would send to whatever interface
/// the routing table names, and market data would leave the trading network. So is a group whose last byte is even: receivers
/// report to the group above, and Aeron takes odd ones only.
#[derive(Clone, PartialEq, Eq)]
pub struct Channel {
    text: CString,
}

impl Channel {
    /// Reads a channel.
    ///
    /// # Errors
    /// A text that does not begin with `aeron:udp` or `aeron:ipc`, that is too long, or a multicast group without
    /// `interface=`.
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
        if channel.is_multicast() && channel.parameter("interface").is_none() {
            return Err(refuse(
                "multicast without an interface; add |interface=ADDRESS/BITS of the network that the group belongs to",
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

    /// The channel as text.
    pub fn as_str(&self) -> &str {
        self.text.to_str().unwrap_or_default()
    }

    /// A parameter of the channel.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let (_, parameters) = self.as_str().split_once('?')?;
        let mut pairs = parameters
            .split('|')
            .filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Whether datagrams go to a multicast group.
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

/// The address of `ADDRESS:PORT` or `[ADDRESS]:PORT`; `None` for a name.
fn address(endpoint: &str) -> Option<IpAddr> {
    let host = endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host);
    host.trim_matches(['[', ']']).parse().ok()
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
    fn channels_of_aeron_are_read() {
        let group = "aeron:udp?endpoint=239.10.0.41:40456|interface=10.0.0.0/24";
        let channel = Channel::new(group).expect("a channel");
        assert!(channel.is_multicast() && !channel.is_ipc());
        assert_eq!(channel.parameter("interface"), Some("10.0.0.0/24"));
        assert!(Channel::new("aeron:ipc").expect("a channel").is_ipc());
        let ipv6 = Channel::new("aeron:udp?endpoint=[ff02::1]:40456|interface=[::1]");
        assert!(ipv6.expect("a channel").is_multicast());
        let named = Channel::new("aeron:udp?endpoint=host-b:40456").expect("a channel");
        assert!(!named.is_multicast());
    }

    #[test]
    fn what_is_no_channel_is_refused_with_what_to_write() {
        let long = format!("aeron:udp?endpoint=127.0.0.1:1|alias={}", "x".repeat(4096));
        for (text, why) in [
            ("", "write aeron:ipc"),
            ("udp://127.0.0.1:1", "write aeron:ipc"),
            ("aeron:tcp?endpoint=127.0.0.1:1", "write aeron:ipc"),
            ("aeron:ipc\0", "zero byte"),
            (long.as_str(), "4095 bytes"),
            ("aeron:udp?endpoint=239.1.1.1:40456", "interface="),
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
