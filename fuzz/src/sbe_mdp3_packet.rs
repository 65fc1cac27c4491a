//! A CME MDP 3.0 packet: check it, walk every message, print it.

use crate::{Target, seeds};
use std::fmt::{self, Write};
use touchline_wire::mdp3::{Message, Packet};

pub(crate) const TARGET: Target = Target {
    name: "sbe_mdp3_packet",
    about: "a packet that passes its check can be walked and printed, in proportion to its size",
    run,
    seeds,
};

fn run(bytes: &[u8]) {
    let Ok(packet) = Packet::parse(bytes) else {
        return;
    };
    for message in packet.messages() {
        let parsed =
            Message::parse(message.raw()).expect("the packet's check lets no bad message pass");
        assert_eq!(
            Message::of(message).is_some(),
            parsed.is_some(),
            "both know a template"
        );
    }
    let mut lines = Lines::default();
    write!(lines, "{packet}").expect("a checked packet prints");
    // Each line comes from bytes of its own: a group whose entries take no space must not continue without end.
    assert!(
        lines.count <= bytes.len(),
        "{} lines from {} bytes",
        lines.count,
        bytes.len()
    );
}

/// Counts lines and keeps none.
#[derive(Default)]
struct Lines {
    count: usize,
}

impl Write for Lines {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.count += text.matches('\n').count();
        Ok(())
    }
}

/// For every template id near those in use: a message of zeros, and one whose groups have entries.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::mdp3_packets(200);
    for template in 1..=80 {
        for (version, fill) in [(5, 0), (9, 0), (13, 0), (9, 1), (13, 2)] {
            seeds.push(packet_of(template, version, fill));
        }
    }
    seeds
}

/// A packet of one message with a root block of 64 bytes, all of it `fill`.
fn packet_of(template: u16, version: u16, fill: u8) -> Vec<u8> {
    const ROOT: u16 = 64;
    let body = [fill; 400];
    let size = 2 + 8 + body.len() as u16;
    let mut packet = Vec::new();
    packet.extend(1u32.to_le_bytes());
    packet.extend(1_660_000_000_000_000_000u64.to_le_bytes());
    for field in [size, ROOT, template, 1, version] {
        packet.extend(field.to_le_bytes());
    }
    packet.extend(body);
    packet
}
