//! Damage of every kind: cut anywhere, random bytes, random changes. Refused or read, but never a panic.

use crate::mdp3::bytes::{Bytes, book, packet};
use proptest::prelude::*;
use touchline_wire::mdp3::{Message, Packet, RawMessage};
use touchline_wire::sbe::MessageHeader;

#[test]
fn every_truncation_is_refused() {
    for version in [9, 13] {
        let message = book(version);
        let whole = packet().raw(&message.sized().0).0;
        for length in 0..whole.len() {
            // Twelve bytes are a packet without messages.
            assert_eq!(
                Packet::parse(&whole[..length]).is_ok(),
                length == 12,
                "cut to {length}"
            );
        }
        // The stated size fits the remaining bytes, so that only the body shows the fault.
        for length in 8..message.0.len() {
            let cut = packet()
                .raw(&Bytes(message.0[..length].to_vec()).sized().0)
                .0;
            assert!(Packet::parse(&cut).is_err(), "a message cut to {length}");
        }
        assert!(Packet::parse(&whole).is_ok());
    }
}

/// Parses, and reads and prints everything if that succeeds.
fn read(bytes: &[u8]) {
    if let Ok(packet) = Packet::parse(bytes) {
        let read: usize = packet
            .messages()
            .map(|message| 10 + message.body.len())
            .sum();
        assert_eq!(12 + read, bytes.len(), "messages tile the packet");
        for message in packet.messages() {
            let parsed = Message::parse(message.raw()).expect("its check let it pass");
            let views = [parsed, Message::of(message)];
            let [parsed, of_checked] = views.map(|view| view.map(|view| view.to_string()));
            assert_eq!(parsed, of_checked, "one view either way");
            let template_id = message.header.template_id;
            assert_eq!(Message::is_known(template_id), parsed.is_some());
        }
        assert!(
            !packet.to_string().contains("malformed"),
            "a packet that was checked"
        );
        assert!(!format!("{packet:?}").is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn random_bytes_are_decoded_or_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes);
    }

    /// The framing is right and the template is known, so that the bodies are reached.
    #[test]
    fn random_bodies_behind_a_valid_header_cause_no_panic(
        block_length in 0u16..260,
        template in 0u16..72,
        version in 0u16..16,
        body in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(32), any::<u8>()], 0..600),
    ) {
        let message = Bytes::default().header(block_length, template, version).raw(&body);
        read(&packet().raw(&message.sized().0).0);
        let (header, body) = MessageHeader::split(&message.0).expect("a header");
        let raw = RawMessage { header, body };
        prop_assert_eq!(Message::check(raw), Message::parse(raw).map(drop));
    }

    #[test]
    fn changed_bytes_of_a_valid_packet_cause_no_panic(changes in prop::collection::vec((0usize..1_000, any::<u8>()), 1..4)) {
        let mut bytes = packet().raw(&book(13).sized().0).raw(&book(9).sized().0).0;
        for (at, value) in changes {
            let length = bytes.len();
            bytes[at % length] = value;
        }
        read(&bytes);
    }
}
