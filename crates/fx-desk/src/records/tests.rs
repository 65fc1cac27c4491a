//! Records are read as they were written.

use super::*;

fn samples() -> Vec<Record<'static>> {
    vec![
        Record::Numbers {
            bank: 4,
            next_out: 10,
            next_in: 11,
        },
        Record::Session {
            bank: 4,
            names: "DESK1/A to LP01",
        },
        Record::Boot {
            at_ns: 11,
            id: *b"0123456789abcdef",
            lacks_before: 5,
        },
        Record::Batch(b"a batch"),
    ]
}

/// A decoded record equals the encoded one; a body that is truncated, or has a byte more where its length is fixed, is
/// refused.
#[test]
fn a_record_is_read_as_it_was_written() {
    for record in samples() {
        let mut body = Vec::new();
        let kind = record.encode(&mut body);
        assert_eq!(Record::decode(kind, &body), Some(record.clone()));
        if kind != kind::BATCH && kind != kind::SESSION {
            for length in 0..body.len() {
                assert_eq!(Record::decode(kind, &body[..length]), None, "{record:?}");
            }
            body.push(0);
            assert_eq!(Record::decode(kind, &body), None, "{record:?}");
        }
    }
    assert_eq!(Record::decode(79, b""), None);
}
