//! Plausibility of the generated market: realistic books at the end of every event.

use super::Exchange;
use crate::cme::Options;
use crate::cme::flow::SPREAD_TICKS_MAX;
use crate::cme::instrument::{Instrument, Kind};
use crate::cme::ladder::{Ladder, List};
use crate::picture::Side;

/// Number of turns of an instrument, quiet ones included, without a bid or an offer.
const ONE_SIDED_TURNS_MAX: u32 = 100;

/// Totals over all sessions, so that a test without observations fails.
#[derive(Debug, Default)]
struct Seen {
    one_sided: u32,
    implied_inside: u32,
    negative_spreads: u32,
    positive_spreads: u32,
}

#[test]
fn books_are_never_crossed_by_implied_prices_and_stay_near_the_mid() {
    let mut seen = Seen::default();
    for seed in crate::random::seeds(24) {
        let options = Options {
            large_quantities: false,
            ..Options::varied(seed)
        };
        let mut exchange = Exchange::new(&options, seed);
        exchange.defined = exchange.instruments();
        let mut quoted = vec![0; exchange.instruments()];
        for event in 0..3_000 {
            exchange.event();
            if event == 2_000 {
                exchange.reset_channel(false);
            }
            for (index, quoted) in quoted.iter_mut().enumerate() {
                let instrument = &exchange.publisher.instruments[index];
                let ladders = &exchange.publisher.published[index].ladders;
                let is_quoted = judge(instrument, ladders, &mut seen, seed);
                let turns = exchange.flow.turns[index];
                if is_quoted {
                    *quoted = turns;
                }
                let symbol = &instrument.symbol;
                assert!(
                    turns - *quoted <= ONE_SIDED_TURNS_MAX,
                    "seed {seed}: {symbol} has nothing on a side for {} turns",
                    turns - *quoted
                );
            }
            exchange.packets().clear();
        }
    }
    let Seen {
        one_sided,
        implied_inside,
        negative_spreads,
        positive_spreads,
    } = seen;
    for count in [
        one_sided,
        implied_inside,
        negative_spreads,
        positive_spreads,
    ] {
        assert!(count > 1_000, "{seen:?}");
    }
}

/// Checks one book; true if it has both sides.
fn judge(instrument: &Instrument, ladders: &[Ladder; 4], seen: &mut Seen, seed: u64) -> bool {
    let symbol = &instrument.symbol;
    let best = |side: Side, implied: bool| {
        let list = List { side, implied };
        ladders[list.index()].first().map(|rung| rung.price)
    };
    let bid = best(Side::Bid, false).max(best(Side::Bid, true));
    let asks = [best(Side::Ask, false), best(Side::Ask, true)];
    if let (Some(bid), Some(ask)) = (bid, asks.into_iter().flatten().min()) {
        assert!(
            bid < ask,
            "seed {seed}: {symbol} is locked or crossed: {bid} {ask}"
        );
    }
    let bound = instrument.reach() + (SPREAD_TICKS_MAX + 16) * instrument.tick;
    for rung in ladders.iter().flatten() {
        let (price, quantity) = (rung.price, rung.quantity);
        assert_eq!(price % instrument.tick, 0, "seed {seed}: {symbol} {price}");
        assert!(
            price.abs_diff(instrument.price) <= bound.unsigned_abs(),
            "seed {seed}: {symbol} at {price}"
        );
        assert!(
            price > 0 || instrument.kind == Kind::Spread,
            "seed {seed}: {symbol} at {price}"
        );
        assert!(
            (1..1_000_000_000).contains(&quantity),
            "seed {seed}: {symbol} {quantity}"
        );
    }
    let (Some(bid), Some(ask)) = (best(Side::Bid, false), asks[0]) else {
        seen.one_sided += 1;
        return false;
    };
    assert!(
        ask - bid <= SPREAD_TICKS_MAX * instrument.tick,
        "seed {seed}: {symbol} is quoted {bid} to {ask}"
    );
    let is_inside = best(Side::Bid, true) > Some(bid) || asks[1].is_some_and(|price| price < ask);
    seen.implied_inside += u32::from(is_inside);
    if instrument.kind == Kind::Spread {
        seen.negative_spreads += u32::from(bid < 0);
        seen.positive_spreads += u32::from(ask > 0);
    }
    true
}
