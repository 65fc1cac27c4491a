//! Channel configuration of a generated session, in CME's format, and its multicast groups.

use crate::lines::{Feed, Line};
use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The channel of every generated session.
pub const CHANNEL: u16 = 998;

/// Number of sets of groups; see [`group_of`].
pub const GROUP_SETS: u16 = 1 << 14;

/// Group of a feed and line of a generated session.
pub fn group(feed: Feed, line: Line) -> SocketAddrV4 {
    group_of(0, feed, line)
}

/// Group in one of the sets `0..GROUP_SETS`, so that several exchanges on one host do not receive each other's packets.
/// All but set 0 are in 239.192.0.0/14, which is for use inside an organisation (RFC 2365, section 6.2).
pub fn group_of(set: u16, feed: Feed, line: Line) -> SocketAddrV4 {
    let (third, port) = match line {
        Line::A => (41, 14_998),
        Line::B => (42, 15_998),
    };
    let fourth = match feed {
        Feed::Incremental => 11,
        Feed::Definitions => 12,
        Feed::Snapshot => 13,
        Feed::OrderSnapshot => 14,
    };
    if set == 0 {
        return SocketAddrV4::new(Ipv4Addr::new(239, 10, third, fourth), port);
    }
    let first = u32::from(Ipv4Addr::new(239, 192, 0, 0)) + u32::from(set % GROUP_SETS) * 16;
    let group = first + line as u32 * 8 + feed as u32;
    SocketAddrV4::new(Ipv4Addr::from(group), port)
}

/// Text of `config.xml` for a session in a file, whose packets have no source.
pub fn config_xml() -> String {
    config_xml_of(0, Some(Ipv4Addr::new(10, 0, 0, 2)), None)
}

/// Text of `config.xml` for an exchange that sends to this set of groups, from this address if known, and serves TCP
/// replay at `replay` if it does.
pub fn config_xml_of(set: u16, host: Option<Ipv4Addr>, replay: Option<SocketAddrV4>) -> String {
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <configuration environment=\"LAB\" updated=\"2026/01/01-00:00:00\">\n\
         \x20 <channel id=\"{CHANNEL}\" label=\"Touchline lab\">\n\
         \x20   <products>\n\
         \x20     <product code=\"ZQ\">\n\
         \x20       <group code=\"ZQ\"/>\n\
         \x20     </product>\n\
         \x20   </products>\n\
         \x20   <connections>\n"
    );
    for feed in Feed::ALL {
        for line in Line::BOTH {
            connection(&mut xml, group_of(set, feed, line), feed, line, host);
        }
    }
    if let Some(address) = replay {
        let _ = write!(
            xml,
            "\x20     <connection id=\"{CHANNEL}HA\">\n\
             \x20       <type feed-type=\"H\">Historical Replay</type>\n\
             \x20       <protocol>TCP/IP</protocol>\n\
             \x20       <host-ip>{}</host-ip>\n\
             \x20       <port>{}</port>\n\
             \x20       <feed>A</feed>\n\
             \x20     </connection>\n",
            address.ip(),
            address.port(),
        );
    }
    xml.push_str("    </connections>\n  </channel>\n</configuration>\n");
    xml
}

fn connection(
    xml: &mut String,
    address: SocketAddrV4,
    feed: Feed,
    line: Line,
    host: Option<Ipv4Addr>,
) {
    let label = match feed {
        Feed::Incremental => "Incremental",
        Feed::Definitions => "Instrument Replay",
        Feed::Snapshot => "Snapshot",
        Feed::OrderSnapshot => "Snapshot-MBO",
    };
    // CME names the order snapshot connections 340SAMBO, with the line before the suffix.
    let id = match feed {
        Feed::OrderSnapshot => format!("{CHANNEL}S{}MBO", line.code()),
        _ => format!("{CHANNEL}{}{}", feed.code(), line.code()),
    };
    let host = host.map_or(String::new(), |host| {
        format!("\x20       <host-ip>{host}</host-ip>\n")
    });
    let _ = write!(
        xml,
        "\x20     <connection id=\"{id}\">\n\
         \x20       <type feed-type=\"{}\">{label}</type>\n\
         \x20       <protocol>UDP/IP</protocol>\n\
         \x20       <ip>{}</ip>\n\
         {host}\
         \x20       <port>{}</port>\n\
         \x20       <feed>{}</feed>\n\
         \x20     </connection>\n",
        feed.code(),
        address.ip(),
        address.port(),
        line.code(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_feed_and_line_has_its_own_group_and_is_listed() {
        let xml = config_xml();
        let mut groups = HashSet::new();
        for feed in Feed::ALL {
            for line in Line::BOTH {
                let address = group(feed, line);
                groups.insert(address);
                let connection = xml
                    .split("<connection ")
                    .find(|text| text.contains(&format!("<ip>{}</ip>", address.ip())))
                    .expect("the group is listed");
                assert!(connection.contains(&format!("<port>{}</port>", address.port())));
                assert!(connection.contains(&format!("feed-type=\"{}\"", feed.code())));
                assert!(connection.contains(&format!("<feed>{}</feed>", line.code())));
            }
        }
        assert_eq!(groups.len(), 8);
    }

    #[test]
    fn sets_of_multicast_groups_are_disjoint() {
        let mut all = HashSet::new();
        for set in [0, 1, 2, 255, 4_096, GROUP_SETS - 1] {
            let xml = config_xml_of(set, None, None);
            for feed in Feed::ALL {
                for line in Line::BOTH {
                    let address = group_of(set, feed, line);
                    assert!(address.ip().is_multicast());
                    assert!(all.insert(*address.ip()), "{set}: {address}");
                    assert!(xml.contains(&format!("<ip>{}</ip>", address.ip())));
                }
            }
        }
        let last = group_of(GROUP_SETS - 1, Feed::OrderSnapshot, Line::B);
        assert!(*last.ip() < Ipv4Addr::new(239, 196, 0, 0), "{last}");
    }
}
