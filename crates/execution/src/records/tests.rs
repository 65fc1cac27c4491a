//! Records are read as they were written.

use super::*;

fn samples() -> Vec<Record<'static>> {
    let order = Order {
        sent_ns: 1 << 60,
        quantity: 1_000_000,
        price: -3,
        mid2: Some(220_001),
        sequence: 77,
        bank: 3,
        pair: 1,
        is_buy: false,
        is_fok: true,
        value_date: 20_260_107,
        id: Id::lossy(b"T1e4-P1-2"),
        parent: Id::lossy(b"P1"),
        quote_id: Some(Id::lossy(b"Q.7")),
    };
    vec![
        Record::Run(Run {
            epoch: 4,
            prefix: "T1e4",
            date: "20260105",
            account: "DESK",
            banks: vec!["LP01", "LP02"],
            pairs: vec!["EUR/USD"],
        }),
        Record::Order(order),
        Record::Order(Order {
            mid2: None,
            quote_id: None,
            is_buy: true,
            is_fok: false,
            ..order
        }),
        Record::Message {
            at_ns: 5,
            bank: 2,
            sequence: 9,
            body: "35=F|11=a",
        },
        Record::Report {
            at_ns: 6,
            bank: 1,
            bytes: b"8=FIX.4.4\x01",
        },
        Record::Session {
            at_ns: 7,
            bank: 1,
            is_up: true,
        },
        Record::Command {
            at_ns: 8,
            request: 12,
            client: "desk",
            person: "alice",
            text: "{}",
        },
        Record::Decided {
            at_ns: 9,
            text: "{\"op\":\"kill\"}",
        },
        Record::Lines {
            at_ns: 10,
            first: 1,
            lines: &[1, 2, 0, 0, 0, b'{', b'}'],
        },
        Record::Numbers {
            bank: 4,
            next_out: 10,
            next_in: 11,
        },
        Record::Boot {
            at_ns: 11,
            id: *b"0123456789abcdef",
            lacks_before: 5,
        },
    ]
}

/// A record is read as it was written; a body that is cut, or has a byte more where its length is fixed, is not.
#[test]
fn a_record_is_read_as_it_was_written() {
    for record in samples() {
        let mut body = Vec::new();
        let kind = record.encode(&mut body);
        assert_eq!(Record::decode(kind, &body), Some(record.clone()));
        let has_open_end = matches!(
            kind,
            kind::MESSAGE | kind::REPORT | kind::COMMAND | kind::DECIDED | kind::LINES
        );
        if !has_open_end {
            for length in 0..body.len() {
                assert_eq!(Record::decode(kind, &body[..length]), None, "{record:?}");
            }
            body.push(0);
            assert_eq!(Record::decode(kind, &body), None, "{record:?}");
        }
    }
    assert_eq!(Record::decode(79, b""), None);
}

/// Lines come back in order; a line that is cut ends them.
#[test]
fn lines_of_a_record() {
    let mut bytes = Vec::new();
    put_line(&mut bytes, 1, "{\"a\":1}");
    put_line(&mut bytes, 3, "");
    assert_eq!(
        lines(&bytes).collect::<Vec<_>>(),
        [(1, "{\"a\":1}"), (3, "")]
    );
    assert_eq!(lines(&bytes[..bytes.len() - 1]).count(), 1);
}
