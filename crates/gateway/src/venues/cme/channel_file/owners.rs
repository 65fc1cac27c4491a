//! Channels of a destination, for an error about a capture of another channel.

use std::net::SocketAddrV4;
use std::path::Path;

use roxmltree::Node;
use touchline_credentials::read_text;
use touchline_session::xml;

use super::{BYTES_MAX, below, elements, number, text};

/// Numbers of all channels of a `config.xml` that send to this group and port.
///
/// Used for an error text, so unreadable parts are skipped.
pub fn channels_with(path: impl AsRef<Path>, destination: SocketAddrV4) -> Vec<u32> {
    let text = read_text(path.as_ref(), BYTES_MAX).unwrap_or_default();
    let Ok(document) = xml::parse(&text) else {
        return Vec::new();
    };
    elements(document.root_element(), "channel")
        .filter(|channel| {
            below(*channel, "connections", "connection").any(|each| sends_to(each, destination))
        })
        .filter_map(number)
        .collect()
}

fn sends_to(connection: Node<'_, '_>, destination: SocketAddrV4) -> bool {
    let says = |name, value: String| elements(connection, name).any(|each| text(each) == value);
    says("ip", destination.ip().to_string()) && says("port", destination.port().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_testing::Folder;

    #[test]
    fn a_group_and_port_name_their_channels() {
        let connection = |ip, port| {
            format!("<connection> <ip> {ip}</ip><port>{port}</port><feed>A</feed></connection>")
        };
        let channel = |id, connections: String| {
            format!("<channel id=\"{id}\"><connections>{connections}</connections></channel>")
        };
        let xml = [
            channel(
                310,
                connection("224.0.31.1", 1) + &connection("224.0.31.2", 2),
            ),
            channel(312, connection("224.0.31.3", 3)),
            channel(314, connection("224.0.31.2", 2)),
        ];
        let xml = format!("<configuration>{}</configuration>", xml.concat());
        let folder = Folder::new("owners");
        let path = folder.join("config.xml");
        std::fs::write(&path, xml).expect("a temporary file");
        let channels =
            |destination: &str| channels_with(&path, destination.parse().expect("an address"));
        assert_eq!(channels("224.0.31.2:2"), [310, 314]);
        assert_eq!(channels("224.0.31.3:3"), [312]);
        assert!(channels("224.0.31.2:1").is_empty());
        std::fs::remove_file(&path).expect("our own file");
        assert!(channels("224.0.31.2:2").is_empty());
    }
}
