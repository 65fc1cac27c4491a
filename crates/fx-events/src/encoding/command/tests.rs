//! Commands are read as they were written, and nothing else is.

use super::*;
use crate::lines::command_text;
use crate::parents::Lifetime;
use crate::plan::Style;
use touchline_types::{Id, Side};

fn id(text: &str) -> Id {
    Id::new(text.as_bytes()).expect("a short text")
}

/// Commands of each kind, with and without optional fields, each with its text.
fn samples() -> Vec<(Command, &'static str)> {
    let order = Order::new(id("P1"), id("EUR/USD"), Side::Bid, 1_000);
    let ioc = Order {
        side: Side::Ask,
        quantity: i64::MIN,
        limit: Some(id("1.\"\\x")),
        lifetime: Lifetime::Immediate,
        urgency: 255,
        style: Style::Sweep,
        partial: false,
        ..order
    };
    let booking = Booking {
        id: id("B"),
        pair: id("EUR/USD"),
        side: Side::Bid,
        quantity: 5,
        price: id("1.1"),
        bank: None,
        value_date: id("20260107"),
    };
    let resolve = |price| Command::Resolve {
        order: id("T-P1-1"),
        cum: 7,
        price,
    };
    vec![
        (
            Command::Parent(order),
            r#"{"op":"parent","id":"P1","pair":"EUR/USD","side":"buy","qty":1000,"tif":"gtd","deadline_ms":60000,"urgency":1,"style":"best","partial":true}"#,
        ),
        (
            Command::Parent(ioc),
            r#"{"op":"parent","id":"P1","pair":"EUR/USD","side":"sell","qty":-9223372036854775808,"limit":"1.\"\\x","tif":"ioc","urgency":255,"style":"sweep","partial":false}"#,
        ),
        (Command::Cancel { id: id("") }, r#"{"op":"cancel","id":""}"#),
        (Command::Kill, r#"{"op":"kill"}"#),
        (Command::Lift, r#"{"op":"lift"}"#),
        (
            Command::Enable {
                bank: id("LP01"),
                pair: id("EUR/USD"),
            },
            r#"{"op":"enable","bank":"LP01","pair":"EUR/USD"}"#,
        ),
        (
            resolve(None),
            r#"{"op":"resolve","clordid":"T-P1-1","cum":7,"price":null}"#,
        ),
        (
            resolve(Some(id("1.1"))),
            r#"{"op":"resolve","clordid":"T-P1-1","cum":7,"price":"1.1"}"#,
        ),
        (
            Command::Book(booking),
            r#"{"op":"book","id":"B","pair":"EUR/USD","side":"buy","qty":5,"price":"1.1","bank":null,"value_date":"20260107"}"#,
        ),
        (Command::Promote, r#"{"op":"promote"}"#),
        (Command::Standby, r#"{"op":"standby"}"#),
    ]
}

/// A decoded command equals the encoded one. A truncated or longer encoding is refused; after a change of any byte it
/// is refused or is the encoding of another command. Each command has its text.
#[test]
fn a_command_is_read_as_it_was_written_and_has_one_encoding() {
    for (command, text) in samples() {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        assert_eq!(Command::decode(&bytes), Ok(command));
        assert_eq!(command_text(&bytes), text);
        for length in 0..bytes.len() {
            let read = Command::decode(&bytes[..length]);
            assert_eq!(read, Err(NoCommand::Malformed), "{command:?} {length}");
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            for byte in 0..=u8::MAX {
                other[at] = byte;
                let Ok(read) = Command::decode(&other) else {
                    continue;
                };
                let mut again = Vec::new();
                read.encode(&mut again);
                assert_eq!(again, other, "{read:?}");
            }
        }
        bytes.push(0);
        assert_eq!(Command::decode(&bytes), Err(NoCommand::Malformed));
    }
}

/// The bytes of a version never change: a client and an engine of two releases of it understand each other.
#[test]
fn the_bytes_of_this_version_are_fixed() {
    let mut bytes = Vec::new();
    let order = Order {
        limit: Some(id("1.1")),
        ..Order::new(id("P"), id("E"), Side::Ask, 258)
    };
    Command::Parent(order).encode(&mut bytes);
    let expected = [
        1, 1, 1, b'P', 1, b'E', 1, 2, 1, 0, 0, 0, 0, 0, 0, 3, b'1', b'.', b'1', 0, 96, 234, 0, 0,
        0, 0, 0, 0, 1, 0, 1,
    ];
    assert_eq!(bytes, expected);
    bytes.clear();
    Command::Kill.encode(&mut bytes);
    assert_eq!(bytes, [1, 3]);
}

/// Another version is distinguished from malformed bytes. Earlier releases sent JSON text.
#[test]
fn another_version_is_named() {
    let json = br#"{"op":"kill"}"#;
    let other = Command::decode(json).expect_err("it is text");
    assert_eq!(
        (other, other.reason()),
        (NoCommand::Version(b'{'), "other_version")
    );
    assert!(other.to_string().contains("begins with byte 123"));
    assert_eq!(Command::decode(&[2, 3]), Err(NoCommand::Version(2)));
    assert_eq!(Command::decode(&[]), Err(NoCommand::Malformed));
    assert_eq!(command_text(json), r#"{"op":"kill"}"#);
    assert_eq!(command_text(&[2, 255]), "bytes 02ff");
}

/// The longest command fits.
#[test]
fn the_longest_command_fits() {
    let long = id(&"x".repeat(64));
    let booking = Booking {
        id: long,
        pair: long,
        side: Side::Bid,
        quantity: 1,
        price: long,
        bank: Some(long),
        value_date: long,
    };
    let mut bytes = Vec::new();
    Command::Book(booking).encode(&mut bytes);
    assert!(bytes.len() <= BYTES_MAX, "{}", bytes.len());
}
