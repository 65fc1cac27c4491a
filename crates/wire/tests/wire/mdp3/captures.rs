//! Packets that the exchange sent: every one is valid, and no byte of any message is left over.

use std::collections::BTreeMap;
use std::path::Path;
use touchline_wire::mdp3::{Message, Packet};

#[test]
fn every_packet_of_the_captures_is_read() {
    let Some(folder) = touchline_testing::captures("real packets") else {
        return;
    };
    let folder = folder.join("cme-mdp3");
    let mut messages = BTreeMap::new();
    for payload in payloads(&folder) {
        let packet = Packet::parse(&payload)
            .unwrap_or_else(|malformed| panic!("{malformed}: {payload:02x?}"));
        for raw in packet.messages() {
            let message = Message::of(raw).expect("a template that is known");
            assert!(
                raw.header.version <= 13,
                "otherwise bytes might be left over"
            );
            *messages
                .entry((raw.header.version, message.template_id()))
                .or_insert(0) += 1;
        }
    }
    println!("messages by version and template: {messages:?}");
    for known in [
        (5, 32),
        (5, 37),
        (5, 42),
        (6, 32),
        (8, 35),
        (9, 46),
        (9, 47),
        (9, 48),
        (9, 52),
        (9, 54),
        (9, 56),
    ] {
        assert!(
            messages.contains_key(&known),
            "no message of version and template {known:?}"
        );
    }
}

/// UDP payloads of the classic captures in `folder`, and of the packets in hexadecimal.
fn payloads(folder: &Path) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of captures") {
        let path = entry.expect("an entry of the folder").path();
        let name = path.to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("a capture");
        if name.ends_with(".pcap") {
            payloads.extend(pcap(&bytes));
        } else if name.ends_with(".hex.tsv") {
            let text = String::from_utf8(bytes).expect("text");
            payloads.extend(text.lines().filter(|line| !line.starts_with('#')).map(hex));
        }
    }
    payloads
}

/// Classic pcap of Ethernet, IPv4 and UDP, little-endian: all that these captures use.
fn pcap(file: &[u8]) -> Vec<Vec<u8>> {
    let number =
        |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes")) as usize;
    let mut payloads = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let frame = &file[at + 16..at + 16 + number(at + 8)];
        let ip = if frame[12..14] == [0x81, 0x00] {
            18
        } else {
            14
        };
        let udp = ip + 4 * usize::from(frame[ip] & 0x0f);
        let length = usize::from(u16::from_be_bytes([frame[udp + 4], frame[udp + 5]]));
        payloads.push(frame[udp + 8..udp + length].to_vec());
        at += 16 + frame.len();
    }
    payloads
}

/// The last column of a line, in hexadecimal.
fn hex(line: &str) -> Vec<u8> {
    let hex = line.split('\t').next_back().expect("a column");
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}
