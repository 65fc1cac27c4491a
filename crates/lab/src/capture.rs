//! Packets between an exchange and a receiver: feed, line and time of arrival.

use crate::cme::config;
pub use crate::lines::{Feed, Line};
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use touchline_net::{frame, pcap};

/// One packet as it arrives on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time of arrival, nanoseconds since 1970.
    pub time_ns: u64,
    /// Feed.
    pub feed: Feed,
    /// Line.
    pub line: Line,
    /// The datagram.
    pub payload: Vec<u8>,
}

/// Writes arrivals as a capture: classic pcap with nanoseconds and real Ethernet, IPv4 and UDP headers. Each feed and line
/// has the group that [`config::config_xml`] lists.
///
/// # Errors
/// The file cannot be written, or a payload is too long for a datagram. A partly written file is removed.
pub fn write_pcap(arrivals: &[Arrival], path: &Path) -> io::Result<()> {
    let written = File::create(path).and_then(|file| write(arrivals, BufWriter::new(file)));
    if written.is_err() {
        // A partly written file must not remain as a capture. If it cannot be removed, report the first error.
        let _ = std::fs::remove_file(path);
    }
    written
}

fn write(arrivals: &[Arrival], output: impl io::Write) -> io::Result<()> {
    let mut writer = pcap::Writer::new(output)?;
    let mut bytes = Vec::new();
    for arrival in arrivals {
        let destination = config::group(arrival.feed, arrival.line);
        let source = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), destination.port());
        frame::udp_ipv4_frame(&mut bytes, source, destination, &arrival.payload)
            .map_err(io::Error::other)?;
        writer.write(arrival.time_ns, &bytes)?;
    }
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_net::{PacketSource, PcapSource, Received};
    use touchline_testing::Folder;

    #[test]
    fn a_capture_reads_back_as_it_was_written() {
        let arrivals: Vec<Arrival> = (0..8u64)
            .map(|i| Arrival {
                time_ns: 1_767_571_200_000_000_123 + i,
                feed: Feed::ALL[i as usize % 4],
                line: Line::BOTH[i as usize / 4],
                payload: vec![i as u8; i as usize + 1],
            })
            .collect();
        let folder = Folder::new("capture");
        let path = folder.join("lab.pcap");
        write_pcap(&arrivals, &path).expect("the temporary directory is writable");
        let mut source = PcapSource::open([&path]).expect("the capture opens");
        for arrival in &arrivals {
            let packet = source
                .receive()
                .expect("the capture is whole")
                .packet()
                .expect("a packet is there");
            assert_eq!(packet.receive_ns, arrival.time_ns);
            assert_eq!(
                packet.destination,
                config::group(arrival.feed, arrival.line)
            );
            assert_eq!(packet.payload, arrival.payload);
        }
        let end = source.receive().expect("the capture is whole");
        assert_eq!(end, Received::End);
    }

    #[test]
    fn an_interrupted_write_leaves_no_file() {
        let folder = Folder::new("capture");
        let path = folder.join("long.pcap");
        let payload = vec![0; 70_000];
        let arrival = Arrival {
            time_ns: 0,
            feed: Feed::Incremental,
            line: Line::A,
            payload,
        };
        assert!(write_pcap(&[arrival], &path).is_err());
        assert!(!path.exists());
    }
}
