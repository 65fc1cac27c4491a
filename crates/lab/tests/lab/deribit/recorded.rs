//! Real messages of the venue, sent again.

use super::Stage;
use touchline_lab::deribit::{Recording, Source};
use touchline_wire::fix::Encoder;

/// A file of the real captures; `None`, with a line of output, if they are not present.
fn recorded(name: &str) -> Option<Vec<u8>> {
    let folder = touchline_testing::captures("recorded messages of Deribit")?;
    let path = folder.join("deribit-fix").join(name);
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

#[test]
fn a_recorded_snapshot_is_sent_with_current_times() {
    let names = [
        "deribit-fix44_2019-11-29_BTC-PERPETUAL_35W-snapshot_2282-entries.fix",
        "deribit-fix44_2019-11-29_BTC-PERPETUAL_35X-incremental.fix",
    ];
    let mut bytes = Vec::new();
    for name in names {
        let Some(file) = recorded(name) else { return };
        bytes.extend(file);
    }
    let recording = Recording::read(bytes).expect("whole messages");
    let mut stage = Stage::of(Source::Recording(recording), 1, &[]);
    stage.download();
    assert_eq!(stage.customer.symbols, ["BTC-PERPETUAL"]);
    stage.steps(20);
    assert!(stage.customer.snapshots > 1, "it is played again and again");
    let (bids, offers) = stage.customer.levels("BTC-PERPETUAL");
    // Of 2,282 entries 20 are trades.
    assert_eq!(bids + offers, 2_262);
    assert_eq!(stage.customer.miscounted, 0);
    let sent = String::from_utf8_lossy(&stage.sent);
    assert!(
        sent.contains("\x0152=20231114-") && !sent.contains("\x0152=2019"),
        "stamped anew"
    );
    assert!(sent.contains("\x01262=all\x01") && !sent.contains("\x01262=203\x01"));
}

/// A recorded message of `A` with a bid at each price.
fn message(msg_type: &str, prices: &[&str]) -> Vec<u8> {
    let mut room = [0; 512];
    let mut body = Encoder::new(&mut room, b"FIX.4.4", msg_type.as_bytes());
    body.bytes(55, b"A").unsigned(268, prices.len() as u64);
    for price in prices {
        if msg_type == "X" {
            body.bytes(279, b"0");
        }
        body.bytes(269, b"0")
            .bytes(270, price.as_bytes())
            .bytes(271, b"1");
    }
    body.finish().expect("room").to_vec()
}

/// Wherever the playback is when a client subscribes, and behind its end, the client only has books that were recorded.
#[test]
fn a_recorded_book_begins_with_the_next_snapshot() {
    let bytes = [
        message("X", &["9"]),
        message("W", &["1"]),
        message("X", &["2"]),
        message("X", &["3"]),
        message("W", &["4"]),
        message("X", &["5"]),
    ];
    let books: [&[i64]; 6] = [&[], &[1], &[1, 2], &[1, 2, 3], &[4], &[4, 5]];
    for before in 0..12 {
        let recording = Recording::read(bytes.concat()).expect("whole messages");
        let mut stage = Stage::of(Source::Recording(recording), 1, &[]);
        stage.steps(before);
        stage.download();
        for _ in 0..50 {
            stage.step();
            let bids = stage.customer.bids("A");
            assert!(books.contains(&&bids[..]), "{before}: {bids:?}");
        }
        assert_eq!(stage.customer.early, 0);
        assert!(stage.customer.snapshots > 5);
    }
}
