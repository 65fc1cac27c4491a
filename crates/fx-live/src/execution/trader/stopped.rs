//! Tests of an engine that is stopped in the middle of a round, or for good.

use super::rig::{show, with_a_parent};
use crate::execution::trader::Incident;

/// When the process is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Never,
    BeforeTheQuotes,
    /// Behind the record of the order, before the order leaves.
    BehindTheRecord,
}

/// Records of orders, and pauses that were noticed, of a round with a quote on which a parent is to trade.
fn round(stop: Stop) -> (usize, usize) {
    let (mut core, time) = with_a_parent();
    let host = core.recorder.out_mut();
    assert!(
        !host.records.iter().any(|record| record.has_order),
        "the limit is below the ask"
    );
    host.is_late = stop == Stop::BeforeTheQuotes;
    host.stops_behind_order = stop == Stop::BehindTheRecord;
    show(&mut core, time, 1_099_500_000);
    let records = core.recorder.out().records.iter();
    let is_pause = |incident: &&Incident| matches!(incident, Incident::Paused { .. });
    (
        records.filter(|record| record.has_order).count(),
        core.incidents.iter().filter(is_pause).count(),
    )
}

/// A quote that is read after the stop makes no order; an order that was decided before it is not sent.
#[test]
fn a_round_that_was_stopped_makes_and_sends_no_order() {
    assert_eq!(round(Stop::Never), (1, 0));
    assert_eq!(round(Stop::BeforeTheQuotes), (0, 1));
    assert_eq!(round(Stop::BehindTheRecord), (1, 1));
}

/// An engine whose run ends makes no order in its last rounds, on any price: no bank would get one, or answer one.
#[test]
fn an_engine_that_stops_makes_no_further_order() {
    for stops in [false, true] {
        let (mut core, time) = with_a_parent();
        core.engine.hold(true);
        if stops {
            core.log_out(time);
        }
        core.release();
        show(&mut core, time, 1_099_500_000);
        assert_eq!(core.totals.orders + core.totals.unsent, u64::from(!stops));
    }
}
