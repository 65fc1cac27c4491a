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
        0xf9c2_8a7b_443a_4344,
        0x83dd_3343_6bbf_fac4,
        0x653c_8d65_b485_17c5,
        0x5222_1011_f27f_162b,
        0x2780_082a_770a_e98a,
        0x4b7b_8c04_a3b6_f510,
        0x45e6_7967_df97_2a68,
        0xa432_bfb5_31c7_5357,
        0xd2ca_9835_9608_bf9f,
        0x363e_fb4b_523d_d95c,
        0x0d74_02ad_c761_478c,
        0xcabe_6b9a_6eee_ee01,
    ];
    let sums: Vec<u64> = (0..12)
        .map(|seed| sum(&generate(&Options::varied(seed), seed)))
        .collect();
    assert_eq!(sums, pinned);
}
