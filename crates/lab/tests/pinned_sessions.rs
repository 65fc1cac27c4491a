//! A seed means the same session for ever: a report that names one is of use only if it can be made again.

use touchline_lab::cme::{Options, Session, generate};

/// FNV-1a, which needs no more than this.
struct Sum(u64);

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn sum(session: &Session) -> u64 {
    let mut sum = Sum(0xcbf2_9ce4_8422_2325);
    for packet in &session.packets {
        sum.add(&packet.time_ns.to_le_bytes());
        sum.add(packet.feed.code().as_bytes());
        sum.add(&packet.sequence.to_le_bytes());
        sum.add(&[u8::from(packet.spared)]);
        sum.add(&packet.payload);
    }
    sum.add(session.truth.books_jsonl().as_bytes());
    sum.add(session.truth.orders_jsonl().as_bytes());
    sum.add(session.truth.tops_jsonl().as_bytes());
    sum.0
}

#[test]
fn the_session_of_a_seed_never_changes() {
    let pinned = [
        0x65ba_54e2_82d1_6b90,
        0x8394_e43a_5e4f_858d,
        0x1e25_22a2_5fdd_75af,
        0xf02c_5efd_e78a_6ba8,
        0x0b90_0f99_abe4_356e,
        0x54e0_70d8_99dd_5e73,
        0x7bf2_3b02_45b3_0677,
        0x4ccb_4207_6971_976c,
        0x3baa_cc86_e980_944c,
        0xf0c8_9259_a96d_4980,
        0x2d52_41d7_9df6_ea31,
        0x0f42_4019_4214_4f0e,
    ];
    let sums: Vec<u64> = (0..12)
        .map(|seed| sum(&generate(&Options::varied(seed), seed)))
        .collect();
    assert_eq!(sums, pinned);
}
