//! Plans: each rule, and a comparison with an exhaustive search.

use proptest::prelude::*;
use touchline_fx::plan::{Leg, Offer, Plan, Planner, Want, sweep_order};
use touchline_fx_events::plan::{PlanKind, Style};
use touchline_types::Side;

const BANKS: usize = 4;
const WIDE: [i64; BANKS] = [1_000; BANKS];
const LIMIT_ORDERS: [bool; BANKS] = [false; BANKS];

fn amount(bank: u16, price: i64, size: i64) -> Offer {
    Offer {
        price,
        size,
        minimum: 0,
        age: 0,
        penalty: 0,
        entry: 0,
        bank,
        is_full: false,
    }
}

fn band(bank: u16, price: i64, size: i64) -> Offer {
    Offer {
        is_full: true,
        ..amount(bank, price, size)
    }
}

fn want(quantity: i64) -> Want<'static> {
    Want {
        takes: Side::Ask,
        quantity,
        limit: None,
        lot: 1,
        caps: &WIDE,
        is_quoted: &LIMIT_ORDERS,
        style: Style::Best,
        parts: false,
        combine: false,
    }
}

/// Bank, price and quantity of a leg.
type PlainLeg = (u16, i64, i64);

/// The plan and its legs. Offers get their ages by their order.
fn plan(offers: &[Offer], want: &Want<'_>) -> Option<(Plan, Vec<PlainLeg>)> {
    let mut offers: Vec<Offer> = offers.to_vec();
    for (age, offer) in offers.iter_mut().enumerate() {
        (offer.age, offer.entry) = (age as u64, age as u32);
    }
    offers.sort_by(|a, b| sweep_order(want.takes, a, b));
    let mut planner = Planner::new(BANKS);
    let plan = planner.plan(&offers, want)?;
    let leg = |leg: &Leg| (leg.offer.bank, leg.offer.price, leg.quantity);
    Some((plan, planner.legs().iter().map(leg).collect()))
}

fn legs(offers: &[Offer], want: &Want<'_>) -> Vec<PlainLeg> {
    plan(offers, want).map(|(_, legs)| legs).unwrap_or_default()
}

#[test]
fn a_sweep_takes_the_best_then_the_larger_then_the_rank_then_the_older() {
    let offers = [
        amount(1, 10, 2),
        amount(0, 10, 2),
        amount(2, 10, 3),
        amount(3, 9, 1),
        amount(0, 10, 2),
    ];
    assert_eq!(
        legs(&offers, &want(9)),
        [(3, 9, 1), (2, 10, 3), (0, 10, 2), (0, 10, 2), (1, 10, 1)]
    );
    let selling = Want {
        takes: Side::Bid,
        ..want(4)
    };
    assert_eq!(legs(&offers, &selling), [(2, 10, 3), (0, 10, 1)]);
}

#[test]
fn bands_are_never_added_up() {
    assert_eq!(plan(&[band(0, 10, 3), band(1, 10, 3)], &want(4)), None);
    assert_eq!(plan(&[band(0, 10, 3), amount(1, 10, 3)], &want(4)), None);
    assert_eq!(
        legs(&[band(0, 10, 3)], &want(2)),
        [(0, 10, 2)],
        "a band may be used in part"
    );
}

#[test]
fn a_ticket_is_the_best_then_the_smaller_band() {
    let offers = [band(0, 10, 9), band(1, 10, 4), band(2, 11, 3)];
    assert_eq!(legs(&offers, &want(3)), [(1, 10, 3)]);
}

#[test]
fn a_ticket_keeps_the_minimum_and_the_cap() {
    let with_minimum = Offer {
        minimum: 4,
        ..band(0, 10, 9)
    };
    let offers = [with_minimum, band(1, 11, 9)];
    assert_eq!(legs(&offers, &want(3)), [(1, 11, 3)]);
    assert_eq!(legs(&offers, &want(4)), [(0, 10, 4)]);
    let capped = Want {
        caps: &[3, 9, 9, 9],
        ..want(4)
    };
    assert_eq!(legs(&offers, &capped), [(1, 11, 4)]);
}

#[test]
fn amounts_are_tickets_only_where_one_ticket_is_asked_for() {
    let (found, _) = plan(&[amount(0, 10, 5)], &want(3)).expect("an amount");
    assert_eq!(found.kind, PlanKind::Sweep);
    let offers = [amount(0, 10, 2), amount(1, 11, 5)];
    assert_eq!(legs(&offers, &want(3)), [(0, 10, 2), (1, 11, 1)]);
    let full = Want {
        style: Style::Full,
        parts: true,
        ..want(3)
    };
    let (found, taken) = plan(&offers, &full).expect("one that is large enough");
    assert_eq!((found.kind, taken), (PlanKind::Full, vec![(1, 11, 3)]));
    assert_eq!(
        plan(
            &offers,
            &Want {
                quantity: 6,
                ..full
            }
        ),
        None,
        "never a part"
    );
    let sweep = Want {
        style: Style::Sweep,
        ..want(3)
    };
    assert_eq!(
        legs(&[band(0, 9, 9), amount(1, 11, 5)], &sweep),
        [(1, 11, 3)]
    );
}

#[test]
fn a_sweep_keeps_caps_and_whole_lots() {
    let offers = [amount(0, 10, 5), amount(0, 11, 5), amount(1, 12, 9)];
    let capped = Want {
        caps: &[7, 9, 9, 9],
        ..want(9)
    };
    assert_eq!(legs(&offers, &capped), [(0, 10, 5), (0, 11, 2), (1, 12, 2)]);
    let lots = Want {
        caps: &[7, 9, 9, 9],
        lot: 2,
        ..want(8)
    };
    let even = [amount(0, 10, 4), amount(0, 11, 4), amount(1, 12, 8)];
    assert_eq!(
        legs(&even, &lots),
        [(0, 10, 4), (0, 11, 2), (1, 12, 2)],
        "the cap is cut to lots"
    );
}

/// Fills leave a part of a lot open: a band, an amount as a ticket, a sweep and a combination are all cut to lots.
#[test]
fn every_plan_of_an_open_quantity_is_in_whole_lots() {
    let (bands, amounts) = ([band(0, 10, 8)], [amount(0, 10, 8)]);
    let open = Want {
        lot: 2,
        parts: true,
        ..want(5)
    };
    assert_eq!(legs(&bands, &open), [(0, 10, 4)]);
    let full = Want {
        style: Style::Full,
        ..open
    };
    assert_eq!(legs(&amounts, &full), [(0, 10, 4)]);
    assert_eq!(legs(&amounts, &open), [(0, 10, 4)]);
    let combined = Want {
        combine: true,
        ..open
    };
    let both = [band(0, 9, 2), amount(1, 10, 8)];
    assert_eq!(legs(&both, &combined), [(0, 9, 2), (1, 10, 2)]);
    for offers in [&bands[..], &amounts] {
        let whole = Want {
            parts: false,
            ..full
        };
        assert_eq!(plan(offers, &whole), None, "not all of it can be ordered");
        assert_eq!(
            plan(
                offers,
                &Want {
                    quantity: 1,
                    ..full
                }
            ),
            None,
            "no lot"
        );
    }
}

#[test]
fn minima_hold_for_a_quote_alone_and_for_the_sum_of_a_limit_order() {
    let small = |bank, price, size| Offer {
        minimum: 3,
        ..amount(bank, price, size)
    };
    let offers = [
        small(0, 10, 2),
        small(0, 11, 2),
        amount(0, 9, 2),
        amount(1, 20, 9),
    ];
    // The first two units bring the limit order of bank 0 to the minimum of its next entry.
    assert_eq!(legs(&offers, &want(5)), [(0, 9, 2), (0, 10, 2), (0, 11, 1)]);
    let quoted = Want {
        is_quoted: &[true, false, false, false],
        ..want(5)
    };
    assert_eq!(legs(&offers, &quoted), [(0, 9, 2), (1, 20, 3)]);
    assert_eq!(
        legs(&[small(0, 10, 2), amount(1, 20, 9)], &want(5)),
        [(1, 20, 5)]
    );
}

#[test]
fn a_limit_is_kept_and_penalties_move_banks() {
    let offers = [amount(0, 10, 2), amount(1, 11, 5)];
    let limited = Want {
        limit: Some(10),
        ..want(3)
    };
    assert_eq!(plan(&offers, &limited), None);
    let parts = Want {
        parts: true,
        ..limited
    };
    assert_eq!(legs(&offers, &parts), [(0, 10, 2)], "as much as can be had");
    let punished = [
        Offer {
            penalty: 11,
            ..amount(0, 10, 2)
        },
        amount(1, 11, 5),
    ];
    assert_eq!(legs(&punished, &want(2)), [(1, 11, 2)]);
}

#[test]
fn a_combination_is_a_band_and_a_sweep_of_the_rest() {
    let combined = |quantity| Want {
        combine: true,
        ..want(quantity)
    };
    let offers = [band(0, 9, 3), amount(1, 10, 5)];
    let (found, taken) = plan(&offers, &combined(5)).expect("both");
    assert_eq!(
        (found.kind, taken),
        (PlanKind::Both, vec![(0, 9, 3), (1, 10, 2)])
    );
    assert_eq!(legs(&offers, &want(5)), [(1, 10, 5)], "it is switched off");
    let choosy = Offer {
        minimum: 4,
        ..band(0, 9, 3)
    };
    assert_eq!(
        legs(&[choosy, amount(1, 10, 5)], &combined(5)),
        [(1, 10, 5)]
    );
    let beyond = Want {
        limit: Some(10),
        ..combined(5)
    };
    assert_eq!(
        plan(&[band(0, 11, 3), amount(1, 10, 4)], &beyond),
        None,
        "the band is beyond the limit"
    );
}

#[test]
fn of_equal_candidates_the_earlier_wins() {
    let offers = [band(0, 10, 3), band(2, 10, 2), amount(1, 10, 3)];
    let combined = Want {
        combine: true,
        ..want(3)
    };
    let (found, _) = plan(&offers, &combined).expect("three ways");
    assert_eq!(found.kind, PlanKind::Full);
    let dearer = [band(0, 11, 3), band(2, 10, 2), amount(1, 10, 3)];
    let (found, _) = plan(&dearer, &combined).expect("three ways");
    assert_eq!(found.kind, PlanKind::Sweep);
}

/// The lowest effective cost of all ways to fill `left` from the offers from `next` on.
fn least_sweep(
    offers: &[Offer],
    want: &Want<'_>,
    left: i64,
    caps: &mut [i64; BANKS],
    without: Option<u16>,
) -> Option<i128> {
    if left == 0 {
        return Some(0);
    }
    let (offer, rest) = offers.split_first()?;
    let bank = usize::from(offer.bank);
    let is_out = offer.is_full || Some(offer.bank) == without || !within(offer, want);
    let most = if is_out {
        0
    } else {
        left.min(offer.size).min(caps[bank])
    };
    let mut least: Option<i128> = None;
    for take in 0..=most {
        caps[bank] -= take;
        if let Some(cost) = least_sweep(rest, want, left - take, caps, without) {
            let cost = cost + effective(offer, want) * i128::from(take);
            least = Some(least.map_or(cost, |least| least.min(cost)));
        }
        caps[bank] += take;
    }
    least
}

fn within(offer: &Offer, want: &Want<'_>) -> bool {
    match (want.limit, want.takes) {
        (None, _) => true,
        (Some(limit), Side::Ask) => offer.price <= limit,
        (Some(limit), Side::Bid) => offer.price >= limit,
    }
}

fn effective(offer: &Offer, want: &Want<'_>) -> i128 {
    let price = match want.takes {
        Side::Ask => offer.price,
        Side::Bid => -offer.price,
    };
    i128::from(10 * price + offer.penalty)
}

/// The lowest effective cost of all allowed plans.
fn least(offers: &[Offer], want: &Want<'_>) -> Option<i128> {
    let caps: [i64; BANKS] = want.caps.try_into().expect("a cap for each bank");
    let mut all = Vec::new();
    let bands = offers
        .iter()
        .filter(|offer| offer.is_full && within(offer, want));
    for band in bands {
        let cap = caps[usize::from(band.bank)];
        if band.size >= want.quantity && cap >= want.quantity {
            all.push(effective(band, want) * i128::from(want.quantity));
        }
        if want.combine && band.size > 0 && band.size < want.quantity && band.size <= cap {
            let rest = least_sweep(
                offers,
                want,
                want.quantity - band.size,
                &mut caps.clone(),
                Some(band.bank),
            );
            all.extend(rest.map(|rest| rest + effective(band, want) * i128::from(band.size)));
        }
    }
    all.extend(least_sweep(
        offers,
        want,
        want.quantity,
        &mut caps.clone(),
        None,
    ));
    all.into_iter().min()
}

prop_compose! {
    fn an_offer()(bank in 0..BANKS as u16, price in 95_i64..105, size in 0_i64..5, full in 0..3) -> (u16, i64, i64, i32) {
        (bank, price, size, full)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// Without minima a plan is optimal, and its stated cost and quantity are correct.
    #[test]
    fn no_way_is_better_than_the_plan(
        drawn in prop::collection::vec(an_offer(), 0..7),
        penalties in prop::array::uniform4(0_i64..30),
        caps in prop::array::uniform4(0_i64..9),
        quantity in 1_i64..9,
        limit in prop::option::of(96_i64..104),
        (selling, combine) in any::<(bool, bool)>(),
    ) {
        let offers: Vec<Offer> = drawn.iter().map(|(bank, price, size, full)| Offer {
            penalty: penalties[usize::from(*bank)],
            is_full: *full == 0,
            ..amount(*bank, *price, *size)
        }).collect();
        let want = Want {
            takes: if selling { Side::Bid } else { Side::Ask },
            limit,
            caps: &caps,
            combine,
            ..want(quantity)
        };
        let mut sorted = offers.clone();
        sorted.sort_by(|a, b| sweep_order(want.takes, a, b));
        let mut planner = Planner::new(BANKS);
        let found = planner.plan(&sorted, &want);
        let cost = |legs: &[Leg]| legs.iter().map(|leg| effective(&leg.offer, &want) * i128::from(leg.quantity)).sum::<i128>();
        prop_assert_eq!(found.map(|_| cost(planner.legs())), least(&offers, &want));
        if let Some(found) = found {
            prop_assert_eq!(planner.legs().iter().map(|leg| leg.quantity).sum::<i64>(), quantity);
            prop_assert_eq!(found.quantity, quantity);
            for (bank, cap) in caps.iter().enumerate().take(BANKS) {
                let of_bank = planner.legs().iter().filter(|leg| usize::from(leg.offer.bank) == bank);
                prop_assert!(of_bank.map(|leg| leg.quantity).sum::<i64>() <= *cap);
            }
        }
    }
}
