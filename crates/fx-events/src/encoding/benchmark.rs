//! Benchmarks: the market when a parent arrived or an order ended.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use super::bytes::{Put, Rest};
use crate::event::{Benchmark, BenchmarkOf};

/// Writes a mark, with its mid and its average in parts of 1e-9.
pub(super) fn put(out: &mut Vec<u8>, mark: &Benchmark, prices: [i128; 2]) {
    let (of, number) = match mark.of {
        BenchmarkOf::Parent(number) => (0, number),
        BenchmarkOf::Order(number) => (1, number),
    };
    out.u8(of);
    out.u32(number);
    out.u16(mark.pair as u16);
    prices.into_iter().for_each(|price| out.i128(price));
}

/// Reads what a mark is about.
pub(super) fn benchmark_of(rest: &mut Rest<'_>) -> Option<BenchmarkOf> {
    match (rest.u8()?, rest.u32()?) {
        (0, number) => Some(BenchmarkOf::Parent(number)),
        (1, number) => Some(BenchmarkOf::Order(number)),
        _ => None,
    }
}
