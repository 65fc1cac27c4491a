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
    sum.add(session.expected.books_jsonl().as_bytes());
    sum.add(session.expected.orders_jsonl().as_bytes());
    sum.add(session.expected.tops_jsonl().as_bytes());
    sum.0
}

#[test]
fn the_session_of_a_seed_never_changes() {
    let pinned = [
        0x99d5_3191_c311_1978,
        0x3c43_0aef_cebf_60b7,
        0x93b2_0826_eedf_d6d6,
        0x68e0_79b6_2520_a1ea,
        0x52f8_efa6_acde_9c2a,
        0x1efa_8de1_1ffe_a915,
        0xbc72_66e1_00c7_c7e7,
        0xec75_ad12_3938_5053,
        0x0000_fc34_9843_5644,
        0xb18c_0c16_c361_dd03,
        0xe434_9941_ea88_5806,
        0x2121_3c43_214a_ed50,
    ];
    let sums: Vec<u64> = (0..12)
        .map(|seed| sum(&generate(&Options::varied(seed), seed)))
        .collect();
    assert_eq!(sums, pinned);
}
