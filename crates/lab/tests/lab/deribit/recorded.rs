//! Real messages of the venue, sent again.

use super::Stage;
use touchline_lab::deribit::{Recording, Source};

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
