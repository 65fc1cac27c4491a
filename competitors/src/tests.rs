//! Tests of the harness.

use super::*;

/// A reader of two messages of warm-up and eight that count, after these messages.
fn reader_of(numbers: &[u64]) -> Result<Reader> {
    let mut reader = Reader {
        expected: 0,
        lost: 0,
        received: 0,
        first: None,
        warmup: 2,
        total: 10,
    };
    let mut payload = [0; 70];
    for number in numbers {
        stamp(&mut payload, *number);
        reader.take(&payload)?;
    }
    Ok(reader)
}

#[test]
fn what_comes_in_order_is_received_and_not_lost() {
    let reader = reader_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
    // The first that counts starts the clock; seven came while it ran.
    assert_eq!((reader.received, reader.lost), (7, 0));
    assert!(reader.is_done());
    assert!(!reader_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap().is_done());
}

#[test]
fn gaps_are_counted_and_the_warm_up_is_not() {
    for (numbers, lost) in [
        (&[1, 2, 3, 7, 9][..], 4),
        (&[0, 5, 6, 7, 8, 9], 3),
        (&[0, 2, 9], 6),
    ] {
        assert_eq!(reader_of(numbers).unwrap().lost, lost, "{numbers:?}");
    }
}

#[test]
fn a_message_is_sent_at_its_time_and_not_before() {
    let mut schedule = Schedule {
        start: ticks(),
        ticks_between: 1e6,
    };
    schedule.wait(20);
    assert!(ticks() - schedule.start >= 20_000_000);
    schedule.ticks_between = 0.0;
    schedule.wait(u64::MAX);
}

#[test]
fn disorder_and_repetition_are_refused() {
    for numbers in [&[0, 1, 2, 4, 3][..], &[2, 3, 3], &[1, 0], &[2, 2]] {
        assert!(reader_of(numbers).is_err(), "{numbers:?}");
    }
}

#[test]
fn a_message_with_two_numbers_is_torn() {
    let mut payload = [0; 70];
    stamp(&mut payload, 7);
    assert_eq!(sequence(&payload), Some(7));
    payload[69] ^= 1;
    assert_eq!(sequence(&payload), None);
    assert!(reader_of(&[0, 1, 2]).unwrap().take(&payload).is_err());
    assert_eq!(sequence(&payload[..7]), None);
}
