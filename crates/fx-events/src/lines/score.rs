//! Lines of the scorecard. Ratios are rounded towards zero.

use super::{comma, put, put_decimal};
use crate::labels::Labels;
use crate::orders::RejectCode;
use crate::scorecard::{HORIZONS_MS, Mean, Score};
use crate::setup::{Bank, Pair};
use crate::ticks;
use std::fmt::Write;

pub(super) fn line(out: &mut String, labels: &Labels, (bank, pair): (Bank, Pair), score: &Score) {
    let (name, symbol) = (&labels.banks[bank], &labels.pairs[pair].symbol);
    put!(out, "{{\"bank\":\"{name}\",\"pair\":\"{symbol}\"");
    let tick = ticks::tick(labels.pairs[pair].precision);
    let [bid_ns, ask_ns] = score.best_ns;
    put!(
        out,
        ",\"up_ns\":{},\"quotes\":{}",
        score.up_ns,
        score.quotes
    );
    let per_s = ratio(
        i128::from(score.quotes) * 1_000_000_000,
        i128::from(score.up_ns),
        1,
    );
    decimal(out, "quotes_per_s", per_s, 1);
    put!(out, ",\"best_bid_ns\":{bid_ns},\"best_ask_ns\":{ask_ns}");
    decimal(
        out,
        "spread_ticks",
        ratio(score.spread_sum, i128::from(score.spread_ns), 2),
        2,
    );
    let (orders, sent, fills, filled) = (score.orders, score.sent, score.fills, score.filled);
    put!(
        out,
        ",\"orders\":{orders},\"sent\":{sent},\"fills\":{fills},\"filled\":{filled}"
    );
    decimal(
        out,
        "fill_ratio",
        ratio(i128::from(filled), i128::from(sent), 4),
        4,
    );
    rejects(out, score);
    put!(out, ",\"unknown\":{}", score.unknown);
    holds(out, score);
    let (improved, equal, improve_ticks) = (score.improved, score.equal, score.improve_ticks);
    put!(
        out,
        ",\"improved\":{improved},\"equal\":{equal},\"improve_ticks\":{improve_ticks}"
    );
    moves(out, score, tick);
    put!(out, ",\"penalty\":{}}}", score.penalty);
}

/// How long banks took to answer.
fn holds(out: &mut String, score: &Score) {
    for (key, hold_ns) in [
        ("p50", score.holds.p50_ns),
        ("p90", score.holds.p90_ns),
        ("max", score.holds.max_ns),
    ] {
        put!(out, ",\"hold_{key}_ns\":");
        match hold_ns {
            Some(hold_ns) => put!(out, "{hold_ns}"),
            None => out.push_str("null"),
        }
    }
}

/// How the market moved during an answer, and after a fill.
fn moves(out: &mut String, score: &Score, tick: i64) {
    for (key, moved) in [
        ("filled", &score.moved_filled),
        ("rejected", &score.moved_rejected),
    ] {
        put!(out, ",\"moved_{key}\":[{},", moved.count);
        mean(out, moved, tick);
        out.push(']');
    }
    out.push_str(",\"markouts\":[");
    for (place, (horizon_ms, marked)) in HORIZONS_MS.iter().zip(&score.markouts).enumerate() {
        put!(out, "{}[{horizon_ms},{},", comma(place), marked.count);
        mean(out, marked, tick);
        out.push(']');
    }
    out.push(']');
}

fn rejects(out: &mut String, score: &Score) {
    out.push_str(",\"rejects\":{");
    let codes = RejectCode::ALL.iter().zip(&score.rejects);
    for (place, (code, count)) in codes.filter(|(_, count)| **count > 0).enumerate() {
        put!(out, "{}\"{}\":{count}", comma(place), code.name());
    }
    out.push('}');
}

/// A mean in ticks of this size, with two decimals.
fn mean(out: &mut String, mean: &Mean, tick: i64) {
    let over = 2 * i128::from(mean.count) * i128::from(tick);
    put_decimal(out, ratio(mean.sum2, over, 2), 2);
}

fn decimal(out: &mut String, key: &str, value: Option<i128>, decimals: u32) {
    put!(out, ",\"{key}\":");
    put_decimal(out, value, decimals);
}

/// A quotient with this many decimals, rounded towards zero; none if `over` is zero.
fn ratio(value: i128, over: i128, decimals: u32) -> Option<i128> {
    (value * 10_i128.pow(decimals)).checked_div(over)
}
