//! Messages of which nothing can be used.

use super::{ASK, BID, Stage};
use touchline_feed::SessionFeed;
use touchline_types::Validity;

/// A book of other entries than it states is perhaps cut off, and may have ended quotes: all are withdrawn, and the gateway connects again.
#[test]
fn a_malformed_message_withdraws_every_quote() {
    let mut stage = Stage::new();
    assert!(!stage.shown(0).is_empty());
    stage.quote(&format!("262=r|55=EUR/USD|268=4|{BID}{ASK}"));
    assert_eq!(stage.shown(0), []);
    assert_eq!(stage.shown(1), []);
    assert_eq!(stage.reader().channel, Some(Validity::Stale));
    let feed = stage.path.feed();
    assert!(feed.is_over() && feed.reason().starts_with("malformed message: "));
    let counters = stage.counters();
    assert_eq!((counters["malformed"], counters["sequence_gaps"]), (1, 1));
}
