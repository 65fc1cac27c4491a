//! The forger sends the requested packets, built from packets of the exchange.

use super::*;

const VENUE_NS: u64 = 1_800_000_000_000_000_000;

fn forgery(number: Forged, off_ns: i64) -> Forgery {
    Forgery { number, off_ns }
}

/// A snapshot packet with two messages, as far as a forger looks: heads, and LastMsgSeqNumProcessed behind each.
fn snapshot(number: u32, last: u32) -> Vec<u8> {
    let mut message = vec![18, 0, 8, 0, 52, 0, 1, 0, 9, 0];
    message.extend(last.to_le_bytes());
    message.extend([0; 4]);
    packet(number, VENUE_NS, &[message.clone(), message])
}

/// An exchange that sent this number of packets on each of two feeds.
fn hear(forger: &mut Forger, packets: u32) {
    for number in 1..=packets {
        forger.note(Feed::Incremental, &heartbeat(number, u64::from(number)));
        forger.note(Feed::Snapshot, &snapshot(number, number));
    }
}

fn numbers(forger: &Forger, count: usize) -> Vec<u32> {
    let packets = forger.packets(Injected::Old { count }, Feed::Incremental, VENUE_NS);
    packets
        .iter()
        .map(|payload| header::number(payload))
        .collect()
}

#[test]
fn a_forged_heartbeat_has_the_requested_number_and_time() {
    let mut forger = Forger::default();
    let heartbeat_of = |forger: &Forger, number, off_ns| {
        let what = Injected::Heartbeat(forgery(number, off_ns));
        let packets = forger.packets(what, Feed::Incremental, VENUE_NS);
        assert_eq!(packets.len(), 1);
        assert!(
            crate::reference::cme::packet::read(&packets[0]).is_some(),
            "a valid packet"
        );
        (
            header::number(&packets[0]),
            header::sending_time(&packets[0]),
        )
    };
    let day_ns = 86_400_000_000_000;
    assert_eq!(heartbeat_of(&forger, Forged::At(7), 0), (7, VENUE_NS));
    assert_eq!(
        heartbeat_of(&forger, Forged::By(3), 1),
        (3, VENUE_NS + 1),
        "before the first packet"
    );
    hear(&mut forger, 40);
    assert_eq!(
        heartbeat_of(&forger, Forged::At(u32::MAX), -day_ns),
        (u32::MAX, VENUE_NS - day_ns as u64)
    );
    assert_eq!(heartbeat_of(&forger, Forged::By(1), 0).0, 41);
    assert_eq!(
        heartbeat_of(&forger, Forged::By(-41), 0).0,
        u32::MAX,
        "numbers wrap"
    );
    assert_eq!(
        heartbeat_of(&forger, Forged::By(i32::MIN), 0).0,
        40 + (1 << 31)
    );
    assert_eq!(
        heartbeat_of(&forger, Forged::At(1), i64::MIN).1,
        0,
        "not before 1970"
    );
    forger.session_over();
    assert_eq!(
        heartbeat_of(&forger, Forged::By(1), 0).0,
        1,
        "the next session starts at 1"
    );
}

#[test]
fn every_message_of_a_forged_snapshot_has_the_requested_values() {
    let mut forger = Forger::default();
    let far = Injected::Snapshot(forgery(Forged::By(1_000), -1));
    assert!(forger.packets(far, Feed::Snapshot, VENUE_NS).is_empty());
    hear(&mut forger, 40);
    for (number, expected) in [
        (Forged::By(1_000), 1_040),
        (Forged::At(0xffff_fff0), 0xffff_fff0),
    ] {
        let what = Injected::Snapshot(forgery(number, -1));
        let packets = forger.packets(what, Feed::Snapshot, VENUE_NS);
        let mut honest = snapshot(1, expected);
        header::set_sending_time(&mut honest, VENUE_NS - 1);
        assert_eq!(packets, [honest], "but for that, the oldest packet");
        assert_eq!(reach_of(&packets[0]), Some(expected));
    }
    assert_eq!(reach_of(&heartbeat(1, 1)), None);
}

#[test]
fn old_packets_are_the_oldest_ones_or_the_last_ones_of_the_session_before() {
    let mut forger = Forger::default();
    assert!(numbers(&forger, 9).is_empty());
    hear(&mut forger, STORED_PACKETS_MAX as u32 + 10);
    assert_eq!(numbers(&forger, 3), [11, 12, 13], "memory is bounded");
    assert_eq!(
        numbers(&forger, STORED_PACKETS_MAX).len(),
        STORED_PACKETS_MAX
    );
    let sent = forger.packets(Injected::Old { count: 1 }, Feed::Snapshot, 0);
    assert_eq!(sent, [snapshot(11, 11)], "byte for byte");
    forger.session_over();
    let last = STORED_PACKETS_MAX as u32 + 10;
    assert_eq!(numbers(&forger, 2), [last - 1, last]);
    forger.session_over();
    assert_eq!(
        numbers(&forger, 1),
        [last],
        "a session without packets is none"
    );
    hear(&mut forger, 5);
    assert_eq!(numbers(&forger, 1), [last]);
    forger.session_over();
    assert_eq!(numbers(&forger, 9), [1, 2, 3, 4, 5], "only the one before");
}
