//! Positions by value date, with realised and open profit, in the term currency and in that of the report.

use super::account::{Account, Booked, Mid};
use super::exact::{ONE, quotient};
use super::period::Period;
use std::collections::{BTreeMap, HashMap};

/// Decimals of an amount in the currency of the report.
pub const REPORT_DECIMALS: u32 = 2;

/// Position of a pair and a value date at the end of a period. Amounts are 1e-9 of the term currency.
#[derive(Debug, Clone)]
pub struct Position {
    /// Pair.
    pub pair: usize,
    /// Value date; none of bookings without one.
    pub value_date: Option<u32>,
    /// Base units.
    pub units: i64,
    /// Term currency received less paid.
    pub cash: i128,
    /// Cost of the open units at their average price; negative of a short position.
    pub basis: i128,
    /// The mid, if there is one at the end of the period.
    pub mid: Option<Mid>,
    /// Realised and open profit in the currency of the report, hundredths; none if a mid is missing.
    pub reported: [Option<i128>; 2],
}

impl Position {
    /// Average price of the open units, 1e-9, rounded against us: up for units bought, down for units sold.
    pub fn average(&self) -> Option<i128> {
        let (basis, units) = (self.basis, i128::from(self.units));
        match self.units {
            0 => None,
            // mutant: fx: the average price of a position is rounded for us
            1.. => Some(-(-basis).div_euclid(units)),
            _ => Some((-basis).div_euclid(-units)),
        }
    }

    /// Profit of the units that were closed.
    pub fn realised(&self) -> i128 {
        self.cash + self.basis
    }

    /// Twice the profit of the open units at the mid: zero without units, none without a mid.
    pub fn open2(&self) -> Option<i128> {
        if self.units == 0 {
            return Some(0);
        }
        let mid2 = self.mid?.mid2?;
        Some(i128::from(self.units) * mid2 - 2 * self.basis)
    }

    fn trade(&mut self, units: i64, price: i64) {
        self.cash -= i128::from(units) * i128::from(price);
        let mut opening = units;
        if self.units != 0 && (self.units < 0) != (units < 0) {
            let closing = units.unsigned_abs().min(self.units.unsigned_abs());
            let of = i128::from(self.units.unsigned_abs());
            // The rest keeps what the division leaves: the whole profit stays exact.
            self.basis -= self.basis * i128::from(closing) / of;
            let closing = closing as i64 * units.signum();
            self.units += closing;
            opening -= closing;
        }
        self.units += opening;
        self.basis += i128::from(opening) * i128::from(price);
    }
}

/// Positions at the end of a period, by pair and value date, in the currency of the report if its mids are there.
pub fn positions(account: &Account, period: Period, currency: &str) -> Vec<Position> {
    let mids = period.mids(account);
    let mut found: BTreeMap<(usize, Option<u32>), Position> = BTreeMap::new();
    for booked in standing(account, period) {
        let key = (booked.pair, booked.value_date);
        let position = found.entry(key).or_insert_with(|| Position {
            pair: booked.pair,
            value_date: booked.value_date,
            units: 0,
            cash: 0,
            basis: 0,
            mid: mids.get(&booked.pair).copied(),
            reported: [None; 2],
        });
        position.trade(booked.units, booked.price);
    }
    let mut positions: Vec<Position> = found.into_values().collect();
    for position in &mut positions {
        let (_, term) = account.pairs[position.pair].currencies();
        let amounts = [Some(2 * position.realised()), position.open2()];
        position.reported =
            amounts.map(|amount2| in_currency(account, &mids, (amount2?, term), currency));
    }
    positions
}

/// Bookings until the end of a period, without those that were taken back: a busted fill counts for nothing.
fn standing(account: &Account, period: Period) -> Vec<Booked> {
    let mut standing: Vec<Booked> = Vec::new();
    let mut places: HashMap<(Option<usize>, i64), Vec<usize>> = HashMap::new();
    for booked in &account.booked {
        if booked.day > period.last {
            break;
        }
        let key = (booked.order, booked.price);
        let mut rest = booked.units;
        if booked.is_back {
            for place in places.get(&key).into_iter().flatten().rev() {
                let of = &mut standing[*place];
                let taken = rest.unsigned_abs().min(of.units.unsigned_abs()) as i64 * rest.signum();
                of.units += taken;
                rest -= taken;
            }
        } else {
            places.entry(key).or_default().push(standing.len());
        }
        if rest != 0 {
            standing.push(Booked {
                units: rest,
                ..*booked
            });
        }
    }
    standing.retain(|booked| booked.units != 0);
    standing
}

/// Twice an amount, 1e-9 of a currency, as an amount of another, in hundredths, rounded once. By the mid of their pair, or of two pairs that have
/// a currency in common; none without such mids.
fn in_currency(
    account: &Account,
    mids: &BTreeMap<usize, Mid>,
    (amount2, from): (i128, &str),
    to: &str,
) -> Option<i128> {
    let hundredths = |rates: &[[i128; 2]]| {
        let mut fraction = [amount2, 2 * ONE / 100];
        for rate in rates {
            fraction = product(fraction, *rate)?;
        }
        quotient(fraction[0], fraction[1])
    };
    if amount2 == 0 || from == to {
        return hundredths(&[]);
    }
    let rate = |from: &str, to: &str| {
        mids.iter().find_map(|(pair, mid)| {
            let of = account.pairs[*pair].currencies();
            let mid2 = mid.mid2?;
            match of {
                _ if of == (from, to) => Some([mid2, 2 * ONE]),
                _ if of == (to, from) => Some([2 * ONE, mid2]),
                _ => None,
            }
        })
    };
    if let Some(rate) = rate(from, to) {
        return hundredths(&[rate]);
    }
    let currencies = mids.keys().flat_map(|pair| {
        let (base, term) = account.pairs[*pair].currencies();
        [base, term]
    });
    let mut through = currencies.filter_map(|by| Some([rate(from, by)?, rate(by, to)?]));
    hundredths(&through.next()?)
}

/// Product of two fractions, numerator and denominator, in lowest terms so that it fits; none if it does not.
fn product(one: [i128; 2], other: [i128; 2]) -> Option<[i128; 2]> {
    let [[a, b], [c, d]] = [one, other].map(lowest);
    let [[a, d], [c, b]] = [[a, d], [c, b]].map(lowest);
    Some([a.checked_mul(c)?, b.checked_mul(d)?])
}

/// A numerator and a denominator without their common factor.
fn lowest([numerator, denominator]: [i128; 2]) -> [i128; 2] {
    let (mut factor, mut rest) = (numerator, denominator);
    while rest != 0 {
        (factor, rest) = (rest, factor % rest);
    }
    match factor.abs() {
        0 => [numerator, denominator],
        factor => [numerator / factor, denominator / factor],
    }
}

/// Sums in the currency of the report: realised and open; none if a part is unknown.
pub fn totals(positions: &[Position]) -> [Option<i128>; 2] {
    [0, 1].map(|part| {
        positions
            .iter()
            .map(|position| position.reported[part])
            .sum()
    })
}

#[cfg(test)]
mod tests;
