//! Scorecards of a bank and a pair.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use super::bytes::{NO_U64, Put};
use crate::scorecard::{Mean, Score};

/// Writes the body behind bank and pair.
pub(super) fn put(out: &mut Vec<u8>, score: &Score) {
    out.u64(score.up_ns);
    out.u64(score.quotes);
    score.best_ns.iter().for_each(|best_ns| out.u64(*best_ns));
    out.u64(score.spread_ns);
    out.i128(score.spread_sum);
    out.u64(score.orders);
    out.i64(score.sent);
    out.u64(score.fills);
    out.i64(score.filled);
    score.rejects.iter().for_each(|count| out.u64(*count));
    out.u64(score.unknown);
    for hold_ns in [score.holds.p50_ns, score.holds.p90_ns, score.holds.max_ns] {
        out.u64(hold_ns.unwrap_or(NO_U64));
    }
    out.u64(score.improved);
    out.u64(score.equal);
    out.i64(score.improve_ticks);
    let means = [&score.moved_filled, &score.moved_rejected];
    for Mean { count, sum2 } in means.into_iter().chain(&score.markouts) {
        out.u64(*count);
        out.i128(*sum2);
    }
    out.i64(score.penalty);
}
