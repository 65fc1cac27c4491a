use super::*;
use crate::fx::report::account::Pair;
use touchline_testing::random::{Random, seeds};

const DAYS: [u32; 3] = [20_260_105, 20_260_106, 20_260_107];

fn account() -> Account {
    let mut account = Account::default();
    for (symbol, precision) in [("EUR/USD", 5), ("USD/JPY", 3), ("EUR/SEK", 5)] {
        account.pairs.push(Pair {
            symbol: symbol.to_owned(),
            precision,
            sizes: Vec::new(),
        });
    }
    for (place, day) in DAYS.iter().enumerate() {
        account
            .days
            .insert(*day, 1_000_000_000 * (place as u64 + 1));
    }
    account
}

fn booked(
    day: u32,
    order: usize,
    (pair, value_date): (usize, u32),
    units: i64,
    price: i64,
) -> Booked {
    Booked {
        day,
        order: Some(order),
        pair,
        value_date: Some(value_date),
        units,
        price,
        is_back: false,
    }
}

fn mid(account: &mut Account, pair: usize, day: u32, price: i128) {
    let at_ns = account.days[&day];
    let mid2 = Some(2 * price);
    account.mids.insert((pair, day), Mid { at_ns, mid2 });
}

/// Units and cash are the sums of the bookings that were not taken back; realised and open profit add up to cash and units at the mid.
#[test]
fn profit_adds_up_and_busted_fills_have_never_been() {
    for seed in seeds(50) {
        let mut random = Random::from_seed(seed);
        let mut account = account();
        let (mut sums, mut average) = (BTreeMap::new(), BTreeMap::<u32, (f64, f64, f64)>::new());
        let mut plan = Vec::new();
        for order in 0..60 {
            let day = DAYS[order / 20];
            let units = random.between(-5, 5) * 1_000;
            let price = 1_100_000_000 + random.between(-50, 50) * 10_000;
            let date = 20_260_107 + random.below(2) as u32;
            plan.push((
                booked(day, order, (0, date), units, price),
                random.below(10) == 0,
            ));
        }
        let mut bookings: Vec<Booked> = plan.iter().map(|(booked, _)| *booked).collect();
        for (booked, is_busted) in &plan {
            if *is_busted {
                bookings.push(Booked {
                    day: DAYS[2],
                    units: -booked.units,
                    is_back: true,
                    ..*booked
                });
            } else {
                let sum: &mut (i64, i128) =
                    sums.entry(booked.value_date.expect("a date")).or_default();
                sum.0 += booked.units;
                sum.1 -= i128::from(booked.units) * i128::from(booked.price);
                // A second implementation, in floating point: units, average price, realised.
                let (units, price) = (booked.units as f64, booked.price as f64);
                let row = average
                    .entry(booked.value_date.expect("a date"))
                    .or_default();
                let closing = if row.0 * units < 0.0 {
                    units.abs().min(row.0.abs())
                } else {
                    0.0
                };
                row.2 += closing * (price - row.1) * row.0.signum();
                let opening = units.abs() - closing;
                let rest = row.0.abs() - closing;
                if opening > 0.0 {
                    row.1 = (rest * row.1 + opening * price) / (rest + opening);
                }
                row.0 += units;
            }
        }
        bookings.sort_by_key(|booked| booked.day);
        account.booked = bookings;
        mid(&mut account, 0, DAYS[2], 1_100_005_000);
        for position in positions(&account, Period::ALL, "USD") {
            let date = position.value_date.expect("a date");
            assert_eq!((position.units, position.cash), sums[&date], "seed {seed}");
            let whole2 = 2 * position.cash + i128::from(position.units) * 2 * 1_100_005_000;
            let open2 = position.open2().expect("a mid");
            assert_eq!(2 * position.realised() + open2, whole2, "seed {seed}");
            let (units, _, realised) = average[&date];
            assert!((units - position.units as f64).abs() < 1e-9, "seed {seed}");
            let differs = (realised - position.realised() as f64).abs();
            assert!(
                differs < 1e6,
                "seed {seed}: {realised} and {}",
                position.realised()
            );
        }
    }
}

/// A position of a day has the fills until its end, and the mid of that end; without one its open profit is not known, and said so.
#[test]
fn a_period_ends_with_its_own_fills_and_mid() {
    let mut account = account();
    account.booked = vec![
        booked(DAYS[0], 1, (0, 20_260_107), 1_000_000, 1_100_000_000),
        booked(DAYS[1], 2, (0, 20_260_108), -400_000, 1_200_000_000),
        booked(DAYS[1], 3, (2, 20_260_108), 1_000, 11_000_000_000),
    ];
    mid(&mut account, 0, DAYS[0], 1_100_010_000);
    let first = positions(&account, Period::of(DAYS[0]), "USD");
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].reported, [Some(0), Some(1_000)], "10.00 USD");
    let said = |positions: &[Position], day| {
        super::super::about::sentences(&account, Period::of(day), positions, "USD")
    };
    assert_eq!(said(&first, DAYS[0]), Vec::<String>::new());
    let second = positions(&account, Period::of(DAYS[1]), "USD");
    let units: Vec<_> = second
        .iter()
        .map(|position| (position.value_date, position.units))
        .collect();
    assert_eq!(
        units,
        [
            (Some(20_260_107), 1_000_000),
            (Some(20_260_108), -400_000),
            (Some(20_260_108), 1_000)
        ]
    );
    // The mid of the day before is a second old: it is that of this end, too. EUR/SEK has none.
    assert_eq!(second[2].open2(), None);
    assert_eq!(totals(&second), [Some(0), None]);
    let said = said(&second, DAYS[1]);
    assert!(said[0].starts_with("EUR/SEK has no mid"), "{said:?}");
    account.days.insert(DAYS[1], 400_000_000_000);
    let late = positions(&account, Period::of(DAYS[1]), "USD");
    assert_eq!(
        late[0].open2(),
        None,
        "the mid is more than five minutes old"
    );
}

/// The average price of a position is not better than its trades: rounded up for units bought, down for units sold.
#[test]
fn an_average_price_is_rounded_against_us() {
    for (sign, expected) in [(1, 1_100_000_001), (-1, 1_100_000_000)] {
        let mut account = account();
        let date = (0, 20_260_107);
        account.booked = vec![
            booked(DAYS[0], 1, date, sign * 2_000, 1_100_000_000),
            booked(DAYS[0], 2, date, sign * 1_000, 1_100_000_001),
        ];
        let positions = positions(&account, Period::ALL, "USD");
        assert_eq!(positions[0].average(), Some(expected), "{sign}");
    }
}

/// Amounts are converted by a mid, by the reverse of one, or by two.
#[test]
fn amounts_are_converted_by_the_mids() {
    let mut account = account();
    for (pair, price) in [
        (0, 1_100_000_000),
        (1, 150_000_000_000),
        (2, 11_000_000_000),
    ] {
        mid(&mut account, pair, DAYS[0], price);
    }
    let mids = Period::of(DAYS[0]).mids(&account);
    let convert = |amount: i128, from: &str, to: &str| {
        in_currency(&account, &mids, (2 * amount * ONE, from), to)
    };
    assert_eq!(convert(100, "USD", "USD"), Some(10_000));
    assert_eq!(convert(100, "EUR", "USD"), Some(11_000));
    assert_eq!(convert(15_000, "JPY", "USD"), Some(10_000));
    assert_eq!(convert(-1, "JPY", "USD"), Some(-1), "0.00667, rounded");
    assert_eq!(convert(1_100, "SEK", "USD"), Some(11_000), "by EUR");
    assert_eq!(convert(1, "GBP", "USD"), None);
    // The first is less than half a cent, and would be a cent if it were rounded in EUR, too.
    let sek2 = |amount2| in_currency(&account, &mids, (amount2, "SEK"), "USD");
    assert_eq!([99_999_999, 100_000_000].map(sek2), [Some(0), Some(1)]);
    let large = 1_000_000_000_000;
    assert_eq!(convert(large * 11, "SEK", "USD"), Some(large * 110));
    assert_eq!(convert(0, "GBP", "USD"), Some(0));
}

/// An open profit that no mid converts is not known, and said so, also with a realised profit of zero.
#[test]
fn an_open_profit_that_no_mid_converts_is_said_not_to_be_known() {
    let mut account = account();
    account.booked = vec![booked(DAYS[0], 1, (2, 20_260_107), 1_000, 11_000_000_000)];
    mid(&mut account, 2, DAYS[0], 11_100_000_000);
    let period = Period::of(DAYS[0]);
    let open = positions(&account, period, "USD");
    assert_eq!(open[0].open2(), Some(2 * 100_000_000_000));
    assert_eq!(totals(&open), [Some(0), None]);
    let said = super::super::about::sentences(&account, period, &open, "USD");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("from SEK to USD"), "{said:?}");
}
