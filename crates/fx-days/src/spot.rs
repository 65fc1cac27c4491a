//! Spot date of a pair, with the days that it follows from.

use crate::calendar::{Calendar, is_currency};
use crate::calendars::Calendars;
use crate::holidays::plus;
use jiff::civil::Date;

/// Currencies whose dollar pairs settle a day after the trade date.
const ONE_DAY: [&str; 4] = ["CAD", "TRY", "PHP", "RUB"];
/// Currencies for whose dollar pairs a dollar holiday between counts.
const LATIN_AMERICA: [&str; 6] = ["ARS", "BRL", "CLP", "COP", "MXN", "PEN"];
const USD: &str = "USD";

/// Two currencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    currencies: [String; 2],
}

/// A text is not a pair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a pair of two currencies; write it as EUR/USD")]
pub struct PairError(pub String);

/// A spot date and its explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The date; `None` if its computation looks at a day that a calendar does not know.
    pub date: Option<Date>,
    /// Each day that was looked at, in order.
    pub steps: Vec<Step>,
}

/// A day on the way to a spot date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The day.
    pub day: Date,
    /// Currencies without payments on this day.
    pub closed: Vec<String>,
    /// Currencies whose calendar does not know it.
    pub unknown: Vec<String>,
    /// Number of this day among the counted ones, from 1; `None` for a day that does not count.
    pub counted: Option<u32>,
}

impl Pair {
    /// Reads `EUR/USD`.
    ///
    /// # Errors
    /// The text is not of this form, or names one currency twice.
    pub fn read(text: &str) -> Result<Pair, PairError> {
        let refused = || PairError(text.to_owned());
        let (base, quote) = text.split_once('/').ok_or_else(refused)?;
        match is_currency(base) && is_currency(quote) && base != quote {
            true => Ok(Pair {
                currencies: [base, quote].map(str::to_owned),
            }),
            false => Err(refused()),
        }
    }

    /// Whether a currency is one of the two.
    #[must_use]
    pub fn has(&self, currency: &str) -> bool {
        self.currencies.iter().any(|of| of == currency)
    }

    /// Days from the trade date to the spot date, unless a configuration states them.
    #[must_use]
    pub fn spot_days(&self) -> u32 {
        // mutant: fx days: a cross of the Canadian dollar settles after a day
        let is_one = self.has(USD) && ONE_DAY.iter().any(|currency| self.has(currency));
        if is_one { 1 } else { 2 }
    }

    /// Currencies whose good days count between.
    fn counted(&self) -> Vec<&str> {
        let with_dollar = LATIN_AMERICA.iter().any(|currency| self.has(currency));
        let all = self.currencies.iter().map(String::as_str);
        // mutant: fx days: a dollar holiday between counts
        all.filter(|currency| *currency != USD || with_dollar)
            .collect()
    }

    /// Currencies that a spot date must be good in.
    fn settled(&self, with_dollar: bool) -> Vec<&str> {
        let mut all: Vec<&str> = self.currencies.iter().map(String::as_str).collect();
        if with_dollar && !self.has(USD) {
            all.push(USD);
        }
        all
    }
}

impl std::fmt::Display for Pair {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.currencies[0], self.currencies[1])
    }
}

impl Spot {
    /// The spot date of a trade date: `days` days that are good in the counted currencies, then the first day that is good in both and,
    /// with `cross_usd`, in dollars.
    ///
    /// # Errors
    /// A currency without a calendar, by its name.
    pub fn of(
        pair: &Pair,
        trade: Date,
        days: u32,
        cross_usd: bool,
        calendars: &Calendars,
    ) -> Result<Spot, String> {
        let of = |currencies: Vec<&str>| -> Result<Vec<&Calendar>, String> {
            let calendar =
                |currency: &str| calendars.get(currency).ok_or_else(|| currency.to_owned());
            currencies.into_iter().map(calendar).collect()
        };
        let (counted, settled) = (of(pair.counted())?, of(pair.settled(cross_usd))?);
        let mut spot = Spot {
            date: None,
            steps: Vec::new(),
        };
        spot.date = spot.walk(trade, days, &counted, &settled);
        Ok(spot)
    }

    fn walk(
        &mut self,
        trade: Date,
        days: u32,
        counted: &[&Calendar],
        settled: &[&Calendar],
    ) -> Option<Date> {
        let mut day = trade;
        for number in 1..=days {
            day = plus(day, 1);
            while !self.look(day, counted)? {
                day = plus(day, 1);
            }
            self.steps.last_mut()?.counted = Some(number);
        }
        while !self.look(day, settled)? {
            day = plus(day, 1);
        }
        Some(day)
    }

    /// Notes a day, and whether it is good in all calendars; `None` if one does not know it.
    fn look(&mut self, day: Date, calendars: &[&Calendar]) -> Option<bool> {
        let with = |answer: Option<bool>| -> Vec<String> {
            let these = calendars
                .iter()
                .filter(|calendar| calendar.is_good(day) == answer);
            these
                .map(|calendar| calendar.currency().to_owned())
                .collect()
        };
        let (closed, unknown) = (with(Some(false)), with(None));
        let answer = unknown.is_empty().then_some(closed.is_empty());
        self.steps.push(Step {
            day,
            closed,
            unknown,
            counted: None,
        });
        answer
    }
}
