//! CME's `config.xml`: the channels, and for each feed and line its group and port.
//!
//! The file is read as CME publishes it. Unknown elements and all other channels are skipped.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;

use crate::Routes;
use roxmltree::{Document, Node};
use touchline_credentials::read_text;
use touchline_feed::cme::{FeedType, Line};
use touchline_session::xml;

use crate::config::ConfigError;

mod owners;

pub use owners::channels_with;

/// One channel as CME publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelConfig {
    /// CME's channel number.
    pub id: u32,
    /// CME's name of it.
    pub label: String,
    /// The products whose data the channel carries.
    pub products: Vec<Product>,
    /// Connections in file order, including feeds that are not read here.
    pub connections: Vec<Connection>,
    routes: Routes<(FeedType, Line)>,
}

/// A product of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The product's code, such as `ES`.
    pub code: String,
    /// The instrument groups of the product on this channel.
    pub groups: Vec<String>,
}

/// One feed on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// CME's name of the connection, such as `310IA`.
    pub id: String,
    /// Type of feed as published: `I`, `S`, `SMBO`, `N`, `H`, or a later one.
    pub feed_type: String,
    /// The feed, if it is read here.
    pub feed: Option<FeedType>,
    /// The line.
    pub line: Line,
    /// Transport protocol.
    pub protocol: Protocol,
    /// The multicast group; TCP has none.
    pub group: Option<Ipv4Addr>,
    /// The port of the group, or of the hosts under TCP.
    pub port: u16,
    /// Sending hosts, or hosts that accept connections under TCP.
    pub hosts: Vec<Ipv4Addr>,
}

/// Longest `config.xml` that is read; CME's has 300 KB.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Transport protocol of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// `UDP/IP`: multicast.
    Udp,
    /// `TCP/IP`: connections to a host.
    Tcp,
    /// Another one, as published.
    Other(String),
}

impl ChannelConfig {
    /// Reads one channel of a `config.xml`.
    ///
    /// # Errors
    /// The file cannot be read, is not XML or not a channel configuration, lacks the channel or has
    /// it twice, or a connection of the channel is invalid.
    pub fn read(path: impl AsRef<Path>, channel: u32) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        Self::parse(path, &read_text(path, BYTES_MAX)?, channel)
    }

    /// Feed and line of each group and port.
    pub fn routes(&self) -> &Routes<(FeedType, Line)> {
        &self.routes
    }

    fn parse(file: &Path, text: &str, channel: u32) -> Result<Self, ConfigError> {
        let document = xml::parse(text).map_err(|(line, what)| ConfigError {
            file: file.to_owned(),
            line: Some(line),
            what: format!("not well-formed XML: {what}"),
            fix: "download CME's config.xml again".to_owned(),
        })?;
        Source {
            file,
            document: &document,
        }
        .channel(channel)
    }
}

/// A file being read, with its position for errors.
#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a Path,
    document: &'a Document<'a>,
}

impl<'a> Source<'a> {
    fn channel(self, id: u32) -> Result<ChannelConfig, ConfigError> {
        let node = self.find_channel(id)?;
        let products = below(node, "products", "product").map(|product| Product {
            code: attribute(product, "code"),
            groups: elements(product, "group")
                .map(|group| attribute(group, "code"))
                .collect(),
        });
        let connections = below(node, "connections", "connection")
            .map(|connection| Ok((connection, self.connection(connection)?)))
            .collect::<Result<Vec<_>, ConfigError>>()?;
        let routes = self.routes(node, &connections)?;
        Ok(ChannelConfig {
            id,
            label: attribute(node, "label"),
            products: products.collect(),
            connections: connections
                .into_iter()
                .map(|(_, connection)| connection)
                .collect(),
            routes,
        })
    }

    fn find_channel(self, id: u32) -> Result<Node<'a, 'a>, ConfigError> {
        let root = self.document.root_element();
        if !root.has_tag_name("configuration") {
            let what = format!(
                "its root is <{}>, not <configuration>",
                root.tag_name().name()
            );
            return Err(self.refuse(
                root,
                what,
                "give CME's config.xml, not another file of CME's",
            ));
        }
        let is_wanted = |node: &Node<'_, '_>| number(*node) == Some(id);
        let mut wanted = elements(root, "channel").filter(is_wanted);
        let Some(found) = wanted.next() else {
            let fix = format!(
                "set `channel` to one that the file has, {}",
                nearest(root, id)
            );
            return Err(self.refuse(root, format!("it has no channel {id}"), fix));
        };
        match wanted.next() {
            None => Ok(found),
            Some(second) => {
                let what = format!("channel {id} stands here and at line {}", self.line(found));
                Err(self.refuse(second, what, "remove one of the two"))
            }
        }
    }

    fn connection(self, node: Node<'a, 'a>) -> Result<Connection, ConfigError> {
        let kind = self.required(node, "type")?;
        let feed_type = attribute(kind, "feed-type");
        let protocol = match text(self.required(node, "protocol")?) {
            "UDP/IP" => Protocol::Udp,
            "TCP/IP" => Protocol::Tcp,
            other => Protocol::Other(other.to_owned()),
        };
        let group = match &protocol {
            Protocol::Udp => Some(self.required(node, "ip")?),
            _ => self.optional(node, "ip")?,
        };
        let hosts = elements(node, "host-ip").map(|host| self.ip(host));
        Ok(Connection {
            id: attribute(node, "id"),
            feed: feed(&feed_type),
            feed_type,
            line: self.feed_line(self.required(node, "feed")?)?,
            protocol,
            group: group.map(|group| self.ip(group)).transpose()?,
            port: self.port(self.required(node, "port")?)?,
            hosts: hosts.collect::<Result<_, _>>()?,
        })
    }

    /// Routes of all feeds that are read; each group and port must be unique.
    fn routes(
        self,
        channel: Node<'a, 'a>,
        connections: &[(Node<'a, 'a>, Connection)],
    ) -> Result<Routes<(FeedType, Line)>, ConfigError> {
        let mut routes: Vec<(SocketAddrV4, (FeedType, Line))> = Vec::new();
        for (node, connection) in connections {
            let &Connection {
                feed,
                line,
                ref protocol,
                group,
                port,
                ..
            } = connection;
            let (Some(feed), Protocol::Udp, Some(group)) = (feed, protocol, group) else {
                continue;
            };
            let destination = SocketAddrV4::new(group, port);
            if routes.iter().any(|(other, _)| *other == destination) {
                let what = format!("two connections of the channel have {destination}");
                return Err(self.refuse(*node, what, FETCH_AGAIN));
            }
            routes.push((destination, (feed, line)));
        }
        if !routes
            .iter()
            .any(|(_, (feed, _))| *feed == FeedType::Incremental)
        {
            let what = "the channel has no incremental feed (feed-type I over UDP/IP)";
            return Err(self.refuse(channel, what, FETCH_AGAIN));
        }
        Ok(Routes::new(routes).expect("an address has one route"))
    }

    fn ip(self, node: Node<'a, 'a>) -> Result<Ipv4Addr, ConfigError> {
        let ip = text(node);
        ip.parse()
            .map_err(|_| self.refuse(node, format!("{ip:?} is not an IPv4 address"), FETCH_AGAIN))
    }

    fn port(self, node: Node<'a, 'a>) -> Result<u16, ConfigError> {
        let port = text(node);
        match port.parse() {
            Ok(port @ 1..) => Ok(port),
            _ => Err(self.refuse(
                node,
                format!("{port:?} is not a port, 1 to 65535"),
                FETCH_AGAIN,
            )),
        }
    }

    fn feed_line(self, node: Node<'a, 'a>) -> Result<Line, ConfigError> {
        match text(node) {
            "A" => Ok(Line::A),
            "B" => Ok(Line::B),
            other => Err(self.refuse(
                node,
                format!("{other:?} is not a line: A or B"),
                FETCH_AGAIN,
            )),
        }
    }

    /// The child with this name, which must exist once.
    fn required(self, node: Node<'a, 'a>, name: &str) -> Result<Node<'a, 'a>, ConfigError> {
        self.optional(node, name)?.ok_or_else(|| {
            let what = format!("connection {} has no <{name}>", attribute(node, "id"));
            self.refuse(node, what, FETCH_AGAIN)
        })
    }

    /// The optional child with this name; two are an error.
    fn optional(self, node: Node<'a, 'a>, name: &str) -> Result<Option<Node<'a, 'a>>, ConfigError> {
        let mut found = elements(node, name);
        match (found.next(), found.next()) {
            (first, None) => Ok(first),
            (_, Some(second)) => {
                let what = format!("connection {} has a second <{name}>", attribute(node, "id"));
                Err(self.refuse(second, what, FETCH_AGAIN))
            }
        }
    }

    fn refuse(
        self,
        node: Node<'a, 'a>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> ConfigError {
        ConfigError {
            file: self.file.to_owned(),
            line: Some(self.line(node)),
            what: what.into(),
            fix: fix.into(),
        }
    }

    fn line(self, node: Node<'a, 'a>) -> u32 {
        self.document.text_pos_at(node.range().start).row
    }
}

const FETCH_AGAIN: &str = "download CME's config.xml again, or correct this line";

fn feed(feed_type: &str) -> Option<FeedType> {
    match feed_type {
        "I" => Some(FeedType::Incremental),
        "S" => Some(FeedType::Snapshot),
        "SMBO" => Some(FeedType::SnapshotOrders),
        "N" => Some(FeedType::Definition),
        "H" => Some(FeedType::Replay),
        _ => None,
    }
}

/// Channels with the numbers nearest to `id`, as text.
fn nearest(root: Node<'_, '_>, id: u32) -> String {
    let mut ids: Vec<u32> = elements(root, "channel").filter_map(number).collect();
    ids.sort_by_key(|other| (other.abs_diff(id), *other));
    ids.truncate(5);
    ids.sort_unstable();
    match ids
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(", ")
    {
        none if none.is_empty() => "but it has none at all".to_owned(),
        ids => format!("for example {ids}"),
    }
}

fn number(channel: Node<'_, '_>) -> Option<u32> {
    channel.attribute("id")?.trim().parse().ok()
}

fn elements<'a>(node: Node<'a, 'a>, name: &str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children()
        .filter(move |child| child.has_tag_name(name))
}

/// Elements two levels down: `<outer><inner/>…</outer>`.
fn below<'a>(node: Node<'a, 'a>, outer: &str, inner: &str) -> impl Iterator<Item = Node<'a, 'a>> {
    elements(node, outer).flat_map(move |outer| elements(outer, inner))
}

fn attribute(node: Node<'_, '_>, name: &str) -> String {
    node.attribute(name).unwrap_or_default().to_owned()
}

fn text<'a>(node: Node<'a, 'a>) -> &'a str {
    node.text().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration environment="TEST" updated="2024/03/04-00:00:00">
  <note>an element that came later</note>
  <channel id="9" label="Broken, and not asked for"><connections><connection/></connections></channel>
  <channel id="7" label="Grain &amp; oil">
    <products>
      <product code="ZC"><group code="ZC"/><group code="Z2"/></product>
      <product code="CL"/>
    </products>
    <connections>
      <connection id="7HA">
        <type feed-type="H">Historical Replay</type><protocol>TCP/IP</protocol>
        <host-ip>10.0.0.1</host-ip><host-ip>10.0.0.2</host-ip><port>10000</port><feed>A</feed>
      </connection>
      <connection id="7IA">
        <type feed-type="I">Incremental</type><protocol>UDP/IP</protocol><ip> 224.0.31.1 </ip>
        <host-ip>10.0.0.3</host-ip><port>14310</port><feed>A</feed>
      </connection>
      <connection id="7IB">
        <type feed-type="I">Incremental</type><protocol>UDP/IP</protocol><ip>224.0.32.1</ip>
        <port>15310</port><feed>B</feed><latency>low</latency>
      </connection>
      <connection id="7SAMBO">
        <type feed-type="SMBO">Snapshot-MBO</type><protocol>UDP/IP</protocol><ip>224.0.31.1</ip>
        <port>23310</port><feed>A</feed>
      </connection>
      <connection id="7SA">
        <type feed-type="S">Snapshot</type><protocol>UDP/IP</protocol><ip>233.72.75.1</ip>
        <port>65535</port><feed>A</feed>
      </connection>
      <connection id="7NB">
        <type feed-type="N">Instrument Replay</type><protocol>UDP/IP</protocol><ip>224.0.32.2</ip>
        <port>1</port><feed>B</feed>
      </connection>
      <connection id="7XA">
        <type feed-type="X">Extra</type><protocol>UDP/IP</protocol><ip>224.0.99.1</ip>
        <port>99</port><feed>A</feed>
      </connection>
    </connections>
  </channel>
  <channel id="310" label="Equity"/><channel id="311"/><channel id="312"/><channel id="340"/>
  <channel id="341"/><channel id="342"/>
</configuration>
"#;

    fn parse(text: &str, channel: u32) -> Result<ChannelConfig, ConfigError> {
        ChannelConfig::parse(Path::new("config.xml"), text, channel)
    }

    fn seven() -> ChannelConfig {
        parse(FILE, 7).expect("a channel")
    }

    #[test]
    fn a_channel_is_read_as_it_is_published() {
        let channel = seven();
        assert_eq!((channel.id, channel.label.as_str()), (7, "Grain & oil"));
        let codes: Vec<_> = channel
            .products
            .iter()
            .map(|product| product.code.as_str())
            .collect();
        assert_eq!(codes, ["ZC", "CL"]);
        assert_eq!(channel.products[0].groups, ["ZC", "Z2"]);
        let kinds: Vec<_> = channel
            .connections
            .iter()
            .map(|each| each.feed_type.as_str())
            .collect();
        assert_eq!(kinds, ["H", "I", "I", "SMBO", "S", "N", "X"]);
        let replay = Connection {
            id: "7HA".to_owned(),
            feed_type: "H".to_owned(),
            feed: Some(FeedType::Replay),
            line: Line::A,
            protocol: Protocol::Tcp,
            group: None,
            port: 10_000,
            hosts: vec![[10, 0, 0, 1].into(), [10, 0, 0, 2].into()],
        };
        assert_eq!(channel.connections[0], replay);
    }

    #[test]
    fn packets_are_routed_by_group_and_port() {
        let channel = seven();
        for (destination, expected) in [
            ("224.0.31.1:14310", Some((FeedType::Incremental, Line::A))),
            ("224.0.32.1:15310", Some((FeedType::Incremental, Line::B))),
            (
                "224.0.31.1:23310",
                Some((FeedType::SnapshotOrders, Line::A)),
            ),
            ("233.72.75.1:65535", Some((FeedType::Snapshot, Line::A))),
            ("224.0.32.2:1", Some((FeedType::Definition, Line::B))),
            ("224.0.99.1:99", None),
            ("224.0.31.1:15310", None),
            ("224.0.32.1:14310", None),
            ("10.0.0.1:10000", None),
        ] {
            let destination = destination.parse().expect("an address");
            assert_eq!(
                channel.routes().find(destination),
                expected,
                "{destination}"
            );
        }
    }

    #[test]
    fn an_error_has_its_line() {
        let swap = |old: &str, new: &str| FILE.replacen(old, new, 1);
        let twice = swap("id=\"310\"", "id=\"7\"");
        let same = swap(
            "<ip>224.0.32.1</ip>\n        <port>15310",
            "<ip>224.0.31.1</ip>\n        <port>14310",
        );
        for (text, line, word) in [
            (
                swap("224.0.32.1<", "224.0.32.256<"),
                20,
                "\"224.0.32.256\" is not an IPv4 address",
            ),
            (swap("10.0.0.2<", "host<"), 13, "\"host\""),
            (swap("<port>15310", "<port>0"), 21, "1 to 65535"),
            (swap("<port>15310", "<port>65536"), 21, "1 to 65535"),
            (swap("<port>15310</port>", ""), 19, "7IB has no <port>"),
            (swap("<ip>224.0.32.1</ip>", ""), 19, "7IB has no <ip>"),
            (swap("<feed>B", "<feed>C"), 21, "is not a line"),
            (
                swap("<latency>low</latency>", "<feed>B</feed>"),
                21,
                "second <feed>",
            ),
            (
                swap("<type feed-type=\"I\">Incremental</type>", ""),
                15,
                "7IA has no <type>",
            ),
            (FILE.replace("\"I\"", "\"Q\""), 5, "no incremental feed"),
            (same, 19, "224.0.31.1:14310"),
            (twice, 41, "line 5"),
            (FILE.replace("configuration", "templates"), 2, "<templates>"),
            (swap("</products>", ""), 40, "XML"),
            ("bus = 7".to_owned(), 1, "XML"),
            (String::new(), 1, "XML"),
        ] {
            let error = parse(&text, 7).expect_err(word);
            let said = error.to_string();
            assert_eq!(error.line, Some(line), "{said}");
            assert!(said.contains(word), "{word}: {said}");
            assert!(said.starts_with(&format!("config.xml:{line}: ")), "{said}");
        }
    }

    #[test]
    fn an_unknown_channel_is_answered_with_the_nearest() {
        let error = parse(FILE, 339).expect_err("there is none");
        assert_eq!(error.what, "it has no channel 339");
        assert!(
            error.fix.ends_with("for example 311, 312, 340, 341, 342"),
            "{error}"
        );
        let error = parse("<configuration/>", 339).expect_err("there is none");
        assert!(error.fix.contains("none at all"), "{error}");
    }

    #[test]
    fn deep_nesting_and_entities_are_refused_in_time() {
        let deep = "<a>".repeat(500_000);
        let laughs = "<!DOCTYPE a [<!ENTITY x \"ha\">]><configuration>&x;</configuration>";
        for text in [&deep, &["<configuration>", &deep].concat(), laughs] {
            assert!(parse(text, 7).is_err());
        }
    }

    /// Channels of CME's published files, if available.
    #[test]
    fn every_channel_of_cmes_files_is_read() {
        let Some(folder) = touchline_testing::schemas("CME's files config.xml") else {
            return;
        };
        for (name, channels) in [
            ("config_PROD_2023-08-14.xml", 39),
            ("config_CERT_2023-08-14.xml", 40),
        ] {
            let path = folder.join("cme").join(name);
            let text = read_text(&path, BYTES_MAX).expect("CME's file");
            let document = Document::parse(&text).expect("CME's file");
            let ids: Vec<_> = elements(document.root_element(), "channel")
                .filter_map(number)
                .collect();
            assert_eq!(ids.len(), channels);
            for id in ids {
                let channel = ChannelConfig::read(&path, id).expect("a channel of CME's");
                assert_eq!(
                    (channel.connections.len(), channel.routes.len()),
                    (9, 8),
                    "{id}"
                );
                for connection in &channel.connections {
                    // TCP replay has hosts and no group.
                    let (Some(feed), Protocol::Udp) = (connection.feed, &connection.protocol)
                    else {
                        continue;
                    };
                    let group = connection.group.expect("UDP has a group");
                    let destination = SocketAddrV4::new(group, connection.port);
                    assert_eq!(
                        channel.routes().find(destination),
                        Some((feed, connection.line)),
                        "{id}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_file_of_a_generated_session_is_completely_read() {
        let Some(folder) = touchline_testing::captures("generated files config.xml") else {
            return;
        };
        let path = folder.join("cme-generated/v9-clean/config.xml");
        let channel = ChannelConfig::read(path, 999).expect("the generator's channel");
        assert_eq!((channel.connections.len(), channel.routes.len()), (8, 8));
    }
}
